/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one measurement, on one machine or several: rank 0 leads and says what all do,
 * the others do it and answer. Every connection is either one whose other end the kernel vouches
 * for (same machine, same user) or one whose other end has proven that it knows the token. No wait
 * is without an end, and who vanishes is named. Knows nothing of what is measured.
 */
#ifndef NET_WORLD_H
#define NET_WORLD_H

#include "base/arena.h"
#include "measure/bench/net/meet.h"
#include "measure/bench/net/serve.h"

enum { WORLD_JOIN_S = 60, WORLD_QUIET_S = 300 };

struct world_ask {
	unsigned rank, ranks; /* 2 to WIRE_RANKS_MAX */
	/* All are on this machine: they meet at a socket of this name. NULL: at address. */
	const char *job;
	struct meet meet; /* without a job */
	double limit_s;	  /* for all to come; 0: WORLD_JOIN_S */
	const atomic_bool *stop;
};

/* Where a launcher's processes meet. token_file: NULL on one machine. -EINVAL and *e. */
int world_ask_of(const struct ranks *r, const char *token_file, struct world_ask *out,
		 struct err *e);

struct world;

/*
 * Waits until all are there. own: rank and ranks are taken from ask. Rank 0 fails, and tells the
 * others why, when one does not come, cannot take part (gpus or nccl is 0: its text says why), has
 * another version of gputune or NCCL, or drives a GPU that another one drives already.
 */
int world_open(const struct world_ask *ask, const struct frame_join *own, struct world **out,
	       struct err *e);
/* Says good-bye where that still can be. NULL is nothing. */
void world_close(struct world *w);
bool world_leads(const struct world *w);
unsigned world_total(const struct world *w); /* GPUs of all; rank 0 alone knows */
size_t world_machines(const struct world *w);
/* "4 processes on 2 machines"; "rank 0: box GPU 0; rank 1: ..." */
const char *world_text(struct arena *a, const struct world *w);
const char *world_placement(struct arena *a, const struct world *w);

/* Without waiting: rank 0: one of the others is gone or failed; else: rank 0 is gone. */
bool world_trouble(struct world *w);

/* --- rank 0 ----------------------------------------------------------------------------------- */
/* To all; first and total of it are filled in for each. */
int world_command(struct world *w, const struct frame_order *o, struct err *e);
/* All answers. out: the slowest time, all flags, the longest text of those that went well. -errno
 * and *e with the name of who failed; after -ECONNRESET and -ETIME the world is over. */
int world_gather(struct world *w, double limit_s, const char *what, struct frame_done *out,
		 struct err *e);
/* CPU seconds that the other processes on this machine have taken since they joined, as each last
 * said. */
double world_near_cpu_s(const struct world *w);
/* Nobody is asked anything any more: connections are closed, so that others stop waiting. */
void world_break(struct world *w, const char *why);

/* --- the others ------------------------------------------------------------------------------- */
/* 1: good-bye. */
int world_next(struct world *w, struct frame_order *out, struct err *e);
int world_answer(struct world *w, const struct frame_done *d, struct err *e);

/* --- meeting on one machine ------------------------------------------------------------------- */
/* A socket of that name in the kernel's own name space, of this user. A descriptor or -errno. */
int world_listen_local(const char *job, struct err *e);
/* A caller that is of the same user (job) or has proven the token: FATE_TAKEN, and what is sent and
 * got over its connection. */
enum fate world_admit(const char *job, const struct token *t, struct caller *c, struct opening *o,
		      struct frames *out);
/* The same from the other end: local NULL: at that address. -errno and *e. */
int world_call(const char *local, const struct net_address *at, const struct token *t,
	       const char *who, const struct net_wait *dial, const struct net_wait *shake,
	       struct frames *out, struct err *e);
/* What proves nothing more where the user is known. */
extern const struct token world_no_secret;

/* For world.c alone. */

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
	char over[256];	 /* why no more ranks are asked; "": it goes on */
	struct member member[WIRE_RANKS_MAX];
};

#endif
