/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of a result's structs to JSON and to its schema. It knows rows, not what they are
 * about. */
#include "base/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

/* The struct that has the row's member; NULL: there is none. */
static const char *shape_base(const struct shape_row *r, const void *object)
{
	return r->via ? *(const char *const *)((const char *)object + r->via - 1) : object;
}

const void *shape_at(const struct shape_row *r, const void *object)
{
	const void *p = shape_base(r, object) + r->offset;

	return r->pointer ? *(const void *const *)p : p;
}

size_t shape_items(const struct shape_row *r, const void *object)
{
	return *(const size_t *)(shape_base(r, object) + r->n_offset);
}

const char *shape_key(const struct shape_row *r, const void *object, char room[SHAPE_KEY_SIZE])
{
	const char *end =
		r->suffix ? *(const char *const *)((const char *)object + r->suffix - 1) : NULL;

	if (!r->suffix)
		return r->key;
	if (end)
		snprintf(room, SHAPE_KEY_SIZE, "%s_%s", r->key, end);
	return end ? room : NULL;
}

bool shape_flag(const struct shape_row *r, const void *object)
{
	return r->flag_of ? r->flag_of(shape_base(r, object)) : *(const bool *)shape_at(r, object);
}

const void *shape_item(const struct shape_row *r, const void *object, size_t i)
{
	const void *at = (const char *)shape_at(r, object) + i * r->size;
	const void *item = r->indirect ? *(const void *const *)at : at;

	return item && (!r->keeps || r->keeps(item, shape_base(r, object))) ? item : NULL;
}

const struct shape *shape_form(const struct shape *s, const void *object)
{
	return s->forms ? s->forms[s->form(object)] : s;
}

/* Whether the row's condition, if any, says that it is known. */
static bool shape_when(const struct shape_row *r, const void *object)
{
	return (!r->when || *((const bool *)object + r->when - 1)) &&
	       (!r->when_of || r->when_of(object));
}

const struct shape_row *shape_make(struct arena *a, const struct shape_row *r, const void **object,
				   struct shape_made *room)
{
	if (!shape_when(r, *object) || (r->made && !shape_base(r, *object)))
		return NULL;
	if (!r->made)
		return r;
	*room = (struct shape_made){ .row = *r };
	room->at = r->made(a, shape_base(r, *object), &room->n);
	room->row.made = NULL;
	room->row.when = room->row.via = 0;
	room->row.when_of = NULL;
	room->row.pointer = r->kind != SHAPE_KIND_TEXT;
	room->row.offset = offsetof(struct shape_made, at);
	room->row.n_offset = offsetof(struct shape_made, n);
	*object = room;
	return &room->row;
}

static long long shape_count(const struct shape_row *r, const void *object)
{
	const void *p = shape_at(r, object);

	if (r->count_of)
		return r->count_of(shape_base(r, object));
	if (r->size == sizeof(int))
		return r->is_signed ? *(const int *)p : (long long)*(const unsigned *)p;
	return *(const long long *)p;
}

static unsigned shape_choice(const struct shape_row *r, const void *object)
{
	const void *p = shape_at(r, object);

	return r->size == sizeof(bool) ? *(const bool *)p : *(const unsigned *)p;
}

double shape_number(const struct shape_row *r, const void *object)
{
	if (r->kind == SHAPE_KIND_CHOICE)
		return shape_choice(r, object);
	if (r->kind == SHAPE_KIND_COUNT)
		return (double)shape_count(r, object);
	return r->real_of ? r->real_of(shape_base(r, object))
			  : *(const double *)shape_at(r, object);
}

const struct shape_row *shape_row_of(const struct shape *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].key && strcmp(s->rows[i].key, key) == 0)
			return &s->rows[i];
	return NULL;
}

static const char *shape_name(const struct shape_row *r, size_t value)
{
	if (value >= r->n_names)
		return NULL;
	return r->name_of ? r->name_of((unsigned)value) : r->names[value];
}

const char *shape_text(const struct shape_row *r, const void *object)
{
	if (r->kind == SHAPE_KIND_WORD)
		return r->word;
	if (r->kind == SHAPE_KIND_CHOICE)
		return shape_name(r, shape_choice(r, object));
	return r->text_of ? r->text_of(shape_base(r, object))
			  : *(const char *const *)shape_at(r, object);
}

