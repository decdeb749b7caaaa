/* SPDX-License-Identifier: Apache-2.0 */
/* What a discovery and a check of a cluster say, a row a figure, and back: of a discovery the nodes
 * are read, the rest follows; of a check the figures. Keys and meanings are API. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "many/cluster/links.h"
#include "many/cluster/check.h"
#include "render/shape_page.h"

enum { FILE_MAX = 64 << 20 };

/* --- a discovery ------------------------------------------------------------------------------ */

struct end_view {
	const char *node, *port, *pci, *address; /* NULL: not shown, or of no port */
};

struct link_view {
	const struct cluster_link *link;
	struct end_view a, b;
};

struct cage_view {
	const struct cluster_cage *cage;
	const char *node, **ports;
	size_t n;
	long long wire; /* -1: none */
};

struct path_view {
	struct end_view *ends;
	size_t n;
	long long speed_mbps;
};

struct wire_view {
	enum cluster_way way;
	bool data;
	struct end_view *cages; /* port: the cage's name */
	size_t n_cages;
	struct path_view *paths;
	size_t n_paths;
};

static struct end_view end_view(const struct cluster *c, struct cluster_end e)
{
	const struct cluster_port *p = cluster_end_port(c, e);

	return (struct end_view){ .node = c->nodes[e.node].name, .port = p->name, .pci = p->pci };
}

static const void *link_views(struct arena *a, const void *object, size_t *n)
{
	const struct cluster *c = object;
	struct link_view *out = arena_array(a, c->n_links + 1, sizeof(*out));

	*n = c->n_links;
	for (size_t i = 0; i < *n; i++)
		out[i] = (struct link_view){ &c->links[i], end_view(c, c->links[i].a),
					     end_view(c, c->links[i].b) };
	return out;
}

static const void *cage_views(struct arena *a, const void *object, size_t *n)
{
	const struct cluster *c = object;
	struct cage_view *out = arena_array(a, c->n_cages + 1, sizeof(*out));

	*n = c->n_cages;
	for (size_t i = 0; i < *n; i++) {
		const struct cluster_cage *g = &c->cages[i];

		out[i] = (struct cage_view){ .cage = g,
					     .node = c->nodes[g->node].name,
					     .ports = arena_array(a, g->n_ports, sizeof(char *)),
					     .n = g->n_ports,
					     .wire = g->wire == CLUSTER_NONE ? -1
									     : (long long)g->wire };
		for (size_t k = 0; k < g->n_ports; k++)
			out[i].ports[k] =
				end_view(c, (struct cluster_end){ g->node, g->ports[k] }).port;
	}
	return out;
}

static struct path_view path_view(struct arena *a, const struct cluster *c,
				  const struct cluster_path *p)
{
	struct path_view out = { arena_array(a, p->n_ends, sizeof(*out.ends)), p->n_ends,
				 p->speed_mbps };

	for (size_t i = 0; i < p->n_ends; i++)
		out.ends[i] = end_view(c, p->ends[i]);
	return out;
}

static const void *wire_views(struct arena *a, const void *object, size_t *n)
{
	const struct cluster *c = object;
	struct wire_view *out = arena_array(a, c->n_wires + 1, sizeof(*out));

	*n = c->n_wires;
	for (size_t i = 0; i < *n; i++) {
		const struct cluster_wire *w = &c->wires[i];

		out[i] = (struct wire_view){
			.way = w->way,
			.data = cluster_wire_data(c, w),
			.cages = arena_array(a, w->n_cages, sizeof(struct end_view)),
			.n_cages = w->n_cages,
			.paths = arena_array(a, w->n_paths, sizeof(struct path_view)),
			.n_paths = w->n_paths
		};
		for (size_t k = 0; k < w->n_cages; k++) {
			const struct cluster_cage *g = &c->cages[w->cages[k]];

			out[i].cages[k] = (struct end_view){ .node = c->nodes[g->node].name,
							     .port = g->name };
		}
		for (size_t k = 0; k < w->n_paths; k++)
			out[i].paths[k] = path_view(a, c, &w->paths[k]);
	}
	return out;
}

/* clang-format off */

