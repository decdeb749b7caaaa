/* SPDX-License-Identifier: Apache-2.0 */
/* Results of benches as charts: bars, percentiles, distributions. */
#include <math.h>
#include <string.h>

#include "measure/bench/page_bench.h"
#include "render/figure.h"
#include "render/svg_shape.h"

enum { UNITS = 8, SPREADS = 6, SPREAD_LEAST = 8, OBSERVED = 6, BARS_MOST = 48 };

/* Apart by more than this, bars would be invisible. */
static const double far_apart = 200;

/* Enough sizes of its kind for a line? */
static bool swept(struct arena *a, const struct record *r, const struct record_case *c)
{
	const char *kind, *other;
	double size, at;
	size_t n = 0;

	if (!figures_size(a, c->name, &size, &kind))
		return false;
	for (size_t i = 0; i < r->n; i++)
		n += strcmp(r->cases[i].bench, c->bench) == 0 &&
		     figures_size(a, r->cases[i].name, &at, &other) && strcmp(kind, other) == 0;
	return n >= 3;
}

static bool has_figure(const struct record_case *c)
{
	return c->n_series && c->series[0].has_summary && !c->error;
}

static struct chart_bar bar_of(struct arena *a, const struct record_case *c)
{
	const struct record_series *s = &c->series[0];
	struct chart_bar b = { .label = c->name,
			       .value = s->s.median,
			       .low = s->s.has_interval ? s->s.interval.low : NAN,
			       .high = s->s.has_interval ? s->s.interval.high : NAN,
			       .limit = { NAN, NAN, NULL },
			       .band = { NAN, NAN, NULL } };

	if (c->has_limit && c->limit > 0) {
		b.limit = (struct chart_mark){ c->limit, c->limit, c->limit_source };
		b.note = arena_printf(a, "%.0f %% of limit", 100 * s->s.median / c->limit);
	}
	if (s->band.known)
		b.band = (struct chart_mark){ s->band.low, s->band.high, s->band.source };
	if (record_worse(s))
		b.style = STYLE_BAD;
	else if (s->s.modes.found || !c->verified)
		b.style = STYLE_WARN;
	return b;
}

static void bars_add(struct doc *d, struct chart_bars *c, const struct chart_bar *rows)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < c->n; i++) {
		least = fmin(least, fabs(rows[i].value));
		most = fmax(most, fabs(rows[i].value));
	}
	c->interval = "95 % interval of the median";
	c->base = (struct chart_mark){ NAN, NAN, NULL };
	c->rows = rows;
	c->log = least > 0 && most > far_apart * least;
	chart_add_bars(d, c);
}

static void unit_add(const char *units[UNITS], size_t *n, const char *unit)
{
	size_t k = 0;

	while (k < *n && strcmp(units[k], unit) != 0)
		k++;
	if (k == *n && k < UNITS)
		units[(*n)++] = unit;
}

static void bars_of_unit(struct doc *d, const struct record *r, const char *bench, const char *unit,
			 const bool *take)
{
	struct chart_bar *rows = arena_array(d->arena, r->n, sizeof(*rows));
	struct chart_bars c = { .unit = unit };

	for (size_t i = 0; i < r->n && c.n < BARS_MOST; i++)
		if (take[i] && strcmp(r->cases[i].series[0].unit_text, unit) == 0)
			rows[c.n++] = bar_of(d->arena, &r->cases[i]);
	c.title = arena_printf(d->arena, "%s: %s, %s", bench,
			       c.n == 1 ? rows[0].label : "each case", unit);
	bars_add(d, &c, rows);
}

void figures_bars(struct doc *d, const struct record *r, const char *bench)
{
	bool *take = arena_array(d->arena, r->n, sizeof(*take));
	const char *units[UNITS];
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];

		if (strcmp(c->bench, bench) != 0 || !has_figure(c) || page_bench_is_pair(c) ||
		    swept(d->arena, r, c))
			continue;
		take[i] = true;
		unit_add(units, &n, c->series[0].unit_text);
	}
	for (size_t k = 0; k < n; k++)
		bars_of_unit(d, r, bench, units[k], take);
}

/* --- the same case in several results --------------------------------------------------------- */

static const struct record_case *same_case(const struct record *r, const struct record_case *c)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *x = &r->cases[i];

		if (has_figure(x) && strcmp(x->bench, c->bench) == 0 &&
		    strcmp(x->name, c->name) == 0 &&
		    strcmp(x->series[0].unit_text, c->series[0].unit_text) == 0)
			return x;
	}
	return NULL;
}

/* No later result has it, and an earlier one does. */
static bool last_of_several(const struct record *items, size_t n, size_t i,
			    const struct record_case *c)
{
	size_t earlier = 0;

	if (!has_figure(c))
		return false;
	for (size_t k = i + 1; k < n; k++)
		if (same_case(&items[k], c))
			return false;
	for (size_t k = 0; k < i; k++)
		earlier += same_case(&items[k], c) != NULL;
	return earlier > 0;
}

