/* SPDX-License-Identifier: Apache-2.0 */
/* A task's arguments: bounded, typed, every wrong one named; and the command line they mean. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "front/verbs/ansible.h"

enum { ARGS_MAX = 1 << 20, WORD_MAX = 4096, LIST_WORDS_MAX = 512 };

static const char *const state_names[MODULE_STATES] = { "apply",     "undo",   "persist",
							"unpersist", "check",  "plan",
							"status",    "verify", "show" };

const char *module_state_name(enum module_state s)
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

static int take(struct arena *a, const struct arg *arg, const json_t *v, struct module_args *out,
		struct err *e)
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

static bool given(const json_t *v)
{
	return !json_is_null(v) && !json_is_false(v) &&
	       !(json_is_string(v) && json_string_length(v) == 0) &&
	       !(json_is_array(v) && json_array_size(v) == 0);
}

static int take_all(struct arena *a, json_t *j, struct module_args *out, struct err *e)
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
		if (!json_is_null(v) && take(a, &table[i], v, out, e))
			return -EINVAL;
		seen[i] = given(v);
	}
	if (!ansible)
		return err_set(e, -EINVAL, "this is no argument file of Ansible");
	for (size_t i = 0; i < ARGS; i++)
		if (seen[i] && !(table[i].in & 1u << out->state))
			return err_set(e, -EINVAL, "%s means nothing with state=%s", table[i].name,
				       state_names[out->state]);
	return 0;
}

static int load(const char *path, json_t **out, struct err *e)
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
	if (load(path, &j, e))
		return -EINVAL;
	/* Without a state the module applies, and the one that only looks checks. */
	if (!json_object_get(j, "state")) {
		const char *name = json_string_value(json_object_get(j, "_ansible_module_name"));
		bool info = name && str_ends(name, "gputune_info");

		json_object_set_new(j, "state", json_string(info ? "check" : "apply"));
	}
	code = take_all(a, j, out, e);
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
	static const char *const verbs[MODULE_STATES] = { "apply",   "undo",   "persist",
							  "persist", "check",  "plan",
							  "status",  "verify", "show" };
	const char **w = arena_array(a, 32, sizeof(*w));
	const char *const options[][2] = { { "--profile", m->profile },
					   { "--only", m->only },
					   { "--skip", m->skip },
					   { "--allow", m->allow },
					   { "--reason", m->reason } };
	bool writes = m->state < MODULE_CHECK;
	size_t n = 0;

	w[n++] = verbs[m->state];
	/* diff says of files what a dry run would, without asking for what only writing needs. */
	if (m->state == MODULE_PERSIST)
		w[n++] = real ? "install" : "diff";
	if (m->state == MODULE_UNPERSIST)
		w[n++] = "remove";
	w[n++] = "--format";
	w[n++] = "json";
	if (writes)
		w[n++] = real ? "--yes" : "--dry-run";
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i][1]) {
			w[n++] = options[i][0];
			w[n++] = options[i][1];
		}
	if (m->all)
		w[n++] = "--all";
	if (m->force)
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
