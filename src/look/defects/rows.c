/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of known defects: read, checked key by key, and held against their examples. */
#include "look/defects/rows.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/text.h"
#include "knowledge/knowledge.h"
#include "knowledge/package.h"
#include "look/settings/settings.h"
#include "machine/host/host.h"

/* Made by the build: the rows in columns, a line for the key and one for each row: its JSON, or
 * nothing. In the first column, without a key, stands a 1 where facts alone decide. */
extern const unsigned known_defects_rows;
extern const char known_defects[];

/* Listed once a process. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena kept_arena;
static struct defect_rows kept, kept_of_facts;
static struct err kept_why; /* a data package's rows are not used; empty: they are */

const char *defect_text(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

const char *defect_text_of(const json_t *row, const char *object, const char *key)
{
	return defect_text(json_object_get(row, object), key);
}

const char *defect_list(struct arena *a, const json_t *row, const char *key)
{
	const char *text = NULL;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(row, key), i, v) text =
		i ? arena_printf(a, "%s; %s", text, json_string_value(v))
		  : arena_strdup(a, json_string_value(v));
	return text;
}

/* --- is a row one ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct defect_key row_keys[] = {
	{ "id", VALUE_TEXT, true },	       { "component", VALUE_TEXT, true },
	{ "title", VALUE_TEXT, true },	       { "effect", VALUE_TEXT, true },
	{ "when", VALUE_OBJECT, true },	       { "mitigated_by", VALUE_OBJECT, false },
	{ "symptoms", VALUE_LIST, true },      { "signatures", VALUE_LIST, false },
	{ "cause", VALUE_TEXT, true },	       { "cause_confirmed", VALUE_FLAG, true },
	{ "worth", VALUE_WORTH, true },	       { "only", VALUE_TEXT, false },
	{ "fix", VALUE_OBJECT, true },
	{ "confirmed_by", VALUE_TEXT, true },  { "date", VALUE_TEXT, true },
	{ "source", VALUE_LIST, true },	       { "but", VALUE_TEXT, false },
	{ "cve", VALUE_LIST, false },	       { "examples", VALUE_OBJECTS, true },
};
static const char effects[] = "hang crash wrong slow memory fails security noise";
/* clang-format on */

enum { N_ROW_KEYS = sizeof(row_keys) / sizeof(row_keys[0]), TEXT_MAX = 1000 };

