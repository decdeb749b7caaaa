/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of gputune prove share. */
#ifndef VERBS_PROVE_PROVE_H
#define VERBS_PROVE_PROVE_H

#include "measure/bench/conditions.h"
#include "measure/prove/engine.h"
#include "verbs/benches.h"
#include "verbs/change.h"

struct prove_ask {
	struct ask_texts ids;
	bool all, keep;
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
};

/* Into the ledger. */
void prove_store(struct proving *g);

#endif
