/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that programs on a GPU would feel: a mode that throws them out, a lower clock or power
 * limit, the fabric between GPUs. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/gate.h"

enum { NAMED_MAX = 4 };

static bool lowers(const char *after, const struct fact_int *now)
{
	long long v;

	return parse_i64(after, &v) == 0 && seen_ok(&now->f) && v < now->v;
}

/* "MIN,MAX" holds the clock below what it is now, or below the most where that is unknown. */
static bool locks_below(const char *after, const struct fact_int *now, const struct fact_int *most)
{
	const struct fact_int *clock = seen_ok(&now->f) ? now : most;
	long long low, high;

	return sscanf(after, "%lld,%lld", &low, &high) == 2 && seen_ok(&clock->f) &&
	       high < clock->v;
}

/* Programs on this GPU would feel the change. */
static bool disturbs(const struct change *c, const struct gpu *g)
{
	const char *name = c->knob.name;

	if (strcmp(name, "compute-mode") == 0 || strcmp(name, "mig-mode") == 0 ||
	    strcmp(name, "ecc-mode") == 0)
		return true;
	if (strcmp(name, "persistence-mode") == 0)
		return strcmp(c->after, "0") == 0;
	if (strcmp(name, "power-limit") == 0)
		return lowers(c->after, &g->power_limit_mw);
	if (strcmp(name, "gpu-clock-lock") == 0)
		return locks_below(c->after, &g->clock_sm_mhz, &g->clock_sm_max_mhz);
	if (strcmp(name, "memory-clock-lock") == 0)
		return locks_below(c->after, &g->clock_mem_mhz, &g->clock_mem_max_mhz);
	return c->effect == EFFECT_DRIVER_RELOAD;
}

/* Changes that are about all GPUs at once. */
static bool disturbs_all(const struct change *c)
{
	if (c->knob.kind == KNOB_UNIT)
		return strcmp(c->knob.name, "nvidia-fabricmanager.service") == 0 ||
		       (strcmp(c->knob.name, "nvidia-persistenced.service") == 0 &&
			!str_starts(c->after, "enabled"));
	return c->knob.kind == KNOB_MODPARAM && c->effect == EFFECT_DRIVER_RELOAD &&
	       str_starts(c->knob.name, "nvidia");
}

static const char *sentence(struct gates *g, const struct change *c, const struct gpu *gpu)
{
	const struct gpu_process *it = gpu->processes.items;
	size_t n = gpu->processes.n;
	TEXT_AUTO who = { 0 };

	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		text_printf(&who, "%s%s %u", i ? ", " : "", fact_text(&it[i].command, "process"),
			    it[i].index);
	if (n > NAMED_MAX)
		text_printf(&who, " and %zu more", n - NAMED_MAX);
	return arena_printf(g->a,
			    "gpu%u runs %zu program%s (%s) that would feel it: wait or stop %s, or "
			    "say --allow %s",
			    gpu->index, n, n == 1 ? "" : "s", who.s, n == 1 ? "it" : "them",
			    c->s->id);
}

const char *gate_gpu_busy(struct gates *g, const struct change *c)
{
	bool all = disturbs_all(c);

	if (!all && c->knob.kind != KNOB_NVML)
		return NULL;
	LIST_FOR_EACH (struct gpu, gpu, &g->m->gpu.gpus) {
		bool mine = all || (strcmp(gpu->pci, c->knob.object) == 0 && disturbs(c, gpu));

		if (mine && gpu->processes.n)
			return sentence(g, c, gpu);
	}
	return NULL;
}
