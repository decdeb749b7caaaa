# SPDX-License-Identifier: Apache-2.0
"""The step prove: settings that do something on this machine are found, those that do nothing are not, and what harms is taken back."""

import os

import lab
from vm import DIR, VM

BUDGET = os.environ.get("GPUTUNE_VM_BUDGET", "200s")
ONLY = os.environ.get("GPUTUNE_VM_PROOFS", "").split()

# Two ways to a second network stack: with 10 ms of delay each way, and without.
NETWORK = r"""
set -e
modprobe -a sch_netem veth
ip netns add far; ip -n far link set lo up
ip link add near type veth peer name there netns far
ip addr add 10.7.0.1/24 dev near; ip link set near up
ip -n far addr add 10.7.0.2/24 dev there; ip -n far link set there up
tc qdisc add dev near root netem delay 10ms limit 20000
tc -n far qdisc add dev there root netem delay 10ms limit 20000
ip link add quick type veth peer name afar netns far
ip addr add 10.9.0.1/24 dev quick; ip link set quick up
ip -n far addr add 10.9.0.2/24 dev afar; ip -n far link set afar up
ip netns exec far sysctl -qw net.ipv4.tcp_fastopen=3
head -c 32 /dev/urandom | base64 > /root/token; chmod 600 /root/token
for n in 7 9; do
  ip netns exec far setsid gputune bench serve --listen 10.$n.0.2 --token /root/token >/run/serve-$n.log 2>&1 </dev/null &
done
sleep 2
"""
DISKS = r"""
set -e
for d in 0 1; do
  mke2fs -q -t ext4 -E lazy_itable_init=0 /dev/nvme${d}n1; mkdir -p /mnt/d$d; mount /dev/nvme${d}n1 /mnt/d$d
done
lsblk -no SERIAL,NAME -d /dev/nvme0n1 /dev/nvme1n1
printf '#!/bin/sh\nblockdev --flushbufs $1\nexec dd if=$1 of=/dev/null bs=4k count=512 2>/dev/null\n' > /root/read
printf '#!/bin/sh\nexec dd if=/dev/zero of=/mnt/$1/file bs=1M count=60 conv=notrunc 2>/dev/null\n' > /root/write
chmod +x /root/read /root/write
"""
# As many busy programs as there are processors, each a loop that no emulator does in one go.
CPUS = r"""
set -e
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
grep -qw cpuset /sys/fs/cgroup/cgroup.controllers
printf '#!/bin/sh\nn=0\nwhile [ $n -lt 40000 ]; do n=$((n + 1)); done\n' > /root/loop
printf '#!/bin/sh\nfor i in $(seq $(getconf _NPROCESSORS_ONLN)); do sh /root/loop & done; wait\n' > /root/crunch
chmod +x /root/crunch
"""
TOUCH = "--command 'dd if=/dev/zero of=/dev/null bs=192M count=1'"
FAR, QUICK = (f"--peer 10.{n}.0.2 --token /root/token" for n in (7, 9))


def files(disk):
    return f"--dir /mnt/d{disk}"


