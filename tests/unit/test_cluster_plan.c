/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a cluster's links: subnets, addresses, names, what stands against them, and the texts of
 * files. The cluster is put together here, by the official cabling of DGX Sparks. */
#include "box.h"

#include "base/text.h"
#include "many/cluster/rollback_timer.h"
#include "many/cluster/setup.h"
#include "many/cluster/plan.h"

enum { NODES = 4, PORTS = 4 };

static const char *const names[PORTS] = { "enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0",
					  "enP2p1s0f1np1" };
static const char *const pcis[PORTS] = { "0000:01:00.0", "0000:01:00.1", "0002:01:00.0",
					 "0002:01:00.1" };

struct rig {
	struct arena a;
	struct cluster c;
	struct cluster_node nodes[NODES];
	struct wiring_node before[NODES];
	struct cluster_wire wires[NODES];
	struct wiring w;
};

static struct fact_str text(const char *v)
{
	return (struct fact_str){ .f = { .seen = SEEN_OK, .leaf = "a test" }, .v = v };
}

static struct fact_int number(long long v)
{
	return (struct fact_int){ .f = { .seen = SEEN_OK, .leaf = "a test" }, .v = v };
}

static void make_rig(struct rig *g, size_t n)
{
	static const char *const own[NODES] = { "a", "b", "c", "d" };

	*g = (struct rig){ .c = { .n_nodes = n, .supported = true, .topology_why = "a test" } };
	g->c.nodes = g->nodes;
	g->c.wires = g->wires;
	for (size_t i = 0; i < n; i++) {
		struct cluster_node *node = &g->nodes[i];

		*node = (struct cluster_node){ .name = own[i], .address = own[i], .failure = "" };
		node->hostname = text(arena_printf(&g->a, "spark-%s", own[i]));
		for (size_t k = 0; k < PORTS; k++) {
			struct cluster_port *p = list_add(&g->a, &node->ports, sizeof(*p));

			p->name = names[k];
			p->pci = pcis[k];
			p->nic.mtu = number(1500);
			p->nic.max_mtu = number(9978);
			p->nic.driver = text("mlx5_core");
			p->rdma.link_layer = text("Ethernet");
			p->rdma_device = text("roce");
		}
		g->before[i] = (struct wiring_node){ .user = "root", .version = GPUTUNE_VERSION };
	}
}

static void give(struct rig *g, size_t node, size_t port, const char *address)
{
	struct cluster_port *p = (struct cluster_port *)g->nodes[node].ports.items + port;
	struct cluster_address *a = list_add(&g->a, &p->addresses, sizeof(*a));

	a->name = address;
}

/* A cable between cage x of one node and y of another (or a switch with that cage of all): two
 * paths, the first twins and the second ones. */
static void wire(struct rig *g, enum cluster_way way, const size_t (*cages)[2], size_t n)
{
	struct cluster_wire *w = &g->wires[g->c.n_wires++];

	*w = (struct cluster_wire){ .way = way, .n_paths = 2, .n_cages = n };
	w->cages = arena_array(&g->a, n, sizeof(*w->cages));
	for (size_t i = 0; i < n; i++) {
		struct cluster_cage *cage;

		g->c.cages = arena_grow(&g->a, g->c.cages, g->c.n_cages, sizeof(*cage));
		cage = &g->c.cages[g->c.n_cages];
		w->cages[i] = g->c.n_cages++;
		*cage = (struct cluster_cage){ .node = cages[i][0], .n_ports = 2 };
		cage->ports = arena_array(&g->a, 2, sizeof(*cage->ports));
		cage->ports[0] = cages[i][1];
		cage->ports[1] = cages[i][1] + 2;
	}
	w->paths = arena_array(&g->a, 2, sizeof(*w->paths));
	for (size_t twin = 0; twin < 2; twin++) {
		struct cluster_path *p = &w->paths[twin];

		*p = (struct cluster_path){ .n_ends = n, .speed_mbps = 200000 };
		p->ends = arena_array(&g->a, n, sizeof(*p->ends));
		for (size_t i = 0; i < n; i++)
			p->ends[i] = (struct cluster_end){ cages[i][0], cages[i][1] + 2 * twin };
	}
}

