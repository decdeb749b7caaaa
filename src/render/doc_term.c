/* SPDX-License-Identifier: Apache-2.0 */
/* A document on a terminal: running text, pairs, lists, tables and trees. */
#include <ctype.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "render/display_text.h"
#include "render/doc_term.h"

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

enum {
	LESS = 4,
	GAP = 2, /* between columns */
};

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

	display_clean(&clean, c->text ? c->text : "", f->t->how->ascii);
	for (s = clean.s ? clean.s : ""; *s; s += n) {
		n = strcspn(s, " ");
		if (n) {
			size_t start = f->word.len;

			if (colour)
				text_add(&f->word, colour);
			text_addn(&f->word, s, n);
			f->word_width +=
				display_width(f->word.s + start + (colour ? strlen(colour) : 0));
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

static void doc_term_bullets(struct term *t, const struct node *n)
{
	for (size_t i = 0; i < n->n_rows; i++) {
		struct flow f = { .t = t, .indent = 2, .column = 2 };

		fputs("- ", t->out);
		flow_add(&f, &n->rows[i].cells[0]);
		flow_end(&f);
	}
}

/* "  name  value": the name in so many columns, the value beside it or, where it has no room there,
 * below it. */
static void term_pair(struct term *t, const char *name, size_t columns, const struct cell *value)
{
	size_t behind = columns + 4, width = (size_t)t->how->width, w;
	struct flow f = { .t = t, .indent = behind, .column = behind };
	TEXT_AUTO clean = { 0 };

	/* Names that take the half leave a column of single words. */
	if (behind > width / 2 && value->text && behind + display_width(value->text) > width)
		f.indent = LESS;
	display_clean(&clean, name, t->how->ascii);
	w = display_width(clean.s ? clean.s : "");
	f.pad = w < columns + 2 ? columns + 2 - w : 0;
	fprintf(t->out, "  %s", clean.s ? clean.s : "");
	flow_add(&f, value);
	flow_end(&f);
}

/* Texts as one line that is wrapped. */
static void term_line(struct term *t, const struct cell *cells, size_t n)
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

static void doc_term_pairs(struct term *t, const struct node *n)
{
	size_t widest = 0;

	for (size_t i = 0; i < n->n_rows; i++) {
		size_t w = display_width(n->rows[i].cells[0].text);

		widest = w > widest ? w : widest;
	}
	for (size_t i = 0; i < n->n_rows; i++)
		term_pair(t, n->rows[i].cells[0].text, widest, &n->rows[i].cells[1]);
}

/* --- findings --- */

enum {
	READ_MAX = 100,	 /* lines of text are no longer, however wide the terminal is */
	BADGES_MIN = 60, /* narrower, what is said of a finding does not stand behind its badge */
};

/* Where a line begins: further left where its first word has no room behind the indent, which would
 * leave an empty line. */
static size_t found_indent(const struct term *t, size_t indent, const char *text)
{
	size_t width = (size_t)t->how->width;

	return width && indent + strcspn(text, " ") > width ? LESS : indent;
}

/* Behind two blanks where it fits into the line, else in the next one. */
static void found_part(struct flow *f, struct cell c)
{
	size_t w = cell_empty(&c) ? 0 : display_width(c.text), width = (size_t)f->t->how->width;

	if (!w)
		return;
	flow_word(f);
	if (f->column > f->indent && width && f->column + GAP + w > width) {
		f->column = found_indent(f->t, f->indent, c.text);
		fprintf(f->t->out, "\n%*s", (int)f->column, "");
	} else if (f->column > f->indent) {
		fprintf(f->t->out, "%*s", GAP, "");
		f->column += GAP;
	}
	flow_add(f, &c);
}

/* "name: value", in lines of its own. */
static void found_line(struct term *t, size_t indent, const char *name, struct cell value)
{
	struct flow f = { .t = t };

	if (cell_empty(&value))
		return;
	if (!name)
		indent = found_indent(t, indent, value.text);
	f.indent = f.column = indent;
	fprintf(t->out, "%*s", (int)indent, "");
	if (name)
		flow_add(&f, &(struct cell){ arena_printf(&t->arena, "%s: ", name),
					     .style = STYLE_MUTED });
	flow_add(&f, &value);
	flow_end(&f);
}

static void found_one(struct term *t, const struct row *r, size_t badges)
{
	const struct cell *c = r->cells;
	const char *arrow = t->how->ascii ? "->" : "\xe2\x86\x92";
	bool narrow = t->how->width > 0 && t->how->width < BADGES_MIN;
	size_t indent = narrow ? GAP : badges + GAP;
	struct flow f = { .t = t, .indent = indent };
	struct cell now = c[FOUND_NOW];

	flow_add(&f, &c[FOUND_BADGE]);
	flow_word(&f);
	if (!narrow) {
		fprintf(t->out, "%*s", (int)(indent - f.column), "");
		f.column = indent;
	}
	found_part(&f, c[FOUND_ID]);
	found_part(&f, c[FOUND_ON]);
	if (!cell_empty(&c[FOUND_WANTED])) {
		now.text = cell_empty(&now)
				   ? arena_printf(&t->arena, "%s %s", arrow, c[FOUND_WANTED].text)
				   : arena_printf(&t->arena, "%s %s %s", now.text, arrow,
						  c[FOUND_WANTED].text);
	}
	found_part(&f, now);
	flow_end(&f);
	found_line(t, indent, NULL, c[FOUND_WHY]);
	for (size_t i = 0; i < r->n_more; i += 2)
		found_line(t, indent, r->more[i].text, r->more[i + 1]);
	found_line(t, indent, "fix", c[FOUND_FIX]);
}

static void doc_term_findings(struct term *t, const struct node *n)
{
	struct term_style how = *t->how;
	struct term of = { .out = t->out, .how = &how, .arena = t->arena };
	size_t badges = 0;

	how.width = how.width > READ_MAX ? READ_MAX : how.width;
	for (size_t i = 0; i < n->n_rows; i++) {
		size_t w = display_width(n->rows[i].cells[FOUND_BADGE].text);

		badges = w > badges ? w : badges;
	}
	for (size_t i = 0; i < n->n_rows; i++)
		found_one(&of, &n->rows[i], badges);
	t->arena = of.arena;
}

static void doc_term_code(struct term *t, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		TEXT_AUTO one = { 0 }, clean = { 0 };

		text_addn(&one, text, n);
		display_clean(&clean, one.s ? one.s : "", t->how->ascii);
		fprintf(t->out, "    %s\n", clean.s ? clean.s : "");
		text += n + (text[n] == '\n');
	}
}

/* As wide as the terminal behind the indent; as a terminal of the usual width where there is none.
 */
static void term_figure(struct term *t, const struct node *n)
{
	struct term_style how = *t->how;
	const char *text = n->text;

	how.width = how.width > 0 ? how.width - 4 : 76;
	if (n->letters)
		text = n->letters(&t->arena, n->what, &how);
	doc_term_code(t, text ? text : "");
}

static void doc_term_draw(struct term *t, const struct node *n)
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
		doc_term_pairs(t, n);
		break;
	case NODE_TABLE:
	case NODE_TREE:
		term_table(t, n);
		break;
	case NODE_BULLETS:
		doc_term_bullets(t, n);
		break;
	case NODE_FINDINGS:
		doc_term_findings(t, n);
		break;
	case NODE_FIGURE:
		term_figure(t, n);
		break;
	case NODE_CODE:
		doc_term_code(t, n->text ? n->text : "");
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
		doc_term_draw(&t, n);
		before = n;
	}
	arena_free(&t.arena);
}

