#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proofs as processes, on this machine in namespaces of their own: planted effects are found with their size, planted
harm too, nothing where there is nothing, and a real effect of a sysctl; whatever ends a proof, killing it included,
the next command puts back what was there.

    prove.py GPUTUNE [PART...]

PROVE_KILLS=N kills that many.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import common
from common import alone, end_suite, expect, fits, gputune, no_namespaces, run, scratch, skip, snapshot, until

python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
KNOB = "/proc/sys/net/ipv4/tcp_fastopen"
RMEM = "/proc/sys/net/ipv4/tcp_rmem"


def read(path):
    return " ".join(pathlib.Path(path).read_text().split())


def result(name, code, out, err):
    j = fits(f"{name}: JSON", out, "prove", err)
    if j:
        expect(f"{name}: exit code", j["exit_code"] == code, (j["exit_code"], code))
    return j


def workload(text):
    """A program of its own; a shell is not needed for it."""
    path = scratch("prove") / "work.py"
    path.write_text(text)
    return f"{python} -S {path}"


QUICK = ("--settle", "5ms", "--yes", "--format", "json")
# Noise differs from run to run of a command, and is the same in each run of this test.
NOISE = """import random
with open(__file__ + ".runs", "a+") as f:
    f.write(".")
    random.seed(f.tell())
"""
LOOK = f"{NOISE}import sys\nset_ = open('{KNOB}').read().strip() == '3'\n"


def prove(name, command, want, *options, setting="net.tcp-fastopen=3"):
    before = read(KNOB), read(RMEM)
    seed = () if "--seed" in options else ("--seed", "1")
    code, out, err = run("prove", setting, "--command", command, *QUICK, *seed, *options)
    j = result(name, code, out, err)
    if j:
        expect(f"{name}: {want}", j["verdict"] == want, (j["verdict"], j["why"], j["effect"], j["same"]))
    expect(f"{name}: all as before", (read(KNOB), read(RMEM)) == before or "--keep" in options)
    return j


def verdicts():
    score = workload(LOOK + "v = 100 * (1.05 if set_ else 1) * random.gauss(1, 0.003)\nprint('done'); print(f'score: {v}')")
    j = prove("planted gain", score, "helps", "--metric", "score: ([0-9.]+)", "--seed", "1")
    if j:
        e = j["effect"]
        expect("planted gain: its size", 1.03 < e["low"] < 1.05 < e["high"] < 1.07, e)
        expect("planted gain: windows", len(j["windows"]) >= 40 and {w["side"] for w in j["windows"]} == {"a", "b"})
    again = prove("planted gain again", score, "helps", "--metric", "score: ([0-9.]+)", "--seed", "1")
    if j and again:
        order = [[(w["part"], w["pair"], w["side"]) for w in x["windows"] if w["part"] == "same"] for x in (j, again)]
        expect("the same seed gives the same order", order[0] == order[1])
    j = prove("less is better", score, "hurts", "--metric", "score: ([0-9.]+)", "--better", "lower")
    expect("less is better: exit code", j and j["exit_code"] == 1)
    data = workload(LOOK + "import json\nprint(json.dumps({'r': [{'v': random.gauss(1, 0.002)}]}))")
    j = prove("nothing", data, "no-difference", "--metric", "json:.r[0].v")
    expect("nothing: what could have been missed", j and j["effect"]["resolution"] < 0.01, j and j["effect"])
    breaks = workload(LOOK + "print('out of memory', file=sys.stderr)\nsys.exit(3 if set_ else 0)")
    j = prove("planted harm", breaks, "hurts")
    expect("planted harm: said", j and "status 3" in j["why"] and "out of memory" in j["why"], j and j["why"])
    noise = workload(LOOK + "print(random.uniform(1, 3))")
    j = prove("noise", noise, "undecided", "--metric", "([0-9.]+)")
    expect("noise: exit code", j and j["exit_code"] == 5 and j["same"]["resolution"] > 0.05, j and j["same"])
    prove("fails without it too", workload("import sys\nsys.exit(1)"), "undecided")


