#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known defects: every shipped row by its own examples; hostile rows; firmware that other programs list; roots with environments, containers and libraries that are made here,
links that lead out of them among these; a container that runs; what is left out is said."""
import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import threading
import time

import jsonschema

import common
from common import end_suite, expect, follows, gputune, machines, no_namespaces, put, refuses, root, says, scratch, skip

ROWS = sorted((root / "src/knowledge/defects").glob("*.json"))
SPARK = machines / "dgx-spark"
ARM = 183


def library(comment=b"", rodata=b"", code=b"", machine=ARM):
    """A shared library with these sections."""
    sections = [(b".comment", comment), (b".rodata", rodata), (b".nv_fatbin", code)]
    names, heads, body = b"\0", [bytes(64)], b""
    for name, data in [*sections, (b".shstrtab", None)]:
        at = len(names)
        names += name + b"\0"
        data = names if data is None else data
        heads.append(struct.pack("<IIQQQQIIQQ", at, 1, 2, 0, 64 + len(body), len(data), 0, 0, 1, 0))
        body += data
    head = bytearray(64)
    head[0:7] = b"\x7fELF\2\1\1"
    struct.pack_into("<HHI", head, 16, 3, machine, 1)
    struct.pack_into("<Q", head, 40, 64 + len(body))
    struct.pack_into("<HHHHHH", head, 52, 64, 0, 0, 64, len(heads), len(heads) - 1)
    return bytes(head) + body + b"".join(heads)


def nccl(version=b"2.28.9", gcc=b"8.5.0", machine=ARM):
    return library(b"GCC: (GNU) " + gcc + b"\0", b"x\0NCCL version " + version + b"+cuda13.0\0", machine=machine)


def row(**how):
    out = {"id": "test-row", "component": "test", "title": "it fails", "effect": "fails", "when": {"pip": "torch", "version": "<2.0"},
           "symptoms": ["it fails"], "cause": "a mistake", "cause_confirmed": True, "worth": "unmeasured", "fix": {"says": "renew it"},
           "confirmed_by": "its makers", "date": "2026-01", "source": ["somewhere#1"],
           "examples": [{"match": "yes", "pip": {"torch": "1.9"}}, {"match": "no", "pip": {"torch": "2.0"}}]}
    out.update(how)
    return {k: v for k, v in out.items() if v is not None}


def lint(tmp, *rows):
    path = put(tmp / "rows.json", json.dumps(list(rows)))
    j = follows("lint", ["defects", "lint", path], (0, 1), "defects-lint")
    return "; ".join(p["what"] for p in j["problems"]) if j else "?"


def shipped(tmp):
    """Each shipped row gives what its examples say; none holds on a captured machine that is in order."""
    j = follows("shipped rows", ["defects", "lint", *ROWS], 0, "defects-lint")
    expect("rows are there", j and j["rows"] > 0 and not j["problems"], j and j["problems"])
    for m in common.captured:
        j = follows(f"captured {m.name}", ["defects", "check", "--host", m], 0, "defects")
        if j:
            expect(f"{m.name}: nothing is broken that is not", not [d["id"] for d in j["defects"] if d["state"] == "here"
                                                                    and d["effect"] not in ("security", "noise")], j["defects"])
            expect(f"{m.name}: what a capture lacks is said", any("capture" in t for t in j["left_out"]), j["left_out"])
    says("for people", ["defects", "check", "--host", SPARK], 0, "Known defects", "Not checked")
    says("list", ["defects", "list"], 0, "nccl-arm-cas-gcc9")
    says("explain", ["defects", "explain", "nccl-arm-cas-gcc9"], 0, "2.29.3", "NVIDIA/nccl")
    refuses("explain what is not known", ["defects", "explain", "nothing"], 2, "nothing")
    says("search", ["defects", "search", "hang", "nccl"], 0, "nccl-arm-cas-gcc9")
    says("search a line that was pasted", ["defects", "search", "CUDA error: an illegal instruction was encountered"], 0, "vllm-nvfp4-sm12x-illegal")
    refuses("a component that has none", ["defects", "check", "--host", SPARK, "--component", "abacus"], 2, "abacus")


# What is asked, an inventory, and the answer.
CASES = [
    ({"pip": "torch", "version": "<2.9.0"}, {"pip": {"torch": "2.9.0rc1"}}, "yes"),
    ({"pip": "torch", "version": "<2.9.0"}, {"pip": {"torch": "2.9.0+cu130"}}, "no"),
    ({"pip": "torch", "version": "2.9.0"}, {"pip": {"torch": "2.9.0+cu130"}}, "yes"),
    ({"pip": "torch", "version": "2.9.0+cu128"}, {"pip": {"torch": "2.9.0+cu130"}}, "no"),
    ({"pip": "torch", "version": ">2.9.0"}, {"pip": {"torch": "2.9.0.post1"}}, "yes"),
    ({"pip": "torch", "version": "<2.9.0"}, {"pip": {"torch": "2.9.0.dev20260101"}}, "yes"),
    ({"pip": "torch", "version": "<9"}, {"pip": {"torch": "0+unknown"}}, "yes"),
    ({"pip": "torch", "version": "<9"}, {"pip": {"torch": "a1b2c3d"}}, "no"),
    ({"pip": "torch", "version": "<9"}, {"pip": {"torch": ""}}, "no"),
    ({"pip": "torch", "version": "<3"}, {"pip": {"torch": "1!1.0"}}, "no"),
    ({"pip": "nvidia-nccl", "version": "<3"}, {"pip": {"nvidia-nccl-cu13": "2.28.9"}}, "yes"),
    ({"pip": "sgl-kernel", "local": ""}, {"pip": {"sgl-kernel": "0.3.21+cu130"}}, "no"),
    ({"pip": "sgl-kernel", "local": "cu13*"}, {"pip": {"sgl-kernel": "0.3.21+cu130"}}, "yes"),
    ({"pip": "x", "tag": "*aarch64*"}, {"pip": {"x": "1"}}, "unknown"),
    ({"pip": "x", "tag": "*aarch64*"}, {"pip": {"x": "1"}, "tags": {"x": "py3-none-manylinux_2_28_aarch64"}}, "yes"),
    ({"pip": "a", "differs_from": "b"}, {"pip": {"a": "1.0", "b": "1.0.0"}}, "no"),
    ({"pip": "a", "differs_from": "b"}, {"pip": {"a": "1.0", "b": "1.1"}}, "yes"),
    ({"package": "nct", "version": "<=1.17.0"}, {"packages": {"nct": "1.17.0-1"}}, "yes"),
    ({"package": "nct", "version": "<1.17.0"}, {"packages": {"nct": "1.17.0~rc1-1"}}, "yes"),
    ({"package": "nct", "version": "<1.17.0"}, {"packages": {"nct": "2:1.16.0-1"}}, "yes"),
    ({"package": "nct", "version": "<1.17.0-2"}, {"packages": {"nct": "2:1.16.0-1"}}, "no"),
    ({"package": "nct", "version": "<1.17.0"}, {"rpms": {"nct": "1.16.2-1.el9"}}, "yes"),
    ({"package": "fm*", "differs_from": "driver"}, {"packages": {"fm-570": "570.1-1"}, "driver": "570.2"}, "yes"),
    ({"package": "fm*", "differs_from": "driver"}, {"packages": {"fm-570": "570.2-1"}, "driver": "570.2"}, "no"),
    ({"driver": ">=580 <580.95.05 || >=570 <570.195.03"}, {"driver": "570.133.20"}, "yes"),
    ({"driver": ">=580 <580.95.05 || >=570 <570.195.03"}, {"driver": "575.1"}, "no"),
    ({"driver": "<600"}, {}, "unknown"),
    ({"driver": "<600", "modules": "proprietary"}, {"driver": "580.1", "modules": "open"}, "no"),
    ({"kernel": "<6.17.0-1015", "flavour": "nvidia*"}, {"kernel": "6.17.0-1014-nvidia-64k"}, "yes"),
    ({"kernel": "<6.17.0-1014", "flavour": "nvidia*"}, {"kernel": "6.17.0-1014-nvidia"}, "no"),
    ({"kernel": "<6.17.0-1015", "flavour": "nvidia"}, {"kernel": "6.17.0-1014-generic"}, "no"),
    ({"kernel": "6.17"}, {"kernel": "6.17.0-1014-nvidia"}, "yes"),
    ({"kernel": "<6"}, {"kernel": "weird"}, "no"),
    ({"kernel_config": "CONFIG_X", "is": "n"}, {"config": {"CONFIG_Y": "y"}}, "yes"),
    ({"kernel_config": "CONFIG_X", "is": "y"}, {}, "unknown"),
    ({"not": {"kernel_fix": "2150487"}}, {"fixes": ["2150487"]}, "no"),
    ({"not": {"kernel_fix": "2150487"}}, {"fixes": []}, "yes"),
    ({"boot": "kho", "is": "off"}, {"cmdline": "quiet kho=off"}, "yes"),
    ({"boot": "kho", "set": False}, {"cmdline": "quiet khoo"}, "yes"),
    ({"module": "nvidia_peermem", "loaded": False}, {"loaded": ["nvidia"]}, "yes"),
    ({"platform": ["igx-orin", "dgx-spark"]}, {"platform": "dgx-spark"}, "yes"),
    ({"gpu": "sm_90", "count": ">=2"}, {"gpus": ["sm_90"]}, "no"),
    ({"gpu": "sm_12*"}, {"gpus": ["sm_121"]}, "yes"),
    ({"firmware": "nic:*", "version": "<28.45.4028"}, {"firmware": {"nic:ConnectX-7": "28.45.1200"}}, "yes"),
    ({"firmware": "bios", "version": "<5.36_0ACUM027"}, {"firmware": {"bios": "5.36_0ACUM018"}}, "yes"),
    ({"release": "jetson", "version": "<36.4.4"}, {"releases": {"jetson": "36.4.3"}}, "yes"),
    ({"pci": "10de:2e*"}, {"pci": ["10de:2e12"]}, "yes"),
    ({"fact": "memory.cma_free_kb", "more_than": "memory.cma_total_kb"}, {"facts": {"memory.cma_free_kb": 2, "memory.cma_total_kb": 1}}, "yes"),
    ({"fact": "a.b", "at_least": 5}, {"facts": {"a.b": 4}}, "no"),
    ({"fact": "a.b", "is": "x*"}, {"facts": {"a.b": ["y", "xy"]}}, "yes"),
    ({"setting": "pcie.link", "verdict": "fail"}, {"settings": {"pcie.link": "fail"}}, "yes"),
    ({"log": "NVRM: Xid*: 119"}, {"log": ["[ 1.0] NVRM: Xid (PCI:000f:01:00): 119, pid"]}, "yes"),
    ({"env": "A", "is": "0"}, {"env": {"A": "1"}}, "no"),
    ({"env": "A", "set": False}, {}, "yes"),
    ({"process": "llama-server", "no_arg": "--no-mmap"}, {"processes": ["/usr/bin/llama-server -m x"]}, "yes"),
    ({"process": "llama-server", "no_arg": "--no-mmap"}, {"processes": ["llama-server --no-mmap"]}, "no"),
    ({"process": "serve", "arg": "--kv fp8*"}, {"processes": ["serve --kv fp8_e4m3 x"]}, "yes"),
    ({"image": "vllm/*:v0.12*"}, {"image": "vllm/vllm-openai:v0.12.0"}, "yes"),
    ({"file": "/etc/x", "contains": "a=#"}, {"files": {"/etc/x": "b\na=17\n"}}, "yes"),
    ({"file": ["/etc/y", "/etc/*.d/x"], "contains": "b"}, {"files": {"/etc/a.d/x": "b"}}, "yes"),
    ({"toolkit": ">=12.8 <12.9.1"}, {"toolkits": ["12.9.0"]}, "yes"),
    ({"program": "ptxas", "version": "<12.9"}, {"programs": {"ptxas": "12.8.93"}}, "yes"),
    ({"library": "libx.so*", "no_code": ["sm_121a"]}, {"libraries": [{"path": "/l/libx.so.1", "code": ["sm_120"]}]}, "yes"),
    ({"library": "libx.so*", "no_code": ["sm_121*"]}, {"libraries": [{"path": "/l/libx.so.1", "code": ["sm_121a"]}]}, "no"),
    ({"library": "libx.so*", "no_code": ["sm_121*"]}, {"libraries": [{"path": "/l/libx.so.1"}]}, "unknown"),
    ({"library": "libx.so*", "compiler": "gcc <10", "machine": "aarch64"},
     {"libraries": [{"path": "/libx.so.1", "machine": "aarch64", "comment": "GCC: (Ubuntu 9.4.0-1) 9.4.0"}]}, "yes"),
    ({"library": "libx.so*", "text": "only sm120"}, {"libraries": [{"path": "/libx.so", "texts": ["This supports only sm120."]}]}, "yes"),
    ({"all": [{"pip": "a"}, {"any": [{"driver": "<1"}, {"cpu": "aarch64"}]}]}, {"pip": {"a": "1"}, "cpu": "aarch64"}, "yes"),
    ({"all": [{"pip": "a"}, {"driver": "<1"}]}, {}, "no"),
]


def conditions(tmp):
    for when, holds, answer in CASES:
        rows = [row(when=when, examples=[{**holds, "match": answer}])]
        said = lint(tmp, *rows)
        # Another answer than that is said first; then that the other example is missing.
        expect(f"{when} in {holds}", "has no example" in said, said)
    said = lint(tmp, row(mitigated_by={"env": "A", "is": "0"}, examples=[
        {"match": "mitigated", "pip": {"torch": "1"}, "env": {"A": "0"}}, {"match": "yes", "pip": {"torch": "1"}}, {"match": "no"}]))
    expect("mitigated", not said, said)
    said = lint(tmp, row(only="44 ranks", examples=[{"match": "exposed", "pip": {"torch": "1"}}, {"match": "no"}]))
    expect("exposed", not said, said)


deep = {"pip": "a"}
for _ in range(40):
    deep = {"not": deep}
HOSTILE = [
    ("no id", {"id": None}, "id"), ("a bad id", {"id": "A b"}, "id"), ("no symptom", {"symptoms": []}, "symptoms"),
    ("a control character", {"title": "a\x1b[2J"}, "title"), ("an unknown key", {"colour": "red"}, "colour"),
    ("an unknown condition", {"when": {"moon": "full"}}, "no supported key"), ("no version", {"when": {"pip": "a", "version": "<abc"}}, "version"),
    ("an empty range", {"when": {"pip": "a", "version": ""}}, "version"), ("a stray key", {"when": {"pip": "a", "is": "b"}}, "is"),
    ("too deep", {"when": deep}, "deep"), ("an empty list", {"when": {"all": []}}, "all"), ("a list for a word", {"when": {"boot": ["a"]}}, "boot"), ("a number", {"when": 3}, "when"),
    ("an effect that is none", {"effect": "sad"}, "effect"), ("two effects", {"effect": "crash wrong"}, "effect"), ("a date that is none", {"date": "soon"}, "date"),
    ("a signature of nothing", {"signatures": ["a*"]}, "signature"), ("a setting that is none", {"fix": {"says": "x", "setting": "a.b"}}, "a.b"),
    ("an example that lies", {"examples": [{"match": "no", "pip": {"torch": "1.9"}}]}, "yes"),
    ("no negative example", {"examples": [{"match": "yes", "pip": {"torch": "1.9"}}]}, "must not"),
    ("an object for a text", {"symptoms": [{}]}, "symptoms"), ("a text for an example", {"examples": ["a", "b"]}, "examples"),
]


def hostile_rows(tmp):
    for what, how, word in HOSTILE:
        said = lint(tmp, row(**how))
        expect(f"a row with {what}", word in said, said)
    for what, text in [("no list", '{"a": 1}'), ("broken", "[{"), ("twice a key", '[{"id": "a", "id": "b"}]'), ("nothing", ""),
                       ("nested", "[" * 5000), ("no UTF-8", b"[\"\xff\"]")]:
        path = put(tmp / "bad.json", text)
        says(f"a file: {what}", ["defects", "lint", path], 1, "bad.json")
    slow = row(signatures=["a*" * 60 + "aaaaaaaab"], examples=[{"match": "yes", "pip": {"torch": "1.9"}}, {"match": "no", "log": ["a" * 4000] * 20}])
    before = time.monotonic()
    lint(tmp, slow)
    expect("stars take no time", time.monotonic() - before < 2)


def check(what, tree, *more, code=(0, 1)):
    return follows(what, ["defects", "check", "--host", SPARK, "--rootfs", tree, *more], code, "defects")


def of(j, name, state="here"):
    return [d for d in j["defects"] if d["id"] == name and d["state"] == state] if j else []


def roots(tmp):
    """Libraries and packages in a root and in containers of processes, and links that lead out of them."""
    tree = tmp / "tree"
    put(tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2.28.9", nccl())
    os.symlink("libnccl.so.2.28.9", tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2")
    j = check("an old compiler", tree)
    hit = of(j, "nccl-arm-cas-gcc9")
    expect("found with its place", hit and hit[0]["proofs"][0]["from"].endswith("libnccl.so.2.28.9") or hit and "libnccl" in hit[0]["proofs"][0]["from"], hit)
    expect("and its compiler", hit and any("gcc 8.5.0" in p["what"] for p in hit[0]["proofs"]), hit)
    for what, lib in [("a newer compiler", nccl(gcc=b"13.3.0")), ("a newer version", nccl(version=b"2.29.3")), ("x86", nccl(machine=62)),
                      ("no ELF", b"text"), ("cut off", nccl()[:100]), ("no sections", nccl()[:64])]:
        put(tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2.28.9", lib)
        expect(what, not of(check(what, tree), "nccl-arm-cas-gcc9"))
    (tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2").unlink()
    (tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2.28.9").unlink()
    # Links that lead out: to the library of the test itself.
    outside = put(tmp / "outside/libnccl.so.2", nccl())
    os.symlink(outside, tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2")
    os.symlink("../" * 12 + str(outside)[1:], tree / "usr/lib/aarch64-linux-gnu/libnccl.so.3")
    os.symlink("/proc/self/root" + str(outside), tree / "usr/lib/aarch64-linux-gnu/libnccl.so.4")
    put(tmp / "outside/site-packages/nvidia_nccl_cu13-2.28.9.dist-info/METADATA", "")
    (tree / "opt/venv/lib/python3.12").mkdir(parents=True)
    os.symlink(tmp / "outside/site-packages", tree / "opt/venv/lib/python3.12/site-packages")
    j = check("links that lead out", tree)
    expect("nothing outside is found", not of(j, "nccl-arm-cas-gcc9") and j["environments"] == 0, j)


def go_program(*texts, go=b"go1.24.1", between=64):
    """Read-only data as Go's linker leaves it: Go's own version, and what -X set, at multiples of 8."""
    body = b"".join(t + bytes(8 - len(t) % 8) for t in texts)
    return library(rodata=b"\x99" * 4096 + body + b"\x3f" * between + go + b"\0" + b"go1.2 is text" + b"x" * 4096)


def natives(tmp):
    """What no package manager put there answers to the same rows: by Go's version texts, embedded texts, file names and pkg-config files."""
    tree = tmp / "natives"
    ollama = tree / "usr/local/bin/ollama"
    ask = ["--all", "--component"]

    def found(component, rows, what):
        j = check(what, tree, *ask, component)
        ids = {d["id"]: d for d in j["defects"] if d["state"] in ("here", "exposed")} if j else {}
        expect(what, all((i in ids) == there for i, there in rows.items()), sorted(ids))
        return ids

    put(ollama, go_program(b"0.13.4", b"release"))
    ids = found("ollama", {"ollama-memory-underflow": True, "ollama-cuda-overlap": False}, "Ollama by its own version")
    expect("its file is the proof", ids["ollama-memory-underflow"]["proofs"][0] == {"what": "ollama 0.13.4", "from": "/usr/local/bin/ollama"}, ids)
    put(ollama, go_program(b"v0.13.4-rc1"))
    found("ollama", {"ollama-memory-underflow": True}, "with a suffix")
    for what, data in [("a fixed one", go_program(b"0.14.0")), ("two versions", go_program(b"0.13.4", b"0.12.11")), ("none", go_program(b"release")), ("no Go", library(rodata=b"\0\0\0\0" + b"0.13.4\0")),
                       ("far from Go's own", go_program(b"0.13.4", between=20000)), ("a text that does not end", go_program(b"0.13.4" + b"x" * 90)), ("cut off", go_program(b"0.13.4")[:4000]), ("no ELF", b"0.13.4\0go1.24.1\0")]:
        put(ollama, data)
        found("ollama", {"ollama-memory-underflow": False}, f"Ollama: {what}")
    put(ollama, library(rodata=b"go1.11.1" * (1 << 19)))
    before = processor()
    found("ollama", {"ollama-memory-underflow": False}, "Ollama: Go's version again and again")
    expect("takes no time", processor() - before < 2 or common.sanitized(gputune), processor() - before)
    ollama.unlink()
    put(tree / "srv/x/ollama", go_program(b"0.12.11"))
    put(tree / "proc/77/maps", "7f0000000000-7f0000001000 r-xp 00000000 00:31 42      /srv/x/ollama\n")
    os.symlink("/", tree / "proc/77/root")
    found("ollama", {"ollama-cuda-overlap": True}, "Ollama of a process, wherever it is")
    put(tree / "opt/llama.cpp/build/bin/libllama.so.0.0.7418", library())
    found("llamacpp", {"llama-b7410-mmap-assert": True}, "a build of llama.cpp")
    put(tree / "usr/local/nvidia/toolkit/nvidia-ctk", go_program(b"1.16.0"))
    put(tree / "usr/local/sbin/runc", go_program(b"1.1.4"))
    found("container-toolkit", {"ctk-5582": True}, "the toolkit of the GPU operator")
    found("containers", {"runc-cve-2024-21626": True}, "runc of a release")
    put(tree / "opt/aws-ofi-nccl/lib/libnccl-net-ofi.so", library(rodata=b"\0Initializing aws-ofi-nccl 1.15.0\0"))
    found("ofi-nccl", {"ofi-cm-leak": True, "ofi-eager-seq-wrap": True}, "the OFI plugin by its text")
    put(tree / "opt/hpcx-v2.20/ucx/lib/pkgconfig/ucx.pc", "Name: ucx\nVersion: 1.19.0\nLibs: -lucp\n")
    put(tree / "opt/hpcx-v2.20/ompi/lib/pkgconfig/ompi.pc", "Name: Open MPI\nVersion: 5.0.5\n")
    found("ucx", {"ucx-cuda-ptr-stack": True, "ucx-1.21-cuda-ipc": False}, "UCX of HPC-X")
    found("openmpi", {"ompi-vmm-pointers": True}, "Open MPI of HPC-X")
    put(tree / "usr/local/tensorrt/lib/libnvinfer.so.10.3.0", library())
    os.symlink("libnvinfer.so.10.3.0", tree / "usr/local/tensorrt/lib/libnvinfer.so")
    j = check("TensorRT of a tar", tree, *ask, "tensorrt")
    expect("TensorRT of a tar: its version", "tensorrt 10.3.0" in json.dumps(j and j["defects"]), j and j["defects"])
    put(tree / "var/lib/dpkg/status", "".join(f"Package: {n}\nStatus: install ok installed\nVersion: {v}\n\n" for n, v in (("nvidia-container-toolkit", "1.19.1-1"), ("runc", "1.3.3-1"), ("ucx", "1.21.1"))))
    found("container-toolkit", {"ctk-5582": False}, "a package decides before a file")


