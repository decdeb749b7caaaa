/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: reclaim, huge pages, writeback, limits. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static const struct recommendation swappiness[] = {
	{ PROFILE_DEFAULT, ON_SPARK | ON_IGX | ON_HGX, WANT_AT_MOST, "10",
	  "keeps model pages resident while file cache can be dropped instead", NULL },
	{ PROFILE_DEFAULT, ON_GENERIC | ON_HOST, WANT_LEAVE, NULL,
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
static const struct recommendation thp[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "madvise always",
	  "programs that gain ask for it; always is right where it was measured", NULL },
	{ PROFILE_PUBLISHED, ON_GPU, WANT_IS, "always",
	  "published as: critical for large model allocations", "S0" },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_ONE_OF, "madvise never",
	  "a page that is made huge while a program waits is a pause (unmeasured)", NULL },
};
/* Grace with pages of 64 KiB. */
static bool want_thp(const struct rule_ctx *q, struct recommendation *o)
{
	if (fact_or(&q->m->memory.page_size, 0) < 65536 || q->profile == PROFILE_LOW_LATENCY)
		return false;
	*o = (struct recommendation){ .rel = WANT_ONE_OF,
				      .value = "madvise never",
				      .because =
					      "with pages of 64 KiB a huge page is 512 MiB, which "
					      "always would give to any program",
				      .source = "NVIDIA Grace performance tuning guide" };
	return true;
}

static const struct recommendation defrag[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_ONE_OF, "madvise defer+madvise defer never",
	  "always makes the allocating thread compact memory itself", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "always",
	  "set by the published script; its guide does not mention it", "S0" },
};
static const struct recommendation cache_pressure[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "it weighs directory entries and inodes, not file data; nothing is known to gain", NULL },
	{ PROFILE_PUBLISHED, ON_GPU, WANT_IS, "50", "published as: models stay cached between runs",
	  "S0" },
};
static const struct recommendation map_count[] = {
	{ PROFILE_DEFAULT, ON_SPARK, WANT_AT_LEAST, "1048576",
	  "programs that map many files, and debuggers of memory, fail beyond it", NULL },
	{ PROFILE_DEFAULT, ON_GPU, WANT_AT_LEAST, "524288",
	  "programs that map many files, and debuggers of memory, fail beyond it", NULL },
	{ PROFILE_DEFAULT, ON_HOST, WANT_LEAVE, NULL,
	  "search engines and games ask for more than the kernel's 65530; others need none", NULL },
};
static const struct recommendation zone_reclaim[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "0",
	  "reclaiming locally before looking at another node stalls the allocator", NULL },
};
static const struct recommendation overcommit[] = {
	{ PROFILE_DEFAULT, ON_GPU, WANT_ONE_OF, "0 1",
	  "CUDA and Python reserve far more address space than they use; 2 refuses it", NULL },
	{ PROFILE_DEFAULT, ON_HOST, WANT_LEAVE, NULL,
	  "2 keeps a database from memory that is not there, and breaks programs that reserve more "
	  "than they use: their makers say which",
	  NULL },
};

static bool has_swap(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *swap = &q->m->memory.swap_total_kb;

	if (is_hidden(q, v, &swap->f))
		return false;
	if (fact_or(swap, 1) <= 0)
		verdict_na(v, CODE_NO_EFFECT, "no swap is configured");
	return fact_or(swap, 1) > 0;
}

/* With the kernel's KHO reservation bug all of CMA is handed out at boot: registering memory then
 * fails. */
static void cma(const struct rule_ctx *q, struct verdict *v)
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
		verdict_fail(v, "total >= free",
			     "more contiguous memory is free than exists: the kexec-handover "
			     "fault, with which registering memory for RDMA fails (kho=off on the "
			     "command line cures it)");
	else
		verdict_pass(v, "consistent");
}

