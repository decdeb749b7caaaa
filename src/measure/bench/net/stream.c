/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, counting and ending the threads that move data. */
#include "measure/bench/net/stream.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/stat.h"
#include "measure/bench/net/socket.h"

/*
 * The bytes of a stream. A block's mark tells test, stream and offset, so that lost, doubled or
 * swapped bytes are seen at the next mark; a sample of blocks is compared whole. Looked at piece by
 * piece as they come, while they are still near.
 */

struct mark {
	uint64_t key, offset;
};

_Static_assert(sizeof(struct mark) == STREAM_MARK, "a mark");

static struct mark mark_of(uint64_t test, size_t index, uint64_t offset)
{
	return (struct mark){ test ^ (uint64_t)(index + 1) * 0x9e3779b97f4a7c15u, offset };
}

void stream_fill(uint8_t *buffer, uint64_t test)
{
	struct stat_random r = { test };

	for (size_t i = 0; i < STREAM_BUFFER; i += sizeof(uint64_t)) {
		uint64_t v = stat_random_next(&r);

		memcpy(buffer + i, &v, sizeof(v));
	}
}

void stream_mark(uint8_t *buffer, uint64_t test, size_t index, uint64_t offset)
{
	for (size_t i = 0; i < STREAM_BUFFER; i += STREAM_BLOCK) {
		struct mark m = mark_of(test, index, offset + i);

		memcpy(buffer + i, &m, sizeof(m));
	}
}

/* n bytes of one block, in bytes after its begin. */
static void pattern_look(struct stream_check *c, size_t in, const uint8_t *bytes, size_t n)
{
	size_t skip = 0;

	if (in < STREAM_MARK) {
		skip = n < STREAM_MARK - in ? n : STREAM_MARK - in;
		memcpy(c->mark + in, bytes, skip);
	}
	if (c->seen / STREAM_BLOCK % STREAM_SAMPLED == STREAM_SAMPLED - 1 &&
	    memcmp(bytes + skip, c->pattern + c->seen % STREAM_BUFFER + skip, n - skip) != 0)
		c->differs = true;
}

static void end_block(struct stream_check *c)
{
	struct mark m = mark_of(c->test, c->index, c->seen - STREAM_BLOCK);

	c->wrong += c->differs || memcmp(c->mark, &m, sizeof(m)) != 0;
	c->differs = false;
}

void stream_check(struct stream_check *c, const uint8_t *bytes, size_t n)
{
	while (n) {
		size_t in = c->seen % STREAM_BLOCK, most = STREAM_BLOCK - in,
		       k = n < most ? n : most;

		pattern_look(c, in, bytes, k);
		c->seen += k;
		if (k == most)
			end_block(c);
		bytes += k;
		n -= k;
	}
}

static bool bulk(enum stream_role role)
{
	return role == STREAM_SENDER || role == STREAM_RECEIVER;
}

/*
 * Half of the CPUs: the other half is for the kernel's side of the work, or for the other side when
 * it is the same machine. More threads than CPUs take turns, and a turn costs more than a call.
 */
static size_t stream_how_many(enum stream_role role, size_t n, const struct idset *cpus)
{
	cpu_set_t set;
	size_t have = 1;

	if (!bulk(role))
		return n;
	if (cpus)
		have = idset_count(cpus);
	else if (sched_getaffinity(0, sizeof(set), &set) == 0)
		have = (size_t)CPU_COUNT(&set);
	have = have / 2 ? have / 2 : 1;
	return have < n ? have : n;
}

static int stream_prepare(struct streams *s, struct stream *one)
{
	one->check = (struct stream_check){ .test = s->test,
					    .index = one->index,
					    .pattern = s->pattern };
	/* A stream has no message that ends with a call: full segments are what it wants. */
	net_no_delay(one->fd, !bulk(s->role));
	return net_blocking(one->fd, STREAM_QUIET_MS);
}

static int stream_start(struct streams *s, struct stream_thread *t)
{
	int r;

	t->buffer = aligned_alloc(4096, STREAM_BUFFER);
	if (!t->buffer)
		return -ENOMEM;
	stream_fill(t->buffer, s->test);
	r = -pthread_create(&t->id, NULL, stream_work, t);
	t->running = r == 0;
	return r;
}

/* Closes what it was given when there is no memory. */
static struct streams *streams_new(const int *fds, size_t n, size_t threads)
{
	struct streams *s = calloc(1, sizeof(*s));
	struct stream *one = aligned_alloc(_Alignof(struct stream), n * sizeof(*one));
	struct stream_thread *t = calloc(threads, sizeof(*t));
	uint8_t *pattern = aligned_alloc(4096, STREAM_BUFFER);

	if (!s || !one || !t || !pattern) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		free(s);
		free(one);
		free(t);
		free(pattern);
		return NULL;
	}
	*s = (struct streams){
		.n = n, .threads = threads, .one = one, .thread = t, .pattern = pattern
	};
	memset(one, 0, n * sizeof(*one));
	for (size_t i = 0; i < n; i++) {
		one[i].index = i;
		one[i].fd = fds[i];
	}
	for (size_t i = 0; i < threads; i++) {
		t[i].all = s;
		t[i].first = i;
	}
	return s;
}

