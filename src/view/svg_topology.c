/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drawing of a machine's topology: one band a NUMA node, in it layers from host bridge over
 * switches to devices, each part as wide as what hangs below it. NVLink runs below the devices to
 * the fabric.
 */
#include "view/svg.h"

#include <string.h>

#include "view/figure.h"
#include "view/places.h"
#include "view/svg_shape.h"

enum {
	MARGIN = 24,
	WIDTH = 1200,
	LEAF_MIN = 76, /* pixels a device needs for its texts */
	LEAF_MAX = 132,
	LEAF_H = 62,
	BAR_H = 26,  /* host bridges and switches */
	LINK_H = 40, /* between layers: room for two lines of text */
	PAD = 10,
	HEAD_H = 64,
	NVLINK_H = 18, /* below the devices of a band */
	LEGEND_H = 56,
};

struct drawing {
	struct text *t;
	struct arena *a;
	const struct machine *m;
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

static size_t active_links(const struct gpu *g, const char **remote)
{
	size_t n = 0;

	if (!g)
		return 0;
	LIST_FOR_EACH (struct nvlink, l, &g->links) {
		if (!fact_or(&l->active, 0))
			continue;
		*remote = fact_text(&l->remote_type, *remote);
		n++;
	}
	return n;
}

static const char *tip(struct drawing *d, const struct place *p)
{
	return arena_printf(d->a, "%s%s%s%s%s%s%s%s%s", p->label, *p->detail ? ", " : "", p->detail,
			    *p->address ? ", " : "", p->address, p->link ? ", " : "",
			    p->link ? p->link : "", p->degraded && p->link_max ? " of " : "",
			    p->degraded && p->link_max ? p->link_max : "");
}

static void draw_link(struct drawing *d, const struct place *p, int x, int y1, int y2, int room)
{
	svg_line(d->t, x, y1, x, y2, p->degraded ? "slow" : "link");
	if (!p->link)
		return;
	/* Paper behind the text keeps it readable on its line. */
	if (p->degraded && p->link_max) {
		svg_box(d->t, (struct box){ x - room / 2 + 2, y1 + 5, room - 4, 29 }, "node-paper",
			NULL);
		svg_text(d->t, x, y1 + 17, "middle", "bad", 11, room, p->link);
		svg_text(d->t, x, y1 + 30, "middle", "bad", 10, room,
			 arena_printf(d->a, "of %s", p->link_max));
		return;
	}
	svg_box(d->t, (struct box){ x - 30, y1 + 12, 60, 15 }, "node-paper", NULL);
	svg_text(d->t, x, y1 + 23, "middle", "soft", 11, room, p->link);
}

static void draw_leaf(struct drawing *d, const struct place *p, int x, int top, int y)
{
	static const char *const classes[] = {
		[PLACE_GPU] = "gpu", [PLACE_NIC] = "nic", [PLACE_DISK] = "disk"
	};
	int w = d->leaf_w - 8, mid = x + d->leaf_w / 2;
	/* All domains are 0000 on most machines; where there is little room the rest says which it
	 * is. */
	const char *address =
		w < 84 && strncmp(p->address, "0000:", 5) == 0 ? p->address + 5 : p->address;
	const char *remote = NULL;

	draw_link(d, p, mid, top, y, d->leaf_w);
	svg_box(d->t, (struct box){ x + 4, y, w, LEAF_H }, classes[p->kind], tip(d, p));
	if (p->degraded)
		svg_box(d->t, (struct box){ x + 3, y - 1, w + 2, LEAF_H + 2 }, "ring", NULL);
	svg_text(d->t, mid, y + 19, "middle", "strong", 13, w, p->label);
	svg_text(d->t, mid, y + 36, "middle", "soft", 11, w,
		 strncmp(p->detail, "NVIDIA ", 7) == 0 ? p->detail + 7 : p->detail);
	svg_text(d->t, mid, y + 52, "middle", "soft", 10, w, address);
	if (!d->bus_x || !active_links(p->gpu, &remote))
		return;
	svg_line(d->t, mid, y + LEAF_H, mid, y + LEAF_H + NVLINK_H, "nvlink");
	d->first_x = d->first_x ? d->first_x : mid;
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
	svg_box(d->t, (struct box){ x + 4, y, w - 8, BAR_H },
		p->kind == PLACE_ROOT ? "root" : "switch", tip(d, p));
	svg_text(d->t, x + w / 2, y + 17, "middle", p->kind == PLACE_ROOT ? "soft" : "strong", 11,
		 w - 12,
		 p->kind == PLACE_ROOT || w < 160 ? p->label
						  : arena_printf(d->a, "switch %s", p->address));
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
	svg_text(
		d->t, MARGIN + PAD, y + 21, "start", "strong", 14, w - 2 * PAD,
		arena_printf(d->a, "%s%s%s", node->label, *node->detail ? ": " : "", node->detail));
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

/* "NVSwitch: 8 GPUs, 18 links each" */
static const char *fabric_text(struct arena *a, const struct machine *m)
{
	size_t gpus = 0, fewest = (size_t)-1, most = 0;
	const char *remote = NULL;
	long long speed = 0;

	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		size_t n = active_links(g, &remote);

		if (!n)
			continue;
		gpus++;
		fewest = n < fewest ? n : fewest;
		most = n > most ? n : most;
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			speed = fact_or(&l->active, 0) ? fact_or(&l->speed_mbs, speed) : speed;
	}
	if (!gpus)
		return NULL;
	return arena_printf(
		a, "%s: %zu GPUs, %zu%s%s links each%s%s%s",
		remote && strcmp(remote, "switch") == 0 ? "NVSwitch" : "NVLink between GPUs", gpus,
		fewest, most > fewest ? " to " : "",
		most > fewest ? arena_printf(a, "%zu", most) : "", speed ? ", " : "",
		speed ? figure(a, "MB/s", speed) : "", speed ? " a link and direction" : "");
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
		{ "slow", "slower than the device can", true },
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

static int height_of(const struct drawing *d, const struct place *machine)
{
	int h = HEAD_H + LEGEND_H + (d->bus_x ? BAR_H + 2 * PAD : 0);

	for (size_t i = 0; i < machine->n; i++)
		h += band_height(d, machine->children[i]) + PAD;
	return h;
}

static void draw_machine(struct drawing *d, const struct place *machine, const char *fabric)
{
	int y = HEAD_H;

	if (d->bus_x) {
		int end = height_of(d, machine) - LEGEND_H - BAR_H - PAD;
		int from = HEAD_H + band_height(d, machine->children[0]) - PAD;

		svg_line(d->t, d->bus_x, from, d->bus_x, end, "nvlink");
		svg_box(d->t, (struct box){ MARGIN, end, d->width - 2 * MARGIN, BAR_H }, "fabric",
			NULL);
		svg_text(d->t, d->width / 2, end + 17, "middle", "strong", 12, d->width - 80,
			 fabric);
	}
	for (size_t i = 0; i < machine->n; i++) {
		draw_band(d, machine->children[i], y);
		y += band_height(d, machine->children[i]) + PAD;
	}
}

const char *svg_topology(struct arena *a, const struct machine *m)
{
	const struct place *machine = places_of(a, m);
	const char *fabric = fabric_text(a, m),
		   *name = fact_text(&m->platform.product, "this machine");
	TEXT_AUTO t = { 0 };
	struct drawing d = { .t = &t, .a = a, .m = m };
	int most = 1, room = WIDTH - 2 * MARGIN - 2 * PAD - (fabric ? 24 : 0);

	for (size_t i = 0; i < machine->n; i++) {
		int n = (int)machine->children[i]->leaves;

		most = n > most ? n : most;
	}
	d.leaf_w = room / most < LEAF_MIN   ? LEAF_MIN
		   : room / most > LEAF_MAX ? LEAF_MAX
					    : room / most;
	d.width = d.leaf_w * most > room ? d.leaf_w * most + WIDTH - room : WIDTH;
	d.bus_x = fabric && machine->n ? d.width - MARGIN - 8 : 0;
	svg_begin(&t, d.width, height_of(&d, machine), arena_printf(a, "Topology of %s", name),
		  "NUMA nodes, host bridges, PCIe switches, GPUs, network adapters and NVMe disks "
		  "with their links");
	svg_text(&t, MARGIN, 30, "start", "strong", 18, d.width - 2 * MARGIN,
		 arena_printf(a, "Topology of %s", name));
	svg_text(&t, MARGIN, 50, "start", "soft", 12, d.width - 2 * MARGIN,
		 machine->n ? "PCIe links as they are now, upwards from each device."
			    : "No GPU, network adapter or NVMe disk was seen on the PCI bus.");
	draw_machine(&d, machine, fabric);
	legend(&d, height_of(&d, machine) - LEGEND_H + 20);
	svg_end(&t);
	return arena_strndup(a, t.s, t.len);
}
