/* SPDX-License-Identifier: Apache-2.0 */
/* Both axes of a chart of lines and points, the same for letters and for SVG. */
#ifndef RENDER_CHART_AXES_H
#define RENDER_CHART_AXES_H

#include "render/chart_text.h"

struct chart_axes {
	struct scale x, y;
};

/* False: nothing can be drawn. */
bool chart_axes(const struct chart *c, size_t ticks_x, size_t ticks_y, struct chart_axes *out);

#endif
