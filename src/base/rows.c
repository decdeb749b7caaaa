/* SPDX-License-Identifier: Apache-2.0 */
/* Reading tables as text, one line a row. It knows columns, not what they are about. */
#include "base/rows.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct rows_reading {
	struct arena *a;
	const struct row_table *t;
	const char *from;
	struct err *e;
	size_t line;
	const char *row;  /* its name; NULL: not read yet */
	struct map names; /* of all rows before it */
	/* By column, as text; NULL: not known. */
	const char *defaults[ROW_COLUMNS_MAX], *values[ROW_COLUMNS_MAX];
};

/* Refuses the text: the place, and a sentence that begins with the row. */
__attribute__((format(printf, 2, 3))) static int rows_refuse(struct rows_reading *r,
							     const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (r->row)
		return err_set(r->e, -EINVAL, "%.200s:%zu: row \"%.80s\": %s", r->from, r->line,
			       r->row, what);
	return err_set(r->e, -EINVAL, "%.200s:%zu: %s", r->from, r->line, what);
}

static int check_characters(struct rows_reading *r, const char *line, size_t len)
{
	const char *s = line;
	uint32_t cp;
	size_t n;

	for (; s < line + len; s += n) {
		n = utf8_next(s, &cp);
		if (n == 1 && cp == UTF8_BAD)
			return rows_refuse(r, "byte %zu of the line is not UTF-8",
					   (size_t)(s - line) + 1);
		if (cp != '\t' && !utf8_harmless(cp))
			return rows_refuse(r, "byte %zu of the line is control character U+%04X",
					   (size_t)(s - line) + 1, (unsigned)cp);
	}
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *s)
{
	while (is_blank(*s))
		s++;
	return s;
}

/* A word, quoted or not, in arena memory; *at becomes what follows it. what: in sentences. NULL: it
 * is refused. */
static const char *base_rows_read_word(struct rows_reading *r, const char **at, const char *what)
{
	char buf[ROW_VALUE_MAX + 1];
	const char *s = *at, *wrong = NULL;
	bool quoted = *s == '"';
	size_t n = 0;

	for (s += quoted; !wrong && *s && (quoted ? *s != '"' : !is_blank(*s)); s++) {
		if (quoted && *s == '\\' && *++s != '"' && *s != '\\')
			wrong = "\\ is allowed only before \" or \\";
		else if (!quoted && (*s == '"' || *s == '\\'))
			wrong = "\" and \\ are allowed only within quotes";
		else if (n == ROW_VALUE_MAX)
			wrong = "longer than 1024 bytes";
		else
			buf[n++] = *s;
	}
	if (!wrong && quoted && *s++ != '"')
		wrong = "the quote is not closed";
	else if (!wrong && *s && !is_blank(*s))
		wrong = "a space must follow the closing quote";
	else if (!wrong && !n && !quoted)
		wrong = "empty";
	if (wrong) {
		rows_refuse(r, "%.40s: %s", what, wrong);
		return NULL;
	}
	*at = s;
	return arena_strndup(r->a, buf, n);
}

_Static_assert(ROW_VALUE_MAX == 1024, "the messages name this limit");

static const struct row_column *column_named(const struct row_table *t, const char *key, size_t len)
{
	for (size_t i = 1; i < t->n_columns; i++)
		if (strlen(t->columns[i].key) == len && strncmp(t->columns[i].key, key, len) == 0)
			return &t->columns[i];
	return NULL;
}

/* A hint with all keys that there are. */
static int refuse_key(struct rows_reading *r, const char *key, size_t len)
{
	TEXT_AUTO keys = { 0 };

	for (size_t i = 1; i < r->t->n_columns; i++)
		text_printf(&keys, "%s%s", i > 1 ? " " : "", r->t->columns[i].key);
	rows_refuse(r, "unknown key \"%.*s\"", (int)(len < 80 ? len : 80), key);
	err_hint(r->e, "keys of %s.rows: %s", r->t->name, keys.s ? keys.s : "none");
	return -EINVAL;
}

