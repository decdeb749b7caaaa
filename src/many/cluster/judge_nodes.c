/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about nodes: whether they are there, alike, and let packets through. */
#include <string.h>

#include "base/text.h"
#include "many/cluster/links_inside.h"

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
			     .fix = "see that it is on, reachable by ssh with a key of yours and "
				    "in known_hosts, and that gputune is installed there" });
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
					     "%s has no ConnectX-7 on PCI: no cable is in either "
					     "cage, or none whose other end is powered.",
					     n->name),
			.evidence =
				seen_ok(&n->hotplug.f)
					? "no function of vendor 15b3; the scripts that take the "
					  "adapter off PCI without a cable are installed"
					: "no function of vendor 15b3 on PCI",
			.fix = "put a cable between two powered machines and wait half a minute; "
			       "the adapter comes back by itself, or at the next boot. Only if "
			       "it stays away is it broken" });
}

static void no_carrier(struct arena *a, struct cluster *c, size_t node)
{
	const struct cluster_node *n = &c->nodes[node];
	size_t data = 0, up = 0;

	NODE_PORTS(p, n)
	{
		bool counts = fact_is(&p->driver, "mlx5_core") && cluster_port_data(p);

		data += counts;
		up += counts && cluster_port_up(p);
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
			     .fix = "see that the ports are set up (ip link set NAME up), that the "
				    "cable clicks in at both ends, and that the other machine is "
				    "on" });
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
				     .fix = "name each machine once; see where the names lead" });
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
					     "%s drops what it would forward between its links, "
					     "which looks like a dead cable to whoever is behind "
					     "it.",
					     n->name),
			.evidence = arena_printf(a, "policy drop in %s; net.ipv4.ip_forward is %s",
						 fact_text(&n->forward_by, "a forward chain"),
						 fact_or(&n->ip_forward, 0) ? "1" : "0"),
			.fix = "direct links do not need forwarding. Where nodes or containers "
			       "reach each other through this one, accept their subnets (with "
			       "Docker, in the chain DOCKER-USER, which it leaves alone)" });
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
				.text = arena_printf(a, "%s may not open raw sockets%s.", n->name,
						     by_six ? ", so cables and switches cannot "
							      "be told apart there"
							    : ": its ports hear nothing"),
				.evidence = arena_printf(a, "user id %lld", fact_or(&n->euid, -1)),
				.fix = "let the program there run as root, for example "
				       "--node-command \"sudo -n gputune cluster node\"" });
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
	{ "the GPU driver", CLUSTER_WARNING, "bring all nodes to one driver",
	  offsetof(struct cluster_node, driver) },
	{ "the kernel", CLUSTER_NOTE, "bring all nodes to one kernel, so that figures compare",
	  offsetof(struct cluster_node, kernel) },
	{ "gputune", CLUSTER_NOTE, "install one version everywhere",
	  offsetof(struct cluster_node, version) },
};

static const struct fact_str *version_of(const struct cluster_node *n, const struct version *v)
{
	return (const struct fact_str *)(const void *)((const char *)n + v->offset);
}

static void skew(struct arena *a, struct cluster *c, const struct version *v)
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
		forward_drop(a, c, n);
		deaf(a, c, n);
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		skew(a, c, &versions[i]);
}
