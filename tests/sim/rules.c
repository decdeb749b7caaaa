/* SPDX-License-Identifier: Apache-2.0 */
/* The usual ways to compare two states of a machine, and those that might be better. */
#include "rules.h"

#include <math.h>
#include <string.h>

#include "measure/prove/rule.h"
#include "sign.h"

enum { MOST = 48 };

static enum ruling_kind matters(double estimate, bool sure, double min_effect)
{
	if (!sure || fabs(estimate) < log1p(min_effect))
		return RULING_UNDECIDED;
	return estimate > 0 ? RULING_HELPS : RULING_HURTS;
}

static double mean_of(const double *x, size_t n, double *var)
{
	double mean = 0;

	*var = 0;
	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		*var += (x[i] - mean) * (x[i] - mean) / (double)(n - 1);
	return mean;
}

/* First all windows without, then all with: Welch. */
static struct trial before_after(struct scene *s, double effect, double min_effect,
				 unsigned long long seed)
{
	enum { EACH = 24 };
	double x[2][EACH], var[2], mean[2], se, df, t;

	(void)seed;
	for (size_t b = 0; b < 2; b++) {
		for (size_t i = 0; i < EACH; i++)
			x[b][i] = scene_window(s, b) + (b ? effect : 0);
		mean[b] = mean_of(x[b], EACH, &var[b]);
		var[b] /= EACH;
	}
	se = sqrt(var[0] + var[1]);
	df = (var[0] + var[1]) * (var[0] + var[1]) * (EACH - 1) /
	     (var[0] * var[0] + var[1] * var[1]);
	t = (mean[1] - mean[0]) / se;
	return (struct trial){ matters(mean[1] - mean[0], fabs(t) > stat_t_quantile(0.975, df),
				       min_effect),
			       2 * EACH };
}

/* Three runs each, the best of both counts. */
static struct trial best_of_three(struct scene *s, double effect, double min_effect,
				  unsigned long long seed)
{
	double best[2] = { -INFINITY, -INFINITY };

	(void)seed;
	for (size_t b = 0; b < 2; b++)
		for (size_t i = 0; i < 3; i++)
			best[b] = fmax(best[b], scene_window(s, b) + (b ? effect : 0));
	return (struct trial){ matters(best[1] - best[0], true, min_effect), 6 };
}

static bool t_sure(const double *d, size_t n, double level, double *mean)
{
	double var;

	*mean = mean_of(d, n, &var);
	return fabs(*mean) > stat_t_quantile(1 - level / 2, (double)n - 1) * sqrt(var / (double)n);
}

/* A B A B ..., t of the pairs at the end. */
static struct trial fixed_pairs(struct scene *s, double effect, double min_effect,
				unsigned long long seed)
{
	enum { PAIRS = 24 };
	double d[PAIRS], mean;
	bool sure;

	(void)seed;
	for (size_t i = 0; i < PAIRS; i++)
		d[i] = scene_pair(s, false, effect);
	sure = t_sure(d, PAIRS, 0.05, &mean);
	return (struct trial){ matters(mean, sure, min_effect), 2 * PAIRS };
}

/* A pair of pairs, ABBA or BAAB. */
static double block(struct scene *s, bool b_first, double effect)
{
	double first = scene_pair(s, b_first, effect);

	return (first + scene_pair(s, !b_first, effect)) / 2;
}

static struct trial blocks_peeked(struct scene *s, double effect, double min_effect,
				  unsigned long long seed)
{
	double d[MOST / 2], mean;

	for (size_t n = 1; n <= MOST / 2; n++) {
		bool sure;

		d[n - 1] = block(s, order_b_first(seed, n), effect);
		if (n < 4)
			continue;
		sure = t_sure(d, n, 0.05, &mean);
		if (matters(mean, sure, min_effect) != RULING_UNDECIDED)
			return (struct trial){ matters(mean, sure, min_effect), 4 * n };
	}
	return (struct trial){ RULING_UNDECIDED, 2 * MOST };
}

struct looks {
	size_t at[8];
	double level[8]; /* two-sided */
};

typedef bool sure_fn(const double *d, size_t n, double level, double *estimate);

static bool sign_sure(const double *d, size_t n, double level, double *estimate)
{
	struct stat_interval i;

	stat_median(d, n, estimate);
	return sign_interval(d, n, level, &i) == 0 && (i.low > 0 || i.high < 0);
}

static bool rank_sure(const double *d, size_t n, double level, double *estimate)
{
	struct rank_interval i;

	rank_interval(d, n, level, &i);
	*estimate = i.estimate;
	return i.low > 0 || i.high < 0;
}

