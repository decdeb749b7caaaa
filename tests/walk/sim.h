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

/* What may come to pass in a walk. */
struct with {
	bool reboot;	/* the machine is booted, power goes */
	bool gap;	/* a rival writes between two operations of a run */
	bool leftovers; /* a put that was interrupted leaves its new file */
	bool strict; /* older transactions are undone before newer ones; every exit code and every
			folder is judged */
};

/* Makes every move and judges; false and why. */
bool sim_walk(const char *machine, const struct walk *w, const struct with *with, char *why);
/* A move of chance; next gives numbers. */
void sim_choose(char *move, const struct with *with, unsigned (*next)(void *ctx), void *ctx);

#endif
