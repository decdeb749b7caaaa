/* SPDX-License-Identifier: Apache-2.0 */
/* GPU settings: modes, BAR1, clocks, power. The driver is in gpu_driver.c, health in
 * gpu_health.c. */
#include <stdio.h>
#include <string.h>

#include "look/settings/predicates.h"
#include "look/settings/settings.h"
#include "base/text.h"
#include "render/figure.h"

static bool mig_off(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->mig, 0) != 1)
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "MIG is on: each instance has its own compute mode");
	return false;
}

/* MPS wants another mode than the rest, and has its own row. */
static bool mode_free(const struct rule_ctx *q, struct verdict *v)
{
	if (!seen_ok(&q->m->gpu.mps.f))
		return mig_off(q, v);
	verdict_na(v, CODE_NO_EFFECT, "MPS is running: the setting gpu.mps checks the mode");
	return false;
}

static void mig(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!is_seen(q, v, &g->mig.f, "this GPU has no MIG") || is_hidden(q, v, &g->mig_pending.f))
		return;
	v->current = g->mig.v ? "on" : "off";
	if (seen_ok(&g->mig_pending.f) && g->mig_pending.v != g->mig.v)
		verdict_fail(v, "no change pending",
			     arena_printf(q->a, "MIG will be %s after the next reset or reboot",
					  g->mig_pending.v ? "on" : "off"));
	else if (!g->mig.v)
		verdict_pass(v, "off: the whole GPU is one device");
	else if (q->profile == PROFILE_TRAINING)
		verdict_fail(v, "off", "instances cannot reach each other over NVLink");
	else
		verdict_na(v, CODE_LEFT_ALONE,
			   "on: the GPU is divided by configuration; peer-to-peer and accounting "
			   "are off");
}

/* Compute cards with HBM, by NVML's name: "NVIDIA A100-PCIE-40GB", "NVIDIA H100 NVL". */
static bool has_hbm(const struct gpu *g)
{
	static const char *const chips[] = { "V100", "A100",  "A800", "A30",   "H100",
					     "H200", "H800",  "H20",  "GH200", "B200",
					     "B300", "GB200", "GB300" };

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (word_in(fact_text(&g->name, ""), chips[i]))
			return true;
	return false;
}

static void rule_gpu_ecc(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!is_seen(q, v, &g->ecc.f, "this GPU's memory has no switchable ECC"))
		return;
	if (is_hidden(q, v, &g->ecc_pending.f))
		return;
	v->current = g->ecc.v ? "on" : "off";
	if (seen_ok(&g->ecc_pending.f) && g->ecc_pending.v != g->ecc.v)
		verdict_fail(v, "no change pending",
			     arena_printf(q->a, "ECC will be %s after the next reset or reboot",
					  g->ecc_pending.v ? "on" : "off"));
	else if (g->ecc.v)
		verdict_pass(v, "on");
	else if ((q->platform & ON_HGX) || has_hbm(g))
		verdict_fail(v, "on",
			     "data-center GPUs ship with ECC on; disabling it is not a safe gain");
	else
		verdict_na(
			v, CODE_LEFT_ALONE,
			"off, the default of graphics cards; data-center cards ship with ECC on");
}

/* GPUDirect RDMA maps GPU memory through BAR1; 1 GiB is the published minimum, the whole memory the
 * goal. */
enum { BAR1_LEAST_MIB = 1024 };

