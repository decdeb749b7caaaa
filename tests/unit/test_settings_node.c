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
		      "the GPU is not part of an NVSwitch fabric, or a") },
		{ ROW("gpu.fabric", GPU("'fabric_state': '!unsupported'"), NA, NO_SUPPORT, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': '!denied'"), UNKNOWN, DENIED, NULL) },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'in-progress'"), FAIL, DIFFERS,
		      "still registering") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_status': 999"), FAIL,
		      DIFFERS, "status 999 (UNKNOWN)") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_status': 15"), FAIL,
		      DIFFERS, "status 15 (GPU_IS_LOST)") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'completed', 'fabric_status': 5555"), FAIL,
		      DIFFERS, "status 5555") },
		{ ROW("gpu.fabric", GPU("'fabric_state': 'not-started'"), FAIL, DIFFERS,
		      "Fabric Manager has not started to register the GPU: CUDA") },
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
		      FAIL, DIFFERS, "in clique 4026, gpu1 in clique 4027") },
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
		      FAIL, DIFFERS, "Fabric Manager's version differs from the") },
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
		      "the NVLinks are not routed: the GPUs stay in the state") },
		{ ROW("service.nvlink-subnet-manager", B200("'nvlsm': '/opt', ") MODULES("loaded"),
		      PASS, OK, NULL) },
		{ ROW("service.nvlink-subnet-manager",
		      B200("'nvlsm': '!denied', ") MODULES("loaded"), UNKNOWN, DENIED, NULL) },

		{ ROW("service.imex", B200("") "}}", NA, NO_HARDWARE,
		      "no NVLink to another machine") },
		{ ROW("service.imex", RACK("") "}}", FAIL, DIFFERS, "falls back") },
		{ ROW("service.imex", RACK("'imex_channels': 1, ") "}}", NA, LEFT_ALONE,
		      "Kubernetes") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 0, ") UNIT("nvidia-imex", "1") "}}",
		      FAIL, DIFFERS,
		      "the service runs without a list of nodes and connects to none") },
		{ ROW("service.imex",
		      RACK("'imex_channels': '!absent', 'imex_nodes': 18, ")
			      UNIT("nvidia-imex", "1") "}}",
		      FAIL, DIFFERS, "permission") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 18, ") UNIT("nvidia-imex", "1") "}}",
		      PASS, OK, "18 nodes") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 18, 'imex_state': "
			   "'waiting_for_peers', ") UNIT("nvidia-imex", "1") "}}",
		      FAIL, DIFFERS, "not ready") },
		/* Its unit is off, and the daemon of a container answers. */
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 18, 'imex_state': 'ready', ")
			      UNIT("nvidia-imex", "0") "}}",
		      PASS, OK, "can be mapped") },
		{ ROW("service.imex",
		      RACK("'imex_channels': 1, 'imex_nodes': 18, 'imex_state': '!absent', ")
			      UNIT("nvidia-imex", "1") "}}",
		      PASS, OK, "the service is running; nvidia-imex-ctl, which shows") },
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
		      ERROR, "invalid value from the sensor") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 255"), UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 78"), PASS, OK,
		      "17 C below") },
		{ ROW("gpu.temperature-memory",
		      GPU("'name': 'NVIDIA H100 80GB HBM3', 'temperature_memory_c': 91"), FAIL,
		      DIFFERS, "the memory temperature limit is 95 C: the GPU slows down") },
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
		      "neither driver nor data sheet has a limit") },
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
		      "NVIDIA sets it only on A100; H100 and later order writes as") },
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
		      DIFFERS, "max-q trades speed for efficiency"),
		  .profile = PROFILE_MAX_PERFORMANCE },
		{ ROW("gpu.workload-power-profile",
		      GPU("'power_profiles': 'llm-training max-q', 'power_profiles_enforced': "
			  "'max-q'"),
		      FAIL, DIFFERS, "not in effect") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define SLICE(name, bytes, compute)                                                                \
	"{'profile': '" name "', 'memory_bytes': " bytes ", 'compute_slices': " compute "}"
#define HALF SLICE("3g.40gb", "42412802048", "3")
#define MPS(more) "{'gpu': {'mps': 'running', " more ", 'gpus': [{'memory_bytes': 85520809984}]}}"
#define MIG "'mig': 1, 'memory_bytes': 85520809984, 'slices_max': "

static void test_sharing(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("gpu.mig-layout", GPU("'mig': 0"), NA, NO_EFFECT, "off") },
		{ ROW("gpu.mig-layout", GPU("'mig': 1, 'slices_max': '!unsupported'"), NA,
		      NO_SUPPORT, NULL) },
		{ ROW("gpu.mig-layout", GPU("'mig': 1, 'slices_max': 7"), FAIL, DIFFERS,
		      "no CUDA program") },
		{ ROW("gpu.mig-layout", GPU(MIG "7, 'slices': [" HALF "]"), FAIL, DIFFERS,
		      "4 of 7 compute slices and 4 eighths") },
		/* Two halves leave one compute slice, for which there is no memory. */
		{ ROW("gpu.mig-layout", GPU(MIG "7, 'slices': [" HALF ", " HALF "]"), PASS, OK,
		      "3g.40gb, 3g.40gb") },
		/* Two compute instances of one GPU instance share its memory. */
		{ ROW("gpu.mig-layout",
		      GPU(MIG "7, 'slices': [" SLICE("4c.7g.80gb", "85098889216", "4") ", " SLICE(
			      "3c.7g.80gb", "85098889216", "3") "]"),
		      PASS, OK, NULL) },
		{ ROW("gpu.mps", GPU("'compute_mode': 'default'"), NA, NO_EFFECT, NULL) },
		/* One rule: with MPS the mode is its matter. */
		{ ROW("gpu.compute-mode",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': "
		      "'exclusive-process'}]}}",
		      NA, NO_EFFECT, "gpu.mps") },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': 'default'}]}}", FAIL,
		      DIFFERS, "programs of other users, or without the daemon's environment") },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': "
		      "'exclusive-process'}]}}",
		      PASS, OK, NULL) },
		{ ROW("gpu.mps",
		      "{'gpu': {'mps': 'running', 'gpus': [{'compute_mode': '!error'}]}}", UNKNOWN,
		      ERROR, NULL) },
		{ ROW("gpu.mps-limits", GPU("'compute_mode': 'default'"), NA, NO_EFFECT, NULL) },
		{ ROW("gpu.mps-limits", MPS("'mps_threads': '!absent', 'mps_memory': '!absent'"),
		      PASS, OK, "whole GPU") },
		{ ROW("gpu.mps-limits", MPS("'mps_threads': '25', 'mps_memory': '0=20G,1=512M'"),
		      NA, LEFT_ALONE, "set for programs that share a GPU; it also") },
		{ ROW("gpu.mps-limits", MPS("'mps_memory': '0=80G'"), FAIL, DIFFERS,
		      "a limit as large as the GPU's memory has no effect: one") },
		{ ROW("gpu.mps-limits", MPS("'mps_memory': 'all'"), UNKNOWN, ERROR, "GPU=SIZE") },
		{ ROW("gpu.mps-limits", MPS("'mps_threads': '0'"), UNKNOWN, ERROR, "1 to 100") },
		{ ROW("gpu.mps-limits", MPS("'mps_threads': 'many'"), UNKNOWN, ERROR, NULL) },
		{ ROW("gpu.mps-limits", MPS("'mps_threads': '!denied'"), UNKNOWN, DENIED, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define NFS(more)                                                                                  \
	"{'storage': {'mounts': [{'name': '/d', 'bdi': '0:57', 'type': 'nfs4', " more "}]}"
#define FAST "'net': {'nics': [{'name': 'a', 'operstate': 'up', 'speed_mbps': 200000}]}"

static void test_network_mounts(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("disk.nfs-read-ahead", "{}", NA, NO_HARDWARE, "no NFS mount") },
		{ ROW("disk.nfs-read-ahead", NFS("'read_ahead_kb': 128") "}", FAIL, DIFFERS,
		      "15360") },
		{ ROW("disk.nfs-read-ahead", NFS("'read_ahead_kb': 16384") "}", PASS, OK, NULL) },
		{ ROW("disk.nfs-read-ahead", NFS("'read_ahead_kb': '!denied'") "}", UNKNOWN, DENIED,
		      NULL) },
		{ ROW("disk.nfs-read-ahead", NFS("'read_ahead_kb': 128") "}", NA, LEFT_ALONE, NULL),
		  .profile = PROFILE_BALANCED },
		{ ROW("disk.nfs-connections", NFS("'options': 'rw,proto=tcp'") ", " FAST "}", FAIL,
		      DIFFERS, "200 Gb/s") },
		{ ROW("disk.nfs-connections",
		      NFS("'options': 'rw,nconnect=8,proto=tcp'") ", " FAST "}", PASS, OK, NULL) },
		{ ROW("disk.nfs-connections", NFS("'options': 'rw,proto=rdma'") ", " FAST "}", PASS,
		      OK, "RDMA") },
		{ ROW("disk.nfs-connections", NFS("'options': 'rw,proto=tcp'") "}", NA, NO_EFFECT,
		      NULL) },
		{ ROW("disk.nfs-transfer-size",
		      NFS("'options': 'rw,rsize=1048576,wsize=65536'") "}", FAIL, DIFFERS,
		      "wsize 65536") },
		{ ROW("disk.nfs-transfer-size",
		      NFS("'options': 'rw,rsize=1048576,wsize=1048576'") "}", PASS, OK, NULL) },
		{ ROW("disk.nfs-transfer-size", NFS("'options': 'rw,rsize=junk'") "}", UNKNOWN,
		      ERROR, "no rsize") },
		{ ROW("disk.lustre-read-ahead", "{}", NA, NO_HARDWARE, "no Lustre") },
		{ ROW("disk.lustre-read-ahead",
		      "{'storage': {'lustre_read_ahead_mb': 0, 'mounts': [{'type': 'lustre'}]}}",
		      FAIL, DIFFERS, "is 0 MiB") },
		{ ROW("disk.lustre-read-ahead",
		      "{'storage': {'lustre_read_ahead_mb': 64, 'mounts': [{'type': 'lustre'}]}}",
		      PASS, OK, NULL) },
		{ ROW("disk.lustre-checksums",
		      "{'storage': {'lustre_checksums': 1, 'mounts': [{'type': 'lustre'}]}}", NA,
		      LEFT_ALONE, "checksums trade CPU time for data integrity") },
		{ ROW("disk.lustre-read-ahead",
		      "{'storage': {'lustre_read_ahead_mb': '!error', 'mounts': [{'type': "
		      "'lustre'}]}}",
		      UNKNOWN, ERROR, NULL) },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define PATHS(transport, more)                                                                     \
	"{'storage': {'disks': [{'name': 'nvme0n1', 'role': 'disk', 'transport': '" transport      \
	"', " more "}]}}"
#define FABRIC(cpus, more)                                                                         \
	"{'cpu': {'online': '0-" #cpus "'}, 'storage': {'disks': [{'name': 'nvme0n1', 'role': "    \
	"'disk', 'transport': 'nvme-of', 'fabric': 'tcp', " more "}]}}"
#define STORE(storage, gpus)                                                                       \
	"{'kernel': {'release': '6.8.0-60-generic'}, 'storage': {" storage "}, 'software': "       \
	"{'libraries': [{'name': 'libcufile.so.0'}]}, 'gpu': {'driver_flavour': 'open', 'gpus': "  \
	"[" gpus "]}}"

#define CUFILE(direct, more)                                                                       \
	"{'storage': {'cufile_direct_kb': " direct more                                            \
	"}, 'net': {'nics': [{'name': 'a', 'ipv4': '10.0.0.1/24'}]}, 'software': {'libraries': "   \
	"[{'name': 'libcufile.so.0'}]}, 'gpu': {'gpus': [{'memory_bytes': 85520809984}]}}"
#define LIMITS(kind, limit) "{'platform': {'kind': '" kind "'}, 'memory': {" limit "}}"

static void test_data_paths(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("disk.nvme-paths", PATHS("nvme", "'path_policy': 'numa', 'paths': 2"), NA,
		      NO_HARDWARE, "no disk uses NVMe over Fabrics") },
		{ ROW("disk.nvme-paths", PATHS("nvme-of", "'path_policy': 'numa', 'paths': 1"), NA,
		      NO_EFFECT, "one path") },
		{ ROW("disk.nvme-paths", PATHS("nvme-of", "'path_policy': 'numa', 'paths': 4"),
		      FAIL, DIFFERS, "round-robin") },
		{ ROW("disk.nvme-paths",
		      PATHS("nvme-of", "'path_policy': 'queue-depth', 'paths': 4"), PASS, OK,
		      NULL) },
		{ ROW("disk.nvme-connection", PATHS("nvme", "'io_queues': 1"), NA, NO_HARDWARE,
		      NULL) },
		{ ROW("disk.nvme-connection",
		      FABRIC(2, "'paths': 2, 'live_paths': 2, 'io_queues': 8"), PASS, OK, NULL) },
		{ ROW("disk.nvme-connection",
		      FABRIC(2, "'paths': 2, 'live_paths': 1, 'io_queues': 8"), FAIL, DIFFERS,
		      "lost its target") },
		{ ROW("disk.nvme-connection",
		      FABRIC(64, "'paths': 2, 'live_paths': 2, 'io_queues': 7"), FAIL, DIFFERS,
		      "one CPU") },
		{ ROW("disk.nvme-connection",
		      FABRIC(1, "'paths': 1, 'live_paths': 1, 'io_queues': 2"), PASS, OK, NULL) },
		{ ROW("disk.nvme-connection",
		      FABRIC(1, "'paths': 1, 'io_queues': 2, 'loss_timeout': '599'"), FAIL, DIFFERS,
		      "I/O errors") },
		{ ROW("disk.nvme-connection",
		      FABRIC(1, "'paths': 1, 'io_queues': 2, 'loss_timeout': '600'"), PASS, OK,
		      NULL) },
		{ ROW("disk.nvme-connection",
		      FABRIC(1, "'paths': 1, 'io_queues': 2, 'loss_timeout': 'off'"), PASS, OK,
		      NULL) },
		{ ROW("disk.nvme-connection",
		      FABRIC(1, "'paths': 2, 'io_queues': 2, 'loss_timeout': '30'"), PASS, OK,
		      NULL) },
		{ ROW("disk.nvme-connection", FABRIC(2, "'io_queues': '!denied'"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("disk.overlay", "{'storage': {'mounts': [{'name': '/', 'type': 'ext4'}]}}",
		      NA, NO_EFFECT, NULL) },
		{ ROW("disk.overlay",
		      "{'storage': {'mounts': [{'name': '/', 'type': 'overlay'}, {'name': "
		      "'/etc/hosts', 'type': 'ext4'}]}}",
		      FAIL, DIFFERS, "end deletes written data") },
		{ ROW("disk.overlay",
		      "{'storage': {'mounts': [{'name': '/', 'type': 'overlay'}, {'name': "
		      "'/models', 'type': 'xfs'}]}}",
		      PASS, OK, "/models") },
		{ ROW("disk.gpudirect-storage", STORE("", ""), NA, NO_HARDWARE, NULL) },
		{ ROW("disk.gpudirect-storage", STORE("", "{'integrated': 1}"), NA, INTEGRATED,
		      NULL) },
		{ ROW("disk.gpudirect-storage", STORE("'nvidia_fs': '2.26.6'", "{'integrated': 0}"),
		      PASS, OK, "2.26.6") },
		{ ROW("disk.gpudirect-storage", STORE("'cufile_p2pdma': 1", "{'integrated': 0}"),
		      PASS, OK, "peer-to-peer") },
		{ ROW("disk.gpudirect-storage", STORE("'cufile_compat': 1", "{'integrated': 0}"),
		      NA, LEFT_ALONE, "compatibility mode") },
		{ ROW("disk.gpudirect-storage", STORE("'cufile_compat': 0", "{'integrated': 0}"),
		      FAIL, DIFFERS,
		      "cufile.json forbids reads through host memory, and there is no") },
		{ ROW("disk.gpudirect-storage", "{'gpu': {'gpus': [{'integrated': 0}]}}", NA,
		      NO_SUPPORT, "no cuFile") },
		{ ROW("disk.cufile-values", STORE("", "{'integrated': 0}"), NA, NO_SUPPORT, NULL) },
		{ ROW("disk.cufile-values",
		      STORE("'cufile_direct_kb': '!denied'", "{'integrated': 0}"), UNKNOWN, DENIED,
		      NULL) },
		{ ROW("disk.cufile-values", CUFILE("16384", ""), PASS, OK,
		      "sizes are consistent and match NVIDIA's recommendation") },
		{ ROW("disk.cufile-values", CUFILE("1024", ""), NA, LEFT_ALONE, "defaults") },
		{ ROW("disk.cufile-values", CUFILE("1023", ""), FAIL, DIFFERS, "4 KiB") },
		{ ROW("disk.cufile-values", CUFILE("-4", ""), FAIL, DIFFERS, "4 KiB") },
		{ ROW("disk.cufile-values",
		      CUFILE("16384", ", 'cufile_cache_kb': 8192, 'cufile_buffer_kb': 16384"), FAIL,
		      DIFFERS, "one bounce buffer") },
		{ ROW("disk.cufile-values", CUFILE("16384", ", 'cufile_pinned_kb': 65536"), FAIL,
		      DIFFERS, "pinned") },
		{ ROW("disk.cufile-values", CUFILE("16384", ", 'cufile_cache_kb': 134217728"), FAIL,
		      DIFFERS, "the GPU's memory") },
		{ ROW("disk.cufile-values",
		      CUFILE("16384", ", 'cufile_addresses': '10.0.0.1 10.0.0.9'"), FAIL, DIFFERS,
		      "has 10.0.0.9") },
		{ ROW("disk.cufile-values",
		      CUFILE("16384", ", 'cufile_addresses': '10.0.0.1 fd00::1'"), PASS, OK,
		      NULL) },
		/* A part of an address is another address. */
		{ ROW("disk.cufile-values", CUFILE("16384", ", 'cufile_addresses': '10.0.0.'"),
		      FAIL, DIFFERS, NULL) },
		{ ROW("disk.cufile-values",
		      CUFILE("16384", ", 'mounts': [{'name': '/weka', 'type': 'wekafs'}]"), FAIL,
		      DIFFERS, "/weka is read through host memory") },
		{ ROW("service.open-files", LIMITS("hgx", "'open_files': 4096"), FAIL, DIFFERS,
		      "EMFILE") },
		{ ROW("service.open-files", LIMITS("hgx", "'open_files': 1048576"), PASS, OK,
		      NULL) },
		{ ROW("service.open-files", LIMITS("hgx", "'open_files': -1"), PASS, OK,
		      "unlimited") },
		{ ROW("service.open-files", LIMITS("hgx", "'open_files': -7"), UNKNOWN, ERROR,
		      NULL) },
		{ ROW("service.open-files", LIMITS("dgx-spark", "'open_files': 4096"), NA,
		      LEFT_ALONE, NULL) },
		{ ROW("service.open-files", LIMITS("dgx-spark", "'open_files': 4096"), FAIL,
		      DIFFERS, "EMFILE"),
		  .profile = PROFILE_VENDOR },
		{ ROW("service.stack-size", LIMITS("hgx", "'stack_bytes': 8388608"), NA, LEFT_ALONE,
		      "8 MiB") },
	};

	(void)state;
	FAKE_CHECK(rows);
}

#define X86 "'kernel': {'arch': 'x86_64'}, 'cpu': {"

static void test_firmware(void **state)
{
	static const struct fake_row rows[] = {
		{ ROW("cpu.smt", "{'platform': {'virtual': 1}, " X86 "'smt_active': 1}}", NA,
		      VIRTUAL, NULL) },
		{ ROW("cpu.smt", "{'kernel': {'arch': 'aarch64'}}", NA, NO_SUPPORT, NULL) },
		{ ROW("cpu.smt", "{'platform': {'kind': 'hgx'}, " X86 "'smt_active': 1}}", NA,
		      LEFT_ALONE, "DGX systems ship with SMT on; AMD's table for GPU") },
		{ ROW("cpu.smt", "{" X86 "'smt_active': 1}}", NA, LEFT_ALONE,
		      "throughput of many threads") },
		{ ROW("cpu.smt", "{" X86 "'smt_active': '!error'}}", UNKNOWN, ERROR, NULL) },
		{ ROW("cpu.nodes-per-socket", "{" X86 "'sockets': 2, 'nodes': [{'cpus': '0-9'}]}}",
		      FAIL, DIFFERS, "interleaves") },
		{ ROW("cpu.nodes-per-socket",
		      "{" X86 "'sockets': 2, 'nodes': [{'cpus': '0-4'}, {'cpus': '5-9'}]}}", PASS,
		      OK, "one node per socket") },
		{ ROW("cpu.nodes-per-socket",
		      "{" X86 "'sockets': 1, 'nodes': [{'cpus': '0-4'}, {'cpus': '5-9'}]}}", PASS,
		      OK, "NPS") },
		/* Memory without processors is no part of a socket. */
		{ ROW("cpu.nodes-per-socket",
		      "{" X86 "'sockets': 2, 'nodes': [{'cpus': '0-9'}, {'cpus': ''}]}}", FAIL,
		      DIFFERS, "1 nodes on 2") },
		{ ROW("cpu.nodes-per-socket", "{" X86 "'sockets': 2}}", NA, NO_SUPPORT, NULL) },
		{ ROW("cpu.idle-offered", "{'kernel': {'arch': 'aarch64'}}", NA, NOT_HERE, NULL) },
		{ ROW("cpu.idle-offered",
		      "{" X86
		      "'idle_driver': 'acpi_idle', 'idle': [{'states': [{'name': 'POLL'}]}]}}",
		      FAIL, DIFFERS, "no core can sleep") },
		{ ROW("cpu.idle-offered",
		      "{" X86 "'idle': [{'states': [{'name': 'POLL'}, {'name': 'C1'}]}]}}", PASS,
		      OK, NULL) },
		{ ROW("cpu.idle-offered", "{" X86 "'idle_driver': '!denied'}}", UNKNOWN, DENIED,
		      NULL) },
		{ ROW("cpu.platform-profile", "{'cpu': {'platform_profile': '!absent'}}", NA,
		      NO_SUPPORT, NULL) },
		{ ROW("cpu.platform-profile", "{'cpu': {'platform_profile': 'quiet'}}", FAIL,
		      DIFFERS, "fans") },
		{ ROW("cpu.platform-profile", "{'cpu': {'platform_profile': 'balanced'}}", PASS, OK,
		      NULL) },
		{ ROW("memory.thp-enabled",
		      "{'memory': {'page_size_bytes': 65536, 'thp_enabled': 'always'}}", FAIL,
		      DIFFERS, "madvise") },
		{ ROW("memory.thp-enabled",
		      "{'memory': {'page_size_bytes': 4096, 'thp_enabled': 'always'}}", PASS, OK,
		      NULL) },
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
		cmocka_unit_test(test_network_mounts),
		cmocka_unit_test(test_data_paths),
		cmocka_unit_test(test_firmware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
