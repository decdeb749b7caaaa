/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How late a thread wakes that asked to sleep until a point in time: the way out of idle states,
 * the timer, the scheduler. Holds no CPU out of idle states, as other tools for this do: what those
 * cost is what is asked.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "measure/bench/bench.h"
#include "base/text.h"
#include "base/err.h"

enum { WAKE_PRIORITY = 80 };

/* --- sleeping by the clock -------------------------------------------------------------------- */

/* A thread that sleeps until a point in time, again and again, and how late it woke each time. */
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

static struct timespec timer_latency_later(struct timespec t, long ns)
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

/* Work for a worker; ctx is struct sleeps. Ends early when *stop is set. */
static void sleeps_take(void *ctx, size_t i)
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
		at = timer_latency_later(now, s->interval_ns);
		/* Between the two calls nothing that lies in memory: after an idle state it is far
		 * away, and the clock waits for what is under way. */
		r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		s->failed += r != 0;
		s->late_ns[s->n] = ns_between(&at, &now);
		s->early += s->late_ns[s->n] < 0;
	}
}

/* Median and 99th percentile of the window in microseconds, its values into observed.
 * -EINTR when the window is not complete. */
static int sleeps_sample(struct sleeps *s, struct bench_sample *out, struct err *e)
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

/* -EILSEQ when a sleep ended early, -EIO when one failed. */
static int sleeps_verify(const struct sleeps *s, struct err *e)
{
	if (s->failed)
		return err_set(e, -EIO, "%zu sleeps failed", s->failed);
	if (s->early)
		return err_set(e, -EILSEQ, "%zu wake-ups came too early", s->early);
	return 0;
}

/* --- after the timer -------------------------------------------------------------------------- */

struct timer_latency_arg {
	long interval_ns;
	size_t window; /* wake-ups a sample */
	unsigned cpu;
	bool fifo; /* with real-time scheduling */
};

struct timer_latency {
	const struct timer_latency_arg *arg;
	struct workers *worker;
	struct sleeps sleeps;
	int refused; /* errno of what real-time scheduling answered */
};

static void become_fifo(void *ctx, size_t i)
{
	struct timer_latency *s = ctx;
	struct sched_param p = { .sched_priority = WAKE_PRIORITY };

	(void)i;
	s->refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
}

static void timer_latency_teardown(void *state)
{
	struct timer_latency *s = state;

	if (s->worker)
		workers_end(s->worker);
}

static int timer_latency_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			       const char **variant, struct err *e)
{
	struct timer_latency *s = state;
	struct idset cpus = { 0 };
	int r;

	s->arg = c->arg;
	s->sleeps = (struct sleeps){ .interval_ns = s->arg->interval_ns,
				     .want = s->arg->window,
				     .stop = env->stop };
	idset_add(env->a, &cpus, s->arg->cpu);
	r = workers_start(&cpus, &s->worker, e);
	if (r)
		return r;
	if (s->arg->fifo)
		workers_run(s->worker, become_fifo, s);
	if (s->refused) {
		r = err_set(e, -s->refused, "real-time scheduling was refused: %s",
			    strerror(s->refused));
		err_hint(e, "run as root or as a user with an rtprio limit");
		return r;
	}
	*variant =
		s->arg->fifo ? "SCHED_FIFO, priority 80" : "normal scheduling, 1 ns of timer slack";
	return 0;
}

static int timer_latency_run(void *state, struct bench_sample *out, struct err *e)
{
	struct timer_latency *s = state;

	workers_run(s->worker, sleeps_take, &s->sleeps);
	return sleeps_sample(&s->sleeps, out, e);
}

static int timer_latency_verify(void *state, struct err *e)
{
	return sleeps_verify(&((struct timer_latency *)state)->sleeps, e);
}

/* By trying: root may be refused too, by a container or the kernel's real-time groups. */
static bool may_fifo(void)
{
	struct sched_param before, p = { .sched_priority = WAKE_PRIORITY };
	int policy;

	return pthread_getschedparam(pthread_self(), &policy, &before) == 0 &&
	       pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0 &&
	       pthread_setschedparam(pthread_self(), policy, &before) == 0;
}

static void timer_latency_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name;
		long ns;
		size_t window;
	} rows[] = { { "100us", 100000, 500 }, { "1ms", 1000000, 100 }, { "10ms", 10000000, 20 } };
	unsigned cpu = env->cpus.n ? env->cpus.r[env->cpus.n - 1].hi : 0;

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct timer_latency_arg *arg = ARENA_NEW(env->a, struct timer_latency_arg);
		bool fifo = i % 2;

		if (fifo && !may_fifo())
			continue;
		*arg = (struct timer_latency_arg){ env->small ? rows[i / 2].ns / 20
							      : rows[i / 2].ns,
						   env->small ? 10 : rows[i / 2].window, cpu,
						   fifo };
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

