/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind machine/model/gpu.h: key, title, unit and place of every fact. */
#include "machine/model/gpu.h"

#include "base/text.h"

/* clang-format off */
static const struct shape_row nvlink_rows[] = {
	FACT_NUMBER(nvlink, index, "Index"),
	FACT_FLAG(nvlink, active, "Active"),
	FACT(nvlink, version, "Version", NULL),
	FACT(nvlink, remote, "Remote", NULL),
	FACT(nvlink, remote_type, "Remote type", NULL),
	FACT(nvlink, speed_mbs, "Speed", "MB/s"),
	FACT(nvlink, crc_errors, "CRC errors", NULL),
	FACT(nvlink, replay_errors, "Replay errors", NULL),
	FACT(nvlink, recovery_errors, "Recovery errors", NULL),
};
const struct shape nvlink_shape = SHAPE(nvlink, nvlink);

static const struct shape_row gpu_peer_rows[] = {
	FACT_NUMBER(gpu_peer, index, "Index"),
	FACT(gpu_peer, p2p_read, "P2P read", NULL),
	FACT(gpu_peer, p2p_write, "P2P write", NULL),
	FACT(gpu_peer, p2p_nvlink, "P2P over NVLink", NULL),
};
const struct shape gpu_peer_shape = SHAPE(gpu_peer, gpu_peer);

static const struct shape_row gpu_process_rows[] = {
	FACT_NUMBER(gpu_process, index, "Index"),
	FACT(gpu_process, kind, "Kind", NULL),
	FACT(gpu_process, command, "Command", NULL),
	FACT(gpu_process, memory_bytes, "Memory", "bytes"),
};
const struct shape gpu_process_shape = SHAPE(gpu_process, gpu_process);

static const struct shape_row gpu_xid_rows[] = {
	FACT_NAME(gpu_xid, pci, "PCI"),
	FACT_NUMBER(gpu_xid, index, "Xid"),
	FACT(gpu_xid, count, "Lines", NULL),
	FACT(gpu_xid, age_s, "Last ago", "s"),
};
const struct shape gpu_xid_shape = SHAPE(gpu_xid, gpu_xid);

static const struct shape_row mig_slice_rows[] = {
	FACT_NUMBER(mig_slice, index, "Index"),
	FACT(mig_slice, profile, "Profile", NULL),
	FACT(mig_slice, sm_count, "SM count", NULL),
	FACT(mig_slice, memory_bytes, "Memory", "bytes"),
	FACT(mig_slice, instance_slices, "Slices of its instance", NULL),
	FACT(mig_slice, compute_slices, "Compute slices", NULL),
};
const struct shape mig_slice_shape = SHAPE(mig_slice, mig_slice);

