/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching over what gputune set: notices that a setting is not ours any more, says so, and sets it
 * again where the policy asks for it, so seldom that it never fights. Undoes nothing, ever; adds
 * nothing to the journal.
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "tune/watch/event.h"

struct watch {
	/* Opens the machine; called again now and then, and for every bout of writing, which holds
	 * the lock that apply and undo hold. */
	struct host *(*open)(void *ctx, struct err *e);
	void *ctx;
	struct source *source;
	struct reporter *reporter;
	const char *policy_file;
	int reaction;	       /* enum reaction, for everything; -1: what the policy says */
	long long interval_ms; /* 0: what the policy says */
	const char *const *only;
	size_t n_only;
	bool once;	       /* one look */
	bool apart;	       /* GPUs are asked by a process of its own, which ends */
	int notify_fd;	       /* the service manager; -1: none */
	long long watchdog_ms; /* how often the service manager has to hear from us; 0: never */
};

struct watch_sum {
	size_t watched;
	size_t state[ITEM_STATES]; /* by enum item_state */
	bool blind;		   /* the journal could not be read */
	size_t bad_lines;	   /* of the journal that could not be read */
};

/* Until it is stopped. -EINVAL and *e: the policy is wrong; other errors: the machine cannot
 * be opened. */
int watch_run(const struct watch *w, struct watch_sum *out, struct err *e);

#endif
