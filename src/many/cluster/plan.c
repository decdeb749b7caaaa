/* SPDX-License-Identifier: Apache-2.0 */
/* Paths to subnets and ports to addresses. What is right already is kept: a plan of a cluster that
 * follows it changes nothing. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "many/cluster/plan.h"
#include "base/text.h"

enum { HOST_BITS = 8, FAMILY_HOST_LEAST = 1 };

struct planning {
	struct arena *a;
	const struct cluster *c;
	const struct wiring_node *before;
	const struct wiring_target *wish;
	struct wiring *w;
	struct ipv4_pool pool;
};

static struct cluster_port *port_of(const struct planning *p, struct cluster_end e)
{
	return cluster_end_port(p->c, e);
}

/* The port's IPv4 addresses that are more than the link's own, one after the other; false at the
 * end. */
static bool next_address(const struct cluster_port *port, size_t *at, struct ipv4 *out)
{
	const struct cluster_address *list = port->addresses.items;

	while (*at < port->addresses.n)
		if (ipv4_parse(list[(*at)++].name, out) == 0 && !ipv4_local(*out) &&
		    out->bits < 31 && out->bits >= FAMILY_HOST_LEAST)
			return true;
	return false;
}

/* How many ports of the cluster's other paths, or other ports of these nodes, lie in the network.
 */
static bool is_used_elsewhere(const struct planning *p, const struct cluster_path *path,
			      struct ipv4 network)
{
	for (size_t n = 0; n < p->c->n_nodes; n++)
		for (size_t i = 0; i < p->c->nodes[n].ports.n; i++) {
			struct cluster_end e = { n, i };
			size_t k = 0, at = 0;
			struct ipv4 x;

			while (k < path->n_ends &&
			       (path->ends[k].node != n || path->ends[k].port != i))
				k++;
			if (k < path->n_ends)
				continue;
			while (next_address(port_of(p, e), &at, &x))
				if (ipv4_overlap(x, network))
					return true;
		}
	return false;
}

/* The port's address in the network; false: it has none, or more than one. */
static bool address_in(const struct cluster_port *port, struct ipv4 network, struct ipv4 *out)
{
	struct ipv4 x;
	size_t at = 0, n = 0;

	while (next_address(port, &at, &x))
		if (ipv4_same(ipv4_network(x), network)) {
			*out = x;
			n++;
		}
	return n == 1;
}

static bool cluster_plan_distinct(const struct planning *p, const struct cluster_path *path,
				  struct ipv4 network)
{
	for (size_t i = 0; i < path->n_ends; i++)
		for (size_t k = i + 1; k < path->n_ends; k++) {
			struct ipv4 x, y;

			if (address_in(port_of(p, path->ends[i]), network, &x) &&
			    address_in(port_of(p, path->ends[k]), network, &y) && x.ip == y.ip)
				return false;
		}
	return true;
}

/* A network that most ends have already and nobody else has; false: none is worth keeping. */
static bool find_existing(const struct planning *p, const struct cluster_path *path,
			  struct ipv4 *out)
{
	size_t best = 0;

	for (size_t i = 0; i < path->n_ends; i++) {
		const struct cluster_port *port = port_of(p, path->ends[i]);
		struct ipv4 x, ignored;
		size_t at = 0;

		while (next_address(port, &at, &x)) {
			struct ipv4 network = ipv4_network(x);
			size_t have = 0;

			for (size_t k = 0; k < path->n_ends; k++)
				have += address_in(port_of(p, path->ends[k]), network, &ignored);
			/* One end alone says nothing of where the others belong. */
			if (have < 2 || have <= best || is_used_elsewhere(p, path, network) ||
			    ipv4_in_use(&p->pool, network) ||
			    !cluster_plan_distinct(p, path, network))
				continue;
			best = have;
			*out = network;
		}
	}
	return best > 0;
}

/* Everything that anything on any node lies in or has a route to, but for the networks of paths
 * that are kept. */
