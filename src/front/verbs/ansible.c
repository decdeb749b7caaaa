/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the verbs for Ansible: one JSON object comes out, last. */
#include "front/verbs/ansible.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "verbs/door.h"
#include "verbs/verbs.h"

/* From what the verbs answered to what Ansible takes: changed, failed, msg, diff. Pure. */

static const char *get(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

static json_t *list_of(const struct module_ran *r, const char *key)
{
	return r && r->result ? json_object_get(r->result, key) : NULL;
}

static bool verb_ansible_is(const json_t *row, const char *key, const char *const *words)
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
		n += verb_ansible_is(json_array_get(list, i), key, words);
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

/* True when, by what the look found, there is something to write. */
static bool module_needed(const struct module_args *m, const struct module_ran *look)
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

/* A task's arguments: the state, what only the module knows, and the question to its verb, whose
 * rows judge it. */

enum { ARGS_MAX = 1 << 20 };

static const char *const state_names[MODULE_STATES] = { "apply",     "undo",   "persist",
							"unpersist", "check",  "plan",
							"status",    "verify", "show" };

bool module_call(int argc, char **argv)
{
	return argc == 2 && argv[1][0] == '/';
}

/* In which states an argument means something: bits of enum module_state. */
#define IN(s) (1u << MODULE_##s)
enum {
	IN_WISH = IN(APPLY) | IN(PERSIST) | IN(CHECK) | IN(PLAN),
	IN_GATED = IN(APPLY) | IN(PERSIST) | IN(PLAN),
	IN_WRITES = IN(APPLY) | IN(UNDO) | IN(PERSIST) | IN(UNPERSIST),
};

static const struct arg {
	const char *name;
	unsigned in;
	bool flag;
} table[] = {
	{ "profile", IN_WISH, false },	{ "only", IN_WISH | IN(UNDO), false },
	{ "skip", IN_WISH, false },	{ "allow", IN_GATED, false },
	{ "reason", IN_WRITES, false }, { "transaction", IN(UNDO), false },
	{ "all", IN(UNDO), true },	{ "force", IN(UNDO) | IN(PERSIST) | IN(UNPERSIST), true },
	{ "boot", IN(VERIFY), true },	{ "update_grub", IN(PERSIST) | IN(UNPERSIST), true },
	{ "strict", IN(APPLY), true },
};
enum { ARGS = sizeof(table) / sizeof(table[0]) };

/* YAML's true, and the words that a template makes of it. */
static int flag_from(const json_t *v, bool *out)
{
	static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false",
										       "no", "off",
										       "0" };
	const char *word = json_string_value(v);

	if (json_is_boolean(v)) {
		*out = json_is_true(v);
		return 0;
	}
	for (size_t i = 0; word && i < 4; i++)
		if (strcasecmp(word, yes[i]) == 0 || strcasecmp(word, no[i]) == 0) {
			*out = strcasecmp(word, yes[i]) == 0;
			return 0;
		}
	return -EINVAL;
}

/* What Ansible itself adds; of most of it there is nothing to know. */
static int take_own(const char *key, const json_t *v, struct module_args *out)
{
	const char *name = json_string_value(v);

	if (strcmp(key, "_ansible_check_mode") == 0)
		return flag_from(v, &out->check);
	if (strcmp(key, "_ansible_diff") == 0)
		return flag_from(v, &out->diff);
	if (strcmp(key, "_ansible_module_name") == 0 && name)
		out->info = str_ends(name, "gputune_info");
	return 0;
}

/* Nothing is what a template leaves of a variable that is not set. Of "only" it asks for none, and
 * a task that does nothing is not what somebody wrote: its row refuses that. */
static bool is_set(const char *key, const json_t *v)
{
	return !json_is_null(v) &&
	       (strcmp(key, "only") == 0 ||
		(!json_is_false(v) && !(json_is_string(v) && json_string_length(v) == 0) &&
		 !(json_is_array(v) && json_array_size(v) == 0)));
}

static int argument_from(const char *key, json_t *v, struct module_args *out, struct err *e)
{
	const struct arg *arg = table;
	bool on;

	while (arg < table + ARGS && strcmp(key, arg->name) != 0)
		arg++;
	if (arg == table + ARGS)
		return err_set(e, -EINVAL, "unknown argument \"%.64s\"", key);
	if (arg->flag && !json_is_null(v)) {
		if (flag_from(v, &on))
			return err_set(e, -EINVAL, "%s takes true or false", key);
		v = on ? json_true() : json_false();
	}
	if (!is_set(key, v))
		return 0;
	if (!(arg->in & 1u << out->state))
		return err_set(e, -EINVAL, "%s has no effect with state=%s", key,
			       state_names[out->state]);
	if (strcmp(key, "strict") == 0)
		out->strict = true;
	else
		json_object_set(out->question, key, v);
	out->force = out->force || strcmp(key, "force") == 0;
	return 0;
}

