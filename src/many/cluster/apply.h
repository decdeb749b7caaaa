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

enum { APPLY_ITEMS_MAX = 4096 }; /* of one list of one node */

struct apply_change {
	const char *step; /* "trial", "keep"; of an undo "" */
	const char *kind, *name, *object, *before, *after;
	const char *outcome, *sentence, *command; /* of an undo; NULL */
};

struct apply_file {
	const char *path, *text;
};

struct apply_refusal {
	const char *code, *port, *text, *fix;
};

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
const char *apply_state_name(enum apply_state s); /* "kept", "taken-back", ... */

struct apply_node {
	enum apply_state state;
	const char *sentence; /* NULL: none is needed */
	struct apply_change *changes;
	size_t n_changes;
	struct apply_file *files;
	size_t n_files;
	struct apply_refusal *refusals;
	size_t n_refusals;
	const char **notes;
	size_t n_notes;
	const char **owners; /* "enp1s0f0np0: netplan" */
	size_t n_owners;
	const char **commands; /* programs that it runs, their words with blanks between */
	size_t n_commands;
	const char *digest;
	const char *dead_man; /* "a systemd timer"; NULL: not armed */
};

/* One echo of a confirmed, or failed, path. */
struct apply_echo {
	size_t from, to; /* ports of the wiring */
	long long bytes; /* of its data; with headers the path's MTU */
	bool good;
	double us;	     /* there and back, measured; 0: none came */
	const char *trouble; /* NULL */
};

struct apply {
	struct apply_node *nodes; /* of the cluster, in its order */
	size_t n_nodes;
	struct apply_echo *echoes;
	size_t n_echoes;
	const char *failure; /* why nothing was kept; NULL */
	double seconds;	     /* from the first write to the last confirmation */
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
/* What every node would change. -EINTR. */
int apply_ask_plan(const struct apply_run *r, const struct wiring *w, struct apply *out);
/* True when a node refuses, or did not answer. */
bool apply_refused(const struct apply *p);
bool apply_has_changes(const struct apply *p);
/*
 * Makes it so on all nodes. 0: all kept it. -ECANCELED: taken back everywhere, or every node that
 * is not back yet takes itself back; p->failure says why. -EUCLEAN: some kept it, or something is
 * stuck.
 */
int apply_make(const struct apply_run *r, const struct wiring *w, struct apply *p);
/* Takes back what was kept on all nodes. 0, -EUCLEAN, -EINTR. */
int apply_undo(const struct apply_run *r, size_t n_nodes, bool dry, bool force, struct apply *p);

void apply_read_before(struct arena *a, const json_t *j, struct wiring_node *out);
void apply_read_plan(struct arena *a, const json_t *j, struct apply_node *out);
void apply_read_rows(struct arena *a, const json_t *j, struct apply_node *out);

/* What the parts of apply share. For them alone. */

enum {
	APPLY_ANSWER_MS = 20000,
	APPLY_SET_MS = 60000, /* with what owners of links take */
};

#endif
