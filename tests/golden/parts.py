#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of results: --compact is small and follows the schema but for what is left out, --fields keeps what is named and names what is near."""
import copy
import json
import os
import tempfile

import jsonschema

from common import captured, end_suite, expect, refuses, run, schema

spark = ["--host", "demo:dgx-spark"]


def lax(s):
    """The schema of a compact result: nothing has to be there, and a fact is its value."""
    if isinstance(s, list):
        return [lax(x) for x in s]
    if not isinstance(s, dict):
        return s
    s = {{"oneOf": "anyOf"}.get(k, k): lax(v) for k, v in s.items() if k not in ("required", "not")}
    value = s.get("properties", {}).get("value") if "from" in s.get("properties", {}) else None
    return {"anyOf": [value, s]} if value is not None else s


def names(j, path=""):
    """The paths of all members."""
    if isinstance(j, list):
        return set().union(*(names(x, path) for x in j)) if j else set()
    if not isinstance(j, dict):
        return set()
    return {path + k for k in j} | set().union(*(names(v, f"{path}{k}.") for k, v in j.items()))


def without(j):
    """No member is null or empty."""
    if isinstance(j, list):
        return all(without(x) for x in j)
    return not isinstance(j, dict) or all(v not in (None, [], {}) and without(v) for v in j.values())


for machine in captured:
    at = ["--host", f"demo:{machine.name}"]
    for argv, most in ((["check"], 12_000), (["show"], 200_000), (["check", "--all"], 120_000), (["plan"], 120_000), (["status"], 12_000), (["list"], 40_000), (["explain", "nic.mtu"], 20_000), (["lint"], 20_000)):
        host = [] if argv == ["list"] else at
        code, out, err = run(*argv, *host, "--format", "json", "--compact")
        whole = run(*argv, *host, "--format", "json")
        if not expect(f"{argv} of {machine.name}, compact", code == whole.code and out.endswith("\n") and out.count("\n") == 1 and not err, (code, err)):
            continue
        small, large = json.loads(out), json.loads(whole.out)
        expect(f"{argv} of {machine.name}: its size", len(out) < most, len(out))
        expect(f"{argv} of {machine.name}: nothing says nothing", without(small))
        expect(f"{argv} of {machine.name}: the head stays", all(small.get(k) == large[k] for k in ("schema", "tool_version", "exit_code") if k in large))
        if argv[0] != "show":
            expect(f"{argv} of {machine.name}: no other members", names(small) <= names(large), names(small) - names(large))
        for bad in list(jsonschema.Draft202012Validator(lax(copy.deepcopy(schema(argv[0])))).iter_errors(small))[:1]:
            expect(f"{argv} of {machine.name} follows its schema", False, (list(bad.absolute_path), bad.message))

facts = json.loads(run("show", *spark, "--compact").out)["facts"]
expect("a fact is its value", facts["kernel"]["arch"] == "aarch64" and facts["gpu"]["gpus"][0]["name"] == "NVIDIA GB10", facts["kernel"])
some, every = (json.loads(run("check", *spark, "--compact", *more).out) for more in ([], ["--all"]))
expect("what is right is left out", {f["verdict"] for f in some["findings"]} == {"fail", "unknown"} and len(some["findings"]) == some["summary"]["fail"] + some["summary"]["unknown"], some["summary"])
expect("--all has it", len(every["findings"]) > 100 and all("why" in f for f in every["findings"]))
expect("--compact and --fields are of JSON without --format", run("check", *spark, "--compact") == run("check", *spark, "--compact", "--format", "json"))
with tempfile.TemporaryDirectory() as tmp:
    path = os.path.join(tmp, "plan.json")
    run("plan", *spark, "--compact", "-o", path)
    refuses("a compact plan is not applied", ["apply", path, *spark, "--dry-run"], 2, path, "does not have the key")

# --- fields ---------------------------------------------------------------------------------------

code, out, err = run("check", *spark, "--format", "json", "--fields", "exit_code,findings.id,findings.verdict")
got, whole = json.loads(out), json.loads(run("check", *spark, "--format", "json").out)
expect("fields of a list", code == 1 and names(got) == {"exit_code", "findings", "findings.id", "findings.verdict"}, names(got))
expect("every item", [f["id"] for f in got["findings"]] == [f["id"] for f in whole["findings"]])
expect("an object as a whole", json.loads(run("check", *spark, "--fields", "host").out) == {"host": whole["host"]})
expect("a named member is not left out for explaining", all("why" in f for f in json.loads(run("check", *spark, "--compact", "--fields", "findings.why").out)["findings"]))
expect("a list that is empty here", json.loads(run("status", *spark, "--fields", "rows.id,summary").out)["rows"] == [])
expect("facts", json.loads(run("show", *spark, "--compact", "--fields", "facts.gpu.gpus.name").out) == {"facts": {"gpu": {"gpus": [{"name": "NVIDIA GB10"}]}}})
for field, near in (("findings.ide", "findings.id"), ("finding.id", "findings.id"), ("verdict", "findings.verdict"), ("findings.id.x", "findings.id"), ("hots", "host"), ("summary.fial", "summary.fail")):
    refuses(f"no field {field}", ["check", *spark, "--fields", field], 2, f'no field "{field}"', f'did you mean "{near}"')
