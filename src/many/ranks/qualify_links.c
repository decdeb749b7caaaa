/* SPDX-License-Identifier: Apache-2.0 */
/* Links between nodes: rails, how much a test moves, what is usual, groups, pairs, blame. */
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/stat.h"
#include "machine/host/libraries.h"
#include "many/cluster/node.h"
#include "many/ranks/qualify_links.h"
#include "many/ranks/suspects.h"

/* A test takes about this long on a healthy rail; the scheduler's share is allowed for. */
#define TEST_S 0.15
#define SLACK_S 0.05
#define WRONG_TESTS 0.01
#define SIGMA 1.4826 /* of a median absolute deviation */
enum {
	PARTNERS = 3,
	SINGLE_NODES = 512,
	CALIBRATIONS = 2,
	STEPS = 8,
	STEP = 8,
	INTERFACE_MAX = 32,
	FIRST_BYTES = 1 << 18,
	LEAST_BYTES = 1 << 16,
	MOST_BYTES = 1 << 30
};
#define FIRST_S 1.0
#define CALIBRATE_S (4 * TEST_S)

/* --- rails ------------------------------------------------------------------------------------ */

static void take_addresses(struct links *l, size_t node)
{
	struct addresses_answer *got = &l->addresses[node];

	if (!l->q->nodes[node].answered || !links_read(l, node, &addresses_answer_shape, got))
		got->n = 0;
	for (size_t i = 0; i < got->n; i++) {
		got->addresses[i].interface =
			cluster_clean_text(l->a, got->addresses[i].interface, INTERFACE_MAX);
		if (!exchange_address_holds(l->a, &got->addresses[i]))
			got->n = 0;
	}
}

static int ask_addresses(struct links *l)
{
	uint8_t token[EXCHANGE_TOKEN];
	char hex[2 * EXCHANGE_TOKEN + 1];
	struct err e = { 0 };
	int r = library_open(LIBRARY_SODIUM, &e);

	if (r) {
		qualify_note(l->a, l->q, arena_strdup(l->a, e.text));
		return r;
	}
	randombytes_buf(token, sizeof(token));
	sodium_bin2hex(hex, sizeof(hex), token, sizeof(token));
	randombytes_buf(&l->random, sizeof(l->random));
	for (size_t i = 0; i < l->c->n; i++)
		if (l->q->nodes[i].answered)
			l->with[i] = shape_object_json(&addresses_ask_shape,
						       &(struct addresses_ask){ hex });
	r = links_ask(l, "addresses", ANSWER_MS);
	l->addresses = arena_array(l->a, l->c->n, sizeof(*l->addresses));
	for (size_t i = 0; i < l->c->n && r == 0; i++)
		take_addresses(l, i);
	return r;
}

static bool network_of(struct arena *a, const struct exchange_address *x,
		       struct cluster_prefix *out)
{
	return cluster_prefix_parse(arena_printf(a, "%s/%lld", x->address, x->bits), out) == 0;
}

static struct qualify_rail *rail_new(struct links *l, const char *name)
{
	struct qualify *q = l->q;
	struct qualify_rail *r;

	if (q->n_rails == MEMBER_RAILS_MAX)
		return NULL;
	r = &ARENA_ADD(l->a, q->rails, q->n_rails);
	*r = (struct qualify_rail){
		.name = name, .gbit = NAN, .rtt_us = NAN, .tcp = NAN, .rdma = NAN
	};
	r->address = arena_array(l->a, l->c->n, sizeof(*r->address));
	for (size_t i = 0; i < l->c->n; i++)
		r->address[i] = NOWHERE;
	return r;
}

