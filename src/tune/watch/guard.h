/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher at work: what its loop and its reactions share. For watch/ alone. */
#ifndef WATCH_GUARD_H
#define WATCH_GUARD_H

#include <sys/types.h>

#include "machine/host/apart.h"
#include "tune/watch/watch.h"

struct watcher {
	const struct watch *w;
	struct host *h;
	struct host *writer; /* holds the lock; NULL: nothing was written in this round */
	struct items items;
	struct arena policy_arena;
	struct policy policy;
	unsigned long long stamp; /* of the journal that was read */
	bool loaded, blind;
	size_t bad_lines; /* of the journal, when it was read last */
	/* One round: one waking up. */
	struct arena round;
	struct event *events;
	size_t n_events;
	struct who_running running;
	bool changed; /* something was seen to be not as it was */
	long long journal_due, poll_due, dear_due, busy_since;
	int quiet;  /* polls in a row that saw no change */
	int rounds; /* since the machine was opened */
	long long watchdog_due;
	pid_t stuck;	    /* such a process that does not end; 0: none */
	long long apart_us; /* CPU time that the last look in a process of its own took */
	bool ready;
	char status[160];
};

/* Sets it again when it is still what was seen. -EAGAIN: something else is going on, look again;
 * other errors: *why says what went wrong. */
int guard_reapply(struct watcher *g, struct watched_knob *it, enum observation sight,
		  const char *seen, const char **why);
/* Lets go of the lock. */
void guard_unlock(struct watcher *g);

/*
 * Work in a process of its own, which answers and ends: NVML takes 20 MiB and a driver that hangs
 * takes its caller with it: machine/host/apart.h. For watch/ alone.
 */

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
