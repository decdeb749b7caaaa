/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a call: a JSON object whose every key is known and of the right kind. */
#include <string.h>

#include "front/library/call.h"

enum { OPTIONS_MAX = 1 << 16, WORDS_MAX = 256 };

struct key {
	const char *name;
	enum option_key key;
	json_type type;
};

static const struct key keys[] = {
	{ "profile", KEY_PROFILE, JSON_STRING }, { "only", KEY_ONLY, JSON_ARRAY },
	{ "skip", KEY_SKIP, JSON_ARRAY },	 { "deep", KEY_DEEP, JSON_TRUE },
	{ "allow", KEY_ALLOW, JSON_ARRAY },	 { "facts", KEY_FACTS, JSON_TRUE },
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* NULL: no text, or one with a NUL in it. */
static const char *text_of(const json_t *v)
{
	const char *text = json_string_value(v);

	return text && strlen(text) == json_string_length(v) ? text : NULL;
}

static bool api_options_bad(struct call *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool api_options_bad(struct call *c, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	c->code = err_set(&c->err, -EINVAL, "options: %s", what);
	return false;
}

/* Ids or prefixes of them; those of "only" narrow what the profile's file has, those of "skip" add
 * to it. */
static bool read_words(struct call *c, struct profile *p, const char *name, const json_t *list,
		       bool skip)
{
	if (json_array_size(list) > WORDS_MAX)
		return api_options_bad(c, "\"%s\" has more than %d words", name, WORDS_MAX);
	/* From a list that somebody filtered: to take it for "all" would judge all of them. */
	if (p == &c->profile && !skip && !json_array_size(list))
		return api_options_bad(c, "\"%s\" needs ids, and the list is empty", name);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *id = text_of(json_array_get(list, i));

		if (!id || !*id || strchr(id, ','))
			return api_options_bad(c, "\"%s\" is a list of setting ids or prefixes",
					       name);
		c->code = profile_narrow(&c->arena, p, id, skip, &c->err);
		if (c->code)
			return false;
	}
	return true;
}

static bool api_options_take(struct call *c, const struct key *k, const json_t *v)
{
	switch (k->key) {
	case KEY_PROFILE:
		return true; /* read before all others, by load_profile */
	case KEY_ONLY:
		return read_words(c, &c->profile, k->name, v, false);
	case KEY_SKIP:
		return read_words(c, &c->profile, k->name, v, true);
	case KEY_ALLOW:
		return read_words(c, &c->allow, k->name, v, false);
	case KEY_DEEP:
		c->deep = json_is_true(v);
		return true;
	case KEY_FACTS:
		c->facts = json_is_true(v);
		return true;
	}
	return true;
}

static const struct key *api_options_find(const char *name, const json_t *v, unsigned allowed)
{
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(keys[i].name, name) == 0 && (keys[i].key & allowed) &&
		    (json_typeof(v) == keys[i].type ||
		     (keys[i].type == JSON_TRUE && json_is_false(v))))
			return &keys[i];
	return NULL;
}

/* Before all other keys: they narrow it. */
static bool load_profile(struct call *c, const json_t *name)
{
	const char *text = name ? text_of(name) : "default";

	if (!text)
		return api_options_bad(c, "\"profile\" is a text");
	c->named = name != NULL;
	c->code = profile_load(&c->arena, arena_strdup(&c->arena, text), &c->profile, &c->err);
	return c->code == 0;
}

static bool api_options_take_all(struct call *c, json_t *options, unsigned allowed)
{
	const char *name;
	json_t *v;

	if (!load_profile(c, json_object_get(options, "profile")))
		return false;
	json_object_foreach(options, name, v)
	{
		const struct key *k = api_options_find(name, v, allowed);

		if (!k)
			return api_options_bad(c, "\"%.64s\" is not known here, or not of its kind",
					       name);
		if (!api_options_take(c, k, v))
			return false;
	}
	return true;
}

bool options_read(struct call *c, const char *options, unsigned allowed)
{
	json_error_t why;
	json_t *j = NULL;
	bool good;

	if (options && strnlen(options, OPTIONS_MAX) == OPTIONS_MAX)
		return api_options_bad(c, "they are longer than %d bytes", OPTIONS_MAX);
	if (options) {
		j = json_loads(options, JSON_REJECT_DUPLICATES, &why);
		if (!j)
			return api_options_bad(c, "%s (line %d)", why.text, why.line);
		if (!json_is_object(j)) {
			json_decref(j);
			return api_options_bad(c, "they are no JSON object");
		}
	}
	good = api_options_take_all(c, j, allowed);
	json_decref(j);
	if (good && (c->code = profile_check_some(&c->arena, &c->profile, &c->err)))
		good = false;
	return good;
}
