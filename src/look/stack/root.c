/* SPDX-License-Identifier: Apache-2.0 */
/* A folder as the root of a machine. The kernel keeps every link inside it (openat2). */
#include "look/stack/root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/folder.h"

struct rootfs {
	struct host host;
	int fd;
};

static int open_in(int root, const char *path, int flags)
{
	return folder_open_below(root, *path == '/' && !path[1] ? "." : path, flags,
				 RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static int root_fd(struct host *h)
{
	return ((struct rootfs *)h)->fd;
}

static int rootfs_read(struct host *h, const char *path, char *buf, size_t cap, size_t *len)
{
	int fd = open_in(root_fd(h), path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;
	ssize_t got = 1;
	int code = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		code = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	while (!code && got > 0 && n < cap) {
		got = read(fd, buf + n, cap - n);
		if (got < 0)
			code = -errno;
		else
			n += (size_t)got;
	}
	if (!code)
		*len = n == cap && (uint64_t)st.st_size > cap ? cap + 1 : n;
	close(fd);
	return code;
}

static int rootfs_link(struct host *h, const char *path, char *buf, size_t cap)
{
	int fd = open_in(root_fd(h), path, O_PATH | O_NOFOLLOW);
	ssize_t n;
	int code = 0;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", buf, cap);
	if (n < 0)
		code = errno == ENOENT ? -EINVAL : -errno;
	else if ((size_t)n >= cap)
		code = -ENAMETOOLONG;
	else
		buf[n] = '\0';
	close(fd);
	return code;
}

static int rootfs_list(struct host *h, const char *path, struct arena *a, char ***names, size_t *n)
{
	return folder_names(open_in(root_fd(h), path, O_RDONLY | O_DIRECTORY), a, names, n);
}

static int rootfs_kind(struct host *h, const char *path, enum host_kind *out)
{
	int fd = open_in(root_fd(h), path, O_PATH | O_NOFOLLOW);
	struct stat st;
	int code = fd < 0 ? fd : fstat(fd, &st) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (code)
		return code;
	*out = folder_kind_of(st.st_mode);
	return 0;
}

static int rootfs_ask(struct host *h, const char *api, const char *object, const char *field,
		      struct answer *out)
{
	(void)h;
	(void)api;
	(void)object;
	(void)field;
	(void)out;
	return HOST_NOT_CAPTURED;
}

static void rootfs_close(struct host *h)
{
	close(root_fd(h));
	arena_free(&h->arena);
	free(h);
}

static const struct host_ops rootfs_ops = {
	.read = rootfs_read,
	.link = rootfs_link,
	.list = rootfs_list,
	.kind = rootfs_kind,
	.ask = rootfs_ask,
	.close = rootfs_close,
};

static struct host *rootfs_of(int root, const char *path, int *fd, struct err *e)
{
	struct rootfs *r;
	int probe;

	if (root < 0) {
		err_set(e, root, "%s: %s", path, strerror(-root));
		return NULL;
	}
	probe = open_in(root, ".", O_RDONLY | O_DIRECTORY);
	if (probe < 0) {
		err_set(e, probe, "%s: cannot inspect; this kernel has no openat2", path);
		err_hint(e, "requires Linux 5.6 or newer");
		close(root);
		return NULL;
	}
	close(probe);
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(root);
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	r->host.ops = &rootfs_ops;
	r->host.id.source = path;
	r->host.id.nodename = r->host.id.release = r->host.id.version = "";
	r->host.id.machine = "";
	r->host.id.captured = true;
	r->fd = root;
	*fd = root;
	return &r->host;
}

struct host *rootfs_open(const char *path, int *fd, struct err *e)
{
	int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return rootfs_of(root < 0 ? -errno : root, path, fd, e);
}

struct host *rootfs_open_below(int above, const char *path, int *fd, struct err *e)
{
	return rootfs_of(open_in(above, path, O_RDONLY | O_DIRECTORY), path, fd, e);
}

int stack_open(const struct stack_root *root, const char *path, struct input_file *out,
	       struct err *e)
{
	int fd;

	if (!root->contents)
		return err_set(e, -ENOMEDIUM, "%s: a capture contains no libraries", path);
	if (root->fd < 0)
		return input_open(out, path, e);
	fd = open_in(root->fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(e, fd, "%s: %s", path, strerror(-fd));
	return input_open_fd(out, fd, path, e);
}
