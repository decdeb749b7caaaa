/* SPDX-License-Identifier: Apache-2.0 */
/* Announcing in rounds, and keeping each thing that was heard once, with how often. */
#include "many/cluster/air.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "many/cluster/air_inside.h"

/* HEARD_MAX: more is a storm, of which no more is to be learned. */
enum { ROUND_MS = 50, HEAR_MS = 20, HEARD_MAX = 1024, BURST = 256 };

static struct fact seen(void)
{
	return (struct fact){ .seen = SEEN_OK, .leaf = "the port's sockets" };
}

static struct fact_str word(struct arena *a, const char *v)
{
	if (!*v)
		return (struct fact_str){ .f = { .seen = SEEN_ABSENT, .leaf = seen().leaf } };
	return (struct fact_str){ .f = seen(), .v = arena_strdup(a, v) };
}

static bool has_link_local(const struct cluster_port *p)
{
	LIST_FOR_EACH (struct cluster_address, x, &p->addresses) {
		struct cluster_prefix prefix;

		if (strchr(x->name, ':') && cluster_prefix_parse(x->name, &prefix) == 0 &&
		    cluster_prefix_link_local(&prefix))
			return true;
	}
	return false;
}

static void greeting(const struct air *air, struct air_port *p)
{
	struct hello h = { .node = air->how.node };
	long long mtu = fact_or(&p->port->mtu, 0), speed = fact_or(&p->port->speed_mbps, 0);

	memcpy(h.token, air->how.token, sizeof(h.token));
	snprintf(h.name, sizeof(h.name), "%s", air->how.name);
	snprintf(h.port, sizeof(h.port), "%s", p->port->name);
	snprintf(h.pci, sizeof(h.pci), "%s", p->port->pci);
	snprintf(h.port_name, sizeof(h.port_name), "%s", fact_text(&p->port->port_name, ""));
	snprintf(h.switch_id, sizeof(h.switch_id), "%s", fact_text(&p->port->switch_id, ""));
	h.mtu = mtu > 0 && mtu <= UINT32_MAX ? (uint32_t)mtu : 0;
	h.speed_mbps = speed > 0 && speed <= UINT32_MAX ? (uint32_t)speed : 0;
	p->hello_len = hello_write(&h, p->hello, sizeof(p->hello));
}

static void open_port(struct air *air, struct cluster_port *port)
{
	struct air_port *p = &air->ports[air->n_ports];
	unsigned index = if_nametoindex(port->name);
	int r;

	port->listened.f = (struct fact){ .seen = SEEN_ABSENT,
					  .err = ENODEV,
					  .leaf = "the port has no carrier" };
	if (!index || !fact_or(&port->carrier, 0) || fact_or(&port->wireless, 0))
		return;
	*p = (struct air_port){ .port = port, .index = index, .frames = -1, .lldp = -1 };
	p->has_six = has_link_local(port);
	greeting(air, p);
	r = air_open_frames(p);
	port->listened.f =
		(struct fact){ .seen = seen_from_errno(r), .err = -r, .leaf = "socket AF_PACKET" };
	if (r == 0)
		port->listened = word(air->a, "frames");
	else if (p->has_six && air->datagrams >= 0)
		port->listened = word(air->a, "ipv6");
	air->n_ports++;
}

int air_open(struct arena *a, const struct air_how *how, struct cluster_node *n, struct air **out,
	     struct err *e)
{
	struct air *air = ARENA_NEW(a, struct air);

	(void)e;
	air->a = a;
	air->node = n;
	air->how = *how;
	air->ports = arena_array(a, n->ports.n, sizeof(*air->ports));
	air->datagrams = air_open_datagrams();
	air->echo = air_open_echo();
	NODE_PORTS(p, n)
	open_port(air, p);
	*out = air;
	return 0;
}

