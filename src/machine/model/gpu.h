/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs as NVML and the kernel driver describe them. */
#ifndef MODEL_GPU_H
#define MODEL_GPU_H

#include "base/fact.h"
#include "machine/model/rows.h"

struct nvlink {
	unsigned index;
	struct fact_int active;	     /* 0 or 1 */
	struct fact_int version;     /* NVML's number */
	struct fact_str remote;	     /* PCI address of the far end */
	struct fact_str remote_type; /* "gpu", "switch", "ibm-npu", "unknown" */
	struct fact_int speed_mbs;   /* MB/s, one direction */
	struct fact_int crc_errors, replay_errors, recovery_errors; /* counts */
};

/* Whether this GPU may read, write and reach over NVLink the memory of another: "ok" or why not. */
struct gpu_peer {
	unsigned index; /* the other's NVML index */
	struct fact_str p2p_read, p2p_write, p2p_nvlink;
};

/* An error number of the driver in the kernel's log of this boot. By address and not by GPU: one
 * that fell off the bus has no index any more. */
struct gpu_xid {
	const char *pci;       /* as in struct gpu */
	unsigned index;	       /* the number: 79 */
	struct fact_int count; /* lines */
	struct fact_int age_s; /* since the last of them; unsupported: the log has no times */
};

struct gpu_process {
	unsigned index;		 /* process id */
	struct fact_str kind;	 /* "compute", "graphics" */
	struct fact_str command; /* /proc/PID/comm where readable */
	struct fact_int memory_bytes;
};

/* A part of a GPU that MIG made: what CUDA sees as a GPU of its own. */
struct mig_slice {
	unsigned index;
	struct fact_str profile; /* "1g.10gb", as NVML names it */
	struct fact_str uuid;	 /* "MIG-...", as CUDA_VISIBLE_DEVICES takes it */
	struct fact_int sm_count, memory_bytes;
	struct fact_int instance_slices; /* of the GPU instance that it is part of */
	struct fact_int compute_slices;	 /* its own, of the GPU's 7 */
};

struct gpu {
	unsigned index;	 /* NVML index */
	const char *pci; /* full-domain PCI address, lower case: "0000:18:00.0" */
	struct fact_str name, uuid, architecture, vbios, serial;
	struct fact_str brand;
	struct fact_int integrated; /* 1: shares the host's memory (GB10, Orin iGPU) */
	struct fact_int sm_count;
	struct fact_int cc_major, cc_minor; /* CUDA compute capability */
	struct fact_int memory_bytes, memory_used_bytes, memory_reserved_bytes;
	struct fact_int memory_bus_bits;
	struct fact_int bar1_bytes, bar1_used_bytes;
	struct fact_int persistence; /* 0 or 1 */
	struct fact_int accounting;  /* 0 or 1 */
	struct fact_str
		compute_mode; /* "default", "exclusive-process", "prohibited", "exclusive-thread" */
	struct fact_int ecc, ecc_pending;		/* 0 or 1 */
	struct fact_int ecc_corrected, ecc_uncorrected; /* aggregate counts */
	struct fact_int ecc_volatile; /* uncorrected since the driver was loaded */
	struct fact_int remap_corrected, remap_uncorrected, remap_pending, remap_failed;
	struct fact_int mig, mig_pending; /* 0 or 1 */
	struct fact_str addressing_mode;  /* "none", "hmm", "ats" */
	struct fact_int c2c;		  /* 1: NVLink-C2C enabled */
	struct fact_int clock_sm_mhz, clock_sm_max_mhz, clock_mem_mhz, clock_mem_max_mhz;
	/* "MIN,MAX" MHz as gputune set it in this boot, from its journal: the driver cannot be
	 * asked. */
	struct fact_str clock_sm_lock, clock_mem_lock;
	struct fact_int clock_graphics_max_mhz;
	/* application clocks */
	struct fact_int clock_app_sm_mhz, clock_app_default_sm_mhz;
	struct fact_int clock_app_mem_mhz, clock_app_default_mem_mhz;
	struct fact_int clock_boost_max_mhz; /* maximum customer boost */
	struct fact_int mem_clocks;	     /* how many memory clocks may be chosen */
	struct fact_int power_mw, power_limit_mw, power_limit_default_mw, power_limit_min_mw,
		power_limit_max_mw, power_limit_enforced_mw;
	/* Of the module that GPU and processor share (Grace Hopper, Grace Blackwell). */
	struct fact_int module_limit_mw, module_limit_default_mw;
	/* Workload power profiles by name, blank-separated: asked for, and in force. */
	struct fact_str power_profiles, power_profiles_enforced;
	struct fact_int temperature_c, temperature_slowdown_c, temperature_shutdown_c,
		temperature_max_c;
	struct fact_int temperature_margin_c; /* degrees left below the first limit */
	struct fact_int temperature_memory_c, temperature_memory_max_c;
	struct fact_str recovery_action; /* "none", or what the driver says is needed: "reset",
					    "reboot", ... */
	struct fact_str
		virtualization; /* "none", "passthrough", "vgpu", "host-vgpu", "host-vsga" */
	struct fact_int pstate; /* 0 is fastest */
	struct fact_int util_gpu_pct, util_mem_pct;
	struct fact_int event_reasons; /* NVML clocks event reasons, bit mask */
	struct fact_int event_sw_power_us, event_sw_thermal_us, event_hw_power_us,
		event_hw_thermal_us, event_sync_boost_us; /* time since driver load, microseconds */
	struct fact_int pcie_gen, pcie_gen_max, pcie_gen_device_max, pcie_width, pcie_width_max;
	struct fact_int pcie_replays;
	struct fact_str
		fabric_state; /* "completed", "in-progress", "not-started", "not-supported" */
	struct fact_int fabric_health; /* NVML's fabric health mask */
	struct fact_int fabric_status; /* NVML return code of the registration, 0 is success */
	struct fact_str
		fabric_summary; /* "healthy", "unhealthy", "limited-capacity", "not-supported" */
	struct fact_int fabric_clique; /* GPUs of one clique reach each other by NVLink */
	struct fact_int cuda_gpudirect_rdma, cuda_dma_buf,
		cuda_integrated;	  /* CUDA attributes 116, 124, 18 */
	struct fact_int numa_node;	  /* of the PCI function */
	struct fact_int memory_numa_node; /* coherent GPUs: the GPU's own memory node */
	struct fact_set cpu_affinity;
	struct fact_int slices_max; /* slices that MIG may make of it */
	struct list slices;	    /* struct mig_slice */
	struct list links;	    /* struct nvlink */
	struct list peers;	    /* struct gpu_peer */
	struct list processes;	    /* struct gpu_process */
};

