#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diagnose as a user meets it: real runs of scripts/training-lab with planted faults (tests/data/training/real-*; two CPUs, gloo,
other jobs beside), what is made up around them (several runs, contradictions, GPUs, NCCL), and a job that runs.

diagnose.py GPUTUNE
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common
from common import end_suite, expect, machines, root, scratch, validate

try:
    import sqlite3
except ImportError:
    sqlite3 = None

from traces import lay_out

tmp = scratch("diagnose")
data = tmp / "training"
lay_out(root / "tests/data/training", data)


def run(*argv, **how):
    return common.run("diagnose", *argv, cwd=tmp, **how)


def diagnose(*argv, code=None, what=""):
    p = run(*argv, "--format", "json")
    try:
        j = json.loads(p.out)
    except json.JSONDecodeError:
        expect(f"{what}: JSON", False, (p.code, p.err[-800:]))
        end_suite()
    validate(j, "diagnose")
    expect(f"{what}: exit code in JSON", j["exit_code"] == p.code, (j["exit_code"], p.code))
    if code is not None:
        expect(f"{what}: exit code {code}", p.code == code, (p.code, [r["sentence"] for r in j["runs"]]))
    for r in j["runs"]:
        lawful(what, r)
    return j


def lawful(what, r):
    """What holds of every diagnosis."""
    step = r["step"]
    if step:
        parts = sum(v or 0 for v in step["parts"].values())
        expect(f"{what}: parts add up to the step", abs(parts - step["step_s"]) <= 1e-6 * step["step_s"] + 1e-12, step)
        expect(f"{what}: no part is negative", all(v is None or v >= 0 for v in step["parts"].values()), step)
    for c in r["causes"]:
        expect(f"{what}: {c['id']}: a sentence", c["says"] or c["certainty"] == "unseen", c)
        expect(f"{what}: {c['id']}: evidence", c["evidence"] or c["certainty"] in ("unseen", "possible", "excluded"), c)
        expect(f"{what}: {c['id']}: a share is a share", c["share"] is None or c["share"] <= 1, c)
    expect(f"{what}: bottleneck and verdict agree", (r["verdict"] == "bottleneck") == (r["bottleneck"] is not None), r["sentence"])
    expect(f"{what}: nothing found, no bottleneck", (r["found"] > 0) == (r["bottleneck"] is not None), r["sentence"])
    if r["bottleneck"]:
        expect(f"{what}: the bottleneck comes first", r["causes"][0]["id"] == r["bottleneck"], r["causes"][0])


def cause(j, which, n=0):
    return next(c for c in j["runs"][n]["causes"] if c["id"] == which)


def file(name, text):
    p = tmp / name
    p.parent.mkdir(parents=True, exist_ok=True)
    p.write_text(text)
    return p


# Planted faults, as they were really run.
PLANTED = {"loader-2": "loader", "loader-1": "loader", "tiny-batch-2": "small-batch", "sync-2": "sync", "sync-1": "sync", "no-overlap-2": "overlap",
           "slow-rank-2": "straggler", "network-2": "network", "checkpoint-2": "checkpoint", "precision-2": "precision"}
for name, which in PLANTED.items():
    logs = sorted((data / f"real-{name}").glob("rank*.log"))
    for how, files in (("logs", logs), ("logs and recording", [*logs, data / f"real-{name}/job.rec"])):
        j = diagnose("training", *files, code=1, what=f"{name}, {how}")
        expect(f"{name}, {how}: named", j["runs"][0]["bottleneck"] == which, j["runs"][0]["sentence"])
        c = cause(j, which)
        expect(f"{name}, {how}: by a line", any(e["line"] for e in c["evidence"]), c)
        for e in c["evidence"]:
            lines = len(pathlib.Path(e["file"]).read_bytes().splitlines()) if not e["file"].endswith(".rec") else 1 << 30
            expect(f"{name}, {how}: the line is there", e["line"] is None or 1 <= e["line"] <= lines, e)
for name in ("none-1", "none-2"):
    j = diagnose("training", *sorted((data / f"real-{name}").glob("rank*.log")), data / f"real-{name}/job.rec", code=0, what=name)
    expect(f"{name}: nobody is accused", j["runs"][0]["verdict"] == "healthy", j["runs"][0]["sentence"])
j = diagnose("training", *sorted((data / "real-none-2").glob("trace_*.json*")), what="a step's trace alone")
expect("one traced step of two ranks makes nobody a straggler for certain", cause(j, "straggler")["certainty"] in ("possible", "excluded"),
       cause(j, "straggler"))
j = diagnose("training", *sorted((data / "real-no-overlap-2").glob("trace_*.json*")), code=1, what="communication by the trace alone")
expect("communication by the trace alone: named", cause(j, "overlap")["certainty"] in ("certain", "likely"), cause(j, "overlap"))
j = diagnose("training", *sorted((data / "real-recompute-2").glob("rank*.log")), code=0, what="recompute-2")
expect("recomputing is no fault where memory is not known, but is named", cause(j, "recompute")["certainty"] == "possible", cause(j, "recompute"))
j = diagnose("training", data / "real-slow-rank-2", what="a folder")
expect("the slow rank is the last one", "rank 1 is last" in j["runs"][0]["sentence"], j["runs"][0]["sentence"])
expect("recording and logs of a folder are one run", len(j["runs"]) == 1 and len(j["files"]) == 3, j["files"])

# The same faults on a machine with two H200 GPUs (350 M parameters, DDP over NVLink; traces are cut to what GPUs did).
H200 = {"loader": "loader", "tiny-batch": "small-batch", "sync": "sync", "network": "peer", "checkpoint": "checkpoint", "recompute": "recompute"}
for name, which in H200.items():
    j = diagnose("training", data / f"h200-{name}", code=1, what=f"h200-{name}")
    expect(f"h200-{name}: named", j["runs"][0]["bottleneck"] == which, j["runs"][0]["sentence"])
for name, which, how in (("no-overlap", "overlap", "certain"), ("slow-rank", "straggler", "likely"), ("precision", "precision", "certain")):
    j = diagnose("training", data / f"h200-{name}", code=1, what=f"h200-{name}, with a trace")
    expect(f"h200-{name}, with a trace: named", (j["runs"][0]["bottleneck"], cause(j, which)["certainty"]) == (which, how), j["runs"][0]["sentence"])
# The Hugging Face Trainer on one H100 (scripts/training-trainer), its log and a recording; traced-*: record --trace besides.
shape = data / "trainer-435m.json"
for name, which in {"fp32": "precision", "loader": "loader", "batch-1": "small-batch", "save": "checkpoint"}.items():
    j = diagnose("training", data / f"trainer-{name}/run.log", data / f"trainer-{name}/run.rec", "--model", shape, code=1, what=f"trainer-{name}")
    expect(f"trainer-{name}: named", j["runs"][0]["bottleneck"] == which, j["runs"][0]["sentence"])
j = diagnose("training", data / "trainer-none/run.log", data / "trainer-none/run.rec", "--model", shape, code=0, what="trainer-none")
expect("trainer-none: healthy by busy GPUs, even steps and MFU", j["runs"][0]["verdict"] == "healthy", j["runs"][0]["sentence"])
j = diagnose("training", data / "trainer-recompute/run.log", data / "trainer-recompute/run.rec", "--model", shape, code=5, what="trainer-recompute")
expect("trainer-recompute: a recording alone does not tell it, and says what would", j["runs"][0]["bottleneck"] is None and
       "--trace" in (cause(j, "idle")["against"] or ""), cause(j, "idle"))
