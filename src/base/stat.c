/* SPDX-License-Identifier: Apache-2.0 */
/* Order, modes and trends of one series. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "base/arena.h"

/*
 * Whether samples come from one state or two. A machine that flips between a fast and a slow state
 * is a finding: its median says how often it was in which, not how fast it is.
 */

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
static double stat_widest(const struct hull *g, const struct hull *l, const double *x, size_t *lo,
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
	ARENA_AUTO a = { 0 };
	struct hull g = { .at = arena_array(&a, n, sizeof(size_t)) },
		    l = { .at = arena_array(&a, n, sizeof(size_t)) };
	size_t lo = 0, hi = n - 1;
	double dip = 1;

	while (lo < hi && x[hi] > x[lo]) {
		size_t new_lo = lo, new_hi = hi;
		double d;

		hull_make(&g, x, lo, hi, 1);
		hull_make(&l, x, lo, hi, -1);
		d = stat_widest(&g, &l, x, &new_lo, &new_hi);
		if (d <= dip)
			break;
		dip = fmax(dip, off_hull(&g, x, lo, new_lo, 1));
		dip = fmax(dip, off_hull(&l, x, new_hi, hi, -1));
		if (new_lo == lo && new_hi == hi)
			break;
		lo = new_lo;
		hi = new_hi;
	}
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
	ARENA_AUTO a = { 0 };
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
	return 0;
}

/* What follows from the order of the values alone: median, quantiles, deviations. */

int stat_check(const double *x, size_t n)
{
	if (!n)
		return -ENODATA;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return -EINVAL;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stat_sort(double *x, size_t n)
{
	if (n > 1)
		qsort(x, n, sizeof(*x), by_value);
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

static double middle_of(double a, double b, double c)
{
	if (a > b)
		swap(&a, &b);
	if (b > c)
		b = c;
	return a > b ? a : b;
}

/* Puts the k-th smallest at x[k], nothing larger before it. */
static void select_rank(double *x, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		double pivot = middle_of(x[lo], x[lo + (hi - lo) / 2], x[hi]);
		size_t lt = lo, i = lo, gt = hi + 1;

		/* Three parts, so that many equal samples cost no more than different ones. */
		while (i < gt) {
			if (x[i] < pivot)
				swap(&x[i++], &x[lt++]);
			else if (x[i] > pivot)
				swap(&x[i], &x[--gt]);
			else
				i++;
		}
		if (k < lt)
			hi = lt - 1;
		else if (k >= gt)
			lo = gt;
		else
			return;
	}
}

double stat_median_in_place(double *x, size_t n)
{
	double below;

	select_rank(x, n, n / 2);
	if (n % 2)
		return x[n / 2];
	below = x[0];
	for (size_t i = 1; i < n / 2; i++)
		if (x[i] > below)
			below = x[i];
	/* Not (a + b) / 2, which may overflow. */
	return below + (x[n / 2] - below) / 2;
}

static double *copy_of(struct arena *a, const double *x, size_t n)
{
	double *y = arena_array(a, n, sizeof(*y));

	memcpy(y, x, n * sizeof(*y));
	return y;
}

int stat_median(const double *x, size_t n, double *out)
{
	ARENA_AUTO a = { 0 };
	int r = stat_check(x, n);

	if (r)
		return r;
	*out = stat_median_in_place(copy_of(&a, x, n), n);
	return 0;
}

double stat_quantile(const double *sorted, size_t n, double p)
{
	double at = p * (double)(n - 1), whole = floor(at);
	size_t i = (size_t)whole;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - whole) * (sorted[i + 1] - sorted[i]);
}

int stat_mad(const double *x, size_t n, double *out)
{
	ARENA_AUTO a = { 0 };
	int r = stat_check(x, n);
	double *y, m;

	if (r)
		return r;
	y = copy_of(&a, x, n);
	m = stat_median_in_place(y, n);
	for (size_t i = 0; i < n; i++)
		y[i] = fabs(y[i] - m);
	*out = stat_median_in_place(y, n);
	return 0;
}

int stat_outliers(const double *x, size_t n, double sigmas, struct stat_outliers *out)
{
	double median = 0, mad = 0, sigma, sum = 0;
	int r = stat_median(x, n, &median);

	if (r)
		return r;
	stat_mad(x, n, &mad);
	for (size_t i = 0; i < n; i++)
		sum += fabs(x[i] - median) / (double)n;
	sigma = mad > 0 ? 1.482602218505602 * mad : 1.2533141373155001 * sum;
	*out = (struct stat_outliers){ .fence_low = median - sigmas * sigma,
				       .fence_high = median + sigmas * sigma };
	for (size_t i = 0; i < n; i++) {
		out->low += x[i] < out->fence_low;
		out->high += x[i] > out->fence_high;
	}
	return 0;
}

/* What follows from the order in time: dependence between neighbours, trends, steadiness. */

enum { ACT_MAX = 65536, ACT_LAGS = 2048, TREND_MAX = 1024 };

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] / (double)n;
	return sum;
}

