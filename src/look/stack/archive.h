/* SPDX-License-Identifier: Apache-2.0 */
/* Static libraries (ar): the members one by one. */
#ifndef STACK_ARCHIVE_H
#define STACK_ARCHIVE_H

#include <stdbool.h>

#include "look/stack/input.h"

enum { ARCHIVE_NAME_MAX = 256 };

/* True for "!<arch>" and "!<thin>" files. */
bool archive_is(const unsigned char magic[8]);
/*
 * Calls each for every member but the tables of names and symbols; what it returns ends the walk.
 * A thin archive, which only names files, is refused (-EPROTONOSUPPORT); -EBADMSG when broken.
 */
int archive_each(struct input *in,
		 int (*each)(void *ctx, const char *name, uint64_t at, uint64_t size), void *ctx,
		 struct err *e);

#endif
