/* SPDX-License-Identifier: Apache-2.0 */
/* How much a reliable RDMA connection carries: writes, reads, messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/list.h"
#include "measure/bench/net/rdma_client.h"

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
	free(s);
}

static int flow_prepare(struct flow *s, struct err *e)
{
	s->size = s->c.arg->test.size;
	s->slots = rdma_slots(s->size);
	s->moderation = s->slots / 4 ? s->slots / 4 : 1;
	s->op = s->c.arg->test.kind == TEST_RDMA_WRITE	? VERBS_WRITE
		: s->c.arg->test.kind == TEST_RDMA_READ ? VERBS_READ
							: VERBS_SEND;
	s->like = malloc(s->slots * s->size);
	if (!s->like)
		return err_set(e, -ENOMEM, "no memory");
	rdma_fill(s->like, s->size, s->c.peer.test);
	if (s->op != VERBS_READ)
		memcpy(s->c.pair.memory, s->like, s->slots * s->size);
	s->first_link = rdma_count(&s->c.port);
	return peer_count(&s->c.peer, &s->first, e);
}

static int flow_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		      const char **variant, struct err *e)
{
	int r = rdma_client_new(env, c, sizeof(struct flow), state, variant, e);

	if (r)
		return r;
	r = flow_prepare(*state, e);
	if (r)
		flow_teardown(*state);
	return r;
}

/* A slot is marked anew only when what was in it is done. */
static int post_one(struct flow *s)
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
	return r;
}

/* The read of message i brings what stands in slot i there, for ever the same. */
static void check_reads(struct flow *s, uint64_t to)
{
	for (uint64_t i = s->done; i < to; i++)
		s->wrong += !rdma_there(s->c.pair.memory, s->size, s->c.peer.test, i % s->slots,
					i % RDMA_SAMPLED == RDMA_SAMPLED - 1 ? s->like : NULL);
}

static int reap(struct flow *s, struct err *e)
{
	struct verbs_done d;
	int r = rdma_client_wait(&s->c, &d, e);

	if (r)
		return r;
	if (d.id <= s->done || d.id > s->posted)
		return err_set(e, -EPROTO, "%s: a completion that was not asked for",
			       s->c.port.device);
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
			r = post_one(s);
			if (r)
				return err_set(e, r, "%s: a request is refused: %s",
					       s->c.port.device, strerror(-r));
		}
		r = reap(s, e);
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
static int drain(struct flow *s, struct err *e)
{
	int r = 0;

	while (r == 0 && s->posted % s->moderation)
		r = post_one(s);
	if (r)
		return err_set(e, r, "%s: a request is refused: %s", s->c.port.device,
			       strerror(-r));
	while (r == 0 && s->done < s->posted)
		r = reap(s, e);
	return r;
}

static int check_link(const struct flow *s, const struct peer_counts *end, struct err *e)
{
	struct link_bytes now = rdma_count(&s->c.port);
	double payload = (double)(s->done * s->size), least = 0.9 * payload - 1e6;
	bool out = s->op != VERBS_READ;
	double here = (double)(out ? now.tx - s->first_link.tx : now.rx - s->first_link.rx);
	double there = (double)(out ? end->c.nic_rx - s->first.c.nic_rx
				    : end->c.nic_tx - s->first.c.nic_tx);

	if (!s->c.arg->place.peer)
		return 0;
	if (now.known && s->first_link.known && here < least)
		return err_set(e, -EXDEV,
			       "%.3g MB were measured, but only %.3g MB went through %s: it never "
			       "left the machine that way; the figures are void",
			       payload / 1e6, here / 1e6, s->c.port.device);
	if (!((end->c.flags | s->first.c.flags) & COUNTS_NO_NIC) && there < least)
		return err_set(e, -EXDEV,
			       "%.3g MB were measured, but only %.3g MB went through the peer's "
			       "port; the figures are void",
			       payload / 1e6, there / 1e6);
	return 0;
}

static int flow_verify(void *state, struct err *e)
{
	struct flow *s = state;
	struct peer_counts end;
	unsigned long long sent, arrived, wrong;
	int r;

	peer_finishing(&s->c.peer);
	r = drain(s, e);

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
	return check_link(s, &end, e);
}

static void flow_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name;
		enum test_kind kind;
		uint32_t size;
	} rows[] = {
		{ "write:64KiB", TEST_RDMA_WRITE, 64 << 10 },
		{ "read:64KiB", TEST_RDMA_READ, 64 << 10 },
		{ "send:64KiB", TEST_RDMA_SEND, 64 << 10 },
		{ "write:4KiB", TEST_RDMA_WRITE, 4 << 10 },
		{ "write:1MiB", TEST_RDMA_WRITE, 1 << 20 },
		{ "read:1MiB", TEST_RDMA_READ, 1 << 20 },
	};
	struct net_place p;

	if (!rdma_place_find(env, &p, out))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_start_test t = { .kind = rows[i].kind,
					      .streams = 1,
					      .size = rows[i].size };
		size_t slots = rdma_slots(t.size);

		net_case_add(env, out, &p, rows[i].name,
			     arena_printf(env->a,
					  "one reliable connection, %zu messages under way, one in "
					  "%zu with a completion, memory of the host",
					  slots, slots / 4),
			     &t, false);
	}
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
	.title = "how much RDMA carries to another machine and back",
	.method = "Writes, reads and messages on one reliable connection, as many under way as "
		  "fit, counted when they are complete, in windows of 100 ms. Every message "
		  "carries its number; numbers and a sample of whole messages are compared where "
		  "they arrive, for writes those that stand there at the end. The ports must have "
		  "carried 90 % of it.",
	.version = 1,
	.figures = figures,
	.n_figures = 2,
	.brief = "write:64KiB",
	.seconds = 3,
	.rounds = 3,
	.cases = flow_cases,
	.setup = flow_setup,
	.run = flow_run,
	.verify = flow_verify,
	.teardown = flow_teardown,
	.limit = flow_limit,
};
