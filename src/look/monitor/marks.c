/* SPDX-License-Identifier: Apache-2.0 */
/* From a moment to facts, and from these to findings. */
#include "look/monitor/marks.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

const struct monitor_mark monitor_marks[] = {
	{ "gpu.sm-clock", "gpu.working-clock gpu.power-latch" },
	{ "gpu.temperature", "gpu.temperature" },
	{ "gpu.reasons", "gpu.throttle" },
	{ "memory.available", "memory.available" },
};
const size_t monitor_marks_n = sizeof(monitor_marks) / sizeof(monitor_marks[0]);

/* A figure in the fact's unit; unknown where it was not seen at this moment. */
static struct fact_int figure(double v)
{
	if (!(fabs(v) < 0x1p53))
		return (struct fact_int){ .f = { .seen = SEEN_ERROR, .leaf = "monitor" } };
	return (struct fact_int){ .f = { .seen = SEEN_OK, .leaf = "monitor" }, .v = llround(v) };
}

/* What was read once, at the start; below 0: it is not known. */
static struct fact_int fixed(double v)
{
	struct fact_int f = figure(v);

	if (v < 0)
		f.f.seen = SEEN_UNSUPPORTED;
	return f;
}

static void mark_gpu(struct arena *a, const struct instant *f, const struct monitor_gpu *g,
		     struct list *out)
{
	const char *target = arena_printf(a, "gpu%u", g->index);
	struct gpu *now = list_add(a, out, sizeof(*now));

	*now = (struct gpu){
		.index = g->index,
		.pci = "",
		.integrated = figure(g->integrated),
		.util_gpu_pct = figure(instant_value(f, "gpu.busy", target)),
		.clock_sm_mhz = figure(instant_value(f, "gpu.sm-clock", target)),
		.clock_sm_max_mhz = fixed(g->sm_max_mhz),
		.power_mw = figure(1e3 * instant_value(f, "gpu.power", target)),
		.event_reasons = figure(instant_value(f, "gpu.reasons", target)),
		.temperature_c = figure(instant_value(f, "gpu.temperature", target)),
		.temperature_slowdown_c = fixed(g->slowdown_c),
		.temperature_margin_c = fixed(-1),
	};
}

void monitor_judge(struct arena *a, const struct instant *f, struct findings *out)
{
	const char *only[] = { "gpu.working-clock", "gpu.power-latch", "gpu.temperature",
			       "gpu.throttle", "memory.available" };
	const struct profile p = { .name = "default",
				   .base = PROFILE_DEFAULT,
				   .only = only,
				   .n_only = sizeof(only) / sizeof(only[0]) };
	const struct monitor_machine *from = &f->mon->machine;
	struct machine *m = ARENA_NEW(a, struct machine);

	m->platform.kind = (struct fact_str){ .f = { .seen = from->platform ? SEEN_OK : SEEN_ABSENT,
						     .leaf = "monitor" },
					      .v = from->platform };
	m->memory.total_kb = fixed(from->memory_bytes / 1024);
	m->memory.available_kb = figure(instant_value(f, "memory.available", "") / 1024);
	for (size_t i = 0; i < from->n_gpus; i++)
		mark_gpu(a, f, &from->gpus[i], &m->gpu.gpus);
	settings_check(a, m, &p, NULL, NULL, out);
}

static bool is_of(const struct finding *x, const char *target)
{
	for (size_t k = 0; k < x->n_targets; k++)
		if (strcmp(x->targets[k], target) == 0)
			return true;
	return false;
}

const struct finding *monitor_finding(const struct findings *all, const char *what,
				      const char *target)
{
	const struct finding *out = NULL;
	const char *by = "";

	for (size_t i = 0; i < monitor_marks_n; i++)
		if (strcmp(monitor_marks[i].what, what) == 0)
			by = monitor_marks[i].setting;
	for (size_t i = 0; i < all->n; i++) {
		const struct finding *x = &all->items[i];

		if (words_have(by, x->s->id, strlen(x->s->id)) && is_of(x, target) &&
		    (!out || x->v.kind == VERDICT_FAIL ||
		     (x->v.kind == VERDICT_PASS && out->v.kind != VERDICT_FAIL)))
			out = x;
	}
	return out;
}
