/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is short, slow, or not to be had. */
#include <stdlib.h>

#include "measure/doctor/rule.h"
#include "render/figure.h"

/*
 * One thread of a GB10 reads 92 GB/s with the fabric ramped up and 32 without (owners of NixOS and
 * NVIDIA's kernel, 2026); a triad moves less than reads do, so that the line is drawn well below.
 */
static void one_thread(const struct rule_facts *e, struct judged *out)
{
	enum { RAMPED_GB_S = 45 };
	double v;

	if (!is_spark(e)) {
		verdict_set(e, out, CAUSE_NOT_HERE, "a known fault of DGX Spark only");
		return;
	}
	if (test_missing(e, TEST_MEMORY_ONE, out))
		return;
	if (!figure_of(case_of(e, "memory-bandwidth", "triad:1-thread"), "rate", &v))
		return;
	verdict_set(e, out, v < RAMPED_GB_S ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		    "one thread reaches %.1f GB/s; 32 GB/s were measured without autonomous "
		    "selection, 92 GB/s with it",
		    v);
}

/* --- short ------------------------------------------------------------------------------------ */
static void killed(const struct rule_facts *e, struct judged *out)
{
	const struct observations *s = e->signs;

	if (verdict_set_unseen(e, out, &s->log_oom.f, "the kernel log"))
		return;
	if (fact_or(&s->log_no_memory, 0))
		verdict_set(
			e, out, CAUSE_CERTAIN,
			"the driver ran out of memory: %lld lines in the kernel log of this boot",
			s->log_no_memory.v);
	else
		verdict_set(e, out, s->log_oom.v ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "the kernel killed %lld processes for memory in this boot",
			    s->log_oom.v);
}

/* --- CUDA cannot have it ---------------------------------------------------------------------- */
/* The setting judges the limit; this is what the cache holds now. */
static void doctor_memory_arc(const struct rule_facts *e, struct judged *out)
{
	const struct fact_int *size = &e->m->storage.zfs_arc_size;

	rule_by_setting(e, "zfs.arc-max", CAUSE_LIKELY, out);
	if (out->likelihood == CAUSE_LIKELY &&
	    (!seen_ok(&size->f) || size->v <= arc_most_bytes(e->m)))
		verdict_set(e, out, CAUSE_POSSIBLE, "%s; it uses %s now", out->text,
			    seen_ok(&size->f) ? figure(e->a, "bytes", size->v)
					      : "an unknown amount");
}

/* --- swapping, merging ------------------------------------------------------------------------ */
static void swapping(const struct rule_facts *e, struct judged *out)
{
	const struct memory *m = &e->m->memory;
	double in = 0, outward = 0;
	long long used = fact_or(&m->swap_total_kb, 0) - fact_or(&m->swap_free_kb, 0);

	if (verdict_set_unseen(e, out, &m->swap_total_kb.f, "swap"))
		return;
	if (!m->swap_total_kb.v) {
		verdict_set(e, out, CAUSE_NOT_HERE, "no swap");
		return;
	}
	if (!e->earlier || !grows(e, &e->earlier->swapped_in, &e->signs->swapped_in, &in) ||
	    !grows(e, &e->earlier->swapped_out, &e->signs->swapped_out, &outward)) {
		verdict_set(e, out, used > 0 ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
			    "%lld MiB are in swap; swapping was not measured", used / 1024);
		return;
	}
	verdict_set(e, out, in + outward > 10 ? CAUSE_CERTAIN : CAUSE_EXCLUDED,
		    "%lld MiB are in swap; %.0f pages/s come in and %.0f go out", used / 1024, in,
		    outward);
}

static void eager(const struct rule_facts *e, struct judged *out)
{
	struct judged moving;

	swapping(e, &moving);
	rule_by_setting(e, "memory.swappiness", CAUSE_LIKELY, out);
	/* A target value that is not met is no cause alone: only where pages move. */
	if (out->likelihood == CAUSE_LIKELY && moving.likelihood != CAUSE_CERTAIN)
		verdict_set(e, out,
			    moving.likelihood == CAUSE_POSSIBLE ? CAUSE_POSSIBLE : CAUSE_EXCLUDED,
			    "%s; but %s", out->text, moving.text);
}

static void ksm(const struct rule_facts *e, struct judged *out)
{
	if (verdict_set_unseen(e, out, &e->signs->ksm_run.f, "KSM"))
		return;
	verdict_set(e, out, e->signs->ksm_run.v == 1 ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		    "/sys/kernel/mm/ksm/run is %lld, %lld pages are shared", e->signs->ksm_run.v,
		    fact_or(&e->signs->ksm_sharing, 0));
}

