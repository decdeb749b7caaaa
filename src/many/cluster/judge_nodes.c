/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: their codes, their order, and who looks for them. */
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "many/cluster/links.h"
#include "base/text.h"

const char *cluster_severity_name(enum cluster_severity s)
{
	static const char *const names[] = { "note", "warning", "fault" };

	return names[s];
}

static const struct cluster_code *code_of(const char *code)
{
	const struct cluster_code *row = cluster_codes;

	while (row->code && strcmp(row->code, code) != 0)
		row++;
	return row;
}

/* Worst first; what explains others, which stands earlier in the table, before them. */
static bool before(const struct cluster_finding *x, const struct cluster_finding *y)
{
	if (x->severity != y->severity)
		return x->severity > y->severity;
	return code_of(x->code) < code_of(y->code);
}

void cluster_find_as(struct arena *a, struct cluster *c, const struct cluster_finding *f)
{
	size_t at = c->n_findings;

	c->findings = arena_grow(a, c->findings, c->n_findings, sizeof(*c->findings));
	for (; at && before(f, &c->findings[at - 1]); at--)
		c->findings[at] = c->findings[at - 1];
	c->findings[at] = *f;
	c->n_findings++;
}

static void add_as(struct arena *a, struct cluster *c, const char *code, const char *node,
		   const char *port, const char *evidence, const char *fmt, va_list ap)
{
	const struct cluster_code *of = code_of(code);

	cluster_find_as(a, c,
			&(struct cluster_finding){ code, of->severity, node, port,
						   arena_vprintf(a, fmt, ap), evidence, of->fix });
}

void cluster_find(struct arena *a, struct cluster *c, const char *code, const char *node,
		  const char *port, const char *evidence, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_as(a, c, code, node, port, evidence, fmt, ap);
	va_end(ap);
}

void cluster_find_at(struct arena *a, struct cluster *c, const char *code, struct cluster_end e,
		     const char *evidence, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_as(a, c, code, c->nodes[e.node].name, cluster_end_port(c, e)->name, evidence, fmt, ap);
	va_end(ap);
}

/* Findings about nodes: whether they are there, alike, and let packets through. */

static bool is_spark(const struct cluster_node *n)
{
	return fact_is(&n->platform, "dgx-spark");
}

static void dead(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	cluster_find(a, c, "dead-node", n->name, "", n->failure, "%s does not answer.", n->name);
}

static void no_adapter(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	if (!is_spark(n) || fact_or(&n->adapters, -1) != 0)
		return;
	cluster_find(a, c, "no-cable-no-pci", n->name, "",
		     seen_ok(&n->hotplug.f)
			     ? "no PCI function of vendor 15b3; scripts are installed that remove "
			       "the adapter from PCI while no cable is plugged in"
			     : "no function of vendor 15b3 on PCI",
		     "%s has no ConnectX-7 on PCI: neither port has a cable with a powered machine "
		     "at the other end.",
		     n->name);
}

static void no_carrier(struct arena *a, struct cluster *c, size_t node)
{
	const struct cluster_node *n = &c->nodes[node];
	size_t data = 0, up = 0;

	NODE_PORTS(p, n)
	{
		bool counts = *p->pci && p->data;
		const struct fact *carrier = &p->nic.carrier.f;

		/* What nobody could look at may be up. */
		if (counts && first_untold(&carrier, 1))
			return;
		data += counts;
		up += counts && fact_or(&p->nic.carrier, 0) == 1;
	}
	if (!data || up || !fact_or(&n->adapters, 0))
		return;
	cluster_find(a, c, "no-carrier", n->name, "",
		     arena_printf(a, "none of %zu ports has carrier", data),
		     "No port of %s's network adapter has a link.", n->name);
}

static void same_machine(struct arena *a, struct cluster *c, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		const struct cluster_node *x = &c->nodes[k], *y = &c->nodes[i];

		if (!seen_ok(&x->digest.f) || !seen_ok(&y->digest.f) ||
		    strcmp(x->digest.v, y->digest.v) != 0)
			continue;
		cluster_find(a, c, "same-machine", y->name, "",
			     "same boot and same network namespace",
			     "%s and %s are the same machine.", x->name, y->name);
	}
}

/* Between nodes of a ring, and behind it, packets are forwarded; on a pair nobody's are. */
static void forward_drop(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	bool needed = c->n_nodes > 2 || fact_or(&n->ip_forward, 0);

	if (!fact_is(&n->forward, "drop"))
		return;
	cluster_find_as(
		a, c,
		&(struct cluster_finding){
			"forward-drop", needed ? CLUSTER_WARNING : CLUSTER_NOTE, n->name, "",
			arena_printf(a,
				     "%s drops packets that it should forward between its links; "
				     "machines behind it see a dead link.",
				     n->name),
			arena_printf(a, "policy drop in %s; net.ipv4.ip_forward is %s",
				     fact_text(&n->forward_by, "a forward chain"),
				     fact_or(&n->ip_forward, 0) ? "1" : "0"),
			code_of("forward-drop")->fix });
}

