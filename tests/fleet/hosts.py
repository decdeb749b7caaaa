#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hosts that are network namespaces with a sshd each: own links, own net.ipv4 sysctls, own /etc, /var/lib and /run.

What is not a namespace's own cannot be written in them: /proc/sys outside net, and /sys, are mounted read-only.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import time

NET = "10.213.7"


def run(*argv, check=True, **kw):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=kw.pop("timeout", 120), **kw)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stdout}{done.stderr}")
    return done


class Space:
    """A network namespace in which one long-lived program keeps the mounts; enter runs something in it."""

    MOUNTS = r"""
set -e
mount --make-rprivate /
hostname "$NAME"
for d in etc var/lib usr/local/bin; do
	mkdir -p "$ROOT/$d.up" "$ROOT/$d.work"
	mount -t overlay overlay -o "lowerdir=/$d,upperdir=$ROOT/$d.up,workdir=$ROOT/$d.work" "/$d"
done
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd /run/lock
mount -o remount,ro,bind /sys 2>/dev/null || mount -o remount,ro /sys
mkdir "$ROOT/net"
mount --bind /proc/sys /proc/sys
mount --bind /proc/sys/net "$ROOT/net"
mount -o remount,ro,bind /proc/sys
mount --bind "$ROOT/net" /proc/sys/net
echo ready >"$ROOT/ready"
exec "$@"
"""

    def __init__(self, name, root, *program):
        self.name, self.root = name, pathlib.Path(root) / name
        self.root.mkdir(parents=True)
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        self.log = open(self.root / "log", "w")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", name, "unshare", "-m", "-u", "sh", "-c", self.MOUNTS, "sh",
             *(program or ("sleep", "infinity"))],
            stdout=self.log, stderr=self.log, start_new_session=True,
            env={**os.environ, "NAME": name, "ROOT": str(self.root)})
        for _ in range(100):
            if (self.root / "ready").exists():
                return
            time.sleep(0.05)
        raise RuntimeError(f"{name}: {(self.root / 'log').read_text()}")

    def argv(self, *argv):
        return ["nsenter", "-t", str(self.process.pid), "-m", "-u", "-n", "--", *map(str, argv)]

    def enter(self, *argv, **kw):
        return run(*self.argv(*argv), **kw)

    def start(self, *argv, **kw):
        return subprocess.Popen(self.argv(*argv), stdout=self.log, stderr=self.log, start_new_session=True, **kw)

    def sysctl(self, name, value=None):
        if value is not None:
            self.enter("sysctl", "-q", "-w", f"{name}={value}")
        return self.enter("sysctl", "-n", name).stdout.strip()

    def close(self):
        stop(self.process)
        # Sessions and connections that were kept open: whatever is in this namespace is ours.
        for pid in run("ip", "netns", "pids", self.name, check=False).stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        run("ip", "netns", "del", self.name, check=False)


def stop(process):
    """A program and what it started."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sig)
            process.wait(timeout=5)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


class Fleet:
    """A controller and n hosts behind one bridge; hosts are called gth1 to gthN."""

    def __init__(self, root, n):
        self.root = pathlib.Path(root)
        self.spaces = []
        try:
            self.open(n)
        except BaseException:
            self.close()
            raise

    def open(self, n):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.root / "key")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.root / "hostkey")
        shutil.copy(self.root / "key.pub", self.root / "authorized")
        os.chmod(self.root / "authorized", 0o600)
        public = (self.root / "hostkey.pub").read_text().split()
        self.controller = self.add(Space("gtctl", self.root))
        run("ip", "-n", "gtctl", "link", "add", "br0", "type", "bridge")
        run("ip", "-n", "gtctl", "addr", "add", f"{NET}.254/24", "dev", "br0")
        run("ip", "-n", "gtctl", "link", "set", "br0", "up")
        known = []
        self.hosts = []
        for i in range(1, n + 1):
            conf = self.root / f"sshd{i}.conf"
            conf.write_text(f"ListenAddress {NET}.{i}\nHostKey {self.root}/hostkey\nUsePAM no\nStrictModes no\n"
                            f"AuthorizedKeysFile {self.root}/authorized\nPermitRootLogin prohibit-password\n"
                            f"PasswordAuthentication no\nPidFile none\nSubsystem sftp internal-sftp\n")
            host = self.add(Space(f"gth{i}", self.root))
            self.hosts.append(host)
            run("ip", "-n", "gtctl", "link", "add", f"v{i}", "type", "veth", "peer", "name", "e0", "netns", host.name)
            run("ip", "-n", "gtctl", "link", "set", f"v{i}", "master", "br0", "up")
            run("ip", "-n", host.name, "addr", "add", f"{NET}.{i}/24", "dev", "e0")
            run("ip", "-n", host.name, "link", "set", "e0", "up")
            host.sshd = host.start("/usr/sbin/sshd", "-D", "-e", "-f", conf)
            known.append(f"{NET}.{i} {public[0]} {public[1]}")
        (self.root / "known").write_text("\n".join(known) + "\n")

    def add(self, space):
        self.spaces.append(space)
        return space

    def inventory(self, extra=None):
        lines = ["[all]"]
        for i, host in enumerate(self.hosts, 1):
            lines.append(f"{host.name} ansible_host={NET}.{i} " + (extra or {}).get(host.name, ""))
        lines += ["[all:vars]", "ansible_user=root", "ansible_python_interpreter=/usr/bin/python3",
                  f"ansible_ssh_private_key_file={self.root}/key", "ansible_remote_tmp=/run/ansible",
                  f"ansible_ssh_common_args=-o UserKnownHostsFile={self.root}/known -o ControlMaster=auto "
                  f"-o ControlPersist=15s -o ControlPath={self.root}/%h.mux"]
        path = self.root / "inventory"
        path.write_text("\n".join(lines) + "\n")
        return path

    def close(self):
        for space in reversed(self.spaces):
            if getattr(space, "sshd", None):
                stop(space.sshd)
            space.close()
