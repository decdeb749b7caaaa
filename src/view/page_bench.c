/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, for people. */
#include "view/page_bench.h"

#include <math.h>
#include <string.h>

#include "view/figure.h"

const char *bench_number(struct arena *a, double v)
{
	double m = fabs(v);
	int digits = m >= 1000 ? 0 : m >= 100 ? 1 : m >= 10 ? 2 : 3;

	return arena_printf(a, "%.*f", digits, v);
}

static struct cell interval_cell(struct doc *d, const struct record_series *s)
{
	if (!s->has_summary || !s->s.has_interval)
		return cell_as(STYLE_MUTED, "too few samples");
	return cell_printf(d, STYLE_PLAIN, "%s to %s", bench_number(d->arena, s->s.interval.low),
			   bench_number(d->arena, s->s.interval.high));
}

static struct cell state_cell(const struct record_case *c, const struct record_series *s)
{
	if (c->error)
		return cell_as(STYLE_BAD, c->error);
	if (!c->n)
		return cell_as(STYLE_UNKNOWN, "nothing measured");
	if (!c->verified)
		return cell_as(STYLE_BAD, "not verified");
	if (s->s.modes.found)
		return cell_as(STYLE_WARN, s->s.modes.step ? "level changed" : "two states");
	if (!c->steady)
		return cell_as(STYLE_WARN, "never steady");
	if (s->s.drift.found)
		return cell_as(STYLE_WARN, "drifts");
	return cell_as(STYLE_GOOD, "verified");
}

static void figure_row(struct doc *d, struct node *t, const struct record_case *c, size_t k)
{
	const struct record_series *s = &c->series[k];
	struct cell *row = node_row(d, t);

	row[0] = cell(c->name);
	row[1] = cell(c->n_series > 1 ? s->key : "");
	if (s->has_summary)
		row[2] = cell_printf(d, STYLE_STRONG, "%s %s", bench_number(d->arena, s->s.median),
				     s->unit_text);
	row[3] = interval_cell(d, s);
	row[4] = cell_printf(d, STYLE_PLAIN, "%zu", c->n);
	if (c->has_limit && k == 0 && s->has_summary)
		row[5] =
			cell_printf(d, STYLE_PLAIN, "%.0f%% of %s %s", 100 * s->s.median / c->limit,
				    bench_number(d->arena, c->limit), s->unit_text);
	else if (k == 0)
		row[5] = (struct cell){ .text = "unknown", .style = STYLE_MUTED, .nothing = true };
	row[6] = cell(c->variant);
	row[7] = state_cell(c, s);
}

static void figures_of(struct doc *d, const struct record *r, const char *bench)
{
	static const struct column columns[] = {
		{ .title = "Case" },
		{ .title = "Figure" },
		{ .title = "Median", .right = true },
		{ .title = "95 % interval", .right = true },
		{ .title = "Samples", .right = true },
		{ .title = "Limit" },
		{ .title = "Variant", .wrap = true },
		{ .title = "State", .wrap = true },
	};
	struct node *t = doc_table(d, bench, columns, 8);

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (strcmp(c->bench, bench) != 0)
			continue;
		for (size_t k = 0; k < c->n_series; k++)
			figure_row(d, t, c, k);
	}
	node_drop_empty(t);
}

/* A bar a case, for walks over sizes: where the caches end. */
static void latency_plot(struct doc *d, const struct record *r)
{
	static const struct column columns[] = { { .title = "Region" },
						 { .title = "ns a load", .right = true },
						 { .title = "" } };
	enum { WIDTH = 48 };
	struct node *t = NULL;
	double most = 0;

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->cases[i].bench, "memory-latency") == 0 && r->cases[i].n_series &&
		    r->cases[i].series[0].has_summary)
			most = fmax(most, r->cases[i].series[0].s.median);
	if (!(most > 0))
		return;
	t = doc_table(d, "Latency by size of the region", columns, 3);
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		struct cell *row;
		char *bar;
		size_t n;

		if (strcmp(c->bench, "memory-latency") != 0 || !c->n_series ||
		    !c->series[0].has_summary)
			continue;
		/* Logarithmic: a cache and memory are a hundred times apart. */
		n = (size_t)(WIDTH * log1p(fmax(c->series[0].s.median, 0)) / log1p(most));
		bar = arena_alloc(d->arena, WIDTH + 1);
		memset(bar, '#', n < WIDTH ? n : WIDTH);
		row = node_row(d, t);
		row[0] = cell(c->name);
		row[1] = cell(bench_number(d->arena, c->series[0].s.median));
		row[2] = cell(bar);
	}
}

static void percentiles(struct doc *d, const struct record *r)
{
	static const struct column columns[] = {
		{ .title = "Case" },
		{ .title = "Observations", .right = true },
		{ .title = "p50", .right = true },
		{ .title = "p90", .right = true },
		{ .title = "p99", .right = true },
		{ .title = "p99.9", .right = true },
		{ .title = "max", .right = true },
	};
	struct node *t = doc_table(d, "Single observations", columns, 7);

	for (size_t i = 0; i < r->n; i++) {
		const struct record_observed *o = &r->cases[i].observed;
		const char *unit = r->cases[i].n_series ? r->cases[i].series[0].unit_text : "";
		const double v[] = { o->p50, o->p90, o->p99, o->p999, o->max };
		struct cell *row;

		if (!o->n)
			continue;
		row = node_row(d, t);
		row[0] = cell_printf(d, STYLE_PLAIN, "%s %s", r->cases[i].bench, r->cases[i].name);
		row[1] = cell_printf(d, STYLE_PLAIN, "%llu", o->n);
		for (size_t k = 0; k < 5; k++)
			row[2 + k] = cell_printf(d, STYLE_PLAIN, "%s %s",
						 bench_number(d->arena, v[k]), unit);
	}
}

