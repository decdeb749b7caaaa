/* SPDX-License-Identifier: Apache-2.0 */
/* From the rows of a result's structs to JSON and to its schema. It knows rows, not what they are
 * about. */
#include "base/shape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/clock.h"

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
	if ((r->when && !*((const bool *)object + r->when - 1)) || !shape_base(r, object))
		return false;
	switch (r->kind) {
	case SHAPE_KIND_COUNT:
	case SHAPE_KIND_REAL:
		return r->unknown == SHAPE_ZERO	      ? shape_number(r, object) > 0
		       : r->unknown == SHAPE_NEGATIVE ? shape_number(r, object) >= 0
						      : isfinite(shape_number(r, object));
	case SHAPE_KIND_TEXT:
	case SHAPE_KIND_CHOICE:
		return r->unknown == SHAPE_BLANK || shape_text(r, object);
	case SHAPE_KIND_OBJECT:
		return shape_at(r, object) && (r->unknown != SHAPE_ZERO ||
					       shape_number(r->sub->rows, shape_at(r, object)) > 0);
	default:
		return true;
	}
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *shape_object_json(const struct shape *s, const void *object)
{
	json_t *j = json_object();

	shape_json(j, s, object);
	return j;
}

static json_t *shape_list_json(const struct shape_row *r, const void *object)
{
	json_t *list = json_array();

	for (size_t i = 0; i < shape_items(r, object); i++)
		json_array_append_new(
			list,
			shape_object_json(r->sub, (const char *)shape_at(r, object) + i * r->size));
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
		return json_boolean(r->flag_of ? r->flag_of(shape_base(r, object))
					       : *(const bool *)shape_at(r, object));
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
	default:
		text = shape_text(r, object);
		return json_text(!text && r->unknown == SHAPE_BLANK ? "" : text);
	}
}

/* Of what is not known: a row that has a condition is left out by that alone. */
static bool shape_left_out(const struct shape_row *r, const void *object)
{
	return r->absent && !(r->when && *((const bool *)object + r->when - 1));
}

void shape_json(json_t *j, const struct shape *s, const void *object)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		bool known = shape_known(r, object);
		char room[SHAPE_KEY_SIZE];
		const char *key = shape_key(r, object, room);

		if (key && (known || !shape_left_out(r, object)))
			json_object_set_new(j, key,
					    known ? shape_value_json(r, object) : json_null());
	}
}

json_t *result_shape_json(const struct result_shape *r, const void *object, long long now,
			  int exit_code)
{
	char name[64];
	json_t *j;

	snprintf(name, sizeof(name), "gputune.%s/1", r->name);
	j = json_head(name, now, exit_code);
	shape_json(j, r->shape, object);
	return j;
}

/* --- schema ----------------------------------------------------------------------------------- */

static json_t *shape_schema(const struct shape *s, json_t *defs);

/* A reference to a struct's definition, which is added where it is missing. */
static json_t *shape_ref(const struct shape *s, json_t *defs)
{
	char ref[80];

	snprintf(ref, sizeof(ref), "#/$defs/%s", s->name);
	if (!json_object_get(defs, s->name)) {
		json_object_set_new(defs, s->name, json_null());
		json_object_set_new(defs, s->name, shape_schema(s, defs));
	}
	return json_pack("{s:s}", "$ref", ref);
}

