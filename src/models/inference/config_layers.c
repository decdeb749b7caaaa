/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of layers in a config.json: named one by one ("layer_types"), as a pattern of letters
 * ("hybrid_override_pattern"), by their numbers, or as one of every so many.
 */
#include <string.h>

#include "base/text.h"
#include "models/inference/config.h"

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* A list with the kind of every layer; NULL: there is none. */
static const json_t *kinds_of(struct config_reading *r)
{
	static const char *const names[] = { "layers_block_type", "layer_types" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *v = config_get(r, names[i]);

		if (json_is_array(v) && json_array_size(v) == (size_t)r->s->layers)
			return v;
		if (v && (!json_is_array(v) || json_array_size(v)))
			config_doubt(r, "%s has %zu of %d layers; ignored", names[i],
				     json_array_size(v), r->s->layers);
	}
	return NULL;
}

/* Words that a kind's name is known by. */
static void known_kinds(struct config_reading *r, const json_t *kinds)
{
	static const char words[] = "attention|mamba|conv|moe|mlp|full|sliding|chunked|linear";
	size_t i, n = 0;
	json_t *v;

	json_array_foreach(kinds, i, v)
	{
		n += !str_has_any(words, json_string_value(v));
	}
	if (n)
		config_doubt(r, "%zu layers of unknown kind; assuming full attention", n);
}

/* "LLLG": L has a window, over and over. */
static int letters_with_window(const char *pattern, int layers)
{
	int n = 0;
	size_t len = strlen(pattern);

	for (int i = 0; len && i < layers; i++)
		n += pattern[(size_t)i % len] == 'L';
	return n;
}

static int all_but_every(int layers, int every)
{
	return every > 1 ? layers - layers / every : 0;
}

/* Layers with a window where no list names the kinds. */
static int windows_by_rule(struct config_reading *r)
{
	const json_t *pattern = config_get(r, "sliding_window_pattern"),
		     *marks = config_get(r, "hybrid_layer_pattern"),
		     *rope = config_get(r, "no_rope_layers");
	int layers = r->s->layers, every = r->known ? r->known->every : 0;

	if (json_is_array(marks))
		return config_count(marks, NULL);
	if (json_is_string(pattern))
		return letters_with_window(json_string_value(pattern), layers);
	if (config_type_is(r, "phi4flash")) /* every second one of the first half */
		return layers / 4;
	if (config_is(r, TYPE_ASKED)) {
		every = NUM(r->c, 0, "max_window_layers");
		return every < layers ? layers - every : 0;
	}
	if (config_type_is(r, "llama4_text") && json_array_size(rope))
		return config_count(rope, NULL);
	every = NUM(r->c, every, "sliding_window_pattern", "_sliding_window_pattern",
		    "global_attn_every_n_layers", "no_rope_layer_interval", "layer_switch");
	if (every > 1)
		return all_but_every(layers, every);
	return config_is(r, TYPE_WINDOWS) ? layers : -1;
}

/* Heads of layers with a window, where they are others. */
static void window_heads(struct config_reading *r)
{
	struct arch *a = r->s;
	bool gemma4 = config_type_is(r, "gemma4_text") || config_type_is(r, "gemma4");
	int global = NUM(r->c, gemma4 ? 512 : 0, "global_head_dim");
	int dim = NUM(r->c, 0, "swa_head_dim");

	if (global) {
		a->window_head_dim = a->head_dim;
		a->window_kv_heads = a->kv_heads;
		a->head_dim = global;
		if (!config_false(r, "attention_k_eq_v"))
			a->kv_heads = NUM(r->c, a->kv_heads, "num_global_key_value_heads");
	}
	if (dim)
		a->window_head_dim = (dim + NUM(r->c, dim, "swa_v_head_dim")) / 2;
	a->window_kv_heads = NUM(r->c, a->window_kv_heads, "swa_num_key_value_heads");
}

