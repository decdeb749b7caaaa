/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How late a thread wakes that asked to sleep until a point in time: the way out of idle states,
 * the timer, the scheduler. Holds no CPU out of idle states, as other tools for this do: what those
 * cost is what is asked.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "measure/bench/list.h"
#include "measure/bench/wake_sleeps.h"
#include "measure/bench/workers.h"

enum { WAKE_PRIORITY = 80 };

struct wake_arg {
	long interval_ns;
	size_t window; /* wake-ups a sample */
	unsigned cpu;
	bool fifo; /* with real-time scheduling */
};

struct wake {
	const struct wake_arg *arg;
	struct workers *worker;
	struct sleeps sleeps;
	int refused; /* errno of what real-time scheduling answered */
};

static void become_fifo(void *ctx, size_t i)
{
	struct wake *s = ctx;
	struct sched_param p = { .sched_priority = WAKE_PRIORITY };

	(void)i;
	s->refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
}

static void wake_teardown(void *state)
{
	struct wake *s = state;

	if (s->worker)
		workers_end(s->worker);
	free(s);
}

static int wake_setup(const struct bench_env *env, const struct bench_case *c, void **state,
		      const char **variant, struct err *e)
{
	struct wake *s = calloc(1, sizeof(*s));
	struct idset cpus = { 0 };
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->arg = c->arg;
	s->sleeps = (struct sleeps){ .interval_ns = s->arg->interval_ns,
				     .want = s->arg->window,
				     .stop = env->stop };
	idset_add(env->a, &cpus, s->arg->cpu);
	r = workers_start(&cpus, &s->worker, e);
	if (r) {
		free(s);
		return r;
	}
	if (s->arg->fifo)
		workers_run(s->worker, become_fifo, s);
	if (s->refused) {
		r = err_set(e, -s->refused, "real-time scheduling is refused: %s",
			    strerror(s->refused));
		err_hint(e, "root may, and who has an rtprio limit");
		wake_teardown(s);
		return r;
	}
	*variant =
		s->arg->fifo ? "SCHED_FIFO, priority 80" : "normal scheduling, 1 ns of timer slack";
	*state = s;
	return 0;
}

static int wake_run(void *state, struct bench_sample *out, struct err *e)
{
	struct wake *s = state;

	workers_run(s->worker, sleeps_take, &s->sleeps);
	return sleeps_sample(&s->sleeps, out, e);
}

static int wake_verify(void *state, struct err *e)
{
	return sleeps_verify(&((struct wake *)state)->sleeps, e);
}

static bool may_fifo(void)
{
	struct rlimit most = { 0 };

	return geteuid() == 0 ||
	       (getrlimit(RLIMIT_RTPRIO, &most) == 0 && most.rlim_cur >= WAKE_PRIORITY);
}

static void wake_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name;
		long ns;
		size_t window;
	} rows[] = { { "100us", 100000, 500 }, { "1ms", 1000000, 100 }, { "10ms", 10000000, 20 } };
	unsigned cpu = env->cpus.n ? env->cpus.r[env->cpus.n - 1].hi : 0;

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct wake_arg *arg = ARENA_NEW(env->a, struct wake_arg);
		bool fifo = i % 2;

		if (fifo && !may_fifo())
			continue;
		*arg = (struct wake_arg){ env->small ? rows[i / 2].ns / 20 : rows[i / 2].ns,
					  env->small ? 10 : rows[i / 2].window, cpu, fifo };
		bench_case_add(
			env->a, out,
			(struct bench_case){
				.name = arena_printf(env->a, "%s%s", rows[i / 2].name,
						     fifo ? ":fifo" : ""),
				.setup = arena_printf(env->a, "%zu wake-ups a sample", arg->window),
				.placement = arena_printf(env->a, "one thread on CPU %u", cpu),
				.arg = arg });
	}
}

static struct bench_limit wake_limit(const struct bench_env *env, const struct bench_case *c)
{
	(void)env;
	(void)c;
	return (struct bench_limit){
		.source =
			"unknown: the exit latency of the idle state that was entered comes on top"
	};
}

static const struct bench_figure figures[] = {
	{ "p50", "median of a window", "us", "us", BENCH_LOWER },
	{ "p99", "99th percentile of a window", "us", "us", BENCH_LOWER },
};

const struct bench bench_wake = {
	.name = "timer-wake-up",
	.title = "how late a sleeping thread wakes",
	.method =
		"clock_nanosleep to an absolute time on one CPU, again and again; microseconds "
		"between the time asked for and the time on the clock afterwards. A sample is the "
		"median, and the 99th percentile, of a window of wake-ups. No wake-up may come "
		"early. With :fifo the thread has real-time scheduling, where that is allowed.",
	.version = 1,
	.figures = figures,
	.n_figures = 2,
	.observed_scale = 1e-3,
	.seconds = 3,
	.rounds = 3,
	.cases = wake_cases,
	.setup = wake_setup,
	.run = wake_run,
	.verify = wake_verify,
	.teardown = wake_teardown,
	.limit = wake_limit,
};
