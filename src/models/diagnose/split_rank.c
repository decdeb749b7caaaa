/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks held beside each other, step by step: whoever does its own part last makes the others wait.
 * A collective takes as long as it takes the last one to come: the least time among ranks is its
 * own, the others wait.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/diagnose/read.h"
#include "models/diagnose/split.h"
#include "base/stat.h"
#include "base/text.h"

enum { RANKS_MAX = 4096, GPUS_MAX = 64 };

/* One rank in one step. */
struct place_in {
	long long step;
	int rank;
	double step_s, exposed, forward, data, compute;
	const struct metric_sample *at;
};

struct places {
	struct place_in *items;
	size_t n;
};

static int by_step_rank(const void *x, const void *y)
{
	const struct place_in *a = x, *b = y;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void split_rank_set(struct place_in *p, enum figure_kind k, double v)
{
	switch (k) {
	case FIGURE_STEP_S:
		p->step_s = v;
		break;
	case FIGURE_COMM_EXPOSED_S:
	case FIGURE_STEP_EXPOSED_S:
		p->exposed = v;
		break;
	case FIGURE_FORWARD_S:
		p->forward = v;
		break;
	case FIGURE_DATA_S:
		p->data = v;
		break;
	default:
		p->compute = v;
		break;
	}
}

static double own_of(const struct place_in *p)
{
	if (isfinite(p->step_s) && isfinite(p->exposed))
		return p->step_s - p->exposed;
	if (isfinite(p->compute))
		return p->compute;
	/* A backward pass has the waiting in it. */
	return isfinite(p->forward) ? p->forward + (isfinite(p->data) ? p->data : 0) : (double)NAN;
}

static struct places split_rank_gather(struct arena *a, const struct run_files *rf,
				       const struct run_summary *r, const char *format)
{
	static const enum figure_kind kinds[] = { FIGURE_STEP_S,	 FIGURE_STEP_EXPOSED_S,
						  FIGURE_COMM_EXPOSED_S, FIGURE_FORWARD_S,
						  FIGURE_DATA_S,	 FIGURE_COMPUTE_S };
	const bool by_step = r->sums[FIGURE_STEP_EXPOSED_S].n > 0;
	struct places out = { 0 };
	struct sample *s;
	size_t kept = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		size_t n = run_samples(a, r->ev, rf, kinds[k], NULL, format, &s);

		for (size_t i = 0; i < n; i++) {
			if (s[i].f->rank < 0 || s[i].f->rank >= RANKS_MAX)
				continue;
			/* A total of all of them is no step beside them. */
			if (by_step && s[i].f->step < 0)
				continue;
			out.items = arena_grow(a, out.items, out.n, sizeof(*out.items));
			out.items[out.n] =
				(struct place_in){ s[i].f->step, s[i].f->rank, NAN, NAN,
						   NAN,		 NAN,	       NAN, s[i].f };
			split_rank_set(&out.items[out.n++], kinds[k], s[i].value);
		}
	}
	if (out.n)
		qsort(out.items, out.n, sizeof(*out.items), by_step_rank);
	for (size_t i = 0; i < out.n; i++) {
		struct place_in *p = kept ? &out.items[kept - 1] : NULL, q = out.items[i];

		if (!p || by_step_rank(p, &q) != 0) {
			out.items[kept++] = q;
			continue;
		}
		p->step_s = isfinite(q.step_s) ? q.step_s : p->step_s;
		p->exposed = isfinite(q.exposed) ? q.exposed : p->exposed;
		p->forward = isfinite(q.forward) ? q.forward : p->forward;
		p->data = isfinite(q.data) ? q.data : p->data;
		p->compute = isfinite(q.compute) ? q.compute : p->compute;
	}
	out.n = kept;
	return out;
}

static double middle(double *v, size_t n)
{
	return n ? stat_median_in_place(v, n) : (double)NAN;
}

/* The middle over steps of a rank's own time, or of its waiting. v: room for n. */
static double split_rank_middle_of(const struct place_in *p, size_t n, double *v, bool own)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		double x = own ? own_of(&p[i]) : p[i].exposed;

		if (isfinite(x))
			v[m++] = x;
	}
	return middle(v, m);
}

