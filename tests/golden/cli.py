#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: exit codes, sentences for what is wrong, schemas, completion, bad input."""
import csv
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import jsonschema

from common import captured, end_suite, expect, gputune, machines, refuses, root, run, schema, validate
from terminal import at_terminal

spark = str(machines / "dgx-spark")


refuses("no verb", [], 2, "Usage")
card = at_terminal([gputune], 80)
expect("no verb, on a terminal: a card of the machine", all(re.search(x, card) for x in (r"(?s): .*kernel\s", "Changes in effect +", "Next +", "gputune.*help")), card)
expect("it has three findings at most, each with its fix", card.count("fix:") <= 3 and len(card.splitlines()) < 40, card)
nothing = at_terminal([gputune, "undo", "--host", spark, "--overlay", str(pathlib.Path(tempfile.mkdtemp()) / "o")], 80)
expect("undo asks about nothing", "[y/N]" not in nothing, nothing)
refuses("a card is no verb", ["card"], 2, 'unknown verb "card"')
refuses("a wrong verb", ["chekc"], 2, 'unknown verb "chekc"', "check")
refuses("a wrong option", ["check", "--fromat", "json"], 2, "--fromat; did you mean --format?")
refuses("a wrong option with a value", ["check", "--fromat=json"], 2, "--fromat=json; did you mean --format?")
refuses("an option of nothing that is near", ["check", "--model=x"], 2, 'no option --model=x; see "gputune check --help"')
refuses("a value where none goes", ["check", "--all=1"], 2, "--all takes no value: --all=1")
refuses("another name for an option", ["predict", "inference", "--users", "8"], 2, "--users; did you mean --batch?")
refuses("the same, with a value", ["predict", "inference", "--concurrency=8"], 2, "did you mean --batch?")
for part, names in (("inference", {"weights": "quant quantization dtype precision", "on": "gpu gpus device machine", "prompt": "ctx context input seqlen", "output": "max-tokens",
                                   "batch": "batch-size bs", "tp": "tensor-parallel", "pp": "pipeline-parallel", "kv": "kv-cache"}),
                    ("training", {"precision": "quant dtype", "on": "gpus", "micro-batch": "batch batch-size", "sequence": "seq-len context", "tp": "tensor-parallel-size"})):
    for own, words in names.items():
        for word in words.split():
            refuses(f"predict {part} --{word}", ["predict", part, f"--{word}", "4"], 2, f"--{word}; did you mean --{own}?")
for host in ([], ["--host", spark]):
    refuses("a diagnosis is no setting", ["explain", "gpu.unsteady", *host], 2, f'"gpu.unsteady" is a diagnosis, not a setting: "{" ".join(["gputune doctor gpu.unsteady", *host])}"')
refuses("a value for an option", ["check", "--json"], 2, "--json; did you mean --format json?")
refuses("an option that is a verb's work", ["apply", "--keep"], 2, 'did you mean "gputune persist"?')
refuses("a wrong letter", ["check", "-x"], 2, "check takes no option -x")
for letters in ("-xq", "-qx"):
    refuses("a wrong letter among others", ["check", letters], 2, "check takes no option -x")
# The beginning of a name is no name: what looks like a slip must not be --force, and a script must not break when an option is added.
refuses("the beginning of two options", ["undo", "--fo"], 2, "undo takes no option --fo; did you mean --force or --format?")
refuses("the beginning of one", ["apply", "--y"], 2, "apply takes no option --y; did you mean --yes?")
refuses("the beginning of one, with a value", ["check", "--form=json"], 2, "check takes no option --form=json; did you mean --format?")
refuses("the beginning of one, with a value behind", ["check", "--hos", spark], 2, "check takes no option --hos; did you mean --host?")
refuses("the beginning of one, without its value", ["check", "--hos"], 2, "check takes no option --hos; did you mean --host?")
refuses("the beginning of a flag, with a value", ["undo", "--al=1"], 2, "undo takes no option --al=1; did you mean --all?")



def with_sub_verbs(verb):
    """The verb, or its sub-verbs where those have the options."""
    listed = run(*verb.split(), "--help")[1].partition("\nSub-verbs:\n")[2].partition("\n\n")[0]
    return [v for sub in re.findall(r"^  ([a-z-]+) ", listed, re.M) for v in with_sub_verbs(f"{verb} {sub}")] or [verb]


for verb in [v for top in re.findall(r"^  ([a-z]+) ", run("help", "all")[1], re.M) if top != "help" for v in with_sub_verbs(top)]:
    names = re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", run(*verb.split(), "--help")[1], re.M)
    expect(f"{verb} has options", "help" in names, names)
    for name in sorted({n[:-1] for n in names} - set(names)) if verb.split()[0] in ("undo", "persist", "cluster") else ["hel"]:
        got, out, err = run(*verb.split(), f"--{name}")
        expect(f"{verb} --{name} is no option", got == 2 and not out and f"{verb} takes no option --{name}; did you mean --" in err, (got, out, err))
refuses("no page is as wide as asked", ["completion", "bash", "--width", "80"], 2, "completion takes no option --width")
refuses("a wrong format", ["check", "--format", "yaml"], 2, 'one of term, json, md, html, junit, prom, nagios, npd, csv, not "yaml"')
for verb, option in (("check", "host"), ("plan", "overlay"), ("show", "output"), ("check", "since"), ("apply", "profile"), ("stack check", "env"), ("predict training", "precision"),
                     ("advise", "weights"), ("roofline", "nsys"), ("cluster discover", "nodes"), ("bench", "json"), ("prove", "bench")):
    refuses(f"{verb} --{option} of a variable that is not set", [*verb.split(), f"--{option}="], 2, f"--{option} is empty; expected ")
