/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as charts: clock, power, temperature, use and memory of each GPU, when it was
 * throttled, and the machine around them. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "machine/model/gpu.h"
#include "look/monitor/figures_recording.h"
#include "look/monitor/page_monitor.h"
#include "look/monitor/recording.h"

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
	{ "gpu.sm-clock", "core clock", "MHz", true, true, 1 },
	{ "gpu.power", "power", "W", false, true, 1 },
	{ "gpu.temperature", "temperature", "C", false, false, 1 },
	{ "gpu.busy", "kernel active", "%", true, true, 1 },
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

static double both(const struct lane_kind *k, double a, double b)
{
	return k->least ? fmin(a, b) : fmax(a, b); /* of NAN and a number the number */
}

static unsigned bits_of(const struct gpu_track *g, const double *values)
{
	double v = g->reasons >= 0 ? values[g->reasons] : NAN;

	return v >= 0 && v < 4294967296.0 ? (unsigned)v & ~no_throttling : 0;
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
		static const char *const names[LANES] = { "highest clock", "power limit",
							  "slowdown temperature", NULL,
							  "installed memory" };

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

/* The machine around the GPUs in a recording: CPUs in use, memory, what networks and disks moved.
 * Rates are counted over a second at least, and those of counters that are asked more rarely than
 * is looked, over the time between. */

static const double window_s = 1;

static const struct {
	const char *type, *name, *unit;
	double factor;
} tracks_kinds[] = {
	{ "cpu.busy", "CPUs in use", "CPUs", 1 },
	{ "cpu.busiest", "busiest CPU", "%", 1 },
	{ "memory.available", "memory in use", "GiB", 1.0 / (1 << 30) },
	{ "net.received", "network, received", "MB/s", 1e-6 },
	{ "net.sent", "network, sent", "MB/s", 1e-6 },
	{ "rdma.received", "RDMA, received", "GB/s", 1e-9 },
	{ "rdma.sent", "RDMA, sent", "GB/s", 1e-9 },
	{ "disk.read", "disks, read", "MB/s", 1e-6 },
	{ "disk.written", "disks, written", "MB/s", 1e-6 },
};

enum { TRACKS = sizeof(tracks_kinds) / sizeof(tracks_kinds[0]), MEMORY = 2 };

/* One line: all columns of a type together. */
struct track {
	size_t *columns, n;
	double *last; /* totals: a value a column when the window began */
	double *y;    /* a value a moment */
	bool total;
	enum monitor_beat beat;
};

struct tracks {
	struct arena *a;
	const struct monitor *mon;
	struct recording_rates rates;
	double *rate; /* a value a column of the recording */
	struct track of[TRACKS];
	double begun_s; /* of the window; NAN: there was no row yet */
};

static void figures_recording_take_columns(struct arena *a, const struct monitor *mon,
					   const char *type, struct track *t)
{
	for (size_t i = 0; i < mon->n; i++) {
		if (strcmp(mon->columns[i].type->name, type) != 0)
			continue;
		t->total = mon->columns[i].type->kind == COLUMN_TOTAL;
		t->beat = mon->columns[i].beat;
		ARENA_ADD(a, t->columns, t->n) = i;
	}
}

/* Of the columns that mon has; most: moments that are ever kept. Lives in the arena, as does all it
 * holds. */
static struct tracks *tracks_new(struct arena *a, const struct monitor *mon, size_t most)
{
	struct tracks *k = ARENA_NEW(a, struct tracks);

	k->a = a;
	k->mon = mon;
	k->rate = arena_array(a, mon->n + 1, sizeof(*k->rate));
	k->begun_s = NAN;
	for (size_t i = 0; i < TRACKS; i++) {
		struct track *t = &k->of[i];

		figures_recording_take_columns(a, mon, tracks_kinds[i].type, t);
		if (!t->n)
			continue;
		t->last = arena_array(a, t->n, sizeof(*t->last));
		t->y = arena_array(a, most, sizeof(*t->y));
	}
	return k;
}

static void figures_recording_begin(struct timeline *t)
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

/* The highest of what is thrown together stays; of a number and NAN the number. */
static void put(double *y, double v)
{
	*y = fmax(*y, v);
}

static double gauge_of(const struct tracks *k, size_t i, const double *values)
{
	const struct track *t = &k->of[i];
	double v = -INFINITY, all = k->mon->machine.memory_bytes;

	for (size_t c = 0; c < t->n; c++)
		v = fmax(v, values[t->columns[c]]);
	if (!isfinite(v))
		return NAN;
	if (i == MEMORY)
		v = all > 0 ? fmax(all - v, 0) : (double)NAN;
	return v * tracks_kinds[i].factor;
}

/* Of all columns that were told at both ends. One that went back began anew: there is no rate. */
static double figures_recording_rate_of(const struct track *t, double seconds, const double *values)
{
	double sum = 0;
	size_t told = 0;

	for (size_t c = 0; c < t->n; c++) {
		double d = values[t->columns[c]] - t->last[c];

		if (isnan(d))
			continue;
		if (d < 0)
			return NAN;
		sum += d;
		told++;
	}
	return told ? sum / seconds : (double)NAN;
}

static void begin_window(struct tracks *k, double now, const double *values)
{
	k->begun_s = now;
	for (size_t i = 0; i < TRACKS; i++)
		for (size_t c = 0; c < k->of[i].n; c++)
			k->of[i].last[c] = values[k->of[i].columns[c]];
}

/* A rate is that of all moments since the window began. */
static void end_window(struct tracks *k, const double *t, size_t n, double now,
		       const double *values)
{
	for (size_t i = 0; i < TRACKS; i++) {
		double v;

		if (!k->of[i].n || !k->of[i].total || k->of[i].beat != BEAT_LOOK)
			continue;
		v = figures_recording_rate_of(&k->of[i], now - k->begun_s, values) *
		    tracks_kinds[i].factor;
		for (size_t m = n; m-- > 0 && (m + 1 == n || t[m] > k->begun_s);)
			put(&k->of[i].y[m], v);
	}
}

/* Columns of a slower beat: since they were asked before. */
static void put_beats(struct tracks *k, const double *t, size_t n, double now, const double *values)
{
	recording_rates(k->a, &k->rates, k->mon, now, values, k->rate);
	for (size_t i = 0; i < TRACKS; i++) {
		const struct track *x = &k->of[i];
		double sum = 0, since = k->rates.beats[x->beat].before_s;
		size_t told = 0;

		if (!x->n || !x->total || x->beat == BEAT_LOOK || !k->rates.asked[x->beat])
			continue;
		for (size_t c = 0; c < x->n; c++)
			if (isfinite(k->rate[x->columns[c]])) {
				sum += k->rate[x->columns[c]];
				told++;
			}
		for (size_t m = n; told && m-- > 0 && (m + 1 == n || t[m] > since);)
			put(&k->of[i].y[m], sum * tracks_kinds[i].factor);
	}
}

/* The row at moment n - 1 of t (seconds, ascending); now is when it was taken. fresh: the first one
 * of that moment. */
static void tracks_row(struct tracks *k, const double *t, size_t n, bool fresh, double now,
		       const double *values)
{
	for (size_t i = 0; i < TRACKS; i++) {
		if (!k->of[i].n)
			continue;
		if (fresh)
			k->of[i].y[n - 1] = NAN;
		if (!k->of[i].total)
			put(&k->of[i].y[n - 1], gauge_of(k, i, values));
	}
	put_beats(k, t, n, now, values);
	if (isnan(k->begun_s)) {
		begin_window(k, now, values);
	} else if (now - k->begun_s >= window_s) {
		end_window(k, t, n, now, values);
		begin_window(k, now, values);
	}
}

/* Every two of the n moments become one. */
static void tracks_halve(struct tracks *k, size_t n)
{
	for (size_t i = 0; i < TRACKS; i++)
		for (size_t m = 0; k->of[i].n && m < n / 2; m++)
			k->of[i].y[m] = fmax(k->of[i].y[2 * m], k->of[i].y[2 * m + 1]);
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

bool timeline_row(void *ctx, int64_t ms, const double *values)
{
	struct timeline *t = ctx;
	bool fresh;

	if (!t->begun)
		figures_recording_begin(t);
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

static struct chart_mark figures_recording_limit_of(const struct tracks *k, size_t i)
{
	const struct monitor_machine *m = &k->mon->machine;
	double v = i == 0	 ? (double)m->cpus
		   : i == MEMORY ? m->memory_bytes * tracks_kinds[i].factor
				 : (double)NAN;

	return v > 0 ? (struct chart_mark){ v, v, i ? "installed memory" : "installed CPUs" }
		     : (struct chart_mark){ NAN, NAN, NULL };
}

static const char *figures_recording_name_of(struct arena *a, const struct tracks *k, size_t i)
{
	const struct track *t = &k->of[i];

	if (!t->total || !*k->mon->columns[t->columns[0]].target)
		return tracks_kinds[i].name;
	if (t->n == 1)
		return arena_printf(a, "%s, %s", tracks_kinds[i].name,
				    k->mon->columns[t->columns[0]].target);
	return arena_printf(a, "%s, %zu in total", tracks_kinds[i].name, t->n);
}

static bool has_any(const struct track *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(t->y[i]))
			return true;
	return false;
}

/* Adds the figure; nothing when none of it was recorded. */
static void tracks_add(struct doc *d, const struct tracks *k, const double *t, size_t n)
{
	struct chart_lane *lanes = arena_array(d->arena, TRACKS, sizeof(*lanes));
	struct chart_timeline c = {
		.title = "The machine over time", .t = t, .n = n, .lanes = lanes
	};

	for (size_t i = 0; i < TRACKS; i++)
		if (k->of[i].n && has_any(&k->of[i], n))
			lanes[c.n_lanes++] =
				(struct chart_lane){ .name = figures_recording_name_of(d->arena, k,
										       i),
						     .unit = tracks_kinds[i].unit,
						     .y = k->of[i].y,
						     .limit = figures_recording_limit_of(k, i),
						     .zero = true };
	if (c.n_lanes)
		chart_add_timeline(d, &c);
}

void timeline_add(struct doc *d, const struct timeline *t)
{
	for (size_t i = 0; i < t->n_gpus; i++)
		gpu_figure(d, t, &t->gpu[i]);
	if (t->begun)
		tracks_add(d, t->around, t->t, t->n);
}
