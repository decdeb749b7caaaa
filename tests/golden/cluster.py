#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune cluster discover on two, three and four "Sparks" in network namespaces (netspaces.py): right cabling has no findings, and each
fault that is planted is found and named. Also over a real sshd with a key a node, with nodes that are dead, silent, or talk nonsense, as
a user who may not open raw sockets, with Ctrl-C, and with frames of strangers on the wire."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time
import xml.dom.minidom

from common import built, children, end_suite, expect, finish, fits, gputune, skip, start, until, validate
import netspaces
from netspaces import PORTS, Sparks, official_cabling


def tool(*argv, seconds=60, ns=None):
    return finish(start(*(["ip", "netns", "exec", ns] if ns else []), gputune, *argv), seconds)


def discover(s, *more, options=None, air="60ms"):
    begin = time.monotonic()
    code, out, err = tool("cluster", "discover", *(options or s.nodes(gputune)), "--format", "json", "--for", air, *more)
    j = fits("a discovery", out, "cluster-discover", (code, err[:400]))
    if not j:
        return None
    j["code"], j["took"], j["stderr"] = code, time.monotonic() - begin, err
    return j


def codes(j, notes=False):
    return {f["code"] for f in j["findings"] if notes or f["severity"] != "note"} if j else {"?"}


def names(what, j, code, *words, node=None, port=None):
    """The finding is there, says these words, and names node and port."""
    hits = [f for f in j["findings"] if f["code"] == code and (node is None or f["node"] == node) and (port is None or f["port"] == port)
            ] if j else []
    good = [f for f in hits if all(w in f["text"] + f["evidence"] + f["fix"] for w in words)]
    expect(what, good, hits or j and [(f["code"], f["node"], f["port"], f["text"]) for f in j["findings"]])


def only(j, *expected_codes):
    """No other fault or warning is made of what was planted."""
    expect(f"nothing but {' '.join(expected_codes)}", codes(j) == set(expected_codes),
           j and [(f["code"], f["node"], f["port"], f["text"]) for f in j["findings"] if f["code"] not in expected_codes])


def clean(what, j, topology):
    expect(f"{what}: {topology}, nothing found", j and j["topology"] == topology and j["supported"] and not codes(j) and j["code"] == 0,
           j and (j["code"], j["topology"], j["topology_why"], [(f["code"], f["text"], f["evidence"]) for f in j["findings"]]))


def wires(j):
    """Data wires as sets of (node, cage)."""
    return {frozenset((c["node"], c["cage"]) for c in w["cages"]) for w in j["wires"] if w["data"]}


def expected(pairs):
    return {frozenset((f"spark-{n}", f"p{c}") for n, c in pair) for pair in pairs}


# --- words ------------------------------------------------------------------------------------------------------------------------------

for what, argv, word in (("no part", ["cluster"], "requires one of"), ("another part", ["cluster", "dance"], 'not "dance"'),
                         ("no nodes", ["cluster", "discover"], "--nodes"),
                         ("a word more", ["cluster", "discover", "x"], "takes no argument"),
                         ("an option as node", ["cluster", "discover", "--nodes", "-oProxyCommand=x"], "invalid node name"),
                         ("a shell as node", ["cluster", "discover", "--nodes", "a;reboot"], "invalid node name"),
                         ("twice the same", ["cluster", "discover", "--nodes", "a,a"], "given twice"),
                         ("a shell as program", ["cluster", "discover", "--nodes", "a", "--node-command", "gputune $(reboot)"], "shell"),
                         ("a shell as key file", ["cluster", "discover", "--nodes", "a", "--key", "/tmp/a b"], "file"),
                         ("no file of nodes", ["cluster", "discover", "--nodes-file", "/nonexistent"], "cannot read"),
                         ("a file of no nodes", ["cluster", "discover", "--nodes-file", "/dev/null"], "/dev/null"),
                         ("a file of something else", ["cluster", "discover", "--nodes-file", str(built / "schemas/list.json")], "schemas/list.json:1: "),
                         ("no earlier one", ["cluster", "discover", "--from", "/nonexistent"], "cannot read"),
                         ("too long", ["cluster", "discover", "--nodes", "localhost", "--for", "10m"], "2m")):
    code, out, err = tool(*argv)
    expect(what, code == 2 and word in err, (code, err))