/*
 * Tables and trees on a terminal. Drawing is libsmartcols'; here stands what it does not do:
 * breaking between words, and folding a table that is too wide into parts that each begin with the
 * column that names the row.
 */

enum {
	WRAP_MIN = 16, /* a column is not broken to less, */
	TIGHT_MIN = 8, /* but in a tree without room */
	TREE_STEP = 2, /* columns that a level of a tree takes */
	SENTENCE = 32, /* what is longer is read, not compared */
};

/* A table, cleaned and measured. */
struct grid {
	const struct node *n;
	const char **texts; /* by row, then column */
	size_t *widths;	    /* natural ones, by column */
	size_t *titles;	    /* widths of the titles, which are not broken */
	size_t *words;	    /* of the widest words */
	bool tight;	    /* a tree without room: every column but the first may be broken */
};

/* The columns that name a row and [lo, hi), and how wide each of them may be (0: as it is). */
struct part {
	size_t lo, hi;
	size_t limit; /* of each column that may be broken; 0: none is */
	bool whole;   /* between words alone: half a value is another value */
};

static void grid_measure(struct term *t, struct grid *g, const struct node *n)
{
	TEXT_AUTO clean = { 0 };

	g->n = n;
	g->tight = false;
	g->texts = arena_array(&t->arena, n->n_rows * n->n_columns, sizeof(char *));
	g->widths = arena_array(&t->arena, n->n_columns, sizeof(size_t));
	g->titles = arena_array(&t->arena, n->n_columns, sizeof(size_t));
	g->words = arena_array(&t->arena, n->n_columns, sizeof(size_t));
	for (size_t c = 0; c < n->n_columns; c++)
		g->widths[c] = g->titles[c] = display_width(n->columns[c].title);
	for (size_t i = 0; i < n->n_rows; i++) {
		for (size_t c = 0; c < n->n_columns; c++) {
			const char *s = n->rows[i].cells[c].text;
			size_t w;

			text_clear(&clean);
			display_clean(&clean, s ? s : "", t->how->ascii);
			g->texts[i * n->n_columns + c] =
				arena_strndup(&t->arena, clean.s ? clean.s : "", clean.len);
			w = display_width(g->texts[i * n->n_columns + c]);
			if (c == 0 && n->kind == NODE_TREE)
				w += TREE_STEP * (size_t)n->rows[i].depth;
			g->widths[c] = w > g->widths[c] ? w : g->widths[c];
			w = display_word_width(g->texts[i * n->n_columns + c]);
			g->words[c] = w > g->words[c] ? w : g->words[c];
		}
	}
}

