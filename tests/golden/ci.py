#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions of public CI: they parse, each step is one call of a script that is here and takes these words, both say the same, and
issue forms ask for a capture."""
import importlib.util
import pathlib
import re
import subprocess
import types

import yaml

from common import end_suite, expect, root, scratch

STEP = re.compile(r"scripts/[a-z-]+( [a-z-]+)*")
# Actions that are no step of ours.
ACTIONS = {"actions/checkout", "actions/upload-artifact"}
IMAGE = {"image": "buildpack-deps:bookworm-scm", "options": "--privileged"}
GIT = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def known(step):
    """The script is here, and its own text has the word."""
    script, *words = step.split()
    path = root / script
    if not path.exists():
        return False
    text = path.read_text() + (root / "tests/run.py").read_text() * (script == "scripts/test")
    return all(w in text or w == "build-root" for w in words)


def github():
    found = {}
    for path in sorted((root / ".github/workflows").glob("*.yml")):
        flow = yaml.safe_load(path.read_text())
        expect(f"{path.name}: reads the repository alone", flow["permissions"] == {"contents": "read"}, flow.get("permissions"))
        for name, job in flow["jobs"].items():
            steps = [s["run"] for s in job["steps"] if "run" in s]
            actions = {s["uses"].split("@")[0] for s in job["steps"] if "uses" in s}
            # Without git in the image the sources come without history; the checkout is another user's than the container's.
            expect(f"{path.name}: {name} has git, which reads the checkout, and may make namespaces", job["container"] == IMAGE and job["env"] == GIT, job)
            expect(f"{path.name}: {name} has a limit of time, and no actions but {ACTIONS}", job["timeout-minutes"] and actions <= ACTIONS, actions)
            found[name] = steps
    return found


def gitlab():
    jobs = yaml.safe_load((root / ".gitlab-ci.yml").read_text())
    expect("GitLab: the same image, and its git reads the checkout", jobs["default"]["image"] == IMAGE["image"] and GIT.items() <= jobs["variables"].items(), jobs)
    return {name: job["script"] for name, job in jobs.items() if isinstance(job, dict) and "script" in job}


ours, theirs = github(), gitlab()
expect("both have the same jobs and steps", ours == theirs, (ours, theirs))
for step in sorted({s for steps in ours.values() for s in steps}):
    expect(f"\"{step}\" is one call of a script", bool(STEP.fullmatch(step)) and known(step), step)
# What "scripts/test nightly" starts is there: nothing is installed for it here.
spec = importlib.util.spec_from_file_location("runner", root / "tests/run.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
runner.subprocess = types.SimpleNamespace(run=lambda *a, **_: subprocess.CompletedProcess(a, 0, "amd64\n"), STDOUT=None)
runner.LOGS = pathlib.Path(scratch())
targets = set(subprocess.run(["ninja", "-C", root / "build", "-t", "targets", "all"], capture_output=True, text=True).stdout.replace(":", " ").split())
for step in (*runner.STEPS, *runner.NIGHTLY):
    jobs = runner.jobs_of(step, False)
    words = {w for j in jobs for w in re.findall(r"(?:^|[ '])((?:scripts|tests|build)/[\w./-]+)", " ".join(j.command))}
    gone = [w for w in words if not (root / w).exists() and w.removeprefix("build/") not in targets]
    expect(f"nightly: {step}", jobs and (words or step in ("build", "unit", "gcc", "lint")) and not gone, (gone, words))
for script in sorted({s.split()[0] for steps in ours.values() for s in steps} | {"contrib/oss-fuzz/build.sh", "packaging/install.sh", "scripts/release"}):
    done = subprocess.run(["sh" if "oss" not in script else "bash", "-n", root / script], capture_output=True, text=True, check=False)
    expect(f"{script} parses", done.returncode == 0, done.stderr)
for form in sorted((root / ".github/ISSUE_TEMPLATE").glob("*.yml")):
    body = yaml.safe_load(form.read_text())
    expect(f"{form.name} asks for a capture", "body" not in body or "gputune capture" in form.read_text(), body)
    ids = [i.get("id") for i in body.get("body", [])]
    expect(f"{form.name}: its fields have names of their own", len(ids) == len(set(ids)), ids)
expect("SECURITY.md says how to report", "Report a vulnerability" in (root / "SECURITY.md").read_text())
project = yaml.safe_load((root / "contrib/oss-fuzz/project.yaml").read_text())
expect("OSS-Fuzz: language and sanitizers", project["language"] == "c" and project["sanitizers"], project)
end_suite()
