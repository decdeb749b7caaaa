/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sets what: configuration files of small captures as rows of text, hostile ones among them,
 * and the owners of a knob that follow from the facts.
 */
#include "box_world.h"
#include "fake.h"

#include "base/text.h"
#include "fault.h"
#include "machine/host/record.h"
#include "tune/plan/plan.h"
#include "look/probe/probe.h"

static void probe_it(struct world *w)
{
	world_open(w);
	w->probe.config = true;
	w->machine.kernel.release = fact_str_of("6.8.0", "", "uname -r");
	probe_config(&w->probe);
}

/* "KIND KEY=VALUE FILE:LINE" a line, those without effect in parentheses, in the order read. */
static char *listing(struct world *w)
{
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct assignment, it, &w->machine.config.assignments)
		text_printf(&t, "%s%s %s=%s %s:%u%s%s\n", it->rank ? "" : "(", it->kind, it->name,
			    fact_text(&it->value, "-"), it->file, it->line, it->rank ? "" : ")",
			    fact_text(&it->when, ""));
	return arena_strdup(&w->arena, t.s ? t.s : "");
}

/* The owners of a knob, one a line: "* WHAT = VALUE" for the winner, "~" not at boot, "!" fights.
 */
static char *owners(struct arena *a, const struct machine *m, struct knob k)
{
	struct change c = { .knob = k };
	TEXT_AUTO t = { 0 };

	plan_owners(a, m, &c);
	for (size_t i = 0; i < c.n_owners; i++)
		text_printf(&t, "%s%s%s%s = %s\n", c.owners[i].wins ? "* " : "",
			    c.owners[i].at_boot ? "" : "~ ", c.owners[i].fights ? "! " : "",
			    c.owners[i].what, c.owners[i].value ? c.owners[i].value : "?");
	return arena_strdup(a, t.s ? t.s : "");
}

static char *owners_of(struct world *w, enum knob_kind kind, const char *name, const char *object)
{
	return owners(&w->arena, &w->machine, (struct knob){ kind, name, object });
}

static void sysctl_files(void **state)
{
	struct world *w = *state;

	root(w, "/usr/lib/sysctl.d/50-default.conf",
	     "# comment\n; comment\nvm.swappiness = 60\n-net/ipv4/conf/all/rp_filter=2\n"
	     "net.ipv4.conf.*.rp_filter = 1\nno equals sign\n-net.ipv4.conf.eth0.rp_filter\n");
	root(w, "/usr/lib/sysctl.d/60-x.conf", "vm.swappiness=1\n");
	root(w, "/etc/sysctl.d/60-x.conf", "vm.swappiness = 10 \n");
	root(w, "/etc/sysctl.d/70-masked.conf", "vm.swappiness = 5\n");
	root(w, "/etc/sysctl.d/readme.txt", "vm.swappiness = 6\n");
	root(w, "/etc/sysctl.conf", "vm.swappiness=20\nvm.dirty_bytes=1000\n");
	root_link(w, "/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
	unlink(box_path(&w->box, "c/root/etc/sysctl.d/70-masked.conf", (char[512]){ 0 }, 512));
	root_link(w, "/etc/sysctl.d/70-masked.conf", "/dev/null");
	root(w, "/usr/lib/sysctl.d/70-masked.conf", "vm.swappiness = 7\n");
	probe_it(w);
	assert_string_equal(listing(w),
			    "sysctl vm.swappiness=60 /usr/lib/sysctl.d/50-default.conf:3\n"
			    "sysctl net.ipv4.conf.all.rp_filter=2 "
			    "/usr/lib/sysctl.d/50-default.conf:4\n"
			    "sysctl net.ipv4.conf.*.rp_filter=1 "
			    "/usr/lib/sysctl.d/50-default.conf:5\n"
			    "sysctl net.ipv4.conf.eth0.rp_filter=- "
			    "/usr/lib/sysctl.d/50-default.conf:7\n"
			    "sysctl vm.swappiness=10 /etc/sysctl.d/60-x.conf:1\n"
			    "sysctl vm.swappiness=20 /etc/sysctl.conf:1\n"
			    "sysctl vm.dirty_bytes=1000 /etc/sysctl.conf:2\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.swappiness", ""),
			    "/usr/lib/sysctl.d/50-default.conf:3 = 60\n"
			    "/etc/sysctl.d/60-x.conf:1 = 10\n"
			    "* /etc/sysctl.conf:1 = 20\n");
	/* A key that is named gives no way to patterns; one named without value has no owner. */
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "net.ipv4.conf.all.rp_filter", ""),
			    "* /usr/lib/sysctl.d/50-default.conf:4 = 2\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "net.ipv4.conf.eth0.rp_filter", ""), "");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "net.ipv4.conf.eth1.rp_filter", ""),
			    "* /usr/lib/sysctl.d/50-default.conf:5 = 1\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "net.ipv4.conf.a.b.rp_filter", ""), "");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.dirty_ratio", ""),
			    "* /etc/sysctl.conf:2 = vm.dirty_bytes=1000\n");
}

