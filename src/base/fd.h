/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with descriptors in more than one place. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stddef.h>

#include "base/text.h"

/* All of it, however often that takes; 0 or -errno, -EIO where the kernel takes nothing and says no
 * more. What was written before a failure stays. */
int fd_write_all(int fd, const void *data, size_t len);
/* A file in memory that holds these bytes and that an interruption leaves nothing of; -errno. */
int fd_nameless(const void *data, size_t len);
/*
 * Opens what a user named to be read: a file, or a pipe that somebody writes to ("<(...)"). Never
 * waits for a writer: a pipe without one is empty. -EINVAL for a folder or device, or -errno.
 */
int fd_open_input(const char *path);
/* All that comes, NUL-terminated. -EFBIG: more than max bytes; those are in *out. */
int fd_read_all(int fd, size_t max, struct text *out);
/* The same of what fd_open_input opens. */
int fd_read_input(const char *path, size_t max, struct text *out);

#endif
