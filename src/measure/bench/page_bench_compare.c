/* SPDX-License-Identifier: Apache-2.0 */
/* Two measurements against each other: a table a bench, and all intervals in one plot. */
#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "render/chart.h"
#include "measure/bench/page_bench.h"

static struct cell verdict_cell(const struct compare_row *r)
{
	static const struct {
		const char *text;
		enum style style;
	} looks[] = { { "better", STYLE_GOOD },
		      { "worse", STYLE_BAD },
		      { "no difference", STYLE_PLAIN },
		      { "not comparable", STYLE_UNKNOWN } };

	return cell_as(looks[r->verdict].style, looks[r->verdict].text);
}

static const char *interval_text(struct arena *a, const struct stat_interval *i)
{
	return i->high < 10 ? arena_printf(a, "%.3f to %.3f", i->low, i->high)
			    : arena_printf(a, "%.3f to %.0f", i->low, i->high);
}

static void compare_row(struct doc *d, struct node *t, const struct compare_row *r, bool one_figure)
{
	struct cell *row = node_row(d, t);

	row[0] = cell(r->name);
	row[1] = cell(one_figure ? NULL : r->figure);
	if (r->has_medians) {
		row[2] = cell_printf(d, STYLE_PLAIN, "%s %s", figure_number(d->arena, r->a),
				     r->unit_text);
		row[3] = cell_printf(d, STYLE_PLAIN, "%s %s", figure_number(d->arena, r->b),
				     r->unit_text);
	}
	if (r->verdict != COMPARE_CANNOT) {
		row[4] = cell_printf(d, STYLE_STRONG, "%.3f", r->ratio.ratio);
		row[5] = cell(interval_text(d->arena, &r->ratio.interval));
	}
	row[6] = verdict_cell(r);
}

/* True when the rows of this bench, from at on, are all about one figure. */
static bool one_figure(const struct compare *c, size_t at)
{
	for (size_t i = at; i < c->n && strcmp(c->rows[i].bench, c->rows[at].bench) == 0; i++)
		if (strcmp(c->rows[i].figure, c->rows[at].figure) != 0)
			return false;
	return true;
}

/* The rows from *at on that are of one bench. */
static void table_of(struct doc *d, const struct compare *c, size_t *at)
{
	static const struct column columns[] = {
		{ .title = "Case" },
		{ .title = "Figure" },
		{ .title = "A", .right = true },
		{ .title = "B", .right = true },
		{ .title = "B/A", .right = true },
		{ .title = "99 % interval", .right = true },
		{ .title = "Verdict" },
	};
	const char *bench = c->rows[*at].bench;
	bool one = one_figure(c, *at);
	struct node *t = doc_table(d, bench, columns, 7), *why = doc_bullets(d);

	for (; *at < c->n && strcmp(c->rows[*at].bench, bench) == 0; (*at)++) {
		const struct compare_row *r = &c->rows[*at];

		compare_row(d, t, r, one);
		if (r->verdict == COMPARE_CANNOT && r->reason)
			node_bullet(d, why,
				    cell_printf(d, STYLE_UNKNOWN, "%s %s: %s", r->name, r->figure,
						r->reason));
	}
	node_drop_empty(t);
}

/* The verdict; where there is no difference, the least one that would have been seen. */
static const char *seen_text(struct arena *a, const struct compare_row *r)
{
	const struct stat_ratio *q = &r->ratio;
	double least = 100 * fmax(q->ratio - q->interval.low, q->interval.high - q->ratio);

	if (r->verdict != COMPARE_SAME)
		return compare_verdict_name(r->verdict);
	if (least > 100)
		return "sees little";
	return arena_printf(a, "sees %.1f %%", fmax(least, 100 * COMPARE_THRESHOLD));
}

/* All intervals below each other. */
static void plot(struct doc *d, const struct compare *c)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_BAD, STYLE_PLAIN, STYLE_UNKNOWN };
	struct chart_ratio *rows = arena_array(d->arena, c->n ? c->n : 1, sizeof(*rows));
	struct chart_ratios all = { .title = "B over A, with its interval",
				    .interval = "99 % interval",
				    .threshold = c->threshold > 0 ? c->threshold : NAN,
				    .rows = rows };

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_row *r = &c->rows[i];

		if (r->verdict == COMPARE_CANNOT)
			continue;
		rows[all.n++] = (struct chart_ratio){ .label = arena_printf(d->arena, "%s %s",
									    r->name, r->figure),
						      .ratio = r->ratio.ratio,
						      .low = r->ratio.interval.low,
						      .high = r->ratio.interval.high,
						      .verdict = seen_text(d->arena, r),
						      .style = styles[r->verdict] };
	}
	chart_add_ratios(d, &all);
}

/* How many figures of two measurements of the same thing are called another, on average at most. */
static double by_chance(const struct compare *c)
{
	return (1 - COMPARE_LEVEL) * (double)(c->n - c->count[COMPARE_CANNOT]);
}

struct doc *page_compare(struct arena *a, const struct compare *c)
{
	struct doc *d = doc_new(a);
	struct node *list;

	for (size_t at = 0; at < c->n;)
		table_of(d, c, &at);
	plot(d, c);
	if (c->count[COMPARE_SAME])
		doc_text(d,
			 "Where there is no difference: the least one that would have been seen.");
	if (by_chance(c) >= 1)
		doc_text(d,
			 "So many figures, each with an interval that is wrong once in 100: about "
			 "%.0f of %zu would be called better or worse by chance alone.",
			 ceil(by_chance(c)), c->n - c->count[COMPARE_CANNOT]);
	if (c->n_differs)
		doc_heading(d, 2, "What else is not the same");
	list = doc_bullets(d);
	for (size_t i = 0; i < c->n_differs; i++)
		node_bullet(d, list, cell(c->differs[i]));
	doc_text(d,
		 "A: %s. B: %s. %zu better, %zu worse, %zu without a difference, %zu not "
		 "comparable.",
		 c->a->id, c->b->id, c->count[COMPARE_BETTER], c->count[COMPARE_WORSE],
		 c->count[COMPARE_SAME], c->count[COMPARE_CANNOT]);
	return d;
}
