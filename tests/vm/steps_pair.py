# SPDX-License-Identifier: Apache-2.0
"""The step pair: two machines joined by two cables, with RDMA in software on both. cluster discover, plan (netplan and NetworkManager,
systemd's timer as the dead man), check with RDMA, planted faults, undo to the byte."""
import re
import shutil

import lab
from vm import DIR, VM

# Cables c0 and c1, and the network that ssh takes: port and the last digit of the cards' addresses.
CABLES = (("c0", 40), ("c1", 41), ("m0", 42))
SECRET = "/root/.ssh/id_ed25519"


def cards(side, base):
    """The ends of the cables at one machine: a's listens, b's connects."""
    args = []
    for k, (name, digit) in enumerate(CABLES):
        way = "listen" if side == "a" else "connect"
        args += ["-netdev", f"socket,id={name},{way}=127.0.0.1:{base + k}",
                 "-device", f"virtio-net-pci,netdev={name},mac=52:54:00:77:{'0a' if side == 'a' else '0b'}:{digit},bus=pcie.0"]
    return args


# Names by the cards' addresses, so that both machines call a cable the same; the first cable is netplan's, the second NetworkManager's.
NAMES = r"""
set -e
hostnamectl set-hostname {name}; echo {id} >/etc/machine-id
modprobe rdma_rxe
for i in $(seq 200); do rdma link show | grep -q rxe0 && break; sleep 0.2; done
rdma link delete rxe0 # of the step persist
for c in c0:40 c1:41 m0:42; do
  old=$(basename $(dirname $(grep -l ":77:{mac}:${{c#*:}}" /sys/class/net/*/address)))
  ip link set $old down; ip link set $old name ${{c%:*}}; ip link set ${{c%:*}} up
done
ip addr add 10.50.0.{number}/24 dev m0
for i in /sys/class/net/en*; do ip link set ${{i##*/}} down; done
printf '10.50.0.1 alpha\n10.50.0.2 beta\n' >>/etc/hosts
cat >/etc/netplan/02-cable.yaml <<'N'
network:
  version: 2
  ethernets:
    c0:
      optional: true
      dhcp4: false
N
chmod 600 /etc/netplan/*.yaml
netplan generate; networkctl reload; networkctl reconfigure c0
cat >/etc/NetworkManager/conf.d/lab.conf <<'N'
[keyfile]
unmanaged-devices=*,except:interface-name:c1
[main]
no-auto-default=*
N
systemctl start NetworkManager
nmcli -w 60 connection add type ethernet ifname c1 con-name mine ipv4.method disabled ipv6.method link-local >/dev/null
nmcli -w 60 connection up mine >/dev/null
for n in 0 1; do rdma link add cable$n type rxe netdev c$n; done
for i in $(seq 100); do [ $(rdma link show | grep -c 'state ACTIVE') = 2 ] && break; sleep 0.2; done
rdma link show
"""
# All that a plan may change.
STATE = r"""
cd /etc && find . -type f -o -type l | sort | xargs -d '\n' sha256sum 2>/dev/null | grep -v -e mtab -e resolv.conf
find /etc | sort | xargs -d '\n' stat -c '%n %a %F'
for c in c0 c1; do ip -4 -o addr show $c | sed 's/ valid_lft.*//'; cat /sys/class/net/$c/mtu; done
ls -R /run/netplan /run/NetworkManager/system-connections /run/systemd/network 2>/dev/null || true
"""
NODES = "--nodes localhost,beta"


class Pair:
    def __init__(self, r):
        self.r = r
        self.base = 21000
        common = {"keep": False, "cores": 1}
        self.a = VM(DIR / "full.img", name="pair-a", share=DIR / "share-a", extra=cards("a", self.base), **common)
        try:
            self.b = VM(DIR / "full.img", name="pair-b", share=DIR / "share-b", extra=cards("b", self.base), **common)
        except BaseException:
            self.a.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.a.kill()
        self.b.kill()

    def start(self):
        for v, name, mac, number in ((self.a, "alpha", "0a", 1), (self.b, "beta", "0b", 2)):
            v.ready(600)
            lab.settle(v)
            lab.install(v)
            out = v.must(NAMES.format(name=name, mac=mac, number=number, id=f"{number:032x}"), 300)
            self.r.check(f"{name}: RDMA on both cables", out.count("state ACTIVE") == 2, out)
        shutil.copy(DIR / "ssh-key", DIR / "share-a" / "ssh-key")
        self.a.share()
        self.a.must(f"mkdir -p -m 700 /root/.ssh; install -m 600 /mnt/p/ssh-key {SECRET}; umount /mnt/p; "
                    "for i in $(seq 60); do ssh-keyscan -t ed25519 beta 2>/dev/null >/root/.ssh/known_hosts; "
                    "[ -s /root/.ssh/known_hosts ] && break; sleep 1; done; ssh -o BatchMode=yes beta true", 200)

    def cluster(self, args, limit=600):
        code, out = lab.gputune(self.a, f"cluster {args} 2>/run/err; c=$?; sed 's/^/stderr: /' /run/err | head -40; exit $c", limit)
        return code, lab.as_json(out), out

    def states(self):
        return [v.must(STATE, 300) for v in (self.a, self.b)]


def codes(j):
    return [f["code"] for f in (j or {}).get("findings", [])]


def discovered(p):
    code, j, out = p.cluster(f"discover {NODES} --for 3s --format json --timeout 60s")
    wires = (j or {}).get("wires", [])
    p.r.check("discover: two nodes, and the cables between them", j and len(j["nodes"]) == 2 and len(wires) >= 2, out[-2500:])
    p.r.note(f"discover: exit {code}, {len(wires)} wires, {codes(j)}")


