#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files for the next boot, on every captured machine: install, look, remove, byte for byte as before; a file that
somebody edited is left; the unit re-applies and reports; and the programs that read such files take them: systemd-analyze,
systemd-sysctl, systemd-tmpfiles, udevadm, modprobe, netplan. A program that is not here is a visible skip."""
import collections
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

from common import captured, copy_of, end_suite, expect, finish, fits, gputune, machines, run, skip, start

missing = collections.Counter()


def program(name, *more):
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/systemd")
    if not path:
        missing[name] += 1
        return None
    return [path, *more]


def tool(*argv):
    return finish(start(*argv))


class Machine:
    def __init__(self, capture, folder):
        self.host = ["--host", str(capture), "--overlay", str(folder)]
        self.capture, self.folder = capture, pathlib.Path(folder)

    def run(self, *argv):
        return run(*argv, *self.host)

    def json(self, verb, *argv):
        code, out, err = self.run(verb, *argv, "--format", "json")
        j = fits(f"{self.capture.name}: {verb} {argv} fits its schema", out, verb, err) or {}
        expect(f"{self.capture.name}: {verb} {argv} says its exit code", j.get("exit_code") == code, (j, code))
        return code, j

    def fits(self, schema, path):
        fits(f"{path} fits its schema", path.read_text(), schema)

    def path(self, name):
        return self.folder / "root" / name.lstrip("/")

    def left(self):
        """What differs from the capture, our own state apart: files, links, folders that it has not, removals."""
        out = []
        for p in sorted(self.folder.rglob("*")):
            name = p.relative_to(self.folder)
            if name.parts[:4] == ("root", "var", "lib", "gputune") or str(name) in ("root", "root/var", "root/var/lib"):
                continue
            if name.parts[0] in ("told", "gone") and len(name.parts) == 1:
                continue
            if p.is_dir() and not p.is_symlink() and (self.capture / name).is_dir():
                continue
            if p.is_file() and not p.is_symlink() and (self.capture / name).is_file() and p.read_bytes() == (self.capture / name).read_bytes():
                continue
            out.append(str(name))
        return out


def check_tools(m, name):
    """Every file through the program that reads it at boot."""
    sysctl, tmpfiles = m.path("/etc/sysctl.d/99-zz-gputune.conf"), m.path("/etc/tmpfiles.d/zz-gputune.conf")
    rules, options = m.path("/etc/udev/rules.d/99-zz-gputune.rules"), m.path("/etc/modprobe.d/zz-gputune.conf")
    unit, yaml = m.path("/etc/systemd/system/gputune-boot.service"), m.path("/etc/netplan/90-gputune.yaml")
    if unit.exists():
        # The machine is read first: what the unit may not ask, of the kernel's log for one, must not kill it.
        expect(f"{name}: a call that the unit may not make is refused, not its end", "SystemCallErrorNumber=EPERM\n" in unit.read_text())
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        if unit.exists() and program("systemd-analyze"):
            copy = tmp / "gputune-boot.service"
            copy.write_text(unit.read_text().replace("/usr/bin/gputune", "/bin/true"))
            code, out, err = tool(*program("systemd-analyze", "verify", "--man=no", str(copy)))
            expect(f"{name}: systemd-analyze verify", code == 0 and not err.strip(), err)
            code, out, err = tool(*program("systemd-analyze", "security", "--offline=true", "--threshold=40", str(copy)))
            score = re.findall(r"level for \S+: ([0-9.]+)", out)
            expect(f"{name}: systemd-analyze security below 4.0", code == 0 and score and float(score[0]) < 4.0, (score, err))
        if sysctl.exists() and program("sysctl"):
            code, out, err = tool(*program("sysctl", "--dry-run", "-e", "-p", str(sysctl)))
            lines = [x for x in sysctl.read_text().splitlines() if x and x[0] != "#"]
            expect(f"{name}: sysctl reads it", code == 0 and out.split() == " ".join(lines).split(), (code, out, lines, err))
        if tmpfiles.exists() and program("systemd-tmpfiles"):
            fake = tmp / "root"
            for line in re.findall(r"^w\+? (\S+)", tmpfiles.read_text(), re.M):
                at = fake / line.lstrip("/")
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_text("")
            code, out, err = tool(*program("systemd-tmpfiles", "--create", f"--root={fake}", str(tmpfiles)))
            for path, value in re.findall(r"^w\+? (\S+) - - - - (.*)$", tmpfiles.read_text(), re.M):
                got = (fake / path.lstrip("/")).read_text()
                expect(f"{name}: systemd-tmpfiles writes {path}", code == 0 and got.strip() == value, (code, got, value, err))
        if rules.exists() and program("udevadm"):
            if " verify " in tool(*program("udevadm", "--help"))[1].replace("\n", " "):
                code, out, err = tool(*program("udevadm", "verify", "--no-summary", str(rules)))
                expect(f"{name}: udevadm verify", code == 0, (out, err))
            else:
                missing["udevadm verify"] += 1
            for line in rules.read_text().splitlines():
                expect(f"{name}: a rule", not line or line[0] == "#" or re.fullmatch(
                    r'ACTION=="add(\|change)?"(, [A-Z_]+(\{[A-Za-z_/]+\})?(==|!=)"[^"]*")+, ATTR\{(queue/|device/)?[a-z_]+\}="[^"]*"', line),
                    line)
        if options.exists() and program("modprobe"):
            code, out, err = tool(*program("modprobe", "--config", str(options), "--showconfig"))
            for line in re.findall(r"^options .*$", options.read_text(), re.M):
                expect(f"{name}: modprobe takes {line}", code == 0 and line in out, (out[:400], err))
        if yaml.exists() and program("netplan"):
            expect(f"{name}: netplan's file is root's alone", yaml.stat().st_mode & 0o777 == 0o600, oct(yaml.stat().st_mode))
            fake = tmp / "np"
            (fake / "etc/netplan").mkdir(parents=True)
            for p in [yaml, *m.capture.glob("root/etc/netplan/*.yaml")]:
                shutil.copy(p, fake / "etc/netplan")
                os.chmod(fake / "etc/netplan" / p.name, 0o600)
            code, out, err = tool(*program("netplan", "generate", "--root-dir", str(fake)))
            made = "".join(p.read_text() for p in (fake / "run").rglob("*") if p.is_file() and not p.is_symlink())
            expect(f"{name}: netplan generate", code == 0 and re.search(r"(?i)mtu(bytes)?=9000", made), (code, err, made[:300]))


def cycle(capture, profile, folder):
    m, name = Machine(capture, folder), f"{capture.name} {profile}"
    code, j = m.json("persist", "install", "--profile", profile, "--allow", "*", "--yes")
    expect(f"{name}: install", code in (0, 1) and not j["error"], (code, j["error"]))
    written = [f["path"] for f in j["files"]]
    for path in written:
        p = m.path(path)
        if p.is_symlink():
            expect(f"{name}: the unit's link", os.readlink(p) == "/etc/systemd/system/gputune-boot.service", os.readlink(p))
            continue
        text = p.read_text()
        expect(f"{name}: {path} says who wrote it and how to undo", "gputune persist remove" in text, text[:200])
    if written:
        m.fits("boot", m.path("/etc/gputune/boot.json"))
    check_tools(m, name)
    code, j = m.json("persist", "install", "--profile", profile, "--allow", "*", "--yes")
    expect(f"{name}: a second install writes nothing", all(f["state"] == "same" for f in j["files"]) and not j["transaction"],
           [(f["path"], f["state"]) for f in j["files"] if f["state"] != "same"])
    code, j = m.json("persist", "diff")
    expect(f"{name}: then there is no difference", code == 0 and not any(f["diff"] for f in j["files"]), j["files"])
    code, j = m.json("persist", "status")
    expect(f"{name}: status knows every file", {f["path"] for f in j["files"] if ": " not in f["path"]} == set(written),
           ({f["path"] for f in j["files"]} ^ set(written)))
    kept = j["rows"]
    code, out, err = m.run("undo", "--yes")
    expect(f"{name}: undo leaves what is kept, and says so", all(m.path(p).exists() or m.path(p).is_symlink() for p in written)
           and (not written or "persist remove" in err), err)
    boot(m, name, kept)
    if profile == "default":
        code, out, err = m.run("undo", "--all", "--yes")
        expect(f"{name}: undo --all takes the files, too", code == 0 and "next boot" not in err and
               not any(m.path(p).exists() or m.path(p).is_symlink() for p in written), (code, out, err))
    else:
        m.run("undo", "--yes")
    code, j = m.json("persist", "remove", "--yes")
    expect(f"{name}: remove", code == 0, (code, j["error"], j["outcomes"]))
    # What apply --boot wrote and undo wrote back stays in the overlay; configuration has to be gone.
    left = [x for x in m.left() if x.split("/")[:2] not in (["root", "proc"], ["root", "sys"]) and x.split("/")[0] != "told"]
    expect(f"{name}: all is as it was", not left, left[:10])
    m.json("history")
    return written


def boot(m, name, kept):
    """What the unit does: applies its share, and writes the report that verify --boot prints."""
    unit = [r for r in kept if r["keeper"] == "unit"]
    if not kept:
        return
    before = m.left()
    code, out, err = m.run("apply", "--boot", "--dry-run")
    expect(f"{name}: apply --boot --dry-run shows what it would write", code == 0 and out and "dry run" in err and m.left() == before and
           not m.path("/var/lib/gputune/boot-report.json").exists(), (code, err))
    code, out, err = m.run("apply", "--boot")
    expect(f"{name}: apply --boot", code in (0, 1), (code, err))
    m.fits("boot-report", m.path("/var/lib/gputune/boot-report.json"))
    code, j = m.json("verify", "--boot")
    state = {(r["id"], r["knob"]["name"], r["knob"]["object"]): r for r in j["rows"]}
    bad = [r for r in unit if state.get((r["id"], r["knob"]["name"], r["knob"]["object"]), {}).get("state")
           not in ("in-force", "unknown")]
    expect(f"{name}: what the unit keeps is in force", not bad, [(b["id"], state.get((b["id"], b["knob"]["name"], b["knob"]["object"])))
                                                                 for b in bad[:3]])
    expect(f"{name}: the report is of every kept value", len(j["rows"]) >= len(kept), (len(j["rows"]), len(kept)))
    code, j = m.json("status")
    expect(f"{name}: status says what keeps it", all(r["kept_by"] for r in j["rows"]), [r for r in j["rows"] if not r["kept_by"]][:2])


def foreign(capture, folder):
    """Edited, removed, chmodded and replaced files; a foreign file in our folder."""
    m, name = Machine(capture, folder), f"{capture.name} foreign"
    m.json("persist", "install", "--profile", "default", "--yes")
    sysctl, unit = m.path("/etc/sysctl.d/99-zz-gputune.conf"), m.path("/etc/systemd/system/gputune-boot.service")
    rules, extra = m.path("/etc/udev/rules.d/99-zz-gputune.rules"), m.path("/etc/gputune/site.txt")
    sysctl.write_text(sysctl.read_text() + "vm.nr_overcommit_hugepages = 4\n")
    rules.chmod(0o600)
    extra.write_text("mine\n")
    code, j = m.json("persist", "status")
    states = {f["path"]: f["state"] for f in j["files"]}
    expect(f"{name}: status sees the edit", code == 1 and states["/etc/sysctl.d/99-zz-gputune.conf"] == "foreign", states)
    expect(f"{name}: and the mode", states["/etc/udev/rules.d/99-zz-gputune.rules"] == "foreign", states)
    before = sysctl.read_text()
    code, j = m.json("persist", "install", "--only", "memory.thp-enabled", "--profile", "published", "--yes")
    expect(f"{name}: install does not replace it", code == 3 and sysctl.read_text() == before, code)
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: remove leaves what is theirs", code == 1 and sysctl.read_text() == before and extra.exists()
           and rules.exists() and not unit.exists() and "not removed" in out, (code, out, err))
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: a second remove has nothing to do but to name what stays", code == 1 and all(f"{w} was not removed: " in err for w in
           ("/etc/sysctl.d/99-zz-gputune.conf", "/etc/udev/rules.d/99-zz-gputune.rules", "/etc/gputune/")), (code, out, err))
    code, out, err = m.run("persist", "remove", "--yes", "--force")
    expect(f"{name}: --force takes them too", code in (0, 1) and not sysctl.exists() and not rules.exists() and extra.exists(),
           (code, out, err))


def layers(capture, folder):
    """Installing more, what apply changed, and a file that was there before us."""
    m, name = Machine(capture, folder), f"{capture.name} layers"
    m.run("apply", "--only", "memory.swappiness", "--yes")
    code, j = m.json("persist", "install", "--yes")
    expect(f"{name}: install takes what apply changed", [r["id"] for r in j["rows"]] == ["memory.swappiness"], j["rows"])
    code, j = m.json("persist", "diff", "--only", "net.rmem-max")
    expect(f"{name}: diff shows the line", code == 1 and any("+net.core.rmem_max = " in (f["diff"] or "") for f in j["files"]), j["files"])
    code, j = m.json("persist", "install", "--only", "net.rmem-max", "--yes")
    expect(f"{name}: and keeps both", {r["id"] for r in j["rows"]} == {"memory.swappiness", "net.rmem-max"}, j["rows"])
    code, j = m.json("persist", "install", "--only", "net.wmem-max", "--dry-run")
    expect(f"{name}: a dry run says that it is one", j["dry_run"] and j["transaction"] is None, j)
    expect(f"{name}: a dry run writes nothing", "wmem" not in m.path("/etc/sysctl.d/99-zz-gputune.conf").read_text())
    code, j = m.json("persist", "remove", "--yes")
    expect(f"{name}: remove takes all layers", code == 0 and not m.path("/etc/gputune").exists(), m.left())
    m.path("/etc/gputune").mkdir()
    m.path("/etc/gputune/boot.json").write_text("{}\n")
    code, out, err = m.run("persist", "install", "--yes")
    expect(f"{name}: a request that is not ours is refused", code == 2 and "boot.json" in err, (code, err))


def not_kept(capture, folder):
    """What --skip leaves out, what was interrupted, and files that no journal knows."""
    m, name = Machine(capture, folder), f"{capture.name} not kept"
    journal, request = m.path("/var/lib/gputune/journal.jsonl"), m.path("/etc/gputune/boot.json")
    copy = m.path("/var/lib/gputune/journal.copy.jsonl")
    m.run("apply", "--profile", "published", "--only", "memory.swappiness,net.rmem-max", "--yes")
    code, j = m.json("persist", "install", "--skip", "memory", "--dry-run")
    expect(f"{name}: --skip alone is obeyed", [r["id"] for r in j["rows"]] == ["net.rmem-max"], j["rows"])
    text = journal.read_text()
    journal.write_text(text[:text.rindex('{"t":"end"')])
    copy.unlink()
    code, j = m.json("persist", "install", "--dry-run")
    expect(f"{name}: what was interrupted is not kept", not j["rows"] and len(j["skipped"]) == 2, j["rows"])
    code, out, err = m.run("persist", "install", "--yes")
    expect(f"{name}: it is rolled back first", code == 0 and "was rolled back" in err and not request.exists(), (code, err))
    m.run("persist", "install", "--profile", "published", "--only", "net.rmem-max", "--yes")
    code, out, err = m.run("apply", "--boot", "--skip", "net")
    expect(f"{name}: apply --boot takes no --skip", code == 2 and "--skip" in err, (code, err))
    journal.unlink()
    copy.unlink()
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: without a journal the files stay, and are named", code == 3 and request.exists() and
           all(f"{p} is not in the journal" in err for p in ("/etc/gputune/boot.json", "/etc/sysctl.d/99-zz-gputune.conf")), (code, out, err))


def interrupted(capture, folder):
    """What an installation that was killed leaves in /etc is told by status, and named when it goes."""
    m, name = Machine(capture, folder), f"{capture.name} interrupted"
    journal, request = m.path("/var/lib/gputune/journal.jsonl"), m.path("/etc/gputune/boot.json")
    half, saved = (pathlib.Path(f"{request}.gputune-{w}") for w in ("new", "old"))

    def kill(before_rename):
        m.run("persist", "install", "--profile", "published", "--only", "memory,net", "--yes")
        text = journal.read_text()
        journal.write_text(text[:text.rindex('{"t":"end"')])
        m.path("/var/lib/gputune/journal.copy.jsonl").unlink()
        if before_rename:
            request.rename(half)
            m.path("/etc/sysctl.d/99-zz-gputune.conf").unlink()

    for before_rename in (False, True):
        kill(before_rename)
        there = "/etc/gputune/boot.json" + (".gputune-new" if before_rename else "")
        code, out, err = m.run("persist", "status")
        expect(f"{name}: status names what lies there", code == 1 and "was interrupted" in out and there in out and "keeps nothing" not in out,
               (code, out, err))
        code, j = m.json("persist", "status")
        expect(f"{name}: so does its JSON", code == 1 and any("was interrupted" in n and there in n for n in j["notes"]), j["notes"])
        expect(f"{name}: looking removes nothing", m.path(there).exists())
        code, out, err = m.run("persist", "remove", "--yes")
        expect(f"{name}: remove takes it away and says so", code == 0 and not m.path("/etc/gputune").exists() and
               "1 interrupted transaction was rolled back first" in out and (f"removed {there}," in out) == before_rename, (code, out, err, m.left()))
        code, out, err = m.run("persist", "status")
        expect(f"{name}: then nothing is kept", code == 0 and "keeps nothing" in out and "was interrupted" not in out, (code, out))
    for verb in ("undo", "install"):
        kill(True)
        code, out, err = m.run(*(["undo", "--yes"] if verb == "undo" else ["persist", "install", "--yes"]))
        expect(f"{name}: {verb} does so too", code == 0 and not half.exists() and f"removed /etc/gputune/{half.name}," in out + err, (code, out, err))
    kill(True)
    code, j = m.json("undo", "--yes")
    expect(f"{name}: and JSON lists it", len(j["leftovers"]) == 1 and half.name in j["leftovers"][0], j["leftovers"])
    # Somebody else's, by its kind: a link is not followed and not removed.
    kill(True)
    half.unlink()
    half.symlink_to("/etc/passwd")
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: what is not ours stays, and is named", code == 1 and half.is_symlink() and f"{half.name} is not a regular file owned by root" in out, (code, out))
    half.unlink()
    m.run("persist", "remove", "--yes", "--force")
    # The text of before, saved beside a file that is written in its place: gone when the file holds it again.
    kill(False)
    saved.write_text("another text\n")
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: what was saved stays while it is the only one", saved.exists() and "compare the two" in out, (code, out))
    saved.unlink()


def by_hand(capture, tmp):
    """What people do to files of ours: remove, rename and replace some. Status tells, and remove ends with all of it gone or named."""
    sysctl, mine = "/etc/sysctl.d/99-zz-gputune.conf", "/etc/sysctl.d/50-mine.conf"
    for what, state, stays in (("removed", "missing", ()), ("renamed", "missing", (mine,)), ("copied", "same", ()), ("a link", "foreign", (sysctl,)),
                               ("without request", "same", ()), ("folder renamed", "same", ()), ("cut short", "foreign", (sysctl,)),
                               ("request edited", None, ("/etc/gputune/boot.json", "/etc/gputune/"))):
        m, name = Machine(capture, f"{tmp}/by-hand-{what.replace(' ', '-')}"), f"{capture.name} by hand, {what}"
        m.run("persist", "install", "--profile", "published", "--only", "memory,net", "--yes")
        file, request = m.path(sysctl), m.path("/etc/gputune/boot.json")
        if what == "removed":
            file.unlink()
            m.path("/etc/systemd/system/gputune-boot.service").unlink()
        elif what == "renamed":
            file.rename(m.path(mine))
        elif what == "copied":
            shutil.copy(file, m.path(mine))
        elif what == "a link":
            file.rename(m.path("/etc/other"))
            file.symlink_to("/etc/other")
        elif what == "without request":
            request.unlink()
        elif what == "folder renamed":
            request.parent.rename(m.path("/etc/gputune.bak"))
        elif what == "cut short":
            file.write_text(file.read_text()[:200])
        else:
            request.write_text(request.read_text() + "more\n")
        if state:
            code, j = m.json("persist", "status")
            states = {f["path"]: f for f in j["files"]}
            expect(f"{name}: status tells", states[sysctl]["state"] == state and code == (0 if what == "copied" else 1), (code, states[sysctl]))
            if what == "renamed":
                expect(f"{name}: and where it is", states[sysctl]["sentence"] == f"the old contents are in {mine}", states[sysctl])
            kept = [r for r in j["rows"] if r["kept_by"] == sysctl]
            expect(f"{name}: what is not there is not called in force", all((state == "same") == (not r["contested"]) for r in kept), kept)
        code, out, err = m.run("persist", "remove", "--yes")
        expect(f"{name}: remove names what stays", code == (1 if stays else 0) and all(f"{s} was not removed: " in err for s in stays) and
               err.count(" was not removed: ") == len(stays), (code, out, err))
        expect(f"{name}: and nothing else of ours does", not m.path("/etc/systemd/system/gputune-boot.service").exists() and
               request.parent.exists() == ("/etc/gputune/" in stays) and file.exists() == (sysctl in stays and what != "a link"), m.left())
        code, out, err = m.run("persist", "remove", "--yes", "--force")
        expect(f"{name}: --force takes what is left in our place", code in (0, 1) and not file.is_symlink() and not file.exists() and
               not request.parent.exists(), (code, out, err))
        code, out, err = m.run("persist", "remove", "--yes")
        expect(f"{name}: then nothing is named", code == 0 and not err, (code, err))


def partly(capture, folder):
    """remove --only: these ids alone, from files that hold several, and byte for byte where the last one goes."""
    m, name = Machine(capture, folder), f"{capture.name} partly"
    sysctl, tmpfiles = m.path("/etc/sysctl.d/99-zz-gputune.conf"), m.path("/etc/tmpfiles.d/zz-gputune.conf")
    unit, request = m.path("/etc/systemd/system/gputune-boot.service"), m.path("/etc/gputune/boot.json")
    m.json("persist", "install", "--only", "memory.swappiness", "--profile", "published", "--yes")
    first = {p: p.read_bytes() for p in (sysctl, unit, request)}
    m.json("persist", "install", "--only", "net.rmem-max,memory.thp-enabled", "--profile", "published", "--yes")
    both = {p: p.read_bytes() for p in (sysctl, unit, request, tmpfiles)}
    expect(f"{name}: two kinds of files", b"rmem_max" in both[sysctl] and b"transparent" in both[tmpfiles], both)
    code, j = m.json("persist", "remove", "--only", "net.rmem-max,memory.thp-enabled", "--dry-run")
    expect(f"{name}: a dry run writes nothing", code == 0 and {p: p.read_bytes() for p in both} == both, code)
    code, j = m.json("persist", "remove", "--only", "memory.thp-enabled", "--yes")
    expect(f"{name}: the file of the last one goes, with its folder", code == 0 and not tmpfiles.parent.exists() and
           sysctl.read_bytes() == both[sysctl], (code, j["outcomes"], m.left()))
    expect(f"{name}: and says so", ("/etc/tmpfiles.d/zz-gputune.conf", "restored") in
           {(o["name"], o["outcome"]) for o in j["outcomes"]}, j["outcomes"])
    expect(f"{name}: what stays is named", {r["id"] for r in j["rows"]} == {"memory.swappiness", "net.rmem-max"}, j["rows"])
    code, j = m.json("persist", "remove", "--only", "net.rmem-max", "--yes")
    expect(f"{name}: a file of several is written anew", code == 0 and {p: p.read_bytes() for p in first} == first,
           (code, sysctl.read_text()))
    code, j = m.json("persist", "remove", "--dry-run")
    expect(f"{name}: a dry run of all foresees that each goes", code == 0 and {o["outcome"] for o in j["outcomes"]} == {"restored"}, (code, j["outcomes"]))
    code, j = m.json("persist", "status")
    expect(f"{name}: the journal agrees", code == 0 and all(f["state"] == "same" for f in j["files"]), j["files"])
    code, out, err = m.run("persist", "remove", "--only", "net.rmem-max", "--yes")
    expect(f"{name}: it is not kept any more", code == 0 and "no value of" in err and sysctl.exists(), (code, err))
    code, out, err = m.run("persist", "remove", "--only", "nope", "--yes")
    expect(f"{name}: an unknown id", code == 2 and "nope" in err and sysctl.exists(), (code, err))
    code, j = m.json("persist", "install", "--only", "net.rmem-max", "--profile", "published", "--yes")
    expect(f"{name}: and can be kept again", code == 0 and b"rmem_max" in sysctl.read_bytes(), (code, j["error"]))
    sysctl.write_bytes(sysctl.read_bytes() + b"vm.swappiness = 3\n")
    code, out, err = m.run("persist", "remove", "--only", "net.rmem-max", "--yes")
    expect(f"{name}: an edited file is left", code == 3 and b"= 3" in sysctl.read_bytes() and "sysctl.d" in err, (code, err))
    sysctl.write_bytes(both[sysctl])
    code, j = m.json("persist", "remove", "--only", "net.rmem-max,memory.swappiness", "--yes")
    expect(f"{name}: of all it is remove", code == 0 and not m.left(), m.left())
    m.json("history")


BOOTS = [f"{n}1111111-2222-4333-8444-555555555555\n" for n in (1, 2)]
SMALL = {"memory.dirty-ratio": ("/proc/sys/vm/dirty_ratio", "20", "40"), "net.rmem-max": ("/proc/sys/net/core/rmem_max", "4194304", "16777216")}


def kept_over_a_boot(capture, folder):
    """Two values that files have set at the boot that runs."""
    m = Machine(capture, folder)
    boot = m.path("/proc/sys/kernel/random/boot_id")
    boot.parent.mkdir(parents=True)
    boot.write_text(BOOTS[0])
    m.run("apply", "--profile", "published", "--only", ",".join(SMALL), "--yes")
    m.run("persist", "install", "--yes")
    boot.write_text(BOOTS[1])
    return m


def taken_out(capture, folder):
    """Undo takes a kept kernel argument out of its file: nothing says any more that the next boot sets it."""
    m, name, drop_in = Machine(capture, folder), f"{capture.name} taken out", "/etc/default/grub.d/zz-gputune.cfg"
    grub = m.path("/boot/grub/grub.cfg")
    two = "boot.init-on-alloc,pcie.iommu"
    m.run("apply", "--only", two, "--allow", "*", "--yes")
    m.run("persist", "install", "--yes")

    def at_boot(*want):
        code, j = m.json("persist", "status")
        said = {r["id"]: r["contested"] for r in j["rows"]}
        expect(f"{name}: at boot, {want}", (code, said["boot.init-on-alloc"], said["pcie.iommu"]) == want, (code, said))

    at_boot(0, *["in effect if update-grub has run"] * 2)
    grub.parent.mkdir(parents=True)
    grub.write_text("\tlinux /boot/vmlinuz root=/dev/a ro\n")
    at_boot(0, *["in effect once update-grub has run"] * 2)
    grub.write_text("\tlinux /boot/vmlinuz root=/dev/a ro iommu=pt init_on_alloc=0\n")
    at_boot(0, None, None)
    code, out, err = m.run("undo", "--only", "pcie.iommu", "--dry-run")
    expect(f"{name}: a dry run of undo names what would stay", code == 0 and "still set at the next boot: boot.init-on-alloc;" in err, (code, err))
    code, out, err = m.run("undo", "--only", "pcie.iommu", "--yes")
    expect(f"{name}: so does undo", code == 0 and "still set at the next boot: boot.init-on-alloc;" in err, (code, err))
    at_boot(1, None, "the file no longer sets the value")
    code, out, err = m.run("undo", "--yes")
    expect(f"{name}: undo says that files stay", code == 0 and "files of persist install stay and set nothing; " in err and "persist remove" in err
           and not m.path(drop_in).exists(), (code, err))
    at_boot(1, *["the file no longer exists"] * 2)
    code, out, err = m.run("status")
    expect(f"{name}: status does not say that it is set again", code == 0 and "next boot" not in out, (code, out))
    code, out, err = m.run("undo", "--yes")
    expect(f"{name}: nothing to undo is no error", code == 0 and "nothing to undo" in err, (code, err))
    expect(f"{name}: as help says", "0: undone, or nothing to undo; 3: nothing could be undone" in " ".join(m.run("undo", "--help")[1].split()))
    code, out, err = m.run("persist", "remove", "--yes")
    grub.unlink(), grub.parent.rmdir()
    expect(f"{name}: remove takes the rest away", code == 0 and not [x for x in m.left() if "gputune" in x], (code, out, err, m.left()))


def values(m):
    return {k: m.path(path).read_text().strip() for k, (path, _, _) in SMALL.items()}


def on_a_terminal(m, answers, *argv):
    """Each question is answered by the next word."""
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    p = subprocess.run([gputune, *argv, *m.host], stdin=theirs, capture_output=True, text=True, timeout=300, cwd="/", env={"PATH": "/usr/bin:/bin"})
    os.close(ours)
    os.close(theirs)
    return p.returncode, p.stdout, p.stderr


def in_effect(capture, tmp):
    """What the files that are removed have set at this boot: told, and taken back by --now alone, or by a person's yes."""
    name, ours, before = f"{capture.name} in effect", {k: v[2] for k, v in SMALL.items()}, {k: v[1] for k, v in SMALL.items()}
    m = kept_over_a_boot(capture, tmp + "/a")
    code, out, err = on_a_terminal(m, "n\n", "undo")
    expect(f"{name}: undo asks about what it undoes", re.search(r"Undo transaction \d+ \(boot: net.rmem-max, memory.dirty-ratio\)\? Values kept for the next boot remain", out + err) and
           values(m) == ours, (code, out, err))
    code, j = m.json("persist", "remove", "--yes", "--dry-run", "--now")
    expect(f"{name}: a dry run writes nothing", code == 0 and values(m) == ours and m.path("/etc/gputune/boot.json").exists() and
           {o["name"] for o in j["outcomes"]} >= {"vm.dirty_ratio", "net.core.rmem_max"}, (code, j["outcomes"]))
    code, j = m.json("persist", "remove", "--yes")
    expect(f"{name}: --yes takes the files, and tells the values", code == 0 and values(m) == ours and not m.path("/etc/gputune").exists() and
           {(r["id"], r["value"], r["before"]) for r in j["in_effect"]} == {(k, b, a) for k, (_, a, b) in SMALL.items()}, (code, j["in_effect"]))
    code, out, err = m.run("persist", "remove", "--yes")
    expect(f"{name}: asked again it tells them again", code == 0 and "keeps nothing" in out and "memory.dirty-ratio" in out and "--now" in out, out)
    code, j = m.json("persist", "remove", "--now", "--yes")
    expect(f"{name}: --now takes them back", code == 0 and values(m) == before and not j["in_effect"] and not j["error"] and
           {(o["name"], o["outcome"]) for o in j["outcomes"]} == {("vm.dirty_ratio", "restored"), ("net.core.rmem_max", "restored")}, (code, j))
    code, out, err = m.run("status", "--exit-code")
    expect(f"{name}: nothing is held then", code == 0 and "No change" in out, (code, out, err))
    m = kept_over_a_boot(capture, tmp + "/b")
    code, j = m.json("persist", "remove", "--only", "memory.dirty-ratio", "--now", "--yes")
    expect(f"{name}: --only and --now take that one", code == 0 and values(m) == {**ours, "memory.dirty-ratio": "20"} and not j["in_effect"] and
           [r["id"] for r in j["rows"]] == ["net.rmem-max"], (code, j))
    code, out, err = on_a_terminal(m, "y\nn\n", "persist", "remove")
    expect(f"{name}: a person says no", code == 0 and values(m)["net.rmem-max"] == "16777216" and "still in effect (net.rmem-max)" in err and
           not m.path("/etc/gputune").exists() and "In effect" in out, (code, out, err))
    m = kept_over_a_boot(capture, tmp + "/c")
    m.path("/proc/sys/vm/dirty_ratio").write_text("33\n")
    code, out, err = on_a_terminal(m, "y\ny\n", "persist", "remove")
    expect(f"{name}: a person says yes; what somebody changed is no matter of ours", code == 0 and
           values(m) == {"memory.dirty-ratio": "33", "net.rmem-max": "4194304"} and "(net.rmem-max)" in err, (code, out, err))
    code, out, err = m.run("persist", "install", "--now", "--yes")
    expect(f"{name}: --now is of remove alone", code == 2 and "--now" in err, (code, err))


