/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster check: discovers, measures every path, says who is to blame, keeps the result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "machine/host/store.h"
#include "machine/write/write.h"
#include "many/cluster/page_cluster.h"
#include "verbs/cluster/cluster.h"

enum { EARLIER_MAX = 64 << 20, LOOK_BACK = 50 };

struct cluster_check_ask {
	struct cluster_nodes_ask nodes;
	struct cluster_links_ask links;
	bool quick;
	double seconds;
	struct state_ask state;
};

static const struct ask_row cluster_check_ask_rows[] = {
	{ ASK_PART(cluster_check_ask, nodes, cluster_nodes_ask) },
	{ ASK_PART(cluster_check_ask, links, cluster_links_ask) },
	{ "quick", "echo only; takes seconds", ASK_FLAG(cluster_check_ask, quick) },
	{ "for", "time for each test", ASK_TIME(cluster_check_ask, seconds) },
	{ ASK_PART(cluster_check_ask, state, state_ask) },
};
static const struct ask_shape cluster_check_ask_shape =
	ASK_SHAPE(cluster_check_ask, NULL, cluster_check_ask_rows);

struct checking {
	struct door *d;
	struct host *h;
	const struct state_ask *state_of;
	const char *state, *folder;
	struct check *c;
};

/* The same nodes by name, in whatever order. */
static bool same_nodes(const struct cluster *c, const json_t *earlier)
{
	const json_t *nodes = json_object_get(json_object_get(earlier, "cluster"), "nodes");
	size_t found = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		for (size_t k = 0; k < json_array_size(nodes); k++) {
			const char *name = json_string_value(
				json_object_get(json_array_get(nodes, k), "name"));

			found += name && strcmp(name, c->nodes[i].name) == 0;
		}
	return found == c->n_nodes && json_array_size(nodes) == c->n_nodes;
}

/* The newest whole check of the same nodes; NULL: none. */
static json_t *find_earlier(struct checking *k)
{
	struct arena *a = k->d->arena;
	char **names;
	size_t n = 0;

	if (host_list(k->h, k->folder, a, &names, &n))
		return NULL;
	for (size_t i = n, looked = 0; i-- > 0 && looked < LOOK_BACK;) {
		char *id, *text = NULL;
		json_t *j;

		if (!str_starts(names[i], "check-") || !str_ends(names[i], ".json"))
			continue;
		looked++;
		id = arena_strndup(a, names[i], strlen(names[i]) - 5);
		if (!store_id_valid(id) ||
		    host_read(k->h, arena_printf(a, "%s/%s", k->folder, names[i]), EARLIER_MAX, a,
			      &text, NULL))
			continue;
		j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (j && !json_is_true(json_object_get(j, "partial")) &&
		    same_nodes(k->c->cluster, j)) {
			k->c->earlier = id;
			return j;
		}
		json_decref(j);
	}
	return NULL;
}

/* A result that cannot be kept is still a result. */
static void keep_check(struct checking *k, const struct cluster_check_view *v)
{
	json_t *j = result_shape_json(&cluster_check_result, v, v->time_s, v->exit_code);
	char *text = json_dumps(j, JSON_INDENT(1)), when[32];
	struct arena *a = k->d->arena;
	const char *path;
	time_t t = (time_t)v->time_s;
	struct tm tm = { 0 };
	struct err e = { 0 };
	int code = text ? 0 : -ENOMEM;

	json_decref(j);
	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	code = code ? code : door_state_ready(k->d, k->h, k->state_of, &e);
	code = code ? code : store_folder(k->h, k->state, &e);
	code = code ? code : store_folder(k->h, k->folder, &e);
	path = arena_printf(a, "%s/check-%s.json", k->folder, when);
	for (unsigned i = 2; code == 0 && i < 1000 && host_exists(k->h, path); i++)
		path = arena_printf(a, "%s/check-%s-%u.json", k->folder, when, i);
	code = code ? code : host_put(k->h, path, text, strlen(text), 0600);
	free(text);
	if (code)
		door_warn(k->d, "%s was not saved, so a later check cannot compare with it: %s",
			  path, strerror(-code));
}

static void print_progress(void *ctx, const char *text)
{
	door_progress(ctx, "%s", text);
}

