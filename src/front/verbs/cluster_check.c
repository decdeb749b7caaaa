/* SPDX-License-Identifier: Apache-2.0 */
/* gputune cluster check: discovers, measures every path, says who is to blame, keeps the result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/stamp.h"
#include "base/text.h"
#include "measure/bench/store.h"
#include "many/cluster/check.h"
#include "many/cluster/symptoms.h"
#include "front/verbs/cluster.h"
#include "front/verbs/page.h"
#include "front/verbs/prove.h"
#include "machine/write/write.h"
#include "many/cluster/page_cluster_check.h"

enum { EARLIER_MAX = 64 << 20, LOOK_BACK = 50 };

/* --- what is kept -------------------------------------------------------------------------------
 */

static const char *folder_of(struct run *r)
{
	return arena_printf(&r->arena, "%s/cluster",
			    r->value[OPT_STATE] ? r->value[OPT_STATE] : BENCH_STATE);
}

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
static json_t *find_earlier(struct run *r, struct host *h, struct check *c)
{
	const char *folder = folder_of(r);
	char **names;
	size_t n = 0;

	if (host_list(h, folder, &r->arena, &names, &n))
		return NULL;
	for (size_t i = n, looked = 0; i-- > 0 && looked < LOOK_BACK;) {
		char *id, *text = NULL;
		json_t *j;

		if (!str_starts(names[i], "check-") || !str_ends(names[i], ".json"))
			continue;
		looked++;
		id = arena_strndup(&r->arena, names[i], strlen(names[i]) - 5);
		if (!store_id_sound(id) ||
		    host_read(h, arena_printf(&r->arena, "%s/%s", folder, names[i]), EARLIER_MAX,
			      &r->arena, &text, NULL))
			continue;
		j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		if (j && !json_is_true(json_object_get(j, "partial")) &&
		    same_nodes(c->cluster, j)) {
			c->earlier = id;
			return j;
		}
		json_decref(j);
	}
	return NULL;
}

/* A result that cannot be kept is still a result. */
static void keep(struct run *r, struct host *h, const json_t *j, long long now)
{
	const char *folder = folder_of(r), *path = NULL;
	char *text = json_dumps(j, JSON_INDENT(1)), when[32];
	time_t t = (time_t)now;
	struct tm tm = { 0 };
	int code = text ? 0 : -ENOMEM;

	gmtime_r(&t, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	code = code ? code
		    : host_own_dir(h, r->value[OPT_STATE] ? r->value[OPT_STATE] : BENCH_STATE);
	code = code ? code : host_own_dir(h, folder);
	path = arena_printf(&r->arena, "%s/check-%s.json", folder, when);
	for (unsigned i = 2; code == 0 && i < 1000 && host_exists(h, path); i++)
		path = arena_printf(&r->arena, "%s/check-%s-%u.json", folder, when, i);
	code = code ? code : host_put(h, path, text, strlen(text), 0600);
	free(text);
	if (code && !r->value[OPT_QUIET])
		fprintf(stderr,
			"gputune: %s is not kept, so a later check cannot compare with it: %s\n",
			path ? path : folder, strerror(-code));
}

/* --- the run ------------------------------------------------------------------------------------
 */

static void say(void *ctx, const char *text)
{
	const struct run *r = ctx;

	if (!r->value[OPT_QUIET] && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s", text);
}

static void said(const struct run *r)
{
	if (!r->value[OPT_QUIET] && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static void note(struct run *r, struct check *c, const char *text)
{
	c->notes = arena_grow(&r->arena, c->notes, c->n_notes, sizeof(*c->notes));
	c->notes[c->n_notes++] = text;
}

/* Nodes that went out while they were measured. */
static void lost(struct run *r, struct cluster_run *run)
{
	for (size_t i = 0; i < run->cluster.n_nodes; i++) {
		const char *why = rsh_failure(run->rsh, i);
		const struct cluster_node *n = &run->cluster.nodes[i];

		if (!why || *n->failure)
			continue;
		cluster_find(&r->arena, &run->cluster,
			     &(struct cluster_finding){
				     .code = "dead-node",
				     .severity = CLUSTER_FAULT,
				     .node = n->name,
				     .port = "",
				     .text = arena_printf(&r->arena,
							  "%s stopped answering while it was "
							  "measured.",
							  n->name),
				     .evidence = why,
				     .fix = "see that it is still on, and what its kernel's log "
					    "says" });
	}
}

static void earlier(struct run *r, struct host *h, struct check *c)
{
	json_t *j = find_earlier(r, h, c);
	struct err e = { 0 };

	if (j && check_compare(&r->arena, c, j, &e)) {
		note(r, c,
		     arena_printf(&r->arena, "The earlier check %s cannot be compared with: %s",
				  c->earlier, e.text));
		c->earlier = NULL;
	}
	json_decref(j);
}

static int code_of(const struct check *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_results; i++)
		any = any || c->results[i].state != CHECK_LEFT_OUT;
	for (size_t i = 0; i < c->cluster->n_findings; i++)
		if (c->cluster->findings[i].severity > CLUSTER_NOTE)
			return EXIT_FINDINGS;
	return any && !c->partial ? EXIT_CLEAN : EXIT_BLIND;
}

static int print(struct run *r, struct host *h, const struct check *c)
{
	int code = code_of(c), failed = 0;
	long long now = (long long)time(NULL);
	char stamp[STAMP_SIZE] = "";
	json_t *j;

	stamp_format(now, stamp);
	j = check_json(c, stamp, code);
	/* With nothing in it there would be nothing to compare with. */
	if (c->n_results)
		keep(r, h, j, now);
	if (r->value[OPT_QUIET]) {
		json_decref(j);
		return code;
	}
	if (run_wants_json(r)) {
		run_print_json(r, j);
		return code;
	}
	json_decref(j);
	failed = run_print_doc(r, page_cluster_check(&r->arena, c, r->value[OPT_VERBOSE] != NULL),
			       "gputune cluster check");
	return failed ? failed : code;
}

int cluster_check_run(struct run *r)
{
	struct cluster_run run = { 0 };
	struct check c = { .cluster = &run.cluster };
	struct check_how how = { .quick = r->value[OPT_QUICK] != NULL, .say = say, .ctx = r };
	struct err e = { 0 };
	HOST_AUTO *h = NULL;
	int code;

	if (r->n_args)
		return complain_text(EXIT_USAGE, "\"cluster check\" takes no argument");
	if (prove_time(r, OPT_FOR, &how.seconds))
		return EXIT_USAGE;
	code = cluster_run_open(r, &run, true);
	if (code)
		return code;
	h = host_open_live();
	c.discover_seconds = run.seconds;
	code = cluster_check(&r->arena, run.rsh, &how, &c, &e);
	said(r);
	if (code && code != -EINTR) {
		cluster_run_close(&run);
		return complain(EXIT_BLIND, &e);
	}
	lost(r, &run);
	cluster_run_close(&run);
	earlier(r, h, &c);
	check_symptoms(&r->arena, &c);
	return print(r, h, &c);
}
