/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of a GGUF header: which part of which layer each is, its parameters and bytes, and
 * the widths that it shows.
 */
#include <string.h>

#include "models/inference/gguf_parts.h"

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
	       "a place for each type");

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
static int number(const char **s, const char *end)
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
		t->layer = number(&s, end);
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
