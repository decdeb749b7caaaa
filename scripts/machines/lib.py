# SPDX-License-Identifier: Apache-2.0
"""
A captured machine that is written by hand: files, links and answers are collected here and laid out in
the format of docs/design/CAPTURE.md. Everything is deterministic; running a generator twice gives the same bytes.
"""
import io
import json
import os
import pathlib
import posixpath
import shutil
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MACHINES = pathlib.Path(os.environ.get("GPUTUNE_MACHINES", ROOT / "build/machines"))

DOCUMENTED = "documented"
DERIVED = "derived"
PLAUSIBLE = "plausible-default"


def ranges(cpus):
    """[0, 1, 2, 5] -> "0-2,5", the list format of the kernel."""
    out, cpus = [], sorted(cpus)
    i = 0
    while i < len(cpus):
        j = i
        while j + 1 < len(cpus) and cpus[j + 1] == cpus[j] + 1:
            j += 1
        out.append(str(cpus[i]) if i == j else f"{cpus[i]}-{cpus[j]}")
        i = j + 1
    return ",".join(out)


def cpu_mask(cpus, possible):
    """The mask format of the kernel: 32-bit groups, most significant first."""
    value = sum(1 << c for c in cpus)
    words = max(1, (possible + 31) // 32)
    width = ((possible - 1) % 32 + 4) // 4
    text = [f"{value >> 32 * w & 0xffffffff:08x}" for w in reversed(range(words))]
    text[0] = text[0][8 - width:]
    return ",".join(text)


class Machine:
    def __init__(self, name, about, identity, base=None):
        """base: the machine that this one is a variant of. A variant is written as a tar alone, and held against its base."""
        self.name, self.about, self.identity, self.base = name, about, identity, base
        self.files, self.links, self.refused = {}, {}, {}
        self.api = {}
        self.source_rows = []
        self.modules = []
        self.next_minor = 0

    # --- files ---------------------------------------------------------------------------------------

    def raw(self, path, data):
        assert path.startswith("/") and path not in self.links, path
        self.files[path] = data

    def text(self, path, text):
        self.raw(path, text.encode())

    def put(self, path, value):
        """A one-line file of sysfs or procfs."""
        self.text(path, f"{value}\n")

    def puts(self, folder, **values):
        for key, value in values.items():
            self.put(f"{folder}/{key}", value)

    def rows(self, path, rows):
        self.text(path, "".join(f"{r}\n" for r in rows))

    def link(self, path, target):
        """A link whose target is given as an absolute path and stored relative, as sysfs does."""
        assert path not in self.files, path
        self.links[path] = posixpath.relpath(target, posixpath.dirname(path))

    def link_as(self, path, target):
        """A link with the very target text."""
        assert path not in self.files, path
        self.links[path] = target

    def refuse(self, path, error):
        """A file that is there and cannot be read."""
        self.files.setdefault(path, b"")
        self.refused[path] = error

    def unread(self, path):
        """A file that was seen in its folder and whose text nobody needs."""
        self.refuse(path, "ENOMEDIUM")

    def forget(self, folder):
        """Takes a folder away, and what links into it."""
        def inside(path):
            return path == folder or path.startswith(folder + "/")

        for kept in (self.files, self.refused):
            for path in [p for p in kept if inside(p)]:
                del kept[path]
        for path, target in list(self.links.items()):
            if inside(path) or inside(posixpath.normpath(posixpath.join(posixpath.dirname(path), target))):
                del self.links[path]

    # --- answers -------------------------------------------------------------------------------------

    def answer(self, api, obj, question, value):
        self.api.setdefault(api, {}).setdefault(obj, {})[question] = value

    def answers(self, api, obj, values):
        self.api.setdefault(api, {}).setdefault(obj, {}).update(values)

    def quiet_log(self):
        """A kernel log that the capture read, without a line that gputune counts."""
        counted = ("NVRM: Xid", "NV_ERR_NO_MEMORY", "irisc not responding", "assert_var", "DOE:", "PCIe Bus Error",
                   "Out of memory: Killed", "clock throttled")
        self.answers("kernel-log", "", {f"lines({text})": 0 for text in counted} | {"sxids(Fatal)": 0, "sxids(Non-fatal)": 0})

    def source(self, what, label, source):
        assert label in (DOCUMENTED, DERIVED, PLAUSIBLE) and "\t" not in what + source
        self.source_rows.append((what, label, source))

    # --- parts of a Linux machine ----------------------------------------------------------------------

    def module(self, name, version=None, params=None, refcnt=0, size=16384, users=""):
        folder = f"/sys/module/{name}"
        self.puts(folder, initstate="live", refcnt=refcnt)
        if version:
            self.put(f"{folder}/version", version)
        for key, value in (params or {}).items():
            self.put(f"{folder}/parameters/{key}", value)
        self.modules.append(f"{name} {size} {refcnt} {users or '-'} Live 0x0000000000000000")

    def builtin(self, name, params):
        for key, value in params.items():
            self.put(f"/sys/module/{name}/parameters/{key}", value)

    def sysctl(self, name, value):
        self.put("/proc/sys/" + name.replace(".", "/"), value)

    def service(self, name, enabled, active, target="multi-user.target", about=None, exec_start=None):
        unit = f"/usr/lib/systemd/system/{name}.service"
        self.rows(unit, ["[Unit]", f"Description={about or name}", "", "[Service]",
                         f"ExecStart={exec_start or '/usr/sbin/' + name}", "", "[Install]",
                         f"WantedBy={target}"])
        if enabled:
            self.link_as(f"/etc/systemd/system/{target}.wants/{name}.service", unit)
        if active:
            folder = f"/sys/fs/cgroup/system.slice/{name}.service"
            self.put(f"{folder}/cgroup.procs", 1000 + len(self.modules) + len(self.links) % 977)
            self.rows(f"{folder}/cgroup.events", ["populated 1", "frozen 0"])

    def swap(self, path, kind, size_kb, used_kb=0, priority=-2):
        rows = ["Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"]
        if path:
            rows.append(f"{path:<40}{kind:<16}{size_kb}\t{'' if size_kb > 9999999 else chr(9)}{used_kb}\t\t{priority}")
        self.rows("/proc/swaps", rows)

    def meminfo(self, values):
        self.rows("/proc/meminfo", [f"{k + ':':<15} {v:>8} kB" if unit else f"{k + ':':<15} {v:>8}"
                                    for k, v, unit in values])

    # --- writing ---------------------------------------------------------------------------------------

    def write(self, modules=True):
        if modules:
            self.rows("/proc/modules", self.modules)
        out = {f"root{path}": data for path, data in self.files.items()}
        for api, objects in self.api.items():
            out[f"api/{api}.json"] = as_json(objects)
        out["answers.tsv"] = "".join(f"{p}\t{e}\n" for p, e in sorted(self.refused.items())).encode()
        out["sources.tsv"] = "".join("\t".join(r) + "\n" for r in [("what", "label", "source"), *self.source_rows]).encode()
        meta = {"schema": "gputune.capture/1", "tool_version": "0.1.0", "origin": "written by hand",
                "about": self.about,
                "sources": sorted({s for _, label, s in self.source_rows if label != PLAUSIBLE}),
                "identity": self.identity, "unlisted": "absent"}
        if self.base:
            meta["base"] = self.base
        out["meta.json"] = as_json(meta)
        links = {f"root{path}": target for path, target in self.links.items()}
        if self.base:
            write_tar(MACHINES / f"{self.name}.tar", out, links)
        else:
            write_folder(MACHINES / self.name, out, links)
        print(f"{self.name}: {len(self.files)} files, {len(self.links)} links")


def as_json(value):
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode()


def write_folder(folder, files, links):
    shutil.rmtree(folder, ignore_errors=True)
    for path in sorted({(folder / p).parent for p in (*files, *links)}):
        path.mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        (folder / path).write_bytes(data)
    for path, target in links.items():
        os.symlink(target, folder / path)


def write_tar(path, files, links):
    """The same to the byte each time: sorted, without times and owners, folders before what is in them."""
    folders = {str(f) for p in (*files, *links) for f in pathlib.PurePosixPath(p).parents} - {"."}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted({*files, *links, *folders}):
            member = tarfile.TarInfo(name)
            member.mode = 0o644
            if name in links:
                member.type, member.linkname = tarfile.SYMTYPE, links[name]
            elif name in folders:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
            else:
                member.size = len(files[name])
            tar.addfile(member, io.BytesIO(files[name]) if name in files else None)
