#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""predict training: laws that every prediction keeps, published runs against recorded errors, the source's two runs, what is refused.

  train.py GPUTUNE
"""
import csv
import json
import pathlib
import re
import subprocess
import tempfile

import common
from common import bench_file, end_suite, expect, fits, gputune, machines, root

table = root / "tests/data/measured-training.csv"


def run(*argv, **how):
    return common.run("predict", "training", *argv, env={"HOME": "/nonexistent"}, **how)


def ask(*argv, schema="train"):
    code, out, err = run(*argv, "--format", "json", "--no-calibration")
    expect(f"{argv} answers", code in (0, 1) and not err, (code, err))
    j = fits(f"schema of {argv}", out, schema)
    if schema == "train":
        laws(argv, j, code)
    return j


def near(a, b, part=1e-6):
    return abs(a - b) <= part * max(abs(a), abs(b), 1e-12)


def laws(argv, j, code):
    t, m, q = j["step"], j["memory"], j["asked"]
    total = sum(t[k] for k in ("forward_s", "backward_s", "recompute_s", "launch_s", "optimizer_s", "exposed_s", "contention_s", "bubble_s", "loader_s", "waiting_s"))
    expect(f"parts of a step of {argv}", near(total, t["step_s"]["value"]), (total, t))
    expect(f"what is called exposed is that of the collectives, of {argv}", near(t["exposed_s"], sum(c["exposed_s"] for c in j["communication"])), (t, j["communication"]))
    expect(f"contention is of what is hidden, of {argv}", 0 <= t["contention_s"] <= t["communication_s"] - t["exposed_s"] + 1e-9, t)
    held = sum(v for k, v in m.items() if k.endswith("_bytes") and k not in ("limit_bytes", "total_bytes"))
    expect(f"parts of memory of {argv}", near(held, m["total_bytes"]["value"]), m)
    expect("fits", m["fits"] == (held <= m["limit_bytes"]) and (code == 0) == m["fits"], (code, m))
    expect("rate", near(j["tokens_per_s"]["value"] * t["step_s"]["value"], q["global_batch"] * q["sequence_tokens"]), q)
    expect("batches", q["micro_batch"] * q["accumulation"] * q["dp"] == q["global_batch"], q)
    expect("GPUs", q["dp"] * q["tp"] * q["pp"] * q["cp"] == q["gpus"], q)
    expect("MFU is below HFU is below the peak", 0 < j["mfu_ratio"]["value"] <= j["hfu_ratio"]["value"] * 1.0001 < 1, (j["mfu_ratio"], j["hfu_ratio"]))
    for f in (j["tokens_per_s"], t["step_s"], m["total_bytes"]):
        expect("interval", f["low"] < f["value"] < f["high"], f)
    for c in j["communication"]:
        expect("exposed is a part", 0 <= c["exposed_s"] <= c["total_s"] * 1.0001 and c["from"], c)


def step(j):
    return j["step"]["step_s"]["value"]


def memory(j):
    return j["memory"]["total_bytes"]["value"]


BASE = ("--model", "llama-3-8b", "--on", "2x hgx-h100", "--global-batch", "256", "--sequence", "4096")


def check_ways():
    by = {w: ask(*BASE, "--parallel", w, "--micro-batch", "1", "--checkpointing", "full") for w in ("ddp", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp")}
    expect("sharding more needs less", memory(by["ddp"]) > memory(by["zero-1"]) > memory(by["zero-2"]) > memory(by["fsdp"]), {k: memory(v) for k, v in by.items()})
    expect("HSDP between", memory(by["fsdp"]) < memory(by["hsdp"]) < memory(by["ddp"]))
    purposes = {w: {c["purpose"] for c in j["communication"]} for w, j in by.items()}
    expect("DDP sums gradients alone", purposes["ddp"] == {"gradients"}, purposes["ddp"])
    expect("FSDP gathers twice", {"weights, forward", "weights, backward", "gradients"} <= purposes["fsdp"], purposes["fsdp"])
    expect("HSDP sums between groups", "gradients between groups" in purposes["hsdp"], purposes["hsdp"])
    # A sum of 16 bytes a parameter and a rank of ZeRO-1's: states and master weights are a sixteenth.
    z, d = by["zero-1"]["memory"], by["ddp"]["memory"]
    expect("ZeRO-1 shards states by 16", near(z["states_bytes"] * 16, d["states_bytes"]), (z, d))
    # With checkpointing, of DDP's 16-bit copies those of the head alone are there together.
    expect("16-bit weights", near(z["weights_bytes"], 2 * 8.03e9, 0.01) and near(d["weights_bytes"], 2 * 4096 * 128256), (z, d))
    slow = ask(*BASE, "--parallel", "fsdp", "--micro-batch", "1", "--checkpointing", "full", "--network", "1")
    expect("a slow network is slower", step(slow) > 1.5 * step(by["fsdp"]), (step(slow), step(by["fsdp"])))
    expect("and is the limit", slow["limit"] == "link", slow["limit"])
    bare = ask(*BASE, "--parallel", "fsdp", "--micro-batch", "1", "--checkpointing", "full", "--no-overlap")
    expect("overlap helps", step(bare) > step(by["fsdp"]))


def check_copies():
    """PyTorch's DDP has all gradients in its buckets as well: 4 bytes a parameter, and 4 again."""
    m = ask("--model", "llama-3-8b", "--on", "h200 x8", "--parallel", "ddp", "--micro-batch", "1")["memory"]
    expect("buckets of DDP", near(m["buffers_bytes"], 4 * 8.03e9, 0.01) and near(m["buffers_bytes"], m["gradients_bytes"]), m)


