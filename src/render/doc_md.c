/* SPDX-License-Identifier: Apache-2.0 */
/* A document as GitHub's Markdown: tables as pipes, trees as they look on a terminal. */
#include <stdlib.h>
#include <string.h>

#include "render/doc.h"
#include "render/display_text.h"

/* Adds s so that none of it is markup. HTML's escapes hold in Markdown too. */
static void add_escaped(struct text *t, const char *s)
{
	TEXT_AUTO html = { 0 };

	display_escape(&html, s);
	for (const char *p = html.s ? html.s : ""; *p; p++) {
		if (*p == '\n' || *p == '\t') {
			text_addc(t, ' ');
			continue;
		}
		if (strchr("\\`*_[]|~#!@", *p) && !(*p == '#' && p > html.s && p[-1] == '&'))
			text_addc(t, '\\');
		text_addc(t, *p);
	}
}

/* A code span: nothing in it is markup, but in a table a bar still ends the cell. */
static void doc_md_add_code(struct text *t, const char *s, bool table)
{
	TEXT_AUTO clean = { 0 };
	const char *ticks = strchr(s, '`') ? "`` " : "`";

	display_clean(&clean, s, false);
	text_add(t, ticks);
	for (const char *p = clean.s ? clean.s : ""; *p; p++) {
		if (*p == '|' && table)
			text_addc(t, '\\');
		text_addc(t, *p);
	}
	text_add(t, *ticks && ticks[1] ? " ``" : "`");
}

static void add_cell(struct text *t, const struct cell *c, bool table)
{
	const char *s = c->text ? c->text : "";
	const char *mark = c->style == STYLE_BAD || c->style == STYLE_STRONG ? "**"
			   : c->style == STYLE_UNKNOWN			     ? "_"
									     : "";

	/* Emphasis may neither be empty nor begin or end with a blank. */
	if (!*s || *s == ' ' || s[strlen(s) - 1] == ' ')
		mark = "";
	if (c->style == STYLE_CODE && *s) {
		text_addn(t, s, display_prose(s));
		doc_md_add_code(t, s + display_prose(s), table);
		return;
	}
	text_add(t, mark);
	add_escaped(t, s);
	text_add(t, mark);
}

static void paragraph(struct text *t, const struct node *n)
{
	for (size_t i = 0; i < n->n_rows; i++)
		add_cell(t, &n->rows[i].cells[0], false);
	text_addc(t, '\n');
}

static void bullets(struct text *t, const struct node *n)
{
	for (size_t i = 0; i < n->n_rows; i++) {
		text_add(t, "- ");
		add_cell(t, &n->rows[i].cells[0], false);
		text_addc(t, '\n');
	}
}

/* A line of what is said of a finding, below it. */
static void found_line(struct text *t, const char *name, const struct cell *c)
{
	if (cell_empty(c))
		return;
	text_printf(t, "  - %s%s", name ? name : "", name ? ": " : "");
	add_cell(t, c, false);
	text_addc(t, '\n');
}

static void doc_md_findings(struct text *t, const struct node *n)
{
	for (size_t i = 0; i < n->n_rows; i++) {
		const struct cell *c = n->rows[i].cells;

		text_add(t, "- **");
		add_escaped(t, c[FOUND_BADGE].text);
		text_add(t, "**");
		for (size_t k = FOUND_ID; k <= FOUND_WANTED; k++) {
			if (cell_empty(&c[k]))
				continue;
			text_add(t, k == FOUND_WANTED ? " \xe2\x86\x92 "
				    : k == FOUND_NOW  ? ": "
						      : " ");
			add_cell(t, &c[k], false);
		}
		text_addc(t, '\n');
		found_line(t, NULL, &c[FOUND_WHY]);
		for (size_t k = 0; k < n->rows[i].n_more; k += 2)
			found_line(t, n->rows[i].more[k].text, &n->rows[i].more[k + 1]);
		found_line(t, "Fix", &c[FOUND_FIX]);
	}
}

static void doc_md_row(struct text *t, const struct cell *cells, size_t n)
{
	text_addc(t, '|');
	for (size_t c = 0; c < n; c++) {
		text_addc(t, ' ');
		add_cell(t, &cells[c], true);
		text_add(t, " |");
	}
	text_addc(t, '\n');
}

