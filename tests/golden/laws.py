#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Laws that hold on every captured machine:
recording a machine and asking the recording gives the same facts and findings, from a folder and from a tar;
the same with its secrets replaced gives the same verdicts; facts written as JSON carry where each was read;
a check writes nothing; a machine without a GPU is given no reason of one that has one.
"""
import json
import os
import pathlib
import re
import tempfile

from common import captured, end_suite, expect, run

def facts(host):
    j = json.loads(run("show", "--format", "json", "--host", host)[1])
    return j["facts"]


def findings(host):
    return json.loads(run("check", "--format", "json", "--host", host)[1])["findings"]


NO_GPU = ("cpu-256", "dev-vm", "nothing")
PROFILES = ("default", "published", "max-performance", "low-latency", "balanced", "inference", "training")
OTHERS_WORDS = re.compile(r"\b(GPUs?|models?|training|inference|RDMA|NCCL|CUDA|RoCE)\b")


def judged(host, profile):
    """What applies, and what is left alone on purpose: not what the machine has no such hardware for."""
    found = json.loads(run("check", "--all", "--profile", profile, "--format", "json", "--host", host)[1])["findings"]
    return [f for f in found if f["verdict"] != "na" or f["reason_code"] in ("left-alone", "opt-in")]


def walk(node, path, bad):
    if isinstance(node, list):
        for i, item in enumerate(node):
            walk(item, f"{path}[{i}]", bad)
    elif isinstance(node, dict):
        if "value" in node and not node.get("from"):
            bad.append(path)
        elif not {"value", "seen"} & node.keys():
            for k, v in node.items():
                walk(v, f"{path}.{k}", bad)


def state(folder):
    return {p: (os.lstat(p).st_mtime_ns, os.lstat(p).st_size) for p in pathlib.Path(folder).rglob("*")}


for machine in captured:
    name = machine.name
    before = state(machine)
    here, said = facts(str(machine)), findings(str(machine))
    expect(f"{name}: asking writes nothing", state(machine) == before)
    bad = []
    walk(here, "", bad)
    expect(f"{name}: every fact says where it was read", not bad, bad[:5])
    if name in NO_GPU:
        other = [(p, f["id"], text) for p in PROFILES for f in judged(str(machine), p)
            for text in (f["why"], f["reason"]) if OTHERS_WORDS.search(text)]
        expect(f"{name}: no reason of a GPU machine", not other, other[:5])
    with tempfile.TemporaryDirectory() as tmp:
        for form in ("copy", "copy.tar"):
            code = run("capture", "--host", str(machine), "--no-redact", "-o", f"{tmp}/{form}").code
            expect(f"{name}: captured as {form}", code == 0, code)
            again = facts(f"{tmp}/{form}")
            expect(f"{name}: facts of {form} are the machine's", again == here,
                [k for k in here if here.get(k) != again.get(k)])
            expect(f"{name}: findings of {form} are the machine's", findings(f"{tmp}/{form}") == said)
        run("capture", "--host", str(machine), "-o", f"{tmp}/redacted")
        verdicts = [(f["id"], f["verdict"], f["reason_code"]) for f in findings(f"{tmp}/redacted")]
        want = [(f["id"], f["verdict"], f["reason_code"]) for f in said]
        expect(f"{name}: redaction changes no verdict", verdicts == want, [x for x in zip(verdicts, want) if x[0] != x[1]][:5])
end_suite()
