# SPDX-License-Identifier: Apache-2.0
"""The step igx: the nine steps of the guide for an IGX Orin. Started from an extlinux.conf; apply, keep, reboot, verify, remove,
undo, reboot; what was there before is there again."""
import json
import pathlib
import re
import shutil
import subprocess

import lab
import witness
from steps_change import name_of, plan_of
from steps_persist import SITE
from vm import DIR, VM

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(lab.PROGRAM).resolve().parent
CONF = "/boot/extlinux/extlinux.conf"
EXTLINUX = """TIMEOUT 30
DEFAULT primary

MENU TITLE IGX boot options

LABEL primary
      MENU LABEL primary kernel
      LINUX /boot/Image
      INITRD /boot/initrd
      APPEND ${cbootargs} root=/dev/vda1 ro lab.igx=1

# LABEL backup
#    LINUX /boot/Image.backup
"""
PROFILE = """[profile]
base = published
[boot.isolcpus]
want = 3
[boot.nohz-full]
want = 3
[boot.rcu-nocbs]
want = 3
[boot.irqaffinity]
want = 0-2
[memory.hugepages-1g]
want = 1
[cpu.power-mode]
want = max
[cpu.jetson-clocks]
want = 1
"""
OPTIONS = f"--profile {SITE} --allow boot,gpu"
# Of each step of the guide the settings that write.
STEPS = {"3 read requests": ["nic.mrrs"], "4 huge pages": ["memory.hugepages-1g"],
         "5 isolated CPUs": ["boot.isolcpus", "boot.irqaffinity", "boot.nohz-full", "boot.rcu-nocbs", "boot.rcu-nocb-poll"],
         "6 governor": ["cpu.governor"], "7 clocks of the GPU": ["gpu.sm-clock-lock"], "9 MTU": ["nic.mtu"],
         "nvidia-peermem": ["rdma.peermem"], "power mode": ["cpu.power-mode"], "all clocks": ["cpu.jetson-clocks"]}
NVPMODEL = """< POWER_MODEL ID=0 NAME=MAXN >
< POWER_MODEL ID=1 NAME=MODE_15W >
< POWER_MODEL ID=2 NAME=MODE_30W >
< POWER_MODEL ID=3 NAME=MODE_50W >
< PM_CONFIG DEFAULT=2 >
"""
FIRST = "root=/dev/vda1 ro lab.igx=1"
PREPARE = """
rm -rf /boot/grub /etc/default/grub /etc/default/grub.d
install -D -m 644 /mnt/p/extlinux.conf /boot/extlinux/extlinux.conf
install -m 600 /mnt/p/site.ini /root/site.ini
install -m 755 /mnt/p/nvpmodel /usr/sbin/nvpmodel && install -m 755 /mnt/p/jetson_clocks /usr/bin/jetson_clocks
install -m 644 /mnt/p/nvpmodel.conf /etc/nvpmodel.conf
install -m 644 /mnt/p/libnvidia-ml.so.1 /usr/lib/x86_64-linux-gnu/ && ldconfig
install -D -m 644 /mnt/p/nvml.json /usr/local/share/lab-nvml.json
mkdir -p /etc/systemd/system.conf.d
printf '[Manager]\\nDefaultEnvironment=GPUTUNE_STUB=/usr/local/share/lab-nvml.json\\n' > /etc/systemd/system.conf.d/lab.conf
echo mlx5_core > /etc/modules-load.d/lab-nic.conf
# By this a driver is known to be loaded, without which the library is not asked.
echo 'c /dev/nvidiactl 0666 root root - 195:255' > /etc/tmpfiles.d/lab-gpu.conf
umount /mnt/p; sync
"""