j = diagnose("training", data / "traced-loader", "--model", shape, code=1, what="traced-loader")
expect("traced-loader: named", j["runs"][0]["bottleneck"] == "loader", j["runs"][0]["sentence"])
# A model of 210 M, batches of 12: recorded when the rules stood.
shape = data / "trainer-210m.json"
for name, which in {"none": None, "fp32": "precision", "loader": "loader", "recompute": "recompute", "batch-1": "small-batch"}.items():
    j = diagnose("training", data / f"aside-{name}", "--model", shape, code=1 if which else 0, what=f"aside-{name}")
    expect(f"aside-{name}: named", j["runs"][0]["bottleneck"] == which, j["runs"][0]["sentence"])


def without(name, *leave):
    """The folder's files, and its trace or stacks only where they are left: recorded with --trace, it is judged as if without."""
    to = [file(f"plain/{len(leave)}/{name}/{x}", "") for x in ("run.log", "run.rec", *leave)]
    for x in to:
        x.write_bytes((data / name / x.name).read_bytes())
    return to


j = diagnose("training", *without("aside-none"), "--model", shape, code=5, what="aside-none without a trace")
expect("aside-none without a trace: gaps between launches accuse nobody", j["runs"][0]["bottleneck"] is None and "--trace" in cause(j, "idle")["against"],
       cause(j, "idle"))
# scripts/training-aside on one H100: Trainer, Accelerate and a plain loop; GPT-2 and BERT. Of log and recording, with stacks, with a trace.
for name, model, plain, stacks, traced in (
        ("none-gpt2", "gpt2m", "healthy", "healthy", "healthy"), ("none-bert", "bert", "healthy", "healthy", "healthy"),
        ("none-small", "gpt2", None, None, "healthy"), ("batch-1", "gpt2", "small-batch", "small-batch", "small-batch"),
        ("recompute", "gpt2m", None, "recompute", "recompute"), ("item", None, None, None, "sync"), ("norms", "bert", None, None, "sync"),
        # Runs of rows that were written before the rules were mended: a model saved once, a long start, garbage collection, shapes that change.
        ("none-save", None, None, None, "healthy"), ("none-vit", None, "healthy", "healthy", "healthy"), ("collect", None, "idle", "host", "host"),
        ("compile", None, "idle", "compile", "compile"), ("accumulate", None, "idle", "idle", "small-batch"), ("each", None, None, None, "launch"),
        ("busy-loader", None, "idle", "loader", "loader"), ("emptying", None, None, "host", "host"),
        # On an H200: saving, an optimizer that goes parameter by parameter, copies from pageable memory, one picture a step, a healthy ViT.
        ("saving", None, "checkpoint", "checkpoint", "checkpoint"), ("unfused", None, "idle", "launch", "launch"),
        ("copies", None, "pageable", "pageable", "pageable"), ("one-picture", None, "launch", "launch", "small-batch"),
        ("none-patches", None, None, None, "healthy"),
        # On another H200: a Trainer that ends before its last step, one CPU, Lightning 2.6 that saves, small kernels of enough tokens, .item() in
        # hooks, a run that ends before its first line, saving of GPT-NeoX, percentiles of each step, a healthy GPT-NeoX.
        ("ended-early", None, None, None, "healthy"), ("one-cpu", "bert", "thread", "thread", "thread"),
        ("lightning-saves", None, "launch", "checkpoint", "checkpoint"), ("unfused-tokens", "bert", "idle", "launch", "launch"),
        ("watched", None, None, None, "sync"), ("none-begun", None, None, None, None), ("neox-saves", None, "idle", "checkpoint", "checkpoint"),
        ("scored", None, "idle", "host", "host"), ("none-neox", None, None, None, "healthy"),
        # On a third one: "if tensor:" of each gradient, a Trainer that saves on one CPU, copies that no look has.
        ("finite", None, "idle", "sync", "sync"), ("trainer-saves", None, "thread", "checkpoint", "checkpoint"),
        ("pictures", None, None, "pageable", "pageable"),
        # Programs of other people's hands, recorded with the time of their training: a U-Net whose first step searches for 13 s, .item() in hooks,
        # a graph that is compiled in each step, wav2vec 2.0 that saves, gc.collect(), copies of logits, a thread that reads HDF5, recomputation.
        ("none-unet", None, None, None, "healthy"), ("item-hooks", None, None, "sync", "sync"), ("recompiled", None, "loader", "compile", "compile"),
        ("wav2vec-saves", None, None, "checkpoint", "checkpoint"), ("collect-each", None, None, "host", "host"),
        ("logits-copied", None, None, "pageable", "pageable"), ("queue-reader", None, "thread", "loader", "loader"),
        ("wrapped-towers", None, None, "recompute", "recompute")):
    for how, files, want in (("log and recording", without(f"seen-{name}"), plain), ("stacks", without(f"seen-{name}", "run.rec.stacks"), stacks),
                             ("a trace", [data / f"seen-{name}"], traced)):
        j = diagnose("training", *files, *(("--model", data / f"seen-{model}.json") if model else ()), what=f"seen-{name}, {how}")
        r = j["runs"][0]
        expect(f"seen-{name}, {how}", (r["bottleneck"], r["verdict"] == "healthy") == ((None, True) if want == "healthy" else (want, False)),
               (r["bottleneck"], r["sentence"]))
# Other work, on the same GPU: named, and told nothing of its batch.
for name, work in (("lora", "fine-tuning of adapters (LoRA)"), ("grpo", "reinforcement learning (generation and training)"),
                   ("unet", "training of a convolutional network"), ("generate", "generation")):
    for files in (without(f"work-{name}", "run.rec.stacks"), [data / f"work-{name}"]):
        j = diagnose("training", *files, what=f"work-{name}")
        r = j["runs"][0]
        expect(f"work-{name}: named, its batch is its own", r["work"] == work and r["bottleneck"] not in ("small-batch", "launch", "sync"),
               (r["work"], r["bottleneck"], r["sentence"]))
shape = data / "trainer-210m.json"
j = diagnose("training", data / "aside-fp32", "--model", shape, code=1, what="aside-fp32, idle")
expect("launches that wait when a look begins are no idle time", j["runs"][0]["step"]["parts"]["idle_s"] < 0.05 * j["runs"][0]["step"]["step_s"], j["runs"][0]["step"])
# What the modules of the stacks show: other work is named, and its batch is its own.
for modules, work in (({"peft/tuners/lora/layer": 90}, "fine-tuning of adapters (LoRA)"),
                      ({"transformers/generation/utils": 90, "torch/autograd/graph": 9}, "reinforcement learning (generation and training)"),
                      ({"transformers/generation/utils": 90}, "generation"), ({"torch/nn/modules/conv": 9}, "training of a convolutional network"),
                      ({"transformers/trainer": 90, "torch/autograd/graph": 9}, None), ({"transformers/generation/utils": "x"}, None)):
    stacks = file("work.stacks", json.dumps({"gputune_stacks": 1, "pid": 1, "rank": -1, "samples": 100, "every_s": 0.05, "places": [], "modules": modules},
                                            separators=(",", ":")) + "\n")
    plain = [data / f"aside-batch-1/run.{x}" for x in ("log", "rec.trace")]
    j = diagnose("training", *plain, stacks, "--model", shape, what=f"work: {work}")
    r = j["runs"][0]
    expect(f"work: {work}", r["work"] == work and (r["bottleneck"] == "small-batch") <= (work is None), (r["work"], r["sentence"]))
