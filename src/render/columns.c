/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, and names with values, out of shapes. Knows no subject. */
#include "render/columns.h"

#include <string.h>

#include "render/figure.h"
#include "render/shape_page.h"

/* NULL: the cell is made of several facts. */
static const struct shape_row *row_of(const struct picks *p, size_t i)
{
	const struct shape_row *r = p->shape->rows;

	if (p->rows[i].make)
		return NULL;
	while (r->offset != p->rows[i].offset)
		r++;
	return r;
}

static const char *title_of(const struct picks *p, size_t i)
{
	return p->rows[i].title ? p->rows[i].title : row_of(p, i)->title;
}

/* A fact as its row shows it; out of another; a place that the kernel calls -1 is none. */
static struct cell picked_fact(struct doc *d, const struct shape_row *r, const struct pick *p,
			       const void *object)
{
	const char *at = object;
	const struct fact_int *f = (const void *)(at + r->offset);

	if (p->most)
		return cell_now_max(d, f, (const void *)(at + p->most - 1), r->unit);
	if (strcmp(r->key, "numa_node") == 0 && fact_or(f, 0) < 0)
		return (struct cell){ .text = "-", .style = STYLE_MUTED, .nothing = true };
	return shape_cell(d, r, object);
}

static struct cell picked(struct doc *d, const struct machine *m, const struct picks *p, size_t i,
			  const void *object)
{
	const struct pick *pick = &p->rows[i];
	struct cell c =
		pick->make ? pick->make(d, m, object) : picked_fact(d, row_of(p, i), pick, object);

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
		const struct shape_row *r = row_of(p, i);
		bool right = p->rows[i].right || (r && shape_is_number(r));

		columns[i] = (struct column){ .title = title_of(p, i),
					      .wrap = p->rows[i].wrap,
					      .right = i && right };
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
			row[c] = picked(d, m, p, c, list_at(l, p->shape, i));
	}
	node_merge(d, n);
	node_drop_empty(n);
	return n;
}

void show_objects(struct doc *d, const struct machine *m, const char *title, const struct picks *p,
		  const struct list *l)
{
	/* A single one needs no name to tell it from others. */
	struct picks rest = { .shape = p->shape, .rows = p->rows + 1, .n = p->n - 1 };

	if (l->n == 1)
		show_object(d, m, title, &rest, l->items);
	else
		show_table(d, m, title, p, l);
}

static void rows_table(struct doc *d, const struct shape_row *list, const void *object)
{
	struct node *n = shape_table(d, list->title, list->sub, shape_at(list, object),
				     shape_items(list, object));

	for (size_t i = 0; i < n->n_columns; i++)
		n->columns[i].wrap = true;
	n->columns[0].right = false; /* names and numbers of objects */
	node_drop_empty(n);
}

/* Lists inside the items of a list: a heading an item, for those that have any. */
static void rows_below(struct doc *d, unsigned level, const struct shape_row *list,
		       const void *object)
{
	const struct shape_row *rows = list->sub->rows;

	for (size_t i = 0; i < shape_items(list, object); i++) {
		const void *item = shape_item(list, object, i);

		for (size_t c = 0; c < list->sub->n; c++) {
			if (rows[c].kind != SHAPE_KIND_LIST || !shape_items(&rows[c], item))
				continue;
			doc_heading(d, level,
				    arena_printf(d->arena, "%s %s: %s", list->title,
						 shape_cell(d, &rows[0], item).text,
						 rows[c].title));
			rows_table(d, &rows[c], item);
		}
	}
}

void show_shape(struct doc *d, unsigned level, const struct shape *s, const void *object)
{
	node_drop_empty(shape_pairs(d, NULL, s, object, 0));
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];

		if (r->kind == SHAPE_KIND_OBJECT) {
			doc_heading(d, level, r->title);
			show_shape(d, level + 1, r->sub, shape_at(r, object));
		} else if (r->kind == SHAPE_KIND_LIST) {
			rows_table(d, r, object);
			rows_below(d, level + 1, r, object);
		}
	}
}
