/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to one file of which several are under way at once, over whatever the machine allows:
 * io_uring, or threads that each wait for one. For a single thread that put requests and waits.
 */
#ifndef BENCH_DISK_QUEUE_H
#define BENCH_DISK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "measure/bench/disk_file.h"

/*
 * io_uring: one file, reads and writes of buffers that may be registered, one thread. By liburing,
 * which is opened with the first ring.
 */

struct uring;

struct uring_done {
	unsigned slot;
	int result; /* bytes, or -errno */
};

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

/* One request by the caller itself: bytes or -errno. */
int disk_transfer(int fd, const struct iovec *v, uint64_t offset, bool write);

#endif
