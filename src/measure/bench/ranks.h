/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement in several processes: the team that the collectives run in. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "machine/host/ranks.h"
#include "measure/bench/bench.h"

/*
 * This process's GPUs (the one of its place on the machine, where there are several processes), its
 * NCCL, and all others'. Waits until everybody is there. token_file: NULL with r->job. env->ask of
 * --gpus counts. -errno and *e; out is NULL then.
 */
int team_join(const struct bench_env *env, const struct ranks *r, const char *token_file,
	      struct collective_shared **out, struct err *e);
/* For every rank but 0: does what rank 0 says until it says good-bye. */
int team_follow(const struct bench_env *env, struct collective_shared *team, struct err *e);
/* CPU seconds that its other processes on this machine have taken; 0 without any. */
double team_near_cpu_s(const struct collective_shared *team);
void team_end(struct collective_shared *team);
/* How many GPUs a process here could drive. 0: *why says so. */
size_t team_gpus(const struct bench_env *env, const char **why);

#endif
