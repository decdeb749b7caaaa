/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, for people. */
#include "measure/bench/page_bench.h"

#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "measure/bench/figures_bench.h"

static struct cell interval_cell(struct doc *d, const struct record_case *c,
				 const struct record_series *s)
{
	if (record_wrong(c))
		return cell_as(STYLE_MUTED, "void");
	if (!s->has_summary || !s->s.has_interval)
		return cell_as(STYLE_MUTED, "too few samples");
	return cell_printf(d, STYLE_PLAIN, "%s to %s", figure_number(d->arena, s->s.interval.low),
			   figure_number(d->arena, s->s.interval.high));
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
	return cell_as(STYLE_GOOD, c->stop == STOP_INTERRUPTED ? "interrupted" : "verified");
}

static struct cell limit_cell(struct doc *d, const struct record_case *c,
			      const struct record_series *s)
{
	if (!c->has_limit || s != &c->series[0] || !s->has_summary)
		return (struct cell){ .text = "unknown", .style = STYLE_MUTED, .nothing = true };
	return cell_printf(d, STYLE_PLAIN, "%.0f %% of %s", 100 * s->s.median / c->limit,
			   figure_number(d->arena, c->limit));
}

/* Better than the band is no fault. */
static struct cell band_cell(struct doc *d, const struct record_series *s)
{
	enum record_place p = record_place(s);

	if (p == PLACE_UNKNOWN)
		return (struct cell){ .text = "unknown", .style = STYLE_MUTED, .nothing = true };
	return cell_printf(d, record_worse(s) ? STYLE_BAD : STYLE_GOOD, "%s %s to %s",
			   record_place_name(p), figure_number(d->arena, s->band.low),
			   figure_number(d->arena, s->band.high));
}

static void figure_row(struct doc *d, struct node *t, const struct record_case *c, size_t k,
		       bool verbose)
{
	const struct record_series *s = &c->series[k];
	struct cell *row = node_row(d, t);

	row[0] = cell(k ? "" : c->name);
	row[1] = cell(c->n_series > 1 ? s->key : "");
	if (s->has_summary)
		row[2] = cell_printf(d, STYLE_STRONG, "%s %s", figure_number(d->arena, s->s.median),
				     s->unit_text);
	row[3] = interval_cell(d, c, s);
	row[4] = limit_cell(d, c, s);
	row[5] = band_cell(d, s);
	row[6] = k ? cell("") : state_cell(c, s);
	if (verbose) {
		row[7] = cell_printf(d, STYLE_PLAIN, "%zu", c->n);
		row[8] = cell(c->variant);
	}
}

/* Each text once, "; " between them. */
static const char *collect(struct arena *a, const char *list, const char *text)
{
	if (!text || strstr(list, text))
		return list;
	return arena_printf(a, "%s%s%s", list, *list ? "; " : "", text);
}

/* Below the table: what limits and bands rest on, or why there is none. */
static void sources(struct doc *d, const struct record *r, const char *bench)
{
	const char *limits = "", *bands = "";
	struct node *list = doc_bullets(d);

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (strcmp(c->bench, bench) != 0)
			continue;
		limits = collect(d->arena, limits, c->limit_source);
		for (size_t k = 0; k < c->n_series; k++)
			if (c->series[k].band.known)
				bands = collect(d->arena, bands, c->series[k].band.source);
	}
	node_bullet(d, list, cell_printf(d, STYLE_MUTED, "limit: %s", limits));
	if (*bands)
		node_bullet(d, list, cell_printf(d, STYLE_MUTED, "usual band: %s", bands));
}

/* So many pairs of GPUs that a matrix alone says it better than a row each. */
enum { PAIRS_MANY = 24 };

/* Nothing of it need be said beside its place in a matrix. */
static bool is_plain_pair(const struct record_case *c)
{
	return page_bench_is_pair(c) && state_cell(c, &c->series[0]).style == STYLE_GOOD &&
	       !record_worse(&c->series[0]);
}

/* How many rows are left to the matrices below. */
static size_t pairs_apart(const struct record *r, const char *bench)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += strcmp(r->cases[i].bench, bench) == 0 && is_plain_pair(&r->cases[i]);
	return n > PAIRS_MANY ? n : 0;
}

