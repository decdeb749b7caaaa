#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm (controller, a node a namespace, munge) of Debian's packages, over namespaces that reach each other."""
import os
import pathlib
import shutil
import signal
import subprocess

from common import until

CONF = """ClusterName=lab
SlurmctldHost=n0({first})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.%n.log
SlurmdParameters=config_overrides
TmpFS={dir}/spool/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=1
SlurmdTimeout=300
MessageTimeout=60
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """The first program that is not here; None: all are."""
    return next((p for p in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(p, path="/usr/sbin:/usr/bin")), None)


class Lab:
    """spaces: names of network namespaces, by node; addresses: theirs. The controller runs beside node 0."""

    def __init__(self, folder, spaces, addresses):
        self.dir, self.spaces, self.addresses, self.daemons = pathlib.Path(folder), spaces, addresses, []
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "SLURM_CONF": str(self.dir / "slurm.conf")}

    def __enter__(self):
        for i in range(len(self.spaces)):
            (self.dir / f"spool/n{i}").mkdir(parents=True)
        (self.dir / "state").mkdir()
        nodes = "\n".join(f"NodeName=n{i} NodeHostname=n{i} NodeAddr={a} Port=26821 CPUs=1 State=UNKNOWN" for i, a in enumerate(self.addresses))
        (self.dir / "slurm.conf").write_text(CONF.format(dir=self.dir, first=self.addresses[0], nodes=nodes))
        # It wants to know which kind of control groups there are, and uses none.
        (self.dir / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={self.dir}/none\n")
        (self.dir / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} n{i}\n" for i, a in enumerate(self.addresses)))
        (self.dir / "key").write_bytes(os.urandom(128))
        (self.dir / "key").chmod(0o600)
        try:
            self.start(0, "munged", "/usr/sbin/munged", "-F", "--force", f"--key-file={self.dir}/key", f"--socket={self.dir}/munge.socket",
                       f"--pid-file={self.dir}/munge.pid", f"--log-file={self.dir}/munge.log", f"--seed-file={self.dir}/munge.seed")
            until((self.dir / "munge.socket").exists)
            self.start(0, "slurmctld", "/usr/sbin/slurmctld", "-D", "-c")
            for i in range(len(self.spaces)):
                self.start(i, f"slurmd{i}", "/usr/sbin/slurmd", "-D", "-N", f"n{i}")
            self.ready = until(lambda: self.run(0, "sinfo", "-h", "-t", "idle", "-o", "%D").stdout.split() == [str(len(self.spaces))], 120, 0.5)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for sign, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            for p in self.daemons:
                if p.poll() is None:
                    os.killpg(p.pid, sign)
            until(lambda: all(p.poll() is not None for p in self.daemons), seconds)

    def words(self, node, *argv):
        """On that node, by its name and with everybody's in /etc/hosts."""
        return ["ip", "netns", "exec", self.spaces[node], "unshare", "-um", "sh", "-c",
                f"hostname n{node} && mount --bind {self.dir}/hosts /etc/hosts && exec \"$@\"", "sh", *argv]

    def start(self, node, name, *argv):
        with (self.dir / f"{name}.out").open("wb") as out:
            self.daemons.append(subprocess.Popen(self.words(node, *argv), stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.env,
                                                 start_new_session=True))

    def run(self, node, *argv, seconds=300, **env):
        return subprocess.run(self.words(node, *argv), capture_output=True, text=True, timeout=seconds, env={**self.env, **env})
