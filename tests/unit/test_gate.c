/* SPDX-License-Identifier: Apache-2.0 */
/* What stands against a change, and in which order changes are made: rows of facts and changes. */
#include "fake.h"

#include <limits.h>

#include "base/text.h"
#include "tune/plan/plan.h"

/* "ID KIND NAME OBJECT BEFORE AFTER", "-" for none. */
enum { FIELDS = 6 };

static enum knob_kind kind_of(const char *name)
{
	for (int k = 0; k < KNOB_KINDS; k++)
		if (strcmp(knob_kind_name((enum knob_kind)k), name) == 0)
			return (enum knob_kind)k;
	fail_msg("no kind %s", name);
	return KNOB_NONE;
}

static void add_change(struct arena *a, struct plan *p, const char *text)
{
	char *copy = arena_strdup(a, text), *save = NULL, *f[FIELDS] = { 0 };
	struct change *c;

	for (int i = 0; i < FIELDS; i++) {
		f[i] = strtok_r(i ? NULL : copy, " ", &save);
		if (!f[i])
			fail_msg("%s: %d fields only", text, i);
		for (char *s = f[i]; (s = strchr(s, '~')); s++)
			*s = ' ';
	}
	p->changes = arena_grow(a, p->changes, p->n, sizeof(*p->changes));
	c = &p->changes[p->n++];
	*c = (struct change){ .s = setting_find(f[0]),
			      .target = "",
			      .knob = { kind_of(f[1]), f[2], strcmp(f[3], "-") ? f[3] : "" },
			      .before = strcmp(f[4], "-") ? f[4] : NULL,
			      .after = strcmp(f[5], "-") ? f[5] : "" };
	if (!c->s)
		fail_msg("no setting %s", f[0]);
	c->risk = c->s->risk;
	c->effect = c->s->effect;
}

struct row {
	const char *facts;
	const char *changes[3]; /* the last one is the row's */
	const char *allow;
	const char *code; /* NULL: nothing is against it */
	const char *says; /* part of the sentence */
};

static void check(const struct row *r, size_t i)
{
	struct arena a = { 0 };
	struct machine *m = fake_machine(&a, r->facts);
	struct plan_target w = { .allow = &r->allow, .n_allow = r->allow != NULL };
	struct plan p = { 0 };
	const struct change *c;

	for (size_t k = 0; k < 3 && r->changes[k]; k++)
		add_change(&a, &p, r->changes[k]);
	plan_gates(&a, m, &w, &p);
	c = &p.changes[p.n - 1];
	if (!c->gate != !r->code || (c->gate && strcmp(c->gate, r->code) != 0))
		fail_msg("row %zu: %s (%s), expected %s", i, c->gate ? c->gate : "no gate",
			 c->gate ? c->refusal : "", r->code ? r->code : "none");
	if (c->gate && !strstr(c->refusal, r->says))
		fail_msg("row %zu: \"%s\" does not say \"%s\"", i, c->refusal, r->says);
	arena_free(&a);
}

#define GPU                                                                                        \
	"{'gpu': {'gpus': [{'index': 0, 'pci': '0000:01:00.0', 'clock_graphics_max_mhz': 1980, "   \
	"'clock_mem_max_mhz': 2619, 'clock_sm_mhz': 1200, 'power_limit_mw': 500000, "              \
	"'power_limit_min_mw': 200000, 'power_limit_max_mw': 700000, 'processes': ["
#define BUSY                                                                                       \
	"{'index': 4711, 'kind': 'compute', 'command': 'python3'}, {'index': 9, 'kind': "          \
	"'graphics'}"
#define GPU_END "]}]}}"
#define LOCK "gpu.sm-clock-lock nvml gpu-clock-lock 0000:01:00.0 - "
#define MODE "gpu.compute-mode nvml compute-mode 0000:01:00.0 default "
#define LIMIT "gpu.power-limit nvml power-limit 0000:01:00.0 500000 "
#define PERSIST "gpu.persistence-mode nvml persistence-mode 0000:01:00.0 1 "

