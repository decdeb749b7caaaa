/* SPDX-License-Identifier: Apache-2.0 */
/* show topology --as tree: from each NUMA node down to its devices, with every link on the way, the
 * NVLinks, and what is narrow. */
#include "render/figure.h"
#include "look/show/page.h"
#include "render/topology_text.h"

static const char *spot_text(struct doc *d, const struct place *p)
{
	if (!p->spot)
		return NULL;
	return arena_printf(d->arena, p->spot == 1 && p->degraded ? "<- %zu, bottleneck" : "<- %zu",
			    p->spot);
}

static void add(struct doc *d, struct node *t, const struct place *p, unsigned depth)
{
	enum style marked = p->degraded ? STYLE_BAD
			    : p->spot	? STYLE_WARN
					: STYLE_PLAIN,
		   link = p->link_narrow ? marked : STYLE_PLAIN;
	struct cell *row = node_branch(d, t, depth);

	row[0] = cell_as(p->kind < PLACE_GPU ? STYLE_STRONG : STYLE_PLAIN, p->label);
	row[1] = cell(p->detail);
	if (p->link)
		row[2] = cell_as(link, p->link);
	if (p->link_max)
		row[3] = cell_as(p->link_narrow ? link : STYLE_MUTED, p->link_max);
	row[4] = cell(p->address);
	row[5] = cell_as(marked, spot_text(d, p));
	for (size_t i = 0; i < p->n; i++)
		add(d, t, p->children[i], depth + 1);
}

static void nvlinks(struct doc *d, const struct machine *m)
{
	static const struct column columns[] = {
		{ "GPU", false, false },
		{ "NVLinks up", false, false },
		{ "Each, one way", true, false },
		{ "Where they lead", false, true },
	};
	struct node *t;

	if (!fabric_text(d->arena, m))
		return;
	t = doc_table(d, fabric_text(d->arena, m), columns, 4);
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		size_t up = nvlinks_up(g);
		struct cell *row;
		long long speed = 0;

		if (!g->links.n)
			continue;
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			speed = fact_or(&l->active, 0) ? fact_or(&l->speed_mbs, speed) : speed;
		row = node_row(d, t);
		row[0] = cell_printf(d, STYLE_PLAIN, "GPU %u", g->index);
		row[1] = cell_printf(d, up < g->links.n ? STYLE_BAD : STYLE_PLAIN, "%zu of %zu", up,
				     g->links.n);
		row[2] = cell(speed ? figure(d->arena, "MB/s", speed) : NULL);
		row[3] = cell(nvlink_ends(d->arena, m, g));
	}
	node_drop_empty(t);
}

static const char *amount(struct doc *d, const struct narrow *s, double v)
{
	if (s->could <= 0)
		return NULL;
	/* A capture may claim any rate. */
	return s->kind == NARROW_NVLINK
		       ? arena_printf(d->arena, "%.0f links", v)
		       : figure(d->arena, "MB/s",
				v < 1e15 ? (long long)(v + 0.5) : 1000000000000000);
}

static void narrow(struct doc *d, const struct narrow *spots, size_t n)
{
	static const struct column columns[] = {
		{ "", true, false },	  { "Narrow at", false, false }, { "Carries", true, false },
		{ "Could", true, false }, { "Why", false, true },
	};
	struct node *t = doc_table(d, "Narrow spots, one way, before packet headers", columns, 5);

	for (size_t i = 0; i < n; i++) {
		struct cell *row = node_row(d, t);

		row[0] = cell_printf(d, STYLE_PLAIN, "%zu", i + 1);
		row[1] = cell_as(spots[i].fault ? STYLE_BAD : STYLE_PLAIN, spots[i].name);
		row[2] = cell(amount(d, &spots[i], spots[i].now));
		row[3] = cell(amount(d, &spots[i], spots[i].could));
		row[4] = cell(spots[i].reason);
	}
	node_drop_empty(t);
}

struct doc *page_topology_tree(struct arena *a, const struct machine *m)
{
	static const struct column columns[] = {
		{ "Place", false, false },   { "What", false, true }, { "Link", false, false },
		{ "At most", false, false }, { "PCI", false, false }, { "Narrow", false, false },
	};
	size_t n;
	const struct narrow *spots = narrow_spots(a, m, &n);
	const struct place *machine = places_of(a, m, spots, n);
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Topology");
	if (!machine->n)
		doc_text(d, "No GPU, network adapter or NVMe disk was seen on the PCI bus.");
	else
		doc_text(d, "%s", bottleneck_text(a, spots, n, machine));
	t = doc_tree(d, NULL, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < machine->n; i++)
		add(d, t, machine->children[i], 0);
	node_drop_empty(t);
	nvlinks(d, m);
	narrow(d, spots, n);
	return d;
}
