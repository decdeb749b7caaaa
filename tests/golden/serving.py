#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune diagnose serving: metrics as vLLM and SGLang print them, from files and from a stand-in end point; logs; bad input.

serving.py PROGRAM
"""
import http.server
import json
import pathlib
import subprocess
import tempfile
import threading

from common import end_suite, expect, gputune

# Counters and sums at the first look; a case says what the second one has.
VLLM = {"num_requests_running": 8, "num_requests_waiting": 0, "kv_cache_usage_perc": 0.4, "request_success_total": 100, "num_preemptions_total": 0,
        "time_to_first_token_seconds": (100, 20), "inter_token_latency_seconds": (1000, 20), "e2e_request_latency_seconds": (100, 500),
        "request_queue_time_seconds": (100, 1), "request_prefill_time_seconds": (100, 10), "request_decode_time_seconds": (100, 400),
        "request_prompt_tokens": (100, 50000), "iteration_tokens_total": (1000, 64000), "prefix_cache_queries_total": 50000,
        "prefix_cache_hits_total": 30000}
# What happens between the looks: how many more, and how much they add up to.
CASES = {
    "healthy": ("healthy", {}),
    "idle": ("idle", {"num_requests_running": 0}),
    "kv-full": ("kv-full", {"num_requests_waiting": 12, "kv_cache_usage_perc": 0.97, "request_queue_time_seconds": (50, 200),
                            "time_to_first_token_seconds": (50, 230)}),
    "seats": ("seats", {"num_requests_waiting": 30, "kv_cache_usage_perc": 0.2, "request_queue_time_seconds": (50, 100),
                        "time_to_first_token_seconds": (50, 120)}),
    "queue": ("queue", {"request_queue_time_seconds": (50, 100), "time_to_first_token_seconds": (50, 120)}),
    "preemption": ("preemption", {"num_preemptions_total": 20, "request_success_total": 50}),
    "prefill": ("prefill", {"time_to_first_token_seconds": (50, 200), "request_prefill_time_seconds": (50, 180), "request_queue_time_seconds": (50, 5)}),
    "no reuse": ("no-reuse", {"time_to_first_token_seconds": (50, 200), "request_prefill_time_seconds": (50, 180),
                              "prefix_cache_queries_total": 200000, "prefix_cache_hits_total": 100}),
    "mixed": ("mixed", {"inter_token_latency_seconds": (1000, 90), "iteration_tokens_total": (100, 400000)}),
}
LOGS = {
    "eager": "INFO 11-20 [config.py] Cuda graph is disabled because enforce_eager=True",
    "fallback": "WARNING [fused_moe.py:683] Using default MoE config. Performance might be sub-optimal! Config file not found",
    "no-fp4": "WARNING Your GPU does not have native support for FP4 computation but FP4 quantization is being used. Weight-only FP4 compression will be used",
    "stall": "INFO [shm_broadcast.py:501] No available shared memory broadcast block found in 60 second.",
    "preemption-log": "WARNING Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
}


def prometheus(values, prefix="vllm:"):
    out = ["# HELP something\n# TYPE something gauge"]
    for name, v in values.items():
        label = '{engine="0",model_name="a b} \\"c\\""}'
        if isinstance(v, tuple):
            out += [f'{prefix}{name}_bucket{{engine="0",le="0.5"}} {v[0]}', f"{prefix}{name}_count{label} {v[0]}.0", f"{prefix}{name}_sum{label} {v[1]}"]
        else:
            out.append(f"{prefix}{name}{label} {v}")
    return "\n".join(out) + "\n"


def after(change):
    out = {}
    for name, v in VLLM.items():
        c = change.get(name)
        if isinstance(v, tuple):
            more = c or (50, 50 * v[1] / v[0])
            out[name] = (v[0] + more[0], v[1] + more[1])
        elif name.endswith("_total"):
            out[name] = v + (c if c is not None else v // 2)
        else:
            out[name] = v if c is None else c
    return out


def serving(*words, cwd=None):
    p = subprocess.run([gputune, "diagnose", "serving", *map(str, words), "--format", "json"], capture_output=True, text=True, cwd=cwd, timeout=60)
    return p.returncode, json.loads(p.stdout) if p.stdout else {}, p.stderr


class Engine(http.server.BaseHTTPRequestHandler):
    """The first look, then what a case makes of it."""
    looks = []
    status = 200

    def do_GET(self):
        body = Engine.looks.pop(0).encode() if Engine.looks else b""
        self.send_response(Engine.status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


with tempfile.TemporaryDirectory(prefix="gputune-serving-") as where:
    base = pathlib.Path(where)
    (base / "before.prom").write_text(prometheus(VLLM))
    for name, (cause, change) in CASES.items():
        (base / "after.prom").write_text(prometheus(after(change)))
        code, j, err = serving(base / "before.prom", base / "after.prom")
        ids = [c["id"] for c in j.get("causes", [])]
        healthy = cause in ("healthy", "idle")
        expect(name, cause in ids and code == (0 if healthy else 1) and (not healthy or len(ids) == 1), (code, ids, err))
    code, j, _ = serving(base / "before.prom")
    figures = {f["name"]: f["value"] for f in j["figures"]}
    expect("one look: since the start", figures["ttft"] == 200 and figures["kv"] == 40 and figures["hit_rate"] == 60, figures)
    two = prometheus(VLLM) + prometheus({"num_requests_running": 5, "kv_cache_usage_perc": 0.9})
    (base / "two.prom").write_text(two.replace('engine="0"', 'engine="1"', 2))
    figures = {f["name"]: f["value"] for f in serving(base / "two.prom")[1]["figures"]}
    expect("engines are added up, the fullest cache counts", figures["running"] == 13 and figures["kv"] == 90, figures)
    (base / "s.prom").write_text(prometheus({"num_running_reqs": 4, "num_queue_reqs": 9, "token_usage": 0.95,
                                             "time_to_first_token_seconds": (10, 20), "queue_time_seconds": (10, 15)}, "sglang:"))
    code, j, _ = serving(base / "s.prom")
    expect("SGLang", code == 1 and j["engine"] == "sglang" and j["causes"][0]["id"] == "kv-full" and j["causes"][0]["share_percent"] == 75, j)
    for cause, line in LOGS.items():
        (base / "engine.log").write_text(f"\x1b[36m(EngineCore pid=1)\x1b[0m {line}\n")
        code, j, _ = serving(base / "engine.log")
        expect(f"log: {cause}", code == 1 and [c["id"] for c in j["causes"]] == [cause], j)
    (base / "engine.log").write_text("INFO Starting vLLM API server\n")
    expect("a log that says nothing", serving(base / "engine.log")[0] == 5)
    # An end point, twice; one that fails; one that is none.
    server = http.server.HTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/metrics"
    Engine.looks = [prometheus(VLLM), prometheus(after(CASES["seats"][1]))]
    code, j, err = serving(url, "--for", "200ms")
    expect("an end point", code == 1 and j["causes"][0]["id"] == "seats" and j["seconds"] >= 0.2, (code, j, err))
    Engine.status = 503
    expect("an end point that fails", serving(url)[0] == 2 and "503" in serving(url)[2])
    server.shutdown()
    server.server_close()
    expect("nobody listens", serving(url)[0] == 2)
    for name, words in (("nothing", ()), ("https", ("https://h/metrics",)), ("no file", ("/nonexistent",)), ("three", ("before.prom",) * 3)):
        expect(f"refused: {name}", serving(*words, cwd=base)[0] == 2)
    (base / "bad.prom").write_text("vllm:num_requests_running{\nvllm:num_requests_running nan\nvllm:num_requests_waiting 1e400\nvllm:kv_cache_usage_perc{a=\"\n" * 2000)
    expect("hostile metrics", serving(base / "bad.prom")[0] == 5)
end_suite()
