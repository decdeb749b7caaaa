/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, points and matrices as SVG. */
#include <math.h>
#include <string.h>

#include "render/figure.h"
#include "render/svg_shape.h"

enum { LEFT = 58, TOP = 26, TOLD = 8, CELL_MAX = 64, SIDE_MAX = 128, STEPS = 9 };

/* --- lines and points ------------------------------------------------------------------------- */

struct plot {
	struct chart_axes ax;
	double w, h;
};

static double px(const struct plot *p, double v)
{
	return LEFT + scale_on(&p->ax.x, v) * p->w;
}

static double py(const struct plot *p, double v)
{
	return TOP + p->h - scale_on(&p->ax.y, v) * p->h;
}

static const char *series_sentence(struct arena *a, const struct chart *c,
				   const struct chart_series *s)
{
	const char *name = s->name ? s->name : arena_printf(a, "%c", s->mark);
	size_t best = 0, n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (isfinite(s->y[i]) && isfinite(s->x[i])) {
			best = !n || s->y[i] > s->y[best] ? i : best;
			n++;
		}
	if (!n || s->soft)
		return arena_printf(a, "%s.", name);
	return arena_printf(
		a, "%s: %zu points, the highest %s at %s %s.", name, n,
		figure_number(a, s->y[best]),
		c->bytes_x ? scale_number(a, &(struct scale){ .kind = SCALE_BYTES }, s->x[best])
			   : figure_number(a, s->x[best]),
		c->bytes_x ? "" : c->x_title);
}

static const char *chart_about(struct arena *a, const struct chart *c)
{
	TEXT_AUTO t = { 0 };

	text_printf(&t, "%s over %s.", c->y_title, c->x_title);
	for (size_t i = 0; i < c->n && i < TOLD * 4; i++)
		text_printf(&t, " %s", series_sentence(a, c, &c->series[i]));
	for (size_t i = 0; i < c->n_limits; i++)
		if (c->limits[i].name)
			text_printf(&t, " %s: %s.", c->limits[i].name,
				    figure_number(a, c->limits[i].low));
	return arena_strdup(a, t.s);
}

static void one_point(struct canvas *v, const struct plot *p, const struct chart_series *s,
		      size_t color, size_t i)
{
	double x = px(p, s->x[i]), y = py(p, s->y[i]);
	const char letter[] = { s->mark, '\0' };
	const char *tip = s->tips && s->tips[i]
				  ? s->tips[i]
				  : arena_printf(v->a, "%s: %s, %s", s->name ? s->name : letter,
						 scale_number(v->a, &p->ax.x, s->x[i]),
						 figure_number(v->a, s->y[i]));

	canvas_tip(v, tip);
	if (s->low && s->high && scale_takes(&p->ax.y, s->low[i]) &&
	    scale_takes(&p->ax.y, s->high[i]))
		canvas_whisker(v, py(p, s->low[i]), py(p, s->high[i]), x, true);
	canvas_mark(v, s->name ? color : 0, x, y, canvas_fill(s->name ? color : 0));
	if (!s->name)
		canvas_text(v, x, y - 8, "middle", "strong halo", 40, letter);
	canvas_end(v);
}

static void series(struct canvas *v, const struct plot *p, const struct chart_series *s,
		   size_t color)
{
	if (s->line)
		canvas_path(v, &(struct canvas_path){ .x = s->x,
						      .y = s->y,
						      .n = s->n,
						      .sx = &p->ax.x,
						      .sy = &p->ax.y,
						      .left = LEFT,
						      .top = TOP,
						      .w = p->w,
						      .h = p->h,
						      .class = canvas_stroke(v->a, color) });
	/* Of a thousand points the line tells enough; points alone are thinned by nobody. */
	if (s->soft || (s->line && s->n > SVG_POINTS_MAX / 12))
		return;
	for (size_t i = 0; i < s->n && i < SVG_POINTS_MAX; i++)
		if (scale_takes(&p->ax.x, s->x[i]) && scale_takes(&p->ax.y, s->y[i]))
			one_point(v, p, s, color, i);
}

