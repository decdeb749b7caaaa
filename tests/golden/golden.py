#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What show and check say of every captured machine, compared with the stored answers in tests/machines/NAME/expect.

golden.py GPUTUNE           compare; every difference is printed
golden.py GPUTUNE --update  store what the program says now: read the diff before committing it

Pages are stored as they are. JSON is stored for reading, one fact or finding a line: facts.tsv (show), findings.tsv (check
with each profile; the first column has the letters of those that say so: c check.json, p published.json, l low-latency.json).
Once for all machines: tests/machines/findings.tsv with the findings that several have, settings.tsv with what a setting
says on any of them.
Of a variant, which is a tar alone, differs.tsv has what check and doctor say otherwise than of its base: - the base's, + its own.
answers.tsv has each answer's exit code and, where the answer is not stored as it is, the SHA-256 of its bytes.
"""
import collections
import difflib
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune, update = sys.argv[1], "--update" in sys.argv
PROFILES = {
    "check.json": ["check", "--format", "json"],
    "published.json": ["check", "--profile", "published", "--format", "json"],
    "low-latency.json": ["check", "--profile", "low-latency", "--format", "json"],
}
CASES = {
    **PROFILES,
    "check.txt": ["check", "--all", "--verbose"],
    "check.md": ["check", "--format", "md"],
    "check.xml": ["check", "--format", "junit"],
    "check.prom": ["check", "--format", "prom"],
    "show.txt": ["show"],
    "show.json": ["show", "--format", "json"],
    "gpu.txt": ["show", "gpu"],
    "cpu.txt": ["show", "cpu"],
    "memory.txt": ["show", "memory"],
    "nic.txt": ["show", "nic"],
    "disk.txt": ["show", "disk"],
    "pci.txt": ["show", "pci"],
    "kernel.txt": ["show", "kernel"],
    "software.txt": ["show", "software"],
    "topology.txt": ["show", "topology"],
    "tree.txt": ["show", "topology", "--as", "tree"],
    "topology.svg": ["show", "topology", "--as", "svg"],
    "topology-tall.svg": ["show", "topology", "--as", "svg-tall"],
}
# What findings.tsv says of every machine is stored as these forms write it for some alone.
FORMS = {**dict.fromkeys(("check.txt", "check.md", "check.xml", "check.prom"), ("dgx-spark",)), "pci.txt": ("dgx-spark", "igx-orin"),
         "topology.svg": ("dgx-spark", "hgx-h100"), "topology-tall.svg": ("hgx-h100",)}
# Members of a finding: those of its setting, whatever the machine; and the machine's.
OF_SETTING = ("group", "title", "severity", "health", "risk", "effect", "source", "measured")
OF_FINDING = ("verdict", "id", "target", "reason_code", "current", "wanted", "reason", "why", "read_from")
ITEM = re.compile(r"(\w+)\[#\]")
passed = failed = 0


def say(machine, argv):
    # A relative path, so that the answer does not depend on where the tree lies.
    p = subprocess.run([gputune, *argv, "--ascii", "--host", f"build/machines/{machine}"], cwd=root,
                       capture_output=True, timeout=120, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    return p.returncode, p.stdout, p.stderr.decode()


def text(value):
    return value if isinstance(value, str) and value and "\t" not in value else json.dumps(value)


def ranges(numbers):
    """0-3,7 of sorted numbers."""
    out = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def is_fact(node):
    return isinstance(node, dict) and ("value" in node or "seen" in node)


def sources(node):
    """Where the facts of an item were read, those of lists in it aside."""
    if is_fact(node):
        yield node["from"]
    elif isinstance(node, dict):
        for v in node.values():
            yield from sources(v)


def numbered(place, path, at):
    """A place with {LIST} for the numbers in it that are those of the items of LIST that the fact belongs to."""
    for name, n in zip(re.findall(ITEM, path), at):
        place = re.sub(rf"(?<![\w:.{{])(policy)?{n}(?![\w:.}}])", lambda m, by=name: f"{m[1] or ''}{{{by}}}", place, count=1)
    return place


def leaves(node, path, at, base):
    """(path with # for each index, indices, value, where it was read) of every value."""
    if isinstance(node, list):
        for i, item in enumerate(node):
            folders = collections.Counter(s.rpartition("/")[0] for s in sources(item) if s.startswith("/"))
            here = max(folders, key=lambda f: (folders[f], f)) if folders else base
            if here != base:
                yield path + "[#]", (*at, i), "", numbered(here, path + "[#]", (*at, i))
            yield from leaves(item, path + "[#]", (*at, i), here)
        if not node:
            yield path, at, "[]", ""
    elif is_fact(node):
        extra = {k: v for k, v in node.items() if k not in ("value", "seen", "error", "from")}
        value = json.dumps(node["value"]) if "value" in node else f"{node['seen']} {node.get('error', '')}".rstrip()
        place = node["from"]
        if base and node.get("value") == base:
            value = '"."'
        if base and (place + "/").startswith(base + "/"):
            place = "." + place[len(base):]
        yield path, at, value + (f" {json.dumps(extra)}" if extra else ""), numbered(place, path, at)
    elif isinstance(node, dict):
        for k, v in node.items():
            yield from leaves(v, f"{path}.{k}" if path else k, at, base)
    elif at and type(node) is int and node == at[-1]:
        yield path, at, f"{{{re.findall(ITEM, path)[-1]}}}", ""
    else:
        yield path, at, '"."' if base and node == base else json.dumps(node), ""


def indexed(path, places):
    """Lines for one path and all the places that have the same value, with ranges of the last index that differs."""
    if not places[0]:
        return [path]
    groups = {}
    for *outer, last in places:
        groups.setdefault(tuple(outer), []).append(last)
    alike = {}
    for outer, lasts in groups.items():
        alike.setdefault(ranges(sorted(lasts)), []).append(outer)
    head, _, tail = path.rpartition("[#]")
    return [f"{line}[{lasts}]{tail}" for lasts, outers in alike.items() for line in indexed(head, outers)]


def facts_text(answer):
    """PATH, value, where it was read. Items that have the same are one line. In an item's lines . is the folder that the
    item's own line names, and {LIST} the item's number in LIST."""
    lines = {}
    for path, at, value, place in leaves(json.loads(answer), "", (), ""):
        lines.setdefault((path, value, place), []).append(at)
    return "".join(f"{where}\t{value}\t{place}\n" for (path, value, place), places in lines.items() for where in indexed(path, places))


def checks(answers):
    """The machine's findings with every profile: a mark a profile that finds it so, and the settings they are about."""
    heads, rows, settings = {}, {}, {}
    for name, answer in answers.items():
        j = json.loads(answer)
        for f in j.pop("findings"):
            f = {k: text(v) for k, v in f.items()}
            assert set(f) | {"measured"} == {*OF_SETTING, *OF_FINDING, "targets"}, f"other members: {f}"
            about, low = tuple(f.get(k, "-") for k in OF_SETTING), OF_SETTING.index("severity")
            was = settings.setdefault(f["id"], about)
            if was[low] == "low":  # of what costs little here: the row's own counts
                settings[f["id"]] = was = about
            assert was == about or about == (*was[:low], "low", *was[low + 1:]), f"two answers about {f['id']}"
            rows.setdefault(tuple(f[k] for k in OF_FINDING), {})[name] = 0
        for path, _, value, _ in leaves(j, "", (), ""):
            heads.setdefault((path, value), {})[name] = 0
    return {"\t".join(row) + "\n": "".join(name[0] if name in who else "-" for name in answers)
            for row, who in [*heads.items(), *rows.items()]}, settings


def compare(path, said, bad=""):
    """Holds a text against the stored one, or stores it."""
    global passed, failed
    if update and not bad:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said)
    want = path.read_text() if path.exists() else ""
    if not bad and said == want:
        passed += 1
        return
    failed += 1
    print(f"{path.relative_to(root / 'tests/machines')}: {bad or 'differs'}")
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(True)[:4000], said.splitlines(True)[:4000], "stored", "said", n=0))


