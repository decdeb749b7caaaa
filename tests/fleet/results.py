#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune fleet: what was planted among many results is found; ten thousand in time; files that lie or are broken."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS, MEGABYTES = 5, 500


def fleet(gputune, *argv, timeout=120):
    return subprocess.run([str(gputune), "fleet", *map(str, argv)], capture_output=True, text=True, timeout=timeout)


def generate(gputune, folder, n):
    done = subprocess.run([sys.executable, ROOT / "tests/fleet/generate.py", gputune, folder, str(n)],
                          capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout)


def names(folded):
    """node[00001-00003,00007] as a set."""
    out = set()
    for part in folded.replace("node[", "").rstrip("]").replace("node", "").split(","):
        low, _, high = part.partition("-")
        out |= {f"node{n:0{len(low)}d}" for n in range(int(low), int(high or low) + 1)}
    return out


def planted(t, gputune, work):
    folder = pathlib.Path(work) / "many"
    hidden = generate(gputune, folder, 300)
    done = fleet(gputune, folder, "--golden", folder / "node00300.json", "--format", "json")
    said = json.loads(done.stdout)
    jsonschema.validate(said, json.loads((pathlib.Path(gputune).parent / "schemas/fleet.json").read_text()))
    t("every result is read", said["summary"]["machines"] == 300 and said["summary"]["unreadable"] == 0, done.stderr)
    t("exit code 1 when something differs", done.returncode == 1, done.returncode)
    differs = {d["id"]: d for d in said["differences"]}

    def by(setting, word):
        return set().union(*(names(a["hosts"]) for a in differs[setting]["answers"] if word in a["text"]))

    t("another kernel is found", by("kernel", "other") == set(hidden["kernel"]), differs["kernel"])
    t("another value is found", by("net.rmem-max", "65536") == set(hidden["buffers"]), differs["net.rmem-max"])
    alone = {o["name"] for o in said["outliers"] if "memory.thp-enabled" in [r["id"] for r in o["rare"]]}
    t("who stands alone is found", alone == set(hidden["alone"]), (alone, hidden["alone"]))
    t("a platform is no outlier", not any(r["id"] == "platform" for o in said["outliers"] for r in o["rare"]))
    t("groups hold every machine once", sorted(n for g in said["groups"] for n in g["names"]) ==
      [f"node{n:05d}" for n in range(1, 301)])
    drift = {r["id"]: r for r in said["drift"]["rows"]}
    t("drift names the golden machine's value", drift["platform"]["golden"]["text"] == "dgx-spark" and
      drift["platform"]["here"]["machines"] == 270, drift.get("platform"))
    for form, word in (("term", "Outliers"), ("md", "## Outliers"), ("html", "<h2")):
        done = fleet(gputune, folder, "--format", form)
        t(f"--format {form}", word in done.stdout, done.stdout[:500])


def same(t, gputune, work):
    folder = pathlib.Path(work) / "same"
    folder.mkdir()
    text = subprocess.run([gputune, "check", "--host", ROOT / "build/machines/h200-x4", "--format", "json"],
                          capture_output=True, text=True, timeout=60).stdout
    for n in range(4):
        (folder / f"n{n}.json").write_text(text)
    done = fleet(gputune, folder)
    t("equal machines are one group and no finding", done.returncode == 0 and "n[0-3]" in done.stdout, done)
    (folder / "lines.jsonl").write_text("".join(json.dumps({**json.loads(text), "host": {
        **json.loads(text)["host"], "captured": False, "nodename": f"m{n}"}}) + "\n" for n in range(3)))
    done = fleet(gputune, folder, "--format", "json")
    t("a file may hold many results", json.loads(done.stdout)["summary"]["machines"] == 7, done)
    done = fleet(gputune, ROOT / "build/machines/h200-x4", ROOT / "build/machines/dgx-spark", "--format", "json")
    t("captures are checked and compared", json.loads(done.stdout)["summary"]["machines"] == 2, done)


