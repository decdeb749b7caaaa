/* SPDX-License-Identifier: Apache-2.0 */
/* How much a reliable RDMA connection carries: writes, reads, messages. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/place.h"
#include "measure/bench/net/rdma_serve.h"

/* --- a connected queue pair on the measuring side --------------------------------------------- */

struct rdma_client {
	const struct net_arg *arg;
	struct peer peer;
	struct verbs_port port;
	struct verbs_pair pair;
};

static void rdma_client_close(struct rdma_client *s)
{
	if (s->pair.port)
		verbs_pair_close(&s->pair);
	verbs_port_close(&s->port);
	peer_close(&s->peer);
}

/* Session, device and queue pairs, connected; *s is zeroed. rdma_client_close either way. */
static int rdma_client_open(const struct bench_env *env, const struct bench_case *c,
			    struct rdma_client *s, const char **variant, struct err *e)
{
	struct verbs_want want = rdma_want(&((const struct net_arg *)c->arg)->test);
	struct frame_verbs theirs;
	char *text = arena_alloc(env->a, 160);
	int r;

	s->arg = c->arg;
	r = net_peer_start(env, s->arg, &s->peer, e);
	r = r ? r : verbs_port_open(s->arg->place.link.name, &s->port, e);
	r = r ? r : verbs_pair_open(&s->port, &want, &s->pair, e);
	r = r ? r : peer_verbs(&s->peer, &s->pair.own, &theirs, e);
	r = r ? r : verbs_pair_connect(&s->pair, &theirs, e);
	r = r ? r : peer_ready(&s->peer, e);
	if (r)
		return r;
	verbs_port_describe(&s->port, text, 160);
	*variant = text;
	return 0;
}

/* One completion, within ten seconds, or when the user asks to stop. *e is set. */
static int rdma_client_wait(struct rdma_client *s, struct verbs_done *out, struct err *e)
{
	struct rdma_spin spin = { 0 };
	long long end = 0;

	for (;;) {
		int n = verbs_poll(&s->pair, out, 1);

		if (n < 0)
			return err_set(e, n, "%s: its completion queue is unreadable",
				       s->port.device);
		if (n > 0)
			return out->status ? verbs_failed(&s->pair, out, e) : 0;
		if (!rdma_spin(&spin))
			continue;
		if (net_stopped(&s->peer))
			return err_set(e, -EINTR, "interrupted");
		end = end ? end : net_now_ms() + STREAM_QUIET_MS;
		if (net_now_ms() > end)
			return peer_fail(&s->peer, -ETIMEDOUT, "no response from its queue pair",
					 e);
	}
}

/* The device that would be used, for placement; false: none, and why is in cases. */
static bool rdma_place_find(const struct bench_env *env, struct net_place *out,
			    struct bench_cases *cases)
{
	struct verbs_port port;
	struct err e = { 0 };
	char text[160];

	/* The question that nobody can answer by an option comes first. */
	if (!env->m->net.rdma.n) {
		cases->none = "no RDMA device (nothing in /sys/class/infiniband)";
		return false;
	}
	if (!net_place_find(env, out, cases))
		return false;
	if (verbs_port_open(out->link.name, &port, &e)) {
		cases->none = arena_strdup(env->a, e.text);
		return false;
	}
	verbs_port_describe(&port, text, sizeof(text));
	verbs_port_close(&port);
	out->to = arena_printf(env->a, "%s to %s", text,
			       out->peer ? out->peer : "a child process on the same port");
	out->no_speed = "unknown: the port reports no speed";
	LIST_FOR_EACH (const struct rdma_port, p, &env->m->net.rdma) {
		if (strcmp(p->device, port.device) != 0 || p->number != port.number)
			continue;
		if (!*p->pci)
			out->no_speed = "unknown: a software device has no line rate";
		else
			out->speed_mbps = fact_or(&p->rate_mbps, 0);
	}
	return true;
}

/* --- how much it carries ---------------------------------------------------------------------- */

enum { WINDOW_MS = 100, SMALL_WINDOW_MS = 10, BATCH = 16 };

struct flow {
	struct rdma_client c;
	uint8_t *like;
	size_t slots, size, moderation;
	uint64_t posted, done, wrong;
	enum verbs_op op;
	struct peer_counts first;
	struct link_bytes first_link;
};

