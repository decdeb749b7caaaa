/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in a process of its own, which answers and ends: NVML takes 20 MiB and a driver that hangs
 * takes its caller with it. For watch/ alone.
 */
#ifndef WATCH_NVML_WORKER_H
#define WATCH_NVML_WORKER_H

#include <sys/types.h>

#include "base/text.h"
#include "tune/watch/guard.h"

/*
 * work runs in a child with a copy of all there is; what it adds to reply comes back, at most
 * APART_MAX bytes. 0; -ETIME when it still runs after limit_ms, -EIO when it ended in another way:
 * it is gone then, and reply is empty. *cpu_us (may be NULL): CPU time it took.
 * One that a hung driver holds in the kernel cannot be ended: it stays in *stuck (0: none), and
 * until it is gone no other is started: -ETIME at once.
 */
enum { APART_MAX = 1 << 20 };
int nvml_worker_run(void (*work)(void *ctx, struct text *reply), void *ctx, int limit_ms,
		    struct text *reply, pid_t *stuck, long long *cpu_us);

/* Whether the item is looked at and set in a process of its own. */
bool nvml_worker_handles(const struct watcher *g, const struct watched_knob *it);
/* As item_look, of n items at once. Notes what it cost in g->apart_us. */
struct nvml_look {
	struct watched_knob *it;
	enum observation sight;
	const char *now;
};
void nvml_worker_look(struct watcher *g, struct nvml_look *const *looks, size_t n);

#endif