expect("nothing to leave out", run("check", "--host", spark, "--skip", "")[0] == 1)
for argv in (["apply", ""], ["fleet", ""], ["compare", "a", ""], ["report", ""], ["lint", ""], ["monitor", ""]):
    refuses(f"{argv} of a variable that is not set", argv, 2, " is empty")
if os.path.exists("/dev/full"):
    for argv in (["--help"], ["help"], ["help", "check"], ["check", "--help"], ["--version"], ["list"]):
        with open("/dev/full", "w") as full:
            p = subprocess.run([gputune, *argv], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        expect(f"{argv} on a full disk", p.returncode == 5 and "cannot write the " in p.stderr and ": No space left" in p.stderr, (p.returncode, p.stderr))
expect("help of a verb", run("help", "check") == run("check", "--help"))
refuses("help of no verb", ["help", "chekc"], 2, 'unknown verb "chekc"', "check")
refuses("facts are not narrowed", ["list", "--facts", "--only", "gpu"], 2, "--only and --skip filter settings")
refuses("a drawing is no JSON", ["show", "topology", "--as", "svg", "--format", "json"], 2, "--as draws a picture, --format json does not")
for argv in (["apply", "--yes"], ["undo", "--yes"], ["persist", "install", "--yes"], ["persist", "remove", "--yes"], ["doctor", "slow", "disk", "--fix", "--yes"]):
    refuses(f"{argv} on a capture", [*argv, "--host", spark], 2, "a captured machine cannot be changed: --overlay DIR stores the changes, --dry-run shows them")
refuses("a wrong subject", ["show", "gpx"], 2, '"gpx"', "gpu")
for words, same in ((("show", "gpus"), ("show", "gpu")), (("show", "NETWORK"), ("show", "nic")), (("check", "memory", "nic"), ("check", "--only", "memory,nic")),
                    (("check", "memory", "--only", "nic"), ("check", "--only", "nic,memory")), (("plan", "cpu"), ("plan", "--only", "cpu")),
                    (("explain", "swappiness"), ("explain", "memory.swappiness"))):
    expect(f"{words} is {same}", run(*words, "--host", spark) == run(*same, "--host", spark) != (2, "", ""), words)
expect("options in front of the verb", run("--host", spark, "-a", "check", "memory") == run("check", "memory", "--host", spark, "-a"))
expect("and of a sub-verb", run("--model", "llama-3.1-8b", "predict", "inference", "--on", "h200") == run("predict", "inference", "--on", "h200", "--model", "llama-3.1-8b"))
# What others call it leads to ours; nothing is run by another name.
for word, command in {"fix": "apply", "autotune": "tune", "nvtop": "top", "rollback": "undo", "revert": "undo", "SHOW": "show",
                      "install": "persist install", "benchmark": "bench", "TTFT": "predict inference", "gpus": "show gpu", "network": "show nic",
                      "dirty": "explain dirty", "disk": "show disk", "gemm": "bench gemm",
                      "llama-3.1-8b": "predict inference --model Llama-3.1-8B", "stat": "top", "udno": "undo"}.items():
    refuses(f"the word {word}", [word], 2, f'did you mean "gputune {command}"?')
refuses("the word profile has verbs of its own", ["profile"], 2, "profile requires one of list, show, diff")
refuses("the word update", ["update"], 2, "the package manager that installed gputune")
refuses("a word that means nothing", ["zzzzzz"], 2, '"gputune help all" lists all verbs')
refuses("a word of a sub-verb", ["predict", "ttft"], 2, 'did you mean "predict inference"?')
expect("version", run("version") == run("--version"))
refuses("a near bench", ["bench", "gem"], 2, 'did you mean "gemm"?')
refuses("no bench", ["bench"], 2, '"gputune list benches" lists all')
refuses("a part of a bench's name", ["bench", "bandwidth"], 2, 'did you mean "memory-bandwidth"?')
with tempfile.TemporaryDirectory() as tmp:
    j = json.loads(run("bench", "hand", "--for", "0.01", "--runs", "1", "--format", "json", "--state", tmp).out)
    expect("the beginning of benches' names is all of them", {c["bench"] for c in j["cases"]} == {"hand-over"}, j["cases"])
expect("results are listed for compare", run("list", "results").code == 0)
with tempfile.TemporaryDirectory() as tmp:
    state = ("--state", str(tmp))
    refuses("no result", ["compare", *state], 2, '"gputune list results" lists them')
    for _ in range(2):
        run("bench", "timer-wake-up/1ms", "--for", "0.01", "--runs", "1", *state)
    refuses("the last one alone", ["compare", sorted(p.stem for p in (pathlib.Path(tmp) / "bench").glob("*"))[-1], *state], 2, "is the last saved result")
    code, out, err = run("compare", *state)
    expect("the last two of one bench", code in (0, 5) and len(set(re.findall(r"\d+-\d+-timer-wake-up[-\d]*", out))) == 2, (code, out, err))
expect("a model's name with blanks", "Qwen3-8B, bf16" in run("predict", "qwen 3 8b", "--on", "h200").out)
refuses("no such model, before the machine is looked at", ["predict", "--model", "nobody"], 2, 'unknown model "nobody"')
refuses("no such model as a word", ["predict", "nobody"], 2, '"gputune list models" lists all models')
says_demo = run("report", "demo:igx-orin", "--format", "md")
expect("a demo as a report's argument", says_demo.code == 1 and "igx" in says_demo.out, says_demo.err)
refuses("no model", ["predict"], 2, '"gputune list models"')
refuses("a part of a model's name", ["predict", "qwen3-8"], 2, "--model Qwen3-8B", '"gputune list models" lists all')
expect("a capture as a machine's name is looked at", run("predict", "llama-3.1-8b", "--on", "demo:dgx-spark").out == run("predict", "llama-3.1-8b", "--host", "demo:dgx-spark").out != "")
refuses("a model's name without its dashes", ["predict", "--model", "llama3"], 2, 'did you mean "Llama-3.1-8B"')
refuses("a verb's other word, before a sub-verb's name", ["diff"], 2, 'did you mean "gputune compare"?')
refuses("results that are not there", ["compare", "no-such-a.json", "no-such-b.json"], 2, "/no-such-a.json: cannot read", "gputune bench list")
refuses("a capture's file without -o", ["capture", "no-such.tar"], 2, 'did you mean "-o no-such.tar"?')
refuses("a report's file without -o", ["report", "no-such.html"], 2, "-o FILE writes a report")
refuses("a near model", ["predict", "inference", "--model", "qwen-eight", "--on", "h200"], 2, "gputune list models")
refuses("a near capture", ["show", "--host", "demo:dgx-sprk"], 2, 'did you mean "demo:dgx-spark"?')
refuses("a near diagnosis", ["doctor", "--only", "gpu.low-clock-low-powr"], 2, 'did you mean "gpu.low-clock-low-power"?')
for what in ("profiles", "models", "machines", "engines", "benches", "demos"):
    code, out, err = run("list", what, "--format", "json")
    j = json.loads(out)
    validate(j, "list")
    expect(f"list {what}", code == 0 and j["kind"] == what and len(j["names"]) > 3 and all(n["name"] and n["what"] for n in j["names"]), out[:200])
    expect(f"list {what} as lines", [x.split()[0] for x in run("list", what)[1].splitlines()] == [n["name"].split()[0] for n in j["names"]])
expect("list facts is list --facts", run("list", "facts") == run("list", "--facts"))
refuses("list of nothing that is", ["list", "modles"], 2, 'did you mean "models"?')
code, out, err = run("explain", "dirty", "--format", "json")
expect("explain finds settings", code == 0 and {s["id"] for s in json.loads(out)["settings"]} >= {"memory.dirty-ratio", "memory.dirty-background-ratio"}, out[:300])
codes = run("help", "all")[1].partition("Exit codes:\n")[2].splitlines()
expect("one line per exit code", [line.split()[0] for line in codes] == ["0", "1", "2", "3", "4", "5", "71"] and codes[3] == "  3   nothing applied", codes)
with tempfile.TemporaryDirectory() as tmp:
    shutil.copy(gputune, f"{tmp}/gputune")
    alone = subprocess.run([f"{tmp}/gputune", "demo"], capture_output=True, text=True, timeout=60)
    expect("without demos: where they belong", alone.returncode == 5 and f"{tmp}/machines" in alone.stderr and "share/gputune/machines" in alone.stderr, alone)
expect("help has eight verbs in front", len(re.findall(r"^  [a-z]+ ", run("help")[1], re.M)) == 8)
# One who only looks makes no folder; what is there later is what a change put there.
with tempfile.TemporaryDirectory() as tmp:
    over = os.path.join(tmp, "over")
    at = ["--host", spark, "--overlay"]
    for argv in (["show"], ["check"], ["plan"], ["status"], ["history"], ["verify"], ["explain", "nic.mtu"], ["persist", "status"], ["persist", "diff"], ["doctor", "--passive"],
                 ["apply", "--dry-run", "--yes"], ["persist", "install", "--dry-run"], ["generate", "nccl"], ["lint"], ["watch", "--once"], ["stack", "check"]):
        got, out, err = run(*argv, *at, over)
        expect(f"{argv} makes no overlay", got in (0, 1, 5) and not os.listdir(tmp), (got, err, os.listdir(tmp)))
        expect(f"{argv} below an overlay that is not there", got == run(*argv, *at[:2])[0] or argv[0] in ("status", "history", "watch"), got)
    refuses("an overlay below nothing", ["check", *at, os.path.join(over, "x")], 2, "over/x: No such file")
    expect("a change makes it", run("apply", "--yes", "--only", "memory.swappiness", *at, over + "/")[0] == 0 and os.path.isdir(over))
    expect("and it is looked at", "in effect" in run("status", *at, over)[1])
    expect("undone there", run("undo", "--yes", *at, over)[0] == 0 and "No change" in run("status", *at, over)[1])
# Numbers that are none, by the option's name; of what cannot be halved no half.
model = ["--model", "llama-3.1-8b", "--on", "h100"]
for argv, option, bad in ((["check"], "width", ("+80", " 80", "0x50", "8e1", "-1", "99999999999999999999")), (["monitor", "--once"], "interval", ("+1", " 1", "1e", "nan", "-1s", "25h")),
                          (["bench", "memory-latency"], "gpus", ("abc", "-1", "0x1", "1 2", "1.5", "3-1", ",", "1k")), (["bench", "memory-latency"], "runs", ("+1", "0x1", "1.5")), (["generate", "nccl"], "nodes", ("+1", " 1", "0", "1.5")),
                          (["advise", *model], "users", ("1.5", "0", "-1", "1e99")), (["advise", *model], "copies", ("1.5", "0")), (["advise", "--sweep", *model], "tp", ("1.5", "1,1.5", "2-1")),
                          (["advise", "--sweep", *model], "batch", ("0.5", "1,,2")), (["predict", "inference", *model], "batch", ("1.5", "1 ", "inf")),
                          (["predict", "training", *model], "all-reduce", ("0x10", "abc", "1k", "-5", "1e400"))):
    for b in bad:
        of_form = option == "gpus" or (option == "width" and not b.isdigit())
        refuses(f"{argv[0]} --{option} of {b!r}", [*argv, f"--{option}={b}"], 2, f"--{option}: expected " if of_form else f"--{option} takes ", f'"{b}"')
# What it would take is looked at, and nothing is there: 5 of all.
blind = ["--host", str(machines / "nothing")]
for argv in (["generate", "vllm", "--model", "llama-3.1-8b"], ["generate", "hostfile"], ["generate", "deepspeed", "--model", "llama-3.1-8b"], ["predict", "inference", "--model", "llama-3.1-8b"],
             ["predict", "training", "--model", "llama-3.1-8b"], ["advise", "--model", "llama-3.1-8b"]):
    refuses(f"{argv[:2]} without a GPU", [*argv, *blind], 5, "no GPU found on")
refuses("torchrun without a GPU", ["generate", "torchrun", *blind, "--", "x.py"], 5, "no GPU found on")
# A disk or a kernel that fails at every reading: what is in force is not known, which is no success.
with tempfile.TemporaryDirectory() as tmp:
    failing = pathlib.Path(tmp, "m")
    shutil.copytree(spark, failing, symlinks=True)
    unread = [p for top in ("proc/sys/vm", "proc/sys/net", "sys/kernel/mm", "sys/block", "sys/devices") for p in (failing / "root" / top).rglob("*")
              if p.is_file() and not p.is_symlink()]
    with open(failing / "answers.tsv", "a") as answers:
        for p in unread:
            p.unlink()
            answers.write(f"/{p.relative_to(failing / 'root')}\tEIO\n")
    for only, want in ((["--only", "memory"], 5), (["--only", "memory,scheduler"], 5), ([], 5)):
        for more in (["--yes"], ["--dry-run"], ["--yes", "--format", "json"]):
            argv = ["apply", "--profile", "published", *only, *more, "--host", str(failing), "--overlay", f"{tmp}/o"]
            got, out, err = run(*argv)
            expect(f"apply {only} {more} where reading fails", got == want and "unreadable" in err and "EIO" in err and "No changes were needed" not in out, (got, out[-300:], err))
            if "json" in more:
                data = json.loads(out)
                validate(data, "apply")
                expect(f"apply {only} where reading fails, as JSON", data["exit_code"] == want and "unreadable" in data["error"], data["error"])
    expect("plan ends the same", run("plan", "--profile", "published", "--only", "memory.dirty-ratio", "--host", str(failing))[0] == 5)
    expect("where all can be read it is 0", run("apply", "--profile", "published", "--only", "memory", "--yes", "--host", spark, "--overlay", f"{tmp}/p")[0] == 0)
# What would be proven is the plan, also where that is nothing.
for argv in (["gpu.power-limit", "--bench", "gemm"], ["--only", "gpu"]):
    got, out, err = run("prove", *argv, "--dry-run", "--format", "json")
    try:
        validate(json.loads(out), "plan")
        expect(f"prove {argv} --dry-run is a plan", got == json.loads(out)["exit_code"], (got, err))
    except ValueError as e:
        expect(f"prove {argv} --dry-run is JSON", False, (got, out, err, e))
# "-" is standard output, and no file of that name.
with tempfile.TemporaryDirectory() as tmp:
    for argv in (["show"], ["report", "--format", "md"], ["plan"], ["check", "--format", "prom"]):
        p = subprocess.run([gputune, *argv, "--host", spark, "-o", "-"], capture_output=True, text=True, timeout=120, cwd=tmp)
        expect(f"{argv} -o -", p.stdout and not os.listdir(tmp), (p.returncode, p.stderr, os.listdir(tmp)))
    for argv in (["capture", "-o", "-"], ["record", "-o", "-", "--", "true"]):
        refuses(f"{argv[0]} -o -", argv, 2, '--output: expected a file, not "-"')
# In little room a table is a row below the other; a line is too wide only where one value is, which is not cut.
for machine, value in ((spark, "enP2p1s0f0np0 enp1s0f0np0"), (str(machines / "hgx-h100"), "vm.dirty_ratio=2")):
    for verb in (["check"], ["check", "--all"], ["plan"], ["plan", "--verbose"], ["show"], ["show", "gpu"], ["show", "pci"], ["show", "nic"], ["show", "kernel"], ["show", "software"],
                 ["explain", "nic.mtu"], ["doctor", "--passive", "--all"], ["stack", "check", "--all"], ["predict", "inference", "--model", "llama-3.1-8b"],
                 ["predict", "training", "--model", "llama-3.1-8b", "--what-if"], ["advise", "--model", "llama-3.1-8b"]):
        for width in (40, 50, 60):
            got, out, err = run(*verb, "--host", machine, "--width", str(width), env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
            # A command is copied whole.
            wide = [line for line in out.split("\n") if len(line) > width and len(line.split()) > 1 and "pip install" not in line]
            expect(f"{verb} in {width} columns", got in (0, 1, 5) and not wide, (got, err, wide[:3]))
            expect(f"{verb} in {width} columns leaves values whole", verb != ["plan"] or value in out, out[:2000])
            expect(f"{verb} in {width} columns ends lines", not any(line.endswith(" ") for line in out.split("\n")), out[:500])
for names in (["list"], ["list", "facts"], ["list", "models"], ["list", "machines"], ["list", "profiles"], ["list", "demos"], ["demo"], ["profile", "list"]):
    whole = run(*names)[1]
    for width in (40, 60):
        got, out, err = run(*names, "--width", str(width))
        wide = [line for line in out.split("\n") if len(line) > width and len(line.split()) > 1]
        expect(f"{names} in {width} columns", got == 0 and not wide and out.split() == whole.split(), (got, err, wide[:3]))
bench = json.loads((root / "tests/fuzz/seeds/bench.json").read_text())
# The fuzzer changes this file: what it lacks is seldom reached.
try:
    validate(bench, "bench")
    expect("the fuzzer's result is a whole one", all(bench[k] for k in ("cases", "not_run", "notes", "settings")), list(bench))
except jsonschema.ValidationError as e:
    expect("the fuzzer's result fits the schema", False, e.message)
walk = [c for c in bench["cases"] if c["bench"] == "memory-latency"][0]
bench["cases"] = []
for name, ns in (("16KiB", 1.1), ("8MiB", 179.5), ("8MiB:huge", 20.25), ("256MiB", 394.9)):
    bench["cases"].append(json.loads(json.dumps(walk)) | {"case": name})
    bench["cases"][-1]["figures"][0]["median_ns"] = ns
with tempfile.TemporaryDirectory() as tmp:
    pathlib.Path(tmp, "b.json").write_text(json.dumps(bench))
    for width in (40, 60, 80):
        got, out, err = run("bench", "show", f"{tmp}/b.json", "--width", str(width), "--ascii")
        wide = [line for line in out.split("\n") if len(line) > width and len(line.split()) > 1]
        expect(f"memory by size in {width} columns", got == 0 and "x: a level change" in out and "##" in out and not wide, (got, out, err, wide[:3]))
refuses("an argument too many", ["status", "gpu"], 2, '"gpu"')
refuses("a missing argument", ["explain"], 2, "explain requires ID", '"gputune list settings" lists all')
refuses("an unknown id", ["explain", "memory.swapiness"], 2, "memory.swapiness", 'did you mean "memory.swappiness"')
refuses("a misspelt id", ["explain", "swapiness"], 2, 'did you mean "memory.swappiness"')
refuses("an action too few", ["profile"], 2, "profile requires one of list, show, diff")
refuses("an unknown --only", ["check", "--only", "gpu,nope"], 2, '"nope"')
# A script's variable that is not set: to take it for all settings would change, or undo, all of them.
for argv in (["check"], ["apply", "--dry-run"], ["undo", "--yes"], ["persist", "remove", "--yes"], ["slurm", "prolog", "--dry-run"]):
    for ids in ("", " , "):
        refuses(f"{argv[0]} --only of nothing", [*argv, "--only", ids], 2, f'--only: no ids in "{ids}"')
for argv in (["check"], ["apply", "--dry-run"], ["plan"], ["list"]):
    refuses(f"{argv[0]} of nothing that is left", [*argv, "--only", "memory.swappiness", "--skip", "gpu,memory"], 2, "no setting is selected: ",
         '"skip" (gpu,memory)', '"only" (memory.swappiness)')
refuses("far from any id", ["explain", "xyz"], 2, '"gputune list" shows all ids')
for word in ("xyz", "nosuch", "quantisation"):
    expect(f"what is far from {word} is not suggested", "did you mean" not in run("explain", word)[2], run("explain", word)[2])
refuses("a capture that is not there", ["check", "--host", "/no/such"], 2, "/no/such", "No such file")
refuses("a capture that is a device", ["check", "--host", "/dev/null"], 2, "/dev/null")
refuses("a profile that is not there", ["check", "--profile", "inferense"], 2, '"inferense"', 'did you mean "inference"?', "gputune profile list")
refuses("a wrong width", ["check", "--width", "3"], 2, "--width")
refuses("a compressed capture", ["capture", "-o", "/no/such/x.tar.gz"], 2, "expected a folder or FILE.tar", "/no/such/x.tar.gz", "zstd FILE.tar")
for form, mtu in (("term", r"^ *MTU +1500 B$"), ("md", r"1500 B")):
    expect(f"an MTU is a number of bytes, {form}", re.search(mtu, run("show", "nic", "-v", "--host", str(machines / "igx-orin"), "--format", form, "--width", "60")[1], re.M))
for names in (["--on", "dgx-spark"], ["--host", spark]):
    out = run("predict", "llama-3.1-8b", *names)[1]
    expect(f"where the memory is from, {names[0]}", re.search(r"available +\S+ GB \(" + ("usual for this GPU" if names[0] == "--on" else "the machine's MemTotal"), out), out[:2000])
refuses("capture over something", ["capture", "-o", "/tmp"], 5, "/tmp exists already")
refuses("capture into nowhere", ["capture", "-o", "/no/such/x.tar"], 5, "/no/such/x.tar")
refuses("an output that cannot be written", ["check", "-o", "/no/such/x"], 2, "/no/such/x")
refuses("a full disk", ["check", "--host", spark, "-o", "/dev/full"], 5, "cannot write the result to /dev/full")
refuses("--as elsewhere", ["show", "gpu", "--as", "svg"], 2, "--as")

for verb in ("show", "check", "explain", "list", "capture", "completion"):
    code, out, err = run(verb, "--help")
    expect(f"{verb} --help", code == 0 and f"gputune {verb}" in out and not err, (code, err))
# Help names the formats that a verb has, no others, and says of an option what it means there.
helps = {v: run(v, "--help")[1] for v in re.findall(r"^  ([a-z]+) ", run("help", "all")[1], re.M) if v != "help"}
expect("help is no wider than 100 columns", max(len(x) for h in [*helps.values(), run("help")[1]] for x in h.splitlines() if not x.startswith("Usage")) <= 100)
for columns in (60, 80):
    wide = [x for verb in (["help"], ["stack", "--help"], ["prove", "--help"]) for x in at_terminal([gputune, *verb], columns).splitlines() if len(x) > columns and not re.match("Usage|  (sudo )?gputune ", x)]
    expect(f"help fits a terminal of {columns} columns", not wide, wide[:3])
for verb, argv in (("show", []), ("check", []), ("plan", []), ("explain", ["gpu.bar1-size"]), ("monitor", ["--once"]), ("watch", ["--once"]), ("list", [])):
    told = re.search(r"--format FORMAT +(.*)", helps[verb]).group(1)
    for form in ("term", "json", "md", "html", "junit", "prom", "openmetrics", "shell", "nagios", "npd", "systemd", "compose"):
        code, out, err = run(verb, *argv, "--format", form, *([] if verb == "list" else ["--host", str(machines / "nothing")]))
        # npd ends with 2 where something could not be seen; a format that is refused is named.
        expect(f"{verb} --format {form}", (code != 2 or not err) == bool(re.search(rf"\b{form}\b", told)), (code, told, err[:200]))
refuses("a format that a verb has not", ["show", "--format", "junit"], 2, "junit", "one of term, json, md, html")
expect("undo --all takes back everything", "undo all transactions" in helps["undo"] and "does not apply" not in helps["undo"], helps["undo"])
said = subprocess.run([sys.executable, "-c", "import gputune, json; print(json.dumps(gputune.verbs()))"], capture_output=True, text=True,
                      env={**os.environ, "PYTHONPATH": str(root / "python"), "LIBGPUTUNE": str(root / "build/src/front/library/libgputune.so.0")})  # no sanitizers in Python
# A row that several verbs share is tried with one of them.
numeric = {(key, p["description"]): (v["name"].split(), key.replace("_", "-")) for v in json.loads(said.stdout)
           for key, p in v.get("question", {"properties": {}})["properties"].items() if p["type"] == "number"}
expect("options that take numbers are known", len(numeric) > 40 and not said.stderr, (len(numeric), said.stderr))
for verb, name in numeric.values():
    if f"--{name} " not in run(*verb, "--help")[1]:
        continue
    for bad in ("nan", "inf", "-inf", "-0", "1e999", "", "x", "0x10"):
        refuses(f"{verb} --{name} {bad!r}", [*verb, f"--{name}={bad}"], 2, *((f"--{name} takes ", f'not "{bad}"') if bad else (f"--{name} is empty",)))
refuses("an option of the verb and not of its sub-verb", ["bench", "list", "--runs", "3"], 2, "bench list takes no option --runs")
for name, bad in (("prompt", "0x10"), ("batch", "1-nan"), ("cached", "1e1")):
    refuses(f"--{name} {bad}", ["predict", "inference", "--model", "llama-3.1-8b", "--on", "h200", f"--{name}", bad], 2, f"--{name}", f'"{bad}"')
expect("--version", run("--version")[1].startswith("gputune "))

with tempfile.TemporaryDirectory() as tmp:
    kept, new = pathlib.Path(tmp) / "kept", pathlib.Path(tmp) / "new"
    kept.write_text("somebody's words\n" * 9999)
    run("check", "--host", "/no/such", "-o", str(kept))
    run("check", "--host", "/no/such", "-o", str(new))
    expect("an error leaves the old file alone", kept.read_text() == "somebody's words\n" * 9999 and not new.exists())
    run("show", "--host", spark, "-o", str(kept))
    expect("a result takes its whole place", kept.read_text() == run("show", "--host", spark)[1])

with tempfile.TemporaryDirectory() as tmp:
    def profile(text):
        path = f"{tmp}/p.ini"
        pathlib.Path(path).write_text(text)
        return ["check", "--host", spark, "--format", "json", "--profile", path]

    for what, text, words in (
            ("unknown key", "[memory.swappiness]\nwnat = 10\n", (":2:", '"wnat"')),
            ("unknown section", "[memory.swapiness]\nwant = 10\n", (":2:", "memory.swappiness")),
            ("wrong type", "\n[memory.swappiness]\nwant = ten\n", (":3:", "whole number")),
            ("no ini", "[profile]\nbase = default\nnonsense\n", (":3:",)),
            ("bad base", "[profile]\nbase = fastest\n", (":2:", "fastest")),
            ("bad date", "[memory.swappiness]\nwaive = x\nexpires = 2027-02-31\n", (":3:", "2027-02-31")),
            ("waiver without reason", "[memory.swappiness]\nexpires = 2027-01-31\n", ("waive",)),
            ("want of a check", "[pcie.link]\nwant = 1\n", (":2:", "waived")),
            ("before a section", "want = 1\n", (":1:", "before any section")),
            ("long line", "[profile]\nonly = " + "x" * 300 + "\n", (":2:", "exceeds 190 characters"))):
        refuses(f"profile: {what}", profile(text), 2, f"{tmp}/p.ini", *words)

    def verdict(text, setting):
        code, out, err = run(*profile(text))
        return {f["id"]: f for f in json.loads(out)["findings"]}.get(setting) if out else err

    f = verdict("[memory.swappiness]\nwaive = we measured it\nexpires = 2099-01-01\n", "memory.swappiness")
    expect("a waiver", f["verdict"] == "na" and f["reason_code"] == "waived" and "we measured it" in f["reason"], f)
    f = verdict("[memory.swappiness]\nwaive = old\nexpires = 2020-01-01\n", "memory.swappiness")
    expect("an expired waiver", f["verdict"] == "fail" and "expired" in f["reason"], f)
    f = verdict("[memory.swappiness]\nwant = 60\n", "memory.swappiness")
    expect("a wish of one's own", f["verdict"] == "pass", f)
    f = verdict("[memory.swappiness]\nwant = >= 70\n", "memory.swappiness")
    expect("a bound of one's own", f["verdict"] == "fail" and f["wanted"] == ">= 70", f)
    expect("narrowing", verdict("[profile]\nonly = gpu\n", "memory.swappiness") is None)
    refuses("profile: only of nothing", profile("[profile]\nonly = ,\n"), 2, f"{tmp}/p.ini:2:", "names none")
    refuses("profile: nothing left", profile("[profile]\nonly = gpu, nic.mtu\nskip = gpu, nic\n"), 2, "no setting is selected: ", "gpu,nic.mtu", "gpu,nic")

with tempfile.TemporaryDirectory() as tmp:
    for action in ("install", "status", "diff"):
        code, out, err = run("persist", action, "--host", spark, "--overlay", f"{tmp}/nothing")
        expect(f"persist {action} where nothing is applied", code == 0 and ("keeps nothing" if action == "status" else "Nothing to install") in out and
               "persist install --only ID --host" in out and "sudo" not in out, (code, out, err))
    argv = ["apply", "--only", "memory", "--skip", "memory.guard", "--host", spark, "--overlay", f"{tmp}/it's new", "--dry-run"]
    code, out, err = run(*argv, "--width", "1000")
    words = re.search(r'"gputune (.*?)" makes', out, re.S)
    expect("a command is typed as it is printed", code == 0 and words and shlex.split(words[1]) == argv[:-1], (code, out, err))
    argv = ["apply", "--only", "pcie.acs", "--yes", "--host", str(machines / "hgx-h100"), "--overlay", f"{tmp}/o"]
    code, out, err = run(*argv)
    expect("what is refused is not called right", "1 refused" in out and "No changes were needed" not in out, (code, out[-300:]))
    expect("all refused is no success", code == 3 and "all 8 changes are refused; nothing was written" in err, (code, err))
    refuses("all refused, quietly", [*argv, "--quiet"], 3, "all 8 changes are refused")
    code, out, err = run(*argv, "--format", "json")
    j = json.loads(out)
    expect("all refused, as JSON", code == j["exit_code"] == 3 and j["transaction"] is None and "refused" in j["error"], (code, out[:300]))
    code, out, err = run(*argv, "--dry-run", "--format", "json")
    expect("all refused, as a dry run says", code == json.loads(out)["exit_code"] == 3 and "all 8 changes" in err, (code, err))
    argv[2] = "pcie.acs,net.tcp-slow-start-after-idle"
    expect("a part refused is the other part done", [run(*argv)[0], run(*argv)[0]] == [0, 0])
    code, out, err = run("plan", "--only", "pcie.acs", "-o", f"{tmp}/p.json", *argv[-4:])
    refuses("a plan that is not there", ["apply", f"{tmp}/none.json"], 2, f"{tmp}/none.json: cannot read")
    refuses("a plan that is refused", ["apply", f"{tmp}/p.json", "--quiet", *argv[3:]], 3, "all 8 changes are refused")

# Whoever may make a transaction is in the schema: "op" is what made it.
made = {m for f in (root / "src").rglob("*.[ch]") for m in re.findall(r'(?:\bwho\.op = |\.op = |define (?:SETUP_OP|TXN_PROVE) |who->op : )"([a-z]+)"', f.read_text())}
named = schema("history")["$defs"]["transaction"]["properties"]["op"]["enum"]
expect("the schema of history has all that make transactions", {"apply", "cluster", "persist", "prove"} <= made and made <= set(named), (made, named))

for machine in captured:
    for verb, argv in (("check", ["check"]), ("show", ["show"]), ("explain", ["explain", "gpu.bar1-size"])):
        code, out, err = run(*argv, "--format", "json", "--host", str(machine))
        try:
            validate(json.loads(out), verb)
            expect("schema", True)
        except Exception as e:
            expect(f"{machine.name}: {verb} follows its schema", False, str(e)[:300])
code, out, _ = run("list", "--format", "json")
validate(json.loads(out), "list")
ids = [s["id"] for s in json.loads(out)["settings"]]
expect("ids are unique", len(ids) == len(set(ids)))
expect("about a hundred settings", len(ids) >= 100, len(ids))
for i in ids:
    code, out, err = run("explain", i, "--host", spark)
    expect(f"explain {i}", code == 0 and "Sources" in out and "What" in out or "How" in out, (code, err))
code, out, _ = run("list", "--facts", "--format", "json")
expect("facts are listed", len(json.loads(out)["facts"]) > 250)

for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])):
    code, out, err = run("completion", shell)
    p = subprocess.run(check + ["/dev/stdin"], input=out, text=True, capture_output=True)
    expect(f"{shell} completion parses", code == 0 and p.returncode == 0, p.stderr)
