/* SPDX-License-Identifier: Apache-2.0 */
/* What captures are full of, read faster than a parser of all JSON can. */
#ifndef HOST_PLAIN_JSON_H
#define HOST_PLAIN_JSON_H

#include <jansson.h>

/*
 * The value of a text that is plain: objects a few deep with different keys, texts of printable
 * ASCII without escapes, whole numbers of up to 18 digits. NULL for any other, sound or not:
 * jansson decides then. The caller owns the reference.
 */
json_t *plain_json(const char *text, size_t len);

#endif
