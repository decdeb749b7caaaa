# SPDX-License-Identifier: Apache-2.0
"""The steps change, mrrs and kills: apply and undo against a running kernel, looked at with other programs."""
import json
import os
import random
import re
import time

import lab
import witness
from vm import DIR, VM

RUNTIME = "proc sys pci net"
QUICK = "proc sys pci link"
SEED = int(os.environ.get("GPUTUNE_VM_SEED", "20261121"))


def plan_of(v, args):
    """(open changes, refused ones, whole document) of a plan."""
    code, out = lab.gputune(v, f"plan {args} --format json 2>/run/plan.err")
    doc = lab.as_json(out)
    if doc is None:
        raise AssertionError(f"plan {args}: {code}: {out[:500]} {v.run('cat /run/plan.err')[1][:500]}")
    return ([c for c in doc["changes"] if not c["gate"]], [c for c in doc["changes"] if c["gate"]], doc)


def name_of(change):
    knob = change["knob"]
    return f"{change['id']} {knob['kind']} {knob['name']} {knob['object']}".strip()


def see(v, changes):
    """Faults of a list of changes against other programs, and how many were looked at."""
    faults = []
    looked = 0
    for c in changes:
        seen = witness.found(v, c["knob"])
        if seen is None:
            faults.append(f"{name_of(c)}: no other program here can see it")
            continue
        looked += 1
        if not witness.same(c["knob"], seen, c["after"]):
            faults.append(f"{name_of(c)}: {c['before']} -> {c['after']} planned, but {seen} is in force")
    return faults, looked


def allow_of(refused):
    ids = sorted({c["id"] for c in refused if c["gate"] in ("needs-allow", "own-link", "gpu-busy")})
    return f"--allow {','.join(ids)}" if ids else ""


def journal_check(r, v, name):
    faults, torn = lab.journal_faults(lab.journal(v))
    r.check(f"{name}: journal readable", not faults and not torn, faults or "its last line is cut short")


