/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts to JSON and back, by the schema tables alone: no struct is named here. Reading is strict,
 * because what it reads may be anybody's file: an unknown key or a wrong type is an error that
 * names its place.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "machine/model/machine.h"

enum {
	LIST_MAX = 1 << 17,   /* items in one list */
	STRING_MAX = 1 << 20, /* bytes in one text; the kernel's longest lists and command lines are
				 far below */
	ERRNO_UNNAMED = 4095, /* the kernel's largest; what "EUNNAMED" becomes */
};

/* --- writing ---------------------------------------------------------------------------------- */

struct writer {
	struct arena arena; /* sets as text, and texts that were not UTF-8 */
	struct text from;
};

static json_t *object_to_json(struct writer *w, const struct schema *s, const void *object);

static json_t *string_json(struct writer *w, const char *s)
{
	json_t *j = json_string(s ? s : "");

	/* What a machine names need not be UTF-8, JSON must be. */
	return j ? j : json_string(utf8_clean(&w->arena, s));
}

static json_t *json_from(struct writer *w, const struct fact *f)
{
	if (!f->dir)
		return string_json(w, f->leaf);
	text_clear(&w->from);
	text_add(&w->from, f->dir);
	text_add(&w->from, f->leaf);
	return string_json(w, w->from.s);
}

static json_t *json_value_json(struct writer *w, const struct field *f, const struct fact *fact)
{
	long long v;

	switch (f->kind) {
	case FIELD_STR:
		return string_json(w, ((const struct fact_str *)fact)->v);
	case FIELD_SET:
		return json_string(idset_format(&w->arena, &((const struct fact_set *)fact)->v));
	default:
		v = ((const struct fact_int *)fact)->v;
		return f->kind == FIELD_BOOL ? json_boolean(v != 0) : json_integer(v);
	}
}

static json_t *json_fact(struct writer *w, const struct field *f, const struct fact *fact)
{
	json_t *j = json_object();

	if (seen_ok(fact)) {
		json_object_set_new(j, "value", json_value_json(w, f, fact));
	} else {
		json_object_set_new(j, "seen", json_string(seen_name(fact->seen)));
		if (fact->err)
			json_object_set_new(j, "error", json_string(errno_name(fact->err)));
	}
	if (fact->leaf)
		json_object_set_new(j, "from", json_from(w, fact));
	return j;
}

static json_t *list_json(struct writer *w, const struct field *f, const struct list *l)
{
	json_t *j = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(j, object_to_json(w, f->sub, list_at(l, f->sub, i)));
	return j;
}

/* NULL for a fact that nobody asked for. */
static json_t *field_json(struct writer *w, const struct field *f, const void *at)
{
	switch (f->kind) {
	case FIELD_NAME:
		return string_json(w, *(const char *const *)at);
	case FIELD_ID:
		return json_integer(*(const unsigned *)at);
	case FIELD_PART:
		return object_to_json(w, f->sub, at);
	case FIELD_LIST:
		return list_json(w, f, at);
	default:
		return ((const struct fact *)at)->seen == SEEN_UNASKED ? NULL : json_fact(w, f, at);
	}
}

static json_t *object_to_json(struct writer *w, const struct schema *s, const void *object)
{
	json_t *j = json_object();

	for (size_t i = 0; i < s->n; i++) {
		json_t *v = field_json(w, &s->fields[i], field_at(object, &s->fields[i]));

		if (v)
			json_object_set_new_nocheck(j, s->fields[i].key, v);
	}
	return j;
}

json_t *schema_to_json(const struct schema *s, const void *object)
{
	struct writer w = { 0 };
	json_t *j = object_to_json(&w, s, object);

	text_free(&w.from);
	arena_free(&w.arena);
	return j;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	struct arena *arena;
	struct text path; /* of the value at hand: "$.gpu.gpus[3].name" */
	struct err *err;
};

static int object_from_json(struct reader *r, const struct schema *s, const json_t *j,
			    void *object);

static int bad(struct reader *r, const char *what)
{
	return err_set(r->err, -EINVAL, "%s: %s", r->path.s, what);
}

/* Takes back what was added to the path since it was len long. */
static void path_cut(struct reader *r, size_t len)
{
	r->path.len = len;
	r->path.s[len] = '\0';
}

static int read_string(struct reader *r, const json_t *j, const char **out)
{
	size_t n = json_string_length(j);

	if (!json_is_string(j))
		return bad(r, "expected a text");
	if (n > STRING_MAX || memchr(json_string_value(j), '\0', n))
		return bad(r, "the text is too long or has a NUL in it");
	*out = arena_strndup(r->arena, json_string_value(j), n);
	return 0;
}

