/* SPDX-License-Identifier: Apache-2.0 */
/* All figures of one series together. */
#include "base/stat.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

/* Beyond this many samples trends and modes are looked for among groups' medians as they are. */
static void order_figures(const double *x, size_t n, struct stat_summary *out)
{
	struct arena a = { 0 };
	double *s = arena_array(&a, n, sizeof(*s));

	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	out->min = s[0];
	out->max = s[n - 1];
	out->median = stat_quantile(s, n, 0.5);
	out->p1 = stat_quantile(s, n, 0.01);
	out->p5 = stat_quantile(s, n, 0.05);
	out->p25 = stat_quantile(s, n, 0.25);
	out->p75 = stat_quantile(s, n, 0.75);
	out->p95 = stat_quantile(s, n, 0.95);
	out->p99 = stat_quantile(s, n, 0.99);
	arena_free(&a);
}

int stat_summary(const double *x, size_t n, struct stat_summary *out)
{
	int r = stat_check(x, n);

	if (r)
		return r;
	*out = (struct stat_summary){ .n = n, .drift.p = 1 };
	order_figures(x, n, out);
	for (size_t i = 0; i < n; i++)
		out->mean += x[i] / (double)n;
	stat_mad(x, n, &out->mad);
	out->act = stat_act(x, n);
	out->effective = (double)n / out->act;
	stat_outliers(x, n, 5, &out->outliers);
	out->has_interval = n >= 5;
	stat_median_interval(x, n, 0.95, STAT_SEED, &out->interval);
	stat_drift(x, n, 0.01, &out->drift);
	stat_modes(x, n, 0.02, &out->modes);
	return 0;
}

double stat_half_width(const struct stat_summary *s)
{
	if (!s->has_interval || !(fabs(s->median) > 0))
		return INFINITY;
	return (s->interval.high - s->interval.low) / 2 / fabs(s->median);
}
