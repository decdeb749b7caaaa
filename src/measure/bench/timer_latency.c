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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/bench/bench.h"
#include "measure/bench/disk_file.h"
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
	double late_us[SLEEPS_MAX];
	/* All windows. */
	size_t early, failed;
};

/* Work for a worker; ctx is struct sleeps. Ends early when *stop is set. */
static void sleeps_take(void *ctx, size_t i)
{
	struct sleeps *s = ctx;
	struct timespec until;
	long long at, late;
	int r;

	(void)i;
	/* The kernel adds 50 us of slack to a normal thread's timers, to join them; not asked here.
	 */
	prctl(PR_SET_TIMERSLACK, 1);
	for (s->n = 0; s->n < s->want; s->n++) {
		if (s->stop && atomic_load(s->stop))
			return;
		at = clock_mono_ns() + s->interval_ns;
		until = (struct timespec){ at / 1000000000, at % 1000000000 };
		/* Between the two calls nothing that lies in memory: after an idle state it is far
		 * away, and the clock waits for what is under way. */
		r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		late = clock_mono_ns() - at;
		s->failed += r != 0;
		s->early += late < 0;
		s->late_us[s->n] = fmax((double)late, 0.5) / 1e3;
	}
}

/* --- a thread that wakes ---------------------------------------------------------------------- */

enum { STATES_MAX = 16, TEXT_SIZE = 128, SHARE_LEAST = 5 };

struct wake_arg {
	long interval_ns;
	size_t window; /* wake-ups a sample */
	unsigned cpu;
	bool fifo;			/* with real-time scheduling */
	bool awake;			/* the CPU is kept from idling */
	const struct idle_group *group; /* idle states to count; NULL: do not */
};

struct wake {
	const struct wake_arg *arg;
	struct host *h;
	struct workers *worker;
	struct sleeps sleeps;
	int refused; /* errno of what real-time scheduling answered */
	/* Microseconds in each state: when last looked, and of all windows together. */
	long long seen[STATES_MAX], total[STATES_MAX];
	char *text;
	pthread_t spinner;
	bool spins;
	atomic_bool end;
};