code, out, _ = run("completion", "bash")
p = subprocess.run(["bash"], text=True, capture_output=True, input=out + """
COMP_WORDS=(gputune explain memory.swapp); COMP_CWORD=2; _gputune; echo "${COMPREPLY[@]}"
COMP_WORDS=(gputune ch); COMP_CWORD=1; _gputune; echo "${COMPREPLY[@]}"
COMP_WORDS=(gputune check --format j); COMP_CWORD=3; _gputune; echo "${COMPREPLY[@]}"
COMP_WORDS=(gputune hel); COMP_CWORD=1; _gputune; echo "${COMPREPLY[@]}"
COMP_WORDS=(gputune help pl); COMP_CWORD=2; _gputune; echo "${COMPREPLY[@]}"
""")
expect("bash completes", p.stdout.split("\n")[:5] == ["memory.swappiness", "check", "json junit", "help", "plan"], p.stdout + p.stderr)
# What a shell offers is what the verb takes: no format of another one, no option where a value has to stand, files where files go.
asked = [f"{v} --format ''" for v in ("show", "list", "monitor", "watch", "generate mpi")] + ["check --format = j", "predict inference --batch ''", "prove --bench ''",
         "stack compare --bench ''", "completion ''", "apply /etc/host", "stack arch /etc/host"]
