/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between GPUs, each a rank: those of this process, and those of others that follow
 * it. What every rank has and must get, by index, so that data is checked exactly; and a watchdog,
 * because a collective that hangs is the usual fault.
 */
#ifndef BENCH_COLLECTIVE_H
#define BENCH_COLLECTIVE_H

#include <pthread.h>

#include "measure/bench/gpu_common.h"
#include "measure/bench/net/world.h"
#include "machine/cuda/nccl.h"

enum collective_op {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_SEND_RECEIVE, /* to the next rank, from the one before */
	COLLECTIVE_BROADCAST,
	COLLECTIVE_OPS
};

/* --- pure ------------------------------------------------------------------------------------- */
const char *collective_name(enum collective_op op);
/* Whether it can be done in place. */
bool collective_in_place(enum collective_op op);
/* From algorithm bandwidth (bytes over time) to what a link of a ring carries, for n ranks. */
double collective_bus_factor(enum collective_op op, size_t n);
/* "8B", "64KiB", "8GiB": powers of 1024 with a whole number before them. */
const char *collective_size_text(struct arena *a, uint64_t bytes);
bool collective_size_parse(const char *s, uint64_t *out);

/* How many bytes every rank gives and gets, when the whole is at least so many. */
struct collective_sizes {
	uint64_t total;	  /* what counts as the size */
	uint64_t segment; /* of one rank, where the whole is split; total otherwise */
	uint64_t from, to;
};
struct collective_sizes collective_sizes(enum collective_op op, uint64_t bytes, size_t n);

/* --- one process's ranks ---------------------------------------------------------------------- */
struct collective_shared {
	struct nccl nccl;
	bool open;
	bool broken; /* one had to be aborted; nothing more is asked of the library */
	bool stuck;  /* a thread still hangs in it and may look at this */
	struct gpu_places places;
	struct nccl_comm *comms[CUDA_GPUS_MAX];
	struct nccl_paths paths; /* from the start of the communicators */
	struct world *world;	 /* the other processes; NULL: there are none */
	size_t first, all;	 /* the rank of our first GPU; ranks of all processes */
};

struct collective_arg {
	enum collective_op op;
	uint64_t bytes;
	bool in_place, small;
	struct collective_shared *shared;
};

struct collective_run;

struct collective_rank {
	struct collective_run *run;
	size_t index; /* among all */
	struct gpu_place *place;
	struct nccl_comm *comm;
	struct cuda_stream *stream;
	struct cuda_event *begin, *end;
	struct cuda_module *module;
	struct cuda_function *check;
	cuda_address memory[2]; /* what was allocated */
	cuda_address from, to;	/* within it */
	cuda_address result;
	double seconds;
	struct err e;
	int r;
	pthread_t thread;
	bool started, over;
};

struct collective_run {
	const struct collective_arg *arg;
	const struct bench_env *env;
	struct collective_sizes sizes;
	struct collective_rank *ranks; /* of this process */
	size_t n;		       /* how many */
	size_t all;		       /* of all processes */
	size_t times;		       /* operations in a sample */
	bool together;		       /* one thread queues for all GPUs, in a group */
	bool stuck;		       /* threads of it still hang: its memory is theirs for ever */
	double seconds;		       /* of one operation of the last row, on the slowest rank */
	struct nccl_paths seen;	       /* in the log of the first operation */
};

/* What all ranks do at a time. */
enum collective_step {
	COLLECTIVE_CONNECT = 1, /* makes the communicators */
	COLLECTIVE_MAKE,	/* memory, streams, kernels */
	COLLECTIVE_FIRST,	/* one operation, with NCCL's log on */
	COLLECTIVE_ROW,		/* operations in a row, timed */
	COLLECTIVE_AGAIN,	/* new data, one operation */
	COLLECTIVE_CHECK,	/* what came is right */
	COLLECTIVE_PLANT,	/* a fault that was planted is found */
	COLLECTIVE_DROP,	/* gives back what was made */
	COLLECTIVE_CLOSE,	/* ends the communicators */
	COLLECTIVE_STEPS
};

/* --- collective_team.c */
/* The library, and one communicator a GPU; again at the next call when that failed. */
int collective_open(struct collective_shared *s, struct err *e);
void collective_close(struct collective_shared *s);
/* That step on every rank of every process, within its time. run->seconds is of the slowest. */
int collective_all(struct collective_run *run, enum collective_step step, struct err *e);
/* Does what rank 0 says, until it says good-bye: 0. */
int collective_follow(const struct bench_env *env, struct collective_shared *s, struct err *e);

/* --- collective_work.c */
/* The same on this process's ranks alone. */
int collective_local(struct collective_run *run, enum collective_step step, struct err *e);
double collective_limit_s(const struct collective_run *run);

/* Fills what the rank gives, and poisons what it gets. */
int collective_fill(struct collective_rank *r, struct err *e);
/* Compares what it got with what it has to be, word by word. */
int collective_check(struct collective_rank *r, struct err *e);

extern const char collective_ptx[];

#endif