/* The window's width; where the file has none of its names, the class's. */
static int config_layers_window_width(struct config_reading *r)
{
	static const char *const names[] = { "sliding_window", "sliding_window_size",
					     "attention_chunk_size", NULL };
	int width = r->known ? r->known->window : 0;

	for (const char *const *s = names; *s; s++)
		if (!config_absent(r, *s))
			width = 0;
	return config_num(r, r->c, width, names);
}

static void windows(struct config_reading *r, const json_t *kinds)
{
	struct arch *a = r->s;
	int window = config_layers_window_width(r);
	int n;

	if (!window || (a->trained && window >= a->trained) ||
	    config_false(r, "use_sliding_window") ||
	    (config_is(r, TYPE_ASKED) && !config_true(r, "use_sliding_window")))
		return;
	n = kinds ? config_count(kinds, "sliding") + config_count(kinds, "chunked")
		  : windows_by_rule(r);
	if (n < 0)
		config_doubt(r,
			     "the layers with the window of %d tokens are unknown; assuming none",
			     window);
	if (n <= 0)
		return;
	a->window = window;
	a->window_layers = n;
	window_heads(r);
}

/* Layers that use the cache of another. */
static void shared_caches(struct config_reading *r)
{
	struct arch *a = r->s;
	int of = NUM(r->c, 0, "cla_share_factor");
	bool told = !config_absent(r, "num_kv_shared_layers");

	a->kv_shared_layers =
		NUM(r->c, r->known && !told ? r->known->shared : 0, "num_kv_shared_layers");
	if (config_true(r, "use_cla") && of > 1)
		a->kv_shared_layers = all_but_every(a->layers, of);
	if (a->kv_shared_layers < a->layers)
		return;
	config_doubt(r,
		     "num_kv_shared_layers is %d of %d layers, so no layer would have a KV cache; "
		     "ignored",
		     a->kv_shared_layers, a->layers);
	a->kv_shared_layers = 0;
}

/* Embeddings that each layer has for itself: looked up, not multiplied with. */
static void layer_embeddings(struct config_reading *r)
{
	bool told = !config_absent(r, "hidden_size_per_layer_input");
	int wide =
		NUM(r->c, r->known && !told ? r->known->inputs : 0, "hidden_size_per_layer_input");

	r->s->aside +=
		(double)wide * r->s->layers * NUM(r->c, 262144, "vocab_size_per_layer_input");
}

/* Value heads of gated delta nets where the file does not tell them; 0: the class has no such. */
static int delta_heads(const struct config_reading *r)
{
	return strncmp(r->type, "qwen3_5", 7) == 0 || config_type_is(r, "qwen3_next") ? 32 : 0;
}

/* Gated delta nets (Qwen3-Next and later). */
static void delta(struct config_reading *r, const json_t *kinds, int heads)
{
	struct arch *a = r->s;
	int k = NUM(r->c, delta_heads(r) ? 16 : heads, "linear_num_key_heads"),
	    vd = NUM(r->c, 128, "linear_value_head_dim"),
	    kd = NUM(r->c, 128, "linear_key_head_dim");

	a->linear_layers =
		kinds ? config_count(kinds, "linear")
		      : all_but_every(a->layers, NUM(r->c, 4, "full_attention_interval"));
	a->linear_params = (double)a->hidden * (2.0 * k * kd + 3.0 * heads * vd + 2.0 * heads);
	a->linear_state = (double)heads * vd * kd * 4;
	a->gated_attention = true;
}

/* MiniMax's: projections to queries, keys, values and a gate, and back. */
static void lightning(struct config_reading *r, int layers)
{
	struct arch *a = r->s;
	double inner = (double)a->heads * a->head_dim;

	a->linear_layers = layers;
	a->linear_params = a->hidden * inner * 5;
	a->linear_state = inner * a->head_dim * 4;
}

static bool convolves(const struct config_reading *r)
{
	return config_type_is(r, "lfm2") || config_type_is(r, "lfm2_moe");
}

