/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   int simulate_write(struct host *h, const char *api, const char *object, const char *field,
 *                    const struct answer *value, simulate_set *set, void *ctx);
 *
 * What a captured machine does after a write: what the device answers from then on,
 * what it refuses, what else changes with it. It stands in for the providers of the live machine,
 * so that plans can be tried on captures.
 */
#ifndef HOST_SIMULATOR_H
#define HOST_SIMULATOR_H

#include "machine/host/host.h"

/* This question answers value from now on; NULL: what the capture itself says. Has to be in force
 * for host_ask(h, ...) when it returns. */
typedef void simulate_set(void *ctx, const char *api, const char *object, const char *field,
			  const struct answer *value);

/*
 * 0: taken, and set was called for everything that answers differently now, the written question
 * itself included; a service's links and control group were made or removed through h. A negative
 * errno: refused as the device would, and nothing changed. h is the machine that takes the writes.
 */
int simulate_write(struct host *h, const char *api, const char *object, const char *field,
		   const struct answer *value, simulate_set *set, void *ctx);

/* What the kernel makes of a write to one of its text files: for machines that are only captured.
 */

struct kernel_file {
	struct host *h; /* for what stands beside it */
	struct arena *a;
	const char *path;
	const char *old; /* its text before */
	const char *now; /* out: its text afterwards, white space as it was */
};

/* Another file that the write changes: 0 or a negative errno. */
typedef int kernel_file_beside(void *ctx, const char *path, const char *text);

/* 0, or what write(2) would fail with: -EINVAL for a word that is not offered, for text where
 * numbers stand, for what the kernel never takes. */
int kernel_file_write(struct kernel_file *f, const char *text, kernel_file_beside *beside,
		      void *ctx);

#endif
