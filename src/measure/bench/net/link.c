/* SPDX-License-Identifier: Apache-2.0 */
/* getsockname, getifaddrs, and /proc/net/dev, which shows the namespace that reads it. */
#include "measure/bench/net/link.h"

#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool same_host(const struct sockaddr *a, const struct net_address *b)
{
	if (!a || a->sa_family != b->ss.ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&b->ss)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 && memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
						  &((const struct sockaddr_in6 *)&b->ss)->sin6_addr,
						  sizeof(struct in6_addr)) == 0;
}

/* A v4 address that came in through a v6 socket, as what it is. */
static void unmap(struct net_address *a)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->ss;
	struct sockaddr_in four = { .sin_family = AF_INET };

	if (a->ss.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return;
	memcpy(&four.sin_addr, six->sin6_addr.s6_addr + 12, 4);
	memset(&a->ss, 0, sizeof(a->ss));
	memcpy(&a->ss, &four, sizeof(four));
	a->len = sizeof(four);
}

void link_of_socket(int fd, struct net_link *out)
{
	struct net_address own = { .len = sizeof(own.ss) };
	struct ifaddrs *all = NULL;
	struct ifreq ask = { 0 };

	*out = (struct net_link){ 0 };
	if (getsockname(fd, (struct sockaddr *)&own.ss, &own.len))
		return;
	unmap(&own);
	out->loopback = net_address_loopback(&own);
	out->headers = own.ss.ss_family == AF_INET6 ? 60 : 40;
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *i = all; i && !out->name[0]; i = i->ifa_next)
		if (same_host(i->ifa_addr, &own))
			snprintf(out->name, sizeof(out->name), "%s", i->ifa_name);
	freeifaddrs(all);
	/* "eth0:1" is a label of eth0. */
	out->name[strcspn(out->name, ":")] = '\0';
	/* Machines that route have addresses on lo which others reach through any interface. */
	if (!out->loopback && strcmp(out->name, "lo") == 0)
		out->name[0] = '\0';
	/* All of 127/8 is lo's, one of it stands there. */
	if (!out->name[0] && out->loopback)
		snprintf(out->name, sizeof(out->name), "lo");
	memcpy(ask.ifr_name, out->name, sizeof(out->name));
	if (out->name[0] && ioctl(fd, SIOCGIFMTU, &ask) == 0)
		out->mtu = ask.ifr_mtu;
}

void link_to(const struct net_address *to, struct net_link *out)
{
	/* Connecting a datagram socket only asks the routes. */
	int fd = socket(to->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*out = (struct net_link){ 0 };
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&to->ss, to->len) == 0)
		link_of_socket(fd, out);
	close(fd);
}

bool link_parse(const char *line, const char *name, struct link_bytes *out)
{
	unsigned long long v[9];
	size_t n = strlen(name);
	const char *at = line + strspn(line, " ");

	if (!n || strncmp(at, name, n) != 0 || at[n] != ':')
		return false;
	at += n + 1;
	for (size_t i = 0; i < 9; i++) {
		char *end;

		v[i] = strtoull(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	*out = (struct link_bytes){ .known = true, .rx = v[0], .tx = v[8] };
	return true;
}

struct link_bytes link_count(const struct net_link *l)
{
	struct link_bytes out = { 0 };
	FILE *f = l->name[0] ? fopen("/proc/thread-self/net/dev", "re") : NULL;
	char line[512];

	if (!f)
		return out;
	while (!out.known && fgets(line, sizeof(line), f))
		link_parse(line, l->name, &out);
	fclose(f);
	return out;
}
