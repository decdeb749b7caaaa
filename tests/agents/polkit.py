#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans approved through a real polkit: its daemon, the system's D-Bus and pkttyagent run in a root of their own, with the policy and rules that
gputune installs. polkit.py GPUTUNE [FOLDER]: FOLDER keeps the root, which mmdebstrap makes of this machine's release."""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "golden"))
import common  # noqa: E402
from common import PLAIN, end_suite, expect, no_namespaces, run, skip, until  # noqa: E402

INSIDE = "--inside" in sys.argv
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else here.parent.parent / "build-polkit").resolve()
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
ONE = "net.tcp-slow-start-after-idle"
VALUE = pathlib.Path("/proc/sys/net/ipv4/tcp_slow_start_after_idle")
SOCKET = "/run/gputune.sock"
PACKAGES = "dbus,polkitd,pkexec,passwd,libjansson4,libinih1,libsodium23,libmnl0,libsmartcols1"
# Name, number, whether in group sudo. The agent's user, an administrator, and a user whom the site's policy may name.
USERS = (("alice", 2001, False), ("boss", 2002, True), ("carol", 2003, False))
GROUP = 2000
AHEAD_S = 3600  # of the clock that boots begin at 0, so that there is a time before
LIFE_S = 600


# --- a root, and what runs in it -----------------------------------------------------------------

def make_root():
    """Why there is no root to be had; None: folder/root is one."""
    if (folder / "root").exists():
        return None
    if not shutil.which("mmdebstrap"):
        return "there is no mmdebstrap here; scripts/install-deps agents"
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.M)).get("VERSION_CODENAME", "")
    sources = [p for pattern in ("sources.list", "sources.list.d/*.list", "sources.list.d/*.sources") for p in sorted(pathlib.Path("/etc/apt").glob(pattern))]
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "part"
    shutil.rmtree(part, ignore_errors=True)
    p = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", f"--include={PACKAGES}", release, part, *sources],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if p.returncode:
        return "mmdebstrap makes no root here: " + p.stderr.strip()[-300:]
    part.rename(folder / "root")
    return None


def enter():
    """Goes on with that root as ours, below a layer that is thrown away; processes, mounts, network and clocks are our own."""
    merged = folder / "merged"
    for words in (["mount", "-t", "tmpfs", "none", "/run"], ["mkdir", "/run/upper", "/run/work"], ["mkdir", "-p", merged],
                  ["mount", "-t", "overlay", "-o", f"lowerdir={folder}/root,upperdir=/run/upper,workdir=/run/work", "overlay", merged],
                  ["mount", "-t", "proc", "proc", merged / "proc"], ["mount", "--rbind", "/sys", merged / "sys"], ["mount", "--rbind", "/dev", merged / "dev"],
                  ["mount", "-t", "tmpfs", "-o", "mode=755", "none", merged / "run"], ["ip", "link", "set", "lo", "up"]):
        if subprocess.run(words, check=False).returncode:
            skip("polkit", f"{words[0]} {words[-1]} is not possible here")
            end_suite()
    shutil.copy(common.gputune, merged / "usr/bin/gputune")
    packaging = here.parent.parent / "packaging/polkit"
    shutil.copy(packaging / "io.gputune.policy", merged / "usr/share/polkit-1/actions")
    shutil.copy(packaging / "60-gputune.rules", merged / "usr/share/polkit-1/rules.d")
    os.chroot(merged)
    os.chdir("/")
    common.gputune = "/usr/bin/gputune"


