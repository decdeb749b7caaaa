/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as charts: clock, power, temperature, use and memory of each GPU, and when it was
 * throttled; the machine around them is figures_tracks.c's. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "machine/model/gpu.h"
#include "look/monitor/monitor.h"
#include "look/monitor/figures_recording.h"
#include "look/monitor/figures_tracks.h"
#include "look/monitor/page_monitor.h"

enum { LANES = 5, SPANS_MAX = 2000 };

/* What NVML says of why clocks are low: idle, a clock that somebody asked for, and a display are
 * no throttling. */
static const unsigned no_throttling =
	EVENT_IDLE | EVENT_APP_CLOCKS | EVENT_SYNC_BOOST | EVENT_DISPLAY;

/* Of moments thrown together the lowest clock and the highest power and temperature stay. */
static const struct lane_kind {
	const char *type, *name, *unit;
	bool least, zero;
	double factor;
} kinds[LANES] = {
	{ "gpu.sm-clock", "clock of the cores", "MHz", true, true, 1 },
	{ "gpu.power", "power", "W", false, true, 1 },
	{ "gpu.temperature", "temperature", "C", false, false, 1 },
	{ "gpu.busy", "a kernel ran", "%", true, true, 1 },
	{ "gpu.memory-used", "memory in use", "GiB", false, true, 1.0 / (1 << 30) },
};

struct gpu_track {
	const char *target;
	long column[LANES], reasons;
	double *y[LANES];
	unsigned *bits;
};

struct timeline {
	struct arena *a;
	const struct monitor *mon;
	bool begun;
	double *t;
	size_t n, every, waiting; /* rows that one kept moment stands for; of the last one */
	struct gpu_track gpu[TIMELINE_GPUS];
	struct tracks *around;
	size_t n_gpus;
};

struct timeline *timeline_new(struct arena *a, const struct monitor *mon)
{
	struct timeline *t = ARENA_NEW(a, struct timeline);

	t->a = a;
	t->mon = mon;
	t->every = 1;
	return t;
}

static void begin(struct timeline *t)
{
	t->begun = true;
	t->t = arena_array(t->a, TIMELINE_KEPT, sizeof(*t->t));
	t->around = tracks_new(t->a, t->mon, TIMELINE_KEPT);
	for (size_t i = 0; i < t->mon->n && t->n_gpus < TIMELINE_GPUS; i++) {
		const struct column_of *c = &t->mon->columns[i];
		struct gpu_track *g = &t->gpu[t->n_gpus];

		if (strcmp(c->type->name, kinds[0].type) != 0)
			continue;
		g->target = c->target;
		g->reasons = monitor_find(t->mon, "gpu.reasons", c->target);
		g->bits = arena_array(t->a, TIMELINE_KEPT, sizeof(*g->bits));
		for (int k = 0; k < LANES; k++) {
			g->column[k] = monitor_find(t->mon, kinds[k].type, c->target);
			g->y[k] = arena_array(t->a, TIMELINE_KEPT, sizeof(double));
		}
		t->n_gpus++;
	}
}

static double both(const struct lane_kind *k, double a, double b)
{
	return k->least ? fmin(a, b) : fmax(a, b); /* of NAN and a number the number */
}

static void halve(struct timeline *t)
{
	for (size_t i = 0; i < t->n / 2; i++) {
		t->t[i] = t->t[2 * i];
		for (size_t g = 0; g < t->n_gpus; g++) {
			for (int k = 0; k < LANES; k++)
				t->gpu[g].y[k][i] = both(&kinds[k], t->gpu[g].y[k][2 * i],
							 t->gpu[g].y[k][2 * i + 1]);
			t->gpu[g].bits[i] = t->gpu[g].bits[2 * i] | t->gpu[g].bits[2 * i + 1];
		}
	}
	tracks_halve(t->around, t->n);
	t->n /= 2;
	t->every *= 2;
}

