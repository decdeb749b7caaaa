# SPDX-License-Identifier: Apache-2.0
"""
What every Linux machine has: processors, memory, kernel settings, block devices, interfaces and RDMA
devices, each as the files that the kernel shows for it.
"""
from lib import cpu_mask, ranges

CPU = "/sys/devices/system/cpu"

# Defaults of the kernel and of Ubuntu's packaged sysctl files. Source: Documentation/admin-guide/sysctl,
# Documentation/networking/ip-sysctl, procps' and systemd's files in /usr/lib/sysctl.d.
SYSCTL = {
    "vm.swappiness": 60, "vm.vfs_cache_pressure": 100, "vm.dirty_ratio": 20, "vm.dirty_background_ratio": 10,
    "vm.dirty_bytes": 0, "vm.dirty_background_bytes": 0, "vm.dirty_expire_centisecs": 3000,
    "vm.dirty_writeback_centisecs": 500, "vm.zone_reclaim_mode": 0, "vm.overcommit_memory": 0,
    "vm.max_map_count": 1048576, "vm.min_free_kbytes": 67584, "vm.watermark_scale_factor": 10,
    "vm.watermark_boost_factor": 15000, "vm.compaction_proactiveness": 20, "vm.nr_hugepages": 0,
    "vm.nr_overcommit_hugepages": 0, "vm.page-cluster": 3, "vm.stat_interval": 1,
    "kernel.sched_autogroup_enabled": 1, "kernel.sched_rt_runtime_us": 950000, "kernel.tainted": 0,
    "kernel.numa_balancing": 0, "kernel.timer_migration": 1, "kernel.perf_event_paranoid": 4,
    "kernel.nmi_watchdog": 1, "kernel.watchdog": 1, "fs.inotify.max_user_instances": 128, "fs.inotify.max_user_watches": 1048576,
    "net.core.rmem_max": 212992, "net.core.wmem_max": 212992, "net.core.rmem_default": 212992,
    "net.core.wmem_default": 212992, "net.core.netdev_max_backlog": 1000, "net.core.somaxconn": 4096,
    "net.core.busy_poll": 0, "net.core.busy_read": 0, "net.core.netdev_budget": 300,
    "net.core.optmem_max": 131072, "net.core.default_qdisc": "fq_codel",
    "net.ipv4.tcp_fastopen": 1, "net.ipv4.tcp_slow_start_after_idle": 1,
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_mtu_probing": 0, "net.ipv4.tcp_timestamps": 1,
    "net.ipv4.tcp_sack": 1, "net.ipv4.tcp_low_latency": 0, "net.ipv4.ip_forward": 0,
    "net.ipv4.conf.all.arp_ignore": 0, "net.ipv4.conf.all.arp_announce": 0, "net.ipv4.conf.all.rp_filter": 2,
}


class Cache:
    def __init__(self, index, level, kind, size_kb, shared):
        self.index, self.level, self.kind, self.size_kb, self.shared = index, level, kind, size_kb, shared


