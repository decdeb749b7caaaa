/* SPDX-License-Identifier: Apache-2.0 */
/* Files for readers that want a path: in memory, or by a name of their own. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_PATH = 64 };

static inline void fuzz_fill(int fd, const void *data, size_t n)
{
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET))
		abort();
}

/* A file in memory with these bytes; path gets a name for it. name may tell a rank. */
static inline int fuzz_memory_file(const char *name, const void *data, size_t n,
				   char path[FUZZ_PATH])
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	fuzz_fill(fd, data, n);
	snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

/* SQLite follows the link in /proc, and finds nothing where it leads: such a file needs a name,
 * below the fastest place there is. It is removed by whoever made it. */
static inline int fuzz_named_file(const void *data, size_t n, char path[FUZZ_PATH])
{
	int fd;

	snprintf(path, FUZZ_PATH, "/dev/shm/gputune-fuzz-%d.sqlite", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_fill(fd, data, n);
	return fd;
}

static inline bool fuzz_is_sqlite(const void *data, size_t n)
{
	return n >= 16 && memcmp(data, "SQLite format 3", 16) == 0;
}

#endif
