/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping by the clock, and what came of it. */
#include "measure/bench/wake_sleeps.h"

#include <math.h>
#include <sys/prctl.h>
#include <time.h>

static struct timespec later(struct timespec t, long ns)
{
	t.tv_nsec += ns;
	while (t.tv_nsec >= 1000000000L) {
		t.tv_nsec -= 1000000000L;
		t.tv_sec++;
	}
	return t;
}

static double ns_between(const struct timespec *a, const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) * 1e9 + (double)(b->tv_nsec - a->tv_nsec);
}

void sleeps_take(void *ctx, size_t i)
{
	struct sleeps *s = ctx;
	struct timespec at, now;
	int r;

	(void)i;
	/* The kernel adds 50 us of slack to a normal thread's timers, to join them; not asked here.
	 */
	prctl(PR_SET_TIMERSLACK, 1);
	for (s->n = 0; s->n < s->want; s->n++) {
		if (s->stop && atomic_load(s->stop))
			return;
		clock_gettime(CLOCK_MONOTONIC, &now);
		at = later(now, s->interval_ns);
		/* Between the two calls nothing that lies in memory: after an idle state it is far
		 * away, and the clock waits for what is under way. */
		r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		s->failed += r != 0;
		s->late_ns[s->n] = ns_between(&at, &now);
		s->early += s->late_ns[s->n] < 0;
	}
}

int sleeps_sample(struct sleeps *s, struct bench_sample *out, struct err *e)
{
	if (s->n < s->want)
		return err_set(e, -EINTR, "interrupted");
	for (size_t i = 0; out->observed && i < s->n; i++)
		histogram_add(out->observed, s->late_ns[i]);
	stat_sort(s->late_ns, s->n);
	out->value[0] = fmax(stat_quantile(s->late_ns, s->n, 0.5), 0.5) / 1e3;
	out->value[1] = fmax(stat_quantile(s->late_ns, s->n, 0.99), 0.5) / 1e3;
	return 0;
}

int sleeps_verify(const struct sleeps *s, struct err *e)
{
	if (s->failed)
		return err_set(e, -EIO, "%zu sleeps failed", s->failed);
	if (s->early)
		return err_set(e, -EILSEQ, "%zu wake-ups came before their time", s->early);
	return 0;
}
