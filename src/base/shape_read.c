/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON back into structs, by their rows. The text may be anybody's: every bound is checked before
 * room is made, and a sentence names the row that is wrong.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/shape.h"
#include "base/clock.h"
#include "base/text.h"

struct shape_reader {
	struct arena *arena;
	struct text path; /* of the value at hand: "communication[3].bytes" */
	size_t room;	  /* bytes of structs that may still be made */
	bool partly;	  /* what is missing is passed over */
	struct err *err;
};

static int shape_read_struct(struct shape_reader *in, const struct shape *s, const json_t *j,
			     void *object);

static int shape_refuse(struct shape_reader *in, const char *what)
{
	return err_set(in->err, -EINVAL, "%.300s: %s", in->path.len ? in->path.s : "the result",
		       what);
}

/* Takes back what was added to the path since it was len long. */
static void shape_path_cut(struct shape_reader *in, size_t len)
{
	in->path.len = len;
	in->path.s[len] = '\0';
}

/* n structs of this size; NULL: it is refused. */
static void *shape_room(struct shape_reader *in, size_t n, size_t size)
{
	if (n > in->room / size) {
		shape_refuse(in, "too large");
		return NULL;
	}
	in->room -= n * size;
	return arena_array(in->arena, n ? n : 1, size);
}

static int shape_read_text(struct shape_reader *in, const json_t *j, const char **out)
{
	size_t n = json_string_length(j);

	if (!json_is_string(j))
		return shape_refuse(in, "not a string");
	if (n > SHAPE_TEXT_MAX)
		return shape_refuse(in, "string too long");
	if (memchr(json_string_value(j), '\0', n))
		return shape_refuse(in, "NUL in a string");
	*out = arena_strndup(in->arena, json_string_value(j), n);
	return 0;
}

static int shape_read_count(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			    void *to)
{
	json_int_t v = json_integer_value(j);
	int narrow = (int)v;

	if (!json_is_integer(j))
		return shape_refuse(in, "not a whole number");
	if (r->count_of)
		return 0;
	if ((!r->is_signed && v < 0) ||
	    (r->size == sizeof(int) && (r->is_signed ? v != narrow : v > UINT_MAX)))
		return shape_refuse(in, "out of range");
	memcpy(to, r->size == sizeof(int) ? (void *)&narrow : (void *)&v, r->size);
	return 0;
}

static int shape_read_choice(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			     void *to)
{
	const char *s = json_string_value(j);

	for (unsigned i = 0; s && i < r->n_names; i++) {
		const char *name = r->name_of ? r->name_of(i) : r->names[i];

		if (name && strcmp(name, s) == 0) {
			if (r->size == sizeof(bool))
				*(bool *)to = i == 1;
			else
				memcpy(to, &i, sizeof(i));
			return 0;
		}
	}
	return shape_refuse(in, s ? "not an allowed value" : "not a string");
}

static int shape_read_number(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			     void *to)
{
	static const struct shape_row count = { .kind = SHAPE_KIND_COUNT, .size = sizeof(size_t) };

	if (r->kind == SHAPE_KIND_COUNTS)
		return shape_read_count(in, &count, j, to);
	if (!json_is_number(j) && !(r->unknown == SHAPE_NULL && json_is_null(j)))
		return shape_refuse(in, "not a number");
	*(double *)to = json_is_null(j) ? NAN : json_number_value(j);
	return 0;
}

/* Where the next item is to be: *at, or a struct of its own that *at then points to. NULL: it is
 * refused. */
static void *shape_read_room(struct shape_reader *in, const struct shape_row *r, char *at)
{
	void *to = r->indirect ? shape_room(in, 1, r->sub->size) : at;

	if (to && r->indirect)
		memcpy(at, &to, sizeof(to));
	return to;
}

static int shape_read_item(struct shape_reader *in, const struct shape_row *r, const json_t *item,
			   char *at)
{
	void *to = shape_read_room(in, r, at);

	if (!to)
		return -EINVAL;
	if (r->kind == SHAPE_KIND_TEXTS)
		return shape_read_text(in, item, (const char **)to);
	return r->kind == SHAPE_KIND_LIST ? shape_read_struct(in, r->sub, item, to)
					  : shape_read_number(in, r, item, to);
}

