/* SPDX-License-Identifier: Apache-2.0 */
/* From facts to nodes, and from nodes' addresses to how they are joined. Pure. */
#include "models/generate/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "look/settings/check.h"
#include "look/settings/predicates.h"

const char *const gen_shape_names[SHAPES] = {
	"alone", "fabric", "common", "ring", "neighbours", "sockets", "unknown",
};

bool gen_name_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				"._-:");

	return n && !name[n] && n <= 253 && *name != '-';
}

bool gen_subnet(const char *address, struct ipv4 *net)
{
	struct ipv4 x;

	if (!strchr(address, '/') || ipv4_parse(address, &x) || !x.bits)
		return false;
	*net = ipv4_network(x);
	return true;
}

/* --- one node --------------------------------------------------------------------------------- */
/* The first address of a blank-separated list. */
static const char *first_address(struct arena *a, const struct fact_str *f)
{
	const char *list = fact_text(f, "");

	return arena_strndup(a, list, strcspn(list, " "));
}

static bool gen_foreign(const struct fact_str *link_layer)
{
	return seen_ok(&link_layer->f) && !fact_is(link_layer, "InfiniBand") &&
	       !fact_is(link_layer, "Ethernet");
}

static void nodes_add_ports(struct arena *a, const struct machine *m, struct gen_node *n)
{
	LIST_FOR_EACH (struct rdma_port, p, &m->net.rdma) {
		const char *netdev = fact_text(&p->netdev, "");
		const struct nic *nic = *netdev ? machine_nic(m, netdev) : NULL;

		if (n->n_ports >= GEN_PORTS_MAX)
			return;
		ARENA_ADD(a, n->ports, n->n_ports) = (struct gen_port){
			.device = p->device,
			.number = p->number,
			.netdev = netdev,
			.pci = p->pci ? p->pci : "",
			.cage = nic ? fact_text(&nic->port, "") : "",
			.infiniband = fact_is(&p->link_layer, "InfiniBand"),
			.foreign = gen_foreign(&p->link_layer),
			.up = fact_is(&p->state, "ACTIVE"),
			.down = seen_ok(&p->state.f) && !fact_is(&p->state, "ACTIVE"),
			.rate_mbps = fact_or(&p->rate_mbps, 0),
			.address = nic ? first_address(a, &nic->ipv4) : "",
		};
	}
}

static void gen_twins_judge(struct arena *a, const struct machine *m, struct gen_node *n)
{
	const char *only[] = { "nic.twins" };
	const struct profile p = {
		.name = "default", .base = PROFILE_DEFAULT, .only = only, .n_only = 1
	};
	struct findings f;

	settings_check(a, m, &p, NULL, NULL, &f);
	for (size_t i = 0; i < f.n; i++) {
		const struct verdict *v = &f.items[i].v;

		for (size_t k = 0; v->kind == VERDICT_FAIL && k < f.items[i].n_targets; k++)
			for (size_t at = 0; at < n->n_ports; at++)
				if (strcmp(n->ports[at].netdev, f.items[i].targets[k]) == 0) {
					n->ports[at].twin =
						v->current && *v->current ? v->current : v->reason;
					n->ports[at].twin_wanted = v->wanted;
				}
	}
}

static void add_links(struct arena *a, const struct machine *m, struct gen_node *n)
{
	LIST_FOR_EACH (struct nic, c, &m->net.nics) {
		const char *address = first_address(a, &c->ipv4);

		if (n->n_links >= GEN_PORTS_MAX || !*address || !*c->pci ||
		    !fact_is(&c->operstate, "up"))
			continue;
		ARENA_ADD(a, n->links, n->n_links) = (struct gen_link){
			.name = c->name,
			.address = address,
			.speed_mbps = fact_or(&c->speed_mbps, 0),
			.wireless = fact_or(&c->wireless, 0) == 1,
		};
	}
}

void gen_node_of(struct arena *a, const struct machine *m, const char *name, const char *from,
		 struct gen_node *out)
{
	const struct gpu *g = m->gpu.gpus.n ? m->gpu.gpus.items : NULL;

	*out = (struct gen_node){ .name = name,
				  .address = "",
				  .control = "",
				  .from = from,
				  .platform = fact_text(&m->platform.kind, ""),
				  .gpu = g ? fact_text(&g->name, "") : "",
				  .gpus = m->gpu.gpus.n,
				  .unified = has_unified_memory(m),
				  .total_bytes = fact_or(&m->memory.total_kb, 0) * 1024,
				  .available_bytes = fact_or(&m->memory.available_kb, 0) * 1024,
				  .free_bytes = fact_or(&m->memory.free_kb, 0) * 1024,
				  .facts = m };
	LIST_FOR_EACH (struct library, l, &m->software.libraries)
		if (str_starts(l->name, "libnccl.so") && seen_ok(&l->version.f))
			out->nccl = l->version.v;
	nodes_add_ports(a, m, out);
	gen_twins_judge(a, m, out);
	add_links(a, m, out);
}

