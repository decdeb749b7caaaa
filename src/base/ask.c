/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options and arguments: read by their rows, out of words or JSON. */
#include "base/ask.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

bool ask_for_each(const struct ask_shape *s, void *object, ask_each *each, void *ctx)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct ask_row *r = &s->rows[i];
		void *member = object ? (char *)object + r->offset : NULL;

		if (r->kind == ASK_KIND_NOTE)
			continue;
		if (r->kind == ASK_KIND_PART ? !ask_for_each(r->part, member, each, ctx)
					     : !each(ctx, r, s, member))
			return false;
	}
	return true;
}

const char *ask_help(const struct ask_shape *s, const struct ask_row *r)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].kind == ASK_KIND_NOTE && strcmp(s->rows[i].name, r->name) == 0)
			return s->rows[i].help;
	return r->help;
}

const char *ask_name(struct arena *a, const struct ask_row *r)
{
	return r->argument ? r->name : arena_printf(a, "--%s", r->name);
}

const char *ask_value_name(const struct ask_row *r)
{
	static const char *const kinds[] = {
		[ASK_KIND_TEXT] = "TEXT",   [ASK_KIND_TEXTS] = "TEXT",
		[ASK_KIND_COUNT] = "N",	    [ASK_KIND_REAL] = "N",
		[ASK_KIND_TIME] = "TIME",   [ASK_KIND_SHARE] = "PERCENT",
		[ASK_KIND_CHOICE] = "WORD", [ASK_KIND_NUMBERS] = "LIST",
	};

	if (r->kind == ASK_KIND_FLAG)
		return NULL;
	return r->arg ? r->arg : r->argument ? r->name : kinds[r->kind];
}

const char *ask_proposed(const struct ask_row *r, size_t i)
{
	if (i < r->n_names)
		return r->names[i];
	return r->proposal ? r->proposal(i - r->n_names) : NULL;
}

/* The nearest of them; NULL: none is near. */
static const char *ask_nearest(const struct ask_row *r, const char *text)
{
	struct near_word near = near_word_to(text);
	const char *word;

	for (size_t i = 0; (word = ask_proposed(r, i)); i++)
		near_word_try(&near, word, word);
	return near.word;
}

/* --- one value -------------------------------------------------------------------------------- */

static int ask_refuse(struct arena *a, const struct ask_row *r, const char *takes, const char *text,
		      struct err *e)
{
	return err_set(e, -EINVAL, "%s takes %s, not \"%s\"", ask_name(a, r), takes, text);
}

static int refuse_word(struct arena *a, const struct ask_row *r, const char *text, struct err *e)
{
	const char *near = ask_nearest(r, text), *word;
	TEXT_AUTO all = { 0 };

	for (size_t i = 0; i < 40 && (word = ask_proposed(r, i)); i++)
		text_printf(&all, "%s%s", i ? ", " : "", word);
	ask_refuse(a, r, arena_printf(a, "one of %s", all.s), text, e);
	if (near)
		err_hint(e, "did you mean \"%s\"?", near);
	return -EINVAL;
}

