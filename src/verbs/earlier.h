/* SPDX-License-Identifier: Apache-2.0 */
/* An earlier reading of the same machine, for verbs that judge what has grown since. */
#ifndef VERBS_EARLIER_H
#define VERBS_EARLIER_H

#include "verbs/door.h"

/* --since. */
struct earlier_ask {
	const char *since;
};
extern const struct ask_shape earlier_ask_shape;

/* Puts the earlier reading (NULL: none is named) into m: 0, or as answers. */
int door_earlier(struct door *d, const struct earlier_ask *ask, struct machine *m);

#endif
