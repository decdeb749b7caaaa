/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing charts: one scale a axis, used by the grid of letters and by the SVG alike. */
#include "view/chart.h"

#include <math.h>
#include <string.h>

#include "view/page_bench.h"
#include "view/svg_shape.h"

enum { TICKS_MAX = 24, LEFT = 80, TOP = 30, PLOT_W = 640, PLOT_H = 340, DOT = 8 };

/* From one end to the other, as logarithms where the axis is logarithmic. */
struct scale {
	double from, to;
	bool log;
	double tick[TICKS_MAX]; /* values that get a number */
	size_t n;
};

static bool drawn(const struct scale *s, double v)
{
	return isfinite(v) && (!s->log || v > 0);
}

static double on(const struct scale *s, double v)
{
	double x = s->log ? log10(v) : v;

	return s->to > s->from ? (x - s->from) / (s->to - s->from) : 0.5;
}

static void widen(struct scale *s, double v)
{
	double x = s->log ? log10(v) : v;

	s->from = fmin(s->from, x);
	s->to = fmax(s->to, x);
}

/* Whole powers of ten, or five steps. */
static void ticks(struct scale *s)
{
	double step = s->log ? 1 : (s->to - s->from) / 4;

	if (s->log) {
		s->from = floor(s->from + 1e-9);
		s->to = ceil(s->to - 1e-9);
		s->to = s->to > s->from ? s->to : s->from + 1;
		while ((s->to - s->from) / step >= TICKS_MAX)
			step *= 2;
	}
	if (!(step > 0))
		step = 1;
	for (double x = s->from; x <= s->to + step / 1e6 && s->n < TICKS_MAX; x += step)
		s->tick[s->n++] = s->log ? pow(10, x) : x;
}

/* False when there is nothing to draw. */
static bool scales(const struct chart *c, struct scale *x, struct scale *y)
{
	bool any = false;

	*x = (struct scale){ .from = INFINITY, .to = -INFINITY, .log = c->log_x };
	*y = (struct scale){ .from = INFINITY, .to = -INFINITY, .log = c->log_y };
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->series[i].n; k++)
			if (drawn(x, c->series[i].x[k]) && drawn(y, c->series[i].y[k])) {
				widen(x, c->series[i].x[k]);
				widen(y, c->series[i].y[k]);
				any = true;
			}
	if (any) {
		ticks(x);
		ticks(y);
	}
	return any;
}

/* --- the grid -----------------------------------------------------------------------------------
 */

struct grid {
	char cell[CHART_HIGH][CHART_WIDE + 1];
};

static void put(struct grid *g, double x, double y, char mark)
{
	long c = lround(x * (CHART_WIDE - 1)), r = CHART_HIGH - 1 - lround(y * (CHART_HIGH - 1));

	if (c >= 0 && c < CHART_WIDE && r >= 0 && r < CHART_HIGH)
		g->cell[r][c] = mark;
}

static void grid_series(struct grid *g, const struct chart_series *s, const struct scale *x,
			const struct scale *y)
{
	bool before = false;
	double px = 0, py = 0;

	for (size_t i = 0; i < s->n; i++) {
		double nx, ny;

		if (!drawn(x, s->x[i]) || !drawn(y, s->y[i])) {
			before = false;
			continue;
		}
		nx = on(x, s->x[i]);
		ny = on(y, s->y[i]);
		for (int k = 0; s->line && before && k <= 2 * CHART_WIDE; k++) {
			double t = k / (2.0 * CHART_WIDE);

			put(g, px + t * (nx - px), py + t * (ny - py), s->mark);
		}
		if (!s->line)
			put(g, nx, ny, s->mark);
		px = nx;
		py = ny;
		before = true;
	}
}

/* The number of a row of the grid; NULL: it has none. */
static const char *row_number(struct arena *a, const struct scale *y, int row)
{
	for (size_t i = 0; i < y->n; i++)
		if (CHART_HIGH - 1 - lround(on(y, y->tick[i]) * (CHART_HIGH - 1)) == row)
			return bench_number(a, y->tick[i]);
	return NULL;
}

/* Numbers under the axis, as many as do not touch. */
static void under(struct arena *a, struct text *t, const struct scale *x)
{
	char line[CHART_WIDE + 32];
	long free_from = 0;

	memset(line, ' ', sizeof(line));
	for (size_t i = 0; i < x->n; i++) {
		const char *s = bench_number(a, x->tick[i]);
		long len = (long)strlen(s), at = lround(on(x, x->tick[i]) * (CHART_WIDE - 1));

		if (at < free_from || at + len >= (long)sizeof(line))
			continue;
		memcpy(line + at, s, (size_t)len);
		free_from = at + len + 1;
	}
	line[free_from < (long)sizeof(line) ? free_from : (long)sizeof(line) - 1] = '\0';
	text_printf(t, "%12s%s", "", line);
}

