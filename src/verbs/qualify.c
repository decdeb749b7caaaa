/* SPDX-License-Identifier: Apache-2.0 */
/* gputune qualify: this node, or all nodes of a launcher's job and the links between them. */
#include "verbs/qualify.h"

#include <errno.h>

#include "many/ranks/talk.h"
#include "verbs/cluster/cluster.h"
#include "verbs/ranks.h"

enum { BUDGET_LEAST_S = 1, BUDGET_MOST_S = 86400 };

struct qualify_ask {
	double budget_s;
	bool no_bench, no_links;
	struct ask_texts addresses;
	const char *dir, *against;
	struct ranks_ask ranks;
};

/* clang-format off */
static const struct ask_row qualify_ask_rows[] = {
	{ "time-limit", "total time: half for benches, the rest for links (default: 10m)",
	  ASK_TIME(qualify_ask, budget_s), .arg = "TIME" },
	{ "no-bench", "only check health and links: nothing runs on a GPU", ASK_FLAG(qualify_ask, no_bench) },
	{ "no-links", "test each node separately, without links", ASK_FLAG(qualify_ask, no_links) },
	{ "address", "test links only over this address of the node; repeatable", ASK_TEXTS(qualify_ask, addresses),
	  .arg = "ADDRESS" },
	{ "dir", "folder on the disk to measure; without it no disk is measured", ASK_TEXT(qualify_ask, dir),
	  .arg = "DIR", .files = true },
	{ "against", "an earlier result of qualify, to show which figures fell", ASK_TEXT(qualify_ask, against),
	  .arg = "FILE", .files = true },
	{ ASK_PART(qualify_ask, ranks, ranks_ask) },
};
/* clang-format on */

static int qualify_alone(struct door *d, struct rank_member *m, const struct qualify_how *how,
			 struct qualify *out)
{
	const struct ranks alone = { .ranks = 1 };
	struct talk t;

	talk_begin(d->arena, NULL, &alone, m, &t);
	t.names[0] = "this node";
	qualify_run(d->arena, &t.channel, how, out);
	talk_end(&t);
	member_end(m);
	return 0;
}

static int qualify_answer(struct door *d, const struct qualify_ask *ask, struct qualify *out)
{
	struct cluster_stop *stop = ARENA_NEW(d->arena, struct cluster_stop);
	struct qualify_self self = { .d = d, .stop = &stop->stop, .dir = ask->dir };
	struct rank_member *m = ARENA_NEW(d->arena, struct rank_member);
	struct qualify_how how = { .budget_s = ask->budget_s,
				   .no_bench = ask->no_bench,
				   .no_links = ask->no_links,
				   .say = cluster_progress,
				   .ctx = d };
	struct verb_ranks *ranks = NULL;
	struct qualify *before = ARENA_NEW(d->arena, struct qualify);
	struct err e = { 0 };
	int code;

	*m = (struct rank_member){ .self = qualify_self,
				   .ctx = &self,
				   .stop = &stop->stop,
				   .only = ask->addresses.items,
				   .n_only = ask->addresses.n };
	if (ask->budget_s > 0 && (ask->budget_s < BUDGET_LEAST_S || ask->budget_s > BUDGET_MOST_S))
		return door_refuse(d, EXIT_USAGE, "--time-limit takes 1s to 24h");
	code = verb_ranks_begin(d, &ask->ranks, true, &ranks);
	if (code == 0 && ask->against && verb_ranks_leads(ranks) &&
	    qualify_load(d->arena, ask->against, before, &e))
		code = door_fail(d, EXIT_USAGE, &e);
	if (code) {
		verb_ranks_close(ranks);
		return code;
	}
	how.before = ask->against ? before : NULL;
	cluster_stop_begin(stop);
	code = ranks ? verb_ranks_qualify(d, ranks, m, &how, out) : qualify_alone(d, m, &how, out);
	cluster_stop_end(stop);
	verb_ranks_close(ranks);
	qualify_self_end(&self);
	return code ? code : qualify_exit(out);
}

VERB_ANSWER(qualify_answer_any, qualify_answer, qualify_ask, qualify)
VERB_PAGE_OF(qualify_page, page_qualify, qualify)

/* clang-format off */
const struct verb qualify_verb = {
	.name = "qualify", .group = VERB_MANY, .summary = "find nodes and links that are unfit for a job",
	.about = "Judges this node by its health and short benches. Started on several nodes by srun, mpirun "
	  "or torchrun, it compares each node with its peers and tests the links between groups and pairs. "
	  "Changes nothing.",
	.exits = "1: a node should be drained, or a link is faulty; 5: some nodes or links could not be judged",
	.words = "burn-in acceptance preflight prolog drain sdc corruption straggler nodes",
	.examples = EXAMPLES({ "qualify --no-bench", "this node's health, as in a prolog" },
		{ "qualify --time-limit 2m", "with short benches" },
		{ "qualify --time-limit 10m --format json -o qualify.json", "under srun: rank 0 writes one result" }),
	.ask = ASK_OF(qualify_ask, NULL, qualify_ask_rows), .answer = qualify_answer_any,
	.result = &qualify_result, .page = qualify_page, .own_process = true,
};
