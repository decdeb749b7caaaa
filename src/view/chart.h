/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points and lines over two axes, linear or logarithmic: as letters on a grid for terminals and
 * Markdown, as a drawing for HTML. The data choose the range; what is not finite, or not positive
 * on a logarithmic axis, is not drawn.
 */
#ifndef VIEW_CHART_H
#define VIEW_CHART_H

#include "view/doc.h"

struct chart_series {
	const char *name;
	char mark; /* ASCII */
	const double *x, *y;
	size_t n;
	bool line; /* joined, in order; else points */
};

struct chart {
	const char *x_title, *y_title;
	bool log_x, log_y;
	const struct chart_series *series; /* later ones are drawn over earlier ones */
	size_t n;
};

/* The same grid for every width: columns and rows of the drawing's inside. */
enum { CHART_WIDE = 64, CHART_HIGH = 18 };

/* Adds the figure; nothing when nothing can be drawn. */
void chart_add(struct doc *d, const char *title, const struct chart *c);
/* The grid alone; NULL when nothing can be drawn. */
const char *chart_text(struct arena *a, const struct chart *c);

#endif
