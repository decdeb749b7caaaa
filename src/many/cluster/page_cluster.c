/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a discovered cluster. */
#include <netinet/in.h>
#include <string.h>

#include "many/cluster/page_cluster.h"
#include "base/text.h"
#include "render/figure.h"
#include "render/shape_page.h"
#include "render/svg_shape.h"

static size_t answered(const struct cluster *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		n += !*c->nodes[i].failure;
	return n;
}

/* Worst first; what explains everything else stands in the verdict. */
static const struct cluster_finding *cluster_worst(const struct cluster *c)
{
	for (size_t i = 0; i < c->n_findings; i++)
		if (strcmp(c->findings[i].code, "no-cable-no-pci") == 0)
			return &c->findings[i];
	return c->n_findings ? &c->findings[0] : NULL;
}

/* The verdict and a finding each; none: what to say where there is no finding. */
static void cluster_page_findings(struct doc *d, const struct cluster *c, const char *none)
{
	static const char *const names[] = { "fault", "warning", "note" };
	static const enum style styles[] = { [CLUSTER_FAULT] = STYLE_BAD,
					     [CLUSTER_WARNING] = STYLE_WARN,
					     [CLUSTER_NOTE] = STYLE_MUTED };
	const struct cluster_finding *worst = cluster_worst(c);
	size_t counts[] = { 0, 0, 0 };
	struct node *list;

	for (size_t i = 0; i < c->n_findings; i++)
		counts[CLUSTER_FAULT - c->findings[i].severity]++;
	doc_verdict(d, worst ? styles[worst->severity] : STYLE_GOOD,
		    worst ? doc_counts(d, names, counts, 3) : none, worst ? worst->text : NULL);
	list = doc_findings(d, NULL);
	for (size_t i = 0; i < c->n_findings; i++) {
		const struct cluster_finding *f = &c->findings[i];

		node_found(d, list,
			   &(struct found){ .badge = cell_as(styles[f->severity],
							     cluster_severity_name(f->severity)),
					    .id = f->code,
					    .on = *f->port ? arena_printf(d->arena, "%s %s",
									  f->node, f->port)
							   : f->node,
					    .why = f->text,
					    .fix = cell(f->fix) });
		node_more(d, list, "evidence", cell_as(STYLE_MUTED, f->evidence));
	}
}

static void cluster_page_summary(struct doc *d, const struct cluster *c, double seconds)
{
	struct node *p = doc_paragraph(d);
	size_t captured = 0;

	for (size_t i = 0; i < c->n_nodes; i++)
		captured += fact_or(&c->nodes[i].captured, 0) != 0;
	node_span(d, p, cellf(d, "%zu of %zu nodes answered", answered(c), c->n_nodes));
	if (seconds > 0)
		node_span(d, p, cellf(d, " (in %.1f s, measured)", seconds));
	node_span(d, p, cell(". Topology: "));
	node_span(
		d, p,
		cell_as(c->supported ? STYLE_GOOD : STYLE_BAD, cluster_topology_name(c->topology)));
	node_span(d, p, cellf(d, ". %s", c->topology_why));
	if (captured)
		doc_text(d,
			 "The inventory of %zu of them is from a capture; links, addresses, MTU "
			 "and routes were read live.",
			 captured);
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
	LIST_FOR_EACH (struct rdma_gid, g, &p->rdma.gids) {
		unsigned char four[4];

		if (cluster_gid_ipv4(g, four))
			return arena_printf(a, "%u (v2, IPv4) of %zu", g->index, p->rdma.gids.n);
	}
	return p->rdma.gids.n ? arena_printf(a, "%zu, no v2 with IPv4", p->rdma.gids.n) : "";
}

