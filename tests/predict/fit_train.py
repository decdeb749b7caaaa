#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of training predictions to tests/data/measured-training.csv.

fit_train.py GPUTUNE fit       writes src/models/training/fit.h
fit_train.py GPUTUNE crossval  fits without each source in turn, predicts it, writes
                               src/models/training/peak.h and prints the errors
fit_train.py GPUTUNE pairs     rows that differ in one thing alone: its measured effect beside the predicted one
Every constant is held by a prior: what no row decides stays where it is.
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ROOT / "tests/data/measured-training.csv"
# name: (where the fit begins and is held, how far it may go as a factor, lowest, highest)
PRIORS = {
    "half_ampere": (0.80, 1.15, 0.3, 0.95), "half_hopper": (0.68, 1.15, 0.3, 0.9), "half_blackwell": (0.68, 1.2, 0.3, 0.9),
    "half_other": (0.80, 1.15, 0.3, 1.2), "half_h200": (1.05, 1.1, 0.7, 1.4), "fp8_hopper": (0.58, 1.2, 0.2, 0.85), "fp8_blackwell": (0.58, 1.2, 0.2, 0.85),
    "fp32": (0.76, 1.02, 0.4, 0.95), "size": (250, 1.25, 10, 3000), "flash_ampere": (0.5, 1.3, 0.1, 0.8), "flash_hopper": (0.35, 1.3, 0.1, 0.7),
    "flash3": (0.5, 1.3, 0.1, 0.8), "flash_blackwell": (0.45, 1.3, 0.1, 0.8), "flash1": (0.55, 1.2, 0.2, 1), "scan": (0.8, 1.5, 0.1, 10),
    "memory": (0.8, 1.1, 0.4, 0.95), "fused": (0.6, 1.3, 0.2, 1),
    "launch_us": (15, 1.6, 1, 100), "launch_fused": (0.5, 1.5, 0.1, 1), "link": (0.8, 1.1, 0.3, 1), "net": (0.85, 1.15, 0.2, 1),
    "hop_us": (8, 2, 0.5, 100), "hide": (0.85, 1.1, 0.2, 1), "contend": (0.2, 1.5, 0.01, 1), "tp_hidden": (0.6, 1.3, 0, 1),
    "ep_exposed": (0.7, 1.3, 0.05, 1), "expert": (0.9, 1.15, 0.1, 1), "expert_passes": (20, 1.5, 1, 200), "slack": (0.012, 1.6, 0.001, 0.1),
}
NAMES = list(PRIORS)
# Its H100s have other memory (96 GB of HBM2e) and 500 W: predicted as the others, and no constant is fitted to them.
NOT_FITTED = ("torchtitan-h100",)


class Model:
    """The program, asked for every row with a set of constants."""

    def __init__(self, program):
        self.program = program
        self.rows = [r for r in csv.DictReader(ROWS.open())]
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "constants"

    def predict(self, values):
        self.path.write_text("".join(f"{n} = {v:.8g}\n" for n, v in zip(NAMES, values)))
        out = subprocess.run([self.program, "predict", "training", "--rows", str(ROWS), "--calibration", str(self.path), "--format", "json"],
                             capture_output=True, text=True, check=True).stdout
        rows = json.loads(out)["rows"]
        self.experts = [r["experts"] for r in rows]
        return [(r["predicted_tokens_per_s_per_gpu"] or 0) for r in rows]


def family(row):
    """Rows of one program, that are left out together; of our own, those of one host and series."""
    source = row["source"]
    return source if source.startswith("training") else source.split("-")[0]


def group(row):
    return row["source"], row["hardware"]


def loss(model, values, use, weight):
    predicted = model.predict(values)
    total = 0.0
    for i in use:
        if predicted[i] > 0:
            d = abs(math.log(predicted[i] / float(model.rows[i]["tokens_s_gpu"])))
            total += weight[i] * (d * d / 0.2 if d < 0.1 else d - 0.05)
    for n, v in zip(NAMES, values):
        start, sigma, _, _ = PRIORS[n]
        total += 0.06 * (math.log(v / start) / math.log(sigma)) ** 2
    return total


