/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GGUF headers as llama.cpp's converter writes them for families of models, made here from what the
 * built-in list tells of one of each: what is read back has to be that model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gguf_one.h"
#include "models/inference/gguf.h"
#include "models/inference/arch.h"

enum { U32 = 4, ARRAY = 9, TEXT = 8, F32 = 0, Q8_0 = 8, Q4_K = 12, Q6_K = 14 };

struct file {
	uint8_t data[1 << 20];
	size_t len;
	uint32_t keys, tensors;
	double params;
};

struct family {
	const char *model, *name;
	int inner, state, kda, conv; /* keys of layers with recurrent state */
	int heads;		     /* to tell, where the list leaves it out */
	bool both;		     /* attention and a state in each layer */
	bool old_latent;	     /* before attn_k_b */
	bool array;		     /* tells windows one by one */
	bool split_q;		     /* the gate in a tensor of its own */
};

/* A layer of a model of the list. */
enum kind { FULL, WINDOW, LINEAR, NEITHER };

static void put(struct file *f, const void *data, size_t len)
{
	assert_true(f->len + len <= sizeof(f->data));
	memcpy(f->data + f->len, data, len);
	f->len += len;
}

static void put32(struct file *f, uint32_t v)
{
	put(f, &v, 4);
}

static void put64(struct file *f, uint64_t v)
{
	put(f, &v, 8);
}

static void put_text(struct file *f, const char *s)
{
	put64(f, strlen(s));
	put(f, s, strlen(s));
}

static void begin(struct file *f)
{
	f->len = 0;
	f->keys = f->tensors = 0;
	f->params = 0;
	put32(f, 0x46554747);
	put32(f, 3);
	put64(f, 0);
	put64(f, 0);
}

static void end(struct file *f)
{
	uint64_t n[2] = { f->tensors, f->keys };

	memcpy(f->data + 8, n, sizeof(n));
}

static void key_name(struct file *f, const char *family, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s.%s", family, what);
	put_text(f, text);
	f->keys++;
}

/* Zero is not written. */
static void key(struct file *f, const char *family, const char *what, int v)
{
	if (!v)
		return;
	key_name(f, family, what);
	put32(f, U32);
	put32(f, (uint32_t)v);
}

static void key_text(struct file *f, const char *family, const char *what, const char *v)
{
	key_name(f, family, what);
	put32(f, TEXT);
	put_text(f, v);
}

static void key_list(struct file *f, const char *family, const char *what, const int *v, int n)
{
	key_name(f, family, what);
	put32(f, ARRAY);
	put32(f, U32);
	put64(f, (uint64_t)n);
	for (int i = 0; i < n; i++)
		put32(f, (uint32_t)v[i]);
}

static void tensor(struct file *f, int layer, const char *what, double x, double y, double z,
		   uint32_t type)
{
	char name[64];

	if (layer >= 0)
		snprintf(name, sizeof(name), "blk.%d.%s", layer, what);
	else
		snprintf(name, sizeof(name), "%s", what);
	put_text(f, name);
	put32(f, 3);
	put64(f, (uint64_t)x);
	put64(f, (uint64_t)y);
	put64(f, (uint64_t)z);
	put32(f, type);
	put64(f, 0);
	f->tensors++;
	f->params += x * y * z;
}

/* Windows as the family has them; of the others states first, as many as the model has. */
static enum kind kind_of(const struct family *c, const struct arch *a, int i)
{
	static const struct {
		const char *name;
		int period;
	} periods[] = { { "gemma2", 2 },  { "gemma3", 6 }, { "gemma3n", 5 }, { "gpt-oss", 2 },
			{ "cohere2", 4 }, { "olmo2", 4 },  { "llama4", 4 },  { "exaone4", 4 } };

	if (c->both)
		return FULL;
	if (i < a->linear_layers)
		return LINEAR;
	if (a->attention_layers && i >= a->linear_layers + a->attention_layers)
		return NEITHER;
	if (c->array)
		return i < a->window_layers ? WINDOW : FULL;
	for (size_t n = 0; n < sizeof(periods) / sizeof(periods[0]); n++)
		if (strcmp(periods[n].name, c->name) == 0)
			return (i + 1) % periods[n].period ? WINDOW : FULL;
	return FULL;
}

