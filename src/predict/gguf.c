/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a GGUF file: figures by key, then every tensor's name, size and type; the bytes of
 * each part of the model follow exactly. Versions 2 and 3, little-endian, as all are that exist.
 */
#include <errno.h>
#include <string.h>

#include "predict/config.h"

#define MOST_TENSORS 1000000
#define MOST_KEYS 100000
#define MOST_ARRAY (1u << 26)

struct reader {
	const uint8_t *at, *end;
	bool short_of; /* the data ended before the header did */
};

/* Bytes of a block and its elements, by type number. */
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

static bool take(struct reader *r, void *to, size_t n)
{
	if ((size_t)(r->end - r->at) < n) {
		r->short_of = true;
		return false;
	}
	if (to)
		memcpy(to, r->at, n);
	r->at += n;
	return true;
}

static bool take_text(struct reader *r, const char **s, uint64_t *len)
{
	if (!take(r, len, 8) || *len > (uint64_t)(r->end - r->at)) {
		r->short_of = true;
		return false;
	}
	*s = (const char *)r->at;
	r->at += *len;
	return true;
}

static size_t value_size(uint32_t type)
{
	static const size_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return type < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

/* An integer of any width; other types are 0. */
static double number_of(const uint8_t *at, uint32_t type)
{
	uint64_t u = 0;

	if (type == 6 || type == 12 || !value_size(type))
		return 0;
	memcpy(&u, at, value_size(type));
	return u < 1ull << 48 ? (double)u : 0;
}

/* What is kept of a value: the number, or of an array its length and largest number. */
struct value {
	double number, length, most, zeros;
	const char *text;
	size_t len;
};

static bool take_array(struct reader *r, struct value *v)
{
	uint32_t type;
	uint64_t n, len;
	const char *s;

	if (!take(r, &type, 4) || !take(r, &n, 8) || n > MOST_ARRAY)
		return false;
	v->length = (double)n;
	for (uint64_t i = 0; i < n; i++) {
		if (type == 8) {
			if (!take_text(r, &s, &len))
				return false;
			continue;
		}
		if (!value_size(type) || (size_t)(r->end - r->at) < value_size(type)) {
			r->short_of = value_size(type) > 0;
			return false;
		}
		double x = number_of(r->at, type);

		v->most = x > v->most ? x : v->most;
		v->zeros += x <= 0;
		r->at += value_size(type);
	}
	v->number = v->most;
	return true;
}

static bool take_value(struct reader *r, struct value *v)
{
	uint32_t type;
	uint64_t len;

	*v = (struct value){ 0 };
	if (!take(r, &type, 4))
		return false;
	if (type == 9)
		return take_array(r, v);
	if (type == 8) {
		bool ok = take_text(r, &v->text, &len);

		v->len = ok ? (size_t)len : 0;
		return ok;
	}
	if (!value_size(type) || (size_t)(r->end - r->at) < value_size(type)) {
		r->short_of = value_size(type) > 0;
		return false;
	}
	v->number = number_of(r->at, type);
	r->at += value_size(type);
	return true;
}

static bool ends(const char *key, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && memcmp(key + len - n, suffix, n) == 0;
}

static int small(double v)
{
	return v > 0 && v < 1 << 24 ? (int)v : 0;
}

static void keep(struct arch *a, const char *key, size_t len, const struct value *v)
{
	static const struct {
		const char *suffix;
		size_t offset;
	} kept[] = {
		{ ".block_count", offsetof(struct arch, layers) },
		{ ".context_length", offsetof(struct arch, trained) },
		{ ".embedding_length", offsetof(struct arch, hidden) },
		{ ".attention.head_count", offsetof(struct arch, heads) },
		{ ".attention.head_count_kv", offsetof(struct arch, kv_heads) },
		{ ".attention.key_length", offsetof(struct arch, head_dim) },
		{ ".attention.key_length_swa", offsetof(struct arch, window_head_dim) },
		{ ".attention.sliding_window", offsetof(struct arch, window) },
		{ ".attention.kv_lora_rank", offsetof(struct arch, kv_lora) },
		{ ".attention.q_lora_rank", offsetof(struct arch, q_lora) },
		{ ".rope.dimension_count", offsetof(struct arch, rope_dim) },
		{ ".feed_forward_length", offsetof(struct arch, ffn) },
		{ ".expert_count", offsetof(struct arch, experts) },
		{ ".expert_used_count", offsetof(struct arch, top) },
		{ ".expert_feed_forward_length", offsetof(struct arch, expert_ffn) },
		{ ".expert_shared_feed_forward_length", offsetof(struct arch, shared_ffn) },
		{ ".vocab_size", offsetof(struct arch, vocab) },
	};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (ends(key, len, kept[i].suffix))
			*(int *)((char *)a + kept[i].offset) = small(v->number);
	if (ends(key, len, ".attention.head_count_kv") && v->length > 0)
		a->linear_layers = small(v->zeros);
	if (ends(key, len, "tokenizer.ggml.tokens"))
		a->vocab = small(v->length);
}

/* Parameters and bytes of each part of the model. */
struct part {
	double params, bytes;
};

struct parts {
	struct part experts, shared, attention, linear, dense, head, embed;
	double bytes;
	int moe_layers, ffn_layers, linear_layers;
	const char *most; /* the type that most bytes are in */
	double most_bytes;
	double by_type[sizeof(types) / sizeof(types[0])];
};

static bool has(const char *s, size_t len, const char *word)
{
	return memmem(s, len, word, strlen(word)) != NULL;
}

static struct part *part_of(struct parts *p, const char *s, size_t len)
{
	if (has(s, len, "_exps"))
		return &p->experts;
	if (has(s, len, "_shexp"))
		return &p->shared;
	if (has(s, len, "ssm_") || has(s, len, "shortconv"))
		return &p->linear;
	if (has(s, len, "attn_") && !has(s, len, "norm"))
		return &p->attention;
	if (len >= 13 && memcmp(s, "output.weight", 13) == 0)
		return &p->head;
	if (has(s, len, "token_embd"))
		return &p->embed;
	return &p->dense;
}

static bool take_tensor(struct reader *r, struct parts *p)
{
	const char *s;
	uint64_t len, dim, offset;
	uint32_t dims, type;
	double n = 1, bytes = 0;
	struct part *part;

	if (!take_text(r, &s, &len) || len > 4096 || !take(r, &dims, 4) || dims > 8)
		return false;
	for (uint32_t i = 0; i < dims; i++) {
		if (!take(r, &dim, 8) || dim > 1ull << 40)
			return false;
		n *= (double)dim;
	}
	if (!take(r, &type, 4) || !take(r, &offset, 8))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type) {
			bytes = n / types[i].block * types[i].bytes;
			p->by_type[i] += bytes;
			if (p->by_type[i] > p->most_bytes)
				p->most_bytes = p->by_type[i], p->most = types[i].name;
		}
	part = part_of(p, s, (size_t)len);
	part->params += n;
	part->bytes += bytes;
	p->bytes += bytes;
	p->moe_layers += has(s, (size_t)len, "ffn_down_exps");
	p->ffn_layers += has(s, (size_t)len, "ffn_down.weight");
	p->linear_layers +=
		has(s, (size_t)len, "ssm_out.weight") || has(s, (size_t)len, "shortconv.out_proj");
	return bytes > 0;
}