PAIR = """
import socket, struct, time
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
a, _ = s.accept()
"""


def real_effects():
    """Of the kernel's own: what a connection holds when nobody reads, and what idling leaves of its window."""
    holds = workload(PAIR + """
c.setblocking(False)
n, end = 0, time.monotonic() + 0.03
while time.monotonic() < end:
    try:
        n += c.send(bytes(4096))
    except BlockingIOError:
        time.sleep(0.001)
print("held", n)
""")
    j = prove("real: receive buffer of two pages", holds, "hurts", "--metric", "held ([0-9]+)",
              setting="net.tcp-rmem=4096 4096 8192")
    expect("real: receive buffer: size", j and j["effect"]["high"] < 0.9, j and (j["effect"], j["same"]))
    early = workload("""
import socket, struct
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, 23, 8)
s.bind(("127.0.0.1", 0))
s.listen()
for _ in range(2):
    c = socket.socket()
    c.sendto(b"x" * 100, 0x20000000, s.getsockname())
    a, _ = s.accept()
    a.recv(100)
    with_syn = c.getsockopt(socket.IPPROTO_TCP, 11, 104)[5] & 32
    a.close()
    c.close()
print("early", 2 if with_syn else 1)
""")
    j = prove("real: data arrives with the first packet", early, "helps", "--metric", "early ([0-9])")
    expect("real: data arrives with the first packet: size", j and j["effect"]["low"] > 1.9, j and j["effect"])
    prove("real: no effect of the idle window on buffers", holds, "no-difference", "--metric", "held ([0-9]+)",
          setting="net.tcp-slow-start-after-idle=0")


def keep_and_ledger():
    score = workload(LOOK + "print(100 * (1.05 if set_ else 1) * random.gauss(1, 0.003))")
    path = scratch("prove") / "proof.json"
    j = prove("keep", score, "helps", "--metric", "([0-9.]+)", "--keep", "--json", path)
    expect("keep: the file is what was printed", j and json.loads(path.read_text()) == j)
    expect("keep: it is set", j and j["kept"] and read(KNOB) == "3", read(KNOB))
    code, out, _ = run("status", "--format", "json")
    expect("keep: status", code == 0 and len(json.loads(out)["rows"]) == 1, out)
    code, out, _ = run("undo", "--yes")
    expect("keep: undo", code == 0 and read(KNOB) == "1", out)
    rows = [json.loads(x) for x in pathlib.Path("/var/lib/gputune/ledger.jsonl").read_text().splitlines()]
    kept = [r for r in rows if r.get("kept")]
    expect("ledger: rows", rows and len(kept) == 1, len(rows))
    expect("ledger: verdict", kept and kept[0]["setting"] == "net.tcp-fastopen" and kept[0]["verdict"] == "helps", kept)