int streams_start(enum stream_role role, const int *fds, size_t n, uint64_t test, uint32_t size,
		  const struct idset *cpus, struct streams **out, struct err *e)
{
	struct streams *s = streams_new(fds, n, stream_how_many(role, n, cpus));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->role = role;
	s->test = test;
	s->size = size;
	s->cpus = cpus;
	stream_fill(s->pattern, test);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = stream_prepare(s, &s->one[i]);
	for (size_t i = 0; r == 0 && i < s->threads; i++)
		r = stream_start(s, &s->thread[i]);
	if (r) {
		streams_end(s);
		return err_set(e, r, "cannot create a thread for a connection: %s", strerror(-r));
	}
	*out = s;
	return 0;
}

void streams_count(const struct streams *s, struct frame_counts *out)
{
	struct tcp_info info;

	out->bytes = out->wrong = out->retransmits = 0;
	for (size_t i = 0; i < s->n; i++) {
		socklen_t len = sizeof(info);

		out->bytes += atomic_load_explicit(&s->one[i].bytes, memory_order_relaxed);
		out->wrong += atomic_load_explicit(&s->one[i].wrong, memory_order_relaxed);
		memset(&info, 0, sizeof(info));
		if (getsockopt(s->one[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
			out->retransmits += info.tcpi_total_retrans;
	}
	out->at_ns = net_now_ns();
}

int streams_error(const struct streams *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (atomic_load(&s->one[i].error))
			return -atomic_load(&s->one[i].error);
	return 0;
}

/* By force when it takes too long. */
static int stream_join(struct streams *s, struct stream_thread *t, const struct timespec *end)
{
	int r = 0;

	if (!t->running)
		return 0;
	if (pthread_timedjoin_np(t->id, NULL, end)) {
		for (size_t i = t->first; i < s->n; i += s->threads)
			shutdown(s->one[i].fd, SHUT_RDWR);
		pthread_join(t->id, NULL);
		r = -ETIMEDOUT;
	}
	t->running = false;
	return r;
}

int streams_finish(struct streams *s)
{
	struct timespec end;
	bool ran = false;
	int r = 0;

	atomic_store(&s->stop, true);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += STREAM_END_MS / 1000;
	for (size_t i = 0; i < s->threads; i++) {
		int k;

		ran |= s->thread[i].running;
		k = stream_join(s, &s->thread[i], &end);
		r = r ? r : k;
	}
	r = r ? r : streams_error(s);
	s->finished = ran ? r == 0 : s->finished;
	return r;
}

void streams_end(struct streams *s)
{
	bool graceful;

	if (!s)
		return;
	/* What a sender has sent may still be on its way. */
	graceful = s->role == STREAM_SENDER && s->finished;
	for (size_t i = 0; i < s->n && !graceful; i++)
		shutdown(s->one[i].fd, SHUT_RDWR);
	streams_finish(s);
	for (size_t i = 0; i < s->n; i++)
		if (graceful)
			close(s->one[i].fd);
		else
			net_drop(s->one[i].fd);
	for (size_t i = 0; i < s->threads; i++)
		free(s->thread[i].buffer);
	free(s->pattern);
	free(s->thread);
	free(s->one);
	free(s);
}

int streams_fd(const struct streams *s, size_t i)
{
	return s->one[i].fd;
}

double stream_segment(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) || !info.tcpi_snd_mss)
		return 1448;
	return info.tcpi_snd_mss;
}

void stream_describe(int fd, char *buf)
{
	char name[16] = "?";
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(name) - 1, len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &n);
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	snprintf(buf, NET_TEXT, "%.15s, %u bytes per segment", name, info.tcpi_snd_mss);
}

/*
 * The loops that move data. Senders and receivers never block in a call on one connection while
 * another could go on: they wait for all of theirs at once.
 */

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

/* --- many connections a thread ---------------------------------------------------------------- */

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
static size_t stream_gather(const struct stream_thread *t, short events, struct pollfd *p,
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
static bool stream_await(struct pollfd *p, struct stream **of, size_t n)
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
	       (n = stream_gather(t, events, p, of)) > 0 && (flows || stream_await(p, of, n))) {
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

/* --- one connection a thread ------------------------------------------------------------------ */

/* n bytes in or out; false when it is over. */
static bool stream_whole(const struct stream_thread *t, bool reading, size_t n)
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

	while (stream_whole(t, true, n)) {
		for (size_t i = 0; i < n; i++)
			t->buffer[i] = (uint8_t)~t->buffer[i];
		if (!stream_whole(t, false, n))
			return;
		atomic_fetch_add_explicit(&s->bytes, n, memory_order_relaxed);
	}
}

static void stream_burst(struct stream_thread *t)
{
	struct stream *s = &t->all->one[t->first];

	for (uint64_t total = 0;;) {
		for (size_t left = t->all->size; left;) {
			size_t n = left < STREAM_BUFFER ? left : STREAM_BUFFER;

			if (!stream_whole(t, true, n))
				return;
			left -= n;
		}
		total += t->all->size;
		atomic_store_explicit(&s->bytes, total, memory_order_relaxed);
		memcpy(t->buffer, &total, sizeof(total));
		if (!stream_whole(t, false, sizeof(total)))
			return;
	}
}

void *stream_work(void *arg)
{
	static void (*const work[])(struct stream_thread *) = { [STREAM_SENDER] = send_data,
								[STREAM_RECEIVER] = receive_data,
								[STREAM_ECHO] = echo,
								[STREAM_BURST] = stream_burst };
	struct stream_thread *t = arg;

	pin(t->all->cpus);
	work[t->all->role](t);
	return NULL;
}