static void rule_memory_memlock(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *limit = &q->m->memory.memlock;
	long long least = memlock_least(q->m);

	if (fact_or(limit, 0) == MEMLOCK_UNLIMITED)
		v->current = "unlimited";
	else if (seen_ok(&limit->f) && limit->v >= 0)
		v->current = limit->v < 16 << 20 ? arena_printf(q->a, "%lld KiB", limit->v >> 10)
						 : arena_printf(q->a, "%lld MiB", limit->v >> 20);
	if (!has_rdma(q->m)) {
		verdict_na(v, CODE_NO_HARDWARE, "no RDMA device: nothing needs much locked memory");
		return;
	}
	if (!is_seen(q, v, &limit->f, NULL))
		return;
	if (limit->v < MEMLOCK_UNLIMITED)
		verdict_unknown(v, CODE_ERROR, "no limit can be below 0");
	else if (limit->v == MEMLOCK_UNLIMITED)
		verdict_pass(v, "RDMA may register what it needs");
	else if (least < 0)
		verdict_unseen(q, v, &q->m->memory.total_kb.f, NULL);
	else if (limit->v >= least)
		verdict_pass(v, "RDMA may register at least half of memory");
	else
		verdict_fail(
			v,
			arena_printf(q->a, "unlimited, or %lld MiB: half of memory", least >> 20),
			"registering memory for RDMA fails above this limit (of this process; "
			"a service may have another)");
}

static void shm(const struct rule_ctx *q, struct verdict *v)
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
		 "dropped. It frees no memory by itself. Gain unmeasured.",
	  .note = "Some swap in use is no problem by itself; swapping in (pswpin of /proc/vmstat) "
		  "is.",
	  .source = "S0; vm.rst",
	  .not_shown = "it shows only when memory runs out, which no bench of ours brings about",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(swappiness),
	  .applies = has_swap },
	{ .id = "memory.thp-enabled",
	  .title = "Transparent huge pages",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/transparent_hugepage/enabled",
	  .of = &memory_shape,
	  .fact = "thp_enabled",
	  .not_when = "the kernel is built without transparent huge pages",
	  .why = "Fewer TLB misses for large host allocations. It does nothing for memory that "
		 "CUDA allocates on a discrete GPU, and can waste memory that a unified-memory GPU "
		 "needs.",
	  .note = "always is published with a figure of page sizes, not of a measurement.",
	  .source = "S0; transhuge.rst",
	  .shown_by = "memory-latency/256MiB:huge memory-bandwidth/triad copy/h2d-pageable",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(thp),
	  .want = want_thp },
	{ .id = "memory.thp-defrag",
	  .title = "Huge-page compaction on fault",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/transparent_hugepage/defrag",
	  .of = &memory_shape,
	  .fact = "thp_defrag",
	  .not_when = "the kernel is built without transparent huge pages",
	  .why = "With always a thread that allocates waits for reclaim and compaction.",
	  .source = "transhuge.rst; S0",
	  .shown_by = "memory-latency/256MiB:huge",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(defrag) },
	{ .id = "memory.vfs-cache-pressure",
	  .title = "Directory cache pressure",
	  SYSCTL_ROW,
	  .name = "vm.vfs_cache_pressure",
	  .why = "How readily directory entries and inodes are dropped, against page cache. File "
		 "data are not governed by it.",
	  .note = "50 is published to keep models cached; model data are page cache or ZFS ARC, "
		  "and on unified memory keeping caches takes from CUDA.",
	  .source = "S0; vm.rst",
	  .not_shown = "it shows only when memory runs out, which no bench of ours brings about",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(cache_pressure) },
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
	  RECOMMENDATIONS(zone_reclaim) },
	{ .id = "memory.max-map-count",
	  .title = "Mappings of one process",
	  SYSCTL_ROW,
	  .name = "vm.max_map_count",
	  .unit = "mappings",
	  .why = "Beyond it mmap fails with ENOMEM although memory is free.",
	  .source = "vm.rst; NVIDIA DGX OS, 10-map-count.conf",
	  .not_shown = "it decides whether a mapping is made, not how fast it is",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_NONE,
	  RECOMMENDATIONS(map_count) },
	{ .id = "memory.overcommit",
	  .title = "Overcommit policy",
	  SYSCTL_ROW,
	  .name = "vm.overcommit_memory",
	  .why = "2 refuses reservations beyond swap plus a share of memory, which CUDA's address "
		 "space exceeds.",
	  .why_host = "2 refuses reservations beyond swap plus a share of memory.",
	  .source = "vm.rst",
	  .not_shown = "it decides whether memory is promised, not how fast it is",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(overcommit) },
	{ .id = "memory.memlock",
	  .title = "Locked-memory limit",
	  .scope = SCOPE_HOST,
	  .of = &memory_shape,
	  .fact = "memlock_bytes",
	  .not_when = "there is no RDMA device",
	  .why = "RDMA registers memory by locking it. What engines register at once is less than "
		 "half of memory.",
	  .note = "systemd lets a session lock an eighth of memory (since v240), many containers "
		  "64 "
		  "KiB or 8 MiB.",
	  .source = "NVIDIA DGX Spark playbooks; S3",
	  .severity = SEVERITY_LOW,
	  .judge = rule_memory_memlock,
	  .by_hand = "a limits.d file or LimitMEMLOCK=infinity of the service that uses RDMA, then "
		     "log in or start it again" },
	{ .id = "memory.shm-size",
	  .title = "Shared memory file system",
	  .scope = SCOPE_HOST,
	  .read = "statfs /dev/shm",
	  .why = "Data-loader workers and NCCL pass data through /dev/shm.",
	  .why_host = "Processes of one program pass data through /dev/shm.",
	  .source = "S4",
	  .severity = SEVERITY_LOW,
	  .judge = shm,
	  .by_hand = "start the container with a larger --shm-size, or mount /dev/shm again with "
		     "size=" },
};

