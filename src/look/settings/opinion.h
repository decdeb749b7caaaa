/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule is asked, put together: judging and aiming ask the same question. */
#ifndef SETTINGS_OPINION_H
#define SETTINGS_OPINION_H

#include "look/settings/check.h"

/* Where questions come from. */
struct asker {
	struct arena *a;
	const struct machine *m;
	const struct profile *p;
	enum on platform;
	knob_reader *read;
	void *ctx;
};

/* The setting on one target: its present value is read; the wish is left open. */
struct question question_of(const struct asker *by, const struct setting *s, const void *object,
			    const char *name);
/* The wish that holds: of the profile file, of the rule (stored in room), of the tables; or NULL.
 */
const struct opinion *question_wish(const struct asker *by, const struct question *q,
				    struct opinion *room);

#endif
