/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of "cluster discover --format json" for generate. */
#include <string.h>

#include "many/cluster/links.h"
#include "front/verbs/generate.h"

static const char *first_address(const struct cluster_port *p)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		unsigned long net;
		unsigned bits;

		if (gen_subnet(x->name, &net, &bits))
			return x->name;
	}
	return "";
}

static void add_port(struct arena *a, const struct cluster_port *p, struct gen_node *n)
{
	const char *address = first_address(p);

	if (seen_ok(&p->rdma_device.f)) {
		if (n->n_ports >= GEN_PORTS_MAX)
			return;
		n->ports = arena_grow(a, n->ports, n->n_ports, sizeof(*n->ports));
		n->ports[n->n_ports++] = (struct gen_port){
			.device = p->rdma_device.v,
			.number = (unsigned)fact_or(&p->rdma_port, 1),
			.netdev = p->name,
			.pci = p->pci,
			.cage = fact_text(&p->port_name, ""),
			.infiniband = fact_is(&p->link_layer, "InfiniBand"),
			.foreign = gen_foreign(&p->link_layer),
			.up = fact_is(&p->rdma_state, "ACTIVE"),
			.rate_mbps = fact_or(&p->rdma_rate_mbps, 0),
			.address = address,
		};
	} else if (*address && cluster_port_up(p) && *p->pci && n->n_links < GEN_PORTS_MAX) {
		n->links = arena_grow(a, n->links, n->n_links, sizeof(*n->links));
		n->links[n->n_links++] = (struct gen_link){
			.name = p->name,
			.address = address,
			.speed_mbps = fact_or(&p->speed_mbps, 0),
			.wireless = fact_or(&p->wireless, 0) == 1,
		};
	}
}

static void take(struct arena *a, const struct cluster_node *d, const char *path,
		 struct gen_node *n)
{
	*n = (struct gen_node){
		.name = d->name,
		.address = "",
		.control = "",
		.from = arena_printf(a, "discovery %s", path),
		.platform = fact_text(&d->platform, ""),
		.gpu = fact_text(&d->gpu, ""),
		.gpus = (size_t)fact_or(&d->gpus, 0),
		.unified = fact_is(&d->platform, "dgx-spark"),
		.nccl = fact_text(&d->nccl, NULL),
		.total_bytes = fact_or(&d->memory_bytes, 0),
	};
	NODE_PORTS(p, d)
	add_port(a, p, n);
}

int generate_cluster(struct run *r, const char *path, struct gen_cluster *out)
{
	struct cluster c = { 0 };
	struct err e = { 0 };

	if (cluster_load(&r->arena, path, &c, &e) < 0)
		return complain(EXIT_USAGE, &e);
	if (!c.n_nodes || c.n_nodes > GEN_NODES_MAX)
		return complain_text(EXIT_USAGE, "%s has %zu machines", path, c.n_nodes);
	out->nodes = arena_array(&r->arena, c.n_nodes, sizeof(*out->nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		if (*c.nodes[i].failure)
			return complain_text(EXIT_BLIND, "%s did not answer that discovery: %s",
					     c.nodes[i].name, c.nodes[i].failure);
		take(&r->arena, &c.nodes[i], path, &out->nodes[out->n++]);
	}
	return 0;
}
