#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts every row of measured.csv and compares the errors with recorded ones; published figures; the command's contract.

  check.py GPUTUNE            fails when a median error is above the recorded one
  check.py GPUTUNE --record   writes recorded.json

errors.json beside it holds what counts: errors for families of models that the constants had not seen.
"""
import collections
import csv
import importlib.machinery
import importlib.util
import json
import lzma
import pathlib
import re
import statistics
import sys
import tempfile

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import common  # noqa: E402
from common import end_suite, expect, machines, root, schema  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
WORK = tempfile.TemporaryDirectory()
MEASURED = pathlib.Path(WORK.name, "measured.csv")
MEASURED.write_bytes(lzma.decompress((HERE / "measured.csv.xz").read_bytes()))


def run(*args):
    return common.run("predict", "inference", *args)


def ask(*args):
    r = run("--format", "json", *args)
    if r.code not in (0, 1):
        expect(" ".join(args), False, r.err)
        return None
    j = json.loads(r.out)
    jsonschema.validate(j, schema("predict"))
    expect("exit code", r.code == j["exit_code"] == (0 if j["fits"] else 1), args)
    return j


def median(v):
    v = sorted(v)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def errors():
    r = run("--rows", str(MEASURED), "--format", "json")
    rows = json.loads(r.out)
    jsonschema.validate(rows, schema("predict-rows"))
    known = list(csv.DictReader(MEASURED.open()))
    out = collections.defaultdict(list)
    for k, p in zip(known, rows["rows"]):
        if p["skipped"] or p["speculative"]:
            continue
        expect("a row that ran fits", p["fits"] or "gb10" not in p["hardware"] or k["batch_or_concurrency"] != "1",
               f"line {p['line']}: {p['model']} {p['weights']} on {p['hardware']}")
        for f in ("ttft_ms", "tpot_ms", "throughput_tok_s"):
            if not p[f]["measured"]:
                continue
            many = p["batch"] > 1
            a, b = p[f]["measured"], p[f]["predicted"]
            hardware = "gb10" if "gb10" in p["hardware"] else "hbm"
            e = abs(a / b - 1) if f == "tpot_ms" and not many else abs(b / a - 1)
            for engine in (p["engine"] or "?", "all"):
                out[f"{hardware} {engine} {f} {'many' if many else 'one'}"].append(e)
    return {k: v for k, v in out.items() if len(v) >= 10}


def check_folds():
    """Families and GPUs left out of the fit are predicted no worse than by its priors, a roofline and the constants before, intervals hold what they promise; none is on a bound."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("fit", str(root / "scripts/fit"))
    fit = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit", loader))
    loader.exec_module(fit)
    study = fit.Study(common.gputune)
    all_told = fit.told(study)
    errors, _, intervals = fit.describe(all_told)
    for key, v, rows in fit.insides(all_told, intervals):
        if rows and key[0] != "aside":
            (low, high), part = fit.band(len(rows)), statistics.fmean(x for x, _ in rows)
            high = 1 if fit.borrows(v[0], intervals) else high
            expect(f"80 % intervals hold of {key}", low <= part <= high, f"{part:.3f}, not {low:.3f} to {high:.3f}")
    left = {(kind, c): leave for kind, leave, c, _ in fit.read_folds()}
    expect("folds of each set", {c for _, c in left} == set(fit.PRIOR), left)
    for k, v in fit.recorded("before").items():
        errors.get(k, {})["before"] = v
    known = set(line for line in (HERE / "misses.txt").read_text().splitlines() if not line.startswith("#"))
    missed = fit.misses(errors)
    expect("families and GPUs left out", {m.split(":")[0] for m in missed} <= known, "\n".join(missed))
    expect("known misses are none any more: take them out", known <= {m.split(":")[0] for m in missed}, known)
    aside = {k: v for k, v in errors.items() if k.startswith("aside")}
    expect("families set aside", sum(v["rows"] for v in aside.values()) >= 300, aside)
    stored = json.loads((HERE / "errors.json").read_text())
    expect("errors.json has the classes of today's fit", set(stored) == set(errors), set(stored) ^ set(errors))
    for k, v in errors.items():
        off = {f: (x, stored.get(k, {}).get(f)) for f, x in v.items() if abs((x or 0) - (stored.get(k, {}).get(f) or 0)) > .002 + .01 * abs(x or 0)}
        expect(f"errors.json has what today's fit says of {k}: else run scripts/fit GPUTUNE --errors", not off, off)
    for name, value in fit.read_constants().items():
        expect(f"{name} is on no bound", .01 < value < .995 if name.rsplit(".", 1)[1] in fit.SHARES else value > 0, value)


