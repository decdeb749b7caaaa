#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bench results of N invented machines beside those of generate.py: benches.py FOLDER N [SEED].

Figures scatter as those of like machines do; what is planted is printed as JSON: machines that are slow in one figure,
one that is better than it should be, and a figure of which a third of all machines are in a second state (nobody's fault
alone: no outlier).
"""
import json
import pathlib
import random
import sys

CASES = [("gemm", "bf16:8192", "rate", "tflop_per_s", "TFLOP/s", "higher", 690, 0.004),
         ("gpu-memory", "triad", "rate", "gb_per_s", "GB/s", "higher", 4100, 0.003),
         ("copy", "h2d:gpu0:node0", "rate", "gb_per_s", "GB/s", "higher", 55.2, 0.006),
         ("copy", "d2h:gpu0:node0", "rate", "gb_per_s", "GB/s", "higher", 54.1, 0.006),
         ("collectives", "all-reduce:8GiB", "bus", "gb_per_s", "GB/s", "higher", 365, 0.002),
         ("collectives", "all-reduce:8B", "time", "us", "us", "lower", 28, 0.03),
         ("memory-latency", "256MiB", "latency", "ns", "ns", "lower", 112, 0.008),
         ("disk", "read-seq:1MiB:qd32", "rate", "gb_per_s", "GB/s", "higher", 12.4, 0.01)]


def result(name, dice, change):
    cases = []
    for bench, case, key, unit, text, better, usual, spread in CASES:
        v = usual * (1 + dice.gauss(0, spread))
        v = change(bench, case, v)
        cases.append({"bench": bench, "case": case, "method": "as it is", "method_version": 1,
                      "figures": [{"key": key, "title": key, "unit": unit, "unit_text": text, "better": better, "n": 20,
                                   f"median_{unit}": v, f"samples_{unit}": [v] * 20}]})
    return {"schema": "gputune.bench/1", "tool_version": "0.1.0",
            "host": {"nodename": name, "platform": "hgx", "kernel": "6.8.0", "arch": "x86_64", "captured": False},
            "time": "2026-11-20T00:00:00Z", "exit_code": 0, "id": "x", "machine": name, "partial": False,
            "fingerprint": dict({"cpu": "Invented CPU"}, **{f"gpu{i}": "NVIDIA H100" for i in range(8)}), "cases": cases}


def write(folder, count, seed=1):
    dice = random.Random(seed)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"node{n:05d}" for n in range(1, count + 1)]
    picked = dice.sample(names, 7)
    planted = {picked[0]: ("gemm", 0.8), picked[1]: ("gemm", 0.9), picked[2]: ("gpu-memory", 0.93),
               picked[3]: ("collectives", 0.5), picked[4]: ("memory-latency", 1.5), picked[5]: ("disk", 0.3),
               picked[6]: ("gpu-memory", 1.2)}
    for name in names:
        bench, factor = planted.get(name, (None, 1))
        second = dice.random() < 0.33

        def change(b, case, v):
            if b == "copy" and case.startswith("d2h") and second:
                v *= 0.7
            if b == bench and not (b == "collectives" and case.endswith("8B")):
                v *= factor
            return v

        (folder / f"{name}-bench.json").write_text(json.dumps(result(name, dice, change), indent=2))
    return {n: {"bench": b, "factor": f} for n, (b, f) in planted.items()}


if __name__ == "__main__":
    print(json.dumps(write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1), indent=1))