/* Nodes that went out while they were measured. */
static void find_lost(struct arena *a, struct cluster_run *run)
{
	for (size_t i = 0; i < run->cluster.n_nodes; i++) {
		const char *why = rsh_failure(run->rsh, i);
		const struct cluster_node *n = &run->cluster.nodes[i];

		if (!why || *n->failure)
			continue;
		cluster_find(
			a, &run->cluster,
			&(struct cluster_finding){
				.code = "dead-node",
				.severity = CLUSTER_FAULT,
				.node = n->name,
				.port = "",
				.text = arena_printf(
					a, "%s stopped answering during the measurement.", n->name),
				.evidence = why,
				.fix = "check that it is on, and read its kernel log" });
	}
}

static void compare_earlier(struct checking *k)
{
	struct arena *a = k->d->arena;
	json_t *j = find_earlier(k);
	struct check *c = k->c;
	struct err e = { 0 };

	if (j && check_compare(a, c, j, &e)) {
		c->notes = arena_grow(a, c->notes, c->n_notes, sizeof(*c->notes));
		c->notes[c->n_notes++] = arena_printf(
			a, "Cannot compare with the earlier check %s: %s", c->earlier, e.text);
		c->earlier = NULL;
	}
	json_decref(j);
}

static int check_exit(const struct check *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_results; i++)
		any = any || c->results[i].state != CHECK_LEFT_OUT;
	for (size_t i = 0; i < c->cluster->n_findings; i++)
		if (c->cluster->findings[i].severity > CLUSTER_NOTE)
			return EXIT_FINDINGS;
	return any && !c->partial ? EXIT_CLEAN : EXIT_BLIND;
}

/* Of what was measured: in *c, partial after Ctrl-C. */
static int measure(struct door *d, const struct cluster_check_ask *ask, struct cluster_run *run,
		   struct check *c)
{
	const struct check_how how = {
		.quick = ask->quick, .seconds = ask->seconds, .say = print_progress, .ctx = d
	};
	struct err e = { 0 };
	int code = cluster_run_open(d, &ask->nodes, &ask->links, 0, run);

	if (code)
		return code;
	c->discover_seconds = run->seconds;
	code = cluster_check(d->arena, run->rsh, &how, c, &e);
	if (code == 0 || code == -EINTR)
		find_lost(d->arena, run);
	cluster_run_close(run);
	return code && code != -EINTR ? door_fail(d, EXIT_BLIND, &e) : 0;
}

static int cluster_check_answer(struct door *d, const struct cluster_check_ask *ask,
				struct cluster_check_view *out)
{
	struct cluster_run *run = ARENA_NEW(d->arena, struct cluster_run);
	struct check *c = ARENA_NEW(d->arena, struct check);
	struct checking k = {
		.d = d, .state = door_state(d, &ask->state), .state_of = &ask->state, .c = c
	};
	int code;

	c->cluster = &run->cluster;
	code = measure(d, ask, run, c);
	if (code)
		return code;
	k.folder = arena_printf(d->arena, "%s/cluster", k.state);
	k.h = d->live(d->ctx);
	compare_earlier(&k);
	check_symptoms(d->arena, c);
	*out = cluster_check_view_of(c, (long long)time(NULL), check_exit(c));
	/* With nothing in it there would be nothing to compare with. */
	if (c->n_results)
		keep_check(&k, out);
	host_close(k.h);
	return out->exit_code;
}

static struct doc *cluster_check_page(struct arena *a, const struct cluster_check_ask *ask,
				      const struct cluster_check_view *v,
				      const struct page_view *view)
{
	(void)ask;
	return page_cluster_check(a, v->c, view->verbose);
}

static void cluster_check_head(const void *answer, const void **host, long long *time_s)
{
	(void)host;
	*time_s = ((const struct cluster_check_view *)answer)->time_s;
}

VERB_ANSWER(cluster_check_answer_any, cluster_check_answer, cluster_check_ask, cluster_check_view)
VERB_PAGE(cluster_check_page_any, cluster_check_page, cluster_check_ask, cluster_check_view)

const struct verb cluster_check_verb = {
	.name = "check",
	.summary = "measure each path and find the bad node, port or cable",
	.about = "Measures every path in rounds of pairs: echo, TCP, RDMA, NCCL; with --quick only "
		 "echo. Repeats bad results, names the bad node, port or cable, and saves the "
		 "result for the next check to compare with.",
	.exits = "1: a fault was found; 5: not everything could be measured",
	.examples = EXAMPLES(
		{ "cluster check --nodes spark-1,spark-2 --quick", "whether every path works" },
		{ "cluster check --nodes spark-1,spark-2", "how fast each path is" }),
	.ask = &cluster_check_ask_shape,
	.answer = cluster_check_answer_any,
	.result = &cluster_check_result,
	.page = cluster_check_page_any,
	.head = cluster_check_head,
	.own_process = true,
};
