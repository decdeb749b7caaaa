/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters without machines: announcements there and back, cut at every length and spoiled at every
 * byte; command lines; firewall listings; and nodes as text from which cages, wires, topology and
 * findings follow, above all what namespaces cannot show: twins that hear both twins, switches that
 * forward what they should not, neighbours known by an echo alone.
 */
#include "fake.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "many/cluster/neighbor.h"
#include "many/cluster/links.h"
#include "many/cluster/inventory.h"
#include "many/cluster/rsh.h"

/* --- announcements ---------------------------------------------------------------------------- */

static const struct hello full = {
	.token = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.node = 513,
	.name = "spark-1",
	.port = "enP2p1s0f0np0",
	.pci = "0002:01:00.0",
	.port_name = "p0",
	.switch_id = "0011223344556677",
	.mtu = 9000,
	.speed_mbps = 200000,
};

static void announcements_come_back(void **state)
{
	struct hello less = { .port = "eth0" }, got;
	uint8_t bytes[HELLO_MAX], padded[HELLO_MAX] = { 0 };
	size_t n = hello_write(&full, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0 && hello_read(bytes, n, &got));
	assert_memory_equal(&got, &full, sizeof(full));
	/* Short frames are filled up with zeroes on their way. */
	memcpy(padded, bytes, n);
	assert_true(hello_read(padded, sizeof(padded), &got));
	assert_memory_equal(&got, &full, sizeof(full));
	n = hello_write(&less, bytes, sizeof(bytes));
	assert_true(hello_read(bytes, n, &got));
	assert_memory_equal(&got, &less, sizeof(less));
	for (size_t cap = 0; cap < n; cap++)
		assert_int_equal(hello_write(&less, bytes, cap), 0);
}

static bool printable(const char *s, size_t cap)
{
	size_t n = strnlen(s, cap);

	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] >= 0x7f)
			return false;
	return n < cap;
}

static void holds(const uint8_t *bytes, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);
	struct hello h;
	struct lldp l;

	/* A copy of its own length, so that a byte too many is seen by the sanitizer. */
	memcpy(exact, bytes, n);
	if (hello_read(exact, n, &h))
		assert_true(printable(h.name, sizeof(h.name)) &&
			    printable(h.port, sizeof(h.port)) && h.port[0] &&
			    printable(h.pci, sizeof(h.pci)) &&
			    printable(h.port_name, sizeof(h.port_name)) &&
			    printable(h.switch_id, sizeof(h.switch_id)) && h.node <= 65535);
	if (lldp_read(exact, n, &l))
		assert_true(printable(l.chassis, sizeof(l.chassis)) && l.chassis[0] &&
			    printable(l.port, sizeof(l.port)) && l.port[0] &&
			    printable(l.system, sizeof(l.system)));
	free(exact);
}

static const uint8_t lldp_frame[] = {
	0x02, 0x07, 0x04, 0x02, 0x00, 0x5e, 0x10, 0x00, 0x01, /* chassis, a MAC */
	0x04, 0x06, 0x05, 's',	'w',  'p',  '1',  '7',	      /* port, a name */
	0x06, 0x02, 0x00, 0x78,				      /* time to live */
	0x0a, 0x06, 'r',  'a',	'c',  'k',  '-',  '1',	      /* system name */
	0x00, 0x00,
};

static void any_bytes(const uint8_t *frame, size_t n)
{
	uint8_t bytes[HELLO_MAX];

	for (size_t cut = 0; cut <= n; cut++)
		holds(frame, cut);
	for (size_t i = 0; i < n; i++)
		for (unsigned v = 0; v < 256; v++) {
			memcpy(bytes, frame, n);
			bytes[i] = (uint8_t)v;
			holds(bytes, n);
			holds(bytes, i + 1);
		}
}

static void spoiled_announcements_are_harmless(void **state)
{
	uint8_t bytes[HELLO_MAX];
	size_t n = hello_write(&full, bytes, sizeof(bytes));
	struct hello h;

	(void)state;
	any_bytes(bytes, n);
	any_bytes(lldp_frame, sizeof(lldp_frame));
	bytes[4] = 2;
	assert_false(hello_read(bytes, n, &h));
	bytes[4] = 1;
	bytes[0] = 'G';
	assert_false(hello_read(bytes, n, &h));
}

