/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame when some tests between nodes went wrong. Pure: every test names the parts that
 * it needed (nodes, ports, the path between them) and how it ended; out come few parts that explain
 * all that went wrong and were in nothing that went well. What the tests cannot tell apart is named
 * as alternatives.
 */
#ifndef RANKS_BLAME_H
#define RANKS_BLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { BLAME_TEST_PARTS = 5, BLAME_DEPTH = 3 };

struct blame_test {
	size_t parts[BLAME_TEST_PARTS];
	size_t n;
	bool bad;
};

struct blame_set {
	const size_t *within; /* of each part the one that contains it; its own number: none */
	size_t n_parts;
	const struct blame_test *tests;
	size_t n_tests;
};

/* One cause. */
struct blame_verdict {
	/* The first is named: of parts that contain each other and explain the same, the narrowest.
	 * The others explain it as well and are elsewhere. */
	size_t *parts;
	size_t n;
	bool certain; /* nothing elsewhere explains what the first alone does */
};

struct blame {
	struct blame_verdict *items;
	size_t n;
};

struct blame blame_judge(struct arena *a, const struct blame_set *set);
#endif