static void over_time_of_unit(struct doc *d, const struct record *items, size_t n, const char *unit)
{
	struct chart_bar *rows = arena_array(d->arena, BARS_MOST, sizeof(*rows));
	struct chart_bars c = { .unit = unit };

	for (size_t i = n; i-- > 0;)
		for (size_t j = 0; j < items[i].n; j++) {
			const struct record_case *last = &items[i].cases[j], *x;

			if (!last_of_several(items, n, i, last) ||
			    strcmp(last->series[0].unit_text, unit) != 0)
				continue;
			for (size_t k = 0; k <= i && c.n < BARS_MOST; k++) {
				x = same_case(&items[k], last);
				if (!x)
					continue;
				rows[c.n] = bar_of(d->arena, x);
				rows[c.n].label = figure_time(d->arena, items[k].time_s);
				rows[c.n++].group =
					arena_printf(d->arena, "%s %s", x->bench, x->name);
			}
		}
	c.title = arena_printf(d->arena, "Measured more than once, %s", unit);
	bars_add(d, &c, rows);
}

void figures_over_time(struct doc *d, const struct record *items, size_t n)
{
	const char *units[UNITS];
	size_t n_units = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < items[i].n; j++)
			if (last_of_several(items, n, i, &items[i].cases[j]))
				unit_add(units, &n_units, items[i].cases[j].series[0].unit_text);
	for (size_t k = 0; k < n_units; k++)
		over_time_of_unit(d, items, n, units[k]);
}

/* --- distributions ---------------------------------------------------------------------------- */

static struct chart_spread figures_bench_spread_of(struct arena *a, const struct record_case *c)
{
	const struct record_series *s = &c->series[0];

	return (struct chart_spread){
		.title = arena_printf(a, "%s %s: distribution of its samples", c->bench, c->name),
		.unit = s->unit_text,
		.what = "samples",
		.x = s->x,
		.n = c->n,
		.median = s->s.median,
		.low = s->s.has_interval ? s->s.interval.low : NAN,
		.high = s->s.has_interval ? s->s.interval.high : NAN,
		.split = s->s.modes.found ? s->s.modes.split : NAN,
		.limit = c->has_limit ? (struct chart_mark){ c->limit, c->limit, c->limit_source }
				      : (struct chart_mark){ NAN, NAN, NULL },
		.band = s->band.known
				? (struct chart_mark){ s->band.low, s->band.high, s->band.source }
				: (struct chart_mark){ NAN, NAN, NULL }
	};
}

void figures_spreads(struct doc *d, const struct record *r, bool all)
{
	size_t drawn = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		struct chart_spread s;

		if (!c->n_series || !c->series[0].has_summary || !c->series[0].x || c->error)
			continue;
		s = figures_bench_spread_of(d->arena, c);
		if (c->series[0].s.modes.found || all)
			chart_add_spread(d, &s);
		else if (r->n <= SPREADS && c->n >= SPREAD_LEAST && drawn++ < SPREADS)
			doc_figure(d, s.title, svg_spread(d->arena, &s), NULL);
	}
}

/* --- percentiles ------------------------------------------------------------------------------ */

void figures_percentiles(struct doc *d, const struct record *r)
{
	static const char *const names[] = { "p50", "p90", "p99", "p99.9", "max" };

	for (size_t i = 0, drawn = 0; i < r->n && drawn < OBSERVED; i++) {
		const struct record_case *c = &r->cases[i];
		const struct record_observed *o = &c->observed;
		const double v[] = { o->p50, o->p90, o->p99, o->p999, o->max };
		struct chart_bar *rows;

		if (!o->n || o->of >= c->n_series)
			continue;
		rows = arena_array(d->arena, 5, sizeof(*rows));
		for (size_t k = 0; k < 5; k++)
			rows[k] = (struct chart_bar){ .label = names[k],
						      .value = v[k],
						      .low = NAN,
						      .high = NAN,
						      .limit = { NAN, NAN, NULL },
						      .band = { NAN, NAN, NULL } };
		chart_add_bars(d, &(struct chart_bars){
					  .title = arena_printf(d->arena,
								"%s %s: %llu single observations",
								c->bench, c->name, o->n),
					  .unit = c->series[o->of].unit_text,
					  .base = { NAN, NAN, NULL },
					  .rows = rows,
					  .n = 5,
					  .log = v[4] > 20 * v[0] && v[0] > 0 });
		drawn++;
	}
}

/* Figures over sizes: which cases are of one kind, and the lines they make. */

enum { LINES = 8, SIZES_LEAST = 3 };

/* "64KiB" of len bytes; 0: it is no size. */
static double figures_bench_size_of(const char *s, size_t len)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = { { "B", 1 },
		      { "KiB", 0x1p10 },
		      { "MiB", 0x1p20 },
		      { "GiB", 0x1p30 },
		      { "TiB", 0x1p40 } };
	size_t digits = 0;
	double v = 0;

	for (; digits < len && s[digits] >= '0' && s[digits] <= '9' && digits < 15; digits++)
		v = v * 10 + (s[digits] - '0');
	for (size_t i = 0; digits && i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].suffix) == len - digits &&
		    memcmp(s + digits, units[i].suffix, len - digits) == 0)
			return v * units[i].factor;
	return 0;
}

