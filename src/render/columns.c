/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, and names with values, out of schema tables. Knows no subject. */
#include "render/columns.h"

#include <string.h>

#include "render/figure.h"

static const struct field *field_of(const struct schema *s, size_t offset)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->fields[i].offset == offset)
			return &s->fields[i];
	return NULL;
}

static bool leaf(const struct field *f)
{
	return f->kind != FIELD_PART && f->kind != FIELD_LIST;
}

static const char *title_of(const struct picks *p, size_t i)
{
	const struct field *f = field_of(p->schema, p->rows[i].offset);

	return p->rows[i].title ? p->rows[i].title : f ? f->title : "";
}

static struct cell picked(struct doc *d, const struct machine *m, const struct picks *p, size_t i,
			  const void *object)
{
	const struct pick *pick = &p->rows[i];
	const struct field *f = pick->make ? NULL : field_of(p->schema, pick->offset);
	struct cell c = pick->make ? pick->make(d, m, object)
			: f	   ? cell_field(d, f, object)
				   : (struct cell){ .nothing = true };

	if (c.style == STYLE_PLAIN)
		c.style = pick->style;
	return c;
}

void show_object(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		 const void *object)
{
	struct node *n = doc_pairs(d, title);

	for (size_t i = 0; i < p->n; i++)
		node_pair(d, n, title_of(p, i), picked(d, m, p, i, object));
	node_drop_empty(n);
}

static struct node *table_for(struct doc *d, const char *title, const struct picks *p)
{
	struct column *columns = arena_array(d->arena, p->n, sizeof(*columns));

	for (size_t i = 0; i < p->n; i++) {
		const struct field *f =
			p->rows[i].make ? NULL : field_of(p->schema, p->rows[i].offset);
		bool figures = f && (f->kind == FIELD_INT || f->kind == FIELD_HEX);

		columns[i] = (struct column){ .title = title_of(p, i),
					      .wrap = p->rows[i].wrap,
					      .right = i && (figures || p->rows[i].right) };
	}
	return doc_table(d, title, columns, p->n);
}

struct node *show_table(struct doc *d, const struct machine *m, const char *title,
			const struct picks *p, const struct list *l)
{
	struct node *n = table_for(d, title, p);

	for (size_t i = 0; i < l->n; i++) {
		struct cell *row = node_row(d, n);

		for (size_t c = 0; c < p->n; c++)
			row[c] = picked(d, m, p, c, list_at(l, p->schema, i));
	}
	node_drop_empty(n);
	return n;
}

void show_objects(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		  const struct list *l)
{
	/* A single one needs no name to tell it from others. */
	struct picks rest = { .schema = p->schema, .rows = p->rows + 1, .n = p->n - 1 };

	if (l->n == 1)
		show_object(d, m, title, &rest, l->items);
	else
		show_table(d, m, title, p, l);
}

static bool same_text(const struct cell *a, const struct cell *b)
{
	return strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

/* The row that says the same as cells in all columns but the first, or n_rows. */
static size_t same_row(const struct node *n, const struct cell *cells)
{
	for (size_t i = 0; i < n->n_rows; i++) {
		size_t c = 1;

		while (c < n->n_columns && same_text(&n->rows[i].cells[c], &cells[c]))
			c++;
		if (c == n->n_columns)
			return i;
	}
	return n->n_rows;
}

void show_merged(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		 const struct list *l)
{
	struct node *n = table_for(d, title, p);
	struct idset *sets = arena_array(d->arena, l->n, sizeof(*sets));
	struct cell *cells = arena_array(d->arena, p->n, sizeof(*cells));
	const struct fact **sets_unseen = arena_array(d->arena, l->n, sizeof(*sets_unseen));

	for (size_t i = 0; i < l->n; i++) {
		const void *object = list_at(l, p->schema, i);
		const struct fact_set *set =
			(const void *)((const char *)object + p->rows[0].offset);
		size_t at;

		for (size_t c = 1; c < p->n; c++)
			cells[c] = picked(d, m, p, c, object);
		at = same_row(n, cells);
		if (at == n->n_rows)
			memcpy(node_row(d, n), cells, p->n * sizeof(*cells));
		sets_unseen[at] = seen_ok(&set->f) ? NULL : &set->f;
		if (sets_unseen[at])
			continue;
		IDSET_FOR_EACH (id, &set->v)
			idset_add(d->arena, &sets[at], id);
	}
	for (size_t i = 0; i < n->n_rows; i++)
		n->rows[i].cells[0] = sets[i].n || !sets_unseen[i]
					      ? cell(idset_format(d->arena, &sets[i]))
					      : cell_unseen(sets_unseen[i]);
	node_drop_empty(n);
}

static void schema_table(struct doc *d, const struct field *f, const struct list *l)
{
	const struct schema *s = f->sub;
	struct column *columns = arena_array(d->arena, s->n, sizeof(*columns));
	struct node *n;
	size_t k = 0;

	for (size_t i = 0; i < s->n; i++)
		if (leaf(&s->fields[i]))
			columns[k++] = (struct column){ .title = s->fields[i].title,
							.wrap = true,
							.right = s->fields[i].kind == FIELD_INT };
	n = doc_table(d, f->title, columns, k);
	for (size_t i = 0; i < l->n; i++) {
		struct cell *row = node_row(d, n);

		for (size_t c = 0; c < s->n; c++)
			if (leaf(&s->fields[c]))
				*row++ = cell_field(d, &s->fields[c], list_at(l, s, i));
	}
	node_drop_empty(n);
}

/* Lists inside the items of a list: a heading an item, for those that have any. */
static void schema_items(struct doc *d, unsigned level, const struct field *f, const struct list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *item = list_at(l, f->sub, i);

		for (size_t c = 0; c < f->sub->n; c++) {
			const struct field *sub = &f->sub->fields[c];
			const struct list *inner = (const void *)(item + sub->offset);

			if (sub->kind != FIELD_LIST || !inner->n)
				continue;
			doc_heading(d, level,
				    arena_printf(d->arena, "%s %s: %s", f->title,
						 cell_field(d, &f->sub->fields[0], item).text,
						 sub->title));
			schema_table(d, sub, inner);
		}
	}
}

void show_schema(struct doc *d, unsigned level, const struct schema *s, const void *object)
{
	struct node *n = doc_pairs(d, NULL);

	for (size_t i = 0; i < s->n; i++)
		if (leaf(&s->fields[i]))
			node_pair(d, n, s->fields[i].title, cell_field(d, &s->fields[i], object));
	node_drop_empty(n);
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == FIELD_PART) {
			doc_heading(d, level, f->title);
			show_schema(d, level + 1, f->sub, field_at(object, f));
		} else if (f->kind == FIELD_LIST) {
			schema_table(d, f, field_at(object, f));
			schema_items(d, level + 1, f, field_at(object, f));
		}
	}
}
