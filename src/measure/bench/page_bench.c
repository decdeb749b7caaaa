/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, for people. */
#include <math.h>
#include <string.h>

#include "measure/bench/page_bench.h"
#include "render/figure.h"
#include "render/chart.h"
#include "base/text.h"

/* The walk through memory over sizes, drawn: where the bar grows, a cache ended. */

enum {
	WIDTH = 42,
	LEAST = 3,
	FIGURES = 26, /* columns before the bar */
	STEP = 7,     /* behind it: "  x10.5" */
	SIZES_MAX = 64,
};

/* From here on a size is called a step up. */
static const double step_least = 1.3;

struct walk {
	const char *name; /* "256KiB" */
	double small, huge;
	bool has_small, has_huge;
};

static struct walk *walk_of(struct walk *walks, size_t *n, const char *name, size_t len,
			    struct arena *a)
{
	for (size_t i = 0; i < *n; i++)
		if (strlen(walks[i].name) == len && strncmp(walks[i].name, name, len) == 0)
			return &walks[i];
	if (*n == SIZES_MAX)
		return NULL;
	walks[*n] = (struct walk){ .name = arena_strndup(a, name, len) };
	return &walks[(*n)++];
}

static size_t bench_page_gather(struct arena *a, const struct record *r, struct walk *walks)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		const char *colon = strchr(c->name, ':');
		struct walk *w;

		if (strcmp(c->bench, "memory-latency") != 0 || !c->n_series ||
		    !c->series[0].has_summary)
			continue;
		w = walk_of(walks, &n, c->name, colon ? (size_t)(colon - c->name) : strlen(c->name),
			    a);
		if (!w)
			continue;
		*(colon ? &w->huge : &w->small) = c->series[0].s.median;
		*(colon ? &w->has_huge : &w->has_small) = true;
	}
	return n;
}

/* What is drawn. */
struct plot {
	const struct walk *walks;
	size_t n;
	double most;
};

/* Logarithmic: a cache and memory are a hundred times apart. */
static size_t length(double v, double most, size_t width)
{
	double n = (double)width * log1p(fmax(v, 0)) / log1p(most);

	return n < 0 ? 0 : n > (double)width ? width : (size_t)lround(n);
}

/* "#####o   x2.1": small pages, huge ones, and how much more than the size before. */
static const char *bench_page_bar(struct arena *a, const struct plot *p, size_t i, size_t width)
{
	const struct walk *w = &p->walks[i], *before = i ? w - 1 : NULL;
	char *s = arena_alloc(a, width + 2);
	size_t n = w->has_small ? length(w->small, p->most, width) : 0;
	size_t at = w->has_huge ? length(w->huge, p->most, width) : 0;

	memset(s, ' ', width + 1);
	memset(s, '#', n);
	if (at)
		s[at - 1] = 'o';
	for (n = width + 1; n && s[n - 1] == ' '; n--)
		s[n - 1] = '\0';
	if (!before || !before->has_small || !w->has_small ||
	    !(w->small >= step_least * before->small))
		return s;
	return arena_printf(a, "%s  x%.1f", s, w->small / before->small);
}

static const char *number(struct arena *a, bool there, double v)
{
	return there ? figure_number(a, v) : "";
}

static const char *bench_page_letters(struct arena *a, const void *what,
				      const struct term_style *how)
{
	const char *signs = "# small pages, o huge pages", *step = "x: a level change";
	const struct plot *p = what;
	TEXT_AUTO t = { 0 };
	bool room = !how || how->width >= FIGURES + WIDTH;
	size_t width = room				     ? WIDTH
		       : how->width < FIGURES + LEAST + STEP ? LEAST
							     : (size_t)how->width - FIGURES - STEP;

	if (!room)
		text_printf(&t, "%s\n%s\n", signs, step);
	text_printf(&t, "%8s %7s %7s", "region", "ns", "huge ns");
	if (room)
		text_printf(&t, "  %s, %s", signs, step);
	text_add(&t, "\n");
	for (size_t i = 0; i < p->n; i++)
		text_printf(&t, "%8.8s %7s %7s  %s\n", p->walks[i].name,
			    number(a, p->walks[i].has_small, p->walks[i].small),
			    number(a, p->walks[i].has_huge, p->walks[i].huge),
			    bench_page_bar(a, p, i, width));
	return arena_strdup(a, t.s);
}

