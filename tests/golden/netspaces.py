#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""N "DGX Sparks" as network namespaces: four data ports each (two cages of two twins) as ends of veth pairs, a management port on a
bridge, and for each node a folder laid over the captured Spark (build/machines/dgx-spark), whose interfaces have the names of the
namespace's.
What a veth cannot have (PCI address, phys_port_name, RDMA devices, GIDs) is the capture's; links, addresses, MTU, routes and the
firewall are the namespace's. Everything made here is taken down by close()."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from common import machines

spark = machines / "dgx-spark"
# Cage, twin: interface, PCI address, RDMA device.
PORTS = {
    (0, 0): ("enp1s0f0np0", "0000:01:00.0", "rocep1s0f0"),
    (0, 1): ("enP2p1s0f0np0", "0002:01:00.0", "roceP2p1s0f0"),
    (1, 0): ("enp1s0f1np1", "0000:01:00.1", "rocep1s0f1"),
    (1, 1): ("enP2p1s0f1np1", "0002:01:00.1", "roceP2p1s0f1"),
}
MANAGEMENT = "enP7s7"


def run(*argv, check=True, **more):
    p = subprocess.run(argv, capture_output=True, text=True, **more)
    if check and p.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {p.stderr.strip()}")
    return p


def possible():
    """None, or why namespaces cannot be made and entered here."""
    if not shutil.which("ip"):
        return "iproute2 is not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"gtprobe{os.getpid()}"
    try:
        if run("ip", "netns", "add", name, check=False).returncode:
            return "network namespaces cannot be made here"
        if run("ip", "netns", "exec", name, "true", check=False).returncode:
            return "network namespaces cannot be entered here"
        if run("ip", "-n", name, "link", "add", "gtp0", "type", "veth", "peer", "name", "gtp1",
               check=False).returncode:
            return "the kernel has no veth"
    finally:
        run("ip", "netns", "del", name, check=False)
    return None