p = subprocess.run(["bash"], text=True, capture_output=True, input=run("completion", "bash")[1] + "".join(
    f"set -- gputune {a}; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _gputune; echo \"${{COMPREPLY[@]}}\"\n" for a in asked))
offers = dict(zip(asked, p.stdout.split("\n")))
for a, want in zip(asked, ("term json md html", "term json md html csv", "term json prom openmetrics otlp", "term json", "term json md html shell systemd compose", "json junit", "", None,
                           "gemm collectives gds", "--help bash zsh fish man", None, None)):
    expect(f"bash offers for {a}", want is None or offers[a] == want, offers[a])
expect("a bench to prove with", "gemm" in offers["prove --bench ''"].split() and not {"list", "serve", "all"} & set(offers["prove --bench ''"].split()), offers)
expect("files where files go", all("/etc/hosts" in offers[a].split() for a in asked[-2:]), offers)
for shell, takes in (("fish", r"-n '__fish_seen_subcommand_from show' -l format[^\n]* -a \"([^\"]*)\""), ("zsh", r"(?s)show\)\n(?:(?!;;).)*?--format=\[[^\n]*?:FORMAT:\((.*?)\)")):
    found = re.search(takes, run("completion", shell)[1])
    expect(f"{shell} offers the verb's formats", found and found.group(1).split() == ["term", "json", "md", "html"], found and found.group(0)[-200:])
