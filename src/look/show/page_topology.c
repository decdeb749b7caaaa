/* SPDX-License-Identifier: Apache-2.0 */
/* show topology: how near every two devices are, in the words of nvidia-smi, and the drawing. */
#include <string.h>

#include "machine/model/topology.h"
#include "base/text.h"
#include "render/figure.h"
#include "look/show/page.h"
#include "render/topology.h"

/* More than any machine has; a table beyond it says nothing to a reader. */
enum { ENDPOINTS_MAX = 96 };

static const char *class_text(struct arena *a, const struct machine *m, const struct endpoint *x,
			      const struct endpoint *y, enum path_class c)
{
	if (c == PATH_NV && x->gpu && y->gpu)
		return arena_printf(a, "NV%zu", topology_nvlinks(m, x->gpu, y->gpu));
	return path_class_name(c);
}

static struct cell class_cell(struct doc *d, const struct machine *m, const struct endpoint *x,
			      const struct endpoint *y)
{
	static const enum style styles[] = {
		[PATH_SELF] = STYLE_MUTED, [PATH_NV] = STYLE_GOOD,
		[PATH_PIX] = STYLE_GOOD,   [PATH_PXB] = STYLE_GOOD,
		[PATH_PHB] = STYLE_PLAIN,  [PATH_NODE] = STYLE_PLAIN,
		[PATH_SYS] = STYLE_WARN,   [PATH_UNKNOWN] = STYLE_UNKNOWN,
	};
	enum path_class c = x == y ? PATH_SELF : topology_between(m, x, y);

	return cell_as(styles[c], class_text(d->arena, m, x, y, c));
}

/* A machine with one node need not say which a device belongs to. */
static const struct numa_node *topology_page_node_of(const struct machine *m,
						     const struct endpoint *e)
{
	const struct pci_function *f = machine_pci(m, e->pci);
	long long index = f ? fact_or(&f->numa_node, -1) : -1;

	LIST_FOR_EACH (struct numa_node, n, &m->cpu.nodes)
		if (n->index == index || (index < 0 && m->cpu.nodes.n == 1))
			return n;
	return NULL;
}

/* NICs have long names; in the table they are numbered, as nvidia-smi does, and named below it. */
static const char **short_names(struct arena *a, const struct machine *m,
				const struct endpoint *list, size_t n)
{
	const char **names = arena_array(a, n, sizeof(*names));
	size_t nics = 0;

	for (size_t i = 0; i < n; i++)
		names[i] = list[i].gpu || machine_disk(m, list[i].name)
				   ? list[i].name
				   : arena_printf(a, "NIC%zu", nics++);
	return names;
}

static void matrix(struct doc *d, const struct machine *m, const struct endpoint *list, size_t n,
		   const char **names)
{
	struct column *columns = arena_array(d->arena, n + 2, sizeof(*columns));
	struct node *t;

	columns[0].title = "";
	for (size_t i = 0; i < n; i++)
		columns[i + 1].title = names[i];
	columns[n + 1].title = "NUMA";
	t = doc_table(d, NULL, columns, n + 2);
	for (size_t i = 0; i < n; i++) {
		const struct numa_node *node = topology_page_node_of(m, &list[i]);
		struct cell *row = node_row(d, t);

		row[0] = cell_as(STYLE_STRONG, names[i]);
		for (size_t k = 0; k < n; k++)
			row[k + 1] = class_cell(d, m, &list[i], &list[k]);
		if (node)
			row[n + 1] = cellf(d, "%u", node->index);
	}
	node_drop_empty(t);
}

/* Which CPUs stand beside which devices. */
static void affinity(struct doc *d, const struct machine *m, const struct endpoint *list, size_t n,
		     const char **names)
{
	struct node *t = DOC_TABLE(d, "CPUs near", "NUMA", "~CPUs", "~Devices");

	LIST_FOR_EACH (struct numa_node, node, &m->cpu.nodes) {
		TEXT_AUTO near = { 0 };

		for (size_t i = 0; i < n; i++)
			if (topology_page_node_of(m, &list[i]) == node)
				text_printf(&near, "%s%s", near.len ? " " : "", names[i]);
		if (!near.len)
			continue;
		NODE_ROW(d, t, cellf(d, "%u", node->index), cell_set(d, &node->cpus),
			 cell(arena_strndup(d->arena, near.s, near.len)));
	}
}

static void topology_page_nearest(struct doc *d, const struct machine *m,
				  const struct endpoint *list, size_t n, const char **names)
{
	struct node *t = DOC_TABLE(d, "Nearest network adapter", "GPU", "Nearest NIC", "Path");

	for (size_t i = 0; i < n; i++) {
		const struct endpoint *nic =
			list[i].gpu ? topology_nearest_nic(m, list, n, list[i].gpu) : NULL;

		if (!nic)
			continue;
		NODE_ROW(d, t, cell(names[i]), cell(nic->name), class_cell(d, m, &list[i], nic));
	}
}

