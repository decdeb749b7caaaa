# SPDX-License-Identifier: Apache-2.0
"""The step persist: a whole distribution that starts through GRUB. Apply, keep, really reboot, verify, drift under the
watcher, verify --reboot, remove, undo, reboot; /etc and settings as at the start."""
import pathlib
import socket
import subprocess
import time

import by_ansible
import lab
import watching
import witness
from steps_change import name_of, plan_of, see
from vm import DIR, VM

# Every kind of file that persist writes, but modprobe.d: nothing here has a module with a parameter of ours.
PROFILE = """[profile]
base = max-performance
[boot.init-on-alloc]
want = 0
[boot.isolcpus]
want = 3
[boot.nohz-full]
want = 3
[boot.rcu-nocbs]
want = 3
[boot.irqaffinity]
want = 0-2
[memory.swappiness]
want = 10
[memory.thp-enabled]
want = madvise
[memory.dirty-ratio]
want = 15
[net.tcp-slow-start-after-idle]
want = 0
[disk.scheduler]
want = mq-deadline
[cpu.idle-states]
want = 1
"""
SITE = "/root/site.ini"
OPTIONS = f"--profile {SITE} --allow boot"
BOOT_UNIT, WATCH_UNIT = "gputune-boot.service", watching.UNIT

# What the state has besides the files that it reads: what other programs make of all of /etc.
SEEN = r"""
lab-state
sed 's/^/cmdline:/' /proc/cmdline
modprobe -c | grep -v '^alias symbol:' | sha256sum | sed 's/^/modprobe:/'
systemctl show -p DefaultLimitMEMLOCK | sed 's/^/manager:/'
systemd-run -q --wait --pipe sh -c 'ulimit -l' | sed 's/^/memlock of a service:/'
netplan get | sed 's/^/netplan:/'
ls /sys/class/net | sed 's/^/interface /;s/$/:yes/'
systemctl is-system-running | sed 's/^/system:/'
"""


class Boots:
    """The machine on its disk, from one start to the next."""

    def __init__(self, results):
        self.disk = DIR / "persist.qcow2"
        self.disk.unlink(missing_ok=True)
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", DIR / "full.img", self.disk],
                       check=True)
        with socket.socket() as s:  # a free port
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.results = results
        self.count = 0
        self.start()

    def start(self):
        self.count += 1
        self.v = VM(self.disk, loader=True, cores=2, name="persist", ssh_port=self.port)
        seconds = self.v.ready(300)
        self.v.must("systemctl is-system-running --wait >/dev/null; udevadm settle; "
                    "for i in $(seq 100); do ip -br link show up | grep -q 52:54:00:12:34:56 && break; sleep 0.1; done", 300)
        self.id = self.v.must("cat /proc/sys/kernel/random/boot_id")
        self.results.note(f"start {self.count}: {seconds:.0f} s through GRUB to the first answer")

    def again(self, name, script="systemctl reboot", limit=180):
        """Reboots from inside, and checks that it was a reboot in order and another boot."""
        was = self.id
        self.v.send(f"{script}")
        code = self.ended(limit)
        self.start()
        end = self.v.must("journalctl -b -1 -o cat --no-pager | tail -n 40; last -x -n 5 2>/dev/null | head -n 5")
        self.results.check(f"{name}: a real reboot, in order", code == 0 and self.id != was and "Reboot" in end, f"{code}: {end}")

    def ended(self, limit=180):
        """The machine ends when the guest reboots: the next start is cold, from the same disk."""
        code = self.v.process.wait(limit * 3)
        self.v.socket.close()
        return code

    def ssh(self, script):
        """(exit code, output) of a login session's shell."""
        r = subprocess.run(["ssh", "-i", DIR / "ssh-key", "-p", str(self.port), "-o", "StrictHostKeyChecking=no",
                            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60",
                            "root@127.0.0.1", script],
                           capture_output=True, text=True, check=False, timeout=300)
        return r.returncode, r.stdout + r.stderr


