/* SPDX-License-Identifier: Apache-2.0 */
/* Mixtures of settings: which to measure. */
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

/* --- time ------------------------------------------------------------------------------------- */
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
		out->confirm_pairs = (settings + 1) * screen_confirm_pairs(settings, r.alpha) / 2;
	}
	out->same_s = c->warm_up_s + pair_s * (double)out->same_pairs;
	out->screen_s = pair_s * (double)out->screen_pairs;
	out->confirm_s = pair_s * (double)out->confirm_pairs;
	out->whole_s = pair_s * (double)out->whole_pairs;
	out->total_s = out->same_s + out->screen_s + out->confirm_s + out->whole_s;
}

/* Mixtures of settings: what they showed, and whether it stands on fresh data. */

/* --- effects of all factors at once ----------------------------------------------------------- */
struct fit {
	size_t m;
	double *x;     /* m by m: X'X, then its factor L with X'X = L L' */
	double *b;     /* m: X'd, then the effects */
	double error;  /* standard deviation of one pair */
	double df;     /* of that */
	double *width; /* standard error of each effect */
};

static void normal_equations(const struct screen_design *s, const size_t *rows, const double *d,
			     size_t n, struct fit *f)
{
	for (size_t i = 0; i < n; i++) {
		const signed char *l = &s->level[rows[i] % s->rows * s->factors];

		for (size_t j = 0; j < f->m; j++) {
			f->b[j] += l[j] * d[i];
			for (size_t k = 0; k <= j; k++)
				f->x[j * f->m + k] += l[j] * l[k];
		}
	}
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

/* What the effects leave of each pair. */
static void leftover(const struct screen_design *s, const size_t *rows, const double *d, size_t n,
		     const struct fit *f, double *rest)
{
	for (size_t i = 0; i < n; i++) {
		const signed char *l = &s->level[rows[i] % s->rows * s->factors];

		rest[i] = d[i];
		for (size_t j = 0; j < f->m; j++)
			rest[i] -= l[j] * f->b[j];
	}
}

/*
 * One window that somebody else slowed tenfold must not speak for all settings: what is further
 * than 2.5 sigmas from what the effects say counts as so far (Huber 1973), with the error of that.
 */
static double fit_again(struct arena *a, const struct screen_design *s, const size_t *rows,
			const double *d, size_t n, struct fit *f)
{
	enum { TIMES = 60 };
	double *rest = arena_array(a, n, sizeof(*rest)), *size = arena_array(a, n, sizeof(*size)),
	       sum = 0, limit = 0;
	size_t within = 0;

	for (int k = 0; k < TIMES; k++) {
		leftover(s, rows, d, n, f, rest);
		for (size_t i = 0; i < n; i++)
			size[i] = fabs(rest[i]);
		limit = 2.5 * 1.4826 * stat_median_in_place(size, n) *
			sqrt((double)n / (double)(n - f->m));
		if (!(limit > 0) || k == TIMES - 1)
			break;
		for (size_t i = 0; i < n; i++)
			rest[i] = d[i] - rest[i] + fmax(-limit, fmin(limit, rest[i]));
		memset(f->b, 0, f->m * sizeof(*f->b));
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < f->m; j++)
				f->b[j] += s->level[rows[i] % s->rows * s->factors + j] * rest[i];
		forward(f, f->b, 0);
		backward(f, f->b);
	}
	for (size_t i = 0; i < n; i++) {
		double x = limit > 0 ? fmax(-limit, fmin(limit, rest[i])) : rest[i];

		sum += x * x;
		within += fabs(rest[i]) <= limit || !(limit > 0);
	}
	return sqrt(sum / f->df) * (double)n / (double)(within ? within : 1);
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

static int fit_effects(struct arena *a, const struct screen_design *s, const size_t *rows,
		       const double *d, size_t n, struct fit *f)
{
	enum { DF_LEAST = 3 };
	size_t m = s->factors;

	*f = (struct fit){ .m = m,
			   .x = arena_array(a, m * m, sizeof(double)),
			   .b = arena_array(a, m, sizeof(double)),
			   .width = arena_array(a, m, sizeof(double)) };
	normal_equations(s, rows, d, n, f);
	if (cholesky(f))
		return -ENODATA;
	forward(f, f->b, 0);
	backward(f, f->b);
	if (n >= m + DF_LEAST) {
		f->df = (double)(n - m);
		f->error = fit_again(a, s, rows, d, n, f);
		for (size_t j = 0; j < m; j++)
			f->width[j] = f->error * sqrt(inverse_at(a, f, j));
	} else {
		f->df = fmax(1, (double)m / 3);
		for (size_t j = 0; j < m; j++)
			f->width[j] = pseudo_error(a, f->b, m);
	}
	return 0;
}

int screen_effects(struct arena *a, const struct screen_design *s, const size_t *rows,
		   const double *d, size_t n, double min_effect, struct screen_effect *out)
{
	double t, sure, matters = log1p(min_effect);
	struct fit f;

	if (n < s->rows || fit_effects(a, s, rows, d, n, &f))
		return -ENODATA;
	t = stat_t_quantile(0.95, f.df);
	/* To say that one of many hurts asks for more. */
	sure = stat_t_quantile(1 - 0.025 / (double)f.m, f.df);
	for (size_t j = 0; j < f.m; j++) {
		double e = f.b[j], high = e + t * f.width[j];

		out[j] = (struct screen_effect){ exp(e), exp(e - t * f.width[j]), exp(high),
						 SCREEN_DROP };
		if (e >= matters / 2 && high >= matters)
			out[j].say = SCREEN_KEEP;
		else if (e <= -matters && e + sure * f.width[j] < 0)
			out[j].say = SCREEN_HURTS;
	}
	return 0;
}

bool screen_is_clear(const struct screen_effect *x, size_t n, double min_effect)
{
	for (size_t i = 0; i < n; i++) {
		/* What looks harmful is to be named so. */
		bool harm = x[i].say == SCREEN_DROP && x[i].ratio <= 1 / (1 + min_effect);

		if (harm || (x[i].say == SCREEN_KEEP ? x[i].low < 1 : x[i].high >= 1 + min_effect))
			return false;
	}
	return true;
}

/* --- confirmation ----------------------------------------------------------------------------- */

/* The member with the least p of those that are not done; n: none. */
static size_t screen_next_member(const struct screen_member *m, size_t n, const bool *done)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (!done[i] && (best == n || m[i].p < m[best].p))
			best = i;
	return best;
}

