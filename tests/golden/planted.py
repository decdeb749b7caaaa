#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One fact of a captured machine on one side of its edge: the row that judges it says so, on the right object.

    planted.py GPUTUNE        that row alone
    planted.py GPUTUNE all    every row: no other one changes its verdict; and those of LATER
"""
import json
import re
import sys
import tarfile

from common import end_suite, expect, machines, run, scratch
from node import DEVICES, Node, capability

CPU = "/sys/devices/system/cpu"
GUARDS = "/sys/fs/cgroup/system.slice"
LIMIT = "/proc/self/limits"
MANAGER = "nvidia-spark-mlnx-firmware-manager.service"


def sysctl(name, value):
    return lambda n: n.write("/proc/sys/" + name.replace(".", "/"), f"{value}\n")


def file(path, text):
    return lambda n: n.write(path, f"{text}\n")


def gpu(index, **answers):
    """Members of a structure after two underscores; Field_X is a field value."""
    names = {re.sub("^Field_(.*)", r"FieldValues(\1)", k).replace("__", "."): v for k, v in answers.items()}
    return lambda n: n.ask("nvml", index, {f"nvmlDeviceGet{k}": v for k, v in names.items()})


def asked(api, what, **answers):
    return lambda n: n.ask(api, what, answers)


def meminfo(**kb):
    def change(n):
        text = n.read("/proc/meminfo").decode()
        for key, value in kb.items():
            text = re.sub(rf"(?m)^{key}:.*$", f"{key}:{value:>16} kB", text)
        n.write("/proc/meminfo", text)
    return change


def replace(path, old, new):
    return lambda n: n.write(path, re.sub(old, new, n.read(path).decode()))


def limit(name, value):
    return lambda n: n.write(LIMIT, re.sub(rf"(?m)^({name}\s+)\S+(\s+)\S+", rf"\g<1>{value}\g<2>{value}", n.read(LIMIT).decode()))


def argument(word):
    return lambda n: n.write("/proc/cmdline", n.read("/proc/cmdline").decode().strip() + f" {word}\n")


def lanes(*addresses, **how):
    return lambda n: [n.lanes(a, **how) for a in addresses]


def mrrs(address, code):
    def change(space):
        at = capability(space, 0x10) + 9
        space[at] = space[at] & ~0x70 | code << 4
    return lambda n: n.config(address, change)


def both(*hows):
    return lambda n: [how(n) for how in hows]


BUSY = {"UtilizationRates__gpu": 99, "PowerUsage": 14000}
MIG_ON = {"MigMode__current": 1, "MigMode__pending": 1}
LAST_DISK = f"{DEVICES}/0004:01:00.0"
A, B, C, D = "dgx-spark", "hgx-h100", "igx-orin", "cpu-256"

# Machine, what is planted, row, object ("" the machine), verdict, how; then rows that may change with it.
PLANTS = [
    # --- DGX Spark ---
    (A, "swappiness at its limit", "memory.swappiness", "", "pass", sysctl("vm.swappiness", 10)),
    (A, "swappiness above it", "memory.swappiness", "", "fail", sysctl("vm.swappiness", 11)),
    (A, "3.5 GiB of dirty data", "memory.dirty-ratio", "", "pass", sysctl("vm.dirty_ratio", 3)),
    (A, "4.7 GiB of dirty data", "memory.dirty-ratio", "", "fail", sysctl("vm.dirty_ratio", 4)),
    (A, "an MTU of 9000", "nic.mtu", "enp1s0f0np0", "pass", file("/sys/class/net/enp1s0f0np0/mtu", 9000)),
    (A, "an MTU of 8999", "nic.mtu", "enp1s0f0np0", "fail", file("/sys/class/net/enp1s0f0np0/mtu", 8999)),
    (A, "one cluster's governor", "cpu.governor", "cpu5", "fail", file(f"{CPU}/cpufreq/policy5/scaling_governor", "schedutil")),
    (A, "a CPU that is offline", "cpu.online", "", "fail", file(f"{CPU}/online", "0-18")),
    (A, "a clock cap by one step", "cpu.frequency-cap", "cpu5", "fail", file(f"{CPU}/cpufreq/policy5/scaling_max_freq", 3800000)),
    (A, "huge pages never", "memory.thp-enabled", "", "fail", file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")),
    (A, "compaction always", "memory.thp-defrag", "", "fail", file("/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never")),
    (A, "no overcommit", "memory.overcommit", "", "fail", sysctl("vm.overcommit_memory", 2)),
    (A, "zone reclaim", "memory.zone-reclaim", "", "fail", sysctl("vm.zone_reclaim_mode", 1)),
    (A, "few mappings", "memory.max-map-count", "", "fail", sysctl("vm.max_map_count", 65530)),
    (A, "locked low under load", "gpu.power-latch", "gpu0", "fail", gpu(0, **BUSY, **{"ClockInfo(SM)": 611})),
    (A, "normal clock under load", "gpu.power-latch", "gpu0", "pass", gpu(0, UtilizationRates__gpu=99, PowerUsage=48000, **{"ClockInfo(SM)": 2418})),
    (A, "a power brake now", "gpu.throttle", "gpu0", "fail", gpu(0, CurrentClocksEventReasons=0x80)),
    (A, "a software power cap", "gpu.throttle", "gpu0", "pass", gpu(0, CurrentClocksEventReasons=0x4)),
    (A, "no persistence", "gpu.persistence-mode", "gpu0", "fail", gpu(0, PersistenceMode=0), "service.persistenced"),
    (A, "compute prohibited", "gpu.compute-mode", "gpu0", "fail", gpu(0, ComputeMode=2)),
    (A, "4 % of memory available", "memory.available", "", "fail", meminfo(MemAvailable=5100000, MemFree=5000000, Cached=100000), "memory.dirty-ratio"),
    (A, "6 % of memory available", "memory.available", "", "pass", meminfo(MemAvailable=7700000, MemFree=7600000, Cached=100000), "memory.dirty-ratio"),
    (A, "systemd-oomd", "memory.guard", "", "pass", lambda n: n.put(n.at / f"root{GUARDS}/systemd-oomd.service/cgroup.procs", b"9\n")),
    (A, "half of memory can be locked", "memory.memlock", "", "pass", limit("Max locked memory", 127601164 * 512)),
    (A, "8 MiB can be locked", "memory.memlock", "", "fail", limit("Max locked memory", 8 << 20)),
    (A, "a receive window of 16 MiB", "net.tcp-rmem", "", "pass", sysctl("net.ipv4.tcp_rmem", "4096 131072 16777216")),
    (A, "a byte less", "net.tcp-rmem", "", "fail", sysctl("net.ipv4.tcp_rmem", "4096 131072 16777215")),
    (A, "an NVMe disk with two lanes", "pcie.link", "0004:01:00.0", "fail", lanes("0004:01:00.0", width=2)),
    (A, "read-ahead of 1 MiB", "disk.read-ahead", "nvme0n1", "pass", file("/sys/block/nvme0n1/queue/read_ahead_kb", 1024)),
    (A, "a scheduler for a fast disk", "disk.scheduler", "nvme0n1", "fail", file("/sys/block/nvme0n1/queue/scheduler", "[mq-deadline] none")),
    (B, "ARP from the best address", "net.arp-announce", "", "pass", sysctl("net.ipv4.conf.all.arp_announce", 2)),
    (A, "twins: an address on one alone", "nic.twins", "enp1s0f0np0", "fail", asked("if", "enp1s0f0np0", ipv4="198.51.100.5/24"), "nic.address rdma.gid"),
    (A, "the NIC's firmware manager is masked", "service.spark-nic", "", "fail",
     lambda n: n.gone(f"{GUARDS}/{MANAGER}").link(f"/etc/systemd/system/{MANAGER}", "/dev/null")),
    (A, "more contiguous memory is free than there is", "memory.cma-accounting", "", "fail", meminfo(CmaFree=99999999)),
    (A, "no space", "disk.free-space", "/", "fail", asked("statfs", "/", avail_bytes=1 << 30)),
    (A, "a container's shared memory", "memory.shm-size", "", "fail", asked("statfs", "/dev/shm", total_bytes=64 << 20)),
    (A, "a backlog of 128", "net.somaxconn", "", "fail", sysctl("net.core.somaxconn", 128)),
    (A, "CRC errors of a link", "nic.errors", "enp1s0f0np0", "fail", file("/sys/class/net/enp1s0f0np0/statistics/rx_crc_errors", 5000)),
    (A, "mitigations off", "boot.mitigations", "", "fail", argument("mitigations=off")),
    # --- HGX ---
    (B, "one GPU without persistence", "gpu.persistence-mode", "gpu3", "fail", gpu(3, PersistenceMode=0), "service.persistenced"),
    (B, "a power limit of 699 W", "gpu.power-limit", "gpu5", "fail", gpu(5, PowerManagementLimit=699000)),
    (B, "a lowered application clock", "gpu.application-clocks", "gpu2", "fail", gpu(2, **{"ApplicationsClock(SM)": 1200})),
    (B, "HBM 5 C below its limit", "gpu.temperature-memory", "gpu1", "fail", gpu(1, **{"FieldValues(MEMORY_TEMP)": 91})),
    (B, "HBM 10 C below its limit", "gpu.temperature-memory", "gpu1", "pass", gpu(1, **{"FieldValues(MEMORY_TEMP)": 85})),
    (B, "a corrected row", "gpu.remapped-rows", "gpu4", "pass", gpu(4, RemappedRows__corrRows=1)),
    (B, "reads of 4096 bytes", "nic.mrrs", "0000:04:00.0", "pass", mrrs("0000:04:00.0", 5)),
    (B, "reads of 2048 bytes", "nic.mrrs", "0000:04:00.0", "fail", mrrs("0000:04:00.0", 4)),
    (B, "one GPU in MIG mode, nothing made", "gpu.mig-layout", "gpu6", "fail", gpu(6, **MIG_ON, MaxMigDeviceCount=7), "gpu.mig gpu.peer-access gpu.nvlink gpu.fabric"),
    (B, "a window of 256 MiB", "gpu.bar1-size", "gpu0", "fail", gpu(0, BAR1MemoryInfo__bar1Total=256 << 20)),
    (B, "turbo off", "cpu.boost", "", "fail", file(f"{CPU}/cpufreq/boost", 0)),
    (B, "every CPU at performance", "cpu.governor", "cpu0-255", "pass",
     lambda n: [n.write(f"{CPU}/cpufreq/policy{c}/scaling_governor", "performance\n") for c in range(256)]),
    (B, "a clock cap on one CPU", "cpu.frequency-cap", "cpu9", "fail", file(f"{CPU}/cpufreq/policy9/scaling_max_freq", 2000000)),
    (B, "the IOMMU passes through", "pcie.iommu", "", "pass",
     lambda n: [n.write(f"/sys/kernel/iommu_groups/{g.name}/type", "identity\n") for g in (n.under / "root/sys/kernel/iommu_groups").iterdir()]),
    (B, "a rail whose traffic waits", "rdma.state", "mlx5_5/1", "fail", file("/sys/class/infiniband/mlx5_5/ports/1/state", "2: INIT"), "pcie.gpu-nic-path rdma.rate"),
    (B, "a port at half its lanes", "rdma.rate", "mlx5_6/1", "fail", file("/sys/class/infiniband/mlx5_6/ports/1/rate", "200 Gb/sec (2X NDR)")),
    (B, "bad cables count", "rdma.errors", "mlx5_2/1", "fail", file("/sys/class/infiniband/mlx5_2/ports/1/counters/link_downed", 40)),
    (B, "a slow ECC decision", "gpu.ecc", "gpu2", "fail", gpu(2, **{"FieldValues(ECC_CURRENT)": 0, "FieldValues(ECC_PENDING)": 0})),
    (B, "NUMA balancing off", "cpu.numa-balancing", "", "pass", sysctl("kernel.numa_balancing", 0)),
    (B, "an idle GPU's link at Gen 3", "pcie.link", "0000:23:00.0", "na", both(lanes("0000:23:00.0", speed=3), gpu(2, CurrPcieLinkGeneration=3))),
    (B, "memory nearly full", "memory.available", "", "fail", meminfo(MemAvailable=4000000, MemFree=3900000), "memory.dirty-ratio memory.dirty-background-ratio memory.guard"),
    (B, "errors of PCIe at startup, or not", "pcie.errors", "0000:43:00.0", "na", file(f"{DEVICES}/0000:43:00.0/aer_dev_nonfatal", "Undefined 0\nTLP 3\nTOTAL_ERR_NONFATAL 3")),
    (B, "a GPU that has too little heat left", "gpu.temperature", "gpu7", "fail", gpu(7, MarginTemperature__marginTemperature=3, **{"Temperature(GPU)": 84})),
    (B, "few inotify watches", "service.inotify-watches", "", "fail", sysctl("fs.inotify.max_user_watches", 8192)),
    (B, "two tuners", "service.tuners", "", "fail", lambda n: n.put(n.at / f"root{GUARDS}/power-profiles-daemon.service/cgroup.procs", b"77\n")),
    (B, "the fabric's manager is another version", "service.fabric-manager", "", "fail", asked("fabric-manager", "", version="570.124.06")),
    (B, "a NIC with other firmware", "rdma.firmware", "mlx5_7/1", "fail", file("/sys/class/infiniband/mlx5_7/fw_ver", "28.38.1002")),
    # --- IGX ---
    (C, "persistence", "gpu.persistence-mode", "gpu0", "pass", gpu(0, PersistenceMode=1), "service.persistenced gpu.sm-clock-lock"),
    (C, "a window of 1 GiB", "gpu.bar1-size", "gpu0", "pass", gpu(0, BAR1MemoryInfo__bar1Total=1 << 30)),
    (C, "a window a byte below", "gpu.bar1-size", "gpu0", "fail", gpu(0, BAR1MemoryInfo__bar1Total=(1 << 30) - (1 << 20))),
    (C, "a power limit below the default", "gpu.power-limit", "gpu0", "fail", gpu(0, PowerManagementLimit=250000)),
    (C, "a GPU link of four lanes", "pcie.link", "0005:09:00.0", "fail", lambda n: gpu_lanes(n)),
    (C, "relaxed ordering off", "nic.relaxed-ordering", "0005:03:00.0", "fail", lambda n: n.relaxed("0005:03:00.0", False)),
    (C, "hot", "gpu.temperature", "gpu0", "fail", gpu(0, **{"Temperature(GPU)": 91})),
    (C, "no link on the data port", "nic.carrier", "eth0", "fail", both(file("/sys/class/net/eth0/carrier", 0), file("/sys/class/net/eth0/operstate", "down")),
     "nic.mtu nic.speed nic.address rdma.state rdma.gid rdma.rate nic.pfc rdma.dcqcn nic.trust nic.ets rdma.errors pcie.gpu-nic-path"),
    (C, "peermem is gone", "rdma.gpudirect", "gpu0", "pass", lambda n: n.gone("/sys/module/nvidia_peermem"), "rdma.peermem"),
    # --- others ---
    (D, "a degraded pool", "zfs.pool-state", "tank", "fail", file("/proc/spl/kstat/zfs/tank/state", "DEGRADED")),
    (D, "discards on", "zfs.autotrim", "tank", "pass", asked("zpool", "tank", autotrim="on")),
    (D, "the slow CPU mended", "cpu.governor", "cpu0-255", "pass", file(f"{CPU}/cpufreq/policy37/scaling_governor", "performance")),
    (D, "turbo off", "cpu.boost", "", "fail", file(f"{CPU}/intel_pstate/no_turbo", 1)),
    (D, "a limit of 99 %", "cpu.performance-limit", "", "fail", file(f"{CPU}/intel_pstate/max_perf_pct", 99)),
    (D, "16 GiB of dirty data", "memory.dirty-ratio", "", "pass", sysctl("vm.dirty_ratio", 3)),
    (D, "a CPU offline", "cpu.online", "", "fail", file(f"{CPU}/online", "0-254")),
    (D, "no drops at the queue", "net.netdev-max-backlog", "", "na", lambda n: n.write("/proc/net/softnet_stat", re.sub(
        r"(?m)^(\S+) \S+", r"\1 00000000", n.read("/proc/net/softnet_stat").decode()))),
    # --- sensors and links that answer what cannot be, and two sources that disagree ---
    (B, "0 C beside a margin of 58 C", "gpu.temperature", "gpu1", "pass", gpu(1, **{"Temperature(GPU)": 0})),
    (B, "HBM of 255 C", "gpu.temperature-memory", "gpu1", "unknown", gpu(1, **{"FieldValues(MEMORY_TEMP)": 255})),
    (B, "HBM of 0 C", "gpu.temperature-memory", "gpu1", "unknown", gpu(1, **{"FieldValues(MEMORY_TEMP)": 0})),
    (A, "an NVMe sensor that answers 0", "disk.temperature", "0004:01:00.0", "unknown", file("/sys/class/hwmon/hwmon7/temp1_input", 0)),
    (A, "an NVMe sensor of 255 C", "disk.temperature", "0004:01:00.0", "unknown", file("/sys/class/hwmon/hwmon7/temp1_input", 255000)),
    (A, "a link that sysfs does not know", "pcie.link", "0004:01:00.0", "pass", both(file(LAST_DISK + "/current_link_speed", "Unknown"), file(LAST_DISK + "/current_link_width", 255))),
    (A, "a firmware version of blanks", "rdma.firmware", "rocep1s0f0/1", "unknown", file("/sys/class/infiniband/rocep1s0f0/fw_ver", "   ")),
    (B, "a VBIOS version with blanks behind it", "gpu.vbios", "", "pass", gpu(3, VbiosVersion="96.00.74.00.01  ")),
    (B, "a power limit of 0", "gpu.power-limit", "gpu5", "unknown", gpu(5, PowerManagementLimit=0)),
    (B, "NVML says x8, the configuration space x16", "pcie.link", "0000:03:00.0", "pass", gpu(0, CurrPcieLinkWidth=8)),
    (B, "a Fabric Manager version with a blank", "service.fabric-manager", "", "pass", asked("fabric-manager", "", version="570.133.20 ")),
    (A, "a counter at its very end", "gpu.throttle-history", "gpu0", "unknown", gpu(0, **{"FieldValues(CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)":-1})),
    (A, "a thermal zone of 0", "cpu.temperature", "thermal_zone0", "unknown", file("/sys/class/thermal/thermal_zone0/temp", 0)),
    (A, "a thermal zone below absolute zero", "cpu.temperature", "thermal_zone0", "unknown", file("/sys/class/thermal/thermal_zone0/temp",-274000)),
    (B, "MIG after the next reset", "gpu.mig", "gpu2", "fail", gpu(2, MigMode__pending=1)),
    (B, "uncorrected errors of -1", "gpu.ecc-errors", "gpu3", "unknown", gpu(3, **{"TotalEccErrors(UNCORRECTED,VOLATILE)": -1})),
    (B, "PCIe replays of -1", "gpu.pcie-replays", "gpu3", "unknown", gpu(3, PcieReplayCounter=-1)),
    (B, "remapped rows of -1", "gpu.remapped-rows", "gpu4", "unknown", gpu(4, RemappedRows__uncRows=-1, RemappedRows__corrRows=-1)),
    (B, "0 MHz under load", "gpu.working-clock", "gpu3", "unknown", gpu(3, UtilizationRates__gpu=99, PowerUsage=600000, **{"ClockInfo(SM)": 0})),
    (B, "a window of 0", "gpu.bar1-size", "gpu5", "unknown", gpu(5, BAR1MemoryInfo__bar1Total=0)),
    (B, "a VBIOS version of blanks", "gpu.vbios", "", "unknown", gpu(3, VbiosVersion="   ")),
    (B, "a Fabric Manager version of blanks", "service.fabric-manager", "", "pass", asked("fabric-manager", "", version=" ")),
    (B, "Xids that are no list", "gpu.xid", "0000:03:00.0", "unknown",
     lambda n: n.ask("kernel-log", "", {"lines(NVRM: Xid)": 3}).ask("kernel-log", "0000:03:00.0", {"xids": "abc"})),
    (B, "PCIe errors that are no numbers", "pcie.errors", "0000:43:00.0", "unknown", file(f"{DEVICES}/0000:43:00.0/aer_dev_fatal", "???")),
    (B, "a lowered application clock of the memory", "gpu.application-clocks", "gpu2", "fail", gpu(2, **{"ApplicationsClock(MEM)": 1593})),
    (D, "overcommit of a database", "memory.overcommit", "", "na", sysctl("vm.overcommit_memory", 2)),
]

# Set aside until all of the above were judged rightly: 31 of 32 were at the first run. A window of 64 GiB on an H100 was meant to
# fail; the rule asks for 1 GiB of every GPU, and still does.
LATER = [
    (A, "background writeback at 11 %", "memory.dirty-background-ratio", "", "fail", sysctl("vm.dirty_background_ratio", 11)),
    (A, "a send buffer of 16 MiB", "net.wmem-max", "", "pass", sysctl("net.core.wmem_max", 16777216)),
    (A, "a send buffer one byte below", "net.wmem-max", "", "fail", sysctl("net.core.wmem_max", 16777215)),
    (A, "a governor of all CPUs", "cpu.governor", "cpu0-19", "fail", lambda n: [n.write(f"{CPU}/cpufreq/policy{c}/scaling_governor", "powersave\n") for c in range(20)]),
    (A, "slow start off", "net.tcp-slow-start-after-idle", "", "pass", sysctl("net.ipv4.tcp_slow_start_after_idle", 0)),
    (A, "no swap at all", "memory.swap-area", "", "na", both(meminfo(SwapTotal=0, SwapFree=0), file("/proc/swaps", "Filename Type Size Used Priority"))),
    (A, "memory locked without limit", "memory.memlock", "", "pass", limit("Max locked memory", "unlimited")),
    (A, "a hardware thermal slowdown in the past", "gpu.throttle-history", "gpu0", "fail", gpu(0, **{"FieldValues(CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN)":30*10**9})),
    (A, "an NVMe zone 10 C below its limit", "disk.temperature", "0004:01:00.0", "pass", file("/sys/class/hwmon/hwmon7/temp1_input", 74850)),
    (A, "one half of the NIC at x2", "pcie.link", "0002:01:00.0", "fail", lanes("0002:01:00.0", "0002:01:00.1", "0002:00:00.0", width=2)),
    (A, "fast open for servers", "net.tcp-fastopen", "", "na", sysctl("net.ipv4.tcp_fastopen", 3)),
    (A, "a port in INIT", "rdma.state", "rocep1s0f0/1", "fail", file("/sys/class/infiniband/rocep1s0f0/ports/1/state", "2: INIT")),
    (B, "GPU 2 is not reported", "gpu.count", "", "fail", asked("nvml", "", nvmlDeviceGetCount=7)),
    (B, "GPUs with another VBIOS", "gpu.vbios", "", "fail", gpu(1, VbiosVersion="96.00.99.00.01")),
    (B, "an NVLink down on GPU 7", "gpu.nvlink", "gpu7", "fail", gpu(7, **{"NvLinkState(3)":0})),
    (B, "exclusive process mode", "gpu.compute-mode", "gpu4", "fail", gpu(4, ComputeMode=3)),
    (B, "power brake now", "gpu.throttle", "gpu2", "fail", gpu(2, CurrentClocksEventReasons=0x80)),
    (B, "an Ethernet port without jumbo frames", "nic.mtu", "ib0", "na", file("/sys/class/net/ib0/mtu", 2044)),
    (B, "swappiness of a database", "memory.swappiness", "", "fail", sysctl("vm.swappiness", 100)),
    (B, "persistence daemon down", "service.persistenced", "", "fail", lambda n: n.gone(f"{GUARDS}/nvidia-persistenced.service")),
    (B, "BAR1 of 64 GiB", "gpu.bar1-size", "gpu1", "pass", gpu(1, BAR1MemoryInfo__bar1Total=64<<30)),
    (B, "fabric degraded", "gpu.fabric", "gpu3", "fail", gpu(3, **{"GpuFabricInfo.state":2})),
    (B, "huge pages that were asked for and not granted", "memory.hugepages-granted", "1048576kB", "fail", both(argument("hugepagesz=1G hugepages=16"))),
    (C, "governor performance", "cpu.governor", "cpu0-11", "pass", lambda n: [n.write(f"{CPU}/cpufreq/policy{c}/scaling_governor", "performance\n") for c in range(12)]),
    (C, "reads of 4096", "nic.mrrs", "0005:03:00.0", "pass", mrrs("0005:03:00.0", 5)),
    (C, "software thermal slowdown now", "gpu.throttle", "gpu0", "fail", gpu(0, CurrentClocksEventReasons=0x20)),
    (C, "an address is gone", "nic.address", "eth0", "fail", asked("if", "eth0", ipv4="")),
    (D, "disk full", "disk.free-space", "/", "fail", asked("statfs", "/", avail_bytes=1000)),
    (D, "zone reclaim", "memory.zone-reclaim", "", "fail", sysctl("vm.zone_reclaim_mode", 1)),
    (D, "huge pages never", "memory.thp-enabled", "", "fail", file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")),
    (D, "UAS on the USB disk", "disk.usb-transport", "sdb", "pass", lambda n: n.link("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-4/1-4:1.0/driver", "/sys/bus/usb/drivers/uas")),
    # A second set: of 48, 31 were judged as meant at the first run, 7 needed a change, and of 10 the meaning was wrong.
    (A, "pages are zeroed", "boot.init-on-alloc", "", "fail", argument("init_on_alloc=1"), "boot.arguments"),
    (B, "an NVLink at half its speed", "gpu.nvlink-speed", "gpu2", "fail", gpu(2, **{"FieldValues(NVLINK_GET_SPEED,3)": 13281})),
    (B, "CRC errors of an NVLink", "gpu.nvlink-errors", "gpu3", "fail", gpu(3, **{"FieldValues(NVLINK_ERROR_DL_CRC,2)": 1000000})),
    (B, "an uncorrected error", "gpu.ecc-errors", "gpu4", "fail", gpu(4, **{"TotalEccErrors(UNCORRECTED,VOLATILE)": 1})),
    (B, "no row was left to remap to", "gpu.remapped-rows", "gpu0", "fail", gpu(0, RemappedRows__failureOccurred=1)),
    (B, "a row waits to be remapped", "gpu.remapped-rows", "gpu1", "fail", gpu(1, RemappedRows__isPending=1)),
    (B, "the driver asks for a reboot", "gpu.recovery-action", "gpu6", "fail", gpu(6, **{"FieldValues(GET_GPU_RECOVERY_ACTION)": 2})),
    (B, "a fabric with less bandwidth", "gpu.fabric", "gpu5", "fail", gpu(5, GpuFabricInfo__healthMask=1)),
    (B, "the fabric's manager is stopped", "service.fabric-manager", "", "fail", lambda n: n.gone(f"{GUARDS}/nvidia-fabricmanager.service")),
    (B, "NFS over one connection", "disk.nfs-connections", "/shared", "fail", replace("/proc/self/mountinfo", "nconnect=8,", "")),
    (B, "NFS reads of 32 KiB", "disk.nfs-transfer-size", "/shared", "fail", replace("/proc/self/mountinfo", "rsize=1048576", "rsize=32768")),
    (A, "a fatal PCI error", "pcie.errors", "0004:01:00.0", "fail", file(LAST_DISK + "/aer_dev_fatal", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1")),
    (B, "no overcommit", "memory.overcommit", "", "fail", sysctl("vm.overcommit_memory", 2)),
    (B, "few mappings", "memory.max-map-count", "", "fail", sysctl("vm.max_map_count", 65530)),
    (B, "sync boost", "gpu.throttle", "gpu1", "pass", gpu(1, CurrentClocksEventReasons=0x10)),
    (B, "the display's clock", "gpu.throttle", "gpu1", "pass", gpu(1, CurrentClocksEventReasons=0x100)),
    (B, "ECC is off after the next reset", "gpu.ecc", "gpu1", "fail", gpu(1, **{"FieldValues(ECC_PENDING)": 0, "EccMode.pending": 0})),
    (B, "a slow clock at work without a reason", "gpu.working-clock", "gpu3", "fail", gpu(3, UtilizationRates__gpu=99, PowerUsage=300000, CurrentClocksEventReasons=0, **{"ClockInfo(SM)": 900})),
    (A, "30 s of software thermal slowdown", "gpu.throttle-history", "gpu0", "fail", gpu(0, **{"FieldValues(CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN)": 30*10**9})),
    (A, "100 GiB of page cache", "memory.page-cache", "", "fail", meminfo(MemFree=2000000, Cached=100000000, MemAvailable=100000000)),
    (A, "a NIC of 106 C", "nic.temperature", "0000:01:00.0", "fail", both(*[file(f"/sys/class/hwmon/hwmon{i}/temp1_input", 106000) for i in (8, 9, 10, 11)])),
    (D, "a suspended pool", "zfs.pool-state", "tank", "fail", file("/proc/spl/kstat/zfs/tank/state", "SUSPENDED")),
    # A third set: of 30, 17 were judged as meant at the first run, 9 needed a change (above), and of 4 the meaning was wrong.
    (B, "255 C beside a margin", "gpu.temperature", "gpu2", "pass", gpu(2, **{"Temperature(GPU)": 255})),
    (B, "a rate that is unknown", "rdma.rate", "mlx5_3/1", "unknown", file("/sys/class/infiniband/mlx5_3/ports/1/rate", "Unknown")),
    (A, "a speed of -1 beside a link", "nic.speed", "enp1s0f0np0", "na", file("/sys/class/net/enp1s0f0np0/speed", -1)),
    (B, "NVML says 0 lanes", "pcie.link", "0000:03:00.0", "pass", gpu(0, CurrPcieLinkWidth=0)),
    (A, "a thermal zone of 255 C", "cpu.temperature", "thermal_zone1", "unknown", file("/sys/class/thermal/thermal_zone1/temp", 255000)),
    (A, "an NVMe sensor below absolute zero", "disk.temperature", "0004:01:00.0", "unknown", file("/sys/class/hwmon/hwmon7/temp1_input", -274000)),
    (B, "a driver version with a blank", "gpu.driver", "", "pass", asked("nvml", "", nvmlSystemGetDriverVersion="570.133.20 ")),
    (B, "a counter that is full", "rdma.errors", "mlx5_2/1", "fail", file("/sys/class/infiniband/mlx5_2/ports/1/counters/link_downed", 255)),
    (B, "NVML says Gen 5, the configuration space Gen 3, at work", "pcie.link", "0000:03:00.0", "fail",
     both(lanes("0000:03:00.0", speed=3), gpu(0, UtilizationRates__gpu=99, PowerUsage=600000, CurrentClocksEventReasons=0, PerformanceState=0)), "gpu.working-clock"),
    (C, "0 C without a margin", "gpu.temperature", "gpu0", "unknown", gpu(0, **{"Temperature(GPU)": 0})),
    (A, "more memory available than there is", "memory.available", "", "unknown", meminfo(MemAvailable=999999999)),
    (A, "no memory available", "memory.available", "", "fail", meminfo(MemAvailable=0, MemFree=0, Cached=0), "memory.dirty-ratio memory.dirty-background-ratio memory.guard"),
    (B, "an NVLink that is up at speed 0", "gpu.nvlink-speed", "gpu2", "unknown", gpu(2, **{"FieldValues(NVLINK_GET_SPEED,3)": 0})),
    (B, "a compute mode of 255", "gpu.compute-mode", "gpu4", "unknown", gpu(4, ComputeMode=255), "gpu.mps"),
    (B, "a hardware thermal slowdown now", "gpu.throttle", "gpu3", "fail", gpu(3, CurrentClocksEventReasons=0x40)),
    (A, "a NIC of 0 C", "nic.temperature", "0000:01:00.0", "unknown", both(*[file(f"/sys/class/hwmon/hwmon{i}/temp1_input", 0) for i in (8, 9, 10, 11)])),
    (B, "HBM above its limit", "gpu.temperature-memory", "gpu1", "fail", gpu(1, **{"FieldValues(MEMORY_TEMP)": 96})),
    (A, "NIC firmware with blanks behind it", "rdma.firmware", "rocep1s0f0/1", "pass", lambda n: n.write(
        "/sys/class/infiniband/rocep1s0f0/fw_ver", n.read("/sys/class/infiniband/rocep1s0f0/fw_ver").decode().strip() + "  \n")),
]

def container(limit, anon, killed):
    def change(n):
        group = n.at / "root/sys/fs/cgroup/system.slice/docker-1f.scope"
        n.put(group / "memory.max", f"{limit}\n".encode())
        n.put(group / "memory.stat", f"anon {anon}\nfile 900\n".encode())
        n.put(group / "memory.events", f"low 0\nmax 3\noom 1\noom_kill {killed}\n".encode())
    return change


def xid(pci, summary):
    return lambda n: n.ask("kernel-log", "", {"lines(NVRM: Xid)": 3}).ask("kernel-log", pci, {"xids": summary})


def far_irqs(first, count, cpu):
    return lambda n: [n.write(f"/proc/irq/{i}/{f}_affinity_list", f"{cpu}\n") for i in range(first, first + count) for f in ("effective", "smp")]


def nvlinks_down(index):
    return gpu(index, **{f"NvLinkState({i})": 0 for i in range(18)})


IB = "/sys/class/infiniband"
# A fourth set, written before it was run: of 40, 31 were judged as meant at the first run, 1 needed a change (an
# argument that stands there twice), and of 8
# the meaning was wrong.
FRESH = [
    # heat
    (A, "margin gone, 87 C", "gpu.temperature", "gpu0", "fail", gpu(0, MarginTemperature__marginTemperature=-1, **{"Temperature(GPU)": 87})),
    (A, "warm, and 20 C left", "gpu.temperature", "gpu0", "pass", gpu(0, MarginTemperature__marginTemperature=20, **{"Temperature(GPU)": 74})),
    (B, "software thermal slowdown beside a power cap", "gpu.throttle", "gpu6", "fail", gpu(6, CurrentClocksEventReasons=0x24)),
    (A, "an NVMe disk 1 C below its limit", "disk.temperature", "0004:01:00.0", "fail", file("/sys/class/hwmon/hwmon7/temp1_input", 83850)),
    (A, "a zone at its critical trip point", "cpu.temperature", "thermal_zone0", "fail", file("/sys/class/thermal/thermal_zone0/temp", 105000)),
    (B, "HBM at its limit", "gpu.temperature-memory", "gpu5", "fail", gpu(5, **{"FieldValues(MEMORY_TEMP)": 95})),
    (C, "3 s of power brake since the driver was loaded", "gpu.throttle-history", "gpu0", "fail",
     gpu(0, **{"FieldValues(CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN)": 3 * 10**9})),
    # links
    (B, "a GPU at half its lanes", "pcie.link", "0000:43:00.0", "fail", lanes("0000:43:00.0", width=8)),
    (B, "a NIC at Gen 4", "pcie.link", "0000:04:00.0", "fail", lanes("0000:04:00.0", speed=4)),
    (A, "an NVMe disk at Gen 2", "pcie.link", "0004:01:00.0", "fail", lanes("0004:01:00.0", speed=2)),
    (C, "the NIC with four lanes", "pcie.link", "0005:03:00.0", "fail", lanes("0005:03:00.0", width=4)),
    (B, "HDR where all others are NDR", "rdma.rate", "mlx5_3/1", "fail", file(f"{IB}/mlx5_3/ports/1/rate", "200 Gb/sec (4X HDR)")),
    (B, "a port that looks for its partner", "rdma.state", "mlx5_4/1", "fail",
     both(file(f"{IB}/mlx5_4/ports/1/state", "1: DOWN"), file(f"{IB}/mlx5_4/ports/1/phys_state", "2: Polling")), "pcie.gpu-nic-path"),
    (A, "100 Gb/s beside a twin at 200", "nic.speed", "enp1s0f0np0", "fail", file("/sys/class/net/enp1s0f0np0/speed", 100000)),
    (A, "older firmware in one half of the adapter", "rdma.firmware", "roceP2p1s0f0/1", "fail", file(f"{IB}/roceP2p1s0f0/fw_ver", "28.44.1036")),
    # memory
    (A, "swap nearly full", "memory.swap-area", "", "fail", meminfo(SwapFree=500000)),
    (A, "earlyoom", "memory.guard", "", "pass", lambda n: n.put(n.at / f"root{GUARDS}/earlyoom.service/cgroup.procs", b"9\n")),
    (B, "a container at its limit, killed three times", "memory.group-limits", "", "fail", container(8 << 30, 8 << 30, 3)),
    (B, "a container with much room", "memory.group-limits", "", "pass", container(512 << 30, 8 << 30, 0)),
    (B, "100 GiB of huge pages without a mount", "memory.hugetlbfs-mount", "", "fail",
     both(file("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", 100), file("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", 100),
          meminfo(Hugetlb=100 << 20))),
    (C, "64 KiB can be locked", "memory.memlock", "", "fail", limit("Max locked memory", 65536)),
    (B, "64 MB of shared memory", "memory.shm-size", "", "fail", asked("statfs", "/dev/shm", total_bytes=64 << 20)),
    # ECC, Xid, rows
    (B, "Xid 79 a minute ago", "gpu.xid", "0000:63:00.0", "fail", xid("0000:63:00.0", "79:1:60")),
    (B, "an Xid of a program", "gpu.xid", "0000:63:00.0", "pass", xid("0000:63:00.0", "43:1:60")),
    (B, "two rows were replaced, nothing waits", "gpu.remapped-rows", "gpu3", "pass", gpu(3, RemappedRows__uncRows=2)),
    (B, "30 million corrected errors", "gpu.ecc-errors", "gpu2", "fail", gpu(2, **{"TotalEccErrors(CORRECTED,AGGREGATE)": 3 * 10**7})),
    # NVLink and fabric
    (B, "a GPU whose fabric did not start", "gpu.fabric", "gpu2", "fail", gpu(2, GpuFabricInfo__state=1)),
    (B, "a GPU without its NVLinks", "gpu.nvlink", "gpu0", "fail", nvlinks_down(0)),
    (B, "a fabric of limited capacity", "gpu.fabric", "gpu5", "fail", gpu(5, GpuFabricInfo__healthSummary=3)),
    # NIC
    (A, "short rings, and no packet was lost", "nic.rings", "enp1s0f0np0", "na", asked("ethtool", "enp1s0f0np0", rx_pending=256, tx_pending=256)),
    (A, "packets were lost at the longest rings", "nic.rings", "enp1s0f0np0", "na",
     both(asked("ethtool", "enp1s0f0np0", rx_pending=8192, tx_pending=8192), file("/sys/class/net/enp1s0f0np0/statistics/rx_missed_errors", 10**7)), "nic.errors"),
    (B, "a NIC's interrupts on the other socket", "nic.irq-affinity", "ib0", "fail", far_irqs(400, 64, 64)),
    (A, "ten million packets missed", "nic.errors", "enp1s0f0np0", "fail", file("/sys/class/net/enp1s0f0np0/statistics/rx_missed_errors", 10**7), "nic.rings"),
    (C, "an MTU of 9000", "nic.mtu", "eth0", "pass", file("/sys/class/net/eth0/mtu", 9000)),
    # processors, storage, kernel, limits
    (C, "a power mode for a smaller supply", "cpu.power-mode", "", "na", asked("nvpmodel", "", mode=2)),
    (D, "one CPU saves power", "cpu.governor", "cpu0,37", "fail", file(f"{CPU}/cpufreq/policy0/scaling_governor", "powersave")),
    (B, "scratch is full", "disk.free-space", "/scratch", "fail", asked("statfs", "/scratch", avail_bytes=1 << 30, free_bytes=1 << 30)),
    (A, "two words on one argument", "boot.arguments", "", "fail", argument("iommu.passthrough=1")),
    (B, "1024 open files", "service.open-files", "", "fail", limit("Max open files", 1024)),
    (B, "no swap", "memory.swap-area", "", "na", both(meminfo(SwapTotal=0, SwapFree=0), file("/proc/swaps", "Filename Type Size Used Priority"))),
]


def aer(address, kind, **counts):
    """Counts of a device's errors, as the kernel sums them."""
    return lambda n: n.write(f"{DEVICES}/{address}/aer_dev_{kind}", re.sub(r"(?m)^(\w+) \d+$", lambda m: f"{m[1]} {counts.get(m[1], 0)}",
                                                                        n.read(f"{DEVICES}/{address}/aer_dev_{kind}").decode()))


