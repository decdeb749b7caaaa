/* SPDX-License-Identifier: Apache-2.0 */
/* What another machine's sftp said is there, and what is to be done about it. */
#ifndef VERBS_STACK_SYNC_H
#define VERBS_STACK_SYNC_H

#include <jansson.h>

#include "base/text.h"
#include "look/stack/wheelhouse.h"

/* What is there already: names and sizes as "ls -lna" prints them, and its manifest (NULL: none).
 * Neither is believed. */
struct over_there {
	char *list;
	json_t *manifest;
};

/* dir: of the wheelhouse here; place: over there. Names that sftp takes as they stand. */
struct sync_pair {
	const struct wheelhouse *h;
	const char *dir, *place;
};

/* The lines that sftp is given. */
void sync_lines(struct arena *a, const struct sync_pair *s, const struct over_there *t,
		struct text *out);

#endif
