/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of fuzz_knobs, the knobs that it has, and what a person changes on it by hand. */
#ifndef FUZZ_KNOBS_MACHINE_H
#define FUZZ_KNOBS_MACHINE_H

#include <stdio.h>

#include "fuzz_kernel.h"
#include "tune/txn/txn.h"
#include "tune/watch/source.h"

#define GPU "0000:01:00.0"
#define QUEUE "/sys/block/nvme0n1/queue/"

enum { CHANGES = 8, CONFIG = 320 };

static const struct {
	char letter;
	const char *id;
	struct knob k;
} table[] = {
	{ 'A', "memory.swappiness", { KNOB_SYSCTL, "vm.swappiness", "" } },
	{ 'B', "memory.dirty-ratio", { KNOB_SYSCTL, "vm.dirty_ratio", "" } },
	{ 'C', "memory.dirty-bytes", { KNOB_SYSCTL, "vm.dirty_bytes", "" } },
	{ 'D', "network.rmem", { KNOB_SYSCTL, "net.ipv4.tcp_rmem", "" } },
	{ 'E', "disk.scheduler", { KNOB_SYSFS, QUEUE "scheduler", "nvme0n1" } },
	{ 'F', "disk.depth", { KNOB_SYSFS, QUEUE "nr_requests", "nvme0n1" } },
	{ 'G', "memory.thp", { KNOB_SYSFS, "/sys/kernel/mm/transparent_hugepage/enabled", "" } },
	{ 'H', "zfs.arc", { KNOB_MODPARAM, "zfs.zfs_arc_max", "" } },
	{ 'I', "boot.isolcpus", { KNOB_BOOTARG, "isolcpus", "" } },
	{ 'J', "boot.nosmt", { KNOB_BOOTARG, "nosmt", "" } },
	{ 'K', "gpu.persistence-mode", { KNOB_NVML, "persistence-mode", GPU } },
	{ 'L', "gpu.power-limit", { KNOB_NVML, "power-limit", GPU } },
	{ 'M', "gpu.sm-clock-lock", { KNOB_NVML, "gpu-clock-lock", GPU } },
	{ 'N', "gpu.compute-mode", { KNOB_NVML, "compute-mode", GPU } },
	{ 'O', "pci.mrrs", { KNOB_PCI, "mrrs", GPU } },
	{ 'P', "pci.acs", { KNOB_PCI, "acs-control", GPU } },
	{ 'Q', "network.mtu", { KNOB_LINK, "mtu", "eth0" } },
	{ 'R', "network.rx-ring", { KNOB_LINK, "rx-ring", "eth0" } },
	{ 'S', "network.channels", { KNOB_LINK, "channels", "eth0" } },
	{ 'T', "services.persistenced", { KNOB_UNIT, "nvidia-persistenced.service", "" } },
	{ 'U', "zfs.autotrim", { KNOB_ZPROP, "autotrim", "tank" } },
	{ 'V', "gpu.vboost", { KNOB_HELPER, "vboost", GPU } },
	{ 'W', "boot.sysctl", { KNOB_FILE, "/etc/sysctl.d/99-zz-gputune.conf", "" } },
	{ 'X', "boot.folder", { KNOB_FILE, "/etc/gputune/", "" } },
	{ 'Y', "cluster.address", { KNOB_ADDRESS, "192.168.100.1/24", "eth0" } },
	{ 'Z', "cluster.hosts", { KNOB_BLOCK, "/etc/hosts", "" } },
	{ 'c', "cluster.keys", { KNOB_BLOCK, "/etc/ssh/ssh_known_hosts", "" } },
	{ 'd', "network.link-type", { KNOB_FIRMWARE, "LINK_TYPE_P1", GPU } },
	{ 'g', "cpu.isolated", { KNOB_CPUSET, "isolated", "" } },
	{ 'l', "rdma.peermem", { KNOB_MODULE, "nvidia-peermem", "" } },
	{ 'm', "cpu.power-mode", { KNOB_POWER, "nvpmodel", "" } },
	{ 'n', "cpu.jetson-clocks", { KNOB_HELPER, "jetson-clocks", "" } },
	{ 'i',
	  "boot.unit",
	  { KNOB_FILE, "/etc/systemd/system/multi-user.target.wants/gputune-boot.service", "" } },
	{ 'j', "services.tuned", { KNOB_UNIT, "tuned.service", "" } },
	{ 'k', "memory.min-free", { KNOB_SYSCTL, "vm.min_free_kbytes", "" } },
	{ 'o', "network.irq", { KNOB_LINK, "irq-1", "eth0" } },
	{ 'p', "network.pfc", { KNOB_LINK, "pfc", "eth0" } },
};
enum { TABLE = sizeof(table) / sizeof(table[0]) };