def hold(machine, findings, settings):
    folder = root / "tests/machines" / machine / "expect"
    answers, lines = {}, []
    for name, argv in CASES.items():
        code, out, err = say(machine, argv)
        bad = f"exit {code} {err}" if err or code not in (0, 1, 5) else ""
        if not bad and name.endswith(".json") and json.loads(out)["exit_code"] != code:
            bad = f"exit {code}, and another one in the answer"
        answers[name] = out
        as_it_is = not name.endswith(".json") and machine in FORMS.get(name, (machine,))
        lines.append(f"{name}\t{code}" + ("" if as_it_is else "\t" + hashlib.sha256(out).hexdigest()) + "\n")
        if as_it_is or bad:
            compare(folder / name, out.decode(), bad)
    compare(folder / "facts.tsv", facts_text(answers["show.json"]))
    compare(folder / "answers.tsv", "".join(lines))
    found, about = checks({name: answers[name] for name in PROFILES})
    for row, who in found.items():
        findings.setdefault(row, {})[machine] = who
    for which, row in about.items():
        if settings.setdefault(which, row) != row:
            compare(folder / "findings.tsv", "", f"{which} is another setting on another machine: {settings[which]} {row}")


def judged(machine):
    """A line for each finding of the default profile, each change of boot arguments that the published one plans, and each cause
    that doctor does not exclude."""
    code, out, err = say(machine, ["check", "--format", "json"])
    assert code in (0, 1, 5) and not err, f"{machine}: exit {code} {err}"
    for f in json.loads(out)["findings"]:
        yield "\t".join(("check", *(text(f[k]) for k in ("verdict", "id", "target", "reason_code", "current", "wanted", "reason")))) + "\n"
    code, out, err = say(machine, ["plan", "--profile", "published", "--only", "boot", "--format", "json"])
    for c in json.loads(out)["changes"]:
        yield "\t".join(("plan", c["id"], text(c["before"]), text(c["after"]))) + "\n"
    code, out, err = say(machine, ["doctor", "gpu", "memory", "cpu", "disk", "system", "nic", "net", "rdma", "nccl", "--format", "json"])
    assert code in (0, 1, 5) and not err, f"{machine}: exit {code} {err}"
    for d in json.loads(out)["diagnoses"]:
        for c in d["causes"]:
            if c["likelihood"] in ("certain", "likely", "possible"):
                yield "\t".join(("doctor", d["id"], c["id"], c["likelihood"], text(c["evidence"]))) + "\n"


