/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables and trees on a terminal. Drawing is libsmartcols'; here stands what it does not do:
 * breaking between words, and folding a table that is too wide into parts that each begin with the
 * column that names the row.
 */
#include <ctype.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "render/glyph.h"
#include "render/term.h"

enum {
	GAP = 2,       /* between columns */
	WRAP_MIN = 16, /* a column is not broken to less */
	TREE_STEP = 2, /* columns that a level of a tree takes */
	NARROW = 60,   /* up to here a table is rather stacked than a word broken */
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

/* A first column and [lo, hi), and how wide each of them may be (0: as it is). */
struct part {
	size_t first, lo, hi;
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
		g->widths[c] = g->titles[c] = glyph_width(n->columns[c].title);
	for (size_t i = 0; i < n->n_rows; i++) {
		for (size_t c = 0; c < n->n_columns; c++) {
			const char *s = n->rows[i].cells[c].text;
			size_t w;

			text_clear(&clean);
			glyph_clean(&clean, s ? s : "", t->how->ascii);
			g->texts[i * n->n_columns + c] =
				arena_strndup(&t->arena, clean.s ? clean.s : "", clean.len);
			w = glyph_width(g->texts[i * n->n_columns + c]);
			if (c == 0 && n->kind == NODE_TREE)
				w += TREE_STEP * (size_t)n->rows[i].depth;
			g->widths[c] = w > g->widths[c] ? w : g->widths[c];
			w = glyph_word_width(g->texts[i * n->n_columns + c]);
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

static size_t part_width(const struct grid *g, const struct part *p, size_t limit)
{
	size_t w = column_width(g, p->first, limit, p->whole);

	for (size_t c = p->lo; c < p->hi; c++)
		w += GAP + column_width(g, c, limit, p->whole);
	return w;
}

/* The column behind c in a part. */
static size_t next_in(const struct part *p, size_t c)
{
	return c == p->first ? p->lo : c + 1;
}

/* What tells rows apart: a column without a title before it only rates them. */
static size_t naming_column(const struct node *n)
{
	return n->kind != NODE_TREE && n->n_columns > 2 && !*n->columns[0].title ? 1 : 0;
}

/* As many columns from lo on as fit, at least one, and the widest limit that lets them. */
static struct part part_from(const struct grid *g, size_t lo, size_t width)
{
	struct part p = { .first = lo > 1 ? naming_column(g->n) : 0,
			  .lo = lo,
			  .hi = g->n->n_columns };
	size_t limit = WRAP_MIN;

	if (!width || part_width(g, &p, 0) <= width)
		return p;
	while (p.hi > lo + 1 && part_width(g, &p, WRAP_MIN) > width)
		p.hi--;
	p.whole = true;
	p.whole = part_width(g, &p, WRAP_MIN) <= width;
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

	if (glyph_width(s) <= limit)
		return s;
	glyph_wrap(&wrapped, s, limit);
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

static void add_row(struct term *t, struct libscols_table *tb, const struct grid *g,
		    const struct part *p, struct libscols_line **lines, size_t i)
{
	const struct node *n = g->n;
	bool tree = n->kind == NODE_TREE;
	size_t at = 0;

	lines[i] = scols_table_new_line(tb, tree ? parent_of(n, lines, i) : NULL);
	must(lines[i]);
	for (size_t c = p->first; c < p->hi; c = next_in(p, c)) {
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
	for (size_t c = p->first; c < p->hi; c = next_in(p, c))
		add_column(t, tb, g->n, c, p->limit && may_break(g, c));
	for (size_t i = 0; i < g->n->n_rows; i++)
		add_row(t, tb, g, p, lines, i);
	must(!scols_print_table_to_string(tb, &drawn));
	/* It does not tell when it had no room for a line. */
	must(lines_of(drawn) >= g->n->n_rows);
	if (drawn)
		print_trimmed(t->out, drawn);
	free(drawn);
	scols_unref_table(tb);
}

/* Whether the part is too wide; in little room also whether it breaks a word that has room in a
 * line of its own. */
static bool does_not_fit(const struct grid *g, const struct part *p, size_t width)
{
	size_t word = g->words[p->first];

	if (!width || part_width(g, p, p->limit) > width)
		return width > 0;
	for (size_t c = p->lo; c < p->hi; c++)
		word = g->words[c] > word ? g->words[c] : word;
	return width <= NARROW && p->limit && !p->whole && word + 4 <= width;
}

static bool has_no_room(const struct grid *g, size_t width)
{
	struct part p = { .hi = 1 };

	if (g->n->n_columns < 2)
		return false;
	do {
		p = part_from(g, p.hi, width);
		if (does_not_fit(g, &p, width))
			return true;
	} while (p.hi < g->n->n_columns);
	return false;
}

/* Too narrow for two columns beside each other: each row is its name and, below it, its cells. */
static void draw_stacked(struct term *t, const struct grid *g)
{
	size_t first = naming_column(g->n) + 1, titles = 0;

	for (size_t c = first; c < g->n->n_columns; c++)
		titles = g->titles[c] > titles ? g->titles[c] : titles;
	for (size_t i = 0; i < g->n->n_rows; i++) {
		const struct cell *cells = g->n->rows[i].cells;
		const struct column *name = &g->n->columns[first - 1];

		/* A figure alone does not tell what it counts. */
		if (name->right ||
		    (cells[first - 1].text && isdigit((unsigned char)*cells[first - 1].text)))
			term_line(t, (struct cell[]){ cell(name->title), cells[first - 1] }, 2);
		else
			term_line(t, cells, first);
		for (size_t c = first; c < g->n->n_columns; c++)
			if (!cell_empty(&cells[c]))
				term_pair(t, g->n->columns[c].title, titles, &cells[c]);
	}
}

void term_table(struct term *t, const struct node *n)
{
	struct grid g;
	struct part p = { .hi = 1 };

	grid_measure(t, &g, n);
	if (has_no_room(&g, (size_t)t->how->width)) {
		if (n->kind != NODE_TREE) {
			draw_stacked(t, &g);
			return;
		}
		g.tight = true;
	}
	do {
		p = part_from(&g, p.hi, (size_t)t->how->width);
		if (p.lo > 1)
			fputc('\n', t->out);
		draw_part(t, &g, &p);
	} while (p.hi < n->n_columns);
}