static int read_value(struct reader *r, const struct field *f, const json_t *j, struct fact *fact)
{
	const char *s = "";
	int ret;

	switch (f->kind) {
	case FIELD_STR:
		return read_string(r, j, &((struct fact_str *)fact)->v);
	case FIELD_SET:
		ret = read_string(r, j, &s);
		if (!ret && idset_parse(r->arena, s, &((struct fact_set *)fact)->v))
			ret = bad(r, "expected a list like \"0-4,10-14\"");
		return ret;
	case FIELD_BOOL:
		if (!json_is_boolean(j))
			return bad(r, "expected true or false");
		((struct fact_int *)fact)->v = json_is_true(j);
		return 0;
	default:
		if (!json_is_integer(j))
			return bad(r, "expected an integer");
		((struct fact_int *)fact)->v = json_integer_value(j);
		return 0;
	}
}

static int read_seen(struct reader *r, const json_t *seen, const json_t *error, struct fact *fact)
{
	int state = json_is_string(seen) ? seen_parse(json_string_value(seen)) : -1;

	if (state <= SEEN_OK)
		return bad(r,
			   "\"seen\" must be \"absent\", \"denied\", \"unsupported\" or \"error\"");
	fact->seen = (enum seen)state;
	if (!error)
		return 0;
	if (!json_is_string(error))
		return bad(r, "\"error\" must be the name of an error");
	fact->err = errno_number(json_string_value(error));
	if (!fact->err && strcmp(json_string_value(error), errno_name(ERRNO_UNNAMED)) == 0)
		fact->err = ERRNO_UNNAMED;
	return fact->err ? 0 : bad(r, "\"error\" must be the name of an error, such as \"EACCES\"");
}

static int read_fact(struct reader *r, const struct field *f, const json_t *j, struct fact *fact)
{
	const json_t *value = json_object_get(j, "value"), *seen = json_object_get(j, "seen"),
		     *error = json_object_get(j, "error"), *from = json_object_get(j, "from");
	size_t known = (size_t) !!value + !!seen + !!error + !!from;
	int ret;

	if (!json_is_object(j) || !value == !seen || known != json_object_size(j) ||
	    (value && error))
		return bad(r, "expected {\"value\", \"from\"} or {\"seen\", \"error\", \"from\"}");
	if (value) {
		fact->seen = SEEN_OK;
		ret = read_value(r, f, value, fact);
	} else {
		ret = read_seen(r, seen, error, fact);
	}
	if (ret || !from)
		return ret;
	return read_string(r, from, &fact->leaf);
}

static int read_list(struct reader *r, const struct field *f, const json_t *j, struct list *l)
{
	size_t n = json_array_size(j), here = r->path.len;
	int ret = 0;

	if (!json_is_array(j))
		return bad(r, "expected a list");
	if (n > LIST_MAX)
		return bad(r, "the list is too long");
	for (size_t i = 0; i < n && !ret; i++) {
		text_printf(&r->path, "[%zu]", i);
		ret = object_from_json(r, f->sub, json_array_get(j, i),
				       list_add(r->arena, l, f->sub->size));
		if (!ret)
			path_cut(r, here);
	}
	return ret;
}

static int read_id(struct reader *r, const json_t *j, unsigned *out)
{
	json_int_t v = json_integer_value(j);

	if (!json_is_integer(j) || v < 0 || v > UINT_MAX)
		return bad(r, "expected a number of an object, 0 or more");
	*out = (unsigned)v;
	return 0;
}

static int read_field(struct reader *r, const struct field *f, const json_t *j, void *at)
{
	switch (f->kind) {
	case FIELD_NAME:
		return read_string(r, j, at);
	case FIELD_ID:
		return read_id(r, j, at);
	case FIELD_PART:
		return object_from_json(r, f->sub, j, at);
	case FIELD_LIST:
		return read_list(r, f, j, at);
	default:
		return read_fact(r, f, j, at);
	}
}

/* Names the first key that the table does not have. */
static int unknown_key(struct reader *r, const struct schema *s, const json_t *j)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)j, key, v)
	{
		size_t i = 0;

		while (i < s->n && strcmp(s->fields[i].key, key) != 0)
			i++;
		if (i == s->n)
			return err_set(r->err, -EINVAL, "%s: unknown key \"%.64s\"", r->path.s,
				       key);
	}
	return 0;
}

static int object_from_json(struct reader *r, const struct schema *s, const json_t *j, void *object)
{
	size_t here = r->path.len, known = 0;

	if (!json_is_object(j))
		return bad(r, "expected an object");
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];
		const json_t *v = json_object_get(j, f->key);
		int ret;

		text_printf(&r->path, ".%s", f->key);
		if (!v && (f->kind == FIELD_NAME || f->kind == FIELD_ID))
			return bad(r, "is missing");
		ret = v ? read_field(r, f, v, field_at_mut(object, f)) : 0;
		if (ret)
			return ret;
		known += v != NULL;
		path_cut(r, here);
	}
	return known == json_object_size(j) ? 0 : unknown_key(r, s, j);
}

int schema_from_json(struct arena *a, const struct schema *s, const json_t *j, void *object,
		     struct err *e)
{
	struct reader r = { .arena = a, .err = e };
	int ret;

	text_add(&r.path, "$");
	ret = object_from_json(&r, s, j, object);
	text_free(&r.path);
	return ret;
}
