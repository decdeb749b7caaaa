#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
An HGX B200 node as NVIDIA builds it: two Xeon 8570 that firmware splits into four NUMA nodes, eight B200, a ConnectX-7 for
each, the NVSwitches behind four functions of a ConnectX-7 of their own, and BlueField-3 towards the site.
"""
import hgx_h100
import host
import nvml
from hgx_h100 import switch_port
from lib import DERIVED, DOCUMENTED, PLAUSIBLE, Machine, ranges
from pci import DOWNSTREAM, ENDPOINT, ROOT_PORT, UPSTREAM, Pci, Pcie

TOPO = "https://github.com/NVIDIA/nccl/issues/1646 (nvidia-smi topo -m of a DGX B200: four nodes of 28 cores, 16 NICs, NIC0 to NIC3 PIX)"
SWITCHES = ("https://github.com/siderolabs/extensions/issues/893; NVIDIA Fabric Manager user guide: four functions 15b3:1021 of class 0207, "
            "nvlsm, mlx5_ib and ib_umad")
XEON = "Intel Xeon Platinum 8570 data sheet (56 cores, 2.1 to 4.0 GHz, 300 MB L3, 2 MB L2 a core)"
B200 = "https://github.com/pytorch/ao/pull/4002 (148 SMs, 7680 bit, 3996 MHz); NVIDIA DGX B200 user guide; pci.ids"

KERNEL, DRIVER = "6.8.0-84-generic", "580.95.05"
NODE = [[*range(28 * n, 28 * n + 28), *range(112 + 28 * n, 140 + 28 * n)] for n in range(4)]
BASES = (0x10, 0x20, 0x40, 0x50, 0x80, 0x90, 0xb0, 0xc0)


def processors(m):
    def core(c):
        return c % 112

    def pair(c):
        return [core(c), core(c) + 112]

    cpus = host.Cpus(m, 224, lambda c: core(c) // 56, lambda c: core(c) % 56, pair)
    cpus.write(lambda c: [host.Cache(0, 1, "Data", 48, pair(c)), host.Cache(1, 1, "Instruction", 32, pair(c)),
                          host.Cache(2, 2, "Unified", 2048, pair(c)),
                          host.Cache(3, 3, "Unified", 307200, sorted(NODE[core(c) // 56 * 2] + NODE[core(c) // 56 * 2 + 1]))])
    cpus.idle("intel_idle", "menu", [("POLL", "CPUIDLE CORE POLL IDLE", 0, 0), ("C1", "MWAIT 0x00", 1, 1),
                                     ("C1E", "MWAIT 0x01", 2, 4), ("C6", "MWAIT 0x20", 290, 800)])
    for c in range(224):
        cpus.policy(c, [c], "intel_pstate", "performance", "performance powersave", 800000, 4000000)
    m.puts(f"{host.CPU}/intel_pstate", status="active", no_turbo=0)
    rows = []
    for c in range(224):
        rows += [f"processor\t: {c}", "vendor_id\t: GenuineIntel", "cpu family\t: 6", "model\t\t: 207",
                 "model name\t: INTEL(R) XEON(R) PLATINUM 8570", f"physical id\t: {core(c) // 56}", "siblings\t: 112",
                 f"core id\t\t: {core(c) % 56}", "cpu cores\t: 56",
                 "flags\t\t: fpu vme de pse tsc msr pae mce cx8 sse sse2 ht lm constant_tsc nonstop_tsc avx2 avx512f", ""]
    m.rows("/proc/cpuinfo", rows)
    m.source("/sys/devices/system/cpu/**: topology, caches, frequencies", DOCUMENTED, XEON + "; " + TOPO)
    m.source("/sys/devices/system/cpu/cpu*/cpuidle/**", DOCUMENTED, "Linux drivers/idle/intel_idle.c: C1, C1E and C6 of Sapphire and Emerald Rapids")
    m.source("/sys/devices/system/cpu/cpufreq/*/scaling_governor, intel_pstate", PLAUSIBLE, "intel_pstate as DGX OS leaves it")


def memory(m):
    total, free = [528000000] * 4, [501000000] * 4
    host.memory(m, sum(total), sum(free), 2004000000, 61000000, 0, 0)
    host.huge_pages(m, [2048, 1048576], "always [madvise] never", "always defer defer+madvise [madvise] never")
    host.numa(m, {n: (NODE[n], total[n], free[n]) for n in range(4)},
              {0: "10 12 21 21", 1: "12 10 21 21", 2: "21 21 10 12", 3: "21 21 12 10"}, [2048, 1048576])
    m.swap(None, None, 0)
    host.sysctls(m, kernel__numa_balancing=0, vm__min_free_kbytes=90112, kernel__tainted=4096,
                 net__ipv4__conf__all__arp_ignore=1, net__ipv4__conf__all__arp_announce=2)
    m.source("/proc/meminfo, /sys/devices/system/node/**", DERIVED, "32 modules of 64 GB; distances 12 and 21 as split Xeons report")
    m.source("/proc/sys/**", DOCUMENTED, "the kernel's defaults; numa_balancing and arp_* as DGX OS' packages set them")


def port(root, at, secondary, link, last=None):
    return root.add(at, 0x8086, 0x352a, 0x060400, (0x8086, 0x352a), "pcieport", rev=4, msix=2,
                    pcie=Pcie(ROOT_PORT, 0x40, link, (32.0, 16), mps=256, mps_cap=512), acs=(0x005f, 0)).bus(secondary, last)


def rail(root, base):
    up = switch_port(port(root, "01.0", base + 1, (32.0, 16), base + 4), "00.0", base + 2, UPSTREAM, (32.0, 16), False, base + 4)
    gpu = switch_port(up, "00.0", base + 3, DOWNSTREAM, (32.0, 16), False).add(
        "00.0", 0x10de, 0x2901, 0x030200, (0x10de, 0x1999), "nvidia", rev=0xa1, msix=9,
        bars=[(0xc, 64 << 20), (0, 0), (0xc, 256 << 30), (0, 0), (0xc, 32 << 20)], rebar=(2, range(6, 19), 18),
        pcie=Pcie(ENDPOINT, 0x60, (32.0, 16), mps=256, mps_cap=256, mrrs=4096))
    nic = switch_port(up, "01.0", base + 4, DOWNSTREAM, (32.0, 16), False).add(
        "00.0", 0x15b3, 0x1021, 0x020700, (0x15b3, 0x0041), "mlx5_core", msix=64, bars=[(0xc, 32 << 20)],
        pcie=Pcie(ENDPOINT, 0x60, (32.0, 16), mps=256, mps_cap=512, mrrs=512))
    return gpu, nic


def devices(m):
    pci, gpus, nics = Pci(m, lambda node: ranges(NODE[node])), [], []
    root = pci.root("pci0000:00", 0)
    leg = port(root, "03.0", 5, (16.0, 2))
    bridges = [leg.add(f"00.{f}", 0x15b3, 0x1021, 0x020700, (0x15b3, 0x1021), "mlx5_core", multi=True, msix=16, bars=[(0xc, 32 << 20)],
                       pcie=Pcie(ENDPOINT, 0x60, (16.0, 2), mps=256, mps_cap=512, mrrs=512)) for f in range(4)]
    front = hgx_h100.bluefield(port(root, "04.0", 6, (32.0, 16)))
    ssd = port(root, "05.0", 7, (16.0, 4)).add("00.0", 0x144d, 0xa80a, 0x010802, (0x144d, 0xaa0a), "nvme", msix=33,
                                               pcie=Pcie(ENDPOINT, 0x70, (16.0, 4), mps=256, mps_cap=256))
    for i, base in enumerate(BASES):
        gpu, nic = rail(pci.root(f"pci0000:{base:02x}", i // 2), base)
        gpus.append(gpu)
        nics.append(nic)
    pci.own_groups("identity")
    pci.write()
    m.source("/sys/bus/pci/devices/0000:05:00.*: 15b3:1021 of class 0207, four functions", DOCUMENTED, SWITCHES)
    m.source("/sys/bus/pci/devices/**: a NIC beside each GPU, two GPUs a NUMA node, no function of class 0680", DOCUMENTED, TOPO)
    m.source("/sys/bus/pci/devices/0000:06:00.*: BlueField-3", DOCUMENTED, "NVIDIA DGX B200 user guide: BlueField-3 for storage and management")
    m.source("/sys/bus/pci/devices/**: bus numbers, switches, links, config space", PLAUSIBLE, "one switch a GPU; usual values")
    m.source("/sys/kernel/iommu_groups/**", DOCUMENTED, "DGX OS' packages: iommu=pt on DGX servers")
    return gpus, bridges, nics, front, ssd


def network(m, bridges, nics, front):
    host.loopback(m)
    for i, f in enumerate(bridges + nics):
        host.rdma(m, f"mlx5_{i}", f, "28.44.2506", "NVD0000000054" if i < 4 else "MT_0000000838", "InfiniBand", "400 Gb/sec (4X NDR)", None,
                  gids=[(f"fe80:0000:0000:0000:0000:0000:0000:{0x10 + i:04x}", "IB/RoCE v1")])
    for i, f in enumerate(nics):
        host.interface(m, f"ib{i}", 4 + i, f, speed=400000, kind=32, mtu=2044, max_mtu=4092, driver="mlx5_core[ib_ipoib]",
                       firmware="28.44.2506 (MT_0000000838)", rings=(1024, 8192, 1024, 8192), coalesce=(8, 8, 1),
                       channels=(63, 63), ipv4=f"198.18.{i}.12/24", version="24.10-1.1.4")
    version, speed, rate, chip = hgx_h100.BLUEFIELD_3
    for i, f in enumerate(front):
        name = f"enp6s0f{i}np{i}"
        host.interface(m, name, 2 + i, f, carrier=1 - i, speed=speed, driver="mlx5_core", firmware=f"{version[0]} ({version[1]})",
                       max_mtu=9978, port=f"p{i}", switch="0200000000f0", rings=(1024, 8192, 1024, 8192), coalesce=(8, 128, 1),
                       channels=(63, 63), ipv4="192.0.2.71/24" if i == 0 else "", version="24.10-1.1.4")
        gids = host.link_local_gids(2 + i)
        if i == 0:
            gids[2:] = [("0000:0000:0000:0000:0000:ffff:c000:0247", kind) for kind in ("IB/RoCE v1", "RoCE v2")]
        host.rdma(m, f"mlx5_{12 + i}", f, *version, "Ethernet", rate if i == 0 else "40 Gb/sec (4X QDR)", name, active=i == 0,
                  gids=gids, hca=chip)
    m.rows("/etc/libibverbs.d/mlx5.driver", ["driver mlx5"])
    m.source("/sys/class/infiniband/mlx5_0..3: ports of the functions that manage the NVSwitches", DOCUMENTED, SWITCHES)
    m.source("firmware, board ids, rates, rings, addresses", PLAUSIBLE, "usual values of the drivers")


def graphics(m, gpus):
    nvml.system(m, DRIVER, 13000, 8)
    for i, f in enumerate(gpus):
        links = {k: v for k, v in nvml.nvlinks([""] * 18, 2, 9, 53125).items() if "RemotePciInfo" not in k}
        peers = {}
        for j in range(8):
            if j != i:
                peers.update({f"nvmlDeviceGetP2PStatus({j},{kind})": 0 for kind in ("READ", "WRITE", "NVLINK", "ATOMICS")})
                peers[f"nvmlDeviceGetTopologyCommonAncestor({j})"] = 40 if i // 2 == j // 2 else 50
        more = {**nvml.board(183359, 4, 790, 7680, 3996, 3996, 1965, 1965, 1965, 1, 1000000, (200000, 1000000, 1000000),
                             (96, 93, 91), 262144, ecc=1, remapped=(0, 0, 0, 0), mig=0), **links, **peers,
                "nvmlDeviceGetGpuFabricInfo.state": 3, "nvmlDeviceGetGpuFabricInfo.status": 0,
                "nvmlDeviceGetGpuFabricInfo.cliqueId": 0, "nvmlDeviceGetGpuFabricInfo.healthMask": 0,
                "nvmlDeviceGetGpuFabricInfo.healthSummary": 0, "nvmlDeviceGetFieldValues(MEMORY_TEMP)": 36,
                "nvmlDeviceGetMarginTemperature.marginTemperature": 60}
        nvml.gpu(m, i, "NVIDIA B200", f"0000{f.address}".upper(), 10, 14, (10, 0), 18944, 120, 1965, 1815, 141000 + 600 * i, 28 + i % 4, 0,
                 ranges(NODE[i // 2]), (5, 5, 5, 16, 16), vbios="97.00.88.00.0F", more=more)
        m.answers("cuda", f.address, {"cuDeviceGetAttribute(116)": 1, "cuDeviceGetAttribute(124)": 1,
                                      "cuDeviceGetAttribute(18)": 0, "cuDeviceGetAttribute(16)": 148})
    m.answers("cuda", "", {"cuDriverGetVersion": 13000})
    m.quiet_log()
    m.answers("fabric-manager", "", {"version": DRIVER})
    nvml.driver_files(m, DRIVER, "open", drm=True)
    m.source("nvml: 148 SMs, 7680 bit, 3996 MHz, ECC, 183359 MiB, 1000 W", DOCUMENTED, B200)
    m.source("nvml: clocks, thresholds, VBIOS, draw, NVLinks' far ends, fabric state", PLAUSIBLE, "what a sound node answers")


def software(m):
    m.put("/proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=UUID=00000000-0000-0000-0000-000000000001 ro iommu=pt "
          "init_on_alloc=0 pci=realloc=off console=tty0 console=ttyS0,115200n8")
    host.ubuntu(m, "24.04", "Ubuntu 24.04.3 LTS", "Noble Numbat")
    m.rows("/etc/default/grub", ["GRUB_DEFAULT=0", 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty0 console=ttyS0,115200n8"', 'GRUB_CMDLINE_LINUX=""'])
    host.dmi(m, sys_vendor="NVIDIA", product_name="DGXB200", board_vendor="NVIDIA", bios_vendor="AMI", bios_version="1.5.3",
             bios_date="02/26/2025", chassis_type=17)
    host.efi(m, 0, "none")
    for name in ("nvidia-persistenced", "nvidia-fabricmanager", "docker", "containerd", "nvidia-dcgm", "systemd-networkd"):
        m.service(name, True, True)
    m.unread("/opt/nvidia/nvlsm/sbin/nvlsm")
    for name in ("mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "ib_ipoib", "ib_umad", "nvme"):
        m.module(name, "24.10-1.1.4" if name.startswith(("mlx5", "ib_core")) else None, size=1048576, refcnt=1)
    host.libraries(m, DRIVER, "13.0.2", "x86_64-linux", {"libcudart.so.13": "13.0.96", "libcublas.so.13": "13.1.0.3"},
                   {"libnccl.so.2": "2.28.3", "libibverbs.so.1": "1.14.54.0", "libmlx5.so.1": "1.25.54.0"})
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    m.source("/opt/nvidia/nvlsm, ib_umad, mlx5_ib", DOCUMENTED, SWITCHES)
    m.source("/proc/cmdline", DOCUMENTED, "DGX OS' packages: iommu=pt, init_on_alloc=0, pci=realloc=off on DGX servers; the consoles are guessed")
    m.source("/sys/class/dmi/id/*, services, versions, libraries", PLAUSIBLE, "DGX OS 7 as its release notes list it")


def main():
    m = Machine("hgx-b200", "An HGX B200 node: two Xeon 8570 in four NUMA nodes, eight B200, NVSwitches behind a ConnectX-7 of four functions.",
                {"nodename": "hgx02", "release": KERNEL, "version": "#84-Ubuntu SMP PREEMPT_DYNAMIC", "machine": "x86_64",
                 "euid": 0, "page_size": 4096, "time_s": 1772000000}, base="hgx-h100")
    processors(m)
    memory(m)
    gpus, bridges, nics, front, ssd = devices(m)
    network(m, bridges, nics, front)
    graphics(m, gpus)
    host.nvme(m, ssd, 0, "259:0", "SAMSUNG MZ1L21T9HCLS-00A07", "GDC7502Q", 3750748848, [(1, 1048576, "vfat"), (2, 3749000000, "ext4")])
    m.source("/sys/block/**", PLAUSIBLE, "one PM9A3 with the kernel's defaults")
    m.rows("/proc/self/mountinfo", ["26 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw",
                                    "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64"])
    for path, size, free in (("/", 1890000000000, 1700000000000), ("/dev/shm", 1081000000000, 1081000000000)):
        host.statfs(m, path, size, free)
    host.limits(m, "unlimited")
    software(m)
    m.write()


if __name__ == "__main__":
    main()
