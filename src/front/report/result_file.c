/* SPDX-License-Identifier: Apache-2.0 */
/* A result that came as a file, as a page: what it is about, its tables, charts and sentences. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "front/report/result_file.h"
#include "front/result_shapes.h"
#include "base/text.h"
#include "render/figure.h"
#include "render/chart.h"

const struct result_file_kind *result_file_kind_of(const char *schema, bool *another)
{
	char name[SHAPE_KEY_SIZE];

	*another = false;
	for (const struct result_file_kind *k = result_file_kinds; schema && k->name; k++) {
		snprintf(name, sizeof(name), "gputune.%s/1", k->name);
		if (strcmp(name, schema) == 0)
			return k;
		*another = *another || strncmp(name, schema, strlen(name) - 1) == 0;
	}
	return NULL;
}

const char *result_file_verbs(struct arena *a)
{
	TEXT_AUTO t = { 0 };

	for (const struct result_file_kind *k = result_file_kinds; k->name; k++)
		text_printf(&t, "%s%s", !t.len ? "" : k[1].name ? ", " : " and ", k->verb);
	return arena_strdup(a, t.s);
}

/* The rows of such results; NULL: they have none. */
static const struct result_shape *result_file_shape(struct arena *a,
						    const struct result_file_kind *k)
{
	for (const struct result_shape *const *s = result_shapes(a); *s; s++)
		if (strcmp((*s)->name, k->name) == 0)
			return *s;
	return NULL;
}

/* "runs[].causes": the list in each object of "runs", and where it is there. A list by itself lies
 * in the result. */
static const char *list_outer(struct arena *a, const char *path, const char **inner)
{
	const char *at = strstr(path, "[].");

	*inner = at ? at + 3 : path;
	return at ? arena_strndup(a, path, (size_t)(at - path)) : NULL;
}

int result_file_valid(struct arena *a, const struct result_file_kind *k, const json_t *j,
		      struct err *e)
{
	const struct result_shape *s = result_file_shape(a, k);

	for (size_t i = 0; i < k->n_tables; i++) {
		const struct result_file_table *t = &k->tables[i];
		const char *inner, *outer = list_outer(a, t->path, &inner),
				   *path = outer ? outer : inner;
		const json_t *list = result_file_at(j, path);

		if ((t->must || (list && !json_is_null(list))) && !json_is_array(list))
			return err_set(e, -EINVAL, "not a result of %s: \"%s\" is not a list",
				       k->verb, path);
	}
	return s ? result_shape_check(a, s, j, e) : 0;
}

/* --- fields ----------------------------------------------------------------------------------- */

struct result_file_field {
	const char *path, *title, *unit;
	bool outer, share;
	enum style style; /* of a text */
	bool word;	  /* a verdict: coloured by what it means */
};

