/* SPDX-License-Identifier: Apache-2.0 */
/* SVG elements. Colours stand here and only here; every drawing has its own paper, so it reads in
 * any theme. */
#include "render/svg_shape.h"
#include "render/glyph.h"

void svg_begin(struct text *t, int w, int h, const char *title, const char *about)
{
	text_printf(t,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		    "viewBox=\"0 0 %d %d\" "
		    "role=\"img\" font-family=\"system-ui,'DejaVu Sans',sans-serif\">\n<title>",
		    w, h, w, h);
	glyph_escape(t, title);
	text_add(t, "</title>\n<desc>");
	glyph_escape(t, about);
	text_add(t, "</desc>\n<style>.paper{fill:#fff}.node-paper{fill:#f6f7f9}"
		    ".node{fill:#f6f7f9;stroke:#c3cad1}.root{fill:#e6eaee;stroke:#9aa5b0}"
		    ".switch{fill:#fdf3d8;stroke:#c99a2e}"
		    ".gpu{fill:#e3f3d3;stroke:#5c9a1f}.nic{fill:#dcebfa;stroke:#3b7fc4}"
		    ".disk{fill:#efe4f7;stroke:#8a57b3}.fabric{fill:#cfe9b4;stroke:#4a8412}"
		    ".link{stroke:#6b7680;stroke-width:1.5}.slow{stroke:#d0021b;stroke-width:4}"
		    ".tight{stroke:#b56a00;stroke-width:3;stroke-dasharray:7 3}"
		    ".ring-tight{fill:none;stroke:#b56a00;stroke-width:2;stroke-dasharray:7 3}"
		    ".badge{fill:#b00018}.badge-tight{fill:#8a5200}"
		    ".nvswitch{fill:#e9f6da;stroke:#4a8412}"
		    ".ring{fill:none;stroke:#d0021b;stroke-width:3}.nvlink{stroke:#5c9a1f;stroke-"
		    "width:3}"
		    "text{fill:#1c2024}text.soft{fill:#55606b}text.strong{font-weight:600}"
		    "text.bad{fill:#b00018;font-weight:600}text.warn{fill:#7a4900;font-weight:600}"
		    "text.on-badge{fill:#fff;font-weight:600}</style>\n");
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
	glyph_escape(t, tip);
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
	if (glyph_width(s) <= most) {
		glyph_escape(t, s);
	} else {
		TEXT_AUTO cut = { 0 };

		cut_text(&cut, s, most);
		glyph_escape(t, cut.s);
	}
	text_add(t, "</text>\n");
}
