/* SPDX-License-Identifier: Apache-2.0 */
/* SVG elements. Colours stand here and only here; every drawing has its own paper, so it reads in
 * any theme. */
#include "render/svg_shape.h"
#include "render/display_text.h"

#include <math.h>
#include <string.h>

void svg_begin(struct text *t, int w, int h, const char *title, const char *about)
{
	text_printf(t,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		    "viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"system-ui,'DejaVu "
		    "Sans',sans-serif\">\n<title>",
		    w, h, w, h);
	display_escape(t, title);
	text_add(t, "</title>\n<desc>");
	display_escape(t, about);
	text_add(t, "</"
		    "desc>\n<style>.paper{fill:#fff}.node-paper{fill:#f6f7f9}.node{fill:#f6f7f9;"
		    "stroke:#c3cad1}.root{fill:#e6eaee;stroke:#9aa5b0}.switch{fill:#fdf3d8;stroke:#"
		    "c99a2e}.gpu{fill:#e3f3d3;stroke:#5c9a1f}.nic{fill:#dcebfa;stroke:#3b7fc4}."
		    "disk{fill:#efe4f7;stroke:#8a57b3}.fabric{fill:#cfe9b4;stroke:#4a8412}.link{"
		    "stroke:#6b7680;stroke-width:1.5}.slow{stroke:#d0021b;stroke-width:4}.tight{"
		    "stroke:#b56a00;stroke-width:3;stroke-dasharray:7 "
		    "3}.ring-tight{fill:none;stroke:#b56a00;stroke-width:2;stroke-dasharray:7 "
		    "3}.badge{fill:#b00018}.badge-tight{fill:#8a5200}.nvswitch{fill:#e9f6da;stroke:"
		    "#4a8412}.ring{fill:none;stroke:#d0021b;stroke-width:3}.nvlink{stroke:#5c9a1f;"
		    "stroke-width:3}text{fill:#1c2024}text.soft{fill:#55606b}text.strong{font-"
		    "weight:600}text.bad{fill:#b00018;font-weight:600}text.warn{fill:#7a4900;font-"
		    "weight:600}text.on-badge{fill:#fff;font-weight:600}</style>\n");
	svg_box(t, (struct box){ 0, 0, w, h }, "paper", NULL);
}

void svg_end(struct text *t)
{
	text_add(t, "</svg>\n");
}

void svg_box(struct text *t, struct box b, const char *class, const char *tip)
{
	text_printf(t, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" class=\"%s\"",
		    b.x, b.y, b.w, b.h, class);
	if (!tip) {
		text_add(t, "/>\n");
		return;
	}
	text_add(t, "><title>");
	display_escape(t, tip);
	text_add(t, "</title></rect>\n");
}

void svg_line(struct text *t, int x1, int y1, int x2, int y2, const char *class)
{
	text_printf(t, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x1, y1, x2,
		    y2, class);
}

/* The beginning of s, whole words if it can be, and an ellipsis, in most letters. */
static void cut_text(struct text *t, const char *s, size_t most)
{
	const char *p = s, *gap = NULL;
	size_t n, used = 0;
	uint32_t cp;

	for (; used + 1 < most && (n = utf8_next(p, &cp)); p += n, used++)
		if (cp == ' ')
			gap = p;
	text_addn(t, s, (size_t)((gap && gap > s && *p != ' ' ? gap : p) - s));
	text_add(t, "\xe2\x80\xa6");
}

void svg_text(struct text *t, int x, int y, const char *anchor, const char *class, int size,
	      int room, const char *s)
{
	/* Letters are two thirds of their height wide, on average and rounded up. */
	size_t most = room > 0 ? (size_t)room * 3 / ((size_t)size * 2) : 0;

	if (!*s || most < 2)
		return;
	text_printf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" font-size=\"%d\" class=\"%s\">",
		    x, y, anchor, size, class);
	if (display_width(s) <= most) {
		display_escape(t, s);
	} else {
		TEXT_AUTO cut = { 0 };

		cut_text(&cut, s, most);
		display_escape(t, cut.s);
	}
	text_add(t, "</text>\n");
}

/* --- the canvas of a chart -------------------------------------------------------------------- */

