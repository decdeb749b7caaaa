/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of "gputune cluster" share: a run over nodes, which Ctrl-C ends. */
#ifndef VERBS_CLUSTER_H
#define VERBS_CLUSTER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "many/cluster/links.h"
#include "many/cluster/rsh.h"
#include "front/session.h"

/* Ctrl-C, SIGTERM and SIGHUP as a flag, while it is begun. */
struct cluster_stop {
	atomic_bool stop;
	bool begun;
	int signals, wake[2];
	sigset_t before;
	pthread_t thread;
};
void cluster_stop_begin(struct cluster_stop *s);
void cluster_stop_end(struct cluster_stop *s);

/* A run over nodes: the programs on them and what was discovered. */
struct cluster_run {
	bool air_by_option; /* in: --for says how long ports announce themselves */
	struct rsh_target *targets;
	size_t n;
	struct rsh_how how;
	struct rsh *rsh; /* NULL with --from */
	int answer_ms;	 /* --timeout; 0: not given */
	struct cluster cluster;
	struct cluster_stop stop; /* stop.stop: set by Ctrl-C while it is open */
	double seconds;		  /* of the discovery, the programs' start included */
};

/*
 * Starts the programs on --nodes or --nodes-file (with --rsh, --node-command, --known-hosts, --key)
 * and discovers (with --against, --all-links, --timeout); with --from FILE and !need_nodes only
 * that file is read. c is zeroed but for what is marked "in". 0, or an exit code after complaining;
 * nothing is left open then.
 */
int cluster_run_open(struct run *r, struct cluster_run *c, bool need_nodes);
/* The same without discovering: the programs alone. */
int cluster_run_start(struct run *r, struct cluster_run *c);
void cluster_run_close(struct cluster_run *c);

#endif
