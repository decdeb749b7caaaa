/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, by NVML. What costs tens of microseconds is asked at each look, the rest once a second. */
#include <math.h>
#include <stdio.h>

#include "monitor/look.h"

#define FIELD(name) "nvmlDeviceGetFieldValues(" name ")"
#define REASON(name) FIELD("CLOCKS_EVENT_REASON_" name)

struct gpu_question {
	const char *type;
	const char *ask, *plus; /* plus: added to it, where the driver tells it */
	double factor;
};

static const struct gpu_question quick[] = {
	{ "gpu.sm-clock", "nvmlDeviceGetClockInfo(SM)", NULL, 1 },
	{ "gpu.power", "nvmlDeviceGetPowerUsage", NULL, 1e-3 },
	{ "gpu.busy", "nvmlDeviceGetUtilizationRates.gpu", NULL, 1 },
	{ "gpu.memory-busy", "nvmlDeviceGetUtilizationRates.memory", NULL, 1 },
	{ "gpu.reasons", "nvmlDeviceGetCurrentClocksEventReasons", NULL, 1 },
};
static const struct gpu_question dear[] = {
	{ "gpu.memory-clock", "nvmlDeviceGetClockInfo(MEM)", NULL, 1 },
	{ "gpu.temperature", "nvmlDeviceGetTemperature(GPU)", NULL, 1 },
	{ "gpu.memory-used", "nvmlDeviceGetMemoryInfo.used", NULL, 1 },
	/* The driver counts nanoseconds. */
	{ "gpu.capped", REASON("SW_POWER_CAP"), NULL, 1e-9 },
	{ "gpu.warm", REASON("SW_THERM_SLOWDOWN"), REASON("HW_THERM_SLOWDOWN"), 1e-9 },
	{ "gpu.brake", REASON("HW_POWER_BRAKE_SLOWDOWN"), NULL, 1e-9 },
	{ "gpu.link-generation", "nvmlDeviceGetCurrPcieLinkGeneration", NULL, 1 },
	{ "gpu.link-width", "nvmlDeviceGetCurrPcieLinkWidth", NULL, 1 },
	{ "gpu.pcie-sent", FIELD("PCIE_COUNT_TX_BYTES"), NULL, 1 },
	{ "gpu.pcie-received", FIELD("PCIE_COUNT_RX_BYTES"), NULL, 1 },
	{ "gpu.nvlink-sent", FIELD("NVLINK_THROUGHPUT_DATA_TX"), NULL, 1024 },
	{ "gpu.nvlink-received", FIELD("NVLINK_THROUGHPUT_DATA_RX"), NULL, 1024 },
	{ "gpu.processes", "nvmlDeviceGetComputeRunningProcesses", NULL, 1 },
};
enum { QUICK = sizeof(quick) / sizeof(quick[0]), DEAR = sizeof(dear) / sizeof(dear[0]) };

static void ask(struct host *h, const char *gpu, const struct gpu_question *q, size_t n,
		double *out)
{
	for (size_t i = 0; i < n; i++) {
		long long v, more = 0;

		out[i] = NAN;
		if (host_ask_int(h, "nvml", gpu, q[i].ask, &v))
			continue;
		if (q[i].plus && host_ask_int(h, "nvml", gpu, q[i].plus, &more))
			more = 0;
		out[i] = (double)(v + more) * q[i].factor;
	}
}

static void take_quick(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	ask(h, l->target, quick, QUICK, out);
}

static void take_dear(const struct look *l, struct host *h, struct monitor_state *s, double *out)
{
	(void)s;
	ask(h, l->target, dear, DEAR, out);
}

static void add(struct arena *a, struct monitor *mon, const struct gpu *g, bool slow)
{
	const struct gpu_question *q = slow ? dear : quick;
	const char *target = arena_printf(a, "gpu%u", g->index);
	struct look *l = look_add(a, mon);

	l->take = slow ? take_dear : take_quick;
	l->slow = slow;
	l->target = arena_printf(a, "%u", g->index);
	for (size_t i = 0; i < (size_t)(slow ? DEAR : QUICK); i++)
		look_column(a, mon, q[i].type, target);
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
		add(a, mon, g, false);
		add(a, mon, g, true);
	}
}
