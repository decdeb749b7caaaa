/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about addresses: subnets, doubles, and which way the kernel sends. */
#include <arpa/inet.h>
#include <string.h>

#include "many/cluster/links_inside.h"

static const char plan[] = "give each path a subnet of its own (gputune cluster plan)";

/* An address that counts: not link-local, and IPv4 alone where only that matters. */
static bool counts(const struct cluster_address *x, struct cluster_prefix *out)
{
	return cluster_prefix_parse(x->name, out) == 0 && !cluster_prefix_link_local(out);
}

/* The address of p that shares a subnet with one of q; NULL. */
static const char *shared(const struct cluster_port *p, const struct cluster_port *q)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
		LIST_FOR_EACH (struct cluster_address, y, &q->addresses) {
			struct cluster_prefix px, py;

			if (counts(x, &px) && counts(y, &py) && cluster_prefix_same(&px, &py))
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
static const struct cluster_port *in_order(const struct cluster *c, struct cluster_end *x,
					   struct cluster_end *y)
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

	for (size_t i = 0; i < ports->n; i++)
		for (size_t k = i + 1; k < ports->n; k++) {
			struct cluster_end x = { node, i }, y = { node, k };
			const struct cluster_port *p = in_order(c, &x, &y);
			const struct cluster_port *q = cluster_end_port(c, y);
			const char *subnet = shared(p, q);
			size_t cage = cluster_cage_of(c, node, p);

			if (!subnet || !cluster_port_up(p) || !cluster_port_up(q))
				continue;
			cluster_find(
				a, c,
				&(struct cluster_finding){
					.code = "same-subnet-twins",
					.severity = CLUSTER_FAULT,
					.node = c->nodes[node].name,
					.port = p->name,
					.text = arena_printf(
						a,
						"%s and %s%s are in one subnet: the kernel sends "
						"by one of them only, and answers for both.",
						cluster_end_text(a, c, x), q->name,
						cage != CLUSTER_NONE &&
								cage == cluster_cage_of(c, node, q)
							? ", its twin,"
							: ""),
					.evidence = arena_printf(a, "%s of %s", subnet, p->name),
					.fix = plan });
		}
}

static bool same_address(const struct cluster_prefix *x, const struct cluster_prefix *y)
{
	return x->family == y->family &&
	       memcmp(x->bytes, y->bytes, x->family == AF_INET ? 4 : 16) == 0;
}

static void duplicates(struct arena *a, struct cluster *c, struct cluster_end x,
		       struct cluster_end y)
{
	LIST_FOR_EACH (struct cluster_address, p, &cluster_end_port(c, x)->addresses)
		LIST_FOR_EACH (struct cluster_address, q, &cluster_end_port(c, y)->addresses) {
			struct cluster_prefix px, py;

			if (!counts(p, &px) || !counts(q, &py) || !same_address(&px, &py))
				continue;
			cluster_find(a, c,
				     &(struct cluster_finding){
					     .code = "duplicate-address",
					     .severity = CLUSTER_FAULT,
					     .node = c->nodes[y.node].name,
					     .port = cluster_end_port(c, y)->name,
					     .text = arena_printf(a,
								  "%s and %s have the same "
								  "address.",
								  cluster_end_text(a, c, x),
								  cluster_end_text(a, c, y)),
					     .evidence = p->name,
					     .fix = plan });
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
					duplicates(a, c,
						   (struct cluster_end){ x->node, x->ports[k] },
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

		if (!addressed(px) || !addressed(py) || shared(px, py))
			continue;
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "address-mismatch",
				.severity = CLUSTER_FAULT,
				.node = c->nodes[x.node].name,
				.port = px->name,
				.text = arena_printf(a,
						     "%s and %s are on one path and share no "
						     "subnet.",
						     cluster_end_text(a, c, x),
						     cluster_end_text(a, c, y)),
				.evidence = arena_printf(a, "%s against %s", addressed(px),
							 addressed(py)),
				.fix = "see that the cables stand where the addresses were made "
				       "for, or make them anew (gputune cluster plan)" });
	}
}

static void none(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	size_t cage = w->cages[0];
	struct cluster_end first = { c->cages[cage].node, c->cages[cage].ports[0] };

	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t k = 0; k < w->paths[i].n_ends; k++)
			if (addressed(cluster_end_port(c, w->paths[i].ends[k])))
				return;
	if (!cluster_wire_data(c, w))
		return;
	cluster_find(a, c,
		     &(struct cluster_finding){
			     .code = "no-address",
			     .severity = CLUSTER_WARNING,
			     .node = c->nodes[first.node].name,
			     .port = cluster_end_port(c, first)->name,
			     .text = arena_printf(a, "No end of the wire at %s has an address.",
						  cluster_cage_text(a, c, cage)),
			     .evidence = arena_printf(a, "%zu paths", w->n_paths),
			     .fix = plan });
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
static void egress(struct arena *a, struct cluster *c, struct cluster_end x, struct cluster_end y)
{
	const struct cluster_port *px = cluster_end_port(c, x), *py = cluster_end_port(c, y);

	LIST_FOR_EACH (struct cluster_address, to, &py->addresses) {
		const struct cluster_route *r = route_to(&c->nodes[x.node], to->name);
		const char *by = r ? fact_text(&r->port, "") : NULL;
		const struct cluster_port *other =
			by ? cluster_port_find(&c->nodes[x.node], by) : NULL;

		if (!r || strcmp(by, px->name) == 0)
			continue;
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "wrong-egress",
				.severity = CLUSTER_FAULT,
				.node = c->nodes[x.node].name,
				.port = px->name,
				.text = arena_printf(a, "%s sends to %.*s (%s) %s%s, not by %s.",
						     c->nodes[x.node].name,
						     (int)strcspn(to->name, "/"), to->name,
						     cluster_end_text(a, c, y),
						     *by ? "by " : "nowhere", by, px->name),
				.evidence = !*by ? "no route"
					    : other && cluster_port_data(other)
						    ? "the route leads out by another port of the "
						      "adapter"
						    : "the route leads out by another interface "
						      "(the default route, maybe)",
				.fix = plan });
	}
}

void cluster_judge_addresses(struct arena *a, struct cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		same_subnet(a, c, i);
	for (size_t w = 0; w < c->n_wires; w++) {
		on_wire(a, c, &c->wires[w]);
		none(a, c, &c->wires[w]);
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];

			mismatch(a, c, p);
			for (size_t i = 0; i < p->n_ends; i++)
				for (size_t j = 0; j < p->n_ends; j++)
					if (i != j)
						egress(a, c, p->ends[i], p->ends[j]);
		}
	}
}