static const struct shape_row end_view_rows[] = {
	{ "node", NULL, SHAPE_TEXT(end_view, node) },
	{ "port", NULL, SHAPE_TEXT(end_view, port) },
	{ "pci", NULL, SHAPE_TEXT(end_view, pci) },
};
static const struct shape end_view_shape = SHAPE(end_view, end_view);

#define OF_LINK SHAPE_VIA(link_view, link, cluster_link)
static const struct shape_row link_view_rows[] = {
	{ "a", NULL, SHAPE_OBJECT(link_view, a, end_view) },
	{ "b", NULL, SHAPE_OBJECT(link_view, b, end_view) },
	{ "way", NULL, SHAPE_CHOICE_BY(cluster_link, way, cluster_way_name, CLUSTER_WAYS), OF_LINK },
	{ "a_hears", NULL, SHAPE_FLAG(cluster_link, a_hears), OF_LINK },
	{ "b_hears", NULL, SHAPE_FLAG(cluster_link, b_hears), OF_LINK },
};
static const struct shape link_view_shape = SHAPE(link_view, link_view);

#define OF_CAGE SHAPE_VIA(cage_view, cage, cluster_cage)
static const struct shape_row cage_view_rows[] = {
	{ "node", NULL, SHAPE_TEXT(cage_view, node) },
	{ "name", NULL, SHAPE_TEXT(cluster_cage, name), OF_CAGE },
	{ "ports", "Its twin ports, by PCI address.", SHAPE_TEXT_LIST(cage_view, ports, n) },
	{ "twins_by", "How twins are identified.", SHAPE_TEXT(cluster_cage, twins_by), OF_CAGE, .unknown = SHAPE_NULL },
	{ "neighbour", "System name of the other end by LLDP.",
	  SHAPE_TEXT(cluster_cage, neighbour), OF_CAGE, .unknown = SHAPE_NULL },
	{ "wire", "Index in wires, from 0.", SHAPE_COUNT(cage_view, wire), .unknown = SHAPE_NEGATIVE },
};
static const struct shape cage_view_shape = SHAPE(cage_view, cage_view);

static const struct shape_row cage_name_rows[] = {
	{ "node", NULL, SHAPE_TEXT(end_view, node) },
	{ "cage", NULL, SHAPE_TEXT(end_view, port) },
};
static const struct shape cage_name_shape = SHAPE(end_view, cage_name);

static const struct shape_row path_view_rows[] = {
	{ "ends", NULL, SHAPE_LIST(path_view, ends, n, end_view) },
	{ "speed_mbps", "Of the slowest end.", SHAPE_COUNT(path_view, speed_mbps), .unknown = SHAPE_ZERO },
};
static const struct shape path_view_shape = SHAPE(path_view, path_view);

static const struct shape_row wire_view_rows[] = {
	{ "way", NULL, SHAPE_CHOICE_BY(wire_view, way, cluster_way_name, CLUSTER_WAYS) },
	{ "data", "Not for management.", SHAPE_FLAG(wire_view, data) },
	{ "cages", NULL, SHAPE_LIST_AS(wire_view, cages, n_cages, end_view, cage_name_shape) },
	{ "paths", NULL, SHAPE_LIST(wire_view, paths, n_paths, path_view) },
};
static const struct shape wire_view_shape = SHAPE(wire_view, wire_view);

static const struct shape_row cluster_finding_rows[] = {
	{ "code", NULL, SHAPE_TEXT(cluster_finding, code) },
	{ "severity", NULL,
	  SHAPE_CHOICE_BY(cluster_finding, severity, cluster_severity_name, CLUSTER_FAULT + 1) },
	{ "node", "\"\" for the cluster.", SHAPE_TEXT(cluster_finding, node) },
	{ "port", "\"\" for the node.", SHAPE_TEXT(cluster_finding, port) },
	{ "text", "The fault.", SHAPE_TEXT(cluster_finding, text) },
	{ "evidence", "Evidence and its source.", SHAPE_TEXT(cluster_finding, evidence) },
	{ "fix", "Manual fix.", SHAPE_TEXT(cluster_finding, fix) },
};
static const struct shape cluster_finding_shape = SHAPE(cluster_finding, cluster_finding);