/* Without a link systemd reads no /etc/sysctl.conf; other init systems do. */
static void sysctl_conf(void **state)
{
	struct world *w = *state;

	root(w, "/etc/sysctl.conf", "vm.swappiness=20\n");
	w->machine.software.init = fact_str_of("systemd", "", "x");
	probe_it(w);
	assert_string_equal(listing(w), "(sysctl vm.swappiness=20 /etc/sysctl.conf:1)\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.swappiness", ""),
			    "~ /etc/sysctl.conf:1 = 20\n");
}

static void tmpfiles_and_modules(void **state)
{
	struct world *w = *state;

	root(w, "/etc/tmpfiles.d/a.conf",
	     "w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n"
	     "d /sys/nothing 0755 root root -\n"
	     "w! /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - performance\n"
	     "w /proc/sys/vm/swappiness - - - - 5\n"
	     "w+ /sys/module/zfs/parameters/zfs_arc_max - - - - 1000\n"
	     "w /sys/short\n");
	root(w, "/usr/lib/tmpfiles.d/b.conf",
	     "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n");
	root(w, "/etc/modprobe.d/zfs.conf",
	     "blacklist nouveau\noptions zfs zfs_arc_max=5 \\\n  zfs_prefetch_disable=1\n"
	     "options nvidia-drm modeset=1 name=\"a b\"\noptions\n");
	w->machine.cpu.policies.items = ARENA_NEW(&w->arena, struct freq_policy);
	w->machine.cpu.policies.n = 1;
	((struct freq_policy *)w->machine.cpu.policies.items)->index = 4;
	((struct freq_policy *)w->machine.cpu.policies.items)->cpus.f.seen = SEEN_OK;
	idset_add(&w->arena, &((struct freq_policy *)w->machine.cpu.policies.items)->cpus.v, 5);
	probe_it(w);
	assert_string_equal(
		listing(w),
		"module-parameter zfs.zfs_arc_max=5 /etc/modprobe.d/zfs.conf:2\n"
		"module-parameter zfs.zfs_prefetch_disable=1 /etc/modprobe.d/zfs.conf:2\n"
		"module-parameter nvidia_drm.modeset=1 /etc/modprobe.d/zfs.conf:4\n"
		"module-parameter nvidia_drm.name=a b /etc/modprobe.d/zfs.conf:4\n"
		"sysfs /sys/kernel/mm/transparent_hugepage/enabled=madvise "
		"/etc/tmpfiles.d/a.conf:1\n"
		"sysfs /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor=performance "
		"/etc/tmpfiles.d/a.conf:3\n"
		"sysctl vm.swappiness=5 /etc/tmpfiles.d/a.conf:4\n"
		"module-parameter zfs.zfs_arc_max=1000 /etc/tmpfiles.d/a.conf:5\n"
		"(sysfs /sys/kernel/mm/transparent_hugepage/enabled=always "
		"/usr/lib/tmpfiles.d/b.conf:1)\n");
	assert_string_equal(
		owners_of(w, KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", ""),
		"~ /usr/lib/tmpfiles.d/b.conf:1 = always\n* /etc/tmpfiles.d/a.conf:1 = madvise\n");
	assert_string_equal(owners_of(w, KNOB_MODPARAM, "zfs.zfs_arc_max", ""),
			    "/etc/modprobe.d/zfs.conf:2 = 5\n* /etc/tmpfiles.d/a.conf:5 = 1000\n");
	assert_string_equal(owners_of(w, KNOB_SYSFS,
				      "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
				      ""),
			    "* /etc/tmpfiles.d/a.conf:3 = performance\n");
	assert_string_equal(owners_of(w, KNOB_SYSFS,
				      "/sys/devices/system/cpu/cpufreq/policy5/scaling_governor",
				      ""),
			    "");
}

static void udev_rules(void **state)
{
	struct world *w = *state;
	struct disk *d = list_add(&w->arena, &w->machine.storage.disks, sizeof(*d));

	d->name = "sda";
	d->rotational = fact_int_of(1, "", "x");
	root(w, "/etc/udev/rules.d/60-io.rules",
	     "ACTION==\"remove\", GOTO=\"end\"\n"
	     "SUBSYSTEM!=\"block\", GOTO=\"end\"\n"
	     "KERNEL==\"sd*|nvme*\", ATTR{queue/rotational}==\"1\", "
	     "ATTR{queue/scheduler}=\"bfq\"\n"
	     "KERNEL==\"nvme*\", \\\n  ATTR{queue/scheduler}=\"none\"\n"
	     "ATTRS{vendor}==\"Acme*\", ATTR{queue/scheduler}=\"kyber\"\n"
	     "LABEL=\"end\"\n"
	     "SUBSYSTEM==\"net\", KERNEL==\"eth*\", ATTR{mtu}=\"9000\"\n"
	     "SYSCTL{vm/swappiness}=\"3\"\n"
	     "KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"$env{X}\"\n"
	     "this is no rule\nATTR{open=\"x\"\nATTR{x}=\"unterminated\n");
	probe_it(w);
	assert_string_equal(owners_of(w, KNOB_SYSFS, "/sys/block/sda/queue/scheduler", ""),
			    "* /etc/udev/rules.d/60-io.rules:3 = bfq\n"
			    "/etc/udev/rules.d/60-io.rules:6 (where ATTRS{vendor}==\"Acme*\", "
			    "ACTION!=\"remove\", SUBSYSTEM==\"block\") = kyber\n");
	assert_string_equal(owners_of(w, KNOB_SYSFS, "/sys/block/nvme0n1/queue/nr_requests", ""),
			    "");
	/* What the rule writes is not known, nor that it wins. */
	assert_string_equal(owners_of(w, KNOB_SYSFS, "/sys/block/sda/queue/read_ahead_kb", ""),
			    "/etc/udev/rules.d/60-io.rules:10 (where KERNEL==\"sda\") = "
			    "$env{X}\n");
	assert_string_equal(owners_of(w, KNOB_LINK, "mtu", "eth0"),
			    "* /etc/udev/rules.d/60-io.rules:8 = 9000\n");
	assert_string_equal(owners_of(w, KNOB_LINK, "mtu", "ib0"), "");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.swappiness", ""),
			    "* /etc/udev/rules.d/60-io.rules:9 = 3\n");
}

