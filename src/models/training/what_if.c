/* SPDX-License-Identifier: Apache-2.0 */
/* Each change alone, and the best combination; how sure a predicted gain is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/training/change.h"

/* What measurements leave open of a fitted constant, up and down. */
#define OPEN 1.25
/* What two runs of the same differ by. */
#define NOISE 0.02
/* A combination takes a further change only for this much. */
#define WORTH 1.01
#define MOST_ROUNDS 6

static double what_if_rate(struct arena *a, const struct train_config *q,
			   const struct train_fit *fit)
{
	struct train_answer *p = ARENA_NEW(a, struct train_answer);
	struct train_config *x = ARENA_NEW(a, struct train_config);

	*x = *q;
	x->fit = fit;
	train_predict(a, x, p);
	return p->tokens_s.value / q->place.gpus;
}

struct figure train_ratio(const struct train_config *after, const struct train_config *before)
{
	struct arena a = { 0 };
	struct train_fit fit = *train_fit_of(before);
	double value = what_if_rate(&a, after, &fit) / what_if_rate(&a, before, &fit),
	       sum = NOISE * NOISE;

	for (int i = 0; i < TFITS; i++) {
		double was = fit.v[i], most = 0;

		for (int up = 0; up < 2; up++) {
			double moved = up ? was * OPEN : was / OPEN;

			/* Parts stay parts. */
			if (was <= 1)
				moved = fmin(moved, 1);
			fit.v[i] = moved;
			most = fmax(most, fabs(log(what_if_rate(&a, after, &fit) /
						   what_if_rate(&a, before, &fit) / value)));
			fit.v[i] = was;
			arena_free(&a);
		}
		sum += most * most;
	}
	arena_free(&a);
	return (struct figure){ value, value * exp(-sqrt(sum)), value * exp(sqrt(sum)) };
}

static int by_gain(const void *x, const void *y)
{
	double a = ((const struct train_change *)x)->gain.value;
	double b = ((const struct train_change *)y)->gain.value;

	return a > b ? -1 : a < b;
}

static void what_if_fill(struct arena *a, const struct train_config *before, struct train_change *c)
{
	struct train_answer *p = ARENA_NEW(a, struct train_answer);

	train_predict(a, &c->q, p);
	c->tokens_s = p->tokens_s.value;
	c->memory = p->memory.total;
	c->fits = p->memory.fits;
	c->gain = train_ratio(&c->q, before);
}

static const char *reason(struct arena *a, const struct train_change_kind *k,
			  const struct train_answer *before, const struct train_change *c)
{
	bool same = k->why_same && c->q.micro_batch <= before->q.micro_batch;

	return arena_printf(a, "%s; %.1f to %.1f GB on a GPU%s", same ? k->why_same : k->why,
			    before->memory.total / 1e9, c->memory / 1e9,
			    c->fits ? "" : ", which is more than there is");
}

/* The best of what was tried. */
struct search {
	struct arena *a;
	const bool *made;
	double most;
	int first, second; /* -1: none */
	struct train_config q;
	const char *name;
};

static bool try_one(struct search *s, size_t i, struct train_config *q, const char **name)
{
	return !s->made[i] && train_change_kinds[i].combine &&
	       train_change_kinds[i].make(s->a, q, name);
}

static void keep_better(struct search *s, const struct train_config *q, int first, int second,
			const char *name)
{
	struct train_memory m;
	double v;

	train_memory_of(q, &m);
	v = m.fits ? what_if_rate(s->a, q, q->fit) : 0;
	if (v <= s->most)
		return;
	s->most = v;
	s->q = *q;
	s->first = first;
	s->second = second;
	s->name = name;
}

/* The change that brings the most to *q of those that fit; or two, where the first makes room for
 * the second. */
static void what_if_best_of(struct search *s, const struct train_config *q)
{
	const int n = (int)train_change_kind_count;

	s->most = what_if_rate(s->a, q, q->fit) * WORTH;
	s->first = s->second = -1;
	for (int i = 0; i < n; i++) {
		struct train_config one = *q;
		const char *name = "", *more = "";

		if (!try_one(s, (size_t)i, &one, &name))
			continue;
		keep_better(s, &one, i, -1, name);
		for (int k = 0; k < n; k++) {
			struct train_config two = one;

			if (k != i && try_one(s, (size_t)k, &two, &more))
				keep_better(s, &two, i, k,
					    arena_printf(s->a, "%s; %s", name, more));
		}
	}
}

static void combine(struct arena *a, struct train_what_if *out)
{
	struct train_config *q = &out->best.q;
	bool made[64] = { false };
	int n = 0;

	*q = out->before.q;
	out->words = "";
	for (; n < MOST_ROUNDS; n++) {
		struct search *found = ARENA_NEW(a, struct search);

		*found = (struct search){ .a = a, .made = made };
		what_if_best_of(found, q);
		if (found->first < 0)
			break;
		made[found->first] = true;
		if (found->second >= 0)
			made[found->second] = true;
		*q = found->q;
		out->words = arena_printf(a, "%s%s%s", out->words, n ? "; " : "", found->name);
	}
	if (n == 0)
		return;
	out->has_best = true;
	out->best.key = "all";
	out->best.name = "the best combination";
	what_if_fill(a, &out->before.q, &out->best);
	out->best.why = out->words;
}

void train_what_if(struct arena *a, const struct train_config *q, struct train_what_if *out)
{
	*out = (struct train_what_if){ 0 };
	train_predict(a, q, &out->before);
	for (size_t i = 0; i < train_change_kind_count && out->n < TRAIN_CHANGES; i++) {
		struct train_change *c = &out->changes[out->n];

		*c = (struct train_change){ .key = train_change_kinds[i].key, .q = *q };
		if (!train_change_kinds[i].make(a, &c->q, &c->name))
			continue;
		what_if_fill(a, q, c);
		c->why = reason(a, &train_change_kinds[i], &out->before, c);
		out->n++;
	}
	qsort(out->changes, out->n, sizeof(out->changes[0]), by_gain);
	combine(a, out);
}
