/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops that move data. Senders and receivers never block in a call on one connection while
 * another could go on: they wait for all of theirs at once.
 */
#include "measure/bench/net/stream_work.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

static void pin(const struct idset *cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (!cpus)
		return;
	IDSET_FOR_EACH (id, cpus)
		if (id < CPU_SETSIZE)
			CPU_SET(id, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* --- many connections a thread ------------------------------------------------------------------
 */

/* What a call that moved nothing means: wait, or it is over; with an error unless the other side
 * has ended it in order. */
static void nothing(struct stream *s, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		atomic_store(&s->error, errno);
	s->over = true;
}

/* One call; what is left of a buffer goes with the next. True: it took all, and may take more. */
static bool send_some(const struct stream_thread *t, struct stream *s)
{
	size_t done = s->sent % STREAM_BUFFER;
	ssize_t n;

	stream_mark(t->buffer, t->all->test, s->index, s->sent - done);
	n = send(s->fd, t->buffer + done, STREAM_BUFFER - done, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0) {
		nothing(s, n);
		return false;
	}
	s->sent += (size_t)n;
	atomic_store_explicit(&s->bytes, s->sent, memory_order_relaxed);
	return s->sent % STREAM_BUFFER == 0;
}

/* A buffer's worth, in pieces as they come. True: it was all there, and there may be more. */
static bool receive_some(const struct stream_thread *t, struct stream *s)
{
	struct stream_check *c = &s->check;
	size_t done = 0;

	while (done < STREAM_BUFFER) {
		ssize_t n = recv(s->fd, t->buffer, STREAM_BUFFER - done, MSG_DONTWAIT);

		if (n <= 0) {
			nothing(s, n);
			break;
		}
		done += (size_t)n;
		stream_check(c, t->buffer, (size_t)n);
	}
	atomic_store_explicit(&s->bytes, c->seen, memory_order_relaxed);
	atomic_store_explicit(&s->wrong, c->wrong, memory_order_relaxed);
	return done == STREAM_BUFFER;
}

/* The thread's connections that still go on. */
static size_t gather(const struct stream_thread *t, short events, struct pollfd *p,
		     struct stream **of)
{
	const struct streams *all = t->all;
	size_t n = 0;

	for (size_t i = t->first; i < all->n; i += all->threads)
		if (!all->one[i].over) {
			of[n] = &all->one[i];
			p[n++] = (struct pollfd){ all->one[i].fd, events, events };
		}
	return n;
}

/* Which of them can go on; false: none within the time limit, or the kernel cannot tell. */
static bool await(struct pollfd *p, struct stream **of, size_t n)
{
	int r;

	do
		r = poll(p, (nfds_t)n, STREAM_QUIET_MS);
	while (r < 0 && errno == EINTR);
	if (r > 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		atomic_store(&of[i]->error, r < 0 ? errno : ETIMEDOUT);
		of[i]->over = true;
	}
	return false;
}

/* A buffer of each connection that can go on, in turns; the kernel is asked which only when one of
 * them stopped short. */
static void take_turns(struct stream_thread *t, short events,
		       bool (*some)(const struct stream_thread *, struct stream *))
{
	struct pollfd p[WIRE_STREAMS_MAX];
	struct stream *of[WIRE_STREAMS_MAX];
	bool flows = false;
	size_t n;

	/* A receiver goes on until the other side has ended it. */
	while ((events == POLLIN || !atomic_load_explicit(&t->all->stop, memory_order_relaxed)) &&
	       (n = gather(t, events, p, of)) > 0 && (flows || await(p, of, n))) {
		flows = true;
		for (size_t i = 0; i < n; i++)
			flows &= p[i].revents && some(t, of[i]);
	}
}

static void send_data(struct stream_thread *t)
{
	struct streams *all = t->all;

	take_turns(t, POLLOUT, send_some);
	for (size_t i = t->first; i < all->n; i += all->threads)
		if (!all->one[i].over)
			shutdown(all->one[i].fd, SHUT_WR);
}

static void receive_data(struct stream_thread *t)
{
	take_turns(t, POLLIN, receive_some);
}

/* --- one connection a thread --------------------------------------------------------------------
 */

/* n bytes in or out; false when it is over. */
static bool whole(const struct stream_thread *t, bool reading, size_t n)
{
	struct stream *s = &t->all->one[t->first];

	for (size_t done = 0; done < n;) {
		ssize_t k = reading ? recv(s->fd, t->buffer + done, n - done, 0)
				    : send(s->fd, t->buffer + done, n - done, MSG_NOSIGNAL);

		if (k > 0) {
			done += (size_t)k;
			continue;
		}
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			atomic_store(&s->error, errno == EAGAIN ? ETIMEDOUT : errno);
		return false;
	}
	return true;
}

static void echo(struct stream_thread *t)
{
	struct stream *s = &t->all->one[t->first];
	size_t n = t->all->size;

	while (whole(t, true, n)) {
		for (size_t i = 0; i < n; i++)
			t->buffer[i] = (uint8_t)~t->buffer[i];
		if (!whole(t, false, n))
			return;
		atomic_fetch_add_explicit(&s->bytes, n, memory_order_relaxed);
	}
}

static void burst(struct stream_thread *t)
{
	struct stream *s = &t->all->one[t->first];

	for (uint64_t total = 0;;) {
		for (size_t left = t->all->size; left;) {
			size_t n = left < STREAM_BUFFER ? left : STREAM_BUFFER;

			if (!whole(t, true, n))
				return;
			left -= n;
		}
		total += t->all->size;
		atomic_store_explicit(&s->bytes, total, memory_order_relaxed);
		memcpy(t->buffer, &total, sizeof(total));
		if (!whole(t, false, sizeof(total)))
			return;
	}
}

void *stream_work(void *arg)
{
	static void (*const work[])(struct stream_thread *) = { [STREAM_SENDER] = send_data,
								[STREAM_RECEIVER] = receive_data,
								[STREAM_ECHO] = echo,
								[STREAM_BURST] = burst };
	struct stream_thread *t = arg;

	pin(t->all->cpus);
	work[t->all->role](t);
	return NULL;
}