def cycle(r, v, profile, allow):
    """One profile on the machine as it is: there, seen by others, and back."""
    name = profile + (" with --allow" if allow else "")
    lab.remember(v)
    args = f"--profile {profile}"
    changes, refused, _ = plan_of(v, args)
    if allow:
        args += " " + allow_of(refused)
        changes, refused, _ = plan_of(v, args)
    r.note(f"{len(changes)} changes, {len(refused)} refused: {sorted({c['gate'] for c in refused})}")
    if not r.check(f"{name}: there is something to change", changes):
        return
    kinds = sorted({c["knob"]["kind"] for c in changes})
    code, out = lab.gputune(v, f"plan {args} -o /run/plan.json >/dev/null; gputune apply /run/plan.json "
                               f"{args.partition(' --allow')[1]}{args.partition(' --allow')[2]} --yes --dry-run")
    r.check(f"{name}: a dry run says so and ends well", code in (0, 1), f"{code}: {out[-800:]}")
    out = lab.difference(v)
    r.check(f"{name}: planning and a dry run changed nothing", not out, out)
    t = time.time()
    code, out = lab.gputune(v, f"apply /run/plan.json {args.partition(' --allow')[1]}{args.partition(' --allow')[2]} --yes")
    seconds = time.time() - t
    if not r.check(f"{name}: apply of the reviewed plan", code == 0, f"{code}: {out[-2500:]}"):
        out = lab.difference(v)
        r.check(f"{name}: a failed apply left nothing behind", not out, out)
        lab.gputune(v, "undo --all --yes")
        return
    faults, looked = see(v, changes)
    r.check(f"{name}: other programs see {looked} of {len(changes)} changes ({', '.join(kinds)})", not faults, "\n".join(faults))
    r.note(f"apply took {seconds:.1f} s")
    code, out = lab.gputune(v, f"check --profile {profile} --format json 2>/dev/null")
    doc = lab.as_json(out) or {"findings": []}
    applied = {(c["id"]) for c in changes}
    left = [f"{f['id']} {f['target']}: {f['current']}, wanted {f['wanted']}" for f in doc["findings"]
            if f["verdict"] == "fail" and f["id"] in applied]
    r.check(f"{name}: check finds nothing of it left", doc["findings"] and not left, "\n".join(left))
    again, _, _ = plan_of(v, args)
    r.check(f"{name}: a second plan is empty", not again, [name_of(c) for c in again])
    before = len(lab.journal(v).split(b"\n"))
    lab.remember(v, "applied", RUNTIME)
    code, out = lab.gputune(v, f"apply {args} --yes")
    r.check(f"{name}: apply twice is apply once", code == 0 and not lab.difference(v, "applied", RUNTIME) and
            len(lab.journal(v).split(b"\n")) == before, f"{code}: {out[-500:]}")
    code, out = lab.gputune(v, "status --format json 2>/dev/null")
    doc = lab.as_json(out)
    holds = [h.get("hold") or h.get("state") for h in (doc or {}).get("changes", (doc or {}).get("rows", []))]
    r.check(f"{name}: status says that all are ours", code == 0 and len(holds) == len(changes) and set(holds) == {"ours"},
            f"{code}: {len(holds)} of {len(changes)}: {sorted(map(str, set(holds)))}: {out[-600:]}")
    code, out = lab.gputune(v, "verify --format json 2>/dev/null")
    r.check(f"{name}: verify ends well", code == 0, f"{code}: {out[-600:]}")
    t = time.time()
    code, out = lab.gputune(v, "undo --yes")
    seconds = time.time() - t
    r.check(f"{name}: undo", code == 0, f"{code}: {out[-2500:]}")
    r.note(f"undo took {seconds:.1f} s")
    out = lab.difference(v)
    r.check(f"{name}: everything as at the start, to the byte", not out, out)
    code, out = lab.gputune(v, "history")
    r.check(f"{name}: history", code == 0 and "undo" in out.lower(), f"{code}: {out[-500:]}")
    journal_check(r, v, name)


def foreign(r, v):
    """What somebody changed after us stays theirs, unless forced."""
    lab.remember(v)
    changes, _, _ = plan_of(v, "--profile published")
    mine = next((c for c in changes if c["knob"]["kind"] == "sysctl" and c["after"].isdigit()), None)
    if not r.check("somebody else: a sysctl to change", mine):
        return
    code, out = lab.gputune(v, "apply --profile published --yes")
    r.check("somebody else: apply", code == 0, out[-1500:])
    theirs = str(int(mine["after"]) + 1)
    v.must(f"sysctl -qw {mine['knob']['name']}={theirs}")
    code, out = lab.gputune(v, "status")
    r.check("somebody else: status tells it", re.search("foreign|somebody|changed", out), out[-1500:])
    code, out = lab.gputune(v, "undo --yes")
    r.check("somebody else: undo ends well and says so", code == 0 and mine["id"] in out, f"{code}: {out[-1500:]}")
    now = v.must(f"sysctl -n {mine['knob']['name']}").strip()
    r.check("somebody else: theirs stays", now == theirs, now)
    path = "/proc/sys/" + mine["knob"]["name"].replace(".", "/")
    rest = [l for l in lab.difference(v).splitlines() if l[:1] in "<>" and f" {path}:" not in l]
    r.check("somebody else: all other values are back", not rest, "\n".join(rest))
    code, out = lab.gputune(v, "undo --all --force --yes")
    now = v.must(f"sysctl -n {mine['knob']['name']}").strip()
    r.check("somebody else: --force restores the original", now == mine["before"], f"{now}, {code}: {out[-600:]}")
    v.must(f"sysctl -qw {mine['knob']['name']}={mine['before']}")
    out = lab.difference(v)
    r.check("somebody else: in the end as at the start", not out, out)