code, out, err = tool("cluster", "discover", "--nodes", "nobody.invalid", "--rsh", "false", "--format", "json")
expect("a program that ends at once", code == 5 and "exited with code 1" in out, (code, out[:400], err))
code, out, err = tool("cluster", "discover", "--nodes", "a", "--rsh", "/nonexistent/rsh", "--format", "json")
expect("a program that is not there", code == 5 and "cannot start" in out, (code, out[:400], err))
code, out, err = tool("cluster", "discover", "--nodes", "a", "--rsh", "yes", "--format", "json", "--timeout", "3s")
expect("a program that talks nonsense", code == 5 and "is not gputune" in out, (code, out[:400], err))
begin = time.monotonic()
code, out, err = tool("cluster", "discover", "--nodes", "a,b", "--rsh", "env", "--node-command", "/bin/sleep 100", "--format", "json", "--timeout", "1s")
expect("a silent program", code == 5 and out.count("no answer within 1.0 s") >= 2 and time.monotonic() - begin < 50, (code, out[:400]))

# --- the node program alone -------------------------------------------------------------------------------------------------------------

asks = [{"ask": "inventory"}, {"ask": "dance"}, {"ask": "listen"}, {"ask": "listen", "with": {"token": "zz" * 16}}, {"ask": "say"},
        {"ask": "routes", "with": {"to": ["not an address"]}}, {"ask": "routes", "with": {"to": ["127.0.0.1"]}},
        {"ask": "inventory", "with": {"name": "a b"}}, {"ask": "say", "with": {"for_ms": 10 ** 9}}]
text = "".join(json.dumps({"schema": "gputune.cluster-node/1", "id": i + 1, **a}) + "\n" for i, a in enumerate(asks))
text += "nonsense\n[]\n\n" + json.dumps({"schema": "other/1", "id": 77, "ask": "inventory"}) + "\n"
p = subprocess.run([gputune, "cluster", "node", "--host", str(netspaces.spark)], input=text, capture_output=True, text=True, timeout=30)
lines = [json.loads(x) for x in p.stdout.splitlines()]
for x in lines:
    validate(x, "cluster-node")
expect("a node greets first", lines and lines[0]["id"] == 0 and {"inventory", "listen", "say", "hear", "routes"} <=
       set(lines[0]["answer"]["asks"]), lines[:1])
expect("a node answers in order", [x["ok"] for x in lines[1:]] == [True] + [False] * 5 + [True] + [False] * 5 and p.returncode == 0,
       [(x["id"], x["ok"], x.get("error")) for x in lines])
p = subprocess.run([gputune, "cluster", "node"], input="x" * (3 << 20), capture_output=True, text=True, timeout=30)
expect("a line without an end", p.returncode == 5, p.returncode)

why = netspaces.possible()
if why:
    skip("links", why)
    end_suite()

# --- the pair that comes with the program, which has to be what such a pair says ---

with Sparks(2) as s:
    s.cable((1, 0), (2, 0), mtu=1500)
    real = discover(s)
    code, out, err = tool("cluster", "discover", "--from", "demo:two-sparks", "--format", "json")
    kept = fits("the demo pair", out, "cluster-discover", (code, err[:400]))
    told = [j and {"findings": j["findings"], "paths": [[w["way"], w["paths"]] for w in j["wires"]], "ports": [[p["name"] for p in n["ports"]] for n in j["nodes"]]}
            for j in (real, kept)]
    expect("a demo pair is a real discovery's", told[0] and told[0] == told[1] and code == 1, told)
    code, out, err = tool("cluster", "check", "--from", "demo:two-sparks", "--format", "json")
    j = fits("a check of its wiring", out, "cluster-check", (code, err[:400]))
    expect("judged alike, and not measured", j and j["findings"] == kept["findings"] and [n["state"] for n in j["qualify"]["nodes"]] == ["unknown"] * 2 and
           not j["qualify"]["networks"], j)
    code, out, err = tool("cluster", "plan", "--from", "demo:two-sparks")
    expect("its plan", code == 1 and "192.168.101.2/24" in out, (code, out, err))
    code, out, err = tool("check", "--host", "demo:two-sparks")
    expect("it is no machine", code == 2 and "discover --from demo:two-sparks" in err, (code, err))