#define CLUSTER_ROWS(...)                                                                           \
	{ "topology", NULL, __VA_ARGS__,                                                            \
	  SHAPE_CHOICE_BY(cluster, topology, cluster_topology_name, CLUSTER_TOPOLOGIES) },          \
	{ "topology_why", NULL, SHAPE_TEXT(cluster, topology_why), __VA_ARGS__ },                   \
	{ "supported", "A plan can be made for this topology.", SHAPE_FLAG(cluster, supported), __VA_ARGS__ }, \
	{ "nodes", NULL, SHAPE_LIST(cluster, nodes, n_nodes, cluster_node), __VA_ARGS__ },          \
	{ "cages", "Sockets for cables.", SHAPE_LIST_MADE(cage_views, cage_view), __VA_ARGS__ },    \
	{ "links", "Ports that receive from each other.",                                           \
	  SHAPE_LIST_MADE(link_views, link_view), __VA_ARGS__ },                                    \
	{ "wires", "Cables and switches.", SHAPE_LIST_MADE(wire_views, wire_view), __VA_ARGS__ }
#define FINDINGS_ROW(...)                                                                           \
	{ "findings", "Worst first.",                                                           \
	  SHAPE_LIST(cluster, findings, n_findings, cluster_finding), __VA_ARGS__ }

static const struct shape_row cluster_rows[] = { CLUSTER_ROWS(.via = 0), FINDINGS_ROW(.via = 0) };
static const struct shape cluster_shape = SHAPE(cluster, cluster);

#define DISCOVER "cluster-discover"
#define DISCOVER_SCHEMA "gputune." DISCOVER "/1"
const struct result_shape cluster_discover_result = {
	.name = DISCOVER, .title = "gputune cluster discover",
	.meaning = "Nodes, their wiring, and faults in it.",
	.shape = &cluster_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

/* clang-format on */

int cluster_read(struct arena *a, const json_t *j, struct cluster *out, struct err *e)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	const json_t *nodes = json_object_get(j, "nodes");
	struct cluster c = { .n_nodes = json_array_size(nodes) };

	if (!schema || strcmp(schema, DISCOVER_SCHEMA) != 0)
		return err_set(e, -EINVAL, "not a result of gputune cluster discover");
	if (c.n_nodes == 0 || c.n_nodes > CLUSTER_NODES_MAX)
		return err_set(e, -EINVAL, "no nodes, or more than %d", CLUSTER_NODES_MAX);
	c.nodes = arena_array(a, c.n_nodes, sizeof(*c.nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		int r = cluster_node_read(a, json_array_get(nodes, i), &c.nodes[i], e);

		if (r)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(c.nodes[k].name, c.nodes[i].name) == 0)
				return err_set(e, -EINVAL, "two nodes are named %s",
					       c.nodes[i].name);
	}
	cluster_link(a, &c);
	*out = c;
	return 0;
}

int cluster_load(struct arena *a, const char *path, struct cluster *out, struct err *e)
{
	struct err why = { 0 };
	json_t *j;
	int r = json_from_file(path, FILE_MAX, &j, e);

	if (r)
		return r;
	r = cluster_read(a, j, out, &why);
	json_decref(j);
	return r ? err_set(e, r, "%s: %s", path, why.text) : 0;
}

/* --- a check ---------------------------------------------------------------------------------- */

struct result_view {
	const struct check_result *r;
	struct end_view from, to;
	const char *unit;
	bool has_unit;
};

struct check_path_view {
	const struct check_path *p;
	struct end_view a, b;
};

static struct end_view result_end(const struct check *c, size_t node, const struct check_result *r)
{
	struct end_view out = { .node = check_node(c, node)->name };

	if (r->path != CHECK_NONE && !r->together)
		out.port = check_port(c, check_end(&c->paths[r->path], node))->name;
	return out;
}

static const void *result_views(struct arena *a, const void *object, size_t *n)
{
	const struct check *c = object;
	struct result_view *out = arena_array(a, c->n_results + 1, sizeof(*out));

	*n = c->n_results;
	for (size_t i = 0; i < *n; i++) {
		const struct check_result *r = &c->results[i];
		out[i] = (struct result_view){ .r = r,
					       .from = result_end(c, r->from, r),
					       .to = result_end(c, r->to, r),
					       .unit = check_kinds[r->test].unit,
					       .has_unit = check_kinds[r->test].unit };
	}
	return out;
}

