/* SPDX-License-Identifier: Apache-2.0 */
/* One header of a tar archive, ustar or older; the archive may be hostile. */
#ifndef HOST_STORE_TAR_H
#define HOST_STORE_TAR_H

#include <stdbool.h>
#include <stddef.h>

#include "machine/host/host.h"

enum { TAR_RECORD = 512 };

/* POSIX header; numbers are octal text. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_RECORD, "a tar header is one record");

/* An octal field of n bytes; -EINVAL when it holds anything else. */
int tar_octal(const char *s, size_t n, long long *out);
bool tar_checksum_fits(const struct tar_header *h);
/* "./root//proc/" -> "root/proc"; false for "..", an absolute name or one that is too long. */
bool tar_clean_name(const char *raw, char *out, size_t cap);

/* What a tar says of its next member in a record of its own: names that are too long for a header.
 */

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
