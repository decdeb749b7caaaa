#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the check results of N invented machines: generate.py GPUTUNE FOLDER N [SEED].

Each is a captured machine's real result under a name of its own. Known oddities are planted and printed as JSON, so
that a test can say what has to be found: a tenth have another kernel, one in a hundred small receive buffers, three
machines stand alone.
"""
import json
import pathlib
import random
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune, folder, count = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
dice = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)


def base(machine):
    done = subprocess.run([gputune, "check", "--host", str(root / "build/machines" / machine), "--format", "json"],
                          capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)


def render(result, change):
    copy = json.loads(json.dumps(result))
    copy["host"].update(nodename="@NAME@", captured=False)
    for own in copy["findings"][-8:]:  # what no two machines share, as counters are
        own["reason"] = "@OWN@"
    change(copy)
    return json.dumps(copy, indent=2) + "\n"


def kernel(result):
    result["host"]["kernel"] = "6.8.0-1099-other"


def buffers(result):
    for f in result["findings"]:
        if f["id"] == "net.rmem-max":
            f.update(verdict="fail", reason_code="differs", current="65536 bytes", wanted=">= 16777216 bytes",
                     reason="is 65536 bytes, wanted >= 16777216 bytes")


def alone(result):
    for f in result["findings"]:
        if f["id"] == "memory.thp-enabled":
            f.update(verdict="fail", reason_code="differs", current="never", wanted="madvise", reason="is never")


def nothing(result):
    pass


machines = {"hgx-h100": 0.9, "dgx-spark": 0.1}
texts = {m: {c.__name__: render(base(m), c) for c in (nothing, kernel, buffers, alone)} for m in machines}
folder.mkdir(parents=True, exist_ok=True)
planted = {"kernel": [], "buffers": [], "alone": [], "dgx-spark": 0}
lonely = set(dice.sample(range(1, int(count * 0.9)), 3)) if count >= 10 else set()
for n in range(1, count + 1):
    machine = "hgx-h100" if n <= count * 0.9 else "dgx-spark"
    roll = dice.random()
    what = "alone" if n in lonely else "buffers" if roll < 0.01 else "kernel" if roll < 0.11 else "nothing"
    name = f"node{n:05d}"
    planted["dgx-spark"] += machine == "dgx-spark"
    if what != "nothing":
        planted[what].append(name)
    text = texts[machine][what].replace("@NAME@", name).replace("@OWN@", f"{n} errors since boot")
    (folder / f"{name}.json").write_text(text)
print(json.dumps(planted))
