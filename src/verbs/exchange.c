/* SPDX-License-Identifier: Apache-2.0 */
/* A question over TCP and its answer. */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text.h"
#include "verbs/hang.h"

enum { LIMIT_S = 5 };

static int connect_to(const char *host, const char *port, struct err *e)
{
	struct addrinfo *found = NULL, hints = { .ai_socktype = SOCK_STREAM };
	struct timeval limit = { LIMIT_S, 0 };
	int r = getaddrinfo(host, port, &hints, &found), fd = -1;

	if (r)
		return err_set(e, -ENOENT, "%s: %s", host, gai_strerror(r));
	for (struct addrinfo *i = found; i && fd < 0; i = i->ai_next) {
		fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, i->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, i->ai_addr, i->ai_addrlen) < 0) {
			r = errno;
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd >= 0 ? fd : err_set(e, -EIO, "%s:%s: %s", host, port, strerror(r));
}

char *door_exchange(struct arena *a, const char *at, const char *port, const char *ask, size_t most,
		    struct err *e)
{
	char *host = arena_strdup(a, at), *colon = strrchr(host, ':'), piece[16384];
	TEXT_AUTO t = { 0 };
	ssize_t n;
	int fd;

	if (colon)
		*colon++ = '\0';
	fd = connect_to(host, colon ? colon : port, e);
	if (fd < 0)
		return NULL;
	n = send(fd, ask, strlen(ask), MSG_NOSIGNAL);
	while (n > 0 && t.len < most && (n = read(fd, piece, sizeof(piece))) > 0)
		text_addn(&t, piece, (size_t)n);
	close(fd);
	if (n < 0 && !t.len) {
		err_set(e, -EIO, "%s: %s", at, strerror(errno));
		return NULL;
	}
	return arena_strdup(a, t.s ? t.s : "");
}
