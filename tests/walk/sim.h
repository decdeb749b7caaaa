/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated machine and its twin, which everything happens to but gputune: moves of a walk, and
 * what must be true of the machine then. A move is a few words, so that a walk can be kept as text.
 */
#ifndef WALK_SIM_H
#define WALK_SIM_H

#include <stdbool.h>
#include <stddef.h>

enum { MOVE_MAX = 96, MOVES_MAX = 64, WHY_MAX = 1024 };

struct walk {
	char moves[MOVES_MAX][MOVE_MAX];
	size_t n;
};

/* Makes every move and judges; false and why. */
bool sim_walk(const char *machine, const struct walk *w, char *why);
/* A move of chance; next gives numbers. */
void sim_choose(char *move, unsigned (*next)(void *ctx), void *ctx);

#endif
