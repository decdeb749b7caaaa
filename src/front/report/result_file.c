/* SPDX-License-Identifier: Apache-2.0 */
/* A result that came as a file, as a page: what it is about, its tables, charts and sentences. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "front/report/result_file.h"
#include "base/text.h"
#include "render/figure.h"
#include "render/chart.h"

static const struct result_file_kind *const lists[] = { given_machine_kinds, given_model_kinds };

const struct result_file_kind *result_file_kind_of(const char *schema)
{
	for (size_t l = 0; schema && l < 2; l++)
		for (const struct result_file_kind *k = lists[l]; k->schema; k++)
			if (strcmp(k->schema, schema) == 0)
				return k;
	return NULL;
}

const char *result_file_verbs(struct arena *a)
{
	TEXT_AUTO t = { 0 };

	for (size_t l = 0; l < 2; l++)
		for (const struct result_file_kind *k = lists[l]; k->schema; k++)
			text_printf(&t, "%s%s",
				    !t.len		     ? ""
				    : l == 1 && !k[1].schema ? " and "
							     : ", ",
				    k->verb);
	return arena_strdup(a, t.s);
}

int result_file_valid(const struct result_file_kind *k, const json_t *j, struct err *e)
{
	for (size_t i = 0; i < k->n_tables; i++) {
		const struct result_file_table *t = &k->tables[i];
		const char *path = t->outer ? t->outer : t->path;
		const json_t *list = result_file_at(j, NULL, path);

		if ((t->must || (list && !json_is_null(list))) && !json_is_array(list))
			return err_set(e, -EINVAL, "it is no result of %s: \"%s\" is no list",
				       k->verb, path);
	}
	return 0;
}

/* --- tables ----------------------------------------------------------------------------------- */

struct filling {
	struct doc *d;
	const struct result_file_table *table;
	struct node *node;
	size_t rows, dropped, beyond;
};

static bool is_dropped(const struct result_file_table *t, const json_t *row)
{
	const char *word = t->drop ? json_string_value(result_file_at(row, NULL, t->drop)) : NULL;

	for (size_t i = 0; word && i < 2 && t->words[i]; i++)
		if (strcmp(word, t->words[i]) == 0)
			return true;
	return false;
}

static void result_file_fill(struct filling *f, const json_t *list, const json_t *outer)
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
				c[k] = result_file_cell(f->d, row, outer, &f->table->fields[k]);
		}
	}
}

static bool is_figure(enum result_file_as as)
{
	return as == GIVEN_NUMBER || as == GIVEN_BYTES || as == GIVEN_SHARE || as == GIVEN_TIMES ||
	       as == GIVEN_INTERVAL;
}

static void result_file_table_one(struct doc *d, const struct result_file_table *t, const json_t *j)
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
		result_file_fill(&f, result_file_at(j, NULL, t->path), NULL);
	else
		json_array_foreach(result_file_at(j, NULL, t->outer), i, outer)
		{
			result_file_fill(&f, result_file_at(outer, NULL, t->path), outer);
		}
	node_drop_empty(f.node);
	if (f.beyond)
		doc_text(d, "%zu more rows are left out.", f.beyond);
	if (f.dropped)
		doc_text(d, "%s: %zu more, of which nothing is to be done.", t->title, f.dropped);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void sentences(struct doc *d, const json_t *j)
{
	struct node *list;
	const json_t *item;
	size_t i;

	if (json_is_string(j)) {
		node_span(d, doc_paragraph(d), cell(result_file_text(d->arena, j, "")));
		return;
	}
	list = doc_bullets(d);
	json_array_foreach(j, i, item)
	{
		const char *s = result_file_text(d->arena, item, "");

		if (s && i < GIVEN_ROWS_MAX)
			node_bullet(d, list, cell(s));
	}
}

/* "Result of gputune check of node7, 2026-11-21T09:34:45Z, by gputune 0.1.0." */
static void where_from(struct doc *d, const struct result_file_kind *k, const json_t *j)
{
	struct arena *a = d->arena;
	const char *node = result_file_text(a, j, "host.nodename"),
		   *time = result_file_text(a, j, "time"),
		   *version = result_file_text(a, j, "tool_version");

	doc_text(d, "Result of \"gputune %s\"%s%s%s%s%s%s. %s", k->verb,
		 node && *node ? " on " : "", node ? node : "", time ? ", " : "", time ? time : "",
		 version ? ", by gputune " : "", version ? version : "", k->says);
}

struct doc *result_file_page(struct arena *a, const struct result_file_kind *k, const json_t *j)
{
	struct doc *d = doc_new(a);
	struct node *pairs;

	where_from(d, k, j);
	pairs = doc_pairs(d, NULL);
	for (size_t i = 0; i < k->n_pairs; i++)
		node_pair(d, pairs, k->pairs[i].title, result_file_cell(d, j, NULL, &k->pairs[i]));
	node_drop_empty(pairs);
	result_file_charts(d, k, j);
	for (size_t i = 0; i < k->n_tables; i++)
		result_file_table_one(d, &k->tables[i], j);
	for (size_t i = 0; i < 3 && k->texts[i]; i++)
		sentences(d, result_file_at(j, NULL, k->texts[i]));
	return d;
}