static void svg_xy_limits(struct canvas *v, const struct chart *c, const struct plot *p)
{
	for (size_t i = 0; i < c->n_limits; i++) {
		const struct chart_mark *m = &c->limits[i];

		if (!scale_takes(&p->ax.y, m->low))
			continue;
		if (chart_has_band(m) && scale_takes(&p->ax.y, m->high))
			canvas_box(v, LEFT, py(p, m->high), p->w, py(p, m->low) - py(p, m->high),
				   "band");
		else
			canvas_line(v, LEFT, py(p, m->low), LEFT + p->w, py(p, m->low), "limit");
	}
}

static void svg_xy_legend(struct canvas *v, const struct chart *c)
{
	size_t color = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct chart_series *s = &c->series[i];

		if (s->name)
			canvas_series_note(v, color, s->line, s->soft, s->name);
		color += s->name != NULL;
	}
	for (size_t i = 0; i < c->n_limits; i++)
		if (c->limits[i].name)
			canvas_note(v, chart_has_band(&c->limits[i]) ? SIGN_BAND : SIGN_LIMIT,
				    c->limits[i].name);
}

static void draw_chart(struct canvas *v, const void *what)
{
	const struct chart *c = what;
	struct plot p = { .w = v->w - LEFT - 16, .h = v->narrow ? 220 : 320 };
	size_t color = 0;

	if (!chart_axes(c, v->narrow ? 5 : 10, v->narrow ? 5 : 6, &p.ax))
		return;
	svg_xy_limits(v, c, &p);
	canvas_axis_x(v, &p.ax.x, LEFT, p.w, TOP, TOP + p.h);
	canvas_axis_y(v, &p.ax.y, LEFT, p.w, TOP, p.h);
	canvas_text(v, 4, 13, "start", "soft", v->w, c->y_title);
	for (size_t i = 0; i < c->n; i++) {
		series(v, &p, &c->series[i], color);
		color += c->series[i].name != NULL;
	}
	v->y = TOP + (int)p.h + 20;
	canvas_text(v, LEFT + p.w, v->y + 14, "end", "soft", v->w - 20, c->x_title);
	v->y += 20;
	svg_xy_legend(v, c);
	v->y += 6;
}

const char *svg_chart(struct arena *a, const char *title, const struct chart *c)
{
	return canvas_both(a, title, chart_about(a, c), draw_chart, c);
}

/* --- matrix ----------------------------------------------------------------------------------- */

struct heat {
	const struct chart_heat *c;
	double least, most;
};

static bool counts(const struct chart_heat *c, size_t i)
{
	return isfinite(c->v[i]) && !(c->diagonal && i / c->n_columns == i % c->n_columns);
}

/* Colours span at least a fifth of the largest: noise is not to look like a difference. */
static bool heat_range(struct heat *h)
{
	const struct chart_heat *c = h->c;

	h->least = INFINITY;
	h->most = -INFINITY;
	for (size_t i = 0; i < c->n_rows * c->n_columns; i++)
		if (counts(c, i)) {
			h->least = fmin(h->least, c->v[i]);
			h->most = fmax(h->most, c->v[i]);
		}
	if (!(h->most >= h->least))
		return false;
	if (c->lower)
		h->most = fmax(h->most, h->least * 1.25);
	else
		h->least = fmin(h->least, h->most * 0.8);
	if (!(h->most > h->least))
		h->least = h->most - 1;
	return true;
}

static int step_of(const struct heat *h, double v)
{
	return (int)fmin(STEPS - 1, fmax(0, (v - h->least) / (h->most - h->least) * STEPS));
}

