/* SPDX-License-Identifier: Apache-2.0 */
/* Bars and ratios as SVG. */
#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "render/svg_shape.h"

enum { ROW_BROAD = 26, ROW_TALL = 42, NAMES = 6, TOLD = 40, GROUP = 24, LABEL = 250 };

/* --- bars ------------------------------------------------------------------------------------- */

struct bars {
	const struct chart_bars *c;
	struct scale s;
	double x, w; /* of the bars */
};

static double across(const struct bars *b, double v)
{
	return b->x + fmin(fmax(scale_on(&b->s, v), 0), 1) * b->w;
}

static const char *class_of(enum style s)
{
	return s == STYLE_GOOD	  ? "good"
	       : s == STYLE_WARN  ? "warn"
	       : s == STYLE_BAD	  ? "bad"
	       : s == STYLE_MUTED ? "mute"
				  : "s1";
}

static const char *bar_sentence(struct arena *a, const struct chart_bars *c,
				const struct chart_bar *b)
{
	const char *s = arena_printf(a, "%s%s%s: %s", b->group ? b->group : "",
				     b->group ? ", " : "", b->label ? b->label : "",
				     chart_figure(a, b->value, b->low, b->high, c->unit));

	if (b->note && *b->note)
		s = arena_printf(a, "%s, %s", s, b->note);
	if (chart_has_line(&b->limit))
		s = arena_printf(a, "%s, limit %s", s, figure_number(a, b->limit.low));
	if (chart_has_band(&b->band))
		s = arena_printf(a, "%s, usual %s to %s", s, figure_number(a, b->band.low),
				 figure_number(a, b->band.high));
	return s;
}

static const char *bars_about(struct arena *a, const struct chart_bars *c)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	for (size_t i = 0; i < c->n && i < TOLD; i++)
		text_printf(&t, "%s%s.", i ? " " : "", bar_sentence(a, c, &c->rows[i]));
	if (c->n > TOLD)
		text_printf(&t, " And %zu more.", c->n - TOLD);
	return arena_strdup(a, t.s);
}

/* The band behind, the bar, its interval, the limit before it. */
static void svg_bars_bar(struct canvas *v, const struct bars *b, const struct chart_bar *r,
			 double y, double h)
{
	double at = across(b, r->value), zero = b->c->log ? at : across(b, 0);

	if (chart_has_band(&r->band))
		canvas_box(v, across(b, r->band.low), y - 2,
			   fmax(across(b, r->band.high) - across(b, r->band.low), 1), h + 4,
			   "band");
	if (b->c->log)
		canvas_mark(v, 0, at, y + h / 2, class_of(r->style));
	else
		canvas_box(v, fmin(zero, at), y, fmax(fabs(at - zero), 1), h, class_of(r->style));
	if (scale_takes(&b->s, r->low) && scale_takes(&b->s, r->high))
		canvas_whisker(v, across(b, r->low), across(b, r->high), y + h / 2, false);
	if (chart_has_line(&r->limit))
		canvas_line(v, across(b, r->limit.low), y - 4, across(b, r->limit.low), y + h + 4,
			    "limit");
}

static void svg_bars_bar_row(struct canvas *v, const struct bars *b, const struct chart_bar *r)
{
	double y = v->y, middle = y + ROW_BROAD / 2.0 + 4;
	const char *figure = chart_figure(v->a, r->value, NAN, NAN, b->c->unit);

	if (r->note && *r->note)
		figure = arena_printf(v->a, "%s, %s", figure, r->note);
	canvas_tip(v, bar_sentence(v->a, b->c, r));
	if (v->narrow) {
		double taken = 7 * (double)strlen(figure);

		canvas_text(v, 4, y + 14, "start", "", fmax(b->w - taken, 60), r->label);
		canvas_text(v, v->w - 4, y + 14, "end", "strong", v->w, figure);
		svg_bars_bar(v, b, r, y + 21, 12);
		v->y += ROW_TALL;
	} else {
		canvas_text(v, b->x - 8, middle, "end", "", b->x - 12, r->label);
		canvas_text(v, v->w - 4, middle, "end", "strong", v->w - b->x - b->w - 12, figure);
		svg_bars_bar(v, b, r, y + 6, ROW_BROAD - 12);
		v->y += ROW_BROAD;
	}
	canvas_end(v);
}