/* A gated short convolution: to three times the width, and back. */
static void convolution(struct config_reading *r, int layers)
{
	r->s->linear_layers = layers;
	r->s->linear_params = 4.0 * r->s->hidden * r->s->hidden;
	r->s->linear_state = 3.0 * r->s->hidden * 2;
}

/* Each layer is one thing alone: a state space, attention, a dense block, or experts. */
static void single(struct config_reading *r, int mamba, int attention, int dense, int experts)
{
	struct arch *a = r->s;

	a->linear_layers = mamba;
	a->attention_layers = attention ? attention : -1;
	a->ffn_layers = dense;
	if (!dense)
		a->ffn = 0;
	a->moe_layers = a->experts ? experts : 0;
	if (!a->moe_layers)
		a->experts = 0;
	config_mamba(r);
}

/* "M-M*-": M a state space, * attention, - a dense block, E experts. */
static void config_layers_letters(struct config_reading *r, const char *pattern)
{
	int kinds[128] = { 0 };
	size_t len = strlen(pattern);

	for (const char *s = pattern; *s; s++)
		kinds[*s & 127]++;
	if (len != (size_t)r->s->layers)
		config_doubt(r, "hybrid_override_pattern has %zu of %d layers", len, r->s->layers);
	single(r, kinds['M'], kinds['*'], kinds['-'], kinds['E']);
}

/* Attention where the numbers say, something else in all other layers. */
static bool numbered(struct config_reading *r)
{
	const json_t *list = config_get(r, "attn_layer_indices");
	int n;

	if (!list)
		list = config_get(r, "full_attn_idxs");
	if (!json_is_array(list))
		return false;
	n = (int)json_array_size(list);
	n = n < r->s->layers ? r->s->layers - n : 0;
	if (convolves(r))
		convolution(r, n);
	else
		config_mamba(r);
	r->s->linear_layers = n;
	return true;
}

/* State spaces and convolutions that a list names. */
static bool config_layers_named(struct config_reading *r, const json_t *kinds)
{
	int mamba = config_count(kinds, "mamba"), conv = config_count(kinds, "conv");
	int linear = config_count(kinds, "linear");
	int both = config_count(kinds, "linear_attention");

	if (config_type_is(r, "nemotron_h") && kinds) {
		single(r, mamba + linear, config_count(kinds, "attention") - both,
		       config_count(kinds, "mlp"), config_count(kinds, "moe"));
		return true;
	}
	/* Numbers tell more of the linear ones than their name. */
	if (!kinds || mamba + conv + linear == 0 ||
	    (linear > 0 && json_is_object(config_get(r, "linear_attn_config"))))
		return false;
	if (config_type_is(r, "minimax")) {
		lightning(r, linear);
		return true;
	}
	convolution(r, mamba + conv + linear);
	if (mamba > 0 || config_get(r, "mamba_d_state") || config_get(r, "ssm_state_size"))
		config_mamba(r);
	else if (linear > 0 && !convolves(r))
		config_doubt(r, "layer_types has an unknown linear attention; assuming four square "
				"matrices");
	return true;
}

/* Kinds that follow from the model_type and a figure or two. */
static void by_type(struct config_reading *r)
{
	struct arch *a = r->s;
	const json_t *attention = config_get(r, "attn_type_list"),
		     *kimi = config_get(r, "linear_attn_config");
	int period, offset, group = NUM(r->c, 0, "layer_group_size");

	if (json_is_array(attention)) { /* 0: linear */
		if (json_array_size(attention) != (size_t)a->layers)
			config_doubt(r, "attn_type_list has %zu of %d layers",
				     json_array_size(attention), a->layers);
		lightning(r, (int)json_array_size(attention) - config_count(attention, NULL));
	} else if (group > 1) { /* the last of each group sees everything */
		lightning(r, all_but_every(a->layers, group));
	} else if (json_is_object(kimi)) {
		config_kimi(r, kimi);
	} else if (config_type_is(r, "minimax")) {
		lightning(r, a->layers / 2);
	} else if (config_type_is(r, "falcon_h1")) {
		a->attention_layers = a->linear_layers = a->layers;
		config_mamba(r);
	} else if (config_type_is(r, "phi4flash")) {
		config_sambay(r);
	} else if (config_type_is(r, "jamba")) {
		period = NUM(r->c, 8, "attn_layer_period");
		offset = NUM(r->c, 0, "attn_layer_offset") % period;
		a->linear_layers = a->layers - (a->layers - offset + period - 1) / period;
		config_mamba(r);
	}
}

