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
#include "measure/bench/gemm_data.h"
#include "measure/bench/gemm_search.h"

enum { PROPOSALS = 64, VARIED = 512, SEEDS = 2, OPTIONS = 64, OPTION_SEEDS = 3 };
enum {
	SECOND_LOOK = 16,
	ALL = GEMM_VARIANTS * PROPOSALS + SEEDS * VARIED + OPTION_SEEDS * OPTIONS
};
/* Of the budget, for the variations of one seed, and for its options. */
#define VARY_SHARE 0.3
#define OPTION_SHARE 0.15
#define SECOND_S 0.015
#define SLOW_S 0.2
/* Without as much, a search has no finals: a test of ourselves has seen enough. */
#define FINALS_S 0.5
int gemm_search_time(struct gemm_search *s, struct gemm_candidate *c, size_t n, double *seconds,
		     struct err *e)
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

static void add_variant(struct gemm_search *s, bool a_turned, bool b_turned, bool fast)
{
	s->variants[s->n_variants++] = (struct gemm_variant){ a_turned, b_turned, fast, NULL };
}

static void list_variants(struct gemm_search *s)
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
static int propose(struct gemm_search *s, size_t v, struct err *e)
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
			s->all[s->n++] = (struct gemm_candidate){ v, found[i], i == 0, INFINITY };
	free(found);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* One candidate that may not run; the second of two runs counts. */
static int try_one(struct gemm_search *s, struct gemm_candidate *c, struct err *e)
{
	double seconds = 0;
	int r = gemm_search_time(s, c, 1, &seconds, e);

	r = r ? r : gemm_search_time(s, c, 1, &seconds, e);
	if (r == 0)
		c->seconds = seconds;
	s->u->choice.tried += r == 0;
	return r == -EOPNOTSUPP ? 0 : r;
}

/* Each runs twice, the second time counts. Proposals come best first: the rest may be left out. */
static int first_look(struct gemm_search *s, struct err *e)
{
	for (size_t i = 0; i < PROPOSALS; i++) {
		size_t seen[GEMM_VARIANTS] = { 0 };

		for (size_t k = 0; k < s->n; k++) {
			struct gemm_candidate *c = &s->all[k];
			int r;

			/* Number i of every variant in turn. */
			if (seen[c->variant]++ != i)
				continue;
			if (gemm_stopped(s->u))
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

/* What the proposals leave out: other tiles, clusters and orders of the best ones. */
static int vary(struct gemm_search *s, struct err *e)
{
	struct cublaslt_algorithm *found = calloc(VARIED, sizeof(*found));
	size_t seeds = gemm_search_sort(s, SEEDS), n;
	int r = 0;

	if (!found)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < seeds && r == 0; i++) {
		struct gemm_candidate *seed = &s->all[i];
		double until = clock_mono_s() + s->budget * VARY_SHARE;

		n = (size_t)cublaslt_plan_vary(s->variants[seed->variant].plan, &seed->algorithm,
					       s->u->workspace_bytes, found, VARIED);
		for (size_t k = 0; k < n && r == 0 && clock_mono_s() < until && !gemm_stopped(s->u);
		     k++) {
			s->all[s->n] =
				(struct gemm_candidate){ seed->variant, found[k], false, INFINITY };
			r = try_one(s, &s->all[s->n++], e);
		}
	}
	free(found);
	return r;
}

/* Other options of the best: what they are no document tells, only that some need less power. */
static int vary_options(struct gemm_search *s, struct err *e)
{
	struct cublaslt_algorithm *found = calloc(OPTIONS, sizeof(*found));
	size_t seeds = gemm_search_sort(s, OPTION_SEEDS), n;
	int r = 0;

	if (!found)
		return err_set(e, -ENOMEM, "no memory");
	for (size_t i = 0; i < seeds && r == 0; i++) {
		struct gemm_candidate seed = s->all[i];
		double until = clock_mono_s() + s->budget * OPTION_SHARE;

		n = (size_t)cublaslt_plan_options(s->variants[seed.variant].plan, &seed.algorithm,
						  s->u->workspace_bytes, found, OPTIONS);
		for (size_t k = 0; k < n && r == 0 && clock_mono_s() < until && !gemm_stopped(s->u);
		     k++) {
			s->all[s->n] =
				(struct gemm_candidate){ seed.variant, found[k], false, INFINITY };
			r = try_one(s, &s->all[s->n++], e);
		}
	}
	free(found);
	return r;
}

static void take(struct gemm_search *s)
{
	struct gemm_choice *c = &s->u->choice;
	struct gemm_variant *v = &s->variants[s->all[0].variant];
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

static int search(struct gemm_search *s, struct err *e)
{
	double cold_mhz = 0;
	int r = 0;

	list_variants(s);
	for (size_t v = 0; v < s->n_variants && r == 0; v++)
		r = propose(s, v, e);
	if (r)
		return r;
	r = s->n ? first_look(s, e) : 0;
	if (r == 0 && !gemm_search_sort(s, 1))
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
	r = r ? r : vary_options(s, e);
	if (r || s->budget < FINALS_S) {
		gemm_search_sort(s, 1);
		return r;
	}
	r = gemm_search_each(s, gemm_search_sort(s, SECOND_LOOK), 0, SECOND_S, e);
	return r ? r : gemm_search_finals(s, cold_mhz, e);
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
	struct gemm_search s = { .u = u,
				 .budget = budget_s,
				 .deadline = clock_mono_s() + budget_s };
	int r;

	if (u->type->sparse)
		return gemm_sparse_choose(u, known, e);
	if (known->made)
		return again(u, known, e);
	s.all = calloc(ALL, sizeof(*s.all));
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

int gemm_unit_glance(struct gemm_unit *u, double for_s, double *seconds, struct err *e)
{
	struct gemm_candidate one[PROPOSALS] = { 0 };
	struct gemm_search s = { .u = u, .all = one };
	int r;

	if (u->type->sparse)
		return gemm_sparse_glance(u, for_s, seconds, e);
	list_variants(&s);
	r = propose(&s, 0, e);
	if (r == 0 && !s.n)
		r = err_set(e, -EOPNOTSUPP, "nothing was proposed");
	/* What is loaded at first use is loaded here. */
	r = r ? r : gemm_search_time(&s, one, 1, seconds, e);
	r = r ? r : gemm_search_time(&s, one, 1, seconds, e);
	if (r == 0)
		r = gemm_search_time(&s, one, (size_t)fmax(for_s / *seconds, 1), seconds, e);
	u->plan = NULL;
	cublaslt_plan_end(s.variants[0].plan);
	return r;
}
