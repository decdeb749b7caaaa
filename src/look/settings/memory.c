/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: reclaim, transparent huge pages, limits. Explicit huge pages are in
 * memory_huge.c, writeback is in memory_writeback.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

static const struct opinion swappiness[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_AT_MOST, "10",
	  "keeps model pages resident while file cache can be dropped instead", NULL },
	{ PROFILE_DEFAULT, ON_GENERIC, WANT_LEAVE, NULL,
	  "worth changing only when swapping is measured", NULL },
	{ PROFILE_INFERENCE, ON_GENERIC, WANT_AT_MOST, "10",
	  "keeps model pages resident while file cache can be dropped instead (gain unmeasured)",
	  NULL },
	{ PROFILE_TRAINING, ON_GENERIC, WANT_AT_MOST, "10",
	  "keeps pages of the job resident while file cache can be dropped instead (gain "
	  "unmeasured)",
	  NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "10", "published as: swap is for emergencies only",
	  "S0" },
};
static const struct opinion thp[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "madvise always",
	  "programs that gain ask for it; always is right where it was measured", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "always",
	  "published as: critical for large model allocations", "S0" },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_ONE_OF, "madvise never",
	  "a page that is made huge while a program waits is a pause (unmeasured)", NULL },
};
static const struct opinion defrag[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "madvise defer+madvise defer never",
	  "always makes the allocating thread compact memory itself", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "always",
	  "set by the published script; its guide does not mention it", "S0" },
};
static const struct opinion cache_pressure[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it weighs directory entries and inodes, not file data; nothing is known to gain", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "50", "published as: models stay cached between runs",
	  "S0" },
};
static const struct opinion zone_reclaim[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "0",
	  "reclaiming locally before looking at another node stalls the allocator", NULL },
};
static const struct opinion overcommit[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "0 1",
	  "CUDA and Python reserve far more address space than they use; 2 refuses it", NULL },
};

static bool has_swap(const struct question *q, struct verdict *v)
{
	if (!seen_ok(&q->m->memory.swap_total_kb.f) || q->m->memory.swap_total_kb.v > 0)
		return true;
	verdict_na(v, CODE_NO_EFFECT, "no swap is configured");
	return false;
}

/* With the kernel's KHO reservation bug all of CMA is handed out at boot: registering memory then
 * fails. */
static void cma(const struct question *q, struct verdict *v)
{
	const struct memory *mem = &q->m->memory;

	if (!seen_ok(&mem->cma_total_kb.f) || !seen_ok(&mem->cma_free_kb.f)) {
		verdict_unseen(q, v,
			       seen_ok(&mem->cma_total_kb.f) ? &mem->cma_free_kb.f
							     : &mem->cma_total_kb.f,
			       "the kernel has no contiguous memory area");
		return;
	}
	v->current = arena_printf(q->a, "total %lld KiB, free %lld KiB", mem->cma_total_kb.v,
				  mem->cma_free_kb.v);
	if (mem->cma_total_kb.v == 0 && mem->cma_free_kb.v > 0)
		verdict_fail(
			v, "total >= free",
			"more contiguous memory is free than exists: the kexec-handover fault, "
			"with which "
			"registering memory for RDMA fails (kho=off on the command line cures it)");
	else
		verdict_pass(v, "consistent");
}

static void memlock(const struct question *q, struct verdict *v)
{
	bool free = seen_ok(&q->current.f) && strcmp(q->current.v, "-1") == 0;

	if (free)
		v->current = "unlimited";
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "no RDMA device: nothing needs much locked memory");
		return;
	}
	if (!seen_ok(&q->current.f)) {
		verdict_unseen(q, v, &q->current.f, NULL);
		return;
	}
	if (free) {
		verdict_pass(v, "RDMA may register what it needs");
	} else {
		verdict_fail(v, "unlimited",
			     "registering memory for RDMA fails above this limit (of this process; "
			     "a service may "
			     "have another)");
	}
}