static void add_service(struct world *w, const char *name, int enabled, int active)
{
	struct service *s = list_add(&w->arena, &w->machine.software.services, sizeof(*s));

	s->name = name;
	s->enabled = fact_int_of(enabled, "", "x");
	s->active = fact_int_of(active, "", "x");
}

static void network_files(void **state)
{
	struct world *w = *state;
	struct nic *n = list_add(&w->arena, &w->machine.net.nics, sizeof(*n));

	n->name = "eth0";
	n->mac = fact_str_of("02:00:00:00:00:0a", "", "address");
	n->owner = fact_str_of("netplan", "", "/run/systemd/network");
	root(w, "/run/systemd/network/10-netplan-eth0.network",
	     "[Match]\nName = eth0 eth1\n[Link]\nMTUBytes = 9000\n[Network]\nMTUBytes=1\n");
	root(w, "/usr/lib/systemd/network/80-any.network",
	     "[Match]\nName=*\n[Link]\nMTUBytes=1500\n");
	root(w, "/etc/systemd/network/20-a.link",
	     "[Match]\nMACAddress=02:00:00:00:00:0A\n[Link]\nRxBufferSize=4096\n");
	root(w, "/etc/systemd/network/30-b.link",
	     "[Match]\nDriver=mlx5_core\n[Link]\nRxBufferSize=8192\n");
	root(w, "/etc/systemd/network/40-c.link", "[Match]\nName=ib0\n[Link]\nRxBufferSize=1\n");
	add_service(w, "systemd-networkd.service", 1, 1);
	probe_it(w);
	assert_string_equal(owners_of(w, KNOB_LINK, "mtu", "eth0"),
			    "/usr/lib/systemd/network/80-any.network:4 = 1500\n"
			    "* /run/systemd/network/10-netplan-eth0.network:4 = 9000\n"
			    "! netplan (/run/systemd/network) = ?\n");
	assert_string_equal(owners_of(w, KNOB_LINK, "mtu", "eth2"),
			    "* /usr/lib/systemd/network/80-any.network:4 = 1500\n");
	assert_string_equal(owners_of(w, KNOB_LINK, "rx-ring", "eth0"),
			    "/etc/systemd/network/30-b.link:4 (where "
			    "Driver=mlx5_core (not checked)) = 8192\n"
			    "* /etc/systemd/network/20-a.link:4 = 4096\n"
			    "netplan (/run/systemd/network) = ?\n");
}

