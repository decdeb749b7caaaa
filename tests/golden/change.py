#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Laws of changing a machine, on every captured machine and four profiles, through the command line:
apply then undo is the identity to the byte; apply twice is apply once; check after apply finds nothing that a plan
would still change; undo leaves what somebody changed since; a plan from a file does what it says or nothing; a dry
run writes nothing; what is printed follows its schema.

    change.py GPUTUNE [MACHINE...]
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

from common import captured, end_suite, expect, fits, run, snapshot

own = "root/var/lib/gputune"
mark = ".gputune-gone"
profiles = ("default", "published", "max-performance", "low-latency")


everything = ",".join(s["id"] for s in json.loads(run("list", "--format", "json")[1])["settings"])


def without_own(files):
    return {k: v for k, v in files.items() if not k.startswith(own)}


limit_of_zfs = "zfs.arc-meta-limit"


def is_limit_in_force(machine, name, what, here):
    """ZFS takes no 0 back while it runs: the parameter holds what it used for that, which is as good."""
    if not name.endswith("/zfs_arc_meta_limit") or here != ("file", b"0\n"):
        return False
    words = (machine / "root/proc/spl/kstat/zfs/arcstats").read_text().split()
    return what == ("file", words[words.index("arc_meta_limit") + 2].encode() + b"\n")


def without_limit(plan):
    return {**plan, "changes": [c for c in plan["changes"] if c["id"] != limit_of_zfs]}


def strange(machine, overlay):
    """What the overlay holds that the captured machine does not hold anyway; our own files aside."""
    bad = []
    for name, what in without_own(snapshot(overlay)).items():
        below = machine / name
        if name.startswith("root/"):
            here = (("link", os.readlink(below)) if below.is_symlink() else
                    ("file", below.read_bytes()) if below.is_file() else None)
            if what != here and not is_limit_in_force(machine, name, what, here):
                bad.append((name, what[1][:80], here and here[1][:80]))
        elif name.startswith("gone/"):
            gone = machine / name[len("gone/"):-len("/" + mark)]
            if not name.endswith(mark) or gone.is_symlink() or gone.exists():
                bad.append((name, "removed"))
        elif name.startswith("told/"):
            page = machine / "api" / name[len("told/"):]
            captured = json.loads(page.read_text()) if page.exists() else {}
            for thing, answers in json.loads(what[1]).items():
                for field, value in answers.items():
                    if captured.get(thing, {}).get(field) != value:
                        bad.append((name, thing, field, value))
        else:
            bad.append((name, "has no place here"))
    for path in (overlay / "root").rglob("*"):
        name = path.relative_to(overlay)
        if path.is_dir() and not path.is_symlink() and not (machine / name).is_dir() \
                and not str(name).startswith(own) and not own.startswith(str(name)):
            bad.append((str(name), "a folder that was not there"))
    return bad


def merged(machine, overlay, to):
    """The machine as it is now, as a capture of its own: put together without gputune."""
    shutil.copytree(machine, to, symlinks=True)
    for name, (kind, data) in snapshot(overlay).items():
        if name.startswith("gone/"):
            path = to / name[len("gone/"):-len("/" + mark)]
            if path.is_symlink() or path.is_file():
                path.unlink()
            elif path.is_dir():
                shutil.rmtree(path)
    for name, (kind, data) in snapshot(overlay).items():
        path = to / name
        if name.startswith("told/"):
            path = to / "api" / name[len("told/"):]
            page = json.loads(path.read_text()) if path.exists() else {}
            for thing, answers in json.loads(data).items():
                page.setdefault(thing, {}).update(answers)
            path.write_text(json.dumps(page))
        elif name.startswith("root/") and not name.startswith(own):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or path.exists():
                path.unlink()
            if kind == "link":
                path.symlink_to(data)
            else:
                path.write_bytes(data)


def open_changes(plan):
    return [c for c in plan["changes"] if not c["gate"]]


def file_of(machine, overlay, change):
    """The file in the overlay that a change has written; None where it is none, or one with a counterpart."""
    kind, name = change["knob"]["kind"], change["knob"]["name"]
    if kind == "sysctl" and "dirty" not in name and "overcommit" not in name:
        path = machine / "root/proc/sys" / name.replace(".", "/")
    elif kind == "sysfs":
        path = machine / "root" / name[1:]
    else:
        return None
    real = pathlib.Path(os.path.realpath(path))
    if machine not in real.parents:
        return None
    path = overlay / real.relative_to(machine)
    return path if path.is_file() and path.read_text().strip().isdigit() else None


def another(path, change):
    """Neither what was there nor what we have written."""
    n = int(path.read_text()) + 1
    return f"{n + (str(n) == change['before'])}\n"


