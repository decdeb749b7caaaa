/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a run, between rsh.c, rsh_words.c and rsh_pump.c. */
#ifndef CLUSTER_RSH_INSIDE_H
#define CLUSTER_RSH_INSIDE_H

#include <sys/types.h>

#include "base/text.h"
#include "many/cluster/rsh.h"

enum { ERRORS_MAX = 2048 };

struct rsh_node {
	struct rsh_target target;
	char **argv;
	pid_t pid;	  /* 0: none, or its end was seen */
	int in, out, err; /* our ends; -1: closed */
	int status;	  /* of its end, as waitpid tells; -1: not known */
	struct text line, errors, sending;
	size_t noise; /* bytes before the greeting */
	const char *failure;
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

/* The command line for a target, in the arena; NULL and *e when a word is not sound. */
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