void config_layers(struct config_reading *r)
{
	const json_t *pattern = config_get(r, "hybrid_override_pattern"), *kinds = kinds_of(r);
	int heads = NUM(r->c, delta_heads(r), "linear_num_value_heads");

	known_kinds(r, kinds);
	windows(r, kinds);
	shared_caches(r);
	layer_embeddings(r);
	if (heads) {
		delta(r, kinds, heads);
		return;
	}
	if (json_is_string(pattern)) {
		config_layers_letters(r, json_string_value(pattern));
		return;
	}
	if (!numbered(r) && !config_layers_named(r, kinds))
		by_type(r);
	if (r->s->linear_layers >= r->s->layers && !r->s->attention_layers)
		r->s->attention_layers = -1;
}

/* Feed-forward blocks in a config.json: widths, experts, and which layers have them. */

#define FFN_NUM(o, fallback, ...)                                                                  \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* LFM2 tells the width before it takes two thirds of it and rounds that up. */
static int lfm_width(struct config_reading *r, int told)
{
	const json_t *by = config_get(r, "block_ffn_dim_multiplier");
	double times = json_is_number(by) ? json_number_value(by) : 1;
	int multiple = FFN_NUM(r->c, 256, "block_multiple_of");
	int wide = FFN_NUM(r->c, told, "block_ff_dim");

	if (config_false(r, "block_auto_adjust_ff_dim") || !(times > 0 && times < 64))
		return wide;
	wide = (int)(times * (int)(2.0 * wide / 3));
	return (wide + multiple - 1) / multiple * multiple;
}

static int dense_width(struct config_reading *r)
{
	const json_t *c = r->c, *part = config_get(r, "ffn_config");
	int n = FFN_NUM(c, 0, "dense_intermediate_size", "intermediate_size", "ffn_hidden_size",
			"n_inner", "ffn_dim", "ff_intermediate_size", "hidden_dim");

	if (!n)
		n = FFN_NUM(part, 0, "ffn_hidden_size");
	if (config_type_is(r, "lfm2"))
		return lfm_width(r, n);
	if (config_type_is(r, "qwen")) /* counts both halves of what goes in */
		return n / 2;
	if (n || !config_is(r, TYPE_FOUR))
		return n;
	n = FFN_NUM(c, 4, "expansion_ratio");
	return r->s->hidden * (n < 64 ? n : 64);
}

/* Every so many layers, from one on, up to another. */
struct spread {
	int first, last, step, at; /* layers whose number is at, modulo step */
};

static bool config_layers_listed(const json_t *list, int layer)
{
	size_t i;
	json_t *v;

	if (json_array_size(list) > 4096)
		return false;
	json_array_foreach(list, i, v)
	{
		if (json_is_integer(v) && json_integer_value(v) == layer)
			return true;
	}
	return false;
}

static int member(struct config_reading *r, const char *name, int fallback)
{
	const json_t *v = config_get(r, name);
	json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;

	return n >= 0 && n < 1 << 24 ? (int)n : fallback;
}

