/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a result by paths of keys. It knows what explains and what tells, not what is told. */
#include "front/result_part.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/shape.h"
#include "base/text.h"

/* Of a schema that has itself below it. */
enum { DEPTH_MAX = 16 };

/* What explains a figure, or says the same again; and what a bounded result lacks first: what it
 * was measured on, and how. */
static const struct part_row {
	const char *schema, *explains, *late;
} part_rows[] = {
	{ "gputune.check/1",
	  "findings.group,findings.target,findings.why,findings.source,findings.read_from", "" },
	{ "gputune.plan/1", "changes.why,changes.source,changes.owners", "" },
	{ "gputune.show/1",
	  "facts.pci.path,facts.pci.root,facts.pci.subvendor,facts.pci.subdevice,"
	  "facts.pci.config_bytes,facts.pci.pcie_cap,facts.cpu.policies.governors,"
	  "facts.cpu.policies.driver,facts.cpu.policies.index",
	  "" },
	{ "gputune.bench/1", "",
	  "fingerprint,settings,conditions,cases.method,cases.setup,cases.placement,cases.limit,"
	  "cases.first_figure,cases.at_s,cases.round_starts,cases.figures.drift,"
	  "cases.figures.states" },
	{ "gputune.doctor/1", "", "tests,measurements" },
	{ "gputune.predict/1", "", "asked,step,prompt,curve,calibration,notes,explain" },
	{ "gputune.train/1", "", "asked,communication,constants,interval_of,notes,explain" },
	{ "gputune.report/1", "", "machines.facts,machines.benches,machines.predictions" },
	{ NULL, "", "" },
};

static const struct part_row *part_row_of(const json_t *result)
{
	const char *schema = json_string_value(json_object_get(result, "schema"));
	const struct part_row *row = part_rows;

	while (row->schema && (!schema || strcmp(row->schema, schema) != 0))
		row++;
	return row;
}

/* --- paths ------------------------------------------------------------------------------------ */

static const char *path_below(struct arena *a, const char *path, const char *key)
{
	return *path ? arena_printf(a, "%s.%s", path, key) : key;
}

/* Whether one of the fields is the path, or with below stands below it. */
static bool fields_have(const char *fields, const char *path, bool below)
{
	size_t n = strlen(path);

	for (const char *at = fields; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, path, n) == 0 &&
		    (at[n] == '\0' || at[n] == ',' || (below && at[n] == '.')))
			return true;
	}
	return false;
}

/* --- is there such a field -------------------------------------------------------------------- */

static json_t *keys_of(const json_t *schema, const json_t *defs, int depth);

/* What can stand there is any of the choices. */
static json_t *keys_of_choices(const json_t *choices, const json_t *defs, int depth)
{
	json_t *all = json_object();
	const json_t *choice;
	size_t i;

	json_array_foreach(choices, i, choice)
	{
		json_auto_t *keys = keys_of(choice, defs, depth);

		if (json_is_object(keys) && all)
			json_object_update(all, keys);
		else if (json_is_null(keys)) {
			json_decref(all);
			all = NULL;
		}
	}
	return all ? all : json_null();
}

/*
 * A member for each that a schema has; of lists those of their items. true stands for a value, null
 * for what may have any keys.
 */
static json_t *keys_of(const json_t *schema, const json_t *defs, int depth)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref")), *key;
	const json_t *choices = json_object_get(schema, "anyOf"), *v;
	json_t *keys;

	if (depth == DEPTH_MAX)
		return json_null();
	if (ref && strrchr(ref, '/'))
		return keys_of(json_object_get(defs, strrchr(ref, '/') + 1), defs, depth + 1);
	if (!choices)
		choices = json_object_get(schema, "oneOf");
	if (choices)
		return keys_of_choices(choices, defs, depth + 1);
	if (json_object_get(schema, "items"))
		return keys_of(json_object_get(schema, "items"), defs, depth + 1);
	if (json_object_get(schema, "patternProperties") ||
	    json_is_object(json_object_get(schema, "additionalProperties")))
		return json_null();
	if (!json_object_get(schema, "properties"))
		return json_true();
	keys = json_object();
	json_object_foreach(json_object_get(schema, "properties"), key, v)
		json_object_set_new(keys, key, keys_of(v, defs, depth + 1));
	return keys;
}