/* All nodes with an address in that network; two with the same one are of different networks. */
static void rail_of(struct links *l, size_t node, size_t address)
{
	const struct exchange_address *x = &l->addresses[node].addresses[address], *y;
	struct cluster_prefix net, other;
	struct qualify_rail *r;

	for (size_t i = 0; i < l->q->n_rails; i++)
		if (l->q->rails[i].address[node] == address)
			return;
	if (!network_of(l->a, x, &net))
		return;
	r = rail_new(l, arena_printf(l->a, "network of %s/%lld", x->address, x->bits));
	for (size_t i = 0; r && i < l->c->n; i++)
		for (size_t k = 0; k < l->addresses[i].n && r->address[i] == NOWHERE; k++) {
			y = &l->addresses[i].addresses[k];
			if (y->bits != x->bits || !network_of(l->a, y, &other) ||
			    !cluster_prefix_same(&net, &other) ||
			    ((i != node || k != address) && strcmp(x->address, y->address) == 0))
				continue;
			r->address[i] = k;
			r->n++;
		}
	if (r && r->n < 2)
		l->q->n_rails--;
}

static void find_rails(struct links *l)
{
	struct qualify_rail *r;

	for (size_t i = 0; i < l->c->n; i++)
		for (size_t k = 0; k < l->addresses[i].n; k++)
			rail_of(l, i, k);
	if (l->q->n_rails)
		return;
	/* Behind routers each has a network of its own. */
	r = rail_new(l, "routed");
	for (size_t i = 0; i < l->c->n; i++)
		if (l->addresses[i].n) {
			r->address[i] = 0;
			r->n++;
		}
	if (r->n < 2) {
		l->q->n_rails = 0;
		qualify_note(l->a, l->q, "fewer than two nodes have addresses: no link was tested");
	}
}

static int announce_rail(struct links *l, size_t number)
{
	const struct qualify_rail *r = &l->q->rails[number];
	struct rail_ask ask = { .rail = (long long)number, .n = l->c->n };

	ask.peers = arena_array(l->a, l->c->n, sizeof(*ask.peers));
	for (size_t i = 0; i < l->c->n; i++)
		ask.peers[i] =
			r->address[i] == NOWHERE ? "" : l->addresses[i].addresses[r->address[i]].at;
	for (size_t i = 0; i < l->c->n; i++) {
		ask.self = (long long)i;
		ask.address = (long long)r->address[i];
		if (r->address[i] != NOWHERE)
			l->with[i] = shape_object_json(&rail_ask_shape, &ask);
	}
	return links_ask(l, "rail", ANSWER_MS);
}

/* --- a test ----------------------------------------------------------------------------------- */

struct groups_result {
	bool bad;
	double seconds, rtt_us; /* medians of the nodes'; NAN */
	double wavers;		/* sigma of seconds, robust */
};

static size_t size_of(size_t n)
{
	size_t k = 1;

	while (((size_t)1 << k) < n && k + 1 < SIZES)
		k++;
	return k;
}

static double slow_s(const struct railing *r, size_t n)
{
	double usual = r->usual[size_of(n)], wavers = r->wavers[size_of(n)];

	if (!(usual > 0))
		return 0;
	return SLACK_S + fmax(usual / QUALIFY_RATE, usual + QUALIFY_SIGMAS * wavers);
}

/* Groups of size of these nodes, all at once; the last may be smaller. limit_s: nothing is judged;
 * 0: by what is usual. */