/* A bound as it may be written: with a suffix and without an exponent. */
static const char *ask_bound(struct arena *a, double v)
{
	static const struct {
		double from;
		const char *suffix;
	} units[] = { { 1e12, "T" }, { 1e9, "B" }, { 1e6, "M" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (v >= units[i].from)
			return arena_printf(a, "%.6g%s", v / units[i].from, units[i].suffix);
	return arena_printf(a, "%.6g", v);
}

static const char *ask_bounds(struct arena *a, const struct ask_row *r)
{
	bool percent = r->kind == ASK_KIND_SHARE;
	const char *what = percent		       ? "a share"
			   : r->kind == ASK_KIND_COUNT ? "a whole number"
			   : r->whole		       ? "a whole number"
						       : "a number";
	double scale = percent ? 100 : 1;

	if (r->min == 0 && r->max == 0)
		return what;
	return arena_printf(a, "%s from %s%s to %s%s%s", what, ask_bound(a, r->min * scale),
			    percent ? "%" : "", ask_bound(a, r->max * scale),
			    percent   ? "%"
			    : r->unit ? " "
				      : "",
			    !percent && r->unit ? r->unit : "");
}

/* A number, K, M, B, G or T behind it, then blanks and the row's unit or a percent sign. */
static bool ask_number(const struct ask_row *r, const char *text, double *out)
{
	static const char letters[] = "kmbgt";
	static const double factors[] = { 1e3, 1e6, 1e9, 1e9, 1e12 };
	const char *end, *letter;

	if (!strchr("0123456789.", *text) || parse_decimal(text, out, &end))
		return false;
	for (const struct ask_unit *u = r->units; u && u->name; u++)
		if (strcmp(end + strspn(end, " "), u->name) == 0) {
			*out *= u->factor;
			return true;
		}
	letter = *end && !end[1] ? strchr(letters, *end | 32) : NULL;
	if (letter && r->kind != ASK_KIND_SHARE) {
		*out *= factors[letter - letters];
		end++;
	}
	if (end[strspn(end, " ")])
		end += strspn(end, " ");
	if (r->kind == ASK_KIND_SHARE) {
		end += *end == '%';
		*out /= 100;
	} else if (r->unit && strcmp(end, r->unit) == 0) {
		end += strlen(end);
	}
	return !*end;
}

static void ask_store_count(const struct ask_row *r, void *member, double v)
{
	if (r->size == sizeof(int))
		*(int *)member = (int)v;
	else
		*(long long *)member = (long long)v;
}

static bool ask_within(const struct ask_row *r, double v)
{
	return (r->min == 0 && r->max == 0) || (v >= r->min && v <= r->max);
}

static int take_number(struct arena *a, const struct ask_row *r, void *member, const char *text,
		       struct err *e)
{
	double most = r->size == sizeof(int) ? 2147483647.0 : 9007199254740992.0, v;
	bool whole = r->kind == ASK_KIND_COUNT;

	if (!ask_number(r, text, &v) || (whole && (v != floor(v) || v > most)) || !ask_within(r, v))
		return ask_refuse(a, r, ask_bounds(a, r), text, e);
	if (whole)
		ask_store_count(r, member, v);
	else
		*(double *)member = v;
	return 0;
}

/* "4" or "1-16", which is whole. */
static bool ask_range(struct arena *a, const struct ask_row *r, const char *text, double *from,
		      double *to)
{
	const char *dash = strchr(text, '-');

	if (dash && dash > text && (dash[-1] | 32) != 'e') {
		if (!ask_number(r, dash + 1, to))
			return false;
		text = arena_strndup(a, text, (size_t)(dash - text));
	} else {
		dash = NULL;
	}
	if (!ask_number(r, text, from))
		return false;
	*to = dash ? *to : *from;
	return *from <= *to && ask_within(r, *from) && ask_within(r, *to) &&
	       (*from == floor(*from) || (!r->whole && !dash));
}

static int take_numbers(struct arena *a, const struct ask_row *r, struct ask_numbers *out,
			const char *text, struct err *e)
{
	size_t most = r->most ? r->most : 4096, n = 0, len;
	double *list = arena_array(a, most, sizeof(*list)), from, to;

	for (const char *at = text;; at += len + 1) {
		len = strcspn(at, ",");
		if (!ask_range(a, r, arena_strndup(a, at, len), &from, &to) ||
		    to - from + 1 > (double)(most - n))
			return ask_refuse(
				a, r,
				arena_printf(a, "up to %zu numbers like 1,2,4 or 1-16, each %s",
					     most, ask_bounds(a, r)),
				text, e);
		for (size_t k = 0; k <= (size_t)(to - from); k++)
			list[n++] = from + (double)k;
		if (!at[len])
			break;
	}
	*out = (struct ask_numbers){ list, n };
	return 0;
}

/* A bound of times: "100ms", "1h". */
static const char *ask_time_bound(struct arena *a, double s)
{
	return s < 1	  ? arena_printf(a, "%gms", s * 1e3)
	       : s < 3600 ? arena_printf(a, "%gs", s)
			  : arena_printf(a, "%gh", s / 3600);
}

static int take_time(struct arena *a, const struct ask_row *r, void *member, const char *text,
		     struct err *e)
{
	bool bounds = r->min != 0 || r->max != 0;
	double v;

	if (strchr("0123456789.", *text) && parse_seconds(text, &v) == 0 &&
	    (!bounds || (v >= r->min && v <= r->max))) {
		*(double *)member = v;
		return 0;
	}
	return ask_refuse(a, r,
			  bounds ? arena_printf(a, "a time from %s to %s",
						ask_time_bound(a, r->min),
						ask_time_bound(a, r->max))
				 : "a time like 10s, 500ms or 2m, up to 24h",
			  text, e);
}

static int take_choice(struct arena *a, const struct ask_row *r, void *member, const char *text,
		       struct err *e)
{
	for (unsigned i = 0; i < r->n_names; i++)
		if (strcmp(r->names[i], text) == 0) {
			*(unsigned *)member = i;
			return 0;
		}
	return refuse_word(a, r, text, e);
}

static void ask_add_text(struct arena *a, struct ask_texts *t, const char *text)
{
	const char **items = arena_array(a, t->n + 1, sizeof(*items));

	if (t->n)
		memcpy(items, t->items, t->n * sizeof(*items));
	items[t->n] = text;
	*t = (struct ask_texts){ items, t->n + 1 };
}

static bool ask_is_proposed(const struct ask_row *r, const char *text)
{
	const char *word;

	for (size_t i = 0; (word = ask_proposed(r, i)); i++)
		if (strcmp(word, text) == 0)
			return true;
	return false;
}

static int take_text(struct arena *a, const struct ask_row *r, void *member, const char *text,
		     bool again, struct err *e)
{
	const char **to = member;

	if (r->meant && !ask_is_proposed(r, text) && r->meant(text))
		text = r->meant(text);
	if (r->strict && !ask_is_proposed(r, text))
		return refuse_word(a, r, text, e);
	if (r->kind == ASK_KIND_TEXTS)
		ask_add_text(a, member, text);
	else
		*to = (again || r->argument) && *to ? arena_printf(a, "%s%c%s", *to, r->join, text)
						    : text;
	return 0;
}

int ask_take(struct arena *a, const struct ask_row *r, void *member, const char *text, bool again,
	     struct err *e)
{
	struct err why = { 0 };

	if (again && r->kind != ASK_KIND_FLAG && r->kind != ASK_KIND_TEXTS && !r->join)
		return err_set(e, -EINVAL, "%s is given more than once", ask_name(a, r));
	if (r->kind == ASK_KIND_FLAG) {
		*(bool *)member = true;
		return 0;
	}
	if (!*text && !r->may_be_empty)
		return err_set(e, -EINVAL, "%s is empty%s%s", ask_name(a, r),
			       r->argument ? "" : "; expected ",
			       r->argument ? "" : ask_value_name(r));
	if (r->check && r->check(text, &why)) {
		err_set(e, -EINVAL, "%s: %s", ask_name(a, r), why.text);
		if (why.hint[0])
			err_hint(e, "%s", why.hint);
		return -EINVAL;
	}
	switch (r->kind) {
	case ASK_KIND_TEXT:
	case ASK_KIND_TEXTS:
		return take_text(a, r, member, text, again, e);
	case ASK_KIND_NUMBERS:
		return take_numbers(a, r, member, text, e);
	case ASK_KIND_TIME:
		return take_time(a, r, member, text, e);
	case ASK_KIND_CHOICE:
		return take_choice(a, r, member, text, e);
	default:
		return take_number(a, r, member, text, e);
	}
}

struct ask_start {
	struct arena *a;
};

static bool ask_init_row(void *ctx, const struct ask_row *r, const struct ask_shape *s,
			 void *member)
{
	const struct ask_start *start = ctx;
	struct err ignored;

	(void)s;
	if (r->fallback)
		ask_take(start->a, r, member, r->fallback, false, &ignored);
	else if (r->kind == ASK_KIND_COUNT && r->min <= 0)
		ask_store_count(r, member, -1);
	else if ((r->kind == ASK_KIND_REAL || r->kind == ASK_KIND_SHARE) && r->min <= 0)
		*(double *)member = NAN;
	else if (r->kind == ASK_KIND_CHOICE)
		*(unsigned *)member = (unsigned)r->n_names;
	return true;
}

void ask_init(struct arena *a, const struct ask_shape *s, void *object)
{
	struct ask_start start = { a };

	memset(object, 0, s->size);
	ask_for_each(s, object, ask_init_row, &start);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *ask_key(struct arena *a, const struct ask_row *r)
{
	char *key = arena_strdup(a, r->name);

	for (char *c = key; *c; c++)
		*c = *c == '-' ? '_' : (char)(*c >= 'A' && *c <= 'Z' ? *c | 32 : *c);
	return key;
}

struct ask_reading {
	struct arena *a;
	const json_t *j;
	size_t found;
	struct err *e;
	int code;
	struct near_word near; /* to a key of j that no row has */
};

static int ask_read_text(struct ask_reading *g, const struct ask_row *r, void *member,
			 const json_t *v, bool again)
{
	const char *text = json_string_value(v);

	if (!text || strlen(text) != json_string_length(v))
		return err_set(g->e, -EINVAL, "%s contains a NUL", ask_key(g->a, r));
	return ask_take(g->a, r, member, text, again, g->e);
}

/* Numbers are in the row's own unit. */
static int ask_read_number(struct ask_reading *g, const struct ask_row *r, void *member,
			   const json_t *v)
{
	double x = json_number_value(v);
	const char *text = r->kind == ASK_KIND_TIME    ? arena_printf(g->a, "%.17gs", x)
			   : r->kind == ASK_KIND_SHARE ? arena_printf(g->a, "%.17g", x * 100)
						       : arena_printf(g->a, "%.17g", x);

	return ask_take(g->a, r, member, text, false, g->e);
}

static int ask_read_list(struct ask_reading *g, const struct ask_row *r, void *member,
			 const json_t *v)
{
	int code = 0;

	/* A list that somebody filtered down to nothing is not the same as none. */
	if (!json_array_size(v) && r->may_be_empty && r->join)
		return ask_take(g->a, r, member, "", false, g->e);
	if (!json_array_size(v) && !r->may_be_empty)
		return err_set(g->e, -EINVAL, "\"%s\" is an empty list", ask_key(g->a, r));
	for (size_t i = 0; !code && i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);
		const char *text = json_string_value(item);

		/* It would become several, or none. */
		if (r->join && text && (!*text || strchr(text, r->join)))
			return err_set(g->e, -EINVAL, "\"%s\": invalid list item \"%.40s\"",
				       ask_key(g->a, r), text);
		code = json_is_string(item)
			       ? ask_read_text(g, r, member, item, i > 0)
			       : err_set(g->e, -EINVAL, "\"%s\" must be a list of strings",
					 ask_key(g->a, r));
	}
	return code;
}

static int ask_read_numbers(struct ask_reading *g, const struct ask_row *r, void *member,
			    const json_t *v)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);

		if (!json_is_number(item))
			return err_set(g->e, -EINVAL, "\"%s\" must be a list of numbers",
				       ask_key(g->a, r));
		text_printf(&t, "%s%.17g", i ? "," : "", json_number_value(item));
	}
	return ask_take(g->a, r, member, t.s ? t.s : "", false, g->e);
}

