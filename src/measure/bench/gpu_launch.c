/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to have a GPU do something small: handing a kernel over, until the host sees that
 * it ran, from one kernel to the next, a graph of kernels, and a word there and back with no launch
 * at all.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "measure/bench/gpu_ahead.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/bench.h"

enum launch_way { HAND_OVER, SEEN, GAP, GRAPH, GRAPH_NODE, SIGNAL };

enum { NODES = 100, WINDOW = 500, WINDOWS = 20, ANSWER_MOST_NS = 2000000000, LAUNCH_MOST_S = 20 };

struct launch_arg {
	struct gpu_place *place;
	enum launch_way way;
	size_t window; /* single operations a sample */
};

struct launch {
	const struct launch_arg *arg;
	struct gpu_timer timer;
	unsigned *words; /* [0] to the GPU, [32] from it: a cache line each */
	cuda_address as;
	unsigned said; /* what [32] must hold */
	struct cuda_graph_exec *graph;
	double *us; /* single times of a sample */
	unsigned long long lost, done;
};

static double now_us(void)
{
	return (double)clock_mono_ns() / 1e3;
}

static atomic_uint *word(const struct launch *s, size_t i)
{
	return (atomic_uint *)&s->words[i];
}

/* Until the GPU's word is v. -ETIME: it never came. */
static int gpu_launch_await(struct launch *s, unsigned v, struct err *e)
{
	double end = 0;

	for (unsigned turn = 0; atomic_load_explicit(word(s, 32), memory_order_acquire) != v;
	     turn++) {
		if (turn % 1024)
			continue;
		if (!(end > 0))
			end = now_us() + ANSWER_MOST_NS / 1e3;
		else if (now_us() > end)
			return cuda_lose(s->arg->place->gpu, e,
					 "the word written by a kernel did not arrive");
	}
	s->done++;
	return 0;
}

static int start(struct launch *s, struct cuda_function *f, void **args, struct err *e)
{
	return cuda_launch(s->arg->place->gpu, f, 1, 1, s->timer.lane[0].s, args, e);
}

static int settle(struct launch *s, struct err *e)
{
	return cuda_wait_stream(s->arg->place->gpu, s->timer.lane[0].s, LAUNCH_MOST_S,
				"the kernels", e);
}

/* --- one sample of each way ------------------------------------------------------------------- */

/* How long the call takes; the stream is emptied now and then, so that the queue never fills. */
static int run_hand_over(struct launch *s, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->arg->window; i++) {
		double t = now_us();

		r = start(s, s->arg->place->tools.empty, NULL, e);
		s->us[i] = now_us() - t;
		s->done++;
		if (r == 0 && i % 100 == 99)
			r = settle(s, e);
	}
	return r ? r : settle(s, e);
}

static int run_seen(struct launch *s, struct err *e)
{
	cuda_address out = s->as + 32 * sizeof(unsigned);
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->arg->window; i++) {
		void *args[] = { &out, &s->said };
		double t;

		s->said++;
		t = now_us();
		r = start(s, s->arg->place->tools.flag, args, e);
		r = r ? r : gpu_launch_await(s, s->said, e);
		s->us[i] = now_us() - t;
	}
	return r ? r : settle(s, e);
}

static int run_signal(struct launch *s, struct err *e)
{
	cuda_address in = s->as, out = s->as + 32 * sizeof(unsigned);
	unsigned n = (unsigned)s->arg->window;
	void *args[] = { &in, &out, &n };
	int r;

	atomic_store(word(s, 0), 0);
	atomic_store(word(s, 32), 0);
	r = start(s, s->arg->place->tools.echo, args, e);
	for (unsigned i = 1; r == 0 && i <= n; i++) {
		double t = now_us();

		atomic_store_explicit(word(s, 0), i, memory_order_release);
		r = gpu_launch_await(s, i, e);
		s->us[i - 1] = now_us() - t;
	}
	/* The first one waits for the kernel itself. */
	s->us[0] = n > 1 ? s->us[1] : s->us[0];
	return r ? r : settle(s, e);
}

