# SPDX-License-Identifier: Apache-2.0
"""
PCI functions: configuration space with its capabilities, and the files and links that the kernel makes
of it. Layout of the registers: linux/pci_regs.h; of the folders: Documentation/ABI/testing/sysfs-bus-pci.
"""
import struct

SPEEDS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
ENDPOINT, LEGACY, ROOT_PORT, UPSTREAM, DOWNSTREAM, TO_PCI, RC_ENDPOINT, RC_COLLECTOR = 0, 1, 4, 5, 6, 7, 9, 10
TYPE1 = (ROOT_PORT, UPSTREAM, DOWNSTREAM, TO_PCI)

AER_CORRECTABLE = "RxErr BadTLP BadDLLP Rollover Timeout NonFatalErr CorrIntErr HeaderOF".split()
AER_UNCORRECTABLE = ("Undefined DLP SDES TLP FCP CmpltTO CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol "
                     "UncorrIntErr BlockedTLP AtomicOpBlocked TLPBlockedErr PoisonTLPBlocked").split()


def log2(n):
    assert n & (n - 1) == 0
    return n.bit_length() - 1


class Pcie:
    """The PCI Express capability: kind of port, link now and at most, transfer sizes."""

    def __init__(self, kind=ENDPOINT, at=0x40, link=None, most=None, mps=128, mps_cap=256, mrrs=512, ro=True,
                 aspm=0, aspm_cap=2):
        self.kind, self.at, self.link, self.most = kind, at, link, most or link
        self.mps, self.mps_cap, self.mrrs, self.ro = mps, mps_cap, mrrs, ro
        self.aspm, self.aspm_cap = aspm, aspm_cap

    def write(self, c):
        slot = 0x100 if self.kind in (ROOT_PORT, DOWNSTREAM) else 0
        struct.pack_into("<H", c, self.at + 2, 2 | self.kind << 4 | slot)
        struct.pack_into("<I", c, self.at + 4, log2(self.mps_cap // 128) | 0x20 | 0x8000 |
                         (0x10000000 if self.kind == ENDPOINT else 0))
        struct.pack_into("<H", c, self.at + 8, 0x0f | (0x10 if self.ro else 0) | log2(self.mps // 128) << 5 |
                         0x100 | 0x800 | log2(self.mrrs // 128) << 12)
        if self.most:
            struct.pack_into("<I", c, self.at + 12, SPEEDS[self.most[0]] | self.most[1] << 4 | self.aspm_cap << 10)
            struct.pack_into("<H", c, self.at + 16, self.aspm | 0x40)
            now = SPEEDS[self.link[0]] | self.link[1] << 4 if self.link else 0
            struct.pack_into("<H", c, self.at + 18, now | 0x1000 | (0x2000 if slot else 0))
            struct.pack_into("<I", c, self.at + 0x2c, (2 << SPEEDS[self.most[0]]) - 2)
            struct.pack_into("<H", c, self.at + 0x30, SPEEDS[self.most[0]])
        struct.pack_into("<I", c, self.at + 0x24, 0x1f)
        struct.pack_into("<H", c, self.at + 0x28, 0x400 if self.kind in TYPE1 else 0)


class Function:
    def __init__(self, pci, parent, address, path, vendor, device, cls, sub=None, driver=None, pcie=None, rev=0,
                 numa=None, aer=True, acs=None, rebar=None, msix=0, group=None, vfs=None, physfn=None, bars=(),
                 multi=False, errors=None, runtime="active", caps=(), exts=()):
        """bars: (flags, size) or (flags, size, address). caps: (offset, number) of further capabilities. exts: (offset, number,
        version, first register), the extended ones of a function whose chain is known; the usual chain is made otherwise."""
        self.pci, self.parent, self.address, self.path = pci, parent, address, path
        self.vendor, self.device, self.cls, self.sub = vendor, device, cls, sub
        self.driver, self.pcie, self.rev, self.aer = driver, pcie, rev, aer and pcie is not None
        self.acs, self.rebar, self.msix, self.group = acs, rebar, msix, group
        self.vfs, self.physfn, self.bars, self.multi = vfs, physfn, bars, multi
        self.errors, self.runtime = errors or {}, runtime
        self.numa, self.caps, self.exts = numa, list(caps), list(exts)
        self.secondary = self.subordinate = None

    def bus(self, secondary, subordinate=None):
        """Makes this function a bridge to a bus."""
        self.secondary, self.subordinate = secondary, secondary if subordinate is None else subordinate
        return self

    def add(self, devfn, *args, bus=None, **kwargs):
        """A function on the bus below, "00.0"."""
        domain = self.address.split(":")[0]
        number = self.secondary if bus is None else bus
        self.subordinate = max(self.subordinate, number)
        address = f"{domain}:{number:02x}:{devfn}"
        return self.pci.make(self, address, f"{self.path}/{address}", *args, **kwargs)

    # --- configuration space ---------------------------------------------------------------------------

    def config(self):
        extended = self.pcie is not None
        c = bytearray(4096 if extended else 256)
        bridge = self.secondary is not None
        struct.pack_into("<HHHH", c, 0, self.vendor, self.device, 0x0406 if self.driver else 0x0006, 0x0010)
        c[8] = self.rev
        c[9:12] = struct.pack("<I", self.cls)[:3]
        c[0x0e] = (1 if bridge else 0) | (0x80 if self.multi else 0)
        caps = self.caps[:]
        if bridge:
            primary = int(self.address.split(":")[1], 16)
            c[0x18], c[0x19], c[0x1a] = primary, self.secondary, self.subordinate
        else:
            for i, (flags, _, *at) in enumerate(self.bars):
                struct.pack_into("<I", c, 0x10 + 4 * i, flags | sum(at))
            if self.sub:
                struct.pack_into("<HH", c, 0x2c, *self.sub)
        if self.pcie:
            caps.append((self.pcie.at, 0x10))
            self.pcie.write(c)
            free = [o for o in (0x40, 0x50, 0xc0, 0xd0, 0xe0) if not -0x10 < o - self.pcie.at < 0x3c]
            power = free.pop(0)
            caps.append((power, 0x01))
            struct.pack_into("<HH", c, power + 2, 0x0003, 0x0008)
            if self.msix:
                at = next((o for o, number in caps if number == 0x11), 0) or free.pop()
                caps = [c for c in caps if c[1] != 0x11] + [(at, 0x11)]
                struct.pack_into("<HII", c, at + 2, self.msix - 1 | 0x8000, 0x2000, 0x3000)
            if bridge and self.sub:
                at = free.pop()
                caps.append((at, 0x0d))
                struct.pack_into("<HH", c, at + 4, *self.sub)
        if caps:
            caps.sort()
            c[0x34] = caps[0][0]
            for (at, number), following in zip(caps, caps[1:] + [(0, 0)]):
                c[at], c[at + 1] = number, following[0]
        else:
            struct.pack_into("<H", c, 6, 0)
        if extended:
            self.write_extended(c)
        return bytes(c)

    def write_extended(self, c):
        caps = [e[:3] for e in self.exts]
        for at, _, _, first in self.exts:
            struct.pack_into("<I", c, at + 4, first)
        if self.aer and not self.exts:
            caps.append((0x100, 0x0001, 2))
        if self.physfn or (self.vfs is not None):
            caps.append((0x150, 0x000e, 1))
        if self.vfs is not None:
            total, now = self.vfs
            caps.append((0x180, 0x0010, 1))
            struct.pack_into("<HHHHHH", c, 0x180 + 8, 0x19 if now else 0, 0, total, total, now, 0)
        if self.pcie.link and not self.exts and max(self.pcie.most[0], 8.0) >= 8.0 and self.pcie.kind != RC_ENDPOINT:
            caps.append((0x1c0, 0x0019, 1))
        if self.acs:
            caps.append((0x2a0, 0x000d, 1))
            struct.pack_into("<HH", c, 0x2a4, *self.acs)
        if self.rebar:
            # (BAR, sizes as exponents over 1 MiB, exponent now)
            bar, sizes, now = self.rebar
            caps.append((0xbb0, 0x0015, 1))
            struct.pack_into("<II", c, 0xbb4, sum(16 << s for s in sizes), bar | 1 << 5 | now << 8)
        for (at, number, version), following in zip(caps, caps[1:] + [(0, 0, 0)]):
            struct.pack_into("<I", c, at, number | version << 16 | following[0] << 20)

    # --- files -----------------------------------------------------------------------------------------

    def write(self):
        m, d = self.pci.machine, self.path
        m.link(f"/sys/bus/pci/devices/{self.address}", d)
        m.puts(d, vendor=f"0x{self.vendor:04x}", device=f"0x{self.device:04x}")
        m.put(f"{d}/class", f"0x{self.cls:06x}")
        sub = self.sub or (0, 0)
        m.rows(f"{d}/uevent", ([f"DRIVER={self.driver}"] if self.driver else []) + [
            f"PCI_CLASS={self.cls:X}", f"PCI_ID={self.vendor:04X}:{self.device:04X}",
            f"PCI_SUBSYS_ID={sub[0]:04X}:{sub[1]:04X}", f"PCI_SLOT_NAME={self.address}"])
        m.puts(d, subsystem_vendor=f"0x{sub[0]:04x}", subsystem_device=f"0x{sub[1]:04x}")
        m.put(f"{d}/numa_node", self.node())
        m.put(f"{d}/irq", 0)
        m.rows(f"{d}/resource", self.resource())
        m.raw(f"{d}/config", self.config())
        if self.driver:
            m.put(f"{d}/local_cpulist", self.pci.local_cpus(self.node()))
            m.link(f"{d}/driver", f"/sys/bus/pci/drivers/{self.driver}")
        if self.pcie and self.pcie.kind not in (RC_ENDPOINT, RC_COLLECTOR):
            self.write_link(m, d)
        if self.pcie:
            m.put(f"{d}/power/runtime_status", self.runtime)
        if self.aer:
            self.write_aer(m, d)
        if self.group is not None:
            m.link(f"{d}/iommu_group", f"/sys/kernel/iommu_groups/{self.group}")
        if self.vfs is not None:
            m.puts(d, sriov_totalvfs=self.vfs[0], sriov_numvfs=self.vfs[1])
        if self.physfn:
            m.link(f"{d}/physfn", self.physfn.path)

    def resource(self):
        """Six BARs, the expansion ROM, and of a bridge its windows: start, end, flags."""
        rows, start = [], 0x1000000000
        for i in range(13 if self.secondary is not None else 7):
            flags, size, *at = self.bars[i] if i < len(self.bars) else (0, 0)
            if size:
                start = at[0] if at else (start + size - 1) // size * size
                rows.append(f"0x{start:016x} 0x{start + size - 1:016x} 0x{0x14220c if flags & 8 else 0x40200:016x}")
                start += size
            else:
                rows.append("0x0000000000000000 0x0000000000000000 0x0000000000000000")
        return rows

    def node(self):
        if self.numa is None:
            return self.parent.node() if self.parent else -1
        return self.numa

    def write_link(self, m, d):
        for name, link in (("current", self.pcie.link), ("max", self.pcie.most)):
            m.put(f"{d}/{name}_link_speed", f"{link[0]:.1f} GT/s PCIe" if link else "Unknown")
            m.put(f"{d}/{name}_link_width", link[1] if link else (0 if name == "current" else 255))

    def write_aer(self, m, d):
        for name, kinds, total in (("correctable", AER_CORRECTABLE, "COR"), ("fatal", AER_UNCORRECTABLE, "FATAL"),
                                   ("nonfatal", AER_UNCORRECTABLE, "NONFATAL")):
            counts = self.errors.get(name, {})
            rows = [f"{k} {counts.get(k, 0)}" for k in kinds]
            m.rows(f"{d}/aer_dev_{name}", rows + [f"TOTAL_ERR_{total} {sum(counts.values())}"])


class Root(Function):
    """A host bridge's bus: a folder, not a function."""

    def __init__(self, pci, name, path, numa):
        self.pci, self.parent, self.numa = pci, None, numa
        domain, number = name[3:].split(":")
        self.address, self.path = f"{domain}:{number}:ff.7", path
        self.secondary = self.subordinate = int(number, 16)


class Pci:
    def __init__(self, machine, local_cpus):
        """local_cpus: a function of the node's number that gives its CPUs as the kernel lists them."""
        self.machine, self.functions, self.local_cpus = machine, [], local_cpus
        self.groups = {}

    def root(self, name, numa=-1, under="/sys/devices"):
        return Root(self, name, f"{under}/{name}", numa)

    def make(self, parent, address, path, *args, **kwargs):
        f = Function(self, parent, address, path, *args, **kwargs)
        self.functions.append(f)
        return f

    def own_groups(self, kind):
        """One IOMMU group a function, in order: what ACS isolation gives."""
        for n, f in enumerate(self.functions):
            f.group = n
            self.groups[n] = kind

    def group_of(self, functions, number, kind):
        for f in functions:
            f.group = number
        self.groups[number] = kind

    def write(self):
        for f in self.functions:
            f.write()
        for n, kind in self.groups.items():
            self.machine.put(f"/sys/kernel/iommu_groups/{n}/type", kind)
