#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cluster check on two to four "Sparks" in network namespaces: their inventory is a capture's, their wires (veth, bridges) are live. A
slow port, a wrong MTU, a switch that takes no large packets, a node that does not forward, a dead node, twins in one subnet and a GID that
moved are each planted, and each has to be found and named; a healthy cluster has none of it. Judges no figure."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import jsonschema

import common
from common import built, copy_of, end_suite, expect, finish, fits, running, schema, scratch, skip, start, until
import netspaces
from netspaces import PORTS, Sparks

from terminal import OnTerminal

tmp = scratch("check")
gputune = copy_of(common.gputune, tmp)
# The twins of the inner cage.
P, Q = PORTS[0, 0][0], PORTS[0, 1][0]


def command(s, *more, state="state", only=None):
    options = s.nodes(gputune)
    if only:
        # The list of nodes is the user's: some of them, and perhaps others.
        (s.tmp / "some").write_text("".join(f"{n} {s.spaces.get(n, n)}\n" for n in only))
        options[1] = str(s.tmp / "some")
    return [gputune, "cluster", "check", *options, "--state", str(tmp / state), "--format", "json", *more]


def check(what, s, *more, codes=(1,), **where):
    begin = time.monotonic()
    code, out, err = finish(start(*command(s, *more, **where)))
    took = time.monotonic() - begin
    if "-v" in sys.argv:
        print(f"  {what}: {took:.1f} s")
    j = fits(what, out, "cluster-check", (code, err[-600:]))
    if not j:
        return {"findings": [], "results": [], "blames": [], "paths": []}, took
    expect(f"{what}: exit code", code in codes and code == j["exit_code"], (code, codes_of(j), err[-300:]))
    return j, took


def steady(s):
    """Twins on one switch must not answer for each other."""
    for name in s.names:
        for key, value in (("arp_ignore", 1), ("arp_announce", 2)):
            s.inside(name, "sysctl", "-qw", f"net.ipv4.conf.all.{key}={value}")


def switched(s, n, **more):
    s.switch([(i + 1, 0) for i in range(n)], **more)
    for i in range(n):
        for twin in (0, 1):
            s.address(i + 1, 0, twin, f"192.168.{100 + twin}.{i + 1}/24")
    steady(s)


def found(j, code, node=None, port=None):
    return [f for f in j["findings"] if f["code"] == code and (node is None or f["node"] == node) and (port is None or f["port"] == port)]


def codes_of(j):
    return [(f["code"], f["node"], f["port"]) for f in j["findings"] if f["severity"] != "note"]


# What a measurement says, and what a captured inventory says of itself in namespaces may stay.
ACTIVE = ("path-dead", "mtu-mismatch", "mtu-path", "wrong-egress", "wrong-ingress", "half-speed-twin-unused", "slow-path", "degraded-fabric", "dead-node",
          "data-wrong", "forward-drop", "socket-fallback", "link-errors", "lossy-fabric", "gid-drift")
SHORT = ("--for", "100ms")
QUICK = ("--quick",)


def four():
    with Sparks(4) as s:
        switched(s, 4)
        if "full" in sys.argv:
            healthy(s)
        planted(s)
        dead(s)
        interrupted(s)