static void details(struct doc *d, const struct record *r)
{
	struct node *p = doc_pairs(d, "Methods and placement");

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (i == 0 || strcmp(c->bench, r->cases[i - 1].bench) != 0)
			node_pair(d, p, c->bench, cell(c->method));
		node_pair(d, p, c->name,
			  cell_printf(d, STYLE_PLAIN, "%s; %s; limit: %s", c->setup, c->placement,
				      c->limit_source));
	}
	p = doc_pairs(d, "Machine");
	for (size_t i = 0; i < r->n_fingerprint; i++)
		node_pair(d, p, r->fingerprint[i].name, cell(r->fingerprint[i].value));
	if (r->settings_digest)
		node_pair(d, p, "settings", cell(r->settings_digest));
}

struct doc *page_bench(struct arena *a, const struct record *r, bool verbose)
{
	const struct record_conditions *c = &r->conditions;
	struct doc *d = doc_new(a);
	struct node *notes;

	for (size_t i = 0; i < r->n; i++)
		if (i == 0 || strcmp(r->cases[i].bench, r->cases[i - 1].bench) != 0)
			figures_of(d, r, r->cases[i].bench);
	latency_plot(d, r);
	percentiles(d, r);
	notes = doc_bullets(d);
	for (size_t i = 0; i < r->n_notes; i++)
		node_bullet(d, notes, cell_as(STYLE_WARN, r->notes[i]));
	if (verbose)
		details(d, r);
	doc_text(d, "%s: %s, while others used %.2f of %u CPUs. Result %s.",
		 figure_time(a, r->time_s), r->partial ? "interrupted" : "complete",
		 fmax(c->others, 0), c->cpus, r->id);
	return d;
}

struct doc *page_bench_list(struct arena *a, const struct record *items, size_t n)
{
	static const struct column columns[] = {
		{ .title = "Result" },
		{ .title = "Benches", .wrap = true },
		{ .title = "Cases", .right = true },
		{ .title = "Settings" },
		{ .title = "" },
	};
	struct doc *d = doc_new(a);
	struct node *t;

	if (!n) {
		doc_text(d, "No result is kept yet.");
		return d;
	}
	t = doc_table(d, "Kept results", columns, 5);
	for (size_t i = 0; i < n; i++) {
		const struct record *r = &items[i];
		struct cell *row = node_row(d, t);
		const char *names = "";

		for (size_t k = 0; k < r->n; k++)
			if (k == 0 || strcmp(r->cases[k].bench, r->cases[k - 1].bench) != 0)
				names = arena_printf(a, "%s%s%s", names, *names ? ", " : "",
						     r->cases[k].bench);
		row[0] = cell_as(STYLE_CODE, r->id);
		row[1] = cell(names);
		row[2] = cell_printf(d, STYLE_PLAIN, "%zu", r->n);
		row[3] = cell_as(STYLE_MUTED, r->settings_digest);
		row[4] = r->partial ? cell_as(STYLE_WARN, "interrupted") : cell(NULL);
	}
	node_drop_empty(t);
	return d;
}

void page_bench_names(struct doc *d, const struct record_pair *names, size_t n)
{
	struct node *p = doc_pairs(d, "What can be measured");

	for (size_t i = 0; i < n; i++)
		node_pair(d, p, names[i].name, cell(names[i].value));
}

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

/* "   |--o--|": where the interval lies, from -10 % to +10 %. */
static const char *strip(struct arena *a, const struct stat_ratio *q)
{
	enum { HALF = 10 };
	char *s = arena_alloc(a, 2 * HALF + 2);
	const double at[] = { q->interval.low, q->ratio, q->interval.high };
	int x[3];

	memset(s, ' ', 2 * HALF + 1);
	for (size_t i = 0; i < 3; i++)
		x[i] = HALF + (int)lround(fmin(fmax((at[i] - 1) * 100, -HALF), HALF));
	s[HALF] = '|';
	for (int i = x[0]; i <= x[2]; i++)
		s[i] = i == HALF ? '+' : '-';
	s[x[1]] = 'o';
	return s;
}

struct doc *page_compare(struct arena *a, const struct compare *c)
{
	static const struct column columns[] = {
		{ .title = "Case" },
		{ .title = "A", .right = true },
		{ .title = "B", .right = true },
		{ .title = "B/A", .right = true },
		{ .title = "99 % interval", .right = true },
		{ .title = "-10 %     same    +10 %" },
		{ .title = "Verdict" },
		{ .title = "Why", .wrap = true },
	};
	struct doc *d = doc_new(a);
	struct node *t = doc_table(d, NULL, columns, 8), *list;

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_row *r = &c->rows[i];
		struct cell *row = node_row(d, t);

		row[0] = cell_printf(d, STYLE_PLAIN, "%s %s %s", r->bench, r->name, r->figure);
		if (r->has_medians) {
			row[1] = cell_printf(d, STYLE_PLAIN, "%s %s", bench_number(a, r->a),
					     r->unit_text);
			row[2] = cell_printf(d, STYLE_PLAIN, "%s %s", bench_number(a, r->b),
					     r->unit_text);
		}
		if (r->verdict != COMPARE_CANNOT) {
			row[3] = cell_printf(d, STYLE_STRONG, "%.3f", r->ratio.ratio);
			row[4] = cell_printf(d, STYLE_PLAIN, "%.3f to %.3f", r->ratio.interval.low,
					     r->ratio.interval.high);
			row[5] = cell(strip(a, &r->ratio));
		}
		row[6] = verdict_cell(r);
		row[7] = cell(r->reason);
	}
	node_drop_empty(t);
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
