# SPDX-License-Identifier: Apache-2.0
"""Captured machines with something in every section of a report: kept results, proofs, changes of ours of which one
drifted, files for the next boot; and names that try to be markup. For report.py and the browser's tests."""
import json
import os
import pathlib
import random

import common
from common import machines, root

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\'</style>'


def run(gputune, *argv, **how):
    return common.run(*argv, program=gputune, seconds=300, **how)


def case(seed, bench, name, unit, values, limit=None, better="higher", band=None):
    """One case of a result, as bench writes it; samples around a value."""
    c = json.loads(json.dumps(seed))
    n, r = len(c["at_s"]), random.Random(f"{bench}{name}")
    key = {"GB/s": "gb_per_s", "us": "us", "ns": "ns", "TFLOP/s": "tflops"}[unit]
    band = {"known": True, f"low_{key}": band[0], f"high_{key}": band[1], "source": "measured on 12 machines of the kind"} \
        if band else {"known": False, "source": "nobody has published one"}
    c.update(bench=bench, case=name, method="as the test has it", setup="", placement="all", variant="",
             limit={"known": True, f"limit_{key}": limit, "source": "data sheet of the test"} if limit else
             {"known": False, "source": "unknown: not in any data sheet"}, figures=[{
                 "key": "rate", "title": "median of the window", "unit": key, "unit_text": unit, "better": better, "n": n,
                 f"samples_{key}": [values * (1 + r.uniform(-0.02, 0.02)) for _ in range(n)], "band": band}])
    c.pop("observed", None)
    return c


def result(id, cases, **more):
    j = json.loads((root / "tests/fuzz/seeds/bench.json").read_text())
    seed = j["cases"][1]
    j.update(id=id, cases=[case(seed, *c[:4], **c[4]) for c in cases], notes=[], **more)
    j["conditions"]["busy"] = False
    j["conditions"]["others_before_cpus"] = j["conditions"]["others_cpus"] = 0.05
    return j


def results():
    sizes = [(f"{n} KiB" if n < 1024 else f"{n // 1024} MiB").replace(" ", "") for n in (4 ** k for k in range(2, 10))]
    yield result("20261120-090000-memory", [
        ("memory-bandwidth", "triad", "GB/s", 213.0, {"limit": 273.0, "band": (205, 232)}),
        ("memory-bandwidth", "copy", "GB/s", 198.0, {"limit": 273.0}),
        ("memory-bandwidth", "read", "GB/s", 171.0, {"limit": 273.0, "band": (205, 232)}),
        *(("memory-latency", s, "ns", 1.1 * 1.9 ** i, {"better": "lower"}) for i, s in enumerate(sizes))])
    yield result("20261121-100000-gpu", [
        *(("copy", f"pair:gpu{a}:gpu{b}", "GB/s", 380 if (a ^ b) == 1 else 210 - 10 * b, {"limit": 450.0})
          for a in range(4) for b in range(4) if a != b),
        *(("collectives", f"all-reduce:{s}", "GB/s", 470 * i / 8 + 3, {"limit": 480.0}) for i, s in enumerate(sizes)),
        ("gemm", "bf16", "TFLOP/s", 712.0, {"limit": 989.0, "band": (650, 760)}),
        ("gemm", "fp8", "TFLOP/s", 1240.0, {"limit": 1979.0})])
    yield result("20261107-090000-memory", [
        ("memory-bandwidth", "triad", "GB/s", 226.0, {"limit": 273.0, "band": (205, 232)}),
        ("memory-bandwidth", "copy", "GB/s", 199.0, {"limit": 273.0})], time="2026-11-07T09:00:00Z")


def digest(*pairs):
    """FNV-1a of names and values, each with its NUL: how machines are told apart."""
    h = 0xcbf29ce484222325
    for text in (t for pair in pairs for t in pair):
        for byte in text.encode() + b"\0":
            h = (h ^ byte) * 0x100000001b3 % (1 << 64)
    return f"{h:016x}"


def value(facts, *path):
    for step in path:
        facts = facts.get(step, {})
    return facts.get("value", "")


