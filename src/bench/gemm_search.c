/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fastest way to a product: every way to store the operands, every algorithm that the library
 * proposes for it, each run, the best ones again and longer. The library's own first proposal is
 * often not the fastest, and some proposals fail when they are run.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#include "bench/gemm_unit.h"

enum { PROPOSALS = 64, VARIANTS = 4, VARIED = 512, SEEDS = 2, SECOND_LOOK = 12 };
enum { FINALISTS = 6, LAST_LOOK = 3 };
/* Of the budget, for the variations of one seed. */
#define VARY_SHARE 0.3
#define SECOND_S 0.015
#define SLOW_S 0.2
/* How long the best one runs until it shows whether the power limit holds the chip. */
#define SETTLE_S 0.5
/* A clock below this share of what short runs had is held. */
#define HELD 0.96
/* The limit answers within half a second: only then a window shows who needs less power. */
#define LEAD_S 0.4
#define HELD_S 0.4
#define FREE_S 0.1

struct variant {
	bool a_turned, b_turned, fast;
	struct cublaslt_plan *plan;
};

struct candidate {
	size_t variant;
	struct cublaslt_algorithm algorithm;
	bool first; /* what the library itself would take */
	double seconds;
};

struct search {
	struct gemm_unit *u;
	struct variant variants[VARIANTS];
	size_t n_variants;
	struct candidate *all; /* VARIANTS * PROPOSALS + SEEDS * VARIED */
	size_t n;
	double budget, deadline;
};

static bool stopped(const struct gemm_unit *u)
{
	return u->stop && atomic_load(u->stop);
}

/* -EOPNOTSUPP: it does not run, which says nothing of others. */
static int time_one(struct search *s, struct candidate *c, size_t n, double *seconds, struct err *e)
{
	struct gemm_unit *u = s->u;
	int r;

	u->plan = s->variants[c->variant].plan;
	u->choice.algorithm = c->algorithm;
	r = gemm_unit_start(u, n, e);
	/* What was queued before a refusal has to be over before anything else is. */
	if (r && !*u->gpu->lost) {
		struct err ignored;

		cuda_wait_stream(u->gpu, u->stream, GEMM_WAIT_S, "a refused product", &ignored);
		return -EOPNOTSUPP;
	}
	return r ? r : gemm_unit_finish(u, n, seconds, e);
}

static void add_variant(struct search *s, bool a_turned, bool b_turned, bool fast)
{
	s->variants[s->n_variants++] = (struct variant){ a_turned, b_turned, fast, NULL };
}

static void list_variants(struct search *s)
{
	const struct gemm_type *t = s->u->type;
	/* Only there the tensor cores have the choice. */
	bool quick = t->tn_only && t->a != CODE_I8 && !t->block && s->u->gpu->cc_major == 9;

	if (quick)
		add_variant(s, true, false, true);
	add_variant(s, true, false, false);
	if (t->tn_only)
		return;
	add_variant(s, false, false, false);
	add_variant(s, false, true, false);
}