static void bar1(const struct rule_ctx *q, struct verdict *v)
{
	static const char small[] = "limits how much GPU memory a NIC can map at once";
	const struct gpu *g = q->object;
	const struct pci_function *p = machine_pci(q->m, g->pci);
	long long mib, most = p ? fact_or(&p->rebar_max_bytes, 0) >> 20 : 0;

	if (!not_integrated(q, v, "memory is shared with the host: no BAR1"))
		return;
	if (!is_seen(q, v, &g->bar1_bytes.f, NULL))
		return;
	mib = g->bar1_bytes.v >> 20;
	v->current = arena_printf(q->a, "%lld MiB", mib);
	v->wanted = ">= 1024 MiB";
	if (mib >= BAR1_LEAST_MIB)
		verdict_pass(v, seen_ok(&g->memory_bytes.f) && g->bar1_bytes.v >= g->memory_bytes.v
					? "maps the whole GPU memory"
					: "at least 1 GiB");
	else if (!has_rdma(q->m))
		verdict_na(v, CODE_NO_EFFECT, "no RDMA device could use a larger BAR");
	else
		verdict_fail(v, v->wanted,
			     most > mib ? arena_printf(q->a, "%s; firmware could set it to %s",
						       small, figure(q->a, "MiB", most))
					: small);
}

/* Capability 0x15 tells before any firmware step whether a larger window is possible. */
static void rebar(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct pci_function *p = machine_pci(q->m, g->pci);

	if (!not_integrated(q, v, "memory is shared with the host: no BAR1"))
		return;
	if (!p || !seen_ok(&p->rebar_max_bytes.f)) {
		if (p)
			verdict_unseen(q, v, &p->rebar_max_bytes.f,
				       "the GPU has no Resizable BAR capability");
		else
			verdict_na(v, CODE_VIRTUAL, "the GPU's PCI function is not visible");
		return;
	}
	if (!is_seen(q, v, &p->rebar_bytes.f, "the size of its BAR is not visible"))
		return;
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", p->rebar_bytes.v >> 20,
				  p->rebar_max_bytes.v >> 20);
	if (p->rebar_bytes.v >= p->rebar_max_bytes.v || p->rebar_bytes.v >= 1ll << 30)
		verdict_pass(v, "large enough");
	else if (fact_or(&g->bar1_bytes, 0) >> 20 >= BAR1_LEAST_MIB)
		verdict_pass(v, "the driver maps enough, although the register shows less");
	else if (has_rdma(q->m) && !seen_ok(&g->bar1_bytes.f))
		verdict_unseen(q, v, &g->bar1_bytes.f, "BAR size not reported by the driver");
	else if (has_rdma(q->m) && g->bar1_bytes.v >> 20 < BAR1_LEAST_MIB)
		verdict_na(v, CODE_NO_EFFECT, "gpu.bar1-size reports this fault");
	else if (!has_rdma(q->m) && q->m->gpu.gpus.n < 2)
		verdict_na(v, CODE_NO_EFFECT,
			   "no RDMA device and no second GPU could use a larger BAR");
	else
		verdict_fail(
			v, ">= 1024 MiB",
			"the GPU can map more than firmware assigned: enable Resizable BAR in "
			"firmware setup. Flashing tools are a last resort that can brick a board");
}

/* GPU clocks: locks, the boost slider. */

static const long long held_back =
	EVENT_SW_POWER | EVENT_HW_SLOWDOWN | EVENT_SW_THERMAL | EVENT_HW_THERMAL | EVENT_HW_POWER;

/* The clock that the profile names: a number, or the GPU's own maximum. False fills the verdict. */
static bool wanted_clock(const struct rule_ctx *q, struct verdict *v, const struct fact_int *max,
			 long long *want)
{
	if (!has_target(q, v))
		return false;
	if (parse_i64(q->wish->value, want) == 0)
		return true;
	if (strcmp(q->wish->value, "max") != 0)
		verdict_unknown(v, CODE_ERROR, "the profile names neither a clock in MHz nor max");
	else if (!seen_ok(&max->f))
		verdict_unseen(q, v, &max->f, NULL);
	else
		*want = max->v;
	return strcmp(q->wish->value, "max") == 0 && seen_ok(&max->f);
}

/* Nothing runs on it, as far as the driver says. */
static bool is_resting(const struct gpu *g)
{
	return (fact_or(&g->event_reasons, 0) & EVENT_IDLE) || fact_or(&g->util_gpu_pct, -1) == 0;
}

