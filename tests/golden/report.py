#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report: the page's structure by a parser, its policy and hashes, contrasts, what hostile names do to it, what -o may
replace, several machines, Markdown and JSON. The browser's part is tests/browser/run.

    report.py GPUTUNE
"""
import base64
import hashlib
import html.parser
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from released import rows_of
from common import end_suite, expect, gputune, machines, root, run, schema, validate
import report_state
from report_state import EVIL

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Page(html.parser.HTMLParser):
    """Elements with their attributes, in order, and whether they nest."""

    def __init__(self, text):
        super().__init__()
        self.all, self.open, self.wrong, self.text, self.style, self.script = [], [], [], [], "", ""
        self.feed(text)
        self.close()
        self.wrong += [f"<{t}> is not closed" for t in self.open]

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs), list(self.open)))
        if len(dict(attrs)) != len(attrs):
            self.wrong.append(f"twice the same attribute: {tag} {attrs}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.all.append((tag, dict(attrs), list(self.open)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> inside {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            setattr(self, self.open[-1], getattr(self, self.open[-1]) + data)
        else:
            self.text.append(data)

    def of(self, *tags):
        return [(t, a, up) for t, a, up in self.all if t in tags]


def sha(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def sound(name, text):
    """What holds of every page."""
    p = Page(text)
    expect(f"{name}: nests", not p.wrong, p.wrong[:5])
    metas = {a.get("http-equiv", a.get("name", "")): a.get("content", "") for _, a, _ in p.of("meta")}
    policy = dict(part.strip().split(" ", 1) for part in metas["Content-Security-Policy"].split(";"))
    expect(f"{name}: nothing is let in", policy["default-src"] == "'none'" and policy["base-uri"] == "'none'" and
        set(policy) <= {"default-src", "style-src", "script-src", "base-uri", "form-action"}, policy)
    expect(f"{name}: the style's hash", policy["style-src"] == f"'{sha(p.style)}'", policy)
    expect(f"{name}: the script's hash", policy["script-src"] == f"'{sha(p.script)}'", policy)
    expect(f"{name}: one style, one script", len(p.of("style")) == 1 and len(p.of("script")) == 1)
    expect(f"{name}: no attribute of style or script", not [a for _, a, _ in p.all if "style" in a or any(k.startswith("on") for k in a)])
    outside = [(t, a) for t, a, _ in p.all for k in ("src", "href", "action", "data", "srcset", "xlink:href", "poster")
               if k in a and not a[k].startswith("#")]
    expect(f"{name}: nothing from outside", not outside and "url(" not in p.style and "@import" not in p.style, outside)
    expect(f"{name}: no element that loads", not p.of("link", "img", "iframe", "object", "embed", "base", "form", "video"))
    ids = [a["id"] for _, a, _ in p.all if "id" in a]
    expect(f"{name}: ids once", len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1][:5])
    lost = [a["href"] for _, a, _ in p.of("a") if a["href"][1:] not in ids]
    expect(f"{name}: links lead somewhere", p.of("a") and not lost, lost)
    levels = [int(t[1]) for t, _, _ in p.of("h1", "h2", "h3", "h4", "h5", "h6")]
    expect(f"{name}: headings in order", levels[0] == 1 and levels.count(1) == 1 and
        all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)
    expect(f"{name}: language, landmarks, way around", p.of("html")[0][1].get("lang") == "en" and len(p.of("main")) == 1 and
        "Skip to the content" in "".join(p.text))
    expect(f"{name}: headers have a scope", all("scope" in a for _, a, _ in p.of("th")))
    pictures = p.of("svg")
    expect(f"{name}: drawings have a role", all(a.get("role") == "img" for _, a, _ in pictures))
    after = [p.all[i + 1][0] for i, e in enumerate(p.all[:-1]) if e[0] == "svg"]
    expect(f"{name}: and a title", all(t == "title" for t in after), after[:5])
    return p


def luminance(colour):
    c = colour.lstrip("#")
    c = "".join(x * 2 for x in c) if len(c) == 3 else c
    v = [int(c[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    v = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in v]
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]


def contrast(a, b):
    x, y = sorted((luminance(a), luminance(b)))
    return (y + 0.05) / (x + 0.05)


def colours(style):
    """Both themes: texts 4.5 to 1, marks 3 to 1."""
    pairs = re.findall(r"--([\w-]+):light-dark\((#\w+),(#\w+)\)", style)
    light, dark = ({p[0]: p[k] for p in pairs} for k in (1, 2))
    expect("each colour has both themes", len(pairs) == len(light) == len(re.findall(r"--[\w-]+:", style)) > 40)
    for theme, c in (("light", light), ("dark", dark)):
        texts = [(t, g) for t in ("ink", "soft", "accent", "good", "warn", "bad", "unknown") for g in ("bg", "panel")]
        texts += [("good", "good-bg"), ("warn", "warn-bg"), ("bad", "bad-bg"), ("on-badge", "badge"), ("on-badge", "badge-tight")]
        texts += [("ink", g) for g in ("good-bg", "warn-bg", "bad-bg")]
        texts += [(t, g) for t in ("ink", "soft") for g in ("gpu", "nic", "disk", "switch", "root")]
        texts += [("h-ink-lo", f"h{i}") for i in range(5)] + [("h-ink-hi", f"h{i}") for i in range(5, 9)]
        for t, g in texts:
            expect(f"{theme}: {t} on {g} is read", contrast(c[t], c[g]) >= 4.5, f"{contrast(c[t], c[g]):.2f}")
        for m in [f"c{i}" for i in range(1, 9)] + ["limit", "edge", "gpu-edge", "nic-edge", "disk-edge", "switch-edge"]:
            expect(f"{theme}: {m} is seen", contrast(c[m], c["bg"]) >= 3, f"{contrast(c[m], c['bg']):.2f}")


SECTIONS = ("machine", "findings", "changes", "benches", "proofs", "predictions", "stack", "persist", "doctor")


def one(tmp):
    machine, overlay, said = report_state.full(gputune, tmp)
    expect("its state is made", all(code in (0, 1) for code, _, _ in said), said)
    on = ("--host", machine, "--overlay", overlay)
    before = {p: p.read_bytes() for p in overlay.rglob("*") if p.is_file()}
    code, text, err = run("report", *on)
    expect("findings are its exit code", code == 1 and not err, (code, err))
    expect("nothing is written", before == {p: p.read_bytes() for p in overlay.rglob("*") if p.is_file()})
    p = sound("full", text)
    colours(p.style)
    said = " ".join("".join(p.text).split())
    expect("the verdict first, then what to fix first", said.index("1 critical, 1 high") < said.index("Fix these first") <
        said.index("sudo gputune apply") < said.index("The machine"), said[:400])
    badges = [a["data-badge"] for _, a, _ in p.of("li") if "data-badge" in a]
    expect("findings are cards with their severity in words", badges[:3] == badges[3:6] == ["critical", "high", "medium"] and
        all(f'<span class="mark' in piece and f">{b}</span>" in piece for b, piece in zip(badges, text.split("<li class=\"finding")[1:])), badges)
    ids = {a["id"] for _, a, _ in p.of("div") if "id" in a}
    expect("every section has something", set(SECTIONS) <= ids, set(SECTIONS) - ids)
    for want in ("Bottleneck: GPU 5", "sudo gputune apply --only cpu.governor", "--allow pcie.acs", "changed by others",
                 "1 of 3 drifted", "the report's test", "copy, collectives, gemm", "+18.0 %",
                 "tokens/s of one request", "libraries and packages in", "zz-gputune.conf", "Not tested, or incomplete"):
        expect(f"it says {want!r}", want in said, said[:300])
    expect("charts of measurements and proofs", len([a for _, a, _ in p.of("svg") if a.get("class") == "chart"]) >= 6)
    expect("what was measured twice is one chart, of the models that fit another", "memory-bandwidth triad, 2026-11-07 09:00 UTC: 226" in text and
        "memory-bandwidth triad, 2026-11-21 09:34 UTC: 21" in text and "Output of one request" in said, re.findall("triad, 2026[^.]*", text))
    expect("the drawing, wide and tall", len([a for _, a, _ in p.of("svg") if a.get("class") != "chart"]) == 2)
    expect("the same again", re.sub(r"Made [^.]*", "", run("report", *on)[1]) == re.sub(r"Made [^.]*", "", text))
    code, md, err = run("report", *on, "--format", "md")
    expect("Markdown", code == 1 and md.startswith("# hgx01: report") and "\n## Findings" in md and "  - Fix: on that machine: `sudo gputune apply --only " in md and
        "<svg" not in md, md[:200])
    for verb in ("report", "check"):
        for end, begins in ((".md", "[^<{]"), (".json", "{"), (".html", "<!DOCTYPE html>")):
            code, _, err = run(verb, *on, "-o", f"{tmp}/{verb}{end}")
            text = pathlib.Path(f"{tmp}/{verb}{end}").read_text()
            expect(f"{verb} -o x{end} has the format of its ending", code == 1 and re.match(begins, text) and
                (end != ".md" or "**critical** `pcie.link`" in text or "# hgx01" in text), (code, err, text[:80]))
    code, term, err = run("report", *on, "--format", "term", "--width", "100")
    expect("terminal", code == 1 and "Bottleneck: GPU 5" in term and "<" not in term.replace("<=", ""), term[:200])
    code, out, err = run("report", *on, "--format", "json")
    j = json.loads(out)
    validate(j, "report")
    for key, part in (j["machines"][0].items()):
        for item in part if isinstance(part, list) else [part]:
            if "schema" in item:
                name = item["schema"].split(".")[1].split("/")[0]
                validate(item, name)
    expect("JSON has every section", j["exit_code"] == code == 1 and len(j["machines"][0]) == 10 and
        len(j["machines"][0]["benches"]) == 3 and len(j["machines"][0]["proofs"]) == 4, j["machines"][0].keys())


def empty(tmp):
    code, text, err = run("report", "--host", machines / "nothing")
    p = sound("nothing", text)
    said = " ".join("".join(p.text).split())
    for want in ("No saved results for this machine", "No setting was tested on the captured machine",
                 "gputune keeps nothing for the next boot", "gputune has changed nothing"):
        expect(f"of nothing it says {want!r}", want in said, said)
    expect("in one list", "Not in this report" in said, said)
    expect("and no fold for it", not [a for _, a, _ in p.of("div") if a.get("id") in ("benches", "proofs", "persist")])


def several(tmp):
    code, out, _ = run("show", "--format", "json", "--host", machines / "h200-x4")
    facts = pathlib.Path(tmp, "h200.json")
    facts.write_text(out)
    foreign = pathlib.Path(tmp, "bench.json")
    foreign.write_text((root / "tests/fuzz/seeds/bench.json").read_text())
    args = [machines / "dgx-spark", machines / "hgx-h100", facts, foreign]
    code, text, err = run("report", *args)
    expect("three machines", code == 1, (code, err))
    expect("a result of none of them is named", "20261121-093445-timer-wake-up-and-more belongs to none of these machines" in err, err)
    p = sound("several", text)
    said = " ".join("".join(p.text).split())
    expect("a section a machine", {"m1", "m2", "m3", "m1-findings", "m3-findings"} <= {a.get("id") for _, a, _ in p.all})
    expect("folded at first", not [a for t, a, up in p.of("details") if "open" in a and up.count("details") == 0])
    expect("facts alone say so", "facts do not contain settings" in said and "Report of 3 machines" in said)
    expect("links from the front", ["#m1", "#m2", "#m3"] == [a["href"] for _, a, up in p.of("a") if "table" in up])
    # A capture as capture advises to pack it, and results: one machine.
    packed = pathlib.Path(tmp, "igx.tar.zst")
    subprocess.run(["zstd", "-q", pathlib.Path(gputune).resolve().parent / "machines/igx-orin.tar", "-o", packed], check=True)
    code, text, err = run("report", packed, foreign)
    expect("a packed capture", code == 1 and text.startswith("<!DOCTYPE html>") and not err, (code, err))
    expect("what can stop a service is marked", re.search(r'<li class="finding[^>]* data-careful[^>]*>(?:(?!</li>).)*nic\.mrrs', text, re.S) and
        not re.search(r'data-careful[^>]*>(?:(?!</li>).)*net\.rmem-max', text, re.S), text[:80])
    # One machine, and the file of a result.
    code, text, err = run("report", "--host", machines / "dgx-spark", foreign)
    expect("a result beside one machine", "timer-wake-up, memory-latency" in text and not err, err)
    begun = time.monotonic()
    code, text, err = run("report", *report_state.many(64))
    print(f"64 machines: {len(text) >> 10} KiB in {time.monotonic() - begun:.1f} s")
    p = sound("64", text)
    expect("64 machines in one page", len([a for _, a, _ in p.of("section") if a.get("class") == "apart"]) == 64 and
        len(text) < 16 << 20, len(text))


def names(tmp):
    evil = report_state.hostile(gputune, tmp)
    code, text, err = run("report", evil)
    p = sound("hostile", text)
    expect("a name stays a text", EVIL in "".join(p.text) and "<script>alert" not in text, code)
    code, text, err = run("report", evil, machines / "dgx-spark")
    p = sound("hostile, of two", text)
    expect("of two too", EVIL in "".join(p.text))
    expect("Markdown holds it", "<script>" not in run("report", evil, "--format", "md")[1])
    for what, body in (("not JSON", "{"), ("another's", '{"schema":"gputune.fleet/1"}'), ("no schema", "[]"),
                       ("one subject", '{"schema":"gputune.show/1","subject":"cpu","facts":{}}'),
                       ("facts of the wrong kind", '{"schema":"gputune.show/1","subject":"all","facts":{"cpu":[1]}}')):
        file = pathlib.Path(tmp, "bad.json")
        file.write_text(body)
        code, out, err = run("report", file)
        expect(f"refused: {what}", code == 2 and not out and err.startswith("gputune:"), (code, out[:80], err))


def recorded(tmp):
    """A recording beside the machine: what it was, and a chart of its GPU with the time held back."""
    file = report_state.recording(tmp, 15)
    code, text, err = run("report", file, "--host", machines / "h200-x4")
    p = sound("a recording", text)
    words = "".join(p.text)
    expect("it says what it was", all(w in words for w in ("During a job", "train <b> x", "exit code 3", "14.5 s")), (code, err))
    for want in ("CPUs in use: 3.000 to 3.000 CPUs", "network, received, 2 in total: 75", "memory in use: 24", "disks, read, sda: 0.000 to 0.000",
                 "kernel active: 90", "From 0.000 to 14.50"):
        expect(f"the machine around it: {want}", want in words, re.findall("From 0.000[^<]*", words))
    expect("and draws it", 'class="chart"' in text and "1980" in words, code)
    file.write_bytes(file.read_bytes()[:50])
    code, text, err = run("report", file, "--host", machines / "h200-x4")
    expect("a recording that is cut off at once", code == 2 and "job.rec" in err or code == 1, (code, err))
    expect("with two machines", run("report", file, machines / "h200-x4", machines / "nothing")[0] == 2)


def output(tmp):
    on = ("--host", machines / "dgx-spark")
    to = pathlib.Path(tmp, "r.html")
    expect("-o", run("report", *on, "-o", to) == (1, "", f"gputune: wrote {to}\n") and "</html>" in to.read_text())
    first = to.read_text()
    expect("an earlier report is replaced", run("report", *on, "-o", to)[0] == 1 and to.read_text()[:200] == first[:200])
    mine = pathlib.Path(tmp, "notes.html")
    mine.write_text("<p>my notes</p>")
    code, out, err = run("report", *on, "-o", mine)
    expect("anything else is left alone", code == 2 and "left unchanged" in err and mine.read_text() == "<p>my notes</p>", err)
    expect("unless --force", run("report", *on, "-o", mine, "--force")[0] == 1 and "</html>" in mine.read_text())
    for form in ("md", "json", "term"):
        at = pathlib.Path(tmp, f"r.{form}")
        expect(f"-o, {form}, twice", [run("report", *on, "--format", form, "-o", at)[0] for _ in (1, 2)] == [1, 1] and at.stat().st_size)
    code, out, err = run("report", *on, "-o", pathlib.Path(tmp, "no/such/folder.html"))
    expect("a folder that is not there", code == 5 and "cannot write" in err, (code, err))
    code, out, err = run("report", *on, "-o", "/dev/full")
    expect("a full disk", code == 5 and "No space" in err, (code, err))
    p = subprocess.Popen([gputune, "report", *map(str, report_state.many(64)), "-o", str(to)], env={"PATH": "/usr/bin:/bin"})
    p.send_signal(signal.SIGINT)
    p.wait(60)
    expect("after Ctrl-C the old one is there", to.read_text().rstrip().endswith("</html>"))
    expect("and nothing besides", sorted(x.name for x in pathlib.Path(tmp).iterdir() if ".part" in x.name) == [])
    expect("no format junit", run("report", *on, "--format", "junit")[0] == 2)
    expect("--host and arguments", run("report", *on, machines / "nothing")[0] == 2)


def words_of(text):
    return " ".join("".join(Page(text).text).split())


def written(tmp, name, j, **more):
    """A file with j; a path as "summary.fail" takes two underscores."""
    j = json.loads(json.dumps(j))
    for key, v in more.items():
        *outer, last = key.split("__")
        at = j
        for step in outer:
            at = at.setdefault(step, {})
        at[last] = v
    path = pathlib.Path(tmp, name)
    path.write_text(json.dumps(j))
    return path


def given_figures(tmp):
    """What a page says of a file's figures: which side is better, the ends of intervals, two points."""
    files, on = report_state.told(gputune, tmp), ("--host", machines / "hgx-h100")
    for verb, sides in (("prove", True), ("advise", True), ("predict training", True), ("compare", False)):
        said = words_of(run("report", *on, files[verb])[1])
        # A compare's B/A is below 1 where a latency got better.
        expect(f"{verb}: its chart {'says' if sides else 'does not say'} which side is better", "interval of the" in said and
            sides == ("left of the line: worse; right of it: better" in said), said[:300])
    j = json.loads(files["predict inference"].read_text())
    for low, high in ((-1, 8e9), (6e9, 1e30), (-5, -4), (6e9, 9e18)):
        file = written(tmp, "odd.json", j, memory_bytes={"value": 7e9, "low": low, "high": high})
        code, text, err = run("report", *on, file)
        expect(f"an end of {low:g} to {high:g} bytes is none", code == 1 and not err and "6.52 GiB" in text and
            "(null)" not in text and "6.52 GiB (" not in text, (code, err, re.findall("Memory per GPU.{80}", text)))
    whole = run("report", *on, written(tmp, "odd.json", j, memory_bytes={"value": 7e9, "low": 6e9, "high": 8e9}))[1]
    expect("and two are an interval", "6.52 GiB (5.59 GiB to 7.45 GiB)" in whole)
    j = json.loads(files["predict training"].read_text())
    for n in (1, 2, 3):
        text = run("report", *on, written(tmp, "scale.json", j, scale=j["scale"][:n]))[1]
        expect(f"a line through {n}", len(j["scale"]) == 3 and ("Throughput over GPUs, predicted" in text) == (n > 1))


