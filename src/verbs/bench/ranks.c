/* SPDX-License-Identifier: Apache-2.0 */
/* bench collectives in several processes: options, a launcher's environment, or children of this
 * one. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sodium.h>

#include "machine/host/libraries.h"
#include "verbs/bench/bench.h"

/* What children get to end by themselves. */
#define LEAVE_S 5.0
/* How much longer than rank 0 another machine may measure. */
#define EACH_S 600

static bool is_collective(const char *arg)
{
	size_t n = strcspn(arg, "/");

	return n == strlen("collectives") && strncmp(arg, "collectives", n) == 0;
}

static size_t collectives(const struct ask_texts *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++)
		n += is_collective(names->items[i]);
	return n;
}

/* --rank and --ranks, or what a launcher says. */
static int read_ranks(struct door *d, const struct bench_verb_ask *ask, struct ranks *out)
{
	struct err e = { 0 };

	*out = (struct ranks){ 0 };
	if (!ask->ranks && ask->rank < 0)
		return ranks_find(d->arena, out, &e) ? door_fail(d, EXIT_USAGE, &e) : 0;
	if (!ask->ranks)
		return door_refuse(d, EXIT_USAGE,
				   "--rank requires --ranks, the number of processes");
	if (ask->ranks < 2)
		return 0;
	if (ask->rank < 0)
		return door_refuse(d, EXIT_USAGE,
				   "--ranks %u requires --rank, the rank of this process",
				   ask->ranks);
	if (ask->rank >= (int)ask->ranks)
		return door_refuse(d, EXIT_USAGE, "--rank takes a number up to %u, got \"%d\"",
				   ask->ranks - 1, ask->rank);
	out->ranks = ask->ranks;
	out->rank = (unsigned)ask->rank;
	out->by = "--ranks";
	return 0;
}

static int local_job(struct door *d, char **job)
{
	struct err e = { 0 };
	uint64_t bits[2];

	if (library_open(LIBRARY_SODIUM, &e))
		return door_fail(d, EXIT_BLIND, &e);
	randombytes_buf(bits, sizeof(bits));
	*job = arena_printf(d->arena, "local-%d-%016llx%016llx", (int)getpid(),
			    (unsigned long long)bits[0], (unsigned long long)bits[1]);
	return 0;
}

/* One process a GPU: this one is rank 0, the others are children. */
static int start_children(struct door *d, struct bench_env *env, struct ranks *ranks,
			  struct bench_ranks *out)
{
	char *gpus = (char *)(uintptr_t)env->ask.gpus, *job = NULL;
	char *argv[] = { "gputune", "bench", "collectives", "--quiet", gpus ? "--gpus" : NULL,
			 gpus,	    NULL };
	struct err e = { 0 };
	const char *why;
	size_t n = team_gpus(env, &why);
	int code = local_job(d, &job);

	if (code)
		return code;
	if (n < 2 || n > RANKS_MAX)
		return door_refuse(
			d, EXIT_BLIND,
			"--local-processes requires at least two GPUs; %zu usable here%s%s", n,
			why ? ": " : "", why ? why : "");
	*ranks = (struct ranks){
		.ranks = (unsigned)n, .locals = (unsigned)n, .by = "--local-processes", .job = job
	};
	if (ranks_spawn(argv, (unsigned)n, job, &out->children, &e))
		return door_fail(d, EXIT_BLIND, &e);
	return 0;
}

/* Ctrl-C reaches all processes of a terminal; rank 0 decides, and says good-bye or is gone. */
static int follow(struct door *d, const struct bench_env *env, struct collective_shared *team)
{
	struct err e = { 0 };
	int code;

	signal(SIGINT, SIG_IGN);
	code = team_follow(env, team, &e);
	team_end(team);
	if (!code)
		return ANSWERED_ELSEWHERE;
	/* What rank 0 says it has printed itself. */
	return code == -ECANCELED || !d->note ? -EXIT_BLIND : door_fail(d, EXIT_BLIND, &e);
}

void bench_ranks_end(struct bench_ranks *b)
{
	team_end(b->team);
	b->team = NULL;
	ranks_reap(&b->children, LEAVE_S);
}

static int join(struct door *d, struct bench_env *env, const struct ranks *ranks,
		struct bench_ranks *out)
{
	const char *token = env->ask.token ? env->ask.token : getenv("GPUTUNE_TOKEN_FILE");
	struct err e = { 0 };
	int code = team_join(env, ranks, token, &out->team, &e);

	if (code == 0)
		return 0;
	bench_ranks_end(out);
	return door_fail(d, code == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e);
}

const struct ranks_ask *bench_by_ranks(const void *ask)
{
	static const struct ranks_ask how = { .wait_s = EACH_S };
	const struct bench_verb_ask *x = ask;

	return x->ranks || x->rank >= 0 || x->local_processes || collectives(&x->names) ? NULL
											: &how;
}

int bench_ranks_begin(struct door *d, const struct bench_verb_ask *ask, struct bench_env *env,
		      struct bench_ranks *out)
{
	size_t n = collectives(&ask->names);
	struct ranks ranks;
	int code = read_ranks(d, ask, &ranks);

	*out = (struct bench_ranks){ 0 };
	/* Others are measured by each rank for its machine. */
	if (code || (!ask->local_processes && (!ranks.ranks || (!n && !ask->ranks))))
		return code;
	if (n != ask->names.n)
		return door_refuse(d, EXIT_USAGE,
				   "several processes (%s) can only measure collectives, without "
				   "other benches",
				   ranks.by ? ranks.by : "--local-processes");
	if (ask->local_processes && ranks.ranks)
		return door_refuse(d, EXIT_USAGE,
				   "--local-processes starts the processes itself, but %s has "
				   "already started them",
				   ranks.by);
	code = ask->local_processes ? start_children(d, env, &ranks, out) : 0;
	if (code)
		return code;
	if (env->ask.peer) {
		ranks.meet = env->ask.peer;
		ranks.job = NULL;
		ranks.pmix = false;
	}
	code = join(d, env, &ranks, out);
	if (code)
		return code;
	env->ask.team = out->team;
	return ranks.rank ? follow(d, env, out->team) : 0;
}