def healthy(s):
    j, took = check("four healthy nodes", s, codes=(0, 1))
    expect("nothing is named", not [c for c in codes_of(j) if c[0] in ACTIVE], codes_of(j))
    expect("twelve paths", len(j["paths"]) == 12, j["paths"])
    kinds = {}
    for r in j["results"]:
        kinds.setdefault((r["test"], r["together"]), []).append(r)
    expect("echoes both ways", len(kinds.get(("ping", False), [])) == 24 and len(kinds.get(("jumbo", False), [])) == 24, kinds.keys())
    expect("large ones", {r["bytes"] for r in kinds.get(("jumbo", False), [])} == {8972}, "")
    # More where one was tried again.
    expect("TCP both ways", len(kinds.get(("tcp", False), [])) >= 24 and len(kinds.get(("tcp", True), [])) >= 12,
           {k: len(v) for k, v in kinds.items()})
    expect("figures", all(r["state"] in ("good", "low") and r["median_gbit_per_s"] > 0 for r in kinds.get(("tcp", False), [])),
           [r["why"] for r in kinds.get(("tcp", False), []) if r["why"]])
    expect("what was not tried has a reason", all(r["why"] for r in j["results"] if r["state"] == "left-out"), "")
    expect("counters were read", j["counters"]["read"] > 0, j["counters"])
    print(f"four nodes: {took:.1f} s, of that discovery {j['discovery_seconds']:.1f} s")


def planted(s):
    """A port that is slow in one direction, and another one with a small MTU."""
    s.inside(3, "tc", "qdisc", "add", "dev", P, "root", "tbf", "rate", "100mbit", "burst", "64kb", "latency", "50ms")
    s.ip(2, "link", "set", Q, "mtu", "1500")
    j, took = check("a slow port and a wrong MTU", s, *SHORT)
    slow = found(j, "slow-path")
    expect("the slow port is named", len(slow) == 1 and (slow[0]["node"], slow[0]["port"]) == ("spark-3", P), slow)
    expect("as the sending one, with certainty", any(b["certain"] and "sending" in b["what"] and b["node"] == "spark-3"
                                                     for b in j["blames"]), j["blames"])
    expect("tried twice", any(r["pass"] == 2 and r["state"] == "low" for r in j["results"]), "")
    mtu = found(j, "mtu-mismatch", "spark-2", Q)
    expect("the MTU is named, with the echo", mtu and "got no reply" in mtu[0]["evidence"] and "1500" in mtu[0]["evidence"], mtu)
    expect("nothing else", {c[0] for c in codes_of(j) if c[0] in ACTIVE} == {"slow-path", "mtu-mismatch"}, codes_of(j))
    expect("both twins at once", any(r["together"] and r["test"] == "tcp" for r in j["results"]), "")
    if "full" in sys.argv:
        expect("compared with the earlier one", j.get("earlier") and found(j, "slower-than-before", "spark-3", P), j.get("earlier"))
    s.inside(3, "tc", "qdisc", "del", "dev", P, "root")
    s.ip(2, "link", "set", Q, "mtu", "9000")


def dead(s):
    j, took = check("a dead node", s, *QUICK, only=["spark-1", "spark-2", "nobody"])
    expect("it is named", found(j, "dead-node", "nobody"), codes_of(j))
    expect("the others are tried", sum(r["test"] == "ping" and r["state"] == "good" for r in j["results"]) == 4, j["results"][:3])
    # A port whose link is up and whose packets the switch swallows.
    s.ip(s.hub, "link", "set", "s1p0t1", "nomaster")
    j, took = check("a dead port", s, *QUICK, only=["spark-1", "spark-2", "spark-3"])
    f = found(j, "path-dead")
    expect("it is named", f and (f[0]["node"], f[0]["port"]) == ("spark-1", Q), (f, j["blames"]))
    s.ip(s.hub, "link", "set", "s1p0t1", "master", "sw1")


def interrupted(s):
    p = OnTerminal(command(s, state="cut"))
    expect("it measures", p.says(b"round 1 of "), p.seen)
    code, out = p.end(signal.SIGINT)
    try:
        expect("Ctrl-C", code in (1, 5) and (not out or json.loads(out)["partial"]), (code, out[:200], p.seen))
    except ValueError as e:
        expect("Ctrl-C", False, (e, out[:200]))
    expect("no process is left", until(lambda: not running(gputune)), running(gputune))