class Cpus:
    """
    Logical CPUs 0..n-1. core, package, cluster: functions of a CPU's number. On large machines the files that
    nothing reads are left out.
    """

    def __init__(self, m, n, package, core, core_cpus, cluster=None, cluster_cpus=None, isolated=""):
        self.m, self.n = m, n
        self.everything = n <= 32
        self.package, self.core, self.core_cpus = package, core, core_cpus
        self.cluster, self.cluster_cpus = cluster, cluster_cpus
        m.puts(CPU, online=ranges(range(n)), present=ranges(range(n)), possible=ranges(range(n)),
               isolated=isolated, nohz_full="(null)" if not isolated else isolated, kernel_max=8191)
        m.put(f"{CPU}/smt/active", int(len(core_cpus(0)) > 1))
        m.put(f"{CPU}/smt/control", "on" if len(core_cpus(0)) > 1 else "notsupported")
        m.put("/proc/irq/default_smp_affinity", cpu_mask(range(n), n))

    def write(self, caches):
        """caches: a function of the CPU's number that gives its Cache objects."""
        m, everyone = self.m, range(self.n)
        packages = {}
        for c in everyone:
            packages.setdefault(self.package(c), []).append(c)
        for c in everyone:
            t = f"{CPU}/cpu{c}/topology"
            m.puts(t, core_cpus_list=ranges(self.core_cpus(c)), package_cpus_list=ranges(packages[self.package(c)]))
            if self.cluster:
                m.put(f"{t}/cluster_cpus_list", ranges(self.cluster_cpus(c)))
            if self.everything:
                m.puts(t, core_id=self.core(c), physical_package_id=self.package(c))
                if self.cluster:
                    m.put(f"{t}/cluster_id", self.cluster(c))
            for cache in caches(c):
                k = f"{CPU}/cpu{c}/cache/index{cache.index}"
                m.puts(k, level=cache.level, type=cache.kind, size=f"{cache.size_kb}K",
                       shared_cpu_list=ranges(cache.shared))

    def idle(self, driver, governor, states):
        """states: (name, desc, latency, residency) rows, or a function of the CPU's number."""
        m = self.m
        m.puts(f"{CPU}/cpuidle", current_driver=driver, current_governor=governor, current_governor_ro=governor)
        for c in range(self.n):
            for i, (name, desc, latency, residency) in enumerate(states(c) if callable(states) else states):
                m.puts(f"{CPU}/cpu{c}/cpuidle/state{i}", name=name, latency=latency, residency=residency,
                       disable=0)
                if self.everything:
                    m.put(f"{CPU}/cpu{c}/cpuidle/state{i}/desc", desc)

    def policy(self, first, cpus, driver, governor, governors, lo, hi, bottom=None, top=None, **more):
        folder = f"{CPU}/cpufreq/policy{first}"
        self.m.puts(folder, affected_cpus=" ".join(map(str, cpus)), related_cpus=" ".join(map(str, cpus)),
                    scaling_driver=driver, scaling_governor=governor, scaling_available_governors=governors,
                    scaling_min_freq=bottom or lo, scaling_max_freq=top or hi, cpuinfo_min_freq=lo,
                    cpuinfo_max_freq=hi, **more)
        for c in cpus if self.everything else ():
            self.m.link(f"{CPU}/cpu{c}/cpufreq", folder)


def numa(m, nodes, distance, pools=()):
    """nodes: {node: (cpus, total kB, free kB)}; pools: sizes in kB that the kernel offers."""
    folder = "/sys/devices/system/node"
    m.puts(folder, online=ranges(nodes), possible=ranges(nodes))
    for node, (cpus, total, free) in nodes.items():
        d = f"{folder}/node{node}"
        m.puts(d, cpulist=ranges(cpus), distance=distance[node])
        m.rows(f"{d}/meminfo", [f"Node {node} MemTotal:       {total} kB", f"Node {node} MemFree:        {free} kB",
                                f"Node {node} MemUsed:        {total - free} kB",
                                f"Node {node} HugePages_Total:     0", f"Node {node} HugePages_Free:      0",
                                f"Node {node} HugePages_Surp:      0"])
        for kb in pools:
            m.puts(f"{d}/hugepages/hugepages-{kb}kB", nr_hugepages=0, free_hugepages=0, surplus_hugepages=0)


def huge_pages(m, sizes_kb, thp, defrag, thp_sizes=(), shmem="always within_size advise [never] deny force"):
    for kb in sizes_kb:
        m.puts(f"/sys/kernel/mm/hugepages/hugepages-{kb}kB", nr_hugepages=0, free_hugepages=0, resv_hugepages=0,
               surplus_hugepages=0, nr_overcommit_hugepages=0)
    t = "/sys/kernel/mm/transparent_hugepage"
    m.puts(t, enabled=thp, defrag=defrag, shmem_enabled=shmem, hpage_pmd_size=2097152, use_zero_page=1)
    m.put(f"{t}/khugepaged/defrag", 1)
    for kb, text in thp_sizes:
        m.put(f"{t}/hugepages-{kb}kB/enabled", text)


