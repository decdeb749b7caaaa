/* SPDX-License-Identifier: Apache-2.0 */
/* Qualifications of nodes that are played: faults of nodes, ports, directions and pairs are named
 * and nothing else is; products, silent nodes, nodes that lie. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "many/ranks/qualify.h"

enum { NODES = 40, FAULTS = 4 };

static struct arena arena;

enum play_kind { PLAY_NODE, PLAY_SENDING, PLAY_PAIR, PLAY_LATE, PLAY_DEAD };

struct play_fault {
	enum play_kind kind;
	unsigned a, b;
};

struct play {
	struct channel c;
	const char *names[NODES];
	struct play_fault fault[FAULTS];
	size_t n_faults;
	unsigned rails;
	int silent; /* this node does not answer; -1: all do */
	int liar;   /* this one sends others elsewhere */
	int other;  /* this one answers as another version does */
	int wrong;  /* this one computes other bits */
	const char *unfit;
	/* Ports: of hardware, with RDMA; the MTU of node 1 and of all others. */
	const char *platform;
	long long mbps, mtu, mtu_1;
	bool lost;   /* large packets get lost */
	bool astray; /* benches are said to be let in elsewhere */
	double tcp, rdma, nccl;
	const char *gpu;
	int fewer;	       /* this one has a port less; 0: none has */
	const char *meanwhile; /* what went wrong with node 1 during the tests */
	double rate;	       /* of a bench on node 1; 0: none was run */
	const struct qualify *before;
	json_t *kept;
};

static bool slow(const struct play *p, unsigned from, unsigned to)
{
	for (size_t i = 0; i < p->n_faults; i++) {
		const struct play_fault *f = &p->fault[i];

		if ((f->kind == PLAY_NODE && (from == f->a || to == f->a)) ||
		    (f->kind == PLAY_SENDING && from == f->a) ||
		    (f->kind == PLAY_PAIR &&
		     ((from == f->a && to == f->b) || (from == f->b && to == f->a))))
			return true;
	}
	return false;
}

static bool is(const struct play *p, enum play_kind kind, unsigned a, unsigned b)
{
	for (size_t i = 0; i < p->n_faults; i++)
		if (p->fault[i].kind == kind && (p->fault[i].a == a || p->fault[i].a == b))
			return true;
	return false;
}

static json_t *exchanged(const struct play *p, unsigned self, const json_t *with)
{
	const json_t *group = json_object_get(with, "group"), *one;
	double limit = json_real_value(json_object_get(with, "slow_s")),
	       late = json_real_value(json_object_get(with, "late_us"));
	json_t *bad = json_array();
	size_t i;

	json_array_foreach(group, i, one)
	{
		unsigned peer = (unsigned)json_integer_value(one);
		const char *why = NULL;

		if (peer == self)
			continue;
		if (is(p, PLAY_DEAD, self, peer))
			why = "no answer";
		else if (limit > 0 && slow(p, peer, self))
			why = "slow";
		else if (late > 0 && is(p, PLAY_LATE, self, peer))
			why = "long round trips";
		if (why)
			json_array_append_new(bad, json_pack("{s:i, s:f, s:f, s:b, s:s}", "peer",
							     peer, "rate", 1e6, "rtt_us",
							     *why == 'l' ? 900.0 : 20.0, "silent",
							     *why == 'n', "why", why));
	}
	return json_pack("{s:o, s:f, s:f, s:i}", "bad", bad, "seconds", 0.15, "rtt_us", 20.0,
			 "retransmits", 0);
}

static json_t *addresses(const struct play *p, unsigned node)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < p->rails - (p->fewer && (int)node == p->fewer); i++) {
		char address[32], at[40];

		snprintf(address, sizeof(address), "10.%u.0.%u", i, node + 1);
		snprintf(at, sizeof(at), "%s:4711", (int)node == p->liar ? "192.0.2.1" : address);
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:s}", "interface",
						i ? "eth1" : "eth0", "address", address, "at", at,
						"bits", 24, "mbps", (json_int_t)p->mbps, "mtu",
						(json_int_t)(node == 1 ? p->mtu_1 : p->mtu),
						"bench", p->astray ? "192.0.2.1:4712" : at));
	}
	/* The same on all: a bridge of their own. */
	json_array_append_new(list,
			      json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:n}", "interface",
					"docker0", "address", "172.17.0.1", "at", "172.17.0.1:4711",
					"bits", 16, "mbps", 0, "mtu", 1500, "bench"));
	return json_pack("{s:o}", "addresses", list);
}

