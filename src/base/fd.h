/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with descriptors in more than one place. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <stddef.h>

/* All of it, however often that takes; 0 or -errno. What was written before a failure stays. */
int fd_write_all(int fd, const void *data, size_t len);

#endif
