/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings: the jobs, then every quantity of both side by side. */
#include <math.h>
#include <string.h>

#include "look/monitor/contrast.h"
#include "base/text.h"
#include "base/shape.h"
#include "render/figure.h"

struct scale_of {
	double factor;
	const char *unit;
};

static bool is_a(const struct contrast_row *r, const char *group)
{
	return str_starts(r->type->name, group);
}

/* What people read it in: both sides in one unit. */
static struct scale_of contrast_page_scale_of(const struct contrast_row *r)
{
	static const struct scale_of rates[] = { { 1e-9, "GB/s" },
						 { 1e-6, "MB/s" },
						 { 1e-3, "kB/s" } };
	double most = fmax(fabs(r->a.p95), fabs(r->b.p95));
	bool rate = r->type->kind == COLUMN_TOTAL;

	if (strcmp(r->type->unit, "bytes") == 0 && !rate)
		return (struct scale_of){ 1 / 0x1p30, "GiB" };
	if (strcmp(r->type->unit, "bytes") == 0) {
		for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
			if (most * rates[i].factor >= 1)
				return rates[i];
		return (struct scale_of){ 1, "B/s" };
	}
	if (strcmp(r->type->unit, "s") == 0 && rate)
		return is_a(r, "cpu.") ? (struct scale_of){ 1, "CPUs" }
				       : (struct scale_of){ 100, "% of the time" };
	return (struct scale_of){ 1, rate ? "per second" : r->type->unit };
}

/* Both the same, and nothing moved. */
static bool still(const struct contrast_row *r)
{
	return r->verdict == CONTRAST_SAME && !(fabs(r->difference) > 0) && !(r->a.deviation > 0) &&
	       !(r->b.deviation > 0);
}

static struct cell contrast_page_verdict_cell(const struct contrast_row *r)
{
	static const struct {
		const char *text;
		enum style style;
	} looks[] = { { "higher", STYLE_STRONG },
		      { "lower", STYLE_STRONG },
		      { "no difference", STYLE_PLAIN },
		      { "not comparable", STYLE_UNKNOWN } };

	return cell_as(looks[r->verdict].style, looks[r->verdict].text);
}

static const char *number(struct doc *d, double v, const struct scale_of *s)
{
	return figure_number(d->arena, v * s->factor);
}

static void side_cells(struct doc *d, const struct contrast_figures *f, const struct scale_of *s,
		       struct cell *out)
{
	if (!f->n)
		return;
	out[0] = cell(number(d, f->mean, s));
	out[1] = cell_printf(d, STYLE_MUTED, "%s/%s/%s", number(d, f->p5, s),
			     number(d, f->median, s), number(d, f->p95, s));
}

static void contrast_page_add_row(struct doc *d, struct node *t, const struct contrast_row *r)
{
	struct scale_of s = contrast_page_scale_of(r);
	struct cell *row = node_row(d, t);
	const char *name = strchr(r->type->name, '.');

	row[0] = cell(arena_printf(d->arena, "%s%s%s", r->target, *r->target ? " " : "",
				   name ? name + 1 : r->type->name));
	row[1] = cell(s.unit);
	side_cells(d, &r->a, &s, &row[2]);
	side_cells(d, &r->b, &s, &row[4]);
	if (r->verdict != CONTRAST_CANNOT)
		row[6] = cellf(d, "%s (%s to %s)", number(d, r->difference, &s),
			       number(d, r->interval.low, &s), number(d, r->interval.high, &s));
	row[7] = contrast_page_verdict_cell(r);
}

static size_t group_length(const char *name)
{
	return strcspn(name, ".");
}

/* All rows of the group that row at opens; false where an earlier row has opened it. */
static bool contrast_page_table_of(struct doc *d, const struct contrast *v, size_t at,
				   size_t *stood)
{
	const char *name = v->rows[at].type->name;
	size_t length = group_length(name);
	struct node *t, *why;

	for (size_t i = 0; i < at; i++)
		if (group_length(v->rows[i].type->name) == length &&
		    strncmp(v->rows[i].type->name, name, length) == 0)
			return false;
	t = DOC_TABLE(d, arena_printf(d->arena, "%.*s", (int)length, name), "Quantity", "Unit",
		      ">A mean", ">5/50/95 %", ">B mean", ">5/50/95 %", ">B - A (interval)",
		      "Verdict");
	why = doc_bullets(d);
	for (size_t i = at; i < v->n; i++) {
		const struct contrast_row *r = &v->rows[i];

		if (group_length(r->type->name) != length ||
		    strncmp(r->type->name, name, length) != 0)
			continue;
		if (still(r)) {
			(*stood)++;
			continue;
		}
		contrast_page_add_row(d, t, r);
		if (r->reason)
			node_bullet(d, why,
				    cell_printf(d, STYLE_UNKNOWN, "%s%s%s: %s", r->target,
						*r->target ? " " : "", r->type->name + length + 1,
						r->reason));
	}
	node_drop_empty(t);
	return true;
}