static int kv_heads(const struct arch *a, enum kind k)
{
	return k == WINDOW && a->window_kv_heads ? a->window_kv_heads : a->kv_heads;
}

static int head_dim(const struct arch *a, enum kind k)
{
	return k == WINDOW && a->window_head_dim ? a->window_head_dim : a->head_dim;
}

static void latent_keys(struct file *f, const struct family *c, const struct arch *a)
{
	int qk = a->nope_dim + a->rope_dim;

	key(f, c->name, "attention.kv_lora_rank", a->kv_lora);
	key(f, c->name, "attention.q_lora_rank", a->q_lora);
	key(f, c->name, "rope.dimension_count", a->rope_dim);
	key(f, c->name, "attention.key_length", c->old_latent ? qk : a->kv_lora + a->rope_dim);
	key(f, c->name, "attention.value_length", c->old_latent ? a->v_dim : a->kv_lora);
	if (c->old_latent)
		return;
	key(f, c->name, "attention.key_length_mla", qk);
	key(f, c->name, "attention.value_length_mla", a->v_dim);
}

static void attention_keys(struct file *f, const struct family *c, const struct arch *a)
{
	int heads[512], windows[512];

	for (int i = 0; i < a->layers; i++) {
		enum kind k = kind_of(c, a, i);

		heads[i] = k == LINEAR || k == NEITHER ? 0 : a->kv_lora ? 1 : kv_heads(a, k);
		windows[i] = k == WINDOW;
	}
	key(f, c->name, "attention.head_count", a->heads);
	key_list(f, c->name, "attention.head_count_kv", heads, a->layers);
	if (a->kv_lora) {
		latent_keys(f, c, a);
		return;
	}
	key(f, c->name, "attention.key_length", a->head_dim);
	key(f, c->name, "attention.value_length", a->head_dim);
	key(f, c->name, "attention.key_length_swa", a->window_head_dim);
	key(f, c->name, "attention.value_length_swa", a->window_head_dim);
	key(f, c->name, "attention.sliding_window", a->window);
	if (c->array)
		key_list(f, c->name, "attention.sliding_window_pattern", windows, a->layers);
}

static void keys(struct file *f, const struct family *c, const struct arch *a)
{
	key_text(f, "general", "architecture", c->name);
	key(f, c->name, "block_count", a->layers);
	key(f, c->name, "embedding_length", a->hidden);
	key(f, c->name, "feed_forward_length", a->ffn);
	attention_keys(f, c, a);
	key(f, c->name, "attention.indexer.top_k", a->index_top);
	if (c->array)
		key(f, c->name, "attention.shared_kv_layers", a->kv_shared_layers);
	key(f, c->name, "expert_count", a->experts);
	key(f, c->name, "expert_used_count", a->top);
	key(f, c->name, "ssm.inner_size", c->inner);
	key(f, c->name, "ssm.state_size", c->state);
	key(f, c->name, "kda.head_dim", c->kda);
	key(f, c->name, "shortconv.l_cache", c->conv);
	/* What other things in such a file have as well. */
	key(f, "clip", "vision.block_count", 7);
	key(f, "clip", "vision.attention.head_count", 5);
}

static void latent_tensors(struct file *f, const struct family *c, const struct arch *a, int i)
{
	double h = a->hidden, n = a->heads, q = n * (a->nope_dim + a->rope_dim);

	if (a->q_lora) {
		tensor(f, i, "attn_q_a.weight", h, a->q_lora, 1, Q4_K);
		tensor(f, i, "attn_q_b.weight", a->q_lora, q, 1, Q4_K);
	} else {
		tensor(f, i, "attn_q.weight", h, q, 1, Q4_K);
	}
	tensor(f, i, "attn_kv_a_mqa.weight", h, a->kv_lora + a->rope_dim, 1, Q4_K);
	if (c->old_latent) {
		tensor(f, i, "attn_kv_b.weight", a->kv_lora, n * (a->nope_dim + a->v_dim), 1, Q4_K);
	} else {
		tensor(f, i, "attn_k_b.weight", a->nope_dim, a->kv_lora, n, Q8_0);
		tensor(f, i, "attn_v_b.weight", a->kv_lora, a->v_dim, n, Q8_0);
	}
	tensor(f, i, "attn_output.weight", n * a->v_dim, h, 1, Q4_K);
}

