/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about GIDs: is there one for each address, and does its index stay where it was. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/links_inside.h"

/* The IPv4 address in a RoCE v2 GID; false when it is none. */
static bool holds_four(const struct rdma_gid *g, unsigned char out[4])
{
	struct in6_addr six;

	if (!fact_is(&g->type, "RoCE v2") || !seen_ok(&g->gid.f) ||
	    inet_pton(AF_INET6, g->gid.v, &six) != 1 || !IN6_IS_ADDR_V4MAPPED(&six))
		return false;
	memcpy(out, six.s6_addr + 12, 4);
	return true;
}

static const struct rdma_gid *gid_of(const struct cluster_port *p, const struct cluster_prefix *x)
{
	unsigned char four[4];

	LIST_FOR_EACH (struct rdma_gid, g, &p->gids)
		if (holds_four(g, four) && memcmp(four, x->bytes, 4) == 0)
			return g;
	return NULL;
}

static void missing(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	if (!fact_is(&p->rdma_state, "ACTIVE") || fact_is(&p->link_layer, "InfiniBand"))
		return;
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (cluster_prefix_parse(x->name, &prefix) || prefix.family != AF_INET ||
		    cluster_prefix_link_local(&prefix) || gid_of(p, &prefix))
			continue;
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "gid-missing",
				.severity = CLUSTER_FAULT,
				.node = c->nodes[e.node].name,
				.port = p->name,
				.text = arena_printf(a, "%s %s has no RoCE v2 GID for %s.",
						     c->nodes[e.node].name, p->name, x->name),
				.evidence =
					arena_printf(a, "%zu GIDs of %s, none holds it", p->gids.n,
						     fact_text(&p->rdma_device, "?")),
				.fix = "set the interface down and up, or reload mlx5_ib; until "
				       "then RDMA on it cannot be routed" });
	}
}

/* The one in an earlier discovery: by PCI address, because names may change. */
static const struct cluster_port *earlier_port(const struct cluster *before, const char *node,
					       const struct cluster_port *p)
{
	for (size_t i = 0; i < before->n_nodes; i++) {
		if (strcmp(before->nodes[i].name, node) != 0)
			continue;
		NODE_PORTS(old, &before->nodes[i])
		if (*p->pci ? strcmp(old->pci, p->pci) == 0 : strcmp(old->name, p->name) == 0)
			return old;
	}
	return NULL;
}

static void drifted(struct arena *a, struct cluster *c, struct cluster_end e,
		    const struct cluster_port *old)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	LIST_FOR_EACH (struct rdma_gid, was, &old->gids) {
		struct cluster_prefix x = { .family = AF_INET };
		const struct rdma_gid *is;

		if (!holds_four(was, x.bytes))
			continue;
		is = gid_of(p, &x);
		if (is && is->index == was->index)
			continue;
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "gid-drift",
				.severity = CLUSTER_WARNING,
				.node = c->nodes[e.node].name,
				.port = p->name,
				.text = is ? arena_printf(a,
							  "%s %s: the RoCE v2 GID of %u.%u.%u.%u "
							  "went from index %u to %u.",
							  c->nodes[e.node].name, p->name,
							  x.bytes[0], x.bytes[1], x.bytes[2],
							  x.bytes[3], was->index, is->index)
					   : arena_printf(a,
							  "%s %s: the RoCE v2 GID %s of index "
							  "%u is gone.",
							  c->nodes[e.node].name, p->name,
							  was->gid.v, was->index),
				.evidence = arena_printf(a, "%s, against the earlier discovery",
							 was->gid.v),
				.fix = "leave NCCL_IB_GID_INDEX unset, so that it is looked up; "
				       "restart what has pinned it. Turn link-local and IPv6 "
				       "addresses off on these ports: they make the entries "
				       "move" });
	}
}

/* A pinned index can be right only where it is the same everywhere. */
static void uneven(struct arena *a, struct cluster *c)
{
	TEXT_AUTO t = { 0 };
	unsigned first = 0, n = 0;
	bool differ = false;

	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
		{
			unsigned char four[4];

			LIST_FOR_EACH (struct rdma_gid, g, &p->gids) {
				if (!cluster_port_up(p) || !holds_four(g, four))
					continue;
				differ = differ || (n && g->index != first);
				first = n++ ? first : g->index;
				if (n <= 32)
					text_printf(&t, "%s%s %s %u", n > 1 ? ", " : "",
						    c->nodes[i].name, p->name, g->index);
				break;
			}
		}
	if (!differ)
		return;
	cluster_find(a, c,
		     &(struct cluster_finding){
			     .code = "gid-uneven",
			     .severity = CLUSTER_NOTE,
			     .node = "",
			     .port = "",
			     .text = "The index of RoCE v2 GIDs differs between ports.",
			     .evidence = arena_strdup(a, t.s),
			     .fix = "leave NCCL_IB_GID_INDEX unset: no one value is right for "
				    "all" });
}

void cluster_judge_gids(struct arena *a, struct cluster *c, const struct cluster *before)
{
	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++)
			for (size_t i = 0; i < c->wires[w].paths[k].n_ends; i++)
				missing(a, c, c->wires[w].paths[k].ends[i]);
	for (size_t i = 0; before && i < c->n_nodes; i++)
		for (size_t k = 0; k < c->nodes[i].ports.n; k++) {
			struct cluster_end e = { i, k };
			const struct cluster_port *p = cluster_end_port(c, e);
			const struct cluster_port *old = earlier_port(before, c->nodes[i].name, p);

			if (old && cluster_port_data(p))
				drifted(a, c, e, old);
		}
	uneven(a, c);
}
