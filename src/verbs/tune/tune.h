/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of gputune tune share. */
#ifndef VERBS_TUNE_TUNE_H
#define VERBS_TUNE_TUNE_H

#include "measure/prove/seen.h"
#include "render/doc.h"
#include "verbs/prove/prove.h"
#include "verbs/ranks.h"

struct tune_ask {
	const char *command, *metric, *contribute, *beside;
	unsigned better; /* 1: lower */
	bool resume;
	double settle_s; /* 0: not given */
	struct narrow_ask narrow;
	struct allow_ask allow;
	struct pairs_ask pairs;
	struct machine_ask machine;
	struct change_ask change;
	struct state_ask state;
	struct ranks_ask ranks;
};

/* What became of a candidate. */
enum tune_state { TUNE_KEPT, TUNE_NO_GAIN, TUNE_HURTS, TUNE_FAILED, TUNE_OPEN, TUNE_NOT_TRIED };

/* One setting with one value, or a variable, or a profile as a whole. */
struct tune_item {
	const char *id, *targets, *before, *after;
	const char *from; /* the profiles that want it, or the source of a variable */
	const char *uses; /* the resources for which it can matter */
	enum risk risk;
	enum tune_state state;
	const char *why;
	bool screened, confirmed;
	struct screen_effect effect; /* with it over without it, the others mixed */
	/* What is lost without it, the others kept; of a rival: against what was kept. */
	struct screen_member member;
	size_t of;	    /* so many were left out together, itself counted */
	double interaction; /* of these: what they are worth beside the others over alone; NAN */
};

struct tune_note {
	const char *id, *says;
};

enum { TUNE_LOOKS = 3, TUNE_RUNS = 5, TUNE_RUNS_MAX = 12, TUNE_PROFILES = 8 };

/* One run, which is its answer afterwards. */
struct tuning {
	struct proving g; /* its proof, plan and engine */
	const struct tune_ask *ask;
	bool dry, measured;
	struct job_seen seen;
	double runs[TUNE_RUNS_MAX]; /* the job as it was; of these the first cold ones do not count
				     */
	size_t n_runs, cold;
	double seconds; /* of one run: the middle */
	double before,
		spread; /* of the figure: the middle, and one standard deviation as a share */
	double after;	/* NAN: nothing is kept */
	double plan_s, resolves; /* what it will take; the least effect that can be seen in it */
	struct tune_item *items;
	size_t n_items;
	struct tune_note *health, *manual, *variables;
	size_t n_health, n_manual, n_variables;
	const char *undo, *keep, *run; /* commands; NULL: none */
	struct use_row *uses;
	struct plan_target target; /* of the first profile, with what is allowed */
	struct planned planned[TUNE_PROFILES];
	size_t n_profiles;
	bool *spare; /* by change: another value than the one that is screened */
	struct tape *tape;
	struct together *together; /* of a job of several machines; NULL: this one alone */
	struct prove_ask prove;	   /* what the proof is asked */
};

/* --- candidates.c ----------------------------------------------------------------------------- */
/* Plans of the profiles for this machine, and what is broken. 0, or as answers. */
int tune_look(struct tuning *t);
/* The plan of all candidates for what the job was seen to use; what cannot matter is refused with
 * its reason. Other values and whole profiles become rivals. */
void tune_candidates(struct tuning *t);
/* Leaves out the last in rank until the rest fits the budget. *one_s: what those that are left take
 * at least; *all_s: all of them. false: not even one fits. */
bool tune_fit(struct tuning *t, double *one_s, double *all_s);
/* Every candidate in one line each, and what a person may do. */
void tune_items(struct tuning *t);

/* --- baseline.c ------------------------------------------------------------------------------- */
/* Runs the job as it is, and says first what would make its figures worthless. 0, or as answers. */
int tune_baseline(struct tuning *t);

/* --- together.c ------------------------------------------------------------------------------- */
/* Where a launcher started one process on each machine: all of them meet from here on before and
 * after each window (engine.agree). 0, or as answers. */
int tune_together(struct tuning *t);
/* Whether all have the same candidates; digest: in hexadecimal digits. 0, or as answers. */
int tune_alike(struct tuning *t, const char *digest);
/* The end: its exit code, or that of a rank that does not speak. */
int tune_apart(struct tuning *t, int code);

/* --- page_tune.c ------------------------------------------------------------------------------ */
struct doc *page_tune(struct arena *a, const struct tuning *t, bool html);
/* The plan, before it is agreed to. */
struct doc *page_tune_plan(struct arena *a, const struct tuning *t);
extern const struct result_shape tune_result;

#endif
