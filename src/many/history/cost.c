/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares over the steps of many machines, and who can be told from whom. */
#include "many/history/cost.h"

#include <math.h>
#include <string.h>

#include "base/stat.h"

enum { STEPS_MAX = 32 }; /* of one machine that are left out at once */

/* Below this share of a column nothing of its own is left. */
static const double nothing_own = 1e-7;

struct model {
	const struct cost_step *steps;
	size_t n, causes, machines;
	size_t k;			 /* columns that are estimated */
	size_t column[COST_CAUSES_MAX];	 /* their causes */
	double *cross, *right, *inverse; /* k by k, and k */
	double at[COST_CAUSES_MAX];	 /* the estimate */
	double variance[COST_CAUSES_MAX];
	bool blurred[COST_CAUSES_MAX]; /* of causes: others together do the same */
};

static bool same_column(const struct model *m, size_t x, size_t y)
{
	int sign = 0;

	for (size_t i = 0; i < m->n; i++) {
		int p = m->steps[i].cause[x], q = m->steps[i].cause[y];

		if (!p != !q || (sign && p && p * q != sign))
			return false;
		sign = p ? p * q : sign;
	}
	return true;
}

/* What changes always together is one column. */
static void group_columns(struct model *m, struct cost *out)
{
	for (size_t c = 0; c < m->causes; c++) {
		size_t last = SIZE_MAX;

		out[c] = (struct cost){ RULING_UNDECIDED, 1, 0, (double)INFINITY, 0, c, NULL };
		for (size_t i = 0; i < m->n; i++) {
			if (m->steps[i].cause[c] && m->steps[i].machine != last)
				out[c].machines++;
			last = m->steps[i].cause[c] ? m->steps[i].machine : last;
		}
		for (size_t b = 0; b < c && out[c].with == c; b++)
			if (out[b].with == b && same_column(m, b, c))
				out[c].with = b;
		if (out[c].with == c && out[c].machines)
			m->column[m->k++] = c;
	}
}

static void add_steps(struct model *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct cost_step *s = &m->steps[i];

		for (size_t r = 0; r < m->k; r++) {
			double x = s->weight * s->cause[m->column[r]];

			if (!s->cause[m->column[r]])
				continue;
			m->right[r] += x * s->better;
			for (size_t c = 0; c < m->k; c++)
				m->cross[r * m->k + c] += x * s->cause[m->column[c]];
		}
	}
}

/* The inverse, by Gauss and Jordan with the largest pivot on the diagonal; what depends on others
 * is left out of it and marked in is_free. work: k by 2 k. */
static void invert(const double *cross, size_t k, double *work, double *inverse, bool *is_free)
{
	bool done[COST_CAUSES_MAX] = { false };
	size_t w = 2 * k;

	memset(work, 0, k * w * sizeof(*work));
	for (size_t r = 0; r < k; r++) {
		memcpy(work + r * w, cross + r * k, k * sizeof(*work));
		work[r * w + k + r] = 1;
	}
	for (size_t step = 0; step < k; step++) {
		size_t p = SIZE_MAX;
		double share = nothing_own;

		for (size_t r = 0; r < k; r++)
			if (!done[r] && work[r * w + r] > share * cross[r * k + r]) {
				share = work[r * w + r] / cross[r * k + r];
				p = r;
			}
		if (p == SIZE_MAX)
			break;
		done[p] = true;
		for (size_t r = 0; r < k; r++) {
			double f = r == p ? 0 : work[r * w + p] / work[p * w + p];

			for (size_t c = 0; f != 0 && c < w; c++)
				work[r * w + c] -= f * work[p * w + c];
		}
	}
	for (size_t r = 0; r < k; r++) {
		for (size_t c = 0; c < k; c++)
			inverse[r * k + c] =
				done[r] && done[c] ? work[r * w + k + c] / work[r * w + r] : 0;
		is_free[r] = !done[r];
	}
}

/* A column that depends on others takes their meaning: none of them can be named. */
static void blur(struct model *m, const bool *is_free)
{
	for (size_t f = 0; f < m->k; f++) {
		if (!is_free[f])
			continue;
		m->blurred[m->column[f]] = true;
		for (size_t r = 0; r < m->k; r++) {
			double on = 0;

			for (size_t c = 0; c < m->k; c++)
				on += m->inverse[r * m->k + c] * m->cross[c * m->k + f];
			m->blurred[m->column[r]] |= fabs(on) > 1e-6;
		}
	}
}

/* u of (I - H) u = e, n by n, in place. False: it has none. */
static bool small_solve(double *h, double *u, size_t n)
{
	for (size_t p = 0; p < n; p++) {
		if (h[p * n + p] < 1e-9)
			return false;
		for (size_t r = p + 1; r < n; r++) {
			double f = h[r * n + p] / h[p * n + p];

			for (size_t c = p; c < n; c++)
				h[r * n + c] -= f * h[p * n + c];
			u[r] -= f * u[p];
		}
	}
	for (size_t p = n; p-- > 0;) {
		for (size_t c = p + 1; c < n; c++)
			u[p] -= h[p * n + c] * u[c];
		u[p] /= h[p * n + p];
	}
	return true;
}

