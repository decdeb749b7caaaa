/* SPDX-License-Identifier: Apache-2.0 */
/* The exact sign test, from the tails of Binomial(n, 1/2). */
#include "sign.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

/* ln of Binomial(n, 1/2) at k. */
static double ln_binomial(size_t n, size_t k)
{
	int sign;

	return lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
	       lgamma_r((double)(n - k) + 1, &sign) - (double)n * log(2);
}

/* P(Binomial(n, 1/2) <= k), k < n / 2: terms fall quickly on the way down. */
static double binomial_tail(size_t n, size_t k)
{
	double term = 1, sum = 1;

	for (size_t j = k; j > 0 && term > 1e-18 * sum; j--) {
		term *= (double)j / (double)(n - j + 1);
		sum += term;
	}
	return exp(ln_binomial(n, k)) * sum;
}

size_t sign_rank(size_t n, double alpha)
{
	/* Largest k with P(X <= k - 1) <= alpha; lo always holds, hi never. */
	size_t lo = 0, hi = n / 2 + 1;

	while (hi - lo > 1) {
		size_t k = lo + (hi - lo) / 2;

		if (binomial_tail(n, k - 1) <= alpha)
			lo = k;
		else
			hi = k;
	}
	return lo;
}

int sign_interval(const double *x, size_t n, double alpha, struct stat_interval *out)
{
	struct arena a = { 0 };
	int r = stat_check(x, n);
	size_t k = r ? 0 : sign_rank(n, alpha / 2);
	double *y;

	if (r || k == 0)
		return r ? r : -ENODATA;
	y = arena_array(&a, n, sizeof(*y));
	memcpy(y, x, n * sizeof(*y));
	stat_sort(y, n);
	*out = (struct stat_interval){ y[k - 1], y[n - k] };
	arena_free(&a);
	return 0;
}
