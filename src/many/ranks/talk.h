/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a launcher as the nodes of a qualification: rank 0 asks all, itself included; the others
 * answer until it is done or gone.
 */
#ifndef RANKS_TALK_H
#define RANKS_TALK_H

#include "many/ranks/gather.h"
#include "many/ranks/member.h"

struct talk {
	struct arena *a;
	struct gather *g;
	unsigned ranks;
	struct channel channel; /* its nodes: the first rank of each machine */
	unsigned *of;		/* their ranks */
	const char **names;	/* to be filled in */
	struct rank_member *own;
	json_t *kept;	   /* answers */
	const char **gone; /* by rank: why it is not asked any more; NULL: it is */
	unsigned number;
};

/* Rank 0, when all have joined or are late; with one rank g is NULL. */
void talk_begin(struct arena *a, struct gather *g, const struct ranks *r, struct rank_member *own,
		struct talk *out);
void talk_end(struct talk *t);

/* The others: until rank 0 closes. 0, or -errno. */
int talk_follow(struct gather *g, struct rank_member *m);

#endif
