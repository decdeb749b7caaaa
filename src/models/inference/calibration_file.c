/* SPDX-License-Identifier: Apache-2.0 */
/* The file that keeps a calibration: written from one, read back as anybody's text. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/json.h"
#include "models/inference/page_calibrate.h"
#include "models/inference/calibrate.h"

enum { TEXT_MAX = 1024, PAIRS_MAX = 1000, MODELS_MAX = 10000, SETS_MAX = 2 * ENGINES * HARDWARES };

const char *calibration_from(struct arena *a, const struct calibration *c)
{
	size_t count[LOG_TOOLS] = { 0 }, moved = 0;
	const char *text;

	for (size_t i = 0; i < c->n_runs; i++)
		if (!c->runs[i].skipped)
			count[c->runs[i].log->tool]++;
	for (size_t g = 0; g < c->n_groups; g++)
		for (int k = 0; k < FITS; k++)
			moved += c->groups[g].constants[k].state == CONSTANT_EXPECTED;
	text = arena_printf(a, "%zu run%s", c->used, c->used == 1 ? "" : "s");
	for (int t = 0; t < LOG_TOOLS; t++)
		if (count[t])
			text = arena_printf(a, "%s, %s %zu", text, log_tool_names[t], count[t]);
	if (moved)
		text = arena_printf(a, "%s, own benches", text);
	return text;
}

static bool stored(const struct calibrate_group *g, int k, bool fit)
{
	const struct calibrate_constant *c = &g->constants[k];

	if (!fit)
		return fabs(g->expected.v[k] - c->built_in) > 1e-9 * c->built_in;
	return c->state == CONSTANT_FITTED || c->state == CONSTANT_EXPECTED;
}

/* What benches say alone, or the fit. */
static json_t *calibration_file_set(const struct calibrate_group *g, bool fit)
{
	json_t *values = json_object(), *models = json_array();

	for (int k = 0; k < FITS; k++)
		if (stored(g, k, fit))
			json_object_set_new(
				values, fit_names[k],
				json_real(fit ? g->constants[k].value : g->expected.v[k]));
	for (size_t i = 0; i < g->n_models; i++)
		json_array_append_new(models, json_text(g->models[i]));
	if (!fit || g->general) {
		json_decref(models);
		models = json_null();
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o}", "engine",
			 engine_names[g->engine], "hardware", hardware_names[g->hardware], "models",
			 models, "constants", values, "runs", (json_int_t)(fit ? g->runs : 0),
			 "built_in_ratio", fit ? json_figure(g->built_in[0]) : json_null(),
			 "fitted_ratio", fit ? json_figure(g->fitted[0]) : json_null(),
			 "left_out_ratio",
			 fit && g->tried ? json_figure(g->left_out[0]) : json_null());
}

json_t *calibration_file_json(const struct calibration *c, const char *taken,
			      const struct record_pair *pairs, size_t n, long long now)
{
	struct arena a = { 0 };
	char stamp[STAMP_SIZE];
	json_t *j = json_object(), *print = json_object(), *sets = json_array();

	for (size_t i = 0; i < n; i++)
		json_put_text(print, pairs[i].name, pairs[i].value);
	for (size_t i = 0; i < c->n_groups; i++) {
		if (c->groups[i].hinted)
			json_array_append_new(sets, calibration_file_set(&c->groups[i], false));
		if (c->groups[i].kept)
			json_array_append_new(sets, calibration_file_set(&c->groups[i], true));
	}
	json_object_set_new(j, "schema", json_string("gputune.calibration/1"));
	json_object_set_new(j, "tool_version", json_string(GPUTUNE_VERSION));
	json_object_set_new(j, "time",
			    stamp_format(now, stamp) < 0 ? json_null() : json_string(stamp));
	json_put_text(j, "machine", taken);
	json_object_set_new(j, "fingerprint", print);
	json_put_text(j, "from", calibration_from(&a, c));
	json_object_set_new(j, "sets", sets);
	arena_free(&a);
	return j;
}

static const char *text_of(struct arena *a, const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s && strlen(s) <= TEXT_MAX ? arena_strdup(a, s) : NULL;
}