static void bar_notes(struct canvas *v, const struct chart_bars *c)
{
	const char *names[NAMES];
	bool whiskers = false;
	size_t n;

	for (size_t i = 0; i < c->n; i++)
		whiskers = whiskers || (isfinite(c->rows[i].low) && isfinite(c->rows[i].high));
	if (whiskers && c->interval)
		canvas_note(v, SIGN_CI, c->interval);
	if (chart_has_line(&c->base))
		canvas_note(v, SIGN_RULE, c->base.name);
	n = chart_bar_names(c, false, names, NAMES);
	for (size_t i = 0; i < n; i++)
		canvas_note(v, SIGN_LIMIT, arena_printf(v->a, "limit: %s", names[i]));
	n = chart_bar_names(c, true, names, NAMES);
	for (size_t i = 0; i < n; i++)
		canvas_note(v, SIGN_BAND, arena_printf(v->a, "usual: %s", names[i]));
}

static double svg_bars_longest(const struct canvas *v, const struct chart_bars *c, bool figure)
{
	size_t most = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct chart_bar *r = &c->rows[i];
		size_t n = figure ? strlen(chart_figure(v->a, r->value, NAN, NAN, c->unit)) +
					    (r->note && *r->note ? strlen(r->note) + 2 : 0)
				  : strlen(r->label ? r->label : "");

		most = n > most ? n : most;
	}
	return 7 * (double)most + 12;
}

static void group_title(struct canvas *v, const char *group)
{
	canvas_text(v, 4, v->y + GROUP - 8, "start", "strong", v->w, group);
	v->y += GROUP;
}

static void draw_bars(struct canvas *v, const void *what)
{
	const struct chart_bars *c = what;
	struct bars b = { .c = c, .x = 12, .w = v->w - 24 };
	size_t n = c->n < SVG_ROWS_MAX ? c->n : SVG_ROWS_MAX;
	const char *group = NULL;
	struct text rows;
	int top;

	if (!chart_bar_scale(c, v->narrow ? 4 : 6, &b.s))
		return;
	if (!v->narrow) {
		b.x = fmin(LABEL, svg_bars_longest(v, c, false));
		b.w = v->w - b.x - fmin(240, svg_bars_longest(v, c, true)) - 6;
	}
	v->y = top = 4;
	/* The grid stands behind the rows, whose height is known afterwards. */
	rows = v->body;
	v->body = (struct text){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (c->rows[i].group && (!group || strcmp(group, c->rows[i].group) != 0))
			group_title(v, c->rows[i].group);
		group = c->rows[i].group;
		if (isfinite(c->rows[i].value))
			svg_bars_bar_row(v, &b, &c->rows[i]);
	}
	if (chart_has_line(&c->base))
		canvas_line(v, across(&b, c->base.low), top, across(&b, c->base.low), v->y, "rule");
	{
		struct text drawn = v->body;

		v->body = rows;
		canvas_axis_x(v, &b.s, b.x, b.w, top, v->y + 2);
		text_add(&v->body, drawn.s);
		text_free(&drawn);
	}
	v->y += 24;
	canvas_note(v, SIGN_NONE,
		    arena_printf(v->a, "%s%s%s%s", c->unit ? c->unit : "",
				 c->log ? ", logarithmic" : "", n < c->n ? "; and more: " : "",
				 n < c->n ? arena_printf(v->a, "%zu", c->n - n) : ""));
	bar_notes(v, c);
	v->y += 6;
}

const char *svg_bars(struct arena *a, const struct chart_bars *c)
{
	return canvas_both(a, c->title, bars_about(a, c), draw_bars, c);
}

/* --- ratios ----------------------------------------------------------------------------------- */

struct ratios {
	const struct chart_ratios *c;
	struct chart_ratio_scale s;
	double x, w;
};

