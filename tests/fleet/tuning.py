# SPDX-License-Identifier: Apache-2.0
"""One job of two hosts behind a sshd each, started by ssh: what slows it is planted on both, found by one command, switched on both at once, and
taken back, also where one of them is killed. Fast only if both queues of listeners are long enough: 8 connections to each."""
import json
import os
import signal
import subprocess
import time

import hosts

PLANTED = {"net.core.somaxconn": "1", "net.ipv4.tcp_slow_start_after_idle": "1", "net.ipv4.tcp_fastopen": "1"}
ONLY = "net.somaxconn,net.tcp-slow-start-after-idle,net.tcp-fastopen"
JOB = f"""import os, socket, threading, time
me = int(os.environ["RANK"])
own, other = [f"{hosts.NET}.{{r + 1}}" for r in (me, 1 - me)]
crowd, word = [socket.create_server((own, p), backlog=128) for p in (7100, 7101)]


def answer():
    go.wait()
    for c in [crowd.accept()[0] for _ in range(8)]:
        c.sendall(c.recv(1))


go = threading.Event()
threading.Thread(target=answer, daemon=True).start()
for _ in range(3000):
    try:
        link = socket.create_connection((other, 7101))
        break
    except OSError:
        time.sleep(0.01)
peer, _ = word.accept()
for _ in range(4):
    link.sendall(bytes(1 << 18))
    peer.recv(1 << 18, socket.MSG_WAITALL)
began = time.monotonic()
time.sleep(0.5)
cs = [socket.socket() for _ in range(8)]
for c in cs:
    c.setblocking(False)
    c.connect_ex((other, 7100))
time.sleep(0.1)
go.set()
for c in cs:
    c.setblocking(True)
    c.sendall(b"x")
for c in cs:
    c.recv(1)
link.sendall(b"d")
peer.recv(1)
print(f"seconds: {{time.monotonic() - began:.4f}}")
peer.shutdown(socket.SHUT_WR)
link.recv(1)
"""


def begin(fleet, work, gputune, *argv):
    """One process on each host by ssh."""
    ps = []
    for i in range(len(fleet.hosts)):
        env = {"RANK": i, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": f"{hosts.NET}.1", "MASTER_PORT": 29571,
               "TORCHELASTIC_RUN_ID": "tuning"}
        line = " ".join([*(f"{k}={v}" for k, v in env.items()), str(gputune), *argv])
        ps.append(subprocess.Popen(fleet.controller.argv("ssh", "-i", f"{work}/key", "-o", f"UserKnownHostsFile={work}/known", "-o", "BatchMode=yes",
                                                         f"root@{hosts.NET}.{i + 1}", line),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return ps


def end(ps):
    """(code, output, errors) of each."""
    out = [p.communicate(timeout=1500) for p in ps]
    return [(p.returncode, *o) for p, o in zip(ps, out)]


def kill(host, gputune):
    """SIGKILL for the program on that host, and for nothing that it has started; how many there were."""
    found = 0
    for pid in hosts.run("ip", "netns", "pids", host.name).stdout.split():
        try:
            if os.path.samefile(f"/proc/{pid}/exe", gputune):
                os.kill(int(pid), signal.SIGKILL)
                found += 1
        except OSError:
            pass
    return found


def killed(t, fleet, work, gputune, argv, before):
    """The second host's is killed while a change is set: the first undoes all, the second with the next command, and the run goes on."""
    taped = fleet.hosts[0].root / "var/lib.up/gputune/tune.jsonl"
    ps = begin(fleet, work, gputune, *argv)
    until = time.monotonic() + 300
    while ps[0].poll() is None and time.monotonic() < until and not (
            taped.exists() and taped.read_bytes().count(b"\n") > 10 and fleet.hosts[1].sysctl("net.core.somaxconn") != PLANTED["net.core.somaxconn"]):
        time.sleep(0.02)
    found = kill(fleet.hosts[1], gputune)
    one, two = end(ps)
    t("killed on one host: the other says so and ends", found and one[0] == 5 and "disappeared" in one[2] and "--resume" in one[2], (found, one, two))
    t("killed on one host: undone on the other at once", values(fleet.hosts[0]) == before[0], values(fleet.hosts[0]) ^ before[0])
    left = values(fleet.hosts[1]) ^ before[1]
    t("killed on one host: a change is left there", left, left)
    said = fleet.hosts[1].enter(gputune, "status", check=False)
    t("killed on one host: status says so there", "interrupted" in said.stdout + said.stderr, said)
    done = fleet.hosts[1].enter(gputune, "undo", "--yes", check=False)
    left = values(fleet.hosts[1]) ^ before[1]
    t("killed on one host: undone there by the next command", not left and done.returncode == 0, (left, done))


def test(t, gputune, arm, work):
    fleet = hosts.Fleet(work, 2)
    try:
        both(t, fleet, work, gputune)
    finally:
        fleet.close()


def values(host):
    """All that this namespace has of its own, but what the kernel draws by chance."""
    lines = host.enter("sysctl", "-a", "--pattern", "^net[.]").stdout.splitlines()
    return {x for x in lines if not any(word in x for word in ("fastopen_key", "hash_seed", "neigh.e0"))}


def both(t, fleet, work, gputune):
    job, token = f"{work}/job.py", f"{work}/token"
    for path, text in ((job, JOB), (token, "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=\n")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    os.chmod(token, 0o600)
    for h in fleet.hosts:
        for name, value in PLANTED.items():
            h.sysctl(name, value)
    before = [values(h) for h in fleet.hosts]
    how = ["--settle", "50ms", "--yes", "--token", token, "--format", "json"]
    killed(t, fleet, work, gputune, ["tune", "--for", f"'python3 {job}'", "--metric", "'seconds: ([0-9.]+)'", "--better", "lower", "--only", ONLY,
                                     "--skip", "env", "--timeout", "60s", "--seed", "7", *how], before)
    one, two = end(begin(fleet, work, gputune, "tune", "--resume", *how))
    try:
        j = json.loads(one[1])
        items = {i["id"]: i for i in j["items"] if i["state"] != "not-tried"}
        why = j["proof"]["why"]
    except (ValueError, TypeError):
        return t("tuned over ssh", False, (one, two))
    t("what slows both hosts is found", j["proof"]["verdict"] == "helps" and items["net.somaxconn"]["state"] == "kept", (why, items))
    t("what does nothing is not kept", not any(i["state"] == "kept" for k, i in items.items() if k != "net.somaxconn"), items)
    t("kept on both hosts", [h.sysctl("net.core.somaxconn") for h in fleet.hosts] == ["4096"] * 2, [h.sysctl("net.core.somaxconn") for h in fleet.hosts])
    t("rank 0 alone speaks", two[0] == 0 and not two[1], two)
    print(f"     {j['before']} s before, {j['after']} s after, {j['proof']['effect']}, {len(j['proof']['windows'])} runs")
    undone = [h.enter(gputune, "undo", "--yes", check=False) for h in fleet.hosts]
    changed = [sorted(values(h) ^ was) for h, was in zip(fleet.hosts, before)]
    t("undone on both, every value as it was", not any(changed) and not any(u.returncode for u in undone), (changed, undone))