def planned(p, before):
    code, j, out = p.cluster(f"plan {NODES} --topology pair --timeout 60s --for 3s --format json")
    p.r.check("plan: something would be changed, nothing was", code == 1 and p.states() == before, out[-2500:])
    # Watched while it is on trial: the timer of systemd's that would take it back.
    p.b.send("for i in $(seq 600); do systemctl list-timers --all | grep -i gputune && break; sleep 0.2; done")
    code, j, out = p.cluster(f"plan {NODES} --topology pair --apply --yes --confirm-within 180s --timeout 60s --for 3s --format json")
    seen = p.b.answer(300)[1]
    p.r.check("plan --apply: kept on both", code == 0, out[-3500:])
    p.r.check("the dead man was a timer of systemd's", "gputune" in seen, seen)
    for v in (p.a, p.b):
        left = v.must("systemctl list-timers --all | grep -ci gputune || true").strip()
        p.r.check("and is gone", left == "0", left)
        out = v.must("for c in c0 c1; do ip -4 -o addr show $c; cat /sys/class/net/$c/mtu; done; ls /etc/netplan /etc/NetworkManager/system-connections; "
                     "networkctl status c0 --no-pager | head -20; nmcli -f NAME,DEVICE,STATE connection show --active")
        p.r.check("addresses and MTU at both cables", len(re.findall(r"192\.168\.10\d\.", out)) >= 2 and out.count("\n9000") == 2, out)
        p.r.check("netplan's cable by netplan, NetworkManager's by NetworkManager",
                  "90-gputune-cluster.yaml" in out and "gputune-cluster-c1.nmconnection" in out and re.search(r"gputune-cluster-c1\s+c1\s+activated", out), out)


def checked(p):
    code, j, out = p.cluster(f"check {NODES} --timeout 120s --state /run/cluster --format json", 1200)
    tests = (j or {}).get("results", [])
    rdma = [t for t in tests if t["test"].startswith("rdma") and t["state"] == "good"]
    p.r.check("check: RDMA was measured over both cables, every way of it", {(t["test"], t["from"]["port"]) for t in rdma} >=
              {(k, c) for k in ("rdma-write", "rdma-read", "rdma-latency") for c in ("c0", "c1")}, tests)
    p.r.note(f"check: exit {code}, {len(tests)} tests, {len(rdma)} by RDMA, findings {codes(j)}")
    for t in rdma:
        p.r.note(str({k: t[k] for k in ("test", "from", "to", "together", "how", "samples")} | {k: v for k, v in t.items() if isinstance(v, float)}))


def faults(p):
    p.b.must("ip link set c0 mtu 1500")
    code, j, out = p.cluster(f"check {NODES} --quick --timeout 120s --state /run/cluster --format json", 900)
    p.r.check("a smaller MTU at one end is found", code == 1 and "mtu-mismatch" in codes(j), (codes(j), out[-1500:]))
    p.b.must("ip link set c0 mtu 9000; rdma link delete cable1")
    code, j, out = p.cluster(f"check {NODES} --timeout 120s --state /run/cluster --format json", 1200)
    p.r.check("a port without RDMA is found", code == 1 and any(f["code"] == "rdma-missing" and (f["node"], f["port"]) == ("beta", "c1")
                                                                for f in j["findings"]), codes(j))
    p.b.must("rdma link add cable1 type rxe netdev c1; for i in $(seq 50); do rdma link show | grep -c ACTIVE | grep -q 2 && break; sleep 0.1; done")


def cut(p, before):
    """The connection is cut while it is on trial and the coordinator is gone: the timer on beta brings the old state back."""
    p.a.send(f"gputune cluster plan {NODES} --topology pair --apply --yes --confirm-within 45s --timeout 60s --for 3s >/run/plan.out 2>&1; echo $?")
    # As soon as there is a trial, and before anybody confirms: no echo comes back from here on.
    code, out = p.b.run("echo 1 >/proc/sys/net/ipv4/icmp_echo_ignore_all; for i in $(seq 900); do [ -e /run/gputune/take-back ] && break; sleep 0.1; done; "
                        "[ -e /run/gputune/take-back ] && ip link set m0 down && echo cut", 300)
    p.r.check("cut in the middle", "cut" in out, out)
    p.a.answer(600)
    out = p.b.must("for i in $(seq 400); do [ -e /run/gputune/take-back ] || break; sleep 0.5; done; sleep 5; "
                   "ip link set m0 up; echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_all; "
                   "journalctl --no-pager -q -g 'gputune' | tail -20", 400)
    after = p.states()
    p.r.check("beta took it back by itself", after[1] == before[1], (diff(before[1], after[1]), out))
    p.r.check("and alpha too", after[0] == before[0], diff(before[0], after[0]))


def diff(a, b):
    a, b = a.splitlines(), b.splitlines()
    return "\n".join([f"- {x}" for x in a if x not in b] + [f"+ {x}" for x in b if x not in a])[:2500]


def pair(r):
    with Pair(r) as p:
        p.start()
        before = p.states()
        discovered(p)
        cut(p, before)
        planned(p, before)
        checked(p)
        faults(p)
        code, _, out = p.cluster(f"undo {NODES} --yes --timeout 60s")
        r.check("undo", code == 0, out[-2000:])
        after = p.states()
        for name, x, y in zip(("alpha", "beta"), before, after):
            r.check(f"{name} is as before, to the byte", x == y, diff(x, y))