static void pair(struct rig *g)
{
	make_rig(g, 2);
	g->c.topology = CLUSTER_PAIR;
	wire(g, CLUSTER_CABLE, (const size_t[][2]){ { 0, 0 }, { 1, 0 } }, 2);
}

static void plan_as(struct rig *g, const char *topology)
{
	const struct wiring_target wish = { .topology = topology, .hosts = true };

	for (size_t i = 0; i < g->c.n_nodes; i++)
		cluster_find_data(&g->a, &g->nodes[i]);
	wiring_make(&g->a, &g->c, g->before, &wish, &g->w);
}

static const char *address_of(const struct rig *g, size_t node, size_t port)
{
	for (size_t i = 0; i < g->w.n_ports; i++)
		if (g->w.ports[i].end.node == node && g->w.ports[i].end.port == port)
			return g->w.ports[i].address;
	return "none";
}

static bool has_trouble(const struct rig *g, const char *code, bool stops)
{
	for (size_t i = 0; i < g->w.n_troubles; i++)
		if (strcmp(g->w.troubles[i].code, code) == 0 && g->w.troubles[i].stops == stops)
			return true;
	return false;
}

/* --- networks --------------------------------------------------------------------------------- */

static void test_networks(void **state)
{
	static const char *const bad[] = { "",		 "1.2.3",      "1.2.3.4/33",
					   "1.2.3.4/",	 "1.2.3.4/-1", "1.2.3.4/ 8",
					   "fe80::1/64", "1.2.3.4/2x", "1.2.3.4/024/1" };
	struct arena a = { 0 };
	struct ipv4 x, y;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ipv4_parse(bad[i], &x), -EINVAL);
	assert_int_equal(ipv4_parse("192.168.100.7/24", &x), 0);
	assert_string_equal(ipv4_text(&a, ipv4_network(x)), "192.168.100.0/24");
	assert_int_equal(ipv4_parse("192.168.0.0/16", &y), 0);
	assert_true(ipv4_overlap(x, y) && ipv4_overlap(y, x));
	assert_int_equal(ipv4_parse("192.168.101.7/24", &y), 0);
	assert_false(ipv4_overlap(x, y));
	assert_int_equal(ipv4_parse("0.0.0.0/0", &y), 0);
	assert_true(ipv4_overlap(x, y));
	assert_int_equal(ipv4_parse("169.254.3.4/16", &y), 0);
	assert_true(ipv4_local(y) && !ipv4_local(x));
	arena_free(&a);
}

static void test_pool(void **state)
{
	struct arena a = { 0 };
	struct ipv4_pool p = { .a = &a };
	struct ipv4 x;

	(void)state;
	ipv4_parse("192.168.100.0/23", &x);
	ipv4_take(&p, x);
	assert_true(ipv4_next(&p, &x));
	assert_string_equal(ipv4_text(&a, x), "192.168.102.0/24");
	ipv4_parse("192.168.0.0/16", &x);
	ipv4_take(&p, x);
	assert_true(ipv4_next(&p, &x));
	assert_string_equal(ipv4_text(&a, x), "10.100.0.0/24");
	p.base = (struct ipv4){ 0x0a4d0000U, 23 };
	assert_true(ipv4_next(&p, &x));
	assert_string_equal(ipv4_text(&a, x), "10.77.0.0/24");
	assert_true(ipv4_next(&p, &x));
	assert_false(ipv4_next(&p, &x));
	arena_free(&a);
}

/* --- wirings ---------------------------------------------------------------------------------- */

static void test_pair(void **state)
{
	struct rig g;

	(void)state;
	pair(&g);
	plan_as(&g, "auto");
	assert_int_equal(g.w.n_paths, 2);
	assert_int_equal(g.w.n_ports, 4);
	assert_string_equal(address_of(&g, 0, 0), "192.168.100.1/24");
	assert_string_equal(address_of(&g, 1, 0), "192.168.100.2/24");
	assert_string_equal(address_of(&g, 0, 2), "192.168.101.1/24");
	assert_string_equal(address_of(&g, 1, 2), "192.168.101.2/24");
	assert_int_equal(g.w.paths[0].mtu, 9000);
	assert_false(wiring_stopped(&g.w));
	assert_string_equal(g.w.hosts[0], "192.168.100.1\tspark-a-fabric\n"
					  "192.168.101.1\tspark-a-fabric2\n"
					  "192.168.100.2\tspark-b-fabric\n"
					  "192.168.101.2\tspark-b-fabric2\n");
	arena_free(&g.a);
}

