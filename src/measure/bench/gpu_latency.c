/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one load takes a GPU that depends on the one before: one thread walks a random cycle
 * through its caches and memory, through pinned memory of the host, and through other GPUs'.
 */
#include <errno.h>

#include "measure/bench/gpu_ahead.h"
#include "measure/bench/gpu_common.h"
#include "measure/bench/bench.h"
#include "measure/bench/memory_latency.h"

/* A line of the GPU's cache. */
enum { STRIDE = 128, FAR_BITS = 14, STEPS_MIN = 4096, STEPS_MAX = 1 << 20, CHASE_MOST_S = 30 };

static const uint64_t chain_seed = 0x67707574756e6504u;

struct latency_arg {
	struct gpu_place *place, *peer; /* peer: whose memory is walked through; NULL */
	bool host;
	unsigned bits; /* 2^bits lines */
};

struct latency {
	const struct latency_arg *arg;
	struct gpu_timer timer; /* of the GPU that walks */
	cuda_address at, lines, result;
	void *host;
	bool mapped; /* host is memory_map's, else the driver's */
	uint64_t steps, walked, wrong;
};

static size_t bytes_of(const struct latency_arg *a)
{
	return (size_t)STRIDE << a->bits;
}

static int gpu_latency_walk(void *ctx, size_t lane, struct err *e)
{
	struct latency *s = ctx;
	struct gpu_place *p = s->arg->place;
	void *args[] = { &s->at, &s->steps, &s->result };
	bool far = s->arg->host || s->arg->peer;

	return cuda_launch(p->gpu, far ? p->tools.chase_far : p->tools.chase, 1, 1,
			   s->timer.lane[lane].s, args, e);
}

/* One walk of that many steps. out: address, clocks, nanoseconds. */
static int walk_on(struct latency *s, uint64_t steps, uint64_t out[3], double *seconds,
		   struct err *e)
{
	struct gpu_place *p = s->arg->place;
	struct cuda_stream *stream = s->timer.lane[0].s;
	uint64_t want;
	int r;

	s->steps = steps;
	r = gpu_window(&s->timer, gpu_latency_walk, s, 1, seconds, e);
	r = r ? r
	      : cuda_check(p->gpu, p->gpu->api->copy_out(out, s->result, 24, stream), e,
			   "fetching the last address and the time of the pointer chase");
	r = r ? r : cuda_wait_stream(p->gpu, stream, CHASE_MOST_S, "fetching a word", e);
	if (r)
		return r;
	s->walked += steps;
	s->at = out[0];
	want = s->lines + STRIDE * cuda_chain_place(s->walked & ((1ull << s->arg->bits) - 1),
						    s->arg->bits, chain_seed);
	s->wrong += out[0] != want;
	return out[0] == want
		       ? 0
		       : err_set(e, -EILSEQ, "GPU %u: the chase ended at a wrong line", p->index);
}

static int host_lines(struct latency *s, const struct bench_env *env, struct err *e)
{
	struct gpu_place *p = s->arg->place;
	int node = p->facts ? (int)fact_or(&p->facts->numa_node, -1) : -1, r;
	size_t bytes = bytes_of(s->arg);

	node = env->m->cpu.nodes.n > 1 ? node : -1;
	r = memory_map(bytes, PAGES_HUGE, node, &s->host, e);
	if (r)
		return r;
	s->mapped = true;
	return cuda_host_pin(p->gpu, s->host, bytes, &s->lines, e);
}

static int make_chain(struct latency *s, struct err *e)
{
	struct gpu_place *p = s->arg->place;
	unsigned bits = s->arg->bits, blocks = 1u << (bits > 18 ? 10 : 4);
	uint64_t stride = STRIDE, seed = chain_seed;
	void *args[] = { &s->lines, &bits, &stride, &seed };
	int r = cuda_use(p->gpu, e);

	r = r ? r : cuda_launch(p->gpu, p->tools.chain, blocks, 256, s->timer.lane[0].s, args, e);
	s->at = s->lines + STRIDE * cuda_chain_place(0, bits, chain_seed);
	return r ? r
		 : cuda_wait_stream(p->gpu, s->timer.lane[0].s, CHASE_MOST_S, "creating the chain",
				    e);
}

static void latency_teardown(void *state)
{
	struct latency *s = state;
	struct gpu_place *owner = s->arg->peer ? s->arg->peer : s->arg->place;
	struct err ignored;

	if (s->timer.n)
		gpu_timer_end(&s->timer);
	cuda_free(s->arg->place->gpu, s->result);
	if (s->lines && s->host)
		cuda_host_unpin(owner->gpu, s->host);
	if (s->mapped)
		memory_unmap(s->host, bytes_of(s->arg));
	if (!s->arg->host && s->lines && cuda_use(owner->gpu, &ignored) == 0)
		cuda_free(owner->gpu, s->lines);
}

static int open_lines(struct latency *s, const struct bench_env *env, struct err *e)
{
	struct gpu_place *p = s->arg->place, *peer = s->arg->peer;
	int r = gpu_place_open(p, e);

	r = r || !peer ? r : gpu_place_open(peer, e);
	r = r || !peer ? r : cuda_peer(p->gpu, peer->gpu, e);
	if (r == 0 && s->arg->host)
		r = host_lines(s, env, e);
	else if (r == 0 && peer)
		r = cuda_use(peer->gpu, e);
	if (r == 0 && !s->arg->host)
		r = gpu_alloc(peer ? peer : p, bytes_of(s->arg), &s->lines, e);
	r = r ? r : cuda_use(p->gpu, e);
	return r ? r : gpu_alloc(p, 24, &s->result, e);
}

