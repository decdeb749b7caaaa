#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/catalogue.tsv: every row of the published guides is implemented by something that exists, or says why not."""
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune = sys.argv[1]
ROWS = 356
DONE = {"gpu", "cpu", "mem", "vm", "io", "zfs", "net", "pcie", "nic", "boot", "rdma"}
KINDS = {"setting", "fact", "command", "none", "planned"}
passed = failed = 0


def expect(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}")


def listed(*argv):
    return json.loads(subprocess.run([gputune, "list", *argv, "--format", "json"], capture_output=True, check=True).stdout)


settings = {s["id"] for s in listed()["settings"]}
facts = {f["path"] for f in listed("--facts")["facts"]}
lines = (root / "docs/catalogue.tsv").read_text().splitlines()
expect(lines[0] == "row_id\tkind\tname\tnote", "the heading")
rows = [line.split("\t") for line in lines[1:]]
ids = [r[0] for r in rows if r[0] != "-"]
expect(len(ids) == ROWS, f"{len(ids)} rows with an id, not {ROWS}")
expect(len(ids) == len(set(ids)), "ids are unique")
named = set()
for r in rows:
    expect(len(r) == 4, f"{r[0]}: four columns")
    row, kind, name, note = r
    expect(kind in KINDS, f"{row}: kind {kind}")
    also = [("setting", n) for n in re.findall(r"setting:([\w.-]+)", note)]
    also += [("fact", n) for n in re.findall(r"fact:([\w.-]+)", note)]
    for k, n in [(kind, name)] + also:
        if k == "setting":
            named.add(n)
            expect(n in settings, f"{row}: setting {n} does not exist")
        if k == "fact":
            expect(n in facts, f"{row}: fact {n} does not exist")
    if kind == "none":
        expect(len(note) >= 40, f"{row}: a reason why not")
    if kind == "planned":
        expect(len(note) > 5, f"{row}: what is planned")
        # What is left in the finished groups needs a far end, load, or files for the next boot.
        expect(row.split(".")[0] not in DONE or note.startswith(("persist:", "bench:", "diagnosis:")), f"{row}: still planned")
for s in sorted(settings - named):
    expect(False, f"setting {s} is named by no row")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
