#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capture --from as a user meets it: what becomes of the log of nvidia-bug-report.sh, of an archive of sosreport, of texts as owners post
them; that what they do not show is unknown; and sources that are broken, too large or hostile.

The lines are those of public reports that decide something: ollama issue 13552 (nvidia-smi -q of a GB10 that is too warm), the table of a
DGX Spark of 2026-05-05, lspci of H100 nodes. Names and addresses are replaced.
"""
import gzip
import io
import json
import lzma
import re
import tarfile

from common import end_suite, expect, root, run, scratch

tmp = scratch()
SEED = (root / "tests/fuzz/seeds/posted.txt").read_text()
GB10 = """==============NVSMI LOG==============
Driver Version                                         : 580.95.05
CUDA Version                                           : 13.0
Attached GPUs                                          : 1
GPU 0000000F:01:00.0
    Product Name                                       : NVIDIA GB10
    Persistence Mode                                   : Enabled
    Performance State                                  : P0
    Clocks Event Reasons
        SW Thermal Slowdown                            : Active
    Clocks Event Reasons Counters
        SW Thermal Slowdown                            : 903158 us
    FB Memory Usage
        Total                                          : N/A
    Temperature
        GPU Current Temp                               : 81 C
        GPU T.Limit Temp                               : 13 C
