/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document: what a page says, not how it looks. Pages build one from these few kinds of nodes,
 * renderers draw them. Everything lives in the document's arena; texts that a page hands over are
 * not copied and must live as long. Texts may hold any bytes: a renderer makes them harmless for
 * its medium.
 */
#ifndef RENDER_DOC_H
#define RENDER_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"

/* What a piece of text means; renderers choose colours. */
enum style {
	STYLE_PLAIN,
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD,
	STYLE_UNKNOWN, /* could not be seen */
	STYLE_MUTED,   /* of less interest */
	STYLE_STRONG,
	STYLE_CODE, /* a path, a command, a name that a program reads */
	STYLES,
};

struct cell {
	const char *text; /* NULL: nothing */
	enum style style;
	bool nothing;	    /* says only that there is nothing; a column of such cells is not worth
			       showing */
	unsigned char heat; /* in a matrix: 1 (far from the best) to 5; 0: not coloured */
	const char *link;   /* id of a section of the same page; NULL: none. Only HTML follows it */
};

struct term_style;

enum node_kind {
	NODE_HEADING,
	NODE_PARAGRAPH,
	NODE_PAIRS, /* names and values */
	NODE_TABLE,
	NODE_TREE, /* a table whose first column is nested by each row's depth */
	NODE_BULLETS,
	NODE_FINDINGS, /* what was found: a badge, what and where, now and wanted, why, what mends
			  it */
	NODE_CODE,     /* kept as it is, line by line */
	NODE_FIGURE,
	NODE_SECTION,	  /* what follows, up to its end, can be folded; with a heading */
	NODE_SECTION_END, /* sections nest */
};

struct column {
	const char *title;
	bool right; /* figures */
	bool wrap;  /* may be broken between words where the medium is narrow */
};

/* A row of a table; of a tree when depth is used; of findings, with names and values behind. */
struct row {
	struct cell *cells; /* one a column */
	unsigned depth;
	struct cell *more; /* name, value, name, value ... */
	size_t n_more;
	bool careful; /* as of struct found */
};

/* The columns of NODE_FINDINGS. */
enum {
	FOUND_BADGE,
	FOUND_ID,
	FOUND_ON,
	FOUND_NOW,
	FOUND_WANTED,
	FOUND_WHY,
	FOUND_FIX,
	FOUND_COLUMNS
};

/* One thing that was found; texts that are NULL or empty say nothing. */
struct found {
	struct cell badge;	  /* a word in its style: "critical", "ok" */
	const char *id;		  /* the name that it is asked for by */
	const char *on;		  /* the objects that have it; none: it is the machine's */
	const char *now, *wanted; /* with their units: figure_values */
	const char *why;
	struct cell fix; /* a command (STYLE_CODE), or what a person does */
	bool careful;	 /* fix can stop a service or worse: no button takes it with others */
};

struct node {
	enum node_kind kind;
	unsigned level;	   /* NODE_HEADING, NODE_SECTION: 1 is the page's own */
	const char *title; /* heading, caption; NULL: none */
	bool verdict;	   /* NODE_PARAGRAPH: what the page says first */
	const char *text;  /* NODE_CODE; NODE_FIGURE: the text alternative; NULL: only drawn */
	const char *svg;   /* NODE_FIGURE: trusted SVG of our own making, already escaped */
	/* NODE_FIGURE: draws what as letters, in the arena, for this medium; NULL: text is it */
	const char *(*letters)(struct arena *a, const void *what, const struct term_style *how);
	const void *what;
	struct column *columns; /* NODE_TABLE, NODE_TREE */
	size_t n_columns;
	size_t n_keys;	  /* of a table: its first columns, which name a row; at least 1 */
	struct row *rows; /* table, tree; pairs (name, value), bullets (text), paragraph (spans) */
	size_t n_rows;
	const char *id;	 /* NODE_SECTION: unique in the page; letters, digits and '-' */
	struct cell say; /* NODE_SECTION: what stands beside its heading: "3 to fix" */
	bool open;	 /* NODE_SECTION: not folded at first */
	bool apart;	 /* NODE_SECTION: begins a page of paper */
};

struct doc {
	struct arena *arena;
	struct node **nodes;
	size_t n;
	bool tools; /* HTML gets a list of sections, and a script to filter, sort and fold */
};

struct doc *doc_new(struct arena *a);

/* --- nodes
 * ----------------------------------------------------------------------------------------- */
