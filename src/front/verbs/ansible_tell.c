/* SPDX-License-Identifier: Apache-2.0 */
/* From what the verbs answered to what Ansible takes: changed, failed, msg, diff. Pure. */
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "front/verbs/ansible.h"
#include "front/verbs/cmd.h"

static const char *get(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static json_t *list_of(const struct module_ran *r, const char *key)
{
	return r && r->result ? json_object_get(r->result, key) : NULL;
}

static bool is(const json_t *row, const char *key, const char *const *words)
{
	const char *v = get(row, key);

	for (; v && *words; words++)
		if (strcmp(v, *words) == 0)
			return true;
	return false;
}

static size_t count(const json_t *list, const char *key, const char *const *words)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		n += is(json_array_get(list, i), key, words);
	return n;
}

static const char *const put_back[] = { "restored", "reset", NULL };
static const char *const foreign[] = { "foreign", NULL };

/* Of a plan: the changes that nothing stands against. */
static size_t open_changes(const json_t *changes)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(changes); i++)
		n += json_is_null(json_object_get(json_array_get(changes, i), "gate"));
	return n;
}

bool module_needed(const struct module_args *m, const struct module_ran *look)
{
	switch (m->state) {
	case MODULE_APPLY:
		return open_changes(list_of(look, "changes")) > 0;
	case MODULE_UNDO:
		return count(list_of(look, "rows"), "outcome", put_back) > 0;
	case MODULE_UNPERSIST:
		return count(list_of(look, "rows"), "outcome", put_back) > 0 ||
		       count(list_of(look, "outcomes"), "outcome", put_back) > 0;
	case MODULE_PERSIST:
		return look->code == EXIT_FINDINGS;
	default:
		return false;
	}
}

/* A transaction that stands has changed something; one that was rolled back has not. */
static bool has_changed(const struct module_args *m, const struct module_ran *look,
			const struct module_ran *did)
{
	if (m->state >= MODULE_CHECK)
		return false;
	if (!did)
		return module_needed(m, look);
	if (did->code == EXIT_STUCK)
		return true;
	if (m->state == MODULE_APPLY || m->state == MODULE_PERSIST)
		return did->code != EXIT_NOT_APPLIED && did->code != EXIT_USAGE &&
		       json_is_integer(list_of(did, "transaction"));
	return module_needed(m, did);
}

/* Reading verbs call a finding 1 and a blind spot 5: neither is a failure of the task. */
static bool has_failed(const struct module_args *m, const struct module_ran *r)
{
	if (!r->result)
		return true;
	if (m->state >= MODULE_CHECK)
		return r->code == EXIT_USAGE;
	return r->code != EXIT_CLEAN && r->code != EXIT_FINDINGS &&
	       !(r->code == EXIT_BLIND && m->state == MODULE_APPLY);
}

/* --- what it says --------------------------------------------------------------------------------
 */

/* The complaint without the program's name, its hint and the note of a dry run. */
static const char *complaint(struct arena *a, const char *errors)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	while (errors && *errors) {
		size_t n = strcspn(errors, "\n"), skip = str_starts(errors, "gputune: ") ? 9 : 0,
		       len;
		const char *line = str_trim(errors + skip, n - skip, &len);

		if (len && memmem(line, len, "dry run:", 8) != line)
			text_printf(&t, "%s%.*s", t.len ? "; " : "", (int)len, line);
		errors += n + (errors[n] == '\n');
	}
	return arena_strdup(a, t.s);
}

/* The row that went wrong says more than the verb. */
static const char *first_sentence(const struct module_ran *r)
{
	static const char *const bad[] = { "clamped", "failed", "stuck", NULL };
	json_t *rows = list_of(r, "rows");

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (is(json_array_get(rows, i), "outcome", bad))
			return get(json_array_get(rows, i), "sentence");
	return NULL;
}

static const char *message(struct arena *a, const struct module_args *m, bool failed, bool changed,
			   const struct module_ran *r)
{
	const char *said = complaint(a, r->errors), *row = first_sentence(r);

	if (failed && *said)
		return row && !strstr(said, row) ? arena_printf(a, "%s (%s)", said, row) : said;
	if (failed)
		return arena_printf(a, "gputune ended with code %d and said nothing", r->code);
	if (m->state >= MODULE_CHECK)
		return r->code == EXIT_CLEAN	  ? "clean"
		       : r->code == EXIT_FINDINGS ? "findings"
						  : said;
	if (m->check)
		return changed ? "would change something" : "nothing to do";
	return changed ? "done" : "nothing to do";
}