static int ask_read_value(struct ask_reading *g, const struct ask_row *r, void *member,
			  const json_t *v)
{
	bool number = r->kind == ASK_KIND_COUNT || r->kind == ASK_KIND_REAL ||
		      r->kind == ASK_KIND_TIME || r->kind == ASK_KIND_SHARE ||
		      r->kind == ASK_KIND_NUMBERS;

	if (r->kind == ASK_KIND_FLAG && json_is_boolean(v)) {
		*(bool *)member = json_is_true(v);
		return 0;
	}
	if (json_is_string(v) && r->kind != ASK_KIND_FLAG)
		return ask_read_text(g, r, member, v, false);
	if (json_is_number(v) && number)
		return ask_read_number(g, r, member, v);
	if (json_is_array(v) && r->kind == ASK_KIND_NUMBERS)
		return ask_read_numbers(g, r, member, v);
	if (json_is_array(v) && (r->kind == ASK_KIND_TEXTS || r->join))
		return ask_read_list(g, r, member, v);
	return err_set(g->e, -EINVAL, "\"%s\" must be %s", ask_key(g->a, r),
		       r->kind == ASK_KIND_FLAG		      ? "true or false"
		       : number				      ? "a number or a string with a unit"
		       : r->kind == ASK_KIND_TEXTS || r->join ? "a string or a list of strings"
							      : "a string");
}

