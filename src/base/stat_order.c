/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the order of the values alone: median, quantiles, deviations. */
#include "base/stat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

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
	struct arena a = { 0 };
	int r = stat_check(x, n);

	if (r)
		return r;
	*out = stat_median_in_place(copy_of(&a, x, n), n);
	arena_free(&a);
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
	struct arena a = { 0 };
	int r = stat_check(x, n);
	double *y, m;

	if (r)
		return r;
	y = copy_of(&a, x, n);
	m = stat_median_in_place(y, n);
	for (size_t i = 0; i < n; i++)
		y[i] = fabs(y[i] - m);
	*out = stat_median_in_place(y, n);
	arena_free(&a);
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
