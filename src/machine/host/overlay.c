/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores as one, the upper a folder that takes writes. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/host/store.h"
#include "base/fd.h"
#include "machine/host/folder.h"

/* --- looking ---------------------------------------------------------------------------------- */

static struct store *upper_of(struct overlay *o);

static int overlay_marker(const char *path, char *buf, size_t cap)
{
	return snprintf(buf, cap, "gone/%s" OVERLAY_MARK, path) >= (int)cap ? -ENAMETOOLONG : 0;
}

/* Whether the path or a folder on its way was removed. */
static bool overlay_is_gone(struct overlay *o, const char *path)
{
	char mark[HOST_PATH_MAX + sizeof(OVERLAY_MARK)];
	enum host_kind kind;

	if (o->upper->ops->kind(o->upper, "gone", &kind) ||
	    overlay_marker(path, mark, HOST_PATH_MAX))
		return false;
	for (char *end = mark + strlen(mark) - strlen(OVERLAY_MARK); end > mark + 4;) {
		strcpy(end, OVERLAY_MARK);
		if (o->upper->ops->kind(o->upper, mark, &kind) == 0 && kind == HOST_FILE)
			return true;
		while (*--end != '/')
			;
	}
	return false;
}

/* The answer is the lower store's: the upper has nothing there. */
static bool below(struct overlay *o, const char *path, int r)
{
	return (r == -ENOENT || r == -ENOTDIR) && !overlay_is_gone(o, path);
}

static int overlay_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	struct overlay *o = (struct overlay *)s;
	struct store *upper = upper_of(o);
	int r = upper->ops->read(upper, path, buf, cap, len);

	return below(o, path, r) ? o->lower->ops->read(o->lower, path, buf, cap, len) : r;
}

static int overlay_link(struct store *s, const char *path, char *buf, size_t cap)
{
	struct overlay *o = (struct overlay *)s;
	struct store *upper = upper_of(o);
	int r = upper->ops->link(upper, path, buf, cap);

	return below(o, path, r) ? o->lower->ops->link(o->lower, path, buf, cap) : r;
}

static int overlay_kind(struct store *s, const char *path, enum host_kind *out)
{
	struct overlay *o = (struct overlay *)s;
	struct store *upper = upper_of(o);
	int r = upper->ops->kind(upper, path, out);

	return below(o, path, r) ? o->lower->ops->kind(o->lower, path, out) : r;
}

static bool among(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int overlay_list(struct store *s, const char *path, struct arena *a, char ***names,
			size_t *n)
{
	struct overlay *o = (struct overlay *)s;
	char **more = NULL, full[HOST_PATH_MAX];
	size_t n_more = 0, upper;
	struct store *above = upper_of(o);
	int r = above->ops->list(above, path, a, names, n), lower;

	if (overlay_is_gone(o, path))
		return r;
	if (r) {
		*names = NULL;
		*n = 0;
	}
	lower = o->lower->ops->list(o->lower, path, a, &more, &n_more);
	if (lower)
		return r == 0 ? 0 : lower;
	upper = *n;
	for (size_t i = 0; i < n_more; i++) {
		if (snprintf(full, sizeof(full), "%s/%s", path, more[i]) >= (int)sizeof(full) ||
		    among(*names, upper, more[i]) || overlay_is_gone(o, full))
			continue;
		ARENA_ADD(a, *names, *n) = more[i];
	}
	return 0;
}

static void overlay_close(struct store *s)
{
	struct overlay *o = (struct overlay *)s;

	o->lower->ops->close(o->lower);
	o->upper->ops->close(o->upper);
	if (o->fd >= 0)
		close(o->fd);
	free(o->folder);
	free(o);
}

static const struct store_ops overlay_ops = {
	.read = overlay_read,
	.link = overlay_link,
	.list = overlay_list,
	.kind = overlay_kind,
	.close = overlay_close,
};

/* --- the folder ------------------------------------------------------------------------------- */

static int nothing_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	(void)s;
	(void)path;
	(void)buf;
	(void)cap;
	(void)len;
	return -ENOENT;
}

static int nothing_link(struct store *s, const char *path, char *buf, size_t cap)
{
	(void)s;
	(void)path;
	(void)buf;
	(void)cap;
	return -ENOENT;
}

static int nothing_list(struct store *s, const char *path, struct arena *a, char ***names,
			size_t *n)
{
	(void)s;
	(void)path;
	(void)a;
	(void)names;
	(void)n;
	return -ENOENT;
}

static int nothing_kind(struct store *s, const char *path, enum host_kind *out)
{
	(void)s;
	(void)path;
	(void)out;
	return -ENOENT;
}

static void nothing_close(struct store *s)
{
	(void)s;
}

/* A folder that is not there yet: who only looks does not make it. */
static struct store nothing = { .ops = &(const struct store_ops){ .read = nothing_read,
								  .link = nothing_link,
								  .list = nothing_list,
								  .kind = nothing_kind,
								  .close = nothing_close },
				.finds_links = true };

/* 0, or -errno and *e. */
static int open_upper(struct overlay *o, struct err *e)
{
	struct store *upper = store_open_folder(o->folder, e);

	if (!upper)
		return -EBADF;
	o->fd = open(o->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->fd < 0) {
		upper->ops->close(upper);
		return err_set(e, -errno, "%s: %s", o->folder, strerror(errno));
	}
	o->upper = upper;
	o->store.finds_links = o->lower->finds_links && upper->finds_links;
	return 0;
}

/* Another may have made the folder since this one looked last. */
static struct store *upper_of(struct overlay *o)
{
	struct stat st;
	struct err e;

	if (o->fd < 0 && stat(o->folder, &st) == 0 && S_ISDIR(st.st_mode))
		open_upper(o, &e);
	return o->upper;
}

/* Before each write: the folder is there. */
static int overlay_begin(struct overlay *o)
{
	struct err e;

	if (o->fd >= 0)
		return 0;
	if (mkdir(o->folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open_upper(o, &e);
}

/* Not there, but where it can be made. */
static bool is_to_come(const char *folder)
{
	ARENA_AUTO a = { 0 };
	struct stat st;

	return lstat(folder, &st) < 0 && errno == ENOENT &&
	       stat(path_folder(&a, folder), &st) == 0 && S_ISDIR(st.st_mode);
}

struct overlay *overlay_open(struct store *lower, const char *folder, struct err *e)
{
	struct overlay *o = heap_array(1, sizeof(*o));

	*o = (struct overlay){ .store = { .ops = &overlay_ops, .finds_links = lower->finds_links },
			       .lower = lower,
			       .upper = &nothing,
			       .folder = strdup(folder),
			       .fd = -1 };
	if (!o->folder)
		out_of_memory(0);
	for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
		o->folder[n - 1] = '\0';
	if (is_to_come(o->folder) || open_upper(o, e) == 0)
		return o;
	overlay_close(&o->store);
	return NULL;
}

/* What an overlay takes: into its folder, and nowhere else. */

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
	ARENA_AUTO a = { 0 };
	char **names;
	size_t n = 0;
	int r = o->store.ops->list(&o->store, path, &a, &names, &n);

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
