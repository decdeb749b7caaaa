/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measurement in several processes: which of them this one is, as launchers tell their
 * processes by environment or the user by option, and the team that the collectives run in.
 */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include <sys/types.h>

#include "measure/bench/bench.h"

enum { RANKS_MAX = 64 };

struct ranks {
	unsigned rank, ranks;	/* ranks 0: nobody told of others */
	unsigned local, locals; /* among those of this machine; locals 0: not known */
	const char *by;		/* "Slurm", "--ranks" */
	/* All on this machine: what names their meeting place. NULL: they meet at an address. */
	const char *job;
	const char *meet; /* where rank 0 listens: "host", "host:port"; NULL: not known */
};

/*
 * From what launchers set, the first that did: GPUTUNE_RANKS, Open MPI, torchrun, Slurm, PMI. get:
 * getenv. Pure. 0, with out->ranks 0 when none did; -EINVAL and *e: what stands there makes no
 * sense.
 */
int ranks_from_environment(struct arena *a, const char *(*get)(void *ctx, const char *name),
			   void *ctx, struct ranks *out, struct err *e);
/* The first name of a list as Slurm writes it: "n[07-09,12],x" is "n07". NULL: none. Pure. */
const char *ranks_first_host(struct arena *a, const char *list);

/* --- team: collective_team.c ------------------------------------------------------------------ */
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

/* --- children --------------------------------------------------------------------------------- */
struct ranks_children {
	pid_t pid[RANKS_MAX];
	size_t n;
};

/* ranks - 1 processes of this program with these arguments, ranks 1 and up of a job of that name;
 * they end when this process does. -errno and *e, and none is left. */
int ranks_spawn(char *const *argv, unsigned ranks, const char *job, struct ranks_children *out,
		struct err *e);
/* Waits for them, and ends those that take longer than that. */
void ranks_reap(struct ranks_children *c, double seconds);

#endif
