/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether samples come from one state or two. A machine that flips between a fast and a slow state
 * is a finding: its median says how often it was in which, not how fast it is.
 */
#include "base/stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

/* The corners of a convex (or concave) hull of the points (x[i], i). */
struct hull {
	size_t *at;
	size_t n;
};

/* sign 1: the greatest convex minorant; -1: the least concave majorant. */
static void hull_make(struct hull *h, const double *x, size_t lo, size_t hi, double sign)
{
	h->n = 0;
	for (size_t i = lo; i <= hi; i++) {
		while (h->n >= 2) {
			size_t b = h->at[h->n - 1], a = h->at[h->n - 2];
			double turn =
				(x[b] - x[a]) * (double)(i - b) - (x[i] - x[b]) * (double)(b - a);

			if (sign * turn > 0)
				break;
			h->n--;
		}
		h->at[h->n++] = i;
	}
}

/* The hull's line at x. *seg: a segment to start looking from, only ever forward. */
static double hull_at(const struct hull *h, const double *x, double v, size_t *seg)
{
	size_t a, b;

	while (*seg + 2 < h->n && x[h->at[*seg + 1]] <= v)
		(*seg)++;
	a = h->at[*seg];
	b = h->at[*seg + 1];
	if (!(x[b] > x[a]))
		return (double)b;
	return (double)a + (v - x[a]) * (double)(b - a) / (x[b] - x[a]);
}

/* The largest gap between both hulls, plus the step of one sample, and the interval around it. */
static double widest(const struct hull *g, const struct hull *l, const double *x, size_t *lo,
		     size_t *hi)
{
	double best = -1;
	size_t seg = 0;

	for (size_t i = 0; i < g->n; i++) {
		size_t k = g->at[i];
		double d = hull_at(l, x, x[k], &seg) - (double)k;

		if (d > best) {
			best = d;
			*lo = k;
			*hi = l->at[seg + 1];
		}
	}
	seg = 0;
	for (size_t i = 0; i < l->n; i++) {
		size_t k = l->at[i];
		double d = (double)k - hull_at(g, x, x[k], &seg);

		if (d > best) {
			best = d;
			*lo = g->at[seg];
			*hi = k;
		}
	}
	return best + 1;
}

/* How far the samples between a hull's corners stand off it, within [lo, hi]. */
static double off_hull(const struct hull *h, const double *x, size_t lo, size_t hi, double sign)
{
	double worst = 1;

	for (size_t s = 0; s + 1 < h->n; s++) {
		size_t a = h->at[s], b = h->at[s + 1];
		double rise = x[b] > x[a] ? (double)(b - a) / (x[b] - x[a]) : 0;

		if (a < lo || b > hi || b - a < 2 || !(rise > 0))
			continue;
		for (size_t i = a; i <= b; i++) {
			double line = (double)a + (x[i] - x[a]) * rise,
			       d = sign * ((double)i - line) + 1;

			if (d > worst)
				worst = d;
		}
	}
	return worst;
}

double stat_dip(const double *x, size_t n)
{
	struct arena a = { 0 };
	struct hull g = { .at = arena_array(&a, n, sizeof(size_t)) },
		    l = { .at = arena_array(&a, n, sizeof(size_t)) };
	size_t lo = 0, hi = n - 1;
	double dip = 1;

	while (lo < hi && x[hi] > x[lo]) {
		size_t new_lo = lo, new_hi = hi;
		double d;

		hull_make(&g, x, lo, hi, 1);
		hull_make(&l, x, lo, hi, -1);
		d = widest(&g, &l, x, &new_lo, &new_hi);
		if (d <= dip)
			break;
		dip = fmax(dip, off_hull(&g, x, lo, new_lo, 1));
		dip = fmax(dip, off_hull(&l, x, new_hi, hi, -1));
		if (new_lo == lo && new_hi == hi)
			break;
		lo = new_lo;
		hi = new_hi;
	}
	arena_free(&a);
	return dip / (2 * (double)n);
}

