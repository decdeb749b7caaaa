/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about cabling: what stands in which cage, against the ways that are supported. */
#include <string.h>
#include <sys/socket.h>

#include "many/cluster/links.h"
#include "base/text.h"

/* "one cable, same port on both; a ring p0 to p1; a switch with the same port of each node". */
static const char rule_source[] =
	"NVIDIA's cabling rule for DGX Spark (2026-10): two nodes, one cable, same port on both. "
	"Three nodes: a ring, p0 of each to p1 of the next. Switch: one cable per node, never two";

static bool is_spark(const struct cluster *c, size_t cage)
{
	return fact_is(&c->nodes[c->cages[cage].node].platform, "dgx-spark");
}

static void cluster_judge_wrong(struct arena *a, struct cluster *c, size_t cage,
				enum cluster_severity severity, const char *text, const char *fix)
{
	cluster_find_as(a, c,
			&(struct cluster_finding){ "wrong-cable", severity,
						   c->nodes[c->cages[cage].node].name,
						   c->cages[cage].name, text, rule_source, fix });
}

static void cluster_judge_loop(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_cages; i++)
		for (size_t k = i + 1; k < w->n_cages; k++) {
			if (c->cages[w->cages[i]].node != c->cages[w->cages[k]].node)
				continue;
			if (w->way == CLUSTER_SWITCH)
				continue;
			cluster_judge_wrong(
				a, c, w->cages[i], CLUSTER_FAULT,
				arena_printf(a, "A cable joins %s and %s of the same machine.",
					     cluster_cage_text(a, c, w->cages[i]),
					     c->cages[w->cages[k]].name),
				"move one end to the other machine");
		}
}

/* On a pair equal cages, on a ring different ones. */
static void cages(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	size_t x = w->cages[0], y = w->cages[1];
	bool equal = strcmp(c->cages[x].name, c->cages[y].name) == 0;
	bool ring = c->topology == CLUSTER_RING || c->topology == CLUSTER_RING_FOUR;

	if (w->way == CLUSTER_SWITCH || !is_spark(c, x) || !is_spark(c, y) ||
	    c->cages[x].node == c->cages[y].node)
		return;
	if (c->topology == CLUSTER_PAIR && !equal)
		cluster_judge_wrong(
			a, c, x, CLUSTER_WARNING,
			arena_printf(a, "The cable joins %s to %s: different ports.",
				     cluster_cage_text(a, c, x), cluster_cage_text(a, c, y)),
			arena_printf(a, "move one end so that both are in %s", c->cages[x].name));
	if (ring && equal)
		cluster_judge_wrong(
			a, c, x, CLUSTER_WARNING,
			arena_printf(a, "The cable joins %s to %s: in a ring, p0 must go to p1.",
				     cluster_cage_text(a, c, x), cluster_cage_text(a, c, y)),
			arena_printf(a, "swap the two cables of %s or those of %s",
				     c->nodes[c->cages[x].node].name,
				     c->nodes[c->cages[y].node].name));
}

/* The cage that most of a switch's nodes use is the right one. */
static void on_switch(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	size_t most = 0, best = 0;

	if (w->way != CLUSTER_SWITCH || !cluster_wire_data(c, w))
		return;
	for (size_t i = 0; i < w->n_cages; i++) {
		size_t n = 0;

		for (size_t k = 0; k < w->n_cages; k++)
			n += strcmp(c->cages[w->cages[i]].name, c->cages[w->cages[k]].name) == 0;
		if (n > best) {
			best = n;
			most = i;
		}
	}
	for (size_t i = 0; i < w->n_cages; i++) {
		size_t cage = w->cages[i];

		if (!is_spark(c, cage) ||
		    strcmp(c->cages[cage].name, c->cages[w->cages[most]].name) == 0)
			continue;
		cluster_judge_wrong(
			a, c, cage, CLUSTER_WARNING,
			arena_printf(a, "%s is on the switch, but the other nodes use %s.",
				     cluster_cage_text(a, c, cage), c->cages[w->cages[most]].name),
			arena_printf(a, "move the cable to %s", c->cages[w->cages[most]].name));
	}
}

