# SPDX-License-Identifier: Apache-2.0
"""Answers of NVML for one GPU. Every question that gputune asks gets a value or the library's own refusal."""

NO = {"error": "EOPNOTSUPP"}
MIB = 1 << 20

# Fields that a GPU without the feature refuses.
REFUSED = """
nvmlDeviceGetAttributes.multiprocessorCount nvmlDeviceGetAttributes.memorySizeMB nvmlDeviceGetNumaNodeId
nvmlDeviceGetEccMode.current nvmlDeviceGetEccMode.pending nvmlDeviceGetMigMode.current
nvmlDeviceGetMigMode.pending nvmlDeviceGetRemappedRows.corrRows nvmlDeviceGetRemappedRows.uncRows
nvmlDeviceGetRemappedRows.isPending nvmlDeviceGetRemappedRows.failureOccurred
nvmlDeviceGetTotalEccErrors(CORRECTED,VOLATILE) nvmlDeviceGetTotalEccErrors(CORRECTED,AGGREGATE)
nvmlDeviceGetTotalEccErrors(UNCORRECTED,VOLATILE) nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)
nvmlDeviceGetMemoryInfo.total nvmlDeviceGetMemoryInfo.reserved nvmlDeviceGetMemoryInfo.free
nvmlDeviceGetMemoryInfo.used nvmlDeviceGetMemoryBusWidth nvmlDeviceGetPowerManagementLimit
nvmlDeviceGetPowerManagementDefaultLimit nvmlDeviceGetEnforcedPowerLimit
nvmlDeviceGetPowerManagementLimitConstraints.minLimit nvmlDeviceGetPowerManagementLimitConstraints.maxLimit
nvmlDeviceGetClockInfo(MEM) nvmlDeviceGetMaxClockInfo(MEM) nvmlDeviceGetApplicationsClock(MEM)
nvmlDeviceGetApplicationsClock(GRAPHICS) nvmlDeviceGetDefaultApplicationsClock(GRAPHICS)
nvmlDeviceGetApplicationsClock(SM) nvmlDeviceGetDefaultApplicationsClock(SM)
nvmlDeviceGetDefaultApplicationsClock(MEM) nvmlDeviceGetMaxCustomerBoostClock(SM)
nvmlDeviceGetMaxCustomerBoostClock(GRAPHICS) nvmlDeviceGetMaxCustomerBoostClock(MEM)
nvmlDeviceGetMaxCustomerBoostClock(VIDEO) nvmlDeviceGetSupportedMemoryClocks.count
nvmlDeviceGetTemperatureThreshold(MEM_MAX) nvmlDeviceGetTemperatureThreshold(GPU_MAX)
nvmlDeviceGetTemperatureThreshold(ACOUSTIC_MIN) nvmlDeviceGetTemperatureThreshold(ACOUSTIC_CURR)
nvmlDeviceGetTemperatureThreshold(ACOUSTIC_MAX) nvmlDeviceGetTemperatureThreshold(GPS_CURR)
nvmlDeviceGetTemperatureThreshold(SLOWDOWN) nvmlDeviceGetTemperatureThreshold(SHUTDOWN)
nvmlDeviceGetMarginTemperature.marginTemperature nvmlDeviceGetSerial
nvmlDeviceGetGpuFabricInfo.state nvmlDeviceGetGpuFabricInfo.status nvmlDeviceGetGpuFabricInfo.cliqueId
nvmlDeviceGetGpuFabricInfo.healthMask nvmlDeviceGetGpuFabricInfo.healthSummary
nvmlDeviceGetFieldValues(ECC_CURRENT) nvmlDeviceGetFieldValues(ECC_PENDING) nvmlDeviceGetFieldValues(MEMORY_TEMP) nvmlDeviceGetFieldValues(NVLINK_SPEED_MBPS_COMMON)
nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT) nvmlDeviceGetFieldValues(C2C_LINK_COUNT)
nvmlDeviceGetC2cModeInfo.isC2cEnabled
""".split()


def system(m, driver, cuda, count, nvml=None):
    m.answers("nvml", "", {"nvmlSystemGetDriverVersion": driver, "nvmlSystemGetNVMLVersion": nvml or f"{cuda // 1000}.{driver}",
                           "nvmlSystemGetCudaDriverVersion": cuda, "nvmlDeviceGetCount": count})


