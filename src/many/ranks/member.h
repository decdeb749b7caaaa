/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of a qualification as whoever leads it asks it: what it says of itself, where it
 * listens, and exchanges of data with others. Requests are JSON by the rows here, whatever carries
 * them (a launcher's ranks, the node program of a cluster); they come from another machine and are
 * checked. A leader asks through struct channel.
 */
#ifndef RANKS_MEMBER_H
#define RANKS_MEMBER_H

#include <jansson.h>

#include "base/shape.h"
#include "many/cluster/rsh.h"
#include "many/ranks/exchange.h"

enum { MEMBERS_MAX = 1 << 14, MEMBER_RAILS_MAX = 64 };

/* What somebody elsewhere may ask, both ways by rows. */
struct request {
	const char *name;	    /* NULL: the end of a list */
	const struct shape *ask;    /* of *with; NULL: with is the JSON, an object */
	const struct shape *answer; /* of *answer, which is zeroed; NULL: {} */
	/* with is from the network: check what it means. Negative errno and *e (a sentence without
	 * the node's name) otherwise. */
	int (*run)(void *of, struct arena *a, const void *with, void *answer, struct err *e);
	void (*done)(void *answer); /* its JSON is made; NULL: nothing to end */
};
/* *out: a new object. -ENOSYS, and *e is left alone: it is not in the list. */
int request_answer(const struct request *list, void *of, struct arena *a, const char *what,
		   const json_t *with, json_t **out, struct err *e);

/* --- the leader's side ------------------------------------------------------------------------ */
struct channel {
	unsigned n; /* nodes */
	const char *const *names;
	bool named; /* a person gave the names: they stay */
	/* with[i] is taken; NULL: that node is not asked, and its reply stays as it is. 0 or
	 * -EINTR. */
	int (*ask)(void *ctx, const char *what, json_t **with, int limit_ms,
		   struct rsh_reply *replies);
	void *ctx;
};

/* --- "self" ----------------------------------------------------------------------------------- */
struct self_ask {
	double seconds; /* for its benches; 0: none is run */
	bool again;	/* only what went wrong since it was asked first */
};
extern const struct shape self_ask_shape;

/* Bits of the same products on the same data, one a GPU. */
struct self_product {
	const char *gpu; /* what they depend on: the chip's name, libraries */
	const char *place, *bits;
};

struct self_answer {
	const char *host;
	const char *unfit;    /* why it is not healthy; NULL: nothing found */
	const char *unknown;  /* what could not be read; NULL: nothing */
	const char *platform; /* platform.kind; NULL: not known */
	const char *gpu;      /* the first one's name; NULL: none, or not known */
	struct self_product *products;
	size_t n_products;
	json_t *check, *bench; /* results of these verbs; NULL: none */
};
extern const struct shape self_answer_shape;

/* --- "addresses": listens --------------------------------------------------------------------- */
struct addresses_ask {
	const char *token; /* hexadecimal */
};
extern const struct shape addresses_ask_shape;

struct addresses_answer {
	struct exchange_address *addresses;
	size_t n;
};
extern const struct shape addresses_answer_shape;

/* --- "rail": where all of one listen ---------------------------------------------------------- */
struct rail_ask {
	long long rail, self, address; /* address: which of ours */
	const char **peers;	       /* "" of nodes that are not on it */
	size_t n;
};
extern const struct shape rail_ask_shape;

/* --- "measure": the median of a case of a network bench, or of collectives -------------------- */
struct measure_ask {
	const char *peer; /* an address's bench; of collectives, where rank 0 listens */
	const char *bench, *name;
	long long rank, ranks; /* of collectives; only rank 0 has a value */
};
extern const struct shape measure_ask_shape;

struct measure_answer {
	double value; /* in the bench's first unit */
};
extern const struct shape measure_answer_shape;

/* --- "exchange" ------------------------------------------------------------------------------- */
struct group_ask {
	long long rail, test, bytes;
	size_t *group;
	size_t n;
	double limit_s, slow_s, late_us;
};
extern const struct shape group_ask_shape;
extern const struct shape exchange_answer_shape;

/* --- the node's side -------------------------------------------------------------------------- */
struct rank_member {
	/* What a node says of itself, in the arena of the request; not NULL. */
	int (*self)(void *ctx, struct arena *a, const struct self_ask *ask, struct self_answer *out,
		    struct err *e);
	void *ctx;
	const atomic_bool *stop;
	const char *const *only; /* addresses; n_only 0: all */
	size_t n_only;
	/* its own */
	struct arena arena; /* as long as it listens */
	struct exchange x;
	struct rail_ask rail[MEMBER_RAILS_MAX];
	pid_t server[EXCHANGE_ADDRESSES_MAX]; /* children; 0: none */
};

/* *out: a new object. -ENOSYS: no such request. */
int member_answer(struct rank_member *m, struct arena *a, const char *what, const json_t *with,
		  json_t **out, struct err *e);
void member_end(struct rank_member *m);
extern const struct request member_requests[]; /* of: the member */

/* --- member_ping.c ---------------------------------------------------------------------------- */
/* ICMP echoes to all targets at once; nobody on the way may cut them (don't fragment, and no memory
 * of an earlier path MTU). As run of struct request. */
int member_ping(void *of, struct arena *a, const void *with, void *answer, struct err *e);

/* --- member_measure.c ------------------------------------------------------------------------- */
/* Lets the benches of others in at that address. */
void member_serve(struct rank_member *m, size_t address);
/* As run of struct request. */
int member_measure(void *of, struct arena *a, const void *with, void *answer, struct err *e);

#endif
