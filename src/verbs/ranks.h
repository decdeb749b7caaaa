/* SPDX-License-Identifier: Apache-2.0 */
/* A verb that looks, in the processes that a launcher started: each at its own machine. */
#ifndef VERBS_RANKS_H
#define VERBS_RANKS_H

#include "machine/host/ranks.h"
#include "many/fleet/fleet.h"
#include "verbs/door.h"

/* --ranks, --token, --ranks-wait. */
struct ranks_ask {
	unsigned ranks;
	const char *token;
	double wait_s;
};
/* The second without --token, where that is of a bench. */
extern const struct ask_shape ranks_ask_shape, ranks_bench_shape;

struct verb_ranks;
struct rank_member;
struct qualify;
struct qualify_how;

/* Which rank this is, before it looks. talks: all are asked by rank 0, by verb_ranks_qualify. *out
 * NULL: it is alone. 0, or as answers. */
int verb_ranks_begin(struct door *d, const struct ranks_ask *ask, bool talks,
		     struct verb_ranks **out);
/* Whether this process answers that together with others of its job. */
bool verb_ranks_there(struct arena *a, const struct verb *v, const void *ask);
/* Rank 0, or alone. */
bool verb_ranks_leads(const struct verb_ranks *v);
/*
 * What the verb answers, as answers; by its ranks, if it has some: rank 0 has *all with the exit
 * code of it, where missing ranks are refused, the others ANSWERED_ELSEWHERE. *all NULL: alone.
 */
int verb_answer_by_ranks(struct door *d, const struct verb *v, const void *ask, void *answer,
			 struct fleet **all);
/* Rank 0 leads: 0 and *out. Others: ANSWERED_ELSEWHERE when it is done, or as answers. */
int verb_ranks_qualify(struct door *d, struct verb_ranks *v, struct rank_member *m,
		       const struct qualify_how *how, struct qualify *out);
void verb_ranks_close(struct verb_ranks *v);

#endif
