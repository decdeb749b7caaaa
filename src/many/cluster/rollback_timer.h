/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a node's network back when nobody confirms it: a timer of systemd's, or where that does not
 * run a process of its own, which outlives the node program, its connection and its session. Both
 * run "gputune cluster rollback" when the time is over. Who removes the claim file decides: the
 * node program that confirms, or the timer that fires; never both.
 */
#ifndef CLUSTER_ROLLBACK_TIMER_H
#define CLUSTER_ROLLBACK_TIMER_H

#include <sys/types.h>

#include "tune/txn/txn.h"

#define DEADMAN_DIR "/run/gputune"
#define DEADMAN_CLAIM DEADMAN_DIR "/take-back"
#define DEADMAN_DECIDED DEADMAN_DIR "/decided" /* the same, by the node program that confirms */

enum { DEADMAN_LEAST_S = 3, DEADMAN_MOST_S = 600, DEADMAN_S = 60 };

struct rollback_timer {
	pid_t child; /* 0: a timer */
	char unit[64];
	int limit_s;
};
/* "a systemd timer" or "a process of its own". */
const char *rollback_timer_how(const struct rollback_timer *d);

/* From now on what is open is taken back after limit_s, unless it is disarmed before. -EBUSY: one
 * is armed already. -errno and *e: nothing was armed. */
int rollback_timer_arm(struct host *h, struct arena *a, int limit_s, struct rollback_timer *out,
		       struct err *e);
/* From now on the caller decides: the timer acts only should this process end before
 * rollback_timer_end. -ESTALE and *e: it has fired, and takes back what was open. */
int rollback_timer_decide(struct host *h, struct err *e);
/* He is not needed any more, decided or not. */
void rollback_timer_end(struct host *h, struct arena *a, struct rollback_timer *d);

struct rollback_report {
	bool fired;	  /* false: there was nothing to take back */
	size_t recovered; /* transactions */
};
/*
 * What runs when the time is over: ends the node program if it is still there, rolls back what it
 * left open and has the owners of the links read their files again. 0, or as txn_recover; also when
 * nothing is armed.
 */
int rollback_timer_fire(struct host *h, struct arena *a, const struct txn_who *who,
			struct rollback_report *out, struct err *e);

/* The words with which systemd is asked for the timer, ended by NULL. Pure. */
char *const *rollback_timer_timer(struct arena *a, const char *unit, const char *program,
				  int limit_s);

#endif
