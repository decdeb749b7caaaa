/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data between all of a group of nodes at once, over one of their addresses each: every pair of
 * them has a connection on which both ends prove that they know the run's token, then both send a
 * pattern and compare what they get. Nothing listens that is not closed at the end, no wait is
 * without an end.
 */
#ifndef RANKS_EXCHANGE_H
#define RANKS_EXCHANGE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/wire.h"

enum { EXCHANGE_TOKEN = WIRE_SECRET, EXCHANGE_ADDRESSES_MAX = 32, EXCHANGE_BAD_MAX = 64 };

/* An address of this machine that others can be reached from. */
struct exchange_address {
	const char *interface;
	const char *address; /* without prefix */
	const char *at;	     /* where it listens: "192.168.1.2:40001" */
	long long bits;	     /* of its prefix */
	long long mbps;	     /* of a port that is hardware; 0: none, or not known */
	long long mtu;	     /* bytes; 0: not known */
	const char *bench;   /* where the network benches of others are let in; NULL: nowhere */
};

struct exchange {
	uint8_t token[EXCHANGE_TOKEN];
	struct exchange_address address[EXCHANGE_ADDRESSES_MAX];
	int listener[EXCHANGE_ADDRESSES_MAX];
	size_t n;
};

/* Listens on every address that is up; those of only (texts, n_only), when it has any. */
int exchange_open(struct arena *a, struct exchange *x, const char *const *only, size_t n_only,
		  struct err *e);
void exchange_close(struct exchange *x);
/* Of another machine's word: others are sent to no place but that address. */
bool exchange_address_holds(struct arena *a, const struct exchange_address *x);

struct exchange_ask {
	size_t address;	   /* of ours */
	long long test;	   /* differs from one to the next */
	unsigned self;	   /* this node's number */
	const char **peer; /* where each node listens, by number */
	const size_t *group;
	size_t n; /* nodes of the group, this one included */
	long long bytes;
	double limit_s;
	double slow_s, late_us; /* a pair that takes longer is bad; 0: none is */
	const atomic_bool *stop;
};

/* What came from a node was bad. */
struct exchange_bad {
	long long peer;
	double rate, rtt_us; /* bytes a second; NAN: no connection, not known */
	const char *why;
};

struct exchange_answer {
	struct exchange_bad bad[EXCHANGE_BAD_MAX];
	size_t n_bad;
	double seconds, rtt_us; /* medians of the others; NAN: none */
};

void exchange_run(struct arena *a, const struct exchange *x, const struct exchange_ask *ask,
		  struct exchange_answer *out);

#endif
