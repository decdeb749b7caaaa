/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of sections and "key = value" lines, with the line of everything that is wrong. They are
 * untrusted: lines of 190 bytes, and what is no such line is an error.
 */
#ifndef BASE_INI_FILE_H
#define BASE_INI_FILE_H

#include <stddef.h>

#include "base/err.h"

struct ini_file {
	const char *path; /* what messages call it */
	struct err *e;
	int line;   /* the one that is read */
	int result; /* of ini_bad: -EINVAL */
	/* ini_file_read's own: */
	const char *rest;
	int complained;
};

/* Takes a key; section "" before the first one. 1, or what ini_bad returns. */
typedef int ini_key(void *ctx, const char *section, const char *key, const char *value);

/* The text of a file, of which path and e are filled. 0, or -EINVAL and *e with path and line. */
int ini_file_read(struct ini_file *f, const char *text, size_t len, ini_key *on_key, void *ctx);
/* Refuses the line. The first complaint is kept: later ones usually follow from it. 0. */
int ini_bad(struct ini_file *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
