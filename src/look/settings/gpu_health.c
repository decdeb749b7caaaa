/* SPDX-License-Identifier: Apache-2.0 */
/* GPU health: preconditions. A setting is not to blame for a throttled or degraded GPU. Whether it
 * answers at all is in gpu_driver.c. */
#include <stddef.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"
#include "knowledge/health.h"

/* The reasons that take clocks away; idle, application clocks and display are no fault. */
static void throttle_now(const struct rule_ctx *q, struct verdict *v)
{
	static const struct {
		long long bit;
		const char *name;
	} bits[] = {
		{ EVENT_SW_POWER, "software power cap" },
		{ EVENT_HW_SLOWDOWN, "hardware slowdown" },
		{ EVENT_SW_THERMAL, "software thermal" },
		{ EVENT_HW_THERMAL, "hardware thermal" },
		{ EVENT_HW_POWER, "hardware power brake" },
		{ EVENT_SYNC_BOOST, "sync boost" },
	};
	const struct gpu *g = q->object;
	TEXT_AUTO t = { 0 };
	long long mask;

	if (!is_seen(q, v, &g->event_reasons.f, NULL))
		return;
	mask = g->event_reasons.v;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (mask & bits[i].bit)
			text_printf(&t, "%s%s", t.len ? ", " : "", bits[i].name);
	v->current = t.len ? arena_strdup(q->a, t.s) : mask & EVENT_IDLE ? "none (idle)" : "none";
	if (mask & (EVENT_SW_THERMAL | EVENT_HW_THERMAL))
		verdict_fail_by(v, CODE_HEAT, "none",
				"the GPU is too hot: fix cooling first, clocks later");
	else if (mask & EVENT_HW_POWER)
		verdict_fail_by(v, CODE_POWER, "none",
				"hardware limits the clock: power supply or cable; no clock "
				"setting fixes that");
	/* nvml.h: it may be told while the clock changes, too. */
	else if (mask & EVENT_HW_SLOWDOWN)
		verdict_na(v, CODE_NEEDS_EARLIER,
			   "hardware slowdown, neither thermal nor power brake. Clock changes "
			   "cause short ones: an earlier reading (--since) shows for how long");
	else if (mask & EVENT_SW_POWER)
		verdict_pass(v,
			     "at its power limit, normal for a busy GPU; no clock lock lifts it");
	else if (mask & EVENT_SYNC_BOOST)
		verdict_pass(v, "synchronized with the slowest GPU of its group, as configured");
	else
		verdict_pass(v, fact_or(&g->integrated, 0)
					? "none reported; a GB10 does not report "
					  "all limits: some only show under load"
					: "clocks are not throttled now");
}

/* What takes clocks away for heat or power, each with its counter. Software slows down first, at a
 * lower temperature: on a GB10 it is the one that counts. */
static const struct {
	size_t offset; /* of a struct fact_int in struct gpu: microseconds since driver load */
	const char *name, *code, *mend;
} slowdowns[] = {
	{ offsetof(struct gpu, event_hw_thermal_us), "thermal", CODE_HEAT, "cooling" },
	{ offsetof(struct gpu, event_sw_thermal_us), "software thermal", CODE_HEAT, "cooling" },
	{ offsetof(struct gpu, event_hw_power_us), "power brake", CODE_POWER,
	  "power supply and cables" },
};
enum { SLOWDOWNS = sizeof(slowdowns) / sizeof(slowdowns[0]) };

static const struct fact_int *slowdown(const struct gpu *g, size_t i)
{
	return (const struct fact_int *)((const char *)g + slowdowns[i].offset);
}

/* No driver runs for ten years: a counter that says so has wrapped, or was never one. */
static bool is_driver_time(long long us)
{
	return us >= 0 && us <= 10ll * 366 * 86400 * 1000000;
}

/* The first that was neither seen nor is missing on this GPU; all missing: the first. NULL: what
 * the GPU counts was seen, and *n of it. */
static const struct fact *slowdown_unseen(const struct gpu *g, size_t *n)
{
	const struct fact *unseen = NULL;

	*n = 0;
	for (size_t i = 0; i < SLOWDOWNS; i++) {
		const struct fact *f = &slowdown(g, i)->f;

		if (seen_ok(f))
			++*n;
		else if (!unseen && f->seen != SEEN_UNSUPPORTED)
			unseen = f;
	}
	return unseen || *n ? unseen : &slowdown(g, 0)->f;
}

