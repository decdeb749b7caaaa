/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: idle states, NUMA balancing, online CPUs, interrupts, clocks. Isolation is in
 * boot.c. */
#include <limits.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

static bool one_node(const struct rule_ctx *q, struct verdict *v)
{
	if (is_numa(q->m))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "there is only one NUMA node: pages cannot migrate");
	return false;
}

/* CPU 0 stays with everything else. */
static bool has_cpus_to_spare(const struct rule_ctx *q, struct verdict *v)
{
	if (!seen_ok(&q->m->cpu.online.f) || idset_count(&q->m->cpu.online.v) > 1)
		return true;
	verdict_na(v, CODE_NO_EFFECT, "there is only one CPU, which cannot be reserved");
	return false;
}

enum { BY_NUMBER = -1, NO_BOUND = -2 };

/* Exit latency in us that a state may have. */
static long long latency_bound(const struct rule_ctx *q)
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

static void judge_depth(const struct rule_ctx *q, struct verdict *v, const struct idle_state *worst)
{
	const struct recommendation *wish = q->wish;
	long long bound = latency_bound(q);

	if (!wish)
		return;
	v->why = wish->because;
	if (bound == NO_BOUND)
		verdict_unknown(v, CODE_ERROR, "the profile has no exit latency in us");
	else if (!worst)
		verdict_pass(v, "every enabled state is within the target");
	else
		verdict_fail(v,
			     bound == BY_NUMBER
				     ? wish->value
				     : arena_printf(q->a, "exit latency <= %lld us", bound),
			     arena_printf(q->a, "%s has an exit latency of %lld us",
					  fact_text(&worst->name, "a state"),
					  fact_or(&worst->latency, -1)));
}

/* Deepest exit latency among the states that are not disabled. */
static void rule_cpu_idle_states(const struct rule_ctx *q, struct verdict *v)
{
	const struct idle_group *g = q->object;
	const struct idle_state *worst = NULL;
	bool wished = q->wish && q->wish->rel != WANT_LEAVE;
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct idle_state, s, &g->states) {
		if (!is_seen(q, v, &s->disabled.f, NULL))
			return;
		text_printf(&t, s->disabled.v ? "%s%s (disabled)" : "%s%s (%lld us)",
			    t.len ? ", " : "", fact_text(&s->name, "?"), fact_or(&s->latency, -1));
		if (wished && !s->disabled.v && is_too_deep(s, latency_bound(q)))
			worst = s;
	}
	v->current = arena_strdup(q->a, t.s ? t.s : "none enabled");
	if (has_target(q, v))
		judge_depth(q, v, worst);
	else if (q->wish)
		v->code = CODE_OPT_IN;
}

/* Every CPU has a switch of its own for every state. */
static void remediate_idle_states(const struct rule_ctx *q, struct remediations *out)
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
			remediate_knob(q, out, k, "1");
		}
}

/* Half of the CPUs, where the kernel says that no core runs two threads. Arm has no such threads:
 * there half of the CPUs are cores. */
static bool is_smt_off(const struct machine *m, const struct idset *off)
{
	return fact_or(&m->cpu.smt_active, 1) == 0 && fact_is(&m->kernel.arch, "x86_64") &&
	       idset_count(off) == idset_count(&m->cpu.online.v);
}

static void online(const struct rule_ctx *q, struct verdict *v)
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
		verdict_na(
			v, CODE_LEFT_ALONE,
			"SMT is off: the second thread of every core is offline by configuration");
	else
		verdict_fail(v, idset_format(q->a, &c->present.v),
			     arena_printf(q->a, "CPUs %s are present but offline",
					  idset_format(q->a, &off)));
}

/* Interrupts start where the default mask lets them; the boot argument is what sets it in time. */
static void remediate_irq_affinity(const struct rule_ctx *q, struct remediations *out)
{
	const struct cpus *c = &q->m->cpu;
	struct idset rest = idset_minus(q->a, &c->online.v, &c->isolated.v);

	if (seen_ok(&c->online.f) && rest.n)
		remediate_argument(q, out, "irqaffinity", idset_format(q->a, &rest));
}

/* Interrupts that may run on isolated CPUs disturb what was isolated. The mask is hexadecimal
 * words. */
static void irq_affinity(const struct rule_ctx *q, struct verdict *v)
{
	const struct cpus *c = &q->m->cpu;
	unsigned bit = 0;
	struct idset hit = { 0 };

	if (!has_isolated_cpus(q->m)) {
		verdict_na(v, CODE_NO_EFFECT, "no CPU is isolated");
		return;
	}
	if (!is_seen(q, v, &c->default_smp_affinity.f, NULL))
		return;
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
		verdict_pass(v, "new interrupts avoid the isolated CPUs");
	else
		verdict_fail(v, "housekeeping CPUs only",
			     arena_printf(q->a, "new interrupts may run on isolated CPUs %s",
					  idset_format(q->a, &hit)));
}

