/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit: constants are logarithms with a normal prior around where they begin, errors are ratios
 * with heavy tails (Student's t with four degrees, by weights that follow the errors), found by
 * damped Gauss-Newton steps with differences for derivatives. The curvature at the end says which
 * constants the results decide.
 */
#include <math.h>
#include <string.h>

#include "models/inference/calibrate_parts.h"

/* How far predictions of a figure lie off, whatever the constants: what the equations leave out. */
static const double noise[LOG_FIGURES] = {
	[LOG_TTFT] = 0.15,    [LOG_TPOT] = 0.07,    [LOG_THROUGHPUT] = 0.10,
	[LOG_LATENCY] = 0.08, [LOG_PREFILL] = 0.10, [LOG_STEP] = 0.06,
};
static const double degrees = 4, difference = 0.02;
/* A constant is decided when its width is at most this part of what it was before. */
static const double decided = 0.6;

struct fit fit_at(const struct fit_problem *p)
{
	struct fit f = p->base;

	for (int i = 0; i < FITS; i++)
		if (p->active[i])
			f.v[i] = fmin(p->high[i], fmax(p->low[i], f.v[i] * exp(p->u[i])));
	return f;
}

static double prior_of(int id)
{
	double low, high;

	return calibrate_prior((enum fit_id)id, &low, &high);
}

/* log(predicted / measured) of each figure; 0 where the model says nothing. */
static void residuals(const struct fit_problem *p, const struct fit *f, double *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct calibrate_figure *g = &p->figures[i];
		struct ask q = p->runs[g->run].q.ask;
		double v;

		q.fit = f;
		v = p->left_out && p->left_out[i] ? 0 : calibrate_predict(&q, g->what);
		out[i] = v > 0 && isfinite(v) ? log(v / g->measured) : 0;
	}
}

/* jacobian[i * FITS + k]: how figure i moves with the logarithm of constant k. */
static void slopes(struct fit_problem *p, const double *r, double *jacobian, double *scratch)
{
	for (int k = 0; k < FITS; k++) {
		double u = p->u[k], by = difference;
		struct fit f;

		if (!p->active[k])
			continue;
		/* At an upper bound only the other way moves anything. */
		if (p->base.v[k] * exp(u + by) > p->high[k])
			by = -by;
		p->u[k] = u + by;
		f = fit_at(p);
		p->u[k] = u;
		residuals(p, &f, scratch);
		for (size_t i = 0; i < p->n; i++)
			jacobian[i * FITS + (size_t)k] = (scratch[i] - r[i]) / by;
	}
}

static double weight(const struct calibrate_figure *g, double r)
{
	double s = noise[g->what], t = r / s;

	return (degrees + 1) / (degrees + t * t) / (s * s);
}

/* Curvature and slope of the logarithm of the probability, over the active constants. */
static int normal(const struct fit_problem *p, const double *r, const double *jacobian,
		  double h[FITS][FITS], double g[FITS], int *ids)
{
	int n = 0;

	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			ids[n++] = k;
	for (int x = 0; x < n; x++) {
		double s = prior_of(ids[x]);

		for (int y = 0; y < n; y++)
			h[x][y] = 0;
		h[x][x] = 1 / (s * s);
		g[x] = p->u[ids[x]] / (s * s);
	}
	for (size_t i = 0; i < p->n; i++) {
		const double *j = &jacobian[i * FITS];
		double w = weight(&p->figures[i], r[i]);

		if (p->left_out && p->left_out[i])
			continue;
		for (int x = 0; x < n; x++) {
			g[x] += w * j[ids[x]] * r[i];
			for (int y = 0; y < n; y++)
				h[x][y] += w * j[ids[x]] * j[ids[y]];
		}
	}
	return n;
}

/* Cholesky in place; the prior makes it positive. */
static void factor(double h[FITS][FITS], int n)
{
	for (int x = 0; x < n; x++)
		for (int y = 0; y <= x; y++) {
			double sum = h[x][y];

			for (int k = 0; k < y; k++)
				sum -= h[x][k] * h[y][k];
			h[x][y] = x == y ? sqrt(fmax(sum, 1e-12)) : sum / h[y][y];
		}
}

