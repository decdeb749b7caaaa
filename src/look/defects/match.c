/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: what joins leaves, what a leaf may say, and rows in places. */
#include "look/defects/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/defects/leaf.h"

enum { DEPTH_MAX = 12 };

/* --- conditions ------------------------------------------------------------------------------- */

enum key_kind {
	KEY_TEXTS, /* a text, or an array of them */
	KEY_WORD,  /* a text */
	KEY_RANGE,
	KEY_FLAG,
	KEY_NUMBER,
	KEY_MAP, /* names to texts */
};

struct leaf_key {
	const char *name;
	enum key_kind kind;
};

struct leaf {
	const char *name;
	enum answer3 (*rule)(struct leaf_look *l, const json_t *c);
	enum order order; /* of its ranges */
	bool contents;	  /* files are read for it: last */
	struct leaf_key keys[12];
};

/* clang-format off */
static const struct leaf leaves[] = {
	{ "pip", leaf_pip, ORDER_PEP440, false,
	  { { "pip", KEY_TEXTS }, { "version", KEY_RANGE }, { "local", KEY_TEXTS }, { "tag", KEY_TEXTS },
	    { "differs_from", KEY_WORD } } },
	{ "package", leaf_package, ORDER_DPKG, false,
	  { { "package", KEY_TEXTS }, { "version", KEY_RANGE }, { "differs_from", KEY_WORD } } },
	{ "library", leaf_library, ORDER_NUMBERS, true,
	  { { "library", KEY_TEXTS }, { "version", KEY_RANGE }, { "machine", KEY_TEXTS }, { "compiler", KEY_WORD },
	    { "comment", KEY_TEXTS }, { "build_id", KEY_TEXTS }, { "text", KEY_TEXTS }, { "no_text", KEY_TEXTS },
	    { "symbol", KEY_TEXTS }, { "no_symbol", KEY_TEXTS }, { "code", KEY_TEXTS }, { "no_code", KEY_TEXTS } } },
	{ "program", leaf_program, ORDER_NUMBERS, false, { { "program", KEY_TEXTS }, { "version", KEY_RANGE } } },
	{ "toolkit", leaf_toolkit, ORDER_NUMBERS, false, { { "toolkit", KEY_RANGE } } },
	{ "image", leaf_image, ORDER_NUMBERS, false, { { "image", KEY_TEXTS } } },
	{ "process", leaf_process, ORDER_NUMBERS, false,
	  { { "process", KEY_TEXTS }, { "arg", KEY_TEXTS }, { "no_arg", KEY_TEXTS }, { "env", KEY_MAP } } },
	{ "env", leaf_env, ORDER_NUMBERS, false,
	  { { "env", KEY_TEXTS }, { "is", KEY_TEXTS }, { "set", KEY_FLAG } } },
	{ "file", leaf_file, ORDER_NUMBERS, true,
	  { { "file", KEY_TEXTS }, { "contains", KEY_TEXTS }, { "exists", KEY_FLAG } } },
	{ "pci", leaf_list, ORDER_NUMBERS, false, { { "pci", KEY_TEXTS } } },
	{ "driver", leaf_driver, ORDER_NUMBERS, false, { { "driver", KEY_RANGE }, { "modules", KEY_TEXTS } } },
	{ "modules", leaf_driver, ORDER_NUMBERS, false, { { "modules", KEY_TEXTS } } },
	{ "kernel", leaf_kernel, ORDER_NUMBERS, false, { { "kernel", KEY_RANGE }, { "flavour", KEY_TEXTS } } },
	{ "kernel_config", leaf_config, ORDER_NUMBERS, true,
	  { { "kernel_config", KEY_WORD }, { "is", KEY_TEXTS } } },
	{ "kernel_fix", leaf_fix, ORDER_NUMBERS, true, { { "kernel_fix", KEY_WORD } } },
	{ "boot", leaf_boot, ORDER_NUMBERS, false,
	  { { "boot", KEY_WORD }, { "is", KEY_TEXTS }, { "set", KEY_FLAG } } },
	{ "module", leaf_module, ORDER_NUMBERS, false, { { "module", KEY_TEXTS }, { "loaded", KEY_FLAG } } },
	{ "platform", leaf_list, ORDER_NUMBERS, false, { { "platform", KEY_TEXTS } } },
	{ "product", leaf_list, ORDER_NUMBERS, false, { { "product", KEY_TEXTS } } },
	{ "gpu", leaf_gpu, ORDER_NUMBERS, false, { { "gpu", KEY_TEXTS }, { "count", KEY_RANGE } } },
	{ "gpu_name", leaf_list, ORDER_NUMBERS, false, { { "gpu_name", KEY_TEXTS } } },
	{ "cpu", leaf_list, ORDER_NUMBERS, false, { { "cpu", KEY_TEXTS } } },
	{ "firmware", leaf_firmware, ORDER_FIRMWARE, false,
	  { { "firmware", KEY_TEXTS }, { "version", KEY_RANGE } } },
	{ "release", leaf_release, ORDER_NUMBERS, false, { { "release", KEY_TEXTS }, { "version", KEY_RANGE } } },
	{ "fact", leaf_fact, ORDER_NUMBERS, false,
	  { { "fact", KEY_WORD }, { "is", KEY_TEXTS }, { "not", KEY_TEXTS }, { "at_least", KEY_NUMBER },
	    { "at_most", KEY_NUMBER },
	    { "more_than", KEY_WORD } } },
	{ "setting", leaf_setting, ORDER_NUMBERS, true, { { "setting", KEY_WORD }, { "verdict", KEY_TEXTS } } },
	{ "log", leaf_log, ORDER_NUMBERS, true, { { "log", KEY_TEXTS } } },
};
/* clang-format on */

