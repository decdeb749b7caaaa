/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/gpu.h: key, title, unit and place of every fact. */
#include "machine/model/gpu.h"

#include "base/text.h"

static const struct field nvlink_fields[] = {
	FIELD_ROW(nvlink, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(nvlink, active, FIELD_BOOL, "active", "Active", NULL),
	FIELD_ROW(nvlink, version, FIELD_INT, "version", "Version", NULL),
	FIELD_ROW(nvlink, remote, FIELD_STR, "remote", "Remote", NULL),
	FIELD_ROW(nvlink, remote_type, FIELD_STR, "remote_type", "Remote type", NULL),
	FIELD_ROW(nvlink, speed_mbs, FIELD_INT, "speed_mbs", "Speed", "MB/s"),
	FIELD_ROW(nvlink, crc_errors, FIELD_INT, "crc_errors", "CRC errors", NULL),
	FIELD_ROW(nvlink, replay_errors, FIELD_INT, "replay_errors", "Replay errors", NULL),
	FIELD_ROW(nvlink, recovery_errors, FIELD_INT, "recovery_errors", "Recovery errors", NULL),
};
const struct schema schema_nvlink = SCHEMA(nvlink, nvlink_fields);

static const struct field gpu_peer_fields[] = {
	FIELD_ROW(gpu_peer, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(gpu_peer, p2p_read, FIELD_STR, "p2p_read", "P2P read", NULL),
	FIELD_ROW(gpu_peer, p2p_write, FIELD_STR, "p2p_write", "P2P write", NULL),
	FIELD_ROW(gpu_peer, p2p_nvlink, FIELD_STR, "p2p_nvlink", "P2P over NVLink", NULL),
};
const struct schema schema_gpu_peer = SCHEMA(gpu_peer, gpu_peer_fields);

static const struct field gpu_process_fields[] = {
	FIELD_ROW(gpu_process, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(gpu_process, kind, FIELD_STR, "kind", "Kind", NULL),
	FIELD_ROW(gpu_process, command, FIELD_STR, "command", "Command", NULL),
	FIELD_ROW(gpu_process, memory_bytes, FIELD_INT, "memory_bytes", "Memory", "bytes"),
};
const struct schema schema_gpu_process = SCHEMA(gpu_process, gpu_process_fields);

static const struct field gpu_xid_fields[] = {
	FIELD_ROW(gpu_xid, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(gpu_xid, index, FIELD_ID, "index", "Xid", NULL),
	FIELD_ROW(gpu_xid, count, FIELD_INT, "count", "Lines", NULL),
	FIELD_ROW(gpu_xid, age_s, FIELD_INT, "age_s", "Last ago", "s"),
};
const struct schema schema_gpu_xid = SCHEMA(gpu_xid, gpu_xid_fields);

static const struct field gpu_fields[] = {
	FIELD_ROW(gpu, index, FIELD_ID, "index", "Index", NULL),
	FIELD_ROW(gpu, pci, FIELD_NAME, "pci", "PCI", NULL),
	FIELD_ROW(gpu, name, FIELD_STR, "name", "Name", NULL),
	FIELD_ROW(gpu, uuid, FIELD_STR, "uuid", "UUID", NULL),
	FIELD_ROW(gpu, architecture, FIELD_STR, "architecture", "Architecture", NULL),
	FIELD_ROW(gpu, vbios, FIELD_STR, "vbios", "VBIOS", NULL),
	FIELD_ROW(gpu, serial, FIELD_STR, "serial", "Serial", NULL),
	FIELD_ROW(gpu, brand, FIELD_STR, "brand", "Brand", NULL),
	FIELD_ROW(gpu, integrated, FIELD_BOOL, "integrated", "Integrated", NULL),
	FIELD_ROW(gpu, sm_count, FIELD_INT, "sm_count", "SM count", NULL),
	FIELD_ROW(gpu, cc_major, FIELD_INT, "cc_major", "Compute capability major", NULL),
	FIELD_ROW(gpu, cc_minor, FIELD_INT, "cc_minor", "Compute capability minor", NULL),
	FIELD_ROW(gpu, memory_bytes, FIELD_INT, "memory_bytes", "Memory", "bytes"),
	FIELD_ROW(gpu, memory_used_bytes, FIELD_INT, "memory_used_bytes", "Memory used", "bytes"),
	FIELD_ROW(gpu, memory_reserved_bytes, FIELD_INT, "memory_reserved_bytes", "Memory reserved",
		  "bytes"),
	FIELD_ROW(gpu, memory_bus_bits, FIELD_INT, "memory_bus_bits", "Memory bus", "bits"),
	FIELD_ROW(gpu, bar1_bytes, FIELD_INT, "bar1_bytes", "BAR1", "bytes"),
	FIELD_ROW(gpu, bar1_used_bytes, FIELD_INT, "bar1_used_bytes", "BAR1 used", "bytes"),
	FIELD_ROW(gpu, persistence, FIELD_BOOL, "persistence", "Persistence", NULL),
	FIELD_ROW(gpu, accounting, FIELD_BOOL, "accounting", "Accounting", NULL),
	FIELD_ROW(gpu, compute_mode, FIELD_STR, "compute_mode", "Compute mode", NULL),
	FIELD_ROW(gpu, ecc, FIELD_BOOL, "ecc", "ECC", NULL),
	FIELD_ROW(gpu, ecc_pending, FIELD_BOOL, "ecc_pending", "ECC pending", NULL),
	FIELD_ROW(gpu, ecc_corrected, FIELD_INT, "ecc_corrected", "ECC corrected", NULL),
	FIELD_ROW(gpu, ecc_uncorrected, FIELD_INT, "ecc_uncorrected", "ECC uncorrected", NULL),
	FIELD_ROW(gpu, remap_corrected, FIELD_INT, "remap_corrected", "Remap corrected", NULL),
	FIELD_ROW(gpu, remap_uncorrected, FIELD_INT, "remap_uncorrected", "Remap uncorrected",
		  NULL),
	FIELD_ROW(gpu, remap_pending, FIELD_BOOL, "remap_pending", "Remap pending", NULL),
	FIELD_ROW(gpu, remap_failed, FIELD_BOOL, "remap_failed", "Remap failed", NULL),
	FIELD_ROW(gpu, mig, FIELD_BOOL, "mig", "MIG", NULL),
	FIELD_ROW(gpu, mig_pending, FIELD_BOOL, "mig_pending", "MIG pending", NULL),
	FIELD_ROW(gpu, addressing_mode, FIELD_STR, "addressing_mode", "Addressing mode", NULL),
	FIELD_ROW(gpu, c2c, FIELD_BOOL, "c2c", "NVLink-C2C", NULL),
	FIELD_ROW(gpu, clock_sm_mhz, FIELD_INT, "clock_sm_mhz", "Clock SM", "MHz"),
	FIELD_ROW(gpu, clock_sm_lock, FIELD_STR, "clock_sm_lock", "Clock SM lock by gputune",
		  "MHz"),
	FIELD_ROW(gpu, clock_mem_lock, FIELD_STR, "clock_mem_lock", "Clock memory lock by gputune",
		  "MHz"),
	FIELD_ROW(gpu, clock_sm_max_mhz, FIELD_INT, "clock_sm_max_mhz", "Clock SM maximum", "MHz"),
	FIELD_ROW(gpu, clock_mem_mhz, FIELD_INT, "clock_mem_mhz", "Clock memory", "MHz"),
	FIELD_ROW(gpu, clock_mem_max_mhz, FIELD_INT, "clock_mem_max_mhz", "Clock memory maximum",
		  "MHz"),
	FIELD_ROW(gpu, clock_graphics_max_mhz, FIELD_INT, "clock_graphics_max_mhz",
		  "Clock graphics maximum", "MHz"),
	FIELD_ROW(gpu, clock_app_sm_mhz, FIELD_INT, "clock_app_sm_mhz", "Clock app SM", "MHz"),
	FIELD_ROW(gpu, clock_app_default_sm_mhz, FIELD_INT, "clock_app_default_sm_mhz",
		  "Clock app default SM", "MHz"),
	FIELD_ROW(gpu, clock_boost_max_mhz, FIELD_INT, "clock_boost_max_mhz", "Clock boost maximum",
		  "MHz"),
	FIELD_ROW(gpu, mem_clocks, FIELD_INT, "mem_clocks", "Memory clocks", NULL),
	FIELD_ROW(gpu, power_mw, FIELD_INT, "power_mw", "Power", "mW"),
	FIELD_ROW(gpu, power_limit_mw, FIELD_INT, "power_limit_mw", "Power limit", "mW"),
	FIELD_ROW(gpu, power_limit_default_mw, FIELD_INT, "power_limit_default_mw",
		  "Power limit default", "mW"),
	FIELD_ROW(gpu, power_limit_min_mw, FIELD_INT, "power_limit_min_mw", "Power limit minimum",
		  "mW"),
	FIELD_ROW(gpu, power_limit_max_mw, FIELD_INT, "power_limit_max_mw", "Power limit maximum",
		  "mW"),
	FIELD_ROW(gpu, power_limit_enforced_mw, FIELD_INT, "power_limit_enforced_mw",
		  "Power limit enforced", "mW"),
	FIELD_ROW(gpu, temperature_c, FIELD_INT, "temperature_c", "Temperature", "C"),
	FIELD_ROW(gpu, temperature_slowdown_c, FIELD_INT, "temperature_slowdown_c",
		  "Temperature slowdown", "C"),
	FIELD_ROW(gpu, temperature_shutdown_c, FIELD_INT, "temperature_shutdown_c",
		  "Temperature shutdown", "C"),
	FIELD_ROW(gpu, temperature_max_c, FIELD_INT, "temperature_max_c", "Temperature maximum",
		  "C"),
	FIELD_ROW(gpu, temperature_margin_c, FIELD_INT, "temperature_margin_c",
		  "Temperature margin", "C"),
	FIELD_ROW(gpu, temperature_memory_c, FIELD_INT, "temperature_memory_c",
		  "Temperature memory", "C"),
	FIELD_ROW(gpu, recovery_action, FIELD_STR, "recovery_action", "Recovery action", NULL),
	FIELD_ROW(gpu, virtualization, FIELD_STR, "virtualization", "Virtualization", NULL),
	FIELD_ROW(gpu, pstate, FIELD_INT, "pstate", "Pstate", NULL),
	FIELD_ROW(gpu, util_gpu_pct, FIELD_INT, "util_gpu_pct", "Utilisation GPU", "%"),
	FIELD_ROW(gpu, util_mem_pct, FIELD_INT, "util_mem_pct", "Utilisation memory", "%"),
	FIELD_ROW(gpu, event_reasons, FIELD_HEX, "event_reasons", "Event reasons", NULL),
	FIELD_ROW(gpu, event_sw_power_us, FIELD_INT, "event_sw_power_us", "Event software power",
		  "us"),
	FIELD_ROW(gpu, event_sw_thermal_us, FIELD_INT, "event_sw_thermal_us",
		  "Event software thermal", "us"),
	FIELD_ROW(gpu, event_hw_power_us, FIELD_INT, "event_hw_power_us", "Event hardware power",
		  "us"),
	FIELD_ROW(gpu, event_hw_thermal_us, FIELD_INT, "event_hw_thermal_us",
		  "Event hardware thermal", "us"),
	FIELD_ROW(gpu, event_sync_boost_us, FIELD_INT, "event_sync_boost_us", "Event sync boost",
		  "us"),
	FIELD_ROW(gpu, pcie_gen, FIELD_INT, "pcie_gen", "PCIe gen", NULL),
	FIELD_ROW(gpu, pcie_gen_max, FIELD_INT, "pcie_gen_max", "PCIe gen maximum", NULL),
	FIELD_ROW(gpu, pcie_gen_device_max, FIELD_INT, "pcie_gen_device_max",
		  "PCIe gen device maximum", NULL),
	FIELD_ROW(gpu, pcie_width, FIELD_INT, "pcie_width_lanes", "PCIe width", "lanes"),
	FIELD_ROW(gpu, pcie_width_max, FIELD_INT, "pcie_width_max_lanes", "PCIe width maximum",
		  "lanes"),
	FIELD_ROW(gpu, pcie_replays, FIELD_INT, "pcie_replays", "PCIe replays", NULL),
	FIELD_ROW(gpu, fabric_state, FIELD_STR, "fabric_state", "Fabric state", NULL),
	FIELD_ROW(gpu, fabric_health, FIELD_HEX, "fabric_health", "Fabric health", NULL),
	FIELD_ROW(gpu, fabric_status, FIELD_INT, "fabric_status", "Fabric status", NULL),
	FIELD_ROW(gpu, cuda_gpudirect_rdma, FIELD_BOOL, "cuda_gpudirect_rdma",
		  "CUDA gpudirect RDMA", NULL),
	FIELD_ROW(gpu, cuda_dma_buf, FIELD_BOOL, "cuda_dma_buf", "CUDA DMA buf", NULL),
	FIELD_ROW(gpu, cuda_integrated, FIELD_BOOL, "cuda_integrated", "CUDA integrated", NULL),
	FIELD_ROW(gpu, numa_node, FIELD_INT, "numa_node", "NUMA node", NULL),
	FIELD_ROW(gpu, memory_numa_node, FIELD_INT, "memory_numa_node", "Memory NUMA node", NULL),
	FIELD_ROW(gpu, cpu_affinity, FIELD_SET, "cpu_affinity", "CPU affinity", NULL),
	FIELD_SUB(gpu, links, FIELD_LIST, "links", "Links", &schema_nvlink),
	FIELD_SUB(gpu, peers, FIELD_LIST, "peers", "Peers", &schema_gpu_peer),
	FIELD_SUB(gpu, processes, FIELD_LIST, "processes", "Processes", &schema_gpu_process),
};
const struct schema schema_gpu = SCHEMA(gpu, gpu_fields);

static const struct field gpus_fields[] = {
	FIELD_ROW(gpus, driver, FIELD_STR, "driver", "Driver", NULL),
	FIELD_ROW(gpus, driver_flavour, FIELD_STR, "driver_flavour", "Driver flavour", NULL),
	FIELD_ROW(gpus, nvml, FIELD_STR, "nvml", "NVML", NULL),
	FIELD_ROW(gpus, cuda_driver, FIELD_INT, "cuda_driver", "CUDA driver", NULL),
	FIELD_ROW(gpus, count, FIELD_INT, "count", "Count", NULL),
	FIELD_ROW(gpus, pci_count, FIELD_INT, "pci_count", "PCI count", NULL),
	FIELD_ROW(gpus, uvm_loaded, FIELD_STR, "uvm_loaded", "nvidia-uvm loaded", NULL),
	FIELD_ROW(gpus, xid_events, FIELD_INT, "xid_events", "Xid events", NULL),
	FIELD_ROW(gpus, sxid_fatal, FIELD_INT, "sxid_fatal", "Fatal SXid events", NULL),
	FIELD_ROW(gpus, sxid_nonfatal, FIELD_INT, "sxid_nonfatal", "Other SXid events", NULL),
	FIELD_ROW(gpus, fabric_manager, FIELD_STR, "fabric_manager", "Fabric manager", NULL),
	FIELD_ROW(gpus, fabric_manager_version, FIELD_STR, "fabric_manager_version",
		  "Fabric manager version", NULL),
	FIELD_SUB(gpus, gpus, FIELD_LIST, "gpus", "Gpus", &schema_gpu),
	FIELD_SUB(gpus, xids, FIELD_LIST, "xids", "Xids", &schema_gpu_xid),
};
const struct schema schema_gpus = SCHEMA(gpus, gpus_fields);

const char *gpu_name_short(const char *name)
{
	static const char maker[] = "NVIDIA ";

	return str_starts(name, maker) ? name + sizeof(maker) - 1 : name;
}