static void lldp_names_its_sender(void **state)
{
	struct lldp l;

	(void)state;
	assert_true(lldp_read(lldp_frame, sizeof(lldp_frame), &l));
	assert_string_equal(l.chassis, "02:00:5e:10:00:01");
	assert_string_equal(l.port, "swp17");
	assert_string_equal(l.system, "rack-1");
	/* Without a port it is none. */
	assert_false(lldp_read(lldp_frame, 9, &l));
}

/* --- addresses, firewall, command lines ------------------------------------------------------- */

static bool same(const char *x, const char *y)
{
	struct cluster_prefix a, b;

	assert_int_equal(cluster_prefix_parse(x, &a), 0);
	assert_int_equal(cluster_prefix_parse(y, &b), 0);
	return cluster_prefix_same(&a, &b);
}

static void prefixes(void **state)
{
	static const char *const bad[] = { "",		 "1.2.3/24",	"1.2.3.4/33", "1.2.3.4/",
					   "1.2.3.4/-1", "1.2.3.4/ 24", "fe80::/129", "::1/x",
					   "1.2.3.4.5",	 "a/24" };
	struct cluster_prefix p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cluster_prefix_parse(bad[i], &p), -EINVAL);
	assert_true(same("192.168.100.1/24", "192.168.100.2/24"));
	assert_false(same("192.168.100.1/24", "192.168.101.2/24"));
	assert_false(same("192.168.100.1/24", "192.168.100.2/25"));
	assert_true(same("10.0.0.1/30", "10.0.0.2/30"));
	assert_false(same("10.0.0.1/30", "10.0.0.5/30"));
	assert_true(same("1.2.3.4/0", "5.6.7.8/0"));
	assert_true(same("fd00::1/64", "fd00::2/64"));
	assert_false(same("fd00::1/64", "10.0.0.1/24"));
	assert_int_equal(cluster_prefix_parse("fe80::1/64", &p), 0);
	assert_true(cluster_prefix_link_local(&p));
	assert_int_equal(cluster_prefix_parse("169.254.1.1/16", &p), 0);
	assert_true(cluster_prefix_link_local(&p));
	assert_int_equal(cluster_prefix_parse("169.253.1.1/16", &p), 0);
	assert_false(cluster_prefix_link_local(&p));
}

static void firewalls(void **state)
{
	static const char drops[] =
		"{\"nftables\": [{\"metainfo\": {}}, {\"chain\": {\"family\": \"ip\", \"table\": "
		"\"filter\", \"name\": \"INPUT\", \"hook\": \"input\", \"policy\": \"drop\"}}, "
		"{\"chain\": {\"family\": \"ip\", \"table\": \"filter\", \"name\": \"FORWARD\", "
		"\"hook\": \"forward\", \"policy\": \"drop\"}}]}";
	static const char input_only[] =
		"{\"nftables\": [{\"chain\": {\"family\": \"ip\", \"table\": \"filter\", \"name\": "
		"\"INPUT\", \"hook\": \"input\", \"policy\": \"drop\"}}, {\"chain\": {\"family\": "
		"\"ip6\", \"table\": \"f\", \"name\": \"F\", \"hook\": \"forward\", \"policy\": "
		"\"drop\"}}, {\"chain\": 5}, 7]}";
	struct arena a = { 0 };
	const char *by;

	(void)state;
	assert_string_equal(local_forward_policy(&a, drops, NULL, &by), "drop");
	assert_string_equal(by, "nft: ip filter FORWARD");
	assert_string_equal(local_forward_policy(&a, input_only, NULL, &by), "accept");
	assert_string_equal(local_forward_policy(&a, input_only, "-P FORWARD DROP\n", &by), "drop");
	assert_string_equal(by, "iptables: filter FORWARD");
	assert_string_equal(local_forward_policy(&a, NULL, "-P FORWARD ACCEPT\n", &by), "accept");
	assert_null(local_forward_policy(&a, NULL, NULL, &by));
	assert_null(local_forward_policy(&a, "no json", NULL, &by));
	arena_free(&a);
}

static const char *line(struct arena *a, const struct rsh_target *t, const struct rsh_how *how)
{
	struct err e = { 0 };
	char **argv = rsh_words(a, t, how, &e);
	TEXT_AUTO out = { 0 };

	if (!argv)
		return NULL;
	for (size_t i = 0; argv[i]; i++)
		text_printf(&out, "%s%s", i ? "|" : "", argv[i]);
	return arena_strdup(a, out.s);
}

