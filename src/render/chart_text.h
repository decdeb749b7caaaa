/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as letters: no line wider than how->width (36 at least), in ASCII alone where how->ascii,
 * never with colour. In the arena; NULL when nothing can be drawn. What each sign means is told
 * below the chart.
 */
#ifndef RENDER_CHART_TEXT_H
#define RENDER_CHART_TEXT_H

#include "base/text.h"
#include "render/chart.h"
#include "render/scale.h"

const char *chart_text(struct arena *a, const struct chart *c, const struct term_style *how);
const char *chart_text_bars(struct arena *a, const struct chart_bars *c,
			    const struct term_style *how);
const char *chart_text_ratios(struct arena *a, const struct chart_ratios *c,
			      const struct term_style *how);
const char *chart_text_spread(struct arena *a, const struct chart_spread *c,
			      const struct term_style *how);
const char *chart_text_timeline(struct arena *a, const struct chart_timeline *c,
				const struct term_style *how);

/* --- for those who draw, with letters or otherwise -----------------------------------------------
 */
enum { CHART_NARROWEST = 36, CHART_WIDEST = 120, CHART_ROWS = 400, CHART_BINS = 60 };

/* The width to draw at. */
int chart_width(const struct term_style *how);
/* s, cleaned, cut with "~" and filled with blanks to width columns. */
void chart_pad(struct text *t, const char *s, int width, bool right, bool ascii);
/* Signs as they are in ASCII, or with fuller ones. */
void chart_signs(struct text *t, const char *cells, bool ascii);
/* "sign name" below a chart, broken to width. */
void chart_legend(struct text *t, const char *sign, const char *name, const struct term_style *how);
/* The same of signs that stand for themselves. */
void chart_legend_plain(struct text *t, const char *sign, const char *name,
			const struct term_style *how);
/* The numbers of an axis that is width columns long, below it. */
void chart_under(struct arena *a, struct text *t, const struct scale *s, int width);

static inline bool chart_has_line(const struct chart_mark *m)
{
	return m->name && m->low - m->low == 0 && !(m->low < m->high);
}

static inline bool chart_has_band(const struct chart_mark *m)
{
	return m->name && m->low < m->high;
}

/* Names of limits or bands of these bars, each once, at most max; how many. */
size_t chart_bar_names(const struct chart_bars *c, bool bands, const char **out, size_t max);
/* The axis of bars; false: nothing to draw. */
bool chart_bar_scale(const struct chart_bars *c, size_t ticks, struct scale *out);
/* The axis of ratios: the least round range around 1 that holds them; above a half, logarithmic. */
struct chart_ratio_scale {
	bool log;
	double most; /* 0.05: from 0.95 to 1.05; logarithmic 4: from 1/4 to 4 */
};
bool chart_ratio_scale(const struct chart_ratios *c, struct chart_ratio_scale *out);
/* 0 to 1, clamped; 0.5 is the same. */
double chart_ratio_on(const struct chart_ratio_scale *s, double ratio);
/* "+5 %", "x4"; of at in -1 to 1. */
const char *chart_ratio_number(struct arena *a, const struct chart_ratio_scale *s, double at);
/* Bins of equal width over the axis, at most CHART_BINS; count[] gets how many lie in each. */
size_t chart_bins(const struct chart_spread *c, struct scale *axis, size_t most, size_t *count);
void chart_sort(double *x, size_t n); /* ascending */
bool chart_spread_scale(const struct chart_spread *c, size_t ticks, struct scale *out);
/* "4321 GB/s (4310 to 4330)", the interval where it is known. */
const char *chart_figure(struct arena *a, double v, double low, double high, const char *unit);

#endif
