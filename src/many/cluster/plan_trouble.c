/* SPDX-License-Identifier: Apache-2.0 */
/* What stands against a plan: the topology, nodes that are not fit to be configured together, and
 * addresses that would end up beside ours in one subnet. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "many/cluster/plan.h"

/* Those that stop come first, in the order in which they were found. */
void wiring_trouble(struct arena *a, struct wiring *w, const struct wiring_trouble *t)
{
	size_t at = w->n_troubles;

	w->troubles = arena_grow(a, w->troubles, w->n_troubles, sizeof(*w->troubles));
	while (t->stops && at && !w->troubles[at - 1].stops) {
		w->troubles[at] = w->troubles[at - 1];
		at--;
	}
	w->troubles[at] = *t;
	w->troubles[at].node = t->node ? t->node : "";
	w->troubles[at].port = t->port ? t->port : "";
	w->n_troubles++;
}

static bool has_data(const struct cluster *c)
{
	for (size_t i = 0; i < c->n_wires; i++)
		if (cluster_wire_data(c, &c->wires[i]))
			return true;
	return false;
}

static void judge_slow_links(struct arena *a, struct wiring *w, bool meant)
{
	wiring_trouble(
		a, w,
		&(struct wiring_trouble){
			.code = "slow-links",
			.stops = !meant,
			.text = meant ? "no port of these links has RDMA or 25 Gb/s; they are used "
					"because this topology was asked for"
				      : "no port of these links has RDMA or 25 Gb/s: they may be "
					"there for management",
			.fix = meant ? "plug the ports that are meant for data"
				     : "plug the ports that are meant for data, or name the "
				       "topology to use these" });
}

static void judge_topology(struct arena *a, const struct wiring_wish *wish, struct wiring *w)
{
	const struct cluster *c = w->c;
	const char *is = cluster_topology_name(c->topology);
	bool named = strcmp(wish->topology, "auto") != 0, data = has_data(c),
	     meant = named && strcmp(wish->topology, is) == 0 && w->n_ports && !data;

	if (!c->supported && !meant)
		wiring_trouble(a, w,
			       &(struct wiring_trouble){
				       .code = "unsupported",
				       .stops = w->n_ports > 0 || !w->n_switches,
				       .text = arena_printf(a, "unsupported: %s", c->topology_why),
				       .fix = c->topology == CLUSTER_RING_FOUR
						      ? "put the four on a switch, or make a ring "
							"of three"
						      : "see the findings of \"gputune cluster "
							"discover\"" });
	else if (named && strcmp(wish->topology, is) != 0)
		wiring_trouble(a, w,
			       &(struct wiring_trouble){
				       .code = "wrong-topology",
				       .stops = true,
				       .text = arena_printf(a,
							    "a %s was asked for, but the cables "
							    "make a %s",
							    wish->topology, is),
				       .fix = "change the cables, or take --topology auto" });
	else if (!data && c->n_wires)
		judge_slow_links(a, w, meant);
}

static void judge_clock(struct arena *a, const struct wiring_node *b, const char *name,
			struct wiring *w)
{
	if (!b->has_clock || fabs(b->skew_ms) - b->skew_by_ms <= WIRING_SKEW_MS)
		return;
	wiring_trouble(a, w,
		       &(struct wiring_trouble){
			       .code = "clock-skew",
			       .node = name,
			       .text = arena_printf(a,
						    "its clock is %.1f s %s this machine's "
						    "(measured, within %.1f s)",
						    fabs(b->skew_ms) / 1000,
						    b->skew_ms > 0 ? "ahead of" : "behind",
						    b->skew_by_ms / 1000),
			       .fix = "let chrony or systemd-timesyncd keep the clocks" });
}

/* The same key on two nodes is one private key that was copied. */
static void judge_keys(struct arena *a, const struct wiring_node *before, size_t node,
		       struct wiring *w)
{
	for (size_t i = 0; i < before[node].n_keys; i++)
		for (size_t other = node + 1; other < w->c->n_nodes; other++)
			for (size_t k = 0; k < before[other].n_keys; k++) {
				const struct wiring_key *key = &before[node].keys[i];

				if (strcmp(key->digest, before[other].keys[k].digest) != 0)
					continue;
				wiring_trouble(
					a, w,
					&(struct wiring_trouble){
						.code = "shared-key",
						.node = w->c->nodes[node].name,
						.text = arena_printf(
							a,
							"%s is the same key as %s of %s: one "
							"private key on two machines",
							key->file, before[other].keys[k].file,
							w->c->nodes[other].name),
						.fix = "make a key of its own on each "
						       "(ssh-keygen -t ed25519) and take the "
						       "shared one away" });
			}
}

static void judge_node(struct arena *a, const struct wiring_node *before, size_t node,
		       struct wiring *w)
{
	const struct wiring_node *b = &before[node], *first = before;
	struct wiring_trouble t = { .node = w->c->nodes[node].name };