def cases(slow, fast, last):
    """(name, what the machine is set to before, setting, what is measured, verdicts that are right). slow, fast: disks; last: the last
    processor."""
    slow_dev, fast_dev = f"nvme{slow}n1", f"nvme{fast}n1"
    queue = f"/sys/block/{fast_dev}/queue"
    random = f"--bench disk/read-rand:4KiB:qd32 {files(fast)}"
    deep = f"--bench disk/read-rand:4KiB:qd128 {files(fast)}"
    read = f"--command '/root/read /dev/{slow_dev}'"
    helps, hurts, none = ("helps",), ("hurts",), ("no-difference", "undecided")
    return [
        ("idle connections keep their window", "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1",
         "net.tcp-slow-start-after-idle=0", f"--bench tcp-idle {FAR}", helps),
        ("data in the first packet", "sysctl -qw net.ipv4.tcp_fastopen=0",
         "net.tcp-fastopen=3", f"--bench tcp-connect/fast-open {FAR}", helps),
        ("send buffer behind a long path", "sysctl -qw net.ipv4.tcp_wmem='4096 16384 65536'",
         "net.tcp-wmem=4096 16384 4194304", f"--bench tcp/send:1 {FAR}", helps),
        ("receive buffer behind a long path", "sysctl -qw net.ipv4.tcp_rmem='4096 32768 65536'",
         "net.tcp-rmem=4096 131072 6291456", f"--bench tcp/receive:1 {FAR}", helps),
        ("read-ahead of a disk with few requests a second", f"echo 16 > /sys/block/{slow_dev}/queue/read_ahead_kb",
         f"disk.read-ahead@{slow_dev}=4096", read, helps),
        ("no read-ahead there", f"echo 1024 > /sys/block/{slow_dev}/queue/read_ahead_kb",
         f"disk.read-ahead@{slow_dev}=8", read, hurts),
        ("no scheduler for NVMe", f"echo bfq > {queue}/scheduler", f"disk.scheduler@{fast_dev}=none", random, helps),
        ("a scheduler for NVMe", f"echo none > {queue}/scheduler", f"disk.scheduler@{fast_dev}=bfq", random, hurts),
        ("room in the queue", f"echo none > {queue}/scheduler; echo 4 > {queue}/nr_requests",
         f"disk.nr-requests@{fast_dev}=256", deep, helps),
        ("room for what is to be written", "sysctl -qw vm.dirty_background_ratio=1 vm.dirty_ratio=1",
         "memory.dirty-ratio=40", f"--command '/root/write d{slow}'", helps),
        ("no input queue", "sysctl -qw net.core.netdev_max_backlog=1000",
         "net.netdev-max-backlog=1", f"--bench tcp/receive:1 {QUICK}", hurts),

        # Everything is squeezed onto CPU 0. Only where the kernel has isolated partitions (6.1).
        ("all processors but one set aside", "true", f"cpu.isolated-partition=1-{last}", "--command /root/crunch", hurts),

        ("swappiness without swap", "sysctl -qw vm.swappiness=60", "memory.swappiness=10", TOUCH, none),
        ("cache pressure and direct reads", "sysctl -qw vm.vfs_cache_pressure=100", "memory.vfs-cache-pressure=50", random, none),
        ("zone reclaim with memory to spare", "sysctl -qw vm.zone_reclaim_mode=1", "memory.zone-reclaim=0", TOUCH, none),
        ("a governor that nothing follows", "for g in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo powersave > $g; done",
         "cpu.governor=performance", TOUCH, none),
        ("backlog of listeners and one stream", "sysctl -qw net.core.somaxconn=128",
         "net.somaxconn=4096", f"--bench tcp/send:1 {QUICK}", none),
        ("socket limits and autotuning", "sysctl -qw net.core.rmem_max=212992",
         "net.rmem-max=16777216", f"--bench tcp/receive:1 {QUICK}", none),
        ("fast open and a stream that is open", "sysctl -qw net.ipv4.tcp_fastopen=1",
         "net.tcp-fastopen=3", f"--bench tcp/send:1 {QUICK}", none),
        ("slow start after idle and a busy connection", "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1",
         "net.tcp-slow-start-after-idle=0", f"--bench tcp-latency/64B {QUICK}", none),
        ("read-ahead and direct reads", f"echo 128 > {queue}/read_ahead_kb",
         f"disk.read-ahead@{fast_dev}=4096", random, none),
        ("writeback and reads", "sysctl -qw vm.dirty_ratio=20", "memory.dirty-ratio=40", random, none),
        ("a queue longer than what is in flight", f"echo 256 > {queue}/nr_requests",
         f"disk.nr-requests@{fast_dev}=512", random, none),
    ]


def one(r, v, case):
    name, before, setting, measured, right = case
    v.must(before)
    lab.remember(v, "proof", "")
    code, out = lab.gputune(v, f"prove '{setting}' {measured} --min-effect 3% --for 200ms --settle 200ms --time-limit {BUDGET} --allow '*' --yes --json "
                               f"/run/proof.json", 400)
    _, text = v.run("cat /run/proof.json; rm -f /run/proof.json")
    proof = lab.as_json(text) or {}
    effect = proof.get("effect") or {}
    verdict = proof.get("verdict")
    # A trade has an effect: it is found, and what it costs too.
    trade = "helps" in right and verdict == "undecided" and "a trade" in (proof.get("why") or "")
    r.check(f"{name}: {setting}: {' or '.join(right)}", verdict in right or trade, f"{verdict} ({code}): {out[-1500:]}")
    r.note(f"{'a trade' if trade else verdict} {effect.get('ratio')} [{effect.get('low')}, {effect.get('high')}]")
    (DIR / "ledger.jsonl").write_text(v.run(f"cat {lab.STATE}/ledger.jsonl")[1], encoding="utf-8")
    gone = lab.difference(v, "proof", "")
    r.check(f"{name}: as it was", not gone, gone)
    return verdict


def prove(r):
    counts = {}
    with VM(lab.stored(), keep=False, name="prove", iops=100) as v:
        v.ready()
        lab.settle(v)
        lab.install(v)
        v.must(NETWORK)
        serials = dict(line.split() for line in v.must(DISKS).splitlines() if line.strip())
        slow, fast = (serials[s][4] for s in ("nv0", "nv1"))
        v.must(CPUS)
        groups = "cd /sys/fs/cgroup && cat cgroup.subtree_control cpuset.cpus.effective && ls -d gputune*"
        _, before = v.run(groups)
        last = int(v.must("getconf _NPROCESSORS_ONLN").strip()) - 1
        for case in cases(slow, fast, last):
            if ONLY and not any(word in case[2] for word in ONLY):
                continue
            verdict = one(r, v, case)
            key = (case[4][0], verdict)
            counts[key] = counts.get(key, 0) + 1
        _, after = v.run(groups)
        r.check("control groups and processors as they were", after == before, f"{before} now {after}")
        code, out = lab.gputune(v, "status")
        r.check("fitted on one run, so no run is left to test it", code == 0, out)
    for (wanted, got), n in sorted(counts.items(), key=str):
        r.note(f"{n} that should be {wanted}: {got}")
