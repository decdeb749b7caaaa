/* SPDX-License-Identifier: Apache-2.0 */
/* Which way nodes would send to those that they share no path with: discovery asks only for what
 * lies at the other end of a wire. */
#include <errno.h>
#include <string.h>

#include "many/cluster/check_run.h"

enum { ANSWER_MS = 8000 };

/* The addresses by which other paths end at nodes that x has none to. */
static json_t *far_addresses(const struct check *c, size_t x)
{
	json_t *list = NULL;

	for (size_t i = 0; i < c->n_paths; i++)
		for (int b = 0; b < 2 && !c->paths[i].untestable; b++) {
			const struct check_path *p = &c->paths[i];
			size_t y = b ? p->b.node : p->a.node;

			if (y == x || check_has_path(c, x, y) ||
			    json_array_size(list) >= CLUSTER_ADDRESSES_MAX)
				continue;
			if (!list)
				list = json_array();
			json_array_append_new(list, json_string(check_address(p, y)));
		}
	return list;
}

static void keep(struct check_run *r, size_t node, const json_t *answer)
{
	struct cluster_node got = { 0 }, *n = &r->c->cluster->nodes[node];
	struct err e;

	if (!answer || cluster_node_read(r->a, json_object_get(answer, "node"), &got, &e))
		return;
	LIST_FOR_EACH (const struct cluster_route, route, &got.routes)
		if (n->routes.n < CLUSTER_ROUTES_MAX)
			*(struct cluster_route *)list_add(r->a, &n->routes, sizeof(*route)) =
				*route;
}

int check_run_routes(struct check_run *r)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		json_t *list = check_run_lives(r, i) ? far_addresses(r->c, i) : NULL;

		r->replies[i] = (struct rsh_reply){ 0 };
		which[i] =
			list && rsh_send(r->rsh, i, "routes", json_pack("{s:o}", "to", list)) == 0;
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++)
		if (which[i])
			keep(r, i, r->replies[i].answer);
	return code;
}
