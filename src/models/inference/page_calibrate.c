/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration on a page: which constants moved, how well runs are predicted, what is missing. */
#include <math.h>

#include "models/inference/page_calibrate.h"
#include "render/figure.h"
#include "base/clock.h"
#include "base/json.h"

enum { ROWS_MAX = 60 };

static const char *percent(struct arena *a, double predicted, double measured)
{
	return predicted > 0 ? arena_printf(a, "%+.1f %%", 100 * (predicted / measured - 1)) : "-";
}

static void calibrate_page_residuals(struct doc *d, const struct calibration *c)
{
	struct node *t =
		DOC_TABLE(d, "Predicted against measured", "~run", "~model", ">requests", ">tokens",
			  "figure", ">measured", ">built in", ">fitted", ">not seen");
	struct arena *a = d->arena;

	for (size_t i = 0; i < c->n_figures && i < ROWS_MAX; i++) {
		const struct calibrate_figure *f = &c->figures[i];
		const struct calibrate_run *r = &c->runs[f->run];
		struct cell *row = node_row(d, t);

		row[0] = cell(r->log->where);
		row[1] = cellf(d, "%s, %s", r->q.arch.name, r->q.ask.weights->name);
		row[2] = cellf(d, "%d", r->q.ask.batch);
		row[3] = cellf(d, "%.0f + %.0f", r->q.ask.prompt, r->q.ask.output);
		row[4] = cell(log_figure_names[f->what]);
		row[5] = cell(figure_number(a, f->measured));
		row[6] = cell(percent(a, f->built_in, f->measured));
		row[7] = cell_as(STYLE_STRONG, percent(a, f->fitted, f->measured));
		row[8] = cell(percent(a, f->left_out, f->measured));
	}
	if (c->n_figures > ROWS_MAX)
		doc_text(d, "and %zu more: --format json has all.", c->n_figures - ROWS_MAX);
}

static double most_of(enum fit_id id)
{
	double low, high;

	calibrate_prior(id, &low, &high);
	return high;
}

static void constants(struct doc *d, const struct calibrate_group *g)
{
	struct node *t = DOC_TABLE(d, NULL, "constant", ">built in", ">here", "two of three lie in",
				   "~from");
	struct arena *a = d->arena;

	for (int k = 0; k < FITS; k++) {
		const struct calibrate_constant *c = &g->constants[k];
		struct cell *row;

		if (c->state != CONSTANT_FITTED && c->state != CONSTANT_EXPECTED)
			continue;
		row = node_row(d, t);
		row[0] = cell(fit_names[k]);
		row[1] = cellf(d, "%.4g", c->built_in);
		row[2] = cell_printf(d, STYLE_STRONG, "%.4g", c->value);
		if (c->state == CONSTANT_FITTED)
			row[3] = cellf(d, "%.4g to %.4g", c->value / (1 + c->sigma),
				       fmin(c->value * (1 + c->sigma), most_of(c->id)));
		row[4] =
			cell(c->from ? arena_printf(a, "%s%s", c->from,
						    c->state == CONSTANT_FITTED ? ", and runs" : "")
				     : "runs");
	}
}

/* Constants by what would decide them: the same measurement is named once. */
static void calibrate_page_missing(struct doc *d, const struct calibrate_group *g,
				   enum constant_state state, const char *intro)
{
	struct node *n = NULL;

	for (int k = 0; k < FITS; k++) {
		const struct calibrate_constant *c = &g->constants[k];

		if (c->state != state || !c->missing)
			continue;
		if (!n) {
			doc_text(d, "%s", intro);
			n = doc_bullets(d);
		}
		node_bullet(d, n, cellf(d, "%s: missing is %s", fit_names[k], c->missing));
	}
}

static size_t count(const struct calibrate_group *g, enum constant_state state)
{
	size_t n = 0;

	for (int k = 0; k < FITS; k++)
		n += g->constants[k].state == state && g->constants[k].missing;
	return n;
}