/* A cap only shows when the clock is above it. */
static void judge_cap(struct verdict *v, long long want, long long now)
{
	/* Clocks move in steps of 15 MHz; a cap between two takes the next. */
	if (now > want + 15)
		verdict_fail(v, v->wanted, "no cap is in effect: the clock is above the cap");
	else
		verdict_unknown(
			v, CODE_NEEDS_LOAD,
			"the driver does not report caps, and only a busy GPU could exceed one");
}

/*
 * What gputune's own journal says of a lock, where it says anything: false. A resting GPU below the
 * lock's minimum has lost it (a driver reload, or a program that reset it).
 */
static bool judge_own_lock(const struct rule_ctx *q, struct verdict *v, const struct fact_str *lock,
			   long long want, long long now)
{
	const struct gpu *g = q->object;
	long long lo, hi;

	if (!seen_ok(&lock->f) || sscanf(lock->v, "%lld,%lld", &lo, &hi) != 2)
		return false;
	if (hi != want)
		verdict_fail(
			v, v->wanted,
			arena_printf(q->a, "gputune locked the clock to %lld to %lld MHz", lo, hi));
	else if (now >= 0 && (now > hi + 15 || (is_resting(g) && now < lo * 7 / 10)))
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "gputune locked the clock to %lld to %lld MHz (%s), but "
					  "the lock is lost: the clock is %lld MHz",
					  lo, hi, fact_from(q->a, &lock->f), now));
	else
		verdict_pass(
			v, arena_printf(q->a,
					"locked by gputune (%s); the driver does not report locks",
					fact_from(q->a, &lock->f)));
	return true;
}

/*
 * NVML has no getter for a lock. A resting GPU far below the wanted clock has none in force, one
 * that stands there has: a lock holds the clock up. A working GPU shows neither. On a GB10 the lock
 * acts more as a ceiling and is reached to about 83 %.
 */
static void sm_clock_lock(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	bool integrated = fact_or(&g->integrated, 0) == 1;
	long long want, now = fact_or(&g->clock_sm_mhz, -1),
			reasons = fact_or(&g->event_reasons, 0);

	if (!wanted_clock(q, v, &g->clock_sm_max_mhz, &want))
		return;
	v->why = q->wish->because;
	if (now < 0) {
		verdict_unseen(q, v, &g->clock_sm_mhz.f, NULL);
		return;
	}
	v->current = seen_ok(&g->clock_sm_max_mhz.f) ? arena_printf(q->a, "%lld MHz of %lld MHz",
								    now, g->clock_sm_max_mhz.v)
						     : arena_printf(q->a, "%lld MHz", now);
	v->wanted = arena_printf(
		q->a, q->wish->rel == WANT_AT_MOST ? "capped at %lld MHz" : "locked at %lld MHz",
		want);
	if (judge_own_lock(q, v, &g->clock_sm_lock, want, now))
		return;
	if (q->wish->rel == WANT_AT_MOST) {
		judge_cap(v, want, now);
		return;
	}
	if (!is_resting(g) || (reasons & held_back))
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"the driver does not report locks, and the clock of a busy GPU "
				"neither proves nor excludes one");
	else if (now < (integrated ? want / 2 : want * 9 / 10))
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "no lock is in effect: the idle clock is %lld MHz, and a "
					  "lock would raise it",
					  now));
	else if (now >= (integrated ? want * 3 / 4 : want * 9 / 10))
		verdict_pass(v, "the clock stays high when idle, as under a lock; the driver does "
				"not report locks");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"the driver does not report locks, and the current clock neither "
				"proves nor excludes one");
}

