/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "block_configs": each layer of a model that was thinned out by search, one by one. Layers have
 * attention, a matrix in its place, or nothing, and blocks of different widths: counted is how
 * many there are of a kind, with the mean of their widths.
 */
#include <errno.h>
#include <math.h>

#include "models/inference/config_parts.h"

#define NUM(o, fallback, ...)                                                                      \
	config_num(r, (o), (fallback), (const char *const[]){ __VA_ARGS__, NULL })

struct sums {
	int attention, linear, dense;
	double kv_heads, width;
};

static bool is(const json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static void attention(struct config_reading *r, const json_t *o, struct sums *s)
{
	static const char *const other[] = { "mamba", "window_length", "sparsify", "llama4" };
	int group = NUM(o, 0, "n_heads_in_group");
	int kv = NUM(o, group ? r->s->heads / group : r->s->kv_heads, "num_key_value_heads");

	if (is(o, "no_op"))
		return;
	s->linear += is(o, "replace_with_linear");
	if (is(o, "replace_with_linear"))
		return;
	s->attention++;
	s->kv_heads += kv;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (json_is_object(json_object_get(o, other[i])) ||
		    json_is_integer(json_object_get(o, other[i])))
			config_doubt(r, "block_configs has %s, which is not read", other[i]);
}

/* A multiple of two thirds of the model's width, rounded up to 256. */
static double width(struct config_reading *r, const json_t *o)
{
	const json_t *by = json_object_get(o, "ffn_mult");
	double times = json_is_number(by) ? json_number_value(by) : 0;

	if (times > 0 && times < 64)
		return ceil(floor(2 * times * r->s->hidden / 3) / 256) * 256;
	return NUM(o, r->s->ffn, "intermediate_size");
}

static void feed_forward(struct config_reading *r, const json_t *o, struct sums *s)
{
	if (is(o, "no_op"))
		return;
	s->dense++;
	s->width += is(o, "replace_with_linear") ? r->s->hidden / 3.0 : width(r, o);
	if (json_is_object(json_object_get(o, "moe")))
		config_doubt(r, "block_configs has moe, which is not read");
}

static void put(struct config_reading *r, const struct sums *s)
{
	struct arch *a = r->s;
	double kv = s->attention ? s->kv_heads / s->attention : 1;

	a->attention_layers = s->attention ? s->attention : -1;
	a->kv_heads = (int)round(kv);
	a->linear_layers = s->linear;
	a->linear_params = (double)a->hidden * a->hidden;
	a->ffn_layers = s->dense;
	a->ffn = s->dense ? (int)round(s->width / s->dense) : 0;
	if (fabs(kv - a->kv_heads) > 1e-9)
		config_doubt(r,
			     "n_heads_in_group differs from layer to layer, its mean is counted");
}

int config_blocks(struct config_reading *r, struct err *e)
{
	const json_t *list = config_get(r, "block_configs");
	struct sums s = { 0 };
	size_t i;
	json_t *v;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) != (size_t)r->s->layers)
		return err_set(e, -EINVAL, "%.120s: block_configs tells of %zu layers of %d",
			       r->s->name, json_array_size(list), r->s->layers);
	json_array_foreach(list, i, v)
	{
		const json_t *heads = json_object_get(v, "attention"),
			     *dense = json_object_get(v, "ffn");

		if (!json_is_object(heads) || !json_is_object(dense))
			return err_set(e, -EINVAL,
				       "%.120s: block_configs has a layer without attention or ffn",
				       r->s->name);
		attention(r, heads, &s);
		feed_forward(r, dense, &s);
	}
	put(r, &s);
	return 0;
}
