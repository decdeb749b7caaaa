/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a GGUF header that tell a model's shape: FAMILY.what; the family has no dot. */
#include <stddef.h>
#include <string.h>

#include "models/inference/gguf.h"

#define AT(member) offsetof(struct gguf_keys, member)

static const struct {
	const char *what;
	size_t at, list; /* list: where one number for each layer goes; 0: the largest counts */
} kept[] = {
	{ "block_count", AT(layers), 0 },
	{ "context_length", AT(trained), 0 },
	{ "embedding_length", AT(hidden), 0 },
	{ "vocab_size", AT(vocab), 0 },
	{ "attention.head_count", AT(heads), AT(heads_of) },
	{ "attention.head_count_kv", AT(kv_heads), AT(kv_heads_of) },
	{ "attention.key_length", AT(key), 0 },
	{ "attention.value_length", AT(value), 0 },
	{ "attention.key_length_mla", AT(key_mla), 0 },
	{ "attention.value_length_mla", AT(value_mla), 0 },
	{ "attention.key_length_swa", AT(key_window), 0 },
	{ "attention.value_length_swa", AT(value_window), 0 },
	{ "attention.sliding_window", AT(window), 0 },
	{ "attention.sliding_window_pattern", AT(period), AT(windows_of) },
	{ "attention.shared_kv_layers", AT(shared_kv), 0 },
	{ "attention.kv_lora_rank", AT(kv_lora), 0 },
	{ "attention.q_lora_rank", AT(q_lora), 0 },
	{ "attention.indexer.top_k", AT(index_top), 0 },
	{ "rope.dimension_count", AT(rope), 0 },
	{ "expert_count", AT(experts), 0 },
	{ "expert_used_count", AT(top), 0 },
	{ "ssm.inner_size", AT(inner), 0 },
	{ "ssm.state_size", AT(state), 0 },
	{ "kda.head_dim", AT(kda), 0 },
	{ "shortconv.l_cache", AT(conv), 0 },
	{ "nextn_predict_layers", AT(guess_layers), 0 },
};

static int small(double v)
{
	return v > 0 && v < 1 << 24 ? (int)v : 0;
}

static bool is(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(s, word, len) == 0;
}

int gguf_of(const struct gguf_list *l, int layer, int fallback)
{
	return layer < l->n ? l->v[layer] : fallback;
}

static void keep_list(struct arena *a, struct gguf_list *l, const struct gguf_value *v)
{
	int *items;

	l->n = v->length < GGUF_LAYERS ? (int)v->length : GGUF_LAYERS;
	items = arena_array(a, (size_t)l->n + 1, sizeof(*items));
	for (int i = 0; i < l->n; i++)
		items[i] = small(gguf_item(v, (uint64_t)i));
	l->v = items;
}

static double gguf_keys_largest(const struct gguf_value *v)
{
	double most = v->number;

	for (uint64_t i = 0; i < v->length && i < GGUF_LAYERS; i++)
		if (gguf_item(v, i) > most)
			most = gguf_item(v, i);
	return most;
}

/* What has no family before it. */
static void keep_general(struct gguf_keys *k, const char *key, size_t len,
			 const struct gguf_value *v)
{
	if (is(key, len, "general.architecture") && v->len < sizeof(k->family)) {
		memcpy(k->family, v->text ? v->text : "", v->len);
		k->family[v->len] = '\0';
	} else if (is(key, len, "tokenizer.ggml.tokens")) {
		k->tokens = small((double)v->length);
	} else if (is(key, len, "split.no")) {
		k->part = small(v->number);
	} else if (is(key, len, "split.count")) {
		k->parts = small(v->number);
	} else if (is(key, len, "split.tensors.count")) {
		k->tensors = small(v->number);
	}
}

void gguf_keep(struct arena *a, struct gguf_keys *k, const char *key, size_t len,
	       const struct gguf_value *v)
{
	const char *dot = memchr(key, '.', len), *what = dot ? dot + 1 : key + len;
	size_t rest = (size_t)(key + len - what);

	keep_general(k, key, len, v);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!is(what, rest, kept[i].what))
			continue;
		*(int *)((char *)k + kept[i].at) = small(gguf_keys_largest(v));
		if (kept[i].list && v->items)
			keep_list(a, (struct gguf_list *)((char *)k + kept[i].list), v);
		k->told_window |= kept[i].at == AT(window);
		k->told_period |= kept[i].at == AT(period);
		k->told_kv_heads |= kept[i].at == AT(kv_heads);
	}
}

/* Values of a GGUF header: numbers, texts, arrays of them. */

#define MOST_ARRAY (1u << 26)

/* Numbers of types. */
enum { TYPE_FLOAT = 6, TYPE_TEXT = 8, TYPE_ARRAY = 9, TYPE_DOUBLE = 12 };

bool gguf_take(struct gguf_reader *r, void *to, size_t n)
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