static size_t cables_between(const struct cluster *c, size_t x, size_t y, size_t *last)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_wires; i++) {
		const struct cluster_wire *w = &c->wires[i];
		size_t p = c->cages[w->cages[0]].node, q = c->cages[w->cages[1]].node;

		if (w->way == CLUSTER_SWITCH || !cluster_wire_data(c, w) ||
		    !((p == x && q == y) || (p == y && q == x)))
			continue;
		*last = i;
		n++;
	}
	return n;
}

/* Two cables between two nodes: of no use to a pair, and missing elsewhere among more. */
static void cluster_judge_doubled(struct arena *a, struct cluster *c, size_t x, size_t y)
{
	size_t last = 0, n = cables_between(c, x, y, &last), cage;

	if (n < 2)
		return;
	cage = c->wires[last].cages[0];
	if (c->topology != CLUSTER_PARTIAL) {
		cluster_find(a, c, "second-cable", c->nodes[x].name, c->cages[cage].name,
			     "both ports of a DGX Spark share the same PCIe lanes: one cable "
			     "reaches the same 200 Gb/s",
			     "%zu cables join %s and %s.", n, c->nodes[x].name, c->nodes[y].name);
		return;
	}
	cluster_judge_wrong(
		a, c, cage, CLUSTER_FAULT,
		arena_printf(a, "%zu cables join %s and %s, while other nodes have none: %s", n,
			     c->nodes[x].name, c->nodes[y].name, c->topology_why),
		arena_printf(a, "move one end of the cable in %s to a node without a cable",
			     cluster_cage_text(a, c, cage)));
}

static void has_no_neighbor(struct arena *a, struct cluster *c, size_t cage)
{
	const struct cluster_cage *g = &c->cages[cage];
	const struct cluster_port *up = NULL;

	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *p =
			cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });

		if (!up && cluster_port_up(p) && p->data && seen_ok(&p->listened.f))
			up = p;
	}
	if (g->wire != CLUSTER_NONE || !up)
		return;
	cluster_find(a, c, "hears-nobody", c->nodes[g->node].name, up->name,
		     arena_printf(a, "%s is up", up->name),
		     "%s has a link but receives no announcement from a node%s%s.",
		     cluster_cage_text(a, c, cage), g->neighbour ? "; its LLDP neighbor is " : "",
		     g->neighbour ? g->neighbour : "");
}

static void cluster_judge_topology(struct arena *a, struct cluster *c)
{
	size_t alive = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		alive += !*c->nodes[i].failure;
	if (c->supported || alive < 2)
		return;
	cluster_find(a, c, "unsupported-topology", "", "",
		     arena_printf(a, "topology %s of %zu nodes", cluster_topology_name(c->topology),
				  alive),
		     "%s", c->topology_why);
}

static void cluster_judge_cables(struct arena *a, struct cluster *c)
{
	cluster_judge_topology(a, c);
	for (size_t i = 0; i < c->n_wires; i++) {
		cluster_judge_loop(a, c, &c->wires[i]);
		cages(a, c, &c->wires[i]);
		on_switch(a, c, &c->wires[i]);
	}
	for (size_t x = 0; x < c->n_nodes; x++)
		for (size_t y = x + 1; y < c->n_nodes; y++)
			cluster_judge_doubled(a, c, x, y);
	for (size_t i = 0; i < c->n_cages; i++)
		has_no_neighbor(a, c, i);
}

/* Findings about addresses: subnets, doubles, and which way the kernel sends. */

/* An address that counts: not link-local, and IPv4 alone where only that matters. */
static bool counts(const struct cluster_address *x, struct cluster_prefix *out)
{
	return cluster_prefix_parse(x->name, out) == 0 && !cluster_prefix_link_local(out);
}

