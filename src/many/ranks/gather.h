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
	bool talks;		/* no answers in a tree: all join rank 0, which asks them */
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
/* Instead: rank 0 returns when all are there or the time is over, the others when rank 0 has taken
 * them. -errno and *e. */
int gather_join(struct gather *g, struct err *e);
/* NULL is nothing. */
void gather_close(struct gather *g);

/* --- for talk.c ------------------------------------------------------------------------------- */

enum message {
	MESSAGE_REGISTER = 1,
	MESSAGE_WHERE,
	MESSAGE_BUNDLE,
	MESSAGE_JOIN,
	MESSAGE_ASK,
	MESSAGE_OK,
	MESSAGE_NO,
	MESSAGE_KINDS
};

struct message_in {
	enum message kind;
	unsigned rank, port; /* port: of a request and its answer its number */
	char *body;
	size_t n;
};

/* A connection that stays. */
struct talker {
	struct frames f; /* fd -1: it is not there, or gone */
	bool local;	 /* another rank of its machine came before it */
};

/* Of rank 0 each of the others'; of others rank 0's alone, as rank 0. */
struct talker *gather_talker(struct gather *g, unsigned rank);
int message_put(int fd, const struct wire_side *side, const struct message_in *m);
/* *m owns its body afterwards. */
int message_get(int fd, const struct wire_side *side, struct message_in *m);

#endif