class Sparks:
    """Nodes spark-1 .. spark-N. cable((1, 0), (2, 0)) joins cage p0 of spark-1 with cage p0 of spark-2."""

    def __init__(self, n, management=True):
        self.tag = f"{os.getpid() % 100000}"
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="gputune-sparks-"))
        self.names = [f"spark-{i + 1}" for i in range(n)]
        self.spaces = {name: f"gt{self.tag}-{name}" for name in self.names}
        self.hub = f"gt{self.tag}-hub"
        self.made = []
        self.cabled = set()
        self.switches = 0
        self.tmp.chmod(0o755)
        try:
            for space in [*self.spaces.values(), self.hub]:
                run("ip", "netns", "add", space)
                self.made.append(space)
                run("ip", "-n", space, "link", "set", "lo", "up")
                # Link-local addresses are there at once, not after a second of looking for doubles.
                self.inside(space, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
            self.ip(self.hub, "link", "add", "mgmt", "type", "bridge")
            self.ip(self.hub, "addr", "add", "10.77.0.254/24", "dev", "mgmt")
            self.ip(self.hub, "link", "set", "mgmt", "up")
            for i, name in enumerate(self.names):
                self.capture(name)
                if management:
                    self.veth(self.spaces[name], MANAGEMENT, self.hub, f"m{i + 1}")
                    self.ip(self.hub, "link", "set", f"m{i + 1}", "master", "mgmt")
                    self.ip(name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", MANAGEMENT)
                    self.ip(name, "route", "add", "default", "via", "10.77.0.254")
        except Exception:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for space in self.made:
            for pid in run("ip", "netns", "pids", space, check=False).stdout.split():
                try:
                    os.kill(int(pid), 9)
                except OSError:
                    pass
            run("ip", "netns", "del", space, check=False)
        self.made = []
        shutil.rmtree(self.tmp, ignore_errors=True)

    # --- links ---------------------------------------------------------------------------------------------------------------------------

    def space(self, node):
        return self.spaces.get(node, node) if isinstance(node, str) else self.spaces[self.names[node - 1]]

    def name(self, node):
        return node if isinstance(node, str) else self.names[node - 1]

    def ip(self, node, *argv, check=True):
        return run("ip", "-n", self.space(node), *argv, check=check)

    def inside(self, node, *argv, **more):
        return run("ip", "netns", "exec", self.space(node), *argv, **more)

    def veth(self, a, a_name, b, b_name, mtu=1500):
        run("ip", "link", "add", a_name, "netns", a, "type", "veth", "peer", "name", b_name, "netns", b)
        for space, port in ((a, a_name), (b, b_name)):
            run("ip", "-n", space, "link", "set", port, "mtu", str(mtu), "up")

    def cable(self, a, b, mtu=9000):
        """Both twins of a cage with both twins of another: (node, cage) with nodes from 1, cages 0 and 1."""
        for twin in (0, 1):
            self.veth(self.space(a[0]), PORTS[a[1], twin][0], self.space(b[0]), PORTS[b[1], twin][0], mtu)
        for end in (a, b):
            for twin in (0, 1):
                self.plugged(end[0], end[1], twin)

    def switch(self, ends, mtu=9000):
        """A bridge with both twins of each (node, cage); it keeps link-local frames to itself, as switches do."""
        self.switches += 1
        bridge = f"sw{self.switches}"
        self.ip(self.hub, "link", "add", bridge, "type", "bridge")
        self.ip(self.hub, "link", "set", bridge, "mtu", str(mtu), "up")
        for k, (node, cage) in enumerate(ends):
            for twin in (0, 1):
                port = f"s{self.switches}p{k}t{twin}"
                self.veth(self.space(node), PORTS[cage, twin][0], self.hub, port, mtu)
                self.ip(self.hub, "link", "set", port, "master", bridge)
                self.plugged(node, cage, twin)
        return bridge

    def address(self, node, cage, twin, text):
        """An address on a port, and the RoCE GIDs that the driver would make of it."""
        self.ip(node, "addr", "add", text, "dev", PORTS[cage, twin][0])
        four = socket.inet_aton(text.split("/")[0])
        gid = "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x" % tuple(four)
        self.gid(node, cage, twin, 2, gid, "IB/RoCE v1")
        self.gid(node, cage, twin, 3, gid, "RoCE v2")

    def official(self, a, b, subnet):
        """Addresses of a cable as they should be: one subnet a twin, 192.168.SUBNET and the one after it."""
        for twin in (0, 1):
            self.address(a[0], a[1], twin, f"192.168.{subnet + twin}.{a[0]}/24")
            self.address(b[0], b[1], twin, f"192.168.{subnet + twin}.{b[0]}/24")

    # --- captures ------------------------------------------------------------------------------------------------------------------------

    def capture(self, name):
        """A folder of what differs on this node, laid over the one captured Spark."""
        place = self.tmp / self.spaces[name]
        place.mkdir()
        meta = json.loads((spark / "meta.json").read_text())
        meta["identity"]["nodename"] = name
        (place / "meta.json").write_text(json.dumps(meta))

    def put(self, node, path, text):
        """A file of the node's captured machine: path is absolute there, and no link on its way."""
        at = self.tmp / self.space(node) / "root" / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text + "\n")

    def remove(self, node, path):
        for at in (self.tmp / self.space(node) / "root" / path.lstrip("/"),):
            if at.is_dir():
                shutil.rmtree(at)
            else:
                at.unlink(missing_ok=True)
        gone = self.tmp / self.space(node) / "gone/root" / path.lstrip("/")
        gone.mkdir(parents=True, exist_ok=True)
        (gone / ".gputune-gone").touch()

    def answers(self, node, api, old=None, new=None):
        """What a library answers there: as captured, or with a text replaced."""
        at = self.tmp / self.space(node) / "api" / f"{api}.json"
        at.parent.mkdir(exist_ok=True)
        text = (spark / "api" / f"{api}.json").read_text()
        at.write_text(text.replace(old, new) if old else text)

    def device(self, cage, twin):
        pci = PORTS[cage, twin][1]
        return f"/sys/devices/pci{pci[:4]}:00/{pci[:4]}:00:00.0/{pci}"

    def rdma(self, cage, twin):
        return f"{self.device(cage, twin)}/infiniband/{PORTS[cage, twin][2]}/ports/1"

    def gid(self, node, cage, twin, index, gid, kind):
        at = self.rdma(cage, twin)
        self.put(node, f"{at}/gids/{index}", gid)
        self.put(node, f"{at}/gid_attrs/types/{index}", kind)
        self.put(node, f"{at}/gid_attrs/ndevs/{index}", PORTS[cage, twin][0])

    def plugged(self, node, cage, twin):
        net = f"{self.device(cage, twin)}/net/{PORTS[cage, twin][0]}"
        self.put(node, f"{net}/speed", "200000")
        self.put(node, f"{net}/carrier", "1")
        self.put(node, f"{net}/operstate", "up")
        self.put(node, f"{self.rdma(cage, twin)}/state", "4: ACTIVE")
        self.put(node, f"{self.rdma(cage, twin)}/phys_state", "5: LinkUp")
        self.put(node, f"{self.rdma(cage, twin)}/rate", "200 Gb/sec (4X HDR)")

    def no_adapter(self, node):
        """As a Spark without a cable: the adapter is not on PCI."""
        for (cage, twin), (name, pci, rdma) in PORTS.items():
            self.remove(node, f"/sys/class/net/{name}")
            self.remove(node, f"/sys/class/infiniband/{rdma}")
            self.remove(node, f"/sys/bus/pci/devices/{pci}")
            self.remove(node, self.device(cage, twin))

    # --- the program ---------------------------------------------------------------------------------------------------------------------

    def nodes_file(self):
        path = self.tmp / "nodes"
        path.write_text("# name, namespace\n" + "".join(f"{n} {s}\n" for n, s in self.spaces.items()))
        return str(path)

    def nodes(self, gputune):
        """The options that make every part of "gputune cluster" work on these nodes."""
        return ["--nodes-file", self.nodes_file(), "--rsh", "ip netns exec {node}", "--node-command",
                f"{gputune} cluster node --host {spark} --overlay {self.tmp}/{{node}}"]


def official_cabling(s, n):
    """2: one cable, p0 to p0. 3 and 4: a ring, p0 of each to p1 of the next."""
    if n == 2:
        pairs = [((1, 0), (2, 0))]
    else:
        pairs = [((i + 1, 0), ((i + 1) % n + 1, 1)) for i in range(n)]
    for k, (a, b) in enumerate(pairs):
        s.cable(a, b)
        s.official(a, b, 100 + 2 * k)
    return pairs
