/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From findings to writes: rows of facts and the writes that follow from them; on every captured
 * machine and in every profile, writes of a sound shape or a sentence; and the law that after these
 * writes the same rules find nothing more to write.
 */
#include "box.h"

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"
#include "fake.h"
#include "machine/write/write.h"
#include "machine/knob/io.h"
#include "look/probe/probe.h"
#include "look/settings/check.h"

static const char *const machines[] = { "cpu-256",  "dev-vm",	"dgx-spark", "h200-x4",
					"hgx-h100", "igx-orin", "nothing" };

/* --- rows of facts ---------------------------------------------------------------------------- */

/* What should be written: "kind name[ of object] = value", "; "-separated; or, after "hand: ", a
 * part of the sentence. NULL: the finding does not fail. */
struct aim_row {
	const char *id, *facts, *reading, *writes;
	enum profile_id profile;
	struct recommendation want; /* of a profile file; .value NULL: none */
};

static struct fact_str read_given(void *ctx, struct arena *a, const struct knob *k)
{
	const struct aim_row *row = ctx;

	(void)a;
	(void)k;
	return row->reading ? (struct fact_str){ .f = { .seen = SEEN_OK }, .v = row->reading }
			    : (struct fact_str){ 0 };
}

static const char *aims_text(struct arena *a, const struct remediations *aims)
{
	TEXT_AUTO t = { 0 };

	if (aims->by_hand)
		text_printf(&t, "hand: %s", aims->by_hand);
	for (size_t i = 0; i < aims->n; i++) {
		const struct remediation *x = &aims->items[i];

		text_printf(&t, "%s%s %s%s%s = %s", i || aims->by_hand ? "; " : "",
			    knob_kind_name(x->knob.kind), x->knob.name,
			    *x->knob.object ? " of " : "", x->knob.object, x->value);
	}
	return arena_strdup(a, t.s ? t.s : "");
}

static void check_row(const struct aim_row *row, size_t i)
{
	struct arena a = { 0 };
	struct machine *m = fake_machine(&a, row->facts);
	struct profile_override override = { .s = setting_find(row->id),
					     .o = row->want,
					     .has_want = true };
	struct profile p = { .base = row->profile,
			     .only = (const char *[]){ row->id },
			     .n_only = 1,
			     .overrides = &override,
			     .n_overrides = row->want.value != NULL };
	struct findings f;
	struct remediations aims;
	const char *said, *why = NULL;

	if (!override.s)
		fail_msg("row %zu: no setting %s", i, row->id);
	settings_check(&a, m, &p, read_given, (void *)row, &f);
	if (f.items[0].v.kind != VERDICT_FAIL) {
		if (row->writes)
			fail_msg("row %zu, %s: %s (%s), not a failure", i, row->id,
				 verdict_name(f.items[0].v.kind), f.items[0].v.reason);
		arena_free(&a);
		return;
	}
	settings_remediations(&a, m, &p, &f.items[0], 0, read_given, (void *)row, &aims);
	for (size_t n = 0; n < aims.n; n++)
		if (!knob_allows(&a, &aims.items[n].knob, aims.items[n].value, &why))
			fail_msg("row %zu, %s: %s", i, row->id, why);
	said = aims_text(&a, &aims);
	if (!row->writes || (str_starts(row->writes, "hand: ")
				     ? !str_starts(said, "hand: ") || !strstr(said, row->writes + 6)
				     : strcmp(said, row->writes) != 0))
		fail_msg("row %zu, %s: \"%s\", expected \"%s\"", i, row->id, said,
			 row->writes ? row->writes : "(no failure)");
	arena_free(&a);
}

#define CHECK_ROWS(rows)                                                                           \
	for (size_t i_ = 0; i_ < sizeof(rows) / sizeof((rows)[0]); i_++)                           \
	check_row(&(rows)[i_], i_)

#define SPARK "'platform': {'kind': 'dgx-spark'}"
#define HGX "'platform': {'kind': 'hgx'}"
#define IGX "'platform': {'kind': 'igx-orin'}"
#define POLICY "{'cpu': {'policies': [{'index': 3, 'governor': 'powersave', 'max_khz': 2000000, "

