/* SPDX-License-Identifier: Apache-2.0 */
/* What an overlay takes: into its folder, and nowhere else. */
#include "base/fd.h"
#include "machine/host/folder.h"
#include "machine/host/overlay.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The folder that path lies in when it is there and no link is on the way: most are. -1 otherwise.
 */
static int open_made(struct overlay *o, const char *path, const char **name)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };
	const char *slash = strrchr(path, '/');
	char dir[HOST_PATH_MAX];

	if (!slash ||
	    snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path) >= (int)sizeof(dir))
		return -1;
	*name = slash + 1;
	return (int)syscall(SYS_openat2, o->fd, dir, &how, sizeof(how));
}

/* A descriptor of the folder that path lies in, its folders made on the way; *name is the rest. No
 * link is followed. */
static int open_folder(struct overlay *o, const char *path, const char **name)
{
	int fd = overlay_begin(o), next;
	char part[256];

	if (fd < 0)
		return fd;
	fd = open_made(o, path, name);
	if (fd >= 0)
		return fd;
	fd = dup(o->fd);
	for (;;) {
		size_t n = strcspn(path, "/");

		if (fd < 0 || path[n] == '\0') {
			*name = path;
			return fd < 0 ? -errno : fd;
		}
		if (n == 0 || n >= sizeof(part)) {
			close(fd);
			return n ? -ENAMETOOLONG : -EINVAL;
		}
		memcpy(part, path, n);
		part[n] = '\0';
		next = mkdirat(fd, part, 0755) < 0 && errno != EEXIST
			       ? -1
			       : openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			next = -errno;
		close(fd);
		if (next < 0)
			return next;
		fd = next;
		path += n + 1;
	}
}

/* On disk when it returns 0. */
static int write_out(int fd, const void *data, size_t len)
{
	int r = fd_write_all(fd, data, len);

	return r == 0 && fsync(fd) < 0 ? -errno : r;
}

/* A removed path that comes back is not gone any more. */
static int back_again(struct overlay *o, const char *path)
{
	char mark[HOST_PATH_MAX];

	if (overlay_marker(path, mark, sizeof(mark)))
		return -ENAMETOOLONG;
	if (unlinkat(o->fd, mark, 0) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	/* Folders that hold no mark any more. */
	for (char *slash; (slash = strrchr(mark, '/'));) {
		*slash = '\0';
		if (unlinkat(o->fd, mark, AT_REMOVEDIR) < 0)
			break;
	}
	return 0;
}

int overlay_put(struct overlay *o, const char *path, const void *data, size_t len, unsigned mode)
{
	const char *name;
	char fresh[300];
	int dir = open_folder(o, path, &name), fd, r;

	if (dir < 0)
		return dir;
	snprintf(fresh, sizeof(fresh), "%.255s.gputune-new", name);
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : write_out(fd, data, len);
	if (r == 0 && fchmod(fd, (mode_t)mode) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	if (r == 0 && renameat(dir, fresh, dir, name) < 0)
		r = -errno;
	if (r == 0 && fsync(dir) < 0)
		r = -errno;
	close(dir);
	return r ? r : back_again(o, path);
}

int overlay_append(struct overlay *o, const char *path, const void *data, size_t len)
{
	static const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
	const char *name;
	int dir = open_folder(o, path, &name), fd, r;
	char *old = NULL;
	size_t n = 0;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, flags);
	if (fd < 0 && errno == ENOENT) {
		enum { BEFORE_MAX = 64 << 20 };

		/* The lower store's text stays in front of what is added. */
		old = malloc(BEFORE_MAX);
		if (old && o->store.ops->read(&o->store, path, old, BEFORE_MAX, &n))
			n = 0;
		fd = n > BEFORE_MAX ? -1 : openat(dir, name, flags | O_CREAT | O_EXCL, 0600);
	}
	r = fd < 0 ? -errno : 0;
	if (r == 0 && n)
		r = write_out(fd, old, n);
	if (r == 0)
		r = write_out(fd, data, len);
	free(old);
	if (fd >= 0)
		close(fd);
	close(dir);
	return r ? r : back_again(o, path);
}

int overlay_make(struct overlay *o, enum host_kind kind, const char *path, const char *target,
		 unsigned mode)
{
	enum host_kind there;
	const char *name;
	int dir, r = 0;

	if (o->store.ops->kind(&o->store, path, &there) == 0)
		return -EEXIST;
	dir = open_folder(o, path, &name);
	if (dir < 0)
		return dir;
	if (kind == HOST_DIR ? mkdirat(dir, name, (mode_t)mode) : symlinkat(target, dir, name))
		r = -errno;
	close(dir);
	return r ? r : back_again(o, path);
}

/* An empty folder may have its names in the lower store, all of them gone. */
static int check_empty(struct overlay *o, const char *path)
{
	struct arena a = { 0 };
	char **names;
	size_t n = 0;
	int r = o->store.ops->list(&o->store, path, &a, &names, &n);

	arena_free(&a);
	return r == 0 && n ? -ENOTEMPTY : r;
}

int overlay_remove(struct overlay *o, const char *path)
{
	char mark[HOST_PATH_MAX];
	enum host_kind kind;
	int r = o->store.ops->kind(&o->store, path, &kind), dir;
	const char *name;

	if (r == 0 && kind == HOST_DIR)
		r = check_empty(o, path);
	if (r)
		return r;
	dir = open_folder(o, path, &name);
	if (dir < 0)
		return dir;
	/* Marked first: a crash between must not bring the lower one back. */
	if (o->lower->ops->kind(o->lower, path, &kind) == 0) {
		r = overlay_marker(path, mark, sizeof(mark));
		if (r == 0)
			r = overlay_put(o, mark, "", 0, 0644);
	}
	if (r == 0 && unlinkat(dir, name, 0) < 0 && errno == EISDIR)
		r = unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
	close(dir);
	return r;
}

int overlay_mode(struct overlay *o, const char *path, unsigned *out)
{
	struct stat st;

	if (fstatat(o->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return HOST_NOT_CAPTURED;
	*out = st.st_mode & 07777;
	return 0;
}

int overlay_lock(struct overlay *o, const char *path)
{
	const char *name;
	int dir = open_folder(o, path, &name), fd;

	if (dir < 0)
		return dir;
	fd = folder_lock(dir, name);
	close(dir);
	return fd;
}