def huge_pages(mib):
    """Pages of 2 MiB, all free."""
    pages = "/sys/kernel/mm/hugepages/hugepages-2048kB"
    return both(file(f"{pages}/nr_hugepages", mib // 2), file(f"{pages}/free_hugepages", mib // 2), meminfo(Hugetlb=mib * 1024))


def without_module(name):
    return lambda n: n.gone(f"/sys/module/{name}").write("/proc/modules", re.sub(rf"(?m)^{name} .*\n", "", n.read("/proc/modules").decode()))


def profile_of_firmware(name):
    firmware = "root/sys/firmware/acpi/platform_profile"
    return lambda n: n.put(n.at / firmware, f"{name}\n".encode()).put(n.at / f"{firmware}_choices", b"low-power balanced performance\n")


def kernel_release(release):
    return lambda n: n.put(n.at / "meta.json", re.sub(r'("release": )"[^"]*"', rf'\1"{release}"', (n.under / "meta.json").read_text()).encode())


PROPRIETARY = replace("/proc/driver/nvidia/version", "Open Kernel Module for (\S+)", "Kernel Module for \1")
TWIN = asked("if", "enP2p1s0f0np0", ipv4="203.0.113.5/24")
# A fifth set, written before it was run: of 40, 36 were judged as meant at the first run. Two needed a change: the hardware's
# slowdown of a busy GPU was left to two rows that each named the other, and PFC on every priority. Of two the meaning was
# wrong: a count of corrected errors is no rate, and the kernel's release is not in /proc/sys of a capture.
FIFTH = [
    # heat, power, clocks
    (B, "a hardware slowdown of an idle GPU", "gpu.throttle", "gpu4", "na", gpu(4, CurrentClocksEventReasons=0x8)),
    (B, "a hardware slowdown of a busy GPU", "gpu.working-clock", "gpu4", "fail",
     gpu(4, CurrentClocksEventReasons=0x8, UtilizationRates__gpu=99, PowerUsage=300000, **{"ClockInfo(SM)": 900})),
    (B, "the application clock is the reason", "gpu.throttle", "gpu4", "pass", gpu(4, CurrentClocksEventReasons=0x2)),
    (A, "slow under load because of heat: not the latch", "gpu.power-latch", "gpu0", "na",
     gpu(0, UtilizationRates__gpu=99, PowerUsage=14000, CurrentClocksEventReasons=0x20, **{"ClockInfo(SM)": 700}), "gpu.throttle"),
    (A, "507 MHz and 9 W under load", "gpu.power-latch", "gpu0", "fail",
     gpu(0, UtilizationRates__gpu=99, PowerUsage=9000, CurrentClocksEventReasons=0, **{"ClockInfo(SM)": 507})),
    (B, "a lower power limit from outside", "gpu.power-limit", "gpu3", "fail", gpu(3, EnforcedPowerLimit=500000)),
    (C, "busy at Gen 1", "pcie.link", "0005:09:00.0", "fail", gpu(0, UtilizationRates__gpu=99, PowerUsage=280000, PerformanceState=0,
     CurrentClocksEventReasons=0, **{"ClockInfo(SM)": 2505, "ClockInfo(GRAPHICS)": 2505, "ClockInfo(MEM)": 10001})),
    (A, "the NIC at Gen 4", "pcie.link", "0000:01:00.0", "fail", lanes("0000:01:00.0", "0000:01:00.1", "0000:00:00.0", speed=4)),
    (A, "five million corrected errors", "pcie.errors", "0000:01:00.0", "na", aer("0000:01:00.0", "correctable", RxErr=5000000, TOTAL_ERR_COR=5000000)),
    # errors of the driver
    (B, "Xid 48", "gpu.xid", "0000:23:00.0", "fail", xid("0000:23:00.0", "48:1:600")),
    (B, "Xid 13", "gpu.xid", "0000:23:00.0", "pass", xid("0000:23:00.0", "13:1:600")),
    (B, "Xid 119", "gpu.xid", "0000:e3:00.0", "fail", xid("0000:e3:00.0", "119:1:600")),
    (B, "Xid 74", "gpu.xid", "0000:43:00.0", "fail", xid("0000:43:00.0", "74:1:600")),
    (B, "a fatal SXid", "gpu.sxid", "", "fail", asked("kernel-log", "", **{"sxids(Fatal)": 1})),
    (B, "drain and reset is asked for", "gpu.recovery-action", "gpu2", "fail", gpu(2, **{"FieldValues(GET_GPU_RECOVERY_ACTION)": 4})),
    (B, "registered, with an error status", "gpu.fabric", "gpu6", "fail", gpu(6, GpuFabricInfo__status=999)),
    (B, "the proprietary module on Hopper", "gpu.driver-flavour", "", "na", PROPRIETARY),
    (A, "the proprietary module on Blackwell", "gpu.driver-flavour", "", "fail", PROPRIETARY),
    # NIC and fabric
    (C, "PFC without the packets' priority", "nic.trust", "eth0", "fail", asked("dcb", "eth0", pfc="3")),
    (C, "PFC on every priority", "nic.pfc", "eth0", "fail", asked("dcb", "eth0", pfc="0-7"), "nic.trust"),
    (A, "both halves in one subnet", "nic.subnets", "", "fail",
     both(asked("if", "enp1s0f0np0", ipv4="198.51.100.5/24"), asked("if", "enP2p1s0f0np0", ipv4="198.51.100.6/24")), "rdma.gid"),
    (A, "both halves with an address", "nic.twins", "enp1s0f0np0", "pass", both(asked("if", "enp1s0f0np0", ipv4="198.51.100.5/24"), TWIN), "rdma.gid"),
    (B, "a million symbol errors", "rdma.errors", "mlx5_1/1", "fail", file(f"{IB}/mlx5_1/ports/1/counters/symbol_error", 1000000)),
    (B, "RoCE v1 alone", "rdma.gid", "mlx5_8/1", "fail", both(*[file(f"{IB}/mlx5_8/ports/1/gid_attrs/types/{i}", "IB/RoCE v1") for i in range(4)])),
    (C, "neither peermem nor dma-buf", "rdma.gpudirect", "gpu0", "fail",
     both(lambda n: n.gone("/sys/module/nvidia_peermem"), asked("cuda", "0005:09:00.0", **{"cuDeviceGetAttribute(124)": 0})), "rdma.peermem"),
    (B, "mlx5_ib is not loaded", "nic.drivers", "", "fail", without_module("mlx5_ib")),
    (B, "no user-space driver", "rdma.user-libraries", "", "fail", lambda n: n.gone("/etc/libibverbs.d/mlx5.driver")),
    (B, "one more switch with redirect", "pcie.acs", "0000:02:00.0", "fail", lambda n: n.redirect("0000:02:00.0", 0x1d)),
    (B, "redirect off", "pcie.acs", "0000:82:00.0", "pass", lambda n: n.redirect("0000:82:00.0", 0)),
    # memory
    (A, "2 GiB of dirty data, by bytes", "memory.dirty-ratio", "", "pass", both(sysctl("vm.dirty_ratio", 0), sysctl("vm.dirty_bytes", 2 << 30))),
    (B, "64 GiB of dirty data, by bytes", "memory.dirty-ratio", "", "fail", both(sysctl("vm.dirty_ratio", 0), sysctl("vm.dirty_bytes", 64 << 30))),
    (A, "20 GiB in unused huge pages", "memory.hugepages-unused", "", "fail", huge_pages(20 << 10)),
    (B, "huge pages of a size that x86 lacks", "memory.hugepage-sizes", "", "fail", argument("hugepagesz=16M hugepages=64")),
    # boot
    (B, "two sizes of huge pages contradict nothing", "boot.arguments", "", "pass", argument("hugepagesz=2M hugepages=64 hugepagesz=1G hugepages=8"), "memory.hugepages-granted"),
    (B, "payloads of 128 bytes everywhere", "boot.pcie-bus", "", "fail", argument("pci=pcie_bus_peer2peer")),
    (A, "nohz_full that is not in effect", "boot.nohz-full", "", "fail", argument("nohz_full=5-9")),
    (A, "passthrough on a kernel before 6.11", "pcie.arm-passthrough", "", "fail",
     both(replace("/proc/cmdline", "iommu.passthrough=0", "iommu.passthrough=1"), kernel_release("6.8.0-1028-nvidia"))),
    (B, "the quiet profile of firmware", "cpu.platform-profile", "", "fail", profile_of_firmware("low-power")),
    # network stack, disks
    (B, "no ARP replies at all", "net.arp-ignore", "", "fail", sysctl("net.ipv4.conf.all.arp_ignore", 8)),
    (B, "a send window of 512 MiB", "net.tcp-wmem", "", "pass", sysctl("net.ipv4.tcp_wmem", "4096 16384 536870912")),
    (D, "no scheduler on a disk that turns", "disk.scheduler", "sda", "fail", file("/sys/block/sda/queue/scheduler", "[none] mq-deadline bfq")),
]


def root_file(path, text):
    return lambda n: n.put(n.at / f"root{path}", text.encode())


def fabric(transport="tcp", paths=2, policy="round-robin", queues=129, loss="600", states=None, ahead=4096):
    """An NVMe disk of another machine, behind the kernel's multipath. queue_count counts one queue that takes no I/O."""
    def change(n):
        subsystem, root = "sys/devices/virtual/nvme-subsystem/nvme-subsys99", n.at / "root"
        for f, v in {"nvme99n1/size": 7814037168, "nvme99n1/dev": "259:99", "nvme99n1/queue/read_ahead_kb": ahead, "iopolicy": policy,
                     "nvme99n1/queue/scheduler": "[none] mq-deadline", "nvme99n1/queue/nr_requests": 127, "nvme99n1/queue/rotational": 0}.items():
            n.put(root / subsystem / f, f"{v}\n".encode())
        n.link("/sys/block/nvme99n1", "../devices/virtual/nvme-subsystem/nvme-subsys99/nvme99n1")
        n.link(f"/{subsystem}/nvme99n1/device", "..")
        for i in range(paths):
            control = f"sys/devices/virtual/nvme-fabrics/ctl/nvme{90 + i}"
            for f, v in {"sqsize": 127, "transport": transport, "queue_count": queues, "ctrl_loss_tmo": loss, "state": states[i] if states else "live"}.items():
                n.put(root / control / f, f"{v}\n".encode())
            n.link(f"/{subsystem}/nvme{90 + i}", f"../../nvme-fabrics/ctl/nvme{90 + i}")
            n.link(f"/sys/class/nvme/nvme{90 + i}", f"../../devices/virtual/nvme-fabrics/ctl/nvme{90 + i}")
    return change


def cufile(**properties):
    return both(root_file("/usr/local/cuda/lib64/libcufile.so.0", ""), root_file("/etc/cufile.json", json.dumps({"properties": properties})))


def lustre(mib):
    def change(n):
        n.write("/proc/self/mountinfo", n.read("/proc/self/mountinfo").decode().rstrip("\n") +
                "\n90 26 0:91 / /lustre rw shared:90 - lustre 192.0.2.5@o2ib:/scratch rw,checksum,flock\n")
        n.put(n.at / "root/sys/fs/lustre/llite/scratch-ffff/max_read_ahead_mb", f"{mib}\n".encode())
    return change


def isolated(cpus, more=""):
    return both(argument(f"isolcpus={cpus}{more}"), file(f"{CPU}/isolated", cpus))


def payload(address, code):
    def change(space):
        at = capability(space, 0x10) + 8
        space[at] = space[at] & ~0xe0 | code << 5
    return lambda n: n.config(address, change)


REMOTE = "nvme99n1"
# A sixth set, written before it was run: of 40, 32 were judged as meant at the first run. Three needed a change: the idle
# states that somebody disabled, notifications of congestion with DSCP 0, and disks of other machines, which have a set here.
SIXTH = [
    (B, "a payload of 128 bytes on one rail, 256 on its twins", "nic.mps", "0000:04:00.0", "fail", payload("0000:04:00.0", 0)),
    (A, "one queue over TCP", "disk.nvme-connection", REMOTE, "fail", fabric(queues=2)),
    (A, "a queue for every CPU, every path live", "disk.nvme-connection", REMOTE, "pass", fabric(queues=21)),
    (B, "RDMA, and one of two paths connects again", "disk.nvme-connection", REMOTE, "fail", fabric("rdma", states=["live", "connecting"])),
    (B, "RDMA, two paths", "disk.nvme-connection", REMOTE, "pass", fabric("rdma")),
    (B, "one path, and I/O errors after 30 s", "disk.nvme-connection", REMOTE, "fail", fabric(paths=1, loss="30")),
    (B, "one path, which is waited for for ever", "disk.nvme-connection", REMOTE, "pass", fabric(paths=1, loss="off")),
    (B, "the kernel's policy for two paths", "disk.nvme-paths", REMOTE, "fail", fabric(policy="numa")),
    (B, "paths by queue depth", "disk.nvme-paths", REMOTE, "pass", fabric("rdma", policy="queue-depth")),
    (B, "one path has no policy", "disk.nvme-paths", REMOTE, "na", fabric(paths=1, policy="numa")),
    (B, "no read-ahead of a disk over RDMA", "disk.read-ahead", REMOTE, "fail", fabric("rdma", ahead=0)),
    (D, "numa policy of a server without a GPU", "disk.nvme-paths", REMOTE, "fail", fabric(policy="numa", ahead=128)),
    # data paths
    (B, "cuFile may not fall back, and nvidia-fs is not loaded", "disk.gpudirect-storage", "", "fail", cufile(allow_compat_mode=False)),
    (B, "cuFile may fall back", "disk.gpudirect-storage", "", "na", cufile(allow_compat_mode=True)),
    (B, "Lustre does not read ahead", "disk.lustre-read-ahead", "", "fail", lustre(0)),
    (B, "Lustre with its default", "disk.lustre-read-ahead", "", "pass", lustre(64)),
    (B, "NFS reads 16 MiB ahead", "disk.nfs-read-ahead", "/shared", "pass", file("/sys/class/bdi/0:57/read_ahead_kb", 16384)),
    # processors and interrupts
    (A, "half of the isolated CPUs have a tick", "boot.isolation", "", "fail",
     both(isolated("16-19", " nohz_full=16-17"), root_file(f"{CPU}/nohz_full", "16-17\n")), "cpu.irq-affinity"),
    (A, "irqbalance beside isolated CPUs", "service.irqbalance", "", "fail",
     both(isolated("16-19"), root_file(f"{GUARDS}/irqbalance.service/cgroup.procs", "9\n")), "cpu.irq-affinity"),
    (B, "irqbalance beside isolated CPUs", "service.irqbalance", "", "fail", isolated("8-15"), "cpu.irq-affinity nic.irq-affinity"),
    (B, "a deep state is disabled on every CPU", "cpu.idle-states", "cpu0-255", "na",
     lambda n: [n.write(f"{CPU}/cpu{c}/cpuidle/state2/disable", "1\n") for c in range(256)]),
    # GPU and NIC
    (B, "two GPUs cannot reach each other", "gpu.peer-access", "gpu0", "fail", gpu(0, **{"P2PStatus(1,READ)": 3, "P2PStatus(1,WRITE)": 3})),
    (B, "seven GPUs answer", "gpu.count", "", "fail", asked("nvml", "", nvmlDeviceGetCount=7)),
    (B, "ASPM L1 on a GPU", "pcie.aspm", "0000:03:00.0", "na", lambda n: n.config("0000:03:00.0", aspm_l1)),
    (B, "a count of replays is no rate", "gpu.pcie-replays", "gpu3", "na", gpu(3, PcieReplayCounter=1000)),
    (C, "notifications with DSCP 0", "rdma.dcqcn", "mlx5_0/1", "fail", file("/sys/class/net/eth0/ecn/roce_np/cnp_dscp", 0)),
    (C, "the clock stays high", "gpu.sm-clock-lock", "gpu0", "pass", gpu(0, **{"ClockInfo(SM)": 3105, "ClockInfo(GRAPHICS)": 3105})),
    # memory, network stack, ZFS
    (A, "swappiness 0", "memory.swappiness", "", "pass", sysctl("vm.swappiness", 0)),
    (A, "huge pages by madvise", "memory.thp-enabled", "", "pass", file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")),
    (A, "overcommit always", "memory.overcommit", "", "pass", sysctl("vm.overcommit_memory", 1)),
    (B, "swap on zram alone", "memory.swap-area", "", "pass",
     both(file("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 8388604 0 100"), meminfo(SwapTotal=8388604, SwapFree=8388604))),
    (B, "half of the receive buffer", "net.rmem-max", "", "fail", sysctl("net.core.rmem_max", 8388608)),
    (B, "BBR", "net.tcp-congestion-control", "", "na", sysctl("net.ipv4.tcp_congestion_control", "bbr")),
    (D, "ZFS does not read ahead", "zfs.prefetch", "", "fail", file("/sys/module/zfs/parameters/zfs_prefetch_disable", 1)),
]


def aspm_l1(space):
    at = capability(space, 0x10) + 0x10
    space[at] = space[at] & ~3 | 2


# Machines that are there as a tar alone.
GX10, B200, OEM = "gx10", "hgx-b200", "dgx-spark-oem"
PACKED = [
    (GX10, "half the lanes of one half", "pcie.link", "0002:01:00.0", "fail", lambda n: None),
    (GX10, "all lanes", "pcie.link", "0002:01:00.0", "pass", lanes("0002:01:00.0", "0002:01:00.1", "0002:00:00.0", width=4)),
    (B200, "ib_umad is not loaded", "service.nvlink-subnet-manager", "", "fail", without_module("ib_umad")),
    (B200, "the fabric's manager is stopped", "service.fabric-manager", "", "fail", lambda n: n.gone(f"{GUARDS}/nvidia-fabricmanager.service")),
    (B200, "an NVLink at half its speed", "gpu.nvlink-speed", "gpu2", "fail", gpu(2, **{"FieldValues(NVLINK_GET_SPEED,3)": 26562})),
    (B200, "the proprietary module on Blackwell", "gpu.driver-flavour", "", "fail", PROPRIETARY),
    (B200, "a fabric in progress", "gpu.fabric", "gpu1", "fail", gpu(1, GpuFabricInfo__state=2)),
    (B200, "a power limit of 700 W", "gpu.power-limit", "gpu4", "fail", gpu(4, PowerManagementLimit=700000)),
    (OEM, "2 % of memory available", "memory.available", "", "fail", meminfo(MemAvailable=2500000, MemFree=2400000, Cached=100000),
     "memory.dirty-ratio memory.dirty-background-ratio memory.guard"),
]

# Machine, fact, object, the row that judges it (None: none does), what is used, what is not, how.
TWICE = [
    (B, "pci.width", "0000:03:00.0", "pcie.link", "16", "8", gpu(0, CurrPcieLinkWidth=8)),
    (C, "gpu.gpus.bar1_bytes", "gpu0", "gpu.bar1-size", str(1 << 29), str(1 << 28), gpu(0, BAR1MemoryInfo__bar1Total=1 << 29)),
    (A, "gpu.driver", "", "gpu.driver", "580.99.02", "580.142", asked("nvml", "", nvmlSystemGetDriverVersion="580.99.02")),
    (A, "net.nics.carrier", "enp1s0f0np0", "nic.carrier", "1", "0", file("/sys/class/net/enp1s0f0np0/operstate", "down")),
    (A, "net.rdma.rate_mbps", "rocep1s0f0/1", "rdma.rate", "200000", "100000", file("/sys/class/net/enp1s0f0np0/speed", 100000)),
    (A, "net.rdma.firmware", "rocep1s0f0/1", "rdma.firmware", "28.45.4028", "28.44.1036 (X)", asked("ethtool", "enp1s0f0np0", fw_version="28.44.1036 (X)")),
    (A, "memory.swap_total_kb", "", "memory.swap-area", "16777212", "8388604", replace("/proc/swaps", "file\\s+\\S+", "file 8388604")),
    (B, "memory.hugetlb_kb", "", "memory.hugepages-unused", "0", "2048", meminfo(Hugetlb=2048)),
    (A, "platform.kind", "", None, "dgx-spark", "NVIDIA H100 PCIe", gpu(0, Name="NVIDIA H100 PCIe")),
    (B, "platform.virtual", "", None, "1", "0", file("/sys/class/dmi/id/sys_vendor", "QEMU")),
    (C, "gpu.gpus.integrated", "gpu0", None, "1", "0", asked("cuda", "0005:09:00.0", **{"cuDeviceGetAttribute(18)": 1})),
]


def gpu_lanes(n):
    """The link of the GPU, wherever this board has it."""
    for f in sorted((n.under / "root/sys/bus/pci/devices").iterdir()):
        if (n.under / "root" / n.real(f"{DEVICES}/{f.name}").lstrip("/") / "class").read_text().startswith("0x0300") and \
                (n.under / "root" / n.real(f"{DEVICES}/{f.name}").lstrip("/") / "vendor").read_text().startswith("0x10de"):
            n.lanes(f.name, 4)


def failing(j):
    return {(f["id"], f["target"]) for f in j["findings"] if f["verdict"] in ("fail", "unknown")}


def hits(findings, row, target, verdict):
    return [f for f in findings if f["id"] == row and f["verdict"] == verdict and (target == f["target"] or target in f["target"].split())]


def judge(n, base, plant, every):
    machine, what, row, target, verdict, how, *more = plant
    how(n)
    _, j = n.check("--all", *([] if every else ["--only", row]))
    n.mend()
    found = hits(j["findings"], row, target, verdict)
    ok = expect(f"{machine}, {what}: {row} is {verdict} on {target or 'the machine'}", found,
                [(f["target"], f["verdict"], f["current"], f["reason"]) for f in j["findings"] if f["id"] == row] or j.get("error"))
    if not every:
        return ok
    others = {r for r, t in failing(j) - base[machine] if r != row} - set(more[0].split() if more else [])
    return expect(f"{machine}, {what}: nothing else changes", not others, sorted((f["id"], f["target"], f["reason"]) for f in j["findings"] if f["id"] in others)) and ok


def twice(n, fact, name, row, used, other, how):
    """Sources of one fact that differ: show names both with their place, and check and explain of the row that judges it."""
    how(n)
    said = {}
    for verb, argv in ("json", ["show", "--deep", "--format", "json"]), ("show", ["show", "--deep"]), ("check", ["check"]):
        said[verb] = run(*argv, *n.argv)[1]
    all_of = json.loads(said["json"])["facts"]["disagreements"]
    found = [d for d in all_of if (d["name"], d["fact"]) == (name, fact)]
    expect(f"{fact}: both values and their places", found and (str(found[0]["taken"]["value"]), str(found[0]["other"]["value"])) == (used, other) and
           found[0]["taken"]["from"] != found[0]["other"]["from"], all_of)
    expect(f"{fact}: show has a table of them", "Sources that disagree" in said["show"] and fact in said["show"], said["show"])
    expect(f"{fact}: check says that there are some", "Sources disagree about 1 fact" in " ".join(said["check"].split()) or len(all_of) > 1, said["check"])
    if row:
        f = next(f for f in n.check("--all", "--only", row)[1]["findings"] if name in [f["target"], *f["targets"]])
        expect(f"{fact}: the finding of {row} names both", f"{used} according to" in f.get("disagree", "") and other in f["disagree"], f)
        page = " ".join(run("explain", row, *n.argv)[1].split())
        expect(f"{fact}: so does explain", "sources disagree" in page.lower(), page)
    n.mend()


def unpacked(name):
    """A captured machine that is a tar, as a folder."""
    folder = scratch("unpacked")
    with tarfile.open(machines / f"{name}.tar") as tar:
        tar.extractall(folder)
    return folder


def main():
    every = "all" in sys.argv[2:]
    nodes = {m: Node(f"planted-{m}", machine=m) for m in (A, B, C, D)}
    if every:
        nodes |= {m: Node(f"planted-{m}", machine=unpacked(m)) for m in (GX10, B200, OEM)}
    base = {m: failing(n.check("--all")[1]) for m, n in nodes.items()} if every else {}
    for plant in PLANTS + (LATER + FRESH + FIFTH + SIXTH + PACKED if every else []):
        judge(nodes[plant[0]], base, plant, every)
    for machine, *plant in TWICE:
        twice(nodes[machine], *plant)


if __name__ == "__main__":
    main()
    end_suite()
