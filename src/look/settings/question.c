/* SPDX-License-Identifier: Apache-2.0 */
/* The question that a rule is asked about one target: present value and wish. */
#include "look/settings/question.h"

#include "look/settings/current.h"

struct question question_of(const struct asker *by, const struct setting *s, const void *object,
			    const char *name)
{
	const struct profile_override *override = profile_override_of(by->p, s);
	const struct opinion *o = setting_opinion(s, by->p->base, by->platform);
	bool wished = (o && o->rel != WANT_LEAVE) || (override && override->has_want);

	return (struct question){ .a = by->a,
				  .m = by->m,
				  .s = s,
				  .object = object,
				  .name = name,
				  .platform = by->platform,
				  .profile = by->p->base,
				  .current = setting_current(by->a, s, by->m, object, wished,
							     by->read, by->ctx) };
}

const struct opinion *question_wish(const struct asker *by, const struct question *q,
				    struct opinion *room)
{
	const struct profile_override *o = profile_override_of(by->p, q->s);

	if (o && o->has_want)
		return &o->o;
	if (q->s->want && q->s->want(q, room))
		return room;
	return setting_opinion(q->s, q->profile, q->platform);
}