/* The library's proposals for one variant. What it does not know is no error. */
static int propose(struct search *s, size_t v, struct err *e)
{
	struct cublaslt_algorithm *found = calloc(PROPOSALS + 4, sizeof(*found));
	struct gemm_choice c = { .a_turned = s->variants[v].a_turned,
				 .b_turned = s->variants[v].b_turned,
				 .fast = s->variants[v].fast };
	struct cublaslt_shape shape;
	int n = 0, r;

	if (!found)
		return err_set(e, -ENOMEM, "no memory");
	gemm_unit_shape(s->u, &c, &shape);
	r = cublaslt_plan_make(s->u->lt, s->u->gpu, &shape, &s->variants[v].plan, e);
	r = r ? r
	      : cublaslt_plan_search(s->variants[v].plan, s->u->workspace_bytes, found, PROPOSALS,
				     &n, e);
	for (int i = 0; r == 0 && i < n; i++)
		if (found[i].state == CUBLASLT_OK && found[i].workspace <= s->u->workspace_bytes)
			s->all[s->n++] = (struct candidate){ v, found[i], i == 0, INFINITY };
	free(found);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* One candidate that may not run; the second of two runs counts. */
static int try_one(struct search *s, struct candidate *c, struct err *e)
{
	double seconds = 0;
	int r = time_one(s, c, 1, &seconds, e);

	r = r ? r : time_one(s, c, 1, &seconds, e);
	if (r == 0)
		c->seconds = seconds;
	s->u->choice.tried += r == 0;
	return r == -EOPNOTSUPP ? 0 : r;
}

/* Each runs twice, the second time counts. Proposals come best first: the rest may be left out. */
static int first_look(struct search *s, struct err *e)
{
	for (size_t i = 0; i < PROPOSALS; i++) {
		size_t seen[VARIANTS] = { 0 };

		for (size_t k = 0; k < s->n; k++) {
			struct candidate *c = &s->all[k];
			int r;

			/* Number i of every variant in turn. */
			if (seen[c->variant]++ != i)
				continue;
			if (stopped(s->u))
				return err_set(e, -EINTR, "interrupted");
			if (clock_mono_s() > s->deadline + (i < 4 ? 2 * s->budget : 0) && i > 0)
				return 0;
			r = try_one(s, c, e);
			if (r)
				return r;
		}
	}
	return 0;
}

static int faster(const void *a, const void *b)
{
	double x = ((const struct candidate *)a)->seconds,
	       y = ((const struct candidate *)b)->seconds;

	return (x > y) - (x < y);
}

static size_t sort(struct search *s, size_t most)
{
	size_t n = 0;

	qsort(s->all, s->n, sizeof(*s->all), faster);
	while (n < s->n && n < most && isfinite(s->all[n].seconds))
		n++;
	return n;
}

/* The first n, each for so many seconds, behind so many that do not count. */
static int run_each(struct search *s, size_t n, double lead_s, double seconds, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct candidate *c = &s->all[i];
		double one = c->seconds, t = 0;
		int r = 0;

		if (stopped(s->u))
			return err_set(e, -EINTR, "interrupted");
		if (lead_s > 0)
			r = time_one(s, c, (size_t)fmin(fmax(lead_s / one, 1), 20000), &t, e);
		r = r ? r : time_one(s, c, (size_t)fmin(fmax(seconds / one, 1), 20000), &t, e);
		if (r)
			return r;
		c->seconds = t;
	}
	return 0;
}

