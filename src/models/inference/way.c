/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of a way to serve: one engine, or several copies of it that share the requests. */
#include <math.h>

#include "models/inference/advise.h"

const char *const goal_names[GOALS] = { "latency", "first-token", "throughput", "users" };
const char *const confidence_names[CONFIDENCES] = { "low", "medium", "high" };

/* Requests that fit when weights and the rest are so many times what was counted. */
static double users_if(const struct need *m, double counted, double rest)
{
	double fixed = counted * m->weights +
		       rest * (m->activations + m->workspace + m->graphs + m->framework) +
		       m->reserve;
	double room = m->limit - fixed;

	return room > 0 && m->per_sequence > 0 ? floor(room / (counted * m->per_sequence)) : 0;
}

void way_outcome(const struct ask *q, int copies, struct outcome *o)
{
	struct ask k = *q;
	struct need m;
	struct served s;

	k.batch = (q->batch + copies - 1) / copies;
	memory_use(&k, &m);
	serve(&k, &m, &s);
	o->ttft = s.ttft;
	o->tpot = s.tpot;
	o->answer = s.ttft + fmax(0, k.output - 1) * s.tpot;
	/* The copies together have no more requests than there are. */
	o->throughput = s.throughput * q->batch / k.batch;
	o->users = m.most_requests * copies;
	/* As wide as the memory's own interval (predict.c). */
	o->users_low = users_if(&m, 1.05, 1.5) * copies;
	o->users_high = users_if(&m, 0.97, 0.5) * copies;
	o->bytes = m.total - m.reserve;
	o->gpus = k.tp * k.pp * copies;
	o->bytes_all = o->bytes * o->gpus;
	o->fits = m.fits;
}

bool goal_less(enum goal goal)
{
	return goal == GOAL_LATENCY || goal == GOAL_FIRST;
}

double outcome_of(const struct outcome *o, enum goal goal)
{
	switch (goal) {
	case GOAL_FIRST:
		return o->ttft;
	case GOAL_THROUGHPUT:
		return o->throughput;
	case GOAL_USERS:
		return o->users;
	default:
		return o->answer;
	}
}

double outcome_gain(const struct outcome *a, const struct outcome *b, enum goal goal)
{
	double before = outcome_of(a, goal), after = outcome_of(b, goal);

	if (!(before > 0) || !(after > 0) || !a->fits || !b->fits)
		return 0;
	return goal_less(goal) ? before / after : after / before;
}
