#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench and compare as a user meets them: results that follow their schemas, kept and read back; wrong words; Ctrl-C;
folders that cannot be written. Judges no figure."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from common import end_suite, expect, fits, gputune, refuses, run
from terminal import OnTerminal

SHORT = ("memory-latency/16KiB", "timer-wake-up/100us")


refuses("no name", ["bench"], 2, "NAME", 'as in "gputune bench memory"')
refuses("a wrong name", ["bench", "bandwidth"], 2, '"bandwidth"', 'did you mean "memory-bandwidth"')
refuses("a wrong case", ["bench", "memory-latency/7KiB", "--state", "/tmp"], 2, '"7KiB"')
for bad in ("0s", "-3", "10 s", "x", "1e99", "nan"):
    refuses(f"--for {bad}", ["bench", SHORT[0], "--for", bad], 2, "--for")
for bad in ("0", "-1", "1.5", "99999999999"):
    refuses(f"--runs {bad}", ["bench", SHORT[0], "--runs", bad], 2, "--runs")
refuses("--cpus x", ["bench", SHORT[0], "--cpus", "x"], 2, "--cpus")
refuses("--cpus 70000", ["bench", SHORT[0], "--cpus", "70000"], 2, "may run only on")
for word in ("--dir", "--files"):
    refuses(f"{word} of nothing", ["bench", "disk", word, ""], 2, f"{word} is empty")
refuses("show without an id", ["bench", "show"], 2, "ID")
refuses("show nothing", ["bench", "show", "no-such", "--state", "/tmp"], 2, "no-such")
refuses("show a path", ["bench", "show", "../../etc/passwd", "--state", "/tmp"], 2, "passwd")
refuses("compare with nothing", ["compare", "no-a", "no-b", "--state", "/tmp"], 2, "no-a")