/* The last key of a path. */
static const char *last_key(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* The row at a path; NULL: none. */
static const struct shape_row *result_file_row(const struct shape *s, const char *path)
{
	const struct shape_row *r = NULL;

	while (s && *path) {
		size_t n = strcspn(path, ".[");

		r = NULL;
		for (size_t i = 0; i < s->n && !r; i++)
			if (s->rows[i].key && strncmp(s->rows[i].key, path, n) == 0 &&
			    !s->rows[i].key[n])
				r = &s->rows[i];
		s = r ? r->sub : NULL;
		path += n;
		path += strspn(path, "[].");
	}
	return *path ? NULL : r;
}

/* A title of a key, and its unit by how it ends: "tpot_ms". */
static const char *key_title(struct arena *a, const char *key, const char **unit)
{
	static const char *const units[][2] = { { "_tok_s", "tokens/s" },
						{ "_gb_per_s", "GB/s" },
						{ "_bytes", "bytes" },
						{ "_ms", "ms" },
						{ "_s", "s" } };
	char *title = arena_strdup(a, key);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!**unit && str_ends(title, units[i][0])) {
			*unit = units[i][1];
			title[strlen(title) - strlen(units[i][0])] = '\0';
		}
	for (char *c = title; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return title;
}

/* list: words between blanks. */
static bool is_one_of(struct arena *a, const char *word, const char *list)
{
	return strstr(list, arena_printf(a, " %s ", word)) != NULL;
}

/* item and outer: what paths begin at; NULL: no rows are known. */
static struct result_file_field result_file_field(struct arena *a, const char *text,
						  const struct shape *item,
						  const struct shape *outer)
{
	static const char code[] = " id command fix read_from collective place asked.weights "
				   "asked.parallel asked.precision measured_with.name ",
			  strong[] = " asked.model change name component ",
			  words[] = " verdict severity likelihood certainty state ";
	struct result_file_field f = { .share = *text == '%', .unit = "", .style = STYLE_PLAIN };
	const char *own = strchr(text, '='), *key, *title;
	const struct shape_row *r;

	text += f.share;
	f.outer = *text == '^';
	text += f.outer;
	f.path = own ? arena_strndup(a, text, (size_t)(own - text)) : text;
	key = last_key(f.path);
	r = result_file_row(f.outer ? outer : item, f.path);
	if (strcmp(key, "value") == 0) /* of a figure that has the title */
		r = result_file_row(item, arena_strndup(a, f.path, (size_t)(key - f.path - 1)));
	title = key_title(a, key, &f.unit);
	if (r && r->unit && strcmp(f.unit, "bytes") != 0)
		f.unit = r->unit;
	title = own ? own + 1 : r && r->title ? r->title : title;
	f.title = arena_printf(a, "%c%s", toupper((unsigned char)*title), title + 1);
	f.word = is_one_of(a, key, words);
	if (is_one_of(a, key, code) || is_one_of(a, f.path, code))
		f.style = STYLE_CODE;
	else if (is_one_of(a, f.path, strong))
		f.style = STYLE_STRONG;
	return f;
}

/* All of a text, "id|target=On". */
static struct result_file_field *result_file_fields(struct arena *a, const char *text,
						    const struct shape *item,
						    const struct shape *outer, size_t *n)
{
	struct result_file_field *list = NULL;

	for (*n = 0; text; text = strchr(text, '|') ? strchr(text, '|') + 1 : NULL) {
		const char *one = arena_strndup(a, text, strcspn(text, "|"));

		ARENA_ADD(a, list, *n) = result_file_field(a, one, item, outer);
	}
	return list;
}

/* --- values, as people read them ------------------------------------------------------------- */

const json_t *result_file_at(const json_t *j, const char *path)
{
	char key[64];

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

static const char *bounded(struct arena *a, const char *s)
{
	size_t n = utf8_cut(s, GIVEN_TEXT_MAX);

	return arena_printf(a, "%.*s%s", (int)n, s, s[n] ? "..." : "");
}

const char *result_file_text(struct arena *a, const json_t *j, const char *path)
{
	const char *s = json_string_value(result_file_at(j, path));

	return s ? bounded(a, s) : NULL;
}

const char *result_file_node(const json_t *j)
{
	const char *node = json_string_value(result_file_at(j, "host.nodename"));

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

/* A figure around 1 has no unit. */
static const char *result_file_text_of(struct arena *a, const json_t *j,
				       const struct result_file_field *f)
{
	bool is_bytes = strcmp(f->unit, "bytes") == 0;

	switch (json_typeof(j)) {
	case JSON_INTEGER:
	case JSON_REAL:
		return f->share	  ? arena_printf(a, "%.1f %%", 100 * json_number_value(j))
		       : is_bytes ? bytes(a, j)
				  : result_file_number(a, j, f->unit);
	case JSON_OBJECT:
		return is_bytes ? bytes_interval(a, j) : interval(a, j, f->unit, !*f->unit);
	case JSON_TRUE:
		return "yes";
	case JSON_FALSE:
		return "no";
	case JSON_ARRAY:
		return result_file_joined(a, j);
	case JSON_STRING:
		return bounded(a, json_string_value(j));
	default:
		return NULL;
	}
}

static struct cell result_file_cell(struct doc *d, const json_t *row,
				    const struct result_file_field *f)
{
	const json_t *j = result_file_at(row, f->path);
	const char *text = j ? result_file_text_of(d->arena, j, f) : NULL;

	return cell_as(json_is_string(j) && f->word ? result_file_style(text)
		       : json_is_string(j)	    ? f->style
						    : STYLE_PLAIN,
		       text);
}

/* --- charts: ratios with their intervals, and lines --------------------------------------------
 */

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
	const json_t *j = result_file_at(row, r->ratio), *v = json_object_get(j, "ratio");
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
	const json_t *list = result_file_at(j, r->path), *row;
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
	const json_t *list = result_file_at(j, g->path), *row;
	double *x = arena_array(d->arena, POINTS_MAX, sizeof(*x)),
	       *y = arena_array(d->arena, POINTS_MAX, sizeof(*y));
	struct chart_series *s = ARENA_NEW(d->arena, struct chart_series);
	size_t i, n = 0;

	json_array_foreach(list, i, row)
	{
		if (n == POINTS_MAX)
			break;
		x[n] = chart_number(result_file_at(row, g->x));
		y[n] = chart_number(result_file_at(row, g->y));
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

static void result_file_charts(struct doc *d, const struct result_file_kind *k, const json_t *j)
{
	for (size_t i = 0; i < k->n_ratios; i++)
		ratios(d, &k->ratios[i], j);
	if (k->curve.path)
		curve(d, &k->curve, j);
}

/* --- tables ----------------------------------------------------------------------------------- */

struct filling {
	struct doc *d;
	const struct result_file_table *table;
	const struct result_file_field *fields;
	size_t n;
	struct node *node;
	size_t rows, dropped, beyond;
};

static bool is_dropped(const struct result_file_table *t, const json_t *row)
{
	const char *word = t->drop ? json_string_value(result_file_at(row, t->drop)) : NULL;

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
			for (size_t k = 0; k < f->n; k++)
				c[k] = result_file_cell(f->d, f->fields[k].outer ? outer : row,
							&f->fields[k]);
		}
	}
}

/* What stands in a column, by the first row that has it; NULL: nothing. */
static const json_t *first_in(const json_t *list, const struct result_file_field *f)
{
	const json_t *row, *v;
	size_t i;

	json_array_foreach(list, i, row)
	{
		v = result_file_at(row, f->path);
		if (v && !json_is_null(v))
			return v;
	}
	return NULL;
}

static void result_file_columns(struct filling *f, const json_t *list, struct column *columns)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct result_file_field *own = &f->fields[i];
		const json_t *v = own->outer ? NULL : first_in(list, own);

		columns[i] = (struct column){
			.title = own->title,
			.right = json_is_number(v) || json_is_object(v),
			.wrap = (json_is_string(v) || json_is_array(v)) && !own->word &&
				own->style == STYLE_PLAIN,
		};
	}
}

