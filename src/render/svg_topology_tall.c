/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tall drawing of a machine's topology, for a telephone: one line a device, indented below what
 * it hangs from, with its link at the right. What is narrow says why right there.
 */
#include <string.h>

#include "machine/model/gpu.h"
#include "render/figure.h"
#include "render/svg.h"
#include "render/svg_shape.h"
#include "render/svg_topology_part.h"

enum {
	WIDTH = 360,
	MARGIN = 10,
	STEP = 14, /* indentation of a level */
	DEEPEST = 6,
	ROW_H = 40, /* two lines of text */
	NODE_H = 30,
	GAP = 4,
	SIZE = 12,
};

struct strip {
	struct text *t; /* NULL: only measured */
	struct scene s;
	int y;
};

/* Why, below the line of a place that is narrow; the worst reason is enough. */
static void draw_reason(struct strip *c, const struct place *p, int x)
{
	const struct narrow *n = &c->s.spots[p->spot - 1];
	const char *why = arena_printf(c->s.a, "%s%s",
				       p->spot == 1 && n->fault ? "Bottleneck: " : "", n->reason);

	if (c->t)
		draw_badge(c->t, c->s.a, x + 9, c->y + 10, p->spot, n->fault);
	c->y = draw_wrapped(c->t, x + 26, c->y, WIDTH - MARGIN - x - 26, SIZE - 1,
			    n->fault ? "bad" : "warn", why) +
	       GAP;
}

static const char *second_line(struct strip *c, const struct place *p)
{
	size_t up = nvlinks_up(p->gpu);

	if (p->gpu && p->gpu->links.n && c->s.m->gpu.gpus.n > 1)
		return arena_printf(c->s.a, "%s, %zu of %zu NVLinks",
				    strncmp(p->address, "0000:", 5) == 0 ? p->address + 5
									 : p->address,
				    up, p->gpu->links.n);
	return p->address;
}

static void draw_row(struct strip *c, const struct place *p, int x)
{
	struct box b = { x, c->y, WIDTH - MARGIN - x, p->n ? NODE_H - 4 : ROW_H };
	/* What has things below it has one line. */
	const char *link = p->n ? link_text(c->s.a, p) : p->link;
	bool less;
	int right = b.x + b.w - 8, room;

	if (!c->t)
		return;
	link = link ? link : "";
	room = b.w - 16 - (int)strlen(link) * 7;
	svg_box(c->t, b, place_class(p->kind), place_tip(c->s.a, p));
	if (mark_ring(p))
		svg_box(c->t, (struct box){ b.x - 1, b.y - 1, b.w + 2, b.h + 2 }, mark_ring(p),
			NULL);
	svg_text(c->t, b.x + 8, b.y + 17, "start", "strong", SIZE, room,
		 p->kind == PLACE_SWITCH ? arena_printf(c->s.a, "switch %s", p->address)
		 : *p->detail ? arena_printf(c->s.a, "%s: %s", p->label, gpu_name_short(p->detail))
			      : p->label);
	svg_text(c->t, right, b.y + 17, "end", mark_text(p), SIZE, b.w, link);
	if (p->n)
		return;
	less = p->link && p->link_max && strcmp(p->link, p->link_max) != 0;
	svg_text(c->t, b.x + 8, b.y + 33, "start", "soft", SIZE - 1, b.w - (less ? 104 : 16),
		 second_line(c, p));
	if (less)
		svg_text(c->t, right, b.y + 33, "end", mark_text(p), SIZE - 1, 110,
			 arena_printf(c->s.a, "of %s", p->link_max));
}

static void draw_place(struct strip *c, const struct place *p, int depth)
{
	int x = MARGIN + STEP * (depth < DEEPEST ? depth : DEEPEST), from;

	draw_row(c, p, x);
	c->y += (p->n ? NODE_H - 4 : ROW_H) + GAP;
	if (p->spot)
		draw_reason(c, p, x);
	from = c->y;
	for (size_t i = 0; i < p->n; i++)
		draw_place(c, p->children[i], depth + 1);
	/* A line at the left holds together what hangs from one thing. */
	if (c->t && p->n && depth < DEEPEST)
		svg_line(c->t, x + 5, from - GAP, x + 5, c->y - GAP - 2, "link");
}

static void draw_node(struct strip *c, const struct place *node)
{
	if (c->t)
		svg_text(c->t, MARGIN, c->y + 19, "start", "strong", 14, WIDTH - 2 * MARGIN,
			 node->label);
	c->y = draw_wrapped(c->t, MARGIN, c->y + 22, WIDTH - 2 * MARGIN, SIZE - 1, "soft",
			    node->detail) +
	       GAP;
	for (size_t i = 0; i < node->n; i++)
		draw_place(c, node->children[i], 0);
	c->y += GAP * 2;
}

static void draw_fabric(struct strip *c)
{
	const char *fabric = fabric_text(c->s.a, c->s.m);
	size_t n;
	const struct nvswitch *to = nvswitches(c->s.a, c->s.m, &n);

	if (!fabric)
		return;
	c->y = draw_wrapped(c->t, MARGIN, c->y, WIDTH - 2 * MARGIN, SIZE, "strong", fabric) + GAP;
	for (size_t i = 0; i < n; i++) {
		struct box b = { MARGIN, c->y, WIDTH - 2 * MARGIN, NODE_H - 4 };

		if (c->t) {
			svg_box(c->t, b, "nvswitch", NULL);
			svg_text(c->t, b.x + 8, b.y + 17, "start", "plain", SIZE, b.w - 16,
				 arena_printf(c->s.a, "NVSwitch %s: %zu links", to[i].address,
					      to[i].links));
		}
		c->y += NODE_H;
	}
}

static int draw_all(struct text *t, struct scene s)
{
	struct strip c = { .t = t, .s = s, .y = MARGIN };

	c.y = draw_wrapped(t, MARGIN, c.y, WIDTH - 2 * MARGIN, 16, "strong",
			   arena_printf(s.a, "Topology of %s", s.name));
	c.y = draw_wrapped(t, MARGIN, c.y, WIDTH - 2 * MARGIN, SIZE, "soft",
			   s.machine->n
				   ? "PCIe links as they are now, of what the device can."
				   : "No GPU, network adapter or NVMe disk was seen on the PCI "
				     "bus.") +
	      GAP;
	if (s.machine->n)
		c.y = draw_wrapped(t, MARGIN, c.y, WIDTH - 2 * MARGIN, SIZE,
				   s.n_spots && s.spots[0].fault ? "bad" : "plain",
				   bottleneck_text(s.a, s.spots, s.n_spots, s.machine)) +
		      GAP;
	for (size_t i = 0; i < s.machine->n; i++)
		draw_node(&c, s.machine->children[i]);
	draw_fabric(&c);
	return c.y + MARGIN;
}

const char *svg_topology_tall(struct arena *a, const struct machine *m)
{
	struct scene s = scene_of(a, m);
	TEXT_AUTO t = { 0 };

	svg_begin(&t, WIDTH, draw_all(NULL, s), arena_printf(a, "Topology of %s", s.name),
		  topology_words(a, m, s.machine, s.spots, s.n_spots));
	draw_all(&t, s);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}