static void attention_tensors(struct file *f, const struct family *c, const struct arch *a, int i)
{
	enum kind k = kind_of(c, a, i);
	double h = a->hidden, q = (double)a->heads * head_dim(a, k),
	       kv = (double)kv_heads(a, k) * head_dim(a, k);
	bool twice = a->gated_attention && !c->split_q;

	tensor(f, i, "attn_norm.weight", h, 1, 1, F32);
	if (a->kv_lora) {
		latent_tensors(f, c, a, i);
		return;
	}
	tensor(f, i, "attn_q.weight", h, twice ? 2 * q : q, 1, Q4_K);
	if (a->gated_attention && c->split_q)
		tensor(f, i, "attn_gate.weight", h, q, 1, Q4_K);
	tensor(f, i, "attn_k.weight", h, kv, 1, Q4_K);
	tensor(f, i, "attn_v.weight", h, kv, 1, Q4_K);
	tensor(f, i, "attn_output.weight", q, h, 1, Q4_K);
}

static void state_tensors(struct file *f, const struct family *c, const struct arch *a, int i)
{
	double out = 64.0 * a->hidden, rest = a->linear_params - out;

	if (c->conv) {
		tensor(f, i, "shortconv.out_proj.weight", 64, a->hidden, 1, Q4_K);
		tensor(f, i, "shortconv.in_proj.weight", rest, 1, 1, Q4_K);
	} else if (c->kda) { /* named like attention's */
		tensor(f, i, "attn_output.weight", 64, a->hidden, 1, Q4_K);
		tensor(f, i, "attn_q.weight", rest - 4096, 1, 1, Q4_K);
		tensor(f, i, "ssm_beta.weight", 4096, 1, 1, Q8_0);
	} else if (a->gated_attention) {
		tensor(f, i, "ssm_out.weight", 64, a->hidden, 1, Q4_K);
		tensor(f, i, "attn_qkv.weight", rest, 1, 1, Q4_K);
	} else {
		tensor(f, i, "ssm_out.weight", 64, a->hidden, 1, Q4_K);
		tensor(f, i, "ssm_in.weight", rest, 1, 1, Q4_K);
	}
}

/* Up, down, and a gate where blocks have one. */
static void block(struct file *f, const struct arch *a, int i, const char *suffix, double in,
		  double width, double n)
{
	char name[48];

	snprintf(name, sizeof(name), "ffn_up%s.weight", suffix);
	tensor(f, i, name, in, width, n, Q4_K);
	snprintf(name, sizeof(name), "ffn_down%s.weight", suffix);
	tensor(f, i, name, width, in, n, Q4_K);
	snprintf(name, sizeof(name), "ffn_gate%s.weight", suffix);
	if (a->ffn_mats != 2)
		tensor(f, i, name, in, width, n, Q4_K);
}

static void expert_tensors(struct file *f, const struct arch *a, int i)
{
	double in = a->expert_in ? a->expert_in : a->hidden;

	tensor(f, i, "ffn_gate_inp.weight", a->hidden, a->experts, 1, F32);
	block(f, a, i, "_exps", in, a->expert_ffn, a->experts);
	if (a->shared_ffn)
		block(f, a, i, "_shexp", a->hidden, a->shared_ffn, 1);
	if (a->expert_in) {
		tensor(f, i, "ffn_latent_down.weight", a->hidden, in, 1, Q4_K);
		tensor(f, i, "ffn_latent_up.weight", in, a->hidden, 1, Q4_K);
	}
}

static void layer(struct file *f, const struct family *c, const struct arch *a, int i)
{
	enum kind k = kind_of(c, a, i);
	int dense = a->ffn_layers ? a->ffn_layers : a->moe_layers ? 0 : a->layers;

	if (k == FULL || k == WINDOW)
		attention_tensors(f, c, a, i);
	if (k == LINEAR || c->both)
		state_tensors(f, c, a, i);
	if (i < dense)
		block(f, a, i, "", a->hidden, a->ffn, 1);
	if (i >= a->layers - a->moe_layers)
		expert_tensors(f, a, i);
}

