#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Debian package's scripts do when it is removed and purged, with the program itself: a journal that holds a change, or
that cannot be read, outlives both; without anything left nothing stays.

    debian.py GPUTUNE

Needs root and namespaces of its own for /etc, /var/lib, /usr/local/bin and the network's sysctls; without them it is a visible skip.
"""
import os
import pathlib
import shutil
import subprocess
import sys

from common import end_suite, expect, finish, gputune, root, skip, start

ENV = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
STATE, REQUEST = pathlib.Path("/var/lib/gputune"), pathlib.Path("/etc/gputune/boot.json")
JOURNAL, PROGRAM = STATE / "journal.jsonl", pathlib.Path("/usr/local/bin/gputune")
VALUE = pathlib.Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle")  # every network namespace has its own
ONLY = ("--profile", "published", "--only", "net.tcp-slow-start-after-idle", "--yes")


def run(*argv):
    code, out, err = finish(start(*argv, env=ENV))
    return code, out + err


def script(name, *argv):
    return run("sh", root / f"debian/gputune.{name}", *argv)


def fresh():
    shutil.rmtree(STATE, ignore_errors=True)
    shutil.rmtree("/etc/gputune", ignore_errors=True)
    shutil.copy(gputune, PROGRAM)
    os.chmod(PROGRAM, 0o755)
    VALUE.write_text("1")


def gone(what, told=""):
    """Removed and purged: nothing is said but told, and nothing stays."""
    code, said = script("prerm", "remove")
    expect(f"{what}: removing says nothing", code == 0 and said == told, (code, said))
    code, said = script("postrm", "purge")
    expect(f"{what}: nothing is left after a purge", code == 0 and not said and not STATE.exists(), (code, said))


def stays(what, *words):
    """Removed and purged: both name what is left, and the journal is there to the byte."""
    before, value = JOURNAL.read_bytes() if JOURNAL.exists() else None, VALUE.read_text()
    code, said = script("prerm", "remove")
    expect(f"{what}: removing tells it, and how to take it back", code == 0 and "stays as it is" in said and "undo --all" in said and
           all(w in said for w in words), (code, said))
    code, said = script("postrm", "remove")
    expect(f"{what}: and keeps it", code == 0 and STATE.exists(), (code, said))
    code, said = script("postrm", "purge")
    expect(f"{what}: a purge tells it and keeps the journal", code == 0 and "is kept" in said and all(w in said for w in words) and
           (JOURNAL.read_bytes() if JOURNAL.exists() else None) == before, (code, said))
    expect(f"{what}: no value changed", VALUE.read_text() == value)


def applied():
    fresh()
    code, said = run("gputune", "apply", *ONLY)
    expect("apply", code == 0 and VALUE.read_text().strip() == "0", (code, said))


def damaged(text):
    """One byte of the line that says what was changed."""
    return text.replace('"t":"intend"', '"t";"intend"', 1)


def cases():
    fresh()
    gone("a machine that was never changed")
    pathlib.Path("/etc/gputune").mkdir()
    pathlib.Path("/etc/gputune/watch.conf").write_text("[watch]\n")
    gone("only the watcher's file")
    expect("which goes too", not pathlib.Path("/etc/gputune").exists())
    applied()
    stays("a change held", "net.tcp-slow-start-after-idle")
    expect("the next installation takes it back", run("gputune", "undo", "--all", "--yes")[0] == 0 and VALUE.read_text().strip() == "1")
    gone("a change taken back")
    applied()
    for path in (JOURNAL, JOURNAL.with_name("journal.copy.jsonl")):
        path.write_text(damaged(path.read_text()))
    code, said = run("gputune", "status", "--exit-code")
    expect("a line that cannot be read: status says so by its code", code in (4, 5), (code, said))
    stays("a line that cannot be read", "unreadable")
    applied()
    expect("undo", run("gputune", "undo", "--yes")[0] == 0)
    JOURNAL.write_text(JOURNAL.read_text() + "no line of ours\n")
    stays("a line of somebody else's", "unreadable")
    fresh()
    code, said = run("gputune", "persist", "install", *ONLY)
    expect("persist install", code == 0 and REQUEST.exists(), (code, said))
    stays("files for the next boot", "net.tcp-slow-start-after-idle")
    JOURNAL.unlink()
    stays("files for the next boot, without a journal", "net.tcp-slow-start-after-idle")
    for name, text in (("is not there", None), ("does not start", "#!/bin/sh\nexit 127\n"), ("is killed", "#!/bin/sh\nkill -9 $$\n"),
                       ("says what it always said", "#!/bin/sh\necho No change of gputune is in effect.\nexit 1\n")):
        applied()
        run("gputune", "undo", "--yes")
        PROGRAM.unlink()
        if text:
            PROGRAM.write_text(text)
            os.chmod(PROGRAM, 0o755)
        stays(f"a program that {name}")
    applied()
    run("gputune", "undo", "--yes")
    script("prerm", "remove")
    os.utime(STATE / "nothing-left", (1, 1))
    code, said = script("postrm", "purge")
    expect("a journal that was added to since is kept", code == 0 and JOURNAL.exists() and "was not looked at" in said, (code, said))
    applied()
    before = sorted(p.name for p in STATE.iterdir())
    code, said = script("prerm", "upgrade", "1.0")
    expect("an upgrade does nothing", code == 0 and not said and sorted(p.name for p in STATE.iterdir()) == before, (code, said))


def inside():
    for argv in (["-t", "tmpfs", "-o", "mode=755", "none", "/var/lib"], ["-t", "tmpfs", "-o", "mode=755", "none", "/usr/local/bin"]):
        subprocess.run(["mount", *argv], check=True)
    os.makedirs("/var/lib/layers/up")
    os.makedirs("/var/lib/layers/work")
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", "lowerdir=/etc,upperdir=/var/lib/layers/up,workdir=/var/lib/layers/work", "/etc"],
                   check=True)
    if sys.argv[2:] == ["--can"]:
        VALUE.write_text(VALUE.read_text())
        sys.exit(0)
    cases()
    end_suite()


def in_namespaces(word):
    return subprocess.run(["unshare", "--mount", "--net", "--propagation", "private", sys.executable, os.path.abspath(__file__), gputune, word],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE if word == "--can" else None, text=True, timeout=600, check=False)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        inside()
    if os.geteuid() or not shutil.which("unshare") or in_namespaces("--can").returncode:
        skip("Debian's scripts", "not root, or no namespaces and overlays can be made here")
        end_suite()
    done = in_namespaces("--inside")
    print(done.stdout, end="")
    sys.exit(done.returncode)
