/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and opening the files of a model. What a link or a name might lead to is not trusted:
 * nothing outside of the folder is opened, nothing but regular files is read, and the search is
 * bounded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "measure/bench/disk_file.h"
#include "measure/bench/model_load.h"
#include "machine/host/folder.h"

struct search {
	struct arena *a;
	struct load_set *set;
	int root;
	uint64_t least, most;
	unsigned looks;
};

/* name below root; links only as long as they stay below it. Never waits for a pipe's other end. */
static int open_below(int root, const char *name, int flags)
{
	int fd = folder_open_below(root, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags,
				   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);

	if (fd != -ENOSYS && fd != -EPERM)
		return fd;
	/* Before Linux 5.6, or behind a filter: no links at all. */
	fd = openat(root, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | flags);
	return fd < 0 ? -errno : fd;
}

static bool known(const struct load_set *set, const struct stat *st)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->files[i].dev == st->st_dev && set->files[i].ino == st->st_ino)
			return true;
	return false;
}

static void add(struct search *s, const char *name, const struct stat *st)
{
	struct load_set *set = s->set;
	uint64_t size = (uint64_t)st->st_size, room = s->most - set->bytes;

	if (size < s->least || known(set, st))
		return;
	set->n_all++;
	set->all_bytes += size;
	if (!room || set->n >= LOAD_FILES)
		return;
	set->files = arena_grow(s->a, set->files, set->n, sizeof(*set->files));
	set->files[set->n++] = (struct load_file){ .name = name,
						   .dev = st->st_dev,
						   .ino = st->st_ino,
						   .size = size,
						   .bytes = size < room ? size : room,
						   .base = set->bytes,
						   .fd = -1 };
	set->bytes += size < room ? size : room;
}

static void walk(struct search *s, const char *name, unsigned depth);

static void look(struct search *s, const char *name, unsigned depth)
{
	struct stat st;
	int fd;

	if (fstatat(s->root, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISDIR(st.st_mode) && depth < LOAD_DEPTH)
		walk(s, name, depth + 1);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return;
	fd = open_below(s->root, name, 0);
	if (fd == -EXDEV || fd == -ELOOP)
		s->set->left_out++;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		add(s, name, &st);
	close(fd);
}

static void walk(struct search *s, const char *name, unsigned depth)
{
	int fd = open_below(s->root, name, O_DIRECTORY);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	char **names = NULL;
	size_t n = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *it = readdir(d); it && s->looks < LOAD_LOOKS; it = readdir(d)) {
		if (strcmp(it->d_name, ".") == 0 || strcmp(it->d_name, "..") == 0)
			continue;
		s->looks++;
		names = arena_grow(s->a, names, n, sizeof(*names));
		names[n++] = strcmp(name, ".") == 0 ? arena_strdup(s->a, it->d_name)
						    : arena_printf(s->a, "%s/%s", name, it->d_name);
	}
	closedir(d);
	if (n)
		qsort(names, n, sizeof(*names), str_natural_qsort);
	for (size_t i = 0; i < n; i++)
		look(s, names[i], depth);
}

static int none(const struct load_set *set, uint64_t least, struct err *e)
{
	err_set(e, -ENODATA, "%.200s holds no file of at least %llu KiB that may be read",
		set->path, (unsigned long long)(least >> 10));
	if (set->left_out)
		err_set(e, -ENODATA,
			"%.200s holds no file of at least %llu KiB, but %zu links that lead out of "
			"it and are not followed; name a folder that holds what they lead to as "
			"well",
			set->path, (unsigned long long)(least >> 10), set->left_out);
	return -ENODATA;
}

int load_find(struct arena *a, const char *path, uint64_t least, uint64_t most,
	      struct load_set *out, struct err *e)
{
	struct load_set set = { 0 };
	struct search s = { .a = a, .set = &set, .least = least, .most = most };
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real) || stat(real, &st))
		return err_set(e, -errno, "%.200s cannot be looked at: %s", path, strerror(errno));
	set.path = arena_strdup(a, real);
	set.folder = set.path;
	if (S_ISREG(st.st_mode)) {
		set.folder = path_folder(a, real);
		if (access(real, R_OK))
			return err_set(e, -errno, "%.200s cannot be read: %s", real,
				       strerror(errno));
		add(&s, path_name(set.path), &st);
	} else if (S_ISDIR(st.st_mode)) {
		s.root = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s.root < 0)
			return err_set(e, -errno, "%.200s cannot be read: %s", real,
				       strerror(errno));
		walk(&s, ".", 0);
		close(s.root);
	} else {
		return err_set(e, -EINVAL, "%.200s is neither a file nor a folder", path);
	}
	if (!set.n)
		return none(&set, least, e);
	*out = set;
	return 0;
}

static int open_one(int root, struct load_file *f, struct err *e)
{
	struct stat st;

	/* Reading leaves no trace where this user may ask for that. */
	f->fd = open_below(root, f->name, O_NOATIME);
	if (f->fd == -EPERM)
		f->fd = open_below(root, f->name, 0);
	if (f->fd < 0) {
		int r = f->fd;

		f->fd = -1;
		return err_set(e, r, "%.200s cannot be read: %s", f->name, strerror(-r));
	}
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode) || st.st_dev != f->dev ||
	    st.st_ino != f->ino || (uint64_t)st.st_size != f->size)
		return err_set(e, -ESTALE, "%.200s is not the file any more that it was", f->name);
	return 0;
}

int load_open(struct load_set *set, struct err *e)
{
	int root = open(set->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (root < 0)
		return err_set(e, -errno, "%.200s cannot be read: %s", set->folder,
			       strerror(errno));
	for (size_t i = 0; i < set->n && r == 0; i++)
		r = open_one(root, &set->files[i], e);
	close(root);
	if (r)
		load_close(set);
	return r;
}

void load_close(struct load_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->files[i].fd >= 0)
			close(set->files[i].fd);
		set->files[i].fd = -1;
	}
}

int load_same(const struct load_set *set, struct err *e)
{
	struct stat st;

	for (size_t i = 0; i < set->n; i++)
		if (fstat(set->files[i].fd, &st) || (uint64_t)st.st_size != set->files[i].size)
			return err_set(e, -ESTALE, "%.200s was changed while it was measured",
				       set->files[i].name);
	return 0;
}

void load_forget(const struct load_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		page_cache_drop(set->files[i].fd);
}

int load_make_cold(const struct load_set *set, bool *seen, struct err *e)
{
	double left = 0;

	*seen = true;
	for (size_t i = 0; i < set->n; i++) {
		const struct load_file *f = &set->files[i];
		double share = page_cache_empty(f->fd, f->bytes);

		*seen = *seen && share >= 0;
		left += fmax(share, 0) * (double)f->bytes;
	}
	left /= (double)set->bytes;
	if (left > PAGE_CACHE_COLD)
		return err_set(e, -EBUSY,
			       "%.0f %% of the files stay in the page cache: another program uses "
			       "them",
			       100 * left);
	return 0;
}

void load_direct(const struct load_set *set, bool on)
{
	for (size_t i = 0; i < set->n; i++) {
		int flags = fcntl(set->files[i].fd, F_GETFL);

		if (flags >= 0)
			fcntl(set->files[i].fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
	}
}
