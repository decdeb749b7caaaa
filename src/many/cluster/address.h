/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses the paths of a cluster get: one subnet a path, so that no two ports of a node are
 * ever in one, and none that anything on a node uses already. Pure: IPv4 networks in, networks out.
 */
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* The length that NCCL_IB_SUBNET_PREFIX_LEN takes for granted. Source: NCCL 2.30.7. */
enum { ADDRESS_BITS = 24, ADDRESS_HOSTS = 254 };

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

/* What is taken, and what was given out. */
struct ipv4_pool {
	struct arena *a;
	struct ipv4 *taken;
	size_t n;
	struct ipv4 base; /* networks come from here; bits 0: 192.168.100.0 and on, then 10/8 */
};

void ipv4_take(struct ipv4_pool *p, struct ipv4 x);
bool ipv4_in_use(const struct ipv4_pool *p, struct ipv4 network);
/* A free /24, taken from now on; false when there is none left. */
bool ipv4_next(struct ipv4_pool *p, struct ipv4 *out);

#endif