def memory(m, total, free, available, cached, swap_total, swap_free, cma=None, extra=()):
    rows = [("MemTotal", total, 1), ("MemFree", free, 1), ("MemAvailable", available, 1),
            ("Buffers", 105220, 1), ("Cached", cached, 1), ("SwapCached", 0, 1),
            ("SwapTotal", swap_total, 1), ("SwapFree", swap_free, 1), ("Dirty", 412, 1), ("Writeback", 0, 1),
            ("AnonHugePages", 0, 1)]
    if cma:
        rows += [("CmaTotal", cma[0], 1), ("CmaFree", cma[1], 1)]
    rows += [("HugePages_Total", 0, 0), ("HugePages_Free", 0, 0), ("HugePages_Rsvd", 0, 0),
             ("HugePages_Surp", 0, 0), ("Hugepagesize", 2048, 1), ("Hugetlb", 0, 1)]
    m.meminfo(rows + list(extra))


def sysctls(m, **changed):
    for name, value in {**SYSCTL, **{k.replace("__", "."): v for k, v in changed.items()}}.items():
        m.sysctl(name, value)
    m.put("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000")


def ubuntu(m, version, name, codename, more=()):
    m.rows("/usr/lib/os-release", [f'PRETTY_NAME="{name}"', 'NAME="Ubuntu"', f'VERSION_ID="{version}"',
                                   f'VERSION="{name[7:]} ({codename})"', "ID=ubuntu", "ID_LIKE=debian",
                                   f"UBUNTU_CODENAME={codename.split()[0].lower()}"])
    m.link_as("/etc/os-release", "../usr/lib/os-release")
    m.link_as("/lib", "usr/lib")
    m.rows("/usr/lib/sysctl.d/50-default.conf", ["# Defaults of the distribution.", "kernel.core_uses_pid = 1",
                                                 "net.ipv4.conf.default.rp_filter = 2",
                                                 "net.ipv4.conf.*.rp_filter = 2"])
    m.rows("/etc/sysctl.d/10-map-count.conf", ["vm.max_map_count = 1048576"])
    m.put("/proc/1/comm", "systemd")
    m.rows("/run/systemd/system/netplan-ovs-cleanup.service", ["[Unit]", "Description=OpenVSwitch configuration for cleanup"])
    for path, rows in more:
        m.rows(path, rows)


def efi(m, secure_boot, lockdown):
    guid = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
    for name, value in (("SecureBoot", secure_boot), ("SetupMode", 0)):
        m.raw(f"/sys/firmware/efi/efivars/{name}-{guid}", bytes([6, 0, 0, 0, value]))
    m.put("/sys/firmware/efi/fw_platform_size", 64)
    words = ["none", "integrity", "confidentiality"]
    m.put("/sys/kernel/security/lockdown", " ".join(f"[{w}]" if w == lockdown else w for w in words))


def dmi(m, **values):
    m.puts("/sys/class/dmi/id", **values)


def limits(m, memlock):
    m.rows("/proc/self/limits", ["Limit                     Soft Limit           Hard Limit           Units     ",
                                 "Max stack size            8388608              unlimited            bytes     ",
                                 "Max open files            1024                 1048576              files     ",
                                 f"Max locked memory         {memlock:<20} {memlock:<20} bytes     "])


def statfs(m, path, size, free):
    m.answers("statfs", path, {"total_bytes": size, "free_bytes": free, "avail_bytes": free})


