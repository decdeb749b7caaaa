/* SPDX-License-Identifier: Apache-2.0 */
/* The list alone. */
#include "verbs/verbs.h"

#include <string.h>

#define VERB(name) &name##_verb,
const struct verb *const answering_verbs[] = {
#include "verbs/verbs.def"
	NULL,
};
#undef VERB

static const struct verb *verb_among(const struct verb *const *verbs, const char *name, size_t n)
{
	for (; verbs && *verbs; verbs++)
		if (strlen((*verbs)->name) == n && strncmp((*verbs)->name, name, n) == 0)
			return *verbs;
	return NULL;
}

const struct verb *answering_verb(const char *name)
{
	size_t n = strcspn(name, " ");
	const struct verb *v = verb_among(answering_verbs, name, n);

	if (v && name[n])
		v = verb_among(v->subs, name + n + 1, strlen(name + n + 1));
	return v && v->answer ? v : NULL;
}