# Two ranks that wait for each other: the collective that runs meanwhile, and the line that waits, are evidence.
LOOK = {"ns": 5e8, "waits": 40, "copies_seen": False, "devices": [{"device": 0, "compute_ns": 2.6e8, "comm_ns": 2.4e8, "copy_ns": 0, "kernels_ns": 4.95e8,
        "any_ns": 4.95e8, "kernels": 900, "comms": 60, "copies": 0, "gaps_ns": [1e6, 0, 0]}],
        "names": [["nvjet_tst_128x256", 2.6e8, 900], ["ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2.4e8, 60]]}
waiting = file("waiting.trace", "".join(json.dumps({"gputune_trace": 1, "pid": 10 + i % 2, "rank": i % 2, **LOOK}, separators=(",", ":")) + "\n"
                                        for i in range(20)))
stacks = file("waiting.stacks", json.dumps({"gputune_stacks": 1, "pid": 10, "rank": 0, "samples": 100, "every_s": 0.05, "modules": {}, "places": [
    {"kind": "synchronizing", "samples": 44, "times": 9, "file": "/t/train.py", "function": "step", "source": "total += loss.item()", "line": 31,
     "native": {"libcuda.so.1:?": 40}}]}, separators=(",", ":")) + "\n")
j = diagnose("training", waiting, stacks, what="a wait for a collective", code=1)
told = json.dumps(cause(j, "overlap"))
expect("a wait for a collective: it is named, and the line", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL" in told and "train.py:31" in told and
       cause(j, "overlap")["certainty"] in ("certain", "likely"), told)
j = diagnose("training", data / "traced-none", "--model", data / "trainer-435m.json", code=0, what="traced-none")
expect("traced-none: nobody is accused", j["runs"][0]["verdict"] == "healthy", j["runs"][0]["sentence"])
broken = file("broken.trace", '{"gputune_trace":1,"pid":1,"rank":-1,"ns":1\n')
p = run("training", broken)
expect("a broken line of a trace is named", p.code == 5 and ":1:" in p.err, p.err)
j = diagnose("training", data / "h200-none", code=0, what="h200-none")
expect("h200-none: nobody is accused", j["runs"][0]["verdict"] == "healthy", j["runs"][0]["sentence"])
expect("h200-none: steps in which the profiler looked are left out", abs(j["runs"][0]["figures"]["drift"]) < 0.05, j["runs"][0]["figures"])
expect("h200-none: start-up under the recorder is no training", j["runs"][0]["figures"]["gpu_busy"] > 0.8, j["runs"][0]["figures"])
expect("h200-none: what the profiler costs is no idling", j["runs"][0]["step"]["parts"]["idle_s"] < 0.001, j["runs"][0]["step"])
j = diagnose("training", *sorted((data / "h200-slow-rank").glob("rank*.log")), data / "h200-slow-rank/job.rec", what="h200-slow-rank without a trace")
expect("without a trace a slow rank is not named, and what would tell is", cause(j, "straggler")["certainty"] == "unseen" and cause(j, "straggler")["measure"],
       cause(j, "straggler"))

# Several runs: the two that a cluster's owner had, 8 and 16 GPUs, weak scaling, with their all-reduce bandwidth.
HEAD = "run framework=plain model=x parameters={p} world_size={w} nodes={n} global_batch={b} micro_batch=4 sequence=2048 precision=bf16 gpu=NVIDIA_H200\n"


def steps(tokens, seconds, n=30, more=""):
    return "".join(f"step={i} tokens_per_s={tokens} step_s={seconds}{more}\n" for i in range(1, n + 1))


TESTS = """# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1   {us}  {alg}  {bus}      0   {us}  {alg}  {bus}      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {bus}
"""
tokens8, tokens16 = 331842, 136970
step8, step16 = 64 * 2048 / tokens8, 128 * 2048 / tokens16
for world, nodes, tokens, seconds, bus in ((8, 1, tokens8, step8, 442), (16, 2, tokens16, step16, 436)):
    file(f"w{world}/run.log", HEAD.format(p=3_000_000_000, w=world, n=nodes, b=8 * world) + steps(tokens, f"{seconds:.6f}"))
    alg = bus * world / (2 * (world - 1))
    file(f"w{world}/all_reduce.log", TESTS.format(us=f"{1073741824 / alg / 1e3:.1f}", alg=f"{alg:.2f}", bus=f"{bus:.2f}"))
j = diagnose("training", "w8", "w16", code=1, what="8 and 16 GPUs")
p16 = j["scaling"]["points"][1]
expect("21 % of efficiency", abs(p16["efficiency"] - tokens16 / 16 / (tokens8 / 8)) < 1e-3 and p16["kind"] == "weak", p16)
expect("a step is 4.8 times as long", abs(p16["step_ratio"] - 4.845) < 0.01, p16)
expect("bandwidth alone does not explain it", "does not explain" in (j["scaling"]["bandwidth"] or ""), j["scaling"])
expect("gradients of mixed precision are FP32, as predict training has them", "1.2e+10 bytes" in j["scaling"]["bandwidth"], j["scaling"])
expect("the loss is found, with what to measure", cause(j, "scaling", 1)["certainty"] == "certain" and "measure" in cause(j, "scaling", 1)["says"],
       cause(j, "scaling", 1))
expect("the smaller run is not accused of it", cause(j, "scaling", 0)["says"] is None, cause(j, "scaling", 0))
expect("names of folders", [r["name"] for r in j["runs"]] == ["w8", "w16"], [r["name"] for r in j["runs"]])
j = diagnose("training", "--run", "small=w8/run.log,w8/all_reduce.log", "--run", "large=w16", what="--run")
expect("--run names runs", [r["name"] for r in j["runs"]] == ["small", "large"], [r["name"] for r in j["runs"]])
file("s16/run.log", HEAD.format(p=3_000_000_000, w=16, n=2, b=64) + steps(500000, f"{64 * 2048 / 500000:.6f}"))
j = diagnose("training", "w8", "s16", what="strong scaling")
expect("strong scaling is told apart", j["scaling"]["points"][1]["kind"] == "strong", j["scaling"])

# MFU: 6 operations a parameter, against the data sheet.
f = file("mfu.log", HEAD.format(p=7_000_000_000, w=8, n=1, b=32) + steps(80000, f"{32 * 2048 / 80000:.6f}"))
j = diagnose("training", f, what="MFU")
mfu = 80000 / 8 * 6 * 7e9 / 989e12
expect("MFU by the log's parameters", abs(j["runs"][0]["figures"]["mfu"] - mfu) < 1e-3 * mfu, (j["runs"][0]["figures"], mfu))
j = diagnose("training", f, "--model", "Llama-2-7B", what="MFU of a shape")
x = j["runs"][0]["figures"]
expect("with attention it is more", x["mfu_with_attention"] > x["mfu"] > 0.4 * mfu / 0.45, x)

f = file("gain.log", HEAD.format(p=7e9, w=8, n=1, b=32).strip() + " parallel=fsdp checkpointing=full accumulation=1\n" +
         steps(60000, f"{32 * 2048 / 60000:.6f}"))
j = diagnose("training", f, "--model", "Llama-2-7B", what="gains")
x = j["runs"][0]["predicted"]
expect("predicted speed and gain, with intervals", x and x["tokens_per_s"]["low"] < x["tokens_per_s"]["value"] < x["tokens_per_s"]["high"] and
       any(g["cause"] == "recompute" and g["gain"]["value"] > 1 for g in x["gains"]), x)
told = [diagnose("training", file("gain8.log", HEAD.format(p=7e9, w=8, n=1, b=256).strip() + f" parallel=fsdp{more}\n" + steps(60000, f"{256 * 2048 / 60000:.6f}")),
                 "--model", "Llama-2-7B", what="accumulation")["runs"][0]["predicted"]["tokens_per_s"]["value"] for more in ("", " accumulation=8", " accumulation=1")]
expect("accumulation follows from the global batch", told[0] == told[1] != told[2], told)
p = run("training", f, "--model", "Llama-2-7B")
expect("what is predicted is called so", "Predicted, not measured" in p.out, p.out)
j = diagnose("training", f, what="no model")
expect("without the model nothing is predicted", j["runs"][0]["predicted"] is None, j["runs"][0]["predicted"])

# What cannot be told is no good news, and says what to measure.
f = file("short.log", steps(1000, 0.5, 3))
p = run("training", f)
expect("step times alone: cannot tell", p.code == 5 and "undecided" in p.out and "gputune record" in p.out, (p.code, p.out))
f = file("odd.log", HEAD.format(p=7e9, w=8, n=1, b=32) + steps(900000, 0.8))
j = diagnose("training", f, what="contradiction")
expect("a contradiction is said", any("contradict" in n for n in j["runs"][0]["notes"]), j["runs"][0]["notes"])

# What nobody told is unexplained, never communication; a step that is mostly so is no verdict.
BARE = "step_s=0.5 data_s=0.001 forward_s=0.1 backward_s=0.1\n"
for world in ("", "world_size=1 ", "world_size=8 "):
    f = file("bare.log", (world + BARE) * 40)
    j = diagnose("training", f, code=5, what=f"no communication told, {world}")
    parts = j["runs"][0]["step"]["parts"]
    expect(f"{world}: unexplained, not communication", parts["exposed_communication_s"] is None and abs(parts["unexplained_s"] - 0.299) < 1e-9, parts)
    expect(f"{world}: what would tell", "60 %" in j["runs"][0]["sentence"] and any("comm_exposed_s" in m for m in j["runs"][0]["missing"]), j["runs"][0])
f = file("bare.log", (BARE.strip() + " world_size=8 comm_s=0.2\n") * 40)
parts = diagnose("training", f, what="communication told")["runs"][0]["step"]["parts"]
expect("communication that is told counts", abs(parts["exposed_communication_s"] - 0.2) < 1e-9, parts)

# What cannot be is said, and nobody is healthy or certainly guilty by it.
FULL = "step_s=0.5 data_s=0.001 forward_s=0.2 backward_s=0.29"
for what, text, word in (
        ("MFU above 100 %", "run model=x world_size=8 parameters=70e9 gpu=NVIDIA_H200\n" + f"tokens_per_s=800000 {FULL}\n" * 20, "an MFU of 4247 %"),
        ("a claimed MFU above 100 %", f"{FULL} mfu=1.7\n" * 20, "has an MFU of 170 %"),
        ("waiting longer than the step", "step_s=0.5 data_s=0.9 forward_s=0.1 backward_s=0.1\n" * 20, "data takes 0.9 s in a step of 0.5 s"),
        ("communication longer than the step", f"{FULL} comm_s=0.7 world_size=2\n" * 20, "communication takes 0.7 s in a step of 0.5 s"),
        ("parts that add up to too much", "step_s=0.5 data_s=0.2 forward_s=0.3 backward_s=0.2\n" * 20, "add up to 140 % of the step")):
    j = diagnose("training", file("odd.log", text), what=what)
    r = j["runs"][0]
    expect(f"{what}: said", "contradict" in r["sentence"] and any("contradict" in n and word in n for n in r["notes"]), (r["sentence"], r["notes"]))
    expect(f"{what}: not healthy, not certain", r["verdict"] != "healthy" and not any(c["certainty"] == "certain" for c in r["causes"]), r["sentence"])

# One step proves nothing.
j = diagnose("training", file("once.log", "step=1 step_s=0.5 data_s=0.3 forward_s=0.1 backward_s=0.1\n"), what="one step")
expect("one step: the loader is not certain", cause(j, "loader")["certainty"] == "likely" and "3 required" in cause(j, "loader")["against"], cause(j, "loader"))
diagnose("training", file("once.log", f"step=1 {FULL}\n"), code=5, what="one step is no clean bill")
for n, sure in ((1, "possible"), (4, "likely"), (20, "certain")):
    logs = [file(f"r{r}.log", "".join(f"world_size=2 step={i} rank={r} step_s=1.5 data_s=0 forward_s={0.3 + 0.4 * r} backward_s=0.4 "
                                      f"comm_exposed_s={0.8 - 0.4 * r} comm_s=0.9\n" for i in range(1, n + 1))) for r in (0, 1)]
    c = cause(diagnose("training", *logs, what=f"ranks, {n} steps"), "straggler")
    expect(f"ranks, {n} steps: {sure}", c["certainty"] == sure and ("100 %" in c["says"]) == (n > 1) and (n > 1 or "3 steps are required" in c["says"]), c)

# Runs are not merged by accident.
p = run("training", "w8/run.log", "w16/run.log")
expect("8 and 16 GPUs are no one run", p.code == 2 and "--run NAME=FILE" in p.err and "w16/run.log has 16" in p.err, p.err)
p = run("training", "--run", "a=w8/run.log", "--run", "a=w16/run.log")
expect("a name twice", p.code == 2 and 'two runs are named "a"' in p.err, p.err)
shutil.copytree(tmp / "w8", tmp / "other/w8")
j = diagnose("training", "w8", "other/w8", what="folders of one name")
expect("folders of one name are told apart", [r["name"] for r in j["runs"]] == ["w8", "other/w8"], [r["name"] for r in j["runs"]])

# Names that others use, with their unit; a time without one is not guessed.
for what, name, text in (
        ("key=value", "syn.log", "iter=3 step_time=0.5, data_load_time_ms=100, fwd_time=100ms bwd_time_s=0.2 opt_time_ms=50 tok/s=1000\n" * 10),
        ("JSON", "syn.jsonl", '{"iter": 3, "time": 0.5, "data_time": 0.1, "train/fwd_ms": 100, "bwd_sec": 0.2, "opt_ms": 50, "tokens_per_second": 1000}\n' * 10),
        ("CSV", "syn.csv", "iteration,iter_time_ms,data_time,forward_ms,bwd_time_ms,optimizer_step_ms,tokens_per_sec\n" +
         "".join(f"{i},500,0.1,100,200,50,1000\n" for i in range(20)))):
    r = diagnose("training", file(name, text), what=f"synonyms, {what}")["runs"][0]
    parts = r["step"]["parts"]
    expect(f"synonyms, {what}", abs(r["step"]["step_s"] - 0.5) < 1e-9 and abs(parts["data_s"] - 0.1) < 1e-9 and abs(parts["compute_s"] - 0.3) < 1e-9 and
           abs(parts["optimizer_s"] - 0.05) < 1e-9 and abs(r["figures"]["tokens_per_s"] - 1000) < 1e-6, (r["step"], r["figures"]))
p = run("training", file("unit.log", "fwd_time=3 bwd_time=4\n" * 10))
expect("no unit, no time; the names are told", p.code == 5 and all(w in p.err for w in ("no line has a known format", "step_s", "fwd_ms")), p.err)

# NCCL's own words.
f = file("sockets.log", HEAD.format(p=7e9, w=16, n=2, b=64) +
         steps(100000, 1.31072, more=" forward_s=0.3 backward_s=0.5 optimizer_s=0.01 data_s=0.001 comm_s=0.5 comm_exposed_s=0.49"))
g = file("nccl.log", "node1:100:100 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\nnode1:100:100 [0] NCCL INFO Using network Socket\n"
                     "node1:100:100 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0\n")
j = diagnose("training", f, g, code=1, what="sockets")
expect("sockets are found", cause(j, "socket")["certainty"] == "certain" and cause(j, "socket")["share"] > 0.3, cause(j, "socket"))
expect("the line that says so is cited", any(e["line"] for e in cause(j, "socket")["evidence"]), cause(j, "socket"))

# A plug-in's network has a name of its own.
for network, says in (("IB", "NCCL uses RDMA"), ("AWS Libfabric", "NCCL's network is AWS Libfabric"), ("FasTrak", "NCCL's network is FasTrak")):
    g = file("plugin.log", f"node1:100:100 [0] NCCL INFO Using network {network}\nnode1:100:100 [0] NCCL INFO comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8\n")
    c = cause(diagnose("training", g, what=network), "socket")
    expect(f"{network}: no sockets", c["certainty"] == "excluded" and c["says"] == says, c)

# A variable alone says which network is not taken, never which one is.
for what, nodes, value, certainty in (("off on machines", 2, "1", "likely"), ("on", 2, "0", "unseen"), ("off on one machine", 1, "1", "unseen")):
    f = file("ib.log", f"run model=x world_size=16 nodes={nodes} gpu=NVIDIA_H200\nenv NCCL_IB_DISABLE={value}\n" +
             "step_s=1 data_s=0 forward_s=0.3 backward_s=0.4 comm_s=0.3 comm_exposed_s=0.25\n" * 20)
    c = cause(diagnose("training", f, what=f"NCCL_IB_DISABLE, {what}"), "socket")
    expect(f"NCCL_IB_DISABLE, {what}: {certainty}", c["certainty"] == certainty and "NCCL has chosen sockets, but no channel between GPUs uses" not in (c["says"] or ""), c)

# GPUs without a neighbour, or that can never reach one, lose nothing by a variable.
for what, head, certainty in (("eight in a machine", "world_size=8 nodes=1 gpu=NVIDIA_H200", "certain"), ("one in each machine", "world_size=4 nodes=4 gpu=NVIDIA_H200", "unseen"),
                              ("GeForce", "world_size=4 nodes=1 gpu=NVIDIA_GeForce_RTX_4090", "excluded")):
    f = file("peer.log", f"run model=x {head}\nenv NCCL_P2P_DISABLE=1\n" + "step_s=1 data_s=0 forward_s=0.3 backward_s=0.4 comm_s=0.3 comm_exposed_s=0.25\n" * 20)
    c = cause(diagnose("training", f, what=f"NCCL_P2P_DISABLE, {what}"), "peer")
    expect(f"NCCL_P2P_DISABLE, {what}: {certainty}", c["certainty"] == certainty, c)

# Megatron-LM: timers of one step add up; who trains in FP8 says BF16 as well.
MEGATRON = ("  bf16 ............................................ True\n  fp8 ............................................. hybrid\n"
            "  micro_batch_size ................................ 1\n  seq_length ...................................... 4096\n"
            "  world_size ...................................... 64\nrun gpu=NVIDIA_H100_80GB_HBM3\n")
TIMERS = (("forward-compute", 3900, 4000), ("backward-compute", 6900, 7000), ("batch-generator", 9, 10), ("forward-recv", 1, 400),
          ("backward-recv", 300, 700), ("all-grads-sync", 290, 300), ("embedding-grads-all-reduce", 1, 100), ("optimizer", 190, 200))
ITERATION = (" [2025-08-01 07:19:37] iteration {:8d}/    5000 | consumed samples:          128 | elapsed time per iteration (ms): 13000.0 | "
             "throughput per GPU (TFLOP/s/GPU): 412.5 | global batch size:   128 | lm loss: 1.04E+01 |\n(min, max) time across ranks (ms):\n")
f = file("timers.log", MEGATRON + "".join(ITERATION.format(i) + "".join(f"    {n} {'.' * (47 - len(n))}: ({a:.2f}, {b:.2f})\n" for n, a, b in TIMERS)
                                          for i in range(1, 21)))
r = diagnose("training", f, code=1, what="timers")["runs"][0]
expect("timers of a step add up", abs(r["step"]["parts"]["exposed_communication_s"] - 1.5) < 1e-9, r["step"])
expect("what they hide is not told, and said so", r["bottleneck"] == "overlap" and "up to 1.5 of 13 s" in r["sentence"] and "100 %" not in r["sentence"], r["sentence"])
expect("FP8's peak", "FP8" in (r["figures"]["peak_from"] or "") and abs(r["figures"]["mfu_with_attention"] - 412.5e12 / r["figures"]["peak_flops"]) < 1e-9, r["figures"])
expect("no contradiction by the greatest of ranks", not any("contradict" in n for n in diagnose("training", file("deep.log", f.read_text().replace(
    ", 700.00)", ", 9700.00)").replace(", 400.00)", ", 9400.00)")), what="a deep pipeline")["runs"][0]["notes"]))

# Saving that stands for every five hundredth step, in a log of every tenth, costs a five hundredth.
f = file("save.log", "".join(
    ITERATION.format(i).replace("13000.0", "1000.0") + "".join(f"    {n} {'.' * (47 - len(n))}: ({v:.2f}, {v:.2f})\n" for n, v in (
        ("forward-compute", 300), ("backward-compute", 600), ("batch-generator", 2), ("optimizer", 50))) +
    (f"(min, max) time across ranks (ms):\n    save-checkpoint {'.' * 32}: (25000.00, 25000.00)\n" if i % 500 == 0 else "") for i in range(10, 5001, 10)))
r = diagnose("training", f, what="saving, every tenth step told")["runs"][0]
expect("without the number of GPUs no clean bill for Megatron-LM", r["verdict"] == "cannot-tell" and "communication" in r["sentence"], r["sentence"])
expect("saving is spread over all steps", abs(r["step"]["parts"]["checkpoint_s"] - 0.05) < 0.002 and not any("contradict" in n for n in r["notes"]), (r["step"], r["notes"]))

# Megatron-LM stops the clock of its iterations while it saves.
f = file("beside.log", "".join(
    ITERATION.format(i).replace("13000.0", "1000.0") + "".join(f"    {n} {'.' * (47 - len(n))}: ({v:.2f}, {v:.2f})\n" for n, v in (
        ("forward-compute", 300), ("backward-compute", 600), ("batch-generator", 2), ("optimizer", 50))) +
    f"(min, max) time across ranks (ms):\n    save-checkpoint {'.' * 32}: (3000.00, 3000.00)\n" for i in range(1, 11)))
r = diagnose("training", f, what="saving longer than a step")["runs"][0]
expect("saving lies beside the step", abs(r["step"]["parts"]["checkpoint_s"] - 3) < 0.01 and abs(r["step"]["parts"]["compute_s"] - 0.9) < 0.01 and
       not any("contradict" in n for n in r["notes"]) and any("does not count checkpoint saving in the step time" in n for n in r["notes"]), (r["step"], r["notes"]))

# Until 2024 it ran on, and the step that is told next holds it.
f = file("within.log", "".join(
    ITERATION.format(i).replace("13000.0", "4000.0" if i % 5 == 1 and i > 1 else "1000.0") + "".join(f"    {n} {'.' * (47 - len(n))}: ({v:.2f}, {v:.2f})\n" for n, v in (
        ("forward-compute", 300), ("backward-compute", 600), ("batch-generator", 2), ("optimizer", 50))) +
    (f"(min, max) time across ranks (ms):\n    save-checkpoint {'.' * 32}: (3000.00, 3000.00)\n" if i % 5 == 0 else "") for i in range(1, 22)))
r = diagnose("training", f, what="a clock that runs while it saves")["runs"][0]
expect("saving lies in the step", abs(r["step"]["step_s"] - (15 * 1 + 4 * 4) / 19) < 0.01 and abs(r["step"]["parts"]["checkpoint_s"] - 12 / 19) < 0.01 and
       not any("does not count checkpoint saving in the step time" in n for n in r["notes"]), (r["step"], r["notes"]))

# Labels of tasks and of torchrun together; and pdsh's, where the line says the rank.
LINE = "step={} step_s=0.5 data_s=0.01 forward_s={} backward_s=0.3 optimizer_s=0.02"
for name, label in (("srun.log", lambda n, r: f"{n}: [rank{r}]:"), ("pdsh.log", lambda n, r: f"node{n}: rank={4 * n + r} ")):
    f = file(name, "".join(label(n, r) + LINE.format(i, 0.2 if (n, r) == (1, 2) else 0.1) + "\n" for i in range(1, 30) for n in (0, 1) for r in range(4)))
    c = cause(diagnose("training", f, what=name), "straggler")
    expect(f"{name}: the rank of the job", c["certainty"] == "certain" and c["says"].startswith("rank 6 is last") and "nan" not in json.dumps(c), c)

# The results of the Trainer, as a dictionary and as a page, are of the whole run and no two steps.
f = file("results.log", "{'train_runtime': 220.0, 'train_samples_per_second': 14.5, 'train_steps_per_second': 0.5, 'train_loss': 1.3, 'epoch': 1.0}\n"
         "***** train metrics *****\n  train_runtime            = 0:03:40.00\n  train_steps_per_second   =        0.5\n")
p = run("training", f)
expect("a summary is no step", "2 s (measured, mean over 220 s)" in p.out, p.out)

# MaxText; and the memory that Axolotl adds to the Trainer's lines.
f = file("maxtext.log", "".join(f"completed step: {i}, seconds: {40 if i == 0 else 2:.3f}, TFLOP/s/device: {200.5 if i else 10:.3f}, Tokens/s/device: {4200 if i else 200:.3f}, "
                                f"total_weights: 65536, loss: {10 - i / 10:.3f}\n" for i in range(30)))
r = diagnose("training", f, what="MaxText")["runs"][0]
expect("MaxText's steps, without the one that compiles", r["figures"]["step_s"] == 2 and r["figures"]["step_p95_s"] == 2, r)
p = run("training", f)
expect("MaxText's rates", "4200 tokens/s per GPU" in p.out and "200.5 TFLOP/s per GPU" in p.out, p.out)
p = run("training", file("axolotl.log", "".join(f"{{'loss': 1.5, 'memory/max_active (GiB)': 40.1, 'memory/device_reserved (GiB)': 44.0, 'tokens_per_second_per_gpu': {3200 + i}.5, 'epoch': 0.{i}}}\n" for i in range(10, 40))))
expect("Axolotl's memory", "44.0 GiB" in p.out and "tokens/s per GPU (from the log); number of GPUs unknown" in p.out, p.out)

# A few steps that take long are in no middle.
f = file("spikes.log", "".join(f"step={i} step_s={1.0 if i % 50 else 60.0} data_s=0.01 forward_s=0.3 backward_s=0.6 optimizer_s=0.08\n" for i in range(1, 201)))
n = diagnose("training", f, what="long steps")["runs"][0]["notes"]
expect("long steps are said, with a line", any(x.startswith("4 of 180 steps") and "the longest takes 60 s" in x and ":50)" in x for x in n), n)

# A bar of tqdm beside the results of the whole run, as every log of Hugging Face's has them.
HF = "".join(f"\r {i}%|#         | {i}/100 [00:{i % 60:02d}<03:20,  2.10s/it]\n{{'loss': 2.3, 'grad_norm': 1.2, 'epoch': 0.{i}}}\n" for i in range(10, 100, 10))
for what, text, step in (("a bar alone", HF, 2.1), ("with the results", HF + "{'train_runtime': 205.0, 'train_samples_per_second': 30.4, "
                         "'train_steps_per_second': 0.5, 'train_loss': 2.1, 'epoch': 1.0}\n", 2.0)):
    r = diagnose("training", file("bar.log", text), what=what)["runs"][0]
    expect(f"{what}: the step", abs(r["figures"]["step_s"] - step) < 1e-9, r["figures"])
expect("a mean is called one", "mean over 205 s" in run("training", "bar.log").out)

# A step by samples a second; rates of a GPU where the number of GPUs is not told.
f = file("ds.log", "  train_batch_size ............. 64\n" + "".join(
    f"[2025-03-01 10:00:00,000] [INFO] [timer.py:264:stop] epoch=0/micro_step={4 * i}/global_step={i}, RunningAvgSamplesPerSec=15.0, "
    "CurrSamplesPerSec=16.0, MemAllocated=12.3GB, MaxMemAllocated=54.2GB\n" for i in range(10, 100, 10)))
r = diagnose("training", f, what="samples a second")["runs"][0]
expect("a step by samples a second", abs(r["figures"]["step_s"] - 4) < 1e-9 and r["figures"]["tokens_from"] is None, r["figures"])
p = run("training", f)
expect("which are told, with what they leave out", "16 samples/s" in p.out and "global batch / samples per second, which DeepSpeed counts" in p.out, p.out)
p = run("training", file("titan.log", "[rank0]:[titan] 2025-05-01 12:00:00,000 - root - INFO - step: 10  loss:  7.1  memory: 47.02GiB(59.45%)  tps: 6,100  tflops: 350.12  mfu: 35.40%\n" * 5))
expect("rates of one GPU", "6100 tokens/s per GPU" in p.out and "350.1 TFLOP/s per GPU" in p.out, p.out)

# The power cap alone is what full load does; heat is not.
SMI = ("timestamp, index, name, utilization.gpu [%], enforced.power.limit [W], clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu, "
       "clocks_event_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown\n")
for what, heat, certainty in (("the cap", "Not Active", "possible"), ("heat as well", "Active", "certain")):
    f = file("smi.csv", SMI + "".join(f"2026/01/31 12:00:{t:02d}.123, 0, NVIDIA H100 80GB HBM3, 99 %, 700.00 W, 1400 MHz, 1980 MHz, 71, Active, {heat}\n" for t in range(60)))
    c = cause(diagnose("training", f, what=what), "throttled")
    expect(f"{what}: {certainty}", c["certainty"] == certainty and abs(c["share"] - (1 - 1400 / 1980)) < 1e-9 and ("by heat" in c["says"]) == (heat == "Active"), c)


# nsys marks no step: what it counts is of all that it watched, and with a log of a step.
def nsys(name, steps, kernels_s, gpus=2):
    """A step of 100 ms: kernels, then NCCL's to 90 ms; one wait of the host for each GPU."""
    db = sqlite3.connect(tmp / name)
    db.executescript("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                     "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT);"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, demangledName INTEGER);"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);")
    names = ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "ampere_sgemm_128x64_tn", "cudaStreamSynchronize_v3020")
    db.executemany("INSERT INTO StringIds VALUES(?, ?)", enumerate(names))
    for g in range(gpus):
        db.execute("INSERT INTO TARGET_INFO_GPU VALUES(?, 'NVIDIA H100 80GB HBM3')", (g,))
        for i in range(steps):
            t, n = 100_000_000 * i, round(60e-3 / kernels_s)
            each = [(t + 60_000_000 * k // n, t + 60_000_000 * (k + 1) // n, g, 1) for k in range(n)] + [(t + 60_000_000, t + 90_000_000, g, 0)]
            db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?, ?, ?, ?)", each)
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?, ?, ?, 2)", (t, t + 90_000_000, g))
    db.commit()
    db.close()
    return tmp / name


if sqlite3:
    j = diagnose("training", nsys("run.sqlite", 40, 1e-3), what="nsys alone")
    p = run("training", "run.sqlite")
    expect("a window is no step", "All 3.99 s recorded" in p.out and "times per step, so it cannot launch kernels ahead" not in p.out and "kernels per step" not in p.out, p.out)
    expect("one wait a step is not taken for 40", cause(j, "sync")["certainty"] == "possible" and "40 times in 3.99 s" in cause(j, "sync")["says"], cause(j, "sync"))
    expect("the format of products", cause(j, "precision")["certainty"] == "certain", cause(j, "precision"))
    log = file("nsys.log", "".join(f"step={i} step_s=0.1\n" for i in range(1, 31)))
    j = diagnose("training", log, "run.sqlite", what="nsys and a log")
    r = j["runs"][0]
    expect("with a log, a step is the log's", abs(r["step"]["step_s"] - 0.1) < 1e-9, r["step"])
    expect("and its waits are counted", cause(j, "sync")["certainty"] == "excluded", cause(j, "sync"))
    j = diagnose("training", log, nsys("small.sqlite", 40, 1e-5), what="small kernels and a log")
    expect("a kernel's time is of a step's kernels", "kernels per step of 10.0 us" in cause(j, "launch")["says"], cause(j, "launch"))

# Ranges of NVTX: steps, and where the host is while a GPU has nothing to do. Two processes, each of which counts its GPU as 0; the first 50 ms of
# each of 12 steps of 100 ms are the loader's, then 30 ms of kernels, a captured graph of 10 ms, and 10 ms of writing figures.
def nvtx(name, ranges, gpus=2, graph=True, numbered=True, startup=3.0):
    db = sqlite3.connect(tmp / name)
    db.executescript("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
                     "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT);"
                     "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT NOT NULL, numMultiprocessors INTEGER NOT NULL);"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);"
                     "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, graphId INTEGER NOT NULL, globalPid INTEGER);"
                     "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,"
                     " endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);")
    ms = 1_000_000
    strings = ["ampere_bf16_gemm", "forward"]
    db.executemany("INSERT INTO StringIds VALUES(?, ?)", enumerate(strings))
    for g in range(gpus):
        pid = 4000 + g
        tid = pid << 24 | pid
        db.execute("INSERT INTO TARGET_INFO_GPU VALUES(?, 'NVIDIA H100 80GB HBM3')", (g,))
        db.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(?, 0, ?, 'GPU-0', 132)", (g, pid))
        kernel = lambda a, b: db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?, ?, 0, ?, 0, 0)", (round(a * ms), round(b * ms), pid << 24))
        put = lambda a, b, text, kind=59, at=tid: db.execute("INSERT INTO NVTX_EVENTS(start, end, eventType, text, textId, globalTid) VALUES(?, ?, ?, ?, ?, ?)",
                                                            (round(a * ms), b and round(b * ms), kind, None if text in strings else text,
                                                             strings.index(text) if text in strings else None, at))
        kernel(0, 1)  # the model is built: no part of a step
        if ranges:
            put(100, 2900, "sanity validation")
            for i in range(4):
                put(200 + 600 * i, 700 + 600 * i, f"step {i}")
        put(1, 0, "not closed")
        put(5, None, "a mark", 34)
        for i in range(12):
            t = 1000 * startup + 100 * i
            if ranges:
                put(t, t + 99, f"step {100 + i}" if numbered else "train_step")
                put(t + 1, t + 51, ranges)
                put(t + 51, t + 70, "forward")
                put(t + 52, t + 53, "aten::mm, seq = 5")
                put(t + 89, t + 98, "log metrics")
                put(t, t + 99, "worker", at=tid + 1)
            for k in range(30):
                kernel(t + 50 + k, t + 51 + k)
            if graph:
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(?, ?, 0, 1, ?)", ((t + 80) * ms, (t + 90) * ms, pid << 24))
    db.commit()
    db.close()
    return tmp / name


