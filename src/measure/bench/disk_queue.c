/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to one file, several under way: by io_uring, or by threads that each wait for one. */
#include "measure/bench/disk_queue.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "machine/host/libraries.h"
#include "measure/bench/memory_latency.h"

/*
 * The two rings that a process and the kernel share. Requests go out in batches, together with the
 * wait for the next completion: one system call for both. A time-out that is itself a request keeps
 * the wait from lasting for ever without costing each wait a timer.
 */

/* Newer than the headers of some distributions. */
#ifndef IORING_SETUP_COOP_TASKRUN
#define IORING_SETUP_COOP_TASKRUN (1U << 8)
#endif
#ifndef IORING_SETUP_SINGLE_ISSUER
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#endif

/* More requests than this wait for no others: a device that is done with one should have the next.
 */
enum { TICK_NS = 250000000, TICK = 0x7fffffff, BATCH = 4 };

struct uring {
	struct io_uring ring;
	const struct iovec *slots;
	bool registered, ticking;
	struct __kernel_timespec tick;
};

/* Completions only when we ask for them, so that no interrupt sends the thread to work; as much of
 * that as the kernel knows. */
static int setup_ring(unsigned entries, struct io_uring *ring)
{
	static const unsigned flags[] = { IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
					  IORING_SETUP_COOP_TASKRUN, 0 };
	int r = -EINVAL;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && r == -EINVAL; i++) {
		struct io_uring_params p = { .flags = flags[i] };

		r = io_uring_queue_init_params(entries, ring, &p);
	}
	return r;
}

static int refused(int r, struct err *e)
{
	if (r == -ENOSYS)
		return err_set(e, r, "the kernel has no io_uring, or a filter blocks it");
	if (r == -EPERM || r == -EACCES)
		return err_set(e, r, "io_uring is disabled for this process");
	return err_set(e, r, "cannot set up io_uring: %s", strerror(-r));
}

/* A ring for so many requests at once, used only by the thread that opens it. -errno: io_uring is
 * refused or too old; *e says which. */
static int uring_open(unsigned entries, struct uring **out, struct err *e)
{
	struct uring *u;
	int r = library_open(LIBRARY_URING, e);

	if (r)
		return r;
	u = heap_array(1, sizeof(*u));
	u->tick.tv_nsec = TICK_NS;
	/* One more, for the tick. */
	r = setup_ring(entries + 1, &u->ring);
	if (r) {
		free(u);
		return refused(r, e);
	}
	*out = u;
	return 0;
}

/* Nothing may be under way. */
static void uring_close(struct uring *u)
{
	io_uring_queue_exit(&u->ring);
	free(u);
}

/* One buffer a slot. Registers file and buffers where that is allowed; the last must outlive the
 * ring. -errno: not even the file. */
static int uring_attach(struct uring *u, int fd, const struct iovec *slots, unsigned n)
{
	int r = io_uring_register_files(&u->ring, &fd, 1);

	u->slots = slots;
	/* Refused where little memory may be locked; then the kernel pins pages each time. */
	u->registered = r == 0 && io_uring_register_buffers(&u->ring, slots, n) == 0;
	return r;
}

static bool uring_registered(const struct uring *u)
{
	return u->registered;
}

/* Prepares a request on slot's whole buffer; uring_wait hands it over. Every slot has at most one
 * under way. */
static void uring_put(struct uring *u, unsigned slot, uint64_t offset, bool write)
{
	/* The ring has an entry for every slot. */
	struct io_uring_sqe *s = io_uring_get_sqe(&u->ring);
	const struct iovec *v = &u->slots[slot];
	unsigned n = (unsigned)v->iov_len;

	/* File number 0 of one. */
	if (u->registered && write)
		io_uring_prep_write_fixed(s, 0, v->iov_base, n, offset, (int)slot);
	else if (u->registered)
		io_uring_prep_read_fixed(s, 0, v->iov_base, n, offset, (int)slot);
	else if (write)
		io_uring_prep_write(s, 0, v->iov_base, n, offset);
	else
		io_uring_prep_read(s, 0, v->iov_base, n, offset);
	s->flags = IOSQE_FIXED_FILE;
	s->user_data = slot;
	/* A refusal is met again, and told, by the next wait. */
	if (io_uring_sq_ready(&u->ring) >= BATCH)
		io_uring_submit(&u->ring);
}

static void put_tick(struct uring *u)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&u->ring);

	io_uring_prep_timeout(s, &u->tick, 0, 0);
	s->user_data = TICK;
	u->ticking = true;
}

static unsigned uring_take(struct uring *u, struct uring_done *out, unsigned max, bool *ticked)
{
	struct io_uring_cqe *c;
	unsigned head, seen = 0, n = 0;

	io_uring_for_each_cqe(&u->ring, head, c)
	{
		if (n == max)
			break;
		seen++;
		if (c->user_data == TICK) {
			u->ticking = false;
			*ticked = true;
			continue;
		}
		out[n++] = (struct uring_done){ (unsigned)c->user_data, c->res };
	}
	io_uring_cq_advance(&u->ring, seen);
	return n;
}

/*
 * Hands over what was prepared, waits for at least one completion and takes up to max. 0: about a
 * quarter of a second went by without one. -errno: the ring itself failed.
 */