def layers(r, v):
    """Two transactions over one knob, taken back in the wrong order and one setting at a time."""
    lab.remember(v)
    first, _, _ = plan_of(v, "--profile default")
    code, out = lab.gputune(v, "apply --profile default --yes")
    r.check("layers: first apply", code == 0, out[-1500:])
    lab.remember(v, "first", RUNTIME)
    code, out = lab.gputune(v, "apply --profile published --yes")
    r.check("layers: second apply", code == 0, out[-1500:])
    numbers = [d["txn"] for d in map(json.loads, lab.journal(v).decode().splitlines()) if d["t"] == "begin" and
               d.get("op", "apply") == "apply"][-2:]
    lab.remember(v, "second", RUNTIME)
    both, _, _ = plan_of(v, "--profile default")
    code, out = lab.gputune(v, f"undo {numbers[0]} --yes")
    r.check("layers: the older one first", code == 0, f"{code}: {out[-1500:]}")
    changed = [l for l in lab.difference(v, "second", RUNTIME).splitlines() if l[:1] in "<>"]
    r.note(f"{len(first)} changes below, {len(changed) // 2} values moved by taking the lower layer away")
    code, out = lab.gputune(v, f"undo {numbers[1]} --yes")
    r.check("layers: then the newer one", code == 0, f"{code}: {out[-1500:]}")
    out = lab.difference(v)
    r.check("layers: everything as at the start", not out, out)
    code, out = lab.gputune(v, "apply --profile default --yes")
    one = first[0]["id"]
    code, out = lab.gputune(v, f"undo --only {one} --yes")
    left, _, _ = plan_of(v, "--profile default")
    r.check("layers: one setting alone", code == 0 and {c["id"] for c in left} == {one}, f"{code}: {out[-800:]}")
    code, out = lab.gputune(v, "undo --all --yes")
    out2 = lab.difference(v)
    r.check("layers: undo --all", code == 0 and not out2, f"{code}: {out[-600:]}{out2}")
    del both


def stale(r, v):
    """A plan that is older than the machine, a user without rights, a file that is no plan."""
    lab.remember(v)
    changes, _, _ = plan_of(v, "--profile published")
    sysctl = next(c for c in changes if c["knob"]["kind"] == "sysctl" and c["before"].isdigit())
    v.must("gputune plan --profile published -o /run/old.json >/dev/null; true")
    moved = str(int(sysctl["before"]) + 1)
    v.must(f"sysctl -qw {sysctl['knob']['name']}={moved}")
    code, out = lab.gputune(v, "apply /run/old.json --yes")
    r.check("a plan that is out of date is refused with 3", code == 3, f"{code}: {out[-800:]}")
    v.must(f"sysctl -qw {sysctl['knob']['name']}={sysctl['before']}")
    out = lab.difference(v)
    r.check("a refused plan changed nothing", not out, out)
    code, out = v.run("setpriv --reuid 65534 --regid 65534 --clear-groups gputune apply --profile published --yes")
    r.check("a normal user is told why not", code not in (0, 124) and re.search("root|permission", out, re.I), f"{code}: {out[-800:]}")
    out = lab.difference(v)
    r.check("a normal user changed nothing", not out, out)
    code, out = v.run(r"""sed 's|"name": *"vm\.[a-z_]*"|"name": "../../etc/passwd"|' /run/old.json > /run/evil.json
        ! cmp -s /run/old.json /run/evil.json && gputune apply /run/evil.json --yes""")
    r.check("a plan that names another place is refused", code in (2, 3), f"{code}: {out[-800:]}")
    out = lab.difference(v)
    r.check("and changed nothing", not out, out)


OWN_PROFILE = """[profile]
base = low-latency
[nic.mtu]
want = 9000
"""
PAGES_PROFILE = """[profile]
base = default
only = memory, net
[memory.hugepages-1g]
want = 1
"""


