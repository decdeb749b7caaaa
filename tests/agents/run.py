#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What takes npm, or long: the official clients of both eras list and call every tool of gputune mcp and validate the answers; 100,000 calls
whose memory does not grow. run.py GPUTUNE [FOLDER [CALLS]]: FOLDER keeps npm's packages."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import jsonschema

here = pathlib.Path(__file__).resolve().parent
gputune = os.path.abspath(sys.argv[1])
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else here.parent.parent / "build-agents").resolve()
CALLS = int(sys.argv[3]) if len(sys.argv) > 3 else 100000
SPARK = "demo:dgx-spark"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
# Every tool that reads; bench loads a processor for a second.
EVERY = {
    "look": [{}, {"target": SPARK}], "check": [{"target": SPARK}, {"target": "demo:hgx-h100", "budget": 20000}], "explain": [{"id": "memory.swappiness"}],
    "doctor": [{"symptom": ["slow nccl"], "target": SPARK}, {"text": "CUDA error: out of memory"}], "defects": [{"target": SPARK}],
    "bench": [{"name": ["timer-wake-up"], "for": 1}], "compare": [{"a": "none", "b": "none"}], "predict": [{"model": "llama-3.1-8b", "on": "dgx-spark"}],
    "predict_training": [{"model": "llama-3.1-8b", "on": "hgx-h100"}], "generate": [{"kind": "nccl", "target": SPARK}, {"kind": "vllm", "model": "llama-3.1-8b", "on": "dgx-spark"}],
    "lint": [{"text": "export NCCL_IB_DISABLE=1\n"}], "plan": [{"target": SPARK}], "status": [{}],
}
tally = {True: 0, False: 0}


def expect(what, ok, detail=""):
    tally[bool(ok)] += 1
    if not ok:
        print(f"FAIL {what}: {str(detail)[:800]}", flush=True)


def packages():
    """node_modules as the lock file has them; nothing of theirs is run on installing. Why not, or None."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "there is no npm here; scripts/install-deps agents"
    folder.mkdir(parents=True, exist_ok=True)
    lock = hashlib.sha256((here / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "installed"
    if not (stamp.exists() and stamp.read_text() == lock):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(here / name, folder / name)
        p = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, timeout=180, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
        if p.returncode:
            return "npm cannot get the packages here: " + p.stderr.strip()[-300:]
        stamp.write_text(lock)
    shutil.copy(here / "client.mjs", folder / "client.mjs")
    return None


def clients():
    why = packages()
    if why:
        print(f"skip the official clients: {why}")
        return
    (folder / "calls.json").write_text(json.dumps(EVERY))
    for era, version in (("old", None), ("new", "2026-07-28")):
        p = subprocess.run(["node", "client.mjs", era, "calls.json", gputune, "mcp"], cwd=folder, timeout=180, capture_output=True, text=True, check=False)
        j = json.loads(p.stdout or "{}")
        expect(f"the {era} client lists every tool", j.get("tools") == list(EVERY), (j, p.stderr))
        expect(f"the {era} client: nothing is wrong", j.get("faults") == [] and p.returncode == 0, (j, p.stderr))
        expect(f"the {era} client: answers that fit their schemas", j.get("answered", 0) == sum(map(len, EVERY.values())) - 1, j)
        expect(f"the {era} client: resources and prompts", j.get("resources") == 10 and j.get("prompts") == 5, j)
        expect(f"the {era} client: revision", not version or j.get("version") == version, j)
        expect(f"the {era} client: nobody is asked about what only reads", j.get("shown") == [], j)
        shown_plan(era)
        print(f"{era}: {len(j.get('tools', []))} tools, {j.get('answered')} calls answered and validated, {j.get('version') or 'initialize'}")


def shown_plan(era):
    """The client shows its user the plan, as its revision has it, and ends with the proposal; the user's yes approves nothing."""
    (folder / "propose.json").write_text(json.dumps({"propose": [{"setting": "memory.swappiness", "target": SPARK}]}))
    with tempfile.TemporaryDirectory() as over:
        p = subprocess.run(["node", "client.mjs", era, "propose.json", gputune, "mcp", "--allow-changes", "--overlay", over], cwd=folder, timeout=60,
                           capture_output=True, text=True, check=False)
    j = json.loads(p.stdout or "{}")
    last = j.get("last") or {}
    data = last.get("data", {})
    expect(f"the {era} client shows the plan once", len(j.get("shown", [])) == 1 and data["hash"] in j["shown"][0] and data["plan"][0] in j["shown"][0], (j, p.stderr))
    expect(f"the {era} client: it waits all the same", data.get("state") == "waits" and last.get("user") == (None if era == "old" else "accept") and j["faults"] == [], j)