const struct bench bench_wake = {
	.name = "timer-wake-up",
	.title = "wake-up latency of a sleeping thread",
	.method = "Repeated clock_nanosleep to an absolute time on one CPU: microseconds from the "
		  "requested time to the wake-up. A sample is the median, and the 99th percentile, "
		  "of a window of wake-ups. No wake-up may be early. With :fifo the thread has "
		  "real-time scheduling, if permitted.",
	.version = 1,
	FIGURES(bench_times_figures),
	.observed_scale = 1e-3,
	.seconds = 3,
	.rounds = 3,
	.cases = timer_latency_cases,
	.state_size = sizeof(struct timer_latency),
	.setup = timer_latency_setup,
	.run = timer_latency_run,
	.verify = timer_latency_verify,
	.teardown = timer_latency_teardown,
	.no_limit = "unknown: the exit latency of the current idle state is added",
};

/*
 * What idle states cost: how late a thread wakes after sleeps of different lengths, with the idle
 * states that the CPU was in meanwhile; and the same while a thread of the idle class keeps the CPU
 * from idling. The difference is what holding CPUs out of idle states would buy, measured without
 * changing any setting.
 */

enum { STATES_MAX = 16, TEXT_SIZE = 128, SHARE_LEAST = 5 };

struct idle_arg {
	long interval_ns;
	size_t window;
	unsigned cpu;
	bool awake; /* the CPU is kept from idling */
	const struct idle_group *group;
};

struct idle {
	const struct idle_arg *arg;
	struct host *h;
	struct workers *worker;
	struct sleeps sleeps;
	/* Microseconds in each state: when last looked, and of all windows together. */
	long long seen[STATES_MAX], total[STATES_MAX];
	char *text;
	pthread_t spinner;
	bool spins;
	atomic_bool end;
};

static void *spin(void *arg)
{
	struct idle *s = arg;

	while (!atomic_load_explicit(&s->end, memory_order_relaxed))
		;
	return NULL;
}

/* A thread that runs when nothing else wants to. Anybody may make a thread of that class. It is
 * pinned from outside: on a busy CPU it may not come to do anything itself. */
static int start_spinner(struct idle *s, struct err *e)
{
	size_t size = CPU_ALLOC_SIZE(s->arg->cpu + 1);
	cpu_set_t *set = CPU_ALLOC(s->arg->cpu + 1);
	struct sched_param p = { 0 };
	pthread_attr_t attr;
	int r;

	if (!set)
		return err_set(e, -ENOMEM, "out of memory");
	CPU_ZERO_S(size, set);
	CPU_SET_S(s->arg->cpu, size, set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, size, set);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_IDLE);
	pthread_attr_setschedparam(&attr, &p);
	r = pthread_create(&s->spinner, &attr, spin, s);
	pthread_attr_destroy(&attr);
	CPU_FREE(set);
	if (r)
		return err_set(e, -r, "cannot create a thread of the idle class: %s", strerror(r));
	s->spins = true;
	return 0;
}

/* Adds what passed since the last look to the totals; the first one only looks. */
static void timer_latency_look(struct idle *s, bool add)
{
	size_t k = 0;

	LIST_FOR_EACH (const struct idle_state, it, &s->arg->group->states) {
		char path[128], line[32];
		long long us;

		if (k >= STATES_MAX)
			return;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpuidle/state%u/time",
			 s->arg->cpu, it->index);
		if (s->h && host_read_line(s->h, path, line, sizeof(line)) == 0 &&
		    parse_i64(line, &us) == 0) {
			if (add)
				s->total[k] += us - s->seen[k];
			s->seen[k] = us;
		}
		k++;
	}
}

static void timer_latency_idle_teardown(void *state)
{
	struct idle *s = state;

	atomic_store(&s->end, true);
	if (s->spins)
		pthread_join(s->spinner, NULL);
	if (s->worker)
		workers_end(s->worker);
}

static int timer_latency_idle_setup(const struct bench_env *env, const struct bench_case *c,
				    void *state, const char **variant, struct err *e)
{
	struct idle *s = state;
	struct idset cpus = { 0 };
	int r;

	s->arg = c->arg;
	s->h = env->h;
	s->sleeps = (struct sleeps){ .interval_ns = s->arg->interval_ns,
				     .want = s->arg->window,
				     .stop = env->stop };
	s->text = arena_alloc(env->a, TEXT_SIZE);
	idset_add(env->a, &cpus, s->arg->cpu);
	r = workers_start(&cpus, &s->worker, e);
	if (r == 0 && s->arg->awake)
		r = start_spinner(s, e);
	if (r)
		return r;
	*variant = s->arg->awake ? "kept awake by a thread of the idle class" : s->text;
	return 0;
}

