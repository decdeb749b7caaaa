/* SPDX-License-Identifier: Apache-2.0 */
/* Names and kinds of this system's files, as host_list and host_kind return them. */
#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include <sys/types.h>

#include "machine/host/host.h"

/* The names in the folder that is open as fd, and that is closed: an arena array of *n, unsorted,
 * without "." and "..", at most HOST_LIST_MAX. fd below 0 is the negative errno of its opening, and
 * comes back. */
int folder_names(int fd, struct arena *a, char ***names, size_t *n);
/* openat2 with O_CLOEXEC: a descriptor of path below the folder at, with resolve's RESOLVE_...
 * Where something is renamed or mounted anywhere meanwhile, the kernel is not sure of a ".." and
 * gives up: it is asked again, a thousand times at most. -errno. */
int folder_open_below(int at, const char *path, int flags, unsigned long long resolve);
/*
 * Takes the lock of name in the folder dir, made when it is missing: a descriptor that holds it.
 * The folder itself is locked too, for as long as dir is open: a lock file that is removed and made
 * anew lets nobody in who asks for both. Version 0.1.0 asks for the file alone. -EWOULDBLOCK:
 * another process has one of them. -errno.
 */
int folder_lock(int dir, const char *name);
/* The target of the link at path below at, NUL-terminated. -errno; -ENAMETOOLONG. */
int folder_link_at(int at, const char *path, char *buf, size_t cap);
/* The path of this program, or where it was replaced since, of the one that stands there. -errno.
 */
int folder_program(char *buf, size_t cap);
/* The folder that it is in; "" when that is unknown. */
void folder_of_program(char *buf, size_t cap);
/* Of a file's mode, as lstat reports it. */
enum host_kind folder_kind_of(mode_t mode);

#endif
