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

/* clang-format off */

/* Judged by a setting, where a port has hardware behind it. */
#define OF_PORTS(id) .setting = (id), .given = "net.nics.type net.nics.wireless net.nics.driver net.rdma.netdev"
/* What one machine tells is neither right nor wrong there: it is compared with what others tell. */
#define BETWEEN_PORTS .given = "net.nics.* net.rdma.*"
#define BY_ITSELF .setting = NULL
#define PLAN "give each path its own subnet (gputune cluster plan)"

const struct cluster_code cluster_codes[] = {
	{ "no-cable-no-pci", CLUSTER_FAULT, "connect a cable between two powered machines and wait half a minute; if a "
	  "cable is connected, shut down and disconnect all power for a minute. Never rescan the PCI bus: it panics or "
	  "hangs the machine", OF_PORTS("nic.cable") },
	{ "dead-node", CLUSTER_FAULT, "check that it is on, reachable by ssh with your key and listed in known_hosts, "
	  "and that gputune is installed there", BY_ITSELF },
	{ "known-defect", CLUSTER_WARNING, "run \"gputune defects check\" on that node",
	  .setting = "gpu.known-defects", .given = "platform.* kernel.* gpu.* net.nics.*" },
	{ "same-machine", CLUSTER_FAULT, "give each machine once; check which machine the names resolve to",
	  BY_ITSELF },
	{ "no-carrier", CLUSTER_FAULT, "check that the ports are up (ip link set NAME up), the cable is seated at both "
	  "ends, and the other machine is on", OF_PORTS("nic.carrier") },
	{ "unsupported-topology", CLUSTER_FAULT, "join two nodes by a cable, three in a ring, or all by a 200 Gb/s "
	  "switch", BETWEEN_PORTS },
	{ "wrong-cable", CLUSTER_WARNING, "connect each cable as NVIDIA's rule says", BETWEEN_PORTS },
	{ "hears-nobody", CLUSTER_WARNING, "trace the cable: its other end may be a machine that you did not name, one "
	  "that does not answer, or a switch in another VLAN", BETWEEN_PORTS },
	{ "one-way", CLUSTER_WARNING, "replace the cable; on a switch, check the filters of its port", BETWEEN_PORTS },
	{ "second-cable", CLUSTER_NOTE, "no action needed: the second cable brings no benefit", BETWEEN_PORTS },
	{ "half-speed-twin-unused", CLUSTER_FAULT, "give the interface an address in a separate "
	  "subnet, and let NCCL use both RDMA devices", OF_PORTS("nic.twins rdma.state") },
	{ "mtu-mismatch", CLUSTER_FAULT, "set the MTU to 9000 at both ends, in the tool that "
	  "configures them (gputune cluster plan)", BETWEEN_PORTS },
	{ "mtu-small", CLUSTER_NOTE, "set the MTU to 9000 at both ends (gputune cluster plan)", OF_PORTS("nic.mtu") },
	{ "speed-below", CLUSTER_WARNING, "use an approved cable; on a switch port, force 200G-baseCR4, since "
	  "autonegotiation may end at 100G", OF_PORTS("nic.speed") },
	{ "pcie-narrow", CLUSTER_WARNING, "check its slot, reseat it, check the slot's setting in the firmware; on a "
	  "DGX Spark, where it is soldered, update the BIOS, then contact the vendor's support",
	  OF_PORTS("pcie.link") },
	{ "rdma-down", CLUSTER_FAULT, "check that the interface is up and has an address; load mlx5_ib; otherwise read "
	  "the kernel log", OF_PORTS("rdma.state") },
	{ "rdma-missing", CLUSTER_FAULT, "load the adapter's RDMA module (mlx5_ib; rdma link show lists the devices)",
	  BETWEEN_PORTS },
	{ "roce-uneven", CLUSTER_WARNING, "use the same value on every node and switch port "
	  "(gputune explain nic.pfc, nic.trust)", BETWEEN_PORTS },
	{ "link-layer", CLUSTER_FAULT, "set LINK_TYPE to Ethernet (mlxconfig) and reboot",
	  OF_PORTS("rdma.link-layer") },
	{ "same-subnet-twins", CLUSTER_FAULT, PLAN, OF_PORTS("nic.subnets") },
	{ "address-mismatch", CLUSTER_FAULT, "check that the cables match the addresses, or assign new addresses "
	  "(gputune cluster plan)", BETWEEN_PORTS },
	{ "duplicate-address", CLUSTER_FAULT, PLAN, BETWEEN_PORTS },
	{ "no-address", CLUSTER_WARNING, PLAN, OF_PORTS("nic.address") },
	{ "wrong-egress", CLUSTER_FAULT, PLAN, BETWEEN_PORTS },
	{ "gid-missing", CLUSTER_FAULT, "set the interface down and up, or reload mlx5_ib; until then its RDMA cannot "
	  "be routed", OF_PORTS("rdma.gid") },
	{ "gid-drift", CLUSTER_WARNING, "leave NCCL_IB_GID_INDEX unset, so that NCCL finds the index; restart programs "
	  "that pinned it. Turn off link-local and IPv6 addresses on these ports: they shift the index", BY_ITSELF },
	{ "gid-uneven", CLUSTER_NOTE, "leave NCCL_IB_GID_INDEX unset: no single value fits all", BY_ITSELF },
	{ "forward-drop", CLUSTER_NOTE, "direct links do not require forwarding. If nodes or containers reach each "
	  "other through this node, accept their subnets (with Docker, in the chain DOCKER-USER, which Docker does not "
	  "change)", BY_ITSELF },
	{ "version-skew", CLUSTER_NOTE, "install one version everywhere",
	  .given = "gpu.driver software.libraries.version kernel.release" },
	{ "deaf", CLUSTER_NOTE, "run the program there as root, for example --node-command \"sudo -n gputune cluster "
	  "node\"", BY_ITSELF },
	{ .code = NULL },
};
/* clang-format on */

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

static void judged_port(struct arena *a, const struct cluster_port *p, struct machine *m)
{
	struct nic *n = list_add(a, &m->net.nics, sizeof(*n));

	*n = p->nic;
	n->name = p->name;
	n->pci = p->pci;
	n->ipv4 = judged_addresses(a, p);
	/* A node of an older release does not tell it. */
	if (!seen_ok(&n->type.f))
		n->type = (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "link layer" },
					     .v = fact_is(&p->rdma.link_layer, "InfiniBand")
							  ? "infiniband"
							  : "ethernet" };
	if (*p->pci) {
		struct pci_function *f = list_add(a, &m->pci, sizeof(*f));

		/* Its most is what both ends of the link can do: the node looked at both. */
		*f = p->function;
		f->name = p->pci;
		f->path = "/";
		f->parent = f->root = "";
		f->class_ = (struct fact_int){ .f = { .seen = SEEN_OK }, .v = 0x020000 };
	}
	if (seen_ok(&p->rdma_device.f)) {
		struct rdma_port *r = list_add(a, &m->net.rdma, sizeof(*r));

		*r = p->rdma;
		r->name = cluster_rdma_name(a, p);
		r->device = p->rdma_device.v;
		r->pci = p->pci;
		r->number = (unsigned)fact_or(&p->rdma_port, 1);
		r->netdev = (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "ports" },
					       .v = p->name };
	}
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

			ARENA_ADD(a, p.only, p.n_only) = arena_strndup(a, w, len);
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
