#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of two Xeon Platinum 8592+ without a GPU: 256 CPUs, one with another governor, ZFS, a USB disk."""
import config
import host
from lib import DERIVED, DOCUMENTED, PLAUSIBLE, Machine, ranges
from pci import ENDPOINT, LEGACY, RC_ENDPOINT, ROOT_PORT, TO_PCI, Pci, Pcie

XEON = "Intel Xeon Platinum 8592+ product page (64 cores, 1.9 to 3.9 GHz, 320 MB L3)"
IDLE = "Linux drivers/idle/intel_idle.c, spr_cstates (also used for Emerald Rapids)"
KERNEL = "6.1.0-37-amd64"
ODD = 37


def core_of(c):
    return c % 128


SOCKET = [[c for c in range(256) if core_of(c) // 64 == s] for s in (0, 1)]


def processors(m):
    cpus = host.Cpus(m, 256, lambda c: core_of(c) // 64, lambda c: core_of(c) % 64, lambda c: [core_of(c), core_of(c) + 128],
                     cluster=lambda c: core_of(c) % 64 * 8, cluster_cpus=lambda c: [core_of(c), core_of(c) + 128])
    cpus.write(lambda c: [host.Cache(0, 1, "Data", 48, [core_of(c), core_of(c) + 128]),
                          host.Cache(1, 1, "Instruction", 32, [core_of(c), core_of(c) + 128]),
                          host.Cache(2, 2, "Unified", 2048, [core_of(c), core_of(c) + 128]),
                          host.Cache(3, 3, "Unified", 327680, SOCKET[core_of(c) // 64])])
    cpus.idle("intel_idle", "menu", [("POLL", "CPUIDLE CORE POLL IDLE", 0, 0), ("C1", "MWAIT 0x00", 1, 1),
                                     ("C1E", "MWAIT 0x01", 2, 4), ("C6", "MWAIT 0x20", 290, 800)])
    for c in range(256):
        odd = c == ODD
        cpus.policy(c, [c], "intel_pstate", "powersave" if odd else "performance", "performance powersave", 800000, 3900000,
                    energy_performance_preference="balance_performance" if odd else "performance")
    m.puts(f"{host.CPU}/intel_pstate", status="active", no_turbo=0, max_perf_pct=100, min_perf_pct=20)
    rows = []
    for c in range(256):
        rows += [f"processor\t: {c}", "vendor_id\t: GenuineIntel", "cpu family\t: 6", "model\t\t: 207",
                 "model name\t: INTEL(R) XEON(R) PLATINUM 8592+", "stepping\t: 2", f"physical id\t: {core_of(c) // 64}",
                 "siblings\t: 128", f"core id\t\t: {core_of(c) % 64}", "cpu cores\t: 64",
                 "flags\t\t: fpu vme de pse tsc msr pae mce cx8 ht tm lm constant_tsc nonstop_tsc avx2 avx512f amx_tile", ""]
    m.rows("/proc/cpuinfo", rows)
    m.source("/sys/devices/system/cpu/**: cores, caches, frequencies", DOCUMENTED, XEON)
    m.source("/sys/devices/system/cpu/cpu*/cpuidle/**", DOCUMENTED, IDLE)
    m.source("/sys/devices/system/cpu/cpufreq/policy37", PLAUSIBLE, "one CPU left on powersave on purpose")
    m.source("/sys/devices/system/cpu/**: numbering of siblings", DERIVED, "cores of both sockets first, then their second threads, as Linux numbers them")


def devices(m):
    pci = Pci(m, lambda node: ranges(SOCKET[node]))

    def root(base, node):
        r = pci.root(f"pci0000:{base:02x}", node)
        for at, device in (("00.0", 0x09a2), ("00.1", 0x09a4), ("00.2", 0x09a3)):
            r.add(at, 0x8086, device, 0x088000, (0x8086, 0x0000), rev=0x20, multi=True, aer=False,
                  pcie=Pcie(RC_ENDPOINT, 0x40, mps=128, mps_cap=128))
        return r

    def port(r, at, bus, link, device=0x352a):
        return r.add(at, 0x8086, device, 0x060400, driver="pcieport", rev=0x30, msix=2, acs=(0x005f, 0x0000),
                     pcie=Pcie(ROOT_PORT, 0x40, link, (32.0, 16), mps=512, mps_cap=512)).bus(bus)

    south = root(0x00, 0)
    usb = south.add("14.0", 0x8086, 0x1bcd, 0x0c0330, (0x1028, 0x0a6b), "xhci_hcd", rev=0x11)
    sata = south.add("17.0", 0x8086, 0x1ba2, 0x010601, (0x1028, 0x0a6b), "ahci", rev=0x11)
    bmc = port(south, "1c.0", 1, (5.0, 1), 0x1bb8).add("00.0", 0x1a03, 0x1150, 0x060400, rev=6,
                                                       pcie=Pcie(TO_PCI, 0x80, (5.0, 1), mps=128, mps_cap=128)).bus(2)
    bmc.add("00.0", 0x1a03, 0x2000, 0x030000, (0x1028, 0x0a6b), "ast", rev=0x52)
    r = root(0x30, 0)
    leg = port(r, "01.0", 0x31, (16.0, 8))
    nics = [leg.add(f"00.{f}", 0x8086, 0x159b, 0x020000, (0x8086, 0x0003), "ice", rev=2, multi=True, msix=64,
                    bars=[(0xc, 32 << 20)], pcie=Pcie(ENDPOINT, 0xa0, (16.0, 8), mps=512, mps_cap=512, mrrs=512))
            for f in (0, 1)]
    drives = []
    for base, node in ((0x50, 0), (0x70, 0), (0xb0, 1), (0xd0, 1)):
        r = root(base, node)
        drives.append(port(r, "01.0", base + 1, (16.0, 4)).add(
            "00.0", 0x144d, 0xa80a, 0x010802, (0x144d, 0xa813), "nvme", msix=130,
            pcie=Pcie(ENDPOINT, 0x70, (16.0, 4), mps=256, mps_cap=512)))
    pci.own_groups("DMA-FQ")
    pci.write()
    m.source("/sys/bus/pci/devices/**", PLAUSIBLE, "a server of this generation with few cards; ids from pci.ids")
    return pci, usb, sata, nics, drives


def storage(m, usb, sata, drives):
    for n, f in enumerate(drives):
        host.nvme(m, f, n, f"259:{n * 4}", "SAMSUNG MZQL27T6HBLA-00A07", "GDC5902Q", 15002931888,
                  [(1, 15002910720, "zfs_member"), (9, 16384, "")], nr_requests=1023)
    ata = f"{sata.path}/ata1/host0/target0:0:0/0:0:0:0"
    d = host.disk(m, "sda", f"{ata}/block", "8:0", 7814037168, "[mq-deadline] none",
                  [(1, 1050624, "vfat"), (2, 7812984832, "ext4")], rotational=1, nr_requests=64, max_sectors_kb=1280,
                  discard_max_bytes=0, wbt_lat_usec=75000, write_cache="write back",
                  udev=(("ID_BUS", "ata"), ("ID_MODEL", "ST4000NM024B-2TF100")))
    m.link(f"{d}/device", ata)
    m.puts(ata, model="ST4000NM024B-2TF", rev="SE03", vendor="ATA     ", queue_depth=32, type=0)
    stick = f"{usb.path}/usb1/1-4/1-4:1.0"
    scsi = f"{stick}/host6/target6:0:0/6:0:0:0"
    d = host.disk(m, "sdb", f"{scsi}/block", "8:16", 976773168, "[mq-deadline] none", [(1, 976771072, "exfat")], removable=0,
                  rotational=1, nr_requests=2, max_sectors_kb=120, max_hw_sectors_kb=120, discard_max_bytes=0,
                  wbt_lat_usec=75000, write_cache="write through",
                  udev=(("ID_BUS", "usb"), ("ID_MODEL", "Elements_25A2"), ("ID_USB_DRIVER", "usb-storage")))
    m.link(f"{d}/device", scsi)
    m.puts(scsi, model="Elements 25A2   ", rev="1014", vendor="WD      ", queue_depth=1, type=0)
    m.link(f"{stick}/driver", "/sys/bus/usb/drivers/usb-storage")
    m.puts(stick, bInterfaceClass="08", bInterfaceProtocol="50", bInterfaceSubClass="06")
    m.puts(f"{usb.path}/usb1/1-4", speed=480, idVendor="1058", idProduct="25a2", version=" 2.10")
    m.rows("/proc/self/mountinfo", [
        "26 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro",
        "27 26 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64",
        "28 26 8:1 / /boot/efi rw,relatime shared:30 - vfat /dev/sda1 rw",
        "31 26 0:50 / /tank rw,noatime shared:50 - zfs tank rw,xattr,posixacl,casesensitive",
        "32 26 8:17 / /mnt/usb rw,relatime shared:60 - exfat /dev/sdb1 rw",
        "29 26 0:32 / /dev/hugepages rw,relatime shared:15 - hugetlbfs hugetlbfs rw,pagesize=2M"])
    for path, size, free in (("/", 3930000000000, 3500000000000), ("/dev/shm", 540000000000, 540000000000),
                             ("/tank", 22700000000000, 9100000000000), ("/mnt/usb", 500000000000, 120000000000),
                             ("/boot/efi", 535805952, 529000000)):
        host.statfs(m, path, size, free)
    m.module("zfs", "2.1.11-1+deb12u1", {"zfs_arc_max": 0, "zfs_arc_min": 0, "zfs_arc_meta_limit": 0,
                                         "zfs_prefetch_disable": 0, "zfs_txg_timeout": 5, "zfs_dirty_data_max": 4294967296},
             refcnt=6, size=4087808)
    m.module("spl", "2.1.11-1+deb12u1", refcnt=6, size=126976, users="zfs,")
    m.put("/proc/spl/kstat/zfs/tank/state", "ONLINE")
    m.rows("/proc/spl/kstat/zfs/arcstats", ["13 1 0x01 147 39984 5203301102 918273645546372", "name                            type data",
                                            "hits                            4    918273645", "misses                          4    8273645",
                                            "size                            4    412316860416", "c                               4    541165879296",
                                            "c_min                           4    33822867456", "c_max                           4    541165879296",
                                            "arc_meta_used                   4    21474836480", "arc_meta_limit                  4    405874409472"])
    m.answer("zpool", "tank", "autotrim", "off")
    m.source("/sys/block/sdb: nr_requests 2 of a bulk-only USB disk", DOCUMENTED,
             "block/blk-mq-sched.c: twice the queue depth under an elevator; usb-storage has a depth of 1")
    m.source("/sys/block/sda: mq-deadline, 64 requests", DOCUMENTED, "block/elevator.c: mq-deadline for one hardware queue; AHCI depth of 32, doubled")
    m.source("/sys/module/zfs/**, /proc/spl/**", DERIVED, "OpenZFS 2.1 of Debian 12: ARC of half the memory, autotrim off by default")


def main():
    m = Machine("cpu-256", "A server of two Xeon Platinum 8592+ without a GPU: 256 CPUs, one of them with another governor; a ZFS "
                "pool, a hard disk and a USB disk.",
                {"nodename": "db07", "release": KERNEL, "version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1",
                 "machine": "x86_64", "euid": 0, "page_size": 4096, "time_s": 1772000000})
    processors(m)
    total, free = (528280000, 528460000), (51300000, 49100000)
    host.memory(m, sum(total), sum(free), 512000000, 8123000, 999420, 999420)
    host.huge_pages(m, [2048, 1048576], "[always] madvise never", "always defer defer+madvise [madvise] never",
                    shmem="always within_size advise [never] deny force")
    host.numa(m, {n: (SOCKET[n], total[n], free[n]) for n in (0, 1)}, {0: "10 21", 1: "21 10"}, [2048, 1048576])
    m.swap("/dev/sda3", "partition", 999420)
    host.sysctls(m, kernel__numa_balancing=1, vm__max_map_count=65530, net__core__optmem_max=20480, kernel__tainted=4097,
                 vm__dirty_ratio=40, vm__swappiness=10)
    pci, usb, sata, nics, drives = devices(m)
    host.loopback(m)
    for i, f in enumerate(nics):
        host.interface(m, f"ens1f{i}", 2 + i, f, speed=25000, driver="ice", firmware="4.40 0x8001c967 1.3534.0", max_mtu=9702,
                       rings=(2048, 8160, 256, 8160), coalesce=(50, 50, 1), channels=(128, 128),
                       ipv4="203.0.113.7/24" if i == 0 else "", carrier=1 - i)
    storage(m, usb, sata, drives)
    m.put("/proc/cmdline", f"BOOT_IMAGE=/vmlinuz-{KERNEL} root=UUID=00000000-0000-0000-0000-000000000002 ro quiet intel_iommu=on")
    m.rows("/usr/lib/os-release", ['PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"', 'NAME="Debian GNU/Linux"', 'VERSION_ID="12"',
                                   'VERSION="12 (bookworm)"', "VERSION_CODENAME=bookworm", "ID=debian"])
    m.link_as("/etc/os-release", "../usr/lib/os-release")
    m.link_as("/lib", "usr/lib")
    m.put("/proc/1/comm", "systemd")
    m.rows("/run/systemd/system/netplan-ovs-cleanup.service", ["[Unit]", "Description=OpenVSwitch configuration for cleanup"])
    m.rows("/etc/sysctl.d/90-database.conf", ["# Set by the people who run the database.", "vm.dirty_ratio = 40", "vm.swappiness = 10"])
    m.rows("/etc/network/interfaces", ["auto ens1f0", "iface ens1f0 inet static", "\taddress 203.0.113.7/24"])
    m.rows("/proc/net/softnet_stat", ["00ab12cd 00000005 00000002 00000000 00000000 00000000 00000000 00000000 00000000 "
                                      f"00000000 00000000 00000000 {c:08x}" for c in range(256)])
    host.dmi(m, sys_vendor="Dell Inc.", product_name="PowerEdge R760", board_vendor="Dell Inc.", board_name="0VRV9X",
             bios_vendor="Dell Inc.", bios_version="2.4.4", bios_date="09/27/2024", chassis_type=23)
    host.efi(m, 1, "integrity")
    for name, enabled, active in (("irqbalance", 1, 1), ("zfs-zed", 1, 1), ("ssh", 1, 1), ("cpupower", 1, 0)):
        m.service(name, enabled, active)
    for name in ("ice", "nvme", "ahci", "usb_storage", "mei_me"):
        m.module(name, refcnt=1, size=262144)
    m.put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    m.answers("nvml", "*", {"*": {"error": "ELIBACC"}})
    m.answers("cuda", "*", {"*": {"error": "ELIBACC"}})
    host.limits(m, 8388608)
    m.source("everything else", PLAUSIBLE, "Debian 12 with its defaults and a few hand-set values")
    m.source("/proc/sys/**", DOCUMENTED, "Linux Documentation/admin-guide/sysctl and ip-sysctl: the kernel's defaults")
    config.cpu_256(m)
    m.write()
    print(f"{len(pci.functions)} PCI functions")


main()