/* What a plan made is what the next one keeps. */
static void test_twice(void **state)
{
	struct rig g;
	struct wiring first;

	(void)state;
	pair(&g);
	plan_as(&g, "pair");
	first = g.w;
	for (size_t i = 0; i < first.n_ports; i++)
		give(&g, first.ports[i].end.node, first.ports[i].end.port, first.ports[i].address);
	plan_as(&g, "pair");
	assert_int_equal(g.w.n_ports, first.n_ports);
	for (size_t i = 0; i < g.w.n_ports; i++) {
		assert_string_equal(g.w.ports[i].address, first.ports[i].address);
		assert_true(g.w.ports[i].there);
	}
	assert_false(wiring_stopped(&g.w));
	arena_free(&g.a);
}

/* Somebody's own good addresses stay, and a node that lacks one joins them. */
static void test_keeps_theirs(void **state)
{
	struct rig g;

	(void)state;
	make_rig(&g, 3);
	g.c.topology = CLUSTER_SWITCHED;
	wire(&g, CLUSTER_SWITCH, (const size_t[][2]){ { 0, 0 }, { 1, 0 }, { 2, 0 } }, 3);
	give(&g, 0, 0, "10.0.7.3/24");
	give(&g, 1, 0, "10.0.7.77/24");
	plan_as(&g, "switch");
	assert_string_equal(address_of(&g, 0, 0), "10.0.7.3/24");
	assert_string_equal(address_of(&g, 1, 0), "10.0.7.77/24");
	/* Its own number is taken. */
	assert_string_equal(address_of(&g, 2, 0), "10.0.7.4/24");
	assert_string_equal(address_of(&g, 0, 2), "192.168.100.1/24");
	assert_false(wiring_stopped(&g.w));
	arena_free(&g.a);
}

static void test_twins_in_one_subnet(void **state)
{
	struct rig g;

	(void)state;
	pair(&g);
	for (size_t node = 0; node < 2; node++) {
		give(&g, node, 0, node ? "192.168.100.2/24" : "192.168.100.1/24");
		give(&g, node, 2, node ? "192.168.100.4/24" : "192.168.100.3/24");
	}
	plan_as(&g, "auto");
	assert_false(ipv4_overlap(g.w.paths[0].network, g.w.paths[1].network));
	assert_string_equal(address_of(&g, 0, 0), "192.168.101.1/24");
	assert_true(has_trouble(&g, "address-in-the-way", true));
	arena_free(&g.a);
}

static void test_avoids(void **state)
{
	static const struct ipv4 used[] = { { 0xc0a80000U, 16 },
					    { 0x0a640000U, 24 },
					    { 0xa9fe0000U, 16 } };
	struct rig g;

	(void)state;
	pair(&g);
	g.before[1].networks = used;
	g.before[1].n_networks = 3;
	plan_as(&g, "auto");
	assert_string_equal(address_of(&g, 0, 0), "10.100.1.1/24");
	assert_string_equal(address_of(&g, 0, 2), "10.100.2.1/24");
	arena_free(&g.a);
}

/* N1P0-N2P1, N2P0-N3P1, N3P0-N1P1: the official ring. */
static void ring(struct rig *g)
{
	make_rig(g, 3);
	g->c.topology = CLUSTER_RING;
	for (size_t i = 0; i < 3; i++)
		wire(g, CLUSTER_CABLE, (const size_t[][2]){ { i, 0 }, { (i + 1) % 3, 1 } }, 2);
}

