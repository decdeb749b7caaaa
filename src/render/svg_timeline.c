/* SPDX-License-Identifier: Apache-2.0 */
/* What happened when, as SVG: a lane a quantity, one clock for all, throttled spans through all. */
#include <math.h>

#include "render/figure.h"
#include "render/svg_shape.h"

enum {
	LEFT = 58,
	LANE_BROAD = 84,
	LANE_TALL = 70,
	LANE_GAP = 36,
	LANES_MAX = 32,
	SPANS = 400,
	TOLD = 12
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
		return arena_printf(a, "%s: not told.", l->name);
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
	for (size_t i = 0; i < c->n_spans && i < TOLD; i++)
		text_printf(&t, " %s from %s to %s s.", c->spans[i].name,
			    figure_number(a, c->spans[i].from), figure_number(a, c->spans[i].to));
	if (c->n_spans > TOLD)
		text_printf(&t, " And %zu more spans.", c->n_spans - TOLD);
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
		    arena_printf(v->a, "throttled: %zu times, %s s together; %s", c->n_spans,
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
