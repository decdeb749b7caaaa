/* SPDX-License-Identifier: Apache-2.0 */
/* GPU clocks: locks, the boost slider. Power and what holds clocks back are in gpu_power.c. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "look/settings/predicates.h"
#include "look/settings/tables.h"

static const struct opinion vboost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "steers power to the tensor cores on some boards; gain unmeasured here", NULL },
	{ PROFILE_TRAINING, ON_HGX, WANT_IS, "1",
	  "NVIDIA's training recipes set it for GEMM-bound jobs", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "1",
	  "published as: raises the core clock by lowering the memory clock", "S0" },
};

static const struct opinion sm_lock[] = {
	{ PROFILE_DEFAULT, ON_SPARK, WANT_LEAVE, NULL,
	  "left unlocked: a fixed maximum overheats a GB10; a cap, \"<= 2100\", is for machines "
	  "that hang under load",
	  NULL },
	{ PROFILE_DEFAULT, ON_IGX, WANT_IS, "max",
	  "removes the ramp from idle, which a packet pays; power and heat still cap it", "S1" },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "left unlocked: an idle GPU's low clock costs nothing; locking is for repeatable "
	  "measurements and packet latency (profile low-latency)",
	  NULL },
	{ PROFILE_BALANCED, ON_IGX, WANT_LEAVE, NULL, "left unlocked: the clock follows the load",
	  NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "3003",
	  "published: 3003 MHz, the maximum of a GB10. Field reports tie it to hangs at 91 C that "
	  "a cap of 2100 MHz cured",
	  "S0" },
	{ PROFILE_PUBLISHED, ON_IGX, WANT_IS, "max",
	  "published: lock to the maximum; the highest clock without boost is what is reached",
	  "S1" },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL & ~ON_SPARK, WANT_IS, "max",
	  "removes the ramp from idle; power and heat still cap it (gain unmeasured)", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL & ~ON_SPARK, WANT_IS, "max",
	  "removes the ramp from idle, which a short kernel pays; power and heat still cap it",
	  NULL },
};
static const struct opinion mem_lock[] = {
	{ PROFILE_DEFAULT, ON_IGX, WANT_IS, "max", "memory clocks down while a program polls",
	  "S1" },
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, "left unlocked: it rises with load", NULL },
	{ PROFILE_PUBLISHED, ON_IGX, WANT_IS, "max", "published: lock to the maximum", "S1" },
	{ PROFILE_BALANCED, ON_IGX, WANT_LEAVE, NULL, "left unlocked: it rises with load", NULL },
	{ PROFILE_MAX_PERFORMANCE, ON_ALL, WANT_IS, "max",
	  "removes the ramp from idle (gain unmeasured)", NULL },
	{ PROFILE_LOW_LATENCY, ON_ALL, WANT_IS, "max", "memory clocks down while a program polls",
	  NULL },
};
static const long long held_back =
	EVENT_SW_POWER | EVENT_HW_SLOWDOWN | EVENT_SW_THERMAL | EVENT_HW_THERMAL | EVENT_HW_POWER;

/* The clock that the profile names: a number, or the GPU's own maximum. False fills the verdict. */
static bool wanted_clock(const struct question *q, struct verdict *v, const struct fact_int *max,
			 long long *want)
{
	if (!has_wish(q, v))
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
		verdict_fail(v, v->wanted, "no cap is in force: the clock is above it");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"the driver cannot be asked for a cap, and only load could exceed "
				"it");
}

/*
 * What gputune's own journal says of a lock, where it says anything: false. A resting GPU below the
 * lock's minimum has lost it (a driver reload, or a program that reset it).
 */
static bool judge_own_lock(const struct question *q, struct verdict *v, const struct fact_str *lock,
			   long long want, long long now)
{
	const struct gpu *g = q->object;
	long long lo, hi;

	if (!seen_ok(&lock->f) || sscanf(lock->v, "%lld,%lld", &lo, &hi) != 2)
		return false;
	if (hi != want)
		verdict_fail(v, v->wanted,
			     arena_printf(q->a, "gputune locked it to %lld to %lld MHz", lo, hi));
	else if (now >= 0 && (now > hi + 15 || (is_resting(g) && now < lo * 7 / 10)))
		verdict_fail(
			v, v->wanted,
			arena_printf(q->a,
				     "gputune locked it to %lld to %lld MHz (%s), but the lock "
				     "is lost: the clock is %lld MHz",
				     lo, hi, fact_from(q->a, &lock->f), now));
	else
		verdict_pass(v, arena_printf(q->a,
					     "locked by gputune (%s); the driver itself cannot be "
					     "asked",
					     fact_from(q->a, &lock->f)));
	return true;
}

/*
 * NVML has no getter for a lock. A resting GPU far below the wanted clock has none in force, one
 * that stands there has: a lock holds the clock up. A working GPU shows neither. On a GB10 the lock
 * acts more as a ceiling and is reached to about 83 %.
 */