static bool may_break(const struct grid *g, size_t c)
{
	return g->n->columns[c].wrap || (g->tight && c > 0);
}

/* Width of a column that may be broken down to limit. */
static size_t column_width(const struct grid *g, size_t c, size_t limit, bool whole)
{
	size_t least = g->titles[c] > limit ? g->titles[c] : limit;

	if (whole && g->words[c] > least)
		least = g->words[c];
	return limit && may_break(g, c) && g->widths[c] > least ? least : g->widths[c];
}

/* The column behind c in a part. */
static size_t next_in(const struct grid *g, const struct part *p, size_t c)
{
	return c + 1 == g->n->n_keys ? p->lo : c + 1;
}

static size_t part_width(const struct grid *g, const struct part *p, size_t limit)
{
	size_t w = 0;

	for (size_t c = 0; c < p->hi; c = next_in(g, p, c))
		w += (c ? GAP : 0) + column_width(g, c, limit, p->whole);
	return w;
}

/* As many columns from lo on as fit, at least one, and the widest limit that lets them. */
static struct part part_from(const struct grid *g, size_t lo, size_t width)
{
	struct part p = { .lo = lo, .hi = g->n->n_columns, .whole = true };
	size_t least = g->tight ? TIGHT_MIN : WRAP_MIN, limit = least;

