/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores as one, the upper a folder that takes writes. */
#include "base/path.h"
#include "machine/host/overlay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- looking -----------------------------------------------------------------------------------
 */

static struct store *upper_of(struct overlay *o);

int overlay_marker(const char *path, char *buf, size_t cap)
{
	return snprintf(buf, cap, "gone/%s" OVERLAY_MARK, path) >= (int)cap ? -ENAMETOOLONG : 0;
}

/* Whether the path or a folder on its way was removed. */
static bool is_gone(struct overlay *o, const char *path)
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
	return (r == -ENOENT || r == -ENOTDIR) && !is_gone(o, path);
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

	if (is_gone(o, path))
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
		    among(*names, upper, more[i]) || is_gone(o, full))
			continue;
		*names = arena_grow(a, *names, *n, sizeof(**names));
		(*names)[(*n)++] = more[i];
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

/* --- the folder --------------------------------------------------------------------------------
 */

static int nothing_read(struct store *s, const char *path, char *buf, size_t cap, size_t *len)
{
	(void)s, (void)path, (void)buf, (void)cap, (void)len;
	return -ENOENT;
}

static int nothing_link(struct store *s, const char *path, char *buf, size_t cap)
{
	(void)s, (void)path, (void)buf, (void)cap;
	return -ENOENT;
}

static int nothing_list(struct store *s, const char *path, struct arena *a, char ***names,
			size_t *n)
{
	(void)s, (void)path, (void)a, (void)names, (void)n;
	return -ENOENT;
}

static int nothing_kind(struct store *s, const char *path, enum host_kind *out)
{
	(void)s, (void)path, (void)out;
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

int overlay_begin(struct overlay *o)
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
	struct arena a = { 0 };
	struct stat st;
	bool yes;

	yes = lstat(folder, &st) < 0 && errno == ENOENT &&
	      stat(path_folder(&a, folder), &st) == 0 && S_ISDIR(st.st_mode);
	arena_free(&a);
	return yes;
}

struct overlay *overlay_open(struct store *lower, const char *folder, struct err *e)
{
	struct overlay *o = calloc(1, sizeof(*o));

	if (!o)
		out_of_memory(0);
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
