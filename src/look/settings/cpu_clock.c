/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of processors: governor, ceiling, boost, and who selects them on a GB10. */
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"

static const struct opinion governor[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "performance",
	  "keeps the clock up for threads that feed the GPU; it does not stop idle states", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "performance",
	  "published for every core, not only the isolated ones", "S1" },
	{ PROFILE_BALANCED, ON_ALL, WANT_LEAVE, NULL, "the distribution's choice", NULL },
};
static const struct opinion ceiling[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "max",
	  "the clock is capped below what the processor can do, whatever the governor", NULL },
};
static const struct opinion auto_select[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1",
	  "the processor's own selection also raises the memory fabric of a GB10", NULL },
};
static const struct opinion boost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1", "boost off caps every core at its base clock",
	  NULL },
};

static const char no_cpufreq[] =
	"no frequency policy: a virtual machine, or firmware decides about clocks";

/* Less is no clock of any such processor: who says so means megahertz. */
#define LEAST_KHZ 1e5

/* "max", "3 GHz", "2800 MHz", "2800000 kHz", "2800000". */
static const char *ceiling_wish(struct arena *a, const char *text)
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
static long long ceiling_khz(const struct question *q)
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
static bool ceiling_met(const struct question *q)
{
	const struct freq_policy *p = q->object;
	long long want = ceiling_khz(q);

	return p->max_khz.v == want ||
	       (p->max_khz.v < want ? q->wish->rel == WANT_AT_MOST
				    : q->wish->rel == WANT_AT_LEAST || want == p->hw_max_khz.v);
}

/* A lowered maximum defeats the governor. */
static void freq_max(const struct question *q, struct verdict *v)
{
	const struct freq_policy *p = q->object;

	if (!has_wish(q, v))
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

static void aim_freq_max(const struct question *q, struct aims *out)
{
	aim_value(q, out, arena_printf(q->a, "%lld", ceiling_khz(q)));
}

/* Intel's own driver has the switch the other way round. */
static void aim_boost(const struct question *q, struct aims *out)
{
	const char *from = fact_from(q->a, &q->m->cpu.boost.f);

	if (str_ends(from, "no_turbo"))
		aim_knob(q, out, (struct knob){ KNOB_SYSFS, from, "" },
			 strcmp(aim_wished(q), "1") == 0 ? "0" : "1");
	else
		aim_value(q, out, aim_wished(q));
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
	if (!has_wish(q, v))
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

static const struct setting rows[] = {
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
	  .shown_by = "cpu-frequency hand-over timer-wake-up/1ms",
	  .settle_s = 1,
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
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 1,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(ceiling),
	  .wish = ceiling_wish,
	  .wish_form = "a clock with its unit (3000 MHz)",
	  .judge = freq_max,
	  .aim = aim_freq_max },
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
	  .shown_by = "cpu-frequency memory-bandwidth/triad",
	  .settle_s = 1,
	  .warm_up_s = 20,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_LOW,
	  OPINIONS(boost),
	  .aim = aim_boost },
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
	  .shown_by = "cpu-frequency hand-over",
	  .severity = SEVERITY_HIGH,
	  .risk = RISK_LOW,
	  .effect = EFFECT_REBOOT,
	  OPINIONS(auto_select),
	  .judge = cppc },
};

const struct setting_table settings_cpu_clock = SETTING_TABLE(rows);
