/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives written byte by byte, so that tests can write them wrong. */
#ifndef TESTS_TAR_BYTES_H
#define TESTS_TAR_BYTES_H

#include "box.h"

enum { RECORD = 512 };

struct bytes {
	char *s;
	size_t n, cap;
};

static inline void put(struct bytes *b, const void *data, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = (b->n + n) * 2;
		b->s = realloc(b->s, b->cap);
		assert_non_null(b->s);
	}
	if (n)
		memcpy(b->s + b->n, data, n);
	b->n += n;
}

static inline void seal(char *h)
{
	unsigned sum = 0;

	memset(h + 148, ' ', 8);
	for (int i = 0; i < RECORD; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
}

static inline void put_field(char *field, const char *text, size_t width)
{
	size_t n = strlen(text);

	memcpy(field, text, n < width ? n : width);
}

/* A member by its raw parts; size is written as the text given, or as data's length. */
static inline void member(struct bytes *b, const char *name, char type, const char *target,
			  const char *data, size_t len, const char *size)
{
	static const char zero[RECORD];
	char h[RECORD] = { 0 }, octal[24];

	snprintf(octal, sizeof(octal), "%011zo", len);
	put_field(h, name, 100);
	memcpy(h + 100, "0000600", 7);
	put_field(h + 124, size ? size : octal, 12);
	h[156] = type;
	put_field(h + 157, target, 100);
	memcpy(h + 257, "ustar\00000", 8);
	seal(h);
	put(b, h, RECORD);
	put(b, data, len);
	put(b, zero, (RECORD - len % RECORD) % RECORD);
}

static inline void file(struct bytes *b, const char *name, const char *text)
{
	member(b, name, '0', "", text, strlen(text), NULL);
}

static inline void end(struct bytes *b)
{
	static const char zero[2 * RECORD];

	put(b, zero, sizeof(zero));
}

#endif
