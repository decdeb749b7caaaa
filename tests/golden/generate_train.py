#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate deepspeed, accelerate and fsdp, changes of a user's own files, and lint of such files: what is written is read by
JSON's, YAML's and the shell's own readers, holds together as arithmetic, and has nothing that lint finds; a change leaves every
other byte as it was; each planted fault is found on its line."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

from common import end_suite, expect, follows, gputune, machines, root, run, validate

hgx = machines / "hgx-h100"
ON = ["--on", "2x hgx-h100", "--no-calibration"]


def findings(tmp, name, text, *more):
    f = tmp / name
    f.write_bytes(text if isinstance(text, bytes) else text.encode())
    got, out, err = run("lint", f, "--nccl", "2.28.9", "--host", hgx, "--format", "json", *more)
    try:
        j = json.loads(out)
        validate(j, "lint")
        return [(x["code"], x["line"], x["level"]) for x in j["findings"]]
    except Exception as e:  # noqa: BLE001
        return [("broken", str(e)[:300], err)]


def generated(tmp):
    asked = ["--model", "llama-3-8b", *ON, "--global-batch", "128", "--sequence", "2048"]
    j = follows("deepspeed", ["generate", "deepspeed", *asked], 0)
    c, t = json.loads(j["file_text"]), j["train"]
    expect("the batches multiply", c["train_batch_size"] == c["train_micro_batch_size_per_gpu"] *
           c["gradient_accumulation_steps"] * 16 == 128, c)
    expect("the stage is that of the prediction", ["ddp", "zero-1", "zero-2", "zero-3"][c["zero_optimization"]["stage"]] ==
           t["after"]["way"], (c, t["after"]))
    expect("the plainest way that is as fast as any", t["after"]["fits"] and not t["tries"][0]["fits"] and
           t["why"] and t["after"]["tokens_s"]["value"] * 1.02 >= max(x["tokens_s"] or 0 for x in t["tries"]), t["why"])
    expect("no offload where it fits", t["offload"] is None and "offload_optimizer" not in c["zero_optimization"], c)
    flat = {x["path"]: x for x in t["reasons"]}
    expect("every value has its reason", len(flat) == len(t["reasons"]) and all(x["reason"] for x in flat.values()), flat)
    expect("reasons are of the file's keys", all(p.split(".")[0] in c for p in flat), flat.keys())
    expect("what is written has nothing to find", findings(tmp, "ds_config.json", j["file_text"]) == [],
           findings(tmp, "ds_config.json", j["file_text"]))
    got, out, _ = run("generate", "deepspeed", *asked, "--format", "shell")
    expect("the file itself", got == 0 and out == j["file_text"], out)

    j = follows("accelerate", ["generate", "accelerate", *asked, "--head", "10.0.0.1"], 0)
    c = yaml.safe_load(j["file_text"])
    expect("Accelerate's file", c["num_processes"] == 16 and c["num_machines"] == 2 and c["main_process_ip"] == "10.0.0.1" and
           c["distributed_type"] in ("FSDP", "MULTI_GPU") and c["mixed_precision"] == "bf16", c)
    expect("FSDP 2 by its names", c["distributed_type"] != "FSDP" or
           (c["fsdp_config"]["fsdp_version"] == 2 and isinstance(c["fsdp_config"]["fsdp_reshard_after_forward"], bool)), c)
    expect("a reason above every value", sum(x.strip().startswith("#") for x in j["file_text"].splitlines()) >=
           len(j["train"]["reasons"]), j["file_text"])
    expect("nothing to find in it", findings(tmp, "accelerate.yaml", j["file_text"]) == [],
           findings(tmp, "accelerate.yaml", j["file_text"]))
    j = follows("a small model needs no sharding", ["generate", "accelerate", "--model", "qwen2.5-0.5b", "--on", "1x h100",
                                                    "--no-calibration", "--global-batch", "32"], 0)
    expect("one GPU", yaml.safe_load(j["file_text"])["distributed_type"] == "NO", j["file_text"])

    j = follows("fsdp", ["generate", "fsdp", *asked], 0)
    c = json.loads(j["file_text"])
    expect("fsdp_config.json", c["version"] == 2 and "fully_shard(block" in j["train"]["torch_call"], c)
    expect("the calls are Python", compile(j["train"]["torch_call"], "x", "exec"), j["train"]["torch_call"])
    bare = findings(tmp, "fsdp_config.json", json.dumps({k: v for k, v in c.items() if k != "version"}))
    expect("without a version nobody knows which", [(x[0], x[2]) for x in bare] == [("fsdp-version", "note")], bare)
    expect("nothing to find there", findings(tmp, "fsdp_config.json", j["file_text"]) == [], c)

    for precision, call in (("fp32", "MixedPrecisionPolicy()"), ("tf32", 'set_float32_matmul_precision("high")'),
                            ("fp16", "param_dtype=torch.float16")):
        j = follows(f"fsdp in {precision}", ["generate", "fsdp", "--model", "llama-3-8b", "--on", "hgx-h100", "--no-calibration",
                                             "--precision", precision], 0)
        expect(f"calls in {precision}", j and call in j["train"]["torch_call"] and
               ("bfloat16" not in j["train"]["torch_call"]) and compile(j["train"]["torch_call"], "x", "exec"), j)
        expect(f"arguments in {precision}", j and ({x["path"] for x in j["train"]["arguments"]} & {"bf16", "fp16", "tf32"}) ==
               ({precision} - {"fp32"}), j and j["train"]["arguments"])
    j = follows("fsdp with offload", ["generate", "fsdp", "--model", "llama-3.3-70b", "--on", "hgx-h100", "--no-calibration",
                                      "--global-batch", "128"], 0)
    o = j["train"]["offload"]
    expect("is FSDP's own way, and takes the weights too", o and o["weights"] and o["optimizer"] and
           j["train"]["after"]["way"] == "fsdp", (o, j["train"]["after"]))
    # FP32 shards come forward and backward, FP32 gradients go, in each of 16 micro-batches.
    expect("moved with FSDP, of an eighth", abs(o["moved_bytes"] / (12 * 16 * 70.55e9 / 8) - 1) < 0.02 and
           abs(o["host_bytes"] / (16 * 70.55e9) - 1) < 0.02, o)
    expect("by the Trainer's own key", json.loads(j["file_text"]).get("cpu_offload") is True and "offload_params" not in j["file_text"], j["file_text"])
    expect("where the Trainer reads it", any(x["path"] == "fsdp" and x["value"] == "full_shard auto_wrap offload"
                                             for x in j["train"]["arguments"]), j["train"]["arguments"])
    expect("the calls do what the file says", all(x in j["train"]["torch_call"] for x in (
        "offload_policy=CPUOffloadPolicy()", "checkpoint_wrapper(block)")) and
        compile(j["train"]["torch_call"], "x", "exec"), j["train"]["torch_call"])

    j = follows("offload where nothing else fits", ["generate", "deepspeed", "--model", "llama-3.3-70b", "--on", "hgx-h100",
                                                    "--no-calibration", "--global-batch", "128"], 0)
    o, c = j["train"]["offload"], json.loads(j["file_text"])
    expect("its cost is told", o and o["step_s_least"] > 0 and o["moved_bytes"] > 0 and not any(
        x["fits"] for x in j["train"]["tries"]) and c["zero_optimization"]["offload_optimizer"]["device"] == "cpu", o)
    # 16 micro-batches: each one's gradient there and back to be added to, the weights once.
    expect("moved, of an eighth", abs(o["moved_bytes"] / ((4 * 16 + 2) * 70.55e9 / 8) - 1) < 0.02, o)
    expect("the host has 16 bytes a parameter", abs(o["host_bytes"] / (16 * 70.55e9) - 1) < 0.02, o)
    j = follows("what fits nowhere", ["generate", "deepspeed", "--model", "llama-3.1-405b", "--on", "hgx-h100",
                                      "--no-calibration", "--global-batch", "128"], 1)
    expect("is said", j and not j["train"]["fits"] and "more GPUs" in j["train"]["fits_why"] and
           "7.3 TB of host memory" in j["train"]["fits_why"], j and j["train"]["fits_why"])
    # What may run out of memory is not taken for a few percent.
    for model, more, least, why in (("llama-3-8b", ("--sequence", "4096"), 0.97, "zero-1 does ("),
                                    ("llama-2-13b", ("--sequence", "4096"), 0.97, "zero-2 may need up to")):
        t = follows(f"room for {model}", ["generate", "deepspeed", "--model", model, "--on", "hgx-h100", "--no-calibration",
                                          "--global-batch", "64", *more], 0)["train"]
        most = max(x["tokens_s"] or 0 for x in t["tries"])
        expect(f"{model} fits with its interval's high end", t["after"]["memory_bytes"] * 1.13 < 85.53e9 and
               t["after"]["tokens_s"]["value"] > least * most and why in t["why"], (t["after"], t["why"]))
    for argv in (["generate", "deepspeed", *ON], ["generate", "deepspeed", "x", "--model", "llama-3-8b", *ON],
                 ["generate", "fsdp", "--model", "no-such-model-9000", *ON],
                 ["generate", "fsdp", "--model", "llama-3-8b", *ON, "--global-batch", "7", "--micro-batch", "2"],
                 ["generate", "deepspeed", "--model", "llama-3-8b", *ON, "--format", "compose"],
                 ["generate", "mpi", "--edit", "x", "--", "a"],
                 ["generate", "fsdp", "--model", "llama-3-8b", *ON, "--weights", "fp8"],
                 ["generate", "fsdp", "--model", "llama-3-8b", *ON, "--workers", "4"],
                 ["generate", "fsdp", "--model", "llama-3-8b", *ON, "--shard", "8", "--parallel", "fsdp"],
                 ["generate", "deepspeed", "--model", "llama-3-8b", *ON, "--head", "10.0.0.1"],
                 ["generate", "deepspeed", "--model", "llama-3-8b", *ON, "--rank", "0"],
                 ["generate", "nccl-env", "--host", hgx, "--micro-batch", "4"],
                 ["generate", "torchrun", "--host", hgx, "--micro-batch", "4", "--", "t.py"],
                 ["generate", "deepspeed", "--model", "llama-3-8b", *ON, "--edit", tmp / "none.json"]):
        expect(f"refused: {argv}", run(*argv)[0] == 2, run(*argv))


