/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 of unknown origin: what a machine names may hold any bytes, what we write may not. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* What stands for a byte that is not part of UTF-8. */
enum { UTF8_BAD = 0xfffd };

/*
 * The first code point of the NUL-terminated s and how many bytes it takes: 0 at the end; a byte
 * that starts no valid sequence (overlong, surrogate, beyond U+10FFFF, cut off) counts alone, as
 * UTF8_BAD.
 */
size_t utf8_next(const char *s, uint32_t *cp);
/* s with every bad byte replaced by U+FFFD; in the arena when anything had to be replaced, else s.
 */
const char *utf8_clean(struct arena *a, const char *s);
/* False for control characters (newline and tab too) and for those that turn the direction of
 * writing. */
bool utf8_harmless(uint32_t cp);

#endif
