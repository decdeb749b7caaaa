/* SPDX-License-Identifier: Apache-2.0 */
/* Seals: a line of JSON ends in the CRC of the line before ("p") and in its own ("c"), so that a
 * line that was damaged, lost or put elsewhere is seen.
 */
#ifndef BASE_SEAL_H
#define BASE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* CRC-32C (Castagnoli). */
uint32_t crc32c(const void *data, size_t len);
/* Adds the object, one line of JSON without its newline, and makes *chain its CRC. */
void seal_line(struct text *out, const char *object, size_t len, uint32_t *chain);
/* Of a sealed line of len bytes: how long it is as an object that seal_line takes; the last
 * character then is any. */
size_t seal_object_len(size_t len);
/* The line, len bytes without newline, has a seal that matches; *p and *c get its two numbers. */
bool seal_matches(const char *line, size_t len, uint32_t *p, uint32_t *c);
/* A text whose lines were edited from `was`, each in its place, with those sealed anew that had a
 * matching seal; *len: its length, before and after. In the arena. */
const char *seal_again(struct arena *a, const char *was, size_t was_len, const char *is,
		       size_t *len);

#endif
