/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports can be measured against which, and by which addresses. Pure. */
#include <string.h>
#include <sys/socket.h>

#include "many/cluster/check.h"

const struct check_kind check_kinds[CHECK_TESTS] = {
	[CHECK_PING] = { .name = "ping",
			 .title = "echo",
			 .unit = "us",
			 .unit_text = "us",
			 .better = BENCH_LOWER },
	[CHECK_JUMBO] = { .name = "jumbo", .title = "echo as large as the MTU" },
	[CHECK_ROUTED] = { .name = "routed", .title = "echo through another node" },
	[CHECK_TCP] = { .name = "tcp",
			.title = "TCP, 4 streams",
			.unit = "gbit_per_s",
			.unit_text = "Gbit/s",
			.bench = "tcp",
			.there = "send:4",
			.back = "receive:4",
			.judged = true,
			.one_way = true },
	[CHECK_TCP_LATENCY] = { .name = "tcp-latency",
				.title = "TCP round trip, 64 bytes",
				.unit = "us",
				.unit_text = "us",
				.better = BENCH_LOWER,
				.bench = "tcp-latency",
				.there = "64B",
				.judged = true },
	[CHECK_RDMA_WRITE] = { .name = "rdma-write",
			       .title = "RDMA writes of 64 KiB",
			       .unit = "gbit_per_s",
			       .unit_text = "Gbit/s",
			       .bench = "rdma",
			       .there = "write:64KiB",
			       .judged = true,
			       .one_way = true },
	[CHECK_RDMA_READ] = { .name = "rdma-read",
			      .title = "RDMA reads of 64 KiB",
			      .unit = "gbit_per_s",
			      .unit_text = "Gbit/s",
			      .bench = "rdma",
			      .back = "read:64KiB",
			      .judged = true,
			      .one_way = true },
	[CHECK_RDMA_LATENCY] = { .name = "rdma-latency",
				 .title = "RDMA write of 8 bytes",
				 .unit = "us",
				 .unit_text = "us",
				 .better = BENCH_LOWER,
				 .bench = "rdma-latency",
				 .there = "write:8B",
				 .judged = true },
	[CHECK_NCCL] = { .name = "nccl",
			 .title = "NCCL, bus bandwidth",
			 .unit = "gb_per_s",
			 .unit_text = "GB/s",
			 .bench = "collectives",
			 .judged = true },
	[CHECK_NCCL_LATENCY] = { .name = "nccl-latency",
				 .title = "NCCL, time of an operation",
				 .unit = "us",
				 .unit_text = "us",
				 .better = BENCH_LOWER,
				 .bench = "collectives",
				 .judged = true },
};

const char *check_state_name(enum check_state s)
{
	static const char *const names[CHECK_STATES] = { "good", "low", "failed", "left-out" };

	return names[s];
}

const struct cluster_node *check_node(const struct check *c, size_t node)
{
	return &c->cluster->nodes[node];
}

const struct cluster_port *check_port(const struct check *c, struct cluster_end e)
{
	return cluster_end_port(c->cluster, e);
}

struct cluster_end check_end(const struct check_path *p, size_t node)
{
	return p->a.node == node ? p->a : p->b;
}

struct cluster_end check_far(const struct check_path *p, size_t node)
{
	return p->a.node == node ? p->b : p->a;
}

const char *check_address(const struct check_path *p, size_t node)
{
	return p->a.node == node ? p->address_a : p->address_b;
}

const char *check_path_text(struct arena *a, const struct check *c, const struct check_path *p)
{
	return arena_printf(a, "%s %s - %s %s", check_node(c, p->a.node)->name,
			    check_port(c, p->a)->name, check_node(c, p->b.node)->name,
			    check_port(c, p->b)->name);
}

const char *check_result_text(struct arena *a, const struct check *c, const struct check_result *r)
{
	const char *from = check_node(c, r->from)->name, *to = check_node(c, r->to)->name;
	const struct check_path *p = r->path == CHECK_NONE ? NULL : &c->paths[r->path];

	if (r->operation)
		return arena_printf(a, "%s with %s, %s", from, to, r->operation);
	if (!p)
		return arena_printf(a, "%s to %s of %s", from, r->address ? r->address : "?", to);
	if (r->together)
		return arena_printf(a, "%s to %s, all paths at once", from, to);
	return arena_printf(a, "%s %s to %s %s", from, check_port(c, check_end(p, r->from))->name,
			    to, check_port(c, check_end(p, r->to))->name);
}

unsigned check_jumbo_bytes(const struct check *c, const struct check_path *p)
{
	long long a = fact_or(&check_port(c, p->a)->mtu, 0),
		  b = fact_or(&check_port(c, p->b)->mtu, 0), most = a > b ? a : b;
	bool six = p->address_a && strchr(p->address_a, ':') != NULL;

	/* The larger of both: what its owner believes has to arrive. */
	return most > 1280 && most <= 65535 ? (unsigned)(most - (six ? 48 : 28)) : 0;
}

/* --- addresses -------------------------------------------------------------------------------- */

static const char *bare(struct arena *a, const char *with_prefix)
{
	return arena_strndup(a, with_prefix, strcspn(with_prefix, "/"));
}

/* How good it is to measure by; 0: not usable. */
static int check_paths_worth(const struct cluster_prefix *x, const struct cluster_prefix *y)
{
	if (x->family != y->family || x->bits != y->bits || !cluster_prefix_same(x, y))
		return 0;
	/* An IPv6 one of a link needs the name of an interface with it. */
	if (x->family == AF_INET6)
		return cluster_prefix_link_local(x) ? 0 : 1;
	return cluster_prefix_link_local(x) ? 2 : 3;
}