static int arguments_from(json_t *j, struct module_args *out, struct err *e)
{
	bool ansible = false;
	const char *key;
	json_t *v;
	int code = 0;

	json_object_foreach(j, key, v)
	{
		if (str_starts(key, "_ansible_")) {
			ansible = true;
			if (take_own(key, v, out))
				code = err_set(e, -EINVAL, "%s is neither true nor false", key);
		} else if (strcmp(key, "state") != 0) {
			code = argument_from(key, v, out, e);
		}
		if (code)
			return code;
	}
	return ansible ? 0 : err_set(e, -EINVAL, "not an argument file of Ansible");
}

static int verb_ansible_load(const char *path, json_t **out, struct err *e)
{
	int r = json_from_file(path, ARGS_MAX, out, e);

	if (r || json_is_object(*out))
		return r ? -EINVAL : 0;
	json_decref(*out);
	return err_set(e, -EINVAL, "%s: not a JSON object", path);
}

/* Without a state the module applies, and the one that only looks checks. */
static int state_from(const json_t *j, struct module_args *out, struct err *e)
{
	const char *name = get(j, "_ansible_module_name");
	const json_t *state = json_object_get(j, "state");
	const char *word = state				    ? json_string_value(state)
			   : name && str_ends(name, "gputune_info") ? "check"
								    : "apply";

	for (int i = 0; i < MODULE_STATES; i++)
		if (word && strcmp(word, state_names[i]) == 0) {
			out->state = (enum module_state)i;
			return 0;
		}
	return err_set(e, -EINVAL,
		       "state takes one of apply, undo, persist, unpersist, check, plan, status, "
		       "verify and show");
}

static const struct verb *module_verb(const struct module_args *m, bool real)
{
	static const char *const names[MODULE_STATES] = {
		"apply",  "undo", "persist install", "persist remove", "check", "plan", "status",
		"verify", "show"
	};

	/* diff says of files what a dry run would, without asking for what only writing needs. */
	return answering_verb(m->state == MODULE_PERSIST && !real ? "persist diff"
								  : names[m->state]);
}

int module_ask(struct arena *a, const struct module_args *m, bool real, void **ask, struct err *e)
{
	const struct verb *v = module_verb(m, real);
	json_auto_t *j = json_copy(m->question);

	if (!real)
		json_object_del(j, "update_grub");
	if (!real && m->state == MODULE_PERSIST) {
		json_object_del(j, "force");
		json_object_del(j, "reason");
	} else if (!real && m->state < MODULE_CHECK) {
		json_object_set_new(j, "dry_run", json_true());
	}
	*ask = arena_alloc(a, v->ask->size);
	return ask_read(a, v->ask, j, *ask, e);
}

int module_args_read(struct arena *a, const char *path, struct module_args *out, struct err *e)
{
	void *ignored;
	json_t *j;
	int code;

	*out = (struct module_args){ .state = MODULE_STATES, .question = json_object() };
	if (verb_ansible_load(path, &j, e))
		return -EINVAL;
	code = state_from(j, out, e);
	code = code ? code : arguments_from(j, out, e);
	json_decref(j);
	if (!code && out->info && out->state < MODULE_CHECK)
		code = err_set(e, -EINVAL, "gputune_info changes nothing: use gputune for state=%s",
			       state_names[out->state]);
	return code ? code : module_ask(a, out, true, &ignored, e);
}

void module_args_free(struct module_args *m)
{
	json_decref(m->question);
}

/* --- before and after ------------------------------------------------------------------------- */

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
			 : !verb_ansible_is(row, "outcome", put_back))
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
		      "current settings", "after_header", "target settings");
	return j;
}

/* --- what it says ----------------------------------------------------------------------------- */

/* The row that went wrong says more than the verb. */
static const char *first_sentence(const struct module_ran *r)
{
	static const char *const bad[] = { "clamped", "failed", "stuck", NULL };
	json_t *rows = list_of(r, "rows");

	for (size_t i = 0; i < json_array_size(rows); i++)
		if (verb_ansible_is(json_array_get(rows, i), "outcome", bad))
			return get(json_array_get(rows, i), "sentence");
	return NULL;
}

