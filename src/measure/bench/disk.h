/* SPDX-License-Identifier: Apache-2.0 */
/* The disk bench's cases, and one case at work. */
#ifndef BENCH_DISK_H
#define BENCH_DISK_H

#include <sched.h>

#include "measure/bench/disk_file.h"
#include "measure/bench/disk_place.h"
#include "measure/bench/disk_queue.h"

/* What all cases of one call have in common. The file is made when the first of them needs it. */
struct disk_shared {
	struct disk_place place;
	struct disk_direct direct;
	struct disk_file file;
	struct idset cpus;
	struct bench_limit limit;
	enum disk_engine engine; /* ENGINE_BEST; tests ask for another */
	uint64_t bytes;
};

struct disk_arg {
	bool write, random, buffered;
	size_t block;
	unsigned depth;
	struct disk_shared *shared;
};

/* Figures, in this order. */
enum { DISK_RATE, DISK_IOPS, DISK_P50, DISK_CPU, DISK_FIGURES };

/* What one case holds while it works. */
struct disk_slot {
	uint64_t offset;
	int64_t since; /* ns */
	bool held;     /* the buffer holds what was read */
};

struct disk_load {
	const struct disk_arg *arg;
	struct disk_file *file;
	struct disk_queue *q;
	struct disk_slot *slots;
	struct uring_done *done;
	uint8_t *busy; /* blocks that a write is under way to */
	uint64_t blocks, cursor, random;
	unsigned under_way;
	const atomic_bool *stop;
	int64_t window_ns, at_ns, skipped_ns; /* at: up to here everything is counted */
	double cpu_s, skipped_cpu_s;
	struct histogram times; /* of one window */
	uint64_t bytes, requests, wrong;
	struct err first_wrong;
	uint64_t *kept; /* where the last writes went */
	size_t kept_max, n_kept;
	cpu_set_t *cpus_before;
	bool blind; /* what the page cache held before could not be seen */
};

#endif
