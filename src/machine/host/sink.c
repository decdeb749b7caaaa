/* SPDX-License-Identifier: Apache-2.0 */
/* Writing captures: without a name, or under a temporary one beside the final one; then named, when
 * it is on disk. */
#include "machine/host/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/text.h"

enum { RECORD = 512, NAMELESS = 32 /* "/proc/self/fd/N" */ };

struct sink {
	char *path, *tmp;
	FILE *tar; /* NULL: a folder */
	bool nameless;
	bool open; /* a file of the caller's, which gets no name */
	bool made; /* tmp is ours: what has that name otherwise is somebody's */
	int dir;
};

static int cannot(const struct sink *s, const char *name, struct err *e)
{
	int code = errno ? -errno : -EIO;

	return err_set(e, code, "%s: %s%snot written: %s", s->path, name, *name ? " " : "",
		       strerror(-code));
}

static void put_octal(char *field, size_t width, unsigned long long v)
{
	snprintf(field, width, "%0*llo", (int)width - 1, v);
}

static int write_header(struct sink *s, const char *name, char type, const char *target,
			size_t size)
{
	char h[RECORD] = { 0 };
	unsigned sum = 0;

	snprintf(h, 101, "%s", name);
	put_octal(h + 100, 8, type == '5' ? 0700 : type == '2' ? 0777 : 0600);
	put_octal(h + 108, 8, 0);
	put_octal(h + 116, 8, 0);
	put_octal(h + 124, 12, size);
	put_octal(h + 136, 12, 0); /* the same machine gives the same bytes */
	memset(h + 148, ' ', 8);
	h[156] = type;
	snprintf(h + 157, 101, "%s", target);
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < RECORD; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	h[155] = ' ';
	return fwrite(h, 1, RECORD, s->tar) == RECORD ? 0 : -1;
}

static int write_padded(struct sink *s, const char *data, size_t len)
{
	static const char zero[RECORD];
	size_t pad = (RECORD - len % RECORD) % RECORD;

	return (len == 0 || fwrite(data, 1, len, s->tar) == len) &&
			       (pad == 0 || fwrite(zero, 1, pad, s->tar) == pad)
		       ? 0
		       : -1;
}

/* "30 path=...\n": the length counts itself. */
static void pax_record(struct text *t, const char *key, const char *value)
{
	size_t body = strlen(key) + strlen(value) + 3, len = body + 1;
	char digits[24];

	while (len != body + (size_t)snprintf(digits, sizeof(digits), "%zu", len))
		len = body + strlen(digits);
	text_printf(t, "%zu %s=%s\n", len, key, value);
}

static int tar_member(struct sink *s, const char *name, char type, const char *target,
		      const char *data, size_t len)
{
	TEXT_AUTO pax = { 0 };

	if (strlen(name) > 100)
		pax_record(&pax, "path", name);
	if (strlen(target) > 100)
		pax_record(&pax, "linkpath", target);
	if (pax.len &&
	    (write_header(s, "pax", 'x', "", pax.len) || write_padded(s, pax.s, pax.len)))
		return -1;
	return write_header(s, name, type, target, len) || write_padded(s, data, len) ? -1 : 0;
}

static int open_temporary(const char *path, char *name)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
	int fd = open(slash ? folder ? folder : "" : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	free(folder);
	snprintf(name, NAMELESS, "/proc/self/fd/%d", fd);
	return fd;
}

/* A file without a name in the folder of path: whatever ends us, nothing of it stays. -1: this file
 * system has none such, or would give it no name later: /proc is not there, or links are refused,
 * as where owners are mapped. That is tried with another file, under tmp, since a name is given
 * once. */
static int open_nameless(const char *path, const char *tmp)
{
	char name[NAMELESS];
	int fd = open_temporary(path, name);
	bool named = fd >= 0 && linkat(AT_FDCWD, name, AT_FDCWD, tmp, AT_SYMLINK_FOLLOW) == 0;

	if (named)
		unlink(tmp);
	if (fd >= 0)
		close(fd);
	return named ? open_temporary(path, name) : -1;
}

struct sink *sink_open(const char *path, struct err *e)
{
	struct sink *s = heap_array(1, sizeof(*s));
	struct stat st;
	int fd = -1;
	bool ok;

