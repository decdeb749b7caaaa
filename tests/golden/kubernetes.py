#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node's condition, event and taint by its health, against a stand-in of the API server that can fail. kubernetes.py GPUTUNE"""
import concurrent.futures
import http.server
import json
import pathlib
import re
import signal
import sys
import threading
import time

import yaml

from common import alone, end_suite, expect, finish, follows, gputune, refuses, root, run, sanitized, says, scratch, start, until

alone()
folder = scratch("kubernetes")
token = folder / "token"
token.write_text("secret-of-this-pod\n")
KNOB = pathlib.Path("/proc/sys/net/core/somaxconn")  # of this network namespace
ONLY = "net.somaxconn"


class Server(http.server.BaseHTTPRequestHandler):
    nodes, log, faults, events = {}, [], [], []
    version = 1

    def answer(self, status, body=None):
        text = json.dumps(body or {}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def serve(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        Server.log.append((self.command, self.path, self.headers["Content-Type"], self.headers["Authorization"]))
        if Server.faults:
            fault = Server.faults.pop(0)
            if fault == 0:
                self.close_connection = True
                return
            if fault != 200:
                self.answer(fault)
                return
        name = re.match(r"/api/v1/nodes/([^/]+)", self.path)
        if self.path.endswith("/events"):
            Server.events.append(body)
            self.answer(201)
            return
        node = Server.nodes.setdefault(name[1], {"metadata": {"resourceVersion": "1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
                                                 "spec": {"taints": [{"key": "another", "effect": "NoSchedule"}]}})
        if self.command == "PATCH":
            if self.path.endswith("/status"):
                for c in body["status"]["conditions"]:
                    node["status"]["conditions"] = [o for o in node["status"]["conditions"] if o["type"] != c["type"]] + [c]
            elif body[0]["value"] != node["metadata"]["resourceVersion"]:
                self.answer(409)
                return
            else:
                node["spec"]["taints"] = body[1]["value"]
            Server.version += 1
            node["metadata"]["resourceVersion"] = str(Server.version)
        self.answer(200, node)

    do_GET = do_PATCH = do_POST = serve

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
AGENT = ["kubernetes", "node", "--server", f"http://127.0.0.1:{server.server_port}", "--token", token, "--only", ONLY]


def writes():
    return [entry for entry in Server.log if entry[0] != "GET"]


def condition(node):
    return next((c for c in Server.nodes.get(node, {"status": {"conditions": []}})["status"]["conditions"] if c["type"] == "GpuUnhealthy"), None)


def looks():
    KNOB.write_text("4096")
    j = follows("healthy", [*AGENT, "--once", "--node", "n1"], 0, "kubernetes")
    expect("condition and event", j["status"] == "False" and condition("n1")["status"] == "False" and len(Server.events) == 1, (j, Server.log))
    expect("others' conditions stay", len(Server.nodes["n1"]["status"]["conditions"]) == 2)
    expect("the token is sent, and is in no argument", Server.log[0][3] == "Bearer secret-of-this-pod", Server.log[0])
    before = len(writes())
    j = follows("nothing changed", [*AGENT, "--once", "--node", "n1", "--taint", "NoSchedule"], 0, "kubernetes")
    expect("nothing is written", j["writes"] == 0 and len(writes()) == before, writes()[before:])
    KNOB.write_text("128")
    j = follows("unhealthy", [*AGENT, "--once", "--node", "n1", "--taint", "NoSchedule"], 1, "kubernetes")
    taints = Server.nodes["n1"]["spec"]["taints"]
    expect("the taint, beside another's", [t["key"] for t in taints] == ["another", "gputune/unhealthy"], taints)
    expect("the condition says what", condition("n1")["status"] == "True" and ONLY in condition("n1")["message"], condition("n1"))
    KNOB.write_text("4096")
    follows("healthy again", [*AGENT, "--once", "--node", "n1", "--taint", "NoSchedule"], 0, "kubernetes")
    expect("the taint goes, another's stays", [t["key"] for t in Server.nodes["n1"]["spec"]["taints"]] == ["another"])
    refuses("no node", ["kubernetes", "node", "--once", "--server", "http://127.0.0.1:1"], 2, "NODE_NAME")
    refuses("no server", ["kubernetes", "node", "--once", "--node", "a"], 2, "API server unknown")
    refuses("no name of a node", ["kubernetes", "node", "--once", "--node", "a/../b"], 2, "node name unknown")


def failures():
    for fault in (0, 429, 500):
        Server.faults[:] = [200, fault]
        says(f"answer {fault or 'none'}", [*AGENT, "--once", "--node", f"f{fault}"], 5, "no answer" if not fault else str(fault))
    KNOB.write_text("128")
    Server.faults[:] = [200, 200, 201, 200, 409]  # get, condition, event, get, taint: another wrote it meanwhile
    follows("a conflict is tried again", [*AGENT, "--once", "--node", "c1", "--taint", "NoExecute"], 1, "kubernetes")
    expect("and the taint is there", [t["key"] for t in Server.nodes["c1"]["spec"]["taints"]] == ["another", "gputune/unhealthy"], Server.log[-6:])
    KNOB.write_text("4096")


def agent():
    """It goes on through failures, writes nothing while nothing changes, and rests in little memory."""
    ready, features = folder / "ready", folder / "gputune"
    Server.faults[:] = [500]
    p = start(gputune, *AGENT, "--node", "a1", "--interval", "100ms", "--taint", "NoSchedule", "--ready", ready, "--features", features)
    until(lambda: ready.exists(), 60)
    expect("it was told after failures", condition("a1") and condition("a1")["status"] == "False", Server.log[-5:])
    expect("labels", features.read_text() == "gputune.healthy=true\n")
    before, looked = len(Server.log), time.monotonic()
    until(lambda: time.monotonic() - looked > 1.5, 5)
    expect("no request while nothing changes", len(Server.log) == before, Server.log[before:])
    rest = int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())[1])
    expect("at most 8 MiB at rest", rest <= 8192 or sanitized(gputune), f"{rest} KiB")
    began = time.monotonic()
    KNOB.write_text("128")
    until(lambda: len(Server.nodes["a1"]["spec"]["taints"]) == 2, 30)
    print(f"rest {rest} KiB, a fault is a taint after {time.monotonic() - began:.2f} s", flush=True)
    expect("a fault is a taint", Server.nodes["a1"]["spec"]["taints"][1]["effect"] == "NoSchedule")
    until(lambda: features.read_text() == "gputune.healthy=false\n", 30)
    KNOB.write_text("4096")
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=30)
    expect("SIGTERM ends it", p.returncode in (0, 1, 5), (p.returncode, out, err))