static void boot_arguments(void **state)
{
	struct world *w = *state;
	struct kernel_arg *arg;

	root(w, "/etc/default/grub",
	     "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\" # comment\n"
	     "GRUB_CMDLINE_LINUX='isolcpus=2-3 dyndbg=\"file x.c +p\"'\n");
	root(w, "/etc/default/grub.d/10-a.cfg",
	     "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=4-7 $OTHER\"\n");
	root(w, "/etc/default/grub.d/20-b.cfg",
	     "GRUB_CMDLINE_LINUX_DEFAULT=\"transparent_hugepage=never\"\n");
	root(w, "/etc/default/grub.d/30-c.cfg",
	     "export GRUB_CMDLINE_LINUX_DEFAULT+=\" zfs.zfs_arc_max=9\"\n");
	root(w, "/boot/loader/entries/old-5.15.conf", "options root=old\n");
	root(w, "/boot/loader/entries/new-6.8.0.conf", "title x\noptions root=/dev/x $tuned y=1\n");
	root(w, "/boot/loader/entries/z-7.0.conf", "options root=z\n");
	root(w, "/boot/extlinux/extlinux.conf",
	     "DEFAULT a\nLABEL b\n  APPEND bad=1\nLABEL a\n  APPEND ${cbootargs} good=1\n");
	arg = list_add(&w->arena, &w->machine.kernel.args, sizeof(*arg));
	arg->name = "numa_balancing";
	arg->value = fact_str_of("disable", "", "/proc/cmdline");
	arg = list_add(&w->arena, &w->machine.kernel.args, sizeof(*arg));
	arg->name = "isolcpus";
	arg->value = fact_str_of("2-3", "", "/proc/cmdline");
	probe_it(w);
	assert_string_equal(listing(w),
			    "boot-argument isolcpus=2-3 /etc/default/grub:3\n"
			    "boot-argument dyndbg=file x.c +p /etc/default/grub:3\n"
			    "boot-argument isolcpus=4-7 /etc/default/grub.d/10-a.cfg:1\n"
			    "boot-argument transparent_hugepage=never "
			    "/etc/default/grub.d/20-b.cfg:1\n"
			    "boot-argument zfs.zfs_arc_max=9 /etc/default/grub.d/30-c.cfg:1\n"
			    "boot-argument root=/dev/x /boot/loader/entries/new-6.8.0.conf:2\n"
			    "boot-argument y=1 /boot/loader/entries/new-6.8.0.conf:2\n"
			    "boot-argument good=1 /boot/extlinux/extlinux.conf:5\n");
	assert_string_equal(owners_of(w, KNOB_BOOTARG, "isolcpus", ""),
			    "kernel argument isolcpus, /etc/default/grub:3 = 2-3\n"
			    "* kernel argument isolcpus, /etc/default/grub.d/10-a.cfg:1 = 4-7\n");
	assert_string_equal(
		owners_of(w, KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", ""),
		"* kernel argument transparent_hugepage, /etc/default/grub.d/20-b.cfg:1 = never\n");
	assert_string_equal(owners_of(w, KNOB_MODPARAM, "zfs.zfs_arc_max", ""),
			    "* kernel argument zfs.zfs_arc_max, /etc/default/grub.d/30-c.cfg:1 = "
			    "9\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "kernel.numa_balancing", ""),
			    "* kernel argument numa_balancing, /proc/cmdline = disable\n");
}

/* "-" and "_" are one letter to the kernel, and no other two are. */
static void near_names(void **state)
{
	struct world *w = *state;

	root(w, "/etc/default/grub",
	     "GRUB_CMDLINE_LINUX=\"zfs.zfs-arc_max=1 zfs.zfsxarc_max=2 zfs.zfs_arc_ma=3 "
	     "zfs.zfs_arc_max2=4\"\n");
	probe_it(w);
	assert_string_equal(owners_of(w, KNOB_MODPARAM, "zfs.zfs_arc_max", ""),
			    "* kernel argument zfs.zfs-arc_max, /etc/default/grub:1 = 1\n");
	assert_string_equal(owners_of(w, KNOB_MODPARAM, "zfs.zfsxarc-max", ""),
			    "* kernel argument zfs.zfsxarc_max, /etc/default/grub:1 = 2\n");
}

static void tuned(void **state)
{
	struct world *w = *state;

	add_service(w, "tuned.service", 1, 1);
	root(w, "/etc/tuned/active_profile", "mine\n");
	root(w, "/etc/tuned/profiles/mine/tuned.conf",
	     "[main]\nsummary=x\ninclude=base, ../../etc/passwd mine\n[sysctl]\nvm.swappiness = 1\n"
	     "[cpu]\ngovernor = ondemand\n[vm]\ntransparent_hugepages=${thp}\n"
	     "[sysfs]\n/sys/module/zfs/parameters/zfs_arc_max=7\n"
	     "[bootloader]\ncmdline_mine=+skew_tick=1 isolcpus=1\n");
	root(w, "/usr/lib/tuned/base/tuned.conf",
	     "[sysctl]\nvm.swappiness = 2\n[disk]\nreadahead = >4096\n");
	root(w, "/etc/sysctl.d/a.conf", "vm.swappiness = 3\n");
	probe_it(w);
	assert_string_equal(
		owners_of(w, KNOB_SYSCTL, "vm.swappiness", ""),
		"! tuned.service (profile mine), /usr/lib/tuned/base/tuned.conf:2 = 2\n"
		"! tuned.service (profile mine), /etc/tuned/profiles/mine/tuned.conf:5 = 1\n"
		"* /etc/sysctl.d/a.conf:1 = 3\n");
	assert_string_equal(
		owners_of(w, KNOB_SYSFS, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
			  ""),
		"* ! tuned.service (profile mine), /etc/tuned/profiles/mine/tuned.conf:7 = "
		"ondemand\n");
	assert_string_equal(
		owners_of(w, KNOB_MODPARAM, "zfs.zfs_arc_max", ""),
		"* ! tuned.service (profile mine), /etc/tuned/profiles/mine/tuned.conf:11 = 7\n");
	assert_string_equal(owners_of(w, KNOB_BOOTARG, "isolcpus", ""),
			    "* ! kernel argument isolcpus, tuned.service (profile mine), "
			    "/etc/tuned/profiles/mine/tuned.conf:13 = 1\n");
	assert_string_equal(w->machine.config.tuned_profile.v, "mine");
}

/* tuned that does not apply the system's own files again stands over them. */
static void tuned_last(void **state)
{
	struct world *w = *state;

	add_service(w, "tuned.service", 1, 0);
	root(w, "/etc/tuned/active_profile", "mine\n");
	root(w, "/etc/tuned/tuned-main.conf", "reapply_sysctl = 0\n");
	root(w, "/etc/tuned/mine/tuned.conf", "[sysctl]\nvm.swappiness = 1\n");
	root(w, "/etc/sysctl.d/a.conf", "vm.swappiness = 3\n");
	probe_it(w);
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.swappiness", ""),
			    "/etc/sysctl.d/a.conf:1 = 3\n"
			    "* tuned.service (profile mine), /etc/tuned/mine/tuned.conf:2 = 1\n");
}

