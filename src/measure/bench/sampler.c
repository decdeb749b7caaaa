/* SPDX-License-Identifier: Apache-2.0 */
/* The thread beside a measurement. It waits for signals and the next look with one call. The
 * program's alone: libgputune looks at the conditions too, and touches no signal. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "measure/bench/conditions.h"

struct sampler {
	pthread_t thread;
	struct host *h;
	const struct watch_list *w;
	atomic_bool *stop;
	atomic_bool end;
	sigset_t old;
	double start_s;
	/* Reserved up front: nothing is allocated while something is measured. */
	struct record_track *track;
	size_t n;
	double cpu_s, wall_s;
};

static sigset_t watched(void)
{
	struct sigaction hangup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* A lost terminal ends it as Ctrl-C does, unless somebody said (nohup) that it must not. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2); /* our own: the measurement is over */
	return set;
}

static void look(struct sampler *s, double now_s)
{
	struct record_track *t = &s->track[s->n];

	conditions_track(s->h, s->w, t);
	t->at_s = now_s - s->start_s;
	s->n++;
}

static void *sampler_main(void *arg)
{
	struct sampler *s = arg;
	struct timespec cpu, wait = { 0, SAMPLER_PERIOD_MS * 1000000L };
	double last_cpu = 0, period, cost;
	sigset_t set = watched();

	while (!atomic_load(&s->end)) {
		int signal = sigtimedwait(&set, NULL, &wait);
		double now_s = clock_mono_s();

		if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
			atomic_store(s->stop, true);
			/* The next one is not ours. */
			sigdelset(&set, SIGINT);
			sigdelset(&set, SIGTERM);
			sigdelset(&set, SIGHUP);
			sigset_t let = watched();
			sigdelset(&let, SIGUSR2);
			pthread_sigmask(SIG_UNBLOCK, &let, NULL);
			continue;
		}
		if (signal < 0 && s->n < SAMPLER_TRACK_MAX)
			look(s, now_s);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		s->cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
		s->wall_s = now_s - s->start_s;
		cost = s->cpu_s - last_cpu;
		last_cpu = s->cpu_s;
		/* At most 0.2 % of a CPU, and back to ten looks a second when they are cheap. */
		period = fmin(fmax(cost / 0.002, SAMPLER_PERIOD_MS / 1e3), 10);
		wait = (struct timespec){ (time_t)period,
					  (long)((period - (double)(time_t)period) * 1e9) };
	}
	return NULL;
}

struct sampler *sampler_start(struct host *h, const struct watch_list *w, atomic_bool *stop)
{
	struct sampler *s = heap_array(1, sizeof(*s));
	sigset_t set = watched();

	s->track = heap_array(SAMPLER_TRACK_MAX, sizeof(*s->track));
	s->h = h;
	s->w = w;
	s->stop = stop;
	s->start_s = clock_mono_s();
	pthread_sigmask(SIG_BLOCK, &set, &s->old);
	if (pthread_create(&s->thread, NULL, sampler_main, s)) {
		pthread_sigmask(SIG_SETMASK, &s->old, NULL);
		free(s->track);
		free(s);
		return NULL;
	}
	return s;
}

void sampler_end(struct arena *a, struct sampler *s, struct record_conditions *c)
{
	atomic_store(&s->end, true);
	pthread_kill(s->thread, SIGUSR2);
	pthread_join(s->thread, NULL);
	c->track = arena_array(a, s->n, sizeof(*c->track));
	memcpy(c->track, s->track, s->n * sizeof(*c->track));
	c->n_track = s->n;
	c->sampler_percent = s->wall_s > 0 ? 100 * s->cpu_s / s->wall_s : 0;
	pthread_sigmask(SIG_SETMASK, &s->old, NULL);
	free(s->track);
	free(s);
}
