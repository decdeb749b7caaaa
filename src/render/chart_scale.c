/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and ticks of axes, and what letters and drawings of a chart agree upon: bins, names of
 * limits, figures. */
#include "render/chart_scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/figure.h"

/* --- an axis ---------------------------------------------------------------------------------- */

/* Beyond them differences and logarithms lose their meaning. */
static const double largest = 1e100, smallest = 1e-100;

static const double log10_2 = 0.30102999566398119521;

struct scale scale_of(enum scale_kind kind)
{
	return (struct scale){ .kind = kind, .from = INFINITY, .to = -INFINITY };
}

bool scale_takes(const struct scale *s, double v)
{
	return isfinite(v) && fabs(v) < largest && (s->kind == SCALE_LINEAR || v > smallest);
}

static double inner(const struct scale *s, double v)
{
	return s->kind == SCALE_LINEAR ? v : log10(v);
}

void scale_widen(struct scale *s, double v)
{
	if (!scale_takes(s, v))
		return;
	s->from = fmin(s->from, inner(s, v));
	s->to = fmax(s->to, inner(s, v));
}

double scale_on(const struct scale *s, double v)
{
	return s->to > s->from ? (inner(s, v) - s->from) / (s->to - s->from) : 0.5;
}

/* The smallest of 1, 2 and 5 times a power of ten that is at least v. */
static double chart_scale_round_up(double v)
{
	double ten = pow(10, floor(log10(v)));

	for (int i = 0; i < 3; i++) {
		double step = ten * (i == 0 ? 1 : i == 1 ? 2 : 5);

		if (step >= v * (1 - 1e-9))
			return step;
	}
	return 10 * ten;
}

static void scale_add(struct scale *s, double v)
{
	double at = inner(s, v), gap = (s->to - s->from) * 1e-6;

	if (s->n < SCALE_TICKS && at >= s->from - gap && at <= s->to + gap)
		s->tick[s->n++] = v;
}

static void linear(struct scale *s, size_t most, bool tight)
{
	double step = chart_scale_round_up((s->to - s->from) / (double)most), first, last;

	first = floor(s->from / step + 1e-9);
	last = ceil(s->to / step - 1e-9);
	if (!tight) {
		s->from = first * step;
		s->to = last * step;
	}
	/* Of figures too large for it, one more is the same. */
	for (size_t i = 0; i < SCALE_TICKS && first + (double)i <= last; i++)
		scale_add(s, (first + (double)i) * step);
}

/* Powers of the base, each step-th of them; 1, 2 and 5 times them where they are few. */
static void powers(struct scale *s, size_t most, bool tight)
{
	double unit = s->kind == SCALE_BYTES ? log10_2 : 1;
	double first = floor(s->from / unit + 1e-9), last = ceil(s->to / unit - 1e-9), step = 1;

	while ((last - first) / step > (double)most)
		step = step < 2 ? 2 : step < 5 ? 5 : step + 5;
	if (!tight) {
		s->from = first * unit;
		s->to = fmax(last, first + 1) * unit;
	}
	for (size_t i = 0; i < SCALE_TICKS && first + (double)i * step <= last; i++) {
		double e = first + (double)i * step,
		       v = s->kind == SCALE_BYTES ? exp2(e) : pow(10, e);

		scale_add(s, v);
		if (s->kind == SCALE_LOG && (last - first) * 3 <= (double)most + 1) {
			scale_add(s, 2 * v);
			scale_add(s, 5 * v);
		}
	}
}

bool scale_settle(struct scale *s, size_t most, bool tight)
{
	double middle = (s->from + s->to) / 2, width = s->to - s->from;

	if (!(s->to >= s->from))
		return false;
	most = most < 2 ? 2 : most > SCALE_TICKS - 2 ? SCALE_TICKS - 2 : most;
	/* One value, or what differs only by rounding, stands in the middle. */
	if (width <= fabs(middle) * 1e-9) {
		width = s->kind != SCALE_LINEAR ? 0.3 : middle != 0 ? fabs(middle) / 5 : 1;
		s->from = middle - width / 2;
		s->to = middle + width / 2;
	}
	if (s->kind == SCALE_LINEAR)
		linear(s, most, tight);
	else
		powers(s, most, tight);
	return true;
}

