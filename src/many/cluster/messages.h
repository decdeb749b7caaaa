/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a coordinator asks nodes and what they answer: one struct a message, its rows, and from
 * these both directions. What comes over the network is read within the bounds of base/shape.h and
 * of the rows; who takes it checks what it means. Messages about configuring stand in setup.h and
 * apply.h.
 */
#ifndef CLUSTER_MESSAGES_H
#define CLUSTER_MESSAGES_H

#include "base/shape.h"
#include "many/cluster/ask.h"
#include "many/cluster/rsh.h"

/* A line of either direction: a request, else an answer or a refusal. */
struct node_line {
	long long id; /* 0: the greeting, or of a line that was no request */
	const char *ask;
	bool ok;
	json_t *body; /* what the request comes with, or the answer */
	const char *error, *hint;
};
extern const struct result_shape cluster_node_result;
/* As text that the caller frees; the line's body is taken. NULL: there is no memory. */
char *node_line_text(const struct node_line *l);

/* The answer by its rows, in the arena. False: none came, or it is not of that form; then
 * reply->answer is NULL, and reply->failure says why. */
bool message_read(struct arena *a, struct rsh_reply *reply, const struct shape *s, void *out);

/* The group look: "inventory", "listen" (with token and number), "say", "routes". What a node says
 * of itself goes through cluster_node_read. */
struct look_ask {
	const char *token; /* hexadecimal, of the discovery; NULL: none */
	long long number;  /* of the node in it */
	const char *name;  /* NULL: none */
	bool all_links;
	long long for_ms; /* 0: 500 */
	const char **to;  /* addresses */
	size_t n;
};
extern const struct shape look_ask_shape;

/* "ping": echoes to all targets at once. */

struct ping_target {
	const char *from, *to; /* addresses */
	long long bytes;       /* of data */
};

struct ping_ask {
	struct ping_target *targets;
	size_t n;
	long long tries, limit_ms;
};
extern const struct shape ping_ask_shape;

struct ping_echo {
	long long got;	   /* how many came back */
	double us;	   /* the fastest; NAN: none came */
	const char *error; /* NULL */
};

struct ping_answer {
	struct ping_echo *echoes; /* by target */
	size_t n;
};
extern const struct shape ping_answer_shape;

/* "network-set": what takes the change back when nobody confirms it. */
struct armed_answer {
	const char *dead_man;
};
extern const struct shape armed_answer_shape;

/* "network-undo" */
struct undo_ask {
	bool dry, force;
};
extern const struct shape undo_ask_shape;

/* "network-look": whether ports have what they shall have. */

struct settled_port {
	const char *port, *trouble; /* trouble NULL: it has */
};

struct settled_answer {
	struct settled_port *ports;
	size_t n;
};
extern const struct shape settled_answer_shape;

#endif
