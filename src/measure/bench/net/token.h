/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that both sides of a measurement know. */
#ifndef NET_TOKEN_H
#define NET_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { TOKEN_MIN = 16, TOKEN_MAX = 1024 };

/* Said wherever a peer was named without one. */
#define NET_NO_TOKEN "--peer needs --token FILE, the same secret as there"

struct token {
	uint8_t secret[TOKEN_MAX];
	size_t n;
};

/*
 * From a regular file that nobody but its owner (this user or root) can read or write; newlines at
 * its end do not count. -errno and *e, and an empty token.
 */
int token_load(const char *path, struct token *out, struct err *e);
/* n random bytes from the kernel; n <= 256. */
int random_bytes(void *out, size_t n);

#endif
