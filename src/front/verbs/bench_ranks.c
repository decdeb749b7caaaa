/* SPDX-License-Identifier: Apache-2.0 */
/* Options and environment of bench collectives in several processes. */
#include "front/verbs/bench_ranks.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/bench/net/handshake.h"
#include "front/verbs/bench.h"
#include "machine/host/libraries.h"

/* What children get to end by themselves. */
#define LEAVE_S 5.0

static const char *from_environment(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static bool is_collective(const char *arg)
{
	size_t n = strcspn(arg, "/");

	return n == strlen("collectives") && strncmp(arg, "collectives", n) == 0;
}

static size_t collectives(const struct run *r)
{
	size_t n = 0;

	for (int i = 0; i < r->n_args; i++)
		n += is_collective(r->args[i]);
	return n;
}

/* 0, or the exit code of a complaint. */
static int number(struct run *r, enum option_id id, unsigned most, unsigned *out)
{
	unsigned long long v;

	if (parse_u64(r->value[id], &v) || v > most)
		return complain_text(EXIT_USAGE, "--%s takes a number up to %u, not \"%s\"",
				     option_rows[id].name, most, r->value[id]);
	*out = (unsigned)v;
	return 0;
}

/* --rank and --ranks, or what a launcher says. */
static int read_ranks(struct run *r, struct ranks *out)
{
	struct err e = { 0 };
	int code;

	*out = (struct ranks){ 0 };
	if (!r->value[OPT_RANKS] && !r->value[OPT_RANK])
		return ranks_from_environment(&r->arena, from_environment, NULL, out, &e)
			       ? complain(EXIT_USAGE, &e)
			       : 0;
	if (!r->value[OPT_RANKS])
		return complain_text(EXIT_USAGE, "--rank needs --ranks: of how many");
	code = number(r, OPT_RANKS, RANKS_MAX, &out->ranks);
	if (code || out->ranks < 2) {
		out->ranks = 0;
		return code;
	}
	if (!r->value[OPT_RANK])
		return complain_text(EXIT_USAGE, "--ranks %u needs --rank: which one this is",
				     out->ranks);
	out->by = "--ranks";
	return number(r, OPT_RANK, out->ranks - 1, &out->rank);
}

static int local_job(struct run *r, char **job)
{
	struct err e = { 0 };
	uint64_t bits[2];

	if (library_open(LIBRARY_SODIUM, &e))
		return complain(EXIT_BLIND, &e);
	randombytes_buf(bits, sizeof(bits));
	*job = arena_printf(&r->arena, "local-%d-%016llx%016llx", (int)getpid(),
			    (unsigned long long)bits[0], (unsigned long long)bits[1]);
	return 0;
}

/* One process a GPU: this one is rank 0, the others are children. */
static int start_children(struct run *r, struct bench_env *env, struct ranks *ranks,
			  struct bench_ranks *out)
{
	char *gpus = (char *)r->value[OPT_GPUS], *job = NULL;
	char *argv[] = { "gputune", "bench", "collectives", "--quiet", gpus ? "--gpus" : NULL,
			 gpus,	    NULL };
	struct err e = { 0 };
	const char *why;
	size_t n = team_gpus(env, &why);
	int code = local_job(r, &job);

	if (code)
		return code;
	if (n < 2 || n > RANKS_MAX)
		return complain_text(EXIT_BLIND,
				     "--local-processes: two GPUs at least are needed, %zu can be "
				     "used here%s%s",
				     n, why ? ": " : "", why ? why : "");
	*ranks = (struct ranks){
		.ranks = (unsigned)n, .locals = (unsigned)n, .by = "--local-processes", .job = job
	};
	if (ranks_spawn(argv, (unsigned)n, job, &out->children, &e))
		return complain(EXIT_BLIND, &e);
	return 0;
}

static const char *token_file(const struct run *r)
{
	const char *file = r->value[OPT_TOKEN];

	return file ? file : getenv("GPUTUNE_TOKEN_FILE");
}

/* Ctrl-C reaches all processes of a terminal; rank 0 decides, and says good-bye or is gone. */
static int follow(struct run *r, const struct bench_env *env, struct collective_shared *team)
{
	struct err e = { 0 };
	int code;

	signal(SIGINT, SIG_IGN);
	code = team_follow(env, team, &e);
	/* What rank 0 says it has printed itself. */
	if (code && code != -ECANCELED && !r->value[OPT_QUIET])
		complain(EXIT_BLIND, &e);
	team_end(team);
	return code ? EXIT_BLIND : EXIT_CLEAN;
}

static int join(struct run *r, struct bench_env *env, const struct ranks *ranks,
		struct bench_ranks *out)
{
	struct err e = { 0 };
	int code = team_join(env, ranks, token_file(r), &out->team, &e);

	if (code == 0)
		return 0;
	bench_ranks_end(out);
	return complain(code == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e);
}

bool bench_ranks_begin(struct run *r, struct bench_env *env, struct bench_ranks *out, int *code)
{
	size_t n = collectives(r);
	struct ranks ranks;

	*out = (struct bench_ranks){ 0 };
	*code = read_ranks(r, &ranks);
	if (*code)
		return true;
	if (!ranks.ranks && !r->value[OPT_LOCAL_PROCESSES])
		return false;
	/* Others in a job measure each for itself. */
	if (!n && !r->value[OPT_RANKS] && !r->value[OPT_LOCAL_PROCESSES])
		return false;
	if (n != (size_t)r->n_args) {
		*code = complain_text(EXIT_USAGE,
				      "in several processes (%s) only collectives are measured, "
				      "and nothing else with them",
				      ranks.by ? ranks.by : "--local-processes");
		return true;
	}
	if (r->value[OPT_LOCAL_PROCESSES])
		*code = ranks.ranks
				? complain_text(EXIT_USAGE,
						"--local-processes starts the processes itself; "
						"here %s has done so already",
						ranks.by)
				: start_children(r, env, &ranks, out);
	if (*code)
		return true;
	if (r->value[OPT_PEER]) {
		ranks.meet = r->value[OPT_PEER];
		ranks.job = NULL;
	}
	*code = join(r, env, &ranks, out);
	if (*code)
		return true;
	env->ask.team = out->team;
	if (ranks.rank) {
		*code = follow(r, env, out->team);
		return true;
	}
	return false;
}

void bench_ranks_end(struct bench_ranks *b)
{
	team_end(b->team);
	b->team = NULL;
	ranks_reap(&b->children, LEAVE_S);
}
