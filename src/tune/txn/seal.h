/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that can be checked: each ends with the CRC-32C of the line before it ("p") and with its
 * own ("c"), which covers "p". A damaged line does not match its own; a lost one leaves a gap in
 * the chain. The journal lies on disk twice, with the same bytes: what one copy has lost, the other
 * has. Knows nothing of what the lines say. For txn/ alone.
 */
#ifndef TXN_SEAL_H
#define TXN_SEAL_H

#include "base/arena.h"
#include "base/text.h"

/* The first line counts how often the file was rewritten. Two files with different counts are not
 * copies of each other: the one with the higher count is newer. */
#define SEAL_FIRST "{\"t\":\"begin\",\"txn\":10000000,"
#define SEAL_TIMES "\"rewritten\":"

struct seal_file {
	const char *text;
	size_t len;
};

struct seal_read {
	/* The lines that can be read, in order, each with its newline; NUL-terminated. Points into
	 * the journal where that is whole. */
	const char *text;
	size_t len;
	uint32_t chain; /* of the last line */
	bool sealed;	/* false: no line of either file has a seal; text is the journal as it is */
	bool same;	/* both files hold text and nothing else */
	size_t bad, bad_at; /* lines that are lost in both, and where the first stood; from 1 */
	size_t mended;	    /* lines that only the copy has */
};

void seal_merge(struct arena *a, struct seal_file journal, struct seal_file copy,
		struct seal_read *out);
/* Adds the object, one line of JSON without its newline, and makes *chain its CRC. */
void seal_line(struct text *out, const char *object, size_t len, uint32_t *chain);
/* Of a sealed line of len bytes: how long it is as an object that seal_line takes; the last
 * character then is any. */
size_t seal_object_len(size_t len);
/* The line, len bytes without newline, has a seal that matches; *p and *c get its two numbers. */
bool seal_matches(const char *line, size_t len, uint32_t *p, uint32_t *c);

#endif