def refusals():
    for name, argv, code in (
            ("no setting", ["prove", "no.such", "--command", "true"], 2),
            ("nothing to prove", ["prove"], 2),
            ("two of them", ["prove", "net.tcp-fastopen=3", "--command", "true", "--bench", "disk"], 2),
            ("a shell's line", ["prove", "net.tcp-fastopen=3", "--command", "a | b", "--yes"], 2),
            ("a pattern without group", ["prove", "net.tcp-fastopen=3", "--command", "a", "--metric", "x", "--yes"], 2),
            ("a bad effect", ["prove", "net.tcp-fastopen=3", "--command", "true", "--min-effect", "0"], 2),
            ("a bad budget", ["prove", "net.tcp-fastopen=3", "--command", "true", "--time-limit", "soon"], 2),
            ("nobody to ask", ["prove", "net.tcp-fastopen=3", "--command", "true"], 2),
            ("more time as the better", ["prove", "net.tcp-fastopen=3", "--command", "true", "--better", "higher"], 2),
            ("CPUs that are not there", ["prove", "net.tcp-fastopen=3", "--bench", "cpu-frequency/one", "--cpus", "60000", "--dry-run"], 2),
            ("a folder of no name", ["prove", "net.tcp-fastopen=3", "--bench", "disk", "--dir", "", "--dry-run"], 2),
            ("a peer without a token", ["prove", "net.tcp-fastopen=3", "--bench", "tcp", "--peer", "127.0.0.1", "--dry-run"], 2),
            ("as wanted already", ["prove", "net.tcp-fastopen=1", "--command", "true", "--yes"], 5)):
        got, out, err = run(*argv)
        expect(f"refused: {name}", got == code and err, (got, err))
    code, out, err = run("prove", "net.tcp-fastopen=3", "--command", "true", "--yes", "--json", __file__)
    expect("refused: somebody's file", code == 2 and "left unchanged" in err, err)
    before = snapshot("/var/lib/gputune")
    code, out, err = run("prove", "net.tcp-fastopen=3", "--command", "true", "--dry-run")
    expect("a dry run writes nothing", code == 0 and snapshot("/var/lib/gputune") == before, err)
    expect("ten minutes for one", "at most 600 s" in err, err)
    code, out, err = run("prove", "net.tcp-fastopen=3", "net.tcp-slow-start-after-idle=0", "--command", "true", "--dry-run")
    expect("two hours for many", code == 0 and "at most 7200 s" in err, err)
    # It is the settings that count, not the words: one word may be many of them, and --only one.
    code, out, err = run("prove", "net", "--command", "true", "--dry-run")
    expect("one word, many settings", code != 0 or ("at most 7200 s" in err) == ("Switch 1 change" not in err), err)
    code, out, err = run("prove", "net.tcp-fastopen=3", "net.tcp-fastopen=1", "--command", "true", "--dry-run")
    expect("two values for one setting are a usage error", code == 2 and "given twice" in err, (code, err))
    for queue in sorted(pathlib.Path("/sys/block").glob("*/queue/nr_requests")):
        disk, now = queue.parts[3], int(queue.read_text(encoding="ascii"))
        code, out, err = run("prove", f"disk.nr-requests@{disk}={now + 44}", "--command", "true", "--dry-run")
        # Rows round what profiles want; what somebody names is meant as it is.
        if code == 0:
            expect(f"the value that was asked for: {disk}", str(now + 44) in out.split(), out)
    code, out, err = run("prove", "net.tcp-fastopen=3", "--command", "sleep 0.2", "--yes", "--time-limit", "2s")
    expect("too little time", code == 5 and "--time-limit" in out, out)


def start(*options):
    return common.start(gputune, "prove", "net.tcp-fastopen=3", "--command", f"{python} -S -c pass", *QUICK, "--min-effect", "0.01%", *options)


def in_force(seconds=60.0):
    """Waits until a proof has made its change for the first time."""
    until(lambda: read(KNOB) == "3", seconds, 0.001)


def interrupted():
    p = start()
    in_force()
    until(lambda: read(KNOB) != "3", every=0.001)  # it measures both states
    in_force()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    j = result("Ctrl-C", p.returncode, out, err)
    expect("Ctrl-C: partial", j and j["partial"] and p.returncode == 5 and read(KNOB) == "1", err)
    p = start()
    in_force()
    code, out, err = run("undo", "--yes")
    expect("another command meanwhile", code == 3 and "prove net.tcp-fastopen" in err and str(p.pid) in err, err)
    code, out, err = run("status")
    # Between the write that takes a switch back and the line that says so, the value is not as it was set: 1.
    expect("status meanwhile", (code in (0, 1) and str(p.pid) in err) or (code == 0 and "No change of gputune is in effect" in out), (code, out, err))
    p.kill()
    p.communicate()


