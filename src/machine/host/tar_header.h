/* SPDX-License-Identifier: Apache-2.0 */
/* One header of a tar archive, ustar or older; the archive may be hostile. */
#ifndef HOST_TAR_HEADER_H
#define HOST_TAR_HEADER_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
