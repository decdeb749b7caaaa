/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses the paths of a cluster get: one subnet a path, so that no two ports of a node are
 * ever in one, and none that anything on a node uses already. Pure: IPv4 networks in, networks out.
 */
#ifndef CLUSTER_ADDRESS_H
#define CLUSTER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/ipv4.h"

/* The length that NCCL_IB_SUBNET_PREFIX_LEN takes for granted. Source: NCCL 2.30.7. */
enum { ADDRESS_BITS = 24, ADDRESS_HOSTS = 254 };

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