/* What part of the time between two readings the clock was held down, by what did so longest. */
static void throttle_growth(const struct rule_ctx *q, struct verdict *v, const struct gpu *before)
{
	const struct gpu *g = q->object;
	double most = health_figure(q->s->id, "share", NULL, 0), worst = -1;
	size_t by = 0;

	for (size_t i = 0; i < SLOWDOWNS; i++) {
		long long us = growth(slowdown(g, i), slowdown(before, i));
		double share = (double)us / 1e4 / (double)growth_seconds(q->m);

		if (us >= 0 && share > worst) {
			worst = share;
			by = i;
		}
	}
	v->current = arena_printf(q->a, "%s %.1f %% of the time %s", slowdowns[by].name, worst,
				  growth_span(q->a, q->m));
	/* A tenth for clocks that are read a moment apart. */
	if (worst > 110)
		verdict_unknown(
			v, CODE_ERROR,
			"the counter grew by more than the time that passed: it jumped or wrapped");
	else if (worst > most)
		verdict_fail_by(v, slowdowns[by].code, arena_printf(q->a, "<= %.0f %%", most),
				arena_printf(q->a, "this GPU is throttled now: check %s",
					     slowdowns[by].mend));
	else
		verdict_pass(v, "not throttled between the two readings");
}

/* Which of the three grew can be told of this earlier reading. */
static bool slowdowns_comparable(const struct gpu *g, const struct gpu *before)
{
	bool any = false;

	for (size_t i = 0; i < SLOWDOWNS; i++) {
		if (!seen_ok(&slowdown(g, i)->f))
			continue;
		if (growth(slowdown(g, i), slowdown(before, i)) < 0)
			return false;
		any = true;
	}
	return any;
}

/* "hardware thermal 0 s, ..., power cap 3 s": since the driver was loaded. */
static const char *slowdown_times(const struct rule_ctx *q, const struct gpu *g)
{
	TEXT_AUTO t = { 0 };

	for (size_t i = 0; i < SLOWDOWNS; i++)
		if (seen_ok(&slowdown(g, i)->f))
			text_printf(&t, "%s%s %lld s", t.len ? ", " : "", slowdowns[i].name,
				    slowdown(g, i)->v / 1000000);
	if (t.len && seen_ok(&g->event_sw_power_us.f))
		text_printf(&t, ", power cap %lld s", g->event_sw_power_us.v / 1000000);
	return t.len ? arena_strdup(q->a, t.s) : NULL;
}

/* Counters run since the driver was loaded: only their share against each other says anything at
 * rest. */
static void throttle_history(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	long long most = (long long)(health_figure(q->s->id, "time", NULL, 0) * 1e6);
	size_t seen, worst = SLOWDOWNS;
	const struct fact *unseen = slowdown_unseen(g, &seen);

	v->current = slowdown_times(q, g);
	for (size_t i = 0; i < SLOWDOWNS; i++) {
		const struct fact_int *us = slowdown(g, i);

		if (seen_ok(&us->f) && !is_driver_time(us->v)) {
			verdict_unknown(v, CODE_ERROR,
					arena_printf(q->a, "%s: the counter wrapped or is invalid",
						     slowdowns[i].name));
			return;
		}
		if (seen_ok(&us->f) && us->v > most &&
		    (worst == SLOWDOWNS || us->v > slowdown(g, worst)->v))
			worst = i;
	}
	if (before && slowdowns_comparable(g, before))
		throttle_growth(q, v, before);
	/* A lifetime count is no rate, so it is a hint and no more. */
	else if (worst < SLOWDOWNS)
		verdict_fail_by(v, slowdowns[worst].code,
				"0 s of thermal and power-brake throttling",
				arena_printf(q->a,
					     "%s throttled this GPU since driver load: check %s, "
					     "then watch whether this time grows",
					     slowdowns[worst].name, slowdowns[worst].mend));
	else if (unseen)
		verdict_unseen(q, v, unseen, "not counted by the driver on this GPU");
	else if (seen < SLOWDOWNS)
		verdict_pass(v, "none of the driver's counters shows throttling");
	else
		verdict_pass(v, "neither thermal nor power brake throttling; a software power cap "
				"under load is normal");
}

/* Degrees left. The driver's own margin (T.Limit) comes first: it is of the hottest part, and on
 * newer GPUs the absolute limits are only what they once were. */
