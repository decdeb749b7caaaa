#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calibrate and roofline as a user meets them: outputs of every benchmark read as they are, made by a machine whose constants are
known and found again; what is kept, used and no longer used; profiles in each form, sound and broken.

  calibrate.py GPUTUNE
"""
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import tempfile

import common
from common import bench_file, end_suite, expect, machines, root, run, validate

seeds = root / "tests/fuzz/seeds"


def follows(what, code, *argv, **how):
    return common.follows(what, argv, code, **how)


def says(what, code, words, *argv):
    common.says(what, argv, code, *words)


# --- a machine whose constants are known: gputune predicts itself with other constants, the figures become logs ---------------

TRUTH = {"dense": 0.70, "math_half": 0.42, "first_ms": 90.0}


def measured(tmp, prompt, output, batch, model="Qwen3-8B"):
    cal = tmp / "truth.txt"
    cal.write_text("".join(f"vllm.unified.{k} = {v}\n" for k, v in TRUTH.items()))
    code, out, err = run("predict", "inference", "--model", model, "--weights", "bf16", "--on", "dgx-spark", "--engine", "vllm",
                         "--prompt", prompt, "--output", output, "--batch", batch, "--calibration", cal, "--format", "json")
    j = json.loads(out)
    return [j[k]["value"] for k in ("ttft_ms", "tpot_ms", "throughput_tok_s")]


def vllm_page(ttft, tpot, rate, prompt, output, batch, rounds=1):
    n = batch * rounds
    return f"""Traffic request rate: inf
