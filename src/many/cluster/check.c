/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a check: counters, echoes, then what paths carry, in rounds of disjoint pairs; what
 * is bad once more, by itself; counters again. Then the pure parts say what it means.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sodium.h>

#include "many/cluster/check.h"
#include "base/clock.h"
#include "many/cluster/ask.h"
#include "many/cluster/messages.h"

/* Windows of 100 ms a measurement: as many as let all rounds end in time. */
enum { WINDOWS_LEAST = 2, WINDOWS_MOST = 10, JOBS_MAX = 256, AGAIN_WINDOWS = 5, AGAIN_ALONE = 8 };
#define MEASURING_S 30.0
#define WINDOW_S 0.1
#define AROUND_S 0.25 /* opening, the first window, closing */

static void check_run_report(const struct check_run *r, const char *text)
{
	if (r->how->say)
		r->how->say(r->how->ctx, text);
}

static bool echoed(const struct check *c, size_t path, enum check_test test)
{
	for (int back = 0; back < 2; back++) {
		const struct check_path *p = &c->paths[path];
		struct check_result like = { .test = test,
					     .from = back ? p->b.node : p->a.node,
					     .to = back ? p->a.node : p->b.node,
					     .path = path };
		const struct check_result *r = check_newest(c, &like);

		if (!r || r->state != CHECK_GOOD)
			return false;
	}
	return true;
}

/* Why RDMA is not tried on a path; "": there is no such thing on it; NULL: it is. */
static const char *cluster_check_no_rdma(struct arena *a, const struct check *c, size_t path)
{
	const struct check_path *p = &c->paths[path];
	const struct cluster_end ends[] = { p->a, p->b };
	size_t devices = 0;

	for (int i = 0; i < 2; i++)
		devices += seen_ok(&check_port(c, ends[i])->rdma_device.f);
	for (int i = 0; i < 2 && devices; i++) {
		const struct cluster_port *x = check_port(c, ends[i]);
		const char *node = check_node(c, ends[i].node)->name;

		if (fact_or(&check_node(c, ends[i].node)->captured, 0))
			return "RDMA devices are known only from a capture";
		if (!seen_ok(&x->rdma_device.f))
			return arena_printf(a, "%s of %s has no RDMA device", x->name, node);
		if (!fact_is(&x->rdma_state, "ACTIVE"))
			return arena_printf(a, "%s of %s is %s, not ACTIVE", x->rdma_device.v, node,
					    fact_text(&x->rdma_state, "in an unknown state"));
	}
	if (devices && !echoed(c, path, CHECK_JUMBO))
		return "packets as large as the MTU are lost, so writes would end in retries";
	return devices ? NULL : "";
}

/* Which way nodes would send to those that they share no path with: discovery asks only for what
 * lies at the other end of a wire. */

enum { ROUTED_ANSWER_MS = 8000 };

/* The addresses by which other paths end at nodes that x has none to. */
static void far_addresses(struct arena *a, const struct check *c, size_t x, struct look_ask *out)
{
	for (size_t i = 0; i < c->n_paths; i++)
		for (int b = 0; b < 2 && !c->paths[i].untestable; b++) {
			const struct check_path *p = &c->paths[i];
			size_t y = b ? p->b.node : p->a.node;

			if (y == x || check_has_path(c, x, y) || out->n == CLUSTER_ADDRESSES_MAX)
				continue;
			out->to = arena_grow(a, out->to, out->n, sizeof(*out->to));
			out->to[out->n++] = check_address(p, y);
		}
}

static void routed_keep(struct check_run *r, size_t node, const json_t *answer)
{
	struct cluster_node got = { 0 }, *n = &r->c->cluster->nodes[node];
	struct err e;

	if (!answer || cluster_node_read(r->a, json_object_get(answer, "node"), &got, &e))
		return;
	LIST_FOR_EACH (const struct cluster_route, route, &got.routes)
		if (n->routes.n < CLUSTER_ROUTES_MAX)
			*(struct cluster_route *)list_add(r->a, &n->routes, sizeof(*route)) =
				*route;
}

