/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as results and files write them: RFC 3339, UTC, whole seconds. */
#ifndef BASE_STAMP_H
#define BASE_STAMP_H

enum { STAMP_SIZE = 32 };

/* "2026-11-21T04:50:00Z" for seconds since 1970; -ERANGE when the year has not four digits. */
int stamp_format(long long seconds, char out[STAMP_SIZE]);
/* The reverse, for exactly that form; -EINVAL otherwise. */
int stamp_parse(const char *text, long long *out);

#endif
