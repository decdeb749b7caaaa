/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a model from a GGUF header. Where tensors show a width they are right; keys tell
 * what no tensor shows: heads, windows, states, how many experts a token takes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "models/inference/gguf.h"

void gguf_note(struct arena *a, struct gguf_notes *said, const char *text)
{
	said->text = arena_printf(a, "%s; %s", said->text, text);
}

void gguf_doubt(struct arena *a, struct gguf_notes *said, const char *text)
{
	gguf_note(a, said, text);
	said->doubt = true;
}

/* Layers of one kind, added up. */
struct kind {
	int n;
	double heads, kv_heads;
};

static int rounded(double v)
{
	return v > 0 && v < 1 << 24 ? (int)lround(v) : 0;
}

/* Keys and values of a head: their mean where they differ. */
static int width(int key, int value)
{
	return value > 0 ? (key + value + 1) / 2 : key;
}

static int key_width(const struct gguf_keys *k, bool window)
{
	int key = k->key ? k->key : k->heads ? k->hidden / k->heads : 0;

	return window && k->key_window ? k->key_window : key;
}

static int value_width(const struct gguf_keys *k, bool window)
{
	int value = k->value ? k->value : key_width(k, false);

	if (window && k->key_window)
		value = k->value_window ? k->value_window : k->key_window;
	return value;
}

/* Cached heads of a layer: as its tensor shows, else as the keys tell. */
static double gguf_shape_kv_heads(const struct gguf_keys *k, const struct gguf_layer *l, int i,
				  bool window)
{
	int key = key_width(k, window);
	int told = gguf_of(&k->kv_heads_of, i, k->told_kv_heads ? k->kv_heads : k->heads);

	if (l->k > 0 && key > 0 && l->k < 1 << 24 && fmod(l->k, key) == 0)
		return l->k / key;
	return told;
}

static void add_layer(struct kind *to, const struct gguf_keys *k, const struct gguf_layer *l, int i,
		      bool window)
{
	to->n++;
	to->heads += gguf_of(&k->heads_of, i, k->heads);
	to->kv_heads += gguf_shape_kv_heads(k, l, i, window);
}

/*
 * Heads of layers that differ, as ones that are alike: their sum stays, which is what the cache is
 * made of, if need be by another number of layers.
 */
static int gguf_shape_alike(struct arena *a, struct kind *kind, int *heads, struct gguf_notes *said)
{
	double each = kind->n ? kind->kv_heads / kind->n : 0, off;
	int n = kind->n;

	*heads = each > 0 && each < 1 ? 1 : rounded(each);
	if (*heads && fabs(*heads * (double)n - kind->kv_heads) > 0.01 * kind->kv_heads)
		n = rounded(kind->kv_heads / *heads);
	off = kind->kv_heads > 0 ? *heads * (double)n / kind->kv_heads - 1 : 0;
	if (fabs(off) > 0.01)
		gguf_doubt(a, said,
			   arena_printf(a,
					"heads differ between layers: with equal layers assumed, "
					"the predicted cache is %.0f %% too %s",
					100 * fabs(off), off > 0 ? "large" : "small"));
	return n;
}

static int latent_attention(const struct gguf_keys *k, const struct gguf_tensors *t, struct arch *s)
{
	int key = k->key_mla ? k->key_mla : k->key;

	s->kv_lora = k->kv_lora;
	s->q_lora = k->q_lora;
	s->rope_dim = k->rope;
	for (int i = 0; i < t->n; i++)
		if (t->layers[i].latent > k->kv_lora)
			s->rope_dim = rounded(t->layers[i].latent - k->kv_lora);
	s->nope_dim = s->head_dim = key - s->rope_dim;
	s->v_dim = k->value_mla ? k->value_mla : k->value;
	return s->rope_dim > 0 && s->nope_dim > 0 && s->v_dim > 0 ? 0 : -EINVAL;
}

/* Old files keep one matrix that llama.cpp does not take apart. */
static void gguf_note_latent(struct arena *a, const struct gguf_tensors *t, const struct arch *s,
			     struct gguf_notes *said)
{
	for (int i = 0; i < t->n; i++)
		if (t->layers[i].latent > 0 && !t->layers[i].absorbed) {
			gguf_doubt(
				a, said,
				arena_printf(
					a,
					"the file has no attn_k_b (as before 2025): llama.cpp then "
					"caches all heads, %.0f times the cache predicted here",
					s->heads * (double)(s->nope_dim + s->rope_dim + s->v_dim) /
						(s->kv_lora + s->rope_dim)));
			return;
		}
}

