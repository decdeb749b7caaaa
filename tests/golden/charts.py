#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""charts.py GPUTUNE: charts of bench and compare on every medium, and the page of a fleet of which is known who is odd."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import common
from common import PLAIN, end_suite, expect, gputune, root, validate

sys.path.insert(0, str(root / "tests/fleet"))
import benches  # noqa: E402
from terminal import at_terminal  # noqa: E402


MACHINES = 200


def run(*argv, width=80, lang="C.UTF-8"):
    return common.run(*argv, env={**os.environ, "COLUMNS": str(width), "LC_ALL": lang, "NO_COLOR": "1"})


def samples(v, k, n=24):
    return [v * (1 + ((i * 7919 + k * 104729) % 101 - 50) / 20000) for i in range(n)]


def figure(key, unit, text, xs, better="higher", band=None):
    return {"key": key, "title": key, "unit": unit, "unit_text": text, "better": better, f"samples_{unit}": xs,
            "band": {"known": True, f"low_{unit}": band[0], f"high_{unit}": band[1], "verdict": "within",
                     "source": "measured on <12> machines & one more"} if band else
            {"known": False, "verdict": None, "source": "unknown: nobody looked"}}


def case(bench, name, figures, limit=None):
    unit, n = figures[0]["unit"], len(figures[0][f"samples_{figures[0]['unit']}"])
    known = {"known": True, "source": "data sheet: <b>H200</b>, 4.8 TB/s", f"limit_{unit}": limit, "percent": 50}
    return {"bench": bench, "case": name, "method": "m", "method_version": 1, "setup": "", "placement": "GPU 0", "variant": "",
            "limit": known if limit else {"known": False, "source": "unknown: nobody says"}, "verified": True, "steady": True,
            "warmup_samples": 3, "stop": "count", "error": None, "round_starts": [0, n // 2],
            "at_s": [i / 10 for i in range(n)], "figures": figures}


def result(factor=1.0):
    cases = [case("gpu-memory", "triad", [figure("rate", "gb_per_s", "GB/s", samples(4300 * factor, 1), band=(4200, 4400))], 4800),
             case("gpu-memory", "copy", [figure("rate", "gb_per_s", "GB/s", samples(2100, 2))], 4800),
             case("gemm", "bf16:8192", [figure("rate", "tflop_per_s", "TFLOP/s",
                                               [x * (0.9 if i % 2 else 1) for i, x in enumerate(samples(700, 3, 60))])], 989)]
    for i in range(3, 31, 3):
        size = f"{2 ** (i % 10)}{['B', 'KiB', 'MiB', 'GiB'][i // 10]}"
        v = 470 * 2 ** i / (2 ** i + 4e6)
        cases.append(case("collectives", f"all-reduce:{size}", [figure("bus", "gb_per_s", "GB/s", samples(v, i))], 478))
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    for k, (a, b) in enumerate(pairs):
        cases.append(case("copy", f"peer-write:gpu{a}-gpu{b}",
                          [figure("rate", "gb_per_s", "GB/s", samples(120 if (a, b) == (2, 1) else 396, k))], 478))
    moment = {"load1": 0.1, "available_mib": 1000, "busy_cpu_s": 1, "idle_cpu_s": 1, "irq_cpu_s": 0, "steal_cpu_s": 0,
              "own_cpu_s": 0, "interrupts": 1, "context_switches": 1, "throttle_events": None, "min_mhz": None,
              "max_mhz": None, "temperature_c": None, "cpu_dma_latency_us": None}
    return {"schema": "gputune.bench/1", "tool_version": "0.1.0",
            "host": {"nodename": "n", "platform": "hgx", "kernel": "6.8.0", "arch": "x86_64", "captured": False},
            "time": "2026-11-20T00:00:00Z", "exit_code": 0, "id": f"20261120-00000{int(factor * 10) % 10}-x", "machine": "0123456789abcdef",
            "partial": False, "fingerprint": {"cpu": "Invented", "gpu0": "NVIDIA H200"}, "settings_digest": "0123456789abcdef",
            "settings": {}, "conditions": {"cpus": 8, "busy": False, "others_before_cpus": 0, "others_cpus": 0,
                                           "steal_percent": 0, "sampler_percent": 0, "before": moment, "after": moment,
                                           "track": []}, "cases": cases, "skipped": [], "notes": []}


def drawings(html):
    """Every drawing parses, tells its figures, runs nothing, and exists broad and tall."""
    found = re.findall(r'<svg class="chart".*?</svg>', html, re.S)
    for svg in found:
        tree = xml.fromstring(svg)
        ns = "{http://www.w3.org/2000/svg}"
        expect("a drawing says what it is", tree.get("role") == "img" and tree[0].tag == ns + "title" and tree[0].text and
               tree[1].tag == ns + "desc" and tree[1].text, svg[:300])
        numbers = [v for e in tree.iter() for k, v in e.attrib.items() if k in ("x", "y", "x1", "x2", "y1", "y2", "width", "height")]
        width, height = map(float, tree.get("viewBox").split()[2:])
        inside = all(-1 <= float(v) <= max(width, height) + 1 for v in numbers)
        if not inside or "style=" in svg or "<script" in svg:
            expect("it stays within its frame, without style and script", False, svg[:2000])
        small = [e for e in tree.iter(ns + "text") if float(e.get("font-size")) < 11]
        if small:
            expect("its texts can be read", False, small)
    expect("each is there broad and tall", len(found) and len(found) % 2 == 0 and
           sum('viewBox="0 0 360 ' in s for s in found) * 2 == len(found), len(found))
    return found


def bench(work):
    one, two = work / "one.json", work / "two.json"
    one.write_text(json.dumps(result()))
    two.write_text(json.dumps(result(0.9)))
    term = run("bench", "show", one)
    expect("bench show draws bars with limit and band", term.code == 0 and "█" in term.out and
           "data sheet: <b>H200</b>" in term.out and "usual: measured on <12> machines" in term.out, term.out + term.err)
    expect("two states are a distribution", "two states, below and above" in term.out, term.out)
    expect("a sweep has sizes under it", "8 B" in term.out and "over size, both logarithmic" in term.out, term.out)
    plain = run("bench", "show", one, "--ascii")
    expect("in ASCII there is nothing else", plain.out.isascii() and "####" in plain.out, plain.out)
    md = run("bench", "show", one, "--format", "md")
    expect("Markdown has them fenced", "```text\n" in md.out and "95 % interval of the median" in md.out, md.out)
    data = run("compare", one, two, "--format", "json")
    expect("JSON has no picture", "─" not in data.out and json.loads(data.out)["schema"] == "gputune.compare/1", data.err)
    html = run("bench", "show", one, "--format", "html").out
    found = drawings(html)
    expect("HTML draws bars, sweep, distribution and matrix", len(found) >= 8 and "heat" in html and "all-reduce" in html, len(found))
    expect("no text becomes markup", "<b>H200" not in html and "&lt;b&gt;H200" in html)
    limit = [s for s in found if "triad" in s][0]
    expect("the figure and its limit are told", "limit 4800" in limit and "usual 4200 to 4400" in limit, limit[:800])
    for width in (40, 80, 200):
        out = at_terminal([gputune, "compare", one, two], width, {**PLAIN, "LC_ALL": "C", "NO_COLOR": "1", "TERM": "dumb"})
        start = out.find("B relative to A, with its interval")
        strip = out[start:out.find("\n\n", start)].splitlines() if start >= 0 else []
        expect(f"compare draws intervals on {width} columns", len(strip) > 3 and all(len(x) <= width for x in strip)
               and any("worse" in x for x in strip) and any("same" in x for x in strip), out)
    drawings(run("compare", one, two, "--format", "html").out)


def fleet(work):
    folder = work / "fleet"
    made = subprocess.run([sys.executable, root / "tests/fleet/generate.py", gputune, folder, str(MACHINES)], capture_output=True,
                          text=True, check=True, timeout=300)
    settings, planted = json.loads(made.stdout), benches.write(folder, MACHINES)
    data = json.loads(run("fleet", folder, "--format", "json").out)
    named = {o["name"]: (b["figure"], o["worse"]) for b in data["benches"] for o in b["outliers"]}
    expect("who was made slow or fast is named, and nobody else", set(named) == set(planted), (named, planted))
    expect("with the bench in which it is, and in which direction",
           all(named[n][0].startswith(p["bench"]) and named[n][1] == (p["factor"] < 1 or p["bench"] == "memory-latency")
               for n, p in planted.items() if n in named), named)
    states = [b for b in data["benches"] if b["state_below"]]
    expect("a third of them in another state is one state", len(states) == 1 and "d2h" in states[0]["figure"] and
           40 < states[0]["state_below"]["machines"] < 100 and states[0]["state_below"]["worse"], states)
    odd = {o["name"] for o in data["outliers"]}
    expect("who has a rare setting is named", set(settings["alone"]) <= odd, (settings["alone"], odd))
    html = run("fleet", folder, "--format", "html").out
    drawings(html)
    expect("the page names them all and has a row a machine", all(n in html for n in planted) and
           all(f"node{n:05d}" in html for n in range(1, MACHINES + 1)) and 'id="machines"' in html and len(html) < 2 << 20, len(html))
    term = run("fleet", folder).out
    expect("so does the terminal", all(n in term for n in planted) and "Measurements" in term, term)
    broken = folder / "node00001-bench.json"
    broken.write_text(broken.read_text()[:-40])
    (folder / "odd.json").write_text('{"schema": "gputune.bench/1", "host": {}, "cases": [{"figures": [{}]}]}')
    (folder / "odd2.json").write_text('{"schema": "gputune.bench/1", "host": {}, "cases": 7}')
    data = json.loads(run("fleet", folder, "--format", "json").out)
    expect("what makes no sense is refused with its reason", len(data["unreadable"]) == 3 and
           data["summary"]["machines"] >= MACHINES, data["unreadable"])


def like(work):
    """Only machines with the same processors, GPUs, memory and adapters are held against each other."""
    folder = work / "like"
    folder.mkdir()
    wide = {"sockets": "2", "memory_kib": str(1511 << 20), "adapters": "8 x 15b3:1021", "gpu_driver": "570.133.20",
            "gpu0_vbios": "96.00.A5.00.01", "kernel": "6.8.0-60"}

    def write(name, factor=1.0, **more):
        dice = random.Random(name)
        j = benches.result(name, dice, lambda bench, case, v: v * (factor if bench == "gemm" else 1))
        j["fingerprint"].update(wide, **more)
        (folder / f"{name}.json").write_text(json.dumps(j))

    for n in range(8):
        write(f"a{n}", memory_kib=str((1511 << 20) - (n << 18)))
    for n in range(6):  # so much slower that all would stand apart from the others
        write(f"b{n}", 0.8, adapters="4 x 15b3:1017, 2 x 15b3:101f")
    for n in range(5):
        write(f"c{n}", 0.7, memory_kib=str(755 << 20))
    write("a9", 0.8, gpu_driver="535.1", kernel="6.8.0-60")
    data = json.loads(run("fleet", folder, "--format", "json").out)
    gemm = {b["hardware"]: b for b in data["benches"] if b["figure"].startswith("gemm")}
    expect("memory and adapters part them, the kernel's share of the memory does not",
           {k: b["machines"] for k, b in gemm.items()} == {
               "8 x NVIDIA H100, 2 x Invented CPU, 1536 GiB, 8 x 15b3:1021": 9,
               "8 x NVIDIA H100, 2 x Invented CPU, 1536 GiB, 4 x 15b3:1017, 2 x 15b3:101f": 6,
               "8 x NVIDIA H100, 2 x Invented CPU, 768 GiB, 8 x 15b3:1021": 5}, {k: b["machines"] for k, b in gemm.items()})
    far = [(o["name"], o["unlike_most"]) for b in gemm.values() for o in b["outliers"]]
    expect("another driver parts nobody, but is said of who lies far off", far == [("a9", "driver 535.1, most have 570.133.20")], far)
    html = run("fleet", folder, "--format", "html").out
    expect("on the page too", "driver 535.1, most have 570.133.20" in html and "Differs from most peers in" in html)
    validate(data, "fleet")


with tempfile.TemporaryDirectory() as folder:
    like(pathlib.Path(folder))
    bench(pathlib.Path(folder))
    fleet(pathlib.Path(folder))
end_suite()
