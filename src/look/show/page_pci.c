/* SPDX-License-Identifier: Apache-2.0 */
/* show pci: the tree below each host bridge, with every link now and at most. */
#include <stdlib.h>
#include <string.h>

#include "render/figure.h"
#include "look/show/page.h"
#include "render/pci_name.h"

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* By place in the tree: a bridge before what lies behind it. */
static int by_path(const void *a, const void *b)
{
	const struct pci_function *x = *(const struct pci_function *const *)a;
	const struct pci_function *y = *(const struct pci_function *const *)b;
	int r = strcmp(text_or_empty(x->path), text_or_empty(y->path));

	return r ? r : strcmp(text_or_empty(x->name), text_or_empty(y->name));
}

/* Below what its link can do; the slower end decides, and that may be either. */
static bool link_degraded(const struct pci_function *f)
{
	return (seen_ok(&f->speed_mts.f) && seen_ok(&f->max_speed_mts.f) &&
		f->speed_mts.v < f->max_speed_mts.v) ||
	       (seen_ok(&f->width.f) && seen_ok(&f->max_width.f) && f->width.v < f->max_width.v);
}

/* "Gen5 x16"; where it is less, also of what: "Gen5 x8 of x16", "Gen1 x16 of Gen5", "Gen4 x8 of
 * Gen5 x16". */
static struct cell link_cell(struct doc *d, const struct pci_function *f)
{
	const char *now = figure_link(d->arena, &f->speed_mts, &f->width);
	const char *most = figure_link(d->arena, &f->max_speed_mts, &f->max_width);

	if (!now)
		return cell_unseen(&f->speed_mts.f);
	if (!most || !link_degraded(f))
		return cell(now);
	if (f->speed_mts.v == f->max_speed_mts.v)
		most = strchr(most, 'x') ? strchr(most, 'x') : most;
	else if (f->width.v == f->max_width.v)
		most = arena_strndup(d->arena, most, strcspn(most, " "));
	return cell_printf(d, STYLE_WARN, "%s of %s", now, most);
}

/* Conventional functions have none of this; a dash keeps them out of the way. */
static struct cell quiet(struct cell c)
{
	return c.nothing ? (struct cell){ .text = "-", .style = STYLE_MUTED, .nothing = true } : c;
}

static void function_row(struct doc *d, struct cell *row, const struct pci_function *f)
{
	row[0] = cell(text_or_empty(f->name));
	row[1] = cell(pci_name(d->arena, f));
	row[2] = quiet(link_cell(d, f));
	row[3] = quiet(cell_now_max(d, &f->mps, &f->mps_cap, NULL));
	row[4] = quiet(cell_int(d, &f->mrrs, NULL));
	row[5] = quiet(cell_str(&f->driver));
	row[6] = fact_or(&f->numa_node, 0) < 0 ? quiet((struct cell){ .nothing = true })
					       : quiet(cell_int(d, &f->numa_node, NULL));
	row[7] = quiet(cell_int(d, &f->iommu_group, NULL));
}

/* How many of the bridges on the way down to the last row are also above f; the way is cut to them.
 */
static size_t depth_of(const char **way, size_t n, const struct pci_function *f)
{
	while (n && strcmp(way[n - 1], text_or_empty(f->parent)) != 0)
		n--;
	return n;
}

struct doc *page_pci(struct arena *a, const struct machine *m)
{
	static const struct column columns[] = {
		{ "Function", false, false }, { "Device", false, true },
		{ "Link", false, false },     { "MPS, bytes", true, false },
		{ "MRRS", true, false },      { "Driver", false, false },
		{ "NUMA", true, false },      { "IOMMU", true, false },
	};
	enum { DEEPEST = 256 };
	const struct pci_function **order = arena_array(a, m->pci.n, sizeof(*order));
	const char *way[DEEPEST], *root = NULL;
	struct doc *d = doc_new(a);
	struct node *t;
	size_t n = 0, depth = 0;

	doc_heading(d, 1, "PCI");
	if (!m->pci.n)
		doc_text(d, "No PCI function was seen.");
	t = doc_tree(d, NULL, columns, sizeof(columns) / sizeof(columns[0]));
	LIST_FOR_EACH (struct pci_function, f, &m->pci)
		order[n++] = f;
	qsort(order, n, sizeof(*order), by_path);
	for (size_t i = 0; i < n; i++) {
		if (!root || strcmp(root, text_or_empty(order[i]->root)) != 0) {
			root = text_or_empty(order[i]->root);
			node_branch(d, t, 0)[0] = cell_as(STYLE_STRONG, root);
			depth = 0;
		}
		depth = depth_of(way, depth, order[i]);
		function_row(d, node_branch(d, t, (unsigned)depth + 1), order[i]);
		if (depth < DEEPEST)
			way[depth++] = text_or_empty(order[i]->name);
	}
	node_drop_empty(t);
	return d;
}
