/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration on a page: which constants moved, how well runs are predicted, what is missing. */
#include <math.h>

#include "models/inference/page_calibrate.h"
#include "render/figure.h"

enum { ROWS_MAX = 60 };

static const char *percent(struct arena *a, double predicted, double measured)
{
	return predicted > 0 ? arena_printf(a, "%+.1f %%", 100 * (predicted / measured - 1)) : "-";
}

static void calibrate_page_residuals(struct doc *d, const struct calibration *c)
{
	struct node *t =
		DOC_TABLE(d, "Predicted versus measured", "~run", "~model", ">requests", ">tokens",
			  "figure", ">measured", ">built-in", ">fitted", ">held out");
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
		doc_text(d, "and %zu more; --format json has all.", c->n_figures - ROWS_MAX);
}

static void constants(struct doc *d, const struct calibrate_group *g)
{
	struct node *t =
		DOC_TABLE(d, NULL, "constant", ">built-in", ">here", "interval (67 %)", "~from");
	struct arena *a = d->arena;

	for (int k = 0; k < FITS; k++) {
		const struct calibrate_constant *c = &g->constants[k];
		struct cell *row;
		double low, high;

		if (c->state != CONSTANT_FITTED && c->state != CONSTANT_EXPECTED)
			continue;
		calibrate_prior(c->id, &low, &high);
		row = node_row(d, t);
		row[0] = cell(fit_names[k]);
		row[1] = cellf(d, "%.4g", c->built_in);
		row[2] = cell_printf(d, STYLE_STRONG, "%.4g", c->value);
		if (c->state == CONSTANT_FITTED)
			row[3] = cellf(d, "%.4g to %.4g", c->value / (1 + c->sigma),
				       fmin(c->value * (1 + c->sigma), high));
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
		node_bullet(d, n, cellf(d, "%s: requires %s", fit_names[k], c->missing));
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
			PLURAL(g->figures), g->runs, PLURAL(g->runs)));
	if (g->runs)
		doc_text(d,
			 "Median and 90th-percentile error: built-in %.1f and %.1f %%, fitted %.1f "
			 "and %.1f %%%s.",
			 100 * g->built_in[0], 100 * g->built_in[1], 100 * g->fitted[0],
			 100 * g->fitted[1],
			 g->tried ? arena_printf(d->arena, ", held-out runs %.1f and %.1f %%",
						 100 * g->left_out[0], 100 * g->left_out[1])
				  : "");
	constants(d, g);
	if (!g->runs)
		return;
	calibrate_page_missing(d, g, CONSTANT_OPEN,
			       "The runs depend on these constants but do not determine them "
			       "(built-in values are used):");
	if (verbose)
		calibrate_page_missing(
			d, g, CONSTANT_UNTOUCHED,
			"No run depends on these constants (built-in values are used):");
	else if ((others = count(g, CONSTANT_UNTOUCHED)))
		doc_text(d,
			 "No run depends on %zu more constants; --verbose lists the required "
			 "measurements.",
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
			doc_text(d, "Skipped:");
			n = doc_bullets(d);
		}
		node_bullet(d, n,
			    cellf(d, "%s (%s): %s", r->log->where, log_tool_names[r->log->tool],
				  r->skipped));
	}
	if (more)
		doc_text(d, "and %zu more.", more);
}

struct doc *page_calibrate(struct arena *a, const struct calibrate_page *p, bool verbose)
{
	const struct calibration *c = p->c;
	struct doc *d = doc_new(a);

	doc_heading(d, 1, arena_printf(a, "Prediction constants for %s", p->taken));
	doc_text(d, "%s, %s; %zu of %zu runs used.", p->gpu, calibration_from(a, c), c->used,
		 c->n_runs);
	if (p->asked_bench && !p->hints)
		doc_text(d,
			 "No stored bench result changes a constant (%zu valid cases). Run "
			 "\"gputune bench gpu-memory gemm collectives\".",
			 p->bench_cases);
	for (size_t i = 0; i < c->n_groups; i++)
		calibrate_page_group(d, &c->groups[i], verbose);
	calibrate_page_residuals(d, c);
	calibrate_page_skipped(d, c);
	if (p->stored)
		doc_text(d,
			 "Stored in %s: predictions for this machine now use it (unless "
			 "--no-calibration).",
			 p->stored);
	else
		doc_text(d, "Nothing stored%s.", p->code ? "" : ": --dry-run");
	return d;
}

struct doc *page_calibration_stored(struct arena *a, const struct calibration_stored *kept)
{
	const struct calibration_file *k = kept->file;
	struct doc *d = doc_new(a);

	doc_heading(d, 1, arena_printf(a, "Calibration stored for %s", kept->taken));
	if (!k) {
		doc_text(d, "None: predictions use the built-in constants.");
		return d;
	}
	if (k->why_not) {
		doc_text(d, "%s: not used: %s.", k->path, k->why_not);
		return d;
	}
	doc_text(d, "%s: %s, of %s.", k->path, k->time, k->from);
	for (size_t i = 0; i < k->n_sets; i++) {
		const struct calibration_set *s = &k->sets[i];
		const char *list = s->models ? "" : "every model";

		for (size_t m = 0; s->models && m < s->n_models; m++)
			list = arena_printf(a, "%s%s%s", list, m ? ", " : "", s->models[m]);
		doc_text(d, "For %s:", list);
		doc_code(d, s->lines);
	}
	return d;
}