def given_whose(tmp):
    """Whose a file is, and which of several checks of one machine counts."""
    j = json.loads(run("check", "--host", machines / "hgx-h100", "--format", "json")[1])
    a = written(tmp, "a.json", j, host__nodename="host")
    b = written(tmp, "b.json", j, host__nodename="node-b")

    def placed(*argv):
        code, out, err = run("report", *argv, "--format", "json")
        expect(f"a report of {argv}", code == 1 and not err, (code, err))
        return [[g["host"]["nodename"] for g in m.get("given", [])] for m in json.loads(out)["machines"]]

    expect("one that is called host takes no other's", placed(machines / "dgx-spark", a, b) == [[], ["host"], ["node-b"]],
        placed(machines / "dgx-spark", a, b))
    expect("nor where nothing but files is given", placed(a, b) == [["host"], ["node-b"]], placed(a, b))
    facts = json.loads(run("show", "--format", "json", "--host", machines / "h200-x4")[1])
    redacted = written(tmp, "facts.json", facts, facts__nodename__value="host")
    expect("a redacted machine takes any", placed(redacted, b, a) == [["node-b", "host"]], placed(redacted, b, a))
    none = written(tmp, "none.json", j, host__nodename="")
    code, out, err = run("report", machines / "dgx-spark", machines / "hgx-h100", none)
    expect("an empty name is none", code == 2 and "none.json does not name its machine" in err, (code, err))
    code, out, err = run("report", "--host", machines / "dgx-spark", none)
    expect("and goes with one machine", code == 1 and not err and "on ," not in words_of(out), (code, err))

    def finding(id, severity):
        return dict(j["findings"][0], id=id, verdict="fail", severity=severity)

    old = written(tmp, "old.json", j, host__nodename="n7", host__kernel="1.old", time="2026-11-20T10:00:00Z",
                  findings=[finding("zz.old", "critical")], summary={"fail": 31, "pass": 1, "unknown": 0, "score": 7})
    new = written(tmp, "new.json", j, host__nodename="n7", host__kernel="2.new", time="2026-11-21T10:00:00Z",
                  findings=[finding("zz.new", "low")], summary={"fail": 17, "pass": 2, "unknown": 4, "score": 83, "health": 90, "tuning": 83})
    fine = written(tmp, "fine.json", j, host__nodename="n7", time="2026-11-22T10:00:00Z", findings=[],
                   summary={"fail": 0, "pass": 2, "unknown": 0, "score": 100})
    odd = written(tmp, "odd.json", j, host__nodename="n7", time="soon", findings=[finding("zz.odd", "high")],
                  summary={"fail": 23, "pass": 2, "unknown": 0, "score": 11})
    for order in ((old, new), (new, old), (new, odd, old), (odd, new)):
        code, out, err = run("report", machines / "nothing", *order, "--format", "md")
        row = [c.strip() for line in out.splitlines() if "known only from results" in line and line.startswith("|")
               for c in line.strip("|").split("|")]
        expect(f"the newest check counts: {[p.name for p in order]}", row[:5] == ["n7", "low: zz.new", "17", "4", "**83**"] and row[6] == "2.new" and
            "17 to fix, worst zz.new (low)" in out, (row, out[:600]))
    for order in ((new, fine, old), (fine, old, new)):
        code, out, err = run("report", *order, "--format", "json")
        expect("also its exit code", code == 0 and json.loads(out)["exit_code"] == 0 and not err, (code, err))
    lone = written(tmp, "lone.json", j, host__nodename="n8", findings=[], summary={"fail": 5, "pass": 0, "unknown": 0})
    out = words_of(run("report", machines / "nothing", lone)[1])
    expect("counted, and not named", "5 to fix" in out and "not named in the file" in out and "(null)" not in out, out[:600])