static struct groups_result run_groups(struct railing *r, const size_t *nodes, size_t n,
				       size_t size, double limit_s)
{
	struct links *l = r->l;
	struct groups_result out = { .seconds = NAN, .rtt_us = NAN };
	double slow = limit_s > 0 ? 0 : slow_s(r, size), *seconds, *rtt;
	struct group_ask ask = { .rail = (long long)r->number,
				 .bytes = r->rail->pair_bytes / (long long)(size - 1),
				 .limit_s = slow > 0 ? slow + SLACK_S : limit_s,
				 .slow_s = slow,
				 .late_us = limit_s > 0 ? 0 : r->late_us };
	size_t n_seconds = 0, n_rtt = 0;

	seconds = arena_array(l->a, n, sizeof(*seconds));
	rtt = arena_array(l->a, n, sizeof(*rtt));
	ask.group = arena_array(l->a, size, sizeof(*ask.group));
	ask.bytes = ask.bytes < 4096 ? 4096 : ask.bytes;
	for (size_t i = 0; i < n; i++) {
		size_t first = i - i % size;

		ask.n = n - first < size ? n - first : size;
		ask.test = l->test + (long long)first;
		memcpy(ask.group, nodes + first, ask.n * sizeof(*ask.group));
		if (ask.n > 1)
			l->with[nodes[i]] = shape_object_json(&group_ask_shape, &ask);
	}
	l->test += (long long)n;
	r->rail->tests++;
	links_ask(l, "exchange", ANSWER_MS + (int)(1000 * ask.limit_s));
	for (size_t i = 0; i < n; i++) {
		struct exchange_answer *got = ARENA_NEW(l->a, struct exchange_answer);

		if (!links_read(l, nodes[i], &exchange_answer_shape, got)) {
			out.bad = true;
			continue;
		}
		out.bad = out.bad || got->n_bad;
		if (isfinite(got->seconds))
			seconds[n_seconds++] = got->seconds;
		if (isfinite(got->rtt_us))
			rtt[n_rtt++] = got->rtt_us;
	}
	if (n_seconds)
		stat_mad(seconds, n_seconds, &out.wavers);
	out.wavers *= SIGMA;
	out.seconds = n_seconds ? stat_median_in_place(seconds, n_seconds) : NAN;
	out.rtt_us = n_rtt ? stat_median_in_place(rtt, n_rtt) : NAN;
	return out;
}

static void shuffle(struct railing *r)
{
	for (size_t i = r->n; i > 1; i--) {
		size_t k = stat_random_below(&r->l->random, i), t = r->on[k];

		r->on[k] = r->on[i - 1];
		r->on[i - 1] = t;
	}
}

/* How much to move: what begins in a buffer on the way says little, so it grows step by step. */
static bool scale(struct railing *r)
{
	bool known = false;

	r->rail->pair_bytes = FIRST_BYTES;
	for (int i = 0; i < STEPS && !links_over(r->l); i++) {
		struct groups_result got =
			run_groups(r, r->on, r->n, r->n, i ? CALIBRATE_S : FIRST_S);
		double factor = got.seconds > 0 ? TEST_S / got.seconds : 1.0 / STEP, bytes;

		known = got.seconds > 0;
		if (known && factor > 0.7 && factor < 1.4)
			break;
		factor = factor > STEP ? STEP : factor;
		bytes = (double)r->rail->pair_bytes * factor;
		bytes = bytes < LEAST_BYTES ? LEAST_BYTES : bytes > MOST_BYTES ? MOST_BYTES : bytes;
		r->rail->pair_bytes = (long long)bytes;
	}
	return known;
}

/* How long that takes in groups of every size. False: nothing comes through. */
static bool calibrate(struct railing *r)
{
	struct groups_result got;
	double rtt = 0;

	if (!scale(r))
		return false;
	for (size_t k = 1; k < SIZES; k++) {
		size_t size = (size_t)1 << k < r->n ? (size_t)1 << k : r->n;

		for (int i = 0; i < CALIBRATIONS && !links_over(r->l); i++) {
			shuffle(r);
			got = run_groups(r, r->on, r->n, size, CALIBRATE_S);
			r->usual[k] = fmax(r->usual[k], got.seconds);
			r->wavers[k] = fmax(r->wavers[k], got.wavers);
			rtt = got.rtt_us > rtt ? got.rtt_us : rtt;
		}
		if (size == r->n || r->n <= QUALIFY_PAIRS_NODES)
			break;
	}
	r->late_us = rtt > 0 ? QUALIFY_LATENCY * rtt + QUALIFY_LATENCY_US : 0;
	r->rail->rtt_us = rtt > 0 ? rtt : NAN;
	r->rail->gbit = 8e-9 * (double)r->rail->pair_bytes /
			r->usual[r->n <= QUALIFY_PAIRS_NODES ? 1 : size_of(r->n)];
	return true;
}

