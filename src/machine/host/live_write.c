/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the live machine: files of the kernel with one write, files of ours so that a crash
 * leaves the old one or the new one. */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "machine/host/folder.h"
#include "machine/host/keep.h"
#include "machine/host/live.h"
#include "machine/write/write.h"

enum { IN_PLACE_MAX = 4 << 20 };

static int live_write_file(struct host *h, const char *path, long long offset, const void *data,
			   size_t len)
{
	(void)h;
	/* No O_CREAT: a file of the kernel that is missing must not become an ordinary one. */
	int fd = open(path,
		      O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (offset < 0 ? O_TRUNC : 0)),
	    r = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = offset < 0 ? write(fd, data, len) : pwrite(fd, data, len, offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		r = -errno;
	else if ((size_t)n != len)
		r = -EIO;
	close(fd);
	return r;
}

static int live_set(struct host *h, const char *api, const char *object, const char *field,
		    const struct answer *value)
{
	void **state;
	const struct provider *p = live_provider((struct live *)h, api, &state);

	if (!p)
		return -ENOSYS;
	return p->tell ? p->tell(state, &h->arena, object, field, value) : -EOPNOTSUPP;
}

/* The name itself is on disk only when its folder is. */
static int sync_folder_of(int at, const char *path)
{
	char dir[HOST_PATH_MAX];
	int fd, r = 0;

	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	strcpy(dir, path);
	fd = openat(at, dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The kernel's own file systems keep no names on a disk. */
	if (fsync(fd) < 0 && errno != EINVAL)
		r = -errno;
	close(fd);
	return r;
}

/* What a new file gets from the one that it replaces. */
struct preserved_attributes {
	int fd; /* -1: there is none */
	char lost[XATTR_NAME_MAX + 1];
};

static int live_write_fill(int at, const char *path, const void *data, size_t len, unsigned mode,
			   struct preserved_attributes *old)
{
	/* Attributes are asked of it as well as given to it. */
	int fd = openat(at, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r == 0 && old && old->fd >= 0)
		r = keep_attributes(old->fd, fd, old->lost, sizeof(old->lost));
	/* fchmod: the mode that was asked for, whatever the umask. */
	if (r == 0 && (fchmod(fd, (mode_t)mode) < 0 || fsync(fd) < 0))
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int overwrite(int fd, const void *data, size_t len)
{
	int r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : fd_write_all(fd, data, len);

	/* The end goes last: of what a crash leaves nothing is missing. */
	if (r == 0 && (ftruncate(fd, (off_t)len) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

/* A copy that has its name once it is whole. -EEXIST: there is one. */
static int live_write_save(int at, const char *name, const void *data, size_t len)
{
	char part[HOST_PATH_MAX];
	int r;

	if (snprintf(part, sizeof(part), "%s" HOST_PART, name) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	if (unlinkat(at, part, 0) < 0 && errno != ENOENT)
		return -errno;
	r = live_write_fill(at, part, data, len, 0600, NULL);
	if (r == 0 && linkat(at, part, at, name, 0) < 0)
		r = -errno;
	unlinkat(at, part, 0);
	if (r)
		return r;
	/* One that a crash may take away is none; left there, it would count as a crash's. */
	r = sync_folder_of(at, name);
	if (r)
		unlinkat(at, name, 0);
	return r;
}

/* Both, or neither: what is refused is refused before a byte is written. *back: what was there is
 * there again. */
static int live_write_replace(int fd, const struct stat *was, const void *old, const void *data,
			      size_t len, unsigned mode, bool *back)
{
	bool other = (was->st_mode & 07777) != mode;
	int r;

	*back = true;
	if (other && fchmod(fd, (mode_t)mode) < 0)
		return -errno;
	r = overwrite(fd, data, len);
	if (r)
		*back = overwrite(fd, old, (size_t)was->st_size) == 0 &&
			(!other || fchmod(fd, was->st_mode & 07777) == 0);
	return r;
}

/* A file that is a mount point itself, as a container's /etc/hosts is, cannot be another: it gets
 * the new text in its place, and what a crash would cost lies next to it meanwhile. */
static int put_in_place(int at, const char *path, const void *data, size_t len, unsigned mode)
{
	char saved[HOST_PATH_MAX], *old = NULL;
	int fd, r = 0;
	bool mine, back;
	struct stat st;

	if (snprintf(saved, sizeof(saved), "%s" HOST_OLD, path) >= (int)sizeof(saved))
		return -ENAMETOOLONG;
	fd = openat(at, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > IN_PLACE_MAX)
		r = -EBUSY;
	if (r == 0) {
		old = malloc((size_t)st.st_size + 1);
		r = !old ? -ENOMEM : pread(fd, old, (size_t)st.st_size, 0) != st.st_size ? -EIO : 0;
	}
	if (r == 0)
		r = live_write_save(at, saved, old, (size_t)st.st_size);
	/* One that is there already is of an earlier crash: the whole one. It stays, as ours does
	 * where the old text cannot be put back. */
	mine = r == 0;
	if (r == 0 || r == -EEXIST) {
		r = live_write_replace(fd, &st, old, data, len, mode, &back);
		if (mine && back)
			unlinkat(at, saved, 0);
	}
	free(old);
	close(fd);
	return r;
}

/* *fd: the file that is to be replaced; -1 where there is none, or a link or a device, which have
 * nothing to hand on. */
static int open_old(int at, const char *path, int *fd)
{
	struct stat st;

	*fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO ? 0 : -errno;
	if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(*fd);
		*fd = -1;
	}
	return 0;
}

/* Kernels before 5.8 do not tell; there the new name is refused later. */
static bool is_mount_point(int at, const char *path)
{
	struct statx st;

	return statx(at, path, AT_SYMLINK_NOFOLLOW, 0, &st) == 0 &&
	       (st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT);
}

/* A new file that takes the name. -EBUSY: nothing can take this one. */
static int put_new(int at, const char *path, const char *fresh, const void *data, size_t len,
		   unsigned mode, struct preserved_attributes *old)
{
	int r = open_old(at, path, &old->fd);

	if (r)
		return r;
	r = live_write_fill(at, fresh, data, len, mode, old);
	if (old->fd >= 0)
		close(old->fd);
	if (r == 0 && renameat(at, fresh, at, path) < 0)
		r = -errno;
	if (r)
		unlinkat(at, fresh, 0);
	return r ? r : sync_folder_of(at, path);
}

static int live_put(struct host *h, const char *path, const void *data, size_t len, unsigned mode)
{
	char fresh[HOST_PATH_MAX];
	struct preserved_attributes old;
	int at = live_at(h, &path), r = -EBUSY;

	if (snprintf(fresh, sizeof(fresh), "%s" HOST_NEW, path) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	/* Left behind by a crash. */
	if (unlinkat(at, fresh, 0) < 0 && errno != ENOENT)
		return -errno;
	if (!is_mount_point(at, path))
		r = put_new(at, path, fresh, data, len, mode, &old);
	if (r == HOST_NOT_KEPT)
		h->lost = arena_strdup(&h->arena, old.lost);
	return r == -EBUSY ? put_in_place(at, path, data, len, mode) : r;
}

static int live_append(struct host *h, const char *path, const void *data, size_t len)
{
	static const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
	int at = live_at(h, &path), fd = openat(at, path, flags), r;
	bool made = fd < 0 && errno == ENOENT;

	if (made)
		fd = openat(at, path, flags | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r == 0 && made ? sync_folder_of(at, path) : r;
}

/* Versions before this one made the state folder for root alone. Always -EEXIST. */
static int open_folder_to_all(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -EEXIST;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700)
		fchmod(fd, 0755);
	close(fd);
	return -EEXIST;
}

static int live_make(struct host *h, enum host_kind kind, const char *path, const char *target,
		     unsigned mode)
{
	int at = live_at(h, &path);

	if (kind == HOST_DIR) {
		if (mkdirat(at, path, (mode_t)mode) < 0)
			return errno == EEXIST && target ? open_folder_to_all(at, path) : -errno;
		/* Again without the umask. */
		if (fchmodat(at, path, (mode_t)mode, 0) < 0)
			return -errno;
	} else if (symlinkat(target, at, path) < 0) {
		return -errno;
	}
	return sync_folder_of(at, path);
}

static int live_remove(struct host *h, const char *path)
{
	int at = live_at(h, &path);

	if (unlinkat(at, path, 0) < 0 && (errno != EISDIR || unlinkat(at, path, AT_REMOVEDIR) < 0))
		return -errno;
	return sync_folder_of(at, path);
}

/* Opened without following a link, and held: what is asked about is what is used. */
static int own_folder_of(const char *path)
{
	char dir[HOST_PATH_MAX];
	struct statvfs fs;
	struct stat st;
	int fd, r = 0;

	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	strcpy(dir, path);
	fd = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ? HOST_NOT_OURS : -errno;
	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0)
		r = -errno;
	else if (fs.f_flag & ST_RDONLY)
		r = -EROFS;
	else if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & 022)
		r = HOST_NOT_OURS;
	if (r) {
		close(fd);
		return r;
	}
	return fd;
}

static int live_lock(struct host *h, const char *path)
{
	struct live *l = (struct live *)h;
	const char *name = strrchr(path, '/');
	int dir, fd;

	if (l->lock_fd >= 0)
		return 0;
	dir = own_folder_of(path);
	if (dir < 0)
		return dir;
	fd = folder_lock(dir, name + 1);
	if (fd < 0) {
		close(dir);
		return fd;
	}
	l->lock_fd = fd;
	l->own_fd = dir;
	l->own = arena_strndup(&h->arena, path, (size_t)(name - path));
	return 0;
}

const struct host_writes live_writes = {
	.write = live_write_file,
	.tell = live_set,
	.put = live_put,
	.append = live_append,
	.make = live_make,
	.remove = live_remove,
	.lock = live_lock,
};