static const char *services =
	"{'software': {'services': ["
	"{'name': 'tuned.service', 'enabled': 1, 'active': 1},"
	"{'name': 'power-profiles-daemon.service', 'enabled': 0, 'active': 1},"
	"{'name': 'cpu-performance.service', 'enabled': 1, 'active': 0},"
	"{'name': 'nvidia-persistenced.service', 'enabled': 1, 'active': 1},"
	"{'name': 'dgx-optimize.service', 'enabled': 1, 'active': 0},"
	"{'name': 'gpu-max-clocks.service', 'enabled': 1, 'active': 0},"
	"{'name': 'cpupower.service', 'enabled': 1, 'active': 0},"
	"{'name': 'thermald.service', 'enabled': 0, 'active': 0}]},"
	"'config': {'assignments': [{'name': "
	"'/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq', 'kind': 'sysfs', 'file': "
	"'/etc/tmpfiles.d/x.conf', 'line': 1, 'rank': 400000, 'value': '5'}]},"
	"'net': {'nics': [{'name': 'eth0', 'owner': 'NetworkManager'}, {'name': 'eth1'}]}}";

static void daemons(void **state)
{
	static const struct {
		struct knob k;
		const char *want;
	} rows[] = {
		{ { KNOB_SYSFS, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "" },
		  "~ ! power-profiles-daemon.service = ?\ncpupower.service = ?\n"
		  "* cpu-performance.service = performance\n! tuned.service = ?\n" },
		{ { KNOB_SYSFS, "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "" },
		  "/etc/tmpfiles.d/x.conf:1 = 5\n* cpupower.service = ?\n" },
		{ { KNOB_NVML, "gpu-clock-lock", "0000:01:00.0" },
		  "dgx-optimize.service = ?\ngpu-max-clocks.service = ?\n" },
		{ { KNOB_NVML, "persistence-mode", "0000:01:00.0" },
		  "nvidia-persistenced.service = 1\n* dgx-optimize.service = 1\n" },
		{ { KNOB_SYSCTL, "vm.swappiness", "" }, "* ! tuned.service = ?\n" },
		/* Its own link is the setting itself. */
		{ { KNOB_UNIT, "nvidia-persistenced.service", "" }, "" },
		{ { KNOB_UNIT, "irqbalance.service", "" }, "" },
		{ { KNOB_LINK, "mtu", "eth0" }, "* ! NetworkManager (owner) = ?\n" },
		{ { KNOB_LINK, "mtu", "eth1" }, "" },
	};
	struct arena a = { 0 };
	struct machine *m = fake_machine(&a, services);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(owners(&a, m, rows[i].k), rows[i].want);
	arena_free(&a);
}

/* Whatever the files hold, reading ends, in bounds. */
static void hostile(void **state)
{
	struct world *w = *state;
	enum { BIG = 10 << 20, LONG = 20000, MANY = 9000 };
	char *big = malloc(BIG + 1);
	TEXT_AUTO t = { 0 };

	memset(big, 'x', BIG);
	big[BIG] = '\0';
	root(w, "/etc/sysctl.d/10-big.conf", big);
	memset(big, '\n', BIG);
	root(w, "/etc/tmpfiles.d/newlines.conf", big);
	free(big);
	root_link(w, "/etc/sysctl.d/20-loop.conf", "21-loop.conf");
	root_link(w, "/etc/sysctl.d/21-loop.conf", "20-loop.conf");
	root_link(w, "/etc/sysctl.d/22-out.conf", "../../../../../../etc/passwd");
	box_folder(&w->box, "c/root/etc/sysctl.d/23-folder.conf");
	for (int i = 0; i < LONG; i++)
		text_addc(&t, 'y');
	text_add(&t, "=1\nvm.a=1\nvm.\x01=2\nvm.b=\xff\xfe\n=5\n-\n-=\n*=*\n\\\n");
	root(w, "/etc/sysctl.d/30-odd.conf", t.s);
	text_clear(&t);
	for (int i = 0; i < MANY; i++)
		text_printf(&t, "vm.k%d=%d\n", i, i);
	root(w, "/etc/sysctl.d/40-many.conf", t.s);
	text_clear(&t);
	for (int i = 0; i < 2000; i++)
		text_add(&t, "ATTR{a}==\"");
	root(w, "/etc/udev/rules.d/x.rules", t.s);
	root(w, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\n=\"\nGRUB_CMDLINE_LINUX=\"$");
	root(w, "/etc/modprobe.d/x.conf", "options x \"a=\nfoo \\");
	probe_it(w);
	assert_true(w->machine.config.assignments.n <= 8192);
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.a", ""),
			    "* /etc/sysctl.d/30-odd.conf:2 = 1\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.b", ""),
			    "* /etc/sysctl.d/30-odd.conf:4 = \xef\xbf\xbd\xef\xbf\xbd\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.k8000", ""),
			    "* /etc/sysctl.d/40-many.conf:8001 = 8000\n");
	assert_string_equal(owners_of(w, KNOB_SYSCTL, "vm.k8999", ""), "");
	/* What was too much or could not be followed is named. */
	assert_non_null(strstr(w->machine.config.unread.v, "/etc/sysctl.d/10-big.conf"));
	assert_non_null(strstr(w->machine.config.unread.v, "/etc/sysctl.d/20-loop.conf"));
	assert_non_null(strstr(w->machine.config.unread.v, "/etc/tmpfiles.d/newlines.conf"));
	assert_null(strstr(w->machine.config.unread.v, "30-odd"));
}