def libraries(m, driver, cuda, targets, cuda_libraries, others):
    """Libraries that GPU programs load: links that tell the version. cuda: "13.0.2", at its usual place."""
    folder = f"/usr/lib/{m.identity['machine']}-linux-gnu"
    for name, version in {"libcuda.so.1": driver, "libnvidia-ml.so.1": driver, **others}.items():
        m.link_as(f"{folder}/{name}", f"{name.split('.so')[0]}.so.{version}")
    m.unread(f"{folder}/libc.so.6")
    short = ".".join(cuda.split(".")[:2])
    home = f"/usr/local/cuda-{short}"
    m.link_as("/usr/local/cuda", "/etc/alternatives/cuda")
    m.link_as("/etc/alternatives/cuda", home)
    m.rows(f"{home}/version.json", ["{", '   "cuda" : {', '      "name" : "CUDA SDK",', f'      "version" : "{cuda}"',
                                    "   }", "}"])
    m.unread(f"{home}/bin/nvcc")
    m.link_as(f"{home}/lib64", f"targets/{targets}/lib")
    for name, version in cuda_libraries.items():
        m.link_as(f"{home}/targets/{targets}/lib/{name}", f"{name.split('.so')[0]}.so.{version}")
    m.unread("/usr/bin/nvidia-container-runtime")


# --- block devices -------------------------------------------------------------------------------------

QUEUE = {"rotational": 0, "nr_requests": 1023, "read_ahead_kb": 128, "max_sectors_kb": 1280,
         "max_hw_sectors_kb": 2048, "hw_sector_size": 512, "logical_block_size": 512, "discard_max_bytes": 2199023255040,
         "rq_affinity": 1, "nomerges": 0, "wbt_lat_usec": 2000, "write_cache": "write back", "io_poll": 0}


def disk(m, name, path, minor, sectors, scheduler, partitions=(), removable=0, udev=(), **queue):
    """path: the folder of the device above the block device. partitions: (number, sectors, file system)."""
    d = f"{path}/{name}"
    m.link(f"/sys/block/{name}", d)
    m.puts(d, size=sectors, removable=removable, dev=minor, ro=0)
    for key, value in {**QUEUE, "scheduler": scheduler, **queue}.items():
        m.put(f"{d}/queue/{key}", value)
    m.rows(f"/run/udev/data/b{minor}", [f"E:{k}={v}" for k, v in udev])
    major, base = map(int, minor.split(":"))
    for number, size, fs in partitions:
        part = f"{name}p{number}" if name[-1].isdigit() else f"{name}{number}"
        m.puts(f"{d}/{part}", partition=number, size=size, start=2048, dev=f"{major}:{base + number}")
        m.rows(f"/run/udev/data/b{major}:{base + number}",
               [f"E:ID_FS_TYPE={fs}", f"E:ID_FS_USAGE={'raid' if fs == 'zfs_member' else 'filesystem'}",
                "E:ID_PART_ENTRY_SCHEME=gpt"])
    return d


def nvme(m, function, n, minor, model, firmware, sectors, partitions=(), **queue):
    ctrl = f"{function.path}/nvme/nvme{n}"
    m.link(f"/sys/class/nvme/nvme{n}", ctrl)
    m.puts(ctrl, model=f"{model:<40}", firmware_rev=f"{firmware:<8}", serial=f"{'redacted':<20}", transport="pcie",
           state="live", numa_node=function.node(), queue_count=33)
    m.link(f"{ctrl}/device", function.path)
    d = disk(m, f"nvme{n}n1", ctrl, minor, sectors, "[none] mq-deadline", partitions,
             udev=(("ID_MODEL", model.replace(" ", "_")), ("ID_BUS", "nvme")), **queue)
    m.link(f"{d}/device", ctrl)
    return d


def loop(m, n, sectors, **queue):
    d = disk(m, f"loop{n}", "/sys/devices/virtual/block", f"7:{n}", sectors, "[none] mq-deadline",
             nr_requests=128, discard_max_bytes=0, write_cache="write back", **queue)
    m.put(f"{d}/loop/backing_file", f"/var/lib/snapd/snaps/core22_{1000 + n}.snap")


# --- temperatures --------------------------------------------------------------------------------------

