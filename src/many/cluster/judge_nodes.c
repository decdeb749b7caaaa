/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: their codes, their order, and who looks for them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "many/cluster/links.h"
#include "base/text.h"

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

/* Findings about nodes: whether they are there, alike, and let packets through. */

static bool is_spark(const struct cluster_node *n)
{
	return fact_is(&n->platform, "dgx-spark");
}

static void dead(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	cluster_find(a, c,
		     &(struct cluster_finding){
			     .code = "dead-node",
			     .severity = CLUSTER_FAULT,
			     .node = n->name,
			     .port = "",
			     .text = arena_printf(a, "%s does not answer.", n->name),
			     .evidence = n->failure,
			     .fix = "check that it is on, reachable by ssh with your key and "
				    "listed in known_hosts, and that gputune is installed there" });
}

static void no_adapter(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	if (!is_spark(n) || fact_or(&n->adapters, -1) != 0)
		return;
	cluster_find(
		a, c,
		&(struct cluster_finding){
			.code = "no-cable-no-pci",
			.severity = CLUSTER_FAULT,
			.node = n->name,
			.port = "",
			.text = arena_printf(a,
					     "%s has no ConnectX-7 on PCI: neither cage has a "
					     "cable with a powered machine at the other end.",
					     n->name),
			.evidence = seen_ok(&n->hotplug.f)
					    ? "no function of vendor 15b3; the scripts that remove "
					      "the adapter from PCI without a cable are installed"
					    : "no function of vendor 15b3 on PCI",
			.fix = "connect a cable between two powered machines and wait half a "
			       "minute; if a cable is connected, shut down and disconnect all "
			       "power for a minute. Never rescan the PCI bus: it panics or hangs "
			       "the machine" });
}

static void no_carrier(struct arena *a, struct cluster *c, size_t node)
{
	const struct cluster_node *n = &c->nodes[node];
	size_t data = 0, up = 0;

	NODE_PORTS(p, n)
	{
		bool counts = *p->pci && p->data;
		const struct fact *carrier = &p->carrier.f;

		/* What nobody could look at may be up. */
		if (counts && first_untold(&carrier, 1))
			return;
		data += counts;
		up += counts && fact_or(&p->carrier, 0) == 1;
	}
	if (!data || up || !fact_or(&n->adapters, 0))
		return;
	cluster_find(a, c,
		     &(struct cluster_finding){
			     .code = "no-carrier",
			     .severity = CLUSTER_FAULT,
			     .node = n->name,
			     .port = "",
			     .text = arena_printf(a, "No port of %s's network adapter has a link.",
						  n->name),
			     .evidence = arena_printf(a, "%zu ports, none with carrier", data),
			     .fix = "check that the ports are up (ip link set NAME up), the cable "
				    "is seated at both ends, and the other machine is on" });
}

static void same_machine(struct arena *a, struct cluster *c, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		const struct cluster_node *x = &c->nodes[k], *y = &c->nodes[i];

		if (!seen_ok(&x->digest.f) || !seen_ok(&y->digest.f) ||
		    strcmp(x->digest.v, y->digest.v) != 0)
			continue;
		cluster_find(a, c,
			     &(struct cluster_finding){
				     .code = "same-machine",
				     .severity = CLUSTER_FAULT,
				     .node = y->name,
				     .port = "",
				     .text = arena_printf(a, "%s and %s are the same machine.",
							  x->name, y->name),
				     .evidence = "same boot and same network namespace",
				     .fix = "give each machine once; check which machine the names "
					    "resolve to" });
	}
}

/* Between nodes of a ring, and behind it, packets are forwarded; on a pair nobody's are. */
static void forward_drop(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	bool needed = c->n_nodes > 2 || fact_or(&n->ip_forward, 0);

	if (!fact_is(&n->forward, "drop"))
		return;
	cluster_find(
		a, c,
		&(struct cluster_finding){
			.code = "forward-drop",
			.severity = needed ? CLUSTER_WARNING : CLUSTER_NOTE,
			.node = n->name,
			.port = "",
			.text = arena_printf(a,
					     "%s drops packets that it should forward between its "
					     "links; machines behind it see a dead link.",
					     n->name),
			.evidence = arena_printf(a, "policy drop in %s; net.ipv4.ip_forward is %s",
						 fact_text(&n->forward_by, "a forward chain"),
						 fact_or(&n->ip_forward, 0) ? "1" : "0"),
			.fix = "direct links do not require forwarding. If nodes or containers "
			       "reach each other through this one, accept their subnets (with "
			       "Docker, in the chain DOCKER-USER, which Docker does not change)" });
}