def own_profiles(r, v):
    """Profiles from a file: an MTU on a fast port; huge pages that this memory cannot give, so all is taken back."""
    v.must("ethtool -s enp0s7 speed 100000 duplex full")
    v.must(f"cat > /run/own.ini <<'X'\n{OWN_PROFILE}X\ncat > /run/pages.ini <<'X'\n{PAGES_PROFILE}X")
    changes, refused, _ = plan_of(v, "--profile /run/own.ini")
    r.check("own profile: the MTU of the fast port is planned",
            any(c["id"] == "nic.mtu" and c["knob"]["object"] == "enp0s7" for c in changes + refused), [name_of(c) for c in changes])
    cycle(r, v, "/run/own.ini", True)
    lab.remember(v)
    changes, _, _ = plan_of(v, "--profile /run/pages.ini")
    r.check("huge pages that cannot be had: planned", any(c["id"] == "memory.hugepages-1g" for c in changes))
    code, out = lab.gputune(v, "apply --profile /run/pages.ini --yes")
    r.check("huge pages that cannot be had: code 3, and it says what was granted",
            code == 3 and "memory.hugepages-1g" in out, f"{code}: {out[-1500:]}")
    out = lab.difference(v)
    r.check("huge pages that cannot be had: all taken back", not out, out)


def units(r):
    """A unit that has to be stopped, since a processor is isolated by the kernel's command line."""
    with VM(DIR / "disk.img", keep=False, cores=2, append="isolcpus=domain,managed_irq,3") as v:
        v.ready()
        lab.settle(v)
        lab.install(v)
        changes, refused, _ = plan_of(v, "--profile default")
        mine = [c for c in changes + refused if c["knob"]["kind"] == "unit"]
        if not r.check("isolated processor: a unit is to change", mine, [name_of(c) for c in changes + refused]):
            return
        r.note(", ".join(f"{name_of(c)} {c['before']} -> {c['after']}" for c in mine))
        cycle(r, v, "default", bool(refused))
        # It ends by itself where only one processor is left to it, hence four.
        active = v.run("systemctl is-active irqbalance; systemctl is-enabled irqbalance")[1].split()
        r.check("isolated processor: the unit runs again", active == ["active", "enabled"], active)


def change(r):
    """Profiles on a machine as it started and as somebody set it; foreign changes, layers, stale plans."""
    with lab.machine() as v:
        cycle(r, v, "default", False)
        v.must(lab.SPOIL)
        for profile, allow in (("default", False), ("published", False), ("low-latency", True), ("max-performance", True),
                               ("balanced", False), ("inference", False), ("training", False)):
            cycle(r, v, profile, allow)
        foreign(r, v)
        layers(r, v)
        stale(r, v)
        own_profiles(r, v)
        oops = v.run("dmesg | grep -E 'BUG:|Oops|WARNING:|Call Trace'")[1]
        r.check("the kernel complains of nothing", not oops, oops)
    units(r)
    units(r)


