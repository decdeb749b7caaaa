#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench serve and the network benches as a user meets them: between two network namespaces (where they can be made, which needs
root) and over loopback; wrong tokens and addresses; a peer that is killed or pulled out; Ctrl-C on either side; data that never left the
machine. Judges no figure, but that nothing hangs and nothing is left."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import common
from common import copy_of, end_suite, expect, finish, fits, running, scratch, skip, until
from terminal import OnTerminal

tmp = scratch("net")
gputune = copy_of(common.gputune, tmp)
A, B = f"gt-a{os.getpid()}", f"gt-b{os.getpid()}"


def token(name, text="a secret that both machines know\n", mode=0o600):
    path = tmp / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


good = token("token")


def start(*argv, ns=None):
    return common.start(*inside(ns), gputune, *argv)


def run(*argv, ns=None):
    return finish(start(*argv, ns=ns), 60)


def says(what, argv, code, *words, ns=None):
    got, out, err = run(*argv, ns=ns)
    expect(what, got == code and all(w in err + out for w in words), (got, (err + out)[:600]))


def inside(ns):
    return ["ip", "netns", "exec", ns] if ns else []


def measuring(*argv, ns=None):
    """The measuring side, when it has its first samples."""
    p = OnTerminal(inside(ns) + [gputune, "bench", *argv, "--token", good, "--state", str(tmp / "state")])
    expect(f"it measures {argv}", p.says(b" samples, "), p.seen[-300:])
    return p


def serve(*argv, ns=None):
    """A server and the address that it says it listens on."""
    p = start("bench", "serve", *argv, ns=ns)
    line = p.stdout.readline()
    m = re.match(r"listening on (\S+?),? ?(for this.*)?$", line.strip())
    expect(f"serve {argv}", m is not None, (line, p.stderr.read() if p.poll() is not None else ""))
    return p, m.group(1) if m else "127.0.0.1:1"


def end(p, what="serve ends at SIGTERM", sig=signal.SIGTERM):
    p.send_signal(sig)
    try:
        out, err = p.communicate(timeout=10)
        expect(what, p.returncode == 0, (p.returncode, out, err))
        return out
    except subprocess.TimeoutExpired:
        p.kill()
        expect(what, False, "it hangs")
        return ""


def measure(what, *argv, ns=None, code=0):
    got, out, err = run("bench", *argv, "--format", "json", "--state", str(tmp / "state"), ns=ns)
    j = fits(what, out, "bench", (got, err))
    bad = [c["error"] for c in j["cases"] if c.get("error") or not c["verified"]] if j else ["no result"]
    expect(what, got == code and (code != 0 or not bad), (got, bad, err))
    return j


# --- words ------------------------------------------------------------------------------------------------------------------------------

says("serve without a token", ["bench", "serve"], 2, "--token")
says("a short token", ["bench", "serve", "--token", token("short", "0123456789\n")], 2, "10 bytes", "16")
says("a token for everybody", ["bench", "serve", "--token", token("open", mode=0o644)], 2, "others", "0644", "chmod 600")
says("no token there", ["bench", "serve", "--token", str(tmp / "none")], 2, "No such file")
says("a folder as token", ["bench", "serve", "--token", str(tmp)], 2, "not a regular file")
for address in ("", "nowhere", "127.0.0.1:99999", "127.0.0.1:x", "[::1"):
    says(f"address {address!r}", ["bench", "serve", "--listen", address, "--token", good], 2, "gputune:")
for address in ("0.0.0.0", "[::]:0"):
    says(f"address {address}", ["bench", "serve", "--listen", address, "--token", good], 5, "every address")
says("an address of nobody here", ["bench", "serve", "--listen", "192.0.2.1:0", "--token", good], 5, "cannot listen")
says("serve with a word more", ["bench", "serve", "now", "--token", good], 2, "no argument")
says("no peer", ["bench", "tcp", "--state", str(tmp / "state")], 2, "--peer", "bench serve")
# What can be known wrong is said before anything is measured, and nothing is kept of it.
for words, *said in ((["--peer", "127.0.0.1"], "--token"), (["--peer", "127.0.0.1", "--token", str(tmp / "none")], "No such file"),
                     (["--peer", "127.0.0.1:x", "--token", good], "is not an address"), (["--peer", ""], "--peer is empty"),
                     (["--peer", "127.0.0.1", "--token", ""], "--token is empty")):
    says(f"bench {words}", ["bench", "tcp/send:1", *words, "--state", str(tmp / "state")], 2, *said)
