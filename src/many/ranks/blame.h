/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame when some tests between nodes went wrong. Pure: every test names the parts that
 * it needed (nodes, ports, the path between them) and how it ended; out comes the fewest
 * parts that explain all that went wrong and were in nothing that went well. What the tests cannot
 * tell apart is named as alternatives.
 */
#ifndef RANKS_BLAME_H
#define RANKS_BLAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum {
	BLAME_TEST_PARTS = 16,
	BLAME_WRONG_MAX = 512, /* tests that went wrong; what is beyond is not explained */
	BLAME_CAUSES_MAX = 4,  /* at once; with more of them every one is taken by itself */
};

/* From narrow to wide where one contains the other. */
enum blame_kind {
	BLAME_PORT,
	BLAME_NODE,
	BLAME_PATH, /* between two ports */
	BLAME_KINDS
};

struct blame_part {
	enum blame_kind kind;
	size_t within; /* the part that contains it; its own number: none */
};

enum blame_state { BLAME_GOOD, BLAME_BAD };

struct blame_test {
	size_t parts[BLAME_TEST_PARTS];
	size_t n;
	enum blame_state state;
};

struct blame_set {
	const struct blame_part *parts;
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
	size_t explains; /* tests that went wrong with the first */
	/* In every explanation by so few causes, and nothing elsewhere explains the same. */
	bool certain;
};

struct blame {
	struct blame_verdict *items;
	size_t n;
};

struct blame blame_judge(struct arena *a, const struct blame_set *set);
#endif
