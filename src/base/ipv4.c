/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of IPv4 networks. */
#include "base/ipv4.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"

enum { ALL_BITS = 32 };

static uint32_t mask_of(unsigned bits)
{
	return bits ? 0xffffffffU << (ALL_BITS - bits) : 0;
}

int ipv4_parse(const char *text, struct ipv4 *out)
{
	size_t n = strcspn(text, "/");
	long long bits = ALL_BITS;
	char host[INET_ADDRSTRLEN];
	struct in_addr ip;

	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_pton(AF_INET, host, &ip) != 1 ||
	    (text[n] && (text[n + 1] < '0' || text[n + 1] > '9' || parse_i64(text + n + 1, &bits) ||
			 bits > ALL_BITS)))
		return -EINVAL;
	*out = (struct ipv4){ .ip = ntohl(ip.s_addr), .bits = (unsigned)bits };
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
