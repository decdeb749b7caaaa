/* SPDX-License-Identifier: Apache-2.0 */
/* One line of the journal. For txn/ alone. */
#ifndef TXN_LINE_H
#define TXN_LINE_H

#include <jansson.h>
#include <string.h>

#include "tune/txn/journal.h"

/* More transactions, and changes of one, than anybody makes: a larger number is no number of ours.
 * The largest stands in lines that are of no transaction (store.c). */
enum { TXN_MAX = 10000000, SEQ_MAX = 10000000 };

struct line_head {
	char kind[12]; /* "begin", "intend", ..., zeroes behind it */
	unsigned long txn;
	size_t len; /* of its text, with the character behind the number */
};

/* What every line begins with; false for anything else. Reads no further. */
bool line_head(const char *line, size_t n, struct line_head *out);
/* Here, and with the zero at the end as part of the word: a long journal asks this a million times,
 * and so it is one comparison of numbers. */
static inline bool line_is(const struct line_head *head, const char *kind)
{
	return memcmp(head->kind, kind, strlen(kind) + 1) == 0;
}
/*
 * Puts the line into the journal. *at is the place of its transaction in items plus one, 0 when it
 * has none yet. -EINVAL: it makes no sense there.
 */
int line_apply(struct arena *a, struct journal *out, size_t *at, const struct line_head *head,
	       const json_t *j);

#endif
