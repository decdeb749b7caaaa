/* SPDX-License-Identifier: Apache-2.0 */
/* What a node does while its network is planned and changed: the group "configure" of ask.h. */
#ifndef CLUSTER_NODE_CONFIGURE_H
#define CLUSTER_NODE_CONFIGURE_H

#include "many/cluster/ask.h"

/* node_settled.c */
int answer_settled(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e);
/* node_preflight.c */
int answer_preflight(struct ask_node *n, void **state, const json_t *with, json_t **out,
		     struct err *e);

#endif
