#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user who is not root sees of what root changed, and where that user's own things go. In namespaces of its own."""
import configparser
import ctypes
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess

import common
from common import PLAIN, alone, end_suite, expect, no_namespaces, refuses, run, says, scratch, skip, until

STATE = pathlib.Path("/var/lib/gputune")
ONE = "net.tcp-slow-start-after-idle"


def nobody(home, **env):
    return dict(user=65534, group=65534, extra_groups=[], cwd="/", env={"HOME": str(home), "PATH": os.environ["PATH"], **env})


def changes(user):
    says("nothing was changed yet", ["status"], 0, "No change", **user)
    code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes", "--reason", "hush-hush")
    if not expect("root changes something", code == 0, (code, out, err)):
        return
    modes = {p.name: p.stat().st_mode & 0o777 for p in STATE.iterdir()}
    expect("the status file is everybody's, all else root's", modes.pop("status.jsonl") == 0o644 and set(modes.values()) == {0o600}, modes)
    text = (STATE / "status.jsonl").read_text()
    expect("neither who nor why", "hush-hush" not in text and '"user":null' in text, text)
    for argv in (["status"], ["verify"]):
        mine, roots = run(*argv, "--format", "csv", **user), run(*argv, "--format", "csv")
        expect(f"{argv[0]}: a user sees what root sees", mine[0] == roots[0] == 0 and mine[1] == roots[1] and ONE in mine[1], (mine, roots))
    says("history, and what only root sees", ["history"], 0, "published", "shown to root only", **user)
    says("persist diff", ["persist", "diff"], 1, "/etc/sysctl.d", **user)
    says("persist status", ["persist", "status"], 0, **user)
    says("undo as a dry run", ["undo", "--dry-run"], 0, ONE, **user)
    refuses("undo itself is root's", ["undo", "--yes"], 3, "only root", **user)
    refuses("so is the journal", ["journal", "check"], 5, "only root", **user)


def stale(user):
    journal = STATE / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"t":"')
    says("a change that is under way is said", ["status"], 5, "is older than the journal", ONE, **user)
    journal.write_bytes(whole)
    says("and no more when it is over", ["status"], 0, ONE, **user)
    good = (STATE / "status.jsonl").read_bytes()
    (STATE / "status.jsonl").write_bytes(b"garbage\n")
    refuses("a status file of somebody else's making", ["status"], 5, "Permission denied", "sudo", **user)
    (STATE / "status.jsonl").write_bytes(good.replace(b'"format":2', b'"format":9'))
    refuses("one of a newer version", ["status"], 5, "sudo", **user)
    (STATE / "status.jsonl").write_bytes(good.replace(b'"after":"0"', b'"after":"1"'))
    says("a line that was altered is no line", ["status"], 4, "unreadable", **user)
    (STATE / "status.jsonl").unlink()
    refuses("none: it is root's", ["status"], 5, "only root can read the journal", **user)
    os.chmod(STATE, 0o700)
    refuses("a folder of an earlier version", ["status"], 5, "only root can read the journal", **user)
    code, out, err = run("undo", "--yes")
    expect("root's next change opens it", code == 0 and STATE.stat().st_mode & 0o777 == 0o755, (code, out, err, oct(STATE.stat().st_mode)))
    says("and nothing is held", ["status"], 0, "No change", **user)


