/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "collective": {"token": HEX, "rank": N, "ranks": N, "meet": TEXT, "operations": [TEXT...],
 * "windows": N} takes part in operations of NCCL between the GPUs of several nodes, as "bench
 * collectives --rank" does. Rank 0 waits for the others at meet ("ADDRESS:PORT", its own) and
 * answers {"operations": [{"name", "bus_gb_per_s": [...], "time_us": [...], "how", "error"}...]};
 * the others answer {} when it is over.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/ranks.h"
#include "many/cluster/node_measure.h"

/* Of the bench's figures. */
enum { BUS = 0, TIME = 2 };

static int run_case(const struct bench_env *env, const struct bench_case *c, size_t windows,
		    json_t *bus, json_t *time, const char **how, struct err *e)
{
	struct bench_sample s = { 0 };
	void *state = NULL;
	int r = bench_set_up(&bench_collectives, env, c, &state, how, e);

	if (r)
		return r;
	for (size_t i = 0; i <= windows && r == 0; i++) {
		r = bench_collectives.run(state, &s, e);
		/* The first one warms up. */
		if (r || !i || !isfinite(s.value[BUS]) || !isfinite(s.value[TIME]))
			continue;
		json_array_append_new(bus, json_real(s.value[BUS]));
		json_array_append_new(time, json_real(s.value[TIME]));
	}
	r = r ? r : bench_collectives.verify(state, e);
	bench_tear_down(&bench_collectives, state);
	return r;
}

static json_t *run_operation(struct bench_env *env, const char *name, size_t windows)
{
	json_t *bus = json_array(), *time = json_array();
	struct bench_cases cases = { 0 };
	struct err e = { 0 };
	const char *how = NULL;
	int r;

	env->ask.name = name;
	bench_collectives.cases(env, &cases);
	if (cases.n)
		r = run_case(env, &cases.items[0], windows, bus, time, &how, &e);
	else
		r = err_set(&e, -ENODATA, "%s", cases.none ? cases.none : "no such operation");
	return json_pack("{s:s, s:o, s:o, s:s?, s:s?}", "name", name, "bus_gb_per_s", bus,
			 "time_us", time, "how", how, "error", r ? e.text : NULL);
}

struct part {
	long long rank, ranks, windows;
	const char *meet;
	const json_t *operations;
	struct token token;
};

static int read_part(const json_t *with, struct part *out, struct err *e)
{
	struct net_address a;
	int r;

	*out = (struct part){ .rank = -1,
			      .windows = 3,
			      .operations = json_object_get(with, "operations") };
	r = ask_int(with, "ranks", 2, RANKS_MAX, &out->ranks, e);
	r = r ? r : ask_int(with, "rank", 0, RANKS_MAX - 1, &out->rank, e);
	r = r ? r : ask_int(with, "windows", 1, MEASURE_WINDOWS_MAX - 1, &out->windows, e);
	r = r ? r : ask_text(with, "meet", NET_TEXT - 1, &out->meet, e);
	r = r ? r : measure_token(with, &out->token, e);
	if (r)
		return r;
	if (out->rank < 0 || out->rank >= out->ranks || !out->meet ||
	    net_address_parse(out->meet, true, &a, e))
		return err_set(e, -EINVAL, "no rank, or no address to meet at");
	if (!json_is_array(out->operations) ||
	    json_array_size(out->operations) > MEASURE_OPERATIONS_MAX)
		return err_set(e, -EINVAL, "\"operations\" is no list of at most %d",
			       MEASURE_OPERATIONS_MAX);
	return 0;
}

static json_t *lead(struct bench_env *env, const struct part *p)
{
	json_t *list = json_array(), *one;
	size_t i;

	json_array_foreach(p->operations, i, one)
	{
		if (json_is_string(one) && json_string_length(one) < 64)
			json_array_append_new(list, run_operation(env, json_string_value(one),
								  (size_t)p->windows));
	}
	return json_pack("{s:o}", "operations", list);
}

static int take_part(struct ask_node *n, const struct part *p, const char *token_path, json_t **out,
		     struct err *e)
{
	struct ranks ranks = { .rank = (unsigned)p->rank,
			       .ranks = (unsigned)p->ranks,
			       .by = "the cluster's check",
			       .meet = p->meet };
	struct collective_shared *team = NULL;
	struct bench_env env;
	int r;

	measure_env(n, &env);
	r = team_join(&env, &ranks, token_path, &team, e);
	if (r)
		return r;
	env.ask.team = team;
	if (p->rank == 0)
		*out = lead(&env, p);
	else
		r = team_follow(&env, team, e);
	team_end(team);
	if (r == 0 && p->rank)
		*out = json_object();
	return r;
}

int answer_collective(struct ask_node *n, void **state, const json_t *with, json_t **out,
		      struct err *e)
{
	struct part p;
	char path[64];
	int r = read_part(with, &p, e), fd;

	(void)state;
	fd = r ? r : measure_token_file(&p.token, path, e);
	explicit_bzero(&p.token, sizeof(p.token));
	if (fd < 0)
		return fd;
	r = take_part(n, &p, path, out, e);
	close(fd);
	return r;
}
