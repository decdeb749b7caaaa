# SPDX-License-Identifier: Apache-2.0
"""The steps powercut and reboot: what is left on the disk when the machine loses power in the middle of an apply."""
import hashlib
import os
import random
import shutil
import subprocess
import time

import lab
import writelog
from steps_change import QUICK, SEED, allow_of, plan_of
from vm import DIR, VM, Gone

FS_BYTES = 1016 << 20  # of the file system; marks go behind it


def mark(v, n):
    """A write behind the file system, without a flush of its own: everything after it in the log came later."""
    v.must(f"printf 'MARK %d ' {n} | dd of=/dev/vda bs=512 seek={FS_BYTES // 512 + n} count=1 conv=sync,notrunc "
           "oflag=direct 2>/dev/null")


def profile_args(v):
    _, refused, _ = plan_of(v, "--profile low-latency")
    return f"--profile low-latency {allow_of(refused)}"


def record(r, disk, log):
    """Applies and undoes on a disk whose writes are logged. Returns the journal after each mark, and sums of /etc."""
    base = DIR / "cut-base.img"
    subprocess.run(["cp", "--sparse=always", DIR / "disk.img", disk], check=True)
    log.unlink(missing_ok=True)
    log.touch()
    subprocess.run(["cp", "--sparse=always", disk, base], check=True)
    journals = []
    with VM(disk, log=log) as v:
        v.ready()
        lab.settle(v)
        lab.install(v)
        v.must(lab.SPOIL)
        v.must("sync")
        etc = v.must("cd /etc && find . -type f -print0 | sort -z | xargs -0 sha256sum")
        args = profile_args(v)
        mark(v, 0)
        journals.append(b"")
        steps = ([f"apply {args} --yes", "undo --yes", "apply --profile published --yes", f"apply {args} --yes",
                  "undo --yes", "undo --yes"] * 2)
        for n, step in enumerate(steps, 1):
            code, out = lab.gputune(v, step)
            # The mark comes without a sync: what the program itself made durable is all that counts.
            mark(v, n)
            journals.append(lab.journal(v))
            if not r.check(f"{step.split(' --allow')[0]}", code == 0, f"{code}: {out[-800:]}"):
                break
        etc_end = v.must("cd /etc && find . -type f -print0 | sort -z | xargs -0 sha256sum")
        r.check("/etc as at the start", etc == etc_end)
        v.off()
    sums = {}
    for line in etc.splitlines():
        digest, name = line.split("  ", 1)
        sums[name[2:]] = digest
    return base, journals, sums


def look(image, folder, sums, marked, final):
    """Faults of one rebuilt disk."""
    faults = []
    fsck = subprocess.run(["e2fsck", "-fy", image], capture_output=True, text=True, check=False)
    if fsck.returncode > 2:
        faults.append(f"fsck ended with {fsck.returncode}: {fsck.stdout[-300:]}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    subprocess.run(["debugfs", "-f", "/dev/stdin", image], text=True, capture_output=True, check=False,
                   input=f"rdump /etc {folder}\nrdump {lab.STATE} {folder}\n")
    for name, digest in sums.items():
        path = folder / "etc" / name
        if not path.is_file():
            faults.append(f"/etc/{name} is gone")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            faults.append(f"/etc/{name} is another ({path.stat().st_size} bytes)")
    extra = [str(p.relative_to(folder)) for p in (folder / "etc").rglob("*") if p.is_file() and not p.is_symlink() and
             str(p.relative_to(folder / "etc")) not in sums]
    faults += [f"{e} is new" for e in extra]
    state = folder / "gputune"
    data = b""
    for path in state.rglob("*") if state.is_dir() else []:
        if not path.is_file():
            continue
        if path.name == "journal.jsonl":
            data = path.read_bytes()
        elif path.name != "lock":
            content = path.read_bytes()
            if not content or b"\0" in content:
                faults.append(f"{path.name}: {len(content)} bytes, zeros in it: {chr(0).encode() in content}")
    bad, _ = lab.journal_faults(data)
    faults += [f"journal: {b}" for b in bad[:3]]
    whole = data[:data.rfind(b"\n") + 1]
    if not final.startswith(whole):
        faults.append("journal: not the beginning of what it was in the end")
    if not whole.startswith(marked):
        faults.append(f"journal: {len(whole)} bytes left, but {len(marked)} stood in it when the last command returned")
    return faults, len(whole), len(data) - len(whole)