/* Routes to nodes without a path of their own, added to the nodes'. */
static int check_run_routes(struct check_run *r)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		struct look_ask ask = { 0 };

		if (check_run_lives(r, i))
			far_addresses(r->a, r->c, i, &ask);
		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] = ask.n && rsh_send(r->rsh, i, "routes",
					     shape_object_json(&look_ask_shape, &ask)) == 0;
	}
	code = rsh_wait(r->rsh, which, ROUTED_ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++)
		if (which[i])
			routed_keep(r, i, r->replies[i].answer);
	return code;
}

/* Echoes over every path in both directions, small and as large as the MTU, and through nodes that
 * forward. */

enum { SMALL = 56, TRIES = 2, LIMIT_MS = 300, ECHO_ANSWER_MS = 8000, ROUTED_MAX = 64 };

/* What every node is asked, and which results it answers. */
struct asked {
	struct ping_target *targets;
	struct check_result *results;
	size_t n;
};

static void want(struct check_run *r, struct asked *by_node, const struct check_result *one)
{
	const struct check_path *p = one->path == CHECK_NONE ? NULL : &r->c->paths[one->path];
	struct asked *k = &by_node[one->from];
	const char *from, *to;

	if (k->n == MEASURE_TARGETS_MAX || !check_run_lives(r, one->from))
		return;
	from = p ? check_address(p, one->from) : one->how;
	to = p ? check_address(p, one->to) : one->address;
	k->targets = arena_grow(r->a, k->targets, k->n, sizeof(*k->targets));
	k->targets[k->n] = (struct ping_target){ from, to, (long long)one->bytes };
	k->results = arena_grow(r->a, k->results, k->n, sizeof(*k->results));
	k->results[k->n++] = *one;
}

static void check_receive(struct check_run *r, struct check_result *one,
			  const struct ping_echo *echo)
{
	bool came = echo->got > 0 && echo->us > 0 && isfinite(echo->us);

	one->state = came ? CHECK_GOOD : CHECK_FAILED;
	one->how = NULL;
	one->why = came ? NULL
			: cluster_clean_text(r->a, echo->error ? echo->error : "no answer", 200);
	if (came && one->test == CHECK_PING) {
		one->n = 1;
		one->value = one->low = one->high = echo->us;
	}
	check_add(r->a, r->c, one);
}

static int ask_all(struct check_run *r, struct asked *by_node)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		const struct ping_ask ask = { by_node[i].targets, by_node[i].n, TRIES, LIMIT_MS };

		which[i] = ask.n && rsh_send(r->rsh, i, "ping",
					     shape_object_json(&ping_ask_shape, &ask)) == 0;
		r->replies[i] = (struct rsh_reply){ 0 };
	}
	code = rsh_wait(r->rsh, which, ECHO_ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		struct ping_answer said;

		if (!which[i] || !message_read(r->a, &r->replies[i], &ping_answer_shape, &said))
			continue;
		for (size_t k = 0; k < by_node[i].n; k++)
			check_receive(r, &by_node[i].results[k],
				      k < said.n ? &said.echoes[k]
						 : &(const struct ping_echo){ 0 });
	}
	return code;
}

static void want_paths(struct check_run *r, struct asked *by_node)
{
	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *p = &r->c->paths[i];
		unsigned jumbo = check_jumbo_bytes(r->c, p);

		for (int back = 0; back < 2 && !p->untestable; back++) {
			struct check_result one = { .test = CHECK_PING,
						    .from = back ? p->b.node : p->a.node,
						    .to = back ? p->a.node : p->b.node,
						    .path = i,
						    .pass = 1,
						    .bytes = SMALL };

			want(r, by_node, &one);
			one.test = CHECK_JUMBO;
			one.bytes = jumbo;
			if (jumbo)
				want(r, by_node, &one);
		}
	}
}

/* Our own address on the port that a route leaves by, if a path begins there. */
static const char *own_address(const struct check *c, size_t node, const char *port)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		const struct check_path *p = &c->paths[i];

		if ((p->a.node == node || p->b.node == node) && !p->untestable &&
		    strcmp(check_port(c, check_end(p, node))->name, port) == 0)
			return check_address(p, node);
	}
	return NULL;
}

static bool is_address_of(const struct cluster_node *n, const char *address)
{
	NODE_PORTS(p, n)
	{
		LIST_FOR_EACH (const struct cluster_address, x, &p->addresses)
			if (strncmp(x->name, address, strlen(address)) == 0 &&
			    x->name[strlen(address)] == '/')
				return true;
	}
	return false;
}