def until_reboot(capture, tmp):
    """A boot argument that is taken back is in effect all the same where the kernel was booted with it."""
    for booted in (True, False):
        m, name = Machine(capture, f"{tmp}/{booted}"), f"{capture.name} booted with it: {booted}"
        code, out, err = m.run("apply", "--profile", "published", "--only", "boot.isolcpus", "--allow", "boot", "--yes")
        expect(f"{name}: applied", code == 0, (code, out, err))
        line = m.path("/proc/cmdline")
        if booted:
            line.parent.mkdir(parents=True, exist_ok=True)
            line.write_text((capture / "root/proc/cmdline").read_text().rstrip() + " isolcpus=16-19\n")
        for argv in (["--dry-run"], ["--yes"]):
            code, j = m.json("undo", *argv)
            expect(f"{name}: undo {argv[0]} says so", code == 0 and [(r["outcome"], r["sentence"]) for r in j["rows"]] ==
                   [("restored", "in effect until reboot" if booted else None)], (code, j["rows"]))


def after_the_reboot(capture, tmp):
    """What the kernel was started with decides, whatever the drop-in asks for: the last of several, and not before the reboot."""
    cmdline = (capture / "root/proc/cmdline").read_text().rstrip()
    for words, rebooted, status, verify in (("", False, "waits", "waits-for-reboot"), ("", True, "missed", "differs"),
                                            ("isolcpus=16-19 isolcpus=3", True, "missed", "differs"), ("isolcpus=16", True, "missed", "differs"),
                                            ("xisolcpus=16-19", True, "missed", "differs"), ('isolcpus="16-19"', True, "ours", "in-force"),
                                            ("isolcpus=3 isolcpus=16-19", True, "ours", "in-force"), ("-- isolcpus=16-19", True, "missed", "differs")):
        m, name = Machine(capture, f"{tmp}/{len(words)}-{rebooted}"), f"{capture.name} booted {rebooted} with {words!r}"
        wish = ("--profile", "published", "--only", "boot.isolcpus", "--allow", "boot", "--yes")
        code, out, err = m.run("apply", *wish)
        code, out, err = m.run("persist", "install", *wish)
        expect(f"{name}: applied and kept", code == 0, (code, out, err))
        for file, text in (("/proc/cmdline", f"{cmdline} {words}"), ("/proc/sys/kernel/random/boot_id", "11111111-0000-4000-8000-000000000001")):
            if rebooted:
                m.path(file).parent.mkdir(parents=True, exist_ok=True)
                m.path(file).write_text(text + "\n")
        code, j = m.json("status")
        expect(f"{name}: status says {status}", [(r["state"], r["now"] == "16-19") for r in j["rows"]] == [(status, status == "ours")] and
               j["summary"][status] == 1 and code == (1 if status == "missed" else 0), (code, j))
        for argv in ((), ("--boot",)):
            code, j = m.json("verify", *argv)
            expect(f"{name}: verify {argv} says {verify}", [r["state"] for r in j["rows"]] == [verify] and
                   ("rebooted after the change" in (j["rows"][0]["sentence"] or "")) == (verify == "differs") and code == (verify != "in-force"), (code, j))


