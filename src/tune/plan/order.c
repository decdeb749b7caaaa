/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has to be written before what. Everything keeps its place but for: units first, because a
 * daemon that runs would take a value back; huge pages before what breaks memory up or fills it;
 * boot arguments last, because they wait anyway; and on one device what resets or bounds the other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tune/plan/owner.h"
#include "tune/plan/plan.h"

enum phase { PHASE_STOP, PHASE_START, PHASE_HUGE_PAGES, PHASE_REST, PHASE_BOOT, PHASES };

/* Of files in one folder, or of knobs of one object, the first goes before the second. */
static const struct {
	enum knob_kind kind;
	const char *first, *then;
} pairs[] = {
	/* A new scheduler sets the depth of the queue. */
	{ KNOB_SYSFS, "/scheduler", "/nr_requests" },
	{ KNOB_SYSFS, "/scheduler", "/read_ahead_kb" },
	{ KNOB_SYSFS, "/scheduler", "/wbt_lat_usec" },
	/* A governor may set the bounds. */
	{ KNOB_SYSFS, "/scaling_governor", "/scaling_max_freq" },
	{ KNOB_SYSFS, "/scaling_governor", "/scaling_min_freq" },
	{ KNOB_SYSFS, "/scaling_governor", "/energy_performance_preference" },
	{ KNOB_SYSFS, "/scaling_max_freq", "/scaling_min_freq" },
	/* Without persistence the driver forgets the rest when its last client goes. */
	{ KNOB_NVML, "persistence-mode", "gpu-clock-lock" },
	{ KNOB_NVML, "persistence-mode", "memory-clock-lock" },
	{ KNOB_NVML, "persistence-mode", "accounting-mode" },
	{ KNOB_NVML, "persistence-mode", "compute-mode" },
	{ KNOB_NVML, "persistence-mode", "power-limit" },
	/* Both reset the rings of some drivers. */
	{ KNOB_LINK, "channels", "rx-ring" },
	{ KNOB_LINK, "channels", "tx-ring" },
	{ KNOB_LINK, "mtu", "rx-ring" },
	{ KNOB_LINK, "mtu", "tx-ring" },
	/* Adaptive moderation overrules the figure. */
	{ KNOB_LINK, "adaptive-rx", "rx-usecs" },
	{ KNOB_LINK, "adaptive-tx", "tx-usecs" },
};
enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

struct sorter {
	const struct change *in;
	struct change *out;
	bool *placed;
	size_t n, done;
};

static enum phase phase_of(const struct change *c)
{
	if (c->knob.kind == KNOB_UNIT)
		return str_starts(c->after, "enabled") ? PHASE_START : PHASE_STOP;
	if (c->knob.kind == KNOB_BOOTARG)
		return PHASE_BOOT;
	if (strstr(c->knob.name, "nr_hugepages"))
		return PHASE_HUGE_PAGES;
	return PHASE_REST;
}

/* Length of the folder of a path that ends in leaf; 0 when it does not. */
static size_t folder(const struct knob *k, const char *leaf)
{
	return str_ends(k->name, leaf) ? strlen(k->name) - strlen(leaf) : 0;
}

static bool goes_before(const struct knob *x, const struct knob *y, size_t pair)
{
	size_t n;

	if (x->kind != pairs[pair].kind || y->kind != x->kind)
		return false;
	if (x->kind != KNOB_SYSFS)
		return strcmp(x->name, pairs[pair].first) == 0 &&
		       strcmp(y->name, pairs[pair].then) == 0 && strcmp(x->object, y->object) == 0;
	n = folder(x, pairs[pair].first);
	return n && folder(y, pairs[pair].then) == n && strncmp(x->name, y->name, n) == 0;
}

static bool is_then(const struct knob *k, size_t pair)
{
	if (k->kind != pairs[pair].kind)
		return false;
	return k->kind == KNOB_SYSFS ? folder(k, pairs[pair].then) > 0
				     : strcmp(k->name, pairs[pair].then) == 0;
}

static void plan_order_place(struct sorter *s, size_t i);

/* Places whatever has to stand before change i. The pairs hold no circle. */
static void place_before(struct sorter *s, size_t i)
{
	for (size_t pair = 0; pair < PAIRS; pair++) {
		if (!is_then(&s->in[i].knob, pair))
			continue;
		for (size_t k = 0; k < s->n; k++)
			if (!s->placed[k] && goes_before(&s->in[k].knob, &s->in[i].knob, pair))
				plan_order_place(s, k);
	}
}

/* The two of a pair that share one value stay together. */
static void place_partner(struct sorter *s, size_t i)
{
	const char *partner =
		s->in[i].knob.kind == KNOB_SYSCTL ? sysctl_partner(s->in[i].knob.name) : NULL;

	for (size_t k = 0; partner && k < s->n; k++)
		if (!s->placed[k] && s->in[k].knob.kind == KNOB_SYSCTL &&
		    strcmp(s->in[k].knob.name, partner) == 0)
			plan_order_place(s, k);
}

static void plan_order_place(struct sorter *s, size_t i)
{
	if (s->placed[i])
		return;
	s->placed[i] = true;
	place_before(s, i);
	s->out[s->done++] = s->in[i];
	place_partner(s, i);
}

void plan_sort(struct plan *p)
{
	struct sorter s = { .n = p->n };
	struct change *in;

	if (p->n < 2)
		return;
	in = calloc(p->n, sizeof(*in));
	s.placed = calloc(p->n, sizeof(*s.placed));
	if (!in || !s.placed)
		out_of_memory(0);
	memcpy(in, p->changes, p->n * sizeof(*in));
	s.in = in;
	s.out = p->changes;
	for (int phase = 0; phase < PHASES; phase++)
		for (size_t i = 0; i < p->n; i++)
			if (phase_of(&in[i]) == (enum phase)phase)
				plan_order_place(&s, i);
	free(in);
	free(s.placed);
}
