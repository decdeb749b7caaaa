# SPDX-License-Identifier: Apache-2.0
"""The playbook that applies, keeps, reboots and verifies, against the machine over SSH."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading

import lab
from vm import DIR

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Play:
    def __init__(self, b, profile):
        self.b = b
        self.work = DIR / "ansible"
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "collections").mkdir(parents=True)
        self.env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(self.work / "collections"), "LC_ALL": "C.UTF-8",
                    "ANSIBLE_LOCAL_TEMP": str(self.work / "tmp"), "ANSIBLE_HOME": str(self.work / "home"),
                    "ANSIBLE_HOST_KEY_CHECKING": "0", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_TIMEOUT": "60"}
        self.inventory = self.work / "inventory"
        self.inventory.write_text(
            f"lab ansible_host=127.0.0.1 ansible_port={b.port} ansible_user=root ansible_ssh_private_key_file={DIR}/ssh-key "
            "ansible_python_interpreter=/usr/bin/python3 "
            "ansible_ssh_common_args='-o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no'\n", encoding="utf-8")
        self.wish = {"gputune_profile": profile, "gputune_allow": ["boot"], "gputune_update_grub": True, "gputune_become": False,
                     "gputune_binaries": {"x86_64": lab.PROGRAM}, "reboot_timeout": 600}

    def install(self):
        subprocess.run(["ansible-galaxy", "collection", "build", ROOT / "ansible", "--output-path", self.work], check=True,
                       env=self.env, capture_output=True, timeout=300)
        subprocess.run(["ansible-galaxy", "collection", "install", "--offline", next(self.work.glob("*.tar.gz")), "-p",
                        self.work / "collections"], check=True, env=self.env, capture_output=True, timeout=300)

    def book(self, reboots=False, **more):
        """(exit code, output, changed, failed). Where it reboots the machine, that is started again meanwhile."""
        argv = ["ansible-playbook", "-i", self.inventory, "gputune.gputune.optimize", "-e", json.dumps({**self.wish, **more})]
        done = []
        runner = threading.Thread(target=lambda: done.append(
            subprocess.run(argv, capture_output=True, text=True, env=self.env, check=False, timeout=1800)))
        runner.start()
        while reboots and runner.is_alive():
            if self.b.v.process.poll() is not None:
                self.b.ended()
                self.b.start()
                reboots = False
            runner.join(0.5)
        runner.join()
        out = done[0].stdout + done[0].stderr
        m = re.search(r"^lab\s.*changed=(\d+).*failed=(\d+)", out, re.M)
        return done[0].returncode, out, int(m[1]) if m else None, int(m[2]) if m else None


def playbook(r, b, profile, look):
    """look(name): what other programs find after the reboot."""
    if not shutil.which("ansible-playbook"):
        r.note("ansible-playbook is not installed: the playbook was not run")
        return
    play = Play(b, profile)
    play.install()
    was = b.id
    code, out, changed, failed = play.book(reboots=True, optimization_action="apply", do_reboot=True)
    if not r.check("playbook: apply, keep, reboot, verify", code == 0 and failed == 0 and changed >= 3 and b.id != was,
                   f"{code}: {out[-3000:]}"):
        return
    look("playbook")
    code, out, changed, failed = play.book(optimization_action="verify", do_reboot=True)
    r.check("playbook: verify", code == 0 and failed == 0 and changed == 0, f"{code}: {out[-3000:]}")
    code, out, changed, failed = play.book(optimization_action="undo")
    r.check("playbook: undo", code == 0 and failed == 0 and changed >= 2, f"{code}: {out[-3000:]}")
    code, out = lab.gputune(b.v, "status")
    r.check("playbook: nothing is held", code == 0 and "no change" in out, f"{code}: {out[-800:]}")
    code, out = b.v.run("grep -c isolcpus /boot/grub/grub.cfg")
    r.check("playbook: the boot menu is without our arguments", code == 1, out)
    shutil.rmtree(play.work)