/* The clocks of processors: governor, ceiling, boost, and who selects them on a GB10. */

static const char no_nvpmodel[] =
	"nvpmodel not found: it is part of NVIDIA's Jetson and IGX systems";

/* Only where nvpmodel is: asking for the clocks runs a program. */
static bool has_power_modes(const struct rule_ctx *q, struct verdict *v)
{
	if (q->m->cpu.power_mode.f.seen != SEEN_ABSENT)
		return true;
	verdict_na(v, CODE_NO_HARDWARE, no_nvpmodel);
	return false;
}

static const char *power_mode_text(const struct rule_ctx *q, long long id)
{
	const struct cpus *c = &q->m->cpu;

	return seen_ok(&c->power_mode_name.f) && c->power_mode.v == id
		       ? arena_printf(q->a, "%lld (%s)", id, c->power_mode_name.v)
		       : arena_printf(q->a, "%lld", id);
}

/* The number that is wanted; -1: not known. */
static long long power_mode_target(const struct rule_ctx *q)
{
	long long id;

	if (strcmp(q->wish->value, "max") == 0)
		return fact_or(&q->m->cpu.power_mode_most, -1);
	return parse_i64(q->wish->value, &id) == 0 ? id : -1;
}

static void power_mode(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *now = &q->m->cpu.power_mode;
	long long want;

	if (!is_seen(q, v, &now->f, NULL))
		return;
	v->current = power_mode_text(q, now->v);
	if (!has_target(q, v))
		return;
	want = power_mode_target(q);
	if (want < 0)
		verdict_unseen(q, v, &q->m->cpu.power_mode_most.f,
			       "nvpmodel's file has no mode without ceilings (MAXN)");
	else if (now->v == want)
		verdict_pass(v, q->wish->because);
	else
		verdict_fail(v, power_mode_text(q, want), q->wish->because);
}

static void remediate_power_mode(const struct rule_ctx *q, struct remediations *out)
{
	remediate_value(q, out, arena_printf(q->a, "%lld", power_mode_target(q)));
}

static const char no_cpufreq[] =
	"there is no frequency policy: this is a virtual machine, or firmware controls the clocks";

/* Less is no clock of any such processor: who says so means megahertz. */
#define LEAST_KHZ 1e5

/* "max", "3 GHz", "2800 MHz", "2800000 kHz", "2800000". */
static const char *ceiling_target(struct arena *a, const char *text)
{
	static const struct {
		const char *unit;
		double khz;
	} units[] = { { "", 1 }, { "kHz", 1 }, { "MHz", 1e3 }, { "GHz", 1e6 } };
	const char *unit;
	double v;

	if (strcmp(text, "max") == 0)
		return text;
	if (parse_decimal(text, &v, &unit))
		return NULL;
	unit += strspn(unit, " ");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(unit, units[i].unit) == 0 && v * units[i].khz >= LEAST_KHZ &&
		    v * units[i].khz < INT_MAX)
			return arena_printf(a, "%.0f", v * units[i].khz);
	return NULL;
}

/* The ceiling that the profile wants, never above the processor's own; -1 when it names none. */
static long long ceiling_khz(const struct rule_ctx *q)
{
	const struct freq_policy *p = q->object;
	long long khz;

	if (strcmp(q->wish->value, "max") == 0)
		return p->hw_max_khz.v;
	if (parse_i64(q->wish->value, &khz))
		return -1;
	return khz < p->hw_max_khz.v ? khz : p->hw_max_khz.v;
}

/* Firmware may let the highest clock be set above what it says is the highest. */
static bool ceiling_met(const struct rule_ctx *q)
{
	const struct freq_policy *p = q->object;
	long long want = ceiling_khz(q);

	return p->max_khz.v == want ||
	       (p->max_khz.v < want ? q->wish->rel == WANT_AT_MOST
				    : q->wish->rel == WANT_AT_LEAST || want == p->hw_max_khz.v);
}