def daemons():
    """The system's bus and polkit's daemon."""
    pathlib.Path("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    pathlib.Path("/etc/polkit-1/rules.d").mkdir(parents=True, exist_ok=True)
    subprocess.run(["groupadd", "-g", str(GROUP), "agents"], check=True)
    for name, number, admin in USERS:
        subprocess.run(["useradd", "-m", "-u", str(number), "-G", "agents,sudo" if admin else "agents", name], check=True)
    subprocess.run(["chpasswd"], input="".join(f"{name}:{name}-secret\n" for name, _, _ in USERS), text=True, check=True)
    pathlib.Path("/run/dbus").mkdir()
    subprocess.Popen(["dbus-daemon", "--system", "--nofork", "--nopidfile"], stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists("/run/dbus/system_bus_socket"), 60)
    # The bus starts polkit's daemon for the first who asks.
    until(lambda: subprocess.run(["pkaction", "--action-id", "io.gputune.approve"], capture_output=True).returncode == 0, 60)


# --- users ---------------------------------------------------------------------------------------

def become(name):
    number = next(n for user, n, _ in USERS if user == name)
    os.setgroups(os.getgrouplist(name, number))
    os.setgid(number)
    os.setuid(number)


class Agent:
    """polkit's own, at a terminal: asks for a process of a user's, and gets a password; None: no answer."""

    def __init__(self, name, process, password):
        self.said, self.asked, self.password = b"", 0, password
        read, write = os.pipe()
        os.set_inheritable(write, True)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            become(name)
            os.execve("/usr/bin/pkttyagent", ["pkttyagent", "--process", str(process), "--notify-fd", str(write)], PLAIN)
        os.close(write)
        os.read(read, 1)
        os.close(read)
        self.thread = threading.Thread(target=self.answer, daemon=True)
        self.thread.start()

    def answer(self):
        seen = 0
        with contextlib.suppress(OSError):
            while part := os.read(self.fd, 4096):
                self.said += part
                while (at := self.said.find(b"Password: ", seen)) >= 0:
                    seen, self.asked = at + 1, self.asked + 1
                    if self.password is not None:
                        self.type(self.password)

    def type(self, password):
        # The prompt comes first; what is typed before the terminal stops to echo is thrown away.
        until(lambda: not termios.tcgetattr(self.fd)[3] & termios.ECHO, 60)
        os.write(self.fd, password.encode() + b"\n")

    def end(self):
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        self.thread.join(20)
        os.close(self.fd)


class Client:
    """A process of alice's that is connected to the server. It hands on what it is given; "child" makes a child do so, and ends itself."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            become("alice")
            self.serve(theirs)
        theirs.close()
        self.lines = ours.makefile("rwb")

    @staticmethod
    def serve(to):
        s = socket.socket(socket.AF_UNIX)
        s.connect(SOCKET)
        with to.makefile("rb") as lines, s.makefile("rb") as answers:
            for line in lines:
                if line == b"child\n":
                    if os.fork():
                        os._exit(0)
                    continue
                s.sendall(line)
                to.sendall(answers.readline())
        os._exit(0)

    def begin(self, tool, **arguments):
        self.lines.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": META}}).encode() + b"\n")
        self.lines.flush()

    def read(self):
        return json.loads(self.lines.readline())["result"]

    def call(self, tool, **arguments):
        self.begin(tool, **arguments)
        return self.read()

    def propose(self):
        return self.call("propose", setting=ONE, profile="published")["structuredContent"]["data"]["hash"]

    def agent(self, password):
        return Agent("alice", self.pid, password)

    def end(self):
        self.lines.close()
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def why(result):
    return result["content"][0]["text"]


def is_set():
    return VALUE.read_text() == "0\n"




def rule(result):
    """What the site says of the action; None: nothing. The daemon notices that by itself, so it is asked until it does."""
    path = pathlib.Path("/etc/polkit-1/rules.d/10-site.rules")
    path.unlink(missing_ok=True)
    if result:
        path.write_text('polkit.addRule(function (action, subject) { if (action.id == "io.gputune.approve") return polkit.Result.%s; });\n' % result)
    code = {"YES": 0, "NO": 1}.get(result, 2)
    me = subprocess.Popen(["sleep", "600"], preexec_fn=lambda: become("alice"))
    until(lambda: subprocess.run(["pkcheck", "--action-id", "io.gputune.approve", "--process", str(me.pid)], capture_output=True).returncode == code, 60)
    me.kill()
    me.wait()


# --- what is tried -------------------------------------------------------------------------------

def approved():
    """An administrator's password lets that plan be applied, once."""
    c = Client()
    a = c.agent("boss-secret")
    h = c.propose()
    r = c.call("apply", approved=h)
    expect("applied", not r["isError"] and is_set(), r)
    expect("the administrator was asked, once, and saw which plan", a.asked == 1 and h.encode() in a.said and b"boss" in a.said, a.said)
    expect("used", "was used" in why(c.call("apply", approved=h)) and a.asked == 1, a.said)
    r = c.call("undo", approved=h)
    expect("undone", not r["isError"] and not is_set(), r)
    expect("and not applied again", "was used" in why(c.call("apply", approved=h)) and a.asked == 1 and not is_set(), a.said)
    a.end()
    c.end()


def refused():
    """No agent, a wrong password, no answer, the agent's own user: nothing is applied, and nobody is asked twice."""
    c = Client()
    h = c.propose()
    expect("no agent", "is not approved" in why(c.call("apply", approved=h)))
    a = c.agent("alice-secret")
    expect("the password of who asks", "is not approved" in why(c.call("apply", approved=h)) and a.asked == 1, a.said)
    a.password = "boss-secret"
    expect("a plan is asked about once", "is not approved" in why(c.call("apply", approved=h)) and a.asked == 1, a.said)
    h = c.propose()
    a.password = None
    c.begin("apply", approved=h)
    until(lambda: a.asked == 2, 60)
    a.end()
    expect("the agent ends without an answer", "is not approved" in why(c.read()))
    expect("nothing was changed", not is_set())
    c.end()


def rules():
    """What the site's own rules say of the action."""
    c = Client()
    a = c.agent("boss-secret")
    for result in ("NO", "YES"):
        rule(result)
        expect(f"{result} without a question", "is not approved" in why(c.call("apply", approved=c.propose())) and not a.asked and not is_set(), a.said)
    rule("AUTH_ADMIN_KEEP")
    h = c.propose()
    expect("an approval that is kept", not c.call("apply", approved=h)["isError"] and a.asked == 1, a.said)
    c.call("undo", approved=h)
    expect("holds for no other plan", "is not approved" in why(c.call("apply", approved=c.propose())) and a.asked == 1 and not is_set(), a.said)
    a.end()
    c.end()


def ended():
    """A client whose process ends."""
    c = Client()
    h = c.propose()
    a = c.agent("boss-secret")
    c.lines.write(b"child\n")
    c.lines.flush()
    os.waitpid(c.pid, 0)
    expect("the process that connected has ended", "has ended" in why(c.call("apply", approved=h)) and not a.asked and not is_set(), a.said)
    expect("what reads goes on", not c.call("status")["isError"])
    a.end()
    c.end()
    c = Client()
    a = c.agent(None)
    c.begin("apply", approved=h)
    until(lambda: a.asked, 60)
    c.end()
    a.type("boss-secret")
    until(lambda: not common.children(server.pid), 60)
    expect("it has ended when the administrator answers", a.asked == 1 and not is_set(), a.said)
    a.end()


def later(seconds, *words):
    """A command so many seconds before now, by the clock that boots begin at 0."""
    return subprocess.run(["unshare", "--time", "--fork", "--boottime", str(AHEAD_S - seconds), *words], capture_output=True, text=True, env=PLAIN, check=False)


def bound():
    """To ten minutes, this boot, and this machine."""
    c = Client()
    a = c.agent("boss-secret")
    propose = [common.gputune, "propose", ONE, "--profile", "published", "--format", "json"]
    h = json.loads(later(LIFE_S + 1, *propose).stdout)["hash"]
    expect("after ten minutes it is over", "has expired" in why(c.call("apply", approved=h)) and not a.asked, a.said)
    h = json.loads(later(LIFE_S - 120, *propose).stdout)["hash"]
    boot = pathlib.Path("/run/boot")
    boot.write_text("01234567-89ab-4def-8123-456789abcdef\n")
    subprocess.run(["mount", "--bind", boot, "/proc/sys/kernel/random/boot_id"], check=True)
    expect("another boot", "another machine or boot" in why(c.call("apply", approved=h)) and not a.asked, a.said)
    subprocess.run(["umount", "/proc/sys/kernel/random/boot_id"], check=True)
    machine = pathlib.Path("/etc/machine-id")
    was = machine.read_text()
    machine.write_text("f" * 32 + "\n")
    expect("another machine", "another machine or boot" in why(c.call("apply", approved=h)) and not a.asked, a.said)
    machine.write_text(was)
    plan = pathlib.Path(f"/var/lib/gputune/approvals/{h}.plan")
    text = plan.read_text()
    plan.write_text(text.replace('"after":"0"', '"after":"2"'))
    expect("another plan", "was changed" in why(c.call("apply", approved=h)) and not a.asked and plan.read_text() != text, a.said)
    plan.write_text(text)
    expect("within ten minutes, as it was", not c.call("apply", approved=h)["isError"] and a.asked == 1, a.said)
    c.call("undo", approved=h)
    h = json.loads(later(LIFE_S - 5, *propose).stdout)["hash"]
    a.password = None
    expect("a question ends with its plan", not is_set() and re.search("is not approved|has expired", why(c.call("apply", approved=h))), a.said)
    a.end()
    c.end()


def together():
    """Two clients at once: one of them applies."""
    clients = [Client(), Client()]
    agents = [c.agent("boss-secret") for c in clients]
    h = clients[0].propose()
    for c in clients:
        c.begin("apply", approved=h)
    results = [c.read() for c in clients]
    expect("one of two", sorted(r["isError"] for r in results) == [False, True] and sum(a.asked for a in agents) == 1 and is_set(), results)
    clients[0].call("undo", approved=h)
    for x in (*agents, *clients):
        x.end()


def pkexec(name, password, *words):
    """gputune by pkexec as that user: exit code, what it said, and what the agent did."""
    # pkexec asks for its parent.
    shell = common.start("/bin/sh", "-c", 'read go; "$@"; exit $?', "sh", "pkexec", common.gputune, *words, stdin=subprocess.PIPE, preexec_fn=lambda: become(name))
    a = Agent(name, shell.pid, password)
    out, err = shell.communicate("\n", timeout=120)
    a.end()
    return shell.returncode, out + err, a.said


def own_password():
    """Whom the site's policy names runs apply and undo by pkexec with a password of their own; others need an administrator's."""
    apply = "apply", "--profile", "published", "--only", ONE, "--yes"
    for password, may in (("carol-secret", False), ("boss-secret", True)):
        code, said, asked = pkexec("carol", password, *apply)
        expect(f"no policy: an administrator is asked, and {password} is given", (code == 0) == may == is_set() and b"boss" in asked, (code, said, asked))
    run("undo", "--yes")
    pathlib.Path("/etc/gputune").mkdir(exist_ok=True)
    pathlib.Path("/etc/gputune/policy.ini").write_text("[apply]\nusers = carol\n")
    code, said, asked = pkexec("carol", "carol-secret", *apply)
    expect("who is named gives their own password", code == 0 and is_set() and b"carol" in asked and b"boss" not in asked, (code, said, asked))
    code, said, asked = pkexec("carol", "carol-secret", "undo", "--yes")
    expect("and undoes it", code == 0 and not is_set() and b"carol" in asked, (code, said, asked))
    code, said, asked = pkexec("alice", "alice-secret", *apply)
    expect("who is not named", code and not is_set() and b"boss" in asked, (code, said, asked))
    code, said, asked = pkexec("alice", "boss-secret", *apply)
    expect("nor with an administrator's password", code == 3 and not is_set() and "forbids user alice" in said, (code, said, asked))
    c = Client()
    a = c.agent("carol-secret")
    expect("nobody approves with a password of their own", "is not approved" in why(c.call("apply", approved=c.propose())) and not is_set(), a.said)
    a.end()
    c.end()


if not INSIDE:
    reason = no_namespaces("ip", "mount") or make_root()
    if reason:
        skip("polkit", reason)
        end_suite()
    os.execvp("unshare", [*common.UNSHARE, "--pid", "--fork", "--kill-child", "--time", "--boottime", str(AHEAD_S), sys.executable, os.path.abspath(__file__), common.gputune,
                          str(folder), "--inside"])
enter()
daemons()
server = subprocess.Popen([common.gputune, "mcp", "--allow-changes", "--socket", SOCKET, "--group", "agents"], env=PLAIN)
until(lambda: os.path.exists(SOCKET), 20)
approved()
refused()
ended()
bound()
together()
rules()
own_password()
server.terminate()
expect("the server ends", server.wait(60) == 0)
end_suite()
