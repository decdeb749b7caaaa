/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory as it is now: how much is left, what guards the machine when it runs out, and what lies in
 * the way. Where a GPU shares the host's memory, a program that takes all of it takes the machine
 * with it.
 */

#include "knowledge/health.h"
#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static long long percent_of_total(const struct memory *m, long long kb)
{
	return (long long)(100.0 * (double)kb / (double)m->total_kb.v);
}

long long memory_least_kb(const struct machine *m)
{
	long long share = (long long)(health_figure("memory.available", "share", NULL, 0) *
				      (double)fact_or(&m->memory.total_kb, 0) / 100),
		  own = (long long)(health_figure("memory.available", "own", NULL, 0) * 1048576);

	return has_unified_memory(m) || share < own ? share : own;
}

static void available(const struct rule_ctx *q, struct verdict *v)
{
	const struct memory *m = &q->m->memory;
	long long least = memory_least_kb(q->m);

	if (!is_seen(q, v, &m->available_kb.f, NULL) || !is_seen(q, v, &m->total_kb.f, NULL))
		return;
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", m->available_kb.v / 1024,
				  m->total_kb.v / 1024);
	if (m->total_kb.v <= 0 || m->available_kb.v > m->total_kb.v) {
		verdict_unknown(v, CODE_ERROR, "available memory exceeds total memory");
		return;
	}
	v->current = arena_printf(q->a, "%s (%lld %%)", v->current,
				  percent_of_total(m, m->available_kb.v));
	if (m->available_kb.v >= least)
		verdict_pass(v, "enough memory is left for the host");
	else
		verdict_fail(v, arena_printf(q->a, ">= %lld MiB", least / 1024),
			     has_unified_memory(q->m)
				     ? "almost no memory is left: the next allocation on the GPU "
				       "can freeze the machine. Stop the program that uses the most"
				     : "almost no memory is left: programs are killed or stall. "
				       "Stop the program that uses the most");
}

static bool shares_memory(const struct rule_ctx *q, struct verdict *v)
{
	if (has_unified_memory(q->m))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "no GPU shares the host's memory");
	return false;
}

/* What ends programs before memory is gone. */
static void guard(const struct rule_ctx *q, struct verdict *v)
{
	static const char *const guards[] = { "earlyoom.service", "systemd-oomd.service",
					      "nohang.service", "nohang-desktop.service" };
	TEXT_AUTO idle = { 0 };

	if (!q->m->software.services.n) {
		verdict_unknown(v, CODE_ERROR, "services are unreadable");
		return;
	}
	for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++) {
		if (service_active(q->m, guards[i])) {
			v->current = guards[i];
			verdict_pass(v, "a service kills programs before memory runs out");
			return;
		}
		if (machine_service(q->m, guards[i]))
			text_printf(&idle, "%s%s not active", idle.len ? ", " : "", guards[i]);
	}
	v->current = idle.len ? arena_strdup(q->a, idle.s) : "none";
	verdict_fail(v, "earlyoom or systemd-oomd active",
		     "the machine freezes when programs fill its memory: no service ends one of "
		     "them, and no limit counts the GPU driver's memory");
}

long long freeable_cache_kb(const struct memory *m)
{
	long long kb = fact_or(&m->cached_kb, 0) + fact_or(&m->buffers_kb, 0) -
		       fact_or(&m->shmem_kb, 0) - fact_or(&m->dirty_kb, 0);

	return kb > 0 ? kb : 0;
}

static void page_cache(const struct rule_ctx *q, struct verdict *v)
{
	const struct memory *m = &q->m->memory;
	long long free, cached;

	if (!is_seen(q, v, &m->cached_kb.f, NULL) || !is_seen(q, v, &m->free_kb.f, NULL) ||
	    !is_seen(q, v, &m->total_kb.f, NULL))
		return;
	if (m->total_kb.v <= 0) {
		verdict_unknown(v, CODE_ERROR, "the machine reports no memory");
		return;
	}
	free = percent_of_total(m, m->free_kb.v);
	cached = percent_of_total(m, freeable_cache_kb(m));
	v->current = arena_printf(q->a, "%lld MiB reclaimable (%lld %%), %lld MiB free (%lld %%)",
				  freeable_cache_kb(m) / 1024, cached, m->free_kb.v / 1024, free);
	if (free < (long long)health_figure(q->s->id, "free", NULL, 0) &&
	    cached > (long long)health_figure(q->s->id, "cache", NULL, 0))
		verdict_fail(v, "more free memory before a large allocation",
			     "CUDA does not count page cache as free: programs that check free "
			     "memory fail to start");
	else
		verdict_pass(v, "page cache does not block any program");
}

