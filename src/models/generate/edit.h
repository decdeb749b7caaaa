/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of single places of a text: everything else stays byte for byte. The text after them, and
 * what changes as a unified diff with the reason of each hunk. Pure.
 */
#ifndef GENERATE_EDIT_H
#define GENERATE_EDIT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum { EDITS_MAX = 256 };

/* with instead of the n bytes at at. */
struct edit {
	size_t at, n;
	const char *with;
	const char *what;   /* "gradient_accumulation_steps: 4 -> 2" */
	const char *reason; /* a sentence */
	unsigned line;	    /* of the text before, from 1 */
};

struct edits {
	const char *text;
	size_t len;
	struct edit *at;
	size_t n;
};

/* Texts are kept as pointers. -EINVAL: it is outside of the text, or changes what another changes;
 * -E2BIG: too many. */
int edit_add(struct arena *a, struct edits *e, const struct edit *one, struct err *err);
/* The text after all changes; ordered by place on the way. */
void edits_apply(struct edits *e, struct text *out);
/* "--- NAME\n+++ NAME\n" and hunks with three lines around; nothing when nothing changes. patch
 * takes it. */
void edits_diff(struct arena *a, struct edits *e, const char *before, const char *after,
		struct text *out);

#endif