class Machine:
    """Its loader is this: the kernel gets what the label that is started says."""

    def __init__(self, r):
        self.r, self.count, self.id = r, 0, ""
        self.disk = DIR / "igx.qcow2"
        self.disk.unlink(missing_ok=True)
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", DIR / "full.img", self.disk], check=True)
        self.start(FIRST)

    def start(self, append):
        self.count += 1
        self.v = VM(self.disk, cores=2, name="igx", append=append, gib=4, share=DIR / "share-igx",
                    extra=["-smbios", "type=1,manufacturer=NVIDIA,product=NVIDIA IGX Orin Development Kit"])
        seconds = self.v.ready(300)
        self.v.must("systemctl is-system-running --wait >/dev/null; udevadm settle; "
                    "for i in $(seq 100); do ip -br link show up | grep -q 52:54:00:12:34:56 && break; sleep 0.1; done", 300)
        was, self.id = self.id, self.v.must("cat /proc/sys/kernel/random/boot_id")
        self.r.note(f"start {self.count}: {seconds:.0f} s to the first answer")
        return was

    def again(self, name):
        """A reboot, with what the file says now. As NVIDIA's launcher reads it: the last line of a kind in the label counts."""
        text = self.v.must(f"cat {CONF}")
        label = re.search(r"^DEFAULT (\S+)$", text, re.M)[1]
        entry = re.search(rf"^LABEL {label}$(.*?)(?=^LABEL |\Z)", text, re.M | re.S)[1]
        lines = dict(line.strip().split(None, 1) for line in entry.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        self.r.check(f"{name}: the label has its kernel and initial disk", lines["LINUX"] == "/boot/Image" and lines["INITRD"] == "/boot/initrd", text)
        self.v.send("systemctl reboot")
        code = self.v.process.wait(540)
        self.v.socket.close()
        was = self.start(" ".join(w for w in lines["APPEND"].split() if not w.startswith("${")))
        self.r.check(f"{name}: another boot", code == 0 and was != self.id, code)


def prepare(b):
    """What an IGX has, as far as it stands in here; no GRUB."""
    share = b.v.folder
    lab.install(b.v)
    for name in ("nvpmodel", "jetson_clocks"):
        shutil.copy(HERE / "standin" / name, share / name)
    shutil.copy(BUILD / "tests/stub/current/libnvidia-ml.so.1", share / "libnvidia-ml.so.1")
    gpu = b.v.must("lspci -D -d 10de:").split()[0]
    nvml = json.loads((BUILD / "machines/igx-orin/api/nvml.json").read_text())
    nvml = json.loads(json.dumps(nvml).replace("00000005:09:00.0", f"0000{gpu}"))
    nvml["stub"] = {"state": "/dev/shm/lab-nvml"}
    for name, text in (("nvml.json", json.dumps(nvml)), ("extlinux.conf", EXTLINUX), ("site.ini", PROFILE), ("nvpmodel.conf", NVPMODEL)):
        (share / name).write_text(text, encoding="utf-8")
    b.v.share()
    b.v.must(PREPARE)


def seen(v):
    """What other programs say of all that the steps change."""
    return v.must(f"sha256sum {CONF}; stat -c '%a %U %G' {CONF} /boot/extlinux; ls -A /boot/extlinux; nvpmodel -q; jetson_clocks --show | sed 's/CurrentFreq=[0-9]*//'; cat /sys/class/net/en*/mtu; "
                  "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; cat /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages; "
                  "lspci -D -vv -d 15b3: | grep -o 'MaxReadReq [0-9]*'; ls /sys/module | grep -x nvidia_peermem; "
                  "find /etc -newer /etc/nvpmodel.conf -type f | grep gputune; true")


def after_boot(r, v, changes, name):
    code, out = v.run("systemctl is-active gputune-boot.service")
    r.check(f"{name}: the unit has run", out.strip() == "active", out + v.run("journalctl -u gputune-boot.service -o cat --no-pager | tail -n 20")[1])
    code, out = lab.gputune(v, "verify --boot")
    # Locks of clocks have no getter.
    r.check(f"{name}: verify --boot", code == 5 and "0 not in effect, 2 unknown" in out, f"{code}: {out[-2500:]}")
    words = v.must("cat /proc/cmdline").split()
    faults = []
    for c in changes:
        kind, after = c["knob"]["kind"], c["after"]
        if kind == "boot-argument":
            if (f"{c['knob']['name']}={after}" if after else c["knob"]["name"]) not in words:
                faults.append(f"{name_of(c)}: not among {words}")
            continue
        found = witness.found(v, c["knob"])
        if found is not None and not witness.same(c["knob"], found, after):
            faults.append(f"{name_of(c)}: wanted {after}, {found}")
    out = seen(v)
    for wanted in ("NV Power Mode: MAXN", "FreqOverride=1", "nvidia_peermem"):
        if wanted not in out:
            faults.append(f"{wanted}: {out}")
    r.check(f"{name}: other programs find the values", not faults, "\n".join(faults))
    r.check(f"{name}: the kernel isolates", v.must("cat /sys/devices/system/cpu/isolated").strip() == "3")


def igx(r):
    b = Machine(r)
    try:
        prepare(b)
        b.again("with extlinux.conf")
        start = seen(b.v)
        code, out = lab.gputune(b.v, "show --format json 2>/dev/null")
        platform = (lab.as_json(out) or {}).get("facts", {}).get("platform", {})
        r.check("an IGX Orin, by its firmware", platform.get("kind", {}).get("value") == "igx-orin", platform)
        code, out = lab.gputune(b.v, "check --all --format json 2>/dev/null")
        rows = {f["id"]: f for f in (lab.as_json(out) or {}).get("findings", [])}
        for step, ids in (("1 topology", ["pcie.gpu-nic-path"]), ("2 payload and speed", ["nic.mps", "pcie.link"]), ("8 BAR1", ["gpu.bar1-size"])):
            r.note(f"step {step}: " + ", ".join(f"{i} {rows[i]['verdict']}" for i in ids if i in rows))
        code, out = lab.gputune(b.v, "show topology")
        r.check("step 1: topology is read", code == 0 and re.search(r"PIX|PXB|PHB|NODE|SYS", out), out[-800:])
        r.check("steps 2 and 8: read", {"nic.mps", "gpu.bar1-size"} <= set(rows), sorted(rows))
        changes, refused, _ = plan_of(b.v, OPTIONS)
        ids = {c["id"] for c in changes}
        for step, want in STEPS.items():
            r.check(f"plan has step {step}", set(want) & ids == set(want), [sorted(set(want) - ids), refused])
        r.check("no step is refused for the boot loader", not [x for x in refused if "boot." in str(x)], refused)
        code, out = lab.gputune(b.v, f"apply {OPTIONS} --yes", 300)
        r.check(f"apply: {len(changes)} changes", code == 0, f"{code}: {out[-2500:]}")
        code, out = lab.gputune(b.v, "persist install --yes")
        r.check("persist install", code == 0 and "overwritten" not in out, f"{code}: {out[-2000:]}")
        b.again("kept")
        after_boot(r, b.v, changes, "after a reboot")
        b.v.must("printf '[cpu.power-mode]\\nwant = 3\\n' > /root/three.ini")
        code, out = lab.gputune(b.v, "apply --profile /root/three.ini --only cpu.power-mode --yes")
        r.check("a mode that takes a reboot is refused, with the command", code != 0 and "nvpmodel -m 3" in out and
                "MAXN" in b.v.must("nvpmodel -q") and not b.v.run("pgrep -x nvpmodel")[1], f"{code}: {out[-800:]}")
        code, out = lab.gputune(b.v, "persist remove --yes")
        r.check("persist remove", code == 0, f"{code}: {out[-2000:]}")
        code, out = lab.gputune(b.v, "undo --all --yes")
        r.check("undo --all", code == 0, f"{code}: {out[-2500:]}")
        now = seen(b.v)
        r.check("extlinux.conf to the byte, power mode, clocks, module, MTU, read requests, huge pages as at the start", now == start, f"{start}\n--\n{now}")
        b.again("taken back")
        r.check("after the last reboot", seen(b.v) == start and b.v.must("cat /proc/cmdline").split()[-3:] == FIRST.split(), b.v.must("cat /proc/cmdline"))
    finally:
        b.v.kill()
    b.disk.unlink(missing_ok=True)