Maximum request concurrency: {batch}
============ Serving Benchmark Result ============
Successful requests:                     {n}
Maximum request concurrency:             {batch}
Total input tokens:                      {n * prompt}
Total generated tokens:                  {n * output}
Output token throughput (tok/s):         {rate:.2f}
---------------Time to First Token----------------
Mean TTFT (ms):                          {ttft:.2f}
Median TTFT (ms):                        {ttft * 1.1:.2f}
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          {tpot:.2f}
==================================================
"""


def found_again(tmp):
    pages, noise = [], random.Random(5)
    for model in ("Qwen3-8B",):
        for prompt, output, batch in ((32, 128, 1), (512, 128, 1), (2048, 128, 1), (8192, 128, 1), (1024, 256, 4), (1024, 256, 8)):
            a, b, c = measured(tmp, prompt, output, batch, model)
            wobble = [1 + noise.gauss(0, .01) for _ in range(3)]
            pages.append(vllm_page(a * wobble[0], b * wobble[1], c * wobble[2], prompt, output, batch))
    log = tmp / "serve.txt"
    log.write_text("\n".join(pages))
    state = tmp / "state"
    argv = ("calibrate", "--log", log, "--model", "Qwen3-8B", "--weights", "bf16", "--on", "dgx-spark", "--state", state)
    j = follows("fit", 0, *argv)
    if not j:
        return
    g = next(g for g in j["groups"] if g["runs"])
    c = {k["name"]: k for k in g["constants"]}
    expect("every run counts", len(j["runs"]) == 6 and not any(r["skipped"] for r in j["runs"]), j["runs"])
    for name, part in (("dense", .04), ("math_half", .10), ("first_ms", .25)):
        k = c[name]
        expect(f"{name} is found again", k["state"] == "fitted" and abs(k["value"] / TRUTH[name] - 1) < part, k)
    expect("what no run shows is not touched", c["net_us"]["state"] == "untouched" and c["net_us"]["value"] == c["net_us"]["built_in"]
           and "two machines" in c["net_us"]["missing"], c["net_us"])
    expect("experts are not touched", c["expert"]["state"] == "untouched", c["expert"])
    expect("better than before", g["error_fitted"]["median_ratio"] < .03 < .08 < g["error_built_in"]["median_ratio"], g)
    expect("and on what it had not seen", g["error_left_out"]["median_ratio"] < .06, g["error_left_out"])
    expect("kept", g["kept"] and j["kept_in"] and pathlib.Path(j["kept_in"]).is_file(), j["kept_in"])
    kept = json.loads(pathlib.Path(j["kept_in"]).read_text())
    validate(kept, "calibration")
    expect("mode", os.stat(j["kept_in"]).st_mode & 0o777 == 0o600)
    ask = ("predict", "inference", "--model", "Qwen3-8B", "--weights", "bf16", "--on", "dgx-spark", "--prompt", "2048", "--output", "128",
           "--state", state)
    truth = measured(tmp, 2048, 128, 1)
    with_it, without = follows("predict with it", 0, *ask), follows("predict without it", 0, *ask, "--no-calibration")
    expect("it is used", abs(with_it["tpot_ms"]["value"] / truth[1] - 1) < .03 < .08 < abs(without["tpot_ms"]["value"] / truth[1] - 1),
           (with_it["tpot_ms"], without["tpot_ms"], truth))
    expect("and named", "calibrated 20" in with_it["calibration"] and "vllm bench serve 6" in with_it["calibration"],
           with_it["calibration"])
    expect("or not", "calibrated 20" not in without["calibration"], without["calibration"])
    expect("for what it has seen", not g["every_model"] and g["models"] == ["Qwen3-8B"] and "only for Qwen3-8B" in g["reason"], g["reason"])
    another = follows("another model", 0, *ask[:3], "Llama-3.1-8B", *ask[4:])
    expect("is predicted as before", "is not used: the fit is from other models" in another["calibration"], another["calibration"])
    other = follows("two machines are another place", 0, *ask[:7], "2x dgx-spark", *ask[8:])
    expect("its calibration is not taken", "calibrated 20" not in other["calibration"], other["calibration"])
    shown = follows("what is kept", 0, "calibrate", "--on", "dgx-spark", "--state", state)
    expect("kept, shown", shown["kept"] and shown["kept"]["used"] and "6 runs" in shown["kept"]["from"], shown)
    says("page", 0, ("Predicted versus measured", "Used", "requires", "held-out runs"), *argv, "--dry-run")
    broken = pathlib.Path(j["kept_in"])
    whole = broken.read_text()
    for what, text in (("cut", whole[:100]), ("another schema", whole.replace("calibration/1", "bench/1")),
                       ("a constant that is none", whole.replace('"dense"', '"dense = 3\\nx"')),
                       ("a value out of range", whole.replace('"constants": {', '"constants": {"link": 1e99, ')),
                       ("more than a peak", whole.replace('"constants": {', '"constants": {"math_cache": 1.5, ')),
                       ("another release", whole.replace('"tool_version": "', '"tool_version": "9')),
                       ("an unknown one", whole.replace('"dense"', '"density"'))):
        broken.write_text(text)
        bad = follows(f"predict beside a broken file: {what}", 0, *ask)
        expect(f"{what}: not used, and said", bad and "is not used" in bad["calibration"]
               and bad["tpot_ms"]["value"] == without["tpot_ms"]["value"], bad and bad["calibration"])
        follows(f"show a broken file: {what}", 1, "calibrate", "--on", "dgx-spark", "--state", state)
    says("forget", 0, (), "calibrate", "--forget", "--on", "dgx-spark", "--state", state)
    expect("forgotten", not broken.exists())
    says("forget twice", 2, ("cannot remove",), "calibrate", "--forget", "--on", "dgx-spark", "--state", state)


def lines_of_constants(tmp):
    """A file of constants: a line that cannot be is refused by its number and its text."""
    fit = tmp / "constants"
    for text in ("vllm.unified.density = 1", "vllm.unified.dense = 90", "vllm.unified.dense 0.9", "vllm.unified.dense = -1"):
        fit.write_text("# own\n" + text + "\n")
        says(f"refused: {text}", 2, ("line 2", text), "predict", "inference", "--model", "Qwen3-8B", "--on", "dgx-spark", "--calibration", fit)


def every_model(tmp):
    """Three models that one machine slows down alike say something of a fourth."""
    pages, state = [], tmp / "general"
    for model in ("Qwen3-8B", "Llama-3.1-8B", "Qwen3-14B", "Qwen3-4B"):
        page = "".join(vllm_page(*measured(tmp, p, 128, b, model), p, 128, b) for p, b in ((64, 1), (2048, 1), (1024, 4)))
        pages.append(tmp / f"{model}.txt")
        pages[-1].write_text(f"vllm bench serve --model {model}\n" + page)
    j = follows("several models", 0, "calibrate", *pages[:3], "--weights", "bf16", "--on", "dgx-spark", "--state", state)
    g = next(g for g in j["groups"] if g["runs"])
    expect("for every model", g["every_model"] and len(g["models"]) == 3 and g["error_left_model"]["median_ratio"] < .05, g["reason"])
    ask = ("predict", "inference", "--model", "Qwen3-4B", "--weights", "bf16", "--on", "dgx-spark", "--prompt", "1024", "--state", state)
    truth = measured(tmp, 1024, 256, 1, "Qwen3-4B")[1]
    a, b = follows("a fourth", 0, *ask), follows("a fourth without", 0, *ask, "--no-calibration")
    expect("is predicted better", abs(a["tpot_ms"]["value"] / truth - 1) < .03 < abs(b["tpot_ms"]["value"] / truth - 1), (a["tpot_ms"], truth))


def a_machine(tmp):
    """A captured machine stands for this one: what is kept counts until its driver is another one."""
    state, machine, newer = tmp / "here", machines / "dgx-spark", tmp / "newer"
    on = ("--state", state, "--host")
    j = follows("nothing yet", 0, "calibrate", *on, machine)
    expect("none", j and j["kept"] is None, j)
    j = follows("here", 0, "calibrate", seeds / "logs.llama.csv", *on, machine)
    expect("kept", j and "/calibration/captured-" in j["kept_in"], j and j["kept_in"])
    ask = ("predict", "inference", "--model", "Qwen3-8B", "--weights", "q4_k_m", *on)
    a = follows("used", 0, *ask, machine)
    expect("and said", a and "calibrated 20" in a["calibration"], a and a["calibration"])
    shutil.copytree(machine, newer, symlinks=True)
    book = newer / "api/nvml.json"
    text = book.read_text()
    driver = json.loads(text)[""]["nvmlSystemGetDriverVersion"] if "" in json.loads(text) else None
    driver = driver or re.search(r'nvmlSystemGetDriverVersion[^"]*"[^"]*"([0-9.]+)"', text).group(1)
    book.write_text(text.replace(driver, "999.10"))
    b = follows("another driver", 0, *ask, newer)
    expect("is another machine", b and f"gpu_driver was {driver}, now 999.10" in b["calibration"]
           and b["tpot_ms"]["value"] != a["tpot_ms"]["value"], b and b["calibration"])
    j = follows("shown", 1, "calibrate", *on, newer)
    expect("expired", j and not j["kept"]["used"], j)
    says("no GPU that is known", 5, ("--on",), "calibrate", seeds / "logs.llama.csv", *on, machines / "nothing")


# --- every format ---------------------------------------------------------------------------------------------------------

def formats(tmp):
    def runs(*files, model=("--model", "Qwen3-8B"), code=None, more=()):
        got, out, err = run("calibrate", *files, *model, "--on", "dgx-spark", "--state", tmp / "none", "--dry-run", "--format", "json",
                            *more)
        try:
            j = json.loads(out)
            validate(j, "calibrate")
        except Exception as e:  # noqa: BLE001
            expect(f"{files}", False, (got, str(e)[:300], err))
            return []
        return j["runs"]

    def values(r):
        return {f["figure"]: f["measured"] for f in r["figures"]}

    r = runs(seeds / "logs.vllm.txt", model=())
    expect("vllm bench serve, page", len(r) == 3 and r[0]["model"] == "Qwen3-8B" and r[0]["batch"] == 8 and r[0]["prompt_tokens"] == 1024
           and r[0]["output_tokens"] == 256 and values(r[0]) == {"ttft_ms": 890.12, "tpot_ms": 20.61, "throughput_tok_s": 333.01}
           and r[0]["where"].endswith("logs.vllm.txt:4"), r)
    expect("what a page does not say", all("unknown" in x["skipped"] for x in r[1:]), r[1:])
    r = runs(seeds / "logs.vllm.txt", more=("--batch", 8, "--prompt", 256, "--output", 128))
    expect("and what fills it", not r[1]["skipped"] and values(r[1]) == {"latency_ms": 6750} and r[1]["batch"] == 8, r[1:])
    r = runs(seeds / "logs.vllm.json", model=())
    expect("vllm bench serve, JSON", r and r[0]["batch"] == 4 and values(r[0])["ttft_ms"] == 500.2, r)
    r = runs(seeds / "logs.sglang.jsonl")
    expect("SGLang, JSON lines", len(r) == 2 and r[0]["engine"] == "sglang" and r[0]["batch"] == 8
           and values(r[1]) == {"prefill_ms": 460, "step_ms": 18.1} and r[1]["where"].endswith(":2"), r)
    r = runs(seeds / "logs.sglang.txt")
    expect("SGLang, page", len(r) == 2 and r[0]["skipped"] == "the warm-up" and r[1]["batch"] == 4 and r[1]["prompt_tokens"] == 1024
           and abs(r[1]["output_tokens"] - 128) <= 1 and values(r[1]) == {"prefill_ms": 463.42, "step_ms": 18.1}, r)
    r = runs(seeds / "logs.llama.md")
    expect("llama-bench, Markdown", len(r) == 3 and r[0]["weights"].startswith("q4_k_m") and r[0]["prompt_tokens"] == 2048
           and abs(values(r[0])["prefill_ms"] - 864.57) < .1 and abs(values(r[1])["step_ms"] - 26.03) < .01, r)
    expect("guesses ahead are no plain decoding", r[2]["skipped"] and "speculative" in r[2]["skipped"], r[2])
    r = runs(seeds / "logs.llama.csv", model=())
    expect("llama-bench, CSV", len(r) == 2 and r[0]["model"] == "Qwen3-8B" and r[1]["where"].endswith(":3"), r)
    r = runs(seeds / "logs.llama.json", model=())
    expect("llama-bench, JSON, and llama-server", len(r) == 2 and r[1]["where"].endswith("item 2")
           and values(r[1]) == {"prefill_ms": 31.5, "step_ms": 39.0}, r)
    r = runs(seeds / "logs.trtllm.txt", model=())
    expect("trtllm-bench, page", len(r) == 1 and r[0]["engine"] == "tensorrt-llm" and r[0]["weights"] == "fp8" and r[0]["batch"] == 32
           and values(r[0]) == {"ttft_ms": 180.5, "tpot_ms": 9.5, "throughput_tok_s": 3097.6}, r)
    r = runs(seeds / "logs.trtllm.json", model=())
    expect("trtllm-bench, JSON", len(r) == 1 and r[0]["weights"] == "bf16" and r[0]["batch"] == 8 and len(r[0]["figures"]) == 3, r)
    rate = (seeds / "logs.vllm.json").read_text().replace('"inf"', "2.5")
    (tmp / "rate.json").write_text(rate)
    r = runs(tmp / "rate.json")
    expect("requests at a rate", "rate" in r[0]["skipped"], r)
    all_of = sorted(p for p in seeds.glob("logs.*"))
    r = runs(*all_of)
    expect("many files", len(r) >= 16, len(r))


def wrong(tmp):
    def put(name, text):
        (tmp / name).write_text(text)
        return tmp / name

    on = ("--model", "Qwen3-8B", "--on", "dgx-spark", "--dry-run")
    says("no log's name", 2, ("--log is empty",), "calibrate", "--log", "", *on)
    says("nothing known", 2, ("unknown benchmark output; supported: vllm bench, SGLang's",), "calibrate", put("x.txt", "hello\n"), *on)
    says("broken JSON", 2, ("x.json:2: JSON",), "calibrate", put("x.json", '{"completed": 3,\n nonsense'), *on)
    says("a broken line", 2, ("y.jsonl:2: JSON",), "calibrate",
         put("y.jsonl", '{"batch_size": 4, "input_len": 1024, "output_len": 8, "prefill_latency": 0.4}\n{"batch_size": 4, "inp\n'), *on)
    says("an open quote", 2, ("c.csv:2",), "calibrate",
         put("c.csv", "build_commit,model_type,n_prompt,avg_ts\n\"a\",\"b\",\"5\n"), *on)
    (tmp / "nul.txt").write_bytes(b"a\0b")
    says("no text", 2, ("NUL",), "calibrate", tmp / "nul.txt", *on)
    says("no file", 2, ("No such file",), "calibrate", tmp / "none.txt", *on)
    says("a folder", 2, ("not a file",), "calibrate", tmp, *on)
    says("no machine of the list", 2, ("--on" if False else "unknown machine",), "calibrate", seeds / "logs.vllm.json", "--on", "abacus")
    says("no format", 1, ("unknown weight format \"",), "calibrate", seeds / "logs.vllm.json", "--model", "Qwen3-8B", "--weights", "stone",
         "--on", "dgx-spark", "--dry-run")
    # One run decides little, and noise nothing: constants stay where they were.
    run = json.loads((seeds / "logs.vllm.json").read_text()) | {"mean_tpot_ms": 29, "output_throughput": 4 * 256 / (.5 + 255 * .029)}
    j = follows("one run", 0, "calibrate", put("run.json", json.dumps(run)), *on, "--weights", "nvfp4")
    g = next(g for g in j["groups"] if g["runs"])
    expect("nothing is left to try it on", not g["error_left_out"] and "fitted on one run, so no run is left to test it" in g["reason"], g["reason"])
    # 16 GB of BF16 weights cannot be read in 18 ms: no constants explain that.
    j = follows("runs of something else", 1, "calibrate", seeds / "logs.vllm.json", *on, "--weights", "bf16")
    g = next(g for g in j["groups"] if g["runs"])
    expect("are not taken", not g["kept"] and "check that machine, model and format match the runs" in g["reason"] and not j["kept_in"], g["reason"])


# --- benches --------------------------------------------------------------------------------------------------------------

def from_bench(tmp):
    state = tmp / "benches"
    on = ("--on", "dgx-spark", "--state", state)
    j = follows("no benches", 1, "calibrate", "--from-bench", *on)
    expect("nothing moves", j and not j["kept_in"], j)
    bench_file(state, "20261101-100000-a", "gpu-memory", "read:gpu0", 200.0, "gb_per_s", band=(220, 245))
    bench_file(state, "20261101-100001-b", "gemm", "bf16:8192", 93.0, "tflop_per_s", "8192 x 8192, sums over 8192, random data",
               (88, 98))
    j = follows("benches", 0, "calibrate", "--from-bench", *on)
    g = next(g for g in j["groups"] if g["engine"] == "vllm")
    c = {k["name"]: k for k in g["constants"]}
    expect("a slow memory moves what reads it", c["dense"]["state"] == "moved-by-bench"
           and c["dense"]["value"] <= 200 / 273 + 1e-9 and "200 GB/s measured" in c["dense"]["bench"], c["dense"])
    expect("a usual product moves nothing", abs(c["math_half"]["value"] / c["math_half"]["built_in"] - 1) < .001, c["math_half"])
    a = follows("predict after benches", 0, "predict", "inference", "--model", "Qwen3-8B", *on)
    b = follows("and without", 0, "predict", "inference", "--model", "Qwen3-8B", *on, "--no-calibration")
    expect("slower", a["tpot_ms"]["value"] > 1.08 * b["tpot_ms"]["value"], (a["tpot_ms"], b["tpot_ms"]))
    bench_file(state, "20261101-100002-c", "gemm", "bf16:up:decode", 6.0, "tflop_per_s", "57344 x 16, sums over 8192, random data")
    bench_file(state, "20261101-100003-d", "copy", "h2d:gpu0", 50.0, "gb_per_s")
    j = follows("roofline of benches", 0, "roofline", "--on", "dgx-spark", "--state", state)
    p = {x["name"]: x for x in j["points"]}
    big, thin = p["gemm bf16:8192"], p["gemm bf16:up:decode"]
    expect("a square product is bound by arithmetic", big["bound"] == "compute" and abs(big["reached_ratio"] - 93 / 125) < .001
           and abs(big["operations_per_byte"] - 8192 / 3) < 1, big)
    ops, size = 2 * 57344 * 16 * 8192, (57344 * 8192 + 16 * 8192 + 57344 * 16) * 2
    expect("a thin one by memory", thin["bound"] == "memory" and abs(thin["operations_per_byte"] - ops / size) < .01, thin)
    expect("memory", p["gpu-memory read:gpu0"]["bound"] == "memory" and abs(p["gpu-memory read:gpu0"]["reached_ratio"] - 200 / 273) < .001)
    expect("limits of benches are data sheets", j["limits"]["memory_gb_per_s"]["is"] == "data-sheet", j["limits"])
    # Newer, and of the same rows: another product, and the way to memory that is farther away.
    bench_file(state, "20261101-100004-e", "gemm", "bf16:8192x64x8192", 4.0, "tflop_per_s", "8192 x 64, sums over 8192, random data")
    bench_file(state, "20261101-100005-f", "copy", "h2d:gpu0:node1", 5.0, "gb_per_s")
    j = follows("other products are no measure", 0, "calibrate", "--from-bench", *on)
    c = {k["name"]: k for k in next(g for g in j["groups"] if g["engine"] == "vllm")["constants"]}
    expect("of this one", abs(c["math_half"]["value"] / c["math_half"]["built_in"] - 1) < .001, c["math_half"])
    j = follows("limits that were measured", 0, "roofline", "--on", "dgx-spark", "--state", state, "--ncu", seeds / "roof.ncu.csv")
    expect("measured", j["limits"]["memory_gb_per_s"]["is"] == "measured" and j["limits"]["memory_gb_per_s"]["value"] == 200, j["limits"])
    expect("by the square product", j["limits"]["arithmetic_tflop_per_s"]["half"]["value"] == 93, j["limits"])


# --- profiles ---------------------------------------------------------------------------------------------------------------

def roofline(tmp):
    on = ("roofline", "--on", "dgx-spark", "--state", tmp / "none")
    j = follows("ncu, details", 0, *on, "--ncu", seeds / "roof.ncu.csv")
    k = j["points"][0]
    expect("shares as ncu says", k["bound"] == "memory" and abs(k["memory_ratio"] - 222 / 273) < .001 and k["operations"] is None
           and abs(k["bytes"] - 222e9 * 1.0245e-3) < 1e3, k)
    h100 = ("roofline", "--on", "h100", "--state", tmp / "none")
    csv = tmp / "levels.csv"

    def point(*metrics):
        head = '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n'
        csv.write_text(head + "".join(f'"0","k","S","{n}","{u}","{v}"\n' for n, u, v in (("Duration", "ms", "1"), *metrics)))
        return follows(f"ncu, {metrics}", 0, *h100, "--ncu", csv)["points"][0]

    k = point(("Memory Throughput", "%", "92"), ("DRAM Throughput", "%", "3"), ("Compute (SM) Throughput", "%", "20"))
    expect("busy caches are not DRAM", k["bound"] == "memory" and k["memory_ratio"] == .03 and k["cache_ratio"] == .92
           and "3.0 % of DRAM" in k["reason"] and "caches" in k["next"], k)
    k = point(("DRAM Throughput", "%", "90"))
    expect("DRAM's share alone", k["bound"] == "memory" and k["memory_ratio"] == .9 and k["cache_ratio"] is None, k)
    dfma = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"
    k = point((dfma, "inst", "16500000000"), ("dram__bytes.sum", "Mbyte", "1"))
    expect("33 TFLOP/s of FP64 without tensor cores are all there is", k["bound"] == "compute" and k["format"] == "fp64" and k["reached_ratio"] > .97, k)
    j = follows("ncu, raw", 0, *on, "--ncu", seeds / "roof.ncu.raw.csv")
    p = {x["name"]: x for x in j["points"]}
    s, g = p["saxpy(float *)"], p["bf16_gemm"]
    expect("units and thousands", s["bytes"] == 1.2e9 and s["operations"] == 2e8 and s["format"] == "fp32" and s["bound"] == "memory"
           and abs(s["gb_per_s"] - 1.2e9 / 5.4e-3 / 1e9) < .01, s)
    expect("tensor cores", g["format"] == "half" and g["operations"] == 2 ** 40 and g["bound"] == "compute"
           and abs(g["tflop_per_s"] - 2 ** 40 / .012 / 1e12) < .01, g)
    says("the plot", 0, ("operations per byte", "half roof", "TFLOP/s", "Next change to try, then measure again"), *on, "--ncu", seeds / "roof.ncu.raw.csv")
    got, out, _ = run(*on, "--ncu", seeds / "roof.ncu.raw.csv", "--format", "html")
    expect("a drawing", got == 0 and "<svg" in out and "</svg>" in out and out.count("<circle") >= 2)
    uncounted = (seeds / "roof.ncu.raw.csv").read_text().replace("sm__ops_path_tensor_src_bf16_dst_fp32.sum", "something.sum")
    (tmp / "u.csv").write_text(uncounted)
    j = follows("tensor cores without counts", 0, *on, "--ncu", tmp / "u.csv")
    g = {x["name"]: x for x in j["points"]}["bf16_gemm"]
    expect("are said to be unknown", g["operations_per_byte"] is None and g["bound"] == "unknown" and "not counted" in g["reason"], g)
    database(tmp, on)
    for what, code, words, argv in (
            ("no profile", 2, ("not a SQLite database",), ("--nsys", seeds / "roof.ncu.csv")),
            ("no ncu", 2, ("not an ncu CSV (no header with \"ID\" and \"Kernel Name\")",), ("--ncu", seeds / "logs.llama.csv")),
            ("a binary report", 2, ("nsys export",), ("--nsys", tmp / "r.nsys-rep")),
            ("two at once", 2, ("give only one of",), ("--nsys", seeds / "roof.ncu.csv", "--ncu", seeds / "roof.ncu.csv")),
            ("nothing measured", 5, ("gputune bench",), ())):
        (tmp / "r.nsys-rep").write_bytes(b"NSYS\0\1\2")
        says(what, code, words, *on, *argv)


def make_database(path, grid=True):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
    more = ", gridX INT, gridY INT, gridZ INT" if grid else ""
    db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, \"end\" INT, deviceId INT, shortName INT, demangledName INT{more})")
    db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, \"end\" INT, bytes INT, copyKind INT)")
    db.execute("CREATE TABLE TARGET_INFO_GPU (name TEXT, smCount INT)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES ('NVIDIA H200', 132)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "long_kernel(float *)"), (2, "tiny"), (3, "long")])
    for i in range(100):
        at = i * 1_000_000
        row = [(at, at + 300_000, 0, 3, 1, 24, 2, 1), (at + 300_000, at + 302_000, 0, 2, 2, 1, 1, 1)]
        db.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * (8 if grid else 5))})",
                       row if grid else [r[:5] for r in row])
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1000000, 50000000, 1)")
    db.commit()
    db.close()
    return path


def database(tmp, on):
    path = make_database(tmp / "it's a run%41.sqlite")
    before = path.read_bytes()
    j = follows("SQLite export", 0, *on, "--nsys", path)
    if not j:
        return
    p = {x["name"]: x for x in j["points"]}
    k = p["long_kernel(float *)"]
    expect("a name tells no operations", k["operations"] is None and k["bytes"] is None and "not counted" in k["reason"] and "ncu" in k["next"], k)
    expect("short kernels", p["tiny"]["bound"] == "latency", p["tiny"])
    expect("kernels", k["launches"] == 100 and abs(k["time_ms"] - 30) < 1e-6 and k["blocks"] == 48 and k["bound"] == "unknown", k)
    expect("copies", abs(p["[CUDA memcpy Host-to-Device]"]["gb_per_s"] - 50) < .1)
    expect("the GPU waits", abs(j["busy_ms"] - 30.2) < .01 and abs(j["span_ms"] - 99.302) < .01 and "waited" in j["host_bound"], j)
    expect("whose it is", j["gpu"] == "NVIDIA H200")
    says("is said", 0, ("The profile is from \"NVIDIA H200\"",), *on, "--nsys", path)
    expect("read, not written", path.read_bytes() == before and sorted(x.name for x in tmp.glob("it's*")) == [path.name])
    hollow = tmp / "hollow"
    hollow.mkdir()
    (hollow / "libsqlite3.so.0").write_text("no library")
    got, out, err = run(*on, "--nsys", path, env={**os.environ, "LD_LIBRARY_PATH": str(hollow)})
    expect("without the library", got == 2 and "libsqlite3 is required but not installed" in err and "install libsqlite3" in err, (got, out, err))
    j = follows("an older export", 0, *on, "--nsys", make_database(tmp / "old.sqlite", grid=False))
    expect("by short name", "long" in {x["name"] for x in j["points"]} or "long_kernel(float *)" in {x["name"] for x in j["points"]}, j)
    empty = tmp / "empty.sqlite"
    empty.unlink(missing_ok=True)
    db = sqlite3.connect(empty)
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start")
    db.execute("CREATE VIEW StringIds AS SELECT 1 AS id")
    db.commit()
    db.close()
    says("views are not asked", 2, ("not an nsys export with kernels (tables",), *on, "--nsys", empty)
    r, whole = random.Random(7), make_database(tmp / "m.sqlite").read_bytes()
    for i in range(40):
        b = bytearray(whole)
        for _ in range(r.randrange(1, 30)):
            b[r.randrange(16, len(b))] = r.randrange(256)
        (tmp / "m.sqlite").write_bytes(bytes(b[:r.randrange(100, len(b))] if i % 5 == 0 else b))
        got, _, err = run(*on, "--nsys", tmp / "m.sqlite", "--quiet")
        expect("a broken database", got in (0, 2) and "Sanitizer" not in err, (i, got, err))


with tempfile.TemporaryDirectory() as folder:
    for step in (found_again, lines_of_constants, every_model, a_machine, formats, wrong, from_bench, roofline):
        try:
            step(pathlib.Path(folder))
        except Exception as e:  # noqa: BLE001
            expect(step.__name__, False, repr(e))
end_suite()