static int shape_read_fact_value(struct shape_reader *in, const struct shape_row *r,
				 const json_t *j, struct fact *f)
{
	const char *text = "";
	int code;

	switch (r->kind) {
	case SHAPE_KIND_FACT_TEXT:
		return shape_read_text(in, j, &((struct fact_str *)f)->v);
	case SHAPE_KIND_FACT_SET:
		code = shape_read_text(in, j, &text);
		if (!code && idset_parse(in->arena, text, &((struct fact_set *)f)->v))
			code = shape_refuse(in, "not a list like \"0-4,10-14\"");
		return code;
	case SHAPE_KIND_FACT_FLAG:
		if (!json_is_boolean(j))
			return shape_refuse(in, "not true or false");
		((struct fact_int *)f)->v = json_is_true(j);
		return 0;
	default:
		if (!json_is_integer(j))
			return shape_refuse(in, "not a whole number");
		((struct fact_int *)f)->v = json_integer_value(j);
		return 0;
	}
}

static int shape_read_seen(struct shape_reader *in, const char *seen, const json_t *error,
			   struct fact *f)
{
	enum { UNNAMED = 4095 }; /* the kernel's largest; what "EUNNAMED" becomes */
	const char *name = json_string_value(error);
	int state = seen ? seen_parse(seen) : -1;

	if (state <= SEEN_OK)
		return shape_refuse(in, "invalid \"seen\"");
	f->seen = (enum seen)state;
	if (!error)
		return 0;
	f->err = name ? errno_number(name) : 0;
	if (name && !f->err && strcmp(name, errno_name(UNNAMED)) == 0)
		f->err = UNNAMED;
	return f->err ? 0 : shape_refuse(in, "\"error\" is not an error name");
}

static int shape_read_fact(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			   struct fact *f)
{
	const json_t *value = json_object_get(j, "value"), *seen = json_object_get(j, "seen"),
		     *error = json_object_get(j, "error"), *from = json_object_get(j, "from");
	int code;

	if (!json_is_object(j) || !value == !seen || (value && error))
		return shape_refuse(in, "requires \"value\" or a valid \"seen\"");
	f->seen = SEEN_OK;
	code = value ? shape_read_fact_value(in, r, value, f)
		     : shape_read_seen(in, json_string_value(seen), error, f);
	return code || !from ? code : shape_read_text(in, from, &f->leaf);
}

static int shape_read_items(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			    char *items)
{
	size_t here = in->path.len;
	const json_t *item;
	int code = 0;
	size_t i;

	json_array_foreach(j, i, item)
	{
		text_printf(&in->path, "[%zu]", i);
		code = shape_read_item(in, r, item, items + i * r->size);
		if (code)
			return code;
		shape_path_cut(in, here);
	}
	return 0;
}

/* An object whose keys are texts of the items. */
static int shape_read_by(struct shape_reader *in, const struct shape_row *r, json_t *j, char *items)
{
	size_t here = in->path.len, i = 0;
	const char *key;
	json_t *item;
	int code;

	json_object_foreach(j, key, item)
	{
		char *at = items + i++ * r->size, *to;

		text_printf(&in->path, "[%.60s]", key);
		if (strlen(key) > SHAPE_TEXT_MAX)
			return shape_refuse(in, "string too long");
		code = shape_read_item(in, r, item, at);
		if (code)
			return code;
		to = r->indirect ? *(char **)(void *)at : at;
		*(const char **)(void *)(to + r->by - 1) = arena_strdup(in->arena, key);
		shape_path_cut(in, here);
	}
	return 0;
}

static int shape_read_list(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			   char *object)
{
	size_t n = r->by ? json_object_size(j) : json_array_size(j);
	void *items = object + r->offset;

	if (r->by ? !json_is_object(j) : !json_is_array(j))
		return shape_refuse(in, r->by ? "not an object" : "not a list");
	if (n > (r->max ? r->max : SHAPE_LIST_MAX))
		return shape_refuse(in, "too many items");
	if (r->pointer) {
		size_t room = 4;

		while (room < n) /* as arena_grow has it: more may be added */
			room *= 2;
		items = shape_room(in, room, r->size);
		if (!items)
			return -EINVAL;
		memcpy(object + r->offset, &items, sizeof(items));
	}
	memcpy(object + r->n_offset, &n, sizeof(n));
	return r->by ? shape_read_by(in, r, (json_t *)j, items) : shape_read_items(in, r, j, items);
}

static int shape_read_object(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			     char *object)
{
	void *to = object + r->offset;

	if (r->pointer) {
		to = shape_room(in, 1, r->sub->size);
		if (!to)
			return -EINVAL;
		memcpy(object + r->offset, &to, sizeof(to));
	}
	return shape_read_struct(in, r->sub, j, to);
}