def stages(tmp):
    """DeepSpeed's stage 0 sums gradients behind the backward pass, stages 2 and 3 after each micro-batch: both are in the figures."""
    one = ["--model", "24:1024:16:16:4096:2:32000", "--sequence", "1024", "--on", "2x hgx-h100", "--no-calibration"]
    told = ["--parallel", "zero-1", "--micro-batch", "2", "--accumulation", "8"]
    t = follows("from zero-1", ["generate", "deepspeed", *one, *told], 0)["train"]
    for way in ("ddp", "zero-2", "zero-3"):
        row = next(x for x in t["tries"] if x["way"] == way and x["recompute"] == "none")
        words = ["--parallel", way, "--micro-batch", row["micro_batch"], "--accumulation", row["accumulation"], "--checkpointing", "none",
                 *(["--no-overlap", "--bucket", "1e9"] if way == "ddp" else ["--bucket", str(2 * 37 * 10**6)])]
        got, out, err = run("predict", "training", *one, *words, "--format", "json")
        expect(f"{way} asked by itself", got == 0, (got, err))
        p = json.loads(out)
        # Gradients travel as 16 bit in DeepSpeed, as FP32 in PyTorch's DDP.
        near = 0.25 if way == "ddp" else 1e-3
        expect(f"{way} is what predict training says of it", abs(row["tokens_s"] / p["tokens_per_s"]["value"] - 1) <= near, (row, p["tokens_per_s"]))
    f = tmp / "three.json"
    f.write_text('{"train_micro_batch_size_per_gpu": 32, "bf16": {"enabled": true}, "zero_optimization": {"round_robin_gradients": true, '
                 '"stage": 3, "allgather_bucket_size": 5, "overlap_comm": true, "use_multi_rank_bucket_allreduce": true}}')
    j = follows("keys of other stages", ["generate", "deepspeed", "--edit", f, *one[:4], "--on", "1x h100", "--no-calibration", "-o",
                                         tmp / "now.json"], 0)
    z = json.loads((tmp / "now.json").read_text())["zero_optimization"]
    expect("what does nothing in the new stage is gone, first, last and between", not j["train"]["edit"]["left"] and
           not [x["code"] for x in json.loads(run("lint", tmp / "now.json", "--format", "json")[1])["findings"] if x["code"] == "dead-key"], z)
    j = follows("a file for FSDP", ["generate", "accelerate", "--model", "40:5120:40:40:13824:3:32000", "--on", "hgx-h100",
                                    "--no-calibration", "--global-batch", "64"], 0)
    c = yaml.safe_load(j["file_text"])
    expect("FSDP is compiled block by block", c["distributed_type"] == "FSDP" and
           c["dynamo_config"]["dynamo_use_regional_compilation"] is True, c)


def as_it_was(tmp):
    """A file of stage 0: its messages are of one size, whatever reduce_bucket_size says, so what does not change gains nothing."""
    one = ["--model", "24:1024:16:16:4096:2:32000", "--sequence", "1024", "--on", "2x hgx-h100", "--no-calibration"]
    words = ["--parallel", "ddp", "--micro-batch", "8", "--accumulation", "1", "--checkpointing", "none", "--no-overlap"]
    whole, small = (json.loads(run("predict", "training", *one, *words, "--bucket", n, "--format", "json")[1])["tokens_per_s"]["value"]
                    for n in ("1e9", "25MiB"))
    f, seen = tmp / "zero.json", []
    for name, zero, more in (("none", {"stage": 0}, []), ("dead", {"stage": 0, "reduce_bucket_size": 500000}, []), ("default", {}, []),
                             ("told", {"stage": 0}, ["--bucket", "1e6"])):
        f.write_text(json.dumps({"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1, "bf16": {"enabled": True},
                                 "zero_optimization": zero}))
        t = follows(f"stage 0, {name}", ["generate", "deepspeed", "--edit", f, *one, *more], 0)["train"]
        row = next(x for x in t["tries"] if x["way"] == "ddp" and x["micro_batch"] == 8 and x["recompute"] == "none")
        expect(f"stage 0, {name}: before is that way's own row", t["before"]["way"] == "ddp" and
               abs(row["tokens_s"] / t["before"]["tokens_s"]["value"] - 1) < 1e-3 and
               abs(row["memory_bytes"] / t["before"]["memory_bytes"] - 1) < 1e-3, (row, t["before"]))
        seen.append(t["before"]["tokens_s"]["value"])
    expect("messages of 5e8 elements", seen[0] == seen[1] == seen[2] and seen[0] >= whole > small, (seen, whole, small))
    expect("but those of --bucket where it is told", seen[3] < 0.9 * seen[0], seen)


