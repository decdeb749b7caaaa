/* SPDX-License-Identifier: Apache-2.0 */
/* What may hold a GPU's clock down: application clocks, the power limit, and what it does under
 * load. */
#include <string.h>

#include "base/text.h"
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

static const struct opinion board_power[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "default",
	  "a limit below the board's default slows everything without saying so", NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_IS, "max",
	  "the highest limit that the board allows; supply and cooling have to bear it (gain "
	  "unmeasured)",
	  NULL },
};

static const long long held_back =
	EVENT_SW_POWER | EVENT_HW_SLOWDOWN | EVENT_SW_THERMAL | EVENT_HW_THERMAL | EVENT_HW_POWER;

static void app_clocks(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long set = fact_or(&g->clock_app_sm_mhz, -1),
		  def = fact_or(&g->clock_app_default_sm_mhz, -1);

	if (!not_integrated(q, v, "application clocks are fixed by firmware"))
		return;
	if (set < 0 || def < 0) {
		verdict_unseen(q, v,
			       set < 0 ? &g->clock_app_sm_mhz.f : &g->clock_app_default_sm_mhz.f,
			       "this GPU has no application clocks");
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz", set);
	if (set >= def)
		verdict_pass(v, "not lowered");
	else
		verdict_fail(v, arena_printf(q->a, "%lld MHz", def),
			     "somebody lowered the application clock below its default");
}

/* The limit that the profile names, mW: a number of watts, the board's default or its highest.
 * False fills the verdict. */
static bool wanted_limit(const struct question *q, struct verdict *v, long long *want)
{
	const struct gpu *g = q->object;
	const struct fact_int *named = strcmp(q->wish->value, "default") == 0
					       ? &g->power_limit_default_mw
				       : strcmp(q->wish->value, "max") == 0 ? &g->power_limit_max_mw
									    : NULL;

	if (named && !seen_ok(&named->f))
		verdict_unseen(q, v, &named->f, NULL);
	else if (named)
		*want = named->v;
	else if (parse_i64(q->wish->value, want))
		verdict_unknown(v, CODE_ERROR, "the profile names no number of watts");
	else
		*want *= 1000;
	return v->kind != VERDICT_NA && v->kind != VERDICT_UNKNOWN;
}

/* Of a limit with a name no less is wanted, so that one above the default is left alone. */
static bool is_named(const struct opinion *wish)
{
	return strcmp(wish->value, "default") == 0 || strcmp(wish->value, "max") == 0;
}

static void power_limit(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact_int *now = &g->power_limit_mw;
	long long want = 0, enforced = fact_or(&g->power_limit_enforced_mw, -1);

	if (!not_integrated(q, v, "power limits are fixed by firmware") || !has_wish(q, v))
		return;
	if (!seen_ok(&now->f)) {
		verdict_unseen(q, v, &now->f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld W", now->v / 1000);
	if (!wanted_limit(q, v, &want))
		return;
	v->why = q->wish->because;
	v->wanted = is_named(q->wish) ? arena_printf(q->a, ">= %lld W", want / 1000)
				      : opinion_text(q->a, q->wish, "W");
	if (!is_named(q->wish)) {
		if (opinion_met(q->wish, arena_printf(q->a, "%lld", now->v / 1000)))
			verdict_pass(v, "as the profile wants");
		else
			verdict_fail(v, v->wanted, "not the limit that the profile wants");
	} else if (now->v < want)
		verdict_fail(v, v->wanted, q->wish->because);
	else if (enforced >= 0 && enforced < want)
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "set to %lld W, but the board is held to %lld W: another "
					  "limit (power supply, platform, a service) is in force",
					  now->v / 1000, enforced / 1000));
	else
		verdict_pass(v, "at the board's default or above");
}

/* What is set already and held down by something else is no matter of this knob. */
static void aim_power_limit(const struct question *q, struct aims *out)
{
	const struct gpu *g = q->object;
	struct verdict why = { .kind = VERDICT_PASS };
	long long want = 0;

	if (!wanted_limit(q, &why, &want))
		aim_by_hand(out, why.reason);
	else if (want != g->power_limit_mw.v && !(is_named(q->wish) && g->power_limit_mw.v > want))
		aim_value(q, out, arena_printf(q->a, "%lld", want));
}

/* What a lock, an application clock or a latched board looks like from outside. */
static void working_clock(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long util = fact_or(&g->util_gpu_pct, -1), now = fact_or(&g->clock_sm_mhz, -1),
		  max = fact_or(&g->clock_sm_max_mhz, -1);
	const struct fact *unseen = util < 0  ? &g->util_gpu_pct.f
				    : now < 0 ? &g->clock_sm_mhz.f
				    : max < 0 ? &g->clock_sm_max_mhz.f
					      : &g->event_reasons.f;

	if (!not_integrated(q, v,
			    "see gpu.power-latch: a GB10 works well below its nominal maximum"))
		return;
	if (util < 0 || now < 0 || max < 0 || !seen_ok(&g->event_reasons.f)) {
		verdict_unseen(q, v, unseen, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld %% busy, %lld of %lld MHz", util, now, max);
	if (util < 80) {
		v->current = "at rest";
		verdict_na(v, CODE_NEEDS_LOAD, "a resting GPU's clock is no setting");
	} else if (g->event_reasons.v & held_back)
		verdict_na(v, CODE_NO_EFFECT, "held back by power or heat: see gpu.throttle");
	else if (now < max * 3 / 4)
		verdict_fail(v, arena_printf(q->a, ">= %lld MHz under load", max * 3 / 4),
			     "busy and slow without a reason from power or heat: a lock or an "
			     "application clock holds it down");
	else
		verdict_pass(v, "the clock is up under load");
}

#define GPU .scope = SCOPE_GPU

static const struct setting rows[] = {
	{ .id = "gpu.application-clocks",
	  .title = "Application clocks",
	  GPU,
	  .read = "nvmlDeviceGetApplicationsClock(SM)",
	  .not_when = "the GPU has none",
	  .why = "The older way to choose a clock; a lowered one explains a slow GPU.",
	  .source = "S0; nvml",
	  .severity = SEVERITY_MEDIUM,
	  .judge = app_clocks,
	  .by_hand = "nvidia-smi -i GPU -rac sets them back" },
	{ .id = "gpu.power-limit",
	  .title = "Power limit",
	  GPU,
	  .knob = KNOB_NVML,
	  .name = "power-limit",
	  .read = "nvmlDeviceGetPowerManagementLimit",
	  .not_when = "firmware fixes it (GB10)",
	  .why = "The cap that the driver holds the board to.",
	  .source = "nvml; S0",
	  .shown_by = "gpu-load gemm/bf16",
	  .settle_s = 30,
	  .warm_up_s = 60,
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  OPINIONS(board_power),
	  .judge = power_limit,
	  .aim = aim_power_limit,
	  .by_hand = "look for the limit that holds the board down: power supply, platform "
		     "settings, a service such as a power manager" },
	{ .id = "gpu.working-clock",
	  .title = "SM clock under load",
	  GPU,
	  .health = true,
	  .read = "utilisation, SM clock and clocks event reasons together",
	  .not_when = "the GPU rests, shares the host's memory, or is held back by power or heat",
	  .why = "A busy GPU well below its maximum without a reason is locked low or faulty.",
	  .source = "nvml",
	  .severity = SEVERITY_MEDIUM,
	  .judge = working_clock,
	  .by_hand = "nvidia-smi -i GPU -rgc takes a lock away that nobody wants; then a reset of "
		     "the GPU" },
};

const struct setting_table settings_gpu_power = SETTING_TABLE(rows);
