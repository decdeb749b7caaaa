/* SPDX-License-Identifier: Apache-2.0 */
/* What shape the wires make, and whether that shape is one that is supported. */
#include <string.h>

#include "base/text.h"
#include "many/cluster/links_inside.h"

const char *cluster_topology_name(enum cluster_topology t)
{
	static const char *const names[CLUSTER_TOPOLOGIES] = {
		[CLUSTER_NOTHING] = "nothing",
		[CLUSTER_PAIR] = "pair",
		[CLUSTER_RING] = "ring",
		[CLUSTER_SWITCHED] = "switch",
		[CLUSTER_RING_FOUR] = "ring-of-four",
		[CLUSTER_PARTIAL] = "partial",
		[CLUSTER_MIXED] = "mixed",
	};

	return names[t];
}

const char *cluster_way_name(enum cluster_way w)
{
	static const char *const names[CLUSTER_WAYS] = { "cable", "switch", "unsure" };

	return names[w];
}

/* What the topology is made of. */
struct shape {
	const struct cluster *c;
	bool all; /* management ports count, because there are no others */
	size_t nodes;
	size_t cables, switches, unsure;
	bool joined[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX]; /* by a cable, or what may be one */
	size_t neighbours[CLUSTER_NODES_MAX];
	size_t on_switch[CLUSTER_NODES_MAX]; /* switches that a node is on */
};

static void count_wire(struct shape *s, const struct cluster_wire *w)
{
	size_t x = s->c->cages[w->cages[0]].node, y = s->c->cages[w->cages[1]].node;

	s->cables += w->way == CLUSTER_CABLE;
	s->switches += w->way == CLUSTER_SWITCH;
	s->unsure += w->way == CLUSTER_UNSURE;
	if (w->way == CLUSTER_SWITCH) {
		for (size_t i = 0; i < w->n_cages; i++)
			s->on_switch[s->c->cages[w->cages[i]].node]++;
		return;
	}
	if (x == y || s->joined[x][y])
		return;
	s->joined[x][y] = s->joined[y][x] = true;
	s->neighbours[x]++;
	s->neighbours[y]++;
}

static struct shape look(const struct cluster *c)
{
	struct shape s = { .c = c, .all = true };

	for (size_t i = 0; i < c->n_wires; i++)
		s.all = s.all && !cluster_wire_data(c, &c->wires[i]);
	for (size_t i = 0; i < c->n_wires; i++)
		if (s.all || cluster_wire_data(c, &c->wires[i]))
			count_wire(&s, &c->wires[i]);
	for (size_t i = 0; i < c->n_nodes; i++)
		s.nodes += !*c->nodes[i].failure;
	return s;
}

static bool alive(const struct shape *s, size_t i)
{
	return !*s->c->nodes[i].failure;
}

/* The pairs without a cable: "spark-1 and spark-3, spark-2 and spark-4". */
static const char *gaps(struct arena *a, const struct shape *s)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < s->c->n_nodes; i++)
		for (size_t k = i + 1; k < s->c->n_nodes; k++)
			if (alive(s, i) && alive(s, k) && !s->joined[i][k])
				text_printf(&t, "%s%s and %s", t.len ? ", " : "",
					    s->c->nodes[i].name, s->c->nodes[k].name);
	return arena_strdup(a, t.s ? t.s : "");
}

static bool each_has(const struct shape *s, const size_t *count, size_t n)
{
	for (size_t i = 0; i < s->c->n_nodes; i++)
		if (alive(s, i) && count[i] != n)
			return false;
	return true;
}

static bool each_on_switch(const struct shape *s)
{
	for (size_t i = 0; i < s->c->n_nodes; i++)
		if (alive(s, i) && !s->on_switch[i])
			return false;
	return true;
}

static enum cluster_topology of_cables(struct arena *a, const struct shape *s, const char **why)
{
	*why = s->unsure ? "Only datagrams came through (no node may open raw sockets), so these "
			   "are cables or a switch."
			 : "";
	if (s->nodes == 2 && each_has(s, s->neighbours, 1)) {
		if (!s->unsure)
			*why = "A cable joins the two nodes.";
		return CLUSTER_PAIR;
	}
	if (s->nodes == 3 && each_has(s, s->neighbours, 2)) {
		if (!s->unsure)
			*why = "Every node has a cable to both others.";
		return CLUSTER_RING;
	}
	/* Two neighbours each among four nodes are one ring: a smaller one needs three. */
	if (s->nodes == 4 && each_has(s, s->neighbours, 2)) {
		*why = arena_printf(a,
				    "A ring of four without a switch is not supported: %s share no "
				    "cable, and NCCL, which connects trees across all nodes, ends "
				    "with an error there; NVIDIA's own set-up refuses it as well. "
				    "Use a 200 Gb/s switch, or three nodes.",
				    gaps(a, s));
		return CLUSTER_RING_FOUR;
	}
	*why = arena_printf(a, "No cable joins %s.", gaps(a, s));
	return CLUSTER_PARTIAL;
}

static enum cluster_topology of_shape(struct arena *a, const struct shape *s, const char **why)
{
	if (!s->cables && !s->switches && !s->unsure) {
		*why = s->nodes > 1	   ? "No port heard a port of another node."
		       : s->nodes == 0	   ? "No node answered."
		       : s->c->n_nodes > 1 ? "One node alone answered."
					   : "There is one node.";
		return CLUSTER_NOTHING;
	}
	if (s->switches && s->cables) {
		*why = "Some ports are joined by a cable, others by a switch; do one or the other.";
		return CLUSTER_MIXED;
	}
	if (!s->switches)
		return of_cables(a, s, why);
	if (each_on_switch(s)) {
		*why = s->switches > 1 ? "All nodes are on switches."
				       : "All nodes are on one switch.";
		return CLUSTER_SWITCHED;
	}
	*why = "Not every node hears the switch that joins the others.";
	return CLUSTER_PARTIAL;
}

static bool has_data(const struct cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
	if (cluster_port_data(p))
		return true;
	return false;
}

void cluster_make_topology(struct arena *a, struct cluster *c)
{
	struct shape s = look(c);

	c->topology = of_shape(a, &s, &c->topology_why);
	c->supported = c->topology == CLUSTER_PAIR || c->topology == CLUSTER_RING ||
		       c->topology == CLUSTER_SWITCHED;
	if (!s.all || c->topology == CLUSTER_NOTHING)
		return;
	c->supported = false;
	if (has_data(c)) {
		c->topology = CLUSTER_NOTHING;
		c->topology_why = "Only management ports hear each other: no port with RDMA or 25 "
				  "Gb/s hears another node.";
	} else {
		c->topology_why = arena_printf(a,
					       "%s No port has RDMA or 25 Gb/s: these may "
					       "be for management.",
					       c->topology_why);
	}
}
