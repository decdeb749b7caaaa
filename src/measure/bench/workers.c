/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned threads between two barriers. */
#include "measure/bench/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct worker {
	struct workers *all;
	pthread_t thread;
	unsigned cpu;
	int error;
	struct timespec from, to;
};

struct workers {
	struct worker *items;
	size_t n;
	pthread_mutex_t start; /* held until all threads are there, or it is known that they never
				  will be */
	bool called_off;
	pthread_barrier_t go, done;
	void (*work)(void *ctx, size_t i);
	void *ctx;
};

/* Pins the calling thread; -errno. */
static int pin_self(unsigned cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	r = sched_setaffinity(0, size, set) ? -errno : 0;
	CPU_FREE(set);
	return r;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct workers *all = w->all;

	pthread_mutex_lock(&all->start);
	pthread_mutex_unlock(&all->start);
	if (all->called_off)
		return NULL;
	w->error = pin_self(w->cpu);
	for (;;) {
		pthread_barrier_wait(&all->go);
		if (!all->work)
			break;
		clock_gettime(CLOCK_MONOTONIC, &w->from);
		all->work(all->ctx, (size_t)(w - all->items));
		clock_gettime(CLOCK_MONOTONIC, &w->to);
		pthread_barrier_wait(&all->done);
	}
	return NULL;
}

static void nothing(void *ctx, size_t i)
{
	(void)ctx;
	(void)i;
}

static int workers_start_threads(struct workers *w, const struct idset *cpus, struct err *e)
{
	size_t i = 0;

	pthread_mutex_lock(&w->start);
	IDSET_FOR_EACH (cpu, cpus) {
		struct worker *it = &w->items[i];

		if (w->called_off)
			continue;
		*it = (struct worker){ .all = w, .cpu = cpu };
		if (pthread_create(&it->thread, NULL, worker_main, it))
			w->called_off = true;
		else
			i++;
	}
	pthread_mutex_unlock(&w->start);
	if (!w->called_off)
		return 0;
	for (size_t k = 0; k < i; k++)
		pthread_join(w->items[k].thread, NULL);
	return err_set(e, -EAGAIN, "only %zu of %zu threads could be started", i, w->n);
}

static void release(struct workers *w)
{
	pthread_barrier_destroy(&w->go);
	pthread_barrier_destroy(&w->done);
	pthread_mutex_destroy(&w->start);
	free(w->items);
	free(w);
}

int workers_start(const struct idset *cpus, struct workers **out, struct err *e)
{
	struct workers *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "no memory for threads");
	w->n = idset_count(cpus);
	w->items = calloc(w->n ? w->n : 1, sizeof(*w->items));
	if (!w->items || !w->n) {
		free(w->items);
		free(w);
		return err_set(e, -EINVAL, "there is no CPU to run on");
	}
	pthread_mutex_init(&w->start, NULL);
	pthread_barrier_init(&w->go, NULL, (unsigned)w->n + 1);
	pthread_barrier_init(&w->done, NULL, (unsigned)w->n + 1);
	r = workers_start_threads(w, cpus, e);
	if (r) {
		release(w);
		return r;
	}
	workers_run(w, nothing, NULL);
	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].error && r == 0)
			r = err_set(e, w->items[i].error, "CPU %u cannot be run on: %s",
				    w->items[i].cpu, strerror(-w->items[i].error));
	if (r)
		workers_end(w);
	else
		*out = w;
	return r;
}

size_t workers_count(const struct workers *w)
{
	return w->n;
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

double workers_run(struct workers *w, void (*work)(void *ctx, size_t i), void *ctx)
{
	struct timespec from, to;

	w->work = work;
	w->ctx = ctx;
	pthread_barrier_wait(&w->go);
	pthread_barrier_wait(&w->done);
	from = w->items[0].from;
	to = w->items[0].to;
	for (size_t i = 1; i < w->n; i++) {
		if (earlier(&w->items[i].from, &from))
			from = w->items[i].from;
		if (earlier(&to, &w->items[i].to))
			to = w->items[i].to;
	}
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

void workers_end(struct workers *w)
{
	w->work = NULL;
	pthread_barrier_wait(&w->go);
	for (size_t i = 0; i < w->n; i++)
		pthread_join(w->items[i].thread, NULL);
	release(w);
}