def emptied(tmp):
    """Everything in the section is dead in the stage that is chosen: what is put in stands alone."""
    lone = {"one line": '{"stage3_max_live_parameters": 1e9}', "two": '{ "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9 }',
            "lines": '{\n    "stage3_max_live_parameters": 1e9,\n    "sub_group_size": 1e9\n  }', "one stays":
            '{"stage3_max_live_parameters": 1e9, "contiguous_gradients": true}', "the last goes":
            '{"contiguous_gradients": true, "stage3_max_live_parameters": 1e9}'}
    for name, zero in lone.items():
        text = '{\n  "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},\n' \
               f'  "zero_optimization": {zero}\n}}\n'
        after, _, t = edit(tmp, "lone.json", text, model="llama-3-8b")
        z = json.loads(after)["zero_optimization"]
        expect(f"{name}: the stage is put in", z.get("stage") in (1, 2) and not [k for k in z if k.startswith(("stage3", "sub"))] and
               ("contiguous_gradients" in z) == ("contiguous" in zero), (after, t.get("edit")))
        flow = "train_micro_batch_size_per_gpu: 4\ngradient_accumulation_steps: 4\nbf16: {enabled: true}\nzero_optimization: " + \
            zero.replace('"', "") + "\n"
        after, _, t = edit(tmp, "lone.yaml", flow, model="llama-3-8b")
        z = yaml.safe_load(after)["zero_optimization"]
        expect(f"{name} in YAML", z.get("stage") in (1, 2) and not [k for k in z if k.startswith(("stage3", "sub"))], (after, t.get("edit")))
    # As long as a file may be: with a longer value it could not be read any more.
    s = tmp / "long.sh"
    line = "torchrun --nproc_per_node=8 --nnodes 2 t.py --per_device_train_batch_size 1 --gradient_accumulation_steps 8 " \
        "--gradient_checkpointing True --bf16 True\n"
    s.write_text(line + "#" * (2**20 - len(line) - 1) + "\n")
    got, _, err = run("generate", "deepspeed", "--edit", s, "--model", "qwen2.5-1.5b", *ON, "-o", tmp / "never")
    expect("what cannot be read again is not written", got == 2 and "nothing is written" in err and "larger than" in err and
           not (tmp / "never").exists(), (got, err))
    (tmp / "never").unlink(missing_ok=True)


def runner(tmp):
    """The program that runs what is generated removes nothing of the user's, and finds gputune from wherever it is called."""
    script, out = root / "tests/device/generate_run.py", tmp / "runs"
    out.mkdir()
    (out / "mine").write_text("mine")
    dry = ["--cpu", "--on", "hgx-h100", "--only", "none", "--seconds", "0"]
    for name, where in (("a folder with something in it", out), ("a file", out / "mine")):
        p = subprocess.run([sys.executable, script, gputune, where, *dry], capture_output=True, text=True, timeout=120)
        expect(f"{name} is refused", p.returncode == 2 and "there already" in p.stderr and (out / "mine").read_text() == "mine", p.stderr)
    p = subprocess.run([sys.executable, script, "./" + os.path.basename(gputune), tmp / "fresh", *dry], capture_output=True, text=True,
                       timeout=120, cwd=os.path.dirname(gputune))
    expect("a path from here", p.returncode == 0 and json.loads((tmp / "fresh/rows.json").read_text()) == [], (p.stdout, p.stderr[-800:]))


def launched(tmp):
    asked = ["--model", "llama-3-8b", "--host", hgx, "--no-calibration", "--global-batch", "128", "--loader", "50ms"]
    for kind in ("torchrun", "sbatch"):
        got, out, err = run("generate", kind, *asked, "--format", "shell", "--", "train.py", "--note", "it's")
        f = tmp / f"{kind}.sh"
        f.write_text(out)
        expect(f"{kind} with a training", got == 0 and "OMP_NUM_THREADS" in out and "--numa-binding=node" in out, (out, err))
        shell = subprocess.run(["sh", "-n", f], capture_output=True, text=True)
        expect(f"{kind}: a shell reads it", shell.returncode == 0, shell.stderr)
        if shutil.which("shellcheck"):
            check = subprocess.run(["shellcheck", "-S", "warning", f], capture_output=True, text=True)
            expect(f"{kind}: shellcheck", check.returncode == 0, check.stdout)
    j = follows("workers from the measured loader", ["generate", "torchrun", *asked, "--", "train.py"], 0)
    expect("are among the notes", any("dataloader_num_workers" in n and "measured" in n for n in j["notes"]), j["notes"])
    expect("nccl-env is there", run("generate", "nccl-env", "--host", hgx)[0] == 0)


TRAINER = """\
# as it was
training:
  per_device_train_batch_size: 2   # small
  gradient_accumulation_steps: 4
  learning_rate: 2.0e-5
  bf16: true
  fp16: false
  gradient_checkpointing: true
  gradient_checkpointing_kwargs: {use_reentrant: true}
  dataloader_num_workers: 0
  "quoted": 'kept'    # this too

distributed:
  deepspeed: null  # off
"""
ZERO = """{
\t"bf16": { "enabled": true },   "fp16": {"enabled": true},
  "zero_optimization": {
    "stage": 2, "overlap_com": true,
    "stage3_prefetch_bucket_size": 5e8,
    "reduce_bucket_size": 500000
  },
  "gradient_accumulation_steps": 4,
  "train_micro_batch_size_per_gpu": 2,
  "train_batch_size": 100,
  "wall_clock_breakdown": true
}"""
SHELL = """#!/bin/bash
export NCCL_ALGO=Ring   # why not
export NCCL_PROTO=Simple
export CUDA_DEVICE_MAX_CONNECTIONS=1
FOO=1 torchrun --nproc_per_node=8 --nnodes 2 train.py --per_device_train_batch_size 2 \\
    --gradient_accumulation_steps=4 --gradient_checkpointing True --fsdp "full_shard auto_wrap" --bf16 True
"""


def edit(tmp, name, text, kind="deepspeed", model="qwen2.5-0.5b", more=()):
    """The text after the change, its diff and the answer; the user's file stays as it is, and patch comes to the same."""
    f, new = tmp / name, tmp / f"new-{name}"
    data = text if isinstance(text, bytes) else text.encode()
    f.write_bytes(data)
    new.unlink(missing_ok=True)
    j = follows(f"edit {name}", ["generate", kind, "--edit", f, "--model", model, *ON, *more, "-o", new], 0)
    if not j:
        return b"", "", {}
    after = new.read_bytes()
    diff = j["train"]["edit"]["diff"]
    expect(f"{name} is as it was", hashlib.sha256(f.read_bytes()).digest() == hashlib.sha256(data).digest())
    if shutil.which("patch") and diff:
        (tmp / "d").write_bytes(diff.encode())
        p = subprocess.run(["patch", "--binary", "-s", "-o", tmp / "patched", f, tmp / "d"], capture_output=True, text=True)
        expect(f"{name}: patch makes the same of it", p.returncode == 0 and (tmp / "patched").read_bytes() == after,
               (p.stdout, p.stderr, diff))
    expect(f"{name}: hunks say where, changes say why", all(x.endswith("@@") for x in diff.splitlines() if x.startswith("@@")) and
           all(len(x["reason"]) > 10 for x in j["train"]["edit"]["changes"]), diff)
    expect(f"{name}: refused where it is already", run("generate", kind, "--edit", f, "--model", model, *ON, "-o", new)[0] == 2 and
           new.read_bytes() == after)
    return after, diff, j["train"]


