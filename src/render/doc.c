/* SPDX-License-Identifier: Apache-2.0 */
/* Building documents. Knows no medium and no fact. */
#include "render/doc.h"

#include <string.h>

#include "base/idset.h"
#include "base/text.h"

struct doc *doc_new(struct arena *a)
{
	struct doc *d = ARENA_NEW(a, struct doc);

	d->arena = a;
	return d;
}

static struct node *doc_add(struct doc *d, enum node_kind kind, const char *title)
{
	struct node *n = ARENA_NEW(d->arena, struct node);

	n->kind = kind;
	n->title = title;
	ARENA_ADD(d->arena, d->nodes, d->n) = n;
	return n;
}

static struct row *doc_add_row(struct doc *d, struct node *n, size_t cells)
{
	struct row *r;

	r = &ARENA_ADD(d->arena, n->rows, n->n_rows);
	*r = (struct row){ .cells = arena_array(d->arena, cells, sizeof(struct cell)) };
	return r;
}

void doc_heading(struct doc *d, unsigned level, const char *text)
{
	doc_add(d, NODE_HEADING, text)->level = level;
}

struct node *doc_paragraph(struct doc *d)
{
	return doc_add(d, NODE_PARAGRAPH, NULL);
}

struct node *doc_text(struct doc *d, const char *fmt, ...)
{
	struct node *n = doc_paragraph(d);
	va_list ap;

	va_start(ap, fmt);
	node_span(d, n, cell(arena_vprintf(d->arena, fmt, ap)));
	va_end(ap);
	return n;
}

struct node *doc_pairs(struct doc *d, const char *title)
{
	return doc_add(d, NODE_PAIRS, title);
}

static struct node *add_columns(struct doc *d, enum node_kind kind, const char *title,
				const struct column *columns, size_t n)
{
	struct node *t = doc_add(d, kind, title);

	t->columns = arena_array(d->arena, n, sizeof(*columns));
	memcpy(t->columns, columns, n * sizeof(*columns));
	t->n_columns = n;
	t->n_keys = 1;
	return t;
}

struct node *doc_table(struct doc *d, const char *title, const struct column *columns, size_t n)
{
	return add_columns(d, NODE_TABLE, title, columns, n);
}

struct node *doc_columns(struct doc *d, enum node_kind kind, const char *title,
			 const char *const *titles)
{
	enum { COLUMNS_MAX = 32 };
	struct column columns[COLUMNS_MAX] = { 0 };
	size_t n = 0, keys = 0;
	struct node *t;

	for (; titles[n] && n < COLUMNS_MAX; n++) {
		struct column *c = &columns[n];

		for (c->title = titles[n]; *c->title && strchr(">~!", *c->title); c->title++) {
			c->right = c->right || *c->title == '>';
			c->wrap = c->wrap || *c->title == '~';
			keys += *c->title == '!';
		}
	}
	t = add_columns(d, kind, title, columns, n);
	t->n_keys = keys ? keys : 1;
	return t;
}

struct node *doc_tree(struct doc *d, const char *title, const struct column *columns, size_t n)
{
	return add_columns(d, NODE_TREE, title, columns, n);
}

struct node *doc_bullets(struct doc *d)
{
	return doc_add(d, NODE_BULLETS, NULL);
}

struct node *doc_findings(struct doc *d, const char *title)
{
	struct node *n = doc_add(d, NODE_FINDINGS, title);

	n->n_columns = FOUND_COLUMNS;
	return n;
}

struct node *doc_verdict(struct doc *d, enum style style, const char *counts, const char *worst)
{
	struct node *n = doc_paragraph(d);

	n->verdict = true;
	node_span(d, n, cell_printf(d, style, "%s%s", counts, worst ? ":" : "."));
	if (worst)
		node_span(d, n, cellf(d, " %s%s", worst, str_ends(worst, ".") ? "" : "."));
	return n;
}

const char *doc_counts(struct doc *d, const char *const *names, const size_t *counts, size_t n)
{
	const char *s = NULL;

	for (size_t i = 0; i < n; i++)
		if (counts[i])
			s = arena_printf(d->arena, "%s%s%zu %s%s", s ? s : "", s ? ", " : "",
					 counts[i], names[i], PLURAL(counts[i]));
	return s;
}