static int uring_wait(struct uring *u, struct uring_done *out, unsigned max)
{
	bool ticked = false;
	unsigned n;
	int r;

	do {
		if (!u->ticking)
			put_tick(u);
		r = io_uring_submit_and_wait(&u->ring, 1);
		if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY)
			return r;
		n = uring_take(u, out, max, &ticked);
	} while (!n && !ticked);
	return (int)n;
}

/* --- threads ---------------------------------------------------------------------------------- */
/* A list of requests that wait and one of those that are done, under one lock. */

enum { WAIT_NS = 250000000, STACK = 128 << 10 };

struct request {
	unsigned slot;
	uint64_t offset;
	bool write;
};

struct disk_threads {
	int fd;
	const struct iovec *slots;
	unsigned n, started;
	pthread_t *threads;
	pthread_mutex_t lock;
	pthread_cond_t more, done;
	struct request *waiting; /* a ring of n */
	unsigned first, n_waiting;
	struct uring_done *finished;
	unsigned n_finished;
	bool end;
};

int disk_transfer(int fd, const struct iovec *v, uint64_t offset, bool write)
{
	ssize_t r;

	do
		r = write ? pwrite(fd, v->iov_base, v->iov_len, (off_t)offset)
			  : pread(fd, v->iov_base, v->iov_len, (off_t)offset);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : (int)r;
}

static void *thread_main(void *arg)
{
	struct disk_threads *t = arg;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct request r;
		int result;

		while (!t->n_waiting && !t->end)
			pthread_cond_wait(&t->more, &t->lock);
		if (!t->n_waiting)
			break;
		r = t->waiting[t->first];
		t->first = (t->first + 1) % t->n;
		t->n_waiting--;
		pthread_mutex_unlock(&t->lock);
		result = disk_transfer(t->fd, &t->slots[r.slot], r.offset, r.write);
		pthread_mutex_lock(&t->lock);
		t->finished[t->n_finished++] = (struct uring_done){ r.slot, result };
		pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int threads_start(struct disk_threads *t)
{
	pthread_attr_t attr;
	int r = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (; t->started < t->n && r == 0; t->started += r == 0)
		r = pthread_create(&t->threads[t->started], &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	return -r;
}

static void disk_threads_close(struct disk_threads *t)
{
	pthread_mutex_lock(&t->lock);
	t->end = true;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->started; i++)
		pthread_join(t->threads[i], NULL);
	pthread_cond_destroy(&t->more);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t->threads);
	free(t->waiting);
	free(t->finished);
	free(t);
}

static int disk_threads_open(int fd, const struct iovec *slots, unsigned n,
			     struct disk_threads **out, struct err *e)
{
	struct disk_threads *t = heap_array(1, sizeof(*t));
	pthread_condattr_t clock;
	int r;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, NULL);
	pthread_cond_init(&t->done, &clock);
	pthread_condattr_destroy(&clock);
	t->fd = fd;
	t->slots = slots;
	t->n = n;
	t->threads = heap_array(n, sizeof(*t->threads));
	t->waiting = heap_array(n, sizeof(*t->waiting));
	t->finished = heap_array(n, sizeof(*t->finished));
	r = threads_start(t);
	if (r) {
		err_set(e, r, "only %u of %u threads could be started", t->started, n);
		disk_threads_close(t);
		return r;
	}
	*out = t;
	return 0;
}

static void disk_threads_put(struct disk_threads *t, unsigned slot, uint64_t offset, bool write)
{
	pthread_mutex_lock(&t->lock);
	t->waiting[(t->first + t->n_waiting++) % t->n] = (struct request){ slot, offset, write };
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
}

static int disk_threads_wait(struct disk_threads *t, struct uring_done *out, unsigned max)
{
	struct timespec until;
	unsigned n;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&t->lock);
	while (!t->n_finished && r == 0)
		r = pthread_cond_timedwait(&t->done, &t->lock, &until);
	for (n = 0; n < max && t->n_finished; n++)
		out[n] = t->finished[--t->n_finished];
	pthread_mutex_unlock(&t->lock);
	return (int)n;
}

/* --- the queue -------------------------------------------------------------------------------- */
/* Buffers, and the choice of who does the work. */

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
		return err_set(e, r, "io_uring does not accept the file");
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

static int disk_queue_start(struct disk_queue *q, enum disk_engine engine, struct err *e)
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
	struct disk_queue *q = heap_array(1, sizeof(*q));
	enum { ROUND = 2 << 20 };
	void *buffers = NULL;
	int r;

	q->fd = ask->fd;
	q->depth = ask->depth;
	q->bytes = (ask->depth * ask->block + ROUND - 1) / ROUND * ROUND;
	q->slots = heap_array(ask->depth, sizeof(*q->slots));
	q->drained = heap_array(ask->depth, sizeof(*q->drained));
	r = disk_buffers(q->bytes, ask->node, &buffers, e);
	if (r == 0) {
		q->buffers = buffers;
		for (unsigned i = 0; i < q->depth; i++)
			q->slots[i] = (struct iovec){ q->buffers + i * ask->block, ask->block };
		r = disk_queue_start(q, ask->engine, e);
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