void doc_heading(struct doc *d, unsigned level, const char *text);
/* A paragraph of one text; more spans follow with node_span. */
struct node *doc_text(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct node *doc_paragraph(struct doc *d);
struct node *doc_pairs(struct doc *d, const char *title);
/* columns is copied. */
struct node *doc_table(struct doc *d, const char *title, const struct column *columns, size_t n);
struct node *doc_tree(struct doc *d, const char *title, const struct column *columns, size_t n);
/* A table or tree by its columns' titles: ">GPUs" has figures, "~why" may be broken between words,
 * ">~" is both; "!On" is one of several first columns that only together name a row, without any
 * the first does. The first NULL ends them. */
struct node *doc_columns(struct doc *d, enum node_kind kind, const char *title,
			 const char *const *columns);
#define DOC_TABLE(d, title, ...)                                                                   \
	doc_columns((d), NODE_TABLE, (title), (const char *const[]){ __VA_ARGS__, NULL })
#define DOC_TREE(d, title, ...)                                                                    \
	doc_columns((d), NODE_TREE, (title), (const char *const[]){ __VA_ARGS__, NULL })
struct node *doc_bullets(struct doc *d);
struct node *doc_findings(struct doc *d, const char *title);
/* The first line of a page that judges: how many of what, and the worst of it in words (NULL:
 * none). */
struct node *doc_verdict(struct doc *d, enum style style, const char *counts, const char *worst);
/* "2 faults, 1 note"; names in the singular, those without any left out; NULL: none at all. */
const char *doc_counts(struct doc *d, const char *const *names, const size_t *counts, size_t n);
void doc_code(struct doc *d, const char *text);
/* alternative NULL: for HTML alone, unless the node returned gets letters. */
struct node *doc_figure(struct doc *d, const char *title, const char *svg, const char *alternative);

/* A part that can be folded; its heading is title. doc_section_end closes the innermost. */
void doc_section(struct doc *d, unsigned level, const char *id, const char *title, struct cell say,
		 bool open);
void doc_section_end(struct doc *d);
/* Adds what part says, as a section of this level does: its headings of level 1 are left out,
 * because the section has one; others are that much deeper. part's arena must live as long. */
void doc_append(struct doc *d, const struct doc *part, unsigned level);

/* --- filling them
 * ---------------------------------------------------------------------------------- */
/* Spans stand next to each other; blanks between them are the caller's. */
void node_span(struct doc *d, struct node *paragraph, struct cell span);
void node_pair(struct doc *d, struct node *pairs, const char *name, struct cell value);
void node_pairf(struct doc *d, struct node *pairs, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void node_bullet(struct doc *d, struct node *bullets, struct cell text);
void node_found(struct doc *d, struct node *findings, const struct found *f);
/* More of the last finding: what stands below it by name; nothing where the cell is empty. */
void node_more(struct doc *d, struct node *findings, const char *name, struct cell value);
/* A new row of empty cells to be filled: one a column. Valid until the next row is added. */
struct cell *node_row(struct doc *d, struct node *table);
/* A new row of these cells, from the first column on; the others are empty. */
struct cell *node_cells(struct doc *d, struct node *table, const struct cell *cells, size_t n);
#define NODE_ROW(d, table, ...)                                                                    \
	node_cells((d), (table), (const struct cell[]){ __VA_ARGS__ },                             \
		   sizeof((const struct cell[]){ __VA_ARGS__ }) / sizeof(struct cell))
/* The same below the last row of a smaller depth. */
struct cell *node_branch(struct doc *d, struct node *tree, unsigned depth);

/*
 * Makes one row of those that differ in their first column alone: "0-4,6,7" of numbers and ranges,
 * other names behind each other. Where most rows became one, the cells in which the others differ
 * from it are strong.
 */
void node_merge(struct doc *d, struct node *table);
/*
 * Drops columns, other than the first, in which every cell is empty or says that there is nothing;
 * pairs whose value is so; and the whole node when nothing is left (it stays in the document,
 * without rows).
 */
void node_drop_empty(struct node *n);
/* True for a list, table or tree without rows: renderers leave it out, its title too. */
bool node_nothing(const struct node *n);

static inline struct cell cell(const char *text)
{
	return (struct cell){ .text = text };
}

static inline struct cell cell_as(enum style style, const char *text)
{
	return (struct cell){ .text = text, .style = style };
}

struct cell cell_printf(struct doc *d, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* In the plain style. */
struct cell cellf(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline bool cell_empty(const struct cell *c)
{
	return c->nothing || !c->text || !*c->text;
}

/* --- renderers: doc_term.c, doc_md.c, doc_html.c
 * ---------------------------------------------------- */
struct term_style {
	int width; /* columns; 0: no wrapping and no folding (not a terminal) */
	bool colour;
	bool ascii; /* no character beyond ASCII; needed unless the locale's charset is UTF-8 */
};

void doc_term(FILE *out, const struct doc *d, const struct term_style *how);
/* GitHub's Markdown. */
void doc_md(FILE *out, const struct doc *d);
/* One page that needs no other file, or, without a title (NULL), the part inside its body. */
void doc_html(FILE *out, const struct doc *d, const char *title);
/*
 * The frame of a page, for whoever puts fragments into it: everything before the body's text, and
 * after it. Nothing but the one style sheet and the one script that stand in it can
 * take effect: their hashes are its content security policy. sections (may be NULL) are listed for
 * navigation.
 */
void doc_html_begin(FILE *out, const char *title, bool tools, const struct doc *sections);
void doc_html_end(FILE *out, bool tools);

#endif