static void node_defect(struct arena *a, struct cluster *c, size_t node)
{
	const struct verdict *v = cluster_fails(c, node, "gpu.known-defects", "");

	if (v)
		cluster_find(a, c, "known-defect", c->nodes[node].name, "", v->current, "%s: %s.",
			     c->nodes[node].name, v->reason);
}

/* Whether every port that was to listen could do so with frames. */
static void deaf(struct arena *a, struct cluster *c, const struct cluster_node *n)
{
	NODE_PORTS(p, n)
	{
		bool by_six = fact_is(&p->listened, "ipv6");

		if (p->listened.f.seen != SEEN_DENIED && !by_six)
			continue;
		cluster_find(a, c, "deaf", n->name, p->name,
			     arena_printf(a, "user id %lld", fact_or(&n->euid, -1)),
			     "%s is not permitted to open raw sockets%s.", n->name,
			     by_six ? ", so gputune cannot distinguish cables from switches there"
				    : ": its ports receive no announcements");
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
	{ "the version of NCCL", CLUSTER_FAULT,
	  "install one version everywhere: ranks of different versions may hang or refuse",
	  offsetof(struct cluster_node, nccl) },
	{ "the settings in /etc/nccl.conf", CLUSTER_WARNING,
	  "make the file the same on all nodes, except for device names: ranks that differ in a "
	  "protocol or in queue pairs hang",
	  offsetof(struct cluster_node, nccl_conf) },
	{ "the version of the GPU driver", CLUSTER_WARNING,
	  "install one driver version on all nodes", offsetof(struct cluster_node, driver) },
	{ "the version of the kernel", CLUSTER_NOTE,
	  "install one kernel version on all nodes, so that figures are comparable",
	  offsetof(struct cluster_node, kernel) },
	{ "the version of gputune", CLUSTER_NOTE, "install one version everywhere",
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
	cluster_find_as(
		a, c,
		&(struct cluster_finding){ "version-skew", v->severity, "", "",
					   arena_printf(a, "The nodes differ in %s.", v->what),
					   arena_strdup(a, t.s), v->fix });
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

static void judge_nodes_mtu(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	const struct cluster_end first = p->ends[0];
	long long mine = fact_or(&cluster_end_port(c, first)->nic.mtu, 0);
	bool equal = mine > 0;

	for (size_t i = 1; i < p->n_ends; i++) {
		long long theirs = fact_or(&cluster_end_port(c, p->ends[i])->nic.mtu, 0);

		if (mine <= 0 || theirs <= 0 || mine == theirs) {
			equal = equal && theirs > 0;
			continue;
		}
		equal = false;
		cluster_find_at(a, c, "mtu-mismatch", mine < theirs ? first : p->ends[i],
				arena_printf(a, "MTU %lld bytes on %s, %lld bytes on %s", mine,
					     cluster_end_text(a, c, first), theirs,
					     cluster_end_text(a, c, p->ends[i])),
				"%s and %s differ in MTU: large packets are lost, and RDMA ends "
				"with retry errors.",
				cluster_end_text(a, c, first), cluster_end_text(a, c, p->ends[i]));
	}
	if (equal && cluster_fails(c, first.node, "nic.mtu", cluster_end_port(c, first)->name))
		cluster_find_at(a, c, "mtu-small", first,
				"with an MTU of 1500, RDMA sends packets of 1024 bytes; with 4192 "
				"or more, packets of 4096 bytes. TCP uses the full MTU",
				"All ends of the path of %s have an MTU of %lld bytes.",
				cluster_end_text(a, c, first), mine);
}

static struct roce_side judge_nodes_side(const struct cluster_port *p)
{
	return (struct roce_side){ .pfc = fact_text(&p->nic.pfc, NULL),
				   .trust = fact_text(&p->nic.trust, NULL) };
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
		cluster_find_at(
			a, c, "roce-uneven", p->ends[i],
			arena_printf(a, "%s %s on %s, %s on %s", what, pfc ? mine.pfc : mine.trust,
				     cluster_end_text(a, c, first), pfc ? theirs.pfc : theirs.trust,
				     cluster_end_text(a, c, p->ends[i])),
			"%s and %s differ in %s: one end pauses traffic that the other end drops.",
			cluster_end_text(a, c, first), cluster_end_text(a, c, p->ends[i]), what);
	}
}

static void judge_nodes_speed(struct arena *a, struct cluster *c, const struct cluster_path *p)
{
	for (size_t i = 0; i < p->n_ends; i++) {
		const struct cluster_port *x = cluster_end_port(c, p->ends[i]);
		const struct verdict *v = cluster_fails(c, p->ends[i].node, "nic.speed", x->name);

		if (!v)
			continue;
		cluster_find_at(a, c, "speed-below", p->ends[i],
				arena_printf(a, "%lld Mb/s negotiated", x->nic.speed_mbps.v),
				"%s has a link of %s, not of %s.",
				cluster_end_text(a, c, p->ends[i]), v->current, v->wanted);
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
	if (!fact_or(&p->nic.carrier, 0) || !fact_is(&p->nic.operstate, "up"))
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
		cluster_find_at(a, c, "half-speed-twin-unused", e,
				arena_printf(a,
					     "the port's other interface is in use; each carries "
					     "about 100 Gb/s (interfaces paired by %s)",
					     g->twins_by),
				"%s %s, so port %s reaches at most half of its speed.",
				cluster_end_text(a, c, e), why_unused(cluster_end_port(c, e)),
				g->name);
	}
}

static void judge_nodes_rdma(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	if (cluster_port_up(p) && !fact_is(&p->rdma.link_layer, "InfiniBand") &&
	    cluster_fails(c, e.node, "rdma.state", cluster_rdma_name(a, p)))
		cluster_find_at(a, c, "rdma-down", e, arena_printf(a, "state %s", p->rdma.state.v),
				"%s is up, its RDMA port %s is %s.", cluster_end_text(a, c, e),
				fact_text(&p->rdma_device, "?"), p->rdma.state.v);
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
		cluster_find_at(a, c, "rdma-missing", p->ends[i],
				arena_printf(a, "RDMA device %s at the other end",
					     cluster_end_port(c, p->ends[with])->rdma_device.v),
				"%s has no RDMA device, %s has one: they can only use TCP.",
				cluster_end_text(a, c, p->ends[i]),
				cluster_end_text(a, c, p->ends[with]));
	}
}

/* Where the cabling is Ethernet; a node of a larger machine room may speak InfiniBand. */
static void judge_nodes_link_layer(struct arena *a, struct cluster *c, size_t node)
{
	for (size_t i = 0; i < c->nodes[node].ports.n; i++) {
		struct cluster_end e = { node, i };
		const struct cluster_port *p = cluster_end_port(c, e);

		if (cluster_fails(c, node, "rdma.link-layer", cluster_rdma_name(a, p)))
			cluster_find_at(a, c, "link-layer", e,
					arena_printf(a, "link layer of %s",
						     fact_text(&p->rdma_device, p->name)),
					"%s speaks InfiniBand.", cluster_end_text(a, c, e));
	}
}

static void judge_nodes_pcie(struct arena *a, struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);
	const struct verdict *v = cluster_fails(c, e.node, "pcie.link", p->pci);

	if (!v)
		return;
	cluster_find_at(a, c, "pcie-narrow", e, arena_printf(a, "%s, of %s", v->current, v->wanted),
			"%s uses fewer or slower PCIe lanes than it supports.",
			cluster_end_text(a, c, e));
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
	cluster_find_at(a, c, "one-way", x, "frames arrive in one direction only",
			"%s receives no announcements from %s, although they arrive in the other "
			"direction.",
			cluster_end_text(a, c, x), cluster_end_text(a, c, y));
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

static const struct rdma_gid *gid_of(const struct cluster_port *p, const struct cluster_prefix *x)
{
	unsigned char four[4];

	LIST_FOR_EACH (struct rdma_gid, g, &p->rdma.gids)
		if (cluster_gid_ipv4(g, four) && memcmp(four, x->bytes, 4) == 0)
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
		cluster_find_at(a, c, "gid-missing", e,
				arena_printf(a, "none of the %zu GIDs of %s is for this address",
					     p->rdma.gids.n, fact_text(&p->rdma_device, "?")),
				"%s %s has no RoCE v2 GID for %s.", c->nodes[e.node].name, p->name,
				x->name);
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

	LIST_FOR_EACH (struct rdma_gid, was, &old->rdma.gids) {
		struct cluster_prefix x = { .family = AF_INET };
		const struct rdma_gid *is;

		if (!cluster_gid_ipv4(was, x.bytes))
			continue;
		is = gid_of(p, &x);
		if (is && is->index == was->index)
			continue;
		cluster_find_at(
			a, c, "gid-drift", e,
			arena_printf(a, "%s, compared with the earlier discovery", was->gid.v),
			is ? "%s: the RoCE v2 GID of %u.%u.%u.%u moved from index %u to %u."
			   : "%s: the RoCE v2 GID of %u.%u.%u.%u is missing; it had index %u.",
			cluster_end_text(a, c, e), x.bytes[0], x.bytes[1], x.bytes[2], x.bytes[3],
			was->index, is ? is->index : 0);
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

			LIST_FOR_EACH (struct rdma_gid, g, &p->rdma.gids) {
				if (!cluster_port_up(p) || !cluster_gid_ipv4(g, four))
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
	cluster_find(a, c, "gid-uneven", "", "", arena_strdup(a, t.s),
		     "The index of RoCE v2 GIDs differs between ports.");
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
