#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune run --guard: the command's own code, its end when memory goes, and what is not started. Memory is that of a captured
machine whose /proc the command itself changes; one command really allocates, between two readings of its own machine.

    guard.py GPUTUNE
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

from common import end_suite, expect, gputune, scratch, until

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
    expect("what is not there", code == 127 and "cannot be run" in err, (code, err))
    p = subprocess.run([gputune, "run", "--", "true"], capture_output=True, text=True)
    expect("nothing to do without --guard", p.returncode == 2 and "--guard" in p.stderr, p)


def not_started():
    code, out, err = ends(start("--host", machine("low", 300000), "--", "echo", "started"))
    expect("too little from the start", code == 125 and "it is not started" in err and not out, (code, out, err))
    root = machine("blind", 1)
    (root / "root/proc/meminfo").unlink()
    code, _, err = ends(start("--host", root, "--", "true"))
    expect("memory that cannot be read", code == 125 and "cannot be read" in err, (code, err))


def stopped():
    m = machine("goes", 8 << 20)
    pid = tmp / "pid"
    p = start("--host", m, "--", "sh", "-c", f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
    until(pid.exists)
    memory(m, 700000)
    code, _, err = ends(p)
    expect("memory goes: it is told to end", code == 124 and "683 MiB of 16384 MiB are available, less than 819" in err, (code, err))
    expect("and its children", until(lambda: not alive(int(pid.read_text()))), pid.read_text())
    m = machine("waits", 8 << 20)
    ready = tmp / "ready"
    p = start("--host", m, "--grace", "0.3", "--", "sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 0.1; done")
    until(ready.exists)
    pressure(m, 75)
    code, _, err = ends(p)
    expect("pressure, and what does not end is killed", code == 124 and "75 % of ten seconds" in err and "did not end in time" in err, (code, err))
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


def really_allocates():
    """On this machine: the limit lies 64 MiB below what is available, and the command takes 2 GiB, a piece at a time."""
    line = next(x for x in pathlib.Path("/proc/meminfo").read_text().splitlines() if x.startswith("MemAvailable"))
    mib = int(line.split()[1]) >> 10
    hungry = "import time\nkept = []\nfor i in range(128):\n    kept.append(bytearray(b'x' * (16 << 20)))\n    time.sleep(0.02)\ntime.sleep(600)"
    code, _, err = ends(start("--least", mib - 64 if mib > 4096 else mib, "--", sys.executable, "-c", hungry))
    expect("what takes memory is ended", code in (124, 125) and "available, less than" in err, (code, err))


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
really_allocates()
cheap()
end_suite()
