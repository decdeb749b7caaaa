/* SPDX-License-Identifier: Apache-2.0 */
/* What benches share: the list of cases, the state of one set-up, figures of single times. */
#include "measure/bench/bench.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Logarithmic buckets. */

/* Below 64 every whole number has a bucket of its own. */
static size_t bucket_of(double v)
{
	static const double most = 140737488355327.0; /* 2^47 - 1 */
	/* NaN is not above 0 either. */
	unsigned long long u = v >= most ? (unsigned long long)most
			       : v > 0	 ? (unsigned long long)v
					 : 0;
	unsigned power = 0;

	while (u >> power >= 2 * HISTOGRAM_SUB)
		power++;
	if (u < HISTOGRAM_SUB)
		return (size_t)u;
	return (size_t)(power + 1) * HISTOGRAM_SUB + (size_t)(u >> power) - HISTOGRAM_SUB;
}

static double middle(size_t bucket)
{
	size_t power = bucket / HISTOGRAM_SUB, at = bucket % HISTOGRAM_SUB;

	if (power == 0)
		return (double)at;
	return ldexp((double)(at + HISTOGRAM_SUB) + (power > 1 ? 0.5 : 0), (int)power - 1);
}

void histogram_add(struct histogram *h, double value)
{
	h->count[bucket_of(value)]++;
	h->n++;
	if (value > h->max)
		h->max = value;
}

double histogram_quantile(const struct histogram *h, double p)
{
	double want = p * (double)h->n;
	unsigned long long seen = 0;

	for (size_t i = 0; i < sizeof(h->count) / sizeof(h->count[0]); i++) {
		seen += h->count[i];
		if (h->count[i] && (double)seen >= want)
			return fmin(middle(i), h->max);
	}
	return h->max;
}

/* Two cache lines: threads of a bench may spin on words of their own in it. */
enum { STATE_ALIGN = 128 };

void bench_case_add(struct arena *a, struct bench_cases *cases, struct bench_case c)
{
	ARENA_ADD(a, cases->items, cases->n) = c;
}

void bench_case_absent(struct arena *a, struct bench_cases *cases, const char *name,
		       const char *why)
{
	ARENA_ADD(a, cases->absent, cases->n_absent) = (struct record_skip){ name, why };
}

int bench_set_up(const struct bench *b, const struct bench_env *env, const struct bench_case *c,
		 void **state, const char **variant, struct err *e)
{
	size_t size = (b->state_size / STATE_ALIGN + 1) * STATE_ALIGN;
	void *s = aligned_alloc(STATE_ALIGN, size);
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	memset(s, 0, size);
	r = b->setup(env, c, s, variant, e);
	if (r)
		bench_tear_down(b, s);
	else
		*state = s;
	return r;
}

void bench_tear_down(const struct bench *b, void *state)
{
	b->teardown(state);
	free(state);
}

const struct bench_figure bench_times_figures[2] = {
	{ "p50", "median of a window", "us", "us", BENCH_LOWER },
	{ "p99", "99th percentile of a window", "us", "us", BENCH_LOWER },
};

void bench_times(struct bench_sample *out, double *us, size_t n)
{
	for (size_t i = 0; out->observed && i < n; i++)
		histogram_add(out->observed, us[i] * 1e3);
	stat_sort(us, n);
	out->value[0] = stat_quantile(us, n, 0.5);
	out->value[1] = stat_quantile(us, n, 0.99);
}

/* Pinned threads between two barriers. */

struct worker {
	struct workers *all;
	pthread_t thread;
	unsigned cpu;
	int error;
	double from_s, to_s;
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
		w->from_s = clock_mono_s();
		all->work(all->ctx, (size_t)(w - all->items));
		w->to_s = clock_mono_s();
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
	size_t n = idset_count(cpus);
	struct workers *w;
	int r;

	if (!n)
		return err_set(e, -EINVAL, "no CPU to run on");
	w = heap_array(1, sizeof(*w));
	w->n = n;
	w->items = heap_array(n, sizeof(*w->items));
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
			r = err_set(e, w->items[i].error, "cannot run on CPU %u: %s",
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

double workers_run(struct workers *w, void (*work)(void *ctx, size_t i), void *ctx)
{
	double from_s = INFINITY, to_s = 0;

	w->work = work;
	w->ctx = ctx;
	pthread_barrier_wait(&w->go);
	pthread_barrier_wait(&w->done);
	for (size_t i = 0; i < w->n; i++) {
		from_s = fmin(from_s, w->items[i].from_s);
		to_s = fmax(to_s, w->items[i].to_s);
	}
	return to_s - from_s;
}

void workers_end(struct workers *w)
{
	w->work = NULL;
	pthread_barrier_wait(&w->go);
	for (size_t i = 0; i < w->n; i++)
		pthread_join(w->items[i].thread, NULL);
	release(w);
}
