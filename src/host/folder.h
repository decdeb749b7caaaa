/* SPDX-License-Identifier: Apache-2.0 */
/* What this system's folders and files say of themselves, as host_list and host_kind tell it. */
#ifndef HOST_FOLDER_H
#define HOST_FOLDER_H

#include <sys/types.h>

#include "host/host.h"

/* The names in the folder that is open as fd, and that is closed: an arena array of *n, unsorted,
 * without "." and "..", at most HOST_LIST_MAX. fd below 0 is the negative errno of its opening, and
 * comes back. */
int folder_names(int fd, struct arena *a, char ***names, size_t *n);
/* Of a file's mode, as lstat tells it. */
enum host_kind folder_kind_of(mode_t mode);

#endif
