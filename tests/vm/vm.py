# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with two NUMA nodes, NVMe and virtio disks and network cards behind PCIe switches.

Emulated in software, never through /dev/kvm: a host may offer that device without the processor's help behind it.
Commands reach the guest over a serial port and come back with exit code and output."""
import base64
import os
import pathlib
import signal
import socket
import subprocess
import time

DIR = pathlib.Path(os.environ.get("GPUTUNE_VM_DIR", "build-vm")).resolve()
SLOW = float(os.environ.get("GPUTUNE_VM_SLOW", "1"))  # factor on every time limit


class Gone(Exception):
    """The machine ended, or did not answer in time."""


def data_drive(name, iops=0):
    limit = f",throttling.iops-total={iops}" if iops else ""
    return f"if=none,id={name}b,file={DIR}/data.img,format=raw,snapshot=on,file.locking=off{limit}"


def topology(hotplug, cores, ssh_port=None, iops=0, gib=1):
    """Two sockets with so many cores each. Host bridges a and b on node 0, c on node 1; switches below a and c. With hotplug the NVMe
    disks come later, since a machine with one cannot be stored while it runs. ssh_port of this machine's loopback leads to the last card.
    iops: the disk nv0 does so many requests a second at most."""
    chassis = [0]
    args = []
    for node in (0, 1):
        args += ["-object", f"memory-backend-ram,id=m{node},size={gib}G",
                 "-numa", f"node,nodeid={node},cpus={node * cores}-{node * cores + cores - 1},memdev=m{node}"]
    args += ["-numa", "dist,src=0,dst=1,val=21"]

    def device(text):
        args.extend(["-device", text])

    def port(name, bus, addr):
        chassis[0] += 1
        device(f"pcie-root-port,id={name},bus={bus},chassis={chassis[0]},slot={chassis[0]},addr={addr}")

    def switch(name, bus, count):
        device(f"x3130-upstream,id={name},bus={bus}")
        for k in range(count):
            chassis[0] += 1
            device(f"xio3130-downstream,id={name}d{k},bus={name},chassis={chassis[0]},slot={chassis[0]},addr={k}.0")

    def card(name, bus, model="e1000e", forward=""):
        args.extend(["-netdev", f"user,id={name},restrict=on,ipv6=off{forward}"])
        device(f"{model},netdev={name},bus={bus}")

    def nvme(name, bus):
        if not hotplug:
            args.extend(["-drive", data_drive(name, iops if name == "nv0" else 0)])
            device(f"nvme,drive={name}b,serial={name},bus={bus},id={name}")

    for name, bus_nr, node in (("pxa", 0x20, 0), ("pxb", 0x60, 0), ("pxc", 0xa0, 1)):
        device(f"pxb-pcie,id={name},bus_nr={bus_nr},numa_node={node},bus=pcie.0")
    port("rpa0", "pxa", "0")
    switch("s1", "rpa0", 3)
    card("n0", "s1d0")
    nvme("nv0", "s1d1")
    switch("s2", "s1d2", 2)
    card("n1", "s2d0")
    port("rpa1", "pxa", "1")
    card("n2", "rpa1")
    port("rpb0", "pxb", "0")
    card("n3", "rpb0")
    port("rpc0", "pxc", "0")
    switch("s3", "rpc0", 2)
    card("n4", "s3d0")
    nvme("nv1", "s3d1")
    card("n5", "pcie.0", "virtio-net-pci", f",hostfwd=tcp:127.0.0.1:{ssh_port}-10.0.2.15:22" if ssh_port else "")
    return args


class VM:
    """One running machine. disk: a raw or qcow2 file; log: where every write goes as well; snapshot: stored state
    to go on from; keep: writes stay on the disk; loader: what is on the disk starts the kernel, as on any machine; extra: more arguments;
    icount: an instruction takes 2^icount ns of the guest's time, whatever it takes here."""

    def __init__(self, disk, log=None, loadvm=None, keep=True, hotplug=False, share=None, append="", cores=1,
                 name="vm", loader=False, ssh_port=None, iops=0, extra=(), gib=1, icount=None):
        self.paths = {k: DIR / f"{name}.{k}" for k in ("sock", "mon", "serial", "err")}
        for k in ("sock", "mon"):
            self.paths[k].unlink(missing_ok=True)
        self.folder = share = share or DIR / "share"
        share.mkdir(exist_ok=True)
        fmt = "qcow2" if str(disk).endswith("qcow2") else "raw"
        # Its clock counts instructions, and jumps where nothing runs: what else this machine does is not measured.
        clock = ["-accel", "tcg,thread=single", "-icount", f"shift={icount},sleep=off"] if icount else ["-accel", "tcg,thread=multi"]
        args = ["qemu-system-x86_64", *clock, "-machine", "q35", "-cpu", "max",
                "-smp", f"{2 * cores},sockets=2,cores={cores}", "-m", f"{2048 * gib}", "-display", "none", "-nodefaults", "-no-reboot",
                "-serial", f"file:{self.paths['serial']}", "-monitor", f"unix:{self.paths['mon']},server,nowait",
                "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=c0,path={self.paths['sock']},server=on,wait=off",
                "-device", "virtserialport,chardev=c0,name=lab.0",
                "-fsdev", f"local,id=f0,path={share},security_model=none",
                "-device", "virtio-9p-pci,fsdev=f0,mount_tag=proj"]
        if not loader:
            args += ["-kernel", f"{DIR}/vmlinux", "-initrd", f"{DIR}/first.cpio.gz",
                     "-append", f"console=ttyS0 panic=-1 quiet {append}".strip()]
        if log:
            args += ["-blockdev", f"driver=blklogwrites,node-name=d0,file.driver=raw,file.file.driver=file,"
                     f"file.file.filename={disk},log.driver=file,log.filename={log},log-sector-size=512"]
        else:
            args += ["-drive", f"if=none,id=d0,file={disk},format={fmt},cache=writeback,"
                     f"snapshot={'off' if keep else 'on'}"]
        args += ["-device", "virtio-blk-pci,drive=d0,bootindex=1"] + topology(hotplug, cores, ssh_port, iops, gib) + list(extra)
        if loadvm:
            args += ["-loadvm", loadvm]
        self.started = time.time()
        self.count = 0
        self.buffer = b""
        with open(self.paths["err"], "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stderr=err)
        self.socket = self._connect(self.paths["sock"])

    def _connect(self, path):
        for _ in range(200):
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(str(path))
                return s
            except OSError:
                s.close()
                time.sleep(0.05)
                if self.process.poll() is not None:
                    break
        raise Gone(self.paths["err"].read_text(encoding="utf-8", errors="replace")[-500:])

    def _line(self, limit):
        end = time.time() + limit * SLOW
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.05, end - time.time()))
            try:
                data = self.socket.recv(1 << 20)
            except (TimeoutError, OSError) as e:
                raise Gone(f"no answer in {limit * SLOW:.0f} s: {e}") from e
            if not data:
                raise Gone(f"ended: {self.process.poll()}")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def ready(self, limit=180):
        """Waits for the first word after a start; seconds since then."""
        line = self._line(limit)
        while not line.startswith("READY"):
            line = self._line(limit)
        return time.time() - self.started

    def send(self, script):
        """Starts a script and does not wait."""
        self.count += 1
        self.socket.sendall(f"{self.count} {base64.b64encode(script.encode()).decode()}\n".encode())

    def answer(self, limit=120):
        while True:
            words = self._line(limit).split(" ")
            if words[0] == str(self.count):
                return int(words[1]), base64.b64decode(words[2]).decode(errors="replace")
            if words[0] == "READY":
                raise Gone("the guest's agent started anew")

    def run(self, script, limit=120):
        """(exit code, output) of a bash script."""
        self.send(script)
        return self.answer(limit)

    def must(self, script, limit=120):
        """Output of a script that has to succeed."""
        code, out = self.run(script, limit)
        if code:
            raise AssertionError(f"{script!r} ended with {code}: {out[-800:]}")
        return out

    def monitor(self, command, limit=60):
        s = self._connect(self.paths["mon"])
        s.settimeout(limit * SLOW)
        out = b""
        for text in (None, command):
            if text is not None:
                s.sendall(text.encode() + b"\n")
                out = b""
            while not out.endswith(b"(qemu) "):
                data = s.recv(65536)
                if not data:
                    break
                out += data
        s.close()
        return out.decode(errors="replace")

    def plug(self):
        """The NVMe disks of a machine that was stored without them."""
        for name, bus in (("nv0", "s1d1"), ("nv1", "s3d1")):
            self.monitor(f"drive_add 0 {data_drive(name)}")
            out = self.monitor(f"device_add nvme,drive={name}b,serial={name},bus={bus},id={name}")
            if "rror" in out:
                raise Gone(out)
        self.must("for i in $(seq 300); do [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ] && break; sleep 0.1; done; "
                  "[ -b /dev/nvme1n1 ] && udevadm settle")

    def share(self):
        """Mounts the folder that host and guest see."""
        self.must("mountpoint -q /mnt/p || mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 proj /mnt/p")

    def kill(self):
        """Ends it as a power cut of the host would: at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.socket.close()

    def off(self, limit=90):
        """Shuts down in order."""
        self.send("systemctl poweroff")
        try:
            self.process.wait(limit * SLOW)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Gone("did not power off") from None
        self.socket.close()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.kill()
