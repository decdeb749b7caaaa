/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two gputunes find out that they know the same token, before anything else is said: hello and
 * challenge, then a proof from either side. The token itself is never sent.
 */
#ifndef BENCH_NET_HANDSHAKE_H
#define BENCH_NET_HANDSHAKE_H

#include "bench/net/socket.h"
#include "bench/net/token.h"
#include "bench/net/wire.h"

/* A sentence for -errno of what was to be done with who ("10.0.0.2:21187"). Returns r. */
int handshake_fail(const char *who, int r, const char *what, struct err *e);
/* The side that connected. key: the session's. -EBUSY: somebody else is served; -EKEYREJECTED:
 * another token. */
int handshake_client(int fd, const char *who, const struct token *t, const struct net_wait *w,
		     uint8_t key[WIRE_SECRET], struct err *e);
/* The side that was connected to, where only one speaks at a time. -errno, without a word. */
int handshake_server(int fd, const struct token *t, const struct net_wait *w,
		     uint8_t key[WIRE_SECRET]);

#endif