static void port_row(struct doc *d, struct node *t, const struct cluster *c,
		     const struct cluster_node *n, const struct cluster_port *p)
{
	size_t cage = cluster_cage_of(c, (size_t)(n - c->nodes), p);
	const char *pcie = figure_link(d->arena, &p->function.speed_mts, &p->function.width);

	NODE_ROW(d, t, cell_as(STYLE_STRONG, n->name),
		 cage == CLUSTER_NONE ? cell("") : cell(c->cages[cage].name),
		 cell_as(STYLE_CODE, p->name), cell(p->pci),
		 cell_as(cluster_port_up(p) ? STYLE_PLAIN : STYLE_MUTED,
			 cluster_speed_text(d->arena, p)),
		 cell(pcie ? pcie : ""), cell_int(d, &p->nic.mtu, NULL),
		 cell(join_addresses(d->arena, p)), cell(fact_text(&p->rdma_device, "")),
		 cell_as(fact_is(&p->rdma.state, "ACTIVE") ? STYLE_GOOD : STYLE_WARN,
			 fact_text(&p->rdma.state, "")),
		 cell(gid_text(d->arena, p)), cell(fact_text(&p->nic.owner, "")));
}

static void cluster_page_ports(struct doc *d, const struct cluster *c)
{
	struct node *t = DOC_TABLE(d, "Ports", "!Node", "!Cage", "!Port", "PCI", ">Link", "PCIe",
				   ">MTU", "~Addresses", "RDMA", "State", "GID index", "Owner");

	for (size_t i = 0; i < c->n_nodes; i++)
		NODE_PORTS(p, &c->nodes[i])
	port_row(d, t, c, &c->nodes[i], p);
	node_drop_empty(t);
}

static void cluster_page_paths(struct doc *d, const struct cluster *c)
{
	struct node *t = DOC_TABLE(d, "Paths", "Path", "Over", "~Ends", ">Speed");

	for (size_t w = 0; w < c->n_wires; w++)
		for (size_t k = 0; k < c->wires[w].n_paths; k++) {
			const struct cluster_path *p = &c->wires[w].paths[k];
			struct cell *row = node_row(d, t);
			TEXT_AUTO ends = { 0 };

			for (size_t i = 0; i < p->n_ends; i++)
				text_printf(&ends, "%s%s %s", i ? ", " : "",
					    c->nodes[p->ends[i].node].name,
					    cluster_end_port(c, p->ends[i])->name);
			row[0] = cellf(d, "%zu.%zu", w + 1, k + 1);
			row[1] = cell(cluster_wire_text(d->arena, c, &c->wires[w]));
			row[2] = cell(arena_strdup(d->arena, ends.s));
			row[3] = p->speed_mbps ? cell(figure(d->arena, "Mb/s", p->speed_mbps))
					       : cell_as(STYLE_UNKNOWN, "unknown");
		}
}

static void cluster_page_nodes(struct doc *d, const struct cluster *c)
{
	struct node *t = DOC_TABLE(d, "Nodes", "Node", "Machine", "GPU", "Memory", "Driver", "NCCL",
				   "Kernel", "FORWARD", "Default route");

	for (size_t i = 0; i < c->n_nodes; i++) {
		const struct cluster_node *n = &c->nodes[i];

		if (*n->failure)
			NODE_ROW(d, t, cell_as(STYLE_STRONG, n->name),
				 cell_as(STYLE_BAD, n->failure));
		else
			NODE_ROW(d, t, cell_as(STYLE_STRONG, n->name), cell_str(&n->product),
				 cell_str(&n->gpu), cell_int(d, &n->memory_bytes, "bytes"),
				 cell_str(&n->driver), cell_str(&n->nccl), cell_str(&n->kernel),
				 cell_str(&n->forward), cell_str(&n->default_route));
	}
	node_drop_empty(t);
}

/* Everything that was read of addresses of RDMA and of neighbors. */
static void all_of_node(struct doc *d, const struct cluster_node *n)
{
	NODE_PORTS(p, n)
	if (p->rdma.gids.n)
		shape_list_table(d, arena_printf(d->arena, "GIDs of %s %s", n->name, p->name),
				 &cluster_port_shape, "gids", p);
	if (n->heard.n)
		shape_list_table(d, arena_printf(d->arena, "Received by %s", n->name),
				 &cluster_node_shape, "heard", n);
}

