/* SPDX-License-Identifier: Apache-2.0 */
/* A result that came as a file, as a page: what it is about, its tables, charts and sentences. */
#include "front/report/given.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "front/report/given_rows.h"

static const struct given_kind *const lists[] = { given_machine_kinds, given_model_kinds };

const struct given_kind *given_kind_of(const char *schema)
{
	for (size_t l = 0; schema && l < 2; l++)
		for (const struct given_kind *k = lists[l]; k->schema; k++)
			if (strcmp(k->schema, schema) == 0)
				return k;
	return NULL;
}

const char *given_verbs(struct arena *a)
{
	TEXT_AUTO t = { 0 };

	for (size_t l = 0; l < 2; l++)
		for (const struct given_kind *k = lists[l]; k->schema; k++)
			text_printf(&t, "%s%s",
				    !t.len		     ? ""
				    : l == 1 && !k[1].schema ? " and "
							     : ", ",
				    k->verb);
	return arena_strdup(a, t.s);
}

int given_sound(const struct given_kind *k, const json_t *j, struct err *e)
{
	for (size_t i = 0; i < k->n_tables; i++) {
		const struct given_table *t = &k->tables[i];
		const char *path = t->outer ? t->outer : t->path;
		const json_t *list = given_at(j, NULL, path);

		if ((t->must || (list && !json_is_null(list))) && !json_is_array(list))
			return err_set(e, -EINVAL, "it is no result of %s: \"%s\" is no list",
				       k->verb, path);
	}
	return 0;
}

/* --- tables ------------------------------------------------------------------------------------
 */

struct filling {
	struct doc *d;
	const struct given_table *table;
	struct node *node;
	size_t rows, dropped, beyond;
};

static bool is_dropped(const struct given_table *t, const json_t *row)
{
	const char *word = t->drop ? json_string_value(given_at(row, NULL, t->drop)) : NULL;

	for (size_t i = 0; word && i < 2 && t->words[i]; i++)
		if (strcmp(word, t->words[i]) == 0)
			return true;
	return false;
}

static void fill(struct filling *f, const json_t *list, const json_t *outer)
{
	const json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		struct cell *c;

		if (!json_is_object(row))
			continue;
		if (is_dropped(f->table, row)) {
			f->dropped++;
		} else if (f->rows == GIVEN_ROWS_MAX) {
			f->beyond++;
		} else {
			f->rows++;
			c = node_row(f->d, f->node);
			for (size_t k = 0; k < f->table->n; k++)
				c[k] = given_cell(f->d, row, outer, &f->table->fields[k]);
		}
	}
}

static bool is_figure(enum given_as as)
{
	return as == GIVEN_NUMBER || as == GIVEN_BYTES || as == GIVEN_SHARE || as == GIVEN_TIMES ||
	       as == GIVEN_INTERVAL;
}

static void table(struct doc *d, const struct given_table *t, const json_t *j)
{
	struct column columns[16] = { 0 };
	struct filling f = { .d = d, .table = t };
	const json_t *outer;
	size_t i;

	for (i = 0; i < t->n && i < 16; i++)
		columns[i] = (struct column){ .title = t->fields[i].title,
					      .right = is_figure(t->fields[i].as),
					      .wrap = t->fields[i].as == GIVEN_TEXT ||
						      t->fields[i].as == GIVEN_LIST };
	f.node = doc_table(d, t->title, columns, t->n);
	if (!t->outer)
		fill(&f, given_at(j, NULL, t->path), NULL);
	else
		json_array_foreach(given_at(j, NULL, t->outer), i, outer)
		{
			fill(&f, given_at(outer, NULL, t->path), outer);
		}
	node_drop_empty(f.node);
	if (f.beyond)
		doc_text(d, "%zu more rows are left out.", f.beyond);
	if (f.dropped)
		doc_text(d, "%s: %zu more, of which nothing is to be done.", t->title, f.dropped);
}

/* --- the rest ----------------------------------------------------------------------------------
 */

static void sentences(struct doc *d, const json_t *j)
{
	struct node *list;
	const json_t *item;
	size_t i;

	if (json_is_string(j)) {
		node_span(d, doc_paragraph(d), cell(given_text(d->arena, j, "")));
		return;
	}
	list = doc_bullets(d);
	json_array_foreach(j, i, item)
	{
		const char *s = given_text(d->arena, item, "");

		if (s && i < GIVEN_ROWS_MAX)
			node_bullet(d, list, cell(s));
	}
}

/* "Result of gputune check of node7, 2026-11-21T09:34:45Z, by gputune 0.1.0." */
static void where_from(struct doc *d, const struct given_kind *k, const json_t *j)
{
	struct arena *a = d->arena;
	const char *node = given_text(a, j, "host.nodename"), *time = given_text(a, j, "time"),
		   *version = given_text(a, j, "tool_version");

	doc_text(d, "Result of \"gputune %s\"%s%s%s%s%s%s. %s", k->verb,
		 node && *node ? " on " : "", node ? node : "", time ? ", " : "", time ? time : "",
		 version ? ", by gputune " : "", version ? version : "", k->says);
}

struct doc *given_page(struct arena *a, const struct given_kind *k, const json_t *j)
{
	struct doc *d = doc_new(a);
	struct node *pairs;

	where_from(d, k, j);
	pairs = doc_pairs(d, NULL);
	for (size_t i = 0; i < k->n_pairs; i++)
		node_pair(d, pairs, k->pairs[i].title, given_cell(d, j, NULL, &k->pairs[i]));
	node_drop_empty(pairs);
	given_charts(d, k, j);
	for (size_t i = 0; i < k->n_tables; i++)
		table(d, &k->tables[i], j);
	for (size_t i = 0; i < 3 && k->texts[i]; i++)
		sentences(d, given_at(j, NULL, k->texts[i]));
	return d;
}
