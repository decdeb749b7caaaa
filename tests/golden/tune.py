#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that are really run, tuned on a captured machine that takes changes into an overlay: what was planted is kept and undone to the byte,
a run that is killed anywhere goes on and ends as it would have, and what cannot be tuned is said first.

    tune.py GPUTUNE

TUNE_KILLS=N kills that many; RUNS of tests/sim/tune_figure are the figure of what is kept.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import time

from common import end_suite, expect, fits, gputune, machines, put, refuses, root, run, scratch, snapshot, start, finish

MACHINE = machines / "dgx-spark"
# The job reads the overlay as any program reads the machine; its noise is the same in each run of this test. dd makes page faults, enough of them
# also where a busy machine makes a run ten times as long.
WORK = """s=1; o=$1
[ -f $o/noise ] && read s < $o/noise
s=$(( (s * 1103515245 + 12345) % 2147483648 ))
echo $s > $o/noise
x=1000000
f=$o/root/proc/sys/vm/vfs_cache_pressure
if [ -f $f ]; then read v < $f; [ "$v" = 50 ] && x=$((x * 106 / 100)); fi
f=$o/root/proc/sys/vm/swappiness
if [ -f $f ]; then read v < $f; [ "$v" = 10 ] && x=$((x * 95 / 100)); fi
[ -n "$MALLOC_TOP_PAD_" ] && x=$((x * 105 / 100))
dd if=/dev/zero of=/dev/null bs=16M count=1 2> /dev/null
echo "score: $((x + x * (s / 65536 % 41 - 20) / 10000))"
"""
QUICK = ("--settle", "1ms", "--seed", "5", "--yes")
SCORE = ("--metric", "score: ([0-9.]+)")
ONLY = ("--only", "memory.swappiness,net.tcp-fastopen,memory.vfs-cache-pressure")


class World:
    def __init__(self):
        self.folder = scratch("tune")
        self.overlay = self.folder / "overlay"
        self.overlay.mkdir()
        self.work = put(self.folder / "work.sh", WORK)
        self.job = f"sh {self.work} {self.overlay}"
        self.on = ("--host", MACHINE, "--overlay", self.overlay)
        self.state = self.overlay / "root/var/lib/gputune"

    def tune(self, *argv, job=None, **how):
        return run("tune", *(("--for", job or self.job) if job != "" else ()), *self.on, *QUICK, *argv, "--format", "json", **how)

    def knobs(self):
        return {k: v for k, v in snapshot(self.overlay / "root").items() if k.startswith(("proc", "sys"))}


def items(j):
    return {i["id"]: i for i in j["items"]} if j else {}


def throttled():
    """The processor is throttled while the job runs: said on the page."""
    w = World()
    count = w.overlay / "root/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
    put(count, "3\n")
    work = put(w.folder / "hot.sh", f"read n < {count}; echo $((n + 1)) > {count}\n"
               "dd if=/dev/zero of=/dev/null bs=16M count=1 2> /dev/null\necho \"score: $((1000 + n % 3))\"\n")
    got = run("tune", "--for", f"sh {work}", *w.on, *QUICK, *SCORE, "--only", "memory.swappiness", "--skip", "env")
    expect("throttled: said", "thermal throttling of the processor" in got.out, got)


def kept(j):
    return {i["id"] for i in j["items"] if i["state"] == "kept"} if j else None


PLANTED = {"memory.vfs-cache-pressure", "env.MALLOC_TOP_PAD_"}


def dry():
    w = World()
    code, out, err = w.tune(*ONLY, *SCORE, "--dry-run")
    j = fits("dry run", out, "tune", err)
    if not j:
        return
    i = items(j)
    expect("dry run: nothing written", code == 0 and not w.knobs() and not (w.state / "tune.jsonl").exists(), (code, list(w.knobs())))
    expect("dry run: its length", 1 < j["plan_s"] < 7200, j["plan_s"])
    expect("dry run: no setting for what the job does not use", i["net.tcp-fastopen"]["state"] == "not-tried" and
           "does not use net" in i["net.tcp-fastopen"]["why"], i["net.tcp-fastopen"])
    expect("dry run: libraries that are not loaded", "does not load libnccl" in i["env.NCCL_BUFFSIZE"]["why"], i["env.NCCL_BUFFSIZE"])
    expect("dry run: what is tried", i["memory.vfs-cache-pressure"]["state"] == "not-decided" and i["env.MALLOC_TOP_PAD_"]["risk"] == "none", i)
    code, out, err = run("tune", "--for", w.job, *w.on, *SCORE, *ONLY, "--dry-run")
    expect("dry run: page", code == 0 and all(s in out for s in ("Tried", "Not tried", "changes in about", "at most 120 min: detects effects")), (out, err))
    code, out, err = run("tune", "--for", w.job, *w.on, *SCORE, "--dry-run", env={"MALLOC_TOP_PAD_": "1"})
    expect("dry run: a variable that is set stays", "MALLOC_TOP_PAD_=1 is already set and is kept" in out, out)