static void become_fifo(void *ctx, size_t i)
{
	struct wake *s = ctx;
	struct sched_param p = { .sched_priority = WAKE_PRIORITY };

	(void)i;
	s->refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
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

static void *spin(void *arg)
{
	struct wake *s = arg;

	while (!atomic_load_explicit(&s->end, memory_order_relaxed))
		;
	return NULL;
}

/* A thread that runs when nothing else wants to. Anybody may make a thread of that class. It is
 * pinned from outside: on a busy CPU it may not come to do anything itself. */
static int start_spinner(struct wake *s, const struct idset *cpu, struct err *e)
{
	cpu_set_t *before = pin_to(cpu);
	int r = before ? pthread_create(&s->spinner, NULL, spin, s) : EPERM;

	pin_back(before);
	s->spins = r == 0;
	r = r ? r : pthread_setschedparam(s->spinner, SCHED_IDLE, &(struct sched_param){ 0 });
	return r ? err_set(e, -r, "cannot create a thread of the idle class: %s", strerror(r)) : 0;
}

/* Adds what passed since the last look to the totals; the first one only looks. */
static void look_at_states(struct wake *s, bool add)
{
	size_t k = 0;

	if (!s->arg->group)
		return;
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

static void wake_teardown(void *state)
{
	struct wake *s = state;

	atomic_store(&s->end, true);
	if (s->spins)
		pthread_join(s->spinner, NULL);
	if (s->worker)
		workers_end(s->worker);
}

static int wake_setup(const struct bench_env *env, const struct bench_case *c, void *state,
		      const char **variant, struct err *e)
{
	struct wake *s = state;
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
		r = start_spinner(s, &cpus, e);
	if (r)
		return r;
	if (s->arg->fifo)
		workers_run(s->worker, become_fifo, s);
	if (s->refused)
		return err_set(e, -s->refused, "real-time scheduling was refused: %s",
			       strerror(s->refused));
	*variant = s->arg->awake   ? "kept awake by a thread of the idle class"
		   : s->arg->group ? s->text
		   : s->arg->fifo  ? "SCHED_FIFO, priority 80"
				   : "normal scheduling, 1 ns of timer slack";
	return 0;
}

/* -EINTR when the window is not complete. */
static int wake_run(void *state, struct bench_sample *out, struct err *e)
{
	struct wake *s = state;

	look_at_states(s, false);
	workers_run(s->worker, sleeps_take, &s->sleeps);
	look_at_states(s, true);
	if (s->sleeps.n < s->sleeps.want)
		return err_set(e, -EINTR, "interrupted");
	bench_times(out, s->sleeps.late_us, s->sleeps.n);
	return 0;
}

/* "C6 90 %, C1 10 %": where the CPU idled, in tenths, the rest left out. */
static void note_states(const struct wake *s)
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

/* -EILSEQ when a sleep ended early, -EIO when one failed. */
static int wake_verify(void *state, struct err *e)
{
	struct wake *s = state;

	if (s->arg->group)
		note_states(s);
	if (s->sleeps.failed)
		return err_set(e, -EIO, "%zu sleeps failed", s->sleeps.failed);
	if (s->sleeps.early)
		return err_set(e, -EILSEQ, "%zu wake-ups came too early", s->sleeps.early);
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static unsigned last_cpu(const struct bench_env *env)
{
	return env->cpus.n ? env->cpus.r[env->cpus.n - 1].hi : 0;
}

static void wake_add(const struct bench_env *env, struct bench_cases *out, const char *name,
		     struct wake_arg want)
{
	struct wake_arg *arg = ARENA_NEW(env->a, struct wake_arg);

	want.cpu = last_cpu(env);
	*arg = want;
	bench_case_add(env->a, out,
		       (struct bench_case){
			       .name = arena_printf(env->a, "%s%s", name,
						    arg->awake	? ":awake"
						    : arg->fifo ? ":fifo"
								: ""),
			       .setup = arena_printf(env->a, "%zu wake-ups a sample", arg->window),
			       .placement = arena_printf(env->a, "one thread on CPU %u", arg->cpu),
			       .arg = arg });
}

struct wake_row {
	const char *name;
	long ns;
	size_t window;
};

static void wake_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct wake_row rows[] = { { "100us", 100000, 500 },
						{ "1ms", 1000000, 100 },
						{ "10ms", 10000000, 20 } };
	bool fifo = may_fifo();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int k = 0; k <= fifo; k++)
			wake_add(env, out, rows[i].name,
				 (struct wake_arg){ .interval_ns = env->small ? rows[i].ns / 20
									      : rows[i].ns,
						    .window = env->small ? 10 : rows[i].window,
						    .fifo = k });
}

/*
 * What idle states cost: how late a thread wakes after sleeps of different lengths, with the idle
 * states that the CPU was in meanwhile; and the same while a thread of the idle class keeps the CPU
 * from idling. The difference is what holding CPUs out of idle states would buy, measured without
 * changing any setting.
 */

static const struct idle_group *group_of(const struct cpus *m, unsigned cpu)
{
	LIST_FOR_EACH (const struct idle_group, g, &m->idle)
		if (g->states.n && idset_has(&g->cpus.v, cpu))
			return g;
	return NULL;
}

static void idle_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct wake_row rows[] = { { "100us", 100000, 500 },
						{ "1ms", 1000000, 100 },
						{ "10ms", 10000000, 10 },
						{ "50ms", 50000000, 4 } };
	const struct idle_group *group = group_of(&env->m->cpu, last_cpu(env));

	if (!group) {
		out->none = fact_or(&env->m->cpu.hypervisor, 0)
				    ? "not measurable here: this virtual machine has no idle states"
				    : "not measurable here: the kernel reports no idle states";
		return;
	}
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++)
		wake_add(env, out, rows[i / 2].name,
			 (struct wake_arg){ .interval_ns = env->small ? rows[i / 2].ns / 50
								      : rows[i / 2].ns,
					    .window = env->small ? 5 : rows[i / 2].window,
					    .awake = i % 2,
					    .group = group });
}

static struct bench_limit idle_limit(const struct bench_env *env, const struct bench_case *c)
{
	const struct wake_arg *arg = c->arg;
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
				       "unknown: the driver states %lld us to leave the deepest "
				       "enabled state, %s, without timer and scheduler",
				       deepest->latency.v, fact_text(&deepest->name, "?"))
	};
}

/* Setup, run and check of both. */
#define WAKE                                                                                       \
	.version = 1, FIGURES(bench_times_figures), .observed_scale = 1e-3, .rounds = 3,           \
	.state_size = sizeof(struct wake), .setup = wake_setup, .run = wake_run,                   \
	.verify = wake_verify, .teardown = wake_teardown

const struct bench bench_wake = {
	.name = "timer-wake-up",
	.title = "wake-up latency of a sleeping thread",
	.method = "Repeated clock_nanosleep to an absolute time on one CPU: microseconds from the "
		  "requested time to the wake-up. A sample is the median, and the 99th percentile, "
		  "of a window of wake-ups. No wake-up may be early. With :fifo the thread has "
		  "real-time scheduling, if permitted.",
	WAKE,
	.seconds = 3,
	.cases = wake_cases,
	.no_limit = "unknown: the exit latency of the current idle state is added",
};

const struct bench bench_idle_wake = {
	.name = "idle-wake-up",
	.title = "cost of idle states: wake-ups after sleeps of different lengths",
	.method = "clock_nanosleep to an absolute time on one CPU: microseconds from the requested "
		  "time to the wake-up. The longer the sleep, the deeper the idle state chosen by "
		  "the kernel; the variant names the CPU's state. With :awake a thread of the idle "
		  "class spins on the same CPU, so the CPU never idles: the difference is the cost "
		  "of idle states. No setting is changed.",
	WAKE,
	.seconds = 1.5,
	.cases = idle_cases,
	.limit = idle_limit,
};
