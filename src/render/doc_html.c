/* SPDX-License-Identifier: Apache-2.0 */
/* A document's nodes as HTML, and the page around them. */
#include <sodium.h>
#include <string.h>

#include "render/display_text.h"
#include "render/doc.h"

/* page.css is the one style sheet of all pages, copy.js the script of each; pages with tools have
 * page.js behind it. */
extern const char page_css[], copy_js[], page_js[];

static const char *const classes[STYLES] = {
	[STYLE_GOOD] = "good",	     [STYLE_WARN] = "warn",   [STYLE_BAD] = "bad",
	[STYLE_UNKNOWN] = "unknown", [STYLE_MUTED] = "muted", [STYLE_STRONG] = "strong",
	[STYLE_CODE] = "code",
};

static const char *class_of(const struct cell *c)
{
	return classes[c->style] ? classes[c->style] : "plain";
}

static void cell_html(struct text *t, const struct cell *c)
{
	const char *class = classes[c->style];
	const char *tag = c->style == STYLE_CODE     ? "code"
			  : c->style == STYLE_STRONG ? "strong"
						     : "span";
	size_t prose = c->style == STYLE_CODE && c->text ? display_prose(c->text) : 0;

	if (!c->text || !*c->text)
		return;
	if (c->link)
		text_printf(t, "<a href=\"#%s\">", c->link);
	text_addn(t, c->text, prose);
	if (class)
		text_printf(t,
			    c->style == STYLE_CODE || c->style == STYLE_STRONG
				    ? "<%s>"
				    : "<%s class=\"%s\">",
			    tag, class);
	display_escape(t, c->text + prose);
	if (class)
		text_printf(t, "</%s>", tag);
	if (c->link)
		text_add(t, "</a>");
}

static void paragraph(struct text *t, const struct node *n)
{
	if (n->verdict)
		text_printf(t, "<p class=\"verdict edge-%s\">", class_of(&n->rows[0].cells[0]));
	else
		text_add(t, "<p>");
	for (size_t i = 0; i < n->n_rows; i++)
		cell_html(t, &n->rows[i].cells[0]);
	text_add(t, "</p>\n");
}

static void doc_html_bullets(struct text *t, const struct node *n)
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
	display_escape(t, n->title);
	text_add(t, close);
}

static void doc_html_pairs(struct text *t, const struct node *n)
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

/* Classes that the style sheet has; columns that paper takes only in small letters. */
enum { DEPTH_MAX = 8, DENSE = 12 };

static void classes_of(struct text *t, const struct node *n, const struct row *r, size_t c)
{
	unsigned depth = r->depth < DEPTH_MAX ? r->depth : DEPTH_MAX;

	if (!c && depth)
		text_printf(t, " class=\"depth%u\"", depth);
	else if (r->cells[c].heat)
		text_printf(t, " class=\"right heat%u\"", r->cells[c].heat);
	else if (n->columns[c].right)
		text_add(t, " class=\"right\"");
	else if (n->columns[c].wrap)
		text_add(t, " class=\"wrap\"");
}

static void doc_html_table_row(struct text *t, const struct node *n, const struct row *r,
			       bool cards)
{
	size_t name = n->n_keys - 1;

	text_add(t, cards ? "<tr role=\"row\">" : "<tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		const char *tag = c == name ? "th" : "td";

		text_printf(t, "<%s", tag);
		if (c == name)
			text_add(t, " scope=\"row\"");
		/* Laid out as blocks a table is none any more for who cannot see it, unless said.
		 */
		if (cards)
			text_add(t, c == name ? " role=\"rowheader\"" : " role=\"cell\"");
		if (cards && *n->columns[c].title) {
			text_add(t, " data-name=\"");
			display_escape(t, n->columns[c].title);
			text_addc(t, '"');
		}
		classes_of(t, n, r, c);
		text_addc(t, '>');
		cell_html(t, &r->cells[c]);
		text_printf(t, "</%s>", tag);
	}
	text_add(t, "</tr>\n");
}