static bool same(const struct cluster_heard *h, const struct air_news *w, const char *node,
		 const char *port)
{
	return strcmp(h->name, w->at->port->name) == 0 && strcmp(h->way, w->way) == 0 &&
	       strcmp(fact_text(&h->node, ""), node) == 0 &&
	       strcmp(fact_text(&h->port, ""), port) == 0 &&
	       strcmp(fact_text(&h->address, ""), w->address) == 0;
}

static void keep(struct air *air, const struct air_news *w)
{
	bool lldp = strcmp(w->way, "lldp") == 0;
	const char *node =
		lldp ? w->lldp.system[0] ? w->lldp.system : w->lldp.chassis : w->hello.name;
	const char *port = lldp ? w->lldp.port : w->hello.port;
	struct cluster_heard *h;

	LIST_FOR_EACH (struct cluster_heard, old, &air->node->heard)
		if (same(old, w, node, port)) {
			old->count.v++;
			return;
		}
	if (air->node->heard.n == HEARD_MAX)
		return;
	h = list_add(air->a, &air->node->heard, sizeof(*h));
	h->name = w->at->port->name;
	h->way = w->way;
	h->node = word(air->a, node);
	h->port = word(air->a, port);
	h->address = word(air->a, w->address);
	h->pci = word(air->a, w->hello.pci);
	h->port_name = word(air->a, w->hello.port_name);
	h->switch_id = word(air->a, w->hello.switch_id);
	if (w->hello.mtu)
		h->mtu = (struct fact_int){ .f = seen(), .v = w->hello.mtu };
	if (w->hello.speed_mbps)
		h->speed_mbps = (struct fact_int){ .f = seen(), .v = w->hello.speed_mbps };
	h->count = (struct fact_int){ .f = seen(), .v = 1 };
}

/* Ours: of this discovery. LLDP and echoes carry no token. */
static bool counts(const struct air *air, const struct air_news *w)
{
	if (strcmp(w->way, "lldp") == 0 || strcmp(w->way, "echo") == 0)
		return true;
	return memcmp(w->hello.token, air->how.token, HELLO_TOKEN) == 0;
}

/* What one socket holds; whoever sends more than a burst is looked at again in the next round. */
static void drain(struct air *air, struct air_port *p, int kind)
{
	for (unsigned i = 0; i < BURST; i++) {
		struct air_news w = { 0 };
		int r = kind == 0   ? air_take_frame(p, &w)
			: kind == 1 ? air_take_lldp(p, &w)
			: kind == 2 ? air_take_datagram(air, &w)
				    : air_take_echo(air, &w);

		if (r < 0)
			return;
		if (r && counts(air, &w))
			keep(air, &w);
	}
}

static void drain_all(struct air *air)
{
	for (size_t i = 0; i < air->n_ports; i++) {
		drain(air, &air->ports[i], 0);
		drain(air, &air->ports[i], 1);
	}
	drain(air, NULL, 2);
	drain(air, NULL, 3);
}

int air_say(struct air *air, int ms, bool (*stopped)(void *ctx), void *ctx)
{
	long long end = clock_mono_ms() + ms;
	unsigned round = 0;

	do {
		for (size_t i = 0; i < air->n_ports; i++) {
			air_send_frames(&air->ports[i]);
			air_send_datagram(air, &air->ports[i]);
			if (round % 4 == 0)
				air_send_echo(air, &air->ports[i], round);
		}
		round++;
		poll(NULL, 0, ROUND_MS);
		drain_all(air);
		if (stopped(ctx))
			return -EINTR;
	} while (clock_mono_ms() < end);
	return 0;
}

void air_hear(struct air *air)
{
	/* Once more for what was on its way. */
	poll(NULL, 0, HEAR_MS);
	drain_all(air);
}

void air_close(struct air *air)
{
	for (size_t i = 0; i < air->n_ports; i++) {
		if (air->ports[i].frames >= 0)
			close(air->ports[i].frames);
		if (air->ports[i].lldp >= 0)
			close(air->ports[i].lldp);
	}
	if (air->datagrams >= 0)
		close(air->datagrams);
	if (air->echo >= 0)
		close(air->echo);
}
