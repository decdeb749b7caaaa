#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Health of an HGX node: the captured machine with its faults mended is quiet, and every fault planted into that is found, on
the right device, and alone. Two readings: growth is a fault, old counts are not. Drawings of the same machines name the
bottleneck, in words too, and text from a device stays text.

    health.py GPUTUNE
"""
import json
import pathlib
import re
import struct
import xml.etree.ElementTree

from common import end_suite, expect, machines, run, scratch, validate
from node import DEVICES, Node, extended

tmp = scratch("health")


# What the issue of a sound node is about; settings that are a matter of taste are not among them.
HEALTH = ("gpu.driver,gpu.count,gpu.vbios,gpu.throttle,gpu.throttle-history,gpu.temperature,gpu.remapped-rows,gpu.ecc,gpu.ecc-errors,"
          "gpu.recovery-action,gpu.nvlink,gpu.nvlink-speed,gpu.fabric,gpu.peer-access,gpu.xid,gpu.sxid,gpu.pcie-replays,pcie,"
          "rdma.state,rdma.rate,rdma.errors,rdma.firmware,rdma.gpudirect,nic.relaxed-ordering,nic.carrier,nic.errors,"
          "service.fabric-manager,cpu.numa-balancing")
ONLY = ("--only", HEALTH)


def bridges(node):
    """Ports with access control."""
    for folder in sorted((node.under / "root/sys/devices").rglob("config")):
        space = folder.read_bytes()
        if struct.unpack_from("<I", space, 8)[0] >> 16 == 0x0604 and len(space) > 256 and extended(space, 0x0d):
            yield folder.parent.name, struct.unpack_from("<H", space, extended(space, 0x0d) + 6)[0]


def mended():
    """The captured HGX node without the faults that it was captured with."""
    n = Node("sound")
    for address in ("0000:a3:00.0", "0000:a2:00.0"):
        n.lanes(address, 16)
    n.ask("nvml", 5, {"nvmlDeviceGetCurrPcieLinkWidth": 16, "nvmlDeviceGetPcieReplayCounter": 0})
    for address, ctrl in bridges(n):
        if ctrl & 0x1c:
            n.redirect(address, ctrl & ~0x1c)
    n.write("/proc/sys/kernel/numa_balancing", "0\n")
    groups = n.under / "root/sys/kernel/iommu_groups"
    for g in groups.iterdir():
        n.write(f"/sys/kernel/iommu_groups/{g.name}/type", "identity\n")
    return n.keep()


def to_wrong_slot(n):
    """mlx5_4 stands behind GPU 0's switch, as a second port of mlx5_0's adapter."""
    old = pathlib.Path(n.real("/sys/class/infiniband/mlx5_4"))
    new = pathlib.Path(n.real(f"{DEVICES}/0000:04:00.0")) / "infiniband/mlx5_4"
    for f in (n.under / "root" / str(old).lstrip("/")).rglob("*"):
        if f.is_file() and not f.is_symlink():
            n.put(n.at / "root" / str(new).lstrip("/") / f.relative_to(n.under / "root" / str(old).lstrip("/")), f.read_bytes())
    n.link("/sys/class/infiniband/mlx5_4", "../../" + str(new)[len("/sys/"):])


def manager_down(n):
    """No control group any more: the unit does not run."""
    n.gone("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service")


def port(n, name, **files):
    for path, text in files.items():
        n.write(f"/sys/class/infiniband/{name}/ports/1/{path.replace('__', '/')}", f"{text}\n")


def xids(n, pci, summary):
    n.ask("kernel-log", "", {"lines(NVRM: Xid)": 3}).ask("kernel-log", pci, {"xids": summary})


# What is planted, where it is found, and words of the finding.
PLANTED = [
    ("a link at half width", "pcie.link", "0000:a3:00.0", "lanes are missing",
     lambda n: [n.lanes(a, 8) for a in ("0000:a3:00.0", "0000:a2:00.0")]),
    ("a NIC's link at a lower generation", "pcie.link", "0000:44:00.0", "lower speed",
     lambda n: [n.lanes(a, speed=4) for a in ("0000:44:00.0", "0000:42:01.0")]),
    ("remapped rows pending", "gpu.remapped-rows", "gpu3", "a remap is waiting for a GPU reset",
     lambda n: n.ask("nvml", 3, {"nvmlDeviceGetRemappedRows.isPending": 1, "nvmlDeviceGetRemappedRows.uncRows": 1})),
    ("a remap that failed", "gpu.remapped-rows", "gpu3", "replace the board",
     lambda n: n.ask("nvml", 3, {"nvmlDeviceGetRemappedRows.failureOccurred": 1})),
    ("uncorrected memory errors", "gpu.ecc-errors", "gpu6", "4 uncorrected",
     lambda n: n.ask("nvml", 6, {"nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)": 4})),
    ("ECC to be off", "gpu.ecc", "gpu0", "after the next reset", lambda n: n.ask("nvml", 0, {"nvmlDeviceGetFieldValues(ECC_PENDING)": 0})),
    ("Xid 79", "gpu.xid", "0000:a3:00.0", "fell off the bus", lambda n: xids(n, "0000:a3:00.0", "79:1:340")),
    ("Xid 119, long ago", "gpu.xid", "0000:23:00.0", "firmware", lambda n: xids(n, "0000:23:00.0", "13:2:50 119:4:90000")),
    ("Xid 94, an hour ago", "gpu.xid", "0000:e3:00.0", "contained", lambda n: xids(n, "0000:e3:00.0", "94:1:3600")),
    ("a fatal SXid", "gpu.sxid", "", "NVSwitch", lambda n: n.ask("kernel-log", "", {"sxids(Fatal)": 1})),
    ("Fabric Manager of another version", "service.fabric-manager", "", "version differs",
     lambda n: n.ask("fabric-manager", "", {"version": "565.57.01"})),
    ("Fabric Manager not running", "service.fabric-manager", "", "CUDA does not start", manager_down),
    ("a GPU not registered with the fabric", "gpu.fabric", "gpu2", "Fabric Manager has not started to register the GPU: CUDA",
     lambda n: n.ask("nvml", 2, {"nvmlDeviceGetGpuFabricInfo.state": 1})),
    ("a degraded fabric", "gpu.fabric", "gpu2", "degraded", lambda n: n.ask("nvml", 2, {"nvmlDeviceGetGpuFabricInfo.healthMask": 1})),
    ("an NVLink that is down", "gpu.nvlink", "gpu4", "17 of 18", lambda n: n.ask("nvml", 4, {"nvmlDeviceGetNvLinkState(11)": 0})),
    ("a slow NVLink", "gpu.nvlink-speed", "gpu4", "lower speed",
     lambda n: n.ask("nvml", 4, {"nvmlDeviceGetFieldValues(NVLINK_GET_SPEED,11)": 13281})),
    ("no peer access", "gpu.peer-access", "gpu1", "chipset", lambda n: n.ask("nvml", 1, {"nvmlDeviceGetP2PStatus(6,READ)": 1})),
    ("no dma-buf and no peermem", "rdma.gpudirect", "gpu2", "host memory",
     lambda n: n.ask("cuda", "0000:43:00.0", {"cuDeviceGetAttribute(124)": 0})),
    ("heat", "gpu.throttle", "gpu7", "too hot", lambda n: n.ask("nvml", 7, {"nvmlDeviceGetCurrentClocksEventReasons": 0x40})),
    ("a power brake in the past", "gpu.throttle-history", "gpu7", "power brake 12 s",
     lambda n: n.ask("nvml", 7, {"nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN)": 12000000000})),
    ("a reset asked for", "gpu.recovery-action", "gpu7", "reset",
     lambda n: n.ask("nvml", 7, {"nvmlDeviceGetFieldValues(GET_GPU_RECOVERY_ACTION)": 1})),
    ("a GPU with another VBIOS", "gpu.vbios", "", "different firmware", lambda n: n.ask("nvml", 6, {"nvmlDeviceGetVbiosVersion": "96.00.30.00.01"})),
    ("a NIC on the wrong rail", "pcie.rails", "", "gpu4 has no fast port", to_wrong_slot),
    ("ACS redirect", "pcie.acs", "0000:22:00.0", "goes up to the processor and back", lambda n: n.redirect("0000:22:00.0", 0x1d)),
    ("IOMMU translation", "pcie.iommu", "", "translated",
     lambda n: [n.write(f"/sys/kernel/iommu_groups/{g.name}/type", "DMA-FQ\n") for g in (n.under / "root/sys/kernel/iommu_groups").iterdir()]),
    ("NUMA balancing", "cpu.numa-balancing", "", "target 0", lambda n: n.write("/proc/sys/kernel/numa_balancing", "1\n")),
    ("no relaxed ordering", "nic.relaxed-ordering", "0000:64:00.0", "", lambda n: n.relaxed("0000:64:00.0", False)),
    ("a port that is down", "rdma.state", "mlx5_3/1", "one rail less", lambda n: port(n, "mlx5_3", state="1: DOWN", phys_state="2: Polling")),
    ("a slow port", "rdma.rate", "mlx5_2/1", "slower", lambda n: port(n, "mlx5_2", rate="200 Gb/sec (2X NDR)")),
    ("symbol errors", "rdma.errors", "mlx5_7/1", "many errors", lambda n: port(n, "mlx5_7", counters__symbol_error=40000)),
    ("other firmware", "rdma.firmware", "mlx5_1/1", "with different firmware behave differently", lambda n: n.write("/sys/class/infiniband/mlx5_1/fw_ver", "28.36.1010\n")),
    ("PCIe errors", "pcie.errors", "0000:63:00.0", "failed since boot",
     lambda n: n.write(f"{DEVICES}/0000:63:00.0/aer_dev_fatal", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1\n")),
]


def planting():
    sound = mended()
    bad = sound.bad(*ONLY)
    expect("a sound node is quiet", not bad, {k: f["reason"] for k, f in bad.items()})
    _, j = sound.check(*ONLY)
    by = {}
    for f in j["findings"]:
        by.setdefault(f["id"], set()).add(f["verdict"])
    for row in ("gpu.xid", "gpu.sxid", "gpu.nvlink", "gpu.nvlink-speed", "gpu.remapped-rows", "gpu.ecc-errors", "gpu.fabric", "pcie.rails",
                "pcie.link", "pcie.acs", "pcie.iommu", "rdma.state", "rdma.rate", "rdma.errors", "service.fabric-manager", "gpu.pcie-replays",
                "cpu.numa-balancing", "gpu.throttle-history", "rdma.gpudirect", "gpu.peer-access"):
        expect(f"{row} judges a sound node", "pass" in by.get(row, ()), by.get(row))
    expect("nothing is unseen", not [f for f in j["findings"] if f["verdict"] == "unknown"],
           [(f["id"], f["reason"]) for f in j["findings"] if f["verdict"] == "unknown"])
    for what, row, target, words, how in PLANTED:
        how(sound)
        bad = sound.bad(*ONLY)
        sound.mend()
        hit = [f for (r, t), f in bad.items() if r == row and (t == target or target in t.split())]
        if not expect(f"{what}: found by {row}", hit, {k: f["reason"] for k, f in bad.items()}):
            continue
        said = f"{hit[0]['reason']} {hit[0]['current']}"
        expect(f"{what}: says why", re.search(words, said), said)
        expect(f"{what}: by hand or by a write", hit[0]["why"] and hit[0]["source"], hit[0])
        # What follows from a fault may be a second finding; anything else is noise.
        noise = {r for r, _ in bad} - {row} - FOLLOWS.get(what, set())
        expect(f"{what}: nothing else", not noise, {k: f["reason"] for k, f in bad.items()})
    bad = sound.bad(*ONLY)
    expect("with all taken back it is quiet again", not bad, {k: f["reason"] for k, f in bad.items()})
    denied(sound)
    spark()
    readings(sound)


# A NIC behind another switch is both a rail that is lacking and a far NIC.
FOLLOWS = {"a NIC on the wrong rail": {"pcie.gpu-nic-path"}, "a port that is down": {"pcie.gpu-nic-path"}}


ZONE = "/sys/class/thermal/thermal_zone3"
SLOWED = "nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)"



def meminfo(n, **kb):
    """Lines of /proc/meminfo with other figures."""
    text = n.read("/proc/meminfo").decode()
    for key, value in kb.items():
        text = re.sub(rf"(?m)^{key}:.*$", f"{key}:{value:>16} kB", text)
    return n.write("/proc/meminfo", text)


def container(n, limit, anon, killed):
    group = n.at / "root/sys/fs/cgroup/system.slice/docker-1f.scope"
    n.put(group / "memory.max", f"{limit}\n".encode())
    n.put(group / "memory.stat", f"anon {anon}\nfile 900\n".encode())
    n.put(group / "memory.events", f"low 0\nmax 3\noom 1\noom_kill {killed}\n".encode())


# The same of a DGX Spark: "fail" or "unknown", where, words.
SPARK = [
    ("an hour of software slowdown", "fail", "gpu.throttle-history", "gpu0", "software thermal 3600 s",
     lambda n: n.ask("nvml", 0, {SLOWED: 3600 * 10 ** 9})),
    ("a counter that wrapped", "unknown", "gpu.throttle-history", "gpu0", "wrapped", lambda n: n.ask("nvml", 0, {SLOWED: 2 ** 63 - 1})),
    ("no margin left", "fail", "gpu.temperature", "gpu0", "at the slowdown limit: fix cooling first, clocks later",
     lambda n: n.ask("nvml", 0, {"nvmlDeviceGetTemperature(GPU)": 92, "nvmlDeviceGetMarginTemperature.marginTemperature": 2})),
    ("a hot zone", "fail", "cpu.temperature", "thermal_zone3", "2 C below its critical", lambda n: n.write(f"{ZONE}/temp", "103000\n")),
    ("a lower trip point", "fail", "cpu.temperature", "thermal_zone3", "passive trip point of 40 C",
     lambda n: [n.write(f"{ZONE}/trip_point_0_type", "passive\n"), n.write(f"{ZONE}/trip_point_0_temp", "40000\n")]),
    ("a zone that answers nothing", "unknown", "cpu.temperature", "thermal_zone3", "invalid reading", lambda n: n.write(f"{ZONE}/temp", "0\n")),
    ("a hot disk", "fail", "disk.temperature", "0004:01:00.0", "2 C below", lambda n: n.write("/sys/class/hwmon/hwmon7/temp1_input", "82850\n")),
    ("a hot NIC", "fail", "nic.temperature", "0000:01:00.0", "at or above", lambda n: n.write("/sys/class/hwmon/hwmon8/temp1_input", "106000\n")),
    ("1.5 of 121 GiB available", "fail", "memory.available", "", "can freeze the machine", lambda n: meminfo(n, MemAvailable=1572864, MemFree=1048576)),
    ("more available than there is", "unknown", "memory.available", "", "available memory exceeds total memory", lambda n: meminfo(n, MemAvailable=999999999)),
    ("page cache in the way", "fail", "memory.page-cache", "", "CUDA does not count page",
     lambda n: meminfo(n, MemFree=8000000, Cached=90000000)),
    ("full swap", "fail", "memory.swap-area", "", "swap is full", lambda n: meminfo(n, SwapFree=100000)),
    ("swap on a ZFS volume", "fail", "memory.swap-area", "", "lock up", lambda n: n.write(
        "/proc/swaps", "Filename Type Size Used Priority\n/dev/zd0 partition 16777212 0 -2\n")),
    ("a container at its limit", "fail", "memory.group-limits", "", "at its limit: the next", lambda n: container(n, 1 << 30, 1073000000, 0)),
    ("a container whose programs were killed", "fail", "memory.group-limits", "", "2 killed", lambda n: container(n, 1 << 30, 4096, 2)),
    ("a NIC's sensor at 255", "unknown", "nic.temperature", "0000:01:00.0", "255 C", lambda n: n.write("/sys/class/hwmon/hwmon8/temp1_input", "255000\n")),
]
MEMORY = ("--only", "memory.available,memory.page-cache,memory.swap-area,memory.group-limits")
WARM = ("--only", "gpu.throttle-history,gpu.temperature,cpu.temperature,disk.temperature,nic.temperature")


def spark():
    n = Node("spark", "dgx-spark")
    _, j = n.check("--only", "memory.guard", "--all")
    expect("a Spark without a guard", [f["verdict"] for f in j["findings"]] == ["fail"], j["findings"])
    n.put(n.at / "root/sys/fs/cgroup/system.slice/earlyoom.service/cgroup.procs", b"7\n")
    _, j = n.check("--only", "memory.guard", "--all")
    n.mend()
    expect("and with one", [f["verdict"] for f in j["findings"]] == ["pass"], j["findings"])
    container(n, "max", 5, 0)
    _, j = n.check(*MEMORY, "--all")
    n.mend()
    expect("a Spark has memory", {f["id"]: f["verdict"] for f in j["findings"]} == {
        "memory.available": "pass", "memory.page-cache": "pass", "memory.swap-area": "pass", "memory.group-limits": "na"}, j["findings"])
    _, j = n.check(*WARM, "--all")
    expect("a Spark is cool", {f["verdict"] for f in j["findings"]} == {"pass"}, [(f["id"], f["reason"]) for f in j["findings"]])
    for what, verdict, row, target, words, how in SPARK:
        how(n)
        _, j = n.check(*(MEMORY if row.startswith("memory.") else WARM))
        n.mend()
        bad = [f for f in j["findings"] if f["verdict"] not in ("pass", "na")]
        hit = [f for f in bad if f["id"] == row and (target == f["target"] or target in f["target"].split()) and f["verdict"] == verdict]
        if expect(f"{what}: {verdict} by {row}", hit, bad):
            expect(f"{what}: says why", words in f"{hit[0]['reason']} {hit[0]['current']}", hit[0])
        expect(f"{what}: nothing else", len(bad) == 1, bad)


def denied(sound):
    """The four answers: what may not be read is no pass."""
    n = sound.ask("kernel-log", "", {"lines(NVRM: Xid)": {"error": "EPERM"}, "sxids(Fatal)": {"error": "EPERM"},
                                                          "sxids(Non-fatal)": {"error": "EPERM"}})
    code, j = n.check("--only", "gpu.xid,gpu.sxid")
    expect("a log that may not be read is unknown", {f["verdict"] for f in j["findings"]} == {"unknown"} and code == 5, (code, j["findings"]))
    expect("and says who may", all(f["reason_code"] == "no-permission" for f in j["findings"]), j["findings"])
    sound.mend()
    _, out, _ = run("check", "--host", machines / "cpu-256", "--all", "--format", "json", "--only", "gpu.xid,gpu.sxid,pcie.rails,gpu.nvlink-speed")
    j = json.loads(out)
    expect("a machine without GPUs: not applicable", {f["verdict"] for f in j["findings"]} == {"na"}, j["findings"])
    code, out, _ = run("explain", "gpu.xid", *sound.argv)
    expect("explain has the numbers and their source", "79" in out and "fell off the bus" in out and "2026-" in out and "Azure" in out, out[:600])


def readings(sound):
    """--since: an earlier result of show, edited; the same counters are no news, more of them are."""
    later = sound
    _, out, _ = run("show", *later.argv, "--format", "json", "--deep")
    then = json.loads(out)
    then["facts"]["time_s"]["value"] -= 3600
    path = tmp / "then.json"
    old = {"nvml": {"nvmlDeviceGetTotalEccErrors(UNCORRECTED,AGGREGATE)": 4, "nvmlDeviceGetFieldValues(NVLINK_ERROR_DL_CRC,2)": 9,
                    "nvmlDeviceGetPcieReplayCounter": 5000}}
    later.ask("nvml", 6, old["nvml"])
    port(later, "mlx5_7", counters__link_downed=3)
    gpu6 = then["facts"]["gpu"]["gpus"][6]

    def counted(ecc, crc, replays, downs):
        gpu6["ecc_uncorrected"] = {"value": ecc, "from": "x"}
        gpu6["links"][2]["crc_errors"] = {"value": crc, "from": "x"}
        gpu6["pcie_replays"] = {"value": replays, "from": "x"}
        for p in then["facts"]["net"]["rdma"]:
            if p["name"] == "mlx5_7/1":
                p["link_downed"] = {"value": downs, "from": "x"}
        path.write_text(json.dumps(then))
        return later.bad(*ONLY, "--since", path)

    expect("without an earlier reading old ECC errors are findings", {"gpu.ecc-errors"} <= {r for r, _ in later.bad(*ONLY)}, later.bad(*ONLY))
    link = [f for f in later.check("--only", "gpu.nvlink-errors", "--all")[1]["findings"] if f["target"] == "gpu6"][0]
    expect("old errors of a link are none: they ask for one", link["verdict"] == "na" and link["reason_code"] == "needs-earlier-reading", link)
    bad = counted(4, 9, 5000, 3)
    expect("what did not grow is quiet", not bad, {k: f["reason"] for k, f in bad.items()})
    bad = counted(3, 9, 5000, 3)
    expect("one more uncorrected error", {r for r, _ in bad} == {"gpu.ecc-errors"}, bad.keys())
    expect("in an hour", "1 more uncorrected errors in 60 min" in next(iter(bad.values()))["reason"], bad)
    bad = counted(4, 9, 100, 3)
    expect("many replays", {r for r, _ in bad} == {"gpu.pcie-replays"}, bad.keys())
    bad = counted(4, 8, 5000, 3)
    expect("a link whose errors grow slower than matters", not bad, {k: f["reason"] for k, f in bad.items()})
    bad = counted(4, 9, 5000, 2)
    expect("a flap", {r for r, _ in bad} == {"rdma.errors"}, bad.keys())
    bad = counted(5, 10, 6000, 9)
    expect("counters that went back did not grow: what they hold is judged as without an earlier reading",
           {r for r, _ in bad} == {"gpu.ecc-errors"} and not any("more" in f["reason"] for f in bad.values()), {k: f["reason"] for k, f in bad.items()})
    bad = counted((1 << 63) - 1, (1 << 32) - 1, (1 << 32) - 1, (1 << 16) - 1)
    expect("nor those that wrapped", {r for r, _ in bad} == {"gpu.ecc-errors"} and not any("more" in f["reason"] for f in bad.values()),
           {k: f["reason"] for k, f in bad.items()})
    bad = counted(4, 9, 5000, 3)
    xids(later, "0000:23:00.0", "95:1:864000")
    later.ask("kernel-log", "", {"sxids(Fatal)": 2})
    then["facts"]["gpu"]["sxid_fatal"] = {"value": 2, "from": "x"}
    expect("a lasting Xid and a fatal SXid of ten days ago count", {"gpu.xid", "gpu.sxid"} <= {r for r, _ in later.bad(*ONLY)}, later.bad(*ONLY))
    bad = counted(4, 9, 5000, 3)
    expect("but not where a reading after the reset is given", not bad, {k: f["reason"] for k, f in bad.items()})
    xids(later, "0000:23:00.0", "95:2:600")
    then["facts"]["gpu"]["sxid_fatal"] = {"value": 1, "from": "x"}
    bad = counted(4, 9, 5000, 3)
    expect("unless they come again", {r for r, _ in bad} == {"gpu.xid", "gpu.sxid"}, bad.keys())
    for what, text in (("no JSON", "{"), ("another result", '{"schema": "gputune.check/1"}'), ("a wrong fact", '{"schema": "gputune.show/1", '
                       '"subject": "all", "facts": {"nodename": 7}}')):
        path.write_text(text)
        code, out, err = run("check", *later.argv, "--since", path)
        expect(f"--since {what}", code == 2 and str(path) in err, (code, err))
    then["facts"]["nodename"]["value"] = "other"
    path.write_text(json.dumps(then))
    code, out, err = run("check", *later.argv, "--since", path)
    expect("--since of another machine", code == 2 and "other" in err, (code, err))
    code, out, err = run("check", *later.argv, "--since", machines / "hgx-h100")
    expect("--since a capture of the same moment", code == 2 and "not older than" in err, (code, err))


# --- drawings ---------------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def drawn(argv, kind, what):
    code, out, err = run("show", "topology", "--as", kind, *argv)
    expect(f"{what}: {kind}", code == 0 and not err, (code, err))
    again = run("show", "topology", "--as", kind, *argv)[1]
    expect(f"{what}: {kind} is the same again", again == out)
    try:
        t = xml.etree.ElementTree.fromstring(out)
    except xml.etree.ElementTree.ParseError as e:
        expect(f"{what}: {kind} is XML", False, e)
        return None, out
    return t, out


def texts_inside(t, what):
    """Every text begins within the paper, and no box leaves it."""
    w, h = int(t.get("width")), int(t.get("height"))
    for e in t.iter():
        if e.tag == SVG + "text":
            expect(f"{what}: text inside", 0 <= int(e.get("x")) <= w and 0 <= int(e.get("y")) <= h, (e.text, e.attrib, w, h))
        if e.tag == SVG + "rect":
            expect(f"{what}: box inside", int(e.get("x")) >= 0 and int(e.get("x")) + int(e.get("width")) <= w and
                   int(e.get("y")) + int(e.get("height")) <= h and int(e.get("width")) > 0, (e.attrib, w, h))


def drawings():
    says = {"hgx-h100": ("ottleneck", "GPU 5", "8 of 16 lanes", "NVSwitch"), "dgx-spark": ("200 Gb/s", "rocep1s0f0"),
            "igx-orin": ("uplink", "GPU 0 below it"), "h200-x4": ("NVSwitch",)}
    for machine, words in says.items():
        argv = ["--host", machines / machine]
        for kind in ("svg", "svg-tall"):
            t, out = drawn(argv, kind, machine)
            if t is None:
                continue
            texts_inside(t, f"{machine} {kind}")
            desc = t.find(SVG + "desc").text
            shown = " ".join(e.text or "" for e in t.iter(SVG + "text"))
            for w in words:
                expect(f"{machine} {kind}: the description says {w}", w in desc, desc[-700:])
            expect(f"{machine} {kind}: accessible", t.get("role") == "img" and t.find(SVG + "title").text, t.attrib)
            if kind == "svg-tall":
                expect(f"{machine}: for 360 pixels", t.get("width") == "360")
                expect(f"{machine}: letters that can be read", all(int(e.get("font-size")) >= 11 for e in t.iter(SVG + "text")))
            expect(f"{machine} {kind}: shows {words[0]}", words[0].split()[0] in shown, shown[:500])
        tree = run("show", "topology", "--as", "tree", "--ascii", *argv)[1]
        for w in words:
            expect(f"{machine} tree: says {w}", w in tree, tree[-900:])
    code, out, _ = run("show", "topology", "--format", "json", "--host", machines / "hgx-h100")
    j = json.loads(out)
    validate(j, "show")
    expect("JSON names the bottleneck", [(s["kind"], s["name"], s["fault"], s["now"], s["could"]) for s in j["narrow"]] ==
           [("lanes", "GPU 5", True, 31508, 63015)], j["narrow"])
    evil = Node("evil", machine="igx-orin").ask("nvml", 0, {"nvmlDeviceGetName": "<script>alert(1)</script>&\"'\u202e"})
    for kind in ("svg", "svg-tall"):
        t, out = drawn(evil.argv, kind, "a hostile name")
        expect(f"a hostile name stays text in {kind}", t is not None and not list(t.iter(SVG + "script")) and "<script" not in out and
               "\u202e" not in out and "&lt;script" in out, out[:300])
    html = run("show", "topology", "--format", "html", *evil.argv)[1]
    expect("and in HTML", "<script>alert" not in html and html.count("<svg") == 2)


def kinds():
    """An HGX baseboard by the names of its GPUs: a Grace Hopper is named like an H200, and is none."""
    for name, kind in (("NVIDIA H200", "hgx"), ("NVIDIA GH200 480GB", "generic"), ("NVIDIA H100 PCIe", "generic"), ("NVIDIA B200", "hgx")):
        n = Node(name.replace(" ", "-"))
        for i in range(8):
            n.ask("nvml", i, {"nvmlDeviceGetName": name})
        j = json.loads(run("show", "--format", "json", *n.argv)[1])
        expect(f"{name}: {kind}", j["facts"]["platform"]["kind"]["value"] == kind, j["facts"]["platform"])


def tuned():
    """The profile of TuneD that is active, with what it includes, is who sets a setting; NVIDIA's own is named as such."""
    for profile, words in (("dgx-h100-performance", "NVIDIA's own TuneD profile"), ("throughput-performance", "one tuner"), ("", "one tuner")):
        n = Node("tuned-" + (profile or "none"))
        n.write("/etc/tuned/active_profile", profile + "\n")
        n.write(f"/usr/lib/tuned/{profile or 'none'}/tuned.conf", "[main]\ninclude=nvidia-base\n[sysctl]\nvm.swappiness=1\n")
        n.write("/usr/lib/tuned/nvidia-base/tuned.conf", "[main]\ninclude=nvidia-base\n[cpu]\ngovernor=performance\n")
        _, j = n.check("--only", "service.tuners", "--all")
        expect(f"{profile}: {words}", words in j["findings"][0]["reason"], j["findings"])
        for setting, line in (("memory.swappiness", "vm.swappiness"), ("cpu.governor", "scaling_governor")):
            out = run("explain", setting, *n.argv)[1].split("Also set by")[-1].split("\nHow\n")[0]
            expect(f"{profile}: {setting} is set by it", not profile or f"profile {profile}" in out, out)


drawings()
kinds()
tuned()
planting()
end_suite()
