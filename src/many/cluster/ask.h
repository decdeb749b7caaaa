/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node program answers: lists of requests (many/ranks/member.h), each of one file.
 *
 * A request is {"schema": "gputune.cluster-node/1", "id": N, "ask": NAME, "with": {...}}, the
 * answer
 * {"schema", "id": N, "ok": true, "answer": {...}} or {"schema", "id": N, "ok": false, "error":
 * TEXT, "hint": TEXT}; both are one line. The first line of a node program is its greeting, the
 * answer with id 0 to a request that nobody sent: {"version": TEXT, "asks": [NAME...]}.
 *
 * Requests are answered one after the other. What has to go on meanwhile (a server) is a child or
 * thread kept in the node's state and ended by an end function, which runs when the input of the
 * program closes, too: a coordinator that dies leaves nothing behind.
 */
#ifndef CLUSTER_ASK_H
#define CLUSTER_ASK_H

#include <stdatomic.h>

#include "base/arena.h"
#include "machine/host/host.h"
#include "machine/model/machine.h"
#include "many/ranks/member.h"

/* The program on one node. */
struct ask_node {
	struct arena *arena; /* of the request at hand */
	struct host *h;	     /* the live machine, or with --host a captured one */
	/* Probes afresh into the request's arena; never NULL. full: with who configures what
	 * (struct config). */
	const struct machine *(*look)(struct ask_node *n, bool full);
	void *look_state;	   /* of look's maker */
	const atomic_bool *stop;   /* set at SIGINT and SIGTERM */
	bool captured;		   /* --host: sockets are live, facts are not */
	struct rank_member member; /* self, ctx and stop are given */
	int in;			   /* set by ask_serve: where requests come from */
	/* What requests have begun; NULL: nothing. */
	struct look *looking;
	struct configure *change;
};

/* look: inventory, neighbors, routes (inventory.c). of: the node. */
extern const struct request ask_look[];
/* preflight, network-plan, -set, -look, -keep, -back, -undo (node_configure.c). */
extern const struct request ask_configure[];
/* What they began and nobody ended. */
void look_end(struct ask_node *n);
void configure_end(struct ask_node *n);

/* Whether to end what takes long: by a signal, or because the coordinator is gone. */
bool ask_stopped(const struct ask_node *n);
/* Greets and answers until in ends or *stop: 0, or -errno when out cannot be written. */
int ask_serve(struct ask_node *n, int in, int out);

/* Bytes of hexadecimal digits; 0: it is none, or more than there is room for. */
size_t token_bytes(const char *hex, uint8_t *out, size_t room);

enum { MEASURE_TARGETS_MAX = 256 };

#endif
