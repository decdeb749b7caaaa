/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a request, and whether anybody still waits for its answer. */
#include <string.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "many/cluster/ask.h"
#include "many/cluster/rsh.h"

bool ask_stopped(const struct ask_node *n)
{
	struct pollfd p = { .fd = n->in, .events = POLLRDHUP };

	if (atomic_load(n->stop))
		return true;
	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

size_t token_bytes(const char *hex, uint8_t *out, size_t room)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = strlen(hex);

	if (n % 2 || n / 2 > room || strspn(hex, digits) != n)
		return 0;
	for (size_t i = 0; i < n; i += 2)
		out[i / 2] = (uint8_t)((strchr(digits, hex[i]) - digits) << 4 |
				       (strchr(digits, hex[i + 1]) - digits));
	return n / 2;
}

int measure_token(const char *hex, struct token *out, struct err *e)
{
	out->n = token_bytes(hex, out->secret, TOKEN_MAX);
	return out->n < TOKEN_MIN ? err_set(e, -EINVAL, "the request has no token") : 0;
}

int measure_token_file(const struct token *t, char path[64], struct err *e)
{
	int fd = memfd_create("gputune-token", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(e, -errno, "cannot create a memory file: %s", strerror(errno));
	/* Digits: a file's last newlines would not count, and these may be in a random secret. */
	for (size_t i = 0; i < t->n; i++)
		if (dprintf(fd, "%02x", t->secret[i]) != 2) {
			close(fd);
			return err_set(e, -EIO, "cannot write the token's file");
		}
	if (fchmod(fd, 0600)) {
		int r = -errno;

		close(fd);
		return err_set(e, r, "cannot make the token's file private");
	}
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}
