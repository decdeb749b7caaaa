/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment for building PyTorch and what belongs to it on a machine: from what is installed
 * there and from its GPU, every line with its reason. And the flags of recipes that do nothing or
 * do harm.
 */
#ifndef STACK_BUILD_ENV_H
#define STACK_BUILD_ENV_H

#include "machine/model/machine.h"
#include "look/stack/inventory.h"

struct build_line {
	const char *name, *value;
	bool before; /* put before what the variable holds already: PATH */
	const char *reason;
};

struct build_env {
	struct build_line *lines;
	size_t n;
	const char *toolkit; /* its folder; NULL: none that knows the GPU */
	const char *missing; /* why nothing can be built, a sentence; NULL */
	const char *unseen;  /* what could not be looked at, a sentence; NULL */
	unsigned jobs;
};

void build_env_make(struct arena *a, const struct machine *m, const struct inventory *inv,
		    const struct scan_options *how, struct build_env *out);

#endif
