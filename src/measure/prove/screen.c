/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of settings: which to measure, and what they showed. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure/prove/screen.h"
#include "base/stat.h"

/* --- Hadamard matrices: orthogonal rows of +1 and -1 ------------------------------------------ */
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

/* A block has at least so many runs. */
enum { BLOCK_RUNS = 24 };

static size_t passes_for(size_t rows)
{
	return (BLOCK_RUNS + rows - 1) / rows;
}

size_t screen_runs(size_t factors)
{
	size_t rows = factors && factors <= SCREEN_FACTORS_MAX ? rows_for(factors) : 0;

	return rows ? rows * passes_for(rows) : 0;
}

int screen_design(struct arena *a, size_t factors, struct screen_design *out)
{
	size_t rows;

	if (!screen_runs(factors))
		return -EINVAL;
	rows = rows_for(factors);
	out->factors = factors;
	out->rows = rows;
	out->passes = passes_for(rows);
	out->level = arena_array(a, rows * rows, sizeof(*out->level));
	for (size_t row = 0; row < rows; row++) {
		/* The row times its first entry: then the first column is constant. */
		int sign = hadamard(rows, row, 0);

		for (size_t f = 0; f + 1 < rows; f++)
			out->level[row * rows + f] =
				(signed char)(sign * hadamard(rows, row, f + 1));
	}
	return 0;
}

/* How much of a trend lies in the columns that no factor has. */
static double spare_trend(const struct screen_design *s, const size_t *at)
{
	double out = 0;

	for (size_t f = s->factors; f + 1 < s->rows; f++) {
		double sum = 0;

		for (size_t i = 0; i < s->rows; i++)
			sum += (double)i * s->level[at[i] * s->rows + f];
		out += sum * sum;
	}
	return out;
}

void screen_order(struct arena *a, const struct screen_design *s, uint64_t seed, size_t *at)
{
	enum { ORDERS = 256 };
	size_t *other = arena_array(a, s->rows, sizeof(*other));
	double best = -1;

	for (uint64_t i = 0; i < ORDERS; i++) {
		double x;

		order_shuffle(seed * ORDERS + i, other, s->rows);
		x = spare_trend(s, other);
		if (x > best)
			memcpy(at, other, s->rows * sizeof(*at));
		best = fmax(best, x);
	}
}

bool screen_on(const struct screen_design *s, size_t run, size_t factor)
{
	bool mirror = run / s->rows % 2;

	return (s->level[run % s->rows * s->rows + factor] > 0) != mirror;
}

/* --- what goes together ----------------------------------------------------------------------- */
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

/* --- effects of all factors at once ----------------------------------------------------------- */
/* Columns: a half up or down for each factor, then of each block its level, and its trend. */
struct fit {
	size_t n, m;
	size_t each;   /* columns of a block */
	double *z;     /* n by m */
	double *x;     /* m by m: Z'Z, then its factor L with Z'Z = L L' */
	double *b;     /* m: Z'y, then the effects */
	double error;  /* standard deviation of one run */
	double df;     /* of that */
	double *width; /* standard error of each factor's effect */
};

static void columns(const struct screen_data *d, struct fit *f)
{
	const struct screen_design *s = d->s;
	size_t runs = s->rows * s->passes;

	for (size_t i = 0, at = 0; i < d->n; i++) {
		double *z = &f->z[i * f->m];
		size_t block = d->run[i] / runs;

		at = i && d->run[i - 1] / runs == block ? at + 1 : 0;
		for (size_t j = 0; j < s->factors; j++)
			z[j] = screen_on(s, d->run[i], j) ? 0.5 : -0.5;
		z[s->factors + f->each * block] = 1;
		if (f->each > 1)
			z[s->factors + f->each * block + 1] = (double)at / (double)runs - 0.5;
	}
}

/* Z'y into b. */
static void project(const struct fit *f, const double *y)
{
	memset(f->b, 0, f->m * sizeof(*f->b));
	for (size_t i = 0; i < f->n; i++)
		for (size_t j = 0; j < f->m; j++)
			f->b[j] += f->z[i * f->m + j] * y[i];
}