def limits(capture, tmp):
    """A later file for everybody wins over ours, one for a group is told of, an earlier one loses."""
    to = pathlib.Path(tmp) / "limits"
    shutil.copytree(capture, to, symlinks=True)
    told = to / "root/proc/self/limits"
    told.write_text(re.sub(r"(Max locked memory +)\d+( +)\d+", r"\g<1>65536\g<2>65536", told.read_text()))
    site = to / "root/etc/security/limits.d"
    site.mkdir(parents=True, exist_ok=True)
    for name, text, says in (("99-site.conf", "* hard memlock 64\n", "overwritten: /etc/security/limits.d/99-site.conf:1 sets 64 for *"),
                             ("10-site.conf", "* hard memlock 64\n", None), ("10-site.conf", "@hpc - memlock 64\n", "sets 64 for @hpc")):
        (site / name).write_text(text)
        code, out, err = Machine(to, f"{tmp}/limits-overlay").run("persist", "install", "--dry-run", "--only", "memory.memlock", "--profile", "published")
        expect(f"limits: {name} {text.strip()}", says in out if says else "overwritten" not in out and "limits.d/10" not in out, (code, out, err))
        (site / name).unlink()


EXTLINUX = "DEFAULT primary\n\nLABEL primary\n  LINUX /boot/Image\n  APPEND ${cbootargs} root=/dev/a rw\nLABEL backup\n  APPEND ${cbootargs} single\n"