def places(tmp):
    """The table of places: software without a package, environments of each tool, source folders, runtimes, stored files; what is broken there gives no version."""
    tree = tmp / "places"
    ask = ["--all", "--component"]

    def proofs(component):
        j = check(component, tree, *ask, component)
        return {d["id"]: {p["what"]: p["from"] for p in d["proofs"]} for d in j["defects"] if d["state"] in ("here", "exposed")} if j else {}

    put(tree / "opt/slurm/sbin/slurmd", library(rodata=b"\0slurm\0127.0.0.1\x0025.05.3\0x25.11.1\0"))
    expect("Slurm of a source", {"slurm 25.05.3": "/opt/slurm/sbin/slurmd"} in proofs("slurm").values(), proofs("slurm"))
    for what, text in [("two versions", b"\x0025.05.3\x0024.11.0\0"), ("no version", b"\x00slurm\0"), ("an address", b"\x0010.10.0.1\0"), ("a part of a text", b"\0in 25.05.3\0"), ("no end", b"\x0025.05.3")]:
        put(tree / "opt/slurm/sbin/slurmd", library(rodata=text))
        expect(f"Slurm: {what}", not any("slurm " in w for d in proofs("slurm").values() for w in d), proofs("slurm"))
    put(tree / "usr/sbin/slurmctld", library(rodata=b"\x0025.05.3\0"))
    expect("Slurm in /usr", "slurm 25.05.3" in str(proofs("slurm")), proofs("slurm"))
    put(tree / "var/lib/dpkg/status", "Package: slurm-wlm-basic-plugins\nStatus: install ok installed\nVersion: 99.1\n\n")
    expect("its package decides", "slurm 25.05.3" not in str(proofs("slurm")), proofs("slurm"))
    for file, component, says_ in [("usr/lib64/libdcgm.so.4.4.0", "dcgm", "datacenter-gpu-manager-4-core 4.4.0"), ("usr/local/cuda/lib64/libcudnn.so.9.13.0", "cudnn", "libcudnn9-cuda-12 9.13.0"),
                                   ("opt/nvshmem-3.4/lib/libnvshmem_host.so.3.4.5", "nvshmem", "libnvshmem3-cuda-12 3.4.5")]:
        put(tree / file, library())
        os.symlink(file.rsplit("/", 1)[1], (tree / file).with_name(re.sub(r"(\.so\.\d+).*", r"\1", file.rsplit("/", 1)[1])))
        expect(f"{component} of a tar", says_ in str(proofs(component)), proofs(component))
    for what, text, there in [("by its text", b"Fabric Manager version is : 580.95.05\n\0", True), ("by its version", b"\x00580.95.05\0", True), ("of the driver", b"\x00570.133.20\0", False), ("without a version", b"\0x\0", False)]:
        put(tree / "usr/bin/nv-fabricmanager", library(rodata=text))
        j = follows(what, ["defects", "check", "--host", machines / "hgx-h100", "--rootfs", tree, "--all", "--component", "fabric-manager"], (0, 1), "defects")
        expect(f"a fabric manager {what}", bool(of(j, "fm-version-mismatch")) == there, j and j["defects"])
    put(tree / "home/u/llama.cpp/build/common/build-info.cpp", "int LLAMA_BUILD_NUMBER = 7415;\nchar const *LLAMA_COMMIT = \"1\";\n")
    expect("a static llama.cpp", "llama-server 7415" in str(proofs("llamacpp").get("llama-b7410-mmap-assert")), proofs("llamacpp"))
    put(tree / "home/u/llama.cpp/build/common/build-info.cpp", "int LLAMA_BUILD_NUMBER = 1;\n")
    expect("of a clone without history", "llama-b7410-mmap-assert" not in proofs("llamacpp"), proofs("llamacpp"))
    for lib in ("opt/nvidia/hpc_sdk/Linux_aarch64/25.9/comm_libs/13.0/nccl/lib", "root/nccl/build/lib", "nix/store/abc-nccl-2.28.9/lib", "home/u/miniforge3/envs/x/lib"):
        put(tree / lib / "libnccl.so.2", nccl())
        (tree / "home/u/miniforge3/envs/x/lib/python3.12/site-packages/x-1.dist-info").mkdir(parents=True, exist_ok=True)
        hit = [d["place"] for d in of(check(lib, tree), "nccl-arm-cas-gcc9")]
        expect(f"NCCL in {lib}", hit == ["/home/u/miniforge3/envs/x" if "envs" in lib else "root file system"], hit)
        (tree / lib / "libnccl.so.2").unlink()
    put(tree / "home/u/miniforge3/envs/x/conda-meta/ucx-1.19.0-h1_0.json", json.dumps({"name": "ucx", "version": "1.19.0"}, indent=1))
    expect("UCX of conda", "ucx 1.19.0" in str(proofs("ucx")), proofs("ucx"))
    for i, env in enumerate(["home/u/p/.venv", "home/u/a/b/.venv", "home/u/p/venv", "home/u/miniconda3/envs/e", "opt/miniforge3/envs/e", "root/.local/share/uv/tools/vllm", "home/u/.local/share/pipx/venvs/x",
                             "home/u/.cache/pypoetry/virtualenvs/p", "home/u/.pyenv/versions/3.12", "nix/store/h-python3-3.12-env", "srv/x/.venv", "home/u/p/.pixi/envs/default", "raid/v"]):
        put(tree / env / "lib/python3.12/site-packages/nvidia_cutlass_dsl-4.5.0.dist-info/METADATA", "x")
        expect(f"an environment in /{env}", "/" + env in [d["place"] for d in of(check(env, tree), "cutlass-dsl-450-garbage")], i)
    site = tree / "opt/venv/lib/python3.12/site-packages"
    put(site / "__editable__.vllm-0.11.pth", "/work/vllm\n")
    old = put(tree / "work/vllm/sgl_kernel/libnccl.so.2", nccl())
    for what, text, there in [("a source folder that is installed", json.dumps({"url": "file:///work/vllm", "dir_info": {"editable": True}}), True), ("another folder", '{"url": "file:///work/x", "dir_info": {"editable": true}}', False),
                              ("not editable", '{"url": "file:///work/vllm", "dir_info": {}}', False), ("no file", '{"url": "https://work/vllm", "dir_info": {"editable": true}}', False),
                              ("no JSON", "{", False), ("a list", "[1]", False), ("a number", '{"url": 3, "dir_info": {"editable": "x"}}', False)]:
        put(site / "vllm-0.11.dist-info/direct_url.json", text)
        hit = of(check(what, tree), "nccl-arm-cas-gcc9")
        expect(what, [d["place"] for d in hit] == (["/opt/venv"] if there else []), hit)
    old.unlink()
    for name in ("home/u/vllm.sif", "raid/containers/nvidia+pytorch+25.09-py3.sqsh"):
        put(tree / name, "x")
    j = check("packed images", tree)
    expect("are counted", any(t.startswith("2 packed images, such as /") for t in j["left_out"]), j["left_out"])
    for c, (group, file, text) in enumerate([
            ("0::/kubepods.slice/crio-%s.scope", "run/containers/storage/overlay-containers/%s/userdata/config.json", {"annotations": {"io.kubernetes.container.name": "job", "io.kubernetes.cri-o.ImageName": "x:1"}}),
            ("0::/kubepods/%s", "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json", {"annotations": {"io.kubernetes.cri.container-name": "job", "io.kubernetes.cri.image-name": "x:1"}}),
            ("0::/docker/%s", "var/snap/docker/common/var-lib-docker/containers/%s/config.v2.json", {"Name": "/job", "Config": {"Image": "x:1"}}),
            ("0::/user.slice/libpod-%s.scope", "home/u/.local/share/containers/storage/overlay-containers/%s/userdata/config.json", {"annotations": {"io.podman.annotations.container-name": "job", "org.opencontainers.image.ref.name": "x:1"}}),
            ("0::/docker/%s", "home/u/.local/share/docker/containers/%s/config.v2.json", [])]):
        base = f"c/{c}"
        put(tree / base / "usr/lib/aarch64-linux-gnu/libnccl.so.2", nccl())
        put(tree / f"proc/{100 + c}/cgroup", group % f"{c:064x}" + "\n")
        put(tree / (file % f"{c:064x}"), json.dumps(text))
        os.symlink("/" + base, tree / f"proc/{100 + c}/root")
    hit = [d["place"] for d in of(check("runtimes", tree), "nccl-arm-cas-gcc9")]
    expect("containers by name", sorted(hit) == ["containerd job", "cri-o job", "docker 000000000000", "docker job", "podman job"], hit)


