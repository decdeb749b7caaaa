/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the processors. Objects: logical CPUs, frequency policies, core types, NUMA
 * nodes. */
#ifndef MODEL_CPU_H
#define MODEL_CPU_H

#include "base/fact.h"
#include "machine/model/rows.h"

/* One idle state of one CPU. */
struct idle_state {
	unsigned index;		   /* N of cpuidle/stateN */
	struct fact_str name;	   /* "C6" */
	struct fact_int latency;   /* exit latency, microseconds */
	struct fact_int residency; /* target residency, microseconds */
	struct fact_int disabled;  /* 0 or 1, of this CPU */
};

/* CPUs whose idle states have the same names, latencies and disable flags: one row for 256 CPUs. */
struct idle_group {
	struct fact_set cpus;
	struct list states; /* struct idle_state */
};

/* One cpufreq policy: CPUs that share one clock domain. */
struct freq_policy {
	unsigned index; /* N of cpufreq/policyN */
	struct fact_set cpus;
	struct fact_str driver; /* "cppc_cpufreq" */
	struct fact_str governor;
	struct fact_str governors;		/* available, blank-separated */
	struct fact_str epp;			/* energy_performance_preference */
	struct fact_int min_khz, max_khz;	/* scaling bounds, kHz */
	struct fact_int hw_min_khz, hw_max_khz; /* cpuinfo bounds, kHz */
	struct fact_int auto_select;		/* CPPC autonomous selection, 0 or 1 */
};

/* Cores of one kind: "Cortex-X925", found by MIDR, capacity and maximum frequency. */
struct core_type {
	const char *name;
	struct fact_str midr;	  /* "0x410fd850"; absent on x86 */
	struct fact_int part;	  /* MIDR part number */
	struct fact_int capacity; /* 0..1024, cpu_capacity */
	struct fact_int max_khz;  /* cpuinfo_max_freq, kHz */
	struct fact_str role;	  /* "big", "little", "mid", "all" */
	struct fact_set cpus;
};

struct cpu_cluster {
	unsigned index;
	struct fact_set cpus;
	struct fact_int l3_bytes;
};

struct cpu_cache {
	unsigned level;
	struct fact_str type;	    /* "Data", "Instruction", "Unified" */
	struct fact_int size_bytes; /* of one */
	struct fact_int count;	    /* how many of this size the machine has */
};

struct numa_node {
	unsigned index;
	struct fact_set cpus;
	struct fact_int mem_total_bytes, mem_free_bytes;
	struct fact_str distance; /* "10 21" */
};

struct cpus {
	struct fact_str model;	/* model name, or the core types joined on arm64 */
	struct fact_str arch;	/* "x86_64", "aarch64" */
	struct fact_str vendor; /* "GenuineIntel", "ARM" */
	struct fact_set online, present, possible, isolated, nohz_full;
	struct fact_int sockets, cores, threads, threads_per_core;
	struct fact_int smt_active;	  /* 0 or 1 */
	struct fact_str platform_profile; /* of firmware: "balanced", "performance" */
	struct fact_int boost;		  /* cpufreq/boost or !intel_pstate/no_turbo: 0 or 1 */
	/* Of intel_pstate: what the processors are held to, in per cent of the highest clock. */
	struct fact_int perf_max_pct, perf_min_pct;
	/* What firmware calls the highest and the nominal performance, of the CPU that boost gives
	 * most; asked where it is off. */
	struct fact_int cppc_highest, cppc_nominal;
	struct fact_str idle_driver, idle_governor;
	struct fact_int cppc_auto_sel_mode;   /* module parameter of cppc_cpufreq, 0 or 1 */
	struct fact_int hypervisor;	      /* 1 in a virtual machine */
	struct fact_str default_smp_affinity; /* /proc/irq mask */
	struct fact_int power_mode;	      /* of nvpmodel: its number */
	struct fact_str power_mode_name;      /* "MAXN", "15W" */
	struct fact_int power_mode_most; /* the mode without ceilings; numbers differ by board */
	struct list types;		 /* struct core_type */
	struct list clusters;		 /* struct cpu_cluster */
	struct list caches;		 /* struct cpu_cache */
	struct list policies;		 /* struct freq_policy */
	struct list idle;		 /* struct idle_group */
	struct list nodes;		 /* struct numa_node */
};

extern const struct shape cpus_shape, freq_policy_shape, core_type_shape, cpu_cluster_shape,
	cpu_cache_shape, numa_node_shape, idle_group_shape, idle_state_shape;

#endif
