#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""advise: laws that every piece of advice and every front keeps, schemas, what is refused, what is shown.

  advise.py GPUTUNE [--speed]    --speed predicts a million mixtures and says how many a minute it was
"""
import itertools
import json
import lzma
import os
import re
import shlex
import sys
import time

import common
from common import end_suite, expect, machines, root, validate

def run(*argv, verb="advise", **how):
    return common.run(verb, *argv, **how)


def ask(*argv, schema="advise"):
    code, out, err = run(*argv, "--format", "json")
    expect(f"{argv} answers", code in (0, 1) and not err, (code, err))
    j = json.loads(out)
    validate(j, schema)
    expect(f"{argv} exit code", j["exit_code"] == code, code)
    return j


def predict(*argv):
    code, out, err = run("inference", *argv, "--format", "json", verb="predict")
    expect(f"predict {argv}", code in (0, 1), err)
    return json.loads(out)


# An interval is of GPUs that were measured: of another one that is said.
kinds = {r.split(",")[1].rsplit(" x", 1)[0] for r in lzma.open(root / "tests/predict/measured.csv.xz", "rt").read().splitlines()[1:] if not r.startswith("#")}
expect("kinds that were measured", {"gb10", "h100-sxm", "h200-sxm"} <= kinds, kinds)
for on in sorted(kinds) + ["rtx 6000 ada", "a100"]:
    notes = [a for a in predict("--model", "llama-3.1-8b", "--on", on)["notes"] if "using constants fitted on" in a]
    expect(f"{on}: measured, or said not to be", len(notes) == (on not in kinds), notes)

GOALS = {"latency": "answer", "first-token": "ttft", "throughput": "throughput", "users": "requests"}
KEYS = {"answer": "answer_ms", "ttft": "ttft_ms", "throughput": "throughput_tok_s", "requests": "requests_that_fit"}


def laws(j, told):
    """What holds of every piece of advice."""
    now, goal = j["now"], GOALS[j["asked"]["goal"]]
    for c in j["changes"] + j["together"]:
        name = (told, c["change"])
        expect(f"{name}: fits", c["after"]["fits"])
        for g, key in KEYS.items():
            f = c["gain"][g]
            if not f:
                expect(f"{name}: {g} cannot be told for a reason", not now["fits"] or not now[key] or not c["after"][key], c)
                continue
            expect(f"{name}: {g} interval", 0 < f["low"] <= f["value"] * 1.0001 and f["value"] <= f["high"] * 1.0001, f)
            a, b = now[key], c["after"][key]
            ratio = a / b if key.endswith("_ms") else b / a
            expect(f"{name}: {g} is before and after", abs(f["value"] / ratio - 1) < 1e-6, (f, a, b))
        f = c["gain"][goal]
        if f:
            expect(f"{name}: says when it holds nothing", c["includes_nothing"] == (f["low"] <= 1 <= f["high"]), c)
        expect(f"{name}: sentences", c["trade_off"] and c["to_measure"] and c["known_from"])
    sure = [c["gain"][goal]["value"] for c in j["changes"] if c["gain"][goal] and not c["includes_nothing"]]
    perhaps = [c["gain"][goal]["value"] for c in j["changes"] if c["gain"][goal] and c["includes_nothing"]]
    expect(f"{told}: the best first", sure == sorted(sure, reverse=True) and perhaps == sorted(perhaps, reverse=True), (sure, perhaps))
    order = [c["includes_nothing"] for c in j["changes"] if c["gain"][goal]]
    expect(f"{told}: what is sure first", order == sorted(order), order)


def same_as_predict(j, base):
    """The options that a change names ask predict for the same figures."""
    for c in j["changes"]:
        if c["kind"] == "clock" or "without" in c["options"] or "--copies" in c["options"]:
            continue
        words = [w for w in re.findall(r'"[^"]*"|\S+', c["options"])]
        args, drop = list(base), [w for w in words if w.startswith("--")]
        for d in drop:
            if d in args:
                del args[args.index(d):args.index(d) + 2]
        p = predict(*args, *[w.strip('"') for w in words])
        for key in ("ttft_ms", "tpot_ms", "throughput_tok_s"):
            expect(f"{c['options']} is what predict says of {key}", abs(p[key]["value"] / c["after"][key] - 1) < 1e-6,
                   (p[key], c["after"]))


LLAMA = ["--model", "Llama-3.3-70B-Instruct", "--weights", "bf16", "--on", "h200 x8", "--prompt", "4096", "--output", "512", "--batch", "32"]


def advice():
    for goal in GOALS:
        j = ask(*LLAMA, "--goal", goal)
        laws(j, goal)
        expect(f"{goal}: something is better", j["changes"], j)
        kinds = {c["kind"] for c in j["changes"]}
        expect(f"{goal}: weights", "weights" in kinds, kinds)
    same_as_predict(ask(*LLAMA, "--goal", "throughput"), LLAMA)
    spark = ["--model", "Qwen3-32B", "--weights", "bf16", "--on", "dgx-spark"]
    j = ask(*spark, "--users", "4", "--context", "8192", "--prompt", "1024")
    laws(j, "spark")
    expect("context counts the prompt in", j["asked"]["depth_tokens"] == 7168 and j["asked"]["batch"] == 4, j["asked"])
    by = {c["kind"] + c["options"]: c for c in j["changes"]}
    two = next((c for k, c in by.items() if k.startswith("machines") and "--tp 2" in k), None)
    expect("two machines nearly halve a token", two and 1.5 < j["now"]["tpot_ms"] / two["after"]["tpot_ms"] < 2.1, by.keys())
    expect("dense models have rivals with experts", any(c["kind"] == "model" for c in j["changes"]), by.keys())
    expect("several at once", j["together"] and all(c["kind"] == "several" and " + " in c["change"] for c in j["together"]))
    guess = next(c for c in j["changes"] if c["kind"] == "draft")
    told = next(c for c in ask(*spark, "--users", "4", "--context", "8192", "--prompt", "1024", "--accept", "0.7")["changes"]
                if c["kind"] == "draft" and c["options"].split()[1] == guess["options"].split()[1])
    width = lambda c: c["gain"]["answer"]["high"] / c["gain"]["answer"]["low"]
    expect("an acceptance that is told narrows the interval", width(told) < width(guess), (told, guess))
    # What does not fit: no gain is made up.
    j = ask("--model", "Llama-3.3-70B", "--weights", "bf16", "--on", "dgx-spark")
    expect("does not fit", j["exit_code"] == 1 and not j["now"]["fits"] and j["changes"])
    expect("nothing to compare with", all(v is None for c in j["changes"] for v in c["gain"].values()), j["changes"][0]["gain"])
    laws(j, "does not fit")
    # A captured machine.
    code, out, err = run("--model", "Qwen3-8B", "--host", machines / "dgx-spark")
    expect("a captured machine", code == 0 and "GB10" in out and "possibly no gain" in out and "Trade-offs and measurements to confirm them" in out, (code, err, out))
    # Files, other formats.
    gguf = str(root / "tests/fuzz/seeds/model.gguf")
    j = ask("--model", gguf, "--on", "dgx-spark", "--users", "2")
    laws(j, "gguf")
    expect("a file's engine", j["asked"]["engine"] == "llama.cpp", j["asked"])
    for f in ("md", "html"):
        code, out, err = run(*LLAMA, "--format", f)
        expect(f"--format {f}", code == 0 and "Combined changes" in out and not err, err)
    expect("--quiet", run(*LLAMA, "--quiet") == (0, "", ""))
    j = ask("--sweep", "--model", gguf, "--host", machines / "dgx-spark", schema="sweep")
    expect("a sweep of a file on a captured machine", j["fit"] > 0, j)
    a, b = (run(*LLAMA, "--verbose")[1] for _ in range(2))
    expect("twice the same", a == b)


def front_laws(j, told):
    for f in j["fronts"]:
        p = [(x["latency_ms"], -x["outcome"]["throughput_tok_s"], x["outcome"]["memory_all_bytes"]) for x in f["points"]]
        expect(f"{told}: in order", p == sorted(p))
        for a, b in itertools.combinations(p[:400], 2):
            beaten = all(x <= y for x, y in zip(a, b)) or all(x >= y for x, y in zip(a, b))
            if beaten:
                expect(f"{told}: no point beats another", False, (a, b))
                break
        expect(f"{told}: fits", all(x["outcome"]["fits"] for x in f["points"]) and f["fit"] <= f["tried"])
    expect(f"{told}: counts", sum(f["tried"] for f in j["fronts"]) == j["tried"] and sum(f["fit"] for f in j["fronts"]) == j["fit"], j["tried"])


SWEEP = ["--sweep", "--model", "Qwen3-30B-A3B", "--on", "h200 x4", "--weights", "bf16,fp8,int4", "--kv", "bf16,fp8", "--tp", "1,2,4",
         "--copies", "1,2,4", "--batch", "1-8,16,64", "--prompt", "1K,8K", "--chunk", "2048,8192", "--draft", "0,3"]


def targets():
    """The best deployment for a target keeps it, and generate takes the line that makes its files."""
    asked = ["--no-calibration", "--model", "llama-3.3-70b", "--on", "8x h100", "--ttft-p95", "500ms", "--tpot-p95", "30ms"]
    j = json.loads(run(*asked, "--rate", "4/s", "--format", "json")[1])
    best = j["fronts"][0]["points"][0]
    plan = best["schedule"]
    expect("it keeps the target", best["meets_targets"] and plan["ttft_ms"]["p95"] <= 500 and plan["tpot_ms"]["p95"] <= 30 and not plan["overloaded"], best)
    expect("with the fewest GPUs of those", all(not x["meets_targets"] or x["outcome"]["gpus"] >= best["outcome"]["gpus"] for x in j["fronts"][0]["points"]))
    expect("at most 20 are simulated", sum("schedule" in x for x in j["fronts"][0]["points"]) <= 20)
    code, out, err = run(*asked, "--rate", "4")
    line = re.search(r"^\s*gputune (generate .*)$", out, re.M)
    expect("the page has the line", code == 0 and line, (code, err))
    if line:
        code, out, err = common.run(*shlex.split(line.group(1)))
        expect("generate takes it", code == 0 and "--tensor-parallel-size" in out, (line.group(1), code, err))
    code, out, err = run(*asked[:5], "--ttft-p95", "1ms", "--rate", "4")
    expect("nothing keeps 1 ms: the nearest, with its figures and its command", code == 1 and "The nearest: " in out and "95 of 100" in out and "gputune generate" in out,
           (code, out, err))
    near = json.loads(run(*asked[:5], "--ttft-p95", "1ms", "--rate", "4", "--format", "json")[1])["fronts"][0]["points"]
    expect("nearest first, and no limit of one request that would mean none", near and not near[0]["meets_targets"] and
           near[0]["latency_ms"] == min(x["latency_ms"] for x in near) and all(x["batch"] > x["copies"] for x in near), near[:2])
    out = run(*asked[:5], "--ttft-p95", "1ms", "--users", "400")[1]
    expect("replicas once, each with GPUs", re.search(r"The nearest: [0-9]+ x tp [0-9]+, weights", out) and "replicas, each on other GPUs" in out, out[:900])
    code, out, err = run(*asked[:5], "--ttft-p95", "500", "--rate", "4")
    expect("a time without a unit is refused: it is no 500 s", code == 2 and "500ms or 500s" in err, (code, err))
    for more, says in ((["--rate", "4", "--users", "3"], "mutually exclusive"), (["--rate", "many"], "requests per second"), (["--rate", "0"], "requests per second"),
                       ([], "--rate or --users"), (["--rate", "4", "--tp", "3"], None)):
        code, out, err = run(*asked, *more)
        expect(f"{more}: refused or none", code == (2 if says else 1) and (not says or says in err), (code, err))


def sweeps():
    j = ask(*SWEEP, schema="sweep")
    front_laws(j, "sweep")
    whole = 2 * 3 * 2 * 3 * 3 * 10 * 2 * 2  # prompts, formats, caches, tp, copies, batches, chunks, guesses
    expect("every mixture is counted", j["tried"] + j["senseless"] == whole, (j["tried"], j["senseless"], whole))
    expect("two shapes of requests, two fronts", [f["prompt_tokens"] for f in j["fronts"]] == [1000, 8000])
    # A front's point is what predict says of it.
    for x in j["fronts"][0]["points"][::max(1, len(j["fronts"][0]["points"]) // 5)]:
        if x["copies"] > 1:
            continue
        p = predict("--model", "Qwen3-30B-A3B", "--on", "h200 x4", "--weights", x["weights"], "--kv", x["kv"], "--tp", x["tp"], "--batch",
                    x["batch"], "--prompt", "1000", "--chunk", int(x["chunk"]), *(["--draft", x["draft"]] if x["draft"] else []))
        expect("a point is a prediction", abs(p["tpot_ms"]["value"] / x["outcome"]["tpot_ms"] - 1) < 1e-6, (p["tpot_ms"], x))
    # Nothing outside the front is better: a smaller sweep inside the larger one cannot beat it, as far as a simulation of some hundred requests
    # says the same as the estimate that chose what is simulated.
    small = ask(*[a.replace("bf16,fp8,int4", "fp8") for a in SWEEP], schema="sweep")
    for f, g in zip(j["fronts"], small["fronts"]):
        for x in g["points"]:
            o = x["outcome"]
            expect("a part does not beat the whole", any(
                y["latency_ms"] <= 1.03 * x["latency_ms"] and y["outcome"]["throughput_tok_s"] >= .97 * o["throughput_tok_s"] and
                y["outcome"]["memory_all_bytes"] <= 1.03 * o["memory_all_bytes"] for y in f["points"]), x)
    j = ask(*SWEEP, "--goal", "first-token", schema="sweep")
    expect("first token", j["latency"] == "ttft_ms" and all(x["latency_ms"] == x["outcome"]["ttft_ms"] for f in j["fronts"] for x in f["points"]))
    code, out, err = run(*SWEEP)
    expect("table and plot", code == 0 and "total tokens/s" in out and re.search(r"^ *[0-9]* *[|+] *a", out, re.M) and "GB" in out, (code, err))
    code, html, err = run(*SWEEP, "--format", "html")
    expect("drawings, broad and tall", html.count("<svg") == 4 and html.count("</svg>") == 4 and "latency, ms" in html, err)
    expect("twice the same", run(*SWEEP)[1] == out)
    j = ask("--sweep", "--model", "Llama-3.1-405B", "--weights", "bf16", "--on", "dgx-spark", schema="sweep")
    expect("nothing fits", j["exit_code"] == 1 and j["fit"] == 0 and not j["fronts"][0]["points"])
    expect("and is said", "None of" in run("--sweep", "--model", "Llama-3.1-405B", "--weights", "bf16", "--on", "dgx-spark")[1])
    j = ask("--sweep", "--model", "Qwen3-8B", "--on", "l4,h200", schema="sweep")
    expect("several machines", len({x["machine"] for x in j["fronts"][0]["points"]}) >= 1 and j["tried"] > 0)


def refused():
    model = ["--model", "Qwen3-8B", "--on", "h200"]
    for argv, word in (([], "--model"), (["--model", "Qwen3-8B", "--on", "toaster"], "toaster"), ([*model, "--goal", "fun"], "fun"),
                       (["--model", "Qwen3-8B", "--on", "0x h200"], "0x h200"), (["--model", "Qwen3-8B", "--on", "2x h200 x4"], "one count"),
                       (["--model", "Qwen3-8B", "--on", "-1x h200"], "4096"), ([*model, "--engine", "vlm"], '"vlm"'),
                       ([*model, "--batch", "1,2"], "--sweep"), ([*model, "--sweep", "--batch", "1,x"], "1,x"),
                       ([*model, "--sweep", "--batch", "0"], "--batch"), ([*model, "--sweep", "--batch", "5-2"], "5-2"),
                       ([*model, "--sweep", "--batch", "1-100000"], "1-100000"), ([*model, "--sweep", "--weights", "bf16,,fp8"], "empty"),
                       ([*model, "--sweep", "--weights", "cheese"], "cheese"), ([*model, "--sweep", "--kv", "brie"], "brie"),
                       ([*model, "--prompt", "100", "--context", "50"], "--context"), ([*model, "--copies", "9"], "9"),
                       ([*model, "--sweep", "--batch", "1-4096", "--prompt", "1-4096", "--chunk", "16-4000"], "configurations"),
                       ([*model, "--sweep", "--tp", "1-4096", "--pp", "1-10"], "combinations"), ([*model, "--sweep", "--tp", "1-"], "--tp"), (["--model", "Qwen3-8B", "--sweep", "--on", "h200,toaster"], "toaster")):
        code, out, err = run(*argv)
        expect(f"refuses {argv}", code == 2 and word in err and not out, (code, err, out[:100]))


def speed():
    """A million mixtures: formats x cache x layout x requests x context x chunks x guesses."""
    argv = ["--sweep", "--model", "Qwen3-235B-A22B", "--on", "h200 x8", "--weights", "bf16,fp8,int4", "--kv", "bf16,fp8", "--tp", "1,2,4,8", "--pp",
            "1,2", "--copies", "1,2,4,8", "--batch", "1-512", "--prompt", "1024,4096,16384", "--chunk", "2048,4096,8192,16384", "--draft", "0,1,3",
            "--format", "json"]
    begin = time.monotonic()
    out = run(*argv, seconds=600).out
    took = time.monotonic() - begin
    j = json.loads(out)
    each = j["tried"] / took * 60
    print(f"{j['tried']} predicted in {took:.1f} s with one thread: {each / 1e6:.2f} million a minute; load {os.getloadavg()[0]:.1f}, "
          f"{sum(len(f['points']) for f in j['fronts'])} on the fronts")


if "--speed" in sys.argv:
    speed()
    sys.exit(0)
advice()
targets()
sweeps()
refused()
end_suite()