static bool shape_can_be_null(const struct shape_row *r)
{
	if (r->absent)
		return r->when && r->unknown != SHAPE_KNOWN;
	return r->when || r->kind == SHAPE_KIND_TIME ||
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

static json_t *shape_object_schema(const struct shape_row *r, json_t *defs)
{
	json_t *ref = shape_ref(r->sub, defs);

	return shape_can_be_null(r) ? json_pack("{s:[o, {s:s}]}", "anyOf", ref, "type", "null")
				    : ref;
}

static json_t *shape_numbers_schema(const char *type, bool can_be_null)
{
	json_t *of = can_be_null ? json_pack("[s, s]", type, "null") : json_string(type);

	return json_pack("{s:s, s:{s:o}}", "type", "array", "items", "type", of);
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
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
	case SHAPE_KIND_REALS:
		return shape_numbers_schema("number", r->unknown == SHAPE_NULL);
	case SHAPE_KIND_COUNTS:
		return shape_numbers_schema("integer", false);
	case SHAPE_KIND_LIST:
		return json_pack("{s:s, s:o}", "type", "array", "items", shape_ref(r->sub, defs));
	case SHAPE_KIND_OBJECT:
		return shape_object_schema(r, defs);
	default:
		if (shape_can_be_null(r))
			return json_pack("{s:[s, s]}", "type", types[r->kind], "null");
		return json_pack("{s:s}", "type", types[r->kind]);
	}
}

/* The rows of a struct are added to its schema: properties, and those of them that are always
 * there; patterns of keys that end in a text. */
static void shape_rows_schema(const struct shape *s, json_t *to, json_t *defs)
{
	json_t *properties = json_object_get(to, "properties"), *patterns = json_object();

	for (size_t i = 0; i < s->n; i++) {
		const struct shape_row *r = &s->rows[i];
		json_t *v = shape_row_schema(r, defs);
		char pattern[SHAPE_KEY_SIZE];

		if (r->meaning)
			json_object_set_new(v, "description", json_string(r->meaning));
		if (r->suffix) {
			snprintf(pattern, sizeof(pattern), "^%s_[a-z][a-z0-9_]*$", r->key);
			json_object_set_new(patterns, pattern, v);
			continue;
		}
		if (!r->absent && !json_object_get(properties, r->key))
			json_array_append_new(json_object_get(to, "required"), json_string(r->key));
		json_object_set_new(properties, r->key, v);
	}
	if (json_object_size(patterns))
		json_object_set(to, "patternProperties", patterns);
	json_decref(patterns);
}

static json_t *shape_schema(const struct shape *s, json_t *defs)
{
	json_t *j = json_pack("{s:s, s:b, s:[], s:{}}", "type", "object", "additionalProperties", 0,
			      "required", "properties");

	shape_rows_schema(s, j, defs);
	return j;
}

/* What json_head writes. */
static void result_head_schema(const struct result_shape *r, json_t *to)
{
	json_t *codes = json_array(), *properties = json_object_get(to, "properties"),
	       *required = json_object_get(to, "required");
	char name[64];

	snprintf(name, sizeof(name), "gputune.%s/1", r->name);
	json_object_set_new(properties, "schema", json_pack("{s:s}", "const", name));
	json_object_set_new(properties, "tool_version", json_pack("{s:s}", "type", "string"));
	json_array_append_new(required, json_string("schema"));
	json_array_append_new(required, json_string("tool_version"));
	for (int code = 0; code < 32; code++)
		if (r->exit_codes & 1u << code)
			json_array_append_new(codes, json_integer(code));
	json_object_set_new(properties, "time", json_pack("{s:[s, s]}", "type", "string", "null"));
	json_object_set_new(properties, "exit_code", json_pack("{s:o}", "enum", codes));
	json_array_append_new(required, json_string("time"));
	json_array_append_new(required, json_string("exit_code"));
}

json_t *result_shape_schema(const struct result_shape *r)
{
	json_t *defs = json_object(),
	       *j = json_pack("{s:s, s:s, s:s, s:s, s:b, s:[], s:{}}", "$schema",
			      "https://json-schema.org/draft/2020-12/schema", "title", r->title,
			      "description", r->meaning, "type", "object", "additionalProperties",
			      0, "required", "properties");

	result_head_schema(r, j);
	if (r->host) {
		json_object_set_new(json_object_get(j, "properties"), "host",
				    shape_ref(r->host, defs));
		json_array_append_new(json_object_get(j, "required"), json_string("host"));
	}
	shape_rows_schema(r->shape, j, defs);
	json_object_set_new(j, "$defs", defs);
	return j;
}
