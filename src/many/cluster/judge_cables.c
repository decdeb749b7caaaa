/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about cabling: what stands in which cage, against the ways that are supported. */
#include <string.h>

#include "many/cluster/links_inside.h"

/* "one cable, same cage on both; a ring p0 to p1; a switch with the same cage of each node". */
static const char rule_source[] =
	"NVIDIA's cabling rule for DGX Spark (2026-10): two nodes with one cable in the same cage "
	"of both; three in a ring, p0 of each to p1 of the next; a switch with one cable a node; "
	"never both";

static bool is_spark(const struct cluster *c, size_t cage)
{
	return fact_is(&c->nodes[c->cages[cage].node].platform, "dgx-spark");
}

static void wrong(struct arena *a, struct cluster *c, size_t cage, enum cluster_severity severity,
		  const char *text, const char *fix)
{
	cluster_find(a, c,
		     &(struct cluster_finding){ .code = "wrong-cable",
						.severity = severity,
						.node = c->nodes[c->cages[cage].node].name,
						.port = c->cages[cage].name,
						.text = text,
						.evidence = rule_source,
						.fix = fix });
}

static void loop(struct arena *a, struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_cages; i++)
		for (size_t k = i + 1; k < w->n_cages; k++) {
			if (c->cages[w->cages[i]].node != c->cages[w->cages[k]].node)
				continue;
			if (w->way == CLUSTER_SWITCH)
				continue;
			wrong(a, c, w->cages[i], CLUSTER_FAULT,
			      arena_printf(a, "A cable joins %s and %s of the same machine.",
					   cluster_cage_text(a, c, w->cages[i]),
					   c->cages[w->cages[k]].name),
			      "take one end to the other machine");
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
		wrong(a, c, x, CLUSTER_WARNING,
		      arena_printf(a, "The cable joins %s to %s: different cages.",
				   cluster_cage_text(a, c, x), cluster_cage_text(a, c, y)),
		      arena_printf(a, "move one end, so that it stands in %s of both",
				   c->cages[x].name));
	if (ring && equal)
		wrong(a, c, x, CLUSTER_WARNING,
		      arena_printf(a, "The cable joins %s to %s: in a ring, p0 goes to p1.",
				   cluster_cage_text(a, c, x), cluster_cage_text(a, c, y)),
		      arena_printf(a, "swap the two cables of %s or of %s",
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
		wrong(a, c, cage, CLUSTER_WARNING,
		      arena_printf(a, "%s is on the switch, where the other nodes use %s.",
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
static void doubled(struct arena *a, struct cluster *c, size_t x, size_t y)
{
	size_t last = 0, n = cables_between(c, x, y, &last), cage;

	if (n < 2)
		return;
	cage = c->wires[last].cages[0];
	if (c->topology != CLUSTER_PARTIAL) {
		cluster_find(a, c,
			     &(struct cluster_finding){
				     .code = "second-cable",
				     .severity = CLUSTER_NOTE,
				     .node = c->nodes[x].name,
				     .port = c->cages[cage].name,
				     .text = arena_printf(a, "%zu cables join %s and %s.", n,
							  c->nodes[x].name, c->nodes[y].name),
				     .evidence = "both cages of a DGX Spark share the same PCIe "
						 "lanes: one cable reaches the same 200 Gb/s",
				     .fix = "leave it, or take it out; nothing is gained by it" });
		return;
	}
	wrong(a, c, cage, CLUSTER_FAULT,
	      arena_printf(a, "%zu cables join %s and %s, while others have none: %s", n,
			   c->nodes[x].name, c->nodes[y].name, c->topology_why),
	      arena_printf(a, "take an end of the cable in %s to a node that lacks one",
			   cluster_cage_text(a, c, cage)));
}

static void hears_nobody(struct arena *a, struct cluster *c, size_t cage)
{
	const struct cluster_cage *g = &c->cages[cage];
	const struct cluster_port *up = NULL;

	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *p =
			cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });

		if (!up && cluster_port_up(p) && cluster_port_data(p) && seen_ok(&p->listened.f))
			up = p;
	}
	if (g->wire != CLUSTER_NONE || !up)
		return;
	cluster_find(
		a, c,
		&(struct cluster_finding){
			.code = "hears-nobody",
			.severity = CLUSTER_WARNING,
			.node = c->nodes[g->node].name,
			.port = up->name,
			.text = g->neighbour
					? arena_printf(a,
						       "%s has a link and hears no node; its "
						       "neighbour calls itself %s.",
						       cluster_cage_text(a, c, cage), g->neighbour)
					: arena_printf(a, "%s has a link and hears no node.",
						       cluster_cage_text(a, c, cage)),
			.evidence = arena_printf(a, "%s is up", up->name),
			.fix = "see where the cable leads: to a machine that was not named, one "
			       "that does not answer, or a switch in another VLAN" });
}

static void topology(struct arena *a, struct cluster *c)
{
	size_t alive = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		alive += !*c->nodes[i].failure;
	if (c->supported || alive < 2)
		return;
	cluster_find(a, c,
		     &(struct cluster_finding){
			     .code = "unsupported-topology",
			     .severity = CLUSTER_FAULT,
			     .node = "",
			     .port = "",
			     .text = c->topology_why,
			     .evidence = arena_printf(a, "topology %s of %zu nodes",
						      cluster_topology_name(c->topology), alive),
			     .fix = "join two nodes by a cable, three in a ring, or all by a "
				    "200 Gb/s switch" });
}

void cluster_judge_cables(struct arena *a, struct cluster *c)
{
	topology(a, c);
	for (size_t i = 0; i < c->n_wires; i++) {
		loop(a, c, &c->wires[i]);
		cages(a, c, &c->wires[i]);
		on_switch(a, c, &c->wires[i]);
	}
	for (size_t x = 0; x < c->n_nodes; x++)
		for (size_t y = x + 1; y < c->n_nodes; y++)
			doubled(a, c, x, y);
	for (size_t i = 0; i < c->n_cages; i++)
		hears_nobody(a, c, i);
}