def ledger(facts):
    here = {"machine": digest(("id", ""), ("name", value(facts, "nodename")), ("cpu", value(facts, "cpu", "model")),
                              ("product", value(facts, "platform", "product"))),
            "kernel": value(facts, "kernel", "release"), "driver": value(facts, "gpu", "driver"),
            "firmware": value(facts, "platform", "bios_version"), "hardware": "0123456789abcdef"}
    rows = [("disk.read-ahead", "nvme0n1", "128", "1024", "disk/read-seq:128KiB:buffered", "helps", 1.031, 1.024, 1.039),
            ("net.tcp-rmem", "", "4096 131072 6291456", "4096 131072 16777216", "tcp/receive:1", "hurts", 0.96, 0.95, 0.97),
            ("cpu.governor", "", "schedutil", "performance", "timer-wake-up/100us", "no-difference", 1.001, 0.995, 1.006),
            ("memory.thp", "", "madvise", "always", "memory-latency/64MiB", "helps", 1.18, 1.14, 1.22)]
    return "".join(json.dumps({
        "schema": "gputune.ledger/1", "time": f"2026-11-2{i % 2}T1{i}:00:00Z", "setting": s, "target": t, "before": b,
        "after": a, "bench": bench, "command": None, "figure": "rate", "unit": "GB/s", **here, "name": "spark",
        "tool_version": "0.1.0", "verdict": v, "ratio": x, "low": low, "high": high, "min_effect": 0.01, "pairs": 12,
        "seed": "00000000000000aa", "kept": False}) + "\n" for i, (s, t, b, a, bench, v, x, low, high) in enumerate(rows))


def full(gputune, at, name="hgx-h100"):
    """A machine of build/machines and an overlay with state; (machine, overlay, what the program said)."""
    machine, overlay = machines / name, pathlib.Path(at, "overlay")
    facts = json.loads(run(gputune, "show", "--format", "json", "--host", machine)[1])["facts"]
    state = overlay / "root/var/lib/gputune"
    (state / "bench").mkdir(parents=True)
    for r in results():
        (state / "bench" / f"{r['id']}.json").write_text(json.dumps(r))
    (state / "ledger.jsonl").write_text(ledger(facts))
    on = ("--host", machine, "--overlay", overlay)
    said = [run(gputune, "apply", "--yes", "--only", "memory.swappiness,net.rmem-max,net.wmem-max",
                "--reason", "the report's test", *on),
            run(gputune, "persist", "install", "--yes", *on)]
    # Somebody else sets one of ours.
    for path in overlay.rglob("swappiness"):
        path.write_text("33\n")
    return machine, overlay, said


def interval(ratio=None, low=None, high=None):
    return {"ratio": ratio, "low": low, "high": high}


def proof(node):
    """A result of prove, as schemas/prove.json has it."""
    return {
        "schema": "gputune.prove/1", "tool_version": "0.1.0", "time": "2026-11-21T10:00:00Z", "exit_code": 0,
        "host": {"nodename": node, "platform": "hgx", "kernel": "6.8.0", "arch": "x86_64", "captured": False},
        "what": "net.tcp-rmem", "verdict": "hurts", "why": "the interval lies below the same", "effect": {
            **interval(0.955, 0.948, 0.962), "pairs": 16, "resolution": 0.004, "pairs_needed": None},
        "kept": False, "transaction": None, "trouble": None, "foreign": None, "partial": False,
        "changes": [{"id": "net.tcp-rmem", "target": "", "knob": "net.ipv4.tcp_rmem", "before": "4096", "after": "8192"}],
        "measured_with": {"kind": "command", "name": "iperf <b>", "metric": "", "setup": "", "version": 1, "argv": ["iperf"],
                          "window_s": 1.5, "figures": [{"key": "rate", "title": "rate", "unit": "GB/s", "better": "higher",
                                                        "decides": True}]},
        "rule": {"min_effect": 0.01, "alpha": 0.01, "looks": [8, 16], "seed": "00000000000000aa"},
        "same": {**interval(1.0, 0.99, 1.01), "result": "ok", "pairs": 8, "resolution": 0.01},
        "guards": [{**interval(1.2, 1.1, 1.3), "figure": "latency", "veto": False, "early": False}], "members": [],
        "steady": True, "settle_s": 0.005, "budget_s": 60.0, "took_s": 42.5, "switches": 20, "machine": None, "fingerprint": {},
        "conditions": {"others_before_cpus": 0.1, "others_cpus": 0.1, "steal_percent": 0, "temperature_c": None}, "windows": []}


