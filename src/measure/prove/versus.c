/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of windows of two processes, until the rule has seen enough. */
#include "measure/prove/versus.h"

#include <math.h>

#include "measure/prove/rule.h"

static double now(const struct versus *v)
{
	return v->clock->now(v->clock->ctx);
}

static int versus_window_one(struct versus *v, double start, bool b, struct versus_window *out,
			     struct err *e)
{
	struct versus_window *w;
	int r;

	if (v->progress)
		v->progress(v->ctx, v);
	*out = (struct versus_window){
		.pair = v->pairs, .b = b, .at_s = now(v) - start, .n = v->n_figures
	};
	r = v->measure(v->ctx, b, out->value, e);
	if (r)
		return r;
	w = &ARENA_ADD(v->a, v->windows, v->n_windows);
	*w = *out;
	return 0;
}

static int versus_pair(struct versus *v, double start, struct err *e)
{
	bool b_first = order_b_first(v->seed, v->pairs);
	struct versus_window w[2];
	double begin = now(v);
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		bool b = (i == 0) == b_first;

		r = versus_window_one(v, start, b, &w[b], e);
	}
	if (r)
		return r;
	for (size_t i = 0; i < v->n_figures; i++) {
		v->d[i] = arena_grow(v->a, v->d[i], v->pairs, sizeof(double));
		v->d[i][v->pairs] = engine_log_ratio(&v->figures[i], w[0].value[i], w[1].value[i]);
	}
	v->pairs++;
	/* The slowest of late, so that the budget holds. */
	v->pair_s = fmax(now(v) - begin, 0.9 * v->pair_s);
	return 0;
}

static int pairs_until_decided(struct versus *v, double start, struct err *e)
{
	size_t next;

	while ((next = rule_next(&v->rule, v->pairs)) != 0) {
		/* How long one takes is known when there was one. */
		int r = v->pairs || v->pair_s > 0 ? 0 : versus_pair(v, start, e);

		if (r)
			return r;
		if (now(v) + (double)(next - v->pairs) * v->pair_s > start + v->budget_s)
			break;
		while (r == 0 && v->pairs < next)
			r = versus_pair(v, start, e);
		if (r)
			return r;
		rule_look(&v->rule, v->d[0], v->pairs, !rule_next(&v->rule, v->pairs),
			  &v->ruling[0]);
		if (v->ruling[0].kind != RULING_GO_ON)
			return 0;
	}
	if (v->pairs < v->rule.looks[0])
		return engine_too_short(now(v) - start, v->pair_s, v->rule.looks[0], e);
	rule_look(&v->rule, v->d[0], v->pairs, true, &v->ruling[0]);
	return 0;
}

int versus_run(struct versus *v, struct err *e)
{
	double start = now(v);
	int r;

	rule_default(&v->rule, v->min_effect);
	r = pairs_until_decided(v, start, e);
	for (size_t i = r ? 0 : 1; i < v->n_figures && v->pairs; i++)
		rule_look(&v->rule, v->d[i], v->pairs, true, &v->ruling[i]);
	v->took_s = now(v) - start;
	return r;
}
