#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitor and record as a user meets them: pages, lines and expositions of this machine and of captured ones, a job recorded
and played again, a recorder that is killed, and the screen in a real terminal (tmux): keys, another size, replay.

monitor.py GPUTUNE
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema

root = pathlib.Path(__file__).resolve().parent.parent.parent
gputune = os.path.abspath(sys.argv[1])
schema = json.loads((root / "schemas/monitor.json").read_text())
tmp = pathlib.Path(tempfile.mkdtemp(prefix="gputune-monitor-"))
passed = failed = 0


def expect(what, ok, detail=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}: {str(detail)[:900]}", flush=True)
    return ok


def run(*argv, timeout=60, **how):
    return subprocess.run([gputune, *map(str, argv)], capture_output=True, text=True, timeout=timeout, cwd=tmp, check=False, **how)


def lines(text):
    out = [json.loads(x) for x in text.splitlines()]
    for x in out:
        jsonschema.validate(x, schema)
    return out


# Pages, lines, expositions.
for machine in ("h200-x4", "dgx-spark", "nothing"):
    where = root / "tests/machines" / machine
    p = run("monitor", "--once", "--interval", "100ms", "--host", where)
    expect(f"{machine}: a page", p.returncode == 0 and "CPU" in p.stdout and max(map(len, p.stdout.splitlines())) <= 80, p)
p = run("monitor", "--once", "--interval", "100ms", "--host", root / "tests/machines/dgx-spark", "--format", "term")
expect("unified memory is the host's", "the host's" in p.stdout, p.stdout)
begun = time.time()
p = run("monitor", "--interval", "100ms", "--for", "450ms")
rows = lines(p.stdout)
expect("a pipe gets a line an interval, at most", p.returncode == 0 and 2 <= len(rows) <= 6, (p.returncode, len(rows), p.stderr))
expect("the first has no rate, the others have", rows[0]["cpu"]["busy"]["per_second"] is None and
       rows[-1]["cpu"]["busy"]["per_second"] is not None, rows[-1]["cpu"])
# A look that comes late shortens the wait for the next one; none comes before its time.
early = [(i, x["time_ms"] - begun * 1000) for i, x in enumerate(rows) if x["time_ms"] - begun * 1000 < i * 100 - 2]
expect("none before its time", not early, early)
p = run("monitor", "--once", "--interval", "100ms", "--format", "prom", "--host", root / "tests/machines/h200-x4")
text = p.stdout
families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
expect("an exposition ends in EOF", text.endswith("# EOF\n"), text[-200:])
expect("each family once", len(families) == len({n for n, _ in families}) > 10, families)
for name, kind in families:
    samples = re.findall(rf"^{name}{'_total' if kind == 'counter' else ''}(?:{{[^}}]*}})? (\S+)$", text, re.M)
    expect(f"{name} has samples", samples and all(float(x) >= 0 for x in samples), samples)
expect("hertz, not MHz", all(float(x) >= 1e8 for x in re.findall(r"^gputune_gpu_sm_clock_hertz\S* (\S+)$", text, re.M)), text[:600])
# Alerts and dashboard ask for what there is.
known = {f"gputune_{name}{'_total' if kind == 'TOTAL' else ''}"
         for kind, name in re.findall(r'(GAUGE|TOTAL), "(\w+)"', (root / "src/monitor/columns.c").read_text())} | {"gputune_score_ratio"}
for name in ("gputune.rules.yml", "dashboard.json"):
    asked = set(re.findall(r"gputune_\w+", (root / "packaging/prometheus" / name).read_text()))
    expect(f"{name} asks for what is exported", asked and asked <= known, asked - known)
json.loads((root / "packaging/prometheus/dashboard.json").read_text())
if shutil.which("promtool"):
    p = subprocess.run(["promtool", "check", "rules", root / "packaging/prometheus/gputune.rules.yml"], capture_output=True, text=True,
                       check=False)
    expect("promtool takes the alerts", p.returncode == 0, p.stderr)
    p = subprocess.run(["promtool", "check", "metrics"], input=text.replace("# EOF\n", ""), capture_output=True, text=True, check=False)
    expect("promtool reads the exposition", "error while linting" not in p.stderr, p.stderr)

for options, says in ((("--format", "prom"), "--once"), (("--format", "md"), "term, json or prom"), (("--interval", "1ms"), "100ms"),
                      (("--for", "soon"), "--for"), (("no-such-file",), "no-such-file"), (("--once", "--for", "1s"), "no --for"),
                      (("job.rec", "--host", "/"), "as it was taken")):
    p = run("monitor", *options)
    expect(f"monitor {options}", p.returncode == 2 and says in p.stderr, p)

# A job recorded.
p = run("record", "--interval", "100ms", "-o", "job.rec", "--", "sh", "-c", "echo hello; sleep 1; exit 3")
expect("the job's words and exit code", p.returncode == 3 and p.stdout == "hello\n" and "rows in job.rec" in p.stderr, p)
p = run("monitor", "job.rec", "--format", "json")
rows = lines(p.stdout)
expect("it is played again", p.returncode == 0 and 9 <= len(rows) <= 14, (p.returncode, len(rows), p.stderr))
expect("for the owner alone", (tmp / "job.rec").stat().st_mode & 0o777 == 0o600, oct((tmp / "job.rec").stat().st_mode))
zstd = subprocess.run(["zstd", "-dc", tmp / "job.rec"], capture_output=True, text=True, check=False)
plain = [json.loads(x) for x in zstd.stdout.splitlines()]
expect("readable without gputune", zstd.returncode == 0 and plain[0]["schema"] == "gputune.recording/1" and
       plain[0]["command"][0] == "sh" and plain[-1]["status"] == 3 and plain[-1]["rows"] == len(plain) - 2, plain[-1:])
