#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prometheus and its node exporter reading our file, promtool, Nagios' and node-problem-detector's lines and codes."""
import json
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.parse

from hosts import Space, stop

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def check(gputune, machine, form, *more):
    return subprocess.run([str(gputune), "check", "--host", str(ROOT / "build/machines" / machine), "--format", form,
                           *map(str, more)], capture_output=True, text=True, timeout=60)


def files(t, gputune, work):
    for machine in sorted(p.name for p in (ROOT / "build/machines").iterdir()):
        out = check(gputune, machine, "prom").stdout
        lint = subprocess.run(["promtool", "check", "metrics"], input=out, capture_output=True, text=True, timeout=60)
        t(f"promtool takes {machine}", lint.returncode == 0 and not lint.stderr.strip(), lint.stdout + lint.stderr)
    path = work / "a.prom"
    path.write_text("old\n")
    inode = path.stat().st_ino
    done = check(gputune, "cpu-256", "prom", "-o", path)
    t("the file is replaced, not written over", path.stat().st_ino != inode and "gputune_info" in path.read_text() and
      path.stat().st_mode & 0o777 == 0o644 and done.returncode == 1, done)
    path.write_text("old\n")
    done = check(gputune, "cpu-256", "prom", "-o", path, "--only", "no.such")
    t("a run that fails leaves the old one", path.read_text() == "old\n" and done.returncode == 2, done)
    atomic(t, gputune, path)
    t("nothing is left beside it", os.listdir(work) == ["a.prom"] or not [n for n in os.listdir(work)
                                                                         if n.startswith(".a.prom")], os.listdir(work))


def atomic(t, gputune, path):
    """Somebody reads all the time while it is written again and again."""
    seen, end = set(), threading.Event()

    def reader():
        while not end.is_set():
            text = path.read_text()
            seen.add("whole" if text.endswith("\n") and ("gputune_check_timestamp_seconds " in text or text == "old\n")
                     else text[-80:])

    thread = threading.Thread(target=reader)
    thread.start()
    for _ in range(15):
        check(gputune, "dgx-spark", "prom", "-o", path)
    end.set()
    thread.join()
    t("a reader never sees half of it", seen == {"whole"}, seen)


def lines(t, gputune):
    expected = {"hgx-h100": (2, "CRITICAL"), "h200-x4": (1, "WARNING"), "nothing": (3, "UNKNOWN")}
    shape = re.compile(r"^GPUTUNE (OK|WARNING|CRITICAL|UNKNOWN) - [^|\n]+ \|( [a-z]+=\d+%?;[^ \n]*)+\n$")
    for machine, (code, word) in expected.items():
        done = check(gputune, machine, "nagios")
        facts = json.loads(check(gputune, machine, "json").stdout)["findings"]
        unfit = [f for f in facts if f["verdict"] == "fail" and f["health"] and f["severity"] in ("high", "critical")]
        wrong = [f for f in facts if f["verdict"] == "fail"]
        if machine == "hgx-h100" and not unfit:
            code, word = 1, "WARNING"
        t(f"nagios: {machine} is {word}", shape.match(done.stdout) and word in done.stdout and done.returncode == code,
          (done.returncode, done.stdout))
        t(f"nagios: the numbers of {machine}", f"unfit={len(unfit)};" in done.stdout and
          f" fail={len(wrong)};" in done.stdout, done.stdout)
        npd = check(gputune, machine, "npd")
        t(f"npd: {machine}", npd.returncode == (1 if unfit else 2 if machine == "nothing" and "nothing" in npd.stdout
                                                else 0) and npd.stdout.count("\n") == 1, (npd.returncode, npd.stdout))


def contrib(t, gputune):
    npd = json.loads((ROOT / "contrib/npd/gputune-monitor.json").read_text())
    rule = npd["rules"][0]
    t("the npd plugin runs what there is", rule["args"] == ["check", "--format", "npd"] and
      npd["pluginConfig"]["max_output_length"] >= 80 and npd["conditions"][0]["type"] == rule["condition"], npd)
    board = json.loads((ROOT / "packaging/prometheus/dashboard-settings.json").read_text())
    asked = set(re.findall(r"gputune_\w+", json.dumps([p.get("targets", []) for p in board["panels"]])))
    given = set(re.findall(r"^# TYPE (\w+)", check(gputune, "hgx-h100", "prom").stdout, re.M))
    t("the dashboard asks for metrics that there are", asked and asked <= given, (asked, given))
    return board


