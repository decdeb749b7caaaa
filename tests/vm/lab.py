# SPDX-License-Identifier: Apache-2.0
"""What the steps share: counting, a running machine in a known state, and comparing the state with an earlier one."""
import json
import os
import shutil
import subprocess
import time

from vm import DIR, VM, Gone

PROGRAM = os.environ.get("GPUTUNE_VM_PROGRAM", "")
STATE = "/var/lib/gputune"

# A machine that somebody tuned badly, set with other programs, so that profiles have much to change.
SPOIL = r"""
modprobe cpufreq_powersave; modprobe bfq
sysctl -qw vm.swappiness=60 vm.zone_reclaim_mode=1 vm.dirty_ratio=35 vm.dirty_background_ratio=25 \
  kernel.numa_balancing=1 net.core.somaxconn=128 net.core.rmem_max=131072 net.core.wmem_max=131072 \
  net.ipv4.tcp_slow_start_after_idle=1 vm.vfs_cache_pressure=200 net.core.netdev_max_backlog=300
echo never > /sys/kernel/mm/transparent_hugepage/enabled
echo always > /sys/kernel/mm/transparent_hugepage/defrag
for d in nvme0n1 nvme1n1; do
  echo bfq > /sys/block/$d/queue/scheduler; echo 32 > /sys/block/$d/queue/nr_requests; echo 64 > /sys/block/$d/queue/read_ahead_kb
done
for g in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo powersave > $g; done
n=0; for i in /sys/class/net/en*; do
  n=$((n+1)); i=${i##*/}; ethtool -G $i rx 128 tx 128 2>/dev/null; ip link set $i mtu 1400 up; ip addr add 10.9.$n.1/24 dev $i
done
for f in $(lspci -D -d 15b3: | cut -d' ' -f1); do setpci -s $f CAP_EXP+8.w=0810; done
for i in $(seq 50); do ip -br link show up | grep -q 'DOWN\|UNKNOWN.*en' || break; sleep 0.1; done
udevadm settle
"""


class Results:
    """Counts checks and prints one line for each."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, ok, detail=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
        text = f"{'ok  ' if ok else 'FAIL'} {name}"
        if detail and not ok:
            text += ": " + str(detail).strip().replace("\n", "\n       ")[:3000]
        print(text, flush=True)
        return bool(ok)

    def note(self, text):
        print(f"     {text}", flush=True)


def stored():
    """The disk with a stored running machine on it; made where missing or older than its sources."""
    disk = DIR / "disk.qcow2"
    base = DIR / "disk.img"
    if disk.exists() and disk.stat().st_mtime >= base.stat().st_mtime:
        return disk
    disk.unlink(missing_ok=True)
    new = DIR / "new.qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", base, new], check=True)
    with VM(new, hotplug=True) as v:
        v.ready()
        settle(v)
        out = v.monitor("savevm ready")
        if "rror" in out:
            raise Gone(out)
    new.rename(disk)
    return disk


def settle(v):
    """Waits until the start is over."""
    v.must("for i in $(seq 100); do s=$(systemctl is-system-running); [ $s = starting ] || break; sleep 0.2; done; "
           "udevadm settle; echo $s")


def install(v):
    """The program under test, copied onto the guest's disk."""
    shutil.copy(PROGRAM, v.folder / "gputune")
    v.share()
    v.must("install -m 755 /mnt/p/gputune /usr/local/bin/gputune && umount /mnt/p && gputune --version")


def machine(name="work.qcow2", program=True):
    """A running machine a second or two after the call, on a disk of its own."""
    disk = DIR / name
    shutil.copyfile(stored(), disk)
    v = VM(disk, hotplug=True, loadvm="ready")
    try:
        v.run("true", 60)
        # The clock stood still while it was stored.
        v.must(f"date -s @{int(time.time())} >/dev/null")
        v.plug()
        if program:
            install(v)
    except BaseException:
        v.kill()
        raise
    return v


def remember(v, name="start", parts=""):
    """Keeps the present state in the guest."""
    v.must(f"lab-state {parts} > /run/state-{name}", 120)


def difference(v, name="start", parts=""):
    """Lines that differ from a remembered state; empty when none does."""
    code, out = v.run(f"lab-state {parts} > /run/state-now; diff /run/state-{name} /run/state-now", 180)
    if code > 1:
        raise Gone(out)
    return out


def gputune(v, args, limit=120):
    """(exit code, output) of gputune in the guest."""
    return v.run(f"gputune {args}", limit)


def as_json(text):
    """The JSON document in an output that may have diagnostics around it; None when there is none."""
    at = text.find("{")
    if at < 0:
        return None
    try:
        return json.JSONDecoder().raw_decode(text[at:])[0]
    except ValueError:
        return None


def journal_faults(data):
    """What is wrong with the bytes of a journal. Only what stands after the last line end may be cut short, or zeros:
    a file system may make a file longer before what was written into it has arrived."""
    faults = []
    lines = data.split(b"\n")
    torn = lines.pop()
    for n, line in enumerate(lines, 1):
        try:
            if not isinstance(json.loads(line), dict):
                faults.append(f"line {n} is no object")
        except ValueError:
            faults.append(f"line {n} of {len(lines)} cannot be read: {line[:80]!r}")
    return faults, bool(torn)


def journal(v):
    """The bytes of the guest's journal; empty when there is none."""
    return v.run(f"cat {STATE}/journal.jsonl 2>/dev/null")[1].encode()
