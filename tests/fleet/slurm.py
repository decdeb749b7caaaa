#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm (controller, one node, munge) on the loopback of a namespace: drained by gputune, brought back by it."""
import json
import os
import pathlib
import re
import subprocess
import time

from hosts import Space, run, stop

OPEN = "net.ipv4.tcp_fastopen"
CONF = """ClusterName=lab
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
PrologFlags=Alloc
ReturnToService=0
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
SlurmctldLogFile={work}/slurmctld.log
SlurmdLogFile={work}/slurmd.log
HealthCheckInterval={interval}
HealthCheckNodeState=ANY
HealthCheckProgram={work}/health
Prolog={work}/prolog
NodeName=n1 NodeHostname={name} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    def __init__(self, work, gputune):
        self.work = pathlib.Path(work)
        os.chmod(work, 0o755)
        self.space = Space("gtslurm", work)
        self.daemons = []
        self.env = {**os.environ, "SLURM_CONF": str(self.work / "slurm.conf")}
        (self.work / "slurm.conf").write_text(CONF.format(name="gtslurm", work=work, interval=3))
        only = "--profile published --only net.tcp-fastopen"
        for name, mode in (("health", "healthcheck"), ("prolog", "prolog")):
            path = self.work / name
            path.write_text(f"#!/bin/sh\n[ -e {work}/{name}.off ] && exit 0\n"
                            f"exec {gputune} slurm {mode} {only} >>{work}/{name}.log 2>&1\n")
            path.chmod(0o755)
        for d in ("state", "spool"):
            (self.work / d).mkdir()
        self.space.enter("sh", "-c", "printf '\\n127.0.0.1 gtslurm\\n' >>/etc/hosts")
        # It wants to know which kind of control groups there are, and uses none.
        (self.work / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={work}/none\n")
        self.space.enter("cp", self.work / "slurm.conf", self.work / "cgroup.conf", "/etc/slurm")
        # Names are looked up only where some link besides the loopback has an address.
        run("ip", "-n", "gtslurm", "link", "add", "e0", "type", "veth", "peer", "name", "e1")
        run("ip", "-n", "gtslurm", "addr", "add", "10.213.8.1/24", "dev", "e0")
        run("ip", "-n", "gtslurm", "link", "set", "e0", "up")
        (self.work / "health.off").write_text("")

    def start(self):
        self.daemons.append(self.space.start(
            "/usr/sbin/munged", "--foreground", "--force", f"--socket={self.work}/munge.socket",
            f"--key-file={self.key()}", f"--pid-file={self.work}/munge.pid", f"--log-file={self.work}/munge.log",
            f"--seed-file={self.work}/munge.seed"))
        self.wait(lambda: (self.work / "munge.socket").exists())
        self.daemons.append(self.space.start("/usr/sbin/slurmctld", "-D", "-i", env=self.env))
        self.daemons.append(self.space.start("/usr/sbin/slurmd", "-D", "-N", "n1", env=self.env))
        self.wait(lambda: self.state().startswith("IDLE") and "NOT_RESPONDING" not in self.state())

    def key(self):
        path = self.work / "munge.key"
        path.write_bytes(os.urandom(128))
        path.chmod(0o600)
        return path

    def ask(self, *argv, check=True):
        return self.space.enter(*argv, env=self.env, check=check, timeout=60)

    def node(self):
        return self.ask("scontrol", "--oneliner", "show", "node", "n1", check=False).stdout

    def state(self):
        m = re.search(r" State=(\S+)", self.node())
        return m[1] if m else ""

    def reason(self):
        m = re.search(r" Reason=(.*?)(?: \[\S+@\S+\])?\s*$", self.node())
        return m[1] if m else ""

    def said(self):
        return "\n".join([self.node()] + [(self.work / n).read_text()[-2000:] for n in ("health.log", "slurmd.log")
                                          if (self.work / n).exists()])

    def wait(self, ready, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if ready():
                return True
            time.sleep(0.3)
        return False

    def close(self):
        for d in reversed(self.daemons):
            stop(d)
        self.space.close()


def test(t, gputune, arm, work):
    s = Slurm(work, gputune)
    try:
        s.space.sysctl(OPEN, 3)
        s.start()
        t("the node is idle", s.state() == "IDLE", "\n".join(
            [s.node()] + [p.read_text()[-2500:] for p in (s.work / "slurmctld.log", s.work / "slurmd.log",
                                                          s.space.root / "log") if p.exists()]))
        if s.state() != "IDLE":
            return
        (s.work / "health.off").unlink()
        jobs(t, s)
        ranks(t, s, gputune)
        drains(t, s)
        respects(t, s)
        prolog(t, s)
        costs(t, s, gputune)
        unreachable(t, s, gputune)
    finally:
        s.close()


def ranks(t, s, gputune):
    """A collective in the two tasks of a step, on stand-ins of the CUDA driver and NCCL, as far as this build has them."""
    stub = pathlib.Path(gputune).resolve().parent / "tests/stub"
    if not (stub / "libraries/libnccl.so.2").exists():
        return
    done = s.ask("srun", "-t1", "-n2", "--overcommit", "env", f"LD_LIBRARY_PATH={stub}/device", f"GPUTUNE_LIB_DIR={stub}/libraries",
                 "GPUTUNE_STUB_CUDA=gpus=2 memory=4000000000", gputune, "bench", "collectives/all-reduce:4KiB", "--for", "100ms", "--state",
                 f"{s.work}/ranks", "--format", "json", check=False)
    try:
        cases = json.loads(done.stdout)["cases"]
        t("two tasks measure together", all(c["verified"] and "2 processes" in c["setup"] for c in cases), done.stdout[:500])
    except ValueError:
        t("two tasks measure together, and one of them prints", False, (done.stdout + done.stderr)[:800])


def jobs(t, s):
    done = s.ask("srun", "-t1", "hostname", check=False)
    t("a job runs on a healthy node", done.returncode == 0 and "gtslurm" in done.stdout, done.stdout + done.stderr)
    time.sleep(4)
    t("a healthy node stays as it is", s.state() == "IDLE", s.node())


def drains(t, s):
    s.space.sysctl(OPEN, 1)
    t("an unfit node is drained by the health check", s.wait(lambda: "DRAIN" in s.state()), s.said())
    t("with a reason of ours", s.reason().startswith("gputune: net.tcp-fastopen"), s.reason())
    first = s.node()
    time.sleep(5)
    stamp = re.compile(r"\[\S+@\S+\]")
    t("the reason is not written again and again", stamp.findall(first) == stamp.findall(s.node()), s.node())
    s.space.sysctl(OPEN, 3)
    t("a node that is fit again is brought back", s.wait(lambda: s.state() == "IDLE"), s.node())


def respects(t, s):
    s.ask("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=fan noise")
    time.sleep(5)
    t("a drain of somebody else's stays", "DRAIN" in s.state() and s.reason() == "fan noise", s.node())
    s.space.sysctl(OPEN, 1)
    time.sleep(5)
    t("and its reason, when the node is unfit, too", s.reason() == "fan noise", s.node())
    s.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
    s.wait(lambda: s.reason().startswith("gputune:"))
    s.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
    s.ask("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=fan noise")
    time.sleep(5)
    t("nor is one that he set down drained", "DRAIN" not in s.state() and s.reason() == "fan noise", s.node())
    s.space.sysctl(OPEN, 3)
    time.sleep(4)
    t("nor brought back", s.state().startswith("DOWN"), s.node())
    s.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
    s.ask("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=fan noise")
    time.sleep(4)
    t("and is not undone when the node is fit", "DRAIN" in s.state() and s.reason() == "fan noise", s.node())
    s.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
    s.wait(lambda: s.state() == "IDLE")


def prolog(t, s):
    (s.work / "health.off").write_text("")
    time.sleep(1)
    s.space.sysctl(OPEN, 1)
    job = s.space.start("srun", "-t1", "touch", s.work / "ran", env=s.env)
    t("the prolog drains an unfit node", s.wait(lambda: "DRAIN" in s.state()), s.node())
    time.sleep(1)
    t("with a reason of ours, which Slurm keeps", s.reason().startswith("gputune: net.tcp-fastopen"), s.reason())
    t("the job does not run there", not (s.work / "ran").exists())
    s.ask("scancel", "--user=root", check=False)
    stop(job)
    s.space.sysctl(OPEN, 3)
    (s.work / "health.off").unlink()
    t("the health check brings it back", s.wait(lambda: "DRAIN" not in s.state(), 40), s.node())


def costs(t, s, gputune):
    argv = s.space.argv(gputune, "slurm", "healthcheck")
    start = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, env={**s.env, "SLURMD_NODENAME": "n1"}, timeout=30)
    took = time.monotonic() - start
    t(f"the health check takes less than 2 s ({took:.2f} s)", took < 2 and done.returncode in (0, 1), done)


def unreachable(t, s, gputune):
    """Without a controller it says so and ends in time."""
    stop(s.daemons[1])
    start = time.monotonic()
    done = subprocess.run(s.space.argv(gputune, "slurm", "healthcheck", "--profile", "published", "--only",
                                       "net.tcp-fastopen"), capture_output=True, text=True,
                          env={**s.env, "SLURMD_NODENAME": "n1"}, timeout=30)
    took = time.monotonic() - start
    t(f"without a controller it ends in time ({took:.2f} s)", took < 2 and done.returncode == 5 and
      "scontrol" in done.stderr, done)