static double each(const struct part *p, double otherwise)
{
	return p->params > 0 ? p->bytes / p->params : otherwise;
}

static void finish(struct arena *a, const char *name, const struct parts *p, struct model_file *out)
{
	struct arch *s = &out->arch;
	double all = each(&p->dense, 2);

	s->tied = p->head.params <= 0;
	s->moe_layers = p->moe_layers;
	s->ffn_layers = p->ffn_layers;
	s->linear_layers = p->linear_layers;
	if (s->linear_layers > 0)
		s->linear_params = p->linear.params / s->linear_layers;
	if (!s->moe_layers)
		s->experts = 0;
	if (s->experts && !s->expert_ffn)
		s->expert_ffn = s->ffn;
	if (!s->head_dim && s->heads)
		s->head_dim = s->hidden / s->heads;
	if (!s->kv_heads)
		s->kv_heads = s->heads;
	s->v_dim = s->kv_lora ? s->head_dim - s->rope_dim : 0;
	s->nope_dim = s->v_dim;
	if (!s->kv_lora)
		s->rope_dim = 0;
	out->bytes = p->bytes;
	out->format = p->most;
	out->exact = (struct format){ .name = arena_printf(a, "%s (by its header)",
							   p->most ? p->most : "?"),
				      .math = MATH_GGML,
				      .gguf = true,
				      .experts = each(&p->experts, all),
				      .dense = all,
				      .shared = each(&p->shared, all),
				      .attention = each(&p->attention, all),
				      .linear = each(&p->linear, all),
				      .embed = each(&p->embed, 2) };
	out->exact.head = each(&p->head, out->exact.embed);
	s->name = arena_strdup(a, name);
	s->source = "its GGUF header";
	out->taken = arena_printf(a, "%s, by its GGUF header: %.2f GB, most in %s", name,
				  p->bytes / 1e9, p->most ? p->most : "?");
}

static int refuse(const struct reader *r, const char *name, struct err *e)
{
	return r->short_of ? err_set(e, -ENODATA, "%.120s ends before its header does", name)
			   : err_set(e, -EINVAL, "%.120s is no GGUF file that is understood", name);
}

int gguf_read(struct arena *a, const char *name, const uint8_t *data, size_t len,
	      struct model_file *out, struct err *e)
{
	struct reader r = { data, data + len, false };
	struct model_file f = { 0 };
	struct parts p = { 0 };
	uint32_t magic = 0, version = 0;
	uint64_t tensors = 0, keys = 0, key_len;
	const char *key;

	if (!take(&r, &magic, 4) || magic != 0x46554747 || !take(&r, &version, 4) || version < 2 ||
	    version > 3 || !take(&r, &tensors, 8) || !take(&r, &keys, 8) ||
	    tensors > MOST_TENSORS || keys > MOST_KEYS)
		return refuse(&r, name, e);
	for (uint64_t i = 0; i < keys; i++) {
		struct value v;

		if (!take_text(&r, &key, &key_len) || key_len > 65536 || !take_value(&r, &v))
			return refuse(&r, name, e);
		keep(&f.arch, key, (size_t)key_len, &v);
	}
	for (uint64_t i = 0; i < tensors; i++)
		if (!take_tensor(&r, &p))
			return refuse(&r, name, e);
	finish(a, name, &p, &f);
	if (f.arch.layers < 1 || f.arch.hidden < 16 || f.arch.heads < 1 || f.arch.vocab < 16 ||
	    p.bytes <= 0 || (f.arch.experts && (f.arch.top < 1 || f.arch.top > f.arch.experts)) ||
	    f.arch.linear_layers > f.arch.layers)
		return err_set(e, -EINVAL,
			       "%.120s does not give layers, widths, heads and vocabulary", name);
	*out = f;
	return 0;
}
