/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings of a machine's topology: a wide one, and a tall one for telephones. */
#include <string.h>

#include "render/topology.h"
#include "machine/model/gpu.h"
#include "render/svg_shape.h"
#include "render/display_text.h"

enum { SPOTS_SHOWN = 12 };

/* Everything that is drawn. */
struct scene {
	struct arena *a;
	const struct machine *m;
	const struct topology_place *machine;
	const struct narrow *spots;
	size_t n_spots;
	const char *name; /* of the machine */
};

/* Marks, badges and the list of narrow spots. A mark is never colour alone: it has a number, and a
 * sentence under that number. */

static struct scene scene_of(struct arena *a, const struct machine *m)
{
	struct scene s = { .a = a,
			   .m = m,
			   .name = fact_text(&m->platform.product, "this machine") };

	s.spots = narrow_spots(a, m, &s.n_spots);
	s.machine = places_of(a, m, s.spots, s.n_spots);
	return s;
}

/* The class of a box of this kind. */
static const char *place_class(enum place_kind kind)
{
	static const char *const classes[] = {
		[PLACE_MACHINE] = "node", [PLACE_NODE] = "node",     [PLACE_ROOT] = "root",
		[PLACE_GPU] = "gpu",	  [PLACE_SWITCH] = "switch", [PLACE_NIC] = "nic",
		[PLACE_DISK] = "disk",
	};

	return classes[kind];
}

/* What is shown under the pointer. */
static const char *place_tip(struct arena *a, const struct topology_place *p)
{
	const char *link = link_text(a, p);

	return arena_printf(a, "%s%s%s%s%s%s%s", p->label, *p->detail ? ", " : "", p->detail,
			    *p->address ? ", " : "", p->address, link ? ", " : "",
			    link ? link : "");
}

/* "class" of the line, ring and text of a place: how it is marked. */
static const char *mark_line(const struct topology_place *p)
{
	return !p->link_narrow ? "link" : p->degraded ? "slow" : "tight";
}

static const char *mark_ring(const struct topology_place *p)
{
	return p->degraded ? "ring" : p->spot ? "ring-tight" : NULL;
}

static const char *mark_text(const struct topology_place *p)
{
	return !p->link_narrow ? "soft" : p->degraded ? "bad" : "warn";
}

/* The number of a narrow spot in a disc around (x, y). */
static void draw_badge(struct text *t, struct arena *a, int x, int y, size_t number, bool fault)
{
	const char *label = arena_printf(a, "%zu", number);
	int w = number > 9 ? 22 : 17;

	svg_box(t, (struct box){ x - w / 2, y - 8, w, 17 }, fault ? "badge" : "badge-tight", NULL);
	svg_text(t, x, y + 4, "middle", "on-badge", 11, 60, label);
}

/* Letters are two thirds of their height wide, as svg_text reckons. */
static size_t letters(int room, int size)
{
	return room > size ? (size_t)(room * 3 / (size * 2)) : 1;
}

