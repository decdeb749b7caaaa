/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure parts of a check of a cluster: rounds of pairs, blame on clusters with a planted fault
 * (each kind, 2 to 8 nodes, from a seed that a failure names), judging, symptoms, and results as
 * JSON.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "many/cluster/check.h"
#include "many/cluster/blame.h"

static struct arena arena;

/* xorshift: the same on every machine. */
static uint64_t dice;

static size_t roll(size_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (size_t)(dice % n);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static bool not_zero_one(void *ctx, size_t a, size_t b)
{
	(void)ctx;
	return !(a == 0 && b == 1);
}

static void test_pairs(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 16; n++) {
		struct pairs p = pairs_make(&arena, n, NULL, NULL);
		size_t met[16][16] = { 0 }, busy[16][16] = { 0 };

		assert_int_equal(p.n, n ? n * (n - 1) / 2 : 0);
		assert_int_equal(p.rounds, n < 2 ? 0 : n % 2 ? n : n - 1);
		for (size_t i = 0; i < p.n; i++) {
			const struct pair *x = &p.items[i];

			assert_true(x->a < x->b && x->b < n);
			assert_int_equal(met[x->a][x->b]++, 0);
			/* Nobody twice in a round. */
			assert_int_equal(busy[x->round][x->a]++, 0);
			assert_int_equal(busy[x->round][x->b]++, 0);
			assert_true(i == 0 || p.items[i - 1].round <= x->round);
		}
	}
	assert_int_equal(pairs_make(&arena, 4, not_zero_one, NULL).n, 5);
	arena_free(&arena);
}

/* --- clusters made by hand -------------------------------------------------------------------- */

enum { TWINS = 2 };

static struct fact_str str(const char *s)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "test" }, .v = s };
}

static struct fact_int num(long long v)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .leaf = "test" }, .v = v };
}

static struct cluster_port *add_port(struct cluster_node *n, const char *name, const char *address,
				     const char *pci)
{
	struct cluster_port *p = list_add(&arena, &n->ports, sizeof(*p));
	struct cluster_address *x;

	*p = (struct cluster_port){ .name = name,
				    .pci = pci,
				    .carrier = num(1),
				    .operstate = str("up"),
				    .mtu = num(9000),
				    .speed_mbps = num(200000) };
	x = list_add(&arena, &p->addresses, sizeof(*x));
	x->name = address;
	return p;
}

/* cages cages a node, two twins each; a cage's twins have subnets 10.CAGE.TWIN. */
static struct cluster *make_nodes(size_t n, size_t cages)
{
	struct cluster *c = arena_alloc(&arena, sizeof(*c));

	c->n_nodes = n;
	c->topology_why = "made by hand";
	c->nodes = arena_array(&arena, n, sizeof(*c->nodes));
	c->cages = arena_array(&arena, n * cages, sizeof(*c->cages));
	for (size_t i = 0; i < n; i++) {
		c->nodes[i].name = c->nodes[i].address = arena_printf(&arena, "n%zu", i);
		c->nodes[i].failure = "";
		for (size_t g = 0; g < cages; g++) {
			struct cluster_cage *cage = &c->cages[c->n_cages++];

			*cage = (struct cluster_cage){ .node = i,
						       .name = arena_printf(&arena, "p%zu", g),
						       .n_ports = TWINS,
						       .wire = CLUSTER_NONE };
			cage->ports = arena_array(&arena, TWINS, sizeof(*cage->ports));
			for (size_t t = 0; t < TWINS; t++) {
				cage->ports[t] = c->nodes[i].ports.n;
				add_port(&c->nodes[i], arena_printf(&arena, "enp%zus0f%zu", t, g),
					 arena_printf(&arena, "10.%zu.%zu.%zu/24", g, t, i + 1),
					 arena_printf(&arena, "%04zx:01:00.%zu", 2 * t, g));
			}
		}
	}
	return c;
}

