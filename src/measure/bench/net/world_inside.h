/* SPDX-License-Identifier: Apache-2.0 */
/* What world.c and world_meet.c share. Not for anybody else. */
#ifndef NET_WORLD_INSIDE_H
#define NET_WORLD_INSIDE_H

#include "measure/bench/net/handshake.h"
#include "measure/bench/net/world.h"

enum { WORLD_GRACE_MS = 3000 };

/* As rank 0 knows the others; they know rank 0 alone, as member 0. */
struct member {
	struct frames frames; /* fd -1: none */
	struct frame_join join;
	char name[WIRE_NAME_MAX + 32]; /* "rank 2 (node-b)" */
	bool there, answered;
	int gone; /* -errno of its connection */
	struct frame_done done;
};

struct world {
	unsigned rank, ranks, total;
	uint64_t cpu_ns; /* CPU time of this process when it joined */
	char over[256];	 /* why nobody is asked any more; "": it goes on */
	struct member member[WIRE_RANKS_MAX];
};

#endif
