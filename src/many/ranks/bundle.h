/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks found, put together on its way up: each finding once, and for every rank which of them
 * it has. What comes from another rank is checked before it is taken.
 */
#ifndef RANKS_BUNDLE_H
#define RANKS_BUNDLE_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

struct bundle_rank {
	unsigned rank;
	const char *host;
	const char *frame;     /* its result with an empty list; "": it has none of its own */
	const unsigned *items; /* of that list */
	size_t n;
};

struct bundle {
	struct arena *a;
	struct map known;   /* findings to their number and one */
	const char **items; /* each as JSON */
	size_t n_items;
	struct bundle_rank *rank;
	size_t n;
	bool *there; /* by rank */
	unsigned ranks;
};

struct bundle bundle_new(struct arena *a, unsigned ranks);
/* result: of check; its list is taken out of it. NULL: another rank of this machine has it. */
void bundle_own(struct bundle *b, unsigned rank, const char *host, json_t *result);
/* 0; -EEXIST and *e: a rank that is there already, whose second answer is not taken; -EBADMSG and
 * *e: not a bundle, nothing is taken. */
int bundle_merge(struct bundle *b, const void *bytes, size_t n, struct err *e);
void bundle_write(const struct bundle *b, struct text *out);
/* The result of one as it was. */
void bundle_result(const struct bundle *b, const struct bundle_rank *r, struct text *out);

#endif
