/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to systemd: the service manager's notification socket and the journal's own protocol.
 * Both are documented and stable, so that no library is needed. */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "tune/watch/event.h"

int datagram_open(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (!n || (path[0] != '/' && path[0] != '@') || n >= sizeof(to.sun_path))
		return -1;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void datagram_send(int fd, const char *text, size_t len)
{
	while (fd >= 0 && send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

void journal_field(struct text *t, const char *key, const char *value)
{
	uint64_t len = htole64(strlen(value));

	text_add(t, key);
	if (!strchr(value, '\n')) {
		text_printf(t, "=%s\n", value);
		return;
	}
	text_addc(t, '\n');
	text_addn(t, (const char *)&len, sizeof(len));
	text_printf(t, "%s\n", value);
}
