# SPDX-License-Identifier: Apache-2.0
"""What another program says of the value that a change was to set. Nothing here asks gputune."""
import json
import re


def link_value(v, name, interface):
    if name == "mtu":
        return str(json.loads(v.must(f"ip -j link show {interface}"))[0]["mtu"])
    ring = re.fullmatch(r"(rx|tx)-ring", name)
    if ring:
        out = v.must(f"ethtool -g {interface}")
        return re.search(rf"Current hardware.*?\n{ring[1].upper()}:\s+(\d+)", out, re.S)[1]
    channels = re.fullmatch(r"(?:combined-)?channels", name)
    if channels:
        out = v.must(f"ethtool -l {interface}")
        return re.search(r"Current hardware.*Combined:\s+(\d+)", out, re.S)[1]
    coalesce = re.fullmatch(r"(rx|tx)-(?:coalesce|usecs)(?:-us)?", name)
    if coalesce:
        return re.search(rf"\n{coalesce[1]}-usecs: (\d+)", v.must(f"ethtool -c {interface}"))[1]
    if name == "adaptive-rx":
        return re.search(r"Adaptive RX: (\S+)", v.must(f"ethtool -c {interface}"))[1]
    return None


def pci_value(v, name, address):
    out = v.must(f"lspci -D -vv -s {address}")
    pattern = {"mrrs": r"MaxReadReq (\d+) bytes", "mps": r"MaxPayload (\d+) bytes, MaxReadReq"}.get(name)
    found = pattern and re.search(pattern, out)
    return found[1] if found else None


def sysfs_value(v, path):
    """lsblk where it has a column for it; else the file as cat prints it, of a choice the chosen word."""
    block = re.fullmatch(r"/sys/block/(\w+)/queue/(scheduler|nr_requests|read_ahead_kb)", path)
    if block:
        column = {"scheduler": "SCHED", "nr_requests": "RQ-SIZE", "read_ahead_kb": "RA"}[block[2]]
        return v.must(f"lsblk -d -n -o {column} /dev/{block[1]}").strip()
    text = v.must(f"cat '{path}'").strip()
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen[1] if chosen else text


def found(v, knob):
    """The value of a knob of a plan as another program reads it; None when no program here does."""
    kind, name, target = knob["kind"], knob["name"], knob["object"]
    if kind == "sysctl":
        return " ".join(v.must(f"sysctl -n {name}").split())
    if kind == "sysfs":
        return sysfs_value(v, name)
    if kind == "modparam":
        module, parameter = name.split(".", 1)
        return v.must(f"cat /sys/module/{module}/parameters/{parameter}").strip()
    if kind == "pci":
        return pci_value(v, name, target)
    if kind == "link":
        return link_value(v, name, target)
    if kind == "boot-argument":
        out = v.run("cat /etc/default/grub /etc/default/grub.d/*.cfg /etc/kernel/cmdline 2>/dev/null")[1]
        tokens = re.findall(rf"(?<![\w.-]){re.escape(name)}=([^\s\"']+)", out)
        return tokens[-1] if tokens else "nothing in the boot loader's files"
    if kind == "unit":
        enabled = v.run(f"systemctl is-enabled {name}")[1].strip()
        active = v.run(f"systemctl is-active {name}")[1].strip()
        return f"{enabled} {active}"
    return None


def same(knob, seen, wanted):
    if seen is None or wanted is None:
        return False
    return seen.split() == str(wanted).split()
