/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface by the routes; both ends' largest segment and the path's MTU by a connection: an
 * end with a smaller MTU announces a smaller segment in its first packet.
 */
#include "measure/doctor/path.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "measure/bench/net/link.h"

/* The first packet may wait for an address to be resolved, and any for a busy machine: the round
 * trip of the way is the shortest of some. */
enum { DIAL_MS = 3000, DIALS = 3 };

static void by_facts(const struct machine *m, struct path_look *out)
{
	LIST_FOR_EACH (struct nic, n, &m->net.nics) {
		long long speed = fact_or(&n->speed_mbps, 0);
		bool up = fact_is(&n->operstate, "up") && *n->pci;

		if (strcmp(n->name, out->interface) == 0) {
			out->wireless = fact_or(&n->wireless, 0) != 0;
			out->speed_mbps = *n->pci && speed > 0 ? speed : 0;
		}
		if (up && speed > out->fastest_mbps) {
			out->fastest_mbps = speed;
			out->fastest = n->name;
		}
	}
}

static void by_connection(int fd, struct path_look *out)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return;
	out->path_mtu = info.tcpi_pmtu;
	out->own_segment = info.tcpi_advmss;
	out->segment = info.tcpi_snd_mss;
	if (!(out->rtt_s > 0) || info.tcpi_rtt / 1e6 < out->rtt_s)
		out->rtt_s = info.tcpi_rtt / 1e6;
}

int path_take(struct arena *a, const struct machine *m, const char *peer, const atomic_bool *stop,
	      struct path_look *out, struct err *e)
{
	const struct net_wait wait = { .ms = DIAL_MS, .stop = stop };
	struct net_address to;
	struct net_link link;
	int fd, r;

	*out = (struct path_look){ .to = peer, .interface = "", .fastest = "" };
	r = net_address_parse(peer, false, &to, e);
	if (r)
		return r;
	link_to(&to, &link);
	out->interface = arena_strdup(a, link.name);
	out->mtu = link.mtu;
	by_facts(m, out);
	for (int i = 0; i < DIALS; i++) {
		fd = net_dial(&to, 0, &wait);
		if (fd < 0 && i == 0)
			return err_set(e, fd, "%s does not answer: %s", to.text, strerror(-fd));
		if (fd < 0)
			break;
		by_connection(fd, out);
		net_drop(fd);
	}
	return 0;
}