static const char *ended(struct doc *d, const struct recording *rec)
{
	if (!rec->end.whole)
		return "unknown: the recording is truncated";
	if (rec->end.status < 0)
		return "no job";
	return arena_printf(d->arena, "%d", rec->end.status);
}

static const char *cpu(struct doc *d, const struct recording *rec)
{
	return rec->end.whole && rec->end.command_cpu_s >= 0
		       ? arena_printf(d->arena, "%.2f s", rec->end.command_cpu_s)
		       : NULL;
}

/* How the jobs went: one each, so that there is nothing to judge by. */
static void contrast_page_jobs(struct doc *d, const struct contrast *v)
{
	const struct recording *x = &v->a.rec, *y = &v->b.rec;
	struct node *t = DOC_TABLE(d, NULL, "", ">A", ">B");

	NODE_ROW(d, t, cell("took"), cellf(d, "%.1f s", 1e-3 * (double)x->ms),
		 cellf(d, "%.1f s", 1e-3 * (double)y->ms));
	NODE_ROW(d, t, cell("exit code of the job"), cell(ended(d, x)), cell(ended(d, y)));
	NODE_ROW(d, t, cell("CPU time of the job"), cell(cpu(d, x)), cell(cpu(d, y)));
	NODE_ROW(d, t, cell("rows"), cellf(d, "%llu", (unsigned long long)x->end.rows),
		 cellf(d, "%llu", (unsigned long long)y->end.rows));
}

struct doc *page_contrast(struct arena *a, const struct contrast *v)
{
	struct doc *d = doc_new(a);
	struct node *list;
	size_t stood = 0;

	contrast_page_jobs(d, v);
	for (size_t i = 0; i < v->n; i++)
		contrast_page_table_of(d, v, i, &stood);
	if (stood)
		doc_text(d, "%zu quantit%s had the same constant value in both recordings.", stood,
			 stood == 1 ? "y" : "ies");
	doc_text(d,
		 "Counters are rates per second. Each interval of a difference of means "
		 "has %.2f %% "
		 "confidence, so at most one comparison in 20 has a wrong row. Correlated samples "
		 "count as fewer samples. A difference below %.0f %% counts as no difference.",
		 100 * v->level, 100 * CONTRAST_THRESHOLD);
	if (v->n_differs)
		doc_heading(d, 2, "Other differences");
	list = doc_bullets(d);
	for (size_t i = 0; i < v->n_differs; i++)
		node_bullet(d, list, cell(v->differs[i]));
	doc_text(d,
		 "A: %s. B: %s. %zu higher in B, %zu lower, %zu without a difference, %zu not "
		 "comparable.",
		 v->a.path, v->b.path, v->count[CONTRAST_HIGHER], v->count[CONTRAST_LOWER],
		 v->count[CONTRAST_SAME], v->count[CONTRAST_CANNOT]);
	return d;
}

/* --- as a result ------------------------------------------------------------------------------ */

/* clang-format off */

static const char *const contrast_verdict_names[] = {
	[CONTRAST_HIGHER] = "higher", [CONTRAST_LOWER] = "lower", [CONTRAST_SAME] = "no-difference",
	[CONTRAST_CANNOT] = "not-comparable",
};
static const char *const contrast_is_names[] = { [COLUMN_GAUGE] = "gauge", [COLUMN_TOTAL] = "rate" };

static const struct shape contrast_figures_shape = SHAPE_OF(contrast_figures, contrast_figures,
	{ "samples", NULL, SHAPE_COUNT(contrast_figures, n) },
	{ "mean", NULL, SHAPE_REAL(contrast_figures, mean) },
	{ "deviation", "Standard deviation.", SHAPE_REAL(contrast_figures, deviation) },
	{ "p5", NULL, SHAPE_REAL(contrast_figures, p5) },
	{ "median", NULL, SHAPE_REAL(contrast_figures, median) },
	{ "p95", NULL, SHAPE_REAL(contrast_figures, p95) },
	{ "effective_samples", "Equivalent number of independent samples.",
	  SHAPE_REAL(contrast_figures, effective) });

