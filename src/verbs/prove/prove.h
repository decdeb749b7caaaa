/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of gputune prove share. */
#ifndef VERBS_PROVE_PROVE_H
#define VERBS_PROVE_PROVE_H

#include <stdio.h>

#include "measure/bench/conditions.h"
#include "measure/prove/engine.h"
#include "verbs/benches.h"
#include "verbs/change.h"

struct prove_ask {
	struct ask_texts ids;
	bool all, keep, per_joule;
	double loss;	    /* with per_joule: the accepted loss of speed, a share */
	const char *levels; /* values of one setting, separated by commas; NULL */
	struct profile_ask settings;
	struct allow_ask allow;
	const char *bench, *command, *metric, *cpus;
	unsigned better; /* 1: lower */
	double settle_s; /* 0: not given */
	struct pairs_ask pairs;
	struct bench_ask on;
	struct change_ask change;
	struct state_ask state;
};

struct proving_word {
	const char *word; /* a bench, or its case */
	size_t n;	  /* settings that name it */
};

/* One proof under way, which is its answer afterwards. */
struct proving {
	struct proof proof;
	struct plan_answer plan_result; /* of a dry run */
	bool dry;
	bool failed; /* there is nothing that could be proven */
	struct planned planned;

	struct door *d;
	const struct prove_ask *ask;
	struct profile_ask settings; /* with what the words name */
	struct host *h;
	struct prove_engine engine;
	struct bench_env env;
	struct watch_list watch;
	struct txn_who who;
	atomic_bool stop;
	const bool *good; /* the changes that are proven; of many those that helped */
	struct proving_word *words;
	size_t n_words;
	const char *none; /* why no bench would do */
	struct prove_level *levels;
	size_t n_levels;
	struct host *meter; /* what looks at energy asks through; NULL */
	struct host *users; /* what looks at the GPUs' other users asks through; NULL */
	const char *job;    /* its kind, for the ledger: "gpu, copy; libtorch"; NULL */
	FILE *contribute;   /* gets each row of the ledger without what names people; NULL */
};

/* Into the ledger. */
void prove_store(struct proving *g);
/* Steps, each 0 or as answers: ask.command as what is measured; what is switched, by name; the
 * times that the open changes need. */
int prove_command_window(struct proving *g);
void prove_note_changes(struct proving *g);
void prove_times(const struct plan *p, bool settle, struct proof *out);
/* From here on other users of the GPUs are seen. names: as alone_begin. */
void prove_alone(struct proving *g, const char *names);
/* Measures, keeps what was asked to be kept, puts back the rest and writes the ledger: an exit
 * code, or as answers. what: for others who find the lock held. */
int prove_run(struct proving *g);

/* The plan: a change for each of the values. 0, or as answers. */
int prove_plan_levels(struct proving *g, const char *id, const char *target);
/* Notes which open changes set which value; drops values that no open change sets. */
void prove_note_levels(struct proving *g);
/* Measures all values, and leaves the best as the one to prove. */
void prove_search(struct proving *g);
/* Makes the window measure work per joule. 0, or as answers. */
int prove_per_joule(struct proving *g);

#endif
