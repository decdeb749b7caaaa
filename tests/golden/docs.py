#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documentation tells people to type. Every command in a code block or between backticks has a verb and options that exist; those
that can be run on a captured machine are run, in the order of the page, on one that takes writes: none may be refused as wrong. Ids of
settings and diagnoses exist, and so does every file that a page points to. A page names its machine with <!-- machine: NAME -->."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from common import end_suite, expect, root

gputune = os.path.abspath(sys.argv[1])
pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
# What answers from a capture alone, in moments.
RUN = {"show", "check", "explain", "plan", "apply", "undo", "status", "history", "verify", "persist", "predict", "advise", "list", "completion"}
WRITES = {"apply", "undo", "persist"}
# A word that stands for something else (FILE, HOST:PORT, <name>), and a file that the reader has and we have not.
A_FILE = re.compile(r"\.(json|tar|ini|html|svg|log|csv|rec|md|sh|yaml)$")
STANDS_FOR = re.compile(r"(^|[=:/@\-,])[A-Z][A-Z_0-9]*($|[=:/.,])|[<>…]|\.\.\.|^\[|\]$")


def commands(text):
    """Lines of code blocks, fenced or indented, and words between backticks, in the order of the page."""
    fenced = False
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        block = line if fenced else line[4:] if line.startswith("    ") else None
        found = [block] if block is not None else re.findall(r"`([^`]+)`", line)
        for c in found:
            c = re.sub(r"^(\$|#) ", "", c.strip())
            if re.match(r"(sudo )?(build/src/cmd/)?gputune [a-z]", c):
                yield re.split(r"\s{2,}|\s+#\s", c)[0]


def words_of(command):
    for cut in ("|", ">", "&&", ";", "&"):
        command = re.split(rf"\s{re.escape(cut)}(?:\s|$)", command)[0]
    words = shlex.split(command)
    return words[words.index("gputune") + 1:] if "gputune" in words else words[words.index("build/src/cmd/gputune") + 1:]


helps = {}


def options(verb):
    if verb not in helps:
        p = subprocess.run([gputune, verb, "--help"], capture_output=True, text=True, check=False)
        helps[verb] = set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z])\b", p.stdout)) if p.returncode == 0 else None
    return helps[verb]


def check_words(where, words):
    known = options(words[0])
    if not expect_verb(where, words, known):
        return False
    own = words[1:words.index("--")] if "--" in words else words[1:]
    wrong = [w for w in own if re.match(r"--[a-z]", w) and w.split("=")[0] not in known]
    expect(f"{where}: {' '.join(words)}", not wrong, f"no option {wrong}")
    return not wrong


def expect_verb(where, words, known):
    expect(f"{where}: the verb of {' '.join(words)}", known is not None, words[0])
    return known is not None


def run(where, words, machine, tmp):
    argv = [gputune, *words]
    if "--host" not in words and words[0] not in ("completion", "list"):
        argv += ["--host", f"tests/machines/{machine}"]
    if "--overlay" not in words and words[0] not in ("completion", "list", "predict", "advise", "explain"):
        argv += ["--overlay", str(tmp / "overlay")]
    if words[0] in WRITES and not {"--yes", "-y"} & set(words):
        argv.append("--yes")
    if "-o" in argv:
        argv[argv.index("-o") + 1] = str(tmp / "out")
        (tmp / "out").unlink(missing_ok=True)
    p = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=root, stdin=subprocess.DEVNULL, timeout=120)
    expect(f"{where}: {' '.join(words)}", p.returncode in (0, 1, 3, 5), (p.returncode, p.stderr[-400:]))


ids = {line.split()[0] for line in subprocess.run([gputune, "list"], capture_output=True, text=True, check=True).stdout.splitlines() if "." in line}
groups = {i.split(".")[0] for i in ids}
signs = set(re.findall(r"^([a-z]+\.[a-z-]+) ", subprocess.run([gputune, "doctor", "list"], capture_output=True, text=True, check=True).stdout, re.M))
expect("settings and diagnoses are listed", len(ids) > 100 and len(signs) > 40, (len(ids), len(signs)))
count = 0
for page in pages:
    text = page.read_text()
    name = str(page.relative_to(root))
    machine = (re.findall(r"<!-- machine: ([\w-]+) -->", text) or ["dgx-spark"])[0]
    with tempfile.TemporaryDirectory(prefix="gputune-docs-") as d:
        tmp = pathlib.Path(d)
        (tmp / "overlay").mkdir()
        for c in commands(text):
            try:
                words = words_of(c)
            except ValueError as e:
                expect(f"{name}: {c}", False, e)
                continue
            count += 1
            # A verb alone is the name of it.
            alone = len(words) == 1 and words[0] in ("explain", "predict", "advise", "persist", "completion")
            if check_words(name, words) and not alone and words[0] in RUN and "--help" not in words and \
                    not any(STANDS_FOR.search(w) or (A_FILE.search(w) and k and words[k - 1] != "-o") for k, w in enumerate(words)):
                run(name, words, machine, tmp)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            expect(f"{name}: {target}", (page.parent / target).exists(), "no such file")
    # A word like an id of a group that exists is one.
    for word in set(re.findall(r"`([a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)*)`", text)):
        if word.split(".")[0] in groups - {"net", "service", "boot", "disk", "memory", "cpu"} and not re.search(r"\.(c|h|md|py|json|conf|service|sh|ini)$", word):
            expect(f"{name}: {word}", word in ids | signs, "no such setting or diagnosis")
# The recipes' code is what the headers want.
for k, block in enumerate(re.findall(r"^```c\n(.*?)^```", (root / "docs/HACKING.md").read_text(), re.M | re.S)):
    p = subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
                        "-Werror", "-Isrc", "-x", "c", "-"], input=block, capture_output=True, text=True, cwd=root, check=False)
    expect(f"recipe {k + 1}", p.returncode == 0, p.stderr[:600])
# What the first page shows is what comes out.
text = (root / "README.md").read_text()
for command, shown in re.findall(r"^    \$ gputune ([^\n]+)\n((?:    [^\n]*\n|\n(?=    ))+)", text, re.M):
    out = subprocess.run([gputune, *shlex.split(command), "--width", "100"], capture_output=True, text=True, check=False, cwd=root).stdout
    expect(f"README.md shows what \"{command}\" prints", re.sub(r"^    ", "", shown, flags=re.M).rstrip() == out.rstrip(), out[:600])
for picture in (root / "docs/pictures").glob("*.svg"):
    out = subprocess.run([gputune, "show", "topology", "--host", f"tests/machines/{picture.stem}", "--as", "svg"], capture_output=True,
                         text=True, check=False, cwd=root).stdout
    expect(f"{picture.name} is what is drawn", picture.read_text() == out, "draw it again")
expect("there are commands", count > 100, count)
end_suite()