def extlinux_paths(machine, wish):
    """An extlinux.conf alone, beside GRUB's files with one of them shown by /proc/cmdline, and with none."""
    def loader(cmdline, grub=False):
        def change(root):
            if not grub:
                shutil.rmtree(root / "etc/default")
            (root / "boot/extlinux").mkdir(parents=True)
            (root / "boot/extlinux/extlinux.conf").write_text(EXTLINUX)
            (root / "proc/cmdline").write_text(cmdline + "\n")
        return change

    conf = "/boot/extlinux/extlinux.conf"
    for name, grub in (("extlinux", False), ("extlinux beside GRUB", True)):
        m = machine(name, loader("root=/dev/a rw x=1", grub))
        code, j = m.json(*wish)
        rows = [r for r in j["rows"] if r["keeper"] == "boot-argument"]
        expect(f"{name}: persist says which file", code == 0 and rows and all(r["kept_by"] == conf for r in rows), (code, j))
        ours = " ".join(f"{r['knob']['name']}={r['value']}" for r in rows)
        expect(f"{name}: behind the arguments of the entry that is started", m.path(conf).read_text() ==
               EXTLINUX.replace("a rw", f"a rw gputune.args={len(rows)} {ours}"), m.path(conf).read_text())
        expect(f"{name}: no program has to run", any("after a reboot" in n for n in j["notes"]) and
               not any("update-grub" in n for n in j["notes"]), j["notes"])
        code, j = m.json("persist", "remove", "--yes")
        expect(f"{name}: remove is the identity", code == 0 and m.path(conf).read_text() == EXTLINUX, (code, j))
        code, out, err = m.run("apply", "--profile", "published", "--only", "boot.isolcpus", "--allow", "*", "--yes")
        expect(f"{name}: apply writes it", code == 0 and "isolcpus=" in m.path(conf).read_text() and "update-grub" not in out, (code, out, err))
        m.path(conf).write_text(m.path(conf).read_text().replace("DEFAULT primary", "DEFAULT backup"))
        code, out, err = m.run("undo", "--yes")
        expect(f"{name}: another default label since, so that nothing is touched", code == 4 and "gputune.args=1" in m.path(conf).read_text() and
               "LABEL" not in err, (code, out, err))
        m.path(conf).write_text(m.path(conf).read_text().replace("DEFAULT backup", "DEFAULT primary"))
        code, out, err = m.run("undo", "--yes")
        expect(f"{name}: undo is the identity", code == 0 and m.path(conf).read_text() == EXTLINUX, (code, out, err))
    for cmdline, says in (("BOOT_IMAGE=/boot/vmlinuz root=/dev/a rw", None), ("root=/dev/b ro", "unclear whether GRUB or")):
        m = machine("extlinux or GRUB" + ("" if says else ": GRUB"), loader(cmdline, True))
        code, j = m.json(*wish)
        if says:
            expect("extlinux or GRUB: nothing shows which", j["skipped"] and all(says in r["refusal"] for r in j["skipped"]), j)
        else:
            expect("extlinux or GRUB: GRUB", {r["kept_by"] for r in j["rows"] if r["keeper"] == "boot-argument"} ==
                   {"/etc/default/grub.d/zz-gputune.cfg"}, j["rows"])
        expect("extlinux or GRUB: the file stays", not m.path(conf).exists())