/* Joins these cages of the cluster by a wire. */
static void join(struct cluster *c, enum cluster_way way, const size_t *cages, size_t n)
{
	struct cluster_wire *w;

	c->wires = arena_grow(&arena, c->wires, c->n_wires, sizeof(*c->wires));
	w = &c->wires[c->n_wires];
	*w = (struct cluster_wire){ .way = way, .n_cages = n, .n_paths = TWINS };
	w->cages = arena_array(&arena, n, sizeof(*w->cages));
	w->paths = arena_array(&arena, TWINS, sizeof(*w->paths));
	for (size_t t = 0; t < TWINS; t++) {
		w->paths[t].ends = arena_array(&arena, n, sizeof(struct cluster_end));
		w->paths[t].n_ends = n;
		for (size_t i = 0; i < n; i++)
			w->paths[t].ends[i] = (struct cluster_end){ c->cages[cages[i]].node,
								    c->cages[cages[i]].ports[t] };
	}
	for (size_t i = 0; i < n; i++) {
		w->cages[i] = cages[i];
		c->cages[cages[i]].wire = c->n_wires;
	}
	c->n_wires++;
}

/* Addresses on a cable have to be in one subnet: cage 0 of one and cage 1 of the other are not. */
static void readdress(struct cluster *c)
{
	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t t = 0; t < TWINS; t++)
			for (size_t i = 0; i < c->wires[w].paths[t].n_ends; i++) {
				struct cluster_end e = c->wires[w].paths[t].ends[i];
				struct cluster_address *x = cluster_end_port(c, e)->addresses.items;

				x->name =
					arena_printf(&arena, "10.%zu.%zu.%zu/24", w, t, e.node + 1);
			}
}

static struct cluster *make_switch(size_t n)
{
	struct cluster *c = make_nodes(n, 1);
	size_t all[8];

	for (size_t i = 0; i < n; i++)
		all[i] = i;
	join(c, CLUSTER_SWITCH, all, n);
	c->topology = CLUSTER_SWITCHED;
	return c;
}

/* Each node's cage 0 to the next one's cage 1; two nodes: one cable. */
static struct cluster *make_ring(size_t n)
{
	struct cluster *c = make_nodes(n, 2);

	for (size_t i = 0; i < (n == 2 ? 1 : n); i++)
		join(c, CLUSTER_CABLE, (size_t[]){ 2 * i, 2 * ((i + 1) % n) + 1 }, 2);
	readdress(c);
	c->topology = n == 2 ? CLUSTER_PAIR : CLUSTER_RING;
	return c;
}

static struct check make_check(struct cluster *k)
{
	struct check c = { .cluster = k };

	check_paths(&arena, &c);
	return c;
}

/* --- planted faults --------------------------------------------------------------------------- */

enum fault { FAULT_NODE, FAULT_CAGE, FAULT_PORT, FAULT_OUT, FAULT_IN, FAULT_PATH, FAULTS };

struct planted {
	enum fault fault;
	size_t node, path;
	struct cluster_end port;
};

static bool hits(const struct check *c, const struct planted *f, size_t path, size_t from)
{
	const struct check_path *p = &c->paths[path], *q = &c->paths[f->path];
	struct cluster_end out = check_end(p, from), in = check_far(p, from);
	bool sends = out.node == f->port.node && out.port == f->port.port,
	     gets = in.node == f->port.node && in.port == f->port.port;

	switch (f->fault) {
	case FAULT_NODE:
		return out.node == f->node || in.node == f->node;
	case FAULT_CAGE:
		return cluster_cage_of(c->cluster, f->port.node, check_port(c, f->port)) ==
			       cluster_cage_of(c->cluster, out.node, check_port(c, out)) ||
		       cluster_cage_of(c->cluster, f->port.node, check_port(c, f->port)) ==
			       cluster_cage_of(c->cluster, in.node, check_port(c, in));
	case FAULT_PORT:
		return sends || gets;
	case FAULT_OUT:
		return sends;
	case FAULT_IN:
		return gets;
	default:
		/* A cable: both twins of it. */
		return p->cable ? p->wire == q->wire : path == f->path;
	}
}

