/* SPDX-License-Identifier: Apache-2.0 */
/* A discovered cluster: its page, and its picture for terminals and as SVG. Pure. */
#ifndef CLUSTER_PAGE_CLUSTER_H
#define CLUSTER_PAGE_CLUSTER_H

#include "many/cluster/links.h"
#include "render/doc.h"
#include "many/cluster/apply.h"
#include "many/ranks/qualify.h"

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

/* A check: the discovery that it begins with, and the qualification of its nodes. */
struct cluster_check_view {
	const struct cluster *cluster;
	const struct qualify *q;
	const char *version;
	long long time_s;
	int exit_code;
	double discover_seconds;
};
struct doc *page_cluster_check(struct arena *a, const struct cluster_check_view *v);
extern const struct result_shape cluster_check_result;

/* The plan of a cluster's links, what became of it, and what undoing it did. */

struct cluster_plan_view {
	const struct cluster *c;
	const struct wiring *w;
	const struct apply *apply;
	bool applied;	   /* it was made, or tried */
	const char *which; /* its nodes as an option of undo: " --nodes a,b"; "" */
};

struct doc *page_cluster_plan(struct arena *a, const struct cluster_plan_view *v);
/* Only what became of it. */
struct doc *page_cluster_applied(struct arena *a, const struct cluster_plan_view *v);
struct doc *page_cluster_undo(struct arena *a, const struct apply *p);
/* Of struct cluster_plan_view and of struct apply. */
extern const struct result_shape cluster_plan_result, cluster_undo_result;

#endif
