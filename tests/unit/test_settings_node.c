/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about the fabric, power and sharing of a node's GPUs, and its paths to data: one row a
 * branch. */
#include "fake.h"

#define GPU(facts) "{'gpu': {'gpus': [{" facts "}]}}"
#define SWITCH "'pci': [{'name': 'a', 'vendor': 4318, 'class': 425984}]"
#define DONE "'fabric_state': 'completed', 'fabric_status': 0"
#define RACK(more)                                                                                 \
	"{'gpu': {" more "'gpus': [{'c2c': 1, " DONE "}]}, 'software': {'init': 'systemd'"
#define BRIDGE "'pci': [{'name': 'a', 'switch_management': 1}]"
#define B200(more)                                                                                 \
	"{" BRIDGE ", 'gpu': {" more "'gpus': [{'c2c': 0, " DONE                                   \
	"}]}, 'software': {'init': 'systemd'"
#define MODULES(umad) "}, 'net': {'mlx5_ib': 'loaded', 'ib_umad': '" umad "'}}"
#define UNIT(name, active)                                                                         \
	", 'services': [{'name': '" name ".service', 'installed': 1, 'active': " active "}]"

static void test_fabric(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.fabric", GPU("'fabric_state': 'not-supported'"), NA, NO_HARDWARE,
		      "no NVSwitch fabric") },
		{ ROW("gpu.fabric", GPU("'fabric_state': '!unsupported'"), NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': '!denied'"), UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'in-progress'"), FAIL, DIFFERS,
		      "still registering") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_status': 999"), FAIL,
		      DIFFERS, "not registered") },
		{ ROW("gpu.fabric", GPU(DONE), PASS, OK, "registered") },
		{ ROW("gpu.fabric", GPU(DONE ", 'fabric_health': 1"), FAIL, DIFFERS,
		      "bandwidth is degraded") },
		{ ROW("gpu.fabric", GPU(DONE ", 'fabric_health': 2, 'fabric_summary': 'healthy'"),
		      PASS, OK, NULL) },
		/* The mask sees full bandwidth, the sum does not: the stronger counts. */
		{ ROW("gpu.fabric", GPU(DONE ", 'fabric_health': 2, 'fabric_summary': 'unhealthy'"),
		      FAIL, DIFFERS, "unhealthy") },
		{ ROW("gpu.fabric", GPU(DONE ", 'fabric_health': 1, 'fabric_summary': 'healthy'"),
		      FAIL, DIFFERS, "bandwidth is degraded") },
		{ ROW("gpu.fabric", GPU(DONE ", 'fabric_summary': 'limited-capacity'"), FAIL,
		      DIFFERS, "limited-capacity") },
		{ ROW("gpu.fabric",
		      "{'gpu': {'gpus': [{" DONE ", 'fabric_clique': 4026}, {'index': 1, " DONE
		      ", 'fabric_clique': 4027}]}}",
		      FAIL, DIFFERS, "in clique 4026, gpu1 in 4027") },
		{ ROW("gpu.fabric",
		      "{'gpu': {'gpus': [{" DONE ", 'fabric_clique': 4026}, {'index': 1, "
		      "'fabric_state': 'in-progress', 'fabric_clique': 0}]}}",
		      PASS, OK, NULL),
		  .target = "gpu0" },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_fabric_services(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("service.fabric-manager", "{'software': {'init': 'systemd'}}", NA,
		      NO_HARDWARE, "no NVSwitch") },
		{ ROW("service.fabric-manager", "{" SWITCH ", 'software': {'init': 'systemd'}}",
		      FAIL, DIFFERS, "CUDA does not start") },
		{ ROW("service.fabric-manager", B200("") "}}", FAIL, DIFFERS,
		      "CUDA does not start") },
		{ ROW("service.fabric-manager", B200("") UNIT("nvidia-fabricmanager", "1") "}}",
		      PASS, OK, "active") },
		{ ROW("service.fabric-manager",
		      B200("'driver': '580.95.05', 'fabric_manager_version': '570.86.15', ")
			      UNIT("nvidia-fabricmanager", "0") "}}",
		      FAIL, DIFFERS, "another version") },
		/* Of a rack the switches are in trays of their own: inactive is right. */
		{ ROW("service.fabric-manager", RACK("") UNIT("nvidia-fabricmanager", "0") "}}", NA,
		      NO_HARDWARE, "switch trays") },
		{ ROW("service.fabric-manager",
		      "{'gpu': {'gpus': [{" DONE "}]}, 'software': {'init': 'systemd'}}", NA,
		      NO_HARDWARE, "virtual machine or container") },

		{ ROW("service.nvlink-subnet-manager", "{" SWITCH "}", NA, NO_HARDWARE,
		      "fourth-generation") },
		{ ROW("service.nvlink-subnet-manager", RACK("") "}}", NA, NO_HARDWARE, NULL) },
		{ ROW("service.nvlink-subnet-manager", B200("'nvlsm': '/opt', ") MODULES("!absent"),
		      FAIL, DIFFERS, "error 802") },
		{ ROW("service.nvlink-subnet-manager",
		      B200("'nvlsm': '!absent', ") MODULES("built in"), FAIL, DIFFERS,
		      "nothing routes") },
		{ ROW("service.nvlink-subnet-manager", B200("'nvlsm': '/opt', ") MODULES("loaded"),
		      PASS, OK, NULL) },
		{ ROW("service.nvlink-subnet-manager",
		      B200("'nvlsm': '!denied', ") MODULES("loaded"), UNKNOWN, DENIED, NULL) },

		{ ROW("service.imex", B200("") "}}", NA, NO_HARDWARE, "no NVLink leads") },
		{ ROW("service.imex", RACK("") "}}", FAIL, DIFFERS, "falls back") },
		{ ROW("service.imex", RACK("'imex_channels': 1, ") "}}", NA, LEFT_ALONE,
		      "Kubernetes") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 0, ") UNIT("nvidia-imex", "1") "}}",
		      FAIL, DIFFERS, "joins none") },
		{ ROW("service.imex",
		      RACK("'imex_channels': '!absent', 'imex_nodes': 18, ")
			      UNIT("nvidia-imex", "1") "}}",
		      FAIL, DIFFERS, "permission") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 18, ") UNIT("nvidia-imex", "1") "}}",
		      PASS, OK, "18 nodes") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_memory_temperature(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.temperature-memory", GPU("'temperature_memory_c': '!unsupported'"), NA,
		      NO_SUPPORT, "no sensor") },
		{ ROW("gpu.temperature-memory", GPU("'index': 0"), NA, NEEDS_DEEP, "--deep") },
		{ ROW("gpu.temperature-memory", GPU("'temperature_memory_c': '!error'"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 0"), UNKNOWN,
		      ERROR, "no memory has") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 255"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 78"), PASS, OK,
		      "17 C below") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 91"), FAIL,
		      DIFFERS, "may have 95 C") },
		/* The driver's own limit goes before the table's, but 0 is none. */
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 91, "
			  "'temperature_memory_max_c': 105"),
		      PASS, OK, "14 C below") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 94, "
			  "'temperature_memory_max_c': 0"),
		      FAIL, DIFFERS, "95 C") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA B999', 'temperature_memory_c': 60"), NA, NO_SUPPORT,
		      "gives a limit") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define PARAMS(name, more)                                                                         \
	"{'platform': {'kind': 'hgx'}, 'gpu': {'profiling_restricted': 1, " more                   \
	"'gpus': [{'name': '" name "'}]}}"

