/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose time is a formula of its variables, measured by the real engine: planted settings
 * that help, hurt or do nothing, in the noise of a scene.
 */
#ifndef SIM_PLANTED_H
#define SIM_PLANTED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/scene.h"
#include "measure/prove/engine.h"

enum { BASELINE = 5, PLANTED = 40, PLANTED_GOOD = 10, PLANTED_BAD = 5 };

struct planted {
	double effect[PLANTED]; /* ln of the figure: the first PLANTED_GOOD help, the next hurt */
	struct scene scene;
	size_t windows;
	double time;
	struct arena a;
	struct setting *settings;
	struct change *changes;
	struct plan plan;
	struct proof proof;
	struct prove_engine engine;
	const bool *kept;
	size_t n_good, n_bad, n_useless; /* that were kept */
};

static inline int planted_measure(struct window *window, struct window_reading *out, struct err *e)
{
	struct planted *x = window->state;
	double sum = scene_window(&x->scene, false);

	(void)e;
	for (const char *const *v = (const char *const *)window->variables; v && *v; v++)
		sum += x->effect[strtoul(*v + 1, NULL, 10)];
	x->windows++;
	x->time += 1;
	*out = (struct window_reading){ .samples = 1, .value = { 100 * exp(sum) } };
	return 0;
}

static inline double planted_now(void *ctx)
{
	return ((struct planted *)ctx)->time;
}

static inline void planted_wait(void *ctx, double seconds, const atomic_bool *stop)
{
	(void)stop;
	((struct planted *)ctx)->time += seconds;
}

static inline void planted_open(struct planted *x, enum scene_kind kind, double noise,
				uint64_t seed)
{
	static const struct txn_who who = { .user = "tester", .version = "1" };
	struct err e = { 0 };

	*x = (struct planted){ 0 };
	scene_start(&x->scene, kind, noise, seed);
	x->settings = arena_array(&x->a, PLANTED, sizeof(*x->settings));
	x->changes = arena_array(&x->a, PLANTED, sizeof(*x->changes));
	for (size_t i = 0; i < PLANTED; i++) {
		const char *id = arena_printf(&x->a, "V%zu", i);
		struct setting s = { .id = id, .title = id, .source = "a test" };

		x->effect[i] = i < PLANTED_GOOD			? 0.02 + 0.003 * (double)i
			       : i < PLANTED_GOOD + PLANTED_BAD ? -0.03
								: 0;
		memcpy(&x->settings[i], &s, sizeof(s));
		x->changes[i] = (struct change){ .s = &x->settings[i],
						 .target = "",
						 .knob = { KNOB_NONE, id, "" },
						 .after = "on" };
	}
	x->plan = (struct plan){ .profile = "test", .changes = x->changes, .n = PLANTED };
	x->proof = (struct proof){
		.what = "test",
		.many = true,
		.window = { .kind = "test",
			    .name = "formula",
			    .setup = "",
			    .of = "",
			    .figures = { { "rate", "rate", "per_s", "1/s", BENCH_HIGHER } },
			    .n_figures = 1,
			    .measure = planted_measure,
			    .state = x },
		.min_effect_asked = 0.01,
		.seed = (seed ^ 0x5bd1e995) * 0x9e3779b97f4a7c15,
		.budget_s = 1e6
	};
	x->engine =
		(struct prove_engine){ .a = &x->a, .p = &x->proof, .plan = &x->plan, .pair_s = 2 };
	/* As tune does: the job as it is first, which warms up for the rest. */
	x->proof.warm = true;
	for (x->windows = 0; x->windows < BASELINE; x->windows++)
		(void)scene_window(&x->scene, false);
	if (switch_begin(NULL, &x->a, &who, "test", &x->plan, &x->engine.sw, &e))
		abort();
}

static inline void planted_run(struct planted *x, const struct engine_clock *clock)
{
	const struct engine_clock own = { planted_now, planted_wait, x };

	x->engine.clock = clock ? clock : &own;
	engine_prove_many(&x->engine, &x->kept);
	for (size_t i = 0; i < PLANTED && x->proof.verdict == RULING_HELPS; i++)
		*(i < PLANTED_GOOD		   ? &x->n_good
		  : i < PLANTED_GOOD + PLANTED_BAD ? &x->n_bad
						   : &x->n_useless) += x->kept[i];
}

static inline void planted_close(struct planted *x)
{
	struct err e = { 0 };

	switch_end(x->engine.sw, &e);
	arena_free(&x->a);
}

#endif
