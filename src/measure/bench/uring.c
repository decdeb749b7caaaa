/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two rings that a process and the kernel share. Requests go out in batches, together with the
 * wait for the next completion: one system call for both. A time-out that is itself a request keeps
 * the wait from lasting for ever without costing each wait a timer.
 */
#include "measure/bench/uring.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "machine/host/libraries.h"

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
		return err_set(e, r, "the kernel has no io_uring, or a filter hides it");
	if (r == -EPERM || r == -EACCES)
		return err_set(e, r, "io_uring is switched off for this process");
	return err_set(e, r, "io_uring cannot be set up: %s", strerror(-r));
}

int uring_open(unsigned entries, struct uring **out, struct err *e)
{
	struct uring *u;
	int r = library_open(LIBRARY_URING, e);

	if (r)
		return r;
	u = calloc(1, sizeof(*u));
	if (!u)
		return err_set(e, -ENOMEM, "no memory for a ring");
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

void uring_close(struct uring *u)
{
	io_uring_queue_exit(&u->ring);
	free(u);
}

int uring_attach(struct uring *u, int fd, const struct iovec *slots, unsigned n)
{
	int r = io_uring_register_files(&u->ring, &fd, 1);

	u->slots = slots;
	/* Refused where little memory may be locked; then the kernel pins pages each time. */
	u->registered = r == 0 && io_uring_register_buffers(&u->ring, slots, n) == 0;
	return r;
}

bool uring_registered(const struct uring *u)
{
	return u->registered;
}

void uring_put(struct uring *u, unsigned slot, uint64_t offset, bool write)
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

int uring_wait(struct uring *u, struct uring_done *out, unsigned max)
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
