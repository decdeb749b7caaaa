/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: idle states, NUMA balancing, online CPUs, interrupts, clocks. Isolation is in
 * boot.c. */
#include <limits.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"

/* Exit latency in us. The published script names states by number. */
static const struct recommendation deep_states[] = {
	{ PROFILE_DEFAULT, ON_GPU, WANT_LEAVE, NULL,
	  "deep states are left on: they save power and heat that the GPU and turbo use; the "
	  "profile low-latency limits them to 10 us",
	  NULL },
	{ PROFILE_DEFAULT, ON_HOST, WANT_LEAVE, NULL,
	  "deep states are left on: they save power and heat that turbo uses; the profile "
	  "low-latency limits them to 10 us",
	  NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_AT_MOST, "10",
	  "the next packet or request pays for waking up; it costs power and turbo (gain "
	  "unmeasured)",
	  NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "states 2 and deeper off",
	  "published as: no wake-up latency", "S0" },
};
static const struct recommendation numa_balancing[] = {
	{ PROFILE_DEFAULT, ON_GPU, WANT_IS, "0",
	  "moving pages under pinned training and inference processes stalls them", NULL },
	{ PROFILE_LOW_LATENCY, ON_HOST, WANT_IS, "0",
	  "a page that is moved while a program waits for it is a pause (unmeasured)", NULL },
	{ PROFILE_DEFAULT, ON_HOST, WANT_LEAVE, NULL,
	  "programs that place no memory themselves gain from it; one that pins its own can "
	  "choose 0",
	  NULL },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL,
	  "programs that place no memory themselves can gain from it", NULL },
};
static const struct recommendation partition[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "only for programs that poll and are put there by hand; it takes CPUs away from "
	  "everything else",
	  NULL },
};

static bool one_node(const struct rule_ctx *q, struct verdict *v)
{
	if (is_numa(q->m))
		return true;
	verdict_na(v, CODE_NO_EFFECT, "one NUMA node: there is nowhere to move a page to");
	return false;
}

/* CPU 0 stays with everything else. */
static bool has_cpus_to_spare(const struct rule_ctx *q, struct verdict *v)
{
	if (!seen_ok(&q->m->cpu.online.f) || idset_count(&q->m->cpu.online.v) > 1)
		return true;
	verdict_na(v, CODE_NO_EFFECT, "one CPU: there is none to set aside");
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
static void rule_cpu_idle_states(const struct rule_ctx *q, struct verdict *v)
{
	const struct idle_group *g = q->object;
	const struct idle_state *worst = NULL;
	bool wished = q->wish && q->wish->rel != WANT_LEAVE;
	TEXT_AUTO t = { 0 };

	LIST_FOR_EACH (struct idle_state, s, &g->states) {
		if (!is_seen(q, v, &s->disabled.f, NULL))
			return;
		if (s->disabled.v)
			continue;
		text_printf(&t, "%s%s (%lld us)", t.len ? ", " : "", fact_text(&s->name, "?"),
			    fact_or(&s->latency, -1));
		if (wished && is_too_deep(s, latency_bound(q)))
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
		verdict_na(v, CODE_LEFT_ALONE,
			   "SMT is off: the second thread of every core is offline, as somebody "
			   "chose");
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
		 "latency; it also frees power and heat for the cores and the GPU that work.",
	  .why_host = "A deep state takes longer to wake from, which shows in packet and request "
		      "latency; it also frees power and heat for the cores that work.",
	  .note = "Published as states 2 and 3 by number on 20 CPUs. Numbers differ by platform "
		  "and driver: gputune chooses by exit latency.",
	  .source = "S0; cpuidle.rst",
	  .shown_by = "idle-wake-up timer-wake-up/1ms hand-over tcp-latency/64B",
	  .settle_s = 1,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(deep_states),
	  .judge = rule_cpu_idle_states,
	  .remediate = remediate_idle_states },
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
	  RECOMMENDATIONS(numa_balancing),
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
	  RECOMMENDATIONS(partition),
	  .applies = has_cpus_to_spare },
	{ .id = "cpu.irq-affinity",
	  .title = "Interrupts off isolated CPUs",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "irqaffinity",
	  .of = &cpus_shape,
	  .fact = "default_smp_affinity",
	  .not_when = "no CPU is isolated",
	  .why = "An interrupt on a polling core costs it packets.",
	  .source = "S1; kernel-parameters",
	  .shown_by = "timer-wake-up/100us tcp-latency/64B",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .effect = EFFECT_REBOOT,
	  .judge = irq_affinity,
	  .remediate = remediate_irq_affinity,
	  .by_hand = "keep interrupts off the isolated CPUs: irqaffinity= at boot, "
		     "/proc/irq/N/smp_affinity_list for those that run" },
};