"""
LIST = """00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2]
00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\tKernel driver in use: pcieport
01:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16
\t\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)
\tKernel driver in use: nvidia
"""
made = 0


def posted(*texts, names=None, code=0, **how):
    """The capture made of these texts or bytes; its path, and what was said."""
    global made
    made += 1
    argv = []
    for i, text in enumerate(texts):
        path = tmp / f"{made}-{i}-{(names or ('text.txt',) * 9)[i]}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        argv += ["--from", path]
    out = tmp / f"{made}.tar"
    r = run("capture", *argv, "-o", out, **how)
    expect(f"{made}: exit code", r.code == code, r)
    return out, r


def findings(capture):
    r = run("check", "--host", capture, "--format", "json")
    return {(f["id"], f["target"]): f for f in json.loads(r.out)["findings"]} if r.out else {}


def page(capture, name):
    with tarfile.open(capture) as tar:
        return tar.extractfile(name).read().decode()


def members(capture):
    with tarfile.open(capture) as tar:
        return {m.name: m for m in tar.getmembers()}


def archive(files, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            m = tarfile.TarInfo("sosreport-node/" + name)
            m.size = len(text)
            tar.addfile(m, io.BytesIO(text.encode()))
        for name, target in links:
            m = tarfile.TarInfo("sosreport-node/" + name)
            m.type, m.linkname = tarfile.SYMTYPE, target
            tar.addfile(m)
    return out.getvalue()


# The log of nvidia-bug-report.sh, packed as it is posted.
capture, _ = posted(gzip.compress(SEED.encode()), names=("nvidia-bug-report.log.gz",))
f = findings(capture)
expect("a link at half width is found", f[("pcie.link", "0000:01:00.0")]["verdict"] == "fail", f.get(("pcie.link", "0000:01:00.0")))
expect("heat is found", f[("gpu.throttle", "gpu0")]["current"] == "software thermal", f.get(("gpu.throttle", "gpu0")))
expect("a driver is seen", any(k[0] == "gpu.driver" and v["verdict"] == "pass" for k, v in f.items()))
expect("nothing of the machine as a whole is absent", not [k for k, v in f.items() if v["verdict"] == "na" and not v["target"] and v["reason_code"] in
       ("no-hardware", "not-supported", "no-effect", "not-this-platform")], [k for k, v in f.items() if v["verdict"] == "na"])
for which in ("nic.cable", "rdma.state", "disk.scheduler", "cpu.governor", "memory.swappiness", "service.irqbalance"):
    expect(f"{which} is not known", all(v["verdict"] in ("unknown", "na") and v["reason_code"] in ("not-captured", "left-alone", "opt-in")
                                        for k, v in f.items() if k[0] == which), [v for k, v in f.items() if k[0] == which])
answers = json.loads(page(capture, "api/nvml.json"))
expect("the table's second GPU", answers["1"]["nvmlDeviceGetPowerUsage"] == 70000 and answers["1"]["nvmlDeviceGetPersistenceMode"] == 0
       and answers["1"]["nvmlDeviceGetMemoryInfo.total"] == 81559 << 20, answers.get("1"))
expect("the first GPU's reasons and counters", answers["0"]["nvmlDeviceGetCurrentClocksEventReasons"] == 0x20
       and answers["0"]["nvmlDeviceGetFieldValues(CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)"] == 903158000, answers.get("0"))
expect("N/A is a refusal", answers["0"]["nvmlDeviceGetFieldValues(MEMORY_TEMP)"] == {"error": "EOPNOTSUPP"})
expect("what was printed first stays", answers[""]["nvmlSystemGetDriverVersion"] == "570.133.20", answers[""])
expect("what is not there is said", "/proc/sys/vm/zone_reclaim_mode\tENOENT" in page(capture, "answers.tsv"))
meta = json.loads(page(capture, "meta.json"))
expect("it says that it is a part", meta["partial"] is True and meta["origin"] == "posted" and meta["unlisted"] == "unknown", meta)
expect("the kernel's name", meta["identity"]["release"] == "6.8.0-60-generic" and meta["identity"]["nodename"] == "host", meta)
have = members(capture)
expect("bridges make the tree", have["root/sys/bus/pci/devices/0000:01:00.0"].linkname.endswith("pci0000:00/0000:00:01.1/0000:01:00.0"))
expect("a virtual function is one", have["root/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.1/physfn"].issym())

# The same in the place of a capture, behind the fence.
as_posted = tmp / "1-0-nvidia-bug-report.log.gz"
for verb in (("check", "--all"), ("plan",), ("show",)):
    direct, packed = (run(*verb, "--host", on, "--format", "json") for on in (as_posted, capture))
    if verb[0] == "check":
        same = [[(x["id"], x["target"], x["verdict"], x["reason_code"]) for x in json.loads(r.out)["findings"]] for r in (direct, packed)]
        expect("check --host of a log finds what it finds in its capture", same[0] == same[1] and direct.code == packed.code, direct)
    else:
        expect(f"{verb[0]} takes a log", direct.code == packed.code and direct.out, direct)

# Texts.
capture, _ = posted(GB10, LIST)
f = findings(capture)
expect("several files", f.get(("gpu.temperature", "gpu0"), {"reason": ""})["reason"].startswith("13 C below"), f.get(("gpu.temperature", "gpu0")))
expect("lspci without a domain", f[("pcie.link", "0000:01:00.0")]["current"] == "32.0 GT/s x8", list(f))
capture, r = posted("$ lspci -d 10de: -nn\n01:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330]\n" + GB10)
expect("a filtered list is left out, and said so", "lspci shows only some functions" in r.err and "root/sys" not in members(capture), r.err)
expect("no NIC is not said", findings(capture)[("nic.cable", "")]["verdict"] == "unknown")
plain = re.sub(r" \[[0-9a-f]{4}\]:", ":", re.sub(r" \[[0-9a-f]{4}:[0-9a-f]{4}\]", "", LIST))
capture, _ = posted(plain.replace("\t", "        "))
f = findings(capture)
expect("by names alone, with blanks for tabs", f[("pcie.link", "0000:01:00.0")]["current"] == "32.0 GT/s x8", list(f))
expect("no device number is made up", "root/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/device" not in members(capture), list(members(capture)))
capture, _ = posted(plain.replace("NVIDIA Corporation GH100", "NVIDIA Corporation Device 2331"))
expect("a device that the list has no name for", page(capture, "root/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/device") == "0x2331\n")
capture, _ = posted(LIST.replace("[8086:352a]", "").replace("[10de:2330]", ""))
expect("without ids", "root/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor" not in members(capture))
# The power of an HGX H100 whose board management lowered the limit (a public pull request of 2026-06-26).
capture, _ = posted("""==============NVSMI LOG==============
Driver Version                                         : 595.71.05
Attached GPUs                                          : 1
GPU 00000000:06:00.0
    GPU Power Readings
        Instantaneous Power Draw                       : 78.75 W
        Current Power Limit                            : 500.00 W
        Requested Power Limit                          : 700.00 W
        Default Power Limit                            : 700.00 W
        Min Power Limit                                : 200.00 W
        Max Power Limit                                : 700.00 W