/* s broken into lines of room pixels, below y; the y below them. */
static int draw_wrapped(struct text *t, int x, int y, int room, int size, const char *class,
			const char *s)
{
	TEXT_AUTO lines = { 0 };
	char *line, *save = NULL;

	display_wrap(&lines, s, letters(room, size));
	for (line = lines.s ? strtok_r(lines.s, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (t)
			svg_text(t, x, y + size, "start", class, size, room + size, line);
		y += size + 5;
	}
	return y;
}

/* The numbered list of narrow spots; the y below it. Without t only measured. */
static int draw_spots(struct text *t, const struct scene *s, int x, int y, int room, int size)
{
	for (size_t i = 0; i < s->n_spots && i < SPOTS_SHOWN; i++) {
		const struct narrow *n = &s->spots[i];
		const char *what =
			arena_printf(s->a, "%s%s: %s", i == 0 && n->fault ? "Bottleneck, " : "",
				     n->name, n->reason);

		if (t)
			draw_badge(t, s->a, x + 9, y + size / 2 + 3, i + 1, n->fault);
		y = draw_wrapped(t, x + 28, y, room - 28, size, n->fault ? "bad" : "plain", what) +
		    4;
	}
	if (s->n_spots > SPOTS_SHOWN)
		y = draw_wrapped(t, x, y, room, size, "soft",
				 arena_printf(s->a,
					      "%zu more narrow spots: show topology --as tree",
					      s->n_spots - SPOTS_SHOWN));
	if (!s->n_spots && s->machine->n)
		y = draw_wrapped(t, x, y, room, size, "soft",
				 bottleneck_text(s->a, s->spots, 0, s->machine));
	return y;
}

/* --- the wide drawing ---------------------------------------------------------------------------
 * One band a NUMA node, in it layers from host bridge
 * over switches to devices, each part as wide as what hangs below it. NVLink runs below the devices
 * to the fabric. Narrow spots are numbered, and listed below with their reasons.
 */

enum {
	MARGIN = 24,
	WIDTH = 1200,
	LEAF_MIN = 76, /* pixels a device needs for its texts */
	LEAF_MAX = 132,
	LEAF_H = 62,
	BAR_H = 26,  /* host bridges and switches */
	LINK_H = 42, /* between layers: room for two lines of text */
	PAD = 10,
	HEAD_H = 64,
	NVLINK_H = 20, /* below the devices of a band */
	FABRIC_H = 62, /* the fabric with its switches */
	LEGEND_H = 34,
	SPOT_SIZE = 12,
};

struct drawing {
	struct text *t;
	struct scene s;
	const char *fabric; /* NULL: no NVLink */
	int leaf_w;
	int bus_x;   /* where NVLink runs down, at the right; 0: no NVLink */
	int first_x; /* of the GPUs with NVLink in the band at hand; 0: none yet */
	int width;
};

/* Layers of bars above the devices. */
static int bars(const struct topology_place *p)
{
	int most = 0;

	for (size_t i = 0; i < p->n; i++) {
		int n = bars(p->children[i]);

		most = n > most ? n : most;
	}
	return most + (p->kind == PLACE_ROOT || p->kind == PLACE_SWITCH);
}

/* What the link carries now and, where that is less than this end could, what it could. */
static void draw_link(struct drawing *d, const struct topology_place *p, int x, int y1, int y2,
		      int room)
{
	bool less = p->link_max && p->link && strcmp(p->link, p->link_max) != 0;
	int h = less ? 29 : 15, w = less ? (room < 92 ? room - 4 : 88) : 60;

	svg_line(d->t, x, y1, x, y2, mark_line(p));
	if (!p->link)
		return;
	/* Paper behind the text keeps it readable on its line. */
	svg_box(d->t, (struct box){ x - w / 2, y1 + (less ? 6 : 12), w, h }, "node-paper", NULL);
	svg_text(d->t, x, y1 + (less ? 18 : 24), "middle", mark_text(p), 11, room, p->link);
	if (less)
		svg_text(d->t, x, y1 + 31, "middle", mark_text(p), 10, room,
			 arena_printf(d->s.a, "of %s", p->link_max));
}

static void draw_nvlink(struct drawing *d, const struct gpu *g, int mid, int y)
{
	size_t up = nvlinks_up(g);
	bool whole = g && up == g->links.n;

	if (!d->bus_x || !g || !g->links.n)
		return;
	if (up)
		svg_line(d->t, mid, y, mid, y + NVLINK_H, whole ? "nvlink" : "slow");
	svg_text(d->t, mid + 5, y + 13, "start", whole ? "soft" : "bad", 10, d->leaf_w - 8,
		 whole ? arena_printf(d->s.a, "x%zu", up)
		       : arena_printf(d->s.a, "%zu of %zu", up, g->links.n));
	d->first_x = d->first_x || !up ? d->first_x : mid;
}

static void draw_leaf(struct drawing *d, const struct topology_place *p, int x, int top, int y)
{
	int w = d->leaf_w - 8, mid = x + d->leaf_w / 2;
	/* All domains are 0000 on most machines; where there is little room the rest says which it
	 * is. */
	const char *address =
		w < 84 && strncmp(p->address, "0000:", 5) == 0 ? p->address + 5 : p->address;

	draw_link(d, p, mid, top, y, d->leaf_w);
	svg_box(d->t, (struct box){ x + 4, y, w, LEAF_H }, place_class(p->kind),
		place_tip(d->s.a, p));
	if (mark_ring(p))
		svg_box(d->t, (struct box){ x + 3, y - 1, w + 2, LEAF_H + 2 }, mark_ring(p), NULL);
	svg_text(d->t, mid, y + 19, "middle", "strong", w < 84 && strlen(p->label) > 6 ? 11 : 13, w,
		 p->label);
	svg_text(d->t, mid, y + 36, "middle", "soft", 11, w, gpu_name_short(p->detail));
	svg_text(d->t, mid, y + 52, "middle", "soft", 10, w, address);
	if (p->spot)
		draw_badge(d->t, d->s.a, x + 8, y + 1, p->spot, p->degraded);
	draw_nvlink(d, p->gpu, mid, y + LEAF_H);
}

/* Draws p below a bar that ends at top; devices all stand at bottom. */
static void draw_place(struct drawing *d, const struct topology_place *p, int x, int top,
		       int bottom)
{
	int w = (int)p->leaves * d->leaf_w, y = top + LINK_H, at = x;

	if (!p->n && p->kind >= PLACE_GPU) {
		draw_leaf(d, p, x, top, bottom);
		return;
	}
	if (p->kind == PLACE_ROOT)
		svg_line(d->t, x + w / 2, top, x + w / 2, y, "link");
	else
		draw_link(d, p, x + w / 2, top, y, w);
	svg_box(d->t, (struct box){ x + 4, y, w - 8, BAR_H }, place_class(p->kind),
		place_tip(d->s.a, p));
	if (mark_ring(p))
		svg_box(d->t, (struct box){ x + 3, y - 1, w - 6, BAR_H + 2 }, mark_ring(p), NULL);
	svg_text(d->t, x + w / 2, y + 17, "middle", p->kind == PLACE_ROOT ? "soft" : "strong", 11,
		 w - 12,
		 p->kind == PLACE_ROOT || w < 160 ? p->label
						  : arena_printf(d->s.a, "switch %s", p->address));
	if (p->spot)
		draw_badge(d->t, d->s.a, x + 8, y + 1, p->spot, p->degraded);
	for (size_t i = 0; i < p->n; i++) {
		draw_place(d, p->children[i], at, y + BAR_H, bottom);
		at += (int)p->children[i]->leaves * d->leaf_w;
	}
}

static int band_height(const struct drawing *d, const struct topology_place *node)
{
	return HEAD_H / 2 + bars(node) * (LINK_H + BAR_H) + LINK_H + LEAF_H + PAD +
	       (d->bus_x ? NVLINK_H : 0);
}

static void draw_band(struct drawing *d, const struct topology_place *node, int y)
{
	int h = band_height(d, node), x = MARGIN + PAD;
	int bottom = y + HEAD_H / 2 + bars(node) * (LINK_H + BAR_H) + LINK_H;
	int w = d->width - 2 * MARGIN - (d->bus_x ? 24 : 0);

	svg_box(d->t, (struct box){ MARGIN, y, w, h }, "node", NULL);
	svg_text(d->t, MARGIN + PAD, y + 21, "start", "strong", 14, w - 2 * PAD,
		 arena_printf(d->s.a, "%s%s%s", node->label, *node->detail ? ": " : "",
			      node->detail));
	svg_line(d->t, MARGIN + PAD, y + HEAD_H / 2, MARGIN + w - PAD, y + HEAD_H / 2, "link");
	for (size_t i = 0; i < node->n; i++) {
		draw_place(d, node->children[i], x, y + HEAD_H / 2, bottom);
		x += (int)node->children[i]->leaves * d->leaf_w;
	}
	/* The NVLinks of a band meet in a line that leaves it to the right. */
	if (d->first_x)
		svg_line(d->t, d->first_x, bottom + LEAF_H + NVLINK_H, d->bus_x,
			 bottom + LEAF_H + NVLINK_H, "nvlink");
	d->first_x = 0;
}

/* Where the NVLinks end: the switches, with how many links lead to each. */
static void draw_fabric(struct drawing *d, int y)
{
	int w = d->width - 2 * MARGIN;
	size_t n;
	const struct nvswitch *to = nvswitches(d->s.a, d->s.m, &n);

	svg_box(d->t, (struct box){ MARGIN, y, w, n ? FABRIC_H : BAR_H }, "fabric", NULL);
	svg_text(d->t, d->width / 2, y + 17, "middle", "strong", 12, w - 80, d->fabric);
	for (size_t i = 0; i < n; i++) {
		int each = (w - 2 * PAD) / (int)n, x = MARGIN + PAD + (int)i * each;

		svg_box(d->t, (struct box){ x + 4, y + 26, each - 8, 28 }, "nvswitch", NULL);
		svg_text(d->t, x + each / 2, y + 44, "middle", "plain", 11, each - 12,
			 arena_printf(d->s.a, "%s: %zu links", to[i].address, to[i].links));
	}
}

static int fabric_height(const struct drawing *d)
{
	size_t n;

	if (!d->bus_x)
		return 0;
	nvswitches(d->s.a, d->s.m, &n);
	return (n ? FABRIC_H : BAR_H) + PAD;
}

static void svg_topology_legend(struct drawing *d, int y)
{
	static const struct {
		const char *class, *text;
		bool line;
	} rows[] = {
		{ "gpu", "GPU", false },
		{ "nic", "network", false },
		{ "disk", "NVMe", false },
		{ "switch", "PCIe switch", false },
		{ "root", "host bridge", false },
		{ "link", "PCIe link", true },
		{ "slow", "slower than both ends support", true },
		{ "tight", "narrow by design", true },
		{ "nvlink", "NVLink", true },
	};
	int x = MARGIN;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].line)
			svg_line(d->t, x, y + 7, x + 22, y + 7, rows[i].class);
		else
			svg_box(d->t, (struct box){ x, y, 22, 14 }, rows[i].class, NULL);
		svg_text(d->t, x + 28, y + 12, "start", "soft", 12, 400, rows[i].text);
		x += 52 + (int)strlen(rows[i].text) * 7;
	}
}

