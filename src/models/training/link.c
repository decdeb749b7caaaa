/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One collective's time: a latency and a bandwidth, from a measured curve where there is one that
 * fits, else from data sheets and the fitted part of them. Bandwidths are bus bandwidths.
 */
#include <math.h>
#include <string.h>

#include "models/training/work.h"

/* Latency of a small collective inside a machine, and of each more rank, us: nccl-tests on
 * H100/H200 machines show 15 to 30 us below 64 KiB. */
#define START_US 14.0
#define RANK_US 1.0
/* A machine without a fast link between its GPUs. */
#define NET_START_US 25.0

/* From bytes on the bus to bytes of the call, as nccl-tests defines it. */
static double train_link_factor(enum train_collective what, int n)
{
	switch (what) {
	case TRAIN_ALL_REDUCE:
		return 2 * (n - 1.0) / n;
	case TRAIN_SEND:
		return 1;
	default:
		return (n - 1.0) / n;
	}
}

/* Linear between the points over the logarithm of the size; flat behind the last one; below the
 * first one the time of the first one. */
static double curve_at(const struct train_curve *c, double bytes)
{
	size_t i = 0;
	double x;

	if (bytes <= c->at[0].bytes)
		return c->at[0].busbw_gbs * bytes / c->at[0].bytes;
	while (i + 1 < c->n && c->at[i + 1].bytes < bytes)
		i++;
	if (i + 1 >= c->n)
		return c->at[c->n - 1].busbw_gbs;
	x = log(bytes / c->at[i].bytes) / log(c->at[i + 1].bytes / c->at[i].bytes);
	return c->at[i].busbw_gbs + x * (c->at[i + 1].busbw_gbs - c->at[i].busbw_gbs);
}

/* The same collective in the same place; one with as many ranks goes before another. */
static const struct train_curve *curve_for(const struct train_config *q, enum train_collective what,
					   bool between, int ranks)
{
	const struct train_curve *best = NULL;

	for (size_t i = 0; i < q->n_curves; i++) {
		const struct train_curve *c = &q->curves[i];

		if (!c->n || c->what != what || c->between != between)
			continue;
		if (!best || (c->ranks == ranks && best->ranks != ranks))
			best = c;
	}
	return best;
}

static void by_sheet(struct arena *a, const struct train_config *q, enum train_collective what,
		     double bytes, int ranks, int per_node, struct train_link *l)
{
	const struct train_fit *f = train_fit_of(q);
	double inside = train_link_gbs(q) * f->v[TFIT_LINK], most = inside, us;
	double nodes = ceil(ranks / (double)per_node);

	us = START_US + RANK_US * per_node;
	if (l->between) {
		/* Each rank of a machine sends over an adapter of its own; a ring passes each
		 * machine once over each of them. */
		double net = train_network_gbs(q) * f->v[TFIT_NET];
		double lanes = what == TRAIN_ALL_TO_ALL ? 1 : per_node;

		most = per_node > 1 ? fmin(inside, net * lanes) : net;
		/* Trees and doubling take as many steps as the count has doublings. */
		us += NET_START_US +
		      f->v[TFIT_HOP_US] *
			      (what == TRAIN_ALL_REDUCE ? 2 * log2(nodes) : fmin(nodes, 64) - 1);
		l->from = arena_printf(a, "%.4g GB/s of %.0f adapter%s one way, %.0f %% of it",
				       train_network_gbs(q) * lanes, lanes, lanes > 1 ? "s" : "",
				       100 * f->v[TFIT_NET]);
	} else {
		l->from = arena_printf(a, "%.4g GB/s of the link one way, %.0f %% of it",
				       train_link_gbs(q), 100 * f->v[TFIT_LINK]);
	}
	l->seconds = 1e-6 * us + train_link_factor(what, ranks) * bytes / (most * 1e9);
	l->busbw_gbs = train_link_factor(what, ranks) * bytes / l->seconds / 1e9;
}

void train_link_of(struct arena *a, const struct train_config *q, enum train_collective what,
		   double bytes, int ranks, int per_node, struct train_link *out)
{
	const struct train_curve *c;

	*out = (struct train_link){ .between = ranks > per_node };
	c = curve_for(q, what, out->between, ranks);
	if (!c) {
		by_sheet(a, q, what, bytes, ranks, per_node, out);
		return;
	}
	out->busbw_gbs = curve_at(c, bytes);
	out->seconds = train_link_factor(what, ranks) * bytes / (out->busbw_gbs * 1e9);
	out->from = c->from;
}