static const char *const files[][2] = {
	{ "/proc/sys/kernel/random/boot_id", "b\n" },
	{ "/proc/sys/vm/swappiness", "60\n" },
	{ "/proc/sys/vm/dirty_ratio", "20\n" },
	{ "/proc/sys/vm/dirty_bytes", "0\n" },
	{ "/proc/sys/vm/min_free_kbytes", "67584\n" },
	{ "/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n" },
	{ "/sys/devices/pci0/nvme0n1/queue/scheduler", "none [mq-deadline] kyber\n" },
	{ "/sys/devices/pci0/nvme0n1/queue/nr_requests", "256\n" },
	{ "/sys/devices/pci0/nvme0n1/queue/wbt_lat_usec", "2000\n" },
	{ "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" },
	{ "/sys/module/zfs/parameters/zfs_arc_max", "0\n" },
	{ "/sys/devices/pci0/net/eth0/mtu", "1500\n" },
	{ "/sys/devices/pci0/msi_irqs/40", "msix\n" },
	{ "/sys/kernel/irq/40/hwirq", "526337\n" },
	{ "/proc/irq/40/smp_affinity_list", "0-7\n" },
	{ "/proc/irq/40/effective_affinity_list", "0\n" },
	{ "/etc/default/grub", "GRUB_TIMEOUT=0\n" },
	{ "/etc/hosts", "127.0.0.1 localhost\n" },
	{ "/etc/systemd/system.conf", "" },
	{ "/usr/lib/systemd/system/nvidia-persistenced.service",
	  "[Service]\nExecStart=/bin/x\n[Install]\nWantedBy=multi-user.target\n" },
	{ "/usr/lib/systemd/system/tuned.service",
	  "[Service]\nExecStart=/bin/x\n[Install]\nWantedBy=multi-user.target\n" },
	{ "/sys/fs/cgroup/system.slice/tuned.service/cgroup.events", "populated 1\nfrozen 0\n" },
	{ "/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n" },
	{ "/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n" },
};

static const char *const links[][2] = {
	{ "/sys/block/nvme0n1", "../devices/pci0/nvme0n1" },
	{ "/sys/class/net/eth0", "../../devices/pci0/net/eth0" },
	{ "/sys/devices/pci0/net/eth0/device", "../.." },
	{ "/sys/bus/pci/devices/" GPU, "../../../devices/pci0/" GPU },
	{ "/etc/systemd/system/multi-user.target.wants/tuned.service",
	  "/usr/lib/systemd/system/tuned.service" },
};

static const char *const folders[] = { "/etc/sysctl.d", "/etc/ssh", "/etc/kernel" };

static const char *const answers[][2] = {
	{ "?nvml  nvmlDeviceGetCount", "1" },
	{ "?nvml 0 nvmlDeviceGetPciInfo.busId", "00000000:01:00.0" },
	{ "?nvml 0 nvmlDeviceGetPersistenceMode", "0" },
	{ "?nvml 0 nvmlDeviceGetComputeMode", "0" },
	{ "?nvml 0 nvmlDeviceGetPowerManagementLimit", "700000" },
	{ "?nvml 0 nvmlDeviceGetPowerManagementLimitConstraints.minLimit", "200000" },
	{ "?nvml 0 nvmlDeviceGetPowerManagementLimitConstraints.maxLimit", "700000" },
	{ "?nvml 0 nvmlDeviceGetClockInfo(SM)", "345" },
	{ "?nvml 0 nvmlDeviceGetMaxClockInfo(SM)", "1980" },
	{ "?if eth0 ipv4", "10.0.0.1/24" },
	{ "?if eth0 max_mtu", "9000" },
	{ "?ethtool eth0 rx_pending", "512" },
	{ "?ethtool eth0 rx_max_pending", "8192" },
	{ "?ethtool eth0 combined_count", "8" },
	{ "?ethtool eth0 max_combined", "63" },
	{ "?ethtool eth0 rx_coalesce_usecs", "8" },
	{ "?dcb eth0 pfc", "none" },
	{ "?zpool tank autotrim", "off" },
	{ "?boost-slider " GPU " vboost", "0" },
	{ "?boost-slider " GPU " vboost.max", "4" },
	{ "?mlxconfig " GPU " LINK_TYPE_P1", "1" },
};