	if (b->failure) {
		t.code = "no-answer";
		t.stops = true;
		t.text = b->failure;
		t.fix = "ssh has to let this user in without a question (ssh -o BatchMode=yes), "
			"and gputune has to be installed there";
		wiring_trouble(a, w, &t);
		return;
	}
	if (b->version && strcmp(b->version, GPUTUNE_VERSION) != 0) {
		t.code = "version";
		t.stops = true;
		t.text = arena_printf(a, "it has gputune %s, this machine %s", b->version,
				      GPUTUNE_VERSION);
		t.fix = "install the same version on all";
		wiring_trouble(a, w, &t);
	}
	if (b->euid != 0) {
		t.code = "not-root";
		t.stops = true;
		t.text = arena_printf(a, "its program runs as %s, who cannot change the network",
				      b->user);
		t.fix = "reach it as root (root@NODE), or name a program that becomes root: "
			"--node-command 'sudo -n gputune cluster node'";
		wiring_trouble(a, w, &t);
	}
	while (first < b && first->failure)
		first++;
	if (strcmp(first->user, b->user) != 0) {
		t.code = "other-user";
		t.stops = false;
		t.text = arena_printf(a, "its user is %s, that of %s is %s", b->user,
				      w->c->nodes[first - before].name, first->user);
		t.fix = "launchers (mpirun, torchrun, Ray) expect one user on all nodes";
		wiring_trouble(a, w, &t);
	}
	judge_clock(a, b, w->c->nodes[node].name, w);
	judge_keys(a, before, node, w);
}

/* An address that the port has besides: our file cannot take it out of somebody else's. */
static void judge_port(struct arena *a, const struct wiring_port *p, struct wiring *w)
{
	const struct cluster_port *port = cluster_end_port(w->c, p->end);

	LIST_FOR_EACH (struct cluster_address, at, &port->addresses) {
		struct ipv4 x;
		bool beside = false;

		if (ipv4_parse(at->name, &x) || ipv4_local(x) || strcmp(at->name, p->address) == 0)
			continue;
		for (size_t i = 0; i < w->n_ports; i++)
			beside = beside || (w->ports[i].end.node == p->end.node &&
					    ipv4_overlap(x, w->paths[w->ports[i].path].network));
		NODE_PORTS(other, &w->c->nodes[p->end.node])
		{
			LIST_FOR_EACH (struct cluster_address, y, &other->addresses) {
				struct ipv4 z;

				beside = beside || (other != port && !ipv4_parse(y->name, &z) &&
						    !ipv4_local(z) && ipv4_overlap(x, z));
			}
		}
		wiring_trouble(
			a, w,
			&(struct wiring_trouble){
				.code = beside ? "address-in-the-way" : "address-besides",
				.stops = beside,
				.node = w->c->nodes[p->end.node].name,
				.port = port->name,
				.text = arena_printf(
					a,
					beside ? "it has %s, in a subnet with another port of this "
						 "node, given by %s"
					       : "it keeps %s besides, given by %s",
					at->name, fact_text(&port->owner, "nobody known")),
				.fix = beside ? "take that address out where it is given; gputune "
						"changes no file of others"
					      : "take it out where it is given unless it is "
						"needed" });
	}
}

static void judge_mtu(struct arena *a, const struct wiring_wish *wish, struct wiring *w)
{
	long long want = wish->mtu ? wish->mtu : WIRING_MTU;

	for (size_t i = 0; i < w->n_paths; i++)
		if (w->paths[i].mtu < want)
			wiring_trouble(
				a, w,
				&(struct wiring_trouble){
					.code = "small-mtu",
					.node = "",
					.text = arena_printf(
						a,
						"%s gets an MTU of %lld: a port of it takes "
						"no more (read from its driver)",
						ipv4_text(a, w->paths[i].network), w->paths[i].mtu),
					.fix = "none is needed; RDMA then sends smaller "
					       "packets" });
}

static void judge_switches(struct arena *a, struct wiring *w)
{
	for (size_t i = 0; i < w->n_switches; i++)
		wiring_trouble(
			a, w,
			&(struct wiring_trouble){
				.code = "infiniband",
				.node = w->c->nodes[w->switches[i].node].name,
				.text = arena_printf(a,
						     "port %lld of the adapter at %s has the link "
						     "layer InfiniBand",
						     w->switches[i].port, w->switches[i].pci),
				.fix = "mlxconfig sets it to Ethernet; that needs a reboot, and a "
				       "new plan after it" });
}

void wiring_judge(struct arena *a, const struct wiring_node *before, const struct wiring_wish *wish,
		  struct wiring *w)
{
	for (size_t i = 0; i < w->c->n_nodes; i++)
		judge_node(a, before, i, w);
	judge_topology(a, wish, w);
	for (size_t i = 0; i < w->n_ports; i++)
		judge_port(a, &w->ports[i], w);
	judge_mtu(a, wish, w);
	judge_switches(a, w);
}