static int bands_height(const struct drawing *d)
{
	int h = 0;

	for (size_t i = 0; i < d->s.machine->n; i++)
		h += band_height(d, d->s.machine->children[i]) + PAD;
	return h;
}

static void draw_machine(struct drawing *d)
{
	const struct topology_place *machine = d->s.machine;
	int y = HEAD_H;

	if (d->bus_x) {
		int from = HEAD_H + band_height(d, machine->children[0]) - PAD;

		svg_line(d->t, d->bus_x, from, d->bus_x, HEAD_H + bands_height(d), "nvlink");
		draw_fabric(d, HEAD_H + bands_height(d));
	}
	for (size_t i = 0; i < machine->n; i++) {
		draw_band(d, machine->children[i], y);
		y += band_height(d, machine->children[i]) + PAD;
	}
	y += fabric_height(d);
	draw_spots(d->t, &d->s, MARGIN, y, d->width - 2 * MARGIN, SPOT_SIZE);
}

static void svg_topology_measure(struct drawing *d)
{
	const struct topology_place *machine = d->s.machine;
	int most = 1, room;

	d->fabric = fabric_text(d->s.a, d->s.m);
	room = WIDTH - 2 * MARGIN - 2 * PAD - (d->fabric ? 24 : 0);
	for (size_t i = 0; i < machine->n; i++) {
		int n = (int)machine->children[i]->leaves;

		most = n > most ? n : most;
	}
	d->leaf_w = room / most < LEAF_MIN   ? LEAF_MIN
		    : room / most > LEAF_MAX ? LEAF_MAX
					     : room / most;
	d->width = d->leaf_w * most > room ? d->leaf_w * most + WIDTH - room : WIDTH;
	d->bus_x = d->fabric && machine->n ? d->width - MARGIN - 8 : 0;
}