/* Sum of products of deviations at one lag, over n. */
static double covariance(const double *x, size_t n, size_t lag, double mean)
{
	double sum = 0;

	for (size_t i = 0; i + lag < n; i++)
		sum += (x[i] - mean) * (x[i + lag] - mean);
	return sum / (double)n;
}

/* False for constants, whose deviations are nothing but rounding. */
static bool varies(double var, double mean)
{
	return var > 1e-28 * mean * mean;
}

static double act_of(const double *x, size_t n)
{
	double mean = mean_of(x, n), var = covariance(x, n, 0, mean), sum = 0, last = INFINITY;

	if (n < 4 || !varies(var, mean))
		return 1;
	for (size_t k = 0; 2 * k + 1 < n && k < ACT_LAGS / 2; k++) {
		double pair =
			(covariance(x, n, 2 * k, mean) + covariance(x, n, 2 * k + 1, mean)) / var;

		if (!(pair > 0))
			break;
		if (pair > last)
			pair = last;
		sum += pair;
		last = pair;
	}
	return fmin(fmax(2 * sum - 1, 1), (double)n);
}

double stat_act(const double *x, size_t n)
{
	ARENA_AUTO a = { 0 };
	size_t batch = (n + ACT_MAX - 1) / ACT_MAX, batches;
	double *means, var, var_means, act;

	if (batch <= 1)
		return act_of(x, n);
	batches = n / batch;
	means = arena_array(&a, batches, sizeof(*means));
	for (size_t i = 0; i < batches; i++)
		means[i] = mean_of(x + i * batch, batch);
	var = covariance(x, n, 0, mean_of(x, n));
	var_means = covariance(means, batches, 0, mean_of(means, batches));
	/* Of independent samples a batch's mean has 1/batch of the variance. */
	act = var > 0 ? (double)batch * var_means / var * act_of(means, batches) : 1;
	return fmin(fmax(act, 1), (double)n);
}

double stat_effective(const double *x, size_t n)
{
	return n ? (double)n / stat_act(x, n) : 0;
}

static double median_slope(const double *y, size_t n)
{
	ARENA_AUTO a = { 0 };
	double *slopes = arena_array(&a, n * (n - 1) / 2, sizeof(*slopes)), slope;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			slopes[k++] = (y[j] - y[i]) / (double)(j - i);
	slope = stat_median_in_place(slopes, k);
	return slope;
}

/* Runs of equal values make fewer pairs that can differ. */
static double tie_term(const double *y, size_t n)
{
	ARENA_AUTO a = { 0 };
	double *s = arena_array(&a, n, sizeof(*s)), sum = 0;

	memcpy(s, y, n * sizeof(*s));
	stat_sort(s, n);
	for (size_t i = 0, j; i < n; i = j) {
		double t;

		for (j = i + 1; j < n && !(s[j] > s[i]);)
			j++;
		t = (double)(j - i);
		sum += t * (t - 1) * (2 * t + 5);
	}
	return sum;
}

/* Mann-Kendall, two-sided, normal approximation. */
static double kendall_p(const double *y, size_t n, double slope)
{
	struct arena a = { 0 };
	double *rest = arena_array(&a, n, sizeof(*rest)), m = (double)n, var, act;
	long long s = 0;

	for (size_t i = 0; i < n; i++) {
		rest[i] = y[i] - slope * (double)i;
		for (size_t j = i + 1; j < n; j++)
			s += (y[j] > y[i]) - (y[j] < y[i]);
	}
	act = stat_act(rest, n);
	arena_free(&a);
	var = (m * (m - 1) * (2 * m + 5) - tie_term(y, n)) / 18 * act;
	return var > 0 ? erfc(fabs((double)s) / sqrt(2 * var)) : 1;
}

int stat_drift(const double *x, size_t n, double tolerance, struct stat_drift *out)
{
	ARENA_AUTO a = { 0 };
	size_t group = (n + TREND_MAX - 1) / TREND_MAX, m = n;
	double *y = NULL, median;
	int r = stat_median(x, n, &median);

	if (r || n < 8)
		return r ? r : -ENODATA;
	if (group > 1) {
		m = n / group;
		y = arena_array(&a, m * group, sizeof(*y));
		memcpy(y, x, m * group * sizeof(*y));
		for (size_t i = 0; i < m; i++)
			y[i] = stat_median_in_place(y + i * group, group);
	}
	out->slope = median_slope(y ? y : x, m);
	out->p = kendall_p(y ? y : x, m, out->slope);
	out->slope /= (double)group;
	out->relative = median < 0 || median > 0 ? out->slope * (double)(n - 1) / fabs(median) : 0;
	out->found = out->p < 0.001 && fabs(out->relative) >= tolerance;
	return 0;
}

bool stat_steady(const double *x, size_t n, size_t window, double tolerance)
{
	struct stat_drift d;

	if (n < window || stat_drift(x + n - window, window, tolerance, &d))
		return false;
	return d.p >= 0.05 || fabs(d.relative) < tolerance;
}
