/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of observations in buckets that grow with the value: 64 a power of two, so that a
 * percentile is off by at most 1/128 of itself. Fixed size, no allocation while measuring.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stddef.h>

enum { HISTOGRAM_SUB = 64, HISTOGRAM_POWERS = 48 };

struct histogram {
	unsigned long long count[HISTOGRAM_POWERS * HISTOGRAM_SUB];
	unsigned long long n;
	double max;
};

/* Values below 0, and NaN, count as 0, those beyond 2^47 in the last bucket; max stays exact. */
void histogram_add(struct histogram *h, double value);
/* The smallest bucket's middle below or in which p of all observations lie; never above max. n >= 1
 */
double histogram_quantile(const struct histogram *h, double p);

#endif
