/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node program answers: the kinds of requests, in groups that share a state. A group is one
 * file (inventory.c, node_configure.c) and is named in the table of ask.c.
 *
 * A request is {"schema": "gputune.cluster-node/1", "id": N, "ask": NAME, "with": {...}}, the
 * answer
 * {"schema", "id": N, "ok": true, "answer": {...}} or {"schema", "id": N, "ok": false, "error":
 * TEXT, "hint": TEXT}; both are one line. The first line of a node program is its greeting, the
 * answer with id 0 to a request that nobody sent: {"version": TEXT, "asks": [NAME...]}.
 *
 * Requests are answered one after the other. What has to go on meanwhile (a server) is a child or
 * thread kept in the group's state and ended by its end function, which runs when the input of the
 * program closes, too: a coordinator that dies leaves nothing behind.
 */
#ifndef CLUSTER_ASK_H
#define CLUSTER_ASK_H

#include <jansson.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/err.h"
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
};

struct ask_kind {
	const char *name;
	/* *out gets a new object. with is an object, perhaps empty, from the network: check all of
	 * it. Negative errno and *e (a sentence without the node's name) otherwise. */
	int (*answer)(struct ask_node *n, void **state, const json_t *with, json_t **out,
		      struct err *e);
};

struct ask_group {
	const char *name;
	const struct ask_kind *kinds;
	size_t n;
	void (*end)(void *state); /* NULL: nothing to end; state may be NULL */
};

/* look: inventory, neighbors, routes (inventory.c). */
extern const struct ask_group ask_look;
/* preflight, network-plan, -set, -look, -keep, -back, -undo (node_configure.c). */
extern const struct ask_group ask_configure;

/* Whether to end what takes long: by a signal, or because the coordinator is gone. */
bool ask_stopped(const struct ask_node *n);
/* Greets and answers until in ends or *stop: 0, or -errno when out cannot be written. */
int ask_serve(struct ask_node *n, int in, int out);

/* Bytes of hexadecimal digits; 0: it is none, or more than there is room for. */
size_t token_bytes(const char *hex, uint8_t *out, size_t room);

enum { MEASURE_TARGETS_MAX = 256 };

/* What a node does while its network is planned and changed: the group "configure" of ask.h. */

int answer_settled(struct ask_node *n, void **state, const json_t *with, json_t **out,
		   struct err *e);
int answer_preflight(struct ask_node *n, void **state, const json_t *with, json_t **out,
		     struct err *e);

#endif