static int work_gap(void *ctx, size_t lane, struct err *e)
{
	struct launch *s = ctx;

	(void)lane;
	s->done++;
	return start(s, s->arg->place->tools.empty, NULL, e);
}

static int work_graph(void *ctx, size_t lane, struct err *e)
{
	struct launch *s = ctx;
	struct cuda_gpu *g = s->arg->place->gpu;

	s->done++;
	return cuda_check(g, g->api->graph_launch(s->graph, s->timer.lane[lane].s), e,
			  "starting a graph");
}

/* Windows timed by the GPU: one value each, of a kernel or a node. */
static int gpu_launch_run_windows(struct launch *s, struct err *e)
{
	bool graph = s->arg->way == GRAPH_NODE;
	size_t n = graph ? 5 : WINDOW, each = graph ? n * NODES : n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->arg->window; i++) {
		double t = 0;

		r = gpu_window(&s->timer, graph ? work_graph : work_gap, s, n, &t, e);
		s->us[i] = t * 1e6 / (double)each;
	}
	return r;
}

/* From the call to the host's seeing the end of a whole graph. */
static int run_graph(struct launch *s, struct err *e)
{
	struct cuda_gpu *g = s->arg->place->gpu;
	struct cuda_stream *stream = s->timer.lane[0].s;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->arg->window; i++) {
		double t = now_us(), most = t + ANSWER_MOST_NS / 1e3;
		int q;

		r = work_graph(s, 0, e);
		do
			q = r ? 0 : g->api->stream_query(stream);
		while (q == CUDA_ERROR_NOT_READY && now_us() < most);
		s->us[i] = now_us() - t;
		if (q == CUDA_ERROR_NOT_READY)
			return cuda_lose(g, e, "a graph of empty kernels did not finish after 2 s");
		r = r ? r : cuda_check(g, q, e, "a graph of empty kernels");
	}
	return r;
}

/* --- the bench -------------------------------------------------------------------------------- */

static int make_graph(struct launch *s, struct err *e)
{
	struct cuda_gpu *g = s->arg->place->gpu;
	struct cuda_stream *stream = s->timer.lane[0].s;
	struct cuda_graph *graph = NULL;
	struct err first = { 0 };
	int r = cuda_check(g, g->api->capture_begin(stream, 1), e, "recording a graph"), end;

	for (int i = 0; r == 0 && i < NODES; i++)
		r = start(s, s->arg->place->tools.empty, NULL, &first);
	if (r && *first.text)
		*e = first;
	end = g->api->capture_end(stream, &graph);
	r = r ? r : cuda_check(g, end, e, "recording a graph");
	r = r ? r
	      : cuda_check(g, g->api->graph_instantiate(&s->graph, graph, 0), e,
			   "preparing a graph");
	if (graph)
		g->api->graph_destroy(graph);
	return r;
}

static void launch_teardown(void *state)
{
	struct launch *s = state;
	struct cuda_gpu *g = s->arg->place->gpu;

	if (s->timer.n)
		gpu_timer_end(&s->timer);
	if (s->graph && !*g->lost)
		g->api->graph_exec_destroy(s->graph);
	cuda_host_free(g, s->words);
	free(s->us);
}

static int launch_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			const char **variant, struct err *e)
{
	struct launch *s = state;
	struct gpu_place *place;
	void *p = NULL;
	int r;

	(void)env;
	s->arg = c->arg;
	place = s->arg->place;
	s->us = heap_array(s->arg->window, sizeof(*s->us));
	r = gpu_place_open(place, e);
	r = r ? r : gpu_timer_make(&s->timer, &place, 1, e);
	r = r ? r : cuda_host_alloc(place->gpu, 64 * sizeof(unsigned), &p, &s->as, e);
	s->words = p;
	if (r == 0) {
		atomic_store(word(s, 0), 0);
		atomic_store(word(s, 32), 0);
	}
	if (r == 0 && (s->arg->way == GRAPH || s->arg->way == GRAPH_NODE))
		r = make_graph(s, e);
	/* Loaded before anything waits behind a gate. */
	r = r ? r : start(s, place->tools.empty, NULL, e);
	r = r || !s->graph ? r : work_graph(s, 0, e);
	r = r ? r : settle(s, e);
	if (r)
		return r;
	*variant = s->timer.gate.kernel ? "a waiting CUDA kernel holds the queue" : "";
	return 0;
}