static int by_rank(const void *x, const void *y)
{
	const struct place_in *a = x, *b = y;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void list_ranks(struct arena *a, const struct places *p, struct run_summary *r)
{
	struct place_in *mine = arena_array(a, p->n + 1, sizeof(*mine));
	double *v = arena_array(a, p->n + 1, sizeof(*v));
	size_t n;

	if (!p->n)
		return;
	memcpy(mine, p->items, p->n * sizeof(*mine));
	qsort(mine, p->n, sizeof(*mine), by_rank);
	for (size_t i = 0; i < p->n; i += n) {
		for (n = 1; i + n < p->n && mine[i + n].rank == mine[i].rank;)
			n++;
		ARENA_ADD(a, r->ranks, r->n_ranks) =
			(struct rank_summary){ .rank = mine[i].rank,
					       .own_s = split_rank_middle_of(&mine[i], n, v, true),
					       .wait_s =
						       split_rank_middle_of(&mine[i], n, v, false),
					       .idle_s = NAN,
					       .kernels = NAN,
					       .clock_mhz = NAN,
					       .throttled = NAN,
					       .util = NAN,
					       .at = mine[i].at };
	}
}

/* One step of all ranks: which one was last, and how long the others waited. */
struct round {
	int last;
	double wait, comm;
};

static bool split_rank_round_of(const struct place_in *p, size_t n, struct round *out)
{
	double most = -INFINITY, least_own = INFINITY, least = INFINITY, sum = 0;

	*out = (struct round){ -1, NAN, NAN };
	for (size_t i = 0; i < n; i++) {
		double own = own_of(&p[i]);

		if (!isfinite(own))
			return false;
		if (own > most) {
			most = own;
			out->last = p[i].rank;
		}
		least_own = fmin(least_own, own);
		least = fmin(least, p[i].exposed);
		sum += p[i].exposed;
	}
	if (isfinite(sum)) {
		out->comm = least;
		out->wait = sum / (double)n - least;
	}
	/* All at once: none of them is last. */
	if (!(most > least_own))
		out->last = -1;
	return true;
}

static void split_rank_compare(struct arena *a, const struct places *p, struct run_summary *r)
{
	struct rank_judged *out = &r->slow;
	size_t *last = arena_array(a, RANKS_MAX, sizeof(*last)), waits = 0, n;
	double wait = 0, comm = 0, *others = arena_array(a, r->n_ranks, sizeof(*others));
	double own = NAN;

	for (size_t i = 0; i < p->n; i += n) {
		struct round one;

		for (n = 1; i + n < p->n && p->items[i + n].step == p->items[i].step;)
			n++;
		if (n != r->n_ranks || !split_rank_round_of(&p->items[i], n, &one))
			continue;
		out->steps++;
		if (one.last >= 0)
			last[one.last]++;
		if (isfinite(one.wait)) {
			wait += one.wait;
			comm += one.comm;
			waits++;
		}
	}
	if (!out->steps)
		return;
	for (size_t i = 0; i < r->n_ranks; i++)
		if (out->slowest < 0 || last[r->ranks[i].rank] > last[out->slowest])
			out->slowest = r->ranks[i].rank;
	out->often = (double)last[out->slowest] / (double)out->steps;
	if (waits) {
		out->wait_s = wait / (double)waits;
		out->comm_s = comm / (double)waits;
	}
	n = 0;
	for (size_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i].rank == out->slowest)
			own = r->ranks[i].own_s;
		else if (isfinite(r->ranks[i].own_s))
			others[n++] = r->ranks[i].own_s;
	out->slowest_s = own - middle(others, n);
}

/* The mean of a kind for each rank: GPUs of one machine carry the numbers of the ranks. */
static double *of_ranks(struct arena *a, const struct run_files *rf, const struct run_summary *r,
			enum figure_kind kind, const char *format)
{
	struct sample *s, *mine;
	size_t n = run_samples(a, r->ev, rf, kind, NULL, format, &s);
	double *out = arena_array(a, r->n_ranks + 1, sizeof(*out));

	mine = arena_array(a, n + 1, sizeof(*mine));
	for (size_t i = 0; i < r->n_ranks; i++) {
		size_t m = 0;

		for (size_t x = 0; x < n; x++)
			if (s[x].f->rank == r->ranks[i].rank)
				mine[m++] = s[x];
		out[i] = figure_sum_of(a, mine, m, NULL).mean;
	}
	return out;
}

