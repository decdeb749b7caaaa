/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the software that was found built for this GPU, and does it fit together? Pure: an inventory
 * and the machine's facts in, findings out.
 */
#ifndef STACK_JUDGE_H
#define STACK_JUDGE_H

#include "machine/model/machine.h"
#include "look/settings/settings.h"
#include "look/stack/inventory.h"

struct stack_finding {
	const char *id; /* "stack.nccl-version" */
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
	const struct scan_options *how; /* the GPUs; ptxas_knows is theirs */
	const char *gpus_from;
	/* True when the compiler at that path knows sm; asked of Triton's own. -errno: not seen. */
	int (*ptxas_knows)(void *ctx, const char *path, unsigned sm);
	void *ctx;
};

void stack_judge(struct arena *a, const struct stack_ask *ask, struct stack_findings *out);

/* What the rules of judge*.c share. */

struct judge {
	struct arena *a;
	const struct stack_ask *ask;
	const struct inventory *inv;
	struct stack_findings *out;
};

/* A new finding, filled by the caller; valid until the next one. */
struct stack_finding *judge_add(struct judge *j, const char *id, const char *title,
				const char *target, enum verdict_kind verdict);
/* "system", "toolkit /usr/local/cuda-13.0", "/opt/venv" */
const char *judge_place(struct judge *j, const struct stack_place *p);
const char *judge_target(struct judge *j, const struct stack_item *item);
/* What installs or renews a component there; NULL when nothing is known for this system. */
const char *judge_command(struct judge *j, enum component c, const struct stack_place *p,
			  const char *at_least);
/* 1300 for a driver of CUDA 13.0; 0: not seen. */
unsigned judge_driver_cuda(const struct judge *j);
/* The package of the driver for CUDA 13 that knows these GPUs. */
const char *judge_driver_package(const struct judge *j);
/* GB10, by platform or by the GPU that is asked about. */
bool judge_spark(const struct judge *j);

void judge_system(struct judge *j);   /* driver, toolkits */
void judge_code(struct judge *j);     /* GPU code of each library */
void judge_partners(struct judge *j); /* what has to fit together */
void judge_python(struct judge *j);   /* each environment */

#endif
