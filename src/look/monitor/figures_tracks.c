/* SPDX-License-Identifier: Apache-2.0 */
/* The machine around the GPUs in a recording: CPUs in use, memory, what networks and disks moved.
 * Rates are counted over a second at least, and those of counters that are asked more rarely than
 * is looked, over the time between. */
#include "look/monitor/figures_tracks.h"

#include <math.h>
#include <string.h>

#include "look/monitor/recording.h"

static const double window_s = 1;

static const struct {
	const char *type, *name, *unit;
	double factor;
} kinds[] = {
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

enum { TRACKS = sizeof(kinds) / sizeof(kinds[0]), MEMORY = 2 };

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

static void take_columns(struct arena *a, const struct monitor *mon, const char *type,
			 struct track *t)
{
	for (size_t i = 0; i < mon->n; i++) {
		if (strcmp(mon->columns[i].type->name, type) != 0)
			continue;
		t->total = mon->columns[i].type->kind == COLUMN_TOTAL;
		t->beat = mon->columns[i].beat;
		t->columns = arena_grow(a, t->columns, t->n, sizeof(*t->columns));
		t->columns[t->n++] = i;
	}
}

struct tracks *tracks_new(struct arena *a, const struct monitor *mon, size_t most)
{
	struct tracks *k = ARENA_NEW(a, struct tracks);

	k->a = a;
	k->mon = mon;
	k->rate = arena_array(a, mon->n + 1, sizeof(*k->rate));
	k->begun_s = NAN;
	for (size_t i = 0; i < TRACKS; i++) {
		struct track *t = &k->of[i];

		take_columns(a, mon, kinds[i].type, t);
		if (!t->n)
			continue;
		t->last = arena_array(a, t->n, sizeof(*t->last));
		t->y = arena_array(a, most, sizeof(*t->y));
	}
	return k;
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
	return v * kinds[i].factor;
}

/* Of all columns that were told at both ends. One that went back began anew: there is no rate. */
static double rate_of(const struct track *t, double seconds, const double *values)
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
		v = rate_of(&k->of[i], now - k->begun_s, values) * kinds[i].factor;
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
			put(&k->of[i].y[m], sum * kinds[i].factor);
	}
}

void tracks_row(struct tracks *k, const double *t, size_t n, bool fresh, double now,
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

void tracks_halve(struct tracks *k, size_t n)
{
	for (size_t i = 0; i < TRACKS; i++)
		for (size_t m = 0; k->of[i].n && m < n / 2; m++)
			k->of[i].y[m] = fmax(k->of[i].y[2 * m], k->of[i].y[2 * m + 1]);
}

static struct chart_mark limit_of(const struct tracks *k, size_t i)
{
	const struct monitor_machine *m = &k->mon->machine;
	double v = i == 0	 ? (double)m->cpus
		   : i == MEMORY ? m->memory_bytes * kinds[i].factor
				 : (double)NAN;

	return v > 0 ? (struct chart_mark){ v, v, i ? "installed, read" : "CPUs, read" }
		     : (struct chart_mark){ NAN, NAN, NULL };
}

static const char *name_of(struct arena *a, const struct tracks *k, size_t i)
{
	const struct track *t = &k->of[i];

	if (!t->total || !*k->mon->columns[t->columns[0]].target)
		return kinds[i].name;
	if (t->n == 1)
		return arena_printf(a, "%s, %s", kinds[i].name,
				    k->mon->columns[t->columns[0]].target);
	return arena_printf(a, "%s, %zu together", kinds[i].name, t->n);
}

static bool has_any(const struct track *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(t->y[i]))
			return true;
	return false;
}

void tracks_add(struct doc *d, const struct tracks *k, const double *t, size_t n)
{
	struct chart_lane *lanes = arena_array(d->arena, TRACKS, sizeof(*lanes));
	struct chart_timeline c = {
		.title = "The machine over time", .t = t, .n = n, .lanes = lanes
	};

	for (size_t i = 0; i < TRACKS; i++)
		if (k->of[i].n && has_any(&k->of[i], n))
			lanes[c.n_lanes++] = (struct chart_lane){ .name = name_of(d->arena, k, i),
								  .unit = kinds[i].unit,
								  .y = k->of[i].y,
								  .limit = limit_of(k, i),
								  .zero = true };
	if (c.n_lanes)
		chart_add_timeline(d, &c);
}
