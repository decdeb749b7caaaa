/* SPDX-License-Identifier: Apache-2.0 */
/* A document as HTML: one page that needs nothing else, no script, readable on a telephone and in
 * print. */
#include "view/doc.h"
#include "view/glyph.h"

static const char *const classes[STYLES] = {
	[STYLE_GOOD] = "good",	     [STYLE_WARN] = "warn",   [STYLE_BAD] = "bad",
	[STYLE_UNKNOWN] = "unknown", [STYLE_MUTED] = "muted", [STYLE_STRONG] = "strong",
	[STYLE_CODE] = "code",
};

static void cell_html(struct text *t, const struct cell *c)
{
	const char *class = classes[c->style];
	const char *tag = c->style == STYLE_CODE     ? "code"
			  : c->style == STYLE_STRONG ? "strong"
						     : "span";

	if (!c->text || !*c->text)
		return;
	if (class)
		text_printf(t,
			    c->style == STYLE_CODE || c->style == STYLE_STRONG
				    ? "<%s>"
				    : "<%s class=\"%s\">",
			    tag, class);
	glyph_escape(t, c->text);
	if (class)
		text_printf(t, "</%s>", tag);
}

static void paragraph(struct text *t, const struct node *n)
{
	text_add(t, "<p>");
	for (size_t i = 0; i < n->n_rows; i++)
		cell_html(t, &n->rows[i].cells[0]);
	text_add(t, "</p>\n");
}

static void bullets(struct text *t, const struct node *n)
{
	text_add(t, "<ul>\n");
	for (size_t i = 0; i < n->n_rows; i++) {
		text_add(t, "<li>");
		cell_html(t, &n->rows[i].cells[0]);
		text_add(t, "</li>\n");
	}
	text_add(t, "</ul>\n");
}

static void title(struct text *t, const char *open, const struct node *n, const char *close)
{
	if (!n->title)
		return;
	text_add(t, open);
	glyph_escape(t, n->title);
	text_add(t, close);
}

static void pairs(struct text *t, const struct node *n)
{
	title(t, "<p class=\"caption\">", n, "</p>\n");
	text_add(t, "<dl>\n");
	for (size_t i = 0; i < n->n_rows; i++) {
		text_add(t, "<dt>");
		cell_html(t, &n->rows[i].cells[0]);
		text_add(t, "</dt><dd>");
		cell_html(t, &n->rows[i].cells[1]);
		text_add(t, "</dd>\n");
	}
	text_add(t, "</dl>\n");
}

static void table_row(struct text *t, const struct node *n, const struct row *r)
{
	text_add(t, "<tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		const char *tag = c ? "td" : "th";

		text_printf(t, "<%s", tag);
		if (!c)
			text_add(t, " scope=\"row\"");
		if (!c && r->depth)
			text_printf(t, " style=\"--depth:%u\"", r->depth);
		if (r->cells[c].heat)
			text_printf(t, " class=\"right heat%u\"", r->cells[c].heat);
		else if (n->columns[c].right)
			text_add(t, " class=\"right\"");
		else if (n->columns[c].wrap)
			text_add(t, " class=\"wrap\"");
		text_addc(t, '>');
		cell_html(t, &r->cells[c]);
		text_printf(t, "</%s>", tag);
	}
	text_add(t, "</tr>\n");
}

static void table(struct text *t, const struct node *n)
{
	/* The wrapper scrolls, so that a wide table never makes the page itself wide. */
	text_printf(t, "<div class=\"wide\" tabindex=\"0\"><table%s>\n",
		    n->kind == NODE_TREE ? " class=\"tree\"" : "");
	title(t, "<caption>", n, "</caption>\n");
	text_add(t, "<thead><tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		text_printf(t, "<th scope=\"col\"%s>",
			    n->columns[c].right ? " class=\"right\"" : "");
		glyph_escape(t, n->columns[c].title);
		text_add(t, "</th>");
	}
	text_add(t, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < n->n_rows; i++)
		table_row(t, n, &n->rows[i]);
	text_add(t, "</tbody>\n</table></div>\n");
}

static void draw(struct text *t, const struct node *n)
{
	unsigned level = n->level < 1 ? 1 : n->level < 6 ? n->level : 6;

	switch (n->kind) {
	case NODE_HEADING:
		text_printf(t, "<h%u>", level);
		glyph_escape(t, n->title);
		text_printf(t, "</h%u>\n", level);
		break;
	case NODE_PARAGRAPH:
		paragraph(t, n);
		break;
	case NODE_PAIRS:
		pairs(t, n);
		break;
	case NODE_TABLE:
	case NODE_TREE:
		table(t, n);
		break;
	case NODE_BULLETS:
		bullets(t, n);
		break;
	case NODE_CODE:
		text_add(t, "<pre><code>");
		glyph_escape(t, n->text);
		text_add(t, "</code></pre>\n");
		break;
	case NODE_FIGURE:
		text_add(t, "<figure class=\"wide\">\n");
		text_add(t, n->svg);
		title(t, "<figcaption>", n, "</figcaption>\n");
		text_add(t, "</figure>\n");
		break;
	}
}