def check_fullest():
    """61 layers on 16 stages, three of them without experts: most stages have four layers with experts, of 2.8 G parameters in 16 parts."""
    args = ("--model", "deepseek-v3", "--on", "h100-sxm x256", "--ep", "16", "--parallel", "zero-1", "--sequence", "4096", "--global-batch", "1024",
            "--micro-batch", "1", "--checkpointing", "full")
    m = ask(*args, "--pp", "16")["memory"]
    layer = 256 * 3 * 7168 * 2048 / 16
    expect("four layers with experts", 2 * 4 * layer < m["weights_bytes"] < 2 * 4.7 * layer + 2 * 4 * 0.25e9, m)
    # What does not divide: 32 layers on 12 stages, three each, or two and the output head of 0.525 G.
    m = ask("--model", "llama-3-8b", "--on", "h200 x24", "--pp", "12", "--parallel", "zero-1", "--micro-batch", "1")["memory"]
    expect("the head's stage has fewer layers", near(m["weights_bytes"], 2 * (2 * 0.2181e9 + 0.5253e9), 0.01), m)


def check_latent():
    """Latent attention keeps queries and keys of 192, values of 128 for each of 128 heads, and what they come from."""
    by = {}
    for tokens in ("2048", "4096"):
        by[tokens] = ask("--model", "deepseek-v3", "--on", "h100-sxm x256", "--pp", "16", "--ep", "16", "--parallel", "zero-1", "--sequence", tokens,
                         "--global-batch", "1024", "--micro-batch", "1", "--checkpointing", "full")["memory"]["working_bytes"]
    token = (by["4096"] - by["2048"]) / 2048
    heads = 128 * (2 * 192 + 128) + 1536 + 512 + 64 + 128 * 128
    inner = 3.4 * (3 * 18432 + 58 * 9 * 2048) / 61
    expect("of the layer at work", near(token, 2 * (heads + 7168 * (5 + 2 * 8) + inner), 0.01), (token, heads))


def check_activations():
    by = {c: ask(*BASE, "--parallel", "fsdp", "--micro-batch", "1", "--checkpointing", c) for c in ("none", "selective", "full")}
    expect("recomputing saves memory", memory(by["none"]) > memory(by["selective"]) > memory(by["full"]))
    expect("and costs time", step(by["none"]) < step(by["selective"]) < step(by["full"]))
    expect("what is recomputed is a forward pass", 0.8 < by["full"]["step"]["recompute_s"] / by["full"]["step"]["forward_s"] <= 1, by["full"]["step"])
    for more in ((), ("--compile",), ("--parallel", "zero-1")):
        j = ask(*BASE, "--checkpointing", "full", "--micro-batch", "1", "--largest", *more)
        most = j["largest"]["micro_batch"]
        for b, small in ((most, True), (most + 1, False)):
            k = ask("--model", "llama-3-8b", "--on", "2x hgx-h100", "--sequence", "4096", "--checkpointing", "full", "--parallel", j["asked"]["parallel"],
                    "--micro-batch", b, "--accumulation", "1", *(("--compile",) if "--compile" in more else ()))
            expect(f"micro-batch {b} of at most {most} {more}", k["memory"]["fits"] == small, k["memory"])


def check_needed():
    """What 77 runs of Transformers' Trainer allocated, and a context of 0.9 GB, is met; what the driver showed lies in the interval."""
    rows = ask("--rows", table, schema="train-rows")["rows"]
    runs = [(r, told) for r, told in zip(rows, csv.DictReader(table.open())) if r["source"].startswith("training-runs")]
    expect("runs", len(runs) == 77, len(runs))
    expect("speed inside the interval", sum(r["low"] <= r["measured_tokens_per_s_per_gpu"] <= r["high"] for r, _ in runs) >= 0.8 * len(runs))
    for r, told in runs:
        needed = float(re.search(r"allocated ([0-9.]+) GiB", told["notes"])[1]) + 0.84
        expect(f"memory of line {r['line']}", abs(r["predicted_memory_gib"] / needed - 1) < 0.055 and r["fits"], (r, needed))
        expect(f"what fits has to fit, line {r['line']}", needed < 1.08 * r["predicted_memory_gib"], (r, needed))
        expect(f"shown by the driver, line {r['line']}", 0.93 * r["predicted_memory_gib"] < r["measured_memory_gib"] < 1.25 * r["predicted_memory_gib"], r)


def check_frozen():
    """QLoRA: 4.127 bits for each frozen weight of a layer, and the time to widen them; only with adapters."""
    on = ("--model", "llama-3-8b", "--on", "h100", "--micro-batch", "1", "--accumulation", "1", "--sequence", "1024", "--lora")
    wide, four = ask(*on), ask(*on, "--frozen", "nf4")
    layers = 0.995 * 8.03e9 - 2 * 4096 * 128256
    expect("frozen weights in four bits", near(wide["memory"]["weights_bytes"] - four["memory"]["weights_bytes"], layers * (2 - 4.127 / 8), 0.01),
           (wide["memory"], four["memory"]))
    more = ("--sequence", "4096") # where the CPU is not the limit
    expect("cost time", step(ask(*on[:-3], *more, "--lora", "--frozen", "nf4")) > 1.1 * step(ask(*on[:-3], *more, "--lora")), on)
    code, _, err = run("--model", "llama-3-8b", "--on", "h100", "--frozen", "nf4")
    expect("needs adapters", code == 2 and "adapters" in err and "--lora" in err, (code, err))
    hf, plain = (step(ask(*on, "--framework", f)) for f in ("hf-trainer", "pytorch"))
    expect("the framework's CPU time counts", hf > 1.2 * plain, (hf, plain))


def check_verdict():
    """The first word is only as sure as the interval of the need is."""
    seen = set()
    for b in ("1", "2", "3", "4", "5", "16"):
        args = ("--model", "llama-3.1-8b", "--on", "hgx-h100", "--parallel", "zero-1", "--checkpointing", "none", "--micro-batch", b)
        need = ask(*args)["memory"]
        low, high, limit = need["total_bytes"]["low"], need["total_bytes"]["high"], need["limit_bytes"]
        unsure = low < limit < high
        want = {(True, True): "May fit", (True, False): "Fits", (False, True): "May not fit", (False, False): "Does not fit"}[need["fits"], unsure]
        seen.add(want)
        text = run(*args, "--no-calibration")[1]
        expect(f"micro-batch {b}: {want}", f"\n{want}: " in text and f"{low / 1e9:.1f} to {high / 1e9:.1f} GB" in " ".join(text.split()),
               text[:600])
    expect("sure and unsure ones", {"Fits", "May fit", "May not fit", "Does not fit"} == seen, seen)


