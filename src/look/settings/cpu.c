/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: idle states, NUMA balancing, online CPUs, interrupts. Clocks are in cpu_clock.c,
 * isolation is in boot_isolation.c. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <string.h>

#include "base/text.h"

/* Exit latency in us. The published script names states by number. */
static const struct opinion deep_states[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "deep states are left on: they save power and heat that the GPU and turbo use; the "
	  "profile low-latency limits them to 10 us",
	  NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_AT_MOST, "10",
	  "the next packet or request pays for waking up; it costs power and turbo (gain "
	  "unmeasured)",
	  NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "states 2 and deeper off",
	  "published as: no wake-up latency", "S0" },
};
static const struct opinion numa_balancing[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "0",
	  "moving pages under pinned training and inference processes stalls them", NULL },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL,
	  "programs that place no memory themselves can gain from it", NULL },
};
static const struct opinion partition[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "only for programs that poll and are put there by hand; it takes CPUs away from "
	  "everything else",
	  NULL },
};

static bool one_node(const struct question *q, struct verdict *v)
{
	if (is_numa(q->m))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "one NUMA node: there is nowhere to move a page to");
	return false;
}

/* CPU 0 stays with everything else. */
static bool has_cpus_to_spare(const struct question *q, struct verdict *v)
{
	if (!seen_ok(&q->m->cpu.online.f) || idset_count(&q->m->cpu.online.v) > 1)
		return true;
	verdict_na(v, CODE_NO_EFFECT, "one CPU: there is none to set aside");
	return false;
}

enum { BY_NUMBER = -1, NO_BOUND = -2 };

/* Exit latency in us that a state may have. */
static long long latency_bound(const struct question *q)
{
	long long bound;

	if (q->wish && q->wish->value && parse_i64(q->wish->value, &bound) == 0 && bound >= 0)
		return bound;
	return q->profile == PROFILE_PUBLISHED ? BY_NUMBER : NO_BOUND;
}

static bool is_too_deep(const struct idle_state *s, long long bound)
{
	return bound == BY_NUMBER ? s->index >= 2 : fact_or(&s->latency, 0) > bound;
}

static void judge_depth(const struct question *q, struct verdict *v, const struct idle_state *worst)
{
	const struct opinion *wish = q->wish;
	long long bound = latency_bound(q);

	if (!wish)
		return;
	v->why = wish->because;
	if (bound == NO_BOUND)
		verdict_unknown(v, CODE_ERROR, "the profile names no exit latency in us");
	else if (!worst)
		verdict_pass(v, "no state deeper than wanted is enabled");
	else
		verdict_fail(v,
			     bound == BY_NUMBER
				     ? wish->value
				     : arena_printf(q->a, "exit latency <= %lld us", bound),
			     arena_printf(q->a, "%s takes %lld us to leave",
					  fact_text(&worst->name, "a state"),
					  fact_or(&worst->latency, -1)));
}

/* Deepest exit latency among the states that are not disabled. */
static void idle_states(const struct question *q, struct verdict *v)
{
	const struct idle_group *g = q->object;
	const struct idle_state *worst = NULL;
	bool wished = q->wish && q->wish->rel != WANT_LEAVE;
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
		if (wished && is_too_deep(s, latency_bound(q)))
			worst = s;
	}
	v->current = arena_strdup(q->a, t.s ? t.s : "none enabled");
	if (has_wish(q, v))
		judge_depth(q, v, worst);
	else if (q->wish)
		v->code = CODE_OPT_IN;
}

/* Every CPU has a switch of its own for every state. */
static void aim_idle_states(const struct question *q, struct aims *out)
{
	const struct idle_group *g = q->object;

	IDSET_FOR_EACH (cpu, &g->cpus.v)
		LIST_FOR_EACH (struct idle_state, s, &g->states) {
			struct knob k = { KNOB_SYSFS, NULL, "" };

			if (s->disabled.v || !is_too_deep(s, latency_bound(q)))
				continue;
			k.name = arena_printf(
				q->a, "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/disable", cpu,
				s->index);
			aim_knob(q, out, k, "1");
		}
}