def isolated(capture):
    """The guide's fifth step on every captured IGX, whatever starts it."""
    code, out, err = run("plan", "--profile", "published", "--allow", "boot", "--host", str(capture), "--format", "json")
    rows = [c for c in json.loads(out)["changes"] if c["id"].startswith("boot.")]
    expect(f"{capture.name}: five boot arguments are planned, none refused", len(rows) == 5 and not any(c["gate"] for c in rows), (code, rows, err))


def modules(capture, tmp):
    """A module that is not loaded: loaded, kept, taken out. And what a program keeps itself."""
    to = pathlib.Path(tmp) / "modules"
    shutil.copytree(capture, to, symlinks=True)
    shutil.rmtree(to / "root/sys/module/nvidia_peermem")
    answers = to / "api/nvpmodel.json"
    answers.chmod(0o644)
    answers.write_text('{"": {"mode": 2}}')
    m = Machine(to, f"{tmp}/modules-overlay")
    code, j = m.json("apply", "--profile", "max-performance", "--only", "rdma.peermem,cpu.power-mode,cpu.jetson-clocks", "--yes")
    expect("modules: apply loads it and changes the mode", code == 0 and [(r["knob"]["kind"], r["knob"]["name"], r["to"]) for r in j["rows"]] ==
           [("power-mode", "nvpmodel", "0"), ("module", "nvidia-peermem", "loaded"), ("helper", "jetson-clocks", "1")], j)
    expect("modules: it is there", m.path("/sys/module/nvidia_peermem").is_dir())
    code, j = m.json("persist", "install", "--yes")
    rows = {r["id"]: (r["keeper"], r["kept_by"]) for r in j["rows"]}
    expect("modules: what keeps which", rows == {"cpu.power-mode": ("itself", None), "rdma.peermem": ("modules-load", "/etc/modules-load.d/zz-gputune.conf"),
                                                 "cpu.jetson-clocks": ("unit", "gputune-boot.service")}, j)
    lines = [s for s in m.path("/etc/modules-load.d/zz-gputune.conf").read_text().splitlines() if s and s[0] != "#"]
    expect("modules: one name a line", lines == ["nvidia-peermem"], lines)
    unit = m.path("/etc/systemd/system/gputune-boot.service").read_text()
    expect("modules: the unit needs no GPU", "CAP_SYS_MODULE" not in unit and "char-nvidia" not in unit, unit)
    for words in (("persist", "remove", "--yes"), ("undo", "--all", "--yes")):
        code, out, err = m.run(*words)
        expect(f"modules: {words}", code == 0, (code, out, err))
    left = [n for n in m.left() if not n.startswith("told/")]
    expect("modules: nothing is left", not left and not m.path("/sys/module/nvidia_peermem").exists(), left)
    told = [json.loads((m.folder / f"told/{n}.json").read_text()) for n in ("nvpmodel", "jetson-clocks")]
    expect("modules: programs hold what they had", told == [{"": {}}, {"": {}}], told)


