/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is slow to get at: small pages, pages in pieces, pages that move. */
#include <stdlib.h>
#include <string.h>

#include "measure/doctor/rule.h"
#include "measure/doctor/tables.h"

static void no_huge(const struct evidence *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "memory-latency", "64MiB:huge");
	double ns = 0;

	if (says_unseen(e, out, &e->m->memory.thp_enabled.f, "transparent huge pages"))
		return;
	if (!fact_is(&e->m->memory.thp_enabled, "never")) {
		says(e, out, CAUSE_EXCLUDED, "transparent huge pages are %s",
		     e->m->memory.thp_enabled.v);
		return;
	}
	if (figure_of(c, "latency", &ns))
		says(e, out, CAUSE_CERTAIN,
		     "transparent huge pages are off: a load from 64 MiB that asked for them takes "
		     "%.1f ns (%s)",
		     ns, c->variant);
	else
		says(e, out, CAUSE_LIKELY,
		     "transparent huge pages are off, also for programs that ask for them");
}

static void not_granted(const struct evidence *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "memory-latency", "64MiB:huge");

	if (!c) {
		(void)test_missing(e, TEST_MEMORY_PAGES, out);
		return;
	}
	if (fact_is(&e->m->memory.thp_enabled, "never"))
		says(e, out, CAUSE_NOT_HERE, "they are off");
	else
		says(e, out, strtod(c->variant, NULL) < 50 ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		     "64 MiB that asked for huge pages lie %s", c->variant);
}

/* A wish alone is no cause: only where pages move. */
static void moved(const struct evidence *e, struct judged *out)
{
	enum { WORTH_PAGES_S = 1000 };
	double rate = 0;

	rule_by_setting(e, "cpu.numa-balancing", CAUSE_LIKELY, out);
	if (out->how != CAUSE_LIKELY)
		return;
	if (!e->earlier || !grows(e, &e->earlier->numa_moved, &e->signs->numa_moved, &rate))
		says(e, out, CAUSE_POSSIBLE, "it is on; whether pages move was not looked at");
	else
		says(e, out, rate > WORTH_PAGES_S ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		     "it is on, and %.0f pages/s move", rate);
}

static const struct cause pages[] = {
	{ .id = "off",
	  .title = "transparent huge pages are off",
	  .rule = no_huge,
	  .fix = "memory.thp-enabled",
	  .value = "madvise",
	  .steps = ANYWHERE("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled") },
	{ .id = "fragmented",
	  .title = "memory is in pieces: huge pages are asked for and not given",
	  .rule = not_granted,
	  .steps = ANYWHERE("echo 1 > /proc/sys/vm/compact_memory once; ask for explicit huge "
			    "pages at boot") },
	{ .id = "explicit",
	  .title = "explicit huge pages were asked for and not granted",
	  BY_SETTING("memory.hugepages-granted", LIKELY),
	  .steps = ANYWHERE("ask at boot, for as many as there is memory") },
	{ .id = "balancing",
	  .title = "the kernel moves pages between nodes",
	  .rule = moved,
	  .fix = "cpu.numa-balancing",
	  .steps = ANYWHERE("sysctl kernel.numa_balancing=0, and bind programs to nodes") },
};

static const struct diagnosis rows[] = {
	{ .id = "memory.slow-access",
	  .symptom = "memory is slow to get at, CPU work on large data is slow",
	  .words = "latency huge pages thp tlb numa tokenizer",
	  .tests = TEST_BIT(TEST_MEMORY_PAGES),
	  CAUSES(pages) },
};
const struct diagnosis_table diagnoses_memory_pages = DIAGNOSIS_TABLE(rows);
