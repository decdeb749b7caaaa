/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of errors before and after: of the ports that paths end at. */
#include <errno.h>
#include <string.h>

#include "many/cluster/check_run.h"

enum { ANSWER_MS = 8000 };

static bool is_end(const struct check *c, const struct cluster_port *p)
{
	for (size_t i = 0; i < c->n_paths; i++)
		if (check_port(c, c->paths[i].a) == p || check_port(c, c->paths[i].b) == p)
			return true;
	return false;
}

static json_t *ports_of(const struct check *c, size_t node)
{
	json_t *list = json_array();

	NODE_PORTS(p, check_node(c, node))
	{
		json_t *one;

		if (!is_end(c, p))
			continue;
		one = json_pack("{s:s}", "port", p->name);
		if (seen_ok(&p->rdma_device.f)) {
			json_object_set_new(one, "device", json_string(p->rdma_device.v));
			json_object_set_new(one, "number", json_integer(fact_or(&p->rdma_port, 1)));
		}
		json_array_append_new(list, one);
	}
	return list;
}

static struct check_count *find(struct check *c, size_t node, const char *port, const char *name)
{
	for (size_t i = 0; i < c->n_counts; i++)
		if (c->counts[i].node == node && strcmp(c->counts[i].port, port) == 0 &&
		    strcmp(c->counts[i].name, name) == 0)
			return &c->counts[i];
	return NULL;
}

static void keep(struct check_run *r, size_t node, const json_t *one, bool after)
{
	const char *port = json_string_value(json_object_get(one, "port"));
	const char *name = json_string_value(json_object_get(one, "name"));
	long long value = json_integer_value(json_object_get(one, "value"));
	struct cluster_port *p = port ? cluster_port_find(check_node(r->c, node), port) : NULL;
	struct check_count *k;

	/* Of what was asked for alone. Names are shown: no more than a counter's has. */
	if (!p || !is_end(r->c, p) || !name || strcmp(cluster_said(r->a, name, 63), name) != 0 ||
	    value < 0)
		return;
	k = find(r->c, node, p->name, name);
	if (after) {
		if (k)
			k->after = value;
		return;
	}
	if (k || r->c->n_counts == CHECK_COUNTS_MAX)
		return;
	r->c->counts = arena_grow(r->a, r->c->counts, r->c->n_counts, sizeof(*r->c->counts));
	r->c->counts[r->c->n_counts++] = (struct check_count){
		.node = node, .port = p->name, .name = arena_strdup(r->a, name), value, value
	};
}

int check_run_count(struct check_run *r, bool after)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] = check_run_lives(r, i) &&
			   rsh_send(r->rsh, i, "counters",
				    json_pack("{s:o}", "ports", ports_of(r->c, i))) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		json_t *list = which[i] && r->replies[i].answer
				       ? json_object_get(r->replies[i].answer, "counters")
				       : NULL;
		json_t *one;
		size_t k;

		json_array_foreach(list, k, one)
		{
			if (k < CHECK_NODE_COUNTS_MAX)
				keep(r, i, one, after);
		}
	}
	return code;
}
