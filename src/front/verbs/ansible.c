/* SPDX-License-Identifier: Apache-2.0 */
/* Running the verbs for Ansible: what they print is caught, and one JSON object comes out, last. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/verbs/ansible.h"
#include "base/json.h"
#include "base/text.h"
#include "front/session.h"

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

/* A task's arguments: bounded, typed, every wrong one named; and the command line they mean. */

enum { ARGS_MAX = 1 << 20, WORD_MAX = 4096, LIST_WORDS_MAX = 512 };

static const char *const state_names[MODULE_STATES] = { "apply",     "undo",   "persist",
							"unpersist", "check",  "plan",
							"status",    "verify", "show" };

static const char *module_state_name(enum module_state s)
{
	return state_names[s];
}

bool module_call(int argc, char **argv)
{
	return argc == 2 && argv[1][0] == '/';
}

enum arg_kind { ARG_STATE, ARG_TEXT, ARG_LIST, ARG_ONLY, ARG_FLAG, ARG_NUMBER };

/* In which states an argument means something: bits of enum module_state. */
#define IN(s) (1u << MODULE_##s)
enum {
	IN_WISH = IN(APPLY) | IN(PERSIST) | IN(CHECK) | IN(PLAN),
	IN_GATED = IN(APPLY) | IN(PERSIST) | IN(PLAN),
	IN_WRITES = IN(APPLY) | IN(UNDO) | IN(PERSIST) | IN(UNPERSIST),
};

static const struct arg {
	const char *name;
	enum arg_kind kind;
	unsigned in;
	size_t offset;
} table[] = {
	{ "state", ARG_STATE, ~0u, offsetof(struct module_args, state) },
	{ "profile", ARG_TEXT, IN_WISH, offsetof(struct module_args, profile) },
	{ "only", ARG_ONLY, IN_WISH | IN(UNDO), offsetof(struct module_args, only) },
	{ "skip", ARG_LIST, IN_WISH, offsetof(struct module_args, skip) },
	{ "allow", ARG_LIST, IN_GATED, offsetof(struct module_args, allow) },
	{ "reason", ARG_TEXT, IN_WRITES, offsetof(struct module_args, reason) },
	{ "transaction", ARG_NUMBER, IN(UNDO), offsetof(struct module_args, transaction) },
	{ "all", ARG_FLAG, IN(UNDO), offsetof(struct module_args, all) },
	{ "force", ARG_FLAG, IN(UNDO) | IN(PERSIST) | IN(UNPERSIST),
	  offsetof(struct module_args, force) },
	{ "boot", ARG_FLAG, IN(VERIFY), offsetof(struct module_args, boot) },
	{ "update_grub", ARG_FLAG, IN(PERSIST) | IN(UNPERSIST),
	  offsetof(struct module_args, update_grub) },
	{ "strict", ARG_FLAG, IN(APPLY), offsetof(struct module_args, strict) },
};
enum { ARGS = sizeof(table) / sizeof(table[0]) };

static int state_from(const char *word, enum module_state *out)
{
	for (int i = 0; i < MODULE_STATES; i++)
		if (word && strcmp(word, state_names[i]) == 0) {
			*out = (enum module_state)i;
			return 0;
		}
	return -EINVAL;
}

/* "a,b" or ["a", "b"]. An empty one is none: nothing to skip, nothing to allow. */
static int list_from(struct arena *a, const char *name, const json_t *v, const char **out,
		     struct err *e)
{
	TEXT_AUTO t = { 0 };

	if (json_is_string(v) && json_string_length(v) <= WORD_MAX) {
		text_add(&t, json_string_value(v));
	} else if (json_is_array(v) && json_array_size(v) <= LIST_WORDS_MAX) {
		for (size_t i = 0; i < json_array_size(v); i++) {
			const json_t *word = json_array_get(v, i);

			if (!json_string_length(word) || strchr(json_string_value(word), ','))
				return err_set(e, -EINVAL, "%s takes a list of setting ids", name);
			text_printf(&t, "%s%s", i ? "," : "", json_string_value(word));
		}
	} else {
		return err_set(e, -EINVAL, "%s takes a list of setting ids", name);
	}
	*out = t.len ? arena_strdup(a, t.s) : NULL;
	return 0;
}

/* Left out it means all; but a list that a filter made empty asks for none of them, and a task
 * that does nothing is not what somebody wrote. */
static int only_from(struct arena *a, const char *name, const json_t *v, const char **out,
		     struct err *e)
{
	if (list_from(a, name, v, out, e))
		return -EINVAL;
	if (!*out || !(*out)[strspn(*out, ", \t")])
		return err_set(e, -EINVAL, "%s names no setting: leave it out for all of them",
			       name);
	return 0;
}

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

static int number_from(const json_t *v, long long *out)
{
	if (json_is_string(v) && parse_i64(json_string_value(v), out))
		return -EINVAL;
	if (json_is_integer(v))
		*out = json_integer_value(v);
	else if (!json_is_string(v))
		return -EINVAL;
	return *out < 1 ? -EINVAL : 0;
}