	if (!width || part_width(g, &p, 0) <= width)
		return p;
	while (p.hi > lo + 1 && part_width(g, &p, least) > width)
		p.hi--;
	p.whole = part_width(g, &p, least) <= width;
	while (limit < width && part_width(g, &p, limit + 1) <= width)
		limit++;
	p.limit = limit;
	return p;
}

static const char *cell_text(struct term *t, const struct grid *g, const struct part *p, size_t i,
			     size_t c)
{
	const char *s = g->texts[i * g->n->n_columns + c];
	size_t limit = column_width(g, c, p->limit, p->whole);
	TEXT_AUTO wrapped = { 0 };

	if (display_width(s) <= limit)
		return s;
	display_wrap(&wrapped, s, limit);
	return arena_strndup(&t->arena, wrapped.s, wrapped.len);
}

/* A table that lacks a cell would look whole. */
static void must(bool had)
{
	if (!had)
		out_of_memory(0);
}

static void add_column(struct term *t, struct libscols_table *tb, const struct node *n, size_t c,
		       bool wrap)
{
	int flags = (n->columns[c].right ? SCOLS_FL_RIGHT : 0) | (wrap ? SCOLS_FL_WRAP : 0) |
		    (c == 0 && n->kind == NODE_TREE ? SCOLS_FL_TREE : 0);
	struct libscols_column *cl = scols_table_new_column(tb, n->columns[c].title, 0, flags);

	must(cl);
	if (wrap) {
		scols_column_set_wrapfunc(cl, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
		scols_column_set_safechars(cl, "\n");
	}
	if (t->how->colour)
		scols_cell_set_color(scols_column_get_header(cl), term_colour(STYLE_STRONG));
}

static void set_symbols(struct term *t, struct libscols_table *tb)
{
	const char *branch = t->how->ascii ? "|-" : "\xe2\x94\x9c\xe2\x94\x80",
		   *vertical = t->how->ascii ? "| " : "\xe2\x94\x82 ",
		   *right = t->how->ascii ? "`-" : "\xe2\x94\x94\xe2\x94\x80";
	struct libscols_symbols *sy = scols_new_symbols();

	must(sy && !scols_symbols_set_branch(sy, branch) &&
	     !scols_symbols_set_vertical(sy, vertical) && !scols_symbols_set_right(sy, right) &&
	     !scols_symbols_set_title_padding(sy, " ") && !scols_symbols_set_cell_padding(sy, " "));
	scols_table_set_symbols(tb, sy);
	scols_unref_symbols(sy);
}

/* The line that row i hangs from: the last one before it with a smaller depth. */
static struct libscols_line *parent_of(const struct node *n, struct libscols_line **lines, size_t i)
{
	for (size_t up = i; n->rows[i].depth && up-- > 0;)
		if (n->rows[up].depth < n->rows[i].depth)
			return lines[up];
	return NULL;
}

static void doc_term_add_row(struct term *t, struct libscols_table *tb, const struct grid *g,
			     const struct part *p, struct libscols_line **lines, size_t i)
{
	const struct node *n = g->n;
	bool tree = n->kind == NODE_TREE;
	size_t at = 0;

	lines[i] = scols_table_new_line(tb, tree ? parent_of(n, lines, i) : NULL);
	must(lines[i]);
	for (size_t c = 0; c < p->hi; c = next_in(g, p, c)) {
		enum style s = n->rows[i].cells[c].style;
		struct libscols_cell *ce = scols_line_get_cell(lines[i], at++);

		must(ce && !scols_cell_set_data(ce, cell_text(t, g, p, i, c)));
		if (t->how->colour && term_colour(s))
			scols_cell_set_color(ce, term_colour(s));
	}
}

/* Lines end where their text ends. */
static void print_trimmed(FILE *out, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n"), len = n;

		while (len && s[len - 1] == ' ')
			len--;
		fwrite(s, 1, len, out);
		fputc('\n', out);
		s += n + (s[n] == '\n');
	}
}

static size_t lines_of(const char *s)
{
	size_t n = 0;

	for (; s && *s; s++)
		n += *s == '\n';
	return n;
}

