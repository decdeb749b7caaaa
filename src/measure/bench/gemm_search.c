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
#include "measure/bench/gemm_unit.h"
#include "measure/bench/gemm.h"

enum { GEMM_VARIANTS = 4 };

/* A way to store the operands. */
struct gemm_variant {
	bool a_turned, b_turned, fast;
	struct cublaslt_plan *plan;
};

struct gemm_candidate {
	size_t variant;
	struct cublaslt_algorithm algorithm;
	bool first; /* what the library itself would take */
	double seconds;
};

struct gemm_search {
	struct gemm_unit *u;
	struct gemm_variant variants[GEMM_VARIANTS];
	size_t n_variants;
	struct gemm_candidate *all;
	size_t n;
	double budget, deadline;
};

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

/* n products by that candidate; seconds of one. -EOPNOTSUPP: it does not run, which says nothing
 * of others. */
static int gemm_search_time(struct gemm_search *s, struct gemm_candidate *c, size_t n,
			    double *seconds, struct err *e)
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

/*
 * The last rounds of a search. Where the power limit holds the chip, who needs the least power is
 * the fastest, and that shows only after a while: finalists take turns, several times, so that the
 * warming of the chip is spread over all of them.
 */

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

/* Fastest first; how many of them ran, at most most. */
static size_t gemm_search_sort(struct gemm_search *s, size_t most)
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
static int gemm_search_window(struct gemm_search *s, struct gemm_candidate *c, double lead_s,
			      double seconds, double *out, struct err *e)
{
	double one = c->seconds;
	int r = gemm_look_stop(s->u, e);

	if (r == 0 && lead_s > 0)
		r = gemm_search_time(s, c, batch(lead_s, one), out, e);
	r = r ? r : gemm_search_time(s, c, batch(seconds, one), out, e);
	if (r == 0 && s->u->tell)
		s->u->tell(s->u->tell_ctx, *out);
	return r;
}

/* The first n of all, each for so many seconds, behind so many that do not count. */
static int gemm_search_each(struct gemm_search *s, size_t n, double lead_s, double seconds,
			    struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		double t = 0;

		r = gemm_search_window(s, &s->all[i], lead_s, seconds, &t, e);
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
static int gemm_search_rounds(struct gemm_search *s, size_t n, double lead, double seconds,
			      struct err *e)
{
	double sum[FINALISTS];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		sum[i] = s->all[i].seconds;
	for (size_t k = 0; k < ROUNDS && r == 0; k++)
		for (size_t i = 0; i < n && r == 0; i++) {
			double t = 0;

			r = gemm_search_window(s, &s->all[i], lead, seconds, &t, e);
			sum[i] += t;
		}
	for (size_t i = 0; i < n && r == 0; i++)
		s->all[i].seconds = sum[i] / (ROUNDS + 1);
	rank(s, n);
	return r;
}

/* Under the conditions of a long run: warm, and held by the power limit where it is. cold_mhz: the
 * clock of short runs. Leaves the best one first. */
static int gemm_search_finals(struct gemm_search *s, double cold_mhz, struct err *e)
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
	return r ? r : gemm_search_rounds(s, n < LAST_LOOK ? n : LAST_LOOK, lead, seconds, e);
}

/* --- the search ------------------------------------------------------------------------------- */

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
	struct cublaslt_algorithm *found = heap_array(PROPOSALS + 4, sizeof(*found));
	struct gemm_choice c = { .a_turned = s->variants[v].a_turned,
				 .b_turned = s->variants[v].b_turned,
				 .fast = s->variants[v].fast };
	struct cublaslt_shape shape;
	int n = 0, r;

	gemm_unit_shape(s->u, &c, &shape);
	r = cublaslt_plan_make(s->u->lt, s->u->gpu, &shape, &s->variants[v].plan, e);
	r = r ? r
	      : cublaslt_plan_search(s->variants[v].plan, s->u->workspace_bytes, found, PROPOSALS,
				     &n, e);
	for (int i = 0; r == 0 && i < n; i++)
		if (found[i].state == CUBLAS_STATUS_SUCCESS &&
		    found[i].workspace <= s->u->workspace_bytes)
			s->all[s->n++] = (struct gemm_candidate){ v, found[i], i == 0, INFINITY };
	free(found);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* One candidate that may not run; the second of two runs counts. */