/* Nodes without a cable between them may still have to reach each other, through a third. */
static void want_routed(struct check_run *r, struct asked *by_node)
{
	const struct cluster *k = r->c->cluster;
	size_t asked = 0;

	for (size_t x = 0; x < k->n_nodes; x++)
		for (size_t y = 0; y < k->n_nodes; y++) {
			if (x == y || check_has_path(r->c, x, y) || *k->nodes[y].failure)
				continue;
			LIST_FOR_EACH (const struct cluster_route, route, &k->nodes[x].routes) {
				struct check_result one = { .test = CHECK_ROUTED,
							    .from = x,
							    .to = y,
							    .path = CHECK_NONE,
							    .pass = 1,
							    .bytes = SMALL,
							    .address = route->name };

				one.egress = fact_text(&route->port, "");
				one.how = own_address(r->c, x, one.egress);
				if (!one.how || !is_address_of(&k->nodes[y], route->name) ||
				    asked++ >= ROUTED_MAX)
					continue;
				want(r, by_node, &one);
			}
		}
}

static int check_run_echoes(struct check_run *r)
{
	struct asked *by_node = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*by_node));
	int code = check_run_routes(r);

	if (code)
		return code;
	want_paths(r, by_node);
	want_routed(r, by_node);
	return ask_all(r, by_node);
}

/* All that make sense; or only these again. */
static int check_run_echoes_again(struct check_run *r, const struct check_result *list, size_t n)
{
	struct asked *by_node = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*by_node));

	for (size_t i = 0; i < n; i++) {
		struct check_result one = list[i];

		if (one.test > CHECK_ROUTED)
			continue;
		if (one.path != CHECK_NONE)
			one.bytes = one.test == CHECK_JUMBO
					    ? check_jumbo_bytes(r->c, &r->c->paths[one.path])
					    : SMALL;
		else
			one.how = own_address(r->c, one.from, one.egress ? one.egress : "");
		if (one.path != CHECK_NONE || one.how)
			want(r, by_node, &one);
	}
	return ask_all(r, by_node);
}

/* --- which measurements ----------------------------------------------------------------------- */

struct jobs {
	struct check_job *items;
	size_t n;
};

static void add_job(struct check_run *r, struct jobs *j, const struct check_result *want)
{
	struct check_job job;

	if (!check_job_of(r->c, want, &job))
		return;
	j->items = arena_grow(r->a, j->items, j->n, sizeof(*j->items));
	j->items[j->n++] = job;
}

static void want_test(struct check_run *r, struct jobs *j, size_t path, enum check_test test,
		      bool together, bool both_ways)
{
	const struct check_path *p = &r->c->paths[path];

	for (int back = 0; back < (both_ways ? 2 : 1); back++)
		add_job(r, j,
			&(struct check_result){ .test = test,
						.from = back ? p->b.node : p->a.node,
						.to = back ? p->a.node : p->b.node,
						.path = path,
						.together = together,
						.pass = 1 });
}

static void want_path(struct check_run *r, struct jobs *j, size_t path)
{
	const char *why = cluster_check_no_rdma(r->a, r->c, path);

	want_test(r, j, path, CHECK_TCP, false, true);
	want_test(r, j, path, CHECK_TCP_LATENCY, false, false);
	if (!why) {
		want_test(r, j, path, CHECK_RDMA_WRITE, false, true);
		want_test(r, j, path, CHECK_RDMA_READ, false, true);
		want_test(r, j, path, CHECK_RDMA_LATENCY, false, false);
	} else if (*why) {
		check_add(r->a, r->c,
			  &(struct check_result){ .test = CHECK_RDMA_WRITE,
						  .from = r->c->paths[path].a.node,
						  .to = r->c->paths[path].b.node,
						  .path = path,
						  .pass = 1,
						  .state = CHECK_LEFT_OUT,
						  .why = why });
	}
}