def check_errors():
    got = errors()
    path = HERE / "recorded.json"
    if "--record" in sys.argv:
        path.write_text(json.dumps({k: round(median(v), 4) for k, v in sorted(got.items())}, indent=1) + "\n")
    recorded = json.loads(path.read_text())
    expect("kinds", sorted(got) == sorted(recorded), f"{sorted(got)} {sorted(recorded)}")
    for k, v in sorted(got.items()):
        v.sort()
        print(f"{k:45} {len(v):5} rows  median {100 * median(v):5.1f} %  9 of 10 below {100 * v[int(.9 * (len(v) - 1))]:6.1f} %")
        expect(k, median(v) <= recorded.get(k, 0) * 1.02 + .0005, f"median {median(v):.4f}, recorded {recorded.get(k)}")


def check_speedups():
    """What more GPUs bring, between rows that differ in tensor parallelism alone: within 10 % for half of the pairs."""
    rows = json.loads(run("--rows", str(MEASURED), "--format", "json").out)["rows"]
    known = list(csv.DictReader(MEASURED.open()))
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for k, p in zip(known, rows):
        if p["skipped"] or p["speculative"] or not p["tpot_ms"]["measured"]:
            continue
        notes = tuple(n for n in k["notes"].split("; ") if n.startswith(("attention_dp", "depth")))
        key = (k["model"], k["hardware"].split()[0], notes, *(k[c] for c in ("engine", "weight_format", "kv_format", "batch_or_concurrency",
                                                                             "prompt_len", "output_len")))
        groups[key][p["tp"]].append((p["tpot_ms"]["measured"], p["tpot_ms"]["predicted"]))
    errors = []
    for g in groups.values():
        at = {tp: [median(v) for v in zip(*pairs)] for tp, pairs in sorted(g.items())}
        for a in at:
            errors += [abs(at[a][1] / at[b][1] * at[b][0] / at[a][0] - 1) for b in at if b > a]
    errors.sort()
    print(f"speed-up by tensor parallelism: {len(errors)} pairs, median error {100 * median(errors):.1f} %, "
          f"9 of 10 below {100 * errors[int(.9 * len(errors))]:.1f} %")
    expect("speed-up by tensor parallelism", len(errors) > 100 and median(errors) <= .1, median(errors))


def inside(what, figure, value):
    """In the 95 % interval: of single figures one in five lies outside the printed one."""
    low, high = (figure["value"] * (figure[k] / figure["value"]) ** 1.86 for k in ("low", "high"))
    expect(what, low <= value <= high, f"{value} is not in {figure}")


def check_published():
    llama = ["--model", "Llama-3.3-70B-Instruct", "--weights", "nvfp4", "--prompt", "32768", "--output", "1024", "--batch", "1"]
    one, two = ask(*llama, "--on", "dgx-spark"), ask(*llama, "--on", "2x dgx-spark")
    inside("TTFT, one machine", one["ttft_ms"], 33415)
    inside("TTFT, two machines", two["ttft_ms"], 21384)
    inside("TPOT, one machine", one["tpot_ms"], 269)
    inside("TPOT, two machines", two["tpot_ms"], 133)
    up = one["tpot_ms"]["value"] / two["tpot_ms"]["value"]
    expect("speed-up of decoding", abs(up / 2.02 - 1) <= .1, up)
    qwen = ["--model", "Qwen3.5-397B-A17B", "--weights", "int4", "--on", "4x dgx-spark", "--prompt", "1024", "--output", "512"]
    inside("397B alone", ask(*qwen, "--batch", "1")["throughput_tok_s"], 37)
    four = ask(*qwen, "--batch", "4")["throughput_tok_s"]["value"]
    expect("397B, four users", abs(four / 103 - 1) <= .25, four)
    inside("35B-A3B", ask("--model", "Qwen3.6-35B-A3B", "--weights", "bf16", "--on", "dgx-spark")["throughput_tok_s"], 30.3)
    claim = ask("--model", "a dense 200B", "--weights", "int4", "--on", "dgx-spark", "--claim", "36")["claim"]
    expect("a figure against physics", claim["verdict"] == "impossible" and "273 GB/s" in claim["reason"], claim)