static const struct leaf *leaf_of(const json_t *c)
{
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		if (json_object_get(c, leaves[i].name))
			return &leaves[i];
	return NULL;
}

static enum answer3 meets(struct leaf_look *l, const json_t *c, int depth);

/* What joins conditions is taken for cheap: most of what is in them is. */
static bool reads_contents(const json_t *c)
{
	const struct leaf *leaf = leaf_of(c);

	return leaf && leaf->contents;
}

/* What is read from files is looked at when all else holds. */
static enum answer3 meets_all(struct leaf_look *l, const json_t *list, int depth)
{
	enum answer3 all = ANSWER_YES;
	json_t *c;
	size_t i;

	for (int late = 0; late < 2 && all != ANSWER_NO; late++)
		json_array_foreach(list, i, c)
		{
			enum answer3 r;

			if (reads_contents(c) != late)
				continue;
			r = meets(l, c, depth + 1);
			if (r == ANSWER_NO)
				return r;
			all = r == ANSWER_UNKNOWN ? r : all;
		}
	return all;
}

static enum answer3 meets_any(struct leaf_look *l, const json_t *list, int depth)
{
	const char *unseen_before = l->unseen;
	enum answer3 best = ANSWER_NO;
	json_t *c;
	size_t i;

	json_array_foreach(list, i, c)
	{
		size_t before = l->n_proofs;
		enum answer3 r = meets(l, c, depth + 1);

		if (r == ANSWER_YES) {
			l->unseen = unseen_before;
			return r;
		}
		l->n_proofs = before;
		best = better(best, r);
	}
	return best;
}

static enum answer3 meets(struct leaf_look *l, const json_t *c, int depth)
{
	const struct leaf *leaf;
	const json_t *list;
	enum answer3 r;
	size_t before = l->n_proofs;
	bool own = l->own;

	if (depth > DEPTH_MAX)
		return ANSWER_NO;
	if ((list = json_object_get(c, "all")))
		return meets_all(l, list, depth);
	if ((list = json_object_get(c, "any")))
		return meets_any(l, list, depth);
	leaf = leaf_of(c);
	if (leaf)
		return leaf->rule(l, c);
	r = meets(l, json_object_get(c, "not"), depth + 1);
	l->n_proofs = before;
	l->own = own;
	return r == ANSWER_UNKNOWN ? r : r == ANSWER_YES ? ANSWER_NO : ANSWER_YES;
}

