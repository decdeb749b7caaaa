/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the token's file, and only one that others cannot read. */
#include "measure/bench/net/token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int random_bytes(void *out, size_t n)
{
	ssize_t got;

	do
		got = getrandom(out, n, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)n ? 0 : -EIO;
}

static int judge(const char *path, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return err_set(e, -EINVAL, "%s is no regular file", path);
	if (st->st_mode & 077) {
		err_set(e, -EPERM, "%s can be used by others (mode %04o)", path,
			(unsigned)(st->st_mode & 07777));
		err_hint(e, "chmod 600 %.200s, and a new secret if others may have seen it", path);
		return -EPERM;
	}
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return err_set(e, -EPERM, "%s belongs to another user", path);
	return 0;
}

static int read_secret(int fd, const char *path, struct token *out, struct err *e)
{
	uint8_t buf[TOKEN_MAX + 1];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(buf) && (got = read(fd, buf + n, sizeof(buf) - n)) != 0) {
		if (got < 0 && errno != EINTR)
			return err_set(e, -errno, "%s cannot be read: %s", path, strerror(errno));
		n += got > 0 ? (size_t)got : 0;
	}
	while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
		n--;
	if (n < TOKEN_MIN || n > TOKEN_MAX) {
		err_set(e, -EINVAL, "%s holds %zu%s bytes; a token has %d to %d", path, n,
			n > TOKEN_MAX ? " or more" : "", TOKEN_MIN, TOKEN_MAX);
		err_hint(e, "head -c 32 /dev/urandom | base64 makes a good one");
		return -EINVAL;
	}
	memcpy(out->secret, buf, n);
	out->n = n;
	explicit_bzero(buf, sizeof(buf));
	return 0;
}

int token_load(const char *path, struct token *out, struct err *e)
{
	/* Non-blocking: a FIFO of that name must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;
	struct stat st;

	out->n = 0;
	if (fd < 0)
		return err_set(e, -errno, "%s cannot be read: %s", path, strerror(errno));
	r = fstat(fd, &st) ? err_set(e, -errno, "%s cannot be looked at", path)
			   : judge(path, &st, e);
	if (r == 0)
		r = read_secret(fd, path, out, e);
	close(fd);
	return r;
}