static void command_lines(void **state)
{
	struct rsh_target t = { .name = "spark-1", .address = "me@10.0.0.1" },
			  here = { .name = "me", .address = "localhost" };
	struct arena a = { 0 };
	const char *s;

	(void)state;
	s = line(&a, &t, &(struct rsh_how){ 0 });
	assert_true(str_starts(s, "ssh|-T|-o|BatchMode=yes|-o|StrictHostKeyChecking=yes|"));
	assert_true(str_ends(s, "|--|me@10.0.0.1|gputune|cluster|node"));
	assert_non_null(line(&a, &t, &(struct rsh_how){ .known_hosts = "/k", .identity = "/i" }));
	assert_null(line(&a, &t, &(struct rsh_how){ .known_hosts = "/k k" }));
	assert_null(line(&a, &t, &(struct rsh_how){ .identity = "-oProxyCommand=x" }));
	assert_string_equal(line(&a, &t,
				 &(struct rsh_how){ .rsh = "ip netns  exec {node}",
						    .program = "/x/{name} cluster node" }),
			    "ip|netns|exec|me@10.0.0.1|/x/spark-1|cluster|node");
	assert_string_equal(line(&a, &here, &(struct rsh_how){ .self = "/bin/gputune" }),
			    "/bin/gputune|cluster|node");
	for (const char *const *bad = (const char *const[]){ "a;b", "$(x)", "a'b", "`x`", "a|b",
							     "a>b", "~", "a\\b", "", NULL };
	     *bad; bad++)
		assert_null(line(&a, &t, &(struct rsh_how){ .program = *bad }));
	t.address = "-oProxyCommand=x";
	assert_null(line(&a, &t, &(struct rsh_how){ 0 }));
	arena_free(&a);
}

/* --- nodes as text ---------------------------------------------------------------------------- */

/* 'KEY' for "KEY"; a node a text, the last NULL. */
static struct cluster nodes_of(struct arena *a, const char *const *texts)
{
	struct cluster c = { 0 };

	while (texts[c.n_nodes])
		c.n_nodes++;
	c.nodes = arena_array(a, c.n_nodes, sizeof(*c.nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		char *copy = arena_strdup(a, texts[i]);
		struct err e = { 0 };
		json_t *plain, *facts;

		for (char *p = copy; *p; p++)
			if (*p == '\'')
				*p = '"';
		plain = json_loads(copy, 0, NULL);
		assert_non_null(plain);
		json_object_set(plain, "address", json_object_get(plain, "name"));
		facts = fake_object(&cluster_node_shape, plain);
		if (cluster_node_read(a, facts, &c.nodes[i], &e))
			fail_msg("%s: %s", texts[i], e.text);
		json_decref(plain);
		json_decref(facts);
	}
	cluster_link(a, &c);
	return c;
}

static bool found(const struct cluster *c, const char *code, const char *word)
{
	for (size_t i = 0; i < c->n_findings; i++)
		if (strcmp(c->findings[i].code, code) == 0 &&
		    (strstr(c->findings[i].text, word) || strstr(c->findings[i].evidence, word)))
			return true;
	return false;
}

#define TWINS                                                                                      \
	"'ports': [{'name': 'a', 'pci': '0000:01:00.0', 'port_name': 'p0', 'switch_id': 's', "     \
	"'driver': 'mlx5_core', 'rdma_device': 'r0', 'carrier': 1, 'operstate': 'up', "            \
	"'speed_mbps': 200000, 'mtu_bytes': 9000}, "                                               \
	"{'name': 'b', 'pci': '0002:01:00.0', 'port_name': 'p0', 'switch_id': 's', 'driver': "     \
	"'mlx5_core', 'rdma_device': 'r1', 'carrier': 1, 'operstate': 'up', 'speed_mbps': "        \
	"200000, 'mtu_bytes': 9000}], "
#define HEAR(port, way, node, theirs)                                                              \
	"{'name': '" port "', 'way': '" way "', 'node': '" node "', 'port': '" theirs "'}"

/* On the wire of a real adapter both twins get what either twin of the other end sends. */
static void twins_hear_both_twins(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(
		&a,
		(const char *const[]){
			"{'name': 'x', 'platform': 'dgx-spark', " TWINS
			"'heard': [" HEAR("a", "link", "y", "a") "," HEAR(
				"a", "link", "y",
				"b") "," HEAR("b", "link", "y",
					      "a") "," HEAR("b", "link", "y",
							    "b") "," HEAR("a", "link", "x",
									  "b") "," HEAR("b",
											"broadcast",
											"x",
											"a") "]}",
			"{'name': 'y', 'platform': 'dgx-spark', " TWINS
			"'heard': [" HEAR("a", "link", "x", "a") "," HEAR(
				"a", "link", "x", "b") "," HEAR("b", "link", "x",
								"a") "," HEAR("b", "link", "x",
									      "b") "]}",
			NULL });

	(void)state;
	assert_int_equal(c.n_cages, 2);
	assert_int_equal(c.cages[0].n_ports, 2);
	assert_string_equal(c.cages[0].twins_by, "equal phys_switch_id and phys_port_name");
	assert_int_equal(c.n_links, 4);
	assert_int_equal(c.n_wires, 1);
	assert_int_equal(c.wires[0].way, CLUSTER_CABLE);
	assert_int_equal(c.wires[0].n_paths, 2);
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(c.wires[0].paths[k].n_ends, 2);
		assert_int_equal(c.wires[0].paths[k].ends[0].port, k);
		assert_int_equal(c.wires[0].paths[k].ends[1].port, k);
	}
	assert_int_equal(c.topology, CLUSTER_PAIR);
	assert_true(c.supported);
	arena_free(&a);
}