bool gguf_take_text(struct gguf_reader *r, const char **s, uint64_t *len)
{
	if (!gguf_take(r, len, 8) || *len > (uint64_t)(r->end - r->at)) {
		r->short_of = true;
		return false;
	}
	*s = (const char *)r->at;
	r->at += *len;
	return true;
}

/* Bytes of a number; 0: it is none. */
static size_t size_of(uint32_t type)
{
	static const size_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	return type < sizeof(sizes) / sizeof(sizes[0]) ? sizes[type] : 0;
}

static double gguf_keys_number_of(const uint8_t *at, uint32_t type)
{
	uint64_t u = 0;

	if (type == TYPE_FLOAT || type == TYPE_DOUBLE || !size_of(type))
		return 0;
	memcpy(&u, at, size_of(type));
	return u < 1ull << 48 ? (double)u : 0;
}

double gguf_item(const struct gguf_value *v, uint64_t i)
{
	return v->items && i < v->length ? gguf_keys_number_of(v->items + i * size_of(v->of), v->of)
					 : 0;
}

static bool take_texts(struct gguf_reader *r, uint64_t n)
{
	const char *s;
	uint64_t len;

	while (n--)
		if (!gguf_take_text(r, &s, &len))
			return false;
	return true;
}

static bool take_array(struct gguf_reader *r, struct gguf_value *v)
{
	uint64_t n;

	if (!gguf_take(r, &v->of, 4) || !gguf_take(r, &n, 8) || n > MOST_ARRAY)
		return false;
	v->length = n;
	if (v->of == TYPE_TEXT)
		return take_texts(r, n);
	if (!size_of(v->of))
		return n == 0;
	v->items = r->at;
	return gguf_take(r, NULL, (size_t)n * size_of(v->of));
}

bool gguf_take_value(struct gguf_reader *r, struct gguf_value *v)
{
	uint32_t type;
	uint64_t len;
	const uint8_t *at;

	*v = (struct gguf_value){ 0 };
	if (!gguf_take(r, &type, 4))
		return false;
	if (type == TYPE_ARRAY)
		return take_array(r, v);
	if (type == TYPE_TEXT) {
		if (!gguf_take_text(r, &v->text, &len))
			return false;
		v->len = (size_t)len;
		return true;
	}
	at = r->at;
	if (!size_of(type) || !gguf_take(r, NULL, size_of(type)))
		return false;
	v->number = gguf_keys_number_of(at, type);
	return true;
}

/*
 * Which layers have a window. Files tell its width, few tell the pattern: llama.cpp knows it by the
 * family, and gives families that are not in its list none, whatever the file tells.
 */

/* Of period layers one sees everything: the last, or the first. */
static const struct family {
	const char *name;
	int period;
	bool first;
	int width;  /* where the file tells none */
	int layers; /* only the model with so many; 0: all */
} families[] = {
	{ .name = "gemma2", .period = 2, .width = 4096 },
	{ .name = "gemma3", .period = 6 },
	{ .name = "gemma3n", .period = 5 },
	{ .name = "cohere2", .period = 4 },
	{ .name = "cohere2moe", .period = 4, .first = true },
	{ .name = "olmo2", .period = 4 },
	{ .name = "gpt-oss", .period = 2 },
	{ .name = "llama4", .period = 4, .width = 8192 },
	{ .name = "exaone4", .period = 4, .width = 4096, .layers = 64 },
	{ .name = "exaone-moe", .period = 4, .width = 128 },
	{ .name = "smallthinker", .period = 4, .first = true },
	{ .name = "afmoe", .period = 4 },
	{ .name = "laguna", .period = 4, .first = true },
	{ .name = "plamo3", .period = 8 },
	{ .name = "mellum", .period = 4 },
};

static const struct family *family_of(const struct gguf_keys *k)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strcmp(families[i].name, k->family) == 0 &&
		    (!families[i].layers || families[i].layers == k->layers))
			return &families[i];
	return NULL;
}

/* Zero: every layer has a window. */
static bool in_period(int layer, int period, bool first)
{
	return !period || (first ? layer % period != 0 : layer % period < period - 1);
}

/* The width that llama.cpp gives layers with a window. */
static int gguf_keys_width(const struct gguf_keys *k, const struct family *f)
{
	/* Llama 4's chunks, SmallThinker's windows: of one width whatever is told, unless none is.
	 */
	if (k->window && strcmp(k->family, "llama4") == 0)
		return 8192;
	if (k->window && strcmp(k->family, "smallthinker") == 0)
		return 4096;
	return k->told_window ? k->window : f ? f->width : 0;
}

int gguf_window(const struct gguf_keys *k, int layer)
{
	const struct family *f = family_of(k);
	bool has = false;

	/* A shorter list repeats itself. */
	if (k->windows_of.n)
		has = k->windows_of.v[layer % k->windows_of.n] > 0;
	else if (k->told_period || f)
		has = in_period(layer, k->told_period ? k->period : f->period, f && f->first);
	return has ? gguf_keys_width(k, f) : 0;
}

bool gguf_window_unknown(const struct gguf_keys *k)
{
	return k->window && !k->told_period && !family_of(k);
}
