#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documentation tells people to type. Every command in a code block or between backticks is run, in the order of its page: as it
stands, on a captured machine that takes writes; or with something in the place of words that stand for something; or, where it needs
other machines, a GPU, minutes or no end, by the suite that ELSEWHERE names. A command that is none of these fails, so do a verb or an
option that does not exist. Ids of settings and diagnoses exist, and so does every file that a page points to, and every function, struct and
macro that it names; every verb and every option stands somewhere in the pages; what a page shows as output is what comes out. A page or
a part of it names its machine with <!-- machine: NAME -->."""
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from common import built, end_suite, expect, gputune, machines, root

pages = [p for p in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "src").glob("*/README.md")),
                     *sorted((root / "skills").glob("*/SKILL.md")), root / "AGENTS.md", root / "llms.txt"]
         if p.name != "RESULTS.md"]
prose = {str(p.relative_to(root)): p.read_text() for p in pages}

# What is put in the place of words that stand for something: first rule that fits, then the next. "" leaves a word out.
STAND_INS = (
    (r"\s*(>|\||&&) .*", ""),                         # what a shell does with it
    (r"^roofline \[.*", "roofline --from-bench"),
    (r" \[(-|[A-Z])[^\]]*\]", ""),                    # may be left out
    (r"^(capture) -o NAME.tar", r"\1 -o new"),
    (r"^lint FILE", "lint lint.sh"),
    (r"^normal FILE", "normal nccl.log"),
    (r"^diagnose hang (PID|4242)", "ELSEWHERE hang"),
    (r"^diagnose serving http\S+", "ELSEWHERE serving"),
    (r"^defects lint (FILE|nccl\.json.*)", "defects lint rows.json"),
    (r"(--log) FILE", r"\1 logs.vllm.json --model llama-3.1-8b --on h200"),
    (r"(--nsys) FILE", r"\1 diagnose.sqlite --on h200"),
    (r"(--ncu) FILE", r"\1 roof.ncu.csv --on h200"),
    (r"(--edit) FILE", r"\1 edit.json"),
    (r"^apply FILE", "apply plan.json"),
    (r"^(prove ID) --json FILE", r"\1 --json proof.json"),
    (r"^(explain|prove) ID", r"\1 memory.swappiness"),
    (r"^diagnose training (FILES(\.\.\.)?$|job\.rec train\.log)", "diagnose training job.rec train.log"),
    (r"FOLDER FOLDER", "w8 w16"),
    (r"^(doctor) (\S+ )?--peer .*|^doctor \.\.\. --fix", "ELSEWHERE doctor"),
    (r"^help --format json", "list"),                 # parts.py
    (r"^doctor YOUR WORDS", "doctor slow nccl"),
    (r"^doctor < ", "doctor "),
    (r"^fleet (DIR|RESULTS)", "fleet results"),
    (r"^compare A B", "compare a.json b.json"),
    (r"^compare-(\S+)", r"compare \1"),
    (r"node\*\.tar", "node1.tar node2.tar"),
    (r"prove\.json job\.rec -o", "prove.json -o"),       # a recording goes with one machine
    (r"--host CAPTURE", "--host captured"),
    (r"--overlay DIR", "--overlay overlay"),
    (r"--dir /\S+", "--dir ."),
    (r"--files /\S+", "--files a.json"),
    (r"--state DIR", "--state state"),
    (r"/var/lib/node/", ""),
    (r"--head ADDRESS", "--head 192.168.100.1"),
    (r"-- (COMMAND|(torchrun|python3) .*)$", "-- true"),
    (r"-- PROGRAM ?(\.\.\.|ARGUMENTS)?", "-- train.py"),
    (r"--model M\b|--model NAME\S*", "--model llama-3.1-8b"),
    (r"--weights FORMAT", "--weights bf16"),
    (r"--on MACHINE", "--on h200"),
    (r"--parallel WAY", "--parallel fsdp"),
    (r"--(micro-batch) N", r"--\1 1"),
    (r"--(global-batch|sequence|prompt|output|batch|users|context) N", r"--\1 64"),
    (r"^(predict training) \.\.\.", r"\1 --model 12:768:12:12:3072:2:50257 --precision fp32 --attention eager --parallel ddp --micro-batch 8 "
                                    "--accumulation 1 --sequence 512"),
    (r"^stack arch PATH\.\.\.", "stack arch stack.so"),
    (r"^stack build-plan DIR TARGET", "stack build-plan built torch"),
)
HEAD = ("schema", "tool_version", "time", "exit_code", "host")  # of every result
# What is added so that a command reads and ends: no page has to say so.
ADDED = (
    (r"^prove (?!.*--dir)", "--dry-run --dir . --state state"),
    (r"^prove .*--dir", "--dry-run --state state"),
    (r"^slurm ", "--dry-run"),
    (r"^monitor$", "--once"),
    (r"^monitor --interval", "--for 150ms"),
    (r"^monitor \S+\.rec", "--format json"),
    (r"^(compare|calibrate|roofline) ", "--state state"),
    (r"^(calibrate|roofline)$", "--state state"),
    (r"^(apply|undo|persist (install|remove)|journal (repair|compact))( |$)", "--yes"),
    (r"^tune --for (?!.*--dry-run)", "--yes --state state"),  # of programs that are not there
)
# What is not run here, the suite that runs it, and a word of it there.
ELSEWHERE = (
    (r"^mcp", "mcp.py", '"mcp"'),
    (r"^monitor .*--otlp", "monitor.py", '"--otlp"'),
    (r"^(propose|approve|apply --approved|undo --approved)", "mcp.py", '"propose"'),
    (r"^model add", "knowledge.py", '"model", "add"'),
    (r"^ELSEWHERE doctor", "doctor.py", '"--fix"'),
    (r"^ELSEWHERE hang", "hang.py", '"hang"'),
    (r"^ELSEWHERE serving", "serving.py", '"serving"'),
    (r"^bench( serve| .*--peer)", "net.py", '"--peer"'),
    (r"^bench collectives", "ranks.py", '"collectives"'),
    (r"^bench (?!list|show)", "bench.py", "bench"),
    (r"^verify --reboot", "persist.py", "--reboot"),  # asked of a capture, which refuses
    (r"^top", "monitor.py", "top --interval"),
    (r"^bench show", "bench.py", '"show"'),
    (r"^cluster (discover(?! --from demo)|node)", "cluster.py", '"discover"'),
    (r"^check --deep --since", "health.py", '"--since"'),
    (r"^cluster (plan(?! --from demo)|undo)", "cluster_plan.py", '"undo"'),
    (r"^cluster check(?! --from demo)", "qualify.py", '"check"'),
    (r"^qualify", "qualify.py", '"qualify"'),
    (r"^generate \w+ --cluster", "generate.py", '"--cluster"'),
    (r"^since ", "since.py", '"since"'),
    (r"^fleet \S+\.db", "since.py", '"fleet"'),
    (r"^kubernetes ", "kubernetes.py", '"kubernetes"'),
    (r"^data (update|back)", "data.py", '"update"'),
    (r"^profile (new|edit|check)", "hour.py", '"profile", "new"'),  # files of a user's own
    (r"^run --free", "guard.py", '"--free"'),
    (r"^stack canary", "stack.py", '"canary"'),
    (r"^stack compare", "stack.py", '"compare"'),
    (r"^stack check --env", "stack.py", "--env"),
    (r"^stack wheelhouse", "stack.py", '"wheelhouse"'),
    (r"^diagnose --attach", "diagnose.py", '"--attach"'),
    (r"^watch( --policy report)?( --format json)?$", "watch.py", "watch"),
    (r"^stack build-plan .* --run", "stack.py", '"--run"'),
    (r"^predict .*acme/", "knowledge.py", "KNOWLEDGE.md"),
)
# Verbs that are told which machine: without it they would look at the one that the test runs on.
HOSTED = {"show", "check", "explain", "plan", "apply", "undo", "status", "history", "verify", "persist", "doctor", "generate", "lint", "watch", "profile",
          "monitor", "capture", "report"}
# Exit codes: what is not named here may find something, or not see enough.
FINE = {"prove": {0, 1, 3, 5}, "tune": {0, 3, 5}, **{v: {0} for v in ("show", "explain", "apply", "undo", "history", "persist", "monitor", "record", "run", "capture", "list",
                                                  "completion", "predict", "advise")}}


def commands(text):
    """Lines of code blocks, fenced or indented, and words between backticks, in the order of the page; True for those in blocks."""
    fenced = False
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        block = line if fenced else line[4:] if line.startswith("    ") else None
        found = [block] if block is not None else re.findall(r"`([^`]+)`", line)
        for c in found:
            c = re.sub(r"^([\w-]*[$#]) ", "", c.strip()).replace("\\|", "|")
            if re.match(r"(sudo )?(\w+=\S+ )*((mpirun|mpiexec|srun|torchrun) .*?)?(build/)?gputune [a-z]", c):
                yield re.split(r"\s{2,}|\s+#\s", re.sub(r"^.*?gputune ", "", c))[0], block is not None


def stand_in(command):
    """What is run for a command, one or, where words are alternatives, several."""
    for pattern, by in STAND_INS:
        command = re.sub(pattern, by, command)
    command = command.strip()
    choice = re.search(r"(?<![\w'\"])([\w-]+(?:\|[\w.-]+)+)(?![\w'\"])", command)
    if not choice:
        return [command]
    return [command[:choice.start()] + one + command[choice.end():] for one in choice.group(1).split("|")]


def on_machines(text):
    """(machine, text) of a page's parts: each line goes with the last marker above it, or with the page's first."""
    first, parts = (re.findall(r"^<!-- machine: ([\w-]+) -->", text, re.M) or ["dgx-spark"])[0], {}
    for k, part in enumerate(re.split(r"^(?=<!-- machine: )", text, flags=re.M)):
        machine = re.match(r"<!-- machine: ([\w-]+) -->", part)[1] if k else first
        parts[machine] = parts.get(machine, "") + part
    return parts.items()


helps = {}


def options(verb):
    """Of a verb, or of a sub-verb with the name of its verb; None: there is none."""
    if verb not in helps:
        p = subprocess.run([gputune, *verb.split(), "--help"], capture_output=True, text=True, check=False)
        known = p.returncode == 0 and p.stdout.startswith(f"Usage: gputune {verb} ")
        helps[verb] = set(re.findall(r"^ +(?:-[a-zA-Z], )?(--[a-z][a-z0-9-]*)", p.stdout, re.M)) if known else None
    return helps[verb]


def sub_verbs(verb):
    listed = subprocess.run([gputune, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout.partition("\nSub-verbs:\n")[2]
    return [v for sub in re.findall(r"^  ([a-z_-]+) ", listed.partition("\n\n")[0], re.M) for v in (f"{verb} {sub}", *sub_verbs(f"{verb} {sub}"))]


def examples(verb):
    """The command lines of a verb's help: two to five; what it is about takes three lines of 100 columns."""
    text = subprocess.run([gputune, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
    about = re.sub(r"\nExit codes: .*", "", text.split("\n\n")[1], flags=re.S)
    lines = re.findall(r"^  ((?:sudo )?gputune .*)", text.partition("\nExamples:\n")[2], re.M)
    expect(f"{verb} --help has two to five examples", 2 <= len(lines) <= 5, lines)
    expect(f"{verb} --help says what it is about in three lines", about.count("\n") < 3, about)
    return [f"    {line}" for line in lines]


def options_of(words):
    subs = list(itertools.takewhile(lambda w: re.match(r"[a-z][a-z_-]*$", w), words[1:3]))
    return next((o for n in range(len(subs), -1, -1) if (o := options(" ".join([words[0], *subs[:n]]))) is not None), None)


def check_words(where, words):
    known = options_of(words)
    if not expect(f"{where}: the verb of {' '.join(words)}", known is not None, words[0]):
        return False
    own = words[1:words.index("--")] if "--" in words else words[1:]
    wrong = [w for w in own if re.match(r"--[a-z]", w) and w.split("=")[0] not in known]
    return expect(f"{where}: {' '.join(words)}", not wrong, f"no option {wrong}")


def elsewhere(where, command):
    """Whether another suite runs it; benches and cases have to be some that exist."""
    for pattern, suite, word in ELSEWHERE:
        if re.search(pattern, command):
            text = (root / "tests/golden" / suite).read_text()
            expect(f"{where}: {command}: run by {suite}", word in text, word)
            if re.match(r"bench (?!show)", command):
                names = [w for w in re.sub(r" --.*", "", command).split()[1:] if w not in ("all", "serve", "NAME")]
                expect(f"{where}: {command}", all(n.split("/")[0] in benches or any(b.startswith(f"{n}-") for b in benches) for n in names), names)
            return True
    return False


def run(where, command, desk):
    words = shlex.split(command)
    for pattern, more in ADDED:
        if re.search(pattern, command):
            words += [w for w in more.split() if w != "--yes" or w not in words]
    verb, tail = words[0], []
    if "--" in words:
        words, tail = words[:words.index("--")], words[words.index("--"):]
    if verb == "record" and "-o" in words:
        (desk / words[words.index("-o") + 1]).unlink(missing_ok=True)
    files = verb == "report" and any(re.search(r"\.(json|tar|rec)$", w) for w in words[1:])
    if (verb in HOSTED and not {"--on", "--node"} & set(words) or verb in ("predict", "advise") and "--on" not in words and "--rows" not in words or verb == "stack" and words[1] in ("check", "env")) and not files and "--host" not in words and \
            not (verb == "monitor" and words[1:2] and words[1].endswith(".rec")) and words[1:2] != ["list"]:
        words += ["--host", "captured"]
    if "--host" in words and "--overlay" not in words and "--overlay" in options_of(words) and verb not in ("explain", "lint", "generate"):
        words += ["--overlay", "planned" if "plan.json" in words else "overlay"]
    p = subprocess.run([gputune, *words, *tail], capture_output=True, text=True, check=False, cwd=desk, stdin=subprocess.DEVNULL, timeout=120)
    expect(f"{where}: {command}", p.returncode in FINE.get(verb, {0, 1, 5}), (words, p.returncode, p.stderr[-400:]))


def made(desk, *argv):
    p = subprocess.run([gputune, *argv], capture_output=True, text=True, check=False, cwd=desk, timeout=120)
    expect(f"on the desk: {argv}", p.returncode in (0, 1, 5), (p.returncode, p.stderr[-300:]))


def lay_out(desk, machine):
    """The files that the pages speak of: captures, results, recordings, logs."""
    seeds, training = root / "tests/fuzz/seeds", root / "tests/data/training"
    (desk / "captured").symlink_to(machines / machine)
    (desk / "tests").symlink_to(root / "tests")
    for name in ("overlay", "planned", "results", "w8", "w16", "state"):
        (desk / name).mkdir()
    shutil.copy(root / "src/knowledge/defects/nccl.json", desk / "rows.json")
    for name in ("lint.sh", "logs.vllm.json", "roof.ncu.csv", "diagnose.sqlite", "stack.so"):
        shutil.copy(seeds / name, desk / name)
    shutil.copy(seeds / "bench.json", desk / "a.json")
    shutil.copy(seeds / "bench.json", desk / "b.json")
    for name, seed in (("before.json", "bench.json"), ("after.json", "bench.json"), ("run.sh", "lint.sh"), ("libfoo.so", "stack.so"), ("report.sqlite", "diagnose.sqlite"), ("job-nsys.sqlite", "diagnose.sqlite"),
                       ("vllm.json", "logs.vllm.json"), ("vllm.txt", "logs.vllm.txt")):
        shutil.copy(seeds / seed, desk / name)
    for name in ("before.prom", "after.prom", "vllm.log"):
        shutil.copy(seeds / "serving.prom", desk / name)
    for rank in (0, 1):
        shutil.copy(seeds / "flight.2.pickle", desk / f"nccl_trace_rank_{rank}")
    for name in ("nccl.log", "fio.json"):
        shutil.copy(root / "tests/data/outputs.txt", desk / name)
    shutil.copy(seeds / "posted.txt", desk / "lspci.txt")
    for folder in ("venv/lib/python3.12/site-packages", "image/usr/lib"):
        (desk / folder).mkdir(parents=True)
    # The first letter of these says to the fuzz target what the rest is.
    for name, seed in (("result.json", "report.bench"), ("prove.json", "report.prove"), ("edit.json", "edit.json")):
        (desk / name).write_bytes((seeds / seed).read_bytes()[1:])
    for log, kind in (("train.log", "h200-loader/rank0.log"), ("vllm.log", "h200-loader/rank0.log"), ("dmesg.txt", "h200-loader/rank0.log"),
                      ("job.log", "h200-loader/rank0.log"), ("a.log", "h200-loader/rank0.log"), ("b.log", "real-loader-2/rank0.log"),
                      ("w8/run.log", "h200-loader/rank0.log"), ("w16/run.log", "real-loader-2/rank0.log"), ("job.rec", "h200-loader/job.rec"),
                      ("a.rec", "h200-loader/job.rec"), ("b.rec", "h200-checkpoint/job.rec")):
        shutil.copy(training / kind, desk / log)
    shutil.copy(once(f"{machine}.plan.json", "plan", "--host", f"{root}/build/machines/{machine}", "--only", "memory", "-o", f"{machine}.plan.json"),
                desk / "plan.json")
    for name in ("node1.tar", "node2.tar"):
        shutil.copy(tar_of(machine), desk / name)
    for name in ("check.json", "node7-check.json", "results/node1.json"):
        shutil.copy(check_of(machine), desk / name)


kept = {}


def once(name, *argv):
    if name not in kept:
        made(shared, *argv)
        kept[name] = shared / name
    return kept[name]


def tar_of(machine):
    return once(f"{machine}.tar", "capture", "--host", f"{root}/build/machines/{machine}", "-o", f"{machine}.tar", "-q")


def check_of(machine):
    return once(f"{machine}.json", "check", "--host", f"{root}/build/machines/{machine}", "--format", "json", "-o", f"{machine}.json")


ids = {line.split()[0] for line in subprocess.run([gputune, "list"], capture_output=True, text=True, check=True).stdout.splitlines() if "." in line}
groups = {i.split(".")[0] for i in ids}
signs = set(re.findall(r"^([a-z]+\.[a-z-]+) ", subprocess.run([gputune, "doctor", "list"], capture_output=True, text=True, check=True).stdout, re.M))
benches = {b["name"] for b in json.loads(subprocess.run([gputune, "bench", "list", "--format", "json"], capture_output=True, text=True,
                                                        check=True).stdout)["benches"]}
expect("settings and diagnoses are listed", len(ids) > 100 and len(signs) > 40, (len(ids), len(signs)))
tally = {"run here": 0, "run elsewhere": 0, "names": 0}
NEEDS = {"explain", "predict", "advise", "completion", "generate", "lint", "stack", "bench", "compare", "prove", "record", "run", "cluster", "diagnose",
         "calibrate", "roofline", "fleet", "capture", "watch", "doctor", "persist", "slurm", "report", "tune"}
all_verbs = [v for top in re.findall(r"^  ([a-z]+) ", subprocess.run([gputune, "help", "all"], capture_output=True, text=True, check=True).stdout, re.M)
             if top != "help" for v in (top, *sub_verbs(top))]
with tempfile.TemporaryDirectory(prefix="gputune-docs-") as base:
    shared = pathlib.Path(base)
    typed = {"help": "\n".join(line for v in all_verbs for line in examples(v)), **prose}
    for name, machine, text in [(name, *part) for name, text in typed.items() for part in on_machines(text)]:
        desk = shared / re.sub(r"\W", "-", f"{name}-{machine}")
        desk.mkdir()
        lay_out(desk, machine)
        done = set()
        for said, in_block in commands(text):
            if said in done and said.split()[0] not in ("status", "undo", "check"):
                continue
            done.add(said)
            if not in_block and len(said.split()) == 1 and said in NEEDS:
                expect(f"{name}: the verb {said}", options(said) is not None, said)
                tally["names"] += 1
                continue
            for command in stand_in(said):
                try:
                    words = shlex.split(command)
                except ValueError as e:
                    expect(f"{name}: {said}", False, e)
                    continue
                if elsewhere(name, command):
                    tally["run elsewhere"] += 1
                    if words[0] in helps or not words[0].isupper():
                        check_words(name, words)
                elif check_words(name, words):
                    tally["run here"] += 1
                    run(name, command, desk)
expect("commands are run", tally["run here"] > 150, tally)

# Names between backticks that are others' or made at run time, and so stand in no source.
OTHERS = {"data_load_time_s", "gputune_cpu_busiest_ratio", "mnl_cb_run", "node_textfile_mtime_seconds", "nvml.h",
          # of TensorRT-LLM and its published scripts
          "attention_dp_config", "batch_wait_timeout_iters", "timeout_iters", "DP_ATTENTION", "enable_attention_dp"}
listed = ["meson.build", *(str(p.relative_to(root)) for top in ("src", "tests", "include", "examples", "schemas", "scripts", "contrib", "ansible", "packaging")
                           for p in (root / top).rglob("*") if p.is_file() and "__pycache__" not in p.parts)]
sources = [f for f in listed if re.match(r"(src|tests|include|examples|packaging)/.*\.([ch]|def|rows)$", f)]
code = "\n".join((root / f).read_text(errors="replace") for f in listed if
                 re.search(r"\.([ch]|def|rows|pml|map)$|^(schemas|scripts|contrib|ansible)/|^(tests|packaging)/.*\.(py|csv|build)$|/meson.build$", f))
words = set(re.findall(r"\w+", code)) | {pathlib.Path(f).stem for f in listed} | {p.stem for p in pages} | OTHERS
types = set(re.findall(r"\b((?:struct|enum) \w+)\b(?=[ \n]*[{;])", code))
for name, text in prose.items():
    page = root / name
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            expect(f"{name}: {target}", (page.parent / target).exists(), "no such file")
    # A path of the tree is there; capitals stand for any name. So is a file that is named without its folder.
    for target in set(re.findall(r"`((?:docs|src|tests|scripts|schemas|contrib|examples|ansible|debian|packaging|include)/[\w./*-]*[\w*])`", text)):
        place = built / target if target.startswith("schemas/") and not (root / target).exists() else root / target
        pattern = re.sub(r"(?<![a-z\d])[A-Z]+(-[A-Z])*(?![a-z\d]|\.md)", "*", target)
        expect(f"{name}: {target}", place.exists() or pattern != target and any(root.glob(pattern)) or "*" in target and any(root.glob(target)),
               "no such file")
    for section in re.split(r"^## ", text, flags=re.M):
        for target in set(re.findall(r"`((?:[a-z_]+/)*[a-z][a-z0-9_]*\.(?:[ch]|def|rows))`", section)):
            places = [s for s in sources if s == target or s.endswith("/" + target)]
            # Of files with one name in several folders the section says which, by a path.
            near = [s for s in places if s.startswith(str(page.parent.relative_to(root)) + "/") or str(pathlib.PurePath(s).parent) in section]
            expect(f"{name}: {target}", target in OTHERS or len(places) == 1 or near, f"no such file, or not clear which of {places}")
    # A name with an underscore is in the code; capitals stand for any name, and what ends in "_" is how some begin.
    prose_alone = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for span in re.findall(r"`([^`]+)`", prose_alone):
        for word in re.findall(r"(?<![\w.*-])[A-Za-z]\w*_\w*(?![\w-])", span):
            shape = re.compile(re.sub(r"(?<=_)(NAME|X)(_libfuzzer$|(?=_|$))", r"\\w+", word) + (r"\w+" if word.endswith("_") else ""))
            expect(f"{name}: {word}", word in words or shape.pattern != word and any(map(shape.fullmatch, words)), "no such name in the code")
        for word in re.findall(r"\b(?:struct|enum) [a-z]\w*", span):
            expect(f"{name}: {word}", word in types, "no such type")
    for script in set(re.findall(r"(?<![\w/])scripts/[a-z][\w/.-]*\w", text)):
        expect(f"{name}: {script}", (root / script).exists(), "no such script")
    # A word like an id of a group that exists is one.
    for word in set(re.findall(r"`([a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)*)`", text)):
        if word.split(".")[0] in groups - {"net", "service", "boot", "disk", "memory", "cpu"} and not re.search(r"\.(c|h|md|py|json|conf|service|sh|ini)$", word):
            expect(f"{name}: {word}", word in ids | signs, "no such setting or diagnosis")
    for section in re.findall(r"^    \[([a-z]+\.[a-z0-9-]+)\]", text, re.M):
        expect(f"{name}: [{section}]", any(i == section or i.startswith(section) for i in ids), "no such setting")
    # What a page shows is what comes out.
    for command, shown in re.findall(r"^    \$ gputune ([^\n]+)\n((?:    [^\n]*\n|\n(?=    ))+)", text, re.M):
        out = subprocess.run([gputune, *shlex.split(command), "--width", "100"], capture_output=True, text=True, check=False, cwd=root).stdout
        expect(f"{name} shows what \"{command}\" prints", re.sub(r"^    ", "", shown, flags=re.M).rstrip() == out.rstrip(), out[:1200])

# Whatever can be asked for stands in a page.
verbs = [v for v in all_verbs if " " not in v]
everything = "\n".join(prose.values())
for verb in verbs:
    expect(f"{verb} is in the tour", re.search(rf"`(sudo )?gputune {verb}\b", prose["docs/TOUR.md"]), "not there")
for option in sorted({o for v in verbs for o in options(v)}):
    expect(f"{option} stands in a page", re.search(rf"(?<![\w-]){option}(?![\w-])", everything),
           [v for v in verbs if option in options(v)])

# What was measured is what the ledgers hold and the program says.
p = subprocess.run([sys.executable, root / "scripts/measured", gputune, "--output", "/dev/stdout"], capture_output=True, text=True, check=False)
# The page that the build makes of the results' rows has every schema that is made of them and its keys, each with its kind.
made = (built / "schemas/RESULTS.md").read_text()
parts = dict(re.findall(r"^`gputune\.[^`]*`, `([\w-]+\.json)`(.*?)(?=^## |\Z)", made, re.M | re.S))
expect("schemas/RESULTS.md has each result", len(parts) > 60, sorted(parts))
for name, part in parts.items():
    for key in json.loads((built / "schemas" / name).read_text()).get("properties", {}):
        expect(f"schemas/RESULTS.md: {name}: {key}", key in HEAD or re.search(rf"^\| `{key}` \| \S", part, re.M), "no row")
expect("docs/MEASURED.md is what scripts/measured writes", p.stdout == prose["docs/MEASURED.md"], p.stderr[:400])

# Lines fit 120 columns: text, not tables, code and headings.
for name, text in prose.items():
    plain = re.sub(r"^```.*?^```", lambda m: re.sub("[^\n]+", "", m[0]), text, flags=re.M | re.S).splitlines()
    wide = [n for n, line in enumerate(plain, 1) if len(line) > 120 and not line.startswith(("|", "    ", "#", "description: "))]
    expect(f"{name}: lines of at most 120 columns", not wide, wide)
p = subprocess.run([sys.executable, root / "scripts/check-words"], capture_output=True, text=True, check=False)
expect("words of the program, its manual pages and every page", p.returncode == 0, p.stdout[:800])
# The errors that a user reads are those of the whole table.
kinds = {"one request": "one", "many requests": "many"}
for engine, machine, requests, *shown in re.findall(r"^\| ([\w.-]+), (GB10|H100 and H200), (\w+ requests?) \| ([\d.]+) % \| ([\d.]+) % \|", prose["docs/PREDICT.md"], re.M):
    row = r"^\| family \| %s \| %s \| %s \| %s \|[^|]*\|[^|]*\| ([\d.]+)," % (re.escape(engine.lower()), machine.replace(" and", ","), "%s", kinds[requests])
    expect(f"docs/PREDICT.md: errors of {engine} on {machine}, {requests}",
           [re.findall(row % figure, prose["docs/design/PREDICTION.md"], re.M) for figure in ("TPOT", "TTFT")] == [[s] for s in shown], shown)
# Pages of users: few, and each named by the first page; design notes are below.
of_users = {p.name for p in (root / "docs").glob("*.md")} - {"ARCHITECTURE.md", "GLOSSARY.md", "HACKING.md", "SECURITY.md"}
expect("at most 15 pages for users", len(of_users) <= 15, of_users)
for page in sorted(of_users | {p.name for p in (root / "docs/design").glob("*.md")}):
    expect(f"{page} is named by README.md or docs/TOUR.md", f"{page})" in prose["README.md"] + prose["docs/TOUR.md"], "no link")

# The recipes' code is what the headers want.
for k, block in enumerate(re.findall(r"^```c\n(.*?)^```", prose["docs/HACKING.md"], re.M | re.S)):
    p = subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                        "-Werror", "-Isrc", "-x", "c", "-"], input=block, capture_output=True, text=True, cwd=root, check=False)
    expect(f"recipe {k + 1}", p.returncode == 0, p.stderr[:600])
for picture in (root / "docs/pictures").glob("*.svg"):
    out = subprocess.run([gputune, "show", "topology", "--host", f"demo:{picture.stem}", "--as", "svg"], capture_output=True,
                         text=True, check=False, cwd=root).stdout
    expect(f"{picture.name} is what is drawn", picture.read_text() == out, "draw it again")
print("commands: " + ", ".join(f"{n} {what}" for what, n in tally.items()))
end_suite()
