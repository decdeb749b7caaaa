/* SPDX-License-Identifier: Apache-2.0 */
/* Wilcoxon's signed ranks, exact: from how often each sum of ranks comes up when signs are coins.
 */
#include <math.h>

#include "base/arena.h"
#include "base/stat.h"
#include "measure/prove/rule.h"

/*
 * P(W <= w) for the sum of the ranks of n fair coins, up to the middle: every rank is in it or not.
 * The other half is its mirror.
 */
static double *rank_sums(struct arena *a, size_t n, size_t most)
{
	double *p = arena_array(a, most + 1, sizeof(*p));
	size_t top = 0;

	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++) {
		top = top + rank < most ? top + rank : most;
		for (size_t w = top; w >= rank; w--)
			p[w] = (p[w] + p[w - rank]) / 2;
		for (size_t w = 0; w < rank && w <= most; w++)
			p[w] /= 2;
	}
	for (size_t w = 1; w <= most; w++)
		p[w] += p[w - 1];
	return p;
}

/* How many means of two are cut off on either side: the largest k with P(W < k) <= tail. */
static size_t cut_off(const double *below, size_t most, double tail)
{
	size_t k = 0;

	/* A little more than the level: sums of halves are exact, a level such as 2^-7 is too. */
	while (k < most && below[k] <= tail * (1 + 1e-12))
		k++;
	return k;
}

void rank_interval(const double *d, size_t n, double level, struct rank_interval *out)
{
	struct arena a = { 0 };
	size_t count = n * (n + 1) / 2, k, m = 0, worse = 0, better = 0, least;
	double *below = rank_sums(&a, n, count / 2), *mean = arena_array(&a, count, sizeof(*mean));

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++) {
			double x = d[i] / 2 + d[j] / 2;

			worse += x < 0;
			better += x > 0;
			mean[m++] = x;
		}
	stat_sort(mean, m);
	k = cut_off(below, count / 2, level / 2);
	*out = (struct rank_interval){ stat_quantile(mean, m, 0.5),
				       k ? mean[k - 1] : -(double)INFINITY,
				       k ? mean[m - k] : (double)INFINITY, 1 };
	/* What is exactly nothing counts for neither side. */
	least = better > worse ? m - better : m - worse;
	if (least <= count / 2)
		out->p = fmin(1, 2 * below[least]);
	arena_free(&a);
}
