/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a GGUF header that tell a model's shape: FAMILY.what; the family has no dot. */
#include <stddef.h>
#include <string.h>

#include "models/inference/gguf_parts.h"

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

static double largest(const struct gguf_value *v)
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
		*(int *)((char *)k + kept[i].at) = small(largest(v));
		if (kept[i].list && v->items)
			keep_list(a, (struct gguf_list *)((char *)k + kept[i].list), v);
		k->told_window |= kept[i].at == AT(window);
		k->told_period |= kept[i].at == AT(period);
		k->told_kv_heads |= kept[i].at == AT(kv_heads);
	}
}