def mrrs(r):
    """Read request size of emulated network functions: written, seen by lspci, taken back; one that ignores it."""
    args = "--profile max-performance --only nic.mrrs"
    with lab.machine() as v:
        lab.remember(v)
        sizes = lambda: re.findall(r"MaxReadReq (\d+) bytes", v.must("lspci -vv -d 15b3:"))
        raw = lambda: v.must("for f in $(lspci -D -d 15b3: | cut -d' ' -f1); do setpci -s $f CAP_EXP+8.w; done").split()
        start = raw()
        r.check("lspci says 512 at the start", sizes() == ["512"] * 6, sizes())
        changes, refused, _ = plan_of(v, args)
        if refused:
            args += " " + allow_of(refused)
            changes, refused, _ = plan_of(v, args)
        r.check("six functions are to change", len(changes) == 6, [name_of(c) for c in changes])
        code, out = lab.gputune(v, f"apply {args} --yes")
        r.check("apply", code == 0, f"{code}: {out[-1500:]}")
        r.check("lspci says 4096", sizes() == ["4096"] * 6, sizes())
        r.check("no other bit of the register moved", raw() == [f"{int(x, 16) & ~0x7000 | 0x5000:04x}" for x in start], raw())
        lines = [l for l in lab.difference(v, parts="pci").splitlines() if l.startswith(">")]
        r.check("no other function changed", len(lines) == 6 and all(re.search(r"100[012]:0[59]", l) for l in lines), lines)
        code, out = lab.gputune(v, "undo --yes")
        r.check("undo", code == 0, f"{code}: {out[-1500:]}")
        out = lab.difference(v)
        r.check("configuration space as at the start", not out and raw() == start, out)
        # Endpoints are counted in order of creation: number 9 is a network function of the second domain.
        number = stuck_number(v)
        v.must(f"echo {number} > /sys/module/labpci/parameters/mrrs_stuck")
        lab.remember(v)
        code, out = lab.gputune(v, f"apply {args} --yes")
        r.check("a function that ignores the write: code 3", code == 3, f"{code}: {out[-1500:]}")
        r.check("and the report names it and the value", "1001:09:00.0" in out and "512" in out, out[-1500:])
        out = lab.difference(v)
        r.check("and all others were rolled back", not out and raw() == start, out)
        journal_check(r, v, "mrrs")
        # It takes the write, and then no other: the rollback of this one cannot succeed.
        v.must("echo -1 > /sys/module/labpci/parameters/mrrs_stuck")
        code, out = lab.gputune(v, f"apply {args} --yes")
        v.must(f"echo {number} > /sys/module/labpci/parameters/mrrs_stuck")
        code, out = lab.gputune(v, "undo --yes")
        r.check("an undo that the device ignores: code 4", code == 4, f"{code}: {out[-1500:]}")
        r.check("with the command to run", "setpci" in out and "1001:09:00.0" in out, out[-1500:])
        r.check("the other five are back", sizes().count("512") == 5, sizes())
        code, out = lab.gputune(v, "status")
        r.check("status names the stuck one", "1001:09:00.0" in out, out[-1500:])
        v.must("echo -1 > /sys/module/labpci/parameters/mrrs_stuck")
        code, out = lab.gputune(v, "undo --all --yes")
        r.check("once it listens, undo finishes", code == 0 and raw() == start, f"{code}: {raw()} {out[-1500:]}")
        v.must(f"echo {number} > /sys/module/labpci/parameters/mrrs_stuck")
        out = lab.difference(v)
        r.check("in the end as at the start", not out, out)
        journal_check(r, v, "mrrs, in the end")


def stuck_number(v):
    """The module's number of 1001:09:00.0: found by trying, since only the module knows the order of creation."""
    for n in range(15):
        v.must(f"echo {n} > /sys/module/labpci/parameters/mrrs_stuck")
        before = v.must("setpci -s 1001:09:00.0 CAP_EXP+8.w").strip()
        flipped = f"{int(before, 16) ^ 0x1000:04x}"
        v.must(f"setpci -s 1001:09:00.0 CAP_EXP+8.w={flipped}")
        after = v.must("setpci -s 1001:09:00.0 CAP_EXP+8.w").strip()
        if after == before:
            return n
        v.must(f"setpci -s 1001:09:00.0 CAP_EXP+8.w={before}")
    raise AssertionError("no endpoint of the module ignores the write")


