/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of comma-separated text (RFC 4180), as measuring programs write them: fields may be
 * quoted, a quoted one may hold commas, doubled quotes and line ends. Nothing is trimmed.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stddef.h>

#include "base/arena.h"

/* A quoted field longer than this is refused. */
enum { CSV_FIELD_MAX = 65536 };

/*
 * The record at s: at most most fields in arena memory, the rest of them skipped; *n gets how many
 * there are in field. Returns what follows its line end; NULL: a quote is not closed, or a field is
 * too long.
 */
const char *csv_record(struct arena *a, const char *s, const char **field, size_t most, size_t *n);
/* Line ends between two places of a text: from counting records to counting lines. */
long csv_lines(const char *from, const char *to);

#endif
