#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""qualify: one node as a prolog runs it; four ranks in network namespaces with a slow port, then with one that never comes and one that is
killed; cluster check on two "Sparks", whose inventory is a capture's. "nodes=N": that many ranks with faults of all kinds instead, as long as
it takes (nightly); "slurm": started by a real one. Judges no figure."""
import contextlib
import json
import os
import subprocess
import sys
import time

import common
from common import copy_of, end_suite, expect, finish, fits, running, scratch, skip, start, until
import netspaces
import slurm_lab
from terminal import OnTerminal

tmp = scratch("qualify")
gputune = copy_of(common.gputune, tmp)
launchers = ("OMPI_", "PMI", "SLURM_", "GPUTUNE_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "JOB_COMPLETION")
base = {k: v for k, v in os.environ.items() if not k.startswith(launchers)}
token = tmp / "token"
token.write_text("a secret of this test alone\n")
token.chmod(0o600)


@contextlib.contextmanager
def spaces(n, rate="100mbit"):
    """Namespaces q1.. on a switch, whose ports carry that much."""
    tag = f"gq{os.getpid() % 100000}"
    run = netspaces.run
    names = [f"{tag}-{i}" for i in range(n)]
    try:
        run("ip", "netns", "add", tag)
        run("ip", "-n", tag, "link", "add", "sw", "type", "bridge")
        run("ip", "-n", tag, "link", "set", "sw", "up")
        for i, name in enumerate(names):
            run("ip", "netns", "add", name)
            run("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"p{i}", "netns", tag)
            run("ip", "-n", tag, "link", "set", f"p{i}", "master", "sw", "up")
            run("ip", "-n", name, "addr", "add", f"10.99.0.{i + 1}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            shape(name, rate)
        yield names
    finally:
        for name in [*names, tag]:
            run("ip", "netns", "del", name, check=False)


def shape(name, rate, dev="eth0"):
    netspaces.run("ip", "netns", "exec", name, "tc", "qdisc", "replace", "dev", dev, "root", "tbf", "rate", rate, "burst", "16kb", "latency",
                  "100ms")


def slow_pair(names, a, b, hub):
    """From a to b through a port of its own, which is slow."""
    run = netspaces.run
    run("ip", "link", "add", "eth1", "netns", names[a], "type", "veth", "peer", "name", f"x{a}", "netns", hub)
    run("ip", "-n", hub, "link", "set", f"x{a}", "master", "sw", "up")
    run("ip", "-n", names[a], "link", "set", "eth1", "up")
    shape(names[a], "1mbit", "eth1")
    run("ip", "-n", names[a], "route", "add", f"10.99.0.{b + 1}/32", "dev", "eth1", "src", f"10.99.0.{a + 1}")


def ports(i, **files):
    """/sys/class/net of a rank, whose ports are hardware: NAME={file: text}."""
    root = tmp / f"net{i}"
    for port, texts in files.items():
        (root / port / "device").mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (root / port / name).write_text(f"{text}\n")
    return f"mount --bind {root} /sys/class/net && "


def ranks(names, *more, missing=(), before=(), begin=start):
    """Starts all; rank 0 is the first of the list, and begun so. before: what a rank's shell does first."""
    env = {**base, "GPUTUNE_RANKS": str(len(names)), "GPUTUNE_LOCAL_RANK": "0", "GPUTUNE_MEET": "10.99.0.1:21333",
           "GPUTUNE_TOKEN_FILE": str(token)}
    return [(start if i else begin)("ip", "netns", "exec", name, "unshare", "-um", "sh", "-c", f"hostname n{i} && {before[i] if before else ''}exec \"$@\"", "sh", gputune, "qualify",
                  "--no-bench", "--ranks-wait", "3s" if missing else "60s", "--format", "json", *more, env={**env, "GPUTUNE_RANK": str(i)})
            for i, name in enumerate(names) if i not in missing]


def terminal(*argv, env):
    return OnTerminal(argv, env=env, cwd="/", stdin=subprocess.DEVNULL)


def verdict(what, all_, codes=(1,)):
    code, out, err = finish(all_[0], 300) if isinstance(all_[0], subprocess.Popen) else (*all_[0].end(seconds=300), "")
    j = fits(what, out, "qualify", (code, err[-500:]))
    expect(f"{what}: exit code", j and code in codes and code == j["exit_code"], (code, err[-300:], out[:2000]))
    for other in all_[1:]:
        other_code, other_out, _ = finish(other)
        expect(f"{what}: rank 0 alone prints", not other_out, other_out[:200])
    expect(f"{what}: no process is left", until(lambda: not running(gputune)), running(gputune))
    return j or {"faults": [], "drain": [], "nodes": [], "networks": []}