/* The address of p that shares a subnet with one of q, IPv4 alone or any; NULL. */
static const char *cluster_judge_shared(const struct cluster_port *p, const struct cluster_port *q,
					bool four)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
		LIST_FOR_EACH (struct cluster_address, y, &q->addresses) {
			struct cluster_prefix px, py;

			if (counts(x, &px) && counts(y, &py) && cluster_prefix_same(&px, &py) &&
			    (!four || px.family == AF_INET))
				return x->name;
		}
	return NULL;
}

/* The first address that counts; NULL. */
static const char *addressed(const struct cluster_port *p)
{
	struct cluster_prefix prefix;

	LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
		if (counts(x, &prefix))
			return x->name;
	return NULL;
}

/* By PCI address, so that a sentence begins with the first twin; the first one's port. */
static const struct cluster_port *
cluster_judge_in_order(const struct cluster *c, struct cluster_end *x, struct cluster_end *y)
{
	if (strcmp(cluster_end_port(c, *x)->pci, cluster_end_port(c, *y)->pci) > 0) {
		struct cluster_end z = *x;

		*x = *y;
		*y = z;
	}
	return cluster_end_port(c, *x);
}

static void same_subnet(struct arena *a, struct cluster *c, size_t node)
{
	const struct list *ports = &c->nodes[node].ports;

	if (!cluster_fails(c, node, "nic.subnets", ""))
		return;
	for (size_t i = 0; i < ports->n; i++)
		for (size_t k = i + 1; k < ports->n; k++) {
			struct cluster_end x = { node, i }, y = { node, k };
			const struct cluster_port *p = cluster_judge_in_order(c, &x, &y);
			const struct cluster_port *q = cluster_end_port(c, y);
			const char *subnet = cluster_judge_shared(p, q, true);
			size_t cage = cluster_cage_of(c, node, p);

			if (!subnet || !cluster_port_up(p) || !cluster_port_up(q))
				continue;
			cluster_find_at(
				a, c, "same-subnet-twins", x,
				arena_printf(a, "%s of %s", subnet, p->name),
				"%s and %s%s are in one subnet: the kernel sends through only "
				"one of them, and answers ARP requests for both.",
				cluster_end_text(a, c, x), q->name,
				cage != CLUSTER_NONE && cage == cluster_cage_of(c, node, q)
					? ", the other interface of its port,"
					: "");
		}
}

static bool same_address(const struct cluster_prefix *x, const struct cluster_prefix *y)
{
	return x->family == y->family &&
	       memcmp(x->bytes, y->bytes, x->family == AF_INET ? 4 : 16) == 0;
}

static void cluster_judge_duplicates(struct arena *a, struct cluster *c, struct cluster_end x,
				     struct cluster_end y)
{
	LIST_FOR_EACH (struct cluster_address, p, &cluster_end_port(c, x)->addresses)
		LIST_FOR_EACH (struct cluster_address, q, &cluster_end_port(c, y)->addresses) {
			struct cluster_prefix px, py;

			if (!counts(p, &px) || !counts(q, &py) || !same_address(&px, &py))
				continue;
			cluster_find_at(a, c, "duplicate-address", y, p->name,
					"%s and %s have the same address.",
					cluster_end_text(a, c, x), cluster_end_text(a, c, y));
		}
}

/* On wires only: what else has one address twice may be meant so (VRRP, anycast). */
static void on_wire(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_cages; i++)
		for (size_t j = i + 1; j < w->n_cages; j++) {
			const struct cluster_cage *x = &c->cages[w->cages[i]];
			const struct cluster_cage *y = &c->cages[w->cages[j]];

			for (size_t k = 0; k < x->n_ports; k++)
				for (size_t l = 0; l < y->n_ports; l++)
					cluster_judge_duplicates(
						a, c, (struct cluster_end){ x->node, x->ports[k] },
						(struct cluster_end){ y->node, y->ports[l] });
		}
}

