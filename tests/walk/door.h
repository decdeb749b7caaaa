/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the program and the simulated machine: one thing may happen at one operation of a run.
 * Operations are counted from the moment the lock is taken; what comes before only looks.
 */
#ifndef WALK_DOOR_H
#define WALK_DOOR_H

#include "machine/host/host.h"

enum happening {
	HAPPENS_NOTHING,
	HAPPENS_EIO,	   /* the operation is refused */
	HAPPENS_ENOSPC,	   /* a write is refused */
	HAPPENS_EIO_LATE,  /* it is done, and an error is answered */
	HAPPENS_KILL,	   /* the process ends before it */
	HAPPENS_KILL_LATE, /* and after it */
	HAPPENS_POWER,	   /* the power goes while it is under way */
	HAPPENS_RIVAL,	   /* somebody writes just before it */
	HAPPENINGS,
};

struct door_plan {
	enum happening what;
	size_t at;     /* the first is 1 */
	unsigned dice; /* chooses among what a disk may have kept */
	void (*rival)(void *ctx, struct host *h);
	void *ctx;
};

/* Of hosts that are opened from now on. */
void door_arm(struct door_plan plan);
/* Owns inner. */
struct host *door_open(struct host *inner);
/* What was armed has come to pass. */
bool door_happened(void);
/* Whoever opens it from now on may not read the journal. */
void door_as_user(bool is);
/* Where a run goes on whose process ended: set by setjmp. */
#include <setjmp.h>
extern jmp_buf door_end;

#endif