void doc_code(struct doc *d, const char *text)
{
	doc_add(d, NODE_CODE, NULL)->text = text;
}

struct node *doc_figure(struct doc *d, const char *title, const char *svg, const char *alternative)
{
	struct node *n = doc_add(d, NODE_FIGURE, title);

	n->svg = svg;
	n->text = alternative;
	return n;
}

void doc_section(struct doc *d, unsigned level, const char *id, const char *title, struct cell say,
		 bool open)
{
	struct node *n = doc_add(d, NODE_SECTION, title);

	n->level = level;
	n->id = id;
	n->say = say;
	n->open = open;
}

void doc_section_end(struct doc *d)
{
	doc_add(d, NODE_SECTION_END, NULL);
}

void doc_append(struct doc *d, const struct doc *part, unsigned level)
{
	for (size_t i = 0; i < part->n; i++) {
		struct node *n = doc_add(d, NODE_PARAGRAPH, NULL);

		*n = *part->nodes[i];
		if (n->kind != NODE_HEADING && n->kind != NODE_SECTION)
			continue;
		if (n->kind == NODE_HEADING && n->level <= 1)
			d->n--;
		n->level += level - 1;
	}
}

void node_span(struct doc *d, struct node *paragraph, struct cell span)
{
	doc_add_row(d, paragraph, 1)->cells[0] = span;
}

void node_pair(struct doc *d, struct node *pairs, const char *name, struct cell value)
{
	struct row *r = doc_add_row(d, pairs, 2);

	r->cells[0] = cell(name);
	r->cells[1] = value;
}

void node_pairf(struct doc *d, struct node *pairs, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	node_pair(d, pairs, name, cell(arena_vprintf(d->arena, fmt, ap)));
	va_end(ap);
}

void node_bullet(struct doc *d, struct node *bullets, struct cell text)
{
	doc_add_row(d, bullets, 1)->cells[0] = text;
}

void node_found(struct doc *d, struct node *findings, const struct found *f)
{
	struct row *r = doc_add_row(d, findings, FOUND_COLUMNS);
	struct cell *c = r->cells;

	r->careful = f->careful;
	c[FOUND_BADGE] = f->badge;
	/* Words that nobody types are no code. */
	c[FOUND_ID] = cell_as(f->id && strchr(f->id, ' ') ? STYLE_STRONG : STYLE_CODE, f->id);
	c[FOUND_ON] = cell(f->on);
	c[FOUND_NOW] = cell(f->now);
	c[FOUND_WANTED] = cell_as(STYLE_STRONG, f->wanted);
	c[FOUND_WHY] = cell(f->why);
	c[FOUND_FIX] = f->fix;
}

void node_more(struct doc *d, struct node *findings, const char *name, struct cell value)
{
	struct row *r = &findings->rows[findings->n_rows - 1];

	if (cell_empty(&value))
		return;
	ARENA_ADD(d->arena, r->more, r->n_more) = cell(name);
	ARENA_ADD(d->arena, r->more, r->n_more) = value;
}

struct cell *node_row(struct doc *d, struct node *table)
{
	return doc_add_row(d, table, table->n_columns)->cells;
}

struct cell *node_cells(struct doc *d, struct node *table, const struct cell *cells, size_t n)
{
	n = n < table->n_columns ? n : table->n_columns;
	return memcpy(node_row(d, table), cells, n * sizeof(*cells));
}

struct cell *node_branch(struct doc *d, struct node *tree, unsigned depth)
{
	struct row *r = doc_add_row(d, tree, tree->n_columns);
	/* A row can lie one step below the one before it, not more. */
	unsigned most = tree->n_rows > 1 ? r[-1].depth + 1 : 0;

	r->depth = depth < most ? depth : most;
	return r->cells;
}

static bool column_empty(const struct node *n, size_t column)
{
	for (size_t i = 0; i < n->n_rows; i++)
		if (!cell_empty(&n->rows[i].cells[column]))
			return false;
	return true;
}