def arguments():
    """What the command has as arguments is tried with other values; what changes results only where it is allowed."""
    w = World()
    work = put(w.folder / "args.sh", "x=1000\nfor a; do case $a in --num-workers=20) x=$((x + 40));; esac; done\n"
               "dd if=/dev/zero of=/dev/null bs=16M count=1 2> /dev/null\necho \"score: $((x + $$ % 3))\"\n")
    job = f"sh {work} --num-workers=1 --tf32 False 'a b'"
    code, out, err = w.tune("--only", "net.tcp-fastopen", *SCORE, job=job)
    j = fits("arguments", out, "tune", err)
    if not j:
        return
    i = items(j)
    expect("arguments: what helps is kept", kept(j) == {"arg.num-workers"} and i["arg.num-workers"]["before"] == "1", (kept(j), j["proof"]["why"]))
    expect("arguments: the command with them", j["run"] == f"sh {work} --num-workers=20 --tf32 False a\\ b", j["run"])
    expect("arguments: what rounds needs leave", not any(x == "arg.tf32" and i[x]["state"] != "not-tried" for x in i), i.keys())
    code, out, err = w.tune("--only", "net.tcp-fastopen", *SCORE, "--dry-run", "--allow", "arg.tf32", "--skip", "env", job=job)
    j = fits("arguments: allowed and skipped by their ids", out, "tune", err)
    expect("arguments: allowed and skipped by their ids", j and code == 0 and {"arg.tf32", "arg.num-workers"} <= items(j).keys() and
           not any(x.startswith("env") for x in items(j)), (code, err))


def beside():
    w = World()
    path = put(w.folder / "site.ini", "[profile]\nbase = default\nonly = memory.swappiness,memory.vfs-cache-pressure\n"
               "[memory.swappiness]\nwant = 10\n[memory.vfs-cache-pressure]\nwant = 40\n")
    code, out, err = w.tune(*ONLY, *SCORE, "--dry-run", "--beside", path)
    j = fits("beside", out, "tune", err)
    expect("beside: a profile as a whole", j and f"profile {path}" in items(j), err)
    put(path, "[profile]\nbase = default\nonly = memory.vfs-cache-pressure\n[memory.vfs-cache-pressure]\nwant = 40\n")
    code, out, err = w.tune("--only", "memory.vfs-cache-pressure", *SCORE, "--dry-run", "--beside", path)
    j = fits("beside: one change", out, "tune", err)
    expect("beside: one change is a profile as well", j and f"profile {path}" in items(j), err)
    code, out, err = w.tune("--only", "memory.vfs-cache-pressure", *SCORE, "--dry-run", "--beside", "low-latency")
    expect("beside: nothing of it matters for this job", code == 0 and "low-latency sets nothing that can be tried" in err, err)
    refuses("beside: no such profile", ["tune", "--for", w.job, *w.on, *QUICK, *SCORE, "--beside", "no-such"], 2, "no-such")
    refuses("beside: too many", ["tune", "--for", w.job, *w.on, *QUICK, *SCORE, "--beside", ",".join(["vendor"] * 6)], 2, "at most 5")