/* Twins of one cable at once: what the two together carry is what the cable can. */
static void want_together(struct check_run *r, struct jobs *j, const struct pair *p)
{
	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *x = &r->c->paths[i];
		struct check_job all;
		bool good = true, first = true;

		if (x->a.node != p->a || x->b.node != p->b || x->untestable ||
		    x->wire == CLUSTER_NONE)
			continue;
		for (size_t k = 0; k < i; k++)
			first = first &&
				!(r->c->paths[k].wire == x->wire && r->c->paths[k].a.node == p->a &&
				  r->c->paths[k].b.node == p->b);
		if (!first ||
		    !check_job_of(r->c,
				  &(struct check_result){ .test = CHECK_TCP,
							  .from = p->a,
							  .to = p->b,
							  .path = i,
							  .together = true },
				  &all) ||
		    all.n_paths < 2)
			continue;
		for (size_t k = 0; k < all.n_paths; k++)
			good = good && echoed(r->c, all.paths[k], CHECK_PING);
		if (!good)
			continue;
		want_test(r, j, i, CHECK_TCP, true, true);
		for (size_t k = 0; k < all.n_paths; k++)
			good = good && !cluster_check_no_rdma(r->a, r->c, all.paths[k]);
		if (good)
			want_test(r, j, i, CHECK_RDMA_WRITE, true, true);
	}
}

static struct jobs jobs_of_pair(struct check_run *r, const struct pair *p)
{
	struct jobs j = { 0 };

	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *x = &r->c->paths[i];

		if (x->a.node == p->a && x->b.node == p->b && !x->untestable &&
		    echoed(r->c, i, CHECK_PING))
			want_path(r, &j, i);
	}
	want_together(r, &j, p);
	return j;
}

static bool measurable(void *ctx, size_t a, size_t b)
{
	const struct check_run *r = ctx;

	for (size_t i = 0; i < r->c->n_paths; i++)
		if (r->c->paths[i].a.node == a && r->c->paths[i].b.node == b &&
		    !r->c->paths[i].untestable)
			return check_run_lives(r, a) && check_run_lives(r, b);
	return false;
}

/* Counters of errors before and after: of the ports that paths end at. */

enum { ANSWER_MS = 8000 };

static bool is_end(const struct check *c, const struct cluster_port *p)
{
	for (size_t i = 0; i < c->n_paths; i++)
		if (check_port(c, c->paths[i].a) == p || check_port(c, c->paths[i].b) == p)
			return true;
	return false;
}

static json_t *cluster_check_ports_of(struct arena *a, const struct check *c, size_t node)
{
	struct counters_ask ask = { 0 };

	NODE_PORTS(p, check_node(c, node))
	{
		if (!is_end(c, p))
			continue;
		ask.ports = arena_grow(a, ask.ports, ask.n, sizeof(*ask.ports));
		ask.ports[ask.n++] =
			(struct counted_port){ p->name, fact_text(&p->rdma_device, NULL),
					       fact_or(&p->rdma_port, 1) };
	}
	return shape_object_json(&counters_ask_shape, &ask);
}

static struct check_count *find(struct check *c, size_t node, const char *port, const char *name)
{
	for (size_t i = 0; i < c->n_counts; i++)
		if (c->counts[i].node == node && strcmp(c->counts[i].port, port) == 0 &&
		    strcmp(c->counts[i].name, name) == 0)
			return &c->counts[i];
	return NULL;
}

static void cluster_check_keep(struct check_run *r, size_t node, const struct counter *one,
			       bool after)
{
	struct cluster_port *p = cluster_port_find(check_node(r->c, node), one->port);
	struct check_count *k;

	/* Of what was asked for alone. Names are shown: no more than a counter's has. */
	if (!p || !is_end(r->c, p) ||
	    strcmp(cluster_clean_text(r->a, one->name, 63), one->name) != 0 || one->value < 0)
		return;
	k = find(r->c, node, p->name, one->name);
	if (after) {
		if (k)
			k->after = one->value;
		return;
	}
	if (k || r->c->n_counts == CHECK_COUNTS_MAX)
		return;
	r->c->counts = arena_grow(r->a, r->c->counts, r->c->n_counts, sizeof(*r->c->counts));
	r->c->counts[r->c->n_counts++] = (struct check_count){ .node = node,
							       .port = p->name,
							       .name = one->name,
							       one->value,
							       one->value,
							       check_node(r->c, node)->name };
}

