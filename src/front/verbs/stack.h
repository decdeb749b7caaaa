/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of "gputune stack". */
#ifndef VERBS_STACK_H
#define VERBS_STACK_H

#include "front/session.h"
#include "look/stack/build_plan.h"
#include "look/stack/root.h"
#include "look/stack/scan.h"
#include "look/stack/page_stack.h"
#include "machine/host/command.h"
#include "measure/prove/versus.h"
#include "look/stack/library_variant.h"
#include "base/text.h"
#include "look/stack/wheelhouse.h"
#include <stdatomic.h>
#include <jansson.h>

/* Each gets the words after its name in r->args. */
int stack_wheelhouse(struct run *r);
int stack_compare(struct run *r);

/* What stack check says of the root, for the machine's GPUs; EXIT_USAGE after complaining, else 0.
 */
int stack_collect(struct run *r, const struct stack_root *root, struct machine *m,
		  const struct stack_view **out);

/* What "stack compare" and the processes that measure for it share. */

/* One window of that bench with whatever library GPUTUNE_LIB_DIR holds; a line of JSON. */
int stack_compare_one(struct run *r);

/* The process that measures one side, and what it answers. */

struct compare_process {
	char **argv, **env;
	const struct library_variant *side;
};

struct reading_figure {
	struct bench_figure is;
	double value;
};

/* What one window said. Texts live in the arena. */
struct compare_reading {
	const char *name, *setup, *variant;
	const char *library; /* that was loaded */
	double first;	     /* by its first proposal; NAN: it made none */
	struct reading_figure figures[VERSUS_FIGURES];
	size_t n;
};

/* This program with the words that measure one window of that bench, and an environment that
 * names the side's folder. -errno and *e. */
int compare_process_make(struct arena *a, const struct run *r, const char *bench,
			 const struct library_variant *side, struct compare_process *out,
			 struct err *e);
/*
 * One window. -EBADMSG: it crashed, hung, answered nothing that makes sense, or did not load that
 * side's library. -EINTR: stopped. -ENODATA: it cannot measure here, *e says why.
 */
int compare_process_run(struct arena *a, const struct compare_process *p, double limit_s,
			const atomic_bool *stop, struct compare_reading *out, struct err *e);

/* What it printed and how it ended. Errors as above. */
int compare_answer(struct arena *a, const struct library_variant *side,
		   const struct command_result *r, struct compare_reading *out, struct err *e);

/* What another machine's sftp said is there, and what is to be done about it. */

/* What is there already: names and sizes as "ls -lna" prints them, and what its manifest says, if
 * it has one. Neither is believed. */
struct over_there {
	char *list;
	struct wheelhouse house;
};

/* dir: of the wheelhouse here; place: over there. Names that sftp takes as they stand. */
struct sync_pair {
	const struct wheelhouse *h;
	const char *dir, *place;
};

/* The lines that sftp is given. */
void sync_lines(struct arena *a, const struct sync_pair *s, const struct over_there *t,
		struct text *out);

#endif