/* Memory latency over the sizes of the region, where it was measured: the steps of the caches. */
static void page_bench_latency(struct doc *d, const struct record *r)
{
	struct walk *walks = arena_array(d->arena, SIZES_MAX, sizeof(*walks));
	struct plot *p = ARENA_NEW(d->arena, struct plot);
	struct node *n;

	*p = (struct plot){ .walks = walks, .n = bench_page_gather(d->arena, r, walks) };
	for (size_t i = 0; i < p->n; i++)
		p->most = fmax(p->most, fmax(walks[i].small, walks[i].huge));
	/* One size is no plot. */
	if (p->n < 2 || !(p->most > 0))
		return;
	doc_heading(d, 2, "Latency by size of the region, logarithmic");
	n = doc_figure(d, NULL,
		       figures_sweep_svg(d->arena, r, "memory-latency",
					 "Latency by size of the region, logarithmic"),
		       bench_page_letters(d->arena, p, NULL));
	n->letters = bench_page_letters;
	n->what = p;
}

static struct cell interval_cell(struct doc *d, const struct record_case *c,
				 const struct record_series *s)
{
	if (record_wrong(c))
		return cell_as(STYLE_MUTED, "void");
	if (!s->has_summary || !s->s.has_interval)
		return cell_as(STYLE_MUTED, "too few samples");
	return cellf(d, "%s to %s", figure_number(d->arena, s->s.interval.low),
		     figure_number(d->arena, s->s.interval.high));
}

static struct cell state_cell(const struct record_case *c, const struct record_series *s)
{
	if (c->error)
		return cell_as(STYLE_BAD, c->error);
	if (!c->n)
		return cell_as(STYLE_UNKNOWN, "nothing measured");
	if (!c->verified)
		return cell_as(STYLE_BAD, "result not checked");
	if (s->s.modes.found)
		return cell_as(STYLE_WARN, s->s.modes.step ? "level changed" : "two states");
	if (!c->steady)
		return cell_as(STYLE_WARN, "not steady");
	if (s->s.drift.found)
		return cell_as(STYLE_WARN, "drifts");
	return cell_as(STYLE_GOOD, c->stop == STOP_INTERRUPTED ? "interrupted" : "result correct");
}