static void node_defect(struct arena *a, struct cluster *c, size_t node)
{
	const struct verdict *v = cluster_fails(c, node, "gpu.known-defects", "");

	if (v)
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "known-defect",
				.severity = CLUSTER_WARNING,
				.node = c->nodes[node].name,
				.port = "",
				.text = arena_printf(a, "%s: %s.", c->nodes[node].name, v->reason),
				.evidence = v->current,
				.fix = "gputune defects check there" });
}

/* Whether every port that was to listen could do so with frames. */
static void deaf(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	NODE_PORTS(p, n)
	{
		bool by_six = fact_is(&p->listened, "ipv6");

		if (p->listened.f.seen != SEEN_DENIED && !by_six)
			continue;
		cluster_find(
			a, c,
			&(struct cluster_finding){
				.code = "deaf",
				.severity = CLUSTER_NOTE,
				.node = n->name,
				.port = p->name,
				.text = arena_printf(
					a, "%s is not permitted to open raw sockets%s.", n->name,
					by_six ? ", so gputune cannot distinguish cables from "
						 "switches there"
					       : ": its ports receive no announcements"),
				.evidence = arena_printf(a, "user id %lld", fact_or(&n->euid, -1)),
				.fix = "run the program there as root, for example --node-command "
				       "\"sudo -n gputune cluster node\"" });
		return;
	}
}

struct version {
	const char *what;
	enum cluster_severity severity;
	const char *fix;
	size_t offset;
};

static const struct version versions[] = {
	{ "NCCL", CLUSTER_FAULT,
	  "install one version everywhere: ranks of different versions may hang or refuse",
	  offsetof(struct cluster_node, nccl) },
	{ "the GPU driver", CLUSTER_WARNING, "install one driver version on all nodes",
	  offsetof(struct cluster_node, driver) },
	{ "the kernel", CLUSTER_NOTE,
	  "install one kernel version on all nodes, so that figures are comparable",
	  offsetof(struct cluster_node, kernel) },
	{ "gputune", CLUSTER_NOTE, "install one version everywhere",
	  offsetof(struct cluster_node, version) },
};

static const struct fact_str *version_of(const struct cluster_node *n, const struct version *v)
{
	return (const struct fact_str *)(const void *)((const char *)n + v->offset);
}

static void judge_nodes_skew(struct arena *a, struct cluster *c, const struct version *v)
{
	const char *first = NULL;
	TEXT_AUTO t = { 0 };
	bool differ = false;

	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct fact_str *f = version_of(&c->nodes[i], v);

		if (!seen_ok(&f->f) || *c->nodes[i].failure)
			continue;
		differ = differ || (first && strcmp(first, f->v) != 0);
		first = first ? first : f->v;
		text_printf(&t, "%s%s %s", t.len ? ", " : "", c->nodes[i].name, f->v);
	}
	if (!differ)
		return;
	cluster_find(
		a, c,
		&(struct cluster_finding){
			.code = "version-skew",
			.severity = v->severity,
			.node = "",
			.port = "",
			.text = arena_printf(a, "The nodes differ in the version of %s.", v->what),
			.evidence = arena_strdup(a, t.s),
			.fix = v->fix });
}

void cluster_judge_nodes(struct arena *a, struct cluster *c)
{
	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct cluster_node *n = &c->nodes[i];

		if (*n->failure) {
			dead(a, c, n);
			continue;
		}
		no_adapter(a, c, n);
		no_carrier(a, c, i);
		same_machine(a, c, i);
		node_defect(a, c, i);
		forward_drop(a, c, n);
		deaf(a, c, n);
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		judge_nodes_skew(a, c, &versions[i]);
}

/* Findings about the ports of a wire: MTU, speed, twins, RDMA, PCIe, hearing both ways. */

