/* SPDX-License-Identifier: Apache-2.0 */
/* A discovery as JSON (schemas/cluster-discover.json) and back: nodes are read, the rest follows.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "many/cluster/links.h"
#include "many/cluster/check.h"

enum { FILE_MAX = 64 << 20 };

static json_t *text(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *end_json(const struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	return json_pack("{s:s, s:s, s:s}", "node", c->nodes[e.node].name, "port", p->name, "pci",
			 p->pci);
}

static json_t *links_json(const struct cluster *c)
{
	json_t *out = json_array();

	for (size_t i = 0; i < c->n_links; i++) {
		const struct cluster_link *l = &c->links[i];

		json_array_append_new(out, json_pack("{s:o, s:o, s:s, s:b, s:b}", "a",
						     end_json(c, l->a), "b", end_json(c, l->b),
						     "way", cluster_way_name(l->way), "a_hears",
						     l->a_hears, "b_hears", l->b_hears));
	}
	return out;
}

static json_t *cage_json(const struct cluster *c, const struct cluster_cage *g)
{
	json_t *ports = json_array();

	for (size_t i = 0; i < g->n_ports; i++)
		json_array_append_new(
			ports, json_string(cluster_end_port(
						   c, (struct cluster_end){ g->node, g->ports[i] })
						   ->name));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "node", c->nodes[g->node].name, "name",
			 g->name, "ports", ports, "twins_by", text(g->twins_by), "neighbour",
			 text(g->neighbour), "wire",
			 g->wire == CLUSTER_NONE ? json_null() : json_integer((json_int_t)g->wire));
}

static json_t *wire_json(const struct cluster *c, const struct cluster_wire *w)
{
	json_t *cages = json_array(), *paths = json_array();

	for (size_t i = 0; i < w->n_cages; i++) {
		const struct cluster_cage *g = &c->cages[w->cages[i]];

		json_array_append_new(cages, json_pack("{s:s, s:s}", "node", c->nodes[g->node].name,
						       "cage", g->name));
	}
	for (size_t i = 0; i < w->n_paths; i++) {
		const struct cluster_path *p = &w->paths[i];
		json_t *ends = json_array();

		for (size_t k = 0; k < p->n_ends; k++)
			json_array_append_new(ends, end_json(c, p->ends[k]));
		json_array_append_new(paths, json_pack("{s:o, s:o}", "ends", ends, "speed_mbps",
						       p->speed_mbps ? json_integer(p->speed_mbps)
								     : json_null()));
	}
	return json_pack("{s:s, s:b, s:o, s:o}", "way", cluster_way_name(w->way), "data",
			 cluster_wire_data(c, w), "cages", cages, "paths", paths);
}

static json_t *findings_json(const struct cluster *c)
{
	json_t *out = json_array();

	for (size_t i = 0; i < c->n_findings; i++) {
		const struct cluster_finding *f = &c->findings[i];

		json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "code",
						     f->code, "severity",
						     cluster_severity_name(f->severity), "node",
						     f->node, "port", f->port, "text", f->text,
						     "evidence", f->evidence, "fix", f->fix));
	}
	return out;
}

json_t *cluster_json(const struct cluster *c, const char *time, int exit_code)
{
	json_t *nodes = json_array(), *cages = json_array(), *wires = json_array();

	for (size_t i = 0; i < c->n_nodes; i++)
		json_array_append_new(nodes, cluster_node_json(&c->nodes[i]));
	for (size_t i = 0; i < c->n_cages; i++)
		json_array_append_new(cages, cage_json(c, &c->cages[i]));
	for (size_t i = 0; i < c->n_wires; i++)
		json_array_append_new(wires, wire_json(c, &c->wires[i]));
	return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "schema",
			 "gputune.cluster-discover/1", "tool_version", GPUTUNE_VERSION, "time",
			 time, "exit_code", exit_code, "topology",
			 cluster_topology_name(c->topology), "topology_why", c->topology_why,
			 "supported", c->supported, "nodes", nodes, "cages", cages, "links",
			 links_json(c), "wires", wires, "findings", findings_json(c));
}

int cluster_read(struct arena *a, const json_t *j, struct cluster *out, struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	const json_t *nodes = json_object_get(j, "nodes");
	struct cluster c = { .n_nodes = json_array_size(nodes) };

	if (!schema || strcmp(schema, "gputune.cluster-discover/1") != 0)
		return err_set(e, -EINVAL, "it is no result of gputune cluster discover");
	if (c.n_nodes == 0 || c.n_nodes > CLUSTER_NODES_MAX)
		return err_set(e, -EINVAL, "it has no nodes, or more than %d", CLUSTER_NODES_MAX);
	c.nodes = arena_array(a, c.n_nodes, sizeof(*c.nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		int r = cluster_node_read(a, json_array_get(nodes, i), &c.nodes[i], e);

		if (r)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(c.nodes[k].name, c.nodes[i].name) == 0)
				return err_set(e, -EINVAL, "two nodes are called %s",
					       c.nodes[i].name);
	}
	cluster_link(a, &c);
	*out = c;
	return 0;
}

int cluster_load(struct arena *a, const char *path, struct cluster *out, struct err *e)
{
	int fd = fd_open_input(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char *room = f ? arena_room(FILE_MAX + 1) : NULL;
	size_t n = room ? fread(room, 1, FILE_MAX + 1, f) : 0;
	bool bad = f && ferror(f);
	json_t *j;
	struct err why = { 0 };
	int r;

	if (f)
		fclose(f);
	if (!room || bad || n > FILE_MAX) {
		r = fd < 0 ? fd : !f ? -ENOMEM : n > FILE_MAX ? -EFBIG : -EIO;
		if (room)
			arena_drop(room);
		return err_set(e, r, "%s cannot be read: %s", path, strerror(-r));
	}
	j = json_loadb(room, n, JSON_REJECT_DUPLICATES, NULL);
	arena_drop(room);
	r = cluster_read(a, j, out, &why);
	json_decref(j);
	return r ? err_set(e, r, "%s: %s", path, why.text) : 0;
}

/* A check as JSON (gputune.cluster-check/1), and the figures of an earlier one back from it. */

