/* SPDX-License-Identifier: Apache-2.0 */
/* show topology --as tree: from each NUMA node down to its devices, with every link on the way. */
#include "view/page.h"
#include "view/places.h"

static void add(struct doc *d, struct node *t, const struct place *p, unsigned depth)
{
	struct cell *row = node_branch(d, t, depth);

	row[0] = cell_as(p->kind < PLACE_GPU ? STYLE_STRONG : STYLE_PLAIN, p->label);
	row[1] = cell(p->detail);
	if (p->link)
		row[2] = cell_as(p->degraded ? STYLE_BAD : STYLE_PLAIN, p->link);
	if (p->link_max)
		row[3] = cell_as(p->degraded ? STYLE_BAD : STYLE_MUTED, p->link_max);
	row[4] = cell(p->address);
	for (size_t i = 0; i < p->n; i++)
		add(d, t, p->children[i], depth + 1);
}

struct doc *page_topology_tree(struct arena *a, const struct machine *m)
{
	static const struct column columns[] = {
		{ "Place", false, false },   { "What", false, true }, { "Link", false, false },
		{ "At most", false, false }, { "PCI", false, false },
	};
	const struct place *machine = places_of(a, m);
	struct doc *d = doc_new(a);
	struct node *t;

	doc_heading(d, 1, "Topology");
	if (!machine->n)
		doc_text(d, "No GPU, network adapter or NVMe disk was seen on the PCI bus.");
	t = doc_tree(d, NULL, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < machine->n; i++)
		add(d, t, machine->children[i], 0);
	node_drop_empty(t);
	return d;
}
