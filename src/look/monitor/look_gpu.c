/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, by NVML: each question as often as its answer can change, since the answers are what a look
 * costs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "look/monitor/look.h"

#define FIELD(name) "nvmlDeviceGetFieldValues(" name ")"
#define REASON(name) FIELD("CLOCKS_EVENT_REASON_" name)

struct gpu_question {
	const char *type;
	const char *ask, *plus; /* plus: added to it, where the driver counts it */
	double factor;
};

/* Questions that are asked equally often. */
struct gpu_tier {
	double every_s;
	const struct gpu_question *q;
	size_t n;
};

static const struct gpu_question each[] = {
	{ "gpu.sm-clock", "nvmlDeviceGetClockInfo(SM)", NULL, 1 },
	{ "gpu.reasons", "nvmlDeviceGetCurrentClocksEventReasons", NULL, 1 },
};
/* The driver takes both as means of its own: power of the last second (from Ampere on, but for the
 * A100), use of the last sixth of a second to a second (nvml.h). Asking more often tells nothing.
 */
static const struct gpu_question paced[] = {
	{ "gpu.power", "nvmlDeviceGetPowerUsage", NULL, 1e-3 },
	{ "gpu.busy", "nvmlDeviceGetUtilizationRates.gpu", NULL, 1 },
	{ "gpu.memory-busy", "nvmlDeviceGetUtilizationRates.memory", NULL, 1 },
};
static const struct gpu_question slow[] = {
	{ "gpu.temperature", "nvmlDeviceGetTemperature(GPU)", NULL, 1 },
	{ "gpu.memory-used", "nvmlDeviceGetMemoryInfo.used", NULL, 1 },
	/* The driver counts nanoseconds. */
	{ "gpu.capped", REASON("SW_POWER_CAP"), NULL, 1e-9 },
};
/* What costs the driver much (measured on an H200, 580.159: link width 0.12 ms, PCIe bytes 0.7 ms,
 * hardware's slowing down 1.1 ms, NVLink's 3.0 ms; the others 0.03 to 0.08 ms), and what changes
 * with the state of power or with who works here. */
static const struct gpu_question rare[] = {
	{ "gpu.warm", REASON("SW_THERM_SLOWDOWN"), REASON("HW_THERM_SLOWDOWN"), 1e-9 },
	{ "gpu.brake", REASON("HW_POWER_BRAKE_SLOWDOWN"), NULL, 1e-9 },
	{ "gpu.pcie-sent", FIELD("PCIE_COUNT_TX_BYTES"), NULL, 1 },
	{ "gpu.pcie-received", FIELD("PCIE_COUNT_RX_BYTES"), NULL, 1 },
	{ "gpu.nvlink-sent", FIELD("NVLINK_THROUGHPUT_DATA_TX"), NULL, 1024 },
	{ "gpu.nvlink-received", FIELD("NVLINK_THROUGHPUT_DATA_RX"), NULL, 1024 },
	{ "gpu.memory-clock", "nvmlDeviceGetClockInfo(MEM)", NULL, 1 },
	{ "gpu.link-generation", "nvmlDeviceGetCurrPcieLinkGeneration", NULL, 1 },
	{ "gpu.link-width", "nvmlDeviceGetCurrPcieLinkWidth", NULL, 1 },
	{ "gpu.processes", "nvmlDeviceGetComputeRunningProcesses", NULL, 1 },
};

#define TIER(s, list)                                                                              \
	{                                                                                          \
		(s), (list), sizeof(list) / sizeof((list)[0])                                      \
	}
static const struct gpu_tier tiers[] = { TIER(0, each), TIER(0.25, paced), TIER(LOOK_SLOW_S, slow),
					 TIER(LOOK_RARE_S, rare) };

/* What this driver does not know for this GPU is asked again after a minute. */
enum { REFUSED_S = 60 };

static void take(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	for (size_t i = 0; i < l->tier->n; i++) {
		const struct gpu_question *q = &l->tier->q[i];
		double *refused = s->refused_s ? &s->refused_s[l->first + i] : NULL;
		long long v, more = 0;
		int e;

		out[i] = NAN;
		if (refused && *refused > 0 && s->now_s < *refused + REFUSED_S)
			continue;
		e = host_ask_int(h, "nvml", l->target, q->ask, &v);
		if (refused)
			*refused = e == -EOPNOTSUPP ? s->now_s : 0;
		if (e)
			continue;
		e = q->plus ? host_ask_int(h, "nvml", l->target, q->plus, &more) : 0;
		/* Half of a total now and all of it next time would be a rate of its own. */
		if (e == 0 || e == -EOPNOTSUPP)
			out[i] = (double)(v + more) * q->factor;
	}
}

static void add(struct arena *a, struct monitor *mon, const struct gpu *g, const struct gpu_tier *t)
{
	const char *target = arena_printf(a, "gpu%u", g->index);
	struct look *l = look_add(a, mon);

	l->take = take;
	l->tier = t;
	l->every_s = t->every_s;
	l->target = arena_printf(a, "%u", g->index);
	for (size_t i = 0; i < t->n; i++)
		look_column(a, mon, t->q[i].type, target);
}

static void describe(struct arena *a, const struct gpu *g, struct monitor_gpu *out)
{
	const char *lock = fact_text(&g->clock_sm_lock, "");

	*out = (struct monitor_gpu){
		.index = g->index,
		.name = g->name.v ? arena_strdup(a, g->name.v) : NULL,
		.sm_max_mhz = (double)fact_or(&g->clock_sm_max_mhz, -1),
		.lock_low_mhz = -1,
		.lock_high_mhz = -1,
		.power_limit_w = 1e-3 * (double)fact_or(&g->power_limit_enforced_mw, -1),
		.memory_bytes = (double)fact_or(&g->memory_bytes, -1),
		.slowdown_c = (double)fact_or(&g->temperature_slowdown_c, -1),
		.integrated = fact_or(&g->integrated, 0) == 1,
	};
	if (sscanf(lock, "%lf,%lf", &out->lock_low_mhz, &out->lock_high_mhz) != 2)
		out->lock_low_mhz = out->lock_high_mhz = -1;
}

void look_gpus(struct arena *a, const struct machine *m, struct monitor *mon)
{
	LIST_FOR_EACH (const struct gpu, g, &m->gpu.gpus) {
		struct monitor_machine *mm = &mon->machine;

		mm->gpus = arena_grow(a, mm->gpus, mm->n_gpus, sizeof(*mm->gpus));
		describe(a, g, &mm->gpus[mm->n_gpus++]);
		for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++)
			add(a, mon, g, &tiers[i]);
	}
}