/* A lowered maximum defeats the governor. */
static void freq_max(const struct rule_ctx *q, struct verdict *v)
{
	const struct freq_policy *p = q->object;

	if (!has_target(q, v))
		return;
	if (!seen_ok(&p->max_khz.f) || !seen_ok(&p->hw_max_khz.f)) {
		verdict_unseen(q, v, seen_ok(&p->max_khz.f) ? &p->hw_max_khz.f : &p->max_khz.f,
			       NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz of %lld MHz", p->max_khz.v / 1000,
				  p->hw_max_khz.v / 1000);
	if (ceiling_khz(q) < 0)
		verdict_unknown(v, CODE_ERROR, "the profile's value must be max or a clock in kHz");
	else if (ceiling_met(q))
		verdict_pass(v, p->max_khz.v >= p->hw_max_khz.v ? "not capped" : "at target value");
	else
		verdict_fail(v, arena_printf(q->a, "%lld MHz", ceiling_khz(q) / 1000),
			     q->wish->because ? q->wish->because : "differs from the profile");
}

static void remediate_freq_max(const struct rule_ctx *q, struct remediations *out)
{
	remediate_value(q, out, arena_printf(q->a, "%lld", ceiling_khz(q)));
}

/* Beside the ceilings of the policies: the lower of both counts. */
static void performance_limit(const struct rule_ctx *q, struct verdict *v)
{
	const struct fact_int *most = &q->m->cpu.perf_max_pct;
	const struct freq_policy *p = q->m->cpu.policies.n ? q->m->cpu.policies.items : NULL;

	if (!p || (seen_ok(&p->driver.f) && !str_starts(p->driver.v, "intel_"))) {
		verdict_na(v, CODE_NO_SUPPORT,
			   p ? "the frequency driver is not intel_pstate" : no_cpufreq);
		return;
	}
	if (!is_seen(q, v, &most->f, "the frequency driver is not intel_pstate"))
		return;
	v->current = arena_printf(q->a, "%lld %%", most->v);
	if (!has_target(q, v))
		return;
	if (most->v < 1 || most->v > 100)
		verdict_unknown(v, CODE_ERROR, "invalid performance percentage from the driver");
	else if (recommendation_met(q->wish, arena_printf(q->a, "%lld", most->v)))
		verdict_pass(v, "no limit set by the driver");
	else
		verdict_fail(v, recommendation_text(q->a, q->wish, "%"), q->wish->because);
}

/* Intel's own driver has the switch the other way round. */
static void remediate_boost(const struct rule_ctx *q, struct remediations *out)
{
	const char *from = fact_from(q->a, &q->m->cpu.boost.f);

	if (str_ends(from, "no_turbo"))
		remediate_knob(q, out, (struct knob){ KNOB_SYSFS, from, "" },
			       strcmp(remediate_target(q), "1") == 0 ? "0" : "1");
	else
		remediate_value(q, out, remediate_target(q));
}

/* What boost adds at most, in percent by firmware's own scale; negative: not known. */
static double boost_gain(const struct cpus *c)
{
	return seen_ok(&c->cppc_highest.f) && seen_ok(&c->cppc_nominal.f)
		       ? 100.0 * (double)c->cppc_highest.v / (double)c->cppc_nominal.v - 100
		       : -1;
}

/* cppc_cpufreq has the switch on every Arm server, off by default, whether or not the processor
 * has anything above its nominal clock. Source: the kernel's driver of that name. */
static void turbo(const struct rule_ctx *q, struct verdict *v)
{
	enum { MUCH_PCT = 10 };
	const struct cpus *c = &q->m->cpu;
	const struct freq_policy *p = c->policies.items;
	bool asked = c->cppc_nominal.f.leaf != NULL;
	double gain = boost_gain(c);

	if (!is_seen(q, v, &c->boost.f, "the CPU or driver has no boost switch"))
		return;
	if (!has_target(q, v))
		return;
	v->why = q->wish->because;
	v->wanted = recommendation_text(q->a, q->wish, NULL);
	if (recommendation_met(q->wish, c->boost.v ? "1" : "0"))
		verdict_pass(v, "at target value");
	else if (c->boost.v)
		verdict_fail(v, v->wanted, q->wish->because);
	else if (asked && gain >= 0 && gain < 0.1)
		verdict_na(v, CODE_NO_EFFECT,
			   "firmware reports no clock above the nominal one: boost adds nothing");
	else if (asked && gain >= 0) {
		v->slight = gain < MUCH_PCT;
		verdict_fail(v, v->wanted,
			     arena_printf(q->a, "boost would add at most %.1f %%", gain));
	} else if (c->policies.n && fact_is(&p->driver, "cppc_cpufreq"))
		verdict_unseen(q, v, &c->cppc_nominal.f,
			       "the kernel does not report clocks above the nominal clock");
	else
		verdict_fail(v, v->wanted, q->wish->because);
}

/* On a GB10 without autonomous selection the memory fabric stays slow: 32 against 92 GB/s was
 * measured. */
static void cppc(const struct rule_ctx *q, struct verdict *v)
{
	const struct freq_policy *p = q->m->cpu.policies.items;

	if (!q->m->cpu.policies.n || !fact_is(&p->driver, "cppc_cpufreq")) {
		verdict_na(v, CODE_NO_SUPPORT, "the frequency driver is not cppc_cpufreq");
		return;
	}
	if (!(q->platform & ON_SPARK)) {
		verdict_na(v, CODE_NOT_HERE, "this setting is known to matter only on GB10");
		return;
	}
	if (!has_target(q, v))
		return;
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
		verdict_pass(v, "the CPU selects its own clocks, and the memory fabric follows");
	else
		verdict_fail(v, "1",
			     "the memory fabric keeps a low clock: in a measurement one thread "
			     "read 32 instead of 92 GB/s");
}

#include "look/settings_cpu_rows.h"
