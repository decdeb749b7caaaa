/* SPDX-License-Identifier: Apache-2.0 */
/* What a write that was interrupted, or granted in part, leaves behind. */
#include <string.h>

#include "base/text.h"
#include "machine/knob/io.h"
#include "tune/txn/run.h"

/* Of huge pages the kernel grants as many as it finds memory for: numbers between the two. */
static bool lies_between(const char *now, const char *before, const char *after)
{
	long long x, lo, hi;

	if (!before || parse_i64(now, &x) || parse_i64(before, &lo) || parse_i64(after, &hi))
		return false;
	return lo < hi ? x >= lo && x <= hi : x >= hi && x <= lo;
}

/* Of a value of several words, which take a write each, some may be there already. */
static bool has_words_of_both(const char *now, const char *before, const char *after)
{
	const char *s[] = { now, before ? before : "", after };

	while (*s[0]) {
		size_t n[3];

		for (int i = 0; i < 3; i++)
			n[i] = strcspn(s[i], " ");
		if ((n[0] != n[1] || strncmp(s[0], s[1], n[0]) != 0) &&
		    (n[0] != n[2] || strncmp(s[0], s[2], n[0]) != 0))
			return false;
		for (int i = 0; i < 3; i++)
			s[i] += n[i] + (s[i][n[i]] == ' ');
	}
	return !*s[1] && !*s[2];
}

bool run_is_half(const struct entry *e, const char *now)
{
	if (e->knob.kind == KNOB_UNIT)
		return has_words_of_both(now, e->before, e->after);
	if (e->knob.kind == KNOB_FILE && str_starts(e->after, "link:"))
		return strcmp(now, "absent") == 0;
	return knob_grants_part(&e->knob) && lies_between(now, e->before, e->after);
}
