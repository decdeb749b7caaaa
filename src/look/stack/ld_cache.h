/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/ld.so.cache: which file a program gets that asks the loader for a library by its name. */
#ifndef STACK_LD_CACHE_H
#define STACK_LD_CACHE_H

#include <stddef.h>

enum { LD_CACHE_MAX = 1 << 24 };

/*
 * Calls each for every 64-bit library in the order of the cache; what it returns ends the walk.
 * -EBADMSG when it is none of glibc 2.32 or newer's, or broken.
 */
int ld_cache_each(const char *data, size_t size,
		  int (*each)(void *ctx, const char *name, const char *path), void *ctx);

#endif