/* Before: the first reading of the counters; after: the second. */
static int check_run_count(struct check_run *r, bool after)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] =
			check_run_lives(r, i) &&
			rsh_send(r->rsh, i, "counters", cluster_check_ports_of(r->a, r->c, i)) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		struct counters_answer said;

		if (!which[i] || !message_read(r->a, &r->replies[i], &counters_answer_shape, &said))
			continue;
		for (size_t k = 0; k < said.n && k < CHECK_NODE_COUNTS_MAX; k++)
			cluster_check_keep(r, i, &said.counters[k], after);
	}
	return code;
}

/* Round robin by the circle method: one node stands still, the others move on by one place. */

static bool cluster_check_taken(const struct pairs *p, size_t n, const struct pair *one,
				size_t round)
{
	for (size_t i = 0; i < n; i++) {
		const struct pair *q = &p->items[i];

		if (q->round == round &&
		    (q->a == one->a || q->a == one->b || q->b == one->a || q->b == one->b))
			return true;
	}
	return false;
}

/* Into the first round in which both are free: a list in the circle's order stays as it is. */
struct pairs pairs_of(struct arena *a, const struct pair *list, size_t n)
{
	struct pairs out = { .items = arena_array(a, n, sizeof(*out.items)), .n = n };
	struct pair *sorted = arena_array(a, n, sizeof(*sorted));
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		struct pair one = list[i];

		one.round = 0;
		while (cluster_check_taken(&out, i, &one, one.round))
			one.round++;
		out.items[i] = one;
		if (one.round >= out.rounds)
			out.rounds = one.round + 1;
	}
	for (size_t round = 0; round < out.rounds; round++)
		for (size_t i = 0; i < n; i++)
			if (out.items[i].round == round)
				sorted[k++] = out.items[i];
	out.items = sorted;
	return out;
}

struct pairs pairs_make(struct arena *a, size_t n, bool (*wanted)(void *ctx, size_t a, size_t b),
			void *ctx)
{
	/* With an odd number the one that stands still is nobody: its partner rests. */
	size_t m = n + n % 2, circle = m ? m - 1 : 0, k = 0;
	struct pair *list = arena_array(a, n * n / 2 + 1, sizeof(*list));

	for (size_t round = 0; n > 1 && round < circle; round++)
		for (size_t i = 0; i < m / 2; i++) {
			size_t x = i ? (round + i) % circle : m - 1,
			       y = (round + circle - i) % circle;

			if (x >= n || y >= n)
				continue;
			list[k] = (struct pair){ .a = x < y ? x : y, .b = x < y ? y : x };
			k += !wanted || wanted(ctx, list[k].a, list[k].b);
		}
	return pairs_of(a, list, k);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int measure_round(struct check_run *r, const struct pairs *all, const struct jobs *jobs,
			 size_t round)
{
	struct check_job now[CLUSTER_NODES_MAX];
	size_t most = 0;
	int code = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].round == round && jobs[i].n > most)
			most = jobs[i].n;
	/* All pairs do the same kind of thing at a time. */
	for (size_t step = 0; step < most && code == 0; step++) {
		size_t n = 0;

		for (size_t i = 0; i < all->n && n < CLUSTER_NODES_MAX; i++)
			if (all->items[i].round == round && step < jobs[i].n)
				now[n++] = jobs[i].items[step];
		code = check_run_jobs(r, now, n);
	}
	return code;
}

static int measure_all(struct check_run *r, const struct pairs *all)
{
	struct jobs *jobs = arena_array(r->a, all->n, sizeof(*jobs));
	size_t steps = 0;
	double room;
	int code = 0;

	for (size_t i = 0; i < all->n; i++)
		jobs[i] = jobs_of_pair(r, &all->items[i]);
	for (size_t round = 0; round < all->rounds; round++) {
		size_t most = 0;

		for (size_t i = 0; i < all->n; i++)
			if (all->items[i].round == round && jobs[i].n > most)
				most = jobs[i].n;
		steps += most;
	}
	if (r->how->seconds > 0)
		room = r->how->seconds / WINDOW_S;
	else
		room = steps ? (MEASURING_S / (double)steps - AROUND_S) / WINDOW_S : 0;
	r->windows = room < WINDOWS_LEAST && r->how->seconds > 0 ? 1
		     : room < WINDOWS_LEAST			 ? WINDOWS_LEAST
		     : room > WINDOWS_MOST			 ? WINDOWS_MOST
								 : (size_t)room;
	for (size_t round = 0; round < all->rounds && code == 0; round++) {
		check_run_report(r, arena_printf(r->a, "round %zu of %zu", round + 1, all->rounds));
		code = measure_round(r, all, jobs, round);
	}
	return code;
}