static void topology_page_legend(struct doc *d, const struct endpoint *list, size_t n,
				 const char **names)
{
	static const char *const classes[][2] = {
		{ "NV#", "# NVLinks" },
		{ "PIX", "at most one PCIe switch" },
		{ "PXB", "several PCIe switches, not the host bridge" },
		{ "PHB", "the PCIe host bridge" },
		{ "NODE", "host bridges of one NUMA node" },
		{ "SYS", "the link between NUMA nodes" },
	};
	struct node *p = doc_pairs(d, "Network adapters");

	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], list[i].name) != 0)
			node_pairf(d, p, names[i], "%s, %s", list[i].name, list[i].pci);
	p = doc_pairs(d, "Path by link class, near to far");
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		node_pair(d, p, classes[i][0], cell(classes[i][1]));
}

struct doc *page_topology(struct arena *a, const struct machine *m)
{
	struct doc *d = doc_new(a);
	size_t n;
	const struct endpoint *list = topology_endpoints(a, m, &n);
	const char **names;

	doc_heading(d, 1, "Topology");
	if (!n) {
		doc_text(d, "No GPU, network adapter or NVMe disk found on the PCI bus.");
		return d;
	}
	doc_figure(d, NULL,
		   arena_printf(a,
				"<div class=\"broad\">\n%s</div>\n<div class=\"tall\">\n%s</div>\n",
				svg_topology(a, m), svg_topology_tall(a, m)),
		   NULL);
	if (n > ENDPOINTS_MAX) {
		doc_text(d, "%zu devices; the table shows the first %d.", n, ENDPOINTS_MAX);
		n = ENDPOINTS_MAX;
	}
	names = short_names(a, m, list, n);
	matrix(d, m, list, n, names);
	affinity(d, m, list, n, names);
	topology_page_nearest(d, m, list, n, names);
	if (n > 1)
		topology_page_legend(d, list, n, names);
	return d;
}

/* show topology --as tree: from each NUMA node down to its devices, with every link on the way, the
 * NVLinks, and what is narrow. */

static const char *spot_text(struct doc *d, const struct topology_place *p)
{
	if (!p->spot)
		return NULL;
	return arena_printf(d->arena, p->spot == 1 && p->degraded ? "<- %zu, bottleneck" : "<- %zu",
			    p->spot);
}

static void topology_page_add(struct doc *d, struct node *t, const struct topology_place *p,
			      unsigned depth)
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
		topology_page_add(d, t, p->children[i], depth + 1);
}

static void topology_page_nvlinks(struct doc *d, const struct machine *m)
{
	struct node *t;

	if (!fabric_text(d->arena, m))
		return;
	t = DOC_TABLE(d, fabric_text(d->arena, m), "GPU", "NVLinks up", ">Each link, one direction",
		      "~Peers");
	LIST_FOR_EACH (struct gpu, g, &m->gpu.gpus) {
		size_t up = nvlinks_up(g);
		long long speed = 0;

		if (!g->links.n)
			continue;
		LIST_FOR_EACH (struct nvlink, l, &g->links)
			speed = fact_or(&l->active, 0) ? fact_or(&l->speed_mbs, speed) : speed;
		NODE_ROW(d, t, cellf(d, "GPU %u", g->index),
			 cell_printf(d, up < g->links.n ? STYLE_BAD : STYLE_PLAIN, "%zu of %zu", up,
				     g->links.n),
			 cell(speed ? figure(d->arena, "MB/s", speed) : NULL),
			 cell(nvlink_ends(d->arena, m, g)));
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

static void topology_page_narrow(struct doc *d, const struct narrow *spots, size_t n)
{
	struct node *t = DOC_TABLE(d, "Narrow spots, one direction, without packet headers", ">",
				   "Narrow spot", ">Carries", ">Could", "~Why");

	for (size_t i = 0; i < n; i++)
		NODE_ROW(d, t, cellf(d, "%zu", i + 1),
			 cell_as(spots[i].fault ? STYLE_BAD : STYLE_PLAIN, spots[i].name),
			 cell(amount(d, &spots[i], spots[i].now)),
			 cell(amount(d, &spots[i], spots[i].could)), cell(spots[i].reason));
	node_drop_empty(t);
}

struct doc *page_topology_tree(struct arena *a, const struct machine *m)
{
	size_t n;
	const struct narrow *spots = narrow_spots(a, m, &n);
	const struct topology_place *machine = places_of(a, m, spots, n);
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Topology");
	if (!machine->n)
		doc_text(d, "No GPU, network adapter or NVMe disk found on the PCI bus.");
	else
		doc_text(d, "%s", bottleneck_text(a, spots, n, machine));
	t = DOC_TREE(d, NULL, "Place", "~What", "Link", "At most", "PCI", "Narrow");
	for (size_t i = 0; i < machine->n; i++)
		topology_page_add(d, t, machine->children[i], 0);
	node_drop_empty(t);
	topology_page_nvlinks(d, m);
	topology_page_narrow(d, spots, n);
	return d;
}