def thermal_zone(m, n, kind, celsius, trips=()):
    """trips: (kind, degrees)."""
    d = f"/sys/devices/virtual/thermal/thermal_zone{n}"
    m.link(f"/sys/class/thermal/thermal_zone{n}", d)
    m.puts(d, type=kind, temp=round(celsius * 1000), mode="enabled")
    for i, (trip, at) in enumerate(trips):
        m.put(f"{d}/trip_point_{i}_type", trip)
        m.put(f"{d}/trip_point_{i}_temp", at * 1000)


def hwmon(m, n, parent, chip, celsius, crit=None):
    d = f"{parent}/hwmon/hwmon{n}"
    m.link(f"/sys/class/hwmon/hwmon{n}", d)
    m.puts(d, name=chip, temp1_input=round(celsius * 1000))
    if crit:
        m.put(f"{d}/temp1_crit", round(crit * 1000))
    m.link(f"{d}/device", parent)


# --- interfaces ----------------------------------------------------------------------------------------

def interface(m, name, index, parent, up=True, carrier=1, speed=None, mtu=1500, kind=1, driver=None, firmware="N/A",
              max_mtu=9000, port=None, switch=None, rings=None, coalesce=None, channels=None, ipv4="", wireless=False,
              version=None, duplex="full", dropped=0, owner=None):
    path = f"{parent.path if parent else '/sys/devices/virtual'}/net/{name}"
    m.link(f"/sys/class/net/{name}", path)
    mac = ":".join(["02", "00", "00", "00", "00", f"{index:02x}"])
    if kind == 32:
        mac = ":".join(["00"] * 19 + [f"{index:02x}"])
    if kind == 772:
        mac = "00:00:00:00:00:00"
    m.puts(path, address=mac, ifindex=index, mtu=mtu, type=kind, tx_queue_len=1000,
           flags="0x1003" if up else "0x1002", dev_port=0,
           operstate="unknown" if kind == 772 else "up" if up and carrier else "down")
    if up:
        m.put(f"{path}/carrier", carrier)
        m.put(f"{path}/speed", speed if carrier and speed else -1)
        m.put(f"{path}/duplex", duplex if carrier and speed else "unknown")
    else:
        for leaf in ("carrier", "speed", "duplex"):
            m.refuse(f"{path}/{leaf}", "EINVAL")
    if port:
        m.puts(path, phys_port_name=port, phys_switch_id=switch)
    else:
        m.refuse(f"{path}/phys_port_name", "EOPNOTSUPP")
        m.refuse(f"{path}/phys_switch_id", "EOPNOTSUPP")
    for counter in ("rx_dropped", "rx_missed_errors", "rx_crc_errors", "rx_errors", "tx_errors", "tx_dropped"):
        m.put(f"{path}/statistics/{counter}", dropped if counter == "rx_dropped" else 0)
    if parent:
        m.link(f"{path}/device", parent.path)
    if wireless:
        m.link(f"{path}/phy80211", f"{parent.path}/ieee80211/phy0")
    m.answers("if", name, {"max_mtu": max_mtu, "ipv4": ipv4})
    unsupported = {"error": "EOPNOTSUPP"}
    ask = {"driver": driver or unsupported, "version": version or m.identity["release"], "fw_version": firmware}
    for names, values in ((("rx_pending", "rx_max_pending", "tx_pending", "tx_max_pending"), rings),
                          (("rx_coalesce_usecs", "tx_coalesce_usecs", "use_adaptive_rx_coalesce"), coalesce),
                          (("combined_count", "max_combined"), channels)):
        for i, key in enumerate(names):
            ask[key] = values[i] if values else unsupported
    m.answers("ethtool", name, ask if driver else {"*": unsupported})


