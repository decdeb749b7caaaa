/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two things that cannot be switched within one process, against each other: each window is
 * measured by a process of its own, so that nothing stays from one to the next. Pairs in random
 * order and the stop rule are those of a proof; the machine against itself is what comes of giving
 * the same thing twice.
 */
#ifndef PROVE_VERSUS_H
#define PROVE_VERSUS_H

#include "measure/prove/engine.h"

enum { VERSUS_FIGURES = WINDOW_FIGURES + 1 };

struct versus_window {
	size_t pair;
	bool b;
	double at_s; /* its beginning, since that of the comparison */
	double value[VERSUS_FIGURES];
	size_t n;
};

struct versus {
	struct arena *a;
	/* --- given */
	struct bench_figure figures[VERSUS_FIGURES]; /* the first decides */
	size_t n_figures;
	double min_effect; /* what matters, as a share; 0: 1 % */
	double budget_s;
	uint64_t seed;
	const struct engine_clock *clock;
	/* One window of that side. -EBADMSG: it fails there; any code but 0 ends the comparison. */
	int (*measure)(void *ctx, bool b, double value[VERSUS_FIGURES], struct err *e);
	/* Called before each window. NULL: not called. */
	void (*progress)(void *ctx, const struct versus *v);
	void *ctx;
	/* --- found */
	struct rule rule;
	struct versus_window *windows;
	size_t n_windows;
	double *d[VERSUS_FIGURES]; /* log ratios, positive: b is better */
	size_t pairs;
	struct ruling ruling[VERSUS_FIGURES]; /* of all pairs; the first's by the stop rule */
	double took_s, pair_s;
};

/*
 * Measures until the first figure is decided, pairs are used up or time is: 0. What measure
 * returned otherwise, with *e, when a window has no figure; what was measured until then stands.
 * -ETIME and *e: the budget is too small for the least number of pairs that shows anything.
 */
int versus_run(struct versus *v, struct err *e);

#endif