static int spread_layers(struct config_reading *r)
{
	const json_t *dense = config_get(r, "mlp_only_layers");
	struct spread s = { .first = FFN_NUM(r->c, 0, "first_k_dense_replace", "num_dense_layers",
					     "moe_layer_start_index", "moe_layer_num_skipped"),
			    .last = member(r, "moe_layer_end_index", r->s->layers - 1),
			    .step = FFN_NUM(r->c, 1, "decoder_sparse_step",
					    "interleave_moe_layer_step", "moe_layer_interval") };
	int n = 0;

	s.at = s.step - 1;
	if (s.step == 1 && !json_is_array(config_get(r, "moe_layer_freq"))) {
		s.step = FFN_NUM(r->c, 1, "moe_layer_freq");
		s.at = 0;
	}
	if (config_type_is(r, "jamba")) {
		s.step = FFN_NUM(r->c, 2, "expert_layer_period");
		s.at = member(r, "expert_layer_offset", 1) % s.step;
	}
	for (int i = s.first; i <= s.last && i < r->s->layers; i++)
		n += i % s.step == s.at && !config_layers_listed(dense, i);
	return n;
}

/* Numbers in a text such as "3,4,5"; -1: it is none. */
static int enumerated(const json_t *v)
{
	const char *s = json_string_value(v);
	int n = 1;

	if (!s)
		return -1;
	for (; *s; s++)
		n += *s == ',';
	return n;
}

/* Layers with experts: one by one, or by a rule. */
static int expert_layers(struct config_reading *r)
{
	static const char *const marks[] = { "moe_layer_freq", "is_moe_layer" };
	const json_t *kinds = config_get(r, "mlp_layer_types"), *some = config_get(r, "moe_layers");
	int n = enumerated(config_get(r, "moe_layers_enum"));

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && n < 0; i++)
		n = config_count(config_get(r, marks[i]), NULL);
	if (n < 0 && json_is_array(kinds))
		n = config_count(kinds, "sparse");
	if (n < 0 && json_array_size(some))
		n = (int)json_array_size(some);
	if (n < 0)
		n = spread_layers(r);
	if (n <= r->s->layers)
		return n;
	config_doubt(r, "more expert layers than layers");
	return r->s->layers;
}

/* Width of what every token takes beside the experts that it chooses. */
static int shared_width(struct config_reading *r)
{
	static const char *const counts[] = { "n_shared_experts", "num_shared_experts",
					      "moe_num_shared_experts", "num_shared_expert", NULL };
	int n = config_num(r, r->c, 0, counts), wide = r->s->expert_ffn, told;
	double all;

	for (const char *const *s = counts; *s && !n; s++)
		if (json_is_integer(config_get(r, *s)))
			return 0;
	if (config_type_is(r, "llama4") || config_type_is(r, "llama4_text"))
		return wide;
	if (config_true(r, "enable_moe_block") || config_true(r, "residual_moe"))
		return r->s->ffn;
	if (config_false(r, "use_mixed_mlp_moe"))
		return 0;
	told = FFN_NUM(r->c, 0, "shared_expert_intermediate_size", "shared_intermediate_size",
		       "share_expert_dim");
	if (told)
		return told;
	told = FFN_NUM(r->c, 0, "moe_shared_expert_intermediate_size");
	if (told)
		wide = told;
	all = (double)(told && !n ? 1 : n) * wide;
	return all < 1 << 24 ? (int)all : 0;
}

static void without_experts(struct config_reading *r)
{
	struct arch *a = r->s;
	int wide = FFN_NUM(r->c, 0, "shared_intermediate_size"),
	    without = FFN_NUM(r->c, 0, "num_kv_shared_layers");

	a->experts = 0;
	if (wide && config_type_is(r, "granitemoehybrid"))
		a->ffn = wide;
	if (config_true(r, "use_double_wide_mlp") && without <= a->layers)
		a->ffn += (int)((double)a->ffn * without / a->layers);
}

/*
 * ERNIE's that see have two sets of experts in a layer, of two widths: tokens of text take the
 * first, and pass by the second, which is for what is seen.
 */
