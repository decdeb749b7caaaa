#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
An HGX H100 node: two AMD EPYC 9554, eight H100 SXM, eight ConnectX-7 for InfiniBand, a PCIe switch for each
pair. One GPU's link came up at half width, and the switches of the second socket redirect peer traffic.
"""
import config
import host
import nvml
from lib import DERIVED, DOCUMENTED, PLAUSIBLE, Machine, ranges
from pci import (DOWNSTREAM, ENDPOINT, RC_COLLECTOR, RC_ENDPOINT, ROOT_PORT, TO_PCI, UPSTREAM, Pci, Pcie)

BOARD = "Supermicro AS-8125GS-TNHR data sheet (two EPYC 9004, HGX H100 8-GPU, one NIC a GPU, switches between)"
LINKS = "https://github.com/NVIDIA/nccl/issues/1182 (nvidia-smi nvlink -R) and aliyun/SimAI issue 128 (4+5+5+4 links, NIC and GPU under one PEX890xx)"
EPYC = "AMD EPYC 9554 data sheet (64 cores, 3.1 to 3.75 GHz, 256 MB L3, 1 MB L2 a core)"
GENOA = "lspci of EPYC 9004 machines (ROCm, hashcat and fastfetch issue threads); pci.ids"
H100 = "NVIDIA H100 data sheet; nvidia-smi -q of H100 and H800 SXM boards (DCGM issue 120)"

KERNEL, DRIVER = "6.8.0-60-generic", "570.133.20"
SOCKET = [[*range(0, 64), *range(128, 192)], [*range(64, 128), *range(192, 256)]]
BASES = (0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0)
HALF_WIDTH_GPU = 5
VFS_RAIL, VFS_FRONT = 16, 56


def processors(m):
    def core_of(c):
        return c % 128

    def ccd(c):
        first = core_of(c) // 8 * 8
        return [*range(first, first + 8), *range(first + 128, first + 136)]

    cpus = host.Cpus(m, 256, lambda c: core_of(c) // 64, lambda c: core_of(c) % 64, lambda c: [core_of(c), core_of(c) + 128],
                     cluster=lambda c: core_of(c) % 64, cluster_cpus=lambda c: [core_of(c), core_of(c) + 128])
    cpus.write(lambda c: [host.Cache(0, 1, "Data", 32, [core_of(c), core_of(c) + 128]),
                          host.Cache(1, 1, "Instruction", 32, [core_of(c), core_of(c) + 128]),
                          host.Cache(2, 2, "Unified", 1024, [core_of(c), core_of(c) + 128]),
                          host.Cache(3, 3, "Unified", 32768, ccd(c))])
    cpus.idle("acpi_idle", "menu", [("POLL", "CPUIDLE CORE POLL IDLE", 0, 0), ("C1", "ACPI FFH MWAIT 0x0", 1, 2),
                                    ("C2", "ACPI IOPORT 0x814", 800, 1600)])
    for c in range(256):
        cpus.policy(c, [c], "acpi-cpufreq", "schedutil", "conservative ondemand userspace powersave performance schedutil",
                    1500000, 3762988)
    m.put(f"{host.CPU}/cpufreq/boost", 1)
    rows = []
    for c in range(256):
        rows += [f"processor\t: {c}", "vendor_id\t: AuthenticAMD", "cpu family\t: 25", "model\t\t: 17",
                 "model name\t: AMD EPYC 9554 64-Core Processor", "stepping\t: 1", f"physical id\t: {core_of(c) // 64}",
                 "siblings\t: 128", f"core id\t\t: {core_of(c) % 64}", "cpu cores\t: 64",
                 "flags\t\t: fpu vme de pse tsc msr pae mce cx8 sse sse2 ht lm constant_tsc nonstop_tsc avx2 avx512f", ""]
    m.rows("/proc/cpuinfo", rows)
    m.source("/sys/devices/system/cpu/**: topology, caches, frequencies", DOCUMENTED, EPYC)
    m.source("/sys/devices/system/cpu/cpu*/cpuidle/**", PLAUSIBLE, "acpi_idle on EPYC 9004: POLL, C1, C2 with 0, 1 and 800 us")
    m.source("/sys/devices/system/cpu/cpufreq/*/scaling_governor", PLAUSIBLE, "acpi-cpufreq with Ubuntu's schedutil")


def memory(m):
    total = (792450000, 792580000)
    free = (701230000, 698870000)
    host.memory(m, sum(total), sum(free), 1452000000, 121000000, 8388604, 8388604)
    host.huge_pages(m, [2048, 1048576], "[always] madvise never", "always defer defer+madvise [madvise] never")
    host.numa(m, {n: (SOCKET[n], total[n], free[n]) for n in (0, 1)}, {0: "10 32", 1: "32 10"}, [2048, 1048576])
    m.swap("/swap.img", "file", 8388604)
    host.sysctls(m, kernel__numa_balancing=1, vm__min_free_kbytes=90112, kernel__tainted=4096)
    m.source("/proc/meminfo, /sys/devices/system/node/**", DERIVED, "24 modules of 64 GB; distance 10 and 32 as dual EPYC machines report")
    m.source("/sys/kernel/mm/transparent_hugepage/enabled, numa_balancing, swap", PLAUSIBLE, "not as a tuned node should be, so that checks find it")
    m.source("/proc/sys/**", DOCUMENTED, "Linux Documentation/admin-guide/sysctl and ip-sysctl: the kernel's defaults")


def root_complex(pci, base, node):
    """What every AMD root has: the host bridge, IOMMU, event collector, dummy bridges and internal devices."""
    root = pci.root(f"pci0000:{base:02x}", node)
    root.add("00.0", 0x1022, 0x14a4, 0x060000, (0x1022, 0x14a4), rev=1, multi=True)
    root.add("00.2", 0x1022, 0x149e, 0x080600, (0x1022, 0x149e), multi=True)
    root.add("00.3", 0x1022, 0x14a6, 0x080700, (0x1022, 0x14a6), "pcieport", multi=True,
             pcie=Pcie(RC_COLLECTOR, 0x58, mps=128, mps_cap=128), aer=False)
    for at in ("01.0", "02.0", "03.0", "04.0", "05.0", "07.0"):
        root.add(at, 0x1022, 0x149f, 0x060000, rev=1, multi=True)
    inner = root.add("07.1", 0x1022, 0x14a7, 0x060400, (0x1022, 0x14a4), "pcieport", rev=1, multi=True, msix=2,
                     pcie=Pcie(ROOT_PORT, 0x58, (32.0, 16), mps=256, mps_cap=512), acs=(0x005f, 0x001d)).bus(base + 0x1f)
    for at, device, cls, driver in (("00.0", 0x14ac, 0x130000, None), ("00.1", 0x14dc, 0x130000, None),
                                    ("00.4", 0x14c9, 0x0c0330, "xhci_hcd"), ("00.5", 0x14ca, 0x108000, "ccp")):
        inner.add(at, 0x1022, device, cls, (0x1022, device), driver, multi=True, msix=8 if driver else 0,
                  pcie=Pcie(ENDPOINT, 0x64, (32.0, 16), mps=256, mps_cap=256))
    return root


def gpp(root, at, secondary, link, last=None):
    return root.add(at, 0x1022, 0x14ab, 0x060400, (0x1022, 0x1453), "pcieport", rev=1, multi=True, msix=2,
                    pcie=Pcie(ROOT_PORT, 0x58, link, (32.0, 16), mps=256, mps_cap=512), acs=(0x005f, 0x001d)).bus(secondary, last)


def switch_port(parent, at, secondary, kind, link, redirect, last=None, most=(32.0, 16)):
    return parent.add(at, 0x1000, 0xc030, 0x060400, (0x1000, 0xa064), "pcieport", rev=0xb0, multi=False, msix=8,
                      pcie=Pcie(kind, 0x68, link, most, mps=256, mps_cap=512),
                      acs=(0x005f, 0x001d if redirect else 0) if kind == DOWNSTREAM else None).bus(secondary, last)


def rail(root, i, base):
    """A switch with a GPU, its NIC and an NVMe drive, four empty bays, and the switch's own endpoint."""
    redirect = i >= 4
    width = 8 if i == HALF_WIDTH_GPU else 16
    up = gpp(root, "01.1", base + 1, (32.0, 16), base + 0x0e)
    up = switch_port(up, "00.0", base + 2, UPSTREAM, (32.0, 16), False, base + 0x0e)
    gpu = switch_port(up, "00.0", base + 3, DOWNSTREAM, (32.0, width), redirect).add(
        "00.0", 0x10de, 0x2330, 0x030200, (0x10de, 0x16c1), "nvidia", rev=0xa1, msix=6,
        bars=[(0xc, 16 << 20), (0, 0), (0xc, 128 << 30), (0, 0), (0xc, 32 << 20)],
        rebar=(2, range(6, 18), 17), vfs=(16, 0),
        pcie=Pcie(ENDPOINT, 0x60, (32.0, width), (32.0, 16), mps=256, mps_cap=256, mrrs=4096),
        errors={"correctable": {"BadTLP": 37, "BadDLLP": 12}} if width == 8 else None)
    leg = switch_port(up, "01.0", base + 4, DOWNSTREAM, (32.0, 16), redirect)
    nic = leg.add("00.0", 0x15b3, 0x1021, 0x020700, (0x15b3, 0x0041), "mlx5_core", multi=True, msix=64,
                  bars=[(0xc, 32 << 20)], vfs=(VFS_RAIL, VFS_RAIL),
                  pcie=Pcie(ENDPOINT, 0x60, (32.0, 16), mps=256, mps_cap=512, mrrs=512))
    for v in range(1, VFS_RAIL + 1):
        leg.add(f"{v // 8:02x}.{v % 8}", 0x15b3, 0x101e, 0x020700, (0x15b3, 0x0041), physfn=nic, aer=False,
                pcie=Pcie(ENDPOINT, 0x60, (32.0, 16), mps=256, mps_cap=512, mrrs=128, ro=False))
    ssd = switch_port(up, "02.0", base + 5, DOWNSTREAM, (32.0, 4), redirect, most=(32.0, 4)).add(
        "00.0", 0x144d, 0xa826, 0x010802, (0x144d, 0xa801), "nvme", msix=129,
        pcie=Pcie(ENDPOINT, 0x70, (32.0, 4), mps=256, mps_cap=512))
    for n in range(4):
        port = switch_port(up, f"{3 + n:02x}.0", base + 6 + n, DOWNSTREAM, (2.5, 4), redirect, most=(32.0, 4))
        port.pcie.link = (2.5, 0)
    switch_port(up, "1f.0", base + 0x0e, DOWNSTREAM, (32.0, 1), redirect, most=(32.0, 1)).add(
        "00.0", 0x1000, 0x02b2, 0x088000, (0x1000, 0x100b), rev=0xb0,
        pcie=Pcie(ENDPOINT, 0x68, (32.0, 1), mps=256, mps_cap=512))
    return gpu, nic, ssd