void doc_html_style(FILE *out)
{
	fputs(":root{color-scheme:light "
	      "dark;--paper:#fff;--ink:#1c2024;--soft:#5b646e;--rule:#d9dee3;"
	      "--tint:#f3f5f7;--good:#18794e;--warn:#8a5a00;--bad:#c0272d;--unknown:#7d3fa8}\n"
	      "@media "
	      "(prefers-color-scheme:dark){:root{--paper:#15181b;--ink:#e6e9ec;--soft:#9aa4ae;"
	      "--rule:#333a41;--tint:#1e2327;--good:#4cc38a;--warn:#e5a93d;--bad:#ff7b78;--unknown:"
	      "#c79be8}}\n"
	      "body{margin:0 auto;max-width:96rem;padding:1rem "
	      "clamp(.75rem,3vw,2.5rem);background:var(--paper);"
	      "color:var(--ink);font:1rem/1.5 system-ui,sans-serif}\n"
	      "h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.2rem;margin-top:2rem}h3{font-"
	      "size:1rem}\n"
	      "p,li,dd{max-width:48rem;overflow-wrap:anywhere}\n"
	      "code,pre{font:.9em/1.5 ui-monospace,monospace}\n"
	      "pre{background:var(--tint);padding:.75rem;overflow-x:auto;border-radius:.25rem}\n"
	      ".wide{overflow-x:auto;margin:1rem 0}figure "
	      "svg{max-width:100%;height:auto;min-width:40rem}\n"
	      ".tall{display:none}.tall svg{min-width:0}"
	      "@media screen and (max-width:40rem){.broad{display:none}.tall{display:block}}\n"
	      "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	      "caption,.caption,figcaption{text-align:left;font-weight:600;padding:.25rem "
	      "0;margin:0}\n"
	      "th,td{padding:.3rem .8rem .3rem "
	      "0;text-align:left;vertical-align:top;white-space:nowrap;"
	      "border-bottom:1px solid var(--rule)}\n"
	      "thead th{color:var(--soft);font-weight:600;font-size:.875rem}tbody "
	      "th{font-weight:500}\n"
	      "tbody th,thead th:first-child{position:sticky;left:0;background:var(--paper)}\n"
	      ".right{text-align:right}td.wrap{white-space:normal;min-width:14rem;overflow-wrap:"
	      "anywhere}\n"
	      ".heat1{background:color-mix(in srgb,var(--warn) 30%,transparent)}"
	      ".heat2{background:color-mix(in srgb,var(--warn) 15%,transparent)}"
	      ".heat3{background:color-mix(in srgb,var(--good) 8%,transparent)}"
	      ".heat4{background:color-mix(in srgb,var(--good) 16%,transparent)}"
	      ".heat5{background:color-mix(in srgb,var(--good) 28%,transparent)}\n"
	      ".tree tbody th{padding-left:calc(var(--depth,0)*1.2rem)}\n"
	      "dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.25rem "
	      "1.5rem;margin:.75rem 0}\n"
	      "dt{color:var(--soft)}dd{margin:0;min-width:0}\n"
	      ".good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad);font-weight:"
	      "600}"
	      ".unknown{color:var(--unknown)}.muted{color:var(--soft)}\n"
	      "@media "
	      "(max-width:30rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}\n"
	      "@media print{.wide{overflow:visible}body{max-width:none}}\n",
	      out);
}

void doc_html(FILE *out, const struct doc *d, const char *page_title)
{
	TEXT_AUTO t = { 0 };

	if (page_title) {
		text_add(&t,
			 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" content=\"width=device-width, "
			 "initial-scale=1\">\n<title>");
		glyph_escape(&t, page_title);
		text_add(&t, "</title>\n<style>\n");
		fputs(t.s, out);
		doc_html_style(out);
		text_clear(&t);
		text_add(&t, "</style>\n</head>\n<body>\n<main>\n");
	}
	for (size_t i = 0; i < d->n; i++)
		if (!node_nothing(d->nodes[i]))
			draw(&t, d->nodes[i]);
	if (page_title)
		text_add(&t, "</main>\n</body>\n</html>\n");
	fputs(t.s ? t.s : "", out);
}
