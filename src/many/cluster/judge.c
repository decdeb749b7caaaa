/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: their codes, their order, and who looks for them. */
#include <string.h>

#include "many/cluster/links_inside.h"

const struct cluster_code cluster_codes[] = {
	{ "no-cable-no-pci",
	  "a DGX Spark takes its network adapter off PCI while no cable is in it" },
	{ "dead-node", "a node does not answer" },
	{ "same-machine", "two names are one machine" },
	{ "no-carrier", "an adapter is there and none of its ports has a link" },
	{ "unsupported-topology", "the nodes are joined in a way that no plan can be made for" },
	{ "wrong-cable", "a cable is in a cage where it does not belong" },
	{ "hears-nobody", "a port has a link and hears no node" },
	{ "one-way", "one end hears the other, not the reverse" },
	{ "second-cable", "a second cable between two nodes brings no more speed" },
	{ "half-speed-twin-unused", "one of the two halves of a cage carries nothing" },
	{ "mtu-mismatch", "the ends of a path differ in MTU" },
	{ "mtu-small", "both ends could take larger packets" },
	{ "speed-below", "a link is slower than it should be" },
	{ "pcie-narrow", "an adapter has fewer or slower PCIe lanes than it can" },
	{ "rdma-down", "a link is up and RDMA on it is not" },
	{ "rdma-missing", "one end of a path has an RDMA device, another has none" },
	{ "link-layer", "a port speaks InfiniBand where Ethernet is needed" },
	{ "same-subnet-twins", "two ports of a node are in one subnet" },
	{ "address-mismatch", "the ends of a path share no subnet" },
	{ "duplicate-address", "one address stands on two ports" },
	{ "no-address", "a cable has no addresses yet" },
	{ "wrong-egress", "the kernel sends to the other end by another port" },
	{ "wrong-ingress", "packets for one port arrive at another one of the same node" },
	{ "gid-missing", "an address has no RoCE v2 GID" },
	{ "gid-drift", "a GID has another index than in an earlier discovery" },
	{ "gid-uneven", "the index of RoCE v2 GIDs is not the same everywhere" },
	{ "forward-drop", "the firewall drops what the node would forward" },
	{ "version-skew", "nodes differ in versions that have to match" },
	{ "path-dead", "no echo comes back over a path" },
	{ "mtu-path", "packets that fit both ends' MTU do not come through" },
	{ "data-wrong", "data arrived other than they were sent" },
	{ "socket-fallback", "RDMA cannot be used, so NCCL would go over TCP" },
	{ "nccl-failed", "NCCL does not work between two nodes" },
	{ "rdma-memory", "memory cannot be registered for RDMA" },
	{ "degraded-fabric", "RDMA is slow though all that can be read is well" },
	{ "slow-path",
	  "something carries less than the rest of the cluster, or than it is known to" },
	{ "link-errors", "a port counted errors of the line during the tests" },
	{ "lossy-fabric", "packets were lost and sent again during the tests" },
	{ "slower-than-before", "a path carries less than in an earlier check" },
	{ "unsteady", "a test was bad once and good when it was repeated" },
	{ "deaf", "a node may not open raw sockets" },
	{ NULL, NULL },
};

const char *cluster_severity_name(enum cluster_severity s)
{
	static const char *const names[] = { "note", "warning", "fault" };

	return names[s];
}

static size_t rank_of(const char *code)
{
	size_t i = 0;

	while (cluster_codes[i].code && strcmp(cluster_codes[i].code, code) != 0)
		i++;
	return i;
}

/* Worst first; what explains others, which stands earlier in the table, before them. */
static bool before(const struct cluster_finding *x, const struct cluster_finding *y)
{
	if (x->severity != y->severity)
		return x->severity > y->severity;
	return rank_of(x->code) < rank_of(y->code);
}

void cluster_find(struct arena *a, struct cluster *c, const struct cluster_finding *f)
{
	size_t at = c->n_findings;

	c->findings = arena_grow(a, c->findings, c->n_findings, sizeof(*c->findings));
	for (; at && before(f, &c->findings[at - 1]); at--)
		c->findings[at] = c->findings[at - 1];
	c->findings[at] = *f;
	c->n_findings++;
}

void cluster_judge(struct arena *a, struct cluster *c, const struct cluster *earlier)
{
	cluster_judge_nodes(a, c);
	cluster_judge_cables(a, c);
	cluster_judge_ports(a, c);
	cluster_judge_addresses(a, c);
	cluster_judge_gids(a, c, earlier);
}
