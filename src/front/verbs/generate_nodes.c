/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of generate: this one, captured ones, those of a discovery, or named ones. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "front/verbs/generate.h"
#include "front/session.h"
#include "many/cluster/links.h"

static struct machine *look(struct run *r, struct generate_nodes *out, struct host *h)
{
	out->hosts = arena_grow(&r->arena, out->hosts, out->n_hosts, sizeof(struct host *));
	out->hosts[out->n_hosts++] = h;
	return run_machine(r, h, false);
}

static void add(struct run *r, struct generate_nodes *out, const struct machine *m,
		const char *name, const char *from)
{
	struct gen_cluster *c = &out->cluster;

	c->nodes = arena_grow(&r->arena, c->nodes, c->n, sizeof(*c->nodes));
	gen_node_of(&r->arena, m, name, from, &c->nodes[c->n++]);
}

/* "NAME=CAPTURE", or NAME for this machine. */
static int verb_generate_nodes_one_node(struct run *r, struct generate_nodes *out, const char *text)
{
	const char *is = strchr(text, '=');
	const char *name = is ? arena_strndup(&r->arena, text, (size_t)(is - text)) : text;
	struct err e = { 0 };
	struct host *h = is ? host_open_capture(is + 1, &e) : run_live(r);
	struct machine *m;

	if (!h)
		return complain(EXIT_USAGE, &e);
	m = look(r, out, h);
	if (!gen_name_valid(name))
		return complain_text(EXIT_USAGE,
				     "--node takes NAME=CAPTURE; \"%s\" is no name of a machine",
				     name);
	for (size_t i = 0; i < out->cluster.n; i++)
		if (strcmp(out->cluster.nodes[i].name, name) == 0)
			return complain_text(EXIT_USAGE, "--node %s is given twice", name);
	if (!m)
		return EXIT_BLIND;
	add(r, out, m, name, is ? arena_printf(&r->arena, "capture %s", is + 1) : "this machine");
	return 0;
}

static int by_nodes(struct run *r, struct generate_nodes *out)
{
	char *list = arena_strdup(&r->arena, r->value[OPT_NODE]), *one;

	while ((one = strsep(&list, "\n")) != NULL) {
		int code = out->cluster.n >= GEN_NODES_MAX
				   ? complain_text(EXIT_USAGE, "at most %d machines", GEN_NODES_MAX)
				   : verb_generate_nodes_one_node(r, out, one);

		if (code)
			return code;
	}
	return 0;
}

/* N machines like the one that was looked at: alike, but with addresses of their own. */
static int verb_generate_nodes_alike(struct run *r, struct generate_nodes *out, long long n)
{
	struct gen_node first = out->cluster.nodes[0];

	if (n < 2)
		return 0;
	if (!r->value[OPT_HEAD])
		return complain_text(EXIT_USAGE,
				     "--nodes %lld: of the others nothing is known; name the first "
				     "one's address with --head, or all with --node NAME=CAPTURE",
				     n);
	first.n_links = 0;
	first.ports = memcpy(arena_array(&r->arena, first.n_ports + 1, sizeof(*first.ports)),
			     first.n_ports ? first.ports : (struct gen_port *)&first,
			     first.n_ports * sizeof(*first.ports));
	for (size_t i = 0; i < first.n_ports; i++)
		first.ports[i].address = "";
	out->cluster.nodes = arena_array(&r->arena, (size_t)n, sizeof(first));
	out->cluster.n = (size_t)n;
	for (long long i = 0; i < n; i++) {
		out->cluster.nodes[i] = first;
		out->cluster.nodes[i].name = arena_printf(&r->arena, "node-%lld", i);
		out->cluster.nodes[i].invented = true;
		out->cluster.nodes[i].from = arena_printf(&r->arena, "like %s", first.from);
	}
	out->cluster.nodes[0].address = r->value[OPT_HEAD];
	return 0;
}

/* Named: only how many there are of which is known. */
static int verb_generate_nodes_by_name(struct run *r, struct generate_nodes *out)
{
	struct err e = { 0 };
	struct gen_cluster *c = &out->cluster;

	if (place_parse(&r->arena, run_knowledge(r), r->value[OPT_ON], &out->named, &e) < 0)
		return complain(EXIT_USAGE, &e);
	out->place = &out->named;
	c->n = out->named.nodes > 0 ? (size_t)out->named.nodes : 1;
	c->nodes = arena_array(&r->arena, c->n, sizeof(*c->nodes));
	if (c->n > 1 && !r->value[OPT_HEAD])
		return complain_text(
			EXIT_USAGE,
			"--on \"%s\" is %zu machines: name the first one's address with --head",
			r->value[OPT_ON], c->n);
	for (size_t i = 0; i < c->n; i++)
		c->nodes[i] = (struct gen_node){
			.name = arena_printf(&r->arena, "node-%zu", i),
			.address = i || !r->value[OPT_HEAD] ? "" : r->value[OPT_HEAD],
			.control = "",
			.from = "named",
			.invented = true,
			.platform = "",
			.gpu = out->named.gpu->name,
			.gpus = (size_t)out->named.gpus / c->n,
			.unified = out->named.gpu->unified,
		};
	return 0;
}

static int verb_generate_nodes_by_host(struct run *r, struct generate_nodes *out)
{
	struct host *h = run_host(r);
	struct machine *m;
	const char *name;

	if (!h)
		return EXIT_USAGE;
	m = look(r, out, h);
	if (!m)
		return EXIT_BLIND;
	name = fact_text(&m->nodename, "");
	add(r, out, m, gen_name_valid(name) ? name : "node-0",
	    r->value[OPT_HOST] ? arena_printf(&r->arena, "capture %s", r->value[OPT_HOST])
			       : "this machine");
	return 0;
}

