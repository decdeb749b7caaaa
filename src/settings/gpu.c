/* SPDX-License-Identifier: Apache-2.0 */
/* GPU settings: driver state, clocks, power, modes, BAR1. Health is in gpu_health.c. */
#include "settings/predicates.h"
#include "settings/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char no_gpu[] = "no NVIDIA GPU";

static const struct opinion persistence[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "1",
	  "locks, accounting and compute mode are lost when the last program ends and the driver unloads", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "1", "published as: faster start of programs", "S0; S1" },
};
static const struct opinion compute_mode[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_IS, "default", "the exclusive modes break desktops and every second process", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "default", "the exclusive mode is published as disabled", "S0" },
};
static const struct opinion accounting[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, "a record for audits: no effect on performance either way", NULL },
	{ PROFILE_PUBLISHED, ON_ALL, WANT_IS, "1", "published as: per-process figures", "S0" },
};
static const struct opinion vboost[] = {
	{ PROFILE_DEFAULT, ON_ALL, WANT_LEAVE, NULL, "steers power to the tensor cores on some boards; gain unmeasured here", NULL },
	{ PROFILE_TRAINING, ON_HGX, WANT_IS, "1", "NVIDIA's training recipes set it for GEMM-bound jobs", NULL },
	{ PROFILE_PUBLISHED, ON_SPARK, WANT_IS, "1", "published as: raises the core clock by lowering the memory clock", "S0" },
};

/* A GPU that shares the host's memory: not applicable, with the sentence given. */
static bool not_integrated(const struct question *q, struct verdict *v, const char *why)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->integrated, 0) != 1)
		return true;
	verdict_na(v, CODE_INTEGRATED, why);
	return false;
}

/* What lock the profile wants, MHz; 0: none. */
static long long wanted_lock(const struct question *q, const char **because)
{
	const struct gpu *g = q->object;
	long long max = fact_or(&g->clock_sm_max_mhz, 0);

	if (q->profile == PROFILE_PUBLISHED && q->platform == ON_SPARK) {
		*because = "published: 3003 MHz, the maximum of a GB10. Field reports tie it to hangs at 91 C that a cap of 2100 "
			   "MHz cured";
		return 3003;
	}
	if (q->profile == PROFILE_PUBLISHED && q->platform == ON_IGX) {
		*because = "published: lock to the maximum; the highest clock without boost is what is reached";
		return max;
	}
	if (q->profile == PROFILE_MAX_PERFORMANCE || q->profile == PROFILE_LOW_LATENCY ||
	    (q->profile == PROFILE_DEFAULT && q->platform == ON_IGX)) {
		if (q->platform == ON_SPARK)
			return 0;
		*because = "removes the ramp from idle, which a packet or a short kernel pays; power and heat still cap it";
		return max;
	}
	return 0;
}

/*
 * NVML has no getter for a lock. An idle GPU far below the wanted clock has none in force: a lock holds the clock up.
 * A GPU that works, or stands at the clock, may have one.
 */
