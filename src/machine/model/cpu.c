/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/cpu.h: key, title, unit and place of every fact. */
#include "machine/model/cpu.h"

/* clang-format off */
const struct shape idle_state_shape = SHAPE_OF(idle_state, idle_state,
	FACT_NUMBER(idle_state, index, "Index"),
	FACT(idle_state, name, "Name", NULL),
	{ "latency_us", NULL, "Latency", "us", SHAPE_FACT(idle_state, latency) },
	{ "residency_us", NULL, "Residency", "us", SHAPE_FACT(idle_state, residency) },
	FACT_FLAG(idle_state, disabled, "Disabled"));

const struct shape idle_group_shape = SHAPE_OF(idle_group, idle_group,
	FACT(idle_group, cpus, "CPUs", NULL),
	FACT_LIST(idle_group, states, "States", idle_state));

const struct shape freq_policy_shape = SHAPE_OF(freq_policy, freq_policy,
	FACT_NUMBER(freq_policy, index, "Index"),
	FACT(freq_policy, cpus, "CPUs", NULL),
	FACT(freq_policy, driver, "Driver", NULL),
	FACT(freq_policy, governor, "Governor", NULL),
	FACT(freq_policy, governors, "Governors", NULL),
	FACT(freq_policy, epp, "Energy/performance preference", NULL),
	FACT(freq_policy, min_khz, "Minimum", "kHz"),
	FACT(freq_policy, max_khz, "Maximum", "kHz"),
	FACT(freq_policy, hw_min_khz, "Hardware minimum", "kHz"),
	FACT(freq_policy, hw_max_khz, "Hardware maximum", "kHz"),
	FACT_FLAG(freq_policy, auto_select, "Autonomous selection"));

const struct shape core_type_shape = SHAPE_OF(core_type, core_type,
	FACT_NAME(core_type, name, "Name"),
	FACT(core_type, midr, "MIDR", NULL),
	FACT_HEX(core_type, part, "Part"),
	FACT(core_type, capacity, "Capacity", NULL),
	FACT(core_type, max_khz, "Maximum", "kHz"),
	FACT(core_type, role, "Role", NULL),
	FACT(core_type, cpus, "CPUs", NULL));

const struct shape cpu_cluster_shape = SHAPE_OF(cpu_cluster, cpu_cluster,
	FACT_NUMBER(cpu_cluster, index, "Index"),
	FACT(cpu_cluster, cpus, "CPUs", NULL),
	FACT(cpu_cluster, l3_bytes, "L3", "bytes"));

const struct shape cpu_cache_shape = SHAPE_OF(cpu_cache, cpu_cache,
	FACT_NUMBER(cpu_cache, level, "Level"),
	FACT(cpu_cache, type, "Type", NULL),
	FACT(cpu_cache, size_bytes, "Size", "bytes"),
	FACT(cpu_cache, count, "Count", NULL));

const struct shape numa_node_shape = SHAPE_OF(numa_node, numa_node,
	FACT_NUMBER(numa_node, index, "Index"),
	FACT(numa_node, cpus, "CPUs", NULL),
	FACT(numa_node, mem_total_bytes, "Memory total", "bytes"),
	FACT(numa_node, mem_free_bytes, "Memory free", "bytes"),
	FACT(numa_node, distance, "Distance", NULL));

const struct shape cpus_shape = SHAPE_OF(cpus, cpus,
	FACT(cpus, model, "Model", NULL),
	FACT(cpus, arch, "Arch", NULL),
	FACT(cpus, vendor, "Vendor", NULL),
	FACT(cpus, online, "Online", NULL),
	FACT(cpus, present, "Present", NULL),
	FACT(cpus, possible, "Possible", NULL),
	FACT(cpus, isolated, "Isolated", NULL),
	FACT(cpus, nohz_full, "Nohz full", NULL),
	FACT(cpus, sockets, "Sockets", NULL),
	FACT(cpus, cores, "Cores", NULL),
	FACT(cpus, threads, "Threads", NULL),
	FACT(cpus, threads_per_core, "Threads per core", NULL),
	FACT_FLAG(cpus, smt_active, "SMT active"),
	FACT(cpus, platform_profile, "Platform profile", NULL),
	FACT_FLAG(cpus, boost, "Boost"),
	FACT(cpus, perf_max_pct, "Maximum performance", "%"),
	FACT(cpus, perf_min_pct, "Minimum performance", "%"),
	FACT(cpus, cppc_highest, "CPPC highest performance", NULL),
	FACT(cpus, cppc_nominal, "CPPC nominal performance", NULL),
	FACT(cpus, idle_driver, "Idle driver", NULL),
	FACT(cpus, idle_governor, "Idle governor", NULL),
	FACT_FLAG(cpus, cppc_auto_sel_mode, "CPPC autonomous selection"),
	FACT_FLAG(cpus, hypervisor, "Hypervisor"),
	FACT(cpus, default_smp_affinity, "Default SMP affinity", NULL),
	FACT(cpus, power_mode, "Power mode", NULL),
	FACT(cpus, power_mode_name, "Power mode name", NULL),
	FACT(cpus, power_mode_most, "Power mode without limits", NULL),
	FACT_LIST(cpus, types, "Types", core_type),
	FACT_LIST(cpus, clusters, "Clusters", cpu_cluster),
	FACT_LIST(cpus, caches, "Caches", cpu_cache),
	FACT_LIST(cpus, policies, "Policies", freq_policy),
	FACT_LIST(cpus, idle, "Idle", idle_group),
	FACT_LIST(cpus, nodes, "Nodes", numa_node));
/* clang-format on */