static void test_ring(void **state)
{
	struct rig g;

	(void)state;
	ring(&g);
	plan_as(&g, "ring");
	assert_int_equal(g.w.n_paths, 6);
	assert_int_equal(g.w.n_ports, 12);
	for (size_t i = 0; i < 6; i++)
		for (size_t k = i + 1; k < 6; k++)
			assert_false(ipv4_overlap(g.w.paths[i].network, g.w.paths[k].network));
	assert_string_equal(address_of(&g, 0, 0), "192.168.100.1/24");
	assert_string_equal(address_of(&g, 1, 1), "192.168.100.2/24");
	assert_string_equal(address_of(&g, 2, 0), "192.168.104.3/24");
	assert_string_equal(address_of(&g, 0, 1), "192.168.104.1/24");
	/* a knows c by the addresses of their cable, not by those that only b reaches. */
	assert_non_null(strstr(g.w.hosts[0], "192.168.104.3\tspark-c-fabric\n"));
	assert_null(strstr(g.w.hosts[0], "192.168.102.3"));
	assert_false(wiring_stopped(&g.w));
	plan_as(&g, "pair");
	assert_true(has_trouble(&g, "wrong-topology", true));
	arena_free(&g.a);
}

static void test_switch_of_four(void **state)
{
	struct rig g;

	(void)state;
	make_rig(&g, 4);
	g.c.topology = CLUSTER_SWITCHED;
	wire(&g, CLUSTER_SWITCH, (const size_t[][2]){ { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } }, 4);
	plan_as(&g, "switch");
	assert_int_equal(g.w.n_paths, 2);
	assert_int_equal(g.w.n_ports, 8);
	assert_string_equal(address_of(&g, 3, 2), "192.168.101.4/24");
	assert_false(wiring_stopped(&g.w));
	arena_free(&g.a);
}

static void test_ring_of_four(void **state)
{
	struct rig g;

	(void)state;
	make_rig(&g, 4);
	g.c.topology = CLUSTER_RING_FOUR;
	g.c.supported = false;
	g.c.topology_why = "two nodes have no cable between them";
	plan_as(&g, "auto");
	assert_true(wiring_stopped(&g.w));
	assert_string_equal(g.w.troubles[0].code, "unsupported");
	assert_non_null(
		strstr(g.w.troubles[0].text, "unsupported: two nodes have no cable between them"));
	arena_free(&g.a);
}

/* Ports for management get no addresses, unless a topology is asked for and there are no others. */
static void test_management(void **state)
{
	struct rig g;

	(void)state;
	pair(&g);
	wire(&g, CLUSTER_SWITCH, (const size_t[][2]){ { 0, 1 }, { 1, 1 } }, 2);
	for (size_t node = 0; node < 2; node++)
		for (size_t k = 1; k < PORTS; k += 2)
			((struct cluster_port *)g.nodes[node].ports.items)[k].rdma_device =
				(struct fact_str){ 0 };
	plan_as(&g, "auto");
	assert_int_equal(g.w.n_paths, 2);
	assert_string_equal(address_of(&g, 0, 1), "none");
	for (size_t node = 0; node < 2; node++)
		for (size_t k = 0; k < PORTS; k++)
			((struct cluster_port *)g.nodes[node].ports.items)[k].rdma_device =
				(struct fact_str){ 0 };
	g.c.supported = false;
	plan_as(&g, "auto");
	assert_int_equal(g.w.n_paths, 0);
	assert_true(has_trouble(&g, "unsupported", true));
	g.c.supported = true;
	plan_as(&g, "auto");
	assert_true(has_trouble(&g, "slow-links", true));
	plan_as(&g, "pair");
	assert_int_equal(g.w.n_paths, 4);
	assert_false(wiring_stopped(&g.w));
	assert_true(has_trouble(&g, "slow-links", false));
	arena_free(&g.a);
}

static void test_small_mtu(void **state)
{
	struct rig g;

	(void)state;
	pair(&g);
	((struct cluster_port *)g.nodes[1].ports.items)[2].nic.max_mtu = number(4000);
	plan_as(&g, "auto");
	assert_int_equal(g.w.paths[0].mtu, 9000);
	assert_int_equal(g.w.paths[1].mtu, 4000);
	assert_true(has_trouble(&g, "small-mtu", false));
	arena_free(&g.a);
}

