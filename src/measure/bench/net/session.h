/* SPDX-License-Identifier: Apache-2.0 */
/* What the serving side does for a client that knows the token. */
#ifndef NET_SESSION_H
#define NET_SESSION_H

#include "measure/bench/net/link.h"
#include "measure/bench/net/serve.h"
#include "measure/bench/net/wire.h"

enum { SESSION_QUIET_MS = 60000, SESSION_STREAMS_MS = 8000, SESSION_WRITE_MS = 5000 };

struct session;

/* A thread that talks on fd and owns it. NULL: no memory. wake: an eventfd it adds to at its end.
 */
struct session *session_start(const struct serve *s, int fd, const uint8_t key[WIRE_SECRET],
			      const char *client, int wake);
/* True when it has nothing more to do; it can be ended without waiting. */
bool session_over(struct session *s);
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
