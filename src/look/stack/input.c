/* SPDX-License-Identifier: Apache-2.0 */
/* Files, parts of them and memory as inputs. A file is read by pread: one that shrinks gives an
 * error, where a mapping would end the process. */
#include "look/stack/input.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_read(struct input *in, uint64_t at, void *buf, size_t n)
{
	if (at > in->size || n > in->size - at)
		return -ENODATA;
	return n ? in->read(in, at, buf, n) : 0;
}

static int input_read_file(struct input *in, uint64_t at, void *buf, size_t n)
{
	struct input_file *f = (struct input_file *)in;
	char *p = buf;

	while (n) {
		ssize_t got = pread(f->fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

int input_open_fd(struct input_file *f, int fd, const char *name, struct err *e)
{
	struct stat st;
	int code = 0;

	if (fstat(fd, &st))
		code = err_set(e, -errno, "%s: %s", name, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		code = err_set(e, -EINVAL, "%s: not a regular file", name);
	if (code) {
		close(fd);
		return code;
	}
	*f = (struct input_file){ { input_read_file, (uint64_t)st.st_size }, fd };
	return 0;
}

int input_open(struct input_file *f, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	return input_open_fd(f, fd, path, e);
}

void input_close(struct input_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static int read_window(struct input *in, uint64_t at, void *buf, size_t n)
{
	struct input_window *w = (struct input_window *)in;

	return input_read(w->of, w->at + at, buf, n);
}

int input_window(struct input_window *w, struct input *of, uint64_t at, uint64_t size)
{
	if (at > of->size || size > of->size - at)
		return -ENODATA;
	*w = (struct input_window){ { read_window, size }, of, at };
	return 0;
}

static int read_bytes(struct input *in, uint64_t at, void *buf, size_t n)
{
	memcpy(buf, ((struct input_bytes *)in)->data + at, n);
	return 0;
}

void input_bytes(struct input_bytes *b, const void *data, size_t size)
{
	*b = (struct input_bytes){ { read_bytes, size }, data };
}
