/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a cluster's links, what became of it, and what undoing it did. */
#ifndef CLUSTER_PAGE_CLUSTER_PLAN_H
#define CLUSTER_PAGE_CLUSTER_PLAN_H

#include <jansson.h>

#include "many/cluster/apply.h"
#include "render/doc.h"

struct cluster_plan_view {
	const struct wiring *w;
	const struct wiring_node *before; /* one a node of the cluster */
	const struct apply *apply;	  /* NULL: nodes were not asked what they would change */
	bool applied;			  /* it was made, or tried */
	bool files;			  /* show the files' texts */
};

struct doc *page_cluster_plan(struct arena *a, const struct cluster_plan_view *v);
/* Only what became of it. */
struct doc *page_cluster_applied(struct arena *a, const struct cluster_plan_view *v);
/* names of nodes, as many as p has */
struct doc *page_cluster_undo(struct arena *a, const char *const *names, const struct apply *p);
/* gputune.cluster-plan/1 */
json_t *cluster_plan_json(const struct cluster_plan_view *v, const char *time, int exit_code);
/* gputune.cluster-undo/1 */
json_t *cluster_undo_json(const char *const *names, const struct apply *p, const char *time,
			  int exit_code);

#endif