static void calibrate_page_group(struct doc *d, const struct calibrate_group *g, bool verbose)
{
	size_t others;
	struct node *n;

	doc_heading(d, 2,
		    arena_printf(d->arena, "%s, %s memory", engine_names[g->engine],
				 g->hardware == HARDWARE_UNIFIED ? "unified" : "server's"));
	n = doc_paragraph(d);
	node_span(d, n, g->kept ? cell_as(STYLE_GOOD, "Used") : cell_as(STYLE_WARN, "Not used"));
	node_span(d, n,
		  cellf(d, ": %s. %zu figure%s of %zu run%s.", g->why, g->figures,
			g->figures == 1 ? "" : "s", g->runs, g->runs == 1 ? "" : "s"));
	if (g->runs)
		doc_text(d,
			 "Off in the middle, and nine of ten below: built in %.1f and %.1f %%, "
			 "fitted %.1f and %.1f %%%s.",
			 100 * g->built_in[0], 100 * g->built_in[1], 100 * g->fitted[0],
			 100 * g->fitted[1],
			 g->tried ? arena_printf(d->arena, ", runs not seen %.1f and %.1f %%",
						 100 * g->left_out[0], 100 * g->left_out[1])
				  : "");
	constants(d, g);
	if (!g->runs)
		return;
	calibrate_page_missing(d, g, CONSTANT_OPEN,
			       "The runs depend on these and do not decide them (built in):");
	if (verbose)
		calibrate_page_missing(d, g, CONSTANT_UNTOUCHED,
				       "No run here depends on these (built in):");
	else if ((others = count(g, CONSTANT_UNTOUCHED)))
		doc_text(d, "No run here depends on %zu more; --verbose says what would show them.",
			 others);
}

static void calibrate_page_skipped(struct doc *d, const struct calibration *c)
{
	struct node *n = NULL;
	size_t more = 0, shown = 0;

	for (size_t i = 0; i < c->n_runs; i++) {
		const struct calibrate_run *r = &c->runs[i];

		if (!r->skipped)
			continue;
		if (shown++ >= ROWS_MAX / 2) {
			more++;
			continue;
		}
		if (!n) {
			doc_text(d, "Left out:");
			n = doc_bullets(d);
		}
		node_bullet(d, n,
			    cellf(d, "%s (%s): %s", r->log->where, log_tool_names[r->log->tool],
				  r->skipped));
	}
	if (more)
		doc_text(d, "and %zu more.", more);
}

struct doc *page_calibrate(struct arena *a, const struct calibration *c,
			   const struct calibrate_page *p)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, arena_printf(a, "Constants of predictions for %s", p->taken));
	doc_text(d, "%s, %s; %zu of %zu runs count.", p->gpu, calibration_from(a, c), c->used,
		 c->n_runs);
	if (p->asked_bench && !p->hints)
		doc_text(d,
			 "No kept result of a bench moves a constant (%zu sound cases): gputune "
			 "bench gpu-memory gemm collectives measures what does.",
			 p->bench_cases);
	for (size_t i = 0; i < c->n_groups; i++)
		calibrate_page_group(d, &c->groups[i], p->verbose);
	calibrate_page_residuals(d, c);
	calibrate_page_skipped(d, c);
	if (p->stored)
		doc_text(d,
			 "Kept in %s: predictions for this machine take it from now on "
			 "(--no-calibration does not).",
			 p->stored);
	else
		doc_text(d, "Nothing was kept%s.", p->code ? "" : ": --dry-run");
	return d;
}

struct doc *page_calibration_file(struct arena *a, const struct calibration_file *k,
				  const char *taken)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, arena_printf(a, "Calibration kept for %s", taken));
	if (!k) {
		doc_text(d, "None: predictions take the built-in constants.");
		return d;
	}
	if (k->why_not) {
		doc_text(d, "%s is not used: %s.", k->path, k->why_not);
		return d;
	}
	doc_text(d, "%s: %s, of %s.", k->path, k->time, k->from);
	for (size_t i = 0; i < k->n_sets; i++) {
		const struct calibration_set *s = &k->sets[i];
		const char *list = s->models ? "" : "every model";

		for (size_t m = 0; s->models && m < s->n_models; m++)
			list = arena_printf(a, "%s%s%s", list, m ? ", " : "", s->models[m]);
		doc_text(d, "For %s:", list);
		doc_code(d, s->constants);
	}
	return d;
}

/* A calibration as JSON: every run with its residuals, every constant with what became of it. */

static const char *const states[] = { "fitted", "moved-by-bench", "open", "untouched" };

