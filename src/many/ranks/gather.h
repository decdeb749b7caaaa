/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank of a launcher found, brought to rank 0 in a tree: a rank takes what those below it
 * send, and sends all of it to the one above. Every connection proves the token, or is of the same
 * machine and user. No wait is without an end: who does not come is missing from the bundle, and
 * one whose parent does not answer sends to rank 0.
 */
#ifndef RANKS_GATHER_H
#define RANKS_GATHER_H

#include "machine/host/ranks.h"
#include "many/ranks/bundle.h"
#include "measure/bench/net/handshake.h"

enum { GATHER_FAN = 32, GATHER_S = 60 };

struct gather_ask {
	const struct ranks *ranks;
	const char *token_file; /* NULL: as meet.h says */
	double limit_s;		/* for all to answer; 0: GATHER_S */
	const atomic_bool *stop;
	/* What is wrong with an answer, for people; NULL: not called. */
	void (*report)(void *ctx, const char *line);
	void *ctx;
};

struct gather;

/* Before the work: others can find this rank from now on. -errno and *e. */
int gather_open(const struct gather_ask *ask, struct gather **out, struct err *e);
/*
 * After it, with its own answer in b: rank 0 returns when all have answered or the time is over;
 * the others when what they have is with the rank above. -errno and *e: nobody took it.
 */
int gather_finish(struct gather *g, struct bundle *b, struct err *e);
/* NULL is nothing. */
void gather_close(struct gather *g);

#endif
