/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a request takes that needs a connection of its own, with the handshake first and with
 * the request in its first packet (TCP fast open).
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/list.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/sysctl.h"

/* Over a long path so many would take seconds: then a window is what fits into its time. */
enum { WINDOW = 50, WINDOW_MS = 250, WINDOW_LEAST = 8, SMALL_WINDOW = 5 };

struct connects {
	const struct net_arg *arg;
	struct peer peer;
	uint64_t count, fast;
	double us[WINDOW];
};

static void connects_teardown(void *state)
{
	struct connects *s = state;

	peer_close(&s->peer);
	free(s);
}

static int connects_setup(const struct bench_env *env, const struct bench_case *c, void **state,
			  const char **variant, struct err *e)
{
	struct connects *s = calloc(1, sizeof(*s));
	struct peer_ask ask = { .token_file = env->ask.token, .stop = env->stop };
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->arg = c->arg;
	ask.address = s->arg->place.peer;
	r = peer_open(&ask, &s->peer, e);
	r = r ? r : peer_start(&s->peer, &s->arg->test, e);
	r = r ? r : peer_ready(&s->peer, e);
	if (r) {
		connects_teardown(s);
		return r;
	}
	*variant = !s->arg->fast_open		? "handshake, then request"
		   : !(sysctl_fast_open() & 1)	? "fast open asked for, not allowed here "
						  "(net.ipv4.tcp_fastopen)"
		   : !s->peer.started.fast_open ? "fast open asked for, not allowed there "
						  "(net.ipv4.tcp_fastopen)"
						: "fast open";
	*state = s;
	return 0;
}

/* The request leaves with the first packet, where that is asked for and goes. */
static int connect_and_send(const struct connects *s, int fd, const uint8_t *bytes)
{
	const struct net_address *to = &s->peer.address;
	ssize_t n;

	if (s->arg->fast_open) {
		n = sendto(fd, bytes, WIRE_OPENING, MSG_FASTOPEN | MSG_NOSIGNAL,
			   (const struct sockaddr *)&to->ss, to->len);
		if (n >= 0 || errno != EOPNOTSUPP)
			return n == WIRE_OPENING ? 0 : n < 0 ? -errno : -EIO;
	}
	if (connect(fd, (const struct sockaddr *)&to->ss, to->len))
		return -errno;
	n = send(fd, bytes, WIRE_OPENING, MSG_NOSIGNAL);
	return n == WIRE_OPENING ? 0 : n < 0 ? -errno : -EIO;
}

static bool went_fast(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	       (info.tcpi_options & TCPI_OPT_SYN_DATA);
}

static int one_connect(struct connects *s, double *us)
{
	struct opening o = { .kind = OPENING_REQUEST,
			     .version = WIRE_VERSION,
			     .index = (uint32_t)s->count,
			     .test = s->peer.test },
		       answer;
	uint8_t bytes[WIRE_OPENING], back[WIRE_OPENING];
	int fd = socket(s->peer.address.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
	uint64_t begin;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	opening_seal(&o, s->peer.key);
	opening_write(&o, bytes);
	net_no_delay(fd, true);
	r = net_blocking(fd, PEER_DIAL_MS);
	begin = net_now_ns();
	r = r ? r : connect_and_send(s, fd, bytes);
	if (r == 0)
		n = recv(fd, back, sizeof(back), MSG_WAITALL);
	*us = (double)(net_now_ns() - begin) / 1e3;
	if (r == 0 && n != WIRE_OPENING)
		r = n < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -ECONNRESET;
	r = r ? r : opening_read(back, &answer);
	if (r == 0 && (answer.kind != OPENING_REPLY || answer.index != o.index ||
		       memcmp(answer.secret, o.secret, WIRE_SECRET) != 0))
		r = -EBADMSG;
	s->fast += r == 0 && went_fast(fd);
	s->count++;
	net_drop(fd);
	return r == -EINPROGRESS ? -ETIMEDOUT : r;
}

static int connects_run(void *state, struct bench_sample *out, struct err *e)
{
	struct connects *s = state;
	size_t most = s->arg->small ? SMALL_WINDOW : WINDOW, n = 0;
	uint64_t fast = s->fast, end = net_now_ns() + WINDOW_MS * 1000000ull;

	for (; n < most && (n < WINDOW_LEAST || net_now_ns() < end); n++) {
		int r = one_connect(s, &s->us[n]);

		if (r)
			return peer_fail(&s->peer, r, "connecting", e);
		if (out->observed)
			histogram_add(out->observed, s->us[n] * 1e3);
		if (s->peer.frames.stop && atomic_load(s->peer.frames.stop))
			return err_set(e, -EINTR, "interrupted");
	}
	stat_sort(s->us, n);
	out->value[0] = stat_quantile(s->us, n, 0.5);
	out->value[1] = stat_quantile(s->us, n, 0.9);
	out->value[2] = 100 * (double)(s->fast - fast) / (double)n;
	return 0;
}

static int connects_verify(void *state, struct err *e)
{
	struct connects *s = state;
	struct peer_counts counts;
	int r;

	peer_finishing(&s->peer);
	r = peer_stop(&s->peer, &counts, e);

	if (r)
		return r;
	if (counts.c.bytes != s->count)
		return err_set(e, -EPROTO, "%llu connections were made here, %llu arrived there",
			       (unsigned long long)s->count, (unsigned long long)counts.c.bytes);
	return 0;
}

static void connects_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct frame_start_test t = { .kind = TEST_CONNECT, .streams = 1 };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	for (int fast = 0; fast < 2; fast++)
		net_case_add(env, out, &p, fast ? "fast-open" : "handshake",
			     "64 bytes there and back on a connection of their own, which is then "
			     "reset",
			     &t, fast);
}

static const struct bench_figure figures[] = {
	{ "p50", "until answered, median of a window", "us", "us", BENCH_LOWER },
	{ "p90", "90th percentile of a window", "us", "us", BENCH_LOWER },
	{ "fast", "requests that left with the first packet", "percent", "%", BENCH_HIGHER },
};

const struct bench bench_tcp_connect = {
	.name = "tcp-connect",
	.title = "how long a request takes that needs a new connection",
	.method =
		"A new connection, 64 bytes on it, 64 bytes back; microseconds from the first call "
		"to the answer. With fast-open the request is offered with the first packet; how "
		"many were taken there is a figure of its own, since kernels refuse it unless "
		"told otherwise. The other side checks who asks before it answers, which takes it "
		"a few microseconds. A sample is 50 connections, or those of a quarter of a "
		"second, at least 8.",
	.version = 2,
	.figures = figures,
	.n_figures = 3,
	.observed_scale = 1e-3,
	.brief = "-",
	.seconds = 1,
	.rounds = 3,
	.cases = connects_cases,
	.setup = connects_setup,
	.run = connects_run,
	.verify = connects_verify,
	.teardown = connects_teardown,
	.limit = net_limit_unknown,
};
