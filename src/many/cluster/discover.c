/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a discovery, each over all nodes at once. */
#include "many/cluster/links.h"

#include <string.h>
#include <sodium.h>

#include "measure/bench/net/handshake.h"
#include "many/cluster/messages.h"
#include "many/cluster/neighbor.h"

enum { AIR_MS = 500, ANSWER_MS = 10000 };

struct discovery {
	struct arena *a;
	struct rsh *r;
	const struct discover_how *how;
	struct cluster *c;
	struct rsh_reply *replies;
	json_t **with;
	int answer_ms;
};

/* Nodes that did not do a step are out of the discovery, with the reason. */
static int discover_step(struct discovery *d, const char *ask, int ms)
{
	int code = rsh_ask_all(d->r, ask, NULL, d->with, ms, d->replies);

	if (code)
		return code;
	for (size_t i = 0; i < d->c->n_nodes; i++) {
		struct cluster_node *n = &d->c->nodes[i];

		if (!d->replies[i].answer && !*n->failure)
			n->failure = d->replies[i].out ? d->replies[i].failure
						       : arena_printf(d->a, "%s: %s", n->name,
								      d->replies[i].failure);
	}
	return 0;
}

static void discover_tokens(struct discovery *d)
{
	uint8_t token[HELLO_TOKEN];
	char hex[2 * HELLO_TOKEN + 1];

	randombytes_buf(token, sizeof(token));
	sodium_bin2hex(hex, sizeof(hex), token, sizeof(token));
	for (size_t i = 0; i < d->c->n_nodes; i++)
		d->with[i] = shape_object_json(
			&look_ask_shape, &(struct look_ask){ .token = hex,
							     .number = (long long)i,
							     .name = d->c->nodes[i].name,
							     .all_links = d->how->all_links });
}

/* What a node says of itself takes the place of what was known, but for its name. */
static void take_node(struct discovery *d, size_t i)
{
	struct cluster_node *n = &d->c->nodes[i], got = { 0 };
	const json_t *j = json_object_get(d->replies[i].answer, "node");
	struct err e = { 0 };

	if (*n->failure)
		return;
	if (cluster_node_read(d->a, j, &got, &e)) {
		n->failure = arena_printf(d->a, "%s sent invalid data about itself: %s", n->name,
					  cluster_clean_text(d->a, e.text, sizeof(e.text)));
		return;
	}
	got.name = n->name;
	got.address = n->address;
	got.failure = "";
	*n = got;
}

/* The addresses at the other ends of a node's wires. */
static json_t *goals(struct discovery *d, size_t node)
{
	struct look_ask ask = { 0 };

	for (size_t w = 0; w < d->c->n_wires; w++)
		for (size_t k = 0; k < d->c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &d->c->wires[w].paths[k];
			bool mine = false;

			for (size_t i = 0; i < p->n_ends; i++)
				mine = mine || p->ends[i].node == node;
			for (size_t i = 0; mine && i < p->n_ends; i++) {
				if (p->ends[i].node == node)
					continue;
				LIST_FOR_EACH (struct cluster_address, x,
					       &cluster_end_port(d->c, p->ends[i])->addresses) {
					struct cluster_prefix prefix;

					if (cluster_prefix_parse(x->name, &prefix) == 0 &&
					    !cluster_prefix_link_local(&prefix) &&
					    ask.n < CLUSTER_ROUTES_MAX) {
						ARENA_ADD(d->a, ask.to, ask.n) = arena_strndup(
							d->a, x->name, strcspn(x->name, "/"));
					}
				}
			}
		}
	return shape_object_json(&look_ask_shape, &ask);
}

static int discover_routes(struct discovery *d)
{
	int code;

	for (size_t i = 0; i < d->c->n_nodes; i++)
		d->with[i] = goals(d, i);
	code = discover_step(d, "routes", d->answer_ms);
	for (size_t i = 0; code == 0 && i < d->c->n_nodes; i++) {
		struct cluster_node got = { 0 };
		struct err e = { 0 };

		if (*d->c->nodes[i].failure)
			continue;
		if (cluster_node_read(d->a, json_object_get(d->replies[i].answer, "node"), &got,
				      &e) == 0)
			d->c->nodes[i].routes = got.routes;
	}
	return code;
}

static void discover_begin(struct discovery *d, const struct rsh_target *targets)
{
	struct cluster *c = d->c;

	*c = (struct cluster){ .n_nodes = d->r->n };
	c->nodes = arena_array(d->a, c->n_nodes, sizeof(*c->nodes));
	d->replies = arena_array(d->a, c->n_nodes, sizeof(*d->replies));
	d->with = arena_array(d->a, c->n_nodes, sizeof(*d->with));
	for (size_t i = 0; i < c->n_nodes; i++) {
		const char *failure = d->r->nodes[i].failure;

		c->nodes[i].name = targets[i].name;
		c->nodes[i].address = targets[i].address;
		c->nodes[i].failure = failure ? failure : "";
	}
}

int cluster_discover(struct arena *a, struct rsh *r, const struct rsh_target *targets,
		     const struct discover_how *how, struct cluster *out, struct err *e)
{
	struct discovery d = { .a = a, .r = r, .how = how, .c = out };
	int air_ms = how->air_ms ? how->air_ms : AIR_MS, code;

	d.answer_ms = how->answer_ms ? how->answer_ms : ANSWER_MS;
	discover_begin(&d, targets);
	discover_tokens(&d);
	code = discover_step(&d, "listen", d.answer_ms);
	for (size_t i = 0; i < out->n_nodes; i++)
		d.with[i] =
			shape_object_json(&look_ask_shape, &(struct look_ask){ .for_ms = air_ms });
	if (code == 0)
		code = discover_step(&d, "say", air_ms + d.answer_ms);
	if (code == 0)
		code = discover_step(&d, "hear", d.answer_ms);
	for (size_t i = 0; code == 0 && i < out->n_nodes; i++)
		take_node(&d, i);
	cluster_link(a, out);
	if (code == 0)
		code = discover_routes(&d);
	if (code)
		return err_set(e, code, "interrupted");
	cluster_judge(a, out, how->before);
	return 0;
}
