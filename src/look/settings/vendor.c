/* SPDX-License-Identifier: Apache-2.0 */
/* What vendors want of a setting (vendor_opinions.rows), as recommendations beside our own. */
#include <string.h>

#include "look/settings/vendor.h"

const struct vendor_opinion *vendor_next(const struct setting *s, const struct vendor_opinion *w)
{
	for (w = w ? w + 1 : vendor_opinions; w < vendor_opinions + n_vendor_opinions; w++)
		if (strcmp(w->setting, s->id) == 0)
			return w;
	return NULL;
}

struct recommendation vendor_recommends(const struct vendor_opinion *w)
{
	return (struct recommendation){ .profile = PROFILE_VENDOR,
					.on = w->on,
					.rel = (enum relation)w->relation,
					.value = w->value,
					.because = w->says,
					.source = w->source };
}

const struct recommendation *vendor_recommendation(const struct setting *s, unsigned platform,
						   struct recommendation *room)
{
	for (const struct vendor_opinion *w = NULL; (w = vendor_next(s, w));)
		if (w->maker && w->on & platform) {
			*room = vendor_recommends(w);
			return room;
		}
	return NULL;
}

/* Both ask the same: the vendor's value is right to us, and the limit that we set to the vendor. */
static bool vendor_follows(const struct recommendation *ours, const struct vendor_opinion *w)
{
	size_t first = w->value ? strcspn(w->value, " ") : 0;
	struct recommendation theirs;
	char value[64];

	if (!ours || ours->rel == WANT_LEAVE || w->relation == WANT_LEAVE)
		return w->relation == WANT_LEAVE && (!ours || ours->rel == WANT_LEAVE);
	if (w->relation == WANT_NOT)
		return ours->rel == WANT_NOT ? strcmp(ours->value, w->value) == 0
					     : !recommendation_met(ours, w->value);
	if (first >= sizeof(value))
		return false;
	memcpy(value, w->value, first);
	value[first] = '\0';
	if (!recommendation_met(ours, value))
		return false;
	theirs = vendor_recommends(w);
	return (ours->rel != WANT_AT_LEAST && ours->rel != WANT_AT_MOST) ||
	       recommendation_met(&theirs, ours->value);
}

enum vendor_stand vendor_stand(const struct setting *s, const struct vendor_opinion *w)
{
	/* A rule that works its target out, or has none, is not compared. */
	if (s->want || !s->n_opinions)
		return w->differs ? VENDOR_DIFFERS : VENDOR_NOT_COMPARED;
	for (unsigned bit = 0; platform_bit_name(bit); bit++)
		if (w->on & 1u << bit &&
		    !vendor_follows(setting_recommendation(s, PROFILE_DEFAULT,
							   1u << bit == ON_GRACE
								   ? ON_GRACE | ON_GENERIC
								   : 1u << bit),
				    w))
			return VENDOR_DIFFERS;
	return VENDOR_FOLLOWED;
}

const char *vendor_stand_name(enum vendor_stand x)
{
	static const char *const names[] = { "follows", "differs", "not compared" };

	return names[x];
}

const char *vendor_evidence_name(enum vendor_evidence e)
{
	static const char *const names[] = { "vendor's text", "decoded package", "field capture",
					     "third party" };

	return names[e];
}