def planted():
    w = World()
    shared = w.folder / "shared.jsonl"
    own = put(w.folder / "alice.ini", "[profile]\nbase = default\nonly = memory.swappiness,memory.vfs-cache-pressure\n"
              "[memory.swappiness]\nwant = 10\n[memory.vfs-cache-pressure]\nwant = 50\n")
    code, out, err = w.tune(*ONLY, *SCORE, "--contribute", shared, "--beside", own)
    j = fits("planted", out, "tune", err)
    if not j:
        return
    i = items(j)
    expect("planted: what helps is kept", code == 0 and kept(j) == PLANTED, (code, kept(j), j["proof"]["why"]))
    expect("planted: harm is named", i["memory.swappiness"]["state"] == "hurts", i["memory.swappiness"])
    e = j["proof"]["effect"]
    expect("planted: before and after", e["low"] < 1.113 < e["high"] and abs(j["after"] / j["before"] - 1.113) < 0.005, (e, j["after"]))
    expect("planted: what each brings", abs(i["memory.vfs-cache-pressure"]["confirmed"]["ratio"] - 1.06) < 0.005 and
           abs(i["memory.vfs-cache-pressure"]["interaction"] - 1) < 0.005, i["memory.vfs-cache-pressure"])
    expect("planted: the job with its variables", j["run"] == f"env MALLOC_TOP_PAD_=67108864 {w.job}", j["run"])
    rows = [json.loads(x) for x in (w.state / "ledger.jsonl").read_text().splitlines()]
    expect("planted: in the ledger", {r["setting"] for r in rows if r["verdict"] == "helps"} >= PLANTED and
           all("cpu" in r["job"] or "faults" in r["job"] for r in rows), rows)
    text = shared.read_text()
    expect("planted: shared without names", text.count("\n") == len(rows) and 
           not any(x in text.lower() for x in (str(w.folder), "alice", "score", "spark")) and '"profile:own"' in text, text)
    expect("planted: the file of the run is gone", not (w.state / "tune.jsonl").exists())
    changed = {k: v for k, v in w.knobs().items() if v[1].strip() != b""}
    expect("planted: kept", changed["proc/sys/vm/vfs_cache_pressure"][1].strip() == b"50" and
           changed["proc/sys/vm/swappiness"][1].strip() == b"60", changed)
    code, out, err = run(*j["undo"].removeprefix("sudo gputune ").split(), *w.on, "--yes")
    expect("planted: undone by the command it names", code == 0 and w.knobs()["proc/sys/vm/vfs_cache_pressure"][1].strip() == b"100", (out, err))
    # The next run has time for some of them.
    short("what helped here", w, j["plan_s"], PLANTED)


def short(what, w, plan_s, first, *argv):
    """With little time these are tried before all others. How long a run takes differs with what else the machine does."""
    for share in (0.45, 0.6, 0.8, 1.2, 2):
        code, out, err = w.tune(*ONLY, *SCORE, "--dry-run", "--time-limit", f"{plan_s * share:.3f}s", *argv)
        if code == 0:
            break
    if j := fits(f"a short budget: {what}", out, "tune", err):
        got = {x for x, i in items(j).items() if i["state"] == "not-decided" and not x.startswith("profile")}
        late = {x for x, i in items(j).items() if "not enough time" in (i["why"] or "")}
        expect(f"a short budget: {what} comes first", got and (got <= first or not first & late), (got, late, err))


def gains():
    """Rows of what helped elsewhere say what was measured, no more; a machine without measurements begins with them."""
    rows = [(m[1], float(m[2])) for m in re.finditer(r"^([a-z]\S+) uses=\S+ gain=(\S+)$", (root / "src/knowledge/job_gains.rows").read_text(), re.M)]
    best = {}
    for f in (root / "tests/data/measured").glob("*.jsonl"):
        for r in map(json.loads, f.read_text().splitlines()):
            for x in r["setting"].split("+") if r["verdict"] == "helps" else ():
                best[x] = max(best.get(x, 0), 100 * (r["ratio"] - 1))
    expect("gains: each was measured", rows and all(g <= best.get(x, 0) + 0.5 for x, g in rows), [(x, g, best.get(x)) for x, g in rows])
    w = World()
    j = fits("gains: dry run", w.tune(*ONLY, *SCORE, "--dry-run")[1], "tune")
    if j:
        short("what helped elsewhere", w, j["plan_s"], {x for x, _ in rows})
        short("what is allowed by name", w, j["plan_s"], {"memory.swappiness"}, "--allow", "memory.swappiness")