def fit(model, use, rounds=8):
    counts = {}
    use = [i for i in use if model.rows[i]["source"] not in NOT_FITTED]
    for i in use:
        counts[group(model.rows[i])] = counts.get(group(model.rows[i]), 0) + 1
    weight = {i: 1 / math.sqrt(counts[group(model.rows[i])]) for i in use}
    values = [PRIORS[n][0] for n in NAMES]
    best = loss(model, values, use, weight)
    step = [math.log(PRIORS[n][1]) for n in NAMES]
    for _ in range(rounds):
        before = best
        for k, n in enumerate(NAMES):
            for sign in (1, -1):
                moved = False
                while True:
                    trial = list(values)
                    trial[k] = min(PRIORS[n][3], max(PRIORS[n][2], trial[k] * math.exp(sign * step[k])))
                    if trial[k] == values[k]:
                        break
                    x = loss(model, trial, use, weight)
                    if x >= best - 1e-6:
                        break
                    best, values, moved = x, trial, True
                if moved:
                    break
            else:
                step[k] *= 0.5
        if before - best < 1e-3 and max(step) < 0.02:
            break
    return [float(f"{v:.4g}") for v in values]


def quantile(v, p):
    v = sorted(v)
    at = p * (len(v) - 1)
    i = int(at)
    return v[i] if i + 1 >= len(v) else v[i] + (at - i) * (v[i + 1] - v[i])


def kind(model, i):
    precision = model.rows[i]["precision"]
    if model.rows[i]["framework"] == "hf-trainer":
        return "Transformers' Trainer"
    return "mixtures of experts" if model.experts[i] else {"fp8": "FP8", "bf16": "BF16"}.get(precision, precision)


def write_fit(values):
    text = "\n".join("\t" + " ".join(f"{v:g}," for v in values[i:i + 8]) for i in range(0, len(values), 8))
    replace("fit.h", r"(train_fit_table = \{ \{\n).*?(\n\}, )", text)


def replace(name, around, text):
    """The table of a header, between the two groups that are found around it."""
    path = ROOT / "src/models/training" / name
    old = path.read_text()
    new, n = re.subn(around, lambda m: m[1] + text + m[2], old, flags=re.S)
    if n != 1:
        sys.exit(f"{path}: the table was not found")
    path.write_text(new)


def report(name, errors):
    print(f"{name:42} {len(errors):4} rows, median {100 * quantile(errors, .5):5.1f} %, nine of ten below {100 * quantile(errors, .9):5.1f} %")


def crossval(model):
    """Every source left out in turn; of the largest one, every kind of hardware."""
    groups = sorted({group(r) for r in model.rows})
    left = [0.0] * len(model.rows)
    for g in groups:
        # Rows of one maker's other hardware would teach its programs' habits: the whole source goes.
        out = [i for i, r in enumerate(model.rows) if family(r) == family({"source": g[0]})]
        if any(left[i] for i in out):
            continue
        values = fit(model, [i for i in range(len(model.rows)) if i not in set(out)])
        predicted = model.predict(values)
        for i in out:
            left[i] = predicted[i]
    return left


def write_spread(model, left):
    lines = []
    for k in ("mixtures of experts", "FP8", "BF16", "Transformers' Trainer"):
        at = [i for i in range(len(model.rows)) if kind(model, i) == k and left[i] > 0]
        ratio = [float(model.rows[i]["tokens_s_gpu"]) / left[i] for i in at]
        low, high = quantile(ratio, .1), quantile(ratio, .9)
        low, high = min(low, 0.97), max(high, 1.03)
        sources = len({family(model.rows[i]) for i in at})
        lines.append(f'\t{{ {low:.3g}, {high:.3g}, {len(at)}, {sources},\n\t  "{len(at)} measurements of {k} from {sources} sources, each predicted from the other sources" }},')
    lines.append('\t{ 0.6, 1.4, 0, 0,\n\t  "too few measurements of this precision or kind of GPU: a guess" },')
    text = "\n".join(lines)
    replace("peak.h", r"(train_spreads\[\] = \{\n).*?(\n\};)", text)


