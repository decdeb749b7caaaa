#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The watcher as a process: on a captured machine that takes writes, changed by hand while it runs.

watch.py GPUTUNE
"""
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from common import built, end_suite, expect, gputune, machines, no_namespaces, root, run, skip, snapshot, validate

SWAP = "root/proc/sys/vm/swappiness"


class Watch:
    """One watcher over one overlay; its lines are read as they come."""

    def __init__(self, machine, overlay, *options, env=None):
        self.buf = b""
        self.p = subprocess.Popen(
            [gputune, "watch", "--host", machine, "--overlay", overlay, "--format", "json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})

    def line(self, seconds=30.0):
        """The next line as JSON, checked against the schema; None when none comes."""
        end = time.monotonic() + seconds
        while b"\n" not in self.buf:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                return None
            got = os.read(self.p.stdout.fileno(), 65536)
            if not got:
                return None
            self.buf += got
        text, _, self.buf = self.buf.partition(b"\n")
        line = json.loads(text)
        validate(line, "watch")
        return line

    def stop(self, sig=signal.SIGTERM):
        """The exit code, the lines that were left, and what it said. It does not wait for its next look at everything."""
        self.p.send_signal(sig)
        out, err = self.p.communicate(timeout=40)
        rest = [json.loads(x) for x in (self.buf + out).decode().splitlines()]
        return self.p.returncode, rest, err.decode()


def put(path, text):
    """In one write where the file is, as a kernel's file changes: nobody sees it empty in between."""
    data = text.encode()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
    os.close(fd)


def prepare(tmp, name, *only):
    machine, overlay = f"{tmp}/{name}", f"{tmp}/{name}.over"
    shutil.copytree(machines / name, machine, symlinks=True)
    code, _, err = run("apply", "--host", machine, "--overlay", overlay, "--yes", "--quiet",
                       *(["--only", ",".join(only)] if only else []))
    expect(f"{name}: applied", code == 0, err)
    return machine, overlay


def changed_by_hand(machine, overlay):
    w = Watch(machine, overlay, "--interval", "1s")
    first = w.line()
    expect("started", first and first["event"] == "started" and first["id"] is None, first)
    before = snapshot(overlay)
    put(f"{overlay}/{SWAP}", "60\n")
    got = w.line()
    expect("a change by hand is a line", got and (got["event"], got["id"], got["from"], got["to"], got["wanted"]) ==
           ("changed", "memory.swappiness", "10", "60", "10"), got)
    expect("it has a transaction and a sentence", got and got["transaction"] == 1 and "10 became 60" in got["sentence"], got)
    if got and got["via"] == "fanotify":
        expect("who did it", got["who"]["pid"] == os.getpid(), got)
    put(f"{overlay}/{SWAP}", "10\n")
    got = w.line()
    expect("its return is a line", got and got["event"] == "returned", got)
    code, rest, err = w.stop()
    expect("SIGTERM ends it, clean", code == 0 and not err, (code, err))
    expect("its last line", [x["event"] for x in rest] == ["stopped"], rest)
    expect("nothing was written or undone", snapshot(overlay) == before)


def quiet(what, w):
    """Told twice to read its configuration again, it has looked at everything in between: nothing else had to be said."""
    for _ in range(2):
        w.p.send_signal(signal.SIGHUP)
        got = w.line()
        expect(what, got and got["event"] == "reloaded", got)


def own_transactions(machine, overlay):
    w = Watch(machine, overlay, "--interval", "1s")
    w.line()
    code, _, err = run("undo", "--host", machine, "--overlay", overlay, "--yes", "--quiet", "--only", "memory.swappiness")
    expect("undone while it runs", code == 0, err)
    quiet("that is no change of somebody's", w)
    put(f"{overlay}/{SWAP}", "77\n")
    quiet("what is not ours is not watched", w)
    code, _, err = run("apply", "--host", machine, "--overlay", overlay, "--yes", "--quiet", "--only", "memory.swappiness")
    expect("applied while it runs", code == 0, err)
    quiet("that is none either", w)
    put(f"{overlay}/{SWAP}", "55\n")
    got = w.line()
    expect("from then on it is watched", got and got["to"] == "55" and got["from"] == "10", got)
    w.stop()
    put(f"{overlay}/{SWAP}", "10\n")