static void result_file_table_one(struct doc *d, const struct result_file_table *t,
				  const struct shape *s, const json_t *j)
{
	struct filling f = { .d = d, .table = t };
	const char *inner, *outer = list_outer(d->arena, t->path, &inner);
	const struct shape_row *item = result_file_row(s, t->path),
			       *above = outer ? result_file_row(s, outer) : NULL;
	const json_t *lists = outer ? result_file_at(j, outer) : NULL, *lies_in;
	struct column *columns;
	size_t i;

	f.fields = result_file_fields(d->arena, t->fields, item ? item->sub : NULL,
				      above ? above->sub : NULL, &f.n);
	columns = arena_array(d->arena, f.n, sizeof(*columns));
	result_file_columns(&f, result_file_at(outer ? json_array_get(lists, 0) : j, inner),
			    columns);
	f.node = doc_table(d, t->title, columns, f.n);
	if (!outer)
		result_file_fill(&f, result_file_at(j, inner), NULL);
	json_array_foreach(lists, i, lies_in)
		result_file_fill(&f, result_file_at(lies_in, inner), lies_in);
	node_drop_empty(f.node);
	if (f.beyond)
		doc_text(d, "%zu more rows are left out.", f.beyond);
	if (f.dropped)
		doc_text(d, "%s: %zu more rows need no action.", t->title, f.dropped);
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
	const struct result_shape *rows = result_file_shape(a, k);
	const struct shape *s = rows ? rows->shape : NULL;
	struct result_file_field *fields;
	struct doc *d = doc_new(a);
	struct node *pairs;
	size_t n;

	where_from(d, k, j);
	pairs = doc_pairs(d, NULL);
	fields = result_file_fields(a, k->pairs, s, NULL, &n);
	for (size_t i = 0; i < n; i++)
		node_pair(d, pairs, fields[i].title, result_file_cell(d, j, &fields[i]));
	node_drop_empty(pairs);
	result_file_charts(d, k, j);
	for (size_t i = 0; i < k->n_tables; i++)
		result_file_table_one(d, &k->tables[i], s, j);
	for (size_t i = 0; i < 3 && k->texts[i]; i++)
		sentences(d, result_file_at(j, k->texts[i]));
	return d;
}