/* What went wrong is tried a second time. */
static bool group_is_bad(void *ctx, const unsigned *group, unsigned n)
{
	struct railing *r = ctx;
	size_t *nodes = arena_array(r->l->a, n, sizeof(*nodes));

	for (unsigned i = 0; i < n; i++)
		nodes[i] = r->on[group[i]];
	for (int i = 0; i < 2; i++)
		if (links_over(r->l) || !run_groups(r, nodes, n, n, 0).bad)
			return false;
	return true;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static const char *pair_why(struct railing *r, size_t from, size_t to)
{
	struct links *l = r->l;
	struct exchange_answer *got = ARENA_NEW(l->a, struct exchange_answer);
	const struct exchange_bad *b;

	if (!links_read(l, to, &exchange_answer_shape, got))
		return "no answer";
	if (!got->n_bad)
		return NULL;
	b = &got->bad[0];
	if (strcmp(b->why, "slow") == 0 && b->rate >= 0)
		return arena_printf(l->a, "%s to %s: %.3g Gbit/s, usually %.3g",
				    l->q->nodes[from].name, l->q->nodes[to].name, 8e-9 * b->rate,
				    8e-9 * (double)r->rail->pair_bytes / r->usual[1]);
	if (isfinite(b->rtt_us) && b->rtt_us > r->late_us)
		return arena_printf(l->a, "%s to %s: round trips of %.0f us, usually %.0f",
				    l->q->nodes[from].name, l->q->nodes[to].name, b->rtt_us,
				    r->rail->rtt_us);
	return arena_printf(l->a, "%s to %s: %s", l->q->nodes[from].name, l->q->nodes[to].name,
			    cluster_clean_text(l->a, b->why, 100));
}

/* Once, and what went wrong again. True: it is bad. */
static bool try_pair(struct railing *r, size_t a, size_t b)
{
	struct links *l = r->l;
	const size_t nodes[] = { a, b };
	struct qualify_pair p = { .rail = r->number, .a = a, .b = b, .value = NAN };

	for (size_t i = 0; i < l->q->n_pairs; i++)
		if (l->q->pairs[i].test == PAIR_EXCHANGE && l->q->pairs[i].rail == r->number &&
		    ((l->q->pairs[i].a == a && l->q->pairs[i].b == b) ||
		     (l->q->pairs[i].a == b && l->q->pairs[i].b == a)))
			return l->q->pairs[i].why != NULL;
	for (int i = 0; i < 2 && !l->error; i++) {
		run_groups(r, nodes, 2, 2, 0);
		p.why = pair_why(r, a, b);
		p.why = p.why ? p.why : pair_why(r, b, a);
		if (!p.why)
			break;
	}
	return links_add_pair(l, &p);
}

static void all_pairs(struct railing *r)
{
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = i + 1; k < r->n && !links_over(r->l); k++)
			try_pair(r, r->on[i], r->on[k]);
	r->rail->whole = !links_over(r->l);
}

/* With nodes that nobody suspects, and these with each other. */
static void with_partners(struct railing *r, size_t node)
{
	size_t partner[PARTNERS], n = 0;

	for (size_t i = 0; i < r->n && n < PARTNERS; i++)
		if (r->on[i] != node && !r->l->suspected[r->on[i]])
			partner[n++] = r->on[i];
	for (size_t i = 0; i < n; i++) {
		try_pair(r, node, partner[i]);
		try_pair(r, partner[i], partner[(i + 1) % n]);
	}
}

static void confirm(struct railing *r, const struct suspects *s)
{
	struct links *l = r->l;
	size_t before;

	for (unsigned i = 0; i < s->n; i++) {
		l->suspected[r->on[s->at[i].a]] = true;
		if (s->at[i].kind == SUSPECT_PAIR)
			l->suspected[r->on[s->at[i].b]] = true;
	}
	for (unsigned i = 0; i < s->n; i++) {
		const struct suspect *x = &s->at[i];
		size_t a = r->on[x->a], b = r->on[x->b];
		bool bad = false;

		before = l->q->n_pairs;
		if (x->kind == SUSPECT_PAIR) {
			try_pair(r, a, b);
			with_partners(r, b);
		}
		with_partners(r, a);
		for (size_t k = before; k < l->q->n_pairs; k++)
			bad = bad || l->q->pairs[k].why;
		if (!bad && l->q->n_pairs > before)
			qualify_note(l->a, l->q,
				     arena_printf(l->a,
						  "%s: groups that contain %s are slow, pairs are "
						  "not; test again under load",
						  r->rail->name, l->q->nodes[a].name));
	}
}

