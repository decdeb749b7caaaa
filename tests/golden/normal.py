#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune normal: outputs of other programs with what people said of them; bad input.

normal.py PROGRAM
"""
import json
import pathlib
import subprocess
import tempfile

from common import end_suite, expect, gputune, root


def same(what, is_, wanted):
    expect(what, is_ == wanted, f"{is_}, not {wanted}")


def run(*words, text=None):
    return subprocess.run([gputune, "normal", *words], input=text, capture_output=True, text=True)


def lines_of(body):
    """The text, with @gpus COUNT NODES NAME as nccl-tests lists them."""
    for line in body:
        if line.startswith("@gpus "):
            _, count, nodes, name = line.split(" ", 3)
            for n in range(int(count)):
                node = n * int(nodes) // int(count)
                yield f"#  Rank {n:2} Group  0 Pid  {1000 + n} on     node{node} device  {n % 8} [0000:0f:00] {name}"
        else:
            yield line


def cases(name):
    case = None
    for line in (root / "tests/data" / name).read_text().splitlines():
        if line.startswith("== "):
            options, expected, source = (w.strip() for w in line[3:].split("|", 2))
            case = (options.split(), *expected.split(" ", 1), source, [])
            yield case
        elif case:
            case[-1].append(line)


def judged(name):
    """(what people said, what normal says, title, source) of each output"""
    for options, verdict, title, source, body in list(cases(name)):
        p = run("-", "--format", "json", "--host", "demo:hgx-h100", *options,
                text="\n".join(lines_of(body)) + "\n")
        found = [f for f in json.loads(p.stdout or '{"figures": []}')["figures"] if title in f["title"]]
        yield verdict, found[0]["verdict"] if found else "nothing", title, source


def figures(name):
    got = list(judged(name))
    right = sum(said == verdict for verdict, said, _, _ in got)
    falsely = sum(said in ("slow", "impossible") and verdict == "normal" for verdict, said, _, _ in got)
    print(f"{name}: {right} of {len(got)} as people judged, {falsely} called slow or impossible wrongly")
    return got, falsely


for verdict, said, title, source in figures("outputs.txt")[0]:
    same(f"{source[:70]}: {title}", said, verdict)
# Those that no row was made with: nothing is said against what is right, but for one in sixty.
got, falsely = figures("outputs-aside.txt")
same("kept aside: called slow or impossible wrongly", falsely <= 1, True)
same("kept aside: as people judged", sum(said == verdict for verdict, said, _, _ in got) * 10 >= len(got) * 8, True)

# Exit codes, hardware that nobody names, what is no output, hostile text.
same("nothing known", run("-", text="hello\n").returncode, 5)
same("no file", run().returncode, 2)
same("missing file", run("/nonexistent/x").returncode, 2)
p = run("-", "--host", "demo:hgx-h100", text="bf16 8192: 788 TFLOPS\n")
same("the GPU of the machine", "H100" in p.stdout, True)
with tempfile.TemporaryDirectory() as t:
    at = pathlib.Path(t, "x")
    at.write_bytes(b"\0\0")
    same("no text", run(str(at)).returncode, 2)
    at.write_text("# nThread 1 nGpus 8 \n$ all_reduce_perf\n" + "  9" * 100000 + "\n" + "{" * 5000)
    same("long lines", run(str(at)).returncode, 5)
    at.write_text('{"jobs": ' + "[" * 3000 + "]" * 3000 + "}")
    same("deep JSON", run(str(at)).returncode, 5)
    at.write_text("\x1b[31mtorch.float16\x1b[0m\n\x1b[1m 62.7 TFLOPs\x1b[0m\n")
    same("colours", run(str(at), "--on", "dgx-spark").returncode, 0)
    at.write_text("bf16 nan TFLOPS\nbf16 1e400 TFLOPS\nbf16 -3 TFLOPS\n")
    same("no numbers", run(str(at), "--on", "dgx-spark").returncode in (0, 1, 5), True)
# GuideLLM's and AIPerf's JSON, a table of llama-benchy.
def metric(**values):
    return {name: {"successful": {"mean": value}} for name, value in values.items()}


guide = {"benchmarks": [{"metrics": metric(prompt_token_count=256, output_token_count=128, request_concurrency=1, time_to_first_token_ms=40,
                                           inter_token_latency_ms=6.1)}]}
aiperf = {"time_to_first_token": {"unit": "ms", "avg": 40}, "inter_token_latency": {"avg": 6.1}, "input_sequence_length": {"avg": 256},
          "output_sequence_length": {"avg": 128}, "request_throughput": {"avg": 1.2}, "request_latency": {"avg": 815}, "request_count": {"avg": 20}}
benchy = "| model | test | t/s | ttfr (ms) |\n|:--|--:|--:|--:|\n| meta-llama/Llama-3.1-8B | tg32 (c1) | 163.9 \u00b1 1.0 | |\n"
for tool, text in ("GuideLLM", json.dumps(guide)), ("AIPerf", json.dumps(aiperf)), ("llama-benchy", benchy):
    p = run("-", "--on", "h200", "--model", "llama-3.1-8b", "--format", "json", text=text)
    got = [(f["tool"], f["verdict"]) for f in json.loads(p.stdout or '{"figures": []}')["figures"] if "TPOT" in f["title"]]
    same(f"reads {tool}", got, [(tool, "normal")])
for text in ('{"time_to_first_token_ms": {"successful": 3}}', '{"time_to_first_token": {"avg": "x"}}', "eval rate: nan\neval rate: 0 tokens/s\n",
             "ollama run -\neval rate: 1e400\n", "\u2502 Time to First Token (ms) \u2502\n"):
    same(f"nothing of {text!r}", run("-", "--on", "h200", text=text).returncode, 5)
p = run("-", "--on", "h200", "--contribute", text="bf16 8192x8192x8192: 788.2 TFLOPS\n")
same("a row to contribute", '"NVIDIA H200" bench=gemm case="bf16:8192"' in p.stdout, True)
end_suite()