static int verb_ansible_take(struct arena *a, const struct arg *arg, const json_t *v,
			     struct module_args *out, struct err *e)
{
	void *to = (char *)out + arg->offset;

	switch (arg->kind) {
	case ARG_STATE:
		if (state_from(json_string_value(v), to))
			return err_set(e, -EINVAL,
				       "state takes one of apply, undo, persist, unpersist, check, "
				       "plan, status, verify and show");
		return 0;
	case ARG_LIST:
		return list_from(a, arg->name, v, to, e);
	case ARG_ONLY:
		return only_from(a, arg->name, v, to, e);
	case ARG_FLAG:
		return flag_from(v, to) ? err_set(e, -EINVAL, "%s takes true or false", arg->name)
					: 0;
	case ARG_NUMBER:
		return number_from(v, to)
			       ? err_set(e, -EINVAL, "%s takes a number from 1 on", arg->name)
			       : 0;
	case ARG_TEXT:
		if (!json_is_string(v) || json_string_length(v) > WORD_MAX)
			return err_set(e, -EINVAL, "%s takes a text", arg->name);
		if (json_string_length(v))
			*(const char **)to = arena_strdup(a, json_string_value(v));
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

static bool is_set(const json_t *v)
{
	return !json_is_null(v) && !json_is_false(v) &&
	       !(json_is_string(v) && json_string_length(v) == 0) &&
	       !(json_is_array(v) && json_array_size(v) == 0);
}

static int verb_ansible_take_all(struct arena *a, json_t *j, struct module_args *out, struct err *e)
{
	unsigned seen[ARGS] = { 0 };
	const char *key;
	json_t *v;
	bool ansible = false;

	json_object_foreach(j, key, v)
	{
		size_t i = 0;

		if (str_starts(key, "_ansible_")) {
			ansible = true;
			if (take_own(key, v, out))
				return err_set(e, -EINVAL, "%s is neither true nor false", key);
			continue;
		}
		while (i < ARGS && strcmp(key, table[i].name) != 0)
			i++;
		if (i == ARGS)
			return err_set(e, -EINVAL, "there is no argument \"%.64s\"", key);
		if (!json_is_null(v) && verb_ansible_take(a, &table[i], v, out, e))
			return -EINVAL;
		seen[i] = is_set(v);
	}
	if (!ansible)
		return err_set(e, -EINVAL, "this is no argument file of Ansible");
	for (size_t i = 0; i < ARGS; i++)
		if (seen[i] && !(table[i].in & 1u << out->state))
			return err_set(e, -EINVAL, "%s means nothing with state=%s", table[i].name,
				       state_names[out->state]);
	return 0;
}

static int verb_ansible_load(const char *path, json_t **out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	json_error_t why = { 0 };
	struct stat st;

	*out = NULL;
	if (fd < 0)
		return err_set(e, -EINVAL, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > ARGS_MAX)
		err_set(e, -EINVAL, "%s is no argument file", path);
	else if (!(*out = json_loadfd(fd, JSON_REJECT_DUPLICATES, &why)) || !json_is_object(*out))
		err_set(e, -EINVAL, "%s: %s", path, *out ? "it is no JSON object" : why.text);
	close(fd);
	if (!*e->text)
		return 0;
	json_decref(*out);
	return -EINVAL;
}

int module_args_read(struct arena *a, const char *path, struct module_args *out, struct err *e)
{
	json_t *j;
	int code;

	*out = (struct module_args){ .state = MODULE_STATES };
	if (verb_ansible_load(path, &j, e))
		return -EINVAL;
	/* Without a state the module applies, and the one that only looks checks. */
	if (!json_object_get(j, "state")) {
		const char *name = json_string_value(json_object_get(j, "_ansible_module_name"));
		bool info = name && str_ends(name, "gputune_info");

		json_object_set_new(j, "state", json_string(info ? "check" : "apply"));
	}
	code = verb_ansible_take_all(a, j, out, e);
	json_decref(j);
	if (code)
		return code;
	if (out->info && out->state < MODULE_CHECK)
		return err_set(e, -EINVAL, "gputune_info changes nothing: state=%s is gputune's",
			       state_names[out->state]);
	if (out->all && out->transaction)
		return err_set(e, -EINVAL, "either all or a transaction");
	return 0;
}

char **module_words(struct arena *a, const struct module_args *m, bool real)
{
	static const char *const names[MODULE_STATES] = { "apply",   "undo",   "persist",
							  "persist", "check",  "plan",
							  "status",  "verify", "show" };
	const char **w = arena_array(a, 32, sizeof(*w));
	const char *const options[][2] = { { "--profile", m->profile },
					   { "--only", m->only },
					   { "--skip", m->skip },
					   { "--allow", m->allow },
					   { "--reason", m->reason } };
	/* diff says of files what a dry run would, without asking for what only writing needs. */
	bool diff = m->state == MODULE_PERSIST && !real, writes = m->state < MODULE_CHECK && !diff;
	size_t n = 0;

	w[n++] = names[m->state];
	if (m->state == MODULE_PERSIST)
		w[n++] = diff ? "diff" : "install";
	if (m->state == MODULE_UNPERSIST)
		w[n++] = "remove";
	w[n++] = "--format";
	w[n++] = "json";
	if (writes)
		w[n++] = real ? "--yes" : "--dry-run";
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i][1] && !(diff && strcmp(options[i][0], "--reason") == 0)) {
			w[n++] = options[i][0];
			w[n++] = options[i][1];
		}
	if (m->all)
		w[n++] = "--all";
	if (m->force && !diff)
		w[n++] = "--force";
	if (m->boot)
		w[n++] = "--boot";
	if (m->update_grub && real)
		w[n++] = "--update-grub";
	if (m->transaction) {
		w[n++] = "--";
		w[n++] = arena_printf(a, "%lld", m->transaction);
	}
	return (char **)w;
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
		      "settings now", "after_header", "settings wanted");
	return j;
}

