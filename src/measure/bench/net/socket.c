/* SPDX-License-Identifier: Apache-2.0 */
/* getaddrinfo, connect, send and recv with a time limit and an eye on the stop flag. */
#include "measure/bench/net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int net_address_parse(const char *text, bool numeric, struct net_address *out, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0) },
			*found = NULL;
	char host[256], number[8];
	unsigned long long port = NET_PORT;
	const char *port_text;
	int r;

	if (!socket_split(text, host, &port_text) ||
	    (port_text && (parse_u64(port_text, &port) || port > 65535)))
		return err_set(e, -EINVAL,
			       "\"%.100s\" is no address like 10.0.0.2, host:%d or "
			       "[fe80::1]:%d",
			       text, NET_PORT, NET_PORT);
	snprintf(number, sizeof(number), "%u", (unsigned)port);
	r = getaddrinfo(host, number, &hints, &found);
	if (r)
		return err_set(e, -EHOSTUNREACH, "\"%.100s\": %s", host, gai_strerror(r));
	*out = (struct net_address){ .len = found->ai_addrlen };
	memcpy(&out->ss, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	net_address_name(out);
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