bool figures_size(struct arena *a, const char *name, double *bytes, const char **kind)
{
	for (const char *p = name; *p;) {
		size_t n = strcspn(p, ":");
		double size = figures_bench_size_of(p, n);

		if (size > 0) {
			const char *rest = p + n + (p[n] == ':');
			size_t before = (size_t)(p - name);

			/* The colon before it goes with it where nothing follows. */
			if (before && !*rest)
				before--;
			*bytes = size;
			*kind = arena_printf(a, "%.*s%s", (int)before, name, rest);
			return true;
		}
		p += n + (p[n] == ':');
	}
	return false;
}

struct sweep_line {
	const char *kind;
	double *x, *y, *low, *high;
	size_t n;
};

static void line_point(struct sweep_line *l, double size, const struct record_series *s)
{
	size_t at = l->n++;

	for (; at && l->x[at - 1] > size; at--) {
		l->x[at] = l->x[at - 1];
		l->y[at] = l->y[at - 1];
		l->low[at] = l->low[at - 1];
		l->high[at] = l->high[at - 1];
	}
	l->x[at] = size;
	l->y[at] = s->s.median;
	l->low[at] = s->s.has_interval ? s->s.interval.low : NAN;
	l->high[at] = s->s.has_interval ? s->s.interval.high : NAN;
}

static struct sweep_line *figures_bench_line_of(struct arena *a, struct sweep_line *lines,
						size_t *n, const char *kind, size_t room)
{
	struct sweep_line *l = lines;

	for (; l < lines + *n; l++)
		if (strcmp(l->kind, kind) == 0)
			return l;
	if (*n == LINES)
		return NULL;
	(*n)++;
	*l = (struct sweep_line){ .kind = kind,
				  .x = arena_array(a, room, sizeof(double)),
				  .y = arena_array(a, room, sizeof(double)),
				  .low = arena_array(a, room, sizeof(double)),
				  .high = arena_array(a, room, sizeof(double)) };
	return l;
}

/* Cases of which the first figure has one unit; the first case's. */
static size_t figures_bench_gather(struct arena *a, const struct record *r, const char *bench,
				   struct sweep_line *lines, struct chart_mark *limit,
				   const char **unit)
{
	bool same = true;
	size_t n = 0;

	*unit = NULL;
	for (size_t i = 0; i < r->n; i++) {
		const struct record_case *c = &r->cases[i];
		struct sweep_line *l;
		const char *kind;
		double size;

		if (strcmp(c->bench, bench) != 0 || !c->n_series || !c->series[0].has_summary ||
		    c->error || !figures_size(a, c->name, &size, &kind))
			continue;
		if (*unit && strcmp(*unit, c->series[0].unit_text) != 0)
			continue;
		l = figures_bench_line_of(a, lines, &n, kind, r->n);
		if (!l)
			continue;
		line_point(l, size, &c->series[0]);
		same = same && (!*unit || (c->has_limit && c->limit == limit->low));
		*unit = c->series[0].unit_text;
		if (c->has_limit)
			*limit = (struct chart_mark){ c->limit, c->limit, c->limit_source };
	}
	if (!same || !limit->name)
		*limit = (struct chart_mark){ NAN, NAN, NULL };
	return n;
}

/* False: no kind has enough sizes. */
static bool sweep(struct arena *a, const struct record *r, const char *bench, struct chart *out)
{
	static const char marks[LINES + 1] = "ox+*#@%&";
	struct sweep_line lines[LINES];
	struct chart_series *s = arena_array(a, LINES, sizeof(*s));
	struct chart_mark *limit = arena_array(a, 1, sizeof(*limit));
	const char *unit;
	size_t n = figures_bench_gather(a, r, bench, lines, limit, &unit);

	*out = (struct chart){ .x_title = "size",
			       .log_x = true,
			       .log_y = true,
			       .bytes_x = true,
			       .series = s,
			       .limits = limit };
	for (size_t i = 0; i < n; i++)
		if (lines[i].n >= SIZES_LEAST)
			s[out->n++] = (struct chart_series){ .name = *lines[i].kind ? lines[i].kind
										    : bench,
							     .mark = marks[i],
							     .x = lines[i].x,
							     .y = lines[i].y,
							     .low = lines[i].low,
							     .high = lines[i].high,
							     .n = lines[i].n,
							     .line = true };
	out->y_title = unit;
	if (limit->name) {
		limit->name = arena_printf(a, "limit: %.4g %s, %s", limit->low, unit, limit->name);
		out->n_limits = 1;
	}
	return out->n > 0;
}

void figures_sweeps(struct doc *d, const struct record *r, const char *bench)
{
	struct chart c;

	if (sweep(d->arena, r, bench, &c))
		chart_add(d, arena_printf(d->arena, "%s over size, both logarithmic", bench), &c);
}

const char *figures_sweep_svg(struct arena *a, const struct record *r, const char *bench,
			      const char *title)
{
	struct chart c;

	return sweep(a, r, bench, &c) ? svg_chart(a, title, &c) : NULL;
}
