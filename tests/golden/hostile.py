#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others, and the machine itself, can do to a run: no memory at the Nth allocation, no descriptors, a full disk, a
read-only or missing /var, signals at each write, two gputunes at once, clocks that jump, files that are pipes, devices,
links or endless, names that become links while they are used, a state folder that is somebody else's. Nothing crashes or
hangs, errors are sentences, and the machine is as it was or can be undone to it.

    hostile.py GPUTUNE

What needs root and namespaces runs in namespaces of its own; without them it is a visible skip.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from common import built, end_suite, expect, gputune, machines, root, skip, snapshot, tally
from stack_files import wheel


machine = machines / "igx-orin"
seeds = root / "tests/fuzz/seeds"
preload = built / "tests/torture/libnomem.so"
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
NO_MEMORY = 71
LIMIT_S = 60  # whoever waits for ever is found out; nothing here takes a second


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"code {self.code}, {self.out[:200]!r}, {self.err[:300]!r}"


def run(*argv, limits=(), env=None, stdout=subprocess.PIPE, **how):
    def bounds():
        for what, n in limits:
            resource.setrlimit(what, (n, n))

    try:
        p = subprocess.run([gputune, *map(str, argv)], stdout=stdout, stderr=subprocess.PIPE, timeout=LIMIT_S, cwd="/",
                           stdin=how.pop("stdin", subprocess.DEVNULL), env={**ENV, **(env or {})}, preexec_fn=bounds if limits else None)
    except subprocess.TimeoutExpired:
        return Ran("hangs", "", "")
    return Ran(p.returncode, (p.stdout or b"").decode(errors="replace"), p.stderr.decode(errors="replace"))


def ended(ran):
    """By itself, with a code of its own."""
    return isinstance(ran.code, int) and 0 <= ran.code <= NO_MEMORY


def refused(what, ran):
    return expect(what, ended(ran) and ran.code not in (0, NO_MEMORY) and ran.err.startswith("gputune: "), ran)


def strange(overlay):
    """What the overlay holds that the captured machine does not hold anyway; our own files and answers aside, and what a kill left of
    the overlay's own way to write a file of the kernel's, which the kernel's do not have."""
    bad = []
    for name, what in snapshot(overlay).items():
        below = machine / name
        if name.startswith("root/var/lib/gputune/") or name.startswith("told/") or \
                name.startswith(("root/proc/", "root/sys/")) and name.endswith(".gputune-new"):
            continue
        here = ("link", os.readlink(below)) if below.is_symlink() else ("file", below.read_bytes()) if below.is_file() else None
        if name.startswith("gone/") or what != here:
            bad.append(name)
    return bad


def applied(tmp, name):
    """An overlay on which a plan is in force."""
    overlay = pathlib.Path(tmp, name)
    ran = run("apply", "--yes", "--host", machine, "--overlay", overlay)
    expect(f"{name}: applied", ran.code == 0, ran)
    return overlay


def taken_back(what, overlay):
    """After whatever happened: one undo, and all is as captured."""
    ran = run("undo", "--yes", "--all", "--host", machine, "--overlay", overlay)
    nothing = "nothing" in ran.err + ran.out
    expect(f"{what}: undo takes it back", ran.code == 0 or nothing, ran)
    bad = strange(overlay) if pathlib.Path(overlay).exists() else []
    expect(f"{what}: the machine is as it was", not bad, bad[:5])


# --- no memory ---------------------------------------------------------------------------------------------------------

VERBS = {
    "check": ["check", "--host", machine],
    "check, JSON": ["check", "--host", machine, "--format", "json"],
    "show": ["show", "--host", machine],
    "plan": ["plan", "--host", machine, "--format", "json"],
    "doctor": ["doctor", "--host", machine],
    "bench show": ["bench", "show", seeds / "bench.json"],
    "stack arch": ["stack", "arch", seeds / "stack.so", seeds / "stack.whl"],
    "lint": ["lint", seeds / "lint.sh", "--host", machine],
    "fleet": ["fleet", seeds / "fleet.jsonl"],
    "list": ["list", "--format", "json"],
}


writers = set()  # allocations of what starts a reader


def allocations(tmp, argv):
    counted = pathlib.Path(tmp, "count")
    counted.unlink(missing_ok=True)
    ran = run(*argv, env={"LD_PRELOAD": str(preload), "NOMEM_COUNT": str(counted)})
    # A reader apart counts on from where it was divided; what started it, which writes the file of -o, comes to fewer.
    told = sorted(map(int, counted.read_text().split())) if counted.exists() else [0]
    writers.update(range(1, told[0]) if len(told) > 1 else ())
    return ran, told[-1]


