/* SPDX-License-Identifier: Apache-2.0 */
/* What the sub-verbs of stack and the report look at: for which GPUs, and what is installed. */
#ifndef VERBS_STACK_LOOK_H
#define VERBS_STACK_LOOK_H

#include "look/stack/page_stack.h"
#include "look/stack/root.h"
#include "verbs/door.h"

/* --gpu. */
struct gpu_ask {
	const char *gpu;
};
extern const struct ask_shape gpu_ask_shape;

/* The GPUs to judge for: those of the ask, or of the machine (m; NULL where the ask names some).
 * *from says in words where they come from. 0, or as answers; there may be none. */
int stack_targets(struct door *d, const struct gpu_ask *ask, const struct machine *m,
		  struct scan_options *how, const char **from);

struct stack_look {
	struct gpu_ask gpus;
	const char *envs;   /* folders, comma-separated; NULL: those that are found */
	const char *rootfs; /* what root is called; NULL: the machine */
	bool deep, all;
};
/* What stack check says of the root, for the machine's GPUs: 0, or as answers. */
int stack_collect(struct door *d, const struct stack_root *root, struct machine *m,
		  const struct stack_look *what, struct stack_view *out);
/* What stack env says of the machine, without the flags of this shell: 0, or as answers. */
int stack_build_env(struct door *d, struct host *h, const struct gpu_ask *gpus,
		    struct build_env *out);

#endif