/* --- locked memory ---------------------------------------------------------------------------- */
/* Programs that use a GPU and have a limit of their own: in a container it is not the host's. */
static void program_locked(const struct rule_facts *e, struct judged *out)
{
	long long least = memlock_least(e->m);

	if (!has_rdma(e->m)) {
		verdict_set(e, out, CAUSE_NOT_HERE, "no RDMA device");
		return;
	}
	if (e->signs->processes.n)
		verdict_set(e, out, CAUSE_UNSEEN, "no program that uses a GPU is readable");
	else
		verdict_set(e, out, CAUSE_NOT_HERE, "no program uses a GPU now");
	LIST_FOR_EACH (struct observed_process, p, &e->signs->processes) {
		if (!seen_ok(&p->memlock.f) || p->memlock.v < MEMLOCK_UNLIMITED ||
		    (p->memlock.v >= 0 && least < 0))
			continue;
		if (p->memlock.v >= 0 && p->memlock.v < least) {
			verdict_set(e, out, CAUSE_LIKELY,
				    "process %u (%s) uses a GPU and may lock only %lld KiB: in a "
				    "container, add --ulimit memlock=-1",
				    p->index, fact_text(&p->command, "unnamed"),
				    p->memlock.v / 1024);
			return;
		}
		verdict_set(e, out, CAUSE_EXCLUDED,
			    "every program that uses a GPU may lock at least half of memory");
	}
}

/* Memory that is slow to get at: small pages, pages in pieces, pages that move. */

/* Off for programs that ask for them, too. */
static void no_huge(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "memory-latency", "64MiB:huge");
	double ns = 0;

	rule_by_setting(e, "memory.thp-enabled", CAUSE_LIKELY, out);
	if (out->likelihood == CAUSE_LIKELY && figure_of(c, "latency", &ns))
		verdict_set(e, out, CAUSE_CERTAIN,
			    "%s: with huge pages requested, one load in a 64 MiB buffer takes %.1f "
			    "ns (%s)",
			    out->text, ns, c->variant);
}

static void not_granted(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "memory-latency", "64MiB:huge");

	if (!c) {
		(void)test_missing(e, TEST_MEMORY_PAGES, out);
		return;
	}
	if (fact_is(&e->m->memory.thp_enabled, "never"))
		verdict_set(e, out, CAUSE_NOT_HERE, "transparent huge pages are off");
	else
		verdict_set(e, out, strtod(c->variant, NULL) < 50 ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "a region of 64 MiB that requests huge pages is %s", c->variant);
}

/* A target value that is not met is no cause alone: only where pages move. */
static void doctor_memory_moved(const struct rule_facts *e, struct judged *out)
{
	enum { WORTH_PAGES_S = 1000 };
	double rate = 0;

	rule_by_setting(e, "cpu.numa-balancing", CAUSE_LIKELY, out);
	if (out->likelihood != CAUSE_LIKELY)
		return;
	if (!e->earlier || !grows(e, &e->earlier->numa_moved, &e->signs->numa_moved, &rate))
		verdict_set(e, out, CAUSE_POSSIBLE,
			    "NUMA balancing is on; page migration was not measured");
	else
		verdict_set(e, out, rate > WORTH_PAGES_S ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "NUMA balancing is on, and %.0f pages/s migrate", rate);
}

/* A program allocates on the node that it runs on. */
static void doctor_memory_far(const struct rule_facts *e, struct judged *out)
{
	if (e->m->cpu.nodes.n == 1) {
		verdict_set(e, out, CAUSE_NOT_HERE, "one NUMA node");
		return;
	}
	verdict_set(e, out, CAUSE_UNSEEN, "no visible process on a GPU has a known CPU list");
	LIST_FOR_EACH (struct gpu, g, &e->m->gpu.gpus)
		LIST_FOR_EACH (struct gpu_process, p, &g->processes)
			LIST_FOR_EACH (struct observed_process, o, &e->signs->processes) {
				if (o->index != p->index || !seen_ok(&o->cpus.f) ||
				    !seen_ok(&g->cpu_affinity.f))
					continue;
				if (!idset_intersects(&o->cpus.v, &g->cpu_affinity.v)) {
					verdict_set(
						e, out, CAUSE_LIKELY,
						"process %u (%s) uses GPU %u, near CPUs %s, but "
						"may run only on CPUs %s",
						p->index, fact_text(&p->command, "unnamed"),
						g->index, idset_format(e->a, &g->cpu_affinity.v),
						idset_format(e->a, &o->cpus.v));
					return;
				}
				verdict_set(
					e, out, CAUSE_EXCLUDED,
					"each visible process on a GPU may run on CPUs near it");
			}
}

#include "measure/doctor_memory_rows.h"