static bool text_good(const json_t *v)
{
	const char *s = json_string_value(v);

	if (!s || !*s || strlen(s) > TEXT_MAX)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static bool value_good(const json_t *v, unsigned kind)
{
	json_t *one;
	size_t i;

	switch (kind) {
	case VALUE_TEXT:
		return text_good(v);
	case VALUE_FLAG:
		return json_is_boolean(v);
	case VALUE_OBJECT:
		return json_is_object(v);
	case VALUE_WORTH:
		return json_is_object(v) ? text_good(json_object_get(v, "says")) &&
						   text_good(json_object_get(v, "source"))
					 : json_is_string(v) &&
						   strcmp(json_string_value(v), "unmeasured") == 0;
	default:
		json_array_foreach(v, i, one)
		{
			if (kind == VALUE_OBJECTS ? !json_is_object(one) : !text_good(one))
				return false;
		}
		return json_array_size(v) > 0;
	}
}

static bool word_good(const char *s)
{
	return islower((unsigned char)*s) &&
	       s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

/* What stands for itself in a signature. */
static size_t literal(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s != '*' && *s != '#' && *s != ' ';
	return n;
}

int defect_keys_check(const json_t *row, const struct defect_key *keys, size_t n, struct err *e)
{
	const char *key;
	json_t *v;
	size_t i;

	if (!json_is_object(row))
		return err_set(e, -EINVAL, "an entry must be an object");
	json_object_foreach((json_t *)(uintptr_t)row, key, v)
	{
		for (i = 0; i < n && strcmp(keys[i].key, key) != 0; i++)
			;
		if (i == n)
			return err_set(e, -EINVAL, "an entry has no \"%.40s\"", key);
	}
	for (i = 0; i < n; i++) {
		v = json_object_get(row, keys[i].key);
		if (v ? !value_good(v, keys[i].kind) : keys[i].required)
			return err_set(e, -EINVAL,
				       v ? "\"%s\" has no valid value" : "\"%s\" is missing",
				       keys[i].key);
	}
	return 0;
}

static int row_values(const json_t *row, struct err *e)
{
	const json_t *fix = json_object_get(row, "fix");
	json_t *v;
	size_t i;

	if (defect_keys_check(row, row_keys, N_ROW_KEYS, e))
		return -EINVAL;
	if (!word_good(defect_text(row, "id")) || !word_good(defect_text(row, "component")))
		return err_set(e, -EINVAL,
			       "id and component allow lower-case letters, digits, - and .");
	if (!words_have(effects, defect_text(row, "effect"), strlen(defect_text(row, "effect"))) ||
	    package_age_days(defect_text(row, "date"), 0) < 0)
		return err_set(e, -EINVAL, "effect or date is invalid");
	if (!text_good(json_object_get(fix, "says")))
		return err_set(e, -EINVAL, "fix is empty");
	if (defect_text(fix, "setting") && !setting_find(defect_text(fix, "setting")))
		return err_set(e, -EINVAL, "unknown setting %.60s", defect_text(fix, "setting"));
	json_array_foreach(
		json_object_get(row, "signatures"), i,
		v) if (literal(json_string_value(v)) < 8 ||
		       strlen(json_string_value(v)) >
			       400) return err_set(e, -EINVAL,
						   "signature %zu is shorter than 8 characters",
						   i + 1);
	return 0;
}

static int row_examples(struct arena *a, const json_t *row, struct err *e)
{
	bool yes = false, no = false;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(row, "examples"), i, v)
	{
		const char *want = defect_text(v, "match"), *is;

		if (!want)
			return err_set(e, -EINVAL, "example %zu has no \"match\"", i + 1);
		is = defect_example(a, row, v);
		if (strcmp(want, is) != 0)
			return err_set(e, -EINVAL, "example %zu gives \"%s\" instead of \"%.20s\"",
				       i + 1, is, want);
		yes = yes || strcmp(want, "yes") == 0 || strcmp(want, "exposed") == 0;
		no = no || strcmp(want, "no") == 0;
	}
	return yes && no ? 0
			 : err_set(e, -EINVAL, "the entry has no example that %s match",
				   yes ? "must not" : "must");
}

int defect_row_check(struct arena *a, const json_t *row, bool examples, struct err *e)
{
	int code = row_values(row, e);

	if (!code)
		code = defect_condition_check(json_object_get(row, "when"), e);
	if (!code && json_object_get(row, "mitigated_by"))
		code = defect_condition_check(json_object_get(row, "mitigated_by"), e);
	return !code && examples ? row_examples(a, row, e) : code;
}

/* --- files of rows ---------------------------------------------------------------------------- */

static void row_add(struct arena *a, struct defect_rows *out, struct defect_row one)
{
	struct defect_row *row = ARENA_NEW(a, struct defect_row);

	*row = one;
	ARENA_ADD(a, out->rows, out->n) = row;
}

static int rows_add(struct arena *a, const char *name, const json_t *list, bool examples,
		    struct defect_rows *out, struct err *e)
{
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		const char *id = defect_text(row, "id"), *date;

		if (defect_row_check(a, row, examples, e))
			return err_set(e, -EINVAL, "%s, entry %zu (%.60s): %s", name, i + 1,
				       id ? id : "no id", arena_strdup(a, e->text));
		for (size_t k = 0; k < out->n; k++)
			if (strcmp(defect_text(out->rows[k]->json, "id"), id) == 0)
				return err_set(e, -EINVAL, "%s: duplicate id %s", name, id);
		if (out->n == DEFECT_ROWS_MAX)
			return err_set(e, -E2BIG, "more than %d rows", DEFECT_ROWS_MAX);
		row_add(a, out, (struct defect_row){ .json = row });
		date = defect_text(row, "date");
		if (!out->date || strcmp(date, out->date) > 0)
			out->date = date;
	}
	return 0;
}

int defect_rows_parse(struct arena *a, const char *name, const char *text, size_t len,
		      struct defect_rows *out, struct err *e)
{
	json_error_t why;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (!j)
		return err_set(e, -EINVAL, "%s, line %d: %s", name, why.line, why.text);
	if (!out->files)
		out->files = json_array();
	json_array_append_new(out->files, j);
	if (!json_is_array(j))
		return err_set(e, -EINVAL, "%s: entries must be in a list", name);
	return rows_add(a, name, j, false, out, e);
}