/* How far the estimate without these steps lies from the one with all, squared, onto variance. */
static void without(struct model *m, size_t from, size_t n)
{
	double x[STEPS_MAX][COST_CAUSES_MAX], ax[STEPS_MAX][COST_CAUSES_MAX],
		h[STEPS_MAX * STEPS_MAX], u[STEPS_MAX];
	size_t k = m->k;

	for (size_t i = 0; i < n; i++) {
		const struct cost_step *s = &m->steps[from + i];
		double root = sqrt(s->weight), fit = 0;

		memset(ax[i], 0, sizeof(ax[i]));
		for (size_t r = 0; r < k; r++) {
			x[i][r] = root * s->cause[m->column[r]];
			fit += x[i][r] * m->at[r];
			for (size_t c = 0; x[i][r] != 0 && c < k; c++)
				ax[i][c] += m->inverse[r * k + c] * x[i][r];
		}
		u[i] = root * s->better - fit;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			double dot = 0;

			for (size_t r = 0; r < k; r++)
				dot += x[i][r] * ax[j][r];
			h[i * n + j] = (i == j) - dot;
		}
	if (!small_solve(h, u, n)) {
		/* Known from this machine alone: nothing is known of its spread. */
		for (size_t i = 0; i < n; i++)
			for (size_t r = 0; r < k; r++)
				if (x[i][r] != 0)
					m->variance[r] = (double)INFINITY;
		return;
	}
	for (size_t r = 0; r < k; r++) {
		double off = 0;

		for (size_t i = 0; i < n; i++)
			off += ax[i][r] * u[i];
		m->variance[r] += off * off;
	}
}

/* The estimate, and its spread where each machine is left out in turn. */
static void estimate(struct model *m)
{
	for (size_t r = 0; r < m->k; r++)
		for (size_t c = 0; c < m->k; c++)
			m->at[r] += m->inverse[r * m->k + c] * m->right[c];
	for (size_t from = 0, to; from < m->n; from = to) {
		for (to = from; to < m->n && to - from < STEPS_MAX &&
				m->steps[to].machine == m->steps[from].machine;)
			to++;
		without(m, from, to - from);
		m->machines++;
	}
	for (size_t r = 0; r < m->k; r++)
		m->variance[r] *= (double)(m->machines - 1) / (double)m->machines;
}

enum ruling_kind cost_ruling(double ratio, double low, double high, double min_effect)
{
	if (low > 1 && ratio >= 1 + min_effect)
		return RULING_HELPS;
	if (high < 1 && ratio <= 1 / (1 + min_effect))
		return RULING_HURTS;
	return low >= 1 / (1 + min_effect) && high <= 1 + min_effect ? RULING_NO_DIFFERENCE
								     : RULING_UNDECIDED;
}

static void rule_on(const struct model *m, size_t r, double level, double min_effect,
		    struct cost *c)
{
	size_t df = c->machines < m->machines - m->k ? c->machines : m->machines - m->k;
	double t = stat_t_quantile(1 - level / 2, (double)(df - 1)), s = sqrt(m->variance[r]);

	c->ratio = exp(m->at[r]);
	if (!isfinite(s))
		return;
	c->low = exp(m->at[r] - t * s);
	c->high = exp(m->at[r] + t * s);
	c->kind = cost_ruling(c->ratio, c->low, c->high, min_effect);
	if (c->kind == RULING_UNDECIDED)
		c->why = "the interval is too wide: more machines or measurements would decide";
}

void cost_separate(struct arena *a, const struct cost_step *steps, size_t n, size_t causes,
		   double alpha, double min_effect, struct cost *out)
{
	struct model m = { .steps = steps, .n = n, .causes = causes };
	bool is_free[COST_CAUSES_MAX] = { false };

	group_columns(&m, out);
	m.cross = arena_array(a, m.k * m.k, sizeof(*m.cross));
	m.inverse = arena_array(a, m.k * m.k, sizeof(*m.inverse));
	m.right = arena_array(a, m.k, sizeof(*m.right));
	add_steps(&m);
	invert(m.cross, m.k, arena_array(a, 2 * m.k * m.k, sizeof(double)), m.inverse, is_free);
	blur(&m, is_free);
	if (m.k)
		estimate(&m);
	for (size_t r = 0; r < m.k; r++) {
		struct cost *c = &out[m.column[r]];

		if (m.blurred[m.column[r]])
			c->why = "other changes together occurred on the same machines at the same "
				 "times, so their effects are not separable";
		else if (c->machines < COST_MACHINES_LEAST ||
			 m.machines < m.k + COST_MACHINES_LEAST)
			c->why = "too few machines changed to separate its effect from the others";
		else
			rule_on(&m, r, alpha / (double)m.k, min_effect, c);
	}
	for (size_t c = 0; c < causes; c++)
		if (out[c].with != c) {
			size_t with = out[c].with, machines = out[c].machines;

			out[c] = out[with];
			out[c].with = with;
			out[c].machines = machines;
		}
}