static void gguf_shape_gates(const struct gguf_keys *k, const struct gguf_tensors *t,
			     struct arch *s)
{
	for (int i = 0; i < t->n; i++) {
		const struct gguf_layer *l = &t->layers[i];
		double q = gguf_of(&k->heads_of, i, k->heads) *
			   (double)key_width(k, gguf_window(k, i) > 0);

		if (gguf_is_attention(l) && q > 0 && (l->q == 2 * q || l->gate == q))
			s->gated_attention = true;
	}
}

static int gguf_shape_attention(struct arena *a, const struct gguf_keys *k,
				const struct gguf_tensors *t, struct arch *s,
				struct gguf_notes *said)
{
	struct kind full = { 0 }, windows = { 0 };
	int counted;

	for (int i = 0; i < t->n; i++) {
		const struct gguf_layer *l = &t->layers[i];
		int window = gguf_is_attention(l) ? gguf_window(k, i) : 0;

		if (gguf_is_attention(l))
			add_layer(window ? &windows : &full, k, l, i, window > 0);
		s->window = window ? window : s->window;
	}
	s->window_layers = gguf_shape_alike(a, &windows, &s->window_kv_heads, said);
	counted = gguf_shape_alike(a, &full, &s->kv_heads, said);
	s->heads = rounded((full.heads + windows.heads) / fmax(1, counted + s->window_layers));
	s->head_dim = width(key_width(k, false), value_width(k, false));
	s->window_head_dim = s->window_layers ? width(key_width(k, true), value_width(k, true)) : 0;
	if (!full.n) { /* all layers have one */
		s->kv_heads = s->window_kv_heads;
		s->head_dim = s->window_layers ? s->window_head_dim : s->head_dim;
	}
	if (s->kv_heads == s->window_kv_heads && s->head_dim == s->window_head_dim)
		s->window_kv_heads = s->window_head_dim = 0;
	if (counted != t->n - s->window_layers - s->linear_layers)
		s->attention_layers = counted ? counted : -1;
	s->kv_shared_layers = k->shared_kv < t->n ? k->shared_kv : 0;
	s->index_top = k->index_top;
	gguf_shape_gates(k, t, s);
	if (gguf_window_unknown(k))
		gguf_note(a, said,
			  arena_printf(a,
				       "the window of %d tokens is ignored: llama.cpp does not use "
				       "one for %s",
				       k->window, k->family));
	return s->heads || s->linear_layers ? 0 : -EINVAL;
}

/* Gemma 3n's last layers use an earlier one's cache: not in all files. */
static void family_facts(const struct gguf_keys *k, struct arch *s)
{
	if (strcmp(k->family, "gemma3n") == 0 && !s->kv_shared_layers && s->layers > 20)
		s->kv_shared_layers = s->layers - 20;
}

static void gguf_shape_states(struct arena *a, const struct gguf_keys *k,
			      const struct gguf_tensors *t, struct arch *s, struct gguf_notes *said)
{
	double params = 0, convolving = 0;

	for (int i = 0; i < t->n; i++) {
		const struct gguf_layer *l = &t->layers[i];

		if (!gguf_is_linear(l))
			continue;
		s->linear_layers++;
		convolving += l->convolves;
		params += l->linear.params + (gguf_is_attention(l) ? 0 : l->attention.params);
	}
	if (!s->linear_layers)
		return;
	s->linear_params = params / s->linear_layers;
	if (convolving > 0 && k->conv)
		s->linear_state = (double)k->conv * k->hidden * 2;
	else if (k->kda)
		s->linear_state = (double)k->heads * k->kda * k->kda * 4;
	else
		s->linear_state = (double)k->inner * k->state * 4;
	if (s->linear_state <= 0)
		gguf_doubt(a, said, "state size per sequence unknown: not counted");
}

static void gguf_shape_blocks(const struct gguf_keys *k, const struct gguf_tensors *t,
			      struct arch *s)
{
	double ffn = 0, expert = 0, shared = 0, in = 0;
	double mats = t->experts_down > 0 ? t->experts.params / t->experts_down
		      : t->dense_down > 0 ? t->dense.params / t->dense_down
					  : 3;