def edited(tmp):
    after, diff, t = edit(tmp, "t.yaml", TRAINER)
    c, was = yaml.safe_load(after), yaml.safe_load(TRAINER)
    b = c["training"]
    expect("the same global batch", b["per_device_train_batch_size"] * b["gradient_accumulation_steps"] == 8 and
           b["per_device_train_batch_size"] > 2, b)
    expect("a gain with its interval", t["gain"]["value"] > 1.02 and t["gain"]["low"] < t["gain"]["value"] < t["gain"]["high"] and
           any("times" in x["reason"] for x in t["edit"]["changes"]), t["gain"])
    expect("what was wrong", b["gradient_checkpointing_kwargs"]["use_reentrant"] is False and b["dataloader_num_workers"] > 0, b)
    expect("comments stay", after.decode().count("#") == TRAINER.count("#") and b"  # small" in after and
           b"\"quoted\": 'kept'    # this too" in after, after)
    for key in ("learning_rate", "bf16", "fp16", "quoted"):
        expect(f"{key} stays", b[key] == was["training"][key])
    same = [x for x in TRAINER.splitlines() if x in after.decode().splitlines()]
    expect("order and other lines stay", len(same) >= 9, same)

    crlf, _, _ = edit(tmp, "crlf.yaml", TRAINER.replace("\n", "\r\n"))
    expect("CR LF stay", crlf == after.replace(b"\n", b"\r\n"), crlf)
    bom, _, _ = edit(tmp, "bom.yaml", b"\xef\xbb\xbf" + TRAINER.replace("as it was", "wie es w\u00e4r").encode())
    expect("a byte-order mark and wide characters stay", bom == b"\xef\xbb\xbf" + after.replace(b"as it was",
           "wie es w\u00e4r".encode()), bom)
    none, _, _ = edit(tmp, "end.yaml", TRAINER.rstrip("\n"))
    expect("no line break at the end stays so", none == after.rstrip(b"\n"), none)
    flow, _, _ = edit(tmp, "flow.yaml", "{per_device_train_batch_size: 2, gradient_accumulation_steps: 4, bf16: true, "
                      "gradient_checkpointing: true, learning_rate: 1.0e-4}\n")
    expect("flow style", yaml.safe_load(flow)["per_device_train_batch_size"] > 2 and flow.count(b"\n") == 1, flow)
    anchored, _, t = edit(tmp, "anchor.yaml", "a: &base\n  per_device_train_batch_size: 2\n  gradient_accumulation_steps: 4\n"
                          "  gradient_checkpointing: true\n  learning_rate: 1.0e-4\n  bf16: true\nb: *base\n")
    expect("what is shared is left, with its line", b"per_device_train_batch_size: 2" in anchored and
           any(x["line"] == 2 and "anchor" in x["why"] for x in t["edit"]["left"]), t["edit"])

    after, _, t = edit(tmp, "ds.json", ZERO, model="qwen2-7b")
    c = json.loads(after)
    expect("DeepSpeed's: holds together", c["train_batch_size"] == c["train_micro_batch_size_per_gpu"] *
           c["gradient_accumulation_steps"] * 16 and not c["fp16"]["enabled"] and
           c["zero_optimization"]["overlap_comm"] is True and c["zero_optimization"]["reduce_bucket_size"] >= 5e7 and
           c["wall_clock_breakdown"] is False, c)
    expect("what did nothing is gone", c["zero_optimization"]["stage"] == 3 or
           "stage3_prefetch_bucket_size" not in c["zero_optimization"], c)
    expect("form stays", b'\n\t"bf16": { "enabled": true },   "fp16": {"enabled": ' in after, after)
    expect("lint finds no fault in it any more", not [x for x in findings(tmp, "ds2.json", after) if x[2] == "error"],
           findings(tmp, "ds2.json", after))
    again, diff, _ = edit(tmp, "ds3.json", after, model="qwen2-7b")
    expect("a second time there is nothing", again == after and not diff, diff)

    after, _, t = edit(tmp, "job.sh", SHELL)
    expect("variables that stand alone go", b"NCCL_PROTO" not in after and b"CUDA_DEVICE_MAX_CONNECTIONS" not in after, after)
    expect("others are left and said", b"NCCL_ALGO=Ring   # why not" in after and
           any("NCCL_ALGO" in x["what"] for x in t["edit"]["left"]), t["edit"]["left"])
    expect("arguments in their place", b"--per_device_train_batch_size 2 " not in after and
           b"--gradient_accumulation_steps=4" not in after and b'"full_shard auto_wrap"' in after, after)

    acc = ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2   # two\nnum_processes: 8\nmachine_rank: 0\n"
           "main_process_ip: 10.0.0.1\nmixed_precision: 'no'\nfsdp_config:\n  fsdp_version: 2\n  fsdp_backward_prefetch: BACKWARD_PRE\n"
           "  # keep\n  fsdp_reshard_after_forward: FULL_SHARD\n  fsdp_use_orig_params: true\n")
    after, _, _ = edit(tmp, "acc.yaml", acc, kind="accelerate", model="llama-3-8b", more=["--global-batch", "128"])
    c = yaml.safe_load(after)
    expect("Accelerate's", c["num_processes"] == 16 and c["mixed_precision"] == "bf16" and
           isinstance(c["fsdp_config"]["fsdp_reshard_after_forward"], bool) and
           "fsdp_backward_prefetch" not in c["fsdp_config"] and "fsdp_use_orig_params" not in c["fsdp_config"] and
           b"  # keep\n" in after and b"# two\n" in after, after)

    plain, _, _ = edit(tmp, "arguments", TRAINER)
    expect("arguments in a file without an ending", plain == (tmp / "new-t.yaml").read_bytes(), plain)
    plain, _, _ = edit(tmp, "ds_config", ZERO, model="qwen2-7b")
    expect("DeepSpeed's without an ending", plain == (tmp / "new-ds.json").read_bytes(), plain)

    for name, text, word in (("two.yaml", "per_device_train_batch_size: 2\n---\na: 1\n", ":2:"),
                             ("bad.yaml", "a: 1\n  per_device_train_batch_size: [\n", ":"), ("bad.json", '{\n"a": ,\n}', ":2"),
                             ("twice.json", '{"train_batch_size": 1,\n"train_batch_size": 2}', "uplicate"),
                             ("else.yaml", "hello: world\n", "not a DeepSpeed"), ("bin.sh", "a\0b\n", "not a text file")):
        (tmp / name).write_text(text)
        got, _, err = run("generate", "deepspeed", "--edit", tmp / name, "--model", "qwen2.5-1.5b", *ON, "-o", tmp / "never")
        expect(f"{name} is refused with its place", got == 2 and word in err and not (tmp / "never").exists(), (got, err))


STAGE_THREE = """{
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 500000000},
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 12,
  "train_batch_size": 96
}
"""
BROKEN = """{
  "bf16": {"enabled": true}, "fp16": {"enabled": "true"},
  "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": "5e8", "offload_optimizer": {"device": "gpu"}},
  "train_micro_batch_size_per_gpu": 3,
  "gradient_accumulation_steps": 4,
  "train_batch_size": 100,
  "gradient_clipping": -1
}
"""
ACCELERATE = ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\nnum_processes: 8\nmachine_rank: 0\n"
              "mixed_precision: bf32\nfsdp_config:\n  fsdp_version: %d\n  fsdp_sharding_stratgy: FULL_SHARD\n")


MENDED = """output_dir: /tmp
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
bf16: true
optim: adamw_hf
lr_scheduler_type: constant
warmup_steps: 100
save_steps: 1
ddp_bucket_cap_mb: 5
attn_implementation: eager
learning_rate: 0.5
num_train_epochs: 0
torch_dtype: float32
"""
MENDED_TO = {"optim": "adamw_torch_fused", "lr_scheduler_type": "constant_with_warmup", "save_steps": 500, "ddp_bucket_cap_mb": 25,
             "attn_implementation": "sdpa", "torch_dtype": "bfloat16"}
