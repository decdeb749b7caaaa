/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of a cluster: what was tried between which ports, what came out, what it was compared
 * with, and who is to blame. Data and its pure parts; the asking is in check.c. Everything
 * lives in the arena of the check.
 */
#ifndef CLUSTER_CHECK_H
#define CLUSTER_CHECK_H

#include "measure/bench/record.h"
#include "many/cluster/links.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/handshake.h"
#include "measure/bench/net/wire.h"
#include "many/cluster/rsh.h"
#include "base/arena.h"
#include "knowledge/bands.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * Which nodes are measured with which at a time. Pure: numbers of nodes in, rounds of pairs out, no
 * node twice in a round, so that no measurement disturbs another.
 */

struct pair {
	size_t a, b;  /* numbers of nodes, a < b */
	size_t round; /* from 0 */
	size_t tag;   /* the caller's own */
};

struct pairs {
	struct pair *items; /* by round */
	size_t n, rounds;
};

/*
 * Every pair of n nodes for which wanted answers true (NULL: all), once. All pairs of an even
 * number of nodes are n - 1 full rounds, of an odd number n rounds with one node resting.
 */
struct pairs pairs_make(struct arena *a, size_t n, bool (*wanted)(void *ctx, size_t a, size_t b),
			void *ctx);
/* The same for a list with a and b filled in; order within a round is the list's. */
struct pairs pairs_of(struct arena *a, const struct pair *list, size_t n);

enum {
	CHECK_PATHS_MAX = 1024,
	CHECK_RESULTS_MAX = 16384,
	CHECK_NODE_COUNTS_MAX = 2048, /* of one node: no other loses its own by them */
	CHECK_COUNTS_MAX = CHECK_NODE_COUNTS_MAX * CLUSTER_NODES_MAX,
	CHECK_TOGETHER_MAX = 8, /* paths of one pair at once */
};
#define CHECK_NONE ((size_t)-1)

enum check_test {
	CHECK_PING,	    /* a small echo, from and to the path's own addresses */
	CHECK_JUMBO,	    /* an echo as large as the MTU, which nobody may cut */
	CHECK_ROUTED,	    /* an echo to an address behind another node */
	CHECK_TCP,	    /* how much streams carry */
	CHECK_TCP_LATENCY,  /* a request there and back */
	CHECK_RDMA_WRITE,   /* how much RDMA writes carry */
	CHECK_RDMA_READ,    /* how much RDMA reads carry: data come from the other end */
	CHECK_RDMA_LATENCY, /* a small write, half of there and back */
	CHECK_NCCL,	    /* GPUs of both nodes: what a large operation carries */
	CHECK_NCCL_LATENCY, /* how long a small one takes */
	CHECK_TESTS
};

struct check_kind {
	const char *name;  /* "tcp", "rdma-write": never renamed */
	const char *title; /* "TCP, 4 streams" */
	const char *unit;  /* key's suffix: "gbit_per_s"; NULL: it works or not */
	const char *unit_text;
	enum bench_better better;
	const char *bench, *there, *back; /* of our own benches the case; back: data come here */
	bool judged;			  /* its figure is compared, not only that it works */
	bool one_way;			  /* data go from from to to; else there and back */
};
extern const struct check_kind check_kinds[CHECK_TESTS];

enum check_state {
	CHECK_GOOD,
	CHECK_LOW,	/* slower than it has to be */
	CHECK_FAILED,	/* it did not work */
	CHECK_LEFT_OUT, /* not tried; why says the reason */
	CHECK_STATES
};
const char *check_state_name(enum check_state s);

/* A way between two ports of two nodes, with the addresses that are used. */
struct check_path {
	struct cluster_end a, b;
	const char *address_a, *address_b; /* without prefix; NULL: untestable */
	size_t wire;			   /* CLUSTER_NONE: found by subnet alone */
	size_t place;			   /* which twin: 0, 1 */
	bool cable;			   /* both ends on one cable; else through a switch */
	const char *untestable;		   /* why, a sentence; NULL: it can be tried */
};

/* What went through a port while something was measured. */
struct check_traffic {
	size_t node;
	const char *port;
	double rx, tx; /* bytes */
	const char *node_name;
};

struct check_result {
	enum check_test test;
	size_t from, to; /* nodes; data went this way */
	size_t asker;	 /* the one of them that measured; the other served */
	size_t path;	 /* together: the first of them; CHECK_NONE: of no path (routed, NCCL) */
	const char *address;   /* routed: where to; NULL */
	const char *operation; /* NCCL: "all-reduce:64MiB"; NULL */
	bool together;	       /* all paths of the pair on that wire at the same time */
	unsigned pass; /* 1; 2: tried again, with known good partners where that is possible */
	unsigned long long bytes; /* of the echo or message; 0: does not matter */
	enum check_state state;
	size_t n; /* windows measured; 0: no figure */
	double value, low, high;
	double wanted;	       /* at least, or at most so much; 0: nothing to compare with */
	const char *wanted_by; /* where that comes from; NULL: nowhere */
	struct record_band band;
	double before;		       /* in an earlier check; 0: none */
	const char *why;	       /* the error, or why it was left out; NULL */
	const char *how;	       /* what the bench chose; NULL */
	const char *egress;	       /* interface that the sender used; NULL: not known */
	struct check_traffic *traffic; /* both nodes' ports that carried anything */
	size_t n_traffic;
};

/* A count of errors that grew (or would have). */
struct check_count {
	size_t node;
	const char *port, *name;
	long long before, after;
	const char *node_name;
};

