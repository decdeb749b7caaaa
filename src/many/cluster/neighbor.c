/* SPDX-License-Identifier: Apache-2.0 */
/* Announcing in rounds, and keeping each thing that was received once, with how often. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many/cluster/neighbor.h"
#include "base/clock.h"

/* Fields of announcements, each bounded by what is left of the frame. */

static const uint8_t magic[4] = { 'g', 'p', 't', 'n' };

enum { VERSION = 1, HEAD = 8 + HELLO_TOKEN };

/* A field's number is its place here and one. Of size 4: a number, network order. */
#define HELLO_FIELD(member)                                                                        \
	{                                                                                          \
		offsetof(struct hello, member), sizeof(((struct hello *)0)->member)                \
	}
static const struct {
	size_t at, size;
} fields[] = { HELLO_FIELD(name),      HELLO_FIELD(port),      HELLO_FIELD(pci),
	       HELLO_FIELD(port_name), HELLO_FIELD(switch_id), HELLO_FIELD(mtu),
	       HELLO_FIELD(speed_mbps) };
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

size_t hello_write(const struct hello *h, uint8_t *out, size_t room)
{
	size_t n = HEAD;

	if (room < HEAD)
		return 0;
	memcpy(out, magic, sizeof(magic));
	out[4] = VERSION;
	out[5] = 0;
	out[6] = (uint8_t)(h->node >> 8);
	out[7] = (uint8_t)h->node;
	memcpy(out + 8, h->token, HELLO_TOKEN);
	for (size_t i = 0; i < FIELDS; i++) {
		const char *from = (const char *)h + fields[i].at;
		uint32_t number;
		size_t len;

		memcpy(&number, from, sizeof(number));
		number = htonl(number);
		if (fields[i].size == sizeof(number))
			len = number ? sizeof(number) : 0;
		else
			len = strnlen(from, fields[i].size);
		if (!len)
			continue;
		if (room - n < len + 2)
			return 0;
		out[n++] = (uint8_t)(i + 1);
		out[n++] = (uint8_t)len;
		memcpy(out + n, fields[i].size == sizeof(number) ? (const void *)&number : from,
		       len);
		n += len;
	}
	return n;
}

/* As much as fits, of printable ASCII; anything else becomes '?'. */
static void text(char *out, size_t cap, const uint8_t *p, size_t n)
{
	size_t k = n < cap ? n : cap - 1;

	for (size_t i = 0; i < k; i++)
		out[i] = p[i] > ' ' && p[i] < 0x7f ? (char)p[i] : '?';
	out[k] = '\0';
}

static void neighbor_take(struct hello *h, size_t field, const uint8_t *p, size_t n)
{
	char *to = field < FIELDS ? (char *)h + fields[field].at : NULL;
	uint32_t number = 0;

	if (!to)
		return;
	if (fields[field].size != sizeof(number)) {
		text(to, fields[field].size, p, n);
		return;
	}
	if (n == sizeof(number))
		memcpy(&number, p, n);
	number = ntohl(number);
	memcpy(to, &number, sizeof(number));
}

bool hello_read(const uint8_t *bytes, size_t n, struct hello *out)
{
	struct hello h = { 0 };
	size_t at = HEAD;

	if (n < HEAD || memcmp(bytes, magic, sizeof(magic)) != 0 || bytes[4] != VERSION)
		return false;
	h.node = (unsigned)bytes[6] << 8 | bytes[7];
	memcpy(h.token, bytes + 8, HELLO_TOKEN);
	/* Short frames are filled up with zeroes: a field 0 ends them. */
	while (n - at >= 2 && bytes[at]) {
		size_t len = bytes[at + 1];

		if (n - at - 2 < len)
			return false;
		neighbor_take(&h, bytes[at] - 1u, bytes + at + 2, len);
		at += 2 + len;
	}
	if (!h.port[0])
		return false;
	*out = h;
	return true;
}