static void normal_equations(const struct fit *f)
{
	for (size_t i = 0; i < f->n; i++)
		for (size_t j = 0; j < f->m; j++)
			for (size_t k = 0; k <= j; k++)
				f->x[j * f->m + k] += f->z[i * f->m + j] * f->z[i * f->m + k];
}

static int cholesky(struct fit *f)
{
	for (size_t j = 0; j < f->m; j++)
		for (size_t i = j; i < f->m; i++) {
			double sum = f->x[i * f->m + j];

			for (size_t k = 0; k < j; k++)
				sum -= f->x[i * f->m + k] * f->x[j * f->m + k];
			if (i == j && !(sum > 1e-9))
				return -ENODATA;
			f->x[i * f->m + j] = i == j ? sqrt(sum) : sum / f->x[j * f->m + j];
		}
	return 0;
}

/* L y = b in place, from row first on. */
static void forward(const struct fit *f, double *b, size_t first)
{
	for (size_t i = first; i < f->m; i++) {
		for (size_t k = first; k < i; k++)
			b[i] -= f->x[i * f->m + k] * b[k];
		b[i] /= f->x[i * f->m + i];
	}
}

static void backward(const struct fit *f, double *b)
{
	for (size_t i = f->m; i-- > 0;) {
		for (size_t k = i + 1; k < f->m; k++)
			b[i] -= f->x[k * f->m + i] * b[k];
		b[i] /= f->x[i * f->m + i];
	}
}

/* Element j of the diagonal of the inverse: the length of L's inverse's column j, squared. */
static double inverse_at(struct arena *a, const struct fit *f, size_t j)
{
	double *e = arena_array(a, f->m, sizeof(*e)), sum = 0;

	e[j] = 1;
	forward(f, e, j);
	for (size_t i = j; i < f->m; i++)
		sum += e[i] * e[i];
	return sum;
}

/*
 * One run that somebody else slowed tenfold must not speak for all settings: what is further than
 * 2.5 sigmas from what the effects say counts as so far (Huber 1973), with the error of that.
 */
static double fit_again(struct arena *a, const double *y, struct fit *f)
{
	enum { TIMES = 60 };
	double *rest = arena_array(a, f->n, sizeof(*rest)),
	       *size = arena_array(a, f->n, sizeof(*size)), sum = 0, limit = 0;
	size_t within = 0;

	for (int k = 0; k < TIMES; k++) {
		for (size_t i = 0; i < f->n; i++) {
			rest[i] = y[i];
			for (size_t j = 0; j < f->m; j++)
				rest[i] -= f->z[i * f->m + j] * f->b[j];
			size[i] = fabs(rest[i]);
		}
		limit = 2.5 * 1.4826 * stat_median_in_place(size, f->n) *
			sqrt((double)f->n / (double)(f->n - f->m));
		if (!(limit > 0) || k == TIMES - 1)
			break;
		for (size_t i = 0; i < f->n; i++)
			size[i] = y[i] - rest[i] + fmax(-limit, fmin(limit, rest[i]));
		project(f, size);
		forward(f, f->b, 0);
		backward(f, f->b);
	}
	for (size_t i = 0; i < f->n; i++) {
		double x = limit > 0 ? fmax(-limit, fmin(limit, rest[i])) : rest[i];

		sum += x * x;
		within += fabs(rest[i]) <= limit || !(limit > 0);
	}
	return sqrt(sum / f->df) * (double)f->n / (double)(within ? within : 1);
}

/* Most effects are nothing: their own middle tells how large nothing looks (Lenth 1989). */
static double pseudo_error(struct arena *a, const double *effect, size_t m)
{
	double *x = arena_array(a, m, sizeof(*x)), first;
	size_t n = 0;

	for (size_t i = 0; i < m; i++)
		x[i] = fabs(effect[i]);
	first = 1.5 * stat_median_in_place(x, m);
	for (size_t i = 0; i < m; i++)
		if (fabs(effect[i]) <= 2.5 * first)
			x[n++] = fabs(effect[i]);
	return 1.5 * stat_median_in_place(x, n);
}

