/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine's facts say of it as a node of a cluster. Pure: facts in, node out. */
#ifndef CLUSTER_INVENTORY_H
#define CLUSTER_INVENTORY_H

#include "many/cluster/node.h"

/* Fills everything but name, address, neighbors, routes and what only the network namespace has.
 * Texts are the machine's own. all_links: virtual interfaces too. */
void cluster_inventory(struct arena *a, const struct machine *m, bool all_links,
		       struct cluster_node *out);

/*
 * What only the network namespace of this process has: MTU,
 * MAC, carrier and addresses of interfaces, forwarding and its firewall, which way a packet would
 * go. It is read live even where everything else comes from a capture. Sends nothing, changes
 * nothing.
 */

/* Lays what the namespace says over the node's ports; ports that it does not have are down. Also
 * forwarding, its policy, the default route and the digest. */
void local_lay_over(struct arena *a, struct cluster_node *n);
/* The strictest policy of what may drop forwarded packets in these listings: "drop" or "accept";
 * *by gets the chain. NULL: not known. Pure: nft is what "nft -j list chains" prints, save
 * what "iptables -S FORWARD" prints; each may be NULL. */
const char *local_forward_policy(struct arena *a, const char *nft, const char *save,
				 const char **by);

#endif