static void mac_text(const uint8_t *m, char *out, size_t n)
{
	snprintf(out, n, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

/* Chassis and port are a kind, then a MAC address or a text, by the kind. */
static void lldp_id(char *out, size_t cap, const uint8_t *p, size_t n, unsigned mac_kind)
{
	if (n == 7 && p[0] == mac_kind)
		mac_text(p + 1, out, cap);
	else if (n > 1)
		text(out, cap, p + 1, n - 1);
}

bool lldp_read(const uint8_t *bytes, size_t n, struct lldp *out)
{
	enum { END, CHASSIS, PORT, SYSTEM_NAME = 5, MAC_OF_CHASSIS = 4, MAC_OF_PORT = 3 };
	struct lldp l = { 0 };
	size_t at = 0;

	while (n - at >= 2) {
		unsigned what = bytes[at] >> 1;
		size_t len = (size_t)(bytes[at] & 1) << 8 | bytes[at + 1];
		const uint8_t *p = bytes + at + 2;

		if (what == END)
			break;
		if (n - at - 2 < len)
			return false;
		if (what == CHASSIS)
			lldp_id(l.chassis, sizeof(l.chassis), p, len, MAC_OF_CHASSIS);
		else if (what == PORT)
			lldp_id(l.port, sizeof(l.port), p, len, MAC_OF_PORT);
		else if (what == SYSTEM_NAME)
			text(l.system, sizeof(l.system), p, len);
		at += 2 + len;
	}
	if (!l.chassis[0] || !l.port[0])
		return false;
	*out = l;
	return true;
}

/* Raw sockets, datagrams and echoes of one network namespace, all non-blocking. */

/* Not forwarded by any bridge that keeps to IEEE 802.1D; the first is LLDP's usual one. */
static const uint8_t nearest[][6] = {
	{ 0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E },
	{ 0x01, 0x80, 0xC2, 0x00, 0x00, 0x03 },
	{ 0x01, 0x80, 0xC2, 0x00, 0x00, 0x00 },
};
static const uint8_t everybody[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };

enum { FRAME_MIN = 60, FRAME_MAX = 2048 };

static int open_packet(unsigned index, unsigned type, size_t groups)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons((uint16_t)type),
				  .sll_ifindex = (int)index };

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		error = errno;
		close(fd);
		return -error;
	}
	for (size_t i = 0; i < groups; i++) {
		struct packet_mreq m = { .mr_ifindex = (int)index,
					 .mr_type = PACKET_MR_MULTICAST,
					 .mr_alen = 6 };

		memcpy(m.mr_address, nearest[i], 6);
		setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof(m));
	}
	return fd;
}

static int neighbor_open_frames(struct neighbor_port *p)
{
	struct sockaddr_ll own = { 0 };
	socklen_t len = sizeof(own);

	p->frames = open_packet(p->index, HELLO_TYPE, 1);
	if (p->frames < 0)
		return p->frames;
	if (getsockname(p->frames, (struct sockaddr *)&own, &len) == 0 &&
	    own.sll_hatype == ARPHRD_ETHER && own.sll_halen == 6) {
		memcpy(p->mac, own.sll_addr, 6);
		/* Without LLDP there is still our own. */
		p->lldp = open_packet(p->index, LLDP_TYPE, sizeof(nearest) / sizeof(nearest[0]));
		return 0;
	}
	/* InfiniBand has other addresses: no frame of ours goes there. */
	close(p->frames);
	p->frames = -1;
	return -EOPNOTSUPP;
}

/* Of everything that comes, also the port that it came in by; nothing of ours. */
static int open_six(int protocol)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	int on = 1, off = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &off, sizeof(off));
	return fd;
}

static int neighbor_open_datagrams(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(HELLO_UDP_PORT),
				   .sin6_addr = IN6ADDR_ANY_INIT };
	int fd = open_six(0), on = 1;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void send_frame(const struct neighbor_port *p, const uint8_t to[6])
{
	uint8_t frame[ETH_HLEN + HELLO_MAX] = { 0 };
	size_t n = ETH_HLEN + p->hello_len;
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(HELLO_TYPE),
				  .sll_ifindex = (int)p->index,
				  .sll_halen = 6 };

	memcpy(at.sll_addr, to, 6);
	memcpy(frame, to, 6);
	memcpy(frame + 6, p->mac, 6);
	frame[12] = HELLO_TYPE >> 8;
	frame[13] = HELLO_TYPE & 0xff;
	memcpy(frame + ETH_HLEN, p->hello, p->hello_len);
	/* A frame that is lost is said again. */
	if (sendto(p->frames, frame, n < FRAME_MIN ? FRAME_MIN : n, 0, (struct sockaddr *)&at,
		   sizeof(at)) < 0)
		return;
}

static void neighbor_send_frames(const struct neighbor_port *p)
{
	if (p->frames < 0)
		return;
	send_frame(p, nearest[0]);
	send_frame(p, everybody);
}

static struct sockaddr_in6 all_nodes(unsigned index, unsigned port)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)port),
				   .sin6_scope_id = index };

	to.sin6_addr.s6_addr[0] = 0xff;
	to.sin6_addr.s6_addr[1] = 0x02;
	to.sin6_addr.s6_addr[15] = 1;
	return to;
}