struct doc *page_cluster(struct arena *a, const struct cluster *c, double seconds, bool verbose)
{
	struct doc *d = doc_new(a);

	doc_heading(d, 1, "Cluster");
	cluster_page_findings(d, c, "Nothing to fix");
	cluster_page_summary(d, c, seconds);
	doc_figure(d, NULL, svg_cluster(a, c), c->n_wires ? cluster_picture(a, c) : NULL);
	doc_heading(d, 2, "Links and nodes");
	cluster_page_paths(d, c);
	cluster_page_ports(d, c);
	cluster_page_nodes(d, c);
	for (size_t i = 0; i < c->n_nodes && verbose; i++)
		all_of_node(d, &c->nodes[i]);
	return d;
}

/* A cluster drawn with letters: a box a cage, lines where a wire joins them. */

enum { GAP = 16 };

const char *cluster_speed_text(struct arena *a, const struct cluster_port *p)
{
	long long v = fact_or(&p->nic.speed_mbps, 0);

	if (!cluster_port_up(p))
		return "down";
	if (v <= 0)
		return "unknown";
	return v % 1000 ? arena_printf(a, "%lld Mb/s", v) : arena_printf(a, "%lld Gb/s", v / 1000);
}

const char *cluster_wire_text(struct arena *a, const struct cluster *c,
			      const struct cluster_wire *w)
{
	const char *name = NULL;

	for (size_t i = 0; i < w->n_cages; i++)
		name = name ? name : c->cages[w->cages[i]].neighbour;
	if (w->way == CLUSTER_UNSURE)
		return "cable or switch";
	if (w->way == CLUSTER_SWITCH && name)
		return arena_printf(a, "switch %s", name);
	return cluster_way_name(w->way);
}

/* The box of a cage: a line of its name, a line a port, a line below. */
struct face {
	const char **lines;
	size_t n, width;
};

static const struct cluster_port *port_at(const struct cluster *c, const struct cluster_cage *g,
					  size_t i)
{
	return cluster_end_port(c, (struct cluster_end){ g->node, g->ports[i] });
}

static const char *dashes(struct arena *a, size_t n)
{
	char *s = arena_alloc(a, n + 1);

	memset(s, '-', n);
	return s;
}

static struct face face_of(struct arena *a, const struct cluster *c, size_t cage)
{
	const struct cluster_cage *g = &c->cages[cage];
	const char *title = cluster_cage_text(a, c, cage);
	size_t names = 0, inside = strlen(title) + 2;
	struct face f = { .n = g->n_ports + 2 };

	f.lines = arena_array(a, f.n, sizeof(*f.lines));
	for (size_t i = 0; i < g->n_ports; i++) {
		size_t n = strlen(port_at(c, g, i)->name);

		names = n > names ? n : names;
	}
	for (size_t i = 0; i < g->n_ports; i++) {
		const struct cluster_port *p = port_at(c, g, i);
		const char *line = arena_printf(a, "%-*s  %8s, MTU %lld", (int)names, p->name,
						cluster_speed_text(a, p), fact_or(&p->nic.mtu, 0));

		f.lines[i + 1] = line;
		inside = strlen(line) > inside ? strlen(line) : inside;
	}
	f.width = inside + 4;
	f.lines[0] = arena_printf(a, "+- %s %s+", title, dashes(a, inside - strlen(title) - 1));
	for (size_t i = 0; i < g->n_ports; i++)
		f.lines[i + 1] = arena_printf(a, "| %-*s |", (int)inside, f.lines[i + 1]);
	f.lines[f.n - 1] = arena_printf(a, "+%s+", dashes(a, inside + 2));
	return f;
}

