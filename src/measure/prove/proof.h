/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a proof leaves behind: every window in the order in which it was measured, and all that is
 * needed to come to the same verdict again.
 */
#ifndef PROVE_PROOF_H
#define PROVE_PROOF_H

#include "measure/bench/record.h"
#include "measure/prove/rule.h"
#include "measure/prove/screen.h"
#include "measure/prove/window.h"

enum proof_part { PART_WARM_UP, PART_SAME, PART_PAIRS, PART_SCREEN, PART_CONFIRM };
const char *proof_part_name(enum proof_part p);

struct proof_window {
	enum proof_part part;
	size_t pair;	   /* number in its part; void ones are counted too */
	const char *state; /* "off", "on"; of many settings what is on: "row 3", "all but a.b" */
	bool b;		   /* it is the pair's side whose being better counts as positive */
	double at_s;	   /* its beginning, since the proof's */
	size_t samples;
	double value[WINDOW_FIGURES];
	size_t n;	   /* of them */
	const char *fault; /* why it does not count; NULL: it does */
};

/* Log ratios of pairs that count, by figure: positive is better for B. */
struct proof_pairs {
	double *d[WINDOW_FIGURES];
	size_t n;
};

struct proof_guard {
	size_t figure;
	const char *key; /* the figure's */
	struct guard_ruling guard;
};

/* B against A. */
struct compared {
	bool done; /* it was begun at all */
	struct ruling ruling;
	struct proof_guard guards[WINDOW_FIGURES];
	size_t n_guards;
	struct proof_pairs pairs;
	enum ruling_kind verdict; /* with guards */
	const char *why;	  /* a sentence */
};

/* One change that is on in B. */
struct proof_change {
	const char *id, *target, *knob, *before, *after;
};

/* How far a setting of many came; each has done what those before it did. */
enum member_state {
	MEMBER_OUT,   /* not in the set that was compared with none of them */
	MEMBER_TRIED, /* in that set */
	MEMBER_STAYS, /* the set helps */
	MEMBER_SHOWN  /* and its own part in that was proven: left out, or alone in the set */
};

/* One setting of many. */
struct proof_member {
	const char *id;
	const char *fault; /* it could not take part; NULL */
	bool screened;
	struct screen_effect effect;
	bool confirmed; /* it was left out once */
	struct screen_member member;
	size_t of;  /* so many were left out with it, itself counted */
	double sum; /* what these are worth in mixtures, as a ratio */
	enum member_state state;
};

struct proof {
	const char *what; /* "disk.read-ahead", "profile:default" */
	bool many;	  /* members are filled, and compared is the whole set against none */
	struct proof_change *changes;
	size_t n_changes;
	struct window window;
	struct rule rule;
	double min_effect_asked;
	uint64_t seed;
	double settle_s, budget_s, took_s;
	double warm_up_s;   /* at least so long before anything counts, where the budget allows */
	bool warm, stopped; /* it became steady; somebody stopped it */
	struct proof_window *windows;
	size_t n_windows;
	struct same same;
	struct proof_pairs same_pairs;
	bool same_done;
	struct compared compared;
	struct proof_member *members;
	size_t n_members;
	enum ruling_kind verdict;
	const char *why;
	bool kept;
	unsigned long txn; /* that keeps it; 0 */
	const char
		*trouble; /* what could not be put back, and who says how; NULL: all is as it was */
	const char *foreign; /* what somebody else set meanwhile, which is left to them; NULL */
	size_t switches;
	struct record_conditions conditions;
	struct record machine; /* fingerprint, settings, time: no cases */
};

/* +1.031 as "+3.1 %". */
const char *proof_percent(struct arena *a, double ratio);

#endif
