/* SPDX-License-Identifier: Apache-2.0 */
/* Waivers and their expiry. */
#include "look/settings/waive.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <time.h>

int waive_deadline(const char *date, long long *out)
{
	struct tm tm = { 0 };
	const char *end = strptime(date, "%Y-%m-%d", &tm);
	struct tm check;
	time_t t;

	if (!end || *end || strlen(date) != 10)
		return -EINVAL;
	check = tm;
	t = timegm(&check);
	/* timegm makes 2027-02-31 the 3rd of March: that is not the date that was written. */
	if (t == (time_t)-1 || check.tm_mday != tm.tm_mday || check.tm_mon != tm.tm_mon)
		return -EINVAL;
	*out = (long long)t + 24 * 60 * 60;
	return 0;
}

void waive(struct arena *a, const struct profile *p, const struct setting *s, const char *target,
	   long long now_s, struct verdict *v)
{
	const struct profile_override *o = profile_override_of(p, s);
	long long deadline;

	if (v->kind != VERDICT_FAIL || !o || !o->waive)
		return;
	if (o->target && fnmatch(o->target, target, 0) != 0)
		return;
	if (o->expires && waive_deadline(o->expires, &deadline) == 0 && now_s >= deadline) {
		v->reason = arena_printf(a, "%s (the waiver \"%s\" expired on %s)", v->reason,
					 o->waive, o->expires);
		return;
	}
	v->kind = VERDICT_NA;
	v->code = CODE_WAIVED;
	v->reason = o->expires ? arena_printf(a, "waived until %s: %s", o->expires, o->waive)
			       : arena_printf(a, "waived: %s", o->waive);
}