const struct setting_table settings_memory = SETTING_TABLE(rows);

/* Explicit huge pages: asked for, granted, mounted. Only packet-processing programs need them. */

/* Asked for on the command line against what the kernel really set aside, per size and node. */
static void granted(const struct rule_ctx *q, struct verdict *v)
{
	const struct huge_pool *p = q->object;

	if (!is_seen(q, v, &p->total.f, NULL))
		return;
	v->current = arena_printf(q->a, "%lld pages", p->total.v);
	if (!seen_ok(&p->requested.f)) {
		verdict_na(v, CODE_OPT_IN,
			   p->total.v ? "set at run time: nothing was asked for at boot"
				      : "none asked for: only DPDK and similar programs need them");
		return;
	}
	v->wanted = arena_printf(q->a, "%lld pages", p->requested.v);
	if (p->total.v >= p->requested.v)
		verdict_pass(v, "all that was asked for was granted");
	else
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "%lld pages were asked for at boot and %lld granted: "
					  "memory was too fragmented or too small",
					  p->requested.v, p->total.v));
}

/* A size asked for that has no pool: a 64 KiB-page kernel silently drops 1 GiB pages. */
static void rule_memory_sizes(const struct rule_ctx *q, struct verdict *v)
{
	unsigned long long bytes;
	bool any = false;

	LIST_FOR_EACH (struct kernel_arg, arg, &q->m->kernel.args) {
		bool found = false;

		if ((strcmp(arg->name, "hugepagesz") != 0 &&
		     strcmp(arg->name, "default_hugepagesz") != 0) ||
		    parse_size(arg->value.v, &bytes))
			continue;
		any = true;
		LIST_FOR_EACH (struct huge_pool, p, &q->m->memory.pools)
			found = found ||
				(unsigned long long)fact_or(&p->size_kb, 0) * 1024 == bytes;
		if (!found) {
			v->current = arena_printf(q->a, "no pool of %s", arg->value.v);
			verdict_fail(
				v, arena_printf(q->a, "%s=%s in force", arg->name, arg->value.v),
				arena_printf(q->a,
					     "the kernel has no huge pages of %s and dropped the "
					     "request without a word (its page size is %lld KiB)",
					     arg->value.v,
					     fact_or(&q->m->memory.page_size, 0) / 1024));
			return;
		}
	}
	if (any)
		verdict_pass(v, "every size asked for at boot exists");
	else
		verdict_na(v, CODE_OPT_IN, "no huge-page size is asked for at boot");
}