static unsigned bits_of(const struct gpu_track *g, const double *values)
{
	double v = g->reasons >= 0 ? values[g->reasons] : NAN;

	return v >= 0 && v < 4294967296.0 ? (unsigned)v & ~no_throttling : 0;
}

bool timeline_row(void *ctx, int64_t ms, const double *values)
{
	struct timeline *t = ctx;
	bool fresh;

	if (!t->begun)
		begin(t);
	fresh = !t->n || t->waiting == t->every;
	if (fresh && t->n == TIMELINE_KEPT)
		halve(t);
	if (fresh) {
		t->t[t->n++] = (double)ms / 1e3;
		t->waiting = 0;
	}
	t->waiting++;
	for (size_t g = 0; g < t->n_gpus; g++) {
		struct gpu_track *it = &t->gpu[g];

		for (int k = 0; k < LANES; k++) {
			double v = it->column[k] >= 0 ? values[it->column[k]] * kinds[k].factor
						      : (double)NAN;

			it->y[k][t->n - 1] = fresh ? v : both(&kinds[k], it->y[k][t->n - 1], v);
		}
		it->bits[t->n - 1] = (fresh ? 0 : it->bits[t->n - 1]) | bits_of(it, values);
	}
	tracks_row(t->around, t->t, t->n, fresh, (double)ms / 1e3, values);
	return true;
}

/* Moments of one reason that follow each other are one span. */
static size_t spans_of(const struct timeline *t, const struct gpu_track *g,
		       struct chart_span *spans)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		double to = i + 1 < t->n ? t->t[i + 1] : t->t[i];

		if (!g->bits[i])
			continue;
		if (i && g->bits[i] == g->bits[i - 1] && n) {
			spans[n - 1].to = to;
		} else if (n < SPANS_MAX) {
			TEXT_AUTO why = { 0 };

			monitor_reasons(g->bits[i], &why);
			spans[n++] = (struct chart_span){ t->t[i], to,
							  arena_strdup(t->a, why.s ? why.s : "") };
		}
	}
	return n;
}

static struct chart_mark lane_limit(const struct timeline *t, const struct gpu_track *g, int lane)
{
	const struct chart_mark none = { NAN, NAN, NULL };

	for (size_t i = 0; i < t->mon->machine.n_gpus; i++) {
		const struct monitor_gpu *m = &t->mon->machine.gpus[i];
		double v[LANES] = { m->sm_max_mhz, m->power_limit_w, m->slowdown_c, NAN,
				    m->memory_bytes * kinds[4].factor };
		static const char *const names[LANES] = { "highest clock, read",
							  "power limit, read", "slows down, read",
							  NULL, "installed, read" };

		if (strcmp(arena_printf(t->a, "gpu%u", m->index), g->target) == 0)
			return v[lane] > 0 ? (struct chart_mark){ v[lane], v[lane], names[lane] }
					   : none;
	}
	return none;
}

static void gpu_figure(struct doc *d, const struct timeline *t, const struct gpu_track *g)
{
	struct chart_lane *lanes = arena_array(d->arena, LANES, sizeof(*lanes));
	struct chart_span *spans = arena_array(d->arena, SPANS_MAX, sizeof(*spans));
	struct chart_timeline c = { .title = arena_printf(d->arena, "%s over time", g->target),
				    .t = t->t,
				    .n = t->n,
				    .lanes = lanes,
				    .spans = spans,
				    .n_spans = spans_of(t, g, spans) };

	for (int k = 0; k < LANES; k++)
		if (g->column[k] >= 0)
			lanes[c.n_lanes++] = (struct chart_lane){ .name = kinds[k].name,
								  .unit = kinds[k].unit,
								  .y = g->y[k],
								  .limit = lane_limit(t, g, k),
								  .zero = kinds[k].zero };
	chart_add_timeline(d, &c);
}

void timeline_add(struct doc *d, const struct timeline *t)
{
	for (size_t i = 0; i < t->n_gpus; i++)
		gpu_figure(d, t, &t->gpu[i]);
	if (t->begun)
		tracks_add(d, t->around, t->t, t->n);
}
