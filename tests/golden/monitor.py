#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitor and record as a user meets them: pages, lines and expositions of this machine and of captured ones, a job recorded
and played again, a recorder that is killed, and the screen in a real terminal (tmux): keys, another size, replay.

monitor.py GPUTUNE
"""
import fcntl
import http.server
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import common
from common import end_suite, expect, gputune, machines, root, scratch, validate

tmp = scratch("monitor")
# Whoever runs this may have had them ignored (nohup, a background job), which the jobs below would inherit.
for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(name, signal.SIG_DFL if name != signal.SIGINT else signal.default_int_handler)


def run(*argv, timeout=60, **how):
    return subprocess.run([gputune, *map(str, argv)], capture_output=True, text=True, timeout=timeout, cwd=tmp, check=False, **how)


def once(pairs):
    """An object in which no key comes twice: a reader would silently take the last one."""
    names = [k for k, _ in pairs]
    if len(names) != len(set(names)):
        expect("no key twice in an object", False, names)
    return dict(pairs)


def lines(text):
    out = [json.loads(x, object_pairs_hook=once) for x in text.splitlines()]
    for x in out:
        validate(x, "monitor")
    return out


# Pages, lines, expositions.
for machine in ("h200-x4", "dgx-spark", "nothing"):
    where = machines / machine
    p = run("monitor", "--once", "--interval", "100ms", "--host", where)
    expect(f"{machine}: a page", p.returncode == 0 and "CPU" in p.stdout and max(map(len, p.stdout.splitlines())) <= 80, p)
p = run("monitor", "--once", "--interval", "100ms", "--host", machines / "dgx-spark", "--format", "term")
expect("unified memory is the host's", "host memory" in p.stdout, p.stdout)
# As many lines as there is time for on a busy machine, and none more than asked for. Without an end: until it is told.
begun = time.time()
job = subprocess.Popen([gputune, "monitor", "--interval", "100ms"], stdout=subprocess.PIPE, text=True, cwd=tmp)
text = "".join(job.stdout.readline() for _ in range(4))
job.send_signal(signal.SIGINT)
rest = job.stdout.read()
rows = lines(text + rest)
expect("a pipe gets whole lines until it is told to end", job.wait(30) == 0 and len(rows) >= 4, (job.returncode, len(rows)))
job.stdout.close()
p = run("monitor", "--interval", "100ms", "--for", "450ms")
expect("a line an interval, at most", p.returncode == 0 and 1 <= len(lines(p.stdout)) <= 6, (p.returncode, p.stderr))
expect("the first has no rate, the others have", rows[0]["cpu"]["busy"]["per_second"] is None and
       any(x["cpu"]["busy"]["per_second"] is not None for x in rows[1:]), rows[-1]["cpu"])
# A look that comes late shortens the wait for the next one; none comes before its time.
early = [(i, x["time_ms"] - begun * 1000) for i, x in enumerate(rows) if x["time_ms"] - begun * 1000 < i * 100 - 2]
expect("none before its time", not early, early)


def exposition(form, machine):
    """Families and samples of one exposition, by the rules that both formats share; what differs is asked for below."""
    p = run("monitor", "--once", "--format", form, "--host", machines / machine)
    families, samples, at = {}, {}, None
    for line in p.stdout.splitlines():
        head = re.fullmatch(r"# (HELP|TYPE|UNIT|EOF)(?: (\w+) (.+))?", line)
        if head and head[1] == "EOF":
            continue
        if head and head[2] != at:
            at = head[2]
            expect(f"{form}: {at} is in one piece", at not in families, line)
            families[at] = {}
        if head:
            expect(f"{form}: one {head[1]} before the samples", head[1] not in families[at] and not samples.get(at), line)
            families[at][head[1]] = head[3]
            continue
        sample = re.fullmatch(r'(\w+)(?:\{\w+="[^"]*"\})? (\S+)', line)
        expect(f"{form}: a sample has a name, one label at most, a value and no time", sample and float(sample[2]) >= 0, line)
        samples.setdefault(at, []).append(sample[1])
    expect(f"{form} of {machine}", p.returncode == 0 and (families or machine == "nothing"), p)
    for name, what in families.items():
        expect(f"{form}: {name} says what it is, and has samples", {"HELP", "TYPE"} <= set(what) and samples.get(name), what)
    return p.stdout, families, samples


# The text format of Prometheus, which is what a node exporter reads: a counter is called as its samples, and there is nothing
# besides HELP, TYPE and samples. In OpenMetrics its samples end in _total, the unit is told, and the end is marked.
for machine in ("h200-x4", "dgx-spark", "nothing"):
    text, families, samples = exposition("prom", machine)
    expect(f"prom of {machine}: no line but HELP, TYPE and samples", "# UNIT" not in text and "# EOF" not in text, text[-200:])
    for name, what in families.items():
        expect(f"prom: {name} is the name of its samples", set(samples[name]) == {name} and
               name.endswith("_total") == (what["TYPE"] == "counter"), (what, samples[name]))
    same = [x for x in text.splitlines() if not x.startswith("#")]
    text, families, samples = exposition("openmetrics", machine)
    expect(f"openmetrics of {machine} ends in EOF", text.endswith("# EOF\n") and text.count("# EOF") == 1, text[-200:])
    for name, what in families.items():
        expect(f"openmetrics: {name} and its samples", set(samples[name]) ==
               {name + ("_total" if what["TYPE"] == "counter" else "")}, (what, samples[name]))
        expect(f"openmetrics: the unit of {name} ends its name", "UNIT" not in what or name.endswith("_" + what["UNIT"]), what)
    expect(f"both of {machine} have the same samples", same == [x for x in text.splitlines() if not x.startswith("#")], same[:5])
p = run("monitor", "--once", "--format", "prom", "-o", "live.prom")
expect("a file for a collector", p.returncode == 0 and "# TYPE gputune_cpu_busy_seconds_total counter\n" in
       (tmp / "live.prom").read_text() and (tmp / "live.prom").stat().st_mode & 0o777 == 0o644, p)
inode = (tmp / "live.prom").stat().st_ino
# -o /dev/stdout, where standard output is a file: written to, and the link stays what it is.
(tmp / "out").symlink_to("/proc/self/fd/1")
for form in (("monitor", "--once", "--format", "prom"), ("report",)):
    with (tmp / "redirected").open("wb") as f:
        subprocess.run([gputune, *form, "--host", machines / "dgx-spark", "-o", "out"], stdout=f, stderr=subprocess.DEVNULL, cwd=tmp, check=False)
    expect(f"{form}: -o of a link to standard output", (tmp / "out").is_symlink() and (tmp / "redirected").stat().st_size > 1000)
p = run("monitor", "--once", "--format", "openmetrics", "-o", "live.prom")
expect("is replaced, not written over", p.returncode == 0 and (tmp / "live.prom").stat().st_ino != inode and
       (tmp / "live.prom").read_text().endswith("# EOF\n"), p)
text, families, _ = exposition("prom", "h200-x4")
expect("all of an H200", len(families) > 10, families)
expect("hertz, not MHz", all(float(x) >= 1e8 for x in re.findall(r"^gputune_gpu_sm_clock_hertz\S* (\S+)$", text, re.M)), text[:600])
# Alerts and dashboard ask for what there is.
known = {f"gputune_{name}{'_total' if kind == 'TOTAL' else ''}"
         for kind, name in re.findall(r'(GAUGE|TOTAL), "(\w+)"', (root / "src/look/monitor/columns.c").read_text())}
known |= set(re.findall(r"^# TYPE (\w+)", run("check", "--host", machines / "hgx-h100", "--format", "prom").stdout, re.M))
dashboards = ("dashboard.json", "dashboard-settings.json")
for name in ("gputune.rules.yml", *dashboards):
    asked = set(re.findall(r"gputune_\w+", (root / "packaging/prometheus" / name).read_text()))
    expect(f"{name} asks for what is exported", asked and asked <= known, asked - known)
boards = [json.loads((root / "packaging/prometheus" / name).read_text()) for name in dashboards]
expect("neither dashboard replaces the other", len({b["uid"] for b in boards}) == len({b["title"] for b in boards}) == 2, [b["uid"] for b in boards])
if shutil.which("promtool"):
    p = subprocess.run(["promtool", "check", "rules", root / "packaging/prometheus/gputune.rules.yml"], capture_output=True, text=True,
                       check=False)
    expect("promtool takes the alerts", p.returncode == 0, p.stderr)
    p = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    expect("promtool has nothing against the exposition", p.returncode == 0 and not p.stderr.strip(), p.stderr)

# --- OpenTelemetry -----------------------------------------------------------------------------------

def otlp_points(text):
    """(metric, hw.id, attributes) to value, of one line; the shape is OTLP's."""
    j = json.loads(text)
    scope = j["resourceMetrics"][0]["scopeMetrics"][0]
    out = {}
    for m in scope["metrics"]:
        data = m.get("gauge") or m["sum"]
        expect(f"otlp: {m['name']}", m["unit"] and m["description"] and ("gauge" in m or (data["aggregationTemporality"] == 2 and isinstance(data["isMonotonic"], bool))), m)
        for p in data["dataPoints"]:
            of = {a["key"]: a["value"]["stringValue"] for a in p["attributes"]}
            expect(f"otlp: a point of {m['name']}", p["timeUnixNano"].isdigit() and isinstance(p["asDouble"], float), p)
            out[m["name"], of["hw.id"], of.get("network.io.direction", "")] = p["asDouble"]
    return out