/* Half of the CPUs, where the kernel says that no core runs two threads. Arm has no such threads:
 * there half of the CPUs are cores. */
static bool is_smt_off(const struct machine *m, const struct idset *off)
{
	return fact_or(&m->cpu.smt_active, 1) == 0 && fact_is(&m->kernel.arch, "x86_64") &&
	       idset_count(off) == idset_count(&m->cpu.online.v);
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
	else if (is_smt_off(q->m, &off))
		verdict_na(v, CODE_LEFT_ALONE,
			   "SMT is off: the second thread of every core is offline, as somebody "
			   "chose");
	else
		verdict_fail(v, idset_format(q->a, &c->present.v),
			     arena_printf(q->a, "CPUs %s are present but offline",
					  idset_format(q->a, &off)));
}

/* Interrupts start where the default mask lets them; the boot argument is what sets it in time. */
static void aim_irq_affinity(const struct question *q, struct aims *out)
{
	const struct cpus *c = &q->m->cpu;
	struct idset rest = idset_minus(q->a, &c->online.v, &c->isolated.v);

	if (seen_ok(&c->online.f) && rest.n)
		aim_argument(q, out, "irqaffinity", idset_format(q->a, &rest));
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
	  .judge = online,
	  .by_hand = "echo 1 > /sys/devices/system/cpu/cpuN/online for each, unless somebody took "
		     "them offline on purpose" },
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
	  .shown_by = "idle-wake-up timer-wake-up/1ms hand-over tcp-latency/64B",
	  .settle_s = 1,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(deep_states),
	  .judge = idle_states,
	  .aim = aim_idle_states },
	{ .id = "cpu.numa-balancing",
	  .title = "Automatic NUMA balancing",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSCTL,
	  .name = "kernel.numa_balancing",
	  .not_when = "the machine has one NUMA node",
	  .why = "Unmaps pages to learn who uses them and moves them; programs that pinned their "
		 "memory pay and do not gain.",
	  .source = "kernel sysctl/kernel.rst; HGX vendor tuning guides",
	  .shown_by = "memory-latency/256MiB memory-bandwidth/triad",
	  .settle_s = 5,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(numa_balancing),
	  .applies = one_node },
	{ .id = "cpu.isolated-partition",
	  .title = "CPUs set aside at run time",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_CPUSET,
	  .name = "isolated",
	  .not_when = "Linux is older than 6.1, or control groups are of version 1",
	  .why = "Takes CPUs away from everything that runs, and load balancing off them, without "
		 "a reboot; only what is moved there uses them. Everything else has to do with "
		 "what is left.",
	  .note = "It is what isolcpus does at boot, to be tried and taken back. Linux before 6.2 "
		  "forgets which CPUs other programs had bound themselves to when CPUs are taken "
		  "away: there they have to be started again.",
	  .source = "cgroup-v2.rst; kernel-parameters",
	  .shown_by = "memory-bandwidth hand-over",
	  .settle_s = 1,
	  .severity = SEVERITY_INFO,
	  .risk = RISK_SERVICE,
	  OPINIONS(partition),
	  .applies = has_cpus_to_spare },
	{ .id = "cpu.irq-affinity",
	  .title = "Interrupts off isolated CPUs",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "irqaffinity",
	  .of = &schema_cpus,
	  .fact = "default_smp_affinity",
	  .not_when = "no CPU is isolated",
	  .why = "An interrupt on a polling core costs it packets.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us tcp-latency/64B",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .effect = EFFECT_REBOOT,
	  .judge = irq_affinity,
	  .aim = aim_irq_affinity,
	  .by_hand = "keep interrupts off the isolated CPUs: irqaffinity= at boot, "
		     "/proc/irq/N/smp_affinity_list for those that run" },
};

const struct setting_table settings_cpu = SETTING_TABLE(rows);