static void test_parameters(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.profiling-access", "{'gpu': {'profiling_restricted': '!absent'}}", NA,
		      NO_SUPPORT, "not visible") },
		{ ROW("gpu.profiling-access", PARAMS("NVIDIA H100 80GB HBM3", ""), NA, LEFT_ALONE,
		      "ERR_NVGPUCTRPERM") },
		{ ROW("gpu.profiling-access", PARAMS("NVIDIA H100 80GB HBM3", ""), FAIL, DIFFERS,
		      NULL),
		  .want = { .rel = WANT_IS, .value = "0" } },
		{ ROW("gpu.relaxed-ordering",
		      PARAMS("NVIDIA A100-SXM4-80GB", "'relaxed_ordering': 0, "), FAIL, DIFFERS,
		      NULL) },
		{ ROW("gpu.relaxed-ordering",
		      PARAMS("NVIDIA A100-SXM4-80GB", "'relaxed_ordering': 1, "), PASS, OK, NULL) },
		{ ROW("gpu.relaxed-ordering",
		      PARAMS("NVIDIA H100 80GB HBM3", "'relaxed_ordering': 0, "), NA, LEFT_ALONE,
		      "A100 alone") },
		{ ROW("gpu.relaxed-ordering",
		      PARAMS("NVIDIA A100-SXM4-80GB", "'relaxed_ordering': '!error', "), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.stream-memory-operations",
		      PARAMS("NVIDIA H100 80GB HBM3", "'stream_memops': 0, "), NA, LEFT_ALONE,
		      "IBGDA") },
		{ ROW("gpu.coherent-memory-mode", PARAMS("NVIDIA H100 80GB HBM3", ""), NA,
		      NO_HARDWARE, "coherent") },
		{ ROW("gpu.coherent-memory-mode",
		      "{'gpu': {'profiling_restricted': 1, 'coherent_mode': 'driver', 'gpus': "
		      "[{'c2c': 1}]}}",
		      NA, LEFT_ALONE, "Kubernetes") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

static void test_power_modes(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.module-power-limit", GPU("'c2c': 0"), NA, NOT_HERE, NULL) },
		{ ROW("gpu.module-power-limit", GPU("'c2c': 1, 'module_limit_mw': '!unsupported'"),
		      NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.module-power-limit",
		      GPU("'c2c': 1, 'module_limit_mw': 1000000, 'module_limit_default_mw': "
			  "1000000"),
		      PASS, OK, "1000 W") },
		{ ROW("gpu.module-power-limit",
		      GPU("'c2c': 1, 'module_limit_mw': 800000, 'module_limit_default_mw': "
			  "1000000"),
		      FAIL, DIFFERS, ">= 1000 W") },
		{ ROW("gpu.module-power-limit",
		      GPU("'c2c': 1, 'module_limit_mw': 0, 'module_limit_default_mw': 1000000"),
		      UNKNOWN, ERROR, "0 W") },
		{ ROW("gpu.workload-power-profile", GPU("'index': 0"), NA, NEEDS_DEEP, NULL) },
		{ ROW("gpu.workload-power-profile", GPU("'power_profiles': '!unsupported'"), NA,
		      NO_SUPPORT, "no power profiles") },
		{ ROW("gpu.workload-power-profile",
		      GPU("'power_profiles': 'none', 'power_profiles_enforced': 'none'"), NA,
		      LEFT_ALONE, "mixed work") },
		{ ROW("gpu.workload-power-profile",
		      GPU("'power_profiles': 'max-q', 'power_profiles_enforced': 'max-q'"), FAIL,
		      DIFFERS, "speed for work"),
		  .profile = PROFILE_MAX_PERFORMANCE },
		{ ROW("gpu.workload-power-profile",
		      GPU("'power_profiles': 'llm-training max-q', 'power_profiles_enforced': "
			  "'max-q'"),
		      FAIL, DIFFERS, "not in force") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define SLICE(name, memory, compute)                                                               \
	"{'profile': '" name "', 'memory_slices': " memory ", 'compute_slices': " compute "}"

static void test_sharing(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.mig-layout", GPU("'mig': 0"), NA, NO_EFFECT, "off") },
		{ ROW("gpu.mig-layout", GPU("'mig': 1, 'slices_max': '!unsupported'"), NA,
		      NO_SUPPORT, NULL) },
		{ ROW("gpu.mig-layout", GPU("'mig': 1, 'slices_max': 7"), FAIL, DIFFERS,
		      "no CUDA program") },
		{ ROW("gpu.mig-layout",
		      GPU("'mig': 1, 'slices_max': 7, 'slices': [" SLICE("3g.40gb", "4", "3") "]"),
		      FAIL, DIFFERS, "4 of 7 compute slices and 4 of memory") },
		/* Two halves leave one compute slice, for which there is no memory. */
		{ ROW("gpu.mig-layout",
		      GPU("'mig': 1, 'slices_max': 7, 'slices': [" SLICE(
			      "3g.40gb", "4", "3") ", " SLICE("3g.40gb", "4", "3") "]"),
		      PASS, OK, "3g.40gb, 3g.40gb") },
		{ ROW("gpu.mps", GPU("'compute_mode': 'default'"), NA, NO_EFFECT, NULL) },
		/* One rule: with MPS the mode is its matter. */
		{ ROW("gpu.compute-mode",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': "
		      "'exclusive-process'}]}}",
		      NA, NO_EFFECT, "gpu.mps") },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': 'default'}]}}", FAIL,
		      DIFFERS, "by turns") },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': "
		      "'exclusive-process'}]}}",
		      PASS, OK, NULL) },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': '!error'}]}}", UNKNOWN,
		      ERROR, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fabric),
		cmocka_unit_test(test_fabric_services),
		cmocka_unit_test(test_memory_temperature),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_power_modes),
		cmocka_unit_test(test_sharing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