static void judge_nodes_find(struct arena *a, struct cluster *c, const char *code,
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

static void judge_nodes_mtu(struct arena *a, struct cluster *c, const struct cluster_path *p)
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
		judge_nodes_find(a, c, "mtu-mismatch", CLUSTER_FAULT,
				 mine < theirs ? first : p->ends[i],
				 arena_printf(a,
					      "%s and %s differ in MTU: large packets are lost, "
					      "and RDMA ends with retry errors.",
					      cluster_end_text(a, c, first),
					      cluster_end_text(a, c, p->ends[i])),
				 arena_printf(a, "MTU %lld bytes on %s, %lld bytes on %s", mine,
					      cluster_end_text(a, c, first), theirs,
					      cluster_end_text(a, c, p->ends[i])),
				 "set 9000 at both ends, in the tool that configures them (gputune "
				 "cluster plan)");
	}
	if (equal && cluster_fails(c, first.node, "nic.mtu", cluster_end_port(c, first)->name))
		judge_nodes_find(
			a, c, "mtu-small", CLUSTER_NOTE, first,
			arena_printf(a, "All ends of the path of %s have an MTU of %lld bytes.",
				     cluster_end_text(a, c, first), mine),
			"with an MTU of 1500, RDMA uses packets of 1024 bytes; from 4192, of 4096 "
			"bytes. TCP uses the full MTU",
			"set 9000 at both ends (gputune cluster plan)");
}

static struct roce_side judge_nodes_side(const struct cluster_port *p)
{
	return (struct roce_side){ .pfc = fact_text(&p->pfc, NULL),
				   .trust = fact_text(&p->trust, NULL) };
}

static void judge_nodes_roce(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	const struct cluster_end first = p->ends[0];
	struct roce_side mine = judge_nodes_side(cluster_end_port(c, first));

	for (size_t i = 1; i < p->n_ends; i++) {
		struct roce_side theirs = judge_nodes_side(cluster_end_port(c, p->ends[i]));
		const char *what = roce_differs(&mine, &theirs);
		bool pfc = what && strcmp(what, "PFC") == 0;

		if (!what)
			continue;
		judge_nodes_find(
			a, c, "roce-uneven", CLUSTER_WARNING, p->ends[i],
			arena_printf(a,
				     "%s and %s differ in %s: one end pauses traffic that the "
				     "other end drops.",
				     cluster_end_text(a, c, first),
				     cluster_end_text(a, c, p->ends[i]), what),
			arena_printf(a, "%s %s on %s, %s on %s", what, pfc ? mine.pfc : mine.trust,
				     cluster_end_text(a, c, first), pfc ? theirs.pfc : theirs.trust,
				     cluster_end_text(a, c, p->ends[i])),
			"use the same on every node and switch port (gputune explain nic.pfc, "
			"nic.trust)");
	}
}

static void judge_nodes_speed(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	for (size_t i = 0; i < p->n_ends; i++) {
		const struct cluster_port *x = cluster_end_port(c, p->ends[i]);
		const struct verdict *v = cluster_fails(c, p->ends[i].node, "nic.speed", x->name);

		if (!v)
			continue;
		judge_nodes_find(a, c, "speed-below", CLUSTER_WARNING, p->ends[i],
				 arena_printf(a, "%s has a link of %s, not of %s.",
					      cluster_end_text(a, c, p->ends[i]), v->current,
					      v->wanted),
				 arena_printf(a, "%lld Mb/s negotiated", x->speed_mbps.v),
				 "use an approved cable; on a switch port, force 200G-baseCR4, "
				 "since autonegotiation may end at 100G");
	}
}

static bool judge_nodes_has_address(const struct cluster_port *p)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (cluster_prefix_parse(x->name, &prefix) == 0 &&
		    !cluster_prefix_link_local(&prefix))
			return true;
	}
	return false;
}

static const char *why_unused(const struct cluster_port *p)
{
	if (!fact_or(&p->carrier, 0) || !fact_is(&p->operstate, "up"))
		return "is down";
	return judge_nodes_has_address(p) ? "has no active RDMA port" : "has no address";
}