bool shape_known(const struct shape_row *r, const void *object)
{
	if (!shape_when(r, object) || !shape_base(r, object))
		return false;
	switch (r->kind) {
	case SHAPE_KIND_COUNT:
	case SHAPE_KIND_REAL:
		return r->unknown == SHAPE_ZERO	      ? shape_number(r, object) > 0
		       : r->unknown == SHAPE_NEGATIVE ? shape_number(r, object) >= 0
						      : isfinite(shape_number(r, object));
	case SHAPE_KIND_TEXT:
	case SHAPE_KIND_CHOICE:
		return r->unknown == SHAPE_BLANK ||
		       (shape_text(r, object) &&
			(r->unknown != SHAPE_ZERO || *shape_text(r, object)));
	case SHAPE_KIND_OBJECT:
		return shape_at(r, object) && (r->unknown != SHAPE_ZERO ||
					       shape_number(r->sub->rows, shape_at(r, object)) > 0);
	case SHAPE_KIND_JSON:
		return *(json_t *const *)shape_at(r, object);
	case SHAPE_KIND_TEXTS:
	case SHAPE_KIND_COUNTS:
	case SHAPE_KIND_LIST:
		return r->unknown != SHAPE_NULL || shape_at(r, object);
	default:
		return !shape_is_fact(r) ||
		       ((const struct fact *)shape_at(r, object))->seen != SEEN_UNASKED;
	}
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Of a fact that was seen. */
static json_t *shape_fact_value_json(const struct shape_row *r, const struct fact *f)
{
	struct arena a = { 0 };
	json_t *j;

	switch (r->kind) {
	case SHAPE_KIND_FACT_TEXT:
		return json_text(((const struct fact_str *)f)->v);
	case SHAPE_KIND_FACT_SET:
		j = json_string(idset_format(&a, &((const struct fact_set *)f)->v));
		arena_free(&a);
		return j;
	case SHAPE_KIND_FACT_FLAG:
		return json_boolean(((const struct fact_int *)f)->v != 0);
	default:
		return json_integer(((const struct fact_int *)f)->v);
	}
}

static json_t *shape_fact_json(const struct shape_row *r, const struct fact *f)
{
	json_t *j = json_object();
	TEXT_AUTO from = { 0 };

	if (seen_ok(f)) {
		json_object_set_new_nocheck(j, "value", shape_fact_value_json(r, f));
	} else {
		json_object_set_new_nocheck(j, "seen", json_string(seen_name(f->seen)));
		if (f->err)
			json_object_set_new_nocheck(j, "error", json_string(errno_name(f->err)));
	}
	if (f->leaf && f->dir)
		text_add(&from, f->dir);
	if (f->leaf)
		text_add(&from, f->leaf);
	if (f->leaf)
		json_object_set_new_nocheck(j, "from", json_text(from.s));
	return j;
}

bool shape_is_value(const struct shape *s)
{
	return s->n == 1 && !s->rows[0].key;
}

json_t *shape_object_json(const struct shape *s, const void *object)
{
	json_t *j;

	s = shape_form(s, object);
	if (shape_is_value(s))
		return shape_figure_json(s->rows, object);
	j = json_object();
	shape_json(j, s, object);
	return j;
}

static void shape_put_by(json_t *j, const char *key, json_t *v)
{
	ARENA_AUTO a = { 0 };

	json_object_set_new(j, key ? utf8_clean(&a, key) : "", v);
}

static json_t *shape_list_json(const struct shape_row *r, const void *object)
{
	json_t *list = r->by ? json_object() : json_array();

	for (size_t i = 0; i < shape_items(r, object); i++) {
		const char *item = shape_item(r, object, i);

		if (item && r->by)
			shape_put_by(list, *(const char *const *)(const void *)(item + r->by - 1),
				     shape_object_json(r->sub, item));
		else if (item)
			json_array_append_new(list, shape_object_json(r->sub, item));
	}
	return list;
}

static json_t *shape_numbers_json(const struct shape_row *r, const void *object)
{
	const void *items = shape_at(r, object);
	json_t *list = json_array();

	for (size_t i = 0; i < shape_items(r, object); i++)
		json_array_append_new(
			list, r->kind == SHAPE_KIND_REALS
				      ? json_figure(((const double *)items)[i])
				      : json_integer((long long)((const size_t *)items)[i]));
	return list;
}

static json_t *shape_value_json(const struct shape_row *r, const void *object)
{
	char stamp[STAMP_SIZE];
	const char *text;

	switch (r->kind) {
	case SHAPE_KIND_COUNT:
		return json_integer(shape_count(r, object));
	case SHAPE_KIND_REAL:
		return json_figure(shape_number(r, object));
	case SHAPE_KIND_FLAG:
		return json_boolean(shape_flag(r, object));
	case SHAPE_KIND_TIME:
		return stamp_format(*(const long long *)shape_at(r, object), stamp) < 0
			       ? json_null()
			       : json_string(stamp);
	case SHAPE_KIND_TEXTS:
		return json_texts(shape_at(r, object), shape_items(r, object));
	case SHAPE_KIND_REALS:
	case SHAPE_KIND_COUNTS:
		return shape_numbers_json(r, object);
	case SHAPE_KIND_OBJECT:
		return shape_object_json(r->sub, shape_at(r, object));
	case SHAPE_KIND_LIST:
		return shape_list_json(r, object);
	case SHAPE_KIND_JSON:
		return json_incref(*(json_t *const *)shape_at(r, object));
	default:
		if (shape_is_fact(r))
			return shape_fact_json(r, shape_at(r, object));
		text = shape_text(r, object);
		return json_text(!text && r->unknown == SHAPE_BLANK ? "" : text);
	}
}

/* A row that has a condition is left out by that alone. */
json_t *shape_figure_json(const struct shape_row *r, const void *object)
{
	ARENA_AUTO a = { 0 };
	struct shape_made room;
	const struct shape_row *made = shape_make(&a, r, &object, &room);
	bool left_out = r->absent && !((r->when || r->when_of) && made);
	json_t *v = NULL;

	if (made && shape_known(made, object))
		v = shape_value_json(made, object);
	return v || left_out ? v : json_null();
}

void shape_json(json_t *j, const struct shape *s, const void *object)
{
	char room[SHAPE_KEY_SIZE];

	s = shape_form(s, object);
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		const char *key = shape_key(r, object, room);
		json_t *v = key ? shape_figure_json(r, object) : NULL;

		if (v && r->spread)
			json_object_update_new(j, v);
		else if (v)
			json_object_set_new(j, key, v);
	}
}