int defect_rows_of_package(struct arena *a, const struct data_package *p, bool examples,
			   struct defect_rows *out, struct err *e)
{
	const char *name;
	json_t *list;

	*out = (struct defect_rows){ .made = p->date };
	json_object_foreach((json_t *)(uintptr_t)p->files, name, list)
	{
		if (strcmp(name, "baseline.json") == 0)
			out->baseline = list;
		else if (json_is_array(list) && rows_add(a, name, list, examples, out, e))
			return -EINVAL;
	}
	if (out->n)
		out->from = arena_printf(a, "data package %lld of %s", p->serial, p->date);
	return 0;
}

/* What the build made is right: the test of rows looks at it. */
static void rows_built_in(struct arena *a, bool facts, struct defect_rows *out)
{
	enum { COLUMNS = N_ROW_KEYS + 1 };
	unsigned *keys = arena_array(a, COLUMNS, sizeof(*keys)), n = 0,
		 *cells = arena_array(a, known_defects_rows, COLUMNS * sizeof(*cells));

	*out = (struct defect_rows){ .from = "this build",
				     .date = package_floor,
				     .made = package_floor };
	for (const char *s = known_defects; *s; n++) {
		keys[n] = (unsigned)(s - known_defects);
		for (unsigned row = 0; row < known_defects_rows; row++) {
			s = strchr(s, '\n') + 1;
			cells[row * COLUMNS + n] = (unsigned)(s - known_defects);
		}
		s = strchr(s, '\n') + 1;
	}
	keys[0] = n;
	for (unsigned row = 0; row < known_defects_rows; row++, cells += COLUMNS)
		if (!facts || known_defects[cells[0]] == '1')
			row_add(a, out, (struct defect_row){ .keys = keys, .cells = cells });
}

static int rows_of_folder(struct arena *a, struct host *h, const char *dir, char **names, size_t n,
			  struct defect_rows *out, struct err *e)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);
		size_t len;
		char *text;
		int code;

		if (!str_ends(names[i], ".json"))
			continue;
		code = host_read(h, path, DEFECT_ROWS_BYTES - bytes, a, &text, &len);
		if (code)
			return err_set(e, code, "%s: %s", path, strerror(-code));
		bytes += len;
		code = defect_rows_parse(a, path, text, len, out, e);
		if (code)
			return code;
	}
	return 0;
}

static void rows_once(struct host *h)
{
	struct arena *a = &kept_arena;
	const char *dir = arena_printf(a, "%s/defects", knowledge_package);
	struct data_package p;
	char **names;
	size_t n;

	if (h && package_read(a, h, &p, &kept_why) == 0) {
		if (defect_rows_of_package(a, &p, false, &kept, &kept_why) == 0 && kept.n) {
			kept.files = p.all; /* the rows live in it */
			return;
		}
		package_close(&p);
		kept = (struct defect_rows){ 0 };
	}
	if (h && host_list(h, dir, a, &names, &n) == 0) {
		if (rows_of_folder(a, h, dir, names, n, &kept, &kept_why) == 0 && kept.n) {
			kept.from = dir;
			kept.made = kept.date;
			return;
		}
		json_decref(kept.files);
	}
	rows_built_in(a, false, &kept);
}

void defect_rows_read(struct arena *a, struct host *h, struct defect_rows *out, struct err *e)
{
	pthread_mutex_lock(&kept_lock);
	if (!kept.n)
		rows_once(h);
	pthread_mutex_unlock(&kept_lock);
	*out = kept;
	out->rows = arena_array(a, kept.n, sizeof(*out->rows));
	for (size_t i = 0; i < kept.n; i++)
		out->rows[i] = kept.rows[i];
	*e = kept_why;
}

const struct defect_rows *defect_rows_of_facts(void)
{
	pthread_mutex_lock(&kept_lock);
	if (!kept_of_facts.n)
		rows_built_in(&kept_arena, true, &kept_of_facts);
	pthread_mutex_unlock(&kept_lock);
	return &kept_of_facts;
}
