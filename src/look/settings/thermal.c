/* SPDX-License-Identifier: Apache-2.0 */
/* Heat of what is no GPU, against the trip points that the machine itself names, and the power that
 * a DGX Spark gets. */
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "knowledge/health.h"

static bool is_kind(const void *object, const char *kind)
{
	return strcmp(((const struct temperature *)object)->kind, kind) == 0;
}

static bool is_zone(const struct machine *m, const void *object)
{
	(void)m;
	return is_kind(object, "zone");
}

static bool is_disk_sensor(const struct machine *m, const void *object)
{
	(void)m;
	return is_kind(object, "disk");
}

static bool is_nic_sensor(const struct machine *m, const void *object)
{
	(void)m;
	return is_kind(object, "nic");
}

/* Degrees to the first trip point that takes something away. */
static void trip_distance(const struct rule_ctx *q, struct verdict *v)
{
	const struct temperature *t = q->object;
	const char *what, *limit;

	if (seen_ok(&t->now_c.f))
		v->current =
			arena_printf(q->a, "%s %lld C", fact_text(&t->chip, "sensor"), t->now_c.v);
	if (!is_seen(q, v, &t->limit_c.f, "the zone has no trip point to compare with") ||
	    !is_seen(q, v, &t->now_c.f, NULL))
		return;
	if (!is_temperature(t->limit_c.v) || !is_temperature(t->now_c.v)) {
		verdict_unknown(v, CODE_ERROR,
				arena_printf(q->a, "invalid reading: %lld C of %lld C", t->now_c.v,
					     t->limit_c.v));
		return;
	}
	limit = fact_text(&t->limit_kind, "first");
	what = arena_printf(q->a, "%lld C below its %s trip point of %lld C",
			    t->limit_c.v - t->now_c.v, limit, t->limit_c.v);
	if (t->limit_c.v - t->now_c.v >= HEAT_CLOSE_C)
		verdict_pass(v, what);
	else if (t->limit_c.v > t->now_c.v)
		verdict_fail(v, "5 C below its trip point", what);
	else
		verdict_fail(
			v, "5 C below its trip point",
			arena_printf(
				q->a,
				"at or above its %s trip point of %lld C: throttling or shutdown",
				limit, t->limit_c.v));
}

/* --- power of a DGX Spark --------------------------------------------------------------------- */

static bool on_spark(const struct rule_ctx *q, struct verdict *v)
{
	if ((q->platform & ON_SPARK))
		return true;
	verdict_na(v, CODE_NOT_HERE, "only a DGX Spark reports this");
	return false;
}

/* What the connected supplies agreed to give together, in watts; -1: none says. */
static long long agreed_watts(const struct sensors *s)
{
	long long watts = -1;

	LIST_FOR_EACH (struct power_supply, p, &s->supplies) {
		long long ua = fact_or(&p->current_max_ua, -1),
			  uv = fact_or(&p->voltage_max_uv, -1);

		/* Beyond 48 V and 10 A there is no USB-C adapter: a value in another unit. */
		if (fact_is(&p->type, "Battery") || fact_or(&p->online, 0) < 1 || ua <= 0 ||
		    uv <= 0 || ua > 10000000 || uv > 60000000)
			continue;
		watts = (watts < 0 ? 0 : watts) + ua / 1000 * (uv / 1000) / 1000000;
	}
	return watts;
}

static void power_adapter(const struct rule_ctx *q, struct verdict *v)
{
	const struct sensors *s = &q->m->sensors;
	long long watts = agreed_watts(s),
		  wanted = (long long)health_figure(q->s->id, "adapter", NULL, 0);

	if (seen_ok(&s->power_in_uw.f))
		v->current = arena_printf(q->a, "draws %lld W", s->power_in_uw.v / 1000000);
	if (watts < 0) {
		verdict_na(v, CODE_NO_SUPPORT,
			   "the adapter's negotiated power is not readable; a latched power supply "
			   "only shows under load, see gpu.power-latch");
		return;
	}
	v->current = arena_printf(q->a, "%lld W", watts);
	if (watts < wanted)
		verdict_fail(v, arena_printf(q->a, ">= %lld W", wanted),
			     "the USB-C supply negotiated less than the machine requires: use its "
			     "own adapter, and plug it in again");
	else
		verdict_pass(v, "the adapter supplies the required power");
}

static void prochot(const struct rule_ctx *q, struct verdict *v)
{
	const struct sensors *s = &q->m->sensors;

	if (!is_seen(q, v, &s->prochot.f,
		     "only the driver spbm reports this, and DGX OS lacks that driver"))
		return;
	v->current = arena_printf(
		q->a, "%lld, power level %lld, power caps %lld W (package), %lld W (system)",
		s->prochot.v, fact_or(&s->power_level, -1),
		fact_or(&s->package_cap_uw, 0) / 1000000, fact_or(&s->system_cap_uw, 0) / 1000000);
	if (s->prochot.v != 0)
		verdict_fail(v, "0",
			     "firmware throttles the processors for temperature or power; no "
			     "driver counter shows it");
	else
		verdict_pass(v, "no throttling by firmware");
}

#include "look/settings_thermal_rows.h"
