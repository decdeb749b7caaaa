/* SPDX-License-Identifier: Apache-2.0 */
/* A check as JSON (gputune.cluster-check/1), and the figures of an earlier one back from it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "many/cluster/check.h"
#include "many/cluster/links_inside.h"

static json_t *text(const char *s)
{
	/* What nodes say was checked to be text; what errors quote may be anything. */
	json_t *j = s ? json_string(s) : NULL;

	return j ? j : s ? json_string_nocheck("?") : json_null();
}

static json_t *end(const struct check *c, size_t node, const struct check_result *r)
{
	const char *port = NULL;

	if (r && r->path != CHECK_NONE && !r->together)
		port = check_port(c, check_end(&c->paths[r->path], node))->name;
	return json_pack("{s:o, s:o}", "node", text(check_node(c, node)->name), "port", text(port));
}

static void figure(json_t *o, const char *key, enum check_test test, double v, bool known)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", key, check_kinds[test].unit);
	json_object_set_new(o, name, known && isfinite(v) ? json_real(v) : json_null());
}

static json_t *traffic_json(const struct check *c, const struct check_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_traffic; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:f, s:f}", "node",
						text(check_node(c, r->traffic[i].node)->name),
						"port", text(r->traffic[i].port), "rx_bytes",
						r->traffic[i].rx, "tx_bytes", r->traffic[i].tx));
	return list;
}

static json_t *band_json(const struct check_result *r)
{
	return r->band.known ? json_pack("{s:f, s:f, s:o}", "low", r->band.low, "high",
					 r->band.high, "source", text(r->band.source))
			     : json_null();
}

static json_t *result_json(const struct check *c, const struct check_result *r)
{
	json_t *o =
		json_pack("{s:s, s:o, s:o, s:b, s:i, s:s}", "test", check_kinds[r->test].name,
			  "from", end(c, r->from, r), "to", end(c, r->to, r), "together",
			  r->together, "pass", (int)r->pass, "state", check_state_name(r->state));

	json_object_set_new(o, "bytes",
			    r->bytes ? json_integer((json_int_t)r->bytes) : json_null());
	json_object_set_new(o, "operation", text(r->operation));
	json_object_set_new(o, "address", text(r->address));
	json_object_set_new(o, "why", text(r->why));
	json_object_set_new(o, "how", text(r->how));
	json_object_set_new(o, "egress", text(r->egress));
	json_object_set_new(o, "samples", json_integer((json_int_t)r->n));
	if (check_kinds[r->test].unit) {
		figure(o, "median", r->test, r->value, r->n > 0);
		figure(o, "least", r->test, r->low, r->n > 0);
		figure(o, "most", r->test, r->high, r->n > 0);
		figure(o, "wanted", r->test, r->wanted, r->wanted_by != NULL);
		figure(o, "before", r->test, r->before, r->before > 0);
		json_object_set_new(o, "wanted_by", text(r->wanted_by));
		json_object_set_new(o, "band", band_json(r));
	}
	json_object_set_new(o, "traffic", traffic_json(c, r));
	return o;
}

static json_t *path_json(const struct check *c, const struct check_path *p)
{
	const struct cluster_port *a = check_port(c, p->a), *b = check_port(c, p->b);

	return json_pack("{s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o}, s:s, s:o}", "a", "node",
			 text(check_node(c, p->a.node)->name), "port", text(a->name), "address",
			 text(p->address_a), "b", "node", text(check_node(c, p->b.node)->name),
			 "port", text(b->name), "address", text(p->address_b), "way",
			 p->wire == CLUSTER_NONE ? "subnet"
			 : p->cable		 ? "cable"
						 : "switch",
			 "untestable", text(p->untestable));
}

static json_t *blame_json(const struct check_blame *b)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o}", "what", text(b->what),
			 "node", text(b->node), "port", text(b->port), "tests", text(b->tests),
			 "or", text(b->others), "explains", (json_int_t)b->explains, "certain",
			 b->certain, "next", text(b->next), "evidence", text(b->evidence));
}

/* Those that grew; how many stood still is told. */
static json_t *counters_json(const struct check *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_counts; i++) {
		const struct check_count *k = &c->counts[i];

		if (k->after > k->before)
			json_array_append_new(list,
					      json_pack("{s:o, s:o, s:o, s:I, s:I}", "node",
							text(check_node(c, k->node)->name), "port",
							text(k->port), "name", text(k->name),
							"before", (json_int_t)k->before, "after",
							(json_int_t)k->after));
	}
	return json_pack("{s:I, s:o}", "read", (json_int_t)c->n_counts, "grown", list);
}