static json_t *result_keys(const struct result_shape *r)
{
	json_auto_t *schema = result_shape_schema(r);

	return keys_of(schema, json_object_get(schema, "$defs"), 0);
}

/* path: NULL at its end. An empty list and null may have anything below them. */
static bool part_has(struct arena *a, const json_t *j, const char *path)
{
	size_t i, n;
	const json_t *item;

	if (!path || json_is_null(j))
		return true;
	if (!json_is_array(j)) {
		n = strcspn(path, ".");
		item = json_object_get(j, arena_strndup(a, path, n));
		return item && part_has(a, item, path[n] ? path + n + 1 : NULL);
	}
	json_array_foreach(j, i, item) if (part_has(a, item, path)) return true;
	return json_array_size(j) == 0;
}

struct nearest {
	struct arena *arena;
	const char *asked, *last; /* the whole path, and its last key */
	const char *path;
	size_t distance;
};

/* The path that is nearest to the one asked for; the right key at another place is near too. */
static void part_nearest(struct nearest *near, const json_t *j, const char *path)
{
	const json_t *v;
	const char *key;
	size_t i, d;

	json_array_foreach(j, i, v) part_nearest(near, v, path);
	json_object_foreach((json_t *)(uintptr_t)j, key, v)
	{
		const char *below = path_below(near->arena, path, key);

		d = strcmp(key, near->last) == 0 ? 1
						 : str_distance(below, near->asked, near->distance);
		if (d < near->distance) {
			near->distance = d;
			near->path = below;
		}
		part_nearest(near, v, below);
	}
}

static int no_field(struct arena *a, const json_t *const *results, size_t n, const char *field,
		    struct err *e)
{
	const char *dot = strrchr(field, '.');
	struct nearest near = { a, field, dot ? dot + 1 : field, NULL, 2 + strlen(field) / 3 };
	TEXT_AUTO keys = { 0 };
	const char *key;
	json_t *v;

	for (size_t i = 0; i < n; i++)
		part_nearest(&near, results[i], "");
	err_set(e, -EINVAL, "the result has no field \"%.100s\"", field);
	if (near.path) {
		err_hint(e, "did you mean \"%s\"?", near.path);
		return -EINVAL;
	}
	json_object_foreach((json_t *)(uintptr_t)results[0], key, v)
		text_printf(&keys, "%s%s", keys.len ? ", " : "", key);
	err_hint(e, "fields: %.200s", keys.len ? keys.s : "none");
	return -EINVAL;
}

static int fields_check(struct arena *a, const json_t *const *results, size_t n, const char *fields,
			struct err *e)
{
	for (const char *at = fields, *next; *at; at = next + (*next == ',')) {
		const char *field = arena_strndup(a, at, strcspn(at, ","));
		bool there = false;

		next = at + strlen(field);
		for (size_t i = 0; i < n; i++)
			there = there || part_has(a, results[i], field);
		if (!there)
			return no_field(a, results, n, field, e);
	}
	return 0;
}

int result_fields_check(struct arena *a, const struct result_shape *const *results, size_t n,
			const char *fields, struct err *e)
{
	json_t **keys = arena_array(a, n + 1, sizeof(*keys));
	int ret;

	for (size_t i = 0; i < n; i++)
		keys[i] = result_keys(results[i]);
	ret = fields_check(a, (const json_t *const *)keys, n, fields, e);
	for (size_t i = 0; i < n; i++)
		json_decref(keys[i]);
	return ret;
}

int result_fields_in(struct arena *a, const json_t *result, const char *fields, struct err *e)
{
	return fields_check(a, &result, 1, fields, e);
}

/* --- taking out ------------------------------------------------------------------------------- */

static void part_keep(struct arena *a, json_t *j, const char *fields, const char *path)
{
	json_t *v, *spare;
	const char *key;
	size_t i;

	json_array_foreach(j, i, v) part_keep(a, v, fields, path);
	json_object_foreach_safe(j, spare, key, v)
	{
		const char *below = path_below(a, path, key);

		if (fields_have(fields, below, false))
			continue;
		if (fields_have(fields, below, true))
			part_keep(a, v, fields, below);
		else
			json_object_del(j, key);
	}
}

void result_keep(struct arena *a, json_t *result, const char *fields)
{
	part_keep(a, result, fields, "");
}

