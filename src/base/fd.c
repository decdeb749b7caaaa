/* SPDX-License-Identifier: Apache-2.0 */
/* Writing all of something: write(2) may take a part, and signals interrupt it. Opening what may be
 * anything. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* Some drivers take nothing and name no reason: asked again they would do so for
		 * ever. */
		if (n == 0)
			return -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_nameless(const void *data, size_t len)
{
	int fd = memfd_create("gputune", MFD_CLOEXEC), r = fd < 0 ? -errno : 0;

	if (r == 0)
		r = fd_write_all(fd, data, len);
	if (r && fd >= 0)
		close(fd);
	return r ? r : fd;
}

int fd_open_input(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		r = -errno;
	else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
		r = -EINVAL;
	else if (fcntl(fd, F_SETFL, 0))
		r = -errno;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

int fd_read_all(int fd, size_t max, struct text *out)
{
	char room[16384];
	ssize_t n = 1;
	int r = 0;

	text_add(out, "");
	while (r == 0 && n) {
		n = read(fd, room, sizeof(room));
		if (n > 0)
			text_addn(out, room, (size_t)n);
		r = n < 0 && errno != EINTR ? -errno : out->len > max ? -EFBIG : 0;
	}
	return r;
}

int fd_read_input(const char *path, size_t max, struct text *out)
{
	int fd = fd_open_input(path), r;

	if (fd < 0)
		return fd;
	r = fd_read_all(fd, max, out);
	close(fd);
	return r;
}