#define ONE(port)                                                                                  \
	"'ports': [{'name': '" port "', 'pci': '0000:01:00.0', 'rdma_device': 'r', 'carrier': 1, " \
	"'operstate': 'up', 'listened': 'frames', 'addresses': [{'address': 'fe80::" port          \
	"/64'}]}], "

/* Three ends of one "cable": a switch that forwards what it should keep to itself. */
static void cheap_switches_are_switches(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(
		&a, (const char *const[]){
			    "{'name': 'x', " ONE("a") "'heard': [" HEAR(
				    "a", "link", "y", "b") "," HEAR("a", "link", "z", "c") "]}",
			    "{'name': 'y', " ONE("b") "'heard': [" HEAR("b", "link", "x", "a") "]}",
			    "{'name': 'z', " ONE("c") "'heard': []}", NULL });

	(void)state;
	assert_int_equal(c.n_wires, 1);
	assert_int_equal(c.wires[0].way, CLUSTER_SWITCH);
	assert_int_equal(c.topology, CLUSTER_SWITCHED);
	cluster_judge(&a, &c, NULL);
	assert_true(found(&c, "one-way", "z c receives no announcements from x a"));
	arena_free(&a);
}

#define END(node, port, other, theirs)                                                             \
	"{'name': '" node "', 'ports': [{'name': '" port "', 'pci': '0000:01:00.0', "              \
	"'rdma_device': 'r', 'carrier': 1, 'operstate': 'up', 'mtu_bytes': 4200}], 'heard': "      \
	"[" HEAR(port, "link", other, theirs) "]}"

/* RoCE takes 96 bytes off and the next power of two below: what 9000 adds at 4200 is TCP's. */
static void small_frames_say_what_they_cost(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(&a, (const char *const[]){ END("x", "a", "y", "b"),
							       END("y", "b", "x", "a"), NULL });

	(void)state;
	cluster_judge(&a, &c, NULL);
	assert_true(found(&c, "mtu-small", "4200 bytes"));
	assert_true(found(&c, "mtu-small", "with 4192 or more"));
	arena_free(&a);
}

/* How many answered is not how many there are. */
static void nobody_is_no_node(void **state)
{
	static const char alone[] = "{'name': 'x', 'ports': [], 'heard': []}";
	struct arena a = { 0 };
	struct cluster c = nodes_of(&a, (const char *const[]){ alone, NULL });

	(void)state;
	assert_string_equal(c.topology_why, "There is one node.");
	c.nodes[0].failure = "no answer";
	cluster_make_topology(&a, &c);
	assert_string_equal(c.topology_why, "No node answered.");
	c = nodes_of(&a, (const char *const[]){ alone, "{'name': 'y', 'ports': [], 'heard': []}",
						NULL });
	c.nodes[1].failure = "no answer";
	cluster_make_topology(&a, &c);
	assert_string_equal(c.topology_why, "Only one node answered.");
	arena_free(&a);
}

#define RAIL(name, pci, net)                                                                       \
	"{'name': '" name "', 'pci': '" pci "', 'rdma_device': 'r', 'carrier': 1, 'operstate': "   \
	"'up', 'addresses': [{'address': '" net "'}]}"

