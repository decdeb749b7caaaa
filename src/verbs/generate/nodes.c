/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of generate: this one, captured ones, those of a discovery, or named ones. */
#include "verbs/generate/generate.h"

#include <string.h>

#include "base/text.h"
#include "many/cluster/links.h"

static const struct ask_row nodes_ask_rows[] = {
	{ ASK_PART(nodes_ask, machine, machine_ask) },
	{ "node",
	  "a machine and its capture (without one: this machine); repeatable, the first machine "
	  "leads",
	  ASK_TEXTS(nodes_ask, node), .arg = "NAME[=CAPTURE]", .files = true },
	{ "cluster", "the machines of \"cluster discover --format json\"",
	  ASK_TEXT(nodes_ask, cluster), .arg = "FILE", .files = true },
	{ "on", "machines by name: \"2x dgx-spark\", \"h100-sxm x8\", h200 and others",
	  ASK_TEXT(nodes_ask, on), .arg = "MACHINE", .proposal = gpu_proposal },
	{ "nodes", "number of machines like this one",
	  ASK_COUNT(nodes_ask, nodes, 1, GEN_NODES_MAX) },
};
const struct ask_shape nodes_ask_shape = ASK_SHAPE(nodes_ask, "Machine", nodes_ask_rows);

static struct machine *look_and_close(struct door *d, struct host *h)
{
	struct machine *m = door_machine(d, h, &(struct door_look){ 0 });

	host_close(h);
	return m;
}

static void add(struct door *d, struct gen_cluster *c, const struct machine *m, const char *name,
		const char *from)
{
	gen_node_of(d->arena, m, name, from, &ARENA_ADD(d->arena, c->nodes, c->n));
}

/* "NAME=CAPTURE", or NAME for this machine. */
static int add_node(struct door *d, struct gen_cluster *c, const char *text)
{
	const char *is = strchr(text, '=');
	const char *name = is ? arena_strndup(d->arena, text, (size_t)(is - text)) : text;
	struct err e = { 0 };
	struct host *h = is ? host_open_capture(is + 1, &e) : d->live(d->ctx);
	struct machine *m;

	if (!h)
		return door_fail(d, EXIT_USAGE, &e);
	m = look_and_close(d, h);
	if (!gen_name_valid(name))
		return door_refuse(d, EXIT_USAGE,
				   "--node takes NAME=CAPTURE; \"%s\" is not a valid machine name",
				   name);
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->nodes[i].name, name) == 0)
			return door_refuse(d, EXIT_USAGE, "--node %s is given twice", name);
	add(d, c, m, name, is ? arena_printf(d->arena, "capture %s", is + 1) : "this machine");
	return 0;
}

static int by_nodes(struct door *d, const struct ask_texts *nodes, struct gen_cluster *c)
{
	int code = nodes->n > GEN_NODES_MAX
			   ? door_refuse(d, EXIT_USAGE, "at most %d machines", GEN_NODES_MAX)
			   : 0;

	for (size_t i = 0; i < nodes->n && !code; i++)
		code = add_node(d, c, nodes->items[i]);
	return code;
}

/* N machines like the one that was looked at: alike, but with addresses of their own. */
static int by_likeness(struct door *d, const char *head, size_t n, struct gen_cluster *c)
{
	struct gen_node first = c->nodes[0];

	if (!head)
		return door_refuse(d, EXIT_USAGE,
				   "--nodes %zu: the other machines are unknown; give the first "
				   "machine's address with --head, or all with --node NAME=CAPTURE",
				   n);
	first.n_links = 0;
	first.ports = memcpy(arena_array(d->arena, first.n_ports + 1, sizeof(*first.ports)),
			     first.n_ports ? first.ports : (struct gen_port *)&first,
			     first.n_ports * sizeof(*first.ports));
	for (size_t i = 0; i < first.n_ports; i++)
		first.ports[i].address = "";
	c->nodes = arena_array(d->arena, n, sizeof(first));
	c->n = n;
	for (size_t i = 0; i < n; i++) {
		c->nodes[i] = first;
		c->nodes[i].name = arena_printf(d->arena, "node-%zu", i);
		c->nodes[i].invented = true;
		c->nodes[i].from = arena_printf(d->arena, "like %s", first.from);
	}
	c->nodes[0].address = head;
	return 0;
}

