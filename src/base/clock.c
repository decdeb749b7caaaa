/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the clock, in three units. */
#include "base/clock.h"

#include <time.h>

long long clock_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

long long clock_mono_ms(void)
{
	return clock_mono_ns() / 1000000;
}

double clock_mono_s(void)
{
	return (double)clock_mono_ns() / 1e9;
}
