#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What check, explain, plan and fleet say of verdicts that are kept, on a captured machine with a ledger planted: one
that holds, one that a new kernel made expire, one of another machine, and lines that are no rows.

    ledger.py GPUTUNE
"""
import json
import os
import pathlib
import shutil
import tempfile

from common import end_suite, expect, machines, run, validate
from report_state import digest


def seen(facts, *path):
    for step in path:
        facts = facts[step] if step in facts or isinstance(step, int) else {}
    return facts.get("value", "")


def row(here, **more):
    r = {"schema": "gputune.ledger/1", "time": "2026-11-21T10:00:00Z", "setting": "disk.read-ahead", "target": "nvme0n1",
         "before": "128", "after": "1024", "bench": "disk/read-seq:128KiB:buffered", "command": None, "figure": "rate",
         "unit": "GB/s", **here, "name": "spark", "tool_version": "0.1.0", "verdict": "helps", "ratio": 1.031, "low": 1.024,
         "high": 1.039, "min_effect": 0.01, "pairs": 12, "seed": "00000000000000aa", "kept": False, "job": None, **more}
    validate(r, "ledger")
    return json.dumps(r)


def finding(check, id):
    return next(f for f in check["findings"] if f["id"] == id)


with tempfile.TemporaryDirectory() as tmp:
    machine = pathlib.Path(tmp, "m")
    shutil.copytree(machines / "dgx-spark", machine, symlinks=True)
    folder = machine / "root/var/lib/gputune"
    folder.mkdir(parents=True)
    facts = json.loads(run("show", "--format", "json", "--host", machine)[1])["facts"]

    # Which machine it is for the ledger: learnt from a row that the program would write, kept in step here.
    name, cpu = seen(facts, "nodename"), seen(facts, "cpu", "model")
    product = seen(facts, "platform", "product")
    here = {"machine": digest(("id", ""), ("name", name), ("cpu", cpu), ("product", product)),
            "kernel": seen(facts, "kernel", "release"), "driver": seen(facts, "gpu", "driver"),
            "firmware": seen(facts, "platform", "bios_version")}
    pairs = [("product", product), ("cpu", cpu), ("sockets", seen(facts, "cpu", "sockets")),
             ("cores", seen(facts, "cpu", "cores"))]
    for i, gpu in enumerate(facts["gpu"]["gpus"]):
        pairs += [(f"gpu{i}", gpu["name"].get("value", "")), (f"gpu{i}_vbios", gpu["vbios"].get("value", ""))]
    here["hardware"] = digest(*((k, str(v)) for k, v in pairs if v != ""))

    code, before, err = run("check", "--format", "json", "--host", machine)
    before = json.loads(before)
    expect("nothing measured: null", finding(before, "disk.read-ahead")["measured"] is None, err)
    expect("not of what cannot be written", "measured" not in finding(before, "disk.free-space"))
    expect("explain says unmeasured", "not measured here" in run("explain", "disk.read-ahead", "--host", machine)[1])
    expect("no page of verdicts", "measured here:" not in run("check", "--host", machine)[1])

    (folder / "ledger.jsonl").write_text("\n".join([
        row(here), "rubbish",
        row(here, setting="net.tcp-rmem", target="", bench="tcp/receive:1", kernel="6.1.0", verdict="hurts", ratio=0.96,
            low=0.95, high=0.97),
        row(here, setting="disk.scheduler", machine="0123456789abcdef"),
        row(here, setting="net.tcp-fastopen", target="", bench=None, command="./client \"a b\"", figure="wall",
            verdict="no-difference", ratio=1.001, low=0.995, high=1.006),
        ""]) + '{"schema":"gputune.led')
    kept = (folder / "ledger.jsonl").read_bytes()

    code, out, err = run("check", "--format", "json", "--host", machine)
    check = json.loads(out)
    validate(check, "check")
    expect("the exit code is the findings'", code == before["exit_code"] == check["exit_code"], code)
    m = finding(check, "disk.read-ahead")["measured"]
    expect("a verdict that holds", m and m["valid"] and m["verdict"] == "helps" and m["pairs"] == 12, m)
    text = f"+3.1 % [2.4, 3.9] on disk/read-seq:128KiB:buffered, kernel {here['kernel']}"
    expect("its sentence", m and m["text"].startswith(text), m)
    m = finding(check, "net.tcp-rmem")["measured"]
    expect("a new kernel makes it expire", m and not m["valid"] and "kernel 6.1.0 became" in m["expired_because"], m)
    expect("another machine's is not ours", finding(check, "disk.scheduler")["measured"] is None)
    m = finding(check, "net.tcp-fastopen")["measured"]
    expect("a workload's", m and m["bench"] is None and m["text"].startswith("no difference (less than 0.6 %)"), m)
    expect("bad lines are named", ":2: skipped" in err and ":6: skipped: the ledger was truncated" in err, err)
    expect("and nothing is written", (folder / "ledger.jsonl").read_bytes() == kept)

    code, out, err = run("check", "--host", machine)
    expect("the page has them", "measured here" in out and "+3.1 % [2.4, 3.9]" in out, out)
    expect("and counts what is not", "not measured on this machine" in out, out)
    code, out, err = run("explain", "disk.read-ahead", "--host", machine)
    expect("explain", "measured here: +3.1 % [2.4, 3.9]" in out and "2026-11-21T10:00:00Z" in out, out)
    e = json.loads(run("explain", "net.tcp-rmem", "--format", "json", "--host", machine)[1])
    validate(e, "explain")
    expect("explain as JSON", len(e["measured"]) == 1 and not e["measured"][0]["valid"] and e["shown_by"], e["measured"])
    e = json.loads(run("explain", "gpu.compute-mode", "--format", "json", "--host", machine)[1])
    expect("why nothing shows it", e["not_shown"] and not e["shown_by"], e)
    code, out, err = run("plan", "--host", machine)
    expect("plan", code == 1 and "measured here" in out and "+3.1 %" in out, out)
    expect("plan --verbose", "measured here: +3.1 %" in " ".join(run("plan", "--verbose", "--host", machine)[1].split()))

    code, out, err = run("advise", "--model", "Qwen3-8B", "--format", "json", "--host", machine)
    a = json.loads(out)
    validate(a, "advise")
    expect("advise lists what was proven here, and what expired", [(s["id"], s["expired"]) for s in a["settings"]] ==
        [("disk.read-ahead", False), ("net.tcp-rmem", True)] and a["settings"][0]["ratio"] == 1.031, (a["settings"], err))
    out = run("advise", "--model", "Qwen3-8B", "--host", machine)[1]
    expect("advise says on what", "+3.1 % [2.4, 3.9]" in out and "measure it again" in out and "not with this model" in out, out)

    # A verdict on another value than the one that counts: not before one on that, and never as if it were on it.
    (folder / "ledger.jsonl").write_text("\n".join([
        row(here), row(here, time="2026-11-22T10:00:00Z", after="8", verdict="hurts", ratio=0.1, low=0.05, high=0.2),
        row(here, setting="disk.scheduler", before="none", after="bfq", verdict="hurts", ratio=0.7, low=0.6, high=0.8), ""]))
    check = json.loads(run("check", "--format", "json", "--host", machine)[1])
    m = finding(check, "disk.read-ahead")["measured"]
    expect("the value that is wished for goes first", m and m["verdict"] == "helps" and m["after"] == "1024", m)
    code, out, err = run("check", "--all", "--host", machine)
    out = " ".join(out.split())
    expect("another value is named", "value bfq instead of none: -30.0 %" in out and "value 8 instead" not in out,
           out[out.find("Measured here"):])
    out = " ".join(run("plan", "--verbose", "--host", machine)[1].split())
    expect("a change's own value", "measured here: +3.1 %" in out and "-90.0 %" not in out, out)
    out = " ".join(run("explain", "disk.scheduler", "--host", machine)[1].split())
    expect("explain says from what to what", "measured here: -30.0 %" in out and "(none to bfq)" in out, out)

    # What is set is not what is wished for: a verdict on it is no verdict on the change.
    now = finding(check, "disk.read-ahead")
    (folder / "ledger.jsonl").write_text(row(here, before="64", after="128", verdict="hurts", ratio=0.8, low=0.7, high=0.9) + "\n")
    out = " ".join(run("check", "--host", machine)[1].split())
    expect("a verdict on what is set", now["current"].startswith("128") and now["verdict"] == "fail" and
           "value 128 instead of 64: -20.0 %" in out, (now, out[out.find("Measured here"):]))

    # Settings that were switched as one: what was found of them is said beside each of them, as joint.
    joint = row(here, setting="disk.nr-requests+disk.read-ahead+disk.scheduler", target="", before=None, after=None)
    (folder / "ledger.jsonl").write_text(joint + "\n")
    check = json.loads(run("check", "--format", "json", "--host", machine)[1])
    validate(check, "check")
    text = f"+3.1 % [2.4, 3.9] on disk/read-seq:128KiB:buffered, kernel {here['kernel']}"
    for id, others in (("disk.nr-requests", "disk.read-ahead+disk.scheduler"), ("disk.read-ahead", "disk.nr-requests+disk.scheduler"),
                       ("disk.scheduler", "disk.nr-requests+disk.read-ahead")):
        m = finding(check, id)["measured"]
        expect(f"{id}: with others", m and m["with"] == others and m["text"].startswith(f"combined with {others}: {text}"), m)
    for verb in (("check",), ("plan", "--verbose"), ("explain", "disk.read-ahead")):
        out = " ".join(run(*verb, "--host", machine)[1].split())
        expect(f"{verb[0]}: as joint", "combined with disk.nr-requests+disk.scheduler: +3.1 %" in out, out)
    expect("explain names them all", "disk.nr-requests+disk.read-ahead+disk.scheduler" in out, out)
    e = json.loads(run("explain", "disk.read-ahead", "--format", "json", "--host", machine)[1])
    validate(e, "explain")
    expect("explain: with others", [m["with"] for m in e["measured"]] == ["disk.nr-requests+disk.scheduler"], e["measured"])
    (folder / "ledger.jsonl").write_text(row(here, verdict="no-difference", ratio=1, low=0.995, high=1.005) + "\n" + joint + "\n")
    m = finding(json.loads(run("check", "--format", "json", "--host", machine)[1]), "disk.read-ahead")["measured"]
    expect("its own goes first", m and m["with"] is None and m["verdict"] == "no-difference", m)

    # Ledgers of two machines beside each other.
    other = pathlib.Path(tmp, "n2.jsonl")
    other.write_text(row({**here, "machine": "00000000000000bb"}, name="n2", verdict="hurts", ratio=0.9, low=0.85,
                         high=0.95) + "\n")
    first = pathlib.Path(tmp, "n1.jsonl")
    first.write_text(row(here) + "\n")
    code, out, err = run("fleet", first, other, "--format", "json")
    fleet = json.loads(out)
    validate(fleet, "fleet")
    p = fleet["proofs"]
    expect("fleet merges", code == 0 and len(p) == 1 and p[0]["helps"] == 1 and p[0]["hurts"] == 1, out)
    code, out, err = run("fleet", first, other)
    expect("and shows where it hurts", "n2" in out and "-10.0 to +3.1 %" in out, out)

    # A folder that may not be read is no machine without verdicts.
    if os.geteuid() != 0:
        (folder / "ledger.jsonl").chmod(0)
        expect("cannot be seen", "cannot be seen" in run("explain", "disk.read-ahead", "--host", machine)[1])

end_suite()