/* The facts go out as JSON and come back the same. */
static void as_json(void **state)
{
	struct world *w = *state;
	struct config back = { 0 };
	struct err e = { 0 };
	json_t *out, *again;

	root(w, "/etc/sysctl.d/x.conf", "vm.a=1\nvm.b=\xff\n-vm.c\n");
	root(w, "/etc/udev/rules.d/x.rules", "KERNEL==\"a\", ATTR{b}=\"c\"\n");
	probe_it(w);
	out = shape_object_json(&config_shape, &w->machine.config);
	assert_int_equal(shape_read(&w->arena, &config_shape, out, &back, &e), 0);
	again = shape_object_json(&config_shape, &back);
	assert_true(json_equal(out, again));
	assert_int_equal(back.assignments.n, 4);
	json_decref(out);
	json_decref(again);
}

/* Nobody asks what nobody needs. */
static void not_asked(void **state)
{
	struct world *w = *state;

	root(w, "/etc/sysctl.d/x.conf", "vm.a=1\n");
	probe_it(w);
	w->machine.config = (struct config){ 0 };
	w->probe.config = false;
	probe_machine(&w->probe);
	assert_int_equal(w->machine.config.assignments.n, 0);
	assert_int_equal(w->machine.config.unread.f.seen, SEEN_UNASKED);
	w->probe.config = true;
	probe_machine(&w->probe);
	assert_int_equal(w->machine.config.assignments.n, 1);
}

