/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that both sides of a measurement know. */
#ifndef NET_HANDSHAKE_H
#define NET_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/bench/net/socket.h"
#include "measure/bench/net/wire.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 1024 };

/* Said wherever a peer was named without one. */
#define NET_NO_TOKEN "--peer requires --token FILE with the same secret as on the other machine"

struct token {
	uint8_t secret[TOKEN_MAX];
	size_t n;
};

/*
 * From a regular file that nobody but its owner (this user or root) can read or write; newlines at
 * its end do not count. -errno and *e, and an empty token.
 */
int token_load(const char *path, struct token *out, struct err *e);

/*
 * How two gputunes find out that they know the same token, before anything else is said: hello and
 * challenge, then a proof from either side. The token itself is never sent.
 */

/* A sentence for -errno of what was to be done with who ("10.0.0.2:21187"). Returns r. */
int handshake_fail(const char *who, int r, const char *what, struct err *e);
/* The side that connected. key: the session's. -EBUSY: somebody else is served; -EKEYREJECTED:
 * another token. */
int handshake_client(int fd, const char *who, const struct token *t, const struct net_wait *w,
		     uint8_t key[WIRE_SECRET], struct err *e);

/* The side that was connected to never waits: 64 bytes fit into a socket's buffer, or the other
 * side gets nothing (false). secret: WIRE_SECRET bytes; NULL: zeros. */
bool handshake_put(int fd, enum opening_kind kind, const uint8_t *secret);
/* Answers a hello; *a gets what both sides said. */
bool handshake_challenge(int fd, const struct opening *hello, struct wire_auth *a);
/* That this proof comes from who knows the token. */
bool handshake_proves(const struct token *t, const struct wire_auth *a, const struct opening *o);
/* Proves the same to the other side; key: the session's. */
bool handshake_admit(int fd, const struct token *t, const struct wire_auth *a,
		     uint8_t key[WIRE_SECRET]);

/* Frames over a connection, either side's. */

struct frames {
	int fd;
	const atomic_bool *stop;
	struct wire_side in, out;
};

/* 0 or -errno as net_read and net_write; -EBADMSG and -EKEYREJECTED as frame_read. */
int frames_put(struct frames *f, const struct wire_frame *frame, int ms);
int frames_get(struct frames *f, struct wire_frame *out, int ms);

#endif
