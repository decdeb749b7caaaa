/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, and the choice of who does the work. */
#include "measure/bench/disk_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/bench/disk_threads.h"
#include "measure/bench/memory_map.h"

struct disk_queue {
	int fd;
	unsigned depth, under_way;
	size_t bytes; /* of all buffers */
	char *buffers;
	struct iovec *slots;
	struct uring *ring;
	struct disk_threads *threads;
	/* Without either: the request that waits. */
	unsigned slot;
	uint64_t offset;
	bool write;
	struct uring_done *drained;
	char engine[128];
};

static int start_ring(struct disk_queue *q, struct err *e)
{
	int r = uring_open(q->depth, &q->ring, e);

	if (r)
		return r;
	r = uring_attach(q->ring, q->fd, q->slots, q->depth);
	if (r) {
		uring_close(q->ring);
		q->ring = NULL;
		return err_set(e, r, "io_uring does not take the file");
	}
	snprintf(q->engine, sizeof(q->engine), "io_uring, %s buffers",
		 uring_registered(q->ring) ? "registered" : "unregistered");
	return 0;
}

static int start_threads(struct disk_queue *q, const char *why, struct err *e)
{
	snprintf(q->engine, sizeof(q->engine), "%u threads%s%.90s", q->depth, *why ? ": " : "",
		 why);
	return disk_threads_open(q->fd, q->slots, q->depth, &q->threads, e);
}

static int start(struct disk_queue *q, enum disk_engine engine, struct err *e)
{
	struct err why = { 0 };

	if (engine == ENGINE_PLAIN) {
		snprintf(q->engine, sizeof(q->engine), "one thread");
		return 0;
	}
	if (engine == ENGINE_BEST && start_ring(q, &why) == 0)
		return 0;
	return start_threads(q, why.text, e);
}

int disk_buffers(size_t bytes, int node, void **out, struct err *e)
{
	int r = memory_map(bytes, PAGES_HUGE, node, out, e);

	/* A container may forbid to choose the node; elsewhere is slower, not wrong. */
	return r && node >= 0 ? memory_map(bytes, PAGES_HUGE, -1, out, e) : r;
}

int disk_queue_open(const struct disk_queue_ask *ask, struct disk_queue **out, struct err *e)
{
	struct disk_queue *q = calloc(1, sizeof(*q));
	enum { ROUND = 2 << 20 };
	void *buffers = NULL;
	int r;

	if (!q)
		return err_set(e, -ENOMEM, "no memory for requests");
	q->fd = ask->fd;
	q->depth = ask->depth;
	q->bytes = (ask->depth * ask->block + ROUND - 1) / ROUND * ROUND;
	q->slots = calloc(ask->depth, sizeof(*q->slots));
	q->drained = calloc(ask->depth, sizeof(*q->drained));
	if (!q->slots || !q->drained) {
		disk_queue_close(q);
		return err_set(e, -ENOMEM, "no memory for requests");
	}
	r = disk_buffers(q->bytes, ask->node, &buffers, e);
	if (r == 0) {
		q->buffers = buffers;
		for (unsigned i = 0; i < q->depth; i++)
			q->slots[i] = (struct iovec){ q->buffers + i * ask->block, ask->block };
		r = start(q, ask->engine, e);
	}
	if (r)
		disk_queue_close(q);
	else
		*out = q;
	return r;
}

const char *disk_queue_engine(const struct disk_queue *q)
{
	return q->engine;
}

void *disk_queue_buffer(struct disk_queue *q, unsigned slot)
{
	return q->slots[slot].iov_base;
}

void disk_queue_put(struct disk_queue *q, unsigned slot, uint64_t offset, bool write)
{
	q->under_way++;
	if (q->ring) {
		uring_put(q->ring, slot, offset, write);
	} else if (q->threads) {
		disk_threads_put(q->threads, slot, offset, write);
	} else {
		q->slot = slot;
		q->offset = offset;
		q->write = write;
	}
}

int disk_queue_wait(struct disk_queue *q, struct uring_done *out)
{
	int n = 1;

	if (q->ring)
		n = uring_wait(q->ring, out, q->depth);
	else if (q->threads)
		n = disk_threads_wait(q->threads, out, q->depth);
	else
		out[0] = (struct uring_done){ q->slot, disk_transfer(q->fd, &q->slots[q->slot],
								     q->offset, q->write) };
	if (n > 0)
		q->under_way -= (unsigned)n;
	return n;
}

void disk_queue_close(struct disk_queue *q)
{
	/* The kernel may still write into buffers of requests that are under way. */
	while (q->under_way && (q->ring || q->threads))
		if (disk_queue_wait(q, q->drained) < 0)
			break;
	if (q->ring)
		uring_close(q->ring);
	if (q->threads)
		disk_threads_close(q->threads);
	memory_unmap(q->buffers, q->bytes);
	free(q->slots);
	free(q->drained);
	free(q);
}
