/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of "gputune stack". */
#ifndef VERBS_STACK_H
#define VERBS_STACK_H

#include "front/verbs/cmd.h"
#include "look/stack/build_env.h"
#include "look/stack/root.h"
#include "look/stack/scan.h"
#include "look/stack/page_stack.h"

/* Each gets the words after its name in r->args. */
int stack_arch(struct run *r);
int stack_check(struct run *r);
int stack_wheelhouse(struct run *r);
int stack_env(struct run *r);
int stack_plan(struct run *r);
int stack_compare(struct run *r);
/* Copies a sound wheelhouse to DIR or HOST:DIR and verifies the copy; an exit code. */
int wheelhouse_sync(struct run *r, const char *dir, const char *to);
/* Prints it, after verifying it where look says so; an exit code. */
int wheelhouse_tell(struct run *r, const char *dir, bool look);

/*
 * The GPUs to judge for: --gpu, or those of the machine (m; NULL: it is probed). *from says in
 * words where they come from. EXIT_USAGE after complaining of --gpu, else 0; there may be none.
 */
int stack_targets(struct run *r, struct machine *m, struct scan_options *how, const char **from);
/* What stack check says of the root, for the machine's GPUs; EXIT_USAGE after complaining, else 0.
 */
int stack_see(struct run *r, const struct stack_root *root, struct machine *m,
	      const struct stack_view **out);
/* What stack env says; EXIT_USAGE after complaining, else 0. */
int stack_build_env(struct run *r, struct host *h, struct build_env *out, const char **from);

#endif
