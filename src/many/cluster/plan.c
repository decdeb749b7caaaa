/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to subnets and ports to addresses. What is right already is kept: a plan of a cluster that
 * follows it changes nothing. */
#include "many/cluster/plan.h"

#include <string.h>

#include "base/text.h"

enum { HOST_BITS = 8, FAMILY_HOST_LEAST = 1 };

struct planning {
	struct arena *a;
	const struct cluster *c;
	const struct wiring_node *before;
	const struct wiring_wish *wish;
	struct wiring *w;
	struct ipv4_pool pool;
};

static struct cluster_port *port_of(const struct planning *p, struct cluster_end e)
{
	return cluster_end_port(p->c, e);
}

/* The port's IPv4 addresses that are more than the link's own, one after the other; false at the
 * end. */
static bool next_address(const struct cluster_port *port, size_t *at, struct ipv4 *out)
{
	const struct cluster_address *list = port->addresses.items;

	while (*at < port->addresses.n)
		if (ipv4_parse(list[(*at)++].name, out) == 0 && !ipv4_local(*out) &&
		    out->bits < 31 && out->bits >= FAMILY_HOST_LEAST)
			return true;
	return false;
}

/* How many ports of the cluster's other paths, or other ports of these nodes, lie in the network.
 */
static bool is_used_elsewhere(const struct planning *p, const struct cluster_path *path,
			      struct ipv4 network)
{
	for (size_t n = 0; n < p->c->n_nodes; n++)
		for (size_t i = 0; i < p->c->nodes[n].ports.n; i++) {
			struct cluster_end e = { n, i };
			size_t k = 0, at = 0;
			struct ipv4 x;

			while (k < path->n_ends &&
			       (path->ends[k].node != n || path->ends[k].port != i))
				k++;
			if (k < path->n_ends)
				continue;
			while (next_address(port_of(p, e), &at, &x))
				if (ipv4_overlap(x, network))
					return true;
		}
	return false;
}

/* The port's address in the network; false: it has none, or more than one. */
static bool address_in(const struct cluster_port *port, struct ipv4 network, struct ipv4 *out)
{
	struct ipv4 x;
	size_t at = 0, n = 0;

	while (next_address(port, &at, &x))
		if (ipv4_same(ipv4_network(x), network)) {
			*out = x;
			n++;
		}
	return n == 1;
}

static bool distinct(const struct planning *p, const struct cluster_path *path, struct ipv4 network)
{
	for (size_t i = 0; i < path->n_ends; i++)
		for (size_t k = i + 1; k < path->n_ends; k++) {
			struct ipv4 x, y;

			if (address_in(port_of(p, path->ends[i]), network, &x) &&
			    address_in(port_of(p, path->ends[k]), network, &y) && x.ip == y.ip)
				return false;
		}
	return true;
}

/* A network that most ends have already and nobody else has; false: none is worth keeping. */
static bool find_kept(const struct planning *p, const struct cluster_path *path, struct ipv4 *out)
{
	size_t best = 0;

	for (size_t i = 0; i < path->n_ends; i++) {
		const struct cluster_port *port = port_of(p, path->ends[i]);
		struct ipv4 x, ignored;
		size_t at = 0;

		while (next_address(port, &at, &x)) {
			struct ipv4 network = ipv4_network(x);
			size_t have = 0;

			for (size_t k = 0; k < path->n_ends; k++)
				have += address_in(port_of(p, path->ends[k]), network, &ignored);
			/* One end alone says nothing of where the others belong. */
			if (have < 2 || have <= best || is_used_elsewhere(p, path, network) ||
			    ipv4_is_taken(&p->pool, network) || !distinct(p, path, network))
				continue;
			best = have;
			*out = network;
		}
	}
	return best > 0;
}

/* Everything that anything on any node lies in or has a route to, but for the networks of paths
 * that are kept. */
static void take_networks(struct planning *p)
{
	for (size_t n = 0; n < p->c->n_nodes; n++) {
		for (size_t i = 0; i < p->before[n].n_networks; i++)
			if (p->before[n].networks[i].bits && !ipv4_local(p->before[n].networks[i]))
				ipv4_take(&p->pool, p->before[n].networks[i]);
		for (size_t i = 0; i < p->c->nodes[n].ports.n; i++) {
			struct ipv4 x;
			size_t at = 0;

			while (next_address(port_of(p, (struct cluster_end){ n, i }), &at, &x))
				ipv4_take(&p->pool, ipv4_network(x));
		}
	}
}

static long long mtu_of(const struct planning *p, const struct cluster_path *path)
{
	long long mtu = p->wish->mtu ? p->wish->mtu : WIRING_MTU;

	for (size_t i = 0; i < path->n_ends; i++) {
		long long most = fact_or(&port_of(p, path->ends[i])->max_mtu, mtu);

		if (most > 0 && most < mtu)
			mtu = most;
	}
	return mtu;
}

/* The host's number is the node's, so that all its addresses end alike; another one where somebody
 * has that. */
