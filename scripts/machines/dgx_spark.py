#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An NVIDIA DGX Spark as a new owner finds it: DGX OS, one cable in cage p0, nothing tuned."""
import config
import host
import nvml
from lib import DERIVED, DOCUMENTED, PLAUSIBLE, Machine
from pci import ENDPOINT, ROOT_PORT, Pci, Pcie

LSPCI = "https://wiki.gentoo.org/wiki/DGX_Spark (lspci -nn)"
BENCH = "ThomasKaiser/sbc-bench results of a Dell Pro Max with GB10 FCM1253 (cpufreq policies, links, swap, command line)"
HWLOC = "https://github.com/open-mpi/hwloc/issues/766 and /pull/770 (lstopo of a GB10)"
GUIDE = "DAQIRI documentation, DGX Spark profile (NIC names, governor, CUDA attributes, peermem)"
CHIPS = "Chips and Cheese, Inside NVIDIA GB10's memory subsystem (clusters, L3 sizes)"
FOUNDERS = "environment capture and firmware inventory of two Founders Editions, published 2026-05-05 and 2026-09-11"
AUDIT = "PCI audit of a DGX Spark, published 2026-09-26 (BAR, capabilities, subsystem, IOMMU groups)"
PACKAGES = "package list and files of DGX OS for the Spark, published 2026"
SYSCTL = "sysctl capture of a DGX Spark, published 2026-04-30: the values in force and the files that sysctl --system reads"
SNAPS = "https://github.com/canonical/inference-snaps/issues/143 (hardware list of a DGX Spark)"
NVSMI = "nvidia-smi tables of DGX Sparks published with drivers 580.95 to 580.159; nvtop issue 426; DGX Spark known issues"

KERNEL, DRIVER = "6.17.0-1014-nvidia", "580.142"
CLUSTER = [range(0, 10), range(10, 20)]
BIG = [*range(5, 10), *range(15, 20)]


def cluster(c):
    return c // 10


def top_khz(c):
    """The clock at nominal_perf: where a core ends while boost is off, as it is as shipped."""
    return 3900000 if c in BIG else 2808000


def most_khz(c):
    """The clock at highest_perf, which an older kernel showed as the maximum."""
    if cluster(c) == 0:
        return top_khz(c)
    return 2860000 if c not in BIG else 4004000 if c == 19 else 3978000


def processors(m):
    cpus = host.Cpus(m, 20, lambda c: 36, lambda c: c, lambda c: [c], cluster=lambda c: 40 + cluster(c),
                     cluster_cpus=lambda c: CLUSTER[cluster(c)])

    def caches(c):
        return [host.Cache(0, 1, "Data", 64, [c]), host.Cache(1, 1, "Instruction", 64, [c]),
                host.Cache(2, 2, "Unified", 2048 if c in BIG else 512, [c]),
                host.Cache(3, 3, "Unified", 8192 if cluster(c) == 0 else 16384, CLUSTER[cluster(c)])]

    cpus.write(caches)
    cpus.idle("acpi_idle", "menu", [("LPI-0", "WFI", 1, 1), ("LPI-1", "core retention", 40, 120),
                                    ("LPI-2", "core off", 150, 700), ("LPI-3", "cluster off", 600, 2500)])
    for c in range(20):
        m.put(f"{host.CPU}/cpu{c}/regs/identification/midr_el1",
              "0x00000000410fd851" if c in BIG else "0x00000000410fd871")
        m.put(f"{host.CPU}/cpu{c}/cpu_capacity", round(most_khz(c) * 1024 / 4004000))
        cpus.policy(c, [c], "cppc_cpufreq", "performance", "performance powersave",
                    1378000 if c in BIG else 338000, top_khz(c), auto_select=1, scaling_cur_freq=2210000)
    m.builtin("cppc_cpufreq", {"auto_sel_mode": "Y"})
    rows = []
    for c in range(20):
        rows += [f"processor\t: {c}", "BogoMIPS\t: 2000.00",
                 "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics sve sve2 i8mm bf16",
                 "CPU implementer\t: 0x41", "CPU architecture: 8", "CPU variant\t: 0x0",
                 f"CPU part\t: {'0xd85' if c in BIG else '0xd87'}", "CPU revision\t: 1", ""]
    m.rows("/proc/cpuinfo", rows)