with tempfile.TemporaryDirectory() as tmp:
    state = ["--state", f"{tmp}/state"]
    ids = []
    for k in range(2):
        code, out, err = run("bench", *SHORT, "--for", "300ms", "--format", "json", "--json", f"{tmp}/{k}.json", *state)
        expect("bench ends well", code == 0 and "\r" not in err, (code, err))
        j = fits("bench follows its schema", out, "bench")
        if j:
            ids.append(j["id"])
            expect("cases are verified", all(c["verified"] and c["figures"][0]["n"] > 0 for c in j["cases"]))
            expect("every sample is there", all(len(c["at_s"]) == f["n"] == len(f[f"samples_{f['unit']}"])
                                                for c in j["cases"] for f in c["figures"]))
            expect("what the sampler takes is told", 0 <= j["conditions"]["sampler_percent"] < 100, j["conditions"]["sampler_percent"])
            expect("settings are named", j["settings"] and j["settings_digest"] and j["fingerprint"]["kernel"])
            expect("the file is the same", json.loads(pathlib.Path(f"{tmp}/{k}.json").read_text()) == j)
            expect("show prints it", json.loads(run("bench", "show", j["id"], "--format", "json", *state)[1]) == j)
            code, out, err = run("bench", "show", j["id"], "--verbose", *state)
            expect("show is a page", code == 0 and "16KiB" in out and "Methods" in out, (code, err))
    expect("ids differ", len(set(ids)) == 2, ids)
    code, out, err = run("bench", "show", f"{tmp}/0.json", "--format", "json", *state)
    expect("a file's too", code == 0 and out == pathlib.Path(f"{tmp}/0.json").read_text(), (code, err))
    pathlib.Path(f"{tmp}/no.json").write_text("{}")
    code, out, err = run("bench", "show", f"{tmp}/no.json", "--format", "json", *state)
    expect("what is none is not printed", code == 2 and not out, (code, out, err))
    code, out, err = run("bench", "list", *state)
    expect("list names both", code == 0 and all(i in out for i in ids) and "memory-bandwidth" in out, (code, out, err))
    j = fits("bench list follows its schema", run("bench", "list", "--format", "json", *state)[1], "bench-list")
    expect("and has both", j and set(ids) <= {r["id"] for r in j["results"]}, j and j["results"])
    code, out, err = run("compare", *ids, "--format", "json", *state)
    j = fits("compare follows its schema", out, "compare")
    # The machine of the tests may be busy itself, which leaves no verdict and says so.
    expect("everything compares", j and len(j["rows"]) == 3 and all(r["ratio"] for r in j["rows"]) and code in (0, 1, 5) and
           all(r["verdict"] != "not-comparable" or "busy" in r["reason"] for r in j["rows"]), (code, err))
    code, out, err = run("compare", f"{tmp}/0.json", f"{tmp}/0.json")
    # On a busy machine samples scatter too much to exclude a difference.
    expect("the same is the same", "1.000" in out and "0 better, 0 worse" in out and
           (code == 0 and "no difference" in out or code == 5 and "the machine was busy" in out), (code, out, err))
    code, out, err = run("compare", ids[0], *state)
    expect("the B that was taken is named", f"B is the last saved result, {ids[1]}" in err, (code, err))
    code, out, err = run("bench", "timer-wake-up/100us", "--for", "50ms", *state)
    expect("the command that is printed has the folder", f"{state[0]} {state[1]}\"" in " ".join(out.split()), (code, out, err))
    code, out, err = run("compare", ids[0], *state)
    expect("B is of the benches of A, not a later one of others", f"B is the last saved result, {ids[1]}" in err, (code, err))

    # Two made-up results, one twice the other: certain only where no other program disturbed either run.
    def made_up(name, factor, others, values=3, scatter=0.01):
        r = json.loads(pathlib.Path(f"{tmp}/0.json").read_text())
        r["conditions"].update(others_before_cpus=others, others_cpus=others, steal_percent=0, cpus=2, busy=others > 0.1)
        for c in r["cases"]:
            for f in c["figures"]:
                key = f"samples_{f['unit']}"
                f[key] = [factor * (100 + k % values * scatter) for k in range(len(f[key]))]
        pathlib.Path(f"{tmp}/{name}.json").write_text(json.dumps(r))
        return f"{tmp}/{name}.json"

    quiet, slow, loud, loud_slow, a_little = (made_up("quiet", 1, 0), made_up("slow", 2, 0), made_up("loud", 1, 2),
                                              made_up("loud-slow", 2, 2), made_up("a-little", 2, 0.2))
    code, out, err = run("compare", quiet, slow)
    expect("worse on an idle machine", code == 1 and "3 worse" in out and "busy" not in out, (code, out, err))
    code, out, err = run("compare", quiet, a_little)
    expect("a tenth of the CPUs hides no such difference, and is named", code == 1 and "3 worse" in out and "busy in the second run" in " ".join(out.split()),
           (code, out, err))
    # What they took from one run alone may be the difference, the better one as well.
    for b, n in ((made_up("near", 1.15, 0.2), "worse"), (made_up("near-better", 0.9, 0.2), "better")):
        code, out, err = run("compare", quiet, b)
        expect(f"it hides a difference of its size: {n}", code == 5 and f"0 {n}" in out and "3 cannot tell" in " ".join(out.split()) and
               "busy in the second run (A: 0.00 of 2 CPUs, B: 0.20 of 2)" in " ".join(out.split()), (code, out, err))
    for a, b, where in ((loud, loud_slow, "both runs"), (quiet, loud_slow, "the second run"), (loud, slow, "the first run")):
        code, out, err = run("compare", a, b)
        expect(f"no verdict: {where}", code == 5 and "0 worse" in out and "3 cannot tell" in " ".join(out.split()) and
               f"busy in {where}" in " ".join(out.split()) and "2.000" in out, (code, out, err))
        expect("equally busy is no difference", ("Other differences" in out) == (where != "both runs"), out)
    # Samples that scatter leave every row open: no verdict, on an idle machine too.
    wild = made_up("wild", 1, 0, 2, 400)
    code, out, err = run("compare", wild, wild)
    said = " ".join(out.split())
    expect("scatter leaves no verdict", code == 5 and out.count("  cannot tell") == 6 and "undecided" not in out and
           "0 no difference, 3 cannot tell" in said and re.search(r"Cannot tell \(\S+ .*\): samples scatter too much, or are too few", said), (code, out, err))
    r = json.loads(pathlib.Path(quiet).read_text())
    r["cases"][0]["variant"] = "sse2"
    pathlib.Path(f"{tmp}/coded.json").write_text(json.dumps(r))
    out = " ".join(run("compare", quiet, f"{tmp}/coded.json", "--width", "200")[1].split())
    expect("other code is named in the verdict", "no difference, measured differently" in out and
           "then sse2): the ratio includes that" in out and "3 no difference" in out, out)
    j = json.loads(run("compare", loud, loud_slow, "--format", "json")[1])
    expect("and in JSON", [r["verdict"] for r in j["rows"]] == ["not-comparable"] * 3 and "both runs" in j["rows"][0]["reason"],
           j["rows"])

    other = json.loads(pathlib.Path(f"{tmp}/0.json").read_text())
    other["machine"] = "0" * 16
    pathlib.Path(f"{tmp}/other.json").write_text(json.dumps(other))
    code, out, err = run("compare", f"{tmp}/0.json", f"{tmp}/other.json")
    expect("other machines do not compare", code == 5 and "different machines" in out, (code, out, err))

    code, out, err = run("bench", SHORT[0], "--runs", "7", "--format", "json", *state)
    j = fits("a count", out, "bench")
    expect("seven are seven", j and j["cases"][0]["figures"][0]["n"] == 7 and j["cases"][0]["stop"] == "count")

    mine = pathlib.Path(f"{tmp}/mine")
    mine.write_text("precious\n")
    code, out, err = run("bench", SHORT[0], "--runs", "1", "--json", str(mine), *state)
    expect("a file that is something else is left", code == 2 and mine.read_text() == "precious\n" and str(mine) in err,
           (code, err))
    code, out, err = run("bench", SHORT[0], "--runs", "3", *state)
    expect("too few samples for compare", code == 0 and "needs 5 per case: --runs 5" in out, (code, out, err))
    code, out, err = run("bench", SHORT[0], "--runs", "3", "--state", "/proc/nowhere")
    expect("a state folder that cannot be made", code == 3 and "/proc/nowhere" in err and not out, (code, err))

    # One CPU: what takes two says so; alone it is an answer of its own.
    one = str(min(os.sched_getaffinity(0)))
    code, out, err = run("bench", "hand-over", "--cpus", one, *state)
    expect("hand-over on one CPU", code == 5 and "two CPUs" in err and not out, (code, out, err))
    code, out, err = run("bench", "hand-over", SHORT[0], "--runs", "5", "--cpus", one, "--format", "json", *state)
    j = fits("with another bench", out, "bench")
    expect("it is a result, and what did not run is said", j and code == 1 and len(j["cases"]) == 1 and
           j["not_run"][0]["bench"] == "hand-over" and "two CPUs" in j["not_run"][0]["reason"], (code, err))
    if j:
        code, out, err = run("bench", "show", j["id"], *state)
        expect("the page says it too", code == 0 and "Skipped" in out and "two CPUs" in out, (code, out))
        expect("it says that no band is known, or which", "band" in out, out)
    code, out, err = run("bench", "cpu-frequency", "--for", "100ms", "--format", "json", *state)
    j = fits("frequency", out, "bench")
    expect("frequency is one", j and code == 0 and all(50 < c["figures"][0]["median_mhz"] < 20000 and c["verified"] and
                                                       "addition" in c["variant"] for c in j["cases"]), (code, err))

    # A busy machine: refused when that was asked for, said otherwise.
    spin = [subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
            for _ in os.sched_getaffinity(0)]
    try:
        for p in spin:
            p.stdout.readline()
        code, out, err = run("bench", SHORT[0], "--runs", "5", "--require-idle", *state)
        expect("a busy machine is refused", code == 3 and "busy" in err and "nothing was measured" in err and not out,
               (code, out, err))
        code, out, err = run("bench", SHORT[0], "--runs", "5", *state)
        expect("or said", code == 0 and "the machine was busy" in out, (code, out, err))
    finally:
        for p in spin:
            p.kill()
            p.wait()

    # A progress line on a terminal, and nothing of it in a pipe.
    p = OnTerminal([gputune, "bench", SHORT[0], "--for", "1s", *state])
    code, out = p.end()
    expect("a terminal sees progress", code == 0 and b"memory-latency 16KiB: round" in p.seen and b" ns" in p.seen and
           p.seen.rstrip().endswith(b"\x1b[K") and "round 1" not in out, (code, p.seen[:300]))

    if os.geteuid() == 0:
        # Who may not schedule in real time, and may not write where results are kept, still measures.
        # The folder that the program was built in may be closed to others.
        nobody = dict(user=65534, group=65534, extra_groups=[], program=shutil.copy(gputune, f"{tmp}/gputune"))
        os.chmod(tmp, 0o755)
        os.mkdir(f"{tmp}/home")
        os.chown(f"{tmp}/home", 65534, 65534)
        code, out, err = run("bench", "timer-wake-up/1ms:fifo", "--json", f"{tmp}/home/fifo.json", **nobody)
        expect("no right to real-time scheduling", code == 2 and "1ms:fifo" in err, (code, out, err))
        code, out, err = run("bench", SHORT[0], "--runs", "5", cwd="/", **nobody)
        expect("no home: nothing is measured", code == 3 and "HOME" in err and "--state" in err and not out, (code, out, err))
        code, out, err = run("bench", SHORT[0], "--runs", "5", "--json", f"{tmp}/home/mine.json", cwd="/", **nobody)
        expect("no home, but a file for the result", code == 0 and "16KiB" in out and "HOME" in err, (code, out, err))
        at_home = dict(nobody, env={"HOME": f"{tmp}/home", "PATH": os.environ["PATH"]})
        code, out, err = run("bench", SHORT[0], "--runs", "5", cwd="/", **at_home)
        kept = sorted(os.listdir(f"{tmp}/home/.local/state/gputune/bench")) if code == 0 else []
        expect("a user's result is kept at home", code == 0 and len(kept) == 1, (code, out, err, kept))
        code, out, err = run("bench", "list", **at_home)
        expect("and listed", code == 0 and kept and kept[0][:-5] in out, (code, out, err))
        mode = os.stat(f"{tmp}/home/.local/state/gputune").st_mode & 0o777
        expect("for that user alone", mode == 0o700, oct(mode))
        shutil.rmtree(f"{tmp}/home/.local/state/gputune")
        os.symlink(f"{tmp}/state", f"{tmp}/home/.local/state/gputune")
        code, out, err = run("bench", SHORT[0], "--runs", "5", cwd="/", **at_home)
        expect("a link in its place is not written to", code == 3 and "not a folder" in err and not out, (code, out, err))
        os.remove(f"{tmp}/home/.local/state/gputune")
        os.mkdir(f"{tmp}/home/.local/state/gputune")
        code, out, err = run("bench", SHORT[0], "--runs", "5", cwd="/", **at_home)
        expect("nor what is another's", code == 3 and "belongs to user 0" in err and not out, (code, out, err))
        code, out, err = run("bench", SHORT[0], "--runs", "5", cwd="/", **dict(at_home, env={"HOME": "/proc", "PATH": "/bin"}))
        expect("a home that takes nothing", code == 3 and "cannot create /proc/.local" in err and not out, (code, out, err))

    before = set(os.listdir(f"{tmp}/state/bench"))
    p = OnTerminal([gputune, "bench", "timer-wake-up", "--for", "60s", "--format", "json", *state])
    expect("it measures", p.says(b" samples, "), p.seen)
    expect("and says how long it still takes", p.says(b" left"), p.seen)
    code, out = p.end(signal.SIGINT)
    j = fits("an interrupted run", out, "bench")
    expect("it is marked and kept", j and code == 5 and j["partial"] and
           f"{j['id']}.json" in set(os.listdir(f"{tmp}/state/bench")) - before, (code, p.seen[-300:]))

    p = OnTerminal([gputune, "bench", "all", "--format", "json", *state])
    expect("all of them are begun", p.says(b": round "), p.seen)
    code, out = p.end(signal.SIGINT)
    j = fits("all, interrupted", out, "bench")
    expect("what did not come to its turn is named", j and code == 5 and j["partial"] and
           any("interrupted" in s["reason"] for s in j["not_run"]), (code, p.seen[-300:]))

    cut = pathlib.Path(f"{tmp}/0.json").read_text()
    for n in (0, 10, len(cut) // 2, len(cut) - 3):
        pathlib.Path(f"{tmp}/cut.json").write_text(cut[:n])
        refuses(f"a file cut off at {n}", ["compare", f"{tmp}/cut.json", f"{tmp}/0.json"], 2, "cut.json")

end_suite()