def powercut(r):
    """Disks rebuilt from the write log as of many moments of applies and undos."""
    count = int(os.environ.get("GPUTUNE_VM_CUTS", "240"))
    rng = random.Random(SEED)
    r.note(f"seed {SEED}")
    disk, path = DIR / "cut-disk.img", DIR / "cut.log"
    t = time.time()
    base, journals, sums = record(r, disk, path)
    log = writelog.Log(path)
    marks = {int(text.split()[1]): i for i, text in log.marks(FS_BYTES) if text.startswith(b"MARK ")}
    if not r.check("all marks are in the log", sorted(marks) == list(range(len(journals))), sorted(marks)):
        return
    first, last = marks[0], marks[len(journals) - 1]
    window = log.entries[first:last]
    r.note(f"{len(log.entries)} writes, {len(window)} of them in the window, {sum(e[2] & 1 for e in window)} flushes; "
           f"recorded in {time.time() - t:.0f} s")
    places = range(first + 1, min(last + 40, len(log.entries)))
    # Every place where there are fewer than asked for, more than once, since each cut drops other writes.
    cuts = sorted(rng.sample(places, count) if len(places) >= count else
                  [rng.choice(places) for _ in range(count - len(places))] + list(places))
    faults, lengths, torn, sample, dropped = [], set(), 0, [], 0
    image, folder = DIR / "cut.img", DIR / "cut-files"
    t = time.time()
    done = 0
    with open(base, "r+b") as b:
        for n, cut in enumerate(cuts):
            certain, kept = log.cut(rng, cut)
            while done < certain:
                log.write(b, log.entries[done])
                done += 1
            b.flush()
            subprocess.run(["cp", "--sparse=always", base, image], check=True)
            with open(image, "r+b") as o:
                for i in kept:
                    log.write(o, log.entries[i])
            dropped += cut - certain - len(kept)
            marked = journals[max((m for m, i in marks.items() if i < cut), default=0)]
            bad, whole, rest = look(image, folder, sums, marked, journals[-1])
            faults += [f"cut {n} before write {cut}: {x}" for x in bad]
            lengths.add(whole)
            torn += rest > 0
            # Those that end within a line are started first of all, then some of the others.
            if rest and len(sample) < 3 or n % max(1, len(cuts) // 4) == len(cuts) // 8 and len(sample) < 6:
                keep = DIR / f"cut-{len(sample)}.img"
                subprocess.run(["cp", "--sparse=always", image, keep], check=True)
                sample.append(keep)
    r.check(f"{len(cuts)} power cuts: file system, journal, /etc, nothing lost that was reported done", not faults,
            f"{len(faults)}:\n" + "\n".join(faults[:15]))
    r.check("cuts fell into the journal at many places", len(lengths) >= 15, sorted(lengths))
    r.note(f"{len(lengths)} lengths of the journal, {torn} cut short in a line, {dropped} writes dropped, "
           f"{(time.time() - t) / len(cuts):.2f} s a cut")
    moved = []
    for n, image in enumerate(sample):
        moved.append(recovered(r, f"started from a cut disk, {n + 1} of {len(sample)}", image, sums)[0])
        image.unlink()
    r.check("undo after a start moves no value that the start has set", not any(moved), "\n".join(filter(None, moved)))
    for p in (disk, path, base, DIR / "cut.img"):
        p.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def recovered(r, name, disk, sums, brief=False):
    """Starts a disk that lost power: the journal can be read, undo ends well, /etc is as it was. Returns what undo
    moved, which should be nothing since the values of the earlier boot went with it, and whether there was a journal."""
    faults = []
    moved = ""
    with VM(disk) as v:
        v.ready()
        lab.settle(v)
        data = lab.journal(v)
        bad, _ = lab.journal_faults(data)
        faults += [f"journal: {b}" for b in bad[:3]]
        lab.remember(v, "start", QUICK)
        code, out = lab.gputune(v, "status")
        # 4: a transaction without an end, which is the truth.
        if code not in (0, 1, 4):
            faults.append(f"status ended with {code}: {out[-500:]}")
        code, out = lab.gputune(v, "history")
        if code != 0:
            faults.append(f"history ended with {code}: {out[-500:]}")
        code, out = lab.gputune(v, "undo --all --yes")
        if code != 0 and "nothing" not in out.lower():
            faults.append(f"undo ended with {code}: {out[-500:]}")
        code, out = lab.gputune(v, "status")
        if code != 0:
            faults.append(f"status after undo ended with {code}: {out[-500:]}")
        code, out = lab.gputune(v, "undo --all --yes")
        if code not in (0, 3) or code == 3 and "nothing" not in out.lower():
            faults.append(f"a second undo ended with {code}: {out[-500:]}")
        now = dict(reversed(l.split("  ", 1)) for l in
                   v.must("cd /etc && find . -type f -print0 | sort -z | xargs -0 sha256sum").splitlines())
        now = {k[2:]: d for k, d in now.items()}
        if now != sums:
            faults.append(f"/etc differs: {sorted(k for k in set(now) | set(sums) if now.get(k) != sums.get(k))}")
        moved = lab.difference(v, "start", QUICK)
        if not brief:
            code, out = lab.gputune(v, "apply --profile published --yes")
            if code != 0:
                faults.append(f"the next apply ended with {code}: {out[-500:]}")
            code, out = lab.gputune(v, "undo --yes")
            if code != 0:
                faults.append(f"its undo ended with {code}: {out[-500:]}")
        bad, torn = lab.journal_faults(lab.journal(v))
        faults += [f"journal in the end: {b}" for b in bad[:3]] + (["journal in the end: torn"] if torn else [])
    r.check(name, not faults, "\n".join(faults))
    return f"{name}: {moved}" if moved else "", bool(data)


def reboot(r):
    """The whole machine killed in the middle of an apply, and started again from the same disk."""
    count = int(os.environ.get("GPUTUNE_VM_REBOOTS", "20"))
    rng = random.Random(SEED + 1)
    r.note(f"seed {SEED}")
    disk = DIR / "reboot.qcow2"
    with lab.machine(disk.name) as v:
        v.must("sync")
        sums = {l.split("  ./", 1)[1]: l.split("  ", 1)[0] for l in
                v.must("cd /etc && find . -type f -print0 | sort -z | xargs -0 sha256sum").splitlines()}
        v.must(lab.SPOIL)
        args = profile_args(v)
        t = time.time()
        code, out = lab.gputune(v, f"apply {args} --yes")
        full = time.time() - t
        r.check("an apply that nothing disturbs", code == 0, f"{code}: {out[-800:]}")
    hits = 0
    moved = []
    for n in range(count):
        with lab.machine(disk.name) as v:
            v.must(lab.SPOIL + "\nsync")
            delay = rng.uniform(full * 0.4, full * 1.3)
            v.send(f"gputune apply {args} --yes")
            time.sleep(delay)
            v.kill()
        try:
            out, found = recovered(r, f"killed after {delay:.2f} s ({n + 1} of {count})", disk, sums, brief=n % 5 > 0)
            moved.append(out)
            hits += found
        except Gone as e:
            r.check(f"killed after {delay:.2f} s ({n + 1} of {count})", False, e)
    moved = [m for m in moved if m]
    r.check("undo after a start moves no value that the start has set", not moved,
            f"{len(moved)} of {count}:\n" + "\n".join(moved))
    r.note(f"{hits} of {count} left a journal")
    r.check("some kills hit the writing", hits * 3 >= count, hits)
    disk.unlink(missing_ok=True)
