/* SPDX-License-Identifier: Apache-2.0 */
/* Every verb: NAME_verb of its file. */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include "base/text.h"
#include "verbs/verb.h"

#define VERB(name) extern const struct verb name##_verb;
#define PRINTING_VERB(name) VERB(name)
#include "verbs/verbs.def"
/* Of no word, and in no list. */
extern const struct verb card_verb;
#undef PRINTING_VERB
#undef VERB

/* Those that answer; NULL ends them. */
extern const struct verb *const answering_verbs[];
/* "lint", "predict training"; NULL: there is none. */
const struct verb *answering_verb(const char *name);

/* --host and --overlay of its question; a verb that is about no machine has no place for them. */
void verb_set_machine(const struct verb *v, void *ask, const char *capture, const char *overlay);
/* Zeroed, for the verb to fill. */
void *verb_answer_new(struct arena *a, const struct verb *v);
/* The result; now: seconds since 1970, of an answer about no machine. The caller owns the
 * reference. */
json_t *verb_answer_json(const struct verb *v, const void *ask, const void *answer, long long now,
			 int code);
/* Its list as CSV. False: it has none. */
bool verb_answer_csv(struct text *out, const struct verb *v, const void *ask, const void *answer);

#endif
