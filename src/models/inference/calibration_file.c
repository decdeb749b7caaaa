/* SPDX-License-Identifier: Apache-2.0 */
/* The file that keeps a calibration: written from one, read back as anybody's text. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "models/inference/page_calibrate.h"
#include "models/inference/calibrate.h"

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
	text = arena_printf(a, "%zu run%s", c->used, PLURAL(c->used));
	for (int t = 0; t < LOG_TOOLS; t++)
		if (count[t])
			text = arena_printf(a, "%s, %s %zu", text, log_tool_names[t], count[t]);
	if (moved)
		text = arena_printf(a, "%s, benches on this machine", text);
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
static void calibration_file_add(struct arena *a, struct calibration_file *out,
				 const struct calibrate_group *g, bool fit)
{
	struct calibration_set *s;

	s = &ARENA_ADD(a, out->sets, out->n_sets);
	*s = (struct calibration_set){
		.engine = engine_names[g->engine],
		.hardware = hardware_names[g->hardware],
		.values = arena_array(a, FITS, sizeof(*s->values)),
		.models = fit && !g->general ? g->models : NULL,
		.n_models = g->n_models,
		.runs = fit ? g->runs : 0,
		.built_in = fit ? g->built_in[0] : (double)NAN,
		.fitted = fit ? g->fitted[0] : (double)NAN,
		.left_out = fit && g->tried ? g->left_out[0] : (double)NAN,
	};
	for (int k = 0; k < FITS; k++)
		if (stored(g, k, fit))
			s->values[s->n++] = (struct calibration_value){ fit_names[k],
									fit ? g->constants[k].value
									    : g->expected.v[k] };
}

void calibration_file_make(struct arena *a, const struct calibration *c,
			   struct calibration_file *out)
{
	for (size_t i = 0; i < c->n_groups; i++) {
		if (c->groups[i].hinted)
			calibration_file_add(a, out, &c->groups[i], false);
		if (c->groups[i].kept)
			calibration_file_add(a, out, &c->groups[i], true);
	}
}

/* Names go into lines that fits_read splits, and refuses where it does not know them. */
static bool valid_name(const char *s)
{
	return strlen(s) < 96 && !strpbrk(s, "\n=#");
}

/* False: a name or a value cannot be. */
static bool calibration_set_lines(struct arena *a, struct calibration_set *s)
{
	TEXT_AUTO lines = { 0 };

	if (s->n > FITS || !valid_name(s->engine) || !valid_name(s->hardware))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct calibration_value *v = &s->values[i];

		if (!valid_name(v->name) || !(v->value > 0 && v->value <= 1e6))
			return false;
		text_printf(&lines, "%s.%s.%s = %.9g\n", s->engine, s->hardware, v->name, v->value);
	}
	s->lines = arena_strdup(a, lines.s ? lines.s : "");
	return true;
}

bool calibration_for(const struct calibration_set *s, const char *model)
{
	for (size_t i = 0; model && i < s->n_models; i++)
		if (strcmp(s->models[i], model) == 0)
			return true;
	return s->models == NULL;
}

int calibration_file_read(struct arena *a, const char *text, struct calibration_file *out,
			  struct err *e)
{
	struct calibration_file got;
	long long when;
	int code = result_shape_read(a, &calibration_result, text, strlen(text), &got, e);

	if (code)
		return code;
	if (stamp_parse(got.time, &when))
		return err_set(e, -EINVAL, "time: expected a time like 2026-11-21T04:50:00Z");
	for (size_t i = 0; i < got.n_sets; i++)
		if (!calibration_set_lines(a, &got.sets[i]))
			return err_set(e, -EINVAL, "sets[%zu]: invalid constants", i);
	got.path = out->path;
	*out = got;
	return 0;
}
