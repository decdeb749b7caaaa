#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench collectives in several processes, on stand-ins of the CUDA driver and NCCL: started by gputune itself, by mpirun (where it is
installed), with the environment of torchrun and Slurm, and by hand over TCP, in two network namespaces where they can be made. Then what
goes wrong: ranks that die, are killed or never fit. Judges no figure, but that rank 0 alone speaks, that who fails is named, that nothing
hangs and nothing is left."""
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import common
from common import built, copy_of, end_suite, expect, finish, fits, running, scratch, skip, until

stub = built / "tests/stub"
if not (stub / "libraries/libnccl.so.2").exists() or not (stub / "device/libcuda.so.1").exists():
    skip("ranks", "this build has no stand-ins")
    end_suite()
tmp = scratch("ranks")
gputune = copy_of(common.gputune, tmp)
launchers = ("HOME", "OMPI_", "PMI", "SLURM_", "GPUTUNE_", "NCCL_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_")
base = {k: v for k, v in os.environ.items() if not k.startswith(launchers)}
base.update(LD_LIBRARY_PATH=str(stub / "device"), GPUTUNE_LIB_DIR=str(stub / "libraries"),
            GPUTUNE_STUB_CUDA="gpus=3 memory=4000000000")
QUICK = ["--for", "100ms", "--state", str(tmp / "state")]


def start(argv, env=None, ns=None, **how):
    return common.start(*(["ip", "netns", "exec", ns] if ns else []), *argv, env={**base, **(env or {})}, **how)


def bench(*argv):
    return [gputune, "bench", *argv, *QUICK]


def nothing_left(what):
    expect(f"{what}: no process is left", until(lambda: not running(gputune)), running(gputune))


def result(what, text):
    """What rank 0 printed: exactly one result, and all of it right."""
    j = fits(what, text, "bench")
    if not j:
        return None
    bad = [(c["case"], c.get("error")) for c in j["cases"] if c.get("error") or not c["verified"]]
    expect(what, not bad and j["cases"], bad)
    return j


ALL = [f"collectives/{op}:4KiB" for op in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-receive", "broadcast")]

# --- by itself --------------------------------------------------------------------------------------------------------------------------

code, out, err = finish(start(bench(*ALL, "--local-processes", "--format", "json")))
j = result("one process for each GPU", out)
expect("it ends well", code == 0, (code, err))
expect("six operations", j and len(j["cases"]) == 6, out[:200])
expect("three processes", j and all("3 processes on 1 machine" in c["setup"] for c in j["cases"]), j and j["cases"][0]["setup"])
code, out, err = finish(start(bench("collectives/all-reduce:64B", "--local-processes", "--gpus", "0,2", "--format", "json")))
j = result("two of them", out)
expect("two processes", j and "2 ranks" in j["cases"][0]["setup"], (code, err, out[:200]))
nothing_left("by itself")
code, out, err = finish(start(bench("collectives/all-reduce:64KiB", "collectives/all-reduce:1024KiB", "--format", "json")))
j = result("a size in other words", out)
expect("it is the case that was asked for", j and [c["case"] for c in j["cases"]] == ["all-reduce:64KiB", "all-reduce:1024KiB"]
       and "1048576 bytes" in j["cases"][1]["setup"], (code, err))
for words, said in (("", "--gpus is empty"), (",", "--gpus: expected indices"), ("7", "this process cannot use a GPU")):
    code, out, err = finish(start(bench("collectives/all-reduce:64B", "--gpus", words)))
    expect(f"--gpus {words!r} is a usage error", code == 2 and said in err and not out, (code, out, err))

# --- as launchers do it -----------------------------------------------------------------------------------------------------------------


def launch(what, environments, argv=("collectives/all-reduce:64B",), code=0, words=(), own=None, ns=None, limit=60):
    """One process for each environment; rank 0 is the first. Its exit code and words; the others print nothing on standard output."""
    all_ = [start(bench(*argv, *(own[i] if own else ()), "--format", "json"), env, ns=ns and ns[i])
            for i, env in reversed(list(enumerate(environments)))][::-1]
    done = [finish(p, limit) for p in all_]
    got, out, err = done[0]
    expect(f"{what}: exit code {code}", got == code, (got, err, out[-400:]))
    expect(f"{what}: only rank 0 speaks", not any(o for _, o, _ in done[1:]), [o[:200] for _, o, _ in done[1:]])
    text = out + err + "".join(e for _, _, e in done[1:])
    expect(f"{what}: {words}", all(w in text for w in words), text[-800:])
    if code == 0:
        result(what, out)
    nothing_left(what)


def torchrun(i, n, **more):
    return dict(RANK=str(i), WORLD_SIZE=str(n), LOCAL_RANK=str(i), LOCAL_WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500",
                TORCHELASTIC_RUN_ID=f"t{os.getpid()}", **more)


def slurm(i, n, **more):
    return dict(SLURM_PROCID=str(i), SLURM_STEP_NUM_TASKS=str(n), SLURM_NTASKS=str(n), SLURM_LOCALID=str(i), SLURM_JOB_ID=str(os.getpid()),
                SLURM_STEP_ID="0", SLURM_STEP_NUM_NODES="1", SLURM_STEP_NODELIST="localhost", **more)


launch("torchrun", [torchrun(i, 3) for i in range(3)])
launch("Slurm", [slurm(i, 2) for i in range(2)])
launch("one task of Slurm's", [slurm(0, 1)])
if shutil.which("mpirun"):
    run = ["mpirun", "--oversubscribe", "-n", "3"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    code, out, err = finish(start(run + bench("collectives/broadcast:4KiB", "--format", "json"), dict(HWLOC_COMPONENTS="-gl")))
    j = result("mpirun", out)
    expect("mpirun: three processes", code == 0 and j and "3 processes" in j["cases"][0]["setup"], (code, err[:400]))
    nothing_left("mpirun")
else:
    skip("mpirun", "no Open MPI here")

# --- a look by every rank ---------------------------------------------------------------------------------------------------------------


def look(what, environments, *argv, seconds=20, verb=("check",)):
    """Each rank is asked the same, as a launcher does; exit codes and what rank 0 prints."""
    all_ = [start([gputune, *verb, "--format", "json", *argv], env) for env in environments]
    done = [finish(p, seconds) for p in all_]
    expect(f"{what}: only rank 0 speaks", not any(o for _, o, _ in done[1:]), [o[:200] for _, o, _ in done[1:]])
    nothing_left(what)
    return [c for c, _, _ in done], fits(what, done[0][1], "fleet"), done[0][2]


codes, j, err = look("check by three ranks", [slurm(i, 3) for i in range(3)])
expect("one machine, looked at once", j and j["summary"]["machines"] == 1 and j["summary"]["results"] == 1, (codes, err))
expect("the others end well", codes[1:] == [0, 0], codes)
# Each on a machine of its own, as far as they know: over TCP, with a secret that all can read.
several = [slurm(i, 3) | dict(SLURM_STEP_NODELIST="n[1-3]", SLURM_STEP_NUM_NODES="3", SLURM_LOCALID="0", MASTER_ADDR="127.0.0.1")
           for i in range(3)]
(tmp / "looks").write_text("a secret of this test alone\n")
(tmp / "looks").chmod(0o600)
with_token = [e | dict(GPUTUNE_TOKEN_FILE=str(tmp / "looks")) for e in several]
codes, j, err = look("check over TCP", with_token)
expect("three answers", j and j["summary"]["results"] == 3 and not j["unreadable"], (codes, j and j["summary"], err))
codes, j, err = look("a rank that never comes", with_token[:2], "--ranks-wait", "2s")
expect("it is named, with its machine", j and [u["file"] for u in j["unreadable"]] == ["rank 2 (n3)"], (codes, j and j["unreadable"], err))
code, out, err = finish(start([gputune, "check", "--ranks", "1", "--format", "json"], with_token[1]))
fits("--ranks 1 is this machine alone", out, "check", (code, err))
for verb in (["status"], ["verify"], ["stack", "check"], ["defects"], ["doctor", "--passive"]):
    codes, j, err = look(f"{verb} over TCP", with_token, verb=verb, seconds=60)
    expect(f"{verb}: three answers", j and j["summary"]["results"] == 3 and not j["unreadable"] and j["groups"], (codes, j and j["summary"], err))
    code, out, err = finish(start([gputune, *verb, "--ranks", "1", "--format", "json"], with_token[1]), 60)
    alone = fits(f"{verb} --ranks 1 is this machine alone", out, "-".join(verb[:1] if verb[0] == "doctor" else verb), (code, err))
    if verb[0] not in ("defects", "doctor"):
        continue
    # The same of three nodes, one of which has one more: it is named, and the rest is one group.
    key, bad = ("defects", "here") if verb[0] == "defects" else ("diagnoses", "found")
    odd = dict(id="odd-one", title="", effect="hang", place="host", state=bad, causes=[dict(id="a-cause", likelihood="certain")])
    lines = [dict(alone, host=dict(alone["host"], nodename=f"n{i}"), **{key: alone[key] + [odd] * (i == 2)}) for i in range(1, 5)]
    (tmp / "nodes.json").write_text("\n".join(map(json.dumps, lines)) + "\n")
    code, out, err = finish(start([gputune, "fleet", str(tmp / "nodes.json"), "--format", "json"]))
    j = fits(f"{verb} of four nodes", out, "fleet", (code, err))
    expect(f"{verb}: the odd one is named", j and [g["hosts"] for g in j["groups"]] == ["n[1,3-4]", "n2"] and
           [(d["id"], d["from"]) for d in j["differences"]] == [("odd-one", verb[0])] and
           ("a-cause" in j["differences"][0]["answers"][0]["text"]) == (key == "diagnoses"), j and (j["groups"], j["differences"]))
# What is installed, and what a job waits in: one node that differs is named.
job = subprocess.Popen(["python3", "-c", "input()"], stdin=subprocess.PIPE)
for verb, name, edit in (
        (["show"], "show", lambda j: j["facts"]["kernel"]["release"].update(value="9.9.9")),
        (["diagnose", "hang", str(job.pid)], "hang", lambda j: j["processes"][0].update(kind="collective", operation="all_reduce"))):
    codes, j, err = look(f"{name} over TCP", with_token, verb=verb, seconds=60)
    expect(f"{name}: three answers", j and j["summary"]["results"] == 3 and not j["unreadable"], (codes, j and j["summary"], err))
    code, out, err = finish(start([gputune, *verb, "--ranks", "1", "--format", "json"], with_token[1]), 60)
    fits(f"{name} --ranks 1 is this machine alone", out, name, (code, err))
    lines = [json.loads(out) for i in range(4)]
    for i, line in enumerate(lines if name == "show" else [], 1):
        line["host"]["nodename"] = f"n{i}"
    edit(lines[1])
    (tmp / "nodes").write_text("".join(f"n{i}: {json.dumps(line)}\n" for i, line in enumerate(lines, 1)))
    with open(tmp / "nodes", encoding="utf-8") as nodes:
        p = subprocess.run([gputune, "fleet", "-", "--format", "json"], stdin=nodes, capture_output=True, text=True, check=False)
    j = fits(f"{name} of four nodes by pdsh", p.stdout, "fleet", (p.returncode, p.stderr))
    expect(f"{name}: n2 is named", j and not j["unreadable"] and [o["name"] for o in j["outliers"]] == ["n2"] and
           {d["from"] for d in j["differences"]} == {name}, j and (j["unreadable"], j["outliers"], j["differences"]))
job.kill()
job.wait()
codes, j, err = look("bench over TCP", with_token, verb=("bench", "memory-latency/16KiB", *QUICK), seconds=60)
expect("bench: a figure of each", j and j["summary"]["results"] == 3 and j["summary"]["figures"] >= 1 and not j["unreadable"], (codes, j and j["summary"], err))
code, out, err = finish(start([gputune, "bench", "memory-latency/16KiB", *QUICK, "--ranks", "1", "--format", "json"], with_token[1]), 60)
fits("bench --ranks 1 is this machine alone", out, "bench", (code, err))
code, out, err = finish(start([gputune, "check", "--format", "nagios"], slurm(0, 1) | dict(SLURM_STEP_NUM_TASKS="1")))
expect("nagios alone", code in (0, 1, 2, 3) and out, (code, err))
all_ = [start([gputune, "check", "--format", "nagios"], e) for e in with_token]
done = [finish(p, 20) for p in all_]
expect("a form of one machine is refused of three", done[0][0] == 2 and "is for one machine" in done[0][2] and not done[0][1], done)

# By PMIx: neither an address nor a secret nor a port is given to them, and no home folder is there.


def pmix(i, n, name, locals_=1, **more):
    """What prterun and srun --mpi=pmix set; the library is the stand-in."""
    (tmp / name).mkdir(exist_ok=True)
    return dict(PMIX_NAMESPACE=f"{name}.0", PMIX_RANK=str(i), GPUTUNE_STUB_PMIX=f"{tmp / name} {n} {locals_}", HOME="/nonexistent",
                LD_LIBRARY_PATH=f"{stub / 'device'}:{stub / 'libraries'}", **more)


codes, j, err = look("check by PMIx", [pmix(i, 3, "px") for i in range(3)])
expect("three answers by PMIx", j and j["summary"]["results"] == 3 and not j["unreadable"], (codes, j and j["summary"], err))
codes, j, err = look("check by PMIx on one machine", [pmix(i, 3, "po", 3) for i in range(3)])
expect("looked at once by PMIx", j and j["summary"]["results"] == 1 and not j["unreadable"], (codes, j and j["summary"], err))
named = [slurm(i, 3) | pmix(i, 3, "ps") | dict(SLURM_STEP_NODELIST="n[1-3]", SLURM_STEP_NUM_NODES="3", SLURM_LOCALID="0") for i in range(3)]
codes, j, err = look("one of PMIx that never comes", named[:2], "--ranks-wait", "2s")
expect("it is named by Slurm", j and [u["file"] for u in j["unreadable"]] == ["rank 2 (n3)"], (codes, j and j["unreadable"], err))
for name, said, words in (("pn", None, "no address of rank 0 within 1 s"), ("pt", "zz 127.0.0.1:1", "no address of rank 0 answers"), ("pe", "", "no address of rank 0")):
    env = pmix(1, 3, name)
    if said is not None:
        (tmp / name / "gputune.meet.0").write_text(said)
    code, out, err = finish(start([gputune, "check", "--ranks-wait", "1s"], env))
    expect(f"without rank 0: {words}", code == 5 and words in err and not out, (code, out, err))
code, out, err = finish(start([gputune, "check", "--format", "json"], pmix(0, 3, "pa") | dict(GPUTUNE_STUB_PMIX="")))
fits("no server of PMIx: this machine alone", out, "check", (code, err))
launch("collectives by PMIx", [pmix(i, 2, "pc") for i in range(2)], own=[["--gpus", "0"], ["--gpus", "2"]])

# A prolog that asks Slurm for nothing: the exit code says it.
for only, wanted in (("net.rmem-max,net.wmem-max", (0, 1)), ("gpu.persistence-mode", (0,))):
    code, out, err = finish(start([gputune, "slurm", "prolog", "--exit-only", "--only", only, "--scontrol", "/nowhere", "--format", "json"]))
    j = fits("prolog --exit-only", out, "slurm", (code, err))
    expect(f"prolog --exit-only {only}", j and code in wanted and (code == 1) == (j["reason"] is not None) and not err, (code, out, err))

# --- by hand, over TCP ------------------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def token(name, text):
    path = tmp / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


good = token("token", "a secret that all of them know\n")


def by_hand(n, at, gpus=None, token_file=good):
    return [["--rank", str(i), "--ranks", str(n), "--peer", at, "--token", token_file, "--gpus", gpus[i] if gpus else str(i)]
            for i in range(n)]


launch("over TCP", [{}] * 3, own=by_hand(3, f"127.0.0.1:{free_port()}"))
launch("a process with two GPUs", [{}] * 2, own=by_hand(2, f"127.0.0.1:{free_port()}", ["0", "1"]))
launch("the same GPU twice", [{}] * 2, own=by_hand(2, f"127.0.0.1:{free_port()}", ["1", "1"]), code=2, words=("use the same GPU",))
# Who knocks and says nothing, or something else, holds up nobody: rank 1 stands behind all of them.
port = free_port()
own = by_hand(2, f"127.0.0.1:{port}")
first = start(bench("collectives/all-reduce:64B", *own[0], "--format", "json"))


def knock(say=b""):
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    s.sendall(say)
    return s


def listens():
    try:
        knock().close()
        return True
    except OSError:
        return False


expect("rank 0 listens", until(listens))
strangers = [knock(b"GET / HTTP/1.0\r\n"[:i % 17]) for i in range(60)] + [knock(os.urandom(64)) for _ in range(20)]
second = start(bench("collectives/all-reduce:64B", *own[1], "--format", "json"))
code, out, err = finish(first)
expect("rank 0 among strangers ends well", code == 0, (code, err))
result("among strangers", out)
code, _, err = finish(second)
expect("rank 1 behind them too", code == 0, (code, err))
for s in strangers:
    s.close()
nothing_left("among strangers")
A, B = f"gtr-a{os.getpid()}", f"gtr-b{os.getpid()}"


def ip(*argv):
    return subprocess.run(["ip", *argv], capture_output=True).returncode == 0


# Entering one mounts, which not every root file system lets.
if os.geteuid() == 0 and ip("netns", "add", A) and ip("netns", "add", B) and ip("netns", "exec", A, "true"):
    for cmd in (f"link add gtr0 netns {A} type veth peer name gtr1 netns {B}", f"-n {A} addr add 10.98.7.1/24 dev gtr0",
                f"-n {B} addr add 10.98.7.2/24 dev gtr1", f"-n {A} link set gtr0 up", f"-n {B} link set gtr1 up"):
        ip(*cmd.split())
    launch("between two networks", [{}] * 2, own=by_hand(2, "10.98.7.1:21190"), ns=[A, B])
    # Meeting by name, and the token from the environment, as in a job over two machines.
    env = dict(GPUTUNE_TOKEN_FILE=good, GPUTUNE_MEET="10.98.7.1")
    launch("by environment", [dict(env, GPUTUNE_RANK=str(i), GPUTUNE_RANKS="2") for i in range(2)], own=[["--gpus", "0"], ["--gpus", "2"]],
           ns=[A, B])
else:
    skip("namespaces", "they cannot be made or entered here")
for n in (A, B):
    ip("netns", "del", n)

# --- what is asked wrongly --------------------------------------------------------------------------------------------------------------

for argv, words in [
    (["collectives", "--rank", "0"], "--ranks"),
    (["collectives", "--ranks", "2"], "--rank"),
    (["collectives", "--ranks", "65", "--rank", "0"], "from 1 to 64"),
    (["collectives", "--ranks", "two", "--rank", "0"], "takes a whole number"),
    (["collectives", "--ranks", "2", "--rank", "2"], "up to 1"),
    (["collectives", "--ranks", "2", "--rank", "0"], "address of rank 0 missing"),
    (["collectives", "--ranks", "2", "--rank", "0", "--peer", "127.0.0.1"], "--token FILE"),
    (["collectives", "--ranks", "2", "--rank", "0", "--peer", "no address!", "--token", good], "no address"),
    (["memory-latency", "collectives", "--local-processes"], "can only measure collectives"),
    (["memory-latency", "--ranks", "2", "--rank", "1"], "can only measure collectives"),
]:
    code, out, err = finish(start(bench(*argv)))
    expect(f"{argv}", code in (2, 5) and words in err and not out, (code, err))
code, out, err = finish(start(bench("collectives", "--local-processes"), slurm(0, 2)))
expect("started twice", code == 2 and "Slurm has already started them" in err, (code, err))
code, out, err = finish(start(bench("collectives"), dict(OMPI_COMM_WORLD_RANK="7", OMPI_COMM_WORLD_SIZE="4")))
expect("a rank that cannot be", code == 2 and "OMPI_COMM_WORLD_RANK" in err, (code, err))
code, out, err = finish(start(bench("collectives", "--local-processes"), dict(GPUTUNE_STUB_CUDA="gpus=1")))
expect("one GPU alone", code == 5 and "at least two GPUs" in err, (code, err))
nothing_left("wrongly asked")

# --- what goes wrong --------------------------------------------------------------------------------------------------------------------

launch("another NCCL", [torchrun(i, 3, **(dict(GPUTUNE_STUB_NCCL="version=22304") if i == 1 else {})) for i in range(3)], code=5,
       words=("rank 1", "NCCL 2.23.4", "2.21.9", "all must have the same version"))
launch("no GPU", [torchrun(i, 2, **(dict(GPUTUNE_STUB_CUDA="gpus=0") if i == 1 else {})) for i in range(2)], code=5,
       words=("rank 1", "has no usable GPU"))
os.symlink(stub / "libraries/hollow.so", tmp / "libnccl.so.2")
launch("no NCCL", [torchrun(i, 2, **(dict(GPUTUNE_LIB_DIR=str(tmp)) if i == 1 else {})) for i in range(2)], code=5,
       words=("rank 1", "has no usable NCCL"))
launch("wrong data", [torchrun(i, 2, GPUTUNE_STUB_NCCL="wrong") for i in range(2)], code=1, words=("received wrong data",))
launch("sockets", [torchrun(i, 2, **(dict(GPUTUNE_STUB_NCCL="sockets") if i == 1 else {})) for i in range(2)], code=1,
       words=("NCCL uses TCP sockets",))
launch("a rank that dies", [torchrun(i, 3, **(dict(GPUTUNE_STUB_NCCL="die") if i == 2 else {})) for i in range(3)], code=1,
       words=("rank 2", "disappeared"))
code, out, err = finish(start(bench("collectives/all-reduce:64B", "--local-processes"), dict(GPUTUNE_STUB_NCCL="die")))
expect("a child that dies", code == 1 and "rank 2" in out and "disappeared" in out, (code, out[-500:], err))
nothing_left("a child that dies")


def met(pid):
    """That a process has found all others: the stand-in's common memory has lost its name."""
    try:
        return any("gputune-stub-nccl" in line and "(deleted)" in line for line in open(f"/proc/{pid}/maps"))
    except OSError:
        return False


