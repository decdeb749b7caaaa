/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that sleeps until a point in time, again and again, and how late it woke each time. */
#ifndef BENCH_WAKE_H
#define BENCH_WAKE_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/err.h"
#include "measure/bench/bench.h"

enum { SLEEPS_MAX = 500 };

struct sleeps {
	long interval_ns;
	size_t want; /* at most SLEEPS_MAX */
	const atomic_bool *stop;
	/* The last window: so many, this late. */
	size_t n;
	double late_ns[SLEEPS_MAX];
	/* All windows. */
	size_t early, failed;
};

/* Work for a worker; ctx is struct sleeps. Ends early when *stop is set. */
void sleeps_take(void *ctx, size_t i);
/* Median and 99th percentile of the window in microseconds, its values into observed.
 * -EINTR when the window is not complete. */
int sleeps_sample(struct sleeps *s, struct bench_sample *out, struct err *e);
/* -EILSEQ when a sleep ended early, -EIO when one failed. */
int sleeps_verify(const struct sleeps *s, struct err *e);

#endif
