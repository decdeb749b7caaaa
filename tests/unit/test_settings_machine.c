/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the command line, processors, disks and PCI: facts in, verdict out, one row a branch.
 */
#include "fake.h"

#define ARGS(list) "'kernel': {'cmdline': 'x', 'args': [" list "]}"
#define ARG(name, value) "{'name': '" name "', 'text': '" value "'}"
/* An adapter with read requests of 512 bytes, on a machine that is locked down. */
#define LOCKED(kind)                                                                               \
	"{'platform': {'kind': '" kind                                                             \
	"'}, 'kernel': {'lockdown': 'integrity'}, 'pci': [{'name': "                               \
	"'0000:01:00.0', 'vendor': 5555, 'class': 131072, 'mrrs_bytes': 512}]}"
/* A port of a switch with redirect on, above a GPU and an adapter. */
#define BEHIND_SWITCH                                                                              \
	"{'name': 's', 'path': '/s', 'class': 394240, 'port_type': 6, 'acs_cap': 256, "            \
	"'acs_ctrl': 29}, {'name': '0000:02:00.0', 'path': '/s/g', 'vendor': 4318, "               \
	"'class': 197120}, {'name': '0000:03:00.0', 'path': '/s/n', 'vendor': 5555, "              \
	"'class': 131072, 'mrrs_bytes': 512}"
#define USB(more)                                                                                  \
	"{'storage': {'disks': [{'name': 'sdb', 'role': 'disk', 'transport': 'usb-storage', "      \
	"'usb_speed_mbps': 480" more                                                               \
	"}], 'mounts': [{'name': '/mnt', 'type': 'exfat', 'device': '"