static void table_head(struct text *t, const struct node *n, bool cards)
{
	const char *role = cards ? " role=\"columnheader\"" : "";

	text_add(t, cards ? "<thead role=\"rowgroup\"><tr role=\"row\">" : "<thead><tr>");
	for (size_t c = 0; c < n->n_columns; c++) {
		if (!*n->columns[c].title) { /* a header without words heads nothing */
			text_printf(t, "<td%s></td>", cards ? " role=\"cell\"" : "");
			continue;
		}
		text_printf(t, "<th scope=\"col\"%s%s>", role,
			    n->columns[c].right ? " class=\"right\"" : "");
		display_escape(t, n->columns[c].title);
		text_add(t, "</th>");
	}
	text_printf(t, "</tr></thead>\n<tbody%s>\n", cards ? " role=\"rowgroup\"" : "");
}

/* Where rows hold sentences, a telephone shows them below each other. */
static bool is_cards(const struct node *n)
{
	for (size_t c = 0; c < n->n_columns; c++)
		if (n->columns[c].wrap)
			return n->kind == NODE_TABLE;
	return false;
}

static void doc_html_table(struct text *t, const struct node *n, bool tools)
{
	bool cards = tools && is_cards(n);

	/* The wrapper scrolls, so that a wide table never makes the page itself wide. */
	text_printf(t, "<div class=\"wide%s%s\" tabindex=\"0\"", cards ? " cards" : "",
		    tools && n->n_columns > DENSE ? " dense" : "");
	if (tools) {
		text_add(t, " role=\"group\" aria-label=\"");
		display_escape(t, n->title ? n->title : "Table");
		text_addc(t, '"');
	}
	text_printf(t, "><table%s>\n",
		    n->kind == NODE_TREE ? " class=\"tree\""
		    : cards		 ? " role=\"table\""
					 : "");
	title(t, "<caption>", n, "</caption>\n");
	table_head(t, n, cards);
	for (size_t i = 0; i < n->n_rows; i++)
		doc_html_table_row(t, n, &n->rows[i], cards);
	text_add(t, "</tbody>\n</table></div>\n");
}

/* A piece of a finding in an element of its class. */
static void found_part(struct text *t, const char *class, const struct cell *c)
{
	if (cell_empty(c))
		return;
	text_printf(t, " <span class=\"%s\">", class);
	cell_html(t, c);
	text_add(t, "</span>");
}

static void found_line(struct text *t, const char *open, const struct cell *c)
{
	if (cell_empty(c))
		return;
	text_add(t, open);
	cell_html(t, c);
	text_add(t, "</p>\n");
}

static void found_one(struct text *t, const struct row *r)
{
	const struct cell *c = r->cells;
	const char *style = class_of(&c[FOUND_BADGE]);

	text_printf(t, "<li class=\"finding edge-%s\"%s data-badge=\"", style,
		    r->careful ? " data-careful" : "");
	display_escape(t, c[FOUND_BADGE].text);
	text_printf(t, "\"><p><span class=\"mark %s\">", style);
	display_escape(t, c[FOUND_BADGE].text);
	text_add(t, "</span>");
	found_part(t, "id", &c[FOUND_ID]);
	found_part(t, "on", &c[FOUND_ON]);
	text_add(t, "</p>\n");
	if (!cell_empty(&c[FOUND_NOW]) || !cell_empty(&c[FOUND_WANTED])) {
		text_add(t, "<p>");
		found_part(t, "now", &c[FOUND_NOW]);
		if (!cell_empty(&c[FOUND_WANTED]))
			text_add(t, " \xe2\x86\x92");
		found_part(t, "wanted", &c[FOUND_WANTED]);
		text_add(t, "</p>\n");
	}
	found_line(t, "<p>", &c[FOUND_WHY]);
	for (size_t k = 0; k < r->n_more; k += 2) {
		text_add(t, k ? " \xc2\xb7 " : "<p class=\"more\">");
		display_escape(t, r->more[k].text);
		text_add(t, ": ");
		cell_html(t, &r->more[k + 1]);
	}
	if (r->n_more)
		text_add(t, "</p>\n");
	found_line(t, "<p class=\"fix\"><span>Fix:</span> ", &c[FOUND_FIX]);
	text_add(t, "</li>\n");
}