const char *svg_topology(struct arena *a, const struct machine *m)
{
	TEXT_AUTO t = { 0 };
	struct drawing d = { .t = &t, .s = scene_of(a, m) };
	int below;

	svg_topology_measure(&d);
	below = draw_spots(NULL, &d.s, MARGIN, HEAD_H + bands_height(&d) + fabric_height(&d),
			   d.width - 2 * MARGIN, SPOT_SIZE) +
		PAD;
	svg_begin(&t, d.width, below + LEGEND_H, arena_printf(a, "Topology of %s", d.s.name),
		  topology_words(a, m, d.s.machine, d.s.spots, d.s.n_spots));
	svg_text(&t, MARGIN, 30, "start", "strong", 18, d.width - 2 * MARGIN,
		 arena_printf(a, "Topology of %s", d.s.name));
	svg_text(&t, MARGIN, 50, "start", "soft", 12, d.width - 2 * MARGIN,
		 d.s.machine->n ? "PCIe links at their current speed, upwards from each device, "
				  "relative to what the device supports."
				: "No GPU, network adapter or NVMe disk found on the PCI bus.");
	draw_machine(&d);
	svg_topology_legend(&d, below);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}

/*
 * The tall drawing of a machine's topology, for a telephone: one line a device, indented below what
 * it hangs from, with its link at the right. What is narrow says why right there.
 */

