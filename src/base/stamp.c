/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds since 1970 as text and back. */
#include "base/stamp.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int stamp_format(long long seconds, char out[STAMP_SIZE])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || tm.tm_year < -900 || tm.tm_year > 8099)
		return -ERANGE;
	return strftime(out, STAMP_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) ? 0 : -ERANGE;
}

/* strptime takes more than is meant, February 31 too: only what is written back alike is taken. */
int stamp_parse(const char *text, long long *out)
{
	struct tm tm = { 0 };
	char again[STAMP_SIZE];
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	long long seconds;

	if (!end || *end)
		return -EINVAL;
	seconds = (long long)timegm(&tm);
	if (stamp_format(seconds, again) || strcmp(again, text) != 0)
		return -EINVAL;
	*out = seconds;
	return 0;
}