def long_unit(tmp):
    """Lines of a recording that wants a long unit written once for each of its targets: it is written once."""
    columns = [{"name": "x.y", "target": f"t{i}", "unit": "u", "slow": False, "kind": "gauge"} for i in range(2000)]
    columns[-1]["unit"] = "u" * (1 << 19)
    head = {"schema": "gputune.recording/1", "tool_version": None, "started_s": 1700000000, "interval_ms": 500, "command": [],
            "machine": {"name": "m", "platform": None, "kernel": None, "driver": None, "memory_bytes": None, "cpus": 8, "gpus": []},
            "columns": columns}
    text = "\n".join(map(json.dumps, (head, [0, 0, 1.5, 1999, 2.5], {"rows": 1, "status": 0, "cpu_s": 0, "command_cpu_s": 0})))
    file, out = pathlib.Path(tmp, "unit.rec"), pathlib.Path(tmp, "lines")
    subprocess.run(["zstd", "-q", "-f", "-o", file], input=text.encode() + b"\n", check=True)
    with out.open("w") as to:
        p = subprocess.Popen([gputune, "monitor", file, "--format", "json"], stdout=to, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    line = out.read_text()
    expect("a line with a long unit", p.returncode == 0 and len(line) < 1 << 20 and
        json.loads(line)["t1999"]["y"]["unit"] == columns[-1]["unit"] and json.loads(line)["t0"]["y"]["value"] == 1.5, line[:200])
    expect("takes no memory for each target", used.ru_maxrss < 400 << 10, f"{used.ru_maxrss >> 10} MiB")
    print(f"a long unit: {used.ru_maxrss >> 10} MiB")


def given(tmp):
    """Results of other verbs as files: each in its section; those of other machines; broken ones."""
    files = report_state.told(gputune, tmp)
    for verb, path in files.items():
        j = json.loads(path.read_text())
        name = j["schema"].split(".")[1].split("/")[0]
        validate(j, name)
    on = ("--host", machines / "hgx-h100")
    code, text, err = run("report", *on, *files.values())
    p = sound("given", text)
    expect("all are taken", code == 1 and not err, (code, err))
    said = " ".join("".join(p.text).split())
    for verb in files:
        expect(f"{verb}: it is named", f'Result of "gputune {verb}"' in said, said[:200])
    for want in ("iperf <b>", "0.955 (0.948 to 0.962)", "Predicted speed-up of an answer", "Throughput over GPUs, predicted",
                 "Predicted effect of changes", "pcie.link", "Bottlenecks", "Figures of both results"):
        expect(f"of the files it says {want!r}", want in said)
    where = {a["id"]: up for _, a, up in p.all if re.fullmatch(r"given-\d+", a.get("id", ""))}
    expect("a section each", len(where) == len(files), where)
    code, out, err = run("report", *on, *files.values(), "--format", "json")
    j = json.loads(out)
    validate(j, "report")
    expect("JSON has them as they were", [x["schema"] for x in j["machines"][0]["given"]] ==
        [json.loads(f.read_text())["schema"] for f in files.values()])
    help_text = run("report", "--help")[1]
    expect("the help names them", all(v.split()[0] in help_text for v in files), help_text)
    code, md, err = run("report", *on, files["prove"], "--format", "md")
    expect("Markdown has a proof", "`iperf <b>`" in md and "hurts" in md, md[-500:])
    # A machine that is known by its results alone.
    code, text, err = run("report", files["check"], files["prove"])
    p = sound("results alone", text)
    said = " ".join("".join(p.text).split())
    expect("a page of that machine", code == 1 and "hgx01: report" in said and "pcie.link" in said and "iperf" in said, (code, err))
    code, text, err = run("report", files["check"], files["advise"])
    p = sound("a result that names no machine beside one that does", text)
    expect("goes with that machine", code == 1 and not err and "hgx01: report" in " ".join("".join(p.text).split()), (code, err))
    code, text, err = run("report", files["check"], machines / "dgx-spark", files["prove"])
    p = sound("a machine and results of another", text)
    said = " ".join("".join(p.text).split())
    expect("is a second machine", "Report of 2 machines" in said and "known only from results" in said, said[:300])
    code, out, err = run("report", files["check"], machines / "dgx-spark", "--format", "json")
    validate(json.loads(out), "report")
    code, out, err = run("report", machines / "dgx-spark", machines / "hgx-h100", files["advise"])
    expect("whose it is has to be known", code == 2 and "advise.json" in err and "does not name its machine" in err, err)
    bad = pathlib.Path(tmp, "bad.json")
    for what, body, want in (("a later schema", '{"schema":"gputune.check/9"}', "gputune.check/9"),
                             ("of another version", '{"schema":"gputune.predict/2"}', "gputune.predict/2 of an unsupported version"),
                             ("a wrong type", json.dumps(json.loads(files["advise"].read_text()) | {"tried": "many"}), "tried: "),
                             ("a wrong type in a list", json.dumps(json.loads(files["advise"].read_text()) | {"changes": [{"change": 7}]}), "changes[0].change: "),
                             ("nothing but depth", '{"schema":' * 100000, "maximum parsing depth"),
                             ("lists without end", '{"schema":"gputune.advise/1","changes":' + "[" * 3000 + "]" * 3000 + "}", "maximum parsing depth"),
                             ("not its lists", '{"schema":"gputune.check/1","findings":7}', "findings"),
                             ("no lists", '{"schema":"gputune.diagnose/1"}', "runs"),
                             ("cut off", files["advise"].read_text()[:700], "bad.json:")):
        bad.write_text(body)
        code, out, err = run("report", *on, bad)
        expect(f"refused by name: {what}", code == 2 and not out and str(bad) in err and want in err, (code, err))
    with open(bad, "w") as f:
        f.truncate(1 << 30)
    code, out, err = run("report", *on, bad)
    expect("a file of 1 GB", code == 2 and not out and f"{bad}: cannot read: too large for a result" in err, (code, err))
    small = json.loads(files["advise"].read_text())
    bad.write_text(json.dumps({k: v for k, v in small.items() if k in ("schema", "asked", "changes")}))
    code, out, err = run("report", *on, bad)
    expect("of an earlier version that had less", code in (0, 1, 5) and not err and small["asked"]["model"] in out, (code, err))
    for odd in (7, {"id": 3, "verdict": "fail"}, {"current": {"a": 1}}, {"severity": []}):
        bad.write_text(json.dumps({"schema": "gputune.check/1", "findings": [odd]}))
        code, out, err = run("report", *on, bad)
        expect(f"refused by its row: {odd}", code == 2 and not out and f"{bad}: findings[0]" in err, (code, err))
    odd = {"schema": "gputune.check/1", "findings": [{"id": EVIL, "verdict": "fail", "reason": "x" * 100000}] + [{"verdict": "fail", "id": "a"}] * 3000,
        "summary": {"fail": 3001}, "host": {"nodename": EVIL}}
    bad.write_text(json.dumps(odd))
    code, text, err = run("report", bad)
    p = sound("odd values", text)
    expect("odd values are no markup, and bounded", EVIL in "".join(p.text) and "<script>alert" not in text and
        "1004 more rows" not in text and "more rows are left out" in text and len(text) < 1 << 20, (code, len(text), err))


def shown(tmp):
    """What a page shows of a file is there in its schema."""
    text = re.sub(r'"\s*"', "", (root / "src/front/report/result_file_rows.c").read_text()).replace("CHANGES)", re.search(r'#define CHANGES (".*")', (root / "src/front/report/result_file_rows.c").read_text())[1] + ")")
    tables = {m[1]: re.findall(r'LIST\("([^"]*)", "[^"]*",\s*"([^"]*)"\)', m[2]) for m in re.finditer(r"result_file_table (\w+)\[\] = \{(.*?)\n\};", text, re.S)}
    kinds = re.findall(r'\.name = "([\w-]+)"(.*?)(?=\.name = )', text, re.S)
    expect("kinds of results are found", len(kinds) == 9 and sum(map(len, tables.values())) > 15, (kinds, tables))
    for name, rest in kinds:
        _, there = rows_of(name, schema(name))
        paths = [("", f) for f in re.search(r'\.pairs = "([^"]*)"', rest)[1].split("|")] if ".pairs" in rest else []
        paths += [(path + "[].", f) for path, fields in tables[re.search(r"GIVEN_TABLES\((\w+)\)", rest)[1]] for f in fields.split("|")]
        for at, field in paths:
            field = field.lstrip("%").partition("=")[0]
            path = at.rpartition("[].")[0].rpartition("[].")[0] + "[]." + field[1:] if field.startswith("^") else at + field
            expect(f"{name} has {path}", not field or path in there)


for part in (shown, one, empty, several, names, recorded, given, given_figures, given_whose, long_unit, output):
    with tempfile.TemporaryDirectory() as tmp:
        part(tmp)
end_suite()
