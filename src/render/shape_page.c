/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of a result's structs to nodes of a page. It knows rows, not what they are about.
 */
#include <string.h>

#include "render/figure.h"
#include "render/shape_page.h"

unsigned shape_strong(const void *object)
{
	(void)object;
	return STYLE_STRONG;
}

unsigned shape_code(const void *object)
{
	(void)object;
	return STYLE_CODE;
}

unsigned shape_muted(const void *object)
{
	(void)object;
	return STYLE_MUTED;
}

static const char *shape_amount(struct arena *a, const struct shape_row *r, double v)
{
	const char *unit = r->unit ? r->unit : "";

	if (strcmp(unit, "GB") == 0)
		return arena_printf(a, "%.2f GB", v / 1e9);
	if (strcmp(unit, "s") == 0)
		return figure_ms(a, 1e3 * v);
	return arena_printf(a, "%s%s%s", figure_number(a, v), *unit ? " " : "", unit);
}

static const char *shape_joined(struct arena *a, const struct shape_row *r, const void *object)
{
	const char *const *items = shape_at(r, object);
	const char *all = "";

	for (size_t i = 0; i < shape_items(r, object); i++)
		all = arena_printf(a, "%s%s%s", all, i ? ", " : "", items[i]);
	return all;
}

/* NULL: nothing to show. total: 0 or what an amount is a part of. */
static const char *shape_cell_text(struct arena *a, const struct shape_row *r, const void *object,
				   double total)
{
	double v;

	switch (r->kind) {
	case SHAPE_KIND_COUNT:
		return arena_printf(a, "%.0f%s%s", shape_number(r, object), r->unit ? " " : "",
				    r->unit ? r->unit : "");
	case SHAPE_KIND_REAL:
		v = shape_number(r, object);
		return total > 0 ? arena_printf(a, "%s (%.1f %%)", shape_amount(a, r, v),
						100 * v / total)
				 : shape_amount(a, r, v);
	case SHAPE_KIND_FLAG:
		return shape_flag(r, object) ? "yes" : "no";
	case SHAPE_KIND_TIME:
		return figure_time(a, *(const long long *)shape_at(r, object));
	case SHAPE_KIND_TEXTS:
		return shape_joined(a, r, object);
	case SHAPE_KIND_TEXT:
	case SHAPE_KIND_CHOICE:
	case SHAPE_KIND_WORD:
		return shape_text(r, object);
	default:
		return NULL;
	}
}

/* How a fact was not seen is said, too. */
static struct cell shape_fact_cell(struct doc *d, const struct shape_row *r, const void *fact)
{
	const struct fact_int *i = fact;

	switch (r->kind) {
	case SHAPE_KIND_FACT_TEXT:
		return cell_str(fact);
	case SHAPE_KIND_FACT_SET:
		return cell_set(d, fact);
	case SHAPE_KIND_FACT_FLAG:
		return cell_bool(fact, "yes", "no");
	case SHAPE_KIND_FACT_HEX:
		return seen_ok(&i->f)
			       ? cell_printf(d, STYLE_PLAIN, "0x%llx", (unsigned long long)i->v)
			       : cell_unseen(&i->f);
	default:
		if (seen_ok(&i->f) && r->unit && strcmp(r->unit, "bytes") == 0 && i->v == -1)
			return cell("unlimited");
		return cell_int(d, fact, r->unit);
	}
}

static struct cell shape_figure_cell(struct doc *d, const struct shape_row *r, const void *object,
				     double total)
{
	struct shape_made room;
	const void *from = object;
	struct cell c = { 0 };

	if (r->style_of)
		c.style = (enum style)r->style_of(object);
	if (r->shown) {
		c.text = r->shown(d->arena, object);
		return c;
	}
	r = shape_make(d->arena, r, &from, &room);
	if (r && shape_is_fact(r))
		return shape_fact_cell(d, r, shape_at(r, from));
	if (r && shape_known(r, from))
		c.text = shape_cell_text(d->arena, r, from, total);
	return c;
}

