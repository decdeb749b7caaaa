# SPDX-License-Identifier: Apache-2.0
"""The step guard: jobs under run --guard in scopes of a real systemd, of the system's manager and of a user's, with limits that the
kernel keeps; and page cache that is released in part."""
import re

import lab
from vm import DIR, VM

HUNGRY = """import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
kept = []
for i in range(64):
    kept.append(b"x" * (8 << 20))
    time.sleep(0.02)
time.sleep(600)
"""
AWAY = """import os
if os.fork() == 0:
    os.setsid()
    os.execvp("python3", ["python3", "/root/hungry"])
"""
IN_SCOPE = "grep -o 'gputune-run-[0-9]*.scope' /proc/self/cgroup; d=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); " \
           "cat $d/memory.max $d/memory.high $d/memory.oom.group"


def meminfo(v, key):
    return int(re.search(rf"^{key}: +(\d+) kB", v.must("cat /proc/meminfo"), re.M).group(1)) // 1024


def nothing_left(r, v, what):
    code, out = v.run("for i in $(seq 100); do find /sys/fs/cgroup -name 'gputune-run-*' | grep -q . || exit 0; sleep 0.1; done; "
                      "find /sys/fs/cgroup -name 'gputune-run-*'; exit 1", 60)
    failed = v.must("systemctl list-units --all --no-legend 'gputune-run-*'")
    r.check(f"{what}: no scope stays", code == 0 and not failed.strip(), out + failed)


def scopes(r, v):
    code, out = lab.gputune(v, f"run --guard --most 256 -- sh -c \"{IN_SCOPE.replace('$', chr(92) + '$')}; exit 7\" 2>&1")
    r.check("a scope of the system's manager, with its limits", code == 7 and "limited to 256 MiB" in out and "268435456\n" in out
            and "255012864" in out, f"{code}: {out}")
    nothing_left(r, v, "a job that ended")
    code, out = lab.gputune(v, "run --guard --most 128 --grace 1s -- python3 /root/hungry 2>&1", 200)
    others = v.must("systemctl is-system-running; journalctl -k --no-pager | grep -i 'memory cgroup out of memory' | tail -n 3")
    r.check("a job that takes more is ended alone", code in (124, 137) and ("128 MiB" in out), f"{code}: {out}{others}")
    r.note(" / ".join(out.strip().splitlines()))
    r.check("whoever else runs goes on", "running" in others or "degraded" in others, others)
    nothing_left(r, v, "one that was ended")
    code, out = lab.gputune(v, "run --guard --most 128 --grace 1s -- python3 /root/away 2>&1", 200)
    r.check("what forks away and does not hear SIGTERM is ended, too", code == 124, f"{code}: {out}")
    r.note(" / ".join(out.strip().splitlines()))
    nothing_left(r, v, "what forked away")
    code, out = v.run("pgrep -f /root/hungry")
    r.check("no process of them", code == 1, out)


def by_a_user(r, v):
    v.must("useradd -m lab 2>/dev/null; loginctl enable-linger lab; for i in $(seq 100); do systemctl is-active -q user@$(id -u lab) && break; "
           "sleep 0.2; done", 120)
    code, out = v.run("runuser -l lab -c 'XDG_RUNTIME_DIR=/run/user/$(id -u) gputune run --guard --most 256 -- cat /proc/self/cgroup' 2>&1", 120)
    r.check("a user's job runs, and it is said where", code == 0 and ("the command runs in gputune-run-" in out or "processes that leave its process group" in out),
            f"{code}: {out}")
    r.note(" / ".join(out.strip().splitlines()))
    code, out = v.run("runuser -l lab -c 'gputune run --free 100000 --yes' 2>&1; "
                      "runuser -l lab -c 'gputune run --free '$(($(awk '/MemFree/{print $2}' /proc/meminfo) / 1024 + 64))' --yes' 2>&1", 120)
    r.check("page cache is root's to release", code == 3 and "memory.reclaim" in out, f"{code}: {out}")
    v.must("systemctl stop dbus.socket dbus.service; systemctl stop dbus-broker 2>/dev/null; true", 120)
    code, out = lab.gputune(v, "run --guard -- true 2>&1", 120)
    r.check("no bus: a process group, and why", code == 0 and "systemd could not create a scope for the command" in out, f"{code}: {out}")


def page_cache(r, v):
    v.must("head -c 300M /dev/zero > /var/big; sync; cat /var/big >/dev/null", 300)
    free, cached, wanted = meminfo(v, "MemFree"), meminfo(v, "Cached"), 128
    code, out = lab.gputune(v, f"run --free {free + wanted} --yes --reason lab 2>&1", 200)
    now, left = meminfo(v, "MemFree"), meminfo(v, "Cached")
    r.note(f"free {free} -> {now} MiB, cache {cached} -> {left} MiB: {out.strip()}")
    r.check("so much is free", code == 0 and now >= free + wanted - 16, f"{code}: {out}")
    r.check("and not all of the cache is gone", cached - left < 2 * wanted and left > 100, f"{cached} {left}")
    log = v.must("journalctl -t gputune -o cat --no-pager | tail -n 1")
    r.check("the system's log has it", "page cache released" in log and "because lab" in log, log)
    code, out = lab.gputune(v, f"run --free {meminfo(v, 'MemTotal')} --yes 2>&1")
    r.check("more than there is: nothing is released", code == 3 and "Nothing was released" in out, f"{code}: {out}")
    v.must("head -c 64M /dev/zero > /var/swap; chmod 600 /var/swap; mkswap -q /var/swap 2>/dev/null || busybox mkswap /var/swap; "
           "swapon /var/swap 2>/dev/null || busybox swapon /var/swap", 120)
    code, out = lab.gputune(v, f"run --free {meminfo(v, 'MemFree') + 32} --yes 2>&1")
    r.check("with swap a kernel older than 6.9 is not asked", code == 3 and "would also move program memory to swap" in out, f"{code}: {out}")


def guard(r):
    with VM(DIR / "full.img", keep=False, name="guard", share=DIR / "share-guard") as v:
        v.ready(300)
        lab.settle(v)
        lab.install(v)
        for name, text in (("hungry", HUNGRY), ("away", AWAY)):
            v.must(f"cat >/root/{name} <<'PY'\n{text}PY")
        page_cache(r, v)
        v.must("swapoff -a 2>/dev/null || busybox swapoff /var/swap", 120)
        scopes(r, v)
        by_a_user(r, v)
