/* SPDX-License-Identifier: Apache-2.0 */
/* What one path carries, by the benches of the network: the end that serves, and the one that
 * measures. */
#include <errno.h>
#include <math.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "look/probe/probe.h"
#include "many/ranks/member.h"
#include "measure/bench/bench.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/ranks.h"

/* Of a case, its warm-up not counted. */
#define MEASURE_S 0.4
enum { HEX = 2 * EXCHANGE_TOKEN + 1 };

/* clang-format off */
const struct shape measure_ask_shape = SHAPE_OF(measure_ask, measure_ask,
	{ "peer", NULL, SHAPE_TEXT(measure_ask, peer) },
	{ "bench", NULL, SHAPE_TEXT(measure_ask, bench) },
	{ "case", NULL, SHAPE_TEXT(measure_ask, name) },
	{ "rank", NULL, SHAPE_COUNT(measure_ask, rank), .later = true },
	{ "ranks", NULL, SHAPE_COUNT(measure_ask, ranks), .later = true });

const struct shape measure_answer_shape = SHAPE_OF(measure_answer, measure_answer,
	{ "value", NULL, SHAPE_REAL(measure_answer, value) });
/* clang-format on */

void member_serve(struct rank_member *m, size_t address)
{
	struct exchange_address *x = &m->x.address[address];
	const char *form = strchr(x->address, ':') ? "[%s]:0" : "%s:0";
	/* The other end reads it from a file, as digits. */
	struct token t = { .n = HEX - 1 };
	struct net_address at;
	struct err e;

	sodium_bin2hex((char *)t.secret, HEX, m->x.token, sizeof(m->x.token));
	if (peer_serve(arena_printf(&m->arena, form, x->address), &t, &at, &m->server[address],
		       &e) == 0)
		x->bench = arena_strdup(&m->arena, at.text);
	explicit_bzero(&t, sizeof(t));
}

static int run_case(const struct bench *b, const char *name, struct bench_env *env, double *value,
		    struct err *e)
{
	struct record r = { .version = GPUTUNE_VERSION };
	const struct record_case *c;
	struct frame f;

	f = (struct frame){ .env = *env, .seconds = MEASURE_S };
	frame_start(&f);
	frame_run(&f, b, name, &r);
	c = r.n ? &r.cases[0] : NULL;
	if (!c || c->error || !c->n)
		return err_set(e, -ENODATA, "%s",
			       c && c->error ? c->error
			       : r.n_skipped ? r.skipped[r.n_skipped - 1].reason
					     : "no sample");
	record_summarise(&r);
	*value = c->series[0].s.median;
	return 0;
}

/* GPUs of several nodes: rank 0 leads and has the value. */
static int run_together(const struct measure_ask *ask, struct bench_env *env, double *value,
			struct err *e)
{
	const struct ranks ranks = { .rank = (unsigned)ask->rank,
				     .ranks = (unsigned)ask->ranks,
				     .by = "a qualification",
				     .meet = ask->peer };
	struct collective_shared *team = NULL;
	int r = team_join(env, &ranks, env->ask.token, &team, e);

	env->ask.team = team;
	if (r == 0)
		r = ask->rank ? team_follow(env, team, e)
			      : run_case(&bench_collectives, ask->name, env, value, e);
	team_end(team);
	return r;
}

/* Those of the network alone: nobody measures disks from afar. */
static const struct bench *measure_bench(const struct measure_ask *ask)
{
	if (strcmp(ask->bench, "collectives") == 0 && ask->ranks >= 2 &&
	    ask->ranks <= WIRE_RANKS_MAX && ask->rank >= 0 && ask->rank < ask->ranks)
		return &bench_collectives;
	return strcmp(ask->bench, "tcp") == 0	 ? &bench_tcp
	       : strcmp(ask->bench, "rdma") == 0 ? &bench_rdma
						 : NULL;
}

int member_measure(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct rank_member *m = of;
	const struct measure_ask *ask = with;
	struct measure_answer *out = answer;
	struct bench_env env = { .a = a, .stop = m->stop, .cpus = bench_allowed(a) };
	struct probe p = { .a = a, .m = ARENA_NEW(a, struct machine), .lean = true };
	const struct bench *b = measure_bench(ask);
	struct net_address at;
	char hex[HEX];
	int r, fd;

	if (!b || strlen(ask->peer) >= NET_TEXT || net_address_parse(ask->peer, true, &at, e))
		return err_set(e, -EINVAL, "no such measurement");
	sodium_bin2hex(hex, sizeof(hex), m->x.token, sizeof(m->x.token));
	fd = fd_nameless(hex, sizeof(hex) - 1);
	if (fd < 0 || fchmod(fd, 0600))
		return err_set(e, -EIO, "cannot create a file in memory");
	env.ask.peer = ask->peer;
	env.ask.token = arena_printf(a, "/proc/self/fd/%d", fd);
	env.h = p.h = host_open_live();
	probe_machine(&p);
	env.m = p.m;
	r = b == &bench_collectives ? run_together(ask, &env, &out->value, e)
				    : run_case(b, ask->name, &env, &out->value, e);
	host_close(env.h);
	close(fd);
	return r;
}