static void write_model(struct file *f, const struct family *c, const struct arch *a)
{
	begin(f);
	keys(f, c, a);
	tensor(f, -1, "token_embd.weight", a->hidden, a->vocab, 1, Q4_K);
	tensor(f, -1, "output_norm.weight", a->hidden, 1, 1, F32);
	if (!a->tied)
		tensor(f, -1, "output.weight", a->hidden, a->vocab, 1, Q6_K);
	if (a->aside > 0)
		tensor(f, -1, "per_layer_token_embd.weight", a->aside, 1, 1, Q8_0);
	for (int i = 0; i < a->layers; i++)
		layer(f, c, a, i);
	end(f);
}

static void close_to(const char *what, const char *model, double got, double wanted, double part)
{
	if (!(fabs(got - wanted) <= part * fabs(wanted)))
		fail_msg("%s: %s is %.9g, not %.9g", model, what, got, wanted);
}

static double bytes_of(const struct model_file *f)
{
	struct arch_parts p = arch_parts(&f->arch);
	const struct format *w = &f->exact;

	return p.attention * w->attention + p.linear * w->linear + p.dense * w->dense +
	       p.shared * w->shared + p.experts * w->experts + p.router * 2 + p.head * w->head +
	       p.embed * w->embed + p.aside * w->embed;
}

static void same(const char *model, const struct model_file *f, const struct arch *a)
{
	struct arch_parts got = arch_parts(&f->arch), want = arch_parts(a);

	close_to("attention", model, got.attention, want.attention, 1e-9);
	close_to("states", model, got.linear, want.linear, 1e-6);
	close_to("dense", model, got.dense, want.dense, 1e-9);
	close_to("shared", model, got.shared, want.shared, 1e-9);
	close_to("experts", model, got.experts, want.experts, 1e-9);
	close_to("head", model, got.head, want.head, 1e-9);
	close_to("embedding", model, got.embed, want.embed, 1e-9);
	close_to("aside", model, got.aside, want.aside, 1e-9);
	close_to("active", model, got.active, want.active, 1e-6);
	close_to("cache", model, arch_cache_elements(&f->arch, 30000),
		 arch_cache_elements(a, 30000), 1e-9);
	close_to("reading the cache", model, arch_cache_read(&f->arch, 30000),
		 arch_cache_read(a, 30000), 1e-9);
	close_to("state", model, arch_state_bytes(&f->arch), arch_state_bytes(a), 1e-9);
	close_to("attention of a prompt", model, arch_attention_ops(&f->arch, 30000, 0),
		 arch_attention_ops(a, 30000, 0), 1e-9);
	close_to("bytes", model, bytes_of(f), f->bytes, 1e-9);
}

static struct file made;

static const struct family families[] = {
	{ .model = "Qwen3-8B", .name = "qwen3" },
	{ .model = "Qwen3-30B-A3B", .name = "qwen3moe" },
	{ .model = "Gemma-2-9B", .name = "gemma2" },
	{ .model = "Gemma-3-27B", .name = "gemma3" },
	{ .model = "Gemma-3-1B", .name = "gemma3" },
	{ .model = "Gemma-3n-E4B", .name = "gemma3n" },
	{ .model = "Gemma-4-E2B", .name = "gemma4", .array = true },
	{ .model = "Gemma-4-31B", .name = "gemma4", .array = true },
	{ .model = "gpt-oss-20b", .name = "gpt-oss" },
	{ .model = "gpt-oss-120b", .name = "gpt-oss" },
	{ .model = "Llama-4-Scout-17B-16E", .name = "llama4" },
	{ .model = "DeepSeek-V3", .name = "deepseek2" },
	{ .model = "DeepSeek-V2-Lite", .name = "deepseek2" },
	{ .model = "DeepSeek-V3.2", .name = "deepseek32" },
	{ .model = "Granite-4.0-H-Small", .name = "granitehybrid", .inner = 8192, .state = 128 },
	{ .model = "Granite-4.0-H-Micro", .name = "granitehybrid", .inner = 4096, .state = 128 },
	{ .model = "Falcon-H1-34B",
	  .name = "falcon-h1",
	  .inner = 4096,
	  .state = 256,
	  .both = true },
	{ .model = "Nemotron-Nano-9B-v2", .name = "nemotron_h", .inner = 10240, .state = 128 },
	{ .model = "Nemotron-3-Nano-30B-A3B",
	  .name = "nemotron_h_moe",
	  .inner = 4096,
	  .state = 128 },
	{ .model = "Nemotron-3-Super-120B-A12B",
	  .name = "nemotron_h_moe",
	  .inner = 8192,
	  .state = 128 },
	{ .model = "Jamba-Mini", .name = "jamba", .inner = 8192, .state = 16 },
	{ .model = "LFM2-1.2B", .name = "lfm2", .conv = 3 },
	{ .model = "LFM2-8B-A1B", .name = "lfm2moe", .conv = 3 },
	{ .model = "Qwen3-Next-80B-A3B", .name = "qwen3next", .inner = 4096, .state = 128 },
	{ .model = "Kimi-Linear-48B-A3B", .name = "kimi-linear", .kda = 128 },
};