static void measure(struct check *c, const struct planted *f, size_t n_faults)
{
	for (size_t i = 0; i < c->n_paths; i++)
		for (int back = 0; back < 2; back++) {
			struct check_result r = {
				.test = CHECK_TCP,
				.from = back ? c->paths[i].b.node : c->paths[i].a.node,
				.to = back ? c->paths[i].a.node : c->paths[i].b.node,
				.path = i,
				.pass = 1,
				.n = 3,
				.value = 90 + (double)roll(20)
			};

			assert_null(c->paths[i].untestable);
			for (size_t k = 0; k < n_faults; k++)
				if (hits(c, &f[k], i, r.from))
					r.value = 5 + (double)roll(30);
			r.low = r.value - 1;
			r.high = r.value + 1;
			check_add(&arena, c, &r);
		}
	check_judge(&arena, c);
	check_blame(&arena, c);
}

static struct planted plant(const struct check *c, enum fault fault)
{
	struct planted f = { .fault = fault, .path = roll(c->n_paths) };

	f.port = roll(2) ? c->paths[f.path].a : c->paths[f.path].b;
	f.node = f.port.node;
	return f;
}

static const char *expected(const struct check *c, const struct planted *f)
{
	const char *node = check_node(c, f->node)->name, *port = check_port(c, f->port)->name;
	size_t path = 0;

	/* A cable is named by its first twin. */
	while (path != f->path &&
	       (!c->paths[f->path].cable || c->paths[path].wire != c->paths[f->path].wire))
		path++;
	switch (f->fault) {
	case FAULT_NODE:
		return arena_printf(&arena, "node %s", node);
	case FAULT_CAGE:
		return arena_printf(&arena, "cage %s of %s",
				    c->cluster
					    ->cages[cluster_cage_of(c->cluster, f->node,
								    check_port(c, f->port))]
					    .name,
				    node);
	case FAULT_PORT:
		return arena_printf(&arena, "port %s of %s", port, node);
	case FAULT_OUT:
		return arena_printf(&arena, "port %s of %s, sending", port, node);
	case FAULT_IN:
		return arena_printf(&arena, "port %s of %s, receiving", port, node);
	default:
		return arena_printf(&arena, "the %s of %s",
				    c->paths[path].cable ? "cable" : "path through the switch",
				    check_path_text(&arena, c, &c->paths[path]));
	}
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* With a switch and three nodes every single fault is named, alone and with certainty. A node with
 * one cage is that cage. */
static void test_switch(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct check c;
		struct planted f;
		const char *want;

		dice = seed * 0x9e3779b97f4a7c15u;
		c = make_check(make_switch(3 + roll(6)));
		f = plant(&c, (enum fault)roll(FAULTS));
		/* Where a path alone is bad, both its directions are. */
		want = expected(&c, &f);
		if (f.fault == FAULT_NODE)
			want = arena_printf(&arena, "cage p0 of %s (all measurements of",
					    check_node(&c, f.node)->name);
		measure(&c, &f, 1);
		if (c.n_blames != 1 || !c.blames[0].certain || !begins(c.blames[0].what, want))
			fail_msg("seed %llu: %zu blames, first \"%s\"%s, not \"%s\"",
				 (unsigned long long)seed, c.n_blames,
				 c.n_blames ? c.blames[0].what : "none",
				 c.n_blames && c.blames[0].certain ? "" : " (uncertain)", want);
		arena_free(&arena);
	}
}

/* On cables the ends cannot always be told from the cable: what was planted is named or among the
 * alternatives, and nothing is called certain that is not so. */