static bool ask_read_row(void *ctx, const struct ask_row *r, const struct ask_shape *s,
			 void *member)
{
	struct ask_reading *g = ctx;
	const json_t *v = json_object_get(g->j, ask_key(g->a, r));

	(void)s;
	if (!v || json_is_null(v)) {
		if (!r->argument || !r->required)
			return true;
		g->code = err_set(g->e, -EINVAL, "\"%s\" is missing", ask_key(g->a, r));
		return false;
	}
	g->found++;
	g->code = ask_read_value(g, r, member, v);
	return g->code == 0;
}

static bool ask_near_row(void *ctx, const struct ask_row *r, const struct ask_shape *s,
			 void *member)
{
	struct ask_reading *g = ctx;
	const char *key = ask_key(g->a, r);

	(void)s;
	(void)member;
	near_word_try(&g->near, key, key);
	return strcmp(key, g->near.asked) != 0;
}

/* A key that no row has. */
static int ask_unknown_key(struct ask_reading *g, const struct ask_shape *s)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)g->j, name, v)
	{
		g->near = near_word_to(arena_printf(g->a, "%.64s", name));
		if (json_is_null(v) || !ask_for_each(s, NULL, ask_near_row, g))
			continue;
		err_set(g->e, -EINVAL, "unknown key \"%s\"", g->near.asked);
		if (g->near.word)
			err_hint(g->e, "did you mean \"%s\"?", g->near.word);
		return -EINVAL;
	}
	return 0;
}

