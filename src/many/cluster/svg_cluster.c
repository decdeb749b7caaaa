/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drawing of a cluster: nodes beside each other with their cages, wires as lines in lanes
 * below, a switch as a bar across. What a finding names is ringed.
 */
#include <string.h>

#include "base/text.h"
#include "many/cluster/page_cluster.h"
#include "render/svg_shape.h"

enum {
	MARGIN = 24,
	TOP = 72,
	PORT_W = 156,
	PORT_H = 58,
	PAD = 10,
	HEAD = 48,
	LANE = 34,
};

struct canvas {
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

static void place(struct canvas *v)
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

static void draw_port(struct canvas *v, const struct cluster_node *n, const struct cluster_port *p,
		      int x)
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
			      fact_or(&p->mtu, 0)));
	svg_text(v->t, mid, v->ports_y + 49, "middle", "soft", 11, w, address_of(p));
}

static void draw_node(struct canvas *v, size_t i)
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
					    fact_text(&n->gpu, "no GPU seen")));
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

static void draw_wire(struct canvas *v, const struct cluster_wire *wire, int y)
{
	const char *class = is_bad(v->c, wire)		  ? "slow"
			    : wire->way == CLUSTER_UNSURE ? "tight"
							  : "nvlink";
	const char *text = arena_printf(v->a, "%s, %zu path%s", cluster_wire_text(v->a, v->c, wire),
					wire->n_paths, wire->n_paths == 1 ? "" : "s");
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
static void draw_wires(struct canvas *v)
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
	struct canvas v = { .t = &t, .a = a, .c = c };
	int height;

	v.node_x = arena_array(a, c->n_nodes, sizeof(int));
	v.node_w = arena_array(a, c->n_nodes, sizeof(int));
	v.cage_x = arena_array(a, c->n_cages, sizeof(int));
	place(&v);
	height = v.bottom + (int)c->n_wires * LANE + MARGIN;
	svg_begin(&t, v.width, height, "Cluster",
		  "Nodes with their network ports by cage, and the cables and switches that join "
		  "them");
	svg_text(&t, MARGIN, 30, "start", "strong", 18, v.width - 2 * MARGIN,
		 arena_printf(a, "Cluster of %zu: %s", c->n_nodes,
			      cluster_topology_name(c->topology)));
	svg_text(&t, MARGIN, 52, "start", c->supported ? "soft" : "bad", 12, v.width - 2 * MARGIN,
		 c->topology_why);
	for (size_t i = 0; i < c->n_nodes; i++)
		draw_node(&v, i);
	draw_wires(&v);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}