#define OF_TYPE SHAPE_VIA(contrast_row, type, column_type)

static const struct shape contrast_row_shape = SHAPE_OF(contrast_row, contrast_row,
	{ "quantity", NULL, SHAPE_TEXT(column_type, name), OF_TYPE },
	{ "target", NULL, SHAPE_TEXT(contrast_row, target) },
	{ "unit", NULL, SHAPE_TEXT(column_type, unit), OF_TYPE },
	{ "is", NULL, SHAPE_CHOICE(column_type, kind, contrast_is_names), OF_TYPE },
	{ "a", "null: this recording lacks the quantity.",
	  SHAPE_OBJECT(contrast_row, a, contrast_figures), .unknown = SHAPE_ZERO },
	{ "b", NULL, SHAPE_OBJECT(contrast_row, b, contrast_figures), .unknown = SHAPE_ZERO },
	{ "difference", "Difference of the means, b - a.", SHAPE_REAL(contrast_row, difference),
	  .unknown = SHAPE_NULL },
	{ "low", NULL, SHAPE_REAL(contrast_row, interval.low), .unknown = SHAPE_NULL },
	{ "high", NULL, SHAPE_REAL(contrast_row, interval.high), .unknown = SHAPE_NULL },
	{ "verdict", NULL, SHAPE_CHOICE(contrast_row, verdict, contrast_verdict_names) },
	{ "reason", "Reason for not-comparable.", SHAPE_TEXT(contrast_row, reason), .unknown = SHAPE_NULL });

SHAPE_GIVES(double, contrast_seconds, contrast_side, 1e-3 * (double)x->rec.ms)

static const struct shape contrast_side_shape = SHAPE_OF(contrast_side, contrast_side,
	{ "file", NULL, SHAPE_TEXT(contrast_side, path) },
	{ "seconds", "Time of the last row.", SHAPE_REAL_OF(contrast_seconds) },
	{ "rows", NULL, SHAPE_COUNT(contrast_side, rec.end.rows) },
	{ "interval_ms", NULL, SHAPE_COUNT(contrast_side, rec.interval_ms) },
	{ "whole", "false: the recording has no end.", SHAPE_FLAG(contrast_side, rec.end.whole) },
	{ "exit_code", "Exit code of the job; null: no job, or the recording has no end.",
	  SHAPE_COUNT(contrast_side, rec.end.status), .unknown = SHAPE_NEGATIVE },
	{ "command_cpu_s", "CPU seconds of the job and of all child processes that the job waited for.",
	  SHAPE_REAL(contrast_side, rec.end.command_cpu_s), .unknown = SHAPE_NEGATIVE },
	{ "machine", NULL, SHAPE_TEXT(contrast_side, rec.mon.machine.name) });

static const struct shape contrast_summary_shape = SHAPE_OF(contrast, contrast_summary,
	{ "higher", NULL, SHAPE_COUNT(contrast, count[CONTRAST_HIGHER]) },
	{ "lower", NULL, SHAPE_COUNT(contrast, count[CONTRAST_LOWER]) },
	{ "no_difference", NULL, SHAPE_COUNT(contrast, count[CONTRAST_SAME]) },
	{ "not_comparable", NULL, SHAPE_COUNT(contrast, count[CONTRAST_CANNOT]) });

static double contrast_threshold(const void *object)
{
	(void)object;
	return CONTRAST_THRESHOLD;
}

static const struct shape contrast_shape = SHAPE_OF(contrast, contrast,
	{ "a", NULL, SHAPE_OBJECT(contrast, a, contrast_side) },
	{ "b", NULL, SHAPE_OBJECT(contrast, b, contrast_side) },
	{ "level", "Confidence level of each interval: the probability that any row is wrong is at most 0.05.",
	  SHAPE_REAL(contrast, level) },
	{ "threshold", "Share of the larger mean: a smaller difference counts as no difference.",
	  SHAPE_REAL_OF(contrast_threshold) },
	{ "summary", NULL, SHAPE_PART(contrast_summary_shape) },
	{ "differs", "Other differences.", SHAPE_TEXT_LIST(contrast, differs, n_differs) },
	{ "rows", NULL, SHAPE_LIST(contrast, rows, n, contrast_row) });

const struct result_shape contrast_result = {
	.name = "compare-recordings",
	.title = "gputune compare of two recordings",
	.meaning = "Every quantity that both recordings have, in its unit; counters are shown as rates per second.",
	.shape = &contrast_shape,
	.list = "rows",
	.exit_codes = 1u << 0 | 1u << 5,
};
