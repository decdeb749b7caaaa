/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes are measured with which at a time. Pure: numbers of nodes in, rounds of pairs out, no
 * node twice in a round, so that no measurement disturbs another.
 */
#ifndef CLUSTER_PAIRS_H
#define CLUSTER_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct pair {
	size_t a, b;  /* numbers of nodes, a < b */
	size_t round; /* from 0 */
	size_t tag;   /* the caller's own */
};

struct pairs {
	struct pair *items; /* by round */
	size_t n, rounds;
};

/*
 * Every pair of n nodes for which wanted answers true (NULL: all), once. All pairs of an even
 * number of nodes are n - 1 full rounds, of an odd number n rounds with one node resting.
 */
struct pairs pairs_make(struct arena *a, size_t n, bool (*wanted)(void *ctx, size_t a, size_t b),
			void *ctx);
/* The same for a list with a and b filled in; order within a round is the list's. */
struct pairs pairs_of(struct arena *a, const struct pair *list, size_t n);

#endif
