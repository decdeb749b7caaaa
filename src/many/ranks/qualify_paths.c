/* SPDX-License-Identifier: Apache-2.0 */
/* Asking nodes; paths between two of them by themselves, the GPUs of all, and ports that are not
 * there. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "many/cluster/messages.h"
#include "many/ranks/qualify_links.h"
#include "measure/bench/net/wire.h"

enum {
	PAIRS_MAX = 4096,
	ECHO_SMALL = 56, /* bytes */
	HEADS_4 = 28,	 /* of IP and ICMP */
	HEADS_6 = 48,
	NCCL_MS = 90000,
	MEET_PORT = 20000, /* where rank 0 of collectives listens, and so many beyond */
	MEET_PORTS = 10000
};
#define NCCL_CASE "all-gather:1GiB"

/* --- asking ----------------------------------------------------------------------------------- */

int links_ask(struct links *l, const char *what, int ms)
{
	int r;

	if (l->how->say && l->line)
		l->how->say(l->how->ctx, fmax(0, (double)(l->end_ns - clock_mono_ns()) / 1e9),
			    l->line);
	r = l->c->ask(l->c->ctx, what, l->with, ms, l->replies);
	memset(l->with, 0, l->c->n * sizeof(*l->with));
	l->error = l->error ? l->error : r;
	return r;
}

bool links_read(struct links *l, size_t node, const struct shape *s, void *out)
{
	struct err e;

	return l->replies[node].answer &&
	       shape_read(l->a, s, l->replies[node].answer, out, &e) == 0;
}

bool links_over(const struct links *l)
{
	return l->error || clock_mono_ns() >= l->end_ns;
}

bool links_add_pair(struct links *l, const struct qualify_pair *p)
{
	struct qualify *q = l->q;
	struct qualify_pair *x;

	if (l->error || q->n_pairs == PAIRS_MAX)
		return false;
	x = &ARENA_ADD(l->a, q->pairs, q->n_pairs);
	*x = *p;
	x->network = q->rails[p->rail].name;
	x->from = q->nodes[p->a].name;
	x->to = q->nodes[p->b].name;
	return p->why != NULL;
}

/* --- a path by itself ------------------------------------------------------------------------- */

static const struct exchange_address *end_of(const struct railing *r, size_t node)
{
	return &r->l->addresses[node].addresses[r->rail->address[node]];
}

/* NAN: not measured. */
static double path_rate(struct railing *r, const char *bench, const char *name, size_t a, size_t b)
{
	struct links *l = r->l;
	struct measure_answer got;
	const struct measure_ask ask = { .peer = end_of(r, b)->bench,
					 .bench = bench,
					 .name = name };

	if (!ask.peer)
		return NAN;
	l->with[a] = shape_object_json(&measure_ask_shape, &ask);
	if (links_ask(l, "measure", ANSWER_MS))
		return NAN;
	if (links_read(l, a, &measure_answer_shape, &got) && got.value >= 0)
		return got.value;
	qualify_note(l->a, l->q,
		     arena_printf(l->a, "%s from %s to %s was not measured: %s", bench,
				  l->q->nodes[a].name, l->q->nodes[b].name,
				  l->replies[a].failure ? l->replies[a].failure : "no answer"));
	return NAN;
}

/* Both ways; what is too slow again. The slower way, NAN where it was not measured. */
static double measure_path(struct railing *r, enum pair_test test, size_t a, size_t b)
{
	static const char *const cases[][2] = { { "send:4", "receive:4" },
						{ "write:64KiB", "read:64KiB" } };
	const struct qualify_node *x = &r->l->q->nodes[a], *y = &r->l->q->nodes[b];
	const char *bench = test == PAIR_TCP ? "tcp" : "rdma", *by;
	struct qualify_pair p = { .test = test, .rail = r->number, .a = a, .b = b };
	double wanted = qualify_wanted(r->l->a, x, y, bench,
				       fmin((double)end_of(r, a)->mbps, (double)end_of(r, b)->mbps),
				       &by),
	       lowest = NAN;

	for (size_t i = 0; i < 2 && (test == PAIR_TCP || wanted > 0); i++) {
		const char *name = cases[test == PAIR_RDMA][i];
		double got = path_rate(r, bench, name, a, b);

		if (got < wanted)
			got = fmax(got, path_rate(r, bench, name, a, b));
		if (got < wanted)
			p.why = arena_printf(
				r->l->a, "%s %s between %s and %s: %.3g Gbit/s, expected %.3g (%s)",
				bench, name, x->name, y->name, got, wanted, by);
		lowest = fmin(lowest, got);
	}
	p.value = lowest;
	if (isfinite(lowest))
		links_add_pair(r->l, &p);
	return lowest;
}

/* An echo that must not be fragmented, as large as the MTU of that end. */
static void large_packet(struct railing *r, size_t from, size_t to)
{
	const struct exchange_address *x = end_of(r, from), *y = end_of(r, to);
	long long bytes = x->mtu - (strchr(x->address, ':') ? HEADS_6 : HEADS_4);
	struct ping_target targets[] = { { x->address, y->address, ECHO_SMALL },
					 { x->address, y->address, bytes } };
	const struct ping_ask ask = { targets, 2, 3, 300 };
	struct qualify_pair p = {
		.test = PAIR_LARGE, .rail = r->number, .a = from, .b = to, .value = NAN
	};
	struct links *l = r->l;
	struct ping_answer got;

	if (bytes <= ECHO_SMALL || bytes > UINT16_MAX - HEADS_4)
		return;
	l->with[from] = shape_object_json(&ping_ask_shape, &ask);
	/* A dead path is the exchange's matter. */
	if (links_ask(l, "ping", ANSWER_MS) || !links_read(l, from, &ping_answer_shape, &got) ||
	    got.n != 2 || got.echoes[0].got <= 0)
		return;
	if (got.echoes[1].got <= 0)
		p.why = arena_printf(l->a,
				     "packets of %lld bytes from %s to %s get lost, small ones do "
				     "not; the MTU at the destination is %lld",
				     x->mtu, l->q->nodes[from].name, l->q->nodes[to].name, y->mtu);
	links_add_pair(l, &p);
}

