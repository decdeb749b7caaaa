/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two rings that a process and the kernel share. Requests go out in batches, together with the
 * wait for the next completion: one system call for both. A time-out that is itself a request keeps
 * the wait from lasting for ever without costing each wait a timer.
 */
#include "measure/bench/uring.h"

#include <errno.h>
#include <string.h>

#if __has_include(<linux/io_uring.h>)

#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	int fd, file;
	unsigned *sq_head, *sq_tail, *cq_head, *cq_tail;
	unsigned sq_mask, cq_mask, tail, queued;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	void *rings;
	size_t rings_bytes, sqes_bytes;
	const struct iovec *slots;
	bool registered, ticking;
	struct __kernel_timespec tick;
};

/* Completions only when we ask for them, so that no interrupt sends the thread to work; as much of
 * that as the kernel knows. */
static int setup_ring(unsigned entries, struct io_uring_params *p)
{
	static const unsigned flags[] = { IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
					  IORING_SETUP_COOP_TASKRUN, 0 };
	int fd = -1;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		memset(p, 0, sizeof(*p));
		p->flags = flags[i];
		fd = (int)syscall(SYS_io_uring_setup, entries, p);
		if (fd >= 0 || errno != EINVAL)
			break;
	}
	return fd >= 0 ? fd : -errno;
}

static int map_rings(struct uring *u, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned),
	       cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	unsigned *array;
	char *base;

	if (!(p->features & IORING_FEAT_SINGLE_MMAP))
		return -ENOSYS;
	u->rings_bytes = sq > cq ? sq : cq;
	u->sqes_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	u->rings = mmap(NULL, u->rings_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			u->fd, IORING_OFF_SQ_RING);
	u->sqes = mmap(NULL, u->sqes_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       u->fd, IORING_OFF_SQES);
	if (u->rings == MAP_FAILED || (void *)u->sqes == MAP_FAILED)
		return -errno;
	base = u->rings;
	u->sq_head = (unsigned *)(base + p->sq_off.head);
	u->sq_tail = (unsigned *)(base + p->sq_off.tail);
	u->sq_mask = *(unsigned *)(base + p->sq_off.ring_mask);
	u->cq_head = (unsigned *)(base + p->cq_off.head);
	u->cq_tail = (unsigned *)(base + p->cq_off.tail);
	u->cq_mask = *(unsigned *)(base + p->cq_off.ring_mask);
	u->cqes = (struct io_uring_cqe *)(base + p->cq_off.cqes);
	/* Entries are handed over in the order of their places. */
	array = (unsigned *)(base + p->sq_off.array);
	for (unsigned i = 0; i < p->sq_entries; i++)
		array[i] = i;
	return 0;
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
	struct uring *u = calloc(1, sizeof(*u));
	struct io_uring_params p;
	int r;

	if (!u)
		return err_set(e, -ENOMEM, "no memory for a ring");
	u->rings = MAP_FAILED;
	u->sqes = MAP_FAILED;
	u->tick.tv_nsec = TICK_NS;
	/* One more, for the tick. */
	u->fd = setup_ring(entries + 1, &p);
	r = u->fd < 0 ? u->fd : map_rings(u, &p);
	if (r) {
		uring_close(u);
		return refused(r, e);
	}
	*out = u;
	return 0;
}