/* The published recipe: four pages of 1 GiB. */
static const struct recommendation packet_pages[] = {
	{ PROFILE_DEFAULT, ON_SPARK, WANT_LEAVE, NULL,
	  "only for packet processing; on unified memory it is taken from the GPU too", NULL },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "only for programs that ask for them, such as packet processing with DPDK", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK | ON_IGX, WANT_AT_LEAST, "4",
	  "published for packet buffers: 3 to 4 GiB of huge pages", "S1" },
};

static void one_gigabyte(const struct rule_ctx *q, struct verdict *v)
{
	const struct huge_pool *p = q->object;

	if (!is_seen(q, v, &p->total.f, NULL))
		return;
	v->current = arena_printf(q->a, "%lld pages", p->total.v);
	if (!has_target(q, v)) {
		v->code = q->wish ? CODE_OPT_IN : v->code;
		return;
	}
	v->why = q->wish->because;
	if (recommendation_met(q->wish, arena_printf(q->a, "%lld", p->total.v)))
		verdict_pass(v, "as wanted");
	else
		verdict_fail(v, recommendation_text(q->a, q->wish, "pages"),
			     "what a running kernel grants depends on how much memory lies "
			     "together: asking at boot is surer");
}

static bool is_1g(const struct machine *m, const void *object)
{
	const struct huge_pool *p = object;

	(void)m;
	return fact_or(&p->size_kb, 0) == 1048576 && fact_or(&p->node, 0) < 0;
}

/* Pages of a size other than the default are reached through a mount of that size. */
static void mounted(const struct rule_ctx *q, struct verdict *v)
{
	long long def = fact_or(&q->m->memory.hugepage_size_kb, 0), need = 0;

	LIST_FOR_EACH (struct huge_pool, p, &q->m->memory.pools)
		if (fact_or(&p->total, 0) > 0 && fact_or(&p->size_kb, 0) != def &&
		    fact_or(&p->node, 0) < 0)
			need = p->size_kb.v;
	if (!need) {
		verdict_na(v, CODE_NO_EFFECT,
			   "no huge pages of another size than the default are set aside");
		return;
	}
	LIST_FOR_EACH (struct mount, mnt, &q->m->storage.mounts) {
		const char *size = fact_is(&mnt->type, "hugetlbfs")
					   ? strstr(fact_text(&mnt->options, ""), "pagesize=")
					   : NULL;
		unsigned long long bytes;
		char word[32];

		if (!size)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(size + 9, ","), size + 9);
		if (parse_size(word, &bytes) == 0 && bytes == (unsigned long long)need * 1024) {
			v->current = mnt->name;
			verdict_pass(v, "a mount of that size exists");
			return;
		}
	}
	v->current = "no mount";
	verdict_fail(v, arena_printf(q->a, "hugetlbfs with pagesize=%lldM", need / 1024),
		     "the pages are set aside, but no mount gives access to them; use a mount "
		     "unit, never fstab without nofail");
}

static const char no_1g[] = "this processor or kernel has no 1 GiB pages";