/* "=== cable ======" in the first line of ports, "================" in the others. */
static void cluster_page_middle(struct text *t, const char *word, bool first)
{
	size_t end = t->len + GAP;

	if (first && strlen(word) + 6 <= GAP)
		text_printf(t, "=== %s ", word);
	while (t->len < end)
		text_addc(t, '=');
}

static void draw_two(struct arena *a, const struct cluster *c, const struct cluster_wire *w,
		     struct text *t)
{
	struct face x = face_of(a, c, w->cages[0]), y = face_of(a, c, w->cages[1]);
	size_t most = x.n > y.n ? x.n : y.n;

	for (size_t i = 0; i < most; i++) {
		bool ports = i > 0 && i + 1 < x.n && i + 1 < y.n;

		text_printf(t, "%-*s", (int)x.width, i < x.n ? x.lines[i] : "");
		if (ports)
			cluster_page_middle(
				t, w->way == CLUSTER_UNSURE ? "?" : cluster_way_name(w->way),
				i == 1);
		else
			text_printf(t, "%*s", GAP, "");
		text_printf(t, "%s\n", i < y.n ? y.lines[i] : "");
	}
}

/* Boxes below each other, and the switch as a line at their right. */
static void draw_many(struct arena *a, const struct cluster *c, const struct cluster_wire *w,
		      struct text *t)
{
	size_t width = 0;

	for (size_t i = 0; i < w->n_cages; i++) {
		struct face f = face_of(a, c, w->cages[i]);

		width = f.width > width ? f.width : width;
	}
	for (size_t i = 0; i < w->n_cages; i++) {
		struct face f = face_of(a, c, w->cages[i]);

		for (size_t k = 0; k < f.n; k++) {
			bool port = k > 0 && k + 1 < f.n;
			bool edge = (i == 0 && k == 0) || (i + 1 == w->n_cages && k + 1 == f.n);

			text_add(t, f.lines[k]);
			for (size_t n = f.width; n < width + 3 && !edge; n++)
				text_addc(t, port ? '=' : ' ');
			text_addc(t, edge ? '\n' : port ? '+' : '|');
			if (i == 0 && k == 1)
				text_printf(t, "  %s", cluster_wire_text(a, c, w));
			if (!edge)
				text_addc(t, '\n');
		}
	}
}

const char *cluster_picture(struct arena *a, const struct cluster *c)
{
	TEXT_AUTO t = { 0 };

	text_add(&t, "");
	for (size_t i = 0; i < c->n_wires; i++) {
		if (t.len)
			text_addc(&t, '\n');
		if (c->wires[i].n_cages == 2)
			draw_two(a, c, &c->wires[i], &t);
		else
			draw_many(a, c, &c->wires[i], &t);
	}
	if (t.len && t.s[t.len - 1] == '\n')
		t.s[--t.len] = '\0';
	return arena_strdup(a, t.s);
}

/*
 * The drawing of a cluster: nodes beside each other with their cages, wires as lines in lanes
 * below, a switch as a bar across. What a finding names is ringed.
 */

enum {
	MARGIN = 24,
	TOP = 72,
	PORT_W = 156,
	PORT_H = 58,
	PAD = 10,
	HEAD = 48,
	LANE = 34,
};

struct svg_canvas {
	struct text *t;
	struct arena *a;
	const struct cluster *c;
	int *node_x, *node_w; /* a node */
	int *cage_x;	      /* the middle of a cage */
	int width, ports_y, bottom;
};

static size_t ports_of(const struct cluster *c, size_t node)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_cages; i++)
		n += c->cages[i].node == node ? c->cages[i].n_ports : 0;
	return n;
}

