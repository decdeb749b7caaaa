/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nothing else beats. A list and not a tree: most points are beaten by the same few, which
 * wander to its beginning, so that a look at them is enough.
 */
#include <stdlib.h>
#include <string.h>

#include "models/inference/sweep.h"

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