def told(gputune, at):
    """Files with a result of every verb that a report takes: {verb: path}; all of hgx01 or of no machine."""
    on, out = ("--host", machines / "hgx-h100"), {}
    for name, argv in (("check", ("check", *on)), ("doctor", ("doctor", "--passive", *on)), ("stack check", ("stack", "check", *on)),
                       ("predict inference", ("predict", "inference", "--model", "qwen3-8b", "--weights", "fp8", *on)),
                       ("predict training", ("predict", "training", "--model", "qwen3-8b", "--what-if", "--scale", "8,16,32", *on)),
                       ("advise", ("advise", "--model", "qwen3-8b", "--weights", "bf16", *on)),
                       ("diagnose training", ("diagnose", "training", root / "tests/data/training/real-loader-2"))):
        out[name] = run(gputune, *argv, "--format", "json")[1]
    out["prove"] = json.dumps(proof("hgx01"))
    kept = list(results())
    for i, factor in enumerate((1, 0.9)):
        one = json.loads(json.dumps(kept[0]))
        for c in one["cases"]:
            for f in c["figures"]:
                key = f"samples_{f['unit']}"
                f[key] = [v * (factor if f["better"] == "higher" else 1) for v in f[key]]
        pathlib.Path(at, f"bench-{i}.json").write_text(json.dumps(one))
    out["compare"] = run(gputune, "compare", pathlib.Path(at, "bench-0.json"), pathlib.Path(at, "bench-1.json"), "--format", "json")[1]
    for name, text in out.items():
        path = pathlib.Path(at, name.replace(" ", "-") + ".json")
        path.write_text(text)
        out[name] = path
    return out


def recording(at, seconds=30):
    """A job's recording: a GPU that is held back, CPUs, memory, networks and disks at known rates."""
    import subprocess as sub

    def column(name, unit, kind="gauge", target="", slow=False):
        return {"name": name, "target": target, "unit": unit, "slow": slow, "kind": kind}

    head = {"schema": "gputune.recording/1", "tool_version": None, "started_s": 1700000000, "interval_ms": 500,
            "command": ["train <b>", "x"], "machine": {
                "name": "m", "platform": None, "kernel": None, "driver": None, "memory_bytes": 64.0 * 2 ** 30, "cpus": 8, "gpus": [
                    {"index": 0, "name": "NVIDIA H200", "sm_max_mhz": 1980.0, "lock_low_mhz": None, "lock_high_mhz": None,
                     "power_limit_w": 700.0, "memory_bytes": 150e9, "slowdown_c": 90.0, "integrated": False}]},
            "columns": [column("gpu.sm-clock", "MHz", target="gpu0"), column("gpu.power", "W", target="gpu0"),
                        column("gpu.temperature", "C", target="gpu0"), column("gpu.capped", "s", "total", "gpu0"),
                        column("gpu.busy", "%", target="gpu0"), column("cpu.busy", "s", "total"),
                        column("memory.available", "bytes"), column("net.received", "bytes", "total", "eth0", True),
                        column("net.received", "bytes", "total", "eth1", True), column("disk.read", "bytes", "total", "sda", True)]}
    rows, steps = [], 2 * seconds
    for k in range(steps):
        s = k // 2  # what is slow is asked once a second
        rows.append([k * 500, 0, 1980 - 900 * k / steps, 1, 400 + 300 * k / steps, 2, 50 + 30 * k / steps, 3, 0.4 * max(0, k - 10),
                     4, 90 + k % 5, 5, 3.0 * k / 2, 6, (40 - 20 * k / steps) * 2 ** 30, 7, 1e9 + 25e6 * s, 8, 50e6 * s, 9, 0])
    text = "\n".join(json.dumps(x) for x in [head, *rows, {"rows": steps, "status": 3, "cpu_s": 0.1, "command_cpu_s": 9.0}]) + "\n"
    file = pathlib.Path(at, "job.rec")
    sub.run(["zstd", "-q", "-f", "-o", file], input=text.encode(), check=True)
    return file


def many(n):
    """n arguments: the captured machines in turns."""
    kinds = sorted(p for p in machines.iterdir() if (p / "meta.json").exists() and p.name != "nothing")
    return [kinds[i % len(kinds)] for i in range(n)]


def hostile(gputune, at):
    """Facts of a machine whose names want to be markup."""
    j = json.loads(run(gputune, "show", "--format", "json", "--host", machines / "dgx-spark")[1])
    facts = j["facts"]
    for part, key in (("platform", "product"), ("platform", "vendor"), ("kernel", "release"), ("cpu", "model")):
        if "value" in facts[part].get(key, {}):
            facts[part][key]["value"] = EVIL
    facts["nodename"]["value"] = EVIL
    for gpu in facts["gpu"]["gpus"]:
        gpu["name"]["value"] = EVIL
    to = pathlib.Path(at, "hostile.json")
    to.write_text(json.dumps(j))
    return to


if __name__ == "__main__":
    import sys
    print(full(os.path.abspath(sys.argv[1]), sys.argv[2]))
