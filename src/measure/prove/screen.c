/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of settings: which to measure. */
#include "measure/prove/screen.h"

#include <errno.h>

/* --- Hadamard matrices: orthogonal rows of +1 and -1 -------------------------------------------
 */
static bool is_prime(size_t q)
{
	for (size_t i = 2; i * i <= q; i++)
		if (q % i == 0)
			return false;
	return q > 1;
}

static bool is_paley(size_t n)
{
	return n >= 4 && n % 4 == 0 && is_prime(n - 1);
}

/* By Paley's construction, or by doubling one that is (Sylvester). */
static bool is_order(size_t n)
{
	return n == 1 || is_paley(n) || (n % 2 == 0 && is_order(n / 2));
}

/* Whether i is a square modulo the prime q: +1, -1, 0 for 0. */
static int quadratic(size_t i, size_t q)
{
	if (i % q == 0)
		return 0;
	for (size_t x = 1; x < q; x++)
		if (x * x % q == i % q)
			return 1;
	return -1;
}

/* The first row and, the sign aside, the first column are +1. */
static int paley(size_t n, size_t row, size_t column)
{
	size_t q = n - 1;

	if (!row)
		return 1;
	if (!column)
		return -1;
	if (row == column)
		return 1;
	return quadratic(q + row - column, q);
}

static int hadamard(size_t n, size_t row, size_t column)
{
	int sign;

	if (n < 2)
		return 1;
	if (is_paley(n))
		return paley(n, row, column);
	sign = row >= n / 2 && column >= n / 2 ? -1 : 1;
	return sign * hadamard(n / 2, row % (n / 2), column % (n / 2));
}

static size_t rows_for(size_t factors)
{
	size_t n = 4;

	while (n < factors + 1 || !is_order(n))
		n += 4;
	return n;
}

size_t screen_rows(size_t factors)
{
	return factors && factors <= SCREEN_FACTORS_MAX ? rows_for(factors) : 0;
}

int screen_design(struct arena *a, size_t factors, struct screen_design *out)
{
	size_t rows = screen_rows(factors);

	if (!rows)
		return -EINVAL;
	out->factors = factors;
	out->rows = rows;
	out->level = arena_array(a, rows * factors, sizeof(*out->level));
	for (size_t row = 0; row < rows; row++) {
		/* The row times its first entry: then the first column is constant. */
		int sign = hadamard(rows, row, 0);

		for (size_t f = 0; f < factors; f++)
			out->level[row * factors + f] =
				(signed char)(sign * hadamard(rows, row, f + 1));
	}
	return 0;
}

bool screen_on(const struct screen_design *s, size_t row, size_t factor, bool mirror)
{
	return (s->level[row * s->factors + factor] > 0) != mirror;
}

/* --- what goes together -------------------------------------------------------------------------
 */
size_t screen_groups(size_t n, bool (*joined)(void *ctx, size_t i, size_t j), void *ctx,
		     size_t *group)
{
	size_t count = 0;

	/* group[i] is the least member until all are known. */
	for (size_t i = 0; i < n; i++) {
		group[i] = i;
		for (size_t j = 0; j < i; j++) {
			size_t from = group[i], to = group[j];

			if (from == to || !joined(ctx, i, j))
				continue;
			for (size_t k = 0; k <= i; k++)
				if (group[k] == from || group[k] == to)
					group[k] = from < to ? from : to;
		}
	}
	/* A least member stands before all others of its group. */
	for (size_t i = 0; i < n; i++)
		group[i] = group[i] == i ? count++ : group[group[i]];
	return count;
}

/* --- time ---------------------------------------------------------------------------------------
 */
void screen_time(const struct screen_cost *c, struct screen_time *out)
{
	double pair_s = 2 * (c->window_s + c->switch_s);
	size_t settings = c->settings < SCREEN_FACTORS_MAX ? c->settings : SCREEN_FACTORS_MAX;
	struct rule r;

	rule_default(&r, 0);
	*out = (struct screen_time){ .same_pairs = RULE_SAME_PAIRS,
				     .whole_pairs = r.looks[r.n_looks - 1] };
	if (settings > 1) {
		out->screen_pairs = rows_for(settings) * (c->rounds ? c->rounds : 1);
		out->confirm_pairs = settings * screen_confirm_pairs(settings, r.alpha);
	}
	out->same_s = c->warm_up_s + pair_s * (double)out->same_pairs;
	out->screen_s = pair_s * (double)out->screen_pairs;
	out->confirm_s = pair_s * (double)out->confirm_pairs;
	out->whole_s = pair_s * (double)out->whole_pairs;
	out->total_s = out->same_s + out->screen_s + out->confirm_s + out->whole_s;
}
