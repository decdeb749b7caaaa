/* SPDX-License-Identifier: Apache-2.0 */
/* A document on a terminal: running text, pairs and lists. Tables and trees are drawn in
 * term_table.c. */
#include <string.h>

#include "view/glyph.h"
#include "view/term.h"

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
};

static void flow_word(struct flow *f)
{
	size_t width = (size_t)f->t->how->width;

	if (!f->word.len)
		return;
	if (width && f->blank && f->column > f->indent && f->column + 1 + f->word_width > width) {
		fprintf(f->t->out, "\n%*s", (int)f->indent, "");
		f->column = f->indent;
	} else if (f->blank) {
		fputc(' ', f->t->out);
		f->column++;
	}
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

static void pairs(struct term *t, const struct node *n)
{
	size_t widest = 0;

	for (size_t i = 0; i < n->n_rows; i++) {
		size_t w = glyph_width(n->rows[i].cells[0].text);

		widest = w > widest ? w : widest;
	}
	for (size_t i = 0; i < n->n_rows; i++) {
		struct flow f = { .t = t, .indent = widest + 4, .column = widest + 4 };
		TEXT_AUTO name = { 0 };

		glyph_clean(&name, n->rows[i].cells[0].text, t->how->ascii);
		fprintf(t->out, "  %s%*s", name.s ? name.s : "",
			(int)(widest + 2 - glyph_width(name.s ? name.s : "")), "");
		flow_add(&f, &n->rows[i].cells[1]);
		flow_end(&f);
	}
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
