/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a discovered cluster. */
#include "many/cluster/page_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/text.h"
#include "render/figure.h"

static const enum style severity_styles[] = { STYLE_MUTED, STYLE_WARN, STYLE_BAD };

static size_t answered(const struct cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		n += !*c->nodes[i].failure;
	return n;
}

/* What explains everything else is said before everything else. */
static void first_of_all(struct doc *d, const struct cluster *c)
{
	for (size_t i = 0; i < c->n_findings; i++) {
		const struct cluster_finding *f = &c->findings[i];
		struct node *p;

		if (strcmp(f->code, "no-cable-no-pci") != 0)
			continue;
		p = doc_paragraph(d);
		node_span(d, p, cell_as(STYLE_BAD, f->text));
		node_span(d, p, cell_printf(d, STYLE_PLAIN, " To do: %s.", f->fix));
	}
}

static void summary(struct doc *d, const struct cluster *c, double seconds)
{
	struct node *p = doc_paragraph(d);
	size_t captured = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		captured += fact_or(&c->nodes[i].captured, 0) != 0;
	node_span(
		d, p,
		cell_printf(d, STYLE_PLAIN, "%zu of %zu nodes answered", answered(c), c->n_nodes));
	if (seconds > 0)
		node_span(d, p, cell_printf(d, STYLE_PLAIN, " (in %.1f s, measured)", seconds));
	node_span(d, p, cell(". Topology: "));
	node_span(
		d, p,
		cell_as(c->supported ? STYLE_GOOD : STYLE_BAD, cluster_topology_name(c->topology)));
	node_span(d, p, cell_printf(d, STYLE_PLAIN, ". %s", c->topology_why));
	if (captured)
		doc_text(d,
			 "The inventory of %zu of them is from a capture; links, addresses, MTU "
			 "and routes were read live.",
			 captured);
}

static void findings(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = { { .title = "" },
						 { .title = "Code" },
						 { .title = "Where" },
						 { .title = "What", .wrap = true },
						 { .title = "Evidence", .wrap = true },
						 { .title = "To do", .wrap = true } };
	struct node *t;

	doc_heading(d, 2, "Findings");
	if (!c->n_findings) {
		doc_text(d, "None.");
		return;
	}
	t = doc_table(d, NULL, columns, 6);
	for (size_t i = 0; i < c->n_findings; i++) {
		const struct cluster_finding *f = &c->findings[i];
		struct cell *row = node_row(d, t);

		row[0] = cell_as(severity_styles[f->severity], cluster_severity_name(f->severity));
		row[1] = cell_as(STYLE_CODE, f->code);
		row[2] = cell_printf(d, STYLE_STRONG, "%s%s%s", *f->node ? f->node : "all",
				     *f->port ? " " : "", f->port);
		row[3] = cell(f->text);
		row[4] = cell_as(STYLE_MUTED, f->evidence);
		row[5] = cell(f->fix);
	}
}

static const char *join_addresses(struct arena *a, const struct cluster_port *p)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		/* Every port has one of these. */
		if (cluster_prefix_parse(x->name, &prefix) == 0 &&
		    cluster_prefix_link_local(&prefix) && prefix.family == AF_INET6)
			continue;
		text_printf(&t, "%s%s", t.len ? " " : "", x->name);
	}
	return arena_strdup(a, t.s);
}

/* "3 (RoCE v2)": of the first routable IPv4 one. */
static const char *gid_text(struct arena *a, const struct cluster_port *p)
{
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids) {
		struct in6_addr six;

		if (fact_is(&g->type, "RoCE v2") && seen_ok(&g->gid.f) &&
		    inet_pton(AF_INET6, g->gid.v, &six) == 1 && IN6_IS_ADDR_V4MAPPED(&six))
			return arena_printf(a, "%u (v2, IPv4) of %zu", g->index, p->gids.n);
	}
	return p->gids.n ? arena_printf(a, "%zu, none v2 with IPv4", p->gids.n) : "";
}

static void port_row(struct doc *d, struct node *t, const struct cluster *c,
		     const struct cluster_node *n, const struct cluster_port *p)
{
	size_t cage = cluster_cage_of(c, (size_t)(n - c->nodes), p);
	const char *pcie = figure_link(d->arena, &p->pci_speed_mts, &p->pci_width);
	struct cell *row = node_row(d, t);

	row[0] = cell_as(STYLE_STRONG, n->name);
	row[1] = cage == CLUSTER_NONE ? cell("") : cell(c->cages[cage].name);
	row[2] = cell_as(STYLE_CODE, p->name);
	row[3] = cell(p->pci);
	row[4] = cell_as(cluster_port_up(p) ? STYLE_PLAIN : STYLE_MUTED,
			 cluster_speed_text(d->arena, p));
	row[5] = cell(pcie ? pcie : "");
	row[6] = cell_int(d, &p->mtu, NULL);
	row[7] = cell(join_addresses(d->arena, p));
	row[8] = cell(fact_text(&p->rdma_device, ""));
	row[9] = cell_as(fact_is(&p->rdma_state, "ACTIVE") ? STYLE_GOOD : STYLE_WARN,
			 fact_text(&p->rdma_state, ""));
	row[10] = cell(gid_text(d->arena, p));
	row[11] = cell(fact_text(&p->owner, ""));
}