static bool seeing_experts(struct config_reading *r)
{
	const json_t *wide = config_get(r, "moe_intermediate_size"),
		     *many = config_get(r, "moe_num_experts");
	double seeing = json_number_value(json_array_get(wide, 1)),
	       count = json_is_array(many) ? json_number_value(json_array_get(many, 1))
					   : r->s->experts;
	json_int_t first = json_integer_value(json_array_get(wide, 0));

	if (strncmp(r->type, "ernie4_5", 8) != 0 || json_array_size(wide) != 2 || first < 1 ||
	    first >= 1 << 24 || !(seeing >= 0 && seeing < 1 << 24 && count >= 0 && count < 65536))
		return false;
	r->s->expert_ffn = (int)first;
	r->s->aside = 3.0 * r->s->hidden * seeing * count; /* of a layer with experts */
	return true;
}

static void config_layers_experts(struct config_reading *r)
{
	struct arch *a = r->s;
	const json_t *c = r->c, *part = config_get(r, "ffn_config");
	int none = FFN_NUM(c, 0, "zero_expert_num");

	a->top = FFN_NUM(c, 0, "num_experts_per_tok", "num_experts_per_token", "moe_topk",
			 "moe_top_k", "moe_k", "top_k_experts", "experts_per_token");
	if (!a->top)
		a->top = FFN_NUM(part, 0, "moe_top_k");
	if (!a->top) {
		config_doubt(r, "experts per token unknown; assuming one");
		a->top = 1;
	}
	if (none) /* some of those chosen do nothing */
		a->top = (int)((double)a->top * a->experts / (a->experts + none) + 0.5);
	if (!seeing_experts(r))
		a->expert_ffn = FFN_NUM(
			c, a->ffn, "moe_intermediate_size", "expert_ffn_hidden_size",
			config_absent(r, "dense_intermediate_size") ? "expert_ffn_hidden_size"
								    : "intermediate_size");
	a->expert_in = FFN_NUM(c, 0, "moe_latent_size", "routed_expert_hidden_size");
	a->shared_ffn = shared_width(r);
	a->ffn = FFN_NUM(c, a->ffn, "intermediate_size_mlp");
	a->moe_layers = expert_layers(r);
	a->aside *= a->moe_layers;
	if (!a->moe_layers)
		a->experts = 0;
	a->ffn_layers = a->layers - a->moe_layers;
}

/* Two attentions and two dense blocks around each block of experts. */
static void longcat(struct config_reading *r)
{
	struct arch *a = r->s;

	if (!config_type_is(r, "longcat_flash"))
		return;
	a->moe_layers = FFN_NUM(r->c, a->layers, "num_layers");
	a->layers = a->ffn_layers = 2 * a->moe_layers;
}

/* Matrices of a block: two where the class has no gate. Of a class that is not known the activation
 * tells it: most that square it have none. */
static void config_layers_gates(struct config_reading *r)
{
	static const char *const names[] = { "mlp_hidden_act", "hidden_act" };

	if (config_is(r, TYPE_PLAIN))
		r->s->ffn_mats = 2;
	if (r->known)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *act = json_string_value(config_get(r, names[i]));

		if (act && strcmp(act, "relu2") == 0)
			r->s->ffn_mats = 2;
	}
}

void config_feed_forward(struct config_reading *r)
{
	struct arch *a = r->s;

	config_layers_gates(r);
	a->ffn = dense_width(r);
	a->experts = FFN_NUM(r->c, 0, "num_local_experts", "n_routed_experts", "num_experts",
			     "moe_num_experts");
	if (!a->experts)
		a->experts = FFN_NUM(config_get(r, "ffn_config"), 0, "moe_num_experts");
	if (a->experts < 2 || config_false(r, "enable_moe_block"))
		without_experts(r);
	else
		config_layers_experts(r);
	longcat(r);
	if (!a->ffn && !a->expert_ffn && !config_get(r, "block_configs")) {
		config_doubt(r, "intermediate_size is missing; assuming four times hidden_size");
		a->ffn = 4 * a->hidden;
	}
}