/*
 * In a group a pair has a small part of its nodes' rate, and one that is slow alone does not show.
 * So all pairs of nodes that are good have a round by themselves, as many at once as there are.
 */
static void single_pairs(struct railing *r)
{
	struct links *l = r->l;
	size_t *good = arena_array(l->a, r->n, sizeof(*good)), n = 0, n_bad = 0;
	size_t *pairs = arena_array(l->a, r->n + 1, sizeof(*pairs)), *bad = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (!l->suspected[r->on[i]])
			good[n++] = r->on[i];
	for (size_t round = 0; n > 1 && round + 1 < n + n % 2 && !links_over(l); round++) {
		size_t k = suspects_round(good, n, round, pairs);

		run_groups(r, pairs, k, 2, 0);
		for (size_t i = 0; i < k; i++) {
			if (!pair_why(r, pairs[i ^ 1], pairs[i]))
				continue;
			ARENA_ADD(l->a, bad, n_bad) = pairs[i & ~(size_t)1];
			ARENA_ADD(l->a, bad, n_bad) = pairs[i | 1];
		}
	}
	for (size_t i = 0; i < n_bad && !links_over(l); i += 2)
		if (try_pair(r, bad[i], bad[i + 1])) {
			with_partners(r, bad[i]);
			with_partners(r, bad[i + 1]);
		}
	r->rail->whole = r->rail->whole && !links_over(l);
}

/* --- blame ------------------------------------------------------------------------------------ */

/* Parts: nodes; then ports by rail and node; then a path for each pair. */
static size_t port_part(const struct links *l, size_t rail, size_t node)
{
	return l->c->n + rail * l->c->n + node;
}

static size_t path_part(const struct links *l, size_t pair)
{
	return l->c->n + l->c->n * l->q->n_rails + pair;
}

static const char *part_text(struct links *l, size_t part, size_t *node)
{
	size_t n = l->c->n, rail = part / n - 1;
	const struct qualify_pair *p;
	const struct qualify *q = l->q;

	*node = part < path_part(l, 0) ? part % n : NOWHERE;
	if (part < n)
		return arena_printf(l->a, "node %s", q->nodes[part].name);
	if (*node != NOWHERE)
		return arena_printf(
			l->a, "port %s of %s",
			l->addresses[*node].addresses[q->rails[rail].address[*node]].interface,
			q->nodes[*node].name);
	p = &l->q->pairs[part - path_part(l, 0)];
	return arena_printf(l->a, "path between %s and %s (%s)", q->nodes[p->a].name,
			    q->nodes[p->b].name, q->rails[p->rail].name);
}

static struct blame_set blame_parts(struct links *l, enum pair_test test)
{
	size_t n = l->c->n;
	struct blame_set set = { .n_parts = path_part(l, l->q->n_pairs) };
	size_t *within = arena_array(l->a, set.n_parts, sizeof(*within));
	struct blame_test *tests = arena_array(l->a, l->q->n_pairs, sizeof(*tests));

	for (size_t i = 0; i < set.n_parts; i++)
		within[i] = i < path_part(l, 0) ? i % n : i;
	for (size_t i = 0; i < l->q->n_pairs; i++) {
		const struct qualify_pair *p = &l->q->pairs[i];

		if (p->test != test)
			continue;
		tests[set.n_tests++] =
			(struct blame_test){ .parts = { p->a, p->b, port_part(l, p->rail, p->a),
							port_part(l, p->rail, p->b),
							path_part(l, i) },
					     .n = 5,
					     .bad = p->why != NULL };
	}
	set.within = within;
	set.tests = tests;
	return set;
}