static json_t *measured(const struct play *p, const json_t *with)
{
	const char *bench = json_string_value(json_object_get(with, "bench"));
	double value = strcmp(bench, "rdma") == 0  ? p->rdma
		       : strcmp(bench, "tcp") == 0 ? p->tcp
						   : p->nccl;

	if (value <= 0)
		return NULL;
	return json_pack("{s:f}", "value", value);
}

static json_t *bench_of(double rate)
{
	if (!(rate > 0))
		return json_null();
	return json_pack("{s:[{s:s, s:s, s:[{s:s, s:s, s:s, s:s, s:f}]}]}", "cases", "bench",
			 "copy", "case", "h2d:gpu0", "figures", "key", "rate", "unit", "gb_per_s",
			 "unit_text", "GB/s", "better", "higher", "median_gb_per_s", rate);
}

static json_t *answer(const struct play *p, unsigned i, const char *what, const json_t *with)
{
	char host[16];

	snprintf(host, sizeof(host), "n%u", i);
	if ((int)i == p->other)
		return json_pack("{s:s}", "name", host);
	if (strcmp(what, "self") == 0)
		return json_pack("{s:s, s:s?, s:n, s:s?, s:s?, s:[{s:s, s:s, s:s}], s:n, s:o}",
				 "host", host, "unfit",
				 i != 1						? NULL
				 : json_is_true(json_object_get(with, "again")) ? p->meanwhile
										: p->unfit,
				 "unreadable", "platform", p->platform, "gpu", p->gpu, "products",
				 "gpu", "H200, cuBLASLt 13", "place", "GPU 0", "bits",
				 (int)i == p->wrong ? "0002" : "0001", "check", "bench",
				 bench_of(i == 1 ? p->rate : 0));
	if (strcmp(what, "addresses") == 0)
		return addresses(p, i);
	if (strcmp(what, "ping") == 0)
		return json_pack("{s:[{s:i, s:f, s:n}, {s:i, s:n, s:s?}]}", "echoes", "got", 3,
				 "us", 20.0, "error", "got", p->lost ? 0 : 3, "us", "error",
				 p->lost ? "no answer" : NULL);
	if (strcmp(what, "measure") == 0)
		return measured(p, with);
	return strcmp(what, "exchange") == 0 ? exchanged(p, i, with) : json_object();
}

static int play_ask(void *ctx, const char *what, json_t **with, int limit_ms,
		    struct rsh_reply *replies)
{
	struct play *p = ctx;

	(void)limit_ms;
	for (unsigned i = 0; i < p->c.n; i++) {
		json_t *j;

		if (!with[i])
			continue;
		replies[i] = (struct rsh_reply){ .failure = "did not connect", .out = true };
		if ((int)i != p->silent) {
			j = answer(p, i, what, with[i]);
			if (j)
				json_array_append_new(p->kept, j);
			replies[i] = (struct rsh_reply){ .answer = j,
							 .failure = j ? NULL : "no RDMA device" };
		}
		json_decref(with[i]);
		with[i] = NULL;
	}
	return 0;
}

static struct qualify run(struct play *p, unsigned n, unsigned rails)
{
	const struct qualify_how how = { .budget_s = 60,
					 .no_bench = !(p->nccl > 0 || p->rate > 0),
					 .before = p->before };
	struct qualify q;

	for (unsigned i = 0; i < n; i++)
		p->names[i] = "rank";
	p->c = (struct channel){ .n = n, .names = p->names, .ask = play_ask, .ctx = p };
	p->rails = rails;
	p->kept = json_array();
	assert_int_equal(qualify_run(&arena, &p->c, &how, &q), 0);
	json_decref(p->kept);
	return q;
}

#define HEALTHY .silent = -1, .liar = -1, .other = -1, .wrong = -1

static void drained(const struct qualify *q, unsigned n, unsigned node)
{
	assert_int_equal(q->drained, n);
	assert_true(!n || q->nodes[node].state == QUALIFY_DRAIN);
}