static int gemm_search_try_one(struct gemm_search *s, struct gemm_candidate *c, struct err *e)
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
			r = gemm_search_try_one(s, c, e);
			if (r)
				return r;
		}
	}
	return 0;
}

/* Changes of an algorithm: how many were written to found, room at most. */
typedef int gemm_change(struct cublaslt_plan *p, const struct cublaslt_algorithm *seed,
			size_t workspace, struct cublaslt_algorithm *found, int room);

/* Tries changes of the first seeds candidates, each for that share of the budget. */
static int vary(struct gemm_search *s, gemm_change *change, size_t most_seeds, int room,
		double share, struct err *e)
{
	struct cublaslt_algorithm *found = heap_array((size_t)room, sizeof(*found));
	size_t seeds = gemm_search_sort(s, most_seeds);
	int r = 0;

	for (size_t i = 0; i < seeds && r == 0; i++) {
		struct gemm_candidate *seed = &s->all[i];
		double until = clock_mono_s() + s->budget * share;
		size_t n = (size_t)change(s->variants[seed->variant].plan, &seed->algorithm,
					  s->u->workspace_bytes, found, room);

		for (size_t k = 0; k < n && r == 0 && clock_mono_s() < until && !gemm_stopped(s->u);
		     k++) {
			s->all[s->n] =
				(struct gemm_candidate){ seed->variant, found[k], false, INFINITY };
			r = gemm_search_try_one(s, &s->all[s->n++], e);
		}
	}
	free(found);
	return r;
}

static void gemm_search_take(struct gemm_search *s)
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
		 c->b_turned ? 'T' : 'N', c->fast ? ", fast accumulation" : "", c->tried);
	s->u->plan = v->plan;
	v->plan = NULL;
}

static int gemm_search_search(struct gemm_search *s, struct err *e)
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
			       "GPU %s: cuBLASLt %d.%d.%d has no usable algorithm for %s (it "
			       "proposed %zu)",
			       s->u->gpu->pci, s->u->lt->version[0], s->u->lt->version[1],
			       s->u->lt->version[2], s->u->type->name, s->n);
	r = r ? r : gemm_unit_clock(s->u, &cold_mhz, e);
	/* FP64 on a chip that has next to none: a second look would take a minute. */
	if (r || s->all[0].seconds > SLOW_S)
		return r;
	/* What the proposals leave out: other tiles, clusters and orders of the best ones; then
	 * other options of them: what they are no document tells, only that some need less power.
	 */
	r = vary(s, cublaslt_plan_vary, SEEDS, VARIED, VARY_SHARE, e);
	r = r ? r : vary(s, cublaslt_plan_options, OPTION_SEEDS, OPTIONS, OPTION_SHARE, e);
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
	s.all = heap_array(ALL, sizeof(*s.all));
	r = gemm_search_search(&s, e);
	if (r == 0)
		gemm_search_take(&s);
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
		r = err_set(e, -EOPNOTSUPP, "no proposals");
	/* What is loaded at first use is loaded here. */
	r = r ? r : gemm_look_stop(u, e);
	r = r ? r : gemm_search_time(&s, one, 1, seconds, e);
	r = r ? r : gemm_search_time(&s, one, 1, seconds, e);
	if (r == 0)
		r = gemm_search_time(&s, one, (size_t)fmax(for_s / *seconds, 1), seconds, e);
	for (unsigned i = 0; r == 0 && i < u->checks; i++) {
		r = gemm_look_stop(u, e);
		r = r ? r : gemm_unit_repeat(u, e);
	}
	u->plan = NULL;
	cublaslt_plan_end(s.variants[0].plan);
	return r;
}