static const char *ratio_sentence(struct arena *a, const struct chart_ratio *r)
{
	const char *s = arena_printf(a, "%s: %.3f", r->label ? r->label : "", r->ratio);

	if (r->low > 0 && isfinite(r->high))
		s = arena_printf(a, "%s (%.3f to %.3f)", s, r->low, r->high);
	return r->verdict && *r->verdict ? arena_printf(a, "%s, %s", s, r->verdict) : s;
}

static const char *ratios_about(struct arena *a, const struct chart_ratios *c)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "1 means no difference.");
	for (size_t i = 0; i < c->n && i < TOLD; i++)
		if (isfinite(c->rows[i].ratio))
			text_printf(&t, " %s.", ratio_sentence(a, &c->rows[i]));
	if (c->n > TOLD)
		text_printf(&t, " And %zu more.", c->n - TOLD);
	return arena_strdup(a, t.s);
}

static void svg_bars_ratio_row(struct canvas *v, const struct ratios *q,
			       const struct chart_ratio *r)
{
	double h = v->narrow ? ROW_TALL : ROW_BROAD, y = v->y + (v->narrow ? 29 : 14);
	bool whole = !isnan(r->low) || !isnan(r->high);
	double low = q->x + chart_ratio_on(&q->s, r->low > 0 ? r->low : 0) * q->w,
	       high = q->x + chart_ratio_on(&q->s, isfinite(r->high) ? r->high : 1e9) * q->w;
	static const size_t shapes[STYLES] = {
		[STYLE_GOOD] = 2, [STYLE_BAD] = 1, [STYLE_UNKNOWN] = 3
	};
	const char *text = arena_printf(v->a, "%.3f%s%s", r->ratio, r->verdict ? "  " : "",
					r->verdict ? r->verdict : "");

	canvas_tip(v, ratio_sentence(v->a, r));
	if (v->narrow) {
		canvas_text(v, 4, v->y + 14, "start", "", v->w - 8 - 7 * (double)strlen(text),
			    r->label);
		canvas_text(v, v->w - 4, v->y + 14, "end", "strong", v->w, text);
	} else {
		canvas_text(v, q->x - 10, y + 4, "end", "", q->x - 14, r->label);
		canvas_text(v, q->x + q->w + 10, y + 4, "start", "strong", 200, text);
	}
	if (whole)
		canvas_whisker(v, low, high, y, false);
	canvas_mark(v, shapes[r->style], q->x + chart_ratio_on(&q->s, r->ratio) * q->w, y,
		    class_of(r->style));
	canvas_end(v);
	v->y += (int)h;
}

static void svg_bars_ratio_axis(struct canvas *v, const struct ratios *q, int top)
{
	for (int i = -2; i <= 2; i++) {
		double x = q->x + q->w * (0.5 + i / 4.0);
		const char *anchor = v->narrow && i == -2  ? "start"
				     : v->narrow && i == 2 ? "end"
							   : "middle";

		canvas_line(v, x, top, x, v->y, i ? "grid" : "rule");
		canvas_text(v, x, v->y + 15, anchor, "soft", 100,
			    chart_ratio_number(v->a, &q->s, i / 2.0));
	}
	canvas_line(v, q->x, v->y, q->x + q->w, v->y, "axis");
}