static void gpus_of_ranks(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	const double *idle, *kernels, *clock, *throttled, *util;

	if ((isfinite(r->nodes) && r->nodes > 1) || r->n_ranks > GPUS_MAX)
		return;
	idle = of_ranks(a, rf, r, FIGURE_IDLE_S, r->slow.format);
	kernels = of_ranks(a, rf, r, FIGURE_KERNELS, r->slow.format);
	clock = of_ranks(a, rf, r, FIGURE_SM_MHZ, NULL);
	throttled = of_ranks(a, rf, r, FIGURE_THROTTLED, NULL);
	util = of_ranks(a, rf, r, FIGURE_GPU_UTIL, NULL);
	for (size_t i = 0; i < r->n_ranks; i++) {
		r->ranks[i].idle_s = idle[i];
		r->ranks[i].kernels = kernels[i];
		r->ranks[i].clock_mhz = clock[i];
		r->ranks[i].throttled = throttled[i];
		r->ranks[i].util = util[i];
	}
}

void ranks_analyze(struct arena *a, const struct run_files *rf, struct run_summary *r)
{
	struct places p;

	r->slow = (struct rank_judged){
		.slowest = -1, .slowest_s = NAN, .often = NAN, .wait_s = NAN, .comm_s = NAN
	};
	if (!r->sums[FIGURE_STEP_S].format && !r->sums[FIGURE_COMPUTE_S].format)
		return;
	r->slow.format = r->sums[r->sums[FIGURE_COMM_EXPOSED_S].n ? FIGURE_COMM_EXPOSED_S
				 : r->sums[FIGURE_STEP_S].n	  ? FIGURE_STEP_S
								  : FIGURE_COMPUTE_S]
				 .format;
	p = split_rank_gather(a, rf, r, r->slow.format);
	list_ranks(a, &p, r);
	if (r->n_ranks > 1)
		split_rank_compare(a, &p, r);
	gpus_of_ranks(a, rf, r);
}

/* GPUs that a job under the recorder had work for, where no file tells how many it used. */
double gpus_watched(const struct run_evidence *ev, const struct run_summary *r)
{
	uint64_t used = 0;
	double n = 0;

	for (size_t i = 0; i < ev->n_figures; i++) {
		const struct metric_sample *f = &ev->figures[i];
		const struct evidence_file *in = &ev->files[f->file];

		if (f->kind == FIGURE_GPU_UTIL && in->run == r->run && f->value > 0.05 &&
		    f->rank >= 0 && f->rank < 64 && in->format == evidence_recording.name)
			used |= (uint64_t)1 << f->rank;
	}
	for (; used; used &= used - 1)
		n++;
	return n > 0 ? n : (double)NAN;
}

/*
 * Whether the time that a log tells of saving is beside its steps or in them. Megatron-LM's clock
 * of an iteration stands still while it saves, but neither in 2021, whose timers have one figure
 * instead of the least and most of the ranks, nor in the two years behind: there the step that is
 * told next holds it.
 */

/* The step that is told next after a save; NULL: none. */
static const struct sample *next_step(const struct sample *steps, size_t n,
				      const struct metric_sample *save)
{
	const struct sample *next = NULL;

	for (size_t i = 0; i < n; i++)
		if (steps[i].f->file == save->file && steps[i].f->step > save->step &&
		    (!next || steps[i].f->step < next->f->step))
			next = &steps[i];
	return next;
}

bool saving_beside(const struct sample *steps, size_t n, double middle_s, double between,
		   const struct sample *saves, size_t n_saves)
{
	double more = 0, all = 0;

	if (!n || !n_saves || !saves[0].f->text ||
	    !str_starts(saves[0].f->text, "save-checkpoint") || !strchr(saves[0].f->text, '('))
		return false;
	for (size_t i = 0; i < n_saves; i++) {
		const struct sample *next = next_step(steps, n, saves[i].f);

		if (!next)
			continue;
		/* A log that tells every tenth step tells their mean. */
		more += between * (next->value - middle_s);
		all += saves[i].value;
	}
	return !(all > 0) || more < all / 2;
}