static void draw_part(struct term *t, const struct grid *g, const struct part *p)
{
	struct libscols_line **lines =
		arena_array(&t->arena, g->n->n_rows, sizeof(struct libscols_line *));
	struct libscols_table *tb = scols_new_table();
	char *drawn = NULL;

	must(tb && !scols_table_set_column_separator(tb, "  "));
	scols_table_enable_colors(tb, t->how->colour);
	scols_table_enable_minout(tb, 1);
	/* Widths are settled here, so that what is drawn does not depend on where standard output
	 * goes. */
	scols_table_set_termforce(tb, SCOLS_TERMFORCE_NEVER);
	set_symbols(t, tb);
	for (size_t c = 0; c < p->hi; c = next_in(g, p, c))
		add_column(t, tb, g->n, c, p->limit && may_break(g, c));
	for (size_t i = 0; i < g->n->n_rows; i++)
		doc_term_add_row(t, tb, g, p, lines, i);
	must(!scols_print_table_to_string(tb, &drawn));
	/* It does not tell when it had no room for a line. */
	must(lines_of(drawn) >= g->n->n_rows);
	if (drawn)
		print_trimmed(t->out, drawn);
	free(drawn);
	scols_unref_table(tb);
}

/*
 * Whether each row is rather its name with its cells below it than a line of a table: where a part
 * would be too wide or break a word, and where the table would fall apart although it is a single
 * row or has sentences, which are read together.
 */
static bool is_stacked(const struct grid *g, size_t width)
{
	struct part p = part_from(g, g->n->n_keys, width);
	bool records = g->n->n_rows == 1;

	if (!width || g->n->n_columns <= g->n->n_keys)
		return false;
	for (size_t c = g->n->n_keys; c < g->n->n_columns; c++)
		records = records || (g->n->columns[c].wrap && g->widths[c] > SENTENCE);
	if (records && p.hi < g->n->n_columns)
		return true;
	while (p.whole && part_width(g, &p, p.limit) <= width) {
		if (p.hi == g->n->n_columns)
			return false;
		p = part_from(g, p.hi, width);
	}
	return true;
}

/* Too narrow for two columns beside each other: each row is its name and, below it, its cells. */
static void draw_stacked(struct term *t, const struct grid *g)
{
	size_t first = g->n->n_keys, titles = 0;

	for (size_t c = first; c < g->n->n_columns; c++)
		titles = g->titles[c] > titles ? g->titles[c] : titles;
	for (size_t i = 0; i < g->n->n_rows; i++) {
		const struct cell *cells = g->n->rows[i].cells;
		const struct column *name = &g->n->columns[first - 1];

		struct cell *line = arena_array(&t->arena, first + 1, sizeof(*line));
		bool figure = name->right ||
			      isdigit((unsigned char)*(cells[first - 1].text ? cells[first - 1].text
									     : ""));

		/* A figure alone does not tell what it counts. */
		memcpy(line, cells, first * sizeof(*line));
		line[first] = line[first - 1];
		if (figure)
			line[first - 1] = cell(name->title);
		term_line(t, line, first + figure);
		for (size_t c = first; c < g->n->n_columns; c++)
			if (!cell_empty(&cells[c]))
				term_pair(t, g->n->columns[c].title, titles, &cells[c]);
	}
}

void term_table(struct term *t, const struct node *n)
{
	struct grid g;
	struct part p = { .hi = n->n_keys };

	grid_measure(t, &g, n);
	if (is_stacked(&g, (size_t)t->how->width)) {
		if (n->kind != NODE_TREE) {
			draw_stacked(t, &g);
			return;
		}
		g.tight = true;
	}
	do {
		p = part_from(&g, p.hi, (size_t)t->how->width);
		if (p.lo > n->n_keys)
			fputc('\n', t->out);
		draw_part(t, &g, &p);
	} while (p.hi < n->n_columns);
}