SCRIPT = r"""export NCCL_IB_DISABLE=1
export NCCL_DEBUG=INFO NCCL_P2P_DISABLE=1 B=2
NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1 python a.py
export NCCL_IB_DISABLE=1; export C=1; export NCCL_P2P_DISABLE=1
docker run -e NCCL_P2P_DISABLE=1 image
true && export NCCL_P2P_DISABLE=1; echo x
false ||
export NCCL_P2P_DISABLE=1
if true; then export NCCL_P2P_DISABLE=1; fi
export D=1 \
  NCCL_IB_DISABLE=1
export NCCL_P2P_DISABLE="1"
torchrun t.py --optim adamw_hf --bf16 true --ddp_find_unused_parameters=true --save_steps 1
"""
SCRIPT_TO = r"""export NCCL_DEBUG=INFO B=2
python a.py
export C=1
docker run -e NCCL_P2P_DISABLE=1 image
true && export NCCL_P2P_DISABLE=1; echo x
false ||
export NCCL_P2P_DISABLE=1
if true; then export NCCL_P2P_DISABLE=1; fi
export D=1 \
  NCCL_IB_DISABLE=1
export NCCL_P2P_DISABLE="1"
torchrun t.py --optim adamw_torch_fused --bf16 true --ddp_find_unused_parameters=false --save_steps 500
"""


def mended(tmp):
    """Warnings with a known better value are mended, others named; in a map of one line and a script with several settings in one, too."""
    one, new = ["--model", "llama-3-8b", "--on", "hgx-h100", "--no-calibration"], tmp / "mended"
    was = yaml.safe_load(MENDED)
    for name, text in (("m.yaml", MENDED), ("flow.yaml", "{" + ", ".join(MENDED.splitlines()) + "}\n"), ("m.json", json.dumps(was))):
        f = tmp / name
        f.write_text(text)
        new.unlink(missing_ok=True)
        j = follows(f"mends {name}", ["generate", "deepspeed", "--edit", f, *one, "-o", new], 1)
        now, e = yaml.safe_load(new.read_text()), j["train"]["edit"]
        expect(f"{name}: what is known to be better", {k: now[k] for k in MENDED_TO} == MENDED_TO, now)
        expect(f"{name}: what has no single better value stays", all(now[k] == was[k] for k in ("output_dir", "learning_rate", "num_train_epochs")), now)
        left = {x["what"]: x["why"] for x in e["left"]}
        expect(f"{name}: and is named", left["output_dir"].startswith("not changed") and "diverges" in left["learning_rate"] and
               left["num_train_epochs"].startswith("the error remains"), left)
        expect(f"{name}: not in the line of the place", all(x.endswith("@@") for x in e["diff"].splitlines() if x.startswith("@@")), e["diff"])
    f, new = tmp / "m.sh", tmp / "mended.sh"
    f.write_text(SCRIPT)
    j = follows("mends a script", ["generate", "deepspeed", "--edit", f, *one, "-o", new], 0)
    expect("a script: settings of a line go one by one", new.read_text() == SCRIPT_TO, new.read_text())
    expect("a script: what hangs on more is named", [x["line"] for x in j["train"]["edit"]["left"]] == [5, 6, 8, 9, 11, 12], j["train"]["edit"]["left"])


def predicted_of(way, micro, accumulation):
    """What predict training says of these words alone."""
    got, out, err = run("predict", "training", "--model", "llama-3-8b", "--on", "hgx-h100", "--no-calibration", "--parallel", way,
                        "--micro-batch", micro, "--accumulation", accumulation, "--bucket", 10**9, "--checkpointing", "none",
                        "--format", "json")
    j = json.loads(out)
    return j["tokens_per_s"]["value"], j["memory"]["total_bytes"]["value"]


def settled(tmp):
    """What is said of the changes is what they do, and what is wrong and stays is said with exit code 1."""
    one = ["--model", "llama-3-8b", "--on", "hgx-h100", "--no-calibration"]
    f, new = tmp / "three.json", tmp / "two.json"
    f.write_text(STAGE_THREE)
    t = follows("stage 3", ["generate", "deepspeed", "--edit", f, *one, "-o", new], 0)["train"]
    c = json.loads(new.read_text())
    was, is_ = predicted_of("zero-3", 1, 12), predicted_of(f"zero-{c['zero_optimization']['stage']}",
                                                          c["train_micro_batch_size_per_gpu"], c["gradient_accumulation_steps"])
    def close(x, y):
        return abs(x / y - 1) < 1e-3

    expect("before is the file as it is", close(t["before"]["tokens_s"]["value"], was[0]) and
           close(t["before"]["memory_bytes"], was[1]), (t["before"], was))
    expect("after is the file after the diff", close(t["after"]["tokens_s"]["value"], is_[0]) and
           close(t["after"]["memory_bytes"], is_[1]), (t["after"], is_))
    expect("the gain is that of both", close(t["gain"]["value"], is_[0] / was[0]), (t["gain"], is_, was))
    row = [x for x in t["tries"] if x["way"] == t["after"]["way"] and x["recompute"] == "none"]
    expect("memory is that of the chosen row", len(row) == 1 and close(row[0]["memory_bytes"], t["after"]["memory_bytes"]) and
           re.search(rf"{t['after']['way']} (does )?\({row[0]['memory_bytes'] / 1e9:.1f} GB", t["why"]), (row, t["why"]))
    for way, gb in re.findall(r"(zero-\d) \((\d+\.\d) GB", t["why"]):
        expect(f"{way} has its own figure", any(x["way"] == way and x["fits"] and abs(x["memory_bytes"] / 1e9 - float(gb)) < 0.06
                                                for x in t["tries"]), t["why"])
    page = run("generate", "deepspeed", "--edit", f, *one)[1]
    expect("one number, once", "times (" not in t["edit"]["diff"] and page.count("times the tokens/s (") == 1, page)
    got, out, _ = run("generate", "deepspeed", *one, "--global-batch", "96", "--format", "json")
    t = json.loads(out)["train"]
    expect("a generated file's too", any(close(x["memory_bytes"] or 1, t["after"]["memory_bytes"]) for x in t["tries"]), t["after"])

    f.write_text(BROKEN)
    new.unlink()
    j = follows("what stays wrong", ["generate", "deepspeed", "--edit", f, *one, "-o", new], 1)
    c, left = json.loads(new.read_text()), j["train"]["edit"]["left"]
    expect("what can be mended is", c["fp16"]["enabled"] is False and isinstance(c["zero_optimization"]["reduce_bucket_size"], float)
           and c["train_batch_size"] == 96, c)
    expect("what cannot is said", {(x["line"], x["what"]) for x in left} ==
           {(3, "zero_optimization.offload_optimizer.device"), (7, "gradient_clipping")}, left)
    why = [x["reason"] for x in j["train"]["edit"]["changes"] if x["what"].startswith("train_batch_size")]
    expect("another global batch does not stay", len(why) == 1 and "100 is not 3 x 4 x 8" in why[0] and "stays" not in why[0], why)
    y = tmp / "acc.yaml"
    for version, key in ((1, "fsdp_sharding_strategy"), (2, None)):
        y.write_text(ACCELERATE % version)
        new.unlink()
        j = follows("accelerate", ["generate", "accelerate", "--edit", y, *one, "-o", new], 1)
        keys, e = yaml.safe_load(new.read_text())["fsdp_config"], j["train"]["edit"]
        expect(f"a slip of version {version}", "fsdp_sharding_stratgy" not in keys and (key in keys if key else len(keys) == 1), keys)
        expect("bf32 is left", any(x["what"] == "mixed_precision" and x["line"] == 6 for x in e["left"]), e["left"])
        expect("machines have a reason", any("1 machine with 8 GPUs" in x["reason"] for x in e["changes"]), e["changes"])
    got, _, err = run("generate", "deepspeed", "--edit", y, *one)
    expect("another program's file is refused by its kind", got == 2 and "Accelerate" in err, (got, err))
    s = tmp / "s.sh"
    s.write_text("export NCCL_IB_GID_INDEX=3\ntorchrun t.py --fsdp full_shrd\n")
    j = follows("a script's", ["generate", "deepspeed", "--edit", s, *one], 1)
    expect("line of the file before", [(x["line"], x["what"]) for x in j["train"]["edit"]["left"]] == [(2, "fsdp")], j["train"]["edit"])

    j = follows("one memory", ["generate", "fsdp", "--model", "llama-3.3-70b", "--host", machines / "dgx-spark",
                               "--no-calibration"], 1)
    expect("no offload where CPU and GPU share it", j["train"]["offload"] is None and not j["train"]["fits"] and
           "share one memory" in j["train"]["fits_why"] and "PCIe" not in j["train"]["fits_why"], j["train"]["fits_why"])