/* A recording of the files answers as they did, from a tar. */
static void recorded(void **state)
{
	struct err e = { 0 };
	struct world *w = *state;
	char path[512];
	const char *before;

	root(w, "/etc/sysctl.d/x.conf", "vm.a=1\n");
	root(w, "/etc/sysctl.conf", "vm.b=2\n");
	root_link(w, "/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
	root_link(w, "/etc/sysctl.d/50-none.conf", "/dev/null");
	root(w, "/etc/udev/rules.d/x.rules", "KERNEL==\"a\", ATTR{b}=\"c\"\n");
	root(w, "/etc/default/grub", "GRUB_CMDLINE_LINUX=\"a=b\"\n");
	probe_it(w);
	before = listing(w);
	w->machine.config = (struct config){ 0 };
	w->host = w->probe.h = record_open(w->host);
	probe_config(&w->probe);
	box_path(&w->box, "copy.tar", path, sizeof(path));
	assert_int_equal(record_save(w->host, path, true, &e), 0);
	host_close(w->host);
	w->host = w->probe.h = host_open_capture(path, &e);
	assert_non_null(w->host);
	w->machine.config = (struct config){ 0 };
	probe_config(&w->probe);
	assert_string_equal(listing(w), before);
	assert_string_equal(w->machine.config.unread.v, "");
}

static struct host *hgx(void)
{
	struct err e = { 0 };
	struct host *h = host_open_capture(MACHINES "/hgx-h100", &e);

	if (!h)
		fail_msg("%s", e.text);
	return h;
}

/* Whatever is refused: what is there still is right, and a file that could not be read is named. */
static void every_failure(void **state)
{
	static const int codes[] = { -EACCES, -EIO };
	struct world *w = *state;
	size_t all = 0, operations = 0, named = 0;

	for (size_t at = 0; at <= operations; at++)
		for (size_t k = 0; k < 2; k++) {
			struct host *h = fault_open(
				hgx(), (struct fault_plan){ .at = at, .code = codes[k] });
			struct config *c = &w->machine.config;
			const char *where;

			w->machine.software.services = (struct list){ 0 };
			add_service(w, "tuned.service", 1, 1);
			*c = (struct config){ 0 };
			w->probe = (struct probe){ .h = h, .a = &w->arena, .m = &w->machine };
			probe_config(&w->probe);
			if (!at) {
				operations = fault_operations(h);
				all = c->assignments.n;
				assert_true(all > 10);
			}
			assert_true(c->assignments.n <= all);
			where = fault_where(h);
			if (c->assignments.n < all && str_ends(where, "tuned/active_profile"))
				assert_false(seen_ok(&c->tuned_profile.f));
			else if (c->assignments.n < all && codes[k] == -EACCES) {
				if (!strstr(c->unread.v, where))
					fail_msg("%s is not named in \"%s\"", where, c->unread.v);
				named++;
			}
			host_close(h);
		}
	assert_true(named > 5);
}

/* --- the user's own connection ---------------------------------------------------------------- */

static const char *links_for(struct world *w, const char *connection)
{
	char env[256];

	snprintf(env, sizeof(env), "{\"\": {\"SSH_CONNECTION\": \"%s\"}}", connection);
	box_file(&w->box, "c/api/env.json", env);
	probe_it(w);
	w->machine.net.nics = (struct list){ 0 };
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "bond0.7", "eth0", "eth9" };
		static const char *const ips[] = { "10.0.0.3/24", "", "10.0.0.30/24" };
		struct nic *n = list_add(&w->arena, &w->machine.net.nics, sizeof(*n));

		n->name = names[i];
		n->ipv4 = fact_str_of(ips[i], "", "x");
	}
	probe_session(&w->probe);
	host_close(w->host);
	w->host = NULL;
	return fact_text(&w->machine.config.session.links,
			 seen_name(w->machine.config.session.links.f.seen));
}

