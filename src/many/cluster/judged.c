/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codes of findings, and who judges them. What a node told, as facts again, and what the
 * settings say of them: a fault of one machine is judged here as "gputune check" judges it there.
 * What differs between machines is the judges' own.
 */
#include <string.h>

#include "base/text.h"
#include "look/settings/check.h"
#include "look/settings/predicates.h"
#include "many/cluster/links.h"

/* Judged by a setting, where a port has hardware behind it. */
#define OF_PORTS(id)                                                                               \
	.setting = (id), .given = "net.nics.type net.nics.wireless net.nics.driver "               \
				  "net.rdma.netdev"
/* What one machine tells is neither right nor wrong there: it is compared with what others tell. */
#define BETWEEN_PORTS .given = "net.nics.* net.rdma.*"

const struct cluster_code cluster_codes[] = {
	{ .code = "no-cable-no-pci",
	  .means = "a DGX Spark removes its network adapter from PCI while no cable is connected",
	  OF_PORTS("nic.cable") },
	{ .code = "dead-node", .means = "a node does not answer" },
	{ .code = "known-defect",
	  .means = "a node has a driver, kernel or firmware with a known defect",
	  .setting = "gpu.known-defects",
	  .given = "platform.* kernel.* gpu.* net.nics.*" },
	{ .code = "same-machine", .means = "two names lead to one machine" },
	{ .code = "no-carrier",
	  .means = "an adapter is present but none of its ports has a link",
	  OF_PORTS("nic.carrier") },
	{ .code = "unsupported-topology",
	  .means = "gputune has no plan for this wiring of the nodes",
	  BETWEEN_PORTS },
	{ .code = "wrong-cable", .means = "a cable is in the wrong cage", BETWEEN_PORTS },
	{ .code = "hears-nobody",
	  .means = "a port has a link but receives no announcement from a node",
	  BETWEEN_PORTS },
	{ .code = "one-way", .means = "announcements arrive in one direction only", BETWEEN_PORTS },
	{ .code = "second-cable",
	  .means = "a second cable between two nodes adds no speed",
	  BETWEEN_PORTS },
	{ .code = "half-speed-twin-unused",
	  .means = "one of the two halves of a cage carries no traffic",
	  OF_PORTS("nic.twins rdma.state") },
	{ .code = "mtu-mismatch", .means = "the ends of a path differ in MTU", BETWEEN_PORTS },
	{ .code = "mtu-small",
	  .means = "both ends could take larger packets",
	  OF_PORTS("nic.mtu") },
	{ .code = "speed-below",
	  .means = "an adapter uses fewer or slower PCIe lanes than it supports",
	  OF_PORTS("nic.speed") },
	{ .code = "pcie-narrow",
	  .means = "a link is up but RDMA on it is not",
	  OF_PORTS("pcie.link") },
	{ .code = "rdma-down",
	  .means = "a link is up, but RDMA on it is not",
	  OF_PORTS("rdma.state") },
	{ .code = "rdma-missing",
	  .means = "one end of a path has an RDMA device, another has none",
	  BETWEEN_PORTS },
	{ .code = "roce-uneven",
	  .means = "the ends of a path differ in PFC or trust settings",
	  BETWEEN_PORTS },
	{ .code = "link-layer",
	  .means = "a port is set to InfiniBand where Ethernet is required",
	  OF_PORTS("rdma.link-layer") },
	{ .code = "same-subnet-twins",
	  .means = "two ports of a node are in one subnet",
	  OF_PORTS("nic.subnets") },
	{ .code = "address-mismatch",
	  .means = "the ends of a path share no subnet",
	  BETWEEN_PORTS },
	{ .code = "duplicate-address", .means = "two ports have the same address", BETWEEN_PORTS },
	{ .code = "no-address", .means = "a cable has no addresses yet", OF_PORTS("nic.address") },
	{ .code = "wrong-egress",
	  .means = "the route to a port's other end uses a different port",
	  BETWEEN_PORTS },
	{ .code = "wrong-ingress",
	  .means = "packets for one port arrive at a different port of the node" },
	{ .code = "gid-missing", .means = "an address has no RoCE v2 GID", OF_PORTS("rdma.gid") },
	{ .code = "gid-drift",
	  .means = "a GID has a different index than in an earlier discovery" },
	{ .code = "gid-uneven", .means = "the index of RoCE v2 GIDs differs between ports" },
	{ .code = "forward-drop",
	  .means = "the firewall drops packets that the node should forward" },
	{ .code = "version-skew",
	  .means = "nodes differ in versions that must match",
	  .given = "gpu.driver software.libraries.version kernel.release" },
	{ .code = "path-dead", .means = "pings over a path get no reply" },
	{ .code = "mtu-path", .means = "packets within both ends' MTU are lost" },
	{ .code = "data-wrong", .means = "received data differ from sent data" },
	{ .code = "socket-fallback", .means = "RDMA cannot be used, so NCCL would use TCP" },
	{ .code = "nccl-failed", .means = "NCCL does not work between two nodes" },
	{ .code = "rdma-memory", .means = "memory cannot be registered for RDMA" },
	{ .code = "degraded-fabric",
	  .means = "RDMA is slow although all readable settings are good" },
	{ .code = "slow-path",
	  .means = "a path or node has less bandwidth than the rest of the cluster, or than its "
		   "expected range" },
	{ .code = "link-errors", .means = "a port counted line errors during the tests" },
	{ .code = "lossy-fabric", .means = "packets were lost and retransmitted during the tests" },
	{ .code = "slower-than-before", .means = "a path is slower than in an earlier check" },
	{ .code = "unsteady", .means = "a test failed once and passed when repeated" },
	{ .code = "deaf", .means = "a node is not permitted to open raw sockets" },
	{ .code = NULL },
};