/* One input at work. */
struct play {
	struct source source;
	struct made k;
	const char *at, *end; /* of the steps */
	size_t steps;
	struct change changes[CHANGES];
	struct setting settings[CHANGES];
	size_t n;
	struct kernel_shot origin; /* before the first change of ours */
	bool applied, by_hand, planted;
	/* The watcher. */
	long long now, until;
	size_t waits, spins;
	const char *how; /* r, p, o or c, as watch_begin has them */
	struct map tries;
	int said[2]; /* a pair of sockets; -1: none */
};

static struct play *playing;

/* What does not hold, for whoever reads the log. */
static _Noreturn void broken(const char *what, const struct knob *k, const char *value)
{
	fprintf(stderr, "%s: %s %s %s: %s\n", what, k ? knob_kind_name(k->kind) : "",
		k && k->name ? k->name : "", k && k->object ? k->object : "", value ? value : "-");
	abort();
}

static void by_hand(struct play *p)
{
	p->by_hand = p->by_hand || p->applied;
}

static void answer_is(struct made *k, const char *key, const char *text)
{
	long long v;
	bool refused = *text == '!' && parse_i64(text + 1, &v) == 0 && v > 0 && v < 134;
	struct kernel_node *n = kernel_is(k, HOST_OTHER, key, text, strlen(text));

	n->mode = n->base_mode = parse_i64(text, &v) ? ANSWER_TEXT : ANSWER_INT;
	n->error = refused ? -(int)strtol(text + 1, NULL, 10) : 0;
}

/* Capability lists with a largest read request and access control. */
static void config_is(struct made *k)
{
	unsigned char c[CONFIG] = {
		0xde,		0x10,		[0x06] = 0x10,	[0x34] = 0x40,
		[0x40] = 0x10,	[0x42] = 0x02,	[0x48] = 0x10,	[0x49] = 0x29,
		[0x100] = 0x0d, [0x102] = 0x01, [0x104] = 0x5f, [0x106] = 0x1d
	};

	kernel_is(k, HOST_FILE, "/sys/devices/pci0/" GPU "/config", c, sizeof(c));
}

static void machine_is(struct made *k)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		kernel_is(k, HOST_FILE, files[i][0], files[i][1], strlen(files[i][1]));
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		kernel_is(k, HOST_LINK, links[i][0], links[i][1], strlen(links[i][1]));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		kernel_is(k, HOST_DIR, folders[i], "", 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		answer_is(k, answers[i][0], answers[i][1]);
	kernel_find(k, "/sys/fs/cgroup/system.slice/tuned.service/cgroup.events")->mode = 0444;
	config_is(k);
}

/* --- steps by hand ---------------------------------------------------------------------------- */

static void file_by_hand(struct play *p, const char *path, const char *value)
{
	struct made *k = &p->k;
	const char *text;
	unsigned mode;
	size_t len;

	if (*path != '/' || !path[1] || strstr(path, "//") || str_ends(path, "/") ||
	    strstr(path, "/.") || strlen(path) > 400)
		return;
	by_hand(p);
	p->planted = p->planted || str_starts(path, KERNEL_STATE);
	path = kernel_place(k, path, false);
	if (strcmp(value, "folder") != 0)
		kernel_drop(k, path);
	if (strcmp(value, "folder") == 0)
		kernel_is(k, HOST_DIR, path, "", 0);
	else if (str_starts(value, "link:"))
		kernel_is(k, HOST_LINK, path, value + 5, strlen(value + 5));
	else if (knob_file_parse(&k->now, value, &mode, &text, &len))
		kernel_is(k, HOST_FILE, path, text, len)->mode = mode;
	kernel_groups(k);
}

static void answer_by_hand(struct play *p, const char *question, const char *text)
{
	by_hand(p);
	answer_is(&p->k, arena_printf(&p->k.now, "?%s", question), text);
}

/* What was written to the journal can be read. */
static void journal_holds(struct play *p, struct journal *j)
{
	struct host *h = kernel_open(&p->k);
	struct err e = { 0 };

	if (journal_load(h, &p->k.now, false, j, &e))
		abort();
	if (!p->planted && j->bad_lines)
		broken("a line of the journal that cannot be read", NULL, NULL);
	host_close(h);
}

#endif
