/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a process of its own: what it loads, holds and breaks goes with it. */
#ifndef HOST_APART_H
#define HOST_APART_H

#include <sys/types.h>

#include "base/text.h"

/*
 * work runs in a child with a copy of all there is; what it adds to reply comes back, at most
 * APART_MAX bytes. 0; -ETIME when it still runs after limit_ms, -EIO when it ended in another way:
 * it is gone then, and reply is empty. *cpu_us (may be NULL): CPU time it took.
 * One that a hung driver holds in the kernel cannot be ended: it stays in *stuck (0: none;
 * stuck NULL: it is left), and until it is gone no other is started: -ETIME at once.
 */
enum { APART_MAX = 1 << 20 };
int apart_run(void (*work)(void *ctx, struct text *reply), void *ctx, int limit_ms,
	      struct text *reply, pid_t *stuck, long long *cpu_us);

#endif
