/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of a qualification says of itself: for qualify and the node program of a cluster. */
#ifndef VERBS_QUALIFY_H
#define VERBS_QUALIFY_H

#include "many/ranks/qualify.h"
#include "verbs/door.h"

struct qualify_self {
	struct door *d;
	const atomic_bool *stop;
	const char *dir; /* where disk may make a file; NULL: disks are not measured */
	/* Its own: the first reading, and what was wrong by it. */
	struct arena kept;
	struct machine *first;
	const char *unfit;
};

/* As self of struct rank_member, of a struct qualify_self. */
int qualify_self(void *ctx, struct arena *a, const struct self_ask *ask, struct self_answer *out,
		 struct err *e);
void qualify_self_end(struct qualify_self *s);

#endif