const char *scale_number(struct arena *a, const struct scale *s, double v)
{
	static const char *const two[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	static const char *const ten[] = { "", "k", "M", "G", "T", "P" };
	size_t i = 0;

	if (s->kind == SCALE_BYTES) {
		for (; fabs(v) >= 1024 && i + 1 < sizeof(two) / sizeof(two[0]); i++)
			v /= 1024;
		return arena_printf(a, "%.4g %s", v, two[i]);
	}
	if (fabs(v) >= 1e5)
		for (; fabs(v) >= 1000 && i + 1 < sizeof(ten) / sizeof(ten[0]); i++)
			v /= 1000;
	/* Ticks are round: what lies behind the ninth digit is rounding. */
	return arena_printf(a, "%.9g%s", v, ten[i]);
}

/* --- what a chart shows ----------------------------------------------------------------------- */

static size_t chart_scale_add_name(const char *name, const char **out, size_t n, size_t max)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(out[i], name) == 0)
			return n;
	if (n < max)
		out[n++] = name;
	return n;
}

size_t chart_bar_names(const struct chart_bars *c, bool bands, const char **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct chart_mark *m = bands ? &c->rows[i].band : &c->rows[i].limit;

		if (bands ? chart_has_band(m) : chart_has_line(m))
			n = chart_scale_add_name(m->name, out, n, max);
	}
	return n;
}

bool chart_bar_scale(const struct chart_bars *c, size_t ticks, struct scale *out)
{
	bool any = false;

	*out = scale_of(c->log ? SCALE_LOG : SCALE_LINEAR);
	for (size_t i = 0; i < c->n; i++) {
		const struct chart_bar *b = &c->rows[i];

		if (!scale_takes(out, b->value))
			continue;
		any = true;
		scale_widen(out, b->value);
		scale_widen(out, b->low);
		scale_widen(out, b->high);
		if (chart_has_line(&b->limit))
			scale_widen(out, b->limit.low);
		if (chart_has_band(&b->band)) {
			scale_widen(out, b->band.low);
			scale_widen(out, b->band.high);
		}
	}
	if (!any)
		return false;
	if (chart_has_line(&c->base))
		scale_widen(out, c->base.low);
	if (!c->log)
		scale_widen(out, 0);
	return scale_settle(out, ticks, false);
}

bool chart_ratio_scale(const struct chart_ratios *c, struct chart_ratio_scale *out)
{
	static const double round[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5 };
	double most = 0, times = 2;
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		const double v[] = { c->rows[i].ratio, c->rows[i].low, c->rows[i].high };

		if (!(v[0] > 0) || !isfinite(v[0]))
			continue;
		any = true;
		for (int k = 0; k < 3; k++) {
			if (!(v[k] > 0) || !isfinite(v[k]))
				continue;
			most = fmax(most, fabs(v[k] - 1));
			times = fmax(times, fmax(v[k], 1 / v[k]));
		}
	}
	if (isfinite(c->threshold))
		most = fmax(most, c->threshold);
	*out = (struct chart_ratio_scale){ .log = true, .most = 2 };
	while (out->most < times && out->most < 1024)
		out->most *= 2;
	for (size_t i = 0; i < sizeof(round) / sizeof(round[0]); i++)
		if (most <= round[i] * (1 + 1e-9)) {
			*out = (struct chart_ratio_scale){ .most = round[i] };
			break;
		}
	return any;
}

double chart_ratio_on(const struct chart_ratio_scale *s, double ratio)
{
	double x = s->log ? log(fmax(ratio, 1e-9)) / log(s->most) : (ratio - 1) / s->most;

	return 0.5 + fmin(fmax(x, -1), 1) / 2;
}

const char *chart_ratio_number(struct arena *a, const struct chart_ratio_scale *s, double at)
{
	if (s->log)
		return at == 0 ? "same" : arena_printf(a, "x%.4g", pow(s->most, at));
	return at == 0 ? "same" : arena_printf(a, "%+.3g %%", 100 * s->most * at);
}

bool chart_spread_scale(const struct chart_spread *c, size_t ticks, struct scale *out)
{
	*out = scale_of(SCALE_LINEAR);
	for (size_t i = 0; i < c->n; i++)
		scale_widen(out, c->x[i]);
	return scale_settle(out, ticks, false);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void chart_sort(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), ascending);
}

