/* SPDX-License-Identifier: Apache-2.0 */
/* The live machine: what live.c (looking) and live_write.c (changing) share, in provider.c. */
#ifndef HOST_LIVE_H
#define HOST_LIVE_H

#include "machine/host/ask.h"

enum { LIVE_PROVIDERS = 19 };

struct live {
	struct host host;
	void *state[LIVE_PROVIDERS];
	int lock_fd;	 /* -1: none */
	int own_fd;	 /* the folder of the lock, from when it was found to be ours; -1: none */
	const char *own; /* its path */
};

/* What a path is looked up from: a file in the folder of the lock is one in that very folder,
 * whatever its name leads to by now. *path is made relative to what is returned. */
int live_at(const struct host *h, const char **path);

/* The provider of that name and its state; NULL when there is none. */
const struct provider *live_provider(struct live *l, const char *api, void ***state);
void live_close_providers(struct live *l);

extern const struct host_writes live_writes;

#endif