static void mismatch(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	struct cluster_end x = p->ends[0];

	for (size_t i = 1; i < p->n_ends; i++) {
		struct cluster_end y = p->ends[i];
		const struct cluster_port *px = cluster_end_port(c, x);
		const struct cluster_port *py = cluster_end_port(c, y);

		if (!addressed(px) || !addressed(py) || cluster_judge_shared(px, py, false))
			continue;
		cluster_find_at(a, c, "address-mismatch", x,
				arena_printf(a, "%s against %s", addressed(px), addressed(py)),
				"%s and %s are on one path but share no subnet.",
				cluster_end_text(a, c, x), cluster_end_text(a, c, y));
	}
}

static void cluster_judge_none(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	size_t cage = w->cages[0];
	struct cluster_end first = { c->cages[cage].node, c->cages[cage].ports[0] };
	bool needed = false;

	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t k = 0; k < w->paths[i].n_ends; k++) {
			struct cluster_end e = w->paths[i].ends[k];
			const struct cluster_port *p = cluster_end_port(c, e);

			if (addressed(p))
				return;
			if (needed || !cluster_fails(c, e.node, "nic.address", p->name))
				continue;
			needed = true;
			first = e;
		}
	if (!needed)
		return;
	cluster_find_at(a, c, "no-address", first, arena_printf(a, "%zu paths", w->n_paths),
			"Cable at %s: no port has an IP address.", cluster_cage_text(a, c, cage));
}

static const struct cluster_route *route_to(const struct cluster_node *n, const char *address)
{
	size_t len = strcspn(address, "/");

	LIST_FOR_EACH (struct cluster_route, r, &n->routes)
		if (strlen(r->name) == len && memcmp(r->name, address, len) == 0)
			return r;
	return NULL;
}

/* From x, an address of the path's other end has to be reached by x's own port. */
static void cluster_judge_egress(struct arena *a, struct cluster *c, struct cluster_end x,
				 struct cluster_end y)
{
	const struct cluster_port *px = cluster_end_port(c, x), *py = cluster_end_port(c, y);

	LIST_FOR_EACH (struct cluster_address, to, &py->addresses) {
		const struct cluster_route *r = route_to(&c->nodes[x.node], to->name);
		const char *by = r ? fact_text(&r->port, "") : NULL;
		const struct cluster_port *other =
			by ? cluster_port_find(&c->nodes[x.node], by) : NULL;

		if (!r || strcmp(by, px->name) == 0)
			continue;
		cluster_find_at(
			a, c, "wrong-egress", x,
			!*by ? "no route"
			: other && other->data
				? "the route uses another port of the adapter"
				: "the route uses another interface (possibly the default route)",
			"%s sends to %.*s (%s) %s%s, not through %s.", c->nodes[x.node].name,
			(int)strcspn(to->name, "/"), to->name, cluster_end_text(a, c, y),
			*by ? "by " : "nowhere", by, px->name);
	}
}

static void cluster_judge_addresses(struct arena *a, struct cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		same_subnet(a, c, i);
	for (size_t w = 0; w < c->n_wires; w++) {
		on_wire(a, c, &c->wires[w]);
		cluster_judge_none(a, c, &c->wires[w]);
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];

			mismatch(a, c, p);
			for (size_t i = 0; i < p->n_ends; i++)
				for (size_t j = 0; j < p->n_ends; j++)
					if (i != j)
						cluster_judge_egress(a, c, p->ends[i], p->ends[j]);
		}
	}
}

void cluster_judge(struct arena *a, struct cluster *c, const struct cluster *earlier)
{
	cluster_judge_settings(a, c);
	cluster_judge_nodes(a, c);
	cluster_judge_cables(a, c);
	cluster_judge_ports(a, c);
	cluster_judge_addresses(a, c);
	cluster_judge_gids(a, c, earlier);
}