static struct cell limit_cell(struct doc *d, const struct record_case *c,
			      const struct record_series *s)
{
	if (!c->has_limit || s != &c->series[0] || !s->has_summary)
		return (struct cell){ .text = "unknown", .style = STYLE_MUTED, .nothing = true };
	return cellf(d, "%.0f %% of %s", 100 * s->s.median / c->limit,
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

static void bench_page_figure_row(struct doc *d, struct node *t, const struct record_case *c,
				  size_t k, bool verbose)
{
	const struct record_series *s = &c->series[k];
	struct cell *row =
		NODE_ROW(d, t, cell(k ? "" : c->name), cell(c->n_series > 1 ? s->key : ""));

	if (s->has_summary)
		row[2] = cell_printf(d, STYLE_STRONG, "%s %s", figure_number(d->arena, s->s.median),
				     s->unit_text);
	row[3] = interval_cell(d, c, s);
	row[4] = limit_cell(d, c, s);
	row[5] = band_cell(d, s);
	row[6] = k ? cell("") : state_cell(c, s);
	if (verbose) {
		row[7] = cellf(d, "%zu", c->n);
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
static void bench_page_sources(struct doc *d, const struct record *r, const char *bench)
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
	node_bullet(d, list,
		    cell_printf(d, STYLE_MUTED,
				str_starts(limits, "unknown") ? "limit %s" : "limit: %s", limits));
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

static void bench_page_figures_of(struct doc *d, const struct record *r, const char *bench,
				  bool verbose)
{
	struct node *t =
		DOC_TABLE(d, bench, "!Case", "!Figure", ">Median", ">95 % interval", "Limit",
			  "Usual band", "~State", verbose ? ">Samples" : NULL, "~Variant");
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
			bench_page_figure_row(d, t, c, k, verbose);
	}
	node_drop_empty(t);
	if (apart)
		doc_text(d,
			 "%zu more pairs (GPU and GPU, or GPU and NUMA node) have no remark: only "
			 "the matrices below show them%s. --verbose lists all.",
			 apart,
			 missed ? arena_printf(d->arena, "; %zu pairs were not measured", missed)
				: "");
	figures_bars(d, r, bench);
	/* Of memory there is a drawing of its own, with the steps of the caches. */
	if (strcmp(bench, "memory-latency") != 0)
		figures_sweeps(d, r, bench);
	bench_page_sources(d, r, bench);
}

static void percentiles(struct doc *d, const struct record *r)
{
	struct node *t = DOC_TABLE(d, "Single observations", "Case", ">Observations", ">p50",
				   ">p90", ">p99", ">p99.9", ">max");

	for (size_t i = 0; i < r->n; i++) {
		const struct record_observed *o = &r->cases[i].observed;
		const char *unit =
			o->of < r->cases[i].n_series ? r->cases[i].series[o->of].unit_text : "";
		const double v[] = { o->p50, o->p90, o->p99, o->p999, o->max };
		struct cell *row;

		if (!o->n)
			continue;
		row = NODE_ROW(d, t, cellf(d, "%s %s", r->cases[i].bench, r->cases[i].name),
			       cellf(d, "%llu", o->n));
		for (size_t k = 0; k < 5; k++)
			row[2 + k] = cellf(d, "%s %s", figure_number(d->arena, v[k]), unit);
	}
}

static void bench_page_details(struct doc *d, const struct record *r)
{
	struct node *p = doc_pairs(d, "Methods and placement");

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (i == 0 || strcmp(c->bench, r->cases[i - 1].bench) != 0)
			node_pair(d, p, c->bench, cell(c->method));
		node_pairf(d, p, c->name, "%s; %s; limit: %s", c->setup, c->placement,
			   c->limit_source);
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
	struct node *p = doc_pairs(d, "Skipped");

	for (size_t i = 0; i < r->n_skipped; i++)
		node_pair(d, p, r->skipped[i].bench, cell(r->skipped[i].reason));
}

/* As far as it was seen: a result that was read back has no looks before and after. */
static void bench_page_conditions(struct doc *d, const struct record_conditions *c)
{
	struct node *p = doc_pairs(d, "Conditions");

	node_pair(d, p, "CPUs used by other programs",
		  cell_printf(d, record_busy(c) ? STYLE_WARN : STYLE_PLAIN,
			      "%.2f before, %.2f of %u while measuring", fmax(c->idle_others, 0),
			      fmax(c->others, 0), c->cpus));
	if (c->steal_percent >= 0)
		node_pairf(d, p, "CPU time taken by the hypervisor", "%.1f %% of CPU time",
			   c->steal_percent);
	if (c->before.mhz_max > 0)
		node_pairf(d, p, "frequency reported by the kernel",
			   "%lld to %lld MHz before, %lld to %lld after", c->before.mhz_min,
			   c->before.mhz_max, c->after.mhz_min, c->after.mhz_max);
	if (c->before.at_s > 0 && isfinite(c->before.temp_c) && isfinite(c->after.temp_c))
		node_pairf(d, p, "hottest zone", "%.0f C before, %.0f C after", c->before.temp_c,
			   c->after.temp_c);
	if (c->sampler_percent >= 0)
		node_pairf(d, p, "overhead of reading these conditions", "%.3f %% of one CPU",
			   c->sampler_percent);
}

static void few_samples(struct doc *d, const struct record *r)
{
	size_t i = 0;

	while (i < r->n && (!r->cases[i].n || r->cases[i].n >= STAT_INTERVAL_N))
		i++;
	if (i < r->n)
		doc_text(d, "Too few samples for compare, which needs %d per case: --runs %d.",
			 STAT_INTERVAL_N, STAT_INTERVAL_N);
}

struct doc *page_bench(struct arena *a, const struct record *r, bool verbose)
{
	struct doc *d = doc_new(a);
	struct node *notes;

	for (size_t i = 0; i < r->n; i++)
		if (i == 0 || strcmp(r->cases[i].bench, r->cases[i - 1].bench) != 0)
			bench_page_figures_of(d, r, r->cases[i].bench, verbose);
	page_bench_latency(d, r);
	page_bench_matrix(d, r);
	if (verbose)
		percentiles(d, r);
	figures_percentiles(d, r);
	figures_spreads(d, r, verbose);
	no_band(d, r);
	skipped(d, r);
	bench_page_conditions(d, &r->conditions);
	few_samples(d, r);
	notes = doc_bullets(d);
	for (size_t i = 0; i < r->n_notes; i++)
		node_bullet(d, notes, cell_as(STYLE_WARN, r->notes[i]));
	if (verbose)
		bench_page_details(d, r);
	doc_text(d, "%s: %s. %s.", figure_time(a, r->time_s),
		 r->partial	   ? "interrupted"
		 : record_empty(r) ? "nothing was measured"
				   : "complete",
		 r->unkept
			 ? "Not saved"
			 : arena_printf(a,
					"Result %s. After a change, measure again, then \"gputune "
					"compare %s%s%s\"",
					r->id, r->id, r->state ? " --state " : "",
					r->state ? r->state : ""));
	return d;
}

struct doc *page_bench_list(struct arena *a, const struct record *items, size_t n)
{
	struct doc *d = doc_new(a);
	struct node *t;

	if (!n) {
		doc_text(d, items ? "No result is saved yet." : "Saved results cannot be read.");
		return d;
	}
	t = DOC_TABLE(d, "Saved results", "Result", "~Benches", ">Cases", "Owner", "");
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
		row[2] = cellf(d, "%zu", r->n);
		row[3] = cell(r->owner);
		row[4] = r->partial ? cell_as(STYLE_WARN, "interrupted") : cell(NULL);
	}
	node_drop_empty(t);
	return d;
}

void page_bench_names(struct doc *d, const struct record_pair *names, size_t n)
{
	struct node *p = doc_pairs(d, "Available benches");

	for (size_t i = 0; i < n; i++)
		node_pair(d, p, names[i].name, cell(names[i].value));
}

/* Two measurements against each other: a table a bench, and all intervals in one plot. */

static struct cell bench_page_verdict_cell(struct doc *d, const struct compare_row *r)
{
	static const struct {
		const char *text;
		enum style style;
	} looks[] = { { "better", STYLE_GOOD },
		      { "worse", STYLE_BAD },
		      { "no difference", STYLE_PLAIN },
		      { "not comparable", STYLE_UNKNOWN },
		      { "cannot tell", STYLE_UNKNOWN } };
	unsigned k = r->open ? COMPARE_CANNOT + 1 : r->verdict;

	return cell_printf(d, looks[k].style, "%s%s", looks[k].text,
			   r->variant ? ", measured differently" : "");
}

static const char *interval_text(struct arena *a, const struct stat_interval *i)
{
	return i->high < 10 ? arena_printf(a, "%.3f to %.3f", i->low, i->high)
			    : arena_printf(a, "%.3f to %.0f", i->low, i->high);
}

static void compare_row(struct doc *d, struct node *t, const struct compare_row *r, bool one_figure)
{
	struct cell *row = NODE_ROW(d, t, cell(r->name), cell(one_figure ? NULL : r->figure));

	if (r->has_medians) {
		row[2] = cellf(d, "%s %s", figure_number(d->arena, r->a), r->unit_text);
		row[3] = cellf(d, "%s %s", figure_number(d->arena, r->b), r->unit_text);
	}
	if (!isnan(r->ratio.ratio)) {
		row[4] = cell_printf(d, STYLE_STRONG, "%.3f", r->ratio.ratio);
		row[5] = cell(interval_text(d->arena, &r->ratio.interval));
	}
	row[6] = bench_page_verdict_cell(d, r);
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
static void bench_page_table_of(struct doc *d, const struct compare *c, size_t *at)
{
	const char *bench = c->rows[*at].bench;
	bool one = one_figure(c, *at);
	struct node *t = DOC_TABLE(d, bench, "!Case", "!Figure", ">A", ">B", ">B/A",
				   ">99 % interval", "~Verdict"),
		    *why = doc_bullets(d);

	for (; *at < c->n && strcmp(c->rows[*at].bench, bench) == 0; (*at)++) {
		const struct compare_row *r = &c->rows[*at];

		compare_row(d, t, r, one);
		if (r->verdict == COMPARE_CANNOT && r->reason && r->reason != c->busy)
			node_bullet(d, why,
				    cell_printf(d, STYLE_UNKNOWN, "%s %s: %s", r->name, r->figure,
						r->reason));
	}
	node_drop_empty(t);
}

/* The verdict; with no difference, the least one that would have been seen. */
static const char *seen_text(struct arena *a, const struct compare_row *r)
{
	if (r->verdict != COMPARE_SAME)
		return compare_verdict_name(r->verdict);
	return r->open ? "cannot tell" : arena_printf(a, "detects %.1f %%", 100 * compare_least(r));
}

/* All intervals below each other. */
static void bench_page_plot(struct doc *d, const struct compare *c)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_BAD, STYLE_PLAIN, STYLE_UNKNOWN };
	struct chart_ratio *rows = arena_array(d->arena, c->n ? c->n : 1, sizeof(*rows));
	struct chart_ratios all = { .title = "B relative to A, with its interval",
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
	if (all.n && all.n < c->n)
		all.title = arena_printf(d->arena, "%s, of the %zu of %zu figures with a verdict",
					 all.title, all.n, c->n);
	chart_add_ratios(d, &all);
}

/* How many figures of two measurements of the same thing are called another, on average at most. */
static double by_chance(const struct compare *c)
{
	return (1 - COMPARE_LEVEL) * (double)(c->n - c->count[COMPARE_CANNOT]);
}

static bool has_common_case(const struct compare *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->rows[i].has_medians)
			return true;
	return false;
}

/* The rows that leave better and worse open, with this verdict: the first few by name. */
static const char *open_rows(struct arena *a, const struct compare *c, enum compare_verdict which)
{
	size_t shown = 0, left = c->open[which];
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < c->n && shown < 4; i++)
		if (c->rows[i].open && c->rows[i].verdict == which)
			text_printf(&t, "%s%s %s", shown++ ? ", " : "", c->rows[i].name,
				    c->rows[i].figure);
	if (left > shown)
		text_printf(&t, ", %zu more", left - shown);
	return arena_strdup(a, t.s);
}