void result_drop_right(json_t *result)
{
	const char *schema = json_string_value(json_object_get(result, "schema"));
	json_t *all = json_object_get(result, "findings"), *some = json_array(), *v;
	size_t i;

	json_array_foreach(all, i, v)
	{
		const char *verdict = json_string_value(json_object_get(v, "verdict"));

		if (verdict && strcmp(verdict, "pass") != 0 && strcmp(verdict, "na") != 0)
			json_array_append(some, v);
	}
	if (all && schema && strcmp(schema, "gputune.check/1") == 0)
		json_object_set(result, "findings", some);
	json_decref(some);
}

static bool is_empty(const json_t *v)
{
	return json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0) ||
	       (json_is_object(v) && json_object_size(v) == 0);
}

static void part_compact(struct arena *a, json_t *j, const char *out, const char *path)
{
	json_t *v, *spare;
	const char *key;
	size_t i;

	json_array_foreach(j, i, v) part_compact(a, v, out, path);
	json_object_foreach_safe(j, spare, key, v)
	{
		const char *below = path_below(a, path, key);

		bool fact = str_starts(below, "facts.");

		if (fields_have(out, below, false) || (fact && json_object_get(v, "seen"))) {
			json_object_del(j, key);
			continue;
		}
		part_compact(a, v, out, below);
		if (is_empty(v))
			json_object_del(j, key);
		else if (fact && json_object_get(v, "value"))
			json_object_set(j, key, json_object_get(v, "value"));
	}
}

void result_compact(struct arena *a, json_t *result, bool all)
{
	part_compact(a, result, all ? "" : part_row_of(result)->explains, "");
}

/* --- less of it ------------------------------------------------------------------------------- */

/* What holds others has the rank of what holds it, and its place there: what comes early and lies
 * high is kept longest. */
struct bounding {
	size_t top, rank, text;	 /* items of a list, the last rank that is kept, bytes of a text */
	size_t scalars, omitted; /* of a list of no others; paths that are named as left out */
	const char *late;	 /* paths */
	json_t *cut;		 /* paths and how many of their items are there */
};

enum { SCALARS_MAX = 8, OMITTED_MAX = 32, TEXT_LEAST = 80, TIGHTEST = 8 };
enum { LATE = 1 << 11, RANK_MAX = 1 << 12 };

static json_t *part_bounded(struct bounding *b, json_t *j, size_t rank, const char *path);

static unsigned word_rank(const json_t *item, const char *key, const char *const *words, unsigned n)
{
	const char *word = json_string_value(json_object_get(item, key));
	unsigned i = 0;

	while (word && i < n && strcmp(words[i], word) != 0)
		i++;
	return word ? i : n;
}

/* The lower, the more it matters. */
static unsigned item_rank(const json_t *item)
{
	static const char *const verdicts[] = { "fail", "unknown", "pass", "na" },
				 *const states[] = { "found", "not-tested", "fine", "not-here" },
				 *const severities[] = { "critical", "high", "medium", "low" };
	unsigned verdict = word_rank(item, "verdict", verdicts, 4),
		 state = word_rank(item, "state", states, 4);

	return (verdict < state ? verdict : state) * 8 + word_rank(item, "severity", severities, 4);
}

/* A list of the same items, the most important first; what has no rank stays where it is. */
static json_t *items_by_rank(const json_t *list)
{
	json_t *sorted = json_array();
	size_t i;
	json_t *v;

	for (unsigned rank = 0; rank <= 4 * 8 + 4; rank++)
		json_array_foreach(list, i, v) if (item_rank(v) == rank)
			json_array_append(sorted, v);
	return sorted;
}

static void note_cut(struct bounding *b, const char *path, size_t shown, size_t total)
{
	json_t *known = json_object_get(b->cut, path);

	if (shown == total || !*path)
		return;
	if (!known)
		json_object_set_new(b->cut, path,
				    json_pack("[I, I]", (json_int_t)shown, (json_int_t)total));
}

static json_t *text_bounded(const struct bounding *b, json_t *j)
{
	const char *s = json_string_value(j);
	size_t n = b->text;

	if (!n || strlen(s) <= n)
		return json_incref(j);
	return json_sprintf("%.*s...", (int)utf8_cut(s, n), s);
}

