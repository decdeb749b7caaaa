/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that waits: takes connections on one address, lets in who knows the token, serves one
 * client at a time. Whoever does not know it gets as far as a challenge, for five seconds.
 */
#ifndef NET_SERVE_H
#define NET_SERVE_H

#include "measure/bench/net/socket.h"
#include "measure/bench/net/token.h"

struct serve {
	int listener; /* owned by the caller */
	int wake;     /* readable: end; -1: none */
	const atomic_bool *stop;
	const struct token *token;
	/* One line, printable ASCII, no newline; NULL: nobody listens. Called from two threads. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* A listening socket, bound to this address alone; 0.0.0.0 and :: are refused. *a gets the port. */
int serve_listen(struct net_address *a, int *fd, struct err *e);
/* Until stop or wake. 0 or -errno and *e; everything it opened is closed. */
int serve_run(const struct serve *s, struct err *e);

#endif
