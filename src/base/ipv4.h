/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4 addresses with the length of their prefix, and networks. Pure. */
#ifndef BASE_IPV4_H
#define BASE_IPV4_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* An address and the length of its prefix, or a network: host order. */
struct ipv4 {
	uint32_t ip;
	unsigned bits; /* 0 to 32 */
};

/* "192.168.100.1/24"; without a length all bits. -EINVAL for anything else, IPv6 too. */
int ipv4_parse(const char *text, struct ipv4 *out);
const char *ipv4_text(struct arena *a, struct ipv4 x);
/* The network that x lies in. */
struct ipv4 ipv4_network(struct ipv4 x);
/* One contains the other. */
bool ipv4_overlap(struct ipv4 x, struct ipv4 y);
bool ipv4_same(struct ipv4 x, struct ipv4 y);
/* 169.254.0.0/16 or 127.0.0.0/8: of the link or the machine alone, in nobody's way. */
bool ipv4_local(struct ipv4 x);

#endif