def killed():
    """At any moment; the next command that writes puts it back."""
    random.seed(4)
    caught = 0
    kills = int(os.environ.get("PROVE_KILLS", "8"))
    for i in range(kills):
        p = start()
        # Every second one as soon as the setting is seen in force, and a little later.
        end = time.monotonic() + (0.15 + random.random() if i % 2 else 5)
        while time.monotonic() < end and (i % 2 or read(KNOB) != "3"):
            time.sleep(0.0005)
        time.sleep(random.random() * 0.001)
        p.kill()
        p.communicate()
        was = read(KNOB)
        if was == "3":
            caught += 1
            code, out, err = run("status")
            expect(f"killed {i}: status says so and writes nothing",
                   code == 4 and "A/B test" in err and read(KNOB) == "3", (code, err))
        code, out, err = run("undo", "--yes")
        expect(f"killed {i}: put back", read(KNOB) == "1" and code == 0, (code, out, err, read(KNOB)))
        code, out, err = run("status")
        expect(f"killed {i}: nothing left", code == 0, (code, out, err))
    expect("some were killed with the setting in force", caught >= 2, caught)
    print(f"{caught} of {kills} kills met the setting in force", flush=True)


def stays_of(j):
    return {m["id"]: m["stays"] for m in j["members"]}


def many():
    score = workload(LOOK + f"""
v = 100 * (1.06 if set_ else 1)
v *= 0.93 if open('{RMEM}').read().split()[1] == '87380' else 1
print(v * random.gauss(1, 0.003))""")
    state = scratch("prove")
    three = ("net.tcp-fastopen=3", "net.tcp-rmem=4096 87380 6291456", "net.tcp-slow-start-after-idle=0")

    def kept():
        text = (state / "ledger.jsonl").read_text()
        (state / "ledger.jsonl").unlink()
        return {r["setting"]: r for r in map(json.loads, text.splitlines())}

    code, out, err = run("prove", *three, "--command", score, "--metric", "([0-9.]+)", *QUICK, "--state", state)
    j = result("many", code, out, err)
    if not j:
        return
    rows = kept()
    one = rows.get("net.tcp-fastopen", {})
    expect("many: what alone is left is what was compared", set(rows) == set(stays_of(j)) and one["verdict"] == "helps" and
           [one[k] for k in ("ratio", "low", "high", "pairs")] ==
           [j["effect"][k] for k in ("ratio", "low", "high", "pairs")], (rows, err))
    expect("many: harm is kept", rows["net.tcp-rmem"]["verdict"] == "hurts", rows)
    stays = stays_of(j)
    expect("many: only what was shown is said to help", all(m["shown"] == m["stays"] for m in j["members"]), j["members"])
    expect("many: verdict", j["verdict"] == "helps" and 1.03 < j["effect"]["ratio"] < 1.09, (j["why"], j["effect"]))
    expect("many: what stays", stays == {"net.tcp-fastopen": True, "net.tcp-rmem": False,
                                         "net.tcp-slow-start-after-idle": False}, stays)
    expect("many: all as before", read(KNOB) == "1" and read(RMEM).split()[1] == "131072", read(RMEM))

    both = workload(LOOK + """
v = 100 * (1.06 if set_ else 1)
v *= 1.05 if open('/proc/sys/net/ipv4/tcp_slow_start_after_idle').read().strip() == '0' else 1
print(v * random.gauss(1, 0.003))""")
    j = result("two that help", *run("prove", *three, "--command", both, "--metric", "([0-9.]+)", *QUICK, "--state", state))
    rows = kept() if j else {}
    expect("two that help: the whole is kept by what was on", set(rows) == {*stays_of(j),
           "net.tcp-fastopen+net.tcp-slow-start-after-idle"}, rows.keys())

    # The same noise each time, in which nothing looks good.
    noisy = workload(f"""
import random

with open('{state}/n', 'a+') as f:
    f.write('.')
    noise = random.Random(f.tell()).gauss(100, 4)
print(noise * (0.5 if open('{RMEM}').read().split()[1] == '87380' else 1))""")
    j = result("harm alone", *run("prove", *three, "--command", noisy, "--metric", "([0-9.]+)", *QUICK, "--state", state,
                                  "--seed", "2"))
    expect("harm alone: undecided", j and j["verdict"] == "undecided" and "could have been missed" in j["why"], j and j["why"])
    expect("harm alone: is kept", kept().get("net.tcp-rmem", {}).get("verdict") == "hurts" if j else False)