static const struct shape_row gpu_rows[] = {
	FACT_NUMBER(gpu, index, "Index"),
	FACT_NAME(gpu, pci, "PCI"),
	FACT(gpu, name, "Name", NULL),
	FACT(gpu, uuid, "UUID", NULL),
	FACT(gpu, architecture, "Architecture", NULL),
	FACT(gpu, vbios, "VBIOS", NULL),
	FACT(gpu, serial, "Serial", NULL),
	FACT(gpu, brand, "Brand", NULL),
	FACT_FLAG(gpu, integrated, "Integrated"),
	FACT(gpu, sm_count, "SM count", NULL),
	FACT(gpu, cc_major, "Compute capability major", NULL),
	FACT(gpu, cc_minor, "Compute capability minor", NULL),
	FACT(gpu, memory_bytes, "Memory", "bytes"),
	FACT(gpu, memory_used_bytes, "Memory used", "bytes"),
	FACT(gpu, memory_reserved_bytes, "Memory reserved", "bytes"),
	FACT(gpu, memory_bus_bits, "Memory bus", "bits"),
	FACT(gpu, bar1_bytes, "BAR1", "bytes"),
	FACT(gpu, bar1_used_bytes, "BAR1 used", "bytes"),
	FACT_FLAG(gpu, persistence, "Persistence"),
	FACT_FLAG(gpu, accounting, "Accounting"),
	FACT(gpu, compute_mode, "Compute mode", NULL),
	FACT_FLAG(gpu, ecc, "ECC"),
	FACT_FLAG(gpu, ecc_pending, "ECC pending"),
	FACT(gpu, ecc_corrected, "ECC corrected", NULL),
	FACT(gpu, ecc_uncorrected, "ECC uncorrected", NULL),
	FACT(gpu, ecc_volatile, "ECC uncorrected since driver load", NULL),
	FACT(gpu, remap_corrected, "Remap corrected", NULL),
	FACT(gpu, remap_uncorrected, "Remap uncorrected", NULL),
	FACT_FLAG(gpu, remap_pending, "Remap pending"),
	FACT_FLAG(gpu, remap_failed, "Remap failed"),
	FACT_FLAG(gpu, mig, "MIG"),
	FACT_FLAG(gpu, mig_pending, "MIG pending"),
	FACT(gpu, addressing_mode, "Addressing mode", NULL),
	FACT_FLAG(gpu, c2c, "NVLink-C2C"),
	FACT(gpu, clock_sm_mhz, "Clock SM", "MHz"),
	FACT(gpu, clock_sm_lock, "Clock SM lock by gputune", "MHz"),
	FACT(gpu, clock_mem_lock, "Clock memory lock by gputune", "MHz"),
	FACT(gpu, clock_sm_max_mhz, "Clock SM maximum", "MHz"),
	FACT(gpu, clock_mem_mhz, "Clock memory", "MHz"),
	FACT(gpu, clock_mem_max_mhz, "Clock memory maximum", "MHz"),
	FACT(gpu, clock_graphics_max_mhz, "Clock graphics maximum", "MHz"),
	FACT(gpu, clock_app_sm_mhz, "Clock app SM", "MHz"),
	FACT(gpu, clock_app_default_sm_mhz, "Clock app default SM", "MHz"),
	FACT(gpu, clock_boost_max_mhz, "Clock boost maximum", "MHz"),
	FACT(gpu, mem_clocks, "Memory clocks", NULL),
	FACT(gpu, power_mw, "Power", "mW"),
	FACT(gpu, power_limit_mw, "Power limit", "mW"),
	FACT(gpu, power_limit_default_mw, "Power limit default", "mW"),
	FACT(gpu, power_limit_min_mw, "Power limit minimum", "mW"),
	FACT(gpu, power_limit_max_mw, "Power limit maximum", "mW"),
	FACT(gpu, power_limit_enforced_mw, "Power limit enforced", "mW"),
	FACT(gpu, module_limit_mw, "Module power limit", "mW"),
	FACT(gpu, module_limit_default_mw, "Module power limit default", "mW"),
	FACT(gpu, power_profiles, "Power profiles", NULL),
	FACT(gpu, power_profiles_enforced, "Power profiles enforced", NULL),
	FACT(gpu, temperature_c, "Temperature", "C"),
	FACT(gpu, temperature_slowdown_c, "Temperature slowdown", "C"),
	FACT(gpu, temperature_shutdown_c, "Temperature shutdown", "C"),
	FACT(gpu, temperature_max_c, "Temperature maximum", "C"),
	FACT(gpu, temperature_margin_c, "Temperature margin", "C"),
	FACT(gpu, temperature_memory_c, "Temperature memory maximum", "C"),
	FACT(gpu, temperature_memory_max_c, "Temperature memory maximum", "C"),
	FACT(gpu, recovery_action, "Recovery action", NULL),
	FACT(gpu, virtualization, "Virtualization", NULL),
	FACT(gpu, pstate, "Pstate", NULL),
	FACT(gpu, util_gpu_pct, "Utilisation GPU", "%"),
	FACT(gpu, util_mem_pct, "Utilization memory", "%"),
	FACT_HEX(gpu, event_reasons, "Event reasons"),
	FACT(gpu, event_sw_power_us, "Event software power", "us"),
	FACT(gpu, event_sw_thermal_us, "Event software thermal", "us"),
	FACT(gpu, event_hw_power_us, "Event hardware power", "us"),
	FACT(gpu, event_hw_thermal_us, "Event hardware thermal", "us"),
	FACT(gpu, event_sync_boost_us, "Event sync boost", "us"),
	FACT(gpu, pcie_gen, "PCIe gen", NULL),
	FACT(gpu, pcie_gen_max, "PCIe gen maximum", NULL),
	FACT(gpu, pcie_gen_device_max, "PCIe gen device maximum", NULL),
	{ "pcie_width_lanes", NULL, "PCIe width", "lanes", SHAPE_FACT(gpu, pcie_width) },
	{ "pcie_width_max_lanes", NULL, "PCIe width maximum", "lanes",
	  SHAPE_FACT(gpu, pcie_width_max) },
	FACT(gpu, pcie_replays, "PCIe replays", NULL),
	FACT(gpu, fabric_state, "Fabric state", NULL),
	FACT_HEX(gpu, fabric_health, "Fabric health"),
	FACT(gpu, fabric_status, "Fabric status", NULL),
	FACT(gpu, fabric_summary, "Fabric health summary", NULL),
	FACT(gpu, fabric_clique, "Fabric clique", NULL),
	FACT_FLAG(gpu, cuda_gpudirect_rdma, "CUDA gpudirect RDMA"),
	FACT_FLAG(gpu, cuda_dma_buf, "CUDA DMA buf"),
	FACT_FLAG(gpu, cuda_integrated, "CUDA integrated"),
	FACT(gpu, numa_node, "NUMA node", NULL),
	FACT(gpu, memory_numa_node, "Memory NUMA node", NULL),
	FACT(gpu, cpu_affinity, "CPU affinity", NULL),
	FACT(gpu, slices_max, "MIG slices at most", NULL),
	FACT_LIST(gpu, slices, "MIG slices", mig_slice),
	FACT_LIST(gpu, links, "Links", nvlink),
	FACT_LIST(gpu, peers, "Peers", gpu_peer),
	FACT_LIST(gpu, processes, "Processes", gpu_process),
};
const struct shape gpu_shape = SHAPE(gpu, gpu);