#define NIC                                                                                        \
	"{'config': {'session': {'address': '10.0.0.3', 'links': 'bond0 eth0 eth1'}}, 'net': "     \
	"{'nics': [{'name': 'eth0', 'max_mtu_bytes': 9978, 'rx_ring_max': 8192, 'tx_ring_max': "   \
	"4096, "                                                                                   \
	"'channels_max': 63, 'driver': 'mlx5_core'}, {'name': 'eth10', 'max_mtu_bytes': 9978}]}}"
#define UNPLACED "{'config': {'session': {'address': '10.0.0.3', 'links': '!error'}}}"

#define CPUS                                                                                       \
	"{'cpu': {'online': '0-15', 'possible': '0-15', 'nodes': [{'index': 0, 'cpus': '0-7'}, "   \
	"{'index': 1, 'cpus': '8-15'}], 'policies': [{'index': 0, 'governors': 'powersave "        \
	"performance', 'hw_min_khz': 800000, 'hw_max_khz': 3900000}]}}"
#define POLICY "/sys/devices/system/cpu/cpufreq/policy0/"

#define MEMORY                                                                                     \
	"{'memory': {'total_kb': 104857600, 'available_kb': 52428800, 'hugepage_size_kb': 2048}, " \
	"'cpu': {'nodes': [{'index': 0, 'mem_total_bytes': 53687091200, 'mem_free_bytes': "        \
	"21474836480}]}}"
#define POOL "memory.hugepages-1g sysfs /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages "
#define NODE                                                                                       \
	"memory.hugepages-1g sysfs "                                                               \
	"/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages "

#define DISK                                                                                       \
	"{'storage': {'disks': [{'name': 'sda', 'scheduler': 'mq-deadline', 'schedulers': "        \
	"'none mq-deadline', 'nr_requests': 2, 'queue_depth': 32, 'hw_sectors_kb': 512}]}}"
#define QUEUE "/sys/block/sda/queue/"

static const char empty[] = "{}";

