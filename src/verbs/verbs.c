/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs, and what is the same of each. */
#include "verbs/verbs.h"

#include "base/shape.h"

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

	for (; v && name[n]; n = strcspn(name, " ")) {
		name += n + 1;
		v = verb_among(v->subs, name, strcspn(name, " "));
	}
	return v && v->answer && (v->result || v->json) ? v : NULL;
}

void *verb_answer_new(struct arena *a, const struct verb *v)
{
	return arena_alloc(a, v->answer_size ? v->answer_size
			      : v->result    ? v->result->shape->size
					     : 1);
}

json_t *verb_answer_json(const struct verb *v, const void *ask, const void *answer, long long now,
			 int code)
{
	const void *object = answer, *host = NULL;
	const struct result_shape *shape = v->other ? v->other(ask, &object) : NULL;

	if (v->json)
		return v->json(answer);
	if (v->head)
		v->head(answer, &host, &now);
	if (!shape) {
		shape = v->result;
		object = answer;
	}
	return shape->host ? result_shape_json_on(shape, object, host, now, code)
			   : result_shape_json(shape, object, now, code);
}
