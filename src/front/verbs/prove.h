/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of gputune prove share. */
#ifndef VERBS_PROVE_H
#define VERBS_PROVE_H

#include "measure/bench/conditions.h"
#include "front/change.h"
#include "measure/prove/engine.h"
#include "tune/txn/txn.h"

struct proving_word {
	const char *word; /* a bench, or its case */
	size_t n;	  /* settings that name it */
};

/* One proof under way. */
struct proving {
	struct run *r;
	struct host *h;
	struct planned planned;
	struct proof proof;
	struct prove_engine engine;
	struct bench_env env;
	struct bench_ask ask;
	struct idset cpus;
	struct watch_list watch;
	struct txn_who who;
	atomic_bool stop;
	const bool *good; /* the changes that are proven; of many those that helped */
	struct proving_word *words;
	size_t n_words;
	const char *none; /* why no bench would do */
	bool live_line;
	bool tty;
};

/* --- from the command line -------------------------------------------------------------------- */

/* The plan of what is to be proven: ID[@TARGET][=VALUE] words, or a whole profile. 0, or an exit
 * code after complaining. */
int prove_plan(struct proving *g);
/* Sizes, times, the seed. */
int prove_options(struct proving *g);
/* How long it may take where nobody says: by whether it is of many settings. */
void prove_budget(const struct run *r, struct proof *out);
/* The bench's case or the workload. */
int prove_window(struct proving *g);

/* --- from the settings' rows ------------------------------------------------------------------ */

/* The bench that most of the plan's settings name and that runs here; changes that it does not
 * show are closed. 0, or an exit code after complaining. */
int prove_pick_window(struct proving *g);

/* --- prove_keep.c: what stays ----------------------------------------------------------------- */

/* Ledger, and where --json says. An exit code: code, or worse. */
int prove_store(struct proving *g, int code);

#endif