/* Moves candidate i to place at, behind those that are there already. */
static size_t bring(struct search *s, size_t i, size_t at)
{
	struct candidate c = s->all[i];

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
static size_t line_up(struct search *s)
{
	size_t at = 0, most = sort(s, s->n);

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

static void rank(struct search *s, size_t n)
{
	s->n = n;
	qsort(s->all, s->n, sizeof(*s->all), faster);
}

/* Under the conditions of a long run: warm, and held by the power limit where it is. */
static int finals(struct search *s, double cold_mhz, struct err *e)
{
	size_t n = line_up(s), last;
	double mhz = 0, lead, seconds;
	int r = run_each(s, 1, 0, SETTLE_S, e);

	r = r ? r : gemm_unit_clock(s->u, &mhz, e);
	if (r)
		return r;
	lead = mhz < HELD * cold_mhz ? LEAD_S : 0;
	seconds = lead > 0 ? HELD_S : FREE_S;
	r = run_each(s, n, lead, seconds, e);
	rank(s, n);
	last = n < LAST_LOOK ? n : LAST_LOOK;
	r = r ? r : run_each(s, last, lead, seconds, e);
	rank(s, last);
	return r;
}

/* What the proposals leave out: other tiles, clusters and orders of the best ones. */
static int vary(struct search *s, struct err *e)
{
	struct cublaslt_algorithm *found = calloc(VARIED, sizeof(*found));
	size_t seeds = sort(s, SEEDS), n;
	int r = 0;

	if (!found)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < seeds && r == 0; i++) {
		struct candidate *seed = &s->all[i];
		double until = clock_mono_s() + s->budget * VARY_SHARE;

		n = (size_t)cublaslt_plan_vary(s->variants[seed->variant].plan, &seed->algorithm,
					       s->u->workspace_bytes, found, VARIED);
		for (size_t k = 0; k < n && r == 0 && clock_mono_s() < until && !stopped(s->u);
		     k++) {
			s->all[s->n] =
				(struct candidate){ seed->variant, found[k], false, INFINITY };
			r = try_one(s, &s->all[s->n++], e);
		}
	}
	free(found);
	return r;
}

static void take(struct search *s)
{
	struct gemm_choice *c = &s->u->choice;
	struct variant *v = &s->variants[s->all[0].variant];
	char text[96];

	c->made = true;
	c->a_turned = v->a_turned;
	c->b_turned = v->b_turned;
	c->fast = v->fast;
	c->algorithm = s->all[0].algorithm;
	c->seconds = s->all[0].seconds;
	cublaslt_describe(s->u->lt, &c->algorithm, text, sizeof(text));
	snprintf(c->text, sizeof(c->text), "%s, %c%c%s, best of %zu", text, c->a_turned ? 'T' : 'N',
		 c->b_turned ? 'T' : 'N', c->fast ? ", quick sums" : "", c->tried);
	s->u->plan = v->plan;
	v->plan = NULL;
}

static int search(struct search *s, struct err *e)
{
	double cold_mhz = 0;
	int r = 0;

	list_variants(s);
	for (size_t v = 0; v < s->n_variants && r == 0; v++)
		r = propose(s, v, e);
	if (r)
		return r;
	r = s->n ? first_look(s, e) : 0;
	if (r == 0 && !sort(s, 1))
		return err_set(e, -EOPNOTSUPP,
			       "GPU %s: cuBLASLt %d.%d.%d has no algorithm for %s here (%zu were "
			       "proposed)",
			       s->u->gpu->pci, s->u->lt->version[0], s->u->lt->version[1],
			       s->u->lt->version[2], s->u->type->name, s->n);
	r = r ? r : gemm_unit_clock(s->u, &cold_mhz, e);
	/* FP64 on a chip that has next to none: a second look would take a minute. */
	if (r || s->all[0].seconds > SLOW_S)
		return r;
	r = vary(s, e);
	/* A test of ourselves has seen enough. */
	if (r || s->budget < SETTLE_S) {
		sort(s, 1);
		return r;
	}
	r = run_each(s, sort(s, SECOND_LOOK), 0, SECOND_S, e);
	return r ? r : finals(s, cold_mhz, e);
}

/* The plan of a choice that was made before. */
static int again(struct gemm_unit *u, const struct gemm_choice *known, struct err *e)
{
	struct cublaslt_shape shape;

	u->choice = *known;
	gemm_unit_shape(u, known, &shape);
	return cublaslt_plan_make(u->lt, u->gpu, &shape, &u->plan, e);
}

int gemm_unit_choose(struct gemm_unit *u, struct gemm_choice *known, double budget_s, struct err *e)
{
	struct search s = { .u = u, .budget = budget_s, .deadline = clock_mono_s() + budget_s };
	int r;

	if (known->made)
		return again(u, known, e);
	s.all = calloc((size_t)VARIANTS * PROPOSALS + SEEDS * VARIED, sizeof(*s.all));
	if (!s.all)
		return err_set(e, -ENOMEM, "no memory");
	r = search(&s, e);
	if (r == 0)
		take(&s);
	else
		u->plan = NULL; /* one of those that end here */
	for (size_t v = 0; v < s.n_variants; v++)
		cublaslt_plan_end(s.variants[v].plan);
	free(s.all);
	if (r == 0)
		*known = u->choice;
	return r;
}
