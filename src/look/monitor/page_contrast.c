/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings: the jobs, then every quantity of both side by side. */
#include <math.h>
#include <string.h>

#include "look/monitor/contrast.h"
#include "base/text.h"
#include "render/figure.h"
#include "base/clock.h"
#include "base/json.h"

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
	return (struct scale_of){ 1, rate ? "a second" : r->type->unit };
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
		return "its end is missing";
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
		doc_text(d, "%zu quantit%s stood still at the same value on both sides.", stood,
			 stood == 1 ? "y" : "ies");
	doc_text(d,
		 "Totals are rates a second. Intervals (%.2f %% each, so that all rows together "
		 "are wrong once in twenty comparisons) are of the difference of the means; "
		 "samples that follow each other count as fewer. A difference below %.0f %% is "
		 "called none.",
		 100 * v->level, 100 * CONTRAST_THRESHOLD);
	if (v->n_differs)
		doc_heading(d, 2, "What else is not the same");
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

/* gputune.compare-recordings/1. */

static json_t *contrast_page_figures_json(const struct contrast_figures *f)
{
	if (!f->n)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", (json_int_t)f->n, "mean",
			 json_figure(f->mean), "deviation", json_figure(f->deviation), "p5",
			 json_figure(f->p5), "median", json_figure(f->median), "p95",
			 json_figure(f->p95), "effective_samples", json_figure(f->effective));
}

static json_t *contrast_page_row_json(const struct contrast_row *r)
{
	bool told = r->verdict != CONTRAST_CANNOT;

	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "quantity",
			 json_text(r->type->name), "target", json_text(r->target), "unit",
			 json_text(r->type->unit), "is",
			 r->type->kind == COLUMN_TOTAL ? "rate" : "gauge", "a",
			 contrast_page_figures_json(&r->a), "b", contrast_page_figures_json(&r->b),
			 "difference", told ? json_figure(r->difference) : json_null(), "low",
			 told ? json_figure(r->interval.low) : json_null(), "high",
			 told ? json_figure(r->interval.high) : json_null(), "verdict",
			 contrast_verdict_name(r->verdict), "reason", json_text(r->reason));
}

static json_t *contrast_page_side_json(const struct contrast_side *s)
{
	const struct recording_end *end = &s->rec.end;

	return json_pack("{s:o, s:f, s:I, s:i, s:b, s:o, s:o, s:o}", "file", json_text(s->path),
			 "seconds", 1e-3 * (double)s->rec.ms, "rows", (json_int_t)end->rows,
			 "interval_ms", s->rec.interval_ms, "whole", end->whole, "exit_code",
			 end->status >= 0 ? json_integer(end->status) : json_null(),
			 "command_cpu_s",
			 end->command_cpu_s >= 0 ? json_figure(end->command_cpu_s) : json_null(),
			 "machine", json_text(s->rec.mon.machine.name));
}

json_t *contrast_json(const struct contrast *v, long long time_s, int exit_code)
{
	json_t *rows = json_array(), *differs = json_array();
	char when[STAMP_SIZE];

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(rows, contrast_page_row_json(&v->rows[i]));
	for (size_t i = 0; i < v->n_differs; i++)
		json_array_append_new(differs, json_text(v->differs[i]));
	if (stamp_format(time_s, when))
		when[0] = '\0';
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:f, s:{s:I, s:I, s:I, s:I}, s:o, s:o}",
		"schema", "gputune.compare-recordings/1", "tool_version", GPUTUNE_VERSION, "time",
		when, "exit_code", exit_code, "a", contrast_page_side_json(&v->a), "b",
		contrast_page_side_json(&v->b), "level", v->level, "threshold", CONTRAST_THRESHOLD,
		"summary", "higher", (json_int_t)v->count[CONTRAST_HIGHER], "lower",
		(json_int_t)v->count[CONTRAST_LOWER], "no_difference",
		(json_int_t)v->count[CONTRAST_SAME], "not_comparable",
		(json_int_t)v->count[CONTRAST_CANNOT], "differs", differs, "rows", rows);
}