def coverage(model, left):
    """How many rows lie in an interval made of other sources alone."""
    inside = counted = 0
    for f in sorted({family(r) for r in model.rows}):
        for k in ("mixtures of experts", "FP8", "BF16"):
            mine = [i for i, r in enumerate(model.rows) if family(r) == f and kind(model, i) == k and left[i] > 0]
            others = [float(r["tokens_s_gpu"]) / left[i] for i, r in enumerate(model.rows) if family(r) != f and kind(model, i) == k and left[i] > 0]
            if mine and len(others) >= 10:
                low, high = quantile(others, .1), quantile(others, .9)
                counted += len(mine)
                inside += sum(low <= float(model.rows[i]["tokens_s_gpu"]) / left[i] <= high for i in mine)
    print(f"inside an interval (four of five) made without their source: {inside} of {counted} rows, {100 * inside / counted:.0f} %")


def show(model, predicted):
    def errors(keep):
        return [abs(predicted[i] / float(r["tokens_s_gpu"]) - 1) for i, r in enumerate(model.rows) if predicted[i] > 0 and keep(i, r)]
    for g in sorted({group(r) for r in model.rows}):
        report(" ".join(g), errors(lambda i, r, g=g: group(r) == g))
    for k in ("mixtures of experts", "FP8", "BF16"):
        report(k, errors(lambda i, r, k=k: kind(model, i) == k))
    report("all", errors(lambda i, r: True))


CHANGES = ("precision", "fused", "checkpointing", "tp_overlap", "vp", "gpus")
SAME = ("source", "date", "model", "shape", "hardware", "way", "tp", "pp", "vp", "cp", "ep", "tp_overlap", "sequence", "precision", "checkpointing", "fused", "attention",
        "trained", "micro_batch")


def pairs(model):
    """What one change did, measured and predicted; of more GPUs the efficiency, at the same work for each."""
    predicted, found = model.predict(current()), {c: [] for c in CHANGES}
    rows = model.rows
    for i, a in enumerate(rows):
        for k, b in enumerate(rows[i + 1:], i + 1):
            if not predicted[i] or not predicted[k]:
                continue
            differ = [c for c in SAME if a[c] != b[c]]
            gpus = a["gpus"] != b["gpus"]
            work = float(a["global_batch"]) / int(a["gpus"]), float(b["global_batch"]) / int(b["gpus"])
            if (not differ and gpus and work[0] == work[1]) or (len(differ) == 1 and not gpus and differ[0] in CHANGES):
                what = differ[0] if differ else "gpus"
                if what == "vp" and a["notes"] != b["notes"]:
                    continue
                found[what].append((float(b["tokens_s_gpu"]) / float(a["tokens_s_gpu"]), predicted[k] / predicted[i], a, b))
    for what, list_ in found.items():
        if list_:
            points = [abs(m - p) * 100 for m, p, _, _ in list_]
            print(f"{what:14} {len(list_):3} pairs, median {quantile(points, .5):4.1f} points of percent off, nine of ten below {quantile(points, .9):4.1f}")
            if "-v" in sys.argv:
                for m, p, a, b in list_:
                    print(f"    {a['source']} {a['model']} {a['hardware']} x{a['gpus']} {a[what]} -> {b[what]}: measured {m:.3f}, predicted {p:.3f}")


def current():
    text = (ROOT / "src/models/training/fit.h").read_text()
    return [float(v) for v in text[text.index("{ {") + 3:text.index("},")].replace("\n", " ").split(",") if v.strip()]


def main():
    model = Model(sys.argv[1])
    if sys.argv[2] == "fit":
        values = fit(model, range(len(model.rows)))
        write_fit(values)
        print(dict(zip(NAMES, values)))
        show(model, model.predict(values))
    elif sys.argv[2] == "crossval":
        left = crossval(model)
        write_spread(model, left)
        coverage(model, left)
        show(model, left)
    elif sys.argv[2] == "pairs":
        pairs(model)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
