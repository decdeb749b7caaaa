/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all verbs. Help, manual page and completion are made from it. */
#include "front/session.h"
#include "verbs/verbs.h"

#define VERB(name) &name##_verb,
#define PRINTING_VERB(name) VERB(name)
const struct verb *const verbs[] = {
#include "verbs/verbs.def"
	NULL,
};