static const struct shape_row gpus_rows[] = {
	FACT(gpus, driver, "Driver", NULL),
	FACT(gpus, driver_flavour, "Driver flavor", NULL),
	FACT(gpus, nvml, "NVML", NULL),
	FACT(gpus, cuda_driver, "CUDA driver", NULL),
	FACT(gpus, count, "Count", NULL),
	FACT(gpus, pci_count, "PCI count", NULL),
	FACT(gpus, uvm_loaded, "nvidia-uvm loaded", NULL),
	FACT(gpus, xid_events, "Xid events", NULL),
	FACT(gpus, sxid_fatal, "Fatal SXid events", NULL),
	FACT(gpus, sxid_nonfatal, "Other SXid events", NULL),
	FACT(gpus, fabric_manager, "Fabric manager", NULL),
	FACT(gpus, fabric_manager_version, "Fabric manager version", NULL),
	FACT(gpus, nvlsm, "NVLink Subnet Manager", NULL),
	FACT_FLAG(gpus, profiling_restricted, "Profiling only for administrators"),
	FACT_FLAG(gpus, relaxed_ordering, "PCIe relaxed ordering by the driver"),
	FACT(gpus, preserve_memory, "Memory preserved over suspend", NULL),
	FACT_FLAG(gpus, stream_memops, "Stream memory operations"),
	FACT(gpus, coherent_mode, "Coherent memory mode", NULL),
	FACT(gpus, registry_dwords, "Driver registry words", NULL),
	FACT(gpus, imex_nodes, "IMEX nodes", NULL),
	FACT(gpus, imex_channels, "IMEX channels", NULL),
	FACT(gpus, imex_state, "IMEX daemon", NULL),
	FACT(gpus, mps, "MPS daemon", NULL),
	FACT(gpus, mps_threads, "MPS active threads (%)", NULL),
	FACT(gpus, mps_memory, "MPS memory limits", NULL),
	FACT_LIST(gpus, gpus, "Gpus", gpu),
	FACT_LIST(gpus, xids, "Xids", gpu_xid),
};
const struct shape gpus_shape = SHAPE(gpus, gpus);
/* clang-format on */

const char *gpu_name_short(const char *name)
{
	static const char maker[] = "NVIDIA ";

	return str_starts(name, maker) ? name + sizeof(maker) - 1 : name;
}