static void heat_cell(struct canvas *v, const struct heat *h, size_t r, size_t k, double x,
		      double y, double size, double tall)
{
	const struct chart_heat *c = h->c;
	size_t i = r * c->n_columns + k;
	int step = step_of(h, c->v[i]);
	const char *text = isfinite(c->v[i]) ? figure_number(v->a, c->v[i]) : "not measured";

	canvas_tip(v,
		   arena_printf(v->a, "%s %s, %s %s: %s %s", c->row_title ? c->row_title : "row",
				c->rows[r], c->column_title ? c->column_title : "column",
				c->columns[k], text, isfinite(c->v[i]) && c->unit ? c->unit : ""));
	if (!counts(c, i))
		canvas_box(v, x, y, size - 1, tall - 1, "mute");
	else
		canvas_box(v, x, y, size - 1, tall - 1, arena_printf(v->a, "heat%d", step));
	if (isfinite(c->v[i]) && size >= 7 * (double)strlen(text))
		canvas_text(v, x + size / 2, y + tall / 2 + 4, "middle",
			    !counts(c, i) ? ""
			    : step >= 5	  ? "heat-ink-hi"
					  : "heat-ink-lo",
			    size + 20, text);
	canvas_end(v);
}

static void heat_ramp(struct canvas *v, const struct heat *h)
{
	const char *from = figure_number(v->a, h->least), *to = figure_number(v->a, h->most);
	double x = 14 + 7 * (double)strlen(from);

	canvas_text(v, 6, v->y + 15, "start", "soft", 200, from);
	for (int i = 0; i < STEPS; i++)
		canvas_box(v, x + 14 * i, v->y + 4, 14, 14, arena_printf(v->a, "heat%d", i));
	canvas_text(v, x + 14 * STEPS + 8, v->y + 15, "start", "soft", 300,
		    arena_printf(v->a, "%s %s, %s is better", to, h->c->unit ? h->c->unit : "",
				 h->c->lower ? "less" : "more"));
	v->y += 26;
}

static void draw_heat(struct canvas *v, const void *what)
{
	struct heat h = { .c = what };
	size_t rows = h.c->n_rows < SIDE_MAX ? h.c->n_rows : SIDE_MAX,
	       columns = h.c->n_columns < SIDE_MAX ? h.c->n_columns : SIDE_MAX;
	double left = 56, size, tall;
	double free_from = 0;

	if (!rows || !columns || !heat_range(&h))
		return;
	size = fmin(CELL_MAX, (v->w - left - 8) / (double)columns);
	tall = fmin(size, 34);
	canvas_text(v, left, 13, "start", "soft", v->w - left,
		    h.c->column_title
			    ? arena_printf(v->a, "%s (columns), %s (rows)", h.c->column_title,
					   h.c->row_title ? h.c->row_title : "")
			    : NULL);
	for (size_t k = 0; k < columns; k++) {
		double mid = left + size * ((double)k + 0.5),
		       half = 3.4 * (double)strlen(h.c->columns[k]);

		if (mid - half < free_from)
			continue;
		canvas_text(v, mid, 31, "middle", "soft", 80, h.c->columns[k]);
		free_from = mid + half + 4;
	}
	v->y = 38;
	for (size_t r = 0; r < rows; r++) {
		double y = v->y + tall * (double)r;

		if (tall >= 11 || r % 8 == 0)
			canvas_text(v, left - 6, y + tall / 2 + 4, "end", "soft", left - 8,
				    h.c->rows[r]);
		for (size_t k = 0; k < columns; k++)
			heat_cell(v, &h, r, k, left + size * (double)k, y, size, tall);
	}
	v->y += (int)(tall * (double)rows) + 8;
	heat_ramp(v, &h);
	if (rows < h.c->n_rows || columns < h.c->n_columns)
		canvas_note(v, SIGN_NONE, "only the first rows and columns are drawn");
	v->y += 4;
}

const char *svg_heat(struct arena *a, const struct chart_heat *c)
{
	const char *about = "";
	double least = INFINITY, most = -INFINITY;

	for (size_t i = 0; i < c->n_rows * c->n_columns; i++)
		if (counts(c, i)) {
			least = fmin(least, c->v[i]);
			most = fmax(most, c->v[i]);
		}
	if (most >= least)
		about = arena_printf(a, "%zu by %zu, %s to %s %s.", c->n_rows, c->n_columns,
				     figure_number(a, least), figure_number(a, most),
				     c->unit ? c->unit : "");
	return canvas_both(a, c->title, about, draw_heat, c);
}