static const char *svg_shape_one(struct arena *a, bool narrow, const char *title, const char *about,
				 canvas_draw *draw, const void *what)
{
	struct canvas c = { .a = a, .w = narrow ? CANVAS_TALL : CANVAS_BROAD, .narrow = narrow };
	TEXT_AUTO t = { 0 };
	const char *s = NULL;

	draw(&c, what);
	if (c.body.len) {
		text_printf(&t,
			    "<div class=\"%s\"><svg class=\"chart\" "
			    "xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
			    "role=\"img\">\n<title>",
			    narrow ? "tall" : "broad", c.w, c.y);
		display_escape(&t, title ? title : "Chart");
		text_add(&t, "</title>\n<desc>");
		display_escape(&t, about ? about : "");
		text_add(&t, "</desc>\n");
		text_add(&t, c.body.s);
		text_add(&t, "</svg></div>\n");
		s = arena_strdup(a, t.s);
	}
	text_free(&c.body);
	return s;
}

const char *canvas_both(struct arena *a, const char *title, const char *about, canvas_draw *draw,
			const void *what)
{
	const char *broad = svg_shape_one(a, false, title, about, draw, what);

	return broad ? arena_printf(a, "%s%s", broad,
				    svg_shape_one(a, true, title, about, draw, what))
		     : NULL;
}

/* Shorter than with a decimal place where there is none to tell. */
static void number(struct text *t, const char *name, double v)
{
	double r = round(v * 10) / 10;

	text_printf(t, r == floor(r) ? " %s=\"%.0f\"" : " %s=\"%.1f\"", name, r + 0.0);
}

void canvas_line(struct canvas *c, double x1, double y1, double x2, double y2, const char *class)
{
	text_add(&c->body, "<line");
	number(&c->body, "x1", x1);
	number(&c->body, "y1", y1);
	number(&c->body, "x2", x2);
	number(&c->body, "y2", y2);
	text_printf(&c->body, " class=\"%s\"/>\n", class);
}

void canvas_box(struct canvas *c, double x, double y, double w, double h, const char *class)
{
	text_add(&c->body, "<rect");
	number(&c->body, "x", x);
	number(&c->body, "y", y);
	number(&c->body, "width", fmax(w, 0));
	number(&c->body, "height", fmax(h, 0));
	text_printf(&c->body, " class=\"%s\"/>\n", class);
}

void canvas_mark(struct canvas *c, size_t shape, double x, double y, const char *class)
{
	static const char *const paths[] = { NULL, "-4 -4h8v8h-8z", "-5 4h10l-5 -9z",
					     "0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z" };
	struct text *t = &c->body;

	if (!paths[shape % 4])
		text_printf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"/>\n", x, y,
			    class);
	else
		text_printf(t, "<path d=\"M%.1f %.1fm%s\" class=\"%s\"/>\n", x, y, paths[shape % 4],
			    class);
}

void canvas_tip(struct canvas *c, const char *tip)
{
	text_add(&c->body, "<g><title>");
	display_escape(&c->body, tip ? tip : "");
	text_add(&c->body, "</title>\n");
}

void canvas_end(struct canvas *c)
{
	text_add(&c->body, "</g>\n");
}

void canvas_whisker(struct canvas *c, double from, double to, double at, bool along_y)
{
	double end = 4;

	if (along_y)
		text_printf(&c->body,
			    "<path d=\"M%.1f %.1fh%.0fm%.1f 0V%.1fm%.1f 0h%.0f\" class=\"ci\"/>\n",
			    at - end, from, 2 * end, -end, to, -end, 2 * end);
	else
		text_printf(&c->body,
			    "<path d=\"M%.1f %.1fv%.0fm0 %.1fH%.1fm0 %.1fv%.0f\" class=\"ci\"/>\n",
			    from, at - end, 2 * end, -end, to, -end, 2 * end);
}

void canvas_text(struct canvas *c, double x, double y, const char *anchor, const char *class,
		 double room, const char *s)
{
	/* svg_text reckons with wide letters; ours are of the usual mixture. */
	if (s)
		svg_text(&c->body, (int)lround(x), (int)lround(y), anchor, class, CANVAS_FONT,
			 (int)(room * 1.2), s);
}

static void sign_at(struct canvas *c, enum canvas_sign sign, double x, double y)
{
	switch (sign) {
	case SIGN_LIMIT:
		canvas_line(c, x + 9, y - 8, x + 9, y + 5, "limit");
		break;
	case SIGN_BAND:
		canvas_box(c, x, y - 7, 18, 11, "band");
		break;
	case SIGN_CI:
		canvas_whisker(c, x, x + 18, y - 1, false);
		break;
	case SIGN_RULE:
		canvas_line(c, x + 9, y - 8, x + 9, y + 5, "rule");
		break;
	case SIGN_SPAN:
		canvas_box(c, x, y - 7, 18, 11, "span");
		break;
	case SIGN_NONE:
		break;
	}
}

