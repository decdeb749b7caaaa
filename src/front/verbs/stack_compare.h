/* SPDX-License-Identifier: Apache-2.0 */
/* What "stack compare" and the processes that measure for it share. */
#ifndef VERBS_STACK_COMPARE_H
#define VERBS_STACK_COMPARE_H

#include <stdatomic.h>

#include "front/verbs/bench.h"
#include "front/verbs/stack.h"
#include "front/verbs/cmd.h"
#include "machine/host/command.h"
#include "measure/prove/versus.h"
#include "look/stack/side.h"

/* One window of that bench with whatever library GPUTUNE_LIB_DIR holds; a line of JSON. */
int stack_compare_one(struct run *r);
/* How the names begin of the library that a bench measures ("libcublasLt.so."); NULL: none. */
const char *stack_compare_prefix(const char *bench);

/* The process that measures one side, and what it answers. */

struct compare_process {
	char **argv, **env;
	const struct stack_side *side;
};

/* What one window said. Texts live in the arena. */
struct compare_reading {
	const char *name, *setup, *variant;
	size_t n;
	struct bench_figure figures[VERSUS_FIGURES];
	double value[VERSUS_FIGURES];
};

/* This program with the words that measure one window of that bench, and an environment that
 * names the side's folder. -errno and *e. */
int compare_process_make(struct arena *a, const struct run *r, const char *bench,
			 const struct stack_side *side, struct compare_process *out, struct err *e);
/*
 * One window. -EBADMSG: it crashed, hung, answered nothing that makes sense, or did not load that
 * side's library. -EINTR: stopped. -ENODATA: it cannot measure here, *e says why.
 */
int compare_process_run(struct arena *a, const struct compare_process *p, double limit_s,
			const atomic_bool *stop, struct compare_reading *out, struct err *e);

/* --- stack_compare_answer.c ------------------------------------------------------------------ */

/* What it printed and how it ended. Errors as above. */
int compare_answer(struct arena *a, const struct stack_side *side, const struct command_result *r,
		   struct compare_reading *out, struct err *e);

#endif