static void solve(double h[FITS][FITS], int n, double *b)
{
	for (int x = 0; x < n; x++) {
		for (int k = 0; k < x; k++)
			b[x] -= h[x][k] * b[k];
		b[x] /= h[x][x];
	}
	for (int x = n - 1; x >= 0; x--) {
		for (int k = x + 1; k < n; k++)
			b[x] -= h[k][x] * b[k];
		b[x] /= h[x][x];
	}
}

/* Minus the logarithm of the probability, but for constants. */
static double cost(const struct fit_problem *p, const double *r)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!p->left_out || !p->left_out[i]) {
			double t = r[i] / noise[p->figures[i].what];

			sum += (degrees + 1) / 2 * log1p(t * t / degrees);
		}
	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			sum += p->u[k] * p->u[k] / (2 * prior_of(k) * prior_of(k));
	return sum;
}

static void clamp(struct fit_problem *p)
{
	for (int k = 0; k < FITS; k++)
		if (p->active[k])
			p->u[k] = fmin(log(p->high[k] / p->base.v[k]),
				       fmax(log(p->low[k] / p->base.v[k]), p->u[k]));
}

/* A step along g, halved until it makes things better. False: it does not. */
static bool step(struct fit_problem *p, const double *g, const int *ids, int n, double *r)
{
	double before = cost(p, r), old[FITS], size = 1, most = 0;

	memcpy(old, p->u, sizeof(old));
	for (int x = 0; x < n; x++)
		most = fmax(most, fabs(g[x]));
	if (most > 0.5)
		size = 0.5 / most;
	for (int tries = 0; tries < 6; tries++, size /= 2) {
		struct fit f;

		for (int x = 0; x < n; x++)
			p->u[ids[x]] = old[ids[x]] - size * g[x];
		clamp(p);
		f = fit_at(p);
		residuals(p, &f, r);
		if (cost(p, r) < before)
			return size * most > 1e-4;
	}
	memcpy(p->u, old, sizeof(old));
	return false;
}

static void widths(struct fit_problem *p, double h[FITS][FITS], const int *ids, int n)
{
	for (int x = 0; x < n; x++) {
		double unit[FITS] = { 0 };

		unit[x] = 1;
		solve(h, n, unit);
		p->sigma[ids[x]] = sqrt(fmax(unit[x], 0));
	}
}

void fit_solve(struct fit_problem *p, int steps)
{
	double *r = arena_array(p->a, p->n + 1, sizeof(*r)),
	       *jacobian = arena_array(p->a, (p->n + 1) * FITS, sizeof(*r)),
	       *scratch = arena_array(p->a, p->n + 1, sizeof(*r));
	double h[FITS][FITS], g[FITS];
	bool moving = true;
	int ids[FITS], n;

	for (int i = 0;; i++) {
		struct fit f = fit_at(p);

		residuals(p, &f, r);
		slopes(p, r, jacobian, scratch);
		n = normal(p, r, jacobian, h, g, ids);
		factor(h, n);
		if (!moving || i >= steps)
			break;
		solve(h, n, g);
		moving = step(p, g, ids, n, r);
	}
	widths(p, h, ids, n);
}

void fit_sensitive(struct fit_problem *p)
{
	double *r = arena_array(p->a, p->n + 1, sizeof(*r)),
	       *jacobian = arena_array(p->a, (p->n + 1) * FITS, sizeof(*r)),
	       *scratch = arena_array(p->a, p->n + 1, sizeof(*r));
	struct fit f;

	for (int k = 0; k < FITS; k++) {
		p->active[k] = prior_of(k) > 0 && p->base.v[k] > 0;
		p->u[k] = 0;
		p->sigma[k] = prior_of(k);
	}
	f = fit_at(p);
	residuals(p, &f, r);
	slopes(p, r, jacobian, scratch);
	for (int k = 0; k < FITS; k++) {
		double most = 0;

		for (size_t i = 0; p->active[k] && i < p->n; i++)
			most = fmax(most, fabs(jacobian[i * FITS + (size_t)k]));
		p->active[k] = most > 0.003;
	}
}

void fit_reduce(struct fit_problem *p)
{
	for (;;) {
		double most = decided;
		int worst = -1;

		for (int k = 0; k < FITS; k++)
			if (p->active[k] && p->sigma[k] / prior_of(k) > most) {
				most = p->sigma[k] / prior_of(k);
				worst = k;
			}
		if (worst < 0)
			return;
		p->active[worst] = false;
		p->u[worst] = 0;
		p->sigma[worst] = prior_of(worst);
		fit_solve(p, 4);
	}
}
