#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputune journal, and a damaged journal as every verb that relies on it meets it: what one of the two files has is read, what both
have lost is named with exit code 4, and nothing is said to be held or not held that is not known."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

from common import end_suite, expect, fits, gputune, machines, root, run, skip

spark = machines / "dgx-spark"
SETTINGS = "memory.swappiness,net.rmem-max"


class Machine:
    def __init__(self, folder):
        self.overlay = pathlib.Path(folder)
        self.state = self.overlay / "root/var/lib/gputune"
        self.journal, self.copy, self.past = (self.state / n for n in ("journal.jsonl", "journal.copy.jsonl", "history.jsonl"))

    def run(self, *argv):
        return run(*argv, "--host", spark, "--overlay", self.overlay)

    def ask(self, *argv):
        code, out, err = self.run("journal", *argv, "--format", "json")
        j = fits(f"journal {argv} follows its schema", out)
        expect(f"journal {argv}: the exit code is the one in the result", j["exit_code"] == code, (j, code))
        return code, j

    def apply(self, *settings):
        return self.run("apply", "--profile", "published", "--only", ",".join(settings), "--yes")

    def values(self):
        """What the overlay holds beside our own folder."""
        return sorted(str(p.relative_to(self.overlay)) for p in self.overlay.rglob("*")
                      if p.is_file() and "var/lib/gputune" not in str(p) and p.read_bytes() != (spark / p.relative_to(self.overlay)).read_bytes())


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def crc32c(data):
    c = 0xFFFFFFFF
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ 0x82F63B78 & -(c & 1)
    return c ^ 0xFFFFFFFF


def of_format_3(path):
    """The journal as a newer version would write it: another format, and seals that fit."""
    before, out = "00000000", b""
    for line in lines_of(path):
        body = line[:line.rindex(b',"p":')].replace(b'"format":2', b'"format":3') + b',"p":"%s"' % before.encode()
        before = f"{crc32c(body):08x}"
        out += body + b',"c":"%s"}\n' % before.encode()
    path.write_bytes(out)
    return out