static void take_networks(struct planning *p)
{
	for (size_t n = 0; n < p->c->n_nodes; n++) {
		for (size_t i = 0; i < p->before[n].n_networks; i++)
			if (p->before[n].networks[i].bits && !ipv4_local(p->before[n].networks[i]))
				ipv4_take(&p->pool, p->before[n].networks[i]);
		for (size_t i = 0; i < p->c->nodes[n].ports.n; i++) {
			struct ipv4 x;
			size_t at = 0;

			while (next_address(port_of(p, (struct cluster_end){ n, i }), &at, &x))
				ipv4_take(&p->pool, ipv4_network(x));
		}
	}
}

static long long mtu_of(const struct planning *p, const struct cluster_path *path)
{
	long long mtu = p->wish->mtu ? p->wish->mtu : WIRING_MTU;

	for (size_t i = 0; i < path->n_ends; i++) {
		long long most = fact_or(&port_of(p, path->ends[i])->nic.max_mtu, mtu);

		if (most > 0 && most < mtu)
			mtu = most;
	}
	return mtu;
}

/* The host's number is the node's, so that all its addresses end alike; another one where somebody
 * has that. */
static uint32_t host_of(const struct planning *p, const struct wiring_path *path,
			const struct cluster_path *from, size_t node)
{
	uint32_t most = path->network.bits < 32 - HOST_BITS ? ADDRESS_HOSTS
							    : (1U << (32 - path->network.bits)) - 2;

	for (uint32_t i = 0; i < most; i++) {
		uint32_t host = 1 + ((uint32_t)node + i) % most;
		bool taken = false;

		for (size_t k = 0; k < from->n_ends && !taken; k++) {
			struct ipv4 x;

			taken = address_in(port_of(p, from->ends[k]), path->network, &x) &&
				(x.ip & ~(0xffffffffU << (32 - path->network.bits))) == host;
		}
		for (size_t k = path->first; k < p->w->n_ports && !taken; k++) {
			struct ipv4 x = { 0 };

			(void)ipv4_parse(p->w->ports[k].address, &x);
			taken = x.ip == path->network.ip + host;
		}
		if (!taken)
			return host;
	}
	return 0;
}

static void cluster_plan_add_port(struct planning *p, struct wiring_path *path,
				  const struct cluster_path *from, struct cluster_end end)
{
	struct wiring *w = p->w;
	const struct cluster_port *port = port_of(p, end);
	struct ipv4 x = { 0 };
	struct wiring_port *out;
	bool there = path->kept && address_in(port, path->network, &x);

	if (!there)
		x = (struct ipv4){ path->network.ip + host_of(p, path, from, end.node),
				   path->network.bits };
	out = &ARENA_ADD(p->a, w->ports, w->n_ports);
	*out = (struct wiring_port){ .end = end,
				     .node = p->c->nodes[end.node].name,
				     .port = port->name,
				     .path = (size_t)(path - w->paths),
				     .address = ipv4_text(p->a, x),
				     .there = there,
				     .mtu_now = fact_or(&port->nic.mtu, -1) };
	path->n++;
}

/* What nodes call each other over the planned links, and by which keys they know each other's ssh
 * server. Names come from other machines: what is no host name is not used. */

enum { LABEL_MAX = 63, KEY_MAX = 4096 };

static bool is_label(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && (s[i] != '-' || i == 0))
			return false;
	return n > 0 && n <= LABEL_MAX - strlen("-fabric999");
}

/* Up to the first dot. */
static const char *short_name(struct arena *a, const char *name)
{
	return arena_strndup(a, name, strcspn(name, "."));
}

static bool is_only(const struct cluster *c, size_t node, const char *hostname)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		if (i != node && strcmp(fact_text(&c->nodes[i].hostname, ""), hostname) == 0)
			return false;
	return true;
}

/* Its own host name where that tells it from the others, else what the user calls it. */
static const char *label_of(struct arena *a, const struct cluster *c, size_t node)
{
	const char *own = fact_text(&c->nodes[node].hostname, ""), *label = short_name(a, own);

	if (is_label(label) && is_only(c, node, own))
		return label;
	label = short_name(a, c->nodes[node].name);
	return is_label(label) ? label : arena_printf(a, "node%zu", node + 1);
}

