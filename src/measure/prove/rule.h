/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When enough was measured to say what a setting does, and what is said then. Pure: log ratios in,
 * ruling out. A pair is one window without the setting (A) and one with it (B), in random order;
 * its log ratio is ln(B / A) where more is better and ln(A / B) where less is, so that positive
 * always means: better with the setting.
 *
 * Why it holds: with no effect, which window of a pair was called B is the toss of a coin that
 * knows nothing of the machine. So the signs of the log ratios are fair coins, whatever drift, two
 * states, dependence and outliers do to their sizes. docs/design/PROOF.md has the simulations.
 */
#ifndef PROVE_RULE_H
#define PROVE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RULE_LOOKS = 8,
	RULE_PAIRS_MAX = 256,
	RULE_GUARD_PAIRS = 16,
	RULE_SAME_PAIRS = 16,
	RULE_PROVEN_PAIRS = 6
};

struct rule {
	double min_effect; /* what matters, as a share: 0.01. Less is "no difference" */
	double alpha; /* helps or hurts, said of a setting that does nothing: all looks together */
	size_t looks[RULE_LOOKS]; /* pairs after which is looked, rising; never in between */
	double level[RULE_LOOKS]; /* two-sided level of each look */
	size_t n_looks;
	double sd, df; /* what the first look rests on: rule_proven; 0: on ranks, as the others */
};

enum ruling_kind {
	RULING_GO_ON,
	RULING_HELPS,	      /* low > 1 and ratio >= 1 + min_effect */
	RULING_HURTS,	      /* high < 1 and ratio <= 1 / (1 + min_effect) */
	RULING_NO_DIFFERENCE, /* the whole interval is within min_effect */
	RULING_UNDECIDED,     /* no more pairs, and neither of them */
};

/* How much better B is than A, as a ratio: 1.03 is 3 % better. */
struct ruling {
	enum ruling_kind kind;
	double ratio, low, high; /* estimate and interval; 0 and infinity where n is too small */
	double resolution;	 /* the largest effect that could have been missed, as a share */
	size_t pairs;
	/* Undecided: about how many pairs would decide; 0: not known, or too many. */
	size_t needed;
	const char *why; /* a sentence, static */
};

/* min_effect <= 0: 1 %. */
void rule_default(struct rule *r, double min_effect);
/* For a set whose members were proven before, on other data: looks at RULE_PROVEN_PAIRS already,
 * and at two, which decide where the difference is far beyond what one run is worth by these data
 * (sd of its logarithm, of so many degrees of freedom). */
void rule_proven(struct rule *r, double sd, double df);
/* After how many pairs the next look after n is; 0: there is none. */
size_t rule_next(const struct rule *r, size_t n);
/*
 * The ruling after n finite log ratios. Between looks it is RULING_GO_ON and nothing is computed,
 * unless last says that no more will come: then it counts as the next look.
 */
void rule_look(const struct rule *r, const double *d, size_t n, bool last, struct ruling *out);
const char *ruling_name(enum ruling_kind k);	/* "helps", "no-difference", ... "go-on" */
const char *ruling_verdict(enum ruling_kind k); /* the same; NULL of RULING_GO_ON, which is none */

/* --- A/A: the same procedure where both windows are without the setting ----------------------- */
enum same_kind {
	SAME_OK,
	SAME_BIASED, /* the procedure favours one side: nothing it says can be believed */
	SAME_COARSE, /* resolves less than RULE_COARSE: it cannot decide anything */
	SAME_SHORT,  /* fewer than 8 pairs */
};
/* The verdicts stay right whatever the noise is; beyond this there will hardly be one. */
#define RULE_COARSE 0.2
struct same {
	enum same_kind kind;
	double ratio, low, high; /* as in struct ruling; 99 % */
	double resolution;	 /* half the interval of RULE_SAME_PAIRS pairs, as a share */
	double min_effect; /* what to ask rule_default for: the one asked for, or what A/A itself
			      shows */
	const char *why;
};
void rule_same(const double *d, size_t n, double min_effect, struct same *out);

/* --- guards: what must not get worse while something else gets better ------------------------- */
struct guard_ruling {
	bool veto;		 /* proven worse, by more than the tolerance */
	bool early;		 /* fewer than RULE_GUARD_PAIRS pairs: nothing is said yet */
	double ratio, low, high; /* 90 %: 5 % a side */
};
/*
 * A soft guard: another figure, log ratios positive for better. tolerance <= 0: 1 %. It does not
 * ask for proof of harmlessness, which ten guards would deny to most good settings.
 * Hard guards (a wrong result, a lost device, a read-back that differs) need no statistics: one
 * event vetoes, and the engine says which.
 */
void rule_guard(const double *d, size_t n, double tolerance, struct guard_ruling *out);

/* --- what the above is made of ---------------------------------------------------------------- */
struct rank_interval {
	double estimate, low, high; /* logs; low and high infinite where n is too small */
};
/*
 * Wilcoxon's signed ranks, exact: the estimate of Hodges and Lehmann and the interval of the given
 * two-sided level. 1 <= n <= RULE_PAIRS_MAX.
 */
void rank_interval(const double *d, size_t n, double level, struct rank_interval *out);

/*
 * In which order the windows come: by chance, but the same again for the same seed. Each pair is
 * the toss of a coin of its own, which is all that the rule rests on (rule.h).
 *
 * The state of a window has to be made anew before each window, also where the window before it had
 * the same one: go to the other state and back. Otherwise two neighbouring pairs share whatever
 * chance a switch brings (where memory came to lie, which CPU a queue fell on), their signs are no
 * independent coins any more, and wrong verdicts rise from 3 to 7 in 100 (docs/design/PROOF.md).
 */

/* Whether the setting's window is the first of pair number i (a void pair's number is used up). */
bool order_b_first(uint64_t seed, size_t i);
/* Shuffles 0 .. n - 1 into at. */
void order_shuffle(uint64_t seed, size_t *at, size_t n);
/* A seed of the system's; never 0. */
uint64_t order_seed(void);

#endif
