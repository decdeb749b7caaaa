/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that waits: takes connections on one address, lets in who knows the token, serves one
 * client at a time. Whoever does not know it gets as far as a challenge, for five seconds.
 */
#ifndef NET_SERVE_H
#define NET_SERVE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "measure/bench/net/handshake.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/wire.h"

struct serve {
	int listener; /* owned by the caller */
	int wake;     /* readable: end; -1: none */
	const atomic_bool *stop;
	const struct token *token;
	/* One line, printable ASCII, no newline; NULL: not called. Called from two threads. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* A listening socket, bound to this address alone; 0.0.0.0 and :: are refused. *a gets the port. */
int serve_listen(struct net_address *a, int *fd, struct err *e);
/* Until stop or wake. 0 or -errno and *e; everything it opened is closed. */
int serve_run(const struct serve *s, struct err *e);

/*
 * Where connections wait until they have said what they are: a fixed number of places, 64 bytes
 * within five seconds. Nothing that a stranger can do holds up anybody else.
 */

enum { LOBBY_PLACES = 128 };

/* A connection that has not yet said what it is, or has not yet proved it. */
struct caller {
	int fd;
	long long since; /* net_now_ms() */
	size_t n;
	uint8_t bytes[WIRE_OPENING];
	bool challenged;
	struct wire_auth auth;
	char name[NET_TEXT];
};

/* TAKEN: the descriptor is somebody else's from now on. */
enum fate { FATE_WAIT, FATE_CLOSE, FATE_TAKEN };

/* What an opening is of the handshake that every listener begins with. */
enum shake {
	SHAKE_OTHER,   /* nothing of it: the listener's own affair */
	SHAKE_WAITS,   /* a hello, which was answered: FATE_WAIT */
	SHAKE_ENDS,    /* a hello that could not be answered, or no proof where one is due */
	SHAKE_REFUSED, /* another token, which it was told */
	SHAKE_PROVEN,  /* it knows the token; handshake_admit proves the same to it */
};

struct accept_queue {
	int listener; /* not blocking; owned by whoever filled this in */
	/* An opening is whole. OPENING_VERSION: of another version, which it was told already. */
	enum fate (*decide)(void *ctx, struct caller *c, struct opening *o);
	void *ctx;
	struct caller caller[LOBBY_PLACES];
	size_t n, polled;
};

/* The step of the handshake that this opening is. */
enum shake accept_queue_shake(struct caller *c, const struct token *t, const struct opening *o);
/* What to wait for, at most 1 + LOBBY_PLACES; returns how many. accept_queue_turn gets the same. */
size_t accept_queue_watch(struct accept_queue *l, struct pollfd *p);
/* Hears all that spoke, lets in who waits outside, forgets who took too long. */
void accept_queue_turn(struct accept_queue *l, const struct pollfd *p);
void accept_queue_close(struct accept_queue *l);

/* What the serving side does for a client that knows the token. */

enum { SESSION_QUIET_MS = 60000, SESSION_STREAMS_MS = 8000, SESSION_WRITE_MS = 5000 };

struct session;

/* A thread that talks on fd and owns it. NULL: no memory. wake: an eventfd it adds to at its end.
 */
struct session *session_start(const struct serve *s, int fd, const uint8_t key[WIRE_SECRET],
			      const char *client, int wake);
/* Ends it soon, waits for it, frees it; NULL is nothing. */
void session_end(struct session *s);
/*
 * A connection with a good opening. Taken (true: the session owns it) when the test that is on
 * expects it and the seal is right.
 */
bool session_take_stream(struct session *s, const struct opening *o, int fd);
/* The same for a request; the caller answers and closes it. */
bool session_take_request(struct session *s, const struct opening *o);

#endif
