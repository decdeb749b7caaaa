#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profilers' files as tests/data/training keeps them: NAME.tsv.xz is a trace of torch.profiler, NAME.sqlite.xz an export of nsys.
A trace is its JSON without events, a line for each kind of event, an empty line, and a line for each event: its kind, when
it begins after the one before, and how long it takes, in units of 0.1 us.

traces.py TRACE.json[.gz] OUT.tsv.xz     keeps a trace
"""
import gzip
import json
import lzma
import pathlib
import shutil
import sys

UNIT = 10  # of a microsecond


def packed(trace):
    head = {k: v for k, v in trace.items() if k != "traceEvents"}
    kinds, rows, before = {}, [], 0
    for event in sorted(trace["traceEvents"], key=lambda e: e.get("ts", 0)):
        times = [round(event[k] * UNIT) if k in event else None for k in ("ts", "dur")]
        kind = json.dumps({k: v for k, v in event.items() if k not in ("ts", "dur")})
        row = [kinds.setdefault(kind, len(kinds)), "" if times[0] is None else times[0] - before, "" if times[1] is None else times[1]]
        before = before if times[0] is None else times[0]
        rows.append("\t".join(map(str, row)))
    return "\n".join([json.dumps(head), *kinds, "", *rows]) + "\n"


def unpacked(text):
    above, below = text.split("\n\n")
    head, *kinds = map(json.loads, above.split("\n"))
    events, now = [], 0
    for row in below.splitlines():
        kind, begins, takes = row.split("\t")
        event = dict(kinds[int(kind)])
        if begins:
            now += int(begins)
            event["ts"] = now / UNIT
        if takes:
            event["dur"] = int(takes) / UNIT
        events.append(event)
    return {**head, "traceEvents": events}


def lay_out(kept, out):
    """A copy of the folder in which traces are NAME.json.gz, as torch.profiler writes them, and exports NAME.sqlite."""
    shutil.copytree(kept, out)
    for file in out.rglob("*.xz"):
        data = lzma.decompress(file.read_bytes())
        plain = file.with_suffix("")
        if plain.suffix == ".tsv":
            plain = plain.with_suffix(".json.gz")
            data = gzip.compress(json.dumps(unpacked(data.decode()), separators=(",", ":")).encode(), 1)
        plain.write_bytes(data)
        file.unlink()


if __name__ == "__main__":
    data = pathlib.Path(sys.argv[1]).read_bytes()
    text = packed(json.loads(gzip.decompress(data) if sys.argv[1].endswith(".gz") else data))
    pathlib.Path(sys.argv[2]).write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