def boot_paths(capture, tmp):
    """Kernel arguments where GRUB's drop-ins are not what makes the boot entries."""
    def machine(name, change):
        to = pathlib.Path(tmp) / name
        shutil.copytree(capture, to, symlinks=True)
        change(to / "root")
        return Machine(to, f"{tmp}/{name}-overlay")

    def systemd_boot(root):
        shutil.rmtree(root / "etc/default")
        (root / "etc/kernel").mkdir(parents=True)
        (root / "etc/kernel/cmdline").write_text("root=UUID=1 ro quiet nohz_full=1\n")
        (root / "boot/loader").mkdir(parents=True)
        (root / "boot/loader/loader.conf").write_text("timeout 3\n")

    def grubby(root):
        (root / "etc/default/grub").write_text("GRUB_ENABLE_BLSCFG=true\n")

    wish = ("persist", "install", "--profile", "published", "--only", "boot.nohz-full,boot.isolcpus", "--allow", "*", "--yes")
    m = machine("kernel-install", systemd_boot)
    file = m.path("/etc/kernel/cmdline")
    code, j = m.json(*wish)
    rows = [r for r in j["rows"] if r["keeper"] == "boot-argument"]
    expect("kernel-install: persist says which file", rows and all(r["kept_by"] == "/etc/kernel/cmdline" for r in rows), j)
    ours = " ".join(f"{r['knob']['name']}={r['value']}" for r in rows)
    text = file.read_text()
    expect("kernel-install: behind what is there", sorted(text.split()) == sorted(
        f"root=UUID=1 ro quiet nohz_full=1 gputune.args={len(rows)} {ours}".split()) and
        text.startswith("root=UUID=1 ro quiet nohz_full=1 gputune.args="), text)
    expect("kernel-install: and what makes it so", any("kernel-install" in n for n in j["notes"]), j["notes"])
    expect("kernel-install: no drop-in", not m.path("/etc/default").exists())
    code, j = m.json(*wish)
    expect("kernel-install: twice is once", file.read_text() == text and not j["transaction"], (code, j["transaction"]))
    code, j = m.json("persist", "remove", "--only", rows[0]["id"], "--yes")
    expect("kernel-install: one argument alone goes", rows[0]["value"] and
           f"gputune.args={len(rows) - 1} " in file.read_text(), file.read_text())
    file.write_text(file.read_text().replace("\n", " theirs=1\n"))
    code, j = m.json("persist", "remove", "--yes")
    expect("kernel-install: what others added stays", code == 0 and file.read_text() ==
           "root=UUID=1 ro quiet nohz_full=1 theirs=1\n", (code, file.read_text()))
    code, out, err = m.run("apply", "--profile", "published", "--only", "boot.isolcpus", "--allow", "*", "--yes")
    expect("kernel-install: apply writes it", code == 0 and "isolcpus=" in file.read_text() and "kernel-install" in out, (code, out, err))
    code, out, err = m.run("undo", "--yes")
    expect("kernel-install: undo says what makes it so", code == 0 and "kernel-install add-all" in out, (code, out))
    expect("kernel-install: undo is the identity", file.read_text() == "root=UUID=1 ro quiet nohz_full=1 theirs=1\n", file.read_text())
    extlinux_paths(machine, wish)
    m = machine("grubby", grubby)
    code, j = m.json(*wish)
    expect("grubby: by hand, with the command", j["skipped"] and all(
        f"grubby --update-kernel=ALL --args=\"{r['knob']['name']}={r['value']}\"" in r["refusal"] for r in j["skipped"]), j["skipped"])
    code, out, err = m.run("plan", "--profile", "published", "--only", "boot.isolcpus", "--allow", "*", "--format", "json")
    gates = [(c["gate"], c["refusal"]) for c in json.loads(out)["changes"]]
    expect("grubby: the plan says it too", gates and all(g and "grubby" in s for g, s in gates), gates)