def refused():
    w = World()
    once = put(w.folder / "once.sh", f"[ -e {w.folder}/made ] && {{ echo {w.folder}/made: exists >&2; exit 1; }}\necho > {w.folder}/made\n")
    noisy = put(w.folder / "noisy.sh", f"o={w.folder}/n; n=0; [ -f $o ] && read n < $o; n=$((n + 1)); echo $n > $o\necho \"score: $((100 + n % 3 * 80))\"\n")
    drift = put(w.folder / "drift.sh", f"o={w.folder}/d; n=0; [ -f $o ] && read n < $o; n=$((n + 1)); echo $n > $o\necho \"score: $((900 + 900 / n))\"\n")
    for what, job, argv, code, *words in (
            ("no job", "", (), 2, "--for"),
            ("an empty job", " ", (), 2, "empty"),
            ("a shell's line", "a | b", (), 2, "without a shell"),
            ("a program that is not there", "no-such-program", (), 5, "no-such-program"),
            ("it fails", "false", (), 5, "status 1", "the unchanged job must succeed"),
            ("it fails the second time", f"sh {once}", (), 5, "exists", "overwrite"),
            ("it needs input", f"sh {put(w.folder / 'in.sh', 'read x || { echo EOF when reading a line >&2; exit 1; }')}", (), 5, "without input"),
            ("it asks", f"sh {put(w.folder / 'ask.sh', 'echo Overwrite out?; read x && echo $x')}", (), 5, "Overwrite out?", "without input"),
            ("it hangs", "sleep 20", ("--timeout", "300ms"), 5, "did not finish", "--timeout"),
            ("it ends at once", "true", (), 2, "mostly start-up"),
            ("the metric is not printed", "echo hello", SCORE, 5, "nothing in the workload's output matches", 'printed: "hello"'),
            ("the metric is no number", "echo score: x", ("--metric", "score: (.*)"), 5, "not a number"),
            ("a metric without a group", "echo", ("--metric", "score"), 2, "one group"),
            ("it varies by 30 %", f"sh {noisy}", SCORE, 5, "runs vary by", "--min-effect"),
            ("a budget too short", w.job, (*SCORE, "--time-limit", "50ms"), 2, "one run takes", "s tries one candidate"),
            ("nothing to resume", "", ("--resume",), 3, "no interrupted run"),
            ("more time is no better", "true", ("--better", "higher"), 2, "--better"),
            ("an unknown setting", w.job, ("--only", "no.such"), 2, "no.such"),
            ("an unknown argument", w.job, ("--allow", "arg.no-such"), 2, "arg.no-such", "--dry-run lists them")):
        refuses(what, ["tune", *(("--for", job) if job else ()), *w.on, *QUICK, *argv], code, *words)
    refuses("nobody to ask", ["tune", "--for", f"touch {w.folder}/ran", *w.on], 2, "cannot prompt here")
    expect("nobody to ask: the job did not run", not (w.folder / "ran").exists())
    got = run("tune", "--for", f"sh {drift}", *w.on, *QUICK, *SCORE, *ONLY, "--dry-run")
    expect("caches warm", got.code == 0 and "caches were cold" in got.err, got)
    expect("refused: nothing written", not w.knobs(), w.knobs())
    put(w.state / "tune.jsonl", "{}\n")
    refuses("another file to resume", ["tune", *w.on, *QUICK, "--resume"], 2, "not a saved run of tune")