static int read_made(struct arena *a, struct model_file *f, struct err *e)
{
	return gguf_read(a, "made", made.data, made.len, f, e);
}

static void test_families(void **state)
{
	struct arena a = { 0 };

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *c = &families[i];
		struct model_file f;
		struct arch want;
		const char *taken;
		struct err e;

		assert_int_equal(model_find(&a, NULL, c->model, NULL, &want, &taken, &e), 0);
		write_model(&made, c, &want);
		if (read_made(&a, &f, &e) < 0)
			fail_msg("%s: %s", c->model, e.text);
		same(c->model, &f, &want);
		if (strchr(f.taken, ';'))
			fail_msg("%s: says \"%s\"", c->model, f.taken);
	}
	arena_free(&a);
	(void)state;
}

static void find(const char *model, struct arch *out)
{
	struct arena a = { 0 };
	const char *taken;
	struct err e;

	assert_int_equal(model_find(&a, NULL, model, NULL, out, &taken, &e), 0);
	arena_free(&a);
}

static void says(struct arena *a, struct model_file *f, const char *what)
{
	struct err e;

	if (read_made(a, f, &e) < 0)
		fail_msg("%s", e.text);
	if (what ? !strstr(f->taken, what) : strchr(f->taken, ';') != NULL)
		fail_msg("says \"%s\", not \"%s\"", f->taken, what ? what : "nothing");
}

/* Files of before attn_k_b are the same model, and their cache is not. */
static void test_old_latent(void **state)
{
	const struct family c = { .model = "DeepSeek-V3", .name = "deepseek2", .old_latent = true };
	struct arena a = { 0 };
	struct model_file f;
	struct arch want;

	find(c.model, &want);
	write_model(&made, &c, &want);
	says(&a, &f, "71 times the cache predicted here");
	same(c.model, &f, &want);
	arena_free(&a);
	(void)state;
}

/* What a small made-up file begins with. */
static void small_model(const char *family, int layers)
{
	begin(&made);
	key_text(&made, "general", "architecture", family);
	key(&made, family, "block_count", layers);
	key(&made, family, "embedding_length", 1024);
	key(&made, family, "vocab_size", 4096);
}

static void small_tensors(void)
{
	tensor(&made, -1, "token_embd.weight", 1024, 4096, 1, Q8_0);
}

static void small_attention(int layer, int heads, int kv)
{
	tensor(&made, layer, "attn_q.weight", 1024, 64 * heads, 1, Q8_0);
	if (kv)
		tensor(&made, layer, "attn_k.weight", 1024, 64 * kv, 1, Q8_0);
	if (kv)
		tensor(&made, layer, "attn_v.weight", 1024, 64 * kv, 1, Q8_0);
	tensor(&made, layer, "attn_output.weight", 64 * heads, 1024, 1, Q8_0);
}