def lines_of(text):
    """State by place, with all values of it. Interfaces are numbered as they come, so that numbers are left out."""
    out = {}
    for line in text.splitlines():
        place, _, value = line.rpartition(":") if line.startswith("/sys/bus/pci/") else line.partition(":")
        if place == "ip addr":
            value = value.split(": ", 1)[-1]
        out.setdefault(place, []).append(value)
    return {k: sorted(x) for k, x in out.items()}


def state(v):
    v.must("(" + SEEN + ") > /run/state-seen", 300)
    v.share()
    v.must("cp /run/state-seen /mnt/p/state-seen && umount /mnt/p")
    return lines_of((DIR / "share" / "state-seen").read_text(encoding="utf-8", errors="replace"))


def differing(x, y):
    return {k for k in set(x) | set(y) if x.get(k) != y.get(k)}


def told(x, y, keys):
    return "\n".join(f"{k}: {x.get(k)} -> {y.get(k)}" for k in sorted(keys)[:40])


def is_configuration(place):
    """Files, and what is made of them; no scopes, which sessions make and leave."""
    return not place.endswith(".scope") and place.startswith(("/etc", "/boot", "sha256 /etc", "sha256 /boot", "unit ", "netplan", "modprobe"))


def prepare(b):
    """Program, unit, manual page and profile, as a package would bring them; GRUB's menu made by update-grub."""
    share = DIR / "share"
    lab.install(b.v)
    unit = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "systemd" / f"{WATCH_UNIT}.in"
    (share / WATCH_UNIT).write_text(unit.read_text(encoding="utf-8").replace("@bindir@", "/usr/local/bin"), encoding="utf-8")
    (share / "site.ini").write_text(PROFILE, encoding="utf-8")
    b.v.share()
    b.v.must(f"install -D -m 644 /mnt/p/{WATCH_UNIT} /usr/local/lib/systemd/system/{WATCH_UNIT} && "
             f"install -m 600 /mnt/p/site.ini {SITE} && umount /mnt/p && systemctl daemon-reload && "
             "update-grub 2>/dev/null", 300)


def in_force(v, changes):
    """Faults, and how many values other programs were asked for: boot arguments by the running kernel's."""
    faults, looked = see(v, [c for c in changes if c["knob"]["kind"] != "boot-argument"])
    words = v.must("cat /proc/cmdline").split()
    for c in changes:
        if c["knob"]["kind"] != "boot-argument":
            continue
        looked += 1
        if f"{c['knob']['name']}={c['after']}" not in words:
            faults.append(f"{name_of(c)}: not among {words}")
    # The lists that the kernel made of the arguments.
    for path in ("isolated", "nohz_full"):
        looked += 1
        text = v.must(f"cat /sys/devices/system/cpu/{path}").strip()
        if text != "3":
            faults.append(f"/sys/devices/system/cpu/{path}: {text}")
    return faults, looked


def unlimited(b):
    """Faults of the locked-memory limits, of a service and of a session."""
    service = b.v.must("systemd-run -q --wait --pipe sh -c 'ulimit -l'").strip()
    session = b.ssh("ulimit -l")[1].strip()
    return [] if service == session == "unlimited" else [f"service {service}, session {session}"]


def apply_and_keep(r, b):
    """Returns the changes of the plan."""
    v = b.v
    changes, refused, _ = plan_of(v, OPTIONS)
    faults, looked = in_force(v, changes)
    r.check(f"before: none of {looked} values is in force", len(faults) == looked, f"{len(faults)} of {looked}")
    code, out = lab.gputune(v, f"apply {OPTIONS} --yes", 300)
    r.check(f"apply: {len(changes)} changes", code == 0 and not refused, f"{code}: {refused} {out[-1500:]}")
    code, out = lab.gputune(v, "persist install --yes")
    r.check("persist install, from the journal", code == 0 and "overwritten" not in out, f"{code}: {out[-2000:]}")
    code, out = lab.gputune(v, f"persist install --profile {SITE} --only memory.memlock --update-grub --yes", 300)
    r.check("persist install, from a profile, with update-grub", code == 0, f"{code}: {out[-2000:]}")
    code, out = lab.gputune(v, "persist diff")
    r.check("persist diff: nothing to do", code == 0, f"{code}: {out[-1500:]}")
    code, out = lab.gputune(v, "persist status --format json 2>/dev/null")
    rows = (lab.as_json(out) or {}).get("rows", [])
    r.check(f"persist status: {len(rows)} values, none loses", code == 0 and len(rows) > 30 and
            not [x for x in rows if x.get("loses")], f"{code}: {out[-1500:]}")
    r.note("kept by: " + ", ".join(sorted({x["kept_by"] or "nothing" for x in rows})))
    return changes


