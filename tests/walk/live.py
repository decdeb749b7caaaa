#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random walks as those of walk.c, but on the kernel that runs: live.py GPUTUNE [--walks N] [--seed N].

As root on a machine that may be changed: its sysctls and sysfs files are written, and put back at the end. /etc, the state folder and
/usr/local are mounts of this process's own. A boot is what is left of it without one: another boot id, the values that the machine had,
and systemd-sysctl, systemd-tmpfiles and the boot unit's command on the files that lie in /etc. A killed run ends within its first 60 ms.
A walk that fails is printed. Last line: "N passed, N failed"."""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import uuid

GPUTUNE = "/usr/local/bin/gputune"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SETUP = """
export W=$(mktemp -d); mount -t tmpfs tmpfs $W; mkdir $W/u $W/w $W/u2 $W/w2
mount -t overlay overlay -o lowerdir=/etc,upperdir=$W/u,workdir=$W/w /etc
mount -t overlay overlay -o lowerdir=/usr/local,upperdir=$W/u2,workdir=$W/w2 /usr/local
mkdir -p /usr/local/bin; cp -L "$1" /usr/local/bin/gputune; chown root:root /usr/local/bin/gputune; chmod 755 /usr/local/bin/gputune
mount -t tmpfs -o mode=755 none /var/lib; mkdir -m 700 /var/lib/gputune; cp /proc/sys/kernel/random/boot_id $W/boot_id
mount --bind $W/boot_id /proc/sys/kernel/random/boot_id
shift; exec "$@"
"""
PLAIN = ["apply published", "apply default", "undo", "undo all", "install", "remove", "install published", "undo 1", "undo 2", "undo 3"]
SOME = ["apply published", "apply default", "undo", "install only", "remove"]
GROUPS = ["memory", "net", "scheduler"]
# What a rival sets: values that no profile asks for.
RIVALS = {"/proc/sys/vm/vfs_cache_pressure": ["150", "170"], "/proc/sys/net/core/netdev_max_backlog": ["7000", "300"],
          "/proc/sys/net/ipv4/tcp_fastopen": ["0", "2"], "/sys/kernel/mm/transparent_hugepage/defrag": ["never", "defer"]}


def read(path):
    text = pathlib.Path(path).read_text().strip()
    return text[text.index("[") + 1:text.index("]")] if "[" in text else text


def write(path, value):
    pathlib.Path(path).write_text(value)


def gputune(*argv, kill_after=None):
    """Its exit code; None: killed."""
    p = subprocess.Popen([GPUTUNE, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         start_new_session=True)
    try:
        said = p.communicate(timeout=kill_after)[1]
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.communicate()
        return None
    if p.returncode < 0:
        raise Wrong(f"{' '.join(argv)}: signal {-p.returncode}: {said.decode()[-300:]}")
    return p.returncode


class Wrong(Exception):
    pass


class Machine:
    def __init__(self):
        self.places = set(RIVALS)
        for profile in "published", "default":
            plan = subprocess.run([GPUTUNE, "plan", "--profile", profile, "--format", "json"], capture_output=True, text=True)
            for c in json.loads(plan.stdout)["changes"]:
                knob = c["knob"]
                if knob["kind"] in ("sysctl", "sysfs"):
                    self.places.add("/proc/sys/" + knob["name"].replace(".", "/") if knob["kind"] == "sysctl" else knob["name"])
        self.at_boot = {p: read(p) for p in sorted(self.places)}
        self.upper = pathlib.Path(os.environ["W"], "u")
        self.expected, self.theirs, self.installed = dict(self.at_boot), {}, False

    def begin(self):
        self.put_back()
        shutil.rmtree("/var/lib/gputune")
        os.mkdir("/var/lib/gputune", 0o700)
        self.expected, self.theirs, self.installed = dict(self.at_boot), {}, False

    def put_back(self):
        for p, value in self.at_boot.items():
            if read(p) != value:
                write(p, value)

    def boot(self):
        write(pathlib.Path(os.environ["W"], "boot_id"), f"{uuid.uuid4()}\n")
        self.put_back()
        self.expected = dict(self.at_boot)
        for conf in pathlib.Path("/etc/sysctl.d").glob("*gputune*"):
            subprocess.run(["/lib/systemd/systemd-sysctl", conf], capture_output=True)
        for conf in pathlib.Path("/etc/tmpfiles.d").glob("*gputune*"):
            subprocess.run(["systemd-tmpfiles", "--create", "--boot", conf], capture_output=True)
        if os.path.lexists("/etc/systemd/system/multi-user.target.wants/gputune-boot.service"):
            gputune("apply", "--boot", "--yes")

    def rival(self, path, value):
        write(path, value)
        self.expected[path] = value
        self.theirs.setdefault(path, set()).add(value)

    def differs(self):
        """What is neither as it would be without gputune nor what somebody had set when files for the next boot were made."""
        for p, value in self.expected.items():
            now = read(p)
            if now != value and not (self.installed and now in self.theirs.get(p, ())):
                return f"{p} is {now} and not {value}"
        return None

    def files(self):
        return [str(p.relative_to(self.upper)) for p in self.upper.rglob("*") if not p.is_dir() or p.name == "gputune"]


def move_of(r):
    dice = r.randrange(20)
    if dice < 3:
        return "reboot"
    if dice < 6:
        return f"rival {r.randrange(len(RIVALS))} {r.randrange(2)}"
    move = r.choice(PLAIN) if dice < 14 else f"{r.choice(SOME)} {r.choice(GROUPS)}"
    return move + (f" @{r.randrange(1, 60)}" if r.randrange(4) == 0 else "")


def words_of(move):
    verb, *w = move.split()
    if verb == "apply":
        return ["apply", "--yes", "--profile", w[0], *(["--only", w[1]] if w[1:] else ["--skip", "service"])]
    if verb == "install":
        rest = ["--only", w[1]] if w[:1] == ["only"] else ["--profile", w[0], "--skip", "service"] if w else []
        return ["persist", "install", "--yes", *rest]
    if verb == "remove":
        return ["persist", "remove", "--yes", *(["--only", w[0]] if w else [])]
    rest = ["--all"] if w == ["all"] else w if not w or w[0].isdigit() else ["--only", w[0]]
    return ["undo", "--yes", *rest]


def make(m, move):
    if move == "reboot":
        m.boot()
        return
    if move.startswith("rival"):
        _, which, value = move.split()
        path = list(RIVALS)[int(which)]
        m.rival(path, RIVALS[path][int(value)])
        return
    move, _, after = move.partition(" @")
    m.installed = m.installed or move.startswith("install")
    code = gputune(*words_of(move), kill_after=int(after) / 1000 if after else None)
    if code == 4 and not after:
        raise Wrong(f"\"{move}\" ends with 4")


def walk(m, moves, remove_first):
    m.begin()
    for move in moves:
        make(m, move)
        why = m.differs()
        if why and gputune("status", "--exit-code") == 0:
            raise Wrong(f"status says that nothing is held, and {why}")
    last = [["persist", "remove", "--yes"], ["undo", "--yes", "--all"]]
    for argv in last if remove_first else reversed(last):
        code = gputune(*argv)
        if code:
            raise Wrong(f"{' '.join(argv)} ends with {code}")
    why = m.differs()
    if why:
        raise Wrong(why)
    if m.files():
        raise Wrong(f"/etc has {', '.join(m.files())}")
    if gputune("status", "--exit-code"):
        raise Wrong("all is as before, but status says that values are held")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("gputune")
    p.add_argument("--walks", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--play", help="moves, with ; between them")
    args = p.parse_args()
    if os.geteuid():
        print("skip: not root")
        return 0
    if "LIVE_WALK" not in os.environ:
        os.execvpe("unshare", ["unshare", "-m", "--propagation", "private", "sh", "-ec", SETUP, "sh", args.gputune, sys.executable,
                               *sys.argv], os.environ | {"LIVE_WALK": "1"})
    m, failed, begun = Machine(), 0, time.monotonic()
    seeds = [args.seed] if args.play else range(args.seed, args.seed + args.walks)
    try:
        for seed in seeds:
            r = random.Random(seed)
            moves = args.play.split("; ") if args.play else [move_of(r) for _ in range(r.randrange(1, 10))]
            try:
                walk(m, moves, r.randrange(2))
            except Wrong as e:
                failed += 1
                print(f"FAIL seed {seed}: {e}\n     {'; '.join(moves)}", flush=True)
    finally:
        m.put_back()
    print(f"{time.monotonic() - begun:.0f} seconds")
    print(f"{len(seeds) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
