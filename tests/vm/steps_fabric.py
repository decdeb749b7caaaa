# SPDX-License-Identifier: Apache-2.0
"""The step fabric: priorities that are paused, and which CPUs serve a card's interrupts, written and put back on a real kernel.
labdcb answers the kernel's data center bridging; the interrupts are those of an emulated card on the second node."""
import re

import lab

RAILS = """
modprobe labdcb && modprobe rdma_rxe && systemctl stop irqbalance
for i in labdcb0 labdcb1; do ip link set $i up; rdma link add r_$i type rxe netdev $i; done
for i in $(seq 100); do [ $(rdma link show | grep -c 'state ACTIVE') = 2 ] && break; sleep 0.1; done; rdma link show
"""


def bridging(v, name):
    """What dcb(8) says of PFC: all but the priorities, and the priorities that are paused."""
    words = v.must(f"dcb pfc show dev {name}").split()
    return [w for w in words if not re.fullmatch(r"\d:(on|off)", w)], [int(w[0]) for w in words if w.endswith(":on")]


def paused(v, name):
    return bridging(v, name)[1]


def verdicts(v, setting):
    doc = lab.as_json(lab.gputune(v, f"check --only {setting} --all --format json")[1])
    return {t: f for f in doc["findings"] for t in f["targets"]}


def profile(v, want):
    v.must(f"printf '[profile]\\nbase = default\\n[nic.pfc]\\nwant = {want}\\n' > /run/site.ini")


def pfc(r, v):
    before = {n: bridging(v, n) for n in ("labdcb0", "labdcb1")}
    facts = verdicts(v, "nic.pfc")
    r.check("PFC is read as dcb reads it", facts.get("labdcb0", {}).get("current") == "none" and paused(v, "labdcb0") == [], facts)
    v.must("dcb pfc set dev labdcb1 prio-pfc 5:on")
    facts = verdicts(v, "nic.pfc")
    r.check("rails that differ are named", facts["labdcb0"]["verdict"] == "fail" and "labdcb1" in facts["labdcb0"]["reason"], facts)
    v.must("dcb pfc set dev labdcb1 prio-pfc 5:off")
    profile(v, 3)
    code, out = lab.gputune(v, "apply --profile /run/site.ini --only nic.pfc --yes")
    r.check("priority 3 is set on both", code == 0 and paused(v, "labdcb0") == paused(v, "labdcb1") == [3], out)
    after = bridging(v, "labdcb0")
    r.check("nothing else of it changed", after[0] == before["labdcb0"][0] and "7" in after[0], after)
    trust = verdicts(v, "nic.trust")
    r.check("trust is not claimed of a driver that does not say it", trust["labdcb0"]["verdict"] == "na", trust)
    code, out = lab.gputune(v, "undo --all --yes")
    r.check("undo puts PFC back", code == 0 and {n: bridging(v, n) for n in before} == before, out)
    v.must("echo 1 > /sys/module/labdcb/parameters/refuse")
    code, out = lab.gputune(v, "apply --profile /run/site.ini --only nic.pfc --yes")
    r.check("a driver's refusal is a failure, and nothing changed", code != 0 and "pfc" in out and
            {n: bridging(v, n) for n in before} == before, f"{code}: {out}")
    v.must("echo 0 > /sys/module/labdcb/parameters/refuse; echo 1 > /sys/module/labdcb/parameters/firmware")
    code, out = lab.gputune(v, "plan --profile /run/site.ini --only nic.pfc")
    r.check("DCBX of firmware: by hand", "DCBX" in out, out)
    v.must("echo 0 > /sys/module/labdcb/parameters/firmware")


def far_card(v):
    """A card with MSI-X on the second node: (interface, its interrupts)."""
    out = v.must("for i in /sys/class/net/en*; do d=$i/device; [ -d $d/msi_irqs ] && [ $(cat $d/numa_node) = 1 ] && "
                 "echo ${i##*/} $(ls $d/msi_irqs); done; true").split("\n")[0].split()
    return out[0], [int(n) for n in out[1:]]


def affinity(v, irqs):
    return v.must("cat " + " ".join(f"/proc/irq/{i}/smp_affinity_list" for i in irqs)).split()


def come(v, name):
    """Interrupts come, and move to where they may go."""
    v.run(f"ip link set {name} down; ip link set {name} up; for i in $(seq 50); do [ $(cat /sys/class/net/{name}/carrier) = 1 ] && "
           f"break; sleep 0.1; done; ip addr add 10.8.8.1/24 dev {name}; ping -c 3 -i 0.2 -W 1 10.8.8.2; ip addr flush dev {name}")


def interrupts(r, v):
    name, irqs = far_card(v)
    v.must(f"ip link set {name} up; rdma link delete r_labdcb0; rdma link delete r_labdcb1; "
           f"ip link set labdcb0 down; ip link set labdcb1 down; rdma link add far type rxe netdev {name}; "
           f"for i in {' '.join(map(str, irqs))}; do echo 0 > /proc/irq/$i/smp_affinity_list; done")
    come(v, name)
    before = affinity(v, irqs)
    facts = verdicts(v, "nic.irq-affinity")
    r.check("interrupts on the other node are named", facts.get(name, {}).get("verdict") == "fail", facts)
    code, out = lab.gputune(v, "apply --only nic.irq-affinity --yes")
    r.check("they are moved to the card's node", code == 0 and set(affinity(v, irqs)) == {"1"}, f"{out} {affinity(v, irqs)}")
    r.check("then it is right", verdicts(v, "nic.irq-affinity")[name]["verdict"] == "pass")
    address = v.must(f"basename $(readlink -f /sys/class/net/{name}/device)").strip()
    v.must(f"cd /sys/bus/pci/drivers/e1000e && echo {address} > unbind && echo {address} > bind && sleep 1; "
           "udevadm settle; for i in /sys/class/net/en*; do ip link set ${i##*/} up; done; sleep 1")
    name, irqs = far_card(v)
    code, out = lab.gputune(v, "undo --all --yes")
    r.check("undo after the driver was bound anew: by MSI number", set(affinity(v, irqs)) == set(before), f"{code}: {out}")


def fabric(r):
    with lab.machine("fabric.qcow2") as v:
        v.must(RAILS, 120)
        pfc(r, v)
        interrupts(r, v)
