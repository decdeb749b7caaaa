# SPDX-License-Identifier: Apache-2.0
"""The step rdma: latency and bandwidth of RDMA over soft-RoCE beside perftest, in turns, on the same port of one machine."""
import os
import random
import re
import statistics

import lab
from vm import DIR, VM, Gone

ROUNDS = int(os.environ.get("GPUTUNE_VM_RDMA_ROUNDS", "7"))
# The processor's own counter as the clock, which frequency steps would take away: reading the emulated one takes as long as a
# small message, and ours reads it once for each.
CLOCK = "tsc=reliable modprobe.blacklist=labcpu"
CABLE = """
modprobe rdma_rxe && ip link add v0 type veth peer name v1 && ip addr add 10.7.0.1/24 dev v0 && ip link set v0 up &&
ip link set v1 up && rdma link add rxe0 type rxe netdev v0 && for i in $(seq 50); do
  rdma link show | grep -q ACTIVE && break; sleep 0.1; done; rdma link show
"""
# Case of ours; perftest's program and options, the column of its table: the median of all messages, or the mean over time.
ROWS = (("rdma-latency/loopback:write:8B", "ib_write_lat -s 8 -n 2000", 4),
        ("rdma-latency/loopback:write:4KiB", "ib_write_lat -s 4096 -n 1000", 4),
        ("rdma-latency/loopback:read:16B", "ib_read_lat -s 16 -n 2000", 4),
        ("rdma/loopback:write:64KiB", "ib_write_bw -s 65536 -D 2 --report_gbits", 3),
        ("rdma/loopback:read:64KiB", "ib_read_bw -s 65536 -D 2 --report_gbits", 3),
        ("rdma/loopback:send:64KiB", "ib_send_bw -s 65536 -D 2 --report_gbits", 3))


def ours(v, case):
    """Each side's own figure of one run, told as perftest tells it, and on what port."""
    code, out = lab.gputune(v, f"bench {case} --for 2s --format json --state /run/bench 2>/dev/null", 180)
    doc = lab.as_json(out)
    if not doc:
        raise Gone(f"{case}: {code}: {out[:300]}")
    c = doc["cases"][0]
    if not c["verified"]:
        raise AssertionError(f"{case}: {c['error']}")
    if c["observed"]:
        return c["observed"]["p50_us"], c["variant"]
    return c["figures"][0]["mean_gbit_per_s"], c["variant"]


def perftest(v, command, variant, column):
    device, port, gid = re.match(r"(\S+) port (\d+).*GID (\d+)", variant).groups()
    argv = f"{command} -d {device} -i {port} -x {gid} -F"
    out = v.must(f"timeout 60 {argv} >/dev/null 2>&1 & sleep 1; timeout 60 {argv} 10.7.0.1; wait", 180)
    row = re.findall(r"^ *\d+ +\d+ +[\d.]+ .*$", out, re.M)
    if not row:
        raise AssertionError(f"{command}: {out[-500:]}")
    return float(row[-1].split()[column])


def compare(r, v, case, command, column):
    """Both in turns; the ratio is of medians, above 1 where ours is better."""
    a, b = [], []
    _, variant = ours(v, case)
    for _ in range(ROUNDS):
        turns = [lambda: a.append(ours(v, case)[0]), lambda: b.append(perftest(v, command, variant, column))]
        for turn in random.sample(turns, 2):
            turn()
    x, y = statistics.median(a), statistics.median(b)
    unit, ratio = ("us", y / x) if "latency" in case else ("Gbit/s", x / y)
    tool = command.split()[0]
    r.note(f"{case}: gputune {x:.3f} {unit} ({min(a):.3f} to {max(a):.3f}), {tool} {y:.3f} ({min(b):.3f} to {max(b):.3f}), ratio {ratio:.3f}")
    r.check(f"{case} beside {tool}", ratio > 0.5, f"{a} {b}")


def rdma(r):
    """What both tell of the same port. An emulated processor on a busy host judges nothing finer than a factor; the ratios are printed."""
    with VM(DIR / "disk.img", keep=False, append=CLOCK) as v:
        v.ready()
        lab.settle(v)
        lab.install(v)
        out = v.must(CABLE)
        if not r.check("soft-RoCE on a cable", "state ACTIVE" in out, out):
            return
        clock = v.must("cat /sys/devices/system/clocksource/clocksource0/current_clocksource").strip()
        r.check("the processor's counter is the clock", clock == "tsc", clock)
        r.note(f"perftest {v.must('ib_write_lat --version 2>&1 | head -n 1').split()[-1]}, {ROUNDS} rounds; above 1: ours is better")
        for case, command, column in ROWS:
            compare(r, v, case, command, column)
