/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the release of a maker that is here is here as a whole. */
#include "look/defects/baseline.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "look/defects/rows.h"
#include "knowledge/package.h"

enum { BASELINE_ROWS_MAX = 1000 };

extern const char known_baseline[]; /* made by the build */

static pthread_mutex_t built_in_lock = PTHREAD_MUTEX_INITIALIZER;
static json_t *built_in;

const json_t *baseline_built_in(void)
{
	pthread_mutex_lock(&built_in_lock);
	if (!built_in)
		built_in = json_loads(known_baseline, 0, NULL);
	pthread_mutex_unlock(&built_in_lock);
	return built_in;
}

const char *const baseline_verdicts[BASELINE_WHOLE + 1] = { "torn", "behind", "held", "unknown",
							    "whole" };

/* The condition in the first place, which is the host. proof (may be NULL): what was found. */
static enum answer3 ask(struct defect_world *w, const json_t *condition, bool denied,
			const char **proof)
{
	json_auto_t *row =
		denied ? json_pack("{s:s, s:{s:O}}", "id", "asked", "when", "not", condition)
		       : json_pack("{s:s, s:O}", "id", "asked", "when", condition);
	struct defect_row one = { .json = row }, *rows[] = { &one };
	struct defect_world host = *w;
	struct defect_matches m;
	enum answer3 is;

	host.n_places = w->n_places ? 1 : 0;
	defects_match(&host, rows, 1, &m);
	is = !m.n ? ANSWER_NO : m.items[0].state == DEFECT_POSSIBLE ? ANSWER_UNKNOWN : ANSWER_YES;
	if (proof && m.n)
		*proof = defect_proofs_text(w->a, m.items[0].proofs, m.items[0].n_proofs);
	return is;
}

static void why_add(struct defect_world *w, struct baseline_found *f, enum baseline_verdict verdict,
		    const char *why)
{
	f->why = f->why ? arena_printf(w->a, "%s; %s", f->why, why) : why;
	f->verdict = verdict < f->verdict ? verdict : f->verdict;
}

/* What is there of what a simple condition asks for, whatever its version; NULL. */
static const char *found_of(struct defect_world *w, const json_t *condition)
{
	json_auto_t *any = json_copy((json_t *)(uintptr_t)condition);
	const char *proof = NULL;

	json_object_del(any, "version");
	for (size_t i = 0; i < 2; i++)
		if (json_object_get(any, i ? "kernel" : "driver"))
			json_object_set_new(any, i ? "kernel" : "driver", json_string(">0"));
	(void)ask(w, any, false, &proof);
	return proof;
}

/* A part says "when" for what has to hold; what does not is said with what is there instead. */
static void part_judge(struct defect_world *w, const json_t *part, enum baseline_verdict missing,
		       struct baseline_found *f)
{
	const json_t *when = json_object_get(part, "when");
	const char *says = defect_text(part, "says"), *instead;

	switch (ask(w, when, true, NULL)) {
	case ANSWER_YES:
		instead = found_of(w, when);
		why_add(w, f, missing,
			arena_printf(w->a, "%s %s%s%s",
				     missing == BASELINE_TORN ? "needs" : "newer:", says,
				     instead ? ", found " : "", instead ? instead : ""));
		break;
	case ANSWER_UNKNOWN:
		why_add(w, f, BASELINE_UNSEEN, arena_printf(w->a, "not seen: %s", says));
		break;
	default:
		break;
	}
}

static bool row_judge(struct defect_world *w, const json_t *row, const char *today,
		      struct baseline_found *f)
{
	const json_t *latest = json_object_get(row, "latest"), *held = json_object_get(row, "held");
	json_t *part;
	size_t i;

	*f = (struct baseline_found){ .verdict = BASELINE_WHOLE };
	if (ask(w, json_object_get(row, "when"), false, &f->here) != ANSWER_YES)
		return false;
	f->id = defect_text(row, "id");
	f->title = defect_text(row, "title");
	f->end = defect_text(row, "end");
	f->date = defect_text(row, "date");
	f->source = defect_list(w->a, row, "source");
	json_array_foreach(json_object_get(row, "parts"), i, part)
		part_judge(w, part, BASELINE_TORN, f);
	if (latest)
		part_judge(w, latest, BASELINE_BEHIND, f);
	/* A month is over when the next one has begun. */
	if (f->end && strncmp(f->end, today, strlen(f->end)) < 0)
		why_add(w, f, BASELINE_BEHIND, arena_printf(w->a, "support ended in %s", f->end));
	if (defect_text(row, "ended"))
		why_add(w, f, BASELINE_BEHIND, defect_text(row, "ended"));
	if (f->verdict == BASELINE_BEHIND && held &&
	    ask(w, json_object_get(held, "when"), false, NULL) == ANSWER_YES) {
		f->why = arena_printf(w->a, "%s; %s", f->why, defect_text(held, "says"));
		f->verdict = BASELINE_HELD;
	}
	return true;
}

