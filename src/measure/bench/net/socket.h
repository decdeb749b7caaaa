/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, and connections on which no wait is without an end. Descriptors are owned by who got
 * them; results are 0 (or a descriptor) or -errno.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

enum { NET_PORT = 21187, NET_TEXT = 80 };

struct net_address {
	struct sockaddr_storage ss;
	socklen_t len;
	char text[NET_TEXT]; /* "10.0.0.2:21187" */
};

/* How long, and what cuts it short; stop may be NULL. */
struct net_wait {
	int ms;
	const atomic_bool *stop;
};

/* "host", "host:port", "[v6]:port" or a bare v6 address. numeric: names are refused. */
int net_address_parse(const char *text, bool numeric, struct net_address *out, struct err *e);
void net_address_name(struct net_address *a);
unsigned net_port(const struct net_address *a);
void net_address_port(struct net_address *a, unsigned port);
bool net_address_loopback(const struct net_address *a);
bool net_address_any(const struct net_address *a);

/* The clocks of base/clock.h, in nanoseconds as they go over the wire. */
static inline uint64_t net_now_ns(void)
{
	return (uint64_t)clock_mono_ns();
}

static inline long long net_now_ms(void)
{
	return clock_mono_ms();
}

static inline uint64_t net_cpu_ns(void)
{
	return (uint64_t)clock_cpu_ns();
}

/* The socket is non-blocking afterwards. segment: TCP_MAXSEG, 0: as the path allows. */
int net_dial(const struct net_address *to, int segment, const struct net_wait *w);
/* All n bytes. -EINTR: stopped; -ETIMEDOUT; -ECONNRESET also when the other side closed. */
int net_read(int fd, void *p, size_t n, const struct net_wait *w);
int net_write(int fd, const void *p, size_t n, const struct net_wait *w);
/* What answers at "host" or "host:port" until it closes: at most so many bytes, each step within 5
 * s. NULL: *e says why. */
char *net_exchange(struct arena *a, const char *at, unsigned port, const char *ask, size_t most,
		   struct err *e);
/* -ECONNRESET when the other side has closed, which is what is waited for; else as above. */
int net_read_end(int fd, const struct net_wait *w);

/* on: what a call sends goes at once; off: small rests wait for more. */
void net_no_delay(int fd, bool on);
/* Blocking again, and no call on it waits longer than ms. */
int net_blocking(int fd, int ms);
/* close, without what TCP would keep of the connection. */
void net_drop(int fd);

/* --- numbers below /proc/sys/net, of this network namespace
 * ---------------------------------------
 */
/* Bit 1: as client, bit 2: as server. */
int sysctl_fast_open(void);
int sysctl_slow_start_after_idle(void);

/* The network interface that a connection uses, and how many bytes went through it. */

struct net_link {
	char name[IF_NAMESIZE]; /* "" when it was not found */
	bool loopback;		/* both ends are loopback addresses */
	int headers;		/* bytes of IP and TCP before options: 40, or 60 */
	bool six;		/* IPv6, whose header is 20 bytes longer */
	int mtu;		/* bytes, layer 3; 0: not known */
};

struct link_bytes {
	bool known;
	uint64_t rx, tx;
};

/* By the socket's own address. Two addresses of one machine talk through lo, whatever interface
 * has them: its counters tell. */
void link_of_socket(int fd, struct net_link *out);
/* Which one would be used; sends nothing. */
void link_to(const struct net_address *to, struct net_link *out);
/* Of the calling thread's network namespace (/proc/net/dev). */
struct link_bytes link_count(const struct net_link *l);
/* One line of /proc/net/dev; false when it is of another interface or none. */
bool link_parse(const char *line, const char *name, struct link_bytes *out);

#endif