static void sm_clock_lock(const struct question *q, struct verdict *v)
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
				"the driver cannot be asked for a lock, and the clock of a working "
				"GPU neither shows nor excludes one");
	else if (now < (integrated ? want / 2 : want * 9 / 10))
		verdict_fail(
			v, v->wanted,
			arena_printf(q->a,
				     "no lock is in force: at rest the clock is %lld MHz and a "
				     "lock would hold it up",
				     now));
	else if (now >= (integrated ? want * 3 / 4 : want * 9 / 10))
		verdict_pass(v, "the clock stays up at rest, as under a lock; the driver cannot be "
				"asked for one");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"the driver cannot be asked for a lock, and the present clock "
				"neither shows nor excludes one");
}

static void mem_clock_lock(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long now = fact_or(&g->clock_mem_mhz, -1), want;

	if (!not_integrated(q, v, "no memory clock of its own: it uses the host's memory"))
		return;
	if (q->platform == ON_HGX || fact_or(&g->mem_clocks, 0) == 1) {
		verdict_na(v, CODE_NO_EFFECT, "the memory runs at its only clock, idle or not");
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
		verdict_fail(v, v->wanted, "no lock is in force: the memory clock is below it");
	else if (is_resting(g))
		verdict_pass(v, "the clock stays up at rest, as under a lock; the driver cannot be "
				"asked for one");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"at its maximum while the GPU works; whether a lock keeps it there "
				"cannot be asked");
}

/* "V,V" holds the clock there, "0,V" caps it. What the profile names may be the GPU's own maximum.
 */
static void aim_lock(const struct question *q, struct aims *out, const struct fact_int *max)
{
	struct verdict why = { 0 };
	long long want;

	if (wanted_clock(q, &why, max, &want))
		aim_value(q, out,
			  arena_printf(q->a, "%lld,%lld", q->wish->rel == WANT_AT_MOST ? 0 : want,
				       want));
	else
		aim_by_hand(out, why.reason);
}

static void aim_sm_lock(const struct question *q, struct aims *out)
{
	aim_lock(q, out, &((const struct gpu *)q->object)->clock_sm_max_mhz);
}

static void aim_mem_lock(const struct question *q, struct aims *out)
{
	aim_lock(q, out, &((const struct gpu *)q->object)->clock_mem_max_mhz);
}

#define GPU .scope = SCOPE_GPU

static const struct setting rows[] = {
	{ .id = "gpu.sm-clock-lock",
	  .title = "SM clock lock",
	  GPU,
	  .knob = KNOB_NVML,
	  .name = "gpu-clock-lock",
	  .read = "NVML has no getter; evidence: nvmlDeviceGetClockInfo(SM), clocks event reasons",
	  .not_when = "the profile leaves clocks unlocked",
	  .why = "Holds the SM clock in a range. It does not lift power or thermal caps. Lost at "
		 "reboot, driver reload and GPU "
		 "reset.",
	  .note = "3003 MHz is published for GB10 as removing the power cap. On GB10 the lock acts "
		  "as a ceiling: request 3003, "
		  "reached 2476 to 2522 MHz. Its loss at reboot is published as a hardware limit; "
		  "it is so on every GPU.",
	  .source = "S0; S1; nvml; open-gpu-kernel-modules issue 1358",
	  .shown_by = "gemm/bf16 gpu-load launch/seen",
	  .settle_s = 5,
	  .warm_up_s = 60,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_DANGER,
	  OPINIONS(sm_lock),
	  .judge = sm_clock_lock,
	  .aim = aim_sm_lock },
	{ .id = "gpu.mem-clock-lock",
	  .title = "Memory clock lock",
	  GPU,
	  .knob = KNOB_NVML,
	  .name = "memory-clock-lock",
	  .read = "nvmlDeviceGetClockInfo(MEM), nvmlDeviceGetMaxClockInfo(MEM)",
	  .not_when = "the GPU shares the host's memory or its memory has one clock",
	  .why = "Keeps memory at its clock while a program polls. It lifts no power or heat cap.",
	  .source = "S1; nvml",
	  .shown_by = "gpu-memory/read gpu-latency",
	  .settle_s = 5,
	  .warm_up_s = 30,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(mem_lock),
	  .judge = mem_clock_lock,
	  .aim = aim_mem_lock },
	{ .id = "gpu.vboost",
	  .title = "Boost slider (vboost)",
	  GPU,
	  .knob = KNOB_HELPER,
	  .name = "vboost",
	  .not_when = "the vendor's program is missing or the board has no slider",
	  .why = "A vendor setting that steers power to the tensor cores. No public interface but "
		 "nvidia-smi.",
	  .note = "Published as a video boost that lowers the memory clock; NVIDIA's recipes "
		  "describe another thing.",
	  .source = "S0; NVIDIA NeMo and TensorRT-LLM recipes",
	  .shown_by = "gemm/bf16 gpu-memory/l2-read",
	  .settle_s = 5,
	  .warm_up_s = 60,
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(vboost) },
};

const struct setting_table settings_gpu_clock = SETTING_TABLE(rows);