/* --- before and after ----------------------------------------------------------------------------
 */

static void line(struct text *t, const json_t *row, const char *value)
{
	const char *target = get(row, "target");

	text_printf(t, "%s%s%s: %s\n", get(row, "id") ? get(row, "id") : "",
		    target && *target ? " " : "", target ? target : "",
		    value ? value : "(unknown)");
}

static void rows_diff(const json_t *rows, const char *before, const char *after, bool plan,
		      struct text *from, struct text *to)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (plan ? !json_is_null(json_object_get(row, "gate"))
			 : !is(row, "outcome", put_back))
			continue;
		line(from, row, get(row, before));
		line(to, row, get(row, after));
	}
}

static json_t *diff_json(const struct module_args *m, const struct module_ran *look)
{
	TEXT_AUTO from = { 0 };
	TEXT_AUTO to = { 0 };
	json_t *files = list_of(look, "files"), *j;

	text_add(&from, "");
	text_add(&to, "");
	if (m->state == MODULE_PERSIST) {
		for (size_t i = 0; i < json_array_size(files); i++) {
			const char *d = get(json_array_get(files, i), "diff");

			text_add(&from, d ? d : "");
		}
		return json_pack("{s:s}", "prepared", from.s);
	}
	if (m->state == MODULE_APPLY)
		rows_diff(list_of(look, "changes"), "before", "after", true, &from, &to);
	else
		rows_diff(list_of(look, "rows"), "to", "from", false, &from, &to);
	j = json_pack("{s:s, s:s, s:s, s:s}", "before", from.s, "after", to.s, "before_header",
		      "settings now", "after_header", "settings wanted");
	return j;
}

/* --- what stood against it
 * ------------------------------------------------------------------------
 */

static json_t *refused_json(struct arena *a, const struct module_args *m,
			    const struct module_ran *look, json_t *warnings)
{
	json_t *list = json_array(), *changes = list_of(look, "changes");

	for (size_t i = 0; m->state == MODULE_APPLY && i < json_array_size(changes); i++) {
		const json_t *c = json_array_get(changes, i);
		const char *why = get(c, "refusal"), *target = get(c, "target");

		if (json_is_null(json_object_get(c, "gate")))
			continue;
		json_array_append_new(list, json_pack("{s:s?, s:s?, s:s?, s:s?}", "id",
						      get(c, "id"), "target", target, "gate",
						      get(c, "gate"), "why", why));
		json_array_append_new(
			warnings,
			json_string(arena_printf(a, "%s%s%s is refused: %s", get(c, "id"),
						 target && *target ? " " : "", target ? target : "",
						 why ? why : get(c, "gate"))));
	}
	return list;
}

json_t *module_result(struct arena *a, const struct module_args *m, const struct module_ran *look,
		      const struct module_ran *did)
{
	const struct module_ran *r = did ? did : look;
	json_t *warnings = json_array(), *refused = refused_json(a, m, look, warnings), *j;
	bool failed = has_failed(m, r), changed = has_changed(m, look, did), strict;
	const char *msg = message(a, m, failed, changed, r);
	size_t others = m->force ? 0 : count(list_of(look, "files"), "state", foreign);

	strict = m->strict && json_array_size(refused) > 0;
	if (!failed && strict) {
		failed = true;
		msg = json_string_value(json_array_get(warnings, 0));
	}
	/* What a run would refuse, a run that only looks has to refuse as well. */
	if (!failed && m->state == MODULE_PERSIST && others) {
		failed = true;
		msg = arena_printf(a,
				   "%zu of the files are not as gputune left them; force "
				   "replaces them",
				   others);
	}
	j = json_pack("{s:b, s:b, s:s, s:s, s:i, s:o, s:o, s:O?}", "changed", (int)changed,
		      "failed", (int)failed, "state", module_state_name(m->state), "msg",
		      utf8_clean(a, msg), "exit_code", r->code, "refused", refused, "warnings",
		      warnings, "result", r->result);
	if (failed)
		json_object_set_new(j, "rc", json_integer(r->code ? r->code : EXIT_NOT_APPLIED));
	if (m->state < MODULE_CHECK && look && look->result)
		json_object_set_new(j, "diff", diff_json(m, look));
	return j;
}