def checkers(r, v):
    """The programs that will read the files say that they can."""
    scores = []
    for unit in (BOOT_UNIT, WATCH_UNIT):
        # Its answer does not depend on what it found: any word counts.
        code, out = v.run(f"systemd-analyze verify --man=no {unit}")
        r.check(f"systemd-analyze verify {unit}", code == 0 and not out.strip(), f"{code}: {out}")
        code, out = v.run(f"systemd-analyze security --no-pager {unit} | tail -n 1")
        score = float(out.split(":")[1].split()[0])
        scores.append(f"{unit} {score}")
        r.check(f"systemd-analyze security {unit}: under 3.0", code == 0 and score < 3.0, out)
    r.note("exposure: " + ", ".join(scores))
    code, out = v.run("udevadm test /sys/block/nvme0n1 2>&1")
    ours = [x for x in out.splitlines() if "gputune" in x]
    r.check("udevadm test: our rules are read and write both values", code == 0 and
            sum("writing" in x for x in ours) == 2 and not [x for x in ours if "nvalid" in x or "gnoring" in x], "\n".join(ours))
    code, out = v.run("netplan generate 2>&1; cat /run/systemd/network/10-netplan-first.*")
    r.check("netplan generate takes our file", code == 0 and "MTUBytes=9000" in out and "WARN" not in out and
            "rror" not in out, out)
    code, out = v.run("systemd-tmpfiles --create --dry-run /etc/tmpfiles.d/zz-gputune.conf 2>&1; "
                      "systemd-tmpfiles --create /etc/tmpfiles.d/zz-gputune.conf")
    r.check("systemd-tmpfiles takes our file", code == 0, out)
    code, out = v.run("sysctl -p /etc/sysctl.d/99-zz-gputune.conf")
    r.check("sysctl takes our file", code == 0, out)
    code, out = v.run("grep -c 'isolcpus=3' /boot/grub/grub.cfg")
    r.check("the boot menu has our arguments", code == 0, out)


def after_boot(r, b, changes, name, asked=False):
    """The report of the boot, and what other programs say."""
    v = b.v
    code, out = v.run(f"systemctl show -p Result,ActiveState,ExecMainStatus {BOOT_UNIT}; journalctl -b -u {BOOT_UNIT} -o cat")
    if "Result=signal" in out:  # a call that its filter does not let through: the kernel says which
        out += v.run("dmesg | grep -a -e type=1326 -e segfault")[1]
    r.check(f"{name}: the boot-time unit ended well", "Result=success" in out and "ExecMainStatus=0" in out, out)
    code, out = lab.gputune(v, "verify --boot")
    r.check(f"{name}: verify --boot prints the unit's report", code == 0 and "written by gputune-boot.service" in out and
            ("requested by root" in out) == asked, f"{code}: {out}")
    r.note(out.strip().splitlines()[-1])
    code, out = lab.gputune(v, "verify")
    r.check(f"{name}: verify", code == 0, f"{code}: {out[-1500:]}")
    code, out = lab.gputune(v, "status --format json 2>/dev/null")
    r.check(f"{name}: status", code == 0, f"{code}: {out[-1500:]}")
    faults, looked = in_force(v, changes)
    if v.run("test -e /etc/security/limits.d/90-gputune.conf")[0] == 0:
        faults += unlimited(b)
        looked += 2
    r.check(f"{name}: other programs find {looked} values in force", not faults, "\n".join(faults))
    r.check(f"{name}: nothing failed at boot", v.run("systemctl is-system-running")[1].strip() == "running",
            v.run("systemctl --failed --no-legend")[1])