static void neighbor_send_datagram(const struct neighbor_discovery *air,
				   const struct neighbor_port *p)
{
	struct sockaddr_in6 to = all_nodes(p->index, HELLO_UDP_PORT);

	if (air->datagrams >= 0 && p->has_six &&
	    sendto(air->datagrams, p->hello, p->hello_len, 0, (struct sockaddr *)&to, sizeof(to)) <
		    0)
		return;
}

static void neighbor_send_echo(const struct neighbor_discovery *air, const struct neighbor_port *p,
			       unsigned round)
{
	struct sockaddr_in6 to = all_nodes(p->index, 0);
	struct icmp6_hdr h = { .icmp6_type = ICMP6_ECHO_REQUEST };

	h.icmp6_seq = htons((uint16_t)round);
	if (air->echo >= 0 && p->has_six && p->frames < 0 &&
	    sendto(air->echo, &h, sizeof(h), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return;
}

/* One frame or datagram: 1 when *out was set, 0 when it is nobody's of ours, -EAGAIN when there is
 * none. */
static int neighbor_read_frame(struct neighbor_port *p, bool lldp, struct neighbor_message *out)
{
	uint8_t frame[FRAME_MAX], *in = frame + ETH_HLEN;
	int fd = lldp ? p->lldp : p->frames;
	ssize_t n = fd < 0 ? -1 : recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
	size_t len = n > ETH_HLEN ? (size_t)n - ETH_HLEN : 0;

	if (n < 0)
		return -EAGAIN;
	if (!len || !(lldp ? lldp_read(in, len, &out->lldp) : hello_read(in, len, &out->hello)))
		return 0;
	out->at = p;
	out->way = lldp						    ? "lldp"
		   : memcmp(frame, nearest[0], sizeof(p->mac)) == 0 ? "link"
								    : "broadcast";
	mac_text(frame + 6, out->address, sizeof(out->address));
	return 1;
}

static struct neighbor_port *by_index(struct neighbor_discovery *air, unsigned index)
{
	for (size_t i = 0; i < air->n_ports; i++)
		if (air->ports[i].index == index)
			return &air->ports[i];
	return NULL;
}

/* Of a datagram also the port that it came in by. */
static int neighbor_read_six(struct neighbor_discovery *air, bool echo,
			     struct neighbor_message *out)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	uint8_t data[HELLO_MAX];
	struct sockaddr_in6 from = { 0 };
	struct iovec io = { .iov_base = data, .iov_len = sizeof(data) };
	struct msghdr m = { .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd = echo ? air->echo : air->datagrams;
	ssize_t n = fd < 0 ? -1 : recvmsg(fd, &m, MSG_DONTWAIT);
	struct in6_pktinfo info;

	if (n < 0)
		return -EAGAIN;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&info, CMSG_DATA(c), sizeof(info));
			out->at = by_index(air, info.ipi6_ifindex);
		}
	out->way = echo ? "echo" : "ipv6";
	if (!out->at || !inet_ntop(AF_INET6, &from.sin6_addr, out->address, sizeof(out->address)))
		return 0;
	return echo ? (size_t)n >= sizeof(struct icmp6_hdr) && data[0] == ICMP6_ECHO_REPLY
		    : hello_read(data, (size_t)n, &out->hello);
}

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

static void greeting(const struct neighbor_discovery *air, struct neighbor_port *p)
{
	struct hello h = { .node = air->how.node };
	long long mtu = fact_or(&p->port->nic.mtu, 0), speed = fact_or(&p->port->nic.speed_mbps, 0);

	memcpy(h.token, air->how.token, sizeof(h.token));
	snprintf(h.name, sizeof(h.name), "%s", air->how.name);
	snprintf(h.port, sizeof(h.port), "%s", p->port->name);
	snprintf(h.pci, sizeof(h.pci), "%s", p->port->pci);
	snprintf(h.port_name, sizeof(h.port_name), "%s", fact_text(&p->port->nic.port, ""));
	snprintf(h.switch_id, sizeof(h.switch_id), "%s", fact_text(&p->port->nic.switch_id, ""));
	h.mtu = mtu > 0 && mtu <= UINT32_MAX ? (uint32_t)mtu : 0;
	h.speed_mbps = speed > 0 && speed <= UINT32_MAX ? (uint32_t)speed : 0;
	p->hello_len = hello_write(&h, p->hello, sizeof(p->hello));
}