def check_stages():
    plain = ask(*BASE[:4], "--global-batch", "64", "--sequence", "4096", "--pp", "4", "--micro-batch", "1", "--checkpointing", "full", "--network", "1000")
    t, q = plain["step"], plain["asked"]
    work = t["forward_s"] + t["backward_s"] + t["recompute_s"] + t["launch_s"]
    sends = sum(c["exposed_s"] for c in plain["communication"] if c["purpose"] == "stages")
    expect("bubble of 1F1B", near(t["bubble_s"], (work + sends) * 3 / q["accumulation"], 1e-6), (t, q))
    half = ask(*BASE[:4], "--global-batch", "64", "--sequence", "4096", "--pp", "4", "--interleave", "2", "--micro-batch", "1", "--checkpointing", "full")
    expect("interleaving halves the bubble", 0.4 < half["step"]["bubble_s"] / t["bubble_s"] < 0.6, (half["step"], t))
    expert = ask("--model", "qwen3-30b-a3b", "--on", "hgx-h100", "--ep", "8", "--global-batch", "64", "--sequence", "4096", "--micro-batch", "1", "--checkpointing", "full")
    expect("experts exchange", any(c["collective"] == "all-to-all" for c in expert["communication"]), expert["communication"])
    both = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--tp", "2", "--cp", "2", "--global-batch", "8", "--sequence", "8192", "--micro-batch", "1", "--checkpointing", "full")
    expect("tensor and context parallel", {"tensor parallel", "sequence (context) parallel"} <= {c["purpose"] for c in both["communication"]}, both["communication"])
    wait = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--micro-batch", "1", "--accumulation", "1", "--checkpointing", "full", "--loader", "20s")
    expect("a slow loader is the limit", wait["limit"] == "loader" and wait["step"]["loader_s"] > 15, wait["step"])


def check_what_if():
    args = ("--model", "llama-3-8b", "--on", "2x hgx-h100", "--global-batch", "256", "--sequence", "4096", "--parallel", "fsdp", "--micro-batch", "1", "--checkpointing", "full")
    j = ask(*args, "--what-if")
    by = {c["key"]: c for c in j["what_if"]["changes"]}
    expect("changes", {"micro-batch", "no-checkpointing", "compile", "fp8", "hsdp"} <= set(by), by.keys())
    for key, swap in (("compile", ("--compile",)), ("fp8", ("--precision", "fp8")), ("attention", ("--attention", "flash3"))):
        k = ask(*args, *swap)
        expect(f"the gain of {key} is that of asking for it", near(by[key]["gain"]["value"], step(j) / step(k), 1e-4), (by[key]["gain"], step(j), step(k)))
        expect("after", near(by[key]["tokens_per_s"], k["tokens_per_s"]["value"], 1e-6), by[key])
    j = ask(*args[:8], "--parallel", "zero-1", "--micro-batch", "2", "--checkpointing", "full", "--what-if")
    ways = {c["key"]: c for c in j["what_if"]["changes"] if c["key"] in ("fsdp", "hsdp")}
    for key, c in ways.items():
        k = ask(*args[:8], "--parallel", key, "--micro-batch", "2", "--checkpointing", "full")
        expect(f"{key} is that of asking for it", near(c["tokens_per_s"], k["tokens_per_s"]["value"], 1e-6), (c, k["tokens_per_s"]))
    expect("both are offered", set(ways) == {"fsdp", "hsdp"}, ways)
    for c in by.values():
        expect("an interval around a gain, said to be predicted", c["gain"]["low"] < c["gain"]["value"] < c["gain"]["high"] and c["state"] == "predicted" and c["why"], c)
        expect("the global batch stays", c["after"]["global_batch"] == 256, c["after"])
    best = j["what_if"]["best"]
    same = [c for c in by.values() if c["fits"] and c["key"] not in ("fp8", "bf16", "tf32", "8-bit-states")]
    expect("together at least as good as each alone", best and best["gain"]["value"] >= max(c["gain"]["value"] for c in same) * 0.999, best)
    expect("the best fits and keeps the number format", best["fits"] and best["after"]["precision"] == "bf16" and best["after"]["optimizer"] == "adamw-fused", best)


def check_scale():
    j = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--sequence", "4096", "--micro-batch", "1", "--accumulation", "4", "--parallel", "fsdp", "--checkpointing", "full",
            "--scale", "4,8,16,64,256")
    points = j["scale"]
    expect("points", [p["gpus"] for p in points] == [4, 8, 16, 64, 256] and [p["machines"] for p in points] == [1, 1, 2, 8, 32], points)
    expect("the first is the measure", points[0]["efficiency_ratio"]["value"] == 1)
    values = [p["efficiency_ratio"]["value"] for p in points]
    expect("more machines are less efficient", all(a >= b for a, b in zip(values[1:], values[2:])) and 0.5 < values[-1] < 1, values)
    strong = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--sequence", "4096", "--micro-batch", "1", "--global-batch", "64", "--parallel", "fsdp", "--checkpointing", "full",
                 "--scale", "8,16,64,128", "--strong")["scale"]
    expect("a batch that does not divide is said", not strong[3]["possible"] and "128" in strong[3]["why_not"], strong[3])
    expect("the same batch scales worse", strong[2]["efficiency_ratio"]["value"] < values[3], (strong, values))