def gpu(m, index, name, bus_id, arch, brand, cc, cores, sm_mhz, sm_max, video_max, power_mw, temperature, pstate,
        affinity, pcie, events=1, counters=(0, 0, 0, 0, 0), vbios="", persistence=1, addressing=0, more=()):
    """pcie: generation now, at most here, of the device; width now, at most. The rest is refused unless in more."""
    q = {k: NO for k in REFUSED}
    q.update({
        "nvmlDeviceGetName": name, "nvmlDeviceGetPciInfo.busId": bus_id,
        "nvmlDeviceGetUUID": f"GPU-00000000-0000-4000-8000-{index:012d}",
        "nvmlDeviceGetVbiosVersion": vbios, "nvmlDeviceGetBrand": brand, "nvmlDeviceGetArchitecture": arch,
        "nvmlDeviceGetCudaComputeCapability.major": cc[0], "nvmlDeviceGetCudaComputeCapability.minor": cc[1],
        "nvmlDeviceGetNumGpuCores": cores, "nvmlDeviceGetVirtualizationMode": 0,
        "nvmlDeviceGetCpuAffinity": affinity, "nvmlDeviceGetAddressingMode.value": addressing,
        "nvmlDeviceGetPersistenceMode": persistence, "nvmlDeviceGetAccountingMode": 0,
        "nvmlDeviceGetComputeMode": 0,
        "nvmlDeviceGetClockInfo(GRAPHICS)": sm_mhz, "nvmlDeviceGetClockInfo(SM)": sm_mhz,
        "nvmlDeviceGetClockInfo(VIDEO)": min(sm_mhz * 2, video_max),
        "nvmlDeviceGetMaxClockInfo(GRAPHICS)": sm_max, "nvmlDeviceGetMaxClockInfo(SM)": sm_max,
        "nvmlDeviceGetMaxClockInfo(VIDEO)": video_max,
        "nvmlDeviceGetPowerUsage": power_mw, "nvmlDeviceGetTemperature(GPU)": temperature,
        "nvmlDeviceGetPerformanceState": pstate, "nvmlDeviceGetUtilizationRates.gpu": 0,
        "nvmlDeviceGetUtilizationRates.memory": 0, "nvmlDeviceGetCurrentClocksEventReasons": events,
        "nvmlDeviceGetCurrPcieLinkGeneration": pcie[0], "nvmlDeviceGetMaxPcieLinkGeneration": pcie[1],
        "nvmlDeviceGetGpuMaxPcieLinkGeneration": pcie[2], "nvmlDeviceGetCurrPcieLinkWidth": pcie[3],
        "nvmlDeviceGetMaxPcieLinkWidth": pcie[4], "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)": 0,
        "nvmlDeviceGetComputeRunningProcesses": 0, "nvmlDeviceGetGraphicsRunningProcesses": 0,
        "nvmlDeviceGetMPSComputeRunningProcesses": 0,
    })
    reasons = ("SW_POWER_CAP", "SYNC_BOOST", "SW_THERM_SLOWDOWN", "HW_THERM_SLOWDOWN", "HW_POWER_BRAKE_SLOWDOWN")
    for reason, value in zip(reasons, counters):
        q[f"nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_{reason})"] = value
    q.update(more)
    # Links, peers and whatever else is not listed.
    q["*"] = NO
    m.answers("nvml", str(index), q)


def board(total_mib, used_mib, reserved_mib, bus_bits, mem_mhz, mem_max, app, app_default, boost_max, mem_clocks,
          limit, limits, thresholds, bar1_mib, ecc=None, remapped=None, mig=None):
    """What a board with memory of its own answers besides. limit and limits in mW; thresholds: shutdown, slowdown, max."""
    q = {
        "nvmlDeviceGetMemoryInfo.total": total_mib * MIB, "nvmlDeviceGetMemoryInfo.used": used_mib * MIB,
        "nvmlDeviceGetMemoryInfo.reserved": reserved_mib * MIB,
        "nvmlDeviceGetMemoryInfo.free": (total_mib - used_mib - reserved_mib) * MIB,
        "nvmlDeviceGetMemoryBusWidth": bus_bits,
        "nvmlDeviceGetBAR1MemoryInfo.bar1Total": bar1_mib * MIB, "nvmlDeviceGetBAR1MemoryInfo.bar1Used": MIB,
        "nvmlDeviceGetBAR1MemoryInfo.bar1Free": (bar1_mib - 1) * MIB,
        "nvmlDeviceGetClockInfo(MEM)": mem_mhz, "nvmlDeviceGetMaxClockInfo(MEM)": mem_max,
        "nvmlDeviceGetApplicationsClock(SM)": app, "nvmlDeviceGetApplicationsClock(GRAPHICS)": app,
        "nvmlDeviceGetApplicationsClock(MEM)": mem_max,
        "nvmlDeviceGetDefaultApplicationsClock(SM)": app_default,
        "nvmlDeviceGetDefaultApplicationsClock(GRAPHICS)": app_default,
        "nvmlDeviceGetDefaultApplicationsClock(MEM)": mem_max,
        "nvmlDeviceGetSupportedMemoryClocks.count": mem_clocks,
        "nvmlDeviceGetPowerManagementLimit": limit, "nvmlDeviceGetPowerManagementDefaultLimit": limits[1],
        "nvmlDeviceGetEnforcedPowerLimit": limit,
        "nvmlDeviceGetPowerManagementLimitConstraints.minLimit": limits[0],
        "nvmlDeviceGetPowerManagementLimitConstraints.maxLimit": limits[2],
        "nvmlDeviceGetTemperatureThreshold(SHUTDOWN)": thresholds[0],
        "nvmlDeviceGetTemperatureThreshold(SLOWDOWN)": thresholds[1],
        "nvmlDeviceGetTemperatureThreshold(GPU_MAX)": thresholds[2],
        "nvmlDeviceGetC2cModeInfo.isC2cEnabled": 0,
    }
    if boost_max:
        q["nvmlDeviceGetMaxCustomerBoostClock(SM)"] = boost_max
        q["nvmlDeviceGetMaxCustomerBoostClock(GRAPHICS)"] = boost_max
    if ecc is not None:
        q["nvmlDeviceGetEccMode.current"] = q["nvmlDeviceGetEccMode.pending"] = ecc
        q["nvmlDeviceGetFieldValues(ECC_CURRENT)"] = q["nvmlDeviceGetFieldValues(ECC_PENDING)"] = ecc
        if ecc:
            for kind in ("CORRECTED", "UNCORRECTED"):
                for since in ("VOLATILE", "AGGREGATE"):
                    q[f"nvmlDeviceGetTotalEccErrors({kind},{since})"] = 0
    if remapped is not None:
        for key, value in zip(("corrRows", "uncRows", "isPending", "failureOccurred"), remapped):
            q[f"nvmlDeviceGetRemappedRows.{key}"] = value
    if mig is not None:
        q["nvmlDeviceGetMigMode.current"] = q["nvmlDeviceGetMigMode.pending"] = mig
    return q


