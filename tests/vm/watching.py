# SPDX-License-Identifier: Apache-2.0
"""The shipped watcher as a service: drift by hand and by tuned, heard, said with fields, and answered by policy."""
import json
import re
import time

UNIT = "gputune-watch.service"
CONF = """[watch]
interval = 10s
[memory.dirty-ratio]
policy = re-apply
[net.tcp-slow-start-after-idle]
policy = re-apply
limit = 1
[cpu.governor]
policy = re-apply
limit = 12
[cpu.numa-balancing]
policy = back-off
[disk]
policy = back-off
"""
# For this test alone: the manager hears of it often, and starts it again at once.
QUICK = "[Service]\nWatchdogSec=10s\nRestartSec=1s\n"
FIELDS = ("MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "GPUTUNE_EVENT", "GPUTUNE_ID", "GPUTUNE_TARGET", "GPUTUNE_FROM",
          "GPUTUNE_TO", "GPUTUNE_WANTED", "GPUTUNE_VIA", "GPUTUNE_WHO", "GPUTUNE_TRANSACTION", "_SYSTEMD_UNIT")


class Log:
    """What the service said in the system's journal since the last look."""

    def __init__(self, v):
        self.v = v
        self.since = v.must("date +@%s.%6N").strip()

    def new(self, event=None, ident=None, seconds=20):
        """Events since then; waits until one of this kind about this setting is there."""
        end = time.time() + seconds * 2
        while True:
            out = self.v.must(f"journalctl -t gputune -o json --no-pager --since '{self.since}'")
            found = [json.loads(x) for x in out.splitlines() if x.startswith("{")]
            hit = [e for e in found if e.get("GPUTUNE_EVENT") == event and (e.get("GPUTUNE_ID") or "").startswith(ident or "")]
            if not event or hit or time.time() > end:
                return (hit if event else found), found
            time.sleep(0.5)

    def mark(self):
        self.__init__(self.v)


def shown(v, *properties):
    out = v.must(f"systemctl show {UNIT} -p {','.join(properties)}")
    return dict(line.split("=", 1) for line in out.splitlines())


def drift(r, v, log, name, script, event, ident, value, now, who=None):
    """One change by another program: which event follows, and what is there then. value: the command that tells."""
    log.mark()
    v.must(script)
    hits, found = log.new(event, ident)
    if not r.check(f"{name}: {event}", hits, json.dumps([e.get("MESSAGE") for e in found])):
        return
    e = hits[-1]
    missing = [f for f in FIELDS if not e.get(f)]
    r.check(f"{name}: with fields", not missing and e["_SYSTEMD_UNIT"] == UNIT and
            re.search(who or ".", e["GPUTUNE_WHO"] + " " + e.get("GPUTUNE_LIKELY", "")), f"{missing} {e}")
    r.note(e["MESSAGE"])
    seen = v.must(value).strip()
    r.check(f"{name}: then {now} is in force", seen == now, seen)


def by_hand(r, v, log):
    drift(r, v, log, "sysctl, policy report", "sysctl -qw net.core.rmem_max=300000", "changed", "net.rmem-max",
          "sysctl -n net.core.rmem_max", "300000", "sysctl|ended")
    drift(r, v, log, "sysctl, policy re-apply", "sysctl -qw vm.dirty_ratio=33", "reapplied", "memory.dirty-ratio",
          "sysctl -n vm.dirty_ratio", "15")
    drift(r, v, log, "the value before comes back, policy back-off", "sysctl -qw kernel.numa_balancing=1", "reapplied",
          "cpu.numa-balancing", "sysctl -n kernel.numa_balancing", "0")
    drift(r, v, log, "another value, policy back-off", "echo 512 > /sys/block/vda/queue/read_ahead_kb", "left",
          "disk.read-ahead", "cat /sys/block/vda/queue/read_ahead_kb", "512", "bash|ended")
    drift(r, v, log, "a link, policy report", "ip link set $(cat /sys/class/infiniband/rxe0/parent) mtu 1400", "changed", "nic.mtu",
          "cat /sys/class/net/$(cat /sys/class/infiniband/rxe0/parent)/mtu", "1400", ".")
    drift(r, v, log, "once more than the limit, first", "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1", "reapplied",
          "net.tcp-slow-start-after-idle", "sysctl -n net.ipv4.tcp_slow_start_after_idle", "0")
    time.sleep(3)
    drift(r, v, log, "once more than the limit, then", "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1", "gave-up",
          "net.tcp-slow-start-after-idle", "sysctl -n net.ipv4.tcp_slow_start_after_idle", "1")


