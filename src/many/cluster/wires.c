/* SPDX-License-Identifier: Apache-2.0 */
/* Links folded into wires: a cable with two cages or a switch with many, and the paths on it. */
#include <string.h>

#include "many/cluster/links_inside.h"

bool cluster_wire_data(const struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_cages; i++) {
		const struct cluster_cage *g = &c->cages[w->cages[i]];

		for (size_t k = 0; k < g->n_ports; k++)
			if (cluster_port_data(cluster_end_port(
				    c, (struct cluster_end){ g->node, g->ports[k] })))
				return true;
	}
	return false;
}

const char *cluster_cage_text(struct arena *a, const struct cluster *c, size_t cage)
{
	return arena_printf(a, "%s %s", c->nodes[c->cages[cage].node].name, c->cages[cage].name);
}

/* Every link joins the sets of its two cages: set[i] is the smallest cage of the set. */
static size_t *join(struct arena *a, const struct cluster *c)
{
	size_t *set = arena_array(a, c->n_cages, sizeof(*set));

	for (size_t i = 0; i < c->n_cages; i++)
		set[i] = i;
	for (size_t i = 0; i < c->n_links; i++) {
		size_t x = set[cluster_cage_at(c, c->links[i].a)],
		       y = set[cluster_cage_at(c, c->links[i].b)];
		size_t low = x < y ? x : y, high = x < y ? y : x;

		for (size_t k = 0; k < c->n_cages; k++)
			if (set[k] == high)
				set[k] = low;
	}
	return set;
}

static enum cluster_way way_of(const struct cluster *c, const struct cluster_wire *w, size_t wire)
{
	enum cluster_way way = CLUSTER_UNSURE;

	for (size_t i = 0; i < c->n_links; i++)
		if (c->cages[cluster_cage_at(c, c->links[i].a)].wire == wire &&
		    c->links[i].way < way)
			way = c->links[i].way;
	/* Datagrams alone: two ends may be a cable, more are not. */
	if (w->n_cages > 2)
		return CLUSTER_SWITCH;
	return way;
}

/* The only port of cage g that port hears or is heard by; CLUSTER_NONE when none or several. */
static size_t partner(const struct cluster *c, struct cluster_end port, size_t g)
{
	size_t found = CLUSTER_NONE;

	for (size_t i = 0; i < c->n_links; i++) {
		struct cluster_end x = c->links[i].a, y = c->links[i].b;

		if (y.node == port.node && y.port == port.port) {
			y = x;
			x = port;
		}
		if (x.node != port.node || x.port != port.port || cluster_cage_at(c, y) != g)
			continue;
		if (found != CLUSTER_NONE && found != y.port)
			return CLUSTER_NONE;
		found = y.port;
	}
	return found;
}

static bool taken(const struct cluster_wire *w, struct cluster_end e)
{
	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t k = 0; k < w->paths[i].n_ends; k++)
			if (w->paths[i].ends[k].node == e.node &&
			    w->paths[i].ends[k].port == e.port)
				return true;
	return false;
}

static struct cluster_path *add_path(struct arena *a, struct cluster_wire *w)
{
	struct cluster_path *p;

	w->paths = arena_grow(a, w->paths, w->n_paths, sizeof(*w->paths));
	p = &w->paths[w->n_paths++];
	*p = (struct cluster_path){ .ends = arena_array(a, w->n_cages, sizeof(*p->ends)) };
	return p;
}

static void add_end(const struct cluster *c, struct cluster_path *p, struct cluster_end e)
{
	long long speed = fact_or(&cluster_end_port(c, e)->speed_mbps, 0);

	if (speed > 0 && (!p->speed_mbps || speed < p->speed_mbps))
		p->speed_mbps = speed;
	p->ends[p->n_ends++] = e;
}

/* A port that hears exactly one port of the other cage goes with that one. */
static void paths_by_ear(struct arena *a, const struct cluster *c, struct cluster_wire *w)
{
	const struct cluster_cage *x = &c->cages[w->cages[0]], *y = &c->cages[w->cages[1]];

	for (size_t i = 0; i < x->n_ports; i++) {
		struct cluster_end from = { x->node, x->ports[i] }, to = { y->node, 0 };
		struct cluster_path *p;

		to.port = partner(c, from, w->cages[1]);
		if (to.port == CLUSTER_NONE || partner(c, to, w->cages[0]) != from.port)
			continue;
		p = add_path(a, w);
		add_end(c, p, from);
		add_end(c, p, to);
	}
}

/* On a switch the ports of one node, whatever their cages, are its ways to the others; on a cable
 * those of one cage are. */
static bool one_group(const struct cluster *c, const struct cluster_wire *w, size_t x, size_t y)
{
	return w->way == CLUSTER_SWITCH ? c->cages[x].node == c->cages[y].node : x == y;
}

/* The first port that is left of the group that begins with cage i, by PCI address. */
static bool next_end(const struct cluster *c, const struct cluster_wire *w, size_t i,
		     struct cluster_end *out)
{
	bool found = false;

	for (size_t j = i; j < w->n_cages; j++) {
		const struct cluster_cage *g = &c->cages[w->cages[j]];

		if (!one_group(c, w, w->cages[i], w->cages[j]))
			continue;
		for (size_t k = 0; k < g->n_ports; k++) {
			struct cluster_end e = { g->node, g->ports[k] };

			if (taken(w, e) || (found && strcmp(cluster_end_port(c, e)->pci,
							    cluster_end_port(c, *out)->pci) >= 0))
				continue;
			*out = e;
			found = true;
		}
	}
	return found;
}

static bool begins_group(const struct cluster *c, const struct cluster_wire *w, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (one_group(c, w, w->cages[k], w->cages[i]))
			return false;
	return true;
}

/* What is left: the first that is left of every group, then the second. */
static void paths_by_order(struct arena *a, const struct cluster *c, struct cluster_wire *w)
{
	for (;;) {
		struct cluster_path next = { .ends = arena_array(a, w->n_cages,
								 sizeof(*next.ends)) };

		for (size_t i = 0; i < w->n_cages; i++) {
			struct cluster_end e;

			if (begins_group(c, w, i) && next_end(c, w, i, &e))
				add_end(c, &next, e);
		}
		if (next.n_ends < 2)
			return;
		*add_path(a, w) = next;
	}
}

static void add_wire(struct arena *a, struct cluster *c, const size_t *set, size_t first)
{
	struct cluster_wire w = { 0 };

	for (size_t i = first; i < c->n_cages; i++) {
		if (set[i] != first)
			continue;
		w.cages = arena_grow(a, w.cages, w.n_cages, sizeof(*w.cages));
		w.cages[w.n_cages++] = i;
	}
	if (w.n_cages < 2)
		return;
	for (size_t i = 0; i < w.n_cages; i++)
		c->cages[w.cages[i]].wire = c->n_wires;
	w.way = way_of(c, &w, c->n_wires);
	if (w.way != CLUSTER_SWITCH)
		paths_by_ear(a, c, &w);
	paths_by_order(a, c, &w);
	c->wires = arena_grow(a, c->wires, c->n_wires, sizeof(*c->wires));
	c->wires[c->n_wires++] = w;
}

void cluster_make_wires(struct arena *a, struct cluster *c)
{
	size_t *set = join(a, c);

	for (size_t i = 0; i < c->n_cages; i++)
		if (set[i] == i)
			add_wire(a, c, set, i);
}
