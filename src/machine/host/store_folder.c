/* SPDX-License-Identifier: Apache-2.0 */
/* A capture in a folder. The folder may be hostile: no link is ever followed by the kernel for us.
 */
#include "machine/host/store.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/host/folder.h"

struct folder {
	struct store store;
	int fd;
	bool no_openat2; /* kernel or emulator without it: found out once */
	/* Without it: the folder of the file read last. */
	char last[HOST_PATH_MAX];
	int last_fd; /* -1: none */
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
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };
	long fd;

	if (f->no_openat2)
		return open_walk(f->fd, path, flags | O_CLOEXEC);
	fd = syscall(SYS_openat2, f->fd, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static int open_last(struct folder *f, const char *path, size_t n)
{
	int r;

	if (f->last_fd >= 0)
		close(f->last_fd);
	memcpy(f->last, path, n);
	f->last[n] = '\0';
	f->last_fd = n ? open_inside(f, f->last, O_PATH | O_DIRECTORY)
		       : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (f->last_fd >= 0)
		return 0;
	r = n ? f->last_fd : -errno;
	f->last_fd = -1;
	return r;
}

/* The folder was removed since; another one may have its name. */
static bool is_stale(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || st.st_nlink == 0;
}

enum { READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

/* Opens a file component by component. Its folder's descriptor is kept: probes read many files of
 * one folder, and walking a deep path again costs more than the file. */
static int open_file_walking(struct folder *f, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = slash ? (size_t)(slash - path) : 0;
	bool kept = f->last_fd >= 0 && strncmp(f->last, path, n) == 0 && f->last[n] == '\0';
	int fd, r;

	if (n >= sizeof(f->last))
		return -ENAMETOOLONG;
	r = kept ? 0 : open_last(f, path, n);
	if (r)
		return r;
	fd = openat(f->last_fd, name, READ_FLAGS);
	if (fd < 0 && errno == ENOENT && kept && is_stale(f->last_fd)) {
		r = open_last(f, path, n);
		if (r)
			return r;
		fd = openat(f->last_fd, name, READ_FLAGS);
	}
	return fd < 0 ? -errno : fd;
}

/* Opens a file for reading. The kernel walks a deep path for a quarter of what it takes to open and
 * close its folder, so that no folder is kept where it does. */
static int open_file(struct folder *f, const char *path)
{
	return f->no_openat2 ? open_file_walking(f, path) : open_inside(f, path, READ_FLAGS);
}

static int folder_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	int fd = open_file((struct folder *)s, path), r = 0;
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
	ssize_t n = readlinkat(((struct folder *)s)->fd, path, buf, cap);

	if (n < 0)
		return -errno;
	if ((size_t)n >= cap)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
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

	if (f->last_fd >= 0)
		close(f->last_fd);
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
	*f = (struct folder){ .store.ops = &folder_ops, .fd = fd, .last_fd = -1 };
	fd = open_inside(f, ".", O_PATH);
	if (fd >= 0)
		close(fd);
	f->no_openat2 = fd == -ENOSYS || fd == -EPERM;
	f->store.finds_links = !f->no_openat2;
	return &f->store;
}
