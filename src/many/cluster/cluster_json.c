/* SPDX-License-Identifier: Apache-2.0 */
/* What a discovery and a check of a cluster say, a row a figure, and back: of a discovery the nodes
 * are read, the rest follows. Keys and meanings are API. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "machine/host/host.h"
#include "many/cluster/links.h"
#include "many/cluster/page_cluster.h"

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
	{ "ports", "Its twin ports (other half of the same cage), by PCI address.", SHAPE_TEXT_LIST(cage_view, ports,
	  n) },
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
	{ "speed_mbps", "Speed of the slowest end.", SHAPE_COUNT(path_view, speed_mbps), .unknown = SHAPE_ZERO },
};
static const struct shape path_view_shape = SHAPE(path_view, path_view);

static const struct shape_row wire_view_rows[] = {
	{ "way", NULL, SHAPE_CHOICE_BY(wire_view, way, cluster_way_name, CLUSTER_WAYS) },
	{ "data", "true: a data port, not a management port.", SHAPE_FLAG(wire_view, data) },
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
	{ "links", "Ports that receive each other's announcements.",                                           \
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
	const json_t *part = json_object_get(j, "cluster"); /* of a check */
	const char *schema = json_string_value(json_object_get(part ? part : j, "schema"));
	const json_t *nodes = json_object_get(part ? part : j, "nodes");
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
	char demo[HOST_DEMO_MAX];
	const char *file = host_demo_file(path, demo, e);
	struct err why = { 0 };
	json_auto_t *j = NULL;
	int r = file ? json_from_file(file, FILE_MAX, &j, e) : -ENOENT;

	if (r)
		return r;
	r = cluster_read(a, j, out, &why);
	return r ? err_set(e, r, "%s: %s", path, why.text) : 0;
}

/* --- a check ---------------------------------------------------------------------------------- */

/* clang-format off */
#define OF_CLUSTER SHAPE_VIA(cluster_check_view, cluster, cluster)
static const struct shape_row checked_cluster_rows[] = {
	{ "schema", NULL, SHAPE_WORD(DISCOVER_SCHEMA) },
	{ "tool_version", NULL, SHAPE_TEXT(cluster_check_view, version) },
	{ "time", NULL, SHAPE_TIME(cluster_check_view, time_s) },
	{ "exit_code", NULL, SHAPE_COUNT(cluster_check_view, exit_code) },
	CLUSTER_ROWS(OF_CLUSTER),
};
static const struct shape checked_cluster_shape = SHAPE(cluster_check_view, checked_cluster);

static const struct shape_row check_view_rows[] = {
	{ "discovery_seconds", NULL, SHAPE_REAL(cluster_check_view, discover_seconds) },
	{ "qualify", "The result of gputune qualify.", SHAPE_POINTER(cluster_check_view, q, qualify) },
	FINDINGS_ROW(OF_CLUSTER),
	{ "cluster", "The result of gputune cluster discover, without its findings.",
	  SHAPE_PART(checked_cluster_shape) },
};
static const struct shape check_view_shape = SHAPE(cluster_check_view, check_view);

const struct result_shape cluster_check_result = {
	.name = "cluster-check", .title = "gputune cluster check", .version = 2,
	.meaning = "Wiring between nodes, what is wrong with it, and which nodes and links are slow.",
	.shape = &check_view_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */
