/* SPDX-License-Identifier: Apache-2.0 */
/* ARP probes, and who answers them. What comes in is anybody's: only its sender's address counts.
 */
#include "many/cluster/arp_probe.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "many/cluster/address.h"

enum { WAIT_MS = 250, TRIES = 2, GAP_MS = 90 };

struct asker {
	int fd;	     /* -1: it could not be asked */
	uint32_t ip; /* host order */
	struct ether_arp probe;
	struct sockaddr_ll to;
};

static int open_asker(struct asker *k, const struct arp_probe_ask *ask)
{
	struct ifreq own = { 0 };
	struct ipv4 x;
	uint32_t ip;

	if (ipv4_parse(ask->address, &x))
		return -EINVAL;
	k->ip = x.ip;
	k->to = (struct sockaddr_ll){ .sll_family = AF_PACKET,
				      .sll_protocol = htons(ETH_P_ARP),
				      .sll_ifindex = (int)if_nametoindex(ask->port),
				      .sll_halen = ETH_ALEN };
	memset(k->to.sll_addr, 0xff, ETH_ALEN);
	k->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ARP));
	if (k->fd < 0)
		return -errno;
	snprintf(own.ifr_name, sizeof(own.ifr_name), "%s", ask->port);
	if (!k->to.sll_ifindex || ioctl(k->fd, SIOCGIFHWADDR, &own) < 0 ||
	    own.ifr_hwaddr.sa_family != ARPHRD_ETHER ||
	    bind(k->fd, (const struct sockaddr *)&k->to, sizeof(k->to)) < 0) {
		int r = errno ? -errno : -EOPNOTSUPP;

		close(k->fd);
		k->fd = -1;
		return r;
	}
	ip = htonl(x.ip);
	k->probe = (struct ether_arp){ .ea_hdr = { .ar_hrd = htons(ARPHRD_ETHER),
						   .ar_pro = htons(ETHERTYPE_IP),
						   .ar_hln = ETH_ALEN,
						   .ar_pln = 4,
						   .ar_op = htons(ARPOP_REQUEST) } };
	memcpy(k->probe.arp_sha, own.ifr_hwaddr.sa_data, ETH_ALEN);
	memcpy(k->probe.arp_tpa, &ip, sizeof(ip));
	return 0;
}

/* Whoever says that the address is his, and is not this port. */
static void arp_probe_take(struct asker *k, struct arp_probe_ask *ask)
{
	struct ether_arp got;
	uint32_t ip;

	while (recv(k->fd, &got, sizeof(got), 0) == (ssize_t)sizeof(got)) {
		memcpy(&ip, got.arp_spa, sizeof(ip));
		if (got.ea_hdr.ar_pro != htons(ETHERTYPE_IP) || got.ea_hdr.ar_hln != ETH_ALEN ||
		    got.ea_hdr.ar_pln != 4 || ntohl(ip) != k->ip ||
		    memcmp(got.arp_sha, k->probe.arp_sha, ETH_ALEN) == 0)
			continue;
		snprintf(ask->by, sizeof(ask->by), "%02x:%02x:%02x:%02x:%02x:%02x", got.arp_sha[0],
			 got.arp_sha[1], got.arp_sha[2], got.arp_sha[3], got.arp_sha[4],
			 got.arp_sha[5]);
	}
}

static void send_all(struct asker *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			(void)sendto(list[i].fd, &list[i].probe, sizeof(list[i].probe), 0,
				     (const struct sockaddr *)&list[i].to, sizeof(list[i].to));
}

static void listen_all(struct asker *list, struct arp_probe_ask *asks, size_t n)
{
	long long begin = clock_mono_ms(), now;
	struct pollfd p[TAKEN_MAX];
	int sent = 0;

	while ((now = clock_mono_ms() - begin) < WAIT_MS) {
		if (sent < TRIES && now >= sent * GAP_MS) {
			send_all(list, n);
			sent++;
		}
		for (size_t i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = list[i].fd, .events = POLLIN };
		poll(p, (nfds_t)n, GAP_MS / 3);
		for (size_t i = 0; i < n; i++)
			if (list[i].fd >= 0 && p[i].revents)
				arp_probe_take(&list[i], &asks[i]);
	}
}

int arp_probe(struct arp_probe_ask *asks, size_t n)
{
	struct asker list[TAKEN_MAX];
	size_t open = 0;
	int r = 0;

	if (n > TAKEN_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		int failed;

		asks[i].by[0] = '\0';
		list[i].fd = -1;
		failed = open_asker(&list[i], &asks[i]);
		r = failed ? failed : r;
		open += !failed;
	}
	if (open)
		listen_all(list, asks, n);
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			close(list[i].fd);
	return open ? 0 : r;
}
