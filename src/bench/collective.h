/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between the GPUs of one machine: one process, one thread a GPU, each a rank. What
 * every rank has and must get, by index, so that data is checked exactly; and a watchdog, because
 * a collective that hangs is the usual fault.
 */
#ifndef BENCH_COLLECTIVE_H
#define BENCH_COLLECTIVE_H

#include <pthread.h>

#include "bench/gpu_common.h"
#include "cuda/nccl.h"

enum collective_op {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_SEND_RECEIVE, /* to the next rank, from the one before */
	COLLECTIVE_BROADCAST,
	COLLECTIVE_OPS
};

/* --- pure ---------------------------------------------------------------------------------------
 */
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

/* --- one machine's ranks ------------------------------------------------------------------------
 */
struct collective_shared {
	struct nccl nccl;
	bool open;
	bool broken; /* one had to be aborted; nothing more is asked of the library */
	struct gpu_places places;
	struct nccl_comm *comms[CUDA_GPUS_MAX];
	struct nccl_paths paths; /* from the start of the communicators */
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
	size_t index;
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
	struct collective_sizes sizes;
	struct collective_rank *ranks;
	size_t n;
	size_t times; /* operations in a sample */
	bool stuck;   /* threads of it still hang: its memory is theirs for ever */
	char *variant;
};

/* The library, and one communicator a GPU; again at the next call when that failed. */
int collective_open(struct collective_shared *s, double limit_s, struct err *e);
/* Ends the communicators. */
void collective_close(struct collective_shared *s);
/*
 * work on every rank at once, in threads of their own. When they are not over after limit_s
 * seconds, all communicators are aborted: -ETIME, and which ranks hung. The first error of any.
 */
int collective_each(struct collective_run *run, void (*work)(struct collective_rank *r),
		    double limit_s, const char *what, struct err *e);
/* Queues one operation. */
int collective_queue(struct collective_rank *r, struct err *e);
/* Fills what the rank gives, and poisons what it gets. */
int collective_fill(struct collective_rank *r, struct err *e);
/* Compares what it got with what it has to be, word by word. */
int collective_check(struct collective_rank *r, struct err *e);

void collective_cases(const struct bench_env *env, struct bench_cases *out);

extern const char collective_ptx[];

#endif