PROFILE = """
[profile]
base = default
only = {ids}

[net.tcp-fastopen]
want = 3

[net.tcp-slow-start-after-idle]
want = 0

[net.somaxconn]
want = 8192

[memory.overcommit]
want = 1

[memory.vfs-cache-pressure]
want = 51
"""
# What each does to the figure, and where it stands.
EFFECTS = {"net.tcp-fastopen": (1.06, KNOB, "3"), "memory.overcommit": (1.04, "/proc/sys/vm/overcommit_memory", "1"),
           "memory.vfs-cache-pressure": (0.93, "/proc/sys/vm/vfs_cache_pressure", "51"),
           "net.tcp-slow-start-after-idle": (1, "/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0"),
           "net.somaxconn": (1, "/proc/sys/net/core/somaxconn", "8192")}


def own(path, text):
    """A file of ours in the place of the kernel's, which is the whole machine's: nobody else sees it."""
    fake = scratch("prove") / "value"
    fake.write_text(text)
    subprocess.run(["mount", "--bind", fake, path], check=True)


def profile():
    """Five settings of a profile at once: two that help, one that harms, two that do nothing. What is left of it is held against the
    machine as it was, kept as one transaction, and taken back as one."""
    own("/proc/sys/vm/overcommit_memory", "0\n")
    own("/proc/sys/vm/vfs_cache_pressure", "100\n")
    score = workload(NOISE + "v = 100 * random.gauss(1, 0.003)\n" + "".join(
        f"v *= {e} if open('{place}').read().strip() == '{on}' else 1\n" for e, place, on in EFFECTS.values()) + "print(v)\n")
    path = scratch("prove") / "site.ini"
    path.write_text(PROFILE.format(ids=",".join(EFFECTS)))
    before = {i: read(place) for i, (_, place, _) in EFFECTS.items()}
    argv = ("prove", "--profile", path, "--command", score, "--metric", "([0-9.]+)", "--seed", "7", *QUICK)
    code, out, err = run(*argv[:-3], "--dry-run")
    expect("profile: what it takes is said before", code == 0 and "5 changes" in err and "pairs" in err and "and at most" in err, err)
    code, out, err = run(*argv, "--keep")
    j = result("profile", code, out, err)
    if not j:
        return
    stays = {m["id"]: m["stays"] for m in j["members"]}
    expect("profile: what stays", stays == {i: e > 1 for i, (e, _, _) in EFFECTS.items()}, (stays, j["why"]))
    hurts = [m["id"] for m in j["members"] if m["screening"] == "hurts"]
    expect("profile: harm is named", hurts == ["memory.vfs-cache-pressure"], hurts)
    expect("profile: as a whole", j["verdict"] == "helps" and 1.08 < j["effect"]["low"] < 1.06 * 1.04 < j["effect"]["high"] < 1.13,
           j["effect"])
    now = {i: read(place) for i, (_, place, _) in EFFECTS.items()}
    expect("profile: kept is what helps", j["kept"] and now == {i: on if e > 1 else before[i] for i, (e, _, on) in EFFECTS.items()}, now)
    code, out, err = run("undo", "--yes")
    now = {i: read(place) for i, (_, place, _) in EFFECTS.items()}
    expect("profile: one undo takes it all back", code == 0 and now == before, (code, out, err, now))
    print(f"profile: {len(j['windows'])} windows, {j['effect']}", flush=True)
    two = "net.somaxconn,net.tcp-fastopen"
    j = result("two of a profile", *run(*argv, "--only", two))
    rows = [json.loads(line)["setting"] for line in pathlib.Path("/var/lib/gputune/ledger.jsonl").read_text().splitlines()]
    expect("two of a profile are not called the profile", j and j["what"] == two and sum(r.startswith("profile:") for r in rows) == 1, (j and j["what"], rows))


why = no_namespaces("ip")
if why:
    skip("proofs", why)
    end_suite()
alone()
subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
for part in (refusals, verdicts, keep_and_ledger, many, profile, interrupted, killed, real_effects):
    if sys.argv[3:] and part.__name__ not in sys.argv[3:]:
        continue
    begin = time.monotonic()
    part()
    print(f"{part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
end_suite()
