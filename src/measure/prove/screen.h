/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many settings at once. Screening: each run measures a mixture of settings after a design in which
 * every setting is on in half of the runs, beside every other one equally often, so that each run
 * says something of each setting. The order of runs is by chance. Pure: designs and figures, no
 * machine.
 */
#ifndef PROVE_SCREEN_H
#define PROVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "measure/prove/rule.h"

enum { SCREEN_FACTORS_MAX = 127, SCREEN_BLOCKS_MAX = 12 };

/* Rows of a Hadamard matrix without its constant column (Plackett and Burman 1946). */
struct screen_design {
	size_t factors, rows;
	size_t passes;	    /* of a block: enough for the noise to be estimated from it */
	signed char *level; /* [row * rows + factor]: +1 on; every second pass its mirror */
};

/*
 * Run number i of a block is row i % rows of its pass i / rows; the order of the runs of a pass is
 * that of screen_order. 0, or -EINVAL: no factor, or more than SCREEN_FACTORS_MAX.
 */
int screen_design(struct arena *a, size_t factors, struct screen_design *out);
/* The order of a pass, by chance: of many shuffles the one in which a trend is least like any
 * factor. */
void screen_order(struct arena *a, const struct screen_design *s, uint64_t seed, size_t *at);
/* Runs of one block; 0 where there is no design. */
size_t screen_runs(size_t factors);
/* run: counted over all blocks, before shuffling. */
bool screen_on(const struct screen_design *s, size_t run, size_t factor);

enum screen_note {
	SCREEN_KEEP,  /* proven to help, and by enough to matter */
	SCREEN_DROP,  /* would help by less than matters */
	SCREEN_HURTS, /* proven to hurt, by enough to matter */
	SCREEN_OPEN,  /* none of these */
};

struct screen_effect {
	double ratio, low, high; /* with it on over off, all others mixed; 90 % */
	enum screen_note say;
};

/* What was measured, in that order. */
struct screen_data {
	const struct screen_design *s;
	size_t *run; /* as in screen_on */
	double *y;   /* ln of goodness */
	size_t n;
};

/* What one run is worth. */
struct screen_noise {
	double sd, df; /* of ln of goodness; degrees of freedom */
};

/*
 * Effects of all factors. level: two-sided, of all factors together (Bonferroni), of this look.
 * Least squares with a level and a trend of each block, and intervals by Student's t from what is
 * left unexplained, a run far from the others counting less (Huber 1973); where nothing is left
 * over, from the middle of the effects themselves (Lenth 1989). What is in between lies in a.
 * -ENODATA: too few runs to separate them.
 */
int screen_effects(struct arena *a, const struct screen_data *d, double level, double min_effect,
		   struct screen_effect *out, struct screen_noise *noise);

/*
 * Looks after each block share SCREEN_LEVEL, two-sided: after block k of n planned,
 * SCREEN_LEVEL * (k/n)^4 of it is spent (Kim and DeMets 1987), and the levels of all looks add up
 * to at most that. What is left for the look after block k; *spent grows by it.
 */
#define SCREEN_LEVEL 0.02
double screen_level(size_t k, size_t n, double *spent);
/* Blocks that find what is worth twice min_effect more than every second time, at most
 * SCREEN_BLOCKS_MAX. */
size_t screen_blocks(size_t factors, double noise, double min_effect);
/* Whether more runs would change nothing: nothing is open. */
bool screen_is_clear(const struct screen_effect *x, size_t n);

/* --- leaving one out -------------------------------------------------------------------------- */
struct screen_member {
	size_t n;
	double ratio, low, high; /* everything kept over everything but this; 95 % */
	bool hurts;		 /* the set is better without it, at 5 % of all members together */
};
/* d: ln of goodness of the whole set over it without this one, once each; of n members. */
void screen_left_out(double d, size_t n, const struct screen_noise *noise, double min_effect,
		     struct screen_member *out);

/* --- what goes together ----------------------------------------------------------------------- */
/* Union of items that must be switched together: group[i] becomes the number of its group, counted
 * from 0 in order of first members; returns how many there are. joined(ctx, i, j): i and j touch
 * the same knob, or one resets the other. */
size_t screen_groups(size_t n, bool (*joined)(void *ctx, size_t i, size_t j), void *ctx,
		     size_t *group);

#endif