static uint32_t host_of(const struct planning *p, const struct wiring_path *path,
			const struct cluster_path *from, size_t node)
{
	uint32_t most = path->network.bits < 32 - HOST_BITS ? ADDRESS_HOSTS
							    : (1U << (32 - path->network.bits)) - 2;

	for (uint32_t i = 0; i < most; i++) {
		uint32_t host = 1 + ((uint32_t)node + i) % most;
		bool taken = false;

		for (size_t k = 0; k < from->n_ends && !taken; k++) {
			struct ipv4 x;

			taken = address_in(port_of(p, from->ends[k]), path->network, &x) &&
				(x.ip & ~(0xffffffffU << (32 - path->network.bits))) == host;
		}
		for (size_t k = path->first; k < p->w->n_ports && !taken; k++) {
			struct ipv4 x = { 0 };

			(void)ipv4_parse(p->w->ports[k].address, &x);
			taken = x.ip == path->network.ip + host;
		}
		if (!taken)
			return host;
	}
	return 0;
}

static void add_port(struct planning *p, struct wiring_path *path, const struct cluster_path *from,
		     struct cluster_end end)
{
	struct wiring *w = p->w;
	const struct cluster_port *port = port_of(p, end);
	struct ipv4 x = { 0 };
	struct wiring_port *out;
	bool there = path->kept && address_in(port, path->network, &x);

	if (!there)
		x = (struct ipv4){ path->network.ip + host_of(p, path, from, end.node),
				   path->network.bits };
	w->ports = arena_grow(p->a, w->ports, w->n_ports, sizeof(*w->ports));
	out = &w->ports[w->n_ports++];
	*out = (struct wiring_port){ .end = end,
				     .path = (size_t)(path - w->paths),
				     .address = ipv4_text(p->a, x),
				     .there = there,
				     .mtu_now = fact_or(&port->mtu, -1) };
	path->n++;
}

/* --- all paths ---------------------------------------------------------------------------------
 */

static void add_path(struct planning *p, size_t wire, size_t n)
{
	struct wiring *w = p->w;
	const struct cluster_path *from = &p->c->wires[wire].paths[n];
	struct wiring_path *path;

	w->paths = arena_grow(p->a, w->paths, w->n_paths, sizeof(*w->paths));
	path = &w->paths[w->n_paths++];
	*path = (struct wiring_path){ .wire = wire,
				      .path = n,
				      .way = p->c->wires[wire].way,
				      .mtu = mtu_of(p, from),
				      .speed_mbps = from->speed_mbps };
	path->kept = find_kept(p, from, &path->network);
	if (path->kept)
		ipv4_take(&p->pool, path->network);
}

static void fill_path(struct planning *p, struct wiring_path *path)
{
	const struct cluster_path *from = &p->c->wires[path->wire].paths[path->path];

	path->first = p->w->n_ports;
	if (!path->kept && !ipv4_next(&p->pool, &path->network)) {
		wiring_trouble(
			p->a, p->w,
			&(struct wiring_trouble){ .code = "no-network",
						  .stops = true,
						  .text = "no free network is left for a path",
						  .fix = "name a larger range with --subnets" });
		return;
	}
	for (size_t node = 0; node < p->c->n_nodes; node++)
		for (size_t i = 0; i < from->n_ends; i++)
			if (from->ends[i].node == node)
				add_port(p, path, from, from->ends[i]);
}

static void add_switches(struct planning *p)
{
	for (size_t n = 0; n < p->c->n_nodes; n++)
		NODE_PORTS(port, &p->c->nodes[n])
		{
			struct wiring *w = p->w;

			if (!fact_is(&port->link_layer, "InfiniBand") ||
			    !fact_is(&port->driver, "mlx5_core") || !*port->pci)
				continue;
			w->switches =
				arena_grow(p->a, w->switches, w->n_switches, sizeof(*w->switches));
			w->switches[w->n_switches++] = (struct wiring_switch){
				.node = n, .pci = port->pci, .port = fact_or(&port->rdma_port, 1)
			};
		}
}

/*
 * Whether the wire gets addresses: one for data, never one for management (cluster_wire_data).
 * Where there are none for data, whoever names a topology means those that there are.
 */
static bool wiring_wanted(const struct cluster *c, const struct wiring_wish *wish, size_t wire)
{
	if (cluster_wire_data(c, &c->wires[wire]))
		return true;
	for (size_t i = 0; i < c->n_wires; i++)
		if (cluster_wire_data(c, &c->wires[i]))
			return false;
	return strcmp(wish->topology, "auto") != 0;
}

void wiring_make(struct arena *a, const struct cluster *c, const struct wiring_node *before,
		 const struct wiring_wish *wish, struct wiring *out)
{
	struct planning p = { .a = a,
			      .c = c,
			      .before = before,
			      .wish = wish,
			      .w = out,
			      .pool = { .a = a, .base = wish->base } };

	*out = (struct wiring){ .c = c };
	/* Before anything is taken: what is kept lies in networks that its own ports have. */
	for (size_t i = 0; i < c->n_wires; i++)
		for (size_t k = 0; wiring_wanted(c, wish, i) && k < c->wires[i].n_paths; k++)
			add_path(&p, i, k);
	take_networks(&p);
	for (size_t i = 0; i < out->n_paths; i++)
		fill_path(&p, &out->paths[i]);
	add_switches(&p);
	wiring_names(a, before, out);
	if (!wish->hosts)
		for (size_t i = 0; i < c->n_nodes; i++)
			out->hosts[i] = out->known_hosts[i] = "";
	wiring_judge(a, before, wish, out);
}

bool wiring_stopped(const struct wiring *w)
{
	for (size_t i = 0; i < w->n_troubles; i++)
		if (w->troubles[i].stops)
			return true;
	return false;
}
