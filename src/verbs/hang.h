/* SPDX-License-Identifier: Apache-2.0 */
/* gputune diagnose hang and serving, of diagnose.c. */
#ifndef VERBS_HANG_H
#define VERBS_HANG_H

#include "base/arena.h"
#include "base/err.h"
#include "verbs/verb.h"

extern const struct verb diagnose_hang_verb, diagnose_serving_verb;

/* What answers at HOST[:PORT] (else port), at most so many bytes, within seconds. NULL: *e says
 * why. */
char *door_exchange(struct arena *a, const char *at, const char *port, const char *ask, size_t most,
		    struct err *e);

#endif