def scrape(t, gputune, work, board):
    space = Space("gtprom", work)
    daemons = []
    try:
        text = work / "textfile"
        text.mkdir()
        done = check(gputune, "cpu-256", "prom", "-o", text / "gputune.prom")
        subprocess.run([str(gputune), "monitor", "--once", "--format", "prom", "-o", str(text / "gputune-now.prom")], timeout=60)
        (work / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
            f"rule_files: [{ROOT}/packaging/prometheus/gputune.rules.yml]\nscrape_configs:\n- job_name: node\n  static_configs:\n"
            "  - targets: ['127.0.0.1:9100']\n")
        daemons.append(space.start("prometheus-node-exporter", "--web.listen-address=127.0.0.1:9100",
                                   "--collector.disable-defaults", "--collector.textfile",
                                   f"--collector.textfile.directory={text}"))
        daemons.append(space.start("prometheus", f"--config.file={work}/prometheus.yml",
                                   f"--storage.tsdb.path={work}/tsdb", "--web.listen-address=127.0.0.1:9090"))

        def ask(query):
            url = "http://127.0.0.1:9090/api/v1/query?query=" + urllib.parse.quote(query)
            done = space.enter("curl", "-s", "-m", "5", url, check=False)
            try:
                return json.loads(done.stdout)["data"]["result"]
            except (ValueError, KeyError):
                return []

        end = time.monotonic() + 60
        while time.monotonic() < end and not ask("gputune_info"):
            time.sleep(1)
        info = ask("gputune_info")
        t("prometheus has scraped it", info and info[0]["metric"]["arch"] == "x86_64",
          (info, (space.root / "log").read_text()[-2000:]))
        t("the exporter found no fault with the file", [r["value"][1] for r in ask("node_textfile_scrape_error")] == ["0"],
          ask("node_textfile_scrape_error"))
        types = space.enter("curl", "-s", "-m", "5", "http://127.0.0.1:9090/api/v1/metadata", check=False).stdout
        types = {name: of[0]["type"] for name, of in json.loads(types)["data"].items() if name.startswith("gputune_")}
        t("a counter of the monitor arrives as a counter, with its name", ask("gputune_cpu_busy_seconds_total") and
          types.get("gputune_cpu_busy_seconds_total") == "counter" and types.get("gputune_memory_available_bytes") == "gauge" and
          "unknown" not in types.values(), types)
        facts = json.loads(check(gputune, "cpu-256", "json").stdout)["summary"]
        t("the numbers are those of check", {r["metric"]["verdict"]: int(r["value"][1]) for r in ask("gputune_findings")}
          == {v: facts[v] for v in ("pass", "fail", "na", "unknown")}, (ask("gputune_findings"), facts))
        rules = [r for g in json.loads(space.enter("curl", "-s", "-m", "5", "http://127.0.0.1:9090/api/v1/rules", check=False).stdout)["data"]["groups"]
                 for r in g["rules"]]
        t("prometheus takes the alerts", len(rules) > 6 and {r["health"] for r in rules} <= {"ok", "unknown"}, rules)
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$instance", ".*").replace("$__range", "1h")
                t(f"dashboard: {panel['title']}", ask(query), query)
        wrong = 'ALERTS{alertname="GputuneSettingWrong"}'
        t("a machine without grave faults raises no alert for them", not ask(wrong), ask(wrong))
        check(gputune, "hgx-h100", "prom", "-o", text / "gputune.prom")
        while time.monotonic() < end and not ask(wrong):
            time.sleep(1)
        t("what check finds wrong raises one", ask(wrong), rules)
    finally:
        for d in daemons:
            stop(d)
        space.close()


def test(t, gputune, arm, work):
    work = pathlib.Path(work)
    os.chmod(work, 0o755)
    sub = work / "files"
    sub.mkdir()
    files(t, gputune, sub)
    lines(t, gputune)
    board = contrib(t, gputune)
    scrape(t, gputune, work, board)