/* Paths that the node has an end of. */
static bool is_on(const struct wiring *w, const struct wiring_path *path, size_t node)
{
	for (size_t i = 0; i < path->n; i++)
		if (w->ports[path->first + i].end.node == node)
			return true;
	return false;
}

static const char *fabric_name(struct arena *a, const char *label, unsigned nth)
{
	return nth > 1 ? arena_printf(a, "%s-fabric%u", label, nth)
		       : arena_printf(a, "%s-fabric", label);
}

static const char *bare(struct arena *a, const char *address)
{
	return arena_strndup(a, address, strcspn(address, "/"));
}

/* Addresses of other on paths that node has too, each with its name: as lines, or with commas. */
static void cluster_plan_add_names(struct arena *a, const struct wiring *w, size_t node,
				   size_t other, bool lines, struct text *out)
{
	unsigned nth = 0;

	for (size_t i = 0; i < w->n_ports; i++) {
		const struct wiring_port *port = &w->ports[i];

		if (port->end.node != other || !is_on(w, &w->paths[port->path], node))
			continue;
		nth++;
		text_printf(out, lines ? "%s\t%s\n" : ",%s,%s", bare(a, port->address),
			    fabric_name(a, w->labels[other], nth));
	}
}

bool wiring_host_key_valid(const char *key)
{
	static const char *const types[] = { "ssh-ed25519 ", "ssh-rsa ", "ecdsa-sha2-nistp256 ",
					     "ecdsa-sha2-nistp384 ", "ecdsa-sha2-nistp521 " };
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i]), len = str_starts(key, types[i]) ? strlen(key + n) : 0;

		if (len)
			return len <= KEY_MAX && strspn(key + n, base64) == len;
	}
	return false;
}

static const char *known_lines(struct arena *a, const struct wiring_node *before,
			       const struct wiring *w, size_t node)
{
	TEXT_AUTO out = { 0 }, names = { 0 };

	text_add(&out, "");
	for (size_t other = 0; other < w->c->n_nodes; other++) {
		const char *name = short_name(a, w->c->nodes[other].name);

		if (other == node)
			continue;
		text_clear(&names);
		text_add(&names, w->labels[other]);
		if (strcmp(name, w->labels[other]) != 0 && is_label(name))
			text_printf(&names, ",%s", name);
		cluster_plan_add_names(a, w, node, other, false, &names);
		for (size_t i = 0; i < before[other].n_host_keys; i++)
			if (wiring_host_key_valid(before[other].host_keys[i]))
				text_printf(&out, "%s %s\n", names.s, before[other].host_keys[i]);
	}
	return arena_strdup(a, out.s);
}

/* Labels, hosts and known_hosts. */
static void wiring_names(struct arena *a, const struct wiring_node *before, struct wiring *w)
{
	size_t n = w->c->n_nodes;

	w->labels = arena_array(a, n, sizeof(*w->labels));
	w->hosts = arena_array(a, n, sizeof(*w->hosts));
	w->known_hosts = arena_array(a, n, sizeof(*w->known_hosts));
	for (size_t i = 0; i < n; i++)
		w->labels[i] = label_of(a, w->c, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcasecmp(w->labels[i], w->labels[k]) == 0)
				w->labels[i] = arena_printf(a, "%s-%zu", w->labels[i], i + 1);
	for (size_t i = 0; i < n; i++) {
		TEXT_AUTO lines = { 0 };

		text_add(&lines, "");
		for (size_t other = 0; other < n; other++)
			cluster_plan_add_names(a, w, i, other, true, &lines);
		w->hosts[i] = arena_strdup(a, lines.s);
		w->known_hosts[i] = w->n_ports ? known_lines(a, before, w, i) : "";
	}
}

/* What stands against a plan: the topology, nodes that are not fit to be configured together, and
 * addresses that would end up beside ours in one subnet. */