static int launch_run(void *state, struct bench_sample *out, struct err *e)
{
	struct launch *s = state;
	int r = cuda_use(s->arg->place->gpu, e);

	cuda_guard_touch(&s->timer.guard);
	if (r == 0)
		r = s->arg->way == HAND_OVER ? run_hand_over(s, e)
		    : s->arg->way == SEEN    ? run_seen(s, e)
		    : s->arg->way == SIGNAL  ? run_signal(s, e)
		    : s->arg->way == GRAPH   ? run_graph(s, e)
					     : gpu_launch_run_windows(s, e);
	if (r)
		return r;
	bench_times(out, s->us, s->arg->window);
	return 0;
}

/* Each word that came was waited for by its number; here: that work was done at all, and that the
 * last word still stands. */
static int launch_verify(void *state, struct err *e)
{
	struct launch *s = state;

	if (!s->done)
		return err_set(e, -EILSEQ, "no kernel was started");
	if (s->arg->way == SEEN && atomic_load(word(s, 32)) != s->said)
		return err_set(e, -EILSEQ, "the last kernel wrote %u, not %u",
			       atomic_load(word(s, 32)), s->said);
	return 0;
}

static void launch_cases(const struct bench_env *env, struct bench_cases *out)
{
	static const struct {
		const char *name, *setup;
		enum launch_way way;
		size_t window;
	} rows[] = {
		{ "hand-over", "the call that queues an empty kernel", HAND_OVER, WINDOW },
		{ "seen", "from the call until the host sees a word written by the kernel", SEEN,
		  WINDOW },
		{ "next", "time between two empty kernels that are queued in advance", GAP,
		  WINDOWS },
		{ "graph", "from the call to the end of a graph of 100 empty kernels", GRAPH,
		  WINDOW / 5 },
		{ "graph-node", "time between two empty kernels of a graph", GRAPH_NODE, WINDOWS },
		{ "signal", "a word from the host to a running kernel and back", SIGNAL, WINDOW },
	};
	struct gpu_places all;

	gpu_places_find(env, out, &all);
	for (size_t w = 0; w < sizeof(rows) / sizeof(rows[0]); w++)
		for (size_t i = 0; i < all.n; i++) {
			struct launch_arg *arg = ARENA_NEW(env->a, struct launch_arg);

			*arg = (struct launch_arg){ &all.items[i], rows[w].way,
						    env->small ? 4 : rows[w].window };
			bench_case_add(
				env->a, out,
				(struct bench_case){
					.name = arena_printf(env->a, "%s:gpu%u", rows[w].name,
							     all.items[i].index),
					.setup = rows[w].setup,
					.placement = gpu_place_text(env->a, &all.items[i]),
					.arg = arg,
					.hardware = all.items[i].gpu->name });
		}
}

const struct bench bench_gpu_launch = {
	.name = "launch",
	.title = "GPU launch latency: kernels, graphs, signals",
	.method = "Each single call or answer is timed by the host's clock; \"next\" and "
		  "\"graph-node\" by the GPU's clock, over windows of 500 kernels that are queued "
		  "before the first starts. A sample is the median, and the 99th percentile, of "
		  "single times. Each returned word is checked.",
	.version = 1,
	FIGURES(bench_times_figures),
	.observed_scale = 1e-3,
	.brief = "seen",
	.seconds = 1,
	.rounds = 3,
	.ahead = gpu_preinit_plain,
	.cases = launch_cases,
	.state_size = sizeof(struct launch),
	.setup = launch_setup,
	.run = launch_run,
	.verify = launch_verify,
	.teardown = launch_teardown,
	.no_limit = "unknown: mostly software",
};
