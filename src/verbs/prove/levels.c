/* SPDX-License-Identifier: Apache-2.0 */
/* gputune prove --levels and --per-joule: the best of several values, and what work costs in
 * energy. */
#include <string.h>

#include "base/text.h"
#include "verbs/prove/prove.h"

enum { LEVELS_MAX = 12, ENERGY_S = 3 };

/* Of a clock lock a level is a cap: "0,V". "V,V" would hold the clock up as well. */
static const char *level_value(struct door *d, const struct setting *s, const char *text)
{
	long long mhz;

	if (s->knob != KNOB_NVML || !str_ends(s->name, "-clock-lock"))
		return text;
	return parse_i64(text, &mhz) == 0 && mhz > 0 ? arena_printf(d->arena, "0,%lld", mhz) : NULL;
}

int prove_plan_levels(struct proving *g, const char *id, const char *target)
{
	struct door *d = g->d;
	struct plan *p = &g->planned.plan;
	const struct setting *s = setting_find(id);
	const char *const *texts = door_words(d, g->ask->levels, &g->n_levels);

	if (!s || !s->name)
		return door_refuse(d, EXIT_USAGE, "--levels requires one setting with a knob");
	if (g->n_levels < 2 || g->n_levels > LEVELS_MAX)
		return door_refuse(d, EXIT_USAGE, "--levels takes 2 to %d values", LEVELS_MAX);
	/* The values of --levels replace what the profile wants. */
	p->n = p->n_advice = 0;
	g->levels = arena_array(d->arena, g->n_levels, sizeof(*g->levels));
	for (size_t i = 0; i < g->n_levels; i++) {
		const char *value = level_value(d, s, texts[i]);

		if (!value)
			return door_refuse(d, EXIT_USAGE, "invalid clock in MHz: \"%s\"", texts[i]);
		for (size_t k = 0; k < i; k++)
			if (strcmp(g->levels[k].name, value) == 0)
				return door_refuse(d, EXIT_USAGE, "%s is given twice", texts[i]);
		g->levels[i].name = value;
		door_add_value(d, g->h, &g->planned, g->ask->allow.allow, id, target, value, true);
	}
	return 0;
}

void prove_note_levels(struct proving *g)
{
	const struct plan *p = &g->planned.plan;
	size_t n = 0;

	for (size_t i = 0; i < g->n_levels; i++) {
		bool *on = arena_array(g->d->arena, p->n, sizeof(*on)), any = false;

		for (size_t k = 0; k < p->n; k++) {
			on[k] = !p->changes[k].gate &&
				strcmp(p->changes[k].after, g->levels[i].name) == 0;
			any = any || on[k];
		}
		/* A value that is refused, or in force already, is not compared. */
		if (any)
			g->levels[n++] = (struct prove_level){ g->levels[i].name, on };
	}
	g->n_levels = n;
}

void prove_search(struct proving *g)
{
	size_t best = engine_prove_levels(&g->engine, g->levels, g->n_levels), n = 0;
	struct proof *p = &g->proof;

	if (best == g->n_levels)
		return;
	g->good = g->levels[best].on;
	for (size_t i = 0; i < p->n_changes; i++)
		if (strcmp(p->changes[i].after, g->levels[best].name) == 0)
			p->changes[n++] = p->changes[i];
	p->n_changes = n;
}

/* Whether the plan changes this GPU. A plan that changes no GPU measures all of them. */
static bool is_meant(const struct plan *p, const struct gpu *g)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++) {
		if (p->changes[i].gate || p->changes[i].knob.kind != KNOB_NVML)
			continue;
		any = true;
		if (strcmp(p->changes[i].knob.object, g->pci) == 0)
			return true;
	}
	return !any;
}

int prove_per_joule(struct proving *g)
{
	struct arena *a = g->d->arena;
	const char **gpus = arena_array(a, g->planned.m->gpu.gpus.n + 1, sizeof(*gpus));
	struct err e = { 0 };
	size_t n = 0;
	bool integrated = false;

	LIST_FOR_EACH (struct gpu, gpu, &g->planned.m->gpu.gpus) {
		if (!is_meant(&g->planned.plan, gpu))
			continue;
		gpus[n++] = arena_printf(a, "%u", gpu->index);
		integrated = integrated || fact_or(&gpu->integrated, 0) == 1;
	}
	g->meter = g->d->live(g->d->ctx);
	/* A count of energy moves in steps of up to a tenth of a second. */
	if (g->proof.window.seconds > 0 && g->ask->pairs.seconds <= 0)
		g->proof.window.seconds = ENERGY_S;
	if (window_per_joule(a, g->meter, gpus, n, g->ask->loss, &g->proof.window, &e))
		return door_fail(g->d, EXIT_BLIND, &e);
	if (integrated)
		door_warn(g->d, "no gain per joule has been measured yet on GPUs that share the "
				"host's memory; only the GPU's own energy counts");
	return 0;
}