def links(j):
    return sorted(f["what"] for f in j["faults"])


def alone():
    code, out, err = finish(start(gputune, "qualify", "--no-bench", "--format", "json", env=base))
    j = fits("one node", out, "qualify", (code, err))
    expect("one node: exit code", j and code == (1 if j["drain"] else 0) and len(j["nodes"]) == 1, (code, err))
    before = tmp / "before.json"
    before.write_text(out)
    again = finish(start(gputune, "qualify", "--no-bench", "--against", str(before), "--format", "json", env=base))
    expect("one node beside its earlier result: the same", again[0] == code and not json.loads(again[1])["faults"], again)
    before.write_text('{"schema": "gputune.check/1", "nodes": []}')
    again = finish(start(gputune, "qualify", "--no-bench", "--against", str(before), env=base))
    expect("what is no result of it is refused", again[0] == 2 and "not a result of gputune qualify" in again[2], again)
    code, out, err = finish(start(gputune, "qualify", "--time-limit", "200ms", env=base))
    expect("a budget below a second is refused", code == 2 and "--time-limit" in err, (code, err))


def four():
    with spaces(4) as names:
        shape(names[2], "5mbit")
        all_ = ranks(names, begin=terminal)
        j = verdict("a slow port", all_)
        expect("a terminal sees what is tested, and how long at most", all(w in all_[0].seen for w in (b"each node separately", b"links: network of 10.99.0.1/24",
               b"at most ")) and all_[0].seen.rstrip().endswith(b"\x1b[K"), all_[0].seen[:400])
        expect("the slow port is named, alone and with certainty", [f["node"] for f in j["faults"]] == ["n2"] and j["faults"][0]["certain"],
               j["faults"])
        expect("its node is drained", any(d["node"] == "n2" and "Gbit/s" in d["reasons"][-1] for d in j["drain"]), j["drain"])
        if "full" not in sys.argv:
            return
        shape(names[2], "100mbit")
        j = verdict("nothing planted", ranks(names), codes=(0, 1))
        expect("no link is named", not links(j), j["faults"])
        j = verdict("a rank that never comes", ranks(names, missing=(3,)), codes=(1, 5))
        expect("it is named", [n["reasons"] for n in j["nodes"] if n["node"] == "rank 3"] == [["did not connect"]], j["nodes"])
        all_ = ranks(names)
        time.sleep(0.7)
        all_[1].kill()
        j = verdict("a rank that is killed", all_, codes=(1, 5))
        expect("it is unknown", any(n["state"] == "unknown" for n in j["nodes"]) or j["faults"], j["nodes"])


def pair():
    """Two nodes, with nobody beside them: ports far below their speed, an MTU that the way does not carry; then all well."""
    with spaces(2) as names:
        run = netspaces.run
        run("ip", "link", "add", "eth1", "netns", names[0], "type", "veth", "peer", "name", "eth1", "netns", names[1])
        for i, mtu in enumerate((1500, 1300)):
            run("ip", "-n", names[i], "addr", "add", f"10.98.0.{i + 1}/24", "dev", "eth1")
            run("ip", "-n", names[i], "link", "set", "eth1", "mtu", str(mtu), "up")
        until(lambda: all("state UP" in run("ip", "-n", n, "link", "show", "eth1").stdout for n in names))
        before = [ports(i, eth0={"speed": 1000, "mtu": 1500}, eth1={"mtu": 1300 if i else 1500}) for i in range(2)]
        j = verdict("two nodes", ranks(names, before=before))
        evidence = "; ".join(f["evidence"] for f in j["faults"])
        expect("a port below its speed", "expected 0.6 (60 % of the ports' 1 Gbit/s" in evidence, j["faults"])
        expect("large packets", "packets of 1500 bytes from n0 to n1 get lost" in evidence and "the MTU at the destination is 1300" in evidence,
               (j["faults"], j["networks"], j.get("notes")))
        expect("no node is blamed for what either can be", not j["drain"], j["drain"])
        if "full" not in sys.argv:
            return
        for pair in j["pairs"]:
            pair["value"] = pair["value"] and 2 * pair["value"]
        (tmp / "pair.json").write_text(json.dumps(j))
        k = verdict("beside an earlier result", ranks(names, "--against", str(tmp / "pair.json"), before=before))
        expect("what fell is named", any(f["what"].startswith("tcp between n0 and n1") and "in the earlier result" in f["evidence"]
                                         for f in k["faults"]), k["faults"])
        for name in names:
            run("ip", "netns", "exec", name, "tc", "qdisc", "del", "dev", "eth0", "root")
        run("ip", "-n", names[0], "link", "del", "eth1")
        j = verdict("two healthy nodes", ranks(names, before=before), codes=(0, 1))
        expect("no link is named", not links(j) and j["networks"][0]["tcp_lowest_gbit_per_s"] > 0.6, (j["faults"], j["networks"]))


