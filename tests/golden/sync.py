#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wheelhouse onto another machine by the real ssh: a server with keys of its own in a network and a home of their own. By rsync, by
sftp where either side has no rsync, cut off in the middle and gone on with, and refused where the other side is not who it was.

    sync.py GPUTUNE
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import common
from common import end_suite, expect, no_namespaces, scratch, skip, tally, until
from stack_files import wheel

HERE, SIZE, CUT = "127.0.0.1", 6 << 20, 2 << 20
NAME = "big-1.0-py3-none-any.whl"
# In there home is empty: a Python of the user's own is not found.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# Stands between the connection and what it is for, and lets every byte through at once.
BETWEEN = """#!{python} -S
import os, pathlib, signal, sys

cut, come = pathlib.Path("{tmp}/cut"), open("{tmp}/came", "ab", 0)
left = int(cut.read_text()) if cut.exists() else -1
if left > 0:
    cut.write_text(str(left - 1))
elif left == 0:
    cut.unlink()
holder, (r, w) = os.getppid(), os.pipe()
if os.fork():
    os.dup2(r, 0)
    os.close(w)
    os.execv("{real}", ["{real}", *sys.argv[1:]])
os.close(r)
os.close(1)
os.close(2)
n = 0
while data := os.read(0, 1 << 16):
    n += len(data)
    if left == 0 and n > %d:
        os.kill(holder, signal.SIGKILL)
        sys.exit(1)
    come.write(data)
    os.write(w, data)
""" % CUT


def run(*argv):
    return common.run("stack", "wheelhouse", *argv, seconds=60, start_new_session=True)


def says(what, argv, code, *words):
    common.says(what, ["stack", "wheelhouse", *argv], code, *words, seconds=60, start_new_session=True)


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)


def connects():
    with socket.socket() as s:
        return s.connect_ex((HERE, 22)) == 0


def server(tmp):
    """sshd for one user, root in here; what it can run lies in tmp/there."""
    for name in ("host", "other", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp / name], check=True)
    there = tmp / "there"
    there.mkdir()
    for name, path in (("gputune", common.gputune), ("sh", "/bin/sh"), ("rsync", tmp / "rsync")):
        os.symlink(path, there / name)
    # A connection that breaks, because who holds it is killed, when so much came through it: after as many whole ones as the file
    # "cut" says. Else what came is counted.
    for name, real in (("rsync", "/usr/bin/rsync"), ("sftp", "/usr/lib/openssh/sftp-server")):
        program(tmp / name, BETWEEN.format(python=PYTHON, tmp=tmp, real=real))
    (tmp / "keys").write_text((tmp / "user.pub").read_text())
    (tmp / "sshd_config").write_text(
        f"Port 22\nListenAddress {HERE}\nHostKey {tmp}/host\nPidFile none\nAuthorizedKeysFile {tmp}/keys\nUsePAM no\n"
        f"PermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nSetEnv PATH={there}\nSubsystem sftp {tmp}/sftp\n")
    home = pathlib.Path("/root/.ssh")
    home.mkdir(mode=0o700)
    shutil.copy(tmp / "user", home / "id_ed25519")
    (home / "id_ed25519").chmod(0o600)
    pathlib.Path("/run/sshd").mkdir(mode=0o755)
    p = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", tmp / "sshd_config"], stderr=open(tmp / "sshd.log", "w"))
    until(lambda: p.poll() is not None or connects())
    return p


def known(tmp, key):
    """key None: it was never seen."""
    path = pathlib.Path("/root/.ssh/known_hosts")
    path.unlink(missing_ok=True)
    if key:
        path.write_text(f"{HERE} {(tmp / (key + '.pub')).read_text()}")


def strangers(tmp, house):
    for what, key, words in (("another machine with that address", "other", "REMOTE HOST IDENTIFICATION HAS CHANGED"),
                             ("a machine that was never seen", None, "Host key verification failed")):
        known(tmp, key)
        target = tmp / f"stranger-{key}"
        says(what, ["sync", house, f"{HERE}:{target}"], 3, words, "ssh could not reach")
        expect(f"{what}: nothing is there", not target.exists())
    known(tmp, "host")
    keys = (tmp / "keys").read_text()
    (tmp / "keys").write_text("")
    says("a key that is not let in", ["sync", house, f"{HERE}:{tmp}/refused"], 3, "Permission denied", "ssh could not reach")
    (tmp / "keys").write_text(keys)