if sqlite3:
    j = diagnose("training", nvtx("nvtx.sqlite", "dataloader"), what="ranges of NVTX")
    r = j["runs"][0]
    c = cause(j, "loader")
    expect("ranges mark steps: the start is no part of one", abs(r["step"]["step_s"] - 0.1) < 2e-4, r["step"])
    expect("idle in the loader's range is the loader's", r["bottleneck"] == "loader" and c["certainty"] == "certain" and abs(c["share"] - 0.49) < 0.02, c)
    expect("GPUs are told apart by process, and a graph is work", abs(r["step"]["parts"]["compute_s"] - 0.04) < 1e-4, r["step"])
    j = diagnose("training", nvtx("own.sqlite", "shuffle buffer", numbered=False), what="a range of one's own")
    c = cause(j, "idle")
    expect("a range that nobody knows is named", c["certainty"] == "likely" and 'in the range "shuffle buffer" for 8' in c["says"], c)
    j = diagnose("training", nvtx("bare.sqlite", None), what="no ranges")
    expect("without ranges all of it is one window", j["runs"][0]["step"]["step_s"] > 4, j["runs"][0]["step"])

# Exports of a real nsys 2024.2 (two H200; kernels of 0.5 ms, four all-reduces of 256 MiB; rank 1 has 20 kernels more), cut to what is read; and
# of 2023.4, which is older than the CUDA that it watched.
if sqlite3:
    j = diagnose("training", data / "nsys-slow-rank.sqlite", what="a slow rank under nsys")
    r, c = j["runs"][0], cause(j, "straggler")
    expect("ranks are held beside each other step by step", r["bottleneck"] == "straggler" and c["certainty"] == "certain" and "rank 1 is last in 100 %" in c["says"] and "it launches 55 kernels per step, the other ranks launch 35" in c["says"], c)
    expect("its own 10 ms", abs(c["share"] - 10.05 / 30.5) < 0.01, c)
    expect("what nothing hides is certain too", cause(j, "overlap")["certainty"] == "certain", cause(j, "overlap"))
    r = diagnose("training", data / "nsys-graph.sqlite", what="a graph under nsys", code=0)["runs"][0]
    expect("a graph of 30 kernels of 0.5 ms, and one of 1 ms", abs(r["step"]["parts"]["compute_s"] - 16e-3) < 1e-4 and abs(r["step"]["step_s"] - 16.68e-3) < 1e-4, r["step"])
    p = run("training", data / "nsys-not-whole.sqlite")
    expect("an export that is not whole is refused", p.code == 5 and "incomplete: nsys could not process all collected events (" in p.err and "function index: 468" in p.err and "older" in p.err, (p.code, p.err))

    def mended(name, sql):
        db = sqlite3.connect(nvtx(name, "dataloader"))
        db.executescript(sql)
        db.commit()
        db.close()
        return tmp / name

    # Each of two processes sees one GPU alone, and the export does not say which (2024.2 has no such table).
    parts = diagnose("training", mended("alone.sqlite", "DROP TABLE TARGET_INFO_CUDA_DEVICE;"), what="GPUs that nobody numbers")["runs"][0]["step"]["parts"]
    expect("each process has its own GPU", abs(parts["compute_s"] - 0.04) < 1e-4, parts)
    parts = diagnose("training", mended("shared.sqlite", "DROP TABLE TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU WHERE id = 1;"), what="one GPU")["runs"][0]
    expect("two processes on one GPU share it", parts["figures"]["step_s"] and parts["step"]["parts"]["wait_s"] is None, parts["step"])
    # Three of the ten steps behind warming-up fetch weights to save them, 8 ms of it behind all kernels; a copy of a batch of 5 ms lies in the loader's range.
    j = diagnose("training", mended("save.sqlite", "CREATE TABLE ENUM_CUDA_MEM_KIND(id INTEGER, name TEXT); INSERT INTO ENUM_CUDA_MEM_KIND VALUES(0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE');"
                                     "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
                                     "UPDATE NVTX_EVENTS SET text = 'save_checkpoint' WHERE text = 'log metrics' AND start / 100000000 % 3 = 0;"
                                     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start + 2000000, end, 0, (globalTid >> 24) << 24, 2, 2, 0 FROM NVTX_EVENTS WHERE text = 'save_checkpoint';"
                                     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start + 10000000, start + 15000000, 0, (globalTid >> 24) << 24, 1, 0, 2 FROM NVTX_EVENTS WHERE text = 'dataloader';"),
                 what="copies of saving")
    parts = j["runs"][0]["step"]["parts"]
    expect("what is fetched to be saved is saving", abs(parts["checkpoint_s"] - 8e-3 * 3 / 10) < 1e-4 and abs(parts["copy_s"] - 5e-3) < 1e-4, parts)
    expect("copies of batches from memory that is not pinned", cause(j, "pageable")["certainty"] in ("certain", "likely"), cause(j, "pageable"))
    # Every other step is twice as long: no step gets slower.
    j = diagnose("training", file("flip.log", "".join(f"step={i} step_s={0.1 + 0.1 * (i % 2)}\n" for i in range(1, 41))), what="steps of two lengths")
    expect("steps of two lengths do not get slower", cause(j, "drift")["certainty"] == "excluded" and abs(j["runs"][0]["figures"]["drift"]) < 0.01, cause(j, "drift"))

# Real logs of two H200: transformers 5.17 with include_num_input_tokens_seen (first step 2 s, saving after 30 and 60), Lightning 2.6.
for name, told in (("hf-tokens-5.17.log", 11), ("trainer_state-5.17.json", 10)):
    r = diagnose("training", data / name, what=name)["runs"][0]["figures"]
    expect(f"{name}: what lies between two lines", 0.07 < r["step_s"] < 0.08 and r["steps"] == told and 210e3 < r["tokens_per_s"] < 230e3, r)
r = diagnose("training", file("throughput.csv", "epoch,step,train/batches,train/time,train/batches_per_sec,train/device/batches_per_sec,train/samples_per_sec,train_loss\n" +
                              "".join(f"0,{10 * i},{10 * i},{2.5 * i},32,4,256,\n0,{10 * i},,,,,,2.5\n" for i in range(12, 40))), what="Lightning's throughput")["runs"][0]["figures"]
expect("a batch of each of eight devices is no step", abs(r["step_s"] - 0.25) < 1e-9, r)
r = diagnose("training", data / "lightning-2.6.log", what="Lightning 2.6")["runs"][0]
expect("shares are of the loop, not of the set-up before it", 0.75 < r["step"]["parts"]["compute_s"] / r["step"]["step_s"] < 0.82 and
       r["step"]["parts"]["unexplained_s"] < 0.1 * r["step"]["step_s"], r["step"])

# What gradients need, by what ranks share and how the model is split.
for what, more, tp, factor in (("DDP", "parallel=ddp", 1, 2 * 4), ("ZeRO-1", "parallel=zero-1", 1, 2 + 2), ("FSDP", "parallel=fsdp", 1, 4 + 2 * 2),
                               ("ZeRO-3", "parallel=zero-3", 1, 2 + 2 * 2), ("tensor parallel", "parallel=ddp tp=4", 4, 2 * 4)):
    for world in (8, 16):
        file(f"g{world}/run.log", HEAD.format(p=3_000_000_000, w=world, n=world // 8, b=8 * world).strip() + f" {more}\n" + steps(1000 * world, 1 if world == 8 else 5))
        file(f"g{world}/all_reduce.log", "# Collective test starting: all_reduce_perf\n" + TESTS.format(us="1", alg="100", bus="100"))
        file(f"g{world}/alltoall.log", "# Collective test starting: alltoall_perf\n" + TESTS.format(us="1", alg="900", bus="900"))
    said = diagnose("training", "g8", "g16", what=what)["scaling"]["bandwidth"]
    ranks = 16 / tp
    want = f"need {(ranks - 1) / ranks * 3e9 / tp * factor / 100e9:.3g} s per step at the measured bus bandwidth of 100 GB/s"
    expect(f"{what}: {want}", want in (said or ""), said)

# Files that are none, or broken.
expect("no files", run("training").code == 2)
expect("a file that is not there", run("training", "nowhere.log").code == 2)
expect("something else than training", run("cooking", f).code == 2)
p = run("training", file("none.bin", "\x01\x02 nothing of a training run\n"))
expect("nothing of training: cannot tell", p.code == 5 and "none.bin" in p.err, (p.code, p.err))
p = run("training", file("run.nsys-rep", "\x01\0 a report\n"))
expect("nsys's own report: what makes a readable one", p.code == 5 and "nsys export -t sqlite" in p.err, p.err)
(tmp / "mixed").mkdir()
shutil.copy(data / "real-loader-2/rank0.log", tmp / "mixed")
(tmp / "mixed/empty").write_text("")
(tmp / "mixed/readme.txt").write_text("hello\n")
j = diagnose("training", "mixed", code=1, what="a folder with other files")
before = {p: p.read_bytes() for p in data.glob("real-loader-2/*")}
for fmt in ("term", "md", "html"):
    p = run("training", data / "real-loader-2", "--format", fmt, "--all")
    expect(f"{fmt}: a page", p.code == 1 and "loader" in p.out and "rank0.log:" in p.out, (p.code, p.err))
expect("reading changes nothing", before == {p: p.read_bytes() for p in data.glob("real-loader-2/*")})
p = run("training", data / "real-loader-2", "--width", "80")
expect("80 columns are enough", max(map(len, p.out.splitlines())) <= 80, [x for x in p.out.splitlines() if len(x) > 80])

# A job that runs: the tree of a process, its CPUs and variables; nothing is told that cannot be seen.
cpu = min(os.sched_getaffinity(0))
hogs = [subprocess.Popen([sys.executable, "-c", "print(1, flush=True)\nwhile True: pass"], stdout=subprocess.PIPE,
                         env={**os.environ, "RANK": str(i), "NCCL_ALGO": "Ring", "SECRET": "hunter2"},
                         preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) for i in range(2)]
try:
    for h in hogs:
        h.stdout.readline()
    p = run("--attach", os.getpid(), "--for", "1s", "--interval", "200ms", "--format", "json")
    j = json.loads(p.out)
    validate(j, "diagnose")
    c = cause(j, "starved")
    expect("two ranks on one CPU are found from outside", c["certainty"] == "certain" and "2 ranks may use only 1 CPU" in c["says"], (p.code, c))
    expect("variables that matter are read, others never", "NCCL_ALGO=Ring" in p.out and "hunter2" not in p.out, p.out[:300])
    expect("both are still there", all(h.poll() is None for h in hogs))
finally:
    for h in hogs:
        h.kill()
        h.wait()
# The same with GPUs: a captured machine, on which a job is put; one look at it, since its counters stand still.
def on_gpus(busy, clock, reasons):
    machine = tmp / f"machine-{busy}"
    shutil.copytree(machines / "h200-x4", machine, symlinks=True)
    nvml = json.loads((machine / "api/nvml.json").read_text())
    for i in "0123":
        nvml[i].update({"nvmlDeviceGetComputeRunningProcesses": 1, "nvmlDeviceGetComputeRunningProcesses(0).pid": 4000,
                        "nvmlDeviceGetComputeRunningProcesses(0).usedGpuMemory": 1 << 30, "nvmlDeviceGetUtilizationRates.gpu": busy,
                        "nvmlDeviceGetClockInfo(SM)": clock, "nvmlDeviceGetCurrentClocksEventReasons": reasons})
    (machine / "api/nvml.json").write_text(json.dumps(nvml))
    (machine / "root/proc/4000").mkdir()
    (machine / "root/proc/4000/stat").write_text("4000 (a (b) x) S 1 1 1 0 -1 0 0 0 0 0 700 300 0 0 20 0 1 0 0 0 0\n")
    (machine / "root/proc/4000/environ").write_bytes(b"SECRET=hunter2\0NCCL_P2P_DISABLE=1\0")
    return diagnose("--attach", "--host", machine, "--for", "1s", "--interval", "200ms", what=f"GPUs {busy} % busy")


j = on_gpus(40, 1980, 1)
c = cause(j, "idle")
expect("GPUs that idle are found", c["certainty"] == "likely" and abs(c["share"] - 0.6) < 0.01, c)
expect("no other variable is told", "hunter2" not in json.dumps(j))
j = on_gpus(99, 900, 0x40)
c = cause(j, "throttled")
expect("heat is found", j["runs"][0]["bottleneck"] == "throttled" and c["certainty"] == "certain" and "by heat" in c["says"], c)
p = run("--attach", "999999999")
expect("a process that is not there", p.code == 5 and "999999999" in p.err, (p.code, p.err))
expect("--attach of a word", run("--attach", "self").code == 2)
p = run("--attach", os.getpid(), "--for", "300ms", "--interval", "100ms")
expect("a live look without steps cannot tell", p.code in (1, 5) and re.search("undecided|Bottleneck", p.out), (p.code, p.out))

end_suite()
