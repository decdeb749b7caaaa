/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb that answers: NAME_verb of its file. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include "verbs/verb.h"

#define VERB(name) extern const struct verb name##_verb;
#include "verbs/verbs.def"
#undef VERB

/* NULL ends them. */
extern const struct verb *const answering_verbs[];
/* "lint", "predict training"; NULL: there is none. */
const struct verb *answering_verb(const char *name);

#endif