struct gpus {
	struct fact_str driver;		/* "580.159.04" */
	struct fact_str driver_flavour; /* "open", "proprietary" */
	struct fact_str nvml;		/* NVML library version */
	struct fact_int cuda_driver;	/* 13000 = 13.0 */
	struct fact_int count;		/* GPUs NVML counts */
	struct fact_int pci_count;	/* NVIDIA display functions on the PCI bus */
	struct fact_str uvm_loaded;	/* module state, "yes" */
	struct fact_int xid_events;	/* Xid lines in the kernel log, where it may be read */
	struct fact_int sxid_fatal, sxid_nonfatal; /* error lines of NVSwitches, likewise */
	struct fact_str fabric_manager;		   /* unit state */
	struct fact_str fabric_manager_version;	   /* "570.133.20" */
	struct fact_str nvlsm; /* NVLink Subnet Manager, which Fabric Manager starts: its path */
	/* What the driver was loaded with, /proc/driver/nvidia/params. */
	struct fact_int profiling_restricted, relaxed_ordering, preserve_memory, stream_memops;
	struct fact_str coherent_mode, registry_dwords; /* "" where nothing was asked for */
	struct fact_int imex_nodes;			/* addresses in nodes_config.cfg */
	struct fact_int imex_channels;			/* devices that programs open */
	struct fact_str imex_state;			/* of the daemon: "ready" */
	struct fact_str mps;				/* "running" */
	struct fact_str mps_threads, mps_memory; /* its defaults: "50" per cent, "0=4G,1=4G" */
	struct list gpus;			 /* struct gpu */
	struct list xids; /* struct gpu_xid; says nothing where xid_events was not seen */
};

extern const struct shape gpus_shape, gpu_shape, nvlink_shape, gpu_process_shape, gpu_xid_shape,
	mig_slice_shape;

/* The name of a GPU without its maker, which all of them share: "GB10" of "NVIDIA GB10". */
const char *gpu_name_short(const char *name);

/* Bits of event_reasons. Source: nvml.h, nvmlClocksEventReason*. */
enum {
	EVENT_IDLE = 0x1,
	EVENT_APP_CLOCKS = 0x2,
	EVENT_SW_POWER = 0x4,
	EVENT_HW_SLOWDOWN = 0x8,
	EVENT_SYNC_BOOST = 0x10,
	EVENT_SW_THERMAL = 0x20,
	EVENT_HW_THERMAL = 0x40,
	EVENT_HW_POWER = 0x80,
	EVENT_DISPLAY = 0x100,
};

#endif
