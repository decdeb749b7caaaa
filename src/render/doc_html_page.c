/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of an HTML page: its head with a policy that lets nothing in but our own style sheet
 * and script, the ways to its sections, and its tools. */
#include <string.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "render/doc.h"
#include "render/glyph.h"

/* "sha256-..." of the pieces, as a policy names them; arena. */
static const char *doc_html_hash(struct arena *a, const char *const *pieces)
{
	uint8_t sum[SHA256_BYTES];
	struct sha256 s;
	TEXT_AUTO t = { 0 };

	sha256_begin(&s);
	for (; *pieces; pieces++)
		sha256_add(&s, *pieces, strlen(*pieces));
	sha256_end(&s, sum);
	text_add(&t, "sha256-");
	base64_add(&t, sum, sizeof(sum), false);
	return arena_strdup(a, t.s);
}

static void put(FILE *out, const char *const *pieces)
{
	for (; *pieces; pieces++)
		fputs(*pieces, out);
}

static void head(FILE *out, const char *title, bool tools)
{
	struct arena a = { 0 };
	TEXT_AUTO t = { 0 };

	text_add(&t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	text_printf(&t,
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src '%s'; ",
		    doc_html_hash(&a, doc_html_style));
	if (tools)
		text_printf(&t, "script-src '%s'; ", doc_html_hash(&a, doc_html_script));
	text_add(&t, "base-uri 'none'; form-action 'none'\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta name=\"referrer\" content=\"no-referrer\">\n"
		     "<meta name=\"generator\" content=\"gputune " GPUTUNE_VERSION "\">\n<title>");
	glyph_escape(&t, title);
	text_add(&t, "</title>\n<style>");
	fputs(t.s, out);
	put(out, doc_html_style);
	fputs("</style>\n</head>\n", out);
	arena_free(&a);
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
		glyph_escape(&t, n->title);
		text_add(&t, "</a></li>\n");
	}
	text_add(&t, "</ul></nav>\n");
	if (level)
		fputs(t.s, out);
}

void doc_html_begin(FILE *out, const char *title, bool tools, const struct doc *sections)
{
	head(out, title, tools);
	fputs("<body>\n", out);
	/* Controls that do nothing without the script are not shown without it. */
	if (tools)
		fputs("<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
		      "<header id=\"tools\" hidden>\n"
		      "<label>Filter <input id=\"filter\" type=\"search\" autocomplete=\"off\" "
		      "placeholder=\"words in a row\"></label>\n"
		      "<button type=\"button\" id=\"unfold\">Open all</button>\n"
		      "<button type=\"button\" id=\"fold\">Fold all</button>\n"
		      "<button type=\"button\" id=\"theme\">Theme: automatic</button>\n"
		      "<p id=\"said\" role=\"status\"></p>\n</header>\n",
		      out);
	if (sections)
		navigation(out, sections);
	fputs(tools ? "<main id=\"content\" tabindex=\"-1\">\n" : "<main>\n", out);
}

void doc_html_end(FILE *out, bool tools)
{
	fputs("</main>\n", out);
	if (tools) {
		fputs("<script>", out);
		put(out, doc_html_script);
		fputs("</script>\n", out);
	}
	fputs("</body>\n</html>\n", out);
}
