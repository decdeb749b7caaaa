/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last rounds of a search. Where the power limit holds the chip, who needs the least power is
 * the fastest, and that shows only after a while: finalists take turns, several times, so that the
 * warming of the chip is spread over all of them.
 */
#include "measure/bench/gemm_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINALISTS = 8, LAST_LOOK = 3, ROUNDS = 2, BATCH_MAX = 20000 };
/* How long the best one runs until it shows whether the power limit holds the chip. */
#define SETTLE_S 0.5
/* A clock below this share of what short runs had is held. */
#define HELD 0.96
/* The limit answers within half a second: only then a window shows who needs less power. */
#define LEAD_S 0.3
#define HELD_S 0.2
#define FREE_S 0.1

static int faster(const void *a, const void *b)
{
	double x = ((const struct gemm_candidate *)a)->seconds,
	       y = ((const struct gemm_candidate *)b)->seconds;

	return (x > y) - (x < y);
}

size_t gemm_search_sort(struct gemm_search *s, size_t most)
{
	size_t n = 0;

	qsort(s->all, s->n, sizeof(*s->all), faster);
	while (n < s->n && n < most && isfinite(s->all[n].seconds))
		n++;
	return n;
}

static size_t batch(double seconds, double one)
{
	return (size_t)fmin(fmax(seconds / one, 1), BATCH_MAX);
}

/* One window of one candidate. */
static int window(struct gemm_search *s, struct gemm_candidate *c, double lead_s, double seconds,
		  double *out, struct err *e)
{
	double one = c->seconds;
	int r = 0;

	if (gemm_stopped(s->u))
		return err_set(e, -EINTR, "interrupted");
	if (lead_s > 0)
		r = gemm_search_time(s, c, batch(lead_s, one), out, e);
	r = r ? r : gemm_search_time(s, c, batch(seconds, one), out, e);
	if (r == 0 && s->u->tell)
		s->u->tell(s->u->tell_ctx, *out);
	return r;
}

int gemm_search_each(struct gemm_search *s, size_t n, double lead_s, double seconds, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		double t = 0;

		r = window(s, &s->all[i], lead_s, seconds, &t, e);
		if (r == 0)
			s->all[i].seconds = t;
	}
	return r;
}

/* Moves candidate i to place at, behind those that are there already. */
static size_t bring(struct gemm_search *s, size_t i, size_t at)
{
	struct gemm_candidate c = s->all[i];

	if (i < at || at == FINALISTS || !isfinite(c.seconds))
		return at;
	memmove(&s->all[at + 1], &s->all[at], (i - at) * sizeof(c));
	s->all[at] = c;
	return at + 1;
}

/*
 * The finalists: of every way to store the operands the fastest one and the library's favourite,
 * because what is fast for a moment may need the most power; then whoever is fast.
 */
static size_t line_up(struct gemm_search *s)
{
	size_t at = 0, most = gemm_search_sort(s, s->n);

	for (size_t v = 0; v < s->n_variants; v++)
		for (size_t i = 0; i < most; i++)
			if (s->all[i].variant == v) {
				at = bring(s, i, at);
				break;
			}
	for (size_t i = at; i < most; i++)
		if (s->all[i].first)
			at = bring(s, i, at);
	while (at < most && at < FINALISTS)
		at = bring(s, at, at);
	return at;
}

static void rank(struct gemm_search *s, size_t n)
{
	s->n = n;
	qsort(s->all, s->n, sizeof(*s->all), faster);
}

/* Several rounds of the first n; each is as fast as the mean of its windows and of the one before.
 */
static int rounds(struct gemm_search *s, size_t n, double lead, double seconds, struct err *e)
{
	double sum[FINALISTS];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		sum[i] = s->all[i].seconds;
	for (size_t k = 0; k < ROUNDS && r == 0; k++)
		for (size_t i = 0; i < n && r == 0; i++) {
			double t = 0;

			r = window(s, &s->all[i], lead, seconds, &t, e);
			sum[i] += t;
		}
	for (size_t i = 0; i < n && r == 0; i++)
		s->all[i].seconds = sum[i] / (ROUNDS + 1);
	rank(s, n);
	return r;
}

int gemm_search_finals(struct gemm_search *s, double cold_mhz, struct err *e)
{
	size_t n = line_up(s);
	double mhz = 0, lead, seconds;
	int r = gemm_search_each(s, 1, 0, SETTLE_S, e);

	r = r ? r : gemm_unit_clock(s->u, &mhz, e);
	if (r)
		return r;
	lead = mhz < HELD * cold_mhz ? LEAD_S : 0;
	seconds = lead > 0 ? HELD_S : FREE_S;
	r = gemm_search_each(s, n, lead, seconds, e);
	rank(s, n);
	return r ? r : rounds(s, n < LAST_LOOK ? n : LAST_LOOK, lead, seconds, e);
}
