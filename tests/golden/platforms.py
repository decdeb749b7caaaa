#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kind of machine this is, and the rules that follow from its board: captured machines edited to what public outputs of other
machines of the kind show.

    platforms.py GPUTUNE
"""
import json
import shutil
import struct

from common import end_suite, expect, machines, run, scratch
from node import DEVICES, Node, capability


def facts(node, subject=None):
    return json.loads(run("show", *([subject] if subject else []), *node.argv, "--format", "json")[1])["facts"]


def findings(node, *ids):
    _, j = node.check("--all", "--only", ",".join(ids))
    return {(f["id"], f["target"]): f for f in j["findings"]}


# --- NVSwitches of a B200 ---------------------------------------------------------------------------------------------------

def function(node, like, address, infiniband=None):
    """A copy of a function beside another one, its RDMA device with it."""
    old = node.real(f"{DEVICES}/{like}")
    above = old.rsplit("/", 1)[0]
    new = f"{above}/{address}"
    for f in (node.under / "root" / old.lstrip("/")).iterdir():
        if f.is_file():
            data = f.read_bytes().replace(like.encode(), address.encode())
            node.put(node.at / "root" / new.lstrip("/") / f.name, data)
    node.link(f"{new}/driver", "/sys/bus/pci/drivers/mlx5_core")
    node.link(f"{DEVICES}/{address}", f"../../../{new[len('/sys/'):]}")
    if infiniband:
        device = next((node.under / "root" / old.lstrip("/") / "infiniband").iterdir())
        for f in device.rglob("*"):
            if f.is_file() and not f.is_symlink():
                node.put(node.at / "root" / new.lstrip("/") / "infiniband" / infiniband / f.relative_to(device), f.read_bytes())
        node.link(f"{new}/infiniband/{infiniband}/device", "../..")
        node.link(f"/sys/class/infiniband/{infiniband}", f"../../{new[len('/sys/'):]}/infiniband/{infiniband}")
    return new


def b200(name, functions):
    """The HGX node without its NVSwitch functions, with a ConnectX-7 of so many functions in their place."""
    n = Node(name, machine="hgx-h100")
    for p in (n.under / "root/sys/bus/pci/devices").iterdir():
        if (p / "class").read_text().startswith("0x0680"):
            n.gone(f"{DEVICES}/{p.name}")
    for f in range(functions):
        function(n, "0000:04:00.0", f"0000:04:1e.{f}", f"mlx5_{10 + f}")
    return n


def switches():
    n = b200("b200", 4)
    net = facts(n)["net"]
    expect("the four functions are no RDMA ports", not [p for p in net["rdma"] if p["name"] > "mlx5_1" and "mlx5_1" in p["name"] and p["name"] != "mlx5_1/1"], [p["name"] for p in net["rdma"]])
    expect("they manage NVSwitches", sorted(p["name"] for p in net["switch_ports"]) == [f"mlx5_{10 + f}/1" for f in range(4)], net["switch_ports"])
    platform = facts(n)["platform"]
    expect("the platform says so", platform["kind"]["value"] == "hgx" and "4 NVSwitch management functions" in platform["why"]["value"], platform)
    _, j = n.check("--all")
    about = [f for f in j["findings"] if "04:1e" in f["target"] or any(f"mlx5_{10 + k}" in f["target"] for k in range(4))]
    expect("no row judges them as NICs", not about, [(f["id"], f["target"]) for f in about])
    by = findings(n, "pcie.rails", "pcie.gpu-nic-path")
    expect("rails count without them", by["pcie.rails", ""]["verdict"] == "pass", by["pcie.rails", ""])
    page = run("show", "nic", *n.argv)[1]
    expect("show has them apart", "NVSwitch management" in page, page[-1500:])
    tree = run("show", "topology", "--as", "tree", *n.argv)[1]
    expect("a drawing has no NIC of them", "mlx5_10" not in tree, tree)
    two = facts(b200("two-ports", 2))["net"]
    expect("a NIC of two ports stays a NIC", not two["switch_ports"] and {"mlx5_10/1", "mlx5_11/1"} <= {p["name"] for p in two["rdma"]}, two["rdma"])
    # A virtual machine with one of them and a B200: the adapter's own data tell.
    guest = b200("guest", 1)
    gpu = f"{DEVICES}/0000:03:00.0"
    guest.config("0000:03:00.0", lambda space: space.__setitem__(slice(2, 4), b"\x01\x29"))
    guest.write(f"{gpu}/uevent", guest.read(f"{gpu}/uevent").replace(b"10DE:2330", b"10DE:2901"))
    expect("one function says nothing by itself", not facts(guest)["net"]["switch_ports"])
    guest.put(guest.at / "root" / guest.real(f"{DEVICES}/0000:04:00.0").lstrip("/") / "../0000:04:1e.0/vpd", b"\x82\x04\x00CX-7\x90\x0e\x00SMDL=SW_MNG\x78")
    expect("its vital product data do", [p["name"] for p in facts(guest)["net"]["switch_ports"]] == ["mlx5_10/1"])


# --- what firmware and chips call a machine ---------------------------------------------------------------------------------

# As public reports show them; the last fields are kind and model.
FIRMWARE = [
    ({"product_name": "NVIDIA_DGX_Spark", "sys_vendor": "NVIDIA", "product_family": "DGX Spark"}, "dgx-spark", "NVIDIA DGX Spark"),
    ({"product_name": "NVIDIA_DGX_Spark   ", "sys_vendor": " NVIDIA "}, "dgx-spark", "NVIDIA DGX Spark"),
    ({"product_name": "AI TOP ATOM", "sys_vendor": "GIGABYTE", "product_family": "DGX Spark", "product_version": "B.1", "board_name": "P4242"}, "dgx-spark", "Gigabyte AI TOP ATOM"),
    ({"product_name": "30KL0004FC", "sys_vendor": "LENOVO", "product_family": "DGX Spark", "product_version": "ThinkStation PGX"}, "dgx-spark", "Lenovo ThinkStation PGX"),
    ({"product_name": "30KL0005GF", "sys_vendor": "LENOVO"}, "dgx-spark", "Lenovo ThinkStation PGX"),
    ({"product_name": "GX10", "sys_vendor": "ASUSTeK COMPUTER INC."}, "dgx-spark", "ASUS Ascent GX10"),
    ({"product_name": "System Product Name", "sys_vendor": "ASUSTeK COMPUTER INC.", "board_name": "GX10DGX"}, "dgx-spark", "ASUS Ascent GX10"),
    ({"product_name": "Dell Pro Max with GB10 FCM1253", "sys_vendor": "Dell Inc."}, "dgx-spark", "Dell Pro Max with GB10"),
    ({"product_name": "FCM1253", "sys_vendor": "Dell Inc."}, "dgx-spark", "Dell Pro Max with GB10"),
    ({"product_name": "MS-C931", "sys_vendor": "MSI", "board_name": "EdgeXpert (MS-C931)"}, "dgx-spark", "MSI EdgeXpert"),
    ({"product_name": "HP ZGX Nano G1n AI Station", "sys_vendor": "HP", "board_name": "8EA3"}, "dgx-spark", "HP ZGX Nano G1n"),
    ({"product_name": "Veriton GN100", "sys_vendor": "Acer"}, "dgx-spark", "Acer Veriton GN100"),
    ({"product_name": "Something New", "sys_vendor": "Somebody", "product_family": " DGX  SPARK "}, "dgx-spark", "DGX Spark design from another vendor"),
    ({"product_name": "NVIDIA IGX Thor Developer Kit", "sys_vendor": "NVIDIA"}, "generic", "NVIDIA IGX Thor"),
    ({"product_name": "NVIDIA IGX Orin Developer Kit", "sys_vendor": "NVIDIA"}, "igx-orin", "NVIDIA IGX Orin"),
    ({"product_name": "AGX10 Station", "sys_vendor": "Somebody"}, "generic", None),
    ({"product_name": "", "sys_vendor": ""}, "generic", None),
]
GPU = "000f:01:00.0"


def without_gpu(name):
    """The Spark with its GPU off the bus, and nobody who answers for it."""
    n = Node(name, machine="dgx-spark")
    n.gone(f"{DEVICES}/{GPU}").put(n.at / "api/nvml.json", b"{}").put(n.at / "api/cuda.json", b"{}")
    return n.keep()


def firmware():
    n = without_gpu("dmi")
    for dmi, kind, model in FIRMWARE:
        for leaf in ("product_name", "product_family", "product_version", "sys_vendor", "board_name"):
            n.put(n.at / f"root/sys/class/dmi/id/{leaf}", f"{dmi.get(leaf, 'To be filled')}\n".encode())
        got = facts(n)["platform"]
        expect(f"{dmi['product_name']!r} of {dmi['sys_vendor']!r}", got["kind"]["value"] == kind and got.get("model", {}).get("value") == model, got)
        if kind == "generic" and model:
            expect(f"{model} is named", "which has no rules in gputune" in got["why"]["value"], got["why"])
    for device, kind, words in ((0x2e12, "dgx-spark", "GB10 (10de:2e12)"), (0x2e2a, "dgx-spark", "GB10 (10de:2e2a)"), (0x2e3f, "dgx-spark", "GB10"),
                                (0x2e06, "generic", "RTX Spark N1X (10de:2e06)"), (0x2e40, "generic", "unknown product"), (0x2dff, "generic", "unknown product")):
        n = Node(f"chip-{device:x}", machine="dgx-spark")
        n.put(n.at / "api/nvml.json", b"{}").put(n.at / "api/cuda.json", b"{}").write("/sys/class/dmi/id/product_name", "Board\n")
        n.put(n.at / "root/sys/class/dmi/id/product_family", b"\n")
        n.config(GPU, lambda space, d=device: space.__setitem__(slice(2, 4), d.to_bytes(2, "little")))
        where = f"{DEVICES}/{GPU}"
        n.write(f"{where}/uevent", n.read(f"{where}/uevent").replace(b"2E12", f"{device:04X}".encode()))
        got = facts(n)["platform"]
        expect(f"10de:{device:04x} is {kind}", got["kind"]["value"] == kind and words in got["why"]["value"], got)
        link = findings(n, "pcie.link").get(("pcie.link", GPU))
        if 0x2e00 <= device <= 0x2e3f:
            expect(f"10de:{device:04x}: the link is a placeholder", link and link["reason_code"] == "integrated-gpu", link)


# --- boost ------------------------------------------------------------------------------------------------------------------

CPU = "/sys/devices/system/cpu"


def cppc(n, limits):
    """The switch of cppc_cpufreq, off, and what firmware says of highest and nominal performance by CPU."""
    n.put(n.at / f"root{CPU}/cpufreq/boost", b"0\n")
    for cpus, highest, nominal in limits:
        for c in cpus:
            for leaf, value in (("highest_perf", highest), ("nominal_perf", nominal)):
                n.put(n.at / f"root{CPU}/cpu{c}/acpi_cppc/{leaf}", f"{value}\n".encode())
    return n


def boost():
    little, big = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14], [5, 6, 7, 8, 9, 15, 16, 17, 18, 19]
    for what, limits, verdict, words in (
            ("nothing above nominal", [(little, 2808, 2808), (big, 3900, 3900)], "na", "boost adds nothing"),
            ("the second cluster's 2.7 %", [(little, 2808, 2808), (big[:5], 3900, 3900), (big[5:], 4004, 3900)], "fail", "at most 2.7 %"),
            ("much above nominal", [(little, 4000, 2800), (big, 3900, 3900)], "fail", "at most 42.9 %"),
            ("zeros of firmware", [(little, 0, 0), (big, 0, 0)], "unknown", "unreadable"),
            ("firmware that tells of some", [(little, 0, 0), (big, 4004, 3900)], "fail", "at most 2.7 %"),
            ("nothing told", [], "na", "does not report")):
        n = cppc(Node(f"boost-{what.split()[0]}-{len(words)}", machine="dgx-spark"), limits)
        f = findings(n, "cpu.boost")["cpu.boost", ""]
        expect(f"boost off, {what}: {verdict}", f["verdict"] == verdict and words in f["reason"], f)
        if verdict == "fail":
            expect(f"boost off, {what}: its severity", f["severity"] == ("medium" if "much" in what else "low"), f["severity"])
    n = Node("turbo", machine="hgx-h100")
    n.put(n.at / f"root{CPU}/intel_pstate/no_turbo", b"1\n")
    f = findings(n, "cpu.boost")["cpu.boost", ""]
    expect("Intel's turbo off is a finding as ever", f["verdict"] == "fail" and f["severity"] == "medium" and "base clock" in f["reason"], f)


# --- lanes ------------------------------------------------------------------------------------------------------------------

def link(n, address):
    f = findings(n, "pcie.link")
    return next((v for (_, t), v in f.items() if address in t.split()), None)


def reach(n, address, width=None, speed=None):
    """What LnkCap says: lanes, and the generation."""
    def change(space):
        at = capability(space, 0x10) + 0x0c
        now = struct.unpack_from("<I", space, at)[0]
        now = now & ~0x3f0 | width << 4 if width is not None else now
        struct.pack_into("<I", space, at, now & ~0xf | speed if speed is not None else now)
    return n.config(address, change)


def lanes():
    second, port, first = "0002:01:00.0", "0002:00:00.0", "0000:01:00.0"
    for what, port_can in (("the port above it says x4", 4), ("the port above it says x2", 2)):
        n = Node(f"half-{port_can}", machine="dgx-spark")
        for a in (second, "0002:01:00.1", port):
            n.lanes(a, 2)
        reach(n, port, port_can)
        f = link(n, second)
        expect(f"x2 beside x4, {what}", f and f["verdict"] == "fail" and f["wanted"] == "32.0 GT/s x4" and "other half" in f["reason"] if port_can == 2
               else f and f["verdict"] == "fail", f)
        expect(f"x2, {what}: nothing is reseated", "reseat" not in f["reason"] and "BIOS" in f["reason"], f["reason"])
        _, out, _ = run("plan", *n.argv, "--only", "pcie.link", "--format", "json")
        expect(f"x2, {what}: nor by hand", "soldered" in out and "reseat" not in out, out[:900])
        expect(f"x2, {what}: the other half is right", link(n, first)["verdict"] == "pass", link(n, first))
        j = json.loads(run("show", "topology", *n.argv, "--format", "json")[1])
        expect(f"x2, {what}: a narrow spot", any(s["kind"] == "lanes" and "vendor's support" in s["reason"] for s in j["narrow"]), j["narrow"])
    n = Node("both-halves", machine="dgx-spark")
    for a in (first, "0000:01:00.1", "0000:00:00.0", second, "0002:01:00.1", port):
        n.lanes(a, 2)
        reach(n, a, 2 if a.endswith("00:00.0") else None)
    f = link(n, second)
    expect("both halves at x2: the board has four lanes each", f["verdict"] == "fail" and "x4" in f["wanted"], f)
    n = Node("right", machine="dgx-spark")
    expect("the captured one", link(n, second)["verdict"] == "pass", link(n, second))
    n.lanes("0004:01:00.0", speed=4)
    f = link(n, "0004:01:00.0")
    expect("a disk at half its speed is no critical fault", f["verdict"] == "fail" and f["severity"] == "low", f)
    reach(n, "0004:01:00.0", speed=4)
    expect("a disk that can do no more", link(n, "0004:01:00.0")["verdict"] == "pass", link(n, "0004:01:00.0"))
    n = Node("slot", machine="hgx-h100")
    reach(n, "0000:03:00.0", speed=6)
    expect("as the slot allows: a device that could do more", "at the slot's maximum" in (link(n, "0000:03:00.0") or {}).get("reason", ""), link(n, "0000:03:00.0"))


# --- hot plug ---------------------------------------------------------------------------------------------------------------

HOTPLUG = "/sys/devices/platform/MTKP0001:00/pcie_hotplug"
FUNCTIONS = ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1")


def hot_plug():
    for what, cable, enabled, verdict, words in (
            ("no cable", 0, 1, "na", "no cable detected"), ("a cable and no NIC", 1, 1, "fail", "hot-plug fault"),
            ("hot plug off and no NIC", 0, 0, "fail", "hot plug is off"), ("nothing known", None, None, "na", "no cable, or a hot-plug fault")):
        n = Node(f"hot-{what.replace(' ', '-')}", machine="dgx-spark")
        for a in FUNCTIONS:
            n.gone(f"{DEVICES}/{a}")
        for leaf, value in (("debug_state", cable), ("hotplug_enabled", enabled)):
            path = n.at / f"root{HOTPLUG}/{leaf}"
            if value is not None:
                n.put(path, f"{value}\n".encode())
            elif (n.under / f"root{HOTPLUG}/{leaf}").exists():
                n.gone(f"{HOTPLUG}/{leaf}")
        f = findings(n, "nic.cable")["nic.cable", ""]
        expect(f"{what}: {verdict}", f["verdict"] == verdict and words in f["reason"] and "never rescan" in f["reason"], f)
        expect(f"{what}: no late cable", findings(n, "nic.late-cable")["nic.late-cable", ""]["verdict"] == "na")
    for what, answer, verdict in (("since boot", 2, "fail"), ("at boot", 0, "pass"), ("a log that may not be read", {"error": "EPERM"}, "unknown")):
        n = Node(f"cable-{what.replace(' ', '-')}", machine="dgx-spark")
        n.put(n.at / f"root{HOTPLUG}/hotplug_enabled", b"1\n").put(n.at / f"root{HOTPLUG}/debug_state", b"1\n")
        n.ask("kernel-log", "", {"lines(MTKP0001:00: Cable plugin)": answer})
        f = findings(n, "nic.late-cable")["nic.late-cable", ""]
        expect(f"a cable, {what}: {verdict}", f["verdict"] == verdict, f)


# --- the SMMU ---------------------------------------------------------------------------------------------------------------

def smmu():
    for what, argument, kernel, verdict in (
            ("bypassed before 6.11", " iommu.passthrough=1", "6.8.0-1020-nvidia-64k", "fail"), ("bypassed after", " iommu.passthrough=1", "6.17.0-1014-nvidia", "pass"),
            ("translated before 6.11", " iommu.passthrough=0", "6.8.0-1020-nvidia-64k", "pass"), ("not said", "", "6.8.0-1020-nvidia-64k", "pass"),
            ("the last word wins", " iommu.passthrough=1 iommu.passthrough=0", "6.8.0-1020", "pass"), ("an unknown kernel", " iommu.passthrough=1", "next", "unknown")):
        under = scratch("smmu") / "spark"
        shutil.copytree(machines / "dgx-spark", under, symlinks=True)
        meta = json.loads((under / "meta.json").read_text())
        meta["identity"]["release"] = kernel
        (under / "meta.json").write_text(json.dumps(meta))
        n = Node(f"smmu-{what.replace(' ', '-')}", machine=under)
        line = " ".join(w for w in n.read("/proc/cmdline").decode().split() if not w.startswith("iommu.passthrough"))
        n.write("/proc/cmdline", line + argument + "\n")
        f = findings(n, "pcie.arm-passthrough", "pcie.iommu")
        got = f["pcie.arm-passthrough", ""]
        expect(f"SMMU {what}: {verdict}", got["verdict"] == verdict, got)
        other = f["pcie.iommu", ""]
        expect(f"SMMU {what}: argument and domains are named", other["verdict"] == "na" and "domains: " in other["reason"] and
               (argument.split("=")[-1].strip() in other["reason"] if argument else "without" in other["reason"]), other)
    n = Node("smmu-x86", machine="hgx-h100")
    expect("not on x86", findings(n, "pcie.arm-passthrough")["pcie.arm-passthrough", ""]["verdict"] == "na")


def link_layer():
    """A port that is down needs no link layer; the fix of one in use names its address and number."""
    for state, verdict in (("1: DOWN", "na"), ("4: ACTIVE", "fail")):
        n = Node(f"port-{state[3:]}", machine="igx-orin")
        n.write("/sys/class/infiniband/mlx5_1/ports/1/state", state + "\n")
        f = findings(n, "rdma.link-layer")["rdma.link-layer", "mlx5_1/1"]
        expect(f"InfiniBand on a port that is {state[3:]}: {verdict}", f["verdict"] == verdict and
               ("port is down" in f["reason"]) == (verdict == "na"), f)
        text = run("check", "--only", "rdma.link-layer", *n.argv)[1] if verdict == "fail" else f["reason"]
        expect("the command has the port's address and number",
               "mlxconfig -d 0005:03:00.1 set LINK_TYPE_P1=2" in " ".join(text.split()), text)


switches()
firmware()
link_layer()
smmu()
boost()
lanes()
hot_plug()
end_suite()
