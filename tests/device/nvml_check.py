#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares nvml_dump's answers with nvidia-ml-py's on a machine with NVIDIA GPUs.

Usage: nvml_check.py DUMP.tsv. Needs pynvml. Values that move (clocks, power, temperature, use) may differ
by a tolerance. Exit code 1 when anything differs.
"""
import re
import sys

import pynvml as nv

MOVES = re.compile(r"ClockInfo\(|PowerUsage|Temperature\(|UtilizationRates|EventReasons|MEMORY_TEMP|"
                   r"MarginTemp|MemoryInfo\.(free|used|bar1Free|bar1Used)|PerformanceState|CLOCKS_EVENT|PCIE_COUNT|NvLinkErrorCounter")
ERRORS = {"EOPNOTSUPP": (3, 26), "EACCES": (4, 17), "ENOSYS": (13, 25), "EINVAL": (2, 6, 24), "ENXIO": (9, 28),
          "EIO": (1, 11, 29, 999), "EHOSTDOWN": (15,), "EAGAIN": (23, 27), "ENODATA": (8, 21)}
CLOCKS = {"GRAPHICS": 0, "SM": 1, "MEM": 2, "VIDEO": 3}
THRESHOLDS = ["SHUTDOWN", "SLOWDOWN", "MEM_MAX", "GPU_MAX", "ACOUSTIC_MIN", "ACOUSTIC_CURR", "ACOUSTIC_MAX",
              "GPS_CURR"]
LINK_ERRORS = ["REPLAY", "RECOVERY", "CRC_FLIT", "CRC_DATA", "ECC_DATA"]
P2P = ["READ", "WRITE", "NVLINK", "ATOMICS", "PCI"]


def field(h, arg):
    name, _, link = arg.partition(",")
    fid = getattr(nv, "NVML_FI_DEV_" + name)
    v = nv.nvmlDeviceGetFieldValues(h, [(fid, int(link or 0))])[0]
    if v.nvmlReturn:
        raise nv.NVMLError(v.nvmlReturn)
    kinds = {1: v.value.uiVal, 2: v.value.ulVal, 3: v.value.ullVal, 4: v.value.sllVal, 5: v.value.siVal}
    return kinds[v.valueType]


def special(h, name, arg, member):
    """Questions whose witness is not called by the plain name."""
    if name == "nvmlDeviceGetFieldValues":
        return field(h, arg)
    if name == "nvmlDeviceGetMemoryInfo":
        return getattr(nv.nvmlDeviceGetMemoryInfo(h, nv.nvmlMemory_v2), member)
    if name in ("nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode"):
        return getattr(nv, name)(h)[member == "pending"]
    if name == "nvmlDeviceGetCudaComputeCapability":
        return nv.nvmlDeviceGetCudaComputeCapability(h)[member == "minor"]
    if name == "nvmlDeviceGetPowerManagementLimitConstraints":
        return nv.nvmlDeviceGetPowerManagementLimitConstraints(h)[member == "maxLimit"]
    if name == "nvmlDeviceGetAttributes":
        return getattr(nv.nvmlDeviceGetAttributes_v2(h), member)
    if name == "nvmlDeviceGetRemappedRows":
        return nv.nvmlDeviceGetRemappedRows(h)[["corrRows", "uncRows", "isPending",
                                                "failureOccurred"].index(member)]
    if name == "nvmlDeviceGetTotalEccErrors":
        t, c = arg.split(",")
        return nv.nvmlDeviceGetTotalEccErrors(h, int(t == "UNCORRECTED"), int(c == "AGGREGATE"))
    if name == "nvmlDeviceGetGpuFabricInfo":
        f = nv.c_nvmlGpuFabricInfo_v3_t()
        nv.nvmlDeviceGetGpuFabricInfoV(h, nv.byref(f))
        return getattr(f, member)
    if name == "nvmlDeviceGetC2cModeInfo":
        return nv.nvmlDeviceGetC2cModeInfoV(h).isC2cEnabled
    if name == "nvmlDeviceGetMarginTemperature":
        return nv.nvmlDeviceGetMarginTemperature(h)
    if name == "nvmlDeviceGetTemperature":
        return nv.nvmlDeviceGetTemperature(h, 0)
    if name == "nvmlDeviceGetSupportedMemoryClocks":
        return len(nv.nvmlDeviceGetSupportedMemoryClocks(h))
    if name == "nvmlDeviceGetPciInfo":
        return nv.nvmlDeviceGetPciInfo(h).busId
    if name == "nvmlDeviceGetNvLinkRemotePciInfo":
        return nv.nvmlDeviceGetNvLinkRemotePciInfo(h, int(arg)).busId
    if name == "nvmlDeviceGetNvLinkErrorCounter":
        link, counter = arg.split(",")
        return nv.nvmlDeviceGetNvLinkErrorCounter(h, int(link), LINK_ERRORS.index(counter))
    if name == "nvmlDeviceGetNvLinkRemoteDeviceType":
        return nv.nvmlDeviceGetNvLinkRemoteDeviceType(h, int(arg))
    if name == "nvmlDeviceGetP2PStatus":
        peer, cap = arg.split(",")
        return nv.nvmlDeviceGetP2PStatus(h, nv.nvmlDeviceGetHandleByIndex(int(peer)), P2P.index(cap))
    if name == "nvmlDeviceGetTopologyCommonAncestor":
        return nv.nvmlDeviceGetTopologyCommonAncestor(h, nv.nvmlDeviceGetHandleByIndex(int(arg)))
    if name.endswith("RunningProcesses"):
        ps = getattr(nv, name)(h)
        return len(ps) if arg is None else getattr(ps[int(arg)], member)
    if name == "nvmlDeviceGetAddressingMode":
        m = nv.nvmlDeviceGetAddressingMode(h)
        return getattr(m, "value", m)
    raise KeyError(name)


def ask(obj, question):
    m = re.fullmatch(r"(\w+)(?:\(([^)]*)\))?(?:\.(\w+))?", question)
    name, arg, member = m.groups()
    if obj == "":
        return getattr(nv, name)()
    h = nv.nvmlDeviceGetHandleByIndex(int(obj))
    try:
        return special(h, name, arg, member)
    except KeyError:
        pass
    fn = getattr(nv, name)
    if arg is None:
        v = fn(h)
    elif arg.isdigit():
        v = fn(h, int(arg))
    else:
        v = fn(h, CLOCKS[arg] if "Clock" in name else THRESHOLDS.index(arg))
    return getattr(v, member) if member else v


def main():
    nv.nvmlInit()
    same = differ = moved = unasked = 0
    for line in open(sys.argv[1], encoding="utf-8"):
        obj, question, _us, value = line.rstrip("\n").split("\t")
        if question.startswith("cu"):
            continue
        try:
            want = ask(obj, question)
            want = want.decode() if isinstance(want, bytes) else str(int(want) if isinstance(want, int) else want)
        except nv.NVMLError as e:
            code = e.value
            ok = value.startswith("!") and code in ERRORS.get(value[1:], ())
            same, differ = same + ok, differ + (not ok)
            if not ok:
                print("DIFFERS", obj, question, "ours", value, "witness NVML", code, e)
            continue
        except Exception as e:  # the witness cannot say
            unasked += 1
            print("NO WITNESS", obj, question, "ours", value, repr(e)[:90])
            continue
        if want == value:
            same += 1
        elif MOVES.search(question) and not value.startswith("!"):
            moved += 1
            print("MOVED", obj, question, value, want)
        else:
            differ += 1
            print("DIFFERS", obj, question, "ours", value, "witness", want)
    print(f"same {same} moved {moved} differ {differ} no-witness {unasked}")
    return 1 if differ else 0


sys.exit(main())
