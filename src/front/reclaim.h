/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up page cache, once: what CUDA and engines count as used while it is there. Bounded in
 * bytes and time, measured, and not to be undone: what was dropped is read again when it is needed.
 */
#ifndef FRONT_RECLAIM_H
#define FRONT_RECLAIM_H

#include "base/err.h"
#include "machine/host/host.h"

enum { RECLAIM_LIMIT_S = 60 };

struct reclaim {
	long long want_kb; /* that are to be free */
	bool swap;	   /* the machine has some: programs must not go there */
	/* --- found */
	long long before_kb, after_kb; /* that were free */
	double took_s;
	size_t steps;
	const char *why; /* why it ended before the target was free: a sentence; NULL */
};

/* 0, also where less is free in the end (why). -errno and *e: nothing was released. */
int reclaim_cache(struct host *h, struct reclaim *r, struct err *e);

/* A figure of /proc/meminfo ("MemFree:"), in KiB; -1: it cannot be read. */
long long meminfo_kb(struct host *h, const char *key);

#endif
