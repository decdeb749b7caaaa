/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the ports of a wire: MTU, speed, twins, RDMA, PCIe, hearing both ways. */
#include <string.h>

#include "many/cluster/links_inside.h"

enum { JUMBO = 9000, SPARK_MBPS = 200000 };

static bool is_spark(const struct cluster *c, size_t node)
{
	return fact_is(&c->nodes[node].platform, "dgx-spark");
}

static void find(struct arena *a, struct cluster *c, const char *code,
		 enum cluster_severity severity, struct cluster_end e, const char *text,
		 const char *evidence, const char *fix)
{
	cluster_find(a, c,
		     &(struct cluster_finding){ .code = code,
						.severity = severity,
						.node = c->nodes[e.node].name,
						.port = cluster_end_port(c, e)->name,
						.text = text,
						.evidence = evidence,
						.fix = fix });
}

static void mtu(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	const struct cluster_end first = p->ends[0];
	long long mine = fact_or(&cluster_end_port(c, first)->mtu, 0);
	bool equal = mine > 0;

	for (size_t i = 1; i < p->n_ends; i++) {
		long long theirs = fact_or(&cluster_end_port(c, p->ends[i])->mtu, 0);

		if (mine <= 0 || theirs <= 0 || mine == theirs) {
			equal = equal && theirs > 0;
			continue;
		}
		equal = false;
		find(a, c, "mtu-mismatch", CLUSTER_FAULT, mine < theirs ? first : p->ends[i],
		     arena_printf(a,
				  "%s and %s differ in MTU: large packets vanish, and RDMA "
				  "ends with retry errors.",
				  cluster_end_text(a, c, first),
				  cluster_end_text(a, c, p->ends[i])),
		     arena_printf(a, "MTU %lld bytes on %s, %lld bytes on %s", mine,
				  cluster_end_text(a, c, first), theirs,
				  cluster_end_text(a, c, p->ends[i])),
		     "set 9000 at both ends, by whoever configures them (gputune cluster plan)");
	}
	if (equal && mine < JUMBO && cluster_port_data(cluster_end_port(c, first)))
		find(a, c, "mtu-small", CLUSTER_NOTE, first,
		     arena_printf(a, "All ends of the path of %s have an MTU of %lld bytes.",
				  cluster_end_text(a, c, first), mine),
		     "RDMA takes packets of 1024 bytes at 1500, of 4096 from 4192 on; TCP takes "
		     "what there is",
		     "set 9000 at both ends (gputune cluster plan)");
}

static void speed(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	for (size_t i = 0; i < p->n_ends; i++) {
		const struct cluster_port *x = cluster_end_port(c, p->ends[i]);
		long long v = fact_or(&x->speed_mbps, 0);

		if (v <= 0 || !cluster_port_data(x) || !cluster_port_up(x) ||
		    !is_spark(c, p->ends[i].node) || v >= SPARK_MBPS)
			continue;
		find(a, c, "speed-below", CLUSTER_WARNING, p->ends[i],
		     arena_printf(a, "%s has a link of %lld Gb/s, not of 200.",
				  cluster_end_text(a, c, p->ends[i]), v / 1000),
		     arena_printf(a, "%lld Mb/s negotiated", v),
		     "use an approved cable; on a switch, force 200G-baseCR4, since its own "
		     "negotiation may end at 100G");
	}
}

static bool has_address(const struct cluster_port *p)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (cluster_prefix_parse(x->name, &prefix) == 0 &&
		    !cluster_prefix_link_local(&prefix))
			return true;
	}
	return false;
}

static const char *why_unused(const struct cluster_port *p, bool addressed)
{
	if (!fact_or(&p->carrier, 0) || !fact_is(&p->operstate, "up"))
		return "is down";
	if (addressed && !has_address(p))
		return "has no address";
	if (seen_ok(&p->rdma_state.f) && !fact_is(&p->rdma_state, "ACTIVE"))
		return "has no active RDMA port";
	return NULL;
}

static void twins(struct arena *a, struct cluster *c, const struct cluster_cage *g)
{
	bool used = false, addressed = false;

	if (g->n_ports < 2)
		return;
	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *p =
			cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });

		addressed = addressed || has_address(p);
		used = used || (cluster_port_up(p) && cluster_port_data(p));
	}
	for (size_t i = 0; used && i < g->n_ports; i++) {
		struct cluster_end e = { g->node, g->ports[i] };
		const struct cluster_port *p = cluster_end_port(c, e);
		const char *why = why_unused(p, addressed);

		if (!why)
			continue;
		find(a, c, "half-speed-twin-unused", CLUSTER_FAULT, e,
		     arena_printf(a, "%s %s, so cage %s reaches half of its speed at most.",
				  cluster_end_text(a, c, e), why, g->name),
		     arena_printf(a,
				  "its twin is in use; both halves of a cage carry about 100 "
				  "Gb/s each (twins by %s)",
				  g->twins_by),
		     "set it up with an address in a subnet of its own, and let NCCL use both "
		     "RDMA devices");
	}
}

static void rdma(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	if (cluster_port_up(p) && !fact_is(&p->link_layer, "InfiniBand") &&
	    seen_ok(&p->rdma_state.f) && !fact_is(&p->rdma_state, "ACTIVE"))
		find(a, c, "rdma-down", CLUSTER_FAULT, e,
		     arena_printf(a, "%s is up, its RDMA port %s is %s.", cluster_end_text(a, c, e),
				  fact_text(&p->rdma_device, "?"), p->rdma_state.v),
		     arena_printf(a, "state %s", p->rdma_state.v),
		     "see that the interface is up and has an address; load mlx5_ib; else look at "
		     "the kernel log");
}

