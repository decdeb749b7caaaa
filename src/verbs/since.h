/* SPDX-License-Identifier: Apache-2.0 */
/* An earlier reading of the same machine, for verbs that judge what has grown since. */
#ifndef VERBS_SINCE_H
#define VERBS_SINCE_H

#include "verbs/door.h"

/* --since. */
struct since_ask {
	const char *since;
};
extern const struct ask_shape since_ask_shape;

/* Puts the earlier reading (NULL: none is named) into m: 0, or as answers. */
int door_since(struct door *d, const struct since_ask *ask, struct machine *m);

#endif