const struct setting_table settings_cpu = SETTING_TABLE(rows);

/* The clocks of processors: governor, ceiling, boost, and who selects them on a GB10. */

static const struct recommendation governor[] = {
	{ PROFILE_DEFAULT, ON_GPU, WANT_IS, "performance",
	  "keeps the clock up for threads that feed the GPU; it does not stop idle states", NULL },
	{ PROFILE_DEFAULT, ON_HOST, WANT_IS, "performance",
	  "keeps the clock up between short bursts of work; it does not stop idle states", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "performance",
	  "published for every core, not only the isolated ones", "S1" },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL, "the distribution's choice", NULL },
};
static const struct recommendation ceiling[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "max",
	  "the clock is capped below what the processor can do, whatever the governor", NULL },
};
static const struct recommendation auto_select[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1",
	  "the processor's own selection also raises the memory fabric of a GB10", NULL },
};
static const struct recommendation boost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1", "boost off caps every core at its base clock",
	  NULL },
};

static const struct recommendation perf_limit[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_AT_LEAST, "100",
	  "holds every processor below its highest clock, whatever governor and ceiling say",
	  NULL },
};

static const struct recommendation power_modes[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "a power mode is chosen for the supply and the cooling; max-performance takes the one "
	  "without ceilings",
	  NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_IS, "max",
	  "the mode without ceilings: all processors, highest clocks of processors, GPU and memory",
	  "Jetson Linux Developer Guide r36 (2024)" },
};
static const struct recommendation all_clocks[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "clocks at their maximum all the time cost power and heat; max-performance sets it",
	  NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_IS, "1",
	  "clocks do not have to rise first, within the ceilings of the power mode",
	  "Jetson Linux Developer Guide r36 (2024)" },
};

static const char no_nvpmodel[] = "no nvpmodel: it is part of NVIDIA's Jetson and IGX systems";

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
			       "nvpmodel's file names no mode without ceilings (MAXN)");
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
	"no frequency policy: a virtual machine, or firmware decides about clocks";

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
		verdict_unknown(v, CODE_ERROR, "the profile names neither max nor a clock in kHz");
	else if (ceiling_met(q))
		verdict_pass(v, p->max_khz.v >= p->hw_max_khz.v ? "not capped" : "as wanted");
	else
		verdict_fail(v, arena_printf(q->a, "%lld MHz", ceiling_khz(q) / 1000),
			     q->wish->because ? q->wish->because : "not as the profile wants");
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
		verdict_unknown(v, CODE_ERROR, "no share of a clock: the driver answers nonsense");
	else if (recommendation_met(q->wish, arena_printf(q->a, "%lld", most->v)))
		verdict_pass(v, "the driver holds nothing back");
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

	if (!is_seen(q, v, &c->boost.f, "the processor or driver has no boost switch"))
		return;
	if (!has_target(q, v))
		return;
	v->why = q->wish->because;
	v->wanted = recommendation_text(q->a, q->wish, NULL);
	if (recommendation_met(q->wish, c->boost.v ? "1" : "0"))
		verdict_pass(v, "as wanted");
	else if (c->boost.v)
		verdict_fail(v, v->wanted, q->wish->because);
	else if (asked && gain >= 0 && gain < 0.1)
		verdict_na(v, CODE_NO_EFFECT,
			   "firmware names no clock above the nominal one: boost adds nothing");
	else if (asked && gain >= 0) {
		v->slight = gain < MUCH_PCT;
		verdict_fail(v, v->wanted,
			     arena_printf(q->a, "boost would add at most %.1f %%", gain));
	} else if (c->policies.n && fact_is(&p->driver, "cppc_cpufreq"))
		verdict_unseen(q, v, &c->cppc_nominal.f,
			       "the kernel does not tell what is above the nominal clock");
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
		verdict_na(v, CODE_NOT_HERE, "known to matter on GB10 only");
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
		verdict_pass(
			v,
			"the processor selects its clocks itself, and the memory fabric follows");
	else
		verdict_fail(v, "1",
			     "the memory fabric does not ramp up: one thread was measured to read "
			     "32 instead of 92 GB/s");
}

