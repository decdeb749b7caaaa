/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What letters and drawings of a chart agree upon, so that both show the same: ranges, bins, names
 * of limits, figures.
 */
#ifndef RENDER_CHART_SCALE_H
#define RENDER_CHART_SCALE_H

#include "render/chart.h"
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * One axis: its range from the data, its ticks at 1, 2 and 5, at powers of ten or, of bytes, at
 * powers of two, and where a value lies on it.
 */
enum scale_kind { SCALE_LINEAR, SCALE_LOG, SCALE_BYTES };
enum { SCALE_TICKS = 24 };

/* Begin with scale_of, widen by each value, settle once, then ask. */
struct scale {
	enum scale_kind kind;
	double from, to;	  /* as logarithms of base 10 where the axis is logarithmic */
	double tick[SCALE_TICKS]; /* values that get a number, ascending */
	size_t n;
};

struct scale scale_of(enum scale_kind kind);
/* Whether v can lie on it: finite, not beyond all bounds, positive on a logarithmic axis. */
bool scale_takes(const struct scale *s, double v);
/* Values that it does not take change nothing. */
void scale_widen(struct scale *s, double v);
/* False: there was no value. most: about how many ticks have room, 2 at least. tight: the range
 * stays what it is and does not grow to the next ticks. */
bool scale_settle(struct scale *s, size_t most, bool tight);
/* 0 at its beginning, 1 at its end; beyond them for values outside. */
double scale_on(const struct scale *s, double v);
/* A tick's number: "0.5", "250k", "64 MiB". */
const char *scale_number(struct arena *a, const struct scale *s, double v);

/* --- charts ----------------------------------------------------------------------------------- */
enum { CHART_BINS = 60 };

static inline bool chart_has_line(const struct chart_mark *m)
{
	return m->name && m->low - m->low == 0 && !(m->low < m->high);
}

static inline bool chart_has_band(const struct chart_mark *m)
{
	return m->name && m->low < m->high;
}

/* Names of limits or bands of these bars, each once, at most max; how many. */
size_t chart_bar_names(const struct chart_bars *c, bool bands, const char **out, size_t max);
/* The axis of bars; false: nothing to draw. */
bool chart_bar_scale(const struct chart_bars *c, size_t ticks, struct scale *out);
/* The axis of ratios: the least round range around 1 that holds them; above a half, logarithmic. */
struct chart_ratio_scale {
	bool log;
	double most; /* 0.05: from 0.95 to 1.05; logarithmic 4: from 1/4 to 4 */
};
bool chart_ratio_scale(const struct chart_ratios *c, struct chart_ratio_scale *out);
/* 0 to 1, clamped; 0.5 is the same. */
double chart_ratio_on(const struct chart_ratio_scale *s, double ratio);
/* "+5 %", "x4"; of at in -1 to 1. */
const char *chart_ratio_number(struct arena *a, const struct chart_ratio_scale *s, double at);
/* Bins of equal width over the axis, at most CHART_BINS; count[] gets how many lie in each. */
size_t chart_bins(const struct chart_spread *c, struct scale *axis, size_t most, size_t *count);
void chart_sort(double *x, size_t n); /* ascending */
bool chart_spread_scale(const struct chart_spread *c, size_t ticks, struct scale *out);
/* Below a distribution: its two states, its limit, its band. */
const char *chart_split_text(struct arena *a, const struct chart_spread *c);
const char *chart_limit_text(struct arena *a, const struct chart_spread *c);
const char *chart_band_text(struct arena *a, const struct chart_spread *c);
/* "4321 GB/s (4310 to 4330)", the interval where it is known. */
const char *chart_figure(struct arena *a, double v, double low, double high, const char *unit);

/* Both axes of a chart of lines and points. */
struct chart_axes {
	struct scale x, y;
};

/* False: nothing can be drawn. */
bool chart_axes(const struct chart *c, size_t ticks_x, size_t ticks_y, struct chart_axes *out);
/* Whether a point can lie within them. */
bool chart_drawn(const struct chart_axes *x, double vx, double vy);

#endif
