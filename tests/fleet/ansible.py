#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The collection against four hosts: check mode, apply, apply again, status, undo; two architectures; one that refuses."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from hosts import Fleet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IDLE, OPEN = "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_fastopen"
WISH = {"gputune_serial": 4, "gputune_profile": "published", "gputune_only": ["net.tcp-slow-start-after-idle", "net.tcp-fastopen"],
        "gputune_become": False}


def recap(text):
    rows = {}
    for line in text.splitlines():
        m = re.match(r"^(gth\d)\s*:\s*ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", line)
        if m:
            rows[m[1]] = dict(zip(("ok", "changed", "unreachable", "failed"), map(int, m.groups()[1:])))
    return rows


class Play:
    def __init__(self, fleet, work):
        self.fleet, self.work = fleet, pathlib.Path(work)
        self.env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(self.work / "collections"),
                    "ANSIBLE_LOCAL_TEMP": str(self.work / "tmp"), "ANSIBLE_HOME": str(self.work / "home"),
                    "ANSIBLE_NOCOLOR": "1", "ANSIBLE_RETRY_FILES_ENABLED": "0", "ANSIBLE_FORKS": "4", "ANSIBLE_PIPELINING": "1",
                    "LC_ALL": "C.UTF-8", "HOME": str(self.work / "home")}

    def install(self):
        """As an owner does: build the archive, install it."""
        done = []
        for argv in (["ansible-galaxy", "collection", "build", str(ROOT / "ansible"), "--output-path", str(self.work)],
                     ["ansible-galaxy", "collection", "install", "--offline",
                      str(self.work / "gputune-gputune-0.1.0.tar.gz"), "-p", str(self.work / "collections")]):
            done.append(subprocess.run(argv, capture_output=True, text=True, env=self.env, timeout=120))
        return all(d.returncode == 0 for d in done), "".join(d.stdout + d.stderr for d in done)

    def book(self, name, *options, inventory, **more):
        argv = self.fleet.controller.argv("ansible-playbook", "-i", inventory, name, "-e",
                                          json.dumps({**WISH, **self.vars, **more}), *options)
        done = subprocess.run(argv, capture_output=True, text=True, env=self.env, timeout=300)
        return done.returncode, done.stdout + done.stderr, recap(done.stdout)


def values(fleet):
    return [(h.sysctl(IDLE), h.sysctl(OPEN)) for h in fleet.hosts]


def etc(host):
    """What this host changed in /etc and /var/lib, by name and content."""
    return sorted((str(p.relative_to(host.root)), p.read_bytes() if p.is_file() and not p.is_symlink() else b"")
                  for d in ("etc.up", "var/lib.up") for p in (host.root / d).rglob("*"))


def bare_module(t, play, gputune, inventory):
    """The program itself as a module in library/, without the collection."""
    library = play.work / "library"
    library.mkdir()
    shutil.copy(gputune, library / "gputune")
    book = play.work / "bare.yml"
    book.write_text("- hosts: gth1\n  gather_facts: false\n  tasks:\n    - gputune: {state: apply, profile: published, "
                    "only: net.tcp-fastopen}\n      register: r\n    - debug: {var: r.result.changes}\n"
                    "    - gputune: {state: aply}\n      ignore_errors: true\n"
                    "    - gputune: {state: status, onyl: x}\n      ignore_errors: true\n"
                    "    - gputune: {state: undo, skip: [net]}\n      ignore_errors: true\n")
    code, out, rows = play.book(str(book), "--check", inventory=inventory)
    t("the program itself is a module", code == 0 and rows["gth1"]["changed"] == 1 and "net.tcp-fastopen" in out, out)
    t("a wrong state is named", "state takes one of apply, undo" in out, out)
    t("a wrong argument is named", 'unknown argument \\"onyl\\"' in out, out)
    t("an argument in the wrong state is named", "skip has no effect with state=undo" in out, out)


def documents(t, play):
    for module in ("gputune", "gputune_info"):
        done = subprocess.run(["ansible-doc", f"gputune.gputune.{module}"], capture_output=True, text=True, env=play.env,
                              timeout=60)
        t(f"ansible-doc {module}", done.returncode == 0 and "OPTIONS" in done.stdout, done.stdout + done.stderr)


def test(t, gputune, arm, work):
    fleet = Fleet(work, 4)
    try:
        play = Play(fleet, work)
        ok, said = play.install()
        t("the collection is built and installed", ok, said)
        if not ok:
            return
        documents(t, play)
        binaries = {"x86_64": str(gputune)}
        extra = {}
        if arm:  # gth4 is said to be the other architecture; its program is one
            wrapper = pathlib.Path(work) / "gputune-aarch64"
            wrapper.write_text('#!/bin/sh\nexec qemu-aarch64-static -L / /usr/local/bin/gputune-arm64 "$@"\n')
            fleet.hosts[3].enter("install", "-m", "755", arm, "/usr/local/bin/gputune-arm64")
            binaries["aarch64"] = str(wrapper)
            extra = {"gth4": "ansible_architecture=aarch64"}
        play.vars = {"gputune_binaries": binaries}
        inventory = fleet.inventory(extra)
        optimize, reapply = "gputune.gputune.optimize", "gputune.gputune.reapply"
        for host in fleet.hosts:
            host.sysctl(IDLE, 1)
            host.sysctl(OPEN, 1)
        whole(t, fleet, play, inventory, optimize)
        again(t, fleet, play, inventory, reapply)
        results = pathlib.Path(work) / "results"
        results.mkdir()
        collect(t, fleet, play, inventory, optimize, results, gputune)
        refuses(t, fleet, play, inventory, optimize)
        undo(t, fleet, play, inventory, optimize)
        bare_module(t, play, gputune, inventory)
    finally:
        fleet.close()


