/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of "gputune cluster" share: a run over nodes, which Ctrl-C ends. */
#ifndef VERBS_CLUSTER_CLUSTER_H
#define VERBS_CLUSTER_CLUSTER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "many/cluster/links.h"
#include "many/cluster/rsh.h"
#include "verbs/door.h"

/* Which nodes, and how they are reached. */
struct reach_ask {
	const char *nodes, *nodes_file, *rsh, *node_command, *known_hosts, *key;
};
extern const struct ask_shape reach_ask_shape;

struct reach {
	struct rsh_target *targets;
	const char **names; /* theirs */
	size_t n;
	struct rsh_how how;
};
/* In the door's arena; out is zeroed. No node at all is none. 0, or the code of a refusal. */
int reach_read(struct door *d, const struct reach_ask *ask, struct reach *out);

struct cluster_nodes_ask {
	struct reach_ask reach;
	double timeout_s; /* 0: 10 s */
};
extern const struct ask_shape cluster_nodes_ask_shape;

/* What a discovery looks at, and compares with. */
struct cluster_links_ask {
	const char *against;
	bool all_links;
};
extern const struct ask_shape cluster_links_ask_shape;

/* Ctrl-C, SIGTERM and SIGHUP as a flag, while it is begun. */
struct cluster_stop {
	atomic_bool stop, over;
	bool begun;
	sigset_t set, before;
	pthread_t thread;
};
void cluster_stop_begin(struct cluster_stop *s);
void cluster_stop_end(struct cluster_stop *s);

/* A run over nodes: the programs on them and what was discovered. */
struct cluster_run {
	struct reach to;
	struct rsh *rsh; /* NULL: of a kept discovery */
	struct cluster cluster;
	struct cluster_stop stop; /* stop.stop: set by Ctrl-C while it is open */
	double seconds;		  /* of the discovery, the programs' start included */
};

/*
 * Starts the programs on the nodes and discovers; ports announce themselves for air_s, 0: as long
 * as usual. c is zeroed. 0, or as answers; nothing is left open then.
 */
int cluster_run_open(struct door *d, const struct cluster_nodes_ask *nodes,
		     const struct cluster_links_ask *links, double air_s, struct cluster_run *c);
/* The same without discovering: the programs alone. */
int cluster_run_start(struct door *d, const struct cluster_nodes_ask *nodes, struct cluster_run *c);
/* A kept discovery instead, of a file, judged anew: what is a fault may be known better by now. */
int cluster_run_stored(struct door *d, const char *file, const struct cluster_links_ask *links,
		       struct cluster_run *c);
/* A demo's captured machines, of the discovery that c holds, with its ports as they are by now;
 * change: they will be changed. The same. */
int cluster_run_demo(struct door *d, const char *file, bool change, struct cluster_run *c);
void cluster_run_close(struct cluster_run *c);

/* The programs, for other programs alone: verb.h. */
extern const struct verb *const cluster_programs[];
extern const struct verb cluster_check_verb, cluster_plan_verb, cluster_undo_verb;
/* A line of what goes on; ctx: the door. */
void cluster_progress(void *ctx, double left_s, const char *text);

#endif