/* The first test that went wrong with it. */
static const char *evidence_of(const struct links *l, const struct blame_set *set, size_t part)
{
	for (size_t t = 0; t < set->n_tests; t++)
		for (size_t i = 0; i < set->tests[t].n && set->tests[t].bad; i++)
			if (set->tests[t].parts[i] == part)
				return l->q->pairs[set->tests[t].parts[4] - path_part(l, 0)].why;
	return "";
}

static void add_fault(struct links *l, const struct blame_set *set, const struct blame_verdict *v)
{
	struct qualify *q = l->q;
	struct qualify_fault f = { .evidence = evidence_of(l, set, v->parts[0]) };
	size_t node, other;
	bool one = true;

	f.what = part_text(l, v->parts[0], &node);
	f.certain = v->certain;
	for (size_t i = 1; i < v->n; i++) {
		const char *text = part_text(l, v->parts[i], &other);

		one = one && other == node;
		f.others = f.others ? arena_printf(l->a, "%s; %s", f.others, text) : text;
	}
	/* Not where the fault can be elsewhere. */
	if (node != NOWHERE && one) {
		f.node = q->nodes[node].name;
		qualify_reason(l->a, &q->nodes[node], QUALIFY_DRAIN,
			       arena_printf(l->a, "%s: %s", f.what, f.evidence));
	}
	qualify_add_fault(l->a, q, &f);
}

/* --- all of them ------------------------------------------------------------------------------ */

static void test_rail(struct links *l, size_t number)
{
	struct railing *r = ARENA_NEW(l->a, struct railing);
	struct suspects_ask ask = { .wrong = WRONG_TESTS, .expected = 2, .test = group_is_bad };
	struct suspects found;

	*r = (struct railing){ .l = l, .rail = &l->q->rails[number], .number = number };
	r->on = arena_array(l->a, l->c->n, sizeof(*r->on));
	for (size_t i = 0; i < l->c->n; i++)
		if (r->rail->address[i] != NOWHERE)
			r->on[r->n++] = i;
	if (announce_rail(l, number))
		return;
	links_test_paths(r);
	if (!calibrate(r)) {
		/* Each pair says for itself whether anything does. */
		r->rail->pair_bytes = LEAST_BYTES;
		r->usual[1] = FIRST_S;
	}
	if (r->n <= QUALIFY_PAIRS_NODES || !(r->rail->gbit > 0)) {
		all_pairs(r);
		return;
	}
	ask.nodes = (unsigned)r->n;
	ask.ctx = r;
	found = suspects_find(l->a, &ask);
	r->rail->whole = found.whole && !links_over(l);
	r->rail->pairs_untested = found.pairs_untested;
	confirm(r, &found);
	if (r->n <= SINGLE_NODES)
		single_pairs(r);
	else
		qualify_note(l->a, l->q,
			     arena_printf(l->a, "%s: too many nodes to test each pair separately",
					  r->rail->name));
}

int qualify_links(struct arena *a, const struct channel *c, const struct qualify_how *how,
		  double seconds, struct qualify *out)
{
	struct links l = { .a = a, .c = c, .how = how, .q = out, .test = 1 };

	l.end_ns = clock_mono_ns() + (long long)(seconds * 1e9);
	l.replies = arena_array(a, c->n, sizeof(*l.replies));
	l.with = arena_array(a, c->n, sizeof(*l.with));
	l.suspected = arena_array(a, c->n, sizeof(*l.suspected));
	if (ask_addresses(&l))
		return l.error;
	find_rails(&l);
	for (size_t i = 0; i < out->n_rails && !l.error; i++) {
		l.line = arena_printf(a, "links: %s", out->rails[i].name);
		test_rail(&l, i);
	}
	if (!how->no_bench)
		links_test_collectives(&l);
	links_missing_ports(&l);
	for (enum pair_test t = 0; t < PAIR_TESTS; t++) {
		struct blame_set set = blame_parts(&l, t);
		struct blame blame = blame_judge(a, &set);

		for (size_t k = 0; k < blame.n; k++)
			add_fault(&l, &set, &blame.items[k]);
	}
	return l.error;
}