static const void *check_path_views(struct arena *a, const void *object, size_t *n)
{
	const struct check *c = object;
	struct check_path_view *out = arena_array(a, c->n_paths + 1, sizeof(*out));

	*n = c->n_paths;
	for (size_t i = 0; i < *n; i++) {
		const struct check_path *p = &c->paths[i];

		out[i] = (struct check_path_view){ p, end_view(c->cluster, p->a),
						   end_view(c->cluster, p->b) };
		out[i].a.address = p->address_a;
		out[i].b.address = p->address_b;
	}
	return out;
}

static bool count_grew(const void *item, const void *object)
{
	const struct check_count *k = item;

	(void)object;
	return k->after > k->before;
}

static const char *test_name(unsigned test)
{
	return check_kinds[test].name;
}

static const char *path_way(const void *object)
{
	const struct check_path *p = object;

	return p->wire == CLUSTER_NONE ? "subnet" : p->cable ? "cable" : "switch";
}

static bool was_measured(const void *object)
{
	return ((const struct result_view *)object)->r->n > 0;
}

static bool is_wanted(const void *object)
{
	return ((const struct result_view *)object)->r->wanted_by;
}

/* clang-format off */

static const struct shape_row result_end_rows[] = {
	{ "node", NULL, SHAPE_TEXT(end_view, node) },
	{ "port", "null: not of a single port.", SHAPE_TEXT(end_view, port), .unknown = SHAPE_NULL },
};
static const struct shape result_end_shape = SHAPE(end_view, result_end);

static const struct shape_row path_end_rows[] = {
	{ "node", NULL, SHAPE_TEXT(end_view, node) },
	{ "port", NULL, SHAPE_TEXT(end_view, port) },
	{ "address", NULL, SHAPE_TEXT(end_view, address), .unknown = SHAPE_NULL },
};
static const struct shape path_end_shape = SHAPE(end_view, path_end);

static const char *const path_ways[] = { "cable", "switch", "subnet" };
#define OF_PATH SHAPE_VIA(check_path_view, p, check_path)
static const struct shape_row check_path_view_rows[] = {
	{ "a", NULL, SHAPE_OBJECT_AS(check_path_view, a, end_view, path_end_shape) },
	{ "b", NULL, SHAPE_OBJECT_AS(check_path_view, b, end_view, path_end_shape) },
	{ "way", "subnet: no announcement was received on it.", SHAPE_TEXT_OF(path_way), SHAPE_NAMES(path_ways),
	  OF_PATH },
	{ "untestable", "Why.", SHAPE_TEXT(check_path, untestable), OF_PATH, .unknown = SHAPE_NULL },
};
static const struct shape check_path_view_shape = SHAPE(check_path_view, check_path_view);

static const struct shape_row check_traffic_rows[] = {
	{ "node", NULL, SHAPE_TEXT(check_traffic, node_name) },
	{ "port", NULL, SHAPE_TEXT(check_traffic, port) },
	{ "rx_bytes", NULL, SHAPE_REAL(check_traffic, rx) },
	{ "tx_bytes", NULL, SHAPE_REAL(check_traffic, tx) },
};
static const struct shape check_traffic_shape = SHAPE(check_traffic, check_traffic);

static const struct shape_row band_rows[] = {
	{ "low", NULL, SHAPE_REAL(record_band, low) },
	{ "high", NULL, SHAPE_REAL(record_band, high) },
	{ "source", NULL, SHAPE_TEXT(record_band, source) },
};
static const struct shape band_shape = SHAPE(record_band, band);

