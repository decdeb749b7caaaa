#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of src/models/inference on measured.csv with the program itself, and cross-validates them.

  fit.py GPUTUNE fit        fit all rows, write src/models/inference/fit.h
  fit.py GPUTUNE crossval [CSV]   leave out families of models in turn, write src/models/inference/fit.c, change_table.c,
                            errors.json and gains.json
  fit.py GPUTUNE tables CSV  the same from what crossval wrote to CSV

A family is a model's shape: its rows are not independent, so all of them are left out together. Needs scipy.
"""
import collections
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.optimize import least_squares

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src/models/inference"
NAMES = ("dense expert cache layer_us linear_us step_ms seq_us math_half math_fp8 math_fp4 math_weight math_ggml math_expert rows "
         "math_cache chunk_us first_ms first_seq_ms link_us net_us link queue finish width four math_block scan cast_us touch_us spread host_us lag fill_us expert_rows").split()
# Bounds keep every constant a thing that can be: no engine reads faster than memory gives.
BOUNDS = dict(dense=(.4, .95), expert=(.3, .95), cache=(.2, 1), layer_us=(1, 90), linear_us=(.1, 150), step_ms=(.01, 4), seq_us=(.1, 400),
              math_half=(.3, .9), math_fp8=(.1, .9), math_fp4=(.05, .9), math_weight=(.2, .95), math_ggml=(.1, .9), math_expert=(.15, 1.2),
              rows=(1, 400), math_cache=(.1, 1), chunk_us=(.5, 600), first_ms=(.05, 250), first_seq_ms=(.01, 10), link_us=(2, 40),
              net_us=(20, 200), queue=(.05, 5), finish=(.6, 1), width=(1, 1500), four=(.5, 1.2), math_block=(.1, .9), scan=(.2, 10),
              spread=(.05, 1), cast_us=(.1, 120), link=(.4, 1.2), touch_us=(.001, 40), host_us=(.5, 150), lag=(.2, 12), fill_us=(.005, 40), expert_rows=(.5, 400))
# What each is before anything is measured, and how far it may be expected to lie from there (a factor of e to SIGMA).
SIGMA = .3
START = dict(dense=.82, expert=.75, cache=.8, layer_us=20, linear_us=10, step_ms=.3, seq_us=10, math_half=.6, math_fp8=.45, math_fp4=.3,
             math_weight=.5, math_ggml=.5, math_expert=.7, rows=32, math_cache=.5, chunk_us=50, first_ms=40, first_seq_ms=1, link_us=15,
             net_us=78, link=.75, queue=1, finish=.95, width=100, four=.95, math_block=.3, scan=1.5, spread=.75, cast_us=5, touch_us=.01, host_us=5, lag=.5, fill_us=.01, expert_rows=32)
# GB10: few launches in the way, wide matrices read faster than narrow ones, block-scaled FP8 without kernels of its own.
UNIFIED_START = dict(START, dense=.88, expert=.78, layer_us=5, linear_us=5, width=450, math_expert=1, rows=8, expert_rows=7, math_block=.18, math_fp8=.4,
                     math_weight=.4, math_cache=.5, chunk_us=20, first_ms=25, cast_us=1, touch_us=8)
UNIFIED, SERVER = "vllm.unified", ("vllm.server", "sglang.server", "tensorrt-llm.server")
# H100 and H200: what a bare loop in PyTorch reaches (loop.py), and an engine's scheduling over it.
SERVER_START = dict(START, dense=.85, expert=.65, cache=.77, layer_us=40, step_ms=.5, seq_us=10, math_half=.64, math_fp8=.6, math_block=.42,
                    math_weight=.5, math_expert=.5, rows=30, math_cache=.49, chunk_us=20, first_ms=40, link_us=10, width=100, cast_us=20, link=1, touch_us=.3, host_us=40, lag=2.5, fill_us=1.5, expert_rows=8)

# What one stage fits, on which figures, of which rows: each constant on rows that speak of it.
STAGES = {
    UNIFIED: [("dense expert layer_us linear_us cache step_ms net_us width four touch_us".split(), ["tpot_ms"], "one"),
              ("math_half math_fp8 math_block scan math_fp4 math_weight math_expert rows expert_rows math_cache chunk_us first_ms".split(), ["ttft_ms"], "settled"),
              ("seq_us finish spread first_seq_ms touch_us".split(), ["tpot_ms", "throughput_tok_s", "ttft_ms"], "many")],
    "llama.cpp.unified": [("dense expert layer_us linear_us width".split(), ["tpot_ms"], "one"),
                          ("math_ggml math_cache chunk_us".split(), ["ttft_ms"], "one"),
                          ("seq_us cache rows expert_rows spread".split(), ["tpot_ms", "throughput_tok_s"], "many")],
}
STAGES["pytorch.server"] = [("dense layer_us cache seq_us cast_us width".split(), ["tpot_ms"], "steady"),
                            ("math_half math_fp8 math_cache chunk_us first_ms rows".split(), ["ttft_ms"], "one")]
for s in SERVER:
    STAGES[s] = [("dense expert layer_us cache step_ms seq_us link_us rows math_half math_fp8 math_block math_weight math_expert math_cache scan "
                  "chunk_us first_ms first_seq_ms queue cast_us link touch_us host_us lag fill_us expert_rows".split(), ["tpot_ms", "ttft_ms"], "steady")]

GROUPS = (("vllm.unified",), ("llama.cpp.unified",), SERVER, ("pytorch.server",))


def engine(text):
    t = text.lower()
    return ("vllm" if "vllm" in t else "sglang" if "sglang" in t else "tensorrt-llm" if "tensorrt" in t else
            "pytorch" if "torch" in t else "llama.cpp" if "llama" in t else "vllm")


def source_url(short, sources=dict(line.split("\t") for line in (HERE / "sources.tsv").read_text().splitlines())):
    """Where a row is from: the first part of it is a word of sources.tsv, or it stands there as it is."""
    word, slash, rest = short.partition("/")
    return sources.get(word, word) + slash + rest


def class_of(r):
    return engine(r["engine"]) + (".unified" if "gb10" in r["hardware"] else ".server")


class Study:
    def __init__(self, binary):
        self.binary = binary
        self.dir = tempfile.TemporaryDirectory()
        self.rows = list(csv.DictReader((HERE / "measured.csv").open()))
        self.files, self.index, self.waited = {}, {}, self.waiting()
        for c in STAGES:
            self.index[c] = [i for i, r in enumerate(self.rows) if class_of(r) == c]
            self.files[c] = pathlib.Path(self.dir.name) / (c + ".csv")
            with self.files[c].open("w", newline="") as f:
                w = csv.DictWriter(f, self.rows[0].keys())
                w.writeheader()
                w.writerows(self.rows[i] for i in self.index[c])

    def predict(self, path, constants):
        cal = pathlib.Path(self.dir.name) / "constants"
        cal.write_text("\n".join(f"{k} = {v:.6g}" for k, v in constants.items()))
        out = subprocess.run([self.binary, "predict", "inference", "--rows", str(path), "--calibration", str(cal), "--format", "json"],
                             check=True, capture_output=True, text=True).stdout
        return json.loads(out)["rows"]

    def waiting(self):
        """Rows whose first token came the later the longer answers are: requests waited there for a place, and how many places
        the engine had is not told. Judged by what was measured alone; they are predicted and counted, but no constant is fitted on it."""
        groups, out = collections.defaultdict(list), set()
        for i, r in enumerate(self.rows):
            if r["ttft_ms"] and r["tpot_ms"] and r["output_len"] and r["batch_or_concurrency"] not in ("", "1"):
                groups[tuple(r[k] for k in ("model", "engine", "hardware", "batch_or_concurrency", "prompt_len", "notes"))].append(i)
        for key, v in groups.items():
            x = [float(self.rows[i]["tpot_ms"]) * float(self.rows[i]["output_len"]) for i in v]
            y = [float(self.rows[i]["ttft_ms"]) for i in v]
            if len(v) >= 3 and max(x) > 1.5 * min(x) and np.polyfit(x, y, 1)[0] * float(key[3]) > .5:
                out.update(v)
        return out

    def wanted(self, r, p, which):
        one = r["batch_or_concurrency"] == "1"
        if p["skipped"] or p["speculative"]:
            return False
        if which == "one":
            return one
        if which == "settled":  # the first test after a start measures that, too
            return one and "01-chat" not in r["notes"]
        if which == "many":
            return not one
        return r["batch_or_concurrency"] != "512" and (p["ttft_ms"]["measured"] or 0) < 8000

    def stage(self, classes, names, figures, which, constants, leave):
        """Fits names, the same for all classes, weighed against what they were before."""
        index = [i for c in classes for i in self.index[c]]
        known = [self.rows[i] for i in index]
        chosen = None
        before = [math.log(constants[f"{classes[0]}.{n}"]) for n in names]

        def residuals(x):
            nonlocal chosen
            now = dict(constants)
            now.update({f"{c}.{n}": math.exp(v) for c in classes for n, v in zip(names, x)})
            got = [p for c in classes for p in self.predict(self.files[c], now)]
            if chosen is None:
                count = collections.Counter()
                picked = []
                for i, (r, p) in enumerate(zip(known, got)):
                    if not self.wanted(r, p, which) or p["family"] in leave:
                        continue
                    for f in figures:
                        if p[f]["measured"] and not (f == "ttft_ms" and index[i] in self.waited):
                            group = (r["model"], r["weight_format"], r["hardware"], f)
                            count[group] += 1
                            picked.append((i, f, group))
                chosen = [(i, f, count[g] ** -.3) for i, f, g in picked]
            return np.array([w * math.log(max(got[i][f]["predicted"] or 1e-9, 1e-9) / got[i][f]["measured"]) for i, f, w in chosen] +
                            [.12 * (v - b) / SIGMA for v, b in zip(x, before)])

        low, high = ([math.log(BOUNDS[n][k]) for n in names] for k in (0, 1))
        start = [min(max(v, a + .01), b - .01) for v, a, b in zip(before, low, high)]
        s = least_squares(residuals, start, bounds=(low, high), loss="soft_l1", f_scale=.12, diff_step=.02, max_nfev=8)
        constants.update({f"{c}.{n}": float(math.exp(v)) for c in classes for n, v in zip(names, s.x)})

    def fit(self, groups=None, leave=()):
        """Each group by itself; engines of one group first share their constants, then each goes its own way from there."""
        constants = {f"{c}.{n}": (UNIFIED_START if c == UNIFIED else SERVER_START if c.endswith("server") else START)[n] for c in STAGES for n in NAMES}
        constants.update({"pytorch.server.first_ms": .3, "pytorch.server.chunk_us": 5, "pytorch.server.layer_us": 40, "pytorch.server.host_us": 2})
        for group in groups or GROUPS:
            if len(group) > 1:
                for names, figures, which in STAGES[group[0]]:
                    self.stage(group, names, figures, which, constants, set(leave))
            for c in group:
                for names, figures, which in STAGES[c]:
                    self.stage((c,), names, figures, which, constants, set(leave))
        return constants


def write_table(constants):
    full = dict(constants)
    for e in ("sglang", "tensorrt-llm"):
        for n in NAMES:  # never measured there: as vLLM does
            full.setdefault(f"{e}.unified.{n}", full[f"vllm.unified.{n}"])
    for n in NAMES:
        full.setdefault(f"llama.cpp.server.{n}", full[f"llama.cpp.unified.{n}"])
        full.setdefault(f"pytorch.unified.{n}", full[f"vllm.unified.{n}"])
    lines = []
    for e in ("vllm", "sglang", "tensorrt-llm", "llama.cpp", "pytorch"):
        lines.append("\t{")
        for h in ("unified", "server"):
            v = [f"{full[f'{e}.{h}.{n}']:.4g}" for n in NAMES]
            lines.append("\t\t{ { " + ", ".join(v[:12]) + ",\n\t\t    " + ", ".join(v[12:24]) + ",\n\t\t    " + ", ".join(v[24:]) + " } },")
        lines.append("\t},")
    (SOURCE / "fit_table.h").write_text("""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit.py: a set for each engine and kind of hardware, by enum fit_id. */