static void test_cpu(void **state)
{
	static const struct aim_row rows[] = {
		{ "cpu.governor",
		  "{'cpu': {'policies': [{'index': 3, 'governor': 'powersave'}]}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/cpufreq/policy3/scaling_governor = performance",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.governor",
		  "{'cpu': {'policies': [{'index': 0, 'governor': 'userspace', 'governors': "
		  "'userspace schedutil'}]}}",
		  NULL,
		  "hand: supported: userspace schedutil",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.governor",
		  "{'cpu': {'policies': [{'index': 0, 'governor': 'powersave'}]}}",
		  NULL,
		  NULL,
		  PROFILE_BALANCED,
		  { 0 } },
		{ "cpu.frequency-cap",
		  POLICY "'hw_max_khz': 3900000}]}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/cpufreq/policy3/scaling_max_freq = 3900000",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.frequency-cap",
		  POLICY "'hw_max_khz': 3900000}]}}",
		  NULL,
		  NULL,
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "cpu.frequency-cap",
		  POLICY "'hw_max_khz': 3900000}]}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/cpufreq/policy3/scaling_max_freq = 1500000",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "1500000" } },
		{ "cpu.performance-limit",
		  "{'cpu': {'policies': [{'driver': 'intel_cpufreq'}], 'perf_max_pct': 50}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/intel_pstate/max_perf_pct = 100",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.boost",
		  "{'cpu': {'boost': 0}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/cpufreq/boost = 1",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.boost",
		  "{'cpu': {'boost': 1}}",
		  NULL,
		  "hand: names no value",
		  PROFILE_DEFAULT,
		  { .rel = WANT_NOT, .value = "1" } },
		{ "cpu.frequency-cap",
		  POLICY "'hw_max_khz': 3900000}]}}",
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_LEAST, .value = "1500000" } },
		{ "cpu.frequency-cap",
		  POLICY "'hw_max_khz': 3900000}]}}",
		  NULL,
		  "sysfs /sys/devices/system/cpu/cpufreq/policy3/scaling_max_freq = 1500000",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "1500000" } },
		{ "cpu.power-mode",
		  "{'cpu': {'power_mode': 2, 'power_mode_name': 'MODE_30W', 'power_mode_most': 0}}",
		  NULL,
		  "power-mode nvpmodel = 0",
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "cpu.power-mode",
		  "{'cpu': {'power_mode': 2, 'power_mode_name': 'MAXN', 'power_mode_most': 2}}",
		  NULL,
		  NULL,
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "cpu.power-mode",
		  "{'cpu': {'power_mode': 1}}",
		  NULL,
		  NULL,
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "cpu.power-mode",
		  "{'cpu': {'power_mode': 1, 'power_mode_most': 0}}",
		  NULL,
		  "power-mode nvpmodel = 3",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "3" } },
		{ "cpu.jetson-clocks",
		  "{'cpu': {'power_mode': 0, 'power_mode_most': 0}}",
		  "0",
		  "helper jetson-clocks = 1",
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "rdma.peermem",
		  "{" IGX ", 'gpu': {'gpus': [{'index': 0}]}, 'net': {'rdma': [{'device': "
		  "'mlx5_0'}], 'peermem': '!absent', 'ofed_version': '24.10'}}",
		  NULL,
		  "module nvidia-peermem = loaded",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "rdma.peermem",
		  "{" HGX ", 'gpu': {'gpus': [{'index': 0, 'cuda_dma_buf': 0}]}, 'net': {'rdma': "
		  "[{'device': 'mlx5_0'}], 'peermem': '!absent', 'ofed_version': '24.10'}}",
		  NULL,
		  "module nvidia-peermem = loaded",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "rdma.peermem",
		  "{" HGX ", 'gpu': {'gpus': [{'index': 0, 'cuda_dma_buf': 1}]}, 'net': {'rdma': "
		  "[{'device': 'mlx5_0'}], 'peermem': '!absent', 'ofed_version': '24.10'}}",
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "rdma.peermem",
		  "{" IGX ", 'gpu': {'gpus': [{'index': 0}]}, 'net': {'rdma': [{'device': "
		  "'mlx5_0'}], 'peermem': '!absent', 'ofed_version': '!absent'}}",
		  NULL,
		  "hand: EINVAL",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.cppc-auto-select",
		  "{" SPARK ", 'cpu': {'cppc_auto_sel_mode': 0, 'policies': [{'driver': "
		  "'cppc_cpufreq'}]}}",
		  NULL,
		  "boot-argument cppc_cpufreq.auto_sel_mode = 1",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.numa-balancing",
		  "{" HGX ", 'cpu': {'nodes': [{'index': 0}, {'index': 1}]}}",
		  "1",
		  "sysctl kernel.numa_balancing = 0",
		  PROFILE_TRAINING,
		  { 0 } },
		{ "cpu.numa-balancing",
		  "{'cpu': {'nodes': [{'index': 0}, {'index': 1}]}}",
		  "1",
		  NULL,
		  PROFILE_BALANCED,
		  { 0 } },
		{ "cpu.irq-affinity",
		  "{'cpu': {'online': '0-7', 'isolated': '6-7', 'default_smp_affinity': 'ff'}}",
		  NULL,
		  "boot-argument irqaffinity = 0-5",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.irq-affinity",
		  "{'cpu': {'online': '0-7', 'isolated': '6-7', 'default_smp_affinity': 'ff'}, "
		  "'kernel': {'cmdline': 'x', 'args': [{'name': 'irqaffinity', 'text': '0-7'}]}}",
		  NULL,
		  "hand: the kernel command line has irqaffinity=0-7",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.online",
		  "{'cpu': {'online': '0-3', 'present': '0-7'}}",
		  NULL,
		  "hand: /online",
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define STATE(n, us, off)                                                                          \
	"{'index': " #n ", 'name': 's', 'latency_us': " #us ", 'disabled': " #off "}"
#define IDLE(cpus, states)                                                                         \
	"{" SPARK ", 'cpu': {'idle': [{'cpus': '" cpus "', 'states': [" states "]}]}}"
#define DISABLE(cpu, st)                                                                           \
	"sysfs /sys/devices/system/cpu/cpu" #cpu "/cpuidle/state" #st "/disable = 1"

/* By exit latency and never by number; what is off already is left out. */
static void test_idle(void **state)
{
	static const struct aim_row rows[] = {
		{ "cpu.idle-states",
		  IDLE("0,4", STATE(0, 0, 0) ", " STATE(1, 200, 0)),
		  NULL,
		  DISABLE(0, 1) "; " DISABLE(4, 1),
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "cpu.idle-states",
		  IDLE("2", STATE(0, 90, 0) ", " STATE(1, 10, 0) ", " STATE(2, 11, 1) ", " STATE(
				    3, 12, 0)),
		  NULL,
		  DISABLE(2, 0) "; " DISABLE(2, 3),
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "cpu.idle-states",
		  IDLE("1", STATE(0, 0, 0) ", " STATE(1, 10, 0)),
		  NULL,
		  NULL,
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "cpu.idle-states",
		  IDLE("1", STATE(1, 500, 0) ", " STATE(2, 1, 0) ", " STATE(3, 1, 0)),
		  NULL,
		  DISABLE(1, 2) "; " DISABLE(1, 3),
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "cpu.idle-states",
		  IDLE("1", STATE(0, 1, 0) ", " STATE(1, 60, 0)),
		  NULL,
		  DISABLE(1, 1),
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "50" } },
		{ "cpu.idle-states",
		  IDLE("1", STATE(1, 900, 0)),
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "cpu.idle-states",
		  IDLE("1", STATE(1, 900, 0)),
		  NULL,
		  NULL,
		  PROFILE_TRAINING,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define AVAILABLE "'memory': {'available_kb': 104857600}" /* 100 GiB */
#define UNIFIED "'gpu': {'gpus': [{'index': 0, 'integrated': 1}]}"

static void test_writeback(void **state)
{
	static const struct aim_row rows[] = {
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "20",
		  "sysctl vm.dirty_bytes = 17179869184",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE ", " UNIFIED "}",
		  "20",
		  "sysctl vm.dirty_bytes = 4294967296",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "20",
		  "sysctl vm.dirty_ratio = 40",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.dirty-ratio", "{" AVAILABLE "}", "10", NULL, PROFILE_DEFAULT, { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "vm.dirty_bytes=4294967296",
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "vm.dirty_bytes=44294967296",
		  "sysctl vm.dirty_bytes = 17179869184",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "vm.dirty_bytes=4294967296",
		  "sysctl vm.dirty_ratio = 40",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.dirty-ratio", "{" AVAILABLE "}", "40", NULL, PROFILE_PUBLISHED, { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "20",
		  "sysctl vm.dirty_ratio = 5",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "5" } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "vm.dirty_bytes=1073741824",
		  NULL,
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "5" } },
		/* Both are zero: the ratio alone can be put back to that. */
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "0",
		  "sysctl vm.dirty_ratio = 16",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-ratio",
		  "{" AVAILABLE "}",
		  "0",
		  "sysctl vm.dirty_ratio = 1",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "1048577" } },
		{ "memory.dirty-background-ratio",
		  "{" AVAILABLE "}",
		  "0",
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-background-ratio",
		  "{" AVAILABLE "}",
		  "30",
		  "sysctl vm.dirty_background_ratio = 10",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-background-ratio",
		  "{}",
		  "30",
		  "sysctl vm.dirty_background_ratio = 10",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-background-ratio",
		  "{" AVAILABLE "}",
		  "vm.dirty_background_bytes=1073741824",
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.dirty-background-ratio",
		  "{" AVAILABLE "}",
		  "10",
		  "sysctl vm.dirty_background_bytes = 1073741824",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "1073741824" } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define POOL                                                                                       \
	"'memory': {'pools': [{'name': '1048576kB', 'node': -1, 'size_kb': 1048576, "              \
	"'total_pages': 1}]}"