def networkd(capture, tmp):
    """Of networkd's files that match a link the first by its name counts, in whatever folder it lies; what leads to /dev/null
    counts in none."""
    to = pathlib.Path(tmp) / "networkd"
    shutil.copytree(capture, to, symlinks=True)
    for folder, name in (("etc", "50-wired"), ("run", "10-masked"), ("run", "40-generated"), ("usr/local/lib", "20-first"), ("usr/lib", "20-first")):
        at = to / "root" / folder / "systemd/network"
        at.mkdir(parents=True, exist_ok=True)
        (at / f"{name}.network").write_text(f"[Match]\nName={'lo' if folder == 'usr/lib' else 'eth0'}\n")
    (to / "root/etc/systemd/network/10-masked.network").symlink_to("/dev/null")
    m = Machine(to, f"{tmp}/networkd-overlay")
    code, j = m.json("persist", "install", "--profile", "published", "--only", "nic.mtu", "--allow", "*", "--yes")
    expect("networkd: the drop-in is of the file that counts", [r["kept_by"] for r in j["rows"]] ==
           ["/etc/systemd/network/20-first.network.d/90-gputune.conf"], j["rows"])
    ours = m.path("/etc/systemd/network/20-first.network.d/90-gputune.conf")
    expect("networkd: and stands there", ours.exists() and "MTUBytes=" in ours.read_text())


def in_a_capture(capture, tmp):
    """A capture has what gputune keeps; one without it says that it does not know."""
    m, name, folder = Machine(capture, f"{tmp}/captured"), f"{capture.name} in a capture", pathlib.Path(tmp) / "kept"
    m.run("apply", "--profile", "published", "--only", "cpu,memory,net", "--yes")
    m.run("persist", "install", "--yes")
    m.run("capture", "-o", folder)
    there = ["--host", folder, "--format", "json"]

    def of(argv, *keys):
        code, out, err = run(*argv, *there)
        j, here = json.loads(out or "{}"), m.json(*argv)[1]
        for key, columns in keys:
            rows = [[[r[c] for c in columns] for r in x.get(key, [])] for x in (j, here)]
            expect(f"{name}: {argv}, {key} as on the machine", rows[0] == rows[1] and rows[0], (code, err, [r for r in zip(*rows) if r[0] != r[1]][:3]))
    of(["persist", "status"], ("rows", ("id", "value", "kept_by", "loses")), ("files", ("path", "state")))
    of(["status"], ("rows", ("id", "kept_by", "state")))
    for gone in ("etc/gputune/boot.json", "etc/systemd/system/gputune-boot.service"):
        (folder / "root" / gone).unlink(missing_ok=True)
    (folder / "root/etc/gputune").rmdir()
    for argv, want in ((["persist", "status"], 5), (["persist", "diff"], 5), (["verify", "--boot"], 5), (["doctor", "system.settings-lost"], 5), (["status"], 0)):
        code, out, err = run(*argv, "--host", folder)
        expect(f"{name}: without the request {argv} knows of nothing", code == want and "/etc/gputune/boot.json is not in the capture" in out + err and
               "no longer" not in out and "certain" not in out, (code, out[:600], err))