def many_in_range(tmp):
    """Of a component with many entries in range, the page shows a few and the command that lists all; JSON has all."""
    tree = tmp / "flashinfer"
    put(tree / "opt/venv/lib/python3.12/site-packages/flashinfer_python-0.6.4.dist-info/METADATA", "x")
    ask = ["defects", "check", "--host", SPARK, "--rootfs", tree]
    j = check("many in range", tree)
    ids = [d["id"] for d in j["defects"] if d["component"] == "flashinfer" and d["state"] == "exposed"]
    command = "gputune defects check --all --component flashinfer"
    expect("many entries of one component", len(ids) > 20, ids)
    for what, more, shown, counted in [("a page", [], 0, True), ("--all", ["--all"], 5, True), ("a component", ["--all", "--component", "flashinfer"], len(ids), False)]:
        out = common.run(*ask, *more)[1]
        expect(f"{what}: entries", sum(f"\n{i} " in out for i in ids) == shown, out)
        expect(f"{what}: counted", (command in out and f" {len(ids)}  gputune" in out) == counted, out)


def planted(tmp):
    """The same in a captured machine: a package, an environment and a library of it, a process."""
    capture = shutil.copytree(SPARK, tmp / "capture", symlinks=True)
    put(capture / "root/opt/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2", nccl())
    put(capture / "root/opt/venv/lib/python3.12/site-packages/nvidia_cutlass_dsl-4.5.0.dist-info/METADATA", "x")
    put(capture / "root/var/lib/dpkg/status", "Package: nvidia-container-toolkit\nStatus: install ok installed\nVersion: 1.16.0-1\n")
    j = follows("planted in a capture", ["defects", "check", "--host", capture], 1, "defects")
    expect("are found", of(j, "cutlass-dsl-450-garbage") and of(j, "nccl-arm-cas-gcc9") and of(j, "ctk-5582"), j and [d["id"] for d in j["defects"]])
    expect("where they lie", of(j, "cutlass-dsl-450-garbage")[0]["place"] == "/opt/venv", j["defects"])


