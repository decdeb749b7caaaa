/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the clocks, and points in time as text and back. */
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

long long clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

long long clock_mono_ms(void)
{
	return clock_mono_ns() / 1000000;
}

double clock_mono_s(void)
{
	return (double)clock_mono_ns() / 1e9;
}

/* proc(5): the 22nd word of /proc/self/stat is when it began, in ticks since the machine did; the
 * second is the program's name in brackets, which may hold anything. */
double clock_process_s(void)
{
	enum { NAME = 2, BEGAN = 22 };
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	long ticks = sysconf(_SC_CLK_TCK);
	char text[1024], *at;
	struct timespec t;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &t))
		return -1;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int i = NAME; at && i < BEGAN; i++)
		at = strchr(at + 1, ' ');
	return at ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 - strtod(at, NULL) / (double)ticks
		  : -1;
}

long long clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double clock_cpu_s(void)
{
	return (double)clock_cpu_ns() / 1e9;
}

/* Seconds since 1970 as text and back. */

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