def memory(m, total):
    host.memory(m, total, 118300416, 123731968, 2621440, 16777212, 16777212, cma=(65536, 61440))
    host.huge_pages(m, [64, 2048, 32768, 1048576], "always [madvise] never",
                    "always defer defer+madvise [madvise] never",
                    [(kb, "always inherit madvise [never]") for kb in (16, 32, 64, 128, 256, 512, 1024)] +
                    [(2048, "always [inherit] madvise never")])
    host.numa(m, {0: (range(20), total, 118300416)}, {0: "10"}, [64, 2048, 32768, 1048576])
    m.swap("/swap.img", "file", 16777212)
    host.sysctls(m, vm__min_free_kbytes=45167, kernel__tainted=4096, net__ipv4__tcp_rmem="4096\t131072\t33554432",
                 net__ipv4__conf__all__arp_ignore=1, net__ipv4__conf__all__arp_announce=2)
    m.source("/proc/meminfo MemTotal", DOCUMENTED, "121.69 GiB visible to the OS, reported by owners; " + HWLOC)
    m.source("/proc/swaps", DOCUMENTED, BENCH)
    m.source("/proc/sys/**", DOCUMENTED, SYSCTL + "; else the kernel's defaults (ip-sysctl, Ubuntu's procps)")
    m.source("/proc/sys/net/ipv4/conf/all/arp_*", DOCUMENTED, PACKAGES + ": 20-nvidia-defaults.conf, arp_ignore 1 and arp_announce 2")
    m.source("/sys/kernel/mm/transparent_hugepage/**", DOCUMENTED, "Ubuntu kernel configuration: TRANSPARENT_HUGEPAGE_MADVISE")


def devices(m, second):
    """second: lanes of the second half of the NIC, and of its port."""
    pci = Pci(m, lambda node: "0-19")

    def port(domain, device, speed, width, number=1, most=None):
        root = pci.root(f"pci{domain}:00", 0)
        return root.add("00.0", 0x10de, device, 0x060400, driver="pcieport", rev=number, msix=2,
                        pcie=Pcie(ROOT_PORT, 0x70, (speed, width), most or (speed, width), mps=256, mps_cap=256),
                        acs=(0x005f, 0x001d)).bus(1)

    nics = []
    for domain, lanes in (("0000", 4), ("0002", second)):
        up = port(domain, 0x22ce, 32.0, lanes)
        for f in (0, 1):
            nics.append(up.add(f"00.{f}", 0x15b3, 0x1021, 0x020000, (0x15b3, 0x0082), "mlx5_core", multi=True, msix=64,
                               bars=[(0xc, 32 << 20)], vfs=(8, 0),
                               pcie=Pcie(ENDPOINT, 0x60, (32.0, lanes), (32.0, 4), mps=256, mps_cap=512, mrrs=512)))
    ssd = port("0004", 0x22ce, 32.0, 4).add(
        "00.0", 0x144d, 0xa810, 0x010802, (0x144d, 0xa801), "nvme", msix=33,
        pcie=Pcie(ENDPOINT, 0x70, (32.0, 4), mps=256, mps_cap=512))
    port("0006", 0x22d0, 2.5, 0, most=(16.0, 1))
    lan = port("0007", 0x22d0, 16.0, 1).add("00.0", 0x10ec, 0x8127, 0x020000, (0x10ec, 0x0123), "r8127", rev=5, msix=32,
                                            pcie=Pcie(ENDPOINT, 0x70, (16.0, 1), mps=256, mps_cap=256))
    wifi = port("0009", 0x22d0, 5.0, 1, most=(16.0, 1)).add(
        "00.0", 0x14c3, 0x7925, 0x028000, (0x14c3, 0x7925), "mt7925e", msix=32,
        pcie=Pcie(ENDPOINT, 0x80, (5.0, 1), mps=128, mps_cap=128))
    gpu_port = pci.root("pci000f:00", 0).add("00.0", 0x10de, 0x22d1, 0x060400, driver="pcieport",
                                             pcie=Pcie(ROOT_PORT, 0x70, None, (32.0, 16), mps=256, mps_cap=256)).bus(1)
    gpu_port.add("00.0", 0x10de, 0x2e12, 0x030000, (0x10de, 0x0000), "nvidia", rev=0xa1, msix=9,
                 bars=[(0, 64 << 20, 0x24000000)], pcie=Pcie(ENDPOINT, 0x60, (2.5, 1), (2.5, 16), mps=256, mps_cap=256),
                 caps=[(0x48, 0x05), (0x9c, 0x09), (0xb0, 0x11)],
                 exts=[(0x100, 0x19, 1, 0), (0x12c, 0x18, 1, 0), (0x14c, 0x25, 1, 0), (0x158, 0x26, 1, 0), (0x188, 0x2a, 1, 0),
                       (0x1b8, 0x01, 2, 0), (0x248, 0x0e, 1, 0), (0x290, 0x1e, 1, 0), (0x2e0, 0x0f, 1, 0x80000000),
                       (0x2e8, 0x1b, 1, 0)])
    pci.own_groups("DMA")
    pci.write()
    m.source("/sys/bus/pci/devices/**: addresses, vendor, device, class, revision", DOCUMENTED, LSPCI)
    m.source("/sys/bus/pci/devices/**: current_link_speed, current_link_width of endpoints", DOCUMENTED, BENCH)
    m.source("/sys/bus/pci/devices/**: subsystem of NVMe and Realtek, root port 0006:00:00.0", DOCUMENTED, SNAPS)
    m.source("/sys/bus/pci/devices/000[04]:00:00.0/max_link_speed, 0004:01:00.0: link", DOCUMENTED,
             "cooling devices PCIe_Port_Link_Speed of a Gigabyte AI TOP ATOM, published 2026-04-15: 32 GT/s at 0004, not held back")
    m.source("/sys/bus/pci/devices/000f:01:00.0/config, resource", DOCUMENTED, AUDIT)
    m.source("/sys/bus/pci/devices/0000:01:00.*/config: capability at 0x60", DOCUMENTED,
             "published setpci recipes write Device Control of a ConnectX at 0x68")
    m.source("/sys/bus/pci/devices/**/config: other offsets, MPS, MRRS, ACS, AER, MSI-X", PLAUSIBLE,
             "the kernel's pcie_bus_safe policy and the devices' usual capabilities; not published for this machine")
    m.source("/sys/bus/pci/devices/000f:0*:00.0: max_link_*, current_link_*", DOCUMENTED,
             "kernel log of a Founders Edition, published 2026: limited by Unknown x0 link at 000f:00:00.0, capable of 2.5 GT/s x16")
    m.source("/sys/kernel/iommu_groups/**", DERIVED, "iommu.passthrough=0 on the command line: translated, one group a function")
    return nics, ssd, lan, wifi


