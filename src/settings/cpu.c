/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: frequency, idle states, NUMA balancing, online CPUs. Isolation is in boot.c. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <string.h>

#include "base/text.h"

static const struct opinion governor[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "performance",
	  "keeps the clock up for threads that feed the GPU; it does not stop idle states", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "performance",
	  "published for every core, not only the isolated ones", "S1" },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL, "the distribution's choice", NULL },
};
static const struct opinion numa_balancing[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "0",
	  "moving pages under pinned training and inference processes stalls them", NULL },
};
static const struct opinion boost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1", "boost off caps every core at its base clock",
	  NULL },
};

static const char no_cpufreq[] =
	"no frequency policy: a virtual machine, or firmware decides about clocks";

/* A lowered maximum defeats the governor. */
static void freq_max(const struct question *q, struct verdict *v)
{
	const struct freq_policy *p = q->object;

	if (!seen_ok(&p->max_khz.f) || !seen_ok(&p->hw_max_khz.f)) {
		verdict_unseen(q, v, seen_ok(&p->max_khz.f) ? &p->hw_max_khz.f : &p->max_khz.f,
			       NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz of %lld MHz", p->max_khz.v / 1000,
				  p->hw_max_khz.v / 1000);
	if (p->max_khz.v >= p->hw_max_khz.v)
		verdict_pass(v, "not capped");
	else
		verdict_fail(v, arena_printf(q->a, "%lld MHz", p->hw_max_khz.v / 1000),
			     "the clock is capped below what the processor can do, whatever the "
			     "governor");
}

static bool one_node(const struct question *q, struct verdict *v)
{
	if (is_numa(q->m))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "one NUMA node: there is nowhere to move a page to");
	return false;
}

/* On a GB10 without autonomous selection the memory fabric stays slow: 32 against 92 GB/s was
 * measured. */
static void cppc(const struct question *q, struct verdict *v)
{
	const struct freq_policy *p = q->m->cpu.policies.items;

	if (!q->m->cpu.policies.n || !fact_is(&p->driver, "cppc_cpufreq")) {
		verdict_na(v, CODE_NO_SUPPORT, "the frequency driver is not cppc_cpufreq");
		return;
	}
	if (q->platform != ON_SPARK) {
		verdict_na(v, CODE_NOT_HERE, "known to matter on GB10 only");
		return;
	}
	if (!seen_ok(&q->m->cpu.cppc_auto_sel_mode.f)) {
		if (q->m->cpu.cppc_auto_sel_mode.f.seen != SEEN_ABSENT ||
		    !seen_ok(&p->auto_select.f)) {
			verdict_unseen(
				q, v, &q->m->cpu.cppc_auto_sel_mode.f,
				"this kernel's cppc_cpufreq has no autonomous selection parameter");
			return;
		}
	}
	if (fact_or(&q->m->cpu.cppc_auto_sel_mode, 0) == 1 || fact_or(&p->auto_select, 0) == 1)
		verdict_pass(
			v,
			"the processor selects its clocks itself, and the memory fabric follows");
	else
		verdict_fail(v, "1",
			     "the memory fabric does not ramp up: one thread was measured to read "
			     "32 instead of 92 GB/s");
}

/* Deepest exit latency among the states that are not disabled. */
static void idle_states(const struct question *q, struct verdict *v)
{
	const struct idle_group *g = q->object;
	const struct idle_state *deepest = NULL;
	/* Exit latency bound in microseconds; 0: the profile has no wish. */
	long long bound = q->profile == PROFILE_LOW_LATENCY			       ? 10
			  : q->profile == PROFILE_PUBLISHED && q->platform == ON_SPARK ? -1
										       : 0;
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct idle_state, s, &g->states) {
		if (!seen_ok(&s->disabled.f)) {
			verdict_unseen(q, v, &s->disabled.f, NULL);
			return;
		}
		if (s->disabled.v)
			continue;
		text_printf(&t, "%s%s (%lld us)", t.len ? ", " : "", fact_text(&s->name, "?"),
			    fact_or(&s->latency, -1));
		/* The published script switches off states by number: 2 and 3. */
		if (bound == -1 ? s->index >= 2 : bound && fact_or(&s->latency, 0) > bound)
			deepest = s;
	}
	v->current = arena_strdup(q->a, t.s ? t.s : "none enabled");
	if (!bound)
		verdict_na(v, CODE_OPT_IN,
			   "deep states are left on: they save power and heat that the GPU and "
			   "turbo use; "
			   "the profile low-latency limits them to 10 us");
	else if (!deepest)
		verdict_pass(v, "no state deeper than wanted is enabled");
	else
		verdict_fail(v,
			     bound == -1 ? "states 2 and deeper off"
					 : arena_printf(q->a, "exit latency <= %lld us", bound),
			     arena_printf(q->a, "%s takes %lld us to leave",
					  fact_text(&deepest->name, "a state"),
					  fact_or(&deepest->latency, -1)));
}

static void online(const struct question *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	struct idset off;

	if (!seen_ok(&c->online.f) || !seen_ok(&c->present.f)) {
		verdict_unseen(q, v, seen_ok(&c->online.f) ? &c->present.f : &c->online.f, NULL);
		return;
	}
	off = idset_minus(q->a, &c->present.v, &c->online.v);
	v->current = idset_format(q->a, &c->online.v);
	if (!off.n)
		verdict_pass(v, "all present CPUs are online");
	else
		verdict_fail(v, idset_format(q->a, &c->present.v),
			     arena_printf(q->a, "CPUs %s are present but offline",
					  idset_format(q->a, &off)));
}

