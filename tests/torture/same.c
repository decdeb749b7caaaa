/* SPDX-License-Identifier: Apache-2.0 */
/* Walks an overlay: files against the capture's files, removals against what is there to be
 * removed, answers of libraries against the capture's own answers. */
#include "same.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/host/host.h"

#define OWN "root/var/lib/gputune"
#define MARK ".gputune-gone"

enum { CHUNK = 1 << 16 };

static bool differs(char *where, size_t cap, const char *what, const char *name)
{
	snprintf(where, cap, "%s %s", name, what);
	return false;
}

static void join(char *out, size_t cap, const char *dir, const char *name)
{
	if (snprintf(out, cap, "%s/%s", dir, name) >= (int)cap) {
		fprintf(stderr, "%s/%s: too long\n", dir, name);
		exit(1);
	}
}

static bool same_file(const char *x, const char *y)
{
	static char a[CHUNK], b[CHUNK];
	int fx = open(x, O_RDONLY), fy = open(y, O_RDONLY);
	bool same = fx >= 0 && fy >= 0;

	while (same) {
		ssize_t n = read(fx, a, CHUNK), m = read(fy, b, CHUNK);

		same = n == m && n >= 0 && memcmp(a, b, (size_t)n) == 0;
		if (n <= 0)
			break;
	}
	if (fx >= 0)
		close(fx);
	if (fy >= 0)
		close(fy);
	return same;
}

static bool same_link(const char *x, const char *y)
{
	char a[HOST_PATH_MAX] = "", b[HOST_PATH_MAX] = "";

	return readlink(x, a, sizeof(a) - 1) > 0 && readlink(y, b, sizeof(b) - 1) > 0 &&
	       strcmp(a, b) == 0;
}

struct pair {
	const char *capture, *overlay;
	struct host *h;
	char *where;
	size_t cap;
};

static bool each(const struct pair *p, const char *folder,
		 bool (*one)(const struct pair *p, const char *name))
{
	char dir[HOST_PATH_MAX], name[HOST_PATH_MAX];
	struct dirent *de;
	bool same = true;
	DIR *d;

	join(dir, sizeof(dir), p->overlay, folder);
	d = opendir(dir);
	if (!d)
		return errno == ENOENT || differs(p->where, p->cap, "cannot be listed", folder);
	while (same && (de = readdir(d))) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		join(name, sizeof(name), folder, de->d_name);
		same = one(p, name);
	}
	closedir(d);
	return same;
}

static bool same_below_root(const struct pair *p, const char *name)
{
	char upper[HOST_PATH_MAX], lower[HOST_PATH_MAX];
	struct stat u, l;
	size_t n = strlen(name);

	if (strcmp(name, OWN) == 0)
		return true;
	join(upper, sizeof(upper), p->overlay, name);
	join(lower, sizeof(lower), p->capture, name);
	if (lstat(upper, &u) < 0)
		return differs(p->where, p->cap, "cannot be read", name);
	/* The way to our own folder. */
	if (S_ISDIR(u.st_mode) && strncmp(name, OWN, n) == 0 && OWN[n] == '/')
		return each(p, name, same_below_root);
	if (lstat(lower, &l) < 0)
		return differs(p->where, p->cap, "was not there", name);
	if ((u.st_mode & S_IFMT) != (l.st_mode & S_IFMT))
		return differs(p->where, p->cap, "is of another type", name);
	if (S_ISDIR(u.st_mode))
		return each(p, name, same_below_root);
	if (S_ISLNK(u.st_mode) ? same_link(upper, lower) : same_file(upper, lower))
		return true;
	return differs(p->where, p->cap, "the content differs", name);
}

