/* SPDX-License-Identifier: Apache-2.0 */
/* Running one program and keeping what it prints. Knows nothing of which programs may be run. */
#ifndef HOST_COMMAND_H
#define HOST_COMMAND_H

#include <stddef.h>

#include "base/arena.h"

struct command_result {
	int status;	    /* exit status, or 128 + signal */
	const char *output; /* what it wrote to its standard output, in the arena */
};

/*
 * Runs argv by argument vector, without a shell, from /usr/sbin, /usr/bin, /sbin or /bin whatever
 * this process's own PATH says, with an environment of PATH and LC_ALL=C, no input, and its errors
 * discarded. -ENOENT when none of the folders has it; -ETIME when it still runs after limit_ms,
 * -EFBIG when it prints more than max bytes: it and its children are killed then. out is untouched
 * on failure.
 */
int command_run(struct arena *a, char *const *argv, int limit_ms, size_t max,
		struct command_result *out);

#endif