for shell, takes in (("fish", r"-n '__fish_seen_subcommand_from help' -a \"([^\"]*)\""), ("zsh", r"\n    help\)\n *_arguments '1:verb:\((.*?)\)'")):
    found = re.search(takes, run("completion", shell)[1])
    expect(f"{shell} offers verbs behind help", found and {"check", "plan", "completion"} <= set(found.group(1).split()), found)
code, out, _ = run("completion", "man")
p = subprocess.run(["man", "--warnings", "-l", "-"], input=out, text=True, capture_output=True, env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
expect("the manual page renders", "NAME" in p.stdout and "warning" not in p.stderr, p.stderr[:300])
pages = re.findall(r"gputune\\-(\S+) \(1\)$", out, re.M)
expect("the manual names a page for each verb", "show" in pages and "completion" in pages, pages)
for page in sorted(set(pages)):
    code, out, _ = run("completion", "man", page)
    p = subprocess.run(["man", "--warnings", "-l", "-"], input=out, text=True, capture_output=True, env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    expect(f"gputune-{page} renders", code == 0 and "NAME" in p.stdout and p.stderr == "", p.stderr[:300])
expect("no page of nothing", run("completion", "man", "nothing")[0] == 2)

code, out, _ = run("check", "--host", spark, "--format", "junit")
p = subprocess.run(["xmllint", "--noout", "-"], input=out, text=True, capture_output=True)
expect("JUnit is XML", p.returncode == 0, p.stderr)
code, out, _ = run("show", "topology", "--as", "svg", "--host", str(machines / "hgx-h100"))
p = subprocess.run(["xmllint", "--noout", "-"], input=out, text=True, capture_output=True)
expect("the drawing is XML", p.returncode == 0 and "<svg" in out, p.stderr)
code, out, _ = run("check", "--host", spark, env={"PATH": "/usr/bin:/bin", "TERM": "xterm"})
expect("no colour in a pipe", "\x1b" not in out)
expect("--quiet is silent", run("check", "--quiet", "--host", spark)[1] == "")
with tempfile.TemporaryDirectory() as made:
    said = run("check", "--quiet", "--host", spark, "-o", f"{made}/c.txt")[1]
    expect("but writes its file", said == "" and "Freeze guard" in pathlib.Path(made, "c.txt").read_text())

# CSV is the result's list, flat.


def flat(item, above=""):
    """The figures of an item of JSON under the names of columns."""
    for key, v in item.items():
        if isinstance(v, dict):
            yield from flat(v, f"{above}{key}.")
        elif not isinstance(v, list):
            yield above + key, "" if v is None else v if isinstance(v, str) else json.dumps(v)


def listed_twice(argv, *keys):
    at = argv.index("--") if "--" in argv else len(argv)
    code, out, err = run(*argv[:at], "--format", "csv", *argv[at:])
    got = list(csv.DictReader(io.StringIO(out, newline="")))
    want = [{}]
    found = json.loads(run(*argv[:at], "--format", "json", *argv[at:])[1], parse_float=str)
    for key in keys:
        want = [{**above, **dict(flat(item)), "": item} for above in want for item in (above[""] if above else found)[key]]
    expect(f"{argv} --format csv: as many lines as JSON has items", code in (0, 1, 5) and want and len(got) == len(want), (code, err, len(got), len(want)))
    for line, item in zip(got, want):
        # An object that is not known is null in JSON, and no figure of it in CSV.
        bad = {k: (line.get(k), v) for k, v in item.items() if k and line.get(k) != v and not (v == "" and k not in line)}
        expect(f"{argv} --format csv: the figures of JSON", not bad, bad)


for argv, *keys in ((["check", "--host", spark], "findings"), (["plan", "--host", spark], "changes"), (["list"], "settings"),
                    (["lint", "--host", spark, "--", "NCCL_NO_SUCH=1", "NCCL_DEBUG=bogus", "x"], "findings"),
                    (["fleet", spark, str(machines / "hgx-h100")], "groups"), (["bench", "list"], "benches"),
                    (["advise", "--sweep", "--model", "llama-3-8b", "--host", spark], "fronts", "points")):
    if "csv" in run(argv[0], "--help")[1].partition("--format")[2].partition("--")[0]:
        listed_twice(argv, *keys)
with tempfile.TemporaryDirectory() as tmp:
    run("plan", "--host", spark, "-o", f"{tmp}/plan.json")
    listed_twice(["verify", f"{tmp}/plan.json", "--host", spark], "rows")
refuses("csv of what is no list", ["show", "--format", "csv", "--host", spark], 2, "csv")
refuses("an ending that the verb does not write", ["check", "--host", spark, "-o", "x.pdf"], 2, "cannot write x.pdf: check only writes term")
with tempfile.TemporaryDirectory() as tmp:
    for ending, begins in (("csv", "id,title"), ("json", "{"), ("md", ""), ("txt", "")):
        code, out, err = run("check", "--host", spark, "-o", f"{tmp}/x.{ending}")
        expect(f"-o x.{ending}", code == 1 and pathlib.Path(tmp, f"x.{ending}").read_text().startswith(begins), (code, err))
    code, out, err = run("predict", "inference", "--model", "llama-3.1-8b", "--on", "dgx-spark", "--output", "64", "-o", f"{tmp}/p.json")
    expect("predict has -o beside --output", code == 0 and "64" in pathlib.Path(tmp, "p.json").read_text(), (code, out, err))
    pages = [run("explain", "nic.twins", "--host", str(machines / name))[1] for name in ("dgx-spark", "hgx-h100")]
    expect("a note about DGX Spark is not shown elsewhere", ["189.85" in p for p in pages] == [True, False], pages)
end_suite()