def network(m, nics, lan, wifi):
    host.loopback(m)
    names = (("enp1s0f0np0", "rocep1s0f0"), ("enp1s0f1np1", "rocep1s0f1"), ("enP2p1s0f0np0", "roceP2p1s0f0"),
             ("enP2p1s0f1np1", "roceP2p1s0f1"))
    for i, (f, (name, rdma)) in enumerate(zip(nics, names)):
        cabled = i % 2 == 0
        host.interface(m, name, 3 + i, f, carrier=int(cabled), speed=200000, driver="mlx5_core",
                       firmware="28.45.4028 (NVD0000000087)", max_mtu=9978, port=f"p{i % 2}",
                       switch=f"0200000000{i // 2:02x}", rings=(1024, 8192, 1024, 8192), coalesce=(8, 8, 1),
                       channels=(20, 20), version=KERNEL)
        host.roce(m, name, f, vendor=False)
        host.rdma(m, rdma, f, "28.45.4028", "NVD0000000087", "Ethernet",
                  "200 Gb/sec (4X HDR)" if cabled else "40 Gb/sec (4X QDR)", name, active=cabled,
                  gids=host.link_local_gids(3 + i))
    host.interface(m, "enP7s7", 2, lan, speed=10000, driver="r8127", firmware="", max_mtu=16360, port=None,
                   rings=(1024, 1024, 1024, 1024), coalesce=(5, 60, 0), channels=None, ipv4="192.0.2.10/24",
                   version="11.014.00-NAPI")
    host.interface(m, "wlP9s9", 7, wifi, carrier=0, driver="mt7925e", max_mtu=2304, wireless=True,
                   firmware="____000000-20250721233113")
    m.source("api/dcb.json, ecn/, cc_params", PLAUSIBLE, "the driver's defaults: nothing paused, VLAN tag, CNP with DSCP 48 and priority 6")
    m.rows("/etc/netplan/01-network-manager-all.yaml", ["network:", "  version: 2", "  renderer: NetworkManager"])
    m.rows("/opt/nvidia/dgx-spark-mlnx-hotplug/mtk-hotplug-handler.sh", ["#!/bin/bash"])
    m.rows("/usr/lib/udev/rules.d/90-mtk-hotplug.rules",
           ['SUBSYSTEM=="platform", DRIVER=="cx7-pcie-hotplug", RUN+="/opt/nvidia/dgx-spark-mlnx-hotplug/mtk-hotplug-handler.sh"'])
    m.text("/etc/nvidia/cx7-hotplug-enabled", "")
    m.source("/opt/nvidia/dgx-spark-mlnx-hotplug, /usr/lib/udev/rules.d/90-mtk-hotplug.rules, /etc/nvidia/cx7-hotplug-enabled", DOCUMENTED,
             PACKAGES + "; the words of the rule are not published")
    m.rows("/etc/libibverbs.d/mlx5.driver", ["driver mlx5"])
    m.rows("/proc/net/softnet_stat", ["0000a1b2 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 "
                                      f"00000000 00000000 00000000 {c:08x} 00000000 00000000" for c in range(20)])
    m.source("/sys/class/net/*, /sys/class/infiniband/*: names, PCI functions, cages", DOCUMENTED,
             GUIDE + "; christopherowen/dgx-spark-networking")
    m.source("ethtool: firmware of the ConnectX-7", DOCUMENTED, "28.45.4028, reported by owners")
    m.source("/sys/class/net/*/mtu, max_mtu", DOCUMENTED, GUIDE + ": 1500 as shipped, 9978 at most")
    m.source("rings, coalescing, channels, board id, switch ids, GIDs, rate text", PLAUSIBLE,
             "mlx5 defaults of the kernel; a link-local address makes GIDs 0 and 1")