bool gen_port_used(const struct gen_node *n, const struct gen_port *p)
{
	long long best = 0;
	bool any_address = false;

	for (size_t i = 0; i < n->n_ports; i++) {
		if (!n->ports[i].up || n->ports[i].foreign)
			continue;
		best = n->ports[i].rate_mbps > best ? n->ports[i].rate_mbps : best;
		any_address = any_address || (*n->ports[i].address && !n->ports[i].infiniband);
	}
	return p->up && !p->foreign && p->rate_mbps >= best &&
	       (p->infiniband || *p->address || !any_address);
}

/* --- many nodes ------------------------------------------------------------------------------- */
size_t gen_gpus(const struct gen_cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->nodes[i].gpus;
	return n;
}

static bool in_subnet(const char *address, struct ipv4 net)
{
	struct ipv4 other;

	return gen_subnet(address, &other) && ipv4_same(other, net);
}

/* How many nodes have a used RDMA port in that subnet. */
static size_t nodes_in(const struct gen_cluster *c, struct ipv4 net)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *d = &c->nodes[i];
		bool found = false;

		for (size_t k = 0; k < d->n_ports && !found; k++)
			found = gen_port_used(d, &d->ports[k]) &&
				in_subnet(d->ports[k].address, net);
		n += found;
	}
	return n;
}

/* Whether nodes i and k share a subnet of RDMA ports. */
static bool nodes_share(const struct gen_cluster *c, size_t i, size_t k)
{
	const struct gen_node *x = &c->nodes[i], *y = &c->nodes[k];

	for (size_t p = 0; p < x->n_ports; p++) {
		struct ipv4 net;

		if (!gen_port_used(x, &x->ports[p]) || !gen_subnet(x->ports[p].address, &net))
			continue;
		for (size_t q = 0; q < y->n_ports; q++)
			if (gen_port_used(y, &y->ports[q]) && in_subnet(y->ports[q].address, net))
				return true;
	}
	return false;
}

static bool all_pairs_share(const struct gen_cluster *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = i + 1; k < c->n; k++)
			if (!nodes_share(c, i, k))
				return false;
	return true;
}

/* What every node has: up ports, InfiniBand alone, an address on each used one; what any has. */
static void nodes_look(const struct gen_cluster *c, bool *ports, bool *infiniband, bool *addresses,
		       bool *foreign)
{
	*ports = *infiniband = *addresses = true;
	*foreign = false;
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_node *d = &c->nodes[i];
		bool up = false;

		for (size_t k = 0; k < d->n_ports; k++) {
			*foreign = *foreign || (d->ports[k].foreign && d->ports[k].up);
			if (!gen_port_used(d, &d->ports[k]))
				continue;
			up = true;
			*infiniband = *infiniband && d->ports[k].infiniband;
			*addresses = *addresses && *d->ports[k].address;
		}
		*ports = *ports && up;
	}
}

/* The largest number of nodes that one subnet of RDMA ports has, and its prefix. */
static size_t nodes_widest(const struct gen_cluster *c, unsigned *prefix)
{
	size_t best = 0;

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->nodes[i].n_ports; k++) {
			struct ipv4 net;
			size_t n;

			if (!gen_port_used(&c->nodes[i], &c->nodes[i].ports[k]) ||
			    !gen_subnet(c->nodes[i].ports[k].address, &net))
				continue;
			n = nodes_in(c, net);
			if (n > best) {
				best = n;
				*prefix = net.bits;
			}
		}
	return best;
}

static void set_shape(struct gen_cluster *c, enum gen_shape s, const char *why)
{
	c->shape = s;
	c->shape_why = why;
}