#define OF_RESULT SHAPE_VIA(result_view, r, check_result)
#define MEASURED OF_RESULT, SHAPE_SUFFIX(result_view, unit), .unknown = SHAPE_NULL
#define WITH_UNIT .absent = true, SHAPE_WHEN(result_view, has_unit)
static const struct shape_row result_view_rows[] = {
	{ "test", NULL, SHAPE_CHOICE_BY(check_result, test, test_name, CHECK_TESTS), OF_RESULT },
	{ "from", NULL, SHAPE_OBJECT_AS(result_view, from, end_view, result_end_shape) },
	{ "to", NULL, SHAPE_OBJECT_AS(result_view, to, end_view, result_end_shape) },
	{ "together", "All paths of the pair on that wire at the same time.",
	  SHAPE_FLAG(check_result, together), OF_RESULT },
	{ "pass", "2: repeated.", SHAPE_COUNT(check_result, pass), OF_RESULT },
	{ "state", NULL, SHAPE_CHOICE_BY(check_result, state, check_state_name, CHECK_STATES), OF_RESULT },
	{ "bytes", "Of the echo or message.",
	  SHAPE_COUNT(check_result, bytes), OF_RESULT, .unknown = SHAPE_ZERO },
	{ "operation", "Of NCCL.", SHAPE_TEXT(check_result, operation), OF_RESULT, .unknown = SHAPE_NULL },
	{ "address", "Destination behind another node.",
	  SHAPE_TEXT(check_result, address), OF_RESULT, .unknown = SHAPE_NULL },
	{ "why", "The error, or why it was skipped.",
	  SHAPE_TEXT(check_result, why), OF_RESULT, .unknown = SHAPE_NULL },
	{ "how", "Parameters chosen by the bench.", SHAPE_TEXT(check_result, how), OF_RESULT, .unknown = SHAPE_NULL },
	{ "egress", "Interface used by the sender.",
	  SHAPE_TEXT(check_result, egress), OF_RESULT, .unknown = SHAPE_NULL },
	{ "samples", NULL, SHAPE_COUNT(check_result, n), OF_RESULT },
	{ "median", NULL, SHAPE_REAL(check_result, value), MEASURED, .when_of = was_measured },
	{ "least", NULL, SHAPE_REAL(check_result, low), MEASURED, .when_of = was_measured },
	{ "most", NULL, SHAPE_REAL(check_result, high), MEASURED, .when_of = was_measured },
	{ "wanted", NULL, SHAPE_REAL(check_result, wanted), MEASURED, .when_of = is_wanted },
	{ "before", "In an earlier check.", SHAPE_REAL(check_result, before), OF_RESULT,
	  SHAPE_SUFFIX(result_view, unit), .unknown = SHAPE_ZERO },
	{ "wanted_by", NULL, SHAPE_TEXT(check_result, wanted_by), OF_RESULT, .unknown = SHAPE_NULL, WITH_UNIT },
	{ "band", "Range of healthy machines of this kind.",
	  SHAPE_OBJECT_AS(check_result, band, record_band, band_shape), OF_RESULT, WITH_UNIT, .unknown = SHAPE_ZERO },
	{ "traffic", "Traffic through ports during the test.",
	  SHAPE_LIST(check_result, traffic, n_traffic, check_traffic), OF_RESULT },
};
static const struct shape result_view_shape = SHAPE(result_view, result_view);

static const struct shape_row check_count_rows[] = {
	{ "node", NULL, SHAPE_TEXT(check_count, node_name) },
	{ "port", NULL, SHAPE_TEXT(check_count, port) },
	{ "name", NULL, SHAPE_TEXT(check_count, name) },
	{ "before", NULL, SHAPE_COUNT(check_count, before) },
	{ "after", NULL, SHAPE_COUNT(check_count, after) },
};
static const struct shape check_count_shape = SHAPE(check_count, check_count);

#define OF_CHECK SHAPE_VIA(cluster_check_view, c, check)
#define OF_CLUSTER SHAPE_VIA(cluster_check_view, cluster, cluster)
static const struct shape_row counters_rows[] = {
	{ "read", NULL, SHAPE_COUNT(check, n_counts), OF_CHECK },
	{ "grown", NULL, SHAPE_LIST(check, counts, n_counts, check_count), OF_CHECK, .keeps = count_grew },
};
static const struct shape counters_shape = SHAPE(cluster_check_view, counters);

static const struct shape_row check_blame_rows[] = {
	{ "what", NULL, SHAPE_TEXT(check_blame, what) },
	{ "node", "\"\" if none, or not a single one.", SHAPE_TEXT(check_blame, node) },
	{ "port", NULL, SHAPE_TEXT(check_blame, port) },
	{ "tests", NULL, SHAPE_TEXT(check_blame, tests) },
	{ "or", "Alternative explanation.", SHAPE_TEXT(check_blame, others), .unknown = SHAPE_NULL },
	{ "explains", "Results.", SHAPE_COUNT(check_blame, explains) },
	{ "certain", NULL, SHAPE_FLAG(check_blame, certain) },
	{ "next", "How to distinguish them.", SHAPE_TEXT(check_blame, next), .unknown = SHAPE_NULL },
	{ "evidence", NULL, SHAPE_TEXT(check_blame, evidence) },
};
static const struct shape check_blame_shape = SHAPE(check_blame, check_blame);