# --- as it should be --------------------------------------------------------------------------------------------------------------------

with Sparks(2) as s:
    pairs = official_cabling(s, 2)
    j = discover(s)
    clean("two nodes", j, "pair")
    expect("the cable is seen", j and wires(j) == expected(pairs) and all(w["way"] == "cable" for w in j["wires"] if w["data"]),
           j and j["wires"])
    expect("management is on a switch", j and [w["way"] for w in j["wires"] if not w["data"]] == ["switch"], j and j["wires"])
    twins = {(c["node"], c["name"]): c["ports"] for c in j["cages"] if c["twins_by"]} if j else {}
    expect("twins by function, not by name", twins.get(("spark-1", "p0")) == ["enp1s0f0np0", "enP2p1s0f0np0"], twins)
    paths = [w["paths"] for w in j["wires"] if w["data"]][0] if j else []
    expect("two paths, each on one subnet", len(paths) == 2 and all(len(p["ends"]) == 2 and p["ends"][0]["pci"] == p["ends"][1]["pci"] and
                                                                    p["speed_mbps"] == 200000 for p in paths), paths)
    before = s.tmp / "before.json"
    before.write_text(json.dumps({k: v for k, v in j.items() if k not in ("code", "took", "stderr")}))

    # The same kept, drawn, and as pages.
    code, out, err = tool("cluster", "discover", "--from", str(before))
    expect("a kept discovery", code == 0 and "== cable ==" in out and "spark-2 p0" in out and "capture" in out, (code, out, err))
    expect("the picture is ASCII", all(ord(c) < 128 for line in out.splitlines() if "==" in line for c in line), out)
    code, out, err = tool("cluster", "discover", "--from", str(before), "--format", "svg")
    expect("a drawing", code == 0 and xml.dom.minidom.parseString(out).documentElement.tagName == "svg" and "spark-2" in out and
           "cable, 2 paths" in out, out[:300])
    for form in ("md", "html"):
        code, out, err = tool("cluster", "discover", "--from", str(before), "--format", form, "--verbose")
        expect(f"as {form}", code == 0 and "enP2p1s0f0np0" in out and "RoCE v2" in out, (code, err))
    broken = s.tmp / "broken.json"
    for what, change in (("a node with two ports of a name", lambda k: k["nodes"][0]["ports"].append(k["nodes"][0]["ports"][0])),
                         ("control characters", lambda k: k["nodes"][0].update(failure="a\u001b[2J")),
                         ("no address", lambda k: k["nodes"][0]["ports"][0]["addresses"].append({"address": "1.2.3/24"})),
                         ("a name with a path", lambda k: k["nodes"][0]["ports"][0].update(name="../x")),
                         ("a node twice", lambda k: k["nodes"].append(k["nodes"][0])),
                         ("another schema", lambda k: k.update(schema="gputune.check/1"))):
        k = json.loads(before.read_text())
        change(k)
        broken.write_text(json.dumps(k))
        code, out, err = tool("cluster", "discover", "--from", str(broken))
        expect(f"refused: {what}", code == 2 and str(broken) in err, (code, err))

    # Without a capture: the same wires from what the kernel says of veth, which is no data port.
    options = s.nodes(gputune)
    options[-1] = f"{gputune} cluster node"
    j = discover(s, "--all-links", options=options)
    ends = {frozenset(f'{e["node"]} {e["port"]}' for e in p["ends"]) for w in j["wires"] if w["way"] == "cable" for p in w["paths"]} if j else {}
    expect("live machines", ends == {frozenset(f"spark-{n} {PORTS[0, t][0]}" for n in (1, 2)) for t in (0, 1)} and
           not any(n.get("captured", {}).get("value") for n in j["nodes"]), j and (ends, j["findings"]))

    # --- faults of a pair: each planted, found, named and taken back ---
    s.ip(1, "link", "set", "enp1s0f0np0", "mtu", "1500")
    s.put(2, s.device(0, 0) + "/net/enp1s0f0np0/speed", "100000")
    s.answers(2, "nvml", "580.142", "580.1.2")
    s.put(1, "/etc/nccl.conf", "# ours\nNCCL_IB_HCA=rocep1s0f0\nNCCL_ALGO=Ring\n")
    s.put(2, "/etc/nccl.conf", "NCCL_IB_HCA=mlx5_0\nNCCL_ALGO=Tree # theirs\n")
    j = discover(s)
    names("another MTU at one end", j, "mtu-mismatch", "1500 bytes on spark-1 enp1s0f0np0", "9000 bytes on spark-2",
          node="spark-1", port="enp1s0f0np0")
    names("half a link", j, "speed-below", "100 Gb/s", node="spark-2", port="enp1s0f0np0")
    skew = [f for f in j["findings"] if f["code"] == "version-skew"]
    expect("another driver", any("GPU driver" in f["text"] and "spark-2 580.1.2" in f["evidence"] for f in skew), skew)
    expect("other settings of NCCL, but for names of devices",
           any("/etc/nccl.conf" in f["text"] and f["evidence"] == "spark-1 NCCL_ALGO=Ring, spark-2 NCCL_ALGO=Tree" for f in skew), skew)
    only(j, "mtu-mismatch", "speed-below", "version-skew")
    s.ip(1, "link", "set", "enp1s0f0np0", "mtu", "9000")
    s.put(2, s.device(0, 0) + "/net/enp1s0f0np0/speed", "200000")
    s.answers(2, "nvml")
    s.remove(1, "/etc/nccl.conf")
    s.remove(2, "/etc/nccl.conf")

    for n in (1, 2):
        s.ip(n, "addr", "del", f"192.168.101.{n}/24", "dev", "enP2p1s0f0np0")
        s.address(n, 0, 1, f"192.168.100.{n + 10}/24")
    j = discover(s)
    names("twins in one subnet", j, "same-subnet-twins", "the other interface of its port", "192.168.100", node="spark-1", port="enp1s0f0np0")
    names("which is why packets leave by the other", j, "wrong-egress", "192.168.100.12", "by enp1s0f0np0", node="spark-1",
          port="enP2p1s0f0np0")
    for n in (1, 2):
        s.ip(n, "addr", "del", f"192.168.100.{n + 10}/24", "dev", "enP2p1s0f0np0")
        s.address(n, 0, 1, f"192.168.101.{n}/24")
    only(j, "same-subnet-twins", "wrong-egress")

    s.ip(2, "link", "set", "enP2p1s0f0np0", "down")
    j = discover(s)
    names("a twin that is down", j, "half-speed-twin-unused", "half", node="spark-2", port="enP2p1s0f0np0")
    only(j, "half-speed-twin-unused", "wrong-egress")
    s.ip(2, "link", "set", "enP2p1s0f0np0", "up")
    s.ip(2, "addr", "del", "192.168.101.2/24", "dev", "enP2p1s0f0np0")
    names("a twin without an address", discover(s), "half-speed-twin-unused", "has no address", node="spark-2", port="enP2p1s0f0np0")
    s.address(2, 0, 1, "192.168.101.2/24")

    s.ip(1, "route", "del", "192.168.101.0/24")
    s.ip(1, "route", "add", "192.168.101.0/24", "via", "10.77.0.254")
    names("another way out", discover(s), "wrong-egress", "192.168.101.2", "by enP7s7", node="spark-1", port="enP2p1s0f0np0")
    s.ip(1, "route", "del", "192.168.101.0/24")
    s.ip(1, "route", "add", "192.168.101.0/24", "dev", "enP2p1s0f0np0", "src", "192.168.101.1")

    gid = "0000:0000:0000:0000:0000:ffff:c0a8:6401"
    zero = "0000:0000:0000:0000:0000:0000:0000:0000"
    s.gid(1, 0, 0, 3, zero, "RoCE v2")
    s.gid(1, 0, 0, 4, zero, "RoCE v2")
    s.gid(1, 0, 0, 5, gid, "RoCE v2")
    j = discover(s, "--against", str(before))
    names("a GID that moved", j, "gid-drift", "192.168.100.1", "index 3 to 5", node="spark-1", port="enp1s0f0np0")
    names("and is not where the others are", j, "gid-uneven", "enp1s0f0np0 5")
    only(j, "gid-drift")
    s.gid(1, 0, 0, 5, zero, "RoCE v2")
    trust = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(s.rdma(0, 0))))) + "/net/enp1s0f0np0/qos/trust"
    s.put(2, trust, "dscp")
    j = discover(s)
    names("ends that sort packets differently", j, "roce-uneven", "pcp on spark-1", "dscp on spark-2", port="enp1s0f0np0")
    s.remove(2, trust)
    s.put(2, s.rdma(0, 0) + "/state", "1: DOWN")
    s.put(2, s.rdma(0, 1) + "/link_layer", "InfiniBand")
    j = discover(s)
    names("a GID that is gone", j, "gid-missing", "192.168.100.1/24", node="spark-1", port="enp1s0f0np0")
    names("RDMA that is down", j, "rdma-down", "rocep1s0f0", node="spark-2", port="enp1s0f0np0")
    names("a port that speaks InfiniBand", j, "link-layer", "LINK_TYPE", node="spark-2", port="enP2p1s0f0np0")
    only(j, "gid-missing", "rdma-down", "half-speed-twin-unused", "link-layer")
    s.gid(1, 0, 0, 3, gid, "RoCE v2")
    s.put(2, s.rdma(0, 0) + "/state", "4: ACTIVE")
    s.put(2, s.rdma(0, 1) + "/link_layer", "Ethernet")

    s.ip(2, "addr", "add", "192.168.100.1/24", "dev", "enp1s0f0np0")
    names("one address twice", discover(s), "duplicate-address", "192.168.100.1/24")
    s.ip(2, "addr", "del", "192.168.100.1/24", "dev", "enp1s0f0np0")
    s.ip(2, "addr", "del", "192.168.100.2/24", "dev", "enp1s0f0np0")
    s.ip(2, "addr", "add", "192.168.200.2/24", "dev", "enp1s0f0np0")
    names("ends without a common subnet", discover(s), "address-mismatch", "192.168.200.2/24")
    s.ip(2, "addr", "del", "192.168.200.2/24", "dev", "enp1s0f0np0")
    s.address(2, 0, 0, "192.168.100.2/24")
    clean("all taken back", discover(s), "pair")

    # The firewall, by the program that is installed.
    for program, drop, accept in (("iptables", ["-P", "FORWARD", "DROP"], ["-P", "FORWARD", "ACCEPT"]),
                                  ("nft", ["add table inet t; add chain inet t f { type filter hook forward priority 0; policy drop; }"],
                                   ["delete table inet t"])):
        if not shutil.which(program):
            skip(f"a dropped FORWARD of {program}", "it is not here")
            continue
        if s.inside(1, program, *drop, check=False).returncode:
            skip(f"a dropped FORWARD of {program}", "it does not work here")
            continue
        names(f"FORWARD dropped by {program}", discover(s), "forward-drop", "drops packets that it should forward", "ip_forward", node="spark-1")
        s.inside(1, program, *accept)

    # Who is not there: no namespace, and one that hangs in the middle.
    options = s.nodes(gputune)
    with open(s.nodes_file(), "a") as f:
        f.write("spark-3 gt-nowhere\n")
    j = discover(s, options=options)
    names("a dead node", j, "dead-node", "spark-3 does not answer", "exited with code", node="spark-3")
    expect("the others go on", j and j["topology"] == "pair" and j["code"] == 1, j and j["topology"])
    stuck = s.tmp / "stuck"
    stuck.write_text("#!/usr/bin/env python3\nimport sys, time\nprint('{\"schema\": \"gputune.cluster-node/1\", \"id\": 0, \"ok\": true, "
                     "\"answer\": {\"version\": \"9\", \"asks\": []}}', flush=True)\ntime.sleep(100)\n")
    stuck.chmod(0o755)
    liar = s.tmp / "liar"
    liar.write_text(stuck.read_text().replace("time.sleep(100)", "import json\nfor l in sys.stdin:\n    i = json.loads(l)['id']\n    "
                    "print(json.dumps({'schema': 'gputune.cluster-node/1', 'id': i, 'ok': True, 'answer': {'node': {'name': 'x\\u001b'}}}), "
                    "flush=True)"))
    liar.chmod(0o755)
    wrapper = s.tmp / "rsh"
    wrapper.write_text(f"#!/bin/sh\ncase $1 in *nowhere) exec {stuck} ;; *liar) exec {liar} ;; esac\nexec ip netns exec \"$@\"\n")
    wrapper.chmod(0o755)
    with open(s.nodes_file(), "a") as f:
        f.write("spark-3 gt-nowhere\nspark-4 gt-liar\n")
    options[options.index("--rsh") + 1] = f"{wrapper} {{node}}"
    begin = time.monotonic()
    j = discover(s, "--timeout", "1s", options=options)
    names("a node that hangs", j, "dead-node", "no answer within", node="spark-3")
    names("a node that lies", j, "dead-node", "invalid data about itself", node="spark-4")
    expect("it is not waited for long", time.monotonic() - begin < 30, time.monotonic() - begin)
    expect("no program is left", not subprocess.run(["pgrep", "-f", str(s.tmp)], capture_output=True).stdout, "")
    s.nodes_file()

    def listen(pid):
        """Whether its nodes have their sockets open, and so wait for what comes through the cables."""
        nodes = children(pid)
        return len(nodes) >= 2 and all(len(pathlib.Path(f"/proc/{n}/net/packet").read_text().splitlines()) > 1 for n in nodes)

    # Ctrl-C in the middle: nothing is left.
    p = subprocess.Popen([gputune, "cluster", "discover", *s.nodes(gputune), "--for", "60s"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    expect("its nodes listen", until(lambda: listen(p.pid)), children(p.pid))
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=50)
    expect("Ctrl-C", p.returncode == 5 and "interrupted" in err, (p.returncode, err))
    expect("no program is left after it", not subprocess.run(["pgrep", "-f", f"{s.tmp}/"], capture_output=True).stdout, "")
    # A coordinator that is killed: its nodes see the end of their input.
    p = subprocess.Popen([gputune, "cluster", "discover", *s.nodes(gputune), "--for", "60s"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    expect("its nodes listen again", until(lambda: listen(p.pid)), children(p.pid))
    p.kill()
    p.wait()
    there = lambda: subprocess.run(["pgrep", "-f", f"{s.tmp}/"], capture_output=True).stdout  # noqa: E731
    expect("a killed coordinator leaves no program", until(lambda: not there()), there())

    # Strangers on the wire: a flood of frames of our type, cut, spoiled and with another token; and a switch's LLDP.
    flows, begun = os.pipe()
    pid = os.fork()
    if pid == 0:
        fd = os.open(f"/run/netns/{s.space(2)}", os.O_RDONLY)
        os.setns(fd, 0x40000000) if hasattr(os, "setns") else None
        if not hasattr(os, "setns"):
            import ctypes
            ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000)
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind(("enp1s0f0np0", 0))
        head = b"\x01\x80\xc2\x00\x00\x0e" + b"\x02" * 6
        hello = b"gptn\x01\x00\x00\x01" + b"t" * 16 + b"\x01\x07spark-9" + b"\x02\x04eth9"
        lldp = struct.pack(">H", 1 << 9 | 7) + b"\x04" + b"\x02" * 6 + struct.pack(">H", 2 << 9 | 6) + b"\x05swp17"[:6]
        lldp += struct.pack(">H", 3 << 9 | 2) + b"\x00\x78" + struct.pack(">H", 5 << 9 | 6) + b"rack-1" + b"\x00\x00"
        end = time.monotonic() + 30
        k = 0
        try:
            while time.monotonic() < end:
                sock.send(head + b"\x88\xb5" + hello[:k % (len(hello) + 1)] + os.urandom(k % 7))
                sock.send(head + b"\x88\xb5" + bytes(b ^ (k % 256 if i == k % len(hello) else 0) for i, b in enumerate(hello)))
                sock.send(head + b"\x88\xcc" + lldp)
                sock.send(head + b"\x88\xcc" + lldp[:k % len(lldp)])
                if not k:
                    os.write(begun, b"1")
                k += 1
                time.sleep(0.001)
        finally:
            os._exit(0)
    os.close(begun)
    expect("strangers send", os.read(flows, 1) == b"1", "")
    os.close(flows)
    j = discover(s)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    clean("with strangers on the wire", j, "pair")
    cage = next((c for c in j["cages"] if c["node"] == "spark-1" and c["name"] == "p0"), {}) if j else {}
    expect("LLDP names the neighbour", cage.get("neighbour") == "rack-1", cage)

    # The module of the adapter's RDMA is not loaded at one end.
    s.remove(2, os.path.dirname(os.path.dirname(os.path.dirname(s.rdma(0, 0)))))
    s.remove(2, "/sys/class/infiniband/" + PORTS[0, 0][2])
    j = discover(s)
    names("an end without RDMA", j, "rdma-missing", "rocep1s0f0", node="spark-2", port="enp1s0f0np0")
    only(j, "rdma-missing")

    # A cable that leads to a switch which nobody else is on, and a node that lost its adapter.
    s.switch([(1, 1)])
    s.no_adapter(2)
    j = discover(s)
    names("a cable to nobody", j, "hears-nobody", "spark-1 p1", node="spark-1")
    names("no cable, no adapter", j, "no-cable-no-pci", "no ConnectX-7 on PCI", "cable", node="spark-2")
    code, out, err = tool("cluster", "discover", *s.nodes(gputune))
    expect("which is said first of all", code == 1 and "no ConnectX-7" in "".join(out.splitlines()[:6]), out[:500])

with Sparks(2) as s:
    s.cable((1, 0), (2, 1))
    s.official((1, 0), (2, 1), 100)
    names("a pair across cages", discover(s), "wrong-cable", "different ports", "both are in p0", node="spark-1", port="p0")
    s.cable((1, 1), (2, 0))
    s.official((1, 1), (2, 0), 102)
    names("a second cable", discover(s), "second-cable", "2 cables", node="spark-1")

with Sparks(2) as s:
    s.cable((1, 0), (1, 1))
    s.cable((2, 0), (2, 1))
    j = discover(s)
    names("a cable from a machine to itself", j, "wrong-cable", "same machine", node="spark-1")
    names("which joins nobody", j, "unsupported-topology", "No cable joins spark-1 and spark-2")

# --- three nodes ------------------------------------------------------------------------------------------------------------------------

with Sparks(3) as s:
    pairs = official_cabling(s, 3)
    j = discover(s)
    clean("three nodes", j, "ring")
    expect("three cables", j and wires(j) == expected(pairs), j and j["wires"])
    # As a user who may not open raw sockets: datagrams over IPv6 tell who hears whom.
    if shutil.which("setpriv"):
        until(lambda: all(" tentative" not in s.inside(n, "ip", "-6", "address").stdout for n in s.names))
        options = s.nodes(gputune)
        k = options.index("--rsh") + 1
        options[k] += " setpriv --reuid 65534 --regid 65534 --clear-groups"
        j = discover(s, options=options, air="500ms")
        expect("without root the same wires", j and wires(j) == expected(pairs) and j["topology"] == "ring" and
               all(w["way"] == "unsure" for w in j["wires"] if w["data"]), j and (j["topology"], j["wires"], j["findings"]))
        names("and why not more", j, "deaf", "raw sockets", node="spark-1")

with Sparks(3) as s:
    for a, b, subnet in (((1, 0), (2, 1), 100), ((2, 0), (1, 1), 102)):
        s.cable(a, b)
        s.official(a, b, subnet)
    j = discover(s)
    names("a ring with a cable in the wrong place", j, "wrong-cable", "2 cables join spark-1 and spark-2", "spark-3")
    names("is no ring", j, "unsupported-topology", "spark-1 and spark-3")
with Sparks(3) as s:
    for a, b, subnet in (((1, 0), (2, 0), 100), ((2, 1), (3, 1), 102), ((3, 0), (1, 1), 104)):
        s.cable(a, b)
        s.official(a, b, subnet)
    j = discover(s)
    names("a ring of equal cages", j, "wrong-cable", "p0 must go to p1", node="spark-1", port="p0")
    expect("is a ring all the same", j and j["topology"] == "ring", j and j["topology"])

# --- four nodes -------------------------------------------------------------------------------------------------------------------------

with Sparks(4) as s:
    pairs = official_cabling(s, 4)
    j = discover(s, air="500ms")
    expect("four in a ring", j and j["topology"] == "ring-of-four" and not j["supported"] and wires(j) == expected(pairs), j and j["topology"])
    names("is unsupported, and why", j, "unsupported-topology", "spark-1 and spark-3, spark-2 and spark-4 share no cable", "switch")
    print(f"four nodes were discovered in {j['took']:.2f} s, load {os.getloadavg()[0]:.1f}" if j else "")

with Sparks(4) as s:
    s.switch([(n, 0) for n in range(1, 5)])
    for n in range(1, 5):
        s.address(n, 0, 0, f"192.168.100.{n}/24")
        s.address(n, 0, 1, f"192.168.101.{n}/24")
    j = discover(s)
    clean("four on a switch", j, "switch")
    expect("two paths of four ends", j and [[len(p["ends"]) for p in w["paths"]] for w in j["wires"] if w["data"]] == [[4, 4]],
           j and j["wires"])
    s.cable((1, 1), (2, 1))
    j = discover(s)
    expect("a switch and a cable", j and j["topology"] == "mixed", j and j["topology"])
with Sparks(4) as s:
    s.switch([(1, 0), (2, 0), (3, 0), (4, 1)])
    names("another cage on the switch", discover(s), "wrong-cable", "but the other nodes use p0", node="spark-4", port="p1")

# --- over ssh ---------------------------------------------------------------------------------------------------------------------------

sshd = shutil.which("sshd") or ("/usr/sbin/sshd" if os.path.exists("/usr/sbin/sshd") else None)
if sshd and shutil.which("ssh-keygen"):
    with Sparks(2) as s:
        official_cabling(s, 2)
        os.makedirs("/run/sshd", exist_ok=True)
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", ""]
        netspaces.run(*keygen, "-f", str(s.tmp / "user"))
        known = ""
        for i, n in enumerate(s.names):
            place = s.tmp / f"sshd-{n}"
            place.mkdir(mode=0o700)
            netspaces.run(*keygen, "-f", str(place / "host"))
            (place / "keys").write_text((s.tmp / "user.pub").read_text())
            (place / "config").write_text(f"HostKey {place}/host\nAuthorizedKeysFile {place}/keys\nPidFile none\nStrictModes no\n"
                                          "PasswordAuthentication no\nUsePAM no\nPermitRootLogin prohibit-password\n")
            s.inside(n, sshd, "-f", str(place / "config"), "-o", f"ListenAddress=10.77.0.{i + 1}")
            kind, key = (place / "host.pub").read_text().split()[:2]
            known += f"10.77.0.{i + 1} {kind} {key}\n"
        (s.tmp / "known").write_text(known)
        (s.tmp / "list").write_text("".join(f"{n} root@10.77.0.{i + 1}\n" for i, n in enumerate(s.names)))
        options = ["--nodes-file", str(s.tmp / "list"), "--known-hosts", str(s.tmp / "known"), "--key", str(s.tmp / "user"),
                   "--node-command", f"{gputune} cluster node --host {netspaces.spark} --overlay {s.tmp}/gt{s.tag}-{{name}}"]

        def over_ssh(options):
            code, out, err = tool("cluster", "discover", *options, "--format", "json", ns=s.hub)
            try:
                return {**json.loads(out), "code": code}
            except ValueError:
                expect("over ssh", False, (code, out[:300], err))
                return None

        until(lambda: all(s.inside(s.hub, "bash", "-c", f"exec 3<>/dev/tcp/10.77.0.{i + 1}/22", check=False).returncode == 0
                               for i in range(2)))
        clean("over ssh, a key a node", over_ssh(options), "pair")
        # A host key that is not the known one, and none at all: never a question, never trusted.
        (s.tmp / "known").write_text(known.replace("10.77.0.2 ", "10.77.0.9 "))
        j = over_ssh(options)
        names("a host key that nobody knows", j, "dead-node", "ost key verification failed", node="spark-2")
else:
    skip("ssh", "no sshd here")

end_suite()