static const struct row rows[] = {
	/* GPUs: limits */
	{ GPU GPU_END, { LOCK "1980,1980" }, "gpu.sm-clock-lock", NULL, NULL },
	{ GPU GPU_END, { LOCK "3003,3003" }, "gpu", GATE_LIMIT, "gpu0 reaches at most 1980 MHz" },
	{ GPU GPU_END, { LOCK "900,300" }, "gpu", GATE_LIMIT, "empty" },
	{ GPU GPU_END, { LOCK "unlocked" }, "gpu", NULL, NULL },
	{ GPU GPU_END,
	  { "gpu.mem-clock-lock nvml memory-clock-lock 0000:01:00.0 - 3000,3000" },
	  "gpu",
	  GATE_LIMIT,
	  "2619" },
	{ GPU GPU_END, { LIMIT "700000" }, NULL, NULL, NULL },
	{ GPU GPU_END, { LIMIT "700001" }, NULL, GATE_LIMIT, "at most 700000 mW" },
	{ GPU GPU_END, { LIMIT "100" }, NULL, GATE_LIMIT, "at least 200000 mW" },
	/* GPUs: danger and who may allow it */
	{ GPU GPU_END, { LOCK "1980,1980" }, NULL, GATE_ALLOW, "--allow gpu.sm-clock-lock" },
	{ GPU GPU_END, { LOCK "1980,1980" }, "gpu.sm", GATE_ALLOW, "explain" },
	{ GPU GPU_END, { LOCK "1980,1980" }, "gpu", NULL, NULL },
	/* GPUs: programs */
	{ GPU BUSY GPU_END,
	  { MODE "exclusive-process" },
	  NULL,
	  GATE_GPU_BUSY,
	  "2 programs (python3 4711, process 9)" },
	{ GPU BUSY GPU_END, { MODE "exclusive-process" }, "gpu.compute-mode", NULL, NULL },
	{ GPU GPU_END, { MODE "exclusive-process" }, NULL, GATE_ALLOW, "explain" },
	{ GPU BUSY GPU_END, { LIMIT "400000" }, NULL, GATE_GPU_BUSY, "--allow gpu.power-limit" },
	{ GPU BUSY GPU_END, { LIMIT "500000" }, NULL, NULL, NULL },
	{ GPU BUSY GPU_END, { LIMIT "600000" }, NULL, NULL, NULL },
	{ GPU BUSY GPU_END, { PERSIST "0" }, NULL, GATE_GPU_BUSY, "gpu0" },
	{ GPU BUSY GPU_END,
	  { "gpu.persistence-mode nvml persistence-mode 0000:01:00.0 0 1" },
	  NULL,
	  NULL,
	  NULL },
	{ GPU BUSY GPU_END,
	  { "gpu.persistence-mode nvml persistence-mode 0000:02:00.0 1 0" },
	  NULL,
	  NULL,
	  NULL },
	/* Both gates hold: the one about programs is named first. */
	{ GPU BUSY GPU_END, { LOCK "300,300" }, NULL, GATE_GPU_BUSY, "gpu0" },
	{ GPU BUSY GPU_END, { LOCK "1980,1980" }, NULL, GATE_ALLOW, "explain" },
	{ GPU BUSY GPU_END,
	  { "service.fabric-manager unit nvidia-fabricmanager.service - disabled enabled~active" },
	  NULL,
	  GATE_GPU_BUSY,
	  "python3" },
	/* unreadable; a lock has no getter */
	{ empty,
	  { "memory.swappiness sysctl vm.swappiness - - 10" },
	  NULL,
	  GATE_UNREADABLE,
	  "vm.swappiness" },
	{ empty, { "memory.swappiness sysctl vm.swappiness - 60 10" }, NULL, NULL, NULL },
	/* links */
	{ NIC, { "nic.mtu link mtu eth0 1500 9000" }, NULL, GATE_OWN_LINK, "10.0.0.3" },
	{ NIC, { "nic.mtu link mtu eth0 1500 9000" }, "nic.mtu", NULL, NULL },
	{ NIC, { "nic.mtu link mtu eth10 1500 9000" }, NULL, NULL, NULL },
	{ NIC, { "nic.mtu link mtu eth0 1500 9979" }, "nic", GATE_LIMIT, "at most 9978 bytes" },
	{ NIC, { "nic.mtu link mtu eth10 1500 60" }, "nic", GATE_LIMIT, "at least 68 bytes" },
	{ NIC, { "nic.rings link rx-ring eth0 512 8192" }, NULL, GATE_OWN_LINK, "eth0" },
	{ NIC, { "nic.rings link rx-ring eth0 512 8193" }, NULL, GATE_LIMIT, "8192" },
	{ NIC, { "nic.rings link tx-ring eth0 512 8192" }, NULL, GATE_LIMIT, "4096" },
	{ NIC, { "nic.rings link channels eth0 8 64" }, NULL, GATE_LIMIT, "63" },
	{ NIC, { "nic.coalesce link rx-usecs eth0 8 0" }, NULL, NULL, NULL },
	{ NIC,
	  { "nic.owner unit NetworkManager.service - enabled disabled" },
	  NULL,
	  GATE_OWN_LINK,
	  "bond0 eth0 eth1" },
	{ UNPLACED, { "nic.mtu link mtu eth5 1500 9000" }, NULL, GATE_OWN_LINK, "eth5" },
	{ empty, { "nic.mtu link mtu eth5 1500 9000" }, NULL, NULL, NULL },
	/* PCI and lockdown */
	{ "{'kernel': {'lockdown': 'integrity'}}",
	  { "nic.mrrs pci mrrs 0000:01:00.0 512 4096" },
	  "nic.mrrs",
	  GATE_LOCKDOWN,
	  "integrity" },
	{ "{'kernel': {'lockdown': 'none'}}",
	  { "nic.mrrs pci mrrs 0000:01:00.0 512 4096" },
	  NULL,
	  NULL,
	  NULL },
	{ empty, { "nic.mrrs pci mrrs 0000:01:00.0 512 3000" }, NULL, GATE_LIMIT, "power of two" },
	/* a boot argument takes it back */
	{ "{'kernel': {'args': [{'name': 'pci', 'text': 'noaer,pcie_bus_perf'}]}, 'pci': "
	  "[{'name': '0000:01:00.0', 'mps_bytes': 256}]}",
	  { "nic.mrrs pci mrrs 0000:01:00.0 512 4096" },
	  NULL,
	  GATE_OVERRIDDEN,
	  "pci=noaer,pcie_bus_perf" },
	{ "{'kernel': {'args': [{'name': 'pci', 'text': 'pcie_bus_performance'}]}, 'pci': "
	  "[{'name': '0000:01:00.0', 'mps_bytes': 256}]}",
	  { "nic.mrrs pci mrrs 0000:01:00.0 512 4096" },
	  NULL,
	  NULL,
	  NULL },
	{ "{'pci': [{'name': '0000:01:00.0', 'mps_bytes': 256}]}",
	  { "nic.mrrs pci mrrs 0000:01:00.0 512 4096",
	    "boot.pcie-bus boot-argument pci - not~set pcie_bus_perf" },
	  NULL,
	  GATE_OVERRIDDEN,
	  "nic.mrrs" },
	/* two changes of one plan */
	{ empty,
	  { "memory.swappiness sysctl vm.swappiness - 60 10",
	    "memory.swappiness sysctl vm.swappiness - 60 1" },
	  NULL,
	  GATE_OVERRIDDEN,
	  "sets vm.swappiness to 10" },
	{ empty,
	  { "memory.swappiness sysctl vm.swappiness - 60 10",
	    "memory.swappiness sysctl vm.swappiness - 60 10" },
	  NULL,
	  NULL,
	  NULL },
	{ empty,
	  { "memory.swappiness sysctl vm.swappiness - - 10",
	    "memory.swappiness sysctl vm.swappiness - 60 1" },
	  NULL,
	  NULL,
	  NULL },
	{ empty,
	  { "memory.dirty-ratio sysctl vm.dirty_ratio - 20 40",
	    "memory.dirty-ratio sysctl vm.dirty_bytes - 0 1000" },
	  NULL,
	  GATE_OVERRIDDEN,
	  "conflict: " },
	{ empty,
	  { "memory.thp-enabled sysfs /sys/kernel/mm/transparent_hugepage/enabled - never madvise",
	    "boot.arguments boot-argument transparent_hugepage - not~set always" },
	  NULL,
	  GATE_OVERRIDDEN,
	  "memory.thp-enabled" },
	{ empty,
	  { "memory.thp-enabled sysfs /sys/kernel/mm/transparent_hugepage/enabled - never madvise",
	    "boot.arguments boot-argument transparent_hugepage - not~set madvise" },
	  NULL,
	  NULL,
	  NULL },
	/* Said in words of the argument's own. */
	{ empty,
	  { "memory.swappiness sysctl kernel.numa_balancing - 1 0",
	    "boot.arguments boot-argument numa_balancing - not~set disable" },
	  NULL,
	  NULL,
	  NULL },
	{ empty,
	  { "memory.swappiness sysctl kernel.sched_autogroup_enabled - 1 0",
	    "boot.arguments boot-argument noautogroup - not~set set" },
	  NULL,
	  NULL,
	  NULL },
	/* CPUs left for the kernel's own work */
	{ CPUS, { "boot.isolcpus boot-argument isolcpus - not~set 2-7,9-15" }, "boot", NULL, NULL },
	{ CPUS,
	  { "boot.isolcpus boot-argument isolcpus - not~set 0-15" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "every CPU" },
	{ CPUS,
	  { "boot.nohz-full boot-argument nohz_full - not~set all" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "every CPU" },
	{ CPUS,
	  { "boot.isolcpus boot-argument isolcpus - not~set managed_irq,domain,0-3" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "CPU 0" },
	{ CPUS,
	  { "boot.rcu-nocbs boot-argument rcu_nocbs - not~set 8-N" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "node 1 (8-15)" },
	{ CPUS,
	  { "boot.isolcpus boot-argument isolcpus - not~set managed_irq,domain,4-7,9-15" },
	  "boot",
	  NULL,
	  NULL },
	{ CPUS,
	  { "boot.isolcpus boot-argument isolcpus - not~set 4-x" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "is not a list of CPUs" },
	{ empty,
	  { "boot.isolcpus boot-argument isolcpus - not~set 4-7" },
	  "boot",
	  GATE_HOUSEKEEPING,
	  "are unknown" },
	/* frequencies */
	{ CPUS,
	  { "cpu.governor sysfs " POLICY "scaling_governor - x performance" },
	  NULL,
	  NULL,
	  NULL },
	{ CPUS,
	  { "cpu.governor sysfs " POLICY "scaling_governor - x schedutil" },
	  NULL,
	  GATE_LIMIT,
	  "offers powersave performance, not schedutil" },
	{ CPUS,
	  { "cpu.frequency-cap sysfs " POLICY "scaling_max_freq - 1 3900001" },
	  NULL,
	  GATE_LIMIT,
	  "at most 3900000 kHz" },
	{ CPUS,
	  { "cpu.frequency-cap sysfs " POLICY "scaling_max_freq - 1 100" },
	  NULL,
	  GATE_LIMIT,
	  "at least 800000 kHz" },
	/* disks */
	{ DISK,
	  { "disk.scheduler sysfs " QUEUE "scheduler - none bfq" },
	  NULL,
	  GATE_LIMIT,
	  "offers none mq-deadline" },
	{ DISK, { "disk.nr-requests sysfs " QUEUE "nr_requests - 2 256" }, NULL, NULL, NULL },
	{ DISK,
	  { "disk.nr-requests sysfs " QUEUE "nr_requests - 2 4096" },
	  NULL,
	  GATE_LIMIT,
	  "2048 requests" },
	{ DISK,
	  { "disk.scheduler sysfs " QUEUE "scheduler - mq-deadline none",
	    "disk.nr-requests sysfs " QUEUE "nr_requests - 2 256" },
	  NULL,
	  GATE_LIMIT,
	  "at most 32 requests" },
	{ DISK,
	  { "disk.nr-requests sysfs " QUEUE "max_sectors_kb - 2 1024" },
	  NULL,
	  GATE_LIMIT,
	  "512 KiB" },
	{ DISK,
	  { "disk.read-ahead sysfs " QUEUE "read_ahead_kb - 128 99999999999" },
	  NULL,
	  GATE_LIMIT,
	  "at most" },
	/* memory */
	{ MEMORY, { POOL "- 0 40" }, NULL, NULL, NULL },
	{ MEMORY, { POOL "- 0 41" }, NULL, GATE_LIMIT, "at most 40 more" },
	{ MEMORY, { POOL "- 30 60" }, NULL, NULL, NULL },
	{ MEMORY, { POOL "- 60 0" }, NULL, NULL, NULL },
	{ MEMORY, { POOL "- 0 4000000" }, NULL, GATE_LIMIT, "free memory first" },
	{ MEMORY, { NODE "- 0 15" }, NULL, NULL, NULL },
	{ MEMORY, { NODE "- 0 16" }, NULL, GATE_LIMIT, "node 0" },
	/* What earlier changes take counts; what they are refused does not. */
	{ MEMORY,
	  { NODE "- 0 15", "memory.hugepages-1g sysctl vm.nr_hugepages - 0 12801" },
	  NULL,
	  GATE_LIMIT,
	  "at most 12800 more" },
	{ MEMORY,
	  { POOL "- 0 41", "memory.hugepages-1g sysctl vm.nr_hugepages - 0 12801" },
	  NULL,
	  NULL,
	  NULL },
	/* words and numbers that the kernel does not take */
	{ empty,
	  { "memory.thp-enabled sysfs /sys/kernel/mm/transparent_hugepage/enabled - never yes" },
	  NULL,
	  GATE_LIMIT,
	  "always madvise never" },
	{ empty, { "memory.swappiness sysctl vm.swappiness - 60 201" }, NULL, GATE_LIMIT, "200" },
	{ "{'kernel': {'release': '5.4.0-1'}}",
	  { "memory.swappiness sysctl vm.swappiness - 60 101" },
	  NULL,
	  GATE_LIMIT,
	  "100" },
	{ empty,
	  { "memory.dirty-ratio sysctl vm.dirty_ratio - 20 91" },
	  NULL,
	  GATE_LIMIT,
	  "1 to 90 %" },
	{ "{'memory': {'total_kb': 1024}}",
	  { "zfs.arc-max module-parameter zfs.zfs_arc_max - 0 1048576" },
	  NULL,
	  GATE_LIMIT,
	  "zfs_arc_max" },
};

static void gates(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], i);
}

static void bound(const char *id, const char *name, long long v, bool beyond)
{
	struct arena a = { 0 };
	struct row r = { .facts = empty, .code = beyond ? GATE_LIMIT : NULL, .says = "" };

	r.changes[0] = arena_printf(&a, "%s sysctl %s - 60 %lld", id, name, v);
	check(&r, (size_t)v);
	arena_free(&a);
}

/* The least and the most that is ever asked for, and one beyond each. */
static void bounds(void **state)
{
	static const struct {
		const char *id, *name;
		long long min, max;
	} limits[] = {
		{ "memory.swappiness", "vm.swappiness", 0, 200 },
		{ "memory.dirty-ratio", "vm.dirty_ratio", 1, 90 },
		{ "memory.dirty-ratio", "vm.dirty_background_ratio", 1, 90 },
		{ "memory.dirty-ratio", "vm.dirty_bytes", 1 << 20, 1ll << 40 },
		{ "memory.dirty-ratio", "vm.dirty_background_bytes", 1 << 20, 1ll << 40 },
		{ "memory.swappiness", "vm.vfs_cache_pressure", 1, 1000 },
		{ "memory.swappiness", "vm.zone_reclaim_mode", 0, 7 },
		{ "memory.swappiness", "vm.overcommit_memory", 0, 2 },
		{ "memory.swappiness", "kernel.sched_autogroup_enabled", 0, 1 },
		{ "net.rmem-max", "net.core.rmem_max", 2304, 1 << 30 },
		{ "net.rmem-max", "net.core.wmem_max", 4608, 1 << 30 },
		{ "net.rmem-max", "net.core.rmem_default", 2304, 1 << 28 },
		{ "net.rmem-max", "net.core.wmem_default", 4608, 1 << 28 },
		{ "net.rmem-max", "net.core.netdev_max_backlog", 100, 1000000 },
		{ "net.rmem-max", "net.core.somaxconn", 128, 1000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		bound(limits[i].id, limits[i].name, limits[i].min, false);
		bound(limits[i].id, limits[i].name, limits[i].max, false);
		bound(limits[i].id, limits[i].name, limits[i].min - 1, true);
		bound(limits[i].id, limits[i].name, limits[i].max + 1, true);
	}
}

/* A gate that is there already stays, and is not in the way of others. */
static void keeps(void **state)
{
	struct arena a = { 0 };
	struct plan p = { 0 };
	struct plan_target w = { 0 };

	(void)state;
	add_change(&a, &p, "memory.swappiness sysctl vm.swappiness - 60 10");
	p.changes[0].gate = GATE_UNREADABLE;
	p.changes[0].refusal = "said before";
	plan_gates(&a, fake_machine(&a, "{}"), &w, &p);
	assert_string_equal(p.changes[0].refusal, "said before");
	arena_free(&a);
}

/* --- order ------------------------------------------------------------------------------------ */

static void sorted(const char *const *in, const char *const *out)
{
	struct arena a = { 0 };
	struct plan p = { 0 }, want = { 0 };

	for (size_t i = 0; in[i]; i++) {
		add_change(&a, &p, in[i]);
		add_change(&a, &want, out[i]);
	}
	for (int round = 0; round < 2; round++) {
		plan_sort(&p);
		for (size_t i = 0; i < p.n; i++)
			if (!knob_equal(&p.changes[i].knob, &want.changes[i].knob) ||
			    strcmp(p.changes[i].after, want.changes[i].after) != 0)
				fail_msg("place %zu: %s %s, expected %s %s", i,
					 knob_text(&a, &p.changes[i].knob), p.changes[i].after,
					 knob_text(&a, &want.changes[i].knob),
					 want.changes[i].after);
	}
	arena_free(&a);
}

#define SWAP "memory.swappiness sysctl vm.swappiness - 60 10"
#define RATIO "memory.dirty-ratio sysctl vm.dirty_ratio - 20 40"
#define BYTES "memory.dirty-ratio sysctl vm.dirty_bytes - 0 0"
#define ISOLATE "boot.isolcpus boot-argument isolcpus - not~set 2-3"
#define STOP "service.irqbalance unit irqbalance.service - x disabled~inactive"
#define START "service.persistenced unit nvidia-persistenced.service - x enabled~active"
#define GIANT POOL "- 0 4"
#define HUGE_THP                                                                                   \
	"memory.thp-enabled sysfs /sys/kernel/mm/transparent_hugepage/enabled - never madvise"
#define SCHEDULER "disk.scheduler sysfs " QUEUE "scheduler - none mq-deadline"
#define REQUESTS "disk.nr-requests sysfs " QUEUE "nr_requests - 2 256"
#define OTHER "disk.nr-requests sysfs /sys/block/sdb/queue/nr_requests - 2 256"
#define GOVERNOR "cpu.governor sysfs " POLICY "scaling_governor - x performance"
#define CAP "cpu.frequency-cap sysfs " POLICY "scaling_max_freq - 1 3900000"
#define FLOOR "cpu.frequency-cap sysfs " POLICY "scaling_min_freq - 1 2000000"
#define PERSIST_ON "gpu.persistence-mode nvml persistence-mode 0000:01:00.0 0 1"
#define PERSIST_2 "gpu.persistence-mode nvml persistence-mode 0000:02:00.0 0 1"

static void order(void **state)
{
	(void)state;
	sorted((const char *const[]){ ISOLATE, SWAP, HUGE_THP, GIANT, START, STOP, NULL },
	       (const char *const[]){ STOP, START, GIANT, SWAP, HUGE_THP, ISOLATE, NULL });
	sorted((const char *const[]){ REQUESTS, OTHER, SWAP, SCHEDULER, NULL },
	       (const char *const[]){ SCHEDULER, REQUESTS, OTHER, SWAP, NULL });
	sorted((const char *const[]){ FLOOR, CAP, SWAP, GOVERNOR, NULL },
	       (const char *const[]){ GOVERNOR, CAP, FLOOR, SWAP, NULL });
	sorted((const char *const[]){ LOCK "1980,1980", PERSIST_2, PERSIST_ON, NULL },
	       (const char *const[]){ PERSIST_ON, LOCK "1980,1980", PERSIST_2, NULL });
	sorted((const char *const[]){ RATIO, SWAP, BYTES, NULL },
	       (const char *const[]){ RATIO, BYTES, SWAP, NULL });
	sorted((const char *const[]){ SWAP, NULL }, (const char *const[]){ SWAP, NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates),
		cmocka_unit_test(bounds),
		cmocka_unit_test(keeps),
		cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
