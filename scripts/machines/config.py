# SPDX-License-Identifier: Apache-2.0
"""
Files that configure the hand-written machines: what sets which value at boot. Every value is the one that the
machine has, so that these files explain it; what an administrator may have written is plausible, not documented.
"""
from lib import DOCUMENTED, PLAUSIBLE

WHY = "who set the value that the machine has; usual files of administrators and installers"


def conf_link(m):
    """Debian's and Ubuntu's /etc/sysctl.conf, which systemd reads through a link."""
    m.rows("/etc/sysctl.conf", ["# Settings of this machine go into /etc/sysctl.d.", "#vm.swappiness = 10"])
    m.link_as("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf")


def hgx_h100(m):
    conf_link(m)
    m.rows("/etc/sysctl.d/90-cluster.conf", ["# Written by the installer of the cluster.", "kernel.numa_balancing = 1",
                                             "-net/core/rmem_max = 212992", "vm.dirty_ratio = 20"])
    m.rows("/usr/local/lib/sysctl.d/90-cluster.conf", ["# Hidden by the file of this name in /etc.", "vm.dirty_ratio = 5"])
    m.rows("/etc/tmpfiles.d/thp.conf", ["#Type Path Mode User Group Age Argument",
                                        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always"])
    m.rows("/etc/udev/rules.d/61-drives.rules",
           ['ACTION!="add|change", GOTO="drives_end"', 'SUBSYSTEM!="block", GOTO="drives_end"',
            'KERNEL=="nvme[0-9]*n[0-9]*", ENV{DEVTYPE}=="disk", ATTR{queue/scheduler}="none", \\',
            '  ATTR{queue/read_ahead_kb}="128"', 'KERNEL=="sd*", ATTR{queue/rotational}=="1", ATTR{queue/scheduler}="bfq"',
            'LABEL="drives_end"'])
    m.rows("/etc/modprobe.d/nvidia.conf", ["blacklist nouveau", "options nvidia NVreg_RestrictProfilingToAdminUsers=0"])
    m.put("/etc/tuned/active_profile", "cluster")
    m.rows("/etc/tuned/profiles/cluster/tuned.conf", ["[main]", "summary=Nodes of this cluster", "include=cluster-base",
                                                      "[sysctl]", "vm.swappiness = 60"])
    m.rows("/usr/lib/tuned/profiles/cluster-base/tuned.conf", ["[cpu]", "governor=schedutil", "[disk]", "readahead=128"])
    m.source("/etc/sysctl.d/**, tmpfiles.d, modprobe.d, udev/rules.d, tuned", PLAUSIBLE, WHY)


def dgx_spark(m):
    conf_link(m)
    m.rows("/etc/sysctl.d/10-bufferbloat.conf", ["net.core.default_qdisc = fq_codel"])
    m.rows("/etc/sysctl.d/20-nvidia-defaults.conf", ["net.ipv4.conf.all.arp_announce = 2", "net.ipv4.conf.all.arp_ignore = 1"])
    m.rows("/etc/modprobe.d/nvidia-graphics-drivers-kms.conf", ["options nvidia_drm modeset=1 fbdev=1"])
    m.rows("/etc/modprobe.d/zz-nvidia-drm-override.conf", ["options nvidia_drm modeset=0"])
    m.rows("/etc/modprobe.d/cppc_cpufreq.conf", ["options cppc_cpufreq auto_sel_mode=1"])
    m.source("/etc/sysctl.d/20-nvidia-defaults.conf, 10-bufferbloat.conf, /etc/modprobe.d/**", DOCUMENTED,
             "names and values: package list and files of DGX OS for the Spark, published 2026; the layout of the lines is ours")
    m.source("/etc/sysctl.conf", PLAUSIBLE, WHY)


def igx_orin(m):
    conf_link(m)
    m.rows("/boot/extlinux/extlinux.conf", ["TIMEOUT 30", "DEFAULT primary", "", "LABEL primary", "  LINUX /boot/Image",
                                            "  APPEND ${cbootargs} console=tty0 console=ttyTCU0,115200 "
                                            "firmware_class.path=/etc/firmware fbcon=map:0",
                                            "LABEL backup", "  APPEND ${cbootargs} single"])
    m.source("/etc/sysctl.conf, /boot/extlinux/extlinux.conf", PLAUSIBLE, WHY)


def cpu_256(m):
    conf_link(m)
    m.rows("/etc/default/grub", ["GRUB_DEFAULT=0", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"', 'GRUB_CMDLINE_LINUX="intel_iommu=on"'])
    m.rows("/etc/modprobe.d/zfs.conf", ["options zfs zfs_arc_min=0 \\", "  zfs_arc_max=0"])
    m.rows("/usr/lib/udev/rules.d/60-scheduler.rules",
           ['ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="sd[a-z]", ATTR{queue/rotational}=="1", '
            'ATTR{queue/scheduler}="mq-deadline"'])
    m.source("/etc/default/grub, /etc/sysctl.conf, /etc/modprobe.d/**, udev rules", PLAUSIBLE, WHY)