def temperatures(m, nics, ssd):
    for n, celsius in enumerate((41.7, 41.2, 40.8, 40.1, 39.6, 39.2, 38.9)):
        host.thermal_zone(m, n, "acpitz", celsius, [("critical", 105)])
    host.hwmon(m, 7, f"{ssd.path}/nvme/nvme0", "nvme", 51.85, 84.85)
    for i, f in enumerate(nics):
        host.hwmon(m, 8 + i, f.path, "mlx5", 58, 105)
    m.source("/sys/class/thermal/thermal_zone*: seven acpitz zones of 38.9 to 41.7 C", DOCUMENTED, "lablup/all-smi issues 80 and 147")
    m.source("/sys/class/thermal/thermal_zone*/trip_point_*", PLAUSIBLE, "the values are not published")
    m.source("/sys/class/hwmon/*: mlx5 58 of 105 C, nvme 51.85 of 84.85 C", DOCUMENTED,
             "node exporter's metrics of a Gigabyte AI TOP ATOM, 2026-04-15")


def graphics(m):
    nvml.system(m, DRIVER, 13000, 1)
    nvml.gpu(m, 0, "NVIDIA GB10", "0000000F:01:00.0", 10, 14, (12, 1), 6144, 208, 3003, 3003, 4400, 42, 8, "0-19",
             (1, 1, 5, 1, 1), vbios="9A.0B.2D.00.00", addressing=2, counters=(1250000000, 0, 0, 0, 0), more={
                 "nvmlDeviceGetApplicationsClock(SM)": 2418, "nvmlDeviceGetApplicationsClock(GRAPHICS)": 2418,
                 "nvmlDeviceGetDefaultApplicationsClock(SM)": 2418,
                 "nvmlDeviceGetDefaultApplicationsClock(GRAPHICS)": 2418,
                 "nvmlDeviceGetC2cModeInfo.isC2cEnabled": 1,
                 "nvmlDeviceGetBAR1MemoryInfo.bar1Total": nvml.NO, "nvmlDeviceGetBAR1MemoryInfo.bar1Used": nvml.NO,
                 "nvmlDeviceGetBAR1MemoryInfo.bar1Free": nvml.NO,
                 "nvmlDeviceGetMarginTemperature.marginTemperature": 94 - 42,
             })
    m.answers("cuda", "", {"cuDriverGetVersion": 13000})
    m.answers("cuda", "000f:01:00.0", {"cuDeviceGetAttribute(116)": 0, "cuDeviceGetAttribute(124)": 0,
                                       "cuDeviceGetAttribute(18)": 1, "cuDeviceGetAttribute(16)": 48})
    nvml.driver_files(m, DRIVER, "open")
    m.put("/sys/module/nvidia_drm/parameters/modeset", "N")
    m.rows("/proc/driver/nvidia/gpus/000f:01:00.0/information",
           ["Model: \t\t NVIDIA GB10", "IRQ:   \t\t 0", "Bus Location: \t 000f:01:00.0", "Device Minor: \t 0"])
    m.source("nvml: refusals (memory, power limits, memory clock, ECC, MIG, BAR1)", DOCUMENTED, NVSMI)
    m.source("nvml: SM clock at most 3003, application clock 2418, idle P8 at about 4 W, 580.142", DOCUMENTED, NVSMI)
    m.source("nvml: VBIOS", DOCUMENTED, FOUNDERS)
    m.source("nvml: T.Limit margin (94 C less the temperature), no absolute thresholds", DOCUMENTED,
             "ollama/ollama issue 13552: nvidia-smi -q of 580.95.05, 81 C with 13 C left")
    m.source("nvml: idle SM clock, addressing mode, counters", PLAUSIBLE, "not published")
    m.source("cuda: attributes 16, 18, 116, 124", DOCUMENTED, GUIDE)


