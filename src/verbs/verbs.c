/* SPDX-License-Identifier: Apache-2.0 */
/* The list of verbs, and what is the same of each. */
#include "verbs/verbs.h"

#include "base/shape.h"
#include "verbs/door.h"

#include <string.h>

#define VERB(name) &name##_verb,
#define PRINTING_VERB(name)
const struct verb *const answering_verbs[] = {
#include "verbs/verbs.def"
	NULL,
};
#undef PRINTING_VERB
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

void verb_set_machine(const struct verb *v, void *ask, const char *capture, const char *overlay)
{
	const struct ask_shape *s = v->ask;

	for (size_t i = 0; s && i < s->n; i++)
		if (s->rows[i].part == &machine_ask_shape) {
			*(struct machine_ask *)((char *)ask + s->rows[i].offset) =
				(struct machine_ask){ capture, overlay };
			return;
		}
}

void *verb_answer_new(struct arena *a, const struct verb *v)
{
	return arena_alloc(a, v->answer_size ? v->answer_size
			      : v->result    ? v->result->shape->size
					     : 1);
}

/* What it is a result of; *answer: its object. */
static const struct result_shape *result_of(const struct verb *v, const void *ask,
					    const void **answer)
{
	const void *object = *answer;
	const struct result_shape *other = v->other ? v->other(ask, &object) : NULL;

	if (other)
		*answer = object;
	return other ? other : v->result;
}

json_t *verb_answer_json(const struct verb *v, const void *ask, const void *answer, long long now,
			 int code)
{
	const struct result_shape *shape;
	const void *host = NULL;

	if (v->json)
		return v->json(answer);
	if (v->head)
		v->head(answer, &host, &now);
	shape = result_of(v, ask, &answer);
	return shape->host ? result_shape_json_on(shape, answer, host, now, code)
			   : result_shape_json(shape, answer, now, code);
}

bool verb_answer_csv(struct text *out, const struct verb *v, const void *ask, const void *answer)
{
	const struct result_shape *shape = result_of(v, ask, &answer);

	return result_shape_csv(out, shape, answer);
}