static void test_infiniband(void **state)
{
	struct rig g;

	(void)state;
	pair(&g);
	((struct cluster_port *)g.nodes[1].ports.items)[1].rdma.link_layer = text("InfiniBand");
	plan_as(&g, "auto");
	assert_int_equal(g.w.n_switches, 1);
	assert_string_equal(g.w.switches[0].pci, "0000:01:00.1");
	assert_true(has_trouble(&g, "infiniband", false));
	arena_free(&g.a);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void test_unfit(void **state)
{
	static const struct wiring_key shared = { "id_ed25519_shared.pub", "abcd" },
				       copied = { "id_ed25519.pub", "abcd" };
	struct rig g;

	(void)state;
	pair(&g);
	g.before[0].keys = &shared;
	g.before[1].keys = &copied;
	g.before[0].n_keys = g.before[1].n_keys = 1;
	g.before[1].user = "ada";
	g.before[1].euid = 1000;
	g.before[1].version = "0.0.1";
	g.before[1].skew_ms = -5000;
	g.before[1].skew_by_ms = 20;
	plan_as(&g, "auto");
	assert_true(has_trouble(&g, "shared-key", false));
	assert_true(has_trouble(&g, "other-user", false));
	assert_true(has_trouble(&g, "not-root", true));
	assert_true(has_trouble(&g, "version", true));
	assert_true(has_trouble(&g, "clock-skew", false));
	g.before[1] = (struct wiring_node){ .failure = "the node does not answer" };
	plan_as(&g, "auto");
	assert_true(has_trouble(&g, "no-answer", true));
	arena_free(&g.a);
}

static void test_labels_and_keys(void **state)
{
	static const char *const keys[] = { "ssh-ed25519 AAAAC3Nz+/==", "ssh-ed25519 AAAA BBBB",
					    "ssh-dss AAAA", "ssh-ed25519 AA\nAA", "ssh-rsa " };
	struct rig g;

	(void)state;
	pair(&g);
	g.before[1].host_keys = keys;
	g.before[1].n_host_keys = sizeof(keys) / sizeof(keys[0]);
	/* What is no name, or not theirs alone, is not used. */
	g.nodes[0].hostname = text("bad name\n6.6.6.6 evil");
	plan_as(&g, "auto");
	assert_string_equal(g.w.labels[0], "a");
	assert_string_equal(g.w.known_hosts[0],
			    "spark-b,b,192.168.100.2,spark-b-fabric,192.168.101.2,spark-b-fabric2 "
			    "ssh-ed25519 AAAAC3Nz+/==\n");
	assert_string_equal(g.w.known_hosts[1], "");
	g.nodes[0].hostname = g.nodes[1].hostname = text("localhost");
	plan_as(&g, "auto");
	assert_string_equal(g.w.labels[0], "a");
	assert_string_equal(g.w.labels[1], "b");
	arena_free(&g.a);
}

/* --- texts ------------------------------------------------------------------------------------ */

static const struct wire_port port = { .name = "enp1s0f0np0",
				       .address = "192.168.100.1/24",
				       .mtu = 9000 };

static void test_netplan(void **state)
{
	struct wire_port ports[] = { port,
				     { .name = "enP2p1s0f0np0",
				       .address = "192.168.101.1/24",
				       .mtu = 1500,
				       .id = "odd \"id\"",
				       .set_name = true } };
	struct arena a = { 0 };
	const char *why = "", *t = netplan_text(&a, ports, 2, &why);

	(void)state;
	assert_non_null(strstr(t, "network:\n  version: 2\n  ethernets:\n"
				  "    \"enp1s0f0np0\":\n      dhcp4: false\n"));
	assert_non_null(strstr(t, "      link-local: []\n"));
	assert_non_null(strstr(t, "      mtu: 9000\n      addresses: [\"192.168.100.1/24\"]\n"));
	assert_non_null(strstr(t, "    \"odd \\\"id\\\"\":\n"));
	assert_non_null(strstr(t, "      set-name: \"enP2p1s0f0np0\"\n"));
	ports[0].id = "b\xc3\xa4";
	assert_null(netplan_text(&a, ports, 1, &why));
	assert_true(*why);
	arena_free(&a);
}

static void test_keyfiles(void **state)
{
	struct wire_port star = port;
	struct arena a = { 0 };
	const char *why = "", *t = nm_text(&a, &port, &why);
	char one[NM_UUID_SIZE], other[NM_UUID_SIZE];

	(void)state;
	assert_non_null(strstr(t, "interface-name=enp1s0f0np0\n"));
	assert_non_null(strstr(t, "[ethernet]\nmtu=9000\n"));
	assert_non_null(strstr(t, "[ipv4]\nmethod=manual\naddress1=192.168.100.1/24\n"));
	assert_non_null(strstr(t, "[ipv6]\nmethod=disabled\n"));
	nm_uuid("enp1s0f0np0", one);
	nm_uuid("enp1s0f1np1", other);
	assert_int_equal(strlen(one), 36);
	assert_int_equal(one[14], '8');
	assert_string_not_equal(one, other);
	assert_non_null(strstr(t, one));
	t = networkd_text(&a, &port, &why);
	assert_non_null(strstr(t, "[Match]\nName=enp1s0f0np0\n"));
	assert_non_null(strstr(t, "[Link]\nMTUBytes=9000\n"));
	assert_non_null(strstr(t, "LinkLocalAddressing=no\nIPv6AcceptRA=no\n"
				  "Address=192.168.100.1/24\n"));
	star.name = "en*";
	assert_null(nm_text(&a, &star, &why));
	assert_null(networkd_text(&a, &star, &why));
	arena_free(&a);
}

static void test_timer(void **state)
{
	struct arena a = { 0 };
	char *const *argv = rollback_timer_timer(&a, "gputune-rollback-7", "/usr/bin/gputune", 60);
	size_t n = 0;

	(void)state;
	assert_string_equal(argv[0], "systemd-run");
	while (argv[n])
		n++;
	assert_string_equal(argv[n - 3], "/usr/bin/gputune");
	assert_string_equal(argv[n - 2], "cluster");
	assert_string_equal(argv[n - 1], "rollback");
	assert_string_equal(argv[3], "--unit=gputune-rollback-7");
	assert_string_equal(argv[5], "--on-active=60s");
	arena_free(&a);
}

static void test_rdma_users(void **state)
{
	static const char json[] =
		"[{\"ifname\":\"rocep1s0f0\",\"type\":\"GSI\",\"comm\":\"ib_core\"},"
		"{\"ifname\":\"rocep1s0f0\",\"type\":\"RC\",\"pid\":77,\"comm\":\"vllm\"},"
		"{\"ifname\":\"rocep1s0f0\",\"type\":\"RC\",\"pid\":77,\"comm\":\"vllm\"},"
		"{\"ifname\":\"rocep1s0f1\",\"type\":\"RC\",\"pid\":78,\"comm\":\"other\"},"
		"{\"ifname\":\"rocep1s0f0\",\"type\":\"RC\",\"comm\":\"nvme_rdma\"}]";
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(setup_rdma_users(&a, json, "rocep1s0f0"),
			    "vllm (process 77), nvme_rdma (the kernel)");
	assert_string_equal(setup_rdma_users(&a, json, "rocep1s0f9"), "");
	assert_string_equal(setup_rdma_users(&a, "[]", "rocep1s0f0"), "");
	assert_null(setup_rdma_users(&a, "{}", "x"));
	assert_null(setup_rdma_users(&a, "no json", "x"));
	arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_keeps_theirs),
		cmocka_unit_test(test_twins_in_one_subnet),
		cmocka_unit_test(test_avoids),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_switch_of_four),
		cmocka_unit_test(test_ring_of_four),
		cmocka_unit_test(test_management),
		cmocka_unit_test(test_small_mtu),
		cmocka_unit_test(test_infiniband),
		cmocka_unit_test(test_unfit),
		cmocka_unit_test(test_labels_and_keys),
		cmocka_unit_test(test_netplan),
		cmocka_unit_test(test_keyfiles),
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_rdma_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
