/* SPDX-License-Identifier: Apache-2.0 */
/* A distribution as SVG: how many lie in each bin, and below it which part lies under a value. */
#include <math.h>

#include "render/figure.h"
#include "render/svg_shape.h"

enum { LEFT = 58, TOP = 26, UPPER_BROAD = 150, UPPER_TALL = 110, LOWER = 90, GAP = 40, NAMED = 8 };

struct spread {
	const struct chart_spread *c;
	struct scale x, n; /* values; numbers of them */
	size_t count[CHART_BINS], bins, total;
	double w, upper;
};

static double across(const struct spread *s, double v)
{
	return LEFT + fmin(fmax(scale_on(&s->x, v), 0), 1) * s->w;
}

static const char *svg_spread_about(struct arena *a, const struct chart_spread *c)
{
	double least = INFINITY, most = -INFINITY;
	const char *unit = c->unit ? c->unit : "";
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < c->n; i++)
		if (isfinite(c->x[i])) {
			least = fmin(least, c->x[i]);
			most = fmax(most, c->x[i]);
		}
	text_printf(&t, "%zu %s from %s to %s %s.", c->n, c->what ? c->what : "values",
		    figure_number(a, least), figure_number(a, most), unit);
	if (isfinite(c->median))
		text_printf(&t, " Median %s.", chart_figure(a, c->median, c->low, c->high, unit));
	if (isfinite(c->split))
		text_printf(&t, " Two states, below and above %s %s.", figure_number(a, c->split),
			    unit);
	if (chart_has_line(&c->limit))
		text_printf(&t, " Limit %s %s: %s.", figure_number(a, c->limit.low), unit,
			    c->limit.name);
	if (chart_has_band(&c->band))
		text_printf(&t, " Usual %s to %s %s: %s.", figure_number(a, c->band.low),
			    figure_number(a, c->band.high), unit, c->band.name);
	for (size_t i = 0; i < c->n_named && i < 40; i++)
		text_printf(&t, " %s: %s %s.", c->named[i].name,
			    figure_number(a, c->named[i].value), unit);
	return arena_strdup(a, t.s);
}

static void histogram(struct canvas *v, const struct spread *s)
{
	double step = s->w / (double)s->bins, floor_y = TOP + s->upper;

	for (size_t i = 0; i < s->bins; i++) {
		double h = scale_on(&s->n, (double)s->count[i]) * s->upper,
		       from = s->x.from + (s->x.to - s->x.from) * (double)i / (double)s->bins,
		       to = s->x.from + (s->x.to - s->x.from) * (double)(i + 1) / (double)s->bins;

		if (!s->count[i])
			continue;
		canvas_tip(v, arena_printf(v->a, "%zu of %zu from %s to %s %s", s->count[i],
					   s->total, figure_number(v->a, from),
					   figure_number(v->a, to), s->c->unit ? s->c->unit : ""));
		canvas_box(v, LEFT + step * (double)i + 0.5, floor_y - fmax(h, 1), step - 1,
			   fmax(h, 1), "s1");
		canvas_end(v);
	}
}

/* The part of all values that lies under each: a step a value. */
static void cumulative(struct canvas *v, const struct spread *s, double top)
{
	double *x = arena_array(v->a, 2 * s->c->n + 2, sizeof(*x)),
	       *y = arena_array(v->a, 2 * s->c->n + 2, sizeof(*y)), *sorted;
	struct scale part = scale_of(SCALE_LINEAR);
	size_t n = 0, k = 0;

	sorted = arena_array(v->a, s->c->n, sizeof(*sorted));
	for (size_t i = 0; i < s->c->n; i++)
		if (scale_takes(&s->x, s->c->x[i]))
			sorted[n++] = s->c->x[i];
	chart_sort(sorted, n);
	for (size_t i = 0; i < n; i++) {
		x[k] = sorted[i];
		y[k++] = 100.0 * (double)i / (double)n;
		x[k] = sorted[i];
		y[k++] = 100.0 * (double)(i + 1) / (double)n;
	}
	scale_widen(&part, 0);
	scale_widen(&part, 100);
	scale_settle(&part, 2, true);
	canvas_axis_y(v, &part, LEFT, s->w, top, LOWER);
	canvas_text(v, LEFT, top - 6, "start", "soft", v->w, "% of them are below");
	canvas_path(
		v, &(struct canvas_path){ x, y, k, &s->x, &part, LEFT, top, s->w, LOWER, "l1 d1" });
	canvas_line(v, LEFT, top + LOWER, LEFT + s->w, top + LOWER, "axis");
}