for machine, gpus in (("h200-x4", 4), ("dgx-spark", 1), ("nothing", 0)):
    p = run("monitor", "--once", "--format", "otlp", "--host", f"demo:{machine}")
    points = otlp_points(p.stdout)
    expect(f"otlp of {machine}", p.returncode == 0 and p.stdout.count("\n") == 1 and len({i for n, i, _ in points if n == "hw.gpu.utilization"}) == gpus, points)
    expect(f"otlp of {machine}: no share above 1, no memory of its own on a shared one", all(0 <= v <= 1 for (n, _, _), v in points.items() if n.endswith("utilization")) and
           (machine != "dgx-spark" or ("hw.gpu.memory.limit", "gpu0", "") not in points), points)


class Collector(http.server.BaseHTTPRequestHandler):
    got = []
    status = 200

    def do_POST(self):
        Collector.got.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(Collector.status)
        self.end_headers()

    def log_message(self, *a):
        pass


web = http.server.HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=web.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{web.server_port}/v1/metrics"
os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = "x-team=gpu,bad"
p = run("monitor", "--once", "--otlp", url, "--host", "demo:h200-x4")
if "libcurl is not installed" in p.stderr:
    common.skip("--otlp", "no libcurl here")
else:
    expect("a look is posted", p.returncode == 0 and not p.stdout and len(Collector.got) == 1 and Collector.got[0][0] == "/v1/metrics", (p, Collector.got))
    expect("as JSON, with headers", Collector.got and Collector.got[0][1]["Content-Type"] == "application/json" and Collector.got[0][1]["x-team"] == "gpu", Collector.got[:1])
    expect("the same metrics", Collector.got and set(otlp_points(Collector.got[0][2])) == set(otlp_points(run("monitor", "--once", "--format", "otlp", "--host", "demo:h200-x4").stdout)))
    Collector.status = 503
    p = run("monitor", "--once", "--otlp", url, "--host", "demo:h200-x4")
    expect("a collector that refuses", p.returncode == 5 and "HTTP status 503" in p.stderr, p)
    web.shutdown()
    web.server_close()
    p = run("monitor", "--once", "--otlp", url, "--host", "demo:h200-x4")
    expect("no collector", p.returncode == 5 and url in p.stderr, p)
    for bad in ("file:///etc/passwd", "ftp://127.0.0.1/x", "x"):
        p = run("monitor", "--once", "--otlp", bad, "--host", "demo:h200-x4")
        expect(f"no {bad}", p.returncode == 5 and "http://" in p.stderr, p)