/* Several adapters a node on one switch: the first of each make a path, the second another; and
 * nobody is asked to reach the first of another node by its own second. */
static void rails_are_paths(void **state)
{
	struct arena a = { 0 };
	/* A line for each part of a node. */
	/* clang-format off */
	static const char *const nodes[] = {
		"{'name': 'x', 'ports': ["
		RAIL("b", "0000:29:00.0", "10.0.1.1/24") ","
		RAIL("a", "0000:18:00.0", "10.0.0.1/24") "], 'heard': ["
		HEAR("a", "broadcast", "y", "d") ","
		HEAR("b", "broadcast", "y", "c") ","
		HEAR("a", "broadcast", "x", "b") "], "
		"'routes': [{'to': '10.0.0.2', 'port': 'a'}, {'to': '10.0.1.2', 'port': 'b'}]}",
		"{'name': 'y', 'ports': ["
		RAIL("c", "0000:18:00.0", "10.0.0.2/24") ","
		RAIL("d", "0000:29:00.0", "10.0.1.2/24") "], 'heard': []}",
		NULL };
	/* clang-format on */
	struct cluster c = nodes_of(&a, nodes);

	(void)state;
	assert_int_equal(c.n_wires, 1);
	assert_int_equal(c.wires[0].n_cages, 4);
	assert_int_equal(c.wires[0].n_paths, 2);
	for (size_t k = 0; k < 2; k++) {
		const struct cluster_path *p = &c.wires[0].paths[k];

		assert_int_equal(p->n_ends, 2);
		assert_string_equal(cluster_end_port(&c, p->ends[0])->pci,
				    cluster_end_port(&c, p->ends[1])->pci);
	}
	assert_int_equal(c.topology, CLUSTER_SWITCHED);
	cluster_judge(&a, &c, NULL);
	assert_false(found(&c, "wrong-egress", ""));
	assert_false(found(&c, "address-mismatch", ""));
	arena_free(&a);
}

static void echoes_are_known_by_their_address(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(
		&a,
		(const char *const[]){ "{'name': 'x', " ONE("a") "'heard': [{'name': 'a', 'way': "
								 "'echo', 'address': 'fe80::b'}]}",
				       "{'name': 'y', " ONE("b") "'heard': []}", NULL });

	(void)state;
	assert_int_equal(c.n_links, 1);
	assert_int_equal(c.links[0].way, CLUSTER_UNSURE);
	assert_int_equal(c.topology, CLUSTER_PAIR);
	arena_free(&a);
}

/* Of an announcement only the names count, and only of nodes and ports that there are. */
static void strangers_make_no_link(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(
		&a,
		(const char *const[]){
			"{'name': 'x', " ONE("a") "'heard': [" HEAR("a", "link", "q", "b") "," HEAR(
				"a", "link", "y", "q") "," HEAR("a", "lldp", "y", "b") "]}",
			"{'name': 'y', " ONE("b") "'heard': []}", NULL });

	(void)state;
	assert_int_equal(c.n_links, 0);
	assert_int_equal(c.topology, CLUSTER_NOTHING);
	assert_string_equal(c.cages[0].neighbour, "y");
	arena_free(&a);
}

static void json_there_and_back(void **state)
{
	struct arena a = { 0 };
	struct cluster
		c = nodes_of(
			&a,
			(const char *const[]){
				"{'name': 'x', 'nccl': '2.28.9', 'nccl_conf': 'none', "
				"'ip_forward': 1, " TWINS "'heard': [" HEAR(
					"a", "link", "y",
					"b") "], 'routes': [{'to': '10.0.0.1', 'port': 'a'}]}",
				"{'name': 'y', 'nccl': '2.31.2', 'nccl_conf': 'NCCL_PROTO=LL', "
				"'driver': '!denied', " ONE("b") "'heard': []}",
				NULL }),
		again;
	struct err e = { 0 };
	json_t *j, *k;

	(void)state;
	cluster_judge(&a, &c, NULL);
	assert_true(found(&c, "version-skew", "x 2.28.9, y 2.31.2"));
	assert_true(found(&c, "version-skew", "x none, y NCCL_PROTO=LL"));
	j = result_shape_json(&cluster_discover_result, &c, 0, 1);
	assert_non_null(j);
	assert_int_equal(cluster_read(&a, j, &again, &e), 0);
	cluster_judge(&a, &again, NULL);
	k = result_shape_json(&cluster_discover_result, &again, 0, 1);
	assert_true(json_equal(j, k));
	json_decref(j);
	json_decref(k);
	arena_free(&a);
}

