/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/cpu.h: key, title, unit and place of every fact. */
#include "machine/model/cpu.h"

static const struct field idle_state_fields[] = {
	FIELD_ROW(idle_state, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(idle_state, name, FIELD_STR, "name", "Name", NULL),
	FIELD_ROW(idle_state, latency, FIELD_INT, "latency_us", "Latency", "us"),
	FIELD_ROW(idle_state, residency, FIELD_INT, "residency_us", "Residency", "us"),
	FIELD_ROW(idle_state, disabled, FIELD_BOOL, "disabled", "Disabled", NULL),
};
const struct schema schema_idle_state = SCHEMA(idle_state, idle_state_fields);

static const struct field idle_group_fields[] = {
	FIELD_ROW(idle_group, cpus, FIELD_SET, "cpus", "CPUs", NULL),
	FIELD_SUB(idle_group, states, FIELD_LIST, "states", "States", &schema_idle_state),
};
const struct schema schema_idle_group = SCHEMA(idle_group, idle_group_fields);

static const struct field freq_policy_fields[] = {
	FIELD_ROW(freq_policy, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(freq_policy, cpus, FIELD_SET, "cpus", "CPUs", NULL),
	FIELD_ROW(freq_policy, driver, FIELD_STR, "driver", "Driver", NULL),
	FIELD_ROW(freq_policy, governor, FIELD_STR, "governor", "Governor", NULL),
	FIELD_ROW(freq_policy, governors, FIELD_STR, "governors", "Governors", NULL),
	FIELD_ROW(freq_policy, epp, FIELD_STR, "epp", "Energy/performance preference", NULL),
	FIELD_ROW(freq_policy, min_khz, FIELD_INT, "min_khz", "Minimum", "kHz"),
	FIELD_ROW(freq_policy, max_khz, FIELD_INT, "max_khz", "Maximum", "kHz"),
	FIELD_ROW(freq_policy, hw_min_khz, FIELD_INT, "hw_min_khz", "Hardware minimum", "kHz"),
	FIELD_ROW(freq_policy, hw_max_khz, FIELD_INT, "hw_max_khz", "Hardware maximum", "kHz"),
	FIELD_ROW(freq_policy, auto_select, FIELD_BOOL, "auto_select", "Auto select", NULL),
};
const struct schema schema_freq_policy = SCHEMA(freq_policy, freq_policy_fields);

static const struct field core_type_fields[] = {
	FIELD_ROW(core_type, name, FIELD_NAME, "name", "Name", NULL),
	FIELD_ROW(core_type, midr, FIELD_STR, "midr", "MIDR", NULL),
	FIELD_ROW(core_type, part, FIELD_HEX, "part", "Part", NULL),
	FIELD_ROW(core_type, capacity, FIELD_INT, "capacity", "Capacity", NULL),
	FIELD_ROW(core_type, max_khz, FIELD_INT, "max_khz", "Maximum", "kHz"),
	FIELD_ROW(core_type, role, FIELD_STR, "role", "Role", NULL),
	FIELD_ROW(core_type, cpus, FIELD_SET, "cpus", "CPUs", NULL),
};
const struct schema schema_core_type = SCHEMA(core_type, core_type_fields);

static const struct field cpu_cluster_fields[] = {
	FIELD_ROW(cpu_cluster, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(cpu_cluster, cpus, FIELD_SET, "cpus", "CPUs", NULL),
	FIELD_ROW(cpu_cluster, l3_bytes, FIELD_INT, "l3_bytes", "L3", "bytes"),
};
const struct schema schema_cpu_cluster = SCHEMA(cpu_cluster, cpu_cluster_fields);

static const struct field cpu_cache_fields[] = {
	FIELD_ROW(cpu_cache, level, FIELD_ID, "level", "Level", NULL),
	FIELD_ROW(cpu_cache, type, FIELD_STR, "type", "Type", NULL),
	FIELD_ROW(cpu_cache, size_bytes, FIELD_INT, "size_bytes", "Size", "bytes"),
	FIELD_ROW(cpu_cache, count, FIELD_INT, "count", "Count", NULL),
};
const struct schema schema_cpu_cache = SCHEMA(cpu_cache, cpu_cache_fields);

static const struct field numa_node_fields[] = {
	FIELD_ROW(numa_node, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(numa_node, cpus, FIELD_SET, "cpus", "CPUs", NULL),
	FIELD_ROW(numa_node, mem_total_bytes, FIELD_INT, "mem_total_bytes", "Memory total",
		  "bytes"),
	FIELD_ROW(numa_node, mem_free_bytes, FIELD_INT, "mem_free_bytes", "Memory free", "bytes"),
	FIELD_ROW(numa_node, distance, FIELD_STR, "distance", "Distance", NULL),
};
const struct schema schema_numa_node = SCHEMA(numa_node, numa_node_fields);

static const struct field cpus_fields[] = {
	FIELD_ROW(cpus, model, FIELD_STR, "model", "Model", NULL),
	FIELD_ROW(cpus, arch, FIELD_STR, "arch", "Arch", NULL),
	FIELD_ROW(cpus, vendor, FIELD_STR, "vendor", "Vendor", NULL),
	FIELD_ROW(cpus, online, FIELD_SET, "online", "Online", NULL),
	FIELD_ROW(cpus, present, FIELD_SET, "present", "Present", NULL),
	FIELD_ROW(cpus, possible, FIELD_SET, "possible", "Possible", NULL),
	FIELD_ROW(cpus, isolated, FIELD_SET, "isolated", "Isolated", NULL),
	FIELD_ROW(cpus, nohz_full, FIELD_SET, "nohz_full", "Nohz full", NULL),
	FIELD_ROW(cpus, sockets, FIELD_INT, "sockets", "Sockets", NULL),
	FIELD_ROW(cpus, cores, FIELD_INT, "cores", "Cores", NULL),
	FIELD_ROW(cpus, threads, FIELD_INT, "threads", "Threads", NULL),
	FIELD_ROW(cpus, threads_per_core, FIELD_INT, "threads_per_core", "Threads per core", NULL),
	FIELD_ROW(cpus, smt_active, FIELD_BOOL, "smt_active", "SMT active", NULL),
	FIELD_ROW(cpus, boost, FIELD_BOOL, "boost", "Boost", NULL),
	FIELD_ROW(cpus, idle_driver, FIELD_STR, "idle_driver", "Idle driver", NULL),
	FIELD_ROW(cpus, idle_governor, FIELD_STR, "idle_governor", "Idle governor", NULL),
	FIELD_ROW(cpus, cppc_auto_sel_mode, FIELD_BOOL, "cppc_auto_sel_mode", "CPPC auto sel mode",
		  NULL),
	FIELD_ROW(cpus, hypervisor, FIELD_BOOL, "hypervisor", "Hypervisor", NULL),
	FIELD_ROW(cpus, default_smp_affinity, FIELD_STR, "default_smp_affinity",
		  "Default smp affinity", NULL),
	FIELD_SUB(cpus, types, FIELD_LIST, "types", "Types", &schema_core_type),
	FIELD_SUB(cpus, clusters, FIELD_LIST, "clusters", "Clusters", &schema_cpu_cluster),
	FIELD_SUB(cpus, caches, FIELD_LIST, "caches", "Caches", &schema_cpu_cache),
	FIELD_SUB(cpus, policies, FIELD_LIST, "policies", "Policies", &schema_freq_policy),
	FIELD_SUB(cpus, idle, FIELD_LIST, "idle", "Idle", &schema_idle_group),
	FIELD_SUB(cpus, nodes, FIELD_LIST, "nodes", "Nodes", &schema_numa_node),
};
const struct schema schema_cpus = SCHEMA(cpus, cpus_fields);