static void flow_teardown(void *state)
{
	struct flow *s = state;

	rdma_client_close(&s->c);
	free(s->like);
}

static int flow_prepare(struct flow *s, struct err *e)
{
	s->size = s->c.arg->test.size;
	s->slots = rdma_slots(s->size);
	s->moderation = s->slots / 4 ? s->slots / 4 : 1;
	s->op = s->c.arg->test.kind == TEST_RDMA_WRITE	? VERBS_WRITE
		: s->c.arg->test.kind == TEST_RDMA_READ ? VERBS_READ
							: VERBS_SEND;
	s->like = heap_array(s->slots, s->size);
	rdma_fill(s->like, s->size, s->c.peer.test);
	if (s->op != VERBS_READ)
		memcpy(s->c.pair.memory, s->like, s->slots * s->size);
	s->first_link = rdma_count(&s->c.port);
	return peer_count(&s->c.peer, &s->first, e);
}

static int flow_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct flow *s = state;
	int r = rdma_client_open(env, c, &s->c, variant, e);

	return r ? r : flow_prepare(s, e);
}

static int refused(const struct rdma_client *c, int r, struct err *e)
{
	return err_set(e, r, "%s: a request was refused: %s", c->port.device, strerror(-r));
}

/* A slot is marked anew only when what was in it is done. */
static int post_one(struct flow *s, struct err *e)
{
	uint64_t test = s->c.peer.test;
	int r;

	if (s->op == VERBS_READ)
		rdma_unmark(s->c.pair.memory, s->size, s->posted);
	else
		rdma_mark(s->c.pair.memory, s->size, test, s->posted);
	r = verbs_post(&s->c.pair, s->op, s->posted % s->slots * s->size, s->size, s->posted + 1,
		       (s->posted + 1) % s->moderation == 0);
	s->posted += r == 0;
	return r ? refused(&s->c, r, e) : 0;
}

/* The read of message i brings what stands in slot i there, for ever the same. */
static void check_reads(struct flow *s, uint64_t to)
{
	for (uint64_t i = s->done; i < to; i++)
		s->wrong += !rdma_there(s->c.pair.memory, s->size, s->c.peer.test, i % s->slots,
					i % RDMA_SAMPLED == RDMA_SAMPLED - 1 ? s->like : NULL);
}

static int net_rdma_reap(struct flow *s, struct err *e)
{
	struct verbs_done d;
	int r = rdma_client_wait(&s->c, &d, e);

	if (r)
		return r;
	if (d.id <= s->done || d.id > s->posted)
		return err_set(e, -EPROTO, "%s: an unexpected completion", s->c.port.device);
	if (s->op == VERBS_READ)
		check_reads(s, d.id);
	s->done = d.id;
	return 0;
}

/* Until ms have passed and something is done; the ring is full all the while. */
static int pump(struct flow *s, int ms, struct err *e)
{
	uint64_t end = net_now_ns() + (uint64_t)ms * 1000000u, begin = s->done;
	int r = 0;

	while (r == 0 && (s->done == begin || net_now_ns() < end)) {
		while (s->posted - s->done < s->slots) {
			r = post_one(s, e);
			if (r)
				return r;
		}
		r = net_rdma_reap(s, e);
	}
	return r;
}

static int flow_run(void *state, struct bench_sample *out, struct err *e)
{
	struct flow *s = state;
	uint64_t begin = net_now_ns(), before = s->done;
	double ns, messages;
	int r;

	if (!s->posted) {
		/* From a full ring on. */
		r = pump(s, 1, e);
		if (r)
			return r;
		begin = net_now_ns();
		before = s->done;
	}
	r = pump(s, s->c.arg->small ? SMALL_WINDOW_MS : WINDOW_MS, e);
	if (r)
		return r;
	ns = (double)(net_now_ns() - begin);
	messages = (double)(s->done - before);
	out->value[0] = messages * (double)s->size * 8 / ns;
	out->value[1] = messages * 1e9 / ns;
	return 0;
}

/* Every request that was posted is done; those without a completion of their own precede one. */
static int net_rdma_drain(struct flow *s, struct err *e)
{
	int r = 0;

	while (r == 0 && s->posted % s->moderation)
		r = post_one(s, e);
	while (r == 0 && s->done < s->posted)
		r = net_rdma_reap(s, e);
	return r;
}