int ask_read(struct arena *a, const struct ask_shape *s, const json_t *j, void *object,
	     struct err *e)
{
	struct ask_reading g = { .a = a, .j = j, .e = e };

	if (j && !json_is_object(j))
		return err_set(e, -EINVAL, "the request must be a JSON object");
	ask_init(a, s, object);
	if (!ask_for_each(s, object, ask_read_row, &g))
		return g.code;
	return j ? ask_unknown_key(&g, s) : 0;
}

static bool ask_schema_row(void *ctx, const struct ask_row *r, const struct ask_shape *s,
			   void *member)
{
	static const char *const types[] = {
		[ASK_KIND_FLAG] = "boolean",  [ASK_KIND_TEXT] = "string",
		[ASK_KIND_TEXTS] = "array",   [ASK_KIND_COUNT] = "number",
		[ASK_KIND_REAL] = "number",   [ASK_KIND_TIME] = "number",
		[ASK_KIND_SHARE] = "number",  [ASK_KIND_CHOICE] = "string",
		[ASK_KIND_NUMBERS] = "array",
	};
	json_t *out = json_object(), *names = NULL;
	ARENA_AUTO a = { 0 };

	(void)s;
	(void)member;
	json_object_set_new(out, "type", json_string(types[r->kind]));
	json_object_set_new(out, "description", json_string(r->help));
	if (r->unit || r->kind == ASK_KIND_TIME)
		json_object_set_new(out, "unit", json_string(r->unit ? r->unit : "s"));
	if (r->min != 0 || r->max != 0) {
		json_object_set_new(out, "minimum", json_real(r->min));
		json_object_set_new(out, "maximum", json_real(r->max));
	}
	if (r->kind == ASK_KIND_CHOICE)
		names = json_array();
	for (size_t i = 0; names && i < r->n_names; i++)
		json_array_append_new(names, json_string(r->names[i]));
	if (names)
		json_object_set_new(out, "enum", names);
	if (r->fallback)
		json_object_set_new(out, "default", json_string(r->fallback));
	json_object_set_new(ctx, ask_key(&a, r), out);
	return true;
}

json_t *ask_schema(const struct ask_shape *s)
{
	json_t *properties = json_object();

	ask_for_each(s, NULL, ask_schema_row, properties);
	return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0,
			 "properties", properties);
}