static const char *grid_text(struct arena *a, const struct chart *c, const struct scale *x,
			     const struct scale *y)
{
	TEXT_AUTO t = { 0 };
	struct grid g;

	memset(&g, ' ', sizeof(g));
	for (size_t i = 0; i < c->n; i++)
		grid_series(&g, &c->series[i], x, y);
	text_printf(&t, "%10s\n", c->y_title);
	for (int r = 0; r < CHART_HIGH; r++) {
		const char *n = row_number(a, y, r);

		g.cell[r][CHART_WIDE] = '\0';
		text_printf(&t, "%10s %c%s\n", n ? n : "", n ? '+' : '|', g.cell[r]);
	}
	text_printf(&t, "%11s+", "");
	for (int i = 0; i < CHART_WIDE; i++)
		text_addc(&t, '-');
	text_addc(&t, '\n');
	under(a, &t, x);
	text_printf(&t, "  %s", c->x_title);
	for (size_t i = 0; i < c->n; i++)
		if (c->series[i].name)
			text_printf(&t, "\n%12s%c  %s", "", c->series[i].mark, c->series[i].name);
	return arena_strdup(a, t.s);
}

const char *chart_text(struct arena *a, const struct chart *c)
{
	struct scale x, y;

	return scales(c, &x, &y) ? grid_text(a, c, &x, &y) : NULL;
}

/* --- the drawing --------------------------------------------------------------------------------
 */

static int across(const struct scale *x, double v)
{
	return LEFT + (int)lround(on(x, v) * PLOT_W);
}

static int down(const struct scale *y, double v)
{
	return TOP + PLOT_H - (int)lround(on(y, v) * PLOT_H);
}

static void axes(struct arena *a, struct text *t, const struct chart *c, const struct scale *x,
		 const struct scale *y)
{
	svg_line(t, LEFT, TOP + PLOT_H, LEFT + PLOT_W, TOP + PLOT_H, "link");
	svg_line(t, LEFT, TOP, LEFT, TOP + PLOT_H, "link");
	for (size_t i = 0; i < x->n; i++)
		svg_text(t, across(x, x->tick[i]), TOP + PLOT_H + 18, "middle", "soft", 12, 80,
			 bench_number(a, x->tick[i]));
	for (size_t i = 0; i < y->n; i++)
		svg_text(t, LEFT - 8, down(y, y->tick[i]) + 4, "end", "soft", 12, 70,
			 bench_number(a, y->tick[i]));
	svg_text(t, LEFT + PLOT_W, TOP + PLOT_H + 38, "end", "soft", 12, 300, c->x_title);
	svg_text(t, LEFT, TOP - 12, "start", "soft", 12, 300, c->y_title);
}

static void svg_series(struct arena *a, struct text *t, const struct chart_series *s,
		       const struct scale *x, const struct scale *y)
{
	bool before = false;
	int px = 0, py = 0;

	for (size_t i = 0; i < s->n; i++) {
		const char letter[] = { s->mark, '\0' };
		int nx, ny;

		if (!drawn(x, s->x[i]) || !drawn(y, s->y[i])) {
			before = false;
			continue;
		}
		nx = across(x, s->x[i]);
		ny = down(y, s->y[i]);
		if (s->line && before)
			svg_line(t, px, py, nx, ny, "link");
		if (!s->line) {
			svg_box(t, (struct box){ nx - DOT / 2, ny - DOT / 2, DOT, DOT }, "gpu",
				arena_printf(a, "%s: %s, %s", s->name ? s->name : letter,
					     bench_number(a, s->x[i]), bench_number(a, s->y[i])));
			svg_text(t, nx, ny - DOT, "middle", "strong", 12, 20, letter);
		}
		px = nx;
		py = ny;
		before = true;
	}
}

void chart_add(struct doc *d, const char *title, const struct chart *c)
{
	TEXT_AUTO t = { 0 };
	struct scale x, y;

	if (!scales(c, &x, &y))
		return;
	svg_begin(&t, LEFT + PLOT_W + 40, TOP + PLOT_H + 60, title,
		  arena_printf(d->arena, "%s over %s", c->y_title, c->x_title));
	axes(d->arena, &t, c, &x, &y);
	for (size_t i = 0; i < c->n; i++)
		svg_series(d->arena, &t, &c->series[i], &x, &y);
	svg_end(&t);
	doc_figure(d, title, arena_strdup(d->arena, t.s), grid_text(d->arena, c, &x, &y));
}