def newer():
    """What a newer version wrote is said by every verb that reads it, and stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        m = Machine(folder)
        expect("kept", m.apply("memory.swappiness").code == 0 and m.run("persist", "install", "--yes").code == 0)
        boot = m.overlay / "root/etc/gputune/boot.json"
        ours = boot.read_text()
        text = ours.replace("gputune.boot/2", "gputune.boot/3")
        boot.write_text(text)
        for argv in (["persist", "status"], ["persist", "diff"], ["persist", "install", "--yes"], ["apply", "--boot", "--dry-run"]):
            code, out, err = m.run(*argv)
            expect(f"a kept file of a newer version: {argv}", code == 2 and "gputune.boot/3" in err and "newer gputune" in err, (code, out, err))
        page = m.overlay / "page.html"
        code, out, err = m.run("report", "-o", page)
        expect("a report is made all the same, and says it", code == 1 and "gputune.boot/3" in err and page.stat().st_size > 10000, (code, err))
        code, out, err = m.run("persist", "remove", "--yes")
        expect("it is not removed", code == 1 and "boot.json was not removed" in err and boot.read_text() == text, (code, out, err))
        expect("status and undo do not need it", m.run("status").code == 0 and m.run("undo", "--all", "--yes").code == 0 and boot.read_text() == text)
        boot.write_text(ours)
        expect("applied again", m.apply("memory.swappiness").code == 0)
        kept = [of_format_3(p) for p in (m.journal, m.copy)]
        for argv, want in ((["status"], 4), (["history"], 4), (["verify"], 4), (["profile", "active"], 4), (["journal", "check"], 4), (["journal", "repair", "--yes"], 4),
                           (["persist", "status"], 5), (["persist", "diff"], 5), (["apply", "--only", "memory", "--yes"], 3), (["undo", "--all", "--yes"], 3),
                           (["persist", "install", "--yes"], 3), (["persist", "remove", "--yes"], 3), (["watch", "--once"], 5), (["report", "-o", page, "--force"], 1)):
            code, out, err = m.run(*argv)
            expect(f"a journal of a newer version: {argv}", code == want and "written by a newer gputune: use that version" in out + err, (code, out[-300:], err))
            expect(f"{argv}: nothing is lost", [p.read_bytes() for p in (m.journal, m.copy)] == kept)
        expect("what only looks goes on", m.run("check").code == 1 and m.run("plan").code == 1)
        results = {"plan": ["plan"], "check": ["check"], "show": ["show"], "doctor": ["doctor", "--passive"], "status": ["status"]}
        for name, argv in results.items():
            path = m.overlay / f"{name}.json"
            path.write_text(re.sub(r'"gputune\.([a-z]+)/1"', rf'"gputune.{name}/2"', run(*argv, "--host", spark, "--format", "json").out, count=1))
            said = [run("apply", path, "--host", spark, "--dry-run")] if name == "plan" else [run("report", path, "-o", page, "--force"), run("fleet", path)]
            expect(f"a result {name}/2", all(p.code in (2, 5) and f"gputune.{name}/2" in p.out + p.err and ("version" in p.out + p.err or "supported are results of" in p.out + p.err) for p in said), said)


newer()
with tempfile.TemporaryDirectory() as tmp:
    m = Machine(tmp)
    code, j = m.ask("check")
    expect("no journal", code == 0 and j["format"] is None, (code, j))
    expect("nor is one made by repairing or compacting", [m.ask(a, "--yes")[0] for a in ("repair", "compact")] == [0, 0] and not m.journal.exists())
    expect("applied", m.apply(*SETTINGS.split(","))[0] == 0)
    expect("the copy has the same bytes", m.journal.read_bytes() == m.copy.read_bytes())
    code, j = m.ask("check")
    expect("whole", code == 0 and j["format"] == 2 and j["copy_is_whole"] and j["open_transactions"] == 1 and not j["bad_lines"], j)
    whole, lines = m.journal.read_bytes(), lines_of(m.journal)
    begin = next(i for i, line in enumerate(lines) if b'"begin","txn":1,' in line)

    # One of the two is damaged: the other has it.
    m.journal.write_bytes(whole.replace(b'"op":"apply","boot":"', b'"op";"apply","boot":"', 1))
    code, out, err = m.run("status")
    expect("status reads the copy, and says so", code == 0 and "1 damaged line was read from" in err and "in effect" in out, (code, out, err))
    code, j = m.ask("check")
    expect("check finds it", code == 1 and j["lines_from_copy"] == 1 and not j["bad_lines"], (code, j))
    code, j = m.ask("repair", "--yes", "--dry-run")
    expect("a dry run repairs nothing", code == 1 and m.journal.read_bytes() != whole, code)
    code, j = m.ask("repair", "--yes")
    expect("repaired", code == 0 and m.journal.read_bytes() == m.copy.read_bytes(), (code, j))
    whole, lines = m.journal.read_bytes(), lines_of(m.journal)
    m.copy.write_bytes(b"nonsense\n")
    expect("a damaged copy is a finding", m.ask("check")[0] == 1)
    m.journal.unlink()
    m.copy.write_bytes(whole)
    code, out, err = m.run("undo", "--all", "--yes")
    expect("without the journal its copy does", code == 0 and not m.values(), (code, out, err, m.values()))

    # Both are: the intents stand by themselves.
    expect("applied again", m.apply(*SETTINGS.split(","))[0] == 0)
    bad = [line if b'"begin","txn":3,' not in line else line.replace(b'"time"', b'"tide"') for line in lines_of(m.journal)]
    for path in (m.journal, m.copy):
        path.write_bytes(b"".join(bad))
    for argv in (["status"], ["history"], ["verify"], ["persist", "status"], ["watch", "--once"], ["undo", "--dry-run", "--yes"], ["journal", "check"],
                 ["apply", "--profile", "published", "--only", SETTINGS, "--yes"],
                 ["doctor", "slow", "disk", "--fix", "--dry-run"]):
        code, out, err = m.run(*argv)
        said = out if argv[0] == "watch" else err
        expect(f"{argv[0]}: exit code 4, and the line is named", code == 4 and "unreadable" in said and "journal.jsonl" in said, (code, out[-300:], err))
        expect(f"{argv[0]}: nothing is denied", "No change of gputune" not in out and "changed nothing" not in out, out)
    if os.geteuid() == 0:  # proofs are of the machine that runs: with this state folder
        p = subprocess.run([root / "scripts/own-state", m.state, gputune, "prove", "--all", "--dry-run", "--dir", tmp, "--state", tmp],
                           capture_output=True, text=True, timeout=120, check=False)
        expect("prove: exit code 4, and the line is named", p.returncode == 4 and "unreadable" in p.stderr, (p.returncode, p.stderr))
    else:
        skip("prove beside a damaged journal", "not root")
    code, out, err = m.run("status", "--format", "json")
    expect("the same in JSON", code == 4 and json.loads(out)["exit_code"] == 4 and len(json.loads(out)["rows"]) == 2, (code, out))
    code, out, err = m.run("undo", "--all", "--yes")
    expect("undone all the same", code == 4 and not m.values(), (code, out, err, m.values()))
    code, out, err = m.run("status")
    expect("and nothing is denied afterwards", code == 4 and "Which changes of gputune are in effect is unknown" in out and "No change" not in out, (code, out))
    code, out, err = m.run("journal", "repair", "--yes")
    expect("repair says what it cannot", code == 4 and "repair --force" in err, (code, out, err))
    code, j = m.ask("repair", "--force", "--yes")
    expect("until it is given up", code == 0 and not j["bad_lines"], (code, j))
    code, out, err = m.run("status")
    expect("then nothing is held", code == 0 and "No change of gputune is in effect" in out, (code, out, err))

    # What is over, and all of it.
    expect("one that stays", m.apply("memory.swappiness")[0] == 0)
    before = json.loads(m.run("history", "--format", "json")[1])["transactions"]
    code, j = m.ask("compact", "--yes")
    expect("compacted", code == 0 and j["open_transactions"] == 1 and j["history_bytes"] > 0 and m.journal.stat().st_size < len(whole), j)
    after = json.loads(m.run("history", "--format", "json")[1])["transactions"]
    expect("the history is what it was", before == after, (len(before), len(after)))
    code, out, err = m.run("journal", "export")
    kinds = [json.loads(line)["t"] for line in out.splitlines()]
    expect("export has every line", code == 0 and kinds.count("intend") >= 4 and "undone" in kinds, (code, kinds))
    expect("export has one form", m.run("journal", "export", "--format", "md")[0] == 2)
    expect("a word that is no action", m.run("journal", "mend")[0] == 2)
    expect("undone", m.run("undo", "--yes")[0] == 0 and not m.values())

    # A line that says what cannot be blocks nothing.
    for text in ('{"t":"begin","txn":10000000,"op":"apply","time":1}\n', '{"t":"closed","txn":9999999}\n'):
        m.copy.unlink(missing_ok=True)
        m.journal.write_text(text)
        code, out, err = m.apply("memory.swappiness")
        expect("applied beside a number that cannot be", code == 4 and m.values(), (code, out, err))
        code, out, err = m.run("undo", "--all", "--yes")
        expect("and undone", code == 4 and not m.values(), (code, out, err))

end_suite()