expect("nothing is kept of it", not (tmp / "state").exists(), list((tmp / "state").glob("**/*")))
free = socket.socket()
free.bind(("127.0.0.1", 0))
says("nobody listens", ["bench", "tcp/send:1", "--peer", f"127.0.0.1:{free.getsockname()[1]}", "--token", good, "--state",
                        str(tmp / "state")], 1, "nothing listens", "nothing was measured. Not saved.")
expect("nothing is kept where nothing was measured", not (tmp / "state").exists(), list((tmp / "state").glob("**/*")))
# Who asks for a file by its name gets it: a program reads there why.
code, out, err = run("bench", "tcp/send:1", "tcp-latency/64B", "--peer", f"127.0.0.1:{free.getsockname()[1]}", "--token", good, "--state",
                     str(tmp / "state"), "--json", str(tmp / "why.json"))
j = json.loads((tmp / "why.json").read_text())
expect("but said where it was asked for", code == 1 and j["exit_code"] == 1 and all("nothing listens" in c["error"] for c in j["cases"]) and
       not (tmp / "state").exists(), (code, out, err))
free.close()

# --- over loopback ----------------------------------------------------------------------------------------------------------------------

j = measure("over loopback", "tcp/loopback:send:1", "tcp-latency/loopback:64B", "tcp-connect/loopback:", "tcp-idle/loopback:",
            "--runs", "3")
expect("five cases", j and len(j["cases"]) == 5, j and [c["case"] for c in j["cases"]])
p, address = serve("--listen", "127.0.0.1:0", "--token", good)
measure("with a server", "tcp/send:4", "tcp/receive:1", "--peer", address, "--token", good, "--runs", "3")
says("another token", ["bench", "tcp/send:1", "--peer", address, "--token", token("other", "another secret of some length"), "--state",
                       str(tmp / "state")], 1, "a different token", "Not saved")
port = int(address.rsplit(":", 1)[1])
for noise in (b"GET / HTTP/1.0\r\n\r\n" + b"x" * 64, bytes(64), b"gputune\n" + bytes(56), b"\xff" * 4096):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(noise)
        try:
            while s.recv(4096):
                pass
            expect(f"noise {noise[:8]} is hung up on", True)
        except ConnectionResetError:
            expect(f"noise {noise[:8]} is hung up on", True)
        except TimeoutError:
            expect(f"noise {noise[:8]} is hung up on", False, "still open after 10 s")
slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
measure("while others dawdle", "tcp-latency/64B", "--peer", address, "--token", good, "--runs", "2")
for s in slow:
    s.close()

# The measuring side is killed; the server serves the next one.
measuring("tcp/send:4", "--peer", address, "--for", "60s").end(signal.SIGKILL)
measure("after a client that was killed", "tcp/send:1", "--peer", address, "--token", good, "--runs", "2")

# Ctrl-C on the measuring side: what was measured is kept, and marked.
c = measuring("tcp/receive:1", "--peer", address, "--for", "60s", "--format", "json")
code, out = c.end(signal.SIGINT)
try:
    j = json.loads(out)
    expect("Ctrl-C keeps what there is", code == 5 and j["partial"] and not j["cases"][0].get("error") and
           j["cases"][0]["verified"], (code, j["partial"], j["cases"][0].get("error"), c.seen[-300:]))
except ValueError:
    expect("Ctrl-C keeps what there is", False, (code, out[:300], c.seen[-300:]))

# The serving side ends, or is killed, while it measures.
for what, sig in (("ends", signal.SIGINT), ("is killed", signal.SIGKILL)):
    c = measuring("tcp/send:1", "--peer", address, "--for", "60s")
    if sig == signal.SIGKILL:
        p.kill()
        p.communicate()
    else:
        log = end(p, "serve ends at Ctrl-C, in the middle", sig)
        expect("the server's log", "measures" in log and "does not have the token" in log and
               "closed the connection" in log, log)
    code, out = c.end()
    expect(f"the peer {what}", code == 1 and address in out + c.seen.decode(), (code, out[-400:], c.seen[-300:]))
    if sig != signal.SIGKILL:
        p, address = serve("--listen", "127.0.0.1:0", "--token", good)

