/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithmic buckets. */
#include "measure/bench/histogram.h"

#include <math.h>

/* Below 64 every whole number has a bucket of its own. */
static size_t bucket_of(double v)
{
	static const double most = 140737488355327.0; /* 2^47 - 1 */
	/* NaN is not above 0 either. */
	unsigned long long u = v >= most ? (unsigned long long)most
			       : v > 0	 ? (unsigned long long)v
					 : 0;
	unsigned power = 0;

	while (u >> power >= 2 * HISTOGRAM_SUB)
		power++;
	if (u < HISTOGRAM_SUB)
		return (size_t)u;
	return (size_t)(power + 1) * HISTOGRAM_SUB + (size_t)(u >> power) - HISTOGRAM_SUB;
}

static double middle(size_t bucket)
{
	size_t power = bucket / HISTOGRAM_SUB, at = bucket % HISTOGRAM_SUB;

	if (power == 0)
		return (double)at;
	return ldexp((double)(at + HISTOGRAM_SUB) + (power > 1 ? 0.5 : 0), (int)power - 1);
}

void histogram_add(struct histogram *h, double value)
{
	h->count[bucket_of(value)]++;
	h->n++;
	if (value > h->max)
		h->max = value;
}

double histogram_quantile(const struct histogram *h, double p)
{
	double want = p * (double)h->n;
	unsigned long long seen = 0;

	for (size_t i = 0; i < sizeof(h->count) / sizeof(h->count[0]); i++) {
		seen += h->count[i];
		if (h->count[i] && (double)seen >= want)
			return fmin(middle(i), h->max);
	}
	return h->max;
}