refuses("nothing is near", ["check", *spark, "--fields", "zzzzzz"], 2, 'no field "zzzzzz"', "fields: schema, tool_version, ")
for field in ("", ",", "exit_code,,", ".", "exit_code."):
    refuses(f"a field {field!r}", ["status", *spark, "--fields", field], 2, "empty" if not field else "no field")
refuses("before anything is done", ["status", "--host", "/no/such", "--fields", "rows.ident"], 2, 'no field "rows.ident"', 'did you mean "rows.id"')
refuses("a long one", ["status", *spark, "--fields", "x." * 20000], 2, "no field")
refuses("many", ["status", *spark, "--fields", "rows.id," * 5000 + "rows.i"], 2, 'no field "rows.i"')
for verb in ("check", "status", "plan"):
    for option in (["--compact"], ["--fields", "exit_code"]):
        refuses(f"{verb} {option} of a page", [verb, *spark, "--format", "md", *option], 2, f"{option[0]} requires --format json")

# --- --budget, --top: most important first, and what was left out -----------------------------------
for verb, name in (("check", "hgx-h100"), ("show", "hgx-h100"), ("plan", "dgx-spark"), ("list", None), ("doctor", "dgx-spark")):
    on = ["--host", f"demo:{name}"] if name else []
    whole = json.loads(run(verb, *on, "--format", "json").out)
    most = len(json.dumps(whole, separators=(",", ":")).encode())
    last = 0
    for tokens in (300, 1000, 4000):
        got, out, err = run(verb, *on, "--budget", str(tokens))
        j = json.loads(out)
        if not expect(f"{verb} --budget {tokens}", len(out.encode()) <= 4 * tokens + 1 and out.count("\n") == 1 and j.get("exit_code") == whole.get("exit_code"),
                      (len(out), err)):
            continue
        expect(f"{verb} --budget {tokens} says what it left out", len(out) > most or (j["omitted"]["parts"] and all(p["shown"] < p["of"] for p in j["omitted"]["parts"])), out[-300:])
        expect(f"{verb}: more tokens, no less", len(out) >= last, (len(out), last))
        last = len(out)
    got = json.loads(run(verb, *on, "--budget", "1000000").out)
    for j in (got, whole):
        j.get("diagnoses", []).sort(key=lambda d: d["id"])
    expect(f"{verb} with a budget for all of it", got == whole or verb == "check")
# What the command map names and answers of a captured machine or of none, with the least that an agent may ask for.
for words in ("predict inference --model llama-3.1-8b --on dgx-spark", "predict training --model llama-3.1-8b --on hgx-h100", "advise --model llama-3.3-70b --weights nvfp4 --on dgx-spark",
              "monitor --once --host demo:hgx-h100", "explain memory.swappiness --host demo:hgx-h100", "generate vllm --model llama-3.1-8b --on dgx-spark", "generate nccl --host demo:hgx-h100",
              "stack check --host demo:hgx-h100", "stack env --host demo:hgx-h100", "list models", "profile diff default vendor", "demo", "defects check --host demo:hgx-h100", "defects search hang",
              "status --host demo:dgx-spark", "history --host demo:dgx-spark", "persist status --host demo:dgx-spark", "verify --host demo:dgx-spark", "data status", "report --host demo:hgx-h100 -o -"):
    got, out, err = run(*words.split(), "--budget", "200")
    expect(f"{words} --budget 200", len(out.encode()) <= 801 and "schema" in json.loads(out), (len(out), err))