static void figures_of(struct doc *d, const struct record *r, const char *bench, bool verbose)
{
	static const struct column columns[] = {
		{ .title = "Case" },
		{ .title = "Figure" },
		{ .title = "Median", .right = true },
		{ .title = "95 % interval", .right = true },
		{ .title = "Limit" },
		{ .title = "Usual band" },
		{ .title = "State", .wrap = true },
		{ .title = "Samples", .right = true },
		{ .title = "Variant", .wrap = true },
	};
	struct node *t = doc_table(d, bench, columns, verbose ? 9 : 7);
	size_t apart = verbose ? 0 : pairs_apart(r, bench), missed = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (strcmp(c->bench, bench) != 0)
			continue;
		if (apart && is_plain_pair(c))
			continue;
		if (apart && r->partial && !c->n && !c->error) {
			missed++;
			continue;
		}
		for (size_t k = 0; k < c->n_series; k++)
			figure_row(d, t, c, k, verbose);
	}
	node_drop_empty(t);
	if (apart)
		doc_text(d,
			 "%zu more, of pairs of GPUs or of a GPU and a node with nothing unusual, "
			 "stand in the matrices below alone%s. --verbose lists all.",
			 apart,
			 missed ? arena_printf(d->arena, "; %zu were not reached", missed) : "");
	figures_bars(d, r, bench);
	/* Of memory there is a drawing of its own, with the steps of the caches. */
	if (strcmp(bench, "memory-latency") != 0)
		figures_sweeps(d, r, bench);
	sources(d, r, bench);
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
		const char *unit =
			o->of < r->cases[i].n_series ? r->cases[i].series[o->of].unit_text : "";
		const double v[] = { o->p50, o->p90, o->p99, o->p999, o->max };
		struct cell *row;

		if (!o->n)
			continue;
		row = node_row(d, t);
		row[0] = cell_printf(d, STYLE_PLAIN, "%s %s", r->cases[i].bench, r->cases[i].name);
		row[1] = cell_printf(d, STYLE_PLAIN, "%llu", o->n);
		for (size_t k = 0; k < 5; k++)
			row[2 + k] = cell_printf(d, STYLE_PLAIN, "%s %s",
						 figure_number(d->arena, v[k]), unit);
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

/* Said once, where no figure of the page has a band. */
static void no_band(struct doc *d, const struct record *r)
{
	const char *why = NULL;

	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->cases[i].n_series; k++) {
			if (r->cases[i].series[k].band.known)
				return;
			why = r->cases[i].series[k].band.source;
		}
	if (why)
		doc_text(d, "Usual band: %s.", why);
}

static void skipped(struct doc *d, const struct record *r)
{
	struct node *p = doc_pairs(d, "Did not run");

	for (size_t i = 0; i < r->n_skipped; i++)
		node_pair(d, p, r->skipped[i].bench, cell(r->skipped[i].reason));
}

/* As far as it was seen: a result that was read back has no looks before and after. */
static void conditions(struct doc *d, const struct record_conditions *c)
{
	struct node *p = doc_pairs(d, "Conditions");

	node_pair(d, p, "used by others",
		  cell_printf(d, record_busy(c) ? STYLE_WARN : STYLE_PLAIN,
			      "%.2f CPUs before, %.2f of %u while measuring",
			      fmax(c->idle_others, 0), fmax(c->others, 0), c->cpus));
	if (c->steal_percent >= 0)
		node_pair(d, p, "stolen by a hypervisor",
			  cell_printf(d, STYLE_PLAIN, "%.1f %% of CPU time", c->steal_percent));
	if (c->before.mhz_max > 0)
		node_pair(d, p, "frequency, as the kernel says",
			  cell_printf(d, STYLE_PLAIN, "%lld to %lld MHz before, %lld to %lld after",
				      c->before.mhz_min, c->before.mhz_max, c->after.mhz_min,
				      c->after.mhz_max));
	if (c->before.at_s > 0 && isfinite(c->before.temp_c) && isfinite(c->after.temp_c))
		node_pair(d, p, "hottest zone",
			  cell_printf(d, STYLE_PLAIN, "%.0f C before, %.0f C after",
				      c->before.temp_c, c->after.temp_c));
	if (c->sampler_percent >= 0)
		node_pair(d, p, "looking at all this",
			  cell_printf(d, STYLE_PLAIN, "%.3f %% of one CPU", c->sampler_percent));
}

struct doc *page_bench(struct arena *a, const struct record *r, bool verbose)
{
	struct doc *d = doc_new(a);
	struct node *notes;

	for (size_t i = 0; i < r->n; i++)
		if (i == 0 || strcmp(r->cases[i].bench, r->cases[i - 1].bench) != 0)
			figures_of(d, r, r->cases[i].bench, verbose);
	page_bench_latency(d, r);
	page_bench_matrix(d, r);
	if (verbose)
		percentiles(d, r);
	figures_percentiles(d, r);
	figures_spreads(d, r, verbose);
	no_band(d, r);
	skipped(d, r);
	conditions(d, &r->conditions);
	notes = doc_bullets(d);
	for (size_t i = 0; i < r->n_notes; i++)
		node_bullet(d, notes, cell_as(STYLE_WARN, r->notes[i]));
	if (verbose)
		details(d, r);
	doc_text(d, "%s: %s. %s%s.", figure_time(a, r->time_s),
		 r->partial	   ? "interrupted"
		 : record_empty(r) ? "nothing was measured"
				   : "complete",
		 r->unkept ? "Not kept" : "Result ", r->unkept ? "" : r->id);
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