/* Names go into lines that fits_read splits: nothing but what such names are made of. */
static bool valid_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
			return false;
	return n > 0 && n < 96;
}

static bool take_constants(struct arena *a, json_t *j, struct calibration_set *out)
{
	const char *engine = json_string_value(json_object_get(j, "engine")),
		   *hardware = json_string_value(json_object_get(j, "hardware")), *key;
	json_t *o = json_object_get(j, "constants"), *v;
	TEXT_AUTO lines = { 0 };

	if (!json_is_object(o) || json_object_size(o) > FITS || !engine || !hardware ||
	    !valid_name(engine) || !valid_name(hardware))
		return false;
	json_object_foreach(o, key, v)
	{
		double x = json_number_value(v);

		if (!valid_name(key) || !json_is_number(v) || !isfinite(x) || x <= 0 || x > 1e6)
			return false;
		text_printf(&lines, "%s.%s.%s = %.9g\n", engine, hardware, key, x);
		out->n++;
	}
	out->constants = arena_strdup(a, lines.s ? lines.s : "");
	return true;
}

static bool take_set(struct arena *a, json_t *j, struct calibration_set *out)
{
	json_t *models = json_object_get(j, "models");

	if (!take_constants(a, j, out) || json_array_size(models) > MODELS_MAX ||
	    (!json_is_array(models) && !json_is_null(models)))
		return false;
	if (json_is_null(models))
		return true;
	out->models = arena_array(a, json_array_size(models) + 1, sizeof(*out->models));
	for (size_t i = 0; i < json_array_size(models); i++) {
		const char *s = json_string_value(json_array_get(models, i));

		if (!s || strlen(s) > TEXT_MAX)
			return false;
		out->models[out->n_models++] = arena_strdup(a, s);
	}
	return true;
}

static bool take_sets(struct arena *a, json_t *list, struct calibration_file *out)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > SETS_MAX)
		return false;
	out->sets = arena_array(a, n + 1, sizeof(*out->sets));
	for (size_t i = 0; i < n; i++)
		if (!take_set(a, json_array_get(list, i), &out->sets[out->n_sets++]))
			return false;
	return true;
}

bool calibration_for(const struct calibration_set *s, const char *model)
{
	for (size_t i = 0; model && i < s->n_models; i++)
		if (strcmp(s->models[i], model) == 0)
			return true;
	return s->models == NULL;
}

static bool calibration_file_take_pairs(struct arena *a, json_t *o, struct calibration_file *out)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o) || json_object_size(o) > PAIRS_MAX)
		return false;
	out->pairs = arena_array(a, json_object_size(o) + 1, sizeof(*out->pairs));
	json_object_foreach(o, key, v)
	{
		const char *s = json_string_value(v);

		if (!s || strlen(s) > TEXT_MAX || strlen(key) > TEXT_MAX)
			return false;
		out->pairs[out->n_pairs++] =
			(struct record_pair){ arena_strdup(a, key), arena_strdup(a, s) };
	}
	return true;
}

int calibration_file_read(struct arena *a, const char *text, struct calibration_file *out,
			  struct err *e)
{
	const char *schema;
	json_error_t why;
	long long when;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	bool good;

	if (!j)
		return err_set(e, -EINVAL, "line %d: %s", why.line, why.text);
	schema = json_string_value(json_object_get(j, "schema"));
	out->time = text_of(a, j, "time");
	out->taken = text_of(a, j, "machine");
	out->from = text_of(a, j, "from");
	good = schema && strcmp(schema, "gputune.calibration/1") == 0 && out->time &&
	       stamp_parse(out->time, &when) == 0 && out->taken && out->from &&
	       calibration_file_take_pairs(a, json_object_get(j, "fingerprint"), out) &&
	       take_sets(a, json_object_get(j, "sets"), out);
	json_decref(j);
	return good ? 0
		    : err_set(e, -EINVAL, "it is no calibration as gputune calibrate writes it");
}

/*
 * What each constant can be, how well it is known before anything is measured here, and which
 * measurement decides it. Widths are how far classes of hardware and engines lie apart in the
 * built-in table.
 */