FAULTS = [
    ("c.json", '{"train_batch_size": 8,\n"bf16": {', "no-json", 2),
    ("other.json", '{"a": 8,\n', "no-json", 2),
    ("none", '{"a": 8,\n"b": ', "no-json", 2),
    ("e.sh", "", "empty", None),
    ("e.yaml", "\n \n", "empty", None),
    ("a.out", b"\x7fELF\x02\x01\x01" + bytes(9) + b"NCCL_IB_HCA=mlx5_0\n" * 9, "no-text", None),
    ("w.sh", "export NCCL_IB_HCA=mlx5_0\n".encode("utf-16"), "no-text", None),
    ("odd", bytes(range(1, 256)) * 3, "no-text", None),
    ("self.run", b"#!/bin/sh\nexport NCCL_IB_GID_INDX=3\n" + b"# \xe9\n" * 4000 + bytes(99), "unknown-variable", 2),
    ("ds.json", '{"bf16": {"enabled": true},\n"fp16": {"enabled": "true"}}', "contradiction", 2),
    ("ds.json", '{"zero_optimization": {"stage": 1},\n"bf16": {"enabled": "true"}}', "bad-value", 2),
    ("ds.json", '{"bf16": {"enabled": true},\n"train_micro_batch_size_per_gpu": -3}', "bad-value", 2),
    ("ds.json", '{"bf16": {"enabled": true},\n"train_batch_size": 0}', "bad-value", 2),
    ("ds.json", '{"bf16": {"enabled": true},\n"gradient_clipping": -1}', "bad-value", 2),
    ("j.sh", "#!/bin/sh\ntorchrun --nproc_per_node=16 t.py\n", "too-many-processes", 2),
    ("j.sh", "#!/bin/sh\naccelerate launch --num_processes 16 t.py\n", "too-many-processes", 2),
    ("j.sh", "#!/bin/sh\npython3 -m torch.distributed.run --nproc_per_node 16 t.py\n", "too-many-processes", 2),
    ("j.sh", "#!/bin/sh\npython -m torch.distributed.launch --nproc-per-node=16 t.py\n", "too-many-processes", 2),
    ("j.sh", "#!/bin/sh\npython3 -m accelerate.commands.launch --num_processes 16 t.py\n", "too-many-processes", 2),
    ("j.sh", "#!/bin/sh\naccelerate launch --num_machines 2 --num_processes 15 t.py\n", "batch-arithmetic", 2),
    ("j.sh", "#!/bin/sh\ndeepspeed --num_gpus 16 t.py\n", "too-many-processes", 2),
    ("arguments", "output_dir: x\nlearning_rate: 1.0e-5\nbf16: true\nfp16: true\n", "contradiction", 4),
    ("ds.json", '{"zero_optimization": {"stage": 0,\n"reduce_bucket_size": 500000}}', "dead-key", 2),
    ("j.sh", '#!/bin/sh\naccelerate launch t.py --fsdp "full_shrd auto_wrap"\n', "bad-value", 2),
    ("j.sh", "#!/bin/sh\nexport OMP_NUM_THREADS=256\n", "too-many-threads", 2),
    ("ds.json", '{"bf16": {"enabled": true},\n"fp16": {"enabled": true},\n"train_batch_size": 8}', "contradiction", 2),
    ("ds.json", '{"train_batch_size": 100,\n"train_micro_batch_size_per_gpu": 3}', "batch-arithmetic", 1),
    ("ds.json", '{"zero_optimization": {"stage": 3,\n"overlap_com": true}}', "unknown-key", 2),
    ("ds.json", '{"train_batch_size": 8,\n"gradient_acumulation_steps": 1}', "dead-key", 2),
    ("ds.json", '{"zero_optimization": {"stage": 2,\n"offload_param": {"device": "cpu"}}}', "dead-key", 2),
    ("ds.json", '{"zero_optimization": {"stage": 1,\n"overlap_comm": true, "reduce_bucket_size": 1000}}', "small-bucket", 2),
    ("ds.json", '{"zero_optimization": {"stage": 3,\n"overlap_comm": false}}', "no-overlap", 2),
    ("ds.json", '{"zero_optimization": {"stage": 3},\n"prescale_gradients": true}', "contradiction", 2),
    ("ds.json", '{"zero_optimization": {"stage": 2,\n"offload_optimizer": {"device": "nvme"}}}', "no-value", 2),
    ("ds.json", '{"zero_optimization": {"stage": 2,\n"cpu_offload": true}}', "old-key", 2),
    ("ds.json", '{"zero_optimization": {\n"stage": 4}}', "bad-value", 2),
    ("ds.json", '{"zero_optimization": {"stage": 2},\n"wall_clock_breakdown": "false"}', "bad-value", 2),
    ("ds.json", '{"train_batch_size": 8,\n// a comment\n"bf16": {"enabled": true}}', "no-json", 2),
    ("ds.json", '{"zero_optimization": {"stage": 1},\n"optimizer": {"type": "OneBitAdam"}}', "contradiction", 2),
    ("ds.json", b'\xef\xbb\xbf{"train_batch_size": 8}', "byte-order-mark", 1),
    ("a.yaml", "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  fsdp_sharding_strategy: FULL_SHARD\n",
     "dead-key", 5),
    ("fsdp_config.json", '{"version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",\n"offload_params": true}', "dead-key", 2),
    ("fsdp_config.json", '{"version": 1, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",\n"sharding_strategy": "FULL_SHARD"}', "dead-key", 2),
    ("fsdp_config.json", '{"version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",\n"cpu_offload": true}', "offload", 2),
    ("a.yaml", "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  fsdp_offload_params: true\n", "offload", 5),
    ("a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 15\nnum_machines: 2\nmain_process_ip: x\n", "batch-arithmetic", 2),
    ("a.yaml", "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n", "no-value", 2),
    ("a.yaml", "distributed_type: MULTI_GPU\nnum_proceses: 8\n", "unknown-key", 2),
    ("a.yaml", "distributed_type: NO\nnum_processes: 1\n", "yaml-no", 1),
    ("a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 2\n", "dead-key", 3),
    ("a.yaml", "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: x\n  zero_stage: 2\n",
     "contradiction", 5),
    ("a.yaml", "distributed_type: MULTI_GPU\nnum_processes: 64\n", "too-many-processes", 2),
    ("t.yaml", "output_dir: x\nbf16: true\nfp16: true\n", "contradiction", 3),
    ("t.yaml", "output_dir: x\nlearning_rate: 2e-5\nbf16: true\n", "yaml-number", 2),
    ("t.yaml", "output_dir: x\nbf16: true\ndataloader_num_workers: 64\n", "too-many-workers", 3),
    ("t.yaml", "output_dir: x\nbf16: true\ndataloader_prefetch_factor: 4\n", "contradiction", 3),
    ("t.yaml", "output_dir: x\nbf16: true\ngradient_acumulation_steps: 4\nlearning_rate: 1.0e-5\n", "dead-key", 3),
    ("t.yaml", "output_dir: x\ndeepspeed: a.json\nfsdp: full_shard auto_wrap\n", "contradiction", 3),
    ("t.yaml", "output_dir: x\nbf16: true\nbf16: false\n", "key-twice", 3),
    ("t.yaml", "output_dir: x\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: true\n", "reentrant", 4),
    ("t.yaml", "output_dir: x\nbf16: true\nddp_backend: gloo\n", "harmful", 3),
    ("f.json", '{"version": 2,\n"backward_prefetch": "backward_pre", "min_num_params": 1}', "dead-key", 2),
    ("f.json", '{"fsdp_version": 1, "fsdp_cpu_ram_efficient_loading": true,\n"fsdp_sync_module_states": false}', "contradiction", 1),
    ("j.sh", "#!/bin/bash\nexport NCCL_ALGO=Ring\n", "forced", 2),
    ("j.sh", "#!/bin/bash\nexport NCCL_IB_GID_INDEX=3\n", "gid-pinned", 2),
    ("j.sh", "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun x.py --fsdp full_shard\n", "harmful", 2),
    ("j.sh", "#!/bin/bash\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ndeepspeed x.py\n", "harmful", 2),
    ("j.sh", "torchrun x.py --bf16 \\ \n --fp16\n", "continuation", 1),
    ("j.sh", "torchrun x.py \\\n --fsdp_config {\"min_num_params\": 1}\n", "json-unquoted", 2),
    ("j.sh", "torchrun x.py --name 'open\n", "quoting", 1),
    ("j.sh", "torchrun x.py \\\n  --bf16 True --fp16\n", "contradiction", 2),
    ("j.sh", "torchrun x.py --run_name \u201cx\u201d\n", "typography", 1),
    ("j.sh", "srun deepspeed --hostfile /dev/null x.py\n", "launcher-twice", 1),
]
SOUND = [
    ("j.sh", "#!/bin/sh\npython3 -m torch.distributed.run --nproc_per_node 8 t.py --num_gpus 16\n"),
    ("j.sh", "pip install deepspeed\ndeepspeed --num_gpus 8 t.py --num_gpus 16\n"),
    ("hosts", "a: 1\n"),
    ("j.sh", "#!/bin/sh\nexport OMP_NUM_THREADS=8\ntorchrun --nproc_per_node=8 --nnodes=2 t.py --fsdp 'hybrid_shard auto_wrap'\n"),
    ("j.sh", "#!/bin/sh\naccelerate launch --num_processes=16 --num_machines 2 t.py\n"),
    ("g.sh", "{ echo hi; }\n"),
    ("ds.json", '{"zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": 5e8},\n"bf16": {"enabled": "auto"},'
     '"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto"}'),
    ("t.yaml", "model_name: x\nmy_own_key: 3\noutput_dir: x\nbf16: true\nlearning_rate: 2.0e-5\ndataloader_num_workers: 4\n"),
    ("j.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun m.py --tensor-model-parallel-size 4\n"),
    ("j.sh", "torchrun x.py --fsdp_config '{\"min_num_params\": 1}' --bf16 True\n"),
    ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  containers: []\n"),
    ("a.yaml", "distributed_type: 'NO'\nnum_processes: 1\nmixed_precision: bf16\n"),
]

