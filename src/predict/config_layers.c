/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of layers in a config.json: named one by one ("layer_types"), as a pattern of letters
 * ("hybrid_override_pattern"), or as one of every so many.
 */
#include <string.h>

#include "predict/config_parts.h"

#define INT(o, fallback, ...)                                                                      \
	config_int((o), (const char *const[]){ __VA_ARGS__, NULL }, (fallback))

/* Counts the names that contain the word. */
static int count_types(const json_t *types, const char *word)
{
	int n = 0;
	size_t i;
	json_t *v;

	json_array_foreach(types, i, v) if (json_is_string(v) && strstr(json_string_value(v), word))
		n++;
	return n;
}

static void windows(const json_t *c, const char *type, struct arch *a)
{
	const json_t *types = json_object_get(c, "layer_types"),
		     *on = json_object_get(c, "use_sliding_window");
	int window = INT(c, 0, "sliding_window", "sliding_window_size", "attention_chunk_size");
	int pattern = INT(c, 0, "sliding_window_pattern", "_sliding_window_pattern",
			  "global_attn_every_n_layers");

	if (!window || json_is_false(on))
		return;
	a->window = window;
	if (json_is_array(types))
		a->window_layers = count_types(types, "sliding") + count_types(types, "chunked");
	else if (pattern > 1)
		a->window_layers = a->layers - a->layers / pattern;
	else if (type && strcmp(type, "gemma2") == 0)
		a->window_layers = a->layers / 2;
	else if (type && (strcmp(type, "gemma3") == 0 || strcmp(type, "gemma3_text") == 0))
		a->window_layers = a->layers - a->layers / 6;
	else if (type && strcmp(type, "gpt_oss") == 0)
		a->window_layers = a->layers / 2;
	else if (type && strcmp(type, "mistral") == 0)
		a->window_layers = a->layers;
	if (!a->window_layers)
		a->window = 0;
	if (INT(c, 0, "global_head_dim")) {
		a->window_head_dim = a->head_dim;
		a->window_kv_heads = a->kv_heads;
		a->head_dim = INT(c, a->head_dim, "global_head_dim");
		a->kv_heads = INT(c, a->kv_heads, "num_global_key_value_heads");
	}
	a->kv_shared_layers = INT(c, 0, "num_kv_shared_layers");
}

/* Gated delta nets (Qwen3-Next and later). */
static void delta(const json_t *c, struct arch *a)
{
	int v = INT(c, 0, "linear_num_value_heads"), k = INT(c, v, "linear_num_key_heads");
	int vd = INT(c, 128, "linear_value_head_dim"), kd = INT(c, 128, "linear_key_head_dim");
	int every = INT(c, 4, "full_attention_interval");
	const json_t *types = json_object_get(c, "layer_types");

	if (!v)
		return;
	a->linear_layers =
		json_is_array(types) ? count_types(types, "linear") : a->layers - a->layers / every;
	a->linear_params = (double)a->hidden * (2.0 * k * kd + 3.0 * v * vd + 2.0 * v);
	a->linear_state = (double)v * vd * kd * 4;
	a->gated_attention = true;
}

static void mamba(const json_t *c, struct arch *a)
{
	int heads = INT(c, 0, "mamba_num_heads", "mamba_n_heads"),
	    dim = INT(c, 64, "mamba_head_dim", "mamba_d_head");
	int state = INT(c, 128, "ssm_state_size", "mamba_d_state"),
	    groups = INT(c, 1, "n_groups", "mamba_n_groups");
	double inner = (double)heads * dim;

	if (!heads) { /* the first kind of Mamba: an inner width and a small state */
		inner = (double)INT(c, 2, "mamba_expand") * a->hidden;
		a->linear_params =
			a->hidden * inner * 3 +
			inner * (INT(c, a->hidden / 16, "mamba_dt_rank") * 2.0 + 2.0 * state);
	} else {
		a->linear_params =
			a->hidden * (2 * inner + 2.0 * groups * state + heads) + inner * a->hidden;
	}
	a->linear_state = inner * state * 4;
}

/* "M-M*-": M a state space, * attention, - a dense block, E experts; each is a layer. */
static void letters(const char *pattern, const json_t *c, struct arch *a)
{
	int kinds[128] = { 0 };

	for (const char *s = pattern; *s; s++)
		kinds[*s & 127]++;
	a->linear_layers = kinds['M'];
	a->attention_layers = kinds['*'];
	a->ffn_layers = kinds['-'];
	a->moe_layers = kinds['E'];
	if (!a->moe_layers)
		a->experts = 0;
	mamba(c, a);
}

void config_layers(const json_t *c, const char *type, struct arch *a)
{
	const char *pattern = json_string_value(json_object_get(c, "hybrid_override_pattern"));
	const json_t *types = json_object_get(c, "layer_types"),
		     *block = json_object_get(c, "layers_block_type");

	windows(c, type, a);
	delta(c, a);
	if (pattern && strlen(pattern) < 4096) {
		letters(pattern, c, a);
		return;
	}
	if (json_is_array(block))
		types = block;
	if (json_is_array(types) && (count_types(types, "mamba") || count_types(types, "conv"))) {
		a->linear_layers = count_types(types, "mamba") + count_types(types, "conv");
		a->linear_params = 4.0 * a->hidden * a->hidden;
		a->linear_state = 3.0 * a->hidden * 2;
		if (count_types(types, "mamba"))
			mamba(c, a);
		if (!a->experts)
			a->ffn_layers = a->layers;
	} else if (type && strcmp(type, "jamba") == 0) {
		a->linear_layers = a->layers - a->layers / INT(c, 8, "attn_layer_period");
		a->moe_layers = a->experts ? a->layers / INT(c, 2, "expert_layer_period") : 0;
		a->ffn_layers = a->layers - a->moe_layers;
		mamba(c, a);
	}
}
