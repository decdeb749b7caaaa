/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster check: discovers, then qualifies the nodes and the links between them. */
#include <errno.h>
#include <time.h>

#include "many/cluster/page_cluster.h"
#include "verbs/cluster/cluster.h"

struct cluster_check_ask {
	struct cluster_nodes_ask nodes;
	struct cluster_links_ask links;
	double budget_s;
	const char *from;
	bool bench;
};

static const struct ask_row cluster_check_ask_rows[] = {
	{ ASK_PART(cluster_check_ask, nodes, cluster_nodes_ask) },
	{ ASK_PART(cluster_check_ask, links, cluster_links_ask) },
	{ "time-limit", "total time (default: 10m)", ASK_TIME(cluster_check_ask, budget_s) },
	{ "from", "judge the wiring in a saved JSON result of cluster discover; measures nothing",
	  ASK_TEXT(cluster_check_ask, from), .arg = "FILE", .files = true },
	{ "bench", "also run short benches on each node", ASK_FLAG(cluster_check_ask, bench) },
};

void cluster_progress(void *ctx, double left_s, const char *text)
{
	door_progress(ctx, left_s, true, "%s", text);
}

/* Node programs as a channel. */
static int ask_nodes(void *ctx, const char *what, json_t **with, int limit_ms,
		     struct rsh_reply *replies)
{
	struct rsh *r = ctx;
	bool which[CLUSTER_NODES_MAX] = { false };

	for (size_t i = 0; i < r->n; i++)
		which[i] = with[i] != NULL;
	return rsh_ask_all(r, what, which, with, limit_ms, replies);
}

static int check_exit(const struct cluster *c, const struct qualify *q)
{
	for (size_t i = 0; i < c->n_findings; i++)
		if (c->findings[i].severity > CLUSTER_NOTE)
			return EXIT_FINDINGS;
	return qualify_exit(q);
}

/* Of a kept discovery nobody can be asked. */
static void not_measured(struct arena *a, const struct cluster *c, struct qualify *q)
{
	*q = (struct qualify){ .n = c->n_nodes,
			       .unknown = c->n_nodes,
			       .nodes = arena_array(a, c->n_nodes, sizeof(*q->nodes)) };
	for (size_t i = 0; i < q->n; i++) {
		q->nodes[i] = (struct qualify_node){ .name = c->nodes[i].name };
		qualify_reason(a, &q->nodes[i], QUALIFY_UNKNOWN,
			       "an earlier discovery: nothing was measured");
	}
}

static int cluster_check_answer(struct door *d, const struct cluster_check_ask *ask,
				struct cluster_check_view *out)
{
	struct cluster_run *run = ARENA_NEW(d->arena, struct cluster_run);
	struct qualify *q = ARENA_NEW(d->arena, struct qualify);
	struct qualify_how how = { .budget_s = ask->budget_s,
				   .no_bench = !ask->bench,
				   .say = cluster_progress,
				   .ctx = d };
	struct channel c = { .ask = ask_nodes, .named = true };
	/* A discovery has no figures. */
	struct qualify *before = ARENA_NEW(d->arena, struct qualify);
	struct err ignored;
	int code = ask->from ? cluster_run_stored(d, ask->from, &ask->links, run)
			     : cluster_run_open(d, &ask->nodes, &ask->links, 0, run);

	if (code)
		return code;
	c.n = (unsigned)run->to.n;
	c.ctx = run->rsh;
	c.names = run->to.names;
	if (ask->links.against && !ask->from &&
	    qualify_load(d->arena, ask->links.against, before, &ignored) == 0)
		how.before = before;
	if (ask->from)
		not_measured(d->arena, &run->cluster, q);
	else
		qualify_run(d->arena, &c, &how, q);
	*out = (struct cluster_check_view){ .cluster = &run->cluster,
					    .q = q,
					    .version = GPUTUNE_VERSION,
					    .time_s = (long long)time(NULL),
					    .exit_code = check_exit(&run->cluster, q),
					    .discover_seconds = run->seconds };
	cluster_run_close(run);
	return out->exit_code;
}

static void cluster_check_head(const void *answer, const void **host, long long *time_s)
{
	(void)host;
	*time_s = ((const struct cluster_check_view *)answer)->time_s;
}

VERB_ANSWER(cluster_check_answer_any, cluster_check_answer, cluster_check_ask, cluster_check_view)
VERB_PAGE_OF(cluster_check_page, page_cluster_check, cluster_check_view)

/* clang-format off */
const struct verb cluster_check_verb = {
	.name = "check", .summary = "check the wiring, then find slow nodes and links",
	.about = "Discovers the wiring. Then, like qualify, checks the health of each node and exchanges data "
	  "over each network. Names the bad node, port or path. Changes nothing.",
	.exits = "1: a fault was found; 5: not everything could be measured",
	.examples = EXAMPLES({ "cluster check --nodes spark-1,spark-2", "wiring, health and links" },
		{ "cluster check --nodes spark-1,spark-2 --bench", "with benches on each node" },
		{ "cluster check --from demo:two-sparks", "judge the wiring of two captured machines" }),
	.ask = ASK_OF(cluster_check_ask, NULL, cluster_check_ask_rows), .answer = cluster_check_answer_any,
	.result = &cluster_check_result, .page = cluster_check_page, .head = cluster_check_head,
	.own_process = true,
};
