# SPDX-License-Identifier: Apache-2.0
"""A captured machine with changes laid over it: faults that are planted and taken back."""
import json
import struct

from common import machines, run, scratch

DEVICES = "/sys/bus/pci/devices"


class Node:
    """A captured machine and what lies over it. What was laid over it last can be taken back."""
    def __init__(self, name, machine="hgx-h100"):
        self.under, self.at = machines / machine, scratch("node") / name
        self.at.mkdir()
        self.argv = ["--host", self.under, "--overlay", self.at]
        self.before = []

    def put(self, path, data):
        """A file of the overlay; None: none."""
        self.before.append((path, path.read_bytes() if path.exists() else None))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return self

    def keep(self):
        self.before = []
        return self

    def mend(self):
        for path, data in reversed(self.before):
            if data is None:
                path.unlink()
                while path.parent != self.at and not any(path.parent.iterdir()):
                    path = path.parent
                    path.rmdir()
            else:
                path.write_bytes(data)
        return self.keep()

    def real(self, path):
        """The path that the machine has it under, without links."""
        return "/" + str((self.under / "root" / path.lstrip("/")).resolve().relative_to((self.under / "root").resolve()))

    def read(self, path):
        real = self.real(path)
        over = self.at / "root" / real.lstrip("/")
        return (over if over.exists() else self.under / "root" / real.lstrip("/")).read_bytes()

    def write(self, path, data):
        return self.put(self.at / "root" / self.real(path).lstrip("/"), data if isinstance(data, bytes) else data.encode())

    def link(self, path, target):
        p = self.at / "root" / path.lstrip("/")
        p.parent.mkdir(parents=True, exist_ok=True)
        p.symlink_to(target)
        self.before.append((p, None))
        return self

    def gone(self, path):
        """Takes a file or folder away, as src/machine/host/overlay.c marks it."""
        return self.put(self.at / "gone/root" / path.lstrip("/") / ".gputune-gone", b"")

    def ask(self, api, target, answers):
        p = self.at / "api" / f"{api}.json"
        below = self.under / "api" / f"{api}.json"
        j = json.loads((p if p.exists() else below).read_text()) if p.exists() or below.exists() else {}
        j.setdefault(str(target), {}).update(answers)
        return self.put(p, json.dumps(j).encode())

    # --- PCI configuration space --------------------------------------------------------------------------------------------

    def config(self, address, change):
        space = bytearray(self.read(f"{DEVICES}/{address}/config"))
        change(space)
        return self.write(f"{DEVICES}/{address}/config", bytes(space))

    def lanes(self, address, width=None, speed=None):
        """What LnkSta says: lanes, and the generation."""
        def change(space):
            at = capability(space, 0x10) + 0x12
            now = struct.unpack_from("<H", space, at)[0]
            now = now & ~0x3f0 | width << 4 if width is not None else now
            struct.pack_into("<H", space, at, now & ~0xf | speed if speed is not None else now)
        return self.config(address, change)

    def redirect(self, address, ctrl):
        def change(space):
            at = extended(space, 0x0d)
            if at:
                struct.pack_into("<H", space, at + 6, ctrl)
        return self.config(address, change)

    def relaxed(self, address, on):
        def change(space):
            at = capability(space, 0x10) + 8
            now = struct.unpack_from("<H", space, at)[0]
            struct.pack_into("<H", space, at, now | 0x10 if on else now & ~0x10)
        return self.config(address, change)

    # --- asking -------------------------------------------------------------------------------------------------------------

    def check(self, *more):
        code, out, err = run("check", *self.argv, "--format", "json", *more)
        if code not in (0, 1, 5):
            return code, {"findings": [], "error": err}
        return code, json.loads(out)

    def bad(self, *more):
        _, j = self.check(*more)
        return {(f["id"], f["target"]): f for f in j["findings"] if f["verdict"] == "fail"}


def capability(space, wanted):
    at = space[0x34]
    while at and space[at] != wanted:
        at = space[at + 1]
    return at


def extended(space, wanted):
    at = 0x100
    while at:
        head = struct.unpack_from("<I", space, at)[0]
        if head & 0xffff == wanted:
            return at
        at = head >> 20
    return 0
