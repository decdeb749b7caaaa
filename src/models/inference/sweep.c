/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going through all mixtures. What costs words (machine, weights, cache, how the GPUs share the
 * model) is asked once; what is only numbers is put into the answer.
 */
#include "models/inference/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What nothing else beats. A list and not a tree: most points are beaten by the same few, which
 * wander to its beginning, so that a look at them is enough.
 */

static bool covers(const struct sweep_point *a, const struct sweep_point *b)
{
	return a->latency <= b->latency && a->o.throughput >= b->o.throughput &&
	       a->o.bytes_all <= b->o.bytes_all;
}

void pareto_add(struct pareto_list *l, const struct sweep_point *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++)
		if (covers(&l->v[i], p)) {
			struct sweep_point t = l->v[i];

			l->v[i] = l->v[i / 2];
			l->v[i / 2] = t;
			return;
		}
	for (size_t i = 0; i < l->n; i++)
		if (!covers(p, &l->v[i]))
			l->v[kept++] = l->v[i];
	l->n = kept;
	if (l->n == l->room) {
		struct sweep_point *more;

		l->room = l->room ? 2 * l->room : 64;
		more = arena_array(l->arena, l->room, sizeof(*more));
		if (l->n)
			memcpy(more, l->v, l->n * sizeof(*more));
		l->v = more;
	}
	l->v[l->n++] = *p;
}

static int order(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int by_latency(const void *x, const void *y)
{
	const struct sweep_point *a = x, *b = y;
	int r = order(a->latency, b->latency);

	if (!r)
		r = order(b->o.throughput, a->o.throughput);
	return r ? r : order(a->o.bytes_all, b->o.bytes_all);
}

void pareto_sort(struct pareto_list *l)
{
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_latency);
}