static const struct setting huge_rows[] = {
	{ .id = "memory.hugepages-granted",
	  .title = "Huge pages: asked for and granted",
	  .scope = SCOPE_POOL,
	  .none = "the kernel has no huge pages",
	  .none_code = CODE_NO_SUPPORT,
	  .read = "nr_hugepages of each size and node",
	  .not_when = "none were asked for at boot",
	  .why = "A request is granted as far as contiguous memory is found, and the kernel does "
		 "not complain.",
	  .note = "HugePages_Total of /proc/meminfo counts one size only; every size and node is "
		  "looked at here.",
	  .source = "S1; hugetlbpage.rst",
	  .not_shown = "only programs that ask for such pages feel it; no bench of ours does",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .effect = EFFECT_REBOOT,
	  .judge = granted,
	  .by_hand = "ask for fewer, or for other pages: at boot nothing is fragmented yet, so "
		     "what was not granted was not there" },
	{ .id = "memory.hugepage-sizes",
	  .title = "Huge-page sizes asked for exist",
	  .scope = SCOPE_HOST,
	  .read = "/proc/cmdline, /sys/kernel/mm/hugepages",
	  .not_when = "no size is asked for at boot",
	  .why = "A kernel with 64 KiB pages has other sizes than one with 4 KiB pages.",
	  .source = "hugetlbpage.rst",
	  .severity = SEVERITY_MEDIUM,
	  .effect = EFFECT_REBOOT,
	  .judge = rule_memory_sizes,
	  .by_hand = "ask for a size of /sys/kernel/mm/hugepages, or boot the kernel variant that "
		     "has the one asked for" },
	{ .id = "memory.hugepages-1g",
	  .title = "1 GiB huge pages",
	  .scope = SCOPE_POOL,
	  .select = is_1g,
	  .none = no_1g,
	  .none_code = CODE_NO_SUPPORT,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/kernel/mm/hugepages/hugepages-{}/nr_hugepages",
	  .of = &huge_pool_shape,
	  .fact = "total_pages",
	  .not_when = "no program processes packets from huge pages",
	  .why = "Packet buffers in contiguous memory. The pages are not swappable and nobody else "
		 "can use them.",
	  .source = "S1; hugetlbpage.rst",
	  .not_shown = "only programs that ask for such pages feel it; no bench of ours does",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_SERVICE,
	  RECOMMENDATIONS(packet_pages),
	  .judge = one_gigabyte },
	{ .id = "memory.hugetlbfs-mount",
	  .title = "Mount for huge pages",
	  .scope = SCOPE_HOST,
	  .read = "/proc/self/mountinfo",
	  .not_when = "only pages of the default size are set aside",
	  .why = "Programs reach pages of another size through a mount of that size.",
	  .note = "Published as a line in fstab: a kernel without that size then boots into "
		  "emergency mode.",
	  .source = "S1; hugetlbpage.rst",
	  .severity = SEVERITY_MEDIUM,
	  .judge = mounted,
	  .by_hand = "a systemd mount unit of type hugetlbfs with the option pagesize=" },
};

const struct setting_table settings_memory_huge = SETTING_TABLE(huge_rows);

/* How much may wait to be written to disk: two limits, each a ratio or a number of bytes. */

/* Less than that lets nobody write: who says so means another unit. */
enum { LEAST_BYTES = 1 << 20 };

/* Numbers up to 100 are per cent of available memory, larger ones bytes. */
static const struct recommendation dirty_limit[] = {
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "40",
	  "published as: better write coalescing; on 120 GiB it lets 48 GiB wait to be written",
	  "S0" },
};
static const struct recommendation dirty_background[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_MOST, "10",
	  "writing starts early, so that the limit is rarely reached", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "10", "published unchanged from the kernel's default",
	  "S0" },
};

/* 4 GiB drain in about two seconds on one NVMe disk, and are what unified memory can spare. */
long long dirty_most_bytes(const struct machine *m)
{
	return (has_unified_memory(m) ? 4LL : 16LL) << 30;
}

static bool want_dirty_limit(const struct rule_ctx *q, struct recommendation *o)
{
	bool unified = has_unified_memory(q->m);

	if (q->profile == PROFILE_PUBLISHED)
		return false;
	*o = (struct recommendation){
		.rel = WANT_AT_MOST,
		.value = arena_printf(q->a, "%lld", dirty_most_bytes(q->m)),
		.because = unified ? "a writer that reaches the limit stalls until "
				     "the disk catches up, and CUDA cannot have "
				     "that memory"
				   : "a writer that reaches the limit stalls until "
				     "the disk catches up"
	};
	return true;
}