static void test_cables(void **state)
{
	size_t sure = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct check c;
		struct planted f;
		bool found = false;
		const char *want;

		dice = seed * 0x9e3779b97f4a7c15u;
		c = make_check(make_ring(2 + roll(2)));
		f = plant(&c, (enum fault)(1 + roll(FAULTS - 1)));
		/* Without anything good there is nothing to compare with. */
		if (c.cluster->n_nodes == 2 && (f.fault == FAULT_CAGE || f.fault == FAULT_PATH))
			f.fault = FAULT_PORT;
		want = expected(&c, &f);
		measure(&c, &f, 1);
		for (size_t i = 0; i < c.n_blames; i++) {
			const struct check_blame *b = &c.blames[i];

			found = found || begins(b->what, want) ||
				(b->others && strstr(b->others, want));
			if (b->certain)
				assert_true(begins(b->what, want));
			sure += b->certain;
			assert_true(b->certain || b->next);
		}
		if (!found || c.n_blames != 1)
			fail_msg("seed %llu: \"%s\" is not among %zu blames, first \"%s\"; %s",
				 (unsigned long long)seed, want, c.n_blames,
				 c.n_blames ? c.blames[0].what : "none",
				 c.n_blames && c.blames[0].others ? c.blames[0].others : "");
		arena_free(&arena);
	}
	/* A cable with two nodes at its ends can never be told from its cages. */
	assert_int_equal(sure, 0);
}

/* Two faults at once in different nodes. */
static void test_two_faults(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct check c;
		struct planted f[2];

		dice = seed * 0x9e3779b97f4a7c15u;
		c = make_check(make_switch(5 + roll(4)));
		do {
			f[0] = plant(&c, FAULT_PORT);
			f[1] = plant(&c, FAULT_PORT);
		} while (f[0].node == f[1].node);
		measure(&c, f, 2);
		assert_int_equal(c.n_blames, 2);
		for (int i = 0; i < 2; i++) {
			const char *want = expected(&c, &f[i]);

			if (!c.blames[0].certain || !c.blames[1].certain ||
			    (!begins(c.blames[0].what, want) && !begins(c.blames[1].what, want)))
				fail_msg("seed %llu: \"%s\" and \"%s\", not \"%s\"",
					 (unsigned long long)seed, c.blames[0].what,
					 c.blames[1].what, want);
		}
		arena_free(&arena);
	}
}

static void test_nothing_wrong(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct check c;

		dice = seed * 0x9e3779b97f4a7c15u;
		c = make_check(roll(2) ? make_switch(2 + roll(7)) : make_ring(2 + roll(2)));
		measure(&c, NULL, 0);
		assert_int_equal(c.n_blames, 0);
		check_symptoms(&arena, &c);
		assert_int_equal(c.cluster->n_findings, 0);
		arena_free(&arena);
	}
}

/* --- two passes ------------------------------------------------------------------------------- */

/* A node that is measured only in one round at first: its partner is as suspect as it is, until the
 * second pass pairs both with good ones. */
static void test_second_pass(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		size_t n, bad, k, next[8];
		struct blame_part parts[8];
		struct blame_test *tests;
		struct pairs all;
		struct blame_set set;
		struct blame found;
		int more = 0;

		dice = seed * 0x9e3779b97f4a7c15u;
		n = 4 + roll(5);
		bad = roll(n);
		all = pairs_make(&arena, n, NULL, NULL);
		tests = arena_array(&arena, all.n, sizeof(*tests));
		for (size_t i = 0; i < n; i++)
			parts[i] = (struct blame_part){ BLAME_NODE, i };
		for (size_t i = 0; i < all.n; i++) {
			tests[i] = (struct blame_test){ .parts = { all.items[i].a, all.items[i].b },
							.n = 2 };
			/* An odd node rests in a round: so two rounds. */
			if (all.items[i].round < 1 + n % 2)
				tests[i].state = all.items[i].a == bad || all.items[i].b == bad
							 ? BLAME_BAD
							 : BLAME_GOOD;
		}
		set = (struct blame_set){ parts, n, tests, all.n };
		while ((k = blame_next(&arena, &set, next, 8)) > 0) {
			more += (int)k;
			for (size_t i = 0; i < k; i++) {
				assert_int_equal(tests[next[i]].state, BLAME_UNTRIED);
				tests[next[i]].state =
					tests[next[i]].parts[0] == bad ||
							tests[next[i]].parts[1] == bad
						? BLAME_BAD
						: BLAME_GOOD;
			}
		}
		found = blame_judge(&arena, &set);
		if (found.n != 1 || !found.items[0].certain || found.items[0].parts[0] != bad)
			fail_msg("seed %llu: node %zu of %zu is not named",
				 (unsigned long long)seed, bad, n);
		assert_true(more <= 3);
		arena_free(&arena);
	}
}

