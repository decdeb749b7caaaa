/* SPDX-License-Identifier: Apache-2.0 */
/* How long a small RDMA request takes. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/list.h"
#include "measure/bench/net/rdma_client.h"

enum { WINDOW = 1000, WINDOW_MS = 100, SMALL_WINDOW = 20 };

struct ping {
	struct rdma_client c;
	uint64_t count, wrong;
	uint64_t at[WINDOW + 1]; /* when each ended; one look at the clock a request */
	double us[WINDOW];
};

static void ping_teardown(void *state)
{
	struct ping *s = state;

	rdma_client_close(&s->c);
	free(s);
}

static int ping_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		      const char **variant, struct err *e)
{
	return rdma_client_new(env, c, sizeof(struct ping), state, variant, e);
}

/* Spins on our memory until the answer stands there. */
static int answered(struct ping *s, const _Atomic uint64_t *word, struct err *e)
{
	const atomic_bool *stop = s->c.peer.frames.stop;
	struct rdma_spin spin = { 0 };
	long long end = 0;

	while (atomic_load_explicit(word, memory_order_acquire) != ~s->count) {
		if (!rdma_spin(&spin))
			continue;
		if (stop && atomic_load(stop))
			return err_set(e, -EINTR, "interrupted");
		end = end ? end : net_now_ms() + STREAM_QUIET_MS;
		if (net_now_ms() > end)
			return peer_fail(&s->c.peer, -ETIMEDOUT, "waiting for an RDMA write", e);
	}
	return 0;
}

/* A write there, a write back. */
static int one_write(struct ping *s, struct err *e)
{
	size_t size = s->c.arg->test.size, at = size - sizeof(uint64_t);
	uint64_t *out = (uint64_t *)(void *)(s->c.pair.memory + at);
	const _Atomic uint64_t *in =
		(const _Atomic uint64_t *)(void *)(s->c.pair.memory + RDMA_PING_BACK + at);
	struct verbs_done d;
	int r;

	s->count++;
	*out = s->count;
	r = verbs_post(&s->c.pair, VERBS_WRITE, 0, size, s->count, true);
	if (r)
		return err_set(e, r, "%s: a request is refused: %s", s->c.port.device,
			       strerror(-r));
	r = answered(s, in, e);
	return r ? r : rdma_client_wait(&s->c, &d, e);
}

static int one_read(struct ping *s, struct err *e)
{
	size_t size = s->c.arg->test.size;
	struct verbs_done d;
	int r;

	rdma_unmark(s->c.pair.memory, size, 0);
	r = verbs_post(&s->c.pair, VERBS_READ, 0, size, ++s->count, true);
	if (r)
		return err_set(e, r, "%s: a request is refused: %s", s->c.port.device,
			       strerror(-r));
	r = rdma_client_wait(&s->c, &d, e);
	s->wrong += r == 0 && !rdma_there(s->c.pair.memory, size, s->c.peer.test, 0, NULL);
	return r;
}

static int ping_run(void *state, struct bench_sample *out, struct err *e)
{
	struct ping *s = state;
	bool there_and_back = s->c.arg->test.kind == TEST_RDMA_PING;
	size_t most = s->c.arg->small ? SMALL_WINDOW : WINDOW, n = 0;
	uint64_t end = net_now_ns() + WINDOW_MS * 1000000ull;

	s->at[0] = net_now_ns();
	for (; n < most && (n < 10 || s->at[n] < end); n++) {
		int r = there_and_back ? one_write(s, e) : one_read(s, e);

		if (r)
			return r;
		s->at[n + 1] = net_now_ns();
	}
	for (size_t i = 0; i < n; i++) {
		s->us[i] = (double)(s->at[i + 1] - s->at[i]) / (there_and_back ? 2e3 : 1e3);
		if (out->observed)
			histogram_add(out->observed, s->us[i] * 1e3);
	}
	stat_sort(s->us, n);
	out->value[0] = stat_quantile(s->us, n, 0.5);
	out->value[1] = stat_quantile(s->us, n, 0.99);
	return 0;
}

static int ping_verify(void *state, struct err *e)
{
	struct ping *s = state;
	size_t size = s->c.arg->test.size;
	struct peer_counts end;
	int r;

	peer_finishing(&s->c.peer);
	r = peer_stop(&s->c.peer, &end, e);

	if (r)
		return r;
	if (s->c.arg->test.kind == TEST_RDMA_PING && end.c.bytes != s->count * size)
		return err_set(e, -EPROTO, "%llu writes were answered here, %llu there",
			       (unsigned long long)s->count,
			       (unsigned long long)(end.c.bytes / size));
	if (s->wrong)
		return err_set(e, -EILSEQ, "%llu reads brought other data than stands there",
			       (unsigned long long)s->wrong);
	return 0;
}

static void ping_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name, *setup;
		enum test_kind kind;
		uint32_t size;
	} rows[] = {
		{ "write:8B", "8 bytes written there and 8 back; half of that time", TEST_RDMA_PING,
		  8 },
		{ "write:4KiB", "4 KiB written there and 4 KiB back; half of that time",
		  TEST_RDMA_PING, 4096 },
		{ "read:16B", "16 bytes read; all of that time", TEST_RDMA_READ, 16 },
	};
	struct net_place p;

	if (!rdma_place_find(env, &p, out))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_start_test t = { .kind = rows[i].kind,
					      .streams = 1,
					      .size = rows[i].size };

		net_case_add(env, out, &p, rows[i].name, rows[i].setup, &t, false);
	}
}

static const struct bench_figure figures[] = {
	{ "p50", "median of a window", "us", "us", BENCH_LOWER },
	{ "p99", "99th percentile of a window", "us", "us", BENCH_LOWER },
};

const struct bench bench_rdma_latency = {
	.name = "rdma-latency",
	.title = "how long a small RDMA request takes",
	.method = "Writes: one there, which a thread that looks at its memory without pause "
		  "answers with one back; half of the time there and back. Reads: from the request "
		  "to its completion, the whole time. A sample is the median, and the 99th "
		  "percentile, of up to 1000. Every answer is checked.",
	.version = 1,
	.figures = figures,
	.n_figures = 2,
	.observed_scale = 1e-3,
	.brief = "write:8B",
	.seconds = 2,
	.rounds = 3,
	.cases = ping_cases,
	.setup = ping_setup,
	.run = ping_run,
	.verify = ping_verify,
	.teardown = ping_teardown,
	.limit = net_limit_unknown,
};