const char *result_schema_name(const struct result_shape *r, char name[SHAPE_KEY_SIZE])
{
	snprintf(name, SHAPE_KEY_SIZE, "gputune.%s/%d", r->name, r->version ? r->version : 1);
	return name;
}

json_t *result_shape_json_on(const struct result_shape *r, const void *object, const void *host,
			     long long now, int exit_code)
{
	char name[SHAPE_KEY_SIZE], stamp[STAMP_SIZE];
	json_t *j = json_object();

	json_put_text(j, "schema", result_schema_name(r, name));
	if (!r->no_version)
		json_put_text(j, "tool_version", GPUTUNE_VERSION);
	if (host)
		json_object_set_new(j, "host", shape_object_json(r->host, host));
	if (!r->no_time)
		json_put_text(j, "time", stamp_format(now, stamp) < 0 ? NULL : stamp);
	if (r->exit_codes)
		json_put_int(j, "exit_code", exit_code);
	shape_json(j, r->shape, object);
	return j;
}

json_t *result_shape_json(const struct result_shape *r, const void *object, long long now,
			  int exit_code)
{
	return result_shape_json_on(r, object, NULL, now, exit_code);
}

/* --- schema ----------------------------------------------------------------------------------- */

static json_t *shape_schema(const struct shape *s, json_t *defs);
static json_t *shape_row_schema(const struct shape_row *r, json_t *defs);

/* A reference to a struct's definition, which is added where it is missing. */
static json_t *shape_ref(const struct shape *s, json_t *defs)
{
	char ref[80];

	if (shape_is_value(s))
		return shape_row_schema(s->rows, defs);
	snprintf(ref, sizeof(ref), "#/$defs/%s", s->name);
	if (!json_object_get(defs, s->name)) {
		json_object_set_new(defs, s->name, json_null());
		json_object_set_new(defs, s->name, shape_schema(s, defs));
	}
	return json_pack("{s:s}", "$ref", ref);
}

bool shape_can_be_null(const struct shape_row *r)
{
	if (r->absent)
		return (r->when || r->when_of) && r->unknown != SHAPE_KNOWN;
	return r->when || r->when_of || r->kind == SHAPE_KIND_TIME ||
	       (r->unknown != SHAPE_KNOWN && r->unknown != SHAPE_BLANK);
}