static int shape_read_value(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			    char *object)
{
	void *to = object + r->offset;
	const char *text = NULL;
	int code;

	switch (r->kind) {
	case SHAPE_KIND_COUNT:
		return shape_read_count(in, r, j, to);
	case SHAPE_KIND_REAL:
		if (!json_is_number(j))
			return shape_refuse(in, "not a number");
		if (!r->real_of)
			*(double *)to = json_number_value(j);
		return 0;
	case SHAPE_KIND_FLAG:
		if (!json_is_boolean(j))
			return shape_refuse(in, "not true or false");
		if (!r->flag_of)
			*(bool *)to = json_is_true(j);
		return 0;
	case SHAPE_KIND_CHOICE:
		return shape_read_choice(in, r, j, to);
	case SHAPE_KIND_TIME:
		if (!json_is_string(j) || stamp_parse(json_string_value(j), to))
			return shape_refuse(in, "not a time like 2026-11-21T04:50:00Z");
		return 0;
	case SHAPE_KIND_OBJECT:
		return shape_read_object(in, r, j, object);
	case SHAPE_KIND_JSON:
		return 0;
	case SHAPE_KIND_TEXTS:
	case SHAPE_KIND_REALS:
	case SHAPE_KIND_COUNTS:
	case SHAPE_KIND_LIST:
		return shape_read_list(in, r, j, object);
	default:
		if (shape_is_fact(r))
			return shape_read_fact(in, r, j, to);
		code = shape_read_text(in, j, &text);
		if (code == 0 && r->kind == SHAPE_KIND_WORD && strcmp(text, r->word) != 0)
			return shape_refuse(in, "unexpected value");
		if (code == 0 && r->kind == SHAPE_KIND_TEXT && !r->text_of)
			*(const char **)to = text;
		return code;
	}
}

/* The member says that nobody knows; the struct is 0 but for what was read. */
static int shape_read_unknown(struct shape_reader *in, const struct shape_row *r, const json_t *j,
			      char *object)
{
	static const long long none = -1, never = LLONG_MIN;
	unsigned beyond = (unsigned)r->n_names;

	if (in->partly && !j)
		return 0;
	if ((r->unknown == SHAPE_KNOWN || r->unknown == SHAPE_BLANK) && !r->when && !r->when_of &&
	    !r->absent && (r->kind != SHAPE_KIND_TIME || !j))
		return shape_refuse(in, j ? "must not be null" : "missing");
	if (r->kind == SHAPE_KIND_REAL && !r->real_of)
		*(double *)(void *)(object + r->offset) = r->unknown == SHAPE_ZERO	 ? 0
							  : r->unknown == SHAPE_NEGATIVE ? -1
											 : NAN;
	else if (r->kind == SHAPE_KIND_COUNT && !r->count_of && r->unknown == SHAPE_NEGATIVE)
		memcpy(object + r->offset, &none, r->size);
	else if (r->kind == SHAPE_KIND_TEXT && !r->text_of && r->unknown == SHAPE_ZERO)
		*(const char **)(void *)(object + r->offset) = "";
	else if (r->kind == SHAPE_KIND_TIME)
		memcpy(object + r->offset, &never, sizeof(never));
	else if (r->kind == SHAPE_KIND_CHOICE && r->unknown == SHAPE_NULL &&
		 r->size == sizeof(beyond))
		memcpy(object + r->offset, &beyond, sizeof(beyond));
	return 0;
}

/* The struct that has the row's member, made where it is not there yet. NULL: it is refused. */
static char *shape_read_base(struct shape_reader *in, const struct shape_row *r, char *object)
{
	char **to = (char **)(void *)(object + r->via - 1);

	if (!r->via)
		return object;
	if (!*to)
		*to = shape_room(in, 1, r->via_size);
	return *to;
}

static int shape_read_row(struct shape_reader *in, const struct shape_row *r, const json_t *v,
			  char *object)
{
	bool known = v && !json_is_null(v);
	char *base;

	if (r->made || r->spread)
		return 0;
	if (r->when)
		((bool *)object)[r->when - 1] = r->absent ? v != NULL : known;
	if (!v && (r->later || (r->absent && (r->unknown == SHAPE_KNOWN || r->via))))
		return 0;
	base = shape_read_base(in, r, object);
	if (!base)
		return -EINVAL;
	return known ? shape_read_value(in, r, v, base) : shape_read_unknown(in, r, v, base);
}

/* What the key ends in is known from a row before, or the ending of the first key that fits. NULL:
 * there is none. */
static const char *shape_read_key(struct shape_reader *in, const struct shape_row *r,
				  const json_t *j, void *object, char room[SHAPE_KEY_SIZE])
{
	const char *key = shape_key(r, object, room), *end;
	size_t n = strlen(r->key);

	if (key)
		return key;
	for (void *i = json_object_iter((json_t *)j); i;
	     i = json_object_iter_next((json_t *)j, i)) {
		key = json_object_iter_key(i);
		if (strncmp(key, r->key, n) == 0 && key[n] == '_' && strlen(key) < SHAPE_KEY_SIZE) {
			end = arena_strdup(in->arena, key + n + 1);
			memcpy((char *)object + r->suffix - 1, &end, sizeof(end));
			return shape_key(r, object, room);
		}
	}
	return NULL;
}