def software(m):
    m.put("/proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=UUID=00000000-0000-0000-0000-000000000001 ro "
          "init_on_alloc=0 iommu.passthrough=0 console=tty0 plymouth.ignore-serial-consoles plymouth.use-simpledrm "
          "earlycon=uart,mmio32,0x16A00000 console=tty0 console=ttyS0,921600 crashkernel=1G-:0M quiet splash "
          "initcall_blacklist=tegra234_cbb_init pci=pcie_bus_safe vt.handoff=7")
    host.ubuntu(m, "24.04", "Ubuntu 24.04.4 LTS", "Noble Numbat")
    m.rows("/etc/dgx-release", ['DGX_NAME="DGX Spark"', 'DGX_PRETTY_NAME="NVIDIA DGX Spark"',
                                'DGX_SWBUILD_DATE="2025-09-10-13-50-03"', 'DGX_SWBUILD_VERSION="7.2.3"',
                                'DGX_COMMIT_ID="833b4a7"', 'DGX_PLATFORM="DGX Server for KVM"',
                                'DGX_SERIAL_NUMBER="redacted"', 'DGX_OTA_VERSION="7.4.0"',
                                'DGX_OTA_DATE="Mon Feb  2 19:34:58 UTC 2026"'])
    m.rows("/etc/default/grub", ["GRUB_DEFAULT=0", "GRUB_TIMEOUT=0", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash"',
                                 'GRUB_CMDLINE_LINUX=""'])
    m.rows("/etc/default/grub.d/init_on_alloc.cfg", ['GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX init_on_alloc=0"'])
    m.rows("/etc/default/grub.d/pci.cfg",
           ['GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT pci=pcie_bus_safe"'])
    host.dmi(m, sys_vendor="NVIDIA", product_name="NVIDIA_DGX_Spark", product_version="A.7", board_vendor="NVIDIA",
             board_name="P4242", bios_vendor="AMI", bios_version="5.36_0ACUM018", bios_date="08/06/2025", chassis_type=17,
             product_family="DGX Spark")
    host.efi(m, 1, "integrity")
    for name in ("nvidia-disable-init-on-alloc", "nvidia-disable-numa-balancing", "nv-cpu-governor", "nv-persistence-mode"):
        m.service(name, True, False)
    for name in ("nvidia-persistenced", "nvidia-spark-mlnx-firmware-manager", "NetworkManager", "docker", "containerd"):
        m.service(name, True, True)
    m.service("nvidia-persistenced", True, True, exec_start="/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose")
    m.service("power-profiles-daemon", True, True, "graphical.target")
    m.service("irqbalance", False, False)
    m.service("rdma-ndd", False, False)
    for name, version in (("mlx5_core", None), ("mlx5_ib", None), ("ib_core", None), ("ib_uverbs", None),
                          ("r8127", "11.014.00-NAPI"), ("mt7925e", None), ("nvme", None)):
        m.module(name, version, size=1048576, refcnt=1)
    host.libraries(m, DRIVER, "13.0.2", "sbsa-linux",
                   {"libcudart.so.13": "13.0.96", "libcublas.so.13": "13.1.0.3", "libcublasLt.so.13": "13.1.0.3",
                    "libcufile.so.0": "1.15.1", "libnvrtc.so.13": "13.0.88"},
                   {"libnccl.so.2": "2.28.9", "libibverbs.so.1": "1.14.50.0", "libmlx5.so.1": "1.24.50.0"})
    m.source("/usr/local/cuda/**, /usr/lib/*-linux-gnu/lib*", PLAUSIBLE, "a matching set of CUDA 13.0 packages")
    m.put("/sys/module/pcie_aspm/parameters/policy", "default [performance] powersave powersupersave ")
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter")
    m.source("/proc/cmdline", DOCUMENTED, "boot log of a DGX Spark with 6.17.0-1014-nvidia; " + BENCH)
    m.source("/etc/dgx-release", DOCUMENTED, "files of several DGX Sparks in public repositories")
    m.source("/sys/class/dmi/id/*", DOCUMENTED, "dmidecode -s system-product-name of DGX Sparks; BIOS versions as owners report them; " + FOUNDERS)
    m.source("/sys/class/dmi/id/chassis_type", DOCUMENTED, "https://github.com/lablup/all-smi/issues/147")
    m.source("/sys/class/dmi/id/product_family", PLAUSIBLE, "documented on the machines of Gigabyte and Lenovo, whose firmware is built on this one's")
    m.source("/sys/firmware/efi/efivars/**, /sys/kernel/security/lockdown", DOCUMENTED, GUIDE + ": Secure Boot is on as shipped")
    m.source("/usr/lib/systemd/system/nv*.service", DOCUMENTED, PACKAGES)
    m.source("/sys/fs/cgroup/system.slice/**, /etc/systemd/**", PLAUSIBLE, "DGX OS packages; which services run by default is not listed anywhere")


