/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder that tests fill with a small capture, and remove with all that is in it. */
#ifndef TESTS_BOX_H
#define TESTS_BOX_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct box {
	char dir[64];
};

/* A capture's meta.json; unlisted is "absent" or "unknown". */
#define BOX_META(unlisted)                                                                         \
	"{\"schema\": \"gputune.capture/1\", \"unlisted\": \"" unlisted "\", \"identity\": "       \
	"{\"nodename\": \"box\", \"release\": \"6.8.0\", \"version\": \"#1\", \"machine\": "       \
	"\"aarch64\", "                                                                            \
	"\"euid\": 0, \"page_size\": 4096, \"time_s\": 1790000000}}\n"

static inline char *box_path(const struct box *b, const char *name, char *out, size_t cap)
{
	int n = snprintf(out, cap, "%s/%s", b->dir, name);

	assert_true(n > 0 && (size_t)n < cap);
	return out;
}

static inline void box_parents(const char *path)
{
	char dir[512];

	assert_true(strlen(path) < sizeof(dir));
	strcpy(dir, path);
	for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(dir, 0700);
		*slash = '/';
	}
}

static inline void box_bytes(const struct box *b, const char *name, const void *data, size_t n)
{
	char path[512];
	FILE *f;

	box_path(b, name, path, sizeof(path));
	box_parents(path);
	f = fopen(path, "w");
	assert_non_null(f);
	if (n)
		assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static inline void box_file(const struct box *b, const char *name, const char *text)
{
	box_bytes(b, name, text, strlen(text));
}

static inline void box_link(const struct box *b, const char *name, const char *target)
{
	char path[512];

	box_path(b, name, path, sizeof(path));
	box_parents(path);
	assert_int_equal(symlink(target, path), 0);
}

static inline void box_folder(const struct box *b, const char *name)
{
	char path[512];

	box_path(b, name, path, sizeof(path));
	box_parents(path);
	mkdir(path, 0700);
}

static inline void box_make(struct box *b)
{
	/* In memory, where there is room for it: what is flushed thousands of times is waited for.
	 */
	const char *tmp = getenv("TMPDIR")		  ? getenv("TMPDIR")
			  : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							  : "/tmp";

	snprintf(b->dir, sizeof(b->dir), "%.30s/gputune-test-XXXXXX", tmp);
	assert_non_null(mkdtemp(b->dir));
}

static inline void box_remove_at(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	while (dir && (de = readdir(dir)))
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
		    unlinkat(fd, de->d_name, 0) < 0)
			box_remove_at(fd, de->d_name);
	if (dir)
		closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static inline void box_remove(struct box *b)
{
	box_remove_at(AT_FDCWD, b->dir);
}

#endif
