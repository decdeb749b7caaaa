/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out networks that nobody has. */
#include "many/cluster/address.h"

enum { ALL_BITS = 32 };

void ipv4_take(struct ipv4_pool *p, struct ipv4 x)
{
	ARENA_ADD(p->a, p->taken, p->n) = x;
}

bool ipv4_in_use(const struct ipv4_pool *p, struct ipv4 network)
{
	for (size_t i = 0; i < p->n; i++)
		if (ipv4_overlap(p->taken[i], network))
			return true;
	return false;
}

static bool next_from(struct ipv4_pool *p, uint32_t first, uint32_t count, struct ipv4 *out)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ipv4 x = { .ip = first + (i << (ALL_BITS - ADDRESS_BITS)),
				  .bits = ADDRESS_BITS };

		if (ipv4_in_use(p, x))
			continue;
		ipv4_take(p, x);
		*out = x;
		return true;
	}
	return false;
}

bool ipv4_next(struct ipv4_pool *p, struct ipv4 *out)
{
	/* 192.168.100.0 is where NVIDIA's own steps begin; people look for it there. */
	static const struct {
		uint32_t first, count;
	} ranges[] = { { 0xc0a86400U, 156 }, { 0x0a640000U, 256 }, { 0xac1f0000U, 256 } };

	if (p->base.bits)
		return p->base.bits <= ADDRESS_BITS &&
		       next_from(p, ipv4_network(p->base).ip, 1U << (ADDRESS_BITS - p->base.bits),
				 out);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (next_from(p, ranges[i].first, ranges[i].count, out))
			return true;
	return false;
}