void uring_close(struct uring *u)
{
	if (u->rings != MAP_FAILED)
		munmap(u->rings, u->rings_bytes);
	if ((void *)u->sqes != MAP_FAILED)
		munmap(u->sqes, u->sqes_bytes);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

static int ring_register(struct uring *u, unsigned what, const void *arg, unsigned n)
{
	return syscall(SYS_io_uring_register, u->fd, what, arg, n) ? -errno : 0;
}

int uring_attach(struct uring *u, int fd, const struct iovec *slots, unsigned n)
{
	int r = ring_register(u, IORING_REGISTER_FILES, &fd, 1);

	u->file = fd;
	u->slots = slots;
	/* Refused where little memory may be locked; then the kernel pins pages each time. */
	u->registered = r == 0 && ring_register(u, IORING_REGISTER_BUFFERS, slots, n) == 0;
	return r;
}

bool uring_registered(const struct uring *u)
{
	return u->registered;
}

static struct io_uring_sqe *next_entry(struct uring *u)
{
	struct io_uring_sqe *s = &u->sqes[u->tail++ & u->sq_mask];

	u->queued++;
	memset(s, 0, sizeof(*s));
	return s;
}

/* A refusal is met again, and told, by the next wait. */
static void submit(struct uring *u)
{
	long r;

	__atomic_store_n(u->sq_tail, u->tail, __ATOMIC_RELEASE);
	r = syscall(SYS_io_uring_enter, u->fd, u->queued, 0, 0, NULL, 0);
	if (r > 0)
		u->queued -= (unsigned)r;
}

void uring_put(struct uring *u, unsigned slot, uint64_t offset, bool write)
{
	struct io_uring_sqe *s = next_entry(u);
	const struct iovec *v = &u->slots[slot];

	if (u->registered)
		s->opcode = write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
	else
		s->opcode = write ? IORING_OP_WRITE : IORING_OP_READ;
	s->flags = IOSQE_FIXED_FILE; /* number 0 of one */
	s->off = offset;
	s->addr = (uint64_t)(uintptr_t)v->iov_base;
	s->len = (unsigned)v->iov_len;
	s->buf_index = u->registered ? (uint16_t)slot : 0;
	s->user_data = slot;
	if (u->queued >= BATCH)
		submit(u);
}

static void put_tick(struct uring *u)
{
	struct io_uring_sqe *s = next_entry(u);

	s->opcode = IORING_OP_TIMEOUT;
	s->fd = -1;
	s->addr = (uint64_t)(uintptr_t)&u->tick;
	s->len = 1;
	s->user_data = TICK;
	u->ticking = true;
}

static unsigned take(struct uring *u, struct uring_done *out, unsigned max, bool *ticked)
{
	unsigned head = *u->cq_head, tail = __atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE), n = 0;

	for (; head != tail && n < max; head++) {
		const struct io_uring_cqe *c = &u->cqes[head & u->cq_mask];

		if (c->user_data == TICK) {
			u->ticking = false;
			*ticked = true;
			continue;
		}
		out[n++] = (struct uring_done){ (unsigned)c->user_data, c->res };
	}
	__atomic_store_n(u->cq_head, head, __ATOMIC_RELEASE);
	return n;
}

int uring_wait(struct uring *u, struct uring_done *out, unsigned max)
{
	bool ticked = false;
	unsigned n;

	for (;;) {
		long r;

		if (!u->ticking)
			put_tick(u);
		__atomic_store_n(u->sq_tail, u->tail, __ATOMIC_RELEASE);
		r = syscall(SYS_io_uring_enter, u->fd, u->queued, 1, IORING_ENTER_GETEVENTS, NULL,
			    0);
		if (r < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY)
			return -errno;
		if (r > 0)
			u->queued -= (unsigned)r;
		n = take(u, out, max, &ticked);
		if (n || ticked)
			return (int)n;
	}
}

#else

int uring_open(unsigned entries, struct uring **out, struct err *e)
{
	(void)entries;
	(void)out;
	return err_set(e, -ENOSYS, "this program was built without io_uring");
}

int uring_attach(struct uring *u, int fd, const struct iovec *slots, unsigned n)
{
	(void)u;
	(void)fd;
	(void)slots;
	(void)n;
	return -ENOSYS;
}

bool uring_registered(const struct uring *u)
{
	(void)u;
	return false;
}

void uring_put(struct uring *u, unsigned slot, uint64_t offset, bool write)
{
	(void)u;
	(void)slot;
	(void)offset;
	(void)write;
}

int uring_wait(struct uring *u, struct uring_done *out, unsigned max)
{
	(void)u;
	(void)out;
	(void)max;
	return -ENOSYS;
}

void uring_close(struct uring *u)
{
	(void)u;
}

#endif