static json_t *check_text(const char *s)
{
	/* What nodes say was checked to be text; what errors quote may be anything. */
	json_t *j = s ? json_string(s) : NULL;

	return j ? j : s ? json_string_nocheck("?") : json_null();
}

static json_t *cluster_json_end(const struct check *c, size_t node, const struct check_result *r)
{
	const char *port = NULL;

	if (r && r->path != CHECK_NONE && !r->together)
		port = check_port(c, check_end(&c->paths[r->path], node))->name;
	return json_pack("{s:o, s:o}", "node", check_text(check_node(c, node)->name), "port",
			 check_text(port));
}

static void check_figure(json_t *o, const char *key, enum check_test test, double v, bool known)
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
						check_text(check_node(c, r->traffic[i].node)->name),
						"port", check_text(r->traffic[i].port), "rx_bytes",
						r->traffic[i].rx, "tx_bytes", r->traffic[i].tx));
	return list;
}

static json_t *band_json(const struct check_result *r)
{
	return r->band.known ? json_pack("{s:f, s:f, s:o}", "low", r->band.low, "high",
					 r->band.high, "source", check_text(r->band.source))
			     : json_null();
}

static json_t *result_json(const struct check *c, const struct check_result *r)
{
	json_t *o = json_pack("{s:s, s:o, s:o, s:b, s:i, s:s}", "test", check_kinds[r->test].name,
			      "from", cluster_json_end(c, r->from, r), "to",
			      cluster_json_end(c, r->to, r), "together", r->together, "pass",
			      (int)r->pass, "state", check_state_name(r->state));

	json_object_set_new(o, "bytes",
			    r->bytes ? json_integer((json_int_t)r->bytes) : json_null());
	json_object_set_new(o, "operation", check_text(r->operation));
	json_object_set_new(o, "address", check_text(r->address));
	json_object_set_new(o, "why", check_text(r->why));
	json_object_set_new(o, "how", check_text(r->how));
	json_object_set_new(o, "egress", check_text(r->egress));
	json_object_set_new(o, "samples", json_integer((json_int_t)r->n));
	if (check_kinds[r->test].unit) {
		check_figure(o, "median", r->test, r->value, r->n > 0);
		check_figure(o, "least", r->test, r->low, r->n > 0);
		check_figure(o, "most", r->test, r->high, r->n > 0);
		check_figure(o, "wanted", r->test, r->wanted, r->wanted_by != NULL);
		check_figure(o, "before", r->test, r->before, r->before > 0);
		json_object_set_new(o, "wanted_by", check_text(r->wanted_by));
		json_object_set_new(o, "band", band_json(r));
	}
	json_object_set_new(o, "traffic", traffic_json(c, r));
	return o;
}

static json_t *path_json(const struct check *c, const struct check_path *p)
{
	const struct cluster_port *a = check_port(c, p->a), *b = check_port(c, p->b);

	return json_pack("{s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o}, s:s, s:o}", "a", "node",
			 check_text(check_node(c, p->a.node)->name), "port", check_text(a->name),
			 "address", check_text(p->address_a), "b", "node",
			 check_text(check_node(c, p->b.node)->name), "port", check_text(b->name),
			 "address", check_text(p->address_b), "way",
			 p->wire == CLUSTER_NONE ? "subnet"
			 : p->cable		 ? "cable"
						 : "switch",
			 "untestable", check_text(p->untestable));
}

static json_t *blame_json(const struct check_blame *b)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o, s:o}", "what",
			 check_text(b->what), "node", check_text(b->node), "port",
			 check_text(b->port), "tests", check_text(b->tests), "or",
			 check_text(b->others), "explains", (json_int_t)b->explains, "certain",
			 b->certain, "next", check_text(b->next), "evidence",
			 check_text(b->evidence));
}

/* Those that grew; how many stood still is told. */
static json_t *counters_json(const struct check *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->n_counts; i++) {
		const struct check_count *k = &c->counts[i];

		if (k->after > k->before)
			json_array_append_new(
				list, json_pack("{s:o, s:o, s:o, s:I, s:I}", "node",
						check_text(check_node(c, k->node)->name), "port",
						check_text(k->port), "name", check_text(k->name),
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
		json_array_append_new(notes, check_text(c->notes[i]));
	o = json_pack("{s:s, s:s, s:o, s:i, s:f, s:f, s:b, s:b, s:o}", "schema",
		      "gputune.cluster-check/1", "tool_version", GPUTUNE_VERSION, "time",
		      check_text(time), "exit_code", exit_code, "seconds", c->seconds,
		      "discovery_seconds", c->discover_seconds, "quick", c->quick, "partial",
		      c->partial, "earlier", check_text(c->earlier));
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