	for (int i = 0; i < t->n; i++) {
		const struct gguf_layer *l = &t->layers[i];

		s->ffn_layers += l->ffn > 0;
		s->moe_layers += l->expert_ffn > 0;
		ffn += l->ffn;
		expert += l->expert_ffn;
		in += l->expert_in;
		shared += l->shared;
	}
	s->ffn_mats = mats < 2.5 ? 2 : 3;
	s->ffn = s->ffn_layers ? rounded(ffn / s->ffn_layers) : 0;
	if (!s->moe_layers)
		return;
	s->experts = t->expert_count > 0 ? rounded(t->expert_count) : k->experts;
	s->top = k->top;
	s->expert_ffn = rounded(expert / s->moe_layers);
	s->expert_in = rounded(in / s->moe_layers);
	if (s->expert_in == k->hidden)
		s->expert_in = 0;
	s->shared_ffn = rounded(shared / s->moe_layers);
}

static bool gguf_shape_is_valid(const struct arch *s)
{
	if (s->hidden < 16 || s->hidden > 1 << 20 || s->vocab < 16 || s->heads > 4096 ||
	    s->head_dim > 65536 || s->window_head_dim > 65536 || s->kv_heads > 65536 ||
	    s->window_kv_heads > 65536)
		return false;
	/* Without attention there are no heads. */
	if (s->linear_layers < s->layers && (s->heads < 1 || s->head_dim < 1))
		return false;
	return !s->moe_layers ||
	       (s->experts <= 65536 && s->top >= 1 && s->top <= s->experts && s->expert_ffn >= 1);
}

int gguf_shape(struct arena *a, const char *name, const struct gguf_keys *k,
	       const struct gguf_tensors *t, struct arch *s, struct gguf_notes *said, struct err *e)
{
	*s = (struct arch){ .layers = t->n, .trained = k->trained, .hidden = k->hidden };
	s->vocab = t->vocab > 0 ? rounded(t->vocab) : k->vocab ? k->vocab : k->tokens;
	s->tied = t->head.params <= 0;
	s->aside = t->aside.params;
	gguf_shape_states(a, k, t, s, said);
	gguf_shape_blocks(k, t, s);
	if (gguf_shape_attention(a, k, t, s, said) < 0)
		return err_set(e, -EINVAL, "%.120s: unsupported layers of \"%.40s\"", name,
			       k->family);
	family_facts(k, s);
	if (k->kv_lora && latent_attention(k, t, s) < 0)
		return err_set(e, -EINVAL, "%.120s: widths of its latent attention missing", name);
	if (!gguf_shape_is_valid(s))
		return err_set(e, -EINVAL, "%.120s: layers, widths, heads or vocabulary missing",
			       name);
	if (k->kv_lora)
		gguf_note_latent(a, t, s, said);
	return 0;
}

/* Tensors of a GGUF header: part, layer, parameters and bytes of each, and widths that it shows. */

/* Bytes of a block and its elements, by type number. Numbers above are not the same in all
 * programs that write such files. */
static const struct {
	uint32_t type, block, bytes;
	const char *name;
} types[] = {
	{ 0, 1, 4, "f32" },	    { 1, 1, 2, "f16" },		{ 2, 32, 18, "q4_0" },
	{ 3, 32, 20, "q4_1" },	    { 6, 32, 22, "q5_0" },	{ 7, 32, 24, "q5_1" },
	{ 8, 32, 34, "q8_0" },	    { 9, 32, 36, "q8_1" },	{ 10, 256, 84, "q2_k" },
	{ 11, 256, 110, "q3_k" },   { 12, 256, 144, "q4_k" },	{ 13, 256, 176, "q5_k" },
	{ 14, 256, 210, "q6_k" },   { 15, 256, 292, "q8_k" },	{ 16, 256, 66, "iq2_xxs" },
	{ 17, 256, 74, "iq2_xs" },  { 18, 256, 98, "iq3_xxs" }, { 19, 256, 50, "iq1_s" },
	{ 20, 32, 18, "iq4_nl" },   { 21, 256, 110, "iq3_s" },	{ 22, 256, 82, "iq2_s" },
	{ 23, 256, 136, "iq4_xs" }, { 24, 1, 1, "i8" },		{ 25, 1, 2, "i16" },
	{ 26, 1, 4, "i32" },	    { 27, 1, 8, "i64" },	{ 28, 1, 8, "f64" },
	{ 29, 256, 56, "iq1_m" },   { 30, 1, 2, "bf16" },	{ 34, 256, 54, "tq1_0" },
	{ 35, 256, 66, "tq2_0" },   { 39, 32, 17, "mxfp4" },	{ 40, 64, 36, "nvfp4" },
};