static json_t *measured_json(const struct calibrate_figure *f)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "figure", log_figure_names[f->what],
			 "measured", json_figure(f->measured), "built_in", json_figure(f->built_in),
			 "fitted", json_figure(f->fitted), "left_out", json_positive(f->left_out));
}

static json_t *calibrate_page_run_json(const struct calibration *c, size_t i)
{
	const struct calibrate_run *r = &c->runs[i];
	const struct ask *q = &r->q.ask;
	bool used = !r->skipped;
	json_t *j = json_object(), *figures = json_array();

	for (size_t f = 0; f < c->n_figures; f++)
		if (c->figures[f].run == i)
			json_array_append_new(figures, measured_json(&c->figures[f]));
	json_put_text(j, "where", r->log->where);
	json_object_set_new(j, "tool", json_string(log_tool_names[r->log->tool]));
	json_put_text(j, "model", used ? r->q.arch.name : r->log->model);
	json_put_text(j, "weights", used ? q->weights->name : r->log->weights);
	json_object_set_new(j, "engine", used ? json_string(engine_names[q->engine]) : json_null());
	json_object_set_new(j, "tp", used ? json_integer(q->tp) : json_null());
	json_object_set_new(j, "batch", used ? json_integer(q->batch) : json_null());
	json_object_set_new(j, "prompt_tokens", used ? json_figure(q->prompt) : json_null());
	json_object_set_new(j, "output_tokens", used ? json_figure(q->output) : json_null());
	json_put_text(j, "skipped", r->skipped);
	json_object_set_new(j, "figures", figures);
	return j;
}

static json_t *constant_json(const struct calibrate_constant *c)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", fit_names[c->id], "state",
			 states[c->state], "built_in", json_figure(c->built_in), "value",
			 json_figure(c->value), "width_ratio", json_positive(c->sigma), "missing",
			 c->state == CONSTANT_FITTED ? json_null() : json_text(c->missing), "bench",
			 json_text(c->from));
}

static json_t *pair(const double v[2], bool known)
{
	return known ? json_pack("{s:o, s:o}", "median_ratio", json_figure(v[0]), "p90_ratio",
				 json_figure(v[1]))
		     : json_null();
}

static json_t *calibrate_page_group_json(const struct calibrate_group *g)
{
	json_t *j = json_object(), *constants = json_array(), *models = json_array();

	for (size_t i = 0; i < g->n_models; i++)
		json_array_append_new(models, json_text(g->models[i]));
	for (int k = 0; k < FITS; k++)
		if (g->constants[k].missing)
			json_array_append_new(constants, constant_json(&g->constants[k]));
	json_object_set_new(j, "engine", json_string(engine_names[g->engine]));
	json_object_set_new(j, "hardware", json_string(hardware_names[g->hardware]));
	json_put_int(j, "runs", (json_int_t)g->runs);
	json_put_int(j, "figures", (json_int_t)g->figures);
	json_put_bool(j, "kept", g->kept);
	json_put_bool(j, "every_model", g->general);
	json_put_bool(j, "moved_by_benches", g->hinted);
	json_object_set_new(j, "models", models);
	json_put_text(j, "reason", g->why);
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
		json_array_append_new(runs, calibrate_page_run_json(c, i));
	for (size_t i = 0; i < c->n_groups; i++)
		json_array_append_new(groups, calibrate_page_group_json(&c->groups[i]));
	json_put_text(j, "machine", p->taken);
	json_put_text(j, "gpu", p->gpu);
	json_put_int(j, "bench_cases", (json_int_t)p->bench_cases);
	json_put_text(j, "kept_in", p->stored);
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

json_t *calibration_show_json(const struct calibration_file *k, const char *taken, long long now,
			      int code)
{
	json_t *j = begin("gputune.calibration-show/1", now, code), *sets = json_array();

	for (size_t i = 0; k && i < k->n_sets && !k->why_not; i++)
		json_array_append_new(sets, set_json(&k->sets[i]));
	json_put_text(j, "machine", taken);
	json_object_set_new(j, "kept",
			    k ? json_pack("{s:o, s:o, s:o, s:b, s:o}", "path", json_text(k->path),
					  "time", json_text(k->time), "from", json_text(k->from),
					  "used", k->why_not == NULL, "reason",
					  json_text(k->why_not))
			      : json_null());
	json_object_set_new(j, "sets", sets);
	return j;
}
