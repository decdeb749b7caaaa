/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovering a cluster: all nodes describe themselves, then all send and listen on their ports at
 * the same time, then say which way they would send to the addresses that were found. Changes
 * nothing anywhere.
 */
#ifndef CLUSTER_DISCOVER_H
#define CLUSTER_DISCOVER_H

#include "many/cluster/links.h"
#include "many/cluster/rsh.h"

struct discover_how {
	int air_ms;	/* how long ports send and listen; 0: 1 s */
	int answer_ms;	/* beyond that a node may take so long for an answer; 0: 10 s */
	bool all_links; /* virtual interfaces too */
	const struct cluster *before; /* an earlier discovery; NULL */
};

/*
 * Nodes that are out, or go out meanwhile, are in the result, with the reason and the finding
 * "dead-node". -EINTR, or another negative errno and *e when no discovery could be begun.
 */
int cluster_discover(struct arena *a, struct rsh *r, const struct rsh_target *targets,
		     const struct discover_how *how, struct cluster *out, struct err *e);

#endif