/* As struct nic has them: IPv4, without those that a host gives itself. */
static struct fact_str judged_addresses(struct arena *a, const struct cluster_port *p)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (!strchr(x->name, ':') && cluster_prefix_parse(x->name, &prefix) == 0 &&
		    !cluster_prefix_link_local(&prefix))
			text_printf(&t, "%s%s", t.len ? " " : "", x->name);
	}
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "addresses" },
				  .v = arena_strdup(a, t.s ? t.s : "") };
}

/* A node of an older release does not tell it. */
static struct fact_str judged_type(const struct cluster_port *p)
{
	if (seen_ok(&p->type.f))
		return p->type;
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "link layer" },
				  .v = fact_is(&p->link_layer, "InfiniBand") ? "infiniband"
									     : "ethernet" };
}

static void judged_rdma(struct arena *a, const struct cluster_port *p, struct machine *m)
{
	struct rdma_port *r = list_add(a, &m->net.rdma, sizeof(*r));

	*r = (struct rdma_port){ .name = cluster_rdma_name(a, p),
				 .device = p->rdma_device.v,
				 .pci = p->pci,
				 .number = (unsigned)fact_or(&p->rdma_port, 1),
				 .state = p->rdma_state,
				 .phys_state = p->rdma_phys_state,
				 .link_layer = p->link_layer,
				 .rate_mbps = p->rdma_rate_mbps,
				 .netdev = { .f = { .seen = SEEN_OK, .leaf = "ports" },
					     .v = p->name },
				 .gids = p->gids };
}

/* Its most is what both ends of the link can do: the node looked at both. */
static void judged_function(struct arena *a, const struct cluster_port *p, struct machine *m)
{
	struct pci_function *f = list_add(a, &m->pci, sizeof(*f));

	*f = (struct pci_function){ .name = p->pci,
				    .path = "/",
				    .parent = "",
				    .root = "",
				    .class_ = { .f = { .seen = SEEN_OK }, .v = 0x020000 },
				    .speed_mts = p->pci_speed_mts,
				    .max_speed_mts = p->pci_max_mts,
				    .width = p->pci_width,
				    .max_width = p->pci_max_width };
}

static void judged_port(struct arena *a, const struct cluster_port *p, struct machine *m)
{
	struct nic *n = list_add(a, &m->net.nics, sizeof(*n));

	*n = (struct nic){ .name = p->name,
			   .pci = p->pci,
			   .driver = p->driver,
			   .firmware = p->firmware,
			   .mac = p->mac,
			   .operstate = p->operstate,
			   .carrier = p->carrier,
			   .speed_mbps = p->speed_mbps,
			   .mtu = p->mtu,
			   .max_mtu = p->max_mtu,
			   .type = judged_type(p),
			   .port = p->port_name,
			   .switch_id = p->switch_id,
			   .wireless = p->wireless,
			   .owner = p->owner,
			   .bond_master = p->bond_master,
			   .ipv4 = judged_addresses(a, p) };
	if (*p->pci)
		judged_function(a, p, m);
	if (seen_ok(&p->rdma_device.f))
		judged_rdma(a, p, m);
}

struct machine *cluster_machine(struct arena *a, const struct cluster_node *n)
{
	struct machine *m = ARENA_NEW(a, struct machine);

	m->platform.kind = n->platform;
	m->platform.product = n->product;
	m->kernel.release = n->kernel;
	m->kernel.arch = n->arch;
	m->gpu.driver = n->driver;
	m->net.spark_hotplug = n->hotplug;
	NODE_PORTS(p, n)
	judged_port(a, p, m);
	return m;
}

void cluster_find_data(struct arena *a, struct cluster_node *n)
{
	const struct machine *m = cluster_machine(a, n);
	const struct nic *nics = m->net.nics.items;
	size_t i = 0;

	NODE_PORTS(p, n)
	p->data = is_data_port(m, &nics[i++]);
}

const char *cluster_rdma_name(struct arena *a, const struct cluster_port *p)
{
	return arena_printf(a, "%s/%lld", fact_text(&p->rdma_device, "?"),
			    fact_or(&p->rdma_port, 1));
}

/* Who joins machines wants the most of what joins them, with GPUs and without. */
void cluster_judge_settings(struct arena *a, struct cluster *c)
{
	struct findings *f = arena_array(a, c->n_nodes, sizeof(*f));
	struct profile p = { .name = "max-performance", .base = PROFILE_MAX_PERFORMANCE };

	for (size_t i = 0; cluster_codes[i].code; i++)
		for (const char *w = cluster_codes[i].setting; w && *w; w += strspn(w, " ")) {
			size_t len = strcspn(w, " ");

			p.only = arena_grow(a, p.only, p.n_only, sizeof(*p.only));
			p.only[p.n_only++] = arena_strndup(a, w, len);
			w += len;
		}
	for (size_t i = 0; i < c->n_nodes; i++)
		if (!*c->nodes[i].failure)
			settings_check(a, cluster_machine(a, &c->nodes[i]), &p, NULL, NULL, &f[i]);
	c->judged = f;
}

const struct verdict *cluster_fails(const struct cluster *c, size_t node, const char *setting,
				    const char *target)
{
	const struct findings *f = c->judged ? &c->judged[node] : NULL;

	for (size_t i = 0; f && i < f->n; i++) {
		const struct finding *x = &f->items[i];

		if (x->v.kind != VERDICT_FAIL || strcmp(x->s->id, setting) != 0)
			continue;
		for (size_t k = 0; k < x->n_targets; k++)
			if (strcmp(x->targets[k], target) == 0)
				return &x->v;
	}
	return NULL;
}