static void marks(struct canvas *v, const struct spread *s, double bottom)
{
	const struct chart_spread *c = s->c;

	if (chart_has_line(&c->limit) && scale_on(&s->x, c->limit.low) >= 0 &&
	    scale_on(&s->x, c->limit.low) <= 1)
		canvas_line(v, across(s, c->limit.low), TOP, across(s, c->limit.low), bottom,
			    "limit");
	if (scale_takes(&s->x, c->median)) {
		canvas_line(v, across(s, c->median), TOP, across(s, c->median), bottom, "rule");
		if (scale_takes(&s->x, c->low) && scale_takes(&s->x, c->high))
			canvas_whisker(v, across(s, c->low), across(s, c->high), TOP - 6, false);
	}
	if (scale_takes(&s->x, c->split))
		canvas_line(v, across(s, c->split), TOP, across(s, c->split), bottom,
			    "soft-line d3");
}

/* Named values stand on the line between both halves; names beside them where there is room. */
static void svg_spread_named(struct canvas *v, const struct spread *s, double y)
{
	static const size_t shapes[STYLES] = { [STYLE_BAD] = 3, [STYLE_WARN] = 2 };

	for (size_t i = 0; i < s->c->n_named; i++) {
		const struct chart_named *m = &s->c->named[i];

		if (!scale_takes(&s->x, m->value))
			continue;
		canvas_tip(v,
			   arena_printf(v->a, "%s: %s %s", m->name, figure_number(v->a, m->value),
					s->c->unit ? s->c->unit : ""));
		canvas_mark(v, shapes[m->style], across(s, m->value), y,
			    m->style == STYLE_BAD    ? "bad"
			    : m->style == STYLE_WARN ? "warn"
						     : "s2");
		canvas_end(v);
	}
}

static void svg_spread_notes(struct canvas *v, const struct spread *s)
{
	const struct chart_spread *c = s->c;
	const char *unit = c->unit ? c->unit : "";

	if (isfinite(c->median))
		canvas_note(v, SIGN_RULE,
			    arena_printf(v->a, "median %s",
					 chart_figure(v->a, c->median, c->low, c->high, unit)));
	if (isfinite(c->split))
		canvas_note(v, SIGN_NONE, chart_split_text(v->a, c));
	if (chart_has_line(&c->limit))
		canvas_note(v, SIGN_LIMIT, chart_limit_text(v->a, c));
	if (chart_has_band(&c->band))
		canvas_note(v, SIGN_BAND, chart_band_text(v->a, c));
	for (size_t i = 0; i < c->n_named && i < NAMED; i++) {
		canvas_mark(v, c->named[i].style == STYLE_BAD ? 3 : 2, 13, v->y + CANVAS_LINE - 8,
			    c->named[i].style == STYLE_BAD ? "bad" : "warn");
		canvas_note(v, SIGN_NONE,
			    arena_printf(v->a, "%s: %s %s", c->named[i].name,
					 figure_number(v->a, c->named[i].value), unit));
	}
	if (c->n_named > NAMED)
		canvas_note(v, SIGN_NONE, arena_printf(v->a, "and %zu more", c->n_named - NAMED));
}

static void svg_spread_draw(struct canvas *v, const void *what)
{
	struct spread s = { .c = what, .w = v->w - LEFT - 16 };
	size_t most = 1;
	double lower;

	if (!chart_spread_scale(s.c, v->narrow ? 4 : 8, &s.x))
		return;
	s.upper = v->narrow ? UPPER_TALL : UPPER_BROAD;
	s.bins = chart_bins(s.c, &s.x, v->narrow ? CHART_BINS / 2 : CHART_BINS, s.count);
	for (size_t i = 0; i < s.bins; i++) {
		most = s.count[i] > most ? s.count[i] : most;
		s.total += s.count[i];
	}
	s.n = scale_of(SCALE_LINEAR);
	scale_widen(&s.n, 0);
	scale_widen(&s.n, (double)most);
	scale_settle(&s.n, most < 4 ? most : 4, false);
	lower = TOP + s.upper + GAP;
	if (chart_has_band(&s.c->band))
		canvas_box(v, across(&s, s.c->band.low), TOP,
			   across(&s, s.c->band.high) - across(&s, s.c->band.low), s.upper, "band");
	canvas_text(v, 4, 13, "start", "soft", v->w, s.c->what ? s.c->what : "values");
	canvas_axis_y(v, &s.n, LEFT, s.w, TOP, s.upper);
	histogram(v, &s);
	canvas_line(v, LEFT, TOP + s.upper, LEFT + s.w, TOP + s.upper, "axis");
	canvas_axis_x(v, &s.x, LEFT, s.w, lower, lower + LOWER);
	cumulative(v, &s, lower);
	marks(v, &s, lower + LOWER);
	svg_spread_named(v, &s, TOP + s.upper + 8);
	v->y = (int)lower + LOWER + 20;
	canvas_text(v, LEFT + s.w, v->y + 12, "end", "soft", v->w, s.c->unit);
	v->y += 18;
	svg_spread_notes(v, &s);
	v->y += 6;
}

const char *svg_spread(struct arena *a, const struct chart_spread *c)
{
	return canvas_both(a, c->title, svg_spread_about(a, c), svg_spread_draw, c);
}
