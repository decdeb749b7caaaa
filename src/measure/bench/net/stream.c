/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, counting and ending the threads that move data. */
#include "measure/bench/net/stream.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/net/socket.h"
#include "measure/bench/net/stream_work.h"

static bool bulk(enum stream_role role)
{
	return role == STREAM_SENDER || role == STREAM_RECEIVER;
}

/*
 * Half of the CPUs: the other half is for the kernel's side of the work, or for the other side when
 * it is the same machine. More threads than CPUs take turns, and a turn costs more than a call.
 */
static size_t how_many(enum stream_role role, size_t n, const struct idset *cpus)
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

static int prepare(struct streams *s, struct stream *one)
{
	one->check = (struct stream_check){ .test = s->test,
					    .index = one->index,
					    .pattern = s->pattern };
	/* A stream has no message that ends with a call: full segments are what it wants. */
	net_no_delay(one->fd, !bulk(s->role));
	return net_blocking(one->fd, STREAM_QUIET_MS);
}

static int start(struct streams *s, struct stream_thread *t)
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
	struct streams *s = streams_new(fds, n, how_many(role, n, cpus));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->role = role;
	s->test = test;
	s->size = size;
	s->cpus = cpus;
	stream_fill(s->pattern, test);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = prepare(s, &s->one[i]);
	for (size_t i = 0; r == 0 && i < s->threads; i++)
		r = start(s, &s->thread[i]);
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

/* By force when it takes too long. */
static int join(struct streams *s, struct stream_thread *t, const struct timespec *end)
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
		k = join(s, &s->thread[i], &end);
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
	snprintf(buf, NET_TEXT, "%.15s, %u bytes a segment", name, info.tcpi_snd_mss);
}
