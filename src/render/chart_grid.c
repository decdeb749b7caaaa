/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and points on a grid of letters. */
#include <math.h>
#include <string.h>

#include "render/chart_axes.h"
#include "render/glyph.h"

enum { HIGH = 18, LOW_HIGH = 12, LEFT = 9, WIDE = CHART_WIDEST };

static bool drawn(const struct chart_axes *x, double vx, double vy)
{
	return scale_takes(&x->x, vx) && scale_takes(&x->y, vy);
}

static void widen_series(struct chart_axes *x, const struct chart_series *s, bool *any)
{
	for (size_t k = 0; k < s->n; k++) {
		if (!drawn(x, s->x[k], s->y[k]))
			continue;
		scale_widen(&x->x, s->x[k]);
		scale_widen(&x->y, s->y[k]);
		if (s->low)
			scale_widen(&x->y, s->low[k]);
		if (s->high)
			scale_widen(&x->y, s->high[k]);
		*any = true;
	}
}

bool chart_axes(const struct chart *c, size_t ticks_x, size_t ticks_y, struct chart_axes *out)
{
	bool any = false;

	out->x = scale_of(c->bytes_x ? SCALE_BYTES : c->log_x ? SCALE_LOG : SCALE_LINEAR);
	out->y = scale_of(c->log_y ? SCALE_LOG : SCALE_LINEAR);
	for (size_t i = 0; i < c->n; i++)
		widen_series(out, &c->series[i], &any);
	if (!any)
		return false;
	for (size_t i = 0; i < c->n_limits; i++) {
		scale_widen(&out->y, c->limits[i].low);
		scale_widen(&out->y, c->limits[i].high);
	}
	if (c->zero_y && !c->log_y)
		scale_widen(&out->y, 0);
	return scale_settle(&out->x, ticks_x, c->bytes_x || c->log_x) &&
	       scale_settle(&out->y, ticks_y, false);
}

struct grid {
	int wide, high;
	char cell[HIGH][WIDE + 1];
};

static void put(struct grid *g, double x, double y, char mark)
{
	long c = lround(x * (g->wide - 1)), r = g->high - 1 - lround(y * (g->high - 1));

	if (c >= 0 && c < g->wide && r >= 0 && r < g->high)
		g->cell[r][c] = mark;
}

static void grid_series(struct grid *g, const struct chart_series *s, const struct chart_axes *ax)
{
	bool before = false;
	double px = 0, py = 0;

	for (size_t i = 0; i < s->n; i++) {
		double nx, ny;

		if (!drawn(ax, s->x[i], s->y[i])) {
			before = false;
			continue;
		}
		nx = scale_on(&ax->x, s->x[i]);
		ny = scale_on(&ax->y, s->y[i]);
		for (int k = 0; s->line && before && k <= 2 * g->wide; k++) {
			double t = k / (2.0 * g->wide);

			put(g, px + t * (nx - px), py + t * (ny - py), s->mark);
		}
		if (!s->line || !before)
			put(g, nx, ny, s->mark);
		px = nx;
		py = ny;
		before = true;
	}
}

/* A row of the grid's number; NULL: it has none. */
static const char *row_number(struct arena *a, const struct scale *y, int row, int high)
{
	for (size_t i = 0; i < y->n; i++)
		if (high - 1 - lround(scale_on(y, y->tick[i]) * (high - 1)) == row)
			return scale_number(a, y, y->tick[i]);
	return NULL;
}

static void grid_limits(struct grid *g, const struct chart *c, const struct chart_axes *ax)
{
	for (size_t i = 0; i < c->n_limits; i++)
		for (int k = 0; k < g->wide; k += 2) {
			double x = k / (double)(g->wide - 1);

			if (scale_takes(&ax->y, c->limits[i].low))
				put(g, x, scale_on(&ax->y, c->limits[i].low), '=');
			if (chart_has_band(&c->limits[i]) && scale_takes(&ax->y, c->limits[i].high))
				put(g, x, scale_on(&ax->y, c->limits[i].high), '=');
		}
}

static void legend(struct text *t, const struct chart *c, const struct term_style *how)
{
	for (size_t i = 0; i < c->n + c->n_limits; i++) {
		const char *name = i < c->n ? c->series[i].name : c->limits[i - c->n].name;
		const char sign[] = { i < c->n ? c->series[i].mark : '=', '\0' };

		if (name)
			chart_legend_plain(t, sign, name, how);
	}
}

const char *chart_text(struct arena *a, const struct chart *c, const struct term_style *how)
{
	int wide = chart_width(how) - LEFT - 2;
	struct grid g = { .wide = wide, .high = wide < 60 ? LOW_HIGH : HIGH };
	struct chart_axes ax;
	TEXT_AUTO t = { 0 };

	if (!chart_axes(c, (size_t)wide / 8, (size_t)g.high / 3, &ax))
		return NULL;
	memset(g.cell, ' ', sizeof(g.cell));
	grid_limits(&g, c, &ax);
	for (size_t i = 0; i < c->n; i++)
		grid_series(&g, &c->series[i], &ax);
	chart_pad(&t, c->y_title, chart_width(how), false, how->ascii);
	while (t.len && t.s[t.len - 1] == ' ')
		t.s[--t.len] = '\0';
	for (int r = 0; r < g.high; r++) {
		const char *n = row_number(a, &ax.y, r, g.high);
		int end = wide;

		while (end && g.cell[r][end - 1] == ' ')
			end--;
		g.cell[r][end] = '\0';
		text_printf(&t, "\n%*.*s %c%s", LEFT, LEFT, n ? n : "", n ? '+' : '|', g.cell[r]);
	}
	text_printf(&t, "\n%*s +", LEFT, "");
	for (int i = 0; i < wide; i++)
		text_addc(&t, '-');
	text_printf(&t, "\n%*s", LEFT + 2, "");
	chart_under(a, &t, &ax.x, wide);
	text_printf(&t, "\n%*s", LEFT + 2, "");
	chart_pad(&t, c->x_title, (int)fmin(wide, (double)glyph_width(c->x_title)), false,
		  how->ascii);
	legend(&t, c, how);
	return arena_strdup(a, t.s);
}