static void doc_html_findings(struct text *t, const struct node *n)
{
	title(t, "<p class=\"caption\">", n, "</p>\n");
	text_add(t, "<ul class=\"findings\">\n");
	for (size_t i = 0; i < n->n_rows; i++)
		found_one(t, &n->rows[i]);
	text_add(t, "</ul>\n");
}

static void code(struct text *t, const char *s)
{
	text_add(t, "<pre><code>");
	display_escape(t, s);
	text_add(t, "</code></pre>\n");
}

/* A drawing without its own style sheet: the page has one for all, in the reader's colours. In
 * letters where there is too little for one. */
static void html_figure(struct text *t, const struct node *n)
{
	bool chart = n->svg && strstr(n->svg, "class=\"chart\"");
	const char *p = n->svg, *from, *to;

	if (!p) {
		code(t, n->text ? n->text : "");
		return;
	}
	text_printf(t, "<figure class=\"wide %s\">\n", chart ? "plot" : "drawing");
	title(t, "<figcaption>", n, "</figcaption>\n");
	while ((from = strstr(p, "<style>")) && (to = strstr(from, "</style>"))) {
		text_addn(t, p, (size_t)(from - p));
		p = to + strlen("</style>");
	}
	text_add(t, p);
	text_add(t, "</figure>\n");
}

/* What a link names lies inside of what is folded: browsers then open it without a script. */
static void section(struct text *t, const struct node *n, unsigned level)
{
	/* Below these a section is no landmark: dozens of one name would be no help. */
	text_printf(t, "<section%s", n->apart ? " class=\"apart\"" : "");
	if (level <= 2)
		text_printf(t, " aria-labelledby=\"%s-h\"", n->id);
	text_printf(t, "><details%s><summary><h%u id=\"%s-h\">", n->open ? " open" : "", level,
		    n->id);
	display_escape(t, n->title);
	text_printf(t, "</h%u> ", level);
	cell_html(t, &n->say);
	text_printf(t, "</summary>\n<div class=\"body\" id=\"%s\">\n", n->id);
}

static void doc_html_draw(struct text *t, const struct node *n, bool tools)
{
	unsigned level = n->level < 1 ? 1 : n->level < 6 ? n->level : 6;

	switch (n->kind) {
	case NODE_HEADING:
		text_printf(t, "<h%u>", level);
		display_escape(t, n->title);
		text_printf(t, "</h%u>\n", level);
		break;
	case NODE_PARAGRAPH:
		paragraph(t, n);
		break;
	case NODE_PAIRS:
		doc_html_pairs(t, n);
		break;
	case NODE_TABLE:
	case NODE_TREE:
		doc_html_table(t, n, tools);
		break;
	case NODE_BULLETS:
		doc_html_bullets(t, n);
		break;
	case NODE_FINDINGS:
		doc_html_findings(t, n);
		break;
	case NODE_CODE:
		code(t, n->text);
		break;
	case NODE_FIGURE:
		html_figure(t, n);
		break;
	case NODE_SECTION:
		section(t, n, level);
		break;
	case NODE_SECTION_END:
		text_add(t, "</div></details></section>\n");
		break;
	}
}

void doc_html(FILE *out, const struct doc *d, const char *page_title)
{
	TEXT_AUTO t = { 0 };

	if (page_title)
		doc_html_begin(out, page_title, d->tools, d->tools ? d : NULL);
	for (size_t i = 0; i < d->n; i++) {
		if (node_nothing(d->nodes[i]))
			continue;
		text_clear(&t);
		doc_html_draw(&t, d->nodes[i], d->tools);
		fputs(t.s ? t.s : "", out);
	}
	if (page_title)
		doc_html_end(out, d->tools);
}

