/* SPDX-License-Identifier: Apache-2.0 */
/* The few shapes that drawings are made of. All texts are escaped and cut to their room. */
#ifndef RENDER_SVG_SHAPE_H
#define RENDER_SVG_SHAPE_H

#include "base/text.h"
#include "render/chart_scale.h"

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

/*
 * Charts as SVG. Pure: the same data give the same text, in the arena; NULL when nothing can be
 * drawn. What is returned goes into a page of ours as it is: <div class="broad"> with a drawing 720
 * wide and <div class="tall"> with one 360 wide for telephones; the style sheet page.css shows
 * one of them. Every drawing has role="img", a title and a desc that tells the figures in
 * sentences; no script, no ids, no style attribute; colours are classes of the page's sheet. All
 * texts are escaped. At most SVG_POINTS_MAX points a line: of more, the least and the most of each
 * pixel are kept, so that no peak is lost.
 */

enum { SVG_POINTS_MAX = 1440, SVG_ROWS_MAX = 400 };

const char *svg_bars(struct arena *a, const struct chart_bars *c);
const char *svg_ratios(struct arena *a, const struct chart_ratios *c);
const char *svg_spread(struct arena *a, const struct chart_spread *c);
const char *svg_chart(struct arena *a, const char *title, const struct chart *c);
const char *svg_heat(struct arena *a, const struct chart_heat *c);
const char *svg_timeline(struct arena *a, const struct chart_timeline *c);

/* What the drawings of charts are made of. Not for pages. */

enum { CANVAS_BROAD = 720, CANVAS_TALL = 360, CANVAS_FONT = 12, CANVAS_LINE = 17 };

/* A drawing that grows downwards; its height is known at its end. */
struct canvas {
	struct arena *a;
	struct text body;
	int w, y; /* y: the first free pixel */
	bool narrow;
};

typedef void canvas_draw(struct canvas *c, const void *what);

/* Draws both variants; NULL when nothing was drawn. */
const char *canvas_both(struct arena *a, const char *title, const char *about, canvas_draw *draw,
			const void *what);

/* x and y in pixels, as text in tenths. */
void canvas_line(struct canvas *c, double x1, double y1, double x2, double y2, const char *class);
void canvas_box(struct canvas *c, double x, double y, double w, double h, const char *class);
/* shape: 0 circle, 1 square, 2 triangle, 3 diamond, and again. */
void canvas_mark(struct canvas *c, size_t shape, double x, double y, const char *class);
/* Opens a group that tells tip under the pointer; canvas_end closes it. */
void canvas_tip(struct canvas *c, const char *tip);
void canvas_end(struct canvas *c);
/* An interval with ends, along x or along y. */
void canvas_whisker(struct canvas *c, double from, double to, double at, bool along_y);
/* One line of text, cut to room pixels. */
void canvas_text(struct canvas *c, double x, double y, const char *anchor, const char *class,
		 double room, const char *s);
/* A sign and a sentence below the drawing, broken to the width. sign draws around (x, y). */
enum canvas_sign { SIGN_NONE, SIGN_LIMIT, SIGN_BAND, SIGN_CI, SIGN_RULE, SIGN_SPAN };
void canvas_note(struct canvas *c, enum canvas_sign sign, const char *s);
/* The same for series number i: its mark, or its line. */
void canvas_series_note(struct canvas *c, size_t i, bool line, bool soft, const char *s);
/* The numbers of a horizontal axis at y, and grid lines up to top; as many as do not touch. */
void canvas_axis_x(struct canvas *c, const struct scale *s, double x, double w, double top,
		   double y);
/* Of a vertical one, numbers left of x. */
void canvas_axis_y(struct canvas *c, const struct scale *s, double x, double w, double top,
		   double h);
/* Joined points; breaks where a value cannot be drawn. Of more points than pixels the least and
 * the most of each pixel stay. */
struct canvas_path {
	const double *x, *y;
	size_t n;
	const struct scale *sx, *sy;
	double left, top, w, h;
	const char *class;
};
void canvas_path(struct canvas *c, const struct canvas_path *p);
/* "s1" to "s8" and "l1" to "l8". */
const char *canvas_fill(size_t i);
const char *canvas_stroke(struct arena *a, size_t i);

#endif