/* Counts end up as numbers of processes and in names of ports. */
static void counts_have_a_range(void **state)
{
	static const struct {
		const char *gpus, *memory, *number;
		int r;
	} told[] = {
		{ "0", "0", "1", 0 },	     { "256", "1099511627776", "255", 0 },
		{ "-1", "0", "1", -EINVAL }, { "257", "0", "1", -EINVAL },
		{ "1", "-1", "1", -EINVAL }, { "1", "9223372036854775807", "1", -EINVAL },
		{ "1", "0", "0", -EINVAL },  { "1", "0", "4294967297", -EINVAL },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *text =
			arena_printf(&a,
				     "{\"name\":\"n\",\"address\":\"n\",\"failure\":\"\",\"gpus\":{"
				     "\"value\":%s},\"memory_bytes\":{\"value\":%s},\"ports\":[{"
				     "\"name\":\"p\",\"pci\":\"\",\"addresses\":[],\"gids\":[],"
				     "\"rdma_port\":{\"value\":%s}}],\"heard\":[],\"routes\":[]}",
				     told[i].gpus, told[i].memory, told[i].number);
		json_t *j = json_loads(text, 0, NULL);
		struct cluster_node n;
		struct err e = { 0 };

		assert_non_null(j);
		assert_int_equal(cluster_node_read(&a, j, &n, &e), told[i].r);
		assert_int_equal(*e.text != '\0', told[i].r != 0);
		json_decref(j);
	}
	arena_free(&a);
}

static void what_nodes_say_is_harmless(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(cluster_clean_text(&a, "no \033[2Jroute\n", 100), "no ?[2Jroute?");
	assert_string_equal(cluster_clean_text(&a, "", 100), "");
	/* Whole characters: two bytes each. */
	assert_string_equal(cluster_clean_text(&a, "\xc3\xa4\xc3\xa4", 3), "\xc3\xa4");
	assert_string_equal(cluster_clean_text(&a, "a\xc3", 100), "a?");
	/* What turns the direction of writing. */
	assert_string_equal(cluster_clean_text(&a, "a\xe2\x80\xae", 100), "a?");
	arena_free(&a);
}

/* What a node tells of its kernel and driver is held against known defects. */
static void defects_of_nodes(void **state)
{
	struct arena a = { 0 };
	struct cluster c = nodes_of(
		&a, (const char *const[]){
			    "{'name': 'x', 'platform': 'dgx-spark', 'kernel': "
			    "'6.17.0-1014-nvidia', 'driver': '580.159.03', " TWINS "'heard': []}",
			    "{'name': 'y', 'platform': 'dgx-spark', 'kernel': "
			    "'6.17.0-1008-nvidia', 'driver': '580.159.03', " TWINS "'heard': []}",
			    NULL });
	size_t n = 0;

	(void)state;
	cluster_judge(&a, &c, NULL);
	for (size_t i = 0; i < c.n_findings; i++)
		n += strcmp(c.findings[i].code, "known-defect") == 0;
	assert_int_equal(n, 1);
	assert_true(found(&c, "known-defect", "kernel-6.17-1008-doe"));
	assert_true(found(&c, "known-defect", "y: "));
	arena_free(&a);
}

static void codes_are_all_told(void **state)
{
	(void)state;
	for (size_t i = 0; cluster_codes[i].code; i++) {
		assert_non_null(cluster_codes[i].fix);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(cluster_codes[i].code, cluster_codes[k].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announcements_come_back),
		cmocka_unit_test(spoiled_announcements_are_harmless),
		cmocka_unit_test(lldp_names_its_sender),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(firewalls),
		cmocka_unit_test(command_lines),
		cmocka_unit_test(twins_hear_both_twins),
		cmocka_unit_test(cheap_switches_are_switches),
		cmocka_unit_test(small_frames_say_what_they_cost),
		cmocka_unit_test(nobody_is_no_node),
		cmocka_unit_test(rails_are_paths),
		cmocka_unit_test(echoes_are_known_by_their_address),
		cmocka_unit_test(strangers_make_no_link),
		cmocka_unit_test(json_there_and_back),
		cmocka_unit_test(counts_have_a_range),
		cmocka_unit_test(what_nodes_say_is_harmless),
		cmocka_unit_test(defects_of_nodes),
		cmocka_unit_test(codes_are_all_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