before = (tmp / "job.rec").read_bytes()
p = run("record", "-o", "job.rec", "--", "true")
expect("no file is overwritten", p.returncode == 2 and "job.rec" in p.stderr and (tmp / "job.rec").read_bytes() == before, p)
p = run("record", "-o", "none.rec", "--", "no-such-program-here")
expect("no such program", p.returncode == 127 and "no-such-program-here" in p.stderr and not (tmp / "none.rec").exists(), p)
p = run("record", "-o", "none.rec", "--for", "1s", "--", "true")
expect("--for and a command", p.returncode == 2 and "--for" in p.stderr, p)
p = run("record", "-o", "signal.rec", "--", "sh", "-c", "kill -9 $$")
expect("a job that is killed", p.returncode == 137, p)
p = run("record", "-o", "alone.rec", "--interval", "100ms", "--for", "400ms")
expect("without a job", p.returncode == 0 and (tmp / "alone.rec").exists(), p)

# Told to end: the job too. Killed: what there was can be read.
job = subprocess.Popen([gputune, "record", "-o", "told.rec", "--interval", "100ms", "--", "sleep", "60"], cwd=tmp, stderr=subprocess.PIPE)
time.sleep(0.8)
job.send_signal(signal.SIGTERM)
expect("told to end", job.wait(10) == 128 + signal.SIGTERM, job.returncode)
job.stderr.close()
expect("and has written its end", "cut off" not in run("monitor", "--once", "told.rec", "--format", "term").stdout)
job = subprocess.Popen([gputune, "record", "-o", "killed.rec", "--interval", "100ms"], cwd=tmp)
time.sleep(2.6)
job.kill()
job.wait(10)
p = run("monitor", "--once", "killed.rec", "--format", "term")
expect("killed: most of it can be read", p.returncode == 0 and "cut off" in p.stdout, p)
expect("killed: up to the last second", len(lines(run("monitor", "killed.rec", "--format", "json").stdout)) >= 10)
(tmp / "bad.rec").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(64))
p = run("monitor", "bad.rec")
expect("no recording", p.returncode == 2 and "bad.rec" in p.stderr, p)

# A real terminal.
if not shutil.which("tmux"):
    expect("tmux is there", False, "scripts/install-deps test installs it")
else:
    def tmux(*argv):
        return subprocess.run(["tmux", "-S", tmp / "tmux", "-f", "/dev/null", *map(str, argv)], capture_output=True, text=True,
                              timeout=20, check=False).stdout

    def until(wanted, seconds=10.0):
        """The screen once it shows wanted (a regular expression), or as it then is."""
        end = time.monotonic() + seconds
        while True:
            screen = tmux("capture-pane", "-p")
            if re.search(wanted, screen) or time.monotonic() > end:
                return screen
            time.sleep(0.1)

    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "screen"}
    subprocess.run(["tmux", "-S", tmp / "tmux", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                    f"cd '{tmp}'; echo before; '{gputune}' monitor --interval 200ms; echo after $?; exec sh"], env=env, check=True)
    screen = until("Memory.*available")
    expect("80 columns", "CPU" in screen and "Memory" in screen and "q ends" in screen, screen)
    expect("how often", "every 0.2 s" in screen, screen)
    tmux("send-keys", "-")
    expect("- looks less often", "every 0.5 s" in until("every 0.5 s"), tmux("capture-pane", "-p"))
    tmux("send-keys", "+")
    expect("+ looks more often", "every 0.2 s" in until("every 0.2 s"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Space")
    expect("space holds it", "PAUSED" in until("PAUSED"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Space")
    tmux("resize-window", "-x", 60, "-y", 12)
    time.sleep(0.6)
    screen = until("Memory")
    expect("60 columns", "Memory" in screen and max(map(len, screen.splitlines())) <= 60, screen)
    tmux("resize-window", "-x", 120, "-y", 40)
    expect("120 columns", "q ends" in until("q ends"), tmux("capture-pane", "-p"))
    tmux("send-keys", "q")
    screen = until("after 0")
    expect("q ends it, and the terminal is as it was", "before" in screen and "after 0" in screen and "Memory" not in screen, screen)
    tmux("send-keys", f"'{gputune}' monitor job.rec; stty -a | grep -c ' icanon'", "Enter")
    expect("a replay", "recording, " in until("recording, "), tmux("capture-pane", "-p"))
    tmux("send-keys", "Right")
    last = re.search(r"recording, (\S+) of (\S+) s", until(r"recording, 1\.\d of"))
    expect("on to the end", last and abs(float(last[1]) - float(last[2])) < 0.3, last)
    tmux("send-keys", "Left")
    expect("back to the start", re.search(r"recording, 0\.\d of", until(r"recording, 0\.\d of")), tmux("capture-pane", "-p"))
    tmux("send-keys", "q")
    expect("the terminal takes lines again", re.search(r"^1$", until("^1$"), re.M), tmux("capture-pane", "-p"))
    tmux("kill-server")

shutil.rmtree(tmp)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