/* "20", "20 %", "16 GiB", "16384 MiB", "17179869184"; what is neither per cent nor a sensible
 * number of bytes may be mebibytes as well, and is not guessed. */
static const char *dirty_target(struct arena *a, const char *text)
{
	unsigned long long bytes;
	long long percent;
	char number[40];
	size_t n = strspn(text, "0123456789");
	const char *unit = text + n + strspn(text + n, " ");

	snprintf(number, sizeof(number), "%.*s", (int)n, text);
	if (parse_i64(number, &percent))
		return NULL;
	if ((!*unit || strcmp(unit, "%") == 0) && percent <= 100)
		return arena_printf(a, "%lld", percent);
	/* parse_size knows "GiB" as "G". */
	if (*unit && (!strchr("KMGT", *unit) || (unit[1] && strcmp(unit + 1, "iB") != 0)))
		return NULL;
	if (parse_size(arena_printf(a, "%s%.1s", number, unit), &bytes) || bytes < LEAST_BYTES ||
	    bytes > LLONG_MAX)
		return NULL;
	return arena_printf(a, "%llu", bytes);
}

/* A limit as it is set: the ratio, or "NAME=BYTES" of its twin. False: neither can be read from
 * it. */
struct limit {
	long long ratio; /* -1: the bytes are in force */
	long long bytes; /* what the ratio comes to, -1 when that is not known */
};

static bool parse_limit(const struct rule_ctx *q, struct limit *out)
{
	const char *twin = strchr(q->current.v, '=');
	long long available = fact_or(&q->m->memory.available_kb, -1) * 1024, n;

	if (parse_i64(twin ? twin + 1 : q->current.v, &n) || n < 0)
		return false;
	*out = (struct limit){ .ratio = twin ? -1 : n,
			       .bytes = twin		? n
					: available < 0 ? -1
							: available / 100 * n };
	return true;
}

static bool is_percent(const struct recommendation *o, long long *n)
{
	return parse_i64(o->value, n) == 0 && *n >= 0 && *n <= 100;
}

static bool dirty_met(const struct rule_ctx *q, const struct limit *have, long long want)
{
	struct recommendation in_bytes = *q->wish;

	if (!is_percent(q->wish, &want))
		return recommendation_met(q->wish, arena_printf(q->a, "%lld", have->bytes));
	if (have->ratio >= 0)
		return recommendation_met(q->wish, arena_printf(q->a, "%lld", have->ratio));
	in_bytes.value = arena_printf(q->a, "%lld",
				      fact_or(&q->m->memory.available_kb, 0) * 1024 / 100 * want);
	return q->wish->rel != WANT_IS &&
	       recommendation_met(&in_bytes, arena_printf(q->a, "%lld", have->bytes));
}

/*
 * The ratio and the byte count are one setting: writing one zeroes the other. What counts is how
 * much may be dirty before a writer has to wait, in bytes.
 */
static void rule_memory_dirty(const struct rule_ctx *q, struct verdict *v)
{
	struct limit have;
	long long want;

	if (!has_target(q, v))
		return;
	v->why = q->wish->because;
	if (!is_seen(q, v, &q->current.f, NULL))
		return;
	if (!parse_limit(q, &have)) {
		verdict_unknown(v, CODE_ERROR, "neither per cent nor a number of bytes");
		return;
	}
	v->current = have.ratio < 0   ? arena_printf(q->a, "%lld MiB", have.bytes >> 20)
		     : have.bytes < 0 ? arena_printf(q->a, "%lld %%", have.ratio)
				      : arena_printf(q->a, "%lld %% = %lld MiB", have.ratio,
						     have.bytes >> 20);
	if (parse_i64(q->wish->value, &want)) {
		verdict_unknown(v, CODE_ERROR, "the profile names neither per cent nor bytes");
		return;
	}
	v->wanted = is_percent(q->wish, &want)
			    ? recommendation_text(q->a, q->wish, "%")
			    : recommendation_text(
				      q->a,
				      &(struct recommendation){
					      .rel = q->wish->rel,
					      .value = arena_printf(q->a, "%lld", want >> 20) },
				      "MiB");
	/* Above the start of writing in the background, which may be zero. */
	if (have.ratio == 0 && strcmp(q->s->name, "vm.dirty_ratio") == 0)
		verdict_fail(
			v, v->wanted,
			"neither per cent nor bytes may wait to be written: every writer waits "
			"for the disk");
	else if (have.bytes < 0 && !is_percent(q->wish, &want))
		verdict_unseen(q, v, &q->m->memory.available_kb.f, NULL);
	else if (dirty_met(q, &have, want))
		verdict_pass(v, is_percent(q->wish, &want)
					? "as wanted"
					: "what may wait to be written is drained in seconds");
	else
		verdict_fail(v, v->wanted,
			     is_percent(q->wish, &want)
				     ? arena_printf(q->a, "is %s, wanted %s", v->current, v->wanted)
				     : arena_printf(q->a, "%lld GiB may wait to be written: %s",
						    have.bytes >> 30, q->wish->because));
}

