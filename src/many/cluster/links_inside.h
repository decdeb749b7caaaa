/* SPDX-License-Identifier: Apache-2.0 */
/* Between links.c, wires.c, topology.c and the judges. */
#ifndef CLUSTER_LINKS_INSIDE_H
#define CLUSTER_LINKS_INSIDE_H

#include "many/cluster/links.h"

/* From links to wires and their paths; sets each cage's wire. */
void cluster_make_wires(struct arena *a, struct cluster *c);
void cluster_make_topology(struct arena *a, struct cluster *c);

/* links.c: the cage of an end's port; "spark-1 enp1s0f0np0". */
size_t cluster_cage_at(const struct cluster *c, struct cluster_end e);
const char *cluster_end_text(struct arena *a, const struct cluster *c, struct cluster_end e);

/* Findings about nodes and cabling, and about ports and links. */
void cluster_judge_nodes(struct arena *a, struct cluster *c);
void cluster_judge_cables(struct arena *a, struct cluster *c);
void cluster_judge_ports(struct arena *a, struct cluster *c);
void cluster_judge_addresses(struct arena *a, struct cluster *c);
void cluster_judge_gids(struct arena *a, struct cluster *c, const struct cluster *before);

#endif
