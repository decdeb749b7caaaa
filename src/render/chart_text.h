/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as letters: no line wider than how->width (36 at least), in ASCII alone where how->ascii,
 * never with colour. In the arena; NULL when nothing can be drawn. A legend below the chart says
 * what each sign means.
 */
#ifndef RENDER_CHART_TEXT_H
#define RENDER_CHART_TEXT_H

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
/* The width to draw at. */
int chart_width(const struct term_style *how);

#endif