def build(name, about, base=None, total=127601164, second=4):
    m = Machine(name, about, {"nodename": "spark", "release": KERNEL, "version": "#14-Ubuntu SMP PREEMPT_DYNAMIC",
                              "machine": "aarch64", "euid": 0, "page_size": 4096, "time_s": 1772000000}, base)
    processors(m)
    m.source("/sys/devices/system/cpu/cpufreq/**", DOCUMENTED, FOUNDERS + "; frequencies of three makers' machines, 2026; else " + BENCH)
    m.source("/sys/devices/system/cpu/cpu*/regs, physical_package_id, caches", DOCUMENTED, HWLOC)
    m.source("/sys/devices/system/cpu/cpu*/cpu_capacity", DOCUMENTED, HWLOC + "; 718 and 997, the others by the same ratio of the highest clocks (" + BENCH + ")")
    m.source("/sys/devices/system/cpu/cpu*/topology/cluster_*", DERIVED, CHIPS + ": the two groups that share an L3; ids are not published")
    m.source("/sys/devices/system/cpu/cpu*/cpuidle/**", PLAUSIBLE, "ACPI LPI states 0 to 3 exist; names and latencies are not published")
    m.source("/sys/module/cppc_cpufreq/parameters/auto_sel_mode", DOCUMENTED,
             "https://github.com/graham33/nixos-dgx-spark/pull/148; NVIDIA/NV-Kernels pull 245")
    memory(m, total)
    nics, ssd, lan, wifi = devices(m, second)
    network(m, nics, lan, wifi)
    graphics(m)
    host.nvme(m, ssd, 0, "259:0", "SAMSUNG MZALC4T0HBL1-00B07", "NXJ0600Q", 8001573552,
              [(1, 1048576, "vfat"), (2, 8000522240, "ext4")], nr_requests=1023, max_hw_sectors_kb=2048)
    for n in range(4):
        host.loop(m, n, 153128)
    temperatures(m, nics, ssd)
    m.source("/sys/block/nvme0n1/**: model, firmware, queue", PLAUSIBLE, "a PM9E1 of 4 TB with the kernel's defaults")
    m.rows("/proc/self/mountinfo", [
        "26 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw",
        "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64",
        "28 26 259:1 / /boot/efi rw,relatime shared:30 - vfat /dev/nvme0n1p1 rw,fmask=0077,dmask=0077",
        "29 26 0:32 / /dev/hugepages rw,nosuid,nodev,relatime shared:15 - hugetlbfs hugetlbfs rw,pagesize=2M"])
    for path, size, free in (("/", 4030000000000, 3210000000000), ("/dev/shm", 65331796992, 65331796992),
                             ("/boot/efi", 535805952, 529000000)):
        host.statfs(m, path, size, free)
    host.limits(m, 130663591936)
    software(m)
    config.dgx_spark(m)
    return m