def interrupted():
    """Killed and stopped at times of chance, it ends as it would have, with nothing left open."""
    w = World()
    whole = World()
    code, out, err = whole.tune(*ONLY, *SCORE)
    want = fits("whole", out, "tune", err)
    chance = random.Random(1)
    kills = int(os.environ.get("TUNE_KILLS", "3"))
    argv = ("--for", w.job, *ONLY, *SCORE)
    for n in range(kills):
        p = start(gputune, "tune", *w.on, *QUICK, *argv, "--format", "json")
        lines = chance.randrange(len(want["proof"]["windows"]) * n // kills, len(want["proof"]["windows"]) * (n + 1) // kills) if want else 8
        while p.poll() is None and (not (w.state / "tune.jsonl").exists() or (w.state / "tune.jsonl").read_bytes().count(b"\n") < lines):
            time.sleep(0.005)
        p.send_signal(signal.SIGKILL if n % 2 == 0 else signal.SIGINT)
        got = finish(p)
        if n % 2 and got.code == 5:
            expect("Ctrl-C: says how it goes on", "--resume continues" in got.err, got)
            expect("Ctrl-C: all is back", w.knobs()["proc/sys/vm/vfs_cache_pressure"][1].strip() == b"100", w.knobs())
        if n == 2:
            reboot(w)
        argv = ("--resume",)
    refuses("another job to resume", ["tune", "--for", "true", *w.on, *QUICK, "--resume"], 2, "the interrupted run is for")
    code, out, err = run("tune", *w.on, "--settle", "1ms", "--yes", "--resume", "--format", "json")
    j = fits("resumed", out, "tune", err)
    if j and want:
        expect("resumed: ends as it would have", kept(j) == kept(want) == PLANTED, (kept(j), kept(want)))
        expect("resumed: the baseline is the first run's", len(j["runs"]) >= 5 and j["before"] == want["before"], (j["before"], want["before"]))
        code, out, err = run(*j["undo"].removeprefix("sudo gputune ").split(), *w.on, "--yes")
        left = {k: v[1].strip() for k, v in w.knobs().items()}
        expect("resumed: undone", code == 0 and left["proc/sys/vm/vfs_cache_pressure"] == b"100" and left["proc/sys/vm/swappiness"] == b"60", left)


class Gpu:
    """A GPU, by the stand-in of NVML, on which the job's gputune computes and, as long as this is asked for, a process that is none of its own."""
    library = pathlib.Path(gputune).resolve().parent / "tests/stub/current"

    def __init__(self, w):
        self.file, self.other = w.folder / "gpu", w.folder / "other"
        name = "0 nvmlDeviceGetComputeRunningProcesses"
        text = f"- nvmlDeviceGetCount=1\\nstub anew=1\\n{name}=%d\\n{name}(0).pid=%d\\n{name}(1).pid={os.getpid()}\\n"
        self.see = f"n=1; [ -f {self.other} ] && n=2; printf -- '{text}' $n $PPID > {self.file}.new; mv {self.file}.new {self.file}\n"
        self.at = w.folder / "at"
        count = f"c=0; [ -f {self.at} ] && read c < {self.at}; c=$((c + 1)); echo $c > {self.at}; [ $c = 20 ] && : > {self.other}\n"
        self.work = put(w.folder / "shared.sh", count + self.see + WORK)
        put(self.file, f"- nvmlDeviceGetCount=1\nstub anew=1\n{name}=0\n")
        self.env = {"LD_LIBRARY_PATH": str(self.library), "GPUTUNE_STUB": str(self.file)}

    def leave(self, process):
        self.other.unlink()
        run("-c", self.see.replace("$PPID", str(process)), program="sh")


def another_user():
    """Another user of the GPU in the twentieth run: that run is measured again after the other has left; one who stays ends the run, which goes on."""
    if not (Gpu.library / "libnvidia-ml.so.1").exists():
        return
    pressure = "proc/sys/vm/vfs_cache_pressure"
    for how in ("leaves", "stays", "is there when it is killed"):
        w = World()
        g = Gpu(w)
        tape = w.state / "tune.jsonl"
        limit = ("--timeout", "3s" if how == "stays" else "60s")
        p = start(gputune, "tune", "--for", f"sh {g.work} {w.overlay}", *w.on, *QUICK, *ONLY, *SCORE, *limit, "--format", "json", env=g.env)
        while p.poll() is None and not (tape.exists() and b"another user" in tape.read_bytes()):
            time.sleep(0.01)
        time.sleep(0.7)
        # What waits has put back what it had set.
        expect(f"another user {how}: nothing is changed meanwhile", p.poll() is None and w.knobs().get(pressure, [0, b"100"])[1].strip() == b"100",
               (p.poll(), w.knobs()))
        if how == "leaves":
            g.leave(p.pid)
        elif how != "stays":
            p.send_signal(signal.SIGKILL)
        got = finish(p)
        if how != "leaves":
            expect(f"another user {how}: all is back", w.knobs().get(pressure, [0, b"100"])[1].strip() == b"100", w.knobs())
            if how == "stays":
                expect("another user stays: said, with how it goes on", got.code == 5 and "stayed for" in got.out and "--resume continues" in got.err, got)
            g.leave(p.pid)
            got = run("tune", *w.on, "--settle", "1ms", "--yes", "--resume", "--format", "json", env=g.env)
        elif how == "leaves":
            expect("another user leaves: said, with the time", "another user of the GPU: python3" in got.err and "waiting at most" in got.err, got.err)
        if j := fits(f"another user {how}", got.out, "tune", got.err):
            expect(f"another user {how}: it ends as it would have", kept(j) == PLANTED, (kept(j), j["proof"]["why"]))
            expect(f"another user {how}: what was shared does not count",
                   sum("another user" in (x["void"] or "") for x in j["proof"]["windows"]) == 1, j["proof"]["windows"])


def reboot(w):
    """What the running kernel had is gone, and another boot has begun."""
    shutil.rmtree(w.overlay / "root/proc/sys/vm", ignore_errors=True)
    put(w.overlay / "root/proc/sys/kernel/random/boot_id", "11111111-0000-4000-8000-000000000001\n")


def together():
    """A job of two machines, over TCP: both are switched together, and the score of rank 0, which needs both, decides on both."""
    worlds = [World(), World()]
    token = put(worlds[0].folder / "token", "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=\n")
    token.chmod(0o600)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    files = [w.overlay / "root/proc/sys/vm/vfs_cache_pressure" for w in worlds]
    job = put(worlds[0].folder / "job.sh", "n=0\n" + "".join(f"if [ -f {f} ]; then read v < {f}; [ \"$v\" = 50 ] && n=$((n + 1)); fi\n" for f in files) +
              "x=1000\n[ $n = 2 ] && x=1060\n[ $n = 1 ] && x=1\ndd if=/dev/zero of=/dev/null bs=16M count=1 2> /dev/null\n"
              "[ $RANK = 0 ] && echo \"score: $((x + $$ % 3))\"\nexit 0\n")

    def ranks(jobs=(job, job), only=(ONLY, ONLY), killed=None, resume=False):
        ps = [start(gputune, "tune", *(("--resume",) if resume else ("--for", f"sh {jobs[i]}", *SCORE, *only[i])), *w.on, "--settle", "1ms", "--yes",
                    "--token", token, "--format", "json",
                    env={**os.environ, "RANK": str(i), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": f"127.0.0.1:{port}",
                         "TORCHELASTIC_RUN_ID": "t"}) for i, w in enumerate(worlds)]
        while killed and ps[0].poll() is None and (not (lines := worlds[0].state / "tune.jsonl").exists() or lines.read_bytes().count(b"\n") < killed):
            time.sleep(0.002)
        if killed:
            ps[1].send_signal(signal.SIGKILL)
        return [finish(p) for p in ps]

    one, two = ranks(killed=20)
    expect("together: one is killed", one.code == 5 and "disappeared" in one.err and files[0].read_bytes().strip() == b"100", one)
    one, two = ranks(resume=True)
    j = fits("together", one.out, "tune", one.err)
    expect("together: both are switched, as one", j and kept(j) == {"memory.vfs-cache-pressure"} and 1.05 < j["proof"]["effect"]["ratio"] < 1.07,
           (one.code, kept(j), j and j["proof"]["why"], two))
    expect("together: rank 0 alone speaks", two.code == 0 and not two.out, two)
    expect("together: kept on both", all(f.read_bytes().strip() == b"50" for f in files), [f.read_bytes() for f in files])
    for w, f in zip(worlds, files):
        code, out, err = run("undo", *w.on, "--yes")
        expect("together: undone on each", code == 0 and f.read_bytes().strip() == b"100", (out, err))
    one, two = ranks(only=(ONLY, ("--only", "memory.swappiness")))
    expect("together: machines that differ", one.code == two.code == 3 and "differ from rank 0's" in one.err, (one, two))
    one, two = ranks(jobs=(job, put(worlds[1].folder / "bad.sh", "exit 3")))
    expect("together: it fails on one machine", one.code == two.code == 5 and "rank 1" in one.err and "status 3" in one.err, (one, two))
    expect("together: all as before", all(f.read_bytes().strip() == b"100" for f in files), [f.read_bytes() for f in files])


dry()
gains()
together()
arguments()
beside()
planted()
refused()
throttled()
interrupted()
another_user()
end_suite()