def check_capacity():
    for model, weights, on, fits in (("Llama-3.3-70B", "bf16", "dgx-spark", False), ("Llama-3.3-70B", "fp8", "dgx-spark", True),
                                     ("gpt-oss-120b", "mxfp4", "dgx-spark", True), ("Llama-3.1-405B", "fp8", "h100 x4", False),
                                     ("Llama-3.1-405B", "fp8", "h200 x8", True), ("DeepSeek-V3", "fp8", "h100 x8", False),
                                     ("DeepSeek-V3", "fp8", "h200 x8", True), ("Qwen3-235B-A22B", "nvfp4", "dgx-spark", False),
                                     ("Qwen3-235B-A22B", "nvfp4", "2x dgx-spark", True), ("Qwen3-8B", "bf16", "l4", True),
                                     ("Qwen3-14B", "bf16", "l4", False)):
        j = ask("--model", model, "--weights", weights, "--on", on, "--prompt", "2048", "--output", "256")
        expect(f"{model} {weights} on {on}", j["fits"] == fits, j["memory"])
        expect("limit", (j["limit"] == "memory-capacity") == (not fits), j["limit"])
        if fits and j["memory"]["most_requests"] < 1e5:
            most = int(j["memory"]["most_requests"])
            for batch, good in ((most, True), (most + 1, False)):
                k = ask("--model", model, "--weights", weights, "--on", on, "--prompt", "2048", "--output", "256", "--batch", str(batch))
                # More requests also make wider activations, never narrower ones.
                expect(f"{batch} of at most {most} requests", k["fits"] <= good, k["memory"])


def check_waiting():
    """One number of requests that fit, in the verdict, the table of memory and the curve."""
    for model, weights, batch in (("llama-3.3-70b", "nvfp4", 2), ("llama-3.3-70b", "int4", 8), ("qwen3-32b", "fp8", 32)):
        out = run("--model", model, "--weights", weights, "--batch", str(batch), "--host", str(machines / "igx-orin")).out
        fit = int(re.search(r"requests that fit +(\d+) of this length", out).group(1))
        said = re.search(r"enough for (\d+) of the (\d+) requests", out)
        expect(f"{model} {weights}: the sentence", said and [int(n) for n in said.groups()] == [fit, batch], out)
        table = out.partition("By concurrency: a next request follows each answer\n")[2].partition("\n\n")[0]
        rows = re.findall(r"^ +(\d+) .*? s? .*?(exceeds memory.*)?$", table, re.M)
        expect(f"{model} {weights}: the rows that wait", len(rows) > 3 and all((int(n) > fit) == bool(why) for n, why in rows), (fit, rows))
        total = [float(n) for n in re.findall(r"^ +\d+ .* m?s +([0-9.]+)(?:  exceeds.*)?$", table, re.M)]
        expect(f"{model} {weights}: waiting requests leave the throughput", len(total) == len(rows)
               and all(b > 0.98 * a for a, b in zip(total, total[1:])), total)
        expect(f"{model} {weights}: one answer whether it fits", "Fits by" not in out or "if the engine takes all memory. Decode" in out, out)
        expect("FP4 without its arithmetic", ("no FP4 arithmetic" in out) == (weights == "nvfp4"), out)
    out = run("--model", "llama-3.3-70b", "--weights", "nvfp4", "--on", "dgx-spark").out
    expect("a GPU with FP4", "no FP4 arithmetic" not in out and "if the engine takes all" not in out, out)


def asked(*rows):
    """What is predicted of rows: hardware, engine, weights, tp, users, prompt, answer, notes."""
    head = "model,hardware,engine,weight_format,kv_format,tp,pp,batch_or_concurrency,prompt_len,output_len,ttft_ms,tpot_ms,notes"
    path = pathlib.Path(WORK.name, "asked.csv")
    path.write_text("\n".join([head, *(f"{m},{h},{e},{w},fp8,{tp},1,{n},{i},{o},1,1,{notes}" for m, h, e, w, tp, n, i, o, notes in rows)]) + "\n")
    return [(r["ttft_ms"]["predicted"], r["tpot_ms"]["predicted"]) for r in json.loads(run("--rows", str(path), "--format", "json").out)["rows"]]