static void temperature(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	struct gpu_heat h = gpu_heat(g);
	const char *below;

	if (!h.has_now && !h.has_margin && !h.has_limit) {
		if (seen_ok(&g->temperature_c.f))
			verdict_unknown(v, CODE_ERROR,
					arena_printf(q->a, "the sensor reports %lld C",
						     g->temperature_c.v));
		else
			verdict_unseen(q, v, &g->temperature_c.f, NULL);
		return;
	}
	v->current = h.has_now ? arena_printf(q->a, "%lld C", h.now_c)
			       : arena_printf(q->a, "%lld C below its limit", h.left_c);
	if (!h.has_limit && h.odd_margin) {
		verdict_unknown(v, CODE_ERROR,
				arena_printf(q->a, "the driver's margin of %lld C matches no limit",
					     g->temperature_margin_c.v));
		return;
	}
	if (!h.has_margin && !h.has_limit) {
		if (g->temperature_slowdown_c.f.seen == SEEN_UNASKED ||
		    g->temperature_margin_c.f.seen == SEEN_UNASKED)
			verdict_na(v, CODE_NEEDS_DEEP,
				   "the limit was skipped because reading it is slow (--deep reads "
				   "it); gpu.throttle shows thermal throttling");
		else
			verdict_na(v, CODE_NO_SUPPORT,
				   "the driver reports no limit to compare with; gpu.throttle "
				   "shows thermal throttling");
		return;
	}
	below = arena_printf(
		q->a, "%lld C below the %s%s", h.left_c,
		h.has_margin ? "first limit, according to the driver's margin" : "slow-down limit",
		h.disagree     ? "; the absolute limit contradicts it"
		: h.odd_margin ? "; the driver's margin matches no limit and is ignored"
			       : "");
	if (h.left_c >= HEAT_CLOSE_C)
		verdict_pass(v, below);
	else
		verdict_fail(v, "5 C below its limit",
			     h.left_c >= 0
				     ? "at the slowdown limit: fix cooling first, clocks later"
				     : "above the slowdown limit: fix cooling first, clocks later");
}

/* HBM has a sensor and a limit of its own: it may be hot while the cores are cool. */
static void memory_temperature(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long now = fact_or(&g->temperature_memory_c, -1),
		  most = fact_or(&g->temperature_memory_max_c, 0);
	double known = health_figure(q->s->id, "most", fact_text(&g->name, NULL), 0),
	       near = health_figure(q->s->id, "margin", NULL, 0);

	if (g->temperature_memory_c.f.seen == SEEN_UNASKED) {
		verdict_na(v, CODE_NEEDS_DEEP, "slow to read, so skipped; use --deep");
		return;
	}
	if (!is_seen(q, v, &g->temperature_memory_c.f, "the GPU's memory has no sensor"))
		return;
	v->current = arena_printf(q->a, "%lld C", now);
	/* A sensor that is off answers 0, one that is gone 255. */
	if (now <= 0 || now >= 255) {
		verdict_unknown(v, CODE_ERROR, "invalid value from the sensor");
		return;
	}
	if (most <= 0 || most >= 255)
		most = (long long)known;
	if (most <= 0)
		verdict_na(v, CODE_NO_SUPPORT, "neither driver nor data sheet has a limit");
	else if ((double)(most - now) < near)
		verdict_fail(v, arena_printf(q->a, "< %.0f C", (double)most - near),
			     arena_printf(q->a,
					  "the memory temperature limit is %lld C: the GPU slows "
					  "down at this limit, even if the core is cool",
					  most));
	else
		verdict_pass(v, arena_printf(q->a, "%lld C below its limit", most - now));
}

/*
 * GB10: a power-delivery fault leaves the GPU at 500 to 850 MHz and under 20 W while it works, with
 * no reason set. It can only be told while the GPU works.
 */