static void mem_clock_lock(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long now = fact_or(&g->clock_mem_mhz, -1), want;

	if (!not_integrated(q, v, "no separate memory clock: it uses the host's memory"))
		return;
	if ((q->platform & ON_HGX) || fact_or(&g->mem_clocks, 0) == 1) {
		verdict_na(v, CODE_NO_EFFECT, "the memory runs at its only clock, idle or busy");
		return;
	}
	if (!wanted_clock(q, v, &g->clock_mem_max_mhz, &want))
		return;
	v->why = q->wish->because;
	if (now < 0) {
		verdict_unseen(q, v, &g->clock_mem_mhz.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz of %lld MHz", now,
				  fact_or(&g->clock_mem_max_mhz, want));
	v->wanted = arena_printf(q->a, "locked at %lld MHz", want);
	if (judge_own_lock(q, v, &g->clock_mem_lock, want, now))
		return;
	/* The maximum shows one or two MHz lower when reached. */
	if (now + 10 < want)
		verdict_fail(v, v->wanted,
			     "no lock is in effect: the memory clock is below its maximum");
	else if (is_resting(g))
		verdict_pass(v, "the clock stays high when idle, as under a lock; the driver does "
				"not report locks");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"at its maximum while the GPU is busy; the driver does not report "
				"whether it is locked");
}

/* "V,V" holds the clock there, "0,V" caps it. What the profile names may be the GPU's own maximum.
 */
static void remediate_lock(const struct rule_ctx *q, struct remediations *out,
			   const struct fact_int *max)
{
	struct verdict why = { 0 };
	long long want;

	if (wanted_clock(q, &why, max, &want))
		remediate_value(q, out,
				arena_printf(q->a, "%lld,%lld",
					     q->wish->rel == WANT_AT_MOST ? 0 : want, want));
	else
		remediate_by_hand(out, why.reason);
}

static void remediate_sm_lock(const struct rule_ctx *q, struct remediations *out)
{
	remediate_lock(q, out, &((const struct gpu *)q->object)->clock_sm_max_mhz);
}

static void remediate_mem_lock(const struct rule_ctx *q, struct remediations *out)
{
	remediate_lock(q, out, &((const struct gpu *)q->object)->clock_mem_max_mhz);
}

/* What may hold a GPU's clock down: application clocks, the power limit, and what it does under
 * load. */

static void app_clocks(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long set = fact_or(&g->clock_app_sm_mhz, -1),
		  def = fact_or(&g->clock_app_default_sm_mhz, -1),
		  memory = fact_or(&g->clock_app_default_mem_mhz, 0);

	if (!not_integrated(q, v, "application clocks are fixed by firmware"))
		return;
	if (set < 0 || def < 0) {
		verdict_unseen(q, v,
			       set < 0 ? &g->clock_app_sm_mhz.f : &g->clock_app_default_sm_mhz.f,
			       "this GPU has no application clocks");
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz", set);
	if (set >= def && (g->clock_app_mem_mhz.f.seen == SEEN_UNASKED ||
			   g->clock_app_default_mem_mhz.f.seen == SEEN_UNASKED)) {
		verdict_na(v, CODE_NEEDS_DEEP, "the memory's application clock was not read");
		return;
	}
	if (set >= def && (is_hidden(q, v, &g->clock_app_mem_mhz.f) ||
			   is_hidden(q, v, &g->clock_app_default_mem_mhz.f)))
		return;
	if (set < def)
		verdict_fail(v, arena_printf(q->a, "%lld MHz", def),
			     "the application clock was lowered below its default");
	else if (fact_or(&g->clock_app_mem_mhz, memory) < memory)
		verdict_fail(v, arena_printf(q->a, "memory %lld MHz", memory),
			     arena_printf(q->a,
					  "the memory's application clock was lowered to %lld MHz",
					  g->clock_app_mem_mhz.v));
	else
		verdict_pass(v, "not lowered");
}

/* The limit that the profile names, mW: a number of watts, the board's default or its highest.
 * False fills the verdict. */
static bool wanted_limit(const struct rule_ctx *q, struct verdict *v, long long *want)
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
		verdict_unknown(v, CODE_ERROR, "the profile names no value in watts");
	else
		*want *= 1000;
	return v->kind != VERDICT_NA && v->kind != VERDICT_UNKNOWN;
}

