/* SPDX-License-Identifier: Apache-2.0 */
/* What one case of the disk bench holds while it works. */
#ifndef BENCH_DISK_LOAD_H
#define BENCH_DISK_LOAD_H

#include <sched.h>

#include "measure/bench/disk_file.h"
#include "measure/bench/disk.h"
#include "measure/bench/uring.h"

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

/*
 * Requests to one file of which several are under way at once, over whatever the machine allows:
 * io_uring, or threads that each wait for one. For a single thread that put requests and waits.
 */

struct disk_queue_ask {
	int fd;
	unsigned depth; /* at most so many under way; slots are numbered from 0 */
	size_t block;	/* bytes of each request */
	int node;	/* NUMA node of the buffers; negative: any */
	enum disk_engine engine;
};

struct disk_queue;

/* -errno and *e. */
int disk_queue_open(const struct disk_queue_ask *ask, struct disk_queue **out, struct err *e);
/* What does the work: "io_uring, registered buffers", "32 threads: the kernel has no io_uring". In
 * the queue. */
const char *disk_queue_engine(const struct disk_queue *q);
/* Slot's buffer of block bytes, aligned to 2 MiB or to the block if that is less. */
void *disk_queue_buffer(struct disk_queue *q, unsigned slot);
/* The slot must not be under way. */
void disk_queue_put(struct disk_queue *q, unsigned slot, uint64_t offset, bool write);
/*
 * Sends what was put and takes at least one completion, at most depth. 0: about a quarter of a
 * second went by without one. -errno: the engine itself failed.
 */
int disk_queue_wait(struct disk_queue *q, struct uring_done *out);
/* Memory in huge pages for requests, on that node if it can be; memory_unmap gives it back. */
int disk_buffers(size_t bytes, int node, void **out, struct err *e);
/* Waits for what is under way. */
void disk_queue_close(struct disk_queue *q);

/* Threads that read and write one block each at a time: what is left without io_uring. */

struct disk_threads;

/* n threads, one a slot. slots must outlive them. -errno and *e. */
int disk_threads_open(int fd, const struct iovec *slots, unsigned n, struct disk_threads **out,
		      struct err *e);
/* As uring_put and uring_wait. */
void disk_threads_put(struct disk_threads *t, unsigned slot, uint64_t offset, bool write);
int disk_threads_wait(struct disk_threads *t, struct uring_done *out, unsigned max);
void disk_threads_close(struct disk_threads *t);

/* One request by the caller itself: bytes or -errno. */
int disk_transfer(int fd, const struct iovec *v, uint64_t offset, bool write);

#endif