def firmware(tmp):
    """What fwupdmgr and mlxfwmanager list counts where the machine itself does not say it; hostile lists do no harm. An IGX has a release."""
    bare = shutil.copytree(machines / "nothing", tmp / "bare", symlinks=True)
    listed = put(tmp / "mlx.txt", "Querying ...\n\nDevice #1:\n----------\n\n  Device Type:      ConnectX7\n  PSID:             MT_0\n  Versions:         Current"
                 "        Available\n     FW             28.35.1012     28.43.1014\n     PXE            3.7.0500       N/A\n")
    fwupd = put(tmp / "get-devices.json", json.dumps({"Devices": [
        {"Name": "BlueField virtio-net controller", "Version": "25.1.0", "Plugin": "redfish"}, {"Name": "SSD", "Version": "A", "Plugin": "nvme"}]}))
    history = put(tmp / "get-history.json", json.dumps({"Devices": [
        {"Name": "BlueField virtio-net controller", "Version": "25.1.0", "UpdateState": 2, "Releases": [{"Version": "25.10.9"}]}]}))
    ask = ["defects", "check", "--host", bare, "--component", "nic-firmware", "--all"]
    j = follows("without lists", ask, (0, 1), "defects")
    expect("its NIC is not seen", not of(j, "cx7-28.35-hdr-ndr", "exposed") and not of(j, "cx7-28.35-hdr-ndr"), j and j["defects"])
    j = follows("a list of mlxfwmanager", [*ask, "--firmware", listed], (0, 1), "defects")
    hit = [d for d in j["defects"] if d["id"] == "cx7-28.35-hdr-ndr" and d["state"] in ("here", "exposed")] if j else []
    expect("its firmware counts, and the file is the proof", hit and hit[0]["proofs"][0]["from"].endswith("mlx.txt"), j and j["defects"])
    xml = ('<Devices>\n <Device pciName="0000:03:00.0" type="ConnectX7" psid="MT_0" partNumber="x">\n  <Versions>\n   <FW current="28.35.1012" available="28.43.1014"/>\n'
           '   <PXE current="3.7.0500" available="N/A"/>\n  </Versions>\n </Device>\n</Devices>\n')
    for what, text in [("XML", xml), ("XML on one line", xml.replace("\n", ""))]:
        j = follows(f"mlxfwmanager's {what}", [*ask, "--firmware", put(tmp / "mlx.xml", text)], (0, 1), "defects")
        expect(f"{what} counts", [d for d in j["defects"] if d["id"] == "cx7-28.35-hdr-ndr" and d["state"] in ("here", "exposed")], j and j["defects"])
    j = follows("a list of fwupdmgr", [*ask, "--firmware", fwupd], (0, 1), "defects")
    expect("its versions count", of(j, "bluefield-bmc-5815"), j and j["defects"])
    j = follows("a history of fwupdmgr", [*ask, "--firmware", history], (0, 1), "defects")
    expect("an update that was installed counts", not of(j, "bluefield-bmc-5815"), j and j["defects"])
    ask[3] = SPARK
    j = follows("the machine's own version", [*ask, "--firmware", listed], (0, 1), "defects")
    expect("is newer than a list", not [d for d in j["defects"] if d["id"] == "cx7-28.35-hdr-ndr" and d["state"] in ("here", "exposed")], j and j["defects"])
    for what, text in [("no list", "hello\n"), ("nothing", ""), ("a list of nothing", "[]"), ("binary", "\0\1\2"), ("nested", "[" * 90000),
                       ("other JSON", '{"Device": []}')]:
        refuses(f"firmware from {what}", [*ask, "--firmware", put(tmp / "bad", text)], 2, "fwupdmgr")
    for what, devices in [("texts", ["a", 3, None]), ("an object", {"a": 1}), ("odd members", [{"Name": 3, "Version": []}, {"Name": "a\nb", "Version": "1" * 9000},
                          {"Name": "x", "UpdateState": {}, "Releases": {}, "Guid": "x", "Plugin": "uefi_capsule", "Version": "1"}]), ("many", [{"Name": f"d{i}", "Version": "1"} for i in range(30000)])]:
        follows(f"devices: {what}", [*ask, "--firmware", put(tmp / "bad", json.dumps({"Devices": devices}))], (0, 1), "defects")
    refuses("firmware from no file", [*ask, "--firmware", tmp / "none"], 2, "none")
    igx = shutil.copytree(machines / "igx-orin", tmp / "igx", symlinks=True)
    ask = ["defects", "check", "--host", igx, "--component", "jetson", "--all"]
    j = follows("an IGX without its release", ask, (0, 1), "defects")
    expect("its release is not known", [d for d in j["defects"] if d["id"] == "jetson-5662" and d["state"] == "possible"], j and j["defects"])
    put(igx / "root/etc/igx-release", 'IGX_NAME="IGX"\nIGX_SWBUILD_VERSION="1.1.1"\nIGX_X="y"\n')
    expect("IGX 1.1.1 has open bulletins", of(follows("IGX 1.1.1", ask, (0, 1), "defects"), "jetson-5662"))
    put(igx / "root/etc/igx-release", 'IGX_NAME="IGX"\nIGX_SWBUILD_VERSION="1.1.2"\n')
    expect("IGX 1.1.2 has it not", not of(follows("IGX 1.1.2", ask, (0, 1), "defects"), "jetson-5662"))