/* Interrupts that may run on isolated CPUs disturb what was isolated. The mask is hexadecimal
 * words. */
static void irq_affinity(const struct question *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	unsigned bit = 0;
	struct idset hit = { 0 };

	if (!has_isolated_cpus(q->m)) {
		verdict_na(v, CODE_NO_EFFECT, "no CPU is isolated");
		return;
	}
	if (!seen_ok(&c->default_smp_affinity.f)) {
		verdict_unseen(q, v, &c->default_smp_affinity.f, NULL);
		return;
	}
	for (const char *p = c->default_smp_affinity.v + strlen(c->default_smp_affinity.v);
	     p > c->default_smp_affinity.v; p--) {
		char digit[2] = { p[-1], '\0' };
		unsigned long long nibble;

		if (p[-1] == ',' || parse_hex(digit, &nibble))
			continue;
		for (unsigned i = 0; i < 4; i++, bit++)
			if (nibble >> i & 1 && idset_has(&c->isolated.v, bit))
				idset_add(q->a, &hit, bit);
	}
	v->current = c->default_smp_affinity.v;
	if (!hit.n)
		verdict_pass(v, "new interrupts stay off the isolated CPUs");
	else
		verdict_fail(v, "housekeeping CPUs alone",
			     arena_printf(q->a, "new interrupts may run on isolated CPUs %s",
					  idset_format(q->a, &hit)));
}

static const struct setting rows[] = {
	{ .id = "cpu.online",
	  .title = "All CPUs online",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_NONE,
	  .health = true,
	  .why = "An offline CPU does no work and shifts what guides number.",
	  .source = "S0",
	  .read = "/sys/devices/system/cpu/{online,present}",
	  .severity = SEVERITY_MEDIUM,
	  .judge = online },
	{ .id = "cpu.governor",
	  .title = "Frequency governor",
	  .scope = SCOPE_POLICY,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor",
	  .of = &schema_freq_policy,
	  .fact = "governor",
	  .none = no_cpufreq,
	  .none_code = CODE_NO_SUPPORT,
	  .not_when = "there is no frequency policy, as in most virtual machines",
	  .why = "Chooses the clock of a CPU that is running. It does not keep a CPU from "
		 "sleeping.",
	  .note = "Published as what prevents idle; that is the idle states' matter "
		  "(cpu.idle-states). Gain unmeasured.",
	  .source = "S1; cpufreq.rst",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(governor) },
	{ .id = "cpu.frequency-cap",
	  .title = "Frequency ceiling",
	  .scope = SCOPE_POLICY,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq",
	  .of = &schema_freq_policy,
	  .fact = "max_khz",
	  .none = no_cpufreq,
	  .none_code = CODE_NO_SUPPORT,
	  .not_when = "there is no frequency policy",
	  .why = "A lowered ceiling defeats every governor.",
	  .source = "cpufreq.rst",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  .judge = freq_max },
	{ .id = "cpu.boost",
	  .title = "Turbo or boost",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/boost",
	  .of = &schema_cpus,
	  .fact = "boost",
	  .not_when = "the processor or driver has no boost switch",
	  .why = "Lets a core exceed its base clock while power and heat allow it.",
	  .source = "cpufreq.rst",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(boost) },
	{ .id = "cpu.cppc-auto-select",
	  .title = "CPPC autonomous selection",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "cppc_cpufreq.auto_sel_mode",
	  .read = "/sys/module/cppc_cpufreq/parameters/auto_sel_mode",
	  .not_when = "the driver is not cppc_cpufreq or the machine is no GB10",
	  .why = "On a GB10 the processor's own selection also raises the memory fabric. Without "
		 "it memory bandwidth was "
		 "measured at a third.",
	  .source = "NVIDIA kernel change 245; NixOS DGX Spark module (measured)",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_LOW,
	  .effect = EFFECT_REBOOT,
	  .judge = cppc },
	{ .id = "cpu.idle-states",
	  .title = "Deep idle states",
	  .scope = SCOPE_IDLE,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
	  .none = "no idle states are exposed: a virtual machine, or one state only",
	  .none_code = CODE_NO_SUPPORT,
	  .not_when = "the kernel exposes no idle states",
	  .why = "A deep state takes longer to wake from, which shows in packet and request "
		 "latency; it also frees power "
		 "and heat for the cores and the GPU that work.",
	  .note = "Published as states 2 and 3 by number on 20 CPUs. Numbers differ by platform "
		  "and driver: gputune chooses "
		  "by exit latency.",
	  .source = "S0; cpuidle.rst",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = idle_states },
	{ .id = "cpu.numa-balancing",
	  .title = "Automatic NUMA balancing",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSCTL,
	  .name = "kernel.numa_balancing",
	  .not_when = "the machine has one NUMA node",
	  .why = "Unmaps pages to learn who uses them and moves them; programs that pinned their "
		 "memory pay and do not gain.",
	  .source = "kernel sysctl/kernel.rst; HGX vendor tuning guides",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(numa_balancing),
	  .applies = one_node },
	{ .id = "cpu.irq-affinity",
	  .title = "Interrupts off isolated CPUs",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_NONE,
	  .of = &schema_cpus,
	  .fact = "default_smp_affinity",
	  .not_when = "no CPU is isolated",
	  .why = "An interrupt on a polling core costs it packets.",
	  .source = "S1; kernel-parameters",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .judge = irq_affinity },
};

const struct setting_table settings_cpu = SETTING_TABLE(rows);