static void test_healthy(void **state)
{
	(void)state;
	for (unsigned n = 2; n <= NODES; n = n < 6 ? n + 1 : n + 17) {
		struct play p = { HEALTHY };
		struct qualify q = run(&p, n, 2);

		drained(&q, 0, 0);
		assert_int_equal(q.n_faults, 0);
		assert_int_equal(q.n_rails, 2);
		assert_int_equal(qualify_exit(&q), 0);
		arena_free(&arena);
	}
}

/* A node, one direction, a pair, round trips; of few nodes by all pairs, of many by groups. */
static void test_faults(void **state)
{
	static const struct {
		struct play_fault f;
		const char *what;
		unsigned drained;
	} rows[] = {
		{ { PLAY_NODE, 3, 0 }, "port eth0 of n3", 1 },
		{ { PLAY_SENDING, 2, 0 }, "port eth0 of n2", 1 },
		{ { PLAY_PAIR, 1, 3 }, "path between n1 and n3 (network of 10.0.0.1/24)", 0 },
		{ { PLAY_LATE, 3, 0 }, "port eth0 of n3", 1 },
		{ { PLAY_DEAD, 2, 0 }, "port eth0 of n2", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned n = 4; n <= NODES; n += 18) {
			struct play p = { HEALTHY, .fault = { rows[i].f }, .n_faults = 1 };
			struct qualify q = run(&p, n, 1);

			assert_int_equal(q.n_faults, 1);
			if (rows[i].f.kind != PLAY_PAIR)
				assert_string_equal(q.faults[0].what, rows[i].what);
			else
				assert_non_null(strstr(q.faults[0].what, "path between n"));
			assert_true(q.faults[0].certain);
			drained(&q, rows[i].drained, rows[i].f.a);
			assert_int_equal(qualify_exit(&q), 1);
			arena_free(&arena);
		}
}

static void test_several(void **state)
{
	struct play p = {
		HEALTHY,
		.fault = { { PLAY_NODE, 7, 0 }, { PLAY_PAIR, 11, 20 }, { PLAY_SENDING, 30, 0 } },
		.n_faults = 3
	};
	struct qualify q = run(&p, NODES, 1);

	(void)state;
	assert_int_equal(q.n_faults, 3);
	drained(&q, 2, 7);
	assert_int_equal(q.nodes[30].state, QUALIFY_DRAIN);
	/* On both networks it is the node. */
	arena_free(&arena);
}

/* Two nodes and one path: nobody knows which end. */
static void test_pair_alone(void **state)
{
	struct play p = { HEALTHY, .fault = { { PLAY_PAIR, 0, 1 } }, .n_faults = 1 };
	struct qualify q = run(&p, 2, 1);

	(void)state;
	assert_int_equal(q.n_faults, 1);
	assert_false(q.faults[0].certain);
	assert_non_null(q.faults[0].others);
	drained(&q, 0, 0);
	arena_free(&arena);
}

#define SPARKS                                                                                     \
	HEALTHY, .platform = "dgx-spark", .mbps = 200000, .mtu = 9000, .mtu_1 = 9000, .tcp = 97

/* Two nodes, or three, without anybody to compare them with. */
static void test_paths(void **state)
{
	static const struct {
		struct play p;
		unsigned n;
		const char *what, *evidence; /* NULL: no fault */
		const char *note;
	} rows[] = {
		{ { SPARKS }, 2, NULL, NULL, "no RDMA device" },
		{ { SPARKS, .rdma = 97 }, 2, NULL, NULL, NULL },
		{ { SPARKS, .rdma = 45 },
		  2,
		  "port eth0 of n",
		  "between n0 and n1: 45 Gbit/s, expected 88 (healthy links",
		  NULL },
		/* The band of its kind; another machine's port by its speed; one without hardware.
		 */
		{ { HEALTHY, .platform = "dgx-spark", .mbps = 200000, .tcp = 13, .rdma = 97 },
		  2,
		  "port eth0 of n",
		  "13 Gbit/s, expected 86 (healthy links",
		  NULL },
		{ { HEALTHY, .mbps = 200000, .tcp = 13 },
		  2,
		  "port eth0 of n",
		  "expected 15 (60 % of the ports' 200 Gbit/s",
		  NULL },
		{ { HEALTHY, .mbps = 200000, .tcp = 18 }, 2, NULL, NULL, NULL },
		{ { HEALTHY, .mbps = 1000, .tcp = 0.4 }, 3, "port eth0 of n", "0.4 Gbit/s", NULL },
		{ { HEALTHY, .tcp = 0.01 }, 2, NULL, NULL, NULL },
		{ { HEALTHY, .mbps = 1000 }, 2, NULL, NULL, "tcp from n0 to n1 was not measured" },
		{ { HEALTHY, .mtu = 9000, .mtu_1 = 1500, .lost = true },
		  2,
		  "port eth0 of n",
		  "packets of 9000 bytes from n0 to n1 get lost",
		  NULL },
		{ { HEALTHY, .mtu = 9000, .mtu_1 = 1500, .lost = true },
		  2,
		  "port eth0 of n",
		  "the MTU at the destination is 1500",
		  NULL },
		{ { HEALTHY, .mtu = 9000, .mtu_1 = 9000 }, 2, NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct play p = rows[i].p;
		struct qualify q = run(&p, rows[i].n, 1);
		const struct qualify_fault *f = q.faults;

		if (!rows[i].what != !q.n_faults || (f && !strstr(f->evidence, rows[i].evidence)) ||
		    (f && !strstr(f->what, rows[i].what)))
			fail_msg("row %zu: %s: %s", i, f ? f->what : "none", f ? f->evidence : "");
		if (rows[i].note)
			assert_true(q.n_notes && strstr(q.notes[0], rows[i].note));
		arena_free(&arena);
	}
}

/* A node sends nobody elsewhere to measure either. */
static void test_astray(void **state)
{
	struct play p = { SPARKS, .astray = true };
	struct qualify q = run(&p, 2, 1);

	(void)state;
	assert_int_equal(q.n_rails, 0);
	arena_free(&arena);
}

static void test_nodes(void **state)
{
	struct play p = { HEALTHY, .unfit = "gpu.xid (gpu0): Xid 79" };
	struct qualify q;

	(void)state;
	p.silent = 4;
	p.wrong = 2;
	p.liar = 3;
	q = run(&p, 6, 1);
	drained(&q, 2, 1);
	assert_int_equal(q.nodes[2].state, QUALIFY_DRAIN);
	assert_non_null(strstr(q.nodes[2].reasons[0], "differs from that of 4 equal GPUs"));
	assert_string_equal(q.nodes[4].reasons[0], "did not connect");
	assert_int_equal(q.unknown, 1);
	/* Nobody was sent to where the liar pointed. */
	assert_int_equal(q.rails[0].n, 4);
	arena_free(&arena);
	/* Of three, the one that is alone with its bits. */
	p = (struct play){ HEALTHY };
	p.wrong = 1;
	q = run(&p, 3, 1);
	drained(&q, 1, 1);
	assert_int_equal(q.unknown, 0);
	arena_free(&arena);
	/* One of another version is not known, and the others are. */
	p = (struct play){ HEALTHY };
	p.other = 3;
	q = run(&p, 6, 1);
	drained(&q, 0, 0);
	assert_int_equal(q.unknown, 1);
	assert_non_null(strstr(q.nodes[3].reasons[0], "host"));
	assert_int_equal(q.rails[0].n, 5);
	arena_free(&arena);
	/* Of two nobody can say which is wrong. */
	p = (struct play){ HEALTHY };
	p.wrong = 1;
	q = run(&p, 2, 1);
	drained(&q, 0, 0);
	assert_int_equal(q.unknown, 2);
	assert_int_equal(qualify_exit(&q), 5);
	arena_free(&arena);
}

/* Errors counted meanwhile, a port that is not there, GPUs together, and an earlier result. */
static void test_beside(void **state)
{
	struct play p = { HEALTHY, .meanwhile = "rdma.errors (mlx5_0/1): integrity errors grew" };
	struct qualify q = run(&p, 4, 1);
	struct qualify_figure copy = { "copy", "h2d:gpu0", "GB/s", 55, false };
	struct qualify_node was = { .name = "n1", .figures = &copy, .n_figures = 1 };
	struct qualify_pair tcp = { .test = PAIR_TCP,
				    .network = "network of 10.0.0.1/24",
				    .from = "n0",
				    .to = "n1",
				    .value = 97 };
	const struct qualify before = { .nodes = &was, .n = 1, .pairs = &tcp, .n_pairs = 1 };

	(void)state;
	drained(&q, 1, 1);
	assert_string_equal(q.nodes[1].reasons[0],
			    "during the tests: rdma.errors (mlx5_0/1): integrity errors grew");
	arena_free(&arena);
	for (unsigned n = 2; n <= 4; n++) {
		p = (struct play){ HEALTHY, .mbps = 200000, .tcp = 97, .fewer = 1 };
		q = run(&p, n, 2);
		assert_int_equal(q.n_faults, 1);
		assert_string_equal(q.faults[0].what, "ports of n1");
		assert_int_equal(q.drained, n > 2);
		arena_free(&arena);
	}
	p = (struct play){ SPARKS, .nccl = 23.5, .gpu = "NVIDIA GB10" };
	q = run(&p, 2, 1);
	assert_int_equal(q.n_faults, 0);
	assert_int_equal(q.pairs[q.n_pairs - 1].test, PAIR_NCCL);
	assert_true(q.pairs[q.n_pairs - 1].value > 23);
	arena_free(&arena);
	p.nccl = 2;
	q = run(&p, 2, 1);
	assert_int_equal(q.n_faults, 1);
	assert_non_null(strstr(q.faults[0].evidence, "2 GB/s, expected 21"));
	arena_free(&arena);
	p = (struct play){ HEALTHY, .mbps = 400000, .tcp = 97, .rdma = 200, .gpu = "NVIDIA H200" };
	q = run(&p, 2, 1);
	assert_int_equal(q.n_faults, 1);
	assert_non_null(strstr(q.faults[0].evidence, "200 Gbit/s, expected 350"));
	arena_free(&arena);
	p = (struct play){ SPARKS, .nccl = 23.5, .rate = 41, .before = &before };
	q = run(&p, 2, 1);
	assert_int_equal(q.n_faults, 1);
	assert_string_equal(q.faults[0].what, "copy h2d:gpu0 of n1");
	assert_string_equal(q.faults[0].evidence, "41 GB/s, 55 in the earlier result");
	arena_free(&arena);
	p.rate = 45;
	p.tcp = 77;
	q = run(&p, 2, 1);
	assert_int_equal(q.n_faults, 2);
	assert_non_null(strstr(q.faults[1].what, "tcp between n0 and n1"));
	arena_free(&arena);
}

/* A circle of containers, and more causes than are looked for: it ends. */
static void test_odd_sets(void **state)
{
	size_t within[40];
	struct blame_test tests[20];
	struct blame_set set = { within, 40, tests, 20 };
	struct blame found;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		within[i] = (i + 3) % 40;
	for (size_t i = 0; i < 20; i++)
		tests[i] =
			(struct blame_test){ .parts = { 2 * i, 2 * i + 1 }, .n = 2, .bad = true };
	found = blame_judge(&arena, &set);
	assert_int_equal(found.n, 20);
	for (size_t i = 0; i < found.n; i++)
		assert_false(found.items[i].certain);
	/* A chain of tests, each with a part of the one before: ten causes at least. */
	for (size_t i = 0; i < 20; i++) {
		tests[i].parts[0] = i;
		tests[i].parts[1] = i + 1;
	}
	found = blame_judge(&arena, &set);
	assert_in_range(found.n, 10, 20);
	/* All parts worked elsewhere. */
	for (size_t i = 0; i < 20; i++)
		tests[i].parts[0] = tests[i].parts[1] = 0;
	tests[0].bad = false;
	found = blame_judge(&arena, &set);
	assert_int_equal(found.n, 0);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy),	 cmocka_unit_test(test_faults),
		cmocka_unit_test(test_several),	 cmocka_unit_test(test_pair_alone),
		cmocka_unit_test(test_paths),	 cmocka_unit_test(test_astray),
		cmocka_unit_test(test_nodes),	 cmocka_unit_test(test_beside),
		cmocka_unit_test(test_odd_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