def whole(t, fleet, play, inventory, optimize):
    before = [etc(h) for h in fleet.hosts]
    code, out, rows = play.book(optimize, "--check", "--diff", inventory=inventory)
    t("check mode runs on all hosts", code == 0 and len(rows) == 4, out)
    t("check mode says what would change", out.count("-net.tcp-fastopen: 1") == 4 and
      out.count("+net.tcp-slow-start-after-idle: 0") == 4, out)
    t("check mode says what would be kept (and copies the program)", all(r["changed"] == 3 for r in rows.values()) and
      "net.ipv4.tcp_fastopen = 3" in out, (rows, out))
    t("check mode writes nothing", values(fleet) == [("1", "1")] * 4 and [etc(h) for h in fleet.hosts] == before,
      (values(fleet), out))
    code, out, rows = play.book(optimize, inventory=inventory, gputune_serial=2)
    t("apply runs on all hosts, two at a time", code == 0 and len(rows) == 4 and out.count("PLAY [Optimize]") == 2, out)
    t("apply changes the settings", values(fleet) == [("0", "3")] * 4, (values(fleet), out))
    t("apply says changed", all(r["changed"] >= 2 for r in rows.values()), rows)
    t("what was applied is kept for the next boot",
      all(any(b"tcp_fastopen" in c for _, c in etc(h)) for h in fleet.hosts), out)
    before = [etc(h) for h in fleet.hosts]
    code, out, rows = play.book(optimize, inventory=inventory)
    t("a second apply changes nothing", code == 0 and all(r["changed"] == 0 for r in rows.values()), out)
    t("and writes nothing", [etc(h) for h in fleet.hosts] == before, out)


def again(t, fleet, play, inventory, reapply):
    fleet.hosts[1].sysctl(OPEN, 1)
    code, out, rows = play.book(reapply, inventory=inventory)
    t("reapply changes only the host that lost it",
      code == 0 and [rows[h.name]["changed"] for h in fleet.hosts] == [0, 1, 0, 0], (rows, out))
    t("reapply puts it back", values(fleet) == [("0", "3")] * 4, values(fleet))


def collect(t, fleet, play, inventory, optimize, results, gputune):
    fleet.hosts[2].sysctl(OPEN, 1)
    code, out, _ = play.book(optimize, inventory=inventory, optimization_action="status", gputune_results=str(results))
    t("status is collected", code == 0 and len(list(results.glob("*.json"))) == 8, out)
    done = subprocess.run([str(gputune), "fleet", str(results), "--format", "json"], capture_output=True, text=True,
                          timeout=60)
    said = json.loads(done.stdout or "{}")
    t("fleet reads what was collected", done.returncode == 1 and said["summary"]["machines"] == 4 and
      said["summary"]["unreadable"] == 0, done.stdout + done.stderr)
    alone = {o["name"]: [r["id"] for r in o["rare"]] for o in said.get("outliers", [])}
    t("fleet finds the host that drifted", "net.tcp-fastopen" in alone.get("gth3", []), alone)
    code, out, rows = play.book(optimize, inventory=inventory, optimization_action="verify")
    t("verify fails where something is not in force, and only there",
      code != 0 and [h for h in rows if rows[h]["failed"]] == ["gth3"], (rows, out))
    fleet.hosts[2].sysctl(OPEN, 3)


def refuses(t, fleet, play, inventory, optimize):
    """The journal of gth3 cannot be written: nothing may be changed there, and the run has to say so."""
    host = fleet.hosts[2]
    for h in fleet.hosts:
        h.sysctl(IDLE, 1)
    host.enter("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "/var/lib/gputune")
    code, out, rows = play.book(optimize, inventory=inventory, gputune_persist=False)
    t("one host refuses and the run fails", code != 0 and [h for h in rows if rows[h]["failed"]] == ["gth3"],
      (rows, out))
    why = [line for line in out.splitlines() if "gth3" in line and "FAILED" in line]
    t("the run says which and why", why and "changes are not possible here" in why[0], why or out)
    t("nothing was changed there", host.sysctl(IDLE) == "1", host.sysctl(IDLE))
    t("the others were changed", [h.sysctl(IDLE) for h in fleet.hosts if h is not host] == ["0"] * 3, values(fleet))
    host.enter("umount", "/var/lib/gputune")
    host.sysctl(IDLE, 0)


def undo(t, fleet, play, inventory, optimize):
    code, out, rows = play.book(optimize, "--check", inventory=inventory, optimization_action="undo")
    t("undo in check mode says changed and writes nothing",
      code == 0 and all(r["changed"] for r in rows.values()) and values(fleet) == [("0", "3")] * 4, (rows, out))
    code, out, rows = play.book(optimize, inventory=inventory, optimization_action="undo")
    t("undo runs on all hosts", code == 0 and all(r["changed"] for r in rows.values()), (rows, out))
    t("undo puts back what was there", values(fleet) == [("1", "1")] * 4, (values(fleet), out))
    left = [n for h in fleet.hosts for n, _ in etc(h) if n.startswith("etc.up") and "gputune" in n]
    t("nothing of ours is left in /etc", not [n for n in left if not n.endswith(".up")], left)
    code, out, rows = play.book(optimize, inventory=inventory, optimization_action="undo")
    t("a second undo changes nothing", code == 0 and not any(r["changed"] for r in rows.values()), (rows, out))
