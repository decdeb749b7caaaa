/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are these nodes fit for work together? Each node by itself (its health, its benches beside those
 * of its peers, the bits of its products), then the links between them: groups of nodes exchange
 * data, a bad group is halved (suspects.h), who is suspected is tried in pairs with good nodes, and
 * what these say is judged by blame.h.
 */
#ifndef RANKS_QUALIFY_H
#define RANKS_QUALIFY_H

#include "many/fleet/fleet.h"
#include "many/ranks/blame.h"
#include "many/ranks/member.h"
#include "render/doc.h"

/* Of a link: what it carries beside the usual of its rail. Sources: docs/CLUSTER.md, "What a figure
 * is compared with". */
#define QUALIFY_RATE 0.6    /* of the usual */
#define QUALIFY_SIGMAS 6.0  /* and this far beyond the usual, where that wavers */
#define QUALIFY_LATENCY 2.5 /* times the usual, and */
#define QUALIFY_LATENCY_US 30.0
/* Of TCP for a port's speed alone no more is asked: what hosts reach depends on their CPUs
 * (fasterdata.es.net, 100G host tuning: 25 to 40 Gbit/s a stream, 2024). */
#define QUALIFY_TCP_GBIT 25.0
/* Of what healthy machines have, in the short form of a bench; and of an earlier figure. */
#define QUALIFY_BAND 0.9
#define QUALIFY_EARLIER 0.8

enum { QUALIFY_BUDGET_S = 600, QUALIFY_PAIRS_NODES = 4 };

enum qualify_state { QUALIFY_FIT, QUALIFY_DRAIN, QUALIFY_UNKNOWN, QUALIFY_STATES };

/* The median of a bench's first figure. */
struct qualify_figure {
	const char *bench, *name, *unit; /* name: of the case */
	double value;
	bool higher; /* is better */
};

struct qualify_node {
	const char *name; /* as its system calls itself, else as the launcher does */
	enum qualify_state state;
	const char **reasons; /* for draining it, or why it is not known */
	size_t n_reasons;
	const char *unreadable; /* what of it could not be read; NULL: nothing */
	bool answered;
	const char *platform, *gpu; /* NULL: not known */
	const struct self_product *products;
	size_t n_products;
	struct qualify_figure *figures;
	size_t n_figures;
};

/* By what a pair of nodes was tried. What one says is no answer to another. */
enum pair_test { PAIR_EXCHANGE, PAIR_LARGE, PAIR_TCP, PAIR_RDMA, PAIR_NCCL, PAIR_TESTS };

/* One pair. What it sends one way delays what comes the other way, so both ways are one test. */
struct qualify_pair {
	enum pair_test test;
	size_t rail, a, b;
	double value;			 /* the slower way; NAN: it works or not */
	const char *why;		 /* NULL: it was good */
	const char *network, *from, *to; /* their names */
};

/* A fault of links. */
struct qualify_fault {
	const char *what;   /* "port eth1 of n3" */
	const char *node;   /* that is drained; NULL: none is */
	const char *others; /* what explains it as well; NULL: nothing */
	const char *evidence;
	bool certain;
};

/* One network that nodes share, with one address each. */
struct qualify_rail {
	const char *name; /* "192.168.100.0/24" */
	size_t *address;  /* by node: which of its; (size_t)-1: it is not on it */
	size_t n, tests;
	long long pair_bytes; /* that a node sends in a test, to all others together */
	double gbit, rtt_us;  /* usual, of a node; NAN: not known */
	size_t pairs_untested;
	size_t paths;	  /* measured by themselves */
	double tcp, rdma; /* Gbit/s of the lowest; NAN */
	bool whole;
};

struct qualify {
	struct qualify_node *nodes;
	size_t n;
	struct qualify_rail *rails;
	size_t n_rails;
	struct qualify_pair *pairs;
	size_t n_pairs;
	struct qualify_fault *faults;
	size_t n_faults;
	const char **notes;
	size_t n_notes;
	size_t drained, unknown;
	double seconds;
	bool interrupted;
};

struct qualify_how {
	double budget_s; /* 0: QUALIFY_BUDGET_S */
	bool no_bench, no_links;
	const struct qualify *before; /* of qualify_load; NULL */
	/* What is under way, and the most seconds that it takes; NULL: not called. */
	void (*say)(void *ctx, double left_s, const char *line);
	void *ctx;
};

/* 0, or -EINTR with what is known by then. */
int qualify_run(struct arena *a, const struct channel *c, const struct qualify_how *how,
		struct qualify *out);
/* The links between them, for so long. */
int qualify_links(struct arena *a, const struct channel *c, const struct qualify_how *how,
		  double seconds, struct qualify *out);
/* Gbit/s that a path between ports of so many Mb/s has to carry, by what healthy machines of the
 * kind reached, else by its ports; 0: nothing is known. */
double qualify_wanted(struct arena *a, const struct qualify_node *x, const struct qualify_node *y,
		      const char *bench, double mbps, const char **by);
/* Of an earlier result of qualify or cluster check, a file of at most 64 MiB, the figures of its
 * nodes and pairs. -errno and *e. */
int qualify_load(struct arena *a, const char *path, struct qualify *out, struct err *e);
const char *qualify_pair_name(enum pair_test t);
void qualify_add_fault(struct arena *a, struct qualify *q, const struct qualify_fault *f);
void qualify_reason(struct arena *a, struct qualify_node *n, enum qualify_state state,
		    const char *why);
void qualify_note(struct arena *a, struct qualify *q, const char *text);
/* 0: all are fit; 1: some are to be drained, or links are faulty; 5: not all are known. */
int qualify_exit(const struct qualify *q);

struct doc *page_qualify(struct arena *a, const struct qualify *q);
void page_qualify_add(struct doc *d, const struct qualify *q);
extern const struct shape qualify_shape;
extern const struct result_shape qualify_result;

#endif