static void draw_ratios(struct canvas *v, const void *what)
{
	const struct chart_ratios *c = what;
	struct ratios q = { .c = c, .x = 8, .w = v->w - 16 };
	size_t n = c->n < SVG_ROWS_MAX ? c->n : SVG_ROWS_MAX;
	int top = 4, height = 0;

	if (!chart_ratio_scale(c, &q.s))
		return;
	if (!v->narrow) {
		q.x = LABEL;
		q.w = v->w - LABEL - 170;
	}
	for (size_t i = 0; i < n; i++)
		height += c->rows[i].ratio > 0 ? (v->narrow ? ROW_TALL : ROW_BROAD) : 0;
	if (c->threshold > 0)
		canvas_box(v, q.x + chart_ratio_on(&q.s, 1 - c->threshold) * q.w, top,
			   (chart_ratio_on(&q.s, 1 + c->threshold) -
			    chart_ratio_on(&q.s, 1 - c->threshold)) *
				   q.w,
			   height, "band");
	v->y = top + height;
	svg_bars_ratio_axis(v, &q, top);
	v->y = top;
	for (size_t i = 0; i < n; i++)
		if (c->rows[i].ratio > 0 && isfinite(c->rows[i].ratio))
			svg_bars_ratio_row(v, &q, &c->rows[i]);
	v->y += 22;
	if (c->left && c->right)
		canvas_note(v, SIGN_NONE,
			    arena_printf(v->a, "left of the line: %s; right of it: %s", c->left,
					 c->right));
	if (c->interval)
		canvas_note(v, SIGN_CI, c->interval);
	if (c->threshold > 0)
		canvas_note(v, SIGN_BAND,
			    arena_printf(v->a, "differences below %.3g %% do not count",
					 100 * c->threshold));
	if (n < c->n)
		canvas_note(v, SIGN_NONE, arena_printf(v->a, "and %zu more", c->n - n));
	v->y += 6;
}

const char *svg_ratios(struct arena *a, const struct chart_ratios *c)
{
	return canvas_both(a, c->title, ratios_about(a, c), draw_ratios, c);
}

/* What happened when, as SVG: a lane a quantity, one clock for all, throttled spans through all. */

enum {
	LEFT = 58,
	LANE_BROAD = 84,
	LANE_TALL = 70,
	LANE_GAP = 36,
	LANES_MAX = 32,
	SPANS = 400,
	SPANS_TOLD = 12
};

static const char *lane_sentence(struct arena *a, const struct chart_timeline *c,
				 const struct chart_lane *l)
{
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < c->n; i++)
		if (isfinite(l->y[i])) {
			least = fmin(least, l->y[i]);
			most = fmax(most, l->y[i]);
		}
	if (!(most >= least))
		return arena_printf(a, "%s: unknown.", l->name);
	return arena_printf(a, "%s: %s to %s %s.", l->name, figure_number(a, least),
			    figure_number(a, most), l->unit ? l->unit : "");
}

static const char *svg_timeline_about(struct arena *a, const struct chart_timeline *c)
{
	TEXT_AUTO t = { 0 };

	text_printf(&t, "From %s to %s seconds.", figure_number(a, c->n ? c->t[0] : 0),
		    figure_number(a, c->n ? c->t[c->n - 1] : 0));
	for (size_t i = 0; i < c->n_lanes && i < LANES_MAX; i++)
		text_printf(&t, " %s", lane_sentence(a, c, &c->lanes[i]));
	for (size_t i = 0; i < c->n_spans && i < SPANS_TOLD; i++)
		text_printf(&t, " %s from %s to %s s.", c->spans[i].name,
			    figure_number(a, c->spans[i].from), figure_number(a, c->spans[i].to));
	if (c->n_spans > SPANS_TOLD)
		text_printf(&t, " And %zu more time spans.", c->n_spans - SPANS_TOLD);
	return arena_strdup(a, t.s);
}

static bool lane_scale(const struct chart_timeline *c, const struct chart_lane *l, size_t ticks,
		       struct scale *out)
{
	*out = scale_of(SCALE_LINEAR);
	for (size_t i = 0; i < c->n; i++)
		scale_widen(out, l->y[i]);
	if (!(out->to >= out->from))
		return false;
	if (l->zero) {
		scale_widen(out, 0);
		if (out->to <= 0) /* all of it is zero: nothing lies below */
			scale_widen(out, 1);
	}
	if (chart_has_line(&l->limit))
		scale_widen(out, l->limit.low);
	return scale_settle(out, ticks, false);
}

