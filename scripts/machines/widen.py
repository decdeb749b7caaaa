#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A captured machine with another number of CPUs, for cost curves: widen.py SOURCE TARGET CPUS.

Every CPU gets the files of the source's CPU 0 with its own lists: one thread a core, two packages, an L3 cache for every
64 CPUs, a frequency policy of its own. The result is made to be read, not to be believed.
"""
import pathlib
import shutil
import sys

source, target, cpus = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
BASE = "root/sys/devices/system/cpu"


def skip(folder, names):
    here = pathlib.Path(folder).relative_to(source)
    if str(here) == ".":
        return ["expect"]
    if str(here) == BASE:
        return [n for n in names if n[3:].isdigit() and n.startswith("cpu")]
    if str(here) == BASE + "/cpufreq":
        return [n for n in names if n.startswith("policy")]
    return []


def block(cpu, size):
    first = cpu // size * size
    last = min(first + size, cpus) - 1
    return f"{first}-{last}\n" if last > first else f"{first}\n"


shutil.copytree(source, target, symlinks=True, ignore=skip)
whole = f"0-{cpus - 1}\n"
for name in ("online", "present", "possible"):
    (target / BASE / name).write_text(whole)
for cpu in range(cpus):
    here = target / BASE / f"cpu{cpu}"
    for old in sorted((source / BASE / "cpu0").rglob("*")):
        new = here / old.relative_to(source / BASE / "cpu0")
        if old.is_dir() and not old.is_symlink():
            new.mkdir(parents=True, exist_ok=True)
            continue
        if old.is_symlink():
            continue
        text = old.read_bytes()
        if old.name in ("core_cpus_list", "thread_siblings_list", "cluster_cpus_list"):
            text = f"{cpu}\n".encode()
        elif old.name == "package_cpus_list":
            text = block(cpu, (cpus + 1) // 2).encode()
        elif old.name == "shared_cpu_list":
            text = (block(cpu, 64) if old.parent.name == "index3" else f"{cpu}\n").encode()
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(text)
    policy = target / BASE / "cpufreq" / f"policy{cpu}"
    shutil.copytree(source / BASE / "cpufreq/policy0", policy)
    for name in ("affected_cpus", "related_cpus"):
        if (policy / name).exists():
            (policy / name).write_text(f"{cpu}\n")
for i, node in enumerate(sorted((target / "root/sys/devices/system/node").glob("node[0-9]*"))):
    (node / "cpulist").write_text(block(i * ((cpus + 1) // 2), (cpus + 1) // 2))
