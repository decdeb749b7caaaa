# SPDX-License-Identifier: Apache-2.0
"""The steps boot and read: the machine comes up as described, and what gputune reads is what other programs read."""
import json
import re
import shutil
import time

import lab
from vm import DIR, VM


def boot(r):
    """A cold start, what has to be there, an orderly end, and the stored machine."""
    with VM(DIR / "disk.img", keep=False) as v:
        seconds = v.ready()
        lab.settle(v)
        r.check("cold start", True)
        r.note(f"ready after {seconds:.1f} s")
        state = v.run("systemctl is-system-running; systemctl --failed --no-legend")[1]
        r.check("systemd runs and nothing failed", state.strip() == "running", state)
        pci = v.must("lspci -D -n")
        r.check("9 GPUs and 6 network functions of our own", len(re.findall(" 10de:2330", pci)) == 9 and
                len(re.findall(" 15b3:1021", pci)) == 6, pci)
        r.check("5 cards behind switches, 2 NVMe", pci.count(" 8086:10d3") == 5 and pci.count(" 1b36:0010") == 2, pci)
        r.check("two nodes", "available: 2 nodes" in v.must("numactl -H"))
        states = v.must("cat /sys/devices/system/cpu/cpu1/cpuidle/state*/name").split()
        r.check("idle states", states == ["C1", "C1E", "C6"], states)
        r.check("frequency governors", "performance" in
                v.must("cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors"))
        t = time.time()
        r.check("orderly end", v.off() == 0)
        r.note(f"off after {time.time() - t:.1f} s")
    with lab.machine(program=False) as v:
        r.check("restored from the stored machine", v.run("ls /dev/nvme1n1")[0] == 0)
        r.note(f"restored with disks plugged after {time.time() - v.started:.1f} s")


def value(fact):
    return fact.get("value") if isinstance(fact, dict) else fact


def lspci_table(text):
    """address -> what lspci -vvv says of the PCI Express capability."""
    table = {}
    for block in text.strip().split("\n\n"):
        address = block.split(" ", 1)[0]
        get = lambda pattern, b=block: (re.search(pattern, b) or [None, None])[1]
        cap = get(r"(LnkCap:[^\n]*)") or ""
        sta = get(r"(LnkSta:[^\n]*)") or ""
        speed = lambda t: (lambda m: round(float(m[1]) * 1000) if m else None)(re.search(r"Speed ([\d.]+)GT/s", t))
        width = lambda t: (lambda m: int(m[1]) if m else None)(re.search(r"Width x(\d+)", t))
        control = get(r"(DevCtl:.*?\n.*?\n.*?MaxReadReq[^\n]*)") or (re.search(r"DevCtl:.*?MaxReadReq[^\n]*", block, re.S) or
                                                                       [""])[0]
        table[address] = {
            "driver": get(r"Kernel driver in use: (\S+)"), "numa_node": get(r"NUMA node: (\d+)"),
            "mps_cap_bytes": get(r"DevCap:\s*MaxPayload (\d+)"), "mps_bytes": get(r"MaxPayload (\d+) bytes, MaxReadReq"),
            "mrrs_bytes": get(r"MaxReadReq (\d+)"), "speed_mts": speed(sta), "max_speed_mts": speed(cap),
            "width_lanes": width(sta), "max_width_lanes": width(cap),
            "relaxed_ordering": "RlxdOrd+" in control if control else None,
            "pcie_cap": get(r"Capabilities: \[(\w+)[^\]]*\] Express")}
    return table


def read_pci(r, facts, text, kernel):
    table = lspci_table(text)
    wrong = []
    compared = 0
    for f in facts["pci"]:
        witness = table.get(f["name"])
        if not witness:
            wrong.append(f"{f['name']}: lspci does not list it")
            continue
        for key, want in witness.items():
            got = value(f.get(key, {}))
            if got is None or want is None:
                # Both, or one that says so: no value where the other has one is a fault.
                if got is None and want is not None and f.get(key, {}).get("seen") not in (None, "unasked") and \
                        key not in ("numa_node",):
                    wrong.append(f"{f['name']} {key}: {f[key]} but lspci says {want}")
                continue
            compared += 1
            if key == "pcie_cap":
                want = int(want, 16)
            if str(got) != str(want):
                wrong.append(f"{f['name']} {key}: {got} but lspci says {want}")
    names = {f["name"] for f in facts["pci"]}
    wrong += [f"{a}: lspci lists it alone" for a in table if a not in names]
    nodes = dict(line.split("=") for line in kernel.split())
    wrong += [f"{f['name']}: node {value(f['numa_node'])} but the kernel says {nodes.get(f['name'])}"
              for f in facts["pci"] if str(value(f.get("numa_node"))) != nodes.get(f["name"])]
    r.check(f"PCI functions as lspci has them ({compared} values of {len(table)} functions)", not wrong and compared > 300,
            "\n".join(wrong[:20]))