static int fit_with(struct arena *a, const struct screen_data *d, size_t each, struct fit *f)
{
	enum { DF_LEAST = 3 };
	size_t factors = d->s->factors, runs = d->s->rows * d->s->passes,
	       blocks = d->n ? d->run[d->n - 1] / runs + 1 : 0, m = factors + each * blocks;

	*f = (struct fit){ .n = d->n,
			   .m = m,
			   .each = each,
			   .z = arena_array(a, d->n * m, sizeof(double)),
			   .x = arena_array(a, m * m, sizeof(double)),
			   .b = arena_array(a, m, sizeof(double)),
			   .width = arena_array(a, factors, sizeof(double)) };
	if (d->n < m)
		return -ENODATA;
	columns(d, f);
	normal_equations(f);
	if (cholesky(f))
		return -ENODATA;
	project(f, d->y);
	forward(f, f->b, 0);
	backward(f, f->b);
	if (d->n >= m + DF_LEAST) {
		f->df = (double)(d->n - m);
		f->error = fit_again(a, d->y, f);
		for (size_t j = 0; j < factors; j++)
			f->width[j] = f->error * sqrt(inverse_at(a, f, j));
		return 0;
	}
	f->df = fmax(1, (double)factors / 3);
	for (size_t j = 0; j < factors; j++)
		f->width[j] = pseudo_error(a, f->b, factors);
	f->error = f->width[0] * sqrt((double)d->n) / 2;
	return 0;
}

static int fit_effects(struct arena *a, const struct screen_data *d, struct fit *f)
{
	/* A block without a spare column cannot separate a trend. */
	return fit_with(a, d, 2, f) == 0 ? 0 : fit_with(a, d, 1, f);
}

int screen_effects(struct arena *a, const struct screen_data *d, double level, double min_effect,
		   struct screen_effect *out, struct screen_noise *noise)
{
	double t, sure, matters = log1p(min_effect);
	struct fit f;

	if (fit_effects(a, d, &f))
		return -ENODATA;
	*noise = (struct screen_noise){ f.error, f.df };
	t = stat_t_quantile(0.95, f.df);
	sure = stat_t_quantile(1 - level / 2 / (double)d->s->factors, f.df);
	for (size_t j = 0; j < d->s->factors; j++) {
		double e = f.b[j], w = f.width[j];

		out[j] = (struct screen_effect){ exp(e), exp(e - t * w), exp(e + t * w),
						 SCREEN_OPEN };
		if (e >= matters && e > sure * w)
			out[j].say = SCREEN_KEEP;
		else if (e <= -matters && e < -sure * w)
			out[j].say = SCREEN_HURTS;
		else if (e + t * w < matters)
			out[j].say = SCREEN_DROP;
	}
	return 0;
}

double screen_level(size_t k, size_t n, double *spent)
{
	double share = k < n ? (double)k / (double)n : 1,
	       out = fmax(SCREEN_LEVEL * pow(share, 4) - *spent, 0);

	*spent += out;
	return out;
}

size_t screen_blocks(size_t factors, double noise, double min_effect)
{
	/* For 58 %. */
	double sure = stat_t_quantile(1 - SCREEN_LEVEL / 2 / (double)factors, 1e6) + 0.2,
	       root = 2 * noise * sure / log1p(2 * min_effect),
	       n = ceil(root * root / (double)screen_runs(factors));

	return n < 1 ? 1 : n < SCREEN_BLOCKS_MAX ? (size_t)n : SCREEN_BLOCKS_MAX;
}

bool screen_is_clear(const struct screen_effect *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i].say == SCREEN_OPEN)
			return false;
	return true;
}

/* --- leaving one out -------------------------------------------------------------------------- */

void screen_left_out(double d, size_t n, const struct screen_noise *noise, double min_effect,
		     struct screen_member *out)
{
	double w = noise->sd * M_SQRT2, t = stat_t_quantile(0.975, noise->df) * w,
	       sure = stat_t_quantile(1 - 0.025 / (double)n, noise->df) * w;

	*out = (struct screen_member){ 1, exp(d), exp(d - t), exp(d + t),
				       d <= -log1p(min_effect) && d < -sure };
}