static struct trial with_looks(struct scene *s, double effect, double min_effect,
			       unsigned long long seed, const struct looks *l, sure_fn *sure,
			       bool blocks)
{
	double d[MOST], estimate = 0;
	size_t n = 0;

	for (size_t look = 0; look < 8 && l->at[look]; look++) {
		size_t until = blocks ? l->at[look] / 2 : l->at[look];
		enum ruling_kind kind;
		bool yes;

		for (; n < until; n++)
			d[n] = blocks ? block(s, order_b_first(seed, n), effect)
				      : scene_pair(s, order_b_first(seed, n), effect);
		yes = sure(d, n, l->level[look], &estimate);
		kind = matters(estimate, yes, min_effect);
		if (kind != RULING_UNDECIDED)
			return (struct trial){ kind, blocks ? 4 * n : 2 * n };
	}
	return (struct trial){ RULING_UNDECIDED, blocks ? 4 * n : 2 * n };
}

static const struct looks three = { { 8, 16, 24 }, { 0.1 / 3, 0.1 / 3, 0.1 / 3 } };
static const struct looks three_half = { { 8, 16, 24 }, { 0.05 / 3, 0.05 / 3, 0.05 / 3 } };
static const struct looks six = { { 8, 12, 16, 24, 32, 48 },
				  { 0.00782, 0.00685, 0.00764, 0.00793, 0.00829, 0.01124 } };
static const struct looks pocock = { { 8, 12, 16, 24, 32, 48 },
				     { 0.015, 0.015, 0.015, 0.015, 0.015, 0.015 } };

static struct trial sign_three(struct scene *s, double effect, double min_effect,
			       unsigned long long seed)
{
	return with_looks(s, effect, min_effect, seed, &three, sign_sure, false);
}

static struct trial sign_six(struct scene *s, double effect, double min_effect,
			     unsigned long long seed)
{
	return with_looks(s, effect, min_effect, seed, &six, sign_sure, false);
}

static struct trial rank_three(struct scene *s, double effect, double min_effect,
			       unsigned long long seed)
{
	return with_looks(s, effect, min_effect, seed, &three_half, rank_sure, false);
}

static struct trial rank_pocock(struct scene *s, double effect, double min_effect,
				unsigned long long seed)
{
	return with_looks(s, effect, min_effect, seed, &pocock, rank_sure, false);
}

static struct trial t_six(struct scene *s, double effect, double min_effect,
			  unsigned long long seed)
{
	return with_looks(s, effect, min_effect, seed, &six, t_sure, false);
}

/* The same windows in blocks of four, ranks of half as many differences. */
static struct trial rank_blocks(struct scene *s, double effect, double min_effect,
				unsigned long long seed)
{
	static const struct looks at = { { 16, 24, 32, 48 }, { 0.0079, 0.0129, 0.0138, 0.0151 } };

	return with_looks(s, effect, min_effect, seed, &at, rank_sure, true);
}

/* Looks after every pair: a bet on the sign, all shares of plus equally likely, 20 to 1. */
static struct trial bet(struct scene *s, double effect, double min_effect, unsigned long long seed)
{
	double d[MOST], estimate = 0;
	size_t plus = 0;

	for (size_t n = 1; n <= MOST; n++) {
		int sign;
		double won;

		d[n - 1] = scene_pair(s, order_b_first(seed, n), effect);
		plus += d[n - 1] > 0;
		won = (double)n * log(2) + lgamma_r((double)plus + 1, &sign) +
		      lgamma_r((double)(n - plus) + 1, &sign) - lgamma_r((double)n + 2, &sign);
		stat_median(d, n, &estimate);
		if (won >= log(20) && matters(estimate, true, min_effect) != RULING_UNDECIDED)
			return (struct trial){ matters(estimate, true, min_effect), 2 * n };
	}
	return (struct trial){ RULING_UNDECIDED, 2 * MOST };
}

struct trial run_adopted(struct scene *s, double effect, double min_effect, unsigned long long seed)
{
	double d[RULE_PAIRS_MAX];
	struct ruling ruling;
	struct rule rule;
	size_t n = 0;

	rule_default(&rule, min_effect);
	do {
		for (size_t next = rule_next(&rule, n); n < next; n++)
			d[n] = scene_pair(s, order_b_first(seed, n), effect);
		rule_look(&rule, d, n, !rule_next(&rule, n), &ruling);
	} while (ruling.kind == RULING_GO_ON);
	return (struct trial){ ruling.kind, 2 * n };
}

const struct candidate candidates[] = {
	{ "24 before, 24 after, Welch", before_after },
	{ "best of 3 before, best of 3 after", best_of_three },
	{ "ABAB, 24 pairs, t", fixed_pairs },
	{ "ABBA or BAAB blocks, t after each", blocks_peeked },
	{ "random pairs, sign test at 8/16/24", sign_three },
	{ "random pairs, sign test at six looks", sign_six },
	{ "random pairs, bet on signs after each", bet },
	{ "random pairs, t at six looks", t_six },
	{ "random blocks of four, ranks at four looks", rank_blocks },
	{ "random pairs, ranks at 8/16/24", rank_three },
	{ "random pairs, ranks at six looks of 1.5 %", rank_pocock },
	{ "random pairs, ranks at six looks (adopted)", run_adopted },
};
const size_t candidate_count = sizeof(candidates) / sizeof(candidates[0]);
