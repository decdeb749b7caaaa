#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/catalogue.tsv: every row of the published guides is implemented by something that exists, or says why not."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune = sys.argv[1]
ROWS = 356
KINDS = {"setting", "fact", "command", "bench", "test", "variable", "trainer-key", "deepspeed-key", "none"}
SPARK = str(root / "build/machines/dgx-spark")
OTHERS = ("SPARK", "--on", "--help", "monitor", "diagnose")  # commands that look at another machine, or at none
passed = failed = 0


def expect(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}")


def run(*argv):
    return subprocess.run([gputune, *argv], capture_output=True, timeout=60, cwd=root)


def listed(*argv):
    return json.loads(run("list", *argv, "--format", "json").stdout)


def words(note):
    return re.findall("`([^`]+)`", note)


def command(row, name, note):
    """It ends well, with findings, or could not see all of a captured machine; and says the words in backquotes."""
    argv = [w.replace("SPARK", SPARK) for w in shlex.split(name)]
    done = run(*argv, *([] if any(w in name for w in OTHERS) else ["--host", SPARK]))
    said = (done.stdout + done.stderr).decode()
    expect(done.returncode in (0, 1, 5) and done.stdout, f"{row}: {name}: {done.returncode} {done.stderr}")
    for word in words(note):
        expect(word in said, f"{row}: {name} does not say {word}")


def in_test(row, name, note):
    """A test that needs more than one machine, root or files of others names it."""
    path = root / name
    text = path.read_text() if name.startswith("tests/") and path.is_file() else ""
    expect(words(note), f"{row}: which words of {name}?")
    for word in words(note):
        expect(word in text, f"{row}: {name} says nothing of {word}")


def linted(file, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, file)
        path.write_text(text)
        j = json.loads(run("lint", path, "--host", SPARK, "--format", "json").stdout)
        return j, {f["subject"] for f in j["findings"] if f["code"] in ("unknown-variable", "unknown-key") or " knows " in f["says"]}


def variable(row, name, note):
    """lint knows it, and not a name that is nearly it."""
    word, _, value = name.partition("=")
    expect(word not in linted("nccl.conf", name + "\n")[1], f"{row}: lint does not know {word}")
    expect(word + "X" in linted("nccl.conf", f"{word}X={value}\n")[1], f"{row}: lint knows {word}X")


def trainer_key(row, key, note):
    know = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.1\n"
    j, wrong = linted("train.yaml", know + f"{key}: 1\n" * (key not in know))
    expect(j["configs"] == 1 and key not in wrong, f"{row}: lint does not know {key}")
    expect(key + "x" in linted("train.yaml", know + f"{key}x: 1\n")[1], f"{row}: lint knows {key}x")


def deepspeed_key(row, key, note):
    def config(path):
        top = at = {"zero_optimization": {"stage": 3}}
        *above, last = path.split(".")
        for part in above:
            at = at.setdefault(part, {})
        at[last] = 1
        return linted("ds_config.json", json.dumps(top))

    j, wrong = config(key)
    expect(j["configs"] == 1 and key not in wrong, f"{row}: lint does not know {key}")
    expect(key + "x" in config(key + "x")[1], f"{row}: lint knows {key}x")


HOW = {"command": command, "test": in_test, "variable": variable, "trainer-key": trainer_key, "deepspeed-key": deepspeed_key}
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
    also = re.findall(r"\b(setting|fact|bench):(\S*[^\s,;.:])", note)
    for k, n in [(kind, name), *also]:
        expect(k not in exists or n in exists[k], f"{row}: {k} {n} does not exist")
        if k == "setting":
            named.add(n)
    expect((name == "-") == (kind == "none"), f"{row}: {kind} named {name}")
    if kind == "none":
        expect(len(note) >= 20, f"{row}: a reason why not")
    elif kind in HOW:
        HOW[kind](row, name, note)
for s in sorted(settings):
    expect(s in named, f"setting {s} is named by no row")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
