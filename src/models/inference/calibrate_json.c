/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as JSON: every run with its residuals, every constant with what became of it. */
#include "base/stamp.h"
#include "render/json_value.h"
#include "models/inference/page_calibrate.h"

static const char *const states[] = { "fitted", "moved-by-bench", "open", "untouched" };

static json_t *positive(double v)
{
	return v > 0 ? json_figure(v) : json_null();
}

static json_t *figure_json(const struct calibrate_figure *f)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "figure", log_figure_names[f->what],
			 "measured", json_figure(f->measured), "built_in", json_figure(f->built_in),
			 "fitted", json_figure(f->fitted), "left_out", positive(f->left_out));
}

static json_t *run_json(const struct calibration *c, size_t i)
{
	const struct calibrate_run *r = &c->runs[i];
	const struct ask *q = &r->q.ask;
	bool used = !r->skipped;
	json_t *j = json_object(), *figures = json_array();

	for (size_t f = 0; f < c->n_figures; f++)
		if (c->figures[f].run == i)
			json_array_append_new(figures, figure_json(&c->figures[f]));
	json_object_set_new(j, "where", json_text(r->log->where));
	json_object_set_new(j, "tool", json_string(log_tool_names[r->log->tool]));
	json_object_set_new(j, "model", json_text(used ? r->q.arch.name : r->log->model));
	json_object_set_new(j, "weights", json_text(used ? q->weights->name : r->log->weights));
	json_object_set_new(j, "engine", used ? json_string(engine_names[q->engine]) : json_null());
	json_object_set_new(j, "tp", used ? json_integer(q->tp) : json_null());
	json_object_set_new(j, "batch", used ? json_integer(q->batch) : json_null());
	json_object_set_new(j, "prompt_tokens", used ? json_figure(q->prompt) : json_null());
	json_object_set_new(j, "output_tokens", used ? json_figure(q->output) : json_null());
	json_object_set_new(j, "skipped", json_text(r->skipped));
	json_object_set_new(j, "figures", figures);
	return j;
}

static json_t *constant_json(const struct calibrate_constant *c)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", fit_names[c->id], "state",
			 states[c->state], "built_in", json_figure(c->built_in), "value",
			 json_figure(c->value), "width_ratio", positive(c->sigma), "missing",
			 c->state == CONSTANT_FITTED ? json_null() : json_text(c->missing), "bench",
			 json_text(c->from));
}

static json_t *pair(const double v[2], bool known)
{
	return known ? json_pack("{s:o, s:o}", "median_ratio", json_figure(v[0]), "p90_ratio",
				 json_figure(v[1]))
		     : json_null();
}

static json_t *group_json(const struct calibrate_group *g)
{
	json_t *j = json_object(), *constants = json_array(), *models = json_array();

	for (size_t i = 0; i < g->n_models; i++)
		json_array_append_new(models, json_text(g->models[i]));
	for (int k = 0; k < FITS; k++)
		if (g->constants[k].missing)
			json_array_append_new(constants, constant_json(&g->constants[k]));
	json_object_set_new(j, "engine", json_string(engine_names[g->engine]));
	json_object_set_new(j, "hardware", json_string(hardware_names[g->hardware]));
	json_object_set_new(j, "runs", json_integer((json_int_t)g->runs));
	json_object_set_new(j, "figures", json_integer((json_int_t)g->figures));
	json_object_set_new(j, "kept", json_boolean(g->kept));
	json_object_set_new(j, "every_model", json_boolean(g->general));
	json_object_set_new(j, "moved_by_benches", json_boolean(g->hinted));
	json_object_set_new(j, "models", models);
	json_object_set_new(j, "reason", json_text(g->why));
	json_object_set_new(j, "error_built_in", pair(g->built_in, g->runs > 0));
	json_object_set_new(j, "error_fitted", pair(g->fitted, g->runs > 0));
	json_object_set_new(j, "error_left_out", pair(g->left_out, g->tried));
	json_object_set_new(j, "error_left_model", pair(g->left_model, g->tried_models));
	json_object_set_new(j, "constants", constants);
	return j;
}

static json_t *begin(const char *schema, long long now, int code)
{
	char stamp[STAMP_SIZE];

	return json_pack("{s:s, s:s, s:o, s:i}", "schema", schema, "tool_version", GPUTUNE_VERSION,
			 "time", stamp_format(now, stamp) < 0 ? json_null() : json_string(stamp),
			 "exit_code", code);
}

json_t *calibrate_json(const struct calibration *c, const struct calibrate_page *p)
{
	json_t *j = begin("gputune.calibrate/1", p->now, p->code), *runs = json_array(),
	       *groups = json_array();

	for (size_t i = 0; i < c->n_runs; i++)
		json_array_append_new(runs, run_json(c, i));
	for (size_t i = 0; i < c->n_groups; i++)
		json_array_append_new(groups, group_json(&c->groups[i]));
	json_object_set_new(j, "machine", json_text(p->taken));
	json_object_set_new(j, "gpu", json_text(p->gpu));
	json_object_set_new(j, "bench_cases", json_integer((json_int_t)p->bench_cases));
	json_object_set_new(j, "kept_in", json_text(p->stored));
	json_object_set_new(j, "runs", runs);
	json_object_set_new(j, "groups", groups);
	return j;
}

static json_t *set_json(const struct calibration_set *s)
{
	json_t *models = json_array();

	for (size_t i = 0; i < s->n_models; i++)
		json_array_append_new(models, json_text(s->models[i]));
	if (!s->models) {
		json_decref(models);
		models = json_null();
	}
	return json_pack("{s:o, s:o}", "models", models, "constants", json_text(s->constants));
}

json_t *calibration_show_json(const struct calibration_kept *k, const char *taken, long long now,
			      int code)
{
	json_t *j = begin("gputune.calibration-show/1", now, code), *sets = json_array();

	for (size_t i = 0; k && i < k->n_sets && !k->why_not; i++)
		json_array_append_new(sets, set_json(&k->sets[i]));
	json_object_set_new(j, "machine", json_text(taken));
	json_object_set_new(j, "kept",
			    k ? json_pack("{s:o, s:o, s:o, s:b, s:o}", "path", json_text(k->path),
					  "time", json_text(k->time), "from", json_text(k->from),
					  "used", k->why_not == NULL, "reason",
					  json_text(k->why_not))
			      : json_null());
	json_object_set_new(j, "sets", sets);
	return j;
}
