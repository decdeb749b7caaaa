#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user who is not root sees of what root changed, and where that user's own things go. In namespaces of its own."""
import os
import pathlib
import shutil
import subprocess

import common
from common import alone, end_suite, expect, no_namespaces, refuses, run, says, scratch, skip

STATE = pathlib.Path("/var/lib/gputune")
ONE = "net.tcp-slow-start-after-idle"


def nobody(home, **env):
    return dict(user=65534, group=65534, extra_groups=[], cwd="/", env={"HOME": str(home), "PATH": os.environ["PATH"], **env})


def changes(user):
    says("nothing was changed yet", ["status"], 0, "no change", **user)
    code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes", "--reason", "hush-hush")
    if not expect("root changes something", code == 0, (code, out, err)):
        return
    modes = {p.name: p.stat().st_mode & 0o777 for p in STATE.iterdir()}
    expect("the status file is everybody's, all else root's", modes.pop("status.jsonl") == 0o644 and set(modes.values()) == {0o600}, modes)
    text = (STATE / "status.jsonl").read_text()
    expect("neither who nor why", "hush-hush" not in text and '"user":null' in text, text)
    for argv in (["status"], ["verify"]):
        mine, roots = run(*argv, "--format", "csv", **user), run(*argv, "--format", "csv")
        expect(f"{argv[0]}: a user sees what root sees", mine[0] == roots[0] == 0 and mine[1] == roots[1] and ONE in mine[1], (mine, roots))
    says("history, and what only root sees", ["history"], 0, "published", "shown to root only", **user)
    says("persist diff", ["persist", "diff"], 1, "/etc/sysctl.d", **user)
    says("persist status", ["persist", "status"], 0, **user)
    says("undo as a dry run", ["undo", "--dry-run"], 0, ONE, **user)
    refuses("undo itself is root's", ["undo", "--yes"], 3, "only root", **user)
    refuses("so is the journal", ["journal", "check"], 5, "only root", **user)


def stale(user):
    journal = STATE / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"t":"')
    says("a change that is under way is said", ["status"], 5, "is older than the journal", ONE, **user)
    journal.write_bytes(whole)
    says("and no more when it is over", ["status"], 0, ONE, **user)
    good = (STATE / "status.jsonl").read_bytes()
    (STATE / "status.jsonl").write_bytes(b"garbage\n")
    refuses("a status file of somebody else's making", ["status"], 5, "Permission denied", "sudo", **user)
    (STATE / "status.jsonl").write_bytes(good.replace(b'"format":2', b'"format":9'))
    refuses("one of a newer version", ["status"], 5, "sudo", **user)
    (STATE / "status.jsonl").write_bytes(good.replace(b'"after":"0"', b'"after":"1"'))
    says("a line that was altered is no line", ["status"], 4, "could not be read", **user)
    (STATE / "status.jsonl").unlink()
    refuses("none: it is root's", ["status"], 5, "the journal is root's", **user)
    os.chmod(STATE, 0o700)
    refuses("a folder of an earlier version", ["status"], 5, "the journal is root's", **user)
    code, out, err = run("undo", "--yes")
    expect("root's next change opens it", code == 0 and STATE.stat().st_mode & 0o777 == 0o755, (code, out, err, oct(STATE.stat().st_mode)))
    says("and nothing is held", ["status"], 0, "no change", **user)


def full(user):
    """A disk that is full, where the journal just fits."""
    shutil.rmtree(STATE)
    STATE.mkdir(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k,mode=755", "none", STATE], check=True)
    (STATE / "ballast").write_bytes(b"x" * 4096)
    code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes")
    now = run("status", **user)
    expect("a full disk: refused, or said to be stale, or shown", code in (2, 3, 4) or now[0] == 5 or ONE in now[1], (code, err, now))
    (STATE / "ballast").unlink()
    run("undo", "--all", "--yes")
    says("when there is room again it is true again", ["status"], 0, **user)
    subprocess.run(["umount", STATE], check=True)


why = no_namespaces("ip")
if why:
    skip("a user's hour", why)
    end_suite()
alone()
tmp = scratch()
os.chmod(tmp, 0o755)
home = pathlib.Path(tmp) / "home"
home.mkdir()
os.chown(home, 65534, 65534)
# The folder that the program was built in may be closed to others.
here = nobody(home)
here["program"] = shutil.copy(common.gputune, f"{tmp}/gputune")
changes(here)
stale(here)
full(here)
end_suite()