/* The key=value words of a line into values. */
static int read_pairs(struct rows_reading *r, const char *s, const char **values)
{
	while (*(s = skip_blanks(s))) {
		size_t len = strcspn(s, "= \t\"");
		const struct row_column *c;

		if (s[len] != '=')
			return rows_refuse(
				r, "\"%.*s\": expected key=value",
				(int)strcspn(s, " \t") < 80 ? (int)strcspn(s, " \t") : 80, s);
		c = column_named(r->t, s, len);
		if (!c)
			return refuse_key(r, s, len);
		if (values[c - r->t->columns])
			return rows_refuse(r, "%s is given more than once", c->key);
		s += len + 1;
		values[c - r->t->columns] = base_rows_read_word(r, &s, c->key);
		if (!values[c - r->t->columns])
			return -EINVAL;
	}
	return 0;
}

static double most_of(const struct row_column *c)
{
	return c->max > 0 ? c->max : c->kind == ROW_KIND_REAL ? HUGE_VAL : INT_MAX;
}

static int refuse_bounds(struct rows_reading *r, const struct row_column *c, const char *value)
{
	if (isinf(most_of(c)))
		return rows_refuse(r, "%s=%.80s is less than %.15g", c->key, value, c->min);
	return rows_refuse(r, "%s=%.80s: expected %.15g to %.15g", c->key, value, c->min,
			   most_of(c));
}

static int read_count(struct rows_reading *r, const struct row_column *c, const char *value,
		      long long *out)
{
	if (parse_i64(value, out) < 0)
		return rows_refuse(r, "%s=%.80s: expected a whole number", c->key, value);
	if ((double)*out < c->min || (double)*out > most_of(c))
		return refuse_bounds(r, c, value);
	return 0;
}

static int store_count(struct rows_reading *r, const struct row_column *c, const char *value,
		       void *to)
{
	long long v;
	int code = read_count(r, c, value, &v), narrow = (int)v;

	if (code == 0)
		memcpy(to, c->size == sizeof(int) ? (void *)&narrow : (void *)&v, c->size);
	return code;
}

/* Copies the item that s begins with, cut to size; returns the next one. NULL: it was the last. */
static const char *next_item(const char *s, char *item, size_t size)
{
	size_t n = strcspn(s, ",");

	memcpy(item, s, n < size ? n : size - 1);
	item[n < size ? n : size - 1] = '\0';
	return s[n] ? s + n + 1 : NULL;
}

static int store_counts(struct rows_reading *r, const struct row_column *c, const char *value,
			void *to)
{
	size_t wanted = c->size / sizeof(int), n = 0;
	int *items = to, code;
	long long v;
	char item[32];

	for (const char *s = value; s; n++) {
		s = next_item(s, item, sizeof(item));
		if (n < wanted && (code = read_count(r, c, item, &v)) < 0)
			return code;
		if (n < wanted)
			items[n] = (int)v;
	}
	if (n != wanted)
		return rows_refuse(r, "%s=%.80s: expected %zu comma-separated numbers", c->key,
				   value, wanted);
	return 0;
}

static int store_real(struct rows_reading *r, const struct row_column *c, const char *value,
		      void *to)
{
	double v;

	if (parse_real(value, &v) < 0)
		return rows_refuse(r, "%s=%.80s: expected a number", c->key, value);
	if (v < c->min || v > most_of(c))
		return refuse_bounds(r, c, value);
	memcpy(to, &v, sizeof(v));
	return 0;
}

static int store_flag(struct rows_reading *r, const struct row_column *c, const char *value,
		      void *to)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return rows_refuse(r, "%s=%.80s: expected yes or no", c->key, value);
	*(bool *)to = *value == 'y';
	return 0;
}

/* Which of a column's choices a word is. */
static int choice_of(struct rows_reading *r, const struct row_column *c, const char *word,
		     unsigned *out)
{
	TEXT_AUTO all = { 0 };

	for (unsigned i = 0; c->choices[i]; i++) {
		if (strcmp(c->choices[i], word) == 0) {
			*out = i;
			return 0;
		}
		text_printf(&all, "%s%s", i ? ", " : "", c->choices[i]);
	}
	return rows_refuse(r, "%s=%.80s: expected one of %.200s", c->key, word,
			   all.s ? all.s : "none");
}

static int store_set(struct rows_reading *r, const struct row_column *c, const char *value,
		     void *to)
{
	unsigned set = 0, bit = 0;
	char item[64];
	int code;

	for (const char *s = value; s; set |= 1u << bit) {
		s = next_item(s, item, sizeof(item));
		if ((code = choice_of(r, c, item, &bit)) < 0)
			return code;
		if (set & 1u << bit)
			return rows_refuse(r, "%s=%.80s: %s is given more than once", c->key, value,
					   item);
	}
	memcpy(to, &set, sizeof(set));
	return 0;
}

