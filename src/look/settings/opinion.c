/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes: which one holds, whether a value meets it, and how it reads. */
#include <string.h>

#include "base/text.h"
#include "look/settings/settings.h"
#include "look/settings/opinion.h"
#include "look/settings/check.h"

static const struct opinion *find(const struct setting *s, enum profile_id p, enum on platform)
{
	for (size_t i = 0; i < s->n_opinions; i++)
		if (s->opinions[i].profile == p && (s->opinions[i].on & (unsigned)platform))
			return &s->opinions[i];
	return NULL;
}

const struct opinion *setting_opinion(const struct setting *s, enum profile_id p, enum on platform)
{
	const struct opinion *o = find(s, p, platform);

	/* "published" is exactly what was published: nothing is filled in from our own opinions. */
	if (o || p == PROFILE_DEFAULT || p == PROFILE_PUBLISHED)
		return o;
	return find(s, PROFILE_DEFAULT, platform);
}

static bool word_in(const char *words, const char *w)
{
	size_t n = strlen(w);

	for (const char *p = words; *p; p += strcspn(p, " ")) {
		p += strspn(p, " ");
		if (strncmp(p, w, n) == 0 && (p[n] == ' ' || p[n] == '\0') && n)
			return true;
	}
	return false;
}

bool opinion_met(const struct opinion *o, const char *current)
{
	long long have, want;
	bool numbers = parse_i64(current, &have) == 0 && parse_i64(o->value, &want) == 0;

	switch (o->rel) {
	case WANT_LEAVE:
		return true;
	case WANT_IS:
		return numbers ? have == want : strcmp(current, o->value) == 0;
	case WANT_NOT:
		return numbers ? have != want : strcmp(current, o->value) != 0;
	case WANT_AT_LEAST:
		return numbers && have >= want;
	case WANT_AT_MOST:
		return numbers && have <= want;
	case WANT_ONE_OF:
		return word_in(o->value, current);
	}
	return false;
}

/* "none mq-deadline kyber" -> "none, mq-deadline or kyber" */
static const char *one_of(struct arena *a, const char *words)
{
	TEXT_AUTO t = { 0 };
	const char *last = strrchr(words, ' ');

	for (const char *p = words; *p; p++) {
		if (*p != ' ')
			text_addc(&t, *p);
		else
			text_add(&t, p == last ? " or " : ", ");
	}
	return arena_strdup(a, t.s ? t.s : "");
}

const char *opinion_text(struct arena *a, const struct opinion *o, const char *unit)
{
	static const char *const before[] = {
		[WANT_IS] = "",
		[WANT_AT_LEAST] = ">= ",
		[WANT_AT_MOST] = "<= ",
		[WANT_NOT] = "not ",
	};
	const char *sep = unit ? " " : "";

	if (o->rel == WANT_LEAVE)
		return "left alone";
	if (o->rel == WANT_ONE_OF)
		return arena_printf(a, "%s%s%s", one_of(a, o->value), sep, unit ? unit : "");
	return arena_printf(a, "%s%s%s%s", before[o->rel], o->value, sep, unit ? unit : "");
}

/* The question that a rule is asked about one target: present value and wish. */

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