static void test_command_line(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("boot.arguments",
		      "{" ARGS(ARG("isolcpus", "1-3") ", " ARG("isolcpus", "2-3")) "}", FAIL,
		      DIFFERS, "isolcpus=1-3 and isolcpus=2-3") },
		/* These add up: none is lost. */
		{ ROW("boot.arguments",
		      "{" ARGS(ARG("pci", "realloc") ", " ARG("pci", "noaer")) "}", PASS, OK,
		      NULL) },
		{ ROW("boot.arguments",
		      "{" ARGS(ARG("intel_iommu", "on") ", " ARG("intel_iommu", "sm_on")) "}", PASS,
		      OK, NULL) },
		{ ROW("boot.arguments", "{" ARGS(ARG("iommu", "pt") ", " ARG("iommu", "off")) "}",
		      FAIL, DIFFERS, "these arguments exclude each other") },
		{ ROW("boot.arguments",
		      "{" ARGS(ARG("pci", "noaer,pcie_bus_safe") ", " ARG("pci",
									  "pcie_bus_perf")) "}",
		      FAIL, DIFFERS, "pcie_bus_safe") },
		{ ROW("boot.pcie-bus", "{" ARGS("") "}", PASS, OK, "not set") },
		{ ROW("boot.pcie-bus", "{" ARGS(ARG("pci", "pcie_bus_safe")) "}", PASS, OK,
		      "every device") },
		{ ROW("boot.pcie-bus",
		      "{" ARGS(ARG("pci", "pcie_bus_perf") ", " ARG("pci", "noaer")) "}", FAIL,
		      DIFFERS, "pcie_bus_perf,noaer") },
		{ ROW("boot.pcie-bus", "{" ARGS(ARG("pci", "pcie_bus_performance")) "}", PASS, OK,
		      NULL) },
		/* Lists that the kernel does and does not keep load balancing off. */
		{ ROW("boot.isolation",
		      "{'cpu': {'online': '0-7', 'isolated': ''}, " ARGS(
			      ARG("isolcpus", "4-7")) "}",
		      FAIL, DIFFERS, "requested 4-7, but the kernel isolated \"\"") },
		{ ROW("boot.isolation",
		      "{'cpu': {'online': '0-7', 'isolated': ''}, " ARGS(
			      ARG("isolcpus", "domain,managed_irq,4-7")) "}",
		      FAIL, DIFFERS, "requested 4-7, but the kernel isolated \"\"") },
		{ ROW("boot.isolation",
		      "{'cpu': {'online': '0-7', 'isolated': ''}, " ARGS(
			      ARG("isolcpus", "managed_irq,4-7")) "}",
		      PASS, OK, "consistent") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_lockdown(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("boot.lockdown", LOCKED("dgx-spark"), PASS, OK,
		      "PCI configuration space and unsigned modules are blocked; no") },
		{ ROW("boot.lockdown", LOCKED("dgx-spark"), FAIL, DIFFERS, "for nic.mrrs"),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("boot.lockdown", LOCKED("dgx-spark"), FAIL, DIFFERS, "for nic.mrrs"),
		  .profile = PROFILE_MAX_PERFORMANCE },
		{ ROW("boot.lockdown", LOCKED("dgx-spark"), FAIL, DIFFERS, "for nic.mrrs"),
		  .profile = PROFILE_LOW_LATENCY },
		{ ROW("boot.lockdown", LOCKED("igx-orin"), FAIL, DIFFERS, "for nic.mrrs") },
		{ ROW("boot.lockdown", LOCKED("hgx"), PASS, OK,
		      "PCI configuration space and unsigned modules are blocked; no"),
		  .profile = PROFILE_PUBLISHED },
		{ ROW("boot.lockdown",
		      "{'kernel': {'lockdown': 'integrity'}, 'pci': [" BEHIND_SWITCH "]}", FAIL,
		      DIFFERS, "for pcie.acs") },
		{ ROW("boot.lockdown",
		      "{'kernel': {'lockdown': 'integrity'}, 'pci': [" BEHIND_SWITCH "]}", PASS, OK,
		      NULL),
		  .profile = PROFILE_BALANCED },
		{ ROW("nic.mrrs",
		      "{'platform': {'kind': 'igx-orin'}, " ARGS(
			      ARG("pci", "pcie_bus_perf") ", " ARG(
				      "pci", "noaer")) ", 'pci': [{'name': '0000:01:00.0', "
						       "'vendor': 5555, "
						       "'class': 131072, 'mrrs_bytes': 512}]}",
		      FAIL, DIFFERS, "pci=pcie_bus_perf on the kernel command line limits it to") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_cpus(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("cpu.online", "{'cpu': {'online': '0-7', 'present': '0-7'}}", PASS, OK,
		      NULL) },
		{ ROW("cpu.online", "{'cpu': {'online': '0-3', 'present': '0-7'}}", FAIL, DIFFERS,
		      "4-7 are present but offline") },
		{ ROW("cpu.online",
		      "{'kernel': {'arch': 'x86_64'}, 'cpu': {'online': '0-3', 'present': '0-7', "
		      "'smt_active': 0}}",
		      NA, LEFT_ALONE, "SMT is off") },
		{ ROW("cpu.online",
		      "{'kernel': {'arch': 'x86_64'}, 'cpu': {'online': '0-3', 'present': '0-7', "
		      "'smt_active': 1}}",
		      FAIL, DIFFERS, "offline") },
		{ ROW("cpu.online",
		      "{'kernel': {'arch': 'x86_64'}, 'cpu': {'online': '0-2', 'present': '0-7', "
		      "'smt_active': 0}}",
		      FAIL, DIFFERS, "offline") },
		{ ROW("cpu.online",
		      "{'kernel': {'arch': 'aarch64'}, 'cpu': {'online': '0-9', 'present': '0-19', "
		      "'smt_active': 0}}",
		      FAIL, DIFFERS, "offline") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_usb(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("disk.usb-transport", USB("") "/dev/sdb1'}]}}", FAIL, DIFFERS, "bulk-only") },
		{ ROW("disk.usb-transport", USB("") "/dev/sda1'}]}}", NA, NO_EFFECT,
		      "bulk-only transport; the machine does not use the disk") },
		{ ROW("disk.usb-transport", USB(", 'content': 'zfs_member'") "/dev/sda1'}]}}", FAIL,
		      DIFFERS, "bulk-only") },
		{ ROW("disk.usb-transport", USB(", 'holders': 'dm-0'") "/dev/sda1'}]}}", FAIL,
		      DIFFERS, "bulk-only") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* A GPU of a superchip hangs from its CPU: no switch stands between it and the adapter. */
static void test_superchip(void **state)
{
#define TWO(c2c)                                                                                   \
	"{'platform': {'kind': 'hgx'}, 'net': {'rdma': [{'name': 'mlx5_0/1', 'device': 'mlx5_0', " \
	"'pci': '0000:01:00.0', 'state': 'ACTIVE'}]}, 'pci': [{'name': '0000:01:00.0', 'path': "   \
	"'/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0', 'numa_node': 0}, {'name': "          \
	"'0009:01:00.0', 'path': '/sys/devices/pci0009:00/0009:00:00.0/0009:01:00.0', "            \
	"'numa_node': 0}], 'gpu': {'gpus': [{'pci': '0009:01:00.0', 'c2c': " c2c "}]}}"
	static const struct fake_row rows[] = {
		{ ROW("pcie.gpu-nic-path", TWO("0"), FAIL, DIFFERS, "no active NIC is behind") },
		{ ROW("pcie.gpu-nic-path", TWO("1"), PASS, OK, "without a PCIe switch") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define HAS(gpu, facts) "{" gpu "'memory': {" facts "}}"
#define SHARES "'gpu': {'gpus': [{'integrated': 1}]}, "
#define OWN "'gpu': {'gpus': [{'integrated': 0}]}, "
#define SERVICE(name, active)                                                                      \
	"{" SHARES "'software': {'services': [{'name': '" name "', 'active': " active "}]}}"
#define POOL(gpu, free)                                                                            \
	HAS(gpu, "'total_kb': 16777216, 'pools': [{'name': '1G', 'node': -1, 'size_kb': 1048576, " \
		 "'free_pages': " free "}]")
#define GROUP(facts) HAS(SHARES, "'groups': [{'name': 'g', 'max_bytes': 1048576000, " facts "}]")

/* Memory as it is now. */
static void test_memory_state(void **state)
{
	static const struct fake_row rows[] = {
		/* 1.5 of 121 GiB, and the limit: 5 %. */
		{ ROW("memory.available",
		      HAS(SHARES, "'total_kb': 127601164, 'available_kb': 1572864"), FAIL, DIFFERS,
		      "can freeze the machine") },
		{ ROW("memory.available",
		      HAS(SHARES, "'total_kb': 127601164, 'available_kb': 6380057"), FAIL, DIFFERS,
		      NULL) },
		{ ROW("memory.available",
		      HAS(SHARES, "'total_kb': 127601164, 'available_kb': 6380059"), PASS, OK,
		      "enough") },
		/* Of 2 TiB beside GPUs with memory of their own 4 GiB are enough. */
		{ ROW("memory.available",
		      HAS(OWN, "'total_kb': 2147483648, 'available_kb': 5242880"), PASS, OK,
		      NULL) },
		{ ROW("memory.available",
		      HAS(OWN, "'total_kb': 2147483648, 'available_kb': 3145728"), FAIL, DIFFERS,
		      "killed or stall") },
		{ ROW("memory.available", HAS(SHARES, "'total_kb': 1000, 'available_kb': 2000"),
		      UNKNOWN, ERROR, "available memory exceeds total memory") },
		{ ROW("memory.available", HAS(SHARES, "'total_kb': 0, 'available_kb': 0"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("memory.available",
		      HAS(SHARES, "'total_kb': 1000, 'available_kb': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("memory.guard", SERVICE("earlyoom.service", "1"), PASS, OK, "earlyoom") },
		{ ROW("memory.guard", SERVICE("nohang.service", "1"), PASS, OK, NULL) },
		{ ROW("memory.guard", SERVICE("systemd-oomd.service", "0"), FAIL, DIFFERS,
		      "not active") },
		{ ROW("memory.guard", "{" SHARES "'software': {}}", UNKNOWN, ERROR, NULL) },
		{ ROW("memory.guard", "{" OWN "'software': {}}", NA, NO_EFFECT, NULL) },
		{ ROW("memory.page-cache",
		      HAS(SHARES, "'total_kb': 1000000, 'cached_kb': 700000, 'free_kb': 50000"),
		      FAIL, DIFFERS, "CUDA does not") },
		/* What programs share cannot be freed. */
		{ ROW("memory.page-cache",
		      HAS(SHARES, "'total_kb': 1000000, 'cached_kb': 700000, 'shmem_kb': 600000, "
				  "'free_kb': 50000"),
		      PASS, OK, NULL) },
		{ ROW("memory.page-cache",
		      HAS(OWN, "'total_kb': 1000000, 'cached_kb': 700000, 'free_kb': 50000"), NA,
		      NO_EFFECT, NULL) },
		{ ROW("memory.hugepages-unused", POOL(SHARES, "4"), FAIL, DIFFERS, "4096 MiB") },
		{ ROW("memory.hugepages-unused", POOL(SHARES, "0"), PASS, OK, NULL) },
		{ ROW("memory.hugepages-unused", POOL(SHARES, "'!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("memory.hugepages-unused", POOL(SHARES, "17"), UNKNOWN, ERROR,
		      "more free huge pages than memory") },
		{ ROW("memory.hugepages-unused", POOL(OWN, "4"), NA, NO_EFFECT, NULL) },
		{ ROW("memory.swap-area", HAS(OWN, "'swap_total_kb': 1000, 'swap_free_kb': 50"),
		      FAIL, DIFFERS, "swap is full") },
		{ ROW("memory.swap-area", HAS(OWN, "'swap_total_kb': 1000, 'swap_free_kb': 2000"),
		      UNKNOWN, ERROR, "free swap exceeds total swap") },
		{ ROW("memory.swap-area", HAS(OWN, "'swap_total_kb': 0, 'swap_free_kb': 0"), NA,
		      NO_HARDWARE, NULL) },
		{ ROW("memory.group-limits", GROUP("'anon_bytes': 1000, 'oom_kills': 0"), PASS, OK,
		      "no slice is near its limit; GPU driver allocations") },
		{ ROW("memory.group-limits", GROUP("'anon_bytes': 1048000000, 'oom_kills': 0"),
		      FAIL, DIFFERS, "at its limit: the next") },
		{ ROW("memory.group-limits", GROUP("'anon_bytes': 1000, 'oom_kills': 2"), FAIL,
		      DIFFERS, "2 killed") },
		{ ROW("memory.group-limits", GROUP("'anon_bytes': '!denied', 'oom_kills': 0"),
		      UNKNOWN, DENIED, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define HELD(more) "{'cpu': {'policies': [{'driver': 'intel_pstate'}], " more "}}"

static void test_performance_limit(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': 100"), PASS, OK, "100 %") },
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': 50"), FAIL, DIFFERS, "50 %") },
		{ ROW("cpu.performance-limit", "{'cpu': {}}", NA, NO_SUPPORT,
		      "no frequency policy") },
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': 0"), UNKNOWN, ERROR,
		      "invalid performance percentage from the driver") },
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': 255"), UNKNOWN, ERROR, NULL) },
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("cpu.performance-limit", HELD("'perf_max_pct': '!absent'"), NA, NO_SUPPORT,
		      "not intel_pstate") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

/* A DGX Spark without its NIC, and one port with two halves. */
#define BUS "'platform': {'kind': 'dgx-spark'}, 'pci': [{'name': '0004:01:00.0'}]"
#define GONE(more) "{" BUS ", 'net': {" more "}}"
#define HALF(name, pci, more)                                                                      \
	"{'name': '" name "', 'pci': '" pci                                                        \
	"', 'driver': 'mlx5_core', 'port': 'p0', 'speed_mbps': 200000, " more "}"
#define CAGE(a, b)                                                                                 \
	"{'platform': {'kind': 'dgx-spark'}, 'net': {'nics': [" HALF(                              \
		"a", "0000:01:00.0", a) ", " HALF("b", "0002:01:00.0", b) "]}}"
#define UP "'operstate': 'up', 'carrier': 1"
#define DOWN "'operstate': 'down', 'carrier': 0"

static void test_spark_nic(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("nic.cable", GONE("'spark_hotplug': 'present'"), NA, NO_HARDWARE,
		      "no cable, or a hot-plug fault") },
		{ ROW("nic.cable",
		      GONE("'spark_hotplug': 'present', 'absent_port': 'p in /etc/netplan/4.yaml'"),
		      FAIL, DIFFERS, "p in /etc/netplan/4.yaml is configured") },
		{ ROW("nic.cable",
		      GONE("'spark_hotplug': 'present', 'cable_present': 0, 'absent_port': 'p in "
			   "f'"),
		      FAIL, DIFFERS, "no cable detected. Plug") },
		{ ROW("nic.cable", GONE("'spark_hotplug': 'present', 'absent_port': '!denied'"), NA,
		      NO_HARDWARE, NULL) },
		{ ROW("nic.twins", CAGE(UP ", 'ipv4': ''", UP ", 'ipv4': ''"), NA, NO_EFFECT,
		      "no address"),
		  .target = "a" },
		{ ROW("nic.twins", CAGE(UP ", 'ipv4': ''", DOWN), FAIL, DIFFERS, "no link"),
		  .target = "a" },
		{ ROW("nic.twins", CAGE(UP ", 'ipv4': '10.0.0.1/24'", UP ", 'ipv4': '10.0.1.1/24'"),
		      PASS, OK, NULL),
		  .target = "a" },
		{ ROW("nic.twins", CAGE(UP ", 'ipv4': '10.0.0.1/24'", UP ", 'ipv4': ''"), FAIL,
		      DIFFERS, "about 100"),
		  .target = "a" },
		{ ROW("nic.twins",
		      CAGE(UP ", 'ipv4': ''", "'operstate': '!denied', 'carrier': '!denied'"),
		      UNKNOWN, DENIED, NULL),
		  .target = "a" },
		{ ROW("nic.carrier", CAGE(UP ", 'ipv4': ''", DOWN ", 'ipv4': ''"), NA, NO_EFFECT,
		      "see nic.twins"),
		  .target = "b" },
		{ ROW("nic.carrier", CAGE(DOWN ", 'ipv4': ''", DOWN ", 'ipv4': ''"), NA, NO_EFFECT,
		      "no cable or no far end, not configured"),
		  .target = "b" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_usb),
		cmocka_unit_test(test_superchip),
		cmocka_unit_test(test_memory_state),
		cmocka_unit_test(test_performance_limit),
		cmocka_unit_test(test_spark_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
