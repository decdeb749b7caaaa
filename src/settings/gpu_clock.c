/* SPDX-License-Identifier: Apache-2.0 */
/* GPU clocks and power: locks, application clocks, the boost slider, the power limit. */
#include <string.h>

#include "settings/predicates.h"
#include "settings/tables.h"

static const char no_gpu[] = "no NVIDIA GPU";

static const struct opinion vboost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL,
	  "steers power to the tensor cores on some boards; gain unmeasured here", NULL },
	{ PROFILE_TRAINING, ON_HGX, WANT_IS, "1",
	  "NVIDIA's training recipes set it for GEMM-bound jobs", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "1",
	  "published as: raises the core clock by lowering the memory clock", "S0" },
};

/* What lock the profile wants, MHz; 0: none. */
static long long wanted_lock(const struct question *q, const char **because)
{
	const struct gpu *g = q->object;
	long long max = fact_or(&g->clock_sm_max_mhz, 0);

	if (q->profile == PROFILE_PUBLISHED && q->platform == ON_SPARK) {
		*because = "published: 3003 MHz, the maximum of a GB10. Field reports tie it to "
			   "hangs at 91 C that a cap of 2100 "
			   "MHz cured";
		return 3003;
	}
	if (q->profile == PROFILE_PUBLISHED && q->platform == ON_IGX) {
		*because = "published: lock to the maximum; the highest clock without boost is "
			   "what is reached";
		return max;
	}
	if (q->profile == PROFILE_MAX_PERFORMANCE || q->profile == PROFILE_LOW_LATENCY ||
	    (q->profile == PROFILE_DEFAULT && q->platform == ON_IGX)) {
		if (q->platform == ON_SPARK)
			return 0;
		*because = "removes the ramp from idle, which a packet or a short kernel pays; "
			   "power and heat still cap it";
		return max;
	}
	return 0;
}

/*
 * NVML has no getter for a lock. An idle GPU far below the wanted clock has none in force: a lock
 * holds the clock up. A GPU that works, or stands at the clock, may have one.
 */
static void sm_clock_lock(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const char *because = NULL;
	long long want = wanted_lock(q, &because), now = fact_or(&g->clock_sm_mhz, -1);

	if (!want) {
		verdict_na(v, CODE_OPT_IN,
			   q->platform == ON_SPARK
				   ? "left unlocked: a fixed maximum overheats a GB10; a cap is "
				     "for machines that hang"
				   : "left unlocked: an idle GPU's low clock costs nothing; "
				     "locking is for repeatable "
				     "measurements and packet latency (profile low-latency)");
		return;
	}
	v->why = because;
	v->wanted = arena_printf(q->a, "locked at %lld MHz", want);
	if (now < 0) {
		verdict_unseen(q, v, &g->clock_sm_mhz.f, NULL);
		return;
	}
	v->current =
		arena_printf(q->a, "%lld MHz of %lld MHz", now, fact_or(&g->clock_sm_max_mhz, 0));
	if (now < want * 9 / 10 && (fact_or(&g->event_reasons, 0) &
				    (EVENT_SW_POWER | EVENT_SW_THERMAL | EVENT_HW_THERMAL)) == 0)
		verdict_fail(v, v->wanted,
			     arena_printf(q->a,
					  "no lock is in force: the clock is %lld MHz and a lock "
					  "would hold it "
					  "up",
					  now));
	else
		verdict_unknown(v, CODE_NEEDS_LOAD,
				"the driver has no way to ask for a lock, and the present clock "
				"neither shows "
				"nor excludes one");
}

static void mem_clock_lock(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long now = fact_or(&g->clock_mem_mhz, -1), max = fact_or(&g->clock_mem_max_mhz, -1);

	if (!not_integrated(q, v, "no memory clock of its own: it uses the host's memory"))
		return;
	if (q->platform == ON_HGX) {
		verdict_na(v, CODE_NO_EFFECT, "HBM runs at its only clock, idle or not");
		return;
	}
	if (q->profile != PROFILE_PUBLISHED && q->profile != PROFILE_LOW_LATENCY &&
	    q->platform != ON_IGX) {
		verdict_na(v, CODE_OPT_IN, "left unlocked: it rises with load");
		return;
	}
	if (now < 0 || max < 0) {
		verdict_unseen(q, v, now < 0 ? &g->clock_mem_mhz.f : &g->clock_mem_max_mhz.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz of %lld MHz", now, max);
	v->wanted = arena_printf(q->a, "locked at %lld MHz", max);
	/* The maximum shows one or two MHz lower when reached. */
	if (now + 10 < max)
		verdict_fail(v, v->wanted,
			     "no lock is in force: memory clocks down while a program polls");
	else
		verdict_unknown(
			v, CODE_NEEDS_LOAD,
			"at its maximum now; whether a lock keeps it there cannot be asked");
}

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

static void power_limit(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!not_integrated(q, v, "power limits are fixed by firmware"))
		return;
	if (!seen_ok(&g->power_limit_mw.f) || !seen_ok(&g->power_limit_default_mw.f)) {
		verdict_unseen(q, v,
			       seen_ok(&g->power_limit_mw.f) ? &g->power_limit_default_mw.f
							     : &g->power_limit_mw.f,
			       NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld W", g->power_limit_mw.v / 1000);
	v->wanted = arena_printf(q->a, ">= %lld W", g->power_limit_default_mw.v / 1000);
	if (g->power_limit_mw.v >= g->power_limit_default_mw.v)
		verdict_pass(v, "at the board's default or above");
	else
		verdict_fail(v, v->wanted,
			     "a limit below the default slows everything without saying so");
}

#define GPU .scope = SCOPE_GPU, .none = no_gpu

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
	  .severity = SEVERITY_LOW,
	  .risk = RISK_DANGER,
	  .judge = sm_clock_lock },
	{ .id = "gpu.mem-clock-lock",
	  .title = "Memory clock lock",
	  GPU,
	  .knob = KNOB_NVML,
	  .name = "memory-clock-lock",
	  .read = "nvmlDeviceGetClockInfo(MEM), nvmlDeviceGetMaxClockInfo(MEM)",
	  .not_when = "the GPU shares the host's memory or its memory has one clock",
	  .why = "Keeps memory at its clock while a program polls.",
	  .source = "S1; nvml",
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  .judge = mem_clock_lock },
	{ .id = "gpu.application-clocks",
	  .title = "Application clocks",
	  GPU,
	  .read = "nvmlDeviceGetApplicationsClock(SM)",
	  .not_when = "the GPU has none",
	  .why = "The older way to choose a clock; a lowered one explains a slow GPU.",
	  .source = "S0; nvml",
	  .severity = SEVERITY_MEDIUM,
	  .judge = app_clocks },
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
	  .severity = SEVERITY_LOW,
	  .risk = RISK_LOW,
	  OPINIONS(vboost) },
	{ .id = "gpu.power-limit",
	  .title = "Power limit",
	  GPU,
	  .knob = KNOB_NVML,
	  .name = "power-limit",
	  .read = "nvmlDeviceGetPowerManagementLimit",
	  .not_when = "firmware fixes it (GB10)",
	  .why = "The cap that the driver holds the board to.",
	  .source = "nvml; S0",
	  .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE,
	  .judge = power_limit },
};

const struct setting_table settings_gpu_clock = SETTING_TABLE(rows);