def check_limits():
    """An engine's limit of requests, prompts that it holds, and attention that multiplies longer than it reads."""
    llama = ("llama-3.1-8b", "h100-sxm x1", "tensorrt-llm", "fp8", 1, 8, 1024, 512)
    (free, step), (same, _), (few, slow) = asked((*llama, ""), (*llama, "places=8"), (*llama, "places=7"))
    expect("as many places as users", same == free, (same, free))
    expect("the eighth user waits for a seventh of an answer", .9 < (few - free) / (512 * slow / 7) < 1.1 and slow < step * 1.02, (free, few, slow))
    j = ask("--model", "llama-3.1-8b", "--on", "h100", "--batch", "8", "--max-running", "4", "--output", "256")
    expect("--max-running", j["ttft_ms"]["value"] > 250 * j["tpot_ms"]["value"] and any("at most 4 of 8" in n for n in j["notes"]), j)
    r1 = ("deepseek-r1", "h200-sxm x16", "tensorrt-llm", "fp8", 8, 16, 1024, 1024)
    apart = "prefill_workers=1; prefill_tp=8; prefill_dp=1; decode_workers=1"
    (free, step), (few, slow) = asked((*r1, apart), (*r1, apart + "; places=8"))
    expect("half of the users wait for a whole answer", .9 < few / (1024 * slow) < 1.1 and free < .1 * few and slow < step, (free, few, slow))
    r1 = ("deepseek-r1", "h200-sxm x8", "tensorrt-llm", "fp8", 8, 64, 8192, 1024)
    (free, step), (held, slow) = asked((*r1, "attention_dp=8"), (*r1, "attention_dp=8; hold=60"))
    expect("held for up to 60 steps", 20 < (held - free) / slow < 70 and slow < step, (free, step, held, slow))
    (few, step), (many, slow) = asked(*(("llama-3.1-8b", "h200-sxm x8", "sglang", "fp8", 8, 512, 1000, out, "") for out in (500, 2000)))
    rate = [512e3 * out / (first + out * each) for out, first, each in ((500, few, step), (2000, many, slow))]
    expect("SGLang's front end passes on 20,000 tokens a second", all(15e3 < r < 21.2e3 for r in rate), rate)
    for engine in ("vllm", "sglang", "tensorrt-llm"):
        j = ask("--model", "llama-3.1-8b", "--on", "h200", "--engine", engine, "--rate", "2")
        expect(f"{engine}, two requests a second wait for nothing", j["ttft_ms"]["value"] < 300 and 3 < j["tpot_ms"]["value"] < 12 and
               1.5 < j["schedule"]["answered_per_s"] < 2.5, (j["ttft_ms"], j["tpot_ms"]))
    expect("longer answers make later first tokens", many > 1.5 * few, (few, many))
    long = ("deepseek-r1", "h200-sxm x16", "tensorrt-llm", "fp8", 1, 32, 8192, 8192, apart + "; attention_dp=8; depth=")
    (_, short), (_, deep) = asked(*((*long[:-1], long[-1] + str(depth)) for depth in (4096, 4096 + 24576)))
    least = 4 * 1e3 * 2 * 128 * (2 * 512 + 64) * 61 * 24576 / 989e12  # of the four requests of a group, at the peak of an H200
    expect("a token multiplies with 24,576 others more", deep - short > least, (short, deep, least))


