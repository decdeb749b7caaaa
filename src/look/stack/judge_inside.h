/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of judge*.c share. */
#ifndef STACK_JUDGE_INSIDE_H
#define STACK_JUDGE_INSIDE_H

#include "look/stack/judge.h"

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
