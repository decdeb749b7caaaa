/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPUs serve an adapter's interrupts: what a probe makes of the kernel's files, what the rule
 * says of it, and the knob that moves one, also after the driver gave it another number. Rules of
 * RoCE, the knob of PFC, and what mlxconfig prints. */
#include "box_world.h"
#include "fake.h"

#include "machine/host/ask.h"
#include "machine/knob/io.h"
#include "machine/write/write.h"

#define AT "/sys/devices/pci0000:80/0000:81:00.0"
#define CPUS "/sys/devices/system/cpu/"
#define NODES "/sys/devices/system/node/"

/* hwirq as before Linux 6.2: the MSI number in the low 11 bits. */
static void irq(struct world *w, int number, long long hwirq, const char *may, const char *does)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), AT "/msi_irqs/%d", number);
	root(w, path, "msix\n");
	snprintf(path, sizeof(path), "/sys/kernel/irq/%d/hwirq", number);
	snprintf(text, sizeof(text), "%lld\n", hwirq);
	root(w, path, text);
	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", number);
	root(w, path, may);
	snprintf(path, sizeof(path), "/proc/irq/%d/effective_affinity_list", number);
	if (does)
		root(w, path, does);
}

/* Two sockets of two nodes each; the adapter hangs from node 2. */
static void machine(struct world *w)
{
	static const char *const distances[] = { "10 12 32 32\n", "12 10 32 32\n", "32 32 10 12\n",
						 "32 32 12 10\n" };
	static const char *const lists[] = { "0-3\n", "4-7\n", "8-11\n", "12-15\n" };
	char path[128];

	root(w, CPUS "online", "0-15\n");
	root(w, CPUS "present", "0-15\n");
	root(w, CPUS "isolated", "\n");
	root(w, NODES "online", "0-3\n");
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), NODES "node%d/cpulist", i);
		root(w, path, lists[i]);
		snprintf(path, sizeof(path), NODES "node%d/distance", i);
		root(w, path, distances[i]);
	}
	root_link(w, "/sys/bus/pci/devices/0000:81:00.0",
		  "../../../devices/pci0000:80/0000:81:00.0");
	root(w, AT "/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\n");
	root(w, AT "/numa_node", "2\n");
	root_link(w, "/sys/class/net/eth0", "../../devices/pci0000:80/0000:81:00.0/net/eth0");
	root_link(w, AT "/net/eth0/device", "../..");
	root(w, AT "/net/eth0/type", "1\n");
}

static void look(struct world *w)
{
	world_open(w);
	probe_cpu(&w->probe);
	probe_pci(&w->probe);
	probe_nic(&w->probe);
}

static void test_probe(void **state)
{
	struct world *w = *state;
	const struct nic *n;

	machine(w);
	irq(w, 40, 0x4088000, "0-15\n", "9\n");
	irq(w, 41, 0x4088001, "8\n", "8\n");
	irq(w, 42, 0x4088002, "12-15\n", "13\n"); /* the other half of its socket */
	irq(w, 43, 0x4088003, "3\n", "3\n");
	irq(w, 44, 0x4088004, "0-15\n", "\n"); /* in no use */
	irq(w, 45, 0x4088005, "0-7\n", NULL);  /* an older kernel */
	irq(w, 46, 0x4088006, "9\n", "3\n");   /* moves when it comes again */
	look(w);
	n = machine_nic(&w->machine, "eth0");
	assert_non_null(n);
	assert_int_equal(n->irqs.v, 6);
	assert_string_equal(idset_format(&w->arena, &n->irq_cpus.v), "0-9,13");
	assert_string_equal(n->irqs_away.v, "3:3 5:0-7");
}

/* One whose number cannot be read is named by none. */
static void test_probe_unread(void **state)
{
	struct world *w = *state;
	const struct nic *n;

	machine(w);
	irq(w, 40, 0x4088000, "0\n", "0\n");
	root(w, "/sys/kernel/irq/40/hwirq", "");
	box_file(&w->box, "c/answers.tsv", "/sys/kernel/irq/40/hwirq\tEACCES\n");
	look(w);
	n = machine_nic(&w->machine, "eth0");
	assert_int_equal(n->irqs.f.seen, SEEN_DENIED);
	assert_int_equal(n->irqs_away.f.seen, SEEN_DENIED);
}