/* The frame of an HTML page: its head with a policy that lets nothing in but our own style sheet
 * and script, the ways to its sections, and its tools. */

/* "sha256-..." of two texts as one, as a policy names them; arena. */
static const char *doc_html_hash(struct arena *a, const char *first, const char *then)
{
	enum { VARIANT = sodium_base64_VARIANT_ORIGINAL };
	uint8_t sum[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(sizeof(sum), VARIANT)];
	crypto_hash_sha256_state s;

	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, (const uint8_t *)first, strlen(first));
	crypto_hash_sha256_update(&s, (const uint8_t *)then, strlen(then));
	crypto_hash_sha256_final(&s, sum);
	sodium_bin2base64(text, sizeof(text), sum, sizeof(sum), VARIANT);
	return arena_printf(a, "sha256-%s", text);
}

static void doc_html_head(FILE *out, const char *title, bool tools)
{
	ARENA_AUTO a = { 0 };
	TEXT_AUTO t = { 0 };

	text_add(&t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	text_printf(&t,
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src '%s'; script-src '%s'; ",
		    doc_html_hash(&a, page_css, ""),
		    doc_html_hash(&a, copy_js, tools ? page_js : ""));
	text_add(&t, "base-uri 'none'; form-action 'none'\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta name=\"referrer\" content=\"no-referrer\">\n"
		     "<meta name=\"generator\" content=\"gputune " GPUTUNE_VERSION "\">\n<title>");
	display_escape(&t, title);
	text_add(&t, "</title>\n<style>");
	fputs(t.s, out);
	fputs(page_css, out);
	fputs("</style>\n</head>\n", out);
}

/* The least level that any section has: those are listed. */
static unsigned top_level(const struct doc *d)
{
	unsigned level = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->nodes[i]->kind == NODE_SECTION && (!level || d->nodes[i]->level < level))
			level = d->nodes[i]->level;
	return level;
}

static void navigation(FILE *out, const struct doc *d)
{
	unsigned level = top_level(d);
	TEXT_AUTO t = { 0 };

	text_add(&t, "<nav aria-label=\"Sections\"><ul>\n");
	for (size_t i = 0; i < d->n; i++) {
		const struct node *n = d->nodes[i];

		if (n->kind != NODE_SECTION || n->level != level)
			continue;
		text_printf(&t, "<li><a href=\"#%s\">", n->id);
		display_escape(&t, n->title);
		text_add(&t, "</a></li>\n");
	}
	text_add(&t, "</ul></nav>\n");
	if (level)
		fputs(t.s, out);
}

void doc_html_begin(FILE *out, const char *title, bool tools, const struct doc *sections)
{
	doc_html_head(out, title, tools);
	fputs("<body>\n", out);
	if (tools)
		fputs("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
		      "<header id=\"bar\">\n",
		      out);
	if (sections)
		navigation(out, sections);
	/* Controls that do nothing without the script are not shown without it. */
	if (tools)
		fputs("<div id=\"tools\" hidden>\n"
		      "<label>Filter <input id=\"filter\" type=\"search\" autocomplete=\"off\" "
		      "placeholder=\"words in a row\"></label>\n"
		      "<button type=\"button\" id=\"unfold\">Open all</button>\n"
		      "<button type=\"button\" id=\"fold\">Fold all</button>\n"
		      "<button type=\"button\" id=\"theme\">Theme: auto</button>\n"
		      "<p id=\"said\" role=\"status\"></p>\n</div>\n</header>\n",
		      out);
	fputs(tools ? "<main id=\"content\" tabindex=\"-1\">\n" : "<main>\n", out);
}

void doc_html_end(FILE *out, bool tools)
{
	fputs("</main>\n", out);
	fputs("<script>", out);
	fputs(copy_js, out);
	if (tools)
		fputs(page_js, out);
	fputs("</script>\n", out);
	fputs("</body>\n</html>\n", out);
}
