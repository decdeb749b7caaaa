/* SPDX-License-Identifier: Apache-2.0 */
/* What a tar says of its next member in a record of its own: names that are too long for a header.
 */
#ifndef HOST_TAR_EXTENSION_H
#define HOST_TAR_EXTENSION_H

#include "machine/host/host.h"

/* Empty: the header's own name and link target hold. */
struct tar_extension {
	char name[HOST_PATH_MAX], link[HOST_PATH_MAX];
};

/*
 * Takes the n bytes of a record: of type 'x' (pax), 'L' or 'K' (GNU long name, long link target).
 * text is NUL-terminated behind them. -EBADMSG, and *why names what is wrong.
 */
int tar_extension_read(struct tar_extension *x, char type, const char *text, size_t n,
		       const char **why);

#endif