static bool holds_others(const json_t *list)
{
	const json_t *first = json_array_get(list, 0);

	return json_is_object(first) || json_is_array(first);
}

static json_t *list_bounded(struct bounding *b, json_t *j, size_t rank, const char *path)
{
	json_t *out = json_array(), *sorted = items_by_rank(j), *v;
	bool others = holds_others(j);
	size_t i, most = b->top ? b->top : others || !b->text ? json_array_size(j) : b->scalars;

	json_array_foreach(sorted, i, v)
	{
		if (i >= most || (others && rank + i > b->rank))
			break;
		json_array_append_new(out, part_bounded(b, v, others ? rank + i : rank, path));
	}
	note_cut(b, path, json_array_size(out), json_array_size(j));
	json_decref(sorted);
	return out;
}

static json_t *object_bounded(struct bounding *b, json_t *j, size_t rank, const char *path)
{
	json_t *out = json_object(), *v;
	const char *key;
	char below[256];
	size_t place = 0;

	json_object_foreach(j, key, v)
	{
		bool others = (json_is_object(v) && json_object_size(v)) || holds_others(v);
		size_t at = others ? rank + ++place : rank;

		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		at += fields_have(b->late, below, false) ? LATE : 0;
		if (at <= b->rank)
			json_object_set_new(out, key, part_bounded(b, v, at, below));
		else
			note_cut(b, below, 0,
				 json_is_object(v)  ? json_object_size(v)
				 : json_is_array(v) ? json_array_size(v)
						    : 1);
	}
	return out;
}

static json_t *part_bounded(struct bounding *b, json_t *j, size_t rank, const char *path)
{
	if (json_is_object(j))
		return object_bounded(b, j, rank, path);
	if (json_is_array(j))
		return list_bounded(b, j, rank, path);
	return json_is_string(j) ? text_bounded(b, j) : json_incref(j);
}

/* The result cut at a rank, with what it lacks. */
static json_t *cut_at(json_t *result, struct bounding b)
{
	json_t *out, *list = json_array(), *v;
	const char *path;
	size_t more;

	b.cut = json_object();
	out = part_bounded(&b, result, 0, "");
	json_object_foreach(b.cut, path, v) if (!b.text || json_array_size(list) < b.omitted)
		json_array_append_new(list,
				      json_pack("{s:s, s:O, s:O}", "path", path, "shown",
						json_array_get(v, 0), "of", json_array_get(v, 1)));
	more = json_object_size(b.cut) - json_array_size(list);
	if (json_array_size(list))
		json_object_set_new(out, "omitted",
				    json_pack("{s:s, s:O, s:o*}", "ask",
					      "--fields PATH, with a larger --budget or --top",
					      "parts", list, "more_parts",
					      more ? json_integer((json_int_t)more) : NULL));
	json_decref(list);
	json_decref(b.cut);
	return out;
}

static size_t printed_bytes(const json_t *j)
{
	return json_dumpb(j, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(RESULT_DIGITS));
}

/* Cut at the highest rank that fits; rank 0 whatever it takes. */
static json_t *cut_to(json_t *result, struct bounding how, size_t most)
{
	size_t low = 0, high = RANK_MAX;

	while (low < high) {
		json_t *less;

		how.rank = low + (high - low + 1) / 2;
		less = cut_at(result, how);
		if (printed_bytes(less) <= most)
			low = how.rank;
		else
			high = how.rank - 1;
		json_decref(less);
	}
	how.rank = low;
	return cut_at(result, how);
}

json_t *result_bounded(json_t *result, struct result_bound b)
{
	struct bounding how = { .top = b.top, .rank = SIZE_MAX, .late = part_row_of(result)->late };
	size_t most = b.tokens * RESULT_TOKEN_BYTES;
	json_t *out = cut_at(result, how);

	/* Where not even rank 0 fits, texts and lists get shorter. */
	for (size_t tight = 1; most && tight <= TIGHTEST && printed_bytes(out) > most; tight *= 2) {
		how.text = (most / 8 > TEXT_LEAST ? most / 8 : TEXT_LEAST) / tight;
		how.scalars = SCALARS_MAX / tight;
		how.omitted = OMITTED_MAX / tight;
		json_decref(out);
		out = cut_to(result, how, most);
	}
	return out;
}
