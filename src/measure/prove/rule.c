/* SPDX-License-Identifier: Apache-2.0 */
/* The stop rule, the A/A gate and the soft guards. */
#include "measure/prove/rule.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/stat.h"

/* Order by chance, from the generator that resampling has. */

bool order_b_first(uint64_t seed, size_t i)
{
	/* Two numbers of the generator, so that neighbouring seeds are not shifted copies. */
	struct stat_random r = { seed };

	r.state = stat_random_next(&r) + i;
	return stat_random_next(&r) >> 63;
}

void order_shuffle(uint64_t seed, size_t *at, size_t n)
{
	struct stat_random r = { seed };

	for (size_t i = 0; i < n; i++)
		at[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t k = stat_random_below(&r, i), t = at[k];

		at[k] = at[i - 1];
		at[i - 1] = t;
	}
}

uint64_t order_seed(void)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed) || !seed)
		seed = (uint64_t)clock_mono_ns() | 1;
	return seed;
}

/*
 * Signed ranks at six looks. Each look is exact by itself, so that all of them together are wrong
 * at most as often as their levels' sum, 0.0498, whatever the windows depend on. At 8 pairs the
 * least that can be asked for is that all have the same sign. docs/design/PROOF.md has what other
 * levels and other rules cost.
 */
static const struct rule standard = {
	.alpha = 0.05,
	.looks = { 8, 12, 16, 24, 32, 48 },
	.level = { 0.00782, 0.00685, 0.00764, 0.00793, 0.00829, 0.01124 },
	.n_looks = 6,
};

/* Exact too behind the first look, with most of it at 6 pairs: all of one sign. Levels add up to
 * 0.0498. */
static const struct rule proven = {
	.looks = { 2, RULE_PROVEN_PAIRS, 10, 16, 28, 48 },
	.level = { 0.005, 0.03125, 0.0045, 0.004, 0.003, 0.002 },
};

void rule_proven(struct rule *r, double sd, double df)
{
	r->sd = sd;
	r->df = df;
	memcpy(r->looks, proven.looks, sizeof(r->looks));
	memcpy(r->level, proven.level, sizeof(r->level));
}

void rule_default(struct rule *r, double min_effect)
{
	*r = standard;
	r->min_effect = min_effect > 0 ? min_effect : 0.01;
}

size_t rule_next(const struct rule *r, size_t n)
{
	for (size_t i = 0; i < r->n_looks; i++)
		if (r->looks[i] > n)
			return r->looks[i];
	return 0;
}

/* The look that n pairs are, or are counted as; n_looks: it is none. */
static size_t prove_rule_look_of(const struct rule *r, size_t n, bool last)
{
	size_t i = 0;

	while (i < r->n_looks && r->looks[i] < n)
		i++;
	/* More pairs than the rule has looks for: the last one was not used. */
	if (i == r->n_looks)
		return n ? i - 1 : i;
	return r->looks[i] == n || last ? i : r->n_looks;
}

static void prove_rule_decide(const struct rule *r, struct ruling *out)
{
	double matters = 1 + r->min_effect;

	if (out->low > 1 && out->ratio >= matters) {
		out->kind = RULING_HELPS;
		out->why = "better by a relevant amount, in more pairs than chance explains";
	} else if (out->high < 1 && out->ratio <= 1 / matters) {
		out->kind = RULING_HURTS;
		out->why = "worse by a relevant amount, in more pairs than chance explains";
	} else if (out->low > 1 / matters && out->high < matters) {
		out->kind = RULING_NO_DIFFERENCE;
		out->why = "a relevant effect would have been detected";
	}
}

/* Why it stays undecided, and how much more would do: intervals shrink with the root of n. */
static void prove_rule_give_up(const struct rule *r, struct ruling *out)
{
	double size = fabs(log(out->ratio)), matters = log1p(r->min_effect),
	       half = (log(out->high) - log(out->low)) / 2, goal, n;

	out->kind = RULING_UNDECIDED;
	if (!isfinite(half)) {
		out->why = "too few pairs for any verdict";
		out->needed = r->n_looks ? r->looks[0] : 0;
		return;
	}
	if (out->low > 1)
		out->why = "better, but perhaps by an irrelevant amount";
	else if (out->high < 1)
		out->why = "worse, but perhaps by an irrelevant amount";
	else
		out->why = "noise may hide a relevant effect";
	goal = size >= matters ? size : matters - size;
	n = (double)out->pairs * (half / goal) * (half / goal) * 1.1;
	if (n < 10000)
		out->needed = (size_t)fmax(ceil(n), (double)out->pairs + 1);
}

