# SPDX-License-Identifier: Apache-2.0
"""The step tune: eight settings that cost a job something here are found by one command, what does nothing is not kept, and all of it is taken back. The
guest's clock counts instructions and jumps while nothing runs, so that the figure does not depend on what else this machine does."""
import json
import pathlib
import subprocess

import lab
from vm import DIR, VM

# Two disks of memory whose requests take a time of their own, and a second network stack behind 10 ms each way.
MACHINE = r"""
set -e
ip link set lo up
modprobe -a sch_netem sch_fq veth configfs bfq
modprobe null_blk nr_devices=0
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
disk() {
  d=/sys/kernel/config/nullb/$1; mkdir $d; shift
  for x in size=64 memory_backed=1 blocksize=512 submit_queues=1 irqmode=2 hw_queue_depth=64 "$@"; do echo ${x#*=} > $d/${x%%=*}; done
  echo 1 > $d/power
}
disk nullb0 completion_nsec=20000000
disk nullb1 completion_nsec=300000
ip netns add far; ip -n far link set lo up
ip link add near type veth peer name there netns far
ip addr add 10.7.0.1/24 dev near; ip link set near up
ip -n far addr add 10.7.0.2/24 dev there; ip -n far link set there up
tc qdisc add dev near root netem delay 10ms limit 20000
tc -n far qdisc add dev there root netem delay 10ms limit 20000
ip netns exec far sysctl -qw net.ipv4.tcp_fastopen=3 net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_no_metrics_save=1
sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_syncookies=0 kernel.printk=1
mkdir -p /var/lib/gputune; mount -t tmpfs -o mode=755 none /var/lib/gputune
ip netns exec far setsid planted serve >/run/serve.log 2>&1 </dev/null &
sleep 1
"""
# Each is what a part of tests/vm/planted.c waits for. Two more of its parts wait for TCP's own buffers, which no rule of ours sets where no interface
# of 25 Gb/s is up.
PLANTED = {
    "net.wmem-max": "sysctl -qw net.core.wmem_max=32768",
    "net.rmem-max": "sysctl -qw net.core.rmem_max=32768",
    "net.tcp-slow-start-after-idle": "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1",
    "net.tcp-fastopen": "sysctl -qw net.ipv4.tcp_fastopen=0",
    "net.somaxconn": "sysctl -qw net.core.somaxconn=16",
    "net.rmem-default": "sysctl -qw net.core.rmem_default=16384",
    "disk.read-ahead": "echo 16 > /sys/block/nullb0/queue/read_ahead_kb",
    "disk.scheduler": "echo bfq > /sys/block/nullb1/queue/scheduler",
}
# What somebody could publish for such a machine; of these, and of what is published, wmem-default, backlog and qdisc do nothing here.
GUIDE = """[profile]
base = published
[disk.read-ahead]
want = 4096
[disk.scheduler]
want = none
[net.default-qdisc]
want = fq
[net.netdev-max-backlog]
want = 5000
"""
NOW = r"""{ sysctl -a 2>/dev/null --pattern '^(net.core|net.ipv4|vm|kernel.sched|kernel.numa)' | grep -v -E 'drop_caches|stat_refresh|random|fastopen_key'
cat /sys/block/*/queue/{scheduler,read_ahead_kb,nr_requests} /sys/kernel/mm/transparent_hugepage/* 2>/dev/null; true; }"""
RUN = r"""gputune tune --for 'planted 10.7.0.2 /dev/nullb0 /dev/nullb1' --metric 'seconds: ([0-9.]+)' --better lower --beside /run/guide.ini --skip env,cpu \
  --settle 20ms --seed 4 --time-limit 40m --yes --no-color --json /run/tune.json"""


def job():
    """planted.c for any guest, with what it needs in it."""
    out = DIR / "planted"
    source = pathlib.Path(__file__).parent / "planted.c"
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["gcc", "-O2", "-static", "-pthread", source, "-o", out], check=True)
    return out


def tune(r):
    with VM(DIR / "disk.img", keep=False, name="tune", icount=4, append="lab.alone maxcpus=1") as v:
        v.ready(600)
        lab.install(v)
        (v.folder / "planted").write_bytes(job().read_bytes())
        (v.folder / "guide.ini").write_text(GUIDE, encoding="utf-8")
        v.share()
        v.must("install -m 755 /mnt/p/planted /usr/local/bin/planted && cp /mnt/p/guide.ini /run/ && umount /mnt/p")
        v.must(MACHINE, 300)
        for how in PLANTED.values():
            v.must(how)
        v.must(f"{NOW} > /run/before")
        code, out = v.run(RUN, 3600)
        j = lab.as_json(v.run("cat /run/tune.json")[1])
        if not r.check("tuned", code == 0 and j, out[-3000:]):
            return
        kept = {i["id"] for i in j["items"] if i["state"] == "kept"}
        r.check(f"all of {len(PLANTED)} planted settings are kept, but one at most", len(PLANTED.keys() - kept) <= 1, sorted(PLANTED.keys() - kept))
        r.check("nothing else is", kept <= PLANTED.keys(), kept - PLANTED.keys())
        r.note(f"{len(kept & PLANTED.keys())} kept in {len(j['proof']['windows'])} runs of the job, {json.dumps(j['proof']['effect'])}")
        code, out = v.run("gputune undo --yes")
        r.check("undone", code == 0, out)
        code, out = v.run(f"{NOW} | diff /run/before -")
        r.check("every value is as it was", code == 0, out)
