/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that measures: a session with a serving gputune, on another machine or (over loopback) a
 * child process of its own. Trusts nothing that the other side says: what can be checked is.
 */
#ifndef NET_PEER_H
#define NET_PEER_H

#include <sys/types.h>

#include "measure/bench/net/handshake.h"
#include "measure/bench/net/socket.h"

enum { PEER_MS = 10000, PEER_DIAL_MS = 5000, PEER_BUSY_MS = 3000 };

struct peer {
	struct frames frames;
	struct net_address address;
	uint8_t key[WIRE_SECRET];
	uint64_t test; /* 0: none is on */
	struct frame_started started;
	uint32_t segment;
	pid_t child; /* 0: none */
};

struct peer_ask {
	const char *address;	/* NULL: a child over loopback */
	const char *token_file; /* with an address */
	const atomic_bool *stop;
};

/* Counts with the span of our clock in which they must have been taken, in nanoseconds. */
struct peer_counts {
	struct frame_counts c;
	uint64_t asked_ns, answered_ns;
};

/* A child that serves at that address for who knows the token; it ends with this thread. */
int peer_serve(const char *at, const struct token *t, struct net_address *out, pid_t *child,
	       struct err *e);
/* 0: none. */
void peer_serve_end(pid_t child);

/* All return 0 (peer_stream: a descriptor) or -errno and *e, with the peer's name in it. */
int peer_open(const struct peer_ask *ask, struct peer *p, struct err *e);
int peer_start(struct peer *p, const struct frame_start_test *t, struct err *e);
/* One connection of the test, for its owner to close. */
int peer_stream(struct peer *p, size_t index, struct err *e);
/* After all streams: the other side has begun. */
int peer_ready(struct peer *p, struct err *e);
int peer_count(struct peer *p, struct peer_counts *out, struct err *e);
int peer_stop(struct peer *p, struct peer_counts *out, struct err *e);
/* From here on, at the latest from peer_stop, a stop does not cut waits short: what was measured is
 * to be checked. */
void peer_finishing(struct peer *p);
int peer_verbs(struct peer *p, const struct frame_verbs *own, struct frame_verbs *theirs,
	       struct err *e);
/* Says good-bye where it still can; ends the child. After a failed peer_open too. */
void peer_close(struct peer *p);

/* Whether what the peer counted between two askings can be: later only, and no other time than went
 * by here. -EPROTO and *e. */
int peer_believable(const struct peer *p, const struct peer_counts *from,
		    const struct peer_counts *to, struct err *e);
/* A sentence for -errno of what was to be done with the peer. */
int peer_fail(const struct peer *p, int r, const char *what, struct err *e);

#endif