def bluefield(leg):
    """Two ports of a BlueField-3 and the function that manages its own processors."""
    link = Pcie(ENDPOINT, 0x60, (32.0, 16), mps=256, mps_cap=512, mrrs=512)
    front = [leg.add(f"00.{f}", 0x15b3, 0xa2dc, 0x020000, (0x15b3, 0x0009), "mlx5_core", rev=1, multi=True, msix=64,
                     bars=[(0xc, 32 << 20)], pcie=link) for f in (0, 1)]
    leg.add("00.2", 0x15b3, 0xc2d5, 0x080100, (0x15b3, 0x0009), rev=1, multi=True, pcie=link)
    return front


def boot_devices(pci, root, dpu):
    """What hangs from the first root alone: south bridge, data fabric, BMC, front network, boot drives."""
    root.add("14.0", 0x1022, 0x790b, 0x0c0500, (0x15d9, 0x1c7c), "piix4_smbus", rev=0x71, multi=True)
    root.add("14.3", 0x1022, 0x790e, 0x060100, (0x15d9, 0x1c7c), rev=0x51, multi=True)
    for device in (0x18, 0x19):
        for f in range(8):
            root.add(f"{device:02x}.{f}", 0x1022, 0x14ad + f, 0x060000, driver="k10temp" if f == 3 else None, multi=True)
    bmc = gpp(root, "05.1", 0x12, (5.0, 1), 0x13).add("00.0", 0x1a03, 0x1150, 0x060400, (0x1a03, 0x1150), rev=6,
                                                      pcie=Pcie(TO_PCI, 0x80, (5.0, 1), mps=128, mps_cap=128)).bus(0x13)
    bmc.add("00.0", 0x1a03, 0x2000, 0x030000, (0x15d9, 0x1c7c), "ast", rev=0x52)
    leg = gpp(root, "03.1", 0x14, (32.0, 16) if dpu else (16.0, 8), 0x14)
    front = bluefield(leg) if dpu else []
    for f in () if dpu else (0, 1):
        pf = leg.add(f"00.{f}", 0x15b3, 0x101f, 0x020000, (0x15d9, 0x1c0c), "mlx5_core", multi=True, msix=64,
                     vfs=(64, VFS_FRONT), bars=[(0xc, 32 << 20)],
                     pcie=Pcie(ENDPOINT, 0x60, (16.0, 8), mps=256, mps_cap=512, mrrs=512))
        front.append(pf)
        for v in range(VFS_FRONT):
            at = 2 + f * VFS_FRONT + v
            leg.add(f"{at // 8:02x}.{at % 8}", 0x15b3, 0x101e, 0x020000, (0x15d9, 0x1c0c), physfn=pf, aer=False,
                    pcie=Pcie(ENDPOINT, 0x60, (16.0, 8), mps=256, mps_cap=512, mrrs=128, ro=False))
    drives = [gpp(root, f"03.{2 + n}", 0x15 + n, (16.0, 4)).add(
        "00.0", 0x144d, 0xa80a, 0x010802, (0x144d, 0xaa0a), "nvme", msix=33,
        pcie=Pcie(ENDPOINT, 0x70, (16.0, 4), mps=256, mps_cap=256)) for n in (0, 1)]
    return front, drives