/* Somebody to blame, in words. */
struct check_blame {
	enum check_test test;	 /* the first by which it was found */
	const char *tests;	 /* all of them: "tcp, rdma-write" */
	const char *what;	 /* "port enp1s0f0np0 of b" */
	const char *node, *port; /* "" where it is none or not one alone */
	const char *others;	 /* what explains it as well; NULL: nothing */
	size_t explains;
	bool certain;
	const char *next; /* what would distinguish them; NULL */
	const char *evidence;
};

struct check {
	struct cluster *cluster;
	struct check_path *paths;
	size_t n_paths;
	struct check_result *results;
	size_t n_results;
	struct check_count *counts; /* all that were read */
	size_t n_counts;
	struct check_blame *blames;
	size_t n_blames;
	const char **notes;
	size_t n_notes;
	double seconds, discover_seconds;
	const char *earlier; /* id of the check that figures are compared with; NULL */
	bool quick, partial;
};

/* --- check_paths.c: pure ---------------------------------------------------------------------- */
/* From what discovery found: wires' paths, and pairs of ports in one subnet where nothing was
 * received. */
void check_paths(struct arena *a, struct check *c);
const struct cluster_node *check_node(const struct check *c, size_t node);
const struct cluster_port *check_port(const struct check *c, struct cluster_end e);
/* The path's end at that node, and the one at the other; the address there. */
struct cluster_end check_end(const struct check_path *p, size_t node);
struct cluster_end check_far(const struct check_path *p, size_t node);
const char *check_address(const struct check_path *p, size_t node);
/* "a enp1s0f0np0 - b enp1s0f0np0"; of a result also with its direction. */
const char *check_path_text(struct arena *a, const struct check *c, const struct check_path *p);
const char *check_result_text(struct arena *a, const struct check *c, const struct check_result *r);
/* The echo that fills the MTU of the path's ends; 0: not known of an end. */
unsigned check_jumbo_bytes(const struct check *c, const struct check_path *p);
/* Adds one, zeroed but for what is given. */
struct check_result *check_add(struct arena *a, struct check *c, const struct check_result *r);

/* --- check_judge.c: pure ---------------------------------------------------------------------- */
/* What every figure is compared with, and its state. Again after more results came. */
void check_judge(struct arena *a, struct check *c);
/* "12.3 Gbit/s", "12.3 us". */
const char *check_figure_text(struct arena *a, enum check_test test, double value);
/* The newest result of the same test between the same ends; NULL: none. */
const struct check_result *check_newest(const struct check *c, const struct check_result *like);
/* Whether nodes x and y have a path of their own. */
bool check_has_path(const struct check *c, size_t x, size_t y);

/* --- pure ------------------------------------------------------------------------------------- */
/* Fills blames from the results' states, the newest of each counting. */
void check_blame(struct arena *a, struct check *c);
/* What to try again: bad ones, and what tells suspects apart. Results of pass 2 without a figure,
 * with CHECK_LEFT_OUT; they are not added. */
size_t check_again(struct arena *a, const struct check *c, struct check_result **out);

/* --- JSON: gputune.cluster-check/1 ------------------------------------------------------------ */
/* The check, and the discovery that it begins with as it is by itself. */
struct cluster_check_view {
	const struct check *c;
	const struct cluster *cluster;
	const char *version;
	long long time_s;
	int exit_code;
};
struct cluster_check_view cluster_check_view_of(const struct check *c, long long now,
						int exit_code);
extern const struct result_shape cluster_check_result;
/* Figures of an earlier one as before of ours, where both ends are the same nodes' ports; and GIDs
 * that moved since, as findings. -EINVAL and *e: it is no such thing. */
int check_compare(struct arena *a, struct check *c, const json_t *earlier, struct err *e);

/*
 * The asking part of a check: node programs do what check.h needs, all nodes at once where that
 * disturbs nobody. What they answer is checked before it is believed: numbers are such as can be
 * measured, lists as long as was asked, texts short and harmless.
 */

struct check_how {
	bool quick;	/* echoes alone */
	bool no_gpus;	/* nothing of NCCL */
	double seconds; /* of each measurement; 0: as many as fit into a minute */
	/* What goes on, a few words; NULL: not called. */
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

/* A measured figure as a node reports it; 0 where it is none that there can be: what follows from
 * it would not be finite. */
double check_run_figure(double said);
/* Whether the node still answers. */
bool check_run_lives(const struct check_run *r, size_t node);
/* check_job.c */
int check_run_servers(struct check_run *r);
void check_run_servers_end(struct check_run *r);
/* Jobs of disjoint nodes, all at once. */
int check_run_jobs(struct check_run *r, const struct check_job *jobs, size_t n);
/* How a result is measured; false: not by a job. */
bool check_job_of(const struct check *c, const struct check_result *r, struct check_job *out);
/* GPUs of two nodes at a time. */
int check_run_nccl(struct check_run *r, const struct pairs *pairs);

/*
 * From what a check measured to what is wrong, by a table of symptoms: each looks for one pattern
 * in the results, counters and blames, and adds findings with evidence and what to do. Pure. What
 * discovery already found keeps its place and gets the measurement as evidence.
 */

/* After check_judge and check_blame. */
void check_symptoms(struct arena *a, struct check *c);

void symptom_earlier(struct arena *a, struct check *c);
void symptom_counters(struct arena *a, struct check *c);

/*
 * What paths between machines are known to carry, measured on healthy machines of the kind, with
 * source and date: knowledge/cluster_bands.rows. Both nodes have to be of the kind. speed_mbps: 0:
 * not known.
 */
struct record_band cluster_band(struct arena *a, const struct check *c,
				const struct check_result *r);

#endif