static const double powers[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
static const double one[] = { 1 }, zero[] = { 0 };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The lists with what stands for empty ones. */
static struct sweep filled(const struct sweep *s)
{
	static const double chunks[] = { 2048, 8192, 16384 };
	static const char *const none[] = { NULL };
	struct sweep f = *s;
	const struct {
		struct ask_numbers *list;
		const double *v;
		size_t n;
	} empty[] = { { &f.tp, powers, COUNT(powers) },
		      { &f.pp, one, 1 },
		      { &f.copies, powers, COUNT(powers) },
		      { &f.batch, powers, COUNT(powers) },
		      { &f.prompt, zero, 1 },
		      { &f.output, zero, 1 },
		      { &f.depth, zero, 1 },
		      { &f.chunk, chunks, COUNT(chunks) },
		      { &f.draft, zero, 1 } };

	for (size_t i = 0; i < COUNT(empty); i++)
		if (!empty[i].list->n)
			*empty[i].list = (struct ask_numbers){ empty[i].v, empty[i].n };
	if (!f.machines.n)
		f.machines = (struct ask_texts){ none, 1 };
	if (!f.weights.n)
		f.weights = (struct ask_texts){ none, 1 };
	if (!f.caches.n)
		f.caches = (struct ask_texts){ none, 1 };
	return f;
}

/* Ways that make sense; the others are counted. */
struct ways {
	struct way *v;
	size_t n;
	unsigned long long senseless;
};

static int add_way(struct arena *a, const struct sweep *s, const struct infer_options *w,
		   struct ways *out, struct err *e)
{
	struct way *way;
	struct infer_options alone = *w;
	struct query q;
	int r;

	/* Everything but the layout has to be valid by itself. */
	alone.tp = alone.pp = 0;
	r = question_make(a, &alone, s->fits, &q, e);
	if (r < 0)
		return r;
	if (w->tp * w->pp > q.ask.place.gpus || (q.arch.heads > 0 && q.arch.heads % w->tp) ||
	    w->pp > q.arch.layers || question_make(a, w, s->fits, &q, e) < 0) {
		out->senseless++;
		return 0;
	}
	way = &ARENA_ADD(a, out->v, out->n);
	*way = (struct way){ .q = q, .copies = 1 };
	return 0;
}

static int find_ways(struct arena *a, const struct sweep *s, struct ways *out, struct err *e)
{
	int r = 0;

	for (size_t m = 0; m < s->machines.n; m++)
		for (size_t i = 0; i < s->weights.n; i++)
			for (size_t c = 0; c < s->caches.n; c++)
				for (size_t t = 0; t < s->tp.n; t++)
					for (size_t p = 0; p < s->pp.n && r == 0; p++) {
						struct infer_options w = *s->words;

						if (s->machines.items[m]) {
							w.on = s->machines.items[m];
							w.place = NULL;
						}
						if (s->weights.items[i]) {
							w.weights = s->weights.items[i];
							w.weight_bytes = 0;
						}
						if (s->caches.items[c])
							w.cache = s->caches.items[c];
						w.tp = (int)s->tp.items[t];
						w.pp = (int)s->pp.items[p];
						r = add_way(a, s, &w, out, e);
					}
	/* They moved while there were more and more. */
	for (size_t i = 0; i < out->n; i++)
		out->v[i].q.ask.arch = &out->v[i].q.arch;
	return r;
}

/* An estimate is of the mean: what cannot be in time at the mean cannot be at 95 in 100. */
#define ESTIMATE 1.25

static bool may_meet(const struct sweep *s, const struct ask *k, const struct advise_outcome *o)
{
	return (s->ttft_p95 <= 0 || o->ttft <= ESTIMATE * s->ttft_p95) &&
	       (s->tpot_p95 <= 0 || o->tpot <= ESTIMATE * s->tpot_p95) &&
	       (s->rate <= 0 || o->throughput * ESTIMATE >= s->rate * k->output);
}

static void asked_of_front(const struct pareto_front *f, struct ask *k)
{
	if (f->prompt > 0)
		k->prompt = f->prompt;
	if (f->output > 0)
		k->output = f->output;
	if (f->depth > 0)
		k->depth = f->depth;
}

/* list[0]: what may meet the targets, [1]: the rest. */
static void sweep_look(const struct sweep *s, const struct sweep_point *p, struct ask *k,
		       struct pareto_list *list, struct sweep_result *out)
{
	struct sweep_point q = *p;

	k->batch = q.batch;
	k->draft = q.draft;
	k->chunk = q.chunk;
	way_outcome(k, q.copies, &q.o);
	out->tried++;
	if (!q.o.fits)
		return;
	out->fit++;
	q.latency = s->goal == GOAL_FIRST ? q.o.ttft : q.o.answer;
	pareto_add(may_meet(s, k, &q.o) ? list : list + 1, &q);
}

static bool has_target(const struct sweep *s)
{
	return s->ttft_p95 > 0 || s->tpot_p95 > 0 || s->rate > 0;
}

/* The figures that predict() has of it, and whether 95 in 100 requests are served in time. */
static void sweep_simulate(struct arena *a, const struct sweep *s, const struct pareto_front *f,
			   struct sweep_point *p)
{
	struct ask k = p->way->q.ask;
	double ttft, tpot;

	asked_of_front(f, &k);
	k.batch = p->batch;
	k.draft = p->draft;
	k.chunk = p->chunk;
	k.rate = s->rate;
	way_simulated(a, &k, p->copies, &p->o, &p->plan);
	p->latency = s->goal == GOAL_FIRST ? p->o.ttft : p->o.answer;
	ttft = p->plan.requests ? p->plan.ttft.p95 : p->o.ttft;
	tpot = p->plan.requests ? p->plan.tpot.p95 : p->o.tpot;
	p->meets = (s->ttft_p95 <= 0 || ttft <= s->ttft_p95) &&
		   (s->tpot_p95 <= 0 || tpot <= s->tpot_p95) && !p->plan.behind;
}

/* What meets the targets first, with fewer GPUs and less latency; then the rest by latency. */
static int by_target(const void *x, const void *y)
{
	const struct sweep_point *a = x, *b = y;

	if (a->meets != b->meets)
		return a->meets ? -1 : 1;
	if (!a->meets)
		return by_latency(x, y);
	return a->o.gpus != b->o.gpus ? a->o.gpus - b->o.gpus : by_latency(x, y);
}

/* Estimates chose them; simulated, some are beaten by others. */
static void finalists(struct arena *a, const struct sweep *s, struct pareto_front *f,
		      struct pareto_list *list)
{
	struct pareto_list last = { .arena = a };
	size_t most = has_target(s) && list->n > SWEEP_FINALISTS ? SWEEP_FINALISTS : list->n;

	if (has_target(s) && list->n)
		qsort(list->v, list->n, sizeof(*list->v), by_target);
	for (size_t i = 0; i < most; i++) {
		sweep_simulate(a, s, f, &list->v[i]);
		pareto_add(&last, &list->v[i]);
	}
	pareto_sort(&last);
	if (has_target(s) && last.n)
		qsort(last.v, last.n, sizeof(*last.v), by_target);
	f->points = last.v;
	f->n = last.n;
}

/* All numbers of one way. */
static void go_through(const struct sweep *s, const struct way *way, const struct pareto_front *f,
		       struct pareto_list *list, struct sweep_result *out)
{
	struct ask k = way->q.ask;
	int gpus = k.tp * k.pp;

	asked_of_front(f, &k);
	for (size_t c = 0; c < s->copies.n; c++)
		for (size_t b = 0; b < s->batch.n; b++) {
			struct sweep_point p = { .way = way,
						 .copies = (int)s->copies.items[c],
						 .batch = (int)s->batch.items[b] };

			/* At a rate, a limit of one request means none (schedule.c). */
			if (p.copies * gpus > k.place.gpus || p.copies > p.batch ||
			    (s->rate > 0 && p.batch <= p.copies)) {
				out->senseless += s->chunk.n * s->draft.n;
				continue;
			}
			for (size_t h = 0; h < s->chunk.n; h++)
				for (size_t d = 0; d < s->draft.n; d++) {
					p.chunk = s->chunk.items[h];
					p.draft = (int)s->draft.items[d];
					sweep_look(s, &p, &k, list, out);
				}
		}
}

static void sweep_pareto_one(struct arena *a, const struct sweep *s, const struct ways *ways,
			     struct pareto_front *f, struct sweep_result *out)
{
	struct pareto_list list[] = { { .arena = a }, { .arena = a } };
	unsigned long long tried = out->tried, fit = out->fit;

	for (size_t i = 0; i < ways->n; i++)
		go_through(s, &ways->v[i], f, list, out);
	f->tried = out->tried - tried;
	f->fit = out->fit - fit;
	if (!list[0].n) /* nothing can meet the targets: the nearest are shown */
		list[0] = list[1];
	pareto_sort(list);
	finalists(a, s, f, list);
	if (ways->n && f->prompt <= 0)
		f->prompt = ways->v[0].q.ask.prompt;
	if (ways->n && f->output <= 0)
		f->output = ways->v[0].q.ask.output;
	if (ways->n && f->depth <= 0)
		f->depth = ways->v[0].q.ask.depth;
}

static int check_size(const struct sweep *s, struct err *e)
{
	const size_t sizes[] = { s->machines.n, s->weights.n, s->caches.n, s->tp.n,
				 s->pp.n,	s->copies.n,  s->batch.n,  s->prompt.n,
				 s->output.n,	s->depth.n,   s->chunk.n,  s->draft.n };
	double all = 1, ways = 1;

	for (size_t i = 0; i < COUNT(sizes); i++)
		all *= (double)sizes[i];
	/* These are asked in words, which takes longer and stays in memory. */
	for (size_t i = 0; i < 5; i++)
		ways *= (double)sizes[i];
	if (ways > SWEEP_WAYS)
		return err_set(e, -EINVAL,
			       "%.3g combinations of machines, weights, caches, tp and pp exceed "
			       "%d: use shorter lists",
			       ways, SWEEP_WAYS);
	if (all > (double)SWEEP_MOST)
		return err_set(e, -EINVAL, "%.3g configurations exceed %llu: use shorter lists",
			       all, SWEEP_MOST);
	return 0;
}

int sweep_run(struct arena *a, const struct sweep *s, struct sweep_result *out, struct err *e)
{
	struct sweep f = filled(s);
	struct ways ways = { 0 };
	int r = check_size(&f, e);

	*out = (struct sweep_result){ 0 };
	if (r < 0 || (r = find_ways(a, &f, &ways, e)) < 0)
		return r;
	out->n = f.prompt.n * f.output.n * f.depth.n;
	out->fronts = arena_array(a, out->n, sizeof(*out->fronts));
	for (size_t p = 0; p < f.prompt.n; p++)
		for (size_t o = 0; o < f.output.n; o++)
			for (size_t d = 0; d < f.depth.n; d++) {
				struct pareto_front *front =
					&out->fronts[(p * f.output.n + o) * f.depth.n + d];

				front->prompt = f.prompt.items[p];
				front->output = f.output.items[o];
				front->depth = f.depth.items[d];
				sweep_pareto_one(a, &f, &ways, front, out);
			}
	out->senseless += ways.senseless * f.copies.n * f.batch.n * f.chunk.n * f.draft.n * out->n;
	return 0;
}
