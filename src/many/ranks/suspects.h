/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes, leaf switches or pairs of nodes are faulty, found by few tests of groups. A test is
 * of a set of nodes that all exchange data with each other: it is bad when a faulty node, a node
 * below a faulty leaf, or both ends of a faulty pair are in it. A test can be wrong by chance.
 * Pure: the caller tests what it is asked and says how it went.
 *
 * Nodes stand in a row. The first node with which the row from its beginning is bad is found by
 * halving what is probable (Burnashev, Zigangirov 1974: posterior matching), then why: the node by
 * itself, or one before it. Of a faulty pair one end leaves the row, and comes back in a second row
 * without the other. A cause is named when it is certain to three in 100,000.
 */
#ifndef RANKS_SUSPECTS_H
#define RANKS_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { SUSPECTS_MAX = 64 };

enum suspect_kind { SUSPECT_NODE, SUSPECT_LEAF, SUSPECT_PAIR };

struct suspect {
	enum suspect_kind kind;
	unsigned a, b; /* a node, a leaf, or two nodes */
};

struct suspects_ask {
	unsigned nodes;
	const unsigned *leaf; /* of each node; NULL: not known */
	double wrong;	      /* share of tests with a false result: 0.01 */
	double expected;      /* faults of nodes, and of pairs: 2 */
	unsigned most;	      /* tests; 0: as many as it takes */
	/* Whether this group is bad. */
	bool (*test)(void *ctx, const unsigned *group, unsigned n);
	void *ctx;
};

struct suspects {
	struct suspect at[SUSPECTS_MAX];
	unsigned n, tests;
	size_t pairs_untested; /* of nodes that are not named; where a fault is improbable */
	bool whole;	       /* false: it ended before everything was certain */
};

struct suspects suspects_find(struct arena *a, const struct suspects_ask *ask);

/* The pairs of a round, no node twice in it: of m nodes, m even, there are m - 1 rounds. Returns
 * how many nodes are in out. */
size_t suspects_round(const size_t *on, size_t n, size_t round, size_t *out);

#endif
