/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection that was idle still carries at once: a burst after a pause against a burst
 * after another. */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/bench/list.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/sysctl.h"

enum { STEADY = 5, PAUSE_LEAST_MS = 300, PAUSE_MOST_MS = 3000 };

struct idle {
	const struct net_arg *arg;
	struct peer peer;
	int fd;
	uint8_t *data;
	uint64_t bytes;
	bool warm;
};

static void idle_teardown(void *state)
{
	struct idle *s = state;

	if (s->fd >= 0)
		net_drop(s->fd);
	peer_close(&s->peer);
	free(s->data);
	free(s);
}

static int idle_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		      const char **variant, struct err *e)
{
	struct idle *s = calloc(1, sizeof(*s));
	struct peer_ask ask = { .token_file = env->ask.token, .stop = env->stop };
	char text[NET_TEXT];
	int r, slow = sysctl_slow_start_after_idle();

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->arg = c->arg;
	s->fd = -1;
	s->data = calloc(1, s->arg->test.size);
	ask.address = s->arg->place.peer;
	r = s->data ? peer_open(&ask, &s->peer, e) : err_set(e, -ENOMEM, "no memory");
	r = r ? r : peer_start(&s->peer, &s->arg->test, e);
	if (r == 0) {
		s->fd = peer_stream(&s->peer, 0, e);
		r = s->fd < 0 ? s->fd : peer_ready(&s->peer, e);
	}
	if (r) {
		idle_teardown(s);
		return r;
	}
	net_no_delay(s->fd, true);
	stream_describe(s->fd, text);
	*variant = arena_printf(env->a, "%s, slow start after idle %s", text,
				slow < 0 ? "not seen"
				: slow	 ? "on"
					 : "off");
	*state = s;
	return 0;
}

static bool interrupted(const struct idle *s)
{
	return s->peer.frames.stop && atomic_load(s->peer.frames.stop);
}

/* Beyond the time after which the kernel takes the connection for idle. */
static int pause_ms(const struct idle *s)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);
	long long ms = 0;

	if (s->arg->small)
		return 1;
	if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0)
		ms = 2LL * info.tcpi_rto / 1000;
	return ms < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : ms > PAUSE_MOST_MS ? PAUSE_MOST_MS : (int)ms;
}

/* Gbit/s from the first byte's sending to the answer that all are there. */
static int burst(struct idle *s, double *rate)
{
	/* Not cut short: the peer counts whole bursts only. */
	struct net_wait w = { STREAM_QUIET_MS, NULL };
	size_t n = s->arg->test.size;
	uint64_t begin = net_now_ns(), there;
	int r = net_write(s->fd, s->data, n, &w);

	r = r ? r : net_read(s->fd, &there, sizeof(there), &w);
	s->bytes += n;
	*rate = (double)n * 8 / (double)(net_now_ns() - begin);
	return r ? r : there == s->bytes ? 0 : -EPROTO;
}

static int steady(struct idle *s, double *median)
{
	double rate[STEADY];
	int r = 0;

	for (size_t i = 0; r == 0 && i < STEADY; i++)
		r = interrupted(s) ? -EINTR : burst(s, &rate[i]);
	if (r == 0)
		*median = stat_median_in_place(rate, STEADY);
	return r;
}

static int idle_run(void *state, struct bench_sample *out, struct err *e)
{
	struct idle *s = state;
	struct timespec slice = { 0, 1000000 };
	double before = 0;
	int r = 0;

	/* A new connection is slow for reasons of its own. */
	for (int i = 0; r == 0 && !s->warm && i < 4; i++)
		r = steady(s, &before);
	s->warm = true;
	r = r ? r : steady(s, &before);
	for (int left = pause_ms(s); r == 0 && left > 0; left--) {
		nanosleep(&slice, NULL);
		r = interrupted(s) ? -EINTR : 0;
	}
	r = r ? r : burst(s, &out->value[0]);
	if (r == -EPROTO)
		return err_set(e, r, "%s says that another number of bytes arrived than were sent",
			       s->peer.address.text);
	if (r)
		return peer_fail(&s->peer, r, "sending a burst", e);
	out->value[1] = before;
	out->value[2] = 100 * out->value[0] / before;
	return 0;
}

static int idle_verify(void *state, struct err *e)
{
	struct idle *s = state;
	struct peer_counts counts;
	int r;

	peer_finishing(&s->peer);
	shutdown(s->fd, SHUT_WR);
	r = peer_stop(&s->peer, &counts, e);
	if (r == 0 && counts.c.bytes != s->bytes)
		return err_set(e, -EPROTO, "%llu bytes were sent, %llu received",
			       (unsigned long long)s->bytes, (unsigned long long)counts.c.bytes);
	return r;
}

static void idle_cases(const struct bench_env *env, struct bench_cases *out)
{
	struct frame_start_test t = { .kind = TEST_BURST, .streams = 1, .size = 1 << 20 };
	struct net_place p;

	if (!net_place_find(env, &p, out))
		return;
	net_case_add(env, out, &p, "1MiB",
		     "bursts of 1 MiB to the peer, the pause is twice the "
		     "retransmission time-out, 300 ms at least",
		     &t, false);
}

static struct bench_limit idle_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	(void)c;
	return (struct bench_limit){ .source = "unknown: it depends on the way's length" };
}

static const struct bench_figure figures[] = {
	{ "after_idle", "burst after a pause", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "steady", "burst after a burst", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "share", "what the pause leaves", "percent", "%", BENCH_HIGHER },
};

const struct bench bench_tcp_idle = {
	.name = "tcp-idle",
	.title = "what a connection carries at once after a pause",
	.method = "Bursts on one connection, each answered when all of it has arrived: a burst "
		  "after a pause in which the kernel forgets how much the way carries (slow start "
		  "after idle), and the median of five bursts without one. Bits from the first "
		  "call to the answer.",
	.version = 1,
	.figures = figures,
	.n_figures = 3,
	.brief = "-",
	.seconds = 4,
	.rounds = 3,
	.cases = idle_cases,
	.setup = idle_setup,
	.run = idle_run,
	.verify = idle_verify,
	.teardown = idle_teardown,
	.limit = idle_limit,
};