/* Freedman and Diaconis: twice the quartiles' distance over the cube root of the number. */
static double bin_width(double *x, size_t n, const struct scale *s)
{
	double iqr;

	chart_sort(x, n);
	iqr = x[(n - 1) * 3 / 4] - x[(n - 1) / 4];
	return iqr > 0 ? 2 * iqr / cbrt((double)n) : (s->to - s->from) / 20;
}

size_t chart_bins(const struct chart_spread *c, struct scale *axis, size_t most, size_t *count)
{
	ARENA_AUTO a = { 0 };
	double *x = arena_array(&a, c->n ? c->n : 1, sizeof(*x));
	size_t n = 0, bins;

	for (size_t i = 0; i < c->n; i++)
		if (scale_takes(axis, c->x[i]))
			x[n++] = c->x[i];
	most = most < CHART_BINS ? most : CHART_BINS;
	bins = n < 2 ? 1
		     : (size_t)fmin((double)most,
				    fmax(5, ceil((axis->to - axis->from) / bin_width(x, n, axis))));
	bins = bins < most ? bins : most;
	memset(count, 0, bins * sizeof(*count));
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)fmin((double)bins - 1,
					fmax(0, scale_on(axis, x[i]) * (double)bins));

		count[k]++;
	}
	return bins;
}

const char *chart_split_text(struct arena *a, const struct chart_spread *c)
{
	return arena_printf(a, "two states, below and above %s %s", figure_number(a, c->split),
			    c->unit ? c->unit : "");
}

const char *chart_limit_text(struct arena *a, const struct chart_spread *c)
{
	return arena_printf(a, "limit: %s %s, %s", figure_number(a, c->limit.low),
			    c->unit ? c->unit : "", c->limit.name);
}

const char *chart_band_text(struct arena *a, const struct chart_spread *c)
{
	return arena_printf(a, "usual: %s to %s %s, %s", figure_number(a, c->band.low),
			    figure_number(a, c->band.high), c->unit ? c->unit : "", c->band.name);
}

const char *chart_figure(struct arena *a, double v, double low, double high, const char *unit)
{
	const char *gap = unit && *unit ? " " : "";

	unit = unit ? unit : "";
	if (!isfinite(v))
		return "unknown";
	if (!isfinite(low) || !isfinite(high))
		return arena_printf(a, "%s%s%s", figure_number(a, v), gap, unit);
	return arena_printf(a, "%s%s%s (%s to %s)", figure_number(a, v), gap, unit,
			    figure_number(a, low), figure_number(a, high));
}

/* --- lines and points ------------------------------------------------------------------------- */
bool chart_drawn(const struct chart_axes *x, double vx, double vy)
{
	return scale_takes(&x->x, vx) && scale_takes(&x->y, vy);
}

static void widen_series(struct chart_axes *x, const struct chart_series *s, bool *any)
{
	for (size_t k = 0; k < s->n; k++) {
		if (!chart_drawn(x, s->x[k], s->y[k]))
			continue;
		scale_widen(&x->x, s->x[k]);
		scale_widen(&x->y, s->y[k]);
		if (s->low)
			scale_widen(&x->y, s->low[k]);
		if (s->high)
			scale_widen(&x->y, s->high[k]);
		*any = true;
	}
}

bool chart_axes(const struct chart *c, size_t ticks_x, size_t ticks_y, struct chart_axes *out)
{
	bool any = false;

	out->x = scale_of(c->bytes_x ? SCALE_BYTES : c->log_x ? SCALE_LOG : SCALE_LINEAR);
	out->y = scale_of(c->log_y ? SCALE_LOG : SCALE_LINEAR);
	for (size_t i = 0; i < c->n; i++)
		widen_series(out, &c->series[i], &any);
	if (!any)
		return false;
	for (size_t i = 0; i < c->n_limits; i++) {
		scale_widen(&out->y, c->limits[i].low);
		scale_widen(&out->y, c->limits[i].high);
	}
	if (c->zero_y && !c->log_y)
		scale_widen(&out->y, 0);
	return scale_settle(&out->x, ticks_x, c->bytes_x || c->log_x) &&
	       scale_settle(&out->y, ticks_y, false);
}