# Bad values of training files, engines and variables: machine, file, text, the name that a finding has to be of.
BAD_VALUES = [
    ("hgx-h100", "t.yaml", "output_dir: x\nfp16: true\nbf16: false\n", "fp16"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntf32: false\n", "tf32"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\noptim: adamw_hf\n", "optim"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\noptim: adamw_troch_fused\n", "optim"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nlr_scheduler_type: cosin\n", "lr_scheduler_type"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntorch_compile: true\ntorch_compile_backend: inducter\n", "torch_compile_backend"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntorch_compile_mode: max-autotun\n", "torch_compile_mode"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nlearning_rate: 0.2\n", "learning_rate"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nmax_grad_norm: 0\n", "max_grad_norm"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nwarmup_ratio: 0.9\n", "warmup_ratio"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nsave_steps: 1\n", "save_steps"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nattn_implementation: eager\n", "attn_implementation"),
    ("dgx-spark", "t.yaml", "output_dir: x\nbf16: true\nattn_implementation: flash_attention_3\n", "attn_implementation"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ngradient_checkpointing: true\nuse_cache: true\n", "gradient_checkpointing"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntorch_dtype: float32\n", "torch_dtype"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ndataloader_num_workers: 0\n", "dataloader_num_workers"),
    ("hgx-h100", "ds.json", '{"fp16": {"enabled": true}, "bf16": {"enabled": false}}', "fp16.enabled"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "optimizer": {"type": "AdmaW"}}', "optimizer.type"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": {"lr": 0.3}}}', "optimizer.params.lr"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "scheduler": {"type": "WarmupLRR"}}', "scheduler.type"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "gradient_clipping": 0}', "gradient_clipping"),
    ("dgx-spark", "ds.json", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}',
     "zero_optimization.offload_optimizer.device"),
    ("hgx-h100", "ds.json", '{"fp16": {"enabled": true, "initial_scale_power": 32}}', "fp16.initial_scale_power"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --dtype float32\n", "--dtype"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-8B --gpu-memory-utilization 0.98\n", "--gpu-memory-utilization"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-8B --gpu-memory-utilization 0.7 --attention-backend FLASHMLA\n", "--attention-backend"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-30B-A3B --gpu-memory-utilization 0.7 --moe-backend flashinfer_trtllm\n", "--moe-backend"),
    ("dgx-spark", "s.sh", "export VLLM_USE_FLASHINFER_MOE_FP4=1\n", "VLLM_USE_FLASHINFER_MOE_FP4"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-8B --gpu-memory-utilization 0.7 --distributed-executor-backend ray\n",
     "--distributed-executor-backend"),
    ("dgx-spark", "s.sh", "export RAY_memory_usage_threshold=0.99\n", "RAY_memory_usage_threshold"),
    ("hgx-h100", "s.sh", "export NVIDIA_TF32_OVERRIDE=0\n", "NVIDIA_TF32_OVERRIDE"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --enforce-eager\n", "--enforce-eager"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --load-format dummy\n", "--load-format"),
    ("dgx-spark", "s.sh", "python -m sglang.launch_server --model-path Qwen3-8B --attention-backend fa3\n", "--attention-backend"),
    ("dgx-spark", "s.sh", "python -m sglang.launch_server --model-path Qwen3-8B --mem-fraction-static 0.95\n", "--mem-fraction-static"),
    ("dgx-spark", "s.sh", "llama-server -m x.gguf --flash-attn off\n", "--flash-attn"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\npacking: true\n", "packing"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nsample_packing: false\n", "sample_packing"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\npreprocessing_num_workers: 1\n", "preprocessing_num_workers"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ndataset_num_proc: 1\n", "dataset_num_proc"),
    # A third that no row was written for: 16 of 18 were named at the first run.
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nlr_scheduler_type: warmup_cosine\n", "lr_scheduler_type"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nadam_beta2: 1.5\n", "adam_beta2"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nwarmup_steps: -10\n", "warmup_steps"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nattn_implementation: flash_attn_2\n", "attn_implementation"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nper_device_train_batch_size: 0\n", "per_device_train_batch_size"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nddp_backend: gloo\n", "ddp_backend"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\neval_strategy: steps\neval_steps: 1\n", "eval_steps"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nsave_strategy: step\n", "save_strategy"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1000}}',
     "zero_optimization.stage3_max_live_parameters"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 0}}',
     "zero_optimization.stage3_prefetch_bucket_size"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "communication_data_type": "fp64"}', "communication_data_type"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --kv-cache-dtype fp8_e4m4\n", "--kv-cache-dtype"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --attention-backend FLASHATTN\n", "--attention-backend"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --max-num-batched-tokens=64\n", "--max-num-batched-tokens"),
    ("hgx-h100", "s.sh", "python -m sglang.launch_server --model-path Qwen3-8B --attention-backend trtllm_mla\n", "--attention-backend"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-8B --gpu-memory-utilization 0.7 --cpu-offload-gb 20\n", "--cpu-offload-gb"),
    ("hgx-h100", "s.sh", "export TORCHDYNAMO_DISABLE=1\n", "TORCHDYNAMO_DISABLE"),
    # Fifteen more, written before they were tried: 13 were named. Of the two, one does no harm (max_steps: 0) and is not here.
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\noptim: adamw_torch_fusd\n", "optim"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ngradient_accumulation_steps: 0\n", "gradient_accumulation_steps"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ndataloader_num_workers: 512\n", "dataloader_num_workers"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nweight_decay: 5\n", "weight_decay"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nadam_beta2: 1.5\n", "adam_beta2"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nneftune_noise_alpha: -5\n", "neftune_noise_alpha"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nfp16: true\n", "fp16"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntorch_compile: true\ntorch_compile_mode: max-autotune-fast\n", "torch_compile_mode"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ndeepspeed: 3\n", "deepspeed"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nfsdp_config: 3\n", "fsdp_config"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\nreport_to: wandbb\n", "report_to"),
    ("hgx-h100", "ds.json", '{"zero_optimization": {"stage": 4}, "bf16": {"enabled": true}}', "zero_optimization.stage"),
    ("hgx-h100", "ds.json", '{"fp16": {"enabled": true}, "bf16": {"enabled": true}}', "fp16.enabled"),
    ("hgx-h100", "ds.json", '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}}', "zero_optimization.offload_optimizer.device"),
    ("dgx-spark", "s.sh", "vllm serve Qwen3-8B --gpu-memory-utilization 0.95\n", "--gpu-memory-utilization"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --kv-cache-dtype fp4\n", "--kv-cache-dtype"),
]
# The same names with values that are right, on the machine where another would not be.
GOOD_VALUES = [
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\ntf32: true\noptim: adamw_torch_fused\nlr_scheduler_type: cosine\nlearning_rate: 2.0e-5\n"
     "max_grad_norm: 1.0\nwarmup_ratio: 0.03\nsave_steps: 500\nsave_total_limit: 3\nattn_implementation: flash_attention_3\n"
     "torch_compile: true\ntorch_compile_backend: inductor\ntorch_compile_mode: max-autotune\nweight_decay: 0.1\nadam_beta2: 0.95\n"),
    ("hgx-h100", "t.yaml", "output_dir: x\nbf16: true\noptim: sgd\nlearning_rate: 0.1\nwarmup_steps: 100\n"
     "neftune_noise_alpha: 5\nreport_to: wandb\nfsdp_config: fsdp.json\nsample_packing: true\npreprocessing_num_workers: 16\ndataset_num_proc: 8\n"),
    ("dgx-spark", "t.yaml", "output_dir: x\nbf16: true\nattn_implementation: sdpa\nlr_scheduler_type: constant_with_warmup\nwarmup_steps: 0.05\n"),
    ("hgx-h100", "t.yaml", "base_model: x\noutput_dir: x\nbf16: true\nmicro_batch_size: 2\nlearning_rate: 1e-4\nweight_decay: 1e-2\n"),
    ("hgx-h100", "ds.json", '{"bf16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": {"lr": 3e-4, "betas": [0.9, 0.95]}}, '
     '"scheduler": {"type": "WarmupDecayLR"}, "gradient_clipping": 1.0, "zero_optimization": {"stage": 3, "overlap_comm": true}}'),
    ("hgx-h100", "ds.json", '{"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}'),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --dtype bfloat16 --attention-backend FLASH_ATTN --kv-cache-dtype fp8 --max-num-batched-tokens 8192\n"),
    ("hgx-h100", "s.sh", "vllm serve Qwen3-8B --dtype $DTYPE --attention-backend $BACKEND\n"),
    ("dgx-spark", "s.sh", "export RAY_memory_monitor_refresh_ms=0\nvllm serve Qwen3-8B --gpu-memory-utilization 0.7 "
     "--attention_backend FLASHINFER --moe-backend marlin --distributed-executor-backend ray --cpu-offload-gb 0\n"),
    ("dgx-spark", "s.sh", "python -m sglang.launch_server --model-path Qwen3-8B --attention-backend triton --mem-fraction-static 0.8\n"),
    ("hgx-h100", "s.sh", "python -m sglang.launch_server --model-path Qwen3-8B --attention-backend fa3 --dtype auto\n"),
    ("dgx-spark", "s.sh", "llama-server -m x.gguf --flash-attn auto --cache-type-k q8_0 --cache-type-v q8_0\n"),
]