enum trouble_kind {
	SLOW_LINKS,
	SLOW_LINKS_MEANT,
	UNSUPPORTED_RING,
	UNSUPPORTED,
	WRONG_TOPOLOGY,
	CLOCK_SKEW,
	SHARED_KEY,
	NO_ANSWER,
	OTHER_VERSION,
	NOT_ROOT,
	OTHER_USER,
	ADDRESS_IN_THE_WAY,
	ADDRESS_BESIDES,
	SMALL_MTU,
	INFINIBAND,
	NO_NETWORK,
};

/* clang-format off */
static const struct {
	const char *code;
	bool stops;
	const char *fix;
} trouble_kinds[] = {
	[SLOW_LINKS] = { "slow-links", true, "connect the data ports, or use these ports with --topology" },
	[SLOW_LINKS_MEANT] = { "slow-links", false, "connect the data ports" },
	[UNSUPPORTED_RING] = { "unsupported", true, "connect the four nodes to a switch, or three of them in a ring" },
	[UNSUPPORTED] = { "unsupported", true, "see the findings of \"gputune cluster discover\"" },
	[WRONG_TOPOLOGY] = { "wrong-topology", true, "change the cables, or use --topology auto" },
	[CLOCK_SKEW] = { "clock-skew", false, "synchronize the clocks with chrony or systemd-timesyncd" },
	[SHARED_KEY] = { "shared-key", false,
			 "create a new key on each machine (ssh-keygen -t ed25519) and remove the shared key" },
	[NO_ANSWER] = { "no-answer", true, "ssh must log in without a prompt (ssh -o BatchMode=yes), and gputune "
			"must be installed there" },
	[OTHER_VERSION] = { "version", true, "install the same version on all nodes" },
	[NOT_ROOT] = { "not-root", true, "log in as root (root@NODE), or give a command that becomes root: "
		       "--node-command 'sudo -n gputune cluster node'" },
	[OTHER_USER] = { "other-user", false, "launchers (mpirun, torchrun, Ray) expect one user on all nodes" },
	[ADDRESS_IN_THE_WAY] = { "address-in-the-way", true, "remove that address where it is configured; gputune "
				 "does not change other programs' files" },
	[ADDRESS_BESIDES] = { "address-besides", false,
			      "remove the address where it is configured, unless you need it" },
	[SMALL_MTU] = { "small-mtu", false, "no action needed; RDMA then sends smaller packets" },
	[INFINIBAND] = { "infiniband", false,
			 "set the link layer to Ethernet with mlxconfig, reboot, then make a new plan" },
	[NO_NETWORK] = { "no-network", true, "give a larger range with --subnets" },
};
/* clang-format on */

/* Those that stop come first, in the order in which they were found. */
__attribute__((format(printf, 6, 7))) static void trouble(struct arena *a, struct wiring *w,
							  enum trouble_kind k, const char *node,
							  const char *port, const char *fmt, ...)
{
	size_t at = w->n_troubles++;
	/* Ports of another link layer can be changed whatever the topology is. */
	bool stops = trouble_kinds[k].stops &&
		     ((k != UNSUPPORTED && k != UNSUPPORTED_RING) || w->n_ports || !w->n_switches);
	va_list ap;

	w->troubles = arena_grow(a, w->troubles, at, sizeof(*w->troubles));
	for (; stops && at && !w->troubles[at - 1].stops; at--)
		w->troubles[at] = w->troubles[at - 1];
	va_start(ap, fmt);
	w->troubles[at] = (struct wiring_trouble){
		trouble_kinds[k].code, stops, node, port, arena_vprintf(a, fmt, ap),
		trouble_kinds[k].fix
	};
	va_end(ap);
}

static bool has_data(const struct cluster *c)
{
	for (size_t i = 0; i < c->n_wires; i++)
		if (cluster_wire_data(c, &c->wires[i]))
			return true;
	return false;
}

