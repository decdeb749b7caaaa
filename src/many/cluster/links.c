/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to cages, links and wires. */
#include "many/cluster/links.h"

#include <stdlib.h>
#include <string.h>

#include "many/cluster/links_inside.h"

struct cluster_port *cluster_end_port(const struct cluster *c, struct cluster_end e)
{
	return (struct cluster_port *)c->nodes[e.node].ports.items + e.port;
}

bool cluster_port_up(const struct cluster_port *p)
{
	return fact_or(&p->carrier, 0) && fact_is(&p->operstate, "up");
}

bool cluster_port_data(const struct cluster_port *p)
{
	enum { DATA_MBPS = 25000 };

	return seen_ok(&p->rdma_device.f) || fact_or(&p->speed_mbps, 0) >= DATA_MBPS;
}

size_t cluster_cage_of(const struct cluster *c, size_t node, const struct cluster_port *p)
{
	size_t port = (size_t)(p - (const struct cluster_port *)c->nodes[node].ports.items);

	for (size_t i = 0; i < c->n_cages; i++)
		for (size_t k = 0; c->cages[i].node == node && k < c->cages[i].n_ports; k++)
			if (c->cages[i].ports[k] == port)
				return i;
	return CLUSTER_NONE;
}

size_t cluster_cage_at(const struct cluster *c, struct cluster_end e)
{
	return cluster_cage_of(c, e.node, cluster_end_port(c, e));
}

const char *cluster_end_text(struct arena *a, const struct cluster *c, struct cluster_end e)
{
	return arena_printf(a, "%s %s", c->nodes[e.node].name, cluster_end_port(c, e)->name);
}

/* --- cages --------------------------------------------------------------------------------------
 */

/* "01:00.0" of "0002:01:00.0": what stands behind the domain. */
static const char *behind_domain(const char *pci)
{
	const char *colon = strchr(pci, ':');

	return colon ? colon + 1 : "";
}

static bool both_say(const struct fact_str *x, const struct fact_str *y, bool equal)
{
	return seen_ok(&x->f) && seen_ok(&y->f) && (strcmp(x->v, y->v) == 0) == equal;
}

static const char *twins_by(const struct cluster_node *n, const struct cluster_port *a,
			    const struct cluster_port *b)
{
	if (!*a->pci || !*b->pci || both_say(&a->port_name, &b->port_name, false))
		return NULL;
	if (both_say(&a->port_name, &b->port_name, true) &&
	    both_say(&a->switch_id, &b->switch_id, true))
		return "equal phys_switch_id and phys_port_name";
	/* The one machine of which it is known that a card stands on two PCI domains. */
	if (!fact_is(&n->platform, "dgx-spark") || !fact_is(&a->driver, "mlx5_core") ||
	    !fact_is(&b->driver, "mlx5_core"))
		return NULL;
	return strcmp(behind_domain(a->pci), behind_domain(b->pci)) == 0
		       ? "the same function of one card on two PCI domains (DGX Spark)"
		       : NULL;
}

static bool has_cage(const struct cluster_port *p)
{
	return !fact_or(&p->wireless, 0);
}

/* Behind the twins that stand before it on the bus. */
static void cage_add(struct arena *a, const struct cluster_node *n, struct cluster_cage *cage,
		     size_t port)
{
	const struct cluster_port *ports = n->ports.items;
	size_t at = cage->n_ports;

	cage->ports = arena_grow(a, cage->ports, cage->n_ports, sizeof(*cage->ports));
	while (at && strcmp(ports[cage->ports[at - 1]].pci, ports[port].pci) > 0) {
		cage->ports[at] = cage->ports[at - 1];
		at--;
	}
	cage->ports[at] = port;
	cage->n_ports++;
}

static struct cluster_cage *cage_for(struct cluster *c, size_t first, size_t node,
				     const struct cluster_port *p, const char **by)
{
	const struct cluster_port *ports = c->nodes[node].ports.items;

	for (size_t i = first; i < c->n_cages; i++) {
		*by = twins_by(&c->nodes[node], &ports[c->cages[i].ports[0]], p);
		if (*by)
			return &c->cages[i];
	}
	return NULL;
}

static void make_cages(struct arena *a, struct cluster *c, size_t node)
{
	const struct cluster_node *n = &c->nodes[node];
	size_t first = c->n_cages;

	for (size_t i = 0; i < n->ports.n; i++) {
		const struct cluster_port *p = (const struct cluster_port *)n->ports.items + i;
		const char *by = NULL;
		struct cluster_cage *cage;

		if (!has_cage(p))
			continue;
		cage = cage_for(c, first, node, p, &by);
		if (!cage) {
			c->cages = arena_grow(a, c->cages, c->n_cages, sizeof(*c->cages));
			cage = &c->cages[c->n_cages++];
			*cage = (struct cluster_cage){ .node = node, .wire = CLUSTER_NONE };
			cage->name = fact_text(&p->port_name, p->name);
		} else {
			cage->twins_by = by;
		}
		cage_add(a, n, cage, i);
	}
}

/* --- links --------------------------------------------------------------------------------------
 */

static bool find_node(const struct cluster *c, const char *name, size_t *out)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (strcmp(c->nodes[i].name, name) == 0) {
			*out = i;
			return true;
		}
	return false;
}

static bool has_address(const struct cluster_port *p, const char *address)
{
	size_t n = strlen(address);

	LIST_FOR_EACH (struct cluster_address, x, &p->addresses)
		if (strncmp(x->name, address, n) == 0 && (x->name[n] == '/' || !x->name[n]))
			return true;
	return false;
}

