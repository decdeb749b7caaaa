/* SPDX-License-Identifier: Apache-2.0 */
/* What a node answers to a discovery: inventory, listen, say, hear, routes. Changes nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bench/net/verbs.h"
#include "many/cluster/neighbor.h"
#include "many/cluster/ask.h"
#include "many/cluster/inventory.h"

enum { SAY_MS_MAX = 120000 };

/* From listen to hear. */
struct look {
	struct arena arena;
	struct cluster_node node;
	struct neighbor_discovery *air;
};

/* What only the verbs library tells; opening a device changes nothing. */
static void active_mtu(struct cluster_port *p)
{
	struct verbs_port v;
	struct err e;

	if (!fact_is(&p->rdma_state, "ACTIVE") || verbs_port_open(p->name, &v, &e))
		return;
	if (strcmp(v.netdev, p->name) == 0 && v.mtu >= 1 && v.mtu <= 5)
		p->active_mtu =
			(struct fact_int){ .f = { .seen = SEEN_OK, .leaf = "ibv_query_port" },
					   .v = 128LL << v.mtu };
	verbs_port_close(&v);
}

static int take_inventory(struct ask_node *n, struct arena *a, const json_t *with,
			  struct cluster_node *out, struct err *e)
{
	const json_t *all = json_object_get(with, "all_links");
	const char *name = "node";
	struct arena *was = n->arena;
	int r = ask_text(with, "name", CLUSTER_NAME_MAX, &name, e);

	if (r)
		return r;
	if (!cluster_name_valid(name))
		return err_set(e, -EINVAL, "\"name\" is none that a node can have");
	n->arena = a;
	cluster_inventory(a, n->look(n, true), json_is_true(all), out);
	n->arena = was;
	out->name = out->address = arena_strdup(a, name);
	out->failure = "";
	local_lay_over(a, out);
	if (!n->captured)
		NODE_PORTS(p, out)
	active_mtu(p);
	return 0;
}

static int inventory(struct ask_node *n, void **state, const json_t *with, json_t **out,
		     struct err *e)
{
	struct cluster_node node = { 0 };
	int r = take_inventory(n, n->arena, with, &node, e);

	(void)state;
	if (r == 0)
		*out = json_pack("{s:o}", "node", cluster_node_json(&node));
	return r;
}

static void forget(struct look *l)
{
	if (l->air)
		neighbor_close(l->air);
	arena_free(&l->arena);
	memset(l, 0, sizeof(*l));
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_token(const json_t *with, uint8_t out[HELLO_TOKEN], struct err *e)
{
	const char *hex = "";
	int r = ask_text(with, "token", (size_t)HELLO_TOKEN * 2, &hex, e);

	if (r)
		return r;
	if (strlen(hex) != (size_t)HELLO_TOKEN * 2)
		return err_set(e, -EINVAL, "\"token\" has to be %d hexadecimal digits",
			       HELLO_TOKEN * 2);
	for (size_t i = 0; i < HELLO_TOKEN; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return err_set(e, -EINVAL, "\"token\" has to be hexadecimal");
		out[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static struct look *look_of(void **state)
{
	if (!*state)
		*state = calloc(1, sizeof(struct look));
	return *state;
}

static int listen_now(struct ask_node *n, void **state, const json_t *with, json_t **out,
		      struct err *e)
{
	struct look *l = look_of(state);
	struct neighbor_options how = { 0 };
	long long number = 0;
	int r = read_token(with, how.token, e);

	if (r == 0)
		r = ask_int(with, "number", 0, 65535, &number, e);
	if (r)
		return r;
	if (!l)
		return err_set(e, -ENOMEM, "there is no memory");
	forget(l);
	r = take_inventory(n, &l->arena, with, &l->node, e);
	how.node = (unsigned)number;
	how.name = l->node.name;
	if (r == 0)
		r = neighbor_open(&l->arena, &how, &l->node, &l->air, e);
	if (r == 0)
		*out = json_pack("{s:I}", "ports", (json_int_t)l->node.ports.n);
	return r;
}

static bool stopped(void *ctx)
{
	return ask_stopped(ctx);
}

static int look_announce(struct ask_node *n, void **state, const json_t *with, json_t **out,
			 struct err *e)
{
	struct look *l = *state;
	long long ms = 500;
	int r = ask_int(with, "for_ms", 1, SAY_MS_MAX, &ms, e);

	(void)out;
	if (r)
		return r;
	if (!l || !l->air)
		return err_set(e, -EINVAL, "\"say\" comes after \"listen\"");
	return neighbor_announce(l->air, (int)ms, stopped, n);
}

static int look_receive(struct ask_node *n, void **state, const json_t *with, json_t **out,
			struct err *e)
{
	struct look *l = *state;

	(void)n;
	(void)with;
	if (!l || !l->air)
		return err_set(e, -EINVAL, "\"hear\" comes after \"listen\"");
	neighbor_receive(l->air);
	*out = json_pack("{s:o}", "node", cluster_node_json(&l->node));
	forget(l);
	return 0;
}

static int node_look_routes(struct ask_node *n, void **state, const json_t *with, json_t **out,
			    struct err *e)
{
	const json_t *list = json_object_get(with, "to");
	struct cluster_node node = { .name = "node", .address = "node", .failure = "" };
	const char **to;
	size_t count = json_array_size(list);

	(void)state;
	if (!json_is_array(list) || count > CLUSTER_ROUTES_MAX)
		return err_set(e, -EINVAL, "\"to\" has to be a list of addresses");
	to = arena_array(n->arena, count, sizeof(*to));
	for (size_t i = 0; i < count; i++) {
		struct cluster_prefix p;

		to[i] = json_string_value(json_array_get(list, i));
		if (!to[i] || strchr(to[i], '/') || cluster_prefix_parse(to[i], &p))
			return err_set(e, -EINVAL, "\"to\" has to be a list of addresses");
	}
	local_routes(n->arena, to, count, &node.routes);
	*out = json_pack("{s:o}", "node", cluster_node_json(&node));
	return 0;
}

static void node_look_end(void *state)
{
	struct look *l = state;

	if (!l)
		return;
	forget(l);
	free(l);
}

static const struct ask_kind kinds[] = {
	{ "inventory", inventory }, { "listen", listen_now },	    { "say", look_announce },
	{ "hear", look_receive },   { "routes", node_look_routes },
};

const struct ask_group ask_look = {
	.name = "look",
	.kinds = kinds,
	.n = sizeof(kinds) / sizeof(kinds[0]),
	.end = node_look_end,
};
