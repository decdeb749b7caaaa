/* SPDX-License-Identifier: Apache-2.0 */
/* bench collectives in several processes: which one this is, and the others. */
#ifndef VERBS_BENCH_RANKS_H
#define VERBS_BENCH_RANKS_H

#include "measure/bench/ranks.h"
#include "front/verbs/cmd.h"

struct bench_ranks {
	struct collective_shared *team; /* NULL: this process alone */
	struct ranks_children children;
};

/*
 * False: go on; env->ask.team is set where others take part. True: all is done, *code is the exit
 * code: this was not rank 0, or something was wrong, which is said then.
 */
bool bench_ranks_begin(struct run *r, struct bench_env *env, struct bench_ranks *out, int *code);
/* Ends the others. */
void bench_ranks_end(struct bench_ranks *b);

#endif