def hostile(t, gputune, work):
    folder = pathlib.Path(work) / "bad"
    folder.mkdir()
    good = {"schema": "gputune.check/1", "tool_version": "1", "host": {"nodename": "a", "captured": False},
            "findings": [{"id": "a.b", "target": "", "verdict": "fail", "current": "1", "wanted": "2"}]}
    text = json.dumps(good)
    bad = {"empty": "", "cut": text[:-5], "cut2": text[:text.index("fail")], "deep": "{" + '"a":[' * 5000,
           "deep2": text.replace('"1"', "[" * 500 + "]" * 500), "list": "[" + text + "]", "twice": text + "x",
           "double": text.replace('"a.b"', '"a.b","id":"c.d"'), "comma": text.replace('"2"}]', '"2"},]'),
           "colon": text.replace('"schema": ', '"schema" '), "verdict": text.replace("fail", "maybe"),
           "id": text.replace("a.b", "<script>"), "other": text.replace("check/1", "show/1"), "nul": "{\0}",
           "kind": text.replace('"findings": [', '"findings": {}, "x": ['), "host": text.replace('"host": {', '"h": {'),
           "late": '{"pad": "' + "x" * 9000 + '", ' + text[1:].replace("check/1", "status/1"),
           "many": text.replace('"findings": [', '"findings": [' + '{},' * 20000)}
    for name, content in bad.items():
        (folder / f"{name}.json").write_text(content)
    os.mkfifo(folder / "pipe.json")
    (folder / "link.json").symlink_to("/etc/shadow")
    with open(folder / "large.json", "wb") as f:
        f.truncate(1 << 30)
    done = fleet(gputune, folder, "--format", "json")
    said = json.loads(done.stdout)
    refused = {os.path.basename(u["file"]) for u in said["unreadable"]}
    t("every broken file is named", refused == {f"{n}.json" for n in bad} | {"large.json"},
      (refused ^ ({f"{n}.json" for n in bad} | {"large.json"}), said["summary"]))
    t("and nothing else counts", said["summary"]["machines"] <= 1 and done.returncode in (1, 5), said["summary"])
    name = 'x"><script>\x1b[31m\n|\ud7ff'
    nasty = pathlib.Path(work) / "nasty.json"
    nasty.write_text(json.dumps({**good, "host": {"nodename": name, "captured": False}}))
    for form in ("term", "html", "md", "json"):
        done = fleet(gputune, nasty, "--format", form, "--golden", nasty)
        own = done.stdout.count("<script>")  # the page's, which its policy names by its hash
        t(f"a hostile name is harmless in {form}", "\x1b" not in done.stdout and (form != "html" or own == 1 and
          "x&quot;&gt;&lt;script&gt;" in done.stdout) and done.returncode == 0, done.stdout[:800])
    wide = dict(good, findings=[{"id": f"s.n{n}", "target": "", "verdict": "pass"} for n in range(3000)])
    (pathlib.Path(work) / "wide.json").write_text(json.dumps(wide))
    done = fleet(gputune, pathlib.Path(work) / "wide.json")
    t("too many settings are refused", "too many settings" in done.stdout, done.stdout)


def large(t, gputune, work):
    folder = pathlib.Path(work) / "large"
    generate(gputune, folder, 10000)
    size = sum(p.stat().st_size for p in folder.iterdir()) >> 20
    fleet(gputune, folder, "--quiet")  # once from the disk
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run([str(gputune), "fleet", str(folder)], capture_output=True, text=True, timeout=120)
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    probe = subprocess.run([sys.executable, "-c", "import resource,subprocess,sys;subprocess.run(sys.argv[1:],"
                            "stdout=subprocess.DEVNULL);print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                            str(gputune), "fleet", str(folder)], capture_output=True, text=True, timeout=120)
    memory = int(probe.stdout) >> 10
    t(f"10,000 machines, {size} MB: {took:.2f} s, {busy:.2f} s of CPU", "10000 machines" in done.stdout and
      busy < SECONDS, done.stderr)
    t(f"10,000 machines: {memory} MB of memory", memory < MEGABYTES)


def test(t, gputune, arm, work):
    planted(t, gputune, work)
    same(t, gputune, work)
    hostile(t, gputune, work)
    large(t, gputune, work)
