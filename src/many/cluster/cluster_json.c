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

SHAPE_GIVES(long long, cage_wire, cluster_cage, (long long)x->wire)

/* clang-format off */

#define OF_NODE(type) SHAPE_TEXT(cluster_node, name), SHAPE_VIA(type, of, cluster_node)
#define OF_PORT SHAPE_VIA(cluster_place, at, cluster_port)
static const struct shape cluster_place_shape = SHAPE_OF(cluster_place, cluster_place,
	{ "node", NULL, OF_NODE(cluster_place) },
	{ "port", NULL, SHAPE_TEXT(cluster_port, name), OF_PORT },
	{ "pci", NULL, SHAPE_TEXT(cluster_port, pci), OF_PORT });

static const struct shape cluster_link_shape = SHAPE_OF(cluster_link, cluster_link,
	{ "a", NULL, SHAPE_OBJECT(cluster_link, at_a, cluster_place) },
	{ "b", NULL, SHAPE_OBJECT(cluster_link, at_b, cluster_place) },
	{ "way", NULL, SHAPE_CHOICE_BY(cluster_link, way, cluster_way_name, CLUSTER_WAYS) },
	{ "a_hears", NULL, SHAPE_FLAG(cluster_link, a_hears) },
	{ "b_hears", NULL, SHAPE_FLAG(cluster_link, b_hears) });

static const struct shape cluster_cage_shape = SHAPE_OF(cluster_cage, cluster_cage,
	{ "node", NULL, OF_NODE(cluster_cage) },
	{ "name", NULL, SHAPE_TEXT(cluster_cage, name) },
	{ "ports", "Interfaces of this physical port, by PCI address.", SHAPE_TEXT_LIST(cluster_cage,
	  names, n_ports) },
	{ "twins_by", "How interfaces are paired.", SHAPE_TEXT(cluster_cage, twins_by), .unknown = SHAPE_NULL },
	{ "neighbour", "System name of the other end by LLDP.", SHAPE_TEXT(cluster_cage, neighbour),
	  .unknown = SHAPE_NULL },
	{ "wire", "Index in wires, from 0.", SHAPE_COUNT_OF(cage_wire), .unknown = SHAPE_NEGATIVE });

static const struct shape cage_name_shape = SHAPE_OF(cluster_cage, cage_name,
	{ "node", NULL, OF_NODE(cluster_cage) },
	{ "cage", NULL, SHAPE_TEXT(cluster_cage, name) });

static const struct shape cluster_path_shape = SHAPE_OF(cluster_path, cluster_path,
	{ "ends", NULL, SHAPE_LIST(cluster_path, places, n_ends, cluster_place) },
	{ "speed_mbps", "Speed of the slowest end.", SHAPE_COUNT(cluster_path, speed_mbps), .unknown = SHAPE_ZERO });

static const struct shape cluster_wire_shape = SHAPE_OF(cluster_wire, cluster_wire,
	{ "way", NULL, SHAPE_CHOICE_BY(cluster_wire, way, cluster_way_name, CLUSTER_WAYS) },
	{ "data", "true: a data port, not a management port.", SHAPE_FLAG(cluster_wire, data) },
	{ "cages", NULL, SHAPE_POINTERS_AS(cluster_wire, joined, n_cages, cluster_cage, cage_name_shape) },
	{ "paths", NULL, SHAPE_LIST(cluster_wire, paths, n_paths, cluster_path) });

static const struct shape cluster_finding_shape = SHAPE_OF(cluster_finding, cluster_finding,
	{ "code", NULL, SHAPE_TEXT(cluster_finding, code) },
	{ "severity", NULL,
	  SHAPE_CHOICE_BY(cluster_finding, severity, cluster_severity_name, CLUSTER_FAULT + 1) },
	{ "node", "\"\" for the cluster.", SHAPE_TEXT(cluster_finding, node) },
	{ "port", "\"\" for the node.", SHAPE_TEXT(cluster_finding, port) },
	{ "text", "The fault.", SHAPE_TEXT(cluster_finding, text) },
	{ "evidence", "Evidence and its source.", SHAPE_TEXT(cluster_finding, evidence) },
	{ "fix", "Manual fix.", SHAPE_TEXT(cluster_finding, fix) });

#define CLUSTER_ROWS(...)                                                                           \
	{ "topology", NULL, __VA_ARGS__,                                                            \
	  SHAPE_CHOICE_BY(cluster, topology, cluster_topology_name, CLUSTER_TOPOLOGIES) },          \
	{ "topology_why", NULL, SHAPE_TEXT(cluster, topology_why), __VA_ARGS__ },                   \
	{ "supported", "A plan can be made for this topology.", SHAPE_FLAG(cluster, supported), __VA_ARGS__ }, \
	{ "nodes", NULL, SHAPE_LIST(cluster, nodes, n_nodes, cluster_node), __VA_ARGS__ },          \
	{ "cages", "Physical ports for cables.", SHAPE_LIST(cluster, cages, n_cages, cluster_cage), __VA_ARGS__ }, \
	{ "links", "Ports that receive each other's announcements.",                                           \
	  SHAPE_LIST(cluster, links, n_links, cluster_link), __VA_ARGS__ },                                    \
	{ "wires", "Cables and switches.", SHAPE_LIST(cluster, wires, n_wires, cluster_wire), __VA_ARGS__ }
#define FINDINGS_ROW(...)                                                                           \
	{ "findings", "Worst first.",                                                           \
	  SHAPE_LIST(cluster, findings, n_findings, cluster_finding), __VA_ARGS__ }

static const struct shape cluster_shape = SHAPE_OF(cluster, cluster,
	CLUSTER_ROWS(.via = 0), FINDINGS_ROW(.via = 0));

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
static const struct shape checked_cluster_shape = SHAPE_OF(cluster_check_view, checked_cluster,
	{ "schema", NULL, SHAPE_WORD(DISCOVER_SCHEMA) },
	{ "tool_version", NULL, SHAPE_TEXT(cluster_check_view, version) },
	{ "time", NULL, SHAPE_TIME(cluster_check_view, time_s) },
	{ "exit_code", NULL, SHAPE_COUNT(cluster_check_view, exit_code) },
	CLUSTER_ROWS(OF_CLUSTER));

static const struct shape check_view_shape = SHAPE_OF(cluster_check_view, check_view,
	{ "discovery_seconds", NULL, SHAPE_REAL(cluster_check_view, discover_seconds) },
	{ "qualify", "The result of gputune qualify.", SHAPE_POINTER(cluster_check_view, q, qualify) },
	FINDINGS_ROW(OF_CLUSTER),
	{ "cluster", "The result of gputune cluster discover, without its findings.",
	  SHAPE_PART(checked_cluster_shape) });

const struct result_shape cluster_check_result = {
	.name = "cluster-check", .title = "gputune cluster check", .version = 2,
	.meaning = "Wiring between nodes, faults in the wiring, and slow nodes and links.",
	.shape = &check_view_shape, .exit_codes = 1u << 0 | 1u << 1 | 1u << 5,
};
/* clang-format on */
