/* SPDX-License-Identifier: Apache-2.0 */
/* A capture in a folder. The folder may be hostile: no link is ever followed by the kernel for us.
 */
#include "machine/host/store.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/folder.h"

struct folder {
	struct store store;
	int fd;
	bool no_openat2; /* kernel or emulator without it: found out once */
};

/* Component by component, for where openat2 is missing. */
static int open_walk(int root, const char *path, int flags)
{
	char part[256];
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0), next;

	while (fd >= 0) {
		size_t n = strcspn(path, "/");
		bool last = path[n] == '\0';

		if (n >= sizeof(part)) {
			close(fd);
			return -ENAMETOOLONG;
		}
		memcpy(part, path, n);
		part[n] = '\0';
		next = openat(fd, part,
			      last ? flags | O_NOFOLLOW
				   : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			next = -errno;
			close(fd);
			return next;
		}
		close(fd);
		if (last)
			return next;
		fd = next;
		path += n + 1;
	}
	return -errno;
}

static int open_inside(struct folder *f, const char *path, int flags)
{
	return f->no_openat2 ? open_walk(f->fd, path, flags | O_CLOEXEC)
			     : folder_open_below(f->fd, path, flags,
						 RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
}

static int folder_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	int fd = open_inside((struct folder *)s, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), r = 0;
	struct stat st;
	size_t n = 0, want;

	if (fd < 0)
		return fd;
	/* A FIFO or device in a capture is not what the machine answered. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
	want = st.st_size < (off_t)cap ? (size_t)st.st_size : cap;
	while (r == 0 && n < want) {
		ssize_t k = read(fd, buf + n, want - n);

		if (k < 0 && errno != EINTR)
			r = -errno;
		if (k == 0)
			break;
		if (k > 0)
			n += (size_t)k;
	}
	close(fd);
	if (r == 0)
		*len = n == cap && st.st_size > (off_t)cap ? cap + 1 : n;
	return r;
}

/*
 * Kind and target are asked by the whole path: the resolver has seen every folder on the way and
 * found no link. Were one put there meanwhile, no content of it would be read: files are opened
 * without following any.
 */
static int folder_link(struct store *s, const char *path, char *buf, size_t cap)
{
	return folder_link_at(((struct folder *)s)->fd, path, buf, cap);
}

static int folder_list(struct store *s, const char *path, struct arena *a, char ***names, size_t *n)
{
	return folder_names(open_inside((struct folder *)s, path, O_RDONLY | O_DIRECTORY), a, names,
			    n);
}

static int folder_kind(struct store *s, const char *path, enum host_kind *out)
{
	struct stat st;

	if (fstatat(((struct folder *)s)->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*out = folder_kind_of(st.st_mode);
	return 0;
}

static void folder_close(struct store *s)
{
	struct folder *f = (struct folder *)s;

	close(f->fd);
	free(f);
}

static const struct store_ops folder_ops = {
	.read = folder_read,
	.link = folder_link,
	.list = folder_list,
	.kind = folder_kind,
	.close = folder_close,
};

struct store *store_open_folder(const char *path, struct err *e)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct folder *f;

	if (fd < 0) {
		err_set(e, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	f = heap_array(1, sizeof(*f));
	*f = (struct folder){ .store.ops = &folder_ops, .fd = fd };
	fd = open_inside(f, ".", O_PATH);
	if (fd >= 0)
		close(fd);
	f->no_openat2 = fd == -ENOSYS || fd == -EPERM;
	f->store.finds_links = !f->no_openat2;
	return &f->store;
}
