#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cluster plan, undo and the rollback timer as a user meets them. A node is a process with network, mount and host name namespaces of its own:
its /etc, /run and /var/lib are its alone, its ports are veth pairs, so that everything is really changed and really taken back. What needs
hardware (RDMA, twins of a cage) is in tests/unit. Takes the file of the program."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from common import end_suite, expect, fits, gputune, scratch, skip, until

tmp = scratch("cluster")
enter = tmp / "enter"


def sh(*argv, check=True, **how):
    return subprocess.run(argv, check=check, capture_output=True, text=True, timeout=60, **how)


class Node:
    """One machine: etc/ below its folder is its /etc."""

    def __init__(self, name):
        self.name, self.dir = name, tmp / name
        (self.dir / "etc/ssh").mkdir(parents=True)
        for f in ("passwd", "group", "nsswitch.conf", "ld.so.cache"):
            if os.path.exists("/etc/" + f):
                shutil.copy("/etc/" + f, self.dir / "etc" / f)
        # Its own root, whose home is its own: no configuration of this machine's ssh.
        home = self.dir / "home"
        home.mkdir(mode=0o700)
        users = [f"root:x:0:0:root:{home}:/bin/sh" if u.startswith("root:") else u for u in (self.dir / "etc/passwd").read_text().splitlines()]
        (self.dir / "etc/passwd").write_text("\n".join(users) + "\n")
        (self.dir / "etc/shadow").write_text("root:*:19000:0:99999:7:::\n")
        (self.dir / "etc/hosts").write_text("127.0.0.1 localhost\n# mine")
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sleep", "600"])
        # It sleeps once it has left all of this machine's namespaces and what is mounted there is its own.
        comm = pathlib.Path(f"/proc/{self.holder.pid}/comm")
        until(lambda: self.holder.poll() is not None or comm.read_text() == "sleep\n")
        if self.holder.poll() is not None:
            raise OSError("no namespaces")
        (tmp / (name + ".pid")).write_text(str(self.holder.pid))
        self.run("sh", "-c", f"echo {name} >/proc/sys/kernel/hostname")
        self.run("mount", "-t", "sysfs", "sysfs", "/sys")
        self.run("mount", "--bind", str(self.dir / "etc"), "/etc")
        for path in ("/run", "/var/lib"):
            self.run("mount", "-t", "tmpfs", "tmpfs", path)
        self.run("ip", "link", "set", "lo", "up")

    def run(self, *argv, check=True, **how):
        return sh(str(enter), self.name, *argv, check=check, **how)

    def addresses(self):
        j = json.loads(self.run("ip", "-j", "-4", "address").stdout)
        return sorted((i["ifname"], i["mtu"], sorted(f'{a["local"]}/{a["prefixlen"]}' for a in i["addr_info"])) for i in j
                      if i["ifname"] != "lo")

    def state(self):
        """All that a plan may change: addresses, MTUs, /etc to the byte, files of owners below /run."""
        files = {}
        for top in ("etc",):
            for p in sorted((self.dir / top).rglob("*")):
                st = p.lstat()
                files[str(p)] = (oct(st.st_mode), hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else "")
        runs = self.run("sh", "-c", "ls -R /run/netplan /run/systemd /run/NetworkManager 2>/dev/null", check=False).stdout
        return self.addresses(), files, runs

    def end(self):
        self.holder.kill()
        self.holder.wait()


def wire(a, pa, b, pb):
    """A cable: one veth pair, both ends up and without addresses of version 6 that come by themselves."""
    sh("ip", "link", "add", "name", pa, "netns", str(a.holder.pid), "type", "veth", "peer", "name", pb, "netns", str(b.holder.pid))
    for n, p in ((a, pa), (b, pb)):
        n.run("ip", "link", "set", p, "up")