static void test_memory(void **state)
{
	static const struct aim_row rows[] = {
		{ "memory.swappiness",
		  "{" HGX "}",
		  "60",
		  "sysctl vm.swappiness = 10",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.swappiness", "{" HGX "}", "1", NULL, PROFILE_DEFAULT, { 0 } },
		{ "memory.swappiness",
		  "{" HGX "}",
		  "1",
		  "sysctl vm.swappiness = 10",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.swappiness", "{}", "60", NULL, PROFILE_DEFAULT, { 0 } },
		{ "memory.swappiness",
		  "{" HGX "}",
		  "60",
		  "sysctl vm.swappiness = 10",
		  PROFILE_INFERENCE,
		  { 0 } },
		{ "memory.thp-enabled",
		  "{'memory': {'thp_enabled': 'never'}}",
		  NULL,
		  "sysfs /sys/kernel/mm/transparent_hugepage/enabled = madvise",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.thp-enabled",
		  "{'memory': {'thp_enabled': 'always'}}",
		  NULL,
		  "sysfs /sys/kernel/mm/transparent_hugepage/enabled = madvise",
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "memory.thp-enabled",
		  "{" HGX ", 'memory': {'thp_enabled': 'madvise'}}",
		  NULL,
		  "sysfs /sys/kernel/mm/transparent_hugepage/enabled = always",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.overcommit",
		  "{" HGX "}",
		  "2",
		  "sysctl vm.overcommit_memory = 0",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.swappiness",
		  "{}",
		  "60",
		  "hand: names no value",
		  PROFILE_DEFAULT,
		  { .rel = WANT_NOT, .value = "60" } },
		{ "memory.hugepages-1g",
		  "{" SPARK ", " POOL "}",
		  NULL,
		  "sysfs /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages = 4",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.hugepages-1g",
		  "{" HGX ", " POOL "}",
		  NULL,
		  NULL,
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "memory.hugepages-1g",
		  "{" SPARK ", " POOL "}",
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.memlock",
		  "{'memory': {'memlock_bytes': 65536, 'total_kb': 1000000}, 'net': {'rdma': "
		  "[{'name': 'mlx5_0/1'}]}}",
		  NULL,
		  "hand: \"sudo gputune persist install --only memory.memlock\"",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "memory.memlock",
		  "{'memory': {'memlock_bytes': 65536, 'total_kb': 1000000, 'memlock_kept': "
		  "'present'}, 'net': {'rdma': [{'name': 'mlx5_0/1'}]}}",
		  NULL,
		  "hand: log in again",
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define DISK(more)                                                                                 \
	"{'storage': {'disks': [{'name': 'sda', 'role': 'disk', 'size_bytes': 1000000, " more "}]" \
	"}}"

static void test_disk(void **state)
{
	static const struct aim_row rows[] = {
		{ "disk.scheduler",
		  DISK("'transport': 'nvme', 'scheduler': 'kyber', 'schedulers': 'none kyber'"),
		  NULL,
		  "sysfs /sys/block/sda/queue/scheduler = none",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "disk.scheduler",
		  DISK("'transport': 'sata', 'rotational': 1, 'scheduler': 'none', 'schedulers': "
		       "'none bfq'"),
		  NULL,
		  "sysfs /sys/block/sda/queue/scheduler = bfq",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "disk.scheduler",
		  DISK("'transport': 'sata', 'rotational': 1, 'scheduler': 'none', 'schedulers': "
		       "'none kyber'"),
		  NULL,
		  "hand: supported: none kyber",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "disk.nr-requests",
		  DISK("'transport': 'usb-storage', 'nr_requests': 2, 'queue_depth': 1, "
		       "'scheduler': "
		       "'mq-deadline', 'schedulers': 'none mq-deadline'"),
		  NULL,
		  "hand: no value to write",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "disk.nr-requests",
		  DISK("'transport': 'usb-storage', 'nr_requests': 2, 'queue_depth': 1, "
		       "'scheduler': "
		       "'mq-deadline', 'schedulers': 'mq-deadline'"),
		  NULL,
		  "sysfs /sys/block/sda/queue/nr_requests = 256",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "disk.nr-requests",
		  DISK("'transport': 'sata', 'nr_requests': 16, 'queue_depth': 32, 'scheduler': "
		       "'bfq'"),
		  NULL,
		  "sysfs /sys/block/sda/queue/nr_requests = 32",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "disk.read-ahead",
		  "{" HGX
		  ", 'storage': {'disks': [{'name': 'sda', 'role': 'disk', 'size_bytes': 1000000, "
		  "'transport': 'nvme', 'read_ahead_kb': 128}]}}",
		  NULL,
		  "sysfs /sys/block/sda/queue/read_ahead_kb = 4096",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "zfs.autotrim",
		  "{'storage': {'zfs_version': '2.2.2', 'pools': [{'name': 'tank', 'autotrim': "
		  "'off'}]}}",
		  NULL,
		  "zfs-property autotrim of tank = on",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "zfs.arc-max",
		  "{" UNIFIED
		  ", 'memory': {'total_kb': 33554432}, 'storage': {'zfs_version': '2.2.2', "
		  "'zfs_arc_c_max_bytes': 30000000000}}",
		  NULL,
		  "module-parameter zfs.zfs_arc_max = 8589934592",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "zfs.arc-max",
		  "{" UNIFIED ", 'memory': {'total_kb': 125829120}, 'storage': {'zfs_version': "
		  "'2.2.2', 'zfs_arc_c_max_bytes': 90000000000}}",
		  NULL,
		  "module-parameter zfs.zfs_arc_max = 17179869184",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "zfs.arc-max",
		  "{" UNIFIED ", 'memory': {'total_kb': 125829120}, 'storage': {'zfs_version': "
		  "'2.2.2', 'zfs_arc_c_max_bytes': 90000000000, 'zfs_arc_max_bytes': 17179869184}}",
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define NIC(more)                                                                                  \
	"{" IGX ", 'net': {'nics': [{'name': 'e0', 'pci': '0000:01:00.0', 'operstate': 'up', "     \
	"'speed_mbps': 100000, " more "}]}}"

/* An adapter of the second socket, two of whose interrupts the first one serves. */
#define IRQS(more)                                                                                 \
	"{'cpu': {'nodes': [{'index': 0, 'cpus': '0-7', 'distance': '10 32'}, {'index': 1, "       \
	"'cpus': '8-15', 'distance': '32 10'}]}, 'gpu': {'gpus': [{'index': 0}]}" more             \
	", 'net': {'nics': [{'name': 'e0', 'pci': '0000:01:00.0', 'operstate': 'up', "             \
	"'speed_mbps': 100000, 'numa_node': 1, 'channels': 16, 'rps': 'rx-0=00000000,00000f00 "    \
	"rx-7=00000001,0000ffff', 'irqs': 9, 'irq_cpus': '0-9', 'irqs_away': '1:0 7:3-5'}]}}"

/* Three rails with RoCE, and which priorities each pauses. */
#define RAIL(n, more)                                                                              \
	"{'name': 'e" n "', 'pci': '0000:0" n ":00.0', 'operstate': 'up', 'speed_mbps': 400000, "  \
	"'driver': 'mlx5_core', 'pfc': " more "}"
#define RAIL_RDMA(n) "{'name': 'm" n "/1', 'netdev': 'e" n "', 'link_layer': 'Ethernet'}"
#define RAILS(x, y, z, more)                                                                       \
	"{'net': {'nics': [" RAIL("0", "'" x "'" more) ", " RAIL("1", "'" y "'") ", " RAIL(        \
		"2",                                                                               \
		"'" z                                                                              \
		"'") "], 'rdma': [" RAIL_RDMA("0") ", " RAIL_RDMA("1") ", " RAIL_RDMA("2") "]}}"

static void test_net(void **state)
{
	static const struct aim_row rows[] = {
		{ "net.tcp-rmem",
		  NIC("'mtu_bytes': 1500"),
		  "4096 131072 6291456",
		  "sysctl net.ipv4.tcp_rmem = 4096 131072 16777216",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "net.tcp-wmem",
		  NIC("'mtu_bytes': 1500"),
		  "1 2 3",
		  "sysctl net.ipv4.tcp_wmem = 1 2 33554432",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_LEAST, .value = "33554432" } },
		{ "net.tcp-rmem",
		  NIC("'mtu_bytes': 1500"),
		  "1 2 3",
		  NULL,
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "net.rmem-max", "{}", "33554432", NULL, PROFILE_DEFAULT, { 0 } },
		{ "net.rmem-max",
		  "{}",
		  "33554432",
		  "sysctl net.core.rmem_max = 16777216",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "nic.mtu",
		  NIC("'mtu_bytes': 1500, 'max_mtu_bytes': 9978"),
		  NULL,
		  "link mtu of e0 = 9000",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.mtu",
		  NIC("'mtu_bytes': 1500, 'max_mtu_bytes': 1500"),
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.mtu",
		  NIC("'mtu_bytes': 1500, 'max_mtu_bytes': 9100"),
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_LEAST, .value = "9500" } },
		{ "nic.mtu",
		  NIC("'mtu_bytes': 1500, 'bond_master': 'bond0'"),
		  NULL,
		  "hand: bond0",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.mtu",
		  NIC("'mtu_bytes': 1500, 'max_mtu_bytes': 9978"),
		  NULL,
		  "link mtu of e0 = 4200",
		  PROFILE_DEFAULT,
		  { .rel = WANT_ONE_OF, .value = "4200 9000" } },
		{ "nic.rings",
		  NIC("'rx_ring': 512, 'rx_ring_max': 8192, 'tx_ring': 512, 'tx_ring_max': 8192, "
		      "'rx_missed': 5000"),
		  NULL,
		  "link rx-ring of e0 = 8192; link tx-ring of e0 = 8192",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.rps",
		  IRQS(""),
		  NULL,
		  "sysfs /sys/class/net/e0/queues/rx-0/rps_cpus = 00000000,00000000; "
		  "sysfs /sys/class/net/e0/queues/rx-7/rps_cpus = 00000000,00000000",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.irq-affinity",
		  IRQS(""),
		  NULL,
		  "link irq-1 of e0 = 8-15; link irq-7 of e0 = 8-15",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.irq-affinity",
		  IRQS(", 'software': {'services': [{'name': 'irqbalance.service', 'active': 1}]}"),
		  NULL,
		  "hand: irqbalance is running and would move the interrupts",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.pfc",
		  RAILS("none", "3", "3", ""),
		  NULL,
		  "link pfc of e0 = 3",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.pfc",
		  RAILS("none", "3", "4", ""),
		  NULL,
		  "hand: give all rails the switch's priority",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.pfc",
		  RAILS("none", "none", "none", ""),
		  NULL,
		  "link pfc of e0 = 3",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "3" } },
		{ "nic.pfc",
		  RAILS("none", "3", "3", ", 'dcbx': 'firmware'"),
		  NULL,
		  "hand: the firmware negotiates PFC",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.coalesce",
		  NIC("'rx_coalesce_us': 8, 'adaptive_rx': 1"),
		  NULL,
		  "link adaptive-rx of e0 = 0; link rx-usecs of e0 = 0",
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "nic.coalesce",
		  NIC("'rx_coalesce_us': 0, 'adaptive_rx': 1"),
		  NULL,
		  "link adaptive-rx of e0 = 0",
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "nic.coalesce",
		  NIC("'rx_coalesce_us': 8, 'adaptive_rx': 1"),
		  NULL,
		  NULL,
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define CX "{'name': '0000:01:00.0', 'vendor': 5555, 'class': 131072, 'mrrs_bytes': 512}"
/* A switch with a GPU and a NIC: the port above both redirects. */
#define PORT(ctrl)                                                                                 \
	"{'gpu': {'gpus': [{'index': 0}]}, 'pci': ["                                               \
	"{'name': '0000:00:00.0', 'path': '/r/a', 'class': 394240, 'port_type': 5, 'acs_cap': "    \
	"'!absent'}, "                                                                             \
	"{'name': '0000:01:00.0', 'path': '/r/a/b', 'parent': '0000:00:00.0', 'class': 394240, "   \
	"'port_type': 6, 'acs_cap': 29, 'acs_ctrl': " #ctrl "}, "                                  \
	"{'name': '0000:02:00.0', 'path': '/r/a/b/c', 'parent': '0000:01:00.0', 'vendor': 4318, "  \
	"'class': 197120}, "                                                                       \
	"{'name': '0000:03:00.0', 'path': '/r/a/b/d', 'parent': '0000:01:00.0', 'vendor': 5555, "  \
	"'class': 131072}]}"
#define IOMMU(args)                                                                                \
	"{" HGX ", 'gpu': {'gpus': [{'index': 0}]}, 'net': {'rdma': [{'name': 'a/1'}]}, "          \
	"'kernel': {'iommu': 'DMA-FQ', 'cmdline': 'x', 'args': [" args "]}}"

static void test_pcie(void **state)
{
	static const struct aim_row rows[] = {
		{ "nic.mrrs",
		  "{" IGX ", 'pci': [" CX "]}",
		  NULL,
		  "pci mrrs of 0000:01:00.0 = 4096",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "nic.mrrs", "{" IGX ", 'pci': [" CX "]}", NULL, NULL, PROFILE_BALANCED, { 0 } },
		{ "nic.mrrs",
		  "{" IGX ", 'pci': [" CX "]}",
		  NULL,
		  "pci mrrs of 0000:01:00.0 = 1024",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "1024" } },
		{ "pcie.acs",
		  PORT(29),
		  NULL,
		  "pci acs-control of 0000:01:00.0 = 0x1",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "pcie.acs",
		  PORT(93),
		  NULL,
		  "pci acs-control of 0000:01:00.0 = 0x41",
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "pcie.acs", PORT(29), NULL, NULL, PROFILE_BALANCED, { 0 } },
		{ "pcie.acs", PORT(29), NULL, NULL, PROFILE_PUBLISHED, { 0 } },
		{ "pcie.acs", PORT(1), NULL, NULL, PROFILE_DEFAULT, { 0 } },
		{ "pcie.iommu",
		  IOMMU(""),
		  NULL,
		  "boot-argument iommu = pt",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "pcie.iommu",
		  IOMMU("{'name': 'iommu', 'text': 'force'}"),
		  NULL,
		  "hand: the kernel command line has iommu=force",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "pcie.iommu",
		  IOMMU(""),
		  NULL,
		  "boot-argument iommu = off",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "off" } },
		{ "pcie.iommu", IOMMU(""), NULL, NULL, PROFILE_BALANCED, { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define CPUS "'cpu': {'present': '0-19', 'online': '0-19'}"
#define ARGS(list) "'kernel': {'cmdline': 'x', 'args': [" list "]}"

static void test_boot(void **state)
{
	static const struct aim_row rows[] = {
		{ "boot.isolcpus",
		  "{" SPARK ", " CPUS ", " ARGS("") "}",
		  NULL,
		  "boot-argument isolcpus = 16-19",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.isolcpus",
		  "{" IGX ", 'cpu': {'present': '0-11'}, " ARGS("") "}",
		  NULL,
		  "boot-argument isolcpus = 8-11",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.isolcpus",
		  "{" IGX ", 'cpu': {'present': '0-7'}, " ARGS("") "}",
		  NULL,
		  "hand: the machine lacks CPUs that the profile",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.isolcpus",
		  "{" SPARK ", " CPUS ", " ARGS("") "}",
		  NULL,
		  "hand: the machine lacks CPUs that the profile",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "0-19" } },
		{ "boot.irqaffinity",
		  "{" SPARK ", " CPUS ", " ARGS("") "}",
		  NULL,
		  "boot-argument irqaffinity = 0-15",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.nohz-full",
		  "{" SPARK ", " CPUS ", " ARGS("") "}",
		  NULL,
		  "boot-argument nohz_full = 16-19",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.nohz-full",
		  "{" IGX ", " CPUS
		  ", " ARGS("{'name': 'isolcpus', 'text': 'managed_irq,9-11'}") "}",
		  NULL,
		  "boot-argument nohz_full = 9-11",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.nohz-full",
		  "{'cpu': {'nohz_full': '!absent'}, " ARGS(
			  "{'name': 'nohz_full', 'text': '9-11'}") "}",
		  NULL,
		  "hand: adaptive ticks",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "boot.rcu-nocbs",
		  "{" IGX ", " CPUS ", " ARGS("{'name': 'isolcpus', 'text': '9-11'}") "}",
		  NULL,
		  "boot-argument rcu_nocbs = 9-11",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.rcu-nocb-poll",
		  "{" SPARK ", " CPUS ", " ARGS("") "}",
		  NULL,
		  "boot-argument rcu_nocb_poll = ",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.isolation",
		  "{'cpu': {'online': '0-7', 'isolated': '0-3'}, " ARGS(
			  "{'name': 'isolcpus', 'text': '0-3'}") "}",
		  NULL,
		  "hand: isolcpus=1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0,4-7",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "boot.mitigations",
		  "{" ARGS("{'name': 'mitigations', 'text': 'off'}") "}",
		  NULL,
		  "hand: mitigations=off",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "boot.mitigations",
		  "{" ARGS("{'name': 'mitigations', 'text': 'off'}") "}",
		  NULL,
		  "hand: mitigations=off",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "boot.mitigations",
		  "{" ARGS("") "}",
		  NULL,
		  "boot-argument mitigations = off",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "off" } },
		{ "boot.init-on-alloc",
		  "{" HGX ", " ARGS("") "}",
		  NULL,
		  "boot-argument init_on_alloc = 0",
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "boot.init-on-alloc",
		  "{" HGX ", " ARGS("") "}",
		  NULL,
		  "boot-argument init_on_alloc = 0",
		  PROFILE_TRAINING,
		  { 0 } },
		{ "boot.init-on-alloc",
		  "{'platform': {'kind': 'hgx', 'virtual': 1}, " ARGS("") "}",
		  NULL,
		  NULL,
		  PROFILE_TRAINING,
		  { 0 } },
		{ "boot.pcie-bus",
		  "{" ARGS("{'name': 'pci', 'text': 'pcie_bus_perf'}") "}",
		  NULL,
		  "hand: pci=",
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define GPU(platform, more)                                                                        \
	"{" platform ", 'gpu': {'gpus': [{'index': 0, 'pci': '0000:18:00.0', " more "}]}}"
#define CLOCKS "'clock_sm_mhz': 345, 'clock_sm_max_mhz': 1980, 'util_gpu_pct': 0"
#define POWER(now)                                                                                 \
	"'power_limit_mw': " #now ", 'power_limit_default_mw': 300000, 'power_limit_max_mw': "     \
	"350000"
#define OF_GPU " of 0000:18:00.0 = "

static void test_gpu(void **state)
{
	static const struct aim_row rows[] = {
		{ "gpu.persistence-mode",
		  GPU(HGX, "'persistence': 0"),
		  NULL,
		  "nvml persistence-mode" OF_GPU "1",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "gpu.accounting-mode",
		  GPU(SPARK, "'accounting': 0"),
		  NULL,
		  "nvml accounting-mode" OF_GPU "1",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "gpu.compute-mode",
		  GPU(HGX, "'compute_mode': 'prohibited'"),
		  NULL,
		  "nvml compute-mode" OF_GPU "default",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "gpu.compute-mode",
		  GPU(HGX, "'compute_mode': 'default'"),
		  NULL,
		  "nvml compute-mode" OF_GPU "exclusive-process",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "exclusive-process" } },
		{ "gpu.sm-clock-lock",
		  GPU(HGX, CLOCKS),
		  NULL,
		  "nvml gpu-clock-lock" OF_GPU "1980,1980",
		  PROFILE_LOW_LATENCY,
		  { 0 } },
		{ "gpu.sm-clock-lock",
		  GPU(HGX, CLOCKS),
		  NULL,
		  "nvml gpu-clock-lock" OF_GPU "1500,1500",
		  PROFILE_DEFAULT,
		  { .rel = WANT_IS, .value = "1500" } },
		{ "gpu.sm-clock-lock",
		  GPU(HGX, "'clock_sm_mhz': 1900, 'clock_sm_max_mhz': 1980"),
		  NULL,
		  "nvml gpu-clock-lock" OF_GPU "0,1500",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "1500" } },
		{ "gpu.sm-clock-lock", GPU(HGX, CLOCKS), NULL, NULL, PROFILE_DEFAULT, { 0 } },
		{ "gpu.sm-clock-lock",
		  GPU(SPARK, CLOCKS),
		  NULL,
		  NULL,
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "gpu.mem-clock-lock",
		  GPU(IGX, "'clock_mem_mhz': 405, 'clock_mem_max_mhz': 8001"),
		  NULL,
		  "nvml memory-clock-lock" OF_GPU "8001,8001",
		  PROFILE_PUBLISHED,
		  { 0 } },
		{ "gpu.mem-clock-lock",
		  GPU(IGX, "'clock_mem_mhz': 405, 'clock_mem_max_mhz': 8001"),
		  NULL,
		  NULL,
		  PROFILE_BALANCED,
		  { 0 } },
		{ "gpu.vboost",
		  GPU(HGX, "'name': 'H200'"),
		  "0",
		  "helper vboost" OF_GPU "1",
		  PROFILE_TRAINING,
		  { 0 } },
		{ "gpu.power-limit",
		  GPU(HGX, POWER(250000)),
		  NULL,
		  "nvml power-limit" OF_GPU "300000",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "gpu.power-limit", GPU(HGX, POWER(320000)), NULL, NULL, PROFILE_DEFAULT, { 0 } },
		{ "gpu.power-limit",
		  GPU(HGX, POWER(320000)),
		  NULL,
		  "nvml power-limit" OF_GPU "350000",
		  PROFILE_MAX_PERFORMANCE,
		  { 0 } },
		{ "gpu.power-limit",
		  GPU(HGX, POWER(320000)),
		  NULL,
		  "nvml power-limit" OF_GPU "280000",
		  PROFILE_DEFAULT,
		  { .rel = WANT_AT_MOST, .value = "280" } },
		{ "gpu.power-limit",
		  GPU(HGX, POWER(300000) ", 'power_limit_enforced_mw': 200000"),
		  NULL,
		  "hand: find what limits the board",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "gpu.mig", GPU(HGX, "'mig': 1"), NULL, "hand: -mig 0", PROFILE_TRAINING, { 0 } },
		{ "gpu.ecc", GPU(HGX, "'ecc': 0"), NULL, "hand: reset", PROFILE_DEFAULT, { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

#define UNITS(list, more)                                                                          \
	"{" SPARK ", 'software': {'init': 'systemd', 'services': [" list "]}, " more "}"
#define UNIT(name_, enabled_, active_)                                                             \
	"{'name': '" name_ "', 'installed': 1, 'enabled': " #enabled_ ", 'active': " #active_ "}"
#define PERSISTENCED "nvidia-persistenced.service"
#define OFF_GPU "'gpu': {'gpus': [{'index': 0, 'persistence': 0}]}"

static void test_units(void **state)
{
	static const struct aim_row rows[] = {
		{ "service.persistenced",
		  UNITS(UNIT(PERSISTENCED, 0, 0), OFF_GPU),
		  NULL,
		  "unit " PERSISTENCED " = enabled active",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.persistenced",
		  UNITS(UNIT(PERSISTENCED, 1, 0), OFF_GPU),
		  NULL,
		  "unit " PERSISTENCED " = enabled active",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.persistenced",
		  UNITS(UNIT(PERSISTENCED, 1, 1), OFF_GPU),
		  NULL,
		  "hand: systemctl edit nvidia-persistenced",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.persistenced",
		  UNITS("", OFF_GPU),
		  NULL,
		  "hand: install",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.irqbalance",
		  UNITS(UNIT("irqbalance.service", 1, 1), "'cpu': {'isolated': '4-7'}"),
		  NULL,
		  "unit irqbalance.service = disabled inactive",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.fabric-manager",
		  UNITS("", "'pci': [{'name': '0000:05:00.0', 'vendor': 4318, 'class': 425984}]"),
		  NULL,
		  "hand: install the nvidia-fabricmanager",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.fabric-manager",
		  UNITS(UNIT("nvidia-fabricmanager.service", 0, 0),
			"'pci': [{'name': '0000:05:00.0', 'vendor': 4318, 'class': 425984}]"),
		  NULL,
		  "unit nvidia-fabricmanager.service = enabled active",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.spark-nic",
		  UNITS(UNIT("nvidia-spark-mlnx-firmware-manager.service", 0, 0), "'gpu': {}"),
		  NULL,
		  "unit nvidia-spark-mlnx-firmware-manager.service = enabled active",
		  PROFILE_DEFAULT,
		  { 0 } },
		{ "service.tuners",
		  UNITS(UNIT("tuned.service", 1, 1) ", " UNIT("tlp.service", 1, 1), "'gpu': {}"),
		  NULL,
		  "hand: keep one",
		  PROFILE_DEFAULT,
		  { 0 } },
	};

	(void)state;
	CHECK_ROWS(rows);
}

/* --- captured machines ------------------------------------------------------------------------ */

static struct fact_str read_knob(void *ctx, struct arena *a, const struct knob *k)
{
	return knob_read(ctx, a, k);
}

struct look {
	struct arena a;
	struct host *h;
	struct profile p;
	struct machine *m;
	struct findings f;
};

static void look_at(struct look *l, const char *machine, const char *overlay, enum profile_id p)
{
	char path[256];
	struct err e = { 0 };
	struct probe probe = { .a = &l->a };

	snprintf(path, sizeof(path), MACHINES "/%s", machine);
	l->h = overlay ? host_open_overlay(path, overlay, &e) : host_open_capture(path, &e);
	if (!l->h)
		fail_msg("%s: %s", machine, e.text);
	assert_int_equal(profile_load(&l->a, profile_name(p), &l->p, &e), 0);
	l->m = ARENA_NEW(&l->a, struct machine);
	probe.h = l->h;
	probe.m = l->m;
	probe_machine(&probe);
	settings_check(&l->a, l->m, &l->p, read_knob, l->h, &l->f);
}

static void look_end(struct look *l)
{
	host_close(l->h);
	arena_free(&l->a);
	memset(l, 0, sizeof(*l));
}

/* What a write can do is what its row says that it does. */
static void check_aim(struct arena *a, const char *machine, const struct setting *s,
		      const struct remediation *x)
{
	const char *why = NULL;
	bool boot = x->knob.kind == KNOB_BOOTARG;

	if (!knob_allows(a, &x->knob, x->value, &why))
		fail_msg("%s, %s: %s = %s: %s", machine, s->id, x->knob.name, x->value, why);
	if (boot != (s->effect == EFFECT_REBOOT))
		fail_msg("%s: effect %s of a %s", s->id, effect_name(s->effect),
			 knob_kind_name(x->knob.kind));
	if (s->knob == KNOB_NONE)
		fail_msg("%s is written, but has no knob", s->id);
}

static void test_shape(void **state)
{
	size_t writes = 0, sentences = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		for (enum profile_id p = 0; p < PROFILES; p++) {
			struct look l = { 0 };

			look_at(&l, machines[i], NULL, p);
			for (size_t k = 0; k < l.f.n; k++)
				for (size_t t = 0; t < l.f.items[k].n_targets; t++) {
					const struct finding *f = &l.f.items[k];
					struct remediations aims;

					settings_remediations(&l.a, l.m, &l.p, f, t, read_knob, l.h,
							      &aims);
					if (!aims.n == !aims.by_hand)
						fail_msg("%s, %s: %zu writes and %s", machines[i],
							 f->s->id, aims.n,
							 aims.by_hand ? aims.by_hand : "no word");
					if (f->v.kind != VERDICT_FAIL) {
						assert_int_equal(aims.n, 0);
						continue;
					}
					for (size_t n = 0; n < aims.n; n++)
						check_aim(&l.a, machines[i], f->s, &aims.items[n]);
					writes += aims.n;
					sentences += aims.by_hand != NULL;
				}
			look_end(&l);
		}
	printf("%zu writes, %zu sentences\n", writes, sentences);
	assert_true(writes > 2000 && sentences > 50);
}

/* What weakens protection, isolates CPUs or can stop a machine is asked for by name; and every row
 * writes something or says what a person does. */
static void test_rows(void **state)
{
	static const char *const dangerous[] = {
		"gpu.compute-mode", "gpu.sm-clock-lock", "pcie.acs",	       "pcie.iommu",
		"boot.isolcpus",    "boot.nohz-full",	 "boot.rcu-nocbs",     "boot.rcu-nocb-poll",
		"boot.irqaffinity", "boot.mitigations",	 "boot.init-on-alloc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(dangerous) / sizeof(dangerous[0]); i++)
		assert_int_equal(setting_find(dangerous[i])->risk, RISK_DANGER);
	SETTING_FOR_EACH (s) {
		if (s->knob == KNOB_NONE && (s->remediate || s->health || s->judge) &&
		    !s->by_hand && strcmp(s->id, "boot.secure-boot") != 0)
			fail_msg("%s: neither a knob nor a sentence", s->id);
		if (s->knob != KNOB_NONE && !s->remediate && s->judge && !s->n_opinions)
			fail_msg("%s: a knob, and nothing says what to write", s->id);
		for (size_t i = 0; i < s->n_opinions; i++)
			if (!s->opinions[i].because)
				fail_msg("%s: a wish of %s without a reason", s->id,
					 profile_name(s->opinions[i].profile));
	}
}

/* Every word or number of an opinion that goes into the row's own knob as it stands. */
static void check_wished(struct arena *a, const struct setting *s, const struct recommendation *o)
{
	const struct knob k = knob_make(a, s->knob, s->name, "0");
	const char *why = NULL;

	for (const char *p = o->value; p;) {
		size_t n = o->rel == WANT_ONE_OF ? strcspn(p, " ") : strlen(p);

		if (!knob_allows(a, &k, arena_strndup(a, p, n), &why))
			fail_msg("%s, %s: %s", s->id, profile_name(o->profile), why);
		p = p[n] ? p + n + strspn(p + n, " ") : NULL;
	}
}

/* What a row writes has bounds, and what its opinions ask for lies within them. */
static void test_bounds(void **state)
{
	struct arena a = { 0 };
	size_t rows = 0, wishes = 0;

	(void)state;
	SETTING_FOR_EACH (s) {
		struct knob k;

		if (s->knob == KNOB_NONE || s->effect == EFFECT_FIRMWARE)
			continue;
		k = knob_make(&a, s->knob, s->name, "0");
		/* CPUs of idle states are numbered, not named by the target. */
		if (strchr(k.name, '*'))
			k.name = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
		if (!knob_known(&k))
			fail_msg("%s writes %s, which has no bounds", s->id, k.name);
		rows++;
		for (size_t i = 0; !s->remediate && knob_path(&a, &k) && i < s->n_opinions; i++)
			if (s->opinions[i].value && s->opinions[i].rel != WANT_NOT &&
			    s->opinions[i].rel != WANT_LEAVE) {
				check_wished(&a, s, &s->opinions[i]);
				wishes++;
			}
	}
	assert_true(rows > 50 && wishes > 30);
	arena_free(&a);
}

/* The switch of Intel's own driver says the opposite of the others'. */
static void test_no_turbo(void **state)
{
	const struct setting *boost = setting_find("cpu.boost");
	struct profile_override off = { .s = boost,
					.o = { .rel = WANT_IS, .value = "0" },
					.has_want = true };
	struct look l = { 0 };
	struct remediations aims;

	(void)state;
	look_at(&l, "cpu-256", NULL, PROFILE_DEFAULT);
	l.p.only = (const char *[]){ boost->id };
	l.p.n_only = 1;
	l.p.overrides = &off;
	l.p.n_overrides = 1;
	settings_check(&l.a, l.m, &l.p, read_knob, l.h, &l.f);
	settings_remediations(&l.a, l.m, &l.p, &l.f.items[0], 0, read_knob, l.h, &aims);
	assert_string_equal(aims_text(&l.a, &aims),
			    "sysfs /sys/devices/system/cpu/intel_pstate/no_turbo = 1");
	look_end(&l);
}

/* What no second look at the same boot can show: boot arguments, and locks, which have no getter.
 */
static bool shows_later(const struct remediations *aims)
{
	for (size_t i = 0; i < aims->n; i++)
		if (aims->items[i].knob.kind != KNOB_BOOTARG &&
		    !strstr(aims->items[i].knob.name, "clock-lock"))
			return false;
	return true;
}

/* A capture without the place: a plan refuses what it could not read. */
static bool is_readable(struct look *l, const struct knob *k)
{
	struct err e = { 0 };
	const char *value;
	int r = knob_get(l->h, &l->a, k, &value, &e);

	return r == 0 || r == -ENODATA;
}

static size_t write_all(struct look *l, const char *machine)
{
	size_t written = 0;

	for (size_t k = 0; k < l->f.n; k++)
		for (size_t t = 0; t < l->f.items[k].n_targets; t++) {
			const struct finding *f = &l->f.items[k];
			struct remediations aims;

			settings_remediations(&l->a, l->m, &l->p, f, t, read_knob, l->h, &aims);
			for (size_t n = 0; n < aims.n; n++) {
				const struct remediation *x = &aims.items[n];
				struct err e = { 0 };

				if (x->knob.kind == KNOB_BOOTARG || !is_readable(l, &x->knob))
					continue;
				if (knob_set(l->h, &l->a, &x->knob, x->value, &e))
					fail_msg("%s, %s: %s", machine, f->s->id, e.text);
				written++;
			}
		}
	return written;
}

/* How many writes are left, said one by one. */
static size_t left_over(struct look *l, const char *machine, enum profile_id p)
{
	size_t left = 0;

	for (size_t k = 0; k < l->f.n; k++)
		for (size_t t = 0; t < l->f.items[k].n_targets; t++) {
			const struct finding *f = &l->f.items[k];
			struct remediations aims;

			settings_remediations(&l->a, l->m, &l->p, f, t, read_knob, l->h, &aims);
			if (!aims.n || shows_later(&aims) || !is_readable(l, &aims.items[0].knob))
				continue;
			print_message("%s, %s: %s on %s is still to be written: %s (%s)\n", machine,
				      profile_name(p), f->s->id, f->targets[t],
				      aims_text(&l->a, &aims), f->v.reason);
			left++;
		}
	return left;
}

/* After the writes of a profile the same profile finds nothing more to write. */
static void test_law(void **state)
{
	size_t written = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		for (enum profile_id p = 0; p < PROFILES; p++) {
			struct box b;
			struct look l = { 0 };

			box_make(&b);
			look_at(&l, machines[i], b.dir, p);
			written += write_all(&l, machines[i]);
			look_end(&l);
			look_at(&l, machines[i], b.dir, p);
			assert_int_equal(left_over(&l, machines[i], p), 0);
			look_end(&l);
			box_remove(&b);
		}
	printf("%zu writes, nothing left to write\n", written);
	assert_true(written > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu),	  cmocka_unit_test(test_idle),
		cmocka_unit_test(test_writeback), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_disk),	  cmocka_unit_test(test_net),
		cmocka_unit_test(test_pcie),	  cmocka_unit_test(test_boot),
		cmocka_unit_test(test_gpu),	  cmocka_unit_test(test_units),
		cmocka_unit_test(test_no_turbo),  cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rows),	  cmocka_unit_test(test_shape),
		cmocka_unit_test(test_law),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