static const struct shape_row checked_cluster_rows[] = {
	{ "schema", NULL, SHAPE_WORD(DISCOVER_SCHEMA) },
	{ "tool_version", NULL, SHAPE_TEXT(cluster_check_view, version) },
	{ "time", NULL, SHAPE_TIME(cluster_check_view, time_s) },
	{ "exit_code", NULL, SHAPE_COUNT(cluster_check_view, exit_code) },
	CLUSTER_ROWS(OF_CLUSTER),
};
static const struct shape checked_cluster_shape = SHAPE(cluster_check_view, checked_cluster);

static const struct shape_row check_view_rows[] = {
	{ "seconds", NULL, SHAPE_REAL(check, seconds), OF_CHECK },
	{ "discovery_seconds", NULL, SHAPE_REAL(check, discover_seconds), OF_CHECK },
	{ "quick", NULL, SHAPE_FLAG(check, quick), OF_CHECK },
	{ "partial", NULL, SHAPE_FLAG(check, partial), OF_CHECK },
	{ "earlier", "The earlier check used for comparison.",
	  SHAPE_TEXT(check, earlier), OF_CHECK, .unknown = SHAPE_NULL },
	{ "paths", NULL, SHAPE_LIST_MADE(check_path_views, check_path_view), OF_CHECK },
	{ "results", NULL, SHAPE_LIST_MADE(result_views, result_view), OF_CHECK },
	{ "counters", "Error counters.", SHAPE_PART(counters_shape) },
	{ "blames", NULL, SHAPE_LIST(check, blames, n_blames, check_blame), OF_CHECK },
	{ "notes", NULL, SHAPE_TEXT_LIST(check, notes, n_notes), OF_CHECK },
	FINDINGS_ROW(OF_CLUSTER),
	{ "cluster", "As cluster discover prints it, without its findings.", SHAPE_PART(checked_cluster_shape) },
};
static const struct shape check_view_shape = SHAPE(cluster_check_view, check_view);

const struct result_shape cluster_check_result = {
	.name = "cluster-check", .title = "gputune cluster check",
	.meaning = "What every path between nodes carries, faults, and their location.",
	.shape = &check_view_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};

/* clang-format on */

struct cluster_check_view cluster_check_view_of(const struct check *c, long long now, int exit_code)
{
	return (struct cluster_check_view){ c, c->cluster, GPUTUNE_VERSION, now, exit_code };
}

/* --- back ------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_end(const struct end_view *a, const struct end_view *b)
{
	return same_text(a->node, b->node) && same_text(a->port, b->port);
}

static bool same_result(const struct check *c, const struct check_result *r,
			const struct result_view *earlier)
{
	const struct end_view from = result_end(c, r->from, r), to = result_end(c, r->to, r);

	return r->test == earlier->r->test && same_text(r->operation, earlier->r->operation) &&
	       r->together == earlier->r->together && same_end(&from, &earlier->from) &&
	       same_end(&to, &earlier->to);
}

static void compare_one(struct check *c, const struct result_view *earlier)
{
	double v = earlier->r->value;

	/* The last one counts: it was tried again. */
	for (size_t i = 0; i < c->n_results && isfinite(v) && v > 0; i++)
		if (check_kinds[c->results[i].test].unit && same_result(c, &c->results[i], earlier))
			c->results[i].before = v;
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
	const json_t *results = json_object_get(earlier, "results"), *item;
	const char *schema = json_string_value(json_object_get(earlier, "schema"));
	struct result_view one;
	struct err why;
	size_t i;

	if (!same_text(schema, "gputune.cluster-check/1") || !json_is_array(results) ||
	    json_array_size(results) > CHECK_RESULTS_MAX)
		return err_set(e, -EINVAL, "not an earlier check of a cluster");
	json_array_foreach(results, i, item)
	{
		if (shape_read(a, &result_view_shape, item, &one, &why) == 0)
			compare_one(c, &one);
	}
	return compare_gids(a, c, json_object_get(earlier, "cluster"), e);
}
