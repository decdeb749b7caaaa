#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fence.py PROGRAM: what the process may do that reads what others wrote. Its result goes into a pipe that is full, so that it waits while the
kernel is asked what it holds. And what ssh is: none that the environment names."""
import fcntl
import os
import pathlib
import pty
import subprocess
import sys
import tempfile

from common import built, children, end_suite, expect, machines, root, skip, until

program = pathlib.Path(sys.argv[1]).resolve()
machine = machines / "hgx-h100"
seeds = root / "tests/fuzz/seeds"
# CAP_DAC_READ_SEARCH, or in its place _OVERRIDE
LEFT = 1 << 2 if int(pathlib.Path("/proc/self/status").read_text().partition("CapBnd:")[2].split()[0], 16) & 1 << 2 else 1 << 1
HAS_NOBODY = any(int(a) <= 65534 < int(a) + int(n) for a, _, n in (x.split() for x in pathlib.Path("/proc/self/uid_map").read_text().splitlines()))


def full_pipe():
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(ends[1], False)
    try:
        while os.write(ends[1], b"x" * 512):
            pass
    except BlockingIOError:
        os.set_blocking(ends[1], True)
    return ends


def status(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        return {k: v.split() for k, _, v in (line.partition(":") for line in lines)}
    except OSError:
        return {}


def waits(pid):
    """Children that wait for room in the pipe."""
    for child in children(pid):
        try:
            if "pipe_write" in pathlib.Path(f"/proc/{child}/wchan").read_text():
                return child
        except OSError:
            pass
    return None


def held(argv):
    """Runs it; what its reader holds when it has its result."""
    ends = full_pipe()
    with open("/dev/null") as nothing, tempfile.TemporaryFile() as inherited:
        p = subprocess.Popen([program, *argv], stdout=ends[1], stderr=subprocess.PIPE, stdin=nothing, pass_fds=[inherited.fileno()])
    os.close(ends[1])
    child = until(lambda: waits(p.pid) or p.poll() is not None)
    found = None
    if child and child is not True:
        found = status(child)
        found["sid"] = os.getsid(child)
        found["pid"] = child
        found["writable"] = writable(child)
    with os.fdopen(ends[0], "rb") as f:
        out = f.read().lstrip(b"x")
    err = p.stderr.read()
    p.wait()
    return p.returncode, out, err, found


def writable(pid):
    """Which of its descriptors can write to something that is no pipe."""
    out = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        flags = int(next(x for x in pathlib.Path(f"/proc/{pid}/fdinfo/{fd.name}").read_text().splitlines() if x.startswith("flags")).split()[1], 8)
        if flags & 3 and not os.readlink(fd).startswith("pipe:"):
            out.append(os.readlink(fd))
    return out


def reader(what, argv):
    code, out, err, found = held(argv)
    if not expect(f"{what}: a reader apart", found, (code, out[-200:], err[-300:])):
        return
    expect(f"{what}: its calls are on a list", found["Seccomp"] == ["2"] and found["NoNewPrivs"] == ["1"], found)
    expect(f"{what}: a session of its own", found["sid"] == found["pid"], found)
    expect(f"{what}: no descriptor that writes to a file", not found["writable"], found["writable"])
    if os.geteuid() == 0:
        expect(f"{what}: not root", not HAS_NOBODY or "0" not in found["Uid"] + found["Gid"] and not found["Groups"], found)
        for which in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"):
            expect(f"{what}: {which}", not int(found[which][0], 16) & ~LEFT, found[which])
    expect(f"{what}: it ends", code in range(6) and out, (code, err))


def readers(tmp):
    show = tmp / "show.json"
    show.write_bytes(subprocess.run([program, "show", "--host", machine, "--format", "json"], capture_output=True).stdout)
    plan = tmp / "plan.json"
    subprocess.run([program, "plan", "-o", plan], capture_output=True)
    script = tmp / "job.sh"
    script.write_text("export NCCL_DEBUG=INFO\ntorchrun train.py\n")
    host = ["--host", machine]
    for what, argv in {
        "check": ["check", *host],
        "show": ["show", *host],
        "plan": ["plan", *host],
        "doctor": ["doctor", *host],
        "explain": ["explain", "memory.dirty-ratio", *host],
        "explain, this machine": ["explain", "memory.dirty-ratio"],
        "advise": ["advise", "--model", "llama-3.1-8b", *host],
        "predict": ["predict", "inference", "--model", "llama-3.1-8b", *host],
        "lint": ["lint", script, *host],
        "lint, this machine": ["lint", script],
        "fleet": ["fleet", seeds / "fleet.jsonl", "--format", "json"],
        "bench show": ["bench", "show", seeds / "bench.json"],
        "stack arch": ["stack", "arch", seeds / "stack.so"],
        "stack env": ["stack", "env", "--format", "json", *host],
        "normal": ["normal", "--on", "dgx-spark", root / "tests/data/outputs.txt"],
        "roofline": ["roofline", "--on", "dgx-spark", "--ncu", seeds / "roof.ncu.csv"],
        "stack check": ["stack", "check", "--format", "json", *host],
        "report, this machine": ["report", "--format", "md"],
        "report, a capture": ["report", machine],
        "report, facts": ["report", show],
        "generate": ["generate", "nccl", *host],
        "generate, this machine": ["generate", "nccl"],
        "status": ["status", *host],
        "status, this machine": ["status"],
        "history": ["history", *host],
        "verify": ["verify", *host],
        "verify a plan": ["verify", plan, "--format", "json"],
    }.items():
        reader(what, argv)


def taken_over(tmp):
    """A reader that writes a file and starts a program, in the middle of what it reads."""
    preload = built / "tests/torture/libnomem.so"
    if not preload.exists():
        skip("what a reader cannot do", f"{preload} was not built")
        return
    # Of files alone: what looks at a machine for its reader allocates as well.
    for what, argv in {"check": ["check", "--host", machine], "report": ["report", machine, "-o", tmp / "page"], "fleet": ["fleet", seeds / "fleet.jsonl"]}.items():
        counted, mark = tmp / "count", tmp / "escaped"
        subprocess.run([program, *argv], env={**os.environ, "LD_PRELOAD": str(preload), "NOMEM_COUNT": str(counted)}, capture_output=True)
        (tmp / "page").unlink(missing_ok=True)
        n = max(map(int, counted.read_text().split()))
        for at in (n // 2, n - 5):
            p = subprocess.run([program, *argv], env={**os.environ, "LD_PRELOAD": str(preload), "ESCAPE_AT": str(at), "ESCAPE": str(mark)},
                               capture_output=True, text=True, errors="replace")
            expect(f"{what}, taken over at allocation {at} of {n}", p.returncode == 5 and "reading was stopped" in p.stderr
                   and "escaped" not in p.stdout, p)
            expect(f"{what}: nothing was written", not mark.exists() and not (tmp / "page").exists(), list(tmp.iterdir()))


def outputs(tmp):
    """-o is written by who has no fence, and only then."""
    out = tmp / "out.html"
    p = subprocess.run([program, "report", machine, "-o", out], capture_output=True)
    expect("report -o", out.exists() and out.read_bytes().rstrip().endswith(b"</html>"), p)
    out = tmp / "out.prom"
    p = subprocess.run([program, "check", "--host", machine, "--format", "prom", "-o", out], capture_output=True)
    expect("check -o, replaced as a whole", out.exists() and out.stat().st_size and out.stat().st_uid == os.geteuid(), p)
    expect("nothing beside it", not [x for x in tmp.iterdir() if x.name.startswith(".out")], list(tmp.iterdir()))
    out = tmp / "none"
    p = subprocess.run([program, "check", "--host", tmp / "is-not-there", "-o", out], capture_output=True)
    expect("no result: no file", p.returncode == 2 and not out.exists(), p)


def terminal(tmp):
    """On a terminal the result is the same, with its colours."""
    main, side = pty.openpty()
    p = subprocess.Popen([program, "check", "--host", machine], stdin=side, stdout=side, stderr=side, env={**os.environ, "TERM": "xterm"})
    os.close(side)
    got = b""
    try:
        while part := os.read(main, 65536):
            got += part
    except OSError:
        pass
    p.wait()
    expect("a terminal: colours and lines", p.returncode == 1 and b"\x1b[" in got and got.count(b"\n") > 5, (p.returncode, got[:300]))
    expect("a terminal: nothing replaced", b"\xef\xbf\xbd" not in got, got[:300])


def fake_ssh(tmp):
    """The environment names another ssh, another shell and another library: none of them is taken."""
    bin_ = tmp / "bin"
    bin_.mkdir()
    mark = tmp / "ran"
    for name in ("ssh", "sh", "env"):
        (bin_ / name).write_text(f"#!/bin/bash\necho {name} >>{mark}\n")
        (bin_ / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "SHELL": str(bin_ / "sh"), "SSH_AUTH_SOCK": "/nonexistent/agent"}
    p = subprocess.run([program, "cluster", "discover", "--nodes", "nobody.invalid", "--format", "json", "--timeout", "5s"], env=env, capture_output=True)
    expect("ssh of the caller's PATH is not started", p.returncode and not mark.exists(), (p, mark.exists() and mark.read_text()))
    seen = tmp / "seen"
    node = tmp / "node"
    node.write_text(f"#!/bin/bash\nenv -0 >{seen}\n")
    node.chmod(0o755)
    p = subprocess.run([program, "cluster", "discover", "--nodes", "a", "--rsh", node, "--format", "json", "--timeout", "5s"], env=env, capture_output=True)
    names = {x.split("=")[0]: x for x in seen.read_text().split("\0") if "=" in x} if seen.exists() else {}
    expect("a program by its whole path", names, p)
    expect("its environment is short", set(names) <= {"PATH", "LC_ALL", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK", "KRB5CCNAME", "PWD", "SHLVL", "_"}
           and "SSH_AUTH_SOCK" in names, names)
    expect("its PATH is fixed", str(tmp) not in names.get("PATH", str(tmp)), names)
    p = subprocess.run([program, "cluster", "discover", "--nodes", "a", "--rsh", "bin/ssh", "--format", "json"], env=env, cwd=tmp, capture_output=True)
    expect("a program by a path from here", p.returncode and not mark.exists() and b"cannot start" in p.stdout + p.stderr, p)


with tempfile.TemporaryDirectory() as folder:
    part = pathlib.Path(folder)
    readers(part)
    taken_over(part)
    outputs(part)
    terminal(part)
    fake_ssh(part)
end_suite()
