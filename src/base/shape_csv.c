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

/* What a terminal would obey becomes a space. */
void text_csv(struct text *out, const char *s)
{
	const char *quote = strpbrk(s, ",\"\r\n") ? "\"" : "";
	uint32_t cp;

	text_add(out, quote);
	for (size_t n; (n = utf8_next(s, &cp)) > 0; s += n)
		if (*s == '"')
			text_add(out, "\"\"");
		else if (*s == '\n' || utf8_harmless(cp))
			text_addn(out, s, n);
		else
			text_addc(out, ' ');
	text_add(out, quote);
}

static void csv_cell(struct csv *c, const char *s)
{
	text_add(c->out, c->begun ? "," : "");
	c->begun = true;
	text_csv(c->out, s);
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

/* The list of this key; *inner: that of the rest of the key, in its items; NULL: none. */
static const struct shape_row *csv_list(const struct shape *s, const char *key, const char **inner)
{
	size_t n = strcspn(key, ".");
	char first[SHAPE_KEY_SIZE] = "";

	*inner = key[n] ? key + n + 1 : NULL;
	if (n < sizeof(first))
		memcpy(first, key, n);
	return shape_row_of(s, first);
}

static void csv_heads(struct csv *c, struct arena *a, const struct shape *s, const char *key)
{
	const char *inner;
	const struct shape_row *list = csv_list(s, key, &inner);

	if (list->by)
		csv_cell(c, "name");
	csv_head(c, a, list->sub, "");
	if (inner)
		csv_heads(c, a, list->sub, inner);
}

/* above: what every line begins with; NULL: nothing. */
static void csv_items(struct csv *c, struct arena *a, const struct shape *s, const char *key,
		      const void *object, const char *above)
{
	struct text *out = c->out;
	struct shape_made room;
	const char *inner;
	const struct shape_row *list = shape_make(a, csv_list(s, key, &inner), &object, &room);

	for (size_t i = 0; list && i < shape_items(list, object); i++) {
		const char *item = shape_item(list, object, i);
		TEXT_AUTO line = { 0 };

		if (!item)
			continue;
		text_add(&line, above ? above : "");
		c->out = &line;
		c->begun = above;
		if (list->by)
			csv_cell(c, *(const char *const *)(const void *)(item + list->by - 1));
		csv_cells(c, a, list->sub, item);
		c->out = out;
		if (inner)
			csv_items(c, a, list->sub, inner, item, line.s);
		else
			text_printf(out, "%s\r\n", line.s);
	}
}

void shape_csv(struct text *out, const struct shape *s, const char *key, const void *object)
{
	struct csv c = { .out = out };
	ARENA_AUTO a = { 0 };

	csv_heads(&c, &a, s, key);
	text_add(out, "\r\n");
	csv_items(&c, &a, s, key, object, NULL);
}

bool result_shape_csv(struct text *out, const struct result_shape *r, const void *object)
{
	const struct shape *s = shape_form(r->shape, object);

	if (r->list)
		shape_csv(out, s, r->shape->forms && s->n == 1 ? s->rows[0].key : r->list, object);
	return r->list;
}