static void drop_pairs(struct node *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n_rows; i++)
		if (!cell_empty(&n->rows[i].cells[1]))
			n->rows[kept++] = n->rows[i];
	n->n_rows = kept;
}

void node_drop_empty(struct node *n)
{
	size_t kept = 1, keys = n->n_keys;

	if (n->kind == NODE_PAIRS)
		drop_pairs(n);
	if (n->kind != NODE_TABLE && n->kind != NODE_TREE)
		return;
	for (size_t c = 1; c < n->n_columns; c++) {
		if (column_empty(n, c)) {
			keys -= c < n->n_keys;
			continue;
		}
		for (size_t i = 0; i < n->n_rows; i++)
			n->rows[i].cells[kept] = n->rows[i].cells[c];
		n->columns[kept++] = n->columns[c];
	}
	/* A column of names alone says nothing. */
	if (n->kind == NODE_TABLE && n->n_columns > 1 && kept == 1)
		n->n_rows = 0;
	if (n->n_columns)
		n->n_columns = kept;
	n->n_keys = keys;
}

static bool same_text(const struct cell *a, const struct cell *b)
{
	return strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

/* The first row that says the same in all columns but the first. */
static size_t same_row(const struct node *n, size_t rows, const struct cell *cells)
{
	size_t i = 0;

	for (; i < rows; i++) {
		size_t c = 1;

		while (c < n->n_columns && same_text(&n->rows[i].cells[c], &cells[c]))
			c++;
		if (c == n->n_columns)
			break;
	}
	return i;
}

/* Numbers and ranges as one set, other names one after the other. */
static const char *joined_names(struct arena *a, const char *x, const char *y)
{
	struct idset all = { 0 }, more = { 0 };

	if (strcmp(x, y) == 0)
		return x;
	if (idset_parse(a, x, &all) || idset_parse(a, y, &more))
		return arena_printf(a, "%s, %s", x, y);
	IDSET_FOR_EACH (id, &more)
		idset_add(a, &all, id);
	return idset_format(a, &all);
}

/* When most objects are alike, marks the cells in which the others differ. */
static void mark_odd(struct node *n, const size_t *objects, size_t of)
{
	size_t most = 0;

	while (most < n->n_rows && objects[most] * 2 <= of)
		most++;
	for (size_t i = 0; most < n->n_rows && of > 2 && i < n->n_rows; i++)
		for (size_t c = 1; c < n->n_columns; c++) {
			struct cell *it = &n->rows[i].cells[c];

			if (it->style == STYLE_PLAIN && !same_text(it, &n->rows[most].cells[c]))
				it->style = STYLE_STRONG;
		}
}

void node_merge(struct doc *d, struct node *n)
{
	size_t *objects = arena_array(d->arena, n->n_rows, sizeof(*objects)), kept = 0,
	       of = n->n_rows;

	for (size_t i = 0; i < of && n->n_columns > 1; i++) {
		struct cell *cells = n->rows[i].cells, *name;
		size_t at = same_row(n, kept, cells);

		objects[at]++;
		if (at == kept) {
			n->rows[kept++] = n->rows[i];
			continue;
		}
		name = &n->rows[at].cells[0];
		name->text = joined_names(d->arena, name->text, cells[0].text);
	}
	if (n->n_columns < 2 || kept == of)
		return;
	n->n_rows = kept;
	n->columns[0].wrap = true;
	mark_odd(n, objects, of);
}

bool node_nothing(const struct node *n)
{
	switch (n->kind) {
	case NODE_HEADING:
	case NODE_CODE:
	case NODE_FIGURE:
	case NODE_SECTION:
	case NODE_SECTION_END:
		return false;
	default:
		return n->n_rows == 0;
	}
}

struct cell cell_printf(struct doc *d, enum style style, const char *fmt, ...)
{
	struct cell c = { .style = style };
	va_list ap;

	va_start(ap, fmt);
	c.text = arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
	return c;
}

struct cell cellf(struct doc *d, const char *fmt, ...)
{
	struct cell c;
	va_list ap;

	va_start(ap, fmt);
	c = cell(arena_vprintf(d->arena, fmt, ap));
	va_end(ap);
	return c;
}
