#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/catalogue.tsv: every row of the published guides is implemented by something that exists, or says why not."""
import functools
import json
import pathlib
import re
import shlex
import tempfile

import common
from common import end_suite, expect, machines, root

ROWS = 356
KINDS = {"setting", "fact", "command", "bench", "test", "variable", "trainer-key", "deepspeed-key", "none"}
SPARK = str(machines / "dgx-spark")
OTHERS = ("SPARK", "--on", "--help", "monitor", "diagnose")  # commands that look at another machine, or at none


def run(*argv):
    return common.run(*argv, cwd=root)


def listed(*argv):
    return json.loads(run("list", *argv, "--format", "json").out)


def words(note):
    return re.findall("`([^`]+)`", note)


def command(row, name, note):
    """It ends well, with findings, or could not see all of a captured machine; and says the words in backquotes."""
    argv = [w.replace("SPARK", SPARK) for w in shlex.split(name)]
    done = run(*argv, *([] if any(w in name for w in OTHERS) else ["--host", SPARK]))
    said = done.out + done.err
    expect(f"{row}: {name}: {done.code} {done.err}", done.code in (0, 1, 5) and done.out)
    for word in words(note):
        expect(f"{row}: {name} does not say {word}", word in said)


def in_test(row, name, note):
    """A test that needs more than one machine, root or files of others names it."""
    path = root / name
    text = path.read_text() if name.startswith("tests/") and path.is_file() else ""
    expect(f"{row}: which words of {name}?", words(note))
    for word in words(note):
        expect(f"{row}: {name} says nothing of {word}", word in text)


def linted(file, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, file)
        path.write_text(text)
        j = json.loads(run("lint", path, "--host", SPARK, "--format", "json").out)
        return j, {f["subject"] for f in j["findings"] if f["code"] in ("unknown-variable", "unknown-key") or " knows " in f["says"] or " has no argument " in f["says"] or "support the key" in f["says"]}


def judged(row, note, key, file, text):
    """A row that promises that values are judged names a bad one, and lint names it in turn."""
    said = words(note)
    expect(f"{row}: says which", bool(said) != ("checks its name" in note) and len(said) < 2)
    for value in said:
        j = linted(file, text(value))[0]
        expect(f"{row}: lint judges {value}", any(f["subject"] in (key, key.split(".")[0]) for f in j["findings"]), j["findings"])


def variable(row, name, note):
    """lint knows it, and not a name that is nearly it."""
    word, _, value = name.partition("=")
    expect(f"{row}: lint does not know {word}", word not in linted("nccl.conf", name + "\n")[1])
    expect(f"{row}: lint knows {word}X", word + "X" in linted("nccl.conf", f"{word}X={value}\n")[1])
    if "generate nccl" in note:
        expect(f"{row}: generate nccl sets {word}, as said", (f"export {word}=" in generated()) == ("generate nccl sets it" in note))
    judged(row, note, word, "nccl.conf", lambda v: f"{word}={v}\n")


@functools.cache
def generated():
    return run("generate", "nccl", "--node", f"a={SPARK}", "--node", f"b={SPARK}", "--format", "shell").out


def trainer_key(row, key, note):
    know = "output_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 0.1\n"
    j, wrong = linted("train.yaml", know + f"{key}: 1\n" * (key not in know))
    expect(f"{row}: lint does not know {key}", j["configs"] == 1 and key not in wrong)
    expect(f"{row}: lint knows {key}x", key + "x" in linted("train.yaml", know + f"{key}x: 1\n")[1])
    judged(row, note, key, "train.yaml", lambda v: re.sub(rf"(?m)^{key}:.*\n", "", know) + f"{key}: {v}\n")


def deepspeed_key(row, key, note):
    def text(path, value):
        top = at = {"zero_optimization": {"stage": 3}}
        *above, last = path.split(".")
        for part in above:
            at = at.setdefault(part, {})
        at[last] = json.loads(value)
        return json.dumps(top)

    def config(path):
        return linted("ds_config.json", text(path, "1"))

    j, wrong = config(key)
    expect(f"{row}: lint does not know {key}", j["configs"] == 1 and key not in wrong)
    expect(f"{row}: lint knows {key}x", key + "x" in config(key + "x")[1])
    judged(row, note, key, "ds_config.json", lambda v: text(key, v))


def promised(row, name, note, asks):
    """What a guide writes, the setting writes, keeps and takes back; else the note says who does, or that a person has to."""
    expect(f"{row}: {asks}?", asks in (("-",) if row == "-" else ("read", "write")))
    if asks != "write":
        return
    writers = re.findall(r"written by (?:setting:(\S*[^\s,;.:])|(cluster plan))", note)
    expect(f"{row}: who writes {name}?", writes(name) or "by hand" in note or writers)
    expect(f"{row}: {name} is written, not by hand", not (writes(name) and "by hand" in note))
    for setting, _ in writers:
        expect(f"{row}: {setting} is not written", not setting or writes(setting))


@functools.cache
def writes(setting):
    """It is written, and its page says how that is kept, and how it is undone."""
    said = dict(re.findall(r"(?m)^  (Written|Kept|Undone) +(.*)", run("explain", setting, "--host", SPARK).out))
    if said.get("Written", "not").startswith("not"):
        return False
    return expect(f"{setting} is written: kept and undone", said.get("Undone", "nothing").split()[0] != "nothing" and said.get("Kept"), said)


HOW = {"command": command, "test": in_test, "variable": variable, "trainer-key": trainer_key, "deepspeed-key": deepspeed_key}
settings = {s["id"] for s in listed()["settings"]}
facts = {f["path"] for f in listed("--facts")["facts"]}
benches = {b["name"] for b in json.loads(run("bench", "list", "--format", "json").out)["benches"]}
exists = {"setting": settings, "fact": facts, "bench": benches}
expect("the program's lists are not empty", settings and facts)
text = (root / "docs/catalogue.tsv").read_text()
expect("the file as a whole", text.endswith("\n") and "/work" not in text)
lines = text.splitlines()
expect("the heading", lines[0] == "row_id\tkind\tname\tnote\tasks")
rows = [line.split("\t") for line in lines[1:]]
for r in rows:
    expect(f"{r[0]}: five columns", len(r) == 5)
rows = [r for r in rows if len(r) == 5]
ids = [r[0] for r in rows if r[0] != "-"]
expect(f"{len(ids)} rows with an id, not {ROWS}", len(ids) == ROWS)
expect("ids are unique", len(ids) == len(set(ids)))
expect("the program's own settings come last", all(r[0] == "-" for r in rows[len(ids):]))
named = set()
for row, kind, name, note, asks in rows:
    expect(f"{row}: kind {kind}", kind in KINDS)
    expect(f"{name}: a setting with a note", row != "-" or (kind == "setting" and note))
    also = re.findall(r"\b(setting|fact|bench):(\S*[^\s,;.:])", note)
    for k, n in [(kind, name), *also]:
        expect(f"{row}: {k} {n} does not exist", k not in exists or n in exists[k])
        if k == "setting":
            named.add(n)
    expect(f"{row}: {kind} named {name}", (name == "-") == (kind == "none"))
    if kind == "none":
        expect(f"{row}: a reason why not", len(note) >= 20)
    elif kind == "setting":
        promised(row, name, note, asks)
    elif kind in HOW:
        HOW[kind](row, name, note)
for s in sorted(settings):
    expect(f"setting {s} is named by no row", s in named)
end_suite()
