/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of apply share. For them alone. */
#ifndef CLUSTER_APPLY_INSIDE_H
#define CLUSTER_APPLY_INSIDE_H

#include "many/cluster/apply.h"

enum {
	APPLY_ANSWER_MS = 20000,
	APPLY_SET_MS = 60000, /* with what owners of links take */
};

/* Room for one reply a node. */
struct rsh_reply *apply_replies(const struct apply_run *r);
/* Why there is no answer. */
const char *apply_why(const struct apply_run *r, size_t node, const struct rsh_reply *reply);
/* Asks those nodes whose bit is set; with (may be NULL, one a node) is taken. */
int apply_ask_some(const struct apply_run *r, const char *ask, const bool *which, json_t **with,
		   int limit_ms, struct rsh_reply *answers);
/* The first failure is the one that is told. */
void apply_fail(const struct apply_run *r, const struct wiring *w, struct apply *p, size_t node,
		const char *sentence);
/* The node's part of the wiring, as a request has it. */
json_t *apply_wish(const struct wiring *w, size_t node);
void apply_begin(const struct apply_run *r, size_t n, struct apply *p);
/* Echoes between all ends of all paths, both ways. -EINTR. */
int apply_ping(const struct apply_run *r, const struct wiring *w, struct apply *p);

#endif