p = run("monitor", "--otlp", url, "--format", "json")
expect("--otlp and a format", p.returncode == 2 and "--otlp posts" in p.stderr, p)
for options, says in ((("--format", "prom"), "--once"), (("--format", "openmetrics"), "--format openmetrics requires --once"),
                      (("--format", "md"), "one of term, json, prom, openmetrics, otlp"), (("--format", "prom", "job.rec"), "term or json"),
                      (("--format", "openmetrics", "--once", "job.rec"), "term or json"), (("--interval", "1ms"), "100ms"),
                      (("--for", "soon"), "--for"), (("no-such-file",), "no-such-file"), (("--once", "--for", "1s"), "so --for does not apply"),
                      (("job.rec", "--host", "/"), "is a recording")):
    p = run("monitor", *options)
    expect(f"monitor {options}", p.returncode == 2 and says in p.stderr, p)

# A job recorded.
p = run("record", "--interval", "100ms", "-o", "job.rec", "--", "sh", "-c", "echo hello; sleep 1; exit 3")
expect("the job's words and exit code", p.returncode == 3 and p.stdout == "hello\n" and "readings in job.rec" in p.stderr, p)
p = run("monitor", "job.rec", "--format", "json")
rows = lines(p.stdout)
expect("it is played again", p.returncode == 0 and 2 <= len(rows) <= 14, (p.returncode, len(rows), p.stderr))
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
# The protocol of Kineto's daemon, by a stand-in for a process with PyTorch: it asks, traces, and asks again.
KINETO = """
import json, os, socket, struct, sys
folder = os.environ["KINETO_IPC_SOCKET_DIR"]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(folder + "/client"); s.settimeout(20); s.connect(folder + "/dynolog")
def ask(kind, payload):
    s.send(struct.pack("Q32s", len(payload), kind) + payload)
    m = s.recv(4096)
    assert len(m) == 40 + struct.unpack("Q", m[:8])[0] and m[8:40].split(b"\\0")[0] == kind
    return m[40:]
def request(kind, pid=os.getpid()): return ask(b"req", struct.pack("iiqii", kind, 2, 0, pid, 1)).decode()
s.send(b"short"); s.send(struct.pack("Q32s", 4, b"req") + b"1234")
conf = dict(l.split("=") for l in request(3).splitlines())
path = conf["ACTIVITIES_LOG_FILE"].replace(".json", "_%d.json" % os.getpid())
event = lambda cat, name, ts, dur: {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": {"device": 0}}
events = [event("kernel", "gemm", 1000.0, 50.0), event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1100.0, 10.0),
          event("gpu_memcpy", "Memcpy DtoD", 1120.0, 5.0), event("cpu_op", "kernel", 1.0, 1.0), event("Trace", "PyTorch Profiler (0)", 900.0, 300.0)]
open(path, "w").write(json.dumps({"schemaVersion": 1, "traceEvents": events}))
assert request(3)
assert request(1, 77) == ""
assert all(request(3, 1 << 20 | i) for i in range(2000)), "a job of many processes"
sys.exit(3)
"""
(tmp / "kineto.py").write_text(KINETO)
p = run("record", "-q", "--trace", "--tracer", "pytorch", "-o", "k.rec", "--", sys.executable, "kineto.py")
looks = [json.loads(x) for x in (tmp / "k.rec.trace").read_text().splitlines()]
expect("PyTorch's own profiler: a look, a process that profiles itself is left alone, the exit code is the job's",
       p.returncode == 3 and len(looks) == 2 and looks[0]["ns"] == 300000 and looks[0]["pageable_ns"] == 10000 and looks[1]["pid"] == 77 and
       looks[0]["devices"][0]["any_ns"] == 65000 and looks[0]["names"][0] == ["gemm", 50000, 1] and "none" in looks[1] and
       "not traced: the process already uses PyTorch's profiler" in p.stderr, (p, looks))
