/* SPDX-License-Identifier: Apache-2.0 */
/* A captured machine: its state and operations. For captured.c. */
#ifndef HOST_CAPTURED_H
#define HOST_CAPTURED_H

#include "machine/host/store.h"
#include "machine/host/resolve.h"

/* Codes in the answers map; errno values are positive, so these are apart. */
enum { LISTED = -1 };

struct captured {
	struct host host;
	struct store *store;
	bool unlisted_absent;
	struct map answers; /* path on the machine -> (void *)(intptr_t)errno or LISTED */
	struct resolver resolver;
	struct map pages;	 /* api -> json_t */
	struct map broken;	 /* api -> negative errno */
	struct overlay *overlay; /* the store, where it takes writes; NULL */
	struct map told; /* api -> json_t, of an overlay: answers that go before the pages */
	int lock_fd;	 /* -1: none */
};

extern const struct host_ops captured_ops;
/* The same with the writing half. */
extern const struct host_ops overlaid_ops;
extern const struct host_writes captured_writes;

#endif