def by_tuned(r, v, log):
    """The distribution's own tuner, told to follow a profile that wants other values."""
    governor = "cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort -u"
    # It writes to these files of its own and others', and takes not all of that back.
    v.must("tar -C / -cf /root/before.tar etc/tuned etc/default/grub etc/modprobe.d/tuned.conf boot/grub/grub.cfg")
    v.must("echo 1024 > /sys/block/vda/queue/read_ahead_kb; systemctl reload gputune-watch; sleep 2")
    drift(r, v, log, "tuned network-latency, policy report", "systemctl start tuned; tuned-adm profile network-latency",
          "changed", "memory.thp-enabled", "sed 's/.*\\[\\(.*\\)\\].*/\\1/' /sys/kernel/mm/transparent_hugepage/enabled", "never",
          "tuned")
    drift(r, v, log, "tuned balanced, policy re-apply", "tuned-adm profile balanced; sleep 5", "reapplied", "cpu.governor",
          governor, "performance", "tuned")
    code, out = v.run("gputune persist status")
    r.check("persist status names tuned, which may have the last word", "tuned" in out, f"{code}: {out}")
    active = v.must("tuned-adm active")
    r.check("tuned does not hear of it: its profile is still active", "balanced" in active, active)
    v.must("tuned-adm off; systemctl stop tuned; rm -rf /etc/tuned /boot/grub/grubenv; tar -C / -xf /root/before.tar && "
           "rm /root/before.tar", 60)


def watchdog(r, v):
    """The manager hears of it in time, and ends and starts anew what is stuck."""
    first = shown(v, "WatchdogTimestampMonotonic", "MainPID", "NRestarts")
    time.sleep(12)
    then = shown(v, "WatchdogTimestampMonotonic", "MainPID", "NRestarts")
    r.check("the watchdog is fed", int(then["WatchdogTimestampMonotonic"]) > int(first["WatchdogTimestampMonotonic"]) and
            then["MainPID"] == first["MainPID"], f"{first} {then}")
    v.must(f"kill -STOP {then['MainPID']}; for i in $(seq 60); do sleep 1; "
           f"[ $(systemctl show {UNIT} -p NRestarts --value) != {then['NRestarts']} ] && "
           f"[ $(systemctl show {UNIT} -p ActiveState --value) = active ] && break; done", 120)
    after = shown(v, "MainPID", "NRestarts", "ActiveState")
    code, out = v.run(f"journalctl -b -u {UNIT} -o cat | grep -i watchdog")
    r.check("one that is stuck is ended by the watchdog and started anew", after["ActiveState"] == "active" and
            int(after["NRestarts"]) == int(then["NRestarts"]) + 1 and after["MainPID"] != then["MainPID"] and code == 0,
            f"{after}: {out}")


def cost(r, v):
    """Processor time while nothing changes, and memory. The processor is emulated: figures are this machine's own."""
    pid = shown(v, "MainPID")["MainPID"]
    ticks = f"awk '{{ print $14 + $15 }}' /proc/{pid}/stat"
    before, t = int(v.must(ticks)), time.time()
    time.sleep(60)
    used = (int(v.must(ticks)) - before) / int(v.must("getconf CLK_TCK"))
    share = used / (time.time() - t)
    rss = int(v.must(f"awk '/^VmRSS/ {{ print $2 }}' /proc/{pid}/status"))
    s = shown(v, "CPUUsageNSec", "MemoryCurrent", "StatusText")
    r.note(f"idle: {100 * share:.3f} % of one emulated core over {time.time() - t:.0f} s, looking every 10 s; "
           f"RSS {rss} KiB, of the service's own memory {int(s['MemoryCurrent']) // 1024} KiB; "
           f"{int(s['CPUUsageNSec']) / 1e9:.2f} s since its start; {s['StatusText']}")
    r.check("under 6 MB resident", rss < 6000, rss)


def watch(r, v):
    v.must("mkdir -p /run/systemd/system/gputune-watch.service.d /etc/gputune && "
           f"printf '{QUICK}' > /run/systemd/system/gputune-watch.service.d/quick.conf && systemctl daemon-reload")
    v.must(f"cat > /etc/gputune/watch.conf <<'E'\n{CONF}E\n")
    log = Log(v)
    v.must(f"systemctl start {UNIT}")
    s = shown(v, "Type", "ActiveState", "SubState", "StatusText", "WatchdogUSec", "NotifyAccess")
    r.check("started, ready by notification", s["Type"] == "notify" and s["SubState"] == "running" and
            s["WatchdogUSec"] == "10s" and "watched" in s["StatusText"], s)
    r.note(s["StatusText"])
    time.sleep(2)
    _, found = log.new()
    r.check("nothing is amiss at the start", [e.get("GPUTUNE_EVENT") for e in found if "GPUTUNE_EVENT" in e] == ["started"],
            [e.get("MESSAGE") for e in found])
    cost(r, v)
    by_hand(r, v, log)
    by_tuned(r, v, log)
    watchdog(r, v)
    log.mark()
    v.must(f"systemctl stop {UNIT}; rm -rf /run/systemd/system/gputune-watch.service.d /etc/gputune/watch.conf; "
           "systemctl daemon-reload")
    _, found = log.new("stopped")
    r.check("it ends at once and undoes nothing", found and shown(v, "Result")["Result"] == "success",
            [e.get("MESSAGE") for e in found])