/* "2025", "2025-08", "2025-08-31" */
static bool is_date(const char *s)
{
	static const char form[] = "dddd-dd-dd";
	size_t n = strlen(s);

	if (n != 4 && n != 7 && n != 10)
		return false;
	for (size_t i = 0; i < n; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
			return false;
	return n < 7 ||
	       ((strncmp(s + 5, "01", 2) >= 0 && strncmp(s + 5, "12", 2) <= 0) &&
		(n < 10 || (strncmp(s + 8, "01", 2) >= 0 && strncmp(s + 8, "31", 2) <= 0)));
}

static int store_text(struct rows_reading *r, const struct row_column *c, const char *value,
		      void *to)
{
	if (c->kind == ROW_KIND_DATE && !is_date(value))
		return rows_refuse(r,
				   "%s=%.80s: expected a date such as 2025, 2025-08 or 2025-08-31",
				   c->key, value);
	memcpy(to, &value, sizeof(value));
	return 0;
}

static int store_value(struct rows_reading *r, const struct row_column *c, const char *value,
		       char *row)
{
	void *to = row + c->offset;
	unsigned choice = 0;
	int code;

	switch (c->kind) {
	case ROW_KIND_COUNT:
		return store_count(r, c, value, to);
	case ROW_KIND_COUNTS:
		return store_counts(r, c, value, to);
	case ROW_KIND_REAL:
		return store_real(r, c, value, to);
	case ROW_KIND_FLAG:
		return store_flag(r, c, value, to);
	case ROW_KIND_CHOICE:
		if ((code = choice_of(r, c, value, &choice)) == 0)
			memcpy(to, &choice, sizeof(choice));
		return code;
	case ROW_KIND_SET:
		return store_set(r, c, value, to);
	default:
		return store_text(r, c, value, to);
	}
}

/* Values that a row does not tell come from the defaults. */
static int fill_row(struct rows_reading *r, char *row)
{
	const char *wrong;
	int code;

	for (size_t i = 0; i < r->t->n_columns; i++) {
		const struct row_column *c = &r->t->columns[i];
		const char *value = r->values[i] ? r->values[i] : r->defaults[i];

		if (!value && c->required)
			return rows_refuse(r, "%s is missing", c->key);
		if (value && (code = store_value(r, c, value, row)) < 0)
			return code;
	}
	wrong = r->t->finish ? r->t->finish(row) : NULL;
	return wrong ? rows_refuse(r, "%s", wrong) : 0;
}

/* A line "default": wrong values are found here, not in the rows after it. */
static int read_defaults(struct rows_reading *r, const char *rest)
{
	char *scratch = arena_alloc(r->a, r->t->size);
	int code;

	memset(r->defaults, 0, sizeof(r->defaults));
	if ((code = read_pairs(r, rest, r->defaults)) < 0)
		return code;
	for (size_t i = 1; i < r->t->n_columns; i++)
		if (r->defaults[i] &&
		    (code = store_value(r, &r->t->columns[i], r->defaults[i], scratch)) < 0)
			return code;
	return 0;
}

static int base_rows_add_row(struct rows_reading *r, const char *rest, struct row_list *out)
{
	size_t size = r->t->size;
	void **named;
	int code;

	if (out->n == ROW_LIST_MAX)
		return rows_refuse(r, "more than %d rows", ROW_LIST_MAX);
	named = map_at(r->a, &r->names, r->row);
	if (*named && !r->t->repeats)
		return rows_refuse(r, "an earlier row has the same name");
	*named = r;
	memset(r->values, 0, sizeof(r->values));
	r->values[0] = r->row;
	if ((code = read_pairs(r, rest, r->values)) < 0)
		return code;
	out->items = arena_grow(r->a, out->items, out->n, size);
	memset((char *)out->items + out->n * size, 0, size);
	return fill_row(r, (char *)out->items + out->n++ * size);
}

static int base_rows_read_line(struct rows_reading *r, const char *line, struct row_list *out)
{
	const char *s = skip_blanks(line);
	size_t len = strcspn(s, " \t");
	bool quoted = *s == '"';
	const char *name;

	r->row = NULL;
	if (!*s || *s == '#')
		return 0;
	if (!quoted && len == 7 && strncmp(s, "default", len) == 0)
		return read_defaults(r, s + len);
	if (!quoted && memchr(s, '=', len))
		return rows_refuse(r, "the row must begin with its name, not with key=value");
	name = base_rows_read_word(r, &s, "the name");
	if (!name)
		return -EINVAL;
	if (!*name)
		return rows_refuse(r, "the name is empty");
	r->row = name;
	return base_rows_add_row(r, s, out);
}

int rows_read(struct arena *a, const struct row_table *t, const char *text, size_t len,
	      const char *from, struct row_list *out, struct err *e)
{
	struct rows_reading r = { .a = a, .t = t, .from = from, .e = e };
	char line[ROW_LINE_MAX + 1];
	struct row_list list = { 0 };
	int code;

	if (len > ROW_BYTES_MAX)
		return err_set(e, -EINVAL, "%.200s: larger than %d bytes", from, ROW_BYTES_MAX);
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((nl ? nl : end) - s);

		r.line++;
		r.row = NULL;
		if (n > ROW_LINE_MAX)
			return rows_refuse(&r, "the line is longer than %d bytes", ROW_LINE_MAX);
		memcpy(line, s, n);
		line[n] = '\0';
		if ((code = check_characters(&r, line, n)) < 0 ||
		    (code = base_rows_read_line(&r, line, &list)) < 0)
			return code;
		s += n + (nl != NULL);
	}
	*out = list;
	return 0;
}