static void ports(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = {
		{ .title = "Node" },
		{ .title = "Cage" },
		{ .title = "Port" },
		{ .title = "PCI" },
		{ .title = "Link", .right = true },
		{ .title = "PCIe" },
		{ .title = "MTU", .right = true },
		{ .title = "Addresses", .wrap = true },
		{ .title = "RDMA" },
		{ .title = "State" },
		{ .title = "GID index" },
		{ .title = "Owner" },
	};
	struct node *t = doc_table(d, "Ports", columns, 12);

	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
	port_row(d, t, c, &c->nodes[i], p);
	node_drop_empty(t);
}

static void paths(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = { { .title = "Path" },
						 { .title = "Over" },
						 { .title = "Ends", .wrap = true },
						 { .title = "Speed", .right = true } };
	struct node *t = doc_table(d, "Paths", columns, 4);

	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];
			struct cell *row = node_row(d, t);
			TEXT_AUTO ends = { 0 };

			for (size_t i = 0; i < p->n_ends; i++)
				text_printf(&ends, "%s%s %s", i ? ", " : "",
					    c->nodes[p->ends[i].node].name,
					    cluster_end_port(c, p->ends[i])->name);
			row[0] = cell_printf(d, STYLE_PLAIN, "%zu.%zu", w + 1, k + 1);
			row[1] = cell(cluster_wire_text(d->arena, c, &c->wires[w]));
			row[2] = cell(arena_strdup(d->arena, ends.s));
			row[3] = p->speed_mbps ? cell(figure(d->arena, "Mb/s", p->speed_mbps))
					       : cell_as(STYLE_UNKNOWN, "not told");
		}
}

static void nodes(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = {
		{ .title = "Node" },   { .title = "Machine" }, { .title = "GPU" },
		{ .title = "Memory" }, { .title = "Driver" },  { .title = "NCCL" },
		{ .title = "Kernel" }, { .title = "FORWARD" }, { .title = "Default route" },
	};
	struct node *t = doc_table(d, "Nodes", columns, 9);

	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct cluster_node *n = &c->nodes[i];
		struct cell *row = node_row(d, t);

		row[0] = cell_as(STYLE_STRONG, n->name);
		if (*n->failure) {
			row[1] = cell_as(STYLE_BAD, n->failure);
			continue;
		}
		row[1] = cell_str(&n->product);
		row[2] = cell_str(&n->gpu);
		row[3] = cell_int(d, &n->memory_bytes, "bytes");
		row[4] = cell_str(&n->driver);
		row[5] = cell_str(&n->nccl);
		row[6] = cell_str(&n->kernel);
		row[7] = cell_str(&n->forward);
		row[8] = cell_str(&n->default_route);
	}
	node_drop_empty(t);
}

static void all_gids(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = { { .title = "Node" },
						 { .title = "RDMA" },
						 { .title = "Index", .right = true },
						 { .title = "Type" },
						 { .title = "GID" } };
	struct node *t = doc_table(d, "GIDs", columns, 5);

	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
	LIST_FOR_EACH (struct rdma_gid, g, &p->gids) {
		struct cell *row = node_row(d, t);

		row[0] = cell_as(STYLE_STRONG, c->nodes[i].name);
		row[1] = cell(fact_text(&p->rdma_device, ""));
		row[2] = cell_printf(d, STYLE_PLAIN, "%u", g->index);
		row[3] = cell_str(&g->type);
		row[4] = cell_str(&g->gid);
	}
}

static void all_heard(struct doc *d, const struct cluster *c)
{
	static const struct column columns[] = { { .title = "Node" },
						 { .title = "Port" },
						 { .title = "Heard by" },
						 { .title = "From" },
						 { .title = "Their port" },
						 { .title = "Address" },
						 { .title = "Times", .right = true } };
	struct node *t = doc_table(d, "Heard", columns, 7);

	for (size_t i = 0; i < c->n_nodes; i++)
		LIST_FOR_EACH (struct cluster_heard, h, &c->nodes[i].heard) {
			struct cell *row = node_row(d, t);

			row[0] = cell_as(STYLE_STRONG, c->nodes[i].name);
			row[1] = cell(h->name);
			row[2] = cell(h->way);
			row[3] = cell_str(&h->node);
			row[4] = cell_str(&h->port);
			row[5] = cell_str(&h->address);
			row[6] = cell_int(d, &h->count, NULL);
		}
}

struct doc *page_cluster(struct arena *a, const struct cluster *c, double seconds, bool verbose)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Cluster");
	first_of_all(d, c);
	summary(d, c, seconds);
	doc_figure(d, NULL, svg_cluster(a, c), c->n_wires ? cluster_picture(a, c) : NULL);
	findings(d, c);
	doc_heading(d, 2, "Links and nodes");
	paths(d, c);
	ports(d, c);
	nodes(d, c);
	if (verbose) {
		all_gids(d, c);
		all_heard(d, c);
	}
	return d;
}
