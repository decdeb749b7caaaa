/* SPDX-License-Identifier: Apache-2.0 */
/* Processors that are slow, late or busy with something else. */

#include "measure/doctor/rule.h"

static void doctor_cpu_warm(const struct rule_facts *e, struct judged *out)
{
	const struct record_conditions *c = e->record ? &e->record->conditions : NULL;
	long long during = c && c->before.throttles >= 0 && c->after.throttles >= 0
				   ? c->after.throttles - c->before.throttles
				   : 0;

	if (during > 0)
		verdict_set(e, out, CAUSE_CERTAIN,
			    "CPUs were throttled for heat %lld times during the tests", during);
	else if (!verdict_set_unseen(e, out, &e->signs->log_throttled.f, "the kernel log"))
		verdict_set(e, out, e->signs->log_throttled.v ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "the kernel log of this boot has %lld lines about thermal throttling "
			    "of CPUs",
			    e->signs->log_throttled.v);
}

static void clock_measured(const struct rule_facts *e, struct judged *out)
{
	const struct record_case *c = case_of(e, "cpu-frequency", "one");
	double mhz;

	rule_by_band(e, TEST_CPU_CLOCK, out);
	/* One core alone reaches the highest frequency, but for a few per cent. */
	if (out->likelihood == CAUSE_UNSEEN && c && c->has_limit && c->limit > 0 &&
	    figure_of(c, "frequency", &mhz))
		verdict_set(e, out, mhz < 0.85 * c->limit ? CAUSE_LIKELY : CAUSE_EXCLUDED,
			    "a single core runs at %.0f of %.0f MHz (%s)", mhz, c->limit,
			    c->limit_source);
}

/* --- late ------------------------------------------------------------------------------------- */
static void sleeps(const struct rule_facts *e, struct judged *out)
{
	enum { WORTH_US = 50 };
	double asleep, awake;
	struct judged by;

	rule_by_setting(e, "cpu.idle-states", CAUSE_POSSIBLE, &by);
	if (test_missing(e, TEST_WAKE, out)) {
		if (by.likelihood == CAUSE_POSSIBLE || by.likelihood == CAUSE_NOT_HERE)
			*out = by;
		return;
	}
	if (!figure_of(case_of(e, "idle-wake-up", "10ms"), "p50", &asleep) ||
	    !figure_of(case_of(e, "idle-wake-up", "10ms:awake"), "p50", &awake)) {
		verdict_set(e, out, CAUSE_UNSEEN, "only one half of the test ran");
		return;
	}
	verdict_set(e, out, asleep - awake > WORTH_US ? CAUSE_CERTAIN : CAUSE_EXCLUDED,
		    "after 10 ms of sleep a thread wakes %.1f us late on an idle CPU, and %.1f us "
		    "on a CPU that is kept awake",
		    asleep, awake);
}

static void stolen(const struct rule_facts *e, struct judged *out)
{
	const struct record_conditions *c = e->record ? &e->record->conditions : NULL;

	if (!is_virtual(e->m))
		verdict_set(e, out, CAUSE_NOT_HERE, "not a virtual machine");
	else if (!c || c->steal_percent < 0 || !e->record->n)
		verdict_set(e, out, CAUSE_UNSEEN, "no test that measures stolen time has run");
	else
		verdict_set(
			e, out, c->steal_percent > STOLEN_MOST_PCT ? CAUSE_CERTAIN : CAUSE_EXCLUDED,
			"the host took %.1f %% of the CPU time during the tests", c->steal_percent);
}

/* --- others ----------------------------------------------------------------------------------- */
static void doctor_cpu_loaded(const struct rule_facts *e, struct judged *out)
{
	unsigned cpus = (unsigned)idset_count(&e->m->cpu.online.v);
	double each;

	if (verdict_set_unseen(e, out, &e->signs->load.f, "the load"))
		return;
	if (!cpus) {
		verdict_set(e, out, CAUSE_UNSEEN, "the number of CPUs is unknown");
		return;
	}
	each = (double)e->signs->load.v / 100 / cpus;
	verdict_set(e, out, each > 1.2 ? CAUSE_LIKELY : CAUSE_EXCLUDED,
		    "%.2f runnable tasks on %u CPUs over the last minute",
		    (double)e->signs->load.v / 100, cpus);
}

static void pressed(const struct rule_facts *e, struct judged *out)
{
	if (e->signs->pressure_cpu.f.seen == SEEN_ABSENT)
		verdict_set(e, out, CAUSE_NOT_HERE, "the kernel has no pressure statistics");
	else if (!verdict_set_unseen(e, out, &e->signs->pressure_cpu.f, "CPU pressure"))
		verdict_set(e, out,
			    e->signs->pressure_cpu.v > 100 * WAITING_MOST_PCT ? CAUSE_LIKELY
									      : CAUSE_EXCLUDED,
			    "in %.1f %% of the last 10 s at least one task waited for a CPU",
			    (double)e->signs->pressure_cpu.v / 100);
}

#include "measure/doctor_cpu_rows.h"