void screen_confirm(struct screen_member *m, size_t n, double alpha, double min_effect)
{
	struct arena a = { 0 };
	bool *done = arena_array(&a, n, sizeof(*done));
	double *estimate = arena_array(&a, n, sizeof(*estimate)), matters = log1p(min_effect);

	for (size_t i = 0; i < n; i++) {
		struct rank_interval r = { 0, -(double)INFINITY, (double)INFINITY, 1 };

		if (m[i].n)
			rank_interval(m[i].d, m[i].n < RULE_PAIRS_MAX ? m[i].n : RULE_PAIRS_MAX,
				      alpha / (double)n, &r);
		estimate[i] = r.estimate;
		m[i].ratio = exp(r.estimate);
		m[i].low = exp(r.low);
		m[i].high = exp(r.high);
		m[i].p = r.p;
		m[i].stays = m[i].hurts = false;
	}
	/* The surest first; each that is sure leaves the others more room. */
	for (size_t left = n; left; left--) {
		size_t i = screen_next_member(m, n, done);

		if (m[i].p > alpha / (double)left)
			break;
		done[i] = true;
		m[i].stays = estimate[i] >= matters;
		m[i].hurts = estimate[i] <= -matters;
	}
	arena_free(&a);
}

size_t screen_confirm_pairs(size_t n, double alpha)
{
	size_t k = 1;

	/* With k pairs p is at least 2 / 2^k. */
	while (k < RULE_PAIRS_MAX && ldexp(2, -(int)k) > alpha / (double)(n ? n : 1))
		k++;
	/* One pair of the other sign must not undo it. */
	return k + 4 < 12 ? 12 : k + 4;
}
