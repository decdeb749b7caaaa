/* SPDX-License-Identifier: Apache-2.0 */
/* A discovery as JSON (schemas/cluster-discover.json) and back: nodes are read, the rest follows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "many/cluster/links.h"

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