def cluster(*argv, nodes, kill_at=None, stdin=None, timeout=60):
    return subprocess.run([gputune, "cluster", *argv, "--nodes", ",".join(n.name for n in nodes), "--rsh", f"{enter} {{node}}",
                           "--node-command", f"{gputune} cluster node"], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def plan(what, *argv, nodes, code, name="plan", verb="plan"):
    extra = ["--all-links", "--for", "200ms"] if verb == "plan" else []
    p = cluster(verb, *argv, *extra, "--format", "json", nodes=nodes)
    j = fits(what, p.stdout, f"cluster-{name}", p.stderr[:500])
    if j:
        expect(what, p.returncode == code and j["exit_code"] == code, (p.returncode, p.stderr[-500:], p.stdout[:500]))
    return j


def begin(*argv, nodes):
    """A coordinator under way whose sentences are read line by line."""
    return subprocess.Popen([gputune, "cluster", "plan", "--topology", "pair", "--apply", "--yes", "--all-links", "--for", "200ms", *argv, "--nodes",
                             ",".join(n.name for n in nodes), "--rsh", f"{enter} {{node}}", "--node-command",
                             f"{gputune} cluster node"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def deaf(node, yes):
    """Echoes to it are not answered: its coordinator waits for them for 1.5 s, and that is when things happen to it."""
    node.run("sh", "-c", f"echo {int(yes)} >/proc/sys/net/ipv4/icmp_echo_ignore_all")


def until_says(p, words):
    for line in p.stderr:
        if words in line:
            return True
    return False


def until_back(nodes, before, seconds):
    """How long it took until all nodes are as they were; None: they are not."""
    start = time.monotonic()
    return time.monotonic() - start if until(lambda: [n.state() for n in nodes] == before, seconds, 0.1) else None


def node_programs(node):
    """Process numbers of the node programs in a node's namespaces."""
    ns = os.readlink(f"/proc/{node.holder.pid}/ns/net")
    out = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(p / "ns/net") == ns and os.readlink(p / "exe") == gputune:
                out.append((int(p.name), (p / "cmdline").read_bytes().split(b"\0")[1:-1]))
        except OSError:
            pass
    return out


def is_clean(what, nodes):
    left = lambda: [(n.name, node_programs(n)) for n in nodes if node_programs(n)]  # noqa: E731
    until(lambda: not left(), 30, 0.1)
    claims = [n.name for n in nodes if n.run("ls", "/run/gputune/take-back", check=False).returncode == 0]
    expect(f"{what}: nothing is left running", not left() and not claims, (left(), claims))


# --- words ------------------------------------------------------------------------------------------------------------------------------

for argv, words in ((["plan", "--topology", "star"], "topology"), (["plan", "--mtu", "12"], "mtu"), (["plan", "--subnets", "10.0.0.0/30"], "subnets"),
                    (["plan", "--subnets", "10.0.0.1/16"], "subnets"), (["plan", "--confirm-within", "1h"], "confirm-within"),
                    (["plan", "--apply", "--dry-run"], "dry-run"), (["plan"], "nodes"), (["undo"], "nodes")):
    p = sh(gputune, "cluster", *argv, check=False)
    expect(f"cluster {argv}", p.returncode == 2 and words in p.stderr, (p.returncode, p.stderr))

try:
    enter.write_text(f'#!/bin/sh\nname=$1\nshift\nexec nsenter -t "$(cat {tmp}/$name.pid)" -n -m -u -- "$@"\n')
    enter.chmod(0o755)
    a, b, c, d = (Node(n) for n in ("alpha", "beta", "gamma", "delta"))
except (OSError, subprocess.SubprocessError) as e:
    skip("cluster plan between nodes", f"namespaces cannot be entered here ({e})")
    shutil.rmtree(tmp, ignore_errors=True)
    end_suite()

try:
    P = ("enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1")

    # --- a pair, whose ports nobody configures -------------------------------------------------------------------------------------------

    for p in P[:2]:
        wire(a, p, b, p)
    pair, before = [a, b], [a.state(), b.state()]
    j = plan("a plan is shown", "--topology", "pair", nodes=pair, code=1)
    if j:
        expect("two paths, two subnets", [p["subnet"] for p in j["paths"]] == ["192.168.100.0/24", "192.168.101.0/24"], j["paths"])
        expect("MTU 9000", all(p["mtu_bytes"] == 9000 for p in j["paths"]), j["paths"])
        expect("what each node changes", all(sorted(c["kind"] for c in n["changes"]) == ["address", "address", "block", "link", "link"]
                                             for n in j["nodes"]), j["nodes"])
        expect("nobody configures the ports", all("lost at a reboot" in n["notes"][0] for n in j["nodes"]), j["nodes"])
    expect("showing changes nothing", [a.state(), b.state()] == before and not (a.run("ls", "/var/lib/gputune", check=False).returncode == 0))
    p = cluster("discover", "--all-links", "--for", "200ms", "--format", "json", nodes=pair)
    (tmp / "found.json").write_text(p.stdout)
    p = sh(gputune, "cluster", "plan", "--from", str(tmp / "found.json"), "--topology", "pair", "--format", "json", check=False)
    kept = json.loads(p.stdout) if p.stdout.startswith("{") else {}
    expect("of a kept discovery addresses are planned and nobody is asked", p.returncode == 1 and j and
           [q["subnet"] for q in kept.get("paths", [])] == [q["subnet"] for q in j["paths"]] and all(n["state"] is None for n in kept["nodes"]),
           (p.returncode, p.stderr, p.stdout[:300]))
    p = cluster("plan", "--topology", "pair", "--all-links", "--for", "200ms", nodes=pair)
    expect("as a page", p.returncode == 1 and all(w in p.stdout for w in ("192.168.101.0/24", "mtu of " + P[0], "beta-fabric2", "when confirmed")),
           p.stdout)
    plan("another topology than the cables' is not applied", "--topology", "ring", "--apply", "--yes", nodes=pair, code=3)
    expect("without --yes nobody is asked", cluster("plan", "--topology", "pair", "--apply", "--all-links", "--for", "200ms", nodes=pair).returncode == 2)
    expect("nothing was changed", [a.state(), b.state()] == before)

    j = plan("it is made so", "--topology", "pair", "--apply", "--yes", nodes=pair, code=0)
    if j:
        expect("kept on both", all(n["state"] == "kept" and n["dead_man"] for n in j["nodes"]), [n["state"] for n in j["nodes"]])
        expect("echoes both ways on both paths", len(j["echoes"]) == 4 and all(x["good"] and x["bytes"] == 8972 for x in j["echoes"]), j["echoes"])
    expect("addresses and MTU are there", [(m, x) for _, m, x in a.addresses()] == [(9000, ["192.168.100.1/24"]), (9000, ["192.168.101.1/24"])], a.addresses())
    expect("names are there", "192.168.100.2\tbeta-fabric\n" in (a.dir / "etc/hosts").read_text(), (a.dir / "etc/hosts").read_text())
    is_clean("applied", pair)
    j = plan("a second time there is nothing to do", "--topology", "pair", "--apply", "--yes", nodes=pair, code=0)
    expect("and that is said", j and all(n["state"] == "nothing-to-do" for n in j["nodes"]), j)
    with open(a.dir / "etc/hosts", "a") as f:
        f.write("10.0.0.9 added\n")
    j = plan("undo", "--yes", nodes=pair, code=0, name="undo", verb="undo")
    expect("what others wrote since stays", (a.dir / "etc/hosts").read_text() == "127.0.0.1 localhost\n# mine10.0.0.9 added\n" or
           (a.dir / "etc/hosts").read_text() == "127.0.0.1 localhost\n# mine\n10.0.0.9 added\n", (a.dir / "etc/hosts").read_text())
    (a.dir / "etc/hosts").write_text("127.0.0.1 localhost\n# mine")
    expect("and all else is as it was", [a.state(), b.state()] == before, (a.state(), before[0]))
    plan("a second undo has nothing to do", "--yes", nodes=pair, code=0, name="undo", verb="undo")

    # --- ports that netplan has ----------------------------------------------------------------------------------------------------------

    own = f"network:\n  version: 2\n  ethernets:\n    fast0:\n      match: {{name: {P[0]}}}\n      dhcp4: true\n      nameservers: {{addresses: [10.1.1.1]}}\n"
    (a.dir / "etc/netplan").mkdir()
    (a.dir / "etc/netplan/01-own.yaml").write_text(own)
    (a.dir / "etc/netplan/01-own.yaml").chmod(0o600)
    a.run("netplan", "generate")
    before = [a.state(), b.state()]
    j = plan("with netplan", "--topology", "pair", "--apply", "--yes", nodes=pair, code=0)
    ours = a.dir / "etc/netplan/90-gputune-cluster.yaml"
    expect("one file of ours, for root alone", ours.exists() and ours.stat().st_mode & 0o777 == 0o600, list((a.dir / "etc/netplan").iterdir()))
    expect("netplan generate was run", j and "netplan generate" in j["nodes"][0]["commands"], j and j["nodes"][0])
    boot = a.run("sh", "-c", "rm -rf /run/netplan; netplan generate; cat /run/systemd/network/*.network /run/systemd/network/*.link").stdout
    expect("the distribution's netplan reads it, with what others said", all(w in boot for w in (
        "Address=192.168.100.1/24", "Address=192.168.101.1/24", "LinkLocalAddressing=no", "MTUBytes=9000", "DNS=10.1.1.1", "IPv6AcceptRA=no")) and
        "DHCP=ipv4" not in boot, boot)
    j = plan("undo with netplan", "--yes", nodes=pair, code=0, name="undo", verb="undo")
    expect("all as it was, netplan's own output too", [a.state(), b.state()] == before, (a.state(), before[0]))
    expect("others' file is untouched", (a.dir / "etc/netplan/01-own.yaml").read_text() == own)
    a.run("ip", "address", "add", "10.0.0.1/24", "dev", P[0])
    ours.write_text("network: {version: 2}\n")
    ours.chmod(0o600)
    j = plan("a file of our name that we did not write", "--topology", "pair", "--apply", "--yes", nodes=pair, code=3)
    expect("is somebody's", j and "edited" in [r["code"] for r in j["nodes"][0]["refusals"]] and ours.read_text() == "network: {version: 2}\n",
           j and j["nodes"][0]["refusals"])
    a.run("ip", "address", "flush", "dev", P[0])
    shutil.rmtree(a.dir / "etc/netplan")
    a.run("rm", "-rf", "/run/systemd", "/run/netplan")

    # --- ports that networkd has: its own daemon takes our file --------------------------------------------------------------------------

    a.run("mkdir", "-p", "/run/systemd/netif")
    a.run("touch", "/run/systemd/netif/state")
    j = plan("with networkd", "--topology", "pair", nodes=pair, code=1)
    files = {f["path"]: f["text"] for f in j["nodes"][0]["files"]} if j else {}
    text = files.get(f"/etc/systemd/network/05-gputune-cluster-{P[0]}.network")
    expect("a file a port", text and len(files) == 3, list(files))
    expect("and networkd is told", j and "networkctl reload" in j["nodes"][0]["commands"], j and j["nodes"][0]["commands"])
    a.run("rm", "-rf", "/run/systemd")
    daemon = "/usr/lib/systemd/systemd-networkd"
    if os.path.exists(daemon) and text:
        (tmp / "one.network").write_text(text)
        p = sh("unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", f"""
            mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mkdir -p /run/systemd/network /run/systemd/netif
            chown systemd-network: /run/systemd/netif; cp {tmp}/one.network /run/systemd/network/
            ip link add {P[0]} type veth peer name far; ip link set far up mtu 9000; ip link set {P[0]} up
            mkdir -p /run/udev/data; for i in /sys/class/net/*/ifindex; do echo I:1 >/run/udev/data/n$(cat $i); done  # as udev leaves them
            mount -o remount,ro /sys
            timeout 60 {daemon} 2>/run/log & daemon=$!
            for i in $(seq 300); do ip -4 -br address show {P[0]} | grep -q 192.168 && break; sleep 0.1; done
            ip -br address show {P[0]}; cat /sys/class/net/{P[0]}/mtu; grep -i 'unknown' /run/log; kill $daemon; wait""", check=False)
        words = p.stdout.split()
        expect("address and MTU, and no address of the link's own", words[2:] == [[f for f in j["paths"] if f["ports"][0]["port"] == P[0]][0]
               ["ports"][0]["address"], "9000"], (p.stdout, p.stderr[-500:]))
    else:
        skip("the file of systemd-networkd", "it is not here")

    # --- gates ---------------------------------------------------------------------------------------------------------------------------

    for n in pair:
        n.run("ip", "address", "add", f"192.168.77.{1 + pair.index(n)}/24", "dev", P[0])
        n.run("ip", "address", "add", f"192.168.77.{3 + pair.index(n)}/24", "dev", P[1])
    b.run("ip", "route", "add", "default", "via", "192.168.77.9", "dev", P[1])
    before = [a.state(), b.state()]
    j = plan("ports with the default route, twins in one subnet are refused", "--topology", "pair", "--apply", "--yes", nodes=pair, code=3)
    expect("a port with the default route", j and "default-route" in [r["code"] for r in j["nodes"][1]["refusals"]], j and j["nodes"][1])
    expect("twins in one subnet", j and "address-in-the-way" in [t["code"] for t in j["troubles"]], j and j["troubles"])
    expect("refused means unchanged", [a.state(), b.state()] == before)
    for n in pair:
        for p in P[:2]:
            n.run("ip", "address", "flush", "dev", p)
    for n in pair:
        n.run("ip", "address", "add", f"192.168.77.{1 + pair.index(n)}/24", "dev", P[0])
    j = plan("good addresses are kept", "--topology", "pair", nodes=pair, code=1)
    expect("their subnet", j and [(p["subnet"], p["kept"]) for p in j["paths"]] == [("192.168.77.0/24", True), ("192.168.100.0/24", False)] or
           j and sorted((p["subnet"], p["kept"]) for p in j["paths"]) == [("192.168.100.0/24", False), ("192.168.77.0/24", True)], j and j["paths"])
    for n in pair:
        n.run("ip", "address", "flush", "dev", P[0])

    # --- who does not confirm ------------------------------------------------------------------------------------------------------------

    deaf(b, True)
    before = [a.state(), b.state()]
    p = begin("--confirm-within", "60s", nodes=pair)
    expect("it is under way", until_says(p, "checking both ends"))
    p.kill()
    p.wait()
    took = until_back(pair, before, 40)
    expect("the coordinator is killed: all goes back, long before that", took is not None, [n.addresses() for n in pair])
    is_clean("coordinator killed", pair)

    p = begin("--confirm-within", "60s", nodes=pair)
    expect("it is under way once more", until_says(p, "checking both ends"))
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=40)
    expect("Ctrl-C: not applied, and back", p.returncode in (3, 4, 5) and until_back(pair, before, 30) is not None,
           (p.returncode, [n.addresses() for n in pair]))
    is_clean("Ctrl-C", pair)

    p = begin("--confirm-within", "3s", nodes=pair)
    expect("it is under way again", until_says(p, "checking both ends"))
    p.send_signal(signal.SIGSTOP)
    mine = [pid for pid, words in node_programs(b) if words[:2] == [b"cluster", b"node"]]
    made = a.addresses()
    for pid in mine:
        os.kill(pid, signal.SIGKILL)
    expect("it had been made", any(x[1] == 9000 for x in made) and mine, (made, mine))
    took = until_back(pair, before, 60)
    expect("node program killed, coordinator stopped: the rollback timer takes it back", took is not None, [n.addresses() for n in pair])
    p.send_signal(signal.SIGCONT)
    p.communicate(timeout=30)
    expect("the coordinator says so", p.returncode in (3, 4), p.returncode)
    is_clean("rollback timer", pair)
    expect("it stays so", [a.state(), b.state()] == before)
    deaf(b, False)

    # --- over ssh: a server in each node, keys of their own, host keys that are known ---------------------------------------------------------

    if shutil.which("sshd") and shutil.which("ssh-keygen"):
        known = tmp / "known"
        keys = {}
        for n in (a, b, c):
            (n.dir / "home/.ssh").mkdir(mode=0o700)
            keys[n] = n.dir / "home/.ssh/id_ed25519"
            sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys[n]))
        with open(known, "w") as f:
            for i, n in enumerate(pair):
                wire(c, f"to-{n.name}", n, "mgmt")
                c.run("ip", "address", "add", f"10.{i}.0.2/24", "dev", f"to-{n.name}")
                n.run("ip", "address", "add", f"10.{i}.0.1/24", "dev", "mgmt")
                host = n.dir / "etc/ssh/ssh_host_ed25519_key"
                sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host))
                f.write(f"10.{i}.0.1 {host.with_suffix('.pub').read_text()}")
                (n.dir / "home/.ssh/authorized_keys").write_text("".join(k.with_suffix(".pub").read_text() for m, k in keys.items() if m is not n))
                (n.dir / "sshd").write_text(f"HostKey {host}\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPidFile none\n")
                n.run("mkdir", "-p", "/run/sshd")
                n.run(shutil.which("sshd"), "-f", str(n.dir / "sshd"))
        (tmp / "nodes").write_text("alpha root@10.0.0.1\nbeta root@10.1.0.1\n")
        there = ["--nodes-file", str(tmp / "nodes"), "--known-hosts", str(known), "--key", str(keys[c]), "--node-command", f"{gputune} cluster node"]
        over_ssh = [str(enter), "gamma", gputune, "cluster", "plan", *there, "--topology", "pair", "--all-links", "--for", "200ms"]
        before = [a.state(), b.state()]
        p = sh(*over_ssh, "--apply", "--yes", "--format", "json", check=False)
        j = json.loads(p.stdout) if p.stdout.startswith("{") else None
        expect("over ssh", p.returncode == 0 and j and all(n["state"] == "kept" and n["host_keys"] == 1 for n in j["nodes"]),
               (p.returncode, p.stderr, p.stdout[:500]))
        p = a.run("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "beta-fabric", "cat", "/proc/sys/kernel/hostname", check=False)
        expect("nodes know each other's names and host keys", p.stdout == "beta\n", (p.returncode, p.stderr))
        p = sh(str(enter), "gamma", gputune, "cluster", "undo", *there, "--yes", "--quiet", check=False)
        expect("undone over ssh", p.returncode == 0 and [a.state(), b.state()] == before, (p.returncode, p.stderr))
        deaf(b, True)
        p = subprocess.Popen([*over_ssh, "--apply", "--yes", "--confirm-within", "3s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, text=True)
        expect("under way over ssh", until_says(p, "checking both ends"))
        mine = [pid for pid, words in node_programs(c) if b"plan" in words]
        for pid in mine:
            os.kill(pid, signal.SIGSTOP)
        cut = time.monotonic()
        for n in pair:
            n.run("ip", "link", "set", "mgmt", "down")
        made = b.addresses()
        until(lambda: not any(m == 9000 for n in pair for _, m, _ in n.addresses()), 60, 0.1)
        took = time.monotonic() - cut
        for n in pair:
            n.run("ip", "link", "set", "mgmt", "up")
        expect("the connection is cut while it is made: both take it back", any(m == 9000 for _, m, _ in made) and
               until_back(pair, before, 30) is not None, (took, made, [n.addresses() for n in pair]))
        for pid in mine:
            os.kill(pid, signal.SIGCONT)
        p.communicate(timeout=60)
        expect("and the coordinator says that it did not work", p.returncode in (3, 4), p.returncode)
        is_clean("cut off", pair)
        deaf(b, False)
        for n in pair:
            n.run("ip", "link", "del", "mgmt")
    else:
        skip("cluster plan over ssh", "no sshd here")

    # --- what does not work on the wire --------------------------------------------------------------------------------------------------

    d.run("ip", "link", "add", "br0", "type", "bridge")
    d.run("ip", "link", "set", "br0", "up", "mtu", "1500")
    for n in (a, c):
        wire(n, P[2], d, "to-" + n.name)
        d.run("ip", "link", "set", "to-" + n.name, "master", "br0")
    before = [a.state(), c.state()]
    d.run("ip", "address", "add", "192.168.100.2/24", "dev", "br0")
    j = plan("an address that a stranger on the switch has", "--topology", "switch", "--apply", "--yes", nodes=[a, c], code=3)
    expect("is refused by the node that asked for it", j and "address-taken" in [r["code"] for r in j["nodes"][1]["refusals"]], j and j["nodes"][1])
    d.run("ip", "address", "flush", "dev", "br0")
    j = plan("a switch that carries no large frames", "--topology", "switch", "--apply", "--yes", nodes=[a, c], code=3)
    expect("is found by the echo", j and j["failure"] and "ping of 9000 bytes" in j["failure"], j and j["failure"])
    expect("taken back on both", j and all(n["state"] == "taken-back" for n in j["nodes"]), j)
    expect("as they were", [a.state(), c.state()] == before)
    d.run("ip", "link", "set", "br0", "down")
    for n in (a, c):
        d.run("ip", "link", "set", "to-" + n.name, "mtu", "9000")
    d.run("ip", "link", "set", "br0", "up", "mtu", "9000")
    j = plan("with large frames it works", "--topology", "switch", "--apply", "--yes", "--subnets", "10.77.0.0/16", nodes=[a, c], code=0)
    expect("in the range that was named", j and j["paths"][0]["subnet"] == "10.77.0.0/24" and j["topology"] == "switch", j and j["paths"])
    plan("and goes back", "--yes", nodes=[a, c], code=0, name="undo", verb="undo")
    expect("to the byte", [a.state(), c.state()] == before)
    for n in (a, c):
        n.run("ip", "link", "del", P[2])

    # --- a ring of three; with a fourth it is none ---------------------------------------------------------------------------------------

    for p in P[:2]:
        a.run("ip", "link", "del", p)
    ring = [a, b, c]
    for x, y in ((a, b), (b, c), (c, a)):
        wire(x, P[0], y, P[2])
        wire(x, P[1], y, P[3])
    before = [n.state() for n in ring]
    j = plan("a ring of three", "--topology", "ring", "--apply", "--yes", nodes=ring, code=0)
    expect("six subnets, all ends hear each other", j and len({p["subnet"] for p in j["paths"]}) == 6 and len(j["echoes"]) == 12 and
           all(x["good"] for x in j["echoes"]), j and j["echoes"])
    plan("goes back", "--yes", nodes=ring, code=0, name="undo", verb="undo")
    expect("to the byte, too", [n.state() for n in ring] == before)
    for p in (P[0], P[1]):
        c.run("ip", "link", "del", p)
    for x, y in ((c, d), (d, a)):
        wire(x, P[0], y, P[2])
        wire(x, P[1], y, P[3])
    j = plan("a ring of four is refused", "--apply", "--yes", nodes=[a, b, c, d], code=3)
    expect("with its reason", j and j["topology"] == "ring-of-four" and "unsupported: A ring of four" in j["troubles"][0]["text"], j and j["troubles"])
finally:
    for n in (a, b, c, d):
        n.end()

end_suite()
