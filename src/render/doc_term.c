/* SPDX-License-Identifier: Apache-2.0 */
/* A document on a terminal: running text, pairs and lists. Tables and trees are drawn in
 * term_table.c. */
#include <string.h>

#include "render/glyph.h"
#include "render/term.h"

const char *term_colour(enum style s)
{
	static const char *const sgr[STYLES] = {
		[STYLE_GOOD] = "\033[32m",    [STYLE_WARN] = "\033[33m", [STYLE_BAD] = "\033[1;31m",
		[STYLE_UNKNOWN] = "\033[35m", [STYLE_MUTED] = "\033[2m", [STYLE_STRONG] = "\033[1m",
		[STYLE_CODE] = "\033[36m",
	};

	return sgr[s];
}

/* Running text: words that go to the next line when they do not fit. */
struct flow {
	struct term *t;
	size_t indent; /* of all lines but the first */
	size_t column;
	struct text word; /* with its colours */
	size_t word_width;
	bool blank; /* before the word */
	size_t pad; /* before the first word, where it stays in this line; counted in column */
};

enum { LESS = 4 };

/* A word that has no room behind the indent stands further left: to break it makes another value of
 * it. */
static void flow_word(struct flow *f)
{
	size_t width = (size_t)f->t->how->width, at = f->indent;

	if (!f->word.len)
		return;
	if (at > LESS && at + f->word_width > width)
		at = LESS;
	if (width && f->column > at && f->column + f->blank + f->word_width > width &&
	    (f->blank || f->pad || at < f->indent)) {
		fprintf(f->t->out, "\n%*s", (int)at, "");
		f->column = at;
	} else if (f->blank) {
		fputc(' ', f->t->out);
		f->column++;
	} else if (f->pad) {
		fprintf(f->t->out, "%*s", (int)f->pad, "");
	}
	f->pad = 0;
	fwrite(f->word.s, 1, f->word.len, f->t->out);
	f->column += f->word_width;
	f->word_width = 0;
	f->blank = false;
	text_clear(&f->word);
}

static void flow_add(struct flow *f, const struct cell *c)
{
	const char *colour = f->t->how->colour ? term_colour(c->style) : NULL;
	TEXT_AUTO clean = { 0 };
	const char *s;
	size_t n;

	glyph_clean(&clean, c->text ? c->text : "", f->t->how->ascii);
	for (s = clean.s ? clean.s : ""; *s; s += n) {
		n = strcspn(s, " ");
		if (n) {
			size_t start = f->word.len;

			if (colour)
				text_add(&f->word, colour);
			text_addn(&f->word, s, n);
			f->word_width +=
				glyph_width(f->word.s + start + (colour ? strlen(colour) : 0));
			if (colour)
				text_add(&f->word, "\033[0m");
			continue;
		}
		flow_word(f);
		f->blank = f->column > 0;
		n = 1;
	}
}

static void flow_end(struct flow *f)
{
	flow_word(f);
	fputc('\n', f->t->out);
	text_free(&f->word);
}

static void line(struct term *t, const char *text, enum style s)
{
	struct flow f = { .t = t };

	flow_add(&f, &(struct cell){ .text = text, .style = s });
	flow_end(&f);
}

static void paragraph(struct term *t, const struct node *n)
{
	struct flow f = { .t = t };

	for (size_t i = 0; i < n->n_rows; i++)
		flow_add(&f, &n->rows[i].cells[0]);
	flow_end(&f);
}

static void bullets(struct term *t, const struct node *n)
{
	for (size_t i = 0; i < n->n_rows; i++) {
		struct flow f = { .t = t, .indent = 2, .column = 2 };

		fputs("- ", t->out);
		flow_add(&f, &n->rows[i].cells[0]);
		flow_end(&f);
	}
}

void term_pair(struct term *t, const char *name, size_t columns, const struct cell *value)
{
	size_t behind = columns + 4, width = (size_t)t->how->width, w;
	struct flow f = { .t = t, .indent = behind, .column = behind };
	TEXT_AUTO clean = { 0 };

	/* Names that take the half leave a column of single words. */
	if (behind > width / 2 && value->text && behind + glyph_width(value->text) > width)
		f.indent = LESS;
	glyph_clean(&clean, name, t->how->ascii);
	w = glyph_width(clean.s ? clean.s : "");
	f.pad = w < columns + 2 ? columns + 2 - w : 0;
	fprintf(t->out, "  %s", clean.s ? clean.s : "");
	flow_add(&f, value);
	flow_end(&f);
}

void term_line(struct term *t, const struct cell *cells, size_t n)
{
	struct flow f = { .t = t };

	for (size_t i = 0; i < n; i++) {
		if (cell_empty(&cells[i]))
			continue;
		if (f.column || f.word.len)
			flow_add(&f, &(struct cell){ .text = " " });
		flow_add(&f, &cells[i]);
	}
	flow_end(&f);
}

static void pairs(struct term *t, const struct node *n)
{
	size_t widest = 0;

	for (size_t i = 0; i < n->n_rows; i++) {
		size_t w = glyph_width(n->rows[i].cells[0].text);

		widest = w > widest ? w : widest;
	}
	for (size_t i = 0; i < n->n_rows; i++)
		term_pair(t, n->rows[i].cells[0].text, widest, &n->rows[i].cells[1]);
}

static void code(struct term *t, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		TEXT_AUTO one = { 0 }, clean = { 0 };

		text_addn(&one, text, n);
		glyph_clean(&clean, one.s ? one.s : "", t->how->ascii);
		fprintf(t->out, "    %s\n", clean.s ? clean.s : "");
		text += n + (text[n] == '\n');
	}
}

/* As wide as the terminal behind the indent; as a terminal of the usual width where there is none.
 */
static void figure(struct term *t, const struct node *n)
{
	struct term_style how = *t->how;
	const char *text = n->text;

	how.width = how.width > 0 ? how.width - 4 : 76;
	if (n->letters)
		text = n->letters(&t->arena, n->what, &how);
	code(t, text ? text : "");
}

static void draw(struct term *t, const struct node *n)
{
	if (n->title)
		line(t, n->title, STYLE_STRONG);
	switch (n->kind) {
	case NODE_HEADING:
	case NODE_SECTION_END:
		break;
	case NODE_SECTION:
		if (!cell_empty(&n->say))
			line(t, n->say.text, n->say.style);
		break;
	case NODE_PARAGRAPH:
		paragraph(t, n);
		break;
	case NODE_PAIRS:
		pairs(t, n);
		break;
	case NODE_TABLE:
	case NODE_TREE:
		term_table(t, n);
		break;
	case NODE_BULLETS:
		bullets(t, n);
		break;
	case NODE_FIGURE:
		figure(t, n);
		break;
	case NODE_CODE:
		code(t, n->text ? n->text : "");
		break;
	}
}

void doc_term(FILE *out, const struct doc *d, const struct term_style *how)
{
	struct term t = { .out = out, .how = how };
	const struct node *before = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct node *n = d->nodes[i];

		if (node_nothing(n) || n->kind == NODE_SECTION_END ||
		    (n->kind == NODE_FIGURE && !n->text && !n->letters))
			continue;
		if (before && before->kind != NODE_HEADING)
			fputc('\n', out);
		draw(&t, n);
		before = n;
	}
	arena_free(&t.arena);
}