def full(user):
    """A disk that is full, where the journal just fits."""
    shutil.rmtree(STATE)
    STATE.mkdir(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k,mode=755", "none", STATE], check=True)
    (STATE / "ballast").write_bytes(b"x" * 4096)
    code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes")
    now = run("status", **user)
    expect("a full disk: refused, or said to be stale, or shown", code in (2, 3, 4) or now[0] == 5 or ONE in now[1], (code, err, now))
    (STATE / "ballast").unlink()
    run("undo", "--all", "--yes")
    says("when there is room again it is true again", ["status"], 0, **user)
    subprocess.run(["umount", STATE], check=True)


def demo(user, home):
    """A machine that nobody here has: changed and undone in a folder of one's own."""
    says("demos are listed", ["demo"], 0, "demo:dgx-spark", "DGX Spark", **user)
    argv = ["--host", str(common.built / "machines/dgx-spark.tar")]
    refuses("a capture that is no demo needs a folder", ["apply", "--yes", *argv], 2, "--overlay", **user)
    on = ["--host", "demo:dgx-spark"]
    says("apply on a demo", ["apply", "--yes", *on], 0, "settings made.", 'Undo with "gputune undo', **user)
    says("status sees it", ["status", *on], 0, "in effect", **user)
    says("so does profile", ["profile", "active", *on], 0, "default", "memory.dirty-ratio", "4 GiB", **user)
    says("the list names the folder", ["demo"], 0, str(home / ".local/state/gputune/demo/dgx-spark"), **user)
    says("undo", ["undo", "--yes", *on], 0, "restored", **user)
    says("a capture that is tried leads to an overlay", ["check", *argv], 1, f'"gputune apply {" ".join(argv)} --overlay DIR"', **user)
    refuses("the kernel's name leads to the setting", ["explain", "net.core.rmem_max", *on], 2, 'did you mean "net.rmem-max"?', **user)
    says("what does not apply says why", ["apply", "--only", "gpu.ecc", "--yes", *on], 0, "gpu.ecc does not apply: ", **user)
    says("a drawing in its file", ["show", "topology", "--as", "svg", "-o", str(home / "t.svg"), *on], 0, **user)
    expect("is SVG", (home / "t.svg").read_text().startswith("<svg"))
    refuses("but no other form", ["show", "topology", "--as", "svg", "-o", str(home / "t.pdf"), *on], 2, "cannot write", **user)
    # Words whose option is left out; verbs whose usual part is.
    says("apply ID", ["apply", "memory.dirty-ratio", "--yes", *on], 0, "1 change made",
         f'"gputune persist install {" ".join(on)}" keeps it after a reboot', **user)
    says("a part that is right says what is not", ["check", "gpu", "--host", str(common.built / "machines/hgx-h100.tar")], 0, "Nothing to fix.", "The whole machine: 1 critical", "lists all", **user)
    says("a capture says what is next", ["capture", "-o", "next.tar", *on], 0, '"gputune check --host next.tar"', **dict(user, cwd=home))
    code, out, err = run("check", "-o", "check.json", *on, **dict(user, cwd=home))
    expect("a file that ends in .json is JSON", code == 1 and json.loads((home / "check.json").read_text())["schema"] == "gputune.check/1", (code, out, err))
    says("undo ID", ["undo", "memory.dirty-ratio", "--yes", *on], 0, "1 restored", **user)
    says("check demo:NAME", ["check", "demo:dgx-spark"], 1, "memory.guard", **user)
    says("show SUBJECT demo:NAME", ["show", "gpu", "demo:dgx-spark"], 0, "580.142", **user)
    says("the card of a captured machine", ["--host", "demo:dgx-spark"], 0, "memory.guard", "gputune plan", **user)
    says("persist, without more", ["persist", *on], 0, "keeps nothing", "No change is applied", f"persist install --only ID {' '.join(on)}", **user)
    says("nothing to keep", ["persist", "install", "--yes", *on], 0, "Nothing to install", "No change is applied", **user)
    says("one change to keep", ["apply", "memory.dirty-ratio", "--yes", *on], 0, f"gputune undo 5 {' '.join(on)}", **user)
    run("capture", "-o", "with.tar", *on, **dict(user, cwd=home))
    copy = ["--host", str(home / "with.tar")]
    says("a capture knows the changes in effect", ["status", *copy], 0, "1 in effect", "memory.dirty-ratio", **user)
    says("and its journal is whole", ["apply", "memory.swappiness", "--dry-run", *copy], 0, "1 change now", **user)
    here, there = [run("check", "--all", *which, **user)[1] for which in (on, copy)]
    cut = lambda page: re.findall(r"^\w+ +[a-z]+\.[^\n]*|^ +fix: .*", page, re.M)
    expect("and is judged as the machine, with the same fixes", len(cut(here)) > 40 and
           [l.replace(f" {' '.join(on)}", "") for l in cut(here)] == [re.sub("on that machine: (sudo )?", "", l) for l in cut(there)], (here, there))
    says("what is not kept", ["persist", *on], 0, "1 change applied but not kept for the next boot: memory.dirty-ratio", f'"gputune persist install {" ".join(on)}" keeps it', **user)
    says("it is kept", ["persist", "install", "--yes", *on], 0, "wrote 4 files and 1 folder", **user)
    says("then all is kept", ["persist", *on], 0, "in effect", **user)
    says("a number warns of what remains", ["undo", "5", "--dry-run", *on], 0, "still set at the next boot: memory.dirty-ratio", **user)
    says("what removes it does not", ["undo", "6", "--yes", *on], 0, "5 restored", **user)
    run("persist", "install", "--yes", *on, **user)
    says("undo --only ID leaves the files", ["undo", "--all", "--only", "memory.swappiness", "--yes", *on], 0, "still set at the next boot", **user)
    says("undo --all takes them, too", ["undo", "--all", "--yes", *on], 0, "restored  persist.files  /etc/gputune/boot.json", **user)
    says("then nothing is kept", ["persist", *on], 0, "keeps nothing", **user)
    run("apply", "memory.dirty-ratio", "--yes", *on, **user)
    says("no such transaction", ["undo", "77", "--yes", *on], 3, "no transaction 77", **user)
    says("and the change", ["undo", "--yes", *on], 0, "1 restored", **user)
    hgx = ["--host", str(common.built / "machines/hgx-h100.tar"), "--overlay", str(home / "hgx")]
    says("the reasons of a refusal are this machine's", ["apply", "--only", "pcie.acs", "--yes", *hgx], 3, f'"gputune plan {" ".join(hgx)}" shows the reasons', **user)
    says("what a person has to do is not called done", ["apply", "pcie.link", "--yes", *hgx], 3, "To do by hand", "nothing was changed: the change must be made by hand", **user)
    says("a daemon sets it at boot", ["apply", "cpu.governor", "--yes", *hgx], 0, "cpu.governor is not kept after a reboot while this sets another value: tuned.service", **user)
    says("and wins", ["persist", "install", "--yes", *hgx], 1, "Not kept: cpu.governor.", **user)
    says("a dry run restores nothing", ["undo", "1", "--dry-run", *hgx], 0, "would restore  cpu.governor", **user)
    run("undo", "1", "--yes", *hgx, **user)
    for rest, keeps in (("", False), (",memory.dirty-ratio", True)):
        out = run("apply", "--only", f"memory.swappiness{rest}", "--yes", *hgx, **user)[1]
        expect(f"persist is not said to keep what a daemon resets{rest}", ("keeps all but those below after a reboot" in out) == keeps and "keeps it" not in out and
               "memory.swappiness is not kept" in out, out)
        page = run("undo", "--dry-run", *hgx, **user)[1]
        rows = lambda text, word: re.findall(rf"^{word}  (\S+)", text, re.M)
        expect("undo lists in the order of apply", rows(page, "would restore") == rows(out, "in effect"), (page, out))
        run("undo", "--yes", *hgx, **user)
    run("apply", "pcie.iommu", "--allow", "pcie.iommu", "--yes", *hgx, **user)
    for verb in ("check", "explain"):
        says(f"{verb}: an argument that waits for a reboot", [verb, "pcie.iommu", *hgx], int(verb == "check"), "fix: already set: run update-grub, then reboot", **user)
    run("undo", "--yes", *hgx, **user)
    says("what comes again at boot is said", ["status", *hgx], 0, "Set again at the next boot: cpu.governor.", **user)
    says("a dry run names its options", ["apply", "--only", "memory", "--dry-run", *on], 0, f'"gputune apply --only memory {" ".join(on)}" makes 2 changes,', **user)
    refuses("a demo's name alone", ["check", "--host", "dgx-spark"], 2, 'did you mean "demo:dgx-spark"?', **dict(user, cwd=home))
    mine, its = os.openpty()  # on a terminal
    run("report", "--host", "demo:dgx-spark", **dict(user, cwd=home, stdout=its))
    os.close(its), os.close(mine)
    page = home / "gputune-report-dgx-spark.html"
    expect("a demo's report has a name and commands of its own", page.exists() and " --host demo:dgx-spark</code>" in page.read_text() and
           "sudo gputune" not in page.read_text())
    pages = [run("explain", i, "--host", m, **user)[1] for i, m in (("memory.dirty-ratio", "demo:dgx-spark"), ("nic.mtu", hgx[1]))]
    expect("explain: verdict, command, why, then sources", [*map(pages[0].find, ("medium  memory.dirty", "fix: ", "How much dirty", "Other profiles", "Sources"))]
           == sorted(map(pages[0].find, ("medium  memory.dirty", "fix: ", "How much dirty", "Other profiles", "Sources"))) and "Sources" in pages[0] and
           "from published tuning guides" in pages[0], pages[0])
    expect("explain: no documents of other platforms", "Spark" not in pages[1] and "Sources" in pages[1], pages[1])
    says("whose clock, and what an undo is", ["history", *on], 0, "complete", "captured machine's clock", **user)
    says("part of the settings has no score", ["check", "memory.swappiness", *on], 1, "1 to fix", **user)
    expect("none at all", "Score" not in run("check", "memory.swappiness", *on, **user)[1] and "Score" in run("check", *on, **user)[1])
    says("two settings are both meant", ["apply", "memory.swappiness", "net.rmem-max", "--dry-run", *on], 0, "2 changes now", **user)
    says("a group is", ["apply", "memory", "--dry-run", *on], 0, "2 changes now", **user)
    says("models of a family", ["list", "models", "qwen3.5"], 0, "Qwen3.5-9B", **user)
    sizes = run("list", "models", **user)[1].splitlines()
    expect("a mixture has its total and its active parameters", [" ".join(l.split()[1:]) for l in sizes if l.lstrip().startswith("Llama-4-Maverick")]
           == ["401 B parameters, 16 B active"] and all(len(l) <= 80 and " B parameters" in l for l in sizes), sizes)
    code, out, err = run("predict", "Llama-4-Maverick", "--on", "h100", "--explain", "--width", "200", **user)
    expect("as predict says", "401 B parameters, 16 B active" in out and "docs/" not in out and "1 / TPOT, without TTFT" in out, out)
    page = " ".join(run("explain", "pcie.acs", *hgx, "--width", "200", **user)[1].split())
    code, out, err = run("apply", "pcie.acs", "--dry-run", *hgx, **user)
    danger = "security: devices behind the switch can reach each other's memory past the IOMMU"
    expect("a danger is named where it is refused and explained", f"danger: {danger}" in page and danger in " ".join((out + err).split()) and
           "Measured effect" not in page, (page, out, err))
    page = " ".join(run("stack", "check", *hgx, "--width", "200", **user)[1].split())
    expect("software of a capture", "hgx01. 5 libraries" in page and page.count("/etc/ld.so.cache: not captured") == 1, page)
    expect("and no other, in plain figures", "Llama" not in run("list", "models", "qwen3.5", **user)[1] and "e+0" not in run("list", "models", **user)[1])
    refuses("a machine's name is no capture", ["show", "--host", "gb10"], 2, '"gputune demo" lists', **dict(user, cwd=home))
    says("a capture has a name by itself", ["capture", *on], 0, "captures/gputune-20", **dict(user, cwd=home))
    says("a second one another", ["capture", *on], 0, "captures/gputune-20", **dict(user, cwd=home))
    expect("both are there", len(list((home / ".local/state/gputune/captures").glob("gputune-20*.tar"))) == 2)
    says("predict MODEL", ["predict", "llama-3.1-8b", "--on", "dgx-spark"], 0, "TTFT", **user)
    refuses("apply of what is neither a file nor a setting", ["apply", "nonsense", *on], 2, "nonsense", **user)
    refuses("status narrows to nothing", ["status", "memory.dirty-ratio", *on], 2, "takes no argument", **user)
    if (common.built / "igx-orin.tar.zst").exists():
        shutil.copy(common.built / "igx-orin.tar.zst", tmp / "machines")
        says("a packed one, as packages have them", ["check", "--host", "demo:igx-orin"], 1, "IGX Orin", **user)
    refuses("without a home it needs a folder", ["apply", "--yes", *on], 2, "--overlay", **dict(user, env={"PATH": os.environ["PATH"]}))
    refuses("a home that takes nothing", ["apply", "--yes", *on], 2, "cannot create /proc/.local", **dict(user, env={"HOME": "/proc"}))


def next_steps():
    """After the fix that a finding names, the finding is gone, or it names what is left to do."""
    def on(name):
        return ["--host", str(common.built / "machines/igx-orin.tar"), "--overlay", str(tmp / name)]

    def apply(name, *ids):
        for i in ids:
            says(f"apply {i}", ["apply", "--only", i, "--allow", i, "--yes", *on(name)], 0, "1 change made")
        return run("check", "--only", "service.persistenced,gpu.persistence-mode", "--width", "200", *on(name))[1]

    daemon, mode = "service.persistenced", "gpu.persistence-mode"
    text = apply("daemon", daemon)
    expect("the service runs without the mode: one command for both", text.count("gputune apply --only gpu.persistence-mode") == 2 and
           "install nvidia-persistenced" not in text, text)
    expect("then nothing is left", apply("daemon", mode).startswith("Nothing to fix"))
    text = apply("mode", mode)
    expect("the service does not run", "enabled, not active" in text and f"gputune apply --only {daemon}" in text, text)
    expect("then nothing is left", apply("mode", daemon).startswith("Nothing to fix"))
    code, out, err = run("apply", "--only", mode, "--yes", *on("agreed"))
    expect("a daemon that sets the same is no rival", "nvidia-persistenced.service sets 1" in out and "which value wins" not in out + err, out)
    expect("nor is the setting's own link", "a link in /etc" not in run("explain", daemon, *on("agreed"))[1])
    lock = "gpu.sm-clock-lock"
    for verb in ("plan", "explain"):
        out = run(verb, *(["--only"] if verb == "plan" else []), lock, "--width", "200", *on("lock"))[1]
        expect(f"{verb} names the danger", "heat: a high fixed clock" in out, out)
    apply("lock", lock)
    says("no getter: requested", ["status", *on("lock")], 5, "requested; cannot be read back")
    says("verify says the same", ["verify", "--width", "200", *on("lock")], 5, "requested; cannot be read back")
    says("memlock: what writes it", ["explain", "memory.memlock", *on("limit")], 0, 'by "gputune persist install"', "gputune persist remove")
    says("kept", ["persist", "install", "--only", "memory.memlock", "--yes", *on("limit")], 0)
    says("for the next login", ["check", "--only", "memory.memlock", "--width", "200", *on("limit")], 1, "for the next login", "fix: log in again")


TUNED = """[main]
summary = of a test
include = basis, -not-there, ring
[variables]
most = 40
[sysctl]
vm.swappiness = <10
net.core.somaxconn=>2048  # at least
vm.dirty_ratio = ${most}
vm.dirty_background_bytes = 1073741824
kernel.numa_balancing = perhaps
no line of its own
[cpu]
governor = performance|schedutil
min_perf_pct = 100
[scheduler]
sched_latency_ns = 1
[sysfs]
/sys/block/sda/queue/read_ahead_kb = 128
[bootloader]
cmdline_test = +init_on_alloc=0 skew_tick=1
cmdline_less = -quiet
	audit = 0
[vm] # of all
dirty_ratio #x = 5
; a line = of comment
transparent_hugepage.defrag = never#x
"""


def imported(user, home):
    """A profile of tuned, with what it includes, as one of ours."""
    there = home / "tuned"
    for name, text in {"ours": TUNED, "basis": "[vm]\ntransparent_hugepages=never\n[sysctl]\nvm.swappiness=60\n",
                       "ring": "[main]\ninclude=ours\n[disk]\nreadahead=>4096\n"}.items():
        (there / name).mkdir(parents=True)
        (there / name / "tuned.conf").write_text(text)
    code, out, err = run("profile", "new", "from-tuned", "--base", "inference", "--from", f"tuned:{there}/ours/tuned.conf", **user)
    text = (home / ".config/gputune/profiles/from-tuned.ini").read_text()
    wants = dict(re.findall(r"^\[(\S+)\]\nwant = (.*)$", text, re.M))
    expect("each place with a setting is a want; a profile's own lines stand over those it includes", code == 0 and "base = inference" in text and wants == {
        "memory.thp-enabled": "never", "memory.swappiness": "<= 10", "net.somaxconn": ">= 2048", "memory.dirty-background-ratio": "1073741824",
        "cpu.governor": "one of performance schedutil", "disk.read-ahead": ">= 4096", "boot.init-on-alloc": "0",
        "memory.thp-defrag": "never#x"}, (code, wants, err))
    mine, ring = f"{there}/ours/tuned.conf", f"{there}/ring/tuned.conf"
    for line in (f"{mine}:3: [main] not-there: no such profile", f"{ring}:2: [main] ours: includes itself", f"{mine}:9: [sysctl] vm.dirty_ratio = ${{most}}: contains a variable",
                 f"{mine}:11: [cpu.numa-balancing]: want must be a whole number", f"{mine}:12: [sysctl] no line of its own", f"{mine}:15: [cpu] min_perf_pct = 100: gputune has no setting",
                 f"{mine}:17: [scheduler] sched_latency_ns = 1: gputune has no setting", f"{mine}:19: /sys/block/sda/queue/read_ahead_kb=128: gputune has no setting",
                 f"{mine}:21: skew_tick=1: gputune has no setting", f"{mine}:22: [bootloader] cmdline_less = -quiet: gputune has no setting",
                 f"{mine}:23: [bootloader] audit = 0: continuation lines", f'{mine}:25: [vm] dirty_ratio: not of the form "key = value"'):
        expect(f"every other line is listed, with its place: {line}", f"ignored: {line}" in err and f"; ignored: {line}"[:150] in text, (err, text))
    expect("and none besides", err.count("ignored: ") == 12, err)
    says("it is valid", ["profile", "check", "from-tuned"], 0, "valid", **user)
    says("and judges", ["profile", "show", "from-tuned", "--host", "demo:dgx-spark"], 0, "net.somaxconn", ">= 2048", **user)
    says("by the folder", ["profile", "new", "by-folder", "--from", f"tuned:{there}/basis"], 0, "by-folder.ini", **user)
    refuses("one that is not there", ["profile", "new", "none", "--from", f"tuned:{there}/none"], 2, "no profile of tuned", **user)
    refuses("a name alone", ["profile", "new", "none", "--from", "throughput-performance"], 2, "tuned:NAME", **user)
    expect("nothing is left of those", not list((home / ".config/gputune/profiles").glob("none*")))


def exported(user, home):
    """One of ours as a profile of tuned, whose parser this is; read back, it says the same."""
    path = home / "exported/tuned.conf"
    path.parent.mkdir()
    os.chown(path.parent, 65534, 65534)
    says("to a file", ["profile", "show", "inference", "--host", "demo:dgx-spark", "--format", "tuned", "-o", str(path)], 0, **user)
    conf = configparser.ConfigParser(delimiters="=", inline_comment_prefixes="#", strict=False, interpolation=None)
    conf.optionxform = str
    conf.read(path)
    expect("bounds, pairs and choices as tuned writes them", conf["sysctl"]["net.core.somaxconn"] == ">4096" and conf["sysctl"]["vm.swappiness"] == "<10"
           and conf["sysctl"]["vm.dirty_bytes"].isdigit() and conf["sysctl"]["net.ipv4.tcp_rmem"] == "4096 131072 16777216", dict(conf["sysctl"]))
    expect("a line for all CPUs, and one for a disk", conf["sysfs"]["/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"] == "performance"
           and conf["sysfs"]["/sys/block/nvme0n1/queue/scheduler"] == "none" and all(k.startswith("/sys/") for k in conf["sysfs"]), dict(conf["sysfs"]))
    expect("arguments are added", conf["bootloader"]["cmdline_init_on_alloc"] == "+init_on_alloc=0", dict(conf["bootloader"]))
    left = re.findall(r"^# (\S+) on ", path.read_text().split("# Not for tuned:\n")[1], re.M)
    expect("what tuned cannot set is a comment, once", {"gpu.persistence-mode", "nic.mrrs"} <= set(left) and conf.sections() == ["main", "sysctl", "sysfs", "bootloader"], left)
    says("back", ["profile", "new", "back", "--from", f"tuned:{path}"], 0, **user)
    wants = dict(re.findall(r"^\[(\S+)\]\nwant = (.*)$", (home / ".config/gputune/profiles/back.ini").read_text(), re.M))
    expect("the same wants", wants.get("net.somaxconn") == ">= 4096" and wants.get("memory.swappiness") == "<= 10" and wants.get("cpu.governor") == "performance"
           and wants.get("memory.thp-enabled") == "madvise" and wants.get("boot.init-on-alloc") == "0", wants)


def edited(user, editor, name):
    """Exit code and text of profile edit on a terminal."""
    read, write = os.openpty()
    p = subprocess.run([user["program"], "profile", "edit", name], stdin=write, stdout=write, stderr=write, check=False,
                       **{**{k: v for k, v in user.items() if k != "program"}, "env": {**user["env"], "EDITOR": editor}})
    os.close(write)
    try:
        return p.returncode, os.read(read, 65536).decode()
    finally:
        os.close(read)


def profiles(user, home):
    says("two profiles differ", ["profile", "diff", "default", "max-performance", "--host", "demo:dgx-spark"], 1, "nic.mrrs")
    says("sizes have their unit", ["profile", "diff", "default", "published", "--host", "demo:dgx-spark"], 1, "<= 4 GiB", "208 KiB", ">= 16 MiB")
    says("or do not", ["profile", "diff", "default", "default", "--host", "demo:dgx-spark"], 0, "same target values")
    says("what one wants", ["profile", "show", "published", "--host", "demo:dgx-spark"], 0, "memory.dirty-ratio", "40 %")
    says("a recommendation has a reason", ["profile", "recommend", "--host", "demo:hgx-h100"], 0, "the use of the machine is unknown")
    says("a profile of one's own", ["profile", "new", "mine", "--base", "inference"], 0, str(home / ".config/gputune/profiles/mine.ini"), **user)
    says("is found by its name", ["profile", "check", "mine"], 0, "valid", **user)
    own = ["--profile", "mine", "--host", "demo:dgx-spark"]
    for argv in (["check"], ["plan"], ["apply", "--dry-run"]):
        code, out, err = run(*argv, "--only", "memory.swappiness", *own, **user)
        expect(f"{argv[0]}: a command names its file, which root finds", f"apply --profile {home}/.config/gputune/profiles/mine.ini --only memory.swappiness" in
               " ".join(out.split()), (code, out, err))
    says("and listed", ["profile", "list"], 0, "a machine that serves models", "mine.ini", **user)
    refuses("is not overwritten", ["profile", "new", "mine"], 3, "exists", **user)
    refuses("a name that is none", ["profile", "new", "../x"], 2, "a name may only contain a to z", **user)
    imported(user, home)
    exported(user, home)
    path = home / ".config/gputune/profiles/mine.ini"
    path.write_text("[profile]\nbase = default\n[memory.swappiness]\nwaive = by decision\nexpires = 2020-01-01\n")
    says("a waiver that is over is said", ["profile", "check", "mine"], 1, "expired on 2020-01-01", **user)
    path.write_text("[nonsense]\nx = 1\n")
    refuses("an error has its line", ["profile", "check", "mine"], 2, "mine.ini:2", **user)
    says("a template", ["profile", "new", "lines"], 0, **user)
    lines = path.with_name("lines.ini")
    lines.write_text(re.sub("^;(?! )", "", lines.read_text(), flags=re.M))
    says("its examples are lines that a profile takes", ["profile", "check", "lines"], 0, "valid", **user)
    code, out = edited(user, "sed -i s/10/20/", "lines")
    expect("an editor of several words", code == 0 and "valid" in out and "want = <= 20" in lines.read_text(), (code, out))
    code, out = edited(user, "false --wait", "lines")
    expect("one that fails", code == 3 and "false failed" in out, (code, out))
    refuses("nothing to edit", ["profile", "edit", "other"], 2, "profile new other", **user)


def config(user, home):
    path = home / ".config/gputune/config"
    path.write_text("# mine\n[gputune]\nprofile = max-performance\ncolor = never\n")
    says("the profile of one's configuration", ["profile", "diff", "default", "max-performance", "--host", "demo:dgx-spark"], 1, "nic.mrrs",
         **user)
    says("counts where none is named", ["plan", "--host", "demo:dgx-spark"], 1, "profile max-performance", **user)
    says("also in what root is to type", ["apply", "--dry-run", "--host", "demo:dgx-spark"], 0, "apply --profile max-performance", **user)
    says("and not where one is", ["plan", "--profile", "default", "--host", "demo:dgx-spark"], 1, "profile default", **user)
    (home / "waivers.ini").write_text("[profile]\nbase = default\n[memory.swappiness]\nwaive = by decision of the site\n")
    path.write_text(f"waivers = {home}/waivers.ini\n")
    says("a site's waivers hold for every profile", ["check", "--only", "memory.swappiness", "--profile", "published", "--all", "--host", "demo:dgx-spark"], 0,
         **user)
    for text in ("nonsense\n", "colour = never\n", "color = blue\n", "profile =\n"):
        path.write_text("\n" + text)
        refuses(f"a line that is none: {text.strip()}", ["check"], 2, "config:2", "key = value", **user)
    path.write_text("profile = nowhere\n")
    refuses("a profile that there is not", ["check"], 2, "unknown profile", **user)
    path.unlink()


def pair(user, home):
    """Two machines that nobody here has: what a folder can hold is changed on both, or on none, and undone to the byte."""
    folder = home / ".local/state/gputune/demo/two-sparks"
    ways = ["--from", "demo:two-sparks"]
    nodes = ("spark-1", "spark-2")

    def machines():
        return [run("show", "network", "--host", f"demo:two-sparks/{n}", **user)[1] for n in nodes]

    def files():
        """What the folder holds that is not as captured, but the journal."""
        roots = [folder / n / "root" for n in nodes]
        return {str(p.relative_to(r)): p.read_text() for r in roots for p in r.rglob("*") if p.is_file() and "var/lib/gputune" not in str(p) and
                (p.name != "mtu" or p.read_text() != "1500\n")}
    before = machines()
    says("a plan makes nothing", ["cluster", "plan", *ways], 1, "192.168.101.2/24", "90-gputune-cluster.yaml", "no rollback timer", **user)
    expect("no folder", not folder.exists())
    says("it is made", ["cluster", "plan", "--apply", "--yes", *ways], 0, "applied and confirmed", "no echo was sent", f"undo {' '.join(ways)}", **user)
    made = files()
    expect("files of both", {"etc/netplan/90-gputune-cluster.yaml", "run/netplan/90-gputune-cluster.yaml", "etc/hosts"} <= set(made) and
           "192.168.101.2 spark-2-fabric2" in made["etc/hosts"].replace("\t", " "), made)
    expect("addresses and MTU of both", all(" 9000 " in m and "192.168.100." in m for m in machines()), machines())
    says("status of one of them", ["status", "--host", "demo:two-sparks/spark-2"], 0, "8 changes of gputune: 8 in effect", "/run/netplan/  absent", "/etc/netplan/90-gputune-cluster.yaml", **user)
    says("a second time there is nothing to do", ["cluster", "plan", "--apply", "--yes", *ways], 0, "already as planned", **user)
    says("undone", ["cluster", "undo", "--yes", *ways], 0, "/etc/netplan/90-gputune-cluster.yaml", "restored", **user)
    expect("to the byte", not files() and machines() == before, files())
    # One that takes nothing: the other is as before, too.
    tight = folder / "spark-2/root/run"
    tight.chmod(0o555)
    says("one takes nothing: none is changed", ["cluster", "plan", "--apply", "--yes", *ways], 3, "No change was kept", **user)
    expect("nor is the other", not files() and machines() == before, files())
    tight.chmod(0o755)
    os.chown(folder / "spark-2", 0, 0)
    refuses("another user's folder", ["cluster", "plan", "--apply", "--yes", *ways], 2, "belongs to user 0", "XDG_STATE_HOME", **user)
    os.chown(folder / "spark-2", 65534, 65534)
    refuses("a node that is none", ["check", "--host", "demo:two-sparks/spark-3"], 2, "spark-3", **user)


def kept(user, home):
    """Captures and recordings without a place of their own go to the user's state folder, and are found beside root's."""
    on = ["--host", "demo:dgx-spark"]
    folder = home / ".local/state/gputune"
    run("capture", *on)
    for path, name in ((STATE, "roots"), (folder, "mine")):
        for i, made in enumerate(sorted((path / "captures").iterdir())):
            made.rename(path / f"captures/{name}-{i + 1}.tar")
    code, out, err = run("record", "--for", "0.2s")
    expect("root records", code == 0 and "/var/lib/gputune/recordings/gputune-" in out + err, (code, out, err))
    roots = "roots.rec"
    os.rename(re.search(r"\S+/recordings/gputune-[\d-]+\.rec", out + err)[0], STATE / "recordings" / roots)
    here = sorted(home.iterdir())
    code, out, err = run("record", "--for", "0.2s", **dict(user, cwd=home))
    expect("a user records", code == 0 and f"{folder}/recordings/gputune-" in out + err and sorted(home.iterdir()) == here, (code, out, err))
    own = re.search(r"recordings/(gputune-[\d-]+\.rec)", out + err)[1]
    says("captures, the user's and the machine's", ["list", "captures"], 0, f"{folder}/captures/mine-2.tar", "/var/lib/gputune/captures/roots-1.tar",
         **user)
    says("recordings", ["list", "recordings"], 0, f"{folder}/recordings/{own}", f"/var/lib/gputune/recordings/{roots}", **user)
    says("by its name alone", ["monitor", own, "--format", "json"], 0, **user)
    refuses("root's is root's: its command may hold what others should not read", ["monitor", roots, "--format", "json"], 2, "Permission denied", **user)
    says("which root finds by its name", ["monitor", roots, "--format", "json"], 0)
    says("two of them", ["compare", own, own], 5, "not comparable", **user)
    run("capture", "-o", str(home / "live.tar"), **dict(user, cwd=home))
    out = " ".join(run("check", "--host", str(home / "live.tar"))[1].split())
    expect("who reads a user's capture sees what it lacks", "Captured by a normal user: data that only root can read is missing" in out, out[-400:])
    measured(user, folder)
    says("a capture by its name", ["check", "--host", "mine-2.tar"], 1, "memory.guard", **user)
    says("a file of that name here goes first", ["check", "--host", "mine-2.tar"], 2, "invalid tar", **dict(user, cwd=here_with(home, "mine-2.tar")))
    refuses("a name that is none", ["monitor", "gputune-0.rec"], 2, "gputune-0.rec", **user)


def measured(user, folder):
    """A plain compare pairs results of one owner; the list names root."""
    one = ["bench", "memory-latency/16KiB", "--runs", "5"]
    for _ in range(2):
        run(*one, cwd="/")
    code, out, err = run("compare", **user)
    expect("without own results, root's two", code in (0, 1, 5) and "memory-latency" in out, (code, out, err))
    run(*one, **user)
    expect("a user's result is the user's", len(list((folder / "bench").iterdir())) == 1)
    refuses("never root's with one's own", ["compare"], 2, "no two results", **user)
    run(*one, **user)
    code, out, err = run("compare", **user)
    own = sorted(p.stem for p in (folder / "bench").iterdir())
    expect("then the user's two", all(f"{x}: {i}." in " ".join(out.split()) for x, i in zip("AB", own)), (own, out, err))
    out = run("bench", "list", "--width", "80", **user)[1].split("Available benches")[0]
    rows = [line.split() for line in out.splitlines() if "memory-latency " in line]
    expect("the list names root once for each of root's", sorted(r[-1] for r in rows) == ["1", "1", "root", "root"] and
           all(len(line) <= 80 for line in out.splitlines()) and out.count("Result") == 1, out)


def here_with(home, name):
    (home / "other").mkdir()
    (home / "other" / name).write_text("no capture\n")
    return home / "other"


def guarded(*allowed, changes=0x1ff2):
    """For preexec_fn: the kernel's Landlock, a security module, lets this process do these (LANDLOCK_ACCESS_FS_*; WRITE_FILE, REMOVE_* and
    MAKE_* when none are named) below these folders alone, root or not."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter():
        rules = libc.syscall(444, ctypes.byref(ctypes.c_uint64(changes)), ctypes.c_size_t(8), 0)
        for folder in allowed:
            fd = os.open(folder, os.O_PATH)
            libc.syscall(445, rules, 1, struct.pack("<Qi", changes, fd), 0)
        libc.prctl(38, 1, 0, 0, 0)
        if libc.syscall(446, rules, 0):
            os._exit(99)
    return enter


def bad(user, home):
    """Homes that do not take anything: a sentence each, and nothing is lost or left half."""
    def fresh(name, owner=65534):
        folder = home.parent / name
        folder.mkdir()
        os.chown(folder, owner, owner)
        return folder

    def tree(folder):
        return sorted((str(p), p.lstat().st_uid) for p in folder.rglob("*"))
    apply = ["apply", "--yes", "--host", "demo:dgx-spark"]
    # Each of what a user keeps: a result, a capture, a recording, a demo's changes.
    keeps = (["bench", "timer-wake-up", "--for", "20ms"], ["capture"], ["record", "--for", "0.1s"], apply)
    read_only, others, linked = fresh("read-only"), fresh("others", 1), fresh("linked")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=777", "none", read_only], check=True)
    (linked / "gputune").symlink_to(others)
    os.chown(linked / "gputune", 65534, 65534, follow_symlinks=False)
    os.chmod(others, 0o777)
    (others / "gputune").mkdir()
    os.chown(others / "gputune", 1, 1)
    os.chmod(others / "gputune", 0o777)
    for what, env, said in (("no HOME", {}, ""), ("a relative one", {"HOME": "here"}, ""), ("a read-only HOME", {"HOME": str(read_only)}, "Read-only file system"),
                            ("a folder that is a link", {"XDG_STATE_HOME": str(linked)}, ""),
                            ("another user's folder", {"XDG_STATE_HOME": str(others)}, "belongs to user 1")):
        before = tree(home.parent)
        for argv in keeps:
            code, out, err = run(*argv, **dict(user, env={"PATH": os.environ["PATH"], **env}))
            expect(f"{what}: {argv[0]}", code in (2, 3, 5) and said in err and re.search("elsewhere|another folder|--overlay", err) and not out, (code, out, err))
        refuses(f"{what}: a pair's changes", ["cluster", "plan", "--apply", "--yes", "--from", "demo:two-sparks"], 2, "XDG_STATE_HOME",
                **dict(user, env={"PATH": os.environ["PATH"], **env}))
        expect(f"{what}: nothing is made", tree(home.parent) == before, set(tree(home.parent)) ^ set(before))
        says(f"{what}: looking works", ["check", "--host", "demo:dgx-spark"], 1, "memory.guard", "--host demo:dgx-spark", **dict(user, env={"PATH": os.environ["PATH"], **env}))
    subprocess.run(["umount", read_only], check=True)
    # What a user writes by himself: a link of his own is followed, but not to another user's.
    (home / "config.json").write_text(SHAPE)
    dots = fresh("dots")
    (linked / "dots").symlink_to(dots)
    for argv in (["profile", "new", "dotted"], ["model", "add", str(home / "config.json"), "--name", "acme"]):
        for config in (others, linked, linked / "dots"):
            before = tree(home.parent)
            code, out, err = run(*argv, **dict(user, env={"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(config), "HOME": str(home)}))
            if config.name == "dots":
                expect(f"{argv[0]}: a link", code == 0 and len(tree(home.parent)) > len(before), (code, out, err))
            else:
                expect(f"{argv[0]}: {config.name}", code == 3 and "belongs to user 1" in err and tree(home.parent) == before, (code, out, err))
    # sudo that keeps HOME: root's things are root's, and nothing of root's comes to lie in that home.
    before = tree(home)
    kept_home = {"env": {**PLAIN, "HOME": str(home), "SUDO_UID": "65534"}}
    says("sudo with a kept HOME: a capture", ["capture", "--host", "demo:dgx-spark"], 0, "/var/lib/gputune/captures/", **kept_home)
    refuses("a model", ["model", "add", str(home / "config.json"), "--name", "acme"], 3, "belongs to user 65534", **kept_home)
    refuses("a demo's changes", apply, 2, "belongs to user 65534", "--overlay", **kept_home)
    expect("nothing of root's is in that home", tree(home) == before, set(tree(home)) ^ set(before))
    # A full disk.
    tight = fresh("tight")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "none", tight], check=True)
    for p in (1, 2):
        (tight / f"ballast-{p}").write_bytes(b"x" * 28672)
    there = dict(user, env={"PATH": os.environ["PATH"], "HOME": str(tight)})
    for argv in keeps[1:]:
        code, out, err = run(*argv, **there)
        expect(f"a full disk: {argv[0]} says so", code in (2, 3, 4, 5) and "no space left" in err.lower() or argv[0] == "record" and code == 0,
               (code, out[-300:], err))
    expect("no half capture is left", not list(tight.rglob("*.tar")), tree(tight))
    for path in tight.rglob("*.rec"):
        says("a recording can be read as far as it goes", ["monitor", str(path), "--format", "json"], 0, **there)
    for p in (1, 2):
        (tight / f"ballast-{p}").unlink()
    says("with room again: apply", ["apply", "memory.dirty-ratio", *apply[1:]], 0, "made", **there)
    says("and undo", ["undo", "--all", "--yes", *apply[2:]], 0, "restored", **there)
    subprocess.run(["umount", tight], check=True)
    # Two at once: each is done or says who is at it, and the end is what one of them alone makes.
    both = fresh("both")
    there = dict(user, env={"PATH": os.environ["PATH"], "HOME": str(both)})
    program = user["program"]
    how = {k: v for k, v in there.items() if k != "program"}
    ran = [common.finish(p) for p in [common.start(program, *apply, **how) for _ in range(4)]]
    expect("two at once", sum(r.code == 0 for r in ran) >= 1 and all(r.code == 0 or "gputune" in r.err for r in ran), ran)
    says("the journal is whole", ["journal", "check", *apply[2:]], 0, **there)
    says("one undo is enough", ["undo", "--all", "--yes", *apply[2:]], 0, **there)
    ran = [common.finish(p) for p in [common.start(program, "capture", *apply[2:], **how) for _ in range(2)]]
    made = list((both / ".local/state/gputune/captures").glob("*.tar"))
    expect("captures at once are each whole, or refused", all(run("check", "--host", str(p))[0] == 1 for p in made) and
           len(made) == sum(r.code == 0 for r in ran) > 0, (ran, made))
    # A security module that denies.
    try:
        code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes", preexec_fn=guarded("/var/lib", "/dev"))
    except subprocess.SubprocessError:
        code = 99
    if code == 99:
        skip("denials", "no Landlock here")
        return
    expect("a security module denies the setting: said, and nothing is changed", code in (3, 4) and "refuses the write even to root" in err, (code, out, err))
    says("nothing is held", ["status"], 0, "No change")
    code, out, err = run("apply", "--profile", "published", "--only", ONE, "--yes", preexec_fn=guarded("/proc", "/dev"))
    expect("it denies the journal: said before anything is written", code in (2, 3) and "denied" in err, (code, out, err))
    expect("root is not told to be root", "sudo" not in err and "nothing was changed" in err, err)
    says("nothing is held still", ["status"], 0, "No change")
    code, out, err = run("check", "--profile", "published", "--only", ONE, preexec_fn=guarded("/usr", "/etc", os.path.dirname(common.gputune), changes=4))
    expect("nor where it denies reading", code == 5 and "is denied even to root (EACCES)" in out and "sudo" not in out, (code, out, err))
    for argv in keeps:
        code, out, err = run(*argv, **dict(user, preexec_fn=guarded("/dev")))
        expect(f"it denies {argv[0]}", code in (2, 3, 5) and "ermission denied" in err, (code, out, err))
        expect("said before anything is measured", argv[0] != "bench" or "cannot write in" in err, err)


SHAPE = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
 "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"}"""
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
POLICY = """[profile]
base = published
[apply]
users = nobody, @games
profiles = default, published
risk = service
skip = net.rmem-max
[agents]
only = memory
risk = low
[watch]
policy = re-apply
interval = 20s
[gpu]
policy = back-off
[net.wmem-max]
waive = measured here
expires = 2099-03-31
"""


def policy(user):
    """One file for profiles, waivers, who may change what, agents and watch."""
    for words in (["cp", "-a", "/etc", "/var/lib/etc"], ["mount", "--bind", "/var/lib/etc", "/etc"], ["mkdir", "-p", "/etc/gputune"]):
        subprocess.run(words, check=True)
    path = pathlib.Path("/etc/gputune/policy.ini")
    on = ["--host", "demo:dgx-spark"]
    says("no policy", ["profile", "policy", "alice"], 3, "no site policy")
    path.write_text(POLICY)
    says("it is sound", ["profile", "policy", "root"], 0, "valid", "root may")
    for who, code, words in (("nobody", 0, "nobody may apply"), ("games", 0, "games may"), ("daemon", 3, "daemon is not allowed")):
        says(f"{who} by name, by group, or not", ["profile", "policy", who], code, words)
    says("its profile counts", ["plan", *on], 1, "profile /etc/gputune/policy.ini")
    says("by its file as well, as pages name it", ["plan", "--profile", str(path), *on], 1, "profile /etc/gputune/policy.ini")
    says("and not where one is named", ["plan", "--profile", "default", *on], 1, "profile default")
    code, out, _ = run("check", "--only", "net.wmem-max", "--all", *on)
    expect("its waiver holds", code == 0 and "waived until 2099-03-31: measured here" in " ".join(out.split()), (code, out))
    says("so it does for Slurm", ["slurm", "prolog", "--exit-only", "--only", "net.wmem-max", "--scontrol", "/nowhere"], 0)
    one = ["--only", "net.rmem-max", "--profile"]
    for words, code, said in ((["plan", *one, "default"], 1, "forbids changes of net.rmem-max"), (["plan", "--profile", "inference"], 1, "forbids the profile inference"),
                              (["plan", "--profile", "published", "--only", "net.rmem-max", "--allow", "net.rmem-max"], 1, "forbids changes of net.rmem-max")):
        code, out, err = run(*words)
        expect(f"{words}: {said}", said in " ".join((out + err).split()), (code, out, err))
    change = ["--profile", "published", "--only", ONE, "--yes"]
    for env, code in (({"SUDO_UID": "1"}, 3), ({"PKEXEC_UID": "1"}, 3), ({"SUDO_UID": "65534"}, 0), ({}, 0)):
        said = "forbids user daemon" if code else "made"
        says(f"apply as {env}", ["apply", *change], code, said, env={**PLAIN, **env})
        says(f"undo as {env}", ["undo", "--yes"], code, env={**PLAIN, **env})
    says("watch reads it", ["watch", "--once"], 0, "watching")
    for text, line, said in (("[apply]\nuser = x\n", 2, "unknown key"), ("[apply]\nrisk = high\n", 2, "unknown risk"), ("[agents]\nchanges = maybe\n", 2, "yes or no"),
                             ("[watch]\npolicy = fight\n", 2, "policy must be"), ("[memory.nope]\nwant = 1\n", 2, "unknown setting"),
                             ("[memory.swappiness]\nexpires = 2027-01-01\n", 2, "no waive"), ("[apply]\nonly = nope\n", 2, "nope"), ("x", 1, "expected")):
        path.write_text(text)
        refuses(f"wrong: {text!r}", ["profile", "policy"], 2, f"policy.ini:{line}: ", said)
    expect("and nothing is changed meanwhile", run("apply", *change)[0] in (2, 3))
    path.write_text("[agents]\nchanges = no\n")
    refuses("agents may change nothing", ["mcp", "--allow-changes"], 3, "forbids changes by agents")
    path.chmod(0o666)
    refuses("whoever may write it", ["plan"], 2, "users other than root")
    subprocess.run(["umount", "/etc"], check=True)


PKCHECK = """#!/bin/sh
echo "$*" >>/var/lib/asked
case $* in *--allow-user-interaction*) exit $(cat /var/lib/asks) ;; esac
exit $(cat /var/lib/at-once)
"""


def calls(path, requests):
    """Answers to calls of tools by a process of nobody's at the socket."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        f = s.makefile("rwb")
        got, values = [], {}
        for name, arguments in requests:
            arguments = {k: values.get(v, v) for k, v in arguments.items()}
            f.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": META}}).encode() + b"\n")
            f.flush()
            got.append(json.loads(f.readline())["result"])
            values["HASH"] = got[0].get("structuredContent", {}).get("data", {}).get("hash")
        os.write(write, json.dumps(got).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as f:
        return json.loads(f.read() or "[]")


def credential(user):
    """An administrator's password, by polkit: a stand-in for pkcheck(1), which makes the call."""
    for folder in ("upper", "work"):
        os.mkdir(f"/var/lib/{folder}")
    p = subprocess.run(["mount", "-t", "overlay", "-o", "lowerdir=/usr/bin,upperdir=/var/lib/upper,workdir=/var/lib/work", "overlay", "/usr/bin"], check=False)
    if p.returncode:
        skip("polkit", "no overlay of /usr/bin here")
        return
    pathlib.Path("/usr/bin/pkcheck").write_text(PKCHECK)
    os.chmod("/usr/bin/pkcheck", 0o755)
    path = "/var/lib/socket"
    server = subprocess.Popen([common.gputune, "mcp", "--allow-changes", "--socket", path, "--group", "nogroup"], env=PLAIN)
    until(lambda: os.path.exists(path), 20)
    propose, apply = ("propose", {"setting": ONE, "profile": "published"}), ("apply", {"approved": "HASH"})
    for at_once, asks, done, asked in ((0, 0, False, 0), (127, 0, False, 0), (2, 1, False, 1), (2, 3, False, 1), (2, 0, True, 1)):
        pathlib.Path("/var/lib/at-once").write_text(f"{at_once}\n")
        pathlib.Path("/var/lib/asks").write_text(f"{asks}\n")
        pathlib.Path("/var/lib/asked").write_text("")
        got = calls(path, [propose, apply, apply])
        said = pathlib.Path("/var/lib/asked").read_text().splitlines()
        expect(f"pkcheck ends with {at_once}, then {asks}", [r["isError"] for r in got] == [False, not done, True], got)
        expect(f"a person was asked {asked} times", sum("--allow-user-interaction" in x for x in said) == asked, said)
        expect("of that client, by that action", all("io.gputune.approve" in x and ",65534 " in x for x in said), said)
        run("undo", "--yes")
        shutil.rmtree("/var/lib/gputune/approvals")
    server.terminate()
    expect("the server ends", server.wait(20) == 0)
    subprocess.run(["umount", "-l", "/usr/bin"], check=True)


why = no_namespaces("ip")
if why:
    skip("a user's hour", why)
    end_suite()
alone()
tmp = scratch()
os.chmod(tmp, 0o755)
home = pathlib.Path(tmp) / "home"
home.mkdir()
os.chown(home, 65534, 65534)
# The folder that the program was built in may be closed to others. What it is beside are its demos.
here = nobody(home)
here["program"] = shutil.copy(common.gputune, f"{tmp}/gputune")
(tmp / "machines").mkdir()
for name in ("dgx-spark.tar", "two-sparks.json"):
    shutil.copy(common.built / "machines" / name, tmp / "machines")
changes(here)
stale(here)
full(here)
demo(here, home)
next_steps()
pair(here, home)
kept(here, home)
bad(here, home)
profiles(here, home)
config(here, home)
policy(here)
credential(here)
end_suite()