def small_switch():
    with Sparks(2) as s:
        switched(s, 2)
        for k in range(2):
            for twin in (0, 1):
                s.ip(s.hub, "link", "set", f"s1p{k}t{twin}", "mtu", "1500")
        j, _ = check("a switch without large packets", s, *QUICK)
        expect("it is named", found(j, "mtu-path") and not found(j, "mtu-mismatch"), codes_of(j))


def one_subnet():
    with Sparks(2) as s:
        s.switch([(1, 0), (2, 0)])
        for i in (1, 2):
            for twin in (0, 1):
                s.address(i, 0, twin, f"192.168.100.{i + 100 * twin}/24")
        j, _ = check("twins in one subnet", s, *SHORT)
        expect("they are named", found(j, "same-subnet-twins", "spark-1") and found(j, "same-subnet-twins", "spark-2"), codes_of(j))
        f = found(j, "wrong-egress")
        expect("and that packets take another port", any(" MB " in x["evidence"] for x in f), f)


def answers_for_its_twin():
    """One switch, two subnets, and ports that answer for each other's addresses."""
    with Sparks(2) as s:
        s.switch([(1, 0), (2, 0)])
        for i in (1, 2):
            for twin in (0, 1):
                s.address(i, 0, twin, f"192.168.{100 + twin}.{i}/24")
        s.ip(1, "neigh", "replace", "192.168.101.2", "lladdr", s.inside(2, "cat", f"/sys/class/net/{P}/address").stdout.strip(), "dev", Q,
             "nud", "permanent")
        j, _ = check("a port that gets its twin's packets", s, *SHORT)
        f = found(j, "wrong-ingress", "spark-2", Q)
        expect("it is named", f and "arp_ignore" in f[0]["fix"], (codes_of(j), [r["why"] for r in j["results"] if r["why"]]))