#ifndef PREDICT_FIT_TABLE_H
#define PREDICT_FIT_TABLE_H

/* clang-format off */
static const struct fit fit_table[ENGINES][HARDWARES] = {
""" + "\n".join(lines) + "\n};\n/* clang-format on */\n\n#endif\n")


def folds(families, n):
    out = [set() for _ in range(n)]
    size = [0] * n
    for f, k in sorted(families.items(), key=lambda fk: -fk[1]):
        i = size.index(min(size))
        out[i].add(f)
        size[i] += k
    return out


FIGURES = ["ttft_ms", "tpot_ms", "throughput_tok_s"]


def crossval(study):
    told = []
    plain = {f"{c}.{n}": START[n] for c in STAGES for n in NAMES}
    for group in GROUPS:
        families = collections.Counter(p["family"] for c in group for p in study.predict(study.files[c], plain) if not p["skipped"])
        for leave in folds(families, min(6, len(families))):
            constants = study.fit((group,), leave)
            for c in group:
                for i, p in zip(study.index[c], study.predict(study.files[c], constants)):
                    r = study.rows[i]
                    if p["skipped"] or p["speculative"] or p["family"] not in leave:
                        continue
                    for f in FIGURES:
                        if p[f]["measured"]:
                            told.append(dict(kind=c, figure=f, family=p["family"], source=source_url(r["source_url"]), measured=p[f]["measured"],
                                             predicted=p[f]["predicted"],
                                             waited=int(i in study.waited), **{k: r[k] for k in KEYS}))
            print(" ".join(group), "without", ", ".join(sorted(leave)), flush=True)
    with open(sys.argv[3] if len(sys.argv) > 3 else os.devnull, "w", newline="") as f:
        w = csv.DictWriter(f, told[0].keys())
        w.writeheader()
        w.writerows(told)
    return told


# What a pair may differ in, and what it has to share besides everything else.
KEYS = ["model", "hardware", "engine", "weight_format", "kv_format", "tp", "pp", "batch_or_concurrency", "prompt_len", "output_len", "notes"]
PAIRS = {"CHANGE_WEIGHTS": ["weight_format"], "CHANGE_CACHE": ["kv_format"], "CHANGE_LAYOUT": ["hardware", "tp"],
         "CHANGE_USERS": ["batch_or_concurrency"], "CHANGE_ENGINE": ["engine"]}


def same_model(name):
    """"google/gemma-4-26B-A4B-it-NVFP4" and "...-bf16" are one model in two formats."""
    words = [w for w in name.split("/")[-1].lower().replace("_", "-").split("-")
             if w not in ("nvfp4", "fp8", "bf16", "int4", "awq", "gptq", "autoround", "mxfp4", "int8", "instruct", "it")]
    return "-".join(words)


def gpu(hardware):
    return hardware.split()[0]


def pairs(told):
    """Gains measured and predicted between rows that differ in one thing alone, medians where a place was measured more than once."""
    found = collections.defaultdict(list)
    for change, free in PAIRS.items():
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for t in told:
            notes = " ".join(n for n in t["notes"].split("; ") if n.startswith(("moe_ep", "attention_dp", "eager", "depth")))
            key = (t["kind"].rsplit(".", 1)[1], t["figure"], same_model(t["model"]), gpu(t["hardware"]), notes,
                   t["source"].rsplit("/", 2)[0] if change != "CHANGE_LAYOUT" else "",
                   *(t[k] for k in KEYS[2:-1] if k not in free), *(() if "hardware" in free else (t["hardware"],)))
            groups[key][tuple(t[k] for k in free)].append(t)
        for key, places in groups.items():
            at = sorted((p, float(np.median([t["measured"] for t in v])), float(np.median([t["predicted"] for t in v])), v[0]["family"])
                        for p, v in places.items())
            for i, (p, m, q, family) in enumerate(at):
                for _, n, o, _ in at[:i]:
                    rate = key[1] == "throughput_tok_s"
                    gain, want = (m / n, q / o) if rate else (n / m, o / q)
                    if want < 1:  # advised is what is predicted to be better
                        gain, want = 1 / gain, 1 / want
                    found[(change, key[0], key[1])].append((gain / want, family))
    return found


def write_pairs(found):
    lines, errors = [], {}
    pooled = collections.defaultdict(list)
    for (change, hardware, figure), v in found.items():
        pooled[(change, "all", figure)] += v
    for (change, hardware, figure), v in sorted({**found, **pooled}.items()):
        r = np.array([x for x, _ in v])
        families = len({x for _, x in v})
        e = np.abs(1 / r - 1)
        errors[f"{change[7:].lower()} {hardware} {figure}"] = dict(pairs=len(v), families=families, median=round(float(np.median(e)), 4),
                                                                  p90=round(float(np.percentile(e, 90)), 4))
        if len(v) < 20 or families < 2:
            continue
        h_name = dict(all="HARDWARES", unified="HARDWARE_UNIFIED", server="HARDWARE_SERVER")[hardware]
        m_name = {"ttft_ms": "MEASURE_TTFT", "tpot_ms": "MEASURE_TPOT", "throughput_tok_s": "MEASURE_THROUGHPUT"}[figure]
        low, high = (float(np.percentile(r, q)) for q in (10, 90))
        lines.append(f"\t{{ {change}, {h_name}, {m_name}, {low:.3f}, {high:.3f}, {len(v)}, {families} }},")
    (SOURCE / "change_table.c").write_text("""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit.py: a gain as measured over as predicted, by cross-validation. */
#include "models/inference/fit.h"
#include "models/inference/rows.h"

const struct change_spread change_spreads[] = {
""" + "\n".join(lines) + "\n};\nconst size_t change_spread_count = sizeof(change_spreads) / sizeof(change_spreads[0]);\n")
    return errors


def read_told(path):
    told = list(csv.DictReader(open(path)))
    for t in told:
        t.update(measured=float(t["measured"]), predicted=float(t["predicted"]), waited=int(t["waited"]))
    return told


def describe(told):
    errors, lines, ratios = {}, [], collections.defaultdict(list)
    for t in told:
        many = t["batch_or_concurrency"] != "1"
        ratios[(t["kind"], t["figure"], many)].append((t["measured"] / t["predicted"], t["family"]))
        if t["figure"] == "ttft_ms" and many and not t["waited"]:
            ratios[(t["kind"], t["figure"] + ", no waiting for a place", many)].append((t["measured"] / t["predicted"], t["family"]))
    pooled = collections.defaultdict(list)
    for (c, f, many), v in ratios.items():
        pooled[("all", f, many)] += v
    for (c, f, many), v in sorted({**ratios, **pooled}.items()):
        m = np.array([x for x, _ in v])
        families = len({x for _, x in v})
        e = np.abs(m - 1) if f == "tpot_ms" and not many else np.abs(1 / m - 1)
        errors[f"{c} {f} {'many' if many else 'one'}"] = dict(rows=len(v), families=families, median=round(float(np.median(e)), 4),
                                                             p90=round(float(np.percentile(e, 90)), 4))
        low, high = (float(np.percentile(m, q)) for q in (10, 90))
        if c != "all" and (len(v) < 20 or families < 2) or "waiting" in f:
            continue
        e_name, h_name = ("ENGINES", "HARDWARES") if c == "all" else (
            {"vllm": "ENGINE_VLLM", "sglang": "ENGINE_SGLANG", "tensorrt-llm": "ENGINE_TRTLLM", "llama.cpp": "ENGINE_LLAMACPP", "pytorch": "ENGINE_TORCH"}[c.rsplit(".", 1)[0]],
            "HARDWARE_UNIFIED" if c.endswith("unified") else "HARDWARE_SERVER")
        m_name = {"ttft_ms": "MEASURE_TTFT", "tpot_ms": "MEASURE_TPOT", "throughput_tok_s": "MEASURE_THROUGHPUT"}[f]
        lines.append(f"\t{{ {e_name}, {h_name}, {m_name}, {str(many).lower()}, {low:.3f}, {high:.3f}, {len(v)}, {families} }},")
    return errors, lines


def main():
    study = Study(sys.argv[1])
    if sys.argv[2] == "fit":
        write_table(study.fit())
        return 0
    told = read_told(sys.argv[3]) if sys.argv[2] == "tables" else crossval(study)
    gains = write_pairs(pairs(told))
    errors, lines = describe(told)
    one = [l.replace("MEASURE_TPOT, false", "MEASURE_THROUGHPUT, false") for l in lines if "MEASURE_TPOT, false" in l]
    flipped = []
    for l in one:  # one request's rate is the inverse of its time
        head, low, high, rest = l.rsplit(", ", 4)[0], *l.rsplit(", ", 4)[1:3], ", ".join(l.rsplit(", ", 4)[3:])
        flipped.append(f"{head}, {1 / float(high):.3f}, {1 / float(low):.3f}, {rest}")
    (SOURCE / "spread_table.c").write_text("""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/predict/fit.py: measured over predicted, by cross-validation over families. */
#include "models/inference/predict.h"
#include "models/inference/rows.h"

const struct spread spreads[] = {
""" + "\n".join(lines + flipped) + "\n};\nconst size_t spread_count = sizeof(spreads) / sizeof(spreads[0]);\n")
    (HERE / "errors.json").write_text(json.dumps(errors, indent=1) + "\n")
    (HERE / "gains.json").write_text(json.dumps(gains, indent=1) + "\n")
    for k, v in gains.items():
        print(f"gain: {k:39} {v['pairs']:5} pairs {v['families']:3} families median {100 * v['median']:5.1f} %  p90 {100 * v['p90']:6.1f} %")
    for k, v in errors.items():
        print(f"{k:45} {v['rows']:5} rows {v['families']:3} families  median {100 * v['median']:5.1f} %  p90 {100 * v['p90']:6.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
