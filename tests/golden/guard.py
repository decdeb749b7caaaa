#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune run: the command's own code, its end when memory goes, what is not started, and page cache that is released before. Memory is that of a captured
machine whose /proc the command itself changes; one command really allocates, between two readings of its own machine.

    guard.py GPUTUNE
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

from common import end_suite, expect, gputune, no_namespaces, scratch, skip, until

tmp = scratch("guard")


def machine(name, available_kb, full=0.0):
    root = tmp / name
    (root / "root/proc/pressure").mkdir(parents=True)
    (root / "meta.json").write_text('{"schema": "gputune.capture/1", "identity": {"nodename": "m", "release": "6.8", '
                                    '"version": "1", "machine": "x86_64", "euid": 0, "page_size": 4096, "time_s": 1772000000}, "unlisted": "absent"}')
    memory(root, available_kb)
    pressure(root, full)
    return root


def memory(root, available_kb):
    new = root / "root/proc/meminfo.new"
    new.write_text(f"MemTotal:       16777216 kB\nMemFree:        100 kB\nMemAvailable:   {available_kb} kB\n")
    new.rename(root / "root/proc/meminfo")


def pressure(root, full):
    new = root / "root/proc/pressure/memory.new"
    new.write_text(f"some avg10={full:.2f} avg60=0.00 avg300=0.00 total=0\nfull avg10={full:.2f} avg60=0.00 avg300=0.00 total=0\n")
    new.rename(root / "root/proc/pressure/memory")


