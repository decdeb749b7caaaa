/* SPDX-License-Identifier: Apache-2.0 */
/* How long a small request takes there and back, on a connection that stands. */
#include <errno.h>
#include <string.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"

enum { WINDOW = 1000, WINDOW_MS = 100, SMALL_WINDOW = 20, MESSAGE_MAX = 4096 };

struct request {
	struct net_single c;
	uint64_t count, wrong;
	uint8_t out[MESSAGE_MAX], in[MESSAGE_MAX];
	double us[WINDOW];
};

static void request_teardown(void *state)
{
	net_single_close(&((struct request *)state)->c);
}

static int request_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			 const char **variant, struct err *e)
{
	struct request *s = state;
	char *text = arena_alloc(env->a, NET_TEXT);
	int r = net_single_open(env, c, &s->c, text, e);

	if (r)
		return r;
	net_blocking(s->c.fd, 1000);
	*variant = text;
	return 0;
}

/* n bytes by a blocking call; looks at the stop flag once a second at least. */
static int tcp_latency_whole(const struct request *s, bool reading, uint8_t *p, size_t n)
{
	long long end = 0;

	for (size_t done = 0; done < n;) {
		ssize_t k = reading ? recv(s->c.fd, p + done, n - done, 0)
				    : send(s->c.fd, p + done, n - done, MSG_NOSIGNAL);

		if (k > 0) {
			done += (size_t)k;
			continue;
		}
		if (k == 0)
			return -ECONNRESET;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (net_stopped(&s->c.peer))
			return -EINTR;
		end = end ? end : net_now_ms() + STREAM_QUIET_MS;
		if (net_now_ms() > end)
			return -ETIMEDOUT;
	}
	return 0;
}

static int one_request(struct request *s)
{
	size_t n = s->c.arg->test.size;
	int r;

	memcpy(s->out, &s->count, sizeof(s->count));
	s->count++;
	r = tcp_latency_whole(s, false, s->out, n);
	r = r ? r : tcp_latency_whole(s, true, s->in, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		s->wrong += (s->in[i] ^ s->out[i]) != 0xff;
	return r;
}

static int request_run(void *state, struct bench_sample *out, struct err *e)
{
	struct request *s = state;
	size_t most = s->c.arg->small ? SMALL_WINDOW : WINDOW, n = 0;
	long long end = net_now_ms() + WINDOW_MS;

	for (; n < most && (n < 10 || net_now_ms() < end); n++) {
		uint64_t begin = net_now_ns();
		int r = one_request(s);

		if (r)
			return peer_fail(&s->c.peer, r, "waiting for an answer", e);
		s->us[n] = (double)(net_now_ns() - begin) / 1e3;
	}
	if (net_stopped(&s->c.peer))
		return err_set(e, -EINTR, "interrupted");
	bench_times(out, s->us, n);
	return 0;
}

static int request_verify(void *state, struct err *e)
{
	struct request *s = state;
	struct peer_counts counts;
	int r;

	shutdown(s->c.fd, SHUT_WR);
	r = peer_stop(&s->c.peer, &counts, e);
	if (r)
		return r;
	if (s->wrong)
		return err_set(e, -EILSEQ, "%llu bytes came back wrong",
			       (unsigned long long)s->wrong);
	if (counts.c.bytes != s->count * s->c.arg->test.size)
		return err_set(e, -EPROTO,
			       "%llu requests were answered on this machine, %llu on the peer",
			       (unsigned long long)s->count,
			       (unsigned long long)(counts.c.bytes / s->c.arg->test.size));
	return 0;
}

static void request_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const uint32_t sizes[] = { 64, 4096 };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct frame_start_test t = { .kind = TEST_ECHO, .streams = 1, .size = sizes[i] };

		net_case_add(env, out, &p, arena_printf(env->a, "%uB", sizes[i]),
			     arena_printf(env->a,
					  "%u bytes sent, %u bytes returned, one request at a "
					  "time, TCP_NODELAY",
					  sizes[i], sizes[i]),
			     &t, false);
	}
}

static const struct bench_figure figures[] = {
	{ "p50", "round trip, median of a window", "us", "us", BENCH_LOWER },
	{ "p99", "99th percentile of a window", "us", "us", BENCH_LOWER },
};

const struct bench bench_tcp_latency = {
	.name = "tcp-latency",
	.title = "round-trip time of a request over TCP",
	.method = "Messages on one connection, each sent when the previous answer has arrived; "
		  "microseconds for the round trip, not half of it. Every answer is checked, and "
		  "both sides must have counted the same. A sample is the median, and the 99th "
		  "percentile, of up to 1000 of them.",
	.version = 1,
	FIGURES(figures),
	.observed_scale = 1e-3,
	.brief = "64B",
	.seconds = 3,
	.rounds = 3,
	.cases = request_cases,
	.state_size = sizeof(struct request),
	.setup = request_setup,
	.run = request_run,
	.verify = request_verify,
	.teardown = request_teardown,
	.no_limit = "unknown: not in any data sheet",
};