def policies(machine, overlay):
    conf = pathlib.Path(machine, "root/etc/gputune/watch.conf")
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text("[memory.swappiness]\npolicy = re-apply\nlimit = 1\n")
    w = Watch(machine, overlay, "--interval", "1s")
    w.line()
    put(f"{overlay}/{SWAP}", "60\n")
    got = w.line()
    expect("set again", got and got["event"] == "reapplied" and got["policy"] == "re-apply", got)
    expect("it is", pathlib.Path(overlay, SWAP).read_text().strip() == "10")
    put(f"{overlay}/{SWAP}", "61\n")
    got = w.line()
    expect("no fight", got and got["event"] == "gave-up" and "reverted each time by" in got["sentence"], got)
    conf.write_text("[memory.swappiness]\npolicy = maybe\n")
    w.p.send_signal(signal.SIGHUP)
    got = w.line()
    expect("a wrong policy is named, and the old one stays", got and got["event"] == "trouble" and ":2:" in got["sentence"], got)
    conf.write_text("[memory.swappiness]\npolicy = report\n")
    w.p.send_signal(signal.SIGHUP)
    events = [(w.line() or {}).get("event") for _ in range(2)]
    expect("SIGHUP reads it again", events == ["reloaded", "changed"], events)
    code = w.stop(signal.SIGINT)[0]
    expect("SIGINT too", code == 0)
    conf.write_text("[watch]\nnope = 1\n")
    code, out, err = run("watch", "--host", machine, "--overlay", overlay, "--once")
    expect("a wrong policy keeps it from starting", code == 2 and "watch.conf:2:" in err and "nope" in err, (code, err))
    conf.unlink()


def once(machine, overlay):
    base = ("watch", "--host", machine, "--overlay", overlay)
    code, out, _ = run(*base, "--once")
    expect("--once with a change", code == 1 and "10 became 61" in out, (code, out))
    put(f"{overlay}/{SWAP}", "10\n")
    code, out, _ = run(*base, "--once")
    expect("--once without", code == 0 and "started" in out and "changed" not in out, (code, out))
    put(f"{overlay}/{SWAP}", "44\n")
    code, out, _ = run(*base, "--once", "--only", "net")
    expect("--only", code == 0, (code, out))
    code, out, _ = run("watch", "--host", machine, "--once", "--policy", "re-apply")
    expect("a capture without an overlay has nothing that is ours", code == 0, (code, out))
    code, out, _ = run(*base, "--once", "--policy", "re-apply")
    expect("--policy re-apply", "was re-applied" in out and pathlib.Path(overlay, SWAP).read_text().strip() == "10", (code, out))
    for words, says in ((("--policy", "fight"), "fight"), (("--interval", "soon"), "soon"), (("--only", "nope"), "nope"),
                        (("--format", "html"), "html")):
        code, out, err = run(*base, "--once", *words)
        expect(f"{words} is refused", code == 2 and says in err, (code, err))


