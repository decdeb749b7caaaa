/* SPDX-License-Identifier: Apache-2.0 */
/* What one case of the disk bench holds while it works. */
#ifndef BENCH_DISK_LOAD_H
#define BENCH_DISK_LOAD_H

#include <sched.h>

#include "measure/bench/disk.h"

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

/* Takes what is done until nothing is under way. -errno and *e. */
int disk_drain(struct disk_load *s, struct err *e);

#endif
