/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's waivers: a failed setting that somebody accepted, with a reason and perhaps until a
 * day. */
#ifndef SETTINGS_WAIVE_H
#define SETTINGS_WAIVE_H

#include "look/settings/profile.h"

/* Turns a FAIL that the profile waives into NA with code "waived"; an expired waiver leaves the
 * FAIL and says so in its reason. now_s is seconds since 1970. */
void waive(struct arena *a, const struct profile *p, const struct setting *s, const char *target,
	   long long now_s, struct verdict *v);
/* Seconds since 1970 of the end of "YYYY-MM-DD" (UTC); -EINVAL when it is not a date. */
int waive_deadline(const char *date, long long *out);

#endif