/* Of a limit with a name no less is wanted, so that one above the default is left alone. */
static bool is_named(const struct recommendation *wish)
{
	return strcmp(wish->value, "default") == 0 || strcmp(wish->value, "max") == 0;
}

static void power_limit(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct fact_int *now = &g->power_limit_mw;
	long long want = 0, enforced = fact_or(&g->power_limit_enforced_mw, -1);

	if (!not_integrated(q, v, "power limits are fixed by firmware") || !has_target(q, v))
		return;
	if (!is_seen(q, v, &now->f, NULL) || is_hidden(q, v, &g->power_limit_enforced_mw.f))
		return;
	v->current = arena_printf(q->a, "%lld W", now->v / 1000);
	if (!wanted_limit(q, v, &want))
		return;
	v->why = q->wish->because;
	v->wanted = is_named(q->wish) ? arena_printf(q->a, ">= %lld W", want / 1000)
				      : recommendation_text(q->a, q->wish, "W");
	if (!is_named(q->wish)) {
		if (recommendation_met(q->wish, arena_printf(q->a, "%lld", now->v / 1000)))
			verdict_pass(v, "as the profile recommends");
		else
			verdict_fail(v, v->wanted, "not the limit of the profile");
	} else if (now->v < want)
		verdict_fail(v, v->wanted, q->wish->because);
	else if (enforced >= 0 && enforced < want)
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "set to %lld W, but the board is limited to %lld W by "
					  "something else (power supply, platform, a service)",
					  now->v / 1000, enforced / 1000));
	else
		verdict_pass(v, "at the board's default or above");
}

/* What is set already and held down by something else is no matter of this knob. */
static void remediate_power_limit(const struct rule_ctx *q, struct remediations *out)
{
	const struct gpu *g = q->object;
	struct verdict why = { .kind = VERDICT_PASS };
	long long want = 0;

	if (!wanted_limit(q, &why, &want))
		remediate_by_hand(out, why.reason);
	else if (want != g->power_limit_mw.v && !(is_named(q->wish) && g->power_limit_mw.v > want))
		remediate_value(q, out, arena_printf(q->a, "%lld", want));
}

/* What a lock, an application clock or a latched board looks like from outside. */
static void working_clock(const struct rule_ctx *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long util = fact_or(&g->util_gpu_pct, -1), now = fact_or(&g->clock_sm_mhz, -1),
		  max = fact_or(&g->clock_sm_max_mhz, -1);
	const struct fact *unseen = util < 0  ? &g->util_gpu_pct.f
				    : now < 0 ? &g->clock_sm_mhz.f
				    : max < 0 ? &g->clock_sm_max_mhz.f
					      : &g->event_reasons.f;

	if (!not_integrated(
		    q, v,
		    "see gpu.power-latch: a GB10 normally runs well below its nominal maximum"))
		return;
	if (util < 0 || now < 0 || max < 0 || !seen_ok(&g->event_reasons.f)) {
		verdict_unseen(q, v, unseen, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld %% busy, %lld of %lld MHz", util, now, max);
	if (util < 80) {
		v->current = "idle";
		verdict_na(v, CODE_NEEDS_LOAD, "only the clock of a busy GPU is judged");
	} else if (g->event_reasons.v & held_back & ~EVENT_HW_SLOWDOWN) /* that one has no cause */
		verdict_na(v, CODE_NO_EFFECT, "limited by power or temperature: see gpu.throttle");
	else if (now < max * 3 / 4)
		verdict_fail(
			v, arena_printf(q->a, ">= %lld MHz under load", max * 3 / 4),
			g->event_reasons.v & EVENT_HW_SLOWDOWN
				? "the hardware slows the busy GPU down without a reason: check "
				  "power supply, cables and cooling"
				: "busy and slow without a power or thermal reason: a lock or an "
				  "application clock limits it");
	else
		verdict_pass(v, "the clock is high under load");
}

#include "look/settings_gpu_rows.h"