def hold_variant(path):
    """What is judged otherwise than on the machine that this one is a variant of."""
    with tarfile.open(path) as tar:
        base = json.load(tar.extractfile("meta.json"))["base"]
    diff = difflib.unified_diff(list(judged(base)), list(judged(path.name)), n=0)
    said = "".join(line for line in diff if not line.startswith(("---", "+++", "@@")))
    compare(root / "tests/machines" / path.stem / "differs.tsv", said)


about_all, found_all = {}, {}
held = sorted(p.parent.name for p in (root / "build/machines").glob("*/meta.json"))
for machine in held:
    hold(machine, found_all, about_all)
for machine in held:
    compare(root / "tests/machines" / machine / "expect/findings.tsv",
            "".join(f"{who[machine]}\t{row}" for row, who in found_all.items() if who.keys() == {machine}))
shared = sorted(row for row, who in found_all.items() if len(who) > 1)
compare(root / "tests/machines/findings.tsv",
        "".join(" ".join(f"{m}:{w}" for m, w in found_all[row].items()) + f"\t{row}" for row in shared))
for variant in sorted((root / "build/machines").glob("*.tar")):
    if not variant.with_suffix("").is_dir():
        hold_variant(variant)
compare(root / "tests/machines/settings.tsv", "".join("\t".join((which, *row)) + "\n" for which, row in sorted(about_all.items())))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