def nvswitches(root, base):
    up = switch_port(gpp(root, "03.1", base + 0x10, (16.0, 4), base + 0x15), "00.0", base + 0x11, UPSTREAM, (16.0, 4), False,
                     base + 0x15, most=(16.0, 4))
    return [switch_port(up, f"{n:02x}.0", base + 0x12 + n, DOWNSTREAM, (16.0, 2), False, most=(16.0, 2)).add(
        "00.0", 0x10de, 0x22a3, 0x068000, (0x10de, 0x1796), "nvidia-nvswitch", rev=0xa1, msix=1,
        pcie=Pcie(ENDPOINT, 0x60, (16.0, 2), mps=256, mps_cap=256)) for n in range(4)]


def devices(m, dpu):
    pci, gpus, nics, drives = Pci(m, lambda node: ranges(SOCKET[node])), [], [], []
    for i, base in enumerate(BASES):
        root = root_complex(pci, base, i // 4)
        gpu, nic, ssd = rail(root, i, base)
        gpus.append(gpu)
        nics.append(nic)
        drives.append(ssd)
        if i == 0:
            front, boot = boot_devices(pci, root, dpu)
        if i == 3:
            switches = nvswitches(root, base)
    pci.own_groups("DMA-FQ")
    pci.write()
    m.source("/sys/bus/pci/devices/**: GPU and NIC under one PEX890xx, four NVSwitch functions", DOCUMENTED, LINKS)
    m.source("/sys/bus/pci/devices/**: AMD root complexes and their functions", DOCUMENTED, GENOA)
    m.source("/sys/bus/pci/devices/**: bus numbers, empty bays, virtual functions", PLAUSIBLE, "one rail a root; a machine that serves virtual functions to containers")
    m.source("/sys/bus/pci/devices/0000:a3:00.0: link at x8", PLAUSIBLE, "a fault put here on purpose")
    m.source("/sys/bus/pci/devices/**/config: MPS, MRRS, ACS, AER, MSI-X", PLAUSIBLE, "usual values; ACS redirect on the second socket on purpose")
    m.source("/sys/kernel/iommu_groups/**", DERIVED, "AMD IOMMU on without iommu=pt: lazily flushed translation, one group a function")
    return pci, gpus, nics, front, drives, boot, switches


# Of the ports to the front: firmware and board, speed in Mb/s, rate as RDMA says it, and the chip.
CONNECTX_6 = (("26.39.2048", "SM_0000000001"), 25000, "25 Gb/sec (1X EDR)", "MT4127")
BLUEFIELD_3 = (("32.43.2026", "MT_0000000884"), 200000, "200 Gb/sec (4X HDR)", "MT41692")


def network(m, nics, front, card):
    version, speed, rate, chip = card
    host.loopback(m)
    for i, f in enumerate(nics):
        host.rdma(m, f"mlx5_{i}", f, "28.39.2048", "MT_0000000838", "InfiniBand", "400 Gb/sec (4X NDR)", None,
                  gids=[(f"fe80:0000:0000:0000:0000:0000:0000:{0x10 + i:04x}", "IB/RoCE v1")],
                  counts={"link_downed": 1} if i == 6 else None)
        host.interface(m, f"ib{i}", 4 + i, f, speed=400000, kind=32, mtu=2044, max_mtu=4092, driver="mlx5_core[ib_ipoib]",
                       firmware="28.39.2048 (MT_0000000838)", rings=(1024, 8192, 1024, 8192), coalesce=(8, 8, 1),
                       channels=(63, 63), ipv4=f"198.18.{i}.12/24", version="24.10-1.1.4")
        host.interrupts(m, f, 400 + 64 * i, SOCKET[f.node()], range(256))
    for i, f in enumerate(front):
        name = f"enp20s0f{i}np{i}"
        host.interface(m, name, 2 + i, f, carrier=1 - i, speed=speed, driver="mlx5_core", firmware=f"{version[0]} ({version[1]})",
                       max_mtu=9978, port=f"p{i}", switch="0200000000f0", rings=(1024, 8192, 1024, 8192),
                       coalesce=(8, 128, 1), channels=(63, 63), ipv4="192.0.2.61/24" if i == 0 else "", version="24.10-1.1.4")
        host.interrupts(m, f, 912 + 64 * i, SOCKET[f.node()], range(256))
        host.roce(m, name, f)
        gids = host.link_local_gids(2 + i)
        if i == 0:
            gids[2:] = [("0000:0000:0000:0000:0000:ffff:c000:023d", "IB/RoCE v1"), ("0000:0000:0000:0000:0000:ffff:c000:023d", "RoCE v2")]
        host.rdma(m, f"mlx5_{8 + i}", f, *version, "Ethernet", rate if i == 0 else "40 Gb/sec (4X QDR)", name, active=i == 0,
                  gids=gids, hca=chip)
    m.rows("/etc/libibverbs.d/mlx5.driver", ["driver mlx5"])
    m.rows("/etc/netplan/50-cloud-init.yaml", ["network:", "  version: 2", "  ethernets:", "    enp20s0f0np0:", "      dhcp4: true"])
    m.rows("/proc/net/softnet_stat", ["0012d687 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 "
                                      f"00000000 00000000 00000000 {c:08x} 00000000 00000000" for c in range(256)])
    m.source("/sys/class/infiniband/mlx5_0..7: 400 Gb/s NDR, one a GPU", DOCUMENTED, LINKS)
    m.source("/proc/irq/**, /sys/kernel/irq/**", DERIVED, "mlx5_core: a CPU of the adapter's node for each queue (cpumask_local_spread)")
    m.source("api/dcb.json, ecn/, cc_params", PLAUSIBLE, "the driver's defaults: nothing paused, VLAN tag, CNP with DSCP 48 and priority 6")
    m.source("firmware, board ids, rings, addresses, one link_downed", PLAUSIBLE, "usual values of the drivers")


def graphics(m, gpus, switches):
    nvml.system(m, DRIVER, 12080, 8)
    # Far ends of GPU 0's links, by switch; the other GPUs rotate them: each GPU has 4, 5, 5 and 4 links.
    first = (2, 2, 1, 1, 2, 2, 1, 1, 0, 0, 2, 1, 3, 3, 0, 0, 3, 3)
    for i, f in enumerate(gpus):
        remote = [f"0000{switches[(s + i) % 4].address}".upper() for s in first]
        width = f.pcie.link[1]
        peers = {}
        for j in range(8):
            if j == i:
                continue
            for kind in ("READ", "WRITE", "NVLINK", "ATOMICS"):
                peers[f"nvmlDeviceGetP2PStatus({j},{kind})"] = 0
            peers[f"nvmlDeviceGetTopologyCommonAncestor({j})"] = 40 if i // 4 == j // 4 else 50
        more = {
            **nvml.board(81559, 4, 551, 5120, 2619, 2619, 1980, 1980, 1980, 1, 700000, (200000, 700000, 700000),
                         (92, 89, 87), 131072, ecc=1, remapped=(0, 0, 0, 0), mig=0),
            **nvml.nvlinks(remote, 2, 7, 26562), **peers,
            "nvmlDeviceGetGpuFabricInfo.state": 3, "nvmlDeviceGetGpuFabricInfo.status": 0,
            "nvmlDeviceGetGpuFabricInfo.cliqueId": 0, "nvmlDeviceGetGpuFabricInfo.healthMask": 0,
            "nvmlDeviceGetGpuFabricInfo.healthSummary": 0,
            "nvmlDeviceGetFieldValues(MEMORY_TEMP)": 38,
            "nvmlDeviceGetMarginTemperature.marginTemperature": 58,
        }
        nvml.gpu(m, i, "NVIDIA H100 80GB HBM3", f"0000{f.address}".upper(), 9, 14, (9, 0), 16896, 345, 1980, 1545,
                 69000 + 700 * i, 29 + i % 4, 0, ranges(SOCKET[i // 4]), (5, 5, 5, width, 16), vbios="96.00.74.00.01",
                 more={**more, "nvmlDeviceGetPcieReplayCounter": 212 if width == 8 else 0})
        m.answers("boost-slider", f.address, {"vboost": 0, "vboost.max": 4})
        m.answers("cuda", f.address, {"cuDeviceGetAttribute(116)": 1, "cuDeviceGetAttribute(124)": 1,
                                      "cuDeviceGetAttribute(18)": 0, "cuDeviceGetAttribute(16)": 132})
    m.answers("cuda", "", {"cuDriverGetVersion": 12080})
    m.quiet_log()
    m.answers("fabric-manager", "", {"version": DRIVER})
    m.source("kernel-log: none of the lines that are counted; fabric-manager: the driver's version", PLAUSIBLE, "what a sound node answers")
    nvml.driver_files(m, DRIVER, "open", drm=True)
    m.source("nvml: clocks 345 of 1980, memory 2619, 200 to 700 W, 80 GB, 132 SMs, BAR1 131072 MiB", DOCUMENTED, H100)
    m.source("nvml: 18 NVLinks of 26.562 GB/s a GPU, far ends of GPU 0", DOCUMENTED, LINKS)
    m.source("boost-slider: vboost 0 of 4", PLAUSIBLE, "what an H200 with driver 580.159 shows")
    m.source("nvml: far ends of GPUs 1 to 7", DERIVED, "the same pattern rotated by one switch")
    m.source("nvml: thresholds, VBIOS, draw, temperatures, reserved memory, replay counter", PLAUSIBLE, "usual values of the board")


def software(m):
    m.put("/proc/cmdline", f"BOOT_IMAGE=/vmlinuz-{KERNEL} root=/dev/mapper/vg0-root ro console=tty0 console=ttyS1,115200n8")
    host.ubuntu(m, "24.04", "Ubuntu 24.04.2 LTS", "Noble Numbat")
    m.rows("/etc/default/grub", ["GRUB_DEFAULT=0", 'GRUB_CMDLINE_LINUX_DEFAULT="console=tty0 console=ttyS1,115200n8"',
                                 'GRUB_CMDLINE_LINUX=""'])
    host.dmi(m, sys_vendor="Supermicro", product_name="AS -8125GS-TNHR", board_vendor="Supermicro",
             board_name="H13DSG-O-CPU", bios_vendor="American Megatrends International, LLC.", bios_version="1.8",
             bios_date="02/05/2024", chassis_type=1)
    host.efi(m, 0, "none")
    m.service("nvidia-persistenced", True, True, exec_start="/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose")
    m.service("nvidia-fabricmanager", True, True)
    for name, enabled, active in (("irqbalance", 1, 1), ("docker", 1, 1), ("containerd", 1, 1), ("opensmd", 0, 0),
                                  ("nvidia-dcgm", 1, 1), ("systemd-networkd", 1, 1), ("tuned", 1, 1)):
        m.service(name, enabled, active)
    for name, version in (("mlx5_core", "24.10-1.1.4"), ("mlx5_ib", "24.10-1.1.4"), ("ib_core", "24.10-1.1.4"),
                          ("ib_uverbs", None), ("ib_ipoib", None), ("ib_umad", None), ("nvme", None), ("ccp", None)):
        m.module(name, version, size=1048576, refcnt=1)
    host.libraries(m, DRIVER, "12.8.1", "x86_64-linux",
                   {"libcudart.so.12": "12.8.90", "libcublas.so.12": "12.8.4.1", "libcublasLt.so.12": "12.8.4.1",
                    "libcufile.so.0": "1.13.1", "libnvrtc.so.12": "12.8.93"},
                   {"libnccl.so.2": "2.26.2", "libibverbs.so.1": "1.14.54.0", "libmlx5.so.1": "1.25.54.0"})
    m.source("/usr/local/cuda/**, /usr/lib/*-linux-gnu/lib*", PLAUSIBLE, "a matching set of CUDA 12.8 packages")
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    m.source("/sys/class/dmi/id/*", DOCUMENTED, BOARD)
    m.source("/etc/systemd/**, /sys/fs/cgroup/**, /proc/cmdline, versions", PLAUSIBLE, "a node as a cluster's installer leaves it")


def storage(m, drives, boot):
    for n, f in enumerate(boot):
        d = host.nvme(m, f, n, f"259:{n * 4}", "SAMSUNG MZVL2960HCJR-00A07" if n == 0 else "SAMSUNG MZ1L2960HCJR-00A07", "GDA5702Q", 1875385008,
                      [(1, 2203648, "vfat"), (2, 1873178624, "LVM2_member" if n == 0 else "xfs")])
        if n == 0:
            m.link(f"{d}/nvme0n1p2/holders/dm-0", "/sys/devices/virtual/block/dm-0")
            m.link("/sys/devices/virtual/block/dm-0/slaves/nvme0n1p2", f"{d}/nvme0n1p2")
    md = "/sys/devices/virtual/block/md127"
    for n, f in enumerate(drives):
        d = host.nvme(m, f, 2 + n, f"259:{16 + n}", "SAMSUNG MZWLO7T6HBLA-00A07", "OPPA4B5Q", 15002931888)
        m.text(f"/run/udev/data/b259:{16 + n}", "E:ID_BUS=nvme\nE:ID_FS_TYPE=linux_raid_member\nE:ID_FS_USAGE=raid\n")
        m.link(f"{d}/holders/md127", md)
        m.link(f"{md}/slaves/nvme{2 + n}n1", d)
    host.disk(m, "md127", "/sys/devices/virtual/block", "9:127", 120022405120, "none", nr_requests=128,
              read_ahead_kb=8192, udev=(("ID_FS_TYPE", "xfs"), ("MD_LEVEL", "raid0")), wbt_lat_usec=0, rq_affinity=0)
    m.put(f"{md}/md/level", "raid0")
    for n, (size, scheduler) in enumerate(((1873170432, "none"),)):
        host.disk(m, f"dm-{n}", "/sys/devices/virtual/block", f"252:{n}", size, scheduler, nr_requests=128,
                  udev=(("DM_NAME", "vg0-root"), ("ID_FS_TYPE", "ext4")), rq_affinity=0)
        m.put(f"/sys/devices/virtual/block/dm-{n}/dm/name", "vg0-root")
    m.rows("/proc/self/mountinfo", [
        "26 1 252:0 / / rw,relatime shared:1 - ext4 /dev/mapper/vg0-root rw",
        "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64",
        "28 26 259:1 / /boot/efi rw,relatime shared:30 - vfat /dev/nvme0n1p1 rw",
        "31 26 259:6 / /scratch rw,noatime shared:41 - xfs /dev/nvme1n1p2 rw,attr2,inode64",
        "30 26 9:127 / /data rw,noatime shared:40 - xfs /dev/md127 rw,attr2,inode64,logbufs=8",
        "33 26 0:57 / /shared rw,relatime shared:60 - nfs4 nas.invalid:/shared rw,vers=4.2,rsize=1048576,wsize=1048576,"
        "hard,proto=tcp,nconnect=8,timeo=600,retrans=2,sec=sys",
        "29 26 0:32 / /dev/hugepages rw,nosuid,nodev,relatime shared:15 - hugetlbfs hugetlbfs rw,pagesize=2M"])
    for path, size, free in (("/", 942000000000, 700000000000), ("/dev/shm", 811000000000, 811000000000),
                             ("/data", 61000000000000, 42000000000000), ("/scratch", 958000000000, 940000000000), ("/boot/efi", 1127219200, 1120000000)):
        host.statfs(m, path, size, free)
    m.put("/sys/devices/virtual/bdi/0:57/read_ahead_kb", 128)
    m.link("/sys/class/bdi/0:57", "/sys/devices/virtual/bdi/0:57")
    m.source("/sys/class/bdi/**", DOCUMENTED, "nfs(5); read-ahead of NFS is 128 KiB since Linux 5.4 (commit c128e575514c)")
    m.source("/sys/block/**", PLAUSIBLE, "eight PM1743 and two PM9A1 with the kernel's defaults, as one stripe and one volume")


def build(name, about, base=None, dpu=False):
    m = Machine(name, about, {"nodename": "hgx01", "release": KERNEL, "version": "#63-Ubuntu SMP PREEMPT_DYNAMIC",
                              "machine": "x86_64", "euid": 0, "page_size": 4096, "time_s": 1772000000}, base)
    processors(m)
    memory(m)
    pci, gpus, nics, front, drives, boot, switches = devices(m, dpu)
    network(m, nics, front, BLUEFIELD_3 if dpu else CONNECTX_6)
    graphics(m, gpus, switches)
    storage(m, drives, boot)
    host.limits(m, "unlimited")
    software(m)
    config.hgx_h100(m)
    return m


def bluefield_node():
    m = build("hgx-h100-bf3", "The HGX H100 node with a BlueField-3 as its way to the network of the site.", "hgx-h100", dpu=True)
    m.source("/sys/bus/pci/devices/0000:14:00.*: 15b3:a2dc rev 01 and 15b3:c2d5 of class 0801", DOCUMENTED,
             "lspci of BlueField-3 in public repositories, 2024 to 2026; NIC types of the NIC configuration operator")
    m.source("/sys/class/net/enp20s0f*, /sys/class/infiniband/mlx5_[89]: firmware, board, rate, a port down", PLAUSIBLE,
             "one port of 200 Gb/s in use, which is an RDMA device too")
    return m


def main():
    build("hgx-h100", "An HGX H100 node: two EPYC 9554, eight H100 SXM and eight NDR InfiniBand NICs; one GPU's link at half "
          "width, ACS redirect on the second socket.").write()
    bluefield_node().write()


if __name__ == "__main__":
    main()
