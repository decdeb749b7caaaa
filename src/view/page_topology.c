/* SPDX-License-Identifier: Apache-2.0 */
/* show topology: the drawing where there is a medium for it, and the tree. */
#include "view/page.h"
#include "view/svg.h"

struct doc *page_topology(struct arena *a, const struct machine *m)
{
	struct doc *d = page_topology_tree(a, m);

	doc_figure(d, NULL, svg_topology(a, m), NULL);
	return d;
}
