#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kind of machine this is, and the rules that follow from its board: captured machines edited to what public outputs of other
machines of the kind show.

    platforms.py GPUTUNE
"""
import json

from common import end_suite, expect, run
from node import DEVICES, Node


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


switches()
end_suite()
