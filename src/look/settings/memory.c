/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: reclaim, huge pages, writeback, limits. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

/* Grace with pages of 64 KiB. */
static bool want_thp(const struct rule_ctx *q, struct recommendation *o)
{
	if (fact_or(&q->m->memory.page_size, 0) < 65536 || q->profile == PROFILE_LOW_LATENCY)
		return false;
	*o = (struct recommendation){ .rel = WANT_ONE_OF,
				      .value = "madvise never",
				      .because = "with 64 KiB pages a huge page is 512 MiB, and "
						 "\"always\" would give one to any program",
				      .source = "NVIDIA Grace performance tuning guide" };
	return true;
}

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
	if (mem->cma_free_kb.v > mem->cma_total_kb.v)
		verdict_fail(v, "total >= free",
			     "more contiguous memory is free than exists: the kexec-handover "
			     "fault, which makes RDMA memory registration fail (kho=off on the "
			     "command line fixes it)");
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
		verdict_na(v, CODE_NO_HARDWARE, "no RDMA device: no need for much locked memory");
		return;
	}
	if (!is_seen(q, v, &limit->f, NULL))
		return;
	if (limit->v < MEMLOCK_UNLIMITED)
		verdict_unknown(v, CODE_ERROR, "invalid limit: below 0");
	else if (limit->v == MEMLOCK_UNLIMITED)
		verdict_pass(v, "RDMA may register as much as it needs");
	else if (least < 0)
		verdict_unseen(q, v, &q->m->memory.total_kb.f, NULL);
	else if (limit->v >= least)
		verdict_pass(v, "RDMA may register at least half of memory");
	else
		verdict_fail(
			v,
			arena_printf(q->a, "unlimited, or %lld MiB: half of memory", least >> 20),
			"RDMA memory registration fails above this limit of this process; a "
			"service may have another");
	if (v->kind == VERDICT_FAIL && seen_ok(&q->m->memory.memlock_kept.f)) {
		v->reason = "gputune keeps it unlimited for the next login; this process has the "
			    "old limit";
		v->by_hand = "log in again, and restart services that use RDMA";
	}
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
			     "a container's default of 64 MiB: data loaders and NCCL fail or use a "
			     "slower path");
}

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
			   p->total.v
				   ? "none requested at boot; the pages were reserved at run time"
				   : "none requested: only DPDK and similar programs need them");
		return;
	}
	v->wanted = arena_printf(q->a, "%lld pages", p->requested.v);
	if (p->total.v >= p->requested.v)
		verdict_pass(v, "all requested pages were granted");
	else
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "%lld pages were requested at boot and %lld granted: "
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
				v, arena_printf(q->a, "%s=%s in effect", arg->name, arg->value.v),
				arena_printf(q->a,
					     "the kernel has no huge pages of %s (its page size is "
					     "%lld KiB) and silently ignored the request",
					     arg->value.v,
					     fact_or(&q->m->memory.page_size, 0) / 1024));
			return;
		}
	}
	if (any)
		verdict_pass(v, "every size requested at boot exists");
	else
		verdict_na(v, CODE_OPT_IN, "no huge-page size is requested at boot");
}

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
		verdict_pass(v, "at target value");
	else
		verdict_fail(v, recommendation_text(q->a, q->wish, "pages"),
			     "a running kernel grants only what contiguous memory allows: a "
			     "request at boot is more reliable");
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
		verdict_na(v, CODE_NO_EFFECT, "huge pages are reserved only in the default size");
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
		     "the pages are reserved, but no mount gives access to them; use a mount unit, "
		     "or fstab with nofail");
}

/* How much may wait to be written to disk: two limits, each a ratio or a number of bytes. */

/* Less than that lets nobody write: who says so means another unit. */
enum { LEAST_BYTES = 1 << 20 };

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
		.because = unified ? "a writer that reaches the limit stalls until the disk "
				     "catches up, and CUDA cannot use that memory"
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
		verdict_unknown(v, CODE_ERROR, "neither a percentage nor a number of bytes");
		return;
	}
	v->current = have.ratio < 0   ? arena_printf(q->a, "%lld MiB", have.bytes >> 20)
		     : have.bytes < 0 ? arena_printf(q->a, "%lld %%", have.ratio)
				      : arena_printf(q->a, "%lld %% = %lld MiB", have.ratio,
						     have.bytes >> 20);
	if (parse_i64(q->wish->value, &want)) {
		verdict_unknown(v, CODE_ERROR, "the profile names neither a percentage nor bytes");
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
		verdict_fail(v, v->wanted,
			     "both limits (percentage and bytes) are 0: every writer waits for the "
			     "disk");
	else if (have.bytes < 0 && !is_percent(q->wish, &want))
		verdict_unseen(q, v, &q->m->memory.available_kb.f, NULL);
	else if (dirty_met(q, &have, want))
		verdict_pass(v, is_percent(q->wish, &want)
					? "at target value"
					: "the disk writes the allowed dirty data in seconds");
	else
		verdict_fail(v, v->wanted,
			     is_percent(q->wish, &want)
				     ? arena_printf(q->a, "is %s, target %s", v->current, v->wanted)
				     : arena_printf(q->a, "%lld GiB of dirty data allowed: %s",
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

#include "look/settings_memory_rows.h"