/* Its twin is in use, and says that this half is not; or its RDMA is down. */
static bool is_unused(struct arena *a, const struct cluster *c, const struct cluster_cage *g,
		      size_t port)
{
	const struct cluster_port *p = cluster_end_port(c, (struct cluster_end){ g->node, port });

	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *twin =
			cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });

		if (twin == p || !cluster_port_up(twin))
			continue;
		if (cluster_fails(c, g->node, "nic.twins", twin->name) ||
		    cluster_fails(c, g->node, "rdma.state", cluster_rdma_name(a, p)))
			return true;
	}
	return false;
}

static void judge_nodes_twins(struct arena *a, struct cluster *c, const struct cluster_cage *g)
{
	/* More than two by one name: that name does not say which two are halves. */
	for (size_t i = 0; g->n_ports == 2 && i < g->n_ports; i++) {
		struct cluster_end e = { g->node, g->ports[i] };

		if (!is_unused(a, c, g, g->ports[i]))
			continue;
		judge_nodes_find(
			a, c, "half-speed-twin-unused", CLUSTER_FAULT, e,
			arena_printf(a, "%s %s, so cage %s reaches at most half of its speed.",
				     cluster_end_text(a, c, e), why_unused(cluster_end_port(c, e)),
				     g->name),
			arena_printf(a,
				     "its twin is in use; both halves of a cage carry about 100 "
				     "Gb/s each (twins by %s)",
				     g->twins_by),
			"set it up with an address in its own subnet, and let NCCL use both RDMA "
			"devices");
	}
}

static void judge_nodes_rdma(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	if (cluster_port_up(p) && !fact_is(&p->link_layer, "InfiniBand") &&
	    cluster_fails(c, e.node, "rdma.state", cluster_rdma_name(a, p)))
		judge_nodes_find(a, c, "rdma-down", CLUSTER_FAULT, e,
				 arena_printf(a, "%s is up, its RDMA port %s is %s.",
					      cluster_end_text(a, c, e),
					      fact_text(&p->rdma_device, "?"), p->rdma_state.v),
				 arena_printf(a, "state %s", p->rdma_state.v),
				 "check that the interface is up and has an address; load mlx5_ib; "
				 "otherwise read the kernel log");
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
		judge_nodes_find(
			a, c, "rdma-missing", CLUSTER_FAULT, p->ends[i],
			arena_printf(a, "%s has no RDMA device, %s has one: they can only use TCP.",
				     cluster_end_text(a, c, p->ends[i]),
				     cluster_end_text(a, c, p->ends[with])),
			arena_printf(a, "RDMA device %s at the other end",
				     cluster_end_port(c, p->ends[with])->rdma_device.v),
			"load the adapter's RDMA module (mlx5_ib; rdma link show lists the "
			"devices)");
	}
}

/* Where the cabling is Ethernet; a node of a larger machine room may speak InfiniBand. */
static void judge_nodes_link_layer(struct arena *a, struct cluster *c, size_t node)
{
	for (size_t i = 0; i < c->nodes[node].ports.n; i++) {
		struct cluster_end e = { node, i };
		const struct cluster_port *p = cluster_end_port(c, e);

		if (cluster_fails(c, node, "rdma.link-layer", cluster_rdma_name(a, p)))
			judge_nodes_find(
				a, c, "link-layer", CLUSTER_FAULT, e,
				arena_printf(a, "%s speaks InfiniBand.", cluster_end_text(a, c, e)),
				arena_printf(a, "link layer of %s",
					     fact_text(&p->rdma_device, p->name)),
				"set LINK_TYPE to Ethernet (mlxconfig) and reboot");
	}
}

static void judge_nodes_pcie(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);
	const struct verdict *v = cluster_fails(c, e.node, "pcie.link", p->pci);

	if (!v)
		return;
	judge_nodes_find(
		a, c, "pcie-narrow", CLUSTER_WARNING, e,
		arena_printf(a, "%s uses fewer or slower PCIe lanes than it supports.",
			     cluster_end_text(a, c, e)),
		arena_printf(a, "%s, of %s", v->current, v->wanted),
		is_spark(&c->nodes[e.node])
			? "update the BIOS, then contact the vendor's support: the adapter is "
			  "soldered"
			: "check its slot; reseat it; check the slot's setting in the firmware");
}