/* Parameters and state of one layer of a kind that is no attention, from a config.json. */

#define MAMBA_NUM(o, fallback, ...)                                                                \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* The first kind of Mamba: an inner width and a small state. */
static void first_kind(struct config_reading *r, int state)
{
	struct arch *a = r->s;
	double inner = (double)MAMBA_NUM(r->c, 2, "mamba_expand") * a->hidden;
	int rank = MAMBA_NUM(r->c, (a->hidden + 15) / 16, "mamba_dt_rank");

	a->linear_params = a->hidden * inner * 3 + inner * (rank * 2.0 + 2.0 * state);
	a->linear_state = inner * state * 4;
}

void config_mamba(struct config_reading *r)
{
	struct arch *a = r->s;
	int heads = MAMBA_NUM(r->c, 0, "mamba_num_heads", "mamba_n_heads"),
	    groups = MAMBA_NUM(r->c, 1, "n_groups", "mamba_n_groups");
	int state = MAMBA_NUM(r->c, heads ? 128 : 16, "ssm_state_size", "mamba_d_state");
	double inner = MAMBA_NUM(r->c, 0, "mamba_d_ssm");

	if (!heads) {
		first_kind(r, state);
		return;
	}
	if (inner <= 0)
		inner = (double)heads * MAMBA_NUM(r->c, 0, "mamba_head_dim", "mamba_d_head");
	if (inner <= 0)
		inner = (double)MAMBA_NUM(r->c, 2, "mamba_expand", "expand") * a->hidden;
	a->linear_params =
		a->hidden * (2 * inner + 2.0 * groups * state + heads) + inner * a->hidden;
	a->linear_state = inner * state * 4;
}

/* Kimi's delta attention: four square projections, two gates of low rank, a step for each head. */
void config_kimi(struct config_reading *r, const json_t *linear)
{
	struct arch *a = r->s;
	int heads = MAMBA_NUM(linear, a->heads, "num_heads"),
	    dim = MAMBA_NUM(linear, 128, "head_dim");
	double inner = (double)heads * dim, h = a->hidden;
	int full = config_count(json_object_get(linear, "full_attn_layers"), NULL),
	    delta = config_count(json_object_get(linear, "kda_layers"), NULL);

	if (full + delta != a->layers)
		config_doubt(r, "linear_attn_config has %d of %d layers", full + delta, a->layers);
	a->linear_layers = full >= 0 && full <= a->layers ? a->layers - full : 0;
	a->linear_params = 4 * h * inner + 2 * (h * dim + dim * inner) + h * heads;
	a->linear_state = inner * dim * 4;
}

/*
 * Every second layer is a Mamba, the others attention. Behind one with full attention, just past
 * the middle, no layer keeps anything: a gate over the last Mamba's values, two square matrices of
 * twice the width, and attention over the one cache.
 */
void config_sambay(struct config_reading *r)
{
	struct arch *a = r->s;
	int each = MAMBA_NUM(r->c, 2, "mb_per_layer"), mixers = a->layers / 2,
	    mamba = a->layers / 4 + 1, attention = a->layers - mixers - a->layers / 4;
	double part = (double)mamba / mixers, gate = 4.0 * a->hidden * a->hidden;

	if (each != 2 || a->layers % 4 || a->layers < 4) {
		config_doubt(r,
			     "%d layers, one in %d of them Mamba: unknown SambaY variant; assuming "
			     "attention",
			     a->layers, each);
		return;
	}
	config_mamba(r);
	a->linear_layers = mixers;
	a->linear_params = part * a->linear_params + (1 - part) * gate;
	a->linear_state *= part;
	a->attention_layers = attention;
	a->cross_layers = attention - 1;
}
