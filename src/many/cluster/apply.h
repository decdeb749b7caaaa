/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator's part of configuring a cluster: asks nodes what they are, what they would
 * change, has all of them make it at once, looks and sends echoes from both ends, then has all keep
 * it, or all take it back. Nodes' answers are untrusted: what is taken from them is bounded.
 */
#ifndef CLUSTER_APPLY_H
#define CLUSTER_APPLY_H

#include "many/cluster/plan.h"
#include "many/cluster/rsh.h"
#include "many/cluster/setup.h"

enum apply_state {
	APPLY_ASKED,   /* what it would change is known */
	APPLY_NOTHING, /* all is as planned already */
	APPLY_SET,     /* made, not confirmed: it goes back by itself */
	APPLY_KEPT,
	APPLY_BACK,   /* taken back */
	APPLY_FAILED, /* sentence says why; nothing was changed there */
	APPLY_LOST,   /* it does not answer any more: it takes its old configuration back itself */
	APPLY_STUCK,  /* not all could be taken back */
	APPLY_STATES,
};

struct apply_node {
	const char *name, *label;	  /* as wiring has them; an undo has no label */
	const struct wiring_node *before; /* what it said of itself; of an undo NULL */
	enum apply_state state;		  /* APPLY_STATES: it was not asked */
	const char *sentence;		  /* NULL: none is needed */
	struct setup_answer plan;	  /* what it would change */
	struct txn_report undone;	  /* of an undo: rows alone */
	const char *dead_man;		  /* "a systemd timer"; NULL: not armed */
};

/* One echo of a confirmed, or failed, path. */
struct apply_echo {
	const struct wiring_port *from, *to;
	long long bytes; /* of its data; with headers the path's MTU */
	bool good;
	double us;	     /* there and back, measured; NAN: none came */
	const char *trouble; /* NULL */
};

struct apply {
	struct apply_node *nodes; /* of the cluster, in its order */
	size_t n_nodes;
	struct apply_echo *echoes;
	size_t n_echoes;
	const char *failure; /* why nothing was kept; NULL */
	double seconds;	     /* from the first write to the last confirmation; NAN: none was made */
	int limit_s;	     /* of the dead men */
};

struct apply_run {
	struct arena *a;
	struct rsh *rsh;
	int limit_s; /* after which a node that was not confirmed takes all back */
	/* What is being done now, for a person; NULL: not reported. */
	void (*say)(void *ctx, const char *sentence);
	void *ctx;
};

/* What every node says of itself, one a node of c. -EINTR. */
int apply_ask_before(const struct apply_run *r, const struct cluster *c, struct wiring_node **out);
/* The nodes of a wiring before they are asked. before: one a node. */
void apply_begin(struct arena *a, const struct wiring *w, const struct wiring_node *before,
		 struct apply *out);
/* What every node of apply_begin would change. -EINTR. */
int apply_ask_plan(const struct apply_run *r, const struct wiring *w, struct apply *p);
/* True when a node refuses, or did not answer. */
bool apply_refused(const struct apply *p);
bool apply_has_changes(const struct apply *p);
/* One is a captured machine: what is written is, nothing is sent to it. */
bool apply_captured(const struct wiring *w);
/*
 * Makes it so on all nodes. 0: all kept it. -ECANCELED: taken back everywhere, or every node that
 * is not back yet takes itself back; p->failure says why. -EUCLEAN: some kept it, or something is
 * stuck.
 */
int apply_make(const struct apply_run *r, const struct wiring *w, struct apply *p);
/* Takes back what was kept on all nodes, which are called names. 0, -EUCLEAN, -EINTR. */
int apply_undo(const struct apply_run *r, const char *const *names, size_t n_nodes, bool dry,
	       bool force, struct apply *p);

/* Answers of nodes. */
extern const struct shape wiring_node_shape;  /* to "preflight" */
extern const struct shape setup_answer_shape; /* to "network-plan" */
extern const struct shape apply_undone_shape; /* to "network-undo" and "-back": struct txn_report */
/* The same, with its networks; -EINVAL and *e. */
int apply_read_before(struct arena *a, const json_t *j, struct wiring_node *out, struct err *e);

#endif