static void power_latch(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long util = fact_or(&g->util_gpu_pct, -1), sm = fact_or(&g->clock_sm_mhz, -1),
		  mw = fact_or(&g->power_mw, -1);

	if (!(q->platform & ON_SPARK) || (seen_ok(&g->integrated.f) && !g->integrated.v)) {
		verdict_na(v, CODE_NOT_HERE, "this fault is known only on GB10");
		return;
	}
	if (util < 0 || sm < 0 || !seen_ok(&g->event_reasons.f)) {
		verdict_unseen(q, v,
			       util < 0 ? &g->util_gpu_pct.f
			       : sm < 0 ? &g->clock_sm_mhz.f
					: &g->event_reasons.f,
			       NULL);
		return;
	}
	v->current =
		mw < 0 ? arena_printf(q->a, "%lld %% busy, %lld MHz", util, sm)
		       : arena_printf(q->a, "%lld %% busy, %lld MHz, %lld W", util, sm, mw / 1000);
	if (util < 80)
		verdict_na(v, CODE_NEEDS_LOAD,
			   "the GPU is idle: the fault only appears under load");
	else if (sm >= 1400)
		verdict_pass(v, "the clock is high under load");
	else if (g->event_reasons.v & ~(long long)EVENT_IDLE)
		verdict_na(v, CODE_NO_EFFECT, "low, but with a reason: see gpu.throttle");
	else
		verdict_fail(v, "> 2000 MHz under load",
			     "low clock, busy, no throttle reason: the USB-C power supply is "
			     "latched low. Unplug it from the wall and the unit for a minute; a "
			     "reboot does not clear it");
}

static void remapped_rows(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact *const asked[] = { &g->remap_pending.f, &g->remap_uncorrected.f };
	const struct fact *unread = first_untold(asked, 2);

	if (!is_seen(q, v, &g->remap_failed.f, "this GPU does not remap rows"))
		return;
	v->current =
		arena_printf(q->a, "%lld corrected, %lld uncorrected",
			     fact_or(&g->remap_corrected, 0), fact_or(&g->remap_uncorrected, 0));
	if (g->remap_failed.v)
		verdict_fail(v, "no failure", "a row could not be remapped: replace the board");
	else if (fact_or(&g->remap_pending, 0))
		verdict_fail(v, "none pending", "a remap is waiting for a GPU reset");
	else if ((double)fact_or(&g->remap_uncorrected, 0) >
		 health_figure(q->s->id, "uncorrected", NULL, 1e18))
		verdict_fail(v, "few remapped rows",
			     "too many rows were remapped: replace the board");
	else if (unread)
		verdict_unseen(q, v, unread, NULL);
	else
		verdict_pass(v, "no remap failed or is pending");
}

/* Uncorrected errors since the driver was loaded, then over the board's life; -1: unknown. */
struct ecc_counts {
	long long now, life, corrected;
};

/* More errors than are plausible: the counter wrapped, or is invalid. */
static bool is_count(long long n)
{
	return n >= -1 && n < 1ll << 48;
}

static const char *ecc_text(struct arena *a, const struct ecc_counts *n)
{
	const char *life = n->life < 0 ? "" : arena_printf(a, "%lld over its lifetime, ", n->life);

	if (n->now <= 0)
		return arena_printf(a, "%lld uncorrected, %lld corrected", n->life, n->corrected);
	return arena_printf(a, "%lld uncorrected since driver load, %s%lld corrected", n->now, life,
			    n->corrected);
}

/* Both counters: what came since the driver was loaded is the more urgent. */
static void ecc_errors(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	double corrected_most = health_figure(q->s->id, "corrected", NULL, 1e18);
	struct ecc_counts n = { fact_or(&g->ecc_volatile, -1), fact_or(&g->ecc_uncorrected, -1),
				fact_or(&g->ecc_corrected, 0) };
	const struct fact *const both[] = { &g->ecc_corrected.f, &g->ecc_volatile.f };
	const struct fact *untold = first_untold(both, 2);
	bool explained = fact_or(&g->remap_uncorrected, 0) > 0 &&
			 fact_or(&g->remap_pending, 1) == 0 && fact_or(&g->remap_failed, 1) == 0;
	long long more = before ? growth(&g->ecc_uncorrected, &before->ecc_uncorrected) : -1;

	if (!is_count(n.now) || !is_count(n.life)) {
		verdict_unknown(v, CODE_ERROR, "the counter wrapped or is invalid");
		return;
	}
	if (n.now <= 0 && !is_seen(q, v, &g->ecc_uncorrected.f, "this GPU counts no ECC errors"))
		return;
	v->current = ecc_text(q->a, &n);
	if ((double)n.corrected > corrected_most)
		verdict_fail(v, arena_printf(q->a, "<= %.0f corrected", corrected_most),
			     "too many corrected errors: uncorrected ones are likely soon; replace "
			     "the board");
	else if (more > 0)
		verdict_fail(v, "no growth",
			     arena_printf(q->a, "%lld more uncorrected errors %s", more,
					  growth_span(q->a, q->m)));
	else if (more == 0)
		verdict_pass(v,
			     n.life == 0
				     ? "no uncorrected error over its lifetime"
				     : arena_printf(q->a,
						    "errors over its lifetime, none of them new %s",
						    growth_span(q->a, q->m)));
	else if (n.now > 0)
		verdict_fail(v, "0 uncorrected since driver load",
			     n.life >= 0 && n.now > n.life
				     ? "more uncorrected memory errors since driver load than over "
				       "the lifetime: trust the higher count"
				     : "uncorrected memory errors since driver load: reset the GPU "
				       "before more work");
	else if (untold && (n.life == 0 || explained))
		verdict_unseen(q, v, untold, NULL);
	else if (n.life == 0)
		verdict_pass(v, "no uncorrected error over its lifetime");
	else if (explained)
		verdict_pass(
			v, "errors over its lifetime; the rows were remapped and none is pending");
	else {
		v->slight = n.now == 0;
		verdict_fail(
			v, "0 uncorrected",
			"uncorrected memory errors over its lifetime, and no remapped row explains "
			"them. Only growth is a fault: check again after a day of work");
	}
}