static json_t *shape_choices(const struct shape_row *r)
{
	json_t *names = json_array();

	for (size_t i = 0; i < r->n_names; i++)
		if (shape_name(r, i))
			json_array_append_new(names, json_string(shape_name(r, i)));
	if (shape_can_be_null(r))
		json_array_append_new(names, json_null());
	return json_pack("{s:o}", "enum", names);
}

/* Of an object or a list, where it may be null besides. */
static json_t *shape_or_null(const struct shape_row *r, json_t *schema)
{
	return shape_can_be_null(r) ? json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null")
				    : schema;
}

static json_t *shape_list_schema(const struct shape_row *r, json_t *items)
{
	return shape_or_null(
		r, r->by ? json_pack("{s:s, s:o}", "type", "object", "additionalProperties", items)
			 : json_pack("{s:s, s:o}", "type", "array", "items", items));
}

/* A fact that was seen, or one that was not. */
static json_t *shape_fact_schema(const struct shape_row *r, json_t *defs)
{
	static const char *const types[] = {
		[SHAPE_KIND_FACT_INT] = "integer", [SHAPE_KIND_FACT_FLAG] = "boolean",
		[SHAPE_KIND_FACT_HEX] = "integer", [SHAPE_KIND_FACT_TEXT] = "string",
		[SHAPE_KIND_FACT_SET] = "string",
	};
	static const char form[] = "{s:[{s:s, s:b, s:[s, s], s:{s:{s:s}, s:{s:s, s:i}}}, "
				   "{s:s, s:b, s:[s], s:{s:{s:[s, s, s, s]}, s:{s:s}, s:{s:s}}}]}";
	const char *type = types[r->kind];
	char name[32], ref[48];

	snprintf(name, sizeof(name), "fact_%s", type);
	snprintf(ref, sizeof(ref), "#/$defs/%s", name);
	if (!json_object_get(defs, name))
		json_object_set_new(
			defs, name,
			json_pack(form, "oneOf", "type", "object", "additionalProperties", 0,
				  "required", "value", "from", "properties", "value", "type", type,
				  "from", "type", "string", "minLength", 1, "type", "object",
				  "additionalProperties", 0, "required", "seen", "properties",
				  "seen", "enum", "absent", "denied", "unsupported", "error",
				  "error", "type", "string", "from", "type", "string"));
	return json_pack("{s:s, s:s}", "$ref", ref, "title", r->title);
}

static json_t *shape_row_schema(const struct shape_row *r, json_t *defs)
{
	static const char *const types[] = {
		[SHAPE_KIND_COUNT] = "integer", [SHAPE_KIND_REAL] = "number",
		[SHAPE_KIND_FLAG] = "boolean",	[SHAPE_KIND_TEXT] = "string",
		[SHAPE_KIND_TIME] = "string",
	};

	if (r->n_names)
		return shape_choices(r);
	switch (r->kind) {
	case SHAPE_KIND_WORD:
		return json_pack("{s:s}", "const", r->word);
	case SHAPE_KIND_TEXTS:
		return shape_list_schema(r, json_pack("{s:s}", "type", "string"));
	case SHAPE_KIND_REALS:
		return r->unknown == SHAPE_NULL ? json_pack("{s:s, s:{s:[s, s]}}", "type", "array",
							    "items", "type", "number", "null")
						: json_pack("{s:s, s:{s:s}}", "type", "array",
							    "items", "type", "number");
	case SHAPE_KIND_COUNTS:
		return shape_list_schema(r, json_pack("{s:s}", "type", "integer"));
	case SHAPE_KIND_LIST:
		return shape_list_schema(r, shape_ref(r->sub, defs));
	case SHAPE_KIND_OBJECT:
		return shape_or_null(r, shape_ref(r->sub, defs));
	case SHAPE_KIND_JSON:
		return r->word ? json_loads(r->word, 0, NULL) : json_object();
	default:
		if (shape_is_fact(r))
			return shape_fact_schema(r, defs);
		if (shape_can_be_null(r))
			return json_pack("{s:[s, s]}", "type", types[r->kind], "null");
		return json_pack("{s:s}", "type", types[r->kind]);
	}
}

/* Whether it is never left out. A list that may be missing when it is read is written where it is
 * empty, too. */
static bool shape_is_always(const struct shape_row *r)
{
	return !r->absent || (r->kind == SHAPE_KIND_LIST && r->unknown == SHAPE_KNOWN && !r->when &&
			      !r->when_of && !r->via);
}

