/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and ticks of axes. */
#include "render/scale.h"

#include <math.h>

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
static double round_up(double v)
{
	double ten = pow(10, floor(log10(v)));

	for (int i = 0; i < 3; i++) {
		double step = ten * (i == 0 ? 1 : i == 1 ? 2 : 5);

		if (step >= v * (1 - 1e-9))
			return step;
	}
	return 10 * ten;
}

static void add(struct scale *s, double v)
{
	double at = inner(s, v), gap = (s->to - s->from) * 1e-6;

	if (s->n < SCALE_TICKS && at >= s->from - gap && at <= s->to + gap)
		s->tick[s->n++] = v;
}

static void linear(struct scale *s, size_t most, bool tight)
{
	double step = round_up((s->to - s->from) / (double)most), first, last;

	first = floor(s->from / step + 1e-9);
	last = ceil(s->to / step - 1e-9);
	if (!tight) {
		s->from = first * step;
		s->to = last * step;
	}
	/* Of figures too large for it, one more is the same. */
	for (size_t i = 0; i < SCALE_TICKS && first + (double)i <= last; i++)
		add(s, (first + (double)i) * step);
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

		add(s, v);
		if (s->kind == SCALE_LOG && (last - first) * 3 <= (double)most + 1) {
			add(s, 2 * v);
			add(s, 5 * v);
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