static void judge_topology(struct arena *a, const struct wiring_target *wish, struct wiring *w)
{
	const struct cluster *c = w->c;
	const char *is = cluster_topology_name(c->topology);
	bool named = strcmp(wish->topology, "auto") != 0, data = has_data(c),
	     meant = named && strcmp(wish->topology, is) == 0 && w->n_ports && !data;

	if (!c->supported && !meant)
		trouble(a, w, c->topology == CLUSTER_RING_FOUR ? UNSUPPORTED_RING : UNSUPPORTED, "",
			"", "unsupported: %s", c->topology_why);
	else if (named && strcmp(wish->topology, is) != 0)
		trouble(a, w, WRONG_TOPOLOGY, "", "",
			"a %s was requested, but the cables form a %s", wish->topology, is);
	else if (!data && c->n_wires && meant)
		trouble(a, w, SLOW_LINKS_MEANT, "", "",
			"no port of these links has RDMA or 25 Gb/s; gputune uses them because you "
			"requested this topology");
	else if (!data && c->n_wires)
		trouble(a, w, SLOW_LINKS, "", "",
			"the links have no port with RDMA or 25 Gb/s and may be for management");
}

/* The same key on two nodes is one private key that was copied. */
static void judge_keys(struct arena *a, const struct wiring_node *before, size_t node,
		       struct wiring *w)
{
	for (size_t i = 0; i < before[node].n_keys; i++)
		for (size_t other = node + 1; other < w->c->n_nodes; other++)
			for (size_t k = 0; k < before[other].n_keys; k++) {
				const struct wiring_key *key = &before[node].keys[i];

				if (strcmp(key->digest, before[other].keys[k].digest) == 0)
					trouble(a, w, SHARED_KEY, w->c->nodes[node].name, "",
						"%s is the same key as %s of %s: one private key "
						"on two machines",
						key->file, before[other].keys[k].file,
						w->c->nodes[other].name);
			}
}

static void judge_node(struct arena *a, const struct wiring_node *before, size_t node,
		       struct wiring *w)
{
	const struct wiring_node *b = &before[node], *first = before;
	const char *name = w->c->nodes[node].name;

	if (b->failure) {
		trouble(a, w, NO_ANSWER, name, "", "%s", b->failure);
		return;
	}
	if (b->version && strcmp(b->version, GPUTUNE_VERSION) != 0)
		trouble(a, w, OTHER_VERSION, name, "", "the node has gputune %s, this machine %s",
			b->version, GPUTUNE_VERSION);
	if (b->euid != 0)
		trouble(a, w, NOT_ROOT, name, "",
			"gputune runs there as %s, who cannot change the network", b->user);
	while (first < b && first->failure)
		first++;
	if (strcmp(first->user, b->user) != 0)
		trouble(a, w, OTHER_USER, name, "", "gputune runs there as %s, and on %s as %s",
			b->user, w->c->nodes[first - before].name, first->user);
	if (fabs(b->skew_ms) - b->skew_by_ms > WIRING_SKEW_MS)
		trouble(a, w, CLOCK_SKEW, name, "",
			"the node's clock is %.1f s %s this machine's (measured, within %.1f s)",
			fabs(b->skew_ms) / 1000, b->skew_ms > 0 ? "ahead of" : "behind",
			b->skew_by_ms / 1000);
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
		trouble(a, w, beside ? ADDRESS_IN_THE_WAY : ADDRESS_BESIDES,
			w->c->nodes[p->end.node].name, port->name,
			beside ? "the port has %s, in the subnet of another port of this node, "
				 "configured by %s"
			       : "the port also keeps %s, configured by %s",
			at->name, fact_text(&port->nic.owner, "an unknown owner"));
	}
}

static void wiring_judge(struct arena *a, const struct wiring_node *before,
			 const struct wiring_target *wish, struct wiring *w)
{
	for (size_t i = 0; i < w->c->n_nodes; i++)
		judge_node(a, before, i, w);
	judge_topology(a, wish, w);
	for (size_t i = 0; i < w->n_ports; i++)
		judge_port(a, &w->ports[i], w);
	for (size_t i = 0; i < w->n_paths; i++)
		if (w->paths[i].mtu < (wish->mtu ? wish->mtu : WIRING_MTU))
			trouble(a, w, SMALL_MTU, "", "",
				"%s gets an MTU of %lld: one of its ports supports no more (read "
				"from its driver)",
				w->paths[i].subnet, w->paths[i].mtu);
	for (size_t i = 0; i < w->n_switches; i++)
		trouble(a, w, INFINIBAND, w->switches[i].name, "",
			"port %lld of the adapter at %s has the link layer InfiniBand",
			w->switches[i].port, w->switches[i].pci);
}