void generate_named(struct arena *a, const struct target_hw *place, size_t n, const char *head,
		    struct gen_cluster *out)
{
	out->n = n;
	out->nodes = arena_array(a, n, sizeof(*out->nodes));
	for (size_t i = 0; i < n; i++)
		out->nodes[i] = (struct gen_node){ .name = arena_printf(a, "node-%zu", i),
						   .address = i || !head ? "" : head,
						   .control = "",
						   .from = "named",
						   .invented = true,
						   .platform = "",
						   .gpu = place->gpu->name,
						   .gpus = (size_t)place->gpus / n,
						   .unified = place->gpu->unified };
}

/* Named: only how many there are of which is known. */
static int by_name(struct door *d, const struct generate_ask *ask, struct generate_nodes *out)
{
	struct err e = { 0 };
	size_t n;

	if (place_parse(d->arena, out->cluster.known, ask->nodes.on, &out->named, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	out->place = &out->named;
	n = out->named.nodes > 0 ? (size_t)out->named.nodes : 1;
	if (n > 1 && !ask->head)
		return door_refuse(
			d, EXIT_USAGE,
			"--on \"%s\" is %zu machines: give the first one's address with --head",
			ask->nodes.on, n);
	generate_named(d->arena, out->place, n, ask->head, &out->cluster);
	return 0;
}

static int by_host(struct door *d, const struct machine_ask *from, struct gen_cluster *c)
{
	struct host *h = door_host(d, from);
	struct machine *m;
	const char *name;

	if (!h)
		return -EXIT_USAGE;
	m = look_and_close(d, h);
	name = fact_text(&m->nodename, "");
	add(d, c, m, gen_name_valid(name) ? name : "node-0",
	    from->capture ? arena_printf(d->arena, "capture %s", from->capture) : "this machine");
	return 0;
}

static void take_node(struct arena *a, const struct cluster_node *d, const char *path,
		      struct gen_node *n)
{
	gen_node_of(a, cluster_machine(a, d), d->name, arena_printf(a, "discovery %s", path), n);
	n->facts = NULL;
	n->gpu = fact_text(&d->gpu, "");
	n->gpus = (size_t)fact_or(&d->gpus, 0);
	n->nccl = fact_text(&d->nccl, NULL);
	n->total_bytes = fact_or(&d->memory_bytes, 0);
	/* What is asked of the machine itself needs its GPUs, which a discovery does not list. */
	n->unified = fact_is(&d->platform, "dgx-spark");
}

int generate_cluster(struct door *d, const char *path, struct gen_cluster *out)
{
	struct cluster c = { 0 };
	struct err e = { 0 };

	if (cluster_load(d->arena, path, &c, &e) < 0)
		return door_fail(d, EXIT_USAGE, &e);
	if (!c.n_nodes || c.n_nodes > GEN_NODES_MAX)
		return door_refuse(d, EXIT_USAGE, "%s has %zu machines", path, c.n_nodes);
	out->nodes = arena_array(d->arena, c.n_nodes, sizeof(*out->nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		if (*c.nodes[i].failure)
			return door_refuse(d, EXIT_BLIND, "%s did not answer in that discovery: %s",
					   c.nodes[i].name, c.nodes[i].failure);
		take_node(d->arena, &c.nodes[i], path, &out->nodes[out->n++]);
	}
	return 0;
}

int generate_nodes(struct door *d, const struct generate_ask *ask, struct generate_nodes *out)
{
	const struct nodes_ask *from = &ask->nodes;
	int given = (from->node.n > 0) + (from->cluster != NULL) + (from->on != NULL) +
		    (from->machine.capture != NULL);
	struct gen_cluster *c = &out->cluster;
	int code;

	if (given > 1)
		return door_refuse(d, EXIT_USAGE,
				   "use only one of --node, --cluster, --on and --host");
	c->known = door_knowledge(d, from->machine.capture);
	if (from->node.n)
		code = by_nodes(d, &from->node, c);
	else if (from->cluster)
		code = generate_cluster(d, from->cluster, c);
	else if (from->on)
		code = by_name(d, ask, out);
	else
		code = by_host(d, &from->machine, c);
	if (!code && from->nodes > 1 && c->n == 1 && !out->place)
		code = by_likeness(d, ask->head, (size_t)from->nodes, c);
	else if (!code && from->nodes && (size_t)from->nodes != c->n)
		code = door_refuse(d, EXIT_USAGE, "--nodes %d, but %zu machine%s given",
				   from->nodes, c->n, c->n == 1 ? " is" : "s are");
	if (!code)
		gen_cluster_judge(d->arena, c);
	return code;
}