struct doc *page_compare(struct arena *a, const struct compare *c)
{
	struct doc *d = doc_new(a);
	struct node *list;
	size_t busy = c->open[COMPARE_CANNOT], wide = c->open[COMPARE_SAME];

	if (!has_common_case(c) && !c->cannot) {
		doc_text(d, "%s and %s have no case in common: nothing to compare.", c->a->id,
			 c->b->id);
		return d;
	}
	for (size_t at = 0; at < c->n;)
		bench_page_table_of(d, c, &at);
	bench_page_plot(d, c);
	if (wide)
		doc_text(d,
			 "Cannot tell (%s): samples scatter too much, or are too few, to see a "
			 "difference below 10 %%. %s: bench --for, --runs.",
			 open_rows(a, c, COMPARE_SAME),
			 c->busy ? arena_printf(a, "Also, %s. Repeat both with more samples",
						c->busy)
				 : "Repeat both with more samples");
	if (busy)
		doc_text(d,
			 "Cannot tell better from worse (%s): %s. Repeat both on an idle machine; "
			 "bench --require-idle refuses a busy one.",
			 open_rows(a, c, COMPARE_CANNOT), c->busy);
	if (c->count[COMPARE_SAME] > wide)
		doc_text(d, "No difference: none was found. \"detects\" is the smallest that would "
			    "have been.");
	if (by_chance(c) >= 1)
		doc_text(d,
			 "One interval in 100 is wrong: without any real difference, about %.0f of "
			 "%zu figures would be called better or worse.",
			 ceil(by_chance(c)), c->n - c->count[COMPARE_CANNOT]);
	if (c->n_differs)
		doc_heading(d, 2, "Other differences");
	list = doc_bullets(d);
	for (size_t i = 0; i < c->n_differs; i++)
		node_bullet(d, list, cell(c->differs[i]));
	doc_text(d,
		 "A: %s. B: %s. %zu better, %zu worse, %zu no difference, %zu cannot "
		 "tell, %zu not comparable. \"gputune bench show %s --verbose\" has samples and "
		 "conditions.",
		 c->a->id, c->b->id, c->count[COMPARE_BETTER], c->count[COMPARE_WORSE],
		 c->count[COMPARE_SAME] - wide, busy + wide, c->count[COMPARE_CANNOT] - busy,
		 c->b->id);
	return d;
}
