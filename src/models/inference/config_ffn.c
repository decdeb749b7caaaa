/* SPDX-License-Identifier: Apache-2.0 */
/* Feed-forward blocks in a config.json: widths, experts, and which layers have them. */
#include <stdlib.h>
#include <string.h>

#include "models/inference/config_parts.h"

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

/* LFM2 tells the width before it takes two thirds of it and rounds that up. */
static int lfm_width(struct config_reading *r, int told)
{
	const json_t *by = config_get(r, "block_ffn_dim_multiplier");
	double times = json_is_number(by) ? json_number_value(by) : 1;
	int multiple = NUM(r->c, 256, "block_multiple_of");
	int wide = NUM(r->c, told, "block_ff_dim");

	if (config_false(r, "block_auto_adjust_ff_dim") || !(times > 0 && times < 64))
		return wide;
	wide = (int)(times * (int)(2.0 * wide / 3));
	return (wide + multiple - 1) / multiple * multiple;
}

static int dense_width(struct config_reading *r)
{
	const json_t *c = r->c, *part = config_get(r, "ffn_config");
	int n = NUM(c, 0, "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim",
		    "ff_intermediate_size");

	if (!n)
		n = NUM(part, 0, "ffn_hidden_size");
	if (config_type_is(r, "lfm2"))
		return lfm_width(r, n);
	if (config_type_is(r, "qwen")) /* counts both halves of what goes in */
		return n / 2;
	if (n || !config_is(r, TYPE_FOUR))
		return n;
	n = NUM(c, 4, "expansion_ratio");
	return r->s->hidden * (n < 64 ? n : 64);
}

/* Every so many layers, from one on, up to another. */
struct spread {
	int first, last, step, at; /* layers whose number is at, modulo step */
};

static bool listed(const json_t *list, int layer)
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
	struct spread s = { .first = NUM(r->c, 0, "first_k_dense_replace", "num_dense_layers",
					 "moe_layer_start_index", "moe_layer_num_skipped"),
			    .last = member(r, "moe_layer_end_index", r->s->layers - 1),
			    .step = NUM(r->c, 1, "decoder_sparse_step", "interleave_moe_layer_step",
					"moe_layer_interval") };
	int n = 0;

	s.at = s.step - 1;
	if (s.step == 1 && !json_is_array(config_get(r, "moe_layer_freq"))) {
		s.step = NUM(r->c, 1, "moe_layer_freq");
		s.at = 0;
	}
	if (config_type_is(r, "jamba")) {
		s.step = NUM(r->c, 2, "expert_layer_period");
		s.at = member(r, "expert_layer_offset", 1) % s.step;
	}
	for (int i = s.first; i <= s.last && i < r->s->layers; i++)
		n += i % s.step == s.at && !listed(dense, i);
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
	config_doubt(r, "more layers are told to have experts than there are layers");
	return r->s->layers;
}

static int product(int a, int b)
{
	double x = (double)a * b;

	return x < 1 << 24 ? (int)x : 0;
}

/* Width of what every token takes beside the experts that it chooses. */
static int shared_width(struct config_reading *r)
{
	static const char *const counts[] = { "n_shared_experts", "num_shared_experts",
					      "moe_num_shared_experts", "num_shared_expert", NULL };
	int n = config_num(r, r->c, 0, counts), wide = r->s->expert_ffn, told;

	for (const char *const *s = counts; *s && !n; s++)
		if (json_is_integer(config_get(r, *s)))
			return 0;
	if (config_type_is(r, "llama4") || config_type_is(r, "llama4_text"))
		return wide;
	if (config_true(r, "enable_moe_block") || config_true(r, "residual_moe"))
		return r->s->ffn;
	if (config_false(r, "use_mixed_mlp_moe"))
		return 0;
	told = NUM(r->c, 0, "shared_expert_intermediate_size", "shared_intermediate_size",
		   "share_expert_dim");
	if (told)
		return told;
	told = NUM(r->c, 0, "moe_shared_expert_intermediate_size");
	if (told)
		wide = told;
	return product(told && !n ? 1 : n, wide);
}

static void without_experts(struct config_reading *r)
{
	struct arch *a = r->s;
	int wide = NUM(r->c, 0, "shared_intermediate_size"),
	    without = NUM(r->c, 0, "num_kv_shared_layers");

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

static void experts(struct config_reading *r)
{
	struct arch *a = r->s;
	const json_t *c = r->c, *part = config_get(r, "ffn_config");
	int none = NUM(c, 0, "zero_expert_num");

	a->top = NUM(c, 0, "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k",
		     "moe_k", "top_k_experts", "experts_per_token");
	if (!a->top)
		a->top = NUM(part, 0, "moe_top_k");
	if (!a->top) {
		config_doubt(r, "how many experts a token takes is not told, one is counted");
		a->top = 1;
	}
	if (none) /* some of those chosen do nothing */
		a->top = (int)((double)a->top * a->experts / (a->experts + none) + 0.5);
	if (!seeing_experts(r))
		a->expert_ffn = NUM(c, a->ffn, "moe_intermediate_size", "expert_ffn_hidden_size");
	a->expert_in = NUM(c, 0, "moe_latent_size");
	a->shared_ffn = shared_width(r);
	a->ffn = NUM(c, a->ffn, "intermediate_size_mlp");
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
	a->moe_layers = NUM(r->c, a->layers, "num_layers");
	a->layers = a->ffn_layers = 2 * a->moe_layers;
}

/* Matrices of a block: two where the class has no gate. Of a class that is not known the activation
 * tells it: most that square it have none. */
static void gates(struct config_reading *r)
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

	gates(r);
	a->ffn = dense_width(r);
	a->experts = NUM(r->c, 0, "num_local_experts", "n_routed_experts", "num_experts",
			 "moe_num_experts");
	if (!a->experts)
		a->experts = NUM(config_get(r, "ffn_config"), 0, "moe_num_experts");
	if (a->experts < 2 || config_false(r, "enable_moe_block"))
		without_experts(r);
	else
		experts(r);
	longcat(r);
	if (!a->ffn && !a->expert_ffn && !config_get(r, "block_configs")) {
		config_doubt(r, "intermediate_size is not told, four times hidden_size is counted");
		a->ffn = 4 * a->hidden;
	}
}