/* Of few pairs, by what one run is worth. */
static void known_interval(const struct rule *r, const double *d, size_t n,
			   struct rank_interval *out)
{
	double half = stat_t_quantile(1 - r->level[0] / 2, r->df) * r->sd * sqrt(2.0 / (double)n),
	       mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += d[i] / (double)n;
	*out = (struct rank_interval){ mean, mean - half, mean + half };
}

void rule_look(const struct rule *r, const double *d, size_t n, bool last, struct ruling *out)
{
	size_t look = prove_rule_look_of(r, n, last);
	struct rank_interval i = { 0, -(double)INFINITY, (double)INFINITY };

	*out = (struct ruling){ .kind = RULING_GO_ON, .pairs = n, .why = "more pairs are needed" };
	if (look == r->n_looks && !last)
		return;
	if (n && look == 0 && r->sd > 0)
		known_interval(r, d, n, &i);
	else if (n && look < r->n_looks)
		rank_interval(d, n < RULE_PAIRS_MAX ? n : RULE_PAIRS_MAX, r->level[look], &i);
	out->ratio = exp(i.estimate);
	out->low = exp(i.low);
	out->high = exp(i.high);
	out->resolution = expm1(fmax(fabs(i.low), fabs(i.high)));
	prove_rule_decide(r, out);
	if (out->kind == RULING_GO_ON && (last || look + 1 == r->n_looks))
		prove_rule_give_up(r, out);
}

const char *ruling_name(enum ruling_kind k)
{
	static const char *const names[] = { "go-on", "helps", "hurts", "no-difference",
					     "undecided" };

	return names[k];
}

const char *ruling_verdict(enum ruling_kind k)
{
	return k == RULING_GO_ON ? NULL : ruling_name(k);
}

/* Nothing within the interval is nearer to no effect than that. */
static double at_least(const struct rank_interval *i)
{
	return fmax(0, fmax(i->low, -i->high));
}

void rule_same(const double *d, size_t n, double min_effect, struct same *out)
{
	struct rank_interval sure, i;
	double wish = min_effect > 0 ? min_effect : 0.01;

	*out = (struct same){ .kind = SAME_SHORT,
			      .ratio = 1,
			      .high = (double)INFINITY,
			      .resolution = (double)INFINITY,
			      .min_effect = wish,
			      .why = "fewer than 8 pairs are not conclusive" };
	if (n < 8 || n > RULE_PAIRS_MAX)
		return;
	rank_interval(d, n, 0.01, &sure);
	rank_interval(d, n, 0.05, &i);
	out->ratio = exp(sure.estimate);
	out->low = exp(sure.low);
	out->high = exp(sure.high);
	out->resolution = expm1((i.high - i.low) / 2 * sqrt((double)n / RULE_SAME_PAIRS));
	out->min_effect = fmax(wish, expm1(at_least(&i)));
	if (at_least(&sure) > 0 && fabs(sure.estimate) >= log1p(wish) / 2) {
		out->kind = SAME_BIASED;
		out->why =
			"two measurements of the same state differ: the procedure favors one side";
	} else if (out->resolution > RULE_COARSE) {
		out->kind = SAME_COARSE;
		out->why = "two measurements of the same state differ too much for a verdict";
	} else {
		out->kind = SAME_OK;
		out->why = "two measurements of the same state agree";
	}
}

void rule_guard(const double *d, size_t n, double tolerance, struct guard_ruling *out)
{
	struct rank_interval i = { 0, -(double)INFINITY, (double)INFINITY };
	double most = tolerance > 0 ? tolerance : 0.01;

	if (n)
		rank_interval(d, n < RULE_PAIRS_MAX ? n : RULE_PAIRS_MAX, 0.1, &i);
	*out = (struct guard_ruling){ .early = n < RULE_GUARD_PAIRS,
				      .ratio = exp(i.estimate),
				      .low = exp(i.low),
				      .high = exp(i.high) };
	out->veto = !out->early && i.high < 0 && i.estimate < -log1p(most);
}

/* --- signed ranks -------------------------------------------------------------------------------
 * Wilcoxon's, exact: from how often each sum of ranks comes up when signs are coins.
 */

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
	ARENA_AUTO a = { 0 };
	size_t count = n * (n + 1) / 2, k, m = 0;
	double *below = rank_sums(&a, n, count / 2), *mean = arena_array(&a, count, sizeof(*mean));

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			mean[m++] = d[i] / 2 + d[j] / 2;
	stat_sort(mean, m);
	k = cut_off(below, count / 2, level / 2);
	*out = (struct rank_interval){ stat_quantile(mean, m, 0.5),
				       k ? mean[k - 1] : -(double)INFINITY,
				       k ? mean[m - k] : (double)INFINITY };
}
