/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the software that was found built for this GPU, and does it fit together? Pure: an inventory
 * and the machine's facts in, findings out.
 */
#ifndef STACK_JUDGE_H
#define STACK_JUDGE_H

#include "machine/model/machine.h"
#include "look/settings/settings.h"
#include "look/defects/page.h"
#include "look/stack/inventory.h"

struct stack_finding {
	const char *id; /* "stack.gpu-code" */
	const char *title;
	const char *target; /* place and component: "/opt/venv: NCCL" */
	enum verdict_kind verdict;
	bool serious;	     /* of a FAIL: it does not work, rather than works slowly */
	const char *current; /* NULL: nothing there */
	const char *wanted;
	const char *reason; /* a sentence */
	const char *source;
	const char *from;    /* where it was read */
	const char *command; /* mends it; NULL */
};

struct stack_findings {
	struct stack_finding *items;
	size_t n;
	size_t count[4]; /* by verdict_kind */
};

struct stack_ask {
	const struct machine *m;
	const struct inventory *inv;
	const struct scan_options *how; /* the GPUs */
	const char *gpus_from;
	const struct defects_view *known; /* defects that were looked for; NULL */
};

void stack_judge(struct arena *a, const struct stack_ask *ask, struct stack_findings *out);

#endif
