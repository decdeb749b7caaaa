/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asking part of a check: node programs do what check.h needs, all nodes at once where that
 * disturbs nobody. What they answer is checked before it is believed: numbers are such as can be
 * measured, lists as long as was asked, texts short and harmless.
 */
#ifndef CLUSTER_CHECK_RUN_H
#define CLUSTER_CHECK_RUN_H

#include "measure/bench/net/socket.h"
#include "measure/bench/net/token.h"
#include "measure/bench/net/wire.h"
#include "many/cluster/check.h"
#include "many/cluster/pairs.h"
#include "many/cluster/rsh.h"

struct check_how {
	bool quick;	/* echoes alone */
	bool no_gpus;	/* nothing of NCCL */
	double seconds; /* of each measurement; 0: as many as fit into a minute */
	/* What goes on, a few words; NULL: nobody listens. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* c->cluster is discovered; the rest of c is filled in. -EINTR: what there is, is in c, partial.
 * Another -errno and *e: nothing could be checked. */
int cluster_check(struct arena *a, struct rsh *r, const struct check_how *how, struct check *c,
		  struct err *e);

/* --- between its files --- */
struct check_run {
	struct arena *a;
	struct rsh *rsh;
	const struct check_how *how;
	struct check *c;
	char token[2 * WIRE_SECRET + 1]; /* hexadecimal, of this run alone */
	/* By path: where its ends' servers listen, "ADDRESS:PORT"; NULL: there is none. */
	const char **server_a, **server_b;
	size_t windows;
	struct rsh_reply *replies; /* by node */
};

/* One measurement: client asks, server answers; over one path or several at once. */
struct check_job {
	enum check_test test;
	size_t client, server;
	bool back; /* data go from the server to the client */
	bool together;
	size_t paths[CHECK_TOGETHER_MAX], n_paths;
	unsigned pass;
};

/* A measured figure as a node tells it; 0 where it is none that there can be: what follows from it
 * would not be finite. */
double check_run_figure(const json_t *told);
/* Whether the node still answers. */
bool check_run_lives(const struct check_run *r, size_t node);
/* check_routed.c: routes to nodes without a path of their own, added to the nodes'. */
int check_run_routes(struct check_run *r);
/* check_echo.c: all that make sense; or only these again. */
int check_run_echoes(struct check_run *r);
int check_run_echoes_again(struct check_run *r, const struct check_result *list, size_t n);
/* check_count.c: before: first reading; else the second. */
int check_run_count(struct check_run *r, bool after);
/* check_job.c */
int check_run_servers(struct check_run *r);
void check_run_servers_end(struct check_run *r);
/* Jobs of disjoint nodes, all at once. */
int check_run_jobs(struct check_run *r, const struct check_job *jobs, size_t n);
/* How a result is measured; false: not by a job. */
bool check_job_of(const struct check *c, const struct check_result *r, struct check_job *out);
/* check_nccl.c: GPUs of two nodes at a time. */
int check_run_nccl(struct check_run *r, const struct pairs *pairs);

#endif