json_t *check_json(const struct check *c, const char *time, int exit_code)
{
	json_t *cluster = cluster_json(c->cluster, time, exit_code), *paths = json_array(),
	       *results = json_array(), *blames = json_array(), *notes = json_array(), *o;

	for (size_t i = 0; i < c->n_paths; i++)
		json_array_append_new(paths, path_json(c, &c->paths[i]));
	for (size_t i = 0; i < c->n_results; i++)
		json_array_append_new(results, result_json(c, &c->results[i]));
	for (size_t i = 0; i < c->n_blames; i++)
		json_array_append_new(blames, blame_json(&c->blames[i]));
	for (size_t i = 0; i < c->n_notes; i++)
		json_array_append_new(notes, text(c->notes[i]));
	o = json_pack("{s:s, s:s, s:o, s:i, s:f, s:f, s:b, s:b, s:o}", "schema",
		      "gputune.cluster-check/1", "tool_version", GPUTUNE_VERSION, "time",
		      text(time), "exit_code", exit_code, "seconds", c->seconds,
		      "discovery_seconds", c->discover_seconds, "quick", c->quick, "partial",
		      c->partial, "earlier", text(c->earlier));
	json_object_set_new(o, "paths", paths);
	json_object_set_new(o, "results", results);
	json_object_set_new(o, "counters", counters_json(c));
	json_object_set_new(o, "blames", blames);
	json_object_set_new(o, "notes", notes);
	/* Once: what was measured is among them. */
	json_object_set(o, "findings", json_object_get(cluster, "findings"));
	json_object_del(cluster, "findings");
	json_object_set_new(o, "cluster", cluster);
	return o;
}

/* --- back ---------------------------------------------------------------------------------------
 */

static bool is_text(const json_t *o, const char *key, const char *wanted)
{
	const char *s = json_string_value(json_object_get(o, key));

	return wanted ? s && strcmp(s, wanted) == 0 : s == NULL;
}

static bool same_end(const struct check *c, const struct check_result *r, size_t node,
		     const json_t *o)
{
	const char *port = NULL;

	if (r->path != CHECK_NONE && !r->together)
		port = check_port(c, check_end(&c->paths[r->path], node))->name;
	return is_text(o, "node", check_node(c, node)->name) && is_text(o, "port", port);
}

static void compare_one(const struct check *c, struct check_result *r, const json_t *results)
{
	char key[64];
	json_t *o;
	size_t i;

	snprintf(key, sizeof(key), "median_%s", check_kinds[r->test].unit);
	json_array_foreach(results, i, o)
	{
		const json_t *v = json_object_get(o, key);

		if (!json_is_number(v) || !is_text(o, "test", check_kinds[r->test].name) ||
		    !is_text(o, "operation", r->operation) ||
		    json_is_true(json_object_get(o, "together")) != r->together ||
		    !same_end(c, r, r->from, json_object_get(o, "from")) ||
		    !same_end(c, r, r->to, json_object_get(o, "to")))
			continue;
		/* The last one counts: it was tried again. */
		if (isfinite(json_number_value(v)) && json_number_value(v) > 0)
			r->before = json_number_value(v);
	}
}

/* The judge of discoveries says which GIDs moved; the rest of what it says is known by now. */
static int compare_gids(struct arena *a, struct check *c, const json_t *cluster, struct err *e)
{
	struct cluster before, again = *c->cluster;
	int r = cluster_read(a, cluster, &before, e);

	if (r)
		return r;
	again.findings = NULL;
	again.n_findings = 0;
	cluster_judge_gids(a, &again, &before);
	for (size_t i = 0; i < again.n_findings; i++)
		if (strcmp(again.findings[i].code, "gid-drift") == 0)
			cluster_find(a, c->cluster, &again.findings[i]);
	return 0;
}

int check_compare(struct arena *a, struct check *c, const json_t *earlier, struct err *e)
{
	const json_t *results = json_object_get(earlier, "results");

	if (!is_text(earlier, "schema", "gputune.cluster-check/1") || !json_is_array(results) ||
	    json_array_size(results) > CHECK_RESULTS_MAX)
		return err_set(e, -EINVAL, "that is no earlier check of a cluster");
	for (size_t i = 0; i < c->n_results; i++)
		if (check_kinds[c->results[i].test].unit)
			compare_one(c, &c->results[i], results);
	return compare_gids(a, c, json_object_get(earlier, "cluster"), e);
}