def nvlinks(remote, remote_type, version, speed):
    """remote: the PCI address of the far end by link. speed: MB/s, one direction."""
    q = {"nvmlDeviceGetFieldValues(NVLINK_LINK_COUNT)": len(remote),
         "nvmlDeviceGetFieldValues(NVLINK_SPEED_MBPS_COMMON)": speed}
    for link, address in enumerate(remote):
        q[f"nvmlDeviceGetNvLinkState({link})"] = 1
        q[f"nvmlDeviceGetNvLinkVersion({link})"] = version
        q[f"nvmlDeviceGetNvLinkRemoteDeviceType({link})"] = remote_type
        q[f"nvmlDeviceGetNvLinkRemotePciInfo({link}).busId"] = address
        for counter in ("REPLAY", "RECOVERY", "CRC_FLIT"):
            q[f"nvmlDeviceGetNvLinkErrorCounter({link},{counter})"] = 0
        for name, value in (("NVLINK_ERROR_DL_REPLAY", 0), ("NVLINK_ERROR_DL_RECOVERY", 0),
                            ("NVLINK_ERROR_DL_CRC", 0), ("NVLINK_GET_SPEED", speed), ("NVLINK_GET_STATE", 1),
                            ("NVLINK_GET_VERSION", version)):
            q[f"nvmlDeviceGetFieldValues({name},{link})"] = value
    return q


def driver_files(m, driver, flavour, uvm=True, drm=True, peermem=False):
    if flavour == "open":
        first = f"NVRM version: NVIDIA UNIX Open Kernel Module for {{arch}}  {driver}  Release Build  (dvs-builder@build)"
    else:
        first = f"NVRM version: NVIDIA UNIX {{arch}} Kernel Module  {driver}"
    arch = m.identity["machine"] if m.identity["machine"] != "aarch64" else "aarch64"
    m.rows("/proc/driver/nvidia/version", [first.format(arch=arch), "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)"])
    m.rows("/proc/driver/nvidia/params", ["ResmanDebugLevel: 4294967295", "PreserveVideoMemoryAllocations: 0",
                                          "EnableStreamMemOPs: 0", "EnablePCIERelaxedOrderingMode: 0", "RmProfilingAdminOnly: 1",
                                          "EnableGpuFirmware: 18", 'RegistryDwords: ""', 'CoherentGPUMemoryMode: ""'])
    users = ["nvidia_uvm"] * uvm + ["nvidia_modeset"] * drm + ["nvidia_peermem"] * peermem
    m.module("nvidia", driver, refcnt=40, size=14000128, users="".join(u + "," for u in users) or "-")
    if uvm:
        m.module("nvidia_uvm", driver, refcnt=4, size=2256896)
    if drm:
        m.module("nvidia_modeset", driver, refcnt=1, size=1830912, users="nvidia_drm,")
        m.module("nvidia_drm", driver, refcnt=1, size=143360, params={"modeset": "Y"})
    if peermem:
        m.module("nvidia_peermem", driver, size=16384)