/*
 * Quantile 0.99 of the dip of a uniform sample, times the root of its size: simulated, see
 * tests/data/stat/reference.py. It moves little with the size.
 */
double stat_dip_critical(size_t n)
{
	static const struct {
		double n, value;
	} table[] = { { 10, 0.5047 },  { 20, 0.5420 },	{ 50, 0.5759 },	  { 100, 0.5909 },
		      { 200, 0.6050 }, { 500, 0.6146 }, { 2000, 0.6260 }, { 10000, 0.6280 } };
	size_t last = sizeof(table) / sizeof(table[0]) - 1, i = 0;
	double m = (double)n, value = table[last].value;

	if (m <= table[0].n)
		return table[0].value / sqrt(m);
	while (i < last && table[i + 1].n < m)
		i++;
	if (i < last) {
		double part = log(m / table[i].n) / log(table[i + 1].n / table[i].n);

		value = table[i].value + part * (table[i + 1].value - table[i].value);
	}
	return value / sqrt(m);
}

/* The cut that leaves the least variance inside both parts; 0 < cut < n. *apart: the distance of
 * the parts' means in units of the deviation inside them. */
static size_t best_cut(const double *s, size_t n, double *apart)
{
	double total = 0, left = 0, best = -1, mean, inside = 0;
	size_t cut = 0;

	/* Relative to the smallest, which keeps the digits that differ. */
	for (size_t i = 0; i < n; i++)
		total += s[i] - s[0];
	for (size_t i = 1; i < n; i++) {
		double low, high, between;

		left += s[i - 1] - s[0];
		if (!(s[i] > s[i - 1]))
			continue;
		low = left / (double)i;
		high = (total - left) / (double)(n - i);
		between = (double)i * (double)(n - i) * (high - low) * (high - low);
		if (between > best) {
			best = between;
			cut = i;
		}
	}
	*apart = 0;
	if (!cut)
		return 0;
	for (size_t part = 0; part < 2; part++) {
		size_t from = part ? cut : 0, to = part ? n : cut;

		mean = 0;
		for (size_t i = from; i < to; i++)
			mean += s[i] / (double)(to - from);
		for (size_t i = from; i < to; i++)
			inside += (s[i] - mean) * (s[i] - mean) / (double)n;
		*apart += part ? mean : -mean;
	}
	*apart = inside > 0 ? *apart / sqrt(inside) : INFINITY;
	return cut;
}

static size_t count_switches(const double *x, size_t n, double split)
{
	size_t k = 0;

	for (size_t i = 1; i < n; i++)
		k += (x[i] > split) != (x[i - 1] > split);
	return k;
}

int stat_modes(const double *x, size_t n, double tolerance, struct stat_modes *out)
{
	/* Two equal halves of a uniform sample are 3.5 apart, of a normal one 2.7. */
	static const double apart_min = 3.8, share_min = 0.05;
	struct arena a = { 0 };
	double *s, apart, median;
	size_t cut, least;
	int r = stat_check(x, n);

	if (r || n < 10)
		return r ? r : -ENODATA;
	s = arena_array(&a, n, sizeof(*s));
	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	*out = (struct stat_modes){ .dip = stat_dip(s, n) };
	cut = best_cut(s, n, &apart);
	if (cut) {
		out->low = stat_quantile(s, cut, 0.5);
		out->high = stat_quantile(s + cut, n - cut, 0.5);
		out->split = s[cut - 1] + (s[cut] - s[cut - 1]) / 2;
		out->share_high = (double)(n - cut) / (double)n;
		out->switches = count_switches(x, n, out->split);
		median = fabs(stat_quantile(s, n, 0.5));
		least = cut < n - cut ? cut : n - cut;
		out->found = out->dip > stat_dip_critical(n) && apart >= apart_min && least >= 3 &&
			     (double)least >= share_min * (double)n &&
			     out->high - out->low >= tolerance * median;
		out->step = out->found && out->switches == 1;
	}
	arena_free(&a);
	return 0;
}