static int timer_latency_idle_run(void *state, struct bench_sample *out, struct err *e)
{
	struct idle *s = state;

	timer_latency_look(s, false);
	workers_run(s->worker, sleeps_take, &s->sleeps);
	timer_latency_look(s, true);
	return sleeps_sample(&s->sleeps, out, e);
}

/* "C6 90 %, C1 10 %": where the CPU idled, in tenths, the rest left out. */
static void note_states(const struct idle *s)
{
	long long all = 0;
	size_t k = 0, at = 0;

	for (size_t i = 0; i < STATES_MAX; i++)
		all += s->total[i];
	snprintf(s->text, TEXT_SIZE, "%s", all > 0 ? "" : "no time in an idle state was recorded");
	LIST_FOR_EACH (const struct idle_state, it, &s->arg->group->states) {
		long long share;

		if (k >= STATES_MAX || all <= 0)
			return;
		share = (100 * s->total[k++] + all / 2) / all;
		if (share >= SHARE_LEAST && at < TEXT_SIZE)
			at += (size_t)snprintf(s->text + at, TEXT_SIZE - at, "%s%s %lld %%",
					       at ? ", " : "", fact_text(&it->name, "?"),
					       (share + 5) / 10 * 10);
	}
}

static int idle_verify(void *state, struct err *e)
{
	struct idle *s = state;

	note_states(s);
	return sleeps_verify(&s->sleeps, e);
}

/* --- cases ------------------------------------------------------------------------------------ */

static const struct idle_group *group_of(const struct cpus *m, unsigned cpu)
{
	LIST_FOR_EACH (const struct idle_group, g, &m->idle)
		if (g->states.n && idset_has(&g->cpus.v, cpu))
			return g;
	return NULL;
}

static void timer_latency_add(const struct bench_env *env, struct bench_cases *out,
			      const char *name, const struct idle_arg *want)
{
	struct idle_arg *arg = ARENA_NEW(env->a, struct idle_arg);

	*arg = *want;
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = arena_printf(env->a, "%s%s", name, arg->awake ? ":awake" : ""),
			.setup = arena_printf(env->a, "%zu wake-ups a sample", arg->window),
			.placement = arena_printf(env->a, "one thread on CPU %u", arg->cpu),
			.arg = arg });
}

static void timer_latency_idle_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name;
		long ns;
		size_t window;
	} rows[] = { { "100us", 100000, 500 },
		     { "1ms", 1000000, 100 },
		     { "10ms", 10000000, 10 },
		     { "50ms", 50000000, 4 } };
	unsigned cpu = env->cpus.n ? env->cpus.r[env->cpus.n - 1].hi : 0;
	const struct idle_group *group = group_of(&env->m->cpu, cpu);

	if (!group) {
		out->none = fact_or(&env->m->cpu.hypervisor, 0)
				    ? "not measurable here: this virtual machine has no idle states"
				    : "not measurable here: the kernel reports no idle states";
		return;
	}
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct idle_arg arg = { env->small ? rows[i / 2].ns / 50 : rows[i / 2].ns,
					env->small ? 5 : rows[i / 2].window, cpu, i % 2, group };

		timer_latency_add(env, out, rows[i / 2].name, &arg);
	}
}

static struct bench_limit idle_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct idle_arg *arg = c->arg;
	const struct idle_state *deepest = NULL;

	LIST_FOR_EACH (const struct idle_state, it, &arg->group->states)
		if (!fact_or(&it->disabled, 0) && seen_ok(&it->latency.f))
			deepest = it;
	if (!deepest || arg->awake)
		return (struct bench_limit){
			.source = "unknown: no data sheet states the time of timer and scheduler"
		};
	return (struct bench_limit){
		.source = arena_printf(env->a,
				       "unknown: the driver's table gives %lld us to leave the "
				       "deepest enabled state, %s; timer and scheduler are added",
				       deepest->latency.v, fact_text(&deepest->name, "?"))
	};
}

const struct bench bench_idle_wake = {
	.name = "idle-wake-up",
	.title = "cost of idle states: wake-ups after sleeps of different lengths",
	.method = "clock_nanosleep to an absolute time on one CPU: microseconds from the requested "
		  "time to the wake-up. The longer the sleep, the deeper the idle state chosen by "
		  "the kernel; the variant names the CPU's state. With :awake a thread of the idle "
		  "class spins on the same CPU, so the CPU never idles: the difference is the cost "
		  "of idle states. No setting is changed.",
	.version = 1,
	FIGURES(bench_times_figures),
	.observed_scale = 1e-3,
	.seconds = 1.5,
	.rounds = 3,
	.cases = timer_latency_idle_cases,
	.state_size = sizeof(struct idle),
	.setup = timer_latency_idle_setup,
	.run = timer_latency_idle_run,
	.verify = idle_verify,
	.teardown = timer_latency_idle_teardown,
	.limit = idle_limit,
};
