/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine's facts say of it as a node of a cluster. Pure: facts in, node out. */
#ifndef CLUSTER_INVENTORY_H
#define CLUSTER_INVENTORY_H

#include "many/cluster/node.h"

/* Fills everything but name, address, heard, routes and what only the network namespace tells
 * (many/cluster/local.h). Texts are the machine's own. all_links: virtual interfaces too. */
void cluster_inventory(struct arena *a, const struct machine *m, bool all_links,
		       struct cluster_node *out);

#endif