static int shape_read_rows(struct shape_reader *in, const struct shape *s, const json_t *j,
			   char *object)
{
	size_t here = in->path.len;
	int code;

	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		char room[SHAPE_KEY_SIZE];
		const char *key = r->key ? shape_read_key(in, r, j, object, room) : NULL;

		if (!r->key || (!key && r->unknown == SHAPE_KNOWN))
			continue;
		text_printf(&in->path, "%s%s", here ? "." : "", key ? key : r->key);
		code = shape_read_row(in, r, key ? json_object_get(j, key) : NULL, object);
		if (code)
			return code;
		shape_path_cut(in, here);
	}
	return 0;
}

/* Whether a value is of the row's kind, as far as tells kinds from each other. */
static bool shape_takes(const struct shape_row *r, const json_t *j)
{
	switch (r->kind) {
	case SHAPE_KIND_COUNT:
		return json_is_integer(j);
	case SHAPE_KIND_REAL:
		return json_is_number(j);
	case SHAPE_KIND_FLAG:
		return json_is_boolean(j);
	case SHAPE_KIND_OBJECT:
		return json_is_object(j);
	case SHAPE_KIND_TEXTS:
	case SHAPE_KIND_REALS:
	case SHAPE_KIND_COUNTS:
	case SHAPE_KIND_LIST:
		return r->by ? json_is_object(j) : json_is_array(j);
	case SHAPE_KIND_WORD:
		return json_is_string(j) && strcmp(json_string_value(j), r->word) == 0;
	default:
		return json_is_string(j);
	}
}

/* Whether all that this form always has is there. */
static bool shape_fits(const struct shape *s, const json_t *j)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		const json_t *v = r->key ? json_object_get(j, r->key) : j;

		if (r->absent || r->suffix || (!r->key && s->n > 1) || r->kind == SHAPE_KIND_JSON)
			continue;
		if (!v || (json_is_null(v) ? !shape_can_be_null(r) : !shape_takes(r, v)))
			return false;
	}
	return shape_is_value(s) || json_is_object(j);
}

static int shape_read_struct(struct shape_reader *in, const struct shape *s, const json_t *j,
			     void *object)
{
	size_t form = 0;

	if (s->forms) {
		while (form < s->n_forms && !shape_fits(s->forms[form], j))
			form++;
		if (form == s->n_forms && in->partly)
			return 0;
		return form < s->n_forms ? shape_read_struct(in, s->forms[form], j, object)
					 : shape_refuse(in, "matches no allowed form");
	}
	if (shape_is_value(s))
		return shape_read_row(in, s->rows, j, object);
	if (!json_is_object(j))
		return shape_refuse(in, "not an object");
	return shape_read_rows(in, s, j, object);
}

int shape_read(struct arena *a, const struct shape *s, const json_t *j, void *object, struct err *e)
{
	struct shape_reader in = { .arena = a, .room = SHAPE_ROOM_MAX, .err = e };
	int code;

	memset(object, 0, s->size);
	code = shape_read_struct(&in, s, j, object);
	text_free(&in.path);
	return code;
}

int result_shape_check(struct arena *a, const struct result_shape *r, const json_t *j,
		       struct err *e)
{
	struct shape_reader in = { .arena = a, .room = SHAPE_ROOM_MAX, .partly = true, .err = e };
	int code = shape_read_struct(&in, r->shape, j, arena_alloc(a, r->shape->size));

	text_free(&in.path);
	return code;
}

int result_shape_read(struct arena *a, const struct result_shape *r, const char *text, size_t len,
		      void *object, struct err *e)
{
	const char *schema;
	json_error_t why;
	char name[SHAPE_KEY_SIZE];
	json_auto_t *j = NULL;

	if (len > SHAPE_BYTES_MAX)
		return err_set(e, -EINVAL, "the result is larger than %d MiB",
			       SHAPE_BYTES_MAX >> 20);
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!j)
		return err_set(e, -EINVAL, "line %d: %s", why.line, why.text);
	result_schema_name(r, name);
	schema = json_string_value(json_object_get(j, "schema"));
	if (!schema || strcmp(schema, name) != 0)
		return err_set(e, -EINVAL, "schema: \"%.60s\" is not %s", schema ? schema : "",
			       name);
	return shape_read(a, r->shape, j, object, e);
}