_Static_assert(sizeof(types) / sizeof(types[0]) <=
		       sizeof(((struct gguf_tensors *)0)->by_type) / sizeof(double),
	       "by_type has too few elements for the types");

/* A name's parts: "blk.3.ffn_down.weight" is layer 3, "ffn_down", "weight". */
struct tensor {
	int layer; /* -1: of none */
	const char *what, *rest;
	size_t what_len, rest_len;
	double dim[3], params, bytes;
};

static bool has(const struct tensor *t, const char *word)
{
	return memmem(t->what, t->what_len, word, strlen(word)) != NULL;
}

static bool starts(const struct tensor *t, const char *word)
{
	return t->what_len >= strlen(word) && memcmp(t->what, word, strlen(word)) == 0;
}

static bool is(const struct tensor *t, const char *word)
{
	return t->what_len == strlen(word) && starts(t, word);
}

/* A number before a dot; -1: none. */
static int gguf_shape_number(const char **s, const char *end)
{
	int n = -1;

	for (; *s < end && **s >= '0' && **s <= '9' && n < GGUF_LAYERS; (*s)++)
		n = (n < 0 ? 0 : n) * 10 + (**s - '0');
	if (n < 0 || *s == end || **s != '.')
		return -1;
	(*s)++;
	return n;
}

static bool split_name(const char *s, size_t len, struct tensor *t)
{
	const char *end = s + len, *dot;

	t->layer = -1;
	if (len > 4 && memcmp(s, "blk.", 4) == 0) {
		s += 4;
		t->layer = gguf_shape_number(&s, end);
		if (t->layer < 0)
			return false;
	}
	dot = memchr(s, '.', (size_t)(end - s));
	t->what = s;
	t->what_len = (size_t)((dot ? dot : end) - s);
	t->rest = dot ? dot + 1 : end;
	t->rest_len = (size_t)(end - t->rest);
	return true;
}

static void add(struct gguf_sum *s, const struct tensor *t)
{
	s->params += t->params;
	s->bytes += t->bytes;
}

/* Older files have a tensor for each expert: "ffn_down.7.weight". */
static bool is_one_expert(const struct tensor *t)
{
	return t->rest_len && t->rest[0] >= '0' && t->rest[0] <= '9';
}

static void take_experts(const struct tensor *t, struct gguf_layer *l, struct gguf_tensors *all)
{
	add(&all->experts, t);
	if (!starts(t, "ffn_down"))
		return;
	all->experts_down += t->params;
	l->expert_ffn = t->dim[0];
	l->expert_in = t->dim[1];
	if (!is_one_expert(t))
		all->expert_count = t->dim[2];
}

static void take_block(const struct tensor *t, struct gguf_layer *l, struct gguf_tensors *all)
{
	if (is_one_expert(t)) {
		take_experts(t, l, all);
		return;
	}
	add(&all->dense, t);
	if (is(t, "ffn_down")) {
		all->dense_down += t->params;
		l->ffn = t->dim[0];
	}
}

static void take_attention(const struct tensor *t, struct gguf_layer *l)
{
	add(&l->attention, t);
	l->attends |= is(t, "attn_q") || is(t, "attn_qkv") || is(t, "attn_q_b");
	l->out |= is(t, "attn_output");
	l->absorbed |= is(t, "attn_k_b");
	if (is(t, "attn_q"))
		l->q = t->dim[1];
	else if (is(t, "attn_k"))
		l->k = t->dim[1];
	else if (is(t, "attn_gate"))
		l->gate = t->dim[1];
	else if (is(t, "attn_kv_a_mqa"))
		l->latent = t->dim[1];
}

