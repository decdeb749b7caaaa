/* SPDX-License-Identifier: Apache-2.0 */
/* Both axes of a chart of lines and points, the same for letters and for SVG. */
#ifndef VIEW_CHART_AXES_H
#define VIEW_CHART_AXES_H

#include "view/chart_text.h"

struct chart_axes {
	struct scale x, y;
};

/* False: nothing can be drawn. */
bool chart_axes(const struct chart *c, size_t ticks_x, size_t ticks_y, struct chart_axes *out);

#endif
