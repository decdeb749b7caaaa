/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster, and its first part, discover: which port is a neighbor of which, and what is
 * wrong with that. */
#include "many/cluster/page_cluster.h"
#include "verbs/cluster/cluster.h"

struct discover_ask {
	struct cluster_nodes_ask nodes;
	struct cluster_links_ask links;
	double air_s;
	const char *from;
};

static const struct ask_row discover_ask_rows[] = {
	{ ASK_PART(discover_ask, nodes, cluster_nodes_ask) },
	{ ASK_PART(discover_ask, links, cluster_links_ask) },
	{ "for", "listen for this long, at most 2m (default: 500ms)",
	  ASK_TIME(discover_ask, air_s) },
	{ "from", "use an earlier discovery (its JSON) instead of a new one",
	  ASK_TEXT(discover_ask, from), .arg = "FILE", .files = true },
};

struct discover_answer {
	struct cluster cluster;
	double seconds;
};

static int discover_exit(const struct cluster *c)
{
	size_t answered = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		answered += !*c->nodes[i].failure;
	if (!answered)
		return EXIT_BLIND;
	/* Notes are no findings: nothing has to be done about them. */
	return c->n_findings && c->findings[0].severity != CLUSTER_NOTE ? EXIT_FINDINGS
									: EXIT_CLEAN;
}

static int discover_answer(struct door *d, const struct discover_ask *ask,
			   struct discover_answer *out)
{
	struct cluster_run c = { 0 };
	int code = ask->from ? cluster_run_stored(d, ask->from, &ask->links, &c)
			     : cluster_run_open(d, &ask->nodes, &ask->links, ask->air_s, &c);

	if (code)
		return code;
	cluster_run_close(&c);
	*out = (struct discover_answer){ c.cluster, c.seconds };
	return discover_exit(&out->cluster);
}

static struct doc *discover_page(struct arena *a, const struct discover_ask *ask,
				 const struct discover_answer *v, const struct page_view *view)
{
	(void)ask;
	return page_cluster(a, &v->cluster, v->seconds, view->verbose);
}

static int discover_svg(FILE *out, const void *ask, const void *answer, int code)
{
	const struct discover_answer *v = answer;
	ARENA_AUTO a = { 0 };

	(void)ask;
	fprintf(out, "%s\n", svg_cluster(&a, &v->cluster));
	return code;
}

VERB_ANSWER(discover_answer_any, discover_answer, discover_ask, discover_answer)
VERB_PAGE(discover_page_any, discover_page, discover_ask, discover_answer)

/* clang-format off */
static const struct verb discover_verb = {
	.name = "discover", .summary = "find which ports are connected, and faults in the wiring",
	.about = "Each port of --nodes sends an announcement. Reports which ports receive it, by cable or "
	  "switch, with speed, MTU, addresses and RDMA. --against compares with an earlier result. Nothing is "
	  "changed. Without root on the nodes, less is visible.",
	.exits = "1: a fault was found; 5: no node answered",
	.examples = EXAMPLES({ "cluster discover --nodes spark-1,spark-2", "two machines" },
		{ "cluster discover --nodes-file nodes -f json -o before.json", "save the result" },
		{ "cluster discover --from before.json -f svg -o cluster.svg", "draw a saved result" },
		{ "cluster discover --from demo:two-sparks", "a captured pair" }),
	.ask = ASK_OF(discover_ask, NULL, discover_ask_rows), .answer = discover_answer_any,
	.result = &cluster_discover_result, .answer_size = sizeof(struct discover_answer),
	.page = discover_page_any, .formats = FORMATS({ "svg", discover_svg }), .own_process = true,
};
/* clang-format on */

static const struct verb *const cluster_subs[] = { &discover_verb, &cluster_check_verb,
						   &cluster_plan_verb, &cluster_undo_verb, NULL };

const struct verb cluster_verb = {
	.name = "cluster",
	.group = VERB_MANY,
	.summary = "links between machines: wiring, speed, addresses",
	.about = "Finds how machines are wired, measures each path, locates faults, and sets "
		 "addresses and MTU on all nodes at once. Nodes are reached over ssh or the "
		 "program in --rsh; nothing is installed on them.",
	.words = "nodes link links roce infiniband cables wiring",
	.examples =
		EXAMPLES({ "cluster discover --nodes spark-1,spark-2", "the wiring" },
			 { "cluster check --nodes spark-1,spark-2", "the bandwidth of each path" },
			 { "cluster plan --nodes spark-1,spark-2", "show what would change" }),
	.subs = cluster_subs,
	.programs = cluster_programs,
};