static const char *message(struct arena *a, const struct module_args *m, bool failed, bool changed,
			   const struct module_ran *r)
{
	const char *said = r->said.len ? r->said.s : "", *row = first_sentence(r);

	if (failed && *said)
		return row && !strstr(said, row) ? arena_printf(a, "%s (%s)", said, row) : said;
	if (failed)
		return arena_printf(a, "gputune exited with code %d and no message", r->code);
	if (m->state >= MODULE_CHECK)
		return r->code == EXIT_CLEAN	  ? "clean"
		       : r->code == EXIT_FINDINGS ? "findings"
						  : said;
	if (m->check)
		return changed ? "changes needed" : "nothing to do";
	return changed ? "done" : "nothing to do";
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

/* What the task's result is. look: the run that only looked (NULL: there was none); did: the one
 * that wrote, or read (NULL: none was needed). The caller owns the reference. */
static json_t *module_result(struct arena *a, const struct module_args *m,
			     const struct module_ran *look, const struct module_ran *did)
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
				   "%zu of the files were edited since gputune wrote them; force "
				   "replaces them",
				   others);
	}
	j = json_pack("{s:b, s:b, s:s, s:s, s:i, s:o, s:o, s:O?}", "changed", (int)changed,
		      "failed", (int)failed, "state", state_names[m->state], "msg",
		      utf8_clean(a, msg), "exit_code", r->code, "refused", refused, "warnings",
		      warnings, "result", r->result);
	if (failed)
		json_object_set_new(j, "rc", json_integer(r->code ? r->code : EXIT_NOT_APPLIED));
	if (m->state < MODULE_CHECK && look && look->result)
		json_object_set_new(j, "diff", diff_json(m, look));
	return j;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct host *module_live(void *ctx)
{
	(void)ctx;
	return host_open_live();
}

static void module_complaint(void *ctx, int code, const struct err *e)
{
	struct module_ran *r = ctx;
	bool hint = e->hint[0];

	(void)code;
	if (!str_starts(e->text, "dry run:"))
		text_printf(&r->said, "%s%s%s%s", r->said.len ? "; " : "", e->text,
			    hint ? "; " : "", hint ? e->hint : "");
}

/* The task has said it. */
static int module_agrees(void *ctx, const struct doc *shown, const char *question)
{
	(void)ctx;
	(void)shown;
	(void)question;
	return 0;
}

static void verb_ansible_ask(struct arena *a, const struct module_args *m, bool real,
			     struct module_ran *out)
{
	const struct verb *v = module_verb(m, real);
	struct door d = { .arena = a,
			  .live = module_live,
			  .say = module_complaint,
			  .agree = real ? module_agrees : NULL,
			  .may_change = real && m->state < MODULE_CHECK,
			  .ctx = out };
	void *ask, *answer = verb_answer_new(a, v);
	struct err e = { 0 };
	int code = module_ask(a, m, real, &ask, &e) ? door_fail(&d, EXIT_USAGE, &e)
						    : v->answer(&d, ask, answer);

	out->code = code < 0 ? -code : code;
	if (code >= 0)
		out->result = verb_answer_json(v, ask, answer, (long long)time(NULL),
					       door_exit_code(&d, code));
}

/* Looks first; writes only when there is something to write. */
static json_t *verb_ansible_work(struct arena *a, const struct module_args *m)
{
	struct module_ran look = { 0 }, did = { 0 };
	bool go;
	json_t *j;

	verb_ansible_ask(a, m, false, &look);
	go = m->state < MODULE_CHECK && !m->check && look.result && module_needed(m, &look);
	/* Settings that are refused are a failure before anything is written, when asked for. */
	if (go && m->strict) {
		j = module_result(a, m, &look, NULL);
		go = !json_is_true(json_object_get(j, "failed"));
		json_decref(j);
	}
	if (go)
		verb_ansible_ask(a, m, true, &did);
	j = module_result(a, m, &look, go ? &did : NULL);
	/* Nothing was written, so nothing has changed, whatever would have been. */
	if (!go && !m->check)
		json_object_set_new(j, "changed", json_false());
	json_decref(look.result);
	json_decref(did.result);
	text_free(&look.said);
	text_free(&did.said);
	return j;
}

int module_main(const char *path)
{
	struct module_args m;
	ARENA_AUTO a = { 0 };
	struct err e = { 0 };
	bool failed;
	json_t *j;

	j = module_args_read(&a, path, &m, &e)
		    ? json_pack("{s:b, s:b, s:i, s:s}", "changed", 0, "failed", 1, "rc", EXIT_USAGE,
				"msg", utf8_clean(&a, e.text))
		    : verb_ansible_work(&a, &m);
	failed = json_is_true(json_object_get(j, "failed"));
	/* Whatever comes after this line, or instead of it, would be taken for part of the result.
	 */
	json_print(stdout, j, JSON_COMPACT);
	fputc('\n', stdout);
	failed = fflush(stdout) || failed;
	json_decref(j);
	module_args_free(&m);
	return failed;
}
