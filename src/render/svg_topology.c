/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wide drawing of a machine's topology: one band a NUMA node, in it layers from host bridge
 * over switches to devices, each part as wide as what hangs below it. NVLink runs below the devices
 * to the fabric. Narrow spots are numbered, and listed below with their reasons.
 */
#include "render/svg.h"

#include <string.h>

#include "machine/model/gpu.h"
#include "render/figure.h"
#include "render/svg_shape.h"
#include "render/svg_topology_part.h"

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
static int bars(const struct place *p)
{
	int most = 0;

	for (size_t i = 0; i < p->n; i++) {
		int n = bars(p->children[i]);

		most = n > most ? n : most;
	}
	return most + (p->kind == PLACE_ROOT || p->kind == PLACE_SWITCH);
}

/* What the link carries now and, where that is less than this end could, what it could. */
static void draw_link(struct drawing *d, const struct place *p, int x, int y1, int y2, int room)
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

static void draw_leaf(struct drawing *d, const struct place *p, int x, int top, int y)
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
static void draw_place(struct drawing *d, const struct place *p, int x, int top, int bottom)
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

static int band_height(const struct drawing *d, const struct place *node)
{
	return HEAD_H / 2 + bars(node) * (LINK_H + BAR_H) + LINK_H + LEAF_H + PAD +
	       (d->bus_x ? NVLINK_H : 0);
}

static void draw_band(struct drawing *d, const struct place *node, int y)
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

static void legend(struct drawing *d, int y)
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
		{ "slow", "slower than both ends can", true },
		{ "tight", "narrow as it is built", true },
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
	const struct place *machine = d->s.machine;
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

static void measure(struct drawing *d)
{
	const struct place *machine = d->s.machine;
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

	measure(&d);
	below = draw_spots(NULL, &d.s, MARGIN, HEAD_H + bands_height(&d) + fabric_height(&d),
			   d.width - 2 * MARGIN, SPOT_SIZE) +
		PAD;
	svg_begin(&t, d.width, below + LEGEND_H, arena_printf(a, "Topology of %s", d.s.name),
		  topology_words(a, m, d.s.machine, d.s.spots, d.s.n_spots));
	svg_text(&t, MARGIN, 30, "start", "strong", 18, d.width - 2 * MARGIN,
		 arena_printf(a, "Topology of %s", d.s.name));
	svg_text(&t, MARGIN, 50, "start", "soft", 12, d.width - 2 * MARGIN,
		 d.s.machine->n ? "PCIe links as they are now, upwards from each device, of what "
				  "the device can."
				: "No GPU, network adapter or NVMe disk was seen on the PCI bus.");
	draw_machine(&d);
	legend(&d, below);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}
