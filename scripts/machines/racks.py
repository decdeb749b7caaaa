#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A captured machine several times over in one, for cost curves: racks.py SOURCE TARGET TIMES.

Its PCI functions stand again under further PCI domains, its GPUs answer again under further numbers. The result is made to be
read, not to be believed.
"""
import json
import os
import pathlib
import re
import shutil
import sys

source, target, times = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("expect"))
sysfs = target / "root/sys"


def moved(text, k):
    return re.sub(r"(?<![0-9a-f])0000:([0-9a-f]{2})", rf"{k:04x}:\1", text)


def copy(old, new, k):
    """A folder with all names and link targets in domain k; what other folders of the machine point to is left as it is."""
    new.mkdir(parents=True, exist_ok=True)
    for f in sorted(old.iterdir()):
        here = new / moved(f.name, k)
        if f.is_symlink():
            if not here.is_symlink():
                os.symlink(moved(os.readlink(f), k), here)
        elif f.is_dir():
            if f.name not in ("net", "infiniband", "nvme", "block"):
                copy(f, here, k)
        else:
            shutil.copyfile(f, here)


roots = sorted((source / "root/sys/devices").glob("pci0000:*"))
links = sorted((source / "root/sys/bus/pci/devices").iterdir())
nvml = json.loads((target / "api/nvml.json").read_text())
gpus = sorted(k for k in nvml if k.isdigit())
for k in range(1, times):
    for r in roots:
        copy(r, sysfs / "devices" / moved(r.name, k), k)
    for link in links:
        os.symlink(moved(os.readlink(link), k), sysfs / "bus/pci/devices" / moved(link.name, k))
    for g in gpus:
        nvml[str(int(g) + k * len(gpus))] = {q: f"{k:08x}{a[8:]}" if isinstance(a, str) and a.startswith("00000000:") else a
                                             for q, a in nvml[g].items()}
nvml[""]["nvmlDeviceGetCount"] = len(gpus) * times
(target / "api/nvml.json").write_text(json.dumps(nvml, indent=1))
