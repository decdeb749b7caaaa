/* SPDX-License-Identifier: Apache-2.0 */
/* The few shapes that drawings are made of. All texts are escaped and cut to their room. */
#ifndef RENDER_SVG_SHAPE_H
#define RENDER_SVG_SHAPE_H

#include "base/text.h"

struct box {
	int x, y, w, h;
};

/* Opens a drawing with its accessible name and description; svg_end closes it. */
void svg_begin(struct text *t, int w, int h, const char *title, const char *about);
void svg_end(struct text *t);
/* class is one of the style sheet in svg_shape.c; tip (may be NULL) is shown under the pointer. */
void svg_box(struct text *t, struct box b, const char *class, const char *tip);
void svg_line(struct text *t, int x1, int y1, int x2, int y2, const char *class);
/* anchor: "start", "middle" or "end"; size in pixels; cut with an ellipsis to room pixels. */
void svg_text(struct text *t, int x, int y, const char *anchor, const char *class, int size,
	      int room, const char *s);

#endif
