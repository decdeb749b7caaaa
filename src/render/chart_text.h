/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as letters: no line wider than how->width (36 at least), in ASCII alone where how->ascii,
 * never with colour. In the arena; NULL when nothing can be drawn. What each sign means is told
 * below the chart.
 */
#ifndef RENDER_CHART_TEXT_H
#define RENDER_CHART_TEXT_H

#include "base/text.h"
#include "render/chart_scale.h"

const char *chart_text(struct arena *a, const struct chart *c, const struct term_style *how);
const char *chart_text_bars(struct arena *a, const struct chart_bars *c,
			    const struct term_style *how);
const char *chart_text_ratios(struct arena *a, const struct chart_ratios *c,
			      const struct term_style *how);
const char *chart_text_spread(struct arena *a, const struct chart_spread *c,
			      const struct term_style *how);
const char *chart_text_timeline(struct arena *a, const struct chart_timeline *c,
				const struct term_style *how);

/* --- for those who draw with letters ------------------------------------------------------------
 */
enum { CHART_NARROWEST = 36, CHART_WIDEST = 120, CHART_ROWS = 400 };

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

#endif
