/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of IPv4 networks, and handing out those that nobody has. */
#include "many/cluster/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "many/cluster/node.h"

enum { ALL_BITS = 32 };

static uint32_t mask_of(unsigned bits)
{
	return bits ? 0xffffffffU << (ALL_BITS - bits) : 0;
}

int ipv4_parse(const char *text, struct ipv4 *out)
{
	struct cluster_prefix p;
	uint32_t ip;

	if (cluster_prefix_parse(text, &p) || p.family != AF_INET)
		return -EINVAL;
	memcpy(&ip, p.bytes, sizeof(ip));
	*out = (struct ipv4){ .ip = ntohl(ip), .bits = p.bits };
	return 0;
}

const char *ipv4_text(struct arena *a, struct ipv4 x)
{
	struct in_addr ip = { .s_addr = htonl(x.ip) };
	char buf[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &ip, buf, sizeof(buf));
	return arena_printf(a, "%s/%u", buf, x.bits);
}

struct ipv4 ipv4_network(struct ipv4 x)
{
	return (struct ipv4){ .ip = x.ip & mask_of(x.bits), .bits = x.bits };
}

bool ipv4_overlap(struct ipv4 x, struct ipv4 y)
{
	uint32_t mask = mask_of(x.bits < y.bits ? x.bits : y.bits);

	return (x.ip & mask) == (y.ip & mask);
}

bool ipv4_same(struct ipv4 x, struct ipv4 y)
{
	return x.ip == y.ip && x.bits == y.bits;
}

bool ipv4_local(struct ipv4 x)
{
	return (x.ip >> 16) == 0xa9fe || (x.ip >> 24) == 127;
}

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