def start(*argv):
    return subprocess.Popen([gputune, "run", "--guard", *map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ends(p):
    out, err = p.communicate(timeout=60)
    return p.returncode, out, err


def alive(pid):
    """Runs, and is no zombie that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def passes_through():
    m = machine("plenty", 8 << 20)
    code, out, err = ends(start("--host", m, "--", "sh", "-c", "echo hello; exit 7"))
    expect("the command's code and output", code == 7 and out == "hello\n", (code, out, err))
    expect("and what was left at least", "8192 MiB of 16384 MiB" in err, err)
    code, out, err = ends(start("--quiet", "--host", m, "--", "sh", "-c", "kill -9 $$"))
    expect("of a signal: 128 and its number", code == 137 and not err, (code, err))
    code, _, err = ends(start("--host", m, "--", "/nowhere/program"))
    expect("what is not there", code == 127 and "cannot run" in err, (code, err))
    p = subprocess.run([gputune, "run", "--", "true"], capture_output=True, text=True)
    expect("nothing to do without --guard", p.returncode == 2 and "--guard" in p.stderr, p)


def not_started():
    code, out, err = ends(start("--host", machine("low", 300000), "--", "echo", "started"))
    expect("too little from the start", code == 125 and "the command was not started" in err and not out, (code, out, err))
    root = machine("blind", 1)
    (root / "root/proc/meminfo").unlink()
    code, _, err = ends(start("--host", root, "--", "true"))
    expect("memory that cannot be read", code == 125 and "cannot read available memory" in err, (code, err))


def stopped():
    m = machine("goes", 8 << 20)
    pid = tmp / "pid"
    p = start("--host", m, "--", "sh", "-c", f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
    until(pid.exists)
    memory(m, 700000)
    code, _, err = ends(p)
    expect("memory goes: it is told to end", code == 124 and "683 MiB of 16384 MiB are available, below the limit of 819" in err, (code, err))
    expect("and its children", until(lambda: not alive(int(pid.read_text()))), pid.read_text())
    m = machine("waits", 8 << 20)
    ready = tmp / "ready"
    p = start("--host", m, "--grace", "0.3", "--", "sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
    until(ready.exists)
    pressure(m, 75)
    code, _, err = ends(p)
    expect("pressure, and what does not end is killed", code == 124 and "75 % of ten seconds" in err and "did not exit within --grace" in err, (code, err))
    m = machine("gone", 8 << 20)
    ready = tmp / "ready2"
    p = start("--host", m, "--grace", "600", "--", "sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
    until(ready.exists)
    memory(m, 100)
    code, _, err = ends(p)
    expect("less than half of the limit: killed at once", code == 124 and "less than half" in err, (code, err))


def told():
    """A signal that gputune gets the command gets too."""
    m = machine("told", 8 << 20)
    ready = tmp / "ready3"
    p = start("--host", m, "--", "sh", "-c", f"trap 'exit 9' TERM; touch {ready}; while :; do sleep 0.1; done")
    until(ready.exists)
    p.send_signal(signal.SIGTERM)
    code, _, err = ends(p)
    expect("SIGTERM goes on to it", code == 9, (code, err))


def in_a_group():
    """Without --host, in a control group of this kernel. True where one can be had."""
    code, out, err = ends(start("--", "cat", "/proc/self/cgroup"))
    if "the command runs in gputune-run-" not in err:
        expect("no group: it says why, and what that means", code == 0 and "processes that leave the command's process group are not stopped" in err, (code, err))
        skip("control groups", err.strip())
        return False
    name = next(x for x in err.split() if x.startswith("gputune-run-")).rstrip(",")
    expect("it is there before it begins", code == 0 and name in out, (out, err))
    expect("nothing is left of the group", not list(pathlib.Path("/sys/fs/cgroup").rglob(name)), name)
    code, _, err = ends(start("--quiet", "--", "/nowhere/program"))
    expect("nor of one whose command is not there", code == 127 and "cannot run" in err, (code, err))
    pid = tmp / "away"
    p = start("--", "sh", "-c", f"setsid sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; exit 5")
    until(pid.exists)
    line = p.stderr.readline() + p.stderr.readline()
    expect("what forks away is guarded on", "the command has exited; its remaining processes in gputune-run-" in line, line)
    p.send_signal(signal.SIGTERM)
    code, _, err = ends(p)
    expect("and ends with us, with the command's code", code == 5 and not alive(int(pid.read_text())), (code, err))
    return True


def really_allocates(away):
    """On this machine: the limit lies 64 MiB below what is available, and the command takes 2 GiB, a piece at a time. Where there are
    control groups it does so in a process that has left the group and does not hear SIGTERM."""
    line = next(x for x in pathlib.Path("/proc/meminfo").read_text().splitlines() if x.startswith("MemAvailable"))
    mib = int(line.split()[1]) >> 10
    hungry = "import time, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nkept = []\nfor i in range(128):\n" \
             "    kept.append(bytearray(b'x' * (16 << 20)))\n    time.sleep(0.02)\ntime.sleep(600)"
    command = [sys.executable, "-c", hungry]
    if away:
        command = [sys.executable, "-c", f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execv({sys.executable!r}, {command!r})"]
    code, _, err = ends(start("--grace", "0.2", "--least", mib - 64 if mib > 4096 else mib, "--", *command))
    expect("what takes memory is ended", code in (124, 125) and "are available, below the limit of" in err, (code, err))


MANAGER = """#!/bin/sh
# busctl --system --timeout= --allow- call NAME PATH INTERFACE StartTransientUnit SIGNATURE UNIT fail N CollectMode s MODE PIDs au 1 PID ...
echo "$*" > {log}
{deed}
"""


def by_a_manager():
    """systemd's part is played by a busctl of ours, in mounts of our own: one that refuses, one that makes the group."""
    why = no_namespaces("busctl")
    at = next((x for x in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(x + "/cgroup.controllers")), None)
    if why or not at:
        skip("systemd's scopes", why or "no control groups of version 2")
        return
    log, busctl = tmp / "asked", tmp / "busctl"

    def run(deed, prepare="mkdir -p /run/systemd/system"):
        log.unlink(missing_ok=True)
        busctl.write_text(MANAGER.format(log=log, deed=deed))
        busctl.chmod(0o755)
        script = f"mount -t tmpfs none /run && {prepare} && mount --bind {busctl} $(command -v busctl) && " \
                 f"exec {gputune} run --guard --most 4096 -- cat /proc/self/cgroup"
        p = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        return p.returncode, p.stdout, p.stderr, log.read_text() if log.exists() else ""

    code, out, err, asked = run("echo 'Failed to connect to bus: No such file or directory' >&2; exit 1")
    expect("no bus: it runs all the same, and says so", code == 0 and "0::" in out and "systemd could not create a scope for the command (Failed to connect" in err, (code, err))
    expect("what is asked for", "--system" in asked and "MemoryHigh t 4080219136 MemoryMax t 4294967296" in asked, asked)
    code, out, err, asked = run(f"mkdir {at}/${{10}} && echo ${{19}} > {at}/${{10}}/cgroup.procs")
    unit = next((x for x in asked.split() if x.endswith(".scope")), "none")
    expect("a scope", code == 0 and unit in out and f"the command runs in {unit}" in err, (code, out, err, asked))
    expect("which is the manager's to remove", until(lambda: not os.path.isdir(f"{at}/{unit}") or not os.rmdir(f"{at}/{unit}")))
    code, out, err, _ = run("exit 1", "mount -t tmpfs none /sys/fs/cgroup")
    expect("no control groups", code == 0 and "this kernel has no cgroup v2" in err, (code, err))


def page_cache():
    """What is released, and what is not; a kernel that does it is in tests/unit/test_guard.c."""
    m = machine("cached", 8 << 20)
    (m / "root/proc/meminfo").write_text("MemTotal: 16777216 kB\nMemFree: 1048576 kB\nMemAvailable: 8388608 kB\nBuffers: 0 kB\n"
                                         "Cached: 6291456 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 1048576 kB\nShmem: 1048576 kB\n")
    (m / "root/sys/fs/cgroup").mkdir(parents=True)
    over = ["--host", m, "--overlay", tmp / "over"]

    def run(*argv):
        p = subprocess.run([gputune, "run", *map(str, argv)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr
    code, out, err = run("--free", 512, *over)
    expect("so much is free already", code == 0 and "1024 MiB are free already" in err, (code, err))
    code, out, err = run("--free", 6000, *over, "--yes")
    expect("more than could be: what programs share and what is to be written does not count",
           code == 3 and "4096 MiB of page cache can be released" in err and "Nothing was released" in err, (code, err))
    code, out, err = run("--free", 2048, *over)
    expect("nobody to ask", code == 2 and "--yes" in err, (code, err))
    code, out, err = run("--free", 2048, *over, "--dry-run", "--guard", "--", "echo", "started")
    expect("a dry run names the danger, and starts nothing", code == 0 and not out and "Release 1024 of 4096 MiB of page cache, within 60 s" in err
           and "There is no undo" in err, (code, out, err))
    code, out, err = run("--free", 2048, *over, "--yes", "--guard", "--", "echo", "started")
    expect("no such kernel: not started", code == 125 and not out and "/sys/fs/cgroup/memory.reclaim does not exist" in err and "drop_caches" in err, (code, err))
    (m / "root/sys/fs/cgroup/memory.reclaim").write_text("")
    code, out, err = run("--free", 2048, *over, "--yes")
    expect("a kernel that gives up nothing", code == 3 and "1024 MiB were free, now 1024 MiB" in err and "releases no more" in err, (code, err))
    code, out, err = run("--free", 2048, "--guard")
    expect("a guard of nothing", code == 2 and "COMMAND" in err, (code, err))


def cheap():
    m = machine("idle", 8 << 20)
    before = os.times()
    begin = time.monotonic()
    ends(start("--host", m, "--", "sleep", "1"))
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    expect("it takes little", used < 0.2 * (time.monotonic() - begin), used)


passes_through()
not_started()
stopped()
told()
really_allocates(in_a_group())
by_a_manager()
page_cache()
cheap()
end_suite()