static int latency_setup(const struct bench_env *env, const struct bench_case *c, void *state,
			 const char **variant, struct err *e)
{
	struct latency *s = state;
	uint64_t out[3] = { 0 }, lines;
	double t = 0;
	int r;

	s->arg = c->arg;
	lines = 1ull << s->arg->bits;
	r = open_lines(s, env, e);
	r = r ? r : gpu_timer_make(&s->timer, (struct gpu_place *[]){ s->arg->place }, 1, e);
	r = r ? r : make_chain(s, e);
	/* Small cycles are walked once whole, so that the caches have them. */
	r = r ? r : walk_on(s, lines < STEPS_MAX ? lines : STEPS_MIN, out, &t, e);
	r = r ? r : walk_on(s, STEPS_MIN, out, &t, e);
	if (r)
		return r;
	/* Ten milliseconds a sample; a whole number of eights, as the kernel walks. */
	s->steps = env->small ? STEPS_MIN : (uint64_t)(0.01 / (t / STEPS_MIN)) / 8 * 8;
	s->steps = s->steps < STEPS_MIN ? STEPS_MIN : s->steps > STEPS_MAX ? STEPS_MAX : s->steps;
	*variant = "";
	return 0;
}

static int latency_run(void *state, struct bench_sample *out, struct err *e)
{
	struct latency *s = state;
	uint64_t end[3] = { 0 };
	double t = 0;
	int r = walk_on(s, s->steps, end, &t, e);

	if (r)
		return r;
	out->value[0] = t * 1e9 / (double)s->steps;
	out->value[1] = (double)end[1] / (double)s->steps;
	return 0;
}

static int latency_verify(void *state, struct err *e)
{
	struct latency *s = state;
	const struct gpu_place *p = s->arg->place;

	if (s->wrong || !s->walked)
		return err_set(e, -EILSEQ, "GPU %u: %llu pointer chases ended at a wrong line",
			       p->index, (unsigned long long)s->wrong);
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------ */

static void gpu_latency_add(const struct bench_env *env, struct bench_cases *out, const char *name,
			    struct latency_arg arg)
{
	struct latency_arg *kept = ARENA_NEW(env->a, struct latency_arg);
	const char *where = arg.host   ? "pinned memory of the host"
			    : arg.peer ? gpu_place_text(env->a, arg.peer)
				       : "its own memory";

	*kept = arg;
	bench_case_add(
		env->a, out,
		(struct bench_case){
			.name = name,
			.setup = arena_printf(env->a, "one random cycle of %u lines of %d bytes",
					      1u << arg.bits, STRIDE),
			.placement = arena_printf(env->a, "%s walks through %s",
						  gpu_place_text(env->a, arg.place), where),
			.arg = kept,
			.hardware = arg.place->gpu->name });
}

static const char *size_text(struct arena *a, unsigned bits)
{
	size_t kib = ((size_t)STRIDE << bits) >> 10;

	return kib >= 1 << 20	? arena_printf(a, "%zuGiB", kib >> 20)
	       : kib >= 1 << 10 ? arena_printf(a, "%zuMiB", kib >> 10)
				: arena_printf(a, "%zuKiB", kib);
}

static void add_own(const struct bench_env *env, struct bench_cases *out, struct gpu_place *p)
{
	/* 32 KiB: first cache; then up to 8 GiB, where translations are looked up too. */
	static const unsigned bits[] = { 8, 13, 15, 17, 18, 19, 21, 23, 26 };
	size_t most = p->gpu->memory_bytes / 8;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (((size_t)STRIDE << bits[i]) <= most && (!env->small || bits[i] < 14))
			gpu_latency_add(env, out,
					arena_printf(env->a, "%s:gpu%u", size_text(env->a, bits[i]),
						     p->index),
					(struct latency_arg){ .place = p, .bits = bits[i] });
}

static void latency_cases(const struct bench_env *env, struct bench_cases *out)
{
	unsigned far = env->small ? 8 : FAR_BITS;
	struct gpu_places all;

	gpu_places_find(env, out, &all);
	for (size_t i = 0; i < all.n; i++)
		add_own(env, out, &all.items[i]);
	for (size_t i = 0; i < all.n; i++)
		gpu_latency_add(
			env, out, arena_printf(env->a, "host:gpu%u", all.items[i].index),
			(struct latency_arg){ .place = &all.items[i], .host = true, .bits = far });
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; k < all.n; k++)
			if (i != k)
				gpu_latency_add(env, out,
						arena_printf(env->a, "peer:gpu%u-gpu%u",
							     all.items[i].index,
							     all.items[k].index),
						(struct latency_arg){ .place = &all.items[i],
								      .peer = &all.items[k],
								      .bits = far });
}

static const struct bench_figure figures[] = {
	{ "latency", "time per load", "ns", "ns", BENCH_LOWER },
	{ "clocks", "clocks per load", "clocks", "clocks", BENCH_LOWER },
};

const struct bench bench_gpu_latency = {
	.name = "gpu-latency",
	.title = "latency of a GPU's loads from its caches, its memory, the host and other GPUs",
	.method = "Pointer chase of one thread over all lines of a region in random order: each "
		  "load returns the next address. GPU events give the time, the multiprocessor's "
		  "counter the clocks. Loads from the host and other GPUs bypass the GPU's "
		  "caches. The last address is checked.",
	.version = 1,
	FIGURES(figures),
	.brief = "256MiB",
	.seconds = 0.5,
	.rounds = 3,
	.ahead = gpu_preinit_plain,
	.cases = latency_cases,
	.state_size = sizeof(struct latency),
	.setup = latency_setup,
	.run = latency_run,
	.verify = latency_verify,
	.teardown = latency_teardown,
	.no_limit = "unknown: no vendor publishes it",
};
