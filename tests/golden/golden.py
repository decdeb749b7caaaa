#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What show and check say of every captured machine, compared with the stored answers in tests/machines/NAME/expect.

golden.py GPUTUNE           compare; every difference is printed
golden.py GPUTUNE --update  store what the program says now: read the diff before committing it
"""
import difflib
import json
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune, update = sys.argv[1], "--update" in sys.argv
CASES = {
    "check.txt": ["check", "--all", "--verbose"],
    "check.json": ["check", "--format", "json"],
    "published.json": ["check", "--profile", "published", "--format", "json"],
    "low-latency.json": ["check", "--profile", "low-latency", "--format", "json"],
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
passed = failed = 0


def say(machine, argv):
    # A relative path, so that the answer does not depend on where the tree lies.
    p = subprocess.run([gputune, *argv, "--ascii", "--host", f"build/machines/{machine}"], cwd=root,
                       capture_output=True, timeout=120, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    return p.returncode, p.stdout.decode(), p.stderr.decode()


for machine in sorted(p.parent.name for p in (root / "build/machines").glob("*/meta.json")):
    expect = root / "tests/machines" / machine / "expect"
    codes = {}
    for name, argv in CASES.items():
        code, out, err = say(machine, argv)
        codes[name] = code
        bad = err or code not in (0, 1, 5)
        if not bad and name.endswith(".json"):
            bad = json.loads(out)["exit_code"] != code
        if update and not bad:
            expect.mkdir(exist_ok=True)
            (expect / name).write_text(out)
        want = (expect / name).read_text() if (expect / name).exists() else ""
        if bad or out != want:
            failed += 1
            print(f"{machine}/{name}: exit {code} {err}")
            sys.stdout.writelines(difflib.unified_diff(want.splitlines(True)[:4000], out.splitlines(True)[:4000],
                                                       "stored", "said", n=0))
        else:
            passed += 1
    text = "".join(f"{n} {c}\n" for n, c in sorted(codes.items()))
    if update:
        (expect / "exit-codes").write_text(text)
    if (expect / "exit-codes").exists() and (expect / "exit-codes").read_text() == text:
        passed += 1
    else:
        failed += 1
        print(f"{machine}: exit codes differ from the stored ones:\n{text}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