static void open_port(struct neighbor_discovery *air, struct cluster_port *port)
{
	struct neighbor_port *p = &air->ports[air->n_ports];
	unsigned index = if_nametoindex(port->name);
	int r;

	port->listened.f = (struct fact){ .seen = SEEN_ABSENT,
					  .err = ENODEV,
					  .leaf = "the port has no carrier" };
	if (!index || !fact_or(&port->nic.carrier, 0) || fact_or(&port->nic.wireless, 0))
		return;
	*p = (struct neighbor_port){ .port = port, .index = index, .frames = -1, .lldp = -1 };
	p->has_six = has_link_local(port);
	greeting(air, p);
	r = neighbor_open_frames(p);
	port->listened.f =
		(struct fact){ .seen = seen_from_errno(r), .err = -r, .leaf = "socket AF_PACKET" };
	if (r == 0)
		port->listened = word(air->a, "frames");
	else if (p->has_six && air->datagrams >= 0)
		port->listened = word(air->a, "ipv6");
	air->n_ports++;
}

int neighbor_open(struct arena *a, const struct neighbor_options *how, struct cluster_node *n,
		  struct neighbor_discovery **out, struct err *e)
{
	struct neighbor_discovery *air = ARENA_NEW(a, struct neighbor_discovery);

	(void)e;
	air->a = a;
	air->node = n;
	air->how = *how;
	air->ports = arena_array(a, n->ports.n, sizeof(*air->ports));
	air->datagrams = neighbor_open_datagrams();
	air->echo = open_six(IPPROTO_ICMPV6);
	NODE_PORTS(p, n)
	open_port(air, p);
	*out = air;
	return 0;
}

static bool same(const struct cluster_neighbor *h, const struct neighbor_message *w,
		 const char *node, const char *port)
{
	return strcmp(h->name, w->at->port->name) == 0 && strcmp(h->way, w->way) == 0 &&
	       strcmp(fact_text(&h->node, ""), node) == 0 &&
	       strcmp(fact_text(&h->port, ""), port) == 0 &&
	       strcmp(fact_text(&h->address, ""), w->address) == 0;
}

static void neighbor_keep(struct neighbor_discovery *air, const struct neighbor_message *w)
{
	bool lldp = strcmp(w->way, "lldp") == 0;
	const char *node =
		lldp ? w->lldp.system[0] ? w->lldp.system : w->lldp.chassis : w->hello.name;
	const char *port = lldp ? w->lldp.port : w->hello.port;
	struct cluster_neighbor *h;

	LIST_FOR_EACH (struct cluster_neighbor, old, &air->node->heard)
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
static bool counts(const struct neighbor_discovery *air, const struct neighbor_message *w)
{
	if (strcmp(w->way, "lldp") == 0 || strcmp(w->way, "echo") == 0)
		return true;
	return memcmp(w->hello.token, air->how.token, HELLO_TOKEN) == 0;
}

/* What one socket holds, of a port or (p NULL) of all; whoever sends more than a burst is looked at
 * again in the next round. */
static void neighbor_drain(struct neighbor_discovery *air, struct neighbor_port *p, bool second)
{
	for (unsigned i = 0; i < BURST; i++) {
		struct neighbor_message w = { 0 };
		int r = p ? neighbor_read_frame(p, second, &w) : neighbor_read_six(air, second, &w);

		if (r < 0)
			return;
		if (r && counts(air, &w))
			neighbor_keep(air, &w);
	}
}

static void drain_all(struct neighbor_discovery *air)
{
	for (int second = 0; second < 2; second++) {
		for (size_t i = 0; i < air->n_ports; i++)
			neighbor_drain(air, &air->ports[i], second);
		neighbor_drain(air, NULL, second);
	}
}

int neighbor_announce(struct neighbor_discovery *air, int ms, bool (*stopped)(void *ctx), void *ctx)
{
	long long end = clock_mono_ms() + ms;
	unsigned round = 0;

	do {
		for (size_t i = 0; i < air->n_ports; i++) {
			neighbor_send_frames(&air->ports[i]);
			neighbor_send_datagram(air, &air->ports[i]);
			if (round % 4 == 0)
				neighbor_send_echo(air, &air->ports[i], round);
		}
		round++;
		poll(NULL, 0, ROUND_MS);
		drain_all(air);
		if (stopped(ctx))
			return -EINTR;
	} while (clock_mono_ms() < end);
	return 0;
}

void neighbor_receive(struct neighbor_discovery *air)
{
	/* Once more for what was on its way. */
	poll(NULL, 0, HEAR_MS);
	drain_all(air);
}

void neighbor_close(struct neighbor_discovery *air)
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