static int find_addresses(struct arena *a, const struct check *c, struct check_path *p)
{
	int best = 0;

	LIST_FOR_EACH (const struct cluster_address, x, &check_port(c, p->a)->addresses) {
		LIST_FOR_EACH (const struct cluster_address, y, &check_port(c, p->b)->addresses) {
			struct cluster_prefix one, two;
			int w;

			if (cluster_prefix_parse(x->name, &one) ||
			    cluster_prefix_parse(y->name, &two) || strcmp(x->name, y->name) == 0)
				continue;
			w = check_paths_worth(&one, &two);
			if (w <= best)
				continue;
			best = w;
			p->address_a = bare(a, x->name);
			p->address_b = bare(a, y->name);
		}
	}
	return best;
}

static bool has_addresses(const struct cluster_port *p)
{
	return p->addresses.n > 0;
}

static const char *why_not(struct arena *a, const struct check *c, const struct check_path *p)
{
	const struct cluster_port *x = check_port(c, p->a), *y = check_port(c, p->b);
	const char *node = check_node(c, p->a.node)->name, *other = check_node(c, p->b.node)->name;

	if (!cluster_port_up(x) || !cluster_port_up(y))
		return arena_printf(a, "%s of %s is down", (cluster_port_up(x) ? y : x)->name,
				    cluster_port_up(x) ? other : node);
	if (!has_addresses(x) && !has_addresses(y))
		return arena_printf(a, "neither end has an address");
	if (!has_addresses(x) || !has_addresses(y))
		return arena_printf(a, "%s of %s has no address", (has_addresses(x) ? y : x)->name,
				    has_addresses(x) ? other : node);
	return "its ends have no addresses in one subnet";
}

static void check_paths_add_path(struct arena *a, struct check *c, struct check_path p)
{
	if (c->n_paths == CHECK_PATHS_MAX || *check_node(c, p.a.node)->failure ||
	    *check_node(c, p.b.node)->failure)
		return;
	if (p.a.node > p.b.node) {
		struct cluster_end e = p.a;

		p.a = p.b;
		p.b = e;
	}
	if (!find_addresses(a, c, &p))
		p.untestable = why_not(a, c, &p);
	c->paths = arena_grow(a, c->paths, c->n_paths, sizeof(*c->paths));
	c->paths[c->n_paths++] = p;
}

static void check_paths_add_wire(struct arena *a, struct check *c, size_t wire)
{
	const struct cluster_wire *w = &c->cluster->wires[wire];

	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t x = 0; x < w->paths[i].n_ends; x++)
			for (size_t y = x + 1; y < w->paths[i].n_ends; y++) {
				struct cluster_end one = w->paths[i].ends[x],
						   two = w->paths[i].ends[y];

				if (one.node != two.node)
					check_paths_add_path(
						a, c,
						(struct check_path){ .a = one,
								     .b = two,
								     .wire = wire,
								     .place = i,
								     .cable = w->way ==
									      CLUSTER_CABLE });
			}
}

/* Where there are links for data, the network by which nodes are administered is not measured. */
static bool has_data(const struct cluster *k)
{
	for (size_t i = 0; i < k->n_wires; i++)
		if (cluster_wire_data(k, &k->wires[i]))
			return true;
	return false;
}

static bool is_fabric(const struct check *c, const struct cluster_node *n,
		      const struct cluster_port *p)
{
	return cluster_port_up(p) && (p->data || !has_data(c->cluster)) &&
	       fact_or(&p->wireless, 0) == 0 && !fact_is(&n->default_route, p->name);
}

/* Two nodes that did not hear each other, and yet have addresses in one subnet. */
static void add_subnets(struct arena *a, struct check *c, size_t x, size_t y)
{
	struct cluster_end one = { x, 0 }, two;

	NODE_PORTS(p, check_node(c, x))
	{
		two = (struct cluster_end){ y, 0 };
		NODE_PORTS(q, check_node(c, y))
		{
			struct check_path path = { .a = one, .b = two, .wire = CLUSTER_NONE };

			if (is_fabric(c, check_node(c, x), p) &&
			    is_fabric(c, check_node(c, y), q) && find_addresses(a, c, &path))
				check_paths_add_path(a, c, path);
			two.port++;
		}
		one.port++;
	}
}

bool check_has_path(const struct check *c, size_t x, size_t y)
{
	for (size_t i = 0; i < c->n_paths; i++)
		if ((c->paths[i].a.node == x && c->paths[i].b.node == y) ||
		    (c->paths[i].a.node == y && c->paths[i].b.node == x))
			return true;
	return false;
}

void check_paths(struct arena *a, struct check *c)
{
	bool data = has_data(c->cluster);
	size_t heard;

	c->n_paths = 0;
	for (size_t i = 0; i < c->cluster->n_wires; i++)
		if (!data || cluster_wire_data(c->cluster, &c->cluster->wires[i]))
			check_paths_add_wire(a, c, i);
	heard = c->n_paths;
	for (size_t x = 0; x < c->cluster->n_nodes; x++)
		for (size_t y = x + 1; y < c->cluster->n_nodes; y++) {
			size_t all = c->n_paths;
			bool known;

			c->n_paths = heard;
			known = check_has_path(c, x, y);
			c->n_paths = all;
			if (!known && !*check_node(c, x)->failure && !*check_node(c, y)->failure)
				add_subnets(a, c, x, y);
		}
}

struct check_result *check_add(struct arena *a, struct check *c, const struct check_result *r)
{
	c->results = arena_grow(a, c->results, c->n_results, sizeof(*c->results));
	c->results[c->n_results] = *r;
	return &c->results[c->n_results++];
}
