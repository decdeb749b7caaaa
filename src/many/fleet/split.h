/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a result into its frame and the objects of its one long list, without parsing either. In
 * a fleet almost every object is byte for byte the one that another machine gave: who has seen it
 * need not parse it again. What is cut is not yet known to be JSON; a parser has to say so.
 */
#ifndef FLEET_SPLIT_H
#define FLEET_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

enum { SPLIT_ITEMS_MAX = 1 << 14, SPLIT_DEPTH_MAX = 64 };

struct split {
	const char *p, *end;
	struct text
		frame; /* the document with that list left empty; kept from document to document */
	/* Each object of the list, of len bytes. guess, when it is not NULL, is what to compare
	 * with first: the walk over the bytes is saved when it is the one. */
	int (*item)(void *ctx, const char *raw, size_t len, struct err *e);
	const char *(*guess)(void *ctx, size_t *len);
	void *ctx;
};

/* True when something other than white space is left. */
bool split_more(struct split *s);
/*
 * One document: hands over the objects of the list "findings" or "rows" of the outermost object and
 * fills frame. 0, or -EINVAL and *e when brackets and quotes do not match or a bound is passed.
 */
int split_document(struct split *s, struct err *e);

#endif