static void recovery(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!is_seen(q, v, &g->recovery_action.f, "not reported by the driver"))
		return;
	v->current = g->recovery_action.v;
	if (strcmp(g->recovery_action.v, "none") == 0)
		verdict_pass(v, "the driver requests no recovery");
	else
		verdict_fail(v, "none",
			     arena_printf(q->a, "the driver requests: %s", g->recovery_action.v));
}

/* Errors that the driver and the links of a GPU count or log. What they are measured by stands in
 * health_limits.rows. */

enum { KINDS_SHOWN = 6 };

static bool is_gpu_function(const struct machine *m, const void *object)
{
	const struct pci_function *p = object;

	(void)m;
	return is_nvidia_display(p) && fact_or(&p->is_vf, 0) != 1;
}

static const char *ago(struct arena *a, const struct gpu_xid *x)
{
	long long s = fact_or(&x->age_s, -1);

	if (s < 0)
		return "";
	return s >= 7200  ? arena_printf(a, ", last %lld h ago", s / 3600)
	       : s >= 120 ? arena_printf(a, ", last %lld min ago", s / 60)
			  : arena_printf(a, ", last %lld s ago", s);
}

/* Who gives an earlier reading asks for what came after it: of the GPU that was reset meanwhile,
 * too, of which no log tells. */
static bool came_before(const struct rule_ctx *q, const struct gpu_xid *x)
{
	return growth_seconds(q->m) > 0 && fact_or(&x->age_s, 0) > growth_seconds(q->m);
}

/* How much an error number matters: 0 nothing, 1 fresh and unknown, 2 fresh, 3 as long as the log
 * has it. */
static int gpu_health_weight(const struct rule_ctx *q, const struct gpu_xid *x,
			     const struct xid_row *row)
{
	double window = health_figure("gpu.xid", "window", NULL, 0);
	long long age = fact_or(&x->age_s, 0);

	if (came_before(q, x))
		return 0;
	if (row && row->kind == XID_LASTING)
		return 3;
	if ((row && row->kind == XID_PROGRAM) || (double)age > window)
		return 0;
	return row ? 2 : 1;
}

static void xid_verdict(const struct rule_ctx *q, struct verdict *v, const struct gpu_xid *worst,
			int heavy)
{
	const struct xid_row *row = worst ? xid_find(worst->index) : NULL;

	if (!worst)
		verdict_pass(v, "none in the kernel log of this boot");
	else if (heavy == 0 && row && row->kind == XID_PROGRAM)
		verdict_pass(v, "caused by programs: not a GPU fault");
	else if (heavy == 0 && came_before(q, worst))
		verdict_pass(v, arena_printf(q->a, "none %s: the last hardware Xid (%u) is older",
					     growth_span(q->a, q->m), worst->index));
	else if (heavy == 0)
		verdict_pass(v, arena_printf(q->a,
					     "the GPU survived its last hardware Xid (%u) long ago",
					     worst->index));
	else if (!row)
		verdict_fail(
			v, "none from hardware",
			arena_printf(q->a,
				     "Xid %u is not in gputune's table: see NVIDIA's Xid catalog",
				     worst->index));
	else
		verdict_fail(
			v, "none from hardware",
			arena_printf(q->a, "Xid %u, %s: %s", worst->index, row->what, row->todo));
}

