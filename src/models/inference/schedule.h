/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's scheduler, event by event: requests arrive at a rate or as others are answered, are
 * admitted by the cache that is in use now, have their prompts taken in chunks beside the others'
 * tokens, are preempted when the cache is full, and leave. Times of steps and chunks are those of
 * work.h. The same question gives the same answer: arrivals are from a fixed seed. Pure.
 */
#ifndef INFERENCE_SCHEDULE_H
#define INFERENCE_SCHEDULE_H

#include "base/arena.h"
#include "base/shape.h"
#include "models/inference/work.h"

/* Of all requests, ms. */
struct percentiles {
	double mean, p50, p95, p99;
};

struct schedule {
	struct percentiles ttft, tpot, e2e;
	double throughput; /* output tokens a second */
	double rate;	   /* requests a second that were answered */
	double running;	   /* requests at a time, mean over time */
	int requests;	   /* simulated */
	int preempted;
	bool behind; /* more came than were answered: times grow without end */
};

extern const struct shape schedule_shape;

/* What a request gets: simulated, with as many requests as rounds and users ask for. out: NULL
 * where means are enough. */
void serve(struct arena *a, const struct ask *q, const struct memory_footprint *m, struct served *s,
	   struct schedule *out);
/* The same scheduler where nothing changes any more, in a few us: what a search of many thousand
 * configurations sorts by before it simulates the best. */
void serve_steady(const struct ask *q, const struct memory_footprint *m, struct served *s);

#endif
