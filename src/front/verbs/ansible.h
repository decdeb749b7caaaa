/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program as an Ansible module: one argument, the path of a JSON file with the task's
 * arguments; one JSON object on standard output, once, when everything is done.
 */
#ifndef VERBS_ANSIBLE_H
#define VERBS_ANSIBLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum module_state {
	MODULE_APPLY,
	MODULE_UNDO,
	MODULE_PERSIST,
	MODULE_UNPERSIST,
	MODULE_CHECK, /* from here on nothing is written */
	MODULE_PLAN,
	MODULE_STATUS,
	MODULE_VERIFY,
	MODULE_SHOW,
	MODULE_STATES,
};

/* A task's arguments. */
struct module_args {
	enum module_state state;
	json_t *question; /* to the verb: base/ask.h */
	bool force, strict;
	bool check, diff; /* Ansible's own */
	bool info;	  /* run as gputune_info: nothing may be written */
};

/* One answer of a verb: its JSON (NULL: none), what it complained of, its exit code. */
struct module_ran {
	int code;
	json_t *result;
	struct text said;
};

/* True for a command line that only Ansible uses: one absolute path. */
bool module_call(int argc, char **argv);
/* Reads and checks the arguments. 0, or -EINVAL and a sentence for the person who wrote the task.
 * module_args_free in either case. */
int module_args_read(struct arena *a, const char *path, struct module_args *out, struct err *e);
void module_args_free(struct module_args *m);
/* The ask of the task's verb; real: it writes. As above. */
int module_ask(struct arena *a, const struct module_args *m, bool real, void **ask, struct err *e);
/* Runs as a module; the exit status. */
int module_main(const char *path);

#endif