static int flow_verify(void *state, struct err *e)
{
	struct flow *s = state;
	struct peer_counts end;
	unsigned long long sent, arrived, wrong;
	int r;

	peer_finishing(&s->c.peer);
	r = net_rdma_drain(s, e);

	/* A message is done here when it arrived; the thread there may need a moment to see it. */
	for (int i = 0; r == 0 && s->op == VERBS_SEND && i < 100; i++) {
		r = peer_count(&s->c.peer, &end, e);
		if (r == 0 && end.c.bytes >= s->done * s->size)
			break;
	}
	r = r ? r : peer_stop(&s->c.peer, &end, e);
	if (r)
		return r;
	sent = s->done * s->size;
	arrived = s->op == VERBS_READ ? sent : end.c.bytes;
	if (sent != arrived)
		return err_set(e, -EPROTO, "%llu bytes were sent, %llu arrived", sent, arrived);
	wrong = s->wrong + end.c.wrong;
	if (wrong)
		return err_set(e, -EILSEQ, "%llu messages arrived with other data than was sent",
			       wrong);
	if (!s->c.arg->place.peer)
		return 0;
	return net_line_check((double)(s->done * s->size), 1e6, s->op != VERBS_READ,
			      &(struct net_carried){ s->first_link, &s->first.c },
			      &(struct net_carried){ rdma_count(&s->c.port), &end.c },
			      s->c.port.device, "port", e);
}

struct rdma_row {
	const char *name, *setup; /* setup NULL: by message size */
	enum test_kind kind;
	uint32_t size;
};

static void add_rows(const struct bench_env *env, struct bench_cases *out,
		     const struct rdma_row *rows, size_t n)
{
	struct net_place p;

	if (!rdma_place_find(env, &p, out))
		return;
	for (size_t i = 0; i < n; i++) {
		struct frame_start_test t = { .kind = rows[i].kind,
					      .streams = 1,
					      .size = rows[i].size };
		size_t slots = rdma_slots(t.size);

		net_case_add(env, out, &p, rows[i].name,
			     rows[i].setup ? rows[i].setup
					   : arena_printf(env->a,
							  "one reliable connection, %zu messages "
							  "in flight, a completion for every %zu, "
							  "host memory",
							  slots, slots / 4),
			     &t, false);
	}
}

static void flow_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct rdma_row rows[] = {
		{ "write:64KiB", NULL, TEST_RDMA_WRITE, 64 << 10 },
		{ "read:64KiB", NULL, TEST_RDMA_READ, 64 << 10 },
		{ "send:64KiB", NULL, TEST_RDMA_SEND, 64 << 10 },
		{ "write:4KiB", NULL, TEST_RDMA_WRITE, 4 << 10 },
		{ "write:1MiB", NULL, TEST_RDMA_WRITE, 1 << 20 },
		{ "read:1MiB", NULL, TEST_RDMA_READ, 1 << 20 },
	};

	add_rows(env, out, rows, sizeof(rows) / sizeof(rows[0]));
}

static struct bench_limit flow_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct net_place *p = &((const struct net_arg *)c->arg)->place;

	if (p->speed_mbps <= 0)
		return (struct bench_limit){ .source = p->no_speed };
	return (struct bench_limit){
		true, (double)p->speed_mbps / 1e3,
		arena_printf(env->a, "the port's rate, %lld Mb/s, headers included", p->speed_mbps)
	};
}

static const struct bench_figure figures[] = {
	{ "rate", "data", "gbit_per_s", "Gbit/s", BENCH_HIGHER },
	{ "messages", "messages", "per_s", "per s", BENCH_HIGHER },
};

const struct bench bench_rdma = {
	.name = "rdma",
	.title = "RDMA bandwidth to and from another machine",
	.method =
		"Writes, reads and messages on one reliable connection, with as many in flight as "
		"fit, counted on completion in windows of 100 ms. Every message carries its "
		"number. The destination compares numbers and a sample of whole messages; for "
		"writes, those in memory at the end. The ports must have carried 90 % of the "
		"bytes.",
	.version = 1,
	FIGURES(figures),
	.brief = "write:64KiB",
	.seconds = 3,
	.rounds = 3,
	.cases = flow_cases,
	.state_size = sizeof(struct flow),
	.setup = flow_setup,
	.run = flow_run,
	.verify = flow_verify,
	.teardown = flow_teardown,
	.limit = flow_limit,
};