static void lane(struct canvas *v, const struct chart_timeline *c, size_t i, const struct scale *x,
		 double w)
{
	const struct chart_lane *l = &c->lanes[i];
	double h = v->narrow ? LANE_TALL : LANE_BROAD, top = v->y + LANE_GAP;
	struct scale y;

	if (!lane_scale(c, l, 3, &y))
		return;
	canvas_text(v, 4, top - 12, "start", "strong", v->w,
		    arena_printf(v->a, "%s%s%s", l->name, l->unit && *l->unit ? ", " : "",
				 l->unit ? l->unit : ""));
	canvas_axis_y(v, &y, LEFT, w, top, h);
	canvas_line(v, LEFT, top + h, LEFT + w, top + h, "axis");
	if (chart_has_line(&l->limit)) {
		double at = top + h - scale_on(&y, l->limit.low) * h;

		canvas_line(v, LEFT, at, LEFT + w, at, "limit");
	}
	canvas_path(v, &(struct canvas_path){ c->t, l->y, c->n, x, &y, LEFT, top, w, h,
					      arena_printf(v->a, "l%zu d1", i % 8 + 1) });
	v->y += LANE_GAP + (int)h;
}

/* Behind the lanes, whose height is known afterwards. */
static void spans(struct canvas *v, const struct chart_timeline *c, const struct scale *x, double w,
		  double top, double bottom)
{
	for (size_t i = 0; i < c->n_spans && i < SPANS; i++) {
		double from = LEFT + fmin(fmax(scale_on(x, c->spans[i].from), 0), 1) * w,
		       to = LEFT + fmin(fmax(scale_on(x, c->spans[i].to), 0), 1) * w;

		canvas_tip(v, arena_printf(v->a, "%s, %s to %s s", c->spans[i].name,
					   figure_number(v->a, c->spans[i].from),
					   figure_number(v->a, c->spans[i].to)));
		canvas_box(v, from, top, fmax(to - from, 1), bottom - top, "span");
		canvas_end(v);
	}
}

static void svg_timeline_notes(struct canvas *v, const struct chart_timeline *c)
{
	double all = 0;

	for (size_t i = 0; i < c->n_lanes && i < LANES_MAX; i++)
		if (chart_has_line(&c->lanes[i].limit))
			canvas_note(v, SIGN_LIMIT,
				    arena_printf(v->a, "%s: %s %s, %s", c->lanes[i].name,
						 figure_number(v->a, c->lanes[i].limit.low),
						 c->lanes[i].unit ? c->lanes[i].unit : "",
						 c->lanes[i].limit.name));
	if (!c->n_spans)
		return;
	for (size_t i = 0; i < c->n_spans; i++)
		all += fmax(c->spans[i].to - c->spans[i].from, 0);
	canvas_note(v, SIGN_SPAN,
		    arena_printf(v->a, "throttled: %zu times, %s s in total; %s", c->n_spans,
				 figure_number(v->a, all), c->spans[0].name));
}

static void svg_timeline_draw(struct canvas *v, const void *what)
{
	const struct chart_timeline *c = what;
	struct scale x = scale_of(SCALE_LINEAR);
	double w = v->w - LEFT - 16;
	struct text lanes;
	int bottom;

	for (size_t i = 0; i < c->n; i++)
		scale_widen(&x, c->t[i]);
	if (!c->n || !scale_settle(&x, v->narrow ? 4 : 8, true))
		return;
	for (size_t i = 0; i < c->n_lanes && i < LANES_MAX; i++)
		lane(v, c, i, &x, w);
	if (!v->body.len)
		return;
	bottom = v->y;
	lanes = v->body;
	v->body = (struct text){ 0 };
	spans(v, c, &x, w, LANE_GAP, bottom);
	text_add(&v->body, lanes.s);
	text_free(&lanes);
	canvas_axis_x(v, &x, LEFT, w, bottom, bottom);
	v->y = bottom + 20;
	canvas_text(v, LEFT + w, v->y + 12, "end", "soft", 200, "seconds");
	v->y += 18;
	if (c->n_lanes > LANES_MAX)
		canvas_note(v, SIGN_NONE,
			    arena_printf(v->a, "and %zu more lanes", c->n_lanes - LANES_MAX));
	svg_timeline_notes(v, c);
	v->y += 6;
}

const char *svg_timeline(struct arena *a, const struct chart_timeline *c)
{
	return canvas_both(a, c->title, svg_timeline_about(a, c), svg_timeline_draw, c);
}