/* A sentence beside a sign, from y on. */
static void note_text(struct canvas *c, const char *s)
{
	TEXT_AUTO lines = { 0 };
	const char *at;

	display_wrap(&lines, s, (size_t)((c->w - 34) / 6.6));
	text_add(&lines, "");
	for (at = lines.s; *at;) {
		size_t n = strcspn(at, "\n");

		c->y += CANVAS_LINE;
		canvas_text(c, 30, c->y - 4, "start", "soft", 4 * c->w, arena_strndup(c->a, at, n));
		at += n + (at[n] == '\n');
	}
}

void canvas_note(struct canvas *c, enum canvas_sign sign, const char *s)
{
	sign_at(c, sign, 4, c->y + CANVAS_LINE - 8);
	note_text(c, s);
}

void canvas_series_note(struct canvas *c, size_t i, bool line, bool soft, const char *s)
{
	double y = c->y + CANVAS_LINE - 8;

	if (line)
		canvas_line(c, 2, y, 24, y, canvas_stroke(c->a, i));
	if (!soft)
		canvas_mark(c, i, 13, y, canvas_fill(i));
	note_text(c, s);
}

/* Pixels that a number takes. */
static double wide(const char *s)
{
	return 6.8 * (double)strlen(s);
}

void canvas_axis_x(struct canvas *c, const struct scale *s, double x, double w, double top,
		   double y)
{
	double free_from = -1e9;

	for (size_t i = 0; i < s->n; i++) {
		const char *n = scale_number(c->a, s, s->tick[i]);
		double at = x + scale_on(s, s->tick[i]) * w, half = wide(n) / 2, mid = at;

		canvas_line(c, at, top, at, y, "grid");
		/* At the ends they stay within the drawing. */
		mid = fmin(fmax(mid, half + 1), c->w - half - 1);
		if (mid - half < free_from)
			continue;
		canvas_text(c, mid, y + 15, "middle", "soft", 200, n);
		free_from = mid + half + 6;
	}
	canvas_line(c, x, y, x + w, y, "axis");
}

void canvas_axis_y(struct canvas *c, const struct scale *s, double x, double w, double top,
		   double h)
{
	for (size_t i = 0; i < s->n; i++) {
		double y = top + h - scale_on(s, s->tick[i]) * h;

		canvas_line(c, x, y, x + w, y, "grid");
		canvas_text(c, x - 6, y + 4, "end", "soft", 200, scale_number(c->a, s, s->tick[i]));
	}
	canvas_line(c, x, top, x, top + h, "axis");
}

/* The points of one pixel: where it was entered, its least, its most, and where it was left. */
struct pixel {
	bool any;
	double x, first, least, most, last;
};

static void point(struct text *t, double x, double y, bool begin)
{
	text_printf(t, begin ? "M%.1f %.1f" : "L%.1f %.1f", x, y);
}

static void pixel_out(struct text *t, struct pixel *p, bool *begin)
{
	const double y[] = { p->first, p->least, p->most, p->last };

	for (int i = 0; p->any && i < 4; i++) {
		if (i && y[i] == y[i - 1])
			continue;
		point(t, p->x, y[i], *begin);
		*begin = false;
	}
	p->any = false;
}

void canvas_path(struct canvas *c, const struct canvas_path *p)
{
	TEXT_AUTO t = { 0 };
	struct pixel px = { 0 };
	bool begin = true, many = p->n > SVG_POINTS_MAX / 4;

	for (size_t i = 0; i < p->n; i++) {
		double x, y;

		if (!scale_takes(p->sx, p->x[i]) || !scale_takes(p->sy, p->y[i])) {
			pixel_out(&t, &px, &begin);
			begin = true;
			continue;
		}
		x = p->left + scale_on(p->sx, p->x[i]) * p->w;
		y = p->top + p->h - scale_on(p->sy, p->y[i]) * p->h;
		if (many)
			x = floor(x / 2) * 2; /* one screen pixel of the narrow one, two here */
		if (px.any && (!many || x != px.x))
			pixel_out(&t, &px, &begin);
		if (!px.any)
			px = (struct pixel){ true, x, y, y, y, y };
		px.least = fmin(px.least, y);
		px.most = fmax(px.most, y);
		px.last = y;
	}
	pixel_out(&t, &px, &begin);
	if (t.len)
		text_printf(&c->body, "<path d=\"%s\" class=\"%s\"/>\n", t.s, p->class);
}

const char *canvas_fill(size_t i)
{
	static const char *const names[] = { "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8" };

	return names[i % 8];
}

/* Beyond its colour every series has a dash of its own. */
const char *canvas_stroke(struct arena *a, size_t i)
{
	return arena_printf(a, "l%zu d%zu", i % 8 + 1, i % 4 + 1);
}