def inspect(*words):
    """The official inspector on the command line: what it prints, and what it ends with."""
    p = subprocess.run([str(folder / "node_modules/.bin/mcp-inspector"), "--cli", gputune, "mcp", *words], cwd=folder, timeout=120, capture_output=True, text=True, check=False)
    return p.returncode, json.loads(p.stdout or "{}"), p.stderr


def inspector():
    """Every tool listed (its schemas portable), called, and its answer held against its schema; resources and prompts."""
    if not (folder / "node_modules/.bin/mcp-inspector").exists():
        print("skip the inspector: it is not installed")
        return
    code, j, err = inspect("--method", "tools/list", "--strict")
    tools = {t["name"]: t for t in j.get("tools", [])}
    expect("the inspector lists every tool, and finds no fault in schemas", code == 0 and list(tools) == list(EVERY), (code, list(tools), err))
    called = 0
    for name, every in EVERY.items():
        words = [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in every[0].items()]
        code, j, err = inspect("--method", "tools/call", "--tool-name", name, *(["--tool-arg", *words] if words else []))
        if name == "compare":
            expect("the inspector: no such results", j.get("isError") is True, j)
            continue
        expect(f"the inspector calls {name}", code == 0 and not j.get("isError"), (code, j, err))
        jsonschema.validate(j["structuredContent"], tools[name]["outputSchema"])
        called += 1
    for method, key, most in (("resources/list", "resources", 10), ("prompts/list", "prompts", 5), ("resources/templates/list", "resourceTemplates", 1)):
        code, j, err = inspect("--method", method)
        expect(f"the inspector: {method}", code == 0 and len(j.get(key, [])) == most, (code, j, err))
    for uri in ("gputune://findings", "gputune://docs/AGENTS", "gputune://schemas/check"):
        code, j, err = inspect("--method", "resources/read", "--uri", uri)
        expect(f"the inspector reads {uri}", code == 0 and j["contents"][0]["text"], (code, err))
    code, j, err = inspect("--method", "prompts/get", "--prompt-name", "slow-machine")
    expect("the inspector gets a prompt", code == 0 and j["messages"], (code, err))
    print(f"inspector: {len(tools)} tools, {called} called and validated")


def memory(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text[text.index("VmRSS:"):].split()[1]), len(os.listdir(f"/proc/{pid}/fd"))


def soak():
    """What a day of an agent's work is, and more, at once: eight calls under way."""
    server = subprocess.Popen([gputune, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    kinds = [("explain", {"id": "memory.swappiness", "target": SPARK, "budget": 300}), ("status", {"target": SPARK}), ("look", {"target": "none"}),
             ("predict", {"model": "llama-3.1-8b", "on": "dgx-spark", "budget": 300}), ("lint", {"text": "export NCCL_IB_DISABLE=1\n", "target": SPARK})]
    began, sent, done, after, answered = time.monotonic(), 0, 0, None, 0
    while done < CALLS:
        while sent < CALLS and sent - done < 8:
            tool, arguments = kinds[sent % len(kinds)]
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": sent, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": META}}).encode() + b"\n")
            sent += 1
        server.stdin.flush()
        answered += b'"isError":false' in server.stdout.readline()
        done += 1
        if done == CALLS // 20:
            after = memory(server.pid)
    end = memory(server.pid)
    expect("answers", answered == CALLS * 4 // 5, answered)
    expect(f"memory is flat: {after} and {end} kB, descriptors", end[0] - after[0] <= 256 and end[1] <= after[1] + 16, (after, end))
    expect("memory is below 12 MB", end[0] < 12000, end)
    server.stdin.close()
    expect("it ends", server.wait(20) == 0)
    print(f"{CALLS} calls in {time.monotonic() - began:.0f} s, {after[0]} kB after the first twentieth, {end[0]} kB at the end")


clients()
inspector()
soak()
print(f"{tally[True]} passed, {tally[False]} failed")
sys.exit(1 if tally[False] else 0)
