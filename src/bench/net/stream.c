/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that move data. */
#include "bench/net/stream.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/net/socket.h"

/* Each on cache lines of its own. */
struct stream {
	_Alignas(128) atomic_ullong bytes;
	atomic_ullong wrong;
	atomic_int error; /* errno */
	struct streams *all;
	pthread_t thread;
	uint8_t *buffer, *pattern;
	size_t index;
	int fd;
	bool running;
};

struct streams {
	enum stream_role role;
	uint64_t test;
	uint32_t size;
	const struct idset *cpus;
	atomic_bool stop;
	bool finished; /* all threads ended well */
	size_t n;
	struct stream *one;
};

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

/* 0: go on; otherwise the thread ends, with an error unless it was told to or the other side did.
 */
static bool over(struct stream *s, ssize_t n)
{
	if (n > 0 || (n < 0 && errno == EINTR))
		return false;
	if (n < 0)
		atomic_store(&s->error, errno == EAGAIN ? ETIMEDOUT : errno);
	return true;
}

static void send_data(struct stream *s)
{
	uint64_t offset = 0;

	while (!atomic_load_explicit(&s->all->stop, memory_order_relaxed)) {
		size_t done = 0;

		stream_mark(s->buffer, s->all->test, s->index, offset);
		while (done < STREAM_BUFFER) {
			ssize_t n =
				send(s->fd, s->buffer + done, STREAM_BUFFER - done, MSG_NOSIGNAL);

			if (over(s, n))
				return;
			done += n > 0 ? (size_t)n : 0;
			atomic_store_explicit(&s->bytes, offset + done, memory_order_relaxed);
		}
		offset += STREAM_BUFFER;
	}
	shutdown(s->fd, SHUT_WR);
}

static void receive_data(struct stream *s)
{
	struct stream_check c = { .test = s->all->test, .index = s->index, .pattern = s->pattern };

	for (;;) {
		size_t at = c.seen % STREAM_BUFFER;
		ssize_t n = recv(s->fd, s->buffer + at, STREAM_BUFFER - at, 0);

		if (over(s, n))
			return;
		if (n < 0)
			continue;
		stream_check(&c, s->buffer, (size_t)n);
		atomic_store_explicit(&s->bytes, c.seen, memory_order_relaxed);
		atomic_store_explicit(&s->wrong, c.wrong, memory_order_relaxed);
	}
}

/* n bytes in or out; false when it is over. */
static bool whole(struct stream *s, bool reading, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = reading ? recv(s->fd, s->buffer + done, n - done, 0)
				    : send(s->fd, s->buffer + done, n - done, MSG_NOSIGNAL);

		if (over(s, k))
			return false;
		done += k > 0 ? (size_t)k : 0;
	}
	return true;
}

static void echo(struct stream *s)
{
	size_t n = s->all->size;

	while (whole(s, true, n)) {
		for (size_t i = 0; i < n; i++)
			s->buffer[i] = (uint8_t)~s->buffer[i];
		if (!whole(s, false, n))
			return;
		atomic_fetch_add_explicit(&s->bytes, n, memory_order_relaxed);
	}
}

static void burst(struct stream *s)
{
	for (uint64_t total = 0;;) {
		for (size_t left = s->all->size; left;) {
			size_t n = left < STREAM_BUFFER ? left : STREAM_BUFFER;

			if (!whole(s, true, n))
				return;
			left -= n;
		}
		total += s->all->size;
		atomic_store_explicit(&s->bytes, total, memory_order_relaxed);
		memcpy(s->buffer, &total, sizeof(total));
		if (!whole(s, false, sizeof(total)))
			return;
	}
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;
	static void (*const work[])(struct stream *) = { [STREAM_SENDER] = send_data,
							 [STREAM_RECEIVER] = receive_data,
							 [STREAM_ECHO] = echo,
							 [STREAM_BURST] = burst };

	pin(s->all->cpus);
	work[s->all->role](s);
	return NULL;
}

static int prepare(struct streams *s, struct stream *one)
{
	one->buffer = aligned_alloc(4096, STREAM_BUFFER);
	one->pattern = s->role == STREAM_RECEIVER ? aligned_alloc(4096, STREAM_BUFFER) : NULL;
	if (!one->buffer || (s->role == STREAM_RECEIVER && !one->pattern))
		return -ENOMEM;
	stream_fill(one->buffer, s->test, one->index);
	if (one->pattern)
		memcpy(one->pattern, one->buffer, STREAM_BUFFER);
	net_no_delay(one->fd);
	return net_blocking(one->fd, STREAM_QUIET_MS);
}

int streams_start(enum stream_role role, const int *fds, size_t n, uint64_t test, uint32_t size,
		  const struct idset *cpus, struct streams **out, struct err *e)
{
	struct streams *s = calloc(1, sizeof(*s));
	struct stream *one = aligned_alloc(_Alignof(struct stream), n * sizeof(*one));
	int r = s && one ? 0 : -ENOMEM;

	if (r) {
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		free(s);
		free(one);
		return err_set(e, r, "no memory");
	}
	*s = (struct streams){
		.role = role, .test = test, .size = size, .cpus = cpus, .n = n, .one = one
	};
	memset(one, 0, n * sizeof(*one));
	for (size_t i = 0; i < n; i++) {
		one[i].all = s;
		one[i].index = i;
		one[i].fd = fds[i];
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		r = prepare(s, &one[i]);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = -pthread_create(&one[i].thread, NULL, stream_main, &one[i]);
		one[i].running = r == 0;
	}
	if (r) {
		streams_end(s);
		return err_set(e, r, "no thread for a connection: %s", strerror(-r));
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

int streams_finish(struct streams *s)
{
	struct timespec end;
	int r = 0;

	atomic_store(&s->stop, true);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += STREAM_END_MS / 1000;
	for (size_t i = 0; i < s->n; i++) {
		struct stream *one = &s->one[i];

		if (!one->running)
			continue;
		if (pthread_timedjoin_np(one->thread, NULL, &end)) {
			shutdown(one->fd, SHUT_RDWR);
			pthread_join(one->thread, NULL);
			r = r ? r : -ETIMEDOUT;
		}
		one->running = false;
		r = r ? r : -atomic_load(&one->error);
		s->finished = r == 0;
	}
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
	for (size_t i = 0; i < s->n; i++) {
		if (graceful)
			close(s->one[i].fd);
		else
			net_drop(s->one[i].fd);
		free(s->one[i].buffer);
		free(s->one[i].pattern);
	}
	free(s->one);
	free(s);
}

int streams_fd(const struct streams *s, size_t i)
{
	return s->one[i].fd;
}

void stream_describe(int fd, char *buf)
{
	char name[16] = "?";
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(name) - 1, len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &n);
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	snprintf(buf, NET_TEXT, "%.15s, %u bytes a segment", name, info.tcpi_snd_mss);
}