def manifests():
    folder = root / "contrib/kubernetes"
    every = [d for f in sorted(folder.rglob("*.yaml")) if "helm" not in f.parts for d in yaml.safe_load_all(f.read_text())]
    by = {d["kind"]: d for d in every if "kind" in d}
    pod = next(d for d in every if d.get("kind") == "DaemonSet" and d["metadata"]["name"] == "gputune")["spec"]["template"]["spec"]
    for c in pod["containers"]:
        s = c["securityContext"]
        expect("no rights", s["runAsNonRoot"] and s["readOnlyRootFilesystem"] and not s["allowPrivilegeEscalation"] and s["capabilities"]["drop"] == ["ALL"], s)
        expect("a readiness rule", "readinessProbe" in c)
    hosts = {v["name"] for v in pod["volumes"] if "hostPath" in v}
    expect("the host's folders are read only", all(m.get("readOnly") for c in pod["containers"] for m in c["volumeMounts"]
                                                   if m["name"] in hosts and m["name"] != "features"))
    rules = {(r, v) for d in every if d["kind"] == "ClusterRole" and d["metadata"]["name"] == "gputune" for rule in d["rules"]
             for r in rule["resources"] for v in rule["verbs"]}
    expect("least rights", rules == {("nodes", "get"), ("nodes/status", "patch")}, rules)
    for f in folder.rglob("kustomization.yaml"):
        k = yaml.safe_load(f.read_text())
        expect(f"{f.parent.name}: files are there", all((f.parent / r).exists() for r in k["resources"]), k)


    # The chart is these files with values in place; what it replaces has to be there. helm's own linter: kubernetes_real.py.
    text = (folder / "helm/templates/gputune.yaml").read_text()
    files = {name: (folder / "helm" / name).read_text() for name in re.findall(r'Files.Get "([^"]+)"', text)}
    words = re.findall(r'replace "([^"]+)"', text)
    expect("the chart's files and words", len(files) == 3 and len(words) == 6 and all(any(w in f for f in files.values()) for w in words), (list(files), words))


def tunes():
    """What the package that tunes runs on a node: applied, verified, and its own transactions undone."""
    mine, before = folder / "transactions", KNOB.read_text()
    env = {"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin", "GPUTUNE_TRANSACTIONS": str(mine), "GPUTUNE_APPLY": f"--only {ONLY}"}
    (folder / "gputune").symlink_to(gputune)

    def does(word):
        return finish(start("sh", "-s", word, env=env, stdin=(root / "contrib/kubernetes/tune/tune.sh").open()))

    KNOB.write_text("128")
    says("another's transaction", ["apply", "--yes", "--only", ONLY], 0)
    says("undone", ["undo", "--yes"], 0)
    expect("applied", does("apply").code == 0 and KNOB.read_text() != "128\n" and mine.read_text() == "3\n", KNOB.read_text())
    expect("verified", does("verify").code == 0)
    ran = does("apply")
    expect("nothing to do the second time", ran.code == 0 and mine.read_text() == "3\n", (ran, mine.read_text()))
    ran = does("undo")
    expect("undone", ran.code == 0 and KNOB.read_text() == "128\n" and not mine.read_text(), ran)
    expect("and undo again does nothing", does("undo").code == 0)
    KNOB.write_text(before)


def thousand(n):
    """Nightly: many nodes, each looked at twice while nothing changes, then one that is unhealthy."""
    names = [f"node-{i}" for i in range(n)]

    def every(what):
        began, before = time.monotonic(), len(writes())
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda name: run(*AGENT, "--once", "--node", name, "--taint", "NoSchedule").code, names))
        print(f"{what}: {n} nodes in {time.monotonic() - began:.0f} s, {len(writes()) - before} writes", flush=True)
        return codes, len(writes()) - before

    KNOB.write_text("4096")
    expect("a condition and an event each", every("first look") == ([0] * n, 2 * n))
    expect("0 writes while nothing changes", every("second look") == ([0] * n, 0))
    KNOB.write_text("128")
    codes, wrote = every("fault")
    tainted = sum(len(Server.nodes[name]["spec"]["taints"]) == 2 for name in names)
    expect("every fault is a taint", codes == [1] * n and wrote == 3 * n and tainted == n, (wrote, tainted))
    KNOB.write_text("4096")


if sys.argv[-1].isdigit():
    thousand(int(sys.argv[-1]))
    end_suite()
looks()
tunes()
failures()
agent()
manifests()
end_suite()
