/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of Slurm as scontrol tells it, and whose the drain is. A node is taken out with a reason
 * that begins with NODE_MARK, and only a node with such a reason is ever brought back.
 */
#ifndef FLEET_NODE_H
#define FLEET_NODE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"

#define NODE_MARK "gputune: "
enum { NODE_REASON_MAX = 200 };

struct node_state {
	const char *state;  /* "IDLE+DRAIN" */
	const char *reason; /* without who set it and when; "" when there is none */
	bool drained;
	bool out;	/* DOWN or FAIL: it gets no jobs without any drain */
	bool rebooting; /* a reboot is asked for or under way */
	bool ours;	/* the reason carries our mark */
};

enum node_action {
	NODE_LEAVE,   /* nothing to do */
	NODE_DRAIN,   /* take it out, or say the new reason of a drain of ours */
	NODE_UNDRAIN, /* bring it back */
	NODE_THEIRS,  /* somebody else took it out, or Slurm did: nothing to do either */
};

/* The name that scontrol takes: letters, digits, '.', '-', '_'. */
bool node_name_ok(const char *name);
/* Reads "scontrol show node NAME --oneliner". -EINVAL and *e when it is not about that node. */
int node_parse(struct arena *a, const char *name, const char *output, struct node_state *out,
	       struct err *e);
/* The mark and the text, in printable ASCII that scontrol stores unchanged, NODE_REASON_MAX bytes
 * at most. */
const char *node_reason(struct arena *a, const char *text);
/* reason: what is wrong, by node_reason; NULL: nothing. */
enum node_action node_decide(const struct node_state *s, const char *reason);

#endif