#define NODES_AND(more, nic)                                                                       \
	"{'cpu': {'online': '0-15', 'isolated': '" more                                            \
	"', 'nodes': [{'index': 0, 'cpus': '0-7', 'distance': '10 32'}, {'index': 1, 'cpus': "     \
	"'8-15', 'distance': '32 10'}]}, 'gpu': {'gpus': [{'index': 0}]}, 'net': {'nics': "        \
	"[{'name': 'e0', 'pci': '0000:81:00.0', 'operstate': 'up', 'speed_mbps': 100000, " nic     \
	"}]}}"
#define ONE_NODE(isolated, gpus, nic)                                                              \
	"{'cpu': {'online': '0-15', 'isolated': '" isolated                                        \
	"', 'nodes': [{'index': 0, 'cpus': '0-15'}]}, " gpus "'net': {'nics': [{'name': 'e0', "    \
	"'pci': '0000:81:00.0', 'operstate': 'up', 'speed_mbps': 100000, " nic "}]}}"
#define A_GPU "'gpu': {'gpus': [{'index': 0}]}, "
#define IRQS(cpus, away) "'irqs': 3, 'irq_cpus': '" cpus "', 'irqs_away': '" away "'"

static void test_irq_rule(void **state)
{
	static const char id[] = "nic.irq-affinity";
	static const struct fake_row rows[] = {
		{ ROW(id, NODES_AND("", "'numa_node': 1, " IRQS("8-10", "")), PASS, OK,
		      "3 on CPUs 8-10") },
		{ ROW(id, NODES_AND("", "'numa_node': 1, " IRQS("0-10", "1:0 2:1")), FAIL, DIFFERS,
		      "2 of them remote") },
		{ ROW(id, NODES_AND("", "'numa_node': 1, " IRQS("0-10", "1:0")), FAIL, DIFFERS,
		      "CPUs 8-15") },
		{ ROW(id, NODES_AND("8-11", "'numa_node': 1, " IRQS("8-10", "1:8")), FAIL, DIFFERS,
		      "CPUs 12-15") },
		{ ROW(id, NODES_AND("", "'numa_node': -1, " IRQS("8-10", "")), UNKNOWN, ERROR,
		      "the adapter's NUMA node is not reported by firmware") },
		{ ROW(id, NODES_AND("", "'numa_node': 7, " IRQS("8-10", "")), NA, NO_EFFECT,
		      "has no CPU") },
		{ ROW(id, NODES_AND("", "'numa_node': 1, 'irqs': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW(id, NODES_AND("", "'numa_node': 1, 'irqs': '!absent'"), NA, NO_SUPPORT,
		      "no MSI interrupts") },
		{ ROW(id, NODES_AND("", "'numa_node': 1, 'irqs': 0"), NA, NO_EFFECT, "in use") },
		{ ROW(id, ONE_NODE("", A_GPU, IRQS("0-3", "")), NA, NO_EFFECT, "one NUMA node") },
		{ ROW(id, ONE_NODE("8-15", A_GPU, IRQS("0-3", "")), PASS, OK, NULL) },
		{ ROW(id, ONE_NODE("8-15", A_GPU, IRQS("0-9", "1:9")), FAIL, DIFFERS,
		      "interrupts disturb reserved CPUs") },
		{ ROW(id, ONE_NODE("8-15", "", IRQS("0-9", "1:9")), NA, NO_EFFECT,
		      "without a GPU or RDMA") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* Ports of 400 Gb/s with RoCE; more of each after its name, in nics and in rdma. */
#define ROCE_PORT(n, more)                                                                         \
	"{'name': 'e" n "', 'pci': '0000:0" n ":00.0', 'operstate': 'up', 'speed_mbps': 400000, "  \
	"'driver': 'mlx5_core'" more "}"
#define ROCE_RDMA(n, more)                                                                         \
	"{'name': 'm" n "/1', 'device': 'm" n "', 'pci': '0000:0" n ":00.0', 'netdev': 'e" n       \
	"', 'state': 'ACTIVE', 'rate_mbps': 400000, 'link_layer': 'Ethernet'" more "}"
#define ROCE_PORTS(a, b, c) ROCE_PORT("1", a) ", " ROCE_PORT("2", b) ", " ROCE_PORT("3", c)
#define ROCE_RDMAS(a, b) ROCE_RDMA("1", a) ", " ROCE_RDMA("2", b) ", " ROCE_RDMA("3", "")
#define ROCE(a, b, c, x, y)                                                                        \
	"{'gpu': {'gpus': [{'index': 0}]}, 'net': {'nics': [" ROCE_PORTS(                          \
		a, b, c) "], 'rdma': [" ROCE_RDMAS(x, y) "]}}"
#define PFC(x) ", 'pfc': '" x "'"
#define QOS(pfc, trust) ", 'pfc': '" pfc "', 'trust': '" trust "'"
#define CNP(dscp) ", 'cnp_dscp': " #dscp ", 'cnp_priority': 6"

static void test_pfc_rule(void **state)
{
	static const char id[] = "nic.pfc";
	static const struct fake_row rows[] = {
		{ ROW(id, ROCE(PFC("3"), PFC("3"), PFC("3"), "", ""), NA, LEFT_ALONE,
		      "every switch port") },
		{ ROW(id, ROCE(PFC("3"), PFC("3"), PFC("none"), "", ""), FAIL, DIFFERS,
		      "3, same as all others"),
		  .target = "e3" },
		{ ROW(id, ROCE(PFC("3"), PFC("none"), ", 'pfc': '!unsupported'", "", ""), FAIL,
		      DIFFERS, "the same on every rail") },
		{ ROW(id, ROCE(PFC("3"), PFC("3"), PFC("3"), "", ""), PASS, OK,
		      "at target value; the switch must match, which"),
		  .want = { .rel = WANT_IS, .value = "3" } },
		{ ROW(id, ROCE(PFC("none"), PFC("none"), PFC("none"), "", ""), FAIL, DIFFERS,
		      "every switch port"),
		  .want = { .rel = WANT_IS, .value = "3" } },
		{ ROW(id, ROCE(", 'pfc': '!denied'", PFC("3"), PFC("3"), "", ""), UNKNOWN, DENIED,
		      NULL),
		  .target = "e1" },
		{ ROW(id, ROCE(", 'pfc': '!unsupported'", PFC("3"), PFC("3"), "", ""), NA,
		      NO_SUPPORT, "no data center bridging"),
		  .target = "e1" },
		{ ROW(id,
		      "{'net': {'nics': [" ROCE_PORT("1", PFC("3")) "], 'rdma': [{'name': 'm1/1', "
								    "'pci': '0000:01:00.0', "
								    "'link_layer': "
								    "'InfiniBand'}]}}",
		      NA, NO_EFFECT, "no RoCE") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define ETS(classes) ", 'pfc': '3', 'ets': '" classes "'"
#define ETS_ALL(classes) ROCE(ETS(classes), ETS(classes), ETS(classes), "", "")

static void test_ets_rule(void **state)
{
	static const char id[] = "nic.ets";
	static const struct fake_row rows[] = {
		{ ROW(id, ETS_ALL("0:1:vendor 1:0:vendor 3:3:vendor"), PASS, OK,
		      "paused priorities have their own classes") },
		{ ROW(id, ETS_ALL("0:0-2:strict 3:3:ets=50 4:4-7:ets=50"), PASS, OK, NULL) },
		{ ROW(id, ETS_ALL("0:0-7:strict"), FAIL, DIFFERS, "but stop with it") },
		{ ROW(id, ETS_ALL("0:0-2:ets=100 3:3:ets=0"), FAIL, DIFFERS, "no other class") },
		{ ROW(id, ETS_ALL("0:0-2:ets=95 3:3:ets=05"), PASS, OK, NULL) },
		{ ROW(id, ROCE(ETS("3:3:vendor"), ETS("3:3:ets=50"), ETS("3:3:vendor"), "", ""),
		      FAIL, DIFFERS, "e2 has 3:3:ets=50"),
		  .target = "e1" },
		{ ROW(id,
		      ROCE(", 'pfc': 'none', 'ets': '0:0-7:vendor'", ", 'pfc': 'none'",
			   ", 'pfc': 'none'", "", ""),
		      NA, NO_EFFECT, "no priority is paused"),
		  .target = "e1" },
		{ ROW(id, ROCE(PFC("3") ", 'ets': '!unsupported'", "", "", "", ""), NA, NO_SUPPORT,
		      NULL),
		  .target = "e1" },
		{ ROW(id, ROCE(PFC("3") ", 'ets': '!denied'", "", "", "", ""), UNKNOWN, DENIED,
		      NULL),
		  .target = "e1" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define STEERED(more) NODES_AND("", "'numa_node': 1, " more)

static void test_steering(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("nic.rps", STEERED("'channels': 8"), NA, NEEDS_DEEP, "--deep") },
		{ ROW("nic.rps", STEERED("'channels': 8, 'rps': ''"), PASS, OK, "stays") },
		{ ROW("nic.rps", STEERED("'channels': 8, 'rps': 'rx-0=00ff rx-3=00ff'"), FAIL,
		      DIFFERS, "only adds an interrupt") },
		{ ROW("nic.rps", STEERED("'channels': 2, 'rps': 'rx-0=00ff'"), NA, LEFT_ALONE,
		      "2 queues for 8 CPUs") },
		{ ROW("nic.rps", STEERED("'channels': '!denied', 'rps': 'rx-0=00ff'"), UNKNOWN,
		      DENIED, NULL) },
		{ ROW("nic.rps", STEERED("'rps': '!absent'"), NA, NO_SUPPORT,
		      "not visible on any receive queue") },
		{ ROW("nic.xps", STEERED("'channels': 8"), NA, NEEDS_DEEP, NULL) },
		{ ROW("nic.xps", STEERED("'tx_queues': 63, 'tx_queues_free': 63"), FAIL, DIFFERS,
		      "0 of 63") },
		{ ROW("nic.xps", STEERED("'tx_queues': 63, 'tx_queues_free': 1"), PASS, OK, NULL) },
		{ ROW("nic.xps", STEERED("'tx_queues': 1, 'tx_queues_free': 1"), NA, NO_EFFECT,
		      NULL) },
		{ ROW("nic.xps", STEERED("'tx_queues': '!absent'"), NA, NO_SUPPORT, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_trust_rule(void **state)
{
	static const char id[] = "nic.trust";
	static const struct fake_row rows[] = {
		{ ROW(id, ROCE(QOS("3", "dscp"), QOS("3", "dscp"), QOS("3", "dscp"), "", ""), PASS,
		      OK, "without a VLAN tag") },
		{ ROW(id, ROCE(QOS("3", "pcp"), QOS("3", "pcp"), QOS("3", "pcp"), "", ""), FAIL,
		      DIFFERS, "never have this priority") },
		{ ROW(id,
		      ROCE(QOS("3", "pcp"), QOS("3", "pcp"), QOS("3", "pcp"),
			   ", 'gids': [{'index': 0, 'netdev': 'e1.100'}]", ""),
		      PASS, OK, "trust is the VLAN tag, and the port's RDMA uses a VLAN"),
		  .target = "e1" },
		{ ROW(id, ROCE(QOS("3", "dscp"), QOS("3", "pcp"), QOS("3", "dscp"), "", ""), FAIL,
		      DIFFERS, "e2 trusts pcp: on one rail the pauses do not affect its"),
		  .target = "e1" },
		{ ROW(id, ROCE(QOS("none", "pcp"), QOS("none", "pcp"), QOS("none", "pcp"), "", ""),
		      NA, NO_EFFECT, "no priority is paused") },
		{ ROW(id, ROCE(PFC("3") ", 'trust': '!unsupported'", "", "", "", ""), NA,
		      NO_SUPPORT, "trust not reported by the driver"),
		  .target = "e1" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_dcqcn_rule(void **state)
{
	static const char id[] = "rdma.dcqcn";
	static const struct fake_row rows[] = {
		{ ROW(id, ROCE("", "", "", CNP(48), CNP(48)), PASS, OK, "DSCP 48, priority 6"),
		  .target = "m1/1" },
		{ ROW(id, ROCE("", "", "", CNP(48), CNP(4)), FAIL, DIFFERS,
		      "m2/1 sends notifications"),
		  .target = "m1/1" },
		{ ROW(id, ROCE(PFC("3"), "", "", CNP(48) ", 'ecn_off': '2-4'", CNP(48)), FAIL,
		      DIFFERS, "off for priority 3"),
		  .target = "m1/1" },
		{ ROW(id, ROCE(PFC("3"), "", "", CNP(48) ", 'ecn_off': '0'", CNP(48)), PASS, OK,
		      NULL),
		  .target = "m1/1" },
		{ ROW(id, ROCE(PFC("none"), "", "", CNP(48) ", 'ecn_off': '0-7'", CNP(48)), PASS,
		      OK, NULL),
		  .target = "m1/1" },
		{ ROW(id, ROCE("", "", "", ", 'cnp_dscp': '!denied'", ""), UNKNOWN, DENIED, NULL),
		  .target = "m1/1" },
		{ ROW(id, ROCE("", "", "", CNP(48), ", 'cnp_dscp': 48, 'cnp_priority': '!denied'"),
		      PASS, OK, NULL),
		  .target = "m1/1" },
		{ ROW(id, ROCE("", "", "", CNP(48), ", 'cnp_dscp': 48, 'cnp_priority': '!denied'"),
		      UNKNOWN, DENIED, NULL),
		  .target = "m2/1" },
		{ ROW(id, ROCE("", "", "", ", 'cnp_dscp': '!absent'", ""), NA, NO_SUPPORT,
		      "congestion control not reported by the driver"),
		  .target = "m1/1" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_firmware_rule(void **state)
{
	static const char id[] = "nic.firmware";
	static const struct fake_row rows[] = {
		{ ROW(id, ROCE("", "", "", "", ""), NA, NEEDS_DEEP, "--deep"), .target = "e1" },
		{ ROW(id,
		      ROCE(", 'firmware_settings': 'ATS_ENABLED=0 CNP_DSCP_P1=48'", "", "", "", ""),
		      PASS, OK, "the vendor's value, if vendors agree"),
		  .target = "e1" },
		{ ROW(id, ROCE(", 'firmware_settings': 'ATS_ENABLED=1'", "", "", "", ""), FAIL,
		      DIFFERS, "ATS_ENABLED=0"),
		  .target = "e1" },
		{ ROW(id,
		      ROCE(", 'firmware_settings': 'ROCE_CC_PRIO_MASK_P1=0 ATS_ENABLED=0'", "", "",
			   "", ""),
		      FAIL, DIFFERS, "ROCE_CC_PRIO_MASK_P1=255"),
		  .target = "e1" },
		{ ROW(id, ROCE(", 'firmware_settings': '!absent'", "", "", "", ""), NA, NO_SUPPORT,
		      "neither mlxconfig nor mstconfig"),
		  .target = "e1" },
		{ ROW(id, ROCE(", 'firmware_settings': '!denied'", "", "", "", ""), UNKNOWN, DENIED,
		      NULL),
		  .target = "e1" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* As mlxconfig 4.30 prints them, with and without -e, and rows that are not what is known. */
static void test_firmware_values(void **state)
{
	static const char output[] =
		"Device #1:\n----------\n\nDevice type:        ConnectX7\n"
		"Configurations:                                  Default         Current         "
		"Next Boot\n"
		"        ATS_ENABLED                              False(0)        True(1)         "
		"False(0)\n"
		"*       CNP_DSCP_P1                              48              48              "
		"4 \n"
		"        CNP_DSCP_P12                             1               1               "
		"9\n"
		"        MAX_ACC_OUT_READ                         0\n"
		"        PCI_WR_ORDERING                          per_mkey(0)\n"
		"        ROCE_CC_PRIO_MASK_P1                     N/A\n"
		"        HOST_CHAINING_MODE                       Array[0..7]\n";
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(mlxconfig_values(&a, output,
					     "ATS_ENABLED CNP_DSCP_P1 MAX_ACC_OUT_READ "
					     "PCI_WR_ORDERING ROCE_CC_PRIO_MASK_P1 "
					     "HOST_CHAINING_MODE NO_SUCH"),
			    "ATS_ENABLED=0 CNP_DSCP_P1=4 MAX_ACC_OUT_READ=0 PCI_WR_ORDERING=0");
	assert_string_equal(mlxconfig_values(&a, "", "ATS_ENABLED"), "");
	assert_string_equal(mlxconfig_values(&a, "ATS_ENABLED", "ATS_ENABLED"), "");
	assert_string_equal(mlxconfig_values(&a, "ATS_ENABLED 99999999999999999999", "ATS_ENABLED"),
			    "");
	arena_free(&a);
}

static const char *get(struct world *w, const struct knob *k)
{
	const char *value = NULL;
	struct err e = { 0 };
	int r = knob_get(w->host, &w->arena, k, &value, &e);

	return r ? errno_name(r) : value;
}

static void test_irq_knob(void **state)
{
	static const struct knob k = { KNOB_LINK, "irq-3", "eth0" };
	struct world *w = *state;
	char capture[512], overlay[512];
	struct err e = { 0 };
	const char *why;

	machine(w);
	irq(w, 40, 0, "0-15\n", "9\n");
	irq(w, 47, 3, "3\n", "3\n"); /* not in the order of the numbers */
	irq(w, 43, 1, "9\n", "9\n");
	box_file(&w->box, "c/meta.json", BOX_META("absent"));
	w->host = host_open_overlay(box_path(&w->box, "c", capture, sizeof(capture)),
				    box_path(&w->box, "o", overlay, sizeof(overlay)), &e);
	assert_non_null(w->host);
	assert_string_equal(get(w, &k), "3");
	assert_int_equal(knob_set(w->host, &w->arena, &k, "8-11", &e), 0);
	assert_string_equal(get(w, &k), "8-11");
	host_close(w->host);

	/* The driver was loaded anew: the number 47 is another device's by now. */
	irq(w, 52, 3, "12\n", "12\n");
	unlink(box_path(&w->box, "c/root" AT "/msi_irqs/47", capture, sizeof(capture)));
	w->host = host_open_overlay(box_path(&w->box, "c", capture, sizeof(capture)),
				    box_path(&w->box, "o2", overlay, sizeof(overlay)), &e);
	assert_string_equal(get(w, &k), "12");
	assert_int_equal(knob_set(w->host, &w->arena, &k, "3", &e), 0);
	assert_string_equal(get(w, &k), "3");
	assert_string_equal(get(w, &(struct knob){ KNOB_LINK, "irq-9", "eth0" }), "ENOENT");

	assert_false(knob_valid(&(struct knob){ KNOB_LINK, "irq-2048", "eth0" }, NULL, &why));
	assert_false(knob_valid(&(struct knob){ KNOB_LINK, "irq-", "eth0" }, NULL, &why));
	assert_false(knob_valid(&(struct knob){ KNOB_LINK, "irq-3x", "eth0" }, NULL, &why));
	assert_false(knob_valid(&k, "", &why));
	assert_false(knob_valid(&k, "3-", &why));
	assert_false(knob_valid(&k, "all", &why));
	assert_false(knob_valid(&k, "1\n2", &why));
	assert_true(knob_valid(&k, "0,8-11", &why));
}

static void test_pfc_knob(void **state)
{
	static const struct knob k = { KNOB_LINK, "pfc", "eth0" };
	struct world *w = *state;
	char capture[512], overlay[512];
	struct err e = { 0 };
	const char *why;

	box_file(&w->box, "c/meta.json", BOX_META("absent"));
	box_file(&w->box, "c/api/dcb.json", "{\"eth0\": {\"pfc\": \"none\"}}");
	w->host = host_open_overlay(box_path(&w->box, "c", capture, sizeof(capture)),
				    box_path(&w->box, "o", overlay, sizeof(overlay)), &e);
	assert_non_null(w->host);
	assert_string_equal(get(w, &k), "none");
	assert_int_equal(knob_set(w->host, &w->arena, &k, "3-4", &e), 0);
	assert_string_equal(get(w, &k), "3-4");
	assert_int_equal(knob_set(w->host, &w->arena, &k, "none", &e), 0);
	assert_string_equal(get(w, &k), "none");
	assert_string_equal(get(w, &(struct knob){ KNOB_LINK, "pfc", "eth1" }), "ENOENT");
	assert_string_equal(knob_command(&w->arena, &k, "3-4"),
			    "dcb pfc set dev eth0 prio-pfc all:off 3:on 4:on");
	assert_string_equal(knob_command(&w->arena, &k, "none"),
			    "dcb pfc set dev eth0 prio-pfc all:off");
	assert_false(knob_valid(&k, "8", &why));
	assert_false(knob_valid(&k, "", &why));
	assert_false(knob_valid(&k, "all", &why));
	assert_false(knob_valid(&k, "0-10", &why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_probe, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_probe_unread, world_setup, world_teardown),
		cmocka_unit_test(test_irq_rule),
		cmocka_unit_test_setup_teardown(test_irq_knob, world_setup, world_teardown),
		cmocka_unit_test(test_pfc_rule),
		cmocka_unit_test(test_ets_rule),
		cmocka_unit_test(test_steering),
		cmocka_unit_test(test_trust_rule),
		cmocka_unit_test(test_dcqcn_rule),
		cmocka_unit_test(test_firmware_rule),
		cmocka_unit_test(test_firmware_values),
		cmocka_unit_test_setup_teardown(test_pfc_knob, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