/* Of what is available; at least 1, for 0 stops every writer. */
static long long percent_of(const struct rule_ctx *q, long long bytes)
{
	long long one = fact_or(&q->m->memory.available_kb, 0) * 1024 / 100,
		  n = one > 0 ? bytes / one : 1;

	return n < 1 ? 1 : n > 100 ? 100 : n;
}

/* Whichever of the two has the target value; where both are zero the ratio, which alone can be put
 * back to that. */
static void remediate_dirty(const struct rule_ctx *q, struct remediations *out)
{
	long long n;

	if (is_percent(q->wish, &n))
		remediate_value(q, out, q->wish->value);
	else if (q->current.v && strcmp(q->current.v, "0") == 0 &&
		 parse_i64(q->wish->value, &n) == 0)
		remediate_value(q, out, arena_printf(q->a, "%lld", percent_of(q, n)));
	else
		remediate_knob(
			q, out,
			(struct knob){ KNOB_SYSCTL,
				       arena_printf(q->a, "%.*sbytes",
						    (int)(strlen(q->s->name) - strlen("ratio")),
						    q->s->name),
				       "" },
			q->wish->value);
}

#define WRITEBACK_SYSCTL_ROW .scope = SCOPE_HOST, .knob = KNOB_SYSCTL, .effect = EFFECT_NOW

static const struct setting writeback_rows[] = {
	{ .id = "memory.dirty-ratio",
	  .title = "Writeback limit",
	  WRITEBACK_SYSCTL_ROW,
	  .name = "vm.dirty_ratio",
	  .why = "How much may wait to be written before a writer must wait. vm.dirty_bytes "
		 "replaces it; writing one zeroes the other. ZFS has its own limit.",
	  .note = "40 is published; of 120 GiB that is 48 GiB, 24 s of a 2 GB/s disk, and on "
		  "unified memory not available to CUDA.",
	  .source = "S0; vm.rst",
	  .shown_by = "disk/write-seq:1MiB:buffered",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  RECOMMENDATIONS(dirty_limit),
	  .want = want_dirty_limit,
	  .wish = dirty_target,
	  .wish_form = "per cent (20) or bytes with their unit (4 GiB)",
	  .judge = rule_memory_dirty,
	  .remediate = remediate_dirty },
	{ .id = "memory.dirty-background-ratio",
	  .title = "Writeback start",
	  WRITEBACK_SYSCTL_ROW,
	  .name = "vm.dirty_background_ratio",
	  .why = "When writing starts in the background. 0 means that vm.dirty_background_bytes is "
		 "in force.",
	  .source = "S0; vm.rst",
	  .shown_by = "disk/write-seq:1MiB:buffered",
	  .settle_s = 1,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(dirty_background),
	  .wish = dirty_target,
	  .wish_form = "per cent (20) or bytes with their unit (4 GiB)",
	  .judge = rule_memory_dirty,
	  .remediate = remediate_dirty },
};

const struct setting_table settings_memory_writeback = SETTING_TABLE(writeback_rows);