const char *defect_literal(struct arena *a, const char *pattern)
{
	const char *best = "";
	size_t n = 0;

	for (size_t len; *pattern; pattern += len + (pattern[len] != '\0')) {
		len = strcspn(pattern, "*#");
		if (len > n) {
			best = pattern;
			n = len;
		}
	}
	return arena_strndup(a, best, n);
}

const char *defect_proofs_text(struct arena *a, const struct defect_proof *p, size_t n)
{
	const char *text = NULL;

	for (; n--; p++)
		text = arena_printf(a, "%s%s%s%s%s%s", text ? text : "", text ? "; " : "", p->text,
				    p->from ? " (" : "", p->from ? p->from : "",
				    p->from ? ")" : "");
	return text;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* What is parsed of each row: the rest of those alone that match. */
static const char match_keys[] = "id when mitigated_by only";

static bool match_in(struct defect_world *w, const struct defect_place *p, const json_t *row,
		     struct defect_matches *all, struct defect_match *out, bool *own)
{
	struct leaf_look l = { .w = w, .a = w->a, .p = p, .out = all };
	enum answer3 r = meets(&l, json_object_get(row, "when"), 0);
	const json_t *by = json_object_get(row, "mitigated_by");

	if (r == ANSWER_NO)
		return false;
	*own = l.own;
	*out = (struct defect_match){ .row = row,
				      .place = p,
				      .state = r != ANSWER_YES	       ? DEFECT_POSSIBLE
					       : key_text(row, "only") ? DEFECT_EXPOSED
								       : DEFECT_HERE,
				      .proofs = l.proofs,
				      .n_proofs = l.n_proofs,
				      .unseen = r == ANSWER_YES || !l.unseen
							? NULL
							: arena_strdup(w->a, l.unseen) };
	if (by) {
		struct leaf_look cover = { .w = w, .a = w->a, .p = p };

		if (meets(&cover, by, 0) == ANSWER_YES) {
			out->state = DEFECT_MITIGATED;
			out->covered = cover.n_proofs ? cover.proofs[0].text
						      : "values that this machine sets";
		}
	}
	return true;
}

const char *defect_example(struct arena *a, const json_t *row, json_t *example)
{
	static const char *const names[] = { "yes", "exposed", "mitigated", "unknown" };
	struct defect_place p = { .name = "example", .holds = example };
	struct defect_world w = { .a = a, .places = &p, .n_places = 1 };
	struct defect_match m;
	bool own;

	return match_in(&w, &p, row, NULL, &m, &own) ? names[m.state] : "no";
}

static int by_weight(const void *a, const void *b)
{
	const struct defect_match *x = a, *y = b;
	int r = (int)x->state - (int)y->state;

	r = r ? r : strcmp(key_text(x->row, "id"), key_text(y->row, "id"));
	return r ? r : strcmp(x->place->name, y->place->name);
}

extern const char known_defects[]; /* of the build: rows.c */
const json_t *defect_row_keep(struct defect_row *row)
{
	if (!row->json)
		row->json = defect_row_part(row, NULL, NULL);
	return row->json;
}

json_t *defect_row_part(const struct defect_row *row, const char *keys, const char *const *words)
{
	TEXT_AUTO t = { 0 };

	if (row->json)
		return json_incref(row->json);
	for (unsigned i = 1; i < row->keys[0]; i++) {
		const char *key = known_defects + row->keys[i],
			   *cell = known_defects + row->cells[i];
		size_t n = strcspn(key, "\n");

		if (*cell == '\n' || (keys && !words_have(keys, key, n)))
			continue;
		text_add(&t, t.len ? ",\"" : "{\"");
		text_addn(&t, key, n);
		text_add(&t, "\":");
		text_addn(&t, cell, strcspn(cell, "\n"));
	}
	while (t.len && words && *words && !strstr(t.s, *words))
		words++;
	if (!t.len || (words && !*words))
		return NULL;
	text_addc(&t, '}');
	return json_loadb(t.s, t.len, 0, NULL);
}

void defects_match(struct defect_world *w, struct defect_row *const *rows, size_t n,
		   struct defect_matches *out)
{
	*out = (struct defect_matches){ 0 };
	for (size_t i = 0; i < n; i++) {
		json_auto_t *row = defect_row_part(rows[i], match_keys, NULL);
		bool said = false;

		for (size_t k = 0; k < w->n_places; k++) {
			struct defect_match m;
			bool own = false;

			if (!match_in(w, &w->places[k], row, out, &m, &own))
				continue;
			/* What holds of the machine is said once, of its first place. */
			if (said && !own)
				continue;
			said = true;
			m.row = defect_row_keep(rows[i]);
			ARENA_ADD(w->a, out->items, out->n) = m;
			out->count[m.state]++;
		}
	}
	if (out->n)
		qsort(out->items, out->n, sizeof(*out->items), by_weight);
}

/* --- what a condition may be ------------------------------------------------------------------ */

static int key_check(const json_t *v, const struct leaf *leaf, const struct leaf_key *key,
		     struct err *e)
{
	bool good = true;
	const char *name;
	json_t *one;

	switch (key->kind) {
	case KEY_TEXTS:
		good = text_at(v, 0) != NULL;
		for (size_t i = 0; good && json_is_array(v) && i < json_array_size(v); i++)
			good = text_at(v, i) != NULL;
		break;
	case KEY_WORD:
		good = json_is_string(v);
		break;
	case KEY_RANGE:
		good = json_is_string(v) && order_range_valid(leaf->order, json_string_value(v));
		break;
	case KEY_FLAG:
		good = json_is_boolean(v);
		break;
	case KEY_NUMBER:
		good = json_is_number(v);
		break;
	default:
		good = json_is_object(v);
		json_object_foreach((json_t *)(uintptr_t)v, name, one) good =
			good && text_at(one, 0);
	}
	return good ? 0
		    : err_set(e, -EINVAL, "\"%s\" of a %s has no valid value", key->name,
			      leaf->name);
}

static int leaf_check(const json_t *c, struct err *e)
{
	const struct leaf *leaf = leaf_of(c);
	const char *name;
	json_t *v;

	if (!leaf)
		return err_set(e, -EINVAL, "a condition uses no supported key");
	json_object_foreach((json_t *)(uintptr_t)c, name, v)
	{
		size_t i = 0, n = sizeof(leaf->keys) / sizeof(leaf->keys[0]);

		while (i < n && leaf->keys[i].name && strcmp(leaf->keys[i].name, name) != 0)
			i++;
		if (i == n || !leaf->keys[i].name)
			return err_set(e, -EINVAL, "a %s has no \"%.40s\"", leaf->name, name);
		if (key_check(v, leaf, &leaf->keys[i], e))
			return -EINVAL;
	}
	return 0;
}

static int check_at(const json_t *c, int depth, struct err *e)
{
	static const char *const joins[] = { "all", "any" };
	const json_t *list;
	json_t *one;
	size_t k;

	if (!json_is_object(c) || depth > DEPTH_MAX)
		return err_set(e, -EINVAL,
			       depth > DEPTH_MAX ? "conditions are nested too deep"
						 : "a condition must be an object");
	for (size_t i = 0; i < 2; i++) {
		list = json_object_get(c, joins[i]);
		if (!list)
			continue;
		if (json_object_size(c) != 1 || !json_array_size(list))
			return err_set(e, -EINVAL, "\"%s\" must be the only key, with a list",
				       joins[i]);
		json_array_foreach(list, k, one) if (check_at(one, depth + 1, e)) return -EINVAL;
		return 0;
	}
	if (json_object_size(c) == 1 && json_is_object(json_object_get(c, "not")))
		return check_at(json_object_get(c, "not"), depth + 1, e);
	return leaf_check(c, e);
}

int defect_condition_check(const json_t *condition, struct err *e)
{
	return check_at(condition, 0, e);
}