static bool is_not_missed(const struct pair *p, const char *name)
{
	char path[HOST_PATH_MAX], *slash;
	struct stat st;

	join(path, sizeof(path), p->overlay, name);
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return each(p, name, is_not_missed);
	slash = strrchr(name, '/');
	if (strcmp(slash + 1, MARK) != 0)
		return differs(p->where, p->cap, "is no mark", name);
	join(path, sizeof(path), p->capture, name + strlen("gone/"));
	*strrchr(path, '/') = '\0';
	return lstat(path, &st) < 0 ? true : differs(p->where, p->cap, "was removed", path);
}

static bool same_answer(struct host *h, const char *api, const char *object, const char *field,
			const json_t *told)
{
	struct answer a;

	if (host_ask(h, api, object, field, &a))
		return json_is_object(told);
	return a.kind == ANSWER_INT
		       ? json_is_integer(told) && json_integer_value(told) == a.i
		       : json_is_string(told) && strcmp(json_string_value(told), a.text) == 0;
}

static bool same_page(const struct pair *p, const char *name)
{
	const char *object, *field, *file = strrchr(name, '/') + 1;
	char path[HOST_PATH_MAX], api[64];
	json_t *page, *answers, *told;
	bool same = true;

	snprintf(api, sizeof(api), "%.*s", (int)strcspn(file, "."), file);
	join(path, sizeof(path), p->overlay, name);
	page = json_load_file(path, 0, NULL);
	if (!json_is_object(page))
		return differs(p->where, p->cap, "cannot be read", name);
	json_object_foreach(page, object, answers)
	{
		json_object_foreach(answers, field, told)
		{
			if (!same || same_answer(p->h, api, object, field, told))
				continue;
			same = false;
			snprintf(p->where, p->cap, "%s %s %s answers another thing", api, object,
				 field);
		}
	}
	json_decref(page);
	return same;
}

bool same_as_capture(const char *capture, const char *overlay, char *where, size_t cap)
{
	struct pair p = { .capture = capture, .overlay = overlay, .where = where, .cap = cap };
	struct err e = { 0 };
	bool same;

	p.h = host_open_capture(capture, &e);
	if (!p.h)
		return differs(where, cap, e.text, capture);
	same = each(&p, "root", same_below_root) && each(&p, "gone", is_not_missed) &&
	       each(&p, "told", same_page);
	host_close(p.h);
	return same;
}

/* --- folders ---------------------------------------------------------------------------------- */

static void must(bool done, const char *path)
{
	if (done)
		return;
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	exit(1);
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
	static char buf[CHUNK];
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, mode);
	ssize_t n;

	must(in >= 0, from);
	must(out >= 0, to);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		must(write(out, buf, (size_t)n) == n, to);
	must(n == 0, from);
	close(in);
	close(out);
}

void folder_copy(const char *from, const char *to)
{
	char x[HOST_PATH_MAX], y[HOST_PATH_MAX], target[HOST_PATH_MAX] = "";
	struct dirent *de;
	struct stat st;
	DIR *d;

	must(mkdir(to, 0700) == 0, to);
	d = opendir(from);
	must(d != NULL, from);
	while ((de = readdir(d))) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		join(x, sizeof(x), from, de->d_name);
		join(y, sizeof(y), to, de->d_name);
		must(lstat(x, &st) == 0, x);
		if (S_ISDIR(st.st_mode)) {
			folder_copy(x, y);
		} else if (S_ISLNK(st.st_mode)) {
			memset(target, 0, sizeof(target));
			must(readlink(x, target, sizeof(target) - 1) > 0, x);
			must(symlink(target, y) == 0, y);
		} else {
			copy_file(x, y, st.st_mode & 0777);
		}
	}
	closedir(d);
}

void folder_remove(const char *path)
{
	char name[HOST_PATH_MAX];
	struct dirent *de;
	DIR *d = opendir(path);

	while (d && (de = readdir(d))) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		join(name, sizeof(name), path, de->d_name);
		if (unlink(name) < 0)
			folder_remove(name);
	}
	if (d)
		closedir(d);
	must(rmdir(path) == 0, path);
}
