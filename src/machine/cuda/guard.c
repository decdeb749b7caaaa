/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread looks twice in the time, and ends the process when two looks in a row found no touch:
 * after the process was stopped and continued, the first one comes at once.
 */
#include "machine/cuda/guard.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void later(struct timespec *t, double seconds)
{
	double all = (double)t->tv_nsec / 1e9 + seconds;

	t->tv_sec += (time_t)all;
	t->tv_nsec = (long)((all - (double)(time_t)all) * 1e9);
}

static void guard_give_up(const struct cuda_guard *g)
{
	char line[320];
	int n = snprintf(line, sizeof(line),
			 "gputune: %s: a driver call hangs; no results were saved; check the "
			 "kernel log for NVRM: Xid\n",
			 g->what);

	/* The thread that is held cannot be ended any other way, nor would exit() pass it. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) != n)
		_exit(CUDA_GUARD_EXIT);
	_exit(CUDA_GUARD_EXIT);
}

static void *guard_main(void *arg)
{
	struct cuda_guard *g = arg;
	unsigned seen = 0, now, idle = 0;
	struct timespec at;

	pthread_mutex_lock(&g->lock);
	while (!g->over) {
		clock_gettime(CLOCK_MONOTONIC, &at);
		later(&at, g->seconds / 2);
		while (!g->over && pthread_cond_timedwait(&g->end, &g->lock, &at) == 0)
			;
		now = atomic_load(&g->touched);
		idle = now == seen ? idle + 1 : 0;
		seen = now;
		if (!g->over && idle >= 2)
			guard_give_up(g);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

void cuda_guard_begin(struct cuda_guard *g, double seconds, const char *what)
{
	pthread_condattr_t attr;

	memset(g, 0, sizeof(*g));
	g->seconds = seconds;
	snprintf(g->what, sizeof(g->what), "%s", what);
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->end, &attr);
	pthread_condattr_destroy(&attr);
	atomic_store(&g->touched, 1);
	g->begun = pthread_create(&g->thread, NULL, guard_main, g) == 0;
}

void cuda_guard_touch(struct cuda_guard *g)
{
	atomic_fetch_add_explicit(&g->touched, 1, memory_order_relaxed);
}

void cuda_guard_end(struct cuda_guard *g)
{
	if (!g->begun)
		return;
	pthread_mutex_lock(&g->lock);
	g->over = true;
	pthread_cond_signal(&g->end);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	pthread_cond_destroy(&g->end);
	pthread_mutex_destroy(&g->lock);
	g->begun = false;
}