/*
 * Operations a clock follow from the data sheets (knowledge/gpus.rows) by dividing by
 * multiprocessors and the clock that the sheet goes with; the test holds both tables together.
 */

#define BY_SHEET "from the data sheet, multiprocessors and boost clock"

static const struct gemm_unit_row gemm_units[] = {
	{ 80, 128, 128, 1024, 2048, 0, 0, 4096, BY_SHEET " of A100" },
	{ 89, 4, 256, 512, 1024, 2048, 0, 2048, BY_SHEET " of RTX 6000 Ada and L40S" },
	{ 90, 256, 256, 2048, 4096, 8192, 0, 8192, BY_SHEET " of H100 and H200 SXM" },
	{ 100, 128, 256, 4096, 8192, 16384, 32768, 16384, BY_SHEET " of B200" },
	{ 120, 4, 256, 512, 1024, 2048, 4096, 2048, BY_SHEET " of RTX PRO 6000" },
	{ 121, 4, 256, 512, 1024, 2048, 4096, 2048,
	  "48 multiprocessors at 2.55 GHz for the published FP4 petaflop of DGX Spark, which "
	  "counts sparsity" },
};
static const size_t gemm_unit_count = sizeof(gemm_units) / sizeof(gemm_units[0]);

/* Both tables have the columns in the same order. */
enum column { FP64, FP32, TF32, HALF, FP8, FP4, INT8 };

static enum column gemm_search_column_of(const struct gemm_type *t)
{
	switch (t->a) {
	case CODE_F64:
		return FP64;
	case CODE_F32:
		return t->tf32 ? TF32 : FP32;
	case CODE_E4M3:
	case CODE_E5M2:
		return FP8;
	case CODE_E2M1:
		return FP4;
	case CODE_I8:
		return INT8;
	default:
		return HALF;
	}
}

/* GeForce sums in FP32 at half the rate of a professional card with the same chip; NVIDIA, Ada and
 * RTX Blackwell architecture papers: 165 and 210 TFLOP/s of an RTX 4090 and 5090. Products in FP4
 * and integers have the whole rate. */
static double geforce_part(const char *gpu, unsigned cc, enum column c)
{
	bool tensor = c == TF32 || c == HALF || c == FP8;

	return tensor && (cc == 89 || cc == 120) && strstr(gpu, "GeForce") ? 0.5 : 1;
}

double gemm_peak_at(const struct gemm_type *t, const char *gpu, unsigned cc, unsigned sms,
		    double mhz)
{
	for (size_t i = 0; i < gemm_unit_count; i++) {
		const struct gemm_unit_row *r = &gemm_units[i];
		const double ops[] = {
			r->fp64, r->fp32, r->tf32, r->half, r->fp8, r->fp4, r->int8
		};

		if (r->cc == cc)
			return ops[gemm_search_column_of(t)] *
			       geforce_part(gpu, cc, gemm_search_column_of(t)) * sms * mhz / 1e6 *
			       (t->sparse ? 2 : 1);
	}
	return 0;
}

double gemm_peak_sheet(const struct gemm_type *t, const char *gpu, const struct gpu_kind **s)
{
	*s = NULL;
	for (const struct gpu_kind *g = gpu_kinds; g->name; g++) {
		const double tera[] = {
			g->fp64, g->fp32, g->tf32, g->half, g->fp8, g->fp4, g->int8
		};

		if (strcmp(g->name, gpu) == 0 && g->tf32 > 0 &&
		    tera[gemm_search_column_of(t)] > 0) {
			*s = g;
			/* Sheets say the double for two zeros in four. */
			return tera[gemm_search_column_of(t)] * (t->sparse ? 2 : 1);
		}
	}
	return 0;
}