/* --- what it says ----------------------------------------------------------------------------- */

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
		if (verb_ansible_is(json_array_get(rows, i), "outcome", bad))
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
		msg = arena_printf(
			a, "%zu of the files are not as gputune left them; force replaces them",
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

enum { ERRORS_MAX = 16384 };

/* What the verb complained of since the file was empty. */
static const char *complaints(struct arena *a, int fd)
{
	char *text = arena_alloc(a, ERRORS_MAX + 1);
	ssize_t n;

	fflush(stderr);
	n = pread(fd, text, ERRORS_MAX, 0);
	text[n > 0 ? n : 0] = '\0';
	return utf8_clean(a, text);
}

static json_t *parsed(const char *text, size_t len)
{
	json_error_t why;

	return len ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &why) : NULL;
}

/* One verb as if its words stood on a command line. */
static struct module_ran verb_ansible_run_verb(struct arena *a, char **words, int errors)
{
	struct module_ran out = { .code = EXIT_USAGE };
	struct run r = { .verb = verb_find(words[0]) };
	char *text = NULL;
	size_t len = 0;
	int argc = 0;

	while (words[argc])
		argc++;
	if (ftruncate(errors, 0) || lseek(errors, 0, SEEK_SET) < 0)
		return out;
	run_open_door(&r);
	r.out = open_memstream(&text, &len);
	if (!r.verb)
		complain_text(EXIT_USAGE, "this gputune has no verb \"%s\"", words[0]);
	else if (r.out && options_parse(&r, argc, words) == 0)
		out.code = r.verb->answer ? run_answer(&r) : r.verb->run(&r);
	if (r.out)
		fclose(r.out);
	out.result = parsed(text, len);
	out.errors = complaints(a, errors);
	free(text);
	arena_free(&r.arena);
	return out;
}

/* Looks first; writes only when there is something to write. */
static json_t *verb_ansible_work(struct arena *a, const struct module_args *m, int errors)
{
	struct module_ran look = verb_ansible_run_verb(a, module_words(a, m, false), errors),
			  did = { 0 };
	bool go = m->state < MODULE_CHECK && !m->check && look.result && module_needed(m, &look);
	json_t *j;

	/* Settings that are refused are a failure before anything is written, when asked for. */
	if (go && m->strict) {
		j = module_result(a, m, &look, NULL);
		go = !json_is_true(json_object_get(j, "failed"));
		json_decref(j);
	}
	if (go)
		did = verb_ansible_run_verb(a, module_words(a, m, true), errors);
	j = module_result(a, m, &look, go ? &did : NULL);
	/* Nothing was written, so nothing has changed, whatever would have been. */
	if (!go && !m->check)
		json_object_set_new(j, "changed", json_false());
	json_decref(look.result);
	json_decref(did.result);
	return j;
}

static json_t *failure(struct arena *a, const struct err *e)
{
	return json_pack("{s:b, s:b, s:i, s:s}", "changed", 0, "failed", 1, "rc", EXIT_USAGE, "msg",
			 utf8_clean(a, e->text));
}

int module_main(const char *path)
{
	struct module_args m;
	struct arena a = { 0 };
	struct err e = { 0 };
	int errors = memfd_create("errors", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	bool failed;
	json_t *j;

	if (errors < 0 || dup2(errors, STDERR_FILENO) < 0) {
		err_set(&e, -errno, "no memory for messages: %s", strerror(errno));
		j = failure(&a, &e);
	} else if (module_args_read(&a, path, &m, &e)) {
		j = failure(&a, &e);
	} else {
		j = verb_ansible_work(&a, &m, errors);
	}
	fflush(stderr);
	if (kept >= 0)
		dup2(kept, STDERR_FILENO);
	failed = json_is_true(json_object_get(j, "failed"));
	/* Whatever comes after this line, or instead of it, would be taken for part of the result.
	 */
	json_print(stdout, j, JSON_COMPACT);
	fputc('\n', stdout);
	failed = fflush(stdout) || failed;
	json_decref(j);
	arena_free(&a);
	return failed;
}