void baseline_judge(struct defect_world *w, const json_t *rows, const char *today,
		    struct baseline *out)
{
	json_t *row;
	size_t i;

	*out = (struct baseline){ 0 };
	json_array_foreach(rows, i, row)
	{
		struct baseline_found f;

		if (!row_judge(w, row, today, &f))
			continue;
		ARENA_ADD(w->a, out->items, out->n) = f;
		out->count[f.verdict]++;
	}
}

/* --- is a row one ----------------------------------------------------------------------------- */

/* clang-format off */
static const struct defect_key keys[] = {
	{ "id", VALUE_TEXT, true },	   { "title", VALUE_TEXT, true },    { "when", VALUE_OBJECT, true },
	{ "parts", VALUE_OBJECTS, false }, { "latest", VALUE_OBJECT, false }, { "held", VALUE_OBJECT, false },
	{ "end", VALUE_TEXT, false },	   { "ended", VALUE_TEXT, false },    { "date", VALUE_TEXT, true },
	{ "source", VALUE_LIST, true },	   { "examples", VALUE_OBJECTS, true },
};
/* clang-format on */

enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

static int part_check(const json_t *part, struct err *e)
{
	if (json_object_size(part) != 2 || !defect_text(part, "says"))
		return err_set(e, -EINVAL, "a part must have \"says\" and \"when\"");
	return defect_condition_check(json_object_get(part, "when"), e);
}

static int conditions_check(const json_t *row, struct err *e)
{
	const json_t *latest = json_object_get(row, "latest"), *held = json_object_get(row, "held");
	const char *end = defect_text(row, "end");
	int code = defect_keys_check(row, keys, N_KEYS, e);
	json_t *part;
	size_t i;

	if (!code && (package_age_days(defect_text(row, "date"), 0) < 0 ||
		      (end && package_age_days(end, 0) < 0)))
		return err_set(e, -EINVAL, "date or end is not a date");
	code = code ? code : defect_condition_check(json_object_get(row, "when"), e);
	json_array_foreach(json_object_get(row, "parts"), i, part) code =
		code ? code : part_check(part, e);
	code = !code && latest ? part_check(latest, e) : code;
	return !code && held ? part_check(held, e) : code;
}

/* An example is a small inventory with the verdict, and the day where that counts. */
static int example_check(struct arena *a, const json_t *row, json_t *example, struct err *e)
{
	const char *want = defect_text(example, "verdict"), *today = defect_text(example, "today");
	struct defect_place p = { .name = "example", .holds = example };
	struct defect_world w = { .a = a, .places = &p, .n_places = 1 };
	struct baseline_found f;
	const char *is = row_judge(&w, row, today ? today : "2000-01-01", &f)
				 ? baseline_verdicts[f.verdict]
				 : "none";

	return want && strcmp(want, is) == 0
		       ? 0
		       : err_set(e, -EINVAL, "an example gives \"%s\" instead of \"%.20s\"", is,
				 want ? want : "");
}

int baseline_check(struct arena *a, const json_t *rows, struct err *e)
{
	json_t *row, *example;
	size_t i, k;

	if (!json_is_array(rows) || json_array_size(rows) > BASELINE_ROWS_MAX)
		return err_set(e, -EINVAL, "releases must be a list of at most %d entries",
			       BASELINE_ROWS_MAX);
	json_array_foreach(rows, i, row)
	{
		int code = conditions_check(row, e);

		json_array_foreach(json_object_get(row, "examples"), k, example) code =
			code ? code : example_check(a, row, example, e);
		if (code)
			return err_set(e, -EINVAL, "entry %zu (%.60s): %s", i + 1,
				       defect_text(row, "id") ? defect_text(row, "id") : "no id",
				       arena_strdup(a, e->text));
	}
	return 0;
}
