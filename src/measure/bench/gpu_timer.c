/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of work: queued while a gate holds the streams, then run without the host, timed by
 * events. So that what is measured is work done, not work queued.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/bench/gpu_common.h"

/* What no window of ours takes: then the GPU hangs. */
enum { WINDOW_MOST_S = 30 };

static int lane_make(struct gpu_lane *l, struct gpu_place *p, struct err *e)
{
	int r;

	l->place = p;
	r = cuda_use(p->gpu, e);
	r = r ? r : cuda_stream_make(p->gpu, &l->s, e);
	r = r ? r : cuda_event_make(p->gpu, &l->from, e);
	return r ? r : cuda_event_make(p->gpu, &l->to, e);
}

int gpu_timer_make(struct gpu_timer *t, struct gpu_place *const *places, size_t n, struct err *e)
{
	int r;

	char what[96];

	*t = (struct gpu_timer){ .lane = calloc(n, sizeof(*t->lane)) };
	if (!t->lane)
		return err_set(e, -ENOMEM, "no memory");
	snprintf(what, sizeof(what), "GPU %u (%s)%s", places[0]->index, places[0]->gpu->pci,
		 n > 1 ? " or one beside it" : "");
	cuda_guard_begin(&t->guard, CUDA_GUARD_S, what);
	r = cuda_gate_make(places[0]->gpu, &t->gate, e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		t->n++;
		r = lane_make(&t->lane[i], places[i], e);
	}
	/* The first launch of a kernel may wait for all streams: not behind the gate. */
	for (size_t i = 0; r == 0 && i < n; i++) {
		unsigned none = 0;
		void *args[] = { &t->gate.as, &none };

		r = cuda_use(places[i]->gpu, e);
		r = r ? r
		      : cuda_launch(places[i]->gpu, places[i]->tools.spin, 1, 1, t->lane[i].s, args,
				    e);
		r = r ? r
		      : cuda_wait_stream(places[i]->gpu, t->lane[i].s, WINDOW_MOST_S,
					 "the first kernel", e);
	}
	if (r)
		gpu_timer_end(t);
	return r;
}

void gpu_timer_end(struct gpu_timer *t)
{
	struct err ignored = { 0 };

	cuda_gate_open(&t->gate);
	for (size_t i = 0; i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		if (cuda_use(l->place->gpu, &ignored))
			continue;
		if (l->s)
			cuda_wait_stream(l->place->gpu, l->s, WINDOW_MOST_S, "the last work",
					 &ignored);
		cuda_event_end(l->place->gpu, l->from);
		cuda_event_end(l->place->gpu, l->to);
		cuda_stream_end(l->place->gpu, l->s);
	}
	cuda_gate_end(&t->gate);
	cuda_guard_end(&t->guard);
	free(t->lane);
	*t = (struct gpu_timer){ 0 };
}

/* All lanes wait; then the caller queues work in them (at most CUDA_GATE_QUEUE entries each). */
static int gpu_timer_hold(struct gpu_timer *t, struct err *e)
{
	int r = 0;

	cuda_guard_touch(&t->guard);
	cuda_gate_shut(&t->gate);
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r : cuda_gate_hold(&t->gate, l->place->gpu, l->s, l->place->tools.spin, e);
		r = r ? r : cuda_record(l->place->gpu, l->from, l->s, e);
	}
	if (r)
		cuda_gate_open(&t->gate);
	return r;
}

/* Lets them run and waits for all. *seconds: of the lane that took longest. */
static int gpu_timer_run(struct gpu_timer *t, double *seconds, struct err *e)
{
	int r = 0;

	cuda_guard_touch(&t->guard);
	*seconds = 0;
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		r = cuda_use(t->lane[i].place->gpu, e);
		r = r ? r : cuda_record(t->lane[i].place->gpu, t->lane[i].to, t->lane[i].s, e);
	}
	cuda_gate_open(&t->gate);
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r
		      : cuda_wait_event(l->place->gpu, l->to, WINDOW_MOST_S, "a window of work", e);
		r = r ? r : cuda_elapsed(l->place->gpu, l->from, l->to, &l->seconds, e);
		if (r == 0 && l->seconds > *seconds)
			*seconds = l->seconds;
	}
	return r;
}

int gpu_window(struct gpu_timer *t, gpu_work *work, void *ctx, size_t n, double *seconds,
	       struct err *e)
{
	struct err late = { 0 };
	double ignored;
	int r = gpu_timer_hold(t, e);

	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		r = cuda_use(t->lane[i].place->gpu, e);
		for (size_t k = 0; r == 0 && k < n; k++)
			r = work(ctx, i, e);
	}
	if (r) {
		gpu_timer_run(t, &ignored, &late);
		return r;
	}
	return gpu_timer_run(t, seconds, e);
}

int gpu_window_fit(struct gpu_timer *t, gpu_work *work, void *ctx, double seconds, size_t *n,
		   struct err *e)
{
	double one = 0;
	int r = 0;

	/* Once without the gate: what is loaded at first use is loaded here. */
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct gpu_lane *l = &t->lane[i];

		r = cuda_use(l->place->gpu, e);
		r = r ? r : work(ctx, i, e);
		r = r ? r
		      : cuda_wait_stream(l->place->gpu, l->s, WINDOW_MOST_S, "the first work", e);
	}
	r = r ? r : gpu_window(t, work, ctx, 1, &one, e);
	*n = one > 0 ? (size_t)fmin(seconds / one, CUDA_GATE_QUEUE) : 1;
	*n = *n ? *n : 1;
	return r;
}
