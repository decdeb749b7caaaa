/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals by resampling, the ratio of two runs with what can be said of it, and all figures of
 * one series together. */
#include "base/stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t stat_random_next(struct stat_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

size_t stat_random_below(struct stat_random *r, size_t n)
{
	return (size_t)(((stat_random_next(r) >> 32) * (uint64_t)n) >> 32);
}

double stat_random_normal(struct stat_random *r)
{
	/* Box and Muller; the first is never 0. */
	double u = ((double)(stat_random_next(r) >> 11) + 1) / 9007199254740992.0,
	       v = (double)(stat_random_next(r) >> 11) / 9007199254740992.0;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* How long blocks have to be so that what is inside one depends on itself as the samples do. */
static size_t block_length(const double *x, size_t n)
{
	double act = stat_act(x, n);
	size_t length = act > 1.5 ? (size_t)ceil(2 * act) : 1, most = n / 4 ? n / 4 : 1;

	return length < most ? length : most;
}

/* n samples out of n, whole circular blocks, the last one cut. */
static void resample(struct stat_random *r, const double *x, size_t n, size_t block, double *to)
{
	for (size_t k = 0; k < n;) {
		size_t from = stat_random_below(r, n);

		for (size_t i = 0; i < block && k < n; i++, k++) {
			to[k] = x[from];
			if (++from == n)
				from = 0;
		}
	}
}

/* Sorted medians of STAT_RESAMPLES resamples. */
static double *resampled_medians(struct arena *a, const double *x, size_t n, uint64_t seed)
{
	struct stat_random r = { seed };
	double *medians = arena_array(a, STAT_RESAMPLES, sizeof(*medians)),
	       *y = arena_array(a, n, sizeof(*y));
	size_t block = block_length(x, n);

	for (size_t i = 0; i < STAT_RESAMPLES; i++) {
		resample(&r, x, n, block, y);
		medians[i] = stat_median_in_place(y, n);
	}
	return medians;
}

/* z with P(|normal| <= z) = level, by bisection of erf. */
static double normal_two_sided(double level)
{
	double lo = 0, hi = 40;

	for (int i = 0; i < 100; i++) {
		double z = (lo + hi) / 2;

		*(erf(z / sqrt(2)) < level ? &lo : &hi) = z;
	}
	return lo;
}

static void rank_interval(const double *x, size_t n, double level, struct stat_interval *out)
{
	ARENA_AUTO a = { 0 };
	double *s = arena_array(&a, n, sizeof(*s)), half, median;

	memcpy(s, x, n * sizeof(*s));
	median = stat_median_in_place(s, n);
	for (size_t i = 0; i < n; i++)
		s[i] = x[i] <= median;
	half = normal_two_sided(level) * sqrt(stat_act(s, n) / (double)n) / 2;
	memcpy(s, x, n * sizeof(*s));
	stat_sort(s, n);
	out->low = stat_quantile(s, n, fmax(0.5 - half, 0));
	out->high = stat_quantile(s, n, fmin(0.5 + half, 1));
}

int stat_median_interval(const double *x, size_t n, double level, uint64_t seed,
			 struct stat_interval *out)
{
	ARENA_AUTO a = { 0 };
	int r = stat_check(x, n);
	double *medians;

	if (r)
		return r;
	if (n > STAT_RESAMPLE_MAX) {
		rank_interval(x, n, level, out);
		return 0;
	}
	medians = resampled_medians(&a, x, n, seed);
	stat_sort(medians, STAT_RESAMPLES);
	out->low = stat_quantile(medians, STAT_RESAMPLES, (1 - level) / 2);
	out->high = stat_quantile(medians, STAT_RESAMPLES, (1 + level) / 2);
	return 0;
}

/* --- Student's t ------------------------------------------------------------------------------ */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (int m = 1; m < 500; m++) {
		double step, at = a + 2.0 * m;

		for (int odd = 0; odd < 2; odd++) {
			double num = odd ? -(a + m) * (a + b + m) * x / (at * (at + 1))
					 : m * (b - m) * x / ((at - 1) * at);

			d = 1 + num * d;
			c = 1 + num / c;
			d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			step = d * c;
			f *= step;
		}
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

static double beta_incomplete(double a, double b, double x)
{
	int sign;
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
		    b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stat_t_quantile(double p, double df)
{
	double upper = p < 0.5 ? 1 - p : p, lo = 0, hi = 1e6;

	for (int i = 0; i < 200; i++) {
		double t = (lo + hi) / 2,
		       cdf = 1 - beta_incomplete(df / 2, 0.5, df / (df + t * t)) / 2;

		*(cdf < upper ? &lo : &hi) = t;
	}
	return p < 0.5 ? -lo : lo;
}

/* --- ratio ------------------------------------------------------------------------------------ */

/* ln of the median of each round: their mean, and the variance of that mean. */
static size_t round_means(const struct stat_arm *arm, double *mean, double *var)
{
	ARENA_AUTO a = { 0 };
	double *y = arena_array(&a, arm->n, sizeof(*y)),
	       *logs = arena_array(&a, arm->rounds, sizeof(*logs));
	size_t k = 0;

	*mean = *var = 0;
	for (size_t i = 0; i < arm->rounds; i++) {
		size_t from = arm->first[i], to = i + 1 < arm->rounds ? arm->first[i + 1] : arm->n;

		if (from >= to)
			continue;
		memcpy(y, arm->x + from, (to - from) * sizeof(*y));
		logs[k++] = log(stat_median_in_place(y, to - from));
	}
	for (size_t i = 0; i < k; i++)
		*mean += logs[i] / (double)k;
	for (size_t i = 0; i < k && k > 1; i++)
		*var += (logs[i] - *mean) * (logs[i] - *mean) / (double)(k - 1) / (double)k;
	return k;
}

/* Half the width of Welch's interval of ln ratio; negative where there are not two rounds each. */
static double welch_half(const struct stat_arm *a, const struct stat_arm *b, double level)
{
	double mean, va, vb, df;
	size_t na = round_means(a, &mean, &va), nb = round_means(b, &mean, &vb);

	if (na < 2 || nb < 2)
		return -1;
	if (!(va + vb > 0))
		return 0;
	df = (va + vb) * (va + vb) / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
	return stat_t_quantile((1 + level) / 2, df) * sqrt(va + vb);
}

static void rank_ratio(const struct stat_arm *a, const struct stat_arm *b, double level,
		       struct stat_ratio *out)
{
	struct stat_interval ia = { 0 }, ib = { 0 };
	double low, high, ra = 0, rb = 0;

	/* Each side's distance on the logarithmic scale, added as independent errors are. */
	stat_median_interval(a->x, a->n, level, STAT_SEED, &ia);
	stat_median_interval(b->x, b->n, level, STAT_SEED, &ib);
	stat_median(a->x, a->n, &ra);
	stat_median(b->x, b->n, &rb);
	low = hypot(log(rb / ib.low), log(ia.high / ra));
	high = hypot(log(ib.high / rb), log(ra / ia.low));
	out->interval = (struct stat_interval){ out->ratio * exp(-low), out->ratio * exp(high) };
}

int stat_ratio(const struct stat_arm *a, const struct stat_arm *b, double level, uint64_t seed,
	       struct stat_ratio *out)
{
	struct arena scratch = { 0 };
	const struct stat_arm *arms[] = { a, b };
	double median[2] = { 0 }, half, *ma, *mb;

	for (size_t i = 0; i < 2; i++) {
		int r = stat_median(arms[i]->x, arms[i]->n, &median[i]);

		if (r)
			return r;
		for (size_t k = 0; k < arms[i]->n; k++)
			if (!(arms[i]->x[k] > 0))
				return -ERANGE;
	}
	*out = (struct stat_ratio){ .ratio = median[1] / median[0] };
	if (a->n > STAT_RESAMPLE_MAX || b->n > STAT_RESAMPLE_MAX) {
		rank_ratio(a, b, level, out);
	} else {
		ma = resampled_medians(&scratch, a->x, a->n, seed);
		mb = resampled_medians(&scratch, b->x, b->n, seed ^ 0x5bd1e995);
		for (size_t i = 0; i < STAT_RESAMPLES; i++)
			mb[i] /= ma[i];
		stat_sort(mb, STAT_RESAMPLES);
		out->interval.low = stat_quantile(mb, STAT_RESAMPLES, (1 - level) / 2);
		out->interval.high = stat_quantile(mb, STAT_RESAMPLES, (1 + level) / 2);
		arena_free(&scratch);
	}
	half = welch_half(a, b, level);
	if (half > 0 && exp(2 * half) > out->interval.high / out->interval.low) {
		out->interval =
			(struct stat_interval){ out->ratio * exp(-half), out->ratio * exp(half) };
		out->by_rounds = true;
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */
static void order_figures(const double *x, size_t n, struct stat_summary *out)
{
	ARENA_AUTO a = { 0 };
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
	out->has_interval = n >= STAT_INTERVAL_N;
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