def chain():
    """1 - 2 - 3 without a cable between 1 and 3: 2 has to forward."""
    with Sparks(3) as s:
        s.cable((1, 0), (2, 1))
        s.official((1, 0), (2, 1), 100)
        s.cable((2, 0), (3, 1))
        s.official((2, 0), (3, 1), 102)
        s.ip(1, "route", "add", "192.168.102.0/23", "via", "192.168.100.2")
        s.ip(3, "route", "add", "192.168.100.0/23", "via", "192.168.102.2")
        s.inside(2, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        j, _ = check("a node that forwards", s, *QUICK)
        routed = [r for r in j["results"] if r["test"] == "routed"]
        expect("echoes through it", routed and all(r["state"] == "good" for r in routed), routed)
        expect("it is not blamed", not [f for f in found(j, "forward-drop") if f["severity"] == "fault"], codes_of(j))
        nft = shutil.which("nft") or "/usr/sbin/nft"
        blocked = os.path.exists(nft) and s.inside(2, nft, "add table ip filter; add chain ip filter FORWARD "
                                                   "{ type filter hook forward priority 0 ; policy drop ; }", check=False).returncode == 0
        if not blocked:
            skip("nftables", "it is not here: forwarding is switched off instead of blocked")
            s.inside(2, "sysctl", "-qw", "net.ipv4.ip_forward=0")
        j, _ = check("a node that does not forward", s, *QUICK)
        f = found(j, "forward-drop", "spark-2")
        expect("it is named", f and "got no reply" in f[0]["evidence"] and f[0]["severity"] == "fault" and
               ("drop" in f[0]["evidence"] if blocked else "ip_forward is 0" in f[0]["evidence"]), f)
        expect("its own links are good", all(r["state"] == "good" for r in j["results"] if r["test"] == "ping"), "")


def drifted():
    """The same two nodes twice; in between a GID of one moved."""
    with Sparks(2) as s:
        netspaces.official_cabling(s, 2)
        check("before a GID moves", s, *QUICK, codes=(0, 1), state="gids")
        for index in (3, 4):
            s.gid(2, 0, 0, index, ":".join(["0000"] * 8), "RoCE v2")
        s.gid(2, 0, 0, 5, "0000:0000:0000:0000:0000:ffff:c0a8:6402", "RoCE v2")
        j, _ = check("after a GID moved", s, *QUICK, state="gids")
        f = found(j, "gid-drift", "spark-2", P)
        expect("it is named", f and "3 to 5" in f[0]["text"], (codes_of(j), j.get("notes")))


def gpus():
    """A GPU in each of two nodes, on the stand-ins of driver and NCCL: which sizes were tried, and that all ranks agree."""
    stub = built / "tests/stub"
    if not (stub / "libraries/libnccl.so.2").exists() or not (stub / "device/libcuda.so.1").exists():
        skip("NCCL", "no stand-ins in this build")
        return
    with Sparks(2) as s:
        netspaces.official_cabling(s, 2)
        argv = command(s, *SHORT)
        at = argv.index("--node-command") + 1
        for i, space in enumerate(s.spaces.values()):
            (s.tmp / f"{space}.sh").write_text(f"export LD_LIBRARY_PATH={stub}/device GPUTUNE_LIB_DIR={stub}/libraries\n"
                                               f"export GPUTUNE_STUB_CUDA='gpus=1 memory=2000000000 uuid={32 + i}'\n"
                                               f"exec {argv[at].replace('{node}', space)}\n")
        argv[at] = f"sh {s.tmp}/{{node}}.sh"
        p = subprocess.run(argv, capture_output=True, text=True, timeout=120)
        try:
            j = json.loads(p.stdout)
            jsonschema.validate(j, schema("cluster-check"))
        except (ValueError, jsonschema.ValidationError) as e:
            expect("NCCL", False, (p.returncode, str(e)[:300], p.stderr[-300:]))
            return
        nccl = {r["operation"]: r for r in j["results"] if r["test"].startswith("nccl")}
        expect("from 8 bytes up", {"all-reduce:8B", "all-reduce:64KiB", "all-reduce:64MiB", "all-gather:64MiB"} <= set(nccl), nccl)
        good = {k for k, r in nccl.items() if r["state"] == "good" and r["samples"] >= 2}
        expect("verified", {"all-reduce:8B", "all-reduce:8KiB", "all-reduce:1MiB"} <= good, {k: (r["state"], r["why"]) for k, r in nccl.items()})
        # The memory through which the stand-in's processes exchange data is small: what does not fit, fails, and is told.
        expect("failures are told", all(r["why"] for k, r in nccl.items() if k not in good) and
               bool(set(nccl) - good) == bool(found(j, "nccl-failed")), codes_of(j))
        small, large = nccl.get("all-reduce:8B", {}), nccl.get("all-reduce:1MiB", {})
        expect("time of small ones, bandwidth of large ones", small.get("median_us", 0) and large.get("median_gb_per_s", 0), (small, large))


def bad_requests():
    """A node program believes nothing of what it is asked: each of these is refused in a sentence, and the next one is answered."""
    token = "ab" * 32

    def ping(targets, tries=3, limit_ms=300):
        return "ping", {"targets": targets, "tries": tries, "limit_ms": limit_ms}

    bad = [("serve", {}), ("serve", {"token": "xyz", "addresses": []}), ("serve", {"token": token, "addresses": "127.0.0.1"}),
           ("serve", {"token": "ab" * 15, "addresses": []}), ("serve", {"token": token, "addresses": ["127.0.0.1"] * 65}),
           ("ping", {}), ping([{"from": "127.0.0.1", "bytes": 56}]), ping(3), ping([], tries=0), ping([], limit_ms=10 ** 6),
           ping([{"from": "127.0.0.1", "to": "127.0.0.1", "bytes": 1 << 20}]),
           ping([{"from": "127.0.0.1", "to": "127.0.0.1", "bytes": 56}] * 257),
           ("measure", {"token": token, "bench": "disk", "case": "x", "windows": 1, "peers": ["127.0.0.1:1"]}),
           ("measure", {"token": token, "bench": "tcp", "case": "send:4", "windows": 1, "peers": ["localhost"]}),
           ("measure", {"token": token, "bench": "tcp", "case": "send:4", "windows": 1, "peers": []}),
           ("measure", {"token": token, "bench": "tcp", "case": "send:4", "windows": 1, "peers": ["127.0.0.1:1"] * 9}),
           ("measure", {"token": token, "bench": "tcp", "case": "send:4", "windows": 10 ** 9, "peers": ["127.0.0.1:1"]}),
           ("measure", {"bench": "tcp", "case": "send:4", "windows": 1, "peers": ["127.0.0.1:1"]}),
           ("counters", {}), ("counters", {"ports": [{}]}), ("counters", {"ports": [{"port": "lo", "device": "../../etc"}]}),
           ("counters", {"ports": [{"port": "a" * 16}]}), ("collective", {"token": token, "rank": 2, "ranks": 2, "windows": 1, "meet": "127.0.0.1:1",
                                                                          "operations": []}),
           ("collective", {"token": token, "rank": 0, "ranks": 65, "windows": 1, "meet": "127.0.0.1:1", "operations": []}),
           ("collective", {"token": token, "rank": 0, "ranks": 2, "windows": 1, "meet": "nowhere", "operations": []})]
    good = [("serve", {"token": token, "addresses": ["127.0.0.1", "192.0.2.1", "0.0.0.0", "x"]}), ("serve-end", {}), ("serve-end", {}),
            ("counters", {"ports": [{"port": "lo"}]}), ping([{"from": "127.0.0.1", "to": "127.0.0.1", "bytes": 1400},
                                                            {"from": "192.0.2.1", "to": "127.0.0.1", "bytes": 56}]),
            # Nobody listens there.
            ("measure", {"token": token, "bench": "tcp", "case": "send:4", "windows": 1, "peers": ["127.0.0.1:1", "127.0.0.1:1"]})]
    lines = "".join(json.dumps({"schema": "gputune.cluster-node/1", "id": i + 1, "ask": ask, "with": with_}) + "\n"
                    for i, (ask, with_) in enumerate(bad + good))
    p = subprocess.run([gputune, "cluster", "node"], input=lines, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in p.stdout.splitlines()][1:]
    expect("every request is answered", len(answers) == len(bad) + len(good), (p.returncode, len(answers), p.stderr[-500:]))
    for (ask, with_), a in zip(bad, answers):
        expect(f"{ask} {str(with_)[:80]} is refused", a["ok"] is False and a["error"], a)
    for (ask, with_), a in zip(good, answers[len(bad):]):
        expect(f"{ask} is answered", a["ok"] is True, a)
    if len(answers) == len(bad) + len(good):
        serve, _, _, counters, ping, measure = (a.get("answer") for a in answers[len(bad):])
        expect("only addresses of its own are served", serve and serve["servers"][0]["at"].startswith("127.0.0.1:") and
               all(x["at"] is None and x["error"] for x in serve["servers"][1:]), serve)
        expect("counters of lo", counters and {c["port"] for c in counters["counters"]} == {"lo"}, counters)
        expect("an echo, and none from elsewhere", ping and ping["echoes"][0]["got"] > 0 and ping["echoes"][1]["error"], ping)
        expect("nothing was measured", measure and all("nothing listens" in w["error"] for w in measure["paths"]), measure)


why = netspaces.possible()
try:
    for part in (bad_requests, four, small_switch, one_subnet, answers_for_its_twin, chain, drifted, gpus):
        if (not why or part is bad_requests) and (set(sys.argv[2:]) <= {"full", "-v"} or part.__name__ in sys.argv[2:]):
            begin = time.monotonic()
            part()
            print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
finally:
    if why or not shutil.which("tc"):
        skip("cluster check", why or "tc is not installed")
end_suite()