p = run("record", "--trace", "--tracer", "pytorch", "-o", "n.rec", "--", "sh", "-c", "ls -d $KINETO_IPC_SOCKET_DIR")
expect("without PyTorch it is said, and the folder goes", p.returncode == 0 and "no trace: no PyTorch process" in p.stderr and
       not os.path.exists(p.stdout.strip()), p)
p = run("record", "--trace", "-o", "o.rec", "--", "true", env=os.environ | {"KINETO_USE_DAEMON": "1"})
expect("a job that has a daemon of its own is left alone", p.returncode == 0 and "its own profiler (KINETO_USE_DAEMON)" in p.stderr, p)
# nsys by its documented words, by a stand-in: it runs the command, exports, and passes on the exit code.
(tmp / "bin").mkdir(exist_ok=True)
(tmp / "bin/nsys").write_text(f"""#!{sys.executable}
import subprocess, sys
words = sys.argv[2:]
options = dict(w[2:].split("=") for w in words if w.startswith("--") and "=" in w)
command = words[len(options):]
assert sys.argv[1] == "profile" and options["trace"] == "cuda,nvtx" and options["export"] == "sqlite" and options["sample"] == "none", sys.argv
if command[0] != "no-export":
    open(options["output"] + ".sqlite", "w").close()
sys.exit(subprocess.call(command[command[0] == "no-export":]))
""")
(tmp / "bin/nsys").chmod(0o755)
at = os.environ | {"PATH": f"{tmp}/bin:{os.environ['PATH']}"}
p = run("record", "--trace", "--tracer", "nsys", "-o", "y.rec", "--", "sh", "-c", "exit 5", env=at)
expect("nsys runs the job, whose exit code stays, and what it saw is named",
       p.returncode == 5 and (tmp / "y-nsys.sqlite").exists() and "y-nsys.sqlite" in p.stderr, p)
p = run("record", "--trace", "--tracer", "nsys", "-o", "z.rec", "--", "no-export", "sh", "-c", "exit 6", env=at)
expect("an export that is missing is said", p.returncode == 6 and "nsys did not write z-nsys.sqlite" in p.stderr, p)
p = run("record", "--trace", "--tracer", "nsys", "-o", "x.rec", "--", "/bin/sh", "-c", "exit 7", env=os.environ | {"PATH": str(tmp / "none")})
expect("without nsys the job runs as it is", p.returncode == 7 and "nsys is not on the PATH" in p.stderr, p)
p = run("record", "-o", "alone.rec", "--interval", "100ms", "--for", "400ms")
expect("without a job", p.returncode == 0 and (tmp / "alone.rec").exists(), p)

