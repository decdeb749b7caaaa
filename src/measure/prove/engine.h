/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a proof: warm-up, the same state against itself, pairs in random order until the
 * rule has seen enough, and back to how it was, whatever happens.
 */
#ifndef PROVE_ENGINE_H
#define PROVE_ENGINE_H

#include <stdatomic.h>

#include "measure/prove/proof.h"
#include "measure/prove/seen.h"
#include "measure/prove/tape.h"
#include "tune/txn/txn.h"

/*
 * The machine in one of several states: as it was, or with some of a plan's changes made. Each
 * switch is a transaction that stays open, so that whatever ends this process leaves the machine
 * to be put back by the next command.
 */

struct switcher;

/* The plan's open changes are what can be on; p has to live as long. Those without a place in the
 * machine (KNOB_NONE) are variables of the job's environment, which a window sets. what: for others
 * who find the lock held. -errno and *e: nothing was begun. */
int switch_begin(struct host *h, struct arena *a, const struct txn_who *who, const char *what,
		 const struct plan *p, struct switcher **out, struct err *e);
/*
 * Brings the machine into the state in which just the changes with on[i] are made (NULL: none, as
 * it was) and looks whether it is. again: also when it is that state already. -ECANCELED: a change
 * cannot be made here, and all is as it was. -EUCLEAN: something is stuck. -ESTALE: somebody else
 * changed a knob.
 */
int switch_to(struct switcher *s, const bool *on, bool again, struct err *e);
/* The changes with on[i] stay: one transaction as apply makes it, whose number *txn is. profile:
 * for the journal; NULL. */
int switch_keep(struct switcher *s, const bool *on, const char *profile, unsigned long *txn,
		struct err *e);
/* Puts back what is open. Whatever it returns, s is gone. */
int switch_end(struct switcher *s, struct err *e);
/* Writes that were made so far, and transactions. */
size_t switch_count(const struct switcher *s);

/* For tests that have no time. */
struct engine_clock {
	double (*now)(void *ctx); /* seconds, monotonic */
	void (*wait)(void *ctx, double seconds, const atomic_bool *stop);
	void *ctx;
};
/* The machine's. */
extern const struct engine_clock engine_real;

struct prove_engine {
	struct arena *a;
	struct switcher *sw;
	/* The caller fills what, changes, window, min_effect_asked, seed, settle_s,
	 * warm_up_s, budget_s. */
	struct proof *p;
	const struct engine_clock *clock;
	const atomic_bool *stop;
	/* Called before each window. NULL: not called. */
	void (*progress)(void *ctx, const struct prove_engine *g, enum proof_part part, size_t pair,
			 size_t of);
	void *ctx;
	const struct plan *plan; /* the switcher's */
	/* With others that measure the same windows on their machines: called before each window
	 * with the code of this machine's switch, and after it with what was measured; gives the
	 * code of all. NULL: alone. */
	int (*agree)(void *ctx, int code, struct window_reading *r, struct err *e);
	void *agree_ctx;
	struct tape *tape; /* what was measured before an interruption; NULL */
	/* Looks for other users of the GPUs in use. A shared window is measured again after the
	 * other user has left; until then the machine has its old values. NULL: no look. */
	struct alone *alone;
	double alone_s; /* waits at most so long, in all */
	/* Called when it begins to wait, with the reason. NULL: not called. */
	void (*shared)(void *ctx, const char *why, double left_s);
	/* Of many: by change of the plan, those that only rivals switch. NULL: none. */
	const bool *spare;
	struct rival *rivals; /* of many: what is compared with the set that helped, in turn */
	size_t n_rivals;
	/* --- the engine's own --- */
	double start;
	double pair_s; /* the time that one pair takes */
	size_t coin;   /* pairs begun */
	size_t expect; /* for progress */
	/* Windows that were shared; of these the ones before this pair. */
	size_t n_shared, n_shared_before;
	double waited_s;
};

/* One state of a pair. */
struct arm {
	const char *name;
	const bool *on;	   /* NULL: none */
	const bool *other; /* what is switched to before, where this state is there already; NULL:
			      nothing */
};

/*
 * B (on) against A (as it was): fills p. It never fails: what went wrong is in p->why, and where
 * the machine could not be put back in p->trouble. The switcher is back at "none" afterwards.
 */
void engine_prove(struct prove_engine *g, const bool *on);

/*
 * The plan's settings against each other: what cannot be set or breaks what is measured is left
 * out, the others are proven in mixtures, each that helps is left out once, and what is left is
 * proven as a whole. Fills p and its members. *on: the changes that helped, by
 * change of the plan; all false where none did.
 */
void engine_prove_many(struct prove_engine *g, const bool **on);

/* Settings that have open changes, of spare (NULL: none) left out: each once, in the plan's order,
 * into out, which has room for all changes; how many. */
size_t engine_settings(const struct plan *p, const bool *spare, const struct setting **out);