static void test_again(void **state)
{
	struct check c = make_check(make_switch(3));
	struct planted f = { .fault = FAULT_PORT, .port = c.paths[0].a };
	struct check_result *list;
	size_t n;

	(void)state;
	dice = 7;
	measure(&c, &f, 1);
	n = check_again(&arena, &c, &list);
	assert_int_equal(n, 4);
	/* It was somebody else's traffic: all are good now. */
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(list[i].pass, 2);
		list[i].n = 3;
		list[i].value = list[i].low = list[i].high = 100;
		list[i].state = CHECK_GOOD;
		check_add(&arena, &c, &list[i]);
	}
	check_judge(&arena, &c);
	check_blame(&arena, &c);
	assert_int_equal(c.n_blames, 0);
	assert_int_equal(check_again(&arena, &c, &list), 0);
	check_symptoms(&arena, &c);
	/* Two of them begin at the same port. */
	assert_int_equal(c.cluster->n_findings, 3);
	assert_string_equal(c.cluster->findings[0].code, "unsteady");
	arena_free(&arena);
}

/* A circle of containers, and more causes than are looked for: it ends. */
static void test_odd_sets(void **state)
{
	struct blame_part parts[40];
	struct blame_test tests[20];
	struct blame_set set = { parts, 40, tests, 20 };
	struct blame found;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		parts[i] = (struct blame_part){ BLAME_PORT, (i + 3) % 40 };
	for (size_t i = 0; i < 20; i++)
		tests[i] = (struct blame_test){ .parts = { 2 * i, 2 * i + 1 },
						.n = 2,
						.state = BLAME_BAD };
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
	for (size_t i = 0; i < found.n; i++)
		assert_false(found.items[i].certain);
	/* All parts worked elsewhere. */
	for (size_t i = 0; i < 20; i++)
		tests[i].parts[0] = tests[i].parts[1] = 0;
	tests[0].state = BLAME_GOOD;
	found = blame_judge(&arena, &set);
	assert_int_equal(found.n, 0);
	assert_int_equal(found.unexplained, 19);
	arena_free(&arena);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void test_bands(void **state)
{
	struct check c = make_check(make_ring(2));
	struct check_result r = {
		.test = CHECK_RDMA_WRITE, .from = 0, .to = 1, .n = 3, .value = 97
	};

	(void)state;
	for (size_t i = 0; i < n_cluster_bands; i++) {
		const struct band *b = &cluster_bands[i];

		assert_true(b->low > 0 && b->low < b->high);
		assert_true(*b->source && strlen(b->date) >= 4 && *b->hardware && *b->unit);
	}
	assert_false(cluster_band(&arena, &c, &r).known);
	for (int i = 0; i < 2; i++)
		c.cluster->nodes[i].platform = str("dgx-spark");
	assert_true(cluster_band(&arena, &c, &r).known);
	check_add(&arena, &c, &r);
	/* Both twins carry what one does: half of what is known. */
	r.together = true;
	check_add(&arena, &c, &r);
	check_judge(&arena, &c);
	assert_int_equal(c.results[0].state, CHECK_GOOD);
	assert_int_equal(c.results[1].state, CHECK_LOW);
	assert_non_null(strstr(c.results[1].wanted_by, "189.9"));
	r = (struct check_result){ .test = CHECK_NCCL_LATENCY,
				   .to = 1,
				   .path = CHECK_NONE,
				   .operation = "all-reduce:8B",
				   .n = 3,
				   .value = 300 };
	check_add(&arena, &c, &r);
	check_judge(&arena, &c);
	assert_int_equal(c.results[2].state, CHECK_LOW);
	/* One of the nodes is something else. */
	c.cluster->nodes[1].platform = str("hgx");
	assert_false(cluster_band(&arena, &c, &c.results[1]).known);
	arena_free(&arena);
}

static void test_paths(void **state)
{
	struct check c = make_check(make_ring(3));
	struct cluster_address *x;

	(void)state;
	assert_int_equal(c.n_paths, 6);
	for (size_t i = 0; i < c.n_paths; i++) {
		assert_true(c.paths[i].cable && !c.paths[i].untestable);
		assert_true(c.paths[i].a.node < c.paths[i].b.node);
		assert_int_equal(check_jumbo_bytes(&c, &c.paths[i]), 8972);
		assert_true(strchr(c.paths[i].address_a, '/') == NULL);
	}
	/* An address in another subnet; none at all; a port that is down. */
	x = cluster_end_port(c.cluster, c.paths[0].b)->addresses.items;
	x->name = "172.16.0.1/24";
	cluster_end_port(c.cluster, c.paths[1].b)->addresses.n = 0;
	cluster_end_port(c.cluster, c.paths[2].b)->carrier = num(0);
	cluster_end_port(c.cluster, c.paths[2].b)->addresses.n = 0;
	c.paths = NULL;
	check_paths(&arena, &c);
	assert_non_null(strstr(c.paths[0].untestable, "no addresses in one subnet"));
	assert_non_null(strstr(c.paths[1].untestable, "has no address"));
	assert_non_null(strstr(c.paths[2].untestable, "is down"));
	c.cluster->nodes[0].failure = "n0: out";
	check_paths(&arena, &c);
	assert_int_equal(c.n_paths, 2);
	/* Nothing was heard: by subnets, though not by the port of the default route. */
	c.cluster->nodes[0].failure = "";
	c.cluster->n_wires = 0;
	c.cluster->nodes[0].default_route = str("enp1s0f0");
	check_paths(&arena, &c);
	for (size_t i = 0; i < c.n_paths; i++)
		assert_false(strcmp(check_port(&c, c.paths[i].a)->name, "enp1s0f0") == 0 &&
			     c.paths[i].a.node == 0);
	assert_int_equal(c.paths[0].wire, CLUSTER_NONE);
	arena_free(&arena);
}

/* --- symptoms --------------------------------------------------------------------------------- */

static const struct cluster_finding *find(const struct check *c, const char *code)
{
	for (size_t i = 0; i < c->cluster->n_findings; i++)
		if (strcmp(c->cluster->findings[i].code, code) == 0)
			return &c->cluster->findings[i];
	return NULL;
}

static struct check_traffic *traffic(size_t node, const char *one, double x, const char *two,
				     double y)
{
	struct check_traffic *t = arena_array(&arena, 2, sizeof(*t));

	t[0] = (struct check_traffic){ node, one, x / 10, x, "a" };
	t[1] = (struct check_traffic){ node, two, y / 10, y, "a" };
	return t;
}

static void test_symptoms(void **state)
{
	struct check c = make_check(make_ring(2));
	const char *a0 = check_port(&c, c.paths[0].a)->name,
		   *a1 = check_port(&c, c.paths[1].a)->name;
	const struct cluster_finding *f;
	struct check_result *r;

	(void)state;
	/* Large packets, ends that differ; and a path whose ends agree. */
	cluster_end_port(c.cluster, c.paths[0].b)->mtu = num(1500);
	check_add(&arena, &c,
		  &(struct check_result){ .test = CHECK_JUMBO,
					  .to = 1,
					  .pass = 1,
					  .bytes = 8972,
					  .state = CHECK_FAILED,
					  .why = "no answer" });
	check_add(&arena, &c,
		  &(struct check_result){ .test = CHECK_JUMBO,
					  .to = 1,
					  .path = 1,
					  .pass = 1,
					  .bytes = 8972,
					  .state = CHECK_FAILED,
					  .why = "no answer" });
	/* TCP of the second path went through the first port. */
	r = check_add(&arena, &c,
		      &(struct check_result){ .test = CHECK_TCP, .to = 1, .path = 1, .n = 3 });
	r->traffic = traffic(0, a0, 1e9, a1, 1e4);
	r->n_traffic = 2;
	/* Both at once, and one of them idle though it is well alone. */
	check_add(&arena, &c,
		  &(struct check_result){ .test = CHECK_RDMA_WRITE, .to = 1, .path = 1, .n = 3 });
	r = check_add(&arena, &c,
		      &(struct check_result){
			      .test = CHECK_RDMA_WRITE, .to = 1, .together = true, .n = 3 });
	r->traffic = traffic(0, a0, 1e9, a1, 1e4);
	r->n_traffic = 2;
	check_add(&arena, &c,
		  &(struct check_result){
			  .test = CHECK_NCCL,
			  .to = 1,
			  .path = CHECK_NONE,
			  .operation = "all-reduce:64MiB",
			  .state = CHECK_FAILED,
			  .why = "NCCL uses TCP sockets between machines that have RDMA" });
	check_add(&arena, &c,
		  &(struct check_result){ .test = CHECK_RDMA_READ,
					  .to = 1,
					  .state = CHECK_FAILED,
					  .why = "rocep1s0f0: memory is refused: Cannot allocate "
						 "memory" });
	c.counts = arena_array(&arena, 2, sizeof(*c.counts));
	c.counts[c.n_counts++] = (struct check_count){ 0, a0, "rx_crc_errors_phy", 4, 9, "a" };
	c.counts[c.n_counts++] = (struct check_count){ 1, a1, "roce_adp_retrans", 7, 7, "b" };
	check_symptoms(&arena, &c);
	f = find(&c, "mtu-mismatch");
	assert_non_null(f);
	assert_string_equal(f->node, "n1");
	assert_non_null(strstr(f->evidence, "1500"));
	assert_non_null(find(&c, "mtu-path"));
	f = find(&c, "wrong-egress");
	assert_non_null(f);
	assert_string_equal(f->port, a1);
	f = find(&c, "half-speed-twin-unused");
	assert_non_null(f);
	assert_string_equal(f->port, a1);
	assert_non_null(find(&c, "socket-fallback"));
	assert_non_null(find(&c, "rdma-memory"));
	f = find(&c, "link-errors");
	assert_non_null(f);
	assert_non_null(strstr(f->evidence, "increased by 5"));
	/* What stood still is no finding. */
	assert_null(find(&c, "lossy-fabric"));
	for (size_t i = 0; i < c.cluster->n_findings; i++) {
		f = &c.cluster->findings[i];
		assert_true(*f->text && *f->evidence && *f->fix);
	}
	arena_free(&arena);
}

/* RDMA is slow, TCP is not, and nothing else is wrong: the state that no reading shows. */
static void test_degraded(void **state)
{
	struct check c = make_check(make_switch(4));

	(void)state;
	for (size_t i = 0; i < c.n_paths; i++)
		for (int rdma = 0; rdma < 2; rdma++)
			for (int back = 0; back < 2; back++) {
				const struct check_path *p = &c.paths[i];
				bool bad = rdma && (p->a.node == 2 || p->b.node == 2);

				check_add(&arena, &c,
					  &(struct check_result){
						  .test = rdma ? CHECK_RDMA_WRITE : CHECK_TCP,
						  .from = back ? p->b.node : p->a.node,
						  .to = back ? p->a.node : p->b.node,
						  .path = i,
						  .n = 3,
						  .value = bad ? 14 : 97,
						  .low = bad ? 13 : 96,
						  .high = bad ? 15 : 98 });
			}
	check_judge(&arena, &c);
	check_blame(&arena, &c);
	check_symptoms(&arena, &c);
	assert_int_equal(c.cluster->n_findings, 1);
	assert_string_equal(c.cluster->findings[0].code, "degraded-fabric");
	assert_string_equal(c.cluster->findings[0].node, "n2");
	assert_int_equal(c.cluster->findings[0].severity, CLUSTER_FAULT);
	arena_free(&arena);
}

static void test_forwarding(void **state)
{
	struct check c = make_check(make_ring(3));
	const struct cluster_finding *f;

	(void)state;
	c.cluster->nodes[1].ip_forward = num(1);
	c.cluster->nodes[1].forward = str("drop");
	c.cluster->nodes[1].forward_by = str("nft: ip filter FORWARD");
	check_add(&arena, &c,
		  &(struct check_result){ .test = CHECK_ROUTED,
					  .from = 0,
					  .to = 2,
					  .path = CHECK_NONE,
					  .address = "10.1.0.3",
					  .egress = check_port(&c, c.paths[0].a)->name,
					  .state = CHECK_FAILED,
					  .why = "no answer" });
	check_symptoms(&arena, &c);
	f = find(&c, "forward-drop");
	assert_non_null(f);
	assert_string_equal(f->node, "n1");
	assert_non_null(strstr(f->evidence, "nft: ip filter FORWARD"));
	assert_non_null(strstr(f->evidence, "10.1.0.3"));
	arena_free(&arena);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void test_earlier(void **state)
{
	struct check c = make_check(make_switch(3));
	const struct cluster_check_view v = cluster_check_view_of(&c, 0, 0);
	struct err e;
	json_t *j;

	(void)state;
	dice = 99;
	measure(&c, NULL, 0);
	j = result_shape_json(&cluster_check_result, &v, 0, 0);
	assert_non_null(j);
	assert_int_equal(json_array_size(json_object_get(j, "results")), 12);
	/* The same cluster later: one path of it carries half. */
	for (size_t i = 0; i < c.n_results; i++)
		c.results[i].value *= i == 3 ? 0.65 : 1.02;
	if (check_compare(&arena, &c, j, &e))
		fail_msg("%s", e.text);
	for (size_t i = 0; i < c.n_results; i++)
		assert_true(c.results[i].before >= 90);
	check_symptoms(&arena, &c);
	assert_int_equal(c.cluster->n_findings, 1);
	assert_string_equal(c.cluster->findings[0].code, "slower-than-before");
	json_object_set_new(j, "schema", json_string("gputune.other/1"));
	assert_int_equal(check_compare(&arena, &c, j, &e), -EINVAL);
	json_decref(j);
	j = json_pack("{s:s, s:[n, i, {s:s}], s:{}}", "schema", "gputune.cluster-check/1",
		      "results", 3, "test", "tcp", "cluster");
	assert_non_null(j);
	assert_int_equal(check_compare(&arena, &c, j, &e), -EINVAL);
	json_decref(j);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),	      cmocka_unit_test(test_switch),
		cmocka_unit_test(test_cables),	      cmocka_unit_test(test_two_faults),
		cmocka_unit_test(test_nothing_wrong), cmocka_unit_test(test_second_pass),
		cmocka_unit_test(test_again),	      cmocka_unit_test(test_odd_sets),
		cmocka_unit_test(test_bands),	      cmocka_unit_test(test_paths),
		cmocka_unit_test(test_symptoms),      cmocka_unit_test(test_degraded),
		cmocka_unit_test(test_forwarding),    cmocka_unit_test(test_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