static void sessions(void **state)
{
	static const struct {
		const char *connection, *links;
	} rows[] = {
		{ "10.0.0.9 5555 10.0.0.3 22", "bond0.7 bond0 eth0 eth1" },
		{ "10.0.0.9 5555 10.0.0.30 22", "eth9" },
		{ "::ffff:10.0.0.9 5555 ::ffff:10.0.0.3 22", "bond0.7 bond0 eth0 eth1" },
		{ "fe80::1 5555 fe80::2%eth9 22", "eth9" },
		{ "2001:db8::9 5555 2001:db8::3 2222", "bond0.7 bond0 eth0 eth1" },
		{ "10.0.0.9 5555 10.9.9.9 22", "error" },
		{ "10.0.0.9 5555 $(reboot) 22", "error" },
		{ "nonsense", "error" },
	};
	struct world *w = *state;

	box_folder(&w->box, "c/root/sys/class/net/bond0.7/lower_bond0");
	box_folder(&w->box, "c/root/sys/class/net/bond0/lower_eth0");
	box_folder(&w->box, "c/root/sys/class/net/bond0/lower_eth1");
	/* A circle, which no kernel makes. */
	box_folder(&w->box, "c/root/sys/class/net/eth1/lower_bond0.7");
	root(w, "/proc/net/if_inet6", "20010db8000000000000000000000003 02 40 00 80  bond0.7\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(links_for(w, rows[i].connection), rows[i].links);
}

/* Where sudo took the variable away, the kernel's table of connections says it. */
static void session_table(void **state)
{
	static const char head[] = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";
	static const struct {
		const char *tcp, *tcp6, *address;
	} rows[] = {
		/* 10.0.0.3:22 established, on a machine that is little-endian */
		{ "   0: 0300000A:0016 0900000A:15B3 01 00000000:00000000 00:00000000\n", "",
		  "10.0.0.3" },
		/* listening; another port; going out to port 22; broken */
		{ "   0: 00000000:0016 00000000:0000 0A 0\n"
		  "   1: 0300000A:0050 0900000A:15B3 01 0\n"
		  "   2: 0300000A:15B3 0900000A:0016 01 0\n"
		  "   3: 0300000A0:0016 0900000A:15B3 01 0\n   4: zz\n",
		  "", NULL },
		/* twice the same, and one by IPv6 */
		{ "   0: 0300000A:0016 0900000A:15B3 01 0\n   1: 0300000A:0016 0900000A:15B4 01 "
		  "0\n",
		  "   0: B80D0120000000000000000003000000:0016 "
		  "B80D0120000000000000000009000000:15B3 01 0\n",
		  "10.0.0.3 2001:db8::3" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct session *s = &w->machine.config.session;
		struct nic *n;

		root(w, "/proc/net/tcp", arena_printf(&w->arena, "%s%s", head, rows[i].tcp));
		root(w, "/proc/net/tcp6", arena_printf(&w->arena, "%s%s", head, rows[i].tcp6));
		probe_it(w);
		w->machine.net.nics = (struct list){ 0 };
		n = list_add(&w->arena, &w->machine.net.nics, sizeof(*n));
		n->name = "eth0";
		n->ipv4 = fact_str_of("192.0.2.1/24 10.0.0.3/8", "", "x");
		w->host->id.captured = false;
		probe_session(&w->probe);
		if (rows[i].address) {
			assert_string_equal(s->address.v, rows[i].address);
			assert_string_equal(s->links.v, "eth0");
		} else {
			assert_int_equal(s->links.f.seen, SEEN_ABSENT);
		}
		host_close(w->host);
		w->host = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sysctl_files, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(sysctl_conf, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(tmpfiles_and_modules, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(udev_rules, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(network_files, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(boot_arguments, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(near_names, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(tuned, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(tuned_last, world_setup, world_teardown),
		cmocka_unit_test(daemons),
		cmocka_unit_test_setup_teardown(hostile, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(as_json, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(not_asked, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(recorded, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(every_failure, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(sessions, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(session_table, world_setup, world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