def overwritten(capture, tmp):
    """One rule says who resets a value at boot: to install, status, persist status and doctor."""
    m, name = Machine(capture, f"{tmp}/overwritten"), f"{capture.name} overwritten"
    m.run("apply", "--only", "memory.swappiness,cpu.numa-balancing", "--yes")
    for argv, want in ((["persist", "install", "--yes"], 1), (["persist", "status"], 1), (["persist", "diff"], 0),
                       (["status"], 0), (["doctor", "system.settings-lost"], 1)):
        code, out, err = m.run(*argv)
        flat = " ".join(out.split())
        expect(f"{name}: {argv[0]} {argv[1:]} names the daemon", code == want and "tuned.service" in flat and "tuned.conf:5 sets 60" in flat, (code, out, err))
        expect(f"{name}: and it alone", "cpu.numa-balancing: " not in flat and "kept at boot by: /etc/sysctl.d/99-zz-gputune.conf in effect memory" in
               flat if argv[0] == "status" else "values are set" not in flat, out)
    expect(f"{name}: doctor finds it", "certain a program or file sets it at boot" in flat and "excluded a value is set for this boot only" in flat, out)


def in_words(capture, tmp):
    """explain names the file that install writes; remove says what stays in effect."""
    m, name = Machine(capture, f"{tmp}/words-of"), f"{capture.name} in words"
    only = ["--only", "cpu.governor,cpu.numa-balancing,memory,disk"]
    m.run("apply", *only, "--yes")
    rows = m.json("persist", "install", *only, "--dry-run")[1]["rows"]
    for r in {r["id"]: r for r in rows}.values():
        line = re.search(r"^ +Kept +(.*)", m.run("explain", r["id"])[1], re.M)
        by = r["kept_by"] if r["knob"]["kind"] != "sysctl" else str(pathlib.Path(r["kept_by"]).parent)
        expect(f"{name}: explain {r['id']} says {by}", line and by in line[1], line)
    expect(f"{name}: several files", len({r["kept_by"] for r in rows}) > 2, {r["kept_by"] for r in rows})
    m.run("persist", "install", "--yes")
    for more in ([], ["--now"]):  # --now: of values that the files set; apply set these
        out = " ".join(m.run("persist", "remove", "--yes", *more)[1].split())
        expect(f"{name}: remove {more} says what stays", "in effect until undone or until reboot: cpu.governor," in out and "gputune undo" in out, out)
    m.run("undo", "--yes")
    expect(f"{name}: and no more after undo", "in effect" not in m.run("persist", "remove", "--yes")[1])


def booted(tmp):
    boot_paths(machines / "dgx-spark", tmp)
    modules(machines / "igx-orin", tmp)
    for machine in sorted(m for m in machines.glob("igx-orin*") if m.is_dir()):
        isolated(machine)


with tempfile.TemporaryDirectory() as tmp:
    seen = set()
    if sys.argv[2:] == ["networkd"]:
        networkd(machines / "igx-orin", tmp)
        end_suite()
    if sys.argv[2:] == ["boot"]:
        booted(tmp)
        end_suite()
    if sys.argv[2:] == ["partly"]:
        partly(machines / "dgx-spark", f"{tmp}/partly")
        not_kept(machines / "dgx-spark", f"{tmp}/not-kept")
        interrupted(machines / "dgx-spark", f"{tmp}/interrupted")
        by_hand(machines / "dgx-spark", tmp)
        foreign(machines / "hgx-h100", f"{tmp}/foreign")
        taken_out(machines / "hgx-h100", f"{tmp}/taken-out")
        end_suite()
    if sys.argv[2:] == ["capture"]:
        in_a_capture(machines / "dgx-spark", tmp)
        overwritten(machines / "hgx-h100", tmp)
        in_words(machines / "hgx-h100", tmp)
        end_suite()
    if sys.argv[2:] == ["now"]:
        in_effect(machines / "dev-vm", tmp)
        until_reboot(machines / "dgx-spark", tmp)
        after_the_reboot(machines / "dgx-spark", tmp)
        end_suite()
    for machine in captured:
        for profile in ("default", "published", "low-latency", "max-performance"):
            seen |= set(cycle(machine, profile, f"{tmp}/{machine.name}-{profile}"))
    for want in ("sysctl.d", "tmpfiles.d", "udev", "modprobe.d", "netplan", "limits.d", "systemd/system", "gputune/boot.json"):
        expect(f"some machine needs {want}", any(want in s for s in seen), seen)
    foreign(machines / "hgx-h100", f"{tmp}/foreign")
    taken_out(machines / "hgx-h100", f"{tmp}/taken-out")
    layers(machines / "dgx-spark", f"{tmp}/layers")
    not_kept(machines / "dgx-spark", f"{tmp}/not-kept")
    interrupted(machines / "dgx-spark", f"{tmp}/interrupted")
    by_hand(machines / "dgx-spark", tmp)
    partly(machines / "dgx-spark", f"{tmp}/partly")
    in_effect(machines / "dev-vm", tmp)
    until_reboot(machines / "dgx-spark", tmp)
    after_the_reboot(machines / "dgx-spark", tmp)
    booted(tmp)
    limits(machines / "dgx-spark", tmp)
    networkd(machines / "igx-orin", tmp)
    in_a_capture(machines / "dgx-spark", tmp)
    overwritten(machines / "hgx-h100", tmp)
    in_words(machines / "hgx-h100", tmp)
    m = Machine(machines / "dgx-spark", f"{tmp}/words")
    for argv, words in ((["persist", "undo"], "install, status, diff, remove"), (["persist", "dance"], "install, status"),
                        (["verify", "--reboot"], "captured")):
        code, out, err = m.run(*argv)
        expect(f"{argv} is refused", code == 2 and words in err, (code, err))
    code, out, err = Machine(machines / "dgx-spark", f"{tmp}/words").run("persist", "install", "--only", "nope", "--yes")
    expect("an unknown id", code == 2 and "nope" in err, (code, err))
    j = m.json("persist", "diff", "--only", "memory.swappiness", "--profile", "default")[1]
    expect("every file says what it is for", not any(re.search(r"for:$", f["diff"] or "", re.M) for f in j["files"]), j["files"])
    # Where the program lies matters to who installs it for every boot.
    p = subprocess.run([copy_of(gputune, tmp), "persist", "diff", "--profile", "default", "--only", "memory"], capture_output=True, text=True, timeout=60)
    expect("diff does not ask for what only writing needs", p.returncode in (0, 1), (p.returncode, p.stderr))
for name, n in sorted(missing.items()):
    skip(name, f"it is not here ({n} checks)")
end_suite()