/* One end of a path can do RDMA: then who cannot makes both go over TCP. */
static void rdma_missing(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	size_t with = CLUSTER_NONE;

	for (size_t i = 0; with == CLUSTER_NONE && i < p->n_ends; i++)
		if (seen_ok(&cluster_end_port(c, p->ends[i])->rdma_device.f))
			with = i;
	for (size_t i = 0; with != CLUSTER_NONE && i < p->n_ends; i++) {
		const struct cluster_port *x = cluster_end_port(c, p->ends[i]);

		if (x->rdma_device.f.seen != SEEN_ABSENT || !cluster_port_up(x))
			continue;
		find(a, c, "rdma-missing", CLUSTER_FAULT, p->ends[i],
		     arena_printf(a, "%s has no RDMA device, %s has one: between them goes TCP.",
				  cluster_end_text(a, c, p->ends[i]),
				  cluster_end_text(a, c, p->ends[with])),
		     arena_printf(a, "RDMA device %s at the other end",
				  cluster_end_port(c, p->ends[with])->rdma_device.v),
		     "load the adapter's RDMA module (mlx5_ib; rdma link show lists what is "
		     "there)");
	}
}

/* Where the cabling is Ethernet; a node of a larger machine room may speak InfiniBand. */
static void link_layer(struct arena *a, struct cluster *c, size_t node)
{
	if (!is_spark(c, node) && !fact_is(&c->nodes[node].platform, "igx-orin"))
		return;
	for (size_t i = 0; i < c->nodes[node].ports.n; i++) {
		struct cluster_end e = { node, i };
		const struct cluster_port *p = cluster_end_port(c, e);

		if (fact_is(&p->link_layer, "InfiniBand"))
			find(a, c, "link-layer", CLUSTER_FAULT, e,
			     arena_printf(a, "%s speaks InfiniBand.", cluster_end_text(a, c, e)),
			     arena_printf(a, "link layer of %s",
					  fact_text(&p->rdma_device, p->name)),
			     "set LINK_TYPE to Ethernet (mlxconfig) and reboot");
	}
}

static void pcie(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);
	long long width = fact_or(&p->pci_width, 0), most = fact_or(&p->pci_max_width, 0);
	long long mts = fact_or(&p->pci_speed_mts, 0), fastest = fact_or(&p->pci_max_mts, 0);

	/* Its halves have four lanes each of an adapter that could take sixteen. */
	if (is_spark(c, e.node))
		most = most > 4 ? 4 : most;
	if (width <= 0 || mts <= 0 || (width >= most && mts >= fastest))
		return;
	find(a, c, "pcie-narrow", CLUSTER_WARNING, e,
	     arena_printf(a, "%s has fewer or slower PCIe lanes than it can.",
			  cluster_end_text(a, c, e)),
	     arena_printf(a, "x%lld at %.1f GT/s, of x%lld at %.1f GT/s", width, (double)mts / 1000,
			  most, (double)fastest / 1000),
	     "see in which slot it stands; reseat it; look at the slot's setting in the firmware");
}

/* Whether node x hears node y at all on this wire. */
static bool hears(const struct cluster *c, size_t wire, size_t x, size_t y)
{
	for (size_t i = 0; i < c->n_links; i++) {
		const struct cluster_link *l = &c->links[i];
		size_t cage = cluster_cage_at(c, l->a);

		if (cage == CLUSTER_NONE || c->cages[cage].wire != wire)
			continue;
		if ((l->a.node == x && l->b.node == y && l->a_hears) ||
		    (l->b.node == x && l->a.node == y && l->b_hears))
			return true;
	}
	return false;
}

static void one_way(struct arena *a, struct cluster *c, size_t wire, struct cluster_end x,
		    struct cluster_end y)
{
	/* Who could not listen cannot be said to hear nothing. */
	if (!fact_is(&cluster_end_port(c, x)->listened, "frames") ||
	    !fact_is(&cluster_end_port(c, y)->listened, "frames") || x.node == y.node ||
	    hears(c, wire, x.node, y.node) || !hears(c, wire, y.node, x.node))
		return;
	find(a, c, "one-way", CLUSTER_WARNING, x,
	     arena_printf(a, "%s does not hear %s, which hears it.", cluster_end_text(a, c, x),
			  cluster_end_text(a, c, y)),
	     "frames come through in one direction only",
	     "exchange the cable; on a switch look at its port's filters");
}

void cluster_judge_ports(struct arena *a, struct cluster *c)
{
	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];

			mtu(a, c, p);
			speed(a, c, p);
			rdma_missing(a, c, p);
			for (size_t i = 0; i < p->n_ends; i++) {
				rdma(a, c, p->ends[i]);
				pcie(a, c, p->ends[i]);
				for (size_t j = 0; k == 0 && j < p->n_ends; j++)
					one_way(a, c, w, p->ends[i], p->ends[j]);
			}
		}
	for (size_t i = 0; i < c->n_nodes; i++)
		link_layer(a, c, i);
	for (size_t i = 0; i < c->n_cages; i++)
		if (c->cages[i].wire != CLUSTER_NONE)
			twins(a, c, &c->cages[i]);
}