CONFIGS = {
    "llama": (dict(model_type="llama", hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
                   intermediate_size=14336, vocab_size=128256), 8.03e9),
    "deepseek_v3": (dict(model_type="deepseek_v3", hidden_size=7168, num_hidden_layers=61, num_attention_heads=128, num_key_value_heads=128,
                         intermediate_size=18432, moe_intermediate_size=2048, n_routed_experts=256, n_shared_experts=1,
                         num_experts_per_tok=8, first_k_dense_replace=3, q_lora_rank=1536, kv_lora_rank=512, qk_rope_head_dim=64,
                         qk_nope_head_dim=128, v_head_dim=128, vocab_size=129280,
                         quantization_config=dict(quant_method="fp8", weight_block_size=[128, 128])), 671e9),
    "gemma3": (dict(model_type="gemma3", text_config=dict(model_type="gemma3_text", hidden_size=5376, num_hidden_layers=62,
                                                         num_attention_heads=32, num_key_value_heads=16, head_dim=128,
                                                         intermediate_size=21504, vocab_size=262208, sliding_window=1024,
                                                         sliding_window_pattern=6)), 27.0e9),
    "nemotron_h": (dict(model_type="nemotron_h", hidden_size=2688, num_hidden_layers=52, num_attention_heads=32, num_key_value_heads=2,
                        head_dim=128, intermediate_size=1856, vocab_size=131072, n_routed_experts=128, num_experts_per_tok=6,
                        moe_intermediate_size=1856, moe_shared_expert_intermediate_size=3712, n_shared_experts=1, mlp_hidden_act="relu2",
                        hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", mamba_num_heads=64,
                        mamba_head_dim=64, ssm_state_size=128, n_groups=8), 31.6e9),
    "gpt_oss": (dict(model_type="gpt_oss", hidden_size=2880, num_hidden_layers=24, num_attention_heads=64, num_key_value_heads=8, head_dim=64,
                     intermediate_size=2880, vocab_size=201088, num_local_experts=32, num_experts_per_tok=4, sliding_window=128,
                     layer_types=["sliding_attention", "full_attention"] * 12,
                     quantization_config=dict(quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn"])), 20.9e9),
    "qwen3_5": (dict(model_type="qwen3_5", text_config=dict(model_type="qwen3_5_text", hidden_size=5120, num_hidden_layers=64,
                                                           num_attention_heads=24, num_key_value_heads=4, head_dim=256,
                                                           intermediate_size=17408, vocab_size=248320, linear_num_value_heads=48,
                                                           linear_num_key_heads=16, full_attention_interval=4)), 26.9e9),
    "falcon": (dict(model_type="falcon", hidden_size=4544, num_hidden_layers=32, num_attention_heads=71, multi_query=True, vocab_size=65024,
                    ffn_hidden_size=18176, tie_word_embeddings=True), 6.92e9),
}


def check_measured():
    """What is said of a machine that nobody measured is said of those alone that the table has no row of."""
    known = sorted({k["hardware"].split()[0] for k in csv.DictReader(MEASURED.open())})
    for on in (*known, "h100-pcie", "h200-nvl", "a100", "l40s", "rtx 6000 ada", "rtx pro 6000", "5090", "thor"):
        notes = ask("--model", "llama-3.1-8b", "--on", on)["notes"]
        expect(f"runs on {on} are known", (on in known) != any("using constants fitted on" in n for n in notes), notes)


def check_pooled():
    """An interval of a GPU that was never measured is of GPUs left out of the fit, and says so; it is wider than that of GPUs which were measured.
    The parts of TTFT add up."""
    for on in ("rtx 6000 ada", "a100", "thor", "rtx pro 6000"):
        for users, figures in (("1", ("tpot_ms", "ttft_ms")), ("8", ("throughput_tok_s",))):
            mine, gb10 = (ask("--model", "llama-3.1-8b", "--on", x, "--batch", users) for x in (on, "gb10"))
            for f in figures:
                expect(f"{on}, {users}: {f} is of GPUs left out", "not measured on this GPU" in mine[f]["measured_on"], mine[f])
                expect(f"{on}, {users}: {f} is wider", mine[f]["high"] / mine[f]["low"] > gb10[f]["high"] / gb10[f]["low"], (mine[f], gb10[f]))
        page = run("--model", "llama-3.1-8b", "--on", on).out.split("TTFT of one prompt")[1].split("\n\n")[0]
        parts = [float(x) for x in re.findall(r"  +([\d.]+) (?:of [\d.]+ )?ms", page)]
        expect(f"{on}: parts of TTFT add up", len(parts) >= 6 and abs(sum(parts[:-1]) / parts[-1] - 1) < .01, page)


def check_places():
    """One card has one size, whoever asks; what is named twice is refused."""
    capture = machines / "h200-x4"
    named = ask("--model", "llama-3.1-8b", "--on", "h200")["memory"]["limit_bytes"]
    seen = ask("--model", "llama-3.1-8b", "--host", str(capture))["memory"]["limit_bytes"]
    expect("an H200 by name and as it was read", abs(named / seen - 1) < 1e-6, (named, seen))
    r = run("--model", "llama-3.1-8b", "--on", "h200", "--host", str(capture))
    expect("--on and --host", r.code == 2 and "--host" in r.err, r.err)
    r = run("--model", "llama-3.1-8b", "--on", "rtx 4090 laptop")
    expect("the nearest card is named", r.code == 2 and "NVIDIA GeForce RTX 4090" in r.err, r.err)
    r = run("--model", "mamba-2.8b", "--on", "h100")
    if r.code == 0:
        expect("a context without end", "16777216 tokens" not in r.out or "more than 16777216" in r.out, r.out)


def check_files():
    with tempfile.TemporaryDirectory() as d:
        for name, (config, params) in CONFIGS.items():
            path = pathlib.Path(d) / "config.json"
            path.write_text(json.dumps(config))
            j = ask("--model", str(path), "--on", "4x dgx-spark")
            expect(f"parameters of {name}", abs(j["asked"]["parameters"] / params - 1) < .015, j["asked"]["parameters"])
        # A folder: the exact bytes of the index count.
        (pathlib.Path(d) / "config.json").write_text(json.dumps(CONFIGS["llama"][0]))
        (pathlib.Path(d) / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 12345678901}, "weight_map": {"a": "b"}}')
        j = ask("--model", d, "--on", "dgx-spark")
        expect("bytes of the index", abs(j["asked"]["model_bytes"] / 12345678901 - 1) < 1e-6, j["asked"])
        (pathlib.Path(d) / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 16060522496}, "weight_map": {"a": "b"}}')
        j = ask("--model", d, "--on", "dgx-spark", "--weights", "fp8")
        expect("FP8 of files in BF16", j["asked"]["model_bytes"] < 9.2e9 and any("16.06 GB" in n for n in j["notes"]), j["asked"])
        shape = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                 "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192}
        stretched = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
        for more, limit in (({}, 8192), ({"rope_scaling": stretched}, 32768)):
            (pathlib.Path(d) / "config.json").write_text(json.dumps(shape | more))
            for prompt, beyond in ((limit - 256, False), (limit, True)):
                r = run("--model", d, "--on", "h200", "--prompt", str(prompt), "--output", "128")
                expect(f"made for {limit}, {prompt}", (f"exceed the model's context length of {limit}" in " ".join(r.out.split())) == beyond, r.out)
        # A file of the quantizer's own, and one file of weights under two names.
        (pathlib.Path(d) / "model.safetensors.index.json").unlink()
        (pathlib.Path(d) / "config.json").write_text(json.dumps(shape))
        (pathlib.Path(d) / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}')
        for name in ("model.safetensors", "consolidated.safetensors"):
            header = b'{"a":{"dtype":"U8","shape":[9000000000],"data_offsets":[0,9000000000]}}'
            (pathlib.Path(d) / name).write_bytes(len(header).to_bytes(8, "little") + header)
        j = ask("--model", d, "--on", "dgx-spark")
        expect("FP8 by a file beside", j["asked"]["weights"] == "fp8" and any("hf_quant_config.json" in n for n in j["notes"]), j)
        expect("one file counts once", abs(j["asked"]["model_bytes"] / 9e9 - 1) < 1e-6, j["asked"])
        (pathlib.Path(d) / "hf_quant_config.json").write_text("[]")
        r = run("--model", f"{d}/config.json", "--on", "dgx-spark")
        expect("a bad file beside", r.code == 2 and "hf_quant_config.json" in r.err, r.err)
        (pathlib.Path(d) / "hf_quant_config.json").unlink()
        (pathlib.Path(d) / "config.json").write_text(json.dumps(shape | {"num_attention_heads": 33}))
        r = run("--model", d, "--on", "dgx-spark")
        expect("heads that no engine shares out", r.code == 2 and "not a multiple of 8 key-value heads" in " ".join(r.err.split()), r.err)
        (pathlib.Path(d) / "config.json").write_text('{"hidden_size": 1}')
        r = run("--model", d, "--on", "dgx-spark")
        expect("a bad configuration", r.code == 2 and f"{d}/config.json" in r.err, r.err)
    j = ask("--model", str(root / "tests/fuzz/seeds/model.gguf"), "--on", "dgx-spark")
    expect("GGUF", "header" in j["asked"]["weights"] and j["asked"]["engine"] == "llama.cpp", j["asked"])
    check_gguf_files()


def check_gguf_files():
    """A model in two files side by side: read by either's name; not without the other."""
    two = (root / "tests/fuzz/seeds/model.two.gguf").read_bytes()
    middle = two.index(b"GGUF", 4)
    with tempfile.TemporaryDirectory() as d:
        files = [pathlib.Path(d) / f"m-{i:05}-of-00002.gguf" for i in (1, 2)]
        files[0].write_bytes(two[:middle])
        r = run("--model", str(files[0]), "--on", "dgx-spark")
        expect("a file is missing", r.code == 2 and "m-00002-of-00002.gguf" in r.err, r.err)
        files[1].write_bytes(two[middle:])
        # An embedding of 256 x 512 in Q8_0, two layers of 524,288 in Q4_K.
        for path in files:
            j = ask("--model", str(path), "--on", "dgx-spark")
            expect(f"bytes of {path.name}", j["asked"]["model_bytes"] == 256 * 512 * 34 / 32 + 2 * 524288 * 144 / 256, j["asked"])
        files[1].rename(pathlib.Path(d) / "other.gguf")
        r = run("--model", f"{d}/other.gguf", "--on", "dgx-spark")
        expect("the second file alone", r.code == 2 and "file 2 of 2" in r.err, r.err)


def check_usage():
    for args, word in ((["--on", "h200"], "--model"), (["--model", "Acme", "--on", "h200"], "Acme"),
                       (["--model", "Qwen3-8B", "--on", "toaster"], "toaster"), (["--model", "Qwen3-8B", "--on", "h200", "--weights", "cheese"], "cheese"),
                       (["--model", "Qwen3-8B", "--on", "h200", "--batch", "0"], "--batch"), (["--model", "Qwen3-8B", "--on", "h200", "--tp", "9"], "9"),
                       (["--model", "/no/config.json", "--on", "h200"], "/no/config.json"),
                       (["--model", "Qwen3-8B", "--on", "h200", "--engine", "vllm@abc"], "vllm@0.28"), (["--rows", "/no"], "/no"),
                       (["--model", "Qwen3-8B", "--on", "h200 x64", "--pp", "40"], "36 layers")):
        r = run(*args)
        expect(f"refuses {args}", r.code == 2 and word in r.err and not r.out, f"{r.code} {r.err}")
    r = run("--model", "Qwen3-8B", "--on", "h200", "--params", "1e30")
    expect("bounds as people write them", r.code == 2 and "from 1M to 100T" in r.err, r.err)
    r = common.run("advise", "--model", "Qwen3-8B", "--on", "h200", "--users", "4", "--batch", "2")
    expect("users and batch are one thing", r.code == 2 and "--batch" in r.err and not r.out, r.err)
    with tempfile.TemporaryDirectory() as d:
        table = pathlib.Path(d) / "rows.csv"
        for text, word in (("model\nQwen3-8B\n", '"hardware"'), ('"model,hardware\n', "row 1"), ('model,hardware\nQwen3-8B,"h200\n', "row 2")):
            table.write_text(text)
            r = run("--rows", str(table))
            expect(f"a table that is none: {text!r}", r.code == 2 and word in r.err and not r.out, r.err)
        table.write_text("model,hardware,engine,tp,batch_or_concurrency,prompt_len,output_len,tpot_ms\nQwen3-8B,h100,nosuch,1,1,9,9,9\nQwen3-8B,h1000,vllm,1,1,9,9,9\n")
        r = run("--rows", str(table))
        expect("rows that cannot be, by line", "line 2: unknown engine; line 3: unknown machine" in " ".join(r.out.split()), r.out)
    r = run("--model", "Qwen3-8B", "--host", str(machines / "dgx-spark"))
    expect("a captured machine", r.code == 0 and "GB10" in r.out, r.err)
    r = run("--model", "Qwen3-8B", "--on", "h200", "--explain")
    expect("equations", "Derivation" in r.out and "GB/s x" in r.out, r.out)


check_folds()
check_errors()
check_speedups()
check_published()
check_capacity()
check_waiting()
check_limits()
check_measured()
check_pooled()
check_places()
check_files()
check_usage()
end_suite()
