#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine of which almost nothing can be seen: a small container without /sys, run by an ordinary user."""
from lib import DOCUMENTED, PLAUSIBLE, Machine

DENIED = """
/proc/sys/kernel/perf_event_paranoid /proc/sys/vm/swappiness /proc/sys/vm/dirty_ratio /proc/1/comm /proc/modules
/proc/driver /sys/kernel/security/lockdown /sys/kernel/mm /sys/fs/cgroup/system.slice /sys/firmware
""".split()


def main():
    m = Machine("nothing", "A small container: no GPU, no PCI, no cpufreq, little of /proc, an ordinary user.",
                {"nodename": "box", "release": "6.1.0-37-amd64", "version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1",
                 "machine": "x86_64", "euid": 1000, "page_size": 4096, "time_s": 1772000000})
    m.rows("/proc/cpuinfo", ["processor\t: 0", "vendor_id\t: AuthenticAMD", "model name\t: AMD EPYC", ""])
    m.rows("/proc/meminfo", ["MemTotal:        2031616 kB", "MemFree:         1523712 kB"])
    m.rows("/etc/os-release", ['NAME="Alpine Linux"', "ID=alpine", "VERSION_ID=3.22.0", 'PRETTY_NAME="Alpine Linux v3.22"'])
    m.text("/.dockerenv", "")
    for path in DENIED:
        m.refused[path] = "EACCES"
    for api in ("nvml", "cuda"):
        m.answers(api, "*", {"*": {"error": "ELIBACC"}})
    m.source("root/**", PLAUSIBLE, "a container image of Alpine Linux with a masked /proc and no /sys")
    m.source("answers.tsv", DOCUMENTED, "OCI runtime specification: masked paths")
    m.write(modules=False)


main()