def came(tmp):
    """Bytes that came over since the last question."""
    path = tmp / "came"
    n = path.stat().st_size if path.exists() else 0
    path.unlink(missing_ok=True)
    return n


def cut_and_on(tmp, house, way, newer):
    there = tmp / f"by-{way}"
    target = f"{HERE}:{there}"
    came(tmp)
    # The first time it is asked whether there is an rsync, or what is there.
    (tmp / "cut").write_text("1")
    says(f"{way}: cut off", ["sync", house, target], 3, "run it again to resume")
    if way == "rsync":
        expect(f"{way}: cut off: no manifest yet", there.exists() and not (there / "manifest.json").exists())
    parts = [p.stat().st_size for p in there.iterdir() if NAME in p.name]
    expect(f"{way}: cut off: a part is there", len(parts) == 1 and SIZE / 8 < parts[0] < SIZE, parts)
    came(tmp)
    says(f"{way}: going on", ["sync", house, target], 0)
    n = came(tmp)
    expect(f"{way}: only the rest was sent", parts and 0 < n < SIZE - parts[0] / 2, (n, parts))
    says(f"{way}: it is what it was", ["diff", house, there], 0, "the same wheels")
    says(f"{way}: nothing to do", ["sync", house, target], 0)
    n = came(tmp)
    expect(f"{way}: nothing to do: nothing was sent", n < 1 << 17, n)
    # The other side has an older one of that name; a reader has one whole manifest or the other.
    says(f"{way}: a newer one", ["update", house, newer], 0, "replaced")
    says(f"{way}: a newer one is sent", ["sync", house, target], 0)
    says(f"{way}: a newer one is there", ["diff", house, there], 0, "the same wheels")
    expect(f"{way}: no part is left", not [p.name for p in there.iterdir() if p.name.startswith(".gputune")], list(there.iterdir()))
    (there / NAME).write_bytes((there / NAME).read_bytes()[:-1])
    says(f"{way}: what was damaged there is mended", ["sync", house, target], 0)


def inside():
    tmp = scratch("sync")
    p = server(tmp)
    try:
        blob = os.urandom(SIZE)
        for n, more in (("a", b""), ("b", b"more"), ("c", b"more and more")):
            (tmp / n).mkdir()
            (tmp / n / NAME).write_bytes(wheel("big", "1.0", files=[("big/blob.bin", blob), ("big/x.py", more)]))
        house = tmp / "house"
        says("create", ["create", house], 0)
        says("add", ["add", house, tmp / "a" / NAME], 0, "added")
        strangers(tmp, house)
        cut_and_on(tmp, house, "rsync", tmp / "b" / NAME)
        says("back to the first", ["update", house, tmp / "a" / NAME], 0)
        (tmp / "there/rsync").unlink()
        cut_and_on(tmp, house, "sftp", tmp / "c" / NAME)
        # Nor here.
        subprocess.run(["mount", "--bind", "/dev/null", "/usr/bin/rsync"], check=True)
        says("no rsync on either side", ["sync", house, f"{HERE}:{tmp}/neither"], 0)
        says("no rsync and another folder", ["sync", house, tmp / "beside"], 2, "rsync")
        (tmp / "there/gputune").unlink()
        says("nobody there to verify it", ["sync", house, f"{HERE}:{tmp}/unseen"], 5, "could not be verified on that machine")
        left = [x for x in os.listdir("/tmp") if x.startswith(("gputune-sftp", "gputune-signer"))]
        expect("nothing is left behind", not left, left)
    finally:
        p.terminate()
        p.wait()
        if tally[False]:
            print((tmp / "sshd.log").read_text()[-1500:])


if "--inside" in sys.argv:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt"], check=True)
    common.gputune = shutil.copy2(common.gputune, "/mnt")  # it may lie below /root
    for place in ("/root", "/run"):
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    inside()
    end_suite()
missing = [x for x in ("/usr/sbin/sshd", "/usr/bin/rsync", "/usr/bin/sftp") if not os.path.exists(x)]
why = ", ".join(missing) or no_namespaces("ip")
if why:
    skip("sync", why)
    end_suite()
os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private", PYTHON, os.path.abspath(__file__), common.gputune,
                      "--inside"])
