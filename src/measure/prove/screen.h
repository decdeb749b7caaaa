/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many settings at once. Screening: every pair compares a mixture of settings with its mirror
 * (what was on is off), so each pair says something of every setting; drift and all interactions of
 * two settings cancel within a pair. Confirming: the set that is kept against the set without one
 * member, on fresh data. Pure: designs and figures, no machine.
 */
#ifndef PROVE_SCREEN_H
#define PROVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "measure/prove/rule.h"

enum { SCREEN_FACTORS_MAX = 127, SCREEN_PAIRS_MAX = 256 };

/* Rows of a Hadamard matrix without its constant column (Plackett and Burman 1946). */
struct screen_design {
	size_t factors, rows;
	signed char *level; /* [row * factors + factor]: +1 on in the first half of the pair */
};

/*
 * Pair number i measures row i % rows: state P has on what is +1, its mirror M what is -1;
 * order_b_first tells which of both comes first; d = ln of goodness of P over M. The order of rows
 * is shuffled by order_shuffle. 0, or -EINVAL: no factor, or more than SCREEN_FACTORS_MAX.
 */
int screen_design(struct arena *a, size_t factors, struct screen_design *out);
/* Pairs of one pass over it; 0 where there is no design. */
size_t screen_rows(size_t factors);
bool screen_on(const struct screen_design *s, size_t row, size_t factor, bool mirror);

enum screen_note {
	SCREEN_KEEP,  /* goes on to confirmation */
	SCREEN_DROP,  /* hurts, or would help by less than matters */
	SCREEN_HURTS, /* proven to hurt: said so in the result */
};

struct screen_effect {
	double ratio, low, high; /* with it on over off, all others mixed */
	enum screen_note say;
};

/*
 * Effects of all factors from n pairs (rows[i]: which row pair i was). A factor goes on when it
 * looks better than min_effect / 2 and its interval (90 %) does not lie below min_effect; errors
 * are caught by the confirmation. -ENODATA: fewer pairs than rows. Least squares with intervals by
 * Student's t from what the factors leave unexplained; where nothing is left over (as many factors
 * as pairs) from the middle of the effects themselves (Lenth 1989). What is in between lies in a.
 */
int screen_effects(struct arena *a, const struct screen_design *s, const size_t *rows,
		   const double *d, size_t n, double min_effect, struct screen_effect *out);

/* Whether more pairs would change nothing: each is sure to go on, or sure not to matter. */
bool screen_is_clear(const struct screen_effect *x, size_t n, double min_effect);

/* --- confirmation ----------------------------------------------------------------------------- */
struct screen_member {
	const double *d; /* B: the whole set, A: without this member */
	size_t n;
	double ratio, low, high, p; /* out; p two-sided, not corrected */
	bool stays; /* out: helps by Holm's procedure over all members, and matters */
	bool hurts; /* out: the set is better without it, by the same procedure */
};
void screen_confirm(struct screen_member *m, size_t n, double alpha, double min_effect);
/* The least pairs with which Holm's first step can find anything among n members. */
size_t screen_confirm_pairs(size_t n, double alpha);

/* --- time, to be said in advance -------------------------------------------------------------- */
struct screen_cost {
	double window_s, switch_s; /* of one window; from one state to the other until it counts */
	double warm_up_s;	   /* once a phase */
	size_t settings;
	size_t rounds; /* passes over the design; 0: what min_effect needs is not known, 1 */
};
struct screen_time {
	size_t same_pairs, screen_pairs, confirm_pairs, whole_pairs; /* at most */
	double same_s, screen_s, confirm_s, whole_s, total_s;
};
void screen_time(const struct screen_cost *c, struct screen_time *out);

/* --- what goes together ----------------------------------------------------------------------- */
/* Union of items that must be switched together: group[i] becomes the number of its group, counted
 * from 0 in order of first members; returns how many there are. joined(ctx, i, j): i and j touch
 * the same knob, or one resets the other. */
size_t screen_groups(size_t n, bool (*joined)(void *ctx, size_t i, size_t j), void *ctx,
		     size_t *group);

#endif
