/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts as SVG. Pure: the same data give the same text, in the arena; NULL when nothing can be
 * drawn. What is returned goes into a page of ours as it is: <div class="broad"> with a drawing 720
 * wide and <div class="tall"> with one 360 wide for telephones; the style sheet of doc_html.c shows
 * one of them. Every drawing has role="img", a title and a desc that tells the figures in
 * sentences; no script, no ids, no style attribute; colours are classes of the page's sheet. All
 * texts are escaped. At most SVG_POINTS_MAX points a line: of more, the least and the most of each
 * pixel are kept, so that no peak is lost.
 */
#ifndef RENDER_SVG_CHART_H
#define RENDER_SVG_CHART_H

#include "render/chart.h"

enum { SVG_POINTS_MAX = 1440, SVG_ROWS_MAX = 400 };

const char *svg_bars(struct arena *a, const struct chart_bars *c);
const char *svg_ratios(struct arena *a, const struct chart_ratios *c);
const char *svg_spread(struct arena *a, const struct chart_spread *c);
const char *svg_chart(struct arena *a, const char *title, const struct chart *c);
const char *svg_heat(struct arena *a, const struct chart_heat *c);
const char *svg_timeline(struct arena *a, const struct chart_timeline *c);

#endif
