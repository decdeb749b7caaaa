/* SPDX-License-Identifier: Apache-2.0 */
/* The network interface that a connection uses, and how many bytes went through it. */
#ifndef NET_LINK_H
#define NET_LINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure/bench/net/socket.h"

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