static const struct {
	double sigma, low, high; /* of the logarithm; of the value */
	const char *missing;
} rows[FITS] = {
	[FIT_DENSE] = { 0.15, 0.2, 1, "tokens/s of one request, dense model of 7B or more" },
	[FIT_EXPERT] = { 0.2, 0.2, 1, "tokens/s of one request, model with experts" },
	[FIT_CACHE] = { 0.3, 0.1, 1, "tokens/s at a context of 32K tokens or more" },
	[FIT_LAYER_US] = { 0.6, 0.1, 500, "tokens/s of one request, small model (1B to 3B)" },
	[FIT_LINEAR_US] = { 0.6, 0.1, 500,
			    "tokens/s of one request, small model with linear attention" },
	[FIT_STEP_MS] = { 0.6, 0.01, 50,
			  "tokens/s of one request, two small models of different depth" },
	[FIT_SEQ_US] = { 0.6, 0.01, 1000, "time per token with 32 requests at a time or more" },
	[FIT_MATH_HALF] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in BF16" },
	[FIT_MATH_FP8] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in FP8" },
	[FIT_MATH_FP4] = { 0.3, 0.02, 1, "prompt of 2,048 tokens or more, weights in NVFP4" },
	[FIT_MATH_WEIGHT] = { 0.3, 0.02, 1,
			      "prompt of 2,048 tokens or more, weights in AWQ or GPTQ" },
	[FIT_MATH_GGML] = { 0.3, 0.02, 1, "llama-bench -p 2048, quantised weights" },
	[FIT_MATH_EXPERT] = { 0.4, 0.02, 1, "prompt of 2,048 tokens or more, model with experts" },
	[FIT_ROWS] = { 0.6, 1, 1000, "prompts of 128, 512 and 2,048 tokens" },
	[FIT_MATH_CACHE] = { 0.4, 0.02, 1, "prompt of 32K tokens or more" },
	[FIT_CHUNK_US] = { 0.6, 0.1, 2000, "prompt of 128 tokens, small model" },
	[FIT_FIRST_MS] = { 0.8, 0.05, 5000, "time to first token of a prompt of 32 tokens" },
	[FIT_LINK_US] = { 0.5, 1, 1000, "tokens/s of one request with and without --tp 2" },
	[FIT_NET_US] = { 0.5, 2, 5000, "tokens/s of one request on one and on two machines" },
	[FIT_LINK] = { 0.3, 0.1, 1, "prompt of 8K tokens or more with tensor parallelism" },
	[FIT_QUEUE] = { 0.5, 0.05, 3, "time to first token at 4, 16 and 64 requests at a time" },
	[FIT_MATH_BLOCK] = { 0.3, 0.02, 1,
			     "prompt of 2,048 tokens or more, weights in FP8 with block scales" },
	[FIT_SCAN] = { 0.5, 0.05, 20, "prompt of 8K tokens or more, model with linear attention" },
	[FIT_CAST_US] = { 0.6, 0.05, 200, "tokens/s of one request, small model in FP8 or FP4" },
	[FIT_TOUCH_US] = { 0.6, 0.01, 50,
			   "time per token at 1, 8 and 32 requests, model with experts" },
	[FIT_SPREAD] = { 0.3, 0.05, 1,
			 "time per token at 1, 2, 4 and 8 requests, model with experts" },
	[FIT_HOST_US] = { 0.6, 0.5, 500, "time per token at 64 requests or more, small model" },
	[FIT_LAG] = { 0.5, 0.1, 20, "time to first token at 4, 16 and 64 requests at a time" },
	[FIT_FILL_US] = { 0.6, 0.001, 100, "prompt of 1,024 tokens, model with experts" },
	[FIT_EXPERT_ROWS] = { 0.6, 0.5, 1000,
			      "time per token at 8, 32 and 128 requests, model with experts" },
};

const char *calibrate_missing(enum fit_id id)
{
	return rows[id].missing;
}

double calibrate_prior(enum fit_id id, double *low, double *high)
{
	*low = rows[id].low;
	*high = rows[id].high;
	return rows[id].sigma;
}