def processor():
    """Seconds of a processor that programs of this test took: how busy the machine is does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def many(tmp):
    """40 containers and 3 environments: in a second and 40 MB; one of them has the old library, and its name stands with it."""
    tree = tmp / "many"
    status = "".join(f"Package: p{i}\nStatus: install ok installed\nVersion: 1.{i}-1\n\n" for i in range(500))
    put(tree / "var/lib/dpkg/status", status)
    for e in ("opt/a", "opt/b", "home/u/venv"):
        for i in range(200):
            (tree / e / f"lib/python3.12/site-packages/m{i}-1.{i}.dist-info").mkdir(parents=True)
    for c in range(40):
        base = f"var/lib/docker/overlay2/{c:064x}/merged"
        put(tree / base / "var/lib/dpkg/status", status)
        for i in range(100):
            (tree / base / f"usr/local/lib/python3.12/dist-packages/m{i}-1.{i}.dist-info").mkdir(parents=True)
        put(tree / base / "usr/lib/aarch64-linux-gnu/libnccl.so.2", nccl(gcc=b"13.3.0" if c != 17 else b"8.5.0"))
        put(tree / f"proc/{100 + c}/cgroup", f"0::/system.slice/docker-{c:064x}.scope\n")
        put(tree / f"proc/{100 + c}/maps", "7f0000000000-7f0000001000 r-xp 00000000 00:31 42      /usr/lib/aarch64-linux-gnu/libnccl.so.2\n")
        put(tree / f"proc/{100 + c}/cmdline", "python3\0serve.py\0")
        put(tree / f"proc/{100 + c}/environ", "NCCL_CROSS_NIC=0\0")
        put(tree / f"var/lib/docker/containers/{c:064x}/config.v2.json", json.dumps({"Name": f"/job{c}", "Config": {"Image": "nvcr.io/x:1"}}))
        os.symlink("/" + base, tree / f"proc/{100 + c}/root")
    before = processor()
    j = check("many containers", tree)
    took = processor() - before
    hit = of(j, "nccl-arm-cas-gcc9")
    expect("one of 40", [h["place"] for h in hit] == ["docker job17"], hit)
    expect("all were seen", j and j["containers"] == 40 and j["environments"] == 43 and j["processes"] == 40, j and {**j, "defects": 0})
    if not common.sanitized(gputune):
        expect("in a second of a processor", took < 1, took)
        used = subprocess.run(["/usr/bin/time", "-f", "%M", gputune, "defects", "check", "--host", SPARK, "--rootfs", tree], capture_output=True,
                              text=True, env=common.PLAIN).stderr.split() if os.path.exists("/usr/bin/time") else ["0"]
        expect("in 40 MB", int(used[-1]) < 40000, used)
        print(f"40 containers: {took * 1000:.0f} ms of a processor, {used[-1]} kB")


def slow(tmp):
    """Libraries and trees that are made to take long: in time, and what is not read is said."""
    tree = tmp / "slow"
    lib = tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2"

    def sections(n, name, size):
        names = b"\0" + name + b"\0.shstrtab\0"
        head = bytearray(64)
        head[0:7] = b"\x7fELF\2\1\1"
        struct.pack_into("<HHI", head, 16, 3, ARM, 1)
        struct.pack_into("<Q", head, 40, 64 + len(names))
        struct.pack_into("<HHHHHH", head, 52, 64, 0, 0, 64, n, n - 1)
        one = struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 0x10000, size, 0, 0, 1, 0)
        return bytes(head) + names + one * (n - 1) + struct.pack("<IIQQQQIIQQ", len(name) + 2, 3, 0, 0, 64, len(names), 0, 0, 1, 0)

    def timed(what, most=3):
        before = time.monotonic()
        j = check(what, tree)
        expect(f"{what}: in time", time.monotonic() - before < most or common.sanitized(gputune), time.monotonic() - before)
        return j

    put(lib, sections(65535, b".rodata", 1 << 40))
    timed("65535 sections")
    for name in (b".rodata", b".comment", b".dynsym", b".note.gnu.build-id", b".nv_fatbin"):
        put(lib, sections(4, name, (1 << 36) - 0x10000))
        try:
            os.truncate(lib, 1 << 36)
        except OSError:
            continue  # a file system that has no such files
        timed(f"64 GiB of {name.decode()}")
    lib.unlink()
    for i in range(400):
        put(lib.with_name(f"libnccl.so.{i}"), library(b"GCC: (GNU) 8.5.0\0", b"NCCL version x" * (1 << 16)))
    j = timed("400 libraries of near hits")
    expect("what was not read is said", j and (j["libraries"] == 400 or any("400 ms" in t for t in j["left_out"])), j and j["left_out"])
    shutil.rmtree(tree)
    for h in range(200):
        for d in range(20):
            (tree / f"home/u{h}/d{d}").mkdir(parents=True)
    site = tree / "opt/v/lib/python3.12/site-packages"
    for i in range(5000):
        (site / f"m{i}-1.{i}.dist-info").mkdir(parents=True)
    put(site / "a.pth", "x")
    j = timed("200 homes and 5000 packages")
    expect("all packages are seen", j and j["packages"] == 5000, j and j["packages"])


def changing(tmp):
    """A tree that changes while it is read, links that come and go among it, and processes that end: an answer each time."""
    tree = tmp / "changing"
    lib = put(tree / "usr/lib/aarch64-linux-gnu/libnccl.so.2", nccl())
    outside = put(tmp / "outside2/libnccl.so.2", nccl()).parent
    stop = threading.Event()

    def change():
        r = random.Random(3)
        while not stop.is_set():
            what = r.randrange(5)
            with contextlib.suppress(OSError):
                if what == 0:
                    put(tree / "opt/venv/lib/python3.12/site-packages/torch-2.9.0.dist-info/METADATA", "x")
                elif what == 1:
                    shutil.rmtree(tree / "opt", ignore_errors=True)
                    os.symlink(outside, tree / "opt")
                elif what == 2:
                    os.unlink(tree / "opt")
                elif what == 3:
                    put(lib, nccl()[:r.randrange(400)])
                else:
                    put(tree / "new", "Package: a\nStatus: install ok installed\nVersion: 1\n\n")
                    os.makedirs(tree / "var/lib/dpkg", exist_ok=True)
                    os.replace(tree / "new", tree / "var/lib/dpkg/status")

    def churn():
        while not stop.is_set():
            for p in [subprocess.Popen(["true"]) for _ in range(10)]:
                p.wait()

    threads = [threading.Thread(target=f) for f in (change, churn)]
    for t in threads:
        t.start()
    try:
        for i in range(8):
            j = check(f"a tree that changes, {i}", tree)
            expect("nothing outside of it", j and "outside2" not in json.dumps(j), j)
            follows(f"processes that end, {i}", ["defects", "check"], (0, 1), "defects")
    finally:
        stop.set()
        for t in threads:
            t.join()


def tar(*files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            t.addfile(entry, io.BytesIO(data))
    return out.getvalue()


SITE = "usr/local/lib/python3.12/dist-packages/"


def images(tmp):
    """What is stored and does not run: layers of docker with --deep, and an image in the OCI layout, sound and broken."""
    tree = tmp / "stored"
    put(tree / "var/lib/docker/overlay2/abcdef0123456789/diff/usr/lib/aarch64-linux-gnu/libnccl.so.2", nccl())
    j = check("stored layers", tree)
    expect("are left out, and it is said", not of(j, "nccl-arm-cas-gcc9") and any("stored" in t for t in j["left_out"]), j["left_out"])
    j = check("stored layers, deep", tree, "--deep")
    expect("are looked into", [d["place"] for d in of(j, "nccl-arm-cas-gcc9")] == ["docker layer abcdef012345"], j["defects"])
    oci = tmp / "oci"
    status = b"Package: libnccl2\nStatus: install ok installed\nVersion: 2.28.9-1\n\n"
    deep_name = SITE + "a" * 90 + "/" * 1 + "b" * 90 + "/x"
    layers = [gzip.compress(tar((SITE + "nvidia_nccl_cu13-2.28.9.dist-info/METADATA", b"x"), ("var/lib/dpkg/status", status), (deep_name, b"y")), mtime=0),
              tar((SITE + "torch-1.0.dist-info/METADATA", b"x"), (SITE + ".wh.torch-1.0.dist-info", b""), (SITE + "six-1.16.dist-info/RECORD", b""))]

    def blob(data):
        name = hashlib.sha256(data).hexdigest()
        put(oci / "blobs/sha256" / name, data)
        return {"digest": "sha256:" + name, "size": len(data)}

    def index(*datas):
        manifest = blob(json.dumps({"layers": [blob(d) for d in datas]}).encode())
        manifest["annotations"] = {"org.opencontainers.image.ref.name": "acme/serve:1"}
        put(oci / "index.json", json.dumps({"manifests": [manifest]}))

    put(oci / "oci-layout", '{"imageLayoutVersion": "1.0.0"}')
    index(*layers)
    j = check("an image in the OCI layout", oci)
    expect("its packages", j and j["images"] == 1 and j["packages"] == 4 and j["environments"] == 1, j and {**j, "defects": 0})
    expect("the old NCCL", of(j, "nccl-arm-cas-gcc9") and "2.28.9" in str(of(j, "nccl-arm-cas-gcc9")), j and j["defects"])
    for what, data in [("cut off", layers[0][:60]), ("no tar", b"hello" * 300), ("zstd", b"\x28\xb5\x2f\xfd" + bytes(100)), ("empty", b""),
                       ("a size that lies", bytes(124) + b"77777777777\0" + bytes(376)), ("packed zeros", gzip.compress(bytes(1 << 22), mtime=0))]:
        index(data)
        check(f"a layer: {what}", oci)
    for what, text in [("no manifest", "{}"), ("a digest that leads out", '{"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}'), ("no JSON", "x")]:
        put(oci / "index.json", text)
        j = check(f"an index: {what}", oci)
        expect(f"an index: {what}: it is said", j and any("manifest" in t for t in j["left_out"]), j and j["left_out"])


def package(tmp):
    """Rows of a data package replace those of the build; what is not valid is not used, and said."""
    why = no_namespaces()
    if why:
        return skip("rows of a data package", why)
    folder = "/usr/local/share"
    script = f'mount -t tmpfs none {folder} && mkdir -p {folder}/gputune/knowledge/defects && cp "$1" {folder}/gputune/knowledge/defects/x.json && exec "$2" defects list'
    for what, rows, words in [("rows of a data package", [row()], ("test-row", "Entries: 1,")), ("rows that are wrong", [row(id=None)], ("not used", "nccl-arm-cas-gcc9"))]:
        path = put(tmp / "package.json", json.dumps(rows))
        ran = common.finish(common.start(*common.UNSHARE, "sh", "-c", script, "sh", path, gputune))
        expect(what, ran.code == 0 and all(w in ran.out + ran.err for w in words), ran)
    return None


def history(tmp):
    """What fwupd has installed is read from its history: of each device the last that succeeded."""
    why = no_namespaces()
    if why:
        return skip("the history of fwupd", why)
    db = sqlite3.connect(tmp / "pending.db")
    db.execute("CREATE TABLE history (device_id TEXT, update_state INTEGER, display_name TEXT, device_modified INTEGER, version_old TEXT, version_new TEXT)")
    db.executemany("INSERT INTO history VALUES ('a', ?, 'Embedded Controller', ?, '0', ?)", [(2, 1, "1.0.3"), (2, 2, "1.0.7"), (3, 3, "1.0.9")])
    db.commit()
    db.close()
    folder, know = "/var/lib", "/usr/local/share"
    script = (f'mount -t tmpfs none {folder} && mount -t tmpfs none {know} && mkdir -p {folder}/fwupd {know}/gputune/knowledge/defects && '
              f'cp "$1" {know}/gputune/knowledge/defects/x.json && cp "$2" {folder}/fwupd/ && exec "$3" defects check')
    for version, here in (("<1.0.8", True), ("<1.0.7", False), (">=1.0.9", False)):
        when = {"firmware": "Embedded Controller", "version": version}
        examples = [{"match": "yes", "firmware": {"Embedded Controller": version.strip("<>=")[:-1] + ("0" if "<" in version else "9")}}, {"match": "no", "firmware": {"Embedded Controller": "0" if ">" in version else "9"}}]
        path = put(tmp / "history.json", json.dumps([row(when=when, examples=examples)]))
        ran = common.finish(common.start(*common.UNSHARE, "sh", "-c", script, "sh", path, tmp / "pending.db", gputune))
        expect(f"firmware {version}", ("test-row" in ran.out) == here and "not used" not in ran.err and ran.code in (0, 1), ran)
    (tmp / "pending.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    ran = common.finish(common.start(*common.UNSHARE, "sh", "-c", script, "sh", path, tmp / "pending.db", gputune))
    expect("a history that is none", ran.code == 0, ran)
    return None


HOLD = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
root = sys.argv[1]
if libc.unshare(0x20000) or libc.mount(b"none", b"/", None, 0x44000, None) or libc.mount(root.encode(), root.encode(), None, 4096, None):
    sys.exit(7)
os.chdir(root)
if libc.syscall({"x86_64": 155, "aarch64": 41}[os.uname().machine], b".", b"."):
    sys.exit(8)
libc.umount2(b".", 2)
os.chdir("/")
f = os.open("/opt/libnccl.so.2", os.O_RDONLY)
m = mmap.mmap(f, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
print("ready", flush=True)
sys.stdin.read()
"""