/* Another set of changes than the one that was found: it takes its place where it is better. */
struct rival {
	const char *name;
	const char *id, *value; /* of a setting, or "profile:NAME" and NULL */
	const bool *on;		/* by change of the plan */
	bool beside;		/* switched with what is kept; leaves out what it excludes */
	struct compared compared;
	bool won;
};
/* Each rival against *on, in turn; *on becomes the best. 0, or what engine_pair says. */
int engine_challenge(struct prove_engine *g, bool *on, struct err *e);

/* One of several values that a setting may have. */
struct prove_level {
	const char *name;
	const bool *on; /* by change of the plan: those that make it */
};
/*
 * Which of the values is best: each against the machine as it was in a few pairs, and the one that
 * looks best, where none of its guards loses more than it may, proven on fresh ones. Fills p and
 * its members, a value each. The number of the one that was proven; n: none.
 */
enum { LEVEL_ROUNDS_MAX = 12 };
size_t engine_prove_levels(struct prove_engine *g, const struct prove_level *at, size_t n);

/*
 * Another user of the GPUs in use (who; NULL: none) as a code: 0, -EUSERS and *e, or -EINTR and *e
 * when the time to wait for that one is over.
 */
int engine_alone(const struct prove_engine *g, const char *who, struct err *e);
/* What is measured, once, by itself: as the window's measure, or as engine_alone. */
int engine_window(struct prove_engine *g, struct window_reading *out, struct err *e);
/* Puts the machine back and waits until the other user has left, or for as long as it may.
 * spent_s: by what was shared. why: for g->shared. */
void engine_wait_alone(struct prove_engine *g, double spent_s, const char *why);

/* --- steps, for those who compare more than two states ---------------------------------------- */

/* Pairs of the machine against itself where time is short. */
enum { SAME_SHORT_PAIRS = 8 };

void engine_start(struct prove_engine *g);
/* 0. -ETIME: the budget is too small for min_pairs, and *e says how large it has to be. Others as
 * engine_pair. */
int engine_warm_up(struct prove_engine *g, size_t min_pairs, struct err *e);
/* One window with on, which counts for nothing but that it can be set and that what is measured
 * survives it. As engine_pair. */
int engine_admit(struct prove_engine *g, const bool *on, struct err *e);
/* The machine as it was against itself; on: what is switched to in between. 0, also when it is
 * biased: then p->why says so and *usable is false. */
int engine_same(struct prove_engine *g, const bool *on, size_t later_pairs, bool *usable,
		struct err *e);
/*
 * One pair that counts, added to out. -EINTR: stopped. -EBADMSG: side b made the workload fail.
 * -ENODATA: it fails without b. -ESTALE: somebody else changes the knobs. -EAGAIN: it failed with
 * b, and not a second time. -ECANCELED: b cannot be made. -EUCLEAN: it cannot be put back.
 */
int engine_pair(struct prove_engine *g, enum proof_part part, const struct arm *a,
		const struct arm *b, struct proof_pairs *out, struct err *e);
/* One window that counts by itself; *y is ln of its goodness. As engine_pair. */
int engine_run(struct prove_engine *g, enum proof_part part, const struct arm *s, double *y,
	       struct err *e);
/*
 * b and each of the n states a once, in random order: for each a pair with that one window of b,
 * added to its out. Of any two of them either comes first as often. As engine_pair, but nothing is
 * looked at a second time.
 */
int engine_block(struct prove_engine *g, enum proof_part part, const struct arm *b,
		 const struct arm *a, size_t n, struct proof_pairs *const *out, struct err *e);
/* -ETIME and *e, with the budget that would do. */
int engine_too_short(double spent_s, double pair_s, size_t pairs, struct err *e);
bool engine_has_time(const struct prove_engine *g, size_t pairs);
/* Pairs of a and b until rule says enough or time is over; fills out with its verdict. 0, or what
 * engine_pair says (then out has no verdict). */
int engine_compare(struct prove_engine *g, const struct rule *rule, const struct arm *a,
		   const struct arm *b, struct compared *out, struct err *e);
/* The rule for what the machine against itself has shown: of a coarse one only the first looks,
 * which find what is too large to be missed. */
void engine_rule(struct prove_engine *g);
/* on against the machine as it was, by the proof's rule: its verdict. As engine_compare. */
int engine_verdict(struct prove_engine *g, const bool *on, struct err *e);
/* A setting or value that cannot be set, or breaks what is measured, is left out: 0; other codes of
 * engine_admit stay. */
int engine_leaves(struct prove_engine *g, struct proof_member *x, int code, const struct err *e);
/* Of one pair: positive where b is better. 0 where one of both is not above 0. */
double engine_log_ratio(const struct bench_figure *f, double a, double b);
/* Puts the machine back and says what time it took; where engine_pair returned code, why the proof
 * ended early. */
void engine_finish(struct prove_engine *g, int code, const struct err *said);

#endif