/* Values of a result that came as a file, as people read them. */

const json_t *result_file_at(const json_t *row, const json_t *outer, const char *path)
{
	const json_t *j = *path == '^' ? outer : row;
	char key[64];

	path += *path == '^';
	while (j && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		j = json_object_get(j, key);
		path += n + (path[n] == '.');
	}
	return j;
}

/* Never the middle of a character: what follows the bytes of one begins with another pattern. */
static const char *bounded(struct arena *a, const char *s)
{
	size_t n = strnlen(s, GIVEN_TEXT_MAX + 1);

	if (n <= GIVEN_TEXT_MAX)
		return arena_strdup(a, s);
	n = GIVEN_TEXT_MAX;
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return arena_printf(a, "%.*s...", (int)n, s);
}

const char *result_file_text(struct arena *a, const json_t *j, const char *path)
{
	const char *s = json_string_value(result_file_at(j, NULL, path));

	return s ? bounded(a, s) : NULL;
}

const char *result_file_node(const json_t *j)
{
	const char *node = json_string_value(result_file_at(j, NULL, "host.nodename"));

	return node && *node ? node : NULL;
}

static enum style result_file_style(const char *word)
{
	static const struct {
		const char *word;
		enum style style;
	} words[] = {
		{ "pass", STYLE_GOOD },		 { "fail", STYLE_BAD },
		{ "helps", STYLE_GOOD },	 { "hurts", STYLE_BAD },
		{ "better", STYLE_GOOD },	 { "worse", STYLE_BAD },
		{ "found", STYLE_BAD },		 { "critical", STYLE_BAD },
		{ "high", STYLE_BAD },		 { "medium", STYLE_WARN },
		{ "bottleneck", STYLE_WARN },	 { "healthy", STYLE_GOOD },
		{ "certain", STYLE_BAD },	 { "likely", STYLE_WARN },
		{ "unknown", STYLE_UNKNOWN },	 { "undecided", STYLE_UNKNOWN },
		{ "unseen", STYLE_UNKNOWN },	 { "not-comparable", STYLE_UNKNOWN },
		{ "not-tested", STYLE_UNKNOWN }, { "cannot-tell", STYLE_UNKNOWN },
		{ "na", STYLE_MUTED },		 { "excluded", STYLE_MUTED },
	};

	for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].style;
	return STYLE_PLAIN;
}

static const char *result_file_joined(struct arena *a, const json_t *list)
{
	TEXT_AUTO t = { 0 };
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (t.len > GIVEN_TEXT_MAX) {
			text_add(&t, ", ...");
			break;
		}
		if (json_is_string(item))
			text_printf(&t, "%s%s", t.len ? ", " : "", json_string_value(item));
	}
	return t.len ? bounded(a, t.s) : NULL;
}

static const char *result_file_number(struct arena *a, const json_t *j, const char *unit)
{
	double v = json_number_value(j);
	/* A count is written as one: "14", not "14.00". */
	const char *s =
		v == floor(v) && fabs(v) < 1e6 ? arena_printf(a, "%.0f", v) : figure_number(a, v);

	return arena_printf(a, "%s%s%s", s, unit && *unit ? " " : "", unit ? unit : "");
}

/* Of figures that lie around 1, or anything else, with the ends of the interval if it has any. */
static const char *interval(struct arena *a, const json_t *j, const char *unit, bool times)
{
	const json_t *v = json_object_get(j, "value"), *low = json_object_get(j, "low"),
		     *high = json_object_get(j, "high");
	const char *middle;

	if (!v)
		v = json_object_get(j, "ratio");
	if (!json_is_number(v))
		return NULL;
	middle = times ? arena_printf(a, "%.3f", json_number_value(v))
		       : result_file_number(a, v, unit);
	if (!json_is_number(low) || !json_is_number(high))
		return middle;
	if (times)
		return arena_printf(a, "%s (%.3f to %.3f)", middle, json_number_value(low),
				    json_number_value(high));
	return arena_printf(a, "%s (%s to %s)", middle, result_file_number(a, low, NULL),
			    result_file_number(a, high, NULL));
}

/* A file may hold any number: beyond what a byte count can be it is none. */
static const char *bytes(struct arena *a, const json_t *j)
{
	double v = json_number_value(j);

	return v >= 0 && v < 9e18 ? figure(a, "bytes", (long long)v) : NULL;
}

static const char *bytes_interval(struct arena *a, const json_t *j)
{
	const json_t *v = json_object_get(j, "value"), *low = json_object_get(j, "low"),
		     *high = json_object_get(j, "high");
	const char *middle = json_is_number(v) ? bytes(a, v) : NULL,
		   *from = json_is_number(low) ? bytes(a, low) : NULL,
		   *to = json_is_number(high) ? bytes(a, high) : NULL;

	if (!middle || !from || !to)
		return middle;
	return arena_printf(a, "%s (%s to %s)", middle, from, to);
}

