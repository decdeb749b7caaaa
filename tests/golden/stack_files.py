#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writers of libraries, static libraries, fat binaries and wheels for tests; by itself it writes the seeds of
tests/fuzz/fuzz_stack.c into the folder that is named."""
import base64
import hashlib
import io
import struct
import subprocess
import sys
import zipfile
import zlib


def entry(kind, sm, ptx_version, flags, payload, unpacked=0):
    """One entry of a fat binary; kind 1 PTX, 2 cubin, 8 LTO-IR; unpacked > 0: the payload is packed."""
    pad = -len(payload) % 8
    minor, major = (ptx_version % 10, ptx_version // 10) if kind == 1 else (8, 1)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload) + pad, len(payload) if unpacked else 0, 0, minor,
                       major, sm, 0, 0, 0x11 | flags, 0, unpacked) + payload + bytes(pad)


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def cubin(sm, kernel=True):
    head = bytearray(192)
    head[0:9] = b"\x7fELF\2\1\1\x41\x08"
    struct.pack_into("<HH", head, 16, 2, 190)
    struct.pack_into("<I", head, 48, sm << 8 | 4)
    if kernel:
        head[64:76] = b".text.kernel"
    return bytes(head)


def ptx(target, version="9.0"):
    return f"//\n.version {version}\n.target {target}\n.address_size 64\n".encode()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "--single-thread", f"--stream-size={len(data)}"], input=data, stdout=subprocess.PIPE, check=True).stdout


def lz4(data):
    """A block of literals alone."""
    n = len(data)
    out = bytearray([min(n, 15) << 4])
    if n >= 15:
        n -= 15
        while n >= 255:
            out.append(255)
            n -= 255
        out.append(n)
    return bytes(out) + data


def elf(section, body, flags=2, machine=62):
    """A shared library with one section besides the names."""
    names = b"\0.shstrtab\0" + section.encode() + b"\0"
    data, strings = 64, 64 + len(body)
    headers = (strings + len(names) + 7) // 8 * 8
    head = bytearray(64)
    head[0:7] = b"\x7fELF\2\1\1"
    struct.pack_into("<HHI", head, 16, 3, machine, 1)
    struct.pack_into("<Q", head, 40, headers)
    struct.pack_into("<HHH", head, 58, 64, 3, 2)
    out = bytes(head) + body + names

    def section_header(name, kind, flag, at, size):
        return struct.pack("<IIQQQQIIQQ", name, kind, flag, 0, at, size, 0, 0, 1, 0)

    return (out + bytes(headers - len(out)) + section_header(0, 0, 0, 0, 0) +
            section_header(11, 1, flags, data, len(body)) + section_header(1, 3, 0, strings, len(names)))


def archive(*members):
    out = b"!<arch>\n"
    for name, data in members:
        out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name.encode(), 0, 0, 0, b"644", len(data)) + data
        out += b"\n" if len(data) % 2 else b""
    return out


def wheel(name="tiny", version="1.0", tag="py3-none-any", files=(), inside_tag=None, inside_name=None, record=None,
          drop=None, extra=()):
    """The bytes of a wheel. record: changes its RECORD; drop: leaves that file of dist-info out; extra: files that
    RECORD does not know."""
    info = f"{name}-{version}.dist-info"
    members = list(files) + [
        (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {inside_name or name}\nVersion: {version}\n".encode()),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {inside_tag or tag}\n".encode())]
    lines = "".join(
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(b).digest()).decode().rstrip('=')},{len(b)}\n"
        for n, b in members) + f"{info}/RECORD,,\n"
    members += list(extra) + [(f"{info}/RECORD", (record(lines) if record else lines).encode())]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for n, b in members:
            if n != f"{info}/{drop}":
                z.writestr(zipfile.ZipInfo(n, (2026, 1, 1, 0, 0, 0)), b, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def zip64(name, data):
    """An archive of one stored member whose sizes and places stand in zip64 records alone."""
    crc, big, name = zlib.crc32(data), 0xFFFFFFFF, name.encode()
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, len(data), len(data), len(name), 0) + name + data
    extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), 0)
    entry_ = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, big, big, len(name), len(extra), 0, 0, 0,
                         0, big) + name + extra
    end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry_), len(local))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(entry_), 1)
    return local + entry_ + end + locator + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, big, big, 0)


def patch_entry(data, nth, at, form, value):
    """Another number in the nth entry of the directory."""
    place = -1
    for _ in range(nth + 1):
        place = data.index(b"PK\1\2", place + 1)
    out = bytearray(data)
    struct.pack_into(form, out, place + at, value)
    return bytes(out)


def some_fatbin():
    """A bit of everything: plain, zstd and LZ4; cubins for a family and for one GPU, PTX, LTO-IR."""
    new, old = ptx("sm_121a"), ptx("sm_80", "7.0")
    return fatbin(entry(2, 120, 0, 0x200000, cubin(120)), entry(2, 90, 0, 0x108000, zstd(cubin(90)), 192),
                  entry(1, 121, 90, 0x108000, zstd(new), len(new)), entry(1, 80, 70, 0x2000, lz4(old), len(old)),
                  entry(8, 80, 0, 0x2000, b"lto lto lto lto", 15))


def ld_cache(*pairs):
    texts, rows, at = b"", b"", 48 + 24 * len(pairs)
    for name, path in pairs:
        rows += struct.pack("<IIIIQ", 0x303, at + len(texts), at + len(texts) + len(name) + 1, 0, 0)
        texts += name.encode() + b"\0" + path.encode() + b"\0"
    return b"glibc-ld.so.cache1.1" + struct.pack("<II", len(pairs), len(texts)) + bytes(20) + rows + texts


def seeds(folder):
    f = some_fatbin()
    for name, data in (
            ("fatbin", f), ("so", elf(".nv_fatbin", f)),
            ("a", archive(("/", bytes(4)), ("//", b"a_name_longer_than_fifteen.o/\n"),
                          ("/0", elf("__nv_relfatbin", f)), ("b.o/", elf(".ldata", b"x" * 24 + f)))),
            ("whl", wheel(files=[("tiny/__init__.py", b"a = 1\n"), ("tiny/k.so", elf(".nv_fatbin", f))])),
            ("cache", ld_cache(("libnccl.so.2", "/usr/lib/libnccl.so.2")))):
        with open(f"{folder}/stack.{name}", "wb") as out:
            out.write(data)


if __name__ == "__main__":
    seeds(sys.argv[1])