def read_net(r, facts, v):
    links = {l["ifname"]: l for l in json.loads(v.must("ip -j -d addr"))}
    wrong = []
    compared = 0

    def same(name, key, got, want):
        nonlocal compared
        compared += 1
        if got != want:
            wrong.append(f"{name} {key}: {got!r} but {want!r}")

    nics = {n["name"]: n for n in facts["net"]["nics"]}
    same("all", "names", sorted(nics), sorted(links))
    for name, n in nics.items():
        link = links[name]
        same(name, "mtu", value(n["mtu_bytes"]), link["mtu"])
        same(name, "operstate", value(n["operstate"]).upper(), link["operstate"])
        addresses = ",".join(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"] if a["family"] == "inet")
        same(name, "ipv4", (value(n["ipv4"]) or "").replace(" ", ","), addresses)
        if name == "lo":
            continue
        same(name, "mac", value(n["mac"]), link["address"])
        if link.get("max_mtu"):
            same(name, "max mtu", value(n["max_mtu_bytes"]), link["max_mtu"])
        info = v.run(f"ethtool -i {name}; ethtool -g {name}; ethtool -c {name}; ethtool -l {name} 2>&1; ethtool {name}")[1]
        get = lambda pattern, t=info: (re.search(pattern, t, re.S) or [None, None])[1]
        same(name, "driver", value(n["driver"]), get(r"driver: (\S+)"))
        same(name, "bus", n["pci"], get(r"bus-info: (\S+)"))
        for key, pattern in (("rx_ring_max", r"maximums:.*?RX:\s+(\d+)"), ("tx_ring_max", r"maximums:.*?TX:\s+(\d+)"),
                             ("rx_ring", r"Current hardware.*?RX:\s+(\d+)"), ("tx_ring", r"Current hardware.*?TX:\s+(\d+)"),
                             ("rx_coalesce_us", r"\nrx-usecs: (\d+)"), ("channels", r"Current hardware.*Combined:\s+(\d+)"),
                             ("speed_mbps", r"Speed: (\d+)Mb/s")):
            want = get(pattern)
            # A driver may name the speed of a link that is down; the kernel does not.
            if want is not None and (key != "speed_mbps" or link["operstate"] == "UP"):
                same(name, key, value(n[key]), int(want))
    r.check(f"network as ip and ethtool have it ({compared} values)", not wrong, "\n".join(wrong[:20]))


def read_disks(r, facts, v):
    rows = {d["name"]: d for d in json.loads(v.must("lsblk -b -d -J -O"))["blockdevices"]}
    wrong = []
    disks = {d["name"]: d for d in facts["storage"]["disks"]}
    if sorted(disks) != sorted(rows):
        wrong.append(f"{sorted(disks)} but lsblk lists {sorted(rows)}")
    for name, d in disks.items():
        w = rows.get(name, {})
        for key, column in (("size_bytes", "size"), ("rotational", "rota"), ("scheduler", "sched"), ("nr_requests", "rq-size"),
                            ("read_ahead_kb", "ra"), ("transport", "tran"), ("model", "model"), ("removable", "rm")):
            got = value(d.get(key))
            want = w.get(column)
            if key == "transport" and want is None:
                continue  # lsblk has no word for it
            if str(got) != str(want):
                wrong.append(f"{name} {key}: {got!r} but lsblk says {want!r}")
    r.check(f"disks as lsblk has them ({len(rows)})", not wrong, "\n".join(wrong))


def read_cpu_memory(r, facts, v):
    wrong = []
    cpu = {f["field"]: f["data"] for f in json.loads(v.must("lscpu -J"))["lscpu"]}
    for key, field in (("sockets", "Socket(s):"), ("threads", "CPU(s):"), ("threads_per_core", "Thread(s) per core:"),
                       ("model", "Model name:"), ("vendor", "Vendor ID:")):
        want = cpu.get(field)
        if want is not None and str(value(facts["cpu"][key])) != want:
            wrong.append(f"cpu {key}: {value(facts['cpu'][key])} but lscpu says {want}")
    numa = v.must("numactl -H")
    for n in facts["cpu"]["nodes"]:
        i = n["index"]
        size = int(re.search(rf"node {i} size: (\d+) MB", numa)[1])
        if value(n["mem_total_bytes"]) >> 20 != size:
            wrong.append(f"node {i}: {value(n['mem_total_bytes'])} bytes but numactl says {size} MiB")
        cpus = re.search(rf"node {i} cpus: ([\d ]*)", numa)[1].strip()
        if value(n["cpus"]) != cpus.replace(" ", ","):
            wrong.append(f"node {i}: processors {value(n['cpus'])} but numactl says {cpus}")
        row = re.search(rf"\n\s*{i}:\s+([\d ]+)", numa)[1].split()
        if value(n["distance"]).split() != row:
            wrong.append(f"node {i}: distances {value(n['distance'])} but numactl says {row}")
    free = int(v.must("free -k | awk '/Mem:/ { print $2 }'"))
    if value(facts["memory"]["total_kb"]) != free:
        wrong.append(f"memory {value(facts['memory']['total_kb'])} kB but free says {free}")
    for p in facts["memory"]["pools"]:
        node = value(p["node"])
        folder = "/sys/kernel/mm/hugepages" if node == -1 else f"/sys/devices/system/node/node{node}/hugepages"
        want = int(v.must(f"cat {folder}/hugepages-{value(p['size_kb'])}kB/nr_hugepages"))
        if value(p["total_pages"]) != want:
            wrong.append(f"huge pages {p['name']}: {value(p['total_pages'])} but {want}")
    r.check("processors and memory as lscpu, numactl and free have them", not wrong, "\n".join(wrong))


def read_settings(r, v):
    """Every finding that read a file of /proc/sys against sysctl."""
    code, out = lab.gputune(v, "check --all --profile published --format json 2>/dev/null")
    doc = lab.as_json(out)
    if not r.check("check answers", code in (0, 1) and doc, f"{code}: {out[:300]}"):
        return
    wrong = []
    compared = 0
    for f in doc["findings"]:
        place = f.get("read_from") or ""
        if not re.fullmatch(r"/proc/sys/[\w/.-]+", place) or f["verdict"] in ("na", "unknown"):
            continue
        want = v.must("sysctl -n " + place[len("/proc/sys/"):].replace("/", ".")).split()
        compared += 1
        if not f["current"] or f["current"].split()[0] != want[0]:
            wrong.append(f"{f['id']}: {f['current']} but sysctl says {want}")
    r.check(f"settings as sysctl has them ({compared})", not wrong and compared >= 8, "\n".join(wrong))


def read_topology(r, v):
    """Classes of distance, which follow from how the machine was put together."""
    out = v.must("gputune show topology --no-color --width 200")
    rows = [l.split() for l in out.splitlines() if re.match(r"(NIC\d|nvme)", l) and " X " in f" {l} "]
    names = dict(re.findall(r"^\s*(NIC\d+)\s+(\w+),", out, re.M))
    address = dict(re.findall(r"^\s*(NIC\d+)\s+\w+, ([0-9a-f:.]+)", out, re.M))
    head = next(l for l in out.splitlines() if l.split()[:1] == ["NIC0"] and " X " not in f" {l} ").split()
    by_bus = {address[n][5:7]: n for n in address}
    want = {("23", "27"): "PXB", ("23", "29"): "PHB", ("23", "61"): "NODE", ("23", "a3"): "SYS", ("27", "61"): "NODE"}
    got = {}
    for (a, b) in want:
        row = next((x for x in rows if x[0] == by_bus.get(a)), [])
        column = head.index(by_bus[b]) if b in by_bus else -1
        got[(a, b)] = row[1 + column] if len(row) > column + 1 else None
    r.check("distances between cards (PXB, PHB, NODE, SYS)", got == want, f"{got}\n{names}\n{out}")
    disks = v.must("for d in nvme0n1 nvme1n1; do basename $(readlink -f /sys/block/$d/device/device) | cut -c6-7; done").split()
    near = {d: f"nvme{i}n1" for i, d in enumerate(disks)}
    row = next((x for x in rows if x[0] == by_bus.get("23")), [])
    column = head.index(near["24"])
    r.check("a disk below the same switch (PIX)", row[1 + column] == "PIX", out)


def read(r):
    """Facts against lspci, ip, ethtool, lsblk, lscpu, numactl and sysctl; nothing is changed by reading."""
    with lab.machine() as v:
        for state in ("as it started", "as somebody set it"):
            if state != "as it started":
                v.must(lab.SPOIL)
            r.note(state)
            lab.remember(v)
            t = time.time()
            code, out = lab.gputune(v, "show --format json 2>/dev/null")
            doc = lab.as_json(out)
            if not r.check("show answers", code == 0 and doc, f"{code}: {out[:300]}"):
                return
            r.note(f"show took {time.time() - t:.1f} s")
            facts = doc["facts"]
            read_pci(r, facts, v.must("lspci -D -vvv"),
                     v.must("for d in /sys/bus/pci/devices/*; do echo ${d##*/}=$(cat $d/numa_node); done"))
            read_net(r, facts, v)
            read_disks(r, facts, v)
            read_cpu_memory(r, facts, v)
            read_settings(r, v)
            read_topology(r, v)
            kind = value(facts["platform"]["why"])
            r.check("the platform's reason does not deny the GPUs on the bus", "no NVIDIA GPU" not in kind, kind)
            lab.gputune(v, "check --deep; gputune check --profile low-latency; gputune show --verbose")
            out = lab.difference(v)
            r.check("reading changed nothing", not out, out)
        v.must("mkdir -p /run/c")
        code, out = lab.gputune(v, "capture -o /run/c/m && cd /run/c && tar cf m.tar m && ls -s m.tar")
        r.check("the machine can be captured", code == 0, out)
        v.share()
        v.must("cp /run/c/m.tar /mnt/p/capture.tar")
        shutil.copy(DIR / "share" / "capture.tar", DIR / "capture.tar")
