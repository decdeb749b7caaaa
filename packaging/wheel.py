#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libgputune and its Python module as a wheel: wheel.py MODULE VERSION OUT LIBRARY [NEEDED...]. MODULE is the folder of the installed
package; NEEDED are libraries that a system may lack: they lie beside LIBRARY, which finds them there. The tag is the oldest manylinux
whose glibc has every symbol that they ask for; as auditwheel does it, a library that is neither inside nor on the list of PEP 600 is
refused, and so is a symbol of a newer libgcc than that glibc's systems have. Times are those of SOURCE_DATE_EPOCH: two builds, same bytes."""
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import zipfile

WHEN = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]


# What every system of PEP 600 has; those of C++, X11 and GLib that it also allows are none that we need.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1", "libgcc_s.so.1",
           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# The newest version of libgcc's symbols that a manylinux system has, whatever its glibc.
LIBGCC = {"x86_64": (4, 8, 0), "aarch64": (4, 5, 0)}


def refused(paths):
    """Why a system that the tag names could not load them."""
    inside = {os.path.basename(path) for path in paths}
    for path in paths:
        said = subprocess.run(["readelf", "-dV", "--wide", path], capture_output=True, text=True, check=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
            if name not in ALLOWED | inside:
                yield f"{os.path.basename(path)} needs {name}"
        for version in re.findall(r"Name: GCC_([\d.]+)", said):
            if tuple(int(n) for n in version.split(".")) > LIBGCC[platform.machine()]:
                yield f"{os.path.basename(path)} needs GCC_{version}"


def glibc(paths):
    newest = (2, 17)
    for path in paths:
        said = subprocess.run(["readelf", "-V", "--wide", path], capture_output=True, text=True, check=True).stdout
        newest = max([newest, *((int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", said))])
    return newest


def main():
    module, version, out, library, *needed = sys.argv[1:]
    libraries = [library, *needed]
    if why := sorted(set(refused(libraries))):
        sys.exit("wheel: no manylinux: " + "; ".join(why))
    tag = "py3-none-manylinux_{}_{}_{}".format(*glibc(libraries), platform.machine())
    info = f"gputune-{version}.dist-info"
    files = {f"gputune/{p.name}": p.read_bytes() for p in sorted(pathlib.Path(module).iterdir()) if p.suffix in (".py", ".typed", ".pyi") or p.name == "py.typed"}
    files["gputune/libgputune.so.0"] = pathlib.Path(library).read_bytes()
    for path in needed:
        files[f"gputune/{os.path.basename(path)}"] = pathlib.Path(os.path.realpath(path)).read_bytes()
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: gputune\nVersion: {version}\nSummary: what a GPU machine is and what holds it back\n"
                                 "License: Apache-2.0\nRequires-Python: >=3.9\n").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: gputune\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = f"{info}/RECORD"
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for name, data in files.items()]
    files[record] = ("\n".join([*rows, f"{record},,"]) + "\n").encode()
    path = pathlib.Path(out) / f"gputune-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            z.writestr(entry, data)
    print(path.name)


if __name__ == "__main__":
    main()