static void nodes_judge_shape(struct gen_cluster *c)
{
	static const char passed_by[] = "RDMA ports are neither InfiniBand nor Ethernet (such as "
					"EFA): NCCL requires a plug-in in the image";
	bool ports, infiniband, addresses, foreign;
	size_t wide = nodes_widest(c, &c->prefix);

	nodes_look(c, &ports, &infiniband, &addresses, &foreign);
	if (c->n < 2)
		set_shape(c, SHAPE_ALONE, "one machine: no network traffic");
	else if (!ports)
		set_shape(c, SHAPE_SOCKETS,
			  foreign ? passed_by
				  : "at least one machine has no RDMA port up: using sockets");
	else if (infiniband)
		set_shape(c, SHAPE_FABRIC, "InfiniBand: the subnet manager connects all ports");
	else if (wide == c->n)
		set_shape(c, SHAPE_COMMON,
			  c->n == 2 ? "two machines with a subnet in common"
				    : "all machines have a subnet in common: a switch");
	else if (!addresses)
		set_shape(c, SHAPE_UNKNOWN, "RDMA ports are up, but their addresses are unknown");
	else if (c->n == 3 && all_pairs_share(c))
		set_shape(c, SHAPE_RING, "three machines, each pair with its own subnets");
	else
		set_shape(c, SHAPE_NEIGHBOURS,
			  "no subnet is common to all machines, and not every pair shares one");
}

/* The fast network's own: NCCL's data go there, and IPoIB is slow and late to come up. An RDMA
 * device by itself says nothing: the management ports of most servers have one. */
static bool carries_data(const struct gen_node *n, const struct gen_link *l)
{
	for (size_t i = 0; i < n->n_ports; i++)
		if (strcmp(n->ports[i].netdev, l->name) == 0 &&
		    (n->ports[i].infiniband || gen_port_used(n, &n->ports[i])))
			return true;
	return false;
}

/* Better: wired, then faster. */
static bool better(const struct gen_link *a, const struct gen_link *b)
{
	if (a->wireless != b->wireless)
		return !a->wireless;
	return a->speed_mbps > b->speed_mbps;
}

static const struct gen_link *link_in(const struct gen_node *d, struct ipv4 net)
{
	const struct gen_link *best = NULL;

	for (size_t i = 0; i < d->n_links; i++)
		if (in_subnet(d->links[i].address, net) && !carries_data(d, &d->links[i]) &&
		    (!best || better(&d->links[i], best)))
			best = &d->links[i];
	return best;
}

static const char *plain(struct arena *a, const char *address)
{
	return arena_strndup(a, address, strcspn(address, "/"));
}

/* Gives every node the interface that it has in this subnet. False: one has none. */
static bool take_subnet(struct arena *a, struct gen_cluster *c, struct ipv4 net)
{
	for (size_t i = 0; i < c->n; i++)
		if (!link_in(&c->nodes[i], net))
			return false;
	for (size_t i = 0; i < c->n; i++) {
		const struct gen_link *l = link_in(&c->nodes[i], net);

		c->nodes[i].control = l->name;
		if (!*c->nodes[i].address)
			c->nodes[i].address = plain(a, l->address);
	}
	c->common = ipv4_text(a, net);
	return true;
}

/* Without a management network: the subnet of RDMA ports that all share. */
static bool take_data(struct arena *a, struct gen_cluster *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct gen_node *d = &c->nodes[i];

		for (size_t k = 0; k < d->n_ports && !*d->control; k++) {
			struct ipv4 net;

			if (!gen_port_used(d, &d->ports[k]) ||
			    !gen_subnet(d->ports[k].address, &net) || nodes_in(c, net) != c->n)
				continue;
			d->control = d->ports[k].netdev;
			if (!*d->address)
				d->address = plain(a, d->ports[k].address);
		}
		if (!*d->control)
			return false;
	}
	return true;
}

/* As the buses count them, whatever order they were seen in. */
static int by_place(const void *x, const void *y)
{
	const struct gen_port *a = x, *b = y;
	int r = str_natural(a->pci, b->pci);

	return r ? r : str_natural(a->device, b->device);
}

void gen_cluster_judge(struct arena *a, struct gen_cluster *c)
{
	bool tried[GEN_PORTS_MAX] = { false };

	c->common = "";
	for (size_t i = 0; i < c->n; i++)
		if (c->nodes[i].n_ports)
			qsort(c->nodes[i].ports, c->nodes[i].n_ports, sizeof(struct gen_port),
			      by_place);
	nodes_judge_shape(c);
	/* The best interface of the first machine whose subnet all others have as well. */
	for (;;) {
		const struct gen_node *d = &c->nodes[0];
		const struct gen_link *best = NULL;
		struct ipv4 net;

		for (size_t i = 0; i < d->n_links && i < GEN_PORTS_MAX; i++)
			if (!tried[i] && !carries_data(d, &d->links[i]) &&
			    (!best || better(&d->links[i], best)))
				best = &d->links[i];
		if (!best)
			break;
		tried[best - d->links] = true;
		if (gen_subnet(best->address, &net) && take_subnet(a, c, net))
			return;
	}
	if (c->shape == SHAPE_COMMON || c->shape == SHAPE_FABRIC)
		take_data(a, c);
}