def kills(r):
    """kill -9 at random moments of an apply; then undo, or an apply that has to recover first."""
    count = int(os.environ.get("GPUTUNE_VM_KILLS", "50"))
    rng = random.Random(SEED)
    r.note(f"seed {SEED}")
    with lab.machine() as v:
        v.must(lab.SPOIL)
        _, refused, _ = plan_of(v, "--profile low-latency")
        args = f"--profile low-latency {allow_of(refused)}"
        lab.remember(v, "start", QUICK)
        lab.remember(v, "whole")
        code, out = lab.gputune(v, f"apply {args} --yes")
        if not r.check("an apply that nothing disturbs", code == 0, f"{code}: {out[-1500:]}"):
            return
        lab.gputune(v, "undo --all --yes")
        out = lab.difference(v, "start", QUICK)
        r.check("taken back", not out, out)
        # Where the time goes: most of it before the first write. Kills are spread over the writing.
        text = v.must("gputune plan " + args + " -o /run/plan.json > /dev/null; s=$(date +%s%N); gputune apply /run/plan.json "
                      + args.partition("low-latency ")[2] + " --yes --dry-run > /dev/null; m=$(date +%s%N); gputune apply "
                      "/run/plan.json " + args.partition("low-latency ")[2] + " --yes > /dev/null; e=$(date +%s%N); "
                      "gputune undo --all --yes > /dev/null; echo $(( (m - s) / 1000 )) $(( (e - m) / 1000 ))").split()
        dry, full = (int(x) / 1e6 for x in text[-2:])
        r.note(f"reading takes {dry:.2f} s, an apply {full:.2f} s")
        low, high = dry * 0.7, full * 1.05  # moved to where the writing is, since the machine's speed varies
        tally = {"before the first intent": 0, "for every model: the median error on held-out models is": 0, "after the end": 0}
        faults = []
        for n in range(count):
            delay = rng.uniform(low, high) if n % 5 else rng.uniform(0.01, full)
            mode = "apply" if n % 5 == 4 else "undo"
            lines = len(lab.journal(v).splitlines())
            code, out = v.run(f"timeout -s KILL {delay:.4f} gputune apply {args} --yes")
            data = lab.journal(v)
            bad, torn = lab.journal_faults(data)
            new = [json.loads(l) for l in data.split(b"\n")[lines:-1]] if not bad else []
            if not new and not torn:
                tally["before the first intent"] += 1
                low += max(0.0, delay - low) / 4
            elif any(d["t"] == "end" for d in new):
                tally["after the end"] += 1
                high -= max(0.0, high - delay) / 4
            else:
                tally["for every model: the median error on held-out models is"] += 1
            if bad:
                faults.append(f"kill {n} after {delay:.4f} s: journal: {bad[:3]}")
            if n % 10 == 9:
                r.note(f"{n + 1} kills, {len(faults)} faults")
            code, out = v.run("gputune status >/run/status 2>&1; echo $?")
            if out.strip() not in ("0", "1", "4"):  # 4: a transaction without an end
                faults.append(f"kill {n} after {delay:.4f} s: status ended with {out.strip()}: {v.run('cat /run/status')[1][-300:]}")
            if mode == "apply":
                code, out = lab.gputune(v, f"apply {args} --yes")
                if code != 0:
                    faults.append(f"kill {n} after {delay:.4f} s: the next apply ended with {code}: {out[-500:]}")
            code, out = lab.gputune(v, "undo --all --yes")
            nothing = tally["before the first intent"] and not new and mode == "undo"
            if code != 0 and not (nothing and "nothing" in out.lower()):
                faults.append(f"kill {n} after {delay:.4f} s: undo ended with {code}: {out[-500:]}")
            left = lab.difference(v, "start", QUICK)
            if left:
                faults.append(f"kill {n} after {delay:.4f} s ({mode}): not as at the start: {left[:600]}")
                lab.gputune(v, "undo --all --force --yes")
                lab.remember(v, "start", QUICK)
            bad, torn = lab.journal_faults(lab.journal(v))
            if bad or torn:
                faults.append(f"kill {n}: journal after recovery: {bad[:3]} {torn}")
        out = lab.difference(v, "whole")
        r.check("in the end everything as at the start, links and /etc too", not out, out)
        r.note(", ".join(f"{k}: {x}" for k, x in tally.items()))
        r.check(f"{count} kills, each recovered to the byte", not faults, f"{len(faults)}:\n" + "\n".join(faults[:12]))
        r.check("at least a quarter of them hit the writing", tally["for every model: the median error on held-out models is"] * 4 >= count, tally)
