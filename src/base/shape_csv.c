/* SPDX-License-Identifier: Apache-2.0 */
/* A list of a result as CSV (RFC 4180), by its rows: what JSON says, flat. */
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"

/* Where the next cell goes. */
struct csv {
	struct text *out;
	bool begun; /* the line has a cell */
};

static void csv_cell(struct csv *c, const char *s)
{
	if (c->begun)
		text_addc(c->out, ',');
	c->begun = true;
	if (!strpbrk(s, ",\"\r\n")) {
		text_add(c->out, s);
		return;
	}
	text_addc(c->out, '"');
	for (; *s; s++)
		text_printf(c->out, *s == '"' ? "\"\"" : "%c", *s);
	text_addc(c->out, '"');
}

static void csv_end(struct csv *c)
{
	text_add(c->out, "\r\n");
	c->begun = false;
}

/* Lists have no place in a cell. */
static bool csv_has(const struct shape_row *r)
{
	return r->kind != SHAPE_KIND_LIST && r->kind != SHAPE_KIND_REALS &&
	       r->kind != SHAPE_KIND_COUNTS && r->kind != SHAPE_KIND_JSON;
}

static void csv_head(struct csv *c, struct arena *a, const struct shape *s, const char *above)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		const char *key = shape_is_value(s) ? "value" : r->key;

		if (key && r->kind == SHAPE_KIND_OBJECT)
			csv_head(c, a, r->sub, arena_printf(a, "%s%s.", above, key));
		else if (key && csv_has(r))
			csv_cell(c, arena_printf(a, "%s%s", above, key));
	}
}

static void csv_value(struct csv *c, struct arena *a, const struct shape_row *r, const void *object)
{
	json_t *j = object ? shape_figure_json(r, object) : NULL, *item;
	json_t *v = shape_is_fact(r) ? json_object_get(j, "value") : j;
	const char *all = "";
	char *text = NULL;
	size_t i;

	json_array_foreach(v, i, item) all =
		arena_printf(a, "%s%s%s", all, i ? "; " : "", json_string_value(item));
	if (json_is_string(v))
		all = json_string_value(v);
	else if (v && !json_is_null(v) && !json_is_array(v))
		text = json_dumps(v, JSON_ENCODE_ANY);
	csv_cell(c, text ? text : all);
	free(text);
	json_decref(j);
}

/* object NULL: cells of what is not there. */
static void csv_cells(struct csv *c, struct arena *a, const struct shape *s, const void *object)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i], *made = r;
		struct shape_made room;
		const void *from = object;

		if (!r->key && !shape_is_value(s))
			continue;
		if (r->kind != SHAPE_KIND_OBJECT) {
			if (csv_has(r))
				csv_value(c, a, r, object);
			continue;
		}
		if (from)
			made = shape_make(a, r, &from, &room);
		csv_cells(c, a, r->sub,
			  from && made && shape_known(made, from) ? shape_at(made, from) : NULL);
	}
}

void shape_csv(struct text *out, const struct shape *s, const char *key, const void *object)
{
	struct csv c = { .out = out };
	struct arena a = { 0 };
	struct shape_made room;
	const struct shape_row *list = shape_row_of(s, key), *made;

	if (list->by)
		csv_cell(&c, "name");
	csv_head(&c, &a, list->sub, "");
	csv_end(&c);
	made = shape_make(&a, list, &object, &room);
	for (size_t i = 0; made && i < shape_items(made, object); i++) {
		const char *item = shape_item(made, object, i);

		if (!item)
			continue;
		if (list->by)
			csv_cell(&c, *(const char *const *)(const void *)(item + list->by - 1));
		csv_cells(&c, &a, list->sub, item);
		csv_end(&c);
	}
	arena_free(&a);
}