/* --- all paths -------------------------------------------------------------------------------- */

static void cluster_plan_add_path(struct planning *p, size_t wire, size_t n)
{
	struct wiring *w = p->w;
	const struct cluster_path *from = &p->c->wires[wire].paths[n];
	struct wiring_path *path;

	path = &ARENA_ADD(p->a, w->paths, w->n_paths);
	*path = (struct wiring_path){ .wire = wire,
				      .path = n,
				      .way = p->c->wires[wire].way,
				      .mtu = mtu_of(p, from),
				      .speed_mbps = from->speed_mbps };
	path->kept = find_existing(p, from, &path->network);
	if (path->kept)
		ipv4_take(&p->pool, path->network);
}

static void fill_path(struct planning *p, struct wiring_path *path)
{
	const struct cluster_path *from = &p->c->wires[path->wire].paths[path->path];

	path->first = p->w->n_ports;
	if (!path->kept && !ipv4_next(&p->pool, &path->network)) {
		trouble(p->a, p->w, NO_NETWORK, "", "", "no free network is left for a path");
		return;
	}
	for (size_t node = 0; node < p->c->n_nodes; node++)
		for (size_t i = 0; i < from->n_ends; i++)
			if (from->ends[i].node == node)
				cluster_plan_add_port(p, path, from, from->ends[i]);
}

static void add_switches(struct planning *p)
{
	for (size_t n = 0; n < p->c->n_nodes; n++)
		NODE_PORTS(port, &p->c->nodes[n])
		{
			struct wiring *w = p->w;

			if (!fact_is(&port->rdma.link_layer, "InfiniBand") ||
			    !fact_is(&port->nic.driver, "mlx5_core") || !*port->pci)
				continue;
			ARENA_ADD(p->a, w->switches, w->n_switches) =
				(struct wiring_switch){ .node = n,
							.name = p->c->nodes[n].name,
							.pci = port->pci,
							.port = fact_or(&port->rdma_port, 1) };
		}
}

/*
 * Whether the wire gets addresses: one for data, never one for management (cluster_wire_data).
 * Where there are none for data, whoever names a topology means those that there are.
 */
static bool wiring_wanted(const struct cluster *c, const struct wiring_target *wish, size_t wire)
{
	if (cluster_wire_data(c, &c->wires[wire]))
		return true;
	for (size_t i = 0; i < c->n_wires; i++)
		if (cluster_wire_data(c, &c->wires[i]))
			return false;
	return strcmp(wish->topology, "auto") != 0;
}

void wiring_make(struct arena *a, const struct cluster *c, const struct wiring_node *before,
		 const struct wiring_target *wish, struct wiring *out)
{
	struct planning p = { .a = a,
			      .c = c,
			      .before = before,
			      .wish = wish,
			      .w = out,
			      .pool = { .a = a, .base = wish->base } };

	*out = (struct wiring){ .c = c };
	/* Before anything is taken: what is kept lies in networks that its own ports have. */
	for (size_t i = 0; i < c->n_wires; i++)
		for (size_t k = 0; wiring_wanted(c, wish, i) && k < c->wires[i].n_paths; k++)
			cluster_plan_add_path(&p, i, k);
	take_networks(&p);
	for (size_t i = 0; i < out->n_paths; i++)
		fill_path(&p, &out->paths[i]);
	for (size_t i = 0; i < out->n_paths; i++) {
		out->paths[i].subnet = ipv4_text(a, out->paths[i].network);
		out->paths[i].ports = out->ports + out->paths[i].first;
	}
	add_switches(&p);
	wiring_names(a, before, out);
	if (!wish->hosts)
		for (size_t i = 0; i < c->n_nodes; i++)
			out->hosts[i] = out->known_hosts[i] = "";
	wiring_judge(a, before, wish, out);
}

bool wiring_stopped(const struct wiring *w)
{
	for (size_t i = 0; i < w->n_troubles; i++)
		if (w->troubles[i].stops)
			return true;
	return false;
}