/* What was bad, once more: while others rest, so that only what is really bad stays so. */
static int measure_again(struct check_run *r)
{
	struct check_result *list;
	size_t n = check_again(r->a, r->c, &list), k = 0;
	struct pair *pairs = arena_array(r->a, n, sizeof(*pairs));
	struct check_job *jobs = arena_array(r->a, n, sizeof(*jobs)), now[CLUSTER_NODES_MAX];
	struct pairs rounds;
	int code = 0;

	if (!n)
		return 0;
	check_run_report(r, arena_printf(r->a, "repeating %zu tests", n));
	code = check_run_echoes_again(r, list, n);
	for (size_t i = 0; i < n && k < JOBS_MAX; i++) {
		if (!check_job_of(r->c, &list[i], &jobs[k]))
			continue;
		pairs[k] = (struct pair){ .a = jobs[k].client, .b = jobs[k].server, .tag = k };
		k++;
	}
	/* Longer, and few of them one after the other: nothing else goes on then. */
	if (r->how->seconds > 0)
		r->windows *= 2;
	else if (r->windows < AGAIN_WINDOWS)
		r->windows = AGAIN_WINDOWS;
	for (size_t i = 0; i < k && k <= AGAIN_ALONE && code == 0; i++)
		code = check_run_jobs(r, &jobs[i], 1);
	if (k <= AGAIN_ALONE)
		return code;
	rounds = pairs_of(r->a, pairs, k);
	for (size_t round = 0; round < rounds.rounds && code == 0; round++) {
		size_t m = 0;

		for (size_t i = 0; i < rounds.n && m < CLUSTER_NODES_MAX; i++)
			if (rounds.items[i].round == round)
				now[m++] = jobs[rounds.items[i].tag];
		code = check_run_jobs(r, now, m);
	}
	return code;
}

static void make_token(struct check_run *r)
{
	uint8_t secret[WIRE_SECRET];

	randombytes_buf(secret, sizeof(secret));
	sodium_bin2hex(r->token, sizeof(r->token), secret, sizeof(secret));
	explicit_bzero(secret, sizeof(secret));
}

static int echoes_alone(struct check_run *r)
{
	struct check_result *list;
	size_t n = check_again(r->a, r->c, &list);
	int code = n ? check_run_echoes_again(r, list, n) : 0;

	return code ? code : check_run_count(r, true);
}

static int run_all(struct check_run *r)
{
	struct pairs all;
	int code;

	check_run_report(r, "echoes");
	code = check_run_count(r, false);
	code = code ? code : check_run_echoes(r);
	if (code == 0 && r->how->quick)
		return echoes_alone(r);
	code = code ? code : check_run_servers(r);
	if (code)
		return code;
	all = pairs_make(r->a, r->c->cluster->n_nodes, measurable, r);
	code = measure_all(r, &all);
	check_judge(r->a, r->c);
	code = code ? code : measure_again(r);
	if (code == 0 && !r->how->no_gpus) {
		check_run_report(r, "GPUs");
		code = check_run_nccl(r, &all);
	}
	if (code)
		return code;
	check_run_servers_end(r);
	return check_run_count(r, true);
}

int cluster_check(struct arena *a, struct rsh *rsh, const struct check_how *how, struct check *c,
		  struct err *e)
{
	struct check_run r = { .a = a, .rsh = rsh, .how = how, .c = c };
	double begin = clock_mono_s();
	int code;

	make_token(&r);
	r.replies = arena_array(a, c->cluster->n_nodes, sizeof(*r.replies));
	c->quick = how->quick;
	check_paths(a, c);
	code = run_all(&r);
	explicit_bzero(r.token, sizeof(r.token));
	c->partial = code == -EINTR;
	c->seconds = clock_mono_s() - begin;
	check_judge(a, c);
	check_blame(a, c);
	return code && code != -EINTR ? err_set(e, code, "cannot query the nodes") : code;
}