def srun(names):
    """qualify and check on all nodes of a real Slurm; what qualify said."""
    n = len(names)
    with slurm_lab.Lab(scratch("slurm"), names, [f"10.99.0.{i + 1}" for i in range(n)]) as lab:
        if not expect("all nodes are idle", lab.ready, lab.run(0, "sinfo", "-N").stdout):
            return {"faults": [], "drain": [], "nodes": [], "networks": []}
        command = ["srun", "-N", str(n), "--ntasks-per-node=1", gputune]
        netspaces.run("ip", "netns", "exec", names[n // 4], "sysctl", "-qw", "net.core.somaxconn=99")
        began = time.monotonic()
        checked = lab.run(0, *command, "check", "--only", "net.somaxconn", "--format", "json", GPUTUNE_TOKEN_FILE=str(token))
        j = fits("check under srun", checked.stdout, "fleet", checked.stderr[-500:])
        odd = j and min(j["groups"], key=lambda g: g["machines"])
        expect("check under srun: the node with another value is named", odd and odd["hosts"] == f"n{n // 4}" and
               sum(g["machines"] for g in j["groups"]) == n, (checked.stderr[-500:], j and j["groups"]))
        print(f"srun -N {n} gputune check: {time.monotonic() - began:.1f} s")
        ran = lab.run(0, *command, "qualify", "--no-bench", "--format", "json", "--time-limit", "170s", GPUTUNE_TOKEN_FILE=str(token))
        j = fits("qualify under srun", ran.stdout, "qualify", (ran.returncode, ran.stderr[-500:]))
        expect("qualify under srun: exit code", j and j["exit_code"] == 1 and ran.returncode, (ran.returncode, ran.stderr[-500:]))
        return j or {"faults": [], "drain": [], "nodes": [], "networks": []}


def many(n):
    """Faults of nodes and pairs among many."""
    with spaces(n, "20mbit") as names:
        shape(names[n // 3], "2mbit")
        shape(names[n - 2], "2mbit")
        slow_pair(names, 1, n // 2, names[0].rsplit("-", 1)[0])
        j = srun(names) if "slurm" in sys.argv else verdict(f"{n} nodes", ranks(names, "--time-limit", "170s"))
        print(f"{n} nodes: {j.get('seconds', 0):.0f} s, tests {[w['tests'] for w in j['networks']]}, {links(j)}")
        expect("nodes are named", {d["node"] for d in j["drain"]} >= {f"n{n // 3}", f"n{n - 2}"}, j["drain"])
        expect("the pair is named", any(w.startswith("path between") and f"n{n // 2}" in w and "n1 " in w for w in links(j)), links(j))
        expect("nothing else is", len(links(j)) == 3, links(j))
        expect("within three minutes", j.get("seconds", 999) <= 180, j.get("seconds"))


def sparks():
    with netspaces.Sparks(2) as s:
        s.cable((1, 0), (2, 0))
        for twin in (0, 1):
            for node in (1, 2):
                s.address(node, 0, twin, f"192.168.{100 + twin}.{node}/24")
        checking = OnTerminal([gputune, "cluster", "check", *s.nodes(gputune), "--format", "json"])
        code, out = checking.end(seconds=120)
        j = fits("cluster check", out, "cluster-check", (code, checking.seen[-500:]))
        expect("a terminal sees the discovery, then what is tested", all(w in checking.seen for w in (b"asking 2 nodes", b"each node separately", b"links: network of 192.168.100.")),
               checking.seen[:400])
        err = ""
        expect("two nodes, both networks and the management's", j and len(j["qualify"]["networks"]) == 3, (code, err, out[:500]))
        expect("links are good", j and not j["qualify"]["faults"], j and j["qualify"]["faults"])


why = netspaces.possible()
alone()
counts = [int(w.split("=")[1]) for w in sys.argv if w.startswith("nodes=")]
if why:
    skip("qualify of several nodes", why)
elif "slurm" in sys.argv and slurm_lab.missing():
    skip("Slurm", f"no {slurm_lab.missing()} here")
elif counts:
    many(counts[0])
else:
    pair()
    four()
    if "full" in sys.argv:
        sparks()
end_suite()