/* Layers with their own heads and widths (OpenELM, DeciLM): sums stay. */
static void test_unlike_layers(void **state)
{
	static const int heads[] = { 12, 12, 16, 0, 20, 20 }, kv[] = { 3, 3, 4, 0, 5, 5 },
			 ffn[] = { 512, 1024, 1536, 2048, 2560, 3072 };
	struct arena a = { 0 };
	struct model_file f;

	small_model("openelm", 6);
	key_list(&made, "openelm", "attention.head_count", heads, 6);
	key_list(&made, "openelm", "attention.head_count_kv", kv, 6);
	key(&made, "openelm", "attention.key_length", 64);
	key(&made, "openelm", "attention.value_length", 64);
	small_tensors();
	for (int i = 0; i < 6; i++) {
		if (heads[i])
			small_attention(i, heads[i], kv[i]);
		tensor(&made, i, "ffn_up.weight", 1024, 2 * ffn[i], 1, Q8_0);
		tensor(&made, i, "ffn_down.weight", ffn[i], 1024, 1, Q8_0);
	}
	end(&made);
	says(&a, &f, NULL);
	assert_false(f.arch.guessed);
	assert_int_equal(arch_full_layers(&f.arch), 5);
	close_to("cache", "openelm", arch_cache_elements(&f.arch, 1), 2 * 64 * 20, 1e-9);
	assert_int_equal(f.arch.ffn, 1792);
	assert_int_equal(f.arch.ffn_mats, 3);
	close_to("total", "openelm", arch_parts(&f.arch).total, made.params, 1e-9);
	close_to("bytes", "openelm", f.bytes, made.params * 34 / 32, 1e-9);
	arena_free(&a);
	(void)state;
}

/* What keys give and tensors do not have is said; bytes are the tensors'. */
static void test_keys_and_tensors_differ(void **state)
{
	struct arena a = { 0 };
	struct model_file f;

	small_model("llama", 2);
	key(&made, "llama", "attention.head_count", 32);
	key(&made, "llama", "attention.head_count_kv", 8);
	key(&made, "llama", "attention.key_length", 64);
	small_tensors();
	for (int i = 0; i < 2; i++)
		small_attention(i, 16, 8);
	end(&made);
	says(&a, &f, "tensors have 0.00629 G parameters of");
	assert_true(f.arch.guessed);
	close_to("bytes", "llama", bytes_of(&f), made.params * 34 / 32, 1e-9);
	arena_free(&a);
	(void)state;
}

static void windows(const char *family, const char *what, const int *list, int n)
{
	small_model(family, 6);
	key(&made, family, "attention.head_count", 16);
	key(&made, family, "attention.sliding_window", 256);
	if (n == 1)
		key(&made, family, what, list[0]);
	else if (list)
		key_list(&made, family, what, list, n);
	small_tensors();
	for (int i = 0; i < 6; i++)
		small_attention(i, 16, 16);
	end(&made);
}

/* A list, a list that repeats itself, a period, a family's own; nothing known is said. */
static void test_windows(void **state)
{
	static const char pattern[] = "attention.sliding_window_pattern";
	static const int list[] = { 1, 0, 0, 0, 0, 1 }, short_list[] = { 1, 1, 0 },
			 period[] = { 3 };
	struct arena a = { 0 };
	struct model_file f;

	windows("step35", pattern, list, 6);
	says(&a, &f, NULL);
	assert_int_equal(f.arch.window_layers, 2);
	windows("step35", pattern, short_list, 3);
	says(&a, &f, NULL);
	assert_int_equal(f.arch.window_layers, 4);
	windows("gemma3", pattern, period, 1);
	says(&a, &f, NULL);
	assert_int_equal(f.arch.window_layers, 4);
	windows("smallthinker", NULL, NULL, 0);
	says(&a, &f, NULL);
	assert_int_equal(f.arch.window_layers, 4);
	assert_int_equal(f.arch.window, 4096);
	windows("phi3", NULL, NULL, 0);
	says(&a, &f, "the window of 256 tokens is ignored");
	assert_false(f.arch.guessed);
	assert_int_equal(f.arch.window_layers, 0);
	arena_free(&a);
	(void)state;
}

