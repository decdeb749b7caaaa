/* SPDX-License-Identifier: Apache-2.0 */
/* Where a network bench measures to, and what its cases have in common. */
#ifndef NET_PLACE_H
#define NET_PLACE_H

#include "measure/bench/bench.h"
#include "measure/bench/net/peer.h"
#include "measure/bench/net/stream.h"

struct net_place {
	const char *peer;     /* as the user said; NULL: a child over loopback */
	const char *prefix;   /* of case names: "loopback:" or "" */
	const char *to;	      /* for placement: "from eth0 to 10.0.0.2:21187, any of CPUs 0-3" */
	struct net_link link; /* that leads there */
	long long speed_mbps; /* of the link; 0: not known */
	const char *no_speed; /* why */
	struct idset cpus;    /* of the interface's node, or all that are allowed */
};

/* What one case does there. */
struct net_arg {
	struct net_place place;
	struct frame_start_test test;
	bool fast_open; /* TEST_CONNECT */
	bool small;
};

/*
 * With --peer that one, or loopback when cases are asked for that begin so; arena memory. False
 * without either, and why is in cases.
 */
bool net_place_find(const struct bench_env *env, struct net_place *out, struct bench_cases *cases);
/* Adds a case; what is formatted comes from the arena. */
void net_case_add(const struct bench_env *env, struct bench_cases *out, const struct net_place *p,
		  const char *name, const char *setup, const struct frame_start_test *t,
		  bool fast_open);
/* Opens a session with the peer and begins the test. peer_close either way. */
int net_peer_start(const struct bench_env *env, const struct net_arg *arg, struct peer *p,
		   struct err *e);
/* What interfaces of both sides had carried at a moment. */
struct net_carried {
	struct link_bytes here;
	const struct frame_counts *there;
};

/*
 * Whether what was measured went over the line: 90 % of payload, less slack for what was under way
 * while counters were read. out: to the peer; the text says what of the peer's it did not pass.
 * -EXDEV and *e.
 */
int net_line_check(double payload, double slack, bool out, const struct net_carried *from,
		   const struct net_carried *to, const char *name, const char *text, struct err *e);
/* A test of one connection: *s is zeroed. */
struct net_single {
	const struct net_arg *arg;
	struct peer peer;
	int fd;
};
/* Connected, and the other side has begun; text: what the connection is, NET_TEXT bytes.
 * net_single_close either way. */
int net_single_open(const struct bench_env *env, const struct bench_case *c, struct net_single *s,
		    char *text, struct err *e);
void net_single_close(struct net_single *s);
/* Somebody asked to stop. */
bool net_stopped(const struct peer *p);
#endif