static void pairs(struct text *t, const struct node *n)
{
	text_add(t, "| | |\n|---|---|\n");
	for (size_t i = 0; i < n->n_rows; i++)
		doc_md_row(t, n->rows[i].cells, 2);
}

static void doc_md_table(struct text *t, const struct node *n)
{
	for (size_t c = 0; c < n->n_columns; c++) {
		text_add(t, c ? " | " : "| ");
		add_escaped(t, n->columns[c].title);
	}
	text_add(t, " |\n|");
	for (size_t c = 0; c < n->n_columns; c++)
		text_add(t, n->columns[c].right ? "---:|" : "---|");
	text_addc(t, '\n');
	for (size_t i = 0; i < n->n_rows; i++)
		doc_md_row(t, n->rows[i].cells, n->n_columns);
}

/* Fenced by more ticks than the text has in a row. */
static void fenced(FILE *out, const char *text)
{
	size_t fence = 3, run = 0;

	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		fence = run >= fence ? run + 1 : fence;
	}
	for (int side = 0; side < 2; side++) {
		if (side)
			fprintf(out, "%s%s", text,
				*text && text[strlen(text) - 1] != '\n' ? "\n" : "");
		for (size_t i = 0; i < fence; i++)
			fputc('`', out);
		fputs(side ? "\n" : "text\n", out);
	}
}

/* A tree is drawn: Markdown can nest lists but not columns. */
static void tree(FILE *out, const struct node *n)
{
	struct node bare = *n;
	struct node *one = &bare;
	struct arena scratch = { 0 };
	struct doc d = { .arena = &scratch, .nodes = &one, .n = 1 };
	char *s = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&s, &len);

	bare.title = NULL;
	if (mem) {
		doc_term(mem, &d, &(struct term_style){ .ascii = true });
		fclose(mem);
		fenced(out, s);
	}
	free(s);
}

static void doc_md_figure(FILE *out, const struct node *n)
{
	ARENA_AUTO scratch = { 0 };
	const char *s =
		n->letters(&scratch, n->what, &(struct term_style){ .width = 80, .ascii = true });

	fenced(out, s ? s : "");
}

static void doc_md_draw(FILE *out, struct text *t, const struct node *n)
{
	if (n->kind == NODE_HEADING || n->kind == NODE_SECTION) {
		for (unsigned i = 0; i < (n->level < 6 ? n->level : 6); i++)
			text_addc(t, '#');
		text_addc(t, ' ');
		add_escaped(t, n->title);
		text_addc(t, '\n');
		if (!cell_empty(&n->say)) {
			text_addc(t, '\n');
			add_cell(t, &n->say, false);
			text_addc(t, '\n');
		}
	} else if (n->title) {
		text_add(t, "**");
		add_escaped(t, n->title);
		text_add(t, "**\n\n");
	}
	if (n->kind == NODE_PARAGRAPH)
		paragraph(t, n);
	else if (n->kind == NODE_PAIRS)
		pairs(t, n);
	else if (n->kind == NODE_TABLE)
		doc_md_table(t, n);
	else if (n->kind == NODE_BULLETS)
		bullets(t, n);
	else if (n->kind == NODE_FINDINGS)
		doc_md_findings(t, n);
	fputs(t->s ? t->s : "", out);
	if (n->kind == NODE_TREE)
		tree(out, n);
	else if (n->kind == NODE_FIGURE && n->letters)
		doc_md_figure(out, n);
	else if (n->kind == NODE_CODE || n->kind == NODE_FIGURE)
		fenced(out, n->text ? n->text : "");
}

void doc_md(FILE *out, const struct doc *d)
{
	bool first = true;

	for (size_t i = 0; i < d->n; i++) {
		TEXT_AUTO t = { 0 };

		if (node_nothing(d->nodes[i]) || d->nodes[i]->kind == NODE_SECTION_END ||
		    (d->nodes[i]->kind == NODE_FIGURE && !d->nodes[i]->text &&
		     !d->nodes[i]->letters))
			continue;
		if (!first)
			fputc('\n', out);
		first = false;
		doc_md_draw(out, &t, d->nodes[i]);
	}
}