struct cell shape_cell(struct doc *d, const struct shape_row *r, const void *object)
{
	return shape_figure_cell(d, r, object, 0);
}

static const char *shape_title(const struct shape_row *r)
{
	return r->title + (*r->title == '~');
}

struct node *shape_pairs(struct doc *d, const char *title, const struct shape *s,
			 const void *object, double total)
{
	struct node *n = doc_pairs(d, title);

	s = shape_form(s, object);
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		bool zero = r->kind == SHAPE_KIND_REAL && !r->shown && shape_known(r, object) &&
			    shape_number(r, object) == 0;
		struct cell c = { 0 };

		if (r->title && !zero)
			c = shape_figure_cell(d, r, object, total);
		if (c.text)
			node_pair(d, n, shape_title(r), c);
	}
	return n;
}

/* --- tables -------------------------------------------------------------------------------- */

/* A row of the items' shape, or of an object in it. */
struct shape_column {
	const struct shape_row *in, *row;
};

static size_t shape_columns(const struct shape *s, const struct shape_row *in,
			    struct shape_column *to, size_t n)
{
	for (size_t i = 0; i < s->n && n < SHAPE_COLUMNS_MAX; i++) {
		const struct shape_row *r = &s->rows[i];

		if (r->title && r->kind == SHAPE_KIND_OBJECT && !r->shown && !in)
			n = shape_columns(r->sub, r, to, n);
		else if (r->title)
			to[n++] = (struct shape_column){ in, r };
	}
	return n;
}

static struct cell shape_column_cell(struct doc *d, const struct shape_column *c, const void *item)
{
	struct shape_made room;
	const struct shape_row *in = c->in;

	if (in) {
		in = shape_make(d->arena, in, &item, &room);
		if (!in || !shape_known(in, item))
			return (struct cell){ 0 };
		item = shape_at(in, item);
	}
	return shape_cell(d, c->row, item);
}

bool shape_is_number(const struct shape_row *r)
{
	return r->kind == SHAPE_KIND_COUNT || r->kind == SHAPE_KIND_REAL ||
	       r->kind == SHAPE_KIND_FACT_INT || r->kind == SHAPE_KIND_FACT_HEX;
}

static struct node *shape_table_of(struct doc *d, const char *title, const struct shape_row *list,
				   const void *object)
{
	const struct shape *s = list->sub->forms ? list->sub->forms[0] : list->sub;
	struct shape_column from[SHAPE_COLUMNS_MAX];
	struct column columns[SHAPE_COLUMNS_MAX];
	size_t n = shape_columns(s, NULL, from, 0);
	struct node *t;

	for (size_t i = 0; i < n; i++)
		columns[i] = (struct column){ .title = shape_title(from[i].row),
					      .right = shape_is_number(from[i].row),
					      .wrap = *from[i].row->title == '~' };
	t = doc_table(d, title, columns, n);
	for (size_t i = 0; i < shape_items(list, object); i++) {
		const void *item = shape_item(list, object, i);
		struct cell *cells = item ? node_row(d, t) : NULL;

		for (size_t k = 0; cells && k < n; k++)
			cells[k] = shape_column_cell(d, &from[k], item);
	}
	return t;
}

struct node *shape_table(struct doc *d, const char *title, const struct shape *s, const void *items,
			 size_t n)
{
	const struct shape_made object = { .at = items, .n = n };
	const struct shape_row list = { .kind = SHAPE_KIND_LIST,
					.pointer = true,
					.offset = offsetof(struct shape_made, at),
					.n_offset = offsetof(struct shape_made, n),
					.size = s->size,
					.sub = s };

	return shape_table_of(d, title, &list, &object);
}

struct node *shape_list_table(struct doc *d, const char *title, const struct shape *s,
			      const char *key, const void *object)
{
	const struct shape_row *r = shape_row_of(s, key);
	struct shape_made room;
	const struct shape_row *list = shape_make(d->arena, r, &object, &room);

	return list ? shape_table_of(d, title, list, object)
		    : shape_table(d, title, r->sub, NULL, 0);
}