def check_scaling_rows():
    """Published runs on more GPUs with the same work for each: the efficiency, measured and predicted."""
    same = ("source", "date", "model", "hardware", "way", "tp", "pp", "vp", "cp", "ep", "sequence", "precision", "checkpointing", "fused", "micro_batch", "notes")
    told = list(csv.DictReader(table.open()))
    rows = ask("--rows", table, schema="train-rows")["rows"]
    off = []
    for i, (a, x) in enumerate(zip(told, rows)):
        for b, y in list(zip(told, rows))[i + 1:]:
            if all(a[k] == b[k] for k in same) and a["gpus"] != b["gpus"] and int(a["global_batch"]) * int(b["gpus"]) == int(b["global_batch"]) * int(a["gpus"]):
                measured = y["measured_tokens_per_s_per_gpu"] / x["measured_tokens_per_s_per_gpu"]
                off.append(100 * abs(measured - y["predicted_tokens_per_s_per_gpu"] / x["predicted_tokens_per_s_per_gpu"]))
    off.sort()
    expect("efficiency with more GPUs, in points", len(off) >= 60 and off[len(off) // 2] <= 2.5 and off[len(off) * 9 // 10] <= 8, (len(off), off[len(off) // 2:]))


def check_lab():
    """Our own runs on one and two H200: times of a step, and efficiency where one GPU did the same work."""
    told = list(csv.DictReader(table.open()))
    off, points, alone = [], [], {}
    for c, r in zip(told, ask("--rows", table, schema="train-rows")["rows"]):
        if c["source"] != "training-lab":
            continue
        measured, predicted = r["measured_tokens_per_s_per_gpu"], r["predicted_tokens_per_s_per_gpu"]
        work = c["model"], c["precision"], c["micro_batch"], int(c["global_batch"]) // int(c["gpus"]), c["checkpointing"]
        off.append(abs(measured / predicted - 1))
        if c["gpus"] == "1":
            alone[work] = measured, predicted
        elif work in alone:
            points.append(100 * abs(measured / alone[work][0] - predicted / alone[work][1]))
    expect("step times of our own runs within 15 %, but for one", len(off) >= 19 and sorted(off)[-2] <= 0.15 and max(off) <= 0.25, off)
    expect("their efficiency within 8 points, but for three", len(points) >= 10 and sorted(points)[-4] <= 8 and max(points) <= 17, points)


def check_hosts():
    """The same runs on three hosts of H200s, whose CPUs launched kernels as fast as they do: each lies in the interval where it counts."""
    def asked(parallel, gpus, micro, shape="24:1024:16:16:4096:2:32000"):
        return ask("--model", shape, "--on", f"h200 x{gpus}", "--parallel", parallel, "--micro-batch", str(micro), "--accumulation", "1", "--sequence", "1024",
                   "--framework", "pytorch")

    # ms a step: scripts/training-proof on hosts of two, four and eight GPUs
    for parallel, gpus, micro, times in (("ddp", 1, 2, (30.0, 39.4)), ("ddp", 2, 2, (33.3,)), ("ddp", 4, 2, (58,)), ("ddp", 8, 2, (67.6,)),
                                         ("fsdp", 2, 2, (74.4,)), ("fsdp", 8, 2, (115.3,)), ("fsdp", 8, 8, (117.7,))):
        t = asked(parallel, gpus, micro)["step"]
        expect(f"{parallel} x{gpus}, micro-batch {micro}: the CPU is in the interval", all(t["step_s"]["low"] <= 1e-3 * v <= t["step_s"]["high"] for v in times), (times, t["step_s"]))
    small, large = asked("ddp", 8, 2), asked("ddp", 8, 32)
    expect("it is said where it counts, and only there", "CPU" in small["interval_of"] and "CPU" not in large["interval_of"], (small["interval_of"], large["interval_of"]))


def check_counting():
    """Operations are those that there are, whatever they cost; states of ZeRO-3 are 16 bytes a parameter."""
    # By hand: 6 a parameter, three times causal attention of 21 layers that see all and 21 with a window of 4096.
    for more, seen in ((("--sequence", "8192"), (8192 / 2, 4096 - 4096 * 4096 / 2 / 8192)), (("--sequence", "32768", "--checkpointing", "full"), (32768 / 2, 4096 - 4096 * 4096 / 2 / 32768))):
        j = ask("--model", "gemma-2-9b", "--on", "h100 x8", "--parallel", "fsdp", "--micro-batch", "1", *more)
        attention = 4 * 16 * 256 * 21 * sum(seen)
        expect("operations of heads of 256", near(j["model_flop_per_token"], 6 * j["parameters"] + 3 * attention, 2e-3), (j["model_flop_per_token"], attention))
        if "full" in more:
            head = 256000 * 3584
            expect("all layers twice, the head once", near(j["hardware_flop_per_token"], 8 * j["parameters"] - 2 * head + 4 * attention, 2e-3), j["hardware_flop_per_token"])
    on = ("--model", "llama-3.1-70b", "--on", "h100 x16", "--micro-batch", "1", "--checkpointing", "full", "--sequence", "4096")
    m = ask(*on, "--parallel", "zero-3")["memory"]
    held = sum(m[k] for k in ("weights_bytes", "master_bytes", "gradients_bytes", "states_bytes"))
    expect("ZeRO-3 keeps 16 bytes a parameter", near(held, 16 * 70.55e9 / 16, 1e-2), (held, m))
    m = ask(*on, "--parallel", "fsdp")["memory"]
    held = sum(m[k] for k in ("weights_bytes", "master_bytes", "gradients_bytes", "states_bytes"))
    expect("FSDP keeps 16: FP32 weights and gradients", near(held, 16 * 70.55e9 / 16, 1e-2), (held, m))


def check_volta():
    """Its tensor cores know FP16 alone."""
    on = ("--model", "llama-3.2-1b", "--on", "v100", "--micro-batch", "1")
    expect("FP16 by itself, and why", ask(*on)["asked"]["precision"] == "fp16" and "no BF16" in run(*on)[1], ask(*on)["asked"])
    for p in ("tf32", "bf16", "fp8"):
        code, _, err = run(*on, "--precision", p)
        expect(f"refuses {p}", code == 2 and p in err, (code, err))
    keys = {c["key"]: c for c in ask(*on, "--precision", "fp32", "--what-if")["what_if"]["changes"]}
    expect("and is not offered it", "tf32" not in keys and keys["bf16"]["after"]["precision"] == "fp16", keys)


def check_uneven():
    """Twelve GPUs are a machine of eight and half of one."""
    j = ask("--model", "llama-3.1-8b", "--on", "h100 x12", "--tp", "4", "--micro-batch", "1", "--accumulation", "1")
    tp = {c["purpose"]: c for c in j["communication"]}["tensor parallel"]
    expect("tensor parallelism of four stays inside", not tp["network"], tp)


def check_experts():
    """What is spread over few ranks is exchanged between few, and dispatchers send a token once to a machine."""
    on = ("--model", "qwen3-30b-a3b", "--on", "2x hgx-h100", "--parallel", "fsdp", "--micro-batch", "1", "--accumulation", "1", "--checkpointing", "full")
    whole, half, alone = ({c["purpose"]: c for c in ask(*on, *more)["communication"]} for more in ((), ("--ep", "8"), ("--ep", "16")))
    expect("experts that one rank alone holds are not gathered", "experts, forward" not in alone and half["experts, forward"]["ranks"] == 2, (alone.keys(), half.keys()))
    expect("without spreading all is gathered by all", "experts" not in whole and whole["weights, forward"]["bytes"] > 5 * half["weights, forward"]["bytes"], whole)
    plain, fused = ({c["purpose"]: c for c in ask(*on, "--ep", "16", *more)["communication"]}["experts"]["bytes"] for more in ((), ("--compile",)))
    few, many = ({c["purpose"]: c for c in ask("--model", "qwen3-30b-a3b", "--on", "hgx-h200", "--parallel", "zero-1", "--micro-batch", "1", "--accumulation", "1",
                                               "--sequence", "4096", "--ep", ep)["communication"]}["experts"]["bytes"] for ep in ("2", "8"))
    expect("a copy for each of eight choices, however few ranks there are", few == many == 4096 * 8 * 2048 * 2, (few, many))
    expect("fused dispatchers send less between machines", 0.1 < fused / plain < 0.5, (plain, fused))
    sent = run(*on, "--ep", "16")[1]
    expect("as many adapters as the rate is of", "400 GB/s per direction of 8 adapters" in sent and "50 GB/s per direction of 1 adapter" in sent, sent)
    rack = ask("--model", "llama-3-8b", "--on", "gb200 x72", "--parallel", "fsdp", "--micro-batch", "1", "--accumulation", "1")
    expect("a rack is one machine", rack["asked"]["gpus"] == 72 and not any("between machines" in n for n in rack["notes"]), rack["asked"])


def check_eager():
    """The CPU's work: a small model waits for it, FSDP more than DDP, and a large one does not."""
    small = ("--model", "24:1024:16:16:4096:2:32000", "--on", "h200 x2", "--micro-batch", "1", "--accumulation", "1", "--sequence", "256")
    ddp, fsdp, fused = (ask(*small, "--parallel", way, *more) for way, more in (("ddp", ()), ("fsdp", ()), ("ddp", ("--compile",))))
    expect("launches limit a small model", ddp["limit"] == fsdp["limit"] == "launch" and step(fsdp) > 1.5 * step(ddp) > 1.5 * step(fused), (step(ddp), step(fsdp), step(fused)))
    large = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--parallel", "fsdp", "--micro-batch", "1", "--accumulation", "1", "--sequence", "8192")
    expect("and no large one", large["step"]["launch_s"] == 0, large["step"])


SOURCE = ("--model", "12:768:12:12:3072:2:50257", "--precision", "fp32", "--attention", "eager", "--parallel", "ddp", "--micro-batch", "8", "--accumulation", "1",
          "--sequence", "512")


def check_source():
    """The published pair of runs: 162 M parameters in FP32 without TF32, gradients of 651 MB; 8 and 16 H100; no constant was fitted to it."""
    one = ask(*SOURCE, "--on", "hgx-h100", "--all-reduce", "442.28", "--claim", "331842")
    expect("8 GPUs are predicted", 0.9 < one["tokens_per_s"]["value"] / 331842 < 1.1 and one["judgement"]["inside"], one["tokens_per_s"])
    gradients = sum(c["bytes"] * c["count"] for c in one["communication"])
    expect("their gradients", near(gradients, 651e6, 0.01), gradients)
    two = ask(*SOURCE, "--on", "2x hgx-h100", "--all-reduce", "435.91", "--claim", "136970")
    judged = two["judgement"]
    expect("16 GPUs would give almost twice that", 1.8 < two["tokens_per_s"]["value"] / one["tokens_per_s"]["value"] < 2, two["tokens_per_s"])
    expect("bandwidth is no explanation", not judged["inside"] and "bandwidth does not explain" in judged["verdict"], judged["verdict"])
    expect("what it would have to be", 2.5 < judged["needed_bus_gb_per_s"] < 4, judged["needed_bus_gb_per_s"])
    causes = {c["what"]: c for c in judged["causes"]}
    expect("what is excluded", causes["link bandwidth"]["excluded"] and causes["link latency"]["excluded"]
           and causes["no overlap of communication"]["excluded"], causes)
    expect("what is left, each with what to measure", all(not causes[w]["excluded"] and causes[w]["measure"] for w in
                                                          ("several ranks on one GPU", "the loader, or its storage",
                                                           "a different transport in the job than in the link test")), causes)
    # Without the measured all-reduce nothing is called measured.
    blind = ask(*SOURCE, "--on", "2x hgx-h100", "--claim", "136970")
    expect("nothing measured, nothing excluded by it", not {c["what"]: c for c in blind["judgement"]["causes"]}["link bandwidth"]["excluded"], blind["judgement"])
    expect("then the headline excludes nothing either", "does not explain" not in blind["judgement"]["verdict"] and "bandwidth explains the loss only if the links reach" in blind["judgement"]["verdict"],
           blind["judgement"]["verdict"])
    never = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--claim", "1e9")
    most = never["tokens_per_s"]["value"] / never["mfu_ratio"]["value"]
    expect("more than the peak is no measurement of this", never["judgement"]["verdict"].startswith("above the GPUs' peak") and
           f"but {round(most, -1):.0f}"[:8] in never["judgement"]["verdict"], never["judgement"]["verdict"])
    fast = ask(*SOURCE, "--on", "hgx-h100", "--claim", "600000")
    expect("too fast is said", "faster than predicted" in fast["judgement"]["verdict"], fast["judgement"])


# Medians of |predicted / measured - 1| in percent with the shipped constants, and what they may become.
RECORDED = {"mixtures of experts": 12.5, "FP8": 9, "BF16": 5.5, "all": 7.6}
# The same of families that no constant was fitted to: full training (most of it DeepSpeed ZeRO-3, or a container of 2024), adapters, QLoRA.
ASIDE = {"full": 31, "LoRA": 12.5, "QLoRA": 12}


def check_aside():
    told = list(csv.DictReader((root / "tests/data/measured-training-aside.csv").open()))
    errors = {k: [] for k in ASIDE}
    for c, r in zip(told, ask("--rows", root / "tests/data/measured-training-aside.csv", schema="train-rows")["rows"]):
        errors["QLoRA" if c["frozen"] else "LoRA" if c["trained"] else "full"].append(abs(r["predicted_tokens_per_s_per_gpu"] / float(c["tokens_s_gpu"]) - 1))
        if c["memory_gib"] and not c["notes"].startswith("all parameters"):
            expect(f"memory of line {r['line']}, as the driver shows it", 0.74 < r["predicted_memory_gib"] / float(c["memory_gib"]) < 1.15, r)
    for k, limit in ASIDE.items():
        e = sorted(errors[k])
        expect(f"median error of what was set aside, {k}", len(e) >= 13 and 100 * e[len(e) // 2] <= limit, 100 * e[len(e) // 2])


def check_rows():
    rows = ask("--rows", table, schema="train-rows")["rows"]
    sources, errors = set(), {k: [] for k in RECORDED}
    for r in rows:
        if r["skipped"]:
            expect(f"row {r['line']} is predicted", False, r["skipped"])
            continue
        sources.add(r["source"])
        e = abs(r["predicted_tokens_per_s_per_gpu"] / r["measured_tokens_per_s_per_gpu"] - 1)
        errors["all"].append(e)
        kind = "mixtures of experts" if r["experts"] else r["precision"].upper()
        if kind in errors:
            errors[kind].append(e)
    expect("enough rows and sources", len(errors["all"]) >= 480 and len(sources) >= 15, (len(errors["all"]), sources))
    for k, limit in RECORDED.items():
        e = sorted(errors[k])
        expect(f"median error of {k}", e and 100 * e[len(e) // 2] <= limit, 100 * e[len(e) // 2])
    # People choose the largest micro-batch that fits: dense models on cards of 80 GB.
    dense = [r for r in rows if r["source"] == "llm-foundry" and r["hardware"] in ("h100", "a100-80gb")]
    expect("what ran fits", sum(r["fits"] for r in dense) >= 0.95 * len(dense), sum(r["fits"] for r in dense))
    code, out, _ = run("--rows", table)
    expect("as a page", code == 0 and "inside the interval" in out and "llm-foundry" in out, out[:300])


def check_files(folder):
    tests = folder / "all_reduce.txt"
    tests.write_text("# nThread 1 nGpus 8\n# out-of-place\n#  size count type redop root time algbw busbw #wrong\n"
                     "     8388608  2097152  float  sum  -1  100.0  83.9  146.8  0  99.0  84.7  148.3  0\n"
                     "  1073741824 268435456 float sum -1 4250.0 252.6 442.1 0 4248.0 252.8 442.3 0\n")
    j = ask(*BASE[:2], "--on", "hgx-h100", "--parallel", "ddp", "--precision", "bf16", "--micro-batch", "1", "--checkpointing", "full", "--bucket", "100M", "--all-reduce", tests)
    c = j["communication"][0]
    expect("a table of nccl-tests", str(tests) in c["from"] and 146 < c["bus_gb_per_s"] < 442.2, c)
    pairs = folder / "pairs.csv"
    pairs.write_text("1e6,10\n1e9,100\n")
    c = ask(*BASE[:2], "--on", "hgx-h100", "--parallel", "ddp", "--micro-batch", "1", "--checkpointing", "full", "--all-reduce", pairs)["communication"][0]
    expect("pairs of bytes and GB/s", 10 < c["bus_gb_per_s"] < 100, c)
    config = folder / "config.json"
    config.write_text(json.dumps(dict(model_type="llama", hidden_size=2048, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
                                      intermediate_size=8192, vocab_size=128256, tie_word_embeddings=True)))
    j = ask("--model", config, "--on", "rtx4090", "--micro-batch", "1", "--sequence", "1024")
    expect("a config.json", 1.1e9 < j["parameters"] < 1.4e9, j["parameters"])
    fit = folder / "fit"
    fit.write_text("# mine\nhalf_hopper = 0.3\n")
    slow, quick = ask(*BASE, "--calibration", fit), ask(*BASE)
    expect("constants of a file", step(slow) > step(quick) and slow["constants"] == str(fit), slow["constants"])
    fit.write_text("half_hopper = much\n")
    code, _, err = run(*BASE, "--calibration", fit)
    expect("a bad constant", code == 2 and "line 1" in err, err)
    fit.write_text("half_hopper = 0\n")
    code, _, err = run(*BASE, "--calibration", fit)
    expect("a constant that divides", code == 2 and "above 0" in err, err)
    rows = folder / "measured.csv"
    rows.write_text("model,hardware,gpus,tokens_s_gpu,micro_batch,global_batch,sequence,tp\nllama-3.1-8b,h100,8,5000,1,8,2048,3\nllama-3.1-8b,h100,8,9e9,1,8,2048,1\n")
    out = " ".join(run("--rows", rows)[1].split())
    expect("rows that cannot be, by line", "line 2: 8 GPUs cannot be split into tensor 3" in out and "line 3: the measured rate exceeds the peak" in out, out)
    for name, text, word in (("rows.csv", "model,hardware\n", "tokens_s_gpu"), ("quote.csv", 'model,"\n', "quote")):
        bad = folder / name
        bad.write_text(text)
        code, out, err = run("--rows", bad)
        expect(f"a bad table {name}", code == 2 and word in err and not out, err)
    pairs.write_text("nothing here\n")
    code, _, err = run(*BASE, "--all-reduce", pairs)
    expect("a table without points", code == 2 and str(pairs) in err, err)


def check_kept(folder):
    """Results of our own bench, of such GPUs, go before data sheets."""
    args = ("--model", "llama-3-8b", "--on", "hgx-h100", "--parallel", "ddp", "--micro-batch", "8", "--accumulation", "1", "--checkpointing", "full", "--bucket", "64M",
            "--state", folder)
    for i, (size, gbs) in enumerate(((1 << 20, 20.0), (1 << 30, 200.0))):
        bench_file(folder, f"20261101-10000{i}-c", "collectives", f"all-reduce:{size >> 20}MiB", gbs, "gb_per_s", f"{size} bytes, 8 ranks, out of place", gpu="NVIDIA H100 80GB HBM3")
    bench_file(folder, "20261101-100005-d", "collectives", "all-reduce:512MiB", 1.0, "gb_per_s", f"{512 << 20} bytes, 4 ranks, out of place", gpu="NVIDIA H100 80GB HBM3")
    code, out, err = run(*args, "--format", "json")
    c = json.loads(out)["communication"][0]
    expect("a kept curve", "measured here" in c["from"] and 20 < c["bus_gb_per_s"] < 200, c)
    code, out, err = run(*args, "--format", "json", "--no-calibration")
    expect("not with --no-calibration", "measured" not in json.loads(out)["communication"][0]["from"], out[:200])
    fast = step(json.loads(run(*args, "--format", "json")[1]))
    bench_file(folder, "20261101-100006-e", "gemm", "bf16:8192", 341.0, "tflop_per_s", "8192 x 8192", (672, 692), gpu="NVIDIA H100 80GB HBM3")
    j = json.loads(run(*args, "--format", "json")[1])
    expect("half of the usual multiplications", 1.1 < step(j) / fast < 2.2 and any("gemm bf16:8192" in n for n in j["notes"]), (step(j), fast))


def check_places():
    on = ("--model", "qwen3-0.6b", "--micro-batch", "1", "--accumulation", "1")
    for words in ("h100 x-3", "h100 -8", "h100 8.5", "h100 xx8"):
        code, out, err = run(*on, "--on", words)
        expect(f"refuses --on {words}", code == 2 and words in err and not out, (code, err))
    for words, gpus, name in (("2x h100 nodes", 16, "H100"), ("4 machines h200", 32, "H200"), ("Jetson AGX Thor", 1, "Thor"), ("ASUS Ascent GX10", 1, "GB10"),
                              ("jetson agx orin developer kit", 1, "Orin"), ("h100 x 8", 8, "H100"), ("hgx-h100 2x", 16, "H100"), ("rtx pro 6000 x2", 2, "PRO 6000")):
        q = ask(*on, "--on", words)["asked"]
        expect(f"reads --on {words}", q["gpus"] == gpus and name in q["gpu"], q)
    by_sheet, seen = (ask(*on, *where)["memory"]["limit_bytes"] for where in (("--on", "dgx-spark"), ("--host", machines / "dgx-spark")))
    expect("unified memory by data sheet and as it is read", 0.98 * seen < by_sheet <= seen and 115e9 < seen < 120e9, (by_sheet, seen))
    # The same machine has the same memory on both pages, and each says what of it is whose.
    words = ("--model", "qwen3-0.6b", "--on", "dgx-spark", "--no-calibration")
    for kind, lines in (("training", ("available +128.45 GB", "for training +115.60 GB", "reserved +12.84 GB: for the system")),
                        ("inference", ("available +128.45 GB", "reserved for system, page cache +6.42 GB"))):
        out = common.run("predict", kind, *words).out
        expect(f"unified memory on the page of {kind}", all(re.search(x, out) for x in lines), out)


def check_adapters():
    on = ("--model", "llama-3-8b", "--on", "hgx-h100", "--micro-batch", "1", "--accumulation", "1", "--parallel", "fsdp")
    full, few, all_of_it = ask(*on), ask(*on, "--trained", "20M"), ask(*on, "--trained", "8030000000")
    ratio = few["model_flop_per_token"] / full["model_flop_per_token"]
    expect("frozen weights need no gradients of their own", 0.66 < ratio < 0.69, ratio)
    expect("all trained is all", near(all_of_it["model_flop_per_token"], full["model_flop_per_token"], 1e-3) and near(step(all_of_it), step(full), 1e-3), step(all_of_it))
    for more in ("none", "selective", "full"):
        j = ask(*on, "--trained", "20M", "--checkpointing", more)
        expect(f"HFU counts what is recomputed, {more}", (j["hfu_ratio"]["value"] > j["mfu_ratio"]["value"] * 1.05) == (more != "none"), (j["mfu_ratio"], j["hfu_ratio"]))


def numbers(text):
    return [float(x) for x in re.findall(r"(?<![\w.])\d+\.?\d*(?![\w.])", text)]


def check_words():
    """What is written for people: sums that add up, no exponents, caps and units that are said."""
    j = ask("--model", "llama-3-8b", "--on", "hgx-h100")
    lines = {l.split(":")[0]: l for l in j["explain"]}
    *parts, forward = numbers(lines["forward"].split(":", 1)[1])
    expect("the printed parts are the forward pass", near(sum(parts), forward, 2e-3) and near(1e3 * j["step"]["forward_s"], forward, 2e-3), lines["forward"])
    k, linear, head, flash, attention, twice, small, again, loss, casts, backward = numbers(lines["backward"].split(":", 1)[1])
    expect("and the backward pass", near(k * (linear + head) + flash * attention + twice * small + again * loss + casts, backward, 2e-3), lines["backward"])
    expect("contention has a line", "contention" in lines and "exposed 0 " in lines["step"], j["explain"])
    moe = ask("--model", "qwen3-30b-a3b", "--on", "hgx-h100", "--parallel", "fsdp", "--micro-batch", "1", "--accumulation", "1")
    *parts, forward = numbers(next(l for l in moe["explain"] if l.startswith("forward:")))
    expect("with experts too", near(sum(parts), forward, 2e-3), moe["explain"])
    capped = ask("--model", "qwen3-0.6b", "--on", "b200", "--sequence", "128")
    note = next(n for n in capped["notes"] if n.startswith("micro-batch"))
    expect("a cap is said", capped["asked"]["micro_batch"] == 64 and "the default is at most 64" in note and "largest that fits" not in note, note)
    code, out, _ = run("--model", "llama-3-8b", "--on", "2x hgx-h100", "--claim", "10", "--explain", "--what-if", "--no-calibration")
    expect("no exponents", code in (0, 1) and not re.search(r"\de[+-]\d", out), re.findall(r".{30}\de[+-]\d.*", out))
    j = ask("--model", "llama-3-8b", "--on", "hgx-h100", "--what-if")
    for c in j["what_if"]["changes"]:
        if c["key"] in ("8-bit-states", "full-checkpointing"):
            grew = c["after"]["micro_batch"] > j["asked"]["micro_batch"]
            expect(f"a larger micro-batch is said where there is one: {c['key']}", ("memory for a larger" in c["why"]) == ("micro-batch" in c["name"]) == grew, c)
    args = ("--model", "llama-3-8b", "--on", "2x hgx-h100", "--parallel", "ddp", "--micro-batch", "1", "--accumulation", "1")
    expect("bytes with a unit", ask(*args, "--bucket", "25MiB")["asked"]["bucket_bytes"] == 25 * 1024 * 1024)
    a, b, c = (step(ask(*args, "--network", n)) for n in ("50", "50GB/s", "400Gb/s"))
    expect("rates with a unit", a == b == c, (a, b, c))


def check_usage():
    on = ("--model", "llama-3-8b", "--on", "hgx-h100")
    for args, word in ((("--on", "h200"), "--model"), (("--model", "Acme", "--on", "h200"), "Acme"), (("--model", "llama-3-8b", "--on", "toaster"), "toaster"),
                       ((*on, "--tp", "3"), "8 GPUs"), ((*on, "--global-batch", "9"), "9"), ((*on, "--global-batch", "64", "--micro-batch", "3"), "3"),
                       ((*on, "--precision", "fp5"), "fp5"), ((*on, "--parallel", "magic"), "magic"), ((*on, "--checkpointing", "some"), "some"),
                       ((*on, "--optimizer", "hope"), "hope"), ((*on, "--attention", "none"), "none"), ((*on, "--ep", "2"), "experts"), ((*on, "--pp", "8", "--interleave", "8"), "layers"),
                       ((*on, "--pp", "4", "--interleave", "3"), "12 chunks"), ((*on, "--pp", "2", "--interleave", "5"), "10 chunks"),
                       ((*on, "--sequence", "1001", "--cp", "8"), "1001"), ((*on, "--scale", "1,,2"), "1,,2"), ((*on, "--scale", "0"), "--scale"), ((*on, "--scale", "1,"), "1,"),
                       ((*on, "--loader", "soon"), "soon"), ((*on, "--loader", "5"), "unit"), ((*on, "--shard", "4"), "hsdp"), ((*on, "--interleave", "2"), "--pp"),
                       ((*on, "--strong"), "--scale"), ((*on, "--tp-overlap"), "--tp"), ((*on, "--workers", "4"), "--loader"), ((*on, "--trained", "100B"), "100 G"),
                       (("--model", "12:768:12:5:3072:2:50257", "--on", "h200"), "kv_heads"), (("--model", "12:768:11:11:3072:2:50257", "--on", "h200"), "heads"), ((*on, "--all-reduce", "1e12"), "100000"),
                       ((*on, "--bucket", "25Miles"), "25Miles"), ((*on, "--network", "50GB"), "50GB"), ((*on, "--network", "-1"), "--network"), ((*on, "--all-reduce", "/no/such"), "/no/such"),
                       (("--model", "1:2:3", "--on", "h200"), "1:2:3"), (("--model", "a100-model", "--on", "a100", "--precision", "fp8"), ""),
                       (("--model", "llama-3-8b", "--on", "a100", "--precision", "fp8"), "fp8"), (("--rows", "/no"), "/no"),
                       ((*on, "--weights", "fp8"), "--weights"), ((*on, "--prompt", "9"), "--prompt"), ((*on, "--tp", "4096", "--pp", "4096", "--cp", "4096"), "4096"),
                       ((*on, "--parallel", "hsdp", "--shard", "3"), "3"), ((*on, "--micro-batch", "2", "--accumulation", "3", "--global-batch", "64"), "")):
        code, out, err = run(*args)
        expect(f"refuses {args}", code == 2 and word in err and not out, (code, err))
    code, out, err = other("weather")
    expect("another kind of prediction", code == 2 and "training" in err, err)
    code, out, err = other("inference", *on, "--micro-batch", "2")
    expect("an option of training", code == 2 and "--micro-batch" in err, err)
    for form in ("term", "md", "html"):
        code, out, _ = run(*on, "--what-if", "--scale", "1,8", "--claim", "1000", "--explain", "--largest", "--format", form)
        for word in ("optimizer states", "Predicted gain of each change", "With more GPUs", "possible cause", "Derivation", "Largest micro-batch"):
            expect(f"{form} says {word}", word in out and code in (0, 1), out[:200])
    code, out, _ = run("--model", "llama-3.1-405b", "--on", "hgx-h100", "--parallel", "ddp", "--micro-batch", "1")
    expect("what does not fit", code == 1 and "Does not fit" in out and "memory-capacity" in out, (code, out[:300]))
    code, out, _ = run(*on, "--quiet")
    expect("quiet", code == 0 and not out, out)
    code, out, _ = run("--model", "llama-3-8b", "--host", machines / "hgx-h100")
    expect("a captured machine", code in (0, 1) and "H100" in out, out[:300])


def other(*argv):
    p = subprocess.run([gputune, "predict", *argv], capture_output=True, text=True, timeout=60)
    return p.returncode, p.stdout, p.stderr


check_ways()
check_copies()
check_fullest()
check_latent()
check_activations()
check_needed()
check_frozen()
check_verdict()
check_stages()
check_what_if()
check_scale()
check_source()
check_rows()
check_aside()
check_scaling_rows()
check_lab()
check_hosts()
check_counting()
check_volta()
check_uneven()
check_experts()
check_eager()
with tempfile.TemporaryDirectory() as d:
    check_files(pathlib.Path(d))
    check_kept(pathlib.Path(d) / "state")
check_places()
check_adapters()
check_words()
check_usage()
end_suite()