def no_memory(tmp):
    if not preload.exists():
        skip("no memory", f"{preload} was not built")
        return
    for name, argv in VERBS.items():
        good, n = allocations(tmp, argv)
        if not expect(f"{name}: allocations are counted", n > 20, (n, good)):
            continue
        # Late ones are those of libsmartcols, which leaves out what it has no room for when it has some again afterwards.
        for at, on in ((1, 0), (2, 0), (n // 7, 0), (n // 3, 0), (n // 2, 0), (5 * n // 6, 0), (n - 3, 1), (n - 1, 1)):
            ran = run(*argv, env={"LD_PRELOAD": str(preload), "NOMEM_AT": str(at), "NOMEM_ON": str(on)})
            same = (ran.code, ran.out) == (good.code, good.out)
            expect(f"{name}: allocation {at} of {n} fails", same or ran.code == NO_MEMORY and "out of memory" in ran.err
                   or ended(ran) and ran.code not in (0, good.code), ran)
    for verb in ("apply", "undo"):
        _, n = allocations(tmp, [verb, "--yes", *(["--all"] if verb == "undo" else []), "--host", machine, "--overlay",
                                 applied(tmp, "count-undo") if verb == "undo" else pathlib.Path(tmp, "count-apply")])
        for at in (n // 4, n // 2, 3 * n // 4, 7 * n // 8, n - 5):
            overlay = applied(tmp, f"memory-{verb}-{at}") if verb == "undo" else pathlib.Path(tmp, f"memory-{verb}-{at}")
            ran = run(verb, "--yes", "--host", machine, "--overlay", overlay, env={"LD_PRELOAD": str(preload), "NOMEM_AT": str(at)})
            expect(f"{verb}: allocation {at} of {n} fails", ran.code in (0, NO_MEMORY), ran)
            taken_back(f"{verb} without memory at {at}", overlay)


# --- limits ------------------------------------------------------------------------------------------------------------


def limits(tmp):
    for name in ("check", "plan", "stack arch", "fleet", "bench show"):
        for n in (3, 4, 6):
            ran = run(*VERBS[name], limits=[(resource.RLIMIT_NOFILE, n)])
            expect(f"{name} with {n} descriptors", (ended(ran) or ran.code == 127) and (ran.out or ran.err), ran)
        for mib in (24, 48):
            ran = run(*VERBS[name], limits=[(resource.RLIMIT_AS, mib << 20)])
            # Below what its libraries need the loader says so.
            expect(f"{name} in {mib} MiB", ended(ran) or ran.code == 127, ran)
    small = [(resource.RLIMIT_FSIZE, 2048)]
    for name, argv in {"check": [*VERBS["check"], "-o"], "capture": ["capture", "--host", machine, "-o"]}.items():
        out = pathlib.Path(tmp, f"limit-{name}")
        ran = run(*argv, out, limits=small)
        expect(f"{name} into a file that may not grow", ended(ran) and ran.code and "File too large" in ran.err, ran)
        if name == "capture":
            expect("nothing is left of the capture", not [p for p in pathlib.Path(tmp).iterdir() if p.name.startswith("limit-c") and "capture" in p.name])
    ran = run("record", "-o", pathlib.Path(tmp, "limit-record"), "--interval", "100ms", "--", "true", limits=[(resource.RLIMIT_FSIZE, 64)])
    expect("record into a file that may not grow: an error, not a signal", ended(ran) and "File too large" in ran.err, ran)
    ran = run("apply", "--yes", "--host", machine, "--overlay", pathlib.Path(tmp, "limit-apply"), limits=[(resource.RLIMIT_FSIZE, 1500)])
    expect("apply whose journal may not grow", ended(ran) and ran.code and ran.err, ran)
    taken_back("apply whose journal may not grow", pathlib.Path(tmp, "limit-apply"))


# --- signals -----------------------------------------------------------------------------------------------------------


def signals(tmp):
    """At a write of the program's, by its number: the same place on every machine."""
    if not preload.exists():
        return
    for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"), (signal.SIGHUP, "HUP"), (signal.SIGKILL, "KILL")):
        for verb in ("apply", "undo"):
            for at in (2, 9, 40):
                what = f"{verb}, SIG{name} at write {at}"
                overlay = applied(tmp, f"signal-{verb}-{name}-{at}") if verb == "undo" else pathlib.Path(tmp, f"signal-{verb}-{name}-{at}")
                ran = run(verb, "--yes", "--host", machine, "--overlay", overlay,
                          env={"LD_PRELOAD": str(preload), "SIGNAL_AT": str(at), "SIGNAL": str(int(number))})
                expect(f"{what}: it ends by it or by itself", ended(ran) or ran.code == -number, ran)
                taken_back(what, overlay)
    for name, argv, end in (("report", ["report", "--host", machine, "--format", "html", "-o"], b"</html>"),
                            ("capture", ["capture", "--host", machine, "-o"], bytes(512))):
        _, n = allocations(tmp, [*argv, pathlib.Path(tmp, f"signal-{name}.tar")])
        for number in (signal.SIGTERM, signal.SIGKILL):
            folder = pathlib.Path(tmp, f"signal-{name}-{int(number)}")
            folder.mkdir()
            for at in (n // 4, n // 2, 3 * n // 4, n - 20, *sorted(writers)[-8:]):
                out = folder / f"{at}.tar"
                what = f"{name} -o, signal {int(number)} at allocation {at} of {n}"
                ran = run(*argv, out, env={"LD_PRELOAD": str(preload), "SIGNAL_ALLOC": str(at), "SIGNAL": str(int(number))})
                expect(f"{what}: it ends by it or by itself", ended(ran) or ran.code == -number, ran)
                expect(f"{what}: the whole result or none", not out.exists() or end in out.read_bytes()[-600:], out)
                left = {p.name for p in folder.iterdir() if not p.suffix == ".tar"}
                expect(f"{what}: nothing else is left", not left, left)
    overlay = pathlib.Path(tmp, "pipe")
    ends = os.pipe()
    os.close(ends[0])
    ran = run("apply", "--yes", "--host", machine, "--overlay", overlay, stdout=ends[1])
    os.close(ends[1])
    expect("apply to a pipe that nobody reads", ended(ran) or ran.code == -signal.SIGPIPE, ran)
    taken_back("apply to a pipe that nobody reads", overlay)


# --- what whoever starts us hands down -----------------------------------------------------------------------------------


def handed_down(tmp):
    """Standard descriptors that are closed, and children whose end is ignored."""
    bad, out = pathlib.Path(tmp, "bad.ini"), pathlib.Path(tmp, "handed-down")
    bad.write_text("[profile]\nnonsense = x\n")
    for gone in ((2,), (1, 2), (0, 1, 2)):
        out.write_text("mine")
        p = subprocess.run([gputune, "check", "--host", machine, "--profile", bad, "-o", out], env=ENV, check=False, timeout=LIMIT_S,
                           preexec_fn=lambda gone=gone: [os.close(fd) for fd in gone])
        expect(f"without descriptors {gone} no message lands in a file", p.returncode == 2 and out.read_text() == "mine",
               (p.returncode, out.read_text()[:80]))
    p = subprocess.run([gputune, *VERBS["list"]], env=ENV, check=False, timeout=LIMIT_S, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    expect("a result that cannot be written is said", p.returncode == 5 and b"cannot write the result" in p.stderr, p)
    try:
        p = subprocess.run([gputune, "record", "-o", pathlib.Path(tmp, "ignored.rec"), "--", "sh", "-c", "exit 3"], env=ENV, check=False,
                           capture_output=True, timeout=LIMIT_S, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        expect("record sees its command end where the end of children is ignored", p.returncode == 3, p)
    except subprocess.TimeoutExpired:
        expect("record sees its command end where the end of children is ignored", False, "it hangs")


def said_of_others(tmp):
    """Names and texts of others in a sentence of ours: none reaches the terminal as a control sequence, of one byte or two."""
    evil = "\033]0;mine\007\033[2J\u009b31m"
    profile, plan, result = (pathlib.Path(tmp, n) for n in ("evil.ini", "evil-plan.json", "evil-result.json"))
    profile.write_text(f"[profile]\na{evil} = x\n")
    plan.write_text(json.dumps({"schema": "gputune.plan/1", f"a{evil}": 1}))
    result.write_text(json.dumps({"schema": f"a{evil}"}))
    for argv in (["check", "--host", machine, "--profile", profile], ["apply", "--yes", "--host", machine, "--overlay", tmp, plan],
                 ["bench", "show", result], ["compare", result, result], ["lint", f"/tmp/{evil}"], [evil], ["check", f"--{evil}"],
                 ["cluster", "discover", "--nodes", evil]):
        ran = run(*argv)
        bad = controls(ran.out + ran.err)
        expect(f"{argv[0] if argv[0] != evil else 'a verb'}: no control characters", ended(ran) and ran.code and ran.err and not bad, (bad, ran))


def edited_plan(tmp):
    """A value that no row may ask for, in a plan that was good: refused with the file, the setting, the value and the range."""
    dev = machines / "h200-x4"
    plan, overlay = pathlib.Path(tmp, "edited-plan.json"), pathlib.Path(tmp, "edited-overlay")
    good = json.loads(run("plan", "--host", dev, "-p", "published", "--format", "json").out)
    for setting, value, says in (("net.rmem-max", "2147483647", "2304 to 1073741824 bytes"), ("memory.dirty-ratio", "100", "1 to 90 %"),
                                 ("memory.vfs-cache-pressure", "0", "1 to 1000"), ("net.netdev-max-backlog", "1", "100 to 1000000 packets"),
                                 ("net.tcp-fastopen", "1027", "0 to 3"), ("memory.thp-enabled", "x", "one of: always madvise never")):
        edited = json.loads(json.dumps(good))
        change = next(c for c in edited["changes"] if c["id"] == setting)
        change["after"] = value
        plan.write_text(json.dumps(edited))
        ran = run("apply", "--yes", "--host", dev, "--overlay", overlay, plan)
        expect(f"an edited plan, {setting} {value}: refused", ran.code == 2 and all(
            w in ran.err for w in (str(plan), setting, f'"{value}"', says)), ran)
        expect(f"an edited plan, {setting} {value}: nothing was written", not overlay.exists() or not any(overlay.rglob("*")), ran)
    plan.write_text(json.dumps(good))
    ran = run("apply", "--yes", "--host", dev, "--overlay", overlay, plan)
    expect("the plan as it was made is applied", ran.code == 0 and (overlay / "root/proc/sys/vm/dirty_ratio").read_text().strip() == "40", ran)


def controls(text):
    """What a terminal would obey, or what turns the direction of writing; line ends and tabs aside."""
    return sorted({hex(ord(c)) for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" or c == "\u202e"})


def said_of_a_capture(tmp):
    """A capture whose texts hold control sequences, here and there, and a report of the boot that is one: none comes out on a page or in a
    script's comment."""
    evil, capture = "\033[31m\u009b2J\007\u202e", pathlib.Path(tmp, "evil-capture")
    shutil.copytree(machine, capture, symlinks=True)
    for at, path in enumerate(sorted(capture.rglob("*"))):
        if path.is_symlink() or not path.is_file() or path.suffix in (".json", ".tsv") or at % 3:
            continue
        try:
            words = path.read_text().split(" ")
        except UnicodeDecodeError:
            continue
        path.write_text(" ".join(w + evil if w[-1:].isalpha() and i % 2 == 0 else w for i, w in enumerate(words)))
    for path in capture.rglob("scaling_available_governors"):
        path.write_text(f"conservative{evil} powersave{evil} \n")
    state = capture / "root/var/lib/gputune"
    state.mkdir(parents=True, exist_ok=True)
    boot = (machine / "root/proc/sys/kernel/random/boot_id").read_text().strip()
    (capture / "root/proc/sys/kernel/random/boot_id").write_text(boot + "\n")
    (state / "boot-report.json").write_text(json.dumps({"schema": "gputune.boot-report/1", "boot_id": boot, "reboot_by": evil,
                                                        "verify": {"time": evil, "rows": []}}))
    for argv in (["verify", "--boot"], ["check", "--all"], ["show"], ["show", "cpu"], ["show", "disks"], ["show", "network"], ["plan"], ["doctor"],
                 ["lint"], ["generate", "nccl", "--format", "shell"], ["persist", "status"], ["stack", "check"], ["status"]):
        ran = run(*argv, "--host", capture)
        expect(f"{' '.join(argv)} of a hostile capture: no control characters", ended(ran) and not controls(ran.out + ran.err),
               (controls(ran.out + ran.err), ran))
    for argv in (["show"], ["check", "--all"], ["check", "--all", "--format", "junit"], ["check", "--all", "--format", "prom"],
                 ["monitor", "--once", "--interval", "100ms"]):
        ran = run(*argv, *([] if "--format" in argv else ["--format", "json"]), "--host", capture)
        expect(f"{' '.join(argv)} of a hostile capture, for programs: no control characters", ended(ran) and ran.out and
               not controls(ran.out + ran.err), (controls(ran.out + ran.err), ran))
        if "--format" not in argv and argv[0] != "monitor":
            expect(f"{argv[0]}: the value is the same", evil in json.dumps(json.loads(ran.out), ensure_ascii=False).replace("\\u001b", "\033")
                   .replace("\\u0007", "\a"), ran.out[:300])
    ran = run("verify", "--boot", "--host", capture)
    expect("its report of the boot is shown", "Report of this boot" in ran.out, ran)
    ran = run("plan", "--format", "csv", "--host", capture)
    expect("plan --format csv of a hostile capture: no control characters", ended(ran) and ran.out.count("\r\n") > 5 and
           not controls(ran.out.replace("\r\n", "\n")), (controls(ran.out), ran))
    ran = run("plan", "--format", "shell", "--host", capture)
    remarks = "".join(line for line in ran.out.splitlines() if line.startswith("#"))
    expect("plan --format shell of a hostile capture: none in a comment", "conservative" in remarks and not controls(remarks),
           (controls(remarks), remarks[-300:]))


# --- files -------------------------------------------------------------------------------------------------------------


def files(tmp):
    pipe, endless = pathlib.Path(tmp, "pipe.fifo"), "/dev/zero"
    os.mkfifo(pipe)
    nodes = pathlib.Path(tmp, "nodes")
    nodes.write_text("a\n")
    for bad in (pipe, endless, tmp):
        for argv in (["apply", "--yes", "--host", machine, "--overlay", pathlib.Path(tmp, "never"), bad],
                     ["check", "--host", machine, "--profile", bad], ["check", "--host", machine, "--since", bad],
                     ["check", "--host", bad], ["lint", bad], ["bench", "show", bad], ["bench", "compare", bad, bad],
                     ["monitor", bad], ["cluster", "discover", "--nodes-file", bad], ["generate", "nccl", "--cluster", bad],
                     ["fleet", "--golden", bad, seeds / "fleet.jsonl"], ["predict", "inference", "--on", "dgx-spark", "--model", bad]):
            ran = run(*argv, limits=[(resource.RLIMIT_AS, 2 << 30)])
            # A folder may be what is wanted.
            expect(f"{' '.join(map(str, argv[:2]))} of {bad}", ended(ran) and (ran.code or bad == tmp) and (ran.err or ran.out), ran)
    expect("nothing was applied", not pathlib.Path(tmp, "never").exists() or not strange(pathlib.Path(tmp, "never")))
    given = run("plan", "--host", machine, "--format", "json").out
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        cat.stdin.write(given.encode())
        cat.stdin.close()
        ran = run("apply", "--yes", "--host", machine, "--overlay", pathlib.Path(tmp, "piped"), "/dev/stdin", stdin=cat.stdout)
    expect("a plan may come through a pipe", ran.code == 0, ran)
    ran = run(*VERBS["check"], "-o", "/dev/full")
    expect("a full disk is said", ran.code == 5 and "No space left" in ran.err, ran)


def links_out(tmp):
    """A capture whose links lead out of it, and places that are links already."""
    secret = pathlib.Path(tmp, "secret")
    secret.write_text("7777 SECRET-OF-THIS-MACHINE 7777\n")
    capture = pathlib.Path(tmp, "hostile-capture")
    shutil.copytree(machine, capture, symlinks=True)
    up = "/".join([".."] * 30)
    for place, target in (("proc/meminfo", secret), ("proc/cmdline", f"{up}{secret}"), ("etc/os-release", secret),
                          ("sys/class/dmi/id/product_name", secret), ("proc/sys/vm/swappiness", f"{up}{secret}")):
        path = capture / "root" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)
    for argv in (["show", "--format", "json"], ["check", "--all", "--format", "json"], ["plan", "--format", "json"], ["doctor"]):
        ran = run(*argv, "--host", capture)
        expect(f"{argv[0]}: nothing is read through a link out of a capture",
               ended(ran) and "SECRET" not in ran.out + ran.err and "7777" not in ran.out, ran)
    ran = run("apply", "--yes", "--host", capture, "--overlay", pathlib.Path(tmp, "out-overlay"))
    expect("nothing is written through one", ended(ran) and secret.read_text().startswith("7777 SECRET"), ran)
    # capture makes its own name or none.
    for kind in ("file", "link", "dangling"):
        out = pathlib.Path(tmp, f"taken-{kind}.tar")
        if kind == "file":
            out.write_text("mine")
        else:
            out.symlink_to(secret if kind == "link" else pathlib.Path(tmp, "made-by-a-link"))
        refused(f"capture does not write to what is there ({kind})", run("capture", "--host", machine, "-o", out))
    expect("nor through a link", secret.read_text().startswith("7777") and not pathlib.Path(tmp, "made-by-a-link").exists())
    expect("what was there is left", pathlib.Path(tmp, "taken-file.tar").read_text() == "mine")
    out = pathlib.Path(tmp, "metrics.prom")
    victim = pathlib.Path(tmp, "victim")
    victim.write_text("mine")
    out.symlink_to(victim)
    run(*VERBS["check"], "--format", "prom", "-o", out)
    expect("a collector's file replaces a link, not what it leads to", victim.read_text() == "mine", victim.read_text()[:40])


class Swapped:
    """While it is open, two names change places without end, each time at once: whoever looks twice sees both."""

    def __init__(self, one, other):
        self.names = os.fsencode(one), os.fsencode(other)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.over = threading.Event()
        self.swaps = 0
        self.thread = threading.Thread(target=self.swap)

    def swap(self):
        exchange = 2
        while not self.over.is_set():
            if self.libc.renameat2(-100, self.names[0], -100, self.names[1], exchange):
                return
            self.swaps += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.swaps % 2:
            self.libc.renameat2(-100, self.names[0], -100, self.names[1], 2)


def can_swap(tmp):
    a, b = pathlib.Path(tmp, "swap-a"), pathlib.Path(tmp, "swap-b")
    a.write_text("a")
    b.write_text("b")
    libc = ctypes.CDLL(None)
    return hasattr(libc, "renameat2") and libc.renameat2(-100, os.fsencode(a), -100, os.fsencode(b), 2) == 0 and a.read_text() == "b"


def races(tmp):
    """Names that are links at one look and files at the next: neither is read nor written through."""
    if not can_swap(tmp):
        skip("races", "names cannot be exchanged here")
        return
    secret = pathlib.Path(tmp, "race-secret")
    secret.mkdir()
    for name in ("meminfo", "os-release", "swappiness", "journal.jsonl", "lock"):
        (secret / name).write_text("7777 SECRET-OF-THIS-MACHINE 7777\n")
    before = snapshot(secret)
    capture = pathlib.Path(tmp, "race-capture")
    shutil.copytree(machine, capture, symlinks=True)
    for place, target in (("proc/meminfo", secret / "meminfo"), ("etc", secret), ("proc/sys/vm", secret)):
        path, link = capture / "root" / place, capture / "root" / f"{place}-swapped"
        if not path.exists():
            continue
        link.symlink_to(target)
        with Swapped(path, link) as swapped:
            for argv in (["show", "--format", "json"], ["check", "--all", "--format", "json"], ["plan", "--format", "json"]) * 2:
                ran = run(*argv, "--host", capture)
                expect(f"{argv[0]} while {place} becomes a link: nothing is read through it",
                       ended(ran) and "SECRET" not in ran.out + ran.err and "7777" not in ran.out, ran)
        expect(f"{place} was swapped", swapped.swaps > 1, swapped.swaps)
        link.unlink()
    # What is written lies below the overlay, or nowhere.
    for place in ("root/proc/sys", "root/var/lib/gputune", "root"):
        overlay = applied(tmp, f"race-{place.replace('/', '-')}")
        path, link = overlay / place, overlay / "swapped"
        if not expect(f"{place} is in an overlay", path.is_dir()):
            continue
        link.symlink_to(secret)
        with Swapped(path, link):
            for verb in (["undo", "--all"], ["apply"], ["undo", "--all"]):
                ran = run(*verb, "--yes", "--host", machine, "--overlay", overlay)
                expect(f"{verb[0]} while {place} becomes a link: it ends", ended(ran), ran)
        link.unlink()
        expect(f"nothing was written where {place} led to", snapshot(secret) == before, snapshot(secret).keys() ^ before.keys())
    # A result replaces the name, whatever it is.
    out, link = pathlib.Path(tmp, "race.prom"), pathlib.Path(tmp, "race.link")
    out.write_text("old")
    link.symlink_to(secret / "meminfo")
    with Swapped(out, link):
        for _ in range(6):
            ran = run(*VERBS["check"], "--format", "prom", "-o", out)
            expect("check -o while its name becomes a link: it ends", ended(ran), ran)
    expect("a collector's file is not written through a link", snapshot(secret) == before)


def exchanged_manifest(tmp):
    """A wheelhouse in another's folder: the manifest that was signed lies there at one look, another one, of other wheels, at the next. And
    one that is a pipe."""
    house, other, name = pathlib.Path(tmp, "house"), pathlib.Path(tmp, "other-house"), "pure_one-2.0-py3-none-any.whl"
    pathlib.Path(tmp, "new").mkdir()
    wheels = pathlib.Path(tmp, name), pathlib.Path(tmp, "new", name)
    for path, files in zip(wheels, ((), [("pure_one/evil.py", b"1")])):
        path.write_bytes(wheel("pure_one", "2.0", files=files))
    if not shutil.which("ssh-keygen") or not can_swap(tmp):
        skip("an exchanged manifest", "without ssh-keygen, or names cannot be exchanged here")
        return
    key, allowed = pathlib.Path(tmp, "key"), pathlib.Path(tmp, "allowed")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    allowed.write_text(f"me@here {key.with_suffix('.pub').read_text()}")
    for argv in (["create", house, "--key", key], ["add", house, wheels[0], "--key", key], ["create", other], ["add", other, wheels[1]]):
        ran = run("stack", "wheelhouse", *argv)
        expect(f"wheelhouse {argv[0]}", ran.code == 0, ran)
    ran = run("stack", "wheelhouse", "verify", house, "--key", allowed)
    expect("a signed wheelhouse is sound", ran.code == 0 and "me@here" in ran.out, ran)
    shutil.copy(wheels[1], house / name)
    shutil.copy(other / "manifest.json", house / "manifest.other")
    with Swapped(house / "manifest.json", house / "manifest.other") as swapped:
        for _ in range(20):
            ran = run("stack", "wheelhouse", "verify", house, "--key", allowed)
            expect("a manifest that is exchanged is never taken for the signed one", ran.code == 1, ran)
    expect("it was exchanged", swapped.swaps > 1, swapped.swaps)
    (other / "manifest.json").unlink()
    os.mkfifo(other / "manifest.json")
    refused("a manifest that is a pipe", run("stack", "wheelhouse", "verify", other))


# --- two at once, clocks -----------------------------------------------------------------------------------------------


def two_at_once(tmp):
    overlay = applied(tmp, "two")
    lock = overlay / "root/var/lib/gputune/lock"
    with open(lock, "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for verb in (["apply", "--profile", "low-latency"], ["undo"]):
            ran = run(*verb, "--yes", "--host", machine, "--overlay", overlay)
            expect(f"{verb[0]} while another one runs", ran.code not in (0, None) and "another gputune" in ran.err, ran)
        expect("status needs no lock", ended(run("status", "--host", machine, "--overlay", overlay)))
    both = pathlib.Path(tmp, "both")
    argv = [gputune, "apply", "--yes", "--host", str(machine), "--overlay", str(both)]
    ran = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=ENV) for _ in range(3)]
    said = [p.communicate(timeout=LIMIT_S)[1].decode() for p in ran]
    codes = [p.returncode for p in ran]
    expect("of three applies one at least comes through, the others say why",
           0 in codes and all(c >= 0 and (c == 0 or s) for c, s in zip(codes, said)), (codes, said))
    watch = subprocess.Popen([gputune, "watch", "--host", str(machine), "--overlay", str(both), "--format", "json", "--interval", "100ms"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    watch.stdout.readline()
    taken_back("three applies, beside a watcher", both)
    watch.terminate()
    watch.communicate(timeout=LIMIT_S)
    expect("the watcher lives on and stops when told", watch.returncode == 0, watch.returncode)


def clocks(tmp):
    overlay = applied(tmp, "clock")
    journal = overlay / "root/var/lib/gputune/journal.jsonl"
    good = journal.read_text()
    for t in (-5, 0, 1, 4102444800, 253402300800, 2 ** 62):
        lines = []
        for line in good.splitlines():
            j = json.loads(line)
            if "time" in j:
                j["time"] = t
            lines.append(json.dumps(j, separators=(",", ":")))
        journal.write_text("\n".join(lines) + "\n")
        for verb in ("status", "history"):
            ran = run(verb, "--host", machine, "--overlay", overlay, "--format", "json")
            expect(f"{verb} of a journal of the second {t}", ended(ran) and ran.out, ran)
    taken_back("a journal of another age", overlay)
    if not preload.exists():
        return
    # Each look at the calendar is decades from the one before; order is by number.
    jumping = {"LD_PRELOAD": str(preload), "CLOCK_JUMPS": "2"}
    overlay = pathlib.Path(tmp, "jumping")
    for at, verb in enumerate(("apply", "undo", "apply")):
        ran = run(verb, "--yes", *(["--all"] if verb == "undo" else []), "--host", machine, "--overlay", overlay,
                  env={**jumping, "CLOCK_JUMPS": str(at)})
        expect(f"{verb} under a clock that jumps", ran.code == 0, ran)
    for verb in ("status", "history"):
        ran = run(verb, "--host", machine, "--overlay", overlay, "--format", "json", env=jumping)
        expect(f"{verb} under a clock that jumps", ended(ran) and json.loads(ran.out), ran)
    for argv in (VERBS["check, JSON"], VERBS["doctor"], ["capture", "--host", machine, "-o", pathlib.Path(tmp, "jumping.tar")]):
        ran = run(*argv, env=jumping)
        expect(f"{argv[0]} under a clock that jumps", ended(ran) and ran.code != NO_MEMORY and not ran.err.startswith("=="), ran)
    taken_back("a clock that jumps", overlay)


def units(_):
    """What a unit of ours may do is little, and stays so."""
    unit = built / "packaging/systemd/gputune-watch.service"
    if not shutil.which("systemd-analyze") or not unit.exists():
        skip("units", "without systemd-analyze, or not built")
        return
    p = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=30", str(unit)], capture_output=True,
                       text=True, check=False)
    score = re.findall(r"level for .*: ([0-9.]+)", p.stdout)
    if not score:
        skip("units", "this systemd-analyze knows no --offline")
        return
    expect("gputune-watch.service: exposure of 3.0 or less", p.returncode == 0 and float(score[0]) <= 3.0, score)


# --- as root, on this kernel, in namespaces ----------------------------------------------------------------------------

STATE = pathlib.Path("/var/lib/gputune")
# One of the list that every network namespace has for itself.
FAST_OPEN = pathlib.Path("/proc/sys/net/ipv4/tcp_fastopen")


def journal_lines(name="net.ipv4.tcp_fastopen"):
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    knob = {"kind": "sysctl", "name": name, "object": ""}
    return "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in (
        {"t": "begin", "txn": 1, "op": "apply", "boot": boot, "time": 1, "user": "test"},
        {"t": "intend", "txn": 1, "seq": 1, "id": "nic.mtu", "target": "", "before": "3", "after": "1", "knob": knob, "place": "",
         "sides": []}, {"t": "done", "txn": 1, "seq": 1, "read": "1"}, {"t": "end", "txn": 1, "result": "applied"}))


def sh(*argv):
    subprocess.run(list(map(str, argv)), check=True, stdout=subprocess.DEVNULL)


def fresh():
    """An empty /var, with our folder as it should be; the sysctl as the journal left it."""
    subprocess.run(["umount", "-l", "/var"], stderr=subprocess.DEVNULL, check=False)
    sh("mount", "-t", "tmpfs", "-o", "mode=755", "none", "/var")
    STATE.mkdir(parents=True, mode=0o700)
    os.chmod(STATE, 0o700)
    (STATE / "journal.jsonl").write_text(journal_lines())
    FAST_OPEN.write_text("1")


def untouched(what, ran, words=""):
    refused(f"{what}: refused", ran)
    expect(f"{what}: says why", words in ran.err, ran)
    expect(f"{what}: nothing was written", FAST_OPEN.read_text().strip() == "1", FAST_OPEN.read_text())


def others_folder():
    evil = pathlib.Path("/var/evil")
    fresh()
    ran = run("undo", "--yes")
    expect("undo of our own works here", ran.code == 0 and FAST_OPEN.read_text().strip() == "3", ran)
    for what in ("a link", "writable by all", "owned by another program or user"):
        fresh()
        if what == "a link":
            STATE.rename(evil)
            STATE.symlink_to(evil)
        elif what == "writable by all":
            os.chmod(STATE, 0o777)
        else:
            os.chown(STATE, 4242, 4242)
        before = (STATE / "journal.jsonl").read_bytes()
        untouched(f"the state folder is {what}", run("undo", "--yes"), "not trusted")
        for verb in ("status", "history", "verify"):
            ran = run(verb)
            expect(f"the state folder is {what}: {verb} says so", ran.code == 5 and "not trusted" in ran.err, ran)
        expect(f"the state folder is {what}: the journal is as it was", (STATE / "journal.jsonl").read_bytes() == before)


def no_name_of_ours():
    """A journal that names what no setting writes: an unreadable change, named and left alone."""
    ttl = pathlib.Path("/proc/sys/net/ipv4/ip_default_ttl")
    core = pathlib.Path("/proc/sys/kernel/core_pattern")
    pattern = core.read_text().strip()
    for name, path, now in (("net.ipv4.ip_default_ttl", ttl, "1"), ("kernel.core_pattern", core, pattern)):
        fresh()
        ttl.write_text("1")
        # Of the one that all namespaces share before and after are what is there.
        text = journal_lines(name) if path == ttl else journal_lines(name).replace('"3"', json.dumps(pattern)).replace('"1"', json.dumps(pattern))
        (STATE / "journal.jsonl").write_text(text)
        for argv in (["undo", "--yes", "--all"], ["undo", "--yes", "--all", "--force"], ["undo", "--yes", "1"], ["undo", "--yes", "--only", "nic.mtu"]):
            ran = run(*argv)
            expect(f"{name}, {' '.join(argv)}: code 4, named", ran.code == 4 and "nic.mtu" in ran.out and "cannot read the journal line" in ran.out, ran)
            expect(f"{name}, {' '.join(argv)}: not written", path.read_text().strip() == now, path.read_text())
        ran = run("status")
        expect(f"{name}: status names it", ran.code and "nic.mtu" in ran.out, ran)


def others_journal():
    journal = STATE / "journal.jsonl"
    for what in ("a pipe", "a device", "a folder", "endless", "a link for the lock"):
        fresh()
        if what != "a link for the lock":
            journal.unlink()
        if what == "a pipe":
            os.mkfifo(journal)
        elif what == "a device":
            journal.symlink_to("/dev/zero")
        elif what == "a folder":
            journal.mkdir()
        elif what == "endless":
            with open(journal, "wb") as f:
                f.truncate(600 << 20)
        else:
            (STATE / "lock").symlink_to("/var/made-by-a-link")
        ran = run("undo", "--yes", limits=[(resource.RLIMIT_AS, 2 << 30)])
        expect(f"the journal is {what}: it ends", ended(ran) and (ran.err or ran.out), ran)
        expect(f"the journal is {what}: nothing was written", FAST_OPEN.read_text().strip() == "1")
        expect(f"the journal is {what}: status ends", ended(run("status", limits=[(resource.RLIMIT_AS, 2 << 30)])))
    expect("no file was made through the link", not os.path.exists("/var/made-by-a-link"))


def others_wrote():
    """A journal that somebody else can have written is not believed: undo and apply refuse with the command that mends it, and who
    only looks is told."""
    journal, other = STATE / "journal.jsonl", STATE / "other"
    for what, spoil, mends in (("of another user", lambda: os.chown(journal, 4242, 0), f"chown root: {journal}"),
                               ("writable by a group", lambda: os.chmod(journal, 0o660), f"chmod 600 {journal}"),
                               ("writable by all", lambda: os.chmod(journal, 0o602), f"chmod 600 {journal}"),
                               ("known by two names", lambda: os.link(journal, other), f"cp -p {journal} {journal}.one && mv {journal}.one {journal}"),
                               ("a link", lambda: (journal.rename(other), journal.symlink_to(other)), None)):
        fresh()
        spoil()
        before = journal.read_bytes()
        for argv in (["undo", "--yes"], ["undo", "--all", "--force", "--yes"], ["undo", "--dry-run"], ["apply", "--yes", "--only", "net.tcp-fastopen"],
                     ["persist", "install", "--yes"], ["persist", "remove", "--yes"]):
            untouched(f"the journal is {what}: {' '.join(argv)}", run(*argv), "not trusted")
        for verb in ("status", "history", "verify"):
            ran = run(verb)
            expect(f"the journal is {what}: {verb} says so", ran.code == 5 and "not trusted" in ran.err, ran)
        ran = run("status", "--format", "json")
        expect(f"the journal is {what}: JSON has the exit code", json.loads(ran.out)["exit_code"] == ran.code == 5, ran)
        expect(f"the journal is {what}: it is as it was", journal.read_bytes() == before)
        if mends:
            expect(f"the journal is {what}: the hint mends it", f"to trust it, run: {mends}\n" in run("undo", "--yes").err, run("undo", "--yes"))
            sh("sh", "-c", mends)
            ran = run("undo", "--yes")
            expect(f"the journal is {what}: then undo works", ran.code == 0 and FAST_OPEN.read_text().strip() == "3", ran)


def in_memory():
    """A journal that a reboot takes away: said by who writes to it, and by status while it holds something."""
    lost = "is in memory (tmpfs)"
    fresh()
    expect("status says that the journal is lost at a reboot", lost in run("status").err)
    ran = run("undo", "--yes")
    expect("undo has nothing to warn of", ran.code == 0 and lost not in ran.err, ran)
    expect("nor has status when nothing is held", lost not in run("status").err)
    FAST_OPEN.write_text("1")
    ran = run("apply", "--yes", "--profile", "published", "--only", "net.tcp-fastopen")
    expect("apply says so", ran.code == 0 and lost in ran.err and "1 change made" in ran.out, ran)
    expect("a second one changes nothing and warns of nothing", lost not in run("apply", "--yes", "--profile", "published", "--only", "net.tcp-fastopen").err)
    run("undo", "--all", "--yes")
    shutil.rmtree(STATE)
    ran = run("apply", "--yes", "--profile", "published", "--only", "net.tcp-slow-start-after-idle")
    expect("also where the folder is still to be made", ran.code == 0 and lost in ran.err and STATE.is_dir(), ran)
    run("undo", "--all", "--yes")


def fill(path):
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 1024):
                pass
        except OSError:
            pass


def no_room():
    fresh()
    sh("mount", "-t", "tmpfs", "-o", "mode=700,size=16k", "none", STATE)
    (STATE / "journal.jsonl").write_text(journal_lines())
    fill(STATE / "filler")
    ran = run("undo", "--yes")
    # What is undone without a line about it is undone again: the same value.
    expect("undo on a full disk says so or has room", ended(ran) and (ran.code == 0 or "No space left" in ran.err), ran)
    os.unlink(STATE / "filler")
    ran = run("undo", "--yes")
    expect("with room again it is undone", FAST_OPEN.read_text().strip() == "3", ran)
    out = STATE / "capture.tar"
    ran = run("capture", "--host", machine, "-o", out)
    expect("a capture that has no room", ended(ran) and ran.code and "No space left" in ran.err, ran)
    expect("leaves nothing behind", sorted(p.name for p in STATE.iterdir()) == ["journal.copy.jsonl", "journal.jsonl", "lock", "status.jsonl"], list(STATE.iterdir()))
    fill(STATE / "filler")
    ran = run("bench", "memory-latency/16KiB", "--runs", "3", "--format", "json")
    expect("a result that has no room is printed and said", ran.code == 5 and "No space left" in ran.err and
           json.loads(ran.out)["exit_code"] == 5, ran)
    sh("umount", STATE)
    sh("mount", "-t", "tmpfs", "-o", "mode=700,size=16k", "none", STATE)
    fill(STATE / "filler")
    FAST_OPEN.write_text("1")
    ran = run("apply", "--yes", "--profile", "published", "--only", "net.tcp-fastopen")
    expect("no room for the first line of a journal: nothing is changed", ran.code == 3 and "No space left" in ran.err and "must record a change there before making it" in ran.err and
           pathlib.Path("/proc/sys/net/ipv4/tcp_fastopen").read_text().strip() == "1", ran)
    sh("umount", STATE)


def not_root():
    """Whoever may not change the machine is refused with one code by all that would."""
    fresh()
    program = shutil.copy(gputune, "/var/gputune")
    os.chmod(program, 0o755)
    for argv in (["apply"], ["undo"], ["persist", "install"], ["persist", "remove"]):
        p = subprocess.run([program, *argv, "--yes"], capture_output=True, text=True, timeout=LIMIT_S, cwd="/", env=ENV, check=False,
                           stdin=subprocess.DEVNULL, user=65534, group=65534, extra_groups=[])
        expect(f"not root: {' '.join(argv)}", p.returncode == 3 and "Permission denied" in p.stderr and "sudo" in p.stderr, Ran(p.returncode, p.stdout, p.stderr))


def no_var():
    fresh()
    sh("mount", "-o", "remount,ro", "none", "/var")
    untouched("/var is read-only", run("undo", "--yes"), "read-only")
    ran = run("undo", "--yes")
    expect("/var is read-only: the folder is named, and what helps", f"{STATE} is on a read-only file system" in ran.err and "findmnt" in ran.err, ran)
    ran = run("apply", "--yes", "--profile", "published", "--only", "net.tcp-fastopen")
    expect("/var is read-only: apply too", ran.code == 3 and "read-only file system" in ran.err, ran)
    expect("status reads it", ended(run("status")))
    sh("umount", "-l", "/var")
    sh("mount", "-t", "tmpfs", "-o", "mode=755", "none", "/var")
    for argv in (["status"], ["undo", "--yes"], ["history"], VERBS["check"], ["bench", "history"]):
        ran = run(*argv)
        expect(f"without /var/lib: {argv[0]}", ended(ran) and (ran.out or ran.err), ran)


def read_only_root():
    """Nothing at all can be written but to the kernel: what needs a journal is refused, looking works."""
    fresh()
    sh("mount", "-o", "remount,ro", "none", "/var")
    sh("mount", "--rbind", "/", "/mnt")
    sh("mount", "-o", "remount,ro,bind", "/mnt")
    sh("mount", "--bind", "/proc", "/mnt/proc")

    def below(*argv):
        p = subprocess.run(["chroot", "/mnt", gputune, *map(str, argv)], capture_output=True, text=True, timeout=LIMIT_S, env=ENV, check=False,
                           stdin=subprocess.DEVNULL)
        return Ran(p.returncode, p.stdout, p.stderr)

    if os.path.ismount("/tmp") or not below("--version").out:
        skip("a read-only root", "the program does not lie on the root file system")
    else:
        untouched("all is read-only", below("undo", "--yes"), "read-only")
        for argv in (["status"], ["history"], ["check", "--host", machine], ["list"]):
            ran = below(*argv)
            expect(f"all is read-only: {argv[0]}", ended(ran) and ran.out, ran)
        ran = below("check", "--host", machine, "-o", "/result")
        expect("all is read-only: -o says so", ran.code in (2, 5) and "ead-only" in ran.err, ran)
        refused("all is read-only: capture", below("capture", "--host", machine, "-o", "/capture.tar"))
    sh("umount", "-l", "/mnt")


def swapped_state():
    """The state folder is ours at one look and a link to somebody else's at the next: only ours is believed, only ours is written."""
    evil, link = pathlib.Path("/var/evil"), pathlib.Path("/var/lib/link")
    fresh()
    evil.mkdir(mode=0o755)
    (evil / "journal.jsonl").write_text(journal_lines().replace('"before":"3"', '"before":"2"'))
    os.chown(evil, 4242, 4242)
    link.symlink_to(evil)
    before = snapshot(evil)
    with Swapped(STATE, link) as swapped:
        for _ in range(12):
            for argv in (["undo", "--yes"], ["status"]):
                ran = run(*argv)
                expect(f"{argv[0]} while the state folder is swapped: it ends", ended(ran), ran)
            expect("no value of the other folder's is written", FAST_OPEN.read_text().strip() in ("3", "1"), FAST_OPEN.read_text())
    expect("it was swapped", swapped.swaps > 1, swapped.swaps)
    expect("nothing was written into the other folder", snapshot(evil) == before, snapshot(evil).keys())
    ran = run("undo", "--yes")
    expect("afterwards ours is undone", FAST_OPEN.read_text().strip() == "3", ran)


def swapped_library():
    """A library is root's at one look and another user's at the next, by a link in that user's environment: never the other one is loaded."""
    stub = built / "tests/stub/libraries"
    libraries = [stub / "libnccl.so.2", stub / "older/libnccl.so.2"]
    if not all(p.exists() for p in libraries):
        skip("a library that is swapped", "this build has no stand-ins")
        return
    fresh()
    home = pathlib.Path("/var/home")
    folder = home / "lib/python3.12/site-packages/nvidia/nccl/lib"
    folder.mkdir(parents=True)
    (home / "pyvenv.cfg").touch()
    for name, library in zip(("good", "evil"), libraries):
        pathlib.Path("/var", name).mkdir()
        shutil.copy(library, f"/var/{name}/libnccl.so.2")
    (folder / "libnccl.so.2").symlink_to("/var/good/libnccl.so.2")
    (folder / "other").symlink_to("/var/evil/libnccl.so.2")
    for path in ("/var/evil", "/var/evil/libnccl.so.2"):
        os.chown(path, 4242, 4242)

    def loaded():
        ran = run("stack", "check", "--deep", "--env", home, "--gpu", "sm_90", "--format", "json")
        if not expect("stack check --deep ends", ended(ran) and ran.out, ran):
            return None
        return [i["loaded_version"] for i in json.loads(ran.out)["items"] if i["path"].startswith(str(folder))]

    own = loaded()
    expect("root's own is asked", own and own[0], own)
    with Swapped(folder / "libnccl.so.2", folder / "other") as swapped:
        seen = {v for _ in range(20) for v in loaded() or ()}
    expect("it was swapped", swapped.swaps > 1, swapped.swaps)
    expect("nothing of another user's is loaded as root", seen <= {own[0], None}, (own, seen))


def jumping_clock():
    """The calendar of this machine is decades off, and another one at each look: order is by number, and what was is undone."""
    if not preload.exists():
        return
    journal, years = STATE / "journal.jsonl", set()
    for at in range(4):
        fresh()
        env = {"LD_PRELOAD": str(preload), "CLOCK_JUMPS": str(at)}
        ran = run("undo", "--yes", env=env)
        expect(f"undo under a clock that jumps ({at})", ran.code == 0 and FAST_OPEN.read_text().strip() == "3", ran)
        years |= {1970 + j["time"] // 31556952 for j in map(json.loads, journal.read_text().splitlines()[4:]) if "time" in j}
        for verb in ("status", "history"):
            ran = run(verb, "--format", "json", env=env)
            expect(f"{verb} under a clock that jumps ({at})", ended(ran) and json.loads(ran.out), ran)
    expect("the clock did jump", len(years) > 2, years)


def inside():
    others_folder()
    no_name_of_ours()
    others_journal()
    others_wrote()
    in_memory()
    swapped_state()
    swapped_library()
    jumping_clock()
    no_room()
    not_root()
    no_var()
    read_only_root()


def namespaces():
    argv = ["unshare", "--mount", "--net", "--propagation", "private"]
    if os.geteuid() or not shutil.which("unshare"):
        return "not root, or without unshare"
    if subprocess.run([*argv, "sh", "-c", "mount -t tmpfs none /var && test -w /proc/sys/net/ipv4/tcp_fastopen"],
                      capture_output=True, check=False).returncode:
        return "no namespaces can be made here"
    p = subprocess.run([*argv, sys.executable, os.path.abspath(__file__), gputune, "--inside", os.readlink("/proc/self/ns/mnt")], stdout=subprocess.PIPE, text=True,
                       timeout=600, check=False)
    *said, last = p.stdout.splitlines() or [""]
    for line in said:
        print(line)
    counts = re.match(r"(\d+) passed, (\d+) failed", last)
    good, bad = map(int, counts.groups()) if counts else (0, 1)
    tally[True] += good
    tally[False] += bad
    return ""


if __name__ == "__main__":
    if "--inside" in sys.argv:
        if os.readlink("/proc/self/ns/mnt") == sys.argv[-1] or sys.argv[-1] == "--inside":
            sys.exit("--inside is for a namespace of its own: it mounts over /var")
        inside()
    else:
        with tempfile.TemporaryDirectory() as folder:
            for part in (no_memory, limits, signals, handed_down, said_of_others, edited_plan, said_of_a_capture, files, links_out, races,
                         exchanged_manifest, two_at_once, clocks, units):
                part(folder)
        why = namespaces()
        if why:
            skip("as root on this kernel", f"{why}")
    end_suite()
