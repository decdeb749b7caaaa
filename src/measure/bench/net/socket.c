/* SPDX-License-Identifier: Apache-2.0 */
/* getaddrinfo, connect, send and recv with a time limit and an eye on the stop flag. */
#include "measure/bench/net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

enum { SLICE_MS = 50 };

/* --- addresses -------------------------------------------------------------------------------- */

void net_address_name(struct net_address *a)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&a->ss, a->len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(a->text, sizeof(a->text), "?");
	else
		snprintf(a->text, sizeof(a->text),
			 a->ss.ss_family == AF_INET6 ? "[%.50s]:%.6s" : "%.50s:%.6s", host, port);
}

unsigned net_port(const struct net_address *a)
{
	return ntohs(a->ss.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&a->ss)->sin6_port
						 : ((const struct sockaddr_in *)&a->ss)->sin_port);
}

void net_address_port(struct net_address *a, unsigned port)
{
	if (a->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&a->ss)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)&a->ss)->sin_port = htons((uint16_t)port);
}

/* Cuts the port off; false when the text is no address at all. */
static bool socket_split(const char *text, char host[256], const char **port)
{
	const char *end, *colon = strchr(text, ':');
	size_t n;

	*port = NULL;
	if (text[0] == '[') {
		text++;
		end = strchr(text, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return false;
		*port = end[1] ? end + 2 : NULL;
	} else if (colon && !strchr(colon + 1, ':')) {
		end = colon;
		*port = colon + 1;
	} else {
		end = text + strlen(text);
	}
	n = (size_t)(end - text);
	if (!n || n >= 256)
		return false;
	memcpy(host, text, n);
	host[n] = '\0';
	return true;
}

/* All addresses of "host:port", for the caller to free. */
static int socket_find(const char *text, bool numeric, unsigned long long port,
		       struct addrinfo **found, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0) };
	char host[256], number[8];
	const char *port_text;
	int r;

	if (!socket_split(text, host, &port_text) ||
	    (port_text && (parse_u64(port_text, &port) || port > 65535)))
		return err_set(
			e, -EINVAL,
			"\"%.100s\" is not an address like 10.0.0.2, host:%d or [fe80::1]:%d", text,
			NET_PORT, NET_PORT);
	snprintf(number, sizeof(number), "%u", (unsigned)port);
	r = getaddrinfo(host, number, &hints, found);
	return r ? err_set(e, -EHOSTUNREACH, "\"%.100s\": %s", host, gai_strerror(r)) : 0;
}

static struct net_address socket_address(const struct addrinfo *i)
{
	struct net_address out = { .len = i->ai_addrlen };

	memcpy(&out.ss, i->ai_addr, i->ai_addrlen);
	net_address_name(&out);
	return out;
}

int net_address_parse(const char *text, bool numeric, struct net_address *out, struct err *e)
{
	struct addrinfo *found = NULL;
	int r = socket_find(text, numeric, NET_PORT, &found, e);

	if (r)
		return r;
	*out = socket_address(found);
	freeaddrinfo(found);
	return 0;
}

bool net_address_loopback(const struct net_address *a)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&a->ss;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->ss;

	return a->ss.ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

bool net_address_any(const struct net_address *a)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&a->ss;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->ss;

	return a->ss.ss_family == AF_INET ? four->sin_addr.s_addr == INADDR_ANY
					  : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static int socket_wait_for(int fd, short events, long long end, const struct net_wait *w)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		long long left = end - net_now_ms();
		int r;

		if (w->stop && atomic_load(w->stop))
			return -EINTR;
		r = poll(&p, 1, left < 0 ? 0 : left < SLICE_MS ? (int)left : SLICE_MS);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (net_now_ms() >= end)
			return -ETIMEDOUT;
	}
}

int net_dial(const struct net_address *to, int segment, const struct net_wait *w)
{
	int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = 0, error = 0;
	socklen_t n = sizeof(error);

	if (fd < 0)
		return -errno;
	if (segment && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)))
		r = -errno;
	if (r == 0 && connect(fd, (const struct sockaddr *)&to->ss, to->len))
		r = errno == EINPROGRESS ? socket_wait_for(fd, POLLOUT, net_now_ms() + w->ms, w)
					 : -errno;
	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0)
		r = -error;
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

/* What one send or recv answered: bytes, 0 for "wait", or -errno. */
static long long socket_moved(ssize_t n, bool reading)
{
	if (n > 0)
		return n;
	if (n == 0 && reading)
		return -ECONNRESET;
	if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		return errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

int net_read(int fd, void *p, size_t n, const struct net_wait *w)
{
	long long end = net_now_ms() + w->ms;
	char *at = p;

	while (n) {
		long long got = socket_moved(recv(fd, at, n, MSG_DONTWAIT), true);
		int r = got ? 0 : socket_wait_for(fd, POLLIN, end, w);

		if (got < 0 || r)
			return got < 0 ? (int)got : r;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

int net_write(int fd, const void *p, size_t n, const struct net_wait *w)
{
	long long end = net_now_ms() + w->ms;
	const char *at = p;

	while (n) {
		long long put = socket_moved(send(fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL), false);
		int r = put ? 0 : socket_wait_for(fd, POLLOUT, end, w);

		if (put < 0 || r)
			return put < 0 ? (int)put : r;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

char *net_exchange(struct arena *a, const char *at, unsigned port, const char *ask, size_t most,
		   struct err *e)
{
	enum { LIMIT_MS = 5000 };
	struct net_wait w = { LIMIT_MS, NULL };
	struct addrinfo *found = NULL;
	TEXT_AUTO t = { 0 };
	char piece[16384];
	ssize_t n = 1;
	int fd = -1, r = socket_find(at, false, port, &found, e);

	if (r)
		return NULL;
	for (const struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
		struct net_address to = socket_address(i);

		fd = net_dial(&to, 0, &w);
	}
	freeaddrinfo(found);
	r = fd < 0 ? fd : net_write(fd, ask, strlen(ask), &w);
	r = r ? r : net_blocking(fd, LIMIT_MS);
	while (r == 0 && n > 0 && t.len < most && (n = read(fd, piece, sizeof(piece))) > 0)
		text_addn(&t, piece, (size_t)n);
	r = n < 0 && !t.len ? -errno : r;
	if (fd >= 0)
		close(fd);
	if (r)
		err_set(e, -EIO, "%s: %s", at, strerror(-r));
	return r ? NULL : arena_strdup(a, t.s ? t.s : "");
}

int net_read_end(int fd, const struct net_wait *w)
{
	char byte;
	int r = net_read(fd, &byte, 1, w);

	return r ? r : -EBADMSG;
}

/* --- options ---------------------------------------------------------------------------------- */

void net_no_delay(int fd, bool on)
{
	int value = on;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
}

int net_blocking(int fd, int ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)))
		return -errno;
	return 0;
}

void net_drop(int fd)
{
	struct linger now = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* --- numbers below /proc/sys/net -------------------------------------------------------------- */

static int socket_number(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[32];
	long v = -1;

	if (!f)
		return -1;
	if (fgets(line, sizeof(line), f))
		v = strtol(line, NULL, 0);
	fclose(f);
	return v < 0 || v > 0xffff ? -1 : (int)v;
}

int sysctl_fast_open(void)
{
	int v = socket_number("/proc/sys/net/ipv4/tcp_fastopen");

	return v < 0 ? 0 : v;
}

int sysctl_slow_start_after_idle(void)
{
	return socket_number("/proc/sys/net/ipv4/tcp_slow_start_after_idle");
}

/* getsockname, getifaddrs, and /proc/net/dev, which shows the namespace that reads it. */

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
