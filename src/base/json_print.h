/* SPDX-License-Identifier: Apache-2.0 */
/* JSON for whoever reads it next, a terminal among them. */
#ifndef BASE_JSON_PRINT_H
#define BASE_JSON_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "base/text.h"

/*
 * As json_dumpf, with what is not harmless (utf8_harmless) written as \u escapes: the same value to
 * every reader of JSON, and no order to a terminal that it is shown on. -1 when out fails.
 */
int json_print(FILE *out, const json_t *j, size_t flags);
/* The same at the end of a text. -1: j cannot be written. */
int json_add(struct text *out, const json_t *j, size_t flags);

#endif
