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

#endif
