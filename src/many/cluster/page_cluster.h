/* SPDX-License-Identifier: Apache-2.0 */
/* A discovered cluster: its page, and its picture for terminals and as SVG. Pure. */
#ifndef CLUSTER_PAGE_CLUSTER_H
#define CLUSTER_PAGE_CLUSTER_H

#include "many/cluster/links.h"
#include "render/doc.h"

/* seconds: that the discovery took; 0: it is a kept one. verbose: GIDs, and everything heard. */
struct doc *page_cluster(struct arena *a, const struct cluster *c, double seconds, bool verbose);
/* Every wire as boxes of ASCII; "" when there is none. */
const char *cluster_picture(struct arena *a, const struct cluster *c);
const char *svg_cluster(struct arena *a, const struct cluster *c);
/* "cable", "switch rack-1", "cable or switch". */
const char *cluster_wire_text(struct arena *a, const struct cluster *c,
			      const struct cluster_wire *w);
/* "200 Gb/s", "1000 Mb/s", "down", "not told". */
const char *cluster_speed_text(struct arena *a, const struct cluster_port *p);

#endif