# Told to end: the job too. Killed: what there was can be read.
job = subprocess.Popen([gputune, "record", "-o", "told.rec", "--interval", "100ms", "--", "sh", "-c", "echo begun; exec sleep 60"],
                       cwd=tmp, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
job.stdout.readline()
job.send_signal(signal.SIGTERM)
expect("told to end", job.wait(30) == 128 + signal.SIGTERM, job.returncode)
job.stdout.close()
job.stderr.close()
expect("and has written its end", "truncated" not in run("monitor", "--once", "told.rec", "--format", "term").stdout)
job = subprocess.Popen([gputune, "record", "-o", "killed.rec", "--interval", "100ms"], cwd=tmp)
# Until rows are in the file, each second's: what was flushed must be there afterwards.
sizes = set()


def grown():
    if (tmp / "killed.rec").exists():
        sizes.add((tmp / "killed.rec").stat().st_size)
    return len(sizes) >= 4


common.until(grown)
job.kill()
job.wait(30)
p = run("monitor", "--once", "killed.rec", "--format", "term")
expect("killed: most of it can be read", p.returncode == 0 and "truncated" in p.stdout, p)
expect("killed: up to the last second", len(lines(run("monitor", "killed.rec", "--format", "json").stdout)) >= 2)
expect("--once is a page in a pipe, too", "recording, " in run("monitor", "--once", "killed.rec").stdout)


def recorded(name, change):
    """30 s of a sound machine, a row a second; change alters the totals of the second half."""
    totals = {"gpu.capped": ("s", 1e-3), "gpu.warm": ("s", 0), "gpu.brake": ("s", 0), "gpu.pcie-sent": ("bytes", 1e9), "cpu.busy": ("s", 2),
              "net.received": ("bytes", 1e8), "disk.read": ("bytes", 1e7)}
    columns = [{"name": n, "target": "gpu0" if n.startswith("gpu") else "" if n.startswith("cpu") else "x", "unit": u, "slow": False, "kind": "total"}
               for n, (u, _) in totals.items()]
    card = dict.fromkeys(("lock_low_mhz", "lock_high_mhz", "power_limit_w", "slowdown_c")) | {
        "index": 0, "name": "NVIDIA H100 80GB HBM3", "sm_max_mhz": 1980.0, "memory_bytes": 80e9, "integrated": False}
    head = {"schema": "gputune.recording/1", "tool_version": None, "started_s": 1700000000, "interval_ms": 1000, "command": ["train"],
            "machine": {"name": "m", "platform": None, "kernel": None, "driver": None, "memory_bytes": 2.0 ** 36, "cpus": 8, "gpus": [card]},
            "columns": columns}
    rows = [[1000 * s, *(x for i, (_, each) in enumerate(totals.values()) for x in (i, (change if s > 14 else float)(each * s)))] for s in range(30)]
    text = "\n".join(map(json.dumps, [head, *rows, {"rows": 30, "status": 0, "cpu_s": 0, "command_cpu_s": 0}])) + "\n"
    subprocess.run(["zstd", "-q", "-f", "-o", tmp / name], input=text.encode(), check=True)


# Totals that go back, begin anew, wrap or jump: no rate is made of them, no page names their difference, and no cause follows.
for what, change in (("went back", lambda v: v * 0.4), ("began anew", lambda v: 0.0), ("wrapped", lambda v: v % 2 ** 32), ("jumped", lambda v: v + 1e12)):
    recorded("odd.rec", change)
    j = [json.loads(line) for line in run("monitor", "odd.rec", "--format", "json").stdout.splitlines()]
    rates = [(t, c, x["per_second"]) for line in j for t, of in line.items() if isinstance(of, dict) for c, x in of.items() if "total" in x]
    expect(f"totals that {what}: no rate below 0, and none of a time beyond the clock", len(rates) == 210 and not any(
        r is not None and (r < 0 or (t == "gpu0" and c != "pcie-sent" and r > 2)) for t, c, r in rates), rates[100:130])
    page = run("monitor", "--once", "odd.rec").stdout
    expect(f"totals that {what}: the page names no such time", "thermal" not in page and "brake" not in page and "-" not in
           re.sub(r"\d{4}-\d\d-\d\d|H100.*", "", page), page)
    causes = json.loads(run("diagnose", "training", "odd.rec", "--format", "json").stdout)["runs"][0]["causes"]
    expect(f"totals that {what}: nobody is accused", causes and not any(c["certainty"] in ("certain", "likely", "possible") for c in causes), causes)


def no_room():
    """The disk is full after what the shortest recording takes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), len(before)))


# A recording that cannot be written any more: said at once, the job goes on, gets what we are told, and its exit code is ours.
run("record", "-q", "-o", "short.rec", "--interval", "100ms", "--for", "100ms")
before = (tmp / "short.rec").read_bytes()
job = subprocess.Popen([gputune, "record", "-o", "full.rec", "--interval", "100ms", "--", "sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.1; done"],
                       cwd=tmp, stderr=subprocess.PIPE, text=True, preexec_fn=no_room, restore_signals=False,
                       env={**os.environ, "LLVM_PROFILE_FILE": os.devnull})  # which has no room either, and says so
told, said = job.stderr.readline(), job.stderr.readline()
expect("it says what it records", "recording to full.rec every 0.1 s until the command ends: GPUs " in told, told)
expect("a full disk is said while the job goes on", "cannot write full.rec" in said and "the job continues" in said and job.poll() is None, said)
job.send_signal(signal.SIGTERM)
expect("and the job still hears us", job.wait(60) == 7 and not job.stderr.read(), job.returncode)
job.stderr.close()
# Not even its first line: whichever verb it is, a result that was not written is 5, and what cannot be a name 2.
for argv in (["record", "-o", "none.rec", "--for", "100ms"], ["record", "-o", "none.rec", "--", "true"], ["monitor", "--once", "-o", "none.rec"]):
    p = run(*argv, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)), restore_signals=False,
            env={**os.environ, "LLVM_PROFILE_FILE": os.devnull})
    expect(f"no room at all: {argv}", p.returncode == 5 and re.search("cannot write|could not be written", p.stderr) and "File too large" in p.stderr, p)
    (tmp / "none.rec").unlink(missing_ok=True)
p = run("record", "-o", "no/such/folder.rec", "--for", "100ms")
expect("no such folder", p.returncode == 2 and "cannot create" in p.stderr, p)
# The job's own words, signals and descriptors stay as they are.
job_of = ["record", "-q", "-o", "words.rec", "--interval", "100ms", "--", "sh", "-c", "cat; echo said >&2; exit 7"]
p = subprocess.run([gputune, *job_of], input=bytes(range(256)) * 4096, capture_output=True, cwd=tmp, timeout=60, check=False)
expect("standard input and output go through untouched", p.returncode == 7 and p.stdout == bytes(range(256)) * 4096 and
       p.stderr == b"said\n", (p.returncode, len(p.stdout), p.stderr[:200]))
for name in ("INT", "TERM", "HUP", "USR1", "SEGV", "PIPE"):
    p = run("record", "-q", "-o", f"by{name}.rec", "--interval", "100ms", "--", "sh", "-c", f"kill -{name} $$; exit 9")
    expect(f"a job that ends by SIG{name}", p.returncode == 128 + getattr(signal, f"SIG{name}"), p)
p = run("record", "-q", "-o", "mask.rec", "--interval", "100ms", "--", "grep", "-E", "^(SigBlk|SigIgn)", "/proc/self/status")
expect("no signal is blocked in the job", p.returncode == 0 and set(p.stdout.split()[1::2]) == {"0" * 16} or
       "SigIgn:\t0000000001001000" in p.stdout, p.stdout)
p = run("record", "-q", "-o", "fds.rec", "--interval", "100ms", "--", "ls", "/proc/self/fd", stdin=subprocess.DEVNULL)
alone = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
expect("no descriptor of ours in the job", p.stdout.split() == alone.stdout.split(), (p.stdout, alone.stdout))

# Two recordings against each other.


def write(name, seed, clock, *, extra=(), status=0, rows=300):
    """A recording as another program would write one."""
    import random
    r = random.Random(seed)
    columns = [("gpu.sm-clock", "gpu0", "MHz", "gauge", False), ("gpu.link-width", "gpu0", "lanes", "gauge", True),
               ("net.received", "eth0", "bytes", "total", False), ("gpu.reasons", "gpu0", "bits", "gauge", False), *extra]
    out = [{"schema": "gputune.recording/1", "tool_version": "0", "started_s": 1700000000, "interval_ms": 500,
            "command": ["job", str(clock)],
            "machine": {"name": "m", "platform": "generic", "kernel": "6", "driver": None, "memory_bytes": 1e9, "cpus": 2, "gpus": []},
            "columns": [dict(zip(("name", "target", "unit", "kind", "slow"), c)) for c in columns]}]
    got = 0
    for i in range(rows):
        got += r.randrange(900_000, 1_100_000)
        out.append([500 * i, 0, clock + r.gauss(0, 15), 1, 16, 2, got, 3, 4, *(x for k in range(len(extra)) for x in (4 + k, 7))])
    out.append({"rows": rows, "status": status, "cpu_s": 0.1, "command_cpu_s": 12.5})
    text = "".join(json.dumps(x) + "\n" for x in out)
    (tmp / name).write_bytes(subprocess.run(["zstd", "-qc"], input=text.encode(), capture_output=True, check=True).stdout)


def two(*argv):
    p = run("compare", *argv, "--format", "json")
    j = json.loads(p.stdout) if p.stdout else {}
    if j:
        validate(j, "compare-recordings")
    return p, j, {(x["quantity"], x["target"]): x for x in j.get("rows", [])}


write("fast.rec", 1, 1900)
write("again.rec", 2, 1900)
write("slow.rec", 3, 1500, extra=[("memory.dirty", "", "bytes", "gauge", True)], status=4)
p, j, rows = two("fast.rec", "again.rec")
expect("like and like", p.returncode == 0 and j["summary"] == {"higher": 0, "lower": 0, "no_difference": 3, "not_comparable": 0}, j or p)
expect("a total is a rate", abs(rows["net.received", "eth0"]["a"]["median"] / 2e6 - 1) < 0.05, rows.get(("net.received", "eth0")))
p, j, rows = two("fast.rec", "slow.rec")
clock = rows["gpu.sm-clock", "gpu0"]
expect("a lower clock", p.returncode == 0 and clock["verdict"] == "lower" and clock["low"] <= -400 <= clock["high"], clock)
expect("its quantiles", clock["b"]["p5"] < 1490 < clock["b"]["median"] < 1510 < clock["b"]["p95"], clock)
expect("what one side has alone", rows["memory.dirty", ""]["verdict"] == "not-comparable" and rows["memory.dirty", ""]["a"] is None, rows)
expect("bits are no quantity", ("gpu.reasons", "gpu0") not in rows, rows.keys())
expect("how the jobs went", j["a"]["exit_code"] == 0 and j["b"]["exit_code"] == 4 and j["b"]["command_cpu_s"] == 12.5 and
       any(x.startswith("command: ") for x in j["differs"]), j["differs"])
p = run("compare", "fast.rec", "slow.rec")
expect("a page", p.returncode == 0 and "lower" in p.stdout and "constant value" in p.stdout and "CPU time of the job" in p.stdout, p.stdout)
p, j, rows = two("job.rec", "job.rec")
expect("with itself", p.returncode in (0, 5) and j["summary"]["higher"] + j["summary"]["lower"] == 0, j)
(tmp / "bad.rec").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(64))
(tmp / "bench.json").write_text("{}")
for argv, says in ((("fast.rec", "bench.json"), "cannot compare a recording with a bench result"), (("fast.rec", "missing.rec"), "cannot compare a recording with a bench result"),
                   (("killed.rec", "words.rec"), ""), (("fast.rec", "bad.rec"), "")):
    p = run("compare", *argv)
    expect(f"compare {argv}", (p.returncode == 2 and says in p.stderr) if says or "bad.rec" in argv else p.returncode in (0, 5), p)
p = run("monitor", "bad.rec")
expect("no recording", p.returncode == 2 and "bad.rec" in p.stderr, p)

# A real terminal.
if not shutil.which("tmux"):
    expect("tmux is there", False, "scripts/install-deps test installs it")
else:
    def tmux(*argv):
        return subprocess.run(["tmux", "-S", tmp / "tmux", "-f", "/dev/null", *map(str, argv)], capture_output=True, text=True,
                              timeout=20, check=False).stdout

    def until(wanted, seconds=60.0, drawn=1):
        """The screen once it shows wanted (a regular expression), or as it then is. drawn: so many looks in a row are the same; one alone may
        meet it half drawn."""
        screens = []
        common.until(lambda: screens.append(tmux("capture-pane", "-p")) or re.search(wanted, screens[-1], re.M) and
                     len(screens) >= drawn and len(set(screens[-drawn:])) == 1, seconds, 0.1)
        return screens[-1]

    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "screen"}
    subprocess.run(["tmux", "-S", tmp / "tmux", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24",
                    f"cd '{tmp}'; echo before; '{gputune}' top --interval 200ms; echo after $?; exec sh"], env=env, check=True)
    screen = until("Memory.*available")
    expect("80 columns", "CPU" in screen and "Memory" in screen and "q quits" in screen, screen)
    expect("how often", "every 0.2 s" in screen, screen)
    tmux("send-keys", "-")
    expect("- looks less often", "every 0.5 s" in until("every 0.5 s"), tmux("capture-pane", "-p"))
    tmux("send-keys", "+")
    expect("+ looks more often", "every 0.2 s" in until("every 0.2 s"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Space")
    expect("space holds it", "PAUSED" in until("PAUSED"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Space")
    # What does not fit is left out by the word, and said to be.
    tmux("resize-window", "-x", 60, "-y", 12)
    screen = until(r"left out: \d+ values? beyond 60 columns")
    expect("60 columns", "Memory" in screen and "beyond 60 columns" in screen, screen)
    tmux("resize-window", "-x", 24, "-y", 24)
    screen = until("too small")
    expect("24 columns", "40x8 at least" in screen and max(map(len, screen.splitlines())) <= 24, screen)
    tmux("resize-window", "-x", 24, "-y", 3)
    tmux("resize-window", "-x", 120, "-y", 40)
    screen = until(r"(?s)\A(?!.*left out).*uses .* of a CPU")  # what was drawn for another size is gone
    expect("120 columns", "q quits" in screen and "left out" not in screen, screen)
    tmux("send-keys", "r")
    made = re.search(r"records to (\S+\.rec)", until("records to"))
    tmux("send-keys", "r")
    until("recorded")
    expect("r records to a file", made and run("monitor", made[1], "--once").returncode == 0, made)
    tmux("send-keys", "h")
    expect("h is help", "sort processes" in until("sort processes"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Escape")
    until(r"(?s)\A(?!.*sort processes).*uses .* of a CPU")  # with the next key it would be one of Alt
    tmux("send-keys", "/")
    tmux("send-keys", "q")
    expect("a filter is typed, q too", "filter: q_" in until("filter: q_"), tmux("capture-pane", "-p"))
    tmux("send-keys", "Enter")
    tmux("send-keys", "q")
    screen = until("after 0")
    expect("q ends it, and the terminal is as it was", "before" in screen and "after 0" in screen and "Memory" not in screen, screen)
    tmux("send-keys", f"'{gputune}' top job.rec; stty -a | grep -c ' icanon'", "Enter")
    expect("a replay", "recording, " in until("recording, "), tmux("capture-pane", "-p"))
    tmux("send-keys", "Right")
    last = re.search(r"recording, (\S+) of (\S+) s", until(r"recording, 1\.\d of"))
    expect("on to the end", last and abs(float(last[1]) - float(last[2])) < 0.3, last)
    tmux("send-keys", "Left")
    expect("back to the start", re.search(r"recording, 0\.\d of", until(r"recording, 0\.\d of")), tmux("capture-pane", "-p"))
    tmux("send-keys", "q")
    expect("the terminal takes lines again", re.search(r"^1$", until("^1$"), re.M), tmux("capture-pane", "-p"))
    # A stored recording at a fixed time: each screen to the letter. "monitor.py GPUTUNE --update" writes them anew.
    stored, kept = root / "tests/data/training/h200-checkpoint/job.rec", root / "tests/golden/top.expect"
    screens = ""
    for columns, lines_shown in ((80, 24), (120, 40)):
        tmux("resize-window", "-x", columns, "-y", lines_shown)
        tmux("send-keys", f"clear; NO_COLOR=1 '{gputune}' top '{stored}'", "Enter")
        until("recording, ")
        tmux("send-keys", "Space")
        until("PAUSED")
        tmux("send-keys", "Left")
        until("recording, 0.0 of")
        tmux("send-keys", "Right")
        screens += f"{columns}x{lines_shown}\n{until('recording, (10|9)[.]', drawn=5)}"
        tmux("send-keys", "q")
        until(r"^[#$] $|[#$]\s*$")
    if "--update" in sys.argv:
        kept.write_text(screens)
    expect("screens of a stored recording", screens == kept.read_text(), screens)
    tmux("kill-server")

# On a slow line: what did not change is not sent. Held, a key that means nothing and one that changes a word.
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.chdir(tmp)
    os.execve(gputune, [gputune, "top", "job.rec"], {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})


def read_until(wanted):
    got, end = b"", time.monotonic() + 60
    while not re.search(wanted, got, re.S) and time.monotonic() < end and select.select([fd], [], [], end - time.monotonic())[0]:
        try:
            got += os.read(fd, 65536)
        except OSError:
            break
    return got


page = read_until(rb"speed 1")
os.write(fd, b" ")
read_until(rb"PAUSED.*speed 1")
os.write(fd, b"zz+")
word = read_until(rb"speed 2")
expect("a page at first", page.count(b"\x1b[K") >= 4 and b"Memory" in page, page)
expect("then what changed", b"speed 2" in word and word.count(b"\x1b[K") == 1 and len(word) < 120, word)
os.write(fd, b"q")
last = read_until(rb"\x1b\[\?1049l")
expect("and the screen as it was", last.endswith(b"\x1b[?25h\x1b[?1049l") and os.waitpid(pid, 0)[1] == 0, last)
os.close(fd)

# A terminal that goes away ends it.
pid, fd = pty.fork()
if pid == 0:
    os.chdir(tmp)
    os.execve(gputune, [gputune, "top"], {**os.environ, "TERM": "vt100", "LC_ALL": "C"})
read_until(rb"q quits")
os.close(fd)
common.until(lambda: os.waitpid(pid, os.WNOHANG)[0], 60)
try:
    os.kill(pid, 0)
    expect("a terminal that goes away ends it", False)
except ProcessLookupError:
    expect("a terminal that goes away ends it", True)
common.refuses("top in a pipe", ["top"], 2, "needs a terminal", "gputune monitor")

end_suite()