# A killed measurement over loopback takes its child along.
before = len(running(gputune))
c = start("bench", "tcp/loopback:send:1", "--for", "30s", "--state", str(tmp / "state"))
expect("a child while it measures", until(lambda: len(running(gputune)) == before + 2), running(gputune))
c.kill()
c.communicate()
expect("no child afterwards", until(lambda: len(running(gputune)) == before), running(gputune))


# --- two namespaces ---------------------------------------------------------------------------------------------------------------------


def ip(*argv):
    return subprocess.run(["ip", *argv], capture_output=True, text=True).returncode == 0


def two_machines():
    # The second link carries the address of the first namespace's own second interface.
    return (shutil.which("ip") and os.geteuid() == 0 and ip("netns", "add", A) and ip("netns", "add", B) and
            ip("link", "add", "gt0", "netns", A, "type", "veth", "peer", "name", "gt0", "netns", B) and
            all(ip("-n", ns, "addr", "add", f"10.98.0.{i}/24", "dev", "gt0") and
                ip("-n", ns, "addr", "add", f"fd98::{i}/64", "dev", "gt0", "nodad") and
                ip("-n", ns, "link", "set", "gt0", "up") and ip("-n", ns, "link", "set", "lo", "up")
                for ns, i in ((A, 1), (B, 2))))


def between():
    p, address = serve("--listen", "10.98.0.2", "--token", good, ns=B)
    j = measure("between namespaces", "tcp", "tcp-latency", "tcp-connect", "tcp-idle", "--peer", address, "--token", good, "--runs", "3",
                ns=A)
    names = {c["case"] for c in j["cases"]} if j else set()
    expect("all cases", {"send:1", "receive:4", "mtu:576", "mtu:1280", "64B", "handshake", "fast-open", "1MiB"} <= names and
           "mtu:1500" not in names, names)
    expect("the interface is named", j and all("gt0" in c["placement"] and "10.98.0.2" in c["placement"] for c in j["cases"]), "")
    for ns in (A, B):
        subprocess.run(inside(ns) + ["sysctl", "-qw", "net.ipv4.tcp_fastopen=3"], check=True)
    j = measure("fast open", "tcp-connect/fast-open", "--peer", address, "--token", good, "--runs", "5", ns=A)
    share = j and next(f for f in j["cases"][0]["figures"] if f["key"] == "fast")["median_percent"]
    expect("requests leave with the first packet", share and share > 90, share)
    # The wire is pulled out in the middle: said in time, though no packet tells of it.
    c = measuring("tcp/send:1", "--peer", address, "--for", "10m", ns=A)
    ip("-n", B, "link", "set", "gt0", "down")
    code, out = c.end(seconds=120)
    expect("a peer that vanished", code == 1 and "10.98.0.2" in out, (code, out[-300:]))
    end(p, "a server whose client vanished ends")
    ip("-n", B, "link", "set", "gt0", "up")
    ip("-n", B, "addr", "add", "fd98::2/64", "dev", "gt0", "nodad")
    p, address = serve("--listen", "[fd98::2]:0", "--token", good, ns=B)
    measure("over IPv6", "tcp/send:1", "--peer", address, "--token", good, "--runs", "3", ns=A)
    end(p)
    # Both ends on one machine: the address is an interface's, but nothing goes through it.
    p, address = serve("--listen", "10.98.0.1:0", "--token", good, ns=A)
    says("it never left the machine", ["bench", "tcp/send:1", "--peer", address, "--token", good, "--for", "1s", "--state",
                                       str(tmp / "state")], 1, "took another path", "gt0", "void", ns=A)
    end(p)


try:
    if two_machines():
        between()
    else:
        skip("two machines", "no network namespaces here")
finally:
    for name in (A, B):
        ip("netns", "del", name)
expect("no process is left", until(lambda: not running(gputune)), running(gputune))
end_suite()