/* Reserved huge pages that are unused cannot be used for anything else. */
static void huge_unused(const struct rule_ctx *q, struct verdict *v)
{
	const struct memory *m = &q->m->memory;
	long long kb = 0, more;
	double most = health_figure(q->s->id, "share", NULL, 100);

	if (!is_seen(q, v, &m->total_kb.f, NULL))
		return;
	LIST_FOR_EACH (struct huge_pool, p, &m->pools) {
		if (fact_or(&p->node, -1) >= 0)
			continue;
		if (!is_seen(q, v, &p->free.f, NULL) || !is_seen(q, v, &p->size_kb.f, NULL))
			return;
		if (p->free.v < 0 || p->size_kb.v < 0 ||
		    __builtin_mul_overflow(p->free.v, p->size_kb.v, &more) ||
		    more > m->total_kb.v - kb) {
			verdict_unknown(v, CODE_ERROR, "more free huge pages than memory");
			return;
		}
		kb += more;
	}
	v->current = arena_printf(q->a, "%lld MiB", kb / 1024);
	if ((double)kb > (double)m->total_kb.v * most / 100)
		verdict_fail(v, arena_printf(q->a, "<= %.0f %% of memory", most),
			     "huge pages are reserved and unused: neither programs nor CUDA can "
			     "use that memory");
	else
		verdict_pass(v, "little or no memory is in unused huge pages");
}

/* Where swap lies, and whether any is left. */
static void swap_area(const struct rule_ctx *q, struct verdict *v)
{
	const struct memory *m = &q->m->memory;
	long long used, most = (long long)health_figure(q->s->id, "used", NULL, 100);
	TEXT_AUTO where = { 0 };
	bool zvol = false;

	if (!is_seen(q, v, &m->swap_total_kb.f, NULL) || !is_seen(q, v, &m->swap_free_kb.f, NULL))
		return;
	if (m->swap_total_kb.v <= 0) {
		verdict_na(v, CODE_NO_HARDWARE, "no swap is configured");
		return;
	}
	used = m->swap_total_kb.v - m->swap_free_kb.v;
	LIST_FOR_EACH (struct swap_area, s, &m->swaps) {
		text_printf(&where, " %s", s->name);
		zvol = zvol || str_starts(s->name, "/dev/zd") || str_starts(s->name, "/dev/zvol/");
	}
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB used%s%s", used / 1024,
				  m->swap_total_kb.v / 1024, where.len ? ", on" : "",
				  where.len ? where.s : "");
	if (used < 0)
		verdict_unknown(v, CODE_ERROR, "free swap exceeds total swap");
	else if (zvol)
		verdict_fail(v, "a file or a partition",
			     "swap on a ZFS volume can lock up the machine when memory is low");
	else if (used * 100 > m->swap_total_kb.v * most)
		verdict_fail(v, arena_printf(q->a, "<= %lld %% used", most),
			     "swap is full: the next allocation fails, or the machine stalls");
	else
		verdict_pass(
			v, "some swap is free; swapped-out data only costs time when it is moved");
}

/* Groups with a limit of their own: how near what programs hold is, and who was killed. */
static void group_limits(const struct rule_ctx *q, struct verdict *v)
{
	long long most = (long long)health_figure(q->s->id, "used", NULL, 100);
	const struct memory_group *worst = NULL, *unread = NULL;
	size_t n = 0;

	LIST_FOR_EACH (struct memory_group, g, &q->m->memory.groups) {
		if (fact_or(&g->max_bytes, -1) <= 0)
			continue;
		n++;
		if (!seen_ok(&g->anon_bytes.f) || !seen_ok(&g->oom_kills.f))
			unread = g;
		if (fact_or(&g->oom_kills, 0) > 0 ||
		    fact_or(&g->anon_bytes, 0) > g->max_bytes.v / 100 * most)
			worst = worst && fact_or(&worst->oom_kills, 0) > 0 ? worst : g;
	}
	if (!n) {
		verdict_na(v, CODE_NO_EFFECT, "no slice or container has a limit");
		return;
	}
	v->current = arena_printf(q->a, "%zu with a limit", n);
	if (!worst && unread) {
		verdict_unseen(q, v,
			       seen_ok(&unread->anon_bytes.f) ? &unread->oom_kills.f
							      : &unread->anon_bytes.f,
			       NULL);
		return;
	}
	if (!worst) {
		verdict_pass(
			v,
			has_unified_memory(q->m)
				? "no slice is near its limit; GPU driver allocations do not count"
				: "no slice is near its limit");
		return;
	}
	v->current = arena_printf(q->a, "%s: %lld MiB of %lld MiB, %lld killed", worst->name,
				  fact_or(&worst->anon_bytes, 0) >> 20, worst->max_bytes.v >> 20,
				  fact_or(&worst->oom_kills, 0));
	verdict_fail(v, arena_printf(q->a, "<= %lld %% used, none killed", most),
		     fact_or(&worst->oom_kills, 0) > 0
			     ? "the kernel killed programs at its limit"
			     : "at its limit: the next allocation kills a program in it");
}

#include "look/settings_memory_state_rows.h"