def not_as_before(v, changes):
    """Faults of values that another boot is not needed for: what other programs find against what was there before apply."""
    faults, looked = [], 0
    for c in changes:
        if c["knob"]["kind"] == "boot-argument" or c["before"] is None:
            continue
        looked += 1
        seen = witness.found(v, c["knob"])
        if seen is None or not witness.same(c["knob"], seen, c["before"]):
            faults.append(f"{name_of(c)}: {c['before']} before apply, {seen} now")
    return faults, looked


def take_back(r, b, changes):
    """The files first: what they have set at this boot is still to be found, and goes back without another boot."""
    v = b.v
    code, out = lab.gputune(v, "persist remove --yes --format json 2>/dev/null")
    kept = (lab.as_json(out) or {}).get("in_effect", [])
    r.check(f"persist remove: {len(kept)} values that the files have set are named", code == 0 and len(kept) > 10, f"{code}: {out[-1500:]}")
    faults, looked = in_force(v, changes)
    r.check(f"persist remove takes none of {looked} values back by itself", not faults, "\n".join(faults))
    code, told_of = lab.gputune(v, "undo --all --yes")
    r.check("undo --all", code == 0, f"{code}: {told_of[-2500:]}")
    r.check("undo says that arguments are in effect until reboot", "in effect until reboot" in out + told_of, told_of[-2500:])
    code, out = lab.gputune(v, "status --exit-code")
    r.check("status: nothing is held", code == 0 and "no change" in out, f"{code}: {out[-800:]}")
    faults, looked = not_as_before(v, changes)
    r.check(f"before any reboot other programs find {looked} values as they were before apply", looked > 10 and not faults, "\n".join(faults))
    v.must("update-grub 2>/dev/null", 300)


def persist(r):
    t = time.time()
    b = Boots(r)
    try:
        prepare(b)
        before = state(b.v)
        b.again("as it was")
        start = state(b.v)
        unsteady = differing(before, start)
        r.note(f"{sum(map(len, start.values()))} lines of state; of {len(unsteady)} places another start alone makes another: "
               f"{', '.join(sorted(unsteady)[:30])}")
        r.check("few places change by themselves, none in /etc or /boot", len(unsteady) < 60 and
                not [k for k in unsteady if is_configuration(k)], told(before, start, unsteady))
        changes = apply_and_keep(r, b)
        checkers(r, b.v)
        b.again("first reboot")
        after_boot(r, b, changes, "first reboot")
        names = [k for k in differing(start, state(b.v)) if k.startswith("interface ")]
        r.check("every interface is called as before", not names, names)
        watching.watch(r, b.v)
        code, out = b.v.run("gputune verify --reboot </dev/null")
        r.check("verify --reboot without an answer does nothing", code == 2, f"{code}: {out}")
        b.again("verify --reboot", "gputune verify --reboot --yes")
        after_boot(r, b, changes, "verify --reboot", asked=True)
        take_back(r, b, changes)
        now = state(b.v)
        etc = {k for k in differing(start, now) if is_configuration(k)}
        r.check("/etc and /boot as at the start to the byte, before any reboot", not etc, told(start, now, etc))
        b.again("last reboot")
        now = state(b.v)
        left = differing(start, now) - unsteady
        r.check(f"after the last reboot {sum(map(len, now.values()))} lines of state are as at the start", not left,
                told(start, now, left))
        by_ansible.playbook(r, b, SITE, lambda name: after_boot(r, b, changes, name))
        now = state(b.v)
        etc = {k for k in differing(start, now) if is_configuration(k)}
        r.check("playbook: /etc and /boot as at the start to the byte", not etc, told(start, now, etc))
        r.note(f"{b.count} starts, {time.time() - t:.0f} s")
    finally:
        b.v.kill()
    b.disk.unlink(missing_ok=True)
