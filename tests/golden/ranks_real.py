#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nightly: real Open MPI over three machines that are namespaces of network and name: its PMIx tells ranks where they meet. ranks_real.py GPUTUNE"""
import json
import os
import shutil
import subprocess
import time

from common import copy_of, end_suite, expect, finish, gputune, no_namespaces, scratch, skip, start

N = 3
why = no_namespaces("ip", "mpirun.openmpi")
if why:
    skip("PMIx", why)
    end_suite()
tmp = scratch("ranks-real")
program = copy_of(gputune, tmp)
names = [f"gputune-px{i}" for i in range(N + 1)]  # the last one is the switch


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, timeout=30)


def down():
    for n in names:
        ip("netns", "del", n)


def up():
    down()
    for n in names:
        ip("netns", "add", n)
        ip("-n", n, "link", "set", "lo", "up")
    ip("-n", names[N], "link", "add", "br0", "type", "bridge")
    ip("-n", names[N], "link", "set", "br0", "up")
    for i in range(N):
        ip("-n", names[i], "link", "add", "eth0", "type", "veth", "peer", "name", f"v{i}", "netns", names[N])
        ip("-n", names[i], "addr", "add", f"10.98.8.{i + 1}/24", "dev", "eth0")
        ip("-n", names[i], "link", "set", "eth0", "up")
        ip("-n", names[N], "link", "set", f"v{i}", "master", "br0", "up")


# What Open MPI takes for ssh: HOST COMMAND...
agent = tmp / "agent"
agent.write_text("#!/bin/sh\nn=${1##*.}; shift; exec ip netns exec gputune-px$((n - 1)) unshare --uts sh -c \"hostname m$n; $*\"\n")
agent.chmod(0o755)


def mpirun(ranks, *argv, seconds=60):
    words = ["ip", "netns", "exec", names[0], "unshare", "--uts", "sh", "-c", 'hostname m1; exec "$@"', "sh", shutil.which("mpirun.openmpi"), "--allow-run-as-root",
             "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "10.98.8.0/24", "--oversubscribe", "--map-by", "node",
             "-H", ",".join(f"10.98.8.{i + 1}:{ranks}" for i in range(N)), "-np", str(ranks), *argv]
    began = time.monotonic()
    ran = finish(start(*words, env={"HOME": "/nonexistent", "TMPDIR": str(tmp)}), seconds)
    print(f"{ranks} ranks: {time.monotonic() - began:.1f} s")
    return ran


def document(text):
    return json.loads(text[text.index("{"):text.rindex("}") + 1]) if "{" in text else {}


up()
try:
    check = [program, "check", "--only", "net", "--format", "json", "--compact"]
    for ranks in (3, 12):
        ran = mpirun(ranks, *check)
        j = document(ran.out)
        expect(f"{ranks} ranks on {N} machines", j and j["summary"]["results"] == N and j["summary"]["unreadable"] == 0, ran)
    ran = mpirun(3, "sh", "-c", '[ "$OMPI_COMM_WORLD_RANK" != 2 ] || exec sleep 8; exec "$@"', "sh", *check, "--ranks-wait", "4s")
    j = document(ran.out)
    expect("a silent rank is named, the others are there", j and j["summary"]["results"] == 2 and "rank 2" in j["unreadable"][0]["file"], ran)
finally:
    down()
end_suite()
