/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node programs of a cluster: one "gputune cluster node" on each node, started by argument
 * vector over ssh (or what --rsh names instead), asked and answering by one JSON object a line
 * (schema gputune.cluster-node/1) over its standard input and output. All waiting is bounded; a
 * node that does not answer in time is named, its program is ended, and the others go on. What
 * comes from a node is untrusted: lines are bounded, depth is bounded, contents are the asker's to
 * check. Nothing reaches a shell of this machine; of what ssh hands to the other machine's shell
 * every word is checked to be one.
 */
#ifndef CLUSTER_RSH_H
#define CLUSTER_RSH_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

#define CLUSTER_NODE_SCHEMA "gputune.cluster-node/1"

enum {
	RSH_LINE_MAX = 4 << 20,	  /* bytes of one answer */
	RSH_ASK_MAX = 1 << 20,	  /* bytes of one request */
	RSH_NOISE_MAX = 64 << 10, /* of what a login prints before the program greets */
};

struct rsh_target {
	const char *name;    /* what messages call it */
	const char *address; /* what ssh is given; "localhost": no ssh, this program itself */
	const char *capture; /* NULL, or with "localhost" the captured machine that it is */
};

struct rsh_how {
	/* Blank-separated words that begin the command, of which the first is an absolute path or
	 * a name in the folders of SPAWN_PATH; {node} in a word becomes the address, {name} the
	 * name. NULL: ssh -o BatchMode=yes -o StrictHostKeyChecking=yes ... {node}. */
	const char *rsh;
	/* The program on the node, blank-separated words, with the same two marks. NULL: "gputune
	 * cluster node". */
	const char *program;
	const char *known_hosts; /* file for ssh's host keys; NULL: the user's own */
	const char *identity; /* file with the private key for ssh; NULL: the user's own choice */
	const char *self;     /* path of this program, for "localhost" */
	int connect_ms;	      /* from start to greeting; 0: 10 s */
	const atomic_bool *stop; /* set at Ctrl-C: everything ends with -EINTR */
};

struct rsh;

/*
 * Starts a program on every target at once and waits for their greetings. 0 even when none greets:
 * each node's failure says so. -errno and *e when the words of how are not valid or -EINTR. The
 * texts of targets must outlive it; *out is closed with rsh_close.
 */
int rsh_open(struct arena *a, const struct rsh_target *targets, size_t n, const struct rsh_how *how,
	     struct rsh **out, struct err *e);
/* Closes the programs' input, so that they end what they began; those that are still there after
 * 2 s are killed. NULL is allowed. */
void rsh_close(struct rsh *r);

struct rsh_reply {
	const json_t *answer; /* NULL: failure says why. Lives until rsh_close. */
	const char *failure;  /* the node's own sentence (cluster_clean_text), or why none came */
	const char *hint;     /* NULL: none */
	bool out;	      /* the node is out, not only the request refused */
	double seconds;	      /* from asking to answer */
};

/*
 * Asks all nodes at once, or those whose bit of which is set, and waits for their answers until
 * limit_ms; their replies are set, others are left alone. with (may be NULL, so may each of it) is
 * taken. A node that does not answer in time is out. Without an answer there is a failure. 0, or
 * -EINTR.
 */
int rsh_ask_all(struct rsh *r, const char *ask, const bool *which, json_t **with, int limit_ms,
		struct rsh_reply *replies);

/* The programs of a run. */

enum { ERRORS_MAX = 2048 };

struct rsh_node {
	struct rsh_target target;
	char **argv;
	pid_t pid;	  /* 0: none, or its end was seen */
	int in, out, err; /* our ends; -1: closed */
	int status;	  /* of its end, as waitpid has it; -1: not known */
	struct text line, errors, sending;
	size_t noise; /* bytes before the greeting */
	const char
		*failure; /* why it is out, a sentence with its name, for good; NULL: it answers */
	json_t *greeting;
	long long id;	 /* of the request under way; 0: none */
	double asked;	 /* when, seconds */
	json_t *message; /* its answer, whole; NULL: not yet */
	double seconds;	 /* that it took */
};

struct rsh {
	struct arena *a;
	struct rsh_node *nodes;
	size_t n;
	const struct rsh_how *how;
	const atomic_bool *stop;
	long long last_id;
	json_t *kept; /* an array: answers live as long as this */
};

/* The command line for a target, in the arena; NULL and *e when a word is not valid. */
char **rsh_words(struct arena *a, const struct rsh_target *t, const struct rsh_how *how,
		 struct err *e);

/* Puts a node out: its sentence, and its program is ended. */
void rsh_put_out(struct rsh *r, struct rsh_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Moves bytes until done says so or the time (monotonic ms) is over: 0, 1 when time is over, or
 * -EINTR. */
int rsh_pump(struct rsh *r, bool (*done)(const struct rsh *r, const void *ctx), const void *ctx,
	     long long until_ms);

#endif