/* A model of states alone has no heads; one that is not told what they are is said. */
static void test_states_alone(void **state)
{
	struct arena a = { 0 };
	struct model_file f;

	for (int told = 0; told < 2; told++) {
		small_model("mamba2", 3);
		key(&made, "mamba2", "ssm.inner_size", 2048);
		key(&made, "mamba2", "ssm.state_size", told ? 128 : 0);
		small_tensors();
		for (int i = 0; i < 3; i++) {
			tensor(&made, i, "ssm_in.weight", 1024, 4384, 1, Q8_0);
			tensor(&made, i, "ssm_out.weight", 2048, 1024, 1, Q8_0);
		}
		end(&made);
		says(&a, &f, told ? NULL : "state size per sequence unknown");
		close_to("cache", "mamba2", arch_cache_elements(&f.arch, 1000), 0, 0);
		close_to("state", "mamba2", arch_state_bytes(&f.arch),
			 told ? 3 * 2048.0 * 128 * 4 : 0, 1e-9);
	}
	arena_free(&a);
	(void)state;
}

/* Layers for guesses are the last ones, and no token goes through them. */
static void test_guesses(void **state)
{
	struct arena a = { 0 };
	struct model_file f;

	small_model("glm4moe", 3);
	key(&made, "glm4moe", "attention.head_count", 16);
	key(&made, "glm4moe", "nextn_predict_layers", 1);
	small_tensors();
	for (int i = 0; i < 3; i++)
		small_attention(i, 16, 16);
	end(&made);
	says(&a, &f, "GB of layers used only for speculative tokens are excluded");
	assert_int_equal(f.arch.layers, 2);
	close_to("bytes", "glm4moe", f.bytes, (made.params - 4 * 1024.0 * 1024) * 34 / 32, 1e-9);
	arena_free(&a);
	(void)state;
}

static void part(int i, int n)
{
	begin(&made);
	if (!i) {
		small_model("llama", 2);
		key(&made, "llama", "attention.head_count", 16);
	}
	key(&made, "split", "no", i);
	key(&made, "split", "count", n);
	key(&made, "split", "tensors.count", 9);
	if (!i)
		small_tensors();
	small_attention(i, 16, 16);
	end(&made);
}

/* A model in two files: both, or nothing. */
static void test_files(void **state)
{
	struct arena a = { 0 };
	struct model_file f;
	struct gguf *g;
	struct err e;

	part(0, 2);
	assert_int_equal(read_made(&a, &f, &e), -EINVAL);
	assert_non_null(strstr(e.text, "first of 2 files"));
	assert_int_equal(gguf_open(&a, "made", made.data, made.len, &g, &e), 0);
	assert_int_equal(gguf_files(g), 2);
	part(1, 2);
	assert_int_equal(read_made(&a, &f, &e), -EINVAL);
	assert_non_null(strstr(e.text, "file 2 of 2"));
	assert_int_equal(gguf_more(g, "made", made.data, made.len, &e), 0);
	assert_int_equal(gguf_model(g, &f, &e), 0);
	close_to("bytes", "both", f.bytes, (4096 * 1024 + 2 * 4 * 1024 * 1024) * 34.0 / 32, 1e-9);
	assert_int_equal(gguf_more(g, "made", made.data, made.len, &e), -EINVAL);
	arena_free(&a);
	(void)state;
}

/* A type nobody is agreed on, a layer that is none, a header cut anywhere: refused. */
static void test_refused(void **state)
{
	const struct family c = { .name = "deepseek2" };
	struct arena a = { 0 };
	struct model_file f;
	struct arch small;
	struct err e;

	small_model("llama", 1);
	tensor(&made, -1, "token_embd.weight", 1024, 4096, 1, 42);
	end(&made);
	assert_int_equal(read_made(&a, &f, &e), -EINVAL);
	assert_non_null(strstr(e.text, "type 42"));
	small_model("llama", 1);
	tensor(&made, 1, "attn_q.weight", 1024, 1024, 1, Q8_0);
	end(&made);
	assert_int_equal(read_made(&a, &f, &e), -EINVAL);
	find("DeepSeek-V3", &small);
	small.layers = 2;
	small.ffn_layers = small.moe_layers = 1;
	write_model(&made, &c, &small);
	for (size_t n = 0; n < made.len; n++)
		assert_true(gguf_read(&a, "cut", made.data, n, &f, &e) < 0);
	assert_int_equal(read_made(&a, &f, &e), 0);
	arena_free(&a);
	(void)state;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_old_latent),
		cmocka_unit_test(test_unlike_layers),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_keys_and_tensors_differ),
		cmocka_unit_test(test_states_alone),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