j = json.loads(run("predict", "inference", "--model", "llama-3.1-8b", "--on", "dgx-spark", "--budget", "300").out)
expect("of a prediction the figures are kept longest", all(j[k]["low"] < j[k]["high"] for k in ("ttft_ms", "tpot_ms", "throughput_tok_s")) and "explain" not in j, j)
j = json.loads(run("monitor", "--once", "--host", "demo:hgx-h100", "--budget", "200").out)
expect("many parts that are left out are counted", j["omitted"]["more_parts"] + len(j["omitted"]["parts"]) > 30, j)
states = [d["state"] for d in json.loads(run("doctor", "--passive", "--host", "demo:hgx-h100", "--budget", "1500").out)["diagnoses"]]
expect("of diagnoses what was found is first", states[0] == "found" and states == sorted(states), states)
ranked = json.loads(run("check", "--host", "demo:hgx-h100", "--top", "30").out)["findings"]
order = [(["fail", "unknown", "pass", "na"].index(f["verdict"]), ["critical", "high", "medium", "low", "info"].index(f["severity"])) for f in ranked]
expect("what matters most is first", order == sorted(order) and len(ranked) == 30, order)
top = json.loads(run("check", *spark, "--compact", "--top", "2").out)
expect("--top", len(top["findings"]) == 2 and top["omitted"]["parts"][0] == {"path": "findings", "shown": 2, "of": 11}, top["omitted"])
refuses("--top of a page", ["check", *spark, "--format", "md", "--top", "3"], 2, "--top requires --format json")
with tempfile.TemporaryDirectory() as tmp:
    page = os.path.join(tmp, "report.json")
    code = run("report", "--host", "demo:hgx-h100", "--budget", "1500", "-o", page).code
    text = open(page, encoding="utf-8").read()
    bench = json.loads(run("bench", "hand-over", "--for", "0.1", "--runs", "1", "--budget", "600", "--state", tmp).out)
    expect("of a measurement the figures are kept longest", bench["cases"][0]["figures"][0]["median_us"] > 0 and "fingerprint" not in bench, bench)
    expect("a report with a budget", code == 1 and len(text) <= 6001 and json.loads(text)["omitted"]["parts"], (code, len(text)))
code, out, err = run("monitor", "--once", "--host", "demo:hgx-h100", "--top", "1")
expect("lines of monitor, bounded", code == 0 and out.count("\n") == 1 and len(json.loads(out)["gpu0"]) > 5, (code, out[:200], err))
refuses("monitor has no such member", ["monitor", "--host", "demo:hgx-h100", "--fields", "gpu99"], 2, 'no field "gpu99"')
for limited in ("prove", "tune", "qualify", "stack compare", "cluster check"):
    text = run(*limited.split(), "--help").out
    expect(f"{limited}: one meaning a word", "--budget TOKENS" in text and "--time-limit TIME" in text and "--budget TIME" not in text, text)
    refuses(f"{limited}: the old name of the time limit", [*limited.split(), "--budget", "20s", "--time-limit", "20s"], 2, "--time-limit is given more than once")
refuses("an option without its dashes", ["undo", "all"], 2, "did you mean \"--all\"?")
refuses("no budget is that small", ["check", *spark, "--budget", "3"], 2, "--budget")

# --- the map of commands --------------------------------------------------------------------------------
got, out, err = run("help", "--format", "json")
commands = json.loads(out)
expect("the map is below 6 kB", got == 0 and len(out.encode()) < 6000, (got, len(out), err))
flat = {verb: (effect, *row) for effect in ("reads", "loads", "writes", "reboots") for verb, row in commands[effect].items()}
listed = {w.split()[0] for w in run("help", "all").out.splitlines() if w.startswith("  ") and not w.startswith("   ")}
expect("every verb is in it", set(flat) >= {v for v in listed if v.isalpha() and v != "help"}, listed - set(flat))
expect("each with what it does, what it costs and an example", all(len(r) == 4 and all(r) for r in flat.values()), flat)
expect("what changes the machine is no reading", all(flat[v][0] in ("writes", "reboots") for v in ("apply", "undo", "persist", "prove", "watch", "approve", "verify")))
expect("what measures loads", all(flat[v][0] == "loads" for v in ("bench", "calibrate", "qualify")))
forms = {v: run(v, "--help").out for v in flat}
unbounded = {v for v, text in forms.items() if "json" in text and "--top N" not in text and "Sub-verbs:" not in text}
# Of watch each event is a line; what the others print is no result in JSON.
expect("every verb's JSON can be bounded", unbounded <= {"watch", "record", "capture", "completion", "mcp", "run", "top"}, unbounded)
asks = {v for v in flat if "--yes" in forms[v]} - {"demo"}
expect("what asks before it writes is no reading", len(asks) > 8 and all(flat[v][0] in ("writes", "reboots") for v in asks), {v: flat[v][0] for v in asks})
refuses("no other form", ["help", "--format", "md"], 2, "help --format json")

with tempfile.TemporaryDirectory() as tmp:
    over = [*spark, "--overlay", os.path.join(tmp, "over")]
    refuses("no change is made for a field that is none", ["apply", "--yes", *over, "--only", "memory.swappiness", "--fields", "changes.nothing"], 2, "no field")
    expect("no overlay either", not os.listdir(tmp), os.listdir(tmp))
    code, out, err = run("apply", "--yes", *over, "--only", "memory.swappiness", "--fields", "exit_code,rows.id,rows.outcome")
    expect("a change, by fields", code == 0 and json.loads(out) == {"exit_code": 0, "rows": [{"id": "memory.swappiness", "outcome": "done"}]}, (code, out, err))
    code, out, err = run("undo", "--yes", *over, "--all", "--compact")
    expect("taken back, compact", code == 0 and out.count("\n") == 1, (code, out, err))
end_suite()
