/* SPDX-License-Identifier: Apache-2.0 */
/* Echoes of a node. */
#include <errno.h>
#include <math.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "many/cluster/messages.h"
#include "many/ranks/member.h"
#include "measure/bench/net/socket.h"

enum { DATA_MAX = 65507, HEAD = 8, IP_HEAD_MAX = 60, TRIES_MAX = 10, LIMIT_MS_MAX = 2000 };

struct echo {
	int fd;
	bool raw, six;
	size_t bytes;
	uint16_t id, seq;
	unsigned sent, got;
	double us; /* the fastest; 0: none came */
	long long at_ns;
	int error;
};

static uint16_t checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (n % 2)
		sum += (uint32_t)p[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Without root where the system lets its users ping, with a raw socket otherwise. */
static int open_socket(struct echo *x, int family)
{
	int protocol = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	x->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	x->raw = x->fd < 0;
	if (x->raw)
		x->fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	return x->fd < 0 ? -errno : 0;
}

static int open_echo(struct echo *x, const char *from, const char *to, struct err *e)
{
	struct net_address a, b;
	int four = IP_PMTUDISC_PROBE, six = IPV6_PMTUDISC_PROBE, r;
	char text[NET_TEXT];

	snprintf(text, sizeof(text), strchr(from, ':') ? "[%.60s]:0" : "%.60s:0", from);
	r = net_address_parse(text, true, &a, e);
	snprintf(text, sizeof(text), strchr(to, ':') ? "[%.60s]:0" : "%.60s:0", to);
	r = r ? r : net_address_parse(text, true, &b, e);
	if (r || a.ss.ss_family != b.ss.ss_family)
		return r ? r : err_set(e, -EINVAL, "addresses of different families");
	x->six = a.ss.ss_family == AF_INET6;
	r = open_socket(x, a.ss.ss_family);
	if (r)
		return err_set(e, r, "cannot create a socket for pings: %s", strerror(-r));
	setsockopt(x->fd, x->six ? IPPROTO_IPV6 : IPPROTO_IP,
		   x->six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, x->six ? &six : &four,
		   sizeof(four));
	if (bind(x->fd, (const struct sockaddr *)&a.ss, a.len))
		r = err_set(e, -errno, "%s is not an address of this machine", from);
	else if (connect(x->fd, (const struct sockaddr *)&b.ss, b.len))
		r = err_set(e, -errno, "no route from %s to %s: %s", from, to, strerror(errno));
	if (r) {
		close(x->fd);
		x->fd = -1;
	}
	return r;
}

static void send_echo(struct echo *x, uint8_t *packet)
{
	uint16_t sum;

	memset(packet, 0, HEAD);
	packet[0] = x->six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	x->seq++;
	packet[4] = (uint8_t)(x->id >> 8);
	packet[5] = (uint8_t)x->id;
	packet[6] = (uint8_t)(x->seq >> 8);
	packet[7] = (uint8_t)x->seq;
	for (size_t i = 0; i < x->bytes; i++)
		packet[HEAD + i] = (uint8_t)(i + x->seq);
	/* Of version 6 the kernel computes it. */
	sum = x->six ? 0 : checksum(packet, HEAD + x->bytes);
	packet[2] = (uint8_t)(sum >> 8);
	packet[3] = (uint8_t)sum;
	x->at_ns = clock_mono_ns();
	x->sent++;
	if (send(x->fd, packet, HEAD + x->bytes, 0) < 0)
		x->error = errno;
}

/* One packet that may be the answer; others are left aside. */
static void take_answer(struct echo *x, uint8_t *packet, size_t room)
{
	ssize_t got = recv(x->fd, packet, room, 0);
	size_t n = got > 0 ? (size_t)got : 0, head = 0;
	double us = (double)(clock_mono_ns() - x->at_ns) / 1e3;

	if (got < 0 && errno != EAGAIN && errno != EINTR)
		x->error = errno;
	/* Raw ones of version 4 come with the header of IP. */
	if (x->raw && !x->six && n)
		head = (size_t)(packet[0] & 15) * 4;
	if (n < head + HEAD || n - head != HEAD + x->bytes ||
	    packet[head] != (x->six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) ||
	    (x->raw && (packet[head + 4] << 8 | packet[head + 5]) != x->id) ||
	    (packet[head + 6] << 8 | packet[head + 7]) != x->seq)
		return;
	for (size_t i = 0; i < x->bytes; i++)
		if (packet[head + HEAD + i] != (uint8_t)(i + x->seq)) {
			x->error = EBADMSG;
			return;
		}
	x->error = 0;
	x->got++;
	if (x->us == 0 || us < x->us)
		x->us = us;
}

static bool waits(const struct echo *x, unsigned before)
{
	return x->fd >= 0 && x->got == before && !x->error;
}

/* Sends to all that have not answered often enough, and waits for what comes. */
static void one_try(struct echo *all, size_t n, uint8_t *packet, int limit_ms,
		    const atomic_bool *stop)
{
	struct pollfd fds[MEASURE_TARGETS_MAX];
	unsigned before[MEASURE_TARGETS_MAX];
	long long end = clock_mono_ms() + limit_ms, left;

	for (size_t i = 0; i < n; i++) {
		before[i] = all[i].got;
		all[i].error = all[i].fd < 0 ? all[i].error : 0;
		if (all[i].fd >= 0)
			send_echo(&all[i], packet);
	}
	while ((left = end - clock_mono_ms()) > 0 && !(stop && atomic_load(stop))) {
		size_t open = 0;

		for (size_t i = 0; i < n; i++) {
			fds[i] = (struct pollfd){ .fd = waits(&all[i], before[i]) ? all[i].fd : -1,
						  .events = POLLIN };
			open += fds[i].fd >= 0;
		}
		if (!open)
			return;
		if (poll(fds, (nfds_t)n, left > 50 ? 50 : (int)left) < 0 && errno != EINTR)
			return;
		for (size_t i = 0; i < n; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				take_answer(&all[i], packet, HEAD + DATA_MAX + IP_HEAD_MAX);
	}
}

/* NULL: one came back. */
static const char *error_text(const struct echo *x, const struct err *e)
{
	if (e->text[0])
		return e->text;
	if (x->got)
		return NULL;
	if (x->error == EMSGSIZE)
		return "larger than the MTU of an interface on the path";
	return x->error ? strerror(x->error) : "no answer";
}

static int ping_check(const struct ping_ask *ask, struct err *e)
{
	if (ask->tries < 1 || ask->tries > TRIES_MAX || ask->limit_ms < 1 ||
	    ask->limit_ms > LIMIT_MS_MAX)
		return err_set(e, -EINVAL, "at most %d tries of %d ms", TRIES_MAX, LIMIT_MS_MAX);
	for (size_t i = 0; i < ask->n; i++)
		if (ask->targets[i].bytes < 0 || ask->targets[i].bytes > DATA_MAX)
			return err_set(e, -EINVAL, "a ping has at most %d bytes", DATA_MAX);
	return 0;
}

int member_ping(void *of, struct arena *a, const void *with, void *answer, struct err *e)
{
	const struct rank_member *m = of;
	const struct ping_ask *ask = with;
	struct ping_answer *out = answer;
	struct echo *all = arena_array(a, ask->n, sizeof(*all));
	struct err *errors = arena_array(a, ask->n, sizeof(*errors));
	uint8_t *packet = arena_alloc(a, HEAD + DATA_MAX + IP_HEAD_MAX);
	int r = ping_check(ask, e);

	if (r)
		return r;
	for (size_t i = 0; i < ask->n; i++) {
		all[i] = (struct echo){ .fd = -1,
					.id = (uint16_t)((unsigned)getpid() + i),
					.bytes = (size_t)ask->targets[i].bytes };
		/* That one cannot be tried is its answer. */
		open_echo(&all[i], ask->targets[i].from, ask->targets[i].to, &errors[i]);
	}
	for (long long i = 0; i < ask->tries; i++)
		one_try(all, ask->n, packet, (int)ask->limit_ms, m->stop);
	out->echoes = arena_array(a, ask->n, sizeof(*out->echoes));
	for (; out->n < ask->n; out->n++) {
		const struct echo *x = &all[out->n];

		out->echoes[out->n] = (struct ping_echo){ x->got, x->got ? x->us : NAN,
							  error_text(x, &errors[out->n]) };
		if (x->fd >= 0)
			close(x->fd);
	}
	return 0;
}