""")
f = findings(capture)[("gpu.power-limit", "gpu0")]
expect("a limit from elsewhere", f["verdict"] == "fail" and "limited to 500 W" in f["reason"], f)

# The XML of nvidia-smi -q -x: the facts of the text that says the same.
def report(n=1):
    """Sections of one GPU: title, element, and (title, element, value) or a section inside."""
    def power(*more):
        return [("Average Power Draw", "average_power_draw", "66.03 W"), ("Current Power Limit", "current_power_limit", "500.00 W"),
                ("Requested Power Limit", "requested_power_limit", "700.00 W"), ("Default Power Limit", "default_power_limit", "700.00 W"),
                ("Min Power Limit", "min_power_limit", "200.00 W"), ("Max Power Limit", "max_power_limit", "700.00 W"), *more]
    clocks = [("Graphics", "graphics_clock", "345 MHz"), ("SM", "sm_clock", "346 MHz"), ("Memory", "mem_clock", "2619 MHz"), ("Video", "video_clock", "N/A")]
    why = [("Idle", "gpu_idle"), ("Applications Clocks Setting", "applications_clocks_setting"), ("SW Power Cap", "sw_power_cap"), ("HW Slowdown", "hw_slowdown"),
           ("HW Thermal Slowdown", "hw_thermal_slowdown"), ("HW Power Brake Slowdown", "hw_power_brake_slowdown"), ("Sync Boost", "sync_boost"),
           ("SW Thermal Slowdown", "sw_thermal_slowdown"), ("Display Clock Setting", "display_clocks_setting")]
    count = [("SW Power Capping", "sw_power_cap"), ("Sync Boost", "sync_boost"), ("SW Thermal Slowdown", "sw_therm_slowdown"),
             ("HW Thermal Slowdown", "hw_therm_slowdown"), ("HW Power Braking", "hw_power_brake")]
    memory = [(t, t.lower(), f"{n} MiB") for t, n in (("Total", 81559), ("Used", 4), ("Free", 80995))]
    return [
        ("Product Name", "product_name", "NVIDIA H100 80GB HBM3"), ("Persistence Mode", "persistence_mode", "Enabled"), ("Addressing Mode", "addressing_mode", "HMM"),
        ("MIG Mode", "mig_mode", [("Current", "current_mig", "Disabled"), ("Pending", "pending_mig", "Enabled")]),
        ("MIG Device", "mig_devices", [("Index", "index", "0"), ("FB Memory Usage", "fb_memory_usage", [("Total", "total", "9 MiB")])]),
        ("Accounting Mode", "accounting_mode", "Disabled"), ("Serial Number", "serial", "1"), ("GPU UUID", "uuid", f"GPU-0000000{n}"), ("VBIOS Version", "vbios_version", "96.00"),
        ("GPU Recovery Action", "gpu_recovery_action", "Drain P2P"),
        ("PCI", "pci", [("Bus Id", "pci_bus_id", f"00000000:0{n}:00.0"), ("GPU Link Info", "pci_gpu_link_info", [
            ("PCIe Generation", "pcie_gen", [("Max", "max_link_gen", "5"), ("Current", "current_link_gen", "4"), ("Device Max", "max_device_link_gen", "5"), ("Host Max", "max_host_link_gen", "6")]),
            ("Link Width", "link_widths", [("Max", "max_link_width", "16x"), ("Current", "current_link_width", "8x")])]), ("Replays Since Reset", "replay_counter", "7")]),
        ("Performance State", "performance_state", "P2"), ("Clocks Event Reasons", "clocks_event_reasons", [(t, f"clocks_event_reason_{e}", ("Not Active", "Active")[i % 3 == n % 3])
                                                                                                         for i, (t, e) in enumerate(why)]),
        ("Clocks Event Reasons Counters", "clocks_event_reasons_counters", [(t, f"clocks_event_reasons_counters_{e}", f"{i * 1000 + 7} us") for i, (t, e) in enumerate(count)]),
        ("FB Memory Usage", "fb_memory_usage", [*memory, ("Reserved", "reserved", "560 MiB")]), ("BAR1 Memory Usage", "bar1_memory_usage", memory),
        ("Compute Mode", "compute_mode", "Exclusive_Process"), ("Utilization", "utilization", [("GPU", "gpu_util", "3 %"), ("Memory", "memory_util", "4 %")]),
        ("ECC Mode", "ecc_mode", [("Current", "current_ecc", "Enabled"), ("Pending", "pending_ecc", "Disabled")]),
        ("Remapped Rows", "remapped_rows", [("Correctable Error", "remapped_row_corr", "1"), ("Uncorrectable Error", "remapped_row_unc", "2"),
                                            ("Pending", "remapped_row_pending", "Yes"), ("Remapping Failure Occurred", "remapped_row_failure", "No")]),
        ("Temperature", "temperature", [("GPU Current Temp", "gpu_temp", "88 C"), ("GPU T.Limit Temp", "gpu_temp_tlimit", "-3 C"), ("GPU Shutdown Temp", "gpu_temp_max_threshold", "92 C"),
                                        ("GPU Slowdown Temp", "gpu_temp_slow_threshold", "89 C"), ("GPU Max Operating Temp", "gpu_temp_max_gpu_threshold", "87 C"),
                                        ("Memory Current Temp", "memory_temp", "[N/A]"), ("Memory Max Operating Temp", "gpu_temp_max_mem_threshold", "95 C")]),
        ("GPU Power Readings" if n == 1 else "Power Readings", "gpu_power_readings" if n == 1 else "power_readings", power()),
        ("Module Power Readings", "module_power_readings", power()),
        *((t, t.lower().replace(" ", "_"), clocks) for t in ("Clocks", "Applications Clocks", "Default Applications Clocks", "Max Clocks", "Max Customer Boost Clocks")),
        ("Fabric", "fabric", [("State", "state", "Completed"), ("Status", "status", "Success")])]


def as_text(items, depth=1):
    return "".join("    " * depth + (f"{t:<{51 - 4 * depth}}: {v}\n" if isinstance(v, str) else f"{t}\n{as_text(v, depth + 1)}") for t, _, v in items)


def as_xml(items, depth=2):
    return "".join("\t" * depth + (f"<{e}>{v}</{e}>\n" if isinstance(v, str) else f"<{e}>\n{as_xml(v, depth + 1)}" + "\t" * depth + f"</{e}>\n") for _, e, v in items)


TEXT = "==============NVSMI LOG==============\nDriver Version    : 580.95.05\nCUDA Version     : 13.0\nAttached GPUs     : 2\n" + "".join(
    f"GPU 00000000:0{n}:00.0\n{as_text(report(n))}" for n in (1, 2))
XML = ('<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n\t<timestamp>now</timestamp>\n\t<driver_version>580.95.05'
       '</driver_version>\n\t<cuda_version>13.0</cuda_version>\n\t<attached_gpus>2</attached_gpus>\n' + "".join(
           f'\t<gpu id="00000000:0{n}:00.0">\n{as_xml(report(n))}\t</gpu>\n' for n in (1, 2)) + "</nvidia_smi_log>\n")
told = json.loads(page(posted(TEXT)[0], "api/nvml.json"))
expect("a negative margin, reasons, a module's limit left out", told["0"]["nvmlDeviceGetMarginTemperature.marginTemperature"] == -3
       and told["1"]["nvmlDeviceGetCurrentClocksEventReasons"] == 0x184 and len(told["0"]) > 55, told)
for what, text in (("as it is printed", XML), ("on one line", re.sub(r">\s+<", "><", XML)), ("with other line ends", XML.replace("\n", "\r\n")),
                   ("between other output", f"$ nvidia-smi -q -x\n{XML}$ cat /proc/cmdline\nquiet\n"), ("with remarks", XML.replace("\t<gpu ", "<!-- > <gpu> --><empty/>\t<gpu "))):
    capture, _ = posted(text)
    got = json.loads(page(capture, "api/nvml.json"))
    expect(f"XML {what}", got == told, {k: (got.get(o, {}).get(k), v) for o in told for k, v in told[o].items() if got.get(o, {}).get(k) != v})
    expect("what stands behind it", "between" not in what or "root/proc/cmdline" in members(capture))
as_it_is = tmp / "smi.xml"
as_it_is.write_text(XML)
f = {x["target"]: x for x in json.loads(run("check", "--host", as_it_is, "--format", "json").out)["findings"] if x["id"] == "gpu.power-limit"}
expect("check takes the XML", f and all(x["verdict"] == "fail" and "limited to 500 W" in x["reason"] for x in f.values()), f)
for what, text, words in (("cut short", XML[:XML.index("<fb_memory_usage>")], {"nvmlDeviceGetPersistenceMode": 1}),
                          ("elements that do not close", XML.replace("</pci>", "</pcx>"), {"nvmlDeviceGetMigMode.current": 0}),
                          ("an entity", XML.replace("H100 80GB", "&x;").replace("<nvidia_smi_log>", '<!DOCTYPE a [<!ENTITY x "y">]><nvidia_smi_log>'), {"nvmlDeviceGetAccountingMode": 0})):
    got = json.loads(page(posted(text)[0], "api/nvml.json"))["0"]
    expect(f"XML with {what}: what is certain", words.items() <= got.items() and all(told["0"].get(k) == v for k, v in got.items()), got)
    expect(f"XML with {what}: the rest is not known", ("nvmlDeviceGetName" in got, "nvmlDeviceGetEccMode.current" in got) == (what != "an entity", what == "an entity"), got)
capture, r = posted("<nvidia_smi_log>" + "<a>" * 100000, code=5)
expect("XML too deep", "no output of lspci" in r.err, r.err)

# Archives of sosreport.
SOS = {"proc/cmdline": "quiet iommu=pt\n", "etc/shadow": "root:x\n", "etc/sysctl.d/90.conf": "vm.swappiness = 1\n",
       "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n", "sos_commands/pci/lspci_-nnvv": LIST,
       "sos_commands/kernel/uname_-a": "Linux node 5.14.0-427.el9 #1 SMP PREEMPT x86_64 x86_64 GNU/Linux\n",
       "sos_commands/nvidia/nvidia-smi_-q": GB10}
for pack, name in ((gzip.compress, "sos.tar.gz"), (lzma.compress, "sos.tar.xz"), (bytes, "sos.tar")):
    capture, _ = posted(pack(archive(SOS, [("sys/kernel/evil", "../../../../../etc/passwd"), ("sys/kernel/fine", "../class")])), names=(name,))
    have, f = members(capture), findings(capture)
    expect(f"{name}: its files", f[("memory.thp-enabled", "")]["current"] == "madvise" and ("pcie.link", "0000:01:00.0") in f)
    expect(f"{name}: nobody's secrets", "root/etc/shadow" not in have)
    expect(f"{name}: a link out of it", "root/sys/kernel/evil" not in have and "root/sys/kernel/fine" in have)
    r = run("check", "--host", tmp / f"{made}-0-{name}", "--only", "pcie.link")
    expect(f"{name}: as it is", "capture --from" in r.err if name.endswith("xz") else "0000:01:00.0" in r.out, r)

# A capture that is packed is none: nothing of it was judged, as if it were a report of little.
for pack, ends in ((gzip.compress, "gz"), (lzma.compress, "xz")):
    packed = tmp / f"capture.tar.{ends}"
    packed.write_bytes(pack(capture.read_bytes()))
    r = run("check", "--host", packed)
    expect(f"a capture in .{ends}: how to unpack it", r.code == 2 and not r.out and f"{'xz -dk' if ends == 'xz' else 'gunzip -k'}" in r.err, r)

# What is no such thing.
for what, text, words in (("nothing known", "hello\n", "no output of lspci, nvidia-smi, /proc, /sys or /etc"), ("broken gzip", gzip.compress(SEED.encode())[:200], "truncated: the compressed file ends early"),
                          ("broken xz", b"\xfd7zXZ\x00rubbish", "xz"), ("empty", b"", "no output of lspci, nvidia-smi, /proc, /sys or /etc")):
    capture, r = posted(text, code=5)
    expect(f"{what}: is said", words in r.err and not capture.exists(), r.err)
for name, text, words in (("hello.txt", b"hello\n", "not a capture or output that gputune reads"), ("noise", b"\xff\0" * 999, "nvidia-smi -q (-x)"),
                          ("log.gz", gzip.compress(SEED.encode())[:-9], "truncated: the compressed file ends early"), ("x.tar", b"hello\n", "invalid tar")):
    (tmp / name).write_bytes(text)
    r = run("check", "--host", tmp / name)
    expect(f"{name} in the place of a capture", r.code == 2 and words in r.err and ("invalid tar" in r.err) == name.endswith(".tar"), r)
capture, r = posted(gzip.compress(b"\0" * (40 << 20)), code=5)
expect("too large", "larger than 32 MiB" in r.err, r.err)
capture, r = posted("$ cat /proc/../../etc/passwd\nroot\n$ cat /proc/a\nx\n$ cat /proc/a/b\ny\n$ cat /proc/c/d\nz\n$ cat /proc/c\nz\n$ exit\n")
have = members(capture)
expect("paths that climb, files on the way", set(n for n in have if have[n].isfile() and n.startswith("root")) == {"root/proc/a", "root/proc/c/d"}, list(have))
r = run("capture", "--from", tmp / "none", "-o", tmp / "x.tar")
expect("a file that is not there", r.code == 5 and "none" in r.err, r)
end_suite()