int generate_nodes(struct run *r, struct generate_nodes *out)
{
	int given = (r->value[OPT_NODE] != NULL) + (r->value[OPT_CLUSTER] != NULL) +
		    (r->value[OPT_ON] != NULL) + (r->value[OPT_HOST] != NULL);
	long long n = 1;
	int code;

	if (given > 1)
		return complain_text(
			EXIT_USAGE,
			"the machines come from one of --node, --cluster, --on and --host");
	if (r->value[OPT_NODES] &&
	    (!isdigit((unsigned char)*r->value[OPT_NODES]) || parse_i64(r->value[OPT_NODES], &n) ||
	     n < 1 || n > GEN_NODES_MAX))
		return complain_text(EXIT_USAGE, "--nodes takes 1 to %d, not \"%s\"", GEN_NODES_MAX,
				     r->value[OPT_NODES]);
	if (r->value[OPT_HEAD] && !gen_name_valid(r->value[OPT_HEAD]))
		return complain_text(EXIT_USAGE, "--head \"%s\" is no name or address of a machine",
				     r->value[OPT_HEAD]);
	out->cluster.known = run_knowledge(r);
	if (r->value[OPT_NODE])
		code = by_nodes(r, out);
	else if (r->value[OPT_CLUSTER])
		code = generate_cluster(r, r->value[OPT_CLUSTER], &out->cluster);
	else if (r->value[OPT_ON])
		code = verb_generate_nodes_by_name(r, out);
	else
		code = verb_generate_nodes_by_host(r, out);
	if (!code && n > 1 && out->cluster.n == 1 && !out->place)
		code = verb_generate_nodes_alike(r, out, n);
	else if (!code && r->value[OPT_NODES] && (size_t)n != out->cluster.n)
		code = complain_text(EXIT_USAGE, "--nodes %lld, and %zu machine%s named", n,
				     out->cluster.n, out->cluster.n == 1 ? " is" : "s are");
	if (!code)
		gen_cluster_judge(&r->arena, &out->cluster);
	return code;
}

void generate_nodes_close(struct generate_nodes *n)
{
	for (size_t i = 0; i < n->n_hosts; i++)
		host_close(n->hosts[i]);
}

static const char *verb_generate_nodes_first_address(const struct cluster_port *p)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		unsigned long net;
		unsigned bits;

		if (gen_subnet(x->name, &net, &bits))
			return x->name;
	}
	return "";
}

static void verb_generate_nodes_add_port(struct arena *a, const struct cluster_port *p,
					 struct gen_node *n)
{
	const char *address = verb_generate_nodes_first_address(p);

	if (seen_ok(&p->rdma_device.f)) {
		if (n->n_ports >= GEN_PORTS_MAX)
			return;
		n->ports = arena_grow(a, n->ports, n->n_ports, sizeof(*n->ports));
		n->ports[n->n_ports++] = (struct gen_port){
			.device = p->rdma_device.v,
			.number = (unsigned)fact_or(&p->rdma_port, 1),
			.netdev = p->name,
			.pci = p->pci,
			.cage = fact_text(&p->port_name, ""),
			.infiniband = fact_is(&p->link_layer, "InfiniBand"),
			.foreign = gen_foreign(&p->link_layer),
			.up = fact_is(&p->rdma_state, "ACTIVE"),
			.rate_mbps = fact_or(&p->rdma_rate_mbps, 0),
			.address = address,
		};
	} else if (*address && cluster_port_up(p) && *p->pci && n->n_links < GEN_PORTS_MAX) {
		n->links = arena_grow(a, n->links, n->n_links, sizeof(*n->links));
		n->links[n->n_links++] = (struct gen_link){
			.name = p->name,
			.address = address,
			.speed_mbps = fact_or(&p->speed_mbps, 0),
			.wireless = fact_or(&p->wireless, 0) == 1,
		};
	}
}

static void verb_generate_nodes_take(struct arena *a, const struct cluster_node *d,
				     const char *path, struct gen_node *n)
{
	*n = (struct gen_node){
		.name = d->name,
		.address = "",
		.control = "",
		.from = arena_printf(a, "discovery %s", path),
		.platform = fact_text(&d->platform, ""),
		.gpu = fact_text(&d->gpu, ""),
		.gpus = (size_t)fact_or(&d->gpus, 0),
		.unified = fact_is(&d->platform, "dgx-spark"),
		.nccl = fact_text(&d->nccl, NULL),
		.total_bytes = fact_or(&d->memory_bytes, 0),
	};
	NODE_PORTS(p, d)
	verb_generate_nodes_add_port(a, p, n);
}

int generate_cluster(struct run *r, const char *path, struct gen_cluster *out)
{
	struct cluster c = { 0 };
	struct err e = { 0 };

	if (cluster_load(&r->arena, path, &c, &e) < 0)
		return complain(EXIT_USAGE, &e);
	if (!c.n_nodes || c.n_nodes > GEN_NODES_MAX)
		return complain_text(EXIT_USAGE, "%s has %zu machines", path, c.n_nodes);
	out->nodes = arena_array(&r->arena, c.n_nodes, sizeof(*out->nodes));
	for (size_t i = 0; i < c.n_nodes; i++) {
		if (*c.nodes[i].failure)
			return complain_text(EXIT_BLIND, "%s did not answer that discovery: %s",
					     c.nodes[i].name, c.nodes[i].failure);
		verb_generate_nodes_take(&r->arena, &c.nodes[i], path, &out->nodes[out->n++]);
	}
	return 0;
}
