/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs are asked that measure, and measurements that are kept. */
#ifndef VERBS_BENCHES_H
#define VERBS_BENCHES_H

#include "base/idset.h"
#include "measure/bench/bench.h"
#include "verbs/door.h"

/* Of a struct bench_ask: --gpus, --dir, --files; and --peer, --token. */
extern const struct ask_shape bench_ask_shape, bench_peer_shape;
/* Checks of rows. */
int cpus_check(const char *list, struct err *e);
/* What a list that cpus_check lets through names; NULL: all that this process may use. */
struct idset door_cpus(struct door *d, const char *list);
/* Names of benches, for proposals. */
const char *bench_proposal(size_t i);

/* Of verbs that measure in pairs until the difference is known: --for, --min-effect, --time-limit,
 * --timeout, --seed. */
struct pairs_ask {
	double seconds, budget_s; /* 0: not given */
	double min_effect, limit_s;
	const char *seed;
};
extern const struct ask_shape pairs_ask_shape;
/* By chance where none was given. */
uint64_t pairs_seed(const struct pairs_ask *ask);

/* A file where there is one of that name, otherwise a kept result of that id: 0, or as answers.
 * *text (NULL: not wanted) is as it stands there. */
int door_bench(struct door *d, struct host *h, const struct state_ask *state, const char *name,
	       struct record *out, const char **text);

#endif