def atom(name, about):
    """A Gigabyte AI TOP ATOM, with what the kernel of every GB10 shows of boost and of the NIC's hot plug."""
    m = build(name, about, "dgx-spark", total=125508532)
    host.dmi(m, sys_vendor="GIGABYTE", product_name="AI TOP ATOM", product_version="B.1", chassis_vendor="PEGA",
             bios_version="5.36_0ACUM05", bios_date="11/07/2025")
    m.answer("nvml", "0", "nvmlDeviceGetVbiosVersion", "9A.0B.25.00.00")
    m.sysctl("net.ipv4.ip_forward", 1)
    m.put(f"{host.CPU}/cpufreq/boost", 0)
    for c in range(20):
        m.puts(f"{host.CPU}/cpu{c}/acpi_cppc", highest_perf=most_khz(c) // 1000, nominal_perf=top_khz(c) // 1000,
               nominal_freq=top_khz(c) // 1000, lowest_perf=1378 if c in BIG else 338)
    hotplug = "/sys/devices/platform/MTKP0001:00/pcie_hotplug"
    m.put(f"{hotplug}/hotplug_enabled", 1)
    m.unread(f"{hotplug}/debug_state")
    m.source("/sys/class/dmi/id/*, /proc/meminfo MemTotal, ip_forward", DOCUMENTED, "metrics of a Gigabyte AI TOP ATOM, published 2026-04-15")
    m.source("nvml: VBIOS", DOCUMENTED, "inventory of four makers' machines, published 2026-09-22")
    m.source("/sys/devices/system/cpu/cpufreq/boost", DOCUMENTED, FOUNDERS + ": lscpu says Frequency boost: disabled")
    m.source("/sys/devices/system/cpu/cpu*/acpi_cppc/**", PLAUSIBLE, "not published; from the clocks of kernels that show nominal and highest")
    m.source("/sys/devices/platform/MTKP0001:00/pcie_hotplug/**", DOCUMENTED, PACKAGES + ": the names; the value 1 by the kernel's log")
    return m


def without_nic():
    m = atom("dgx-spark-no-nic", "A Gigabyte AI TOP ATOM whose ConnectX-7 left the bus although hot plug is set up.")
    for half in ("0000", "0002"):
        for f in (0, 1):
            m.forget(f"/sys/devices/pci{half}:00/{half}:00:00.0/{half}:01:00.{f}")
    for api in ("if", "ethtool"):
        for name in [n for n in m.api[api] if n.startswith(("enp1", "enP2"))]:
            del m.api[api][name]
    m.source("no ConnectX-7 on the bus, root ports and the marker there", DOCUMENTED,
             "inventories of Founders Editions, published 2026-07-13 and 2026-09-11; two of six machines, published 2026-06-30")
    return m


def gx10():
    m = build("gx10", "An ASUS GX10 whose second half of the ConnectX-7 has two lanes.", "dgx-spark", second=2)
    host.dmi(m, sys_vendor="ASUSTeK COMPUTER INC.", product_name="GX10", bios_version="0103.2026.0129.1152", bios_date="01/29/2026")
    m.answer("nvml", "0", "nvmlDeviceGetVbiosVersion", "9A.0B.1E.00.00")
    m.source("/sys/class/dmi/id/*", DOCUMENTED, "dmi of ASUS GX10, public repositories, 2026; the BIOS' date by its number")
    m.source("/sys/bus/pci/devices/0002:0*:00.*: two lanes, also of the root port", DOCUMENTED,
             "https://forums.developer.nvidia.com/t/367853")
    m.source("nvml: VBIOS", DOCUMENTED, "inventory of four makers' machines, published 2026-09-22")
    return m


def main():
    build("dgx-spark", "An NVIDIA DGX Spark with DGX OS as a new owner finds it: one cable in cage p0, nothing tuned.").write()
    atom("dgx-spark-oem", "A Gigabyte AI TOP ATOM, a DGX Spark of another maker, with DGX OS as shipped.").write()
    without_nic().write()
    gx10().write()


if __name__ == "__main__":
    main()