static const struct setting clock_rows[] = {
	{ .id = "cpu.governor",
	  .title = "Frequency governor",
	  .scope = SCOPE_POLICY,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor",
	  .of = &freq_policy_shape,
	  .fact = "governor",
	  .none = no_cpufreq,
	  .none_code = CODE_NO_SUPPORT,
	  .not_when = "there is no frequency policy, as in most virtual machines",
	  .why = "Chooses the clock of a CPU that is running. It does not keep a CPU from "
		 "sleeping.",
	  .note = "Published as what prevents idle; that is the idle states' matter "
		  "(cpu.idle-states). Gain unmeasured.",
	  .source = "S1; cpufreq.rst",
	  .shown_by = "cpu-frequency hand-over timer-wake-up/1ms",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(governor) },
	{ .id = "cpu.frequency-cap",
	  .title = "Frequency ceiling",
	  .scope = SCOPE_POLICY,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq",
	  .of = &freq_policy_shape,
	  .fact = "max_khz",
	  .none = no_cpufreq,
	  .none_code = CODE_NO_SUPPORT,
	  .not_when = "there is no frequency policy",
	  .why = "A lowered ceiling defeats every governor.",
	  .source = "cpufreq.rst",
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(ceiling),
	  .wish = ceiling_target,
	  .wish_form = "a clock with its unit (3000 MHz)",
	  .judge = freq_max,
	  .remediate = remediate_freq_max },
	{ .id = "cpu.performance-limit",
	  .title = "Performance limit of intel_pstate",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/intel_pstate/max_perf_pct",
	  .of = &cpus_shape,
	  .fact = "perf_max_pct",
	  .unit = "%",
	  .not_when = "the frequency driver is not intel_pstate",
	  .why = "A share of the highest clock that no governor exceeds; thermald and laptop tools "
		 "lower it.",
	  .source = "kernel admin-guide/pm/intel_pstate.rst",
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(perf_limit),
	  .judge = performance_limit },
	{ .id = "cpu.boost",
	  .title = "Turbo or boost",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_SYSFS,
	  .name = "/sys/devices/system/cpu/cpufreq/boost",
	  .of = &cpus_shape,
	  .fact = "boost",
	  .not_when = "the processor or driver has no boost switch, or nothing above the nominal "
		      "clock",
	  .why = "Lets a core exceed its base clock while power and heat allow it.",
	  .note = "Most Arm servers and every GB10 have the switch, off by default. What it adds "
		  "follows from firmware's highest and nominal performance.",
	  .source = "cpufreq.rst; kernel cppc_cpufreq.c",
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 1,
	  .warm_up_s = 20,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(boost),
	  .judge = turbo,
	  .remediate = remediate_boost },
	{ .id = "cpu.power-mode",
	  .title = "Power mode (nvpmodel)",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_POWER,
	  .name = "nvpmodel",
	  .of = &cpus_shape,
	  .fact = "power_mode",
	  .not_when = "there is no nvpmodel: the machine is no Jetson or IGX",
	  .why = "A mode takes processors offline and sets ceilings for the clocks of processors, "
		 "the Orin's own GPU and memory, whatever the governor asks for.",
	  .note = "Guides say nvpmodel -m 0; the number of the mode without ceilings differs by "
		  "board, and its name is MAXN. Some modes take a reboot, which nvpmodel asks "
		  "about: gputune never answers.",
	  .source = "Jetson Linux Developer Guide r36 (2024); IGX Orin user guide",
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 2,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(power_modes),
	  .applies = has_power_modes,
	  .judge = power_mode,
	  .remediate = remediate_power_mode,
	  .by_hand = "nvpmodel -m with the number of the mode; it asks before a reboot" },
	{ .id = "cpu.jetson-clocks",
	  .title = "All clocks at their maximum",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_HELPER,
	  .name = "jetson-clocks",
	  .not_when = "there is no nvpmodel: the machine is no Jetson or IGX",
	  .why = "jetson_clocks keeps the clocks of processors, the Orin's own GPU and memory at "
		 "the ceilings of the power mode until the next boot.",
	  .note = "What the clocks were is kept by the program (--store) and given back by it "
		  "(--restore).",
	  .source = "Jetson Linux Developer Guide r36 (2024)",
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 2,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  RECOMMENDATIONS(all_clocks),
	  .applies = has_power_modes },
	{ .id = "cpu.cppc-auto-select",
	  .title = "CPPC autonomous selection",
	  .scope = SCOPE_HOST,
	  .knob = KNOB_BOOTARG,
	  .name = "cppc_cpufreq.auto_sel_mode",
	  .read = "/sys/module/cppc_cpufreq/parameters/auto_sel_mode",
	  .not_when = "the driver is not cppc_cpufreq or the machine is no GB10",
	  .why = "On a GB10 the processor's own selection also raises the memory fabric. Without "
		 "it memory bandwidth was measured at a third.",
	  .source = "NVIDIA kernel change 245; NixOS DGX Spark module (measured)",
	  .shown_by = "cpu-frequency hand-over",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_LOW,
	  .effect = EFFECT_REBOOT,
	  RECOMMENDATIONS(auto_select),
	  .judge = cppc },
};

const struct setting_table settings_cpu_clock = SETTING_TABLE(clock_rows);
