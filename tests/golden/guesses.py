#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the captured machines is guessed, and what hangs on it: tests/machines/guesses.tsv has for each row that a generator calls
plausible-default at least one change of it, and the verdicts that the change turns. A guess without a change, or one that decides
something else than what is written there, fails.

guesses.py GPUTUNE [--update]

A line is the machine, the row of its sources.tsv, the change and what it turns. A change is PATH=TEXT (a glob; a tail of _ removes the
file, or the folder whose path ends in /; \\n is a line's end), PATH@OFFSET=HEX (bytes of a binary file), or API OBJECT QUESTION=JSON;
* as the object: all that have it.
What it turns: settings whose verdicts or wishes differ in the default profile or the published one, "nothing" else.
"""
import fnmatch
import json
import os
import pathlib
import shutil
import sys

from common import end_suite, expect, machines, root, run, scratch

STORED = root / "tests/machines/guesses.tsv"
MOST = 6  # settings that are named
update = "--update" in sys.argv
tmp = scratch()
names = {}


def files_of(machine):
    """Paths of the machine's files and links."""
    if machine not in names:
        base = machines / machine / "root"
        names[machine] = sorted("/" + os.path.relpath(os.path.join(at, f), base) for at, folders, files in os.walk(base)
                                for f in [*files, *(d for d in folders if os.path.islink(os.path.join(at, d)))])
    return names[machine]


def answers(machine, overlay, words, value):
    """Another answer in a page that lies over the machine's."""
    api, obj, question = words
    page = json.loads((machines / machine / "api" / f"{api}.json").read_text())
    out, hit = overlay / "api" / f"{api}.json", False
    for name, fields in page.items():
        if fnmatch.fnmatch(name, obj) and question in fields:
            fields[question], hit = json.loads(value), True
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(page))
    return hit


def change(machine, what, overlay):
    """Lays the change over the machine; False: nothing of it is there."""
    place, _, value = what.partition("=")
    words = place.split(" ")
    if len(words) == 3:
        return answers(machine, overlay, words, value)
    path, _, offset = place.partition("@")
    hits = fnmatch.filter(files_of(machine), path)
    if path.endswith("/"):
        hits = fnmatch.filter({f.rpartition("/")[0] for f in files_of(machine)}, path[:-1])
    for hit in hits:
        out = overlay / ("gone/root" if value == "_" else "root") / hit[1:]
        if value == "_":
            out.mkdir(parents=True)
            (out / ".gputune-gone").write_text("")
            continue
        out.parent.mkdir(parents=True, exist_ok=True)
        if offset:
            data, at = bytearray((machines / machine / "root" / hit[1:]).read_bytes()), int(offset, 0)
            data[at:at + len(value) // 2] = bytes.fromhex(value)
            out.write_bytes(data)
        else:
            out.write_text(value.replace("\\n", "\n") + "\n")
    return bool(hits)


def judged(machine, overlay=None):
    """Of each setting its verdicts, and what is wanted, in two profiles."""
    out = {}
    for profile in ("default", "published"):
        r = run("check", "--profile", profile, "--format", "json", "--host", machines / machine, *(("--overlay", overlay) if overlay else ()))
        for f in json.loads(r.out)["findings"]:
            out.setdefault(f["id"], set()).add((f["verdict"], f["wanted"] if profile == "published" or f["verdict"] == "fail" else None))
    return out


def turned(before, after):
    """Which settings, by how their verdicts changed."""
    ways = {}
    for which in before:
        was, now = (sorted({v for v, _ in x.get(which, set())}) for x in (before, after))
        if before[which] != after.get(which):
            ways.setdefault("wishes" if was == now else f"{'/'.join(was)} > {'/'.join(now)}", []).append(which)
    return "; ".join(f"{way}: {' '.join(ids[:MOST])}{f' +{len(ids) - MOST}' if len(ids) > MOST else ''}" for way, ids in sorted(ways.items())) or "nothing"


lines = [line.split("\t") for line in STORED.read_text().splitlines()]
head, rows = lines[0], lines[1:]
plain, said = {}, []
for machine, row, what, stored in rows:
    if machine not in plain:
        plain[machine] = judged(machine)
    overlay = pathlib.Path(tmp / "overlay")
    shutil.rmtree(overlay, ignore_errors=True)
    overlay.mkdir()
    expect(f"{machine}: {what} is there to be changed", change(machine, what, overlay))
    now = turned(plain[machine], judged(machine, overlay))
    said.append("\t".join((machine, row, what, now)))
    expect(f"{machine}: {what} turns what is written", update or now == stored, f"{now}, not {stored}")
if update:
    STORED.write_text("\n".join(["\t".join(head), *said]) + "\n")
for table in sorted(machines.glob("*/sources.tsv")):
    labels = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    expect(f"{table.parent.name}: every row says what it is", all(len(x) == 3 and x[1] in ("documented", "derived", "plausible-default") for x in labels))
    known = {row for machine, row, *_ in rows if machine == table.parent.name}
    guessed = {what for what, label, _ in labels if label == "plausible-default"}
    expect(f"{table.parent.name}: every guess is varied", guessed <= known, guessed - known)
    expect(f"{table.parent.name}: what is varied is a guess", known <= guessed, known - guessed)
end_suite()