def roce(m, name, function, trust="pcp", pfc="none", vendor=True):
    """What a driver has by default: nothing is paused, packets are sorted by their VLAN tag, CNPs have DSCP 48 and priority 6."""
    m.answers("dcb", name, {"pfc": pfc, "pfc_max": 8, "dscp_prio": "none" if trust == "pcp" else "0-7:0 8-15:1 16-23:2 24-31:3 "
                            "32-39:4 40-47:5 48-55:6 56-63:7", "dcbx": "host",
                            "ets": "0:1:vendor 1:0:vendor 2:2:vendor 3:3:vendor 4:4:vendor 5:5:vendor 6:6:vendor 7:7:vendor"})
    path = f"{function.path}/net/{name}"
    if not vendor:
        m.puts(f"/sys/kernel/debug/mlx5/{function.address}/cc_params", np_cnp_dscp=48, np_cnp_prio=6)
        return
    m.put(f"{path}/qos/trust", trust)
    m.puts(f"{path}/ecn/roce_np", cnp_dscp=48, cnp_802p_prio=6)
    for i in range(8):
        for side in ("np", "rp"):
            m.put(f"{path}/ecn/roce_{side}/enable/{i}", 1)


def interrupts(m, function, first, cpus, possible, n=64):
    """MSI-X of a network adapter: one for the adapter itself, which may be served anywhere, and one a queue, each with a CPU.
    The low bits of hwirq are the MSI number, the rest the function's (before Linux 6.2)."""
    cpus = list(cpus)
    domain, bus, at = function.address.split(":")
    device, f = at.split(".")
    base = int(domain, 16) << 27 | (int(bus, 16) << 8 | int(device, 16) << 3 | int(f)) << 11
    for i in range(n):
        irq, cpu = first + i, cpus[max(0, i - 1) % len(cpus)]
        m.put(f"{function.path}/msi_irqs/{irq}", "msix")
        m.put(f"/sys/kernel/irq/{irq}/hwirq", base | i)
        m.put(f"/proc/irq/{irq}/smp_affinity_list", cpu if i else ranges(possible))
        m.put(f"/proc/irq/{irq}/effective_affinity_list", cpu)


def loopback(m):
    interface(m, "lo", 1, None, mtu=65536, kind=772, max_mtu=0, ipv4="127.0.0.1/8")


# --- RDMA ----------------------------------------------------------------------------------------------

COUNTERS = ("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "local_link_integrity_errors",
            "excessive_buffer_overrun_errors", "VL15_dropped", "port_xmit_wait", "port_xmit_data", "port_rcv_data")
HW_COUNTERS = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans", "rnr_nak_retry_err",
               "np_cnp_sent", "rp_cnp_handled", "rx_icrc_encapsulated")


def rdma(m, device, function, firmware, board, layer, rate, netdev, active=True, gids=(), hca="MT4129", counts=None):
    path = f"{function.path}/infiniband/{device}"
    m.link(f"/sys/class/infiniband/{device}", path)
    m.puts(path, fw_ver=firmware, board_id=board, hca_type=hca, node_type="1: CA", hw_rev="0")
    m.link(f"{path}/device", function.path)
    p = f"{path}/ports/1"
    m.puts(p, state="4: ACTIVE" if active else "1: DOWN", phys_state="5: LinkUp" if active else "3: Disabled",
           link_layer=layer, rate=rate, lid="0x0" if layer == "Ethernet" else "0x11")
    counts = counts or {}
    for c in COUNTERS:
        m.put(f"{p}/counters/{c}", counts.get(c, 0))
    for c in HW_COUNTERS:
        m.put(f"{p}/hw_counters/{c}", counts.get(c, 0))
    for i, (gid, kind) in enumerate(gids):
        m.put(f"{p}/gids/{i}", gid)
        if kind:
            m.put(f"{p}/gid_attrs/types/{i}", kind)
        else:
            m.refuse(f"{p}/gid_attrs/types/{i}", "EINVAL")
        # Only a GID of Ethernet belongs to an interface.
        if kind and netdev:
            m.put(f"{p}/gid_attrs/ndevs/{i}", netdev)
        else:
            m.refuse(f"{p}/gid_attrs/ndevs/{i}", "EINVAL")


ZERO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def link_local_gids(n):
    gid = f"fe80:0000:0000:0000:0000:00ff:fe00:{n:04x}"
    return [(gid, "IB/RoCE v1"), (gid, "RoCE v2"), (ZERO_GID, None), (ZERO_GID, None)]