static void take_linear(const struct tensor *t, struct gguf_layer *l)
{
	add(&l->linear, t);
	l->states |= starts(t, "ssm_");
	l->states_out |= is(t, "ssm_out");
	l->convolves |= is(t, "shortconv");
}

/* Norms, biases and scales are none. */
static bool is_matrix(const struct tensor *t)
{
	return !has(t, "norm") && t->rest_len >= 6 &&
	       memcmp(t->rest + t->rest_len - 6, "weight", 6) == 0;
}

static void take_of_layer(const struct tensor *t, struct gguf_tensors *all)
{
	struct gguf_layer *l = &all->layers[t->layer];

	if (starts(t, "ssm_") || is(t, "shortconv"))
		take_linear(t, l);
	else if (!is_matrix(t) || is(t, "ffn_gate_inp_shexp"))
		add(&all->other, t);
	else if (starts(t, "attn_"))
		take_attention(t, l);
	else if (is(t, "ffn_gate_inp"))
		add(&all->router, t);
	else if (starts(t, "ffn_") && has(t, "_exps"))
		take_experts(t, l, all);
	else if (starts(t, "ffn_") && (has(t, "_shexp") || has(t, "_latent")))
		add(&all->shared, t);
	else if (is(t, "ffn_gate") || is(t, "ffn_up") || is(t, "ffn_down"))
		take_block(t, l, all);
	else
		add(&all->other, t);
	if (is(t, "ffn_down_shexp") && is_matrix(t))
		l->shared = t->dim[0];
}

/* Around the layers; what sees and hears ("v.", "a.", "mm.") is in files of some programs, and no
 * token goes through it. */
static void take_around(const struct tensor *t, struct gguf_tensors *all)
{
	if (is(t, "output") && is_matrix(t)) {
		add(&all->head, t);
	} else if (is(t, "token_embd") && is_matrix(t)) {
		add(&all->embed, t);
		all->in = t->dim[0];
		all->vocab = t->dim[1];
	} else if (is(t, "per_layer_token_embd") || is(t, "v") || is(t, "a") || is(t, "mm")) {
		add(&all->aside, t);
	} else {
		add(&all->other, t);
	}
}

static void take_type(struct gguf_tensors *all, struct tensor *t, uint32_t type, uint32_t *unknown)
{
	double most = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type == type) {
			t->bytes = t->params / types[i].block * types[i].bytes;
			all->by_type[i] += t->bytes;
		}
		if (all->by_type[i] > most) {
			most = all->by_type[i];
			all->most = types[i].name;
		}
	}
	if (t->bytes <= 0)
		*unknown = type;
}

static bool take_widths(struct gguf_reader *r, struct tensor *t)
{
	uint32_t dims;
	uint64_t dim;

	t->params = 1;
	t->dim[0] = t->dim[1] = t->dim[2] = 1;
	if (!gguf_take(r, &dims, 4) || dims > 8)
		return false;
	for (uint32_t i = 0; i < dims; i++) {
		if (!gguf_take(r, &dim, 8) || !dim || dim > 1ull << 40)
			return false;
		if (i < 3)
			t->dim[i] = (double)dim;
		t->params *= (double)dim;
	}
	return t->params < 1e15;
}

bool gguf_take_tensor(struct gguf_reader *r, const struct gguf_keys *k, struct gguf_tensors *all,
		      uint32_t *unknown)
{
	struct tensor t = { 0 };
	const char *s;
	uint64_t len, offset;
	uint32_t type;

	if (!gguf_take_text(r, &s, &len) || len > 4096 || !take_widths(r, &t) ||
	    !gguf_take(r, &type, 4) || !gguf_take(r, &offset, 8) ||
	    !split_name(s, (size_t)len, &t) || t.layer >= k->layers)
		return false;
	all->count++;
	take_type(all, &t, type, unknown);
	if (t.layer >= all->n)
		add(&all->guess, &t);
	else if (t.layer >= 0)
		take_of_layer(&t, all);
	else
		take_around(&t, all);
	return t.bytes > 0;
}

bool gguf_is_linear(const struct gguf_layer *l)
{
	return l->states || l->convolves;
}

/* A layer with both has an output of each; projections of a layer with a state alone are named
 * like attention's. */
bool gguf_is_attention(const struct gguf_layer *l)
{
	return l->attends && (!gguf_is_linear(l) || (l->out && l->states_out));
}