static void sm_clock_lock(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const char *because = NULL;
	long long want = wanted_lock(q, &because), now = fact_or(&g->clock_sm_mhz, -1);

	if (!want) {
		verdict_na(v, CODE_OPT_IN, q->platform == ON_SPARK
						   ? "left unlocked: a fixed maximum overheats a GB10; a cap is for machines that hang"
						   : "left unlocked: an idle GPU's low clock costs nothing; locking is for repeatable "
						     "measurements and packet latency (profile low-latency)");
		return;
	}
	v->why = because;
	v->wanted = arena_printf(q->a, "locked at %lld MHz", want);
	if (now < 0) {
		verdict_unseen(q, v, &g->clock_sm_mhz.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz of %lld MHz", now, fact_or(&g->clock_sm_max_mhz, 0));
	if (now < want * 9 / 10 && (fact_or(&g->event_reasons, 0) & (EVENT_SW_POWER | EVENT_SW_THERMAL | EVENT_HW_THERMAL)) == 0)
		verdict_fail(v, v->wanted, arena_printf(q->a, "no lock is in force: the clock is %lld MHz and a lock would hold it "
							"up", now));
	else
		verdict_unknown(v, CODE_NEEDS_LOAD, "the driver has no way to ask for a lock, and the present clock neither shows "
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
	if (q->profile != PROFILE_PUBLISHED && q->profile != PROFILE_LOW_LATENCY && q->platform != ON_IGX) {
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
		verdict_fail(v, v->wanted, "no lock is in force: memory clocks down while a program polls");
	else
		verdict_unknown(v, CODE_NEEDS_LOAD, "at its maximum now; whether a lock keeps it there cannot be asked");
}

static void app_clocks(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long set = fact_or(&g->clock_app_sm_mhz, -1), def = fact_or(&g->clock_app_default_sm_mhz, -1);

	if (!not_integrated(q, v, "application clocks are fixed by firmware"))
		return;
	if (set < 0 || def < 0) {
		verdict_unseen(q, v, set < 0 ? &g->clock_app_sm_mhz.f : &g->clock_app_default_sm_mhz.f,
			       "this GPU has no application clocks");
		return;
	}
	v->current = arena_printf(q->a, "%lld MHz", set);
	if (set >= def)
		verdict_pass(v, "not lowered");
	else
		verdict_fail(v, arena_printf(q->a, "%lld MHz", def), "somebody lowered the application clock below its default");
}

static void power_limit(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!not_integrated(q, v, "power limits are fixed by firmware"))
		return;
	if (!seen_ok(&g->power_limit_mw.f) || !seen_ok(&g->power_limit_default_mw.f)) {
		verdict_unseen(q, v, seen_ok(&g->power_limit_mw.f) ? &g->power_limit_default_mw.f : &g->power_limit_mw.f, NULL);
		return;
	}
	v->current = arena_printf(q->a, "%lld W", g->power_limit_mw.v / 1000);
	v->wanted = arena_printf(q->a, ">= %lld W", g->power_limit_default_mw.v / 1000);
	if (g->power_limit_mw.v >= g->power_limit_default_mw.v)
		verdict_pass(v, "at the board's default or above");
	else
		verdict_fail(v, v->wanted, "a limit below the default slows everything without saying so");
}

static bool mig_off(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (fact_or(&g->mig, 0) != 1)
		return true;
	verdict_na(v, CODE_NO_SUPPORT, "MIG is on: it belongs to the instances");
	return false;
}

static void mig(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&g->mig.f)) {
		verdict_unseen(q, v, &g->mig.f, "this GPU has no MIG");
		return;
	}
	v->current = g->mig.v ? "on" : "off";
	if (!g->mig.v)
		verdict_pass(v, "off: the whole GPU is one device");
	else if (q->profile == PROFILE_TRAINING)
		verdict_fail(v, "off", "instances cannot reach each other over NVLink");
	else
		verdict_na(v, CODE_LEFT_ALONE, "on: the site divides its GPUs; peer-to-peer and accounting are off with it");
}

static void ecc(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;

	if (!seen_ok(&g->ecc.f)) {
		verdict_unseen(q, v, &g->ecc.f, "this GPU's memory has no switchable ECC");
		return;
	}
	v->current = g->ecc.v ? "on" : "off";
	if (seen_ok(&g->ecc_pending.f) && g->ecc_pending.v != g->ecc.v)
		verdict_fail(v, "no change pending", arena_printf(q->a, "ECC will be %s after the next reset or reboot",
								   g->ecc_pending.v ? "on" : "off"));
	else if (g->ecc.v)
		verdict_pass(v, "on");
	else if (q->platform == ON_HGX)
		verdict_fail(v, "on", "data-centre parts ship with it on; off is no safe gain");
	else
		verdict_na(v, CODE_LEFT_ALONE, "off, as graphics cards ship");
}

/* GPUDirect RDMA maps GPU memory through BAR1; 1 GiB is the published minimum, the whole memory the goal. */
static void bar1(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	long long mib;

	if (!not_integrated(q, v, "memory is shared with the host: there is no BAR1 window"))
		return;
	if (!seen_ok(&g->bar1_bytes.f)) {
		verdict_unseen(q, v, &g->bar1_bytes.f, NULL);
		return;
	}
	mib = g->bar1_bytes.v >> 20;
	v->current = arena_printf(q->a, "%lld MiB", mib);
	v->wanted = ">= 1024 MiB";
	if (mib >= 1024)
		verdict_pass(v, g->bar1_bytes.v >= fact_or(&g->memory_bytes, 0) ? "maps the whole memory" : "at least 1 GiB");
	else if (!has_rdma(q->m))
		verdict_na(v, CODE_NO_EFFECT, "no RDMA device could use a larger window");
	else
		verdict_fail(v, v->wanted, "a NIC can map no more than this of the GPU's memory at once");
}

/* Capability 0x15 tells before any firmware step whether a larger window is possible. */
static void rebar(const struct question *q, struct verdict *v)
{
	const struct gpu *g = q->object;
	const struct pci_function *p = machine_pci(q->m, g->pci);

	if (!not_integrated(q, v, "memory is shared with the host: there is no BAR1 window"))
		return;
	if (!p || !seen_ok(&p->rebar_max_bytes.f)) {
		if (p)
			verdict_unseen(q, v, &p->rebar_max_bytes.f, "the GPU has no Resizable BAR capability");
		else
			verdict_na(v, CODE_VIRTUAL, "the GPU's PCI function is not visible");
		return;
	}
	v->current = arena_printf(q->a, "%lld MiB of %lld MiB", fact_or(&p->rebar_bytes, 0) >> 20, p->rebar_max_bytes.v >> 20);
	if (fact_or(&p->rebar_bytes, 0) >= p->rebar_max_bytes.v || fact_or(&p->rebar_bytes, 0) >= 1ll << 30)
		verdict_pass(v, "large enough");
	else
		verdict_fail(v, ">= 1024 MiB", "the GPU can map more than firmware gave it: enable Resizable BAR in firmware setup. "
			     "Flashing tools are a last resort that can ruin a board");
}

#define GPU .scope = SCOPE_GPU, .none = no_gpu
#define NVML_KNOB .knob = KNOB_NVML, .of = &schema_gpu

static const struct setting rows[] = {
	{ .id = "gpu.persistence-mode", .title = "Persistence mode", GPU, NVML_KNOB, .name = "persistence-mode",
	  .fact = "persistence", .not_when = "the platform or a guest's driver does not implement it",
	  .why = "Keeps the driver's state while no program uses the GPU. It locks nothing and does not survive a reboot.",
	  .note = "Published as surviving reboots; the driver's documentation says it does not. The service "
		  "nvidia-persistenced keeps it.",
	  .source = "S0; S1; nvml", .severity = SEVERITY_MEDIUM, .risk = RISK_LOW, OPINIONS(persistence) },
	{ .id = "gpu.sm-clock-lock", .title = "SM clock lock", GPU, .knob = KNOB_NVML, .name = "gpu-clock-lock",
	  .read = "NVML has no getter; evidence: nvmlDeviceGetClockInfo(SM), clocks event reasons",
	  .not_when = "the profile leaves clocks unlocked",
	  .why = "Holds the SM clock in a range. It does not lift power or thermal caps. Lost at reboot, driver reload and GPU "
		 "reset.",
	  .note = "3003 MHz is published for GB10 as removing the power cap. On GB10 the lock acts as a ceiling: request 3003, "
		  "reached 2476 to 2522 MHz. Its loss at reboot is published as a hardware limit; it is so on every GPU.",
	  .source = "S0; S1; nvml; open-gpu-kernel-modules issue 1358", .severity = SEVERITY_LOW, .risk = RISK_DANGER,
	  .judge = sm_clock_lock },
	{ .id = "gpu.mem-clock-lock", .title = "Memory clock lock", GPU, .knob = KNOB_NVML, .name = "memory-clock-lock",
	  .read = "nvmlDeviceGetClockInfo(MEM), nvmlDeviceGetMaxClockInfo(MEM)",
	  .not_when = "the GPU shares the host's memory or its memory has one clock",
	  .why = "Keeps memory at its clock while a program polls.", .source = "S1; nvml", .severity = SEVERITY_LOW,
	  .risk = RISK_LOW, .judge = mem_clock_lock },
	{ .id = "gpu.application-clocks", .title = "Application clocks", GPU, .read = "nvmlDeviceGetApplicationsClock(SM)",
	  .not_when = "the GPU has none", .why = "The older way to choose a clock; a lowered one explains a slow GPU.",
	  .source = "S0; nvml", .severity = SEVERITY_MEDIUM, .judge = app_clocks },
	{ .id = "gpu.vboost", .title = "Boost slider (vboost)", GPU, .knob = KNOB_HELPER, .name = "vboost",
	  .not_when = "the vendor's program is missing or the board has no slider",
	  .why = "A vendor setting that steers power to the tensor cores. No public interface but nvidia-smi.",
	  .note = "Published as a video boost that lowers the memory clock; NVIDIA's recipes describe another thing.",
	  .source = "S0; NVIDIA NeMo and TensorRT-LLM recipes", .severity = SEVERITY_LOW, .risk = RISK_LOW, OPINIONS(vboost) },
	{ .id = "gpu.accounting-mode", .title = "Accounting mode", GPU, NVML_KNOB, .name = "accounting-mode", .fact = "accounting",
	  .not_when = "MIG is on",
	  .why = "Records use per process. No effect on performance; switching it off deletes the record.",
	  .source = "S0; nvml", .severity = SEVERITY_LOW, .risk = RISK_LOW, OPINIONS(accounting), .applies = mig_off },
	{ .id = "gpu.compute-mode", .title = "Compute mode", GPU, NVML_KNOB, .name = "compute-mode", .fact = "compute_mode",
	  .not_when = "MIG is on",
	  .why = "Who may use the GPU: everybody, one process, or nobody.", .source = "S0; nvml", .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE, OPINIONS(compute_mode), .applies = mig_off },
	{ .id = "gpu.power-limit", .title = "Power limit", GPU, .knob = KNOB_NVML, .name = "power-limit",
	  .read = "nvmlDeviceGetPowerManagementLimit", .not_when = "firmware fixes it (GB10)",
	  .why = "The cap that the driver holds the board to.", .source = "nvml; S0", .severity = SEVERITY_MEDIUM,
	  .risk = RISK_SERVICE, .judge = power_limit },
	{ .id = "gpu.mig", .title = "MIG", GPU, .knob = KNOB_NVML, .name = "mig-mode", .of = &schema_gpu, .fact = "mig",
	  .not_when = "the GPU has no MIG", .why = "Splits a GPU into instances without peer-to-peer.", .source = "nvml",
	  .severity = SEVERITY_MEDIUM, .risk = RISK_DANGER, .effect = EFFECT_DRIVER_RELOAD, .judge = mig },
	{ .id = "gpu.ecc", .title = "ECC", GPU, .knob = KNOB_NVML, .name = "ecc-mode", .of = &schema_gpu, .fact = "ecc",
	  .not_when = "memory has no switchable ECC", .why = "Corrects memory errors. Switching it off is no safe speed-up.",
	  .source = "nvml", .severity = SEVERITY_MEDIUM, .risk = RISK_DANGER, .effect = EFFECT_REBOOT, .judge = ecc },
	{ .id = "gpu.bar1-size", .title = "BAR1 window", GPU, .read = "nvmlDeviceGetBAR1MemoryInfo.bar1Total",
	  .not_when = "the GPU shares the host's memory, or no RDMA device is there",
	  .why = "How much GPU memory other devices can reach at once. It does not change the size of a transfer.",
	  .note = "1 GiB is published as the minimum; a check that demands more than 1 GiB warns at exactly 1 GiB.",
	  .source = "S1; gpudirect", .severity = SEVERITY_MEDIUM, .effect = EFFECT_FIRMWARE, .judge = bar1 },
	{ .id = "gpu.resizable-bar", .title = "Resizable BAR", GPU, .read = "PCIe extended capability 0x15",
	  .not_when = "the GPU shares the host's memory or has no such capability",
	  .why = "Whether the window can be larger than firmware made it.", .source = "S1; pcie-base",
	  .severity = SEVERITY_LOW, .effect = EFFECT_FIRMWARE, .judge = rebar },
};

const struct setting_table settings_gpu = SETTING_TABLE(rows);