def amid(what, kill_rank, sig, codes, words):
    """Ranks that measure for long, one of which is ended from outside."""
    argv = [gputune, "bench", "collectives/all-reduce:64B", "--for", "300s", "--state", str(tmp / "state")]
    all_ = [start(argv, torchrun(i, 3)) for i in range(3)]
    expect(f"{what}: they meet", until(lambda: all(met(p.pid) for p in all_)))
    all_[kill_rank].send_signal(sig)
    done = [finish(p, 120) for p in all_]
    if kill_rank:
        text = done[0][1] + done[0][2]
        # Some ranks may still have been setting up.
        expect(f"{what}: rank 0 names it", done[0][0] in codes and re.search(words, text), (done[0][0], text[-500:]))
    else:
        expect(f"{what}: the others end", all(d[0] in codes for d in done[1:]), [d[0] for d in done])
    nothing_left(what)


amid("a rank that is killed", 1, signal.SIGKILL, (1,), r"rank 1\b.* (disappeared|is no longer reachable)")
amid("rank 0 that is killed", 0, signal.SIGKILL, (5,), "")
amid("a rank 0 that is asked to stop", 0, signal.SIGINT, (0, 5), "")
p = start([gputune, "bench", "collectives/all-reduce:64B", "--for", "300s", "--local-processes", "--state", str(tmp / "state")],
          start_new_session=True)
children = f"/proc/{p.pid}/task/{p.pid}/children"
expect("Ctrl-C: they meet", until(lambda: sum(met(int(c)) for c in open(children).read().split()) >= 2 or met(p.pid)))
os.killpg(p.pid, signal.SIGINT)
code, out, err = finish(p, 120)
expect("Ctrl-C", code == 5 and "interrupted" in out, (code, out[-300:], err))
nothing_left("Ctrl-C")

left = glob.glob("/tmp/gputune-stub-nccl-*")
for path in left:
    if os.stat(path).st_mtime > pathlib.Path(tmp).stat().st_ctime - 60:
        os.unlink(path)
end_suite()