def running(tmp):
    """A container that runs: the library that a process of it has mapped, in a place where no loader looks."""
    why = no_namespaces()
    if why:
        return skip("a container that runs", why)
    tree = tmp / "container"
    put(tree / "opt/libnccl.so.2", nccl())
    held = subprocess.Popen([sys.executable, "-c", HOLD, tree], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if held.stdout.readline() != "ready\n":
        held.wait()
        return skip("a container that runs", f"no mounts can be made here ({held.returncode})")
    before = processor()
    j = follows("live", ["defects", "check", "--component", "nccl"], (0, 1), "defects")
    took = processor() - before
    mine = [d for d in j["defects"] if d["id"] == "nccl-arm-cas-gcc9" and f"process {held.pid}" in d["place"]] if j else []
    expect("the mapped library", mine and mine[0]["proofs"][0]["from"].endswith("/opt/libnccl.so.2") and
           f"process {held.pid}" in mine[0]["proofs"][0]["what"], j)
    print(f"a running container: {took * 1000:.0f} ms of a processor")
    # Renewed on disk: the process still runs the old one.
    os.replace(put(tree / "opt/new", nccl(version=b"2.29.3", gcc=b"13.3.0")), tree / "opt/libnccl.so.2")
    j = follows("live, renewed", ["defects", "check", "--component", "nccl"], (0, 1), "defects")
    mine = [d for d in j["defects"] if d["id"] == "nccl-arm-cas-gcc9" and f"process {held.pid}" in d["place"]] if j else []
    left = [t for t in j["left_out"] if str(held.pid) in t] if j else []
    expect("the old library that still runs", (mine and f"2.28.9, removed, but still run by process {held.pid}" in mine[0]["proofs"][0]["what"]) or (os.geteuid() and left), (mine, left))
    held.stdin.close()
    held.wait()
    return None


def row_schema(tmp):
    """The schema of rows takes every shipped one, refuses what the linter refuses, and has its keys."""
    s = json.loads((root / "schemas/defect-rows.json").read_text())
    valid = jsonschema.Draft202012Validator(s)
    for path in ROWS:
        wrong = next(valid.iter_errors(json.loads(path.read_text())), None)
        expect(f"{path.name} follows the schema", wrong is None, wrong and wrong.message)
    for what, how, _ in HOSTILE:
        # What a version, a name or an example means is the linter's alone.
        if what not in ("no version", "too deep", "a setting that is none", "an example that lies", "no negative example", "a signature of nothing"):
            expect(f"the schema refuses a row with {what}", not valid.is_valid([row(**how)]), how)
    leaves = set(re.findall(r'^\t\{ "(\w+)", leaf_', (root / "src/look/defects/match.c").read_text(), re.M))
    there = {k for leaf in s["$defs"]["condition"]["anyOf"] for k in leaf["required"]} - {"all", "any", "not"}
    expect("it has the conditions of the program", leaves == there and len(there) > 20, leaves ^ there)


def header(**tags):
    """A header of rpm's database."""
    index, data = b"", b""
    for tag, value in sorted((RPM[name], value) for name, value in tags.items()):
        data += bytes(-len(data) % 4) if tag == 1003 else b""
        index += struct.pack(">IIII", tag, 4 if tag == 1003 else 6, len(data), 1)
        data += struct.pack(">I", value) if tag == 1003 else value + b"\0"
    return struct.pack(">II", len(index) // 16, len(data)) + index + data


RPM = {"name": 1000, "version": 1001, "release": 1002, "epoch": 1003}


def rpmdb(path, *blobs):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)")
        db.executemany("INSERT INTO Packages (blob) VALUES (?)", [(b,) for b in blobs])
        db.commit()


def rpms(tmp):
    """Packages of rpm by its database of SQLite, sound and hostile; another database is said."""
    db = tmp / "rpm/usr/lib/sysimage/rpm/rpmdb.sqlite"
    old = header(name=b"nvidia-container-toolkit", version=b"1.16.0", release=b"1")
    rpmdb(db, header(name=b"bash", version=b"5.2", release=b"1.el10"), old)
    j = check("packages of rpm", tmp / "rpm")
    if j and j["packages"] == 0 and any("rpmdb" in t for t in j["left_out"]):
        return skip("packages of rpm", "there is no libsqlite3 here")
    hit = of(j, "ctk-5582")
    expect("are found with their database", hit and "1.16.0-1" in str(hit) and "rpmdb.sqlite" in str(hit) and j["packages"] == 2, j and j["defects"][:3])
    rpmdb(db, header(name=b"nvidia-container-toolkit", version=b"1.99.0", release=b"1", epoch=3))
    expect("a newer one is in order", not of(check("a newer rpm", tmp / "rpm"), "ctk-5582"))
    r = random.Random(1)
    bad = [b"", b"\0", b"\xff" * 7, b"\xff" * 4000, old[:20], struct.pack(">II", 0xffffffff, 0xffffffff) + old[8:], header(name=b"x" * 5000, version=b"\x1b[2J", release=b"")]
    for _ in range(200):
        b = bytearray(old)
        b[r.randrange(len(b))] = r.randrange(256)
        bad.append(bytes(b))
    rpmdb(db, *bad)
    check("headers that lie", tmp / "rpm")
    whole = db.read_bytes()
    for what, data in [("cut off", whole[:3000]), ("empty", b""), ("no database", b"x" * 5000), ("a page that lies", whole[:1000] + b"\xff" * 3000 + whole[4000:])]:
        db.write_bytes(data)
        j = check(f"a database of rpm: {what}", tmp / "rpm")
        expect(f"{what}: it is said", j and (any("rpmdb.sqlite" in t for t in j["left_out"]) or what == "a page that lies"), j and j["left_out"])
    put(tmp / "bdb/var/lib/rpm/Packages", "x")
    j = check("Berkeley DB", tmp / "bdb")
    expect("is not read, and it is said", any("other than SQLite" in t for t in j["left_out"]), j["left_out"])
    return None


def bulletin(*products, number="1234", **more):
    """CSAF of (product, platform, words)."""
    leaves = [{"category": "product_version", "name": p, "product": {"name": w, "product_id": f"p{i}"}} for i, (p, _, w) in enumerate(products)]
    tree = [{"category": "vendor", "name": "NVIDIA", "branches": [{"category": "architecture", "name": a, "branches": [leaf]}]}
            for leaf, (_, a, _) in zip(leaves, products, strict=True)]
    return {"document": {"title": "Security Bulletin: a fault", "tracking": {"id": number, "current_release_date": "2026-05-21T00:00:00Z"}},
            "product_tree": {"branches": tree}, "vulnerabilities": [{"cve": "CVE-2026-1", "product_status": {"known_affected": [f"p{i}" for i in range(len(leaves))]}}], **more}


def csaf(tmp, *documents):
    folder = tmp / "csaf"
    shutil.rmtree(folder, ignore_errors=True)
    for i, d in enumerate(documents):
        put(folder / f"{i}.json", d if isinstance(d, str | bytes) else json.dumps(d))
    ran = common.finish(common.start(root / "scripts/csaf-rows", folder))
    rows = json.loads(ran.out)
    if rows:
        follows("rows of bulletins are valid", ["defects", "lint", put(tmp / "csaf.json", ran.out)], 0, "defects-lint")
    return {r["id"]: r for r in rows}, ran


def bulletins(tmp):
    """What is certain in a bulletin becomes a condition, what is not the trigger, as text; hostile files change nothing."""
    got, ran = csaf(tmp, bulletin(("Tesla", "Linux(R580)", "All driver versions prior to 580.95.05"), ("GeForce", "Linux(R580)", "All driver versions prior to 580.95.05"),
                                  ("Tesla", "Linux(R535)", "All driver versions prior to 535.309.01"), ("Tesla", "Windows(R580)", "All driver versions prior to 1.2"),
                                  ("NVIDIA Container Toolkit", "Linux", "All versions up to and including 1.17.7"), ("Toaster", "Linux", "All versions prior to 2.0"),
                                  ("NVIDIA CUDA Toolkit", "Linux", "All versions prior to CUDA Toolkit 12.9 Update 1"),
                                  ("TensorRT-LLM", "Linux", "All versions before the spring release")))
    expect("each product is a row", set(got) == {"bulletin-1234-driver", "bulletin-1234-container-toolkit", "bulletin-1234-cuda", "bulletin-1234-tensorrt-llm-text"}, got)
    expect("each branch once", got["bulletin-1234-driver"]["when"] == {"any": [{"driver": ">=580 <580.95.05"}, {"driver": ">=535 <535.309.01"}]}, got)
    expect("an update is a number", got["bulletin-1234-cuda"]["when"] == {"toolkit": "<12.9.1"}, got)
    expect("uncertain words stay words", "before the spring release" in got["bulletin-1234-tensorrt-llm-text"]["only"], got)
    expect("what is not judged is said", "Toaster" in ran.err and "Windows(R580)" in ran.err, ran.err)
    one = json.dumps(bulletin(("Tesla", "Linux(R580)", "All driver versions prior to 580.95.05")))
    deep = bulletin()
    for _ in range(300):
        deep["product_tree"] = {"branches": [deep["product_tree"]]}
    for what, text in [("nothing", ""), ("no JSON", "{"), ("no UTF-8", b"{\"a\": \"\xff\"}"), ("a list", "[]"), ("a number", "3"), ("nested", "[" * 100000), ("deep", json.dumps(deep)),
                       ("no id", json.dumps(bulletin(number="../../x"))), ("words for lists", one.replace("[", '"').replace("]", '"')),
                       ("control characters", one.replace("a fault", "a\\u001b[2Jfault")), ("a branch that is not its version's", one.replace("prior to 580", "prior to 999"))]:
        got, ran = csaf(tmp, text)
        expect(f"a bulletin: {what}", ran.code in (0, 1) and "Traceback" not in ran.err and "\x1b" not in ran.out and not any(
            "999" in json.dumps(r.get("when")) for r in got.values()), ran)
    r = random.Random(2)
    many = []
    for _ in range(120):
        b = bytearray(one.encode())
        for _ in range(r.randrange(1, 6)):
            b[r.randrange(len(b))] = r.choice(b'{}[]",:0 a\\\xff')
        many.append(bytes(b))
    _, ran = csaf(tmp, *many)
    expect("changed bulletins", ran.code in (0, 1) and "Traceback" not in ran.err, ran.err[-500:])
    ran = common.finish(common.start(root / "scripts/data-package", tmp / "with.json", "--serial", "1", "--date", "2026-11-27", "--csaf", tmp / "csaf"))
    expect("a data package has none of broken bulletins", ran.code != 0, ran)
    csaf(tmp, one)
    ran = common.finish(common.start(root / "scripts/data-package", tmp / "with.json", "--serial", "1", "--date", "2026-11-27", "--csaf", tmp / "csaf"))
    expect("a data package with them", ran.code == 0 and "bulletin-1234-driver" in (tmp / "with.json").read_text(), ran)


def speaks(tmp):
    """The same rows in lint, generate, check and fleet, with the machine that has it."""
    script = put(tmp / "job.sh", "export NCCL_NVLS_ENABLE=1\nllama-server -m x.gguf\n")
    j = follows("lint", ["lint", script, "--host", SPARK], 1, "lint")
    found = [(f["subject"], f["line"]) for f in j["findings"] if f["code"] == "known-defect"] if j else []
    expect("a variable with its line, and a command", ("NCCL_NVLS_ENABLE", 1) in found and any("llama-server" in s for s, _ in found), found)
    j = follows("lint elsewhere", ["lint", script, "--host", machines / "hgx-h100"], (0, 1), "lint")
    expect("nothing of it", j and not [f for f in j["findings"] if f["code"] == "known-defect"], j and j["findings"])
    code, out, err = common.run("generate", "llamacpp", "--host", SPARK, "--model", "llama-3.1-8b", "--weights", "q4_0")
    expect("generate adds what avoids it", code == 0 and "--no-mmap" in out and "llama-mmap-spark" in out, (code, out[-800:], err))
    old = shutil.copytree(SPARK, tmp / "old", symlinks=True)
    put(old / "meta.json", (old / "meta.json").read_text().replace("6.17.0-1014-nvidia", "6.17.0-1008-nvidia"))
    # What check says of a machine, fleet says of a node, and a report shows.
    j = follows("check", ["check", "--host", old, "--only", "gpu.known-defects"], 1, "check")
    ids = j["findings"][0]["current"] if j and j["findings"] else "?"
    expect("a defect of the kernel", "kernel-6.17-1008-doe" in ids, j and j["findings"])
    j = follows("fleet", ["fleet", SPARK, old], (0, 1), "fleet")
    expect("which node", j and "gpu.known-defects" in json.dumps(j), j and json.dumps(j)[:600])
    page = tmp / "report.html"
    common.run("report", "--host", old, "-o", page)
    expect("report", page.exists() and ids.split(",")[0] in page.read_text(), ids)


tmp = scratch("defects")
shipped(tmp)
conditions(tmp)
hostile_rows(tmp)
roots(tmp)
planted(tmp)
natives(tmp)
places(tmp)
many_in_range(tmp)
firmware(tmp)
many(tmp)
slow(tmp)
changing(tmp)
images(tmp)
package(tmp)
history(tmp)
running(tmp)
row_schema(tmp)
rpms(tmp)
bulletins(tmp)
speaks(tmp)
end_suite()