def values(tmp):
    """All files of a machine at a time."""
    for machine in {m for m, *_ in BAD_VALUES + GOOD_VALUES}:
        found, files = {}, {}
        for i, (on, name, text, *subject) in enumerate(BAD_VALUES + GOOD_VALUES):
            if on == machine:
                files[str(tmp / f"{i}-{name}")] = (text, *subject)
                (tmp / f"{i}-{name}").write_text(text)
        out = run("lint", *files, "--nccl", "2.28.9", "--host", machines / machine, "--format", "json")[1]
        for x in json.loads(out)["findings"]:
            found.setdefault(x["file"], []).append(x)
        for path, (text, *subject) in files.items():
            got = found.get(path, [])
            if subject:
                expect(f"lint: {subject[0]} in {text!r:.90}", subject[0] in [x["subject"] for x in got], got)
            else:
                expect(f"nothing is wrong with {text!r:.70}", all(x["level"] == "note" for x in got), got)


def linted(tmp):
    for words in ("torchrun --nproc_per_node=16 t.py", "accelerate launch --num_processes 16 t.py"):
        got, out, _ = run("lint", "--host", hgx, "--format", "json", "--", *words.split())
        expect(f"lint -- {words}", got == 1 and [x["code"] for x in json.loads(out)["findings"]] == ["too-many-processes"], out)
    for name, text, code, line in FAULTS:
        got = findings(tmp, name, text)
        expect(f"lint {name}: {code} at {line} in {text!r:.70}", any(c == code and n == line for c, n, _ in got), got)
    for name, text in SOUND:
        got = [x for x in findings(tmp, name, text) if x[2] != "note"]
        expect(f"nothing is wrong with {text!r:.70}", not got, got)


with tempfile.TemporaryDirectory() as d:
    generated(pathlib.Path(d))
    stages(pathlib.Path(d))
    as_it_was(pathlib.Path(d))
    emptied(pathlib.Path(d))
    runner(pathlib.Path(d))
    launched(pathlib.Path(d))
    edited(pathlib.Path(d))
    mended(pathlib.Path(d))
    settled(pathlib.Path(d))
    linted(pathlib.Path(d))
    values(pathlib.Path(d))
end_suite()
