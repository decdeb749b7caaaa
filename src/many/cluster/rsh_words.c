/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as words. ssh joins the program's words for a shell of the other machine, so each
 * of them has to be one word to any shell. */
#include <errno.h>
#include <string.h>

#include "many/cluster/node.h"
#include "many/cluster/rsh_inside.h"

enum { WORDS_MAX = 64 };

struct words {
	struct arena *a;
	const char *list[WORDS_MAX + 1];
	size_t n;
	bool full;
};

static void add(struct words *w, const char *word)
{
	if (w->n == WORDS_MAX)
		w->full = true;
	else
		w->list[w->n++] = word;
}

/* {node} and {name} replaced. */
static const char *fill(struct arena *a, const char *word, const struct rsh_target *t)
{
	TEXT_AUTO out = { 0 };

	text_add(&out, "");
	while (*word) {
		if (str_starts(word, "{node}")) {
			text_add(&out, t->address);
			word += 6;
		} else if (str_starts(word, "{name}")) {
			text_add(&out, t->name);
			word += 6;
		} else {
			text_addc(&out, *word++);
		}
	}
	return arena_strdup(a, out.s);
}

static void split(struct words *w, const char *line, const struct rsh_target *t)
{
	char *copy = arena_strdup(w->a, line), *save = NULL;

	for (char *p = strtok_r(copy, " \t\n", &save); p; p = strtok_r(NULL, " \t\n", &save))
		add(w, fill(w->a, p, t));
}

/* One word to any shell. */
static bool plain(const char *word)
{
	static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "_./:=@%+,-";

	return *word && strspn(word, may) == strlen(word);
}

static void ssh(struct words *w, const struct rsh_how *how, const struct rsh_target *t)
{
	static const char *const options[] = {
		/* Never a question, never a key that is not known, nothing that a user's
		 * configuration would forward. */
		"BatchMode=yes",	 "StrictHostKeyChecking=yes", "ConnectTimeout=8",
		"ServerAliveInterval=5", "ServerAliveCountMax=3",     "ForwardAgent=no",
		"ForwardX11=no",	 "ClearAllForwardings=yes",   "PermitLocalCommand=no",
		"LogLevel=ERROR",
	};

	add(w, "ssh");
	add(w, "-T");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		add(w, "-o");
		add(w, options[i]);
	}
	if (how->known_hosts) {
		add(w, "-o");
		add(w, arena_printf(w->a, "UserKnownHostsFile=%s", how->known_hosts));
		add(w, "-o");
		add(w, "GlobalKnownHostsFile=/dev/null");
	}
	if (how->identity) {
		add(w, "-i");
		add(w, how->identity);
		add(w, "-o");
		add(w, "IdentitiesOnly=yes");
	}
	add(w, "--");
	add(w, t->address);
}

static bool files_sound(const struct rsh_how *how, struct err *e)
{
	const char *files[] = { how->known_hosts, how->identity };

	for (size_t i = 0; i < 2; i++)
		if (files[i] && (!plain(files[i]) || files[i][0] == '-')) {
			err_set(e, -EINVAL, "ssh cannot be given the file \"%.200s\"", files[i]);
			err_hint(e, "use a path of letters, digits and _./:=@%%+,- alone");
			return false;
		}
	return true;
}

char **rsh_words(struct arena *a, const struct rsh_target *t, const struct rsh_how *how,
		 struct err *e)
{
	struct words w = { .a = a };
	bool here = strcmp(t->address, "localhost") == 0 && !how->rsh && how->self;
	size_t begin;
	char **argv;

	if (!cluster_name_sound(t->name) || !cluster_name_sound(t->address)) {
		err_set(e, -EINVAL, "\"%.64s\" is no name that a node can have", t->address);
		return NULL;
	}
	if (!files_sound(how, e))
		return NULL;
	if (how->rsh)
		split(&w, how->rsh, t);
	else if (!here)
		ssh(&w, how, t);
	begin = w.n;
	if (here && !how->program) {
		add(&w, how->self);
		split(&w, "cluster node", t);
	} else {
		split(&w, how->program ? how->program : "gputune cluster node", t);
		for (size_t i = begin; i < w.n; i++)
			if (!plain(w.list[i])) {
				err_set(e, -EINVAL,
					"\"%.200s\" could be more than a word to a shell",
					w.list[i]);
				err_hint(e, "name the program on the nodes by letters, digits and "
					    "_./:=@%%+,- alone");
				return NULL;
			}
	}
	if (w.full || w.n == 0 || w.n == begin) {
		err_set(e, -EINVAL, "the command that reaches %s has %s words", t->name,
			w.full ? "too many" : "no");
		return NULL;
	}
	argv = arena_array(a, w.n + 1, sizeof(*argv));
	for (size_t i = 0; i < w.n; i++)
		argv[i] = arena_strdup(a, w.list[i]);
	return argv;
}