/* A value as a word, in quotes where a reader would end it early. */
static const char *word_text(struct arena *a, const char *s)
{
	char *out = arena_alloc(a, 2 * strlen(s) + 3), *to = out;

	if (*s && !s[strcspn(s, " \t\"\\#=")] && strcmp(s, "default") != 0)
		return s;
	*to++ = '"';
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			*to++ = '\\';
		*to++ = *s;
	}
	*to++ = '"';
	*to = '\0';
	return out;
}

static const char *choices_text(struct arena *a, const struct row_column *c, unsigned set)
{
	const char *all = NULL;

	for (unsigned i = 0; c->choices[i]; i++)
		if (set & 1u << i)
			all = all ? arena_printf(a, "%s,%s", all, c->choices[i]) : c->choices[i];
	return all;
}

/* NULL: it is as where nothing is given. */
static const char *value_text(struct arena *a, const struct row_column *c, const void *at)
{
	const char *all = NULL, *text;
	unsigned set;
	double real;
	int n;

	switch (c->kind) {
	case ROW_KIND_REAL:
		memcpy(&real, at, sizeof(real));
		return real > 0 || real < 0 ? arena_printf(a, "%.10g", real) : NULL;
	case ROW_KIND_FLAG:
		return *(const bool *)at ? "yes" : NULL;
	case ROW_KIND_CHOICE:
	case ROW_KIND_SET:
		memcpy(&set, at, sizeof(set));
		return !set			    ? NULL
		       : c->kind == ROW_KIND_CHOICE ? c->choices[set]
						    : choices_text(a, c, set);
	case ROW_KIND_COUNT:
	case ROW_KIND_COUNTS:
		memcpy(&n, at, sizeof(n));
		for (size_t i = 0; n && c->kind == ROW_KIND_COUNTS && i < c->size / sizeof(int);
		     i++)
			all = all ? arena_printf(a, "%s,%d", all, ((const int *)at)[i])
				  : arena_printf(a, "%d", ((const int *)at)[i]);
		if (c->size == sizeof(long long) && c->kind == ROW_KIND_COUNT)
			return *(const long long *)at
				       ? arena_printf(a, "%lld", *(const long long *)at)
				       : NULL;
		return all || !n ? all : arena_printf(a, "%d", n);
	default:
		memcpy(&text, at, sizeof(text));
		return text ? word_text(a, text) : NULL;
	}
}

const char *row_as_text(struct arena *a, const struct row_table *t, const void *row)
{
	const char *line = value_text(a, &t->columns[0], (const char *)row + t->columns[0].offset);

	for (size_t i = 1; i < t->n_columns; i++) {
		const struct row_column *c = &t->columns[i];
		const char *value = value_text(a, c, (const char *)row + c->offset);

		if (value)
			line = arena_printf(a, "%s %s=%s", line, c->key, value);
	}
	return line;
}
