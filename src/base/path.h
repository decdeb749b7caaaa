/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of paths, as text: nothing is looked up. */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <string.h>

#include "base/arena.h"

/* What follows the last '/'; all of it where there is none. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder of that name, as open() takes it: "." where there is no '/', "/" right below it. */
static inline const char *path_folder(struct arena *a, const char *path)
{
	size_t n = (size_t)(path_name(path) - path);

	return n ? arena_strndup(a, path, n > 1 ? n - 1 : 1) : ".";
}

#endif