/* How long a small RDMA request takes. */

enum { WINDOW = 1000, LATENCY_WINDOW_MS = 100, SMALL_WINDOW = 20 };

struct ping {
	struct rdma_client c;
	uint64_t count, wrong;
	uint64_t at[WINDOW + 1]; /* when each ended; one look at the clock a request */
	double us[WINDOW];
};

static void ping_teardown(void *state)
{
	rdma_client_close(&((struct ping *)state)->c);
}

static int ping_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	return rdma_client_open(env, c, &((struct ping *)state)->c, variant, e);
}

/* Spins on our memory until the answer stands there. */
static int net_rdma_answered(struct ping *s, const _Atomic uint64_t *word, struct err *e)
{
	struct rdma_spin spin = { 0 };
	long long end = 0;

	while (atomic_load_explicit(word, memory_order_acquire) != ~s->count) {
		if (!rdma_spin(&spin))
			continue;
		if (net_stopped(&s->c.peer))
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
		return refused(&s->c, r, e);
	r = net_rdma_answered(s, in, e);
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
		return refused(&s->c, r, e);
	r = rdma_client_wait(&s->c, &d, e);
	s->wrong += r == 0 && !rdma_there(s->c.pair.memory, size, s->c.peer.test, 0, NULL);
	return r;
}

static int ping_run(void *state, struct bench_sample *out, struct err *e)
{
	struct ping *s = state;
	bool there_and_back = s->c.arg->test.kind == TEST_RDMA_PING;
	size_t most = s->c.arg->small ? SMALL_WINDOW : WINDOW, n = 0;
	uint64_t end = net_now_ns() + LATENCY_WINDOW_MS * 1000000ull;

	s->at[0] = net_now_ns();
	for (; n < most && (n < 10 || s->at[n] < end); n++) {
		int r = there_and_back ? one_write(s, e) : one_read(s, e);

		if (r)
			return r;
		s->at[n + 1] = net_now_ns();
	}
	for (size_t i = 0; i < n; i++)
		s->us[i] = (double)(s->at[i + 1] - s->at[i]) / (there_and_back ? 2e3 : 1e3);
	bench_times(out, s->us, n);
	return 0;
}

static int ping_verify(void *state, struct err *e)
{
	struct ping *s = state;
	size_t size = s->c.arg->test.size;
	struct peer_counts end;
	int r = peer_stop(&s->c.peer, &end, e);

	if (r)
		return r;
	if (s->c.arg->test.kind == TEST_RDMA_PING && end.c.bytes != s->count * size)
		return err_set(
			e, -EPROTO, "%llu writes were answered on this machine, %llu on the other",
			(unsigned long long)s->count, (unsigned long long)(end.c.bytes / size));
	if (s->wrong)
		return err_set(e, -EILSEQ,
			       "%llu reads returned other data than the remote memory contains",
			       (unsigned long long)s->wrong);
	return 0;
}

static void ping_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct rdma_row rows[] = {
		{ "write:8B", "8 bytes written to the peer and 8 back; half of the round trip",
		  TEST_RDMA_PING, 8 },
		{ "write:4KiB", "4 KiB written to the peer and 4 KiB back; half of the round trip",
		  TEST_RDMA_PING, 4096 },
		{ "read:16B", "16 bytes read from the peer; the whole round trip", TEST_RDMA_READ,
		  16 },
	};

	add_rows(env, out, rows, sizeof(rows) / sizeof(rows[0]));
}

const struct bench bench_rdma_latency = {
	.name = "rdma-latency",
	.title = "latency of small RDMA requests",
	.method = "Writes: one to the peer, where a thread polls its memory and writes back; half "
		  "of the round trip. Reads: the whole time from request to completion. A sample "
		  "is the median, and the 99th percentile, of up to 1000. Every answer is checked.",
	.version = 1,
	FIGURES(bench_times_figures),
	.observed_scale = 1e-3,
	.brief = "write:8B",
	.seconds = 2,
	.rounds = 3,
	.cases = ping_cases,
	.state_size = sizeof(struct ping),
	.setup = ping_setup,
	.run = ping_run,
	.verify = ping_verify,
	.teardown = ping_teardown,
	.no_limit = "unknown: not in any data sheet",
};
