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
KINDS = {"setting", "fact", "command", "bench", "generator", "diagnosis", "persist", "probe", "none", "planned"}
# What a machine alone and at rest shows is done in these groups: no row is left for later, but those that need
# a far end, load, or files for the next boot.
DONE = {"gpu", "cpu", "mem", "vm", "io", "zfs", "net", "pcie", "nic", "boot", "rdma"}
LATER = ("persist: ", "bench: ", "diagnosis: ", "generator: ")
passed = failed = 0


def expect(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}")


def run(*argv):
    return subprocess.run([gputune, *argv], capture_output=True, timeout=60)


def listed(*argv):
    return json.loads(run("list", *argv, "--format", "json").stdout)


def prefixed(row, note):
    """A planned row says what it will be; a bench or generator named must have a row of its own."""
    expect(note.startswith((*LATER, "monitor: ")), f"{row}: planned as what?")
    group = row.split(".")[0]
    expect(group not in DONE or note.startswith(LATER), f"{row}: still planned")
    kind, _, rest = note.partition(": ")
    name = re.match(r"[\w-]*", rest).group()
    expect(name, f"{row}: planned under which name?")
    owner = {"bench": "bench", "generator": "gen", "monitor": "mon"}.get(kind)
    expect(not owner or f"{owner}.{name}" in ids, f"{row}: no row {owner}.{name}")


settings = {s["id"] for s in listed()["settings"]}
facts = {f["path"] for f in listed("--facts")["facts"]}
benches = {b["name"] for b in json.loads(run("bench", "list", "--format", "json").stdout)["benches"]}
exists = {"setting": settings, "fact": facts, "bench": benches}
expect(settings and facts, "the program's lists are not empty")
text = (root / "docs/catalogue.tsv").read_text()
expect(text.endswith("\n") and "/work" not in text, "the file as a whole")
lines = text.splitlines()
expect(lines[0] == "row_id\tkind\tname\tnote", "the heading")
rows = [line.split("\t") for line in lines[1:]]
for r in rows:
    expect(len(r) == 4, f"{r[0]}: four columns")
rows = [r for r in rows if len(r) == 4]
ids = [r[0] for r in rows if r[0] != "-"]
expect(len(ids) == ROWS, f"{len(ids)} rows with an id, not {ROWS}")
expect(len(ids) == len(set(ids)), "ids are unique")
expect(all(r[0] == "-" for r in rows[len(ids):]), "the program's own settings come last")
named = set()
for row, kind, name, note in rows:
    expect(kind in KINDS, f"{row}: kind {kind}")
    expect(row != "-" or (kind == "setting" and note), f"{name}: a setting with a note")
    also = re.findall(r"\b(setting|fact):(\S*[^\s,;.])", note)
    for k, n in [(kind, name), *also]:
        expect(k not in exists or n in exists[k], f"{row}: {k} {n} does not exist")
        if k == "setting":
            named.add(n)
    expect((name == "-") == (kind in {"none", "planned"}), f"{row}: {kind} named {name}")
    if kind == "command":
        done = run(*name.split(), "--host", str(root / "tests/machines/dgx-spark"))
        expect(done.returncode == 0 and done.stdout, f"{row}: {name}: {done.returncode} {done.stderr}")
    elif kind == "none":
        expect(len(note) >= 20, f"{row}: a reason why not")
    elif kind == "planned":
        prefixed(row, note)
for s in sorted(settings):
    expect(s in named, f"setting {s} is named by no row")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