static void shm(const struct question *q, struct verdict *v)
{
	long long bytes = fact_or(&q->m->memory.shm_size, -1);

	if (bytes < 0) {
		verdict_unseen(q, v, &q->m->memory.shm_size.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MiB", bytes >> 20);
	if (bytes > 64ll << 20)
		verdict_pass(v, "larger than a container's default");
	else
		verdict_fail(v, "> 64 MiB",
			     "a container's default of 64 MiB: data loaders with workers and NCCL "
			     "fail or fall back");
}

#define SYSCTL_ROW .scope = SCOPE_HOST, .knob = KNOB_SYSCTL, .effect = EFFECT_NOW

static const struct setting rows[] = {
	{ .id = "memory.cma-accounting",
	  .title = "Contiguous memory accounting",
	  .scope = SCOPE_HOST,
	  .health = true,
	  .read = "/proc/meminfo CmaTotal, CmaFree",
	  .not_when = "the kernel has no contiguous memory area",
	  .why = "A kernel fault of 2026 on DGX Spark leaves no memory that a NIC can register.",
	  .source = "field reports of DGX Spark owners, kernel 7.0.0-1019",
	  .severity = SEVERITY_HIGH,
	  .judge = cma,
	  .by_hand = "boot with kho=off until a kernel without the fault is installed" },
	{ .id = "memory.swappiness",
	  .title = "Swappiness",
	  SYSCTL_ROW,
	  .name = "vm.swappiness",
	  .not_when = "no swap is configured",
	  .why = "How readily programs' own pages are swapped out instead of file cache being "
		 "dropped. It frees no memory by "
		 "itself. Gain unmeasured.",
	  .note = "Some swap in use is no problem by itself; swapping in (pswpin of /proc/vmstat) "
		  "is.",
	  .source = "S0; vm.rst",
	  .not_shown = "it shows only when memory runs out, which no bench of ours brings about",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(swappiness),
	  .applies = has_swap },
	{ .id = "memory.thp-enabled",
	  .title = "Transparent huge pages",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/transparent_hugepage/enabled",
	  .of = &schema_memory,
	  .fact = "thp_enabled",
	  .not_when = "the kernel is built without transparent huge pages",
	  .why = "Fewer TLB misses for large host allocations. It does nothing for memory that "
		 "CUDA allocates on a discrete "
		 "GPU, and can waste memory that a unified-memory GPU needs.",
	  .note = "always is published with a figure of page sizes, not of a measurement.",
	  .source = "S0; transhuge.rst",
	  .shown_by = "memory-latency/256MiB:huge memory-bandwidth/triad copy/h2d-pageable",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(thp) },
	{ .id = "memory.thp-defrag",
	  .title = "Huge-page compaction on fault",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/transparent_hugepage/defrag",
	  .of = &schema_memory,
	  .fact = "thp_defrag",
	  .not_when = "the kernel is built without transparent huge pages",
	  .why = "With always a thread that allocates waits for reclaim and compaction.",
	  .source = "transhuge.rst; S0",
	  .shown_by = "memory-latency/256MiB:huge",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(defrag) },
	{ .id = "memory.vfs-cache-pressure",
	  .title = "Directory cache pressure",
	  SYSCTL_ROW,
	  .name = "vm.vfs_cache_pressure",
	  .why = "How readily directory entries and inodes are dropped, against page cache. File "
		 "data are not governed by it.",
	  .note = "50 is published to keep models cached; model data are page cache or ZFS ARC, "
		  "and on unified memory keeping "
		  "caches takes from CUDA.",
	  .source = "S0; vm.rst",
	  .not_shown = "it shows only when memory runs out, which no bench of ours brings about",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  OPINIONS(cache_pressure) },
	{ .id = "memory.zone-reclaim",
	  .title = "Zone reclaim",
	  SYSCTL_ROW,
	  .name = "vm.zone_reclaim_mode",
	  .not_when = "the kernel is built without NUMA",
	  .why = "Reclaims on the local node before allocating from another.",
	  .source = "vm.rst",
	  .shown_by = "model-load memory-bandwidth/triad",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(zone_reclaim) },
	{ .id = "memory.overcommit",
	  .title = "Overcommit policy",
	  SYSCTL_ROW,
	  .name = "vm.overcommit_memory",
	  .why = "2 refuses reservations beyond swap plus a share of memory, which CUDA's address "
		 "space exceeds.",
	  .source = "vm.rst",
	  .not_shown = "it decides whether memory is promised, not how fast it is",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_LOW,
	  OPINIONS(overcommit) },
	{ .id = "memory.memlock",
	  .title = "Locked-memory limit",
	  .scope = SCOPE_HOST,
	  .of = &schema_memory,
	  .fact = "memlock_bytes",
	  .unit = "bytes",
	  .not_when = "there is no RDMA device",
	  .why = "RDMA registers memory by locking it.",
	  .source = "NVIDIA DGX Spark playbooks; S3",
	  .severity = SEVERITY_LOW,
	  .judge = memlock,
	  .by_hand = "a limits.d file or LimitMEMLOCK=infinity of the service that uses RDMA, then "
		     "log in or start it again" },
	{ .id = "memory.shm-size",
	  .title = "Shared memory file system",
	  .scope = SCOPE_HOST,
	  .read = "statfs /dev/shm",
	  .why = "Data-loader workers and NCCL pass data through /dev/shm.",
	  .source = "S4",
	  .severity = SEVERITY_LOW,
	  .judge = shm,
	  .by_hand = "start the container with a larger --shm-size, or mount /dev/shm again with "
		     "size=" },
};

const struct setting_table settings_memory = SETTING_TABLE(rows);
