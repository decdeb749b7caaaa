#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An NVIDIA IGX Orin developer kit with an RTX 6000 Ada, as shipped, with nvidia-peermem loaded."""
import config
import host
import nvml
from lib import DERIVED, DOCUMENTED, PLAUSIBLE, Machine
from pci import DOWNSTREAM, ENDPOINT, LEGACY, ROOT_PORT, TO_PCI, UPSTREAM, Pci, Pcie

GUIDE = "DAQIRI documentation, IGX Orin profile (lspci -t, nvidia-smi topo, MPS, governor, link layers)"
TEGRA = "Linux arch/arm64/boot/dts/nvidia/tegra234.dtsi and drivers/pci/quirks.c (controllers, root port ids)"
ADA = "NVIDIA RTX 6000 Ada data sheet (18,176 cores, 48 GB, 384 bit, 300 W, PCIe 4.0 x16)"

KERNEL, DRIVER = "5.15.0-1027-nvidia-tegra-igx", "535.183.06"
# The controllers' addresses, by PCI domain. Source: tegra234.dtsi.
CONTROLLER = {0: "14180000", 1: "14100000", 4: "14160000", 5: "141a0000", 7: "141e0000"}


def processors(m):
    cpus = host.Cpus(m, 12, lambda c: 0, lambda c: c, lambda c: [c], cluster=lambda c: c // 4,
                     cluster_cpus=lambda c: range(c // 4 * 4, c // 4 * 4 + 4))
    cpus.write(lambda c: [host.Cache(0, 1, "Data", 64, [c]), host.Cache(1, 1, "Instruction", 64, [c]),
                          host.Cache(2, 2, "Unified", 256, [c]),
                          host.Cache(3, 3, "Unified", 2048, range(c // 4 * 4, c // 4 * 4 + 4))])
    cpus.idle("psci_idle", "menu", [("WFI", "ARM WFI", 1, 1), ("c7", "c7", 5000, 30000)])
    for c in range(12):
        m.put(f"{host.CPU}/cpu{c}/regs/identification/midr_el1", "0x00000000410fd421")
        m.put(f"{host.CPU}/cpu{c}/cpu_capacity", 1024)
    for first in (0, 4, 8):
        cpus.policy(first, range(first, first + 4), "tegra194", "powersave",
                    "conservative ondemand userspace powersave performance schedutil", 115200, 1971200,
                    scaling_cur_freq=115200)
    rows = []
    for c in range(12):
        rows += [f"processor\t: {c}", "BogoMIPS\t: 62.50", "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics",
                 "CPU implementer\t: 0x41", "CPU architecture: 8", "CPU variant\t: 0x0", "CPU part\t: 0xd42",
                 "CPU revision\t: 1", ""]
    m.rows("/proc/cpuinfo", rows)
    m.source("/sys/devices/system/cpu/**: 12 Cortex-A78AE in three clusters of four, caches", DOCUMENTED,
             "NVIDIA Orin technical brief; Linux tegra234.dtsi")
    m.source("/sys/devices/system/cpu/cpufreq/**: governor powersave on all", DOCUMENTED, GUIDE)
    m.source("/sys/devices/system/cpu/cpufreq/**: frequencies", PLAUSIBLE, "1.97 GHz of the IGX Orin data sheet")
    m.source("/sys/devices/system/cpu/cpu*/cpuidle/**", PLAUSIBLE, "WFI and c7 of Jetson Linux device trees; latencies as there")


def memory(m):
    host.memory(m, 62845000, 55120400, 59310200, 3120000, 0, 0, cma=(65536, 61000))
    host.huge_pages(m, [64, 2048, 32768, 1048576], "[always] madvise never",
                    "always defer defer+madvise [madvise] never")
    host.numa(m, {0: (range(12), 62845000, 55120400)}, {0: "10"}, [64, 2048, 32768, 1048576])
    m.swap(None, None, 0)
    host.sysctls(m, vm__max_map_count=1048576, net__core__optmem_max=20480, net__ipv4__tcp_wmem="4096\t16384\t4194304")
    m.source("/proc/meminfo", DERIVED, "64 GB of the developer kit less what firmware and carve-outs take; no huge pages as shipped")
    m.source("/proc/sys/**", DOCUMENTED, "Linux Documentation/admin-guide/sysctl and ip-sysctl: the kernel's defaults; Ubuntu's procps")


def bridge(parent, at, kind, secondary, link, most=None, vendor=(0x15b3, 0x197b), cap=0x60, mps=512, last=None):
    return parent.add(at, *vendor, 0x060400, driver="pcieport", msix=2,
                      pcie=Pcie(kind, cap, link, most or link, mps=128, mps_cap=mps),
                      acs=(0x005f, 0x0000) if kind == DOWNSTREAM else None).bus(secondary, last)


def devices(m):
    pci, roots = Pci(m, lambda node: "0-11"), {}
    for domain, (device, speed, width) in {0: (0x229a, 16.0, 4), 1: (0x229e, 8.0, 1), 4: (0x229c, 16.0, 4),
                                           5: (0x229a, 16.0, 8), 7: (0x229a, 5.0, 2)}.items():
        root = pci.root(f"pci{domain:04x}:00", 0, f"/sys/devices/platform/{CONTROLLER[domain]}.pcie")
        if domain:
            roots[domain] = root.add("00.0", 0x10de, device, 0x060400, driver="pcieport", rev=0xa1, msix=2,
                                     pcie=Pcie(ROOT_PORT, 0x70, (speed, width), (16.0, max(width, 1)), mps=128, mps_cap=128)
                                     ).bus(1, 0xff)
    top = bridge(roots[5], "00.0", UPSTREAM, 2, (16.0, 8), (32.0, 16), last=9)
    nic_port = bridge(top, "00.0", DOWNSTREAM, 3, (32.0, 8))
    nics = [nic_port.add(f"00.{f}", 0x15b3, 0x1021, cls, (0x15b3, 0x0058), "mlx5_core", multi=True, msix=64,
                         bars=[(0xc, 32 << 20)], pcie=Pcie(ENDPOINT, 0x60, (32.0, 8), mps=128, mps_cap=512, mrrs=512))
            for f, cls in ((0, 0x020000), (1, 0x020700))]
    spare = bridge(bridge(top, "01.0", DOWNSTREAM, 4, (32.0, 4), last=6), "00.0", UPSTREAM, 5, (32.0, 4), last=6)
    bridge(spare, "08.0", DOWNSTREAM, 6, (2.5, 4), (32.0, 4))
    slot = bridge(bridge(top, "02.0", DOWNSTREAM, 7, (16.0, 16), (32.0, 16), last=9), "00.0", UPSTREAM, 8, (16.0, 16),
                  (32.0, 16), last=9)
    slot = bridge(slot, "00.0", DOWNSTREAM, 9, (2.5, 16), (32.0, 16))
    gpu = slot.add("00.0", 0x10de, 0x26b1, 0x030000, (0x10de, 0x16a1), "nvidia", rev=0xa1, multi=True, msix=9,
                   bars=[(0, 16 << 20), (0xc, 256 << 20), (0, 0), (0xc, 32 << 20)], rebar=(1, range(6, 17), 8),
                   pcie=Pcie(LEGACY, 0x78, (2.5, 16), (16.0, 16), mps=128, mps_cap=256))
    slot.add("00.1", 0x10de, 0x22ba, 0x040300, (0x10de, 0x16a1), "snd_hda_intel", rev=0xa1, multi=True, msix=0,
             pcie=Pcie(ENDPOINT, 0x78, (2.5, 16), (16.0, 16), mps=128, mps_cap=256))
    roots[7].add("00.0", 0x1b4b, 0x9235, 0x010601, (0x1b4b, 0x9235), "ahci", rev=0x11,
                 pcie=Pcie(LEGACY, 0x70, (5.0, 2), mps=128, mps_cap=512))
    ssd = roots[4].add("00.0", 0x15b7, 0x5011, 0x010802, (0x15b7, 0x5011), "nvme", rev=1, msix=65,
                       pcie=Pcie(ENDPOINT, 0xc0, (16.0, 4), mps=128, mps_cap=512))
    small = bridge(roots[1], "00.0", UPSTREAM, 2, (8.0, 1), vendor=(0x1b21, 0x2806), cap=0x80, mps=256, last=0xfc)
    legs = [bridge(small, f"{n:02x}.0", DOWNSTREAM, bus, (5.0, 1), (8.0, 1), (0x1b21, 0x2806), 0x80, 256, last)
            for n, bus, last in ((1, 3, 0x34), (2, 0x35, 0x66), (3, 0x67, 0x98), (4, 0x99, 0xca), (5, 0xcb, 0xfc))]
    lan = [leg.add("00.0", 0x10ec, 0x8168, 0x020000, (0x10ec, 0x0123), "r8168", rev=0x15, msix=4,
                   pcie=Pcie(LEGACY, 0x70, (2.5, 1), mps=128, mps_cap=128)) for leg in legs[:2]]
    legs[2].add("00.0", 0x1c00, 0x3450, 0x070005, (0x1c00, 0x3450), "serial", rev=0x10,
                pcie=Pcie(LEGACY, 0x80, (2.5, 1), mps=128, mps_cap=256))
    bmc = legs[3].add("00.0", 0x1a03, 0x1150, 0x060400, rev=6, pcie=Pcie(TO_PCI, 0x80, (5.0, 1), mps=128, mps_cap=128)
                      ).bus(0x9a)
    bmc.add("00.0", 0x1a03, 0x2000, 0x030000, (0x1a03, 0x2000), "ast", rev=0x52)
    bmc.add("02.0", 0x1a03, 0x2603, 0x0c0320, (0x1a03, 0x2603), rev=0x52)
    wifi = legs[4].add("00.0", 0x10ec, 0xc822, 0x028000, (0x10ec, 0xc822), "rtw_8822ce",
                       pcie=Pcie(ENDPOINT, 0x70, (2.5, 1), mps=128, mps_cap=128))
    pci.own_groups("DMA")
    pci.write()
    m.put("/sys/devices/platform/17000000.ga10b/uevent",
          "OF_NAME=ga10b\nOF_FULLNAME=/ga10b\nOF_COMPATIBLE_0=nvidia,ga10b\nOF_COMPATIBLE_N=1")
    m.source("/sys/bus/pci/devices/**: tree, devices, RTX 6000 Ada in the place of the guide's RTX A6000", DOCUMENTED, GUIDE)
    m.source("/sys/bus/pci/devices/0005:*/config: MPS 128 of 512, MRRS 512, NIC link 32 GT/s", DOCUMENTED, GUIDE)
    m.source("/sys/devices/platform/*.pcie, ids of the root ports", DOCUMENTED, TEGRA)
    m.source("/sys/bus/pci/devices/0005:03:00.*, 0005:09:00.*: width; ids of switch ports; other config space", PLAUSIBLE,
             "slots as mlxconfig names them (switch 5.0, X8 SLOT0, X16 SLOT2); the rest not published")
    m.source("/sys/devices/platform/17000000.ga10b", DOCUMENTED, "Jetson Linux device tree: the integrated GPU, unused by the discrete GPU's driver")
    return gpu, nics, ssd, lan, wifi


def network(m, nics, lan, wifi):
    host.loopback(m)
    host.interface(m, "eth0", 2, nics[0], carrier=1, speed=100000, driver="mlx5_core", firmware="28.37.1014 (NVD0000000019)",
                   max_mtu=9978, port="p0", switch="0200000000a0", rings=(1024, 8192, 1024, 8192), coalesce=(8, 8, 1),
                   channels=(12, 12), version="24.10-0.7.0", ipv4="198.51.100.7/24")
    host.interface(m, "ib0", 3, nics[1], kind=32, up=False, driver="mlx5_core[ib_ipoib]", mtu=4092, max_mtu=4092,
                   firmware="28.37.1014 (NVD0000000019)", rings=(1024, 8192, 1024, 8192), coalesce=(8, 8, 1),
                   channels=(12, 12), version="24.10-0.7.0")
    for i, (name, up) in enumerate((("eno1", 1), ("eno2", 0))):
        host.interface(m, name, 4 + i, lan[i], carrier=up, speed=1000, driver="r8168", max_mtu=9194, firmware="",
                       rings=None, coalesce=None, ipv4="192.0.2.21/24" if up else "")
    host.interface(m, "wlan0", 6, wifi, up=False, driver="rtw_8822ce", max_mtu=2304, wireless=True, firmware="N/A")
    host.roce(m, "eth0", nics[0])
    host.rdma(m, "mlx5_0", nics[0], "28.37.1014", "NVD0000000019", "Ethernet", "100 Gb/sec (2X HDR)", "eth0",
              gids=host.link_local_gids(2)[:2] + [("0000:0000:0000:0000:0000:ffff:c633:6407", "IB/RoCE v1"),
                                                  ("0000:0000:0000:0000:0000:ffff:c633:6407", "RoCE v2")])
    host.rdma(m, "mlx5_1", nics[1], "28.37.1014", "NVD0000000019", "InfiniBand", "10 Gb/sec (4X SDR)", "ib0", active=False,
              gids=[("fe80:0000:0000:0000:0000:0000:0000:0003", "IB/RoCE v1")])
    m.rows("/etc/libibverbs.d/mlx5.driver", ["driver mlx5"])
    m.put("/sys/kernel/mm/memory_peers/nv_mem/version", DRIVER)
    m.rows("/etc/NetworkManager/NetworkManager.conf", ["[main]", "plugins=ifupdown,keyfile"])
    m.rows("/proc/net/softnet_stat", ["00004f21 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000 "
                                      f"00000000 00000000 00000000 {c:08x}" for c in range(12)])
    m.source("/sys/class/infiniband/mlx5_*: LINK_TYPE_P1 Ethernet, LINK_TYPE_P2 InfiniBand", DOCUMENTED, GUIDE)
    m.source("firmware, board id, rings, rates, addresses", PLAUSIBLE, "usual values of ConnectX-7 and its driver")


def graphics(m):
    nvml.system(m, DRIVER, 12020, 1, "12.535.183.06")
    nvml.gpu(m, 0, "NVIDIA RTX 6000 Ada Generation", "00000005:09:00.0", 8, 14, (8, 9), 18176, 210, 3105, 2415, 21500,
             38, 8, "0-11", (1, 4, 4, 16, 16), vbios="95.02.47.00.01", persistence=0, more={
                 **nvml.board(49140, 4, 505, 384, 405, 10001, 2505, 2505, None, 4, 300000, (100000, 300000, 300000),
                              (96, 93, 91), 256, ecc=0),
                 "nvmlDeviceGetAddressingMode.value": nvml.NO})
    m.answers("cuda", "", {"cuDriverGetVersion": 12020})
    m.answers("cuda", "0005:09:00.0", {"cuDeviceGetAttribute(116)": 1, "cuDeviceGetAttribute(124)": 1,
                                       "cuDeviceGetAttribute(18)": 0, "cuDeviceGetAttribute(16)": 142})
    nvml.driver_files(m, DRIVER, "open", peermem=True)
    m.source("nvml: name, cores, memory, power limit, PCIe, CUDA capability 8.9", DOCUMENTED, ADA)
    m.source("nvml: SM clock at most 3105, memory clock at most 10001", DOCUMENTED, "nvidia-smi -q of RTX 6000 Ada boards")
    m.source("nvml: BAR1 of 256 MiB in display mode", DOCUMENTED, GUIDE + ": 256 MiB before the mode is changed")
    m.source("nvml: thresholds, VBIOS, idle values, reserved memory", PLAUSIBLE, "usual values of the board")
    m.source("api/dcb.json, ecn/, cc_params", PLAUSIBLE, "the driver's defaults: nothing paused, VLAN tag, CNP with DSCP 48 and priority 6")
    m.source("/sys/module/nvidia_peermem, /sys/kernel/mm/memory_peers", DOCUMENTED, GUIDE)


def software(m):
    # NVIDIA's launcher starts the label of extlinux.conf: no BOOT_IMAGE= as from GRUB.
    m.put("/proc/cmdline", "root=UUID=00000000-0000-0000-0000-000000000001 ro console=tty0 console=ttyTCU0,115200 "
          "firmware_class.path=/etc/firmware fbcon=map:0 efi=runtime")
    host.ubuntu(m, "22.04", "Ubuntu 22.04.5 LTS", "Jammy Jellyfish")
    m.raw("/sys/firmware/devicetree/base/model", b"NVIDIA IGX Orin Development Kit\0")
    m.raw("/sys/firmware/devicetree/base/compatible", b"nvidia,p3740-0002+p3701-0008\0nvidia,p3701-0008\0nvidia,tegra234\0")
    m.link_as("/proc/device-tree", "/sys/firmware/devicetree/base")
    host.dmi(m, sys_vendor="NVIDIA", product_name="NVIDIA IGX Orin Development Kit", board_vendor="NVIDIA",
             board_name="IGX Orin", bios_vendor="EDK II", bios_version="36.3.1-gcid-36625391", bios_date="05/06/2024")
    host.efi(m, 0, "none")
    m.service("nvidia-persistenced", True, False)
    m.service("NetworkManager", True, True)
    m.service("nvpmodel", True, False, about="nvpmodel service")
    m.service("docker", True, True)
    m.service("irqbalance", True, True)
    for name, version in (("mlx5_core", "24.10-0.7.0"), ("mlx5_ib", "24.10-0.7.0"), ("ib_core", "24.10-0.7.0"),
                          ("ib_uverbs", None), ("ib_ipoib", None), ("r8168", "8.052.01-NAPI"), ("nvme", None)):
        m.module(name, version, size=1048576, refcnt=1)
    host.libraries(m, DRIVER, "12.2.2", "sbsa-linux",
                   {"libcudart.so.12": "12.2.140", "libcublas.so.12": "12.2.5.6", "libcublasLt.so.12": "12.2.5.6",
                    "libcufile.so.0": "1.7.2", "libnvrtc.so.12": "12.2.140"},
                   {"libibverbs.so.1": "1.14.54.0", "libmlx5.so.1": "1.25.54.0"})
    m.source("/usr/local/cuda/**, /usr/lib/*-linux-gnu/lib*", PLAUSIBLE, "a matching set of CUDA 12.2 packages")
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter")
    m.source("/sys/firmware/devicetree/base/*, /sys/class/dmi/id/product_name", DOCUMENTED,
             "https://github.com/OE4T/meta-tegra/pull/1566 (hostnamectl of an IGX Orin developer kit)")
    m.rows("/etc/nvpmodel.conf", ["< PARAM TYPE=FILE NAME=CPU_ONLINE >", "CORE_0 /sys/devices/system/cpu/cpu0/online",
                                  "< POWER_MODEL ID=0 NAME=MAXN >", "CPU_ONLINE CORE_0 1", "< POWER_MODEL ID=1 NAME=MODE_15W >",
                                  "< POWER_MODEL ID=2 NAME=MODE_30W >", "< POWER_MODEL ID=3 NAME=MODE_50W >", "< PM_CONFIG DEFAULT=0 >"])
    m.answers("nvpmodel", "", {"mode": 0})
    m.answers("jetson-clocks", "", {"max": 0})
    m.source("/etc/nvpmodel.conf: names and numbers", DOCUMENTED, "Jetson Linux Developer Guide r36: modes of the Jetson AGX Orin, whose module it is")
    m.source("nvpmodel: mode 0; jetson_clocks: not in force", PLAUSIBLE, "the file's default; varied in tests")
    m.source("/proc/cmdline, kernel release, services, Secure Boot off", PLAUSIBLE, "IGX software 1.1; not published in full")


def build(name, about, boot_loader, base=None):
    """boot_loader: writes the files of the one that starts the machine."""
    m = Machine(name, about, {"nodename": "igx", "release": KERNEL, "version": "#27-Ubuntu SMP PREEMPT RT",
                              "machine": "aarch64", "euid": 0, "page_size": 4096, "time_s": 1772000000}, base)
    processors(m)
    memory(m)
    _, nics, ssd, lan, wifi = devices(m)
    network(m, nics, lan, wifi)
    graphics(m)
    host.nvme(m, ssd, 0, "259:0", "WD PC SN810 SDCPNRY-512G", "61511102", 1000215216,
              [(1, 1048576, "vfat"), (2, 999163904, "ext4")], read_ahead_kb=128)
    m.source("/sys/block/nvme0n1", DERIVED, GUIDE + ": the SSD's family; queue values are the kernel's defaults")
    m.rows("/proc/self/mountinfo", [
        "26 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw",
        "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64",
        "28 26 259:1 / /boot/efi rw,relatime shared:30 - vfat /dev/nvme0n1p1 rw,fmask=0077,dmask=0077",
        "29 26 0:32 / /dev/hugepages rw,relatime shared:15 - hugetlbfs hugetlbfs rw,pagesize=2M"])
    for path, size, free in (("/", 502000000000, 310000000000), ("/dev/shm", 32176640000, 32176640000),
                             ("/boot/efi", 535805952, 529000000)):
        host.statfs(m, path, size, free)
    host.limits(m, 8044167168)
    software(m)
    boot_loader(m)
    return m


def main():
    build("igx-orin", "An NVIDIA IGX Orin developer kit with an RTX 6000 Ada, settings as shipped, nvidia-peermem loaded.",
          config.igx_orin).write()
    build("igx-orin-grub", "The same IGX Orin, started by GRUB as NVIDIA's guide has it.", config.igx_orin_grub, "igx-orin").write()


if __name__ == "__main__":
    main()