/* Whether node x hears node y at all on this wire. */
static bool has_neighbor(const struct cluster *c, size_t wire, size_t x, size_t y)
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
	    has_neighbor(c, wire, x.node, y.node) || !has_neighbor(c, wire, y.node, x.node))
		return;
	judge_nodes_find(a, c, "one-way", CLUSTER_WARNING, x,
			 arena_printf(a,
				      "%s receives no announcements from %s, although they arrive "
				      "in the other direction.",
				      cluster_end_text(a, c, x), cluster_end_text(a, c, y)),
			 "frames arrive in one direction only",
			 "replace the cable; on a switch, check the filters of its port");
}

void cluster_judge_ports(struct arena *a, struct cluster *c)
{
	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];

			judge_nodes_mtu(a, c, p);
			judge_nodes_speed(a, c, p);
			judge_nodes_roce(a, c, p);
			rdma_missing(a, c, p);
			for (size_t i = 0; i < p->n_ends; i++) {
				judge_nodes_rdma(a, c, p->ends[i]);
				judge_nodes_pcie(a, c, p->ends[i]);
				for (size_t j = 0; k == 0 && j < p->n_ends; j++)
					one_way(a, c, w, p->ends[i], p->ends[j]);
			}
		}
	for (size_t i = 0; i < c->n_nodes; i++)
		judge_nodes_link_layer(a, c, i);
	for (size_t i = 0; i < c->n_cages; i++)
		if (c->cages[i].wire != CLUSTER_NONE)
			judge_nodes_twins(a, c, &c->cages[i]);
}

/* Findings about GIDs: is there one for each address, and does its index stay where it was. */

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

static void judge_nodes_missing(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	if (!cluster_fails(c, e.node, "rdma.gid", cluster_rdma_name(a, p)))
		return;
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (cluster_prefix_parse(x->name, &prefix) || prefix.family != AF_INET ||
		    cluster_prefix_link_local(&prefix) || gid_of(p, &prefix))
			continue;
		cluster_find(a, c,
			     &(struct cluster_finding){
				     .code = "gid-missing",
				     .severity = CLUSTER_FAULT,
				     .node = c->nodes[e.node].name,
				     .port = p->name,
				     .text = arena_printf(a, "%s %s has no RoCE v2 GID for %s.",
							  c->nodes[e.node].name, p->name, x->name),
				     .evidence = arena_printf(a, "%zu GIDs of %s, none for it",
							      p->gids.n,
							      fact_text(&p->rdma_device, "?")),
				     .fix = "set the interface down and up, or reload mlx5_ib; "
					    "until then its RDMA cannot be routed" });
	}
}

/* The one in an earlier discovery: by PCI address, because names may change. */
static const struct cluster_port *port_before(const struct cluster *before, const char *node,
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
							  "moved from index %u to %u.",
							  c->nodes[e.node].name, p->name,
							  x.bytes[0], x.bytes[1], x.bytes[2],
							  x.bytes[3], was->index, is->index)
					   : arena_printf(a,
							  "%s %s: the RoCE v2 GID %s of index %u "
							  "is missing.",
							  c->nodes[e.node].name, p->name,
							  was->gid.v, was->index),
				.evidence = arena_printf(
					a, "%s, compared with the earlier discovery", was->gid.v),
				.fix = "leave NCCL_IB_GID_INDEX unset, so that NCCL finds the "
				       "index; restart programs that pinned it. Turn off "
				       "link-local and IPv6 addresses on these ports: they shift "
				       "the index" });
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
			     .fix = "leave NCCL_IB_GID_INDEX unset: no single value fits all" });
}

void cluster_judge_gids(struct arena *a, struct cluster *c, const struct cluster *before)
{
	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++)
			for (size_t i = 0; i < c->wires[w].paths[k].n_ends; i++)
				judge_nodes_missing(a, c, c->wires[w].paths[k].ends[i]);
	for (size_t i = 0; before && i < c->n_nodes; i++)
		for (size_t k = 0; k < c->nodes[i].ports.n; k++) {
			struct cluster_end e = { i, k };
			const struct cluster_port *p = cluster_end_port(c, e);
			const struct cluster_port *old = port_before(before, c->nodes[i].name, p);

			if (old && p->data)
				drifted(a, c, e, old);
		}
	uneven(a, c);
}