	s->path = strdup(path);
	s->dir = -1;
	s->open = sscanf(path, "/proc/self/fd/%d", &fd) == 1;
	if (s->open) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		s->tar = fd < 0 ? NULL : fdopen(fd, "w");
		if (s->tar)
			return s;
	} else if (lstat(path, &st) == 0) {
		err_set(e, -EEXIST, "%s exists already", path);
		err_hint(e, "gputune does not overwrite files: choose another name or remove it");
		sink_close(s, 0, NULL);
		return NULL;
	}
	if (asprintf(&s->tmp, "%s.partial-%ld", path, (long)getpid()) < 0)
		out_of_memory(0);
	if (str_ends(path, ".tar")) {
		fd = open_nameless(path, s->tmp);
		s->nameless = fd >= 0;
		if (fd < 0)
			fd = open(s->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				  0600);
		s->made = fd >= 0 && !s->nameless;
		s->tar = fd < 0 ? NULL : fdopen(fd, "w");
		ok = s->tar != NULL;
		if (fd >= 0 && !ok)
			close(fd);
	} else {
		s->made = mkdir(s->tmp, 0700) == 0;
		ok = s->made && (s->dir = open(s->tmp, O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0;
	}
	if (ok)
		return s;
	cannot(s, "", e);
	sink_close(s, 0, NULL);
	return NULL;
}

int sink_folder(struct sink *s, const char *name, struct err *e)
{
	errno = 0;
	if (s->tar ? tar_member(s, name, '5', "", NULL, 0)
		   : mkdirat(s->dir, name, 0700) < 0 && errno != EEXIST)
		return cannot(s, name, e);
	return 0;
}

int sink_link(struct sink *s, const char *name, const char *target, struct err *e)
{
	errno = 0;
	if (s->tar ? tar_member(s, name, '2', target, NULL, 0)
		   : symlinkat(target, s->dir, name) < 0)
		return cannot(s, name, e);
	return 0;
}

static int folder_file(struct sink *s, const char *name, const char *data, size_t len)
{
	int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -1;
	r = fd_write_all(fd, data, len);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r)
		errno = -r;
	return r ? -1 : 0;
}

int sink_file(struct sink *s, const char *name, const char *data, size_t len, struct err *e)
{
	errno = 0;
	if (s->tar ? tar_member(s, name, '0', "", data, len) : folder_file(s, name, data, len))
		return cannot(s, name, e);
	return 0;
}

/* Removes a folder of our own making: links are unlinked, never followed. */
static void remove_tree(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	while (dir && (de = readdir(dir)))
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
		    unlinkat(fd, de->d_name, 0) < 0)
			remove_tree(fd, de->d_name);
	if (dir)
		closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Hundreds of files, each of which would wait for the disk by itself: the file system is asked
 * once. What cannot be asked (no such call, on a file system of its own kind) is no failure. */
static bool folder_is_on_disk(struct sink *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return false;
	r = syncfs(fd) < 0 && errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP ? errno : 0;
	close(fd);
	errno = r;
	return r == 0;
}

static int sink_finish(struct sink *s, struct err *e)
{
	static const char zero[2 * RECORD];
	/* RENAME_NOREPLACE: what appeared under the name meanwhile is somebody's. */
	const unsigned noreplace = 1;
	char name[NAMELESS];
	struct stat st;

	errno = 0;
	if (!s->tar && !folder_is_on_disk(s))
		return cannot(s, "", e);
	if (s->tar && (fwrite(zero, 1, sizeof(zero), s->tar) != sizeof(zero) || fflush(s->tar) ||
		       (!s->open && fsync(fileno(s->tar)) < 0)))
		return cannot(s, "", e);
	if (s->open)
		return 0;
	if (s->nameless) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fileno(s->tar));
		return linkat(AT_FDCWD, name, AT_FDCWD, s->path, AT_SYMLINK_FOLLOW) < 0
			       ? cannot(s, "", e)
			       : 0;
	}
	if (renameat2(AT_FDCWD, s->tmp, AT_FDCWD, s->path, noreplace) == 0)
		return 0;
	/* Network file systems do not know the flag: look, then rename. A folder replaces no file,
	 * nor a full folder. */
	if (errno != EINVAL && errno != ENOSYS)
		return cannot(s, "", e);
	if (lstat(s->path, &st) == 0) {
		errno = EEXIST;
		return cannot(s, "", e);
	}
	if (rename(s->tmp, s->path) < 0)
		return cannot(s, "", e);
	return 0;
}

int sink_close(struct sink *s, int ok, struct err *e)
{
	int r = ok ? sink_finish(s, e) : 0;

	if (s->tar)
		fclose(s->tar);
	if (s->made && (!ok || r)) {
		if (unlink(s->tmp) < 0)
			remove_tree(AT_FDCWD, s->tmp);
	}
	if (s->dir >= 0)
		close(s->dir);
	free(s->tmp);
	free(s->path);
	free(s);
	return r;
}
