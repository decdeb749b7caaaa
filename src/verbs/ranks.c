/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a launcher, and what all ranks found as a fleet. */
#include "verbs/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "many/ranks/qualify.h"
#include "many/ranks/talk.h"
#include "verbs/verbs.h"

static const struct ask_row ranks_ask_rows[] = {
	{ "ranks", "1: only this machine, even if a launcher started several processes",
	  ASK_COUNT(ranks_ask, ranks, 0, 1) },
	{ "ranks-wait", "with a launcher: how long rank 0 waits for the others (default: 60s)",
	  ASK_TIME(ranks_ask, wait_s), .arg = "TIME" },
	{ "token",
	  "with a launcher: file with the secret that its processes share (default: the user's "
	  "own)",
	  ASK_TEXT(ranks_ask, token), .arg = "FILE", .files = true },
};
const struct ask_shape ranks_ask_shape = ASK_SHAPE(ranks_ask, "Several processes", ranks_ask_rows),
		       ranks_bench_shape = { "Several processes", ranks_ask_rows, 2,
					     sizeof(struct ranks_ask) };

struct verb_ranks {
	struct ranks r;
	struct gather *g;
	double wait_s;
};

static void report_line(void *ctx, const char *line)
{
	door_note((struct door *)ctx, "%s", line);
}

int verb_ranks_begin(struct door *d, const struct ranks_ask *ask, bool talks,
		     struct verb_ranks **out)
{
	struct verb_ranks *v = ARENA_NEW(d->arena, struct verb_ranks);
	const char *token = ask->token ? ask->token : getenv("GPUTUNE_TOKEN_FILE");
	struct gather_ask how = {
		.ranks = &v->r, .token_file = token, .talks = talks, .report = report_line, .ctx = d
	};
	struct err e = { 0 };
	int code;

	*out = NULL;
	if (!d->launched || ask->ranks == 1)
		return 0;
	if (ranks_find(d->arena, &v->r, &e))
		return door_fail(d, EXIT_USAGE, &e);
	if (!v->r.ranks)
		return 0;
	how.limit_s = v->wait_s = ask->wait_s > 0 ? ask->wait_s : GATHER_S;
	code = gather_open(&how, &v->g, &e);
	if (code)
		return door_fail(d, code == -EINVAL ? EXIT_USAGE : EXIT_BLIND, &e);
	*out = v;
	return 0;
}

bool verb_ranks_there(struct arena *a, const struct verb *v, const void *ask)
{
	const struct ranks_ask *how = v->ranks ? v->ranks(ask) : NULL;
	struct ranks r = { 0 };
	struct err e = { 0 };

	return how && how->ranks != 1 && !ranks_find(a, &r, &e) && r.ranks;
}

bool verb_ranks_leads(const struct verb_ranks *v)
{
	return !v || !v->r.rank;
}

static const char *rank_name(struct door *d, const struct verb_ranks *v, unsigned rank)
{
	const char *host = v->r.hosts ? ranks_host(d->arena, v->r.hosts, rank) : NULL;

	return host ? arena_printf(d->arena, "rank %u (%s)", rank, host)
		    : arena_printf(d->arena, "rank %u", rank);
}

static void add_missing(struct door *d, const struct verb_ranks *v, const struct bundle *b,
			struct fleet *f)
{
	const char *why = arena_printf(d->arena, "no answer within %.0f s", v->wait_s);

	for (unsigned i = 0; i < b->ranks; i++)
		if (!b->there[i])
			fleet_refuse(f, rank_name(d, v, i), why);
}

/* As the exit codes of all say, or what differs. */
static int fleet_of(struct door *d, const struct verb_ranks *v, const struct bundle *b,
		    struct fleet **out)
{
	static const char clean[] = "\"exit_code\":0", blind[] = "\"exit_code\":5";
	struct fleet *f = *out = fleet_new(d->arena, false);
	TEXT_AUTO t = { 0 };
	bool failed = false, unknown = false;

	for (size_t i = 0; i < b->n; i++) {
		const struct bundle_rank *r = &b->rank[i];

		if (!*r->frame)
			continue;
		unknown = unknown || strstr(r->frame, blind);
		failed = failed || (!strstr(r->frame, clean) && !strstr(r->frame, blind));
		text_clear(&t);
		bundle_result(b, r, &t);
		fleet_add(f, arena_printf(d->arena, "rank %u (%s)", r->rank, r->host), r->host, t.s,
			  t.len);
	}
	add_missing(d, v, b, f);
	fleet_settle(f);
	fleet_free(f);
	if (failed || f->n_differs || f->n_bench_outliers || f->n_states)
		return EXIT_FINDINGS;
	return unknown || f->n_refused ? EXIT_BLIND : EXIT_CLEAN;
}

/* result: of this rank, which it takes; NULL: none. */
static int end(struct door *d, struct verb_ranks *v, json_t *result, struct fleet **out)
{
	struct bundle b = bundle_new(d->arena, v->r.ranks);
	struct err e = { 0 };
	struct utsname host;
	int code;

	bundle_own(&b, v->r.rank, uname(&host) ? "" : host.nodename, result);
	json_decref(result);
	code = gather_finish(v->g, &b, &e);
	if (code)
		return door_fail(d, EXIT_BLIND, &e);
	return v->r.rank ? ANSWERED_ELSEWHERE : fleet_of(d, v, &b, out);
}

int verb_answer_by_ranks(struct door *d, const struct verb *v, const void *ask, void *answer,
			 struct fleet **all)
{
	const struct ranks_ask *how = v->ranks ? v->ranks(ask) : NULL;
	struct verb_ranks *ranks = NULL;
	json_t *result = NULL;
	int code = how ? verb_ranks_begin(d, how, false, &ranks) : 0;
	bool other = ranks && ranks->r.local > 0;

	*all = NULL;
	d->page = d->page && !ranks;
	/* One rank looks at its machine for all that are there. */
	if (!code && !other)
		code = v->answer(d, ask, answer);
	if (code >= 0 && ranks) {
		if (!other)
			result = verb_answer_json(v, ask, answer, (long long)time(NULL), code);
		code = end(d, ranks, result, all);
	}
	verb_ranks_close(ranks);
	return code;
}

int verb_ranks_qualify(struct door *d, struct verb_ranks *v, struct rank_member *m,
		       const struct qualify_how *how, struct qualify *out)
{
	struct talk t;
	struct err e = { 0 };
	int code = gather_join(v->g, &e);

	if (code)
		return door_fail(d, EXIT_BLIND, &e);
	if (v->r.rank)
		return talk_follow(v->g, m) ? -EXIT_BLIND : ANSWERED_ELSEWHERE;
	talk_begin(d->arena, v->g, &v->r, m, &t);
	for (unsigned i = 0; i < t.channel.n; i++)
		t.names[i] = rank_name(d, v, t.of[i]);
	qualify_run(d->arena, &t.channel, how, out);
	talk_end(&t);
	member_end(m);
	return 0;
}

void verb_ranks_close(struct verb_ranks *v)
{
	if (v)
		gather_close(v->g);
}