/* Who answers with a link-local address, where only one port of all nodes has it. */
static bool find_address(const struct cluster *c, const char *address, struct cluster_end *out)
{
	size_t found = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		for (size_t k = 0; k < c->nodes[i].ports.n; k++) {
			struct cluster_end e = { i, k };

			if (!has_address(cluster_end_port(c, e), address))
				continue;
			*out = e;
			found++;
		}
	return found == 1;
}

static bool speaker_of(const struct cluster *c, const struct cluster_heard *h,
		       struct cluster_end *out)
{
	const struct cluster_port *p;

	if (strcmp(h->way, "echo") == 0)
		return find_address(c, fact_text(&h->address, ""), out);
	if (strcmp(h->way, "lldp") == 0 || !find_node(c, fact_text(&h->node, ""), &out->node))
		return false;
	p = cluster_port_find(&c->nodes[out->node], fact_text(&h->port, ""));
	if (!p)
		return false;
	out->port = (size_t)(p - (const struct cluster_port *)c->nodes[out->node].ports.items);
	return true;
}

static enum cluster_way way_of(const struct cluster_heard *h)
{
	if (strcmp(h->way, "link") == 0)
		return CLUSTER_CABLE;
	return strcmp(h->way, "broadcast") == 0 ? CLUSTER_SWITCH : CLUSTER_UNSURE;
}

static struct cluster_link *link_between(struct arena *a, struct cluster *c, struct cluster_end x,
					 struct cluster_end y)
{
	struct cluster_link *l;

	for (size_t i = 0; i < c->n_links; i++) {
		l = &c->links[i];
		if (l->a.node == x.node && l->a.port == x.port && l->b.node == y.node &&
		    l->b.port == y.port)
			return l;
	}
	c->links = arena_grow(a, c->links, c->n_links, sizeof(*c->links));
	l = &c->links[c->n_links++];
	*l = (struct cluster_link){ .a = x, .b = y, .way = CLUSTER_UNSURE };
	return l;
}

static void hear(struct arena *a, struct cluster *c, size_t node, const struct cluster_heard *h)
{
	const struct cluster_port *p = cluster_port_find(&c->nodes[node], h->name);
	struct cluster_end here = { node, 0 }, there;
	struct cluster_link *l;
	size_t cage;
	bool before;

	if (!p || !speaker_of(c, h, &there))
		return;
	here.port = (size_t)(p - (const struct cluster_port *)c->nodes[node].ports.items);
	cage = cluster_cage_of(c, node, p);
	/* Twins hear each other inside the adapter: nothing of that is on the cable. */
	if (cage == CLUSTER_NONE || cage == cluster_cage_at(c, there))
		return;
	before = here.node < there.node || (here.node == there.node && here.port < there.port);
	l = before ? link_between(a, c, here, there) : link_between(a, c, there, here);
	if (way_of(h) < l->way)
		l->way = way_of(h);
	if (before)
		l->a_hears = true;
	else
		l->b_hears = true;
}

/* Who announces itself most often there: a frame that was cut on its way names less. */
static void neighbour(struct cluster *c, size_t node, const struct cluster_heard *h,
		      long long *most)
{
	const struct cluster_port *p = cluster_port_find(&c->nodes[node], h->name);
	size_t cage = p ? cluster_cage_of(c, node, p) : CLUSTER_NONE;

	if (cage == CLUSTER_NONE || strcmp(h->way, "lldp") != 0 || !seen_ok(&h->node.f) ||
	    fact_or(&h->count, 1) <= most[cage])
		return;
	most[cage] = fact_or(&h->count, 1);
	c->cages[cage].neighbour = h->node.v;
}

/* A cable has two ends. Whoever hears several cages through frames that no bridge should forward
 * hears them through one that does. */
static void demote(struct cluster *c)
{
	for (size_t cage = 0; cage < c->n_cages; cage++) {
		size_t other = CLUSTER_NONE;
		bool several = false;

		for (size_t i = 0; i < c->n_links; i++) {
			size_t x = cluster_cage_at(c, c->links[i].a),
			       y = cluster_cage_at(c, c->links[i].b);

			if (c->links[i].way != CLUSTER_CABLE || (x != cage && y != cage))
				continue;
			x = x == cage ? y : x;
			several = several || (other != CLUSTER_NONE && other != x);
			other = x;
		}
		for (size_t i = 0; several && i < c->n_links; i++)
			if (c->links[i].way == CLUSTER_CABLE &&
			    (cluster_cage_at(c, c->links[i].a) == cage ||
			     cluster_cage_at(c, c->links[i].b) == cage))
				c->links[i].way = CLUSTER_SWITCH;
	}
}

void cluster_link(struct arena *a, struct cluster *c)
{
	long long *most;

	c->n_links = c->n_cages = c->n_wires = 0;
	c->links = NULL;
	c->cages = NULL;
	c->wires = NULL;
	for (size_t i = 0; i < c->n_nodes; i++)
		make_cages(a, c, i);
	most = arena_array(a, c->n_cages, sizeof(*most));
	for (size_t i = 0; i < c->n_nodes; i++)
		LIST_FOR_EACH (struct cluster_heard, h, &c->nodes[i].heard) {
			hear(a, c, i, h);
			neighbour(c, i, h, most);
		}
	demote(c);
	cluster_make_wires(a, c);
	cluster_make_topology(a, c);
}