static void cluster_page_place(struct svg_canvas *v)
{
	int x = MARGIN;

	for (size_t i = 0; i < v->c->n_nodes; i++) {
		size_t n = ports_of(v->c, i);
		int at = x + PAD;

		v->node_x[i] = x;
		v->node_w[i] = (int)(n ? n : 1) * PORT_W + 2 * PAD;
		for (size_t k = 0; k < v->c->n_cages; k++) {
			const struct cluster_cage *g = &v->c->cages[k];

			if (g->node != i)
				continue;
			v->cage_x[k] = at + (int)g->n_ports * PORT_W / 2;
			at += (int)g->n_ports * PORT_W;
		}
		x += v->node_w[i] + MARGIN;
	}
	v->width = x < 640 ? 640 : x;
	v->ports_y = TOP + HEAD;
	v->bottom = v->ports_y + PORT_H + PAD + 18;
}

/* Names the worst finding of a port; NULL. */
static const struct cluster_finding *finding_at(const struct cluster *c, const char *node,
						const char *port)
{
	for (size_t i = 0; i < c->n_findings; i++)
		if (c->findings[i].severity != CLUSTER_NOTE &&
		    strcmp(c->findings[i].node, node) == 0 &&
		    strcmp(c->findings[i].port, port) == 0)
			return &c->findings[i];
	return NULL;
}

static const char *address_of(const struct cluster_port *p)
{
	return p->addresses.n ? ((const struct cluster_address *)p->addresses.items)->name
			      : "no address";
}

static void draw_port(struct svg_canvas *v, const struct cluster_node *n,
		      const struct cluster_port *p, int x)
{
	const struct cluster_finding *f = finding_at(v->c, n->name, p->name);
	int w = PORT_W - 8, mid = x + PORT_W / 2;

	svg_box(v->t, (struct box){ x + 4, v->ports_y, w, PORT_H },
		cluster_port_up(p) ? "nic" : "root",
		arena_printf(v->a, "%s, %s, %s", p->pci, fact_text(&p->rdma_device, "no RDMA"),
			     f ? f->text : "nothing found"));
	if (f)
		svg_box(v->t, (struct box){ x + 3, v->ports_y - 1, w + 2, PORT_H + 2 }, "ring",
			NULL);
	svg_text(v->t, mid, v->ports_y + 18, "middle", "strong", 12, w, p->name);
	svg_text(v->t, mid, v->ports_y + 34, "middle", "soft", 11, w,
		 arena_printf(v->a, "%s, MTU %lld", cluster_speed_text(v->a, p),
			      fact_or(&p->nic.mtu, 0)));
	svg_text(v->t, mid, v->ports_y + 49, "middle", "soft", 11, w, address_of(p));
}

static void cluster_page_draw_node(struct svg_canvas *v, size_t i)
{
	const struct cluster_node *n = &v->c->nodes[i];
	const struct cluster_finding *f = finding_at(v->c, n->name, "");
	int x = v->node_x[i] + PAD, room = v->node_w[i] - 2 * PAD;

	svg_box(v->t, (struct box){ v->node_x[i], TOP, v->node_w[i], v->bottom - TOP }, "node",
		f ? f->text : NULL);
	if (f)
		svg_box(v->t,
			(struct box){ v->node_x[i] - 2, TOP - 2, v->node_w[i] + 4,
				      v->bottom - TOP + 4 },
			"ring", NULL);
	svg_text(v->t, x, TOP + 20, "start", "strong", 15, room, n->name);
	svg_text(v->t, x, TOP + 37, "start", *n->failure ? "bad" : "soft", 11, room,
		 *n->failure ? n->failure
			     : arena_printf(v->a, "%s, %s", fact_text(&n->product, "machine"),
					    fact_text(&n->gpu, "no GPU found")));
	for (size_t k = 0; k < v->c->n_cages; k++) {
		const struct cluster_cage *g = &v->c->cages[k];
		int left = v->cage_x[k] - (int)g->n_ports * PORT_W / 2;

		if (g->node != i)
			continue;
		for (size_t p = 0; p < g->n_ports; p++)
			draw_port(v, n,
				  cluster_end_port(v->c, (struct cluster_end){ i, g->ports[p] }),
				  left + (int)p * PORT_W);
		svg_text(v->t, v->cage_x[k], v->ports_y + PORT_H + 16, "middle", "strong", 12,
			 (int)g->n_ports * PORT_W, g->name);
	}
}