static const char *result_file_text_of(struct arena *a, const json_t *j,
				       const struct result_file_field *f)
{
	switch (f->as) {
	case GIVEN_NUMBER:
		return json_is_number(j) ? result_file_number(a, j, f->unit) : NULL;
	case GIVEN_BYTES:
		return json_is_number(j) ? bytes(a, j) : bytes_interval(a, j);
	case GIVEN_SHARE:
		return json_is_number(j) ? arena_printf(a, "%.1f %%", 100 * json_number_value(j))
					 : NULL;
	case GIVEN_TIMES:
	case GIVEN_INTERVAL:
		return interval(a, j, f->unit, f->as == GIVEN_TIMES);
	case GIVEN_YES:
		return json_is_boolean(j) ? json_is_true(j) ? "yes" : "no" : NULL;
	case GIVEN_LIST:
		return result_file_joined(a, j);
	default:
		return json_is_string(j) ? bounded(a, json_string_value(j)) : NULL;
	}
}

struct cell result_file_cell(struct doc *d, const json_t *row, const json_t *outer,
			     const struct result_file_field *f)
{
	const char *text = result_file_text_of(d->arena, result_file_at(row, outer, f->path), f);
	enum style style = f->as == GIVEN_CODE	   ? STYLE_CODE
			   : f->as == GIVEN_STRONG ? STYLE_STRONG
			   : f->as == GIVEN_WORD   ? result_file_style(text)
						   : STYLE_PLAIN;

	return cell_as(style, text);
}

/* Charts of results that came as files: ratios with their intervals, and lines. */

enum { RATIOS_MAX = 200, POINTS_MAX = 4096 };

static double chart_number(const json_t *j)
{
	return json_is_number(j) ? json_number_value(j) : (double)NAN;
}

static const char *label(struct arena *a, const struct result_file_ratios *r, const json_t *row)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < 3 && r->label[i]; i++) {
		const char *s = result_file_text(a, row, r->label[i]);

		text_printf(&t, "%s%s", t.len ? " " : "", s ? s : "");
	}
	return arena_strdup(a, t.s ? t.s : "");
}

static bool ratio(struct arena *a, const struct result_file_ratios *r, const json_t *row,
		  struct chart_ratio *out)
{
	const json_t *j = result_file_at(row, NULL, r->ratio), *v = json_object_get(j, "ratio");
	const char *word = r->word ? result_file_text(a, row, r->word) : NULL;

	if (!v)
		v = json_object_get(j, "value");
	*out = (struct chart_ratio){ .label = label(a, r, row),
				     .ratio = chart_number(v),
				     .low = chart_number(json_object_get(j, "low")),
				     .high = chart_number(json_object_get(j, "high")),
				     .verdict = word,
				     .style = result_file_style(word) };
	return out->ratio > 0;
}

static void ratios(struct doc *d, const struct result_file_ratios *r, const json_t *j)
{
	const json_t *list = result_file_at(j, NULL, r->path), *row;
	struct chart_ratio *rows = arena_array(d->arena, RATIOS_MAX, sizeof(*rows));
	struct chart_ratios c = { .title = r->title,
				  .left = r->left,
				  .right = r->right,
				  .interval = r->interval,
				  .threshold = NAN,
				  .rows = rows };
	size_t i;

	if (json_is_object(list))
		c.n = ratio(d->arena, r, list, &rows[0]);
	json_array_foreach(list, i, row)
	{
		if (c.n < RATIOS_MAX)
			c.n += ratio(d->arena, r, row, &rows[c.n]);
	}
	chart_add_ratios(d, &c);
}

/* One point is no line; two are. */
static void curve(struct doc *d, const struct result_file_curve *g, const json_t *j)
{
	const json_t *list = result_file_at(j, NULL, g->path), *row;
	double *x = arena_array(d->arena, POINTS_MAX, sizeof(*x)),
	       *y = arena_array(d->arena, POINTS_MAX, sizeof(*y));
	struct chart_series *s = ARENA_NEW(d->arena, struct chart_series);
	size_t i, n = 0;

	json_array_foreach(list, i, row)
	{
		if (n == POINTS_MAX)
			break;
		x[n] = chart_number(result_file_at(row, NULL, g->x));
		y[n] = chart_number(result_file_at(row, NULL, g->y));
		n += x[n] > 0 && isfinite(y[n]);
	}
	if (n < 2)
		return;
	*s = (struct chart_series){
		.name = g->y_title, .mark = '*', .x = x, .y = y, .n = n, .line = true
	};
	chart_add(d, g->title,
		  &(struct chart){ .x_title = g->x_title,
				   .y_title = g->y_title,
				   .log_x = true,
				   .zero_y = true,
				   .series = s,
				   .n = 1 });
}

void result_file_charts(struct doc *d, const struct result_file_kind *k, const json_t *j)
{
	for (size_t i = 0; i < k->n_ratios; i++)
		ratios(d, &k->ratios[i], j);
	if (k->curve.path)
		curve(d, &k->curve, j);
}
