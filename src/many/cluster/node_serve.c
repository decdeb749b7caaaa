/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "serve": {"token": HEX, "addresses": [TEXT...]} lets the network benches of other nodes in, one
 * server an address, until "serve-end" or the program's end. The answer: {"listening": [TEXT or
 * null...], "errors": [TEXT or null...]} in the order of the addresses.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <math.h>

#include "measure/bench/bench.h"
#include "measure/bench/net/serve.h"
#include "many/cluster/ask.h"
#include "many/cluster/setup.h"
#include "base/text.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/ranks.h"
#include "measure/bench/bench.h"

/*
 * "collective": {"token": HEX, "rank": N, "ranks": N, "meet": TEXT, "operations": [TEXT...],
 * "windows": N} takes part in operations of NCCL between the GPUs of several nodes, as "bench
 * collectives --rank" does. Rank 0 waits for the others at meet ("ADDRESS:PORT", its own) and
 * answers {"operations": [{"name", "bus_gb_per_s": [...], "time_us": [...], "how", "error"}...]};
 * the others answer {} when it is over.
 */

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

static json_t *node_serve_lead(struct bench_env *env, const struct part *p)
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
		*out = node_serve_lead(&env, p);
	else
		r = team_follow(&env, team, e);
	team_end(team);
	if (r == 0 && p->rank)
		*out = json_object();
	return r;
}

static int answer_collective(struct ask_node *n, void **state, const json_t *with, json_t **out,
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

struct node_server {
	struct serve serve;
	pthread_t thread;
	bool running;
};

struct node_servers {
	struct token token;
	int wake; /* readable: all end */
	struct node_server list[MEASURE_SERVERS_MAX];
	size_t n;
};

/* One run's; made by the first request that needs it. */
struct measure_state {
	struct node_servers *servers;
};

/* NULL: no memory. */
static struct measure_state *measure_state(void **state)
{
	if (!*state)
		*state = calloc(1, sizeof(struct measure_state));
	return *state;
}

/* The benches' files hold the digits, so those are what both sides know. */
static void as_digits(const struct token *in, struct token *out)
{
	static const char digits[] = "0123456789abcdef";

	out->n = 0;
	for (size_t i = 0; i < in->n && out->n + 2 <= TOKEN_MAX; i++) {
		out->secret[out->n++] = (uint8_t)digits[in->secret[i] >> 4];
		out->secret[out->n++] = (uint8_t)digits[in->secret[i] & 15];
	}
}

static void *serve_main(void *arg)
{
	struct node_server *s = arg;
	struct err e;

	serve_run(&s->serve, &e);
	return NULL;
}

static int node_serve_start(struct node_servers *all, const char *address, char text[NET_TEXT],
			    struct err *e)
{
	struct node_server *s = &all->list[all->n];
	struct net_address at;
	char with_port[NET_TEXT];
	int r, fd;

	if (all->n == MEASURE_SERVERS_MAX)
		return err_set(e, -E2BIG, "more than %d servers", MEASURE_SERVERS_MAX);
	snprintf(with_port, sizeof(with_port), strchr(address, ':') ? "[%.60s]:0" : "%.60s:0",
		 address);
	r = net_address_parse(with_port, true, &at, e);
	r = r ? r : serve_listen(&at, &fd, e);
	if (r)
		return r;
	*s = (struct node_server){
		.serve = { .listener = fd, .wake = all->wake, .token = &all->token }
	};
	r = pthread_create(&s->thread, NULL, serve_main, s);
	if (r) {
		close(fd);
		return err_set(e, -r, "no thread: %s", strerror(r));
	}
	s->running = true;
	all->n++;
	snprintf(text, NET_TEXT, "%s", at.text);
	return 0;
}

/* Ends all servers; NULL is nothing. */
static void node_servers_end(struct node_servers *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	/* It stays readable: every server sees it. */
	if (write(s->wake, &one, sizeof(one)) < 0)
		abort();
	for (size_t i = 0; i < s->n; i++) {
		pthread_join(s->list[i].thread, NULL);
		close(s->list[i].serve.listener);
	}
	close(s->wake);
	explicit_bzero(&s->token, sizeof(s->token));
	free(s);
}

static struct node_servers *servers_new(const struct token *t, struct err *e)
{
	struct node_servers *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(e, -ENOMEM, "no memory");
		return NULL;
	}
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0) {
		err_set(e, -errno, "no event: %s", strerror(errno));
		free(s);
		return NULL;
	}
	as_digits(t, &s->token);
	return s;
}

static int answer_serve(struct ask_node *n, void **state, const json_t *with, json_t **out,
			struct err *e)
{
	const json_t *addresses = json_object_get(with, "addresses");
	struct measure_state *s = measure_state(state);
	json_t *listening, *errors, *one;
	struct token t;
	size_t i;
	int r;

	(void)n;
	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	listening = json_array();
	errors = json_array();
	r = measure_token(with, &t, e);
	if (r == 0 &&
	    (!json_is_array(addresses) || json_array_size(addresses) > MEASURE_SERVERS_MAX))
		r = err_set(e, -EINVAL, "\"addresses\" is no list of at most %d",
			    MEASURE_SERVERS_MAX);
	if (r == 0) {
		node_servers_end(s->servers);
		s->servers = servers_new(&t, e);
		r = s->servers ? 0 : -ENOMEM;
	}
	explicit_bzero(&t, sizeof(t));
	json_array_foreach(addresses, i, one)
	{
		char text[NET_TEXT];
		struct err why = { 0 };
		int failed =
			r ? r
			: json_is_string(one)
				? node_serve_start(s->servers, json_string_value(one), text, &why)
				: err_set(&why, -EINVAL, "an address that is no text");

		if (r)
			break;
		json_array_append_new(listening, failed ? json_null() : json_string(text));
		json_array_append_new(errors, failed ? json_string(why.text) : json_null());
	}
	if (r) {
		json_decref(listening);
		json_decref(errors);
		return r;
	}
	*out = json_pack("{s:o, s:o}", "listening", listening, "errors", errors);
	return 0;
}

static int answer_serve_end(struct ask_node *n, void **state, const json_t *with, json_t **out,
			    struct err *e)
{
	struct measure_state *s = *state;

	(void)n;
	(void)with;
	(void)e;
	if (s) {
		node_servers_end(s->servers);
		s->servers = NULL;
	}
	*out = json_object();
	return 0;
}

static void measure_end(void *state)
{
	struct measure_state *s = state;

	if (s)
		node_servers_end(s->servers);
	free(s);
}

static const struct ask_kind kinds[] = {
	{ "ping", answer_ping },	   { "serve", answer_serve },
	{ "serve-end", answer_serve_end }, { "measure", answer_measure },
	{ "counters", answer_counters },   { "collective", answer_collective },
};

const struct ask_group ask_measure = {
	.name = "measure", .kinds = kinds, .n = sizeof(kinds) / sizeof(kinds[0]), .end = measure_end
};

/* "network-look": whether ports have what they were to have. Owners of links do what they were told
 * in their own time, so it is looked at for a while. */

/* Nodes as another machine or a file reports them: nothing of it is believed beyond its form. */
