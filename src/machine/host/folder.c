/* SPDX-License-Identifier: Apache-2.0 */
/* What this system's folders and files say of themselves. */
#include "machine/host/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

int folder_open_below(int at, const char *path, int flags, unsigned long long resolve)
{
	enum { TIMES = 1000 };
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC, .resolve = resolve };
	long fd = -1;

	for (int i = 0; i < TIMES; i++) {
		fd = syscall(SYS_openat2, at, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int folder_link_at(int at, const char *path, char *buf, size_t cap)
{
	ssize_t n = readlinkat(at, path, buf, cap);

	if (n < 0)
		return -errno;
	if ((size_t)n >= cap)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return 0;
}

int folder_names(int fd, struct arena *a, char ***names, size_t *n)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;
	char **list = NULL;
	struct dirent *de;
	int r;

	if (fd < 0)
		return fd;
	if (!dir) {
		/* No memory, or gone since it was opened: a process that ended takes its folders
		 * along. */
		r = -errno;
		close(fd);
		return r;
	}
	for (errno = 0; count < HOST_LIST_MAX && (de = readdir(dir)); errno = 0) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		ARENA_ADD(a, list, count) = arena_strdup(a, de->d_name);
	}
	/* What failed half-way is no list. */
	r = count < HOST_LIST_MAX ? -errno : 0;
	closedir(dir);
	if (r)
		return r;
	*names = list;
	*n = count;
	return 0;
}

/* The file that is locked is the one that has the name. */
static bool has_name(int fd, int dir, const char *name)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

int folder_lock(int dir, const char *name)
{
	enum { TIMES = 100 };

	/* Over NFS a folder takes no lock: there the file's is all there is. */
	if (flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EWOULDBLOCK;
	for (int i = 0; i < TIMES; i++) {
		int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		int r = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;

		if (r == 0 && has_name(fd, dir, name))
			return fd;
		if (fd >= 0)
			close(fd);
		if (r)
			return r;
	}
	return -EWOULDBLOCK;
}

int folder_program(char *buf, size_t cap)
{
	int r = folder_link_at(AT_FDCWD, "/proc/self/exe", buf, cap);

	if (r == 0 && str_ends(buf, " (deleted)"))
		buf[strlen(buf) - strlen(" (deleted)")] = '\0';
	return r;
}

void folder_of_program(char *buf, size_t cap)
{
	char *slash = folder_program(buf, cap) ? NULL : strrchr(buf, '/');

	*(slash ? slash : buf) = '\0';
}

enum host_kind folder_kind_of(mode_t mode)
{
	return S_ISREG(mode)   ? HOST_FILE
	       : S_ISDIR(mode) ? HOST_DIR
	       : S_ISLNK(mode) ? HOST_LINK
			       : HOST_OTHER;
}