def service(machine, overlay, tmp):
    path = f"{tmp}/notify"
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(5)
    w = Watch(machine, overlay, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000000"})
    seen = [s.recv(4096).decode() for _ in range(4)]
    expect("READY=1 and a status first", seen[0].startswith("STATUS=") and seen[0].endswith("\nREADY=1"), seen)
    expect("the watchdog is fed", seen[1:] == ["WATCHDOG=1"] * 3, seen)
    w.stop()
    s.close()
    unit = built / "packaging/systemd/gputune-watch.service"
    if not shutil.which("systemd-analyze") or not unit.exists():
        return
    text = re.sub(r"ExecStart=\S+", f"ExecStart={pathlib.Path(gputune).resolve()}", unit.read_text())
    after = " ".join(re.findall(r"^After=(.*)$", unit.read_text(), re.M)).split()
    expect("it looks first when each boot's settings are in force", "gputune-boot.service" in after, after)
    copy = pathlib.Path(tmp, "gputune-watch.service")
    copy.write_text(text.replace("Documentation=man:gputune(1)\n", ""))
    p = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    expect("systemd-analyze verify", p.returncode == 0 and copy.name not in p.stderr, p.stderr)
    p = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=30", copy], capture_output=True, text=True)
    score = [x for x in p.stdout.splitlines() if "Overall exposure" in x]
    expect("systemd-analyze security", p.returncode == 0, (score, p.stderr))


def many():
    """The same change of many CPUs is one line."""
    with tempfile.TemporaryDirectory() as tmp:
        machine, overlay = prepare(tmp, "hgx-h100", "cpu.governor")
        files = sorted(pathlib.Path(overlay, "root/sys/devices/system/cpu/cpufreq").glob("policy*/scaling_governor"))
        expect("many governors were set", len(files) > 100, len(files))
        for f in files:
            put(f, f.read_text().replace("performance", "powersave"))
        code, out, _ = run("watch", "--host", machine, "--overlay", overlay, "--once", "--format", "json")
        lines = [json.loads(x) for x in out.splitlines()]
        for line in lines:
            validate(line, "watch")
        expect("one line for all", code == 1 and len(lines) == 2 and len(lines[1]["targets"]) == len(files), (code, len(lines)))
        for bound in (("--top", "3"), ("--budget", "200"), ("--fields", "event,targets", "--top", "3")):
            code, out, err = run("watch", "--host", machine, "--overlay", overlay, "--once", *bound)
            short = [json.loads(x) for x in out.splitlines()]
            expect(f"{bound}: as many lines, shorter", code == 1 and len(short) == 2 and len(short[1].get("targets", [])) <= 12 and
                   (bound[0] != "--budget" or max(map(len, out.splitlines())) <= 800), (code, out, err))


LIVE = r"""
mount -t sysfs sysfs /sys && ip link set lo up || exit 77
exec "$2" "$1" "$3" watch --format json --interval 60s
"""


def live():
    """This kernel, in namespaces of its own: a link's size is told by netlink, a write to /proc/sys with its writer."""
    why = no_namespaces("ip")
    if why:
        skip("live", why)
        return
    with tempfile.TemporaryDirectory() as tmp:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        lines = [{"t": "begin", "txn": 1, "op": "apply", "boot": boot, "time": 1, "user": "test"}]
        for n, (kind, name, target, value) in enumerate((("link", "mtu", "lo", "65536"),
                                                         ("sysctl", "net.ipv4.tcp_fastopen", "", "1")), 1):
            lines += [{"t": "intend", "txn": 1, "seq": n, "id": "nic.mtu", "target": target, "before": "1500", "after": value,
                       "knob": {"kind": kind, "name": name, "object": target}, "place": "", "sides": []},
                      {"t": "done", "txn": 1, "seq": n, "read": value}]
        lines.append({"t": "end", "txn": 1, "result": "applied"})
        pathlib.Path(tmp, "journal.jsonl").write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines))
        w = Watch.__new__(Watch)
        w.buf = b""
        w.p = subprocess.Popen(["unshare", "--mount", "--net", "sh", "-c", LIVE, "sh", tmp, root / "scripts/own-state", gputune],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = w.line()
        if first is None and w.p.wait() == 77:
            skip("live", "no namespaces here")
        else:
            expect("live: started", first and "2 settings" in first["sentence"], first)
            inside = ["nsenter", "-t", str(w.p.pid), "--net", "--mount"]
            subprocess.run([*inside, "ip", "link", "set", "lo", "mtu", "9000"], check=True)
            got = w.line()
            expect("live: netlink", got and (got["via"], got["from"], got["to"]) == ("netlink", "65536", "9000"), got)
            subprocess.run([*inside, "sh", "-c", "echo 3 >/proc/sys/net/ipv4/tcp_fastopen"], check=True)
            got = w.line()
            expect("live: a write to /proc/sys", got and got["noticed_by"] == "event" and got["to"] == "3", got)
            expect("live: and who", got and (got["via"] != "fanotify" or got["who"]["pid"] > 0), got)
            code, _, _ = w.stop()
            expect("live: stops at once", code == 0, code)


with tempfile.TemporaryDirectory() as tmp:
    machine, overlay = prepare(tmp, "hgx-h100", "memory.swappiness")
    changed_by_hand(machine, overlay)
    own_transactions(machine, overlay)
    policies(machine, overlay)
    once(machine, overlay)
    service(machine, overlay, tmp)
many()
live()
end_suite()