/* A port of the wire has something wrong with it. */
static bool is_bad(const struct cluster *c, const struct cluster_wire *w)
{
	for (size_t i = 0; i < w->n_paths; i++)
		for (size_t k = 0; k < w->paths[i].n_ends; k++) {
			struct cluster_end e = w->paths[i].ends[k];

			if (finding_at(c, c->nodes[e.node].name, cluster_end_port(c, e)->name))
				return true;
		}
	return false;
}

static void draw_wire(struct svg_canvas *v, const struct cluster_wire *wire, int y)
{
	const char *class = is_bad(v->c, wire)		  ? "slow"
			    : wire->way == CLUSTER_UNSURE ? "tight"
							  : "nvlink";
	const char *text = arena_printf(v->a, "%s, %zu path%s", cluster_wire_text(v->a, v->c, wire),
					wire->n_paths, PLURAL(wire->n_paths));
	int low = v->width, high = 0;

	for (size_t i = 0; i < wire->n_cages; i++) {
		int x = v->cage_x[wire->cages[i]];

		svg_line(v->t, x, v->bottom, x, y, class);
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	if (wire->way == CLUSTER_SWITCH) {
		svg_box(v->t, (struct box){ low - 20, y - 11, high - low + 40, 22 }, "switch",
			NULL);
		svg_text(v->t, (low + high) / 2, y + 5, "middle", "strong", 12, high - low + 40,
			 text);
		return;
	}
	svg_line(v->t, low, y, high, y, class);
	svg_box(v->t, (struct box){ (low + high) / 2 - 60, y - 10, 120, 19 }, "node-paper", NULL);
	svg_text(v->t, (low + high) / 2, y + 4, "middle", "soft", 12, 118, text);
}

/* Each wire in a lane of its own, those for data above the others. */
static void draw_wires(struct svg_canvas *v)
{
	int y = v->bottom;

	for (int data = 1; data >= 0; data--)
		for (size_t i = 0; i < v->c->n_wires; i++)
			if (cluster_wire_data(v->c, &v->c->wires[i]) == (data == 1))
				draw_wire(v, &v->c->wires[i], y += LANE);
}

const char *svg_cluster(struct arena *a, const struct cluster *c)
{
	TEXT_AUTO t = { 0 };
	struct svg_canvas v = { .t = &t, .a = a, .c = c };
	int height;

	v.node_x = arena_array(a, c->n_nodes, sizeof(int));
	v.node_w = arena_array(a, c->n_nodes, sizeof(int));
	v.cage_x = arena_array(a, c->n_cages, sizeof(int));
	cluster_page_place(&v);
	height = v.bottom + (int)c->n_wires * LANE + MARGIN;
	svg_begin(&t, v.width, height, "Cluster",
		  "Nodes with their physical network ports, and the cables and switches that join "
		  "them");
	svg_text(&t, MARGIN, 30, "start", "strong", 18, v.width - 2 * MARGIN,
		 arena_printf(a, "Cluster of %zu: %s", c->n_nodes,
			      cluster_topology_name(c->topology)));
	svg_text(&t, MARGIN, 52, "start", c->supported ? "soft" : "bad", 12, v.width - 2 * MARGIN,
		 c->topology_why);
	for (size_t i = 0; i < c->n_nodes; i++)
		cluster_page_draw_node(&v, i);
	draw_wires(&v);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}

struct doc *page_cluster_check(struct arena *a, const struct cluster_check_view *v)
{
	struct doc *d = v->cluster->n_findings ? doc_new(a) : page_qualify(a, v->q);

	if (v->cluster->n_findings) {
		cluster_page_findings(d, v->cluster, NULL);
		page_qualify_add(d, v->q);
	}
	cluster_page_summary(d, v->cluster, v->discover_seconds);
	return d;
}
