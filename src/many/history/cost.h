/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each of several changes cost, where machines made them at different times. Pure. A step is
 * one machine between two states that were measured: by how much a figure became better, and which
 * causes changed in between. A regression over all steps parts the causes; what always changed
 * together is named together. The interval of an effect comes from leaving out one machine after
 * the other (the jackknife over clusters, CR3 of Bell and McCaffrey 2002): steps of one machine may
 * depend on each other, machines may not.
 */
#ifndef HISTORY_COST_H
#define HISTORY_COST_H

#include <stddef.h>

#include "base/arena.h"
#include "measure/prove/rule.h"

enum {
	COST_CAUSES_MAX = 64,
	COST_MACHINES_LEAST = 8, /* that had a cause, before anything is said of it */
};

struct cost_step {
	size_t machine; /* steps of one machine stand together */
	double better;	/* log ratio: positive is better */
	double weight;	/* above 0 */
	/* What changed: 1, -1 the other way round, 0. */
	short cause[COST_CAUSES_MAX];
};

struct cost {
	enum ruling_kind kind;	 /* never RULING_GO_ON */
	double ratio, low, high; /* better with the change; low 0 and high infinite: unknown */
	size_t machines;	 /* that had it */
	size_t with;	 /* the first cause that always changes with it; itself: none does */
	const char *why; /* undecided: static */
};

/* As enum ruling_kind says it, of an interval. */
enum ruling_kind cost_ruling(double ratio, double low, double high, double min_effect);
/* alpha: of a wrong name among all causes together. min_effect as in struct rule. */
void cost_separate(struct arena *a, const struct cost_step *steps, size_t n, size_t causes,
		   double alpha, double min_effect, struct cost *out);

#endif