enum {
	TALL_WIDTH = 360,
	TALL_MARGIN = 10,
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
static void draw_reason(struct strip *c, const struct topology_place *p, int x)
{
	const struct narrow *n = &c->s.spots[p->spot - 1];
	const char *why = arena_printf(c->s.a, "%s%s",
				       p->spot == 1 && n->fault ? "Bottleneck: " : "", n->reason);

	if (c->t)
		draw_badge(c->t, c->s.a, x + 9, c->y + 10, p->spot, n->fault);
	c->y = draw_wrapped(c->t, x + 26, c->y, TALL_WIDTH - TALL_MARGIN - x - 26, SIZE - 1,
			    n->fault ? "bad" : "warn", why) +
	       GAP;
}

static const char *second_line(struct strip *c, const struct topology_place *p)
{
	size_t up = nvlinks_up(p->gpu);

	if (p->gpu && p->gpu->links.n && c->s.m->gpu.gpus.n > 1)
		return arena_printf(c->s.a, "%s, %zu of %zu NVLinks",
				    strncmp(p->address, "0000:", 5) == 0 ? p->address + 5
									 : p->address,
				    up, p->gpu->links.n);
	return p->address;
}

static void draw_row(struct strip *c, const struct topology_place *p, int x)
{
	struct box b = { x, c->y, TALL_WIDTH - TALL_MARGIN - x, p->n ? NODE_H - 4 : ROW_H };
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

static void tall_draw_place(struct strip *c, const struct topology_place *p, int depth)
{
	int x = TALL_MARGIN + STEP * (depth < DEEPEST ? depth : DEEPEST), from;

	draw_row(c, p, x);
	c->y += (p->n ? NODE_H - 4 : ROW_H) + GAP;
	if (p->spot)
		draw_reason(c, p, x);
	from = c->y;
	for (size_t i = 0; i < p->n; i++)
		tall_draw_place(c, p->children[i], depth + 1);
	/* A line at the left holds together what hangs from one thing. */
	if (c->t && p->n && depth < DEEPEST)
		svg_line(c->t, x + 5, from - GAP, x + 5, c->y - GAP - 2, "link");
}

static void svg_topology_draw_node(struct strip *c, const struct topology_place *node)
{
	if (c->t)
		svg_text(c->t, TALL_MARGIN, c->y + 19, "start", "strong", 14,
			 TALL_WIDTH - 2 * TALL_MARGIN, node->label);
	c->y = draw_wrapped(c->t, TALL_MARGIN, c->y + 22, TALL_WIDTH - 2 * TALL_MARGIN, SIZE - 1,
			    "soft", node->detail) +
	       GAP;
	for (size_t i = 0; i < node->n; i++)
		tall_draw_place(c, node->children[i], 0);
	c->y += GAP * 2;
}

static void tall_draw_fabric(struct strip *c)
{
	const char *fabric = fabric_text(c->s.a, c->s.m);
	size_t n;
	const struct nvswitch *to = nvswitches(c->s.a, c->s.m, &n);

	if (!fabric)
		return;
	c->y = draw_wrapped(c->t, TALL_MARGIN, c->y, TALL_WIDTH - 2 * TALL_MARGIN, SIZE, "strong",
			    fabric) +
	       GAP;
	for (size_t i = 0; i < n; i++) {
		struct box b = { TALL_MARGIN, c->y, TALL_WIDTH - 2 * TALL_MARGIN, NODE_H - 4 };

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
	struct strip c = { .t = t, .s = s, .y = TALL_MARGIN };

	c.y = draw_wrapped(t, TALL_MARGIN, c.y, TALL_WIDTH - 2 * TALL_MARGIN, 16, "strong",
			   arena_printf(s.a, "Topology of %s", s.name));
	c.y = draw_wrapped(t, TALL_MARGIN, c.y, TALL_WIDTH - 2 * TALL_MARGIN, SIZE, "soft",
			   s.machine->n
				   ? "PCIe links at their current speed, relative to what the "
				     "device supports."
				   : "No GPU, network adapter or NVMe disk found on the PCI bus.") +
	      GAP;
	if (s.machine->n)
		c.y = draw_wrapped(t, TALL_MARGIN, c.y, TALL_WIDTH - 2 * TALL_MARGIN, SIZE,
				   s.n_spots && s.spots[0].fault ? "bad" : "plain",
				   bottleneck_text(s.a, s.spots, s.n_spots, s.machine)) +
		      GAP;
	for (size_t i = 0; i < s.machine->n; i++)
		svg_topology_draw_node(&c, s.machine->children[i]);
	tall_draw_fabric(&c);
	return c.y + TALL_MARGIN;
}

const char *svg_topology_tall(struct arena *a, const struct machine *m)
{
	struct scene s = scene_of(a, m);
	TEXT_AUTO t = { 0 };

	svg_begin(&t, TALL_WIDTH, draw_all(NULL, s), arena_printf(a, "Topology of %s", s.name),
		  topology_words(a, m, s.machine, s.spots, s.n_spots));
	draw_all(&t, s);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}
