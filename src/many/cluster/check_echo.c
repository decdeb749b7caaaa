/* SPDX-License-Identifier: Apache-2.0 */
/* Echoes over every path in both directions, small and as large as the MTU, and through nodes that
 * forward. */
#include <errno.h>
#include <string.h>

#include "many/cluster/check_run.h"
#include "many/cluster/node_measure.h"

enum { SMALL = 56, TRIES = 2, LIMIT_MS = 300, ANSWER_MS = 8000, ROUTED_MAX = 64 };

/* What every node is asked, and which results it answers. */
struct asked {
	json_t *targets;
	struct check_result *results;
	size_t n;
};

static void want(struct check_run *r, struct asked *by_node, const struct check_result *one)
{
	const struct check_path *p = one->path == CHECK_NONE ? NULL : &r->c->paths[one->path];
	struct asked *k = &by_node[one->from];
	const char *from, *to;

	if (k->n == MEASURE_TARGETS_MAX || !check_run_lives(r, one->from))
		return;
	from = p ? check_address(p, one->from) : one->how;
	to = p ? check_address(p, one->to) : one->address;
	if (!k->targets)
		k->targets = json_array();
	json_array_append_new(k->targets, json_pack("{s:s, s:s, s:I}", "from", from, "to", to,
						    "bytes", (json_int_t)one->bytes));
	k->results = arena_grow(r->a, k->results, k->n, sizeof(*k->results));
	k->results[k->n++] = *one;
}

static void hear(struct check_run *r, struct check_result *one, const json_t *echo)
{
	const char *error = json_string_value(json_object_get(echo, "error"));
	double v = check_run_figure(json_object_get(echo, "us"));
	bool came = json_integer_value(json_object_get(echo, "got")) > 0 && v > 0;

	one->state = came ? CHECK_GOOD : CHECK_FAILED;
	one->how = NULL;
	one->why = came ? NULL : cluster_said(r->a, error ? error : "no answer", 200);
	if (came && one->test == CHECK_PING) {
		one->n = 1;
		one->value = one->low = one->high = v;
	}
	check_add(r->a, r->c, one);
}

static int ask_all(struct check_run *r, struct asked *by_node)
{
	size_t n = r->c->cluster->n_nodes;
	bool *which = arena_array(r->a, n, sizeof(*which));
	int code;

	for (size_t i = 0; i < n; i++) {
		json_t *ask = by_node[i].targets
				      ? json_pack("{s:o, s:i, s:i}", "targets", by_node[i].targets,
						  "tries", TRIES, "limit_ms", LIMIT_MS)
				      : NULL;

		/* rsh takes the object in any case. */
		which[i] = ask && rsh_send(r->rsh, i, "ping", ask) == 0;
		r->replies[i] = (struct rsh_reply){ 0 };
	}
	code = rsh_wait(r->rsh, which, ANSWER_MS, r->replies);
	for (size_t i = 0; i < n && code == 0; i++) {
		const json_t *echoes = json_object_get(r->replies[i].answer, "echoes");

		for (size_t k = 0; which[i] && k < by_node[i].n; k++)
			if (r->replies[i].answer)
				hear(r, &by_node[i].results[k], json_array_get(echoes, k));
	}
	return code;
}

static void want_paths(struct check_run *r, struct asked *by_node)
{
	for (size_t i = 0; i < r->c->n_paths; i++) {
		const struct check_path *p = &r->c->paths[i];
		unsigned jumbo = check_jumbo_bytes(r->c, p);

		for (int back = 0; back < 2 && !p->untestable; back++) {
			struct check_result one = { .test = CHECK_PING,
						    .from = back ? p->b.node : p->a.node,
						    .to = back ? p->a.node : p->b.node,
						    .path = i,
						    .pass = 1,
						    .bytes = SMALL };

			want(r, by_node, &one);
			one.test = CHECK_JUMBO;
			one.bytes = jumbo;
			if (jumbo)
				want(r, by_node, &one);
		}
	}
}

/* Our own address on the port that a route leaves by, if a path begins there. */
static const char *own_address(const struct check *c, size_t node, const char *port)
{
	for (size_t i = 0; i < c->n_paths; i++) {
		const struct check_path *p = &c->paths[i];

		if ((p->a.node == node || p->b.node == node) && !p->untestable &&
		    strcmp(check_port(c, check_end(p, node))->name, port) == 0)
			return check_address(p, node);
	}
	return NULL;
}

static bool is_address_of(const struct cluster_node *n, const char *address)
{
	NODE_PORTS(p, n)
	{
		LIST_FOR_EACH (const struct cluster_address, x, &p->addresses)
			if (strncmp(x->name, address, strlen(address)) == 0 &&
			    x->name[strlen(address)] == '/')
				return true;
	}
	return false;
}

/* Nodes without a cable between them may still have to reach each other, through a third. */
static void want_routed(struct check_run *r, struct asked *by_node)
{
	const struct cluster *k = r->c->cluster;
	size_t asked = 0;

	for (size_t x = 0; x < k->n_nodes; x++)
		for (size_t y = 0; y < k->n_nodes; y++) {
			if (x == y || check_has_path(r->c, x, y) || *k->nodes[y].failure)
				continue;
			LIST_FOR_EACH (const struct cluster_route, route, &k->nodes[x].routes) {
				struct check_result one = { .test = CHECK_ROUTED,
							    .from = x,
							    .to = y,
							    .path = CHECK_NONE,
							    .pass = 1,
							    .bytes = SMALL,
							    .address = route->name };

				one.egress = fact_text(&route->port, "");
				one.how = own_address(r->c, x, one.egress);
				if (!one.how || !is_address_of(&k->nodes[y], route->name) ||
				    asked++ >= ROUTED_MAX)
					continue;
				want(r, by_node, &one);
			}
		}
}

int check_run_echoes(struct check_run *r)
{
	struct asked *by_node = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*by_node));
	int code = check_run_routes(r);

	if (code)
		return code;
	want_paths(r, by_node);
	want_routed(r, by_node);
	return ask_all(r, by_node);
}

int check_run_echoes_again(struct check_run *r, const struct check_result *list, size_t n)
{
	struct asked *by_node = arena_array(r->a, r->c->cluster->n_nodes, sizeof(*by_node));

	for (size_t i = 0; i < n; i++) {
		struct check_result one = list[i];

		if (one.test > CHECK_ROUTED)
			continue;
		if (one.path != CHECK_NONE)
			one.bytes = one.test == CHECK_JUMBO
					    ? check_jumbo_bytes(r->c, &r->c->paths[one.path])
					    : SMALL;
		else
			one.how = own_address(r->c, one.from, one.egress ? one.egress : "");
		if (one.path != CHECK_NONE || one.how)
			want(r, by_node, &one);
	}
	return ask_all(r, by_node);
}