class Case:
    def __init__(self, machine, profile, tmp):
        self.machine, self.profile, self.tmp = machine, profile, tmp
        self.name = f"{machine.name} {profile}"
        self.wish = ("--profile", profile, "--allow", everything)
        self.n = 0

    def overlay(self):
        self.n += 1
        return self.tmp / f"o{self.n}"

    def ask(self, verb, overlay, *argv, wish=True):
        code, out, err = run(verb, *argv, "--host", self.machine, "--overlay", overlay, "--format", "json",
                             *(self.wish if wish and verb in ("plan", "apply") else ()))
        if "Sanitizer" in err or code < 0:
            expect(f"{self.name}: {verb} ends well", False, err)
        return code, fits(f"{self.name}: {verb} follows its schema", out) if out else None, err

    def plan(self, overlay):
        return self.ask("plan", overlay)

    def apply(self, overlay):
        return self.ask("apply", overlay, "--yes")

    def law(self, what, ok, detail=""):
        return expect(f"{self.name}: {what}", ok, detail)

    def there_and_back(self):
        o = self.overlay()
        code, before, _ = self.plan(o)
        self.law("a plan writes nothing", not snapshot(o), list(snapshot(o)))
        code, _, err = self.ask("apply", o, "--dry-run")
        self.law("a dry run writes nothing", code == 0 and not snapshot(o), (code, err, list(snapshot(o))))
        code, done, err = self.apply(o)
        if not self.law("applies", code == 0, (code, err)):
            return
        self.changes = open_changes(before)
        self.law("every change is reported", len(done["rows"]) == len(self.changes) and
                 all(r["outcome"] == "done" for r in done["rows"]), done["rows"][:3])
        self.law("something is written", bool(self.changes) == bool(without_own(snapshot(o))))
        self.applied = snapshot(o)
        self.once(o)
        self.nothing_left(o)
        code, now, _ = self.ask("status", o)
        unseen = [r for r in now["rows"] if r["state"] == "unknown"]
        self.law("all is ours, and what cannot be read is said", code == (5 if unseen else 0) and
                 all(r["state"] in ("ours", "waits", "unknown") for r in now["rows"]) and
                 all(r["knob"]["name"].endswith("-clock-lock") for r in unseen), (code, now["summary"]))
        code, _, err = self.ask("verify", o)
        self.law("verified", code in (0, 1, 5), (code, err))
        held = snapshot(o)
        code, report, err = self.ask("undo", o, "--all", "--dry-run")
        self.law("a dry run of undo says so and writes nothing", code == 0 and report["dry_run"] and report["transaction"] is None and
                 snapshot(o) == held, (code, err, report["transaction"]))
        code, report, err = self.ask("undo", o, "--only", "nic.mtuu", "--yes")
        self.law("undo knows the ids", code == 2 and "nic.mtu" in err and snapshot(o) == held, (code, err))
        code, report, err = self.ask("undo", o, "--all", "--yes")
        self.law("undone", code == 0 and not report["dry_run"], (code, err))
        self.law("apply then undo is the identity", not strange(self.machine, o), strange(self.machine, o)[:4])
        code, after, _ = self.plan(o)
        self.law("the plan is what it was", without_limit(after) == without_limit(before))
        left = [r for r in report["rows"] if r["id"] == limit_of_zfs]
        self.law("undo says that a limit of ZFS is not 0 again", all("the limit is restored; the parameter was 0 before, but shows the" in r["sentence"] for r in left), left)
        self.ask("history", o)
        code, _, err = self.ask("undo", o, "--all", "--yes")
        self.law("nothing is left to undo", code == 0 and "nothing to undo" in err, (code, err))

    def once(self, o):
        _, again, _ = self.plan(o)
        self.law("nothing is left to change", not open_changes(again),
                 [(c["id"], c["target"], c["before"], c["after"]) for c in open_changes(again)][:5])
        code, _, err = self.apply(o)
        self.law("apply twice is apply once", code == 0 and snapshot(o) == self.applied, (code, err))
        self.after = again

    def nothing_left(self, o):
        now = self.tmp / "now"
        merged(self.machine, o, now)
        code, out, err = run("check", "--host", now, "--format", "json", "--profile", self.profile)
        shutil.rmtree(now)
        try:
            wrong = {f["id"] for f in json.loads(out)["findings"] if f["verdict"] == "fail"}
        except ValueError:
            self.law("the changed machine can be checked", False, err)
            return
        known = {c["id"] for c in self.after["changes"]} | {a["id"] for a in self.after["advice"]} | \
            {c["id"] for c in self.changes if c["effect"] != "now"}
        self.law("check after apply finds nothing that can be changed", wrong <= known, wrong - known)

    def somebody(self):
        o = self.overlay()
        self.apply(o)
        files = {}
        for c in self.changes:
            path = file_of(self.machine, o, c)
            if path:
                files[path] = c
        paths = sorted(files)
        theirs = {p: another(p, files[p]) for p in {*paths[:1], *paths[len(paths) // 2:][:1], *paths[-1:]}}
        for path, text in theirs.items():
            path.write_text(text)
        if not theirs:
            return
        code, _, _ = self.ask("status", o)
        self.law("status sees somebody's changes", code == 1, code)
        code, report, err = self.ask("undo", o, "--all", "--yes")
        self.law("undo with somebody's changes", code == 0, (code, err))
        foreign = [r["id"] for r in report["rows"] if r["outcome"] == "foreign"]
        self.law("undo says what it left", sorted(foreign) == sorted(files[p]["id"] for p in theirs), foreign)
        self.law("undo leaves what somebody changed", all(p.read_text() == t for p, t in theirs.items()),
                 {str(p.relative_to(o)): (t, p.read_text()) for p, t in theirs.items() if p.read_text() != t})
        left = {x[0] for x in strange(self.machine, o)}
        self.law("undo restores the rest", left == {str(p.relative_to(o)) for p in theirs}, left)
        code, _, err = self.ask("undo", o, "1", "--yes", "--force")
        self.law("by force it is the identity", code == 0 and not strange(self.machine, o),
                 (code, err, strange(self.machine, o)[:3]))

    def away(self):
        """A pool that is not imported just now keeps its property, and the change stays open."""
        pools = [c for c in self.changes if c["knob"]["kind"] == "zfs-property"]
        if not pools:
            return
        o = self.overlay()
        self.ask("apply", o, "--yes", "--only", pools[0]["id"])
        told = o / "told/zpool.json"
        with_pool = told.read_text()
        told.write_text(json.dumps({c["knob"]["object"]: {c["knob"]["name"]: {"error": "ENOENT"}} for c in pools}))
        for argv in (("--all",), ("--all", "--dry-run")):
            code, report, err = self.ask("undo", o, "--yes", *argv)
            self.law("undo leaves open what is missing now", code == 4 and report["rows"] and
                     all(r["outcome"] == "stuck" and "left unchanged" in r["sentence"] for r in report["rows"]), (code, report, err))
        code, now, _ = self.ask("status", o)
        self.law("status names it", code == 4 and len(now["rows"]) == len(report["rows"]), (code, now))
        told.write_text(with_pool)
        code, _, err = self.ask("undo", o, "--yes", "--all")
        self.law("back, it is undone", code == 0 and not strange(self.machine, o), (code, err))

    def by_file(self):
        o, file = self.overlay(), self.tmp / "plan.json"
        code, out, err = run("plan", "--host", self.machine, "-o", file, *self.wish)
        self.law("a plan is kept", file.exists(), (code, err))
        code, _, err = self.ask("apply", o, file, "--yes", "--allow", everything, wish=False)
        self.law("a plan from a file does the same", code == 0 and
                 without_own(snapshot(o)) == without_own(self.applied), (code, err))
        if self.profile == "default":
            self.narrowed(file)
        # The machine changes before the plan is applied; with one CPU's idle state its group is another one.
        sysctls = [c for c in self.changes if c["knob"]["kind"] == "sysctl"]
        states = [c for c in self.changes if "/cpuidle/" in c["knob"]["name"]]
        for c in self.first_file(sysctls) + self.first_file(states):
            self.stale(c, file)

    def narrowed(self, file):
        """Of a plan from a file only what --only and --skip leave."""
        one = self.changes[0]["id"]
        o = self.overlay()
        code, _, err = self.ask("apply", o, file, "--yes", "--profile", "default", wish=False)
        self.law("a plan and a profile are a usage error", code == 2 and "--profile" in err and not snapshot(o), (code, err))
        for option, ok in (("--skip", lambda r: r["id"] != one), ("--only", lambda r: r["id"] == one)):
            o = self.overlay()
            code, done, err = self.ask("apply", o, file, "--yes", "--allow", everything, option, one, wish=False)
            self.law(f"a plan from a file obeys {option}", code == 0 and all(ok(r) for r in done["rows"]) and
                     (done["rows"] or option == "--skip"), (code, err, done and done["rows"][:2]))

    def first_file(self, changes):
        return [c for c in changes if file_of(self.machine, self.machine, c)][:1]

    def stale(self, c, file):
        path = file_of(self.machine, self.machine, c)
        o = self.overlay()
        stale = o / path.relative_to(self.machine)
        stale.parent.mkdir(parents=True)
        stale.write_text("1\n" if "/cpuidle/" in c["knob"]["name"] else another(path, c))
        before = without_own(snapshot(o))
        code, _, err = self.ask("apply", o, file, "--yes", "--allow", everything, wish=False)
        self.law("a stale plan is refused", code == 3 and "in the plan it was" in err, (code, err))
        self.law("a stale plan writes nothing", without_own(snapshot(o)) == before)
        self.law("nor to the journal", not (o / own / "journal.jsonl").exists())


names = sys.argv[2:]
shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
for machine in captured:
    if names and machine.name not in names:
        continue
    for profile in profiles:
        with tempfile.TemporaryDirectory(dir=shm) as tmp:
            case = Case(machine, profile, pathlib.Path(tmp))
            case.changes, case.applied = None, None
            case.there_and_back()
            if case.changes:
                case.somebody()
                case.away()
                case.by_file()
end_suite()
