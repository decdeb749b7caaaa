/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every mixture of lists of choices, predicted one by one, and of those that fit the ones that no
 * other beats in latency, throughput and memory at once. Fronts of different requests are kept
 * apart: short prompts would beat long ones. The same lists give the same answer. Pure.
 */
#ifndef INFERENCE_SWEEP_H
#define INFERENCE_SWEEP_H

#include "base/ask.h"
#include "models/inference/advise.h"

#define SWEEP_MOST 50000000ull
#define SWEEP_WAYS 20000
/* Points of a front that are simulated where there is a target; without one, all are. */
#define SWEEP_FINALISTS 20

/* Lists; an empty one: what the words say or leave open. */
struct sweep {
	const struct infer_options *words;
	const struct fits *fits;
	enum goal
		goal; /* GOAL_FIRST: latency is the time to the first token; else a whole answer */
	/* Targets: of 95 in 100 requests, ms, and requests a second; 0: none. With one of them only
	 * what meets it stays, fewest GPUs first. */
	double ttft_p95, tpot_p95, rate;
	struct ask_texts machines, weights, caches;
	struct ask_numbers tp, pp, copies, batch, prompt, output, depth, chunk, draft;
};

struct sweep_point {
	const struct way *way; /* machine, weights, cache, tensor parallelism, stages */
	int copies, batch, draft;
	double chunk;
	struct advise_outcome o;
	double latency;	      /* ms */
	struct schedule plan; /* simulated; requests 0: of one request, or not a finalist */
	bool meets;	      /* the targets of the sweep; true where it has none */
};

/* Of requests of one shape. */
struct pareto_front {
	double prompt, output, depth;
	struct sweep_point *points; /* the fastest first */
	size_t n;
	unsigned long long tried, fit;
};

struct sweep_result {
	struct pareto_front *fronts;
	size_t n;
	unsigned long long tried;     /* predicted */
	unsigned long long fit;	      /* of them */
	unsigned long long senseless; /* more GPUs than there are, heads that do not split, ... */
};

/* -EINVAL: a list has something that is not known, or there are more than SWEEP_MOST mixtures. */
int sweep_run(struct arena *a, const struct sweep *s, struct sweep_result *out, struct err *e);

/* --- the front by itself ---------------------------------------------------------------------- */
struct pareto_list {
	struct arena *arena; /* where it lives */
	struct sweep_point *v;
	size_t n, room;
};

/* Keeps it unless another is at least as good in all three; drops those that it beats. */
void pareto_add(struct pareto_list *l, const struct sweep_point *p);
/* By latency, throughput, memory. */
void pareto_sort(struct pareto_list *l);

#endif
