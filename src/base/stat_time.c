/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the order in time: dependence between neighbours, trends, steadiness. */
#include "base/stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

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
	struct arena a = { 0 };
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
	arena_free(&a);
	return fmin(fmax(act, 1), (double)n);
}

double stat_effective(const double *x, size_t n)
{
	return n ? (double)n / stat_act(x, n) : 0;
}

static double median_slope(const double *y, size_t n)
{
	struct arena a = { 0 };
	double *slopes = arena_array(&a, n * (n - 1) / 2, sizeof(*slopes)), slope;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			slopes[k++] = (y[j] - y[i]) / (double)(j - i);
	slope = stat_median_in_place(slopes, k);
	arena_free(&a);
	return slope;
}

/* Runs of equal values make fewer pairs that can differ. */
static double tie_term(const double *y, size_t n)
{
	struct arena a = { 0 };
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
	arena_free(&a);
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
	struct arena a = { 0 };
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
	arena_free(&a);
	return 0;
}

bool stat_steady(const double *x, size_t n, size_t window, double tolerance)
{
	struct stat_drift d;

	if (n < window || stat_drift(x + n - window, window, tolerance, &d))
		return false;
	return d.p >= 0.05 || fabs(d.relative) < tolerance;
}
