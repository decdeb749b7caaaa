/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under which conditions a figure came about: looks at the machine before and after, and a sampler
 * beside the measurement, which also is who hears Ctrl-C.
 */
#ifndef BENCH_CONDITIONS_H
#define BENCH_CONDITIONS_H

#include "measure/bench/bench.h"

/* Which files are looked at, chosen once from facts. */
struct watch_list {
	const char **freq; /* scaling_cur_freq of at most a few policies */
	size_t n_freq;
	const char **temp; /* of at most a few thermal zones */
	size_t n_temp;
	const char **throttle;
	size_t n_throttle;
	unsigned cpus;
};

void watch_list_make(struct arena *a, struct host *h, const struct machine *m,
		     struct watch_list *out);
/* One full look; costs up to milliseconds on large machines. */
void conditions_look(struct host *h, const struct watch_list *w, struct record_moment *out);
/* The cheap part, for the sampler. */
void conditions_track(struct host *h, const struct watch_list *w, struct record_track *out);
/* CPUs that others kept busy between two looks; negative when that could not be seen. */
double conditions_others(const struct record_moment *from, const struct record_moment *to);
/* Of all CPU time between two looks, in per cent; negative when that could not be seen. */
double conditions_steal(const struct record_moment *from, const struct record_moment *to);

struct sampler;

enum { SAMPLER_PERIOD_MS = 100, SAMPLER_TRACK_MAX = 36000 };

/*
 * Starts a thread that looks ten times a second, less often when a look costs more than 0.2 % of a
 * CPU that way. SIGINT, SIGTERM and SIGHUP are held back in the calling thread and those it starts
 * afterwards; the first one sets *stop, a second one ends the process as usual. NULL when no thread
 * can be had.
 */
struct sampler *sampler_start(struct host *h, const struct watch_list *w, atomic_bool *stop);
/* Ends it, copies what it saw into c, and lets signals through again. */
void sampler_end(struct arena *a, struct sampler *s, struct record_conditions *c);

#endif