/* Of many nodes the first few. The lower number measures: a server ends with its thread, and that
 * of rank 0 lives no longer than an answer. */
void links_test_paths(struct railing *r)
{
	size_t n = r->n < QUALIFY_PAIRS_NODES ? r->n : QUALIFY_PAIRS_NODES;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n && !links_over(r->l); k++) {
			size_t a = r->on[i], b = r->on[k];

			large_packet(r, a, b);
			large_packet(r, b, a);
			/* What carries what the CPUs have left is compared with its peers. */
			if (n > 2 && (end_of(r, a)->mbps <= 0 || end_of(r, b)->mbps <= 0))
				continue;
			r->rail->tcp = fmin(r->rail->tcp, measure_path(r, PAIR_TCP, a, b));
			r->rail->rdma = fmin(r->rail->rdma, measure_path(r, PAIR_RDMA, a, b));
			r->rail->paths++;
		}
}

/* --- GPUs of all nodes together --------------------------------------------------------------- */

/* NCCL between those that have GPUs, on the first network that all of them are on. */
void links_test_collectives(struct links *l)
{
	const char *name = NCCL_CASE, *by = "";
	size_t *on = arena_array(l->a, l->c->n, sizeof(*on)), n = 0, rail = 0;
	struct qualify_pair p = { .test = PAIR_NCCL, .value = NAN };
	struct measure_ask ask = { .bench = "collectives", .name = name };
	struct measure_answer got;
	double wanted = 0;

	for (size_t i = 0; i < l->c->n; i++)
		if (l->q->nodes[i].n_products)
			on[n++] = i;
	for (bool all = false; n > 1 && rail < l->q->n_rails && !all; rail += !all) {
		all = true;
		for (size_t i = 0; i < n; i++)
			all = all && l->q->rails[rail].address[on[i]] != NOWHERE;
	}
	if (n < 2 || n > WIRE_RANKS_MAX || rail == l->q->n_rails || links_over(l))
		return;
	{
		const struct exchange_address *x =
			&l->addresses[on[0]].addresses[l->q->rails[rail].address[on[0]]];

		ask.peer = arena_printf(l->a, strchr(x->address, ':') ? "[%s]:%zu" : "%s:%zu",
					x->address,
					MEET_PORT + stat_random_below(&l->random, MEET_PORTS));
		wanted = n == 2 ? qualify_wanted(l->a, &l->q->nodes[on[0]], &l->q->nodes[on[1]],
						 "nccl", (double)x->mbps, &by)
				: 0;
	}
	ask.ranks = (long long)n;
	for (size_t i = 0; i < n; i++) {
		ask.rank = (long long)i;
		l->with[on[i]] = shape_object_json(&measure_ask_shape, &ask);
	}
	if (links_ask(l, "measure", NCCL_MS))
		return;
	p.rail = rail;
	p.a = on[0];
	p.b = on[n - 1];
	if (links_read(l, on[0], &measure_answer_shape, &got) && got.value > 0)
		p.value = got.value;
	else
		p.why = arena_printf(l->a, "NCCL of %zu nodes: %s", n,
				     l->replies[on[0]].failure ? l->replies[on[0]].failure
							       : "no answer");
	if (p.value < wanted)
		p.why = arena_printf(l->a, "NCCL %s: %.3g GB/s, expected %.3g (%s)", name, p.value,
				     wanted, by);
	if (n == 2 || !p.why)
		links_add_pair(l, &p);
	else
		qualify_add_fault(l->a, l->q,
				  &(struct qualify_fault){ .what = "NCCL between all nodes",
							   .evidence = p.why });
}

/* --- ports that are not there ----------------------------------------------------------------- */

/* Ports of hardware with an address, of a node. */
static size_t ports_of(const struct links *l, size_t node)
{
	size_t n = 0;

	for (size_t i = 0; i < l->addresses[node].n; i++)
		n += l->addresses[node].addresses[i].mbps > 0;
	return n;
}

static void add_missing(struct links *l, size_t node, const char *evidence, bool certain)
{
	struct qualify_node *n = &l->q->nodes[node];
	const struct qualify_fault f = { .what = arena_printf(l->a, "ports of %s", n->name),
					 .node = certain ? n->name : NULL,
					 .evidence = evidence,
					 .certain = certain };

	qualify_add_fault(l->a, l->q, &f);
	if (certain)
		qualify_reason(l->a, n, QUALIFY_DRAIN, evidence);
}

/* Fewer than most nodes have; of two nodes, than the other has. */
void links_missing_ports(struct links *l)
{
	struct qualify *q = l->q;

	for (size_t i = 0; i < q->n; i++) {
		size_t own = ports_of(l, i), more = 0, others = 0, usual = 0;

		for (size_t k = 0; k < q->n; k++) {
			size_t n = ports_of(l, k);

			others += k != i && q->nodes[k].answered;
			more += k != i && n > own;
			usual = n > own && (!usual || n < usual) ? n : usual;
		}
		if (q->nodes[i].answered && others && 4 * more >= 3 * others)
			add_missing(l, i,
				    arena_printf(l->a,
						 "%zu ports have a link and an address; %zu of the "
						 "other %zu nodes have %zu or more such ports",
						 own, more, others, usual),
				    more > 1);
	}
}