/* Of a key that ends in a text: none of the others. */
static void shape_pattern(const struct shape *s, const struct shape_row *r,
			  char out[SHAPE_KEY_SIZE])
{
	size_t len = strlen(r->key), n = (size_t)snprintf(out, SHAPE_KEY_SIZE, "^%s_", r->key);

	for (size_t i = 0; i < s->n && n < SHAPE_KEY_SIZE; i++) {
		const char *key = s->rows[i].key;

		if (key && strncmp(key, r->key, len) == 0 && key[len] == '_')
			n += (size_t)snprintf(out + n, SHAPE_KEY_SIZE - n, "(?!%s$)",
					      key + len + 1);
	}
	if (n < SHAPE_KEY_SIZE)
		snprintf(out + n, SHAPE_KEY_SIZE - n, "[a-z][a-z0-9_]*$");
}

/* The rows of a struct are added to its schema: properties, and those of them that are always
 * there; patterns of keys that end in a text. */
static void shape_rows_schema(const struct shape *s, json_t *to, json_t *defs)
{
	json_t *properties = json_object_get(to, "properties"), *patterns = json_object();

	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		json_t *v = r->key ? shape_row_schema(r, defs) : NULL;
		char pattern[SHAPE_KEY_SIZE];

		if (!v)
			continue;
		if (r->spread) {
			json_object_set(to, "additionalProperties",
					json_object_get(v, "additionalProperties"));
			json_decref(v);
			continue;
		}
		if (r->meaning)
			json_object_set_new(v, "description", json_string(r->meaning));
		if (r->suffix) {
			shape_pattern(s, r, pattern);
			json_object_set_new(patterns, pattern, v);
			continue;
		}
		if (shape_is_always(r) && !json_object_get(properties, r->key))
			json_array_append_new(json_object_get(to, "required"), json_string(r->key));
		json_object_set_new(properties, r->key, v);
	}
	if (json_object_size(patterns))
		json_object_set(to, "patternProperties", patterns);
	json_decref(patterns);
}

static json_t *shape_object_schema(void)
{
	return json_pack("{s:s, s:b, s:[], s:{}}", "type", "object", "additionalProperties", 0,
			 "required", "properties");
}

static json_t *shape_schema(const struct shape *s, json_t *defs)
{
	json_t *j, *forms = json_array();

	if (!s->forms) {
		j = shape_object_schema();
		shape_rows_schema(s, j, defs);
		json_decref(forms);
		return j;
	}
	for (size_t i = 0; i < s->n_forms; i++)
		json_array_append_new(forms, shape_ref(s->forms[i], defs));
	return json_pack("{s:o}", "oneOf", forms);
}

static void shape_require(json_t *j, const char *key, json_t *v)
{
	json_object_set_new(json_object_get(j, "properties"), key, v);
	json_array_append_new(json_object_get(j, "required"), json_string(key));
}

/* What result_shape_json_on writes before the rows. */
static void result_head_schema(const struct result_shape *r, json_t *j, json_t *defs)
{
	json_t *codes = json_array();
	char name[SHAPE_KEY_SIZE];

	shape_require(j, "schema", json_pack("{s:s}", "const", result_schema_name(r, name)));
	if (!r->no_version)
		shape_require(j, "tool_version", json_pack("{s:s}", "type", "string"));
	for (int code = 0; code < 32; code++)
		if (r->exit_codes & 1u << code)
			json_array_append_new(codes, json_integer(code));
	if (!r->no_time)
		shape_require(j, "time", json_pack("{s:[s, s]}", "type", "string", "null"));
	if (r->exit_codes)
		shape_require(j, "exit_code", json_pack("{s:O}", "enum", codes));
	json_decref(codes);
	if (r->host)
		shape_require(j, "host", shape_ref(r->host, defs));
}

json_t *result_shape_schema(const struct result_shape *r)
{
	json_t *defs = json_object(), *forms = json_array(), *j, *body;
	const struct shape *const *list = r->shape->forms ? r->shape->forms : &r->shape;
	size_t n = r->shape->forms ? r->shape->n_forms : 1;

	j = json_pack("{s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
		      "title", r->title, "description", r->meaning);
	for (size_t i = 0; i < n; i++) {
		body = shape_object_schema();
		result_head_schema(r, body, defs);
		shape_rows_schema(list[i], body, defs);
		json_array_append_new(forms, body);
	}
	if (n == 1)
		json_object_update(j, json_array_get(forms, 0));
	else
		json_object_set(j, "oneOf", forms);
	json_decref(forms);
	json_object_set_new(j, "$defs", defs);
	return j;
}