/* A log that is missing says nothing, not even that the machine has no such errors. */
static bool has_log(const struct rule_ctx *q, struct verdict *v, const struct fact *f)
{
	bool seen = is_seen(q, v, f, NULL);

	if (f->seen == SEEN_ABSENT)
		verdict_unknown(v, CODE_ERROR, "no kernel log found: errors are not known");
	return seen;
}

static void gpu_health_xid(const struct rule_ctx *q, struct verdict *v)
{
	const struct pci_function *p = q->object;
	const struct gpu_xid *worst = NULL;
	TEXT_AUTO t = { 0 };
	int heavy = -1;
	size_t kinds = 0;

	if (!has_log(q, v, &q->m->gpu.xid_events.f))
		return;
	LIST_FOR_EACH (struct gpu_xid, x, &q->m->gpu.xids) {
		int w = gpu_health_weight(q, x, xid_find(x->index));

		if (strcmp(x->pci, p->name) != 0)
			continue;
		if (kinds++ < KINDS_SHOWN)
			text_printf(&t, "%sXid %u x%lld%s", t.len ? "; " : "", x->index,
				    fact_or(&x->count, 0), ago(q->a, x));
		if (w > heavy) {
			heavy = w;
			worst = x;
		}
	}
	if (kinds > KINDS_SHOWN)
		text_printf(&t, "; %zu more", kinds - KINDS_SHOWN);
	v->current = t.len ? arena_strndup(q->a, t.s, t.len) : "none";
	xid_verdict(q, v, worst, heavy);
}

static bool has_switches(const struct machine *m, const void *object)
{
	(void)object;
	LIST_FOR_EACH (struct pci_function, p, &m->pci)
		if (is_nvswitch(p))
			return true;
	return false;
}

static void sxid(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpus *g = &q->m->gpu;

	if (!has_log(q, v, &g->sxid_fatal.f))
		return;
	v->current = arena_printf(q->a, "%lld fatal, %lld non-fatal", g->sxid_fatal.v,
				  fact_or(&g->sxid_nonfatal, 0));
	if (g->sxid_fatal.v > 0 && growth_seconds(q->m) > 0 &&
	    growth(&g->sxid_fatal, &q->m->earlier->gpu.sxid_fatal) == 0)
		verdict_pass(v, arena_printf(q->a, "no fatal one %s", growth_span(q->a, q->m)));
	else if (g->sxid_fatal.v > 0)
		verdict_fail(v, "0 fatal",
			     "an NVSwitch reported a fatal error: jobs over NVLink fail until the "
			     "fabric and its GPUs are reset");
	else
		verdict_pass(v, fact_or(&g->sxid_nonfatal, 0) > 0
					? "no error that ends jobs; watch whether the others grow"
					: "none in the kernel log of this boot");
}

static void replays(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object, *before = earlier_gpu(q->m, g);
	const char *key = arena_printf(q->a, "gen%lld", fact_or(&g->pcie_gen, 0));
	double lane = health_figure(q->s->id, key, fact_text(&g->name, NULL), -1), most;
	long long n;

	if (!not_integrated(q, v, "the PCIe link of this GPU carries no data: it uses NVLink-C2C"))
		return;
	if (!is_seen(q, v, &g->pcie_replays.f, "not counted by the driver"))
		return;
	n = before ? growth(&g->pcie_replays, &before->pcie_replays) : -1;
	v->current = arena_printf(q->a, "%lld since driver load", g->pcie_replays.v);
	if (n < 0) {
		if (g->pcie_replays.v == 0)
			verdict_pass(v, "the link never replayed");
		else
			verdict_na(v, CODE_NEEDS_EARLIER,
				   "a count is not a rate: an earlier reading (--since) shows "
				   "whether it grows");
		return;
	}
	v->current = arena_printf(q->a, "%lld more %s", n, growth_span(q->a, q->m));
	most = lane * (double)fact_or(&g->pcie_width, 16) * ((double)growth_seconds(q->m) / 60 + 1);
	if (most < 0)
		verdict_na(v, CODE_NO_SUPPORT, "the generation of the link is unknown");
	else if ((double)n > most)
		verdict_fail(v, arena_printf(q->a, "<= %.0f", most),
			     "more replays than the limit for its link generation: check card, "
			     "slot and riser");
	else
		verdict_pass(v, n ? "within the limit of its link generation"
				  : "the errors did not grow");
}

#include "look/settings_gpu_health_rows.h"
